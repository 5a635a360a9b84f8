"""Arrays of a data spec (lists, generators, files, structs) as the bytes that a kernel sees."""

from __future__ import annotations

import math
import stat
import warnings
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.documents import Table, Value
from wattslice.ir import Type, TypeKind
from wattslice.profiling.data_sets.generators import GENERATORS, Request

Reserve = Callable[[int], None]
"""Told a number of bytes before they are read; raises when memory is out."""
_CHUNK = 1 << 16


def regular_size(path: Path) -> int:
    """Bytes of a file. Raises ``ValueError`` for a folder, a device or a pipe, which may never end."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("a folder, device or pipe, no regular file")
    return status.st_size


def read_raw(path: Path, most: int | None, reserve: Reserve) -> NDArray[np.uint8]:
    """The (first `most`) bytes of a file."""
    size = regular_size(path)
    count = size if most is None else min(size, most)
    reserve(count)
    with path.open("rb") as file:
        return np.frombuffer(file.read(count), np.uint8).copy()


def read_npy(path: Path, most: int | None, width: int, reserve: Reserve) -> NDArray[Any]:
    """The (first `most`) numbers of an array in NumPy's format, in one row; never pickled.

    `width`: bytes that each of them will take. Raises ``ValueError`` when the header promises what the file
    does not hold, or no plain numbers.
    """
    size = regular_size(path)
    with path.open("rb") as file:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header that Python 2 wrote is read all the same
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
            elif version == (2, 0):
                shape, is_fortran, dtype = np.lib.format.read_array_header_2_0(file)
            else:
                raise ValueError(f"version {version[0]}.{version[1]} of the format, not 1.0 or 2.0")
        if dtype.kind not in "biuf":
            raise ValueError(f"elements of type {dtype.name}, expected whole or floating-point numbers")
        total, left = math.prod(shape), size - file.tell()
        if min(shape, default=0) < 0 or total * dtype.itemsize > left:
            raise ValueError(f"its header says {list(shape)} numbers of {dtype.name}, {left} bytes follow")
        in_order = not is_fortran or len(shape) < 2
        count = total if most is None or not in_order else min(total, most)
        reserve(count * max(dtype.itemsize, width))
        numbers = np.frombuffer(file.read(count * dtype.itemsize), dtype)
    if not in_order:
        numbers = numbers.reshape(shape, order="F").reshape(-1)
    return numbers[:most]


def read_text(path: Path, most: int | None, is_float: bool, reserve: Reserve) -> NDArray[Any]:
    """The (first `most`) numbers of a text, between blanks, commas or semicolons. Raises ``ValueError``."""
    size = regular_size(path)
    reserve(size if most is None else min(size, most * 8))
    with path.open(encoding="utf-8") as file:
        words = islice(_words(file), most)
        if is_float:
            return np.fromiter(map(float, words), np.float64)
        return np.fromiter(map(int, words), np.int64)


def _words(file: TextIO) -> Iterator[str]:
    rest = ""
    while chunk := file.read(_CHUNK):
        text = (rest + chunk).replace(",", " ").replace(";", " ")
        words = text.split()
        rest = "" if text[-1].isspace() or not words else words.pop()  # it may go on in the next chunk
        if len(rest) > _CHUNK:
            raise ValueError(f"a word of more than {_CHUNK} characters")
        yield from words
    if rest:
        yield rest


Bytes = NDArray[np.uint8]
_FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}
_COMMON = ("size", "generator", "seed")


class Setting(Struct, frozen=True):
    """What arrays of one data set share: its `seed`, the `folder` of the file, and what asks for memory.

    `reserve` is called with a place and a number of bytes before these are filled; it raises when memory is
    out.
    """

    seed: int
    folder: Path
    reserve: Callable[[Value, int], None]


def array_bytes(value: Value, element: Type, setting: Setting) -> Bytes:
    """The bytes of an array of `element`, from a list, a text or a table. Raises `WattsliceError`."""
    if isinstance(value.any, str):
        return _text(value, element)
    if isinstance(value.any, list):
        return _listed(value, element)
    table = value.table()
    if "members" in table:
        return _records(table, element, setting)
    if "file" in table:
        return _file(table, element, setting)
    if element.kind is TypeKind.RECORD:
        fields = ", ".join(field.name for field in element.fields) or "none known"
        if table.optional("generator") is None:
            table.only("size", "members")
            return _zeros(table.value("size"), element, setting)
        remedy = "give each member with members.NAME = { ... }"
        raise value.error(f"the elements are structs ({fields}): no generator makes them", remedy)
    return _generated(table, element, setting)


def element_size(value: Value, element: Type) -> int:
    """Bytes of one element; raises where they are not known."""
    if element.kind is TypeKind.VOID:
        return 1
    if element.size_bytes <= 0:
        raise value.error(f"the size of its elements ({element.name or element.kind.value}) is not known")
    return element.size_bytes


def _zeros(size: Value, element: Type, setting: Setting) -> Bytes:
    total = size.whole(0) * element_size(size, element)
    setting.reserve(size, total)
    return np.zeros(total, np.uint8)


def _text(value: Value, element: Type) -> Bytes:
    if scalar_dtype(value, element).itemsize != 1:
        raise value.error("text is for arrays of characters", "give a list of numbers, or a generator")
    return np.frombuffer(value.text().encode(), np.uint8).copy()


def _listed(value: Value, element: Type) -> Bytes:
    entries = value.list()
    if element.lanes > 1 and len(entries) % element.lanes:
        raise value.error(f"expected a multiple of {element.lanes} numbers, found {len(entries)}")
    return np.concatenate([np.zeros(0, np.uint8), *(scalar_bytes(entry, element) for entry in entries)])


def _records(table: Table, element: Type, setting: Setting) -> Bytes:
    """An array of structs, member by member: each is an array of its own."""
    table.only("members", "size")
    members = table.value("members").table()
    fields = {field.name: field for field in element.members}
    if not fields:
        raise table.itself.error(f"its elements ({element.name or element.kind.value}) have no members")
    members.only(*fields)
    size = element_size(table.itself, element)
    count = table.get("size", lambda value: value.whole(0), None)
    columns: list[tuple[int, Bytes]] = []
    for name in members:
        field, value = fields[name], members.value(name)
        inner = field.type.element if field.type.kind is TypeKind.ARRAY else field.type
        if count is not None:
            value = _sized(value, count * (field.type.length or 1))
        if inner is None or inner.kind is TypeKind.POINTER:
            raise value.error("arrays of pointers cannot be given")
        found = array_bytes(value, inner, setting)
        width = field.type.size_bytes
        if len(found) % width or (count is not None and len(found) // width != count):
            expected = "as many as the other members have" if count is None else f"{count}"
            raise value.error(f"{len(found) / width:g} elements, expected {expected}")
        count = len(found) // width
        columns.append((field.offset_bytes, found.reshape(count, width)))
    if count is None:
        raise table.itself.error("'size' is missing")
    setting.reserve(table.itself, count * size)
    rows = np.zeros((count, size), np.uint8)
    for offset, column in columns:
        rows[:, offset : offset + column.shape[1]] = column
    return rows.reshape(-1)


def _sized(value: Value, count: int) -> Value:
    """A generator's table with the number of elements, where it says none and needs one."""
    if not value.is_table:
        return value
    table = value.table()
    named = table.optional("generator")
    generator = None if named is None else GENERATORS.get(str(named.any))
    if "size" in table or "file" in table or (generator is not None and generator.count is not None):
        return value
    return value.inside("", {"size": count, **{key: table.value(key).any for key in table}})


def _generated(table: Table, element: Type, setting: Setting) -> Bytes:
    name = table.get("generator", lambda value: value.one_of(GENERATORS, "generator"), "zeros")
    generator = GENERATORS[name]
    own_size = generator.count is not None  # the generator tells how many
    table.only(*(key for key in _COMMON if not own_size or key != "size"), *generator.keys)
    lanes, size = max(1, element.lanes), element_size(table.itself, element)
    count = table.value("size").whole(0) if generator.count is None else generator.count(table)
    setting.reserve(table.itself if own_size else table.value("size"), count * size)
    seed = table.get("seed", lambda value: value.whole(0), setting.seed)
    own = zlib.crc32(table.itself.place.partition(".")[2].encode())  # other arrays, other numbers
    numbers = generator.make(
        Request(
            count=count * lanes,
            is_float=element.is_float,
            table=table,
            random=np.random.default_rng([seed, own]),
            shared=np.random.default_rng(seed),
        )
    )
    return encoded(table.itself, numbers, element)


def _file(table: Table, element: Type, setting: Setting) -> Bytes:
    table.only("file", "size")
    named = table.value("file")
    path = setting.folder / named.name()
    size = element_size(named, element)
    wanted = table.optional("size")
    count = None if wanted is None else wanted.whole(0)
    try:
        found = _read(path, named, element, count, lambda number: setting.reserve(named, number))
    except OSError as error:
        raise named.error(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, EOFError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it ends early"
        raise named.error(f"{path} cannot be used: {reason}") from None
    except MemoryError:
        raise named.error(
            f"{path} takes more memory than there is", "take its first elements: size"
        ) from None
    if len(found) % size:
        raise named.error(f"{path} has {len(found)} bytes, no multiple of the {size} of an element")
    if wanted is not None and count is not None and count * size > len(found):
        raise wanted.error(f"{path} has only {len(found) // size} elements")
    return found


def _read(path: Path, value: Value, element: Type, count: int | None, reserve: Reserve) -> Bytes:
    """The (first `count`) elements in a file."""
    lanes, size = max(1, element.lanes), element_size(value, element)
    most = None if count is None else count * lanes
    match path.suffix:
        case ".npy":
            return encoded(value, read_npy(path, most, size // lanes, reserve), element)
        case ".csv" | ".txt":
            return encoded(value, read_text(path, most, element.is_float, reserve), element)
        case _:
            return read_raw(path, None if count is None else count * size, reserve)


def scalar_dtype(value: Value, type_: Type) -> np.dtype[Any]:
    """How one scalar (lane) of a type is stored; raises where we have no such numbers."""
    match type_.kind:
        case TypeKind.VOID:
            return np.dtype(np.uint8)
        case TypeKind.BOOL:
            return np.dtype(np.uint8)
        case TypeKind.INT if type_.bits in (8, 16, 32, 64):
            return np.dtype(f"{'i' if type_.signed else 'u'}{type_.bits // 8}")
        case TypeKind.FLOAT if type_.bfloat:
            return np.dtype(np.uint16)
        case TypeKind.FLOAT if type_.bits in _FLOATS:
            return np.dtype(_FLOATS[type_.bits])
        case _:
            raise value.error(f"values of type {type_.name or type_.kind.value} cannot be given")


def scalar_bytes(value: Value, type_: Type) -> Bytes:
    """One number as bytes of `type_`."""
    number = value.any
    if isinstance(number, bool):
        number = int(number)
    if not isinstance(number, int | float):
        raise value.error(f"expected a number, found {value.kind}")
    dtype = scalar_dtype(value, type_)
    if not type_.is_float:
        if isinstance(number, float):
            raise value.error(f"expected a whole number, found {number!r}")
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        if not low <= number <= high:
            raise value.error(f"{number} does not fit {type_.bits} bits, from {low} to {high}")
        return np.array([number], dtype).view(np.uint8)
    return encoded(value, np.array([float(number)]), type_)


def encoded(value: Value, numbers: NDArray[Any], type_: Type) -> Bytes:
    """Numbers as bytes of `type_`; raises where they do not fit it."""
    dtype = scalar_dtype(value, type_)
    if type_.is_float:
        with np.errstate(over="ignore"):
            if type_.bfloat:
                words = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
                return (words >> 16).astype(np.uint16).view(np.uint8)  # towards zero
            return np.ascontiguousarray(numbers, dtype).view(np.uint8)
    if not np.issubdtype(numbers.dtype, np.integer) and numbers.dtype != np.bool_:
        rounded = np.rint(numbers)
        if not np.array_equal(rounded, numbers):
            raise value.error("expected whole numbers, found fractions")
        if numbers.size and np.abs(rounded).max() >= 2.0**63:
            raise value.error(f"numbers of {np.abs(rounded).max():g} do not fit {type_.bits} bits")
        numbers = rounded.astype(np.int64)
    if numbers.size:
        low, high = int(numbers.min()), int(numbers.max())
        bounds = np.iinfo(dtype)
        if low < bounds.min or high > bounds.max:
            fitting = f"{type_.bits} bits, from {bounds.min} to {bounds.max}"
            raise value.error(f"numbers from {low} to {high} do not fit {fitting}")
    return np.ascontiguousarray(numbers, dtype).view(np.uint8)
