"""Which loop a region runs in, and what a loop changes."""

from __future__ import annotations

from functools import lru_cache

from wattslice import ir
from wattslice.ir.accesses import register_assignments
from wattslice.ir.walking import child_regions, expression_regions


@lru_cache(maxsize=4)
def loops_around(kernel: ir.Kernel) -> dict[int, ir.Loop]:
    """The innermost loop around each region that runs in one; tests and steps run in their loop."""
    found: dict[int, ir.Loop] = {}
    statements: list[tuple[ir.Stmt, ir.Loop | None]] = [(kernel.body, None)]

    def note(region: int, loop: ir.Loop | None) -> None:
        if loop is not None:
            found[region] = loop

    while statements:
        stmt, loop = statements.pop()
        note(stmt.region, loop)
        inside = loop
        if isinstance(stmt, ir.Loop):
            inside = stmt
            statements += ((part, loop) for part in stmt.init)
            statements.append((stmt.body, stmt))
            note(stmt.test_region, stmt)
            note(stmt.step_region, stmt)
        else:
            statements += ((part, loop) for part in ir.nested_statements(stmt))
        stack = list(expression_regions(stmt))
        while stack:
            node, region = stack.pop()
            note(region, inside)
            if isinstance(node, ir.InlinedCall):
                statements.append((node.body, inside))
            stack.extend(child_regions(node, region))
    return found


@lru_cache(maxsize=64)
def changed_in(loop: ir.Loop) -> frozenset[ir.Variable]:
    """Registers that an iteration of `loop` may give another value, its own declarations included."""
    assigned = (target for target, _ in register_assignments(loop))
    stepped = (
        node.target.variable
        for node in ir.expressions_below(loop)
        if isinstance(node, ir.Increment) and isinstance(node.target, ir.RegisterPlace)
    )
    declared = (stmt.variable for stmt in ir.walk_statements(loop.body) if isinstance(stmt, ir.Declare))
    return frozenset((*assigned, *stepped, *declared))
