"""What one data set says of the parameters of a kernel and of the globals of its file."""

from __future__ import annotations

from typing import Protocol, cast

import numpy as np
from msgspec import Struct

from wattslice.documents import Table, Value, did_you_mean
from wattslice.ir import FLOAT32, UINT32, MemorySpace, Program, Type, TypeKind, Variable
from wattslice.launches.launch import KernelLaunch
from wattslice.profiling.data_sets.arrays import (
    Bytes,
    Setting,
    array_bytes,
    element_size,
    scalar_bytes,
    scalar_dtype,
)
from wattslice.profiling.data_sets.spec import DataSetSpec, Spec
from wattslice.profiling.interpreter.launch import Addressing, Texture
from wattslice.profiling.interpreter.layout import is_block

MIB = 1 << 20


class Memory(Protocol):
    """Where arrays go: the interpreter's `DeviceMemory`."""

    def allocate(self, name: str, contents: Bytes) -> int:
        """Copies `contents` into an allocation of its own; its address."""
        ...


class PreparedData(Struct, frozen=True):
    """One data set, ready for a launch.

    `arguments` in parameter order: numbers, addresses, or bytes of records and vectors. `globals`: the
    contents of the `__constant__` and `__device__` objects that it gives. `textures`: by texture reference,
    or by the number that stands for a texture object among the arguments.
    """

    arguments: tuple[int | float | Bytes, ...]
    globals: tuple[tuple[Variable, Bytes], ...]
    textures: tuple[tuple[Variable | int, Texture], ...]


def prepare(
    spec: Spec, data: DataSetSpec, launch: KernelLaunch, program: Program, memory: Memory, memory_mib: int
) -> PreparedData:
    """Makes all arrays of `data`. Scalars it leaves out are those of `launch`, where host code gives them.

    Raises `WattsliceError` for parameters without a value, unknown names, sizes that do not fit.
    """
    return _Preparation(spec, data, launch, program, memory, memory_mib).run()


class _Preparation:
    """The arguments made so far, by name."""

    def __init__(
        self,
        spec: Spec,
        data: DataSetSpec,
        launch: KernelLaunch,
        program: Program,
        memory: Memory,
        memory_mib: int,
    ) -> None:
        self._data, self._launch, self._program, self._memory = data, launch, program, memory
        self._free_bytes, self._memory_mib = memory_mib * MIB, memory_mib
        self._setting = Setting(data.seed, spec.path.parent, self._reserve)
        self._textures: list[tuple[Variable | int, Texture]] = []
        self._addresses: dict[str, tuple[int, int, int]] = {}  # address, elements, bytes of one

    def run(self) -> PreparedData:
        parameters = self._launch.kernel.parameters
        given = self._data.arguments
        _known(given, [parameter.name for parameter in parameters], "parameter", self._launch.kernel.name)
        self._check_missing(given)
        order = sorted(range(len(parameters)), key=lambda index: _stage(given, parameters[index]))
        made: dict[int, int | float | Bytes] = {}
        for index in order:
            made[index] = self._argument(index, parameters[index], given)
        spaces = (MemorySpace.CONSTANT, MemorySpace.GLOBAL, MemorySpace.TEXTURE)
        found = {variable.name: variable for variable in self._program.globals if variable.space in spaces}
        _known(self._data.globals, list(found), "__constant__ or __device__ object", self._program.file)
        contents: list[tuple[Variable, Bytes]] = []
        for name in self._data.globals:
            variable, value = found[name], self._data.globals.value(name)
            if variable.space is MemorySpace.TEXTURE or is_texture(value):
                self._textures.append((variable, texture(value, self._setting)))
            else:
                contents.append((variable, self._global(value, variable)))
        arguments = tuple(made[index] for index in range(len(parameters)))
        return PreparedData(arguments, tuple(contents), tuple(self._textures))

    def _check_missing(self, given: Table) -> None:
        missing = [
            parameter
            for index, parameter in enumerate(self._launch.kernel.parameters)
            if parameter.name not in given and self._default(index) is None
        ]
        if not missing:
            return
        first = missing[0]
        example = (
            f'{first.name} = {{ size = 1024, generator = "zeros" }}'
            if first.type.kind is TypeKind.POINTER
            else f"{first.name} = 1"
        )
        names = ", ".join(parameter.name for parameter in missing)
        plural = "parameters" if len(missing) > 1 else "parameter"
        raise given.itself.error(f"no value for the {plural} {names}", f"such as {example}")

    def _default(self, index: int) -> int | float | None:
        """What the host code passes for a scalar, where that is certain."""
        return None if self._launch.assumed_variables else self._launch.arguments[index]

    def _argument(self, index: int, parameter: Variable, given: Table) -> int | float | Bytes:
        value = given.optional(parameter.name)
        if value is None:
            default = self._default(index)
            assert default is not None
            return default
        return self._value(value, parameter.name, parameter.type)

    def _value(self, value: Value, name: str, type_: Type) -> int | float | Bytes:
        if is_texture(value):
            number = len(self._textures) + 1
            self._textures.append((number, texture(value, self._setting)))
            return number
        if type_.kind is TypeKind.POINTER:
            return self._pointer(value, name, type_.element or UINT32)
        if is_block(type_):
            return self._object(value, name, type_)
        number = self._number(value)
        scalar_bytes(number, type_)  # does it fit?
        return number.number() if type_.is_float else int(cast(int, number.any))

    def _bytes(self, value: Value, name: str, type_: Type) -> Bytes:
        """A scalar, pointer, record or vector inside of an object."""
        if is_block(type_):
            return self._object(value, name, type_)
        if type_.kind is TypeKind.POINTER:
            return np.array([self._value(value, name, type_)], np.int64).view(np.uint8)
        return scalar_bytes(self._number(value), type_)

    def _number(self, value: Value) -> Value:
        """A number, or the length of an array of this data set."""
        if not value.is_table:
            return value
        table = value.table()
        table.only("length_of")
        other = table.value("length_of")
        return value.inside("", self._array(other)[1])

    def _array(self, named: Value) -> tuple[int, int, int]:
        found = self._addresses.get(named.name())
        if found is None:
            remedy = did_you_mean(named.name(), self._addresses)
            raise named.error(f"no array {named.name()!r} in this data set", remedy)
        return found

    def _pointer(self, value: Value, name: str, element: Type) -> int:
        """The address of an array; `offset` moves it so many elements into the array."""
        if value.any == 0 and type(value.any) is int:
            return 0  # a null pointer
        if isinstance(value.any, int | float):
            raise value.error("expected an array, found a number", "such as { size = 1024 }")
        offset = value.table().optional("offset") if value.is_table else None
        if offset is not None:
            table = value.table()
            value = value.inside("", {key: table.value(key).any for key in table if key != "offset"})
        if value.is_table and "same_as" in (table := value.table()):
            table.only("same_as")
            address, elements, size = self._array(table.value("same_as"))
        else:
            contents = self._contents(value, name, element)
            size = element_size(value, element)
            address, elements = self._memory.allocate(name, contents), len(contents) // size
        skipped = 0 if offset is None else offset.whole(0, elements)
        self._addresses[name] = (address + skipped * size, elements - skipped, size)
        return address + skipped * size

    def _contents(self, value: Value, name: str, element: Type) -> Bytes:
        """The bytes of an array; one of pointers is a list of arrays."""
        if element.kind is not TypeKind.POINTER:
            return array_bytes(value, element, self._setting)
        if value.is_table:
            raise value.error("its elements are pointers: no generator makes them", "give a list of arrays")
        target = element.element or UINT32
        addresses = [
            self._pointer(entry, f"{name}[{index}]", target) for index, entry in enumerate(value.list())
        ]
        return np.array(addresses, np.int64).view(np.uint8)

    def _object(self, value: Value, name: str, type_: Type) -> Bytes:
        """A record, vector or array by value, from a list of its numbers or a table of its members."""
        bytes_ = np.zeros(type_.size_bytes, np.uint8)
        fields = type_.members
        if value.is_table and fields:
            members = value.table()
            members.only(*(field.name for field in fields))
            for field in fields:
                member = members.optional(field.name)
                if member is not None:
                    found = self._bytes(member, f"{name}.{field.name}", field.type)
                    bytes_[field.offset_bytes : field.offset_bytes + len(found)] = found
            return bytes_
        element = type_.element if type_.kind is TypeKind.ARRAY else type_
        if element is None or (element is type_ and type_.kind is TypeKind.RECORD):
            raise value.error(f"expected a table of its members, found {value.kind}")
        contents = array_bytes(value, element, self._setting)
        if len(contents) > len(bytes_):
            raise value.error(f"{len(contents)} bytes, but {name} has {len(bytes_)}")
        bytes_[: len(contents)] = contents
        return bytes_

    def _global(self, value: Value, variable: Variable) -> Bytes:
        """The bytes of a global; those of an array that are not given are zero."""
        type_ = variable.type
        element = type_
        while element.kind is TypeKind.ARRAY and element.element is not None:
            element = element.element  # int a[4][8]: 32 elements in a row
        if type_.kind is not TypeKind.ARRAY:
            return self._bytes(value, variable.name, type_)
        contents = array_bytes(value, element, self._setting)
        if len(contents) > type_.size_bytes:
            raise value.error(f"{len(contents)} bytes, but {variable.name} has {type_.size_bytes}")
        padded = np.zeros(type_.size_bytes, np.uint8)
        padded[: len(contents)] = contents
        return padded

    def _reserve(self, value: Value, size: int) -> None:
        self._free_bytes -= size
        if self._free_bytes < 0:
            raise value.error(
                f"{size / MIB:,.0f} MiB more than fit the memory budget of {self._memory_mib} MiB",
                "take a smaller size, or raise --memory-mib",
            )


def _stage(given: Table, parameter: Variable) -> int:
    """Arrays before what refers to them, and these before lengths."""
    value = given.optional(parameter.name)
    if value is None or not value.is_table:
        return 0
    table = value.table()
    return 1 if "same_as" in table else 2 if "length_of" in table or is_block(parameter.type) else 0


def _known(given: Table, names: list[str], what: str, where: str) -> None:
    for key in given:
        if key not in names:
            raise given.itself.error(f"{where} has no {what} {key!r}", did_you_mean(key, names))


_KEYS = ("texture", "element", "channels", "addressing", "linear", "normalised", "reads_normalised")
_ELEMENTS = {"float32": FLOAT32, "float16": Type(TypeKind.FLOAT, bits=16)} | {
    f"{'' if signed else 'u'}int{bits}": Type(TypeKind.INT, bits=bits, signed=signed)
    for bits in (8, 16, 32)
    for signed in (True, False)
}


def is_texture(value: Value) -> bool:
    """True for a table that describes a texture."""
    return value.is_table and "texture" in value.table()


def texture(value: Value, setting: Setting) -> Texture:
    """``{ texture = [width, height], element = "uint8", generator = … }``. Raises `WattsliceError`."""
    table = value.table()
    extents = table.value("texture").list()
    if not 1 <= len(extents) <= 3:
        raise table.value("texture").error("expected one to three extents: width, height, depth")
    sizes = [extent.whole(1) for extent in extents]
    width, height, depth = (*sizes, *(1 for _ in range(3 - len(sizes))))
    channels = table.get("channels", lambda value: value.whole(1, 4), 1)
    element = table.get("element", lambda value: _ELEMENTS[value.one_of(_ELEMENTS, "element")], FLOAT32)
    rest = {key: table.value(key).any for key in table if key not in _KEYS}
    if "file" not in rest:
        rest["size"] = width * height * depth * channels
    contents = array_bytes(value.inside("", rest), element, setting)
    texels = contents.view(scalar_dtype(value, element))
    if len(texels) != width * height * depth * channels:
        raise value.error(f"{len(texels)} numbers, not {width} × {height} × {depth} × {channels}")
    known = [str(entry.value) for entry in Addressing]
    addressing = Addressing(table.get("addressing", lambda value: value.one_of(known, "addressing"), "clamp"))
    return Texture(
        texels.reshape(depth, height, width, channels),
        (addressing, addressing, addressing),
        is_linear=table.get("linear", Value.truth, False),
        is_normalised=table.get("normalised", Value.truth, False),
        reads_normalised=table.get("reads_normalised", Value.truth, False),
    )
