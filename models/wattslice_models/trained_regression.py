"""The regression of Wang & Chen 2013, trained on measurements.

A slice draws ``P_i = beta_0 Sa + beta_1 Ã^beta_2`` (eq. (4)); the watts of a run are those of its slices,
weighted by their length: ``P = sum P_i |C_i| / L`` (eq. (12)). The published form knows no clock. So there is
one set of coefficients for each pair of measured clocks, and watts in between are interpolated linearly.

A slice that touches no memory has no density, and eq. (4) cannot speak about it. A run of nothing else is
unknown; in a mixture such slices count as the mean of the others, as Algorithm 4 leaves slices out: by
dividing by the length that remains. Both when training and when predicting.

Coefficients belong to one GPU, as in the paper: for any other the answer is unknown. Only the standard
library is needed here; `regression_fit` learns.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Interval, ModelKind, SliceSample, Subject
from wattslice_models.execution_time import core_clock_mhz
from wattslice_models.program_power import SlicePower, branch_sparse_power_w
from wattslice_models.regression import outside_fitted_range, slice_power_w
from wattslice_models.regression_diagnostics import RegressionDiagnostics
from wattslice_models.types import Prediction

TOLERANCE = 0.01
"""A clock or feature this near to a measured one counts as measured: catalogues and drivers round clocks, and
1 % of a feature moves the watts by less."""
NEGLIGIBLE_SHARE = 0.05
"""Slices that together hold less of the statements than this are not told to lie outside."""


class DenseSlice(Struct, frozen=True):
    """A slice that touches memory, with its weight > 0 in the run; dimensionless all three."""

    arithmetic_density: float
    sm_saturation: float
    weight: float


def dense_slices(slices: Sequence[SliceSample]) -> tuple[DenseSlice, ...]:
    """The slices that eq. (4) can speak about and that execute at all."""
    return tuple(
        DenseSlice(part.arithmetic_density, part.sm_saturation, part.weight)
        for part in slices
        if part.arithmetic_density is not None and part.weight > 0
    )


class Coefficient(Struct, frozen=True):
    """A fitted coefficient and its 95 % confidence interval, from the Jacobian at the solution.

    The interval takes the fit as linear there and the errors as independent and identically distributed, with
    the variance that Huber (1981) gives for a robust loss. Runs of one benchmark err alike: where the
    residuals are not independent (see the diagnostics) it is too narrow. Both ends None: the coefficient lies
    at its bound, or the runs do not determine it.
    """

    value: float
    low: float | None
    high: float | None


class ClockRegression(Struct, frozen=True):
    """Eq. (4) at one pair of clocks: beta_0 and beta_1 in W, beta_2 without unit, and what residuals say.

    `density_min`, `density_max`: of the slices it was fitted to. `memory_mhz`: None when
    no run tells it. A clock with too few runs is pooled with its
    neighbour: the clocks are then the means of the runs.
    """

    core_mhz: float
    memory_mhz: float | None
    density_min: float
    density_max: float
    beta_0_w: Coefficient
    beta_1_w: Coefficient
    beta_2: Coefficient
    diagnostics: RegressionDiagnostics

    def power_w(self, sm_saturation: float, arithmetic_density: float) -> float:
        """Eq. (4) in watts, at the nearest density it was fitted to: no power law is extrapolated."""
        density = min(max(arithmetic_density, self.density_min), self.density_max)
        return slice_power_w(
            self.beta_0_w.value, self.beta_1_w.value, self.beta_2.value, sm_saturation, density
        )


class RegressionDomain(Struct, frozen=True):
    """What the training runs span; clocks are those of the coefficients.

    `no_density_share_max`: the largest share of a run's statements in slices that touch no memory.
    """

    density_min: float
    density_max: float
    saturation_min: float
    saturation_max: float
    no_density_share_max: float

    def notes(self, slices: Sequence[SliceSample]) -> tuple[str, ...]:
        """What of a run lies outside: the largest such slice speaks for all, unless they are negligible."""
        dense = dense_slices(slices)
        total = sum(part.weight for part in slices)
        densities = [(part.arithmetic_density, part.weight) for part in dense]
        saturations = [(part.sm_saturation, part.weight) for part in dense]
        notes: tuple[str, ...] = ()
        for what, values, low, high in (
            ("arithmetic density", densities, self.density_min, self.density_max),
            ("SM saturation", saturations, self.saturation_min, self.saturation_max),
        ):
            outside = [(weight, value) for value, weight in values if not _measured(value, low, high)]
            if sum(weight for weight, _ in outside) > NEGLIGIBLE_SHARE * total:
                notes += outside_fitted_range(what, max(outside)[1], low, high)
        share = 1.0 - sum(part.weight for part in dense) / total
        if share > self.no_density_share_max + NEGLIGIBLE_SHARE:
            notes += (
                f"{share:.0%} of the statements are in slices that touch no memory, at most "
                f"{self.no_density_share_max:.0%} when trained: they count as the mean of the others",
            )
        return notes


class TrainedRegression(Struct, frozen=True):
    """A regression trained for one GPU. `clocks`: at least one, by memory clock, then core clock, ascending.

    `runs_without_density`: training runs that eq. (4) cannot speak about, left out.
    """

    gpu_id: str
    clocks: tuple[ClockRegression, ...]
    domain: RegressionDomain
    runs_without_density: int
    interval: Interval

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.REGRESSION`"""
        return ModelKind.REGRESSION

    def with_interval(self, interval: Interval) -> TrainedRegression:
        """The same coefficients with another interval."""
        return replace(self, interval=interval)

    def predict(self, subject: Subject) -> Prediction:
        """Watts by eq. (4) and (12), between the neighbouring clocks; outside of all, at the nearest.

        Unknown for another GPU, without slices, and when no slice touches memory.
        """
        if subject.gpu.id != self.gpu_id:
            return Prediction.unknown(
                f"the regression was trained on {self.gpu_id}, and its coefficients hold for no other GPU"
            )
        if not subject.slices:
            return Prediction.unknown("no slices were computed")
        slices = dense_slices(subject.slices)
        if not slices:
            return Prediction.unknown("arithmetic density undefined: no slice touches memory")
        notes = self.domain.notes(subject.slices)
        levels = self._memory_levels()
        memory_mhz = subject.clocks.memory_mhz
        measured = tuple(level[0].memory_mhz for level in levels if level[0].memory_mhz is not None)
        if memory_mhz is None or not measured:
            shares = ((levels[-1], 1.0),)
        else:
            low, high, share = _neighbours(measured, memory_mhz)
            shares = ((levels[low], 1.0 - share), (levels[high], share))
            notes += _clock_notes("memory clock", memory_mhz, measured)
        core_mhz = core_clock_mhz(subject.gpu, subject.clocks)
        power_w = 0.0
        for level, share in shares:
            if share:
                power_w += share * _at_core_clock(level, core_mhz, slices)
                notes += _clock_notes("core clock", core_mhz, tuple(entry.core_mhz for entry in level))
        notes = tuple(dict.fromkeys(notes))
        return self.interval.around(power_w, in_domain=not notes, notes=notes)

    def _memory_levels(self) -> tuple[tuple[ClockRegression, ...], ...]:
        """The sets of each memory clock, ascending."""
        return tuple(
            tuple(entry for entry in self.clocks if entry.memory_mhz == memory_mhz)
            for memory_mhz in dict.fromkeys(entry.memory_mhz for entry in self.clocks)
        )


def _at_core_clock(level: Sequence[ClockRegression], core_mhz: float, slices: Sequence[DenseSlice]) -> float:
    """Watts of a run at one memory clock, interpolated between its core clocks."""
    low, high, share = _neighbours(tuple(entry.core_mhz for entry in level), core_mhz)
    return (1.0 - share) * _run_power_w(level[low], slices) + share * _run_power_w(level[high], slices)


def _run_power_w(entry: ClockRegression, slices: Sequence[DenseSlice]) -> float:
    power_w = branch_sparse_power_w(
        tuple(
            SlicePower(entry.power_w(part.sm_saturation, part.arithmetic_density), part.weight)
            for part in slices
        )
    )
    assert power_w is not None, "a dense slice has weight"
    return power_w


def _neighbours(ascending: tuple[float, ...], value: float) -> tuple[int, int, float]:
    """Indices of the neighbours of `value`, and the share of the second; the nearest end twice outside."""
    above = bisect.bisect_left(ascending, value)
    if above == 0 or above == len(ascending):
        end = min(above, len(ascending) - 1)
        return end, end, 0.0
    low, high = ascending[above - 1], ascending[above]
    return above - 1, above, (value - low) / (high - low)


def _measured(value: float, low: float, high: float) -> bool:
    return low * (1.0 - TOLERANCE) <= value <= high * (1.0 + TOLERANCE)


def _clock_notes(what: str, mhz: float, ascending: tuple[float, ...]) -> tuple[str, ...]:
    low, high = ascending[0], ascending[-1]
    if _measured(mhz, low, high):
        return ()
    nearest = low if mhz < low else high
    measured = f"[{low:g}, {high:g}] MHz" if low < high else f"{low:g} MHz"
    return (f"{what} {mhz:g} MHz outside of those measured, {measured}: watts are those at {nearest:g} MHz",)
