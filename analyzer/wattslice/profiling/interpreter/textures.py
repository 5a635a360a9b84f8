"""Texture fetches and surface accesses (CUDA C++ guide, appendix on texture fetching)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.patterns import regex
from wattslice.profiling.interpreter.arithmetic import converter
from wattslice.profiling.interpreter.compiler import Compiler, compiles
from wattslice.profiling.interpreter.errors import InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.expressions import from_lanes
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.launch import Addressing, Texture
from wattslice.profiling.interpreter.layout import Value, dtype_of, is_block, stored_dtype
from wattslice.profiling.interpreter.machine import Evaluate, Machine

_FUNCTION = regex(r"(tex|surf)([123])D(fetch|read|write)?$")
_FLOAT = np.dtype(np.float32)
_INT64 = np.dtype(np.int64)
Positions = NDArray[np.int64]
FindTexture = Callable[[Mask], Texture]
FindPlaces = Callable[[Mask], list[Value]]


@compiles(ir.TextureFetch)
def _(compiler: Compiler, expr: ir.TextureFetch) -> Evaluate:
    found = _FUNCTION.match(expr.function)
    if found is None or expr.texture is None:
        raise UnsupportedError(f"'{expr.function}' of this texture is not interpreted")
    axes, is_surface, is_fetch = int(found[2]), found[1] == "surf", found[3] == "fetch"
    arguments = list(expr.coordinates)
    stored = compiler.expression(arguments.pop(0)) if expr.is_store else None
    if len(arguments) < axes:
        raise UnsupportedError(f"'{expr.function}' with {len(arguments)} coordinates")
    whole = is_surface or is_fetch
    coordinates = [compiler.number(a, _INT64 if whole else _FLOAT) for a in arguments[:axes]]
    texture_of = _texture_of(compiler, expr.texture, expr.span)
    machine = compiler.machine

    def at(mask: Mask) -> list[Value]:
        return [np.broadcast_to(c(mask), (mask.batch.size,)) for c in coordinates]

    if is_surface:
        return _surface(machine, expr, texture_of, at, stored)

    def fetch(mask: Mask) -> Value:
        texture = texture_of(mask)
        where = at(mask)
        if is_fetch:
            texels = _texels(texture, [where[0]], (Addressing.BORDER,))
        elif texture.is_linear:
            texels = _interpolated(texture, where)
        else:
            scaled = [_scaled(texture, c, axis) for axis, c in enumerate(where)]
            whole_places = [np.floor(c).astype(np.int64) for c in scaled]
            texels = _texels(texture, whole_places, texture.addressing)
        return _as_value(texels, expr.type)

    return fetch


def _texture_of(compiler: Compiler, variable: ir.Variable, span: ir.Span) -> FindTexture:
    machine = compiler.machine
    known = machine.textures.get(variable)
    if known is not None:
        return lambda mask: known
    handle: Evaluate | None = None
    if variable.type.kind is ir.TypeKind.INT:  # a texture object; a reference has no value
        handle = compiler.expression(
            ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)
        )

    def texture_of(mask: Mask) -> Texture:
        if handle is not None:
            value = handle(mask)
            numbers = np.unique(value if value.ndim == 0 or mask.full else value[mask.index])
            if len(numbers) == 1 and int(numbers[0]) in machine.textures:
                return machine.textures[int(numbers[0])]
        raise InterpreterError(
            f"texture '{variable.name}' is not bound to an array", span, "give the launch its texture"
        )

    return texture_of


def _extent(texture: Texture, axis: int) -> int:
    return texture.texels.shape[2 - axis]


def _scaled(texture: Texture, coordinate: Value, axis: int) -> Value:
    """The coordinate in texels."""
    if not texture.is_normalised:
        return coordinate
    mode = texture.addressing[axis]
    if mode is Addressing.WRAP:
        coordinate = coordinate - np.floor(coordinate)
    elif mode is Addressing.MIRROR:
        whole = np.floor(coordinate)
        part = coordinate - whole
        coordinate = np.where(whole % 2 == 0, part, 1 - part)
    return coordinate * _FLOAT.type(_extent(texture, axis))


def _texels(texture: Texture, places: Sequence[Positions], modes: Sequence[Addressing]) -> NDArray[Any]:
    """The texels at whole positions: shape (lanes, channels)."""
    inside = np.ones(len(places[0]), np.bool_)
    index: list[Positions] = []
    for axis, place in enumerate(places):
        extent = _extent(texture, axis)
        mode = modes[axis]
        if mode is Addressing.BORDER:
            inside &= (place >= 0) & (place < extent)
        elif mode is Addressing.WRAP and texture.is_normalised:
            place = place % extent
        index.append(np.clip(place, 0, extent - 1))
    while len(index) < 3:
        index.append(np.zeros_like(index[0]))
    found = texture.texels[index[2], index[1], index[0]]
    found = np.where(inside[:, None], found, found.dtype.type(0))
    if texture.reads_normalised and found.dtype.kind in "iu":
        largest = np.float32(np.iinfo(found.dtype).max)
        found = np.maximum(found.astype(np.float32) / largest, np.float32(-1))
    return found


def _interpolated(texture: Texture, where: list[Value]) -> NDArray[Any]:
    """Linear filtering; the weights have 8 bits behind the point (1.8 fixed point)."""
    below: list[Positions] = []
    weights: list[Value] = []
    for axis, coordinate in enumerate(where):
        shifted = _scaled(texture, coordinate, axis) - _FLOAT.type(0.5)
        floor = np.floor(shifted)
        below.append(floor.astype(np.int64))
        weights.append(np.floor((shifted - floor) * 256 + 0.5) / 256)
    total: Any = np.zeros((), np.float32)
    for corner in range(1 << len(where)):
        places = [b + (corner >> axis & 1) for axis, b in enumerate(below)]
        weight: Any = np.ones((), np.float32)
        for axis, part in enumerate(weights):
            weight = weight * (part if corner >> axis & 1 else 1 - part)
        texels = _texels(texture, places, texture.addressing)
        total = total + weight[:, None] * texels.astype(np.float32)
    return total.astype(np.float32)


def _as_value(texels: NDArray[Any], type_: ir.Type) -> Value:
    """Texels as a value of the source's type: a number, or the lanes of a vector."""
    lane = type_.lane
    if type_.kind not in (ir.TypeKind.INT, ir.TypeKind.FLOAT) or texels.shape[1] < type_.lanes:
        raise UnsupportedError(f"texels of type '{type_.name or type_.kind.value}'")
    texels = texels[:, : type_.lanes]
    stored = stored_dtype(lane)
    if texels.dtype.kind == "u" and stored.kind == "f" and texels.dtype.itemsize == stored.itemsize:
        texels = np.ascontiguousarray(texels).view(stored)  # the array was given as bits
    change = converter(texels.dtype, stored)
    texels = texels if change is None else change(texels)
    return from_lanes(texels) if is_block(type_) else np.ascontiguousarray(texels[:, 0])


def _surface(
    machine: Machine, expr: ir.TextureFetch, texture_of: FindTexture, at: FindPlaces, stored: Evaluate | None
) -> Evaluate:
    """Reads and writes of surfaces: x counts bytes; outside is an error (cudaBoundaryModeTrap)."""
    type_ = expr.type
    size = type_.size_bytes

    def places(texture: Texture, mask: Mask) -> list[Positions]:
        where = at(mask)
        where[0] = where[0] // size
        for axis, place in enumerate(where):
            wrong = ((place < 0) | (place >= _extent(texture, axis))) & mask.lanes
            if wrong.any():
                lane = int(np.argmax(wrong))
                raise InterpreterError(
                    f"'{expr.function}' out of bounds along axis {'xyz'[axis]}: {int(place[lane])}, by "
                    f"{machine.thread(lane)}",
                    expr.span,
                    "check the coordinate; x counts bytes",
                )
        return where

    def read(mask: Mask) -> Value:
        texture = texture_of(mask)
        return _as_value(_texels(texture, places(texture, mask), (Addressing.CLAMP,) * 3), type_)

    def write(mask: Mask) -> Value:
        texture = texture_of(mask)
        where = [place[mask.index] for place in places(texture, mask)]
        while len(where) < 3:
            where.append(np.zeros_like(where[0]))
        assert stored is not None
        value = stored(mask)
        if is_block(type_):
            lane = type_.lane
            rows = np.broadcast_to(value, (mask.batch.size, size))[mask.index]
            parts = np.ascontiguousarray(rows).view(stored_dtype(lane))
        else:
            parts = np.broadcast_to(value, (mask.batch.size,))[mask.index][:, None]
        texture.texels[where[2], where[1], where[0], : parts.shape[1]] = parts
        return value

    if not is_block(type_):
        dtype_of(type_)
    return read if stored is None else write
