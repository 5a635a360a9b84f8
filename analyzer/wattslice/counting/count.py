"""Counting one launch: from a kernel and its geometry to an execution profile."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.branch_profile.profile import arm_name
from wattslice.counting.boundaries import Boundaries
from wattslice.counting.estimates import drawn, sampling_of
from wattslice.counting.iterations import no_sites
from wattslice.counting.loops import ALLOWANCE
from wattslice.counting.parameters import DEFAULT_PARAMETER, SMALL_PARAMETER, bind_parameters, may_differ
from wattslice.counting.pieces import Plan, Structure, TooManyPiecesError
from wattslice.counting.profile import BranchArm, ExecutionProfile, LoopTrips, ProbabilitySource, Sampling
from wattslice.counting.sampling import (
    MOST_LANES,
    SampledThreads,
    complete,
    is_complete,
    padded_lanes,
    planned,
    sample_threads,
    threads_of,
)
from wattslice.counting.state import (
    SURVEYS,
    BudgetExceededError,
    InVainError,
    NotCountedError,
    State,
    Tallies,
    TalliesOfBlocks,
)
from wattslice.counting.statements import Executor
from wattslice.launches.launch import KernelLaunch

if TYPE_CHECKING:
    from wattslice.branch_profile.profile import BranchProfile

MAX_STEPS = 25_000
"""Statements one kernel may take to evaluate; about half a second. One that holds more may run each twice."""
MAX_MACHINE_STEPS = 4 * MAX_STEPS
"""The same of a kernel from PTX, whose statements are single instructions."""

MOST_WORK = 40_000_000
"""Work, in statements times lanes, to find the pieces of a grid."""

FIRST_STEPS = 2_000
"""Statements of the first evaluation for the same, of a grid that is rather evaluated as a whole then."""

LOOK_STEPS = 16
"""Statements that a look at all iterations of a loop takes, on an average."""

MOST_ROUNDS = 10
"""Evaluations for the same: one for each guard inside a guard, and a few."""

WORK_OF_ALL = 200_000_000
"""Work for which all blocks are evaluated when the pieces are not found."""

LANES_OF_ALL = 1 << 15, 1 << 19
"""The most lanes of a grid for the same, without looking for pieces and after."""

WORK_OF_KINDS = 250_000_000
"""Work for which all blocks of a larger grid are evaluated for their counts alone."""

LANES_TOGETHER = 1 << 17
"""Lanes of them at a time."""

WORK_OF_DRAWN = 5_000_000
"""Work for blocks drawn at random."""

SURVEYS_OF_DRAWN = 1 << 19
"""Iterations times threads that looks at the loops of blocks drawn at random may take."""
FREE_LANES = 4096
"""Lanes whose evaluation takes no longer than the way through the statement itself."""

SHORT_ALLOWANCE = 1000.0
"""Allowance of evaluations that look for pieces."""

CONTRADICTION = 0.1
"""From this difference on it is told that a profile and an exact count say different things of a branch: the
last blocks of a grid differ by less."""

_MOST_EXECUTIONS = 1e100
"""Of a region by a thread: what is above it, or no number, comes of bounds near the end of doubles."""


@np.errstate(over="ignore", invalid="ignore")  # what overflows is told at the end
def count(launch: KernelLaunch, profile: BranchProfile | None = None) -> ExecutionProfile:
    """Evaluates the integer part of the kernel for sampled blocks.

    Branches that data decide have the probabilities of `profile`; where it is silent each way is as likely as
    the other.
    A kernel that takes more than MAX_STEPS statements is counted again with as few iterations of each loop as
    stand for the others (an assumption says where they do not exactly); raises NotCountedError when that
    takes too many as well, or when its loops run more often than any launch could.
    """
    if not launch.kernel.is_followed:
        raise NotCountedError("this instance of the template was not followed")
    try:
        state, sampling = _evaluate(launch, profile, ALLOWANCE, DEFAULT_PARAMETER)
        if state.tallies.has_assumed_a_parameter and not state.tallies.touched_memory:
            # The assumed sizes let nothing happen (a halo wider than its tile, say): small ones may.
            small, of_small = _evaluate(launch, profile, ALLOWANCE, SMALL_PARAMETER)
            if small.tallies.touched_memory:
                state, sampling = small, of_small
    except BudgetExceededError:
        try:
            state, sampling = _evaluate(launch, profile, 0.0, DEFAULT_PARAMETER)
        except BudgetExceededError as error:
            is_alike = is_complete(launch.grid, launch.block) or not _is_small(launch)
            if not error.had_choice and is_alike:
                raise  # once more it would be the same
            state, sampling = _evaluate(launch, profile, 0.0, DEFAULT_PARAMETER, is_last=True)
    if not all(often < _MOST_EXECUTIONS for often in state.tallies.thread_counts):
        raise NotCountedError("its loops run more often than any launch could")
    if sampling is not None:
        state.tallies.assume("PW028", launch.kernel.span, _told(sampling), "")
    state.tallies.tell_stand_ins()
    for told in launch.kernel.assumed:
        state.tallies.assume(told.rule, ir.Span(told.file, told.line, 1, told.line), told.message, "")
    _tell_holes(state.tallies, launch.kernel, is_whole=sampling is None)
    return ExecutionProfile(
        thread_counts=tuple(state.tallies.thread_counts),
        warp_counts=tuple(state.tallies.warp_counts),
        sites=tuple(site.statistics() for site in state.tallies.sites),
        loops=tuple(_loops(state, sampling)),
        arms=tuple(_arms(state, profile, sampling)),
        assumptions=tuple(state.tallies.assumptions.values()),
        sampling=sampling,
        longest_warp=state.tallies.longest_warp(),
        kinds=state.tallies.kinds(),
    )


def _told(sampling: Sampling) -> str:
    error = sampling.relative_error
    bound = (
        f"operations within {error:.1%}, the longest block is that of these"
        if error is not None
        else "how far operations are off is unknown, rare blocks may run the loop in line "
        f"{', '.join(map(str, sampling.open_lines))} more often than any of these"
    )
    blocks = f"{sampling.blocks} of {sampling.of_blocks} blocks"
    return f"counts are sampled, in {blocks}: {sampling.reason}; {bound}"


def _tell_holes(tallies: Tallies, kernel: ir.Kernel, *, is_whole: bool) -> None:
    """Notes that the counts lack what could not be followed: once, where the first of it is.

    `is_whole`: all blocks are counted, so that calls that none of them reaches lack nothing.
    """
    if kernel.body_is_complete:
        return
    calls: dict[tuple[str, int, str], bool] = {}
    for node, region in ir.evaluations(kernel) if is_whole else ():
        if isinstance(node, ir.Intrinsic) and node.is_opaque_call:
            call = node.span.file, node.span.line, f"call of '{node.name}'"
            calls[call] = calls.get(call, False) or tallies.thread_counts[region] > 0
    holes = [hole for hole in kernel.holes if calls.get(_place_of(hole), True)]
    if kernel.holes and not holes:
        return
    first, more = next(iter(holes), None), len(holes) - 1
    what = "something in it could not be read" if first is None else first.message
    span = kernel.span if first is None else ir.Span(first.file, first.line, 1, first.line)
    others = f", and {more} more" if more > 0 else ""
    tallies.assume("PW029", span, f"the kernel is not counted as a whole: {what}{others}", "")


def _place_of(hole: ir.Diagnostic) -> tuple[str, int, str]:
    return hole.file, hole.line, hole.message.partition(":")[0]


def _evaluate(
    launch: KernelLaunch,
    profile: BranchProfile | None,
    allowance: float,
    default: int,
    *,
    is_last: bool = False,
) -> tuple[State, Sampling | None]:
    """The counts of blocks that stand for all: evaluated until every piece of the grid is found.

    Where that fails, those of blocks drawn at random, and how far they may be from the truth.
    """
    grid, block = launch.grid, launch.block

    def evaluated(
        threads: SampledThreads,
        allowed: float,
        boundaries: Boundaries | None = None,
        most_steps: int | None = None,
        enough: int = 0,
    ) -> State:
        return _evaluate_blocks(
            *(launch, profile, allowed, default, threads, boundaries),
            is_last=is_last,
            most_steps=most_steps,
            enough=enough,
        )

    if is_complete(grid, block):
        return evaluated(sample_threads(grid, block), allowance), None
    plan: Plan | None = planned(Structure(grid), block)
    threads = sample_threads(grid, block)
    reason = "finding where they change takes too long"
    full = True  # all iterations are run as far as they may, or a few that show how blocks differ
    lanes_of_all = padded_lanes(block) * math.prod(grid)
    is_found = False  # the last round found nothing new: one with all iterations is left, and may take longer
    work = steps = looks = 0
    is_small = _is_small(launch)
    most_steps = FIRST_STEPS if is_small and not is_last else None
    for number in range(MOST_ROUNDS):
        per_step = FREE_LANES + threads.exists.size
        if work + looks + steps * per_step > (WORK_OF_ALL if is_found else MOST_WORK):
            break
        boundaries = Boundaries(plan, threads.block_lanes, launch.kernel)
        allowed = allowance if full else min(allowance, SHORT_ALLOWANCE)
        share = MOST_WORK if number else MOST_WORK // 4
        enough = 0 if is_small else max(share - work - looks, 0) // per_step
        try:
            state = evaluated(threads, allowed, boundaries, most_steps, enough)
        except InVainError as stopped:  # it takes more, and far more where even a few iterations take so many
            state, steps = None, max(steps, stopped.steps * (2 if full else 4))
            work += stopped.steps * per_step
        except BudgetExceededError:
            if most_steps is None:
                raise
            break
        else:
            looks = LOOK_STEPS * (SURVEYS - state.survey_left)
            work += looks + state.steps_taken * per_step
            steps = max(steps, state.steps_taken)
        try:
            following = planned(boundaries.structure(), block)
        except TooManyPiecesError:
            plan, reason = None, "they change at too many blocks"
            break
        same = following.same_blocks(plan)
        if state is None:
            if number or same or is_small:
                plan, reason = following, boundaries.reason if same else reason
                break
            full, plan, threads = False, following, threads_of(following, block)
            continue
        # Where all iterations were run, one more evaluation would be the same.
        full = full or (not state.is_limited and following.same_pieces(plan))
        if same and full:
            if not boundaries.unsolved:
                return state, None
            reason = boundaries.reason
            break
        if is_small:
            break
        full = same
        is_found = same and not boundaries.unsolved
        plan, threads = following, threads_of(following, block)
    work_of_all = steps * (FREE_LANES + lanes_of_all)
    if is_small or (work_of_all <= WORK_OF_ALL and lanes_of_all <= LANES_OF_ALL[1]):
        return evaluated(threads_of(complete(grid), block), allowance), None
    if work_of_all <= WORK_OF_KINDS:
        kinds = _kinds_of_blocks(launch, profile, allowance, default, is_last=is_last)
        if kinds is not None:
            return evaluated(threads_of(kinds, block), allowance), None
    draw = drawn(grid, plan, block, WORK_OF_DRAWN // steps)
    threads = threads_of(draw.plan, block)
    state = _evaluate_blocks(launch, profile, allowance, default, threads, is_last=is_last, is_drawn=True)
    kernel = launch.kernel
    loops = {
        stmt: may_differ(kernel, stmt)
        for stmt in ir.walk_statements(kernel.body)
        if isinstance(stmt, ir.Loop)
    }
    return state, sampling_of(draw, state.tallies.by_block, kernel, reason, loops)


def _is_small(launch: KernelLaunch) -> bool:
    """Whether a grid is rather evaluated as a whole than searched for its pieces."""
    return padded_lanes(launch.block) * math.prod(launch.grid) <= LANES_OF_ALL[0]


def _kinds_of_blocks(
    launch: KernelLaunch, profile: BranchProfile | None, allowance: float, default: int, *, is_last: bool
) -> Plan | None:
    """One block of each kind, near the middle of the grid: blocks of a kind run everything equally often.

    All blocks are evaluated for that, without addresses. None where there are too many kinds. The corners of
    the grid stand for themselves: between them lies what the launch reaches in memory.
    """
    grid, block = launch.grid, launch.block
    ends = [(0,) if extent == 1 else (0, extent - 1) for extent in grid]
    corners = {x + grid[0] * (y + grid[1] * z) for x in ends[0] for y in ends[1] for z in ends[2]}
    kind_of: dict[int, bytes] = {}
    most, together = (lanes // padded_lanes(block) for lanes in (MOST_LANES, LANES_TOGETHER))
    number = math.prod(grid)
    found: dict[bytes, tuple[int, int]] = {}  # how far from the middle, and where
    weights: Counter[bytes] = Counter()
    for begin in range(0, number, max(together, 1)):
        blocks = np.arange(begin, min(begin + max(together, 1), number))
        apart = np.abs(blocks - number // 2)
        blocks = blocks[np.argsort(apart, kind="stable")]
        threads = threads_of(_plan_of(grid, blocks, np.ones(blocks.size)), block)
        try:
            state = _evaluate_blocks(
                launch, profile, allowance, default, threads, is_last=is_last, is_drawn=True, has_sites=False
            )
        except BudgetExceededError:
            return None
        counts = state.tallies.by_block
        rows = np.concatenate([counts.by_thread, counts.by_warp]).T
        kinds, first, members = np.unique(rows, axis=0, return_index=True, return_counts=True)
        for row, at, many in zip(kinds, blocks[first].tolist(), members.tolist(), strict=True):
            key = row.tobytes()
            found[key] = min(found.get(key, (number, at)), (abs(at - number // 2), at))
            weights[key] += many
        kind_of.update((at, rows[n].tobytes()) for n, at in enumerate(blocks.tolist()) if at in corners)
        if len(found) + len(corners) > most:
            return None
    stand_for = {at: weights[kind] for kind, (_, at) in found.items()}
    for corner, kind in kind_of.items():
        at = found[kind][1]
        stand_for[at] -= 1
        stand_for[corner] = stand_for.get(corner, 0) + 1
    places = np.array(sorted(at for at, weight in stand_for.items() if weight), np.int64)
    return _plan_of(grid, places, np.array([stand_for[at] for at in places.tolist()], np.float64))


def _plan_of(grid: tuple[int, int, int], blocks: NDArray[np.int64], weights: NDArray[np.float64]) -> Plan:
    """The blocks of these numbers, each for so many."""
    places = np.stack([blocks % grid[0], blocks // grid[0] % grid[1], blocks // (grid[0] * grid[1])], axis=1)
    return Plan(Structure(grid), places, places, weights, blocks, places, places)


def _evaluate_blocks(
    launch: KernelLaunch,
    profile: BranchProfile | None,
    allowance: float,
    default: int,
    threads: SampledThreads,
    boundaries: Boundaries | None = None,
    *,
    is_last: bool,
    is_drawn: bool = False,
    has_sites: bool = True,
    most_steps: int | None = None,
    enough: int = 0,
) -> State:
    steps = MAX_MACHINE_STEPS if launch.kernel.machine_instructions else MAX_STEPS
    each_twice = 2 * sum(1 for _ in ir.walk_statements(launch.kernel.body))
    steps = max(steps if most_steps is None else most_steps, each_twice)
    state = State(launch, threads, steps)
    if boundaries is not None:
        state.find(boundaries, enough)
    if is_drawn:
        state.survey_left = SURVEYS_OF_DRAWN  # estimates of estimates need no long look
    if not has_sites:
        state.tallies = TalliesOfBlocks(launch.kernel, threads)
        state.tallies.sites = no_sites(launch.kernel)
    bind_parameters(state, default)
    executor = Executor(state, profile)
    executor.allowance = allowance
    executor.is_last = is_last
    try:
        executor.execute(launch.kernel.body, state.masks.all)
    except BudgetExceededError as error:
        raise BudgetExceededError(had_choice=state.had_choice) from error
    if profile is not None:
        _tell_contradictions(executor)
    executor.forget()
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


def _loops(state: State, sampling: Sampling | None) -> Iterator[LoopTrips]:
    """The loops by region; of sampled blocks the mean is no trip count, unless every entry runs as many."""
    loops = {s.region: s for s in ir.walk_statements(state.launch.kernel.body) if isinstance(s, ir.Loop)}
    for region, tally in sorted(state.tallies.loops.items()):
        if loops[region].is_folded:
            continue
        mean = tally.iterations / tally.entries if tally.entries else 0.0
        file = state.tallies.other_file(tally.span)
        body = loops[region].body.region
        error = 0.0 if sampling is None else sampling.thread_errors[body]
        is_open = error is None and (not tally.entries or may_differ(state.launch.kernel, loops[region]))
        is_sampled = is_open or (error != 0.0 and not tally.is_uniform)
        is_known = tally.known and not is_sampled
        is_most = tally.is_most and not tally.known
        yield LoopTrips(tally.span.line, region, mean if is_known else None, mean, file, is_most)


def _arms(state: State, profile: BranchProfile | None, sampling: Sampling | None) -> Iterator[BranchArm]:
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
            own = source
            if sampling is not None and source is ProbabilitySource.STATIC:
                own, error = ProbabilitySource.SAMPLED, sampling.thread_errors[region]
                off = 1.0 if error is None else error / visits
                measured = max(0.0, probability - off), min(1.0, probability + off)
            yield BranchArm(span.line, name, region, probability, own, file, span.column, is_open, measured)


__all__ = ["NotCountedError", "count"]
