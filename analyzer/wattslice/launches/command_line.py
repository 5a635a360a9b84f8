"""The command line of a program as its host code sees it: argc, argv, and the functions that read them.

A text is characters in memory, one byte each, with a 0 behind them; a literal is a `str`, a `std::string` a
record that holds either at its start. A function is evaluated where every text that it reads is known; where
one is not, whoever asks decides what that means.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.launches.host_api import ENVIRONMENT, FLAGS, SETS_FLAGS
from wattslice.launches.memory import (
    TEXT_STREAMS,
    Memory,
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    before_nul,
    convert,
    is_text_object,
)
from wattslice.patterns import regex

_POINTER_BYTES = 8
_LONGEST = 4096
_OPTION_BYTES = 32
"""`struct option` of getopt.h: name at 0, has_arg at 8, flag at 16, val at 24."""
_CHAR = ir.Type(ir.TypeKind.INT, bits=8)
_TOLD = -1
"""Where, in the storage of argv, getopt remembers how many options it has told."""


# ----------------------------------------------------------------------------- texts


def text_storage(text: str, *, is_literal: bool = False) -> Pointer:
    """The address of these characters."""
    cells: dict[int, Value] = {offset: ord(char) for offset, char in enumerate(text)}
    cells[len(text)] = 0
    return Pointer(Storage("a text", cells, size_bytes=len(text) + 1, is_given=is_literal), 0)


def text_of(value: Value) -> str | None:
    """The characters that a value stands for; None where they are not known."""
    if isinstance(value, str):
        return before_nul(value)
    if isinstance(value, Record):
        value = value.cells.get(0, 0)
        return value if isinstance(value, str) else text_of(value)
    if not isinstance(value, Pointer):
        return None
    cells, found = value.storage.cells, list[str]()
    first = cells.get(value.offset)
    if isinstance(first, str):  # the address of a std::string
        return first
    if isinstance(first, Pointer):
        return text_of(first)
    for offset in range(value.offset, value.offset + _LONGEST):
        cell = cells.get(offset)
        if not isinstance(cell, int) or not 0 <= cell < 0x110000:
            return None
        if cell == 0:
            return "".join(found)
        found.append(chr(cell))
    return None


# ----------------------------------------------------------------------------- argc and argv


def main_arguments(given: ProgramArguments) -> tuple[int, Pointer]:
    """What `main` is called with: argc, and the address of argv in memory of its own."""
    why = Unknown(f"given on the command line, which {given.source} does not tell")
    cells: dict[int, Value] = {0: text_storage(given.program)}
    for number, word in enumerate(given.words, 1):
        cells[_POINTER_BYTES * number] = why if word is None else text_storage(word)
    count = len(given.words) + 1
    cells[_POINTER_BYTES * count] = 0
    return count, Pointer(Storage("argv", cells, size_bytes=_POINTER_BYTES * (count + 1), is_given=True), 0)


_Word = str | Unknown
_CHANGED = Unknown("a word of the command line that may have been changed")


def _words(arguments: tuple[Value, ...]) -> list[_Word] | None:
    """The words behind the first two arguments of a call, argc and argv; None where not even their number is
    known.
    """
    count, words = arguments[0], arguments[1]
    if not isinstance(count, int) or not isinstance(words, Pointer) or not 0 <= count < _LONGEST:
        return None
    places = (words.offset + _POINTER_BYTES * number for number in range(count))
    cells = [words.storage.cells.get(place, 0) for place in places]
    texts = ((cell, text_of(cell)) for cell in cells)
    return [(c if isinstance(c, Unknown) else _CHANGED) if text is None else text for c, text in texts]


def _held(word: _Word) -> Value:
    return word if isinstance(word, Unknown) else text_storage(word)


# ----------------------------------------------------------------------------- numbers in texts

_INTEGER = {
    0: regex(r"\s*([+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*))"),
    8: regex(r"\s*([+-]?[0-7]+)"),
    10: regex(r"\s*([+-]?\d+)"),
    16: regex(r"\s*([+-]?(?:0[xX])?[0-9a-fA-F]+)"),
}
_FLOAT = regex(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_SMALLEST, _LARGEST = -(1 << 63), (1 << 64) - 1


def _integer(text: str, base: int) -> tuple[int, int] | None:
    """The number at the start of a text, and where it ends; None where there is none."""
    found = _INTEGER[base].match(text) if base in _INTEGER else None
    if found is None:
        return None
    digits = found[1]
    if base == 0:
        plain = digits.lstrip("+-").lower()
        base = 16 if plain.startswith("0x") else 8 if plain.startswith("0") and plain != "0" else 10
    return min(max(int(digits, base), _SMALLEST), _LARGEST), found.end()


def _real(text: str) -> tuple[float, int] | None:
    found = _FLOAT.match(text)
    if found is None or not math.isfinite(number := float(found[1])):
        return None
    return number, found.end()


_Arguments = tuple[Value, ...]
_Function = Callable[[Memory, ir.Call, _Arguments], Value | None]


BITS = "std::bitset<"
_NO_TEXT = Unknown("a number in a text that is not there, as of an environment variable that is not set")
NO_NUMBER = Unknown("a text that is no number: an exception")
OUT_OF_RANGE = Unknown("a text or number that is out of range: an exception")
TOO_LONG = Unknown("a length that no container has: an exception")
MOST_IN_ONE = (1 << 63) - 1
"""Elements that a text or vector has at most."""
THROWN = {
    NO_NUMBER: "std::invalid_argument|std::logic_error|std::exception",
    OUT_OF_RANGE: "std::out_of_range|std::logic_error|std::exception",
    TOO_LONG: "std::length_error|std::logic_error|std::exception",
}
"""What functions of texts and containers throw, instead of giving a value: by its names."""
_PERHAPS_THROWN = {
    "at": THROWN[OUT_OF_RANGE],
    "compare": THROWN[OUT_OF_RANGE],
    "value": "std::bad_optional_access|std::exception",
    "operator()": "std::bad_function_call|std::exception",
}


def may_throw(node: ir.Expr) -> bool:
    """Whether an expression throws, or is of a function or a constructor of texts and containers that may."""
    if isinstance(node, ir.Construct) and node.type.name.startswith(BITS):
        return bool(node.arguments) and not node.arguments[0].type.is_integral
    if isinstance(node, ir.Construct):
        number = ir.strip_casts(node.arguments[0]) if node.arguments and _holds_many(node.type) else None
        is_fine = isinstance(number, ir.Constant) and 0 <= number.value <= MOST_IN_ONE
        return number is not None and number.type.is_integral and not is_fine
    if not isinstance(node, ir.Call):
        return False
    name = node.name.removeprefix("std::").removeprefix(ir.ADDRESS_OF)
    if name in _CHANGED_INSIDE:
        return bool(node.arguments) and _is_about_text(node.arguments[0])
    return (
        name in (ir.THROW, "substr", "at", "reserve", "resize")
        or bool(perhaps_thrown(node))
        or name.startswith("sto")
    )


def _holds_many(type_: ir.Type) -> bool:
    """Whether a class is a text or a vector, which are made of so many elements."""
    name = type_.name.removeprefix("const ")
    return is_text_object(type_) or name.startswith(ir.VECTOR_CLASSES)


def perhaps_thrown(node: ir.Call) -> str:
    """What a method of an object that nobody knows may throw; nothing of most."""
    name = node.name.removeprefix(ir.ADDRESS_OF)
    is_whole = name == "compare" and len(node.arguments) < 3
    is_other = name == "operator()" and not node.callee.startswith("_ZNKSt8functionI")
    if is_whole or is_other or not node.callee.startswith(("_ZNSt", "_ZNKSt", "_ZNSs", "_ZNKSs")):
        return ""
    if "St6bitset" in node.callee and name in ("set", "test", "flip", "reset") and len(node.arguments) > 1:
        return THROWN[OUT_OF_RANGE]
    return _PERHAPS_THROWN.get(name, "")


def _to_integer(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """atoi, strtol, std::stoi and their kin; a text without a number is 0."""
    text = text_of(arguments[0]) if arguments else None
    base = arguments[2] if len(arguments) > 2 else 10
    if arguments and arguments[0] == 0:
        return _NO_TEXT
    if text is None or not isinstance(base, int) or base not in _INTEGER:
        return None
    found = _integer(text, base)
    number, end = found or (0, 0)
    if node.name.removeprefix("std::").startswith("sto") and (
        found is None or _clipped(number, node.type) != number
    ):
        return NO_NUMBER if found is None else OUT_OF_RANGE
    _store_end(memory, arguments, end)
    return _clipped(number, node.type)


def _to_real(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    text = text_of(arguments[0]) if arguments else None
    if arguments and arguments[0] == 0:
        return _NO_TEXT
    if text is None:
        return None
    found = _real(text)
    if found is None and node.name.removeprefix("std::").startswith("sto"):
        return NO_NUMBER
    number, end = found or (0.0, 0)
    _store_end(memory, arguments, end)
    return number


def _store_end(memory: Memory, arguments: _Arguments, end: int) -> None:
    """Where strtol stopped, through its second argument; a std::string's place is a number."""
    if len(arguments) > 1 and isinstance(arguments[1], Pointer):
        first = arguments[0]
        is_object = isinstance(first, Record)
        after: Value = end if is_object else _behind(first, end)
        memory.set_cell(arguments[1].storage, arguments[1].offset, after)


def _behind(text: Value, end: int) -> Value:
    where = text_storage(text) if isinstance(text, str) else text
    return Pointer(where.storage, where.offset + end) if isinstance(where, Pointer) else where


def _clipped(number: int, type_: ir.Type) -> int:
    """As the C library does: the nearest number that the type holds."""
    if type_.kind is not ir.TypeKind.INT or not type_.bits:
        return number
    bits = type_.bits - (1 if type_.signed else 0)
    return min(max(number, -(1 << bits) if type_.signed else _SMALLEST), (1 << bits) - 1)


_CONVERSION = regex(r"%(\*?)(\d*)(hh|h|ll|l|z|j|L)?([diuxXofeEgGscn%])|\s+|([^%])", re.DOTALL)
_SIZES = {"hh": 8, "h": 16, "": 32, "l": 64, "ll": 64, "z": 64, "j": 64}


def _sscanf(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    text = text_of(arguments[0]) if len(arguments) > 1 else None
    layout = text_of(arguments[1]) if len(arguments) > 1 else None
    if text is None or layout is None:
        return None
    found = scanned(memory, text, layout, arguments[2:])
    return None if found is None else found[0]


def scanned(memory: Memory, text: str, layout: str, given: _Arguments) -> tuple[int, int] | None:
    """What scanf stores where `given` points: how many values, and how many characters it takes; None where
    a conversion is none of those that are known.
    """
    if _CONVERSION.sub("", layout):
        return None
    targets = iter(given)
    position = assigned = 0
    for part in _CONVERSION.finditer(layout):
        skipped, width, size, kind, literal = part.groups()
        rest = text[position:]
        if kind is None:
            stripped = rest.lstrip() if literal is None else rest.removeprefix(literal)
            if literal is not None and stripped == rest:
                break
            position += len(rest) - len(stripped)
            continue
        if kind == "n":  # how many characters were taken
            if isinstance(target := next(targets, None), Pointer):
                counted = ir.Type(ir.TypeKind.INT, bits=_SIZES.get(size or "", 32), signed=True)
                memory.write(target.storage, target.offset, position, counted)
            continue
        rest = rest[: int(width)] if width and kind != "s" else rest
        found = _converted(kind, size or "", rest)
        if found is None:
            break
        value, length, type_ = found
        position += length
        if not skipped and kind != "%":
            target = next(targets, None)
            if not isinstance(target, Pointer):
                break
            if isinstance(value, str):
                store_text(memory, target, value)
            else:
                memory.write(target.storage, target.offset, value, type_)
            assigned += 1
    return assigned, position


def _converted(kind: str, size: str, text: str) -> tuple[int | float | str, int, ir.Type] | None:
    """One conversion of sscanf: the value, the characters that it takes, and its type."""
    if kind in "diuxXo":
        base = {"i": 0, "x": 16, "X": 16, "o": 8}.get(kind, 10)
        found = _integer(text, base)
        type_ = ir.Type(ir.TypeKind.INT, bits=_SIZES.get(size, 32), signed=kind in "di")
        return None if found is None else (*found, type_)
    if kind in "feEgG":
        real = _real(text)
        return None if real is None else (*real, ir.Type(ir.TypeKind.FLOAT, bits=64 if size == "l" else 32))
    if kind == "s":
        word = re.match(r"\s*(\S+)", text)
        return None if word is None else (word[1], word.end(), _CHAR)
    if kind == "c":
        return (ord(text[0]), 1, _CHAR) if text else None
    return ("", 1, _CHAR) if text.startswith("%") else None


_PRINTED = regex(r"%([-+ #0]{0,4})(\d{0,3})(\.\d{1,3})?(hh|h|ll|l|z|j)?([diuxXofeEgGcs%])|([^%])", re.DOTALL)


def _sprintf(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """sprintf and snprintf of known values; of a conversion that is not known here nothing."""
    is_limited = node.name.endswith("snprintf")
    layout = text_of(arguments[1 + is_limited]) if len(arguments) > 1 + is_limited else None
    target, size = arguments[0], arguments[1] if is_limited else _LONGEST
    if layout is None or not isinstance(target, Pointer) or not isinstance(size, int):
        return None
    text = _printed(layout, arguments[2 + is_limited :])
    if text is None or len(text) >= _LONGEST:
        return None
    if size > 0:
        store_text(memory, target, text[: size - 1])
    return len(text)


def _printed(layout: str, given: _Arguments) -> str | None:
    """What printf writes; None where that is not known."""
    if _PRINTED.sub("", layout):
        return None
    values, found = iter(given), list[str]()
    for flags, width, precision, size, kind, plain in _PRINTED.findall(layout):
        if plain or kind == "%":
            found.append(plain or kind)
            continue
        value = next(values, None)
        if kind == "s":
            value = None if value is None else text_of(value)
        if value is None or not isinstance(value, str if kind == "s" else float if kind in "feEgG" else int):
            return None
        if kind in "diuxXo" and isinstance(value, int):
            type_ = ir.Type(ir.TypeKind.INT, bits=_SIZES[size], signed=kind in "di")
            value, kind = convert(value, type_), "d" if kind in "iu" else kind
        if kind == "c" and isinstance(value, int):
            value &= 0xFF
        if kind in "oxX" and "#" in flags:  # which Python writes otherwise
            return None
        found.append(f"%{flags}{width}{precision}{kind}" % value)
    return "".join(found)


def store_text(memory: Memory, target: Pointer, text: str, size_bytes: int | None = None) -> None:
    """Characters, and the 0 behind them; with `size_bytes` so many of them, filled up with 0."""
    size_bytes = len(text) + 1 if size_bytes is None else size_bytes
    for offset, char in enumerate(text[:size_bytes].ljust(size_bytes, "\0")):
        memory.set_cell(target.storage, target.offset + offset, ord(char))


# ----------------------------------------------------------------------------- texts compared and copied


def _compared(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """strcmp and its kin, and the comparisons of std::string: of compare() also of a part."""
    del memory
    name = node.name.removeprefix("std::")
    if name == "compare" and len(arguments) == 4:
        part = _part_of(*arguments[:3])
        arguments = (Unknown("a part of a text") if part is None else part, arguments[3])
    left, right = (text_of(value) for value in arguments[:2]) if len(arguments) > 1 else (None, None)
    if left is None or right is None:
        return None
    if "case" in name:
        left, right = left.lower(), right.lower()
    if len(arguments) > 2 and isinstance(arguments[2], int):
        left, right = left[: arguments[2]], right[: arguments[2]]
    if name in ("operator==", "operator!="):
        return int((left == right) == (name == "operator=="))
    if name.startswith("operator"):
        return int(left < right if name == "operator<" else left > right)
    return (left > right) - (left < right)


def _found(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """strstr, strchr, strrchr: the place in the text, 0 without one."""
    del memory
    if len(arguments) < 2 or (text := text_of(arguments[0])) is None:
        return None
    wanted = chr(arguments[1]) if isinstance(arguments[1], int) else text_of(arguments[1])
    if wanted is None:
        return None
    place = text.rfind(wanted) if "strr" in node.name else text.find(wanted)
    return 0 if place < 0 else _behind(arguments[0], place)


def _token(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """strtok and strtok_r: the next word, with a 0 behind it; where the rest begins is kept."""
    if len(arguments) < 2:
        return None
    marks = text_of(arguments[1])
    place = arguments[-1] if node.name == "strtok_r" else Pointer(memory.global_named("strtok()"), 0)
    if not isinstance(place, Pointer):
        return None
    start = arguments[0] if isinstance(arguments[0], Pointer) else place.storage.cells.get(place.offset, 0)
    text = text_of(start)
    if marks is None or text is None or not isinstance(start, Pointer):
        for perhaps in (start, arguments[0]):
            if isinstance(perhaps, Pointer):
                memory.forget_behind(perhaps, Unknown(f"set by {node.name}()"))
        memory.set_cell(place.storage, place.offset, Unknown(f"set by {node.name}()"))
        return None if start != 0 else 0
    begin = next((at for at, char in enumerate(text) if char not in marks), None)
    if begin is None:
        memory.set_cell(place.storage, place.offset, _behind(start, len(text)))
        return 0
    end = next((at for at in range(begin, len(text)) if text[at] in marks), len(text))
    if end < len(text):
        memory.set_cell(start.storage, start.offset + end, 0)
    memory.set_cell(place.storage, place.offset, _behind(start, min(end + 1, len(text))))
    return _behind(start, begin)


def _length(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    del memory
    text = text_of(arguments[0]) if arguments else None
    return None if text is None else int(not text) if node.name == "empty" else len(text)


def _copied(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """strcpy, strncpy, strdup."""
    if node.name == "strdup":
        text = text_of(arguments[0]) if arguments else None
        return None if text is None else text_storage(text)
    target = arguments[0] if arguments else None
    text = text_of(arguments[1]) if len(arguments) > 1 else None
    if text is None or not isinstance(target, Pointer):
        return None
    most = arguments[2] if len(arguments) > 2 else len(text) + 1
    if not isinstance(most, int) or not 0 <= most <= _LONGEST_COPY:
        return None
    store_text(memory, target, text, most)
    return target


_LONGEST_COPY = 1 << 16


def _assigned(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """`s = text` of a std::string."""
    text = text_of(arguments[1]) if len(arguments) > 1 else None
    target = arguments[0] if arguments else None
    if not isinstance(target, Pointer):
        return None
    memory.set_cell(target.storage, target.offset, Unknown("a text") if text is None else text)
    return target


def _edited(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """What makes another text of a std::string: `+=`, append, push_back, pop_back, clear."""
    target = arguments[0] if arguments else None
    if not isinstance(target, Pointer):
        return None
    text, name = text_of(target), node.name
    added = _added(arguments[1]) if len(arguments) == 2 else "" if len(arguments) == 1 else None
    if text is None or added is None:
        changed: Value = Unknown(f"a text after {name}()")
    else:
        changed = "" if name == "clear" else text[:-1] if name == "pop_back" else text + added
    memory.set_cell(target.storage, target.offset, changed)
    return target


def _changed_inside(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """insert(at, text), erase(at, length), replace(at, length, text) of a std::string."""
    target, rest = (arguments[0], list(arguments[1:])) if arguments else (None, [])
    text, begin = text_of(target or 0), rest.pop(0) if rest else 0
    if not isinstance(target, Pointer):
        return None
    length = 0 if node.name == "insert" else rest.pop(0) if rest else _LONGEST
    added = "" if node.name == "erase" else _added(rest.pop()) if rest else None
    changed: Value = Unknown(f"a text after {node.name}()")
    if isinstance(begin, int) and isinstance(length, int) and not rest and text is not None:
        if begin > len(text):
            return OUT_OF_RANGE
        if added is not None:
            changed = text[:begin] + added + text[begin:][length:]
    memory.set_cell(target.storage, target.offset, changed)
    return replace(changed, around=(target,)) if isinstance(changed, Unknown) else target


_CHANGED_INSIDE = ("insert", "erase", "replace")


def _joined(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """`text + text`, one of them perhaps a character."""
    del memory, node
    one, two = (_added(value) for value in arguments) if len(arguments) == 2 else (None, None)
    return None if one is None or two is None else Record({0: one + two})


def _written_out(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """std::to_string of an integer."""
    del memory, node
    number = arguments[0] if len(arguments) == 1 else None
    return Record({0: str(number)}) if isinstance(number, int) else None


def _at(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """A character of a std::string."""
    del memory
    text = text_of(arguments[0]) if arguments else None
    at = 0 if len(arguments) == 1 else arguments[1]
    if text is None or not isinstance(at, int) or not 0 <= at < len(text):
        return None if text is None or not isinstance(at, int) or node.name != "at" else OUT_OF_RANGE
    return ord(text[len(text) - 1 if node.name == "back" else at])


def _itself(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """c_str(), data()."""
    del memory, node
    text = text_of(arguments[0]) if arguments else None
    return None if text is None else text_storage(text)


def _part(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """substr(from, length)."""
    del memory, node
    whole, begin = (text_of(arguments[0]), arguments[1]) if len(arguments) > 1 else (None, 0)
    if whole is not None and isinstance(begin, int) and begin > len(whole):
        return OUT_OF_RANGE
    part = _part_of(*arguments) if 1 <= len(arguments) <= 3 else None
    return None if part is None else Record({0: part})


def _part_of(whole: Value, begin: Value = 0, length: Value = _LONGEST) -> str | None:
    text = text_of(whole)
    if text is None or not isinstance(begin, int) or not isinstance(length, int) or begin > len(text):
        return None
    return text[begin : begin + length]


def _place(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """find(), rfind(), find_first_of() and find_last_of() of a std::string, from a place on."""
    del memory
    text, wanted = (_added(value) for value in arguments[:2]) if len(arguments) > 1 else (None, None)
    is_last, is_set = node.name in ("rfind", "find_last_of"), node.name.endswith("_of")
    start = arguments[2] if len(arguments) > 2 else -1 if is_last else 0
    if text is None or wanted is None or not isinstance(start, int) or len(arguments) > 3:
        return None
    places = range(max(start, 0), len(text) + 1)
    if is_last:
        places = range((min(start, len(text)) if start >= 0 else len(text)) + 1)
    hits = [
        at for at in places if (text[at : at + 1] in tuple(wanted) if is_set else text.startswith(wanted, at))
    ]
    return hits[-1 if is_last else 0] if hits else _LARGEST


def _added(value: Value) -> str | None:
    """A text, or a character as one."""
    return chr(value) if isinstance(value, int) and 0 <= value < 0x110000 else text_of(value)


def _character(test: Callable[[str], int]) -> _Function:
    def evaluated(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
        del memory, node
        char = arguments[0] if arguments else None
        return test(chr(char)) if isinstance(char, int) and 0 <= char < 128 else None

    return evaluated


# ----------------------------------------------------------------------------- texts as streams


def _stream_call(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """Reading and writing of a `std::stringstream` and its kin, kept as the text that is left to read.

    None where it is none; where nobody knows what is read, the text is unknown from then on.
    """
    streams = (v for v in arguments if isinstance(v, Pointer) and v.storage.class_name in TEXT_STREAMS)
    place = next(streams, None)
    if place is None or place.offset:
        return None
    name, cells = node.name.removeprefix("std::"), place.storage.cells
    is_fresh = not cells
    text = "" if is_fresh and name == "operator<<" else text_of(place)
    if name == "str" and len(arguments) == 1 and text is not None and cells.get(_WAS_READ, 0) == 0:
        return Record({0: text})
    if name == "operator<<" and not is_fresh and cells.get(_IS_WRITTEN) != 1:
        text = None  # over what it was made of, or not at all behind its end
    done = None if text is None else _STREAMED.get(name, _not_streamed)(memory, node, arguments, text)
    if done is None:
        memory.set_cell(place.storage, place.offset, Unknown("what is left of a text"))
        return None
    left, is_good = done
    memory.set_cell(place.storage, place.offset, left)
    if name == "operator<<":
        memory.set_cell(place.storage, _IS_WRITTEN, 1)
    else:
        memory.set_cell(place.storage, _WAS_READ, 1)
        memory.set_cell(place.storage, _IS_WRITTEN, int(bool(left) and cells.get(_IS_WRITTEN) == 1))
    return place if is_good else 0


_WAS_READ, _IS_WRITTEN = -5, -6
"""Where a stream keeps whether something was read, and whether what is written next is put at its end."""
_Streamed = tuple[str, bool] | None
"""The text that is left, and whether the stream is good behind it."""


def _not_streamed(memory: Memory, node: ir.Call, arguments: _Arguments, text: str) -> _Streamed:
    del memory, node, arguments, text
    return None


def _read_from(memory: Memory, node: ir.Call, arguments: _Arguments, text: str) -> _Streamed:
    """`stream >> number`, `stream >> word`: where the last argument points."""
    target, type_ = arguments[-1], node.arguments[-1].type.element or ir.UNKNOWN_TYPE
    if (
        not isinstance(target, Pointer)
        or len(arguments) < 2
        or (type_.size_bytes < 4 and type_.kind is ir.TypeKind.INT)
    ):
        return None
    kind = "s" if is_text_object(type_) else "f" if type_.is_float else "d"
    if kind != "s" and type_.kind not in (ir.TypeKind.INT, ir.TypeKind.FLOAT):
        return None
    found = _converted(kind, "", text)
    if found is None:
        return None if text.strip() else ("", False)
    value, length, _ = found
    if isinstance(value, str):
        memory.set_cell(target.storage, target.offset, value)
    elif convert(value, type_) == value or type_.is_float:
        memory.write(target.storage, target.offset, value, type_)
    else:
        return None
    return text[length:], True


def _line_from(memory: Memory, node: ir.Call, arguments: _Arguments, text: str) -> _Streamed:
    """getline(stream, text, mark): up to the mark, which is taken too; where the last argument points."""
    target, given = arguments[-1], zip(node.arguments, arguments, strict=False)
    mark = next((value for part, value in given if part.type.kind is ir.TypeKind.INT), ord("\n"))
    if not isinstance(target, Pointer) or not isinstance(mark, int):
        return None
    word, found, left = text.partition(chr(mark))
    if not text:
        return "", False
    memory.set_cell(target.storage, target.offset, word)
    return left if found else "", True


def _written_to(memory: Memory, node: ir.Call, arguments: _Arguments, text: str) -> _Streamed:
    """`stream << text`, `stream << integer`."""
    del memory
    type_, value = node.arguments[-1].type, arguments[-1]
    if type_.kind is ir.TypeKind.BOOL or type_.is_float or type_.name == "function":
        return None
    added = str(value) if isinstance(value, int) and type_.bits > 8 else _added(value)
    return None if added is None else (text + added, True)


_STREAMED = {"operator>>": _read_from, "operator<<": _written_to, "getline": _line_from}


# ----------------------------------------------------------------------------- the environment


def _environment(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """setenv and its kin; getenv of what they have set, None of all else."""
    known, text = memory.global_named("getenv()"), text_of(arguments[0]) if arguments else None
    name, _, value = (text or "").partition("=")
    key = ir.made_up_offset(name) if text is not None else _ANY
    if node.name.removeprefix("std::").endswith("getenv"):
        other = known.cells.get(_ANY)
        return (
            known.cells.get(key, other)
            if text is not None or not known.cells
            else Unknown("which variable is asked for")
        )
    given: Value = 0
    if node.name == "putenv" or len(arguments) > 1:
        told = value if node.name == "putenv" else text_of(arguments[1])
        given = Pointer(Storage("a text"), 0) if told is None else text_storage(told)
    is_kept = node.name == "setenv" and len(arguments) > 2 and arguments[2] == 0
    if key == _ANY:
        for one in (_ANY, *known.cells):
            memory.set_cell(known, one, Unknown(f"set by {node.name}()"))
    elif not (is_kept and key in known.cells):
        memory.set_cell(known, key, given)
    return 0


_ANY = 0


def doubt_environment(memory: Memory) -> None:
    """Every environment variable that the program does not set may be set, to anything."""
    memory.set_cell(memory.global_named("getenv()"), _ANY, Unknown("an environment variable"))


# ----------------------------------------------------------------------------- options


def _getopt(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """The next option as getopt and getopt_long tell it, with optarg and optind set."""
    words = _words(arguments) if len(arguments) > 2 else None
    letters = text_of(arguments[2]) if len(arguments) > 2 else None
    names = _long_options(arguments[3]) if len(arguments) > 3 else ()
    argv = arguments[1] if len(arguments) > 1 else None
    if words is None or not isinstance(argv, Pointer):
        return None
    if letters is None or names is None:
        return Unknown(f"the result of {node.name}(), whose options are not known") if words[1:] else None
    is_again = memory.global_named("optind").cells.get(0) in (0, 1)  # the program begins once more
    number = 0 if is_again else argv.storage.cells.get(_TOLD, 0)
    options, order, first = _options(words, letters.lstrip("+-:"), names)
    if isinstance(number, int) and number < len(options):
        option = options[number]
        memory.set_cell(argv.storage, _TOLD, number + 1)
        _set_global(memory, "optarg", 0 if option.argument is None else _held(option.argument))
        _set_global(memory, "optind", option.behind)
        if option.flag is not None:
            memory.write(option.flag.storage, option.flag.offset, option.code, ir.INT32)
            return 0
        return option.code
    if order is None:
        return None
    if isinstance(number, int) and number == len(options):  # the others stand behind the options from now on
        memory.set_cell(argv.storage, _TOLD, number + 1)
        for place, word in enumerate(order):
            memory.set_cell(argv.storage, argv.offset + _POINTER_BYTES * place, _held(word))
        _set_global(memory, "optind", first)
    return -1


def _set_flags(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """What gflags makes of the command line: `--n=4`, `--n 4`, `--verbose`, `--noverbose`."""
    held = tuple(a.storage.cells.get(a.offset, 0) if isinstance(a, Pointer) else 0 for a in arguments[:2])
    words = _words(held) if len(held) > 1 else None
    if words is None:
        return None
    flags = {storage.name: storage for storage in memory.globals_beginning(FLAGS)}
    if any(isinstance(word, Unknown) for word in words):
        for storage in flags.values():
            memory.forget(storage, _CHANGED)
    left = deque(word for word in words[1:] if isinstance(word, str))
    while left:
        word = left.popleft()
        name, equals, text = word.lstrip("-").partition("=")
        name = name.replace("-", "_")
        storage = flags.get(f"{FLAGS}{name}", flags.get(f"{FLAGS}{name.removeprefix('no')}"))
        if storage is None or not word.startswith("-"):
            continue
        type_ = None if storage.variable is None else storage.variable.type
        if type_ is None and isinstance(storage.cells.get(0), int):  # true or false
            is_on = f"{FLAGS}{name}" == storage.name and text.lower() not in ("false", "f", "0", "no", "n")
            memory.set_cell(storage, 0, int(is_on))
            continue
        text = text if equals or not left else left.popleft()
        found = _real(text) if type_ is not None and type_.is_float else _integer(text, 0)
        if type_ is None or found is None:
            memory.forget(storage, Unknown("set on the command line"))
        else:
            memory.write(storage, 0, found[0], type_)
    return None


class _LongOption(Struct, frozen=True):
    """A `struct option` of getopt.h."""

    name: str
    takes: int  # 0: no argument, 1: one, 2: one behind = only
    flag: Value
    code: int


class _Option(Struct, frozen=True):
    """What getopt returns for an option, its argument, optind behind it, and where its code is stored."""

    code: int
    argument: _Word | None
    behind: int
    flag: Pointer | None = None


def _long_options(value: Value) -> tuple[_LongOption, ...] | None:
    """Those of an array, up to the one without a name; None where one is not known."""
    if not isinstance(value, Pointer):
        return () if value == 0 else None
    cells, found = value.storage.cells, list[_LongOption]()
    for start in range(value.offset, value.offset + _OPTION_BYTES * 256, _OPTION_BYTES):
        if cells.get(start, 0) == 0:
            return tuple(found)
        name, takes, code = text_of(cells[start]), cells.get(start + 8, 0), cells.get(start + 24, 0)
        if name is None or not isinstance(takes, int) or not isinstance(code, int):
            return None
        found.append(_LongOption(name, takes, cells.get(start + 16, 0), code))
    return None


def _options(
    words: list[_Word], letters: str, names: tuple[_LongOption, ...]
) -> tuple[list[_Option], list[_Word] | None, int]:
    """Every option up to a word that may be one; and the words with what is no option last, None where there
    is such a word, and where that begins.
    """
    found: list[_Option] = []
    taken, others, rest = [words[0]], list[_Word](), deque(words[1:])
    while rest:
        word = rest.popleft()
        if isinstance(word, Unknown):
            return found, None, 0
        if word == "--":
            taken.append(word)
            others += rest
            break
        if len(word) < 2 or not word.startswith("-"):
            others.append(word)
            continue
        taken.append(word)
        letter, more = word[1:2], word[2:]
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            close = [entry for entry in names if entry.name == name]
            close = close or [entry for entry in names if entry.name.startswith(name)]
            option = close[0] if close else _LongOption("", 0, 0, ord("?"))
            given: _Word | None = value if equals else None
            if option.takes == 1 and not equals and rest:
                taken.append(given := rest.popleft())
            flag = option.flag if isinstance(option.flag, Pointer) else None
            found.append(_Option(option.code, given, len(words) - len(rest), flag))
            continue
        while letter:
            place = letters.find(letter)
            behind = "" if place < 0 else letters[place + 1 : place + 3]
            takes = len(behind) - len(behind.lstrip(":"))
            argument: _Word | None = more or None
            if takes == 1 and not more and rest:
                taken.append(argument := rest.popleft())
            code = ord(letter) if place >= 0 else ord("?")
            found.append(_Option(code, argument if takes else None, len(words) - len(rest)))
            if takes:
                break
            letter, more = more[:1], more[1:]
    return found, [*taken, *others], len(taken)


def _set_global(memory: Memory, name: str, value: Value) -> None:
    memory.set_cell(memory.global_named(name), 0, value)


def _flag_of(words: list[_Word], name: str) -> _Word | None:
    """What stands behind `-name=` or `--name=`, empty for the option alone; None where it is not given."""
    for word in words[1:]:
        if isinstance(word, Unknown):
            return word
        plain, _, value = word.lstrip("-").partition("=")
        if word.startswith("-") and plain.lower() == name.lower():
            return value
    return None


def _sample_flag(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """checkCmdLineFlag and getCmdLineArgument... of the CUDA samples."""
    words = _words(arguments) if len(arguments) > 2 else None
    name = text_of(arguments[2]) if len(arguments) > 2 else None
    value = None if words is None or name is None else _flag_of(words, name)
    if words is None or name is None or isinstance(value, Unknown):
        return None
    match node.name:
        case "checkCmdLineFlag":
            return int(value is not None)
        case "getCmdLineArgumentInt":
            return (_integer(value or "", 10) or (0, 0))[0]
        case "getCmdLineArgumentFloat":
            return (_real(value or "") or (0.0, 0))[0]
        case _:
            pass
    target = arguments[3] if len(arguments) > 3 else None
    if not isinstance(target, Pointer):
        return None
    if node.name == "getCmdLineArgumentString":
        memory.set_cell(target.storage, target.offset, 0 if value is None else text_storage(value))
    elif value is not None:
        element = node.arguments[3].type.element or ir.INT32
        number = _real(value) if element.is_float else _integer(value, 10)
        memory.write(target.storage, target.offset, (number or (0, 0))[0], element)
    return int(value is not None)


_INTEGERS = ("atoi", "atol", "atoll", "strtol", "strtoll", "strtoul", "strtoull", "stoi", "stol", "stoll",
             "stoul", "stoull")  # fmt: skip
_REALS = ("atof", "strtod", "strtof", "strtold", "stof", "stod", "stold")
_COMPARISONS = ("strcmp", "strncmp", "strcasecmp", "strncasecmp", "operator==", "operator!=", "operator<",
                "operator>", "compare")  # fmt: skip
_SAMPLES = ("checkCmdLineFlag", "getCmdLineArgumentInt", "getCmdLineArgumentFloat",
            "getCmdLineArgumentString", "getCmdLineArgumentValue")  # fmt: skip
_FUNCTIONS: dict[str, _Function] = {
    **dict.fromkeys(_INTEGERS, _to_integer),
    **dict.fromkeys(_REALS, _to_real),
    **dict.fromkeys(_COMPARISONS, _compared),
    **dict.fromkeys(_SAMPLES, _sample_flag),
    **dict.fromkeys(("strstr", "strchr", "strrchr"), _found),
    **dict.fromkeys(("strlen", "length", "size", "empty"), _length),
    **dict.fromkeys(("strcpy", "strncpy", "strdup"), _copied),
    **dict.fromkeys(("c_str", "data"), _itself),
    **dict.fromkeys(("find", "rfind", "find_first_of", "find_last_of"), _place),
    **dict.fromkeys(("operator+=", "append", "push_back", "pop_back", "clear"), _edited),
    **dict.fromkeys(_CHANGED_INSIDE, _changed_inside),
    **dict.fromkeys(("operator[]", "at", "front", "back"), _at),
    **dict.fromkeys(("strtok", "strtok_r"), _token),
    **dict.fromkeys(ENVIRONMENT, _environment),
    "operator+": _joined,
    "to_string": _written_out,
    **dict.fromkeys(("getopt", "getopt_long", "getopt_long_only"), _getopt),
    SETS_FLAGS: _set_flags,
    "sscanf": _sscanf,
    **dict.fromkeys(("sprintf", "snprintf"), _sprintf),
    "operator=": _assigned,
    "substr": _part,
    "isdigit": _character(lambda char: int(char.isdigit())),
    "isalpha": _character(lambda char: int(char.isalpha())),
    "isspace": _character(lambda char: int(char.isspace())),
    "tolower": _character(lambda char: ord(char.lower())),
    "toupper": _character(lambda char: ord(char.upper())),
}
_OF_OBJECTS = frozenset({"operator==", "operator!=", "operator=", "compare", "length", "size", "empty",
                         "c_str", "data", "find", "rfind", "substr", "operator+=", "operator+", "append",
                         "push_back", "pop_back", "clear", "operator[]", "at", "front", "back", "operator<",
                         "operator>", "find_first_of", "find_last_of", *_CHANGED_INSIDE})  # fmt: skip
"""Functions that other containers have as well."""
_OF_TWO = frozenset({"operator==", "operator!=", "operator<", "operator>", "operator+"})
"""Those of them whose text may be the second operand alone."""
READS_ARGV = frozenset(_SAMPLES)
"""Functions that are known here although a header of the program has their text."""


def is_of_texts(name: str) -> bool:
    """Whether a function reads texts, if it gets any."""
    return name.removeprefix("std::") in (*_FUNCTIONS, *_STREAMED)


def text_call(memory: Memory, node: ir.Call, arguments: _Arguments) -> Value | None:
    """Value of a call that reads texts, after its effect; None where it is none or a text is unknown."""
    name = node.name.removeprefix("std::")
    if (streamed := _stream_call(memory, node, arguments)) is not None:
        return streamed
    function = _FUNCTIONS.get(name)
    asked = node.arguments[: 2 if name in _OF_TWO else 1]  # a method is of its object's class
    if name in _OF_OBJECTS and not any(map(_is_about_text, asked)):
        return None
    return None if function is None else function(memory, node, arguments)


def _is_about_text(argument: ir.Expr) -> bool:
    return is_text_object(argument.type.element or argument.type)
