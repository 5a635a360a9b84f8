"""`std::vector`, `std::deque`, `std::list`, Thrust's vectors and `std::array`: how many elements, and which.

An array holds its elements from its start on; a vector elsewhere in its object, its length beside them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.command_line import MOST_IN_ONE, OUT_OF_RANGE, TOO_LONG, text_of
from wattslice.launches.layouts import NUMBERS
from wattslice.launches.memory import (
    ELEMENTS,
    Memory,
    Pointer,
    Record,
    Splice,
    Unknown,
    Value,
    condition_of,
    construct,
    convert,
    inside,
    is_text_object,
    loaded_from,
    moved,
    outermost,
)

_LENGTH = ELEMENTS - 1
"""Where the length of a vector is kept."""


def is_vector(type_: ir.Type) -> bool:
    """True for `std::vector` and Thrust's."""
    name = type_.name.removeprefix("const ")
    return type_.kind is ir.TypeKind.RECORD and name.startswith(ir.VECTOR_CLASSES)


def is_array(type_: ir.Type) -> bool:
    """True for `std::array` of a known layout."""
    return type_.name.removeprefix("const ").startswith("std::array<") and len(type_.fields) == 1


def constructed_array(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """A `std::array` of these elements, or of one list or object that holds them."""
    if len(values) == 1 and isinstance(values[0], Record):
        return values[0]
    element = node.type.fields[0].type.element or ir.UNKNOWN_TYPE
    cells: dict[int, Value] = {}
    for number, value in enumerate(values):
        parts = value.cells if isinstance(value, Record) else {0: value}
        cells.update({moved(key, number * element.size_bytes): part for key, part in parts.items()})
    return Record(cells)


def constructed_vector(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """The vector that a constructor makes: empty, of so many elements, of a list, or a copy."""
    if not values:
        return Record({_LENGTH: 0})
    first, given = values[0], node.arguments[0].type
    if len(values) == 1 and isinstance(first, int) and (zero := zero_of(node.type)) is not None:
        return Record({_LENGTH: first, **_alike(first, *zero)})
    if isinstance(first, Record):
        if given.kind is ir.TypeKind.ARRAY:
            elements = {moved(key, ELEMENTS): cell for key, cell in first.cells.items()}
            return Record({**elements, _LENGTH: given.length or 0})
        return first if is_vector(given) else Unknown("a vector made of something else")
    if isinstance(first, Unknown):
        return Record({_LENGTH: first})
    if isinstance(first, Pointer) and len(values) == 2:
        length = _length_of_range(first, values[1], given)
        words = _words(node.type, first, length)
        return Record({**(words or _copied(first, length, given)), _LENGTH: length})
    if not isinstance(first, int) or len(values) > 2:
        return Unknown("a vector made of something else")
    filled = _alike(first, values[1], node.arguments[1].type) if len(values) == 2 else {}
    return Record({_LENGTH: first, **filled})


def _alike(number: int, value: Value, type_: ir.Type) -> dict[int, Value]:
    """The elements of a vector that all have one value."""
    parts = value.cells if isinstance(value, Record) else {0: convert(value, type_)}
    places = range(min(number, _MOST_FILLED) if type_.size_bytes else 0)
    return {
        moved(key, ELEMENTS + at * type_.size_bytes): part for at in places for key, part in parts.items()
    }


def _words(type_: ir.Type, first: Pointer, length: Value) -> dict[int, Value]:
    """The elements of `std::vector<std::string> words(argv, argv + argc)`."""
    if "<std::basic_string<char" not in type_.name or not isinstance(length, int):
        return {}
    cells = (first.storage.cells.get(first.offset + 8 * at) for at in range(min(length, _MOST_WORDS)))
    return {ELEMENTS + at: text for at, cell in enumerate(cells) if (text := text_of(cell or 0)) is not None}


_MOST_WORDS = 256
_MOST_FILLED = 64
"""Elements of a vector that are all given the same value."""
MOST_MOVED = 1024
"""Elements of a sequence that is changed as a whole."""


def _copied(first: Pointer, length: Value, type_: ir.Type) -> dict[int, Value]:
    """The elements of a vector that is made of a range."""
    size = 0 if type_.element is None else type_.element.size_bytes
    if not isinstance(length, int) or not 0 < length <= MOST_MOVED:
        return {}
    parts = elements(first, length, size)
    return {
        moved(key, ELEMENTS + at * size): cell for at, part in enumerate(parts) for key, cell in part.items()
    }


_FUNCTION = ir.Type(ir.TypeKind.RECORD, name="std::function<", record_bytes=1)
Element = dict[int, Value]
"""The scalars of an element, by their offsets in it."""


def elements(first: Pointer, number: int, size: int) -> list[Element]:
    """So many elements of `size` bytes from an address on; of one that was never set nothing."""
    found: list[Element] = [{} for _ in range(number)]
    begin, end = first.offset, first.offset + number * (size or 1)
    for key, cell in first.storage.cells.items():
        if (held := inside(key, begin, end)) is not None:
            at = outermost(key, end) - begin
            found[at // (size or 1)][moved(held, -(at - at % (size or 1)))] = cell
    return found


def store_elements(memory: Memory, first: Pointer, parts: Iterable[Element], size: int) -> None:
    """Elements from an address on, each as a whole."""
    for at, part in enumerate(parts):
        start = first.offset + at * size
        for offset in range(size) if part.keys() != {0} else ():
            if offset not in part and start + offset in first.storage.cells:
                memory.set_cell(first.storage, start + offset, Unknown("an element that was never set"))
        for offset, cell in part.items():
            memory.set_cell(first.storage, moved(offset, start), cell)


_REORDERING = frozenset(
    {"emplace_front", "emplace", "sort", "reverse", "splice", "merge", "remove", "remove_if", "unique"}
    | {"swap"}
)
"""Methods of a list after which nobody knows where its elements lie."""
_SCALARS = {
    **dict.fromkeys(("bool", "char", "signed char", "unsigned char"), 1),
    **dict.fromkeys(("short", "unsigned short"), 2),
    **dict.fromkeys(("int", "unsigned int", "float"), 4),
    **dict.fromkeys(("long", "unsigned long", "long long", "unsigned long long", "double"), 8),
}
"""Types that a vector gives elements of the value 0, with their sizes."""


def vector_at(where: Pointer) -> Pointer:
    """Where the elements of the vector at an address begin."""
    start, length = (moved(key, where.offset) for key in (ELEMENTS, _LENGTH))
    return Pointer(where.storage, start, length)


def scalar_named(name: str) -> ir.Type | None:
    """The type of a number or a text by its name; None of any other."""
    name = name.removeprefix("const ")
    if name.startswith("std::basic_string<char"):
        return ir.Type(ir.TypeKind.RECORD, name=name, record_bytes=1)
    size = _SCALARS.get(name)
    kind = ir.TypeKind.FLOAT if name in ("float", "double") else ir.TypeKind.INT
    return None if size is None else ir.Type(kind, bits=8 * size, signed="unsigned" not in name)


def zero_of(type_: ir.Type) -> tuple[Value, ir.Type] | None:
    """The value that a vector gives new elements, with their type; None where nobody knows."""
    name = type_.name.partition("<")[2]
    if name.startswith(ir.VECTOR_CLASSES):
        return Record({_LENGTH: 0}), ir.Type(ir.TypeKind.RECORD, name=name[:-1], record_bytes=1)
    known = scalar_named(name.split(",")[0].rstrip("> "))
    return None if known is None or is_text_object(known) else (0, known)


def container_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """The value of a method of a vector or an array, after its effect; None where none is known.

    Iterators of a list stay with its elements.
    """
    type_ = node.arguments[0].type.element if node.arguments else None
    this = arguments[0] if arguments else None
    is_list = type_ is not None and type_.name.startswith("std::list<")
    if type_ is None or not is_list or not isinstance(this, Pointer) or node.callee.startswith("_ZNK"):
        return _container_call(memory, node, arguments)
    start = vector_at(this)
    before = start.storage.cells.get(start.length or 0)
    found = _container_call(memory, node, arguments)
    after = start.storage.cells.get(start.length or 0)
    if node.name.removeprefix(ir.ADDRESS_OF) not in _KEEPS_PLACES:
        size, splice = _size_in(type_, node), None
        if size and isinstance(before, int) and isinstance(after, int):
            splice = _splice(node, arguments, start, before, after, size)
        memory.follow_elements(start, size, splice)
    return found


_KEEPS_PLACES = ("begin", "end", "cbegin", "cend", "front", "back", "size", "empty", "fill")
"""Methods after which the elements of a list are what they were, where they were."""


def _size_in(type_: ir.Type, node: ir.Call) -> int:
    """Bytes of an element of a list that a method changes; 0 where nobody knows."""
    made = zero_of(type_)
    if made is None and node.name == "push_back":
        return node.arguments[-1].type.size_bytes
    return 0 if made is None else made[1].size_bytes


def _splice(
    node: ir.Call, arguments: tuple[Value, ...], start: Pointer, before: int, after: int, size: int
) -> Splice | None:
    """How a method has changed a list; None where nobody knows."""
    more = max(0, after - before), max(0, before - after)
    match node.name:
        case "push_back" | "emplace_back" | "pop_back" | "clear" | "resize":
            return Splice(min(before, after), more[1], more[0])
        case "push_front" | "pop_front":
            return Splice(0, more[1], more[0])
        case "insert" | "erase" if isinstance(place := arguments[1], Pointer):
            return Splice((place.offset - start.offset) // size, more[1], more[0])
        case _:
            return None


def _container_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    type_ = node.arguments[0].type.element if node.arguments else None
    this = arguments[0] if arguments else None
    if type_ is None or not isinstance(this, Pointer):
        return None
    start, at = Pointer(this.storage, this.offset), moved(_LENGTH, this.offset)
    if is_vector(type_):
        start = vector_at(this)
        length = memory.read(this.storage, at, ir.INT64)
        if type_.name.startswith("std::list<") and node.name in _REORDERING:
            memory.forget_elements(start, Unknown(f"set by {node.name}() of a list"))
            return Unknown(f"the result of {node.name}()", around=(start,) if node.type.element else ())
    elif is_array(type_):
        length = type_.fields[0].type.length or 0
    else:
        return None
    index = arguments[1] if len(arguments) == 2 and node.name.removeprefix(ir.ADDRESS_OF) == "at" else 0
    if index and isinstance(index, int) and isinstance(length, int) and not 0 <= index < length:
        return OUT_OF_RANGE
    wanted = arguments[1:2] if node.name in ("reserve", "resize") else ()
    if any(isinstance(number, int) and not 0 <= number <= MOST_IN_ONE for number in wanted):
        return TOO_LONG
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
            value, element = _added(type_, node, arguments)
            if not element.size_bytes:
                memory.forget_behind(start, Unknown("an element behind one of unknown size"))
            memory.write(this.storage, start.offset + length * element.size_bytes, value, element)
            memory.set_cell(this.storage, at, length + 1)
            return 0
        case "pop_back" if is_vector(type_) and isinstance(length, int):
            memory.set_cell(this.storage, at, max(0, length - 1))
            return 0
        case "clear" if is_vector(type_):
            memory.set_cell(this.storage, at, 0)
            return 0
        case "resize" if len(arguments) in (2, 3) and is_vector(type_):
            _resize(memory, start, length, node, arguments)
            return 0
        case "insert" | "erase" if is_vector(type_) and isinstance(length, int) and len(arguments) > 1:
            return _moved_about(memory, start, length, node, arguments)
        case "swap" if is_vector(type_) and (other := _vector_named(memory, node.arguments[1])) is not None:
            mine, theirs = (memory.read(place.storage, place.offset, type_) for place in (this, other))
            memory.write(this.storage, this.offset, theirs, type_)
            memory.write(other.storage, other.offset, mine, type_)
            return 0
        case "fill" if is_array(type_) and isinstance(length, int) and len(arguments) == 2:
            fill(memory, start, length, arguments[1], type_.fields[0].type.element or ir.UNKNOWN_TYPE)
            return 0
        case "assign" if len(arguments) == 3 and is_vector(type_):
            memory.forget_behind(start, Unknown("an element of a vector that was assigned"))
            length = _length_of_range(arguments[1], arguments[2], node.arguments[1].type)
            memory.set_cell(this.storage, at, length)
            is_short = isinstance(arguments[1], int) and arguments[1] <= _MOST_FILLED
            if is_short and isinstance(length, int) and (made := zero_of(type_)) is not None:
                fill(memory, start, length, arguments[2], made[1])
            return 0
        case "push_front" | "pop_front" if (
            isinstance(length, int) and length < MOST_MOVED and (made := zero_of(type_)) is not None
        ):
            size = made[1].size_bytes
            parts = elements(start, length, size)
            parts = [{0: convert(arguments[1], made[1])}, *parts] if len(arguments) > 1 else parts[1:]
            store_elements(memory, start, parts, size)
            memory.set_cell(this.storage, at, len(parts))
            return 0
        case "insert" | "erase" | "emplace" | "push_back" | "emplace_back" | "push_front" | "pop_front" if (
            is_vector(type_)
        ):
            memory.forget_elements(start, Unknown(f"set by {node.name}()"))
            return Unknown(f"the result of {node.name}()")
        case "data" | "begin" | "cbegin" if node.type.kind is ir.TypeKind.POINTER:
            return start
        case "end" | "cend" if node.type.kind is ir.TypeKind.POINTER:
            size = 0 if node.type.element is None else node.type.element.size_bytes
            if not isinstance(length, int) or not size:
                return replace(condition_of(length), around=(start,))
            return replace(start, offset=start.offset + length * size)
        case "begin" | "end" | "rbegin" | "rend":  # objects of a class that is not followed
            memory.forget_behind(start, Unknown("an element that is reached by an iterator"))
            return Unknown(f"the result of {node.name}()")
        case "reserve" | "cbegin" | "cend":
            return Unknown(f"the result of {node.name}()")
        case _:
            return None


def _vector_named(memory: Memory, argument: ir.Expr) -> Pointer | None:
    """Where a vector is that is given by its name."""
    if not isinstance(argument, ir.Read) or argument.place.path or not is_vector(argument.type):
        return None
    return memory.address(argument.place.variable)


def fill(memory: Memory, first: Pointer, number: int, value: Value, type_: ir.Type) -> None:
    """Give so many elements one value."""
    parts = value.cells if isinstance(value, Record) else {0: convert(value, type_)}
    store_elements(memory, first, [parts] * number, type_.size_bytes)


def _resize(
    memory: Memory, start: Pointer, length: Value, node: ir.Call, arguments: tuple[Value, ...]
) -> None:
    """The new length; new elements have the value that is given, or 0, also where others were before."""
    new, zero = arguments[1], zero_of(node.arguments[0].type.element or ir.UNKNOWN_TYPE)
    memory.set_cell(start.storage, start.length or 0, new)
    if len(arguments) == 3:
        zero = arguments[2], node.arguments[2].type
    if not isinstance(length, int) or not isinstance(new, int) or new > length + _MOST_FILLED or zero is None:
        if new != length:
            memory.forget_behind(start, Unknown("an element of a vector that was resized"))
    elif new > length:
        value, type_ = zero
        first = replace(start, offset=start.offset + length * type_.size_bytes)
        fill(memory, first, new - length, value, type_)


def _moved_about(
    memory: Memory, start: Pointer, length: int, node: ir.Call, arguments: tuple[Value, ...]
) -> Value:
    """insert() and erase() of numbers and texts; where the place or what is inserted is unknown, all is."""
    place, element = arguments[1], node.arguments[1].type.element or ir.UNKNOWN_TYPE
    size = element.size_bytes
    added = [] if node.name == "erase" else _inserted(node, arguments, element)
    behind = arguments[2] if node.name == "erase" and len(arguments) > 2 else place
    is_plain = (element.kind in _PLAIN and element.lanes == 1) or is_text_object(element) or not added
    if (
        not (isinstance(place, Pointer) and isinstance(behind, Pointer))
        or added is None
        or not is_plain
        or length + len(added) > MOST_MOVED
    ):
        memory.forget_elements(start, Unknown(f"set by {node.name}()"))
        return Unknown(f"the result of {node.name}()")
    at, end = ((one.offset - start.offset) // size for one in (place, behind))
    parts = elements(start, length, size)
    parts[at : end + (node.name == "erase" and len(arguments) == 2)] = added
    store_elements(memory, start, parts, size)
    memory.set_cell(start.storage, start.length or 0, len(parts))
    return replace(start, offset=place.offset)


_PLAIN = (ir.TypeKind.INT, ir.TypeKind.FLOAT, ir.TypeKind.POINTER)


def _inserted(node: ir.Call, arguments: tuple[Value, ...], element: ir.Type) -> list[Element] | None:
    """What is inserted: a value, so many of one, or a range of as large numbers; None where nobody knows."""
    types = [argument.type for argument in node.arguments[2:]]
    match arguments[2:]:
        case (value,) if is_text_object(element) and (text := text_of(value)) is not None:
            return [{0: text}]
        case (value,) if types[0].kind is element.kind:
            return [value.cells if isinstance(value, Record) else {0: convert(value, element)}]
        case (int() as number, value) if types[1].kind is element.kind and 0 <= number <= MOST_MOVED:
            return [value.cells if isinstance(value, Record) else {0: convert(value, element)}] * number
        case (Pointer() as first, Pointer() as last) if first.storage is last.storage:
            given = types[0].element or ir.UNKNOWN_TYPE
            number = (last.offset - first.offset) // (element.size_bytes or 1)
            is_same = (given.kind, given.bits, given.signed) == (element.kind, element.bits, element.signed)
            if is_same and 0 <= number <= MOST_MOVED:
                return elements(first, number, element.size_bytes)
        case _:
            pass
    return None


def _added(vector: ir.Type, node: ir.Call, arguments: tuple[Value, ...]) -> tuple[Value, ir.Type]:
    """What a new element at the end is, and its type."""
    lost, given = Unknown(f"an element that {node.name}() made"), node.arguments[-1].type
    if len(arguments) == 2 and vector.name.partition("<")[2].startswith(_FUNCTION.name):
        return arguments[1], _FUNCTION
    if len(arguments) == 3 and node.type.name.startswith("std::pair<"):
        return construct(ir.Construct(node.arguments[1:], (), node.type, node.span), arguments[1:]), node.type
    is_alike = given.kind is node.type.kind or {given.kind, node.type.kind} <= set(NUMBERS)
    if len(arguments) == 2 and (node.name == "push_back" or is_alike):
        return arguments[1], given if node.name == "push_back" else node.type
    return (len(arguments) == 1 and zero_of(vector)) or (lost, node.type)


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
        return replace(why, around=(start,))
    size = 0 if node.type.element is None else node.type.element.size_bytes
    return replace(start, offset=start.offset + index * size)


def _element(memory: Memory, start: Pointer, index: Value, type_: ir.Type) -> Value:
    if not isinstance(index, int):
        why = index if isinstance(index, Unknown) else Unknown("an element at an unknown index")
        return loaded_from((start,), why, type_)
    return memory.read(start.storage, start.offset + index * type_.size_bytes, type_)
