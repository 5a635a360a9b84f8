"""A kernel with some of its nodes replaced.

Regions and sites keep their numbers, so that the execution profile of the kernel holds for the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from msgspec.structs import replace

from wattslice import ir

_NODES = (*ir.Expr.__args__, *ir.Stmt.__args__, ir.MemoryPlace, ir.Case)
_PARTS: dict[type[Any], tuple[str, ...]] = {
    node: tuple(name for name in node.__struct_fields__ if name not in ("span", "type", "operand_type"))
    for node in _NODES
}
_OWN = ("region", "right_region", "test_region", "step_region", "site")

Node = TypeVar("Node")
Change = Callable[[Any, Any], Any]
"""Given a node and what has become of it once its parts were changed; gives the node to put in its place."""


def rewritten(kernel: ir.Kernel, change: Change) -> ir.Kernel:
    """`kernel` with every node of its body put through `change`, parts first."""
    body = rewritten_part(kernel.body, change)
    return kernel if body is kernel.body else replace(kernel, body=body)


def rewritten_part(node: Any, change: Change) -> Any:  # noqa: ANN401 - any node
    """`node` with every part of it put through `change`, then itself."""
    if isinstance(node, tuple):
        parts = tuple([rewritten_part(part, change) for part in node])  # pyright: ignore[reportUnknownVariableType]
        return parts if any(a is not b for a, b in zip(parts, node, strict=True)) else node  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    names = _PARTS.get(cast("type[Any]", type(node)))
    if names is None:
        return node
    changed: dict[str, Any] = {}
    for name in names:
        part = getattr(node, name)
        if type(part) is tuple or type(part) in _PARTS:
            new = rewritten_part(part, change)
            if new is not part:
                changed[name] = new
    return change(node, replace(node, **changed) if changed else node)


def with_values(node: Node, values: Mapping[ir.Variable, ir.Expr]) -> Node:
    """A part of a kernel with values in place of the variables that it reads, those with none as they are."""

    def value(_: Any, new: Any) -> Any:  # noqa: ANN401 - any node
        if isinstance(new, ir.Read) and not new.place.path and new.place.variable in values:
            return replace(values[new.place.variable], span=new.span)
        return new

    return rewritten_part(node, value) if values else node


def is_same_text(one: object, other: object) -> bool:
    """Whether two parts of a kernel do the same, apart from where they stand and how often they run."""
    match one, other:
        case tuple(), tuple():
            return len(one) == len(other) and all(map(is_same_text, one, other))  # pyright: ignore[reportUnknownArgumentType]
        case ir.RegisterPlace(), ir.RegisterPlace():
            return one.variable is other.variable and one.path == other.path
        case _:
            names = _PARTS.get(cast("type[Any]", type(one)))
            if names is None or type(one) is not type(other):
                return one == other
            compared = (name for name in names if name not in _OWN)
            return all(is_same_text(getattr(one, name), getattr(other, name)) for name in compared)
