"""Multiply-adds of three registers: the ports of the register file feed only two a clock.

An operand that the instruction before reads too is kept beside the ports (`.reuse` in SASS): one that several
multiply-adds share which do not wait for one another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.value_graph import Shape, Value, varying


def three_register_sums(
    needed: Sequence[Value], products: Mapping[Value, Value]
) -> Iterator[tuple[int, float]]:
    """The FFMA among `needed` that are such: their regions, and how many a run of the region has.

    `products`: of a sum that took in a product, that product.
    """
    fused: dict[Value, frozenset[Value]] = {}
    users: dict[Value, list[Value]] = {}
    for value in needed:
        if value.cost and value.cost[0][0] is InstructionKind.FFMA:
            fused[value] = _registers(value, products.get(value))
            for operand in fused[value]:
                users.setdefault(operand, []).append(value)
    for value, operands in fused.items():
        if len(operands) == 3 and not any(_is_kept(one, value, fused, users[one]) for one in operands):
            yield value.place.region, value.cost[0][1] * value.place.scale


def _registers(value: Value, product: Value | None) -> frozenset[Value]:
    """The registers that a multiply-add reads: all but immediates and what lies in constant memory."""
    operands = value.inputs if product is None else (*value.inputs, *product.inputs)
    others = (one for one in operands if one is not product)
    return frozenset(one for one in others if one.shape is not Shape.CONSTANT and not one.is_given)


def _is_kept(
    operand: Value, value: Value, fused: Mapping[Value, frozenset[Value]], users: Sequence[Value]
) -> bool:
    """Whether a multiply-add next to `value` reads `operand` too: another one, or a copy of it in an unrolled
    loop. Those that wait for `value`, or hand a number on to it, are not next to it.
    """
    level = value.place.level
    if any(
        other.place.level is level and other not in fused[value] and value not in fused[other]
        for other in users
        if other is not value
    ):
        return True
    if level is None or level.copies == 1.0 or level in varying((operand,)):
        return False
    return not any(value in one.inputs for one in fused[value] if one.place.level is level)
