"""How far predictions are from what was measured, always beside the predictor that knows nothing."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from wattslice_models.energy import EnergyModel
from wattslice_models.energy_fit import TrainingRow
from wattslice_models.gpu import Gpu


@dataclass(frozen=True, slots=True)
class Compared:
    """One run, predicted end to end from the source, and as measured."""

    row: TrainingRow
    power_w: float
    power_low_w: float
    power_high_w: float
    time_s: float
    power_with_measured_time_w: float


@dataclass(frozen=True, slots=True)
class Errors:
    """Relative errors |predicted / measured - 1| over some runs, and Spearman's rank correlation."""

    runs: int
    mean: float
    median: float
    worst: float
    spearman: float | None


def compare(model: EnergyModel, rows: tuple[TrainingRow, ...], gpu: Gpu) -> tuple[Compared, ...]:
    """Predicts every run; watts of an iteration are the joules of its launches over their seconds."""
    return tuple(_compare(model, row, gpu) for row in rows)


def _compare(model: EnergyModel, row: TrainingRow, gpu: Gpu) -> Compared:
    parts = [(launch, model.predict(launch.workload, gpu, row.clocks)) for launch in row.launches]
    seconds = sum(launch.repeat * part.time_s for launch, part in parts)
    # The measured time is known for the iteration only: every launch gets its predicted share of it.
    stretch = row.time_s / seconds
    joules = with_time = low = high = 0.0
    for launch, part in parts:
        share_s = launch.repeat * part.time_s
        joules += part.power_w * share_s
        low += part.power_low_w * share_s
        high += part.power_high_w * share_s
        timed = model.predict(launch.workload, gpu, row.clocks, part.time_s * stretch)
        with_time += timed.power_w * share_s
    return Compared(row, joules / seconds, low / seconds, high / seconds, seconds, with_time / seconds)


def errors(predicted: list[float], measured: list[float]) -> Errors:
    """Error statistics; Spearman is None when one side is constant."""
    relative = [abs(p / m - 1.0) for p, m in zip(predicted, measured, strict=True)]
    return Errors(
        len(relative),
        statistics.fmean(relative),
        statistics.median(relative),
        max(relative),
        spearman(predicted, measured),
    )


def coverage(compared: tuple[Compared, ...]) -> float:
    """Share of runs whose measured watts lie in the predicted interval."""
    inside = [entry.power_low_w <= entry.row.power_w <= entry.power_high_w for entry in compared]
    return sum(inside) / len(inside)


def spearman(first: list[float], second: list[float]) -> float | None:
    """Rank correlation, ties at their mean rank; None when one side is constant."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: list[float]) -> list[float]:
    order = sorted(range(len(values)), key=lambda index: values[index])
    ranks = [0.0] * len(values)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and values[order[end + 1]] == values[order[start]]:
            end += 1
        for index in order[start : end + 1]:
            ranks[index] = (start + end) / 2.0
        start = end + 1
    return ranks
