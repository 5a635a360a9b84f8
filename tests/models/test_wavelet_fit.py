import itertools
import math
import random

import pytest
from msgspec.structs import replace

from wattslice_models.contract import Example, NotEnoughDataError, SliceSample, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu
from wattslice_models.wavelet_inputs import NumberedGpus
from wattslice_models.wavelet_network import WaveletModel, network_output

from .model_examples import GPU, examples, subject

torch = pytest.importorskip("torch")

from wattslice_models import wavelet_fit  # noqa: E402
from wattslice_models.wavelet_descent import Networks, Runs, descent  # noqa: E402
from wattslice_models.wavelet_fit import WaveletLearner, frozen_wavelons, held_out_runs  # noqa: E402

both_variants = pytest.mark.parametrize("learner", [WaveletLearner(), WaveletLearner(numbered_gpus=True)])


def shares(*slices: tuple[float, float], gpu_id: str = GPU.id, relative_clock: float = 1.0) -> Subject:
    """A run of slices given as density and weight."""
    gpu = load_gpu(gpu_id)
    parts = tuple(SliceSample("global", density, 1.0, 12, weight) for density, weight in slices)
    clocks = Clocks(relative_clock * gpu.boost_clock_mhz, None)
    return replace(subject(1.0), gpu=gpu, clocks=clocks, slices=parts)


def measured(benchmark: str, what: Subject, power_w: float) -> Example:
    return Example("law", benchmark, "k", "", what, power_w, None)


def slice_w(density: float) -> float:
    return 60.0 + 30.0 * math.log2(1 + density)


@pytest.fixture(scope="module")
def mixtures() -> tuple[Example, ...]:
    """Runs of two slices, of which only the mixture is measured."""
    chance = random.Random(4)
    runs = [((2 ** chance.uniform(0, 6), 2 ** chance.uniform(0, 6)), chance.random()) for _ in range(60)]
    return tuple(
        measured(
            f"b{number % 6}",
            shares((first, share), (second, 1 - share)),
            share * slice_w(first) + (1 - share) * slice_w(second),
        )
        for number, ((first, second), share) in enumerate(runs)
    )


def small_runs() -> Runs:
    """Twelve runs of four benchmarks, two inputs, two settings of one GPU."""
    chance = torch.Generator().manual_seed(1)
    return Runs(
        inputs=torch.rand(12, 2, generator=chance, dtype=torch.float64),
        of_board=torch.tensor([False, False]),
        point=torch.arange(12),
        run=torch.arange(12),
        share=torch.ones(12, dtype=torch.float64),
        log_power=torch.rand(12, generator=chance, dtype=torch.float64),
        benchmark=torch.arange(12) // 3,
        setting=torch.arange(12) % 2,
        reference=torch.tensor([0, 0]),
    )


def after(steps: int, runs: Runs) -> Networks:
    return next(itertools.islice(descent(runs, held_out_runs(runs, 0), 0), steps, None))[1].copied()


@pytest.mark.slow
def test_plain_numbers_are_those_of_torch():
    runs = small_runs()
    networks = after(50, runs)
    inputs = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2)) * 4 - 2
    inputs.requires_grad_()
    answers = networks.answers(inputs.unsqueeze(0))[-1]
    (gradients,) = torch.autograd.grad(answers.sum(), inputs)
    wavelons = frozen_wavelons(networks, -1)
    assert len(wavelons) == 11
    for row, answer, gradient in zip(inputs.tolist(), answers.tolist(), gradients.tolist(), strict=True):
        assert network_output(wavelons, tuple(row)) == pytest.approx(answer, abs=1e-12)
        ahead, behind = (network_output(wavelons, (row[0] + step, row[1])) for step in (1e-5, -1e-5))
        assert (ahead - behind) / 2e-5 == pytest.approx(gradient[0], abs=1e-6)


@both_variants
def test_the_frozen_model_predicts_what_was_trained(
    learner: WaveletLearner, mixtures: tuple[Example, ...], monkeypatch: pytest.MonkeyPatch
):
    trained: list[tuple[Runs, Networks]] = []

    def spy(runs: Runs, seed: int) -> tuple[int, float, Networks]:
        found = stopped_early(runs, seed)
        trained.append((runs, found[2]))
        return found

    stopped_early = wavelet_fit._stopped_early
    monkeypatch.setattr(wavelet_fit, "_stopped_early", spy)
    monkeypatch.setattr(wavelet_fit, "STEPS", 100)
    data = (
        *mixtures,
        *(
            measured(one.benchmark, replace(one.subject, clocks=Clocks(700.0)), 0.6 * one.power_w)
            for one in mixtures
        ),
    )
    model = learner.fit(data)
    runs, networks = trained[0]
    logs = networks.log_power(networks.scaled(runs.inputs), runs)[-1].tolist()
    unit_w = 1.0 if learner.numbered_gpus else GPU.power_limit_w or 0.0
    for example, log_units in zip(data, logs, strict=True):
        assert model.predict(example.subject).power_w == pytest.approx(
            math.exp(log_units) * unit_w, rel=1e-12
        )


@both_variants
@pytest.mark.slow
def test_slices_are_learnt_from_mixtures(learner: WaveletLearner, mixtures: tuple[Example, ...]):
    model = learner.fit(mixtures)
    for density in (3.0, 8.0, 30.0):
        assert model.predict(shares((density, 1.0))).power_w == pytest.approx(slice_w(density), rel=0.05)


def test_a_network_never_sees_what_it_holds_out():
    runs = small_runs()
    held_out = held_out_runs(runs, 0)
    assert held_out.sum(0).tolist() == [1] * 12  # every run in one network
    assert not held_out[-1].any()
    assert all(len(runs.benchmark[row].unique()) == 1 for row in held_out[:-1])
    spoilt_rows = held_out[1]
    spoilt = replace(
        runs,
        log_power=torch.where(spoilt_rows, runs.log_power + 5.0, runs.log_power),
        inputs=torch.where(spoilt_rows.unsqueeze(1), runs.inputs * 100.0, runs.inputs),
    )
    for clean, other in zip(after(30, runs).moved, after(30, spoilt).moved, strict=True):
        assert torch.equal(clean[1], other[1])
        assert not torch.equal(clean[0], other[0])


@pytest.mark.slow
def test_training_stops_where_held_out_benchmarks_are_predicted_best():
    runs = small_runs()
    steps, error, networks = wavelet_fit._stopped_early(runs, 0)
    until = steps + wavelet_fit.PATIENCE + 1
    errors = [error for error, _ in itertools.islice(descent(runs, held_out_runs(runs, 0), 0), until)]
    assert 0 < steps < wavelet_fit.STEPS
    assert error == errors[steps]
    assert min(errors) >= wavelet_fit.BETTER * error
    for kept, then in zip(networks.moved, after(steps, runs).moved, strict=True):
        assert torch.equal(kept, then)


def test_benchmarks_count_alike_however_many_rows_they_have():
    """Two benchmarks contradict each other, nine rows against two: the answer lies halfway."""
    many = tuple(measured("many", shares((d, 1.0)), 100.0) for d in range(1, 10))
    few = tuple(measured("few", shares((d, 1.0)), 200.0) for d in (4.0, 5.0))
    assert WaveletLearner().fit((*many, *few)).log_power_mean == pytest.approx(
        math.log(math.sqrt(100.0 * 200.0) / (GPU.power_limit_w or 0.0))
    )


@pytest.mark.slow
def test_clocks_of_numbered_gpus_become_factors():
    data = examples(noise=0.0)
    model = WaveletLearner(numbered_gpus=True).fit(data)
    assert isinstance(model.gpus, NumberedGpus)
    found = {entry.core_mhz: entry.factor for entry in model.gpus.clock_factors}
    for core_mhz in (705.0, 1087.0, 1380.0):
        assert found[core_mhz] == pytest.approx(0.4 + 0.6 * core_mhz / 1380.0, rel=0.02)
    assert len(model.inputs) == 4


@pytest.mark.slow
def test_a_gpu_never_measured_is_judged_by_its_catalogue_numbers():
    def relative(density: float, clock: float) -> float:
        return (0.3 + 0.1 * math.log2(1 + density)) * (0.4 + 0.6 * clock)

    data = tuple(
        measured(
            f"b{number}",
            shares((density, 1.0), gpu_id=gpu_id, relative_clock=clock),
            relative(density, clock) * (load_gpu(gpu_id).power_limit_w or 0.0),
        )
        for number in range(4)
        for density in (1.0 + number, 8.0 + number, 40.0 + number)
        for clock in (0.6, 0.8, 1.0)
        for gpu_id in ("v100_pcie", "quadro_rtx_8000", "gtx_1080_ti")
    )
    model = WaveletLearner().fit(data)
    unseen = shares((10.0, 1.0), gpu_id="t4", relative_clock=0.9)
    prediction = model.predict(unseen)
    assert prediction.power_w == pytest.approx(relative(10.0, 0.9) * 70.0, rel=0.15)
    assert not prediction.in_trained_domain
    assert any(note.startswith("peak fp32 rate per watt") for note in prediction.notes)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            tuple(one for one in examples() if one.benchmark == "b0"),
            "36 examples with slices, of 1 benchmarks",
        ),
        (examples()[:5] + examples()[-5:], "10 examples"),
        (tuple(replace(one, subject=replace(one.subject, slices=())) for one in examples()), "0 examples"),
    ],
)
def test_too_little_data_names_what_is_needed(data: tuple[Example, ...], message: str):
    with pytest.raises(NotEnoughDataError, match=f"{message}.*at least 11, of 2 benchmarks"):
        WaveletLearner().fit(data)


@pytest.mark.slow
def test_numbered_gpus_need_benchmarks_at_the_same_clocks():
    data = tuple(
        measured(f"b{number}", shares((density, 1.0), relative_clock=0.5 + number / 10), 100.0 + density)
        for number in range(4)
        for density in range(1, 5)
    )
    with pytest.raises(NotEnoughDataError, match="no two benchmarks share a GPU at the same clocks"):
        WaveletLearner(numbered_gpus=True).fit(data)
    assert WaveletLearner().fit(data).held_out_error > 0


@both_variants
def test_inputs_and_watts_that_never_vary_are_no_trouble(learner: WaveletLearner):
    data = tuple(measured(f"b{number % 3}", shares((5.0, 1.0)), 120.0) for number in range(12))
    assert learner.fit(data).predict(data[0].subject).power_w == pytest.approx(120.0)


@pytest.mark.slow
def test_training_leaves_the_settings_of_torch_alone(mixtures: tuple[Example, ...]):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        WaveletLearner().fit(mixtures[:24])
        assert torch.get_num_threads() == 2
        assert not torch.are_deterministic_algorithms_enabled()
    finally:
        torch.set_num_threads(threads)


@pytest.mark.slow
def test_every_training_example_is_in_the_trained_domain(mixtures: tuple[Example, ...]):
    model: WaveletModel = WaveletLearner().fit(mixtures)
    assert all(model.predict(example.subject).in_trained_domain for example in mixtures)
