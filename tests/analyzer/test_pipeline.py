"""The whole run: what comes out is consistent, and one bad thing costs nothing else."""

import gc
import math
from pathlib import Path

import pytest

from wattslice.analysis import Analysis, KernelAnalysis, LaunchSource
from wattslice.config.budgets import Budget
from wattslice.config.config import Options, make_config
from wattslice.errors import FrontendError, WattsliceError
from wattslice.findings.findings import findings_of
from wattslice.gate.verdict import UnknownPolicy, judge
from wattslice.ir import Severity
from wattslice.pipeline import files as pipeline
from wattslice.pipeline import launch as kernel_analysis
from wattslice.report.text import hot_line_table
from wattslice_models.learners import entry
from wattslice_models.store import load_choice, trained_gpu_ids
from wattslice_models.worth import shipped_worth

from .samples import there

SAXPY = """#include <cuda_runtime.h>
__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}
int main() {
  int n = 1 << 20;
  float *x, *y;
  saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
}
"""
BRANCHY = """__global__ void walk(const int *key, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = out[i];
  if (key[i] == 3) {
    for (int j = 0; j < 100; ++j) v = v * 1.5f + 2.0f;
  } else {
    out[i + 1] = 1.0f;
  }
  out[i] = v;
}
int main() { walk<<<1000, 256>>>(0, 0); }
"""


def run(tmp_path: Path, source: str = SAXPY, name: str = "k.cu", **options: object) -> Analysis:
    path = tmp_path / name
    path.write_text(source)
    return pipeline.analyze_files(make_config(Options(paths=(path,), **options)))  # pyright: ignore


def only(analysis: Analysis) -> KernelAnalysis:
    (kernel,) = analysis.kernels
    return kernel


def test_from_file_to_watts(tmp_path):
    kernel = only(run(tmp_path))
    assert (kernel.name, kernel.launch.grid, kernel.launch.block) == ("saxpy", (4096, 1, 1), (256, 1, 1))
    assert kernel.launch.source is LaunchSource.HOST_CODE
    assert kernel.launch.line == 9
    assert kernel.assumptions == ()
    assert (there(kernel.work).counts_per_thread.fp32, there(kernel.work).counts_per_thread.global_load) == (
        2,
        2,
    )
    assert kernel.power_w is not None
    assert 0 < there(kernel.power).low_w <= kernel.power_w <= there(kernel.power).high_w
    assert kernel.energy_j == pytest.approx(kernel.power_w * (kernel.time_s or 0))


@pytest.mark.parametrize(
    ("elements", "times", "gpu", "is_told"),
    [
        ("1 << 20", 1000, "a100", True),  # 12.6 MB of the 40 MB of L2
        ("1 << 20", 1, "a100", False),
        ("1 << 20", 1000, "v100", False),  # 6 MB of L2
        ("1 << 24", 1000, "a100", False),
    ],
)
def test_repeated_launches_whose_data_l2_could_hold_are_told(tmp_path, elements, times, gpu, is_told):
    launch = f"for (int t = 0; t < {times}; ++t) saxpy<<<"
    source = SAXPY.replace("1 << 20", elements).replace("saxpy<<<", launch)
    (kernel,), told = (found := run(tmp_path, source, gpu=gpu)).kernels, found.diagnostics
    assert kernel.launch.times == times
    assert any("could hold the 12.6 MB" in entry.message for entry in told) is is_told


def test_a_launch_in_another_file_than_the_kernel_names_that_file(tmp_path):
    (tmp_path / "kernel.cu").write_text("__global__ void copy(int *a, int n) { a[threadIdx.x] = n; }")
    host = '#include "kernel.cu"\n\nint main(int argc, char **argv) { copy<<<atoi(argv[1]), 64>>>(0, 1); }\n'
    kernel = only(run(tmp_path, host, name="host.cu"))
    host_file = str(tmp_path / "host.cu")
    assert (kernel.source.file, kernel.launch.file, kernel.launch.line) == (
        str(tmp_path / "kernel.cu"),
        host_file,
        3,
    )
    assert [(entry.rule, entry.file, entry.line) for entry in kernel.assumptions] == [("PW011", host_file, 3)]


@pytest.mark.parametrize(
    ("gpu", "model"),
    [
        ("v100", "energy"),
        ("quadro_rtx_8000", "energy"),
        ("h200", "energy"),
        ("gtx280", "regression"),
        ("gtx480", "regression"),
        ("v100_pcie", "regression"),
        ("v100_pcie", "wavelet"),
        ("l4", "wavelet"),
    ],
)
@pytest.mark.parametrize("source", [SAXPY, BRANCHY])
@pytest.mark.parametrize("method", ["bspm", "bdpm"])
def test_slices_add_up_to_the_kernel(tmp_path, gpu, model, source, method):
    kernel = only(run(tmp_path, source, gpu=gpu, model=model, method=method))
    assert kernel.power_w is not None
    assert math.fsum(part.share_of_power or 0.0 for part in kernel.slices) == pytest.approx(1.0)
    assert math.fsum(part.time_share or 0.0 for part in kernel.slices) == pytest.approx(1.0)
    assert math.fsum(part.average_power_w or 0.0 for part in kernel.slices) == pytest.approx(kernel.power_w)
    limit_w = kernel.power_limit_w or math.inf
    assert all((part.power_w or 0.0) <= limit_w * (1.0 + 1e-9) for part in kernel.slices)
    lines_w = math.fsum(line.power_w for line in kernel.hot_lines)
    assert lines_w + (there(kernel.power).static_w or 0.0) == pytest.approx(kernel.power_w)
    assert math.fsum(line.share for line in kernel.hot_lines) == pytest.approx(1.0)
    assert kernel.basis.method == method
    assert kernel.basis.model == model


@pytest.mark.parametrize("gpu", trained_gpu_ids())
def test_auto_takes_what_cross_validation_chose(tmp_path, gpu):
    choice = load_choice(gpu)
    assert choice is not None
    kernel = only(run(tmp_path, SAXPY, gpu=gpu))
    assert kernel.basis.model == entry(choice.name).kind.value
    assert kernel.power_w is not None


def test_a_gpu_that_nobody_trained_has_no_regression(tmp_path):
    analysis = run(tmp_path, SAXPY, gpu="h200", model="regression")
    assert only(analysis).power_w is None
    assert any("no regression model answers for H200" in entry.message for entry in analysis.diagnostics)


@pytest.mark.parametrize(
    ("gpu", "model"), [("v100_pcie", "regression"), ("v100_pcie", "wavelet"), ("l4", "wavelet")]
)
def test_models_of_slices_leave_the_board_what_the_energy_model_has_for_it(tmp_path, gpu, model):
    """Lines and the board itself are the kernel, whichever model answers; what idles is not the lines'."""
    kernel, energy = (only(run(tmp_path, SAXPY, gpu=gpu, model=name)) for name in (model, "energy"))
    assert kernel.power_w != energy.power_w
    assert there(kernel.power).static_w == pytest.approx(there(energy.power).static_w)
    lines_w = math.fsum(line.power_w for line in kernel.hot_lines)
    assert 0 < lines_w == pytest.approx((kernel.power_w or 0.0) - (there(kernel.power).static_w or 0.0))


def test_a_model_that_says_less_than_the_board_draws_without_work_leaves_nothing_for_lines(tmp_path):
    found = run(tmp_path, SAXPY, gpu="gtx_970", model="wavelet", core_clock_mhz=1700.0)
    kernel = only(found)
    assert kernel.hot_lines == ()
    assert there(kernel.power).static_w == kernel.power_w
    assert any("nothing is left for the lines" in one.message for one in found.diagnostics)


def test_lines_that_have_the_idle_board_in_them_say_so(tmp_path):
    """Of a chip too old for an energy model nobody knows what the board itself draws."""
    told = "go, the idle board in them"
    for gpu, model, is_told in (("gtx280", "auto", True), ("v100_pcie", "regression", False)):
        kernel = only(run(tmp_path, SAXPY, gpu=gpu, model=model))
        assert (there(kernel.power).static_w is None) == is_told
        assert any(told in str(column.header) for column in hot_line_table(kernel, 100).columns) == is_told


def _worth(analysis: Analysis) -> list[str]:
    return [one.message for one in analysis.diagnostics if "held-out run" in one.message and not one.file]


@pytest.mark.parametrize(
    ("gpu", "model", "row", "verdict"),
    [
        ("v100_pcie", "energy", ("v100_pcie", "energy"), ""),
        ("v100_pcie", "regression", ("v100_pcie", "regression"), "loses to the mean at each clock"),
        ("gtx_1080_ti", "wavelet", ("gtx_1080_ti", "wavelet"), "loses to the constant mean"),
        ("l4", "wavelet", ("general", "wavelet"), "loses to the constant mean"),
        ("l4", "energy", ("general", "energy"), ""),
    ],
)
def test_a_model_asked_for_by_name_says_what_it_is_worth_here(tmp_path, gpu, model, row, verdict):
    """The figures are those that ship, made by the command that makes the page of errors."""
    (told,) = _worth(run(tmp_path, SAXPY, gpu=gpu, model=model))
    known = shipped_worth()[row]
    assert f"by {known.error:.1%} (MAPE), the constant mean by {known.constant_mean:.1%}" in told
    assert ("loses to" in told) == bool(verdict)
    assert verdict in told
    assert ("boards that it never saw (not trained on this one)" in told) == (row[0] == "general")


def test_auto_says_what_it_is_worth_where_it_loses_to_the_constant_mean(tmp_path):
    for gpu in ("a40", "v100_pcie"):
        known = shipped_worth()[gpu, "energy"]
        told = _worth(run(tmp_path, SAXPY, gpu=gpu))
        assert bool(told) == known.loses_to_constant
        assert all("loses to the constant mean" in one for one in told)


def test_a_model_that_nobody_could_judge_says_so(tmp_path):
    (told,) = _worth(run(tmp_path, SAXPY, gpu="gtx280", model="regression"))
    assert told == "no held-out run tells what the regression is worth on the GeForce GTX 280"
    assert not _worth(run(tmp_path, SAXPY, gpu="gtx280"))


def test_a_network_that_training_refused_is_absent_and_the_reason_is_told(tmp_path):
    found = run(tmp_path, SAXPY, gpu="v100_pcie", model="wavelet-published")
    assert only(found).power_w is None
    assert any("step of training" in one.message for one in found.diagnostics if one.rule == "PW031")


@pytest.mark.parametrize(("gpu", "model"), [("v100_pcie", "wavelet"), ("gtx480", "regression")])
def test_models_of_slices_say_that_they_do_not_see_values(tmp_path, gpu, model):
    live, zeros = (run(tmp_path, SAXPY, gpu=gpu, model=model, data=(data,)) for data in ("live", "zeros"))
    assert only(live).power_w == only(zeros).power_w
    told = [
        any("do not see what arrays hold" in one.message for one in found.diagnostics)
        for found in (live, zeros)
    ]
    assert told == [False, True]


@pytest.mark.parametrize("gpu", ["gtx280", "v100"])
def test_bdpm_drops_what_the_profile_calls_rare(tmp_path, gpu):
    profile = tmp_path / "profile.json"
    rare = '{"file": "k.cu", "line": 4, "arm": "then", "probability": 0.001}'
    profile.write_text(f'{{"schema_version": 1, "branches": [{rare}]}}')
    guessed = only(run(tmp_path, BRANCHY, gpu=gpu, method="bdpm"))
    profiled = only(run(tmp_path, BRANCHY, gpu=gpu, method="bdpm", profile=profile))
    assert guessed.power_w is not None
    assert profiled.power_w is not None
    assert profiled.power_w < guessed.power_w  # the dense arm is gone
    assert {arm.source.value for arm in profiled.arms} == {"profile"}
    assert profiled.assumptions == ()


def test_the_printed_regression_is_told_up_to_the_limit_of_the_board(tmp_path):
    source = """__global__ void tri(float* x) {
      float s = 0;
      for (int j = 0; j < blockIdx.x * 64 + threadIdx.x; ++j) s = s * 1.5f + j;
      x[blockIdx.x] = s;
    }
    int main() { tri<<<4096, 64>>>(0); }"""
    analysis = run(tmp_path, source, gpu="gtx280")
    kernel = only(analysis)
    assert (kernel.basis.model, kernel.power_limit_w) == ("regression", 236)
    assert kernel.power_w == 236
    assert there(kernel.power).low_w == pytest.approx(0.95 * 236)
    assert there(kernel.power).high_w == pytest.approx(1.23 * 236, rel=0.001)  # an old board
    assert {part.power_w for part in kernel.slices} == {236}
    assert math.fsum(heat.power_w for heat in kernel.hot_lines) == pytest.approx(236)
    assert any("exceed the limit of 236 W" in entry.message for entry in analysis.diagnostics)
    assert there(kernel.power).may_hit_limit
    assert "tri would hit the power limit of 236 W" in {entry.message for entry in findings_of(analysis)}


@pytest.mark.parametrize("gpu", ["v100", "gtx280"])
def test_contention_of_atomics_is_told(tmp_path, gpu):
    source = "__global__ void add(int* x) { atomicAdd(x, 1); }\nint main() { add<<<999, 256>>>(0); }"
    message = "add: contention of atomics is modelled in part: the time is a lower bound"
    assert message in {entry.message for entry in run(tmp_path, source, gpu=gpu).diagnostics}
    assert not any("atomics" in entry.message for entry in run(tmp_path, gpu=gpu).diagnostics)


def test_a_launch_that_cannot_run_has_no_watts_and_a_reason(tmp_path):
    source = "__global__ void k(float *y) { __shared__ float s[60000]; s[0] = y[0]; y[1] = s[0]; }"
    analysis = run(tmp_path, source, gpu="v100")
    assert only(analysis).power_w is None
    assert only(analysis).work is not None
    assert "PW014" in {entry.rule for entry in analysis.diagnostics}


def test_no_model_is_said(tmp_path):
    analysis = run(tmp_path, gpu="v100", model="regression")
    assert only(analysis).power_w is None
    assert only(analysis).time_s is not None
    assert "PW031" in {entry.rule for entry in analysis.diagnostics}


def test_one_kernel_that_breaks_us_costs_only_itself(tmp_path, monkeypatch):
    original = kernel_analysis.count

    def count(launch, profile, **options):
        if launch.kernel.name == "bad":
            raise ZeroDivisionError("on purpose")
        return original(launch, profile)

    monkeypatch.setattr(kernel_analysis, "count", count)
    analysis = run(
        tmp_path, "__global__ void bad(float *y) { y[0] = 1; }\n__global__ void good(float *y) { y[0] = 1; }"
    )
    unknown = {kernel.name: kernel.power_w is None for kernel in analysis.kernels}
    assert unknown == {"bad": True, "good": False}
    assert not judge(analysis, (Budget(max_power_w=1e6),), UnknownPolicy.FAIL).passed
    (error,) = [entry for entry in analysis.diagnostics if entry.rule == "PW099"]
    assert error.severity is Severity.ERROR
    assert "bad" in error.message
    assert "ZeroDivisionError" in error.message


def test_one_unreadable_file_costs_only_itself(tmp_path):
    (tmp_path / "good.cu").write_text(SAXPY)
    (tmp_path / "zero.cu").write_bytes(b"\x00\x01\x02" * 100)
    config = make_config(Options(paths=(tmp_path,)))
    analysis = pipeline.analyze_files(config)
    assert [kernel.name for kernel in analysis.kernels] == ["saxpy"]
    assert any(entry.file.endswith("zero.cu") for entry in analysis.diagnostics)
    with pytest.raises(FrontendError):
        pipeline.analyze_files(make_config(Options(paths=(tmp_path / "zero.cu",))))


@pytest.mark.slow
def test_two_processes_give_the_same(tmp_path):
    for index in range(3):
        (tmp_path / f"k{index}.cu").write_text(SAXPY.replace("saxpy", f"saxpy{index}"))
    serial = pipeline.analyze_files(make_config(Options(paths=(tmp_path,))))
    parallel = pipeline.analyze_files(make_config(Options(paths=(tmp_path,), jobs=2)))
    assert serial == parallel


@pytest.mark.parametrize("override", [{"overrides": ("nothing=3",)}, {"launches": ("nothing=1:32",)}])
def test_options_that_name_nothing_are_errors(tmp_path, override):
    with pytest.raises(WattsliceError, match="nothing"):
        run(tmp_path, **override)


def test_settings_that_concern_other_files_are_not_errors(tmp_path):
    (tmp_path / "wattslice.toml").write_text('set = ["other.n=3"]\n')
    assert only(run(tmp_path)).power_w is not None


def test_a_file_that_breaks_us_costs_only_itself(tmp_path, monkeypatch):
    original = pipeline.resolve_launches

    def resolve(program, *rest):
        if program.file.endswith("bad.cu"):
            raise OverflowError("on purpose")
        return original(program, *rest)

    monkeypatch.setattr(pipeline, "resolve_launches", resolve)
    for name in ("bad", "good"):
        (tmp_path / f"{name}.cu").write_text(SAXPY)
    analysis = pipeline.analyze_files(make_config(Options(paths=(tmp_path,))))
    assert [Path(kernel.source.file).name for kernel in analysis.kernels] == ["good.cu"]
    assert [entry.rule for entry in analysis.diagnostics if entry.severity is Severity.ERROR] == ["PW099"]
    assert not judge(analysis, (Budget(max_power_w=1e6),), UnknownPolicy.FAIL).passed


LOCAL = """__global__ void gathered(const int *key, float *out) {
  float own[200]; float sum = 0; int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int j = 0; j < 200; ++j) own[j] = j * out[i];
  for (int j = 0; j < 200; ++j) sum += own[INDEX];
  out[i] = sum;
}
int main() { gathered<<<1000, 256>>>(0, 0); }
"""


def test_arrays_in_local_memory_that_data_index_put_the_watts_in_doubt(tmp_path):
    known, doubted = (
        only(run(tmp_path, LOCAL.replace("INDEX", index))) for index in ("j", "(key[j] + i) % 200")
    )
    widths = [there(one.power).high_w / (one.power_w or 1.0) for one in (known, doubted)]
    assert widths[0] < 1.33 < widths[1]
    assert "PW051" in {advice.rule for advice in doubted.advice}


def test_the_threshold_decides_what_is_rare(tmp_path):
    profile = tmp_path / "profile.json"
    rare = '{"file": "k.cu", "line": 4, "arm": "then", "probability": 0.04}'
    profile.write_text(f'{{"schema_version": 1, "branches": [{rare}]}}')
    watts = [
        only(run(tmp_path, BRANCHY, method="bdpm", profile=profile, delta=delta)).power_w
        for delta in (0.0, 0.03, 0.05)
    ]
    assert watts[0] == watts[1] != watts[2]


def test_profile_entries_about_nothing_are_told(tmp_path):
    profile = tmp_path / "profile.json"
    entry = '{{"file": "{}", "line": {}, "arm": "then", "probability": 0.5}}'
    entries = ", ".join(entry.format(*place) for place in (("k.cu", 4), ("k.cu", 400), ("other.cu", 4)))
    profile.write_text(f'{{"schema_version": 1, "branches": [{entries}]}}')
    told = [entry for entry in run(tmp_path, BRANCHY, profile=profile).diagnostics if entry.rule == "PW017"]
    assert [(entry.file, entry.line) for entry in told] == [("k.cu", 400), ("other.cu", 4)]


def test_nothing_is_collected_while_a_file_is_analysed(tmp_path):
    path = tmp_path / "k.cu"
    path.write_text(SAXPY)
    collects: list[bool] = []

    class Watching(pipeline.Stages):
        def launches(self, program, config, gpu, around):
            collects.append(gc.isenabled())
            return super().launches(program, config, gpu, around)

    pipeline.analyze_file(path, make_config(Options(paths=(path,))), stages=Watching())
    assert collects == [False]
    assert gc.isenabled()


def test_who_asks_is_told_as_each_file_begins_and_ends(tmp_path):
    for name in ("a.cu", "b.cu"):
        (tmp_path / name).write_text("__global__ void k() {}")
    told: list[tuple[str, str]] = []
    for paths in ((tmp_path,), (tmp_path / "a.cu",)):
        pipeline.analyze_files(
            make_config(Options(paths=paths)),
            lambda path: told.append(("ends", path.name)),
            lambda path: told.append(("begins", path.name)),
        )
    assert told == [
        ("begins", "a.cu"),
        ("ends", "a.cu"),
        ("begins", "b.cu"),
        ("ends", "b.cu"),
        ("begins", "a.cu"),
    ]
