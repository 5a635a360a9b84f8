"""The learner finds a law it is shown, says how surely, and is not moved by a run measured wrongly."""

import random

import pytest
from msgspec.structs import replace

from wattslice_models.contract import Example, NotEnoughDataError, SliceSample
from wattslice_models.execution_time import Clocks
from wattslice_models.regression_fit import LEAST_RUNS, RegressionLearner
from wattslice_models.trained_regression import ClockRegression, Coefficient, TrainedRegression

from .model_examples import GPU, examples, power_w, subject

BETA = (60.0, 30.0, 0.3)
"""What `model_examples.power_w` has at 1380 MHz."""


def runs(count: int, noise: float, seed: int = 0, core_mhz: float = 1380.0) -> list[Example]:
    """Runs with normal relative noise; densities from 0.25 to 2048, saturation at random."""
    chance = random.Random(seed)
    found: list[Example] = []
    for number in range(count):
        density, saturation = 0.25 * 2.0 ** (13 * number / count), chance.uniform(0.1, 1.0)
        watts = power_w(density, saturation, core_mhz) * (1.0 + noise * chance.gauss(0.0, 1.0))
        case = subject(density, saturation, core_mhz)
        found.append(Example("law", f"b{number % 5}", "k", str(number), case, watts, None))
    return found


def fitted(data: list[Example]) -> TrainedRegression:
    return RegressionLearner().fit(tuple(data))


def coefficients(entry: ClockRegression) -> tuple[Coefficient, Coefficient, Coefficient]:
    return entry.beta_0_w, entry.beta_1_w, entry.beta_2


def test_the_law_is_found():
    (entry,) = fitted(runs(40, noise=0.0)).clocks
    assert [beta.value for beta in coefficients(entry)] == pytest.approx(BETA, rel=1e-5)


@pytest.mark.parametrize(("fall_w", "falling", "error"), [(10.0, False, 0.03), (30.0, True, 0.05)])
def test_the_better_of_two_minima_is_found(fall_w: float, falling: bool, error: float):
    """Watts fall steeply, then rise gently; eq. (4) can follow either, and each is a minimum."""
    data: list[Example] = []
    for run in runs(40, noise=0.0):
        density = run.subject.slices[0].arithmetic_density or 0.0
        data.append(replace(run, subject=subject(density), power_w=100.0 * density**0.03 + fall_w / density))
    (entry,) = fitted(data).clocks
    assert (entry.beta_2.value < 0) is falling
    assert entry.diagnostics.mean_absolute_error < error


@pytest.mark.slow
def test_confidence_intervals_hold_the_law_as_often_as_they_say():
    held = [0, 0, 0]
    for seed in range(200):
        (entry,) = fitted(runs(40, noise=0.05, seed=seed)).clocks
        for index, beta in enumerate(coefficients(entry)):
            assert beta.low is not None
            assert beta.high is not None
            held[index] += beta.low <= BETA[index] <= beta.high
    assert all(0.91 <= count / 200 <= 0.99 for count in held), held


@pytest.mark.parametrize("factor", [5.0, 0.2])
def test_a_gross_outlier_moves_little(factor: float):
    data = runs(40, noise=0.02)
    (clean,) = fitted(data).clocks
    data[20] = replace(data[20], power_w=factor * data[20].power_w)
    (spoilt,) = fitted(data).clocks
    for before, after in zip(coefficients(clean), coefficients(spoilt), strict=True):
        assert before.low is not None
        assert after.value == pytest.approx(before.value, abs=2 * (before.value - before.low))
    assert spoilt.diagnostics.normal is False
    assert clean.diagnostics.normal


def test_mixed_slices_are_fitted_by_their_weights():
    """Eq. (12), three statements in four in one slice: with other weights the law would not come back."""
    data: list[Example] = []
    for run in runs(40, noise=0.0):
        (part,) = run.subject.slices
        assert part.arithmetic_density is not None
        other = SliceSample("shared", 40.0 / part.arithmetic_density, 0.5 * part.sm_saturation, 3, 0.15)
        silent = SliceSample("register", None, part.sm_saturation, 3, 0.4)
        slices = (replace(part, weight=0.45), other, silent)
        beside_w = power_w(40.0 / part.arithmetic_density, other.sm_saturation, 1380.0)
        watts = 0.75 * run.power_w + 0.25 * beside_w
        data.append(replace(run, subject=replace(run.subject, slices=slices), power_w=watts))
    model = fitted(data)
    assert [beta.value for beta in coefficients(model.clocks[0])] == pytest.approx(BETA, rel=1e-5)
    assert model.domain.no_density_share_max == pytest.approx(0.4)


def test_one_set_for_each_clock():
    model = RegressionLearner().fit(examples(noise=0.0))
    assert [entry.core_mhz for entry in model.clocks] == [705.0, 1087.0, 1380.0]
    for entry in model.clocks:
        share = 0.4 + 0.6 * entry.core_mhz / 1380.0
        assert entry.beta_0_w.value == pytest.approx(60.0 * share, rel=1e-4)


def test_one_set_for_each_pair_of_clocks():
    data: list[Example] = []
    for memory_mhz, scale in ((GPU.memory_clock_mhz, 1.0), (400.0, 0.5)):
        for core_mhz in (700.0, 1380.0):
            for run in runs(10, noise=0.0, core_mhz=core_mhz):
                clocks = Clocks(core_mhz, memory_mhz)
                data.append(
                    replace(run, subject=replace(run.subject, clocks=clocks), power_w=scale * run.power_w)
                )
    model = fitted(data)
    pairs = [(entry.memory_mhz, entry.core_mhz) for entry in model.clocks]
    assert pairs == [(400.0, 700.0), (400.0, 1380.0), (GPU.memory_clock_mhz, 700.0), (876.0, 1380.0)]
    assert model.clocks[1].beta_0_w.value == pytest.approx(30.0, rel=1e-4)


def test_a_clock_with_few_runs_joins_its_neighbour():
    few = runs(LEAST_RUNS - 1, noise=0.0, core_mhz=1300.0)
    model = fitted([*runs(20, noise=0.0, core_mhz=700.0), *runs(20, noise=0.0), *few])
    assert [entry.diagnostics.runs for entry in model.clocks] == [20, 20 + len(few)]
    assert model.clocks[0].core_mhz == 700.0


def test_runs_without_clocks_make_one_set():
    data = [replace(run, subject=replace(run.subject, clocks=Clocks())) for run in runs(20, noise=0.0)]
    (entry,) = fitted(data).clocks
    assert (entry.core_mhz, entry.memory_mhz) == (GPU.boost_clock_mhz, None)


def test_runs_that_set_no_memory_clock_ran_at_the_highest():
    """Ten of forty say none, all at one core clock: still one memory clock, not two."""
    known = [replace(run, subject=replace(run.subject, clocks=Clocks(700.0, 800.0))) for run in runs(30, 0.0)]
    unset = [replace(run, subject=replace(run.subject, clocks=Clocks(1000.0))) for run in runs(10, 0.0)]
    model = fitted(known + unset)
    assert [(entry.core_mhz, entry.memory_mhz) for entry in model.clocks] == [(700.0, 800.0), (1000.0, 800.0)]


def test_a_density_of_zero_at_another_clock():
    """Falling watts (beta_2 < 0) at 1380 MHz, where no run had it; at 700 MHz some had."""
    falling = [
        replace(run, power_w=100.0 * (run.subject.slices[0].arithmetic_density or 0.0) ** -0.1)
        for run in runs(20, noise=0.0)
    ]
    zero = [replace(run, subject=subject(0.0, 0.5, 700.0), power_w=50.0) for run in runs(10, noise=0.0)]
    model = fitted(falling + zero)
    assert model.clocks[1].beta_2.value == pytest.approx(-0.1, rel=1e-3)
    assert model.predict(subject(0.0)).power_w == pytest.approx(100.0 * 0.25**-0.1, rel=1e-3)


def test_a_coefficient_at_its_bound_has_no_interval():
    """Watts that follow the saturation alone: nothing is left for density."""
    data = [replace(run, power_w=50.0 * run.subject.slices[0].sm_saturation) for run in runs(40, noise=0.0)]
    (entry,) = fitted(data).clocks
    assert entry.beta_0_w.value == pytest.approx(50.0, rel=1e-3)
    assert entry.beta_1_w.value == pytest.approx(0.0, abs=0.05)
    assert (entry.beta_1_w.low, entry.beta_2.low) == (None, None)


def test_what_one_density_does_not_determine_has_no_interval():
    data = [replace(run, subject=subject(8.0, run.subject.slices[0].sm_saturation)) for run in runs(20, 0.02)]
    (entry,) = fitted(data).clocks
    assert entry.beta_2.low is None


def test_a_form_that_misses_something_is_not_independent():
    """A step in the middle of the densities: neighbours err alike, in whatever order the runs come."""
    data = runs(60, noise=0.02)
    for number in range(20, 40):
        data[number] = replace(data[number], power_w=1.1 * data[number].power_w)
    chance = random.Random(1)
    shuffled = [replace(run, benchmark=str(chance.random())) for run in chance.sample(data, len(data))]
    (entry,) = fitted(shuffled).clocks
    assert entry.diagnostics.independent is False


def test_runs_without_density_are_left_out_and_counted():
    silent = SliceSample("register", None, 1.0, 12, 1.0)
    data = runs(20, noise=0.0)
    lost = [replace(run, subject=replace(run.subject, slices=(silent,))) for run in data[:3]]
    assert fitted(data + lost).runs_without_density == 3
    with pytest.raises(NotEnoughDataError, match=f"3 run.*at least {LEAST_RUNS}"):
        fitted(lost + data[:3])


def test_two_gpus_are_refused():
    other = replace(runs(1, 0.0)[0], subject=subject(1.0, gpu_id="gtx_1080_ti"))
    with pytest.raises(ValueError, match="gtx_1080_ti, v100_pcie: train the regression on one GPU at a time"):
        fitted([*runs(20, noise=0.0), other])
