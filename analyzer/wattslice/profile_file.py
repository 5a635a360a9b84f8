"""Reader of `--profile FILE`: how often the arms of branches were taken on test data (for BDPM).

    {"schema_version": 1,
     "branches": [{"file": "match.cu", "line": 27, "arm": "then", "probability": 0.03}]}

`arm` is ``then``, ``else``, ``case N``, ``default`` or ``loop`` (another iteration follows). The arms of one
branch need not add up to 1 (a missing ``else`` is not listed), but must not exceed it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import cast

from wattslice.errors import WattsliceError

SCHEMA_VERSION = 1
_ARM = re.compile(r"then|else|default|loop|case -?\d+")
_KEYS = ("file", "line", "arm", "probability")


class BranchProfileError(WattsliceError):
    """A profile that cannot be used; the message names the JSON path, e.g. ``branches[3].line``."""


@dataclass(frozen=True, slots=True)
class ArmProbability:
    """Mean probability that a visit of the branch on `line` of `file` takes `arm`."""

    file: str
    line: int
    arm: str
    probability: float


@dataclass(frozen=True, slots=True)
class BranchProfile:
    """All measured arms, in the order of the file."""

    arms: tuple[ArmProbability, ...]

    def lookup(self, file: str, line: int, arm: str) -> float | None:
        """Measured probability of an arm, None when the profile does not have it.

        A profile's ``match.cu`` means every path that ends in it; the entry that names most of the path wins.
        """
        found: ArmProbability | None = None
        for entry in self.arms:
            if (entry.line, entry.arm) != (line, arm) or not _is_tail(entry.file, file):
                continue
            if found is None or len(PurePath(entry.file).parts) > len(PurePath(found.file).parts):
                found = entry
        return None if found is None else found.probability


def unmatched(profile: BranchProfile, branches: frozenset[tuple[str, int]]) -> tuple[ArmProbability, ...]:
    """Entries whose file and line are none of `branches` (file, line): typing errors, or a changed source."""
    return tuple(
        arm
        for arm in profile.arms
        if not any(line == arm.line and _is_tail(arm.file, file) for file, line in branches)
    )


def _is_tail(tail: str, path: str) -> bool:
    tail_parts, parts = PurePath(tail).parts, PurePath(path).parts
    return parts[len(parts) - len(tail_parts) :] == tail_parts if len(tail_parts) <= len(parts) else False


def read_branch_profile(path: Path) -> BranchProfile:
    """Read and check a profile. Raises `BranchProfileError` naming file and JSON path."""
    try:
        document: object = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BranchProfileError(f"cannot read the profile: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise BranchProfileError("the profile is not UTF-8 text", path=path) from None
    except json.JSONDecodeError as error:
        raise BranchProfileError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except RecursionError:
        raise BranchProfileError("nested too deeply for a profile", path=path) from None
    top = _object(path, "the document", document, ("schema_version", "branches"))
    if type(top["schema_version"]) is not int or top["schema_version"] != SCHEMA_VERSION:
        raise BranchProfileError(
            f"schema_version: {top['schema_version']!r} is not supported, only {SCHEMA_VERSION}", path=path
        )
    entries = top["branches"]
    if not isinstance(entries, list):
        raise BranchProfileError(f"branches: expected a list, found {_kind(entries)}", path=path)
    arms = tuple(
        _arm(path, f"branches[{index}]", entry) for index, entry in enumerate(cast("list[object]", entries))
    )
    _check_sums(path, arms)
    return BranchProfile(arms)


def _arm(path: Path, place: str, entry: object) -> ArmProbability:
    values = _object(path, place, entry, _KEYS)
    file, line, arm, probability = (values[key] for key in _KEYS)
    if not isinstance(file, str) or not file:
        raise BranchProfileError(f"{place}.file: expected a file name, found {file!r}", path=path)
    if type(line) is not int or line < 1:
        raise BranchProfileError(f"{place}.line: expected a line number from 1, found {line!r}", path=path)
    if not isinstance(arm, str) or not _ARM.fullmatch(arm):
        expected = "then, else, 'case N', default or loop"
        raise BranchProfileError(f"{place}.arm: expected {expected}, found {arm!r}", path=path)
    if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability <= 1:
        message = f"{place}.probability: expected a number from 0 to 1, found {probability!r}"
        raise BranchProfileError(message, path=path)
    return ArmProbability(file, line, arm, float(probability))


def _object(path: Path, place: str, value: object, keys: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict):
        raise BranchProfileError(f"{place}: expected an object, found {_kind(value)}", path=path)
    entries = cast("dict[str, object]", value)
    for key in keys:
        if key not in entries:
            raise BranchProfileError(f"{place}: {key!r} is missing", path=path)
    for key in entries:
        if key not in keys:
            expected = ", ".join(keys)
            raise BranchProfileError(f"{place}: unknown key {key!r} (expected {expected})", path=path)
    return entries


def _check_sums(path: Path, arms: tuple[ArmProbability, ...]) -> None:
    seen: dict[tuple[str, int, str], int] = {}
    sums: dict[tuple[str, int], list[float]] = {}
    for index, entry in enumerate(arms):
        first = seen.setdefault((entry.file, entry.line, entry.arm), index)
        if first != index:
            message = (
                f"branches[{index}]: arm {entry.arm!r} of line {entry.line} was given in branches[{first}]"
            )
            raise BranchProfileError(message, path=path)
        if entry.arm != "loop":
            sums.setdefault((entry.file, entry.line), []).append(entry.probability)
    for (file, line), probabilities in sums.items():
        if math.fsum(probabilities) > 1 + 1e-6:
            total = math.fsum(probabilities)
            raise BranchProfileError(
                f"the arms of {file}:{line} add up to {total:g}, not at most 1", path=path
            )


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {"dict": "an object", "list": "a list", "str": "text", "bool": "a truth value"}
    return names.get(type(value).__name__, "a number")
