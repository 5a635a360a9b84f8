"""Whole-number functions of CUDA by name, on numpy lanes of the first argument's width."""

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
    count = np.zeros(bits.shape, np.int32)
    bits = bits - ((bits >> _U64(1)) & _U64(0x5555555555555555))
    bits = (bits & _U64(0x3333333333333333)) + ((bits >> _U64(2)) & _U64(0x3333333333333333))
    bits = (bits + (bits >> _U64(4))) & _U64(0x0F0F0F0F0F0F0F0F)
    count = (bits * _U64(0x0101010101010101)) >> _U64(56)
    return count.astype(np.int32)[()]


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


def _funnel(low: Value, high: Value) -> Value:
    return (high.astype(_U64) << _U64(32)) | low.astype(_U64)


def _clamped(shift: Value) -> Value:
    return np.minimum(shift.astype(_U64), _U64(32))


def _byte_perm(x: Value, y: Value, selector: Value) -> Value:
    both = _funnel(x, y)
    selector = selector.astype(_U64)
    result = np.zeros((), _U64)
    for at in range(4):
        choice = (selector >> _U64(4 * at)) & _U64(15)
        byte = (both >> ((choice & _U64(7)) * _U64(8))) & _U64(255)
        sign = (choice & _U64(8)) != 0
        byte = np.where(sign, np.where(byte & _U64(128), _U64(255), _U64(0)), byte)
        result = result | (byte << _U64(8 * at))
    return result.astype(_U32)[()]


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


def _mul24(a: Value, b: Value) -> Value:
    if a.dtype.kind == "u":
        return (a & _U32(0xFFFFFF)) * (b & _U32(0xFFFFFF))
    eight = np.int32(8)
    return ((a << eight) >> eight) * ((b << eight) >> eight)


def _dot_bytes(a: Value, b: Value, c: Value) -> Value:
    signed = c.dtype.kind == "i"
    total = c.astype(_I64)
    for shift in (0, 8, 16, 24):
        parts = [((v.astype(_I64) >> _I64(shift)) & _I64(255)) for v in (a, b)]
        if signed:
            parts = [np.where(p > 127, p - 256, p) for p in parts]
        total = total + parts[0] * parts[1]
    return total.astype(c.dtype)[()]


def _sad(a: Value, b: Value, c: Value) -> Value:
    wide = np.abs(a.astype(_I64) - b.astype(_I64))
    return (wide + c.astype(_I64)).astype(_U32)[()]


def _average(up: int) -> Whole:
    def average(a: Value, b: Value) -> Value:
        return ((a.astype(_I64) + b.astype(_I64) + _I64(up)) >> _I64(1)).astype(a.dtype)[()]

    return average


def _minimum(a: Value, b: Value) -> Value:
    return np.minimum(a, b)


def _maximum(a: Value, b: Value) -> Value:
    return np.maximum(a, b)


def _absolute(a: Value) -> Value:
    return np.abs(a)


def _funnel_left(low: Value, high: Value, shift: Value) -> Value:
    return ((_funnel(low, high) << (shift.astype(_U64) & _U64(31))) >> _U64(32)).astype(_U32)[()]


def _funnel_right(low: Value, high: Value, shift: Value) -> Value:
    return (_funnel(low, high) >> (shift.astype(_U64) & _U64(31))).astype(_U32)[()]


def _funnel_left_clamped(low: Value, high: Value, shift: Value) -> Value:
    return ((_funnel(low, high) << _clamped(shift)) >> _U64(32)).astype(_U32)[()]


def _funnel_right_clamped(low: Value, high: Value, shift: Value) -> Value:
    return (_funnel(low, high) >> _clamped(shift)).astype(_U32)[()]


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


WHOLE: dict[str, Whole] = {
    "__popc": popc,
    "__popcll": popc,
    "popcount": popc,
    "popcountll": popc,
    "__clz": clz,
    "__clzll": clz,
    "clz": clz,
    "clzll": clz,
    "__ffs": ffs,
    "__ffsll": ffs,
    "ffs": ffs,
    "ffsll": ffs,
    "__brev": brev,
    "__brevll": brev,
    "abs": _absolute,
    "labs": _absolute,
    "llabs": _absolute,
    "min": _minimum,
    "max": _maximum,
    "umin": _minimum,
    "umax": _maximum,
    "llmin": _minimum,
    "llmax": _maximum,
    "ullmin": _minimum,
    "ullmax": _maximum,
    "__mulhi": _mulhi,
    "__umulhi": _mulhi,
    "mulhi": _mulhi,
    "__mul64hi": _mulhi,
    "__umul64hi": _mulhi,
    "__mul24": _mul24,
    "mul24": _mul24,
    "__umul24": _mul24,
    "umul24": _mul24,
    "__byte_perm": _byte_perm,
    "__sad": _sad,
    "__usad": _sad,
    "__hadd": _average(0),
    "__uhadd": _average(0),
    "__rhadd": _average(1),
    "__urhadd": _average(1),
    "__dp4a": _dot_bytes,
    "__funnelshift_l": _funnel_left,
    "__funnelshift_r": _funnel_right,
    "__funnelshift_lc": _funnel_left_clamped,
    "__funnelshift_rc": _funnel_right_clamped,
}
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
WHOLE.update(
    (f"__v{name}{lanes}", _by_lanes(lanes, function, signed))
    for lanes in (2, 4)
    for name, function, signed in _PACKED
)
