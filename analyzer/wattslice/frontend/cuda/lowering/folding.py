"""Constant subtrees: literals and known values are computed when the tree is built."""

from __future__ import annotations

from wattslice.ir import Binary, BinaryOp, Cast, Constant, Expr, Span, Type, TypeKind, Unary, UnaryOp
from wattslice.ir.c_arithmetic import converted, fold


def binary(op: BinaryOp, left: Expr, right: Expr, operand_type: Type, type_: Type, span: Span) -> Expr:
    """`left op right`, folded when both sides are constants (and the result is defined)."""
    if isinstance(left, Constant) and isinstance(right, Constant) and operand_type.lanes == 1:
        value = fold(op, left.value, right.value, operand_type)
        result = None if value is None else converted(value, type_)
        if result is not None:
            return Constant(result, type_, span)
    return Binary(op, left, right, operand_type, type_, span)


def unary(op: UnaryOp, operand: Expr, type_: Type, span: Span) -> Expr:
    """A unary operation, folded on constants."""
    if isinstance(operand, Constant) and type_.lanes == 1:
        value = folded_unary(op, operand.value, type_)
        if value is not None:
            return Constant(value, type_, span)
    return Unary(op, operand, type_, span)


def folded_unary(op: UnaryOp, value: int | float, type_: Type) -> int | float | None:
    """`op value` as an object of `type_`; None where C defines no value."""
    match op:
        case UnaryOp.NEGATE:
            return converted(-value, type_)
        case UnaryOp.NOT:
            return int(not value)
        case UnaryOp.INVERT:
            return converted(~value, type_) if isinstance(value, int) else None


def cast(operand: Expr, type_: Type, span: Span) -> Expr:
    """A conversion; none where the type stays the same, a constant where the operand is one."""
    old = operand.type
    if old is type_ or old == type_:
        return operand
    scalars = (TypeKind.BOOL, TypeKind.INT, TypeKind.FLOAT, TypeKind.POINTER)
    if isinstance(operand, Constant) and type_.lanes == 1 and type_.kind in scalars:
        value = converted(operand.value, type_)
        if value is not None:
            return Constant(value, type_, span)
    return Cast(operand, type_, span)
