"""Loops that repeat a compare-and-swap until no other thread has come between it and the value it expects."""

from __future__ import annotations

from wattslice import ir
from wattslice.counting.syntax import read_variable, strip_casts, values_given


def retries_a_swap(loop: ir.Loop) -> bool:
    """Whether a loop goes on only where a compare-and-swap found another value than the one expected.

    A lock that is waited for (`while (atomicCAS(lock, 0, 1) != 0)`) expects a constant, and is none of these.
    """
    condition = loop.condition
    if loop.kind is not ir.LoopKind.DO or condition is None:
        return False
    given = values_given(loop.body)
    seen: set[ir.Variable] = set()
    waiting: list[ir.Expr] = [condition]
    is_compared = False
    while waiting:
        expr = strip_casts(waiting.pop())
        if isinstance(expr, ir.Binary) and expr.op in (ir.BinaryOp.NE, ir.BinaryOp.EQ):
            is_compared = True
            waiting += (expr.left, expr.right)
        elif isinstance(expr, ir.Atomic) and expr.op is ir.AtomicOp.CAS and is_compared:
            return not isinstance(strip_casts(expr.arguments[0]), ir.Constant)
        elif isinstance(expr, ir.Unary | ir.Intrinsic):
            waiting += ir.children(expr)
        elif (variable := read_variable(expr)) is not None and variable not in seen:
            seen.add(variable)
            waiting += given.get(variable, ())
    return False
