"""Tests of residuals: are they independent, are they normal? Needs numpy and scipy.

Durbin & Watson 1950, 1971 (p-value by a beta distribution with the exact mean and variance of the statistic
for this design); Wald & Wolfowitz 1940 (runs of one sign); Shapiro & Wilk 1965; D'Agostino & Pearson 1973.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.regression_diagnostics import RegressionDiagnostics, ResidualTest

Array = NDArray[np.float64]
_stats: Any = stats  # scipy has no types

SHAPIRO_MAX = 5000
"""Beyond this many residuals the p-value of Shapiro-Wilk is no longer accurate: D'Agostino's K² instead."""
LEAST_RESIDUALS = 8
"""Fewer tell nothing (and the normal approximations below would not hold)."""
ROUNDING = 1e-9
"""Relative residuals with a spread below this are rounding errors of an exact fit."""


def diagnostics(residuals: Array, jacobian: Array) -> RegressionDiagnostics:
    """All tests of the residuals ln(predicted / measured), shape (n,), given in the order of density.

    `jacobian`, shape (n, p): derivatives of the residuals by the fitted parameters that lie at no bound.
    """
    errors = np.abs(np.expm1(residuals))
    return RegressionDiagnostics(
        runs=len(residuals),
        mean_absolute_error=float(errors.mean()),
        worst_error=float(errors.max()),
        durbin_watson=durbin_watson(residuals, jacobian),
        sign_runs=sign_runs(residuals),
        normality=normality(residuals),
    )


def unit_columns(matrix: Array) -> tuple[Array, Array]:
    """The matrix with columns of length 1, and their lengths; columns of zeros stay as they are."""
    lengths = np.linalg.norm(matrix, axis=0)
    return matrix / np.where(lengths > 0, lengths, 1.0), lengths


def durbin_watson(residuals: Array, jacobian: Array) -> ResidualTest:
    """d = Σ(e_t - e_(t-1))² / Σe_t²: about 2 for independent residuals, less when neighbours err alike.

    The nonlinear fit is taken as the linear one that it is near its solution.
    """
    name = "Durbin–Watson"
    n = len(residuals)
    if why_not := _why_not(residuals):
        return ResidualTest(name, None, None, why_not)
    basis, _ = np.linalg.qr(unit_columns(jacobian)[0])
    statistic = float((np.diff(residuals) ** 2).sum() / (residuals**2).sum())
    # A = D'D with D the first differences, M = I - QQ': d = e'Ae / e'e, moments from tr(MA) and tr(MAMA).
    steps = np.diff(basis, axis=0)
    twice = np.vstack([-steps[:1], -np.diff(steps, axis=0), steps[-1:]])  # AQ
    inner = steps.T @ steps  # Q'AQ
    trace = 2.0 * (n - 1) - np.trace(inner)
    trace_of_square = 6.0 * n - 8.0 - 2.0 * np.trace(twice.T @ twice) + np.trace(inner @ inner)
    freedom = n - basis.shape[1]
    mean = trace / freedom
    variance = 2.0 / (freedom * (freedom + 2.0)) * (trace_of_square - trace * mean)
    # d / 4 in [0, 1] follows nearly a beta distribution of these moments.
    share = mean / 4.0
    total = share * (1.0 - share) / (variance / 16.0) - 1.0
    below = float(_stats.beta.cdf(statistic / 4.0, share * total, (1.0 - share) * total))
    return ResidualTest(name, statistic, min(1.0, 2.0 * min(below, 1.0 - below)))


def sign_runs(residuals: Array) -> ResidualTest:
    """Number of uninterrupted runs on one side of the median, against its normal approximation."""
    name = "runs of one sign"
    if why_not := _why_not(residuals):
        return ResidualTest(name, None, None, why_not)
    offsets = residuals - np.median(residuals)
    above = offsets[offsets != 0] > 0
    n = len(above)
    count = 1 + int((above[1:] != above[:-1]).sum())
    mean = 2.0 * above.sum() * (n - above.sum()) / n + 1.0
    variance = (mean - 1.0) * (mean - 2.0) / (n - 1.0)
    if variance <= 0:
        return ResidualTest(name, None, None, "residuals nearly all equal")
    p_value = 2.0 * float(_stats.norm.sf(abs(count - mean) / variance**0.5))
    return ResidualTest(name, float(count), min(1.0, p_value))


def normality(residuals: Array) -> ResidualTest:
    """Shapiro-Wilk, beyond `SHAPIRO_MAX` residuals D'Agostino's K²."""
    small = len(residuals) <= SHAPIRO_MAX
    name = "Shapiro–Wilk" if small else "D'Agostino K²"
    if why_not := _why_not(residuals):
        return ResidualTest(name, None, None, why_not)
    statistic, p_value = _stats.shapiro(residuals) if small else _stats.normaltest(residuals)
    return ResidualTest(name, float(statistic), float(p_value))


def _why_not(residuals: Array) -> str:
    if len(residuals) < LEAST_RESIDUALS:
        return f"fewer than {LEAST_RESIDUALS} residuals"
    return "the fit is exact" if float(np.ptp(residuals)) < ROUNDING else ""
