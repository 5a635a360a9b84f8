"""Counting one launch: from a kernel and its geometry to an execution profile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from wattslice import ir
from wattslice.branch_profile.making import arm_name
from wattslice.counting.loops import ALLOWANCE
from wattslice.counting.parameters import DEFAULT_PARAMETER, SMALL_PARAMETER, bind_parameters
from wattslice.counting.profile import BranchArm, ExecutionProfile, LoopTrips, ProbabilitySource
from wattslice.counting.sampling import sample_threads
from wattslice.counting.state import BudgetExceededError, State
from wattslice.counting.statements import Executor
from wattslice.launches.launch import KernelLaunch

if TYPE_CHECKING:
    from wattslice.branch_profile.profile import BranchProfile

MAX_STEPS = 25_000
"""Statements one kernel may take to evaluate; about half a second."""
MAX_MACHINE_STEPS = 4 * MAX_STEPS
"""The same of a kernel from PTX, whose statements are single instructions."""

CONTRADICTION = 0.1
"""From this difference on it is told that a profile and an exact count say different things of a branch: the
last blocks of a grid differ by less."""


def count(launch: KernelLaunch, profile: BranchProfile | None = None) -> ExecutionProfile:
    """Evaluates the integer part of the kernel for sampled blocks.

    Branches that data decide have the probabilities of `profile`; where it is silent each way is as likely as
    the other.
    A kernel that takes more than MAX_STEPS statements is counted again with every loop sampled (then an
    assumption says so); raises BudgetExceededError when that takes too many as well.
    """
    try:
        state = _evaluate(launch, profile, ALLOWANCE, DEFAULT_PARAMETER)
        if state.tallies.has_assumed_a_parameter and not state.tallies.touched_memory:
            # The assumed sizes let nothing happen (a halo wider than its tile, say): small ones may.
            small = _evaluate(launch, profile, ALLOWANCE, SMALL_PARAMETER)
            state = small if small.tallies.touched_memory else state
    except BudgetExceededError:
        state = _evaluate(launch, profile, 0.0, DEFAULT_PARAMETER)
        message = "too many different iterations to evaluate: representative ones stand for all"
        state.tallies.assume(
            "PW015", launch.kernel.span, message, f"--set {launch.kernel.name}.trip_L<line>=VALUE"
        )
    return ExecutionProfile(
        thread_counts=tuple(state.tallies.thread_counts),
        warp_counts=tuple(state.tallies.warp_counts),
        sites=tuple(site.statistics() for site in state.tallies.sites),
        loops=tuple(_loops(state)),
        arms=tuple(_arms(state, profile)),
        assumptions=tuple(state.tallies.assumptions.values()),
    )


def _evaluate(launch: KernelLaunch, profile: BranchProfile | None, allowance: float, default: int) -> State:
    threads = sample_threads(launch.grid, launch.block)
    steps = MAX_MACHINE_STEPS if launch.kernel.machine_instructions else MAX_STEPS
    state = State(launch, threads, steps)
    bind_parameters(state, default)
    executor = Executor(state, profile)
    executor.allowance = allowance
    executor.execute(launch.kernel.body, state.masks.all)
    if profile is not None:
        _tell_contradictions(executor)
    return state


def _tell_contradictions(executor: Executor) -> None:
    """Notes where a branch that was counted exactly goes another way than the profile has measured.

    The copies of an inlined function are one branch to a profile.
    """
    state = executor.state
    counted: dict[ir.Span, tuple[float, float]] = {}
    for stmt in ir.walk_statements(state.launch.kernel.body):
        if isinstance(stmt, ir.If) and state.tallies.arm_sources.get(stmt.region) is ProbabilitySource.STATIC:
            visits, taken = counted.get(stmt.span, (0.0, 0.0))
            visits += state.tallies.thread_counts[stmt.region]
            counted[stmt.span] = visits, taken + state.tallies.thread_counts[stmt.then.region]
    for span, (visits, taken) in counted.items():
        measured = executor.profiled(span)
        if measured is not None and visits and abs(taken / visits - measured) >= CONTRADICTION:
            state.tallies.assume(
                "PW019",
                span,
                f"{taken / visits:.0%} of visits take this branch in the launch analysed, by the profile "
                f"{measured:.0%}: what this launch decides by itself is used",
                "",
            )


def _loops(state: State) -> Iterator[LoopTrips]:
    for region, tally in sorted(state.tallies.loops.items()):
        mean = tally.iterations / tally.entries if tally.entries else 0.0
        file = state.tallies.other_file(tally.span)
        yield LoopTrips(tally.span.line, region, mean if tally.known else None, mean, file)


def _arms(state: State, profile: BranchProfile | None) -> Iterator[BranchArm]:
    counts = state.tallies.thread_counts
    for stmt in ir.walk_statements(state.launch.kernel.body):
        source = state.tallies.arm_sources.get(stmt.region)
        if source is None or counts[stmt.region] == 0.0:
            continue
        visits, file = counts[stmt.region], state.tallies.other_file(stmt.span)
        arms: list[tuple[ir.Span, str, int]] = []
        if isinstance(stmt, ir.If):
            arms.append((stmt.span, "then", stmt.then.region))
            if stmt.otherwise is not None:
                arms.append((stmt.otherwise.span, "else", stmt.otherwise.region))
        elif isinstance(stmt, ir.Switch):
            arms += ((case.body.span, arm_name(case), case.body.region) for case in stmt.cases)
        for span, name, region in arms:
            probability = min(1.0, counts[region] / visits)
            is_open = stmt.region in state.tallies.never_left
            measured = (
                profile.probability_range(state.launch.kernel, stmt.span, name)
                if profile is not None and source is ProbabilitySource.PROFILE
                else None
            )
            yield BranchArm(
                span.line, name, region, probability, source, file, span.column, is_open, measured
            )


__all__ = ["BudgetExceededError", "count"]
