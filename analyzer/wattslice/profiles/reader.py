"""Reads profiles: JSON of schema version 2, as `wattslice profile` writes it, and 1, written by hand.

    {"schema_version": 1,
     "branches": [{"file": "match.cu", "line": 27, "arm": "then", "probability": 0.03}]}

The arms of one branch need not add up to 1 (a missing ``else`` is not listed), but must not exceed it.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import cast

from wattslice.errors import WattsliceError
from wattslice.profiles.types import (
    LOOP,
    RIGHT,
    SCHEMA_VERSION,
    ArmProbability,
    BranchProfile,
    DataSet,
    LineDigest,
    Making,
    SourceLines,
)

_ARM = re.compile(r"then|else|default|loop|right|case -?\d+")
_TOKEN = re.compile(r"([0-9a-f]+)(?:\+(\d+))?")
_ALONE = (LOOP, RIGHT)
"""Arms that say nothing of the other arms on their line."""


class BranchProfileError(WattsliceError):
    """A profile that cannot be used; the message names the JSON path, e.g. ``branches[3].line``."""


def read_branch_profile(path: Path) -> BranchProfile:
    """Read and check a profile. Raises `BranchProfileError` naming file and JSON path."""
    try:
        document: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        remedy = "`wattslice profile` makes one"
        raise BranchProfileError(
            f"cannot read the profile: {error.strerror}", path=path, remedy=remedy
        ) from None
    except UnicodeDecodeError:
        raise BranchProfileError("the profile is not UTF-8 text", path=path) from None
    except json.JSONDecodeError as error:
        raise BranchProfileError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except (RecursionError, ValueError):  # ValueError: a number of more digits than Python converts
        raise BranchProfileError("nested too deeply, or numbers too long, for a profile", path=path) from None
    top = _Value(path, "", document).object()
    version = top.value("schema_version").any
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise BranchProfileError(
            f"schema_version: {version!r} is not supported, only 1 to {SCHEMA_VERSION}",
            path=path,
            remedy="make the profile anew with `wattslice profile`",
        )
    if version == 1:
        top.only("schema_version", "branches")
        arms = tuple(_arm(entry, 0, with_counts=False) for entry in top.value("branches").list())
        _check(path, arms)
        return BranchProfile(arms)
    return _version_2(path, top)


def _version_2(path: Path, top: _Object) -> BranchProfile:
    top.only(
        *("schema_version", "branches"),
        *("tool", "tool_version", "made", "command", "data_sets", "sources"),
    )
    data_sets = tuple(map(_data_set, top.list("data_sets")))
    arms = tuple(_arm(entry, len(data_sets), with_counts=True) for entry in top.value("branches").list())
    _check(path, arms)
    return BranchProfile(
        arms=arms,
        data_sets=data_sets,
        sources=tuple(map(_source, top.list("sources"))),
        making=_making(top.optional("made")),
        command="" if (command := top.optional("command")) is None else command.text(),
    )


def _making(value: _Value | None) -> Making:
    if value is None:
        return Making.HAND
    known = [making.value for making in Making]
    if value.text() not in known:
        raise value.error(f"expected one of {', '.join(known)}, found {value.any!r}")
    return Making(value.text())


def _data_set(value: _Value) -> DataSet:
    entry = value.object()
    entry.only("name", "weight")
    weight = entry.optional("weight")
    return DataSet(entry.value("name").text(), 1.0 if weight is None else weight.number(0.0, math.inf))


def _source(value: _Value) -> SourceLines:
    entry = value.object()
    entry.only("file", "sha256", "lines")
    lines = entry.value("lines")
    found: list[LineDigest] = []
    for token in lines.text().split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise lines.error(f"expected digests such as 1f2e3d4c+8, found {token!r}")
        found.append(LineDigest(match[1], int(match[2] or 0)))
    return SourceLines(entry.value("file").name(), entry.value("sha256").text(), tuple(found))


def _arm(value: _Value, data_sets: int, *, with_counts: bool) -> ArmProbability:
    entry = value.object()
    counts = ("kernel", "column", "visits", "taken", "entries") if with_counts else ()
    entry.only("file", "line", "arm", "probability", *counts)
    arm = entry.value("arm")
    if not isinstance(arm.any, str) or not _ARM.fullmatch(arm.any):
        raise arm.error(f"expected then, else, 'case N', default, loop or right, found {arm.any!r}")
    probability = entry.value("probability")
    column, kernel = entry.optional("column"), entry.optional("kernel")
    return ArmProbability(
        file=entry.value("file").name(),
        line=entry.value("line").position("line"),
        arm=arm.any,
        probability=None if with_counts and probability.any is None else probability.number(0.0, 1.0),
        kernel="" if kernel is None else kernel.name(),
        column=0 if column is None else column.position("column"),
        visits=_counts(entry, "visits", data_sets),
        taken=_counts(entry, "taken", data_sets),
        entries=_counts(entry, "entries", data_sets),
    )


def _counts(entry: _Object, name: str, data_sets: int) -> tuple[int, ...]:
    value = entry.optional(name)
    if value is None:
        return ()
    found = tuple(number.any for number in value.list())
    if len(found) != data_sets or not all(type(number) is int and number >= 0 for number in found):
        raise value.error(f"expected {data_sets} whole numbers from 0, one per data set, found {value.any!r}")
    return cast("tuple[int, ...]", found)


def _check(path: Path, arms: tuple[ArmProbability, ...]) -> None:
    seen: dict[tuple[str, str, int, int, str], int] = {}
    sums: dict[tuple[str, str, int, int], list[float]] = {}
    for index, entry in enumerate(arms):
        place = (entry.file, entry.kernel, entry.line, entry.column)
        first = seen.setdefault((*place, entry.arm), index)
        if first != index:
            message = (
                f"branches[{index}]: arm {entry.arm!r} of line {entry.line} was given in branches[{first}]"
            )
            raise BranchProfileError(message, path=path, remedy="keep one of them")
        if entry.arm not in _ALONE and entry.probability is not None:
            sums.setdefault(place, []).append(entry.probability)
    for (file, _, line, _), probabilities in sums.items():
        total = math.fsum(probabilities)
        if total > 1 + 1e-6:
            raise BranchProfileError(
                f"the arms of {file}:{line} add up to {total:g}, not at most 1", path=path
            )


class _Value:
    """A value of the document that knows where it stands."""

    def __init__(self, path: Path, place: str, value: object) -> None:
        self._path, self._place = path, place
        self.any: object = value

    def error(self, message: str) -> BranchProfileError:
        return BranchProfileError(f"{self._place or 'the document'}: {message}", path=self._path)

    def text(self) -> str:
        if not isinstance(self.any, str):
            raise self.error(f"expected text, found {self.kind}")
        return self.any

    def name(self) -> str:
        if not isinstance(self.any, str) or not self.any:
            raise self.error(f"expected a name, found {self.any!r}")
        return self.any

    def position(self, what: str) -> int:
        if type(self.any) is not int or self.any < 1:
            raise self.error(f"expected a {what} number from 1, found {self.any!r}")
        return self.any

    def number(self, low: float, high: float) -> float:
        number = self.any
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            bounds = f"from {low:g} to {high:g}" if math.isfinite(high) else f"from {low:g}"
            raise self.error(f"expected a number {bounds}, found {number!r}")
        return float(number)

    def list(self) -> list[_Value]:
        value = self.any
        if not isinstance(value, list):
            raise self.error(f"expected a list, found {self.kind}")
        entries = cast("list[object]", value)
        return [_Value(self._path, f"{self._place}[{index}]", entry) for index, entry in enumerate(entries)]

    def object(self) -> _Object:
        value = self.any
        if not isinstance(value, dict):
            raise self.error(f"expected an object, found {self.kind}")
        return _Object(self, self._path, self._place, cast("dict[str, object]", value))

    @property
    def kind(self) -> str:
        if self.any is None:
            return "null"
        names = {"dict": "an object", "list": "a list", "str": "text", "bool": "a truth value"}
        return names.get(type(self.any).__name__, "a number")


class _Object:
    """An object of the document; its members know their JSON path."""

    def __init__(self, value: _Value, path: Path, place: str, members: dict[str, object]) -> None:
        self._value, self._path, self._place, self._members = value, path, place, members

    def only(self, *known: str) -> None:
        for key in self._members:
            if key not in known:
                raise self._value.error(f"unknown key {key!r} (expected {', '.join(known)})")

    def value(self, key: str) -> _Value:
        if key not in self._members:
            raise self._value.error(f"{key!r} is missing")
        return _Value(self._path, f"{self._place}.{key}" if self._place else key, self._members[key])

    def optional(self, key: str) -> _Value | None:
        return self.value(key) if key in self._members else None

    def list(self, key: str) -> list[_Value]:
        value = self.optional(key)
        return [] if value is None else value.list()
