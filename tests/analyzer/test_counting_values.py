"""Numbers while a kernel is counted, alone and per lane."""

import math

import numpy as np
import pytest

from wattslice.counting import bounds
from wattslice.counting.trips import trip_count, value_at
from wattslice.counting.values import (
    VARYING,
    Chance,
    Unknown,
    Value,
    binary,
    convert,
    is_warp_uniform,
    join,
    select,
    shared_by,
)
from wattslice.ir import FLOAT32, FLOAT64, INT32, INT64, UINT32, BinaryOp, Type, TypeKind

from .counted import counted

UINT64 = Type(TypeKind.INT, bits=64, signed=False)
TOP = 1 << 63
LANES = np.arange(32, dtype=np.int64)


def trips(tmp_path, body, launch="k=1:64"):
    source = f"typedef unsigned long long u64;\n__global__ void k(float *x) {{\n{body}\n}}"
    _, profile = counted(tmp_path, source, launch)
    return [loop.trip_count for loop in profile.loops]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("u64 y = 0; y -= 1; for (int k = y >> 60; k > 0; --k) x[k] = 0;", 15),
        ("u64 y = 0; y -= 1; int n = y % 10; for (int k = 0; k < n; ++k) x[k] = 0;", 5),
        ("u64 y = 0; y -= threadIdx.x + 1; for (int k = y >> 60; k > 0; --k) x[k] = 0;", 15),
        ("u64 y = 0; y -= threadIdx.x + 1; if (y > 5) for (int k = 0; k < 3; ++k) x[k] = 0;", 3),
        ("u64 y = 0; y -= threadIdx.x + 1; for (int k = (double)y * 1e-18; k > 0; --k) x[k] = 0;", 18),
        ("u64 y = 1ull << 63 | threadIdx.x; for (int k = y >> 62; k > 0; --k) x[k] = 0;", 2),
        ("u64 y = 1ull << 63 | threadIdx.x; for (int k = y / (1ull << 61); k > 0; --k) x[k] = 0;", 4),
        ("long long y = 1ull << 63 | threadIdx.x; for (int k = y >> 62; k < 0; ++k) x[-k] = 0;", 2),
        ("for (u64 y = ~0ull - 9; y < ~0ull; ++y) x[y & 63] = 0;", 9),
        ("for (u64 y = 1ull << 63; y > 0; y /= 2) x[y & 63] = 0;", 64),
        ("for (unsigned y = 1 + (threadIdx.x & 1); y != 0; y <<= 1) x[y & 63] = 0;", 31.5),
        ("unsigned h = 1; for (int k = 0; k < 40; ++k) h *= 3; for (h >>= 28; h > 0; --h) x[h] = 0;",
         (3**40 % 2**32) >> 28),
    ],
)  # fmt: skip
def test_loops_bounded_by_64_bit_integers(tmp_path, body, expected):
    assert trips(tmp_path, body)[-1] == expected


FNV1A = """
u64 h = 14695981039346656037ULL;
h ^= FIRST; h *= 1099511628211ULL;
h ^= FIRST + 1; h *= 1099511628211ULL;
int n = h & 7;
for (int k = 0; k < n; ++k) x[k] = 0;
"""


def fnv1a(first):
    value = 14695981039346656037
    for k in range(2):
        value = (value ^ (first + k)) * 1099511628211 % 2**64
    return value


def test_a_hash_is_the_number_it_is_in_c(tmp_path):
    assert trips(tmp_path, FNV1A.replace("FIRST", "5")) == [fnv1a(5) & 7]
    each = [fnv1a(lane) & 7 for lane in range(64)]
    assert trips(tmp_path, FNV1A.replace("FIRST", "threadIdx.x")) == [sum(each) / 64]


def test_an_index_below_zero_still_coalesces(tmp_path):
    body = "unsigned long i = threadIdx.x; if (i > 0) x[i - 1] = x[i];"
    _, profile = counted(tmp_path, f"__global__ void k(float *x) {{ {body} }}", "k=1:64")
    assert [site.sectors_per_request for site in profile.sites] == [4.0, 4.5]


def test_numbers_of_both_halves_meet_in_one_array():
    active = np.array([True, False])
    assert lanes(select(active, TOP, 1)) == [TOP, 1]
    assert lanes(select(active, TOP, np.array([1, 2]))) == [TOP, 2]
    assert select(active, TOP, -1) is VARYING
    assert isinstance(join(TOP, np.arange(32), together=True), Unknown)


def test_a_known_part_stays_inside_64_bits():
    base = Unknown(uniform=True, delta=np.arange(32))
    for op in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL):
        found = binary(op, base, TOP + 3, UINT64)
        assert isinstance(found, Unknown)
        assert isinstance(found.delta, np.ndarray)


def test_numbers_beyond_the_range_of_double_are_infinite(tmp_path):
    large = np.array([1e200, 2e200])
    assert lanes(binary(BinaryOp.MUL, large, large, FLOAT64)) == [math.inf, math.inf]
    chain = "double a = -1e100 * (threadIdx.x + 1); for (int i = 0; i < 99; ++i) a = fma(a, a, -1.0);"
    assert trips(tmp_path, f"{chain} for (int k = 0; k < 3; ++k) x[k] = a;")[-1] == 3


def test_counters_beyond_the_signed_range_are_left_to_their_type():
    assert trip_count(TOP, BinaryOp.DIV, 2, BinaryOp.GT, 0) is None
    assert trip_count(np.array([1, 2]), BinaryOp.SHL, 1, BinaryOp.NE, 0) is None


@pytest.mark.parametrize(
    ("start", "op", "amount", "iteration", "type_", "expected"),
    [
        (1, BinaryOp.SUB, 2, 1, UINT64, 2**64 - 1),
        (2**64 - 1, BinaryOp.SHR, 4, 15, UINT64, 15),
        (2**64 - 1, BinaryOp.DIV, 10, 19, UINT64, 1),
        (5, BinaryOp.DIV, 10, 18, INT64, 0),
        (1, BinaryOp.MUL, 3, 40, UINT32, 3**40 % 2**32),
        (200, BinaryOp.ADD, 100, 1, Type(TypeKind.INT, bits=8, signed=False), 44),
        (0.5, BinaryOp.ADD, 0.25, 2, FLOAT32, 1.0),
        (-7, BinaryOp.DIV, 2, 1, INT32, -3),
    ],
)
def test_a_counter_holds_what_its_type_can(start, op, amount, iteration, type_, expected):
    assert value_at(start, op, amount, iteration, type_) == expected


def test_division_by_a_lane_that_is_zero_leaves_the_others_known():
    assert lanes(binary(BinaryOp.DIV, np.array([7, 7]), np.array([0, 2]), INT64))[1] == 3


def test_unsigned_lanes_convert_to_their_true_floating_point_value():
    assert lanes(convert(convert(np.array([-1, 1]), UINT64), FLOAT32)) == [2.0**64, 1.0]


def lanes(value: Value):
    assert isinstance(value, np.ndarray)
    return value.tolist()


@pytest.mark.parametrize(("other", "uniform"), [(LANES + 5, True), (2 * LANES, False), (5, True)])
def test_lanes_in_step_compare_alike(other, uniform):
    """`place >= end`, both of them `i` plus something that all lanes share, known or not."""
    place = Unknown(True, LANES)
    found = binary(BinaryOp.GE, place, other, INT32)
    assert isinstance(found, Chance)
    assert found.uniform is uniform


@pytest.mark.parametrize("op", [BinaryOp.DIV, BinaryOp.MOD])
@pytest.mark.parametrize("lanes", [[0, 1, 6, 7, 8, 63, 2**40], [-8, -7, -1, 0, 1, 7, 2**40]])
@pytest.mark.parametrize("divisor", [1, 7, 8, 2**41, -7, -8])
def test_lanes_divide_as_numbers_do(op, lanes, divisor):
    """By powers of two and others, with and without signs: towards zero, as C does."""
    found = binary(op, np.array(lanes, np.int64), divisor, INT64)
    assert isinstance(found, np.ndarray)
    assert list(found) == [binary(op, lane, divisor, INT64) for lane in lanes]


def test_warps_are_uniform_by_themselves():
    """What differs from one warp to the next is the same within each."""
    warps = np.repeat(np.array([3, 5, 5]), 32)
    assert is_warp_uniform(warps)
    for lane in (0, 31, 32, 95):
        changed = warps.copy()
        changed[lane] = 7
        assert not is_warp_uniform(changed)


def test_what_a_type_of_floating_point_numbers_holds_bounds_nothing():
    assert bounds.within(None, Type(TypeKind.FLOAT, bits=16)) is None
    assert bounds.within((0, 7), FLOAT32) == (0, 7)
    assert bounds.of_operation(BinaryOp.MUL, (0, 1), bounds.of_known(6.5), FLOAT32) == (0, 7)
    assert bounds.of_operation(BinaryOp.DIV, (0, 1), (2, 2), FLOAT32) is None
    assert bounds.of_known(float("inf")) is None


@pytest.mark.parametrize(
    ("second", "is_shared"),
    [
        (LANES + 100, False),
        (LANES[::-1] * 3, False),  # no warp is like the other
        (LANES // 2, True),
        (LANES % 16, True),  # not beside each other
    ],
)
def test_lanes_of_any_warp_with_the_same_number_share_what_is_there(second, is_shared):
    found = shared_by(np.concatenate([LANES, second]))
    assert (found.which is not None) == is_shared


def test_warps_that_are_alike_share_as_the_first_one_does():
    assert shared_by(np.concatenate([LANES % 16, LANES % 16 + 100])).which is not None
    assert shared_by(np.concatenate([LANES ^ 1, (LANES ^ 1) + 100])) is VARYING
