"""Values of the abstract evaluation: one value stands for all sampled lanes at once.

A value is a Python number (the same in every lane), a numpy array of shape (lanes,), or one of the
records below for what is only partly known. Arithmetic follows C on the given type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wattslice.ir import BinaryOp, Type, TypeKind, Variable

Lanes = NDArray[Any]  # int64, float64 or bool
Number = int | float


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """`u + delta` with an unknown u: the same u in all lanes of a warp when `uniform`.

    The known part keeps coalescing visible: in `a[row_start + threadIdx.x]` only the base is unknown.
    """

    uniform: bool
    delta: Number | Lanes = 0


@dataclass(frozen=True, slots=True, eq=False)
class Pointer:
    """An address: `root` object (None when unknown) plus an offset in bytes."""

    root: Variable | None
    offset: Number | Lanes | Unknown


@dataclass(frozen=True, slots=True, eq=False)
class Chance:
    """A truth value known only by its probability, for all lanes or per lane."""

    probability: float | NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A struct or vector value: values by member path."""

    members: tuple[tuple[tuple[str, ...], Value], ...]


Value = int | float | Lanes | Unknown | Pointer | Chance | Record
Scalar = int | float | Lanes | Unknown

VARYING = Unknown(uniform=False)
UNIFORM = Unknown(uniform=True)


def scalar(value: Value) -> Scalar:
    """`value` as a plain or unknown number; pointers, records and chances become unknown numbers."""
    if isinstance(value, Chance | Record | Pointer):
        return VARYING
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        return value.astype(np.int64)
    return value


def is_known(value: Value) -> bool:
    """True when the value is a number in every lane."""
    return isinstance(value, int | float | np.ndarray)


def is_warp_uniform(value: Value) -> bool:
    """True when all lanes of each warp hold the same value, known or not."""
    if isinstance(value, int | float):
        return True
    if isinstance(value, np.ndarray):
        rows = value.reshape(-1, 32)
        return bool((rows == rows[:, :1]).all())
    if isinstance(value, Unknown):
        return value.uniform and is_warp_uniform(value.delta)
    if isinstance(value, Pointer):
        return is_warp_uniform(value.offset)
    return False


def same(a: Value, b: Value) -> bool:
    """True when both are the same known value in every lane (or the very same object)."""
    if a is b:
        return True
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a == b
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.array_equal(a, b))
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.root is b.root and same(a.offset, b.offset)
    return False


def select(active: NDArray[np.bool_], new: Value, old: Value) -> Value:
    """`new` in the active lanes, `old` elsewhere."""
    if same(new, old):
        return new
    if isinstance(new, int | float | np.ndarray) and isinstance(old, int | float | np.ndarray):
        return np.where(active, new, old)
    if isinstance(new, Pointer) and isinstance(old, Pointer) and new.root is old.root:
        return Pointer(new.root, scalar(select(active, new.offset, old.offset)))
    return VARYING


def join(a: Value, b: Value) -> Value:
    """What is known when the value is either `a` or `b` and nobody can tell which.

    Where both differ between the lanes of a warp in the same way, that difference stays known.
    """
    if same(a, b):
        return a
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return Pointer(a.root if a.root is b.root else None, scalar(join(a.offset, b.offset)))
    delta_a, delta_b = _lane_part(a), _lane_part(b)
    if delta_a is not None and delta_b is not None and is_warp_uniform(delta_a - delta_b):
        return Unknown(uniform=True, delta=delta_a)
    return VARYING


def _lane_part(value: Value) -> Number | Lanes | None:
    """How `value` differs between lanes; None when that is unknown."""
    value = scalar(value)
    if isinstance(value, Unknown):
        return value.delta if value.uniform else None
    return value


_COMPARE = {
    BinaryOp.LT: np.less,
    BinaryOp.LE: np.less_equal,
    BinaryOp.GT: np.greater,
    BinaryOp.GE: np.greater_equal,
    BinaryOp.EQ: np.equal,
    BinaryOp.NE: np.not_equal,
}


def _divide(a: Number | Lanes, b: Number | Lanes, remainder: bool) -> Scalar:
    """C's truncating integer division or its remainder; unknown when a divisor is 0."""
    if isinstance(a, int) and isinstance(b, int):
        if b == 0:
            return VARYING
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return a - quotient * b if remainder else quotient
    left, right = np.asarray(a, np.int64), np.asarray(b, np.int64)
    if not np.all(right):
        # A lane that divides by zero is a lane masked off by the program; its value does not matter.
        right = np.where(right == 0, 1, right)
    quotient = np.abs(left) // np.abs(right) * np.where((left < 0) == (right < 0), 1, -1)
    return left - quotient * right if remainder else quotient


def wrap(value: Scalar, type_: Type) -> Scalar:
    """`value` reduced to the range of an integer type (two's complement)."""
    if not type_.is_integral or type_.bits not in (8, 16, 32):
        return value
    low, high = (
        (-(1 << (type_.bits - 1)), (1 << (type_.bits - 1)) - 1)
        if type_.signed
        else (0, (1 << type_.bits) - 1)
    )
    if isinstance(value, int):
        if low <= value <= high:
            return value
        return ((value - low) & ((1 << type_.bits) - 1)) + low
    if (
        isinstance(value, np.ndarray)
        and value.dtype == np.int64
        and (int(value.max()) > high or int(value.min()) < low)
    ):
        return ((value - low) & ((1 << type_.bits) - 1)) + low
    return value


def _unknown_binary(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar | Chance:
    """Arithmetic with at least one unknown operand: sums and known multiples keep the known part."""
    if op in _COMPARE:
        return Chance(0.5)
    uniform_a = a.uniform if isinstance(a, Unknown) else is_warp_uniform(a)
    uniform_b = b.uniform if isinstance(b, Unknown) else is_warp_uniform(b)
    delta_a = a.delta if isinstance(a, Unknown) else a
    delta_b = b.delta if isinstance(b, Unknown) else b
    if op in (BinaryOp.ADD, BinaryOp.SUB):
        # A known operand only shifts the known part, so it need not be uniform itself.
        uniform = (not isinstance(a, Unknown) or uniform_a) and (not isinstance(b, Unknown) or uniform_b)
        if uniform:
            return Unknown(True, delta_a + delta_b if op is BinaryOp.ADD else delta_a - delta_b)
        return VARYING
    if op is BinaryOp.MUL and isinstance(b, int) and uniform_a:
        return Unknown(True, delta_a * b)
    if op is BinaryOp.MUL and isinstance(a, int) and uniform_b:
        return Unknown(True, delta_b * a)
    if op is BinaryOp.SHL and isinstance(b, int) and 0 <= b < 63 and uniform_a:
        return Unknown(True, delta_a * (1 << b))
    both = uniform_a and uniform_b and is_warp_uniform(delta_a) and is_warp_uniform(delta_b)
    return UNIFORM if both else VARYING


def binary(op: BinaryOp, left: Value, right: Value, type_: Type) -> Value:
    """`left op right` carried out in `type_`."""
    a, b = scalar(left), scalar(right)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        if op is BinaryOp.COMMA:
            return right
        if op is BinaryOp.AND:  # x & 0 and the masks of power-of-two wrapping
            return UNIFORM if is_warp_uniform(a) and is_warp_uniform(b) else VARYING
        return _unknown_binary(op, a, b)
    integral = not type_.is_float
    if op in _COMPARE:
        result = cast(Lanes | np.bool_, _COMPARE[op](a, b))
        return result if isinstance(result, np.ndarray) else int(result)
    match op:
        case BinaryOp.ADD:
            return wrap(a + b, type_)
        case BinaryOp.SUB:
            return wrap(a - b, type_)
        case BinaryOp.MUL:
            return wrap(a * b, type_)
        case BinaryOp.DIV | BinaryOp.MOD if integral:
            return _divide(a, b, remainder=op is BinaryOp.MOD)
        case BinaryOp.DIV:
            if isinstance(a, int | float) and isinstance(b, int | float):
                return a / b if b else VARYING
            return VARYING
        case BinaryOp.COMMA:
            return b
        case _:
            return _bitwise(op, a, b, type_)


def _bitwise(op: BinaryOp, a: Number | Lanes, b: Number | Lanes, type_: Type) -> Scalar:
    if isinstance(a, float) or isinstance(b, float):
        return VARYING
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        if isinstance(b, int):
            if not 0 <= b < 64:
                return VARYING
        else:
            b = np.clip(b, 0, 62)
    left: int | NDArray[np.int64] = a if isinstance(a, int) else a.astype(np.int64, copy=False)
    right: int | NDArray[np.int64] = b if isinstance(b, int) else b.astype(np.int64, copy=False)
    match op:
        case BinaryOp.SHL:
            return wrap(left << right, type_)
        case BinaryOp.SHR:
            return left >> right
        case BinaryOp.AND:
            return left & right
        case BinaryOp.OR:
            return left | right
        case BinaryOp.XOR:
            return wrap(left ^ right, type_)
        case _:
            return VARYING


def truth(value: Value) -> bool | NDArray[np.bool_] | Chance:
    """The value as a condition."""
    if isinstance(value, int | float):
        return bool(value)
    if isinstance(value, np.ndarray):
        return value if value.dtype == np.bool_ else cast(NDArray[np.bool_], value != 0)
    if isinstance(value, Chance):
        return value
    if isinstance(value, Pointer):
        return True
    return Chance(0.5)


def convert(value: Value, type_: Type) -> Value:
    """`value` converted to `type_` as C does."""
    if isinstance(value, Pointer | Record | Unknown):
        return value
    if isinstance(value, Chance):
        return value if type_.is_integral else VARYING
    if type_.kind is TypeKind.BOOL:
        return int(value != 0) if isinstance(value, int | float) else value != 0
    if type_.kind is TypeKind.INT:
        if isinstance(value, float):
            return wrap(int(value), type_) if math.isfinite(value) else VARYING
        if isinstance(value, np.ndarray):
            if value.dtype == np.float64:
                if not bool(np.isfinite(value).all()):
                    return VARYING
                value = np.trunc(value)
            value = value.astype(np.int64, copy=False)
        return wrap(value, type_)
    if type_.is_float and type_.lanes == 1:
        return float(value) if isinstance(value, int | float) else value.astype(np.float64, copy=False)
    return value
