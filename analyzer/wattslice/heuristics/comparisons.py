"""What a comparison says of itself: the pointer and the opcode heuristic."""

from __future__ import annotations

from wattslice.heuristics.rates import Heuristic, Opinion
from wattslice.ir import Binary, BinaryOp, Cast, Constant, Expr, Read, TypeKind, Variable

_EQUALITY = {BinaryOp.EQ: False, BinaryOp.NE: True}
_MIRRORED = {
    BinaryOp.LT: BinaryOp.GT,
    BinaryOp.LE: BinaryOp.GE,
    BinaryOp.GT: BinaryOp.LT,
    BinaryOp.GE: BinaryOp.LE,
}
_AGAINST_ZERO = {BinaryOp.LT: False, BinaryOp.LE: False, BinaryOp.GT: True, BinaryOp.GE: True}


def comparison_opinion(expr: Binary) -> Opinion | None:
    """What the comparison `expr` says of its own outcome; None for what is none, or says nothing.

    Two floating-point numbers count as unequal whatever they are (Ball & Larus), integers when one of them is
    a constant. `if (flag)` is no comparison: nothing is known of flags.
    """
    left, right, op = _bare(expr.left), _bare(expr.right), expr.op
    if op in _EQUALITY:
        holds = _EQUALITY[op]
        if TypeKind.POINTER in (left.type.kind, right.type.kind):
            return Opinion(Heuristic.POINTER, holds)
        if expr.operand_type.is_float or isinstance(left, Constant) or isinstance(right, Constant):
            return Opinion(Heuristic.OPCODE, holds)
        return None
    if op not in _MIRRORED or not expr.operand_type.is_integral:
        return None
    if _is_zero(left):
        left, right, op = right, left, _MIRRORED[op]
    return Opinion(Heuristic.OPCODE, _AGAINST_ZERO[op]) if _is_zero(right) else None


def compared_registers(expr: Binary) -> tuple[Variable, ...]:
    """The registers that a comparison looks at, for the guard heuristic."""
    sides = (_bare(expr.left), _bare(expr.right))
    return tuple(side.place.variable for side in sides if isinstance(side, Read))


def _bare(expr: Expr) -> Expr:
    """`expr` without conversions around it."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Constant) and expr.value == 0
