"""From a control-flow graph to nested statements (after Ramsey, Beyond Relooper, ICFP 2022).

The dominator tree is the skeleton: a node that several paths lead to, or that a loop is left to, stands
behind the block that its dominator begins, and a jump to it leaves that block. So every reducible graph is
structured exactly, and no code is duplicated but the tests of loops that stand at their top, which are
rotated as compilers do.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field


class _Place(Struct):
    """Where code is being put: what falls out of its end arrives at `next_`, jumps may leave `frames`."""

    next_: int | None
    frames: tuple[Frame, ...] = ()

    def inside(self, frame: Frame, next_: int | None) -> _Place:
        return _Place(next_, (*self.frames, frame))


_NOWHERE = -1
"""Where control never falls: behind the cases of a switch."""


class _Followers(Struct):
    inside: list[int] = field(default_factory=list[int])
    outside: list[int] = field(default_factory=list[int])


class Structure:
    """Structures one function. `endings[node]`: how a node ends, `is_empty(node)`: whether that is all."""

    def __init__(self, endings: list[Ending], is_empty: Callable[[int], bool]) -> None:
        self.endings = endings
        self.is_empty = is_empty
        self.flow = ControlFlow([targets_of(ending) for ending in endings])
        self.followers: dict[int, _Followers] = {}
        self.placed: set[int] = set()  # nodes that stand behind a block, and are jumped to
        self._enclosing = self._loops_around()
        self._find_followers()
        self.suppressed: set[int] = set()  # nodes whose ending is the test of a loop

    @property
    def loop_depth(self) -> int:
        """How many loops nest in one another at most."""
        return max(map(len, self._enclosing.values()), default=0)

    def tree(self) -> list[Tree]:
        """The function as a list of statements."""
        return self._emit(self.flow.order[0], _Place(None))

    # ------------------------------------------------------------------ who stands behind whom

    def _loops_around(self) -> dict[int, list[NaturalLoop]]:
        """The loops that each node is in, outermost first."""
        found: dict[int, list[NaturalLoop]] = {node: [] for node in self.flow.order}
        for loop in sorted(self.flow.loops.values(), key=lambda loop: self.flow.position[loop.header]):
            for node in loop.nodes:
                found[node].append(loop)
        return found

    def _parent(self, node: int) -> tuple[int, bool]:
        """The node behind whose block `node` stands, and whether that heads a loop that `node` is not in."""
        above = self.flow.dominator[node]
        left = next((loop for loop in self._enclosing[above] if node not in loop.nodes), None)
        return (above, False) if left is None else (left.header, True)

    def _find_followers(self) -> None:
        flow = self.flow
        placed = self.placed
        for node in flow.order[1:]:
            if self._is_exit(node):
                continue  # a return stands wherever it is wanted
            forward = sum(not flow.is_back_edge(source, node) for source in flow.predecessors[node])
            if forward > 1 or self._parent(node)[1]:
                placed.add(node)
        for loop in flow.loops.values():
            latch = self._latch(loop)
            while latch is not None and latch != loop.header:
                placed.add(latch)
                latch = self._parent(latch)[0]
        for node in flow.order:
            if node in placed:
                parent, is_outside = self._parent(node)
                found = self.followers.setdefault(parent, _Followers())
                (found.outside if is_outside else found.inside).append(node)
        for header, found in self.followers.items():
            if header in flow.loops:
                self._exit_first(flow.loops[header], found.outside)

    def _exit_first(self, loop: NaturalLoop, outside: list[int]) -> None:
        """Puts where the test of a loop leads first behind it, where the order of what follows allows."""
        exit_ = self._exit_of(loop)
        if exit_ is not None and exit_ in outside:
            earlier = outside[: outside.index(exit_)]
            if not any(self.flow.reaches(other, exit_) for other in earlier):
                outside.remove(exit_)
                outside.insert(0, exit_)

    def _is_exit(self, node: int) -> bool:
        return isinstance(self.endings[node], Leave) and self.is_empty(node)

    def _latch(self, loop: NaturalLoop) -> int | None:
        """The node whose fork at the bottom of a loop decides whether it goes on."""
        if len(loop.latches) != 1:
            return None
        (latch,) = loop.latches
        ending = self.endings[latch]
        if not isinstance(ending, Fork) or ending.then == ending.otherwise:
            return None
        exit_ = ending.otherwise if ending.then == loop.header else ending.then
        return None if exit_ in loop.nodes else latch

    def _top_test(self, loop: NaturalLoop) -> bool:
        """Whether the header decides if the loop goes on."""
        ending = self.endings[loop.header]
        if not isinstance(ending, Fork):
            return False
        return (ending.then in loop.nodes) != (ending.otherwise in loop.nodes)

    def _exit_of(self, loop: NaturalLoop) -> int | None:
        """Where the test of a loop leads when it ends."""
        latch = self._latch(loop)
        if latch is None and self._top_test(loop):
            latch = loop.header
        if latch is None:
            return None
        return next((target for target in targets_of(self.endings[latch]) if target not in loop.nodes), None)

    # ------------------------------------------------------------------ emission

    def _emit(self, node: int, place: _Place) -> list[Tree]:
        found = self.followers.get(node, _Followers())
        if node not in self.flow.loops:
            return self._followed(found.inside, place, lambda here: self._body(node, here))
        loop = self.flow.loops[node]
        return self._followed(found.outside, place, lambda here: self._loop(loop, found.inside, here))

    def _followed(
        self, followers: list[int], place: _Place, inner: Callable[[_Place], list[Tree]]
    ) -> list[Tree]:
        """`inner` with `followers` behind it in this order, each leaving the block around what is before."""
        frames = [Frame(follower) for follower in followers]
        places = [place]  # of each follower, last one first
        for frame in reversed(frames):
            places.append(places[-1].inside(frame, frame.after))
        content = inner(places.pop())
        for frame, follower in zip(frames, followers, strict=True):
            if frame.is_used:
                content = [Wrap(frame, content)]
            content = [*content, *self._emit(follower, places.pop())]
        return content

    def _loop(self, loop: NaturalLoop, followers: list[int], place: _Place) -> list[Tree]:
        frame = Frame(place.next_)
        header = loop.header
        latch = self._latch(loop)
        exit_ = self._exit_of(loop)
        leaves = exit_ is not None and self._arrives(exit_, place)
        if leaves and latch is not None:
            self.suppressed.add(latch)
            inside = place.inside(frame, None)
            body = self._followed(
                followers, _Place(_NOWHERE, inside.frames), lambda here: self._body(header, here)
            )
            ending = self.endings[latch]
            assert isinstance(ending, Fork)
            return [Repeat(header, frame, body, latch, ending.then == header)]
        again = Frame(header)
        inside = place.inside(frame, header).inside(again, header)
        if leaves and self._top_test(loop):
            ending = self.endings[header]
            assert isinstance(ending, Fork)
            stays_then = ending.then in loop.nodes
            on = ending.then if stays_then else ending.otherwise
            body = self._followed(followers, inside, lambda here: self._go(on, here))
            body = _wrapped(again, body)
            repeat: list[Tree] = [Repeat(header, frame, [*body, Code(header)], header, stays_then)]
            choice = Choice(header, repeat, []) if stays_then else Choice(header, [], repeat)
            return [Code(header), choice]
        body = self._followed(followers, inside, lambda here: self._body(header, here))
        return [Repeat(header, frame, _wrapped(again, body))]

    def _arrives(self, target: int, place: _Place) -> bool:
        """Whether falling out of `place` leads to `target`."""
        return place.next_ == target or (place.next_ is None and self._is_exit(target))

    def _body(self, node: int, place: _Place) -> list[Tree]:
        tree: list[Tree] = []
        while True:
            tree.append(Code(node))
            if node in self.suppressed:
                return tree
            match self.endings[node]:
                case Leave():
                    return [*tree, *([] if place.next_ is None else [Quit()])]
                case Goto(target=target):
                    if (
                        not self._is_inlined(node, target)
                        or target in self.followers
                        or target in self.flow.loops
                    ):
                        return [*tree, *self._go(target, place, node)]
                    node = target
                case Fork(then=then, otherwise=otherwise) if then == otherwise:
                    return [*tree, *self._go(then, place, node)]
                case Fork(then=then, otherwise=otherwise):
                    return [*tree, *self._choice(node, then, otherwise, place)]
                case Ways(targets=targets):
                    return [*tree, self._switching(node, targets, place)]

    def _choice(self, node: int, then: int, otherwise: int, place: _Place) -> list[Tree]:
        first, second = self._go(then, place, node), self._go(otherwise, place, node)
        if _leaves(first):
            return [Choice(node, first, []), *second]
        if _leaves(second):
            return [Choice(node, [], second), *first]
        return [Choice(node, first, second)]

    def _switching(self, node: int, targets: tuple[int, ...], place: _Place) -> Switching:
        frame = Frame(place.next_)
        inside = _Place(_NOWHERE, (*place.frames, frame))
        labels: dict[int, list[int]] = {}
        for label, target in enumerate(targets):
            labels.setdefault(target, []).append(label)
        cases = [(tuple(found), self._go(target, inside, node)) for target, found in labels.items()]
        return Switching(node, frame, cases)

    def _is_inlined(self, source: int, target: int) -> bool:
        """Whether `target` stands where it is jumped to, and nowhere else."""
        return (
            not self._is_exit(target)
            and target not in self.placed
            and not self.flow.is_back_edge(source, target)
        )

    def _go(self, target: int, place: _Place, source: int | None = None) -> list[Tree]:
        """To `target`: nothing where control falls there, else a jump, or the code itself."""
        if self._arrives(target, place):
            return []
        if self._is_exit(target):
            return [Code(target), Quit()]
        is_back = source is not None and self.flow.is_back_edge(source, target)
        if target not in self.placed and not is_back:
            return self._emit(target, place)
        for frame in reversed(place.frames):
            if frame.after == target:
                frame.is_used = True
                return [Jump(frame)]
        raise AssertionError(f"no block is followed by node {target}")


def _wrapped(frame: Frame, body: list[Tree]) -> list[Tree]:
    """`body` in a block where something leaves it."""
    return [Wrap(frame, body)] if frame.is_used else body


def _leaves(tree: list[Tree]) -> bool:
    """Whether control never falls out of the end."""
    return bool(tree) and isinstance(tree[-1], Jump | Quit)


# ---------------------------------------------------------------------------
# What the structure of a function is made of: how nodes end, and the tree that they become.


# How a node ends


class Goto(Struct, frozen=True):
    """On to one node."""

    target: int


class Fork(Struct, frozen=True):
    """One of two ways."""

    then: int
    otherwise: int


class Ways(Struct, frozen=True):
    """`targets[selector]`."""

    targets: tuple[int, ...]


class Leave(Struct, frozen=True):
    """Out of the function."""


Ending = Goto | Fork | Ways | Leave


def targets_of(ending: Ending) -> tuple[int, ...]:
    """Where control may go."""
    match ending:
        case Goto(target=target):
            return (target,)
        case Fork(then=then, otherwise=otherwise):
            return (then, otherwise)
        case Ways(targets=targets):
            return targets
        case Leave():
            return ()


# The tree


class Frame(Struct, eq=False):
    """What a `Jump` can leave: control then is at node `after` (None: at the end of the function)."""

    after: int | None
    is_used: bool = False


class Code(Struct):
    """The instructions of a node, its ending left aside."""

    node: int


class Choice(Struct):
    """The fork at the end of a node; `then` runs where its condition holds."""

    node: int
    then: list[Tree]
    otherwise: list[Tree]


class Switching(Struct):
    """The ways at the end of a node: selector values and what runs; every case ends by a jump."""

    node: int
    frame: Frame
    cases: list[tuple[tuple[int, ...], list[Tree]]]


class Repeat(Struct):
    """A loop. `test`: the node whose fork at the bottom decides; it goes on where `test_holds`; else endless.

    `header` is the node that it begins with.
    """

    header: int
    frame: Frame
    body: list[Tree]
    test: int | None = None
    test_holds: bool = True


class Wrap(Struct):
    """A stretch that jumps may leave."""

    frame: Frame
    body: list[Tree]


class Jump(Struct):
    """Out of `frame`."""

    frame: Frame


class Quit(Struct):
    """Out of the function."""


Tree = Code | Choice | Switching | Repeat | Wrap | Jump | Quit


# ---------------------------------------------------------------------------
# The control flow of a function as a graph: dominators and natural loops.


class IrreducibleError(Exception):
    """A loop with two entries: no nest of structured statements stands for it. `node` is one of them."""

    def __init__(self, node: int) -> None:
        super().__init__(f"a loop with several entries, one at node {node}")
        self.node = node


class NaturalLoop(Struct):
    """A loop: the nodes that reach a back edge to `header` without passing it, `header` included.

    `latches`: where the back edges come from.
    """

    header: int
    latches: list[int] = field(default_factory=list[int])
    nodes: set[int] = field(default_factory=set[int])


class ControlFlow:
    """What is known of a graph `successors[node]`; nodes that the entry does not reach are left out.

    `order` is a reverse postorder, `position` the place of each node in it; `dominator` the immediate
    dominator (of the entry itself); `loops` by header. Raises `IrreducibleError`.
    """

    def __init__(self, successors: list[tuple[int, ...]]) -> None:
        self.successors = successors
        self.order = _reverse_postorder(successors)
        self.position = {node: at for at, node in enumerate(self.order)}
        self.predecessors: dict[int, list[int]] = {node: [] for node in self.order}
        for node in self.order:
            for target in dict.fromkeys(successors[node]):
                self.predecessors[target].append(node)
        self.dominator = self._dominators()
        self.loops = self._loops()

    def dominates(self, above: int, below: int) -> bool:
        """Whether every path from the entry to `below` passes `above`."""
        while self.position[below] > self.position[above]:
            below = self.dominator[below]
        return above == below

    def is_back_edge(self, source: int, target: int) -> bool:
        """Whether an edge closes a loop."""
        return self.position[target] <= self.position[source]

    def reaches(self, source: int, target: int) -> bool:
        """Whether a path of forward edges leads from `source` to `target`."""
        seen: set[int] = set()
        stack = [source]
        while stack:
            node = stack.pop()
            if node == target:
                return True
            if node in seen or self.position[node] > self.position[target]:
                continue
            seen.add(node)
            stack += (next_ for next_ in self.successors[node] if not self.is_back_edge(node, next_))
        return False

    def _dominators(self) -> dict[int, int]:
        """Cooper, Harvey & Kennedy, A Simple, Fast Dominance Algorithm (2001)."""
        entry = self.order[0]
        found = {entry: entry}
        changed = True
        while changed:
            changed = False
            for node in self.order[1:]:
                known = [source for source in self.predecessors[node] if source in found]
                best = known[0]
                for other in known[1:]:
                    best = self._meet(found, best, other)
                if found.get(node) != best:
                    found[node] = best
                    changed = True
        return found

    def _meet(self, found: dict[int, int], a: int, b: int) -> int:
        while a != b:
            while self.position[a] > self.position[b]:
                a = found[a]
            while self.position[b] > self.position[a]:
                b = found[b]
        return a

    def _loops(self) -> dict[int, NaturalLoop]:
        loops: dict[int, NaturalLoop] = {}
        for node in self.order:
            for target in dict.fromkeys(self.successors[node]):
                if not self.is_back_edge(node, target):
                    continue
                if not self.dominates(target, node):
                    raise IrreducibleError(target)
                loops.setdefault(target, NaturalLoop(target)).latches.append(node)
        for loop in loops.values():
            loop.nodes = {loop.header}
            stack = list(loop.latches)
            while stack:
                node = stack.pop()
                if node not in loop.nodes:
                    loop.nodes.add(node)
                    stack += self.predecessors[node]
        return loops


def _reverse_postorder(successors: list[tuple[int, ...]]) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
