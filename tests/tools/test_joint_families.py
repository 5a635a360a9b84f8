"""Which programs leave the joint model's training together."""

from __future__ import annotations

import pytest

from wattslice_corpora.synthetic.grid import default_grid
from wattslice_tools.accuracy.joint_training import family


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [
        ("mixbench-cuda-ro", "mixbench"),
        ("matrixMulGlobal", "matrixMul"),
        ("global_fp32_coalesced_d0.5_s1_zeros", "global_fp32"),
        ("global_fp32_random_d4_s0.6", "global_fp32"),
        ("global_fp64_coalesced_d4_s1", "global_fp64"),
        ("shared_fp32_coalesced_d4_s1", "shared_fp32"),
        ("registers_tensor_s1", "registers_tensor"),
        ("global_sums", "global_sums"),
        ("shared_sums_of_rows", "shared_sums_of_rows"),
    ],
)
def test_siblings_leave_together(benchmark: str, name: str):
    assert family(benchmark) == name


def test_a_sweep_of_synthetic_slices_is_a_few_programs():
    grid = default_grid(132)
    assert {family(spec.name) for spec in grid} == {f"{spec.space.value}_{spec.kind.value}" for spec in grid}
