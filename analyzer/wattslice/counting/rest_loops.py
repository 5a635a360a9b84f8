"""The loop that a compiler leaves behind an unrolled one, for what does not fill a step of it."""

from __future__ import annotations

from functools import lru_cache

from wattslice import ir
from wattslice.counting.loop_shape import LoopShape, shape_of
from wattslice.counting.syntax import read_variable, strip_casts, values_given
from wattslice.launches.launch import trip_name

_MOST = 63
"""Compilers unroll by less than this plus two."""


def most_of_the_rest(kernel: ir.Kernel, loop: ir.Loop, shape: LoopShape) -> int | None:
    """Iterations at most of a compiled loop that counts `n & 3` down or up by one; None for any other.

    Source loops with such a counter are left alone: their own writers say what they run.
    """
    if not kernel.machine_instructions or loop.kind is not ir.LoopKind.DO or loop.condition is None:
        return None
    compared = {read_variable(node) for node in ir.walk_expressions(loop.condition)}
    by_one = {i.variable for i in shape.inductions if i.amount in (1, -1) or _is_one(i.amount)}
    given = _values_in(kernel)
    found = [_mask_of(variable, given) for variable in by_one & compared]
    return max((most for most in found if most is not None), default=None)


@lru_cache(maxsize=4)
def unrolled_by(kernel: ir.Kernel) -> frozenset[tuple[str, int]]:
    """Names of the loops that a compiler has unrolled and left a rest of, and by how much."""
    loops = (stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop))
    found = ((trip_name(kernel, loop), most_of_the_rest(kernel, loop, shape_of(loop))) for loop in loops)
    return frozenset((name, most + 1) for name, most in found if most is not None)


@lru_cache(maxsize=4)
def _values_in(kernel: ir.Kernel) -> dict[ir.Variable, list[ir.Expr]]:
    return values_given(kernel.body)


def _is_one(amount: ir.Expr | int) -> bool:
    return isinstance(amount, ir.Constant) and abs(amount.value) == 1


def _mask_of(variable: ir.Variable, given: dict[ir.Variable, list[ir.Expr]]) -> int | None:
    """C of a counter that begins as `x & C`, every other value of it being made of itself."""
    masks: set[int | None] = set()
    for value in map(strip_casts, given.get(variable, ())):
        if any(read_variable(node) is variable for node in ir.walk_expressions(value)):
            continue
        copied = read_variable(value)
        values = (value,) if copied is None else given.get(copied, ())
        masks |= {_mask(strip_casts(one)) for one in values}
    return masks.pop() if len(masks) == 1 else None


def _mask(value: ir.Expr) -> int | None:
    if isinstance(value, ir.Binary) and value.op is ir.BinaryOp.AND:
        for side in map(strip_casts, (value.left, value.right)):
            if isinstance(side, ir.Constant) and isinstance(side.value, int) and 0 < side.value <= _MOST:
                return side.value if side.value & (side.value + 1) == 0 else None
    return None
