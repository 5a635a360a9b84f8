"""What an integer sum costs: how many multiply-adds, shifted and plain additions a linear form takes."""

from __future__ import annotations

import math

from wattslice.workload.instructions.isa import Isa
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.value_graph import Cost, Shape, Value


def is_taken_along(term: Value, value: Value, isa: Isa) -> bool:
    """Whether the multiply-add of the product `term` computes the sum `value`; XMAD adds 32 bits only."""
    fits = isa is not Isa.XMAD or value.shape is Shape.ADDRESS or term.bits >= value.bits
    return term.shape is Shape.INT_PRODUCT and fits


def sum_cost(terms: tuple[tuple[Value, int], ...], value: Value, isa: Isa) -> Cost:
    """Instructions that add up a linear form.

    A term scaled by a power of two is an LEA, by another constant an IMAD, a product of two values an IMAD;
    each of them adds one more term on the way. IADD3 adds two.
    """
    products = constants = shifts = plain = 0
    for term, coefficient in terms:
        if is_taken_along(term, value, isa):
            products += 1
        elif abs(coefficient) == 1:
            plain += 1
        elif abs(coefficient) & (abs(coefficient) - 1) == 0:
            shifts += 1
        else:
            constants += 1
    if value.shape is Shape.ADDRESS and len(terms) == 1 and abs(terms[0][1]) in isa.address_scales:
        return ()  # [R.X4]
    plain += value.offset != 0 and value.shape is not Shape.ADDRESS
    free = max(1, products + constants + shifts)  # addends that come along, or the first one
    adds = math.ceil(max(0, plain - free) / 2)
    width = 2.0 if value.bits == 64 and value.shape is not Shape.ADDRESS else 1.0
    imads = products * isa.multiplies_per_product + constants * isa.multiplies_by_constant
    cost = ((InstructionKind.IMAD, width * imads), (InstructionKind.IADD, width * (adds + shifts)))
    return tuple((kind, number) for kind, number in cost if number)
