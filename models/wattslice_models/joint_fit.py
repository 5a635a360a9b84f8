"""Fits the joint model to measured watts by maximum a posteriori. Needs numpy; predicting needs nothing.

Minimised, by Gauss-Newton steps with analytic derivatives, from the means of the priors:

    Σ_rows w · ρ(ln predicted - ln measured) / σ² + ½ Σ ((θ - mean) / deviation)²

with ρ the pseudo-Huber loss, and w such that the runs of one program on one board weigh no more than
`PROGRAM_CAP` rows: a sweep of clocks is one piece of evidence. A run measured at the board's limit says only
that the kernel would draw at least so much. Every sum runs in a fixed order and the search goes on until
steps are far below the digits that are stored, so that the coefficients are the same on any processor.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice_models.energy import DYNAMIC_COMPONENTS, MULTIPLIERS, VOLTAGE_BEND, Component
from wattslice_models.joint import (
    EFFECT_DEVIATIONS,
    ENERGY_TERMS,
    GROUPS,
    LABEL_DEVIATION,
    PRIORS,
    Board,
    BoardEffect,
    CaseInterval,
    Coefficient,
    Effect,
    JointModel,
    Label,
    Term,
)
from wattslice_models.joint_rows import Array, Indices, JointRows, Mask

NOISE = 0.18
"""Standard deviation of one program's watts around the model: what the prior is weighed against."""
READING_NOISE = 0.25
"""The same when a few readings calibrate a board: at 0.18 a single one costs up to 1.5 % where the model was
right, at 0.25 not 1 %, and five gain as much (docs/appendix/accuracy.md)."""
BEND = 0.15
"""Logarithmic error from which a run counts less."""
PROGRAM_CAP = 4.0
AT_LIMIT = 0.97
"""Share of the power limit from which a run says only that the kernel wants at least so much."""
DIGITS = 5
"""Significant digits that are stored."""
SEEN_SHARE = 0.01
"""Share of a run's watts from which a component counts as seen."""
MOST_STEPS = 200
CONVERGED = 1e-12
"""Length of the last step, in standard deviations of the prior."""
ROUNDING = 1e-11
"""Relative rise of the loss that is rounding, not a step in a wrong direction."""

_TERMS = tuple(PRIORS)
_EFFECTS = tuple(EFFECT_DEVIATIONS)
_CHIP = tuple(component for component in DYNAMIC_COMPONENTS if component is not Component.DRAM)
_DRAM = DYNAMIC_COMPONENTS.index(Component.DRAM)
_TERM_OF = [_TERMS.index(ENERGY_TERMS[component]) for component in _CHIP]
_EFFECT_OF = [_EFFECTS.index(GROUPS[component]) for component in _CHIP]
_MULTIPLIES = np.array([component in MULTIPLIERS for component in _CHIP])


class Layout(Struct, frozen=True):
    """Where every unknown stands: the terms, the effects of each board, the labels of each data set."""

    boards: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]

    @property
    def size(self) -> int:
        """How many unknowns there are."""
        return len(_TERMS) + len(_EFFECTS) * len(self.boards) + len(self.labels)

    def effects(self, number: int) -> slice:
        """Where the effects of a board stand."""
        first = len(_TERMS) + len(_EFFECTS) * number
        return slice(first, first + len(_EFFECTS))

    def label(self, number: int) -> int:
        """Where the label of a data set stands."""
        return len(_TERMS) + len(_EFFECTS) * len(self.boards) + number

    def prior(self) -> tuple[Array, Array]:
        """Means and standard deviations of all unknowns."""
        others = len(_EFFECTS) * len(self.boards) + len(self.labels)
        means = [*(prior.mean for prior in PRIORS.values()), *(0.0,) * others]
        deviations = [prior.deviation for prior in PRIORS.values()]
        deviations += list(EFFECT_DEVIATIONS.values()) * len(self.boards)
        deviations += [LABEL_DEVIATION] * len(self.labels)
        return np.array(means), np.array(deviations)


class Estimate(Struct, frozen=True, eq=False):
    """Unknowns at the maximum of their probability, with the standard deviation that the data leave."""

    layout: Layout
    values: Array
    deviations: Array


class _Watts(Struct, frozen=True, eq=False):
    """Logarithm of the watts of every row, without limit, and its derivatives by all unknowns."""

    log_power: Array
    jacobian: Array


def layout_of(rows: JointRows) -> Layout:
    """The unknowns that rows can tell of."""
    boards = sorted({reading.gpu.id for reading in rows.readings})
    labels = sorted({(reading.gpu.id, reading.dataset) for reading in rows.readings})
    return Layout(tuple(boards), tuple(labels))


def fit(rows: JointRows, start: Estimate | None = None, converged: float = CONVERGED) -> Estimate:
    """The most probable unknowns. `start`: an estimate for other rows, to begin from."""
    layout = layout_of(rows)
    means, deviations = layout.prior()
    values = means.copy()
    if start is not None:
        values[: len(_TERMS)] = start.values[: len(_TERMS)]
        for number, gpu_id in enumerate(layout.boards):
            if gpu_id in start.layout.boards:
                there = start.layout.effects(start.layout.boards.index(gpu_id))
                values[layout.effects(number)] = start.values[there]
    return _maximise(rows, layout, values, means, deviations, np.ones(layout.size, bool), NOISE, converged)


def calibrate(rows: JointRows, shared: Estimate, prior: tuple[BoardEffect, ...]) -> tuple[BoardEffect, ...]:
    """The effects of one board, by readings of it alone: everything shared stays as it is.

    `rows`: of one GPU. `prior`: what is known of the board without them.
    """
    layout = Layout((rows.readings[0].gpu.id,), ())
    values = np.concatenate([shared.values[: len(_TERMS)], [entry.value for entry in prior]])
    deviations = np.concatenate([np.ones(len(_TERMS)), [entry.deviation for entry in prior]])
    free = np.arange(layout.size) >= len(_TERMS)
    found = _maximise(rows, layout, values.copy(), values, deviations, free, READING_NOISE, CONVERGED)
    own = layout.effects(0)
    return tuple(
        BoardEffect(effect, _rounded(float(value)), _rounded(float(deviation)))
        for effect, value, deviation in zip(_EFFECTS, found.values[own], found.deviations[own], strict=True)
    )


def mean_w(estimate: Estimate, rows: JointRows) -> Array:
    """The measured watts of every row, without what labels of highest samples are taken to read too much."""
    return np.exp(rows.log_power - estimate.values[_TERMS.index(Term.PEAK_LABEL)] * rows.peak)


def power_w(estimate: Estimate, rows: JointRows) -> Array:
    """Predicted watts of every row, at most its limit; a board that `estimate` lacks has no effects."""
    layout = replace(estimate.layout, labels=())
    unlabelled = replace(rows, peak=np.zeros(len(rows)))
    found = _watts(unlabelled, layout, estimate.values[: layout.size])
    return np.exp(np.minimum(found.log_power, rows.log_limit))


def with_board(estimate: Estimate, gpu_id: str, effects: tuple[BoardEffect, ...]) -> Estimate:
    """The same shared model, with these effects of one board and no other board."""
    own = [entry.value for entry in effects]
    values = np.concatenate([estimate.values[: len(_TERMS)], own])
    return Estimate(Layout((gpu_id,), ()), values, np.full(len(values), np.nan))


def model_of(estimate: Estimate, rows: JointRows, intervals: tuple[CaseInterval, ...]) -> JointModel:
    """What is stored of an estimate, to `DIGITS` significant digits."""
    layout = estimate.layout
    return JointModel(
        coefficients=tuple(
            Coefficient(term, _rounded(float(value)))
            for term, value in zip(_TERMS, estimate.values[: len(_TERMS)], strict=True)
        ),
        boards=tuple(_board(estimate, rows, number) for number in range(len(layout.boards))),
        labels=tuple(
            Label(gpu_id, dataset, _rounded(float(estimate.values[layout.label(number)])))
            for number, (gpu_id, dataset) in enumerate(layout.labels)
        ),
        seen=_seen(estimate, rows),
        intervals=tuple(
            CaseInterval(
                entry.case,
                *(
                    replace(one, low=_rounded(one.low), high=_rounded(one.high))
                    for one in (entry.interval, entry.doubted)
                ),
            )
            for entry in intervals
        ),
    )


def estimate_of(model: JointModel) -> Estimate:
    """What `fit` found, as far as it is stored."""
    boards = tuple(board.gpu_id for board in model.boards)
    labels = tuple((label.gpu_id, label.dataset) for label in model.labels)
    effects = [entry for board in model.boards for entry in board.effects]
    values = [*(model.value(term) for term in _TERMS), *(entry.value for entry in effects)]
    values += [label.value for label in model.labels]
    return Estimate(Layout(boards, labels), np.array(values), np.full(len(values), np.nan))


def _board(estimate: Estimate, rows: JointRows, number: int) -> Board:
    gpu_id, own = estimate.layout.boards[number], estimate.layout.effects(number)
    here = [reading for reading in rows.readings if reading.gpu.id == gpu_id]
    core = [reading.clocks.core_mhz or reading.gpu.boost_clock_mhz for reading in here]
    peak = max(reading.power_w / (reading.gpu.power_limit_w or reading.power_w) for reading in here)
    effects = zip(_EFFECTS, estimate.values[own], estimate.deviations[own], strict=True)
    return Board(
        gpu_id,
        len(here),
        len({reading.program for reading in here}),
        min(core),
        max(core),
        _rounded(max(1.0, peak)),
        tuple(BoardEffect(e, _rounded(float(v)), _rounded(float(d))) for e, v, d in effects),
    )


def _seen(estimate: Estimate, rows: JointRows) -> tuple[Component, ...]:
    picojoules = np.exp([estimate.values[_TERMS.index(ENERGY_TERMS[one])] for one in DYNAMIC_COMPONENTS])
    shares = (rows.work * picojoules) / np.exp(rows.log_power)[rows.row][:, None]
    return tuple(
        component
        for component, share in zip(DYNAMIC_COMPONENTS, shares.T, strict=True)
        if share.size and float(share.max()) > SEEN_SHARE
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _capped(rows: JointRows) -> Mask:
    return rows.log_power >= rows.log_limit + np.log(AT_LIMIT)


def _weights(rows: JointRows, noise: float) -> Array:
    of = [(reading.gpu.id, reading.program) for reading in rows.readings]
    number = Counter(of)
    return np.array([min(1.0, PROGRAM_CAP / number[one]) for one in of]) / noise**2


def _maximise(
    rows: JointRows,
    layout: Layout,
    values: Array,
    means: Array,
    deviations: Array,
    free: Mask,
    noise: float,
    converged: float,
) -> Estimate:
    weights, capped = _weights(rows, noise), _capped(rows)

    def loss(off: Array, at: Array) -> float:
        inside = np.where(capped, np.minimum(off, 0.0), off)
        of_rows = weights * BEND**2 * (np.sqrt(1.0 + (inside / BEND) ** 2) - 1.0)
        return float(of_rows.sum() + 0.5 * (((at - means) / deviations) ** 2).sum())

    found = _watts(rows, layout, values)
    off = found.log_power - rows.log_power
    least, damping = loss(off, values), 1e-3
    precision = np.diag(1.0 / deviations[free] ** 2)
    hessian = precision
    for _ in range(MOST_STEPS):
        told = np.where(capped & (off > 0), 0.0, weights / np.sqrt(1.0 + (off / BEND) ** 2))
        jacobian = found.jacobian[:, free]
        hessian = jacobian.T @ (jacobian * told[:, None]) + precision
        gradient = jacobian.T @ (told * off) + (values - means)[free] / deviations[free] ** 2
        step = np.zeros_like(values)
        while True:
            damped = hessian + damping * np.diag(np.diag(hessian))
            step[free] = np.linalg.solve(damped, -gradient)
            tried = _watts(rows, layout, values + step)
            tried_loss = loss(tried.log_power - rows.log_power, values + step)
            if tried_loss <= least * (1.0 + ROUNDING) or np.abs(step / deviations).max() < converged:
                break
            damping = max(10.0 * damping, 1e-6)
        values, found, least = values + step, tried, tried_loss
        off = found.log_power - rows.log_power
        damping = damping / 10.0 if damping > 1e-9 else 0.0
        if np.abs(step / deviations).max() < converged:
            break
    spread = np.zeros_like(values)
    spread[free] = np.sqrt(np.diag(np.linalg.inv(hessian)))
    return Estimate(layout, values, spread)


def _numbers(rows: JointRows, layout: Layout) -> tuple[Indices, Indices]:
    """Of every row: the number of its board and of its label, one beyond the last where there is none."""
    boards = {gpu_id: number for number, gpu_id in enumerate(layout.boards)}
    labels = {key: number for number, key in enumerate(layout.labels)}
    board = [boards.get(reading.gpu.id, len(boards)) for reading in rows.readings]
    label = [labels.get((reading.gpu.id, reading.dataset), len(labels)) for reading in rows.readings]
    return np.array(board, dtype=np.int64), np.array(label, dtype=np.int64)


def _watts(rows: JointRows, layout: Layout, values: Array) -> _Watts:
    """The form of `joint`, launch by launch, and its derivatives."""

    def term(one: Term) -> float:
        return float(values[_TERMS.index(one)])

    board, label = _numbers(rows, layout)
    table = np.zeros((len(layout.boards) + 1, len(_EFFECTS)))
    for number in range(len(layout.boards)):
        table[number] = values[layout.effects(number)]
    effects = table[board[rows.row]]

    def effect(one: Effect) -> Array:
        return effects[:, _EFFECTS.index(one)]

    # Static watts.
    static = term(Term.SIZE) * rows.size + term(Term.HBM_STATIC) * rows.hbm + effect(Effect.STATIC)
    static += term(Term.GDDR5_STATIC) * rows.gddr5
    idle_w = np.exp(term(Term.IDLE) + static)
    memory_w = np.exp(term(Term.MEMORY_CLOCK) + static) * rows.memory
    rise = 1.0 + (term(Term.VOLTAGE_SLOPE) + effect(Effect.VOLTAGE)) * (rows.core - 1.0)
    floor = term(Term.VOLTAGE_FLOOR)
    voltage = floor + VOLTAGE_BEND * np.logaddexp(0.0, (rise - floor) / VOLTAGE_BEND)
    rising = 1.0 / (1.0 + np.exp((floor - rise) / VOLTAGE_BEND))
    least = np.where(rows.idle, term(Term.IDLE_CLOCKS), term(Term.CLOCKED_SHARE))
    active = term(Term.SIZE) * rows.size + term(Term.HBM_ACTIVE) * rows.hbm + effect(Effect.ACTIVE)
    full_w = np.exp(term(Term.ACTIVE) + active) * voltage**2 * rows.core
    active_w = full_w * (least + (1.0 - least) * rows.awake)
    # Watts of the work.
    idle_operands, idle_data = np.exp(term(Term.IDLE_OPERANDS)), np.exp(term(Term.IDLE_DATA))
    dead = rows.work - rows.live
    dead_chip = dead[:, :_DRAM] * np.where(_MULTIPLIES, idle_operands, 1.0)
    level = term(Term.HBM_CHIP) * rows.hbm + effect(Effect.LEVEL)
    own = level[:, None] + effects[:, _EFFECT_OF] + values[_TERM_OF]
    energy = np.exp(own) * (voltage**2)[:, None]
    chip_w = energy * (rows.live[:, :_DRAM] + dead_chip)
    byte = term(Term.DRAM) + term(Term.HBM_DRAM) * rows.hbm + term(Term.PROCESS_DRAM) * rows.process
    byte_energy = np.exp(byte + effect(Effect.DRAM))
    dram_w = byte_energy * (rows.live[:, _DRAM] + idle_data * dead[:, _DRAM])
    inside_w = chip_w.sum(axis=1)
    work_w = np.maximum(inside_w + dram_w, 1e-9)
    concavity = np.exp(term(Term.CONCAVITY))
    relative = np.log(work_w / rows.reference_w)
    dynamic_w = np.where(rows.idle, 0.0, rows.reference_w * np.exp(concavity * relative))
    watts = idle_w + memory_w + active_w + dynamic_w
    # Derivatives of the watts of a launch.
    slope = concavity * dynamic_w / work_w
    by = np.zeros((len(watts), layout.size))

    def add(one: Term, derivative: Array) -> None:
        by[:, _TERMS.index(one)] += derivative

    by_voltage = (2.0 * active_w + slope * 2.0 * inside_w) / voltage
    add(Term.IDLE, idle_w)
    add(Term.MEMORY_CLOCK, memory_w)
    add(Term.ACTIVE, active_w)
    add(Term.SIZE, (idle_w + memory_w + active_w) * rows.size)
    add(Term.HBM_STATIC, (idle_w + memory_w) * rows.hbm)
    add(Term.HBM_ACTIVE, active_w * rows.hbm)
    add(Term.GDDR5_STATIC, (idle_w + memory_w) * rows.gddr5)
    add(Term.CLOCKED_SHARE, np.where(rows.idle, 0.0, full_w * (1.0 - rows.awake)))
    add(Term.IDLE_CLOCKS, np.where(rows.idle, full_w, 0.0))
    add(Term.CONCAVITY, dynamic_w * relative * concavity)
    add(Term.VOLTAGE_SLOPE, by_voltage * rising * (rows.core - 1.0))
    add(Term.VOLTAGE_FLOOR, by_voltage * (1.0 - rising))
    chip_by = slope[:, None] * chip_w
    for number, place in enumerate(_TERM_OF):
        by[:, place] += chip_by[:, number]
    add(Term.HBM_CHIP, slope * inside_w * rows.hbm)
    add(Term.DRAM, slope * dram_w)
    add(Term.HBM_DRAM, slope * dram_w * rows.hbm)
    add(Term.PROCESS_DRAM, slope * dram_w * rows.process)
    add(Term.IDLE_OPERANDS, slope * (energy * dead_chip)[:, _MULTIPLIES].sum(axis=1))
    add(Term.IDLE_DATA, slope * byte_energy * idle_data * dead[:, _DRAM])
    by_effect = np.zeros_like(effects)
    by_effect[:, _EFFECTS.index(Effect.LEVEL)] = slope * inside_w
    for number, place in enumerate(_EFFECT_OF):
        by_effect[:, place] += chip_by[:, number]
    by_effect[:, _EFFECTS.index(Effect.DRAM)] = slope * dram_w
    by_effect[:, _EFFECTS.index(Effect.STATIC)] = idle_w + memory_w
    by_effect[:, _EFFECTS.index(Effect.ACTIVE)] = active_w
    by_effect[:, _EFFECTS.index(Effect.VOLTAGE)] = by[:, _TERMS.index(Term.VOLTAGE_SLOPE)]
    for number in range(len(layout.boards)):
        here = board[rows.row] == number
        by[here, layout.effects(number)] = by_effect[here]
    # From launches to rows.
    power = np.bincount(rows.row, rows.share * watts, minlength=len(rows))
    starts = np.searchsorted(rows.row, np.arange(len(rows)))
    jacobian = np.add.reduceat(by * rows.share[:, None], starts, axis=0) / power[:, None]
    jacobian[:, _TERMS.index(Term.PEAK_LABEL)] = rows.peak
    known = np.flatnonzero(label < len(layout.labels))
    jacobian[known, [layout.label(int(number)) for number in label[known]]] = 1.0
    labels = np.append(values[len(values) - len(layout.labels) :], 0.0)
    return _Watts(np.log(power) + term(Term.PEAK_LABEL) * rows.peak + labels[label], jacobian)
