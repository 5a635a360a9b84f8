import pytest
from msgspec.structs import replace

pytest.importorskip("scipy")

from wattslice_models.contract import UNCALIBRATED, Example, NotEnoughDataError, RepeatedLaunch, Subject
from wattslice_models.energy import MULTIPLIERS, Component, ComponentEnergy, EnergyModel, VoltageCurve
from wattslice_models.energy_fit import PRIOR_PJ, EnergyLearner
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.execution_time import Clocks, TimeParameters
from wattslice_models.gpu import load_gpu
from wattslice_models.workload import Instructions, Workload

V100 = load_gpu("v100_pcie")
STATIC = (Component.IDLE, Component.LEAKAGE, Component.ACTIVE)


def energy(component):
    """One and a half times the prior; on idle data multipliers draw nothing, DRAM a third of it."""
    multiplies = component in MULTIPLIERS
    energy_j = 1.5e-12 * PRIOR_PJ[Component.FP32 if multiplies else component]
    idle = 0.0 if multiplies else energy_j / 3 if component is Component.DRAM else energy_j
    return ComponentEnergy(component, energy_j, idle, True)


TRUTH = EnergyPowerModel(
    EnergyModel(
        gpu_id="v100_pcie",
        measured_on="v100_pcie",
        idle_w=25.0,
        leakage_w=10.0,
        active_w=30.0,
        energies=tuple(energy(c) for c in Component if c not in STATIC),
        voltage=VoltageCurve(0.7, 690.0, 1380.0),
        time=TimeParameters(dram_share=0.97, launch_overhead_s=4e-6, overlap=2.3),
        core_mhz_min=600.0,
        core_mhz_max=1380.0,
        interval=UNCALIBRATED,
        notes=(),
    )
)


def rows():
    """Four made-up microbenchmarks with sweeps of arithmetic density, measured without noise."""
    works = [("fma", Instructions(fp32=50.0 * k, load_store=4.0), 16.0, 0.0) for k in range(1, 9)]
    works += [("int", Instructions(integer=50.0 * k, load_store=4.0), 16.0, 0.0) for k in range(1, 9)]
    works += [("shared", Instructions(fp64=5.0 * k, load_store=60.0 * k), 4.0, 60.0 * k) for k in range(1, 9)]
    works += [("lone", Instructions(fp32=500.0 * k, load_store=4.0), 0.0, 0.0) for k in range(1, 9)]
    for number, (benchmark, instructions, moved, passes) in enumerate(works):
        work = Workload(
            80 if benchmark == "lone" else 4000,
            256,
            64.0,
            instructions,
            None,
            moved,
            moved,
            moved,
            passes,
            passes,
            global_loads=4.0,
            dependent_loads=1.0,
        )
        for mhz in (600.0, 990.0, 1380.0):
            subject = Subject(V100, Clocks(mhz, 876.0), (RepeatedLaunch(work),))
            power_w = TRUTH.predict(subject).power_w
            assert power_w is not None
            yield Example("d", benchmark, "k", f"-n={number}", subject, power_w, TRUTH.time_s(subject))


def pairs():
    """A sweep from arithmetic to memory of one program on live and on idle data."""
    for share in range(1, 9):
        for live in (0.0, 1.0):
            work = Workload(
                4000,
                256,
                64.0,
                Instructions(fp32=800.0 - 90.0 * share, load_store=4.0),
                None,
                *(3 * [64.0 * share]),
                global_loads=4.0,
                dependent_loads=1.0,
                live_operands=live,
                live_data=live,
            )
            for mhz in (600.0, 990.0, 1380.0):
                subject = Subject(V100, Clocks(mhz, 876.0), (RepeatedLaunch(work),))
                power_w = TRUTH.predict(subject).power_w
                assert power_w is not None
                name = f"-n={share} -live={live:g}"
                yield Example("d", "sweep", "k", name, subject, power_w, TRUTH.time_s(subject))


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


def test_pairs_of_live_and_idle_runs_tell_the_cost_of_values():
    model = EnergyLearner().fit((*rows(), *pairs())).model
    found = {entry.component: entry for entry in model.energies}
    for component in (Component.FP32, Component.INTEGER_MULTIPLY):
        assert found[component].energy_j == pytest.approx(energy(component).energy_j, rel=0.02)
        assert found[component].idle_energy_j == 0.0
    more_j = found[Component.DRAM].energy_j - found[Component.DRAM].idle_energy_j
    assert more_j == pytest.approx(energy(Component.DRAM).energy_j * 2 / 3, rel=0.02)


def test_idle_runs_alone_say_nothing_about_multipliers(fitted):
    idle = [row for row in pairs() if row.subject.launches[0].workload.live_data == 0.0]
    found = {entry.component: entry for entry in EnergyLearner().fit(tuple(idle)).model.energies}
    assert not found[Component.FP32].fitted
    assert found[Component.FP32].energy_j == pytest.approx(1e-12 * PRIOR_PJ[Component.FP32])
    assert found[Component.DRAM].energy_j == found[Component.DRAM].idle_energy_j


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
