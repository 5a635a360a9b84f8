"""Slow paths of mathematical functions, which PTX holds written out and a CUDA source does not show.

`sinf` of more than 105615 reduces its argument by Payne and Hanek's method, `log` and `exp` treat apart what
is infinite or overflows. The constants that they test for are those in what nvcc 13 makes of a call.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from functools import lru_cache

from wattslice import ir
from wattslice.ir.loops import LoopShape, shape_of
from wattslice.launches.launch import trip_name


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
    ir.BinaryOp.LT: True,
    ir.BinaryOp.LE: True,
    ir.BinaryOp.NE: True,
    ir.BinaryOp.GT: False,
    ir.BinaryOp.GE: False,
    ir.BinaryOp.EQ: False,
}


def usual_outcome(kernel: ir.Kernel, condition: ir.Expr) -> bool | None:
    """How the test for a slow path of a mathematical function ends for ordinary numbers; None: it is none."""
    match condition:
        case ir.Cast(operand=operand):
            return usual_outcome(kernel, operand)
        case ir.Read(place=ir.RegisterPlace(variable=variable, path=())):
            known = _predicates(kernel).get(variable)
            return None if known is None else usual_outcome(kernel, known)
        case ir.Unary(op=ir.UnaryOp.NOT, operand=operand):
            usual = usual_outcome(kernel, operand)
            return None if usual is None else not usual
        case ir.Logical(op=op, left=left, right=right):
            ends = op is ir.LogicalOp.OR  # what either side decides
            sides = (usual_outcome(kernel, left), usual_outcome(kernel, right))
            return ends if ends in sides else None if None in sides else not ends
        case ir.Binary(op=op, right=ir.Constant(value=value)) if op in _BELOW:
            limits = _FLOATS if condition.operand_type.is_float else _INTEGERS
            return _BELOW[op] if value in limits else None
        case _:
            return None


@lru_cache(maxsize=4)
def _predicates(kernel: ir.Kernel) -> dict[ir.Variable, ir.Expr]:
    """The comparisons that are kept in a register, for several branches."""
    written: Counter[ir.Variable] = Counter()
    found: dict[ir.Variable, ir.Expr] = {}
    for stmt in ir.walk_statements(kernel.body):
        match stmt:
            case ir.Declare(variable=variable, value=value) if value is not None:
                written[variable] += 1
                if variable.type.kind is ir.TypeKind.BOOL and not _reads_a_predicate(value):
                    found[variable] = value
            case ir.ExprStmt(expr=ir.Assign(target=ir.RegisterPlace(variable=variable))):
                written[variable] += 1
            case _:
                pass
    return {variable: value for variable, value in found.items() if written[variable] == 1}


def _reads_a_predicate(expr: ir.Expr) -> bool:
    return any(
        isinstance(node, ir.Read) and node.type.kind is ir.TypeKind.BOOL for node in ir.walk_expressions(expr)
    )


_MOST = 63
"""Compilers unroll by less than this plus two."""


def most_of_the_rest(kernel: ir.Kernel, shape: LoopShape) -> int | None:
    """Iterations at most of a compiled loop that counts `n & 3` down or up by one; None for any other.

    Source loops with such a counter are left alone: their own writers say what they run.
    """
    loop = shape.loop
    if not kernel.machine_instructions or loop.kind is not ir.LoopKind.DO or loop.condition is None:
        return None
    compared = {ir.read_variable(node) for node in ir.walk_expressions(loop.condition)}
    by_one = {i.variable for i in shape.inductions if i.amount in (1, -1) or _is_one(i.amount)}
    given = _values_in(kernel)
    found = [_mask_of(variable, given) for variable in by_one & compared]
    return max((most for most in found if most is not None), default=None)


@lru_cache(maxsize=4)
def unrolled_by(kernel: ir.Kernel) -> frozenset[tuple[str, int]]:
    """Names of the loops that a compiler has unrolled and left a rest of, and by how much."""
    loops = (stmt for stmt in ir.walk_statements(kernel.body) if isinstance(stmt, ir.Loop))
    found = ((trip_name(kernel, loop), most_of_the_rest(kernel, shape_of(loop))) for loop in loops)
    return frozenset((name, most + 1) for name, most in found if most is not None)


@lru_cache(maxsize=4)
def _values_in(kernel: ir.Kernel) -> dict[ir.Variable, list[ir.Expr]]:
    return ir.values_given(kernel.body)


def _is_one(amount: ir.Expr | int) -> bool:
    return isinstance(amount, ir.Constant) and abs(amount.value) == 1


def _mask_of(variable: ir.Variable, given: dict[ir.Variable, list[ir.Expr]]) -> int | None:
    """C of a counter that begins as `x & C`, every other value of it being made of itself."""
    masks: set[int | None] = set()
    for value in map(ir.strip_casts, given.get(variable, ())):
        if any(ir.read_variable(node) is variable for node in ir.walk_expressions(value)):
            continue
        copied = ir.read_variable(value)
        values = (value,) if copied is None else given.get(copied, ())
        masks |= {_mask(ir.strip_casts(one)) for one in values}
    return masks.pop() if len(masks) == 1 else None


def _mask(value: ir.Expr) -> int | None:
    if isinstance(value, ir.Binary) and value.op is ir.BinaryOp.AND:
        for side in map(ir.strip_casts, (value.left, value.right)):
            if isinstance(side, ir.Constant) and isinstance(side.value, int) and 0 < side.value <= _MOST:
                return side.value if side.value & (side.value + 1) == 0 else None
    return None


def retries_a_swap(loop: ir.Loop) -> bool:
    """Whether a loop goes on only where a compare-and-swap found another value than the one expected.

    A lock that is waited for (`while (atomicCAS(lock, 0, 1) != 0)`) expects a constant, and is none of these.
    """
    condition = loop.condition
    if loop.kind is not ir.LoopKind.DO or condition is None:
        return False
    given = ir.values_given(loop.body)
    seen: set[ir.Variable] = set()
    waiting: list[ir.Expr] = [condition]
    is_compared = False
    while waiting:
        expr = ir.strip_casts(waiting.pop())
        if isinstance(expr, ir.Binary) and expr.op in (ir.BinaryOp.NE, ir.BinaryOp.EQ):
            is_compared = True
            waiting += (expr.left, expr.right)
        elif isinstance(expr, ir.Atomic) and expr.op is ir.AtomicOp.CAS and is_compared:
            return not isinstance(ir.strip_casts(expr.arguments[0]), ir.Constant)
        elif isinstance(expr, ir.Unary | ir.Intrinsic):
            waiting += ir.children(expr)
        elif (variable := ir.read_variable(expr)) is not None and variable not in seen:
            seen.add(variable)
            waiting += given.get(variable, ())
    return False
