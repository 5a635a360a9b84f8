"""What running a loop takes, however its iterations are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from wattslice import ir
from wattslice.counting.inductions import Induction
from wattslice.counting.loop_shape import LoopShape
from wattslice.counting.sampling import Mask
from wattslice.counting.syntax import Key
from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Lanes,
    Pointer,
    Scalar,
    Unknown,
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


def registers(executor: Executor, shape: LoopShape) -> dict[Key, Value]:
    """The registers that the loop assigns, with their present values."""
    environment = executor.state.environment
    return {key: environment[key] for key in shape.assigned if key in environment}


def forget(executor: Executor, shape: LoopShape, before: dict[Key, Value]) -> None:
    """Drops what iterations not run may have changed, except induction variables.

    `before`: the registers ahead of the iteration run last. A register that this iteration moved by the
    same amount in all lanes of a warp is taken to be moved alike by the others: its base is then unknown,
    the differences between lanes stay.
    """
    environment = executor.state.environment
    kept = {induction.variable for induction in shape.inductions}
    for key in shape.assigned:
        if key not in kept and key in environment:
            environment[key] = _drifted(before.get(key), environment[key])


def loses(executor: Executor, shape: LoopShape, before: dict[Key, Value]) -> bool:
    """Whether `forget` would drop lanes of a register that the last iteration has computed from itself."""
    environment = executor.state.environment
    kept = {induction.variable for induction in shape.inductions}
    return any(
        (moved := _moved_by(old, environment.get(key))) is not None and not is_warp_uniform(moved)
        for key, old in before.items()
        if key not in kept
    )


def _moved_by(before: Value | None, after: Value | None) -> Lanes | None:
    """By how much lanes differ from what they were, truth as 0 and 1; None where either is no lanes."""
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        return None
    return cast(Lanes, scalar(after)) - cast(Lanes, scalar(before))


def _drifted(before: Value | None, after: Value) -> Value:
    if isinstance(after, Pointer):
        if isinstance(before, Pointer) and before.root is after.root:
            return Pointer(after.root, scalar(_drifted(before.offset, after.offset)))
        return unknown_like(after)
    moved = _moved_by(before, after)
    if moved is not None and is_warp_uniform(moved):
        return Unknown(uniform=True, delta=cast(Lanes, scalar(after)))
    if isinstance(before, Unknown) and before.uniform and isinstance(after, Unknown) and after.uniform:
        return after
    return unknown_like(after)


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
