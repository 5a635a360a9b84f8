"""Launches that the stand-in for CUDA recorded, and the same launches for the interpreter of our IR."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice import ir
from wattslice.profiling.interpreter.launch import Addressing, Launch, Texture
from wattslice.profiling.interpreter.machine import DeviceMemory

Bytes = NDArray[np.uint8]

ROUNDINGS = 8
"""How many units in the last place two results may differ by: sums in another order, other libraries."""


_ADDRESSING = (
    Addressing.WRAP,
    Addressing.CLAMP,
    Addressing.MIRROR,
    Addressing.BORDER,
)  # as CUDA numbers them


class MemoryObject(Struct, frozen=True, eq=False):
    """An allocation, a variable or a texture's array: what it held `before` and `after` the launch."""

    kind: str
    name: str
    address: int
    before: Bytes
    after: Bytes


class Argument(Struct, frozen=True):
    """An argument as written in the launch: "integer", "unsigned", "float", "pointer" or "record"."""

    kind: str
    value: bytes


class RecordedTexture(Struct, frozen=True):
    """What is behind a texture object; `height` 0: linear memory at `address`."""

    object: int
    address: int
    width: int
    height: int
    element_bytes: int
    address_modes: tuple[int, int]


class Snapshot(Struct, frozen=True, eq=False):
    """One launch; `signature` is the instance of the kernel as g++ writes it."""

    kernel: str
    signature: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[Argument, ...]
    objects: tuple[MemoryObject, ...]
    textures: tuple[RecordedTexture, ...]

    @property
    def changes_memory(self) -> bool:
        """Whether the launch left anything different from before: else a comparison says nothing."""
        return any(not np.array_equal(one.before, one.after) for one in self.objects)

    def object_at(self, address: int) -> MemoryObject | None:
        """The object that an address points into, or one past."""
        for one in self.objects:
            if one.address <= address < one.address + max(1, len(one.before)):
                return one
        return next((one for one in self.objects if address == one.address + len(one.before)), None)


def read_snapshots(folder: Path) -> tuple[Snapshot, ...]:
    """All launches recorded in a folder, in their order."""
    return tuple(_read(path) for path in sorted(folder.iterdir()))


def _read(folder: Path) -> Snapshot:
    text = json.loads((folder / "launch.json").read_text(encoding="utf-8"))
    before, after = (np.fromfile(folder / name, np.uint8) for name in ("before.bin", "after.bin"))
    objects: list[MemoryObject] = []
    at = 0
    for one in text["objects"]:
        end = at + one["bytes"]
        objects.append(MemoryObject(one["kind"], one["name"], one["address"], before[at:end], after[at:end]))
        at = end
    return Snapshot(
        text["kernel"],
        text["signature"],
        tuple(text["grid"]),
        tuple(text["block"]),
        text["shared_bytes"],
        tuple(Argument(one["kind"], bytes.fromhex(one["hex"])) for one in text["arguments"]),
        tuple(objects),
        tuple(
            RecordedTexture(
                one["object"],
                one["address"],
                one["width"],
                one["height"],
                one["element_bytes"],
                tuple(one["address_modes"]),
            )
            for one in text["textures"]
        ),
    )


class Replay(Struct, frozen=True, eq=False):
    """A recorded launch for the interpreter; `addresses` of the snapshot's allocations in `memory`."""

    snapshot: Snapshot
    launch: Launch
    memory: DeviceMemory
    addresses: tuple[tuple[MemoryObject, int], ...]

    def differences(self) -> Iterator[str]:
        """After `interpret(self.launch, self.memory)`: where memory is not what C++ left."""
        types: dict[int, ir.Type] = {}
        for argument, parameter in zip(self.snapshot.arguments, self.launch.kernel.parameters, strict=True):
            for offset, type_ in pointers_in(parameter.type):
                address = int.from_bytes(argument.value[offset : offset + 8], "little")
                one = self.snapshot.object_at(address)
                if one is not None and type_.element is not None:
                    types[id(one)] = type_.element
        for one, address in self.addresses:
            found = difference(one.after, self.memory.contents(address), types.get(id(one)))
            if found:
                yield f"{one.kind} at {one.address:#x} ({len(one.after)} bytes): {found}"


def replay(snapshot: Snapshot, program: ir.Program) -> Replay:
    """The launch in memory of its own; pointers lead to where their objects now are."""
    kernels = [kernel for kernel in program.kernels if kernel.name == snapshot.kernel]
    assert len(kernels) == 1, f"{len(kernels)} instances of {snapshot.kernel}"
    memory = DeviceMemory()
    addresses = tuple(
        (one, memory.allocate(one.name or f"{one.kind} {one.address:#x}", one.before))
        for one in snapshot.objects
        if one.kind == "allocation"
    )

    def moved(address: int) -> int:
        one = snapshot.object_at(address)
        here = next((there for other, there in addresses if other is one), None)
        return address if one is None or here is None else here + address - one.address

    variables = {variable.name: variable for variable in program.globals}
    launch = Launch(
        kernel=kernels[0],
        grid=snapshot.grid,
        block=snapshot.block,
        shared_bytes=snapshot.shared_bytes,
        arguments=tuple(
            _argument(argument, parameter.type, moved)
            for argument, parameter in zip(snapshot.arguments, kernels[0].parameters, strict=True)
        ),
        globals=tuple(
            (variables[one.name], one.before.copy())
            for one in snapshot.objects
            if one.kind == "variable" and one.name in variables  # probes have counters of their own
        ),
        textures=tuple(_texture(snapshot, texture) for texture in snapshot.textures),
    )
    return Replay(snapshot, launch, memory, addresses)


def pointers_in(type_: ir.Type, offset: int = 0) -> Iterator[tuple[int, ir.Type]]:
    """The pointers in an object of a type, with their offsets in bytes."""
    if type_.kind is ir.TypeKind.POINTER:
        yield offset, type_
    for field in type_.fields:
        yield from pointers_in(field.type, offset + field.offset_bytes)


def _argument(
    argument: Argument, type_: ir.Type, moved: Callable[[int], int]
) -> int | float | NDArray[np.uint8]:
    if type_.kind is ir.TypeKind.POINTER:
        return moved(int.from_bytes(argument.value, "little"))
    if argument.kind == "record":
        value = bytearray(argument.value)
        for offset, _ in pointers_in(type_):
            struct.pack_into("<Q", value, offset, moved(*struct.unpack_from("<Q", value, offset)))
        return np.frombuffer(bytes(value), np.uint8)
    number = (
        struct.unpack("<d" if len(argument.value) == 8 else "<f", argument.value)[0]
        if argument.kind == "float"
        else int.from_bytes(argument.value, "little", signed=argument.kind == "integer")
    )
    return float(number) if type_.is_float else int(number)


def _texture(snapshot: Snapshot, texture: RecordedTexture) -> tuple[int, Texture]:
    one = next(one for one in snapshot.objects if one.kind == "array" and one.address == texture.address)
    element = np.dtype(f"u{texture.element_bytes}")
    x, y = (_ADDRESSING[mode] for mode in texture.address_modes)
    texels = one.before.view(element).reshape(1, texture.height, texture.width, 1)
    return texture.object, Texture(texels, (x, y, Addressing.CLAMP))


def difference(expected: Bytes, actual: Bytes, type_: ir.Type | None) -> str:
    """What differs most between two objects of `type_` elements; empty where nothing does.

    Integers bit for bit, floating-point numbers up to rounding.
    """
    if np.array_equal(expected, actual):
        return ""
    size = 0 if type_ is None else type_.size_bytes
    if type_ is None or size == 0 or len(expected) % size:
        return _worst(expected, actual)
    rows = expected.reshape(-1, size), actual.reshape(-1, size)
    for offset, scalar in _scalars(type_):
        kind = "f" if scalar.is_float and not scalar.bfloat else "u"
        dtype = np.dtype(f"<{kind}{max(1, scalar.bits // 8)}")
        columns = [np.ascontiguousarray(row[:, offset : offset + dtype.itemsize]).view(dtype) for row in rows]
        found = _worst(columns[0].ravel(), columns[1].ravel())
        if found:
            return found
    return ""


def _scalars(type_: ir.Type, offset: int = 0) -> Iterator[tuple[int, ir.Type]]:
    if type_.fields:
        for field in type_.fields:
            yield from _scalars(field.type, offset + field.offset_bytes)
    elif type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        for i in range(type_.length or 0):
            yield from _scalars(type_.element, offset + i * type_.element.size_bytes)
    else:
        for lane in range(type_.lanes):
            yield offset + lane * type_.bits // 8, type_


def _worst(expected: NDArray[Any], actual: NDArray[Any]) -> str:
    if expected.dtype.kind == "f":
        precision = np.finfo(expected.dtype).eps
        with np.errstate(all="ignore"):
            scale = np.nanmax(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=0)
            same = np.isclose(
                actual, expected, rtol=ROUNDINGS * precision, atol=precision * scale, equal_nan=True
            )
    else:
        same = expected == actual
    wrong = np.flatnonzero(~same)
    if len(wrong) == 0:
        return ""
    at = int(wrong[0])
    return f"{len(wrong)} of {len(same)} {expected.dtype} differ, [{at}] is {actual[at]}, not {expected[at]}"
