"""How often a loop will run, before it is run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from wattslice import ir
from wattslice.branch_profile.profile import LOOP
from wattslice.counting.inductions import Induction
from wattslice.counting.loop_shape import Bound, LoopShape
from wattslice.counting.loop_steps import amount_of
from wattslice.counting.parameters import parameters_behind
from wattslice.counting.rest_loops import most_of_the_rest, unrolled_by
from wattslice.counting.sampling import Mask
from wattslice.counting.stepped_loops import elements_at_a_step, measured_trips
from wattslice.counting.trips import trip_count
from wattslice.counting.values import (
    VARYING,
    Chance,
    Lanes,
    Pointer,
    Value,
    binary,
    fits_int64,
    scalar,
    truth,
)

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor


def known_trips(
    executor: Executor, loop: ir.Loop, shape: LoopShape, mask: Mask
) -> tuple[int | Lanes | None, bool]:
    """Iterations of the loop, and whether they are known rather than set or only bounded."""
    state = executor.state
    setting = state.settings.get(state.trip_name(loop))
    if setting is not None:
        return _of_the_source(executor, loop, shape, int(setting), mask), True
    found: int | Lanes | None = None
    for bound in shape.bounds:
        induction = next(i for i in shape.inductions if i.variable is bound.variable)
        trips = _trips_of(executor, loop, shape, induction, bound, mask)
        if trips is not None:
            found = trips if found is None else cast("int | Lanes", np.minimum(found, trips))
    if found is None or not shape.bounds:
        return None, True
    if shape.has_other_conjuncts:
        short = int(np.max(found)) * shape.size <= executor.allowance
        if short and loop.kind is not ir.LoopKind.DO and _is_decided(executor, loop, mask):
            return None, True  # run step by step: nothing of the condition depends on data
        if measured_trips(executor, loop) is not None:
            return None, True  # its bound is not what ends it
        state.assume(
            "PW013",
            loop.span,
            "the loop may end early, which depends on data: assumed to run to its bound",
            f"--set {state.launch.kernel.name}.{state.trip_name(loop)}=VALUE",
        )
        return _plain(found), False
    _tell_unused_profile(executor, loop)
    return _plain(found), True


def _of_the_source(executor: Executor, loop: ir.Loop, shape: LoopShape, setting: int, mask: Mask) -> int:
    """Of iterations set for a loop of the source those that a compiled loop runs: its steps, or the rest."""
    kernel = executor.state.launch.kernel
    most = most_of_the_rest(kernel, loop, shape)
    if most is not None:
        return setting % (most + 1)
    step = elements_at_a_step(executor, loop, shape, mask)
    unrolled = step > 1 and (executor.state.trip_name(loop), step) in unrolled_by(kernel)
    return setting // step if unrolled else setting


def _tell_unused_profile(executor: Executor, loop: ir.Loop) -> None:
    """Notes a measured loop whose iterations an assumed parameter decides instead."""
    state = executor.state
    if loop.condition is None or not state.guessed or executor.profiled(loop.span, LOOP) is None:
        return
    kernel = state.launch.kernel
    assumed = sorted(v.name for v in parameters_behind(kernel, loop.condition) & state.guessed)
    if assumed:
        state.assume(
            "PW019",
            loop.span,
            f"assumed {', '.join(assumed)} decides the iterations: those of the profile are not used",
            " ".join(f"--set {kernel.name}.{name}=VALUE" for name in assumed),
        )


def _is_decided(executor: Executor, loop: ir.Loop, mask: Mask) -> bool:
    """True when the whole condition is known as the loop is entered."""
    return loop.condition is not None and not isinstance(truth(executor.peek(loop.condition, mask)), Chance)


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
    amount = amount_of(executor, induction, mask)
    limit: Value = bound.limit if isinstance(bound.limit, int) else executor.evaluate(bound.limit, mask)
    if isinstance(start, Pointer) or isinstance(limit, Pointer):
        if not (isinstance(start, Pointer) and isinstance(limit, Pointer) and start.root is limit.root):
            return None
        start, limit = start.offset, limit.offset
    if isinstance(start, int | np.ndarray) and not fits_int64(start):
        return None
    first = scalar(binary(ir.BinaryOp.ADD, start, bound.shift, ir.INT64)) if bound.shift else scalar(start)
    if loop.kind is ir.LoopKind.DO:
        if induction.variable not in shape.updated_in_test:
            first = scalar(binary(induction.op, first, amount, ir.INT64))
        trips = trip_count(first, induction.op, amount, bound.comparison, scalar(limit))
        return None if trips is None else trips + 1
    return trip_count(first, induction.op, amount, bound.comparison, scalar(limit))


def _read_of(variable: ir.Variable, span: ir.Span) -> ir.Read:
    return ir.Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)
