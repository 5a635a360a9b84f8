"""Loops without a closed form, run iteration by iteration while their condition is known.

Once the condition turns out to depend on data, the rest is one iteration times a stated default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.branch_profile.profile import LOOP
from wattslice.counting.loop_shape import LoopShape
from wattslice.counting.loop_steps import amount_of, forget, test_once, unknown_like
from wattslice.counting.rest_loops import most_of_the_rest
from wattslice.counting.retries import retries_a_swap
from wattslice.counting.sampling import Mask
from wattslice.counting.state import LoopFrame, LoopTally
from wattslice.counting.syntax import Key, read_variable
from wattslice.counting.values import (
    VARYING,
    Chance,
    Pointer,
    Unknown,
    Value,
    is_warp_uniform,
    scalar,
    truth,
)

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor

DEFAULT_TRIPS = 8.0
"""Iterations assumed for a loop that ends by data. The loop-branch heuristic of Wu & Larus (1994) gives
p = 0.88 to staying in the loop, a mean of 1 / (1 - 0.88) = 8.3 iterations, here rounded. A counter that
takes several elements at a step, as where the lanes of a warp share a row, needs fewer for as many."""

MAX_STEPPED_ITERATIONS = 4096

MOST_TRIPS = 1e6
"""Iterations a profile may make of a loop that it never saw end."""


def run_stepwise(executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask, frame: LoopFrame) -> Mask:
    """Runs iteration by iteration while the condition is known."""
    state = executor.state
    masks = state.masks
    running = mask
    out = masks.none
    ran = ran_warps = 0.0
    outer_allowance = executor.allowance
    limit = int(min(MAX_STEPPED_ITERATIONS, max(64, outer_allowance // shape.size)))
    executor.allowance = outer_allowance / 8
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(loop.span))
    measured = measured_trips(executor, loop)

    def run_rest(already: float = 0.0) -> Mask:
        rest, of_warps = None, 0.0
        if measured is not None and running.thread_mean:
            rest = max(0.0, measured * mask.thread_mean - ran) / running.thread_mean
            warps = measured * _warps_per_thread(executor, loop) * mask.warp_mean
            of_warps = max(0.0, warps - ran_warps) / running.warp_mean
        elif measured is None and executor.profiled(loop.span, LOOP) is None and retries_a_swap(loop):
            _assume_no_retry(executor, loop)
            rest = 0.0
        return _run_assumed(executor, loop, shape, running, frame, rest, of_warps, already)

    before_test = loop.kind is not ir.LoopKind.DO
    for iteration in range(limit + 1):
        if before_test or iteration:
            condition = _condition(executor, loop, running)
            if isinstance(condition, Chance):
                # Of a loop of the source that tests at its end, the iterations assumed are those after.
                compiled = bool(executor.state.launch.kernel.machine_instructions)
                out = masks.sum(out, run_rest(already=1.0 if compiled and not before_test else 0.0))
                break
            if isinstance(condition, bool):
                if not condition:
                    out = masks.sum(out, running)
                    break
            else:
                out = masks.sum(out, masks.where(running, ~condition))
                running = masks.where(running, condition)
                if running.is_empty:
                    break
        endless = is_endless(loop)
        if iteration == limit or (endless and frame.left_by_chance):
            out = masks.sum(out, run_rest())
            break
        frame.broken = frame.continued = masks.none
        if endless and iteration == 0 and not shape.iterations_differ:
            out = masks.sum(out, run_rest())
            break
        tally.iterations += running.thread_mean
        ran += running.thread_mean
        ran_warps += running.warp_mean
        through = masks.sum(executor.execute(loop.body, running), frame.continued)
        out = masks.sum(out, frame.broken)
        if loop.step is not None and not through.is_empty:
            state.count(loop.step_region, through)
            executor.evaluate(loop.step, through)
        running = through
        if running.is_empty:
            break
    executor.allowance = outer_allowance
    return out


def _assume_no_retry(executor: Executor, loop: ir.Loop) -> None:
    state = executor.state
    state.assume(
        "PW013",
        loop.span,
        "the loop repeats where another thread came between (compare-and-swap): 1 iteration assumed",
        f"--set {state.launch.kernel.name}.{state.trip_name(loop)}=VALUE",
    )
    state.loop_tallies[loop.region].known = False


def _condition(executor: Executor, loop: ir.Loop, mask: Mask) -> bool | NDArray[np.bool_] | Chance:
    executor.state.count(loop.test_region, mask)
    if loop.condition is None:
        return True
    return truth(executor.evaluate(loop.condition, mask))


def measured_trips(executor: Executor, loop: ir.Loop) -> float | None:
    """Mean iterations per entry that the profile has counted; None without."""
    if executor.profile is None:
        return None
    followed = executor.profile.mean_iterations(executor.state.launch.kernel, loop.span)
    return followed if followed is None or loop.kind is not ir.LoopKind.DO else followed + 1.0


def _warps_per_thread(executor: Executor, loop: ir.Loop) -> float:
    """Iterations of a warp for each iteration of a thread, by the profile; 1 where it does not say."""
    if executor.profile is None:
        return 1.0
    kernel = executor.state.launch.kernel
    threads, warps = (
        ask(kernel, loop.span) for ask in (executor.profile.mean_iterations, executor.profile.warp_iterations)
    )
    if threads is None or warps is None:
        return 1.0
    at_least = 1.0 if loop.kind is ir.LoopKind.DO else 0.0
    return max(1.0, (warps + at_least) / (threads + at_least)) if threads + at_least else 1.0


def _run_assumed(
    executor: Executor,
    loop: ir.Loop,
    shape: LoopShape,
    mask: Mask,
    frame: LoopFrame,
    measured: float | None,
    of_warps: float,
    already: float,
) -> Mask:
    """One iteration with everything the loop assigns unknown, then the same times the iterations expected.

    A profile knows how many there are (`measured`: from here on, per thread of `mask`); one written by hand
    how often another iteration follows, or how often a branch inside leaves the loop. `of_warps`: as
    `measured`, per warp. `already`: iterations that have run, of those that are assumed where nobody knows.
    """
    state = executor.state
    starts: dict[ir.Variable, Value] = {
        i.variable: state.environment.get(i.variable, VARYING) for i in shape.inductions
    }
    uniform_step = {i.variable for i in shape.inductions if is_warp_uniform(amount_of(executor, i, mask))}
    forget(executor, shape, {})
    for variable, start in starts.items():
        state.environment[variable] = _moved(start) if variable in uniform_step else unknown_like(start)
    profiled = executor.profiled(loop.span, LOOP)
    step = elements_at_a_step(executor, loop, shape, mask)
    most = most_of_the_rest(state.launch.kernel, loop, shape)
    assumed = max(1.0, DEFAULT_TRIPS / step) if most is None else (most + 1) / 2
    trips = assumed if profiled is not None else assumed - already
    again = 1.0 if is_endless(loop) else 1.0 - 1.0 / assumed
    if profiled is not None:
        again = profiled
    if measured is not None:
        trips = measured
    frame.expected_trips = DEFAULT_TRIPS if measured is None else max(1.0, measured)
    state.uncertain += 1
    warp_trips = trips if measured is None else of_warps
    first = mask if trips > 1.0 else state.masks.diverging(mask, trips, warp_trips)
    stay = 1.0 if first.is_empty or trips <= 0.0 else _run_once(executor, loop, first, frame)
    is_measured = measured is not None or profiled is not None or frame.left_by_profile
    if is_measured and measured is None:
        trips = min(MOST_TRIPS, 1.0 / max(1e-12, 1.0 - again * stay))
    if trips > 1.0:
        rest = state.masks.diverging(mask, trips - 1.0, max(trips, warp_trips) - 1.0)
        _run_once(executor, loop, rest, frame)
    state.uncertain -= 1
    if not is_measured:
        state.assume(
            "PW013",
            loop.span,
            f"trip count of the loop depends on data: {assumed:g} iteration{'s' * (assumed != 1.0)} assumed"
            + _why(step, most),
            f"--set {state.launch.kernel.name}.{state.trip_name(loop)}=VALUE",
        )
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(loop.span))
    tally.known = tally.known and is_measured
    tally.iterations += mask.thread_mean * trips
    after: set[Key] = {*shape.assigned, *starts}
    for key in after:
        if key in state.environment:
            state.environment[key] = unknown_like(state.environment[key])
    return mask


def _why(step: int, most: int | None) -> str:
    if most is not None:
        return f" (1 to {most}, the rest of an unrolled loop)"
    return f" ({max(step, DEFAULT_TRIPS):g} elements in steps of {step})" if step > 1 else ""


def elements_at_a_step(executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask) -> int:
    """By how much an integer that the condition compares moves in one iteration; 1 when that is unknown."""
    compared = {
        read_variable(side)
        for node in (() if loop.condition is None else ir.walk_expressions(loop.condition))
        if isinstance(node, ir.Binary) and node.op in ir.COMPARISONS
        for side in (node.left, node.right)
    }
    steps = [1]
    for induction in shape.inductions:
        is_sum = induction.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB)
        if is_sum and induction.variable in compared and induction.variable.type.is_integral:
            amount = amount_of(executor, induction, mask)
            steps.append(abs(amount) if isinstance(amount, int) else 1)
    return max(steps)


def _run_once(executor: Executor, loop: ir.Loop, mask: Mask, frame: LoopFrame) -> float:
    """Body, step and the test behind it under `mask`; returns the share that reaches the test."""
    state = executor.state
    frame.broken = frame.continued = state.masks.none
    through = state.masks.sum(executor.execute(loop.body, mask), frame.continued)
    if through.is_empty:
        return 0.0
    if loop.step is not None:
        state.count(loop.step_region, through)
        executor.evaluate(loop.step, through)
    test_once(executor, loop, through)
    return through.thread_mean / mask.thread_mean if mask.thread_mean else 0.0


def is_endless(loop: ir.Loop) -> bool:
    """`for (;;)`, `while (true)`: only something inside ends it."""
    return loop.condition is None or (isinstance(loop.condition, ir.Constant) and loop.condition.value != 0)


def _moved(start: Value) -> Value:
    """A counter after an unknown number of uniform steps: the differences between lanes stay known."""
    if isinstance(start, Pointer):
        return Pointer(start.root, scalar(_moved(start.offset)))
    value = scalar(start)
    if isinstance(value, Unknown):
        return value
    return Unknown(uniform=True, delta=value)
