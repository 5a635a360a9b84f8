"""What the arms of branches draw, and how far a kernel's watts move when nobody knows how often they run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import ArmAnalysis
from wattslice.counting.profile import BranchArm, ExecutionProfile
from wattslice.ir import If, Kernel, never_falls_through, walk_statements
from wattslice.power.answer import PowerAnswer
from wattslice.power.methods import Method, MethodAnswers
from wattslice.power.paths import (
    Path,
    TripRange,
    left_at_once,
    paths,
    trip_ranges,
    with_probability,
    with_trips,
)
from wattslice.power.slices import wanted_watts
from wattslice_models.contract import may_reach

MOST_SWUNG = 8
"""Branches whose interval is carried into the watts: those whose paths cost most."""
LEAST_SHARE = 0.005
"""Of what a kernel's operations draw: branches whose paths cost less cannot move its watts by much."""


class Swing(Struct, frozen=True):
    """The least and the most that the kernel draws while `arm` moves over the interval of its probability."""

    arm: BranchArm
    low_w: float
    high_w: float


def swings(
    kernel: Kernel,
    profile: ExecutionProfile,
    energies: Sequence[float],
    power_w: float,
    predict: Callable[[ExecutionProfile], float | None],
) -> tuple[Swing, ...]:
    """How far each estimated branch, alone, moves the kernel's `power_w`; largest paths first.

    `predict`: watts of the kernel for other counts. `energies`: what each region draws, in any unit.
    """
    total = math.fsum(energies)
    if total <= 0:
        return ()
    of_branch: dict[int, list[Path]] = {}
    branch_of: dict[int, int] = {}
    for path in paths(kernel).entries:
        of_branch.setdefault(path.of_region, []).append(path)
        branch_of.setdefault(path.arm, path.of_region)
    moving = [arm for arm in profile.arms if arm.arm != "else" and arm.region in branch_of and _can_move(arm)]
    energy_of = paths(kernel).sums(energies)
    energy = {one: energy_of(of_branch[one]) for one in {branch_of[arm.region] for arm in moving}}
    shares = {arm: energy[branch_of[arm.region]] / total for arm in moving}
    largest = sorted(shares, key=lambda arm: -shares[arm])[:MOST_SWUNG]
    found: list[Swing] = []
    for arm in largest:
        if shares[arm] >= LEAST_SHARE:
            ends = (predict(with_probability(kernel, profile, arm, end)) for end in arm.interval)
            watts = (power_w, *(end for end in ends if end is not None))
            found.append(Swing(arm, min(watts), max(watts)))
    return tuple(found)


def _can_move(arm: BranchArm) -> bool:
    """Whether counts for another probability follow from those at hand. Exits never taken: `trip_swings`."""
    low, high = arm.interval
    return low < high and 0.0 < arm.probability < 1.0


def trip_swings(
    kernel: Kernel,
    profile: ExecutionProfile,
    energies: Sequence[float],
    power_w: float,
    predict: Callable[[ExecutionProfile], float | None],
) -> tuple[tuple[TripRange, float, float], ...]:
    """The least and the most watts for each loop whose iterations nobody knows, alone; arguments as above."""
    total = math.fsum(energies)
    if total <= 0:
        return ()
    loops = {
        one: math.fsum(energies[region] for region in one.regions) for one in trip_ranges(kernel, profile)
    }
    found: list[tuple[TripRange, float, float]] = []
    for loop in sorted(loops, key=lambda one: -loops[one])[:MOST_SWUNG]:
        if loops[loop] >= LEAST_SHARE * total:
            moved = [with_trips(profile, loop, factor) for factor in {loop.low, loop.high} - {1.0}]
            if loop.exits:
                moved.append(left_at_once(profile, loop))
            watts = (power_w, *(end for end in map(predict, moved) if end is not None))
            found.append((loop, min(watts), max(watts)))
    return tuple(found)


def with_swings(
    answers: MethodAnswers, method: Method, energies: Sequence[float]
) -> tuple[PowerAnswer, tuple[Swing, ...]]:
    """The answer by `method`, its interval widened by what is not known of branches and loops; the branches.

    The model's error, every branch and every loop are taken to be independent: deviations to one side add as
    squares.
    """
    found = answers.by(method)
    watts, limit_w = found.watts, answers.gpu.power_limit_w
    if watts.power_w is None:
        return found, ()
    known = (answers.launch.kernel, answers.expected, energies, watts.power_w)

    def predict(counts: ExecutionProfile) -> float | None:
        return answers.power_w(method, counts)

    def unmoved(_: ExecutionProfile) -> float | None:
        return watts.power_w

    swung = swings(*known, unmoved if method is Method.BSPM else predict)  # to BSPM every arm is taken
    loops = trip_swings(*known, predict)
    ends = (*((swing.low_w, swing.high_w) for swing in swung), *((low, high) for _, low, high in loops))
    if not ends:
        return found, ()
    if (wanted := wanted_watts(watts)) is not None:
        power_w = watts.power_w  # what swings end at is no less than is wanted there where it lies below
        down = math.fsum((wanted.power_w - low) ** 2 for low, _ in ends if low < power_w)
        up = math.fsum((high - power_w) ** 2 for _, high in ends)
        wanted = replace(
            wanted,
            low_w=max(0.0, wanted.power_w - math.sqrt((wanted.power_w - wanted.low_w) ** 2 + down)),
            high_w=wanted.power_w + math.sqrt((wanted.high_w - wanted.power_w) ** 2 + up),
        )
        reaches = found.may_hit_power_limit
        if limit_w is not None:
            reaches = reaches or may_reach(limit_w, wanted.power_w, wanted.high_w)
        low_w, high_w = wanted.shown
        watts = replace(watts, power_low_w=low_w, power_high_w=high_w, wanted=wanted)
        found = replace(found, watts=watts, may_hit_power_limit=reaches)
    return found, (*swung, *_exits(answers.expected, loops))


def _exits(profile: ExecutionProfile, loops: Sequence[tuple[TripRange, float, float]]) -> Iterator[Swing]:
    """What each exit assumed never to be taken does to the watts: what leaving its loops at once does."""
    for arm in profile.arms:
        ends = [(low, high) for loop, low, high in loops if any(one.arm == arm.region for one in loop.exits)]
        if ends:
            yield Swing(arm, min(low for low, _ in ends), max(high for _, high in ends))


def arm_analyses(
    kernel: Kernel,
    profile: ExecutionProfile,
    energies: Sequence[float],
    operations_w: float | None,
    found: Sequence[Swing],
) -> tuple[ArmAnalysis, ...]:
    """Every arm of `profile`, with its part of `operations_w`, what all operations draw (None: unknown)."""
    total = math.fsum(energies)
    found_paths = paths(kernel).entries
    branch_of = {path.first_region: path.arm for path in found_paths}  # an else-arm goes with its then-arm
    visits = {path.first_region: profile.thread_counts[path.of_region] for path in found_paths}
    path_of = {path.first_region: path for path in reversed(found_paths)}
    energy_of = paths(kernel).sums(energies)
    leaving = _leaving(kernel)
    by_region = {swing.arm.region: swing for swing in found}

    def analysis(arm: BranchArm) -> ArmAnalysis:
        share = None
        if total > 0:
            share = energy_of((path_of[arm.region],) if arm.region in path_of else ()) / total
        swing = by_region.get(branch_of.get(arm.region, arm.region))
        low, high = arm.interval
        return ArmAnalysis(
            line=arm.line,
            arm=arm.arm,
            probability=arm.probability,
            probability_low=low,
            probability_high=high,
            source=arm.source,
            power_w=None if share is None or operations_w is None else share * operations_w,
            share_of_power=None if operations_w is None else share,
            kernel_low_w=None if swing is None else swing.low_w,
            kernel_high_w=None if swing is None else swing.high_w,
            file=arm.file,
            column=arm.column,
            visits=visits.get(arm.region, 0.0),
            leaves=arm.region in leaving,
        )

    return tuple(analysis(arm) for arm in profile.arms)


def _leaving(kernel: Kernel) -> frozenset[int]:
    """The arms of `if` that end in a break, return or continue."""
    return frozenset(
        arm.region
        for stmt in walk_statements(kernel.body)
        for arm in ((stmt.then, stmt.otherwise) if isinstance(stmt, If) else ())
        if arm is not None and never_falls_through(arm)
    )
