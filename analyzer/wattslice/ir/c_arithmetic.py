"""Arithmetic of C on plain numbers: the one place where integers wrap, divide and shift.

Conversions are those of C11 6.3.1, operators those of 6.5. Signed overflow, which C leaves undefined, wraps
as the hardware does.
"""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable
from ctypes import c_float
from typing import Any

from wattslice import ir

COMPARE: dict[ir.BinaryOp, Callable[[Any, Any], Any]] = {
    ir.BinaryOp.LT: operator.lt,
    ir.BinaryOp.LE: operator.le,
    ir.BinaryOp.GT: operator.gt,
    ir.BinaryOp.GE: operator.ge,
    ir.BinaryOp.EQ: operator.eq,
    ir.BinaryOp.NE: operator.ne,
}
"""The comparisons, of numbers and of arrays alike."""


EXACT: dict[ir.BinaryOp, Callable[[Any, Any], Any]] = {
    ir.BinaryOp.ADD: operator.add,
    ir.BinaryOp.SUB: operator.sub,
    ir.BinaryOp.MUL: operator.mul,
    ir.BinaryOp.AND: operator.and_,  # pyright: ignore[reportUnknownMemberType]
    ir.BinaryOp.OR: operator.or_,  # pyright: ignore[reportUnknownMemberType]
    ir.BinaryOp.XOR: operator.xor,  # pyright: ignore[reportUnknownMemberType]
}
"""What is the same modulo 2**n whether integers are signed or not."""

_SHIFTS = (ir.BinaryOp.SHL, ir.BinaryOp.SHR)


def wrapped(value: int, type_: ir.Type) -> int:
    """`value` reduced to the range of an integer type (two's complement); other types leave it alone."""
    bits = type_.bits
    if type_.kind is ir.TypeKind.INT and bits:
        low = -(1 << (bits - 1)) if type_.signed else 0
        return ((value - low) & ((1 << bits) - 1)) + low
    return int(value != 0) if type_.kind is ir.TypeKind.BOOL else value


def converted(value: int | float, type_: ir.Type) -> int | float | None:
    """`value` as an object of the scalar `type_` holds it; None for what no integer can be made of."""
    if type(value) is int and type_.kind is ir.TypeKind.INT:  # mostly
        return wrapped(value, type_)
    if type_.is_float:
        try:
            return _rounded(float(value), type_)
        except OverflowError:
            return None
    if type_.kind is ir.TypeKind.BOOL:
        return int(value != 0)
    if isinstance(value, float) and type_.kind in (ir.TypeKind.INT, ir.TypeKind.POINTER):
        if not math.isfinite(value):
            return None
        value = int(value)
    return wrapped(value, type_) if isinstance(value, int) else value


def _rounded(value: float, type_: ir.Type) -> float:
    """The nearest number that a type of 16 or 32 bits has."""
    if type_.bfloat or type_.bits not in (16, 32) or not math.isfinite(value):
        return value
    try:
        return struct.unpack("<e", struct.pack("<e", value))[0] if type_.bits == 16 else c_float(value).value
    except OverflowError:
        return math.copysign(math.inf, value)


def fold(op: ir.BinaryOp, a: int | float, b: int | float, type_: ir.Type) -> int | float | None:
    """`a op b` carried out in `type_`; a type that is no number's leaves integers unbounded.

    None where C defines no value: division by zero, a shift by less than 0 or by the width and more, bits
    of a floating-point number.
    """
    if op is ir.BinaryOp.COMMA:
        return b
    exact = EXACT.get(op)
    if type_.kind is ir.TypeKind.INT and isinstance(a, int) and isinstance(b, int):  # nearly always
        if exact is not None:
            return wrapped(exact(a, b), type_)
        left, right = wrapped(a, type_), b if op in _SHIFTS else wrapped(b, type_)
    else:
        left, right = converted(a, type_), b if op in _SHIFTS else converted(b, type_)
        if left is None or right is None:
            return None
    compare = COMPARE.get(op)
    if compare is not None:
        return int(compare(left, right))
    if isinstance(left, float) or isinstance(right, float):
        real = _fold_real(op, float(left), float(right))
        return None if real is None else _rounded(real, type_)
    value = _divide_or_shift(op, left, right, type_.bits or 64) if exact is None else exact(left, right)
    return None if value is None else wrapped(value, type_)


def _fold_real(op: ir.BinaryOp, a: float, b: float) -> float | None:
    if op is ir.BinaryOp.DIV:
        return a / b if b else None
    return EXACT[op](a, b) if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL) else None


def _divide_or_shift(op: ir.BinaryOp, a: int, b: int, bits: int) -> int | None:
    match op:
        case ir.BinaryOp.DIV if b:
            return _quotient(a, b)
        case ir.BinaryOp.MOD if b:
            return a - _quotient(a, b) * b
        case ir.BinaryOp.SHL if 0 <= b < bits:
            return a << b
        case ir.BinaryOp.SHR if 0 <= b < bits:
            return a >> b
        case _:
            return None


def _quotient(a: int, b: int) -> int:
    """Division that rounds towards zero."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient
