"""A kernel with some of its nodes replaced: what a programmer would write, for the model to judge.

Regions and sites keep their numbers, so that the execution profile of the kernel holds for the new one.
`loops_around`, `changed_in`: which loop a region runs in, and what a loop changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.accesses import register_assignments
from wattslice.ir.walking import child_regions, expression_regions

_NODES = (*ir.Expr.__args__, *ir.Stmt.__args__, ir.MemoryPlace, ir.Case)
_PARTS: dict[type[Any], tuple[str, ...]] = {
    node: tuple(name for name in node.__struct_fields__ if name not in ("span", "type", "operand_type"))
    for node in _NODES
}

Change = Callable[[Any, Any], Any]
"""Given a node and what has become of it once its parts were changed; gives the node to put in its place."""


def rewritten(kernel: ir.Kernel, change: Change) -> ir.Kernel:
    """`kernel` with every node of its body put through `change`, parts first."""
    return replace(kernel, body=_rewritten(kernel.body, change))


def _rewritten(node: Any, change: Change) -> Any:  # noqa: ANN401 - any node
    if isinstance(node, tuple):
        parts = tuple([_rewritten(part, change) for part in node])  # pyright: ignore[reportUnknownVariableType]
        return parts if any(a is not b for a, b in zip(parts, node, strict=True)) else node  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    names = _PARTS.get(cast("type[Any]", type(node)))
    if names is None:
        return node
    changed: dict[str, Any] = {}
    for name in names:
        part = getattr(node, name)
        if type(part) is tuple or type(part) in _PARTS:
            new = _rewritten(part, change)
            if new is not part:
                changed[name] = new
    return change(node, replace(node, **changed) if changed else node)


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
