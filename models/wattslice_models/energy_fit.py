"""Fits an `EnergyModel` to measured watts and seconds. Needs numpy and scipy; predicting needs neither.

Watts are linear in idle power, leakage, active power and the energies, once the voltage curve is known. So:
non-negative least squares of relative errors, reweighted by Huber's rule, for each curve of a small grid; the
best curve wins. Rates are work over *measured* time, so that errors of the time model do not bend energies.

Fp32 instructions and integer multiplications have one energy: the same units make both since Volta, and of the
public microbenchmarks only an integer one works on operands that toggle (`Workload.idle_operands`).

A weak prior (ridge towards orders of magnitude known from the literature) decides what the measurements leave
open: how a sum of energies splits among components that always occur together, and the energy of a component
that no training kernel uses.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

from wattslice_models.contract import UNCALIBRATED, Example, ModelKind, NotEnoughDataError
from wattslice_models.energy import Component, ComponentEnergy, EnergyModel, VoltageCurve, component_work
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.execution_time import (
    DEFAULT_TIME_PARAMETERS,
    TimeParameters,
    core_clock_mhz,
    predict_time,
)
from wattslice_models.gpu import Gpu

Array = NDArray[np.float64]
_scipy: Any = optimize  # scipy has no types

HUBER_TUNING = 1.345
"""Huber's constant: 95 % efficiency for normal errors, in units of their robust standard deviation."""
HUBER_ROUNDS = 5

VOLTAGE_FLOORS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
KNEE_SHARES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Voltage curves tried: floor relative to the reference voltage, knee relative to the reference clock."""

PRIOR_PJ = {
    Component.FP32: 3.0,
    Component.FP64: 8.0,
    Component.FP16: 2.0,
    Component.INTEGER: 3.0,
    Component.SPECIAL: 6.0,
    Component.TENSOR: 0.5,
    Component.ISSUE: 100.0,
    Component.SHARED: 5.0,
    Component.L1: 6.0,
    Component.L2: 20.0,
    Component.DRAM: 80.0,
}
"""Orders of magnitude at 12 to 16 nm, pJ per unit of work: assumptions, scaled from Horowitz 2014
(operations, SRAM) and O'Connor et al. 2017 (DRAM), both recalled. They matter where nothing was measured."""
PRIOR_HBM_PJ = 40.0
"""The same for a byte of high-bandwidth memory."""
SEEN_SHARE = 0.01
MEASUREMENT_NOISE = 0.05
"""Relative error of one kernel's watts; a prior counts as much as a kernel that is wrong by a factor 2."""

FITTED_TIME_PARAMETERS = (
    "launch_overhead_s",
    "dram_efficiency",
    "l2_bytes_per_clock_per_sm",
    "l1_bytes_per_clock_per_sm",
    "shared_passes_per_clock",
    "issue_efficiency",
    "l2_latency_cycles",
    "dram_latency_s",
    "instructions_in_flight",
)
TIME_RANGE = 3.0
"""How far a fitted time parameter may move from its default, as a factor either way."""


@dataclass(frozen=True, slots=True)
class EnergyLearner:
    """Learns the energy model of one GPU."""

    @property
    def kind(self) -> ModelKind:
        """`ModelKind.ENERGY`"""
        return ModelKind.ENERGY

    def fit(self, examples: tuple[Example, ...], seed: int = 0) -> EnergyPowerModel:
        """The model of the GPU that all `examples` are of; `seed` plays no part.

        An example without time says nothing about energies, which are watts times seconds, and nothing is
        learnt from guessed bytes: both are passed over. Raises `NotEnoughDataError` when no example is left,
        ``ValueError`` for examples of several GPUs.
        """
        rows = tuple(
            _Row(example, example.time_s)
            for example in examples
            if example.time_s is not None and not example.doubt
        )
        if not rows:
            raise NotEnoughDataError(
                f"{len(examples)} examples, none with both the time of an iteration and bytes that could be "
                "followed: at least 1 is needed"
            )
        gpus = {example.subject.gpu.id: example.subject.gpu for example in examples}
        if len(gpus) > 1:
            raise ValueError(f"an energy model is of one GPU, not of {', '.join(gpus)}")
        (gpu,) = gpus.values()
        return EnergyPowerModel(_fit(rows, gpu))


@dataclass(frozen=True, slots=True)
class _Row:
    """An example whose time is known."""

    example: Example
    time_s: float

    @property
    def core_mhz(self) -> float:
        return core_clock_mhz(self.example.subject.gpu, self.example.subject.clocks)


def _fit(rows: tuple[_Row, ...], gpu: Gpu) -> EnergyModel:
    time = fit_time(rows, gpu)
    clocks = [row.core_mhz for row in rows]
    reference_mhz = max(clocks)
    design = _Design.of(rows, gpu, reference_mhz)
    curves = [VoltageCurve(1.0, KNEE_SHARES[0] * reference_mhz, reference_mhz)]
    curves += [
        VoltageCurve(floor, share * reference_mhz, reference_mhz)
        for floor in VOLTAGE_FLOORS
        if floor < 1.0
        for share in KNEE_SHARES
    ]
    fits = [(design.solve(curve), curve) for curve in curves]
    (_, coefficients), curve = min(fits, key=lambda fit: fit[0][0])
    idle_w, leakage_w, active_w, *energies = (float(value) for value in coefficients)
    return EnergyModel(
        gpu_id=gpu.id,
        measured_on=gpu.id,
        idle_w=idle_w,
        leakage_w=leakage_w,
        active_w=active_w,
        energies=_energies(design, energies),
        voltage=curve,
        time=time,
        core_mhz_min=min(clocks),
        core_mhz_max=reference_mhz,
        interval=UNCALIBRATED,
        notes=(),
    )


@dataclass(frozen=True, slots=True)
class _Design:
    """Columns of the linear model, before the voltage is applied; one row per measured run."""

    components: tuple[Component, ...]
    rates: Array
    """Work per measured second, shape (rows, components)."""
    active: Array
    """Active SM share x f / f_ref, shape (rows,)."""
    clocks_mhz: Array
    power_w: Array
    seen: tuple[bool, ...]
    """Whether any run does enough in a component to show: SEEN_SHARE of its watts at the prior energy."""
    prior_j: Array
    """Expected energies, shape (components,)."""
    prior_weight: float
    """Grows with the runs per kernel: runs of one kernel at ten clocks are one piece of evidence, not ten."""

    @classmethod
    def of(cls, rows: tuple[_Row, ...], gpu: Gpu, reference_mhz: float) -> _Design:
        work = [_row_work(row, gpu) for row in rows]
        rates = np.array(
            [[number / row.time_s for number in done.values()] for row, done in zip(rows, work, strict=True)]
        )
        clocks = np.array([row.core_mhz for row in rows])
        share = np.array([_active_share(row, gpu) for row in rows])
        components = tuple(work[0])
        kernels = {(row.example.benchmark, row.example.kernel, row.example.arguments) for row in rows}
        power_w = np.array([row.example.power_w for row in rows])
        prior_j = 1e-12 * np.array([_prior_pj(component, gpu) for component in components])
        shares = rates * prior_j / power_w[:, None]
        return cls(
            components=components,
            rates=rates,
            active=share * clocks / reference_mhz,
            clocks_mhz=clocks,
            power_w=power_w,
            seen=tuple(bool(column.max() > SEEN_SHARE) for column in shares.T),
            prior_weight=MEASUREMENT_NOISE * (len(rows) / len(kernels)) ** 0.5,
            prior_j=prior_j,
        )

    def solve(self, curve: VoltageCurve) -> tuple[float, Array]:
        """Huber loss of relative errors, and [idle, leakage, active, energies...] in W and J."""
        voltage = np.array([curve.relative_voltage(mhz) for mhz in self.clocks_mhz])
        squares = voltage[:, None] ** 2 * np.ones((1, len(self.components)))
        squares[:, self.components.index(Component.DRAM)] = 1.0
        columns = np.column_stack(
            [np.ones_like(voltage), voltage, self.active * voltage**2, self.rates * squares]
        )
        # In units of the prior (watts stay watts) all unknowns are about 1, and tolerances meaningful.
        units = np.concatenate([np.ones(3), self.prior_j])
        scaled = columns * units / self.power_w[:, None]
        prior = self.prior_weight * np.eye(len(units))[3:]
        target = np.full(len(prior), self.prior_weight)
        weights = np.ones_like(voltage)
        solution, errors = np.zeros(len(units)), np.zeros_like(voltage)
        for _ in range(HUBER_ROUNDS):
            root = np.sqrt(weights)
            matrix = np.vstack([scaled * root[:, None], prior])
            solution = cast("Array", _scipy.nnls(matrix, np.concatenate([root, target]))[0])
            errors = scaled @ solution - 1.0
            scale = max(1e-6, 1.4826 * float(np.median(np.abs(errors))))
            weights = np.minimum(1.0, HUBER_TUNING * scale / np.maximum(np.abs(errors), 1e-12))
        bound = 0.1
        small = np.abs(errors) <= bound
        loss = np.where(small, errors**2 / 2.0, bound * (np.abs(errors) - bound / 2.0))
        drift = float(((prior @ solution - target) ** 2).sum()) / 2.0
        return float(loss.sum()) + drift, solution * units


def _energies(design: _Design, fitted_j: list[float]) -> tuple[ComponentEnergy, ...]:
    found = tuple(map(ComponentEnergy, design.components, fitted_j, design.seen))
    multiplier = next(entry for entry in found if entry.component is Component.FP32)
    return (*found, replace(multiplier, component=Component.INTEGER_MULTIPLY))


def _prior_pj(component: Component, gpu: Gpu) -> float:
    if component is Component.DRAM and gpu.memory_type.startswith("HBM"):
        return PRIOR_HBM_PJ
    return PRIOR_PJ[component]


def _row_work(row: _Row, gpu: Gpu) -> dict[Component, float]:
    """Work of an iteration in each component that has an energy of its own to be fitted."""
    totals: dict[Component, float] = {}
    for launch in row.example.subject.launches:
        for entry in component_work(launch.workload, gpu):
            totals[entry.component] = totals.get(entry.component, 0.0) + launch.repeat * entry.number
    totals[Component.FP32] += totals.pop(Component.INTEGER_MULTIPLY)
    return totals


def _active_share(row: _Row, gpu: Gpu) -> float:
    return max(min(1.0, launch.workload.blocks / gpu.sm_count) for launch in row.example.subject.launches)


def fit_time(rows: tuple[_Row, ...], gpu: Gpu) -> TimeParameters:
    """Time parameters that make the logarithms of predicted and measured times agree best (soft L1 loss)."""
    names = FITTED_TIME_PARAMETERS
    known = {field.name for field in fields(TimeParameters)}
    assert set(names) <= known, f"not a time parameter: {set(names) - known}"
    start = np.array([getattr(DEFAULT_TIME_PARAMETERS, name) for name in names])
    upper = np.full(len(names), np.log(TIME_RANGE))
    for index, name in enumerate(names):
        if name in ("dram_efficiency", "issue_efficiency"):  # a share of a peak
            upper[index] = np.log(1.0 / start[index])

    def parameters(logs: Array) -> TimeParameters:
        values = {name: float(value) for name, value in zip(names, start * np.exp(logs), strict=True)}
        return replace(DEFAULT_TIME_PARAMETERS, **values)

    def errors(logs: Array) -> Array:
        trial = parameters(logs)
        return np.array(
            [
                np.log(
                    sum(
                        launch.repeat
                        * predict_time(launch.workload, gpu, row.example.subject.clocks, trial).time_s
                        for launch in row.example.subject.launches
                    )
                    / row.time_s
                )
                for row in rows
            ]
        )

    found = _scipy.least_squares(
        errors,
        np.zeros(len(names)),
        bounds=(-np.log(TIME_RANGE) * np.ones(len(names)), upper),
        loss="soft_l1",
        f_scale=0.1,
        diff_step=0.02,
        max_nfev=40,
    )
    return parameters(cast("Array", found.x))
