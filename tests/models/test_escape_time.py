import math

import numpy as np
import pytest

from wattslice_models.escape_time import GpuCharacteristics, KernelCharacteristics, gpu_time
from wattslice_models.execution_time import Clocks, nvidia_smi_memory_mhz
from wattslice_models.gpu import load_gpu

KERNEL = KernelCharacteristics(
    inactive_share=0.5,
    miscellaneous_share=0.08,
    control_flow_share=0.04,
    memory_efficiency=0.25,
    requested_bytes=16.0,
    integer_instructions=20.0,
    single_instructions=10.0,
    double_instructions=0.0,
    warp_instructions=3.125,
    instructions_per_clock_per_sm=2.0,
)
GPU = GpuCharacteristics("a GPU", "kepler", 1e9, 10, None, 2e12, 1e12, 1e11)


def test_seven_times_are_those_of_table_11() -> None:
    time = gpu_time(KERNEL, GPU, 1e6)
    issue_s = 3.125e6 / (2.0 * 1e9 * 10)
    assert time.inactive_s == pytest.approx(issue_s * (0.5 + 0.08 + 0.04))
    assert time.single_s == pytest.approx(2 * 10e6 / 2e12)
    assert time.integer_s == pytest.approx(20e6 / 1e12)
    assert time.double_s == 0.0
    assert time.transfer_s == pytest.approx(16e6 / (1e11 * 0.25))
    assert time.total_s == pytest.approx(time.compute_s + time.inactive_s + time.transfer_s)


def test_many_domains_at_once_are_one_after_another() -> None:
    cells = np.array([1.0, 10.0, 1e6])
    together = gpu_time(KERNEL, GPU, cells).total_s
    assert together == pytest.approx([gpu_time(KERNEL, GPU, float(one)).total_s for one in cells])


def test_fermi_moves_what_it_gets_less_efficiently() -> None:
    fermi = GpuCharacteristics("a Fermi", "fermi", 1e9, 14, 1e11, 1e12, 5e11, 1e11)
    assert fermi.transfer_efficiency(0.3) == pytest.approx(0.075)
    assert fermi.transfer_efficiency(0.4) == pytest.approx(0.8 / 3)
    assert GPU.transfer_efficiency(0.3) == 0.3


def test_an_unknown_rate_is_an_error_only_for_who_needs_it() -> None:
    kernel = KernelCharacteristics(0.5, 0.1, 0.1, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="double rate of the a GPU is unknown"):
        gpu_time(kernel, GPU, 1.0)


def test_a_gpu_of_the_catalogue_has_its_specified_peaks() -> None:
    v100 = GpuCharacteristics.from_gpu(load_gpu("v100"))
    assert v100.peak_single_flop_per_s == pytest.approx(load_gpu("v100").peak_fp32_flops_per_s)
    assert v100.peak_double_flop_per_s == pytest.approx(v100.peak_single_flop_per_s / 2)
    halved = GpuCharacteristics.from_gpu(load_gpu("v100"), Clocks(core_mhz=765.0))
    assert halved.peak_single_flop_per_s == pytest.approx(v100.peak_single_flop_per_s / 2)


@pytest.mark.parametrize(("field", "value"), [(0, -0.1), (4, math.nan), (3, 0.0), (9, 0.0)])
def test_impossible_characteristics_are_refused(field: int, value: float) -> None:
    values = [0.5, 0.1, 0.1, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    values[field] = value
    with pytest.raises(ValueError, match="must be"):
        KernelCharacteristics(*values)


def test_shares_are_parts_of_one_whole_and_an_efficiency_may_exceed_one() -> None:
    with pytest.raises(ValueError, match=r"inactive_share .* = 61.8: fractions of one whole"):
        KernelCharacteristics(61.68, 0.09, 0.03, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="at most 1 together"):
        KernelCharacteristics(0.5, 0.3, 0.3, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert KernelCharacteristics(0.5, 0.3, 0.2, 2.65, 8.0, 1.0, 1.0, 1.0, 1.0, 1.0).memory_efficiency == 2.65


def test_a_slower_memory_clock_moves_fewer_bytes() -> None:
    gpu = load_gpu("v100")
    whole = GpuCharacteristics.from_gpu(gpu)
    slower = GpuCharacteristics.from_gpu(gpu, Clocks(memory_mhz=0.5 * nvidia_smi_memory_mhz(gpu)))
    ratio = slower.memory_bandwidth_bytes_per_s / whole.memory_bandwidth_bytes_per_s
    assert ratio == pytest.approx(0.5)
