"""Induction variables: updated once an iteration by an amount that the loop does not change."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wattslice import ir
from wattslice.counting.syntax import Key, key_of, read_variable, strip_casts


@dataclass(frozen=True, slots=True, eq=False)
class Induction:
    """`variable = variable op amount` once an iteration (`amount` in bytes for pointers: times `scale`)."""

    variable: ir.Variable
    op: ir.BinaryOp
    amount: ir.Expr | int
    scale: int


_UPDATES = frozenset(
    {
        ir.BinaryOp.ADD,
        ir.BinaryOp.SUB,
        ir.BinaryOp.MUL,
        ir.BinaryOp.DIV,
        ir.BinaryOp.SHL,
        ir.BinaryOp.SHR,
    }
)


def assignments(nodes: list[ir.Expr], body: ir.Stmt) -> Counter[Key]:
    """How many times each register is written, textually."""
    written: Counter[Key] = Counter()
    for node in nodes:
        if isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
            written[key_of(node.target)] += 1
            if node.target.path:
                written[node.target.variable] += 1
        elif isinstance(node, ir.InlinedCall):
            written.update(node.parameters)
    for stmt in ir.walk_statements(body):
        if isinstance(stmt, ir.Declare):
            written[stmt.variable] += 1
    return written


def update_of(expr: ir.Expr) -> Induction | None:
    """The update `expr` makes, if it has the form of an induction step."""
    if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace) and not expr.target.path:
        return Induction(expr.target.variable, ir.BinaryOp.ADD, expr.delta, expr.step_bytes or 1)
    if not (
        isinstance(expr, ir.Assign) and isinstance(expr.target, ir.RegisterPlace) and not expr.target.path
    ):
        return None
    variable = expr.target.variable
    is_pointer = variable.type.kind is ir.TypeKind.POINTER
    if expr.op is not None:
        scale = variable.type.element.size_bytes if is_pointer and variable.type.element else 1
        return Induction(variable, expr.op, expr.value, scale) if expr.op in _UPDATES else None
    value = strip_casts(expr.value)
    if isinstance(value, ir.PointerOffset) and read_variable(value.pointer) is variable:
        if value.index is None:
            return Induction(variable, ir.BinaryOp.ADD, value.offset_bytes, 1)
        op = ir.BinaryOp.SUB if value.subtract else ir.BinaryOp.ADD
        return Induction(variable, op, value.index, value.scale_bytes) if value.offset_bytes == 0 else None
    if isinstance(value, ir.Binary) and value.op in _UPDATES:
        if read_variable(value.left) is variable:
            return Induction(variable, value.op, value.right, 1)
        if value.op in (ir.BinaryOp.ADD, ir.BinaryOp.MUL) and read_variable(value.right) is variable:
            return Induction(variable, value.op, value.left, 1)
    return None
