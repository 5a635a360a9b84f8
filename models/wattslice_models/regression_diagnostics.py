"""What the residuals of a regression say about its form: numbers, and the verdict in plain words.

Wang & Chen 2013 (section 3.1) claim that the residuals are independent, identically distributed and normal,
and leave out the proof. `residual_tests` computes the tests; these records hold what came out.
"""

from __future__ import annotations

from msgspec import Struct

LEVEL = 0.05
"""A test that finds something this improbable rejects."""


class ResidualTest(Struct, frozen=True):
    """One test: `p_value` is the chance of a statistic this extreme if the assumption holds (two-sided).

    Both numbers None: the test could not be made, for the reason `why_not`.
    """

    name: str
    statistic: float | None
    p_value: float | None
    why_not: str = ""

    def __post_init__(self) -> None:
        if (self.statistic is None) != (self.p_value is None) or (self.p_value is None) != bool(self.why_not):
            raise ValueError(f"exactly a test that was not made has a reason: {self}")

    def __str__(self) -> str:
        if self.statistic is None or self.p_value is None:
            return f"{self.name}: not tested, {self.why_not}"
        p_value = f"p = {self.p_value:.2g}" if self.p_value >= 0.001 else "p < 0.001"
        return f"{self.name} {self.statistic:.3g}, {p_value}"


class RegressionDiagnostics(Struct, frozen=True):
    """The residuals ln(predicted / measured) of the runs that one set of coefficients was fitted to.

    `runs`: how many. `mean_absolute_error`, `worst_error`: of |predicted / measured - 1|, of the fit, not of
    prediction. `durbin_watson`, `sign_runs`: independence in the order of arithmetic density.
    """

    runs: int
    mean_absolute_error: float
    worst_error: float
    durbin_watson: ResidualTest
    sign_runs: ResidualTest
    normality: ResidualTest

    @property
    def independent(self) -> bool | None:
        """False when Durbin-Watson or the runs test rejects, at half the level each; None when untested."""
        values = [test.p_value for test in (self.durbin_watson, self.sign_runs) if test.p_value is not None]
        return min(values) * len(values) >= LEVEL if values else None

    @property
    def normal(self) -> bool | None:
        """False when normality is rejected; None when untested."""
        return None if self.normality.p_value is None else self.normality.p_value >= LEVEL
