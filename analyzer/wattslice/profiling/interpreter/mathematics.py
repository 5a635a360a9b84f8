"""The functions of CUDA on whole numbers by name, on numpy lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from wattslice.profiling.interpreter.layout import Value

Whole = Callable[..., Value]
_U32, _U64, _I64 = np.uint32, np.uint64, np.int64


def _unsigned(value: Value) -> Value:
    return np.asarray(value).view(f"u{value.dtype.itemsize}")


def popc(value: Value) -> Value:
    """Bits that are set."""
    bits = _unsigned(value).astype(_U64)
    bits = bits - ((bits >> _U64(1)) & _U64(0x5555555555555555))
    bits = (bits & _U64(0x3333333333333333)) + ((bits >> _U64(2)) & _U64(0x3333333333333333))
    bits = (bits + (bits >> _U64(4))) & _U64(0x0F0F0F0F0F0F0F0F)
    return ((bits * _U64(0x0101010101010101)) >> _U64(56)).astype(np.int32)[()]


def _smeared(bits: Value) -> Value:
    """Every bit below the highest one set."""
    for shift in (1, 2, 4, 8, 16, 32):
        bits = bits | (bits >> _U64(shift))
    return bits


def clz(value: Value) -> Value:
    """Zeros above the highest bit."""
    smeared = _smeared(_unsigned(value).astype(_U64))
    return (np.int32(8 * value.dtype.itemsize) - popc(smeared)).astype(np.int32)[()]


def ffs(value: Value) -> Value:
    """Position of the lowest bit, from 1; 0 when none is set."""
    bits = _unsigned(value).astype(_U64)
    lowest = bits & (~bits + _U64(1))
    return np.where(bits == 0, 0, popc(lowest - (lowest != 0).astype(_U64)) + 1).astype(np.int32)[()]


def brev(value: Value) -> Value:
    """The bits in reverse order."""
    width = 8 * value.dtype.itemsize
    bits = _unsigned(value).astype(_U64)
    result = np.zeros(bits.shape, _U64)
    for at in range(width):
        result = result | (((bits >> _U64(at)) & _U64(1)) << _U64(width - 1 - at))
    return result.astype(f"u{width // 8}")[()]


def _mulhi(a: Value, b: Value) -> Value:
    if a.dtype.itemsize == 4:
        wide = _I64 if a.dtype.kind == "i" else _U64
        return ((a.astype(wide) * b.astype(wide)) >> wide(32)).astype(a.dtype)[()]
    x, y = _unsigned(a).astype(_U64), _unsigned(b).astype(_U64)
    mask, half = _U64(0xFFFFFFFF), _U64(32)
    x0, x1, y0, y1 = x & mask, x >> half, y & mask, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    other = x0 * y1 + (middle & mask)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, _U64(0)) - np.where(b < 0, x, _U64(0))
    return high.astype(a.dtype)[()]


def _average(a: Value, b: Value) -> Value:
    return ((a.astype(_I64) + b.astype(_I64)) >> _I64(1)).astype(a.dtype)[()]


def _dot_bytes(a: Value, b: Value, c: Value) -> Value:
    signed = c.dtype.kind == "i"
    total = c.astype(_I64)
    for shift in (0, 8, 16, 24):
        parts = [((v.astype(_I64) >> _I64(shift)) & _I64(255)) for v in (a, b)]
        if signed:
            parts = [np.where(p > 127, p - 256, p) for p in parts]
        total = total + parts[0] * parts[1]
    return total.astype(c.dtype)[()]


def _by_lanes(lanes: int, function: Callable[[Any, Any], Any], signed: bool) -> Whole:
    """A function on each of the `lanes` parts of 32-bit words."""
    part = np.dtype(f"{'i' if signed else 'u'}{4 // lanes}")

    def whole(a: Value, b: Value) -> Value:
        words = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
        x, y = (np.ascontiguousarray(w).view(part).astype(_I64) for w in words)
        result = np.ascontiguousarray(function(x, y).astype(part)).view(_U32)
        return result if a.ndim or b.ndim else result[0]

    return whole


def _all_ones(condition: Any) -> Any:  # noqa: ANN401 - any lanes
    return np.where(condition, -1, 0)


_WHOLE: tuple[tuple[str, Whole], ...] = (
    ("__popc __popcll popcount popcountll", popc),
    ("__clz __clzll clz clzll", clz),
    ("__ffs __ffsll ffs ffsll", ffs),
    ("__brev __brevll", brev),
    ("abs labs llabs", np.abs),
    ("min umin llmin ullmin", np.minimum),
    ("max umax llmax ullmax", np.maximum),
    ("__mulhi __umulhi mulhi __mul64hi __umul64hi", _mulhi),
    ("__hadd", _average),
    ("__dp4a", _dot_bytes),
)
_PACKED: tuple[tuple[str, Callable[[Any, Any], Any], bool], ...] = (
    ("add", np.add, False),
    ("sub", np.subtract, False),
    ("absdiffu", lambda x, y: np.abs(x - y), False),
    ("maxs", np.maximum, True),
    ("maxu", np.maximum, False),
    ("mins", np.minimum, True),
    ("minu", np.minimum, False),
    ("cmpeq", lambda x, y: _all_ones(x == y), False),
    ("cmpgtu", lambda x, y: _all_ones(x > y), False),
    ("cmpgts", lambda x, y: _all_ones(x > y), True),
)
WHOLE: dict[str, Whole] = {name: function for names, function in _WHOLE for name in names.split()} | {
    f"__v{name}{lanes}": _by_lanes(lanes, function, signed)
    for lanes in (2, 4)
    for name, function, signed in _PACKED
}
