"""`std::vector` and `std::array` of host code: how many elements they have, and which.

An object holds its elements as an array would, from its start on; a vector its length beside them.
"""

from __future__ import annotations

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.memory import Memory, Pointer, Record, Unknown, Value

_LENGTH = -1
"""Where the length of a vector is kept."""
_VECTORS = ("std::vector<", "vector<")
_ARRAYS = ("std::array<", "array<")


def is_vector(type_: ir.Type) -> bool:
    """True for `std::vector`."""
    return type_.kind is ir.TypeKind.RECORD and type_.name.removeprefix("const ").startswith(_VECTORS)


def is_array(type_: ir.Type) -> bool:
    """True for `std::array` of a known layout."""
    return type_.name.removeprefix("const ").startswith(_ARRAYS) and len(type_.fields) == 1


def constructed_array(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """A `std::array` of these elements, or of one list or object that holds them."""
    if len(values) == 1 and isinstance(values[0], Record):
        return values[0]
    element = node.type.fields[0].type.element or ir.UNKNOWN_TYPE
    cells: dict[int, Value] = {}
    for number, value in enumerate(values):
        parts = value.cells if isinstance(value, Record) else {0: value}
        cells.update({number * element.size_bytes + offset: part for offset, part in parts.items()})
    return Record(cells)


def constructed_vector(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """The vector that a constructor makes: empty, of so many elements, of a list, or a copy."""
    if not values:
        return Record({_LENGTH: 0})
    first, given = values[0], node.arguments[0].type
    if isinstance(first, Record):
        if given.kind is ir.TypeKind.ARRAY:
            return Record({**first.cells, _LENGTH: given.length or 0})
        return first if is_vector(given) else Unknown("a vector made of something else")
    if isinstance(first, Unknown):
        return Record({_LENGTH: first})
    if not isinstance(first, int) or len(values) > 2:
        return Unknown("a vector made of something else")
    cells: dict[int, Value] = {_LENGTH: first}
    if len(values) == 2 and (size := node.arguments[1].type.size_bytes) and not isinstance(values[1], Record):
        cells.update({number * size: values[1] for number in range(min(max(first, 0), 64))})
    return Record(cells)


def container_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """The value of a method of a vector or an array, after its effect; None where none is known."""
    type_ = node.arguments[0].type.element if node.arguments else None
    this = arguments[0] if arguments else None
    if type_ is None or not isinstance(this, Pointer):
        return None
    if is_vector(type_):
        length = memory.read(this.storage, this.offset + _LENGTH, ir.INT64)
    elif is_array(type_):
        length = type_.fields[0].type.length or 0
    else:
        return None
    start = Pointer(this.storage, this.offset, this.offset + _LENGTH)
    if node.name.startswith(ir.ADDRESS_OF):
        return _address(memory, start, length, node, arguments)
    match node.name:
        case "size":
            return length
        case "empty":
            return int(length == 0) if isinstance(length, int) else length
        case "operator[]" | "at" if len(arguments) == 2:
            return _element(memory, this, arguments[1], node.type)
        case "front":
            return _element(memory, this, 0, node.type)
        case "back":
            last = length - 1 if isinstance(length, int) else length
            return _element(memory, this, last, node.type)
        case "push_back" if len(arguments) == 2 and isinstance(length, int) and is_vector(type_):
            element = node.arguments[1].type
            memory.write(this.storage, this.offset + length * element.size_bytes, arguments[1], element)
            memory.set_cell(this.storage, this.offset + _LENGTH, length + 1)
            return 0
        case "pop_back" if is_vector(type_) and isinstance(length, int):
            memory.set_cell(this.storage, this.offset + _LENGTH, max(0, length - 1))
            return 0
        case "clear" if is_vector(type_):
            memory.set_cell(this.storage, this.offset + _LENGTH, 0)
            return 0
        case "resize" if len(arguments) == 2 and is_vector(type_):
            memory.set_cell(this.storage, this.offset + _LENGTH, arguments[1])
            return 0
        case "data":
            return start
        case "begin" | "end" | "rbegin" | "rend" if not node.callee.startswith("_ZNK"):
            memory.forget_behind(start, Unknown("an element that is reached by an iterator"))
            return Unknown(f"the result of {node.name}()")
        case "reserve" | "begin" | "end" | "rbegin" | "rend" | "cbegin" | "cend":
            return Unknown(f"the result of {node.name}()")
        case _:
            return None


def _address(
    memory: Memory, start: Pointer, length: Value, node: ir.Call, arguments: tuple[Value, ...]
) -> Value:
    """Where an element is; when nobody knows which, all are taken to be written."""
    name = node.name.removeprefix(ir.ADDRESS_OF)
    index: Value = arguments[1] if len(arguments) > 1 else 0
    if name == "back":
        index = length - 1 if isinstance(length, int) else length
    if not isinstance(index, int) or index < 0:
        why = index if isinstance(index, Unknown) else Unknown("an element at an unknown index")
        memory.forget_behind(start, why)
        return why
    size = 0 if node.type.element is None else node.type.element.size_bytes
    return replace(start, offset=start.offset + index * size)


def _element(memory: Memory, this: Pointer, index: Value, type_: ir.Type) -> Value:
    if not isinstance(index, int):
        return index if isinstance(index, Unknown) else Unknown("an element at an unknown index")
    return memory.read(this.storage, this.offset + index * type_.size_bytes, type_)
