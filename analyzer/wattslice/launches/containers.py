"""`std::vector`, Thrust's vectors and `std::array` of host code: how many elements they have, and which.

An array holds its elements from its start on; a vector elsewhere in its object, its length beside them.
"""

from __future__ import annotations

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.command_line import text_of
from wattslice.launches.memory import Memory, Pointer, Record, Unknown, Value, elements_of, moved

_ELEMENTS = elements_of(0)
_LENGTH = _ELEMENTS - 1
"""Where the length of a vector is kept."""
_VECTORS = (*ir.VECTOR_CLASSES, "vector<")
_ARRAYS = ("std::array<", "array<")


def is_vector(type_: ir.Type) -> bool:
    """True for `std::vector` and Thrust's."""
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
            elements = {moved(key, _ELEMENTS): cell for key, cell in first.cells.items()}
            return Record({**elements, _LENGTH: given.length or 0})
        return first if is_vector(given) else Unknown("a vector made of something else")
    if isinstance(first, Unknown):
        return Record({_LENGTH: first})
    if isinstance(first, Pointer) and len(values) == 2:
        length = _length_of_range(first, values[1], given)
        return Record({**_words(node.type, first, length), _LENGTH: length})
    if not isinstance(first, int) or len(values) > 2:
        return Unknown("a vector made of something else")
    cells: dict[int, Value] = {_LENGTH: first}
    if len(values) == 2 and (size := node.arguments[1].type.size_bytes):
        parts = values[1].cells if isinstance(values[1], Record) else {0: values[1]}
        for number in range(min(max(first, 0), 64)):
            cells.update({moved(key, _ELEMENTS + number * size): part for key, part in parts.items()})
    return Record(cells)


def _words(type_: ir.Type, first: Pointer, length: Value) -> dict[int, Value]:
    """The elements of `std::vector<std::string> words(argv, argv + argc)`."""
    if "<std::basic_string<char" not in type_.name or not isinstance(length, int):
        return {}
    cells = (first.storage.cells.get(first.offset + 8 * at) for at in range(min(length, _MOST_WORDS)))
    return {_ELEMENTS + at: text for at, cell in enumerate(cells) if (text := text_of(cell or 0)) is not None}


_MOST_WORDS = 256


def container_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """The value of a method of a vector or an array, after its effect; None where none is known."""
    type_ = node.arguments[0].type.element if node.arguments else None
    this = arguments[0] if arguments else None
    if type_ is None or not isinstance(this, Pointer):
        return None
    start, at = Pointer(this.storage, this.offset), moved(_LENGTH, this.offset)
    if is_vector(type_):
        start = Pointer(this.storage, moved(_ELEMENTS, this.offset), at)
        length = memory.read(this.storage, at, ir.INT64)
    elif is_array(type_):
        length = type_.fields[0].type.length or 0
    else:
        return None
    if node.name.removeprefix(ir.ADDRESS_OF) in ir.ELEMENT_METHODS and node.name.startswith(ir.ADDRESS_OF):
        return _address(memory, start, length, node, arguments)
    match node.name:
        case "size":
            return length
        case "empty":
            return int(length == 0) if isinstance(length, int) else length
        case "operator[]" | "at" if len(arguments) == 2:
            return _element(memory, start, arguments[1], node.type)
        case "front":
            return _element(memory, start, 0, node.type)
        case "back":
            last = length - 1 if isinstance(length, int) else length
            return _element(memory, start, last, node.type)
        case "push_back" | "emplace_back" if isinstance(length, int) and is_vector(type_):
            element = node.arguments[1].type if len(arguments) == 2 else ir.UNKNOWN_TYPE
            if node.name == "push_back" or (node.type.size_bytes == element.size_bytes and not _differ(node)):
                memory.write(this.storage, start.offset + length * element.size_bytes, arguments[1], element)
            memory.set_cell(this.storage, at, length + 1)
            return 0
        case "pop_back" if is_vector(type_) and isinstance(length, int):
            memory.set_cell(this.storage, at, max(0, length - 1))
            return 0
        case "clear" if is_vector(type_):
            memory.set_cell(this.storage, at, 0)
            return 0
        case "resize" if len(arguments) == 2 and is_vector(type_):
            memory.set_cell(this.storage, at, arguments[1])
            return 0
        case "assign" if len(arguments) == 3 and is_vector(type_):
            memory.forget_behind(start, Unknown("an element of a vector that was assigned"))
            length = _length_of_range(arguments[1], arguments[2], node.arguments[1].type)
            memory.set_cell(this.storage, at, length)
            return 0
        case "insert" | "erase" | "emplace" | "push_back" | "emplace_back" if is_vector(type_):
            memory.forget_elements(start, Unknown(f"set by {node.name}()"))
            return Unknown(f"the result of {node.name}()")
        case "data":
            return start
        case "begin" | "end" | "rbegin" | "rend" if not node.callee.startswith("_ZNK"):
            memory.forget_behind(start, Unknown("an element that is reached by an iterator"))
            return Unknown(f"the result of {node.name}()")
        case "reserve" | "begin" | "end" | "rbegin" | "rend" | "cbegin" | "cend":
            return Unknown(f"the result of {node.name}()")
        case _:
            return None


def _differ(node: ir.Call) -> bool:
    """Whether an element is made of its argument by more than a copy: `emplace_back`."""
    return node.type.kind is not node.arguments[1].type.kind


def _length_of_range(first: Value, second: Value, type_: ir.Type) -> Value:
    """How many elements a vector gets of two values: so many equal ones, or those between two addresses."""
    size = 0 if type_.element is None else type_.element.size_bytes
    if not isinstance(first, Pointer):
        return first if isinstance(first, (int, Unknown)) else Unknown("a vector made of something else")
    if isinstance(second, Pointer) and second.storage is first.storage and size:
        return (second.offset - first.offset) // size
    return second if isinstance(second, Unknown) else Unknown("a vector made of something else")


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


def _element(memory: Memory, start: Pointer, index: Value, type_: ir.Type) -> Value:
    if not isinstance(index, int):
        return index if isinstance(index, Unknown) else Unknown("an element at an unknown index")
    return memory.read(start.storage, start.offset + index * type_.size_bytes, type_)
