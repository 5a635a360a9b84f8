"""Hardware counters as a predictor of watts: what a model could know at best that may run the kernel.

Runs of the committed tables have shares of activity that DCGM counted. `with_counters` puts their scores
beside those of the models.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice.training.evaluation import RUN, RUN_OF_EXAMPLE, GpuEvaluation, Protocol, Score, compared
from wattslice.training.examples import examples
from wattslice.training.judging import judge, judge_held_out
from wattslice_corpora.records import Use, read_utilisation, utilisation_path
from wattslice_models.contract import UNCALIBRATED, Example, Interval, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut, calibrated_interval
from wattslice_models.gpu import Gpu
from wattslice_models.learners import MissingPackageError, package_of
from wattslice_models.types import Prediction

COUNTERS_TITLE = "DCGM counters of the same run"
_SCORE = partial(Score, "counters", COUNTERS_TITLE, source_only=False)


def with_counters(found: GpuEvaluation) -> GpuEvaluation:
    """The evaluation with counters in the protocols that leave something out."""
    training = counted(examples(found.gpu, Use.TRAINING).examples, found.gpu)
    protocols = (_with_counters(protocol, training, found.gpu) for protocol in found.protocols)
    return replace(found, protocols=tuple(protocols))


def _with_counters(protocol: Protocol, training: tuple[Counted, ...], gpu: Gpu) -> Protocol:
    scores, absent = protocol.scores, protocol.absent
    asked = counted([one.example for one in scores[0].predicted], gpu)  # a mean is asked about all runs
    try:
        if protocol.title.startswith("Leave") and asked:
            held_out = counters_held_out(asked)
            scores += (_SCORE("coefficients of the others", held_out, judge_held_out(held_out)),)
        elif protocol.title.startswith("Trained before") and training and asked:
            model = calibrated(training)
            predicted = tuple(HeldOut(run.example, model.predict(run)) for run in asked)
            scores += (_SCORE("coefficients of the training runs", predicted, judge(predicted)),)
        elif protocol.title.startswith("Trained before"):
            absent += (f"{COUNTERS_TITLE}: not recorded",)
    except MissingPackageError as error:
        absent += (f"{COUNTERS_TITLE}: {error}",)
    return replace(protocol, scores=compared(scores), absent=absent)


_COLUMNS = (
    "sm_active",
    "sm_occupancy",
    "dram_active",
    "fp32_active",
    "fp64_active",
    "fp16_active",
    "tensor_active",
)
_Clocks = tuple[float | None, float | None]


class Counted(Struct, frozen=True):
    """A measured run and the utilisations counted in it, in the order of the table's columns."""

    example: Example
    utilisations: tuple[float, ...]

    @property
    def clocks(self) -> _Clocks:
        """Core and memory clock, MHz."""
        clocks = self.example.subject.clocks
        return clocks.core_mhz, clocks.memory_mhz


class CounterModel(Struct, frozen=True):
    """Watts at the clocks of the training runs: a constant, then one coefficient for each utilisation."""

    coefficients: dict[_Clocks, tuple[float, ...]]
    interval: Interval

    def predict(self, run: Counted) -> Prediction:
        """Watts of a run; unknown at a clock that no training run had."""
        known = self.coefficients.get(run.clocks)
        if known is None:
            return Prediction.unknown("no training run at these clocks")
        power_w = sum(c * u for c, u in zip(known, (1.0, *run.utilisations), strict=True))
        return self.interval.around(power_w, in_domain=True)


def counted(examples: Sequence[Example], gpu: Gpu) -> tuple[Counted, ...]:
    """The examples of which all utilisations were recorded; none for a GPU without such a table.

    Raises `RecordError`.
    """
    path = utilisation_path(gpu.id)
    if not path.is_file():
        return ()
    rows: dict[tuple[object, ...], tuple[float, ...]] = {}
    for row in read_utilisation(path):
        values = tuple(getattr(row, column) for column in _COLUMNS)
        if None not in values:
            rows[RUN(row)] = values
    found = ((example, rows.get(RUN_OF_EXAMPLE(example))) for example in examples)
    return tuple(Counted(example, values) for example, values in found if values is not None)


def fit(runs: Sequence[Counted]) -> CounterModel:
    """The coefficients at each pair of clocks, uncalibrated.

    Raises `NotEnoughDataError` without any run, `MissingPackageError` without scipy.
    """
    least_squares = _non_negative_least_squares()
    if not runs:
        raise NotEnoughDataError("no run with counters: at least 1 is needed")
    by_clock: dict[_Clocks, list[Counted]] = {}
    for run in runs:
        by_clock.setdefault(run.clocks, []).append(run)
    coefficients: dict[_Clocks, tuple[float, ...]] = {}
    for clocks, here in by_clock.items():
        columns = np.array([(1.0, *run.utilisations) for run in here])
        watts = np.array([run.example.power_w for run in here])
        found = least_squares(columns / watts[:, None], np.ones(len(here)))[0]
        coefficients[clocks] = tuple(float(value) for value in found)
    return CounterModel(coefficients, UNCALIBRATED)


def _non_negative_least_squares() -> Any:  # noqa: ANN401  (scipy has no types)
    try:
        from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]
    except ModuleNotFoundError as error:
        raise MissingPackageError("fitting them", package_of(error)) from None
    untyped: Any = optimize
    return untyped.nnls


def counters_held_out(runs: Sequence[Counted]) -> tuple[HeldOut, ...]:
    """Every run, predicted with its benchmark left out. Raises `NotEnoughDataError` with fewer than two."""
    benchmarks = dict.fromkeys(run.example.benchmark for run in runs)
    if len(benchmarks) < 2:
        raise NotEnoughDataError(f"{len(benchmarks)} benchmark(s): at least 2 are needed to leave one out")
    models = {
        benchmark: fit([run for run in runs if run.example.benchmark != benchmark])
        for benchmark in benchmarks
    }
    return tuple(HeldOut(run.example, models[run.example.benchmark].predict(run)) for run in runs)


def calibrated(runs: Sequence[Counted]) -> CounterModel:
    """The model of `runs` with the interval that cross-validation gives."""
    return CounterModel(fit(runs).coefficients, calibrated_interval(counters_held_out(runs)))
