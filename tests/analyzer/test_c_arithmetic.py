"""Arithmetic of C on plain numbers, and the same arithmetic on the lanes of an array."""

import ctypes
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wattslice.counting.values import VARYING, Unknown, Value, binary, convert
from wattslice.ir import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT32, UNKNOWN_TYPE, BinaryOp, Type, TypeKind
from wattslice.ir.c_arithmetic import converted, fold, wrapped

UINT64 = Type(TypeKind.INT, bits=64, signed=False)
INTEGERS = [
    Type(TypeKind.INT, bits=bits, signed=signed) for bits in (8, 16, 32, 64) for signed in (True, False)
]
HELD = {
    (bits, signed): getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}")
    for bits in (8, 16, 32, 64)
    for signed in (True, False)
}
SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
DIVISIONS = (BinaryOp.DIV, BinaryOp.MOD)
NUMBERS = st.one_of(
    st.integers(-70, 70), st.integers(-(1 << 64), 1 << 64),
    st.sampled_from([sign * 2**power for power in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)]),
    st.sampled_from([2**power - 1 for power in (7, 8, 15, 16, 31, 32, 63, 64)]),
)  # fmt: skip


@given(value=NUMBERS, type_=st.sampled_from(INTEGERS))
def test_integers_wrap_as_the_machine_holds_them(value, type_):
    assert wrapped(value, type_) == HELD[type_.bits, type_.signed](value).value


@pytest.mark.parametrize(
    ("op", "a", "b", "type_", "result"),
    [
        (BinaryOp.DIV, -7, 2, INT32, -3),
        (BinaryOp.MOD, -7, 2, INT32, -1),
        (BinaryOp.DIV, -1, 1000000000, UINT32, 4),
        (BinaryOp.DIV, 1, 0, INT32, None),
        (BinaryOp.MOD, 1, 0, UINT64, None),
        (BinaryOp.DIV, 1.0, 0.0, FLOAT64, None),
        (BinaryOp.DIV, 9007199254740993, 1, INT64, 9007199254740993),
        (BinaryOp.SUB, 0, 1, UINT64, (1 << 64) - 1),
        (BinaryOp.SHL, 1, 31, INT32, -(1 << 31)),
        (BinaryOp.SHL, 1, 32, INT32, None),
        (BinaryOp.SHL, 1, 63, UINT64, 1 << 63),
        (BinaryOp.SHR, 1, -1, INT32, None),
        (BinaryOp.SHR, 1, 1 << 32, INT32, None),
        (BinaryOp.SHR, -8, 1, INT32, -4),
        (BinaryOp.SHR, 1 << 63, 60, UINT64, 8),
        (BinaryOp.LT, -1, 1, UINT32, 0),
        (BinaryOp.LT, -1, 1, INT32, 1),
        (BinaryOp.AND, 1.5, 1, FLOAT64, None),
        (BinaryOp.ADD, 0.5, 1, UNKNOWN_TYPE, 1.5),
        (BinaryOp.ADD, math.inf, 1, INT32, None),
        (BinaryOp.COMMA, 1, 2, INT32, 2),
    ],
)
def test_operators(op, a, b, type_, result):
    assert fold(op, a, b, type_) == result


@pytest.mark.parametrize(
    ("value", "type_", "result"),
    [
        (300, Type(TypeKind.INT, bits=8, signed=False), 44),
        (2.9, INT32, 2),
        (-2.9, INT32, -2),
        (0.5, BOOL, 1),
        (3, FLOAT32, 3.0),
        (math.inf, INT32, None),
        (math.nan, INT64, None),
        (10**400, FLOAT64, None),
    ],
)
def test_conversions(value, type_, result):
    assert converted(value, type_) == result


@pytest.mark.slow
@settings(max_examples=settings().max_examples * 6)
@given(op=st.sampled_from(list(BinaryOp)), a=NUMBERS, b=NUMBERS, type_=st.sampled_from(INTEGERS))
def test_lanes_compute_what_numbers_do(op, a, b, type_):
    a = wrapped(a, type_)
    b = abs(b) % type_.bits if op in SHIFTS else wrapped(b, type_)
    if op in DIVISIONS and b == 0:
        b = 1
    expected = binary(op, a, b, type_)
    assert expected == fold(op, a, b, type_)
    pairs: list[tuple[Value, Value]] = [
        (lane(a, type_), b),
        (a, lane(b, type_)),
        (lane(a, type_), lane(b, type_)),
    ]
    for left, right in pairs:
        found = binary(op, left, right, type_)
        (value,) = found.tolist() if isinstance(found, np.ndarray) else (found,)
        assert value == expected


@given(value=NUMBERS, source=st.sampled_from(INTEGERS), target=st.sampled_from([*INTEGERS, BOOL, FLOAT64]))
def test_lanes_are_converted_as_numbers_are(value, source, target):
    value = wrapped(value, source)
    found = convert(lane(value, source), target)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [converted(value, target)]


@pytest.mark.parametrize("op", [*SHIFTS, *DIVISIONS])
def test_what_c_leaves_undefined_is_unknown(op):
    undefined = 64 if op in SHIFTS else 0
    for left in (5, np.array([5, 6])):
        assert binary(op, left, undefined, INT64) is VARYING


def test_lanes_that_no_integer_can_be_made_of_are_unknown():
    assert isinstance(convert(np.array([1.0, 1e30]), INT64), Unknown)


def same_lanes(found: Value, expected: object) -> bool:
    return isinstance(found, np.ndarray) and np.array_equal(found, np.asarray(expected), equal_nan=True)


def test_lanes_are_converted_to_32_bits_as_the_hardware_does():
    reals = np.array([1.9, -1.9, 1e30, -1e30, math.nan, math.inf])
    assert same_lanes(convert(reals, INT32), [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1])
    assert same_lanes(convert(reals, UINT32), [1, 0, 2**32 - 1, 0, 0, 2**32 - 1])


def test_lanes_of_bfloat_are_not_rounded_as_those_of_half():
    bfloat = Type(TypeKind.FLOAT, bits=16, bfloat=True)
    assert same_lanes(convert(np.array([1e30, 3.0]), bfloat), [1e30, 3.0])


@pytest.mark.parametrize("type_", [Type(TypeKind.FLOAT, bits=16), FLOAT32, FLOAT64])
def test_lanes_of_floating_point_are_rounded_as_numpy_rounds(type_):
    random, kind = np.random.default_rng(3), {16: np.float16, 32: np.float32, 64: np.float64}[type_.bits]
    a, b = ((random.random(4096) * 9 - 4).astype(kind) for _ in range(2))
    b[7] = 0
    for op, function in ((BinaryOp.ADD, np.add), (BinaryOp.MUL, np.multiply), (BinaryOp.DIV, np.divide)):
        with np.errstate(all="ignore"):
            truth = function(a, b)
        found = binary(op, a.astype(np.float64), b.astype(np.float64), type_)
        assert same_lanes(found, truth.astype(np.float64))
        assert binary(op, float(a[0]), float(b[0]), type_) == float(truth[0])
    tenths = binary(BinaryOp.MUL, a.astype(np.float64), 0.1, type_)
    assert same_lanes(tenths, (a * kind(0.1)).astype(np.float64))


def lane(value: int, type_: Type) -> Value:
    """One lane that holds `value`, as the evaluation represents it."""
    return convert(np.array([HELD[64, True](value).value]), type_)
