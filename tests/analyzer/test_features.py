"""Features of slices, sub-slices for BDPM, and heat by line."""

import pytest

from wattslice.ir.operation_counts import OperationCounts
from wattslice.slicing.features import slice_features
from wattslice.slicing.slices import slice_kernel

from .source_text import FACTORS, launched
from .test_slicing import SCALE

LAUNCH = "int main() { scale<<<4, 256>>>(0, 0, 1024); }"
BRANCHY = """__global__ void k(float* a, float x) {
    int i = threadIdx.x;
    if (i < 8)
        a[i] = x * x * x;
    else
        a[i] = x;
}
int main() { k<<<1, 32>>>(0, 0); }
"""


def test_counts_length_and_density_of_the_worked_example():
    kernel, profile = launched(SCALE + LAUNCH)
    memory, shared = slice_features(slice_kernel(kernel), profile, FACTORS, 0.5)
    assert memory.counts == OperationCounts(fp32=1, integer=2, global_load=1, global_store=1)
    assert memory.memory_ops_weighted == 2.0
    assert memory.arithmetic_density == 1.5
    assert (memory.length, memory.static_length) == (5, 5)
    assert memory.bytes_accessed == 8
    assert memory.sm_saturation == 0.5
    assert shared.memory_ops_weighted == FACTORS.shared_memory * (1 + 256)
    # store, barrier, k = 0, 257 tests, 256 x (load, sum, k++)
    assert (shared.length, shared.static_length) == (1 + 1 + 1 + 257 + 3 * 256, 7)


def test_density_without_memory_is_none():
    kernel, profile = launched("__global__ void k(int n) { int x = n * n; }\nint main() { k<<<1, 32>>>(3); }")
    (only,) = slice_features(slice_kernel(kernel), profile, FACTORS, 1.0)
    assert only.arithmetic_density is None
    assert only.compute_ops == 1


def test_sub_slices_follow_the_arms_and_their_probabilities():
    kernel, profile = launched(BRANCHY)
    (only,) = slice_features(slice_kernel(kernel), profile, FACTORS, 1.0)
    assert {part.probability for part in only.sub_slices} == {1.0, 0.25, 0.75}
    assert sum(part.length for part in only.sub_slices) == pytest.approx(only.length)
    # dropping the arm with the two products leaves the comparison and the plain store
    kept = [part for part in only.sub_slices if part.probability > 0.3]
    operations = sum(part.arithmetic_operations for part in kept)
    assert operations / sum(part.normalised_accesses for part in kept) == pytest.approx(1 / 0.75)
    assert sum(part.length for part in kept) == pytest.approx(only.length - 0.25 * 2)


def test_what_follows_an_early_return_has_the_probability_of_getting_there():
    kernel, profile = launched(
        "__global__ void k(float* a) { if (threadIdx.x >= 8) return; a[threadIdx.x] = 1.0f; }\n"
        "int main() { k<<<1, 32>>>(0); }"
    )
    (only,) = slice_features(slice_kernel(kernel), profile, FACTORS, 1.0)
    assert only.probability == pytest.approx(0.25)
