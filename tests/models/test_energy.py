import time

import pytest
from msgspec.structs import replace

from wattslice_models.contract import Interval
from wattslice_models.energy import (
    CLOCK_HALVINGS,
    DYNAMIC_COMPONENTS,
    MULTIPLIERS,
    Case,
    Component,
    ComponentEnergy,
    EnergyModel,
    VoltageCurve,
)
from wattslice_models.execution_time import Clocks, TimeParameters, predict_time
from wattslice_models.gpu import load_gpu
from wattslice_models.store import energy_model
from wattslice_models.types import Wanted
from wattslice_models.workload import Instructions, Workload

V100 = load_gpu("v100_pcie")
DYNAMIC = DYNAMIC_COMPONENTS


def model(**changes):
    made = EnergyModel(
        gpu_id="v100_pcie",
        case=Case.MEASURED,
        idle_w=20.0,
        memory_clock_w=10.0,
        active_w=40.0,
        clocked_share=0.5,
        reference_w=250.0,
        concavity=1.0,
        energies=tuple(ComponentEnergy(c, 5e-12, 5e-12, True) for c in DYNAMIC),
        voltage=VoltageCurve(0.5, 0.6, 1380.0),
        time=TimeParameters(),
        core_mhz_min=500.0,
        core_mhz_max=1380.0,
        interval=Interval(0.9, 1.1, 0.9, "test"),
        doubted=Interval(0.6, 1.5, 0.9, "doubted"),
        sensor_peak=1.04,
        notes=(),
    )
    return replace(made, **changes)


WORK = Workload(8000, 256, 64.0, Instructions(fp32=1000.0, load_store=3.0), None, 12.0, 12.0, 12.0)


def test_watts_are_the_sum_of_the_components_and_joules_watts_times_seconds():
    found = model().predict(WORK, V100)
    assert found.power_w == pytest.approx(sum(part.power_w for part in found.components))
    assert found.energy_j == found.power_w * found.time_s
    assert found.power_low_w == pytest.approx(0.9 * found.power_w)
    assert found.power_high_w == pytest.approx(1.1 * found.power_w)
    assert found.interval_source == "test"
    unsure = model().predict(replace(WORK, doubt="guessed"), V100)
    assert (unsure.power_low_w, unsure.interval_source) == (pytest.approx(0.6 * found.power_w), "doubted")
    assert found.static_power_w == pytest.approx(70.0)
    by_name = {part.component: part.power_w for part in found.components}
    assert by_name[Component.FP32] == pytest.approx(5e-12 * 8000 * 256 * 1000 / found.time_s)
    assert by_name[Component.FP64] == 0.0


def test_the_same_work_in_half_the_time_doubles_the_dynamic_power():
    slow, fast = (model().predict(WORK, V100, None, seconds) for seconds in (2e-3, 1e-3))
    static_w = slow.static_power_w
    assert fast.power_w - static_w == pytest.approx(2 * (slow.power_w - static_w))


def test_lower_clocks_lower_voltage_and_power_but_not_that_of_dram():
    high, low = (model().predict(WORK, V100, Clocks(mhz, 877.0), 1e-3) for mhz in (1380.0, 690.0))
    for before, after in zip(high.components, low.components, strict=True):
        factor = {
            Component.IDLE: 1.0,
            Component.DRAM: 1.0,
            Component.MEMORY_CLOCK: 1.0,
            Component.ACTIVE: 0.7**2 / 2,
        }.get(before.component, 0.7**2)
        assert after.power_w == pytest.approx(factor * before.power_w, rel=2e-3)


def test_a_slower_memory_draws_less_in_proportion():
    found = model().predict(WORK, V100, Clocks(1380.0, 876.0 / 2), 1e-3)
    assert {p.component: p.power_w for p in found.components}[Component.MEMORY_CLOCK] == pytest.approx(
        5.0, rel=2e-3
    )


def test_work_counts_for_less_near_the_limit_in_every_component_alike():
    straight, bent = (model(concavity=c).predict(WORK, V100, None, 1e-3) for c in (1.0, 0.8))
    work_w = straight.power_w - straight.static_power_w
    assert bent.power_w - bent.static_power_w == pytest.approx(250.0 * (work_w / 250.0) ** 0.8)
    for plain, less in zip(straight.components, bent.components, strict=True):
        if plain.component in DYNAMIC:
            assert less.power_w == pytest.approx((work_w / 250.0) ** -0.2 * plain.power_w)
    idle = replace(WORK, instructions=Instructions(), l1_bytes=0.0, l2_bytes=0.0, dram_bytes=0.0)
    assert model(concavity=0.8).predict(idle, V100, None, 1e-3).power_w == pytest.approx(70.0)


def active_w(work):
    return next(
        part.power_w for part in model().predict(work, V100).components if part.component is Component.ACTIVE
    )


@pytest.mark.parametrize(
    ("blocks", "threads", "expected_w"),
    [
        (8000, 256, 40.0),
        (160, 256, 40.0),  # 16 warps on each SM: enough for 4 schedulers, each waiting 4 clocks
        (80, 256, 30.0),
        (80, 32, 21.25),
        (40, 512, 30.0),
        (1, 1024, 20.0 + 20.0 / 80),
    ],
)
def test_half_of_the_active_power_follows_the_sms_and_the_warps_that_they_hold(blocks, threads, expected_w):
    work = replace(WORK, blocks=blocks, threads_per_block=threads)
    assert active_w(work) == pytest.approx(expected_w)


def test_warps_draw_the_same_active_power_in_small_blocks_as_in_large_ones():
    small, large = replace(WORK, blocks=640, threads_per_block=32), replace(WORK, blocks=80)
    assert active_w(small) == pytest.approx(active_w(large))
    # What the rules would allow beyond the grid does not count.
    assert active_w(replace(large, active_warps_per_sm=8.0)) == pytest.approx(active_w(large))


@pytest.mark.parametrize("gpu_id", ["v100_pcie", "gtx_1080_ti", "rtx_2070_super", "a100"])
@pytest.mark.parametrize(
    ("threads", "fp32", "loads"), [(32, 400.0, 0.0), (256, 4000.0, 2.0), (1024, 10.0, 8.0)]
)
def test_half_of_the_grid_never_draws_more(gpu_id, threads, fp32, loads):
    gpu = load_gpu(gpu_id)
    shipped = energy_model(gpu)
    assert isinstance(shipped, EnergyModel)
    moved = {"l1_bytes": 4 * loads, "l2_bytes": 4 * loads, "dram_bytes": 4 * loads}
    work = Workload(
        1, threads, 32.0, Instructions(fp32=fp32, load_store=loads), dependent_loads=loads, **moved
    )
    watts = [shipped.predict(replace(work, blocks=2**n), gpu).power_w for n in range(18)]
    assert watts == sorted(watts)


def test_one_long_block_alone_draws_what_one_busy_sm_draws():
    shipped = energy_model(V100)
    assert isinstance(shipped, EnergyModel)
    one = Workload(1, 256, 64.0, Instructions(fp32=1e7, integer=1e7), dependent_instructions=2e7)
    # The same work in one block of 640, the others do nothing.
    spread = Instructions(fp32=1e7 / 640, integer=1e7 / 640)
    nothing = replace(one, blocks=639, instructions=Instructions(), dependent_instructions=0.0)
    among = replace(
        one, blocks=640, instructions=spread, dependent_instructions=2e7 / 640, kinds=(one, nothing)
    )
    alone, beside, even = (shipped.predict(work, V100) for work in (one, among, replace(among, kinds=())))
    assert beside.time_s == pytest.approx(alone.time_s, rel=1e-3)
    assert beside.power_w == pytest.approx(alone.power_w, rel=1e-3)
    assert even.power_w > 1.5 * alone.power_w


def test_idle_values_draw_less_in_multipliers_and_dram():
    energies = tuple(ComponentEnergy(c, 5e-12, 1e-12, True) for c in DYNAMIC)
    work = replace(
        WORK, instructions=Instructions(fp32=100.0, integer=90.0, integer_multiply=40.0), shared_passes=4.0
    )
    half = replace(work, live_operands=0.5, live_data=0.25)
    live, partly = (
        {part.component: part.power_w for part in model(energies=energies).predict(w, V100).components}
        for w in (work, half)
    )
    expected = {**dict.fromkeys(MULTIPLIERS, 0.6), Component.DRAM: 0.4}
    for component in DYNAMIC:
        assert partly[component] == pytest.approx(expected.get(component, 1.0) * live[component])


def test_the_board_never_draws_more_than_its_limit():
    found = model(idle_w=400.0).predict(WORK, V100)
    assert found.power_w == 250.0
    assert found.power_high_w == 260.0  # as far above as its sensor shows
    assert found.may_hit_power_limit is True
    assert "would exceed" in found.limit_note
    assert model().predict(WORK, V100).may_hit_power_limit is False
    assert model().predict(WORK, replace(V100, power_limit_w=None)).may_hit_power_limit is None


def test_the_time_is_predicted_once_where_the_limit_leaves_the_clock(monkeypatch):
    asked = []

    def predicted(*of):
        asked.append(of)
        return predict_time(*of)

    monkeypatch.setattr("wattslice_models.energy.predict_time", predicted)
    model().predict(WORK, V100)
    assert len(asked) == 1
    model(idle_w=400.0).predict(WORK, V100)
    assert len(asked) == 1 + 1 + CLOCK_HALVINGS + 1


def test_where_the_limit_cuts_the_interval_its_own_end_stays_known():
    whole = model().predict(WORK, replace(V100, power_limit_w=None))
    limit_w = 1.01 * whole.power_w
    cut = model().predict(WORK, replace(V100, power_limit_w=limit_w))
    assert cut.wanted.high_w == pytest.approx(cut.power_w * model().interval.high)
    assert limit_w < cut.power_high_w < limit_w * model().sensor_peak
    assert cut.wanted.exceedance(cut.power_high_w) == pytest.approx(0.05, abs=1e-3)
    assert cut.wanted.exceedance(cut.power_low_w) == pytest.approx(0.95, abs=1e-3)
    assert cut.power_high_w < cut.wanted.high_w


def test_what_a_launch_wants_stands_beside_what_the_limit_leaves():
    free = model().predict(WORK, replace(V100, power_limit_w=None))
    held = model().predict(WORK, replace(V100, power_limit_w=0.95 * free.power_w))
    assert free.wanted == replace(held.wanted, held=None)
    assert free.wanted == Wanted(free.power_w, free.power_low_w, free.power_high_w)
    assert held.power_w == pytest.approx(0.95 * free.power_w, rel=0.001)
    assert 0.93 * held.power_w < held.power_low_w < 0.95 * held.power_w  # what it wants and the limit, both
    deep = model().predict(WORK, replace(V100, power_limit_w=0.8 * free.power_w))
    assert deep.power_low_w == pytest.approx(0.95 * deep.power_w, rel=1e-3)


def test_what_was_never_measured_is_told():
    assert model().predict(WORK, V100).in_trained_domain
    assert not model().predict(WORK, V100, Clocks(1600.0)).in_trained_domain
    presumed = model(
        energies=tuple(ComponentEnergy(c, 5e-12, 5e-12, c is not Component.FP32) for c in DYNAMIC)
    )
    found = presumed.predict(WORK, V100)
    assert not found.in_trained_domain
    assert any("fp32" in note for note in found.notes)


def test_a_model_speaks_for_its_own_gpu_only():
    with pytest.raises(ValueError, match="cannot speak for"):
        model().predict(WORK, load_gpu("v100"))
    with pytest.raises(ValueError, match="cannot take"):
        model().predict(WORK, V100, time_s=0.0)


@pytest.mark.parametrize(
    "changes", [{"idle_w": -1.0}, {"active_w": float("nan")}, {"concavity": 0.0}, {"sensor_peak": 0.9}]
)
def test_impossible_coefficients_are_refused(changes):
    with pytest.raises(ValueError):
        model(**changes)


def test_voltage_rises_with_the_clock_above_a_floor():
    curve = VoltageCurve(0.8, 0.6, 1380.0)
    volts = [curve.relative_voltage(mhz) for mhz in (0.0, 300.0, 1380.0, 1518.0)]
    assert volts == pytest.approx([0.8, 0.8, 1.0, 1.06], abs=1e-3)
    bend = curve.relative_voltage(920.0)  # where floor and rise meet
    assert 0.8 < bend < 0.83
    with pytest.raises(ValueError, match="rising"):
        VoltageCurve(0.8, -0.1, 1380.0)


def test_a_prediction_takes_less_than_a_millisecond():
    ready = model()
    times = []
    for _ in range(5):
        start = time.thread_time()
        for _ in range(20):
            ready.predict(WORK, V100)
        times.append((time.thread_time() - start) / 20)
    assert min(times) < 1e-3


def test_a_board_at_its_limit_runs_at_the_clock_that_fits_in_watts_seconds_and_joules():
    hungry = model(energies=tuple(ComponentEnergy(c, 4e-11, 4e-11, True) for c in DYNAMIC))
    free = hungry.predict(WORK, replace(V100, power_limit_w=None))
    assert free.power_w > 300.0
    held = hungry.predict(WORK, V100)
    assert held.power_w == pytest.approx(250.0, rel=0.01)
    assert held.may_hit_power_limit is True
    told = held.limit_note
    mhz = float(told.split("are those at ")[1].split()[0])
    assert 500.0 < mhz < 1380.0
    there = hungry.predict(WORK, V100, Clocks(mhz))  # what the board does when that clock is set
    assert held.time_s == pytest.approx(there.time_s, rel=0.01)
    assert held.time_s > 1.05 * free.time_s
    assert held.energy_j == held.power_w * held.time_s < free.energy_j
    assert hungry.predict(WORK, V100, Clocks(mhz + 5.0)).power_w == pytest.approx(held.power_w, rel=0.005)
