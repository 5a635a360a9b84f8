"""How long a warp alone takes: the instructions of its lowered kernel that wait for one another.

In each loop (and outside of all) the longest path through the graph of values, from barrier to barrier. The
copies of an unrolled loop run side by side but for what one iteration hands to the next. A warp goes through
its loops one after another. What runs under a condition counts as often as the warp runs it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.value_graph import LoopLevel, Shape, Value, chain


class Chain(Struct, frozen=True):
    """Instructions of one warp that wait for one another: `arithmetic` in those of a single fp32 operation,
    loads from `shared` memory and shuffles, loads from `far` memory (global, texture, local).
    """

    arithmetic: float = 0.0
    shared: float = 0.0
    far: float = 0.0

    def plus(self, other: Chain, times: float = 1.0) -> Chain:
        """This chain, and behind it `times` another one."""
        return Chain(
            self.arithmetic + times * other.arithmetic,
            self.shared + times * other.shared,
            self.far + times * other.far,
        )

    @property
    def rank(self) -> float:
        """About how long it is, in arithmetic instructions: which of two paths is the longer one."""
        return self.arithmetic + 6.0 * self.shared + 100.0 * self.far


NO_CHAIN = Chain()
_ARITHMETIC = {
    K.MUFU: 4.0,
    K.CONVERSION: 3.0,
    K.WIDE_CONVERSION: 4.0,
    K.LDC: 2.0,
    K.BRANCH: 2.0,
    K.HMMA: 4.0,
    **dict.fromkeys((K.DFMA, K.DADD, K.DMUL, K.DSETP), 2.0),
}
"""Latency relative to that of an fp32 operation: Jia et al. 2018 for Volta, recalled, rounded."""
_SHARED = frozenset({K.LDS, K.SHFL})
_FAR = frozenset({K.LDG, K.TEX, K.LDL, K.ATOM})
_SENT = frozenset({K.STG, K.STS, K.STL, K.BAR})
"""Nothing of the same warp waits for a store; barriers are counted by themselves."""


MOST_KNOWN = 16
"""Chains of one level that are kept, of kinds of blocks and launches that differ in how often regions run."""

_Own = dict[Value, Chain]
"""What each value of a level adds to a path through it."""
_Weights = dict[Value, tuple[Chain, tuple[int, float]] | None]
"""Of each value of a level its chain, and what says how often it runs: region and share; None: no chain."""


class _Part(Struct, frozen=True):
    """What the chain of one level needs besides how often regions run.

    `inside`: the values from its first to its last one. `side_by_side`: copies of the loops around it that do
    not wait for one another. `known`: body and iteration, by how often each of its regions runs in a visit.
    """

    level: LoopLevel | None
    members: list[Value]
    inside: list[Value]
    barriers: list[int]
    weights: _Weights
    often: list[tuple[int, float]]
    copies: float
    side_by_side: float
    known: dict[tuple[float, ...], tuple[Chain, Chain]]


class Chains:
    """The chains of a lowered kernel: what does not depend on how often regions run is found once."""

    def __init__(self, values: Sequence[Value], roots: Sequence[Value]) -> None:
        self._parts = list(_parts(values, roots))

    def of_warp(self, runs: Sequence[float]) -> Chain:
        """The chain of a whole warp, on the mean. `runs`: how often a warp runs each region."""
        found = NO_CHAIN
        for part in self._parts:
            visits = 1.0 if part.level is None else runs[part.level.body_region]
            if not visits:
                continue
            body, carried = _paths(part, runs, visits)
            rounds = visits / part.copies
            found = found.plus(body, rounds / part.side_by_side)
            if part.copies > 1.0:
                found = found.plus(carried, (visits - rounds) / part.side_by_side)
        return found


def _paths(part: _Part, runs: Sequence[float], visits: float) -> tuple[Chain, Chain]:
    """The chain of a body, and of what each of its copies hands to the next."""
    often = [min(1.0, runs[region] * share / visits) for region, share in part.often]
    key = tuple(often)
    paths = part.known.get(key)
    if paths is None:
        of = dict(zip(part.often, often, strict=True))
        own = {
            value: NO_CHAIN if weight is None else NO_CHAIN.plus(weight[0], of[weight[1]])
            for value, weight in part.weights.items()
        }
        carried = _carried(part.level, part.members, own) if part.copies > 1.0 else NO_CHAIN
        if len(part.known) >= MOST_KNOWN:
            part.known.clear()
        paths = part.known[key] = _body(part.inside, own, part.barriers), carried
    return paths


def _parts(values: Sequence[Value], roots: Sequence[Value]) -> Iterator[_Part]:
    """Each level with its values, in the order of the text."""
    end = max((root.birth for root in roots), default=0)
    ordered = sorted((value for value in values if value.birth <= end), key=_birth)
    barriers: dict[LoopLevel | None, list[int]] = {}
    levels: dict[LoopLevel | None, list[Value]] = {}
    for value in ordered:
        level = value.place.level
        levels.setdefault(level, []).append(value)
        if any(kind is K.BAR for kind, _ in value.cost):
            barriers.setdefault(level, []).append(value.birth)
    waiting = {around for level in barriers for around in chain(level)}  # no copy overtakes another one
    awaited = {one for value in ordered for one in value.inputs}
    for level, members in levels.items():
        weights = {value: _weight(value, is_awaited=value in awaited) for value in members}
        side_by_side = 1.0
        for outer in _unrolled_around(level):
            if outer not in waiting and not _feeds(outer, levels.get(outer, ()), ordered, weights):
                side_by_side *= outer.copies
        first, last = (bisect_left(ordered, at.birth, key=_birth) for at in (members[0], members[-1]))
        yield _Part(
            level,
            members,
            ordered[first : last + 1],
            barriers.get(level, []),
            weights,
            list(dict.fromkeys(weight[1] for weight in weights.values() if weight)),
            1.0 if level is None or level in waiting else max(1.0, level.copies),
            side_by_side,
            {},
        )


def _unrolled_around(level: LoopLevel | None) -> Iterator[LoopLevel]:
    """The loops around a fully unrolled one whose copies hold copies of it."""
    while level is not None and level.is_unrolled and level.parent is not None:
        level = level.parent
        if level.is_unrolled:
            yield level


def _heads(level: LoopLevel | None, members: Sequence[Value]) -> Iterator[tuple[Value, list[Value]]]:
    """What an iteration begins with, and what the one before hands to it."""
    for head in members:
        handed = [one for one in head.inputs if one.birth > head.birth and one.shape is not Shape.CONSTANT]
        if handed and (level is None or head not in level.separate):
            yield head, handed


def _feeds(outer: LoopLevel, members: Sequence[Value], ordered: Sequence[Value], weights: _Weights) -> bool:
    """Whether something of `weights` waits for what an iteration of `outer` hands to the next."""
    reached = {head for head, _ in _heads(outer, members)}
    if not reached:
        return False
    for value in ordered[bisect_left(ordered, members[0].birth, key=_birth) :]:
        if any(one in reached and one.birth < value.birth for one in value.inputs):
            reached.add(value)
            if weights.get(value) is not None:
                return True
    return False


def _birth(value: Value) -> int:
    return value.birth


def _weight(value: Value, *, is_awaited: bool) -> tuple[Chain, tuple[int, float]] | None:
    """What a value adds to a path through its loop body each time it runs; an atomic whose result nobody
    needs is sent off.
    """
    if not value.cost or (not is_awaited and any(kind is K.ATOM for kind, _ in value.cost)):
        return None
    arithmetic = shared = far = 0.0
    for kind, number in value.cost:
        if kind in _FAR:
            far += 1.0  # the parts of a wide load go side by side
        elif kind in _SHARED:
            shared += 1.0
        elif kind not in _SENT:
            arithmetic += number * _ARITHMETIC.get(kind, 1.0)
    return Chain(arithmetic, shared, far), (value.place.region, min(1.0, value.place.scale))


def _body(ordered: Sequence[Value], own: _Own, barriers: list[int]) -> Chain:
    """The longest path through a body, from barrier to barrier, one after another.

    `ordered`: the values from the first of `own` to the last, those of loops inside among them.
    """
    nothing = (0.0, NO_CHAIN)
    paths: dict[Value, tuple[float, Chain]] = {}  # with their ranks; those of no length are left out
    longest: dict[int, tuple[float, Chain]] = {}
    for value in ordered:
        birth = value.birth
        segment = bisect_right(barriers, birth) if barriers else 0
        begun = barriers[segment - 1] if segment else -1
        start = nothing
        for one in value.inputs:
            path = paths.get(one)
            if path is not None and path[0] > start[0] and begun <= one.birth < birth:
                start = path
        cost = own.get(value)
        if cost is not None:
            path = start[1].plus(cost)
            start = (path.rank, path)
            if start[0] > longest.get(segment, nothing)[0]:
                longest[segment] = start
        if start[0]:
            paths[value] = start
    total = NO_CHAIN
    for _, path in longest.values():
        total = total.plus(path)
    return total


def _carried(level: LoopLevel | None, members: Sequence[Value], own: _Own) -> Chain:
    """The longest path from what an iteration begins with to what it hands to the next."""
    longest = NO_CHAIN
    for head, handed in _heads(level, members):
        paths = {head: own[head]}
        for value in members:
            if value.birth > head.birth:
                before = [paths[one] for one in value.inputs if one in paths]
                if before:
                    paths[value] = max(before, key=lambda path: path.rank).plus(own[value])
        for one in handed:
            path = paths.get(one, NO_CHAIN)
            if path.rank > longest.rank:
                longest = path
    return longest
