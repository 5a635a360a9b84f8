"""Closed forms: how often a loop runs, and a counter's value at any iteration."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.values import (
    VARYING,
    Lanes,
    Number,
    Scalar,
    Unknown,
    binary,
    convert,
    fits_int64,
    scalar,
    select,
    unknown_of,
)
from wattslice.ir.c_arithmetic import COMPARE, wrapped
from wattslice.ir.loops import constant_trips, whole_limit

MAX_GEOMETRIC_TRIPS = 128
"""Halving or doubling a 64-bit counter ends after at most 64 steps; twice that is certainly stuck."""

MAX_REAL_TRIPS = 1 << 22
"""Steps of a floating-point counter that are followed; a float that steps by one stops at 2**24."""

_ACCUMULATES = {
    ir.BinaryOp.ADD: np.add,
    ir.BinaryOp.SUB: np.subtract,
    ir.BinaryOp.MUL: np.multiply,
    ir.BinaryOp.DIV: np.divide,
}
_TYPES = {32: np.float32, 64: np.float64}


def value_at(
    start: Scalar, op: ir.BinaryOp, amount: Scalar, iteration: int | Lanes, type_: ir.Type = ir.INT64
) -> Scalar:
    """The counter of `type_` at the start of `iteration` (0-based) when each applies `op amount`."""
    if type_.is_float:
        return _real_at(start, op, amount, iteration, type_)
    is_modular = op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)
    carrier = type_ if type_.is_integral and (is_modular or type_.bits == 64) else ir.INT64
    if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.SHL, ir.BinaryOp.SHR):
        total = scalar(binary(ir.BinaryOp.MUL, amount, iteration, ir.INT64))
    elif isinstance(iteration, int) and isinstance(amount, int) and 0 <= iteration <= MAX_GEOMETRIC_TRIPS:
        total = amount**iteration
        if op is ir.BinaryOp.DIV and wrapped(total, carrier) != total:
            return Unknown(uniform=False)
    else:
        return Unknown(uniform=False)
    value = binary(op, start, total, carrier)
    return scalar(value if carrier is type_ else convert(value, type_))


def _real_at(
    start: Scalar, op: ir.BinaryOp, amount: Scalar, iteration: int | Lanes, type_: ir.Type
) -> Scalar:
    """A floating-point counter, rounded after each step; unknown where lanes differ and it is far."""
    last = int(np.max(iteration))
    if isinstance(iteration, int) and last <= MAX_REAL_TRIPS:
        steps = _steps(start, op, amount, last + 1, type_)
        if steps is not None:
            return float(steps[-1])
    if last > MAX_GEOMETRIC_TRIPS:
        return unknown_of(start, amount) if isinstance(iteration, int) else VARYING
    value = start
    for k in range(last):
        stepped = scalar(binary(op, value, amount, type_))
        value = stepped if isinstance(iteration, int) else scalar(select(iteration > k, stepped, value))
    return value


def _steps(
    start: Scalar, op: ir.BinaryOp, amount: Scalar, number: int, type_: ir.Type
) -> NDArray[np.floating[Any]] | None:
    """The first `number` values of a counter, each rounded; None where lanes differ or it is a vector."""
    ufunc, dtype = _ACCUMULATES.get(op), _TYPES.get(type_.bits or 0)
    if ufunc is None or dtype is None or type_.lanes > 1:
        return None
    if not isinstance(start, int | float) or not isinstance(amount, int | float):
        return None
    steps = np.full(number, amount, dtype)
    steps[0] = start
    with np.errstate(all="ignore"):
        return ufunc.accumulate(steps)  # one after the other, each rounded


def trip_count(
    start: Scalar,
    op: ir.BinaryOp,
    amount: Scalar,
    comparison: ir.BinaryOp,
    limit: Scalar,
    type_: ir.Type = ir.INT64,
) -> int | Lanes | None:
    """Iterations of `for (v = start; v comparison limit; v = v op amount)`, per lane where lanes differ.

    `type_`: that of the counter. None when an operand is unknown or only an unsigned 64-bit integer, or when
    the loop does not end.
    """
    if isinstance(start, Unknown) or isinstance(amount, Unknown) or isinstance(limit, Unknown):
        return None
    if not (fits_int64(start) and fits_int64(amount) and fits_int64(limit)):
        return None
    if type_.is_float:
        return _real_trips(start, op, amount, comparison, limit, type_)
    if isinstance(limit, float):
        limit = limit if (whole := whole_limit(comparison, limit)) is None else whole
    if op is ir.BinaryOp.SUB:
        op, amount = ir.BinaryOp.ADD, -amount
    if op is ir.BinaryOp.ADD:
        return _arithmetic(start, amount, comparison, limit)
    return _stepwise(start, op, amount, comparison, limit)


def _real_trips(
    start: int | float | Lanes,
    op: ir.BinaryOp,
    amount: int | float | Lanes,
    comparison: ir.BinaryOp,
    limit: int | float | Lanes,
    type_: ir.Type,
) -> int | Lanes | None:
    """Runs a floating-point counter alone, rounded after each step as the type rounds.

    None where lanes differ (and no closed form of theirs is exact), or when it still runs after
    MAX_REAL_TRIPS steps.
    """
    head, trips = start, 0
    for chunk in (64, MAX_REAL_TRIPS):
        values = _steps(head, op, amount, chunk, type_)
        if values is None or isinstance(limit, np.ndarray):
            return None if type_.lanes > 1 else _stepwise(start, op, amount, comparison, limit, type_)
        fails = np.flatnonzero(~COMPARE[comparison](values.astype(np.float64), limit))
        if fails.size:
            return trips + int(fails[0])
        trips += chunk - 1
        head = float(values[-1])
    return None


def _arithmetic(
    start: int | float | Lanes,
    amount: int | float | Lanes,
    comparison: ir.BinaryOp,
    limit: int | float | Lanes,
) -> int | Lanes | None:
    if isinstance(start, float) or isinstance(limit, float) or isinstance(amount, float):
        return _stepwise(start, ir.BinaryOp.ADD, amount, comparison, limit)
    if isinstance(start, int) and isinstance(limit, int):
        if isinstance(amount, int):
            return constant_trips(start, amount, comparison, limit)
        if not COMPARE[comparison](start, limit):
            return 0
    distance = limit - start
    if comparison in (ir.BinaryOp.GT, ir.BinaryOp.GE):
        distance, amount = -distance, -amount
    match comparison:
        case ir.BinaryOp.LT | ir.BinaryOp.GT:
            needed = distance
        case ir.BinaryOp.LE | ir.BinaryOp.GE:
            needed = distance + 1
        case ir.BinaryOp.NE:
            if not isinstance(amount, int) or amount == 0 or bool(np.any(distance % amount)):
                return None
            trips = distance // amount
            return None if bool(np.any(np.asarray(trips) < 0)) else trips
        case _:  # ==: runs once where it holds, because the counter then moves away
            if bool(np.any(np.asarray(amount) == 0)):
                return None
            return int(distance == 0) if isinstance(distance, int) else (distance == 0).astype(np.int64)
    needed, amount = np.asarray(needed), np.asarray(amount)
    if bool(np.any((needed > 0) & (amount <= 0))):
        return None
    return np.where(needed > 0, -(-needed // np.maximum(amount, 1)), 0)


def _stepwise(
    start: int | float | Lanes,
    op: ir.BinaryOp,
    amount: int | float | Lanes,
    comparison: ir.BinaryOp,
    limit: int | float | Lanes,
    type_: ir.Type = ir.INT64,
) -> int | Lanes | None:
    """Runs the counter alone; None when it is still running after MAX_GEOMETRIC_TRIPS steps."""
    holds = COMPARE[comparison]
    value: Number | Lanes = start
    trips: int | Lanes = 0
    running = holds(value, limit)
    for _ in range(MAX_GEOMETRIC_TRIPS):
        if not np.any(running):
            return int(trips) if isinstance(trips, int) else trips
        trips = _add(trips, running)
        if op in (ir.BinaryOp.MUL, ir.BinaryOp.SHL) and _overflows(value, op, amount, np.asarray(running)):
            return None
        stepped = scalar(binary(op, value, amount, type_))
        if isinstance(stepped, Unknown):
            return None
        value = stepped
        running = running & holds(value, limit)
    return None


def _add(trips: int | Lanes, running: object) -> int | Lanes:
    """One more iteration where `running` holds."""
    if isinstance(running, np.ndarray):
        more: Lanes = np.asarray(running, np.int64)
        return trips + more
    return trips + int(bool(running))


def _overflows(value: Number | Lanes, op: ir.BinaryOp, amount: Number | Lanes, running: bool | Lanes) -> bool:
    """True when the next step leaves 64 bits in a lane that runs: the counter's own width decides then."""
    factor = amount if op is ir.BinaryOp.MUL else np.exp2(amount)
    leaves = np.abs(np.multiply(value, factor, dtype=np.float64)) >= 2.0**63
    return bool(np.any(np.logical_and(running, leaves)))
