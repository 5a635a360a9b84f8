"""What arms of branches draw, and what not knowing their probability costs in watts."""

from pathlib import Path

import pytest

from wattslice.analysis import BranchClass, KernelAnalysis
from wattslice.branch_profile.profile import ArmProbability, BranchProfile, DataSet
from wattslice.config.config import Config, Facts, Prediction
from wattslice.config.gpu_choice import GpuChoice
from wattslice.config.options import MethodChoice
from wattslice.counting.profile import ProbabilitySource
from wattslice.findings.findings import operations_power_w
from wattslice.pipeline.files import analyze_file
from wattslice.report.text import arms_shown

from .samples import there
from .test_paths import BOTH

HEAVY = """__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    if (v > 0.0f) {
        for (int j = 0; j < 40; ++j)
            v = v * 1.5f + 2.0f;
    }
    y[i] = v;
}
int main() { k<<<100000, 256>>>(0, 0, 1); }"""


def analyzed(folder: Path, text: str, probability: float | None = None, **options: object) -> KernelAnalysis:
    path = folder / "kernel.cu"
    path.write_text(text)
    profile = None
    if probability is not None:
        profile = BranchProfile((ArmProbability("kernel.cu", 4, "then", probability),))
    config = Config(
        (path,),
        GpuChoice("v100_pcie"),
        prediction=Prediction(**options),  # pyright: ignore[reportArgumentType]
        facts=Facts(branch_profile=profile),
    )
    (kernel,) = analyze_file(path, config).kernels
    return kernel


def test_an_arm_draws_its_part_of_what_operations_draw(tmp_path):
    kernel = analyzed(tmp_path, HEAVY)
    (arm,) = kernel.arms
    assert (arm.arm, arm.source) == ("then", ProbabilitySource.DEFAULT)
    assert arm.probability == pytest.approx(0.5)
    assert arm.power_w is not None
    assert arm.share_of_power is not None
    inside = sum(heat.power_w for heat in kernel.hot_lines if heat.line in (5, 6))
    assert arm.power_w == pytest.approx(inside)
    assert arm.share_of_power == pytest.approx(inside / operations_power_w(kernel))


def test_an_unknown_branch_widens_the_interval_by_what_it_could_do(tmp_path):
    unknown, never, always = (analyzed(tmp_path, HEAVY, p) for p in (None, 0.0, 1.0))
    (arm,) = unknown.arms
    assert (arm.probability_low, arm.probability_high) == pytest.approx((0.0, 1.0))
    ends = sorted((never.power_w or 0.0, always.power_w or 0.0))
    assert arm.kernel_low_w == pytest.approx(min(*ends, unknown.power_w or 0.0), rel=0.02)
    assert arm.kernel_high_w == pytest.approx(max(*ends, unknown.power_w or 0.0), rel=0.02)
    known = analyzed(tmp_path, HEAVY, 0.5)
    assert known.power_w == pytest.approx(unknown.power_w)
    assert there(known.power).low_w > there(unknown.power).low_w
    assert there(known.power).high_w <= there(unknown.power).high_w
    assert there(known.power).unlimited.high_w < there(unknown.power).unlimited.high_w
    assert there(unknown.power).unlimited.low_w < there(known.power).unlimited.low_w
    assert there(unknown.power).high_w <= there(unknown.power).unlimited.high_w
    assert {one.kernel_low_w for one in known.arms} == {None}


def test_all_three_methods_are_told_and_one_is_chosen(tmp_path):
    rare = analyzed(tmp_path, HEAVY, 0.01)
    methods = rare.basis.methods
    assert rare.basis.method == "expected"
    assert rare.power_w == methods.expected_w
    assert analyzed(tmp_path, HEAVY, 0.01, method=MethodChoice.BSPM).power_w == methods.bspm_w
    bdpm = analyzed(tmp_path, HEAVY, 0.01, method=MethodChoice.BDPM)
    assert bdpm.power_w == methods.bdpm_w
    assert bdpm.time_s == rare.time_s  # the method says nothing about time
    never = analyzed(tmp_path, HEAVY, 0.0)
    assert methods.bdpm_w == pytest.approx(never.power_w)  # dropped: as if it never ran
    assert methods.bspm_w == pytest.approx(analyzed(tmp_path, HEAVY, 1.0).power_w)


def test_the_class_can_be_overruled(tmp_path):
    half = analyzed(tmp_path, HEAVY)
    assert half.basis.branch_class is BranchClass.DENSE
    assert analyzed(tmp_path, HEAVY, dense_from=1.0).basis.branch_class is BranchClass.SPARSE


def test_without_branches_on_data_the_methods_are_one(tmp_path):
    kernel = analyzed(tmp_path, BOTH.replace("x[i] > 0.0f", "i < 64").replace("x[i] > 1.0f", "i < 64"))
    assert kernel.basis.method == "bspm"
    assert kernel.basis.methods.bspm_w == kernel.basis.methods.expected_w == kernel.power_w


TWICE = """__device__ float work(float v) {
    if (v > 0.0f) {
        for (int j = 0; j < 200; ++j)
            v = v * 1.5f + 2.0f;
    }
    return v;
}
__global__ void k(const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = work(x[i]) + work(x[i + 1]);
}
int main() { k<<<100000, 256>>>(0, 0); }"""


def test_the_copies_of_an_inlined_arm_are_one_row_of_the_report(tmp_path):
    kernel = analyzed(tmp_path, TWICE)
    first, second = kernel.arms
    (row,) = arms_shown(kernel)
    assert (row.line, row.arm, row.visits) == (2, "then", first.visits + second.visits)
    assert row.power_w == pytest.approx((first.power_w or 0.0) + (second.power_w or 0.0))
    assert row.probability == pytest.approx(0.5)
    assert (row.kernel_high_w or 0.0) > max(first.kernel_high_w or 0.0, second.kernel_high_w or 0.0)


def test_an_arm_that_only_leaves_is_listed_and_the_profile_is_named(tmp_path):
    text = """__global__ void k(const float* x, float* y) {
    for (int j = 0; j < 100; ++j) {
        y[j] += sqrtf(x[j]);
        if (x[j] < 0.0f) break;
    }
}
int main() { k<<<100000, 256>>>(0, 0); }"""
    (row,) = arms_shown(analyzed(tmp_path, text))
    assert (row.line, row.share_of_power, row.leaves) == (4, 0.0, True)
    known = analyzed(tmp_path, text, 0.25)
    assert [row.probability for row in arms_shown(known)] == pytest.approx([0.25])
    assert known.basis.profile is not None
    assert (known.basis.profile.branches, known.basis.profile.data_sets) == (1, 0)


def test_data_sets_that_differ_give_a_measured_arm_an_interval(tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_text(HEAVY)
    then = ArmProbability("kernel.cu", 4, "then", 0.5, visits=(64, 64, 0), taken=(0, 64, 0))
    sets = tuple(DataSet(name) for name in "abc")
    config = Config((path,), GpuChoice("v100_pcie"), facts=Facts(branch_profile=BranchProfile((then,), sets)))
    (kernel,) = analyze_file(path, config).kernels
    (arm,) = kernel.arms
    assert arm.source is ProbabilitySource.PROFILE
    assert (arm.probability_low, arm.probability_high) == (0.0, 1.0)
    known = analyzed(tmp_path, HEAVY, 0.5)
    assert kernel.power_w == pytest.approx(known.power_w)
    assert there(kernel.power).low_w < there(known.power).low_w
