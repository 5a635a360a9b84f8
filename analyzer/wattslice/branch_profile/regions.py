"""From how often the regions of a kernel ran to how often the arms of its branches were taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wattslice.branch_profile.types import DEFAULT, ELSE, LOOP, RIGHT, THEN, ArmCount
from wattslice.ir import (
    Break,
    Case,
    Continue,
    If,
    Kernel,
    Logical,
    Loop,
    LoopKind,
    Return,
    Select,
    Span,
    Stmt,
    Switch,
    nested_statements,
    walk_statements,
)
from wattslice.ir.walking import evaluations


def arm_counts(
    kernel: Kernel, counts: Sequence[int], warps: Sequence[int] | None = None
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
            *(_warps(node, warps) if isinstance(node, Loop) and warps is not None else ()),
        )
        for node, region in branches(kernel)
        for span, arm, visits, taken, entries in _arms(node, region, counts)
    )


Branch = If | Loop | Logical | Select | Switch


def branches(kernel: Kernel) -> Iterator[tuple[Branch, int]]:
    """Everything in a kernel that a profile knows the arms of, each with the region it is evaluated in."""
    for node, region in evaluations(kernel):
        if isinstance(node, Branch):
            yield node, region
    for stmt in walk_statements(kernel.body):
        if isinstance(stmt, Loop) and stmt.condition is None:  # costs nothing, so that it is no evaluation
            yield stmt, stmt.test_region


_Arm = tuple[Span, str, int, int, int | None]


def _arms(node: Branch, region: int, counts: Sequence[int]) -> Iterator[_Arm]:
    match node:
        case If():
            visits, then = counts[node.region], counts[node.then.region]
            yield node.span, THEN, visits, then, None
            if node.otherwise is not None:
                yield node.span, ELSE, visits, counts[node.otherwise.region], None
        case Select():
            visits = counts[node.then_region] + counts[node.otherwise_region]
            yield node.span, THEN, visits, counts[node.then_region], None
            yield node.span, ELSE, visits, counts[node.otherwise_region], None
        case Logical():
            yield node.span, RIGHT, counts[region], counts[node.right_region], None
        case Switch():
            yield from _cases(node, counts)
        case Loop():
            yield _loop(node, counts)


def _loop(loop: Loop, counts: Sequence[int]) -> _Arm:
    entries, bodies = counts[loop.region], counts[loop.body.region]
    followed = bodies - entries if loop.kind is LoopKind.DO else bodies
    tests = followed if loop.condition is None else counts[loop.test_region]
    return loop.span, LOOP, tests, followed, entries


def _warps(loop: Loop, warps: Sequence[int]) -> tuple[int, int]:
    """Warps that entered the loop, and iterations of theirs that followed a test."""
    entries, bodies = warps[loop.region], warps[loop.body.region]
    return entries, bodies - entries if loop.kind is LoopKind.DO else bodies


def _cases(switch: Switch, counts: Sequence[int]) -> Iterator[_Arm]:
    """Jumps to a case: what ran its body less what fell into it from the case above."""
    falling = 0
    for case in switch.cases:
        ran = counts[case.body.region]
        yield switch.span, arm_name(case), counts[switch.region], ran - falling, None
        falling = ran - sum(counts[stmt.region] for stmt in _leaving(case.body))


def arm_name(case: Case) -> str:
    """How reports and profiles call a case: `case 3`, `default`."""
    return DEFAULT if case.labels[:1] == (None,) else f"case {case.labels[0]}"


def _leaving(stmt: Stmt, in_loop: bool = False, in_switch: bool = False) -> Iterator[Stmt]:
    """The statements inside `stmt` that leave the switch around it."""
    if isinstance(stmt, Return):
        yield stmt
    elif isinstance(stmt, Break):
        if not (in_loop or in_switch):
            yield stmt
    elif isinstance(stmt, Continue):
        if not in_loop:
            yield stmt
    else:
        loop, switch = in_loop or isinstance(stmt, Loop), in_switch or isinstance(stmt, Switch)
        for inner in nested_statements(stmt):
            yield from _leaving(inner, loop, switch)
