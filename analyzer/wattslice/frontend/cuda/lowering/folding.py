"""Statements that repeat each other but for their numbers: runs of them in a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body
from wattslice.frontend.cuda.lowering.expressions import known_value
from wattslice.ir import Type

FEWEST_FOLDED = 8
"""Statements of a block from which on repetitions are looked for."""
LONGEST_PERIOD = 32
FEWEST_TIMES = 4
MOST_LITERAL = 1 << 31

_NOT_FOLDED = frozenset(
    {
        C.RETURN_STMT,
        C.BREAK_STMT,
        C.CONTINUE_STMT,
        C.GOTO_STMT,
        C.LABEL_STMT,
        C.CASE_STMT,
        C.DEFAULT_STMT,
    }
)
"""Ways out, which mean another place in a loop."""


class Progression(Struct, frozen=True):
    """The literal `node` of the first statements of a run, `delta` more in each repetition."""

    node: Node
    first: int
    delta: int
    type: Type


class Run(Struct, frozen=True):
    """Statements and how often they are repeated; `steps`: the integers that differ."""

    nodes: tuple[Node, ...]
    times: int
    steps: tuple[Progression, ...]


class _Looks(Struct, frozen=True):
    """What a statement looks like without its numbers (None: it is not to be folded), and its integers."""

    key: int | None
    literals: tuple[Node, ...]
    values: tuple[int, ...]


def runs_of(body: Body, nodes: Sequence[Node]) -> Iterator[Run]:
    """The statements in their order, those that repeat each other as one run."""
    nodes_so_far = body.nodes
    looks = [_looks(body, node) for node in nodes]
    body.nodes = nodes_so_far
    keys = [look.key for look in looks]
    at = 0
    while at < len(nodes):
        period, times = _repetition(keys, at)
        found = _steps(body, looks[at : at + period * times], period) if times > 1 else None
        if found is None:
            period = times = 1
        yield Run(tuple(nodes[at : at + period]), times, found or ())
        at += period * times


def _repetition(keys: list[int | None], at: int) -> tuple[int, int]:
    """The shortest period from there on that repeats often enough, and how often; 1, 1 without."""
    for period in range(1, LONGEST_PERIOD + 1):
        first = keys[at : at + period]
        if None in first:
            break
        times = 1
        while keys[at + times * period : at + (times + 1) * period] == first:
            times += 1
        if times >= FEWEST_TIMES and times * period >= FEWEST_FOLDED:
            return period, times
    return 1, 1


def _steps(body: Body, looks: list[_Looks], period: int) -> tuple[Progression, ...] | None:
    """How the integers of a run go on; None where one has no constant difference."""
    found: list[Progression] = []
    for k in range(period):
        copies = looks[k::period]
        for j, node in enumerate(copies[0].literals):
            values = [copy.values[j] for copy in copies]
            delta = values[1] - values[0]
            if any(b - a != delta for a, b in pairwise(values)):
                return None
            if delta:
                if max(map(abs, values)) + abs(delta) >= MOST_LITERAL:
                    return None
                found.append(Progression(node, values[0], delta, body.type(node)))
    return tuple(found)


def _looks(body: Body, statement: Node) -> _Looks:
    if statement.kind == C.DECL_STMT:
        return _Looks(None, (), ())
    parts: list[object] = []
    literals: list[Node] = []
    values: list[int] = []
    stack = [statement]
    while stack:
        node = stack.pop()
        kind = node.kind
        if kind in _NOT_FOLDED:
            return _Looks(None, (), ())
        if _is_number(node):
            value = known_value(body, body.expr(node))
            if not isinstance(value, int):
                return _Looks(None, (), ())
            parts.append(C.INTEGER_LITERAL)
            literals.append(node)
            values.append(value)
            continue
        parts.append(kind)
        if kind in (C.DECL_REF_EXPR, C.MEMBER_REF_EXPR, C.STRING_LITERAL):
            parts.append(node.spelling)
        elif kind in (C.BINARY_OPERATOR, C.COMPOUND_ASSIGNMENT_OPERATOR):
            parts.append(node.binary_operator)
        elif kind == C.UNARY_OPERATOR:
            parts.append(node.unary_operator)
        children = node.children
        parts.append(len(children))
        stack.extend(reversed(children))
    return _Looks(hash(tuple(parts)), tuple(literals), tuple(values))


def _is_number(node: Node) -> bool:
    """Whether an expression is made of integer literals alone."""
    while node.kind in _WRAPPERS and len(node.children) == 1:
        node = node.children[0]
    if node.kind == C.BINARY_OPERATOR:
        return all(map(_is_number, node.children))
    return node.kind == C.INTEGER_LITERAL


def wrapped(node: Node) -> Iterator[Node]:
    """An expression and what it is around with nothing of its own: one of them stands for all."""
    yield node
    while node.kind in _WRAPPERS and len(node.children) == 1:
        node = node.children[0]
        yield node


_WRAPPERS = (C.PAREN_EXPR, C.UNEXPOSED_EXPR)
