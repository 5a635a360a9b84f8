"""Values of intrinsics while a kernel is counted."""

import numpy as np
import pytest

from wattslice.counting.values import VARYING, apply
from wattslice.ir import Semantics

from .counted import counted


@pytest.mark.parametrize(
    ("semantics", "value", "bits", "expected"),
    [
        (Semantics.CLZ, 1, 32, 31),
        (Semantics.CLZ, 1, 64, 63),
        (Semantics.CLZ, 0, 64, 64),
        (Semantics.CLZ, -1, 64, 0),
        (Semantics.POPC, 0xFFFFFFFFFF, 64, 40),
        (Semantics.POPC, -1, 32, 32),
        (Semantics.FFS, 1 << 40, 64, 41),
        (Semantics.FFS, 0, 32, 0),
        (Semantics.BREV, 1, 32, 1 << 31),
        (Semantics.BREV, 2, 64, 1 << 62),
    ],
)
def test_bits_are_those_of_the_argument(semantics, value, bits, expected):
    assert apply(semantics, (value,), bits) == expected
    lanes = apply(semantics, (np.array([value, value]),), bits)
    assert isinstance(lanes, np.ndarray)
    assert lanes.tolist() == [expected] * 2


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("__clz(1)", 31),
        ("__clzll(1)", 63),
        ("__popcll(0xffffffffffull)", 40),
        ("__ffsll(1ll << 40)", 41),
        ("__ffs(threadIdx.x | 8) * 0 + __ffsll(1ll << (40 + (threadIdx.x & 0)))", 41),
        ("__brevll(threadIdx.x & 0 | 1) >> 60", 8),
    ],
)
def test_a_loop_bounded_by_one(tmp_path, call, expected):
    source = f"__global__ void k(float *x) {{ int n = {call}; for (int i = 0; i < n; ++i) x[i] = 0; }}"
    _, profile = counted(tmp_path, source, "k=1:32")
    assert [loop.trip_count for loop in profile.loops] == [expected]


def test_sums_of_large_numbers_wrap_and_extremes_of_them_are_unknown():
    top, lanes = 1 << 63, np.array([1, 2])
    found = apply(Semantics.ADD, (top, lanes), 64)
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [top + 1, top + 2]
    assert apply(Semantics.MAX, (top, lanes), 64) is VARYING
    assert apply(Semantics.MAX, (top, 1), 64) == top
