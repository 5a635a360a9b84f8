"""Fits time parameters to measured seconds, of one GPU or of several together. Needs numpy and scipy."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.contract import Example, Subject
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    TimeParameters,
    core_clock_mhz,
    predict_time,
)

Array = NDArray[np.float64]
_scipy: Any = optimize  # scipy has no types


ERROR_SCALE = 0.1
"""Relative error from which on a run counts less."""


class TimePrior(NamedTuple):
    """A fitted time parameter: standard deviation of its logarithm around the default, lowest, highest."""

    name: str
    deviation: float
    low: float
    high: float


TIME_PRIORS = (
    TimePrior("launch_overhead_s", 1.0, 1e-6, 2e-5),
    TimePrior("dram_share", 0.05, 0.8, 1.05),
    TimePrior("l2_share", 0.1, 0.7, 1.1),
    TimePrior("issue_share", 0.05, 0.75, 1.0),
    TimePrior("overlap", 0.25, 1.5, 12.0),
    TimePrior("latency_share", 0.2, 0.4, 2.5),
)


class TimedRow(Struct, frozen=True):
    """An example whose time is known."""

    example: Example
    time_s: float

    @property
    def core_mhz(self) -> float:
        """The core clock it ran at."""
        return core_clock_mhz(self.example.subject.gpu, self.example.subject.clocks)


def fit_time(rows: tuple[TimedRow, ...]) -> TimeParameters:
    """Time parameters that make the logarithms of predicted and measured times agree best.

    Cauchy's loss: some programs take twice the time that any parameters explain (mixbench on doubles), and
    must not bend the others. Runs of one program at ten clocks are one piece of evidence; each parameter is
    held near its default by `TIME_PRIORS`.
    """
    names = [prior.name for prior in TIME_PRIORS]
    start = np.array([getattr(DEFAULT_TIME_PARAMETERS, name) for name in names])
    lower, upper = (
        np.log(np.array(ends) / start) for ends in zip(*((p.low, p.high) for p in TIME_PRIORS), strict=True)
    )
    deviations = np.array([prior.deviation for prior in TIME_PRIORS])
    measured = np.log([row.time_s for row in rows])
    programs = Counter(_program(row) for row in rows)
    weights = np.array([programs[_program(row)] ** -0.5 for row in rows])

    def parameters(logs: Array) -> TimeParameters:
        values = {name: float(value) for name, value in zip(names, start * np.exp(logs), strict=True)}
        return replace(DEFAULT_TIME_PARAMETERS, **values)

    def errors(logs: Array) -> Array:
        trial = parameters(logs)
        off = (np.log([subject_time_s(row.example.subject, trial) for row in rows]) - measured) / ERROR_SCALE
        return np.concatenate([weights * np.sign(off) * np.sqrt(np.log1p(off**2)), logs / deviations])

    found = _scipy.least_squares(
        errors, np.zeros(len(names)), bounds=(lower, upper), diff_step=0.02, max_nfev=40
    )
    return parameters(cast("Array", found.x))


def subject_time_s(subject: Subject, parameters: TimeParameters) -> float:
    """Seconds of all launches of one iteration."""
    return sum(
        launch.repeat * predict_time(launch.workload, subject.gpu, subject.clocks, parameters).time_s
        for launch in subject.launches
    )


def _program(row: TimedRow) -> tuple[str, str, str, str]:
    example = row.example
    return example.subject.gpu.id, example.benchmark, example.kernel, example.arguments
