"""Arithmetic of CUDA C++ on numpy lanes: exact widths, wrap-around, division towards zero, rounding.

What C leaves undefined does what the hardware does (PTX ISA): signed overflow wraps, a shift by the width or
more gives 0 (or the sign), a conversion to integers saturates and makes 0 of NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wattslice.ir import BinaryOp
from wattslice.profiling.interpreter.layout import Dtype, Value

Function = Callable[[Value, Value], Value]

_PLAIN: dict[BinaryOp, Function] = {
    BinaryOp.ADD: np.add,
    BinaryOp.SUB: np.subtract,
    BinaryOp.MUL: np.multiply,
    BinaryOp.AND: np.bitwise_and,
    BinaryOp.OR: np.bitwise_or,
    BinaryOp.XOR: np.bitwise_xor,
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}


def truth(value: Value) -> Value:
    """A condition as booleans."""
    return value if value.dtype == np.bool_ else value != 0


def converter(old: Dtype, new: Dtype) -> Callable[[Value], Value] | None:
    """The conversion between two types of numbers; None when there is nothing to do."""
    if old == new:
        return None
    if new == np.bool_:
        return truth
    if old.kind == "f" and new.kind in "iu":
        return lambda value: _to_integer(value, new)
    return lambda value: value.astype(new)


def _to_integer(value: Value, new: Dtype) -> Value:
    if new.itemsize < 4:  # by way of 32 bits, as the compiler does it
        return _to_integer(value, np.dtype(np.uint32 if new.kind == "u" else np.int32)).astype(new)
    limits = np.iinfo(new)
    wide = value.astype(np.float64)
    if new.itemsize == 4:
        clipped = np.clip(wide, float(limits.min), float(limits.max))
        return np.where(np.isnan(wide), 0.0, clipped).astype(new)[()]
    above = wide >= float(limits.max)
    below = np.isnan(wide) | (wide <= float(limits.min))
    inside = np.where(above | below, 0.0, wide).astype(new)
    return np.where(above, new.type(limits.max), np.where(below, new.type(limits.min), inside))[()]


def binary(op: BinaryOp, dtype: Dtype) -> Function | None:
    """`op` on two values of `dtype`; None for integer division, which needs the mask."""
    if op in (BinaryOp.DIV, BinaryOp.MOD):
        if dtype.kind == "f" and op is BinaryOp.DIV:
            return np.divide
        return None
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        return _shift(op, dtype)
    return _PLAIN[op]


def _shift(op: BinaryOp, dtype: Dtype) -> Function:
    """A shift whose count has any integer type; numpy's own wants counts of the same type."""
    bits = 8 * dtype.itemsize
    function = cast(Function, np.left_shift if op is BinaryOp.SHL else np.right_shift)

    def shift(left: Value, right: Value) -> Value:
        # A negative count is a large one: hardware reads it without sign.
        count = right.astype(np.int64)
        fits = count.view(np.uint64) < bits
        if bool(fits.all()):
            return function(left, count.astype(dtype))
        inside = function(left, np.where(fits, count, 0).astype(dtype))
        beyond = function(left, dtype.type(bits - 1)) if op is BinaryOp.SHR else dtype.type(0)
        if op is BinaryOp.SHR and dtype.kind == "u":
            beyond = dtype.type(0)
        return np.where(fits, inside, beyond)[()]

    return shift


def quotient(a: Value, b: Value) -> Value:
    """Integer division towards zero; no entry of `b` may be 0."""
    if a.dtype.kind == "u":
        return a // b
    down = a // b
    inexact = (down * b != a) & ((a < 0) != (b < 0))
    return down + inexact.astype(a.dtype)


def remainder(a: Value, b: Value) -> Value:
    """What integer division leaves: it has the sign of `a`."""
    return a % b if a.dtype.kind == "u" else np.fmod(a, b)


# --------------------------------------------------------------------------- fused multiply-add


def fused(a: Value, b: Value, c: Value) -> Value:
    """`a * b + c` of floating-point values, rounded once."""
    if a.dtype == np.float64:
        return _fused_double(a, b, c)
    # The product of two float32 is exact in float64; rounding the sum to odd makes the second rounding right
    # (Boldo & Melquiond 2008).
    wide = _sum_to_odd(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))
    return wide.astype(a.dtype)


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded sum and its error, exactly (Knuth)."""
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _sum_to_odd(a: Value, b: Value) -> Value:
    """`a + b` rounded towards zero, the last bit set when inexact."""
    total, error = _two_sum(a, b)
    bits: NDArray[Any] = np.asarray(total).view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & np.isfinite(error) & ((bits & 1) == 0)
    away = np.where((error > 0) == (total > 0), 1, -1)
    return np.where(inexact, bits + away, bits).view(np.float64)[()]


def _two_product(a: Value, b: Value) -> tuple[Value, Value]:
    """The rounded product and its error, exactly (Dekker), unless something overflows."""
    product = a * b
    a_high, a_low = _split(a)
    b_high, b_low = _split(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _split(a: Value) -> tuple[Value, Value]:
    scaled = a * np.float64(134217729.0)  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _fused_double(a: Value, b: Value, c: Value) -> Value:
    """Boldo & Melquiond 2008, "Emulation of a FMA and correctly rounded sums", algorithm 5."""
    product, product_error = _two_product(a, b)
    low_sum, low_error = _two_sum(c, product_error)
    high_sum, high_error = _two_sum(product, low_sum)
    result = high_sum + _sum_to_odd(low_error, high_error)
    exact = np.isfinite(result) & np.isfinite(product_error)
    return np.where(exact, result, a * b + c)[()]
