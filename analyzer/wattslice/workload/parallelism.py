"""Memory-level parallelism: how many global loads a warp has outstanding before it must wait for one.

Loads of one straight piece of code that do not wait for each other are issued together. In a loop whose
body holds no barrier the compiler overlaps the loads of the iterations it unrolls, except where an
iteration's addresses come from data.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct

from wattslice import ir
from wattslice.counting.profile import ExecutionProfile
from wattslice.ir.accesses import MemoryAccess, follows_data, loaded_registers, memory_accesses
from wattslice.ir.walking import child_regions, expression_regions
from wattslice.workload.instructions.loops import PARTIAL_UNROLL

MOST_IN_FLIGHT = 16.0
"""Outstanding loads of one warp taken to be possible at most: a bound of ours, not measured."""


def loads_in_flight(kernel: ir.Kernel, profile: ExecutionProfile) -> float:
    """Independent global loads a warp may have outstanding, weighted by how often they run; at least 1."""
    trips = {loop.region: loop.assumed for loop in profile.loops}
    weighted = total = 0.0
    for group in _load_groups(kernel):
        loop = group.loop
        loads = [load for load in group.loads if profile.warp_counts[load.region] > 0.0]
        if not loads:
            continue
        runs = [profile.warp_counts[load.region] for load in loads]
        together = sum(runs) / max(runs)  # a load in a rare arm counts as rarely
        if loop is not None:
            if any(load.follows_data for load in loads):
                together = max(1.0, together / 2)
            elif loop.is_folded:
                together *= max(1.0, profile.warp_counts[loop.body.region] / profile.warp_counts[loop.region])
            elif not group.has_barrier:
                together *= min(loop.unroll or int(PARTIAL_UNROLL), max(1, int(trips.get(loop.region, 1.0))))
        weighted += sum(runs) * min(MOST_IN_FLIGHT, together)
        total += sum(runs)
    return max(1.0, weighted / total) if total else 1.0


class _Load(NamedTuple):
    """A load from global memory or a texture; `follows_data`: its address waits for a load of its loop."""

    region: int
    follows_data: bool


class _LoadGroup(NamedTuple):
    """The loads whose innermost loop is `loop` (None: outside of all); whether it holds a barrier."""

    loop: ir.Loop | None
    has_barrier: bool
    loads: tuple[_Load, ...]


@lru_cache(maxsize=4)
def _load_groups(kernel: ir.Kernel) -> tuple[_LoadGroup, ...]:
    """All loads by loop, in the order of the first of each."""
    homes = _homes(kernel)
    groups: dict[ir.Loop | None, list[MemoryAccess]] = {}
    for access in memory_accesses(kernel):
        if not access.is_store and access.space in (ir.MemorySpace.GLOBAL, ir.MemorySpace.TEXTURE):
            groups.setdefault(homes.innermost[access.region], []).append(access)
    found: list[_LoadGroup] = []
    for loop, accesses in groups.items():
        loaded = frozenset[ir.Variable]() if loop is None else loaded_registers(loop.body)
        loads = (_Load(one.region, follows_data(one.addresses, loaded)) for one in accesses)
        found.append(_LoadGroup(loop, loop in homes.with_barrier, tuple(loads)))
    return tuple(found)


class _Homes(Struct, frozen=True):
    """`innermost[r]`: the loop that region r runs in; `with_barrier`: loops with a barrier inside."""

    innermost: tuple[ir.Loop | None, ...]
    with_barrier: frozenset[ir.Loop]


def _homes(kernel: ir.Kernel) -> _Homes:
    innermost: list[ir.Loop | None] = [None] * kernel.region_count
    parents: dict[ir.Loop, ir.Loop | None] = {}
    with_barrier: set[ir.Loop] = set()
    statements: list[tuple[ir.Stmt, ir.Loop | None]] = [(kernel.body, None)]
    while statements:
        stmt, loop = statements.pop()
        innermost[stmt.region] = loop
        inside = loop
        if isinstance(stmt, ir.Loop):
            parents[stmt] = loop
            statements += ((part, loop) for part in stmt.init)
            statements.append((stmt.body, stmt))
            innermost[stmt.test_region] = innermost[stmt.step_region] = inside = stmt
        else:
            statements += ((part, loop) for part in ir.nested_statements(stmt))
        for expr, region in expression_regions(stmt):
            stack = [(expr, region)]
            while stack:
                node, region = stack.pop()
                innermost[region] = inside
                if isinstance(node, ir.InlinedCall):
                    statements.append((node.body, inside))
                elif isinstance(node, ir.Intrinsic) and node.semantics is ir.Semantics.BARRIER:
                    with_barrier |= set(_around(inside, parents))
                stack.extend(child_regions(node, region))
    return _Homes(tuple(innermost), frozenset(with_barrier))


def _around(loop: ir.Loop | None, parents: dict[ir.Loop, ir.Loop | None]) -> Iterator[ir.Loop]:
    """`loop` and the loops around it."""
    while loop is not None:
        yield loop
        loop = parents[loop]
