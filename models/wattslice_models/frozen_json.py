"""Frozen structs as JSON and back, by their type hints: names, full precision, nothing more or less.

What a hint asks of a value is worked out once per hint: thousands of records are read in a second.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from msgspec import Struct

_Record = TypeVar("_Record")
_Hint = Any
"""What ``get_type_hints`` gives: a class, a union, a parametrised tuple or frozenset."""
_Reader = Callable[[object], object]
_Writer = Callable[[object], object]


class FrozenJsonError(ValueError):
    """JSON that does not fit the record: names the entry that is missing, unknown or of another type."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(place + reason)
        self.reason = reason
        self.place = place

    def below(self, outer: str) -> FrozenJsonError:
        """The same error, told of from one level further out."""
        return FrozenJsonError(self.reason, outer + self.place)


def encoded(value: object) -> object:
    """`value` as what ``json.dumps`` takes: records as objects, tuples and sets as lists, enums as values."""
    return _writer(type(value))(value)


@cache
def _writer(kind: type[Any]) -> _Writer:
    if issubclass(kind, Struct):
        names = kind.__struct_fields__

        def write_record(value: object) -> object:
            found: dict[str, object] = {}
            for name in names:
                item = getattr(value, name)
                found[name] = encoded(item)
            return found

        return write_record
    if issubclass(kind, tuple):
        return lambda value: [encoded(item) for item in cast("tuple[object, ...]", value)]
    if issubclass(kind, frozenset):
        return lambda value: sorted(cast("frozenset[Any]", value))
    if issubclass(kind, Enum):
        return lambda value: cast("Enum", value).value
    return lambda value: value


def dumps(value: object) -> str:
    """Indented JSON text; numbers read back exactly."""
    return json.dumps(encoded(value), indent=2, ensure_ascii=False, allow_nan=False)


def decoded(record: type[_Record], value: object, place: str = "", *, exact: bool = False) -> _Record:
    """The record that `encoded` made `value` of. Raises `FrozenJsonError`.

    A whole number where the hint says float becomes one, unless `exact`: then it stays what it was.
    """
    try:
        return cast("_Record", _reader(record, exact)(value))
    except FrozenJsonError as error:
        raise error.below(place or record.__name__) from None


@cache
def _reader(hint: _Hint, exact: bool) -> _Reader:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _of_union(hint, exact)
    if origin is tuple:
        return _tuple(get_args(hint), exact)
    if origin is frozenset:
        items = _tuple((get_args(hint)[0], ...), exact)
        return lambda value: frozenset(cast("tuple[object, ...]", items(value)))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return _record(hint, exact)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return _enum(hint)
    return _plain(cast("type[object]", hint), exact)


def _refuse(value: object, expected: object) -> NoReturn:
    raise FrozenJsonError(f": {value!r} is no {expected}")


def _plain(hint: type[object], exact: bool) -> _Reader:
    def read(value: object) -> object:
        if type(value) is hint:
            return value
        if hint is float and type(value) is int:
            return value if exact else float(value)
        _refuse(value, hint)

    return read


def _enum(kind: type[Enum]) -> _Reader:
    members = {member.value: member for member in kind}

    def read(value: object) -> object:
        try:
            return members[value]
        except (KeyError, TypeError):
            _refuse(value, kind.__name__)

    return read


def _of_union(hint: _Hint, exact: bool) -> _Reader:
    choices = [_reader(choice, exact) for choice in get_args(hint) if choice is not types.NoneType]
    may_be_none = types.NoneType in get_args(hint)

    def read(value: object) -> object:
        if value is None and may_be_none:
            return None
        for choice in choices:
            try:
                return choice(value)
            except FrozenJsonError:
                continue
        raise FrozenJsonError(f": {value!r} is none of {hint}")

    return read


def _tuple(hints: tuple[Any, ...], exact: bool) -> _Reader:
    repeated = len(hints) == 2 and hints[1] is Ellipsis
    readers = [_reader(hint, exact) for hint in (hints[:1] if repeated else hints)]

    def read(value: object) -> object:
        if not isinstance(value, list):
            raise FrozenJsonError(f": {value!r} is no list")
        items = cast("list[object]", value)
        if not repeated and len(items) != len(readers):
            raise FrozenJsonError(f": {len(items)} items instead of {len(readers)}")
        found: list[object] = []
        try:
            if repeated:
                one = readers[0]
                for item in items:
                    found.append(one(item))  # noqa: PERF401  (its length tells where an error is)
            else:
                for one, item in zip(readers, items, strict=True):
                    found.append(one(item))
        except FrozenJsonError as error:
            raise error.below(f"[{len(found)}]") from None
        return tuple(found)

    return read


def _record(record: type[Struct], exact: bool) -> _Reader:
    # Looked up when first used: a record may hold records of its own kind.
    readers: list[tuple[str, _Reader]] = []

    def read(value: object) -> object:
        if not isinstance(value, dict):
            raise FrozenJsonError(f": {value!r} is no object")
        entries = cast("dict[str, object]", value)
        if not readers:
            hints = get_type_hints(record)
            readers[:] = [(name, _reader(hints[name], exact)) for name in record.__struct_fields__]
        found: dict[str, object] = {}
        name = ""
        try:
            for name, one in readers:
                found[name] = one(entries[name])
        except FrozenJsonError as error:
            raise error.below(f".{name}") from None
        except KeyError:
            raise FrozenJsonError(f": entry {name!r} is missing") from None
        if len(entries) != len(found):
            unknown = sorted(set(entries) - set(found))
            raise FrozenJsonError(f": unknown entry {unknown[0]!r}")
        try:
            return record(**found)
        except ValueError as error:
            raise FrozenJsonError(f": {error}") from None

    return read
