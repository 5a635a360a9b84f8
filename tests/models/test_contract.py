"""What every model must do, whatever it is made of."""

import json
import math

import pytest
from msgspec import Struct

from wattslice_models.contract import Example, Interval, Learner, ModelKind, NotEnoughDataError, PowerModel
from wattslice_models.frozen_json import decoded, dumps
from wattslice_models.learners import ENTRIES, MissingPackageError
from wattslice_models.learners import learner as learner_of

from .model_examples import examples, subject


def but(*without: ModelKind) -> pytest.MarkDecorator:
    entries = [entry for entry in ENTRIES if entry.kind not in without]
    return pytest.mark.parametrize("learner", entries, indirect=True, ids=lambda entry: entry.name)


each_learner = but()


@pytest.fixture(scope="module")
def learner(request: pytest.FixtureRequest) -> Learner:
    try:
        return learner_of(request.param)
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def data() -> tuple[Example, ...]:
    return tuple(
        example for number, example in enumerate(examples()) if number // 3 % 2
    )  # half of the kernels


@pytest.fixture(scope="module")
def model(learner: Learner, data: tuple[Example, ...]) -> PowerModel:
    """What the learner makes of the data: learnt once, as models do not change."""
    with pytest.MonkeyPatch.context() as patch:
        if learner.kind is ModelKind.WAVELET:
            patch.setattr("wattslice_models.wavelet_fit.STEPS", 200)
        return learner.fit(data)


@pytest.mark.slow
@each_learner
def test_a_model_predicts_watts_in_an_interval(
    learner: Learner, model: PowerModel, data: tuple[Example, ...]
):
    model = model.with_interval(Interval(0.8, 1.3, 0.9, "a test"))
    assert model.kind is learner.kind
    for example in data[::7]:
        prediction = model.predict(example.subject)
        assert prediction.power_w is not None
        assert math.isfinite(prediction.power_w)
        assert prediction.power_w > 0
        assert prediction.power_low_w == pytest.approx(0.8 * prediction.power_w)
        limit_w, high_w = example.subject.gpu.power_limit_w, prediction.power_high_w
        assert limit_w is not None
        assert high_w is not None
        assert high_w == pytest.approx(1.3 * prediction.power_w) or (
            0.9 * limit_w < high_w < min(1.3 * prediction.power_w, 1.05 * limit_w)
        )
        assert prediction.interval_source == "a test"


@each_learner
def test_a_model_is_frozen(model: PowerModel):
    assert isinstance(model, Struct)
    name = model.__struct_fields__[0]
    with pytest.raises(AttributeError, match="immutable"):
        setattr(model, name, None)


@each_learner
def test_a_model_reads_back_exactly(model: PowerModel):
    assert decoded(type(model), json.loads(dumps(model))) == model


@each_learner
@pytest.mark.slow
def test_the_same_seed_learns_the_same_model(learner: Learner, data: tuple[Example, ...]):
    assert learner.fit(data, seed=3) == learner.fit(data, seed=3)


@each_learner
def test_no_data_is_an_error(learner: Learner):
    with pytest.raises(NotEnoughDataError):
        learner.fit(())


@but(ModelKind.ENERGY)  # joules per operation have another law: test_energy_fit.py
def test_a_model_learns_the_law(learner: Learner, model: PowerModel, data: tuple[Example, ...]):
    """All but the mean come within 10 % of a law of the published form."""
    errors = [abs((model.predict(example.subject).power_w or 0.0) / example.power_w - 1) for example in data]
    bound = 0.6 if learner.kind is ModelKind.MEAN else 0.10
    assert sum(errors) / len(errors) < bound


@but(ModelKind.MEAN, ModelKind.ENERGY)  # to joules per operation, more of the same is no news
def test_a_subject_far_from_the_training_data_says_so(model: PowerModel, data: tuple[Example, ...]):
    near = model.predict(data[0].subject)
    far = model.predict(subject(density=1e6))
    assert near.in_trained_domain
    assert not far.in_trained_domain
    assert far.notes


@but(ModelKind.MEAN)
def test_a_clock_never_measured_says_so(model: PowerModel, data: tuple[Example, ...]):
    assert model.predict(data[0].subject).in_trained_domain
    far = model.predict(subject(density=4.0, core_mhz=200.0))
    assert not far.in_trained_domain
    assert far.notes
