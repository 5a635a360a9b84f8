"""A branch profile as JSON (schema version 2)."""

from __future__ import annotations

import json

from wattslice.branch_profile.types import (
    SCHEMA_VERSION,
    ArmProbability,
    BranchProfile,
    DataSet,
    LineDigest,
    SourceLines,
)
from wattslice.version import __version__


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
    parts.append(_list("data_sets", [_data_set(data_set) for data_set in profile.data_sets]))
    parts.append(_list("sources", [_source(source) for source in profile.sources]))
    parts.append(_list("branches", [_branch(arm) for arm in profile.arms]))
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _data_set(data_set: DataSet) -> dict[str, object]:
    weight = data_set.weight
    return {"name": data_set.name, "weight": int(weight) if weight.is_integer() else weight}


def _source(source: SourceLines) -> dict[str, object]:
    return {
        "file": source.file,
        "sha256": source.sha256,
        "lines": " ".join(map(line_token, source.lines)),
    }


def line_token(line: LineDigest) -> str:
    """``1f2e3d4c+8``: the digest of a line's text, and how many blanks are before it, if any."""
    return f"{line.digest}+{line.indent}" if line.indent else line.digest


def _branch(arm: ArmProbability) -> dict[str, object]:
    found: dict[str, object] = {"file": arm.file}
    if arm.kernel:
        found["kernel"] = arm.kernel
    found["line"] = arm.line
    if arm.column:
        found["column"] = arm.column
    found["arm"] = arm.arm
    for name, counts in (
        ("visits", arm.visits),
        ("taken", arm.taken),
        ("entries", arm.entries),
        ("warp_entries", arm.warp_entries),
        ("warp_taken", arm.warp_taken),
    ):
        if counts:
            found[name] = list(counts)
    found["probability"] = arm.probability
    return found


def _list(name: str, entries: list[dict[str, object]]) -> str:
    inner = ",\n".join(f"  {_text(entry)}" for entry in entries)
    return f"{_text(name)}: [\n{inner}\n]" if entries else f"{_text(name)}: []"


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
