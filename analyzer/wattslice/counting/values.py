"""Values of the abstract evaluation: one value stands for all sampled lanes at once.

A value is a Python number (the same in every lane), a numpy array of shape (lanes,), or one of the
records below for what is only partly known. Arithmetic follows C on the given type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeGuard, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting import bounds
from wattslice.counting.bounds import Bounds
from wattslice.counting.mathematics import real_function
from wattslice.ir.builtins import value_of, value_of_arrays
from wattslice.ir.c_arithmetic import COMPARE, EXACT, converted, fold, wrapped

Lanes = NDArray[Any]  # int64, float64 or bool; uint64 only where a lane holds 2**63 or more
Number = int | float


def distinct(values: Lanes) -> Lanes:
    """Ascending, each once. Without counts np.unique imports numpy.ma: 10 ms of a process."""
    return np.unique(values, return_counts=True)[0]


class Unknown(Struct, frozen=True, eq=False):
    """`u + delta` with an unknown u: the same u in all lanes of a warp when `uniform`.

    The known part keeps coalescing visible: in `a[row_start + threadIdx.x]` only the base is unknown.
    `everywhere`: u is the same in all threads of the launch that come here for the same time; `stride`: it is
    a multiple of this. `typical`: made of the lanes that run where data say which do, and of what is known:
    u is 0 where those of `Masks.typical` run; then, where the chance that one runs was assumed. `bounds`:
    between which numbers `u + delta` lies. `which`: threads of a block for which this number is another may
    have another u; None: all have the same, or where it is not `uniform`, each has its own.
    """

    uniform: bool
    delta: Number | Lanes = 0
    everywhere: bool = False
    stride: int = 1
    typical: frozenset[ir.Span] | None = None
    bounds: Bounds | None = None
    which: NDArray[np.int64] | None = None


class Pointer(Struct, frozen=True, eq=False):
    """An address: `root` object (None when unknown) plus an offset in bytes."""

    root: ir.Root | None
    offset: Number | Lanes | Unknown


class Chance(Struct, frozen=True, eq=False):
    """A truth value known only by its probability, for all lanes or per lane.

    `uniform`: all lanes of a warp decide alike; else each decides by itself, as its own data say, or those
    alike for which `which` is the same number. `values`: the different ones of the lanes that one unknown was
    compared with; 0 where it is not so. `typical`: 0 or 1 for each of the lanes that run in a typical warp,
    else as in `Unknown`.
    """

    probability: float | NDArray[np.float64]
    uniform: bool = False
    values: int = 0
    typical: frozenset[ir.Span] | None = None
    which: NDArray[np.int64] | None = None


class Record(Struct, frozen=True, eq=False):
    """A struct or vector value: values by member path."""

    members: tuple[tuple[tuple[str, ...], Value], ...]


Value = int | float | Lanes | Unknown | Pointer | Chance | Record
Scalar = int | float | Lanes | Unknown

VARYING = Unknown(uniform=False)
UNIFORM = Unknown(uniform=True)

_NUMBERS = (int, float)  # as constants: to build a union for every question takes longer than to answer it
_NO_SCALARS = (Chance, Record, Pointer)
_NOT_CONVERTED = (Pointer, Record)


def scalar(value: Value) -> Scalar:
    """`value` as a plain or unknown number; pointers, records and chances become unknown numbers."""
    if isinstance(value, np.ndarray):
        return value.astype(np.int64) if value.dtype.kind == "b" else value
    return VARYING if isinstance(value, _NO_SCALARS) else value


def bounds_of(value: Value) -> Bounds | None:
    """Between which numbers `value` lies; None where that is not known."""
    value = scalar(value)
    return value.bounds if isinstance(value, Unknown) else bounds.of_known(value)


def _with_bounds(value: Value, found: Bounds | None) -> Value:
    return replace(value, bounds=found) if isinstance(value, Unknown) and found != value.bounds else value


def is_warp_uniform(value: Value) -> bool:
    """True when all lanes of each warp hold the same value, known or not."""
    if isinstance(value, _NUMBERS):
        return True
    if isinstance(value, np.ndarray):
        if value[0] != value[1]:
            return False  # mostly, where any differ
        changes = value[1:] != value[:-1]
        changes[31::32] = False  # from one warp to the next
        return not np.logical_or.reduce(changes)
    if isinstance(value, Unknown):
        return value.uniform and is_warp_uniform(value.delta)
    if isinstance(value, Pointer):
        return is_warp_uniform(value.offset)
    return False


def is_the_same_everywhere(value: Value) -> bool:
    """True when all threads of the launch hold the same value, known or not."""
    if isinstance(value, Pointer):
        return is_the_same_everywhere(value.offset)
    if isinstance(value, Unknown):
        return value.uniform and value.everywhere and is_the_same_everywhere(value.delta)
    if isinstance(value, np.ndarray):
        return bool(value[0] == value[-1]) and bool(np.logical_and.reduce(value == value[0]))
    return isinstance(value, int | float)


def which_of(*values: Value) -> NDArray[np.int64] | None:
    """A number that tells apart threads with different `values`; None where all of a block have the same."""
    found: NDArray[np.int64] | None = None
    for value in values:
        number = value.offset if isinstance(value, Pointer) else value
        parts = (number.which, number.delta) if isinstance(number, Unknown) else (number,)
        for part in parts:
            if isinstance(part, np.ndarray):
                whole = part.view(np.int64) if part.dtype.itemsize == 8 else part.astype(np.int64)
                if found is None:
                    found = whole
                else:
                    found = found * _SPREAD
                    found += whole
    return found


def joint(*which: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """The same number for lanes that are alike by each of `which`; None where by one no lanes are."""
    known = [one for one in which if one is not None]
    return which_of(*known) if len(known) == len(which) else None


_SPREAD = 0x1E3779B97F4A7C15
"""Multiples of it by small numbers lie far apart modulo 2**64, so that sums of them and small ones differ."""


def shared_by(*values: Value) -> Unknown:
    """What is computed of `values`, or found where they say: one in threads in which they are the same."""
    if all(map(is_warp_uniform, values)):
        return Unknown(uniform=True, which=which_of(*values))
    which = which_of(*values) if all(map(_is_told, values)) else None
    if which is None or _are_apart(which):
        return VARYING
    return Unknown(uniform=False, which=which)


def _is_told(value: Value) -> bool:
    """Whether `which_of` tells in which threads `value` is the same."""
    number = value.offset if isinstance(value, Pointer) else value
    if isinstance(number, Unknown):
        return number.uniform or number.which is not None
    return isinstance(number, int | float | np.ndarray)


def _are_apart(which: NDArray[np.int64]) -> bool:
    """Whether no two lanes of any warp have the same."""
    lanes = which.reshape(-1, 32)
    few = lanes[:: 1 + len(lanes) // 16]
    if not bool((few[:, 1:] != few[:, :-1]).all()):
        return False  # neighbours have the same, also in a few warps: mostly, where any have
    steps = lanes[:, 1:] - lanes[:, :-1]
    if not bool(steps.all()):
        return False
    lanes = np.sort(lanes[:1] if bool((steps == steps[0]).all()) else lanes, axis=1)
    return bool((lanes[:, 1:] != lanes[:, :-1]).all())


def unknown_of(*values: Value) -> Unknown:
    """What is made of `values` in an unknown way: a member of a record that is known as a whole."""
    return Unknown(uniform=True, which=which_of(*values)) if all(map(is_warp_uniform, values)) else VARYING


def same(a: Value, b: Value) -> bool:
    """True when both are the same known value in every lane (or the very same object)."""
    if a is b:
        return True
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return a == b
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(a[-1] == b[-1]) and bool(np.logical_and.reduce(a == b))  # shape (lanes,), both
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.root == b.root and same(a.offset, b.offset)
    return False


def identical(a: object, b: object) -> bool:
    """True when both are of the same kind and nothing tells one from the other, also where it is unknown."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        one, other = cast("Lanes", a), cast("Lanes", b)
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(a, tuple) and isinstance(b, tuple):
        left, right = cast("tuple[object, ...]", a), cast("tuple[object, ...]", b)
        return len(left) == len(right) and all(map(identical, left, right))
    if isinstance(a, Unknown | Pointer | Chance | Record):
        return all(identical(getattr(a, name), getattr(b, name)) for name in a.__struct_fields__)
    return a == b


def select(active: NDArray[np.bool_], new: Value, old: Value) -> Value:
    """`new` in the active lanes, `old` elsewhere."""
    if same(new, old):
        return new
    if isinstance(new, int | float | np.ndarray) and isinstance(old, int | float | np.ndarray):
        if fits_int64(new) and fits_int64(old):
            return np.where(active, new, old)
        a, b = unsigned_lanes(new), unsigned_lanes(old)
        return VARYING if a is None or b is None else np.where(active, a, b)
    if isinstance(new, Pointer) and isinstance(old, Pointer):
        if new.root == old.root:
            return Pointer(new.root, scalar(select(active, new.offset, old.offset)))
        apart = not is_warp_uniform(active)  # lanes of one warp in two objects
        return Pointer(None, VARYING if apart else scalar(select(active, new.offset, old.offset)))
    return _with_bounds(VARYING, bounds.around(bounds_of(new), bounds_of(old)))


def join(a: Value, b: Value, *, together: bool) -> Value:
    """What is known when the value is either `a` or `b` and nobody can tell which.

    `together`: it is the same one in all lanes of a warp; where both differ between the lanes in the same
    way, that difference then stays known. Otherwise each lane has its own.
    """
    if same(a, b):
        return a
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        if a.root != b.root and not together:
            return Pointer(None, VARYING)
        offset = scalar(join(a.offset, b.offset, together=together))
        return Pointer(a.root if a.root == b.root else None, offset)
    found = VARYING
    delta_a, delta_b = (_lane_part(a), _lane_part(b)) if together else (None, None)
    if delta_a is not None and delta_b is not None and is_warp_uniform(delta_a - delta_b):
        found = Unknown(uniform=True, delta=delta_a, which=_which_unknown(a, b))
    return _with_bounds(found, bounds.around(bounds_of(a), bounds_of(b)))


def _which_unknown(*values: Value) -> NDArray[np.int64] | None:
    """As `which_of`, of the unknown parts alone."""
    return which_of(*(replace(value, delta=0) for value in values if isinstance(value, Unknown)))


def _lane_part(value: Value) -> Number | Lanes | None:
    """How `value` differs between lanes, modulo 2**64; None when that is unknown."""
    value = scalar(value)
    if isinstance(value, Unknown):
        return value.delta if value.uniform else None
    return _residue(value)


def fits_int64(value: Number | Lanes) -> bool:
    """False for what only an unsigned 64-bit integer holds."""
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return isinstance(value, float) or value.dtype != np.uint64


def unsigned_lanes(value: Number | Lanes) -> NDArray[np.uint64] | None:
    """A non-negative integer below 2**64 as uint64; None for any other number."""
    if isinstance(value, int):
        return np.asarray(value, np.uint64) if 0 <= value < 1 << 64 else None
    if isinstance(value, float) or value.dtype == np.float64:
        return None
    is_negative = value.dtype == np.int64 and bool((value < 0).any())
    return None if is_negative else value.astype(np.uint64, copy=False)


def _residue(value: Number | Lanes) -> Number | Lanes:
    """An integer modulo 2**64, as two's complement: numpy's int64 arithmetic is then exact modulo 2**64."""
    if fits_int64(value):
        return value
    return wrapped(value, ir.INT64) if isinstance(value, int) else cast(Lanes, value).view(np.int64)


def wrap(value: Scalar, type_: ir.Type) -> Scalar:
    """`value` reduced to the range of an integer type (two's complement)."""
    if not type_.is_integral or type_.bits not in (8, 16, 32, 64) or isinstance(value, (float, Unknown)):
        return value
    if isinstance(value, int):
        return wrapped(value, type_)
    kind = value.dtype.kind
    return _wrapped_lanes(value.view(np.int64) if kind == "u" else value, type_) if kind in "ui" else value


def _wrapped_lanes(value: NDArray[np.int64], type_: ir.Type) -> Lanes:
    if type_.bits == 64:
        return value.view(np.uint64) if not type_.signed and int(np.minimum.reduce(value)) < 0 else value
    if int(np.maximum.reduce(value.view(np.uint64))) >> (type_.bits - 1) == 0:  # natural and in range: mostly
        return value
    low = -(1 << (type_.bits - 1)) if type_.signed else 0
    high = low + (1 << type_.bits) - 1
    if int(np.maximum.reduce(value)) > high or int(np.minimum.reduce(value)) < low:
        return ((value - low) & ((1 << type_.bits) - 1)) + low
    return value


def _unknown_binary(op: ir.BinaryOp, a: Scalar, b: Scalar) -> Scalar | Chance:
    """Arithmetic with at least one unknown operand: sums and known multiples keep the known part."""
    uniform_a = a.uniform if isinstance(a, Unknown) else is_warp_uniform(a)
    uniform_b = b.uniform if isinstance(b, Unknown) else is_warp_uniform(b)
    if op in ir.COMPARISONS:
        return _unknown_comparison(op, a, b, together=uniform_a and uniform_b)
    delta_a = a.delta if isinstance(a, Unknown) else _residue(a)
    delta_b = b.delta if isinstance(b, Unknown) else _residue(b)
    if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
        # A known operand only shifts the known part, so it need not be uniform itself.
        parts = [part for part in (a, b) if isinstance(part, Unknown)]
        if all(map(_is_told, parts)):
            found = _residue(delta_a + delta_b if op is ir.BinaryOp.ADD else delta_a - delta_b)
            uniform = all(part.uniform for part in parts)
            everywhere = all(part.everywhere for part in parts)
            stride = math.gcd(*(part.stride for part in parts))
            return Unknown(uniform, found, everywhere, stride, which=_which_unknown(*parts))
        return VARYING
    if op is ir.BinaryOp.MUL and isinstance(b, int) and isinstance(a, Unknown) and _is_told(a):
        return _multiple(a, b)
    if op is ir.BinaryOp.MUL and isinstance(a, int) and isinstance(b, Unknown) and _is_told(b):
        return _multiple(b, a)
    if op is ir.BinaryOp.SHL and isinstance(b, int) and 0 <= b < 63:
        return _unknown_binary(ir.BinaryOp.MUL, a, 1 << b)
    if op is ir.BinaryOp.MOD and isinstance(b, int) and b and uniform_a and _spread(delta_a) < abs(b):
        # which warps the end of the range parts is not known: none
        return Unknown(True, delta_a, which=_which_unknown(a))
    return shared_by(a, b)


def typically(
    function: Callable[..., Value], *values: Value, guessed: frozenset[ir.Span] = frozenset()
) -> Unknown | None:
    """What `function` makes of numbers in a typical warp; None where that leaves one of them unknown."""
    parts = list[Number | Lanes]()
    for value in values:
        part = value
        if isinstance(value, Unknown) and value.typical is not None:
            part, guessed = value.delta, guessed | value.typical
        part = scalar(part)
        if isinstance(part, Unknown):
            return None
        parts.append(part)
    found = scalar(function(*parts))
    if isinstance(found, Unknown):
        return found
    return Unknown(uniform=True, delta=found, typical=guessed, which=_which_unknown(*values))


def _unknown_comparison(op: ir.BinaryOp, a: Scalar, b: Scalar, *, together: bool) -> Chance:
    """One half; but what all lanes share equals at most one of the values in which they differ."""
    part_a, part_b = _lane_part(a), _lane_part(b)
    if part_a is None or part_b is None:
        return Chance(0.5, together, which=shared_by(a, b).which)
    difference = _residue(part_a - part_b)
    alike = is_warp_uniform(difference)
    is_shared = not alike or all(value.everywhere for value in (a, b) if isinstance(value, Unknown))
    values = distinct(difference).size if isinstance(difference, np.ndarray) and is_shared else 1
    if values < 2 or op not in (ir.BinaryOp.EQ, ir.BinaryOp.NE):
        return Chance(0.5, together or alike)
    chance = 1.0 / values
    return Chance(chance if op is ir.BinaryOp.EQ else 1.0 - chance, together or alike, values)


def _multiple(value: Unknown, factor: int) -> Unknown:
    stride = abs(factor) * value.stride or 1
    delta = _residue(value.delta * _residue(factor))
    return Unknown(value.uniform, delta, value.everywhere, stride, which=value.which)


def _spread(delta: Number | Lanes) -> Number:
    """By how much the lanes of one warp differ at most."""
    return int(np.ptp(delta.reshape(-1, 32), axis=1).max()) if isinstance(delta, np.ndarray) else 0


def binary(op: ir.BinaryOp, left: Value, right: Value, type_: ir.Type) -> Value:
    """`left op right` carried out in `type_`."""
    if type(left) is int and type(right) is int:  # mostly
        result = fold(op, left, right, type_)
        return VARYING if result is None else result
    if isinstance(left, Pointer) and type_.bits in (0, 64):
        if op is ir.BinaryOp.MOD and isinstance(right, int) and right > 0 and right & right - 1 == 0:
            op, right = ir.BinaryOp.AND, right - 1
        if op is ir.BinaryOp.AND and isinstance(right, int):
            return _bits_of_address(left, right)
        if op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB) and not isinstance(right, _NO_SCALARS):
            return Pointer(left.root, scalar(binary(op, left.offset, right, ir.INT64)))
    elif isinstance(right, Pointer) and op is ir.BinaryOp.ADD and type_.bits in (0, 64):
        return binary(op, right, left, type_)
    a, b = scalar(left), scalar(right)
    if isinstance(a, Unknown) or isinstance(b, Unknown):
        if op is ir.BinaryOp.COMMA:
            return right
        found = typically(partial(binary, op, type_=type_), a, b)
        if found is not None:
            return found
        around = bounds.of_operation(op, bounds_of(a), bounds_of(b), type_)
        if op is ir.BinaryOp.AND:  # x & 0 and the masks of power-of-two wrapping
            return _with_bounds(shared_by(a, b), around)
        return _with_bounds(_unknown_binary(op, a, b), around)
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return _lanes(op, a, b, type_)
    if type_.is_integral and (isinstance(a, float) or isinstance(b, float)):
        type_ = ir.FLOAT64  # a counter that is stepped without its type
    result = fold(op, a, b, type_)
    return VARYING if result is None else result


ALIGNMENT = 256
"""Objects in memory are taken to lie at multiples of this, as those that cudaMalloc makes do."""


def _bits_of_address(pointer: Pointer, mask: int) -> Value:
    """`address & mask`: what lies below a multiple of a power of two, or that multiple."""
    low, size = mask & ALIGNMENT - 1, -mask & (1 << 64) - 1
    if pointer.root is None or isinstance(pointer.offset, Unknown):
        return VARYING
    if mask == low:
        return binary(ir.BinaryOp.AND, pointer.offset, low, ir.INT64)
    if mask | ALIGNMENT - 1 in (-1, (1 << 64) - 1):
        return Pointer(
            pointer.root, scalar(binary(ir.BinaryOp.AND, pointer.offset, low - ALIGNMENT, ir.INT64))
        )
    if isinstance(pointer.offset, int) and size > ALIGNMENT and size & size - 1 == 0:
        return Pointer(pointer.root, Unknown(uniform=True, everywhere=True, stride=ALIGNMENT))
    return VARYING


def _lanes(op: ir.BinaryOp, a: Number | Lanes, b: Number | Lanes, type_: ir.Type) -> Scalar:
    """`a op b` where at least one of them is an array."""
    if op is ir.BinaryOp.COMMA:
        return b
    plain = type_.kind is ir.TypeKind.INT and (type_.bits < 64 or (type_.signed and type_.bits == 64))
    if not (plain and _is_int64(a) and _is_int64(b)):
        return _any_lanes(op, a, b, type_)
    compare, exact = COMPARE.get(op), EXACT.get(op)
    if compare is not None:
        return compare(a, b)
    if exact is None:
        return _divide_or_shift(op, a, b, type_)
    if op is ir.BinaryOp.AND or op is ir.BinaryOp.OR or type_.bits not in (8, 16, 32, 64):
        return exact(a, b)
    return _wrapped_lanes(exact(a, b), type_)


def _is_int64(value: Number | Lanes) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind == "i"
    return isinstance(value, int) and -(1 << 63) <= value < 1 << 63


def _any_lanes(op: ir.BinaryOp, a: Number | Lanes, b: Number | Lanes, type_: ir.Type) -> Scalar:
    """`_lanes` of floating-point numbers, and of integers that are not all int64."""
    if type_.bits > 64 and op not in ir.COMPARISONS:
        return VARYING
    if type_.bits == 64 and type_.is_integral:
        a, b = _in64(a, type_), _in64(b, type_)
    else:
        a, b = _residue(a), _residue(b)
    if op in ir.COMPARISONS:  # exact between int64, uint64 and any Python integer
        return COMPARE[op](a, b)
    if type_.is_float or _is_real(a) or _is_real(b):
        function = _REAL_OPERATIONS.get(op)
        if function is None:
            return VARYING
        with np.errstate(all="ignore"):
            return rounded(function(_as_real(a, type_), _as_real(b, type_)), type_)
    if op in EXACT:
        return wrap(EXACT[op](_residue(a), _residue(b)), type_)
    return _divide_or_shift(op, a, b, type_)


_REAL_OPERATIONS: dict[ir.BinaryOp, Callable[[Any, Any], Lanes]] = {
    ir.BinaryOp.ADD: np.add,
    ir.BinaryOp.SUB: np.subtract,
    ir.BinaryOp.MUL: np.multiply,
    ir.BinaryOp.DIV: np.divide,
}
_REAL_TYPES = {32: np.float32, 16: np.float16}


def rounded(value: Lanes, type_: ir.Type) -> Lanes:
    """The nearest numbers that a floating-point type of 16 or 32 bits has, as float64.

    To round a sum, product, quotient or root of such numbers twice is to round it once.
    """
    dtype = _REAL_TYPES.get(type_.bits or 0)
    if dtype is None or not type_.is_float or type_.bfloat or type_.lanes > 1:
        return value
    with np.errstate(all="ignore"):
        return value.astype(dtype).astype(np.float64)


def _as_real(value: Number | Lanes, type_: ir.Type) -> Number | Lanes:
    """A constant as its type holds it; lanes are rounded already."""
    found = converted(value, type_) if isinstance(value, _NUMBERS) and type_.is_float else value
    return value if found is None else found


def _in64(value: Number | Lanes, type_: ir.Type) -> Number | Lanes:
    return cast("Number | Lanes", wrap(value, type_))


def _is_real(value: Number | Lanes) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype == np.float64)


def _divide_or_shift(op: ir.BinaryOp, a: Number | Lanes, b: Number | Lanes, type_: ir.Type) -> Scalar:
    if op in (ir.BinaryOp.SHL, ir.BinaryOp.SHR):
        count = _shift_count(b, type_)
        if count is None:
            return VARYING
        if op is ir.BinaryOp.SHL:
            return wrap(cast("int | Lanes", _residue(a)) << count, type_)
        b = count
    elif isinstance(b, int) and b == 0:
        return VARYING
    elif isinstance(b, int) and 0 < b < 1 << 63 and _are_natural(a):
        return _divided(op, a, b)
    dtype = np.int64 if fits_int64(a) and fits_int64(b) else np.uint64
    left, right = np.asarray(a).astype(dtype, copy=False), np.asarray(b).astype(dtype, copy=False)
    if op is ir.BinaryOp.SHR:
        return _signed_if_it_fits(left >> right)
    if not np.all(right):
        # A lane that divides by zero is a lane masked off by the program; its value does not matter.
        right = np.where(right == 0, right.dtype.type(1), right)
    remainder = np.fmod(left, right)  # truncates, as C does
    if op is ir.BinaryOp.MOD:
        return _signed_if_it_fits(remainder)
    with np.errstate(over="ignore"):  # the least integer divided by -1
        quotient = (left - remainder) // right
    may_leave = type_.signed and not (isinstance(b, int) and b != -1)
    return wrap(quotient, type_) if may_leave else _signed_if_it_fits(quotient)


def _are_natural(value: Number | Lanes) -> TypeGuard[Lanes]:
    """Whether these are lanes of signed integers, none of them negative."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "i" and int(np.minimum.reduce(value)) >= 0


def _divided(op: ir.BinaryOp, a: Lanes, b: int) -> Lanes:
    """Quotient or remainder of natural numbers: many times faster than where signs matter."""
    if b & (b - 1) == 0:
        return a >> (b.bit_length() - 1) if op is ir.BinaryOp.DIV else a & (b - 1)
    quotient = a // b
    return quotient if op is ir.BinaryOp.DIV else a - quotient * b


def _signed_if_it_fits(value: Lanes) -> Lanes:
    """uint64 lanes as int64 where they are all below 2**63."""
    return value if value.dtype.kind != "u" or value.max() >= 1 << 63 else value.view(np.int64)


def _shift_count(count: Number | Lanes, type_: ir.Type) -> int | Lanes | None:
    """How far to shift, inside the width; None when no lane's count is. Other lanes are masked off."""
    bits = type_.bits or 64
    if isinstance(count, np.ndarray):
        return np.clip(_residue(count), 0, min(bits, 64) - 1)
    return int(count) if 0 <= count < bits else None


def truth(value: Value) -> bool | NDArray[np.bool_] | Chance:
    """The value as a condition."""
    if isinstance(value, _NUMBERS):
        return bool(value)
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind == "b" else cast(NDArray[np.bool_], value != 0)
    if isinstance(value, Chance):
        return value
    if isinstance(value, Pointer):
        return True
    if is_warp_uniform(value):
        return Chance(0.5, uniform=True)
    if isinstance(value, Unknown) and value.typical is not None and isinstance(value.delta, np.ndarray):
        return Chance((value.delta != 0).astype(np.float64), typical=value.typical)
    return Chance(0.5, which=shared_by(value).which)


def convert(value: Value, type_: ir.Type) -> Value:
    """`value` converted to `type_` as C does."""
    if isinstance(value, Unknown) and value.typical is not None and type_.is_integral:
        return typically(partial(convert, type_=type_), value) or value
    if isinstance(value, Unknown):
        return _with_bounds(value, bounds.within(value.bounds, type_))
    if isinstance(value, _NOT_CONVERTED):
        return value
    if isinstance(value, Chance):
        return value if type_.is_integral else VARYING
    if isinstance(value, _NUMBERS):
        result = converted(value, type_) if type_.lanes == 1 else value
        return VARYING if result is None else result
    if type_.kind is ir.TypeKind.BOOL:
        return value != 0
    if type_.kind is ir.TypeKind.INT:
        if value.dtype.kind == "f":
            whole = _truncated(value, type_)
            if whole is None:
                return VARYING
            value = whole
        return wrap(value if value.dtype.kind == "u" else value.astype(np.int64, copy=False), type_)
    return rounded(value.astype(np.float64, copy=False), type_) if type_.is_float else value


def _truncated(value: Lanes, type_: ir.Type) -> Lanes | None:
    """Floating-point lanes without their fraction, as the hardware converts them: to 32 bits what is beyond
    goes to the nearer end, and what is no number to 0 (PTX ISA, `cvt`). None where 64 bits do not hold one.
    """
    if (type_.bits or 0) > 32:
        return np.trunc(value) if bool((np.abs(value) < 2.0**63).all()) else None
    low = -(1 << 31) if type_.signed else 0
    return np.clip(np.trunc(np.where(np.isnan(value), 0.0, value)), low, low + (1 << 32) - 1)


_REAL: dict[ir.Semantics, Callable[..., Any]] = {
    ir.Semantics.CEIL: np.ceil,
    ir.Semantics.FLOOR: np.floor,
    ir.Semantics.RINT: np.rint,
    ir.Semantics.SQRT: np.sqrt,
}


def _zeros_in_front(bits: NDArray[np.uint8]) -> Lanes:
    """How many of each row, all where none is set."""
    first: Lanes = bits.argmax(axis=1)
    return np.where(bits.any(axis=1), first, bits.shape[1])


def _reversed_number(bits: NDArray[np.uint8]) -> Lanes:
    number = np.zeros((len(bits), 64), np.uint8)
    number[:, 64 - bits.shape[1] :] = bits[:, ::-1]
    return np.packbits(number, axis=1).view(np.dtype(">i8")).ravel().astype(np.int64)


_BITS: dict[ir.Semantics, Callable[[NDArray[np.uint8]], Lanes]] = {
    ir.Semantics.POPC: lambda bits: bits.sum(axis=1, dtype=np.int64),
    ir.Semantics.CLZ: _zeros_in_front,
    ir.Semantics.FFS: lambda bits: (_zeros_in_front(bits[:, ::-1]) + 1) % (bits.shape[1] + 1),
    ir.Semantics.BREV: _reversed_number,
}
"""Of the bits of integers, each a row, from the highest down."""


def apply(semantics: ir.Semantics, arguments: Sequence[Value], bits: int, name: str = "") -> Value:
    """The value of an intrinsic; unknown where an argument is, or where we do not model it.

    `bits`: the width of the first argument's type (`__clzll` and `__clz` differ in nothing else). `name`:
    of a function that its row in the table of builtins computes.
    """
    if not arguments or semantics in (
        ir.Semantics.OPAQUE,
        ir.Semantics.EFFECT,
        ir.Semantics.NONE,
        ir.Semantics.BARRIER,
    ):
        return _with_bounds(VARYING, bounds.OF_FUNCTIONS.get(name))
    if semantics is ir.Semantics.UNIFORM:
        return UNIFORM
    if semantics is ir.Semantics.IDENTITY:
        return arguments[0]
    if semantics is ir.Semantics.BROADCAST:
        return _broadcast(*arguments[name.endswith("_sync") :])
    numbers = [scalar(argument) for argument in arguments]
    known = [number for number in numbers if not isinstance(number, Unknown)]
    if len(known) < len(numbers):

        def of_parts(*parts: Number | Lanes) -> Value:
            return apply(semantics, parts, bits, name)

        found = typically(of_parts, *numbers)
        if found is not None:
            return found
        whole = replace(unknown_of(*numbers), bounds=bounds.OF_FUNCTIONS.get(name))
        if semantics is ir.Semantics.MIN or semantics is ir.Semantics.MAX:
            least = semantics is ir.Semantics.MIN
            return _with_bounds(whole, bounds.of_extreme([*map(bounds_of, numbers)], least=least))
        own = bounds_of(numbers[0])
        if semantics is ir.Semantics.ABS and own is not None:
            return _with_bounds(whole, (max(0, own[0], -own[1]), max(-own[0], own[1])))
        return whole
    if semantics in _REAL:
        return _real(_REAL[semantics], known)
    if semantics is ir.Semantics.COMPUTED or semantics is ir.Semantics.MUL24:
        return _computed(name, known)
    if semantics in _BITS:
        return _bitwise(_BITS[semantics], known[0], bits or 32)
    return _arithmetic(semantics, known)


def _broadcast(value: Value, lane: Value, width: Value = 32) -> Value:
    """The `value` that one lane of the warp has."""
    value = scalar(value)
    if not is_warp_uniform(lane) or width != 32:
        return unknown_of(value)
    part = value.delta if isinstance(value, Unknown) and value.uniform else value
    if isinstance(part, Unknown) or not isinstance(lane, int | np.ndarray):
        return UNIFORM
    if isinstance(part, np.ndarray):
        rows = part.reshape(-1, 32)
        lanes = np.broadcast_to(lane, part.shape).reshape(-1, 32)[:, :1].astype(np.int64) & 31
        part = np.repeat(np.take_along_axis(rows, lanes, axis=1)[:, 0], 32)
    return replace(value, delta=part) if isinstance(value, Unknown) else part


_UINT64 = ir.Type(ir.TypeKind.INT, bits=64, signed=False)
_BINARY = {
    ir.Semantics.ADD: ir.BinaryOp.ADD,
    ir.Semantics.MUL: ir.BinaryOp.MUL,
    ir.Semantics.DIV: ir.BinaryOp.DIV,
    ir.Semantics.MOD: ir.BinaryOp.MOD,
}


def _arithmetic(semantics: ir.Semantics, values: list[Number | Lanes]) -> Scalar:
    """Sums and the like, exact modulo 2**64; what is exact only below 2**63 is unknown above."""
    type_ = ir.INT64 if all(map(fits_int64, values)) else _UINT64
    a = values[0]
    b = values[1] if len(values) > 1 else 0
    op = _BINARY.get(semantics)
    if op is not None:
        return EXACT[op](a, b) if op in EXACT and type_.signed else scalar(binary(op, a, b, type_))
    match semantics:
        case ir.Semantics.FMA:
            product = scalar(binary(ir.BinaryOp.MUL, a, b, type_))
            return scalar(binary(ir.BinaryOp.ADD, product, values[2] if len(values) > 2 else 0, type_))
        case ir.Semantics.ABS:
            return abs(a)
        case ir.Semantics.MIN | ir.Semantics.MAX if len(values) > 1:
            if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
                if not type_.signed:
                    return VARYING
                chosen = np.minimum(a, b) if semantics is ir.Semantics.MIN else np.maximum(a, b)
                return cast(NDArray[Any], chosen)
            return min(a, b) if semantics is ir.Semantics.MIN else max(a, b)
        case _:
            return VARYING


def _real(function: Callable[..., Any], values: list[Number | Lanes]) -> Scalar:
    with np.errstate(all="ignore"):
        result: NDArray[np.float64] = np.asarray(function(*(np.asarray(v, np.float64) for v in values)))
    return float(result) if result.ndim == 0 else result


_FLOAT64 = np.dtype(np.float64)


def _computed(name: str, values: list[Number | Lanes]) -> Scalar:
    """The function of that name, for each lane; unknown where neither numpy nor its row has one."""
    of_arrays, function = value_of_arrays(name), value_of(name)
    if of_arrays is not None and all(map(_is_int64, values)):
        if any(isinstance(value, np.ndarray) for value in values):
            values = [np.asarray(value, np.int64) for value in values]
        return of_arrays(*values)
    if (real := real_function(name, _FLOAT64, _FLOAT64)) is not None:
        return _real(real, values)
    if function is None:
        return VARYING
    lanes = np.broadcast(*values) if any(isinstance(value, np.ndarray) for value in values) else None
    try:
        found = function(*values) if lanes is None else [function(*(n.item() for n in row)) for row in lanes]
    except (ValueError, OverflowError, ZeroDivisionError):
        return VARYING
    if not isinstance(found, list):
        return found
    is_whole = all(isinstance(number, int) for number in found)
    return (
        np.array([wrapped(int(n), ir.INT64) for n in found], np.int64)
        if is_whole
        else np.array(found, np.float64)
    )


def _bitwise(function: Callable[[NDArray[np.uint8]], Lanes], value: Number | Lanes, bits: int) -> Scalar:
    if not isinstance(value, np.ndarray):
        lane = function(_bits_of(np.array([wrapped(int(value), ir.INT64)]), bits))
        return int(lane[0]) & ((1 << bits) - 1)
    return function(_bits_of(value, bits))


def _bits_of(value: Lanes, bits: int) -> NDArray[np.uint8]:
    lanes = value.astype(np.int64, copy=False).astype(">i8").view(np.uint8).reshape(-1, 8)
    return np.unpackbits(lanes, axis=1)[:, 64 - bits :]
