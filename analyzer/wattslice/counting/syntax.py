"""Small questions about the syntax of the IR that several parts of the evaluation ask."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from wattslice import ir

Key = ir.Variable | tuple[ir.Variable, tuple[str, ...]]
"""A register in the environment: a variable, or a member of one."""


def key_of(place: ir.RegisterPlace) -> Key:
    """The environment key of a register place."""
    return (place.variable, place.path) if place.path else place.variable


def strip_casts(expr: ir.Expr) -> ir.Expr:
    """`expr` without the casts around it."""
    while isinstance(expr, ir.Cast):
        expr = expr.operand
    return expr


def read_variable(expr: ir.Expr) -> ir.Variable | None:
    """The register variable that `expr` reads, casts aside; None for anything else."""
    expr = strip_casts(expr)
    if isinstance(expr, ir.Read) and not expr.place.path:
        return expr.place.variable
    return None


def values_given(stmt: ir.Stmt) -> dict[ir.Variable, list[ir.Expr]]:
    """The values that whole registers are given below a statement, in no particular order."""
    found: dict[ir.Variable, list[ir.Expr]] = {}
    for inner in ir.walk_statements(stmt):
        if isinstance(inner, ir.Declare) and inner.value is not None:
            found.setdefault(inner.variable, []).append(inner.value)
    for node in ir.expressions_below(stmt):
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.RegisterPlace) and not node.target.path:
            found.setdefault(node.target.variable, []).append(node.value)
    return found


def comma_parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The operands of `a, b, c`; `expr` itself when it has no comma."""
    if isinstance(expr, ir.Binary) and expr.op is ir.BinaryOp.COMMA:
        yield from comma_parts(expr.left)
        yield from comma_parts(expr.right)
    else:
        yield expr


@lru_cache(maxsize=4)
def chosen_between(kernel: ir.Kernel) -> frozenset[ir.Variable]:
    """Registers that a pointer to one of several may mean (`c ? &a : &b`): its stores change their values."""
    addresses: list[ir.Expr | None] = []
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.Select):
            addresses += (expr.then, expr.otherwise)
        elif isinstance(expr, ir.InlinedCall) and expr.type.kind is ir.TypeKind.POINTER:
            addresses += (stmt.value for stmt in ir.walk_statements(expr.body) if isinstance(stmt, ir.Return))
    return frozenset(
        address.variable
        for address in addresses
        if isinstance(address, ir.AddressOf) and address.variable.space is ir.MemorySpace.REGISTER
    )
