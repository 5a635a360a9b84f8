"""What the outcome of a condition rests on: the kernel's parameters that may have a say in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from wattslice import ir


def parameters_behind(kernel: ir.Kernel, condition: ir.Expr) -> frozenset[ir.Variable]:
    """The parameters of `kernel` that may decide `condition`, directly or through registers.

    Conservative: the order of statements is not looked at, and what decides whether an assignment runs counts
    as one of its sources. Parameters that only tell where in memory something lies do not.
    """
    sources = _sources(kernel)
    found: set[ir.Variable] = set()
    waiting = list(_read(condition))
    while waiting:
        variable = waiting.pop()
        if variable not in found:
            found.add(variable)
            waiting.extend(sources.get(variable, ()))
    return frozenset(found.intersection(kernel.parameters))


@lru_cache(maxsize=4)
def _sources(kernel: ir.Kernel) -> dict[ir.Variable, set[ir.Variable]]:
    """What each register takes values from, or is assigned because of."""
    found: dict[ir.Variable, set[ir.Variable]] = {}
    for variable, read in _assigned(kernel.body):
        found.setdefault(variable, set()).update(read)
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.If | ir.Loop | ir.Switch):
            deciding = frozenset(_all_read(_deciding(stmt)))
            for variable, _ in _assigned(stmt):
                found.setdefault(variable, set()).update(deciding)
    return found


def _deciding(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """The conditions on which what stands in `stmt` runs; in a loop also those under which it is left."""
    if isinstance(stmt, ir.Loop):
        if stmt.condition is not None:
            yield stmt.condition
        for inner in ir.walk_statements(stmt.body):
            if isinstance(inner, ir.If) and ir.never_falls_through(inner.then):
                yield inner.condition
    else:
        yield from ir.statement_expressions(stmt)


def _assigned(stmt: ir.Stmt) -> Iterator[tuple[ir.Variable, frozenset[ir.Variable]]]:
    """Every register assigned below `stmt`, with what the assigned value reads."""
    for inner in ir.walk_statements(stmt):
        if isinstance(inner, ir.Declare) and inner.value is not None:
            yield inner.variable, frozenset(_read(inner.value))
        for expr in ir.statement_expressions(inner):
            for node in ir.walk_expressions(expr):
                if isinstance(node, ir.Assign) and isinstance(node.target, ir.RegisterPlace):
                    yield node.target.variable, frozenset(_read(node.value))
                elif isinstance(node, ir.InlinedCall):
                    for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                        yield parameter, frozenset(_read(argument))


def _all_read(exprs: Iterable[ir.Expr]) -> Iterator[ir.Variable]:
    for expr in exprs:
        yield from _read(expr)


def _read(expr: ir.Expr) -> Iterator[ir.Variable]:
    """The registers that decide the value of `expr`, of an inlined call those that its body reads."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ir.Read):
            yield node.place.variable
        elif isinstance(node, ir.InlinedCall):
            yield from _all_read(
                part for inner in ir.walk_statements(node.body) for part in ir.statement_expressions(inner)
            )
        if not isinstance(node, ir.Load | ir.Atomic | ir.TextureFetch):
            waiting.extend(ir.children(node))
