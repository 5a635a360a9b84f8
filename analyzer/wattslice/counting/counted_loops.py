"""Loops whose trip count is known beforehand: representative iterations stand for all.

If iterations cannot differ, two of them stand for all. If they can, all are run as long as the allowance
lasts, and beyond that representative ones, each standing for a stratum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.inductions import Induction
from wattslice.counting.loop_shape import LoopShape
from wattslice.counting.loop_steps import amount_of, forget, loses, registers, test_once
from wattslice.counting.sampling import Mask, representatives
from wattslice.counting.state import LoopFrame, LoopTally
from wattslice.counting.trips import value_at
from wattslice.counting.values import (
    VARYING,
    Lanes,
    Pointer,
    Scalar,
    Value,
    scalar,
)

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor


def _strata(executor: Executor, trips: int | Lanes, shape: LoopShape) -> list[tuple[int, float, float]]:
    """Iterations to run: (representative, first, end) of consecutive strata that cover 0..max trips - 1."""
    longest = int(np.max(trips))
    allowance = executor.allowance
    if allowance == 0 and longest > 1:  # the second attempt at a kernel that took too many steps
        return [(longest // 2, 0, longest)]
    if not shape.iterations_differ:
        number = 2 if isinstance(trips, int) else 3
    elif longest * shape.size <= allowance:
        number = longest
    else:
        number = max(3, min(8, int(allowance // shape.size)))
    if number >= longest:
        return [(k, k, k + 1) for k in range(longest)]
    if shape.iterations_differ and shape.may_leave:
        # The exit may be near: as many iterations as the allowance has, then representatives of the rest.
        head = min(longest, max(number, int(allowance // shape.size)))
        return [(k, k, k + 1) for k in range(head)] + _spread(head, longest, number)
    if number == 2:
        if shape.may_leave:  # the first iteration tells how many lanes stay
            return [(0, 0, 1), (longest - 1, 1, longest)]
        if executor.at_corner:
            return [(longest - 1, 0, longest)]
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


def run_counted(
    executor: Executor, loop: ir.Loop, shape: LoopShape, trips: int | Lanes, mask: Mask, frame: LoopFrame
) -> Mask:
    """Runs a loop of `trips` iterations (an array where lanes differ); returns the lanes that go on."""
    state = executor.state
    masks = state.masks
    is_do = loop.kind is ir.LoopKind.DO
    starts = {i.variable: state.environment.get(i.variable, VARYING) for i in shape.inductions}
    amounts = {i.variable: amount_of(executor, i, mask) for i in shape.inductions}
    outer_allowance = executor.allowance
    was_at_corner = executor.at_corner
    strata = _strata(executor, trips, shape)
    corner = strata[-1][0] if strata else 0
    alike = len(strata) == 2 and not shape.iterations_differ
    executor.allowance = outer_allowance / max(1, len(strata))
    survivors = mask
    left = masks.none
    previous = -1
    before = registers(executor, shape)
    iterations = 0.0
    stay: NDArray[np.float64] | None = None  # share of each lane that goes on after an iteration
    while strata:
        representative, first, end = strata.pop(0)
        is_far = previous == 0 and representative > 1
        if alike and is_far and end - first > 1 and loses(executor, shape, before):
            # The second iteration knows what the last does not: it counts as the rest, the last as itself.
            strata = [(1, first, end - 1), (representative, end - 1, end)]
            continue
        # The far end of nested loops is one corner: it shows how far addresses reach, and counts as the rest.
        executor.at_corner = was_at_corner or (alike and 0 < representative == corner)
        running = _stratum_mask(executor, survivors, trips, first, end, stay)
        if running.is_empty:
            break
        if representative != previous + 1:
            forget(executor, shape, before)
            for induction in shape.inductions:
                value = _induction_value(starts, amounts, induction, representative)
                state.assign(induction.variable, value, running)
        previous = representative
        before = registers(executor, shape)
        iterations += running.thread_mean
        frame.broken = frame.continued = masks.none
        around = [(outer, outer.broken) for outer in state.loops[:-1]]
        if not is_do:
            test_once(executor, loop, running)
        through = masks.sum(executor.execute(loop.body, running), frame.continued)
        if loop.step is not None and not through.is_empty:
            state.count(loop.step_region, through)
            executor.evaluate(loop.step, through)
        if is_do:
            test_once(executor, loop, through)
        if through is not running:
            stay = _ratio(through, running)
            gone = _ratio(frame.broken, running)
            left = masks.sum(left, masks.where(survivors, gone))
            for outer, earlier in around:
                if outer.broken is not earlier:
                    share = _ratio(masks.of(outer.broken.weights - earlier.weights), running)
                    leaving = np.minimum(1.0, share * _runs(stay, end - first))
                    outer.broken = masks.sum(earlier, masks.where(survivors, leaving))
            survivors = masks.where(survivors, stay ** (end - first))
            if survivors.is_empty:
                break
    executor.allowance = outer_allowance
    executor.at_corner = was_at_corner
    for induction in shape.inductions:
        if not survivors.is_empty:
            final = _induction_value(starts, amounts, induction, trips)
            state.assign(induction.variable, final, survivors)
    if not is_do and not survivors.is_empty:
        test_once(executor, loop, survivors)
    tally = state.loop_tallies.setdefault(loop.region, LoopTally(loop.span))
    tally.iterations += iterations
    return masks.sum(survivors, left)


def _runs(stay: NDArray[np.float64], width: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """How many of `width` iterations a lane runs of which a share `stay` goes on after each."""
    leaving = 1.0 - stay
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leaving > 1e-12, (1.0 - stay**width) / leaving, width)


def _ratio(part: Mask, whole: Mask) -> NDArray[np.float64]:
    return np.divide(part.weights, whole.weights, out=np.zeros_like(whole.weights), where=whole.weights > 0)


def _stratum_mask(
    executor: Executor,
    survivors: Mask,
    trips: int | Lanes,
    first: float,
    end: float,
    stay: NDArray[np.float64] | None,
) -> Mask:
    """Survivors, weighted with the number of iterations in [first, end) each of them runs.

    Where only a share `stay` of a lane goes on after each iteration, that is a geometric sum.
    """
    if stay is not None and end - first > 1:
        width = np.clip(trips, first, end) - first
        return executor.state.masks.where(survivors, _runs(stay, width))
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
    return value_at(scalar(start), induction.op, amount, iteration, induction.variable.type)
