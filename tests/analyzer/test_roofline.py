"""Rooflines against the formulas of Choi et al. 2013 and figures worked out by hand."""

import pytest
from msgspec.structs import replace

from wattslice.analysis import Precision, Roofline
from wattslice.ir.operation_counts import OperationCounts
from wattslice.roofline.kernels import make_roofline
from wattslice.roofline.machines import machines_of, model_roofline, time_roofline
from wattslice_models.energy import Component, EnergyModel
from wattslice_models.execution_time import Clocks
from wattslice_models.frozen_json import decoded, encoded
from wattslice_models.gpu import load_gpu
from wattslice_models.store import energy_model
from wattslice_models.workload import Instructions, Workload

V100 = load_gpu("v100")
GTX480 = load_gpu("gtx480")
WORK = Workload(1000, 256, 64.0, Instructions(fp32=50.0), l1_bytes=40.0, l2_bytes=40.0, dram_bytes=40.0)
NO_CLOCKS = Clocks()
COUNTS = OperationCounts(fp32=100.0)


def roofline(work=WORK, counts=COUNTS, clocks=NO_CLOCKS, power_w=150.0, time_s=1e-3, gpu=V100):
    return make_roofline(work, counts, gpu, machines_of(gpu, clocks), power_w, time_s)


def test_flops_and_bytes_are_those_of_the_whole_launch():
    made = roofline()
    assert (made.flops, made.dram_bytes) == (256_000 * 100.0, 256_000 * 40.0)
    assert made.point is not None
    assert made.point.intensity == pytest.approx(2.5)
    assert made.point.flops_per_s == pytest.approx(2.56e10)
    assert made.point.power_w == 150.0
    assert made.machine.peak_flops_per_s == pytest.approx(V100.peak_fp32_flops_per_s)
    assert made.machine.bandwidth_bytes_per_s == pytest.approx(V100.memory_bandwidth_bytes_per_s)


def test_clocks_move_the_roofs():
    slow = roofline(clocks=Clocks(core_mhz=V100.boost_clock_mhz / 2))
    assert slow.machine.peak_flops_per_s == pytest.approx(V100.peak_fp32_flops_per_s / 2)
    assert slow.machine.time_balance == pytest.approx(roofline().machine.time_balance / 2)


def test_the_roof_bends_at_the_time_balance():
    made = roofline()
    corner, peak = made.machine.time_balance, made.machine.peak_flops_per_s
    assert made.at(corner / 4).flops_per_s == pytest.approx(peak / 4)
    assert made.at(4 * corner).flops_per_s == pytest.approx(peak)
    assert corner in [point.intensity for point in made.curve(corner / 10, corner * 10)]


def test_the_power_line_peaks_where_the_roofs_meet():
    made = roofline()
    assert made.energies is not None
    free = replace(made, machine=made.energies.without_limit())
    peak = max(free.curve(0.01, 1e4), key=lambda point: point.power_w or 0.0)
    assert peak.intensity == pytest.approx(made.machine.time_balance)


def test_no_power_above_the_limit_and_no_slower_roof():
    made = roofline()
    assert made.energies is not None
    capped = replace(made, machine=replace(made.energies, power_limit_w=120.0))
    assert max(point.power_w or 0.0 for point in capped.curve(0.01, 1e4)) == 120.0
    assert [one.flops_per_s for one in capped.curve(0.01, 1e4)] == [
        one.flops_per_s for one in made.curve(0.01, 1e4)
    ]


@pytest.mark.parametrize(
    ("work", "counts", "time_s", "why"),
    [
        (WORK, OperationCounts(integer=9.0), 1e-3, "no floating-point operations"),
        (replace(WORK, dram_bytes=0.0), COUNTS, 1e-3, "no bytes of DRAM"),
        (WORK, COUNTS, None, "run time is unknown"),
    ],
)
def test_no_point_without_both_figures_and_the_reason_is_said(work, counts, time_s, why):
    made = roofline(work, counts, time_s=time_s)
    assert made.point is None
    assert why in made.no_point


def test_the_precision_is_what_takes_longest():
    assert roofline(counts=OperationCounts(fp32=100.0, fp64=60.0)).precision is Precision.FP64
    assert roofline(counts=OperationCounts(fp32=100.0, fp64=40.0)).precision is Precision.FP32
    tensor = replace(WORK, instructions=Instructions(tensor=4096.0))
    made = roofline(tensor, OperationCounts(tensor=32.0))
    assert made.precision is Precision.TENSOR
    assert made.flops == 256_000 * 2 * 4096.0


def test_without_an_energy_model_there_is_no_power_line():
    made = roofline(gpu=GTX480)
    assert made.energies is None
    assert made.at(1.0).power_w is None
    assert "fermi chips differ" in made.no_power_line


def test_a_static_power_above_the_limit_makes_no_power_line():
    model = energy_model(V100)
    assert isinstance(model, EnergyModel)
    roof = time_roofline(V100, Precision.FP32, Clocks())
    assert roof is not None
    found, why = model_roofline(replace(model, idle_w=400.0), roof, Precision.FP32, V100, Clocks())
    assert found is roof
    assert "limit" in why


def test_the_energies_are_those_of_the_model_with_all_sms_at_work():
    model = energy_model(V100)
    assert isinstance(model, EnergyModel)
    found = model.predict(replace(WORK, blocks=8000), V100)
    energies = roofline().energies
    assert energies is not None
    assert energies.constant_power_w == pytest.approx(found.static_power_w)
    counted = 0.5 ** (model.concavity - 1)  # of work at half the limit
    joules = {entry.component: counted * entry.energy_j for entry in model.energies}
    # at the reference clock: voltage 1, but for the bend
    fma_j = joules[Component.FP32] + joules[Component.ISSUE] / 32
    assert 2 * energies.flop_energy_j == pytest.approx(fma_j, rel=1e-3)
    byte_j = joules[Component.DRAM] + joules[Component.L2] + joules[Component.L1]
    assert energies.byte_energy_j == pytest.approx(byte_j, rel=1e-3)


@pytest.mark.parametrize("gpu", [V100, GTX480])
def test_a_kept_roofline_is_read_again_as_it_was(gpu):
    made = roofline(gpu=gpu)
    assert decoded(Roofline, encoded(made), exact=True) == made
