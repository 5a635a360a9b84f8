"""Values of a JSON or TOML document that know where they stand, for errors that name the place."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from wattslice.errors import WattsliceError
from wattslice.patterns import regex

_MOST_CHARACTERS = 1 << 14
"""Of a file in which lines are looked for."""
_PART = regex(r"[^.\[\]]+|\[\d+\]")
_LONG_KEY = regex(r"""(?:\.[ \t]*(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*){64}""")


def parse_json(content: bytes) -> object:
    """The value of a JSON text in UTF-8. Raises ValueError, `json.JSONDecodeError` where it has a line."""
    try:
        return json.loads(content.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_toml(content: bytes) -> dict[str, object]:
    """The value of a TOML text in UTF-8. Raises ValueError."""
    text = content.decode("utf-8-sig")
    if _LONG_KEY.search(text):  # tomllib takes minutes for a key of thousands of parts
        raise ValueError("nested too deeply")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def line_of(path: Path, place: str) -> int | None:
    """The line of a TOML file on which `place` (``gate.budget[0].file``) begins; None where it has none."""
    try:
        text = path.read_text(encoding="utf-8-sig") if path.suffix == ".toml" else ""
    except (OSError, ValueError):
        return None
    lines = text.splitlines() if len(text) <= _MOST_CHARACTERS else []

    def holds(count: int) -> bool | None:
        """Whether the first `count` lines do; None where they end amidst of a value."""
        try:
            value: Any = parse_toml("\n".join(lines[:count]).encode())
            for part in _PART.findall(place):
                value = value[int(part[1:-1]) if part.startswith("[") else part]
        except (LookupError, TypeError):
            return False
        except ValueError:
            return None
        return True

    def whole(count: int) -> int:
        """As many of the lines as are no torn document."""
        return next(number for number in range(count, -1, -1) if holds(number) is not None)

    end = bisect_left(range(len(lines) + 1), True, key=lambda count: holds(whole(count)) is True)
    return whole(end - 1) + 1 if 0 < end <= len(lines) else None


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """The remedy for a wrong name: the nearest known one, else `otherwise` or all there are."""
    names = list(known)
    if close := difflib.get_close_matches(name, names, n=1):
        return f"did you mean {close[0]}?"
    return f"one of {', '.join(names)}" if otherwise is None else otherwise


Read = TypeVar("Read")
Default = TypeVar("Default")


class Value:
    """One value: `any` at `place` (``branches[3].line``) of the document in `path`.

    Every check raises `WattsliceError` with file, place and what was expected.
    """

    def __init__(self, path: Path, place: str, value: object) -> None:
        self.path, self.place = path, place
        self.any: object = value

    def error(self, message: str, remedy: str = "", key: str = "") -> WattsliceError:
        """What is wrong with this value, or with the `key` of this table."""
        place = self.place or "the document"
        line = line_of(self.path, f"{self.place}.{key}")
        return WattsliceError(f"{place}: {message}", path=self.path, line=line, remedy=remedy)

    def inside(self, place: str, value: object) -> Value:
        """A value further inside, at `place` from here."""
        return Value(self.path, f"{self.place}{place}", value)

    def text(self) -> str:
        """A text."""
        if not isinstance(self.any, str):
            raise self.error(f"expected text, found {self.kind}")
        return self.any

    def name(self) -> str:
        """A text that is not empty."""
        if not isinstance(self.any, str) or not self.any:
            raise self.error(f"expected a name, found {self.any!r}")
        return self.any

    def position(self, what: str) -> int:
        """A whole number from 1."""
        if type(self.any) is not int or self.any < 1:
            raise self.error(f"expected a {what} number from 1, found {self.any!r}")
        return self.any

    def whole(self, low: int, high: int | None = None) -> int:
        """A whole number from `low` (to `high`)."""
        if type(self.any) is not int or self.any < low or (high is not None and self.any > high):
            bounds = f"from {low}" if high is None else f"from {low} to {high}"
            raise self.error(f"expected a whole number {bounds}, found {self.any!r}")
        return self.any

    def number(self, low: float = -math.inf, high: float = math.inf) -> float:
        """A number from `low` to `high`."""
        number = self.any
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            bounds = f" to {high:g}" if math.isfinite(high) else ""
            bounds = f" from {low:g}{bounds}" if math.isfinite(low) else ""
            raise self.error(f"expected a number{bounds}, found {number!r}")
        try:
            return float(number)
        except OverflowError:
            raise self.error("expected a number, found one beyond 1.8e308") from None

    def positive(self) -> float:
        """A finite number above 0."""
        number = self.number()
        if not (math.isfinite(number) and number > 0):
            raise self.error(f"expected a number above 0, found {number:g}")
        return number

    def not_negative(self) -> float:
        """A finite number from 0."""
        self.number(0.0)
        return self.finite()

    def finite(self) -> float:
        """A finite number."""
        number = self.number()
        if not math.isfinite(number):
            raise self.error(f"expected a finite number, found {number:g}")
        return number

    def truth(self) -> bool:
        """`true` or `false`."""
        if not isinstance(self.any, bool):
            raise self.error(f"expected true or false, found {self.any!r}")
        return self.any

    def one_of(self, known: Iterable[str], what: str) -> str:
        """A text that is one of `known`; the error names the nearest."""
        text, names = self.text(), [str(name) for name in known]
        if text not in names:
            raise self.error(f"{text!r} is no {what}", did_you_mean(text, names))
        return text

    def list(self) -> list[Value]:
        """The entries of a list."""
        value = self.any
        if not isinstance(value, list):
            raise self.error(f"expected a list, found {self.kind}")
        entries = cast("list[object]", value)
        return [self.inside(f"[{index}]", entry) for index, entry in enumerate(entries)]

    def entries(self) -> Sequence[Value]:
        """The entries of a list; what is no list is its only one."""
        return self.list() if isinstance(self.any, list) else [self]

    def table(self) -> Table:
        """An object (JSON) or table (TOML)."""
        value = self.any
        if not isinstance(value, dict):
            raise self.error(f"expected an object, found {self.kind}")
        return Table(self, cast("dict[str, object]", value))

    @property
    def is_table(self) -> bool:
        """True for an object or table."""
        return type(self.any) is dict

    @property
    def kind(self) -> str:
        """What kind of value it is, in words."""
        if self.any is None:
            return "null"
        names = {"dict": "an object", "list": "a list", "str": "text", "bool": "a truth value"}
        return names.get(type(self.any).__name__, "a number")


class Table:
    """An object of a document by its keys."""

    def __init__(self, value: Value, members: dict[str, object]) -> None:
        self.itself, self._members = value, members

    def __contains__(self, key: str) -> bool:
        return key in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def only(self, *known: str) -> None:
        """Raises for a key that is none of `known`."""
        for key in self._members:
            if key not in known:
                remedy = did_you_mean(key, known, otherwise="")
                raise self.itself.error(f"unknown key {key!r} (expected {', '.join(known)})", remedy, key)

    def value(self, key: str) -> Value:
        """The value of a key that must be there."""
        if key not in self._members:
            raise self.itself.error(f"{key!r} is missing")
        return self.itself.inside(f".{key}" if self.itself.place else key, self._members[key])

    def optional(self, key: str) -> Value | None:
        """The value of a key; None when it is not there."""
        return self.value(key) if key in self._members else None

    def get(self, key: str, read: Callable[[Value], Read], default: Default) -> Read | Default:
        """What `read` makes of the value of a key; `default` when it is not there."""
        return read(self.value(key)) if key in self._members else default

    def table(self, key: str) -> Table:
        """The object of a key; an empty one when it is not there."""
        place = f".{key}" if self.itself.place else key
        return self.get(key, Value.table, Table(self.itself.inside(place, {}), {}))

    def list(self, key: str) -> list[Value]:
        """The entries of a list; none when the key is not there."""
        return self.get(key, Value.list, list[Value]())
