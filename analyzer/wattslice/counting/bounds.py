"""Between which numbers a value lies that is not known itself: `x & 7`, `x % 7`, an `unsigned char`, and what
`if (x > 7)` says of x in its arms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice import ir

Bounds = tuple[int, int]
"""The least and the greatest that it may be; of floating-point numbers the whole numbers around."""

NARROW_BITS = 16
"""Types of so many bits have bounds of their own; those of wider ones say nothing of what is in a table."""


def of_known(value: int | float | NDArray[Any]) -> Bounds | None:
    """The bounds of known numbers."""
    if isinstance(value, np.ndarray):
        return (int(value.min()), int(value.max())) if value.dtype.kind in "iub" else None
    return (math.floor(value), math.ceil(value)) if math.isfinite(value) else None


def of_type(type_: ir.Type) -> Bounds | None:
    """What a type of numbers holds."""
    if type_.kind is ir.TypeKind.BOOL:
        return 0, 1
    if type_.is_float and type_.lanes == 1:
        return -(1 << 1024), 1 << 1024
    if not type_.is_integral or not type_.bits or type_.lanes > 1:
        return None
    low = -(1 << type_.bits - 1) if type_.signed else 0
    return low, low + (1 << type_.bits) - 1


def within(bounds: Bounds | None, type_: ir.Type) -> Bounds | None:
    """Those of a value with `bounds` after its conversion to `type_`; None where nothing is known of it."""
    own = of_type(type_)
    if own is None:
        return None
    if bounds is not None and own[0] <= bounds[0] and bounds[1] <= own[1]:
        return bounds
    return own if type_.is_integral and type_.bits <= NARROW_BITS else None


def of_operation(op: ir.BinaryOp, a: Bounds | None, b: Bounds | None, type_: ir.Type) -> Bounds | None:
    """The bounds of `a op b`, carried out in `type_`."""
    whole = of_type(type_)
    if whole is None or not (type_.is_integral or op in _OF_FLOATS):
        return None
    match op:
        case ir.BinaryOp.AND:
            ends = [one[1] for one in (a, b) if one is not None and one[0] >= 0]
            return (0, min(ends)) if ends else None
        case ir.BinaryOp.MOD if b is not None and b[0] == b[1] != 0:
            least, most = a or whole
            end = abs(b[0]) - 1
            return max(min(least, 0), -end), min(max(most, 0), end)
        case ir.BinaryOp.SHR if b is not None and b[0] == b[1] >= 0:
            low, high = ((a or whole)[0] >> b[0], (a or whole)[1] >> b[0])
            return None if a is None and high - low >> NARROW_BITS else (low, high)
        case ir.BinaryOp.ADD if a is not None and b is not None:
            return _if_held(whole, a[0] + b[0], a[1] + b[1])
        case ir.BinaryOp.SUB if a is not None and b is not None:
            return _if_held(whole, a[0] - b[1], a[1] - b[0])
        case ir.BinaryOp.MUL if a is not None and b is not None:
            return _if_held(whole, *(one * other for one in a for other in b))
        case ir.BinaryOp.SHL if a is not None and b is not None and 0 <= b[0] == b[1] < 63:
            return _if_held(whole, a[0] << b[0], a[1] << b[0])
        case ir.BinaryOp.OR | ir.BinaryOp.XOR if a is not None and b is not None and min(a[0], b[0]) >= 0:
            return 0, (1 << max(a[1], b[1]).bit_length()) - 1
        case ir.BinaryOp.DIV if a is not None and b is not None and b[0] == b[1] > 0 and a[0] >= 0:
            return a[0] // b[0], a[1] // b[0]
        case _:
            return None


_OF_FLOATS = (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL)


def of_comparison(op: ir.BinaryOp, own: Bounds | None, other: Bounds, type_: ir.Type) -> Bounds | None:
    """Those of a value of `type_` for which `value op other` holds."""
    whole = own or of_type(type_)
    if whole is None:
        return None
    low, high, apart = *whole, int(type_.is_integral)
    match op:
        case ir.BinaryOp.LT | ir.BinaryOp.LE:
            high = min(high, other[1] - apart * (op is ir.BinaryOp.LT))
        case ir.BinaryOp.GT | ir.BinaryOp.GE:
            low = max(low, other[0] + apart * (op is ir.BinaryOp.GT))
        case ir.BinaryOp.EQ:
            low, high = max(low, other[0]), min(high, other[1])
        case _:
            return own
    return (low, high) if low <= high else own  # else nothing comes here


def is_kept(type_: ir.Type, wider: ir.Type) -> bool:
    """Whether all numbers of a type are the same in the other one."""
    own, whole = of_type(type_), of_type(wider)
    return own is not None and whole is not None and whole[0] <= own[0] and own[1] <= whole[1]


OF_FUNCTIONS: dict[str, Bounds] = {
    "__saturatef": (0, 1),
    **dict.fromkeys(("__popc", "__clz", "__ffs"), (0, 32)),
    **dict.fromkeys(("__popcll", "__clzll", "__ffsll"), (0, 64)),
}
"""What functions return, whatever they are given."""


def _if_held(whole: Bounds, *ends: int) -> Bounds | None:
    return (min(ends), max(ends)) if whole[0] <= min(ends) and max(ends) <= whole[1] else None


def around(a: Bounds | None, b: Bounds | None) -> Bounds | None:
    """Those of a value that is one of two."""
    return None if a is None or b is None else (min(a[0], b[0]), max(a[1], b[1]))


def of_extreme(bounds: list[Bounds | None], *, least: bool) -> Bounds | None:
    """The bounds of the least of several values, or of the greatest; what is unknown has those of an int."""
    if not any(bounds):
        return None
    low, high = zip(*(one or (-(1 << 31), (1 << 31) - 1) for one in bounds), strict=True)
    return (min(low), min(high)) if least else (max(low), max(high))
