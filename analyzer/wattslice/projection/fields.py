"""Values of a workflow file that its keys share: quantities, counts, choices."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable

from wattslice.documents import Table, Value

MOST_NODES = 1_000_000
MOST_COUNTS = 100_000


def positive(value: Value) -> float:
    """A finite number above 0."""
    number = value.number()
    if not (math.isfinite(number) and number > 0):
        raise value.error(f"expected a number above 0, found {number:g}")
    return number


def not_negative(value: Value) -> float:
    """A finite number from 0."""
    number = value.number(0.0)
    if not math.isfinite(number):
        raise value.error(f"expected a finite number, found {number:g}")
    return number


def finite(value: Value) -> float:
    """Any finite number."""
    number = value.number()
    if not math.isfinite(number):
        raise value.error(f"expected a finite number, found {number:g}")
    return number


def maybe_positive(table: Table, key: str) -> float | None:
    """A finite number above 0; None without the key."""
    value = table.optional(key)
    return None if value is None else positive(value)


def maybe_not_negative(table: Table, key: str) -> float | None:
    """A finite number from 0; None without the key."""
    value = table.optional(key)
    return None if value is None else not_negative(value)


def truth(table: Table, key: str, default: bool) -> bool:
    """`true` or `false`."""
    value = table.optional(key)
    if value is None:
        return default
    if not isinstance(value.any, bool):
        raise value.error(f"expected true or false, found {value.any!r}")
    return value.any


def one_of(value: Value, known: Iterable[str], what: str) -> str:
    """A text that is one of `known`; the error names the nearest."""
    text, names = value.text(), [str(name) for name in known]
    if text not in names:
        close = difflib.get_close_matches(text, names, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"one of {', '.join(names)}"
        raise value.error(f"{text!r} is no {what}", remedy)
    return text


def counts(value: Value, what: str) -> tuple[int, ...]:
    """Whole numbers from 1: one, a list, or a range such as ``"1..64"``; ascending, each once."""
    if isinstance(value.any, str):
        found = re.fullmatch(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*", value.any)
        low, high = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= low <= high <= MOST_NODES or high - low >= MOST_COUNTS:
            remedy = f'a range such as "1..64", of at most {MOST_COUNTS} numbers up to {MOST_NODES}'
            raise value.error(f"{value.any!r} is no range of {what}", remedy)
        return tuple(range(low, high + 1))
    if isinstance(value.any, list):
        numbers = tuple(sorted({entry.whole(1, MOST_NODES) for entry in value.list()}))
        if not numbers:
            raise value.error(f"names no {what}", "a list such as [1, 2, 4, 8]")
        return numbers
    return (value.whole(1, MOST_NODES),)


def texts(table: Table, key: str) -> tuple[str, ...]:
    """A list of texts, or one text; none without the key."""
    value = table.optional(key)
    if value is None:
        return ()
    if isinstance(value.any, str):
        return (value.any,)
    return tuple(entry.text() for entry in value.list())


def named_tables(table: Table, key: str, what: str) -> list[tuple[str, Value]]:
    """The entries of ``[key.NAME]`` in their order, at least one."""
    entries = table.value(key).table()
    found = [(name, entries.value(name)) for name in entries]
    if not found:
        raise table.value(key).error(f"there is no {what}", f"write one as [{key}.NAME]")
    return found
