"""Slow paths of mathematical functions, which PTX holds written out and a CUDA source does not show.

`sinf` of more than 105615 reduces its argument by Payne and Hanek's method, `log` and `exp` treat apart what
is infinite or overflows. The constants that they test for are those in what nvcc 13 makes of a call.
"""

from __future__ import annotations

import math
import struct

from wattslice.ir import Binary, BinaryOp, Cast, Constant, Expr, Logical, LogicalOp, Unary, UnaryOp


def _float_of(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


_FLOATS = frozenset(
    {
        math.inf,
        105615.0,  # sinf, cosf, tanf: beyond it by Payne and Hanek
        2.0**31,  # sin, cos, tan: the same of doubles
        _float_of(0x4086232B),  # exp, and pow: the upper half of a double that overflows, read as a float
        _float_of(0x408FF000),  # exp2
    }
)
_INTEGERS = frozenset(
    {
        0x7F800000,  # logf: the bits of infinity
        0x7FEFFFFF,  # log: of the upper half of a double, ahead of infinity
        0x7FF00000,  # pow
    }
)
_BELOW = {
    BinaryOp.LT: True,
    BinaryOp.LE: True,
    BinaryOp.NE: True,
    BinaryOp.GT: False,
    BinaryOp.GE: False,
    BinaryOp.EQ: False,
}


def usual_outcome(condition: Expr) -> bool | None:
    """How the test for a slow path of a mathematical function ends for ordinary numbers; None: it is none."""
    match condition:
        case Cast(operand=operand):
            return usual_outcome(operand)
        case Unary(op=UnaryOp.NOT, operand=operand):
            usual = usual_outcome(operand)
            return None if usual is None else not usual
        case Logical(op=op, left=left, right=right):
            ends = op is LogicalOp.OR  # what either side decides
            sides = (usual_outcome(left), usual_outcome(right))
            return ends if ends in sides else None if None in sides else not ends
        case Binary(op=op, right=Constant(value=value)) if op in _BELOW:
            limits = _FLOATS if condition.operand_type.is_float else _INTEGERS
            return _BELOW[op] if value in limits else None
        case _:
            return None
