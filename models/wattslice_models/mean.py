"""Means that know nothing of a kernel: what every model has to beat."""

from __future__ import annotations

import statistics

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import UNCALIBRATED, Example, Interval, ModelKind, NotEnoughDataError, Subject
from wattslice_models.execution_time import core_clock_mhz, memory_clock_scale
from wattslice_models.types import Prediction


class MeanModel(Struct, frozen=True):
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


class MeanLearner(Struct, frozen=True):
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


class ClockMean(Struct, frozen=True):
    """Mean watts on one GPU at a core clock and a memory clock; `memory_scale`: relative to the full one."""

    gpu_id: str
    core_mhz: float
    memory_scale: float
    power_w: float

    def distance(self, gpu_id: str, core_mhz: float, memory_scale: float) -> tuple[bool, float, float]:
        """Orders clocks by how near they are: the GPU first, then the memory, then the core."""
        return (self.gpu_id != gpu_id, abs(self.memory_scale - memory_scale), abs(self.core_mhz - core_mhz))


class ClockMeanModel(Struct, frozen=True):
    """Predicts the mean watts at the nearest measured clocks for every kernel."""

    clocks: tuple[ClockMean, ...]
    interval: Interval

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.MEAN`"""
        return ModelKind.MEAN

    def with_interval(self, interval: Interval) -> ClockMeanModel:
        """The same means with another interval."""
        return replace(self, interval=interval)

    def predict(self, subject: Subject) -> Prediction:
        """The mean at the nearest clocks, whatever the kernel."""
        place = _place(subject)
        nearest = min(self.clocks, key=lambda known: known.distance(*place))
        return self.interval.around(nearest.power_w, in_domain=True)


class ClockMeanLearner(Struct, frozen=True):
    """Learns the mean at each pair of clocks: what is left to a model is to tell kernels apart."""

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.MEAN`"""
        return ModelKind.MEAN

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> ClockMeanModel:
        """The mean of the watts at each pair of clocks. Raises `NotEnoughDataError` for no example."""
        if not examples:
            raise NotEnoughDataError("no example: at least 1 is needed")
        watts: dict[tuple[str, float, float], list[float]] = {}
        for example in examples:
            watts.setdefault(_place(example.subject), []).append(example.power_w)
        means = (ClockMean(*place, statistics.fmean(here)) for place, here in sorted(watts.items()))
        return ClockMeanModel(tuple(means), UNCALIBRATED)


def _place(subject: Subject) -> tuple[str, float, float]:
    gpu, clocks = subject.gpu, subject.clocks
    return gpu.id, core_clock_mhz(gpu, clocks), memory_clock_scale(gpu, clocks)
