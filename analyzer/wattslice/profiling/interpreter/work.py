"""How much work a kernel's tree is: operations in each region."""

from __future__ import annotations

from wattslice import ir

_FREE = (
    ir.Constant,
    ir.Builtin,
    ir.Read,
    ir.AddressOf,
    ir.Text,
    ir.Construct,
    ir.Extract,
    ir.InlinedCall,
)


def operations_by_region(kernel: ir.Kernel) -> list[int]:
    """By region: operators, accesses, conversions, assignments and calls that one execution of it makes."""
    counts = [0] * kernel.region_count
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.Loop):
            if stmt.condition is not None:
                _add(counts, stmt.condition, stmt.test_region)
            if stmt.step is not None:
                _add(counts, stmt.step, stmt.step_region)
            continue
        for expr in ir.statement_expressions(stmt):
            _add(counts, expr, stmt.region)
    return counts


def _add(counts: list[int], expr: ir.Expr, region: int) -> None:
    stack = [(expr, region)]
    while stack:
        node, here = stack.pop()
        if not isinstance(node, _FREE):
            counts[here] += 1
        match node:
            case ir.Logical(left=left, right=right, right_region=inner):
                stack += [(left, here), (right, inner)]
            case ir.Select(condition=condition, then=then, otherwise=otherwise):
                stack += [
                    (condition, here),
                    (then, node.then_region),
                    (otherwise, node.otherwise_region),
                ]
            case _:
                stack += [(child, here) for child in ir.children(node)]
