"""Execution of loops: closed forms where the counter is simple, evaluation where it is not.

A loop whose trip count follows from its counters is not run through: if its iterations cannot differ,
two of them stand for all; if they can, all are run as long as the allowance lasts, and beyond that
representative ones, each standing for a stratum. A loop without a closed form is run iteration by
iteration until its condition fails, or until the condition turns out to depend on data: then the rest
is one iteration times a stated default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.loop_shape import Bound, Induction, Key, LoopShape
from wattslice.counting.masks import Mask
from wattslice.counting.sampling import representatives
from wattslice.counting.state import LoopFrame, LoopTally
from wattslice.counting.trips import trip_count, value_at
from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Chance,
    Lanes,
    Pointer,
    Scalar,
    Unknown,
    Value,
    binary,
    is_warp_uniform,
    scalar,
    truth,
)

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor

DEFAULT_TRIPS = 8.0
"""Iterations assumed for a loop that ends by data. The loop-branch heuristic of Wu & Larus (1994) gives
p = 0.88 to staying in the loop, a mean of 1 / (1 - 0.88) = 8.3 iterations, here rounded."""

ALLOWANCE = 12_000
"""Expression evaluations a kernel's loops may take before iterations are sampled."""

MAX_STEPPED_ITERATIONS = 4096


def run_loop(executor: Executor, loop: ir.Loop, mask: Mask) -> Mask:
    """Runs `loop` under `mask` and returns the lanes that go on behind it."""
    state = executor.state
    state.count(loop.region, mask)
    for stmt in loop.init:
        mask = executor.execute(stmt, mask)
    shape = state.shape(loop)
    trips, exact = _known_trips(executor, loop, shape, mask)
    frame = LoopFrame(state.masks.none, state.masks.none)
    call = state.calls[-1]
    returned_before = call.returned
    state.loops.append(frame)
    call.loop_depth += 1
    if trips is not None:
        out = _run_counted(executor, loop, shape, trips, mask, frame)
    else:
        out = _run_stepwise(executor, loop, shape, mask, frame)
    call.loop_depth -= 1
    state.loops.pop()
    _tally(executor, loop, exact, mask)
    return mask if call.returned is returned_before else out


def _tally(executor: Executor, loop: ir.Loop, exact: bool, mask: Mask) -> None:
    tally = executor.state.loop_tallies.setdefault(loop.region, LoopTally(loop.span.line))
    tally.entries += mask.thread_mean
    tally.known = tally.known and exact


# ---------------------------------------------------------------------- trip counts


def _known_trips(
    executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask
) -> tuple[int | Lanes | None, bool]:
    """Iterations of the loop, and whether they are known rather than set or only bounded."""
    state = executor.state
    setting = state.settings.get(f"trip_L{loop.span.line}")
    if setting is not None:
        return int(setting), True
    found: int | Lanes | None = None
    for bound in shape.bounds:
        induction = next(i for i in shape.inductions if i.variable is bound.variable)
        trips = _trips_of(executor, loop, shape, induction, bound, mask)
        if trips is not None:
            found = trips if found is None else cast("int | Lanes", np.minimum(found, trips))
    if found is None or not shape.bounds:
        return None, True
    if shape.has_other_conjuncts:
        state.assume(
            "PW013",
            loop.span.line,
            "the loop may end early, which depends on data: assumed to run to its bound",
            f"--set {state.launch.kernel.name}.trip_L{loop.span.line}=VALUE",
        )
        return _plain(found), False
    return _plain(found), True


def _plain(trips: int | Lanes) -> int | Lanes:
    """Collapses equal lanes to one number."""
    array = np.asarray(trips)
    first = int(array.flat[0])
    return first if bool((array == first).all()) else array


def _trips_of(
    executor: Executor, loop: ir.Loop, shape: LoopShape, induction: Induction, bound: Bound, mask: Mask
) -> int | Lanes | None:
    start = executor.state.environment.get(induction.variable, VARYING)
    if induction.variable in executor.state.assumed_parameters:
        executor.evaluate(_read_of(induction.variable, loop.span), mask)
    amount = _amount(executor, induction, mask)
    limit: Value = bound.limit if isinstance(bound.limit, int) else executor.evaluate(bound.limit, mask)
    if isinstance(start, Pointer) or isinstance(limit, Pointer):
        if not (isinstance(start, Pointer) and isinstance(limit, Pointer) and start.root is limit.root):
            return None
        start, limit = start.offset, limit.offset
    first = scalar(binary(ir.BinaryOp.ADD, start, bound.shift, ir.INT64)) if bound.shift else scalar(start)
    if loop.kind is ir.LoopKind.DO:
        if induction.variable not in shape.updated_in_test:
            first = scalar(binary(induction.op, first, amount, ir.INT64))
        trips = trip_count(first, induction.op, amount, bound.comparison, scalar(limit))
        return None if trips is None else trips + 1
    return trip_count(first, induction.op, amount, bound.comparison, scalar(limit))


def _read_of(variable: ir.Variable, span: ir.Span) -> ir.Read:
    return ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)


def _amount(executor: Executor, induction: Induction, mask: Mask) -> Scalar:
    amount = (
        induction.amount
        if isinstance(induction.amount, int)
        else scalar(executor.evaluate(induction.amount, mask))
    )
    if induction.scale != 1:
        amount = scalar(binary(ir.BinaryOp.MUL, amount, induction.scale, ir.INT64))
    return amount


# ---------------------------------------------------------------------- counted loops


def _strata(trips: int | Lanes, shape: LoopShape, allowance: float) -> list[tuple[int, float, float]]:
    """Iterations to run: (representative, first, end) of consecutive strata that cover 0..max trips - 1."""
    longest = int(np.max(trips))
    if not shape.iterations_differ:
        number = 2 if isinstance(trips, int) else 3
    elif longest * shape.size <= allowance:
        number = longest
    else:
        number = max(3, min(16, int(allowance // shape.size)))
    if number >= longest:
        return [(k, k, k + 1) for k in range(longest)]
    if shape.iterations_differ and shape.may_leave:
        # The exit may be near: as many iterations as the allowance has, then representatives of the rest.
        head = min(longest, max(number, int(allowance // shape.size)))
        return [(k, k, k + 1) for k in range(head)] + _spread(head, longest, number)
    if number == 2:
        half = (longest + 1) // 2
        return [(0, 0, half), (longest - 1, half, longest)]
    return _spread(0, longest, number)


def _spread(start: int, end: int, number: int) -> list[tuple[int, float, float]]:
    """About `number` strata that cover iterations start..end - 1; weights may be halves of an iteration."""
    strata: list[tuple[int, float, float]] = []
    edge = float(start)
    for k, weight in representatives(end - start, number):
        strata.append((start + k, edge, edge + weight))
        edge += weight
    return strata


def _run_counted(
    executor: Executor, loop: ir.Loop, shape: LoopShape, trips: int | Lanes, mask: Mask, frame: LoopFrame
) -> Mask:
    state = executor.state
    masks = state.masks
    is_do = loop.kind is ir.LoopKind.DO
    starts = {i.variable: state.environment.get(i.variable, VARYING) for i in shape.inductions}
    amounts = {i.variable: _amount(executor, i, mask) for i in shape.inductions}
    outer_allowance = executor.allowance
    strata = _strata(trips, shape, outer_allowance)
    executor.allowance = outer_allowance / max(1, len(strata))
    survivors = mask
    left = masks.none
    previous = -1
    iterations = 0.0
    for representative, first, end in strata:
        running = _stratum_mask(executor, survivors, trips, first, end)
        if running.is_empty:
            break
        if representative != previous + 1:
            _forget(executor, shape)
            for induction in shape.inductions:
                value = _induction_value(starts, amounts, induction, representative)
                state.assign(induction.variable, value, running)
        previous = representative
        iterations += running.thread_mean
        frame.broken = frame.continued = masks.none
        if not is_do:
            _test(executor, loop, running)
        through = masks.sum(executor.execute(loop.body, running), frame.continued)
        if loop.step is not None and not through.is_empty:
            state.count(loop.step_region, through)
            executor.evaluate(loop.step, through)
        if is_do:
            _test(executor, loop, through)
        if through is not running:
            stay = _ratio(through, running)
            gone = _ratio(frame.broken, running)
            left = masks.sum(left, masks.where(survivors, gone))
            survivors = masks.where(survivors, stay ** (end - first))
            if survivors.is_empty:
                break
    executor.allowance = outer_allowance
    for induction in shape.inductions:
        if not survivors.is_empty:
            final = _induction_value(starts, amounts, induction, trips)
            state.assign(induction.variable, final, survivors)
    if not is_do and not survivors.is_empty:
        _test(executor, loop, survivors)
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(loop.span.line))
    tally.iterations += iterations
    return masks.sum(survivors, left)


def _ratio(part: Mask, whole: Mask) -> NDArray[np.float64]:
    return np.divide(part.weights, whole.weights, out=np.zeros_like(whole.weights), where=whole.weights > 0)


def _stratum_mask(executor: Executor, survivors: Mask, trips: int | Lanes, first: float, end: float) -> Mask:
    """Survivors, weighted with the number of iterations in [first, end) each of them runs."""
    if isinstance(trips, int):
        return survivors.scaled(end - first)
    width = np.clip(trips, first, end) - first
    if bool((width == width[0]).all()):
        return survivors.scaled(float(width[0]))
    return executor.state.masks.where(survivors, width.astype(np.float64))


def _induction_value(
    starts: dict[ir.Variable, Value],
    amounts: dict[ir.Variable, Scalar],
    induction: Induction,
    iteration: int | Lanes,
) -> Value:
    start, amount = starts[induction.variable], amounts[induction.variable]
    if isinstance(start, Pointer):
        return Pointer(start.root, value_at(scalar(start.offset), induction.op, amount, iteration))
    return value_at(scalar(start), induction.op, amount, iteration)


def _forget(executor: Executor, shape: LoopShape) -> None:
    """Drops what iterations not run may have changed, except induction variables."""
    environment = executor.state.environment
    kept = {induction.variable for induction in shape.inductions}
    for key in shape.assigned:
        if key not in kept and key in environment:
            environment[key] = _unknown_like(environment[key])


def _unknown_like(value: Value) -> Value:
    if isinstance(value, Pointer):
        return Pointer(value.root, UNIFORM if is_warp_uniform(value.offset) else VARYING)
    return UNIFORM if is_warp_uniform(value) else VARYING


def _test(executor: Executor, loop: ir.Loop, mask: Mask) -> None:
    """Counts one evaluation of the condition, for its operations and side effects."""
    if not mask.is_empty:
        executor.state.count(loop.test_region, mask)
        if loop.condition is not None:
            executor.evaluate(loop.condition, mask)


# ---------------------------------------------------------------------- loops without a closed form


def _run_stepwise(executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask, frame: LoopFrame) -> Mask:
    """Runs iteration by iteration while the condition is known."""
    state = executor.state
    masks = state.masks
    running = mask
    out = masks.none
    outer_allowance = executor.allowance
    limit = int(min(MAX_STEPPED_ITERATIONS, max(64, outer_allowance // shape.size)))
    executor.allowance = outer_allowance / 8
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(loop.span.line))
    before_test = loop.kind is not ir.LoopKind.DO
    for iteration in range(limit + 1):
        if before_test or iteration:
            condition = _condition(executor, loop, running)
            if isinstance(condition, Chance):
                out = masks.sum(out, _run_assumed(executor, loop, shape, running, frame))
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
        endless = loop.condition is None or isinstance(loop.condition, ir.Constant)
        if iteration == limit or (endless and frame.left_by_chance):
            out = masks.sum(out, _run_assumed(executor, loop, shape, running, frame))
            break
        frame.broken = frame.continued = masks.none
        if endless and iteration == 0 and not shape.iterations_differ:
            out = masks.sum(out, _run_assumed(executor, loop, shape, running, frame))
            break
        tally.iterations += running.thread_mean
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


def _condition(executor: Executor, loop: ir.Loop, mask: Mask) -> bool | NDArray[np.bool_] | Chance:
    executor.state.count(loop.test_region, mask)
    if loop.condition is None:
        return True
    return truth(executor.evaluate(loop.condition, mask))


def _run_assumed(executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask, frame: LoopFrame) -> Mask:
    """One iteration with everything the loop assigns unknown, times the default number of iterations."""
    state = executor.state
    kernel = state.launch.kernel.name
    line = loop.span.line
    trips = DEFAULT_TRIPS
    if executor.profile is not None:
        known = executor.profile.lookup(loop.span.file, line, "loop")
        if known is not None:
            trips = 1.0 / max(1e-9, 1.0 - known)
    state.assume(
        "PW013",
        line,
        f"trip count of the loop depends on data: {trips:g} iterations assumed",
        f"--set {kernel}.trip_L{line}=VALUE",
    )
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(line))
    tally.known = False
    tally.iterations += mask.thread_mean * trips
    starts: dict[ir.Variable, Value] = {
        i.variable: state.environment.get(i.variable, VARYING) for i in shape.inductions
    }
    uniform_step = {i.variable for i in shape.inductions if is_warp_uniform(_amount(executor, i, mask))}
    _forget(executor, shape)
    for variable, start in starts.items():
        state.environment[variable] = _moved(start) if variable in uniform_step else _unknown_like(start)
    frame.expected_trips = trips
    frame.broken = frame.continued = state.masks.none
    running = mask.scaled(trips)
    state.uncertain += 1
    through = state.masks.sum(executor.execute(loop.body, running), frame.continued)
    if loop.step is not None and not through.is_empty:
        state.count(loop.step_region, through)
        executor.evaluate(loop.step, through)
    state.uncertain -= 1
    if not through.is_empty:
        _test(executor, loop, through)
    after: set[Key] = {*shape.assigned, *starts}
    for key in after:
        if key in state.environment:
            state.environment[key] = _unknown_like(state.environment[key])
    return mask


def _moved(start: Value) -> Value:
    """A counter after an unknown number of uniform steps: the differences between lanes stay known."""
    if isinstance(start, Pointer):
        return Pointer(start.root, scalar(_moved(start.offset)))
    value = scalar(start)
    if isinstance(value, Unknown):
        return value
    return Unknown(uniform=True, delta=value)
