from dataclasses import dataclass

import pytest

from wattslice_models.contract import Example, ModelKind, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut, calibrated_interval, hold_out_each
from wattslice_models.mean import UNCALIBRATED, MeanLearner, MeanModel
from wattslice_models.types import Prediction

from .model_examples import examples, subject


def held_out(benchmark: str, ratio: float) -> HeldOut:
    example = Example("d", benchmark, "k", "", subject(1.0), 100.0 * ratio, None)
    return HeldOut(example, Prediction(100.0, 100.0, 100.0, "test", True))


@dataclass(frozen=True)
class Spy:
    """A learner that remembers what it was shown."""

    shown: list[set[str]]
    kind: ModelKind = ModelKind.MEAN

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> MeanModel:
        self.shown.append({example.benchmark for example in examples})
        return MeanModel(1.0, UNCALIBRATED)


def test_a_benchmark_leaves_as_a_whole():
    spy = Spy([])
    data = examples()
    found = hold_out_each(spy, data)
    every = {f"b{number}" for number in range(6)}
    assert spy.shown == [every - {f"b{number}"} for number in range(6)]
    assert tuple(entry.example for entry in found) == data


def test_one_benchmark_is_not_enough():
    only = tuple(example for example in examples() if example.benchmark == "b0")
    with pytest.raises(NotEnoughDataError, match="1 benchmark"):
        hold_out_each(MeanLearner(), only)


def test_few_benchmarks_give_an_interval_of_all_that_was_seen():
    interval = calibrated_interval(tuple(held_out(f"b{n}", ratio) for n, ratio in enumerate((0.7, 1.0, 1.4))))
    assert (interval.low, interval.high) == (0.7, 1.4)
    assert "fewer than 19 benchmarks" in interval.source


def test_many_benchmarks_leave_the_tails_out():
    # 99 benchmarks, 90 %: (99 + 1) x 5 % - 1 = 4 may lie outside on each side.
    entries = tuple(held_out(f"b{n}", 0.5 + n / 98) for n in range(99))
    interval = calibrated_interval(entries)
    assert interval.low == pytest.approx(0.5 + 4 / 98)
    assert interval.high == pytest.approx(0.5 + 94 / 98)


def test_a_long_sweep_weighs_no_more_than_a_single_run():
    sweep = tuple(held_out("sweep", 1.0) for _ in range(1000))
    others = tuple(held_out(f"b{n}", 0.5 + n / 20) for n in range(21))
    assert calibrated_interval((*sweep, *others)).high == pytest.approx(1.5)


def test_widening_is_told():
    interval = calibrated_interval(
        (held_out("a", 0.8), held_out("b", 1.2)), widening=1.08, widened_for="for boards"
    )
    assert interval.low == pytest.approx(0.8 / 1.08)
    assert interval.high == pytest.approx(1.2 * 1.08)
    assert "widened by 8% for boards" in interval.source


def test_an_interval_always_holds_the_prediction():
    interval = calibrated_interval((held_out("a", 1.2), held_out("b", 1.3)))
    assert interval.low == 1.0
