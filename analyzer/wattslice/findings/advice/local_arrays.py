"""PW051: a private array that is indexed at run time lives in local memory, not in registers.

Told where an index comes from a thread index, a parameter, memory, or the counter of a loop that such a value
bounds: no unrolling makes those constants. The model does not know what local memory moves, so that no watts
stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from wattslice import ir
from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts, variables_behind
from wattslice.ir.accesses import memory_accesses, value_parts
from wattslice.workload.instructions import InstructionKind

LEAST_SHARE = 0.05
"""Accesses to local memory among a kernel's instructions."""


def local_arrays(facts: LaunchFacts) -> Iterator[Advice]:
    """One finding for each array."""
    mix = facts.work.instructions
    number = mix.number(InstructionKind.LDL) + mix.number(InstructionKind.STL)
    if number < LEAST_SHARE * mix.total:
        return
    runs = facts.profile.thread_counts
    bounded = _bounded_at_run_time(facts)
    arrays: dict[ir.Variable, list[tuple[float, ir.Span]]] = {}
    for access in memory_accesses(facts.kernel):
        root = access.root
        if (
            root is None
            or access.space is not ir.MemorySpace.LOCAL
            or root.type.kind is not ir.TypeKind.ARRAY
        ):
            continue
        if runs[access.region] and _comes_at_run_time(facts, access.addresses, bounded):
            arrays.setdefault(root, []).append((runs[access.region], access.span))
    for root, found in arrays.items():
        _, span = max(found, key=lambda one: one[0])
        share = number / mix.total
        name = f"'{root.name}'" if root.name else "a private array"
        yield facts.advice(
            "PW051",
            span,
            f"{name} is indexed at run time and lives in local memory: {share:.0%} of the instructions "
            f"access such arrays",
            "index it by constants (unroll the loops over it), or keep it in shared memory",
            None,
            also=[one for _, one in found],
        )


def _comes_at_run_time(
    facts: LaunchFacts, addresses: tuple[ir.Expr, ...], bounded: frozenset[ir.Variable]
) -> bool:
    """Whether no unrolling can make these addresses constant."""
    read = variables_behind(facts.kernel, addresses)
    if read & bounded or any(
        variable in facts.kernel.parameters and variable.type.is_integral for variable in read
    ):
        return True
    return any(
        isinstance(node, ir.Builtin)
        or (isinstance(node, ir.Load) and node.place.space is not ir.MemorySpace.LOCAL)
        for address in addresses
        for node in value_parts(address)
    )


def _bounded_at_run_time(facts: LaunchFacts) -> frozenset[ir.Variable]:
    """Registers changed by the steps of loops whose condition no compiler knows."""
    found: set[ir.Variable] = set()
    for stmt in ir.walk_statements(facts.kernel.body):
        if isinstance(stmt, ir.Loop) and stmt.condition is not None and stmt.step is not None:
            behind = variables_behind(facts.kernel, (stmt.condition,))
            known = {variable for variable in behind if variable in facts.kernel.parameters}
            if known:
                stepped = ir.Block(
                    (ir.ExprStmt(stmt.step, stmt.step_region, stmt.span),), stmt.region, stmt.span
                )
                found |= {
                    node.target.variable
                    for node in ir.expressions_below(stepped)
                    if isinstance(node, ir.Increment | ir.Assign)
                    and isinstance(node.target, ir.RegisterPlace)
                }
    return frozenset(found)
