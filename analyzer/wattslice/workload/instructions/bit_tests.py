"""The copies of an unrolled loop test one bit each: R2P spreads the bits of a byte over predicates."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.value_graph import LoopLevel, Shape, Value

BITS = 8
"""Tests that one R2P, one LOP3 and one comparison do: seven bits at a time, the eighth on its own."""


def group_bit_tests(needed: Iterable[Value], uses: Mapping[Value, int]) -> set[Value]:
    """Give the bit tests among `needed` that unrolled loops copy their cost; what is no longer computed.

    `uses`: how many operands of others each value is.
    """
    spared: set[Value] = set()
    tested: dict[Value, int] = {}
    for value in needed:
        if value.shape is not Shape.TRUTH or uses.get(value.inputs[0]) != 1:
            continue
        mask = value.inputs[0]
        bits, loop = _bits_of_copies(mask)
        if bits is None or loop is None or loop.copies <= 1:
            continue
        groups = math.ceil(loop.copies / BITS) / loop.copies
        kinds = (InstructionKind.OTHER, InstructionKind.LOP, InstructionKind.ISETP)
        value.cost = tuple((kind, groups) for kind in kinds)
        spared.add(mask)
        if bits.shape is Shape.SHIFTED:
            tested[bits] = tested.get(bits, 0) + 1
    for bits, number in tested.items():
        following = bits if bits.cost else bits.inputs[-1]  # shifted in place, or from one copy to the next
        others = 0 if following is bits else 1
        if number + others != uses.get(bits) or (others and uses.get(following) != 1):
            continue  # somebody needs the bits themselves
        if bits.level is not None and not bits.level.is_unrolled:  # the next round goes on behind them
            following.cost = ((InstructionKind.SHF, 1.0 / bits.level.copies),)
        else:
            spared.add(following)
    return spared


def _bits_of_copies(mask: Value) -> tuple[Value | None, LoopLevel | None]:
    """What `mask` takes one bit of, another one in each copy of a loop; None when it is not so."""
    if len(mask.inputs) != 2:
        return None, None
    bits, constant = sorted(mask.inputs, key=lambda value: value.shape is Shape.CONSTANT)
    if constant.shape is not Shape.CONSTANT or bits.shape is Shape.CONSTANT:
        return None, None
    if constant.number is None:
        return bits, constant.level
    return (bits, bits.level) if bits.shape is Shape.SHIFTED and constant.number == 1 else (None, None)
