"""Loops that data end, and the counts of a launch if they ran more or fewer iterations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import If, Kernel, Loop, walk_statements
from wattslice.power.paths import paths, regions_below

TRIPS_SPREAD = 8.0
"""A loop that data end may run so many times more or fewer iterations than assumed, though at least one: the
assumed 8 may be 1 to 64. A convention; measured ones were 1.06 to 512 (docs/branches.md)."""


@dataclass(frozen=True, slots=True)
class Exit:
    """An arm (its region) that leaves a loop: the regions `inside` it, and those `behind` it."""

    arm: int
    inside: tuple[int, ...]
    behind: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TripRange:
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
        if known.trip_count is None:
            yield TripRange(inside, max(least, 1.0 / TRIPS_SPREAD), TRIPS_SPREAD)
        elif exits := tuple(_exits(kernel, stmt, never_taken)):
            yield TripRange(inside, least, 1.0, stmt.region, exits)


def _exits(kernel: Kernel, loop: Loop, never_taken: set[int]) -> Iterator[Exit]:
    for stmt in walk_statements(loop.body):
        for arm in (stmt.then, stmt.otherwise) if isinstance(stmt, If) else ():
            if arm is not None and arm.region in never_taken:
                others = (path for path in paths(kernel) if path.of_region == stmt.region)
                behind = (path.regions for path in others if path.first_region != arm.region)
                after = (*chain.from_iterable(behind), loop.step_region)
                yield Exit(arm.region, regions_below((arm,)), after)


def with_trips(profile: ExecutionProfile, loop: TripRange, factor: float) -> ExecutionProfile:
    """`profile` if the iterations of `loop` were `factor` times as many."""
    threads, warps = list(profile.thread_counts), list(profile.warp_counts)
    for region in loop.regions:
        threads[region] *= factor
        warps[region] *= factor
    return replace(profile, thread_counts=tuple(threads), warp_counts=tuple(warps))


def left_at_once(profile: ExecutionProfile, loop: TripRange) -> ExecutionProfile:
    """`profile` if the first iteration of `loop` always took an exit, each as often as the others."""
    fewest = with_trips(profile, loop, loop.low)
    threads, warps = list(fewest.thread_counts), list(fewest.warp_counts)
    for region in chain.from_iterable(one.behind for one in loop.exits):
        threads[region] = warps[region] = 0.0
    for region in chain.from_iterable(one.inside for one in loop.exits):
        threads[region] = profile.thread_counts[loop.loop] / len(loop.exits)
        warps[region] = profile.warp_counts[loop.loop] / len(loop.exits)
    return replace(profile, thread_counts=tuple(threads), warp_counts=tuple(warps))
