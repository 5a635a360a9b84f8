"""Learns a `TrainedRegression`: nonlinear least squares of relative errors. Needs numpy and scipy.

Errors are relative because a table of models compares those, and because watts at ten clocks differ more than
the noise; as ln(predicted / measured), which too much and too little bend alike: predicted / measured - 1
would let a run measured five times too low pull five times as hard. Their loss is robust, SciPy's soft L1:
quadratic up to a scale that follows from the residuals themselves (Huber's constant times their median
absolute value), linear beyond, so that a run measured wrongly hardly counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import optimize, stats  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.contract import Example, ModelKind, NotEnoughDataError
from wattslice_models.execution_time import core_clock_mhz
from wattslice_models.mean import UNCALIBRATED
from wattslice_models.residual_tests import diagnostics, unit_columns
from wattslice_models.trained_regression import (
    ClockRegression,
    Coefficient,
    RegressionDomain,
    TrainedRegression,
    dense_slices,
)

Array = NDArray[np.float64]
_optimize: Any = optimize  # scipy has no types
_stats: Any = stats

LEAST_RUNS = 8
"""Runs for a set of coefficients of its own: three coefficients, and something left to test."""
CONFIDENCE = 0.95
EXPONENTS = (-1.0, 1.0)
"""Bounds of beta_2. The paper prints 0.1 to 0.2; below 0 watts fall as density grows."""
START_EXPONENTS = (0.2, -0.2)
"""Watts that rise and watts that fall with density can each be a minimum of the loss."""
HUBER_TUNING = 1.345
"""Huber's constant: 95 % efficiency for normal errors, in units of their robust standard deviation."""
FIRST_SCALE, LEAST_SCALE = 0.1, 0.01
"""Relative errors below the least are never outliers: sensors repeat no better."""
SCALE_ROUNDS = 3
ROUGHLY, EXACTLY = 1e-4, 1e-8
"""Tolerances: to choose among the starts, and of the coefficients."""
AT_BOUND = 1e-4
"""Nearer than this to its bound (watts: relative to those measured) a coefficient lies at it."""
SINGULAR = 1e-7
"""Columns of the Jacobian (scaled to length 1) whose smallest singular value is below this are dependent."""


class RegressionLearner(Struct, frozen=True):
    """Learns the regression of one GPU."""

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.REGRESSION`"""
        return ModelKind.REGRESSION

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> TrainedRegression:
        """The coefficients at each clock measured. Needs no `seed`: the same examples, the same model.

        Runs none of whose slices has a density are left out. Raises `NotEnoughDataError` for fewer than
        `LEAST_RUNS` others, ``ValueError`` for examples of several GPUs.
        """
        gpu_ids = sorted({example.subject.gpu.id for example in examples})
        if len(gpu_ids) > 1:
            raise ValueError(f"examples of {', '.join(gpu_ids)}: train the regression on one GPU at a time")
        runs = tuple(run for run in map(_run, examples) if run is not None)
        if len(runs) < LEAST_RUNS:
            raise NotEnoughDataError(f"{len(runs)} run(s) with a density: at least {LEAST_RUNS} are needed")
        highest = max((run.memory_mhz for run in runs if run.memory_mhz is not None), default=None)
        clocks: list[ClockRegression] = []
        for level in _by_clock(runs, lambda run: run.memory_mhz or highest or 0.0):
            known = [run.memory_mhz for run in level if run.memory_mhz is not None]
            memory_mhz = math.fsum(known) / len(known) if known else None
            groups = _by_clock(level, lambda run: run.core_mhz)
            clocks += (_at_clock(group, memory_mhz) for group in groups)
        left_out = len(examples) - len(runs)
        return TrainedRegression(gpu_ids[0], tuple(clocks), _domain(runs), left_out, UNCALIBRATED)


class _Run(Struct, frozen=True):
    """An example as the fit sees it; weights of the dense slices add up to 1."""

    densities: tuple[float, ...]
    saturations: tuple[float, ...]
    weights: tuple[float, ...]
    no_density_share: float
    core_mhz: float
    memory_mhz: float | None
    power_w: float
    name: tuple[str, str, str]

    @property
    def order(self) -> tuple[object, ...]:
        """Sorts by mean density, ties by mean saturation, then by name."""
        pairs = (self.densities, self.saturations)
        means = (math.fsum(w * x for w, x in zip(self.weights, values, strict=True)) for values in pairs)
        return (*means, self.name)


def _run(example: Example) -> _Run | None:
    slices = dense_slices(example.subject.slices)
    if not slices:
        return None
    total = math.fsum(part.weight for part in slices)
    gpu, clocks = example.subject.gpu, example.subject.clocks
    return _Run(
        densities=tuple(part.arithmetic_density for part in slices),
        saturations=tuple(part.sm_saturation for part in slices),
        weights=tuple(part.weight / total for part in slices),
        no_density_share=1.0 - total / math.fsum(part.weight for part in example.subject.slices),
        core_mhz=core_clock_mhz(gpu, clocks),
        memory_mhz=clocks.memory_mhz,
        power_w=example.power_w,
        name=(example.benchmark, example.kernel, example.arguments),
    )


def _domain(runs: Sequence[_Run]) -> RegressionDomain:
    densities = [density for run in runs for density in run.densities]
    saturations = [saturation for run in runs for saturation in run.saturations]
    no_density = max(run.no_density_share for run in runs)
    return RegressionDomain(min(densities), max(densities), min(saturations), max(saturations), no_density)


def _by_clock(runs: Sequence[_Run], mhz: Callable[[_Run], float]) -> list[list[_Run]]:
    """Runs of equal clock (to 1 MHz) together, ascending; those with too few join their nearer neighbour."""
    groups: dict[int, list[_Run]] = {}
    for run in sorted(runs, key=mhz):
        groups.setdefault(round(mhz(run)), []).append(run)
    found = list(groups.values())

    def centre(group: Sequence[_Run]) -> float:
        return math.fsum(map(mhz, group)) / len(group)

    while len(found) > 1 and (small := min(found, key=len)) and len(small) < LEAST_RUNS:
        at = found.index(small)
        beside = [i for i in (at - 1, at + 1) if 0 <= i < len(found)]
        other = min(beside, key=lambda i: abs(centre(found[i]) - centre(small)))
        low, high = sorted((at, other))
        found[low : high + 1] = [found[low] + found[high]]
    return found


class _Design(Struct, frozen=True):
    """The runs of one clock as arrays: slices one after another, `starts` the first slice of each run."""

    densities: Array
    logs: Array
    """ln Ã; 0 for Ã = 0, where no power of a positive exponent changes."""
    weights: Array
    starts: NDArray[np.intp]
    saturation: Array
    """Mean of each run: eq. (12) is linear in Sa."""
    power_w: Array

    @property
    def least_exponent(self) -> float:
        """The lower bound of beta_2: at Ã = 0 a negative one has no watts."""
        return EXPONENTS[0] if self.densities.min() > 0 else 0.0

    @classmethod
    def of(cls, runs: Sequence[_Run]) -> _Design:
        densities = np.array([density for run in runs for density in run.densities])
        weights = np.array([weight for run in runs for weight in run.weights])
        saturations = np.array([saturation for run in runs for saturation in run.saturations])
        starts = np.cumsum([0] + [len(run.weights) for run in runs[:-1]])
        return cls(
            densities=densities,
            logs=np.log(np.where(densities > 0, densities, 1.0)),
            weights=weights,
            starts=starts,
            saturation=np.add.reduceat(weights * saturations, starts),
            power_w=np.array([run.power_w for run in runs]),
        )

    def columns(self, exponent: float) -> Array:
        """What beta_0 and beta_1 multiply in the watts of each run, shape (runs, 2)."""
        powers = np.add.reduceat(self.weights * self.densities**exponent, self.starts)
        return np.column_stack([self.saturation, powers])

    def errors(self, beta: Array) -> Array:
        """ln(predicted / measured), shape (runs,)."""
        return np.log(self.columns(beta[2]) @ beta[:2] / self.power_w)

    def jacobian(self, beta: Array) -> Array:
        """Derivatives of the errors by beta, shape (runs, 3)."""
        columns = self.columns(beta[2])
        slopes = np.add.reduceat(self.weights * self.densities ** beta[2] * self.logs, self.starts)
        return np.column_stack([columns, beta[1] * slopes]) / (columns @ beta[:2])[:, None]


class _Solution(Struct, frozen=True):
    """beta_0, beta_1, beta_2, and the scale of the loss that they minimise."""

    beta: Array
    scale: float

    def free(self, design: _Design) -> list[int]:
        """Indices of the coefficients at no bound; without beta_1 no watts depend on beta_2."""
        beta_0_w, beta_1_w, beta_2 = self.beta
        watts = AT_BOUND * float(np.median(design.power_w))
        free = [0] if beta_0_w > watts else []
        if beta_1_w > watts:
            free.append(1)
            if min(beta_2 - design.least_exponent, EXPONENTS[1] - beta_2) > AT_BOUND:
                free.append(2)
        return free


def _at_clock(runs: Sequence[_Run], memory_mhz: float | None) -> ClockRegression:
    """Eq. (4) fitted to the runs of one core clock at `memory_mhz`."""
    runs = sorted(runs, key=lambda run: run.order)
    design = _Design.of(runs)
    solution = _solve(design)
    free = solution.free(design)
    errors, jacobian = design.errors(solution.beta), design.jacobian(solution.beta)[:, free]
    half_widths = dict(zip(free, _half_widths(errors, jacobian, solution.scale), strict=True))
    beta_0_w, beta_1_w, beta_2 = (
        _coefficient(float(value), half_widths.get(index)) for index, value in enumerate(solution.beta)
    )
    return ClockRegression(
        core_mhz=math.fsum(run.core_mhz for run in runs) / len(runs),
        memory_mhz=memory_mhz,
        density_min=float(design.densities.min()),
        density_max=float(design.densities.max()),
        beta_0_w=beta_0_w,
        beta_1_w=beta_1_w,
        beta_2=beta_2,
        diagnostics=diagnostics(errors, jacobian),
    )


def _coefficient(value: float, half_width: float | None) -> Coefficient:
    if half_width is None:
        return Coefficient(value, None, None)
    return Coefficient(value, value - half_width, value + half_width)


def _solve(design: _Design) -> _Solution:
    """The best of the starts; then again with the scale that follows from its residuals."""
    starts = [_linear(design, exponent) for exponent in START_EXPONENTS if exponent > design.least_exponent]
    solution = _minimise(design, starts, FIRST_SCALE, ROUGHLY)
    for _ in range(SCALE_ROUNDS):
        spread = 1.4826 * float(np.median(np.abs(design.errors(solution.beta))))
        solution = _minimise(design, [solution.beta], max(LEAST_SCALE, HUBER_TUNING * spread), EXACTLY)
    return solution


def _minimise(design: _Design, starts: Sequence[Array], scale: float, tolerance: float) -> _Solution:
    found = [
        _optimize.least_squares(
            design.errors,
            start,
            design.jacobian,
            bounds=([0.0, 0.0, design.least_exponent], [np.inf, np.inf, EXPONENTS[1]]),
            x_scale="jac",
            loss="soft_l1",
            f_scale=scale,
            xtol=tolerance,
            ftol=tolerance,
        )
        for start in starts
    ]
    return _Solution(cast("Array", min(found, key=lambda result: result.cost).x), scale)


def _linear(design: _Design, exponent: float) -> Array:
    """Where to start: the non-negative least squares of beta_0 and beta_1 for a given beta_2."""
    columns = design.columns(exponent) / design.power_w[:, None]
    beta_0_w, beta_1_w = _optimize.nnls(columns, np.ones(len(columns)))[0]
    return np.array([beta_0_w, beta_1_w, exponent])


def _half_widths(errors: Array, jacobian: Array, scale: float) -> Sequence[float | None]:
    """Half of each confidence interval: Student's t times the standard error; None for what is undetermined.

    Variance of the errors by Huber 1981, section 7.6: sum psi² / (n - p) / mean(psi')², with psi(r) =
    r / sqrt(1 + (r / scale)²), the derivative of the soft L1 loss.
    """
    runs, count = jacobian.shape
    columns, lengths = unit_columns(jacobian)
    if count == 0 or runs <= count or np.linalg.svd(columns, compute_uv=False)[-1] < SINGULAR:
        return [None] * count
    bent = 1.0 + (errors / scale) ** 2
    variance = float((errors**2 / bent).sum()) / (runs - count) / float((bent**-1.5).mean()) ** 2
    inverse = cast("Array", np.linalg.inv(columns.T @ columns))
    quantile = float(_stats.t.ppf((1.0 + CONFIDENCE) / 2.0, runs - count))
    return [float(half) for half in quantile * np.sqrt(variance * np.diag(inverse)) / lengths]
