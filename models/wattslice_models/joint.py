"""One power model of all boards: what they share, and what each measured board has of its own.

    P   = S + limit · (W / limit)^γ, at most the board's power limit
    S   = I_b + M_b · (memory clock / full) + A_b · (κ + (1 - κ) · awake SMs) · v² · f/f0
    W   = v² · Σ_c e_c · exp(g″ · HBM + h_b,level + h_b,group(c)) · rate_c
          + e_DRAM · exp(... + h_b,DRAM) · rate_DRAM
    I_b = exp(i0) · (limit / 250 W)^t · exp(g · HBM + g' · GDDR5 + h_b,static), M_b and A_b alike
    v   = soft maximum of a floor and 1 + (s + h_b,voltage) · (f/f0 - 1), f0 the catalogue's boost clock

γ < 1: regulators, temperature and the chip's own throttling make a watt of work count for less near the
limit. The e_c and the other `Term`s are one for all boards; the h_b (`Effect`s) have a prior around 0, so
that a board nobody measured has the shared model, and one with many readings has its own. `joint_fit` finds
both; docs/energy-model.md tells of what.
"""

from __future__ import annotations

import math
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.contract import Example, Interval
from wattslice_models.energy import (
    DYNAMIC_COMPONENTS,
    MULTIPLIERS,
    Case,
    Component,
    ComponentEnergy,
    EnergyModel,
    NoEnergyModel,
    VoltageCurve,
)
from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS
from wattslice_models.gpu import Gpu, chip_of


class Term(StrEnum):
    """What all boards share; the values are the names in the stored model."""

    IDLE = "ln idle W"
    MEMORY_CLOCK = "ln memory clock W"
    ACTIVE = "ln active W"
    SIZE = "exponent of the power limit"
    HBM_STATIC = "HBM on idle and memory clock"
    HBM_ACTIVE = "HBM on active"
    HBM_CHIP = "HBM on the chip's work"
    GDDR5_STATIC = "GDDR5 on idle and memory clock"
    CLOCKED_SHARE = "clocked share without busy SMs"
    IDLE_CLOCKS = "clocked share of an idle board"
    CONCAVITY = "ln exponent of the work"
    VOLTAGE_SLOPE = "slope of the voltage"
    VOLTAGE_FLOOR = "floor of the voltage"
    FP32 = "ln pJ fp32"
    FP64 = "ln pJ fp64"
    FP16 = "ln pJ fp16"
    INTEGER = "ln pJ integer"
    SPECIAL = "ln pJ special"
    TENSOR = "ln pJ tensor"
    ISSUE = "ln pJ issue"
    SHARED = "ln pJ shared memory"
    L1 = "ln pJ L1"
    L2 = "ln pJ L2"
    DRAM = "ln pJ DRAM"
    HBM_DRAM = "HBM on DRAM"
    PROCESS_DRAM = "exponent of the process on DRAM"
    IDLE_OPERANDS = "ln energy of idle operands"
    IDLE_DATA = "ln energy of idle data"
    PEAK_LABEL = "ln label of highest samples"


class Effect(StrEnum):
    """What a board has of its own; the values are the names in the stored model."""

    LEVEL = "level"
    COMPUTE = "compute"
    ON_CHIP = "memory inside the chip"
    DRAM = "DRAM"
    STATIC = "static"
    ACTIVE = "active"
    VOLTAGE = "voltage"


class Prior(Struct, frozen=True):
    """A normal distribution: mean and standard deviation of a term's value."""

    mean: float
    deviation: float


PRIORS: dict[Term, Prior] = {
    Term.IDLE: Prior(math.log(20.0), 0.5),
    Term.MEMORY_CLOCK: Prior(math.log(20.0), 0.5),
    Term.ACTIVE: Prior(math.log(35.0), 0.5),
    Term.SIZE: Prior(0.88, 0.15),
    Term.HBM_STATIC: Prior(0.0, 0.7),
    Term.HBM_ACTIVE: Prior(0.0, 0.7),
    Term.HBM_CHIP: Prior(0.0, 0.5),
    Term.GDDR5_STATIC: Prior(0.0, 0.35),
    Term.CLOCKED_SHARE: Prior(0.45, 0.15),
    Term.IDLE_CLOCKS: Prior(0.2, 0.15),
    Term.CONCAVITY: Prior(math.log(0.87), 0.1),
    Term.VOLTAGE_SLOPE: Prior(0.60, 0.15),
    Term.VOLTAGE_FLOOR: Prior(0.73, 0.05),
    Term.FP32: Prior(math.log(14.0), 0.5),
    Term.FP64: Prior(math.log(16.0), 0.5),
    Term.FP16: Prior(math.log(3.0), 0.7),
    Term.INTEGER: Prior(math.log(5.0), 0.5),
    Term.SPECIAL: Prior(math.log(12.0), 0.7),
    Term.TENSOR: Prior(math.log(2.0), 0.5),
    Term.ISSUE: Prior(math.log(120.0), 0.5),
    Term.SHARED: Prior(math.log(5.0), 0.5),
    Term.L1: Prior(math.log(6.0), 0.5),
    Term.L2: Prior(math.log(25.0), 0.5),
    Term.DRAM: Prior(math.log(100.0), 0.4),
    Term.HBM_DRAM: Prior(math.log(0.6), 0.3),
    Term.PROCESS_DRAM: Prior(0.0, 0.3),
    Term.IDLE_OPERANDS: Prior(math.log(0.4), 0.5),
    Term.IDLE_DATA: Prior(math.log(0.6), 0.3),
    Term.PEAK_LABEL: Prior(0.034, 0.04),
}
EFFECT_DEVIATIONS = {
    Effect.LEVEL: 0.25,
    Effect.COMPUTE: 0.25,
    Effect.ON_CHIP: 0.25,
    Effect.DRAM: 0.25,
    Effect.STATIC: 0.35,
    Effect.ACTIVE: 0.35,
    Effect.VOLTAGE: 0.15,
}
"""Standard deviation of each effect over boards, whose mean is 0."""
LABEL_DEVIATION = 0.04
"""Standard deviation, over data sets, of the logarithm of what a data set reads too high."""
SIZE_W = 250.0
"""Power limit to which static watts are related."""

ENERGY_TERMS = {
    Component.FP32: Term.FP32,
    Component.FP64: Term.FP64,
    Component.FP16: Term.FP16,
    Component.INTEGER: Term.INTEGER,
    Component.INTEGER_MULTIPLY: Term.FP32,
    Component.SPECIAL: Term.SPECIAL,
    Component.TENSOR: Term.TENSOR,
    Component.ISSUE: Term.ISSUE,
    Component.SHARED: Term.SHARED,
    Component.L1: Term.L1,
    Component.L2: Term.L2,
    Component.DRAM: Term.DRAM,
}
"""The term of each component; the same units multiply fp32 and integers since Volta."""
_GROUPS = {Component.SHARED: Effect.ON_CHIP, Component.L1: Effect.ON_CHIP, Component.L2: Effect.ON_CHIP}
GROUPS = {
    component: _GROUPS.get(component, Effect.COMPUTE)
    for component in DYNAMIC_COMPONENTS
    if component is not Component.DRAM
}
"""The group of each component inside the chip."""


class Coefficient(Struct, frozen=True):
    """The value of a term."""

    term: Term
    value: float


class BoardEffect(Struct, frozen=True):
    """What a board has of its own in one respect, with the standard deviation that its runs leave open."""

    effect: Effect
    value: float
    deviation: float


class Board(Struct, frozen=True):
    """A measured board: `runs` that taught, of so many `programs`, its effects in the order of `Effect`.

    `sensor_peak`: highest measured watts over the catalogue's limit, at least 1 (it never reached it).
    """

    gpu_id: str
    runs: int
    programs: int
    core_mhz_min: float
    core_mhz_max: float
    sensor_peak: float
    effects: tuple[BoardEffect, ...]


class Label(Struct, frozen=True):
    """Logarithm of what a data set reads higher than the model, beyond what its kind of label explains."""

    gpu_id: str
    dataset: str
    value: float


class CaseInterval(Struct, frozen=True):
    """The interval of measured / predicted watts in one case; `doubted`: of workloads with a `doubt`."""

    case: Case
    interval: Interval
    doubted: Interval

    def of(self, example: Example) -> Interval:
        """That of one run."""
        return self.doubted if example.doubt else self.interval


class JointModel(Struct, frozen=True):
    """The coefficients of all boards. `seen`: components that a training run shows; others are presumed."""

    coefficients: tuple[Coefficient, ...]
    boards: tuple[Board, ...]
    labels: tuple[Label, ...]
    seen: tuple[Component, ...]
    intervals: tuple[CaseInterval, ...]

    def value(self, term: Term) -> float:
        """The value of a term. Raises ``KeyError``."""
        for coefficient in self.coefficients:
            if coefficient.term is term:
                return coefficient.value
        raise KeyError(term)

    def board(self, gpu_id: str) -> Board | None:
        """What was measured of a board."""
        return next((board for board in self.boards if board.gpu_id == gpu_id), None)

    def intervals_of(self, case: Case) -> CaseInterval:
        """The intervals of a case. Raises ``KeyError``."""
        for entry in self.intervals:
            if entry.case is case:
                return entry
        raise KeyError(case)


SINCE_VOLTA = (7, 0)
"""Compute capability from which on boards keep to their limit."""
KIN_SHARE = 0.5
"""Of what boards of one compute capability have of their own the part that a further one of them shares."""
KIN_PROGRAMS = 5
"""Programs from which on a board's own and its programs' own can be told apart."""


def prior_effects(model: JointModel, gpu: Gpu) -> tuple[BoardEffect, ...]:
    """What is known of a board before any reading of it: its own runs, else half of what the measured boards
    of its compute capability have in common, else nothing but how boards differ.
    """
    board = model.board(gpu.board_id)
    if board is not None:
        return board.effects
    chip = gpu.compute_capability
    kin = [
        one.effects for one in model.boards if one.programs >= KIN_PROGRAMS and chip_of(one.gpu_id)[1] == chip
    ]
    if not kin:
        return no_effects()
    return tuple(
        replace(entry, value=KIN_SHARE * math.fsum(own.value for own in others) / len(others))
        for entry, others in zip(no_effects(), zip(*kin, strict=True), strict=True)
    )


def no_effects() -> tuple[BoardEffect, ...]:
    """What is known of a board that is like no other: nothing but how boards differ."""
    return tuple(BoardEffect(effect, 0.0, deviation) for effect, deviation in EFFECT_DEVIATIONS.items())


def energy_model_of(
    model: JointModel, gpu: Gpu, calibrated: tuple[BoardEffect, ...] | None = None
) -> EnergyModel | NoEnergyModel:
    """The joint model for one GPU, with `calibrated` effects of the user's board, else those known of it.

    None for a chip unlike all measured ones, or without a power limit to relate watts to.
    """
    if not gpu.architecture.is_like_measured:
        differ = "chips differ too much from every measured one (caches, issue, process)"
        return NoEnergyModel(gpu.id, f"{gpu.architecture.name} {differ}")
    if gpu.design_power_w is None:
        return NoEnergyModel(
            gpu.id, f"the power limit of the {gpu.name} is unknown, and nothing to scale with"
        )
    board = model.board(gpu.board_id)
    known = calibrated if calibrated is not None else prior_effects(model, gpu)
    effects = {entry.effect: entry.value for entry in known}
    case = Case.CALIBRATED if calibrated is not None else Case.MEASURED if board else Case.CARRIED_OVER
    hbm = has_hbm(gpu)
    size = model.value(Term.SIZE) * math.log(gpu.design_power_w / SIZE_W)
    static = size + model.value(Term.HBM_STATIC) * hbm + effects[Effect.STATIC]
    static += model.value(Term.GDDR5_STATIC) * has_gddr5(gpu)
    active = size + model.value(Term.HBM_ACTIVE) * hbm + effects[Effect.ACTIVE]
    lowest, highest = (
        (0.0, gpu.boost_clock_mhz) if board is None else (board.core_mhz_min, board.core_mhz_max)
    )
    return EnergyModel(
        gpu_id=gpu.id,
        case=case,
        idle_w=math.exp(model.value(Term.IDLE) + static),
        memory_clock_w=math.exp(model.value(Term.MEMORY_CLOCK) + static),
        active_w=math.exp(model.value(Term.ACTIVE) + active),
        clocked_share=model.value(Term.CLOCKED_SHARE),
        reference_w=gpu.design_power_w,
        concavity=math.exp(model.value(Term.CONCAVITY)),
        energies=tuple(_energy(model, component, gpu, effects) for component in DYNAMIC_COMPONENTS),
        voltage=VoltageCurve(
            model.value(Term.VOLTAGE_FLOOR),
            max(0.0, model.value(Term.VOLTAGE_SLOPE) + effects[Effect.VOLTAGE]),
            gpu.boost_clock_mhz,
        ),
        time=DEFAULT_TIME_PARAMETERS,
        core_mhz_min=lowest,
        core_mhz_max=highest,
        interval=model.intervals_of(case).interval,
        doubted=model.intervals_of(case).doubted,
        sensor_peak=sensor_peak(model, gpu, board),
        notes=(_note(model, board, case),) if board is None or calibrated is not None else (),
    )


def sensor_peak(model: JointModel, gpu: Gpu, board: Board | None = None) -> float:
    """How far above its limit the board was seen; of one that never was there, how far boards of its age
    were: those before Volta reach 1.23 of it, later ones 1.01.
    """
    if board is not None and board.sensor_peak > 1.0:
        return board.sensor_peak
    is_old = gpu.compute_capability < SINCE_VOLTA
    kin = (one for one in model.boards if (chip_of(one.gpu_id)[1] < SINCE_VOLTA) is is_old)
    return max((one.sensor_peak for one in kin), default=1.0)


def has_hbm(gpu: Gpu) -> float:
    """1 for a board with high-bandwidth memory, else 0."""
    return 1.0 if gpu.memory_type.startswith("HBM") else 0.0


def has_gddr5(gpu: Gpu) -> float:
    """1 for a board with GDDR5, GDDR5X or older, else 0: their interfaces idle at more watts."""
    return 1.0 if gpu.memory_type in ("GDDR3", "GDDR5", "GDDR5X") else 0.0


def log_process(gpu: Gpu) -> float:
    """ln(process / 12 nm); 0 when the process is unknown."""
    return 0.0 if gpu.process_nm is None else math.log(gpu.process_nm / 12.0)


def _energy(
    model: JointModel, component: Component, gpu: Gpu, effects: dict[Effect, float]
) -> ComponentEnergy:
    logarithm = model.value(ENERGY_TERMS[component])
    idle = 0.0
    if component is Component.DRAM:
        logarithm += model.value(Term.HBM_DRAM) * has_hbm(gpu) + effects[Effect.DRAM]
        logarithm += model.value(Term.PROCESS_DRAM) * log_process(gpu)
        idle = model.value(Term.IDLE_DATA)
    else:
        logarithm += model.value(Term.HBM_CHIP) * has_hbm(gpu)
        logarithm += effects[Effect.LEVEL] + effects[GROUPS[component]]
        idle = model.value(Term.IDLE_OPERANDS) if component in MULTIPLIERS else 0.0
    energy_j = 1e-12 * math.exp(logarithm)
    return ComponentEnergy(component, energy_j, energy_j * math.exp(idle), component in model.seen)


def _note(model: JointModel, board: Board | None, case: Case) -> str:
    others = f"{len(model.boards)} measured boards"
    if case is Case.CALIBRATED:
        return "coefficients calibrated by readings of this board"
    return f"coefficients shared by {others}: none of them is this one"
