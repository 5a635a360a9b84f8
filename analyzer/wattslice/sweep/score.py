"""How well predicted seconds order the variants of a kernel that somebody measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from wattslice.training.judging import spearman

DIFFERS = 1.1
"""Pairs of variants whose measured times differ by more than this factor have a sign to get right."""


class TuningScore(Struct, frozen=True):
    """Predicted against measured amounts (seconds or joules) of the same variants.

    `sign_right`: share of the `pairs` of variants, measured more than 10 % apart, that the prediction orders
    rightly. `best_slower`: how much more than the true best the best predicted variant takes, measured.
    `tenth_slower`: the same for the best of the predicted best tenth. `median_error` of
    |predicted/measured-1|. Shares and excesses are fractions; None where there is nothing to compare.
    """

    variants: int
    spearman: float | None
    pairs: int
    sign_right: float | None
    best_slower: float
    tenth_slower: float
    median_error: float


def score(predicted: Sequence[float], measured: Sequence[float]) -> TuningScore:
    """Of at least one variant; positive amounts."""
    order = sorted(range(len(predicted)), key=lambda index: predicted[index])
    least = min(measured)
    tenth = order[: max(1, len(order) // 10)]
    pairs, right = _signs(predicted, measured)
    return TuningScore(
        len(predicted),
        spearman(predicted, measured),
        pairs,
        right / pairs if pairs else None,
        measured[order[0]] / least - 1.0,
        min(measured[index] for index in tenth) / least - 1.0,
        statistics.median(abs(p / m - 1.0) for p, m in zip(predicted, measured, strict=True)),
    )


def _signs(predicted: Sequence[float], measured: Sequence[float]) -> tuple[int, int]:
    """Pairs that differ, and those ordered rightly: a tie of predictions is wrong."""
    p, m = np.asarray(predicted), np.asarray(measured)
    pairs = right = 0
    for index in range(len(m)):  # one row at a time: the whole table of thousands is large
        slower = m > DIFFERS * m[index]
        pairs += int(np.count_nonzero(slower))
        right += int(np.count_nonzero(slower & (p > p[index])))
    return pairs, right
