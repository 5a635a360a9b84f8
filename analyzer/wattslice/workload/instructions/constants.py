"""Local variables that are constants: what the compiler puts in their place."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.rewriting import rewritten


@lru_cache(maxsize=32)
def with_constants(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with the constant in place of each variable that is declared with it and never changes.

    `if (c) continue;` becomes a branch around what is left of the body, as compilers see it.
    """
    given = ir.values_given(kernel.body)
    begun = {s.variable for s in ir.walk_statements(kernel.body) if isinstance(s, ir.Declare) and s.value}
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.InlinedCall):
            begun.update(expr.parameters)
            for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
                given.setdefault(parameter, []).append(argument)
    found = {
        variable: values[0]
        for variable, values in given.items()
        if len(values) == 1 and isinstance(values[0], ir.Constant) and variable in begun
    }
    for expr in ir.expressions_below(kernel.body) if found else ():
        if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace):
            found.pop(expr.target.variable, None)
        elif isinstance(expr, ir.AddressOf):
            found.pop(expr.variable, None)

    def constant(_: Any, new: Any) -> Any:  # noqa: ANN401 - any node
        if isinstance(new, ir.Read) and not new.place.path and new.place.variable in found:
            return replace(found[new.place.variable], span=new.span)
        return new

    changed = rewritten(kernel, constant) if found else kernel
    if changed is not kernel:
        return with_constants(changed)
    return kernel if kernel.machine_instructions else rewritten(kernel, _without_continue)


def _without_continue(_: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    if not isinstance(new, ir.Loop):
        return new
    statements = _branching(new.body.statements)
    return (
        new
        if statements is new.body.statements
        else replace(new, body=replace(new.body, statements=statements))
    )


def _branching(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The end of a loop's body, what a `continue` skips in the other arm of the `if` that it ends."""
    for at, stmt in enumerate(statements):
        if not isinstance(stmt, ir.If) or stmt.otherwise is not None or not stmt.then.statements:
            continue
        if not isinstance(stmt.then.statements[-1], ir.Continue):
            continue
        then = replace(stmt.then, statements=_branching(stmt.then.statements[:-1]))
        rest = _branching(statements[at + 1 :])
        others = ir.Block(rest, rest[0].region, rest[0].span) if rest else None
        if others is not None and not then.statements:
            condition = ir.Unary(ir.UnaryOp.NOT, stmt.condition, ir.BOOL, stmt.condition.span)
            branch = replace(stmt, condition=condition, then=others)
        else:
            branch = replace(stmt, then=then, otherwise=others)
        return (*statements[:at], branch)
    return statements
