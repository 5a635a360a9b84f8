"""The constant mean: what every model has to beat."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, replace

from wattslice_models.contract import UNCALIBRATED, Example, Interval, ModelKind, NotEnoughDataError, Subject
from wattslice_models.types import Prediction


@dataclass(frozen=True, slots=True)
class MeanModel:
    """Predicts the mean watts of the training examples for everything."""

    power_w: float
    interval: Interval

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.MEAN`"""
        return ModelKind.MEAN

    def with_interval(self, interval: Interval) -> MeanModel:
        """The same mean with another interval."""
        return replace(self, interval=interval)

    def predict(self, subject: Subject) -> Prediction:
        """The mean, whatever the subject."""
        return self.interval.around(self.power_w, in_domain=True)


@dataclass(frozen=True, slots=True)
class MeanLearner:
    """Learns the mean."""

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.MEAN`"""
        return ModelKind.MEAN

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> MeanModel:
        """The mean of the watts. Raises `NotEnoughDataError` for no example."""
        if not examples:
            raise NotEnoughDataError("no example: at least 1 is needed")
        power_w = statistics.fmean(example.power_w for example in examples)
        return MeanModel(power_w, UNCALIBRATED)
