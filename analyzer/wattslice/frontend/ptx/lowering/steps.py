"""The steps of a loop's counters, taken out of its body to where a `for` has them.

So the estimate of instructions sees counters as in a CUDA source: an unrolled loop steps them once.
"""

from __future__ import annotations

from dataclasses import replace

from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Block,
    Constant,
    Expr,
    ExprStmt,
    Read,
    RegisterPlace,
    Stmt,
    Variable,
    expressions_below,
)


def steps_apart(body: list[Stmt]) -> tuple[list[Stmt], Expr | None]:
    """The body without the constant steps of registers that it does not read any more, and these steps.

    Looked at is the last block, which runs in every iteration; the loop's test comes behind the steps.
    """
    last = body[-1] if body else None
    if not isinstance(last, Block) or last.is_breakable:
        return body, None
    kept: list[Stmt] = []
    steps: list[Expr] = []
    used: set[Variable] = set()
    for stmt in reversed(last.statements):
        stepped = _stepped(stmt)
        if stepped is not None and stepped not in used and isinstance(stmt, ExprStmt):
            steps.insert(0, stmt.expr)
        else:
            kept.insert(0, stmt)
        used |= _registers(stmt)
    if not steps:
        return body, None
    step = steps[0]
    for other in steps[1:]:
        step = Binary(BinaryOp.COMMA, step, other, other.type, other.type, other.span)
    return [*body[:-1], replace(last, statements=tuple(kept))], step


def _stepped(stmt: Stmt) -> Variable | None:
    """The integer register that a statement moves by a constant."""
    match stmt:
        case ExprStmt(
            expr=Assign(
                target=RegisterPlace(variable=variable, path=()),
                op=None,
                value=Binary(
                    op=BinaryOp.ADD, left=Read(place=RegisterPlace(variable=read, path=())), right=Constant()
                ),
            )
        ) if read is variable and variable.type.is_integral:
            return variable
        case _:
            return None


def _registers(stmt: Stmt) -> set[Variable]:
    """The registers that a statement reads or writes."""
    found: set[Variable] = set()
    for expr in expressions_below(stmt):
        if isinstance(expr, Read):
            found.add(expr.place.variable)
        elif isinstance(expr, Assign) and isinstance(expr.target, RegisterPlace):
            found.add(expr.target.variable)
    return found
