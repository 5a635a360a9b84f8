from dataclasses import replace

import pytest

pytest.importorskip("scipy")

from wattslice_models.energy import Component, ComponentEnergy, EnergyModel, VoltageCurve
from wattslice_models.energy_fit import (
    PRIOR_PJ,
    LaunchWork,
    NotEnoughDataError,
    TrainingRow,
    fit_energy_model,
    predict_row,
)
from wattslice_models.execution_time import Clocks, TimeParameters
from wattslice_models.gpu import load_gpu
from wattslice_models.workload import Instructions, Workload

V100 = load_gpu("v100_pcie")
STATIC = (Component.IDLE, Component.LEAKAGE, Component.ACTIVE)
TRUTH = EnergyModel(
    gpu_id="v100_pcie",
    measured_on="v100_pcie",
    idle_w=25.0,
    leakage_w=10.0,
    active_w=30.0,
    energies=tuple(ComponentEnergy(c, 1.5e-12 * PRIOR_PJ[c], True) for c in Component if c not in STATIC),
    voltage=VoltageCurve(0.7, 690.0, 1380.0),
    time=TimeParameters(dram_efficiency=0.75, launch_overhead_s=5e-6),
    core_mhz_min=600.0,
    core_mhz_max=1380.0,
    ratio_low=1.0,
    ratio_high=1.0,
    interval_source="truth",
    data_sha256="",
    notes=(),
)


def rows():
    """Three made-up microbenchmarks with sweeps of arithmetic density, measured without noise."""
    works = [("fma", Instructions(fp32=50.0 * k, load_store=4.0), 16.0, 0.0) for k in range(1, 9)]
    works += [("int", Instructions(integer=50.0 * k, load_store=4.0), 16.0, 0.0) for k in range(1, 9)]
    works += [("shared", Instructions(fp64=5.0 * k, load_store=60.0 * k), 4.0, 60.0 * k) for k in range(1, 9)]
    for number, (benchmark, instructions, moved, passes) in enumerate(works):
        work = Workload(
            4000, 256, 64.0, instructions, None, moved, moved, moved, passes, passes, global_loads=4.0
        )
        for mhz in (600.0, 990.0, 1380.0):
            row = TrainingRow(
                benchmark, "k", f"-n={number}", (LaunchWork(work),), Clocks(mhz, 876.0), 1.0, 1.0
            )
            power_w, time_s = predict_row(TRUTH, row, V100)
            yield replace(row, power_w=power_w, time_s=time_s)


@pytest.fixture(scope="module")
def fitted():
    return fit_energy_model(tuple(rows()), V100, "hash", ("a note",))


def test_watts_and_seconds_of_a_known_model_are_found_again(fitted):
    model, _ = fitted
    for row in rows():
        power_w, time_s = predict_row(model, row, V100)
        assert power_w == pytest.approx(row.power_w, rel=0.05)
        assert time_s == pytest.approx(row.time_s, rel=0.05)


def test_energies_are_never_negative_and_unseen_ones_stay_at_their_prior(fitted):
    model, _ = fitted
    by_component = {entry.component: entry for entry in model.energies}
    assert all(entry.energy_j >= 0 for entry in model.energies)
    assert not by_component[Component.TENSOR].fitted
    assert by_component[Component.TENSOR].energy_j == pytest.approx(1e-12 * PRIOR_PJ[Component.TENSOR])
    assert by_component[Component.FP32].energy_j == pytest.approx(4.5e-12, rel=0.3)


def test_the_interval_is_that_of_left_out_benchmarks(fitted):
    model, residuals = fitted
    assert len(residuals) == len(tuple(rows()))
    inside = [model.ratio_low <= 1 + entry.relative_power <= model.ratio_high for entry in residuals]
    assert sum(inside) / len(inside) >= 0.9
    assert "3 benchmarks" in model.interval_source
    assert (model.data_sha256, model.notes) == ("hash", ("a note",))


def test_one_absurd_measurement_does_not_bend_the_model(fitted):
    clean, _ = fitted
    broken = list(rows())
    broken[4] = replace(broken[4], power_w=5 * broken[4].power_w)
    model, _ = fit_energy_model(tuple(broken), V100, "")
    for row in rows():
        assert predict_row(model, row, V100)[0] == pytest.approx(predict_row(clean, row, V100)[0], rel=0.03)


def test_one_benchmark_is_not_enough():
    with pytest.raises(NotEnoughDataError, match="1 benchmark"):
        fit_energy_model(tuple(row for row in rows() if row.benchmark == "fma"), V100, "")
