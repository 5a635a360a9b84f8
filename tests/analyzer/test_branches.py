"""Branch-sparse or -dense: our thirteen programs against the lists of Wang & Chen 2013, Tables 2 and 3."""

from pathlib import Path

import pytest

from wattslice.analysis import BranchClass
from wattslice.counting.count import count
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice.power.methods import branch_density
from wattslice.slicing.slices import slice_kernel
from wattslice_models.gpu import load_gpu

from .source_text import launched
from .test_slicing import CORPUS

DENSE_HERE = {"binomial_options", "h264_intra", "string_match"}
"""The paper's dense programs without DCT and Black-Scholes, whose versions here have no dividing branch.

Of the seven patterns of string_match the middle one, `a.c*d$`, stands for all: with its star most branches
depend on the text.
"""


THIRTEEN = [path for path in CORPUS if path.parent.name == "wang2013"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.slow] if path.stem in ("string_match", "h264_intra") else [],
        )
        for path in THIRTEEN
    ],
)
def test_the_thirteen_programs(path: Path):
    densities = [
        branch_density(slice_kernel(launch.kernel), count(launch))
        for launch in resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    ]
    found = max(densities, key=lambda density: density.divided_share).branch_class
    assert found is (BranchClass.DENSE if path.stem in DENSE_HERE else BranchClass.SPARSE)


def test_the_share_counts_executed_statements_and_the_threshold_can_be_moved():
    kernel, profile = launched(
        "__global__ void k(float* a) {\n"
        "  a[0] = 1.0f;\n"
        "  if (threadIdx.x < 16)\n"
        "    a[1] = 2.0f;\n"
        "}\nint main() { k<<<1, 32>>>(0); }"
    )
    slices = slice_kernel(kernel)
    density = branch_density(slices, profile)
    assert density.divided_share == pytest.approx(0.5 / 2.5)  # store, test, half a store
    assert branch_density(slices, profile, 0.21).branch_class is BranchClass.SPARSE
    assert branch_density(slices, profile, 0.19).branch_class is BranchClass.DENSE
    with pytest.raises(ValueError, match="threshold"):
        branch_density(slices, profile, 0.0)


def test_what_stands_in_any_arm_inside_a_dividing_one_is_divided():
    kernel, profile = launched(
        "__global__ void k(float* a, int n) {\n"
        "  if (threadIdx.x < 16)\n"
        "    if (n > 0)\n"
        "      a[1] = 2.0f;\n"
        "}\nint main() { k<<<1, 32>>>(0, 1); }"
    )
    # A test of every thread; of half of them another and a store.
    assert branch_density(slice_kernel(kernel), profile).divided_share == pytest.approx(1.0 / 2.0)


def test_guards_that_nearly_all_threads_pass_do_not_divide():
    kernel, profile = launched(
        "__global__ void k(float* a, int n) {\n"
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "  if (i < n) a[i] = 2.0f;\n"
        "}\nint main() { k<<<100, 256>>>(0, 25599); }"
    )
    assert branch_density(slice_kernel(kernel), profile).divided_share == 0.0
