"""The variants of a kernel: every combination of the values of its macros, with the launches of each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.launches.launch import LaunchOverride, Setting
from wattslice.launches.overrides import OverrideError, parse_launch
from wattslice.sweep.expressions import Expression, NoValueError, whole_number

MOST_VARIANTS = 100_000
_OPEN, _CLOSE = "([{", ")]}"


class Macro(Struct, frozen=True):
    """A macro and its values, as the compiler would get them after ``-D NAME=``."""

    name: str
    values: tuple[str, ...]


Variant = tuple[tuple[str, str], ...]
"""Name and value of every macro that varies."""


def parse_definitions(definitions: Sequence[str]) -> tuple[tuple[Macro, ...], tuple[str, ...]]:
    """``-D`` with several values, and all others as they are.

    A comma in brackets or quotes, or in the definition of a macro with parameters, separates nothing.
    Raises `WattsliceError` for a macro that is given twice with several values, or an empty value.
    """
    macros: dict[str, Macro] = {}
    plain: list[str] = []
    for definition in definitions:
        name, equals, text = definition.partition("=")
        values = tuple(part.strip() for part in split(text)) if equals and "(" not in name else ()
        if len(values) < 2:
            plain.append(definition)
            continue
        if not all(values):
            raise WattsliceError(f"-D {definition}: an empty value", remedy="such as -D TILE=8,16,32")
        if name in macros:
            raise WattsliceError(f"-D {name}: two lists of values", remedy="write all values in one list")
        macros[name] = Macro(name, tuple(dict.fromkeys(values)))
    return tuple(macros.values()), tuple(plain)


def split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets or quotes."""
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += character
    return parts


def variants(
    macros: Sequence[Macro], where: Sequence[Expression], known: Mapping[str, int]
) -> tuple[Variant, ...]:
    """Every combination for which all of `where` hold; the last macro changes fastest.

    `known`: further names of the expressions. One that has no value does not hold.
    Raises `WattsliceError` without a macro, for too many combinations, and where none is left.
    """
    if not macros:
        raise WattsliceError("nothing varies", remedy="give a macro several values: -D TILE=8,16,32")
    if (number := math.prod(len(macro.values) for macro in macros)) > MOST_VARIANTS:
        raise WattsliceError(f"{number} variants, at most {MOST_VARIANTS}", remedy="give fewer values")
    combined = itertools.product(*(macro.values for macro in macros))
    names = tuple(macro.name for macro in macros)
    every = (tuple(zip(names, values, strict=True)) for values in combined)
    found = tuple(variant for variant in every if holds(where, numbers(variant, known)))
    if not found:
        raise WattsliceError("--where leaves no variant", remedy="loosen it")
    return found


def holds(where: Sequence[Expression], names: Mapping[str, int]) -> bool:
    """Whether all of `where` hold; one without a value does not."""
    try:
        return all(expression.value(names) for expression in where)
    except NoValueError:
        return False


def numbers(variant: Variant, known: Mapping[str, int]) -> dict[str, int]:
    """What expressions may name: the macros of a variant that are numbers, and `known`."""
    return {**known, **_numbers(variant)}


def known_numbers(definitions: Sequence[str], settings: Sequence[Setting]) -> dict[str, int]:
    """Numbers of ``-D NAME=NUMBER`` and ``--set NAME=NUMBER``."""
    of_settings = {
        one.name: one.value for one in settings if one.kernel is None and isinstance(one.value, int)
    }
    return {**of_settings, **_numbers(map(_halves, definitions))}


def _halves(definition: str) -> tuple[str, str]:
    name, _, value = definition.partition("=")
    return name, value


def _numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    found = ((name, whole_number(text)) for name, text in pairs)
    return {name: value for name, value in found if value is not None}


class LaunchTemplate:
    """``--launch`` whose numbers may be expressions over the macros."""

    def __init__(self, text: str) -> None:
        """Raises `WattsliceError` for what cannot be read."""
        self.text = text
        self.kernel, equals, rest = text.partition("=")
        parts = rest.split(":")
        if not equals or len(parts) not in (2, 3):
            parse_launch(text)  # says what is wrong
        option = f"--launch {text!r}"
        self._parts = tuple(tuple(Expression(number, option) for number in split(part)) for part in parts)
        parse_launch(self._written(lambda _: 1))

    def launch(self, names: Mapping[str, int]) -> LaunchOverride:
        """That of one variant. Raises `ExpressionError`; `OverrideError` where it can be no launch."""
        try:
            return parse_launch(self._written(lambda number: number.value(names)))
        except NoValueError as error:
            raise OverrideError(f"--launch of {self.kernel}: {error}") from None

    def _written(self, value: Callable[[Expression], int]) -> str:
        extents = (",".join(str(value(number)) for number in part) for part in self._parts)
        return f"{self.kernel}={':'.join(extents)}"
