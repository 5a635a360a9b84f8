"""Loops that data end: the range of their iterations, the counts that follow, and what it costs in watts."""

import pytest
from msgspec.structs import replace

from wattslice.branch_profile.profile import ArmProbability, BranchProfile, DataSet
from wattslice.config.config import Config, Facts
from wattslice.config.gpu_choice import GpuChoice
from wattslice.counting.count import count
from wattslice.pipeline.files import analyze_file
from wattslice.power.paths import TRIPS_SPREAD, left_at_once, trip_ranges, with_trips

from .samples import there
from .source_text import launch_of

BY_DATA = """__global__ void k(const int* n, float* y) {
    int i = threadIdx.x;
    float v = 1.0f;
    for (int j = 0; j < n[i]; ++j)
        v = v * 1.5f + 2.0f;
    y[i] = v;
}
int main() { k<<<100000, 256>>>(0, 0); }"""
LEFT_EARLY = """__global__ void k(const float* x, float* y) {
    int i = threadIdx.x;
    for (int j = 0; j < 100; ++j) {
        if (x[j] < 0.0f) break;
        y[i] += sqrtf(x[j]);
    }
}
int main() { k<<<100000, 256>>>(0, 0); }"""
KNOWN = BY_DATA.replace("n[i]", "100")


def test_an_assumed_number_of_iterations_has_a_range_and_a_known_one_has_none():
    launch = launch_of(BY_DATA)
    (loop,) = trip_ranges(launch.kernel, count(launch))
    assert (loop.low, loop.high) == (1.0 / TRIPS_SPREAD, TRIPS_SPREAD)
    launch = launch_of(KNOWN)
    assert trip_ranges(launch.kernel, count(launch)) == ()


def test_a_loop_that_data_may_leave_runs_at_least_once():
    launch = launch_of(LEFT_EARLY)
    (loop,) = trip_ranges(launch.kernel, count(launch))
    assert (loop.low, loop.high) == (pytest.approx(0.01), 1.0)


def test_only_what_is_inside_the_loop_runs_more_often():
    launch = launch_of(BY_DATA)
    before = count(launch)
    (loop,) = trip_ranges(launch.kernel, before)
    after = with_trips(before, loop, 2.0)
    outside = set(range(len(before.thread_counts))) - set(loop.regions)
    assert {after.thread_counts[region] - before.thread_counts[region] for region in outside} == {0.0}
    assert sum(after.thread_counts) - sum(before.thread_counts) == pytest.approx(
        sum(before.thread_counts[region] for region in loop.regions)
    )


def test_not_knowing_the_iterations_widens_the_interval(tmp_path):
    counted = ArmProbability("kernel.cu", 4, "loop", 8 / 9, visits=(9,), taken=(8,), entries=(1,))
    profile = BranchProfile((counted,), (DataSet("eight"),))
    path = tmp_path / "kernel.cu"
    path.write_text(BY_DATA)
    config = Config((path,), GpuChoice("v100_pcie"))
    (unknown,) = analyze_file(path, config).kernels
    (known,) = analyze_file(path, replace(config, facts=Facts(branch_profile=profile))).kernels
    assert known.power_w == pytest.approx(unknown.power_w)
    ends = [(there(one.power).low_w, there(one.power).high_w) for one in (known, unknown)]
    (low, high), (lower, higher) = ends
    assert lower <= low < high <= higher
    assert higher - lower > high - low


def test_a_warp_runs_on_as_long_as_one_of_its_threads():
    """A thread runs 1.5 iterations, its warp 6: so many are issued."""
    counted = ArmProbability(
        *("kernel.cu", 4, "loop", 0.6),
        visits=(80,),
        taken=(48,),
        entries=(32,),
        warp_entries=(1,),
        warp_taken=(6,),
    )
    launch = launch_of(BY_DATA)
    entry = replace(counted, file=launch.kernel.span.file)
    together = replace(entry, warp_entries=(), warp_taken=())
    alone, even = (count(launch, BranchProfile((one,), (DataSet("x"),))) for one in (entry, together))
    (loop,) = trip_ranges(launch.kernel, count(launch))
    body = max(loop.regions, key=lambda region: even.thread_counts[region] == pytest.approx(1.5))
    assert alone.thread_counts == pytest.approx(even.thread_counts)
    assert even.warp_counts[body] == pytest.approx(1.5)
    assert alone.warp_counts[body] == pytest.approx(6.0, rel=0.01)


def test_a_warp_also_pays_for_what_follows_the_iteration_that_all_run():
    """A `do` loop runs once for certain; what the profile adds then is told apart for threads and warps."""
    text = BY_DATA.replace("for (int j = 0; j < n[i]; ++j)", "do").replace(
        "+ 2.0f;", "+ 2.0f; while (v < n[i]);"
    )
    launch = launch_of(text)
    entry = ArmProbability(
        *(launch.kernel.span.file, 4, "loop", 0.06),
        visits=(1060,),
        taken=(60,),
        entries=(1000,),
        warp_entries=(100,),
        warp_taken=(90,),
    )
    counts = count(launch, BranchProfile((entry,), (DataSet("x"),)))
    assert max(counts.thread_counts) == pytest.approx(1.06, rel=0.01)
    assert max(counts.warp_counts) == pytest.approx(1.9, rel=0.01)


def test_an_exit_assumed_never_to_be_taken_may_always_be(tmp_path):
    path = tmp_path / "kernel.cu"
    path.write_text(LEFT_EARLY)
    (kernel,) = analyze_file(path, Config((path,), GpuChoice("v100_pcie"))).kernels
    (arm,) = kernel.arms
    assert (arm.probability, arm.probability_low, arm.probability_high) == (0.0, 0.0, 1.0)
    assert arm.kernel_low_w is not None
    assert arm.kernel_high_w is not None
    assert arm.kernel_low_w < arm.kernel_high_w
    left = ArmProbability("kernel.cu", 4, "then", 0.99)
    config = Config((path,), GpuChoice("v100_pcie"), facts=Facts(branch_profile=BranchProfile((left,))))
    (at_once,) = analyze_file(path, config).kernels
    assert arm.kernel_low_w == pytest.approx(at_once.power_w, rel=0.05)
    assert arm.kernel_high_w == kernel.power_w


def test_what_stands_in_an_exit_runs_when_it_is_taken():
    launch = launch_of(LEFT_EARLY.replace("break;", "{ y[0] = sqrtf(x[j]); break; }"))
    before = count(launch)
    (loop,) = trip_ranges(launch.kernel, before)
    (way_out,) = loop.exits
    assert before.thread_counts[way_out.arm] == 0.0
    after = left_at_once(before, loop)
    assert after.thread_counts[way_out.arm] == 1.0
    assert {after.thread_counts[region] for region in way_out.behind} == {0.0}
