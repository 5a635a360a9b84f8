"""Cross-validation by benchmark, and intervals calibrated on what was held out.

All rows of a benchmark leave together: at ten clocks they are one piece of evidence. The interval is the
split-conformal one (Vovk et al. 2005; Lei et al. 2018) for the ratio measured / predicted, with every
benchmark given the same weight, so that a sweep of a hundred rows does not drown the others.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from enum import StrEnum

from msgspec import Struct

from wattslice_models.contract import Example, Interval, Learner, NotEnoughDataError, PowerModel
from wattslice_models.types import Prediction

COVERAGE = 0.9


class Unit(StrEnum):
    """What leaves together, and has one voice in an interval. The values are for messages."""

    BENCHMARK = "benchmark"
    GPU = "GPU"

    def of(self, example: Example) -> str:
        """The unit that an example belongs to."""
        return example.benchmark if self is Unit.BENCHMARK else example.subject.gpu.id


class HeldOut(Struct, frozen=True):
    """An example predicted by a model that never saw its benchmark."""

    example: Example
    prediction: Prediction

    @property
    def ratio(self) -> float | None:
        """Measured / predicted watts; None when nothing was predicted."""
        return None if not self.prediction.power_w else self.example.power_w / self.prediction.power_w


def hold_out_each(
    learner: Learner,
    examples: tuple[Example, ...],
    seed: int = 0,
    tell: Callable[[str], None] = lambda units: None,
    folds: int | None = None,
    unit: Unit = Unit.BENCHMARK,
) -> tuple[HeldOut, ...]:
    """Every example, predicted with its benchmark (or its GPU) left out; in the order of `examples`.

    `tell` hears of the units before they are left out. `folds`: at most so many fits, each without several
    units when there are more of these (see `dealt`); None: each unit on its own. A fold whose rest is too
    little to learn from is not predicted, and the notes say why.
    Raises `NotEnoughDataError` with fewer than two units, and when no fold could be learnt.
    """
    models: dict[str, PowerModel | NotEnoughDataError] = {}
    for part in dealt(examples, folds, seed, unit):
        tell(", ".join(part))
        rest = tuple(example for example in examples if unit.of(example) not in part)
        try:
            model = learner.fit(rest, seed)
        except NotEnoughDataError as error:
            model = error
        models |= dict.fromkeys(part, model)
    failures = [model for model in models.values() if isinstance(model, NotEnoughDataError)]
    if len(failures) == len(models):
        raise failures[0]
    return tuple(
        HeldOut(example, _asked(models[unit.of(example)], unit.of(example), example)) for example in examples
    )


def _asked(model: PowerModel | NotEnoughDataError, left_out: str, example: Example) -> Prediction:
    if isinstance(model, NotEnoughDataError):
        return Prediction.unknown(f"nothing to learn from without {left_out}: {model}")
    return model.predict(example.subject)


def dealt(
    examples: tuple[Example, ...], folds: int | None = None, seed: int = 0, unit: Unit = Unit.BENCHMARK
) -> tuple[tuple[str, ...], ...]:
    """The units in at most `folds` parts of nearly equal number, shuffled; None: each on its own.

    Raises `NotEnoughDataError` with fewer than two units.
    """
    units = list(dict.fromkeys(unit.of(example) for example in examples))
    if len(units) < 2:
        raise NotEnoughDataError(f"{len(units)} {unit}(s): at least 2 are needed to leave one out")
    if folds is None or folds >= len(units):
        return tuple((name,) for name in units)
    random.Random(seed).shuffle(units)
    return tuple(tuple(units[number::folds]) for number in range(folds))


def calibrated_interval(
    held_out: tuple[HeldOut, ...],
    coverage: float = COVERAGE,
    widening: float = 1.0,
    widened_for: str = "",
    unit: Unit = Unit.BENCHMARK,
) -> Interval:
    """The interval that held `coverage` of the held-out examples, each unit with equal weight.

    `widening` >= 1 opens it further, for the reason `widened_for`. See `conformal_interval`, also for errors.
    """
    ratios = [(unit.of(entry.example), entry.ratio) for entry in held_out if entry.ratio is not None]
    found = conformal_interval(ratios, unit.value, coverage)
    if widening == 1.0:
        return found
    source = f"{found.source}; widened by {widening - 1:.0%} {widened_for}"
    return Interval(found.low / widening, found.high * widening, coverage, source)


def conformal_interval(
    ratios: Sequence[tuple[str, float]], unit: str, coverage: float = COVERAGE
) -> Interval:
    """The interval of measured / predicted watts that held `coverage` of `ratios`, each of a unit.

    Every unit has equal weight. Both tails are cut alike, at ranks with the finite-sample correction
    (n + 1)/n of conformal prediction, n the number of units. With too few of them to cut each tail,
    logarithms are cut by their size and the interval reaches as far to either side; with too few for that, it
    spans everything seen and says so. `unit`: the word for one, for the source of the interval.
    Raises `NotEnoughDataError` without a ratio.
    """
    if not ratios:
        raise NotEnoughDataError("nothing was predicted for what was held out")
    runs = Counter(name for name, _ in ratios)
    weighted = sorted((ratio, 1.0 / runs[name]) for name, ratio in ratios)
    tail = (1.0 - coverage) / 2.0
    kept = tail * (len(runs) + 1) - 1.0  # units that may lie outside, on each side
    kept_of_both = 2.0 * tail * (len(runs) + 1) - 1.0
    if kept < -_ROUNDING and kept_of_both >= -_ROUNDING:
        sizes = sorted(((abs(math.log(ratio)), weight) for ratio, weight in weighted), reverse=True)
        high = math.exp(_quantile(sizes, kept_of_both))
        low = 1.0 / high
    else:
        low = _quantile(weighted, max(0.0, kept))
        high = _quantile([(ratio, weight) for ratio, weight in reversed(weighted)], max(0.0, kept))
    enough = (
        ""
        if kept_of_both >= -_ROUNDING
        else f"; fewer than {round(0.5 / tail) - 1} {unit}s: all that was seen"
    )
    source = f"{coverage:.0%} of {len(ratios)} held-out runs of {len(runs)} {unit}s{enough}"
    return Interval(min(1.0, low), max(1.0, high), coverage, source)


_ROUNDING = 1e-9


def _quantile(ratios: list[tuple[float, float]], outside: float) -> float:
    """The ratio before which the weights of the earlier ones exceed `outside`."""
    total = 0.0
    for ratio, weight in ratios:
        total += weight
        if total > outside + _ROUNDING:
            return ratio
    return ratios[-1][0]
