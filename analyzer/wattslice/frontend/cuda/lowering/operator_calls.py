"""Operators that are calls: assignment of whole records, arithmetic of the stubs' number types."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering import folding
from wattslice.frontend.cuda.lowering.context import Body, LoweringError
from wattslice.frontend.cuda.lowering.conversions import convert
from wattslice.frontend.cuda.lowering.operators import OPERATOR_NAMES, arithmetic, assign_value
from wattslice.frontend.cuda.lowering.unit import FunctionInfo
from wattslice.ir import BinaryOp, Expr, Span, TypeKind, UnaryOp


def is_plain_copy(info: FunctionInfo) -> bool:
    """An assignment that the compiler wrote, or that has no body here."""
    if info.name != "operator=":
        return False
    return info.body is None or info.is_defaulted


def assign_record(body: Body, arguments: list[Node], span: Span) -> Expr:
    """A record copied as a whole."""
    where = body.location(arguments[0])
    if where is None:
        raise LoweringError("assignment to something that is no object known here", arguments[0])
    return assign_value(body, where, None, body.expr(arguments[1]), span)


def builtin_operator(body: Body, name: str, arguments: list[Node], node: Node, span: Span) -> Expr | None:
    """Operators on half and bfloat16, which the stubs declare as functions; None for any other call."""
    type_ = body.type(node)
    op = OPERATOR_NAMES.get(name)
    if name == "operator=" and len(arguments) == 2:
        where = body.location(arguments[0])
        if where is None:
            return None
        return assign_value(body, where, None, convert(body, body.expr(arguments[1]), where.type, span), span)
    if op is None:
        return None
    if len(arguments) == 1:
        operand = body.expr(arguments[0])
        if op is BinaryOp.SUB:
            return folding.unary(UnaryOp.NEGATE, operand, type_, span)
        return operand
    if len(arguments) != 2:
        return None
    if name.endswith("=") and op not in (
        BinaryOp.EQ,
        BinaryOp.NE,
        BinaryOp.LE,
        BinaryOp.GE,
    ):
        where = body.location(arguments[0])
        if where is None:
            return None
        return assign_value(body, where, op, body.expr(arguments[1]), span)
    left, right = body.expr(arguments[0]), body.expr(arguments[1])
    if left.type.kind is TypeKind.RECORD:
        return None
    return arithmetic(body, op, left, right, type_, span)
