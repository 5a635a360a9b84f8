"""Statements that repeat each other but for their numbers: runs of them in a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import FEWEST_FOLDED, Body
from wattslice.frontend.cuda.lowering.expressions import known_value
from wattslice.ir import Type
from wattslice.patterns import regex

LONGEST_PERIOD = 32
FEWEST_TIMES = 4
MOST_LITERAL = 1 << 31

_NOT_FOLDED = frozenset(
    {C.RETURN_STMT, C.BREAK_STMT, C.CONTINUE_STMT, C.GOTO_STMT, C.LABEL_STMT, C.CASE_STMT, C.DEFAULT_STMT}
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
    values: tuple[int, ...]


_NOT_TO_BE_FOLDED = _Looks(None, ())


def runs_of(body: Body, nodes: Sequence[Node]) -> Iterator[Run]:
    """The statements in their order, those that repeat each other as one run."""
    nodes_so_far = body.nodes
    looks = _looks_of_all(body, nodes)
    body.nodes = nodes_so_far
    keys = [look.key for look in looks]
    at = 0
    while at < len(nodes):
        period, times = _repetition(keys, at)
        end = at + period * times
        found = _steps(body, nodes[at : at + period], looks[at:end]) if times > 1 else None
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


def _steps(body: Body, nodes: Sequence[Node], looks: list[_Looks]) -> tuple[Progression, ...] | None:
    """How the integers of a run of `nodes` go on; None where one has no constant difference."""
    found: list[Progression] = []
    for k, statement in enumerate(nodes):
        copies = looks[k :: len(nodes)]
        deltas: list[int] = []
        columns: Iterator[tuple[int, ...]] = zip(*(copy.values for copy in copies), strict=True)
        for values in columns:
            delta = values[1] - values[0]
            if any(b - a != delta for a, b in pairwise(values)):
                return None
            if delta and max(abs(value) for value in values) + abs(delta) >= MOST_LITERAL:
                return None
            deltas.append(delta)
        if any(deltas):
            literals = _Tree(body, statement).literals
            found += [
                Progression(node, value, delta, body.type(node))
                for node, value, delta in zip(literals, copies[0].values, deltas, strict=True)
                if delta
            ]
    return tuple(found)


_INTEGER = regex(rb"(?<![\w.])(0|[1-9]\d*)(?![\d.eExX'])")
_FRACTION = regex(rb"(?<![\w.])\d+\.\d+(?![\d.eE'])")
_NAME = regex(rb"[A-Za-z_]\w*")
_SUFFIXED = regex(rb"\b\d[\w.]*")
_KEYWORDS = frozenset(
    b"bool char const double else float for if int long short signed unsigned void while".split()
)


def _looks_of_all(body: Body, nodes: Sequence[Node]) -> list[_Looks]:
    """What each statement of a block looks like.

    Walking every tree is slow: of statements of the same text but for numbers, the tree of the first stands
    for all where each number of the text is one of the tree and no name of the text can be a macro's.
    """
    data = _text_around(body, nodes)
    known: dict[tuple[bytes, ...], _Looks | None] = {}
    found: list[_Looks] = []
    for node in nodes:
        if node.kind == C.DECL_STMT:
            known.clear()  # names may mean something else from here on
            found.append(_NOT_TO_BE_FOLDED)
            continue
        place = None if data is None else body.unit.spans.source(node)
        if place is None or place[0].data is not data:
            found.append(_Tree(body, node).looks)
            continue
        pieces = _INTEGER.split(_FRACTION.sub(b"0.0", place[0].data[place[1] : place[2]]))
        shape, values = tuple(pieces[::2]), tuple(map(int, pieces[1::2]))
        first = known.get(shape)
        if first is None:
            tree = _Tree(body, node)
            found.append(tree.looks)
            if shape not in known:
                known[shape] = tree.looks if tree.is_written(b"0".join(shape), values) else None
        else:
            found.append(_Looks(first.key, values))
    return found


def _text_around(body: Body, nodes: Sequence[Node]) -> bytes | None:
    """The file that statements stand in; None where macros may change their meaning between them."""
    first, last = body.unit.spans.source(nodes[0]), body.unit.spans.source(nodes[-1])
    if first is None or last is None or first[0] is not last[0]:
        return None
    data = first[0].data
    return None if any(data.find(mark, first[1], last[2]) >= 0 for mark in (b"#", b"_Pragma")) else data


class _Tree:
    """A statement's tree: its looks, its literals, the names in it."""

    def __init__(self, body: Body, statement: Node) -> None:
        self._body = body
        self.literals: list[Node] = []
        self.names: set[bytes] = set()
        self.looks = self._looks(statement)

    def is_written(self, text: bytes, values: tuple[int, ...]) -> bool:
        """Whether the text holds these integers and names, and nothing that a macro can stand for."""
        if self.looks.key is None:
            return False
        names = set(_NAME.findall(_SUFFIXED.sub(b"", text)))
        if self.looks.values != values or not names - self.names <= _KEYWORDS:
            return False
        return all(type_.is_integral and type_.bits >= 32 for type_ in map(self._body.type, self.literals))

    def _looks(self, statement: Node) -> _Looks:
        parts: list[object] = []
        values: list[int] = []
        stack = [statement]
        while stack:
            node = stack.pop()
            kind = node.kind
            if kind in _NOT_FOLDED:
                return _NOT_TO_BE_FOLDED
            if _is_number(node):
                value = known_value(self._body, self._body.expr(node))
                if not isinstance(value, int):
                    return _NOT_TO_BE_FOLDED
                parts.append(C.INTEGER_LITERAL)
                self.literals.append(node)
                values.append(value)
                continue
            parts.append(kind)
            if kind in (C.DECL_REF_EXPR, C.MEMBER_REF_EXPR, C.STRING_LITERAL):
                name = node.spelling
                parts.append(name)
                self.names.add(name.encode())
            elif kind in (C.BINARY_OPERATOR, C.COMPOUND_ASSIGNMENT_OPERATOR):
                parts.append(node.binary_operator)
            elif kind == C.UNARY_OPERATOR:
                parts.append(node.unary_operator)
            children = node.children
            parts.append(len(children))
            stack.extend(reversed(children))
        return _Looks(hash(tuple(parts)), tuple(values))


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
