"""What measured variants teach: only what predicts those that were held out."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wattslice_models.variant_residual import Gate, VariantWork, fit_variants

SEED = 7


def variants(number: int, residual: Callable[[Any], Any], columns: int = 3):
    """Random features, and the residual of each."""
    rows = np.random.default_rng(SEED).normal(size=(number, columns))
    return tuple(tuple(row) for row in rows.tolist()), tuple(float(residual(row)) for row in rows)


def smooth(row):
    return 0.2 + 0.1 * math.sin(2 * row[0]) - 0.05 * row[1]


def test_a_residual_is_learnt_from_twenty_and_holds_for_others():
    features, ratios = variants(220, smooth)
    found = fit_variants(features[:20], ratios[:20])
    assert found.gate is Gate.LEARNED
    left = np.array(ratios[20:]) - np.log(found.factors(features[20:]))
    assert np.mean(np.abs(left)) < 0.4 * np.std(ratios)
    assert found.half_width is not None
    assert np.mean(np.abs(left) <= found.half_width) > 0.85


def test_beyond_what_was_measured_the_edge_counts():
    features, ratios = variants(30, lambda row: 0.1 * row[0])
    found = fit_variants(features, ratios)
    assert found.gate is Gate.LEARNED
    rows = np.array(features)
    edge, far = rows.max(axis=0), rows.max(axis=0) + 5.0
    assert found.factors((tuple(far),)) == found.factors((tuple(edge),))
    assert found.factors((tuple(far),))[0] < math.exp(0.15 * edge[0])


def test_where_features_tell_nothing_a_level_is_taken():
    noise = np.random.default_rng(1)
    features, ratios = variants(40, lambda row: 0.3 + 0.05 * noise.normal())
    found = fit_variants(features, ratios)
    assert found.gate is Gate.LEVEL
    assert found.factors(features[:2]) == pytest.approx((math.exp(np.mean(ratios)),) * 2)


def test_good_predictions_stay_as_they_are():
    noise = np.random.default_rng(3)
    features, ratios = variants(12, lambda row: 0.03 * noise.normal())
    found = fit_variants(features, tuple(ratio - sum(ratios) / len(ratios) for ratio in ratios))
    assert found.gate is Gate.NOTHING
    assert found.factors(features) == (1.0,) * 12


def test_variants_with_equal_features_do_not_teach_one_another():
    """Four copies of random numbers: a copy that was held out alone would be known."""
    noise = np.random.default_rng(2)
    features, ratios = variants(11, lambda row: 0.1 * noise.normal())
    found = fit_variants(features * 4, ratios * 4)
    assert dict(found.errors)[Gate.LEARNED] > 0.05


def test_few_variants_teach_a_level_at_most():
    features, ratios = variants(3, lambda row: 0.5)
    found = fit_variants(features, ratios)
    assert (found.gate, found.half_width) == (Gate.LEVEL, None)
    assert fit_variants(features[:1], ratios[:1]).gate is Gate.NOTHING
    with pytest.raises(ValueError, match="no measured variant"):
        fit_variants((), ())


def test_features_are_finite_for_a_variant_that_does_nothing():
    work = VariantWork((0.0,) * 7, 0.0, 1e-6, 50.0)
    assert all(map(math.isfinite, work.features))
    assert len(work.features) == 10


def test_the_same_bytes_every_time():
    features, ratios = variants(20, smooth)
    assert fit_variants(features, ratios) == fit_variants(features, ratios)
