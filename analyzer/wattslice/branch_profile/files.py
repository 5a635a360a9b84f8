"""Reads profiles: JSON of schema version 2, as `wattslice profile` writes it, and 1, written by hand.

    {"schema_version": 1,
     "branches": [{"file": "match.cu", "line": 27, "arm": "then", "probability": 0.03}]}

The arms of one branch need not add up to 1 (a missing ``else`` is not listed), but must not exceed it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import cast

from wattslice.branch_profile.profile import (
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
from wattslice.documents import Table, Value, parse_json
from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import file_bytes, note_text
from wattslice.patterns import regex
from wattslice.version import __version__

_ARM = regex(r"then|else|default|loop|right|case -?\d+")
_TOKEN = regex(r"([0-9a-f]+)(?:\+(\d+))?")
_ALONE = (LOOP, RIGHT)
"""Arms that say nothing of the other arms on their line."""
_LEAST = 1e-15
"""Probabilities below count as none: no kernel visits a branch that often."""


def read_branch_profile(path: Path) -> BranchProfile:
    """Read and check a profile. Raises `WattsliceError` naming file and JSON path."""
    try:
        content = file_bytes(path)
        note_text(path, content)
        document = parse_json(content)
    except OSError as error:
        raise of_system(error, "cannot read the profile", path, "`wattslice profile` makes one") from None
    except UnicodeDecodeError:
        raise WattsliceError("the profile is not UTF-8 text", path=path) from None
    except json.JSONDecodeError as error:
        raise WattsliceError(f"not valid JSON: {error.msg}", path=path, line=error.lineno) from None
    except ValueError:  # ValueError: a number of more digits than Python converts
        raise WattsliceError("nested too deeply, or numbers too long, for a profile", path=path) from None
    top = Value(path, "", document).table()
    version = top.value("schema_version").any
    if type(version) is not int or not 1 <= version <= SCHEMA_VERSION:
        raise WattsliceError(
            f"schema_version: {version!r} is not supported, only 1 to {SCHEMA_VERSION}",
            path=path,
            remedy="make the profile anew with `wattslice profile`",
        )
    if version == 1:
        top.only("schema_version", "branches")
        arms = tuple(_arm(entry, 0, with_counts=False) for entry in top.value("branches").list())
        _check(path, arms)
        return BranchProfile(arms, name=path.name)
    return _version_2(path, top)


def _version_2(path: Path, top: Table) -> BranchProfile:
    top.only(
        *("schema_version", "branches"), *("tool", "tool_version", "made", "command", "data_sets", "sources")
    )
    data_sets = tuple(map(_data_set, top.list("data_sets")))
    arms = tuple(_arm(entry, len(data_sets), with_counts=True) for entry in top.value("branches").list())
    _check(path, arms)
    return BranchProfile(
        arms=arms,
        data_sets=data_sets,
        sources=tuple(map(_source, top.list("sources"))),
        making=top.get("made", _making, Making.HAND),
        command=top.get("command", Value.text, ""),
        name=path.name,
    )


def _making(value: Value) -> Making:
    known = [making.value for making in Making]
    if value.text() not in known:
        raise value.error(f"expected one of {', '.join(known)}, found {value.any!r}")
    return Making(value.text())


def _data_set(value: Value) -> DataSet:
    entry = value.table()
    entry.only("name", "weight")
    return DataSet(entry.value("name").text(), entry.get("weight", lambda value: value.number(0.0), 1.0))


def _source(value: Value) -> SourceLines:
    entry = value.table()
    entry.only("file", "sha256", "lines")
    lines = entry.value("lines")
    found: list[LineDigest] = []
    for token in lines.text().split():
        match = _TOKEN.fullmatch(token)
        if match is None:
            raise lines.error(f"expected digests such as 1f2e3d4c+8, found {token!r}")
        found.append(LineDigest(match[1], int(match[2] or 0)))
    return SourceLines(entry.value("file").name(), entry.value("sha256").text(), tuple(found))


def _arm(value: Value, data_sets: int, *, with_counts: bool) -> ArmProbability:
    entry = value.table()
    counted = ("kernel", "column", *_COUNTS) if with_counts else ()
    entry.only("file", "line", "arm", "probability", *counted)
    arm = entry.value("arm")
    if not isinstance(arm.any, str) or not _ARM.fullmatch(arm.any):
        raise arm.error(f"expected then, else, 'case N', default, loop or right, found {arm.any!r}")
    probability = entry.value("probability")
    known = None if with_counts and probability.any is None else probability.number(0.0, 1.0)
    return ArmProbability(
        file=entry.value("file").name(),
        line=entry.value("line").position("line"),
        arm=arm.any,
        probability=0.0 if known is not None and known < _LEAST else known,
        kernel=entry.get("kernel", Value.name, ""),
        column=entry.get("column", lambda value: value.position("column"), 0),
        **{name: entry.get(name, lambda value: _counts(value, data_sets), ()) for name in _COUNTS},
    )


_COUNTS = ("visits", "taken", "entries", "warp_entries", "warp_taken")


def _counts(value: Value, data_sets: int) -> tuple[int, ...]:
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
            raise WattsliceError(message, path=path, remedy="keep one of them")
        if entry.arm not in _ALONE and entry.probability is not None:
            sums.setdefault(place, []).append(entry.probability)
    for (file, _, line, _), probabilities in sums.items():
        total = math.fsum(probabilities)
        if total > 1 + 1e-6:
            raise WattsliceError(f"the arms of {file}:{line} add up to {total:g}, not at most 1", path=path)


def profile_json(profile: BranchProfile) -> str:
    """The profile as text, one branch arm a line; the same profile gives the same bytes."""
    head: dict[str, object] = {
        "schema_version": SCHEMA_VERSION,
        "tool": "wattslice",
        "tool_version": __version__,
        "made": profile.making.value,
        "command": profile.command,
    }
    parts = [f"{_text(name)}: {_text(value)}" for name, value in head.items()]
    parts.append(_list("data_sets", [_data_set_entry(data_set) for data_set in profile.data_sets]))
    parts.append(_list("sources", [_source_entry(source) for source in profile.sources]))
    parts.append(_list("branches", [_branch(arm) for arm in profile.arms]))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _data_set_entry(data_set: DataSet) -> dict[str, object]:
    weight = data_set.weight
    return {"name": data_set.name, "weight": int(weight) if weight.is_integer() else weight}


def _source_entry(source: SourceLines) -> dict[str, object]:
    return {
        "file": source.file,
        "sha256": source.sha256,
        # ``1f2e3d4c+8``: the digest of a line's text, and how many blanks are before it, if any
        "lines": " ".join(f"{one.digest}+{one.indent}" if one.indent else one.digest for one in source.lines),
    }


def _branch(arm: ArmProbability) -> dict[str, object]:
    found: dict[str, object] = {"file": arm.file}
    if arm.kernel:
        found["kernel"] = arm.kernel
    found["line"] = arm.line
    if arm.column:
        found["column"] = arm.column
    found["arm"] = arm.arm
    found |= {name: counts for name in _COUNTS if (counts := getattr(arm, name))}
    found["probability"] = arm.probability
    return found


def _list(name: str, entries: list[dict[str, object]]) -> str:
    inner = ",\n".join(f"  {_text(entry)}" for entry in entries)
    return f"{_text(name)}: [\n{inner}\n]" if entries else f"{_text(name)}: []"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
