"""Slow paths of mathematical functions, which PTX holds written out and a CUDA source does not show.

`sinf` of more than 105615 reduces its argument by Payne and Hanek's method, `log` and `exp` treat apart what
is infinite or overflows. The constants that they test for are those in what nvcc 13 makes of a call.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from functools import lru_cache

from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Declare,
    Expr,
    ExprStmt,
    Kernel,
    Logical,
    LogicalOp,
    Read,
    RegisterPlace,
    TypeKind,
    Unary,
    UnaryOp,
    Variable,
    walk_expressions,
    walk_statements,
)


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


def usual_outcome(kernel: Kernel, condition: Expr) -> bool | None:
    """How the test for a slow path of a mathematical function ends for ordinary numbers; None: it is none."""
    match condition:
        case Cast(operand=operand):
            return usual_outcome(kernel, operand)
        case Read(place=RegisterPlace(variable=variable, path=())):
            known = _predicates(kernel).get(variable)
            return None if known is None else usual_outcome(kernel, known)
        case Unary(op=UnaryOp.NOT, operand=operand):
            usual = usual_outcome(kernel, operand)
            return None if usual is None else not usual
        case Logical(op=op, left=left, right=right):
            ends = op is LogicalOp.OR  # what either side decides
            sides = (usual_outcome(kernel, left), usual_outcome(kernel, right))
            return ends if ends in sides else None if None in sides else not ends
        case Binary(op=op, right=Constant(value=value)) if op in _BELOW:
            limits = _FLOATS if condition.operand_type.is_float else _INTEGERS
            return _BELOW[op] if value in limits else None
        case _:
            return None


@lru_cache(maxsize=4)
def _predicates(kernel: Kernel) -> dict[Variable, Expr]:
    """The comparisons that are kept in a register, for several branches."""
    written: Counter[Variable] = Counter()
    found: dict[Variable, Expr] = {}
    for stmt in walk_statements(kernel.body):
        match stmt:
            case Declare(variable=variable, value=value) if value is not None:
                written[variable] += 1
                if variable.type.kind is TypeKind.BOOL and not _reads_a_predicate(value):
                    found[variable] = value
            case ExprStmt(expr=Assign(target=RegisterPlace(variable=variable))):
                written[variable] += 1
            case _:
                pass
    return {variable: value for variable, value in found.items() if written[variable] == 1}


def _reads_a_predicate(expr: Expr) -> bool:
    return any(isinstance(node, Read) and node.type.kind is TypeKind.BOOL for node in walk_expressions(expr))
