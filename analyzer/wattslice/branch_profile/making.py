"""From what data sets counted to a profile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from wattslice.branch_profile.lines import source_lines
from wattslice.branch_profile.types import (
    ArmCount,
    ArmProbability,
    BranchProfile,
    DataSet,
    DataSetCounts,
    Making,
    SourceLines,
    weighted_mean,
)

_Key = tuple[str, str, int, int, str]


def make_profile(counted: Sequence[DataSetCounts], making: Making, command: str) -> BranchProfile:
    """The profile of these data sets, each with the same weight, tied to the files that the branches lie in.

    Counts of one arm of one kernel are summed: those of copies of an inlined function. Files are named by
    the end of their path. Raises `OSError` when a source cannot be read.
    """
    data_sets = tuple(DataSet(counts.name) for counts in counted)
    sums: dict[_Key, list[list[int]]] = {}
    has_entries: set[_Key] = set()
    has_warps: set[_Key] = set()
    for number, counts in enumerate(counted):
        for arm in counts.arms:
            rows = sums.setdefault(_key(arm), [[0] * len(counted) for _ in range(5)])
            found = (arm.visits, arm.taken, arm.entries or 0, arm.warp_entries or 0, arm.warp_taken or 0)
            for row, count in zip(rows, found, strict=True):
                row[number] += count
            if arm.entries is not None:
                has_entries.add(_key(arm))
            if arm.warp_entries is not None:
                has_warps.add(_key(arm))
    names = _names(sorted({key[0] for key in sums}))
    arms: list[ArmProbability] = []
    for key in sorted(sums, key=_order):
        file, kernel, line, column, arm = key
        visits, taken, entries, warp_entries, warp_taken = map(tuple, sums[key])
        arms.append(
            ArmProbability(
                file=names[file],
                line=line,
                arm=arm,
                probability=weighted_mean(data_sets, taken, visits),
                kernel=kernel,
                column=column,
                visits=visits,
                taken=taken,
                entries=entries if key in has_entries else (),
                warp_entries=warp_entries if key in has_warps else (),
                warp_taken=warp_taken if key in has_warps else (),
            )
        )
    return BranchProfile(tuple(arms), data_sets, _sources(names), making, command)


def _key(arm: ArmCount) -> _Key:
    return (arm.file, arm.kernel, arm.line, arm.column, arm.arm)


_ARM_ORDER = ("then", "else", "loop", "right", "case", "default")


def _order(key: _Key) -> tuple[str, str, int, int, int, int]:
    file, kernel, line, column, arm = key
    name, _, label = arm.partition(" ")
    return file, kernel, line, column, _ARM_ORDER.index(name), int(label or 0)


def _names(files: list[str]) -> dict[str, str]:
    """The shortest end of each path that no other file shares: the same on every machine."""
    paths = {file: Path(os.path.realpath(file)) for file in files}
    tails = dict.fromkeys(paths.values(), 1)
    while True:
        names = {path: "/".join(path.parts[-tail:]) for path, tail in tails.items()}
        shared = [path for path in names if list(names.values()).count(names[path]) > 1]
        if not shared:
            return {file: names[path] for file, path in paths.items()}
        for path in shared:
            tails[path] += 1


def _sources(names: dict[str, str]) -> tuple[SourceLines, ...]:
    found = {name: source_lines(Path(file), name) for file, name in names.items()}
    return tuple(found[name] for name in sorted(found))
