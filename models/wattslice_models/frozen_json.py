"""Frozen dataclasses as JSON and back, by their type hints: names, full precision, nothing more or less."""

from __future__ import annotations

import json
import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_Record = TypeVar("_Record")
_Hint = Any
"""What ``get_type_hints`` gives: a class, a union, a parametrised tuple."""


class FrozenJsonError(ValueError):
    """JSON that does not fit the record: names the entry that is missing, unknown or of another type."""


def encoded(value: object) -> object:
    """`value` as what ``json.dumps`` takes: records as objects, tuples as lists, enums as their values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: encoded(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [encoded(item) for item in cast("tuple[object, ...]", value)]
    if isinstance(value, Enum):
        return value.value
    return value


def dumps(value: object) -> str:
    """Indented JSON text; numbers read back exactly."""
    return json.dumps(encoded(value), indent=2, ensure_ascii=False, allow_nan=False)


def decoded(record: type[_Record], value: object, place: str = "") -> _Record:
    """The record that `encoded` made `value` of. Raises `FrozenJsonError`."""
    return cast("_Record", _decoded(record, value, place or record.__name__))


def _decoded(hint: _Hint, value: object, place: str) -> object:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return _of_union(hint, value, place)
    if origin is tuple:
        return _tuple(get_args(hint), value, place)
    if is_dataclass(cast("object", hint)):
        return _record(cast("type[object]", hint), value, place)
    if isinstance(hint, type) and issubclass(hint, Enum):
        try:
            return hint(value)
        except ValueError:
            raise FrozenJsonError(f"{place}: {value!r} is no {hint.__name__}") from None
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not hint:
        raise FrozenJsonError(f"{place}: {value!r} is no {hint}")
    return value


def _of_union(hint: _Hint, value: object, place: str) -> object:
    for choice in get_args(hint):
        try:
            return _decoded(choice, value, place)
        except FrozenJsonError:
            continue
    raise FrozenJsonError(f"{place}: {value!r} is none of {hint}")


def _tuple(hints: tuple[Any, ...], value: object, place: str) -> object:
    if not isinstance(value, list):
        raise FrozenJsonError(f"{place}: {value!r} is no list")
    items = cast("list[object]", value)
    if len(hints) == 2 and hints[1] is Ellipsis:
        hints = (hints[0],) * len(items)
    if len(items) != len(hints):
        raise FrozenJsonError(f"{place}: {len(items)} items instead of {len(hints)}")
    return tuple(
        _decoded(hint, item, f"{place}[{number}]")
        for number, (hint, item) in enumerate(zip(hints, items, strict=True))
    )


def _record(record: type[object], value: object, place: str) -> object:
    if not isinstance(value, dict):
        raise FrozenJsonError(f"{place}: {value!r} is no object")
    entries = cast("dict[str, object]", value)
    hints = get_type_hints(record)
    names = [field.name for field in fields(cast("Any", record))]
    if unknown := sorted(set(entries) - set(names)):
        raise FrozenJsonError(f"{place}: unknown entry {unknown[0]!r}")
    if missing := [name for name in names if name not in entries]:
        raise FrozenJsonError(f"{place}: entry {missing[0]!r} is missing")
    try:
        return record(**{name: _decoded(hints[name], entries[name], f"{place}.{name}") for name in names})
    except FrozenJsonError:
        raise
    except ValueError as error:
        raise FrozenJsonError(f"{place}: {error}") from None
