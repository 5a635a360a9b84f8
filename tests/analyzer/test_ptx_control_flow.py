"""Structured code takes the same way through the nodes as the graph it was made from."""

import random
from contextlib import suppress

import pytest

from wattslice.frontend.ptx.lowering.structure import (
    Choice,
    Code,
    ControlFlow,
    Ending,
    Fork,
    Frame,
    Goto,
    IrreducibleError,
    Jump,
    Leave,
    Quit,
    Repeat,
    Structure,
    Switching,
    Tree,
    Ways,
    Wrap,
    targets_of,
)

LONGEST_WALK = 60


class _LeftError(Exception):
    def __init__(self, frame: Frame | None) -> None:
        self.frame = frame


class _Walk:
    """A way through a function; what a node decides depends on the node and how often it was met before."""

    def __init__(self, endings: list[Ending], seed: int) -> None:
        self.endings = endings
        self.seed = seed
        self.nodes: list[int] = []

    def choice(self, node: int) -> int:
        return random.Random(f"{self.seed} {node} {self.nodes.count(node)}").randrange(1 << 16)

    def along_graph(self) -> list[int]:
        node = 0
        while len(self.nodes) < LONGEST_WALK:
            self.nodes.append(node)
            targets = targets_of(self.endings[node])
            if not targets:
                break
            node = targets[self.choice(node) % len(targets)]
        return self.nodes

    def along_tree(self, tree: list[Tree]) -> list[int]:
        with suppress(_LeftError):  # only the end of the function is outside of all frames
            self._run(tree)
        return self.nodes

    def _run(self, tree: list[Tree]) -> None:
        for part in tree:
            match part:
                case Code(node=node):
                    if len(self.nodes) >= LONGEST_WALK:
                        raise _LeftError(None)
                    self.nodes.append(node)
                case Choice(node=node, then=then, otherwise=otherwise):
                    self._run(otherwise if self.choice(node) % 2 else then)
                case Jump(frame=frame):
                    raise _LeftError(frame)
                case Quit():
                    raise _LeftError(None)
                case Repeat() | Wrap() | Switching():
                    try:
                        self._run_frame(part)
                    except _LeftError as left:
                        if left.frame is not part.frame:
                            raise

    def _run_frame(self, part: Repeat | Wrap | Switching) -> None:
        match part:
            case Wrap(body=body):
                self._run(body)
            case Switching(node=node, cases=cases):
                label = self.choice(node) % len(targets_of(self.endings[node]))
                self._run(next(tree for labels, tree in cases if label in labels))
            case Repeat(body=body, test=test, test_holds=holds):
                while True:
                    self._run(body)
                    if test is not None and (self.choice(test) % 2 == 0) is not holds:
                        return
                    if len(self.nodes) >= LONGEST_WALK:
                        raise _LeftError(None)


def _graph(seed: int) -> tuple[list[Ending], frozenset[int]]:
    """A random function and its nodes without instructions of their own."""
    chance = random.Random(seed)
    size = chance.randint(2, 12)

    def near(node: int) -> int:
        if chance.random() < 0.2:
            return chance.randrange(1, size)
        return min(size - 1, max(1, node + chance.randint(-3, 4)))

    endings: list[Ending] = []
    for node in range(size):
        kind = chance.random()
        if node == size - 1 or kind < 0.07:
            endings.append(Leave())
        elif kind < 0.35:
            endings.append(Goto(near(node)))
        elif kind < 0.95:
            endings.append(Fork(near(node), near(node) if chance.random() < 0.3 else node + 1))
        else:
            endings.append(Ways(tuple(near(node) for _ in range(chance.randint(1, 5)))))
    return endings, frozenset(node for node in range(size) if chance.random() < 0.3)


@pytest.mark.slow
def test_the_way_through_a_structured_function_is_the_way_through_its_graph():
    structured = 0
    for seed in range(1500):
        endings, empty = _graph(seed)
        try:
            tree = Structure(endings, empty.__contains__).tree()
        except IrreducibleError:
            continue
        structured += 1
        for way in range(4):
            expected = _Walk(endings, way).along_graph()
            found = _Walk(endings, way).along_tree(tree)
            if len(expected) == len(found) + 1 and isinstance(endings[expected[-1]], Leave):
                expected = expected[:-1]  # a bare return at the end of the text is not there
            assert found == expected, (seed, way)
    assert structured > 1000


def _tree(*endings: Ending) -> list[Tree]:
    return Structure(list(endings), lambda node: isinstance(endings[node], Leave)).tree()


def test_a_guarded_loop_with_its_test_at_the_bottom_becomes_do_while():
    before, choice = _tree(Fork(2, 1), Fork(1, 2), Leave())
    assert before == Code(0)
    assert isinstance(choice, Choice)
    (loop,) = choice.otherwise
    assert isinstance(loop, Repeat)
    assert (loop.test, loop.test_holds, loop.body) == (1, True, [Code(1)])


def test_a_loop_with_its_test_at_the_top_is_rotated():
    # 1: the test, 2: the body, 3: behind
    _, test, choice, *_ = _tree(Goto(1), Fork(3, 2), Goto(1), Leave())
    assert test == Code(1)
    assert isinstance(choice, Choice)
    (loop,) = choice.otherwise
    assert isinstance(loop, Repeat)
    assert (loop.test, loop.test_holds, loop.body) == (1, False, [Code(2), Code(1)])


def test_a_second_way_out_of_a_loop_leaves_the_block_around_it():
    # the loop 1, 2 is left to 3 from 2, its test, and to 4 from 1; 3 goes on to 4
    _, wrap, *behind = _tree(Goto(1), Fork(4, 2), Fork(1, 3), Goto(4), Goto(5), Leave())
    assert isinstance(wrap, Wrap)
    loop, after_loop = wrap.body
    assert isinstance(loop, Repeat)
    header, way_out, latch = loop.body
    assert (header, after_loop, latch, loop.test) == (Code(1), Code(3), Code(2), 2)
    assert isinstance(way_out, Choice)
    (jump,) = way_out.then
    assert isinstance(jump, Jump)
    assert jump.frame is wrap.frame
    assert behind[0] == Code(4)


def test_dominators_and_loops():
    flow = ControlFlow([(1, 4), (2,), (3, 1), (2, 4), ()])
    assert flow.dominator == {0: 0, 1: 0, 2: 1, 3: 2, 4: 0}
    assert {header: loop.nodes for header, loop in flow.loops.items()} == {1: {1, 2, 3}, 2: {2, 3}}


def test_a_loop_with_two_entries_is_refused():
    with pytest.raises(IrreducibleError):
        ControlFlow([(1, 2), (2,), (1, 3), ()])
