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
    is_warp_uniform,
    scalar,
)
from wattslice.ir import INT64, BinaryOp, Semantics

_REAL: dict[Semantics, Callable[..., Any]] = {
    Semantics.CEIL: np.ceil,
    Semantics.FLOOR: np.floor,
    Semantics.SQRT: np.sqrt,
    Semantics.POW: np.power,
    Semantics.LOG2: np.log2,
    Semantics.LOG: np.log,
    Semantics.EXP: np.exp,
}


def _mask32(value: int) -> int:
    return value & 0xFFFFFFFF


_BITS: dict[Semantics, Callable[[int], int]] = {
    Semantics.POPC: lambda v: _mask32(v).bit_count(),
    Semantics.CLZ: lambda v: 32 - _mask32(v).bit_length(),
    Semantics.FFS: lambda v: (_mask32(v) & -_mask32(v)).bit_length(),
    Semantics.BREV: lambda v: int(f"{_mask32(v):032b}"[::-1], 2),
}


def apply(semantics: Semantics, arguments: Sequence[Value]) -> Value:
    """The value of an intrinsic; unknown where an argument is, or where we do not model it."""
    if not arguments or semantics in (Semantics.OPAQUE, Semantics.NONE, Semantics.BARRIER):
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
        return _bitwise(_BITS[semantics], known[0])
    return _arithmetic(semantics, known)


def _arithmetic(semantics: Semantics, values: list[Number | Lanes]) -> Scalar:
    a = values[0]
    b = values[1] if len(values) > 1 else 0
    match semantics:
        case Semantics.ADD:
            return a + b
        case Semantics.MUL | Semantics.MUL24:
            return a * b
        case Semantics.FMA:
            return a * b + (values[2] if len(values) > 2 else 0)
        case Semantics.DIV:
            return scalar(binary(BinaryOp.DIV, a, b, INT64))
        case Semantics.MOD:
            return scalar(binary(BinaryOp.MOD, a, b, INT64))
        case Semantics.ABS:
            return abs(a)
        case Semantics.MIN | Semantics.MAX if len(values) > 1:
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
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


def _bitwise(function: Callable[[int], int], value: Number | Lanes) -> Scalar:
    if isinstance(value, np.ndarray):
        return np.array([function(int(v)) for v in value], np.int64)
    return function(int(value))
