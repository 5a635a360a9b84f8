"""The odds of exceeding a budget, the watts and their interval are of one piece in every answer."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from wattslice.analysis import KernelAnalysis
from wattslice.api import analyze

from .samples import there

SOURCE = """
__global__ void burn(float *y, float a) {
    float v[8];
    for (int j = 0; j < 8; j++) v[j] = y[threadIdx.x + j];
    for (int i = 0; i < 4096; i++)
        for (int j = 0; j < 8; j++) v[j] = v[j] * a + 1.0f;
    for (int j = 0; j < 8; j++) y[(blockIdx.x * 8 + j) * 256 + threadIdx.x] = v[j];
}
__global__ void copy(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
__global__ void choose(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    if (v > 0.0f)
        for (int k = 0; k < 100; k++) v = v * v + 1.0f;
    y[i] = v;
}
void run(float *x, float *y) {
    burn<<<4800, 256>>>(y, 0.5f);
    copy<<<1 << 16, 256>>>(x, y);
    choose<<<1 << 16, 256>>>(x, y);
}
"""


def answers(tmp_path: Path, **options: Any) -> tuple[KernelAnalysis, ...]:
    path = tmp_path / "odds.cu"
    path.write_text(SOURCE)
    return analyze([path], **options).kernels


def odds(kernel: KernelAnalysis, budget_w: float) -> float:
    found = kernel.exceedance(budget_w)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "options",
    [
        {"gpu": "rtx_a4000"},
        {"gpu": "gtx_980"},
        {"gpu": "v100_pcie", "model": "energy"},
        {"gpu": "v100_pcie", "model": "wavelet"},
        {"gpu": "v100_pcie", "model": "regression"},
        {"gpu": "h100", "core_mhz": 1200.0},
    ],
    ids=str,
)
def test_odds_interval_and_watts_are_of_one_piece(tmp_path: Path, options: dict[str, Any]):
    for kernel in answers(tmp_path, **options):
        power_w, low_w, high_w = kernel.power_w, there(kernel.power).low_w, there(kernel.power).high_w
        assert power_w is not None
        assert low_w is not None
        assert high_w is not None
        assert low_w < power_w < high_w
        assert odds(kernel, low_w) == pytest.approx(0.95, abs=2e-3)
        assert odds(kernel, high_w) == pytest.approx(0.05, abs=2e-3)
        assert odds(kernel, power_w) < 0.51
        budgets = [share * power_w for share in (0.5, 0.8, 0.95, 0.99, 1.0, 1.001, 1.01, 1.05, 1.3)]
        if kernel.power_limit_w is not None:
            budgets += [share * kernel.power_limit_w for share in (0.95, 0.999, 1.0, 1.0001, 1.01, 1.1)]
        chances = [odds(kernel, budget_w) for budget_w in sorted(budgets)]
        assert all(one >= other for one, other in pairwise(chances))


def test_a_board_that_is_held_back_shows_no_more_than_its_limit_in_half_of_all_cases(tmp_path: Path):
    kernel = next(one for one in answers(tmp_path, gpu="rtx_a4000") if one.name == "burn")
    limit_w, would = kernel.power_limit_w, kernel.limit_exceedance
    assert limit_w is not None
    assert would is not None
    assert kernel.power_w == pytest.approx(limit_w, rel=0.01)
    assert would > 0.7
    assert odds(kernel, limit_w) == pytest.approx(would / 2, abs=0.01)


def test_a_branch_that_may_leave_a_board_below_its_limit_counts_from_what_is_wanted(tmp_path: Path):
    path = tmp_path / "perhaps.cu"
    path.write_text("""
__global__ void perhaps(const float *x, float *y, float a) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (x[blockIdx.x] > 0.5f) {
        float v[8];
        for (int j = 0; j < 8; j++) v[j] = x[threadIdx.x + j];
        for (int i = 0; i < 4096; i++)
            for (int j = 0; j < 8; j++) v[j] = v[j] * a + 1.0f;
        for (int j = 0; j < 8; j++) y[j * 1228800 + at] = v[j];
    }
}
void run(float *x, float *y) { perhaps<<<4800, 256>>>(x, y, 0.5f); }
""")
    (kernel,) = analyze([path], gpu="rtx_a4000").kernels
    ends = [arm.kernel_low_w for arm in kernel.arms if arm.kernel_low_w is not None]
    assert kernel.power_w is not None
    assert there(kernel.power).unlimited.power_w > 1.05 * kernel.power_w
    assert min(ends) < 0.8 * kernel.power_w
    assert there(kernel.power).low_w <= min(ends)
