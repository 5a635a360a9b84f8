"""Constant subtrees: literals and known values are computed when the tree is built."""

from __future__ import annotations

import math

from wattslice.frontend.lowering.names import wrapped
from wattslice.ir import (
    COMPARISONS,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    Span,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
)

_MOST_SHIFT = 127


def binary(op: BinaryOp, left: Expr, right: Expr, operand_type: Type, type_: Type, span: Span) -> Expr:
    """`left op right`, folded when both sides are constants (and the result is defined)."""
    if isinstance(left, Constant) and isinstance(right, Constant) and operand_type.lanes == 1:
        value = fold(op, wrapped(left.value, operand_type), wrapped(right.value, operand_type), operand_type)
        if value is not None:
            return Constant(wrapped(value, type_), type_, span)
    return Binary(op, left, right, operand_type, type_, span)


def fold(op: BinaryOp, a: int | float, b: int | float, type_: Type) -> int | float | None:
    """The value of `a op b` in C; None when it is undefined or not a number."""
    if op in COMPARISONS:
        return int(_compare(op, a, b))
    if op is BinaryOp.COMMA:
        return b
    if type_.kind is TypeKind.FLOAT:
        return _fold_float(op, float(a), float(b))
    return _fold_int(op, int(a), int(b))


def _compare(op: BinaryOp, a: int | float, b: int | float) -> bool:
    match op:
        case BinaryOp.LT:
            return a < b
        case BinaryOp.LE:
            return a <= b
        case BinaryOp.GT:
            return a > b
        case BinaryOp.GE:
            return a >= b
        case BinaryOp.EQ:
            return a == b
        case _:
            return a != b


def _fold_float(op: BinaryOp, a: float, b: float) -> float | None:
    try:
        match op:
            case BinaryOp.ADD:
                return a + b
            case BinaryOp.SUB:
                return a - b
            case BinaryOp.MUL:
                return a * b
            case BinaryOp.DIV:
                return a / b if b else None
            case _:
                return None
    except OverflowError:
        return None


def _fold_int(op: BinaryOp, a: int, b: int) -> int | None:
    match op:
        case BinaryOp.ADD:
            return a + b
        case BinaryOp.SUB:
            return a - b
        case BinaryOp.MUL:
            return a * b
        case BinaryOp.DIV:
            return _exact_quotient(a, b)
        case BinaryOp.MOD:
            quotient = _exact_quotient(a, b)
            return None if quotient is None else a - quotient * b
        case BinaryOp.SHL:
            return a << b if 0 <= b <= _MOST_SHIFT else None
        case BinaryOp.SHR:
            return a >> b if 0 <= b <= _MOST_SHIFT else None
        case BinaryOp.AND:
            return a & b
        case BinaryOp.OR:
            return a | b
        case BinaryOp.XOR:
            return a ^ b
        case _:
            return None


def _exact_quotient(a: int, b: int) -> int | None:
    """Division that rounds towards zero, as C does."""
    if b == 0:
        return None
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def unary(op: UnaryOp, operand: Expr, type_: Type, span: Span) -> Expr:
    """A unary operation, folded on constants."""
    if isinstance(operand, Constant) and type_.lanes == 1:
        value = operand.value
        match op:
            case UnaryOp.NEGATE:
                return Constant(wrapped(-value, type_), type_, span)
            case UnaryOp.NOT:
                return Constant(int(not value), type_, span)
            case UnaryOp.INVERT:
                return Constant(wrapped(~int(value), type_), type_, span)
    return Unary(op, operand, type_, span)


def cast(operand: Expr, type_: Type, span: Span) -> Expr:
    """A conversion; none where the type stays the same, a constant where the operand is one."""
    old = operand.type
    if old is type_ or old == type_:
        return operand
    if isinstance(operand, Constant) and type_.lanes == 1:
        if type_.kind is TypeKind.BOOL:
            return Constant(int(operand.value != 0), type_, span)
        if type_.kind in (TypeKind.INT, TypeKind.FLOAT):
            if isinstance(operand.value, float) and not math.isfinite(operand.value) and type_.is_integral:
                return Cast(operand, type_, span)
            return Constant(wrapped(operand.value, type_), type_, span)
        if type_.kind is TypeKind.POINTER:
            return Constant(int(operand.value), type_, span)
    return Cast(operand, type_, span)
