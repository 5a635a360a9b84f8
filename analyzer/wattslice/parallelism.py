"""Memory-level parallelism: how many global loads a warp has outstanding before it must wait for one.

Loads of one straight piece of code that do not wait for each other are issued together. In a loop whose
body holds no barrier the compiler overlaps the loads of the iterations it unrolls, except where an
iteration's addresses come from data.
"""

from __future__ import annotations

from dataclasses import dataclass

from wattslice import ir
from wattslice.accesses import memory_accesses
from wattslice.execution import ExecutionProfile
from wattslice.loaded_registers import follows_data, loaded_registers
from wattslice.region_operations import operations

DEFAULT_UNROLL = 4
"""Iterations nvcc unrolls a loop by when its trip count is unknown or large."""

MOST_IN_FLIGHT = 16.0
"""Outstanding loads of one warp that registers and scoreboards allow for."""


@dataclass(frozen=True, slots=True)
class _Home:
    """The innermost loop around a region: its number (-1: none), how many of its iterations overlap, and the
    registers it loads from memory.
    """

    loop: int
    overlap: int
    loaded: frozenset[ir.Variable]


def loads_in_flight(kernel: ir.Kernel, profile: ExecutionProfile) -> float:
    """Independent global loads a warp may have outstanding, weighted by how often they run; at least 1."""
    homes = _homes(kernel, profile)
    groups: dict[int, list[tuple[float, bool]]] = {}
    overlap: dict[int, int] = {}
    for access in memory_accesses(kernel):
        if access.is_store or access.space not in (ir.MemorySpace.GLOBAL, ir.MemorySpace.TEXTURE):
            continue
        runs = profile.warp_counts[access.region]
        if runs > 0.0:
            home = homes.get(access.region, _Home(-1, 1, frozenset()))
            groups.setdefault(home.loop, []).append((runs, follows_data(access.addresses, home.loaded)))
            overlap[home.loop] = home.overlap
    weighted = total = 0.0
    for loop, loads in groups.items():
        most = max(runs for runs, _ in loads)
        together = sum(runs / most for runs, _ in loads)  # a load in a rare arm counts as rarely
        if any(waits for _, waits in loads):
            together = max(1.0, together / 2)
        else:
            together *= overlap[loop]
        runs = sum(runs for runs, _ in loads)
        weighted += runs * min(MOST_IN_FLIGHT, together)
        total += runs
    return max(1.0, weighted / total) if total else 1.0


def _homes(kernel: ir.Kernel, profile: ExecutionProfile) -> dict[int, _Home]:
    """The innermost loop of every region inside loops."""
    barriers = {op.region for op in operations(kernel) if op.operation is ir.OperationClass.BARRIER}
    trips = {loop.region: loop.assumed for loop in profile.loops}
    homes: dict[int, _Home] = {}
    # Statements come outer before inner, so that an inner loop overwrites what its outer loop wrote.
    for loop in (stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop)):
        inside = _regions(loop)
        overlap = 1
        if not inside & barriers:
            overlap = min(loop.unroll or DEFAULT_UNROLL, max(1, int(trips.get(loop.region, 1.0))))
        homes.update(dict.fromkeys(inside, _Home(loop.region, overlap, loaded_registers(loop.body))))
    return homes


def _regions(loop: ir.Loop) -> frozenset[int]:
    """Regions of the loop's body, test and step, inlined calls included."""
    found = {loop.test_region, loop.step_region}
    for stmt in ir.walk_statements(loop.body):
        found.add(stmt.region)
        for expr in ir.statement_expressions(stmt):
            for node in ir.walk_expressions(expr):
                if isinstance(node, ir.Logical):
                    found.add(node.right_region)
                elif isinstance(node, ir.Select):
                    found |= {node.then_region, node.otherwise_region}
    return frozenset(found)
