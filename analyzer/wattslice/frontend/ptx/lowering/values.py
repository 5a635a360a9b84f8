"""Values of registers and immediates: as another type, negated, and whether they may be computed later."""

from __future__ import annotations

import math
import struct
from dataclasses import replace

from wattslice.frontend.ptx.lowering.registers import (
    float_bits,
    is_same_kind,
)
from wattslice.ir import (
    BOOL,
    COMPARISONS,
    AddressOf,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    Intrinsic,
    PointerOffset,
    Read,
    Semantics,
    Span,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
    walk_expressions,
)

_OPPOSITE = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}


def is_pure(expr: Expr) -> bool:
    """Whether an expression may be computed later: it neither reads memory nor does anything."""
    for node in walk_expressions(expr):
        match node:
            case Constant() | Read() | AddressOf() | Cast() | Unary() | Binary() | PointerOffset():
                pass
            case Intrinsic(semantics=semantics, is_opaque_call=False) if semantics not in (
                Semantics.EFFECT,
                Semantics.BARRIER,
                Semantics.NONE,
            ):
                pass
            case _:
                if type(node).__name__ not in ("Builtin", "Logical", "Select"):
                    return False
    return True


def constant(value: int | float, type_: Type, span: Span) -> Constant:
    """An immediate as `type_`: integers in its range, floating-point numbers from their bits."""
    if type_.is_float:
        number = float_bits(value, type_.bits) if type_.lanes == 1 and type_.bits in (16, 32, 64) else 0.0
        if type_.bfloat:
            number = float_bits((int(value) & 0xFFFF) << 16, 32)
        return Constant(number, type_, span)
    if isinstance(value, float):
        return Constant(value if math.isfinite(value) else _bits(value, type_.bits), type_, span)
    if type_.kind is TypeKind.BOOL:
        return Constant(int(value != 0), type_, span)
    bits = type_.bits or 64
    value &= (1 << bits) - 1
    if type_.signed and type_.kind is TypeKind.INT and value >> (bits - 1):
        value -= 1 << bits
    return Constant(value, type_, span)


def _bits(value: float, bits: int) -> int:
    """An infinity or no number as the bits that an integer register holds of it."""
    wide = bits == 64
    return int.from_bytes(struct.pack(">d" if wide else ">f", value), "big", signed=True)


def as_type(value: Expr, type_: Type, span: Span) -> Expr:
    """The bits of a register read as `type_`: another sign or width, or a number of the other kind."""
    own = value.type
    if own.kind is TypeKind.POINTER or own == type_ or TypeKind.BOOL in (own.kind, type_.kind):
        return value
    if isinstance(value, Constant) and (own.is_float == type_.is_float or isinstance(value.value, int)):
        return constant(value.value, type_, span) if isinstance(value.value, int) else value
    if not is_same_kind(own, type_):
        if type_.kind is TypeKind.POINTER:
            return value
        return Intrinsic("bit_cast", (value,), (), Semantics.OPAQUE, False, type_, span)
    if own.is_float:
        return value
    if own.bits == type_.bits and own.signed == type_.signed:
        return value
    return Cast(value, type_, span)


def fitted(value: Expr, type_: Type, span: Span) -> Expr:
    """A value as a variable of `type_` holds it."""
    if value.type.kind is TypeKind.INT and type_.kind is TypeKind.INT:
        return as_type(value, type_, span)
    return value


def negated(condition: Expr) -> Expr:
    """`!condition`; integers are compared the other way round."""
    if isinstance(condition, Unary) and condition.op is UnaryOp.NOT:
        return condition.operand
    if (
        isinstance(condition, Binary)
        and condition.op in COMPARISONS
        and (not condition.operand_type.is_float or condition.op in (BinaryOp.EQ, BinaryOp.NE))
    ):
        return replace(condition, op=_OPPOSITE[condition.op])
    return Unary(UnaryOp.NOT, condition, BOOL, condition.span)
