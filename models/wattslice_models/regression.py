"""The nonlinear regression of Wang & Chen 2013: ``P = beta_0 Sa + beta_1 Ã^beta_2`` (eq. (4), Table 1).

The published coefficients are used exactly as printed. They reproduce neither the predictions printed in
the same paper nor the watts measured there: for all 13 measured programs they predict too much
(docs/appendix/papers.md has both columns). The interval says so. Its lower end is the worst of these over-
predictions, its upper end the largest error that the paper claims for validation slices (3.98 %, GTX 280).
For the other three GPUs the paper prints no measured watts, so the same two ratios serve for them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice_models.types import ArithmeticDensity, Prediction

_PUBLISHED = Path(__file__).parent / "trained" / "wang2013_regression.json"


class NoRegressionError(LookupError):
    """No regression is published for this GPU."""

    def __init__(self, gpu_id: str, published_for: tuple[str, ...]) -> None:
        super().__init__(f"no regression for GPU {gpu_id!r}; published for {', '.join(published_for)}")
        self.gpu_id = gpu_id
        self.published_for = published_for


def slice_power_w(
    beta_0_w: float, beta_1_w: float, beta_2: float, sm_saturation: float, arithmetic_density: float
) -> float:
    """Eq. (4) in watts, for Sa in (0, 1] and Ã >= 0; ``ValueError`` otherwise (also for NaN).

    A negative beta_2 needs Ã > 0.
    """
    if not 0 < sm_saturation <= 1:
        raise ValueError(f"SM saturation must lie in (0, 1], not {sm_saturation}")
    if not 0 <= arithmetic_density < float("inf"):
        raise ValueError(f"arithmetic density must be finite and not negative, not {arithmetic_density}")
    return beta_0_w * sm_saturation + beta_1_w * arithmetic_density**beta_2


def outside_fitted_range(what: str, value: float, low: float, high: float) -> tuple[str, ...]:
    """The note on a feature outside [low, high], none for one inside."""
    return () if low <= value <= high else (f"{what} {value:g} outside the fitted range [{low:g}, {high:g}]",)


class RegressionModel(Struct, frozen=True):
    """Slice power of one GPU as a function of SM saturation Sa and arithmetic density Ã."""

    gpu_id: str
    beta_0_w: float
    beta_1_w: float
    beta_2: float
    arithmetic_density_min: float
    arithmetic_density_max: float
    sm_saturation_min: float
    sm_saturation_max: float
    measured_over_predicted_low: float
    measured_over_predicted_high: float
    interval_source: str
    source: str

    def power_w(self, sm_saturation: float, arithmetic_density: float) -> float:
        """Eq. (4) in watts, for Sa in (0, 1] and Ã >= 0; ``ValueError`` otherwise (also for NaN)."""
        return slice_power_w(self.beta_0_w, self.beta_1_w, self.beta_2, sm_saturation, arithmetic_density)

    def predict(self, sm_saturation: float, arithmetic_density: ArithmeticDensity) -> Prediction:
        """Power with its interval; unknown, with the reason, for an undefined density.

        Raises ``ValueError`` for an SM saturation outside (0, 1].
        """
        density = arithmetic_density.value
        if density is None:
            return Prediction.unknown(f"arithmetic density undefined: {arithmetic_density.reason}")
        power_w = self.power_w(sm_saturation, density)
        notes = outside_fitted_range("arithmetic density", density, *self._density_range())
        notes += outside_fitted_range("SM saturation", sm_saturation, *self._saturation_range())
        return Prediction(
            power_w=power_w,
            power_low_w=power_w * self.measured_over_predicted_low,
            power_high_w=power_w * self.measured_over_predicted_high,
            interval_source=self.interval_source,
            in_trained_domain=not notes,
            notes=notes,
        )

    def _density_range(self) -> tuple[float, float]:
        return self.arithmetic_density_min, self.arithmetic_density_max

    def _saturation_range(self) -> tuple[float, float]:
        return self.sm_saturation_min, self.sm_saturation_max


@cache
def published_regressions() -> tuple[RegressionModel, ...]:
    """The four regressions of Table 1, in the order of the paper."""
    document = json.loads(_PUBLISHED.read_text(encoding="utf-8"))
    return tuple(
        RegressionModel(
            gpu_id=entry["gpu"],
            beta_0_w=entry["beta_0"],
            beta_1_w=entry["beta_1"],
            beta_2=entry["beta_2"],
            arithmetic_density_min=document["arithmetic_density_min"],
            arithmetic_density_max=document["arithmetic_density_max"],
            sm_saturation_min=document["sm_saturation_min"],
            sm_saturation_max=document["sm_saturation_max"],
            measured_over_predicted_low=document["measured_over_predicted_low"],
            measured_over_predicted_high=document["measured_over_predicted_high"],
            interval_source=document["interval_source"],
            source=document["source"],
        )
        for entry in document["gpus"]
    )


def published_regression(gpu_id: str) -> RegressionModel:
    """The regression published for a GPU id (``gtx280``). Raises `NoRegressionError` for any other GPU."""
    for model in published_regressions():
        if model.gpu_id == gpu_id:
            return model
    raise NoRegressionError(gpu_id, tuple(model.gpu_id for model in published_regressions()))
