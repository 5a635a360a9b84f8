"""What stands in the arms of an `if`: the guard, loop header, call, store and return heuristics.

Ball & Larus look at the two blocks that a branch may go to; one that follows the branch in any case
(post-dominates it) says nothing, nor does what holds for both. Here the arms are those two: the then-block,
and the else-block or, behind a then-block that leaves (`if (i >= n) return;`), the statements that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from wattslice.heuristics.rates import Heuristic, Opinion
from wattslice.ir import (
    Assign,
    Atomic,
    Block,
    Expr,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    Loop,
    MemoryPlace,
    Read,
    RegisterPlace,
    Return,
    Stmt,
    Switch,
    TextureFetch,
    Variable,
    never_falls_through,
    statement_expressions,
    walk_expressions,
    walk_statements,
)

_CALLS = frozenset(("printf", "vprintf", "malloc", "free", "__assert_fail", "__assertfail", "__trap"))
"""What stays a call in device code; device functions are inlined, mathematical ones become instructions."""


@dataclass(frozen=True, slots=True)
class _Arms:
    """What the arms of one `if` say: `opinions` in any case, the guard when a compared register is used."""

    used_in_then: frozenset[Variable]
    used_in_other: frozenset[Variable]
    opinions: tuple[Opinion, ...]


class ArmOpinions:
    """The opinions about every `if` of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._by_region: dict[int, _Arms] = {}
        for stmt in walk_statements(kernel.body):
            if isinstance(stmt, Block):
                for place, inner in enumerate(stmt.statements):
                    if isinstance(inner, If):
                        self._by_region[inner.region] = _read(inner, stmt.statements[place + 1 :])

    def of(self, branch: If, compared: tuple[Variable, ...]) -> tuple[Opinion, ...]:
        """What the arms of `branch` say of its condition, in a fixed order.

        `compared`: the registers whose values decide it.
        """
        arms = self._by_region.get(branch.region)
        if arms is None:
            return ()
        in_then = not arms.used_in_then.isdisjoint(compared)
        in_other = not arms.used_in_other.isdisjoint(compared)
        guard = (Opinion(Heuristic.GUARD, in_then),) if in_then != in_other else ()
        return (*guard, *arms.opinions)


@lru_cache(maxsize=4)
def arm_opinions(kernel: Kernel) -> ArmOpinions:
    """Reads the arms of every `if` of `kernel`, inlined functions included; kept for the last few kernels."""
    return ArmOpinions(kernel)


def _read(branch: If, following: tuple[Stmt, ...]) -> _Arms:
    then = _first_block(branch.then.statements)
    if branch.otherwise is not None:
        other = _first_block(branch.otherwise.statements)
    else:  # what follows is an arm of its own only when the then-block does not get there
        other = _first_block(following) if never_falls_through(branch.then) else ()
    tests: tuple[tuple[Heuristic, Callable[[tuple[Stmt, ...]], bool], bool], ...] = (
        (Heuristic.LOOP_HEADER, lambda block: bool(block) and isinstance(block[-1], Loop), True),
        (Heuristic.CALL, lambda block: any(map(_is_call, _expressions(block))), False),
        (Heuristic.STORE, lambda block: any(map(_is_store, _expressions(block))), False),
        (Heuristic.RETURN, lambda block: bool(block) and isinstance(block[-1], Return), False),
    )
    found: list[Opinion] = []
    for heuristic, holds, towards in tests:
        in_then, in_other = holds(then), holds(other)
        if in_then != in_other:
            found.append(Opinion(heuristic, in_then is towards))
    return _Arms(_used(then), _used(other), tuple(found))


def _first_block(statements: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The statements up to the first that decides or leaves, which is the last of them."""
    found: list[Stmt] = []
    for stmt in statements:
        if isinstance(stmt, Block):
            found += _first_block(stmt.statements)
        else:
            found.append(stmt)
        if found and not _goes_straight_on(found[-1]):
            break
    return tuple(found)


def _goes_straight_on(stmt: Stmt) -> bool:
    return not (isinstance(stmt, If | Loop | Switch) or never_falls_through(stmt))


def _expressions(block: tuple[Stmt, ...]) -> Iterator[Expr]:
    """What the statements of a first block evaluate, bodies of inlined calls included."""
    for stmt in block:
        for part in stmt.init if isinstance(stmt, Loop) else ():
            yield from _expressions((part,))
        for expr in statement_expressions(stmt):
            for inner in walk_expressions(expr):
                yield inner
                if isinstance(inner, InlinedCall):
                    yield from _expressions(_first_block(inner.body.statements))


def _used(block: tuple[Stmt, ...]) -> frozenset[Variable]:
    """The registers that are read before they are overwritten."""
    used: set[Variable] = set()
    written: set[Variable] = set()
    for stmt in block:
        expressions = tuple(_expressions((stmt,)))
        used.update(
            expr.place.variable
            for expr in expressions
            if isinstance(expr, Read) and expr.place.variable not in written
        )
        for expr in expressions:
            if isinstance(expr, Assign | Increment) and isinstance(expr.target, RegisterPlace):
                if (
                    isinstance(expr, Increment) or expr.op is not None
                ) and expr.target.variable not in written:
                    used.add(expr.target.variable)
                written.add(expr.target.variable)
    return frozenset(used)


def _is_call(expr: Expr) -> bool:
    return isinstance(expr, Intrinsic) and (expr.is_opaque_call or expr.name in _CALLS)


def _is_store(expr: Expr) -> bool:
    if isinstance(expr, Assign | Increment):
        return isinstance(expr.target, MemoryPlace)
    return isinstance(expr, Atomic) or (isinstance(expr, TextureFetch) and expr.is_store)
