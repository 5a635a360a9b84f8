"""Known values of recursive functions' arguments: they decide where the recursion ends."""

from __future__ import annotations

from wattslice.frontend.cuda.lowering.context import Body
from wattslice.frontend.cuda.lowering.folding import folded_unary
from wattslice.ir import Binary, Cast, Constant, Expr, Logical, LogicalOp, Read, Unary
from wattslice.ir.c_arithmetic import converted, fold


def known_value(body: Body, expr: Expr) -> int | float | None:
    """The value of an expression over constants and known parameters; None when it is not known."""
    match expr:
        case Constant(value=value):
            return value
        case Read(place=place):
            return None if place.path else body.known.get(place.variable)
        case Cast(operand=operand, type=type_):
            value = known_value(body, operand)
            return None if value is None or type_.lanes > 1 else converted(value, type_)
        case Unary(op=op, operand=operand, type=type_):
            value = known_value(body, operand)
            return None if value is None else folded_unary(op, value, type_)
        case Binary(op=op, left=left, right=right, operand_type=type_):
            a, b = known_value(body, left), known_value(body, right)
            return None if a is None or b is None else fold(op, a, b, type_)
        case Logical(op=op, left=left, right=right):
            a, b = known_value(body, left), known_value(body, right)
            if a is None or b is None:
                return None
            return int(bool(a) and bool(b)) if op is LogicalOp.AND else int(bool(a) or bool(b))
        case _:
            return None
