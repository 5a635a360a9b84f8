"""The one contract of power models: examples in, a frozen model out, watts with an interval for a subject.

Every model (regression, wavelet network, energy model, constant mean) is learnt by a `Learner` from measured
`Example`s and answers for a `Subject` by `predict`. What a subject shows is static: counts, densities, launch
geometry, the GPU's catalogue entry and the clocks the user set; never a measurement.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct

from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu
from wattslice_models.types import Prediction
from wattslice_models.workload import ASSUMED_TRIPS, Workload


class ModelKind(StrEnum):
    """The models there are; the values are the names on the command line and in files."""

    MEAN = "mean"
    REGRESSION = "regression"
    WAVELET = "wavelet"
    ENERGY = "energy"


class RepeatedLaunch(Struct, frozen=True):
    """One launch of a timed iteration, made `repeat` times."""

    workload: Workload
    repeat: int = 1


class SliceSample(Struct, frozen=True):
    """One slice as the slice models of Wang & Chen 2013 see it.

    `arithmetic_density` Ã (eq. (2)), None when the slice touches no memory. `sm_saturation` Sa in (0, 1]
    (Def. 4). `code_lines`: effective logical statements, each once. `weight`: |C_i| / L, the share of the
    slice in the executed statements of all slices of the run (eq. (12)); the weights of a run add up to 1.
    """

    memory_space: str
    arithmetic_density: float | None
    sm_saturation: float
    code_lines: int
    weight: float


class Subject(Struct, frozen=True):
    """One timed iteration of a program on a GPU at given clocks, as any model may see it.

    `launches`: at least one. `slices`: of all launches together; empty when nobody computed them.
    """

    gpu: Gpu
    clocks: Clocks
    launches: tuple[RepeatedLaunch, ...]
    slices: tuple[SliceSample, ...] = ()


class Example(Struct, frozen=True):
    """A subject whose average board power was measured. `time_s`: of one iteration, None when unknown.

    Rows of one `benchmark` are never split between training and test: they are one piece of evidence.
    """

    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    subject: Subject
    power_w: float
    time_s: float | None

    def __post_init__(self) -> None:
        if self.power_w <= 0 or (self.time_s is not None and self.time_s <= 0):
            raise ValueError(f"{self.benchmark}: watts and seconds must be positive")

    @property
    def doubt(self) -> str:
        """Why counts or bytes of one of its workloads are not to be trusted, else empty."""
        return next((part.workload.doubt for part in self.subject.launches if part.workload.doubt), "")

    @property
    def known_time_s(self) -> float | None:
        """The measured time of launches whose counts are known; None: there is nothing to hold it against."""
        return None if self.doubt == ASSUMED_TRIPS else self.time_s


LIKELY = 0.61
"""Part of the (logarithmic) way to the upper end of a 90 % interval that one standard deviation is."""


def may_reach(limit_w: float, power_w: float, high_w: float) -> bool:
    """Whether watts of which 19 in 20 stay below `high_w` reach the limit in one case of six or more.

    A limit that the far end of a wide interval touches is no warning.
    """
    return power_w > 0 and power_w * (high_w / power_w) ** LIKELY >= limit_w


class Interval(Struct, frozen=True):
    """A range of measured / predicted watts, and what it may claim.

    `low` <= 1 <= `high`. `coverage`: the share of kernels it is meant to hold, in (0, 1).
    """

    low: float
    high: float
    coverage: float
    source: str

    def __post_init__(self) -> None:
        if not (0 < self.low <= 1 <= self.high and 0 < self.coverage < 1 and self.source):
            raise ValueError(f"not an interval around a prediction: {self}")

    def around(self, power_w: float, *, in_domain: bool, notes: tuple[str, ...] = ()) -> Prediction:
        """The prediction `power_w` with this interval, clipped nowhere."""
        return Prediction(power_w, power_w * self.low, power_w * self.high, self.source, in_domain, notes)


UNCALIBRATED = Interval(0.5, 2.0, 0.5, "not calibrated: nothing was held out")


class PowerModel(Protocol):
    """A trained model. Frozen; every number in it reads back exactly from its file."""

    @property
    def kind(self) -> ModelKind:
        """Which model this is."""
        ...

    @property
    def interval(self) -> Interval:
        """The interval around its predictions."""
        ...

    def with_interval(self, interval: Interval) -> PowerModel:
        """The same model with another interval, once cross-validation has found it."""
        ...

    def predict(self, subject: Subject) -> Prediction:
        """Watts of a subject; unknown, with the reason, for one that this model cannot speak about.

        `in_trained_domain` is False, and a note says why, when the subject lies outside what was trained on.
        """
        ...


class NotEnoughDataError(ValueError):
    """Too few examples, or too few benchmarks to leave one out; the message names the number needed."""


class Learner(Protocol):
    """Learns one kind of model. Deterministic for a seed."""

    @property
    def kind(self) -> ModelKind:
        """What it learns."""
        ...

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> PowerModel:
        """The model of `examples`, with an interval that promises nothing yet (see cross_validation).

        Raises `NotEnoughDataError`.
        """
        ...
