"""The joint model: its form, its fit, and what readings of a board change."""

import math
import time

import numpy as np
import pytest
from msgspec.structs import replace

from wattslice_models import joint_fit
from wattslice_models.contract import Example, Interval, NotEnoughDataError, RepeatedLaunch, Subject
from wattslice_models.energy import Case, Component, EnergyModel, NoEnergyModel
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.joint import (
    EFFECT_DEVIATIONS,
    PRIORS,
    CaseInterval,
    Effect,
    Term,
    energy_model_of,
    no_effects,
    prior_effects,
)
from wattslice_models.joint_fit import (
    Estimate,
    calibrate,
    estimate_of,
    fit,
    layout_of,
    mean_w,
    model_of,
    power_w,
)
from wattslice_models.joint_learner import EnergyLearner, calibrated_model
from wattslice_models.joint_rows import JointRows, Reading, joint_rows
from wattslice_models.joint_store import held_out_runs, joint_model, save_joint
from wattslice_models.workload import Instructions, Workload

from .model_examples import in_doubt

BOARDS = ("v100_pcie", "quadro_rtx_8000", "p100", "gtx_titan_x")
INTERVALS = tuple(
    CaseInterval(case, Interval(0.8, 1.3, 0.9, "a test"), Interval(0.6, 1.5, 0.9, "a test")) for case in Case
)


def workload(number: int, live: float = 1.0, blocks: int = 8000) -> Workload:
    """Programs that differ in what they do most: one component after the other."""
    most = 400.0 * (1 + number // 8)
    doing = [1.0] * 8
    doing[number % 8] = most
    fp32, fp64, integer, special, other, shared, far, near = doing
    instructions = Instructions(
        fp32=fp32, fp64=fp64 / 8, integer=integer, special=special / 4, load_store=8.0 + shared, other=other
    )
    return Workload(
        blocks,
        256,
        32.0,
        instructions,
        None,
        16.0 + near,
        8.0 + far,
        8.0 + far / 4,
        shared,
        shared,
        global_loads=2.0,
        dependent_loads=1.0,
        live_operands=live,
        live_data=live,
    )


def readings(*gpu_ids: str, programs: int = 24) -> tuple[Reading, ...]:
    """Runs and idle boards at three core clocks and two memory clocks; watts still to be told."""
    found: list[Reading] = []
    for gpu_id in gpu_ids:
        gpu = load_gpu(gpu_id)
        full = 4e-6 * gpu.memory_bandwidth_bytes_per_s / gpu.memory_bus_bits
        for number in range(programs):
            for share, memory in ((0.5, 1.0), (0.75, 0.6), (1.0, 1.0)):
                clocks = Clocks(share * gpu.boost_clock_mhz, memory * full)
                work = workload(number, live=float(number % 3 != 0), blocks=20 if number % 5 == 0 else 8000)
                subject = Subject(
                    gpu, clocks, (RepeatedLaunch(work), RepeatedLaunch(workload(number + 1), 2))
                )
                example = Example("set", f"p{number}", "k", "", subject, 100.0, 1e-3)
                found.append(Reading(gpu, clocks, "set", f"p{number}", 100.0, example, peak=number % 2 == 0))
        found += [Reading(gpu, Clocks(mhz, full), "set", "idle", 50.0) for mhz in (400.0, 1000.0)]
    return tuple(found)


def truth(rows: JointRows, seed: int = 0) -> Estimate:
    """An estimate drawn from half of the priors."""
    layout = layout_of(rows)
    means, deviations = layout.prior()
    drawn = np.random.default_rng(seed).standard_normal(layout.size)
    return Estimate(layout, means + 0.5 * deviations * drawn, deviations)


def measured(rows: JointRows, known: Estimate, noise: float = 0.0) -> JointRows:
    """The rows with the watts of a known model."""
    log_power = joint_fit._watts(rows, known.layout, known.values).log_power
    log_power = log_power + noise * np.random.default_rng(1).standard_normal(len(rows))
    told = (replace(r, power_w=float(w)) for r, w in zip(rows.readings, np.exp(log_power), strict=True))
    return replace(rows, log_power=log_power, readings=tuple(told))


@pytest.fixture(scope="module")
def rows() -> JointRows:
    return joint_rows(readings(*BOARDS))


def test_the_derivatives_are_those_of_the_form(rows):
    at = truth(rows)
    found = joint_fit._watts(rows, at.layout, at.values)
    for place in range(at.layout.size):
        step = np.zeros(at.layout.size)
        step[place] = 1e-5
        up, down = (joint_fit._watts(rows, at.layout, at.values + sign * step).log_power for sign in (1, -1))
        assert np.abs((up - down) / 2e-5 - found.jacobian[:, place]).max() < 1e-7


def test_the_fit_and_the_prediction_have_one_form(rows):
    """What is fitted (arrays) and what answers (`EnergyModel`) are written twice: they must agree."""
    known = truth(rows)
    model = model_of(known, measured(rows, known), INTERVALS)
    stored = estimate_of(model)
    expected = power_w(stored, rows)
    compared = 0
    for number, reading in enumerate(rows.readings):
        if reading.example is None:
            continue
        energy = energy_model_of(model, reading.gpu)
        assert isinstance(energy, EnergyModel)
        parts = [
            (launch.repeat, energy.predict(launch.workload, reading.gpu, reading.clocks))
            for launch in reading.example.subject.launches
        ]
        if any(part.limit_note for _, part in parts):
            continue  # slower clocks hold it at its limit
        compared += 1
        joules = sum(repeat * part.energy_j for repeat, part in parts)
        seconds = sum(repeat * part.time_s for repeat, part in parts)
        assert joules / seconds == pytest.approx(expected[number], rel=1e-9)
    assert compared > 100


def test_a_known_model_is_found_again(rows, monkeypatch):
    monkeypatch.setattr(joint_fit, "NOISE", 0.005)  # exact watts
    known = truth(rows)
    # Watts below the limit: a run at the limit tells only that it is reached.
    roomy = replace(rows, log_limit=np.full(len(rows), 20.0))
    data = measured(roomy, known)
    found = fit(data)
    again = joint_fit._watts(roomy, found.layout, found.values).log_power
    assert np.abs(again - data.log_power).mean() < 0.02
    spread = np.array([prior.deviation for prior in PRIORS.values()])
    means = np.array([prior.mean for prior in PRIORS.values()])
    true, fitted = known.values[: len(PRIORS)], found.values[: len(PRIORS)]
    # Nearer to the truth than the prior is, by far, where the runs can tell.
    told = found.deviations[: len(PRIORS)] < 0.6 * spread
    assert told.sum() > 8
    assert np.abs(fitted - true)[told].mean() < 0.5 * np.abs(means - true)[told].mean()


def test_labels_of_highest_samples_count_as_the_means_they_stand_for(rows):
    """Half of the rows read peaks."""
    known = truth(rows)
    means = np.exp(measured(replace(rows, peak=np.zeros(len(rows))), known).log_power)
    labels = measured(rows, known)
    assert np.abs(np.exp(labels.log_power) / means - 1).max() > 0.01
    assert mean_w(known, labels) == pytest.approx(means)


def test_what_no_run_tells_stays_at_its_prior(rows):
    found = fit(measured(rows, truth(rows)))
    for term in (Term.TENSOR, Term.FP16):
        place = tuple(PRIORS).index(term)
        assert found.values[place] == pytest.approx(PRIORS[term].mean, abs=1e-6)
        assert found.deviations[place] == pytest.approx(PRIORS[term].deviation, rel=1e-6)
    model = model_of(found, rows, INTERVALS)
    assert Component.TENSOR not in model.seen
    assert {Component.FP32, Component.DRAM, Component.SHARED} <= set(model.seen)


def test_a_noise_of_one_in_a_million_changes_nothing_that_counts(rows):
    data = measured(rows, truth(rows), noise=0.1)
    shaken = replace(data, log_power=data.log_power + 1e-6 * np.cos(np.arange(len(data))))
    first, second = (power_w(fit(one), rows) for one in (data, shaken))
    assert np.abs(second / first - 1.0).max() < 1e-4


def test_the_order_of_the_rows_does_not_matter(rows):
    data = measured(rows, truth(rows), noise=0.1)
    turned = joint_rows(tuple(reversed(data.readings)))
    first, second = (model_of(fit(one), one, INTERVALS) for one in (data, turned))
    assert first == second


def test_one_absurd_measurement_hardly_bends_the_model(rows):
    data = measured(rows, truth(rows), noise=0.02)
    broken = data.log_power.copy()
    broken[4] += math.log(5.0)
    first, second = (power_w(fit(one), rows) for one in (data, replace(data, log_power=broken)))
    others = np.array([reading.program != data.readings[4].program for reading in data.readings])
    assert np.abs(second / first - 1.0)[others].mean() < 0.01


def test_a_run_at_the_limit_says_only_that_it_is_reached(rows):
    data = measured(rows, truth(rows))
    hungry = replace(data, log_limit=data.log_power - 1e-9)  # all of them at their limit
    free = fit(hungry)
    off = joint_fit._watts(hungry, free.layout, free.values).log_power - hungry.log_power
    assert off.min() > -0.25
    reached = replace(data, log_power=np.full(len(data), 1.0), log_limit=np.full(len(data), 1.0))
    means, _ = layout_of(reached).prior()  # any model draws more than e watts: nothing is learnt
    assert fit(reached).values == pytest.approx(means, abs=1e-9)


def test_a_long_sweep_of_one_program_weighs_no_more_than_a_few_runs(rows):
    sweep = tuple(one for one in rows.readings if one.program == "p3") * 10
    weights = joint_fit._weights(joint_rows((*rows.readings[:1], *sweep)), 1.0)
    assert weights[0] == 1.0
    for gpu_id in BOARDS:
        of = [w for w, one in zip(weights[1:], sweep, strict=True) if one.gpu.id == gpu_id]
        assert sum(of) == pytest.approx(joint_fit.PROGRAM_CAP)


def test_the_shipped_model_is_no_hollow_one():
    """It tells kernels apart on every board, was moved by its data, and its runs are kept."""
    model = joint_model()
    moved = [model.value(term) - prior.mean for term, prior in PRIORS.items()]
    assert sum(abs(step) > 0.1 for step in moved) > 5
    assert len(model.boards) >= 4
    own = [any(abs(entry.value) > 0.05 for entry in board.effects) for board in model.boards]
    assert sum(own) > len(own) / 2
    for board in model.boards:
        assert all(0 < entry.deviation <= 1.001 * EFFECT_DEVIATIONS[entry.effect] for entry in board.effects)
        runs = [run for run in held_out_runs() if run.gpu_id == board.gpu_id]
        logs = np.log([[run.measured_w, run.application_w, run.both_w] for run in runs])
        assert logs[:, 1].std() > 0.04
        assert np.corrcoef(logs[:, 0], logs[:, 1])[0, 1] > 0.4, board.gpu_id


def test_a_measured_board_has_its_effects_and_another_none():
    model = joint_model()
    assert prior_effects(model, load_gpu("v100_pcie")) != no_effects()
    assert prior_effects(model, load_gpu("l4")) == no_effects()
    gpu = load_gpu("l4")
    found = energy_model_of(model, gpu)
    assert isinstance(found, EnergyModel)
    assert found.case is Case.CARRIED_OVER
    carried = model.intervals_of(Case.CARRIED_OVER)
    assert (found.interval, found.doubted) == (carried.interval, carried.doubted)
    assert isinstance(energy_model_of(model, load_gpu("gtx280")), NoEnergyModel)
    assert isinstance(energy_model_of(model, replace(gpu, design_power_w=None)), NoEnergyModel)


@pytest.mark.parametrize("gpu_id", ["h100", "v100"])  # carried over, measured
def test_a_power_cap_changes_nothing_below_it(gpu_id):
    gpu, model = load_gpu(gpu_id), joint_model()
    behind = replace(gpu, id="capped", power_limit_w=200.0)  # as read_gpu has it: the board is known
    low = Workload(8192, 256, 64.0, Instructions(fp32=10.0, special=4e3), None, 0.0, 0.0, 0.0)
    free, capped = (energy_model_of(model, one) for one in (gpu, behind))
    assert isinstance(free, EnergyModel)
    assert isinstance(capped, EnergyModel)
    told, told_capped = free.predict(low, gpu), capped.predict(low, behind)
    assert told_capped.power_w == min(200.0, told.power_w)
    assert capped.case is free.case


def test_boards_since_volta_keep_to_their_limit_and_older_ones_do_not():
    found = {name: energy_model_of(joint_model(), load_gpu(name)) for name in ("l4", "rtx_4090", "gtx_970")}
    peaks = {name: one.sensor_peak for name, one in found.items() if isinstance(one, EnergyModel)}
    assert peaks["l4"] == peaks["rtx_4090"] == pytest.approx(1.01, abs=0.005)
    assert peaks["gtx_970"] == pytest.approx(1.23, abs=0.01)


def test_a_board_has_half_of_what_its_kin_have_that_ran_several_programs():
    model = joint_model()
    kin = [model.board(gpu_id) for gpu_id in ("quadro_rtx_8000", "rtx_2070_super")]
    of_t4 = prior_effects(model, load_gpu("t4"))
    for number, (entry, wide) in enumerate(zip(of_t4, no_effects(), strict=True)):
        own = [board.effects[number].value for board in kin if board is not None]
        assert entry.value == pytest.approx(0.5 * sum(own) / 2)
        assert (entry.effect, entry.deviation) == (wide.effect, wide.deviation)
    alone = replace(model, boards=tuple(replace(board, programs=4) for board in model.boards))
    assert prior_effects(alone, load_gpu("t4")) == no_effects()


def board_readings(factor: float, number: int) -> tuple[Reading, ...]:
    """Readings of an L4 that draws `factor` times what the shipped model says."""
    data = readings("l4", programs=number)
    told = power_w(estimate_of(joint_model()), joint_rows(data))
    runs = [(one, watts) for one, watts in zip(data, told, strict=True) if one.example is not None]
    return tuple(replace(one, power_w=factor * float(watts), peak=False) for one, watts in runs[::3])


@pytest.mark.parametrize("factor", [0.7, 0.85])
def test_readings_pull_a_board_their_way_and_never_all_the_way(factor):
    shares: list[float] = []
    for number in (1, 3, 9):
        told = board_readings(factor, number)
        rows = joint_rows(told)
        effects = calibrate(rows, estimate_of(joint_model()), no_effects())
        before = power_w(estimate_of(joint_model()), rows)
        after = power_w(joint_fit.with_board(estimate_of(joint_model()), "l4", effects), rows)
        shares.append(float(np.mean(np.log(after / before)) / math.log(factor)))
        for entry in effects:
            assert entry.deviation <= EFFECT_DEVIATIONS[entry.effect] * (1 + 1e-6)
    assert 0.05 < shares[0] < shares[1] < shares[2] < 1.0
    assert shares[2] > 0.6


def test_no_readings_beyond_the_model_change_nothing():
    told = board_readings(1.0, 5)
    effects = calibrate(joint_rows(told), estimate_of(joint_model()), no_effects())
    assert all(abs(entry.value) < 1e-4 for entry in effects)


def test_an_idle_reading_moves_static_watts_alone():
    gpu = load_gpu("l4")
    reading = Reading(gpu, Clocks(), "mine", "idle", 45.0)
    effects = {
        entry.effect: entry.value
        for entry in calibrate(joint_rows((reading,)), estimate_of(joint_model()), no_effects())
    }
    assert effects[Effect.STATIC] > 0.05
    for effect in (Effect.LEVEL, Effect.COMPUTE, Effect.ON_CHIP, Effect.DRAM):
        assert effects[effect] == pytest.approx(0.0, abs=1e-9)


def test_a_calibrated_model_says_so_and_answers_quickly():
    gpu = load_gpu("l4")
    found = calibrated_model(joint_model(), gpu, board_readings(0.8, 3))
    assert isinstance(found, EnergyModel)
    assert found.case is Case.CALIBRATED
    assert any("calibrated by readings" in note for note in found.notes)
    work = workload(1)
    start = time.thread_time()
    for _ in range(50):
        found.predict(work, gpu)
    assert (time.thread_time() - start) / 50 < 1e-3


def test_the_learner_takes_one_board_and_followed_bytes():
    told = board_readings(0.8, 6)
    known = tuple(replace(one.example, power_w=one.power_w) for one in told if one.example is not None)
    model = EnergyLearner().fit(known)
    assert model.model.case is Case.CALIBRATED
    doubtful = tuple(replace(in_doubt(one), power_w=5 * one.power_w) for one in known)
    assert EnergyLearner().fit((*known, *doubtful)) == model
    with pytest.raises(NotEnoughDataError, match="none with bytes that could be followed"):
        EnergyLearner().fit(doubtful)
    other = replace(known[0], subject=replace(known[0].subject, gpu=load_gpu("t4")))
    with pytest.raises(ValueError, match="of one GPU, not of"):
        EnergyLearner().fit((other, *known))


def test_the_files_read_back_exactly(tmp_path):
    save_joint(tmp_path, joint_model(), held_out_runs()[:7])
    assert joint_model(tmp_path) == joint_model()
    assert held_out_runs(tmp_path) == held_out_runs()[:7]
