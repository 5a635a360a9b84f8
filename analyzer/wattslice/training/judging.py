"""How far predictions are from what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from msgspec import Struct

from wattslice_models.contract import NotEnoughDataError
from wattslice_models.cross_validation import HeldOut, calibrated_interval


class Errors(Struct, frozen=True):
    """Relative errors |predicted / measured - 1| over some runs, and Spearman's rank correlation."""

    runs: int
    mean: float
    median: float
    worst: float
    spearman: float | None


class Judgement(Struct, frozen=True):
    """What some predictions are worth. `errors` None: nothing was predicted; `silent`: runs without one.

    `coverage`: share of runs whose measured watts lie in the predicted interval; None without intervals.
    """

    errors: Errors | None
    silent: int
    coverage: float | None


def judge(predicted: Sequence[HeldOut]) -> Judgement:
    """Errors of the predictions, and how often their own intervals hold the measured watts."""
    inside: list[bool] = []
    for entry in predicted:
        low_w, high_w = entry.prediction.power_low_w, entry.prediction.power_high_w
        if low_w is not None and high_w is not None:
            inside.append(low_w <= entry.example.power_w <= high_w)
    return Judgement(
        _errors_of(predicted), len(predicted) - len(inside), sum(inside) / len(inside) if inside else None
    )


def judge_held_out(held_out: Sequence[HeldOut]) -> Judgement:
    """The same for held-out runs, whose models were not calibrated: the interval of each benchmark is the one
    that the other benchmarks give.
    """
    benchmarks = dict.fromkeys(entry.example.benchmark for entry in held_out if entry.ratio is not None)
    inside: list[bool] = []
    for benchmark in benchmarks:
        others = tuple(entry for entry in held_out if entry.example.benchmark != benchmark)
        try:
            interval = calibrated_interval(others)
        except NotEnoughDataError:
            continue
        inside += (
            interval.low <= entry.ratio <= interval.high
            for entry in held_out
            if entry.example.benchmark == benchmark and entry.ratio is not None
        )
    silent = sum(entry.ratio is None for entry in held_out)
    return Judgement(_errors_of(held_out), silent, sum(inside) / len(inside) if inside else None)


def _errors_of(predicted: Sequence[HeldOut]) -> Errors | None:
    pairs = [
        (entry.prediction.power_w, entry.example.power_w)
        for entry in predicted
        if entry.prediction.power_w is not None
    ]
    return errors([p for p, _ in pairs], [m for _, m in pairs]) if pairs else None


def errors(predicted: Sequence[float], measured: Sequence[float]) -> Errors:
    """Error statistics; Spearman is None when one side is constant."""
    relative = [abs(p / m - 1.0) for p, m in zip(predicted, measured, strict=True)]
    return Errors(
        len(relative),
        statistics.fmean(relative),
        statistics.median(relative),
        max(relative),
        spearman(predicted, measured),
    )


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Rank correlation, ties at their mean rank; None when one side is constant."""
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    return statistics.correlation(_ranks(first), _ranks(second))


def _ranks(values: Sequence[float]) -> list[float]:
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
