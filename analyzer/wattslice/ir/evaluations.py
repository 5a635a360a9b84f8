"""Everything in a kernel that costs something, with its region: walked once, read by every stage."""

from __future__ import annotations

from functools import lru_cache

from wattslice.ir import (
    AddressOf,
    Builtin,
    Constant,
    Declare,
    Expr,
    If,
    InlinedCall,
    Kernel,
    Logical,
    Loop,
    Read,
    Select,
    Stmt,
    Switch,
    children,
    nested_statements,
    statement_expressions,
)

LEAVES: frozenset[type[Expr]] = frozenset({Constant, Builtin, Read, AddressOf})
"""Expressions without sub-expressions, which cost nothing: half of all."""

Evaluation = tuple[Stmt | Expr, int]
"""An expression, or a statement that decides (`if`, `switch`, loop) or declares, and its region."""


@lru_cache(maxsize=4)
def evaluations(kernel: Kernel) -> tuple[Evaluation, ...]:
    """All statements that decide or declare, all expressions but leaves, bodies of inlined calls included.

    In no particular order, but always the same. Kept for the last few kernels, since every stage asks.
    """
    found: list[Evaluation] = []
    statements: list[Stmt] = [kernel.body]
    while statements:
        stmt = statements.pop()
        if isinstance(stmt, Declare):
            found.append((stmt, stmt.region))
        elif (region := decision_region(stmt)) is not None:
            found.append((stmt, region))
        stack = list(expression_regions(stmt))
        while stack:
            expr, region = pair = stack.pop()
            kind = type(expr)
            if kind in LEAVES:
                continue
            found.append(pair)
            if kind is Logical or kind is Select:
                stack.extend(child_regions(expr, region))
                continue
            if isinstance(expr, InlinedCall):
                statements.append(expr.body)
            stack.extend([(child, region) for child in children(expr)])
        statements.extend(nested_statements(stmt))
    return tuple(found)


def child_regions(expr: Expr, region: int) -> tuple[tuple[Expr, int], ...]:
    """The sub-expressions of `expr`, each with the region it runs in when `expr` runs in `region`."""
    if isinstance(expr, Logical):
        return ((expr.left, region), (expr.right, expr.right_region))
    if isinstance(expr, Select):
        return (
            (expr.condition, region),
            (expr.then, expr.then_region),
            (expr.otherwise, expr.otherwise_region),
        )
    return tuple([(child, region) for child in children(expr)])


def expression_regions(stmt: Stmt) -> tuple[tuple[Expr, int], ...]:
    """The expressions a statement holds directly, each with the region it runs in."""
    if isinstance(stmt, Loop):
        parts = ((stmt.condition, stmt.test_region), (stmt.step, stmt.step_region))
        return tuple((expr, region) for expr, region in parts if expr is not None)
    found = statement_expressions(stmt)
    return ((found[0], stmt.region),) if found else ()


def decision_region(stmt: Stmt) -> int | None:
    """Where the decision is made that `if`, `switch` and loops with a test consist in; None for others."""
    if isinstance(stmt, Loop):
        return None if stmt.condition is None else stmt.test_region
    return stmt.region if isinstance(stmt, If | Switch) else None
