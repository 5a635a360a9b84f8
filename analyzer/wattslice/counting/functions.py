"""Values of the library functions that loop bounds and addresses are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.values import (
    UNIFORM,
    VARYING,
    Lanes,
    Number,
    Scalar,
    Unknown,
    Value,
    binary,
    fits_int64,
    is_warp_uniform,
    scalar,
)
from wattslice.ir import INT64, BinaryOp, Semantics, Type, TypeKind
from wattslice.ir.c_arithmetic import EXACT, wrapped

_REAL: dict[Semantics, Callable[..., Any]] = {
    Semantics.CEIL: np.ceil,
    Semantics.FLOOR: np.floor,
    Semantics.SQRT: np.sqrt,
    Semantics.POW: np.power,
    Semantics.LOG2: np.log2,
    Semantics.LOG: np.log,
    Semantics.EXP: np.exp,
}


_BITS: dict[Semantics, Callable[[int, int], int]] = {
    Semantics.POPC: lambda v, bits: v.bit_count(),
    Semantics.CLZ: lambda v, bits: bits - v.bit_length(),
    Semantics.FFS: lambda v, bits: (v & -v).bit_length(),
    Semantics.BREV: lambda v, bits: int(f"{v:0{bits}b}"[::-1], 2),
}


def apply(semantics: Semantics, arguments: Sequence[Value], bits: int) -> Value:
    """The value of an intrinsic; unknown where an argument is, or where we do not model it.

    `bits`: the width of the first argument's type (`__clzll` and `__clz` differ in nothing else).
    """
    if not arguments or semantics in (Semantics.OPAQUE, Semantics.EFFECT, Semantics.NONE, Semantics.BARRIER):
        return VARYING
    if semantics is Semantics.UNIFORM:
        return UNIFORM
    if semantics is Semantics.IDENTITY:
        return arguments[0]
    numbers = [scalar(argument) for argument in arguments]
    known = [number for number in numbers if not isinstance(number, Unknown)]
    if len(known) < len(numbers):
        return UNIFORM if all(map(is_warp_uniform, numbers)) else VARYING
    if semantics in _REAL:
        return _real(_REAL[semantics], known)
    if semantics in _BITS:
        return _bitwise(_BITS[semantics], known[0], bits or 32)
    return _arithmetic(semantics, known)


_UINT64 = Type(TypeKind.INT, bits=64, signed=False)
_BINARY = {
    Semantics.ADD: BinaryOp.ADD,
    Semantics.MUL: BinaryOp.MUL,
    Semantics.MUL24: BinaryOp.MUL,
    Semantics.DIV: BinaryOp.DIV,
    Semantics.MOD: BinaryOp.MOD,
}


def _arithmetic(semantics: Semantics, values: list[Number | Lanes]) -> Scalar:
    """Sums and the like, exact modulo 2**64; what is exact only below 2**63 is unknown above."""
    type_ = INT64 if all(map(fits_int64, values)) else _UINT64
    a = values[0]
    b = values[1] if len(values) > 1 else 0
    op = _BINARY.get(semantics)
    if op is not None:
        return EXACT[op](a, b) if op in EXACT and type_.signed else scalar(binary(op, a, b, type_))
    match semantics:
        case Semantics.FMA:
            product = scalar(binary(BinaryOp.MUL, a, b, type_))
            return scalar(binary(BinaryOp.ADD, product, values[2] if len(values) > 2 else 0, type_))
        case Semantics.ABS:
            return abs(a)
        case Semantics.MIN | Semantics.MAX if len(values) > 1:
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                if not type_.signed:
                    return VARYING
                chosen = np.minimum(a, b) if semantics is Semantics.MIN else np.maximum(a, b)
                return cast(NDArray[Any], chosen)
            return min(a, b) if semantics is Semantics.MIN else max(a, b)
        case _:
            return VARYING


def _real(function: Callable[..., Any], values: list[Number | Lanes]) -> Scalar:
    with np.errstate(all="ignore"):
        result: NDArray[np.float64] = np.asarray(function(*(np.asarray(v, np.float64) for v in values)))
    if not bool(np.isfinite(result).all()):
        return VARYING
    return float(result) if result.ndim == 0 else result


def _bitwise(function: Callable[[int, int], int], value: Number | Lanes, bits: int) -> Scalar:
    mask = (1 << bits) - 1
    if isinstance(value, np.ndarray):
        return np.array([wrapped(function(int(v) & mask, bits), INT64) for v in value], np.int64)
    return function(int(value) & mask, bits)
