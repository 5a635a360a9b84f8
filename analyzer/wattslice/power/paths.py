"""Counts of a launch if its branches went other ways, or its loops ran other iterations.

BSPM, BDPM and the intervals of probabilities ask for them.

A kernel is counted once, by expectation: each arm with its probability. Everything here multiplies the counts
of what stands in an arm (and, behind an arm that leaves, of what follows) and leaves the rest alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.profile import KNOWN_TO_LANES, BranchArm, ExecutionProfile
from wattslice.counting.sampling import WARP_SIZE
from wattslice.ir import (
    If,
    Kernel,
    Logical,
    Loop,
    Select,
    Stmt,
    Switch,
    directly_below,
    nested_statements,
    never_falls_through,
    statement_expressions,
    walk_expressions,
    walk_statements,
)


class Path(Struct, frozen=True):
    """What runs when a branch goes one way: the regions of an arm, or of what follows one that leaves.

    `arm`: the region of the arm; `of_region`: the branch. `negated`: it runs when the arm is *not* taken (an
    else-block, or what follows). `first_region`: of what it begins with, so that its counts are known.
    `runs`: its regions, as pieces (from, before) of `Paths.order`; nearly always one.
    """

    arm: int
    of_region: int
    negated: bool
    first_region: int
    runs: tuple[tuple[int, int], ...]


class Paths(Struct, frozen=True):
    """Every path of every `if` and `switch` of a kernel, inlined functions included, outer ones first.

    `order`: the regions of the kernel in the order of its text, in which those of a path stand together:
    what early returns leave behind would else be listed for each of them.
    """

    entries: tuple[Path, ...]
    order: tuple[int, ...]

    def regions(self, path: Path) -> Iterator[int]:
        """The regions of a path."""
        return chain.from_iterable(self.order[start:stop] for start, stop in path.runs)

    def sums(self, values: Sequence[float]) -> Callable[[Iterable[Path]], float]:
        """What the regions of paths have of `values` (one a region), each region once: as `fsum`."""
        ratios = [values[region].as_integer_ratio() for region in self.order]
        unit = max((below for _, below in ratios), default=1)  # powers of two
        until = (0, *accumulate(above * (unit // below) for above, below in ratios))

        def total(found: Iterable[Path]) -> float:
            whole = done = 0
            for start, stop in sorted(run for path in found for run in path.runs):
                if stop > done:
                    whole += until[stop] - until[max(start, done)]
                    done = stop
            return whole / unit

        return total


def arms_of_data(profile: ExecutionProfile) -> tuple[BranchArm, ...]:
    """The arms whose probability only data know, estimated or profiled; thread indices decide the others."""
    return tuple(arm for arm in profile.arms if arm.source not in KNOWN_TO_LANES)


@lru_cache(maxsize=4)
def paths(kernel: Kernel) -> Paths:
    """The paths of `kernel`."""
    nodes = tuple(walk_statements(kernel.body))
    below = [directly_below(node) for node in nodes]
    order: dict[int, int] = {}  # regions, and where they stand
    known = [0]  # how many there are before each statement
    first: list[int] = []  # of those in the statement itself, the one that stands first
    for node in nodes:
        own = [order.setdefault(region, len(order)) for region in _own_regions(node)]
        first.append(min(own))
        known.append(len(order))
    firsts = np.array(first)

    def path(arm: int, of_region: int, negated: bool, start: int, stop: int) -> Path:
        begin, end = known[start], known[stop]
        runs = ((begin, end),)
        if firsts[start:stop].min() < begin:  # regions that stand in the text before, too
            places = sorted({order[region] for node in nodes[start:stop] for region in _own_regions(node)})
            runs = tuple((place, place + 1) for place in places)
        return Path(arm, of_region, negated, nodes[start].region, runs)

    ends = _ends([len(entry) for entry in below])
    found: list[Path] = []
    for at, node in enumerate(nodes):
        if not below[at]:
            continue
        inner: list[int] = [at + 1]  # where what stands directly below it begins
        while ends[inner[-1]] < ends[at]:
            inner.append(ends[inner[-1]])
        inner = inner[len(inner) - len(nested_statements(node)) :]
        if isinstance(node, If):
            then = node.then.region
            found.extend(path(then, node.region, arm != inner[0], arm, ends[arm]) for arm in inner)
        elif isinstance(node, Switch):
            found.extend(path(nodes[case].region, node.region, False, case, ends[case]) for case in inner)
        for one, following in pairwise(inner):
            leaves = nodes[one]
            if isinstance(leaves, If) and leaves.otherwise is None and never_falls_through(leaves.then):
                found.append(path(leaves.then.region, leaves.region, True, following, ends[at]))
    return Paths(tuple(found), tuple(order))


def _ends(children: Sequence[int]) -> list[int]:
    """Where each of the nodes of a tree in preorder ends, from the number of its children."""
    ends = [0] * len(children)
    open_roots: list[int] = []
    for at in reversed(range(len(children))):
        ends[at] = at + 1
        for _ in range(children[at]):
            ends[at] = open_roots.pop()
        open_roots.append(ends[at])
    return ends


def as_if_taken(kernel: Kernel, profile: ExecutionProfile) -> ExecutionProfile:
    """`profile` with every path that data decide as often as its branch: branches leave no mark.

    So the paper counts for BSPM: Algorithm 1 multiplies statements by loops alone. What thread indices decide
    is known and stays; so does what was counted as never executed.
    """
    threads, warps = profile.thread_counts, profile.warp_counts
    decided = {arm.region for arm in arms_of_data(profile)}

    def factors(path: Path) -> tuple[float, float]:
        if path.arm not in decided or not threads[path.first_region]:
            return 1.0, 1.0
        here, branch = path.first_region, path.of_region
        # What is as improbable as 2**-64 leaves no trace in the share of warps.
        by_warp = warps[branch] / warps[here] if warps[here] else 1.0
        return threads[branch] / threads[here], by_warp

    return _scaled(kernel, profile, factors)


def with_probability(
    kernel: Kernel, profile: ExecutionProfile, arm: BranchArm, value: float
) -> ExecutionProfile:
    """`profile` if a visit of its branch took `arm` with probability `value` in place of `arm.probability`.

    `arm`: a then-arm or a case of a `switch`. One that is certain, or whose branch is not there, changes
    nothing: what was never counted cannot be raised.
    """
    branch = next((path.of_region for path in paths(kernel).entries if path.arm == arm.region), None)
    if branch is None or not 0.0 < arm.probability < 1.0:
        return profile
    known = arm.probability
    issues = profile.warp_counts[branch]
    lanes = _deciding_lanes(known, profile.warp_counts[arm.region] / issues if issues else 1.0)

    def factors(path: Path) -> tuple[float, float]:
        if path.of_region != branch:
            return 1.0, 1.0
        taken = path.arm == arm.region and not path.negated
        before, after = (known, value) if taken else (1.0 - known, 1.0 - value)
        return after / before, _issued(after, lanes) / _issued(before, lanes)

    others = {path.first_region for path in paths(kernel).entries if path.of_region == branch} - {arm.region}
    share = (1.0 - value) / (1.0 - known)
    moved = tuple(
        replace(one, probability=value)
        if one.region == arm.region
        else replace(one, probability=min(1.0, one.probability * share))
        if one.region in others
        else one
        for one in profile.arms
    )
    return replace(_scaled(kernel, profile, factors), arms=moved)


def _deciding_lanes(probability: float, issued: float) -> float:
    """How many lanes of a warp decide each by itself: 1 where all do together, fewer than it has where some
    are not there or decide like others. A warp issues an arm with the chance `issued` that a lane takes with
    `probability`.
    """
    if issued >= 1.0:
        return WARP_SIZE
    return min(WARP_SIZE, max(1.0, math.log1p(-issued) / math.log1p(-probability)))


def _issued(probability: float, lanes: float) -> float:
    """How probably some of the lanes takes an arm that each takes with `probability`."""
    return 1.0 - (1.0 - probability) ** lanes


def _scaled(
    kernel: Kernel, profile: ExecutionProfile, factors: Callable[[Path], tuple[float, float]]
) -> ExecutionProfile:
    found = paths(kernel)
    moved = [(path, by) for path in found.entries if (by := factors(path)) != (1.0, 1.0)]
    if not moved:
        return profile
    order = list(found.order)
    threads, warps = np.array(profile.thread_counts), np.array(profile.warp_counts)
    by_text, warps_by_text = threads[order], warps[order]
    for path, (by_thread, by_warp) in moved:
        for start, stop in path.runs:
            piece = by_text[start:stop]
            piece *= by_thread
            # A warp issues no less often than its lanes run on average.
            warps_by_text[start:stop] = np.maximum(warps_by_text[start:stop] * by_warp, piece)
    threads[order], warps[order] = by_text, warps_by_text
    return profile.with_counts(threads.tolist(), warps.tolist())


def regions_below(statements: tuple[Stmt, ...]) -> tuple[int, ...]:
    """Every region at any depth below these statements."""
    found: dict[int, None] = {}
    for stmt in statements:
        for inner in walk_statements(stmt):
            found |= _own_regions(inner)
    return tuple(found)


@lru_cache(maxsize=1 << 14)
def _own_regions(stmt: Stmt) -> dict[int, None]:
    """The regions of a statement and of its own expressions."""
    found: dict[int, None] = {stmt.region: None}
    if isinstance(stmt, Loop):
        found |= dict.fromkeys((stmt.test_region, stmt.step_region))
    for root in statement_expressions(stmt):
        for expr in walk_expressions(root):
            if isinstance(expr, Logical):
                found[expr.right_region] = None
            elif isinstance(expr, Select):
                found |= dict.fromkeys((expr.then_region, expr.otherwise_region))
    return found


TRIPS_SPREAD = 8.0
"""A loop that data end may run so many times more or fewer iterations than assumed, though at least one: the
assumed 8 may be 1 to 64. A convention; measured ones were 1.06 to 512 (docs/branches.md)."""


class Exit(Struct, frozen=True):
    """An arm (its region) that leaves a loop: the regions `inside` it, and those `behind` it."""

    arm: int
    inside: tuple[int, ...]
    behind: tuple[int, ...]


class TripRange(Struct, frozen=True):
    """The `regions` inside one loop, and between which factors of the assumed its iterations may be.

    `loop`: its own region. `exits`: arms that leave it, assumed never to be taken.
    """

    regions: tuple[int, ...]
    low: float
    high: float
    loop: int = 0
    exits: tuple[Exit, ...] = ()


def trip_ranges(kernel: Kernel, profile: ExecutionProfile) -> tuple[TripRange, ...]:
    """The loops whose iterations nobody knows: those that data end, and those that data may leave early.

    Of the latter all iterations were counted; they may run as few as one. What a profile or thread indices
    tell has no range.
    """
    return tuple(_ranges(kernel, profile))


def _ranges(kernel: Kernel, profile: ExecutionProfile) -> Iterator[TripRange]:
    trips = {loop.region: loop for loop in profile.loops}
    never_taken = {arm.region for arm in profile.arms if arm.is_open and arm.probability == 0.0}
    for stmt in walk_statements(kernel.body):
        known = trips.get(stmt.region) if isinstance(stmt, Loop) else None
        if not isinstance(stmt, Loop) or known is None or known.assumed <= 0.0:
            continue
        least = min(1.0, 1.0 / known.assumed)
        once = {stmt.region, *chain.from_iterable(regions_below((init,)) for init in stmt.init)}
        inside = tuple(region for region in regions_below((stmt,)) if region not in once)
        if exits := tuple(_exits(kernel, stmt, never_taken)):
            yield TripRange(inside, least, 1.0, stmt.region, exits)
        elif known.trip_count is None:
            most = 1.0 if known.is_most else TRIPS_SPREAD
            yield TripRange(inside, max(least, 1.0 / TRIPS_SPREAD), most)


def _exits(kernel: Kernel, loop: Loop, never_taken: set[int]) -> Iterator[Exit]:
    found = paths(kernel)
    for stmt in walk_statements(loop.body):
        for arm in (stmt.then, stmt.otherwise) if isinstance(stmt, If) else ():
            if arm is not None and arm.region in never_taken:
                others = (path for path in found.entries if path.of_region == stmt.region)
                behind = (found.regions(path) for path in others if path.first_region != arm.region)
                after = (*chain.from_iterable(behind), loop.step_region)
                yield Exit(arm.region, regions_below((arm,)), after)


def with_trips(profile: ExecutionProfile, loop: TripRange, factor: float) -> ExecutionProfile:
    """`profile` if the iterations of `loop` were `factor` times as many."""
    threads, warps = list(profile.thread_counts), list(profile.warp_counts)
    for region in loop.regions:
        threads[region] *= factor
        warps[region] *= factor
    return profile.with_counts(threads, warps)


def left_at_once(profile: ExecutionProfile, loop: TripRange) -> ExecutionProfile:
    """`profile` if the first iteration of `loop` always took an exit, each as often as the others."""
    fewest = with_trips(profile, loop, loop.low)
    threads, warps = list(fewest.thread_counts), list(fewest.warp_counts)
    for region in chain.from_iterable(one.behind for one in loop.exits):
        threads[region] = warps[region] = 0.0
    for region in chain.from_iterable(one.inside for one in loop.exits):
        threads[region] = profile.thread_counts[loop.loop] / len(loop.exits)
        warps[region] = profile.warp_counts[loop.loop] / len(loop.exits)
    return profile.with_counts(threads, warps)
