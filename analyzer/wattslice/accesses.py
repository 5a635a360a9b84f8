"""The textual memory accesses of a kernel, each with the region it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wattslice import ir
from wattslice.region_operations import child_regions, expression_regions


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One load or store as written; `A[i] += x` is one of each at the same `site`.

    `root` None: which object is accessed is not evident. `is_atomic`: the store half of an atomic.
    """

    region: int
    site: int
    space: ir.MemorySpace
    root: ir.Variable | None
    is_store: bool
    is_atomic: bool


def memory_accesses(kernel: ir.Kernel) -> tuple[MemoryAccess, ...]:
    """Every access to memory in the kernel and in the calls inlined into it."""
    return tuple(_accesses(kernel))


def _accesses(kernel: ir.Kernel) -> Iterator[MemoryAccess]:
    statements: list[ir.Stmt] = [kernel.body]
    while statements:
        stmt = statements.pop()
        stack = list(expression_regions(stmt))
        while stack:
            expr, region = stack.pop()
            yield from _own(expr, region)
            if isinstance(expr, ir.InlinedCall):
                statements.append(expr.body)
            stack.extend(child_regions(expr, region))
        statements.extend(ir.nested_statements(stmt))


def _own(expr: ir.Expr, region: int) -> Iterator[MemoryAccess]:
    match expr:
        case ir.Load(place=place):
            yield MemoryAccess(region, place.site, place.space, place.root, False, False)
        case ir.Assign(target=ir.MemoryPlace() as place, op=op):
            if op is not None:
                yield MemoryAccess(region, place.site, place.space, place.root, False, False)
            yield MemoryAccess(region, place.site, place.space, place.root, True, False)
        case ir.Increment(target=ir.MemoryPlace() as place):
            yield MemoryAccess(region, place.site, place.space, place.root, False, False)
            yield MemoryAccess(region, place.site, place.space, place.root, True, False)
        case ir.Atomic(place=place):
            yield MemoryAccess(region, place.site, place.space, place.root, True, True)
        case ir.TextureFetch(texture=texture, site=site, is_store=is_store):
            yield MemoryAccess(region, site, ir.MemorySpace.TEXTURE, texture, is_store, False)
        case _:
            return
