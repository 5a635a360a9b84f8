from functools import cache
from pathlib import Path

import pytest

from wattslice.workload.launch_work import launch_work, residency
from wattslice_corpora.manifest import load_manifest
from wattslice_models.escape_time import GpuCharacteristics, gpu_time
from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS, predict_time
from wattslice_models.gpu import load_gpu
from wattslice_models.workload import Instructions, Workload
from wattslice_tools.accuracy.escape_characteristics import launch_characteristics, predicted_ipc
from wattslice_tools.accuracy.escape_counters import counted_kernels
from wattslice_tools.accuracy.escape_times import BEGIN, END, CorpusTime, corpus_times
from wattslice_tools.accuracy.escape_workloads import workload_characteristics

from .counted import counted

V100 = load_gpu("v100")


@cache
def times(name: str) -> dict[str, CorpusTime]:
    """The launches of one program of the corpus on a V100, by kernel."""
    (program,) = (one for one in load_manifest() if one.name == name)
    return {one.kernel: one for one in corpus_times(program, V100)}


def test_bytes_asked_for_and_moved_are_those_of_the_source() -> None:
    copies = times("copy_strided")
    for copy in copies.values():
        assert copy.characteristics.requested_bytes == pytest.approx(8.0)
    assert copies["copyCoalesced"].characteristics.memory_efficiency == pytest.approx(1.0)
    assert copies["copyStrided"].characteristics.memory_efficiency == pytest.approx(4 / 32)
    assert copies["copyStrided"].escape.transfer_s == pytest.approx(
        8 * copies["copyCoalesced"].escape.transfer_s
    )


def test_arithmetic_counts_in_the_class_of_its_type() -> None:
    single, double = times("axpy")["axpyFloat"], times("axpy")["axpyDouble"]
    assert single.characteristics.single_instructions == pytest.approx(1.0)
    assert single.characteristics.double_instructions == 0.0
    assert double.characteristics.double_instructions == pytest.approx(1.0)
    assert double.characteristics.requested_bytes == pytest.approx(24.0)
    assert double.escape.double_s == pytest.approx(2 * single.escape.single_s)  # half the lanes


def test_lanes_that_divergence_leaves_out_are_inactive() -> None:
    kernels = times("branch_divergence")
    assert kernels["branchByWarp"].characteristics.inactive_share < 0.02
    assert kernels["branchByLane"].characteristics.inactive_share == pytest.approx(0.5, abs=0.05)
    assert kernels["branchByLane"].escape.inactive_s > 5 * kernels["branchByWarp"].escape.inactive_s


def test_shares_of_a_kernel_and_its_classes_fill_its_slots(tmp_path: Path) -> None:
    source = "__global__ void k(float* a) { a[threadIdx.x] = 2.0f * a[threadIdx.x]; }"
    launch, profile = counted(tmp_path, source, "k=4:16")
    work = launch_work(launch, residency(launch, V100), profile)
    found = launch_characteristics(launch, profile, work, 1.0)
    # Half of each warp is not there.
    assert found.inactive_share == pytest.approx(0.5)
    assert found.warp_instructions == pytest.approx(work.instructions.total / 16)
    assert work.workload is not None
    of_workload = workload_characteristics(work.workload, 1.0)
    gpu = GpuCharacteristics.from_gpu(V100)
    total_s = gpu_time(found, gpu, 64.0).total_s
    assert gpu_time(of_workload, gpu, 64.0).total_s == pytest.approx(total_s)


def test_instructions_per_clock_are_those_of_the_predicted_time() -> None:
    work = Workload(800, 256, 64.0, Instructions(fp32=1000.0), l1_bytes=0.0)
    ipc = predicted_ipc(work, V100)
    time_s = predict_time(work, V100).time_s - DEFAULT_TIME_PARAMETERS.launch_overhead_s
    assert ipc * time_s * V100.boost_clock_mhz * 1e6 * 80 == pytest.approx(1000 * 800 * 8)
    assert ipc == pytest.approx(2.0, rel=0.2)  # 64 lanes of fp32 are two warps a clock
    with pytest.raises(ValueError, match="bytes the kernel moves is unknown"):
        workload_characteristics(Workload(1, 32, 1.0, Instructions(fp32=1.0)), 1.0)
    with pytest.raises(ValueError, match="no instruction"):
        workload_characteristics(Workload(1, 32, 1.0, Instructions(), l1_bytes=0.0), 1.0)


def test_characteristics_are_near_the_counters_of_a_simple_kernel() -> None:
    found = {one.counters.benchmark: one for one in counted_kernels(load_gpu("gtx_1080_ti"))}
    add = found["vectorAdd"]
    assert add.found.integer_instructions * add.threads == pytest.approx(add.counters.inst_integer, rel=0.02)
    assert add.found.single_instructions * add.threads == pytest.approx(add.counters.inst_fp_32, rel=0.02)
    gaussian = found["gaussian"]
    inactive = 1 - gaussian.counters.warp_execution_efficiency
    assert gaussian.found.inactive_share == pytest.approx(inactive, abs=0.05)
    assert "nn" not in found  # no source


def test_the_document_has_the_generated_part() -> None:
    text = (Path(__file__).parents[2] / "docs" / "appendix" / "escape.md").read_text(encoding="utf-8")
    part = text.partition(BEGIN)[2].partition(END)[0]
    assert "| ESCAPE, DRAM bytes |" in part
    assert "| program | P_i | nvprof |" in part
