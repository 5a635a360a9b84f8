"""A `BranchProfile` out of what data sets counted: probabilities of arms, and the texts they are of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from wattslice import ir
from wattslice.branch_profile.profile import (
    ELSE,
    LOOP,
    RIGHT,
    THEN,
    ArmCount,
    ArmProbability,
    BranchProfile,
    DataSet,
    DataSetCounts,
    Making,
    SourceLines,
    arm_name,
    source_lines,
    weighted_mean,
)
from wattslice.ir.walking import evaluations


def arm_counts(
    kernel: ir.Kernel, counts: Sequence[int], warps: Sequence[int] | None = None
) -> tuple[ArmCount, ...]:
    """Every arm of every branch of `kernel`; `counts[r]` is how many threads ran region r, `warps[r]` warps.

    A function inlined several times has several entries for each of its branches.
    """
    return tuple(
        ArmCount(
            kernel.qualified_name,
            span.file,
            span.line,
            span.column,
            arm,
            visits,
            taken,
            entries,
            *(_warps(node, warps) if isinstance(node, ir.Loop) and warps is not None else ()),
        )
        for node, region in branches(kernel)
        for span, arm, visits, taken, entries in _arms(node, region, counts)
    )


Branch = ir.If | ir.Loop | ir.Logical | ir.Select | ir.Switch


def branches(kernel: ir.Kernel) -> Iterator[tuple[Branch, int]]:
    """Everything in a kernel that a profile knows the arms of, each with the region it is evaluated in."""
    for node, region in evaluations(kernel):
        if isinstance(node, Branch):
            yield node, region
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.Loop) and stmt.condition is None:  # costs nothing, so that it is no evaluation
            yield stmt, stmt.test_region


_Arm = tuple[ir.Span, str, int, int, int | None]


def _arms(node: Branch, region: int, counts: Sequence[int]) -> Iterator[_Arm]:
    match node:
        case ir.If():
            visits, then = counts[node.region], counts[node.then.region]
            yield node.span, THEN, visits, then, None
            if node.otherwise is not None:
                yield node.span, ELSE, visits, counts[node.otherwise.region], None
        case ir.Select():
            visits = counts[node.then_region] + counts[node.otherwise_region]
            yield node.span, THEN, visits, counts[node.then_region], None
            yield node.span, ELSE, visits, counts[node.otherwise_region], None
        case ir.Logical():
            yield node.span, RIGHT, counts[region], counts[node.right_region], None
        case ir.Switch():
            yield from _cases(node, counts)
        case ir.Loop():
            yield _loop(node, counts)


def _loop(loop: ir.Loop, counts: Sequence[int]) -> _Arm:
    entries, bodies = counts[loop.region], counts[loop.body.region]
    followed = bodies - entries if loop.kind is ir.LoopKind.DO else bodies
    tests = followed if loop.condition is None else counts[loop.test_region]
    return loop.span, LOOP, tests, followed, entries


def _warps(loop: ir.Loop, warps: Sequence[int]) -> tuple[int, int]:
    """Warps that entered the loop, and iterations of theirs that followed a test."""
    entries, bodies = warps[loop.region], warps[loop.body.region]
    return entries, bodies - entries if loop.kind is ir.LoopKind.DO else bodies


def _cases(switch: ir.Switch, counts: Sequence[int]) -> Iterator[_Arm]:
    """Jumps to a case: what ran its body less what fell into it from the case above."""
    falling = 0
    for case in switch.cases:
        ran = counts[case.body.region]
        yield switch.span, arm_name(case), counts[switch.region], ran - falling, None
        falling = ran - sum(counts[stmt.region] for stmt in _leaving(case.body))


def _leaving(stmt: ir.Stmt, in_loop: bool = False, in_switch: bool = False) -> Iterator[ir.Stmt]:
    """The statements inside `stmt` that leave the switch around it."""
    if isinstance(stmt, ir.Return):
        yield stmt
    elif isinstance(stmt, ir.Break):
        if not (in_loop or in_switch):
            yield stmt
    elif isinstance(stmt, ir.Continue):
        if not in_loop:
            yield stmt
    else:
        loop, switch = in_loop or isinstance(stmt, ir.Loop), in_switch or isinstance(stmt, ir.Switch)
        for inner in ir.nested_statements(stmt):
            yield from _leaving(inner, loop, switch)


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
