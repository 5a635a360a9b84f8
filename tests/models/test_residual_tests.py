"""Residual tests find what they look for, and reject white noise as rarely as they say."""

import math

import numpy as np
import pytest

from wattslice_models.regression_diagnostics import ResidualTest
from wattslice_models.residual_tests import SHAPIRO_MAX, diagnostics, durbin_watson, normality, sign_runs


def design(n: int) -> np.ndarray:
    return np.column_stack([np.ones(n), np.linspace(0.0, 1.0, n)])


def least_squares_residuals(noise: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(design(len(noise)))
    return noise - basis @ (basis.T @ noise)


def test_white_noise_is_rejected_as_rarely_as_promised():
    chance = np.random.default_rng(1)
    found = [
        diagnostics(least_squares_residuals(0.1 * chance.standard_normal(40)), design(40)) for _ in range(400)
    ]
    for rejected in ([not entry.independent for entry in found], [not entry.normal for entry in found]):
        assert 0.01 <= np.mean(rejected) <= 0.08


def test_durbin_watson_knows_what_the_fit_took_away():
    """Five coefficients for fifteen runs leave residuals that alternate; the p-value allows for it."""
    chance = np.random.default_rng(5)
    powers = np.vander(np.linspace(-1.0, 1.0, 15), 5)
    basis, _ = np.linalg.qr(powers)
    p_values: list[float] = []
    for _ in range(500):
        noise = chance.standard_normal(15)
        p_values.append(durbin_watson(noise - basis @ (basis.T @ noise), powers).p_value or 0.0)
    assert 0.03 <= np.mean(np.array(p_values) < 0.05) <= 0.07
    assert np.mean(p_values) == pytest.approx(0.5, abs=0.04)


def test_neighbours_that_err_alike_are_found():
    chance = np.random.default_rng(2)
    residuals = np.zeros(400)
    for index in range(1, 400):
        residuals[index] = 0.6 * residuals[index - 1] + chance.standard_normal()
    entry = diagnostics(least_squares_residuals(residuals), design(400))
    assert entry.independent is False
    assert entry.durbin_watson.statistic == pytest.approx(0.8, abs=0.2)  # 2 (1 - rho)


def test_neighbours_that_alternate_are_found():
    residuals = np.resize([1.0, -1.0], 40) + 0.1 * np.random.default_rng(3).standard_normal(40)
    entry = diagnostics(residuals, design(40))
    assert entry.independent is False
    assert (entry.durbin_watson.statistic or 0.0) > 2


@pytest.mark.parametrize("count", [100, SHAPIRO_MAX + 1])
def test_noise_that_is_not_normal_is_found(count: int):
    residuals = np.random.default_rng(4).exponential(size=count) - 1.0
    assert normality(residuals).p_value == pytest.approx(0.0, abs=1e-6)
    assert normality(residuals).name == ("Shapiro–Wilk" if count == 100 else "D'Agostino K²")


def test_durbin_watson_by_hand():
    residuals = np.array([1.0, 2.0, -1.0, 0.0, -2.0, 1.0, 1.0, -2.0])
    test = durbin_watson(residuals, design(8))
    assert test.statistic == pytest.approx((1 + 9 + 1 + 4 + 9 + 0 + 9) / 16)


def test_runs_by_hand():
    """+ + - - + + - -: 4 runs; mean 2·4·4/8 + 1 = 5, variance 4·3/7."""
    test = sign_runs(np.array([1.0, 2.0, -1.0, -2.0, 1.0, 3.0, -1.0, -3.0]))
    assert test.statistic == 4
    assert test.p_value == pytest.approx(math.erfc((1 / (12 / 7) ** 0.5) / 2**0.5))


def test_what_cannot_be_tested_says_why():
    exact = diagnostics(np.zeros(20), design(20))
    assert exact.independent is None
    assert exact.normal is None
    assert "the fit is exact" in str(exact.durbin_watson)
    few = diagnostics(np.array([0.1, -0.1, 0.2]), design(3)[:, :1])
    assert "fewer than 8" in str(few.normality)


def test_a_test_has_a_p_value_or_a_reason():
    assert str(ResidualTest("Shapiro–Wilk", 0.5, 1e-9)) == "Shapiro–Wilk 0.5, p < 0.001"
    with pytest.raises(ValueError, match="has a reason"):
        ResidualTest("Shapiro–Wilk", None, None)
