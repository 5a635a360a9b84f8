from dataclasses import replace

import pytest

pytest.importorskip("scipy")

from wattslice_models.contract import UNCALIBRATED, Example, LaunchWork, NotEnoughDataError, Subject
from wattslice_models.energy import Component, ComponentEnergy, EnergyModel, VoltageCurve
from wattslice_models.energy_fit import PRIOR_PJ, EnergyLearner
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.execution_time import Clocks, TimeParameters
from wattslice_models.gpu import load_gpu
from wattslice_models.workload import Instructions, Workload

V100 = load_gpu("v100_pcie")
STATIC = (Component.IDLE, Component.LEAKAGE, Component.ACTIVE)
TRUTH = EnergyPowerModel(
    EnergyModel(
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
        interval=UNCALIBRATED,
        notes=(),
    )
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
            subject = Subject(V100, Clocks(mhz, 876.0), (LaunchWork(work),))
            power_w = TRUTH.predict(subject).power_w
            assert power_w is not None
            yield Example("d", benchmark, "k", f"-n={number}", subject, power_w, TRUTH.time_s(subject))


@pytest.fixture(scope="module")
def fitted():
    return EnergyLearner().fit(tuple(rows()))


def test_watts_and_seconds_of_a_known_model_are_found_again(fitted):
    for row in rows():
        assert fitted.predict(row.subject).power_w == pytest.approx(row.power_w, rel=0.05)
        assert fitted.time_s(row.subject) == pytest.approx(row.time_s, rel=0.05)


def test_energies_are_never_negative_and_unseen_ones_stay_at_their_prior(fitted):
    by_component = {entry.component: entry for entry in fitted.model.energies}
    assert all(entry.energy_j >= 0 for entry in fitted.model.energies)
    assert not by_component[Component.TENSOR].fitted
    assert by_component[Component.TENSOR].energy_j == pytest.approx(1e-12 * PRIOR_PJ[Component.TENSOR])
    assert by_component[Component.FP32].energy_j == pytest.approx(4.5e-12, rel=0.3)


def test_several_launches_are_one_iteration(fitted):
    first, second = (row.subject for row in list(rows())[:6:3])
    together = Subject(V100, first.clocks, (*first.launches, replace(second.launches[0], repeat=3)))
    times = fitted.time_s(first), 3 * fitted.time_s(second)
    powers = fitted.predict(first).power_w, fitted.predict(second).power_w
    assert fitted.time_s(together) == pytest.approx(sum(times))
    joules = sum(time_s * power_w for time_s, power_w in zip(times, powers, strict=True))
    assert fitted.predict(together).power_w == pytest.approx(joules / sum(times))


def test_another_gpu_is_unknown(fitted):
    row = next(rows())
    found = fitted.predict(replace(row.subject, gpu=load_gpu("v100")))
    assert found.power_w is None
    assert "cannot speak for v100" in found.notes[0]


def test_one_absurd_measurement_does_not_bend_the_model(fitted):
    broken = list(rows())
    broken[4] = replace(broken[4], power_w=5 * broken[4].power_w)
    model = EnergyLearner().fit(tuple(broken))
    for row in rows():
        clean_w = fitted.predict(row.subject).power_w
        assert model.predict(row.subject).power_w == pytest.approx(clean_w, rel=0.03)


def test_nothing_is_learnt_from_runs_without_time_or_with_guessed_bytes(fitted):
    timeless = (replace(row, time_s=None, power_w=5 * row.power_w) for row in rows())
    doubtful = (replace(row, doubt="guessed", power_w=5 * row.power_w) for row in rows())
    assert EnergyLearner().fit((*rows(), *timeless, *doubtful)) == fitted
    with pytest.raises(NotEnoughDataError, match=r"24 .*none with both the time"):
        EnergyLearner().fit(tuple(replace(row, time_s=None) for row in rows())[:24])


def test_two_gpus_have_two_models():
    first, *others = rows()
    moved = replace(first, subject=replace(first.subject, gpu=load_gpu("v100")))
    with pytest.raises(ValueError, match="of one GPU, not of v100, v100_pcie"):
        EnergyLearner().fit((moved, *others))
