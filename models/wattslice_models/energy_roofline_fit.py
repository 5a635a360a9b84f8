"""Fits the energy roofline to an intensity sweep, by ordinary linear regression as Choi et al. 2013 do.

    E / W = ε_s + ε_mem (Q / W) + π0 (T / W) + Δε_d R          R = 1 for a run in double precision, else 0

Single and double precision are fitted together: bytes and constant power cost the same, a double flop costs
ε_d = ε_s + Δε_d. T is the measured time, so that nothing of the time roofline enters. Standard errors are
those of ordinary least squares, p-values two-sided from Student's t with n - 4 degrees of freedom.

Ordinary least squares takes all errors of E / W for equally large. Those of a power meter are in proportion
to what it reads, and E / W at 1/16 flops per byte is a hundred times that at 64: the least intensities
then decide everything, and the energy of a flop drowns. `Errors.RELATIVE` divides each run by its E / W
before the same regression; it is no part of the paper.

A coefficient that comes out negative or indistinguishable from zero is given as it came out, with a doubt
in words; `EnergyRooflineFit.roofline` refuses to make a machine of impossible costs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from wattslice_models.energy_roofline import EnergyRoofline
from wattslice_models.learners import MissingPackageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

VAGUE = 0.2
"""A coefficient whose standard error is a larger part of it."""
COEFFICIENTS = 4
_CLEARLY_LESS = 1.2
_AS_FAST = 1.05
LEVEL = 0.05
"""A coefficient whose p-value lies above cannot be told from zero."""
COLLINEAR = 1e7
"""Condition of the regression from which on its columns are one within rounding."""
NEARLY_COLLINEAR = 30.0
"""From here on small errors of measurement move the coefficients much (Belsley, Kuh & Welsch 1980)."""


class SweepError(ValueError):
    """A sweep that cannot tell the four coefficients apart; the message says what is missing."""


class Errors(StrEnum):
    """What the regression takes the errors of E / W to be: all alike (the paper), or all the same share."""

    ALIKE = "alike"
    RELATIVE = "relative"


class SweepPrecision(StrEnum):
    """What a run of a sweep computes with."""

    SINGLE = "single"
    DOUBLE = "double"


class SweepPoint(Struct, frozen=True):
    """One run of a sweep: W flops, Q bytes of slow memory, T seconds, E joules.

    All finite and above 0, but `traffic_bytes`, which may be 0. Raises ``ValueError`` for others.
    """

    precision: SweepPrecision
    work_flop: float
    traffic_bytes: float
    time_s: float
    energy_j: float

    def __post_init__(self) -> None:
        for name in ("work_flop", "time_s", "energy_j"):
            value: float = getattr(self, name)
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} must be finite and above 0, not {value}")
        if not 0.0 <= self.traffic_bytes < math.inf:
            raise ValueError(f"traffic_bytes must be finite and not negative, not {self.traffic_bytes}")

    @property
    def intensity(self) -> float:
        """Flops per byte; infinite without traffic."""
        return self.work_flop / self.traffic_bytes if self.traffic_bytes else math.inf


class Coefficient(Struct, frozen=True):
    """An estimate with its standard error, in the unit of the estimate; t of zero, and the p-value of that.

    `t` None: an exact fit, whose standard error is zero.
    """

    value: float
    standard_error: float
    t: float | None
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether it differs from zero, at 5 %."""
        return self.p_value < LEVEL


class BestRates(Struct, frozen=True):
    """The best that the runs of a sweep achieved: its roofs in time.

    `single_reached`, `double_reached`: whether more intensity no longer made the flops faster; if not, the
    roof lies above the rate.
    """

    single_flops_per_s: float
    double_flops_per_s: float
    bytes_per_s: float
    single_reached: bool
    double_reached: bool

    def reached(self, precision: SweepPrecision) -> bool:
        """Whether the roof in flops was reached."""
        return self.single_reached if precision is SweepPrecision.SINGLE else self.double_reached

    def flop_time_s(self, precision: SweepPrecision) -> float:
        """τ_flop"""
        single = precision is SweepPrecision.SINGLE
        return 1.0 / (self.single_flops_per_s if single else self.double_flops_per_s)

    @property
    def byte_time_s(self) -> float:
        """τ_mem"""
        return 1.0 / self.bytes_per_s


class EnergyRooflineFit(Struct, frozen=True):
    """What the regression found.

    `single_flop_energy_j` (ε_s), `byte_energy_j` (ε_mem), `constant_power_w` (π0) and `double_extra_energy_j`
    (Δε_d) are its coefficients; `double_flop_energy_j` (ε_d) is the sum of the first and the last, with the
    standard error of that sum. `errors`: as what those of E / W were taken. `points` of which
    `single_points` in single precision. `r_squared` of E / W; `condition` of the regression's columns, each
    scaled to length 1. `mean_error`, `worst_error`: of |fitted / measured - 1| of the energies. `rates`:
    measured, no part of the regression.
    """

    single_flop_energy_j: Coefficient
    byte_energy_j: Coefficient
    constant_power_w: Coefficient
    double_extra_energy_j: Coefficient
    double_flop_energy_j: Coefficient
    errors: Errors
    points: int
    single_points: int
    r_squared: float
    condition: float
    mean_error: float
    worst_error: float
    rates: BestRates

    def energy_j(
        self, precision: SweepPrecision, work_flop: float, traffic_bytes: float, t_s: float
    ) -> float:
        """E of a run of `t_s` seconds, by the fitted coefficients as they are."""
        return (
            self.flop_energy(precision).value * work_flop
            + self.byte_energy_j.value * traffic_bytes
            + self.constant_power_w.value * t_s
        )

    def flop_energy(self, precision: SweepPrecision) -> Coefficient:
        """ε_s or ε_d."""
        single = precision is SweepPrecision.SINGLE
        return self.single_flop_energy_j if single else self.double_flop_energy_j

    def roofline(
        self,
        precision: SweepPrecision,
        power_limit_w: float | None = None,
        *,
        flop_time_s: float | None = None,
        byte_time_s: float | None = None,
    ) -> EnergyRoofline:
        """The machine of the fit; a roof that is None is the sweep's best rate.

        Raises ``ValueError``, as `EnergyRoofline` does, where a coefficient came out impossible.
        """
        return EnergyRoofline(
            flop_time_s=flop_time_s or self.rates.flop_time_s(precision),
            byte_time_s=byte_time_s or self.rates.byte_time_s,
            flop_energy_j=self.flop_energy(precision).value,
            byte_energy_j=self.byte_energy_j.value,
            constant_power_w=self.constant_power_w.value,
            power_limit_w=power_limit_w,
        )

    @property
    def doubts(self) -> tuple[str, ...]:
        """What not to believe of it, in words; empty where nothing speaks against it."""
        found: list[str] = []
        for name, one in (
            ("energy of a single-precision flop", self.single_flop_energy_j),
            ("energy of a byte", self.byte_energy_j),
            ("constant power", self.constant_power_w),
            ("energy of a double-precision flop", self.double_flop_energy_j),
            ("extra energy of a double-precision flop", self.double_extra_energy_j),
        ):
            if one.value < 0.0:
                found.append(f"{name}: negative ({one.value:.3g}), which no machine has")
            elif not one.significant:
                found.append(f"{name}: cannot be told from zero (p = {one.p_value:.2g})")
        shared = (self.byte_energy_j, self.constant_power_w)
        vague = any(one.standard_error > VAGUE * abs(one.value) for one in shared)
        if vague and self.condition > NEARLY_COLLINEAR:
            found.append(
                f"condition {self.condition:.0f}: bytes and time grow nearly together in this sweep, so that "
                "the energy of a byte and the constant power share their errors"
            )
        found += [
            f"flops in {precision} precision still grow faster at the highest intensity: their roof lies "
            "above what the sweep reached"
            for precision in SweepPrecision
            if not self.rates.reached(precision)
        ]
        return tuple(found)


def fit_energy_roofline(points: Sequence[SweepPoint], errors: Errors = Errors.ALIKE) -> EnergyRooflineFit:
    """The four coefficients by ordinary least squares (Choi et al. 2013, section IV).

    `errors`: see above; the default is the paper's.

    Raises `SweepError` for a sweep that cannot tell them apart, and `MissingPackageError` without scipy.
    """
    import numpy as np

    _check(points)
    work = np.array([point.work_flop for point in points])
    columns = np.column_stack(
        (
            np.ones(len(points)),
            np.array([point.traffic_bytes for point in points]) / work,
            np.array([point.time_s for point in points]) / work,
            np.array([point.precision is SweepPrecision.DOUBLE for point in points], dtype=float),
        )
    )
    measured = np.array([point.energy_j for point in points]) / work
    scale = 1.0 / measured if errors is Errors.RELATIVE else np.ones(len(points))
    rows, wanted = columns * scale[:, None], measured * scale
    lengths = np.linalg.norm(rows, axis=0)
    if not lengths[1] > 0.0:
        raise SweepError("no run of the sweep moves a byte: the energy of a byte cannot be told")
    left, singular, right = np.linalg.svd(rows / lengths, full_matrices=False)
    condition = float(singular[0] / singular[-1]) if singular[-1] > 0.0 else math.inf
    if condition > COLLINEAR:
        raise SweepError(
            "the runs of the sweep differ in too few ways to tell flops, bytes and time apart: time is in "
            "proportion to bytes, or to flops (it needs intensities on both sides of the balance)"
        )
    values = (right.T @ ((left.T @ wanted) / singular)) / lengths
    freedom = len(points) - COEFFICIENTS
    misses = wanted - rows @ values
    variance = float(misses @ misses) / freedom
    covariance = variance * (right.T / singular**2) @ right / np.outer(lengths, lengths)
    estimates = [
        _coefficient(float(values[n]), float(covariance[n, n]), freedom) for n in range(COEFFICIENTS)
    ]
    fitted = columns @ values
    about_mean, about_fit = measured - measured.mean(), measured - fitted
    spread = float(about_mean @ about_mean)
    relative = np.abs(fitted / measured - 1.0)
    return EnergyRooflineFit(
        *estimates,
        double_flop_energy_j=_sum(values, covariance, freedom),
        errors=errors,
        points=len(points),
        single_points=sum(point.precision is SweepPrecision.SINGLE for point in points),
        r_squared=1.0 - float(about_fit @ about_fit) / spread if spread > 0.0 else 1.0,
        condition=condition,
        mean_error=float(relative.mean()),
        worst_error=float(relative.max()),
        rates=best_rates(points),
    )


def best_rates(points: Sequence[SweepPoint]) -> BestRates:
    """Flops and bytes per second of the fastest runs. Raises ``ValueError`` without both precisions."""
    single, single_reached = _flop_roof(points, SweepPrecision.SINGLE)
    double, double_reached = _flop_roof(points, SweepPrecision.DOUBLE)
    bytes_per_s = max(point.traffic_bytes / point.time_s for point in points)
    return BestRates(single, double, bytes_per_s, single_reached, double_reached)


def _flop_roof(points: Sequence[SweepPoint], precision: SweepPrecision) -> tuple[float, bool]:
    """The highest rate, and whether runs of clearly less intensity were as fast."""
    own = [point for point in points if point.precision is precision]
    best = max(own, key=lambda point: point.work_flop / point.time_s)
    rate = best.work_flop / best.time_s
    highest = max(point.intensity for point in own)
    before = [point.work_flop / point.time_s for point in own if point.intensity * _CLEARLY_LESS <= highest]
    return rate, bool(before) and max(before) * _AS_FAST >= rate


def _check(points: Sequence[SweepPoint]) -> None:
    if len(points) <= COEFFICIENTS:
        raise SweepError(
            f"{len(points)} runs are too few: four coefficients with errors need at least {COEFFICIENTS + 1}"
        )
    for precision in SweepPrecision:
        if not any(point.precision is precision for point in points):
            raise SweepError(f"no run in {precision} precision: single and double are fitted together")


def _sum(values: NDArray[np.float64], covariance: NDArray[np.float64], freedom: int) -> Coefficient:
    """The first coefficient and the last one together."""
    variance = covariance[0, 0] + covariance[3, 3] + 2.0 * covariance[0, 3]
    return _coefficient(float(values[0] + values[3]), float(variance), freedom)


def _coefficient(value: float, variance: float, freedom: int) -> Coefficient:
    error = math.sqrt(max(0.0, variance))
    if error == 0.0:
        return Coefficient(value, error, None, 1.0 if value == 0.0 else 0.0)
    ratio = value / error
    return Coefficient(value, error, ratio, _two_sided_p(ratio, freedom))


def _two_sided_p(t: float, freedom: int) -> float:
    try:
        from scipy import stats  # pyright: ignore[reportMissingTypeStubs]
    except ImportError:
        raise MissingPackageError("fitting the energy roofline", "scipy") from None
    untyped: Any = stats
    return 2.0 * float(untyped.t.sf(abs(t), freedom))
