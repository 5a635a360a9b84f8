"""Along which axes of the grid the address of a memory access differs: which blocks share what they touch."""

from __future__ import annotations

from functools import lru_cache

from wattslice import ir
from wattslice.ir.accesses import MemoryAccess, register_assignments, value_parts

ALL_AXES = frozenset((0, 1, 2))
"""Also of addresses out of memory, or from anything else that is not followed."""

_Axes = frozenset[int]


def block_axes(kernel: ir.Kernel, access: MemoryAccess) -> _Axes:
    """The axes (0: x, 1: y, 2: z) of blockIdx that the address of `access` may be computed from.

    Flows of values are followed in any order, decisions (`if`, loop bounds) are not: which blocks come to an
    access is not the question.
    """
    registers = _registers(kernel)
    return frozenset[int]().union(*(_axes_of(address, registers) for address in access.addresses))


@lru_cache(maxsize=4)
def _registers(kernel: ir.Kernel) -> dict[ir.Variable, _Axes]:
    flows = [(target, *_sources(value)) for target, value in register_assignments(kernel.body)]
    found: dict[ir.Variable, _Axes] = {}
    changed = True
    while changed:
        changed = False
        for target, axes, read in flows:
            before = found.get(target, frozenset())
            after = before.union(axes, *(found.get(variable, frozenset()) for variable in read))
            if after != before:
                found[target] = after
                changed = True
    return found


def _axes_of(expr: ir.Expr, registers: dict[ir.Variable, _Axes]) -> _Axes:
    axes, read = _sources(expr)
    return axes.union(*(registers.get(variable, frozenset()) for variable in read))


def _sources(expr: ir.Expr) -> tuple[_Axes, frozenset[ir.Variable]]:
    """The axes that `expr` names itself, and the registers it reads."""
    axes: set[int] = set()
    read: set[ir.Variable] = set()
    for node in value_parts(expr):
        match node:
            case ir.Load(place=place) if place.space is ir.MemorySpace.CONSTANT:
                pass  # the same for all that name the same place
            case ir.Load() | ir.TextureFetch() | ir.Atomic() | ir.Call():
                axes |= ALL_AXES
            case ir.Intrinsic(semantics=ir.Semantics.OPAQUE):
                axes |= ALL_AXES
            case ir.Builtin(kind=ir.BuiltinKind.BLOCK_IDX, axis=axis):
                axes.add(axis)
            case ir.Read(place=place):
                read.add(place.variable)
            case _:
                pass
    return frozenset(axes), frozenset(read)
