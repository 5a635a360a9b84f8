"""`std::map`, `std::set` and those without an order of host code, with keys and values that are numbers or
texts, or values that are functions. A set is a map of which each key is its own value.

The pairs lie one behind the other like the elements of a vector, those of a map in the order of their keys.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.launches.command_line import OUT_OF_RANGE, text_of
from wattslice.launches.containers import (
    MOST_MOVED,
    Element,
    elements,
    scalar_named,
    store_elements,
    vector_at,
)
from wattslice.launches.memory import (
    Memory,
    Pointer,
    Record,
    Splice,
    Unknown,
    Value,
    condition_of,
    convert,
    is_text_object,
)

_Key = int | str
_UNKNOWN_KEY = Unknown("an element by a key that is not known")


def is_keyed(type_: ir.Type) -> bool:
    """True for the maps of the library."""
    return type_.kind is ir.TypeKind.RECORD and type_.name.removeprefix("const ").startswith(ir.KEYED_CLASSES)


class _Pairs(Struct, frozen=True):
    """How the pairs of a map lie in memory."""

    key: ir.Type
    value: ir.Type
    second: int
    size: int
    is_ordered: bool

    def key_of(self, given: Value) -> _Key | None:
        """A key as it is compared; None where it is not known."""
        if is_text_object(self.key):
            return text_of(given)
        given = convert(given, self.key)
        return given if isinstance(given, int) else None

    def value_of(self, given: Value) -> Value:
        """A value as it is kept."""
        if _is_function(self.value.name):
            return given.cells.get(0, _NO_FUNCTION) if isinstance(given, Record) else given
        if not is_text_object(self.value):
            return convert(given, self.value)
        text = text_of(given)
        return condition_of(given) if text is None else text


_NO_FUNCTION = Unknown("a function that was never set")


def _is_function(name: str) -> bool:
    return name.startswith("std::function<") or "(*)(" in name


def _pairs_of(type_: ir.Type) -> _Pairs | None:
    """None where keys or values are none of these, or are compared in a way of their own."""
    name = type_.name.removeprefix("const ")
    kind, _, rest = name.partition("<")
    words, depth, start = list[str](), 0, 0
    for at, char in enumerate(f"{rest.removesuffix('>')},"):
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            words.append(rest[start:at].strip())
            start = at + 1
    names = words * 2 if "set" in kind and len(words) == 1 else words  # a set: each key is its own value
    key, value = map(scalar_named, names) if len(names) == 2 else (None, None)
    if len(words) == 2 and _is_function(words[1]):
        size = 8 if "(*)(" in words[1] else 1
        value = ir.Type(ir.TypeKind.RECORD, name=words[1], record_bytes=size)
    if key is None or value is None or key.is_float:
        return None
    is_ordered = kind in ("std::map", "std::set")
    if len(words) == 1:
        return _Pairs(key, key, 0, key.size_bytes, is_ordered)
    second = -(-key.size_bytes // value.size_bytes) * value.size_bytes
    widest = max(key.size_bytes, value.size_bytes)
    return _Pairs(key, value, second, -(-(second + value.size_bytes) // widest) * widest, is_ordered)


def constructed_map(node: ir.Construct, values: tuple[Value, ...]) -> Value:
    """The map that a constructor makes: empty, of a list of pairs, or a copy."""
    pairs = _pairs_of(node.type)
    start = vector_at(Pointer(Memory({}).global_named("a map"), 0))
    memory = Memory({})
    memory.set_cell(start.storage, start.length or 0, 0)
    given = values[0] if values else None
    if isinstance(given, Record) and is_keyed(node.arguments[0].type):
        return given
    if pairs is None or len(values) > 1 or (values and not isinstance(given, Record)):
        return Unknown("a map made of something else")
    if isinstance(given, Record) and (element := node.arguments[0].type.element) is not None:
        offset = element.fields[1].offset_bytes if len(element.fields) == 2 else 0
        number = node.arguments[0].type.length or 0
        place = replace(start, storage=replace(start.storage, cells=given.cells), offset=0)
        for part in elements(place, number, element.size_bytes):
            key = pairs.key_of(part.get(0, _UNKNOWN_KEY))
            if key is None or offset not in part:
                return Unknown("a map made of something else")
            _Map(memory, start, pairs).put(key, part[offset])
    return Record(dict(start.storage.cells))


class _Map(Struct, frozen=True):
    """A map in memory: where its pairs begin, and how they lie."""

    memory: Memory
    start: Pointer
    pairs: _Pairs

    @property
    def length(self) -> Value:
        return self.memory.read(self.start.storage, self.start.length or 0, ir.INT64)

    def at(self, index: int) -> Pointer:
        return replace(self.start, offset=self.start.offset + index * self.pairs.size)

    def second(self, index: int) -> Pointer:
        """Where the value of a pair is."""
        place, size_bytes = self.at(index), self.pairs.value.size_bytes
        return replace(place, offset=place.offset + self.pairs.second, member_bytes=size_bytes)

    def parts(self) -> list[Element] | None:
        """The pairs; None where a key is not known."""
        length = self.length
        if not isinstance(length, int) or not 0 <= length <= MOST_MOVED:
            return None
        found = elements(self.start, length, self.pairs.size)
        return found if all(isinstance(part.get(0), (int, str)) for part in found) else None

    def store(self, parts: list[Element], splice: Splice) -> None:
        """Its pairs from now on, which have changed places so: iterators stay with them."""
        store_elements(self.memory, self.start, parts, self.pairs.size)
        self.memory.set_cell(self.start.storage, self.start.length or 0, len(parts))
        self.memory.follow_elements(self.start, self.pairs.size, splice)

    def erase(self, place: int) -> None:
        parts = self.parts() or []
        self.store([*parts[:place], *parts[place + 1 :]], Splice(place, 1, 0))

    def find(self, key: _Key) -> int | None:
        """The place of a key; None without one, or where a key is not known (`parts`)."""
        keys = [part[0] for part in self.parts() or ()]
        return keys.index(key) if key in keys else None

    def place_of(self, key: _Key) -> int:
        """Where a key is, or would be, in a map that keeps their order."""
        return sum(_rank(part[0]) < _rank(key) for part in self.parts() or ())

    def put(self, key: _Key, value: Value) -> int:
        """The place of a key that is there, else of a new one with this value."""
        found = self.find(key)
        if found is not None:
            return found
        parts = self.parts() or []
        place = self.place_of(key) if self.pairs.is_ordered else len(parts)
        pair = {0: key, self.pairs.second: self.pairs.value_of(value)}
        self.store([*parts[:place], pair, *parts[place:]], Splice(place, 0, 1))
        return place


def _rank(key: Value) -> tuple[int, str]:
    return (key, "") if isinstance(key, int) else (0, str(key))


def keyed_call(memory: Memory, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    """The value of a method of a map, after its effect; None where none is known."""
    type_ = node.arguments[0].type.element if node.arguments else None
    this = arguments[0] if arguments else None
    if type_ is None or not isinstance(this, Pointer) or not is_keyed(type_):
        return None
    start, pairs = vector_at(this), _pairs_of(type_)
    found = None if pairs is None else _method(_Map(memory, start, pairs), node, arguments)
    if found is None:
        if not node.callee.startswith("_ZNK"):
            memory.forget_elements(start, Unknown(f"set by {node.name}()"))
            memory.follow_elements(start, 0, None)
        around = (start,) if node.type.element else ()
        return Unknown(f"the result of {node.name}()", around=around, is_anywhere=True)
    return found


def _method(known: _Map, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
    parts, memory, pairs = known.parts(), known.memory, known.pairs
    if parts is None:
        return None
    name = node.name.removeprefix(ir.ADDRESS_OF)
    key = pairs.key_of(arguments[1]) if len(arguments) > 1 else None
    match name:
        case "size":
            return len(parts)
        case "empty":
            return int(not parts)
        case "clear":
            known.store([], Splice(0, len(parts), 0))
            return 0
        case "end" | "cend":
            return known.at(len(parts))
        case "begin" | "cbegin" if pairs.is_ordered or len(parts) < 2:
            return known.start
        case "operator[]" if node.callee == ir.NEXT_ELEMENT:
            index = arguments[1] if len(arguments) == 2 else None
            if not (pairs.is_ordered or len(parts) < 2):  # which pair is unknown: what is written is a value
                why = Unknown("an element of an order that nobody knows")
                seconds = tuple(known.second(at) for at in range(len(parts)) if name != node.name)
                for second in seconds:
                    memory.forget_behind(second, why)
                return replace(why, around=seconds)
            if not isinstance(index, int):
                return None
            place = known.at(index)
            return place if node.name != name else memory.read(place.storage, place.offset, node.type)
        case "count" | "contains" if key is not None:
            return int(known.find(key) is not None)
        case "find" if key is not None:
            place = known.find(key)
            return known.at(len(parts) if place is None else place)
        case "lower_bound" | "upper_bound" if key is not None and pairs.is_ordered:
            is_there = known.find(key) is not None
            return known.at(known.place_of(key) + (is_there and name == "upper_bound"))
        case "operator[]" | "at" if key is not None:
            if name == "at" and known.find(key) is None:
                return OUT_OF_RANGE
            made = (
                "" if is_text_object(pairs.value) else _NO_FUNCTION if _is_function(pairs.value.name) else 0
            )
            place = known.second(known.put(key, made))
            return place if node.name != name else memory.read(place.storage, place.offset, node.type)
        case "emplace" if key is not None and len(arguments) == 3:
            known.put(key, arguments[2])
        case "insert" | "emplace" if key is not None and len(arguments) == 2 and not pairs.second:
            known.put(key, arguments[1])
        case "insert" if len(arguments) == 2 and isinstance(given := arguments[1], Record):
            cells = [given.cells[offset] for offset in sorted(given.cells)]
            key = pairs.key_of(cells[0]) if len(cells) == 2 else None
            if key is None:
                return None
            known.put(key, cells[1])
        case "erase" if key is not None:
            place = known.find(key)
            if place is not None:
                known.erase(place)
            return int(place is not None)
        case "erase" if len(arguments) == 2 and isinstance(where := arguments[1], Pointer):
            place = (where.offset - known.start.offset) // pairs.size
            if where.storage is not known.start.storage or not 0 <= place < len(parts):
                return None
            known.erase(place)
            if pairs.is_ordered:
                return where
        case _:
            return None
    return Unknown(f"the result of {name}()")
