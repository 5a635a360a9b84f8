"""Fits an `EnergyModel` to measured watts and seconds. Needs numpy and scipy; predicting needs neither.

Watts are linear in idle power, leakage, active power and the energies, once the voltage curve is known. So:
non-negative least squares of relative errors, reweighted by Huber's rule, for each curve of a small grid; the
best curve wins. Rates are work over *measured* time, so that errors of the time model do not bend energies.

What live values draw more than idle ones is fitted first, from matched pairs of runs (`energy_pairs`), where
there are any; the rest is fitted to what is left of the watts. Idle multipliers draw their issue only.

A weak prior (ridge towards orders of magnitude known from the literature) decides what the measurements leave
open: how a sum of energies splits among components that always occur together, and the energy of a component
that no training kernel uses.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import UNCALIBRATED, Example, ModelKind, NotEnoughDataError
from wattslice_models.energy import Component, ComponentEnergy, EnergyModel, VoltageCurve
from wattslice_models.energy_pairs import LiveEnergies, MatchedPairs, live_energies, matched_pairs
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.energy_rows import Array, TimedRow, WorkRates, work_rates
from wattslice_models.energy_time_fit import fit_time
from wattslice_models.gpu import Gpu
from wattslice_models.robust import huber_nnls

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


class EnergyLearner(Struct, frozen=True):
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
            TimedRow(example, example.time_s)
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


class _Solution(Struct, frozen=True):
    """Watts and energies that fit best at one voltage curve. `watts`: idle, leakage, active."""

    watts: tuple[float, float, float]
    energies: tuple[ComponentEnergy, ...]
    voltage: VoltageCurve
    loss: float


def _fit(rows: tuple[TimedRow, ...], gpu: Gpu) -> EnergyModel:
    work = work_rates(rows, gpu)
    pairs = matched_pairs(rows, work)
    kernels = {(row.example.benchmark, row.example.kernel, row.example.arguments) for row in rows}
    # Runs of one kernel at ten clocks are one piece of evidence, not ten.
    prior_weight = MEASUREMENT_NOISE * (len(rows) / len(kernels)) ** 0.5
    reference_mhz = float(work.core_mhz.max())
    best = min(
        (_solve(work, pairs, gpu, curve, prior_weight) for curve in _voltage_curves(reference_mhz)),
        key=lambda solution: solution.loss,
    )
    idle_w, leakage_w, active_w = best.watts
    return EnergyModel(
        gpu_id=gpu.id,
        measured_on=gpu.id,
        idle_w=idle_w,
        leakage_w=leakage_w,
        active_w=active_w,
        energies=best.energies,
        voltage=best.voltage,
        time=fit_time(rows),
        core_mhz_min=float(work.core_mhz.min()),
        core_mhz_max=reference_mhz,
        interval=UNCALIBRATED,
        notes=(),
    )


def _voltage_curves(reference_mhz: float) -> list[VoltageCurve]:
    flat = VoltageCurve(1.0, KNEE_SHARES[0] * reference_mhz, reference_mhz)
    return [flat] + [
        VoltageCurve(floor, share * reference_mhz, reference_mhz)
        for floor in VOLTAGE_FLOORS
        if floor < 1.0
        for share in KNEE_SHARES
    ]


def _solve(
    work: WorkRates, pairs: MatchedPairs, gpu: Gpu, curve: VoltageCurve, prior_weight: float
) -> _Solution:
    """The best watts and energies at one voltage curve."""
    voltage = np.array([curve.relative_voltage(mhz) for mhz in work.core_mhz])
    live = live_energies(pairs, work, voltage)
    prior_j = 1e-12 * np.array([_prior_pj(component, gpu) for component in work.components])
    rates = work.rates.copy()
    # Idle multipliers draw nothing but their issue; what live ones draw is known already where pairs tell it.
    multiplier = work.column(Component.FP32)
    rates[:, multiplier] = 0.0 if live else work.live[:, multiplier]
    explained_w = live.watts(work, voltage) if live else np.zeros_like(voltage)
    squares = np.repeat(voltage[:, None] ** 2, len(work.components), axis=1)
    squares[:, work.column(Component.DRAM)] = 1.0
    active = work.clocked * voltage**2 * work.core_mhz / curve.reference_mhz
    columns = np.column_stack([np.ones_like(voltage), voltage, active, rates * squares])
    # In units of the prior (watts stay watts) all unknowns are about 1, and tolerances meaningful.
    units = np.concatenate([np.ones(3), prior_j])
    found = huber_nnls(
        columns * units / work.power_w[:, None],
        1.0 - explained_w / work.power_w,
        np.concatenate([np.zeros(3), np.full(len(prior_j), prior_weight)]),
    )
    idle_w, leakage_w, active_w, *energies_j = (float(value) for value in found.solution * units)
    return _Solution(
        (idle_w, leakage_w, active_w),
        _energies(work, energies_j, _seen(work, prior_j), live),
        curve,
        found.loss + (live.loss if live else 0.0),
    )


def _seen(work: WorkRates, prior_j: Array) -> list[bool]:
    """Whether any run does enough in a component to show: SEEN_SHARE of its watts at the prior energy."""
    rates = work.rates.copy()
    multiplier = work.column(Component.FP32)
    rates[:, multiplier] = work.live[:, multiplier]
    shares = rates * prior_j / work.power_w[:, None]
    return [bool(column.max() > SEEN_SHARE) for column in shares.T]


def _energies(
    work: WorkRates, fitted_j: list[float], seen: list[bool], live: LiveEnergies | None
) -> tuple[ComponentEnergy, ...]:
    """The energies of all components, those of live data put beside those of idle data."""
    found = {
        component: ComponentEnergy(component, energy_j, energy_j, was_seen)
        for component, energy_j, was_seen in zip(work.components, fitted_j, seen, strict=True)
    }
    multiplier, dram = found[Component.FP32], found[Component.DRAM]
    multiplier_j = live.multiplier_j if live else multiplier.energy_j
    found[Component.FP32] = replace(multiplier, energy_j=multiplier_j, idle_energy_j=0.0)
    found[Component.INTEGER_MULTIPLY] = replace(found[Component.FP32], component=Component.INTEGER_MULTIPLY)
    if live:
        found[Component.DRAM] = replace(dram, energy_j=dram.idle_energy_j + live.dram_byte_j)
    return tuple(found.values())


def _prior_pj(component: Component, gpu: Gpu) -> float:
    if component is Component.DRAM and gpu.memory_type.startswith("HBM"):
        return PRIOR_HBM_PJ
    return PRIOR_PJ[component]
