"""Statements that repeat each other but for their numbers: runs of them in a block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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


class Looks(Struct, frozen=True):
    """What a statement looks like without its numbers (None: it is not to be folded), and its integers."""

    key: int | None
    values: tuple[int, ...]


_NOT_TO_BE_FOLDED = Looks(None, ())


def runs_of(body: Body, nodes: Sequence[Node]) -> Iterator[Run]:
    """The statements in their order, those that repeat each other as one run."""
    nodes_so_far = body.nodes
    looks = _looks_of_all(body, nodes)
    body.nodes = nodes_so_far
    repeats = Repeats(looks)
    at = 0
    while at < len(nodes):
        period, times = repeats.longest(at)
        found = _steps(body, nodes[at : at + period], looks, at) if times > 1 else ()
        yield Run(tuple(nodes[at : at + period]), times, found)
        at += period * times


class Repeats:
    """Where statements look like those some places before, and their integers go on in equal steps."""

    def __init__(self, looks: Sequence[Looks]) -> None:
        self._keys = [look.key for look in looks]
        self._values = [look.values for look in looks]
        self._alike: dict[int, list[int]] = {}
        self._steady: dict[int, list[int]] = {}

    def longest(self, at: int) -> tuple[int, int]:
        """The shortest period from there on that repeats often enough, and how often.

        1, 1 without, and where an integer has no constant difference or becomes too large.
        """
        for period in range(1, LONGEST_PERIOD + 1):
            if None in self._keys[at : at + period]:
                break
            if period not in self._alike:
                self._look(period)
            times = 1 + self._alike[period][at] // period
            if times >= FEWEST_TIMES and times * period >= FEWEST_FOLDED:
                is_steady = self._steady[period][at] >= (times - 2) * period
                return (period, times) if is_steady and self._are_small(at, period, times) else (1, 1)
        return 1, 1

    def _look(self, period: int) -> None:
        """How many statements from each on look like those a period later; and have steady integers."""
        keys, values = self._keys, self._values
        pairs = zip(keys, keys[period:], strict=False)
        alike = self._alike[period] = _streaks([a is not None and a == b for a, b in pairs], len(keys))
        self._steady[period] = _streaks(
            [
                alike[at] > 0
                and alike[at + period] > 0
                and all(
                    c - b == b - a for a, b, c in zip(*values[at : at + 2 * period + 1 : period], strict=True)
                )
                for at in range(len(keys) - 2 * period)
            ],
            len(keys),
        )

    def _are_small(self, at: int, period: int, times: int) -> bool:
        for first in range(at, at + period):
            last = first + (times - 1) * period
            ends = zip(self._values[first], self._values[first + period], self._values[last], strict=True)
            if any(a != b and max(abs(a), abs(c)) + abs(b - a) >= MOST_LITERAL for a, b, c in ends):
                return False
        return True


def _streaks(holds: Sequence[bool], size: int) -> list[int]:
    """For each place of `size`, on how many from there on something holds; it does not behind the last."""
    found = [0] * (size + 1)
    for at in reversed(range(len(holds))):
        found[at] = found[at + 1] + 1 if holds[at] else 0
    return found


def _steps(body: Body, nodes: Sequence[Node], looks: Sequence[Looks], at: int) -> tuple[Progression, ...]:
    """How the integers of a run of `nodes`, which begins at `at`, go on."""
    found: list[Progression] = []
    for k, statement in enumerate(nodes):
        firsts, seconds = looks[at + k].values, looks[at + k + len(nodes)].values
        deltas = [second - first for first, second in zip(firsts, seconds, strict=True)]
        if any(deltas):
            literals = _Tree(body, statement).literals
            found += [
                Progression(node, value, delta, body.type(node))
                for node, value, delta in zip(literals, firsts, deltas, strict=True)
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


def _looks_of_all(body: Body, nodes: Sequence[Node]) -> list[Looks]:
    """What each statement of a block looks like.

    Walking every tree is slow: of statements of the same text but for numbers, the tree of the first stands
    for all where each number of the text is one of the tree and no name of the text can be a macro's.
    """
    data = _text_around(body, nodes)
    known: dict[tuple[bytes, ...], Looks | None] = {}
    found: list[Looks] = []
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
            found.append(Looks(first.key, values))
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

    def _looks(self, statement: Node) -> Looks:
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
        return Looks(hash(tuple(parts)), tuple(values))


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
