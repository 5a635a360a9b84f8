"""What running a loop takes, however its iterations are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattslice import ir
from wattslice.counting.inductions import Induction
from wattslice.counting.loop_shape import LoopShape
from wattslice.counting.masks import Mask
from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Pointer,
    Scalar,
    Value,
    binary,
    is_warp_uniform,
    scalar,
)

if TYPE_CHECKING:
    from wattslice.counting.statements import Executor


def amount_of(executor: Executor, induction: Induction, mask: Mask) -> Scalar:
    """What one iteration adds to an induction variable (in bytes for pointers)."""
    amount = (
        induction.amount
        if isinstance(induction.amount, int)
        else scalar(executor.evaluate(induction.amount, mask))
    )
    if induction.scale != 1:
        amount = scalar(binary(ir.BinaryOp.MUL, amount, induction.scale, ir.INT64))
    return amount


def forget(executor: Executor, shape: LoopShape) -> None:
    """Drops what iterations not run may have changed, except induction variables."""
    environment = executor.state.environment
    kept = {induction.variable for induction in shape.inductions}
    for key in shape.assigned:
        if key not in kept and key in environment:
            environment[key] = unknown_like(environment[key])


def unknown_like(value: Value) -> Value:
    """An unknown value that is as uniform as `value` was; pointers keep their object."""
    if isinstance(value, Pointer):
        return Pointer(value.root, UNIFORM if is_warp_uniform(value.offset) else VARYING)
    return UNIFORM if is_warp_uniform(value) else VARYING


def test_once(executor: Executor, loop: ir.Loop, mask: Mask) -> None:
    """Counts one evaluation of the condition, for its operations and side effects."""
    if not mask.is_empty:
        executor.state.count(loop.test_region, mask)
        if loop.condition is not None:
            executor.evaluate(loop.condition, mask)
