"""Loops that data end, and the counts of a launch if they ran more or fewer iterations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from wattslice.execution import ExecutionProfile, ProbabilitySource
from wattslice.ir import If, Kernel, Loop, walk_statements
from wattslice.paths import regions_below

TRIPS_SPREAD = 8.0
"""A loop that data end may run so many times more or fewer iterations than assumed, though at least one: the
assumed 8 may be 1 to 64. A convention; measured ones were 1.06 to 512 (docs/branches.md)."""


@dataclass(frozen=True, slots=True)
class TripRange:
    """The `regions` inside one loop, and between which factors of the assumed its iterations may be."""

    regions: tuple[int, ...]
    low: float
    high: float


def trip_ranges(kernel: Kernel, profile: ExecutionProfile) -> tuple[TripRange, ...]:
    """The loops whose iterations nobody knows: those that data end, and those that data may leave early.

    Of the latter all iterations were counted; they may run as few as one. What a profile or thread indices
    tell has no range.
    """
    return tuple(_ranges(kernel, profile))


def _ranges(kernel: Kernel, profile: ExecutionProfile) -> Iterator[TripRange]:
    trips = {loop.region: loop for loop in profile.loops}
    never_left = {
        arm.region
        for arm in profile.arms
        if arm.source is ProbabilitySource.DEFAULT and arm.probability == 0.0
    }
    for stmt in walk_statements(kernel.body):
        known = trips.get(stmt.region) if isinstance(stmt, Loop) else None
        if not isinstance(stmt, Loop) or known is None or known.assumed <= 0.0:
            continue
        least = min(1.0, 1.0 / known.assumed)
        inside = tuple(region for region in regions_below((stmt,)) if region != stmt.region)
        if known.trip_count is None:
            yield TripRange(inside, max(least, 1.0 / TRIPS_SPREAD), TRIPS_SPREAD)
        elif least < 1.0 and any(
            isinstance(inner, If) and inner.then.region in never_left for inner in walk_statements(stmt.body)
        ):
            yield TripRange(inside, least, 1.0)


def with_trips(profile: ExecutionProfile, loop: TripRange, factor: float) -> ExecutionProfile:
    """`profile` if the iterations of `loop` were `factor` times as many."""
    threads, warps = list(profile.thread_counts), list(profile.warp_counts)
    for region in loop.regions:
        threads[region] *= factor
        warps[region] *= factor
    return replace(profile, thread_counts=tuple(threads), warp_counts=tuple(warps))
