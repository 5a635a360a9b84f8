"""The instructions of a warp that wait for one another, counted by hand."""

import pytest

from wattslice.workload.instructions import Isa, lower_instructions
from wattslice.workload.instructions.chains import Chains
from wattslice.workload.instructions.statements import lower
from wattslice.workload.launch_work import MOST_IN_FLIGHT

from .counted import counted


def chain(folder, body):
    source = f"__global__ void k(const float *x, const int *at, float *y) {{ {body} }}"
    launch, profile = counted(folder, source, "k=1:32")
    return lower_instructions(launch.kernel, profile).chain


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        ("y[threadIdx.x] = 1.0f;", 0),
        ("y[threadIdx.x] = x[threadIdx.x];", 1),
        ("y[threadIdx.x] = x[threadIdx.x] + x[threadIdx.x + 32];", 1),
        ("float s = 0; for (int i = 0; i < at[0]; ++i) s += x[i * 32]; y[0] = s;", "rounds"),
        ("float s = 0;\n#pragma unroll 8\nfor (int i = 0; i < 64; ++i) s += x[i]; y[0] = s;", 8),
        ("float s = 0; for (int i = 0; i < 64; ++i) { s += x[i]; __syncthreads(); } y[0] = s;", 64),
        ("int i = 0; for (int j = 0; j < 64; ++j) i = at[i]; y[0] = i;", 64),
    ],
)
def test_loads_that_wait_for_each_other(tmp_path, body, loads):
    found = chain(tmp_path, body).far
    if loads == "rounds":  # one for the bound, and one for each round of an unrolled loop
        assert 2 <= found < 64
    else:
        assert found == loads


def test_independent_sums_go_side_by_side(tmp_path):
    one = chain(tmp_path, "float a = 0; for (int i = 0; i < 1000; ++i) a = a * 1.1f + 1; y[0] = a;")
    four = chain(
        tmp_path,
        "float a = 0, b = 0, c = 0, d = 0; for (int i = 0; i < 1000; ++i) {"
        " a = a * 1.1f + 1; b = b * 1.1f + 1; c = c * 1.1f + 1; d = d * 1.1f + 1; } y[0] = a + b + c + d;",
    )
    assert one.arithmetic == pytest.approx(1000, rel=0.01)
    assert four.arithmetic == pytest.approx(one.arithmetic, rel=0.01)


def test_a_barrier_parts_what_comes_before_it_from_what_comes_behind(tmp_path):
    body = "__shared__ float t[32]; t[threadIdx.x] = x[threadIdx.x]; __syncthreads(); y[0] = t[0] + t[1];"
    found = chain(tmp_path, body)
    assert (found.far, found.shared) == (1, 1)


def test_no_warp_has_all_of_many_loads_under_way(tmp_path):
    body = "float s = 0; for (int i = 0; i < 64; ++i) s += x[i * 32]; y[0] = s;"
    assert chain(tmp_path, body).far < 64 / MOST_IN_FLIGHT  # registers allow fewer: launch_work says so


@pytest.mark.parametrize(
    ("body", "additions"),
    [
        ("sum[r][c] += x[k] * y[k * 8 + r * 2 + c];", 64),  # each element is a chain of its own
        ("sum[r][0] += x[k] * y[k * 8 + r * 2 + c];", 128),  # both rounds of c add to the same one
        ("sum[0][0] += x[k] * y[k * 8 + r * 2 + c];", 512),
        ("sum[r / 2][c] += x[k] * y[k * 8 + r * 2 + c];", 256),  # not told apart: one behind the other
    ],
)
def test_sums_of_a_tile_go_side_by_side(tmp_path, body, additions):
    tile = f"#pragma unroll\nfor (int r = 0; r < 4; ++r)\n#pragma unroll\nfor (int c = 0; c < 2; ++c) {body}"
    store = "for (int r = 0; r < 4; ++r) for (int c = 0; c < 2; ++c) y[r * 2 + c] = sum[r][c];"
    loop = f"float sum[4][2] = {{}};\n#pragma unroll\nfor (int k = 0; k < 64; ++k) {{\n{tile}\n}}\n"
    assert chain(tmp_path, loop + store).arithmetic == pytest.approx(additions, rel=0.1)


def test_a_sum_in_one_element_of_an_array_is_a_register(tmp_path):
    body = "float sum[1][1] = {};\n#pragma unroll\nfor (int k = 0; k < 64; ++k)"
    body += "\n#pragma unroll\nfor (int c = 0; c < 1; ++c) sum[0][c] += x[k]; y[0] = sum[0][0];"
    assert chain(tmp_path, body).far < 64


def test_what_is_kept_of_a_chain_holds_for_the_same_counts_only(tmp_path):
    body = "int i = 0; for (int j = 0; j < at[0]; ++j) { if (at[j] > 3) i = at[i]; y[i] += 1.1f; } y[0] = i;"
    launch, profile = counted(tmp_path, f"__global__ void k(const int *at, float *y) {{ {body} }}", "k=1:32")
    lowered = lower(launch.kernel, (), Isa.IMAD)
    counts = profile.warp_counts
    asked = [tuple(c / (1 + k % 40 * r) for r, c in enumerate(counts)) for k in range(80)]
    found = [lowered.chains.of_warp(runs) for runs in asked]
    assert found == [Chains(lowered.values, lowered.roots).of_warp(runs) for runs in asked]
    assert len(set(found)) == 40
