"""The textual memory accesses of a kernel, each with the region it runs in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from wattslice import ir
from wattslice.ir.evaluations import evaluations


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """One load or store as written; `A[i] += x` is one of each at the same `site`.

    `root` None: which object is accessed is not evident. `is_atomic`: the store half of an atomic.
    `addresses`: what the place is computed from, one expression, or the coordinates of a texture.
    """

    region: int
    site: int
    space: ir.MemorySpace
    root: ir.Variable | None
    is_store: bool
    is_atomic: bool
    addresses: tuple[ir.Expr, ...]
    span: ir.Span


@lru_cache(maxsize=4)
def memory_accesses(kernel: ir.Kernel) -> tuple[MemoryAccess, ...]:
    """Every access to memory in the kernel and in the calls inlined into it."""
    found: list[MemoryAccess] = []
    for node, region in evaluations(kernel):
        match node:
            case ir.Load(place=place):
                found.append(_access(region, node, place))
            case ir.Assign(target=ir.MemoryPlace() as place, op=op):
                if op is not None:
                    found.append(_access(region, node, place))
                found.append(_access(region, node, place, is_store=True))
            case ir.Increment(target=ir.MemoryPlace() as place):
                found.append(_access(region, node, place))
                found.append(_access(region, node, place, is_store=True))
            case ir.Atomic(place=place):
                found.append(_access(region, node, place, is_store=True, is_atomic=True))
            case ir.TextureFetch(texture=texture, coordinates=coordinates, site=site, is_store=is_store):
                space = ir.MemorySpace.TEXTURE
                found.append(
                    MemoryAccess(region, site, space, texture, is_store, False, coordinates, node.span)
                )
            case _:
                pass
    return tuple(found)


def _access(
    region: int, node: ir.Expr, place: ir.MemoryPlace, *, is_store: bool = False, is_atomic: bool = False
) -> MemoryAccess:
    return MemoryAccess(
        region, place.site, place.space, place.root, is_store, is_atomic, (place.address,), node.span
    )
