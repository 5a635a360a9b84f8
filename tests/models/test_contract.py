"""What every model must do, whatever it is made of."""

import dataclasses
import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from wattslice_models.contract import Example, Interval, Learner, ModelKind, NotEnoughDataError
from wattslice_models.frozen_json import decoded, dumps
from wattslice_models.learners import ENTRIES, MissingPackageError, learner

from .model_examples import examples, subject


def learners(*without: ModelKind) -> Iterator[Any]:
    for entry in (entry for entry in ENTRIES if entry.kind not in without):
        try:
            yield pytest.param(learner(entry), id=entry.name)
        except MissingPackageError as error:
            yield pytest.param(None, id=entry.name, marks=pytest.mark.skip(str(error)))


def but(*without: ModelKind) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("learner", tuple(learners(*without)))


each_learner = but()


@pytest.fixture(scope="module")
def data() -> tuple[Example, ...]:
    return examples()


@each_learner
def test_a_model_predicts_watts_in_an_interval(learner: Learner, data: tuple[Example, ...]):
    model = learner.fit(data).with_interval(Interval(0.8, 1.3, 0.9, "a test"))
    assert model.kind is learner.kind
    for example in data[::7]:
        prediction = model.predict(example.subject)
        assert prediction.power_w is not None
        assert math.isfinite(prediction.power_w)
        assert prediction.power_w > 0
        assert prediction.power_low_w == pytest.approx(0.8 * prediction.power_w)
        limit_w = example.subject.gpu.power_limit_w
        assert prediction.power_high_w in (pytest.approx(1.3 * prediction.power_w), limit_w)
        assert prediction.interval_source == "a test"


@each_learner
def test_a_model_is_frozen(learner: Learner, data: tuple[Example, ...]):
    model = learner.fit(data)
    name = dataclasses.fields(model)[0].name  # pyright: ignore[reportArgumentType]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(model, name, None)


@each_learner
def test_a_model_reads_back_exactly(learner: Learner, data: tuple[Example, ...]):
    model = learner.fit(data)
    assert decoded(type(model), json.loads(dumps(model))) == model


@each_learner
def test_the_same_seed_learns_the_same_model(learner: Learner, data: tuple[Example, ...]):
    assert learner.fit(data, seed=3) == learner.fit(data, seed=3)


@each_learner
def test_no_data_is_an_error(learner: Learner):
    with pytest.raises(NotEnoughDataError):
        learner.fit(())


@but(ModelKind.ENERGY)  # joules per operation have another law: test_energy_fit.py
def test_a_model_learns_the_law(learner: Learner, data: tuple[Example, ...]):
    """All but the mean come within 10 % of a law of the published form."""
    model = learner.fit(data)
    errors = [abs((model.predict(example.subject).power_w or 0.0) / example.power_w - 1) for example in data]
    bound = 0.6 if learner.kind is ModelKind.MEAN else 0.10
    assert sum(errors) / len(errors) < bound


@but(ModelKind.MEAN, ModelKind.ENERGY)  # to joules per operation, more of the same is no news
def test_a_subject_far_from_the_training_data_says_so(learner: Learner, data: tuple[Example, ...]):
    near = learner.fit(data).predict(data[0].subject)
    far = learner.fit(data).predict(subject(density=1e6))
    assert near.in_trained_domain
    assert not far.in_trained_domain
    assert far.notes


@but(ModelKind.MEAN)
def test_a_clock_never_measured_says_so(learner: Learner, data: tuple[Example, ...]):
    model = learner.fit(data)
    assert model.predict(data[0].subject).in_trained_domain
    far = model.predict(subject(density=4.0, core_mhz=2600.0))
    assert not far.in_trained_domain
    assert far.notes
