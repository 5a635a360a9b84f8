"""How long a warp alone takes: the instructions of its lowered kernel that wait for one another.

In each loop (and outside of all) the longest path through the graph of values, from barrier to barrier. The
copies of an unrolled loop run side by side but for what one iteration hands to the next. A warp goes through
its loops one after another. What runs under a condition counts as often as the warp runs it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct

from wattslice.workload.instructions.kinds import Cost
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.value_graph import LoopLevel, Shape, Value


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


def warp_chain(values: Sequence[Value], roots: Sequence[Value], runs: Sequence[float]) -> Chain:
    """The chain of a whole warp, on the mean. `runs`: how often a warp runs each region."""
    end = max((root.birth for root in roots), default=0)
    ordered = sorted((value for value in values if value.birth <= end), key=_birth)
    barriers: dict[LoopLevel | None, list[int]] = {}
    levels: dict[LoopLevel | None, list[Value]] = {}
    for value in ordered:
        level = value.place.level
        levels.setdefault(level, []).append(value)
        if any(kind is K.BAR for kind, _ in value.cost):
            barriers.setdefault(level, []).append(value.birth)
    waiting = {around for level in barriers for around in _around(level)}  # no copy overtakes another one
    awaited = {one for value in ordered for one in value.inputs}
    found = NO_CHAIN
    for level, members in levels.items():
        visits = 1.0 if level is None else runs[level.body_region]
        if not visits:
            continue
        own = {value: _cost(value, runs, visits, is_awaited=value in awaited) for value in members}
        copies = 1.0 if level is None or level in waiting else max(1.0, level.copies)
        side_by_side = 1.0
        for outer in _unrolled_around(level):
            if outer not in waiting and not _feeds(outer, levels.get(outer, ()), ordered, own):
                side_by_side *= outer.copies
        rounds = visits / copies
        first, last = (bisect_left(ordered, at.birth, key=_birth) for at in (members[0], members[-1]))
        body = _body(ordered[first : last + 1], own, barriers.get(level, []))
        found = found.plus(body, rounds / side_by_side)
        if copies > 1.0:
            found = found.plus(_carried(level, members, own), (visits - rounds) / side_by_side)
    return found


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


def _feeds(
    outer: LoopLevel, members: Sequence[Value], ordered: Sequence[Value], own: dict[Value, Chain]
) -> bool:
    """Whether something of `own` waits for what an iteration of `outer` hands to the next."""
    reached = {head for head, _ in _heads(outer, members)}
    if not reached:
        return False
    for value in ordered[bisect_left(ordered, members[0].birth, key=_birth) :]:
        if any(one in reached and one.birth < value.birth for one in value.inputs):
            reached.add(value)
            if own.get(value, NO_CHAIN) is not NO_CHAIN:
                return True
    return False


def _birth(value: Value) -> int:
    return value.birth


def _around(level: LoopLevel | None) -> Iterator[LoopLevel]:
    while level is not None:
        yield level
        level = level.parent


def _cost(value: Value, runs: Sequence[float], visits: float, *, is_awaited: bool) -> Chain:
    """What a value adds to a path through its loop body; an atomic whose result nobody needs is sent off."""
    if not value.cost or (not is_awaited and any(kind is K.ATOM for kind, _ in value.cost)):
        return NO_CHAIN
    often = min(1.0, runs[value.place.region] * min(1.0, value.place.scale) / visits)
    return _length(value.cost, often)


def _length(cost: Cost, often: float) -> Chain:
    arithmetic = shared = far = 0.0
    for kind, number in cost:
        if kind in _FAR:
            far += 1.0  # the parts of a wide load go side by side
        elif kind in _SHARED:
            shared += 1.0
        elif kind not in _SENT:
            arithmetic += number * _ARITHMETIC.get(kind, 1.0)
    return Chain(often * arithmetic, often * shared, often * far)


def _body(ordered: Sequence[Value], own: dict[Value, Chain], barriers: list[int]) -> Chain:
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


def _carried(level: LoopLevel | None, members: Sequence[Value], own: dict[Value, Chain]) -> Chain:
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
