import pytest
from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Example, ModelKind, NotEnoughDataError
from wattslice_models.cross_validation import HeldOut, Unit, calibrated_interval, dealt, hold_out_each
from wattslice_models.gpu import load_gpu
from wattslice_models.joint_learner import EnergyLearner
from wattslice_models.mean import UNCALIBRATED, ClockMeanLearner, MeanLearner, MeanModel
from wattslice_models.types import Prediction

from .model_examples import examples, in_doubt, subject


def held_out(benchmark: str, ratio: float) -> HeldOut:
    example = Example("d", benchmark, "k", "", subject(1.0), 100.0 * ratio, None)
    return HeldOut(example, Prediction(100.0, 100.0, 100.0, "test", True))


class Spy(Struct, frozen=True):
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
    assert "fewer than 9 benchmarks" in interval.source


def test_too_few_to_cut_each_tail_are_cut_by_the_size_of_their_logarithms():
    """Of 18, 0.1 * 19 - 1 = 0.9 of one may lie outside: none; of 19 none on either side, of 9 none at all."""
    ratios = [*(1.02**n for n in range(1, 18)), 1 / 1.5]
    interval = calibrated_interval(tuple(held_out(f"b{n}", ratio) for n, ratio in enumerate(ratios)))
    assert (interval.low, interval.high) == pytest.approx((1 / 1.5, 1.5))
    few = calibrated_interval(tuple(held_out(f"b{n}", ratio) for n, ratio in enumerate(ratios[-9:])))
    assert (few.low, few.high) == pytest.approx((1 / 1.5, 1.5))
    nineteen = calibrated_interval(tuple(held_out(f"b{n}", ratio) for n, ratio in enumerate((*ratios, 1.0))))
    assert (nineteen.low, nineteen.high) == pytest.approx((1 / 1.5, 1.02**17))
    assert "fewer" not in interval.source + few.source + nineteen.source


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


def test_many_benchmarks_leave_in_parts_and_never_twice():
    data = examples()
    parts = dealt(data, 4, seed=1)
    assert sorted(len(part) for part in parts) == [1, 1, 2, 2]
    assert sorted(name for part in parts for name in part) == [f"b{number}" for number in range(6)]
    assert parts == dealt(data, 4, seed=1)
    assert dealt(data, 9) == tuple((f"b{number}",) for number in range(6))
    fits: list[str] = []
    predicted = hold_out_each(MeanLearner(), data, 1, fits.append, 4)
    assert len(fits) == 4
    for entry in predicted:
        (part,) = (part for part in parts if entry.example.benchmark in part)
        rest = [example.power_w for example in data if example.benchmark not in part]
        assert entry.prediction.power_w == pytest.approx(sum(rest) / len(rest))


def test_a_fold_that_cannot_be_learnt_is_unknown_and_says_why():
    """The bytes of one benchmark alone could be followed: without it there is nothing to learn from."""
    data = tuple(example if example.benchmark == "b0" else in_doubt(example) for example in examples()[:144])
    known = {entry.example.benchmark: entry.prediction for entry in hold_out_each(EnergyLearner(), data)}
    assert known["b0"].power_w is None
    assert "nothing to learn from without b0" in known["b0"].notes[0]
    assert known["b1"].power_w is not None


def test_the_mean_at_each_clock_knows_clocks_only():
    model = ClockMeanLearner().fit(examples())
    for core_mhz in (705.0, 1380.0):
        here = [e.power_w for e in examples() if e.subject.clocks.core_mhz == core_mhz]
        found = model.predict(subject(4.0, core_mhz=core_mhz)).power_w
        assert found == pytest.approx(sum(here) / len(here))
    assert model.predict(subject(4.0, core_mhz=1390.0)) == model.predict(subject(9.0, core_mhz=1380.0))


def test_whole_gpus_can_be_held_out():
    """What speaks for a GPU never measured is judged on GPUs that it never saw."""
    mine = examples()[:72]
    other = load_gpu("quadro_rtx_8000")
    data = (*mine, *(replace(e, power_w=2 * e.power_w, subject=replace(e.subject, gpu=other)) for e in mine))
    predicted = hold_out_each(MeanLearner(), data, unit=Unit.GPU)
    mean_w = sum(example.power_w for example in mine) / len(mine)
    assert {round(entry.prediction.power_w or 0.0, 6) for entry in predicted[:72]} == {round(2 * mean_w, 6)}
    interval = calibrated_interval(predicted, unit=Unit.GPU)
    assert "held-out runs of 2 GPUs; fewer than 9 GPUs" in interval.source
    with pytest.raises(NotEnoughDataError, match=r"1 GPU\(s\)"):
        hold_out_each(MeanLearner(), mine, unit=Unit.GPU)
