"""Building blocks of expressions: casts, strides of arrays, unknown calls, roots of addresses."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from wattslice import ir
from wattslice.frontend.c.types import (
    common,
)
from wattslice.ir import BinaryOp, Span, Type, TypeKind
from wattslice.ir.c_arithmetic import converted

Dimensions = tuple["int | ir.Expr | None", ...]


def opaque(name: str, arguments: list[ir.Expr], type_: Type, span: Span) -> ir.Expr:
    """A call whose cost and value are unknown."""
    return ir.Intrinsic(name, tuple(arguments), (), ir.Semantics.OPAQUE, True, type_, span)


def constant_dimensions(type_: Type) -> Dimensions:
    """The lengths of an array type, outermost first."""
    found: list[int | ir.Expr | None] = []
    while type_.kind is TypeKind.ARRAY and type_.element is not None:
        found.append(type_.length)
        type_ = type_.element
    return tuple(found)


def stride_of(element: Type, dimensions: Dimensions, span: Span) -> tuple[Dimensions, int, ir.Expr | None]:
    """Distance of neighbours: dimensions of the element, bytes, and a run-time factor (VLA) or None."""
    if element.kind is not TypeKind.ARRAY:
        return constant_dimensions(element), element.size_bytes, None
    scale, factor = 1, None
    for dimension in dimensions:
        if isinstance(dimension, int):
            scale *= dimension
        elif dimension is not None:
            if factor is None:
                factor = dimension
            else:
                type_ = common(factor.type, dimension.type)
                factor = ir.Binary(BinaryOp.MUL, factor, dimension, type_, type_, span)
    inner = element
    while inner.kind is TypeKind.ARRAY and inner.element is not None:
        inner = inner.element
    return dimensions, scale * inner.size_bytes, factor


def cast_to(expr: ir.Expr, type_: Type, span: Span) -> ir.Expr:
    """`expr` converted to `type_` where that changes it."""
    source = expr.type
    scalars = (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL)
    if source.kind not in scalars or type_.kind not in scalars:
        return expr
    if (source.kind, source.bits, source.signed) == (type_.kind, type_.bits, type_.signed):
        return expr
    if isinstance(expr, ir.Constant):
        value = converted(expr.value, type_)
        if value is not None:
            return ir.Constant(value, type_, expr.span)
    return ir.Cast(expr, type_, span)


def root_of(expr: ir.Expr) -> ir.Variable | None:
    """The variable that an address is derived from, when that is evident."""
    while True:
        match expr:
            case ir.PointerOffset(pointer=pointer):
                expr = pointer
            case ir.Cast(operand=operand):
                expr = operand
            case ir.AddressOf(variable=variable):
                return variable
            case ir.Read(place=place):
                return place.variable
            case ir.Load(place=place):
                return place.root
            case _:
                return None
