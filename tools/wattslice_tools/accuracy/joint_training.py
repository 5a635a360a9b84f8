"""Trains the joint model on the runs of all committed tables, and judges it by what was left out.

An application leaves with its siblings, on every board; a board leaves with all of its data sets.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice.training.calibration import IDLE, READINGS
from wattslice.training.examples import LeftOut, examples_of
from wattslice.training.tables import measured_tables
from wattslice_corpora.records import DataCard, measured_gpu_ids
from wattslice_corpora.synthetic.spec import OperationKind, Space
from wattslice_models.contract import Example
from wattslice_models.cross_validation import conformal_interval
from wattslice_models.energy import Case
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.joint import CaseInterval, JointModel, no_effects, prior_effects
from wattslice_models.joint_fit import Estimate, calibrate, fit, mean_w, model_of, power_w, with_board
from wattslice_models.joint_rows import Array, JointRows, Mask, Reading, joint_rows
from wattslice_models.joint_store import HeldOutRun

_FAMILIES = (
    ("matrixMul", "matrixMul"),
    ("backprop", "backprop"),
    ("nnForward", "backprop"),
    ("scan", "scan"),
    ("convolution", "convolution"),
    ("gemm", "gemm"),
    ("tiled_gemm", "gemm"),
    ("multiply_add", "gemm"),
    ("transpose", "transpose"),
    ("histogram", "histogram"),
    ("spmv", "spmv"),
    ("stencil", "stencil"),
    ("dp_", "DP"),
    ("sp_", "SP"),
    ("int_", "INT"),
    ("L2", "L2"),
    ("Shared", "Shared"),
)
"""Beginnings of the names of programs that are variants of one, and the name of their family."""


def family(benchmark: str) -> str:
    """The application that a program belongs to on every board: siblings leave together.

    ``mixbench`` of ``mixbench-cuda-ro``, ``matrixMul`` of ``matrixMulGlobal``; synthetic slices of one memory
    space and operation kind are one program, ``global_fp32``.
    """
    space, _, rest = benchmark.partition("_")
    kind = rest.partition("_")[0]
    if space in set(Space) and kind in set(OperationKind):
        return f"{space}_{kind}"
    for beginning, name in _FAMILIES:
        if benchmark.startswith(beginning):
            return name
    return benchmark.partition("-")[0]


def public_readings() -> tuple[tuple[Reading, ...], tuple[LeftOut, ...]]:
    """The readings of all committed tables, whatever their use, and what of the tables gave none.

    Raises `RecordError`, `WattsliceError`.
    """
    readings: list[Reading] = []
    left_out: list[LeftOut] = []
    for gpu_id in measured_gpu_ids():
        tables, gpu = measured_tables(gpu_id), load_gpu(gpu_id)
        found = examples_of(tables, gpu, None)
        left_out += found.left_out
        assert tables.card is not None  # as `measured_tables` has it
        readings += (_reading(example, tables.card) for example in found.examples)
        readings += _idle(gpu, tables.card)
    return tuple(readings), tuple(left_out)


def _reading(example: Example, card: DataCard) -> Reading:
    return Reading(
        gpu=example.subject.gpu,
        clocks=example.subject.clocks,
        dataset=example.dataset,
        program=example.benchmark,
        power_w=example.power_w,
        example=example,
        peak=card.dataset(example.dataset).reads_peaks,
    )


def _idle(gpu: Gpu, card: DataCard) -> list[Reading]:
    return [
        Reading(gpu, Clocks(idle.core_mhz, idle.memory_mhz), dataset.key, IDLE, idle.power_w)
        for dataset in card.datasets
        for idle in dataset.idle
    ]


FOLD_CONVERGED = 1e-4
"""Last step of a fit that is only held against what it left out, in standard deviations of the prior."""
BOTH_FOLDS = 6
"""Parts in which applications leave a board that has left as a whole."""
DRAWS = 10
"""Sets of readings that are drawn of each board."""


class JointTraining(Struct, frozen=True, eq=False):
    """What training found. `application_w`, `board_w`, `both_w`: predictions without each, shape (rows,).

    `timed_w`: as `application_w`, with the measured seconds; nan where these are unknown, and where the work
    is in doubt. `without_board`: what the others tell of each board, in the order of `Estimate.layout`.
    """

    rows: JointRows
    estimate: Estimate
    model: JointModel
    application_w: Array
    board_w: Array
    both_w: Array
    timed_w: Array
    without_board: tuple[Estimate, ...]

    def held_out_runs(self) -> tuple[HeldOutRun, ...]:
        """What is stored of the predictions; idle boards are no runs."""
        return tuple(
            HeldOutRun(
                example.subject.gpu.id,
                example.dataset,
                example.benchmark,
                example.kernel,
                example.arguments,
                example.subject.clocks.core_mhz,
                example.subject.clocks.memory_mhz,
                example.power_w,
                float(self.application_w[number]),
                float(self.board_w[number]),
                float(self.both_w[number]),
                None if np.isnan(self.timed_w[number]) else float(self.timed_w[number]),
            )
            for number, reading in enumerate(self.rows.readings)
            if (example := reading.example) is not None
        )


def train_joint(
    readings: tuple[Reading, ...], tell: Callable[[str], None] = lambda text: None
) -> JointTraining:
    """Fits the joint model to `readings`, and anew without each application, each board, and both."""
    rows = joint_rows(readings)
    tell("all runs")
    estimate = fit(rows)
    families = np.array([family(reading.program) for reading in readings])
    gpus = np.array([reading.gpu.id for reading in readings])
    timed = rows.at_seconds(np.array([timed_s(reading) for reading in readings]))
    names = sorted({str(name) for name in families} - {IDLE})
    application_w, board_w, both_w = (power_w(estimate, rows) for _ in range(3))
    timed_w = np.full(len(rows), np.nan)
    for name in names:
        tell(f"without {name}")
        gone = families == name
        found = fit(rows.those(~gone), estimate, FOLD_CONVERGED)
        application_w[gone] = power_w(found, rows.those(gone))
        timed_w[gone] = power_w(found, timed.those(gone))
    without_board: list[Estimate] = []
    for gpu_id in estimate.layout.boards:
        tell(f"without {gpu_id}")
        here = gpus == gpu_id
        others = fit(rows.those(~here), estimate, FOLD_CONVERGED)
        without_board.append(carried_over(others, rows.those(~here), gpu_id))
        board_w[here] = power_w(without_board[-1], rows.those(here))
        both_w[here] = board_w[here]
        for gone in _parts(families, here):
            known = rows.those(~(here | gone))
            found = carried_over(fit(known, others, FOLD_CONVERGED), known, gpu_id)
            both_w[here & gone] = power_w(found, rows.those(here & gone))
    measured = mean_w(estimate, rows)
    tell("readings")
    calibrated = [
        pair
        for number in range(len(without_board))
        for drawn in draws(rows, gpus == estimate.layout.boards[number], READINGS)
        for pair in _calibrated_ratios(without_board[number], rows, drawn)
    ]
    intervals = (
        case_interval(Case.MEASURED, zip(rows.readings, measured / application_w, strict=True)),
        case_interval(Case.CARRIED_OVER, zip(rows.readings, measured / both_w, strict=True)),
        case_interval(Case.CALIBRATED, calibrated),
    )
    return JointTraining(
        rows,
        estimate,
        model_of(estimate, rows, intervals),
        application_w,
        board_w,
        both_w,
        timed_w,
        tuple(without_board),
    )


def carried_over(found: Estimate, known: JointRows, gpu_id: str) -> Estimate:
    """What an estimate of `known` rows says of a board that they lack."""
    return with_board(found, gpu_id, prior_effects(model_of(found, known, ()), load_gpu(gpu_id)))


UNIT = "board's application"
"""What has one voice in an interval: an application on one board with its siblings, which left together,
whatever clocks and arguments."""


class Draw(Struct, frozen=True, eq=False):
    """Readings of a board, one of a program, and the rows of its other programs."""

    readings: Mask
    others: Mask


def draws(rows: JointRows, here: Mask, number: int) -> Iterator[Draw]:
    """`DRAWS` sets of `number` readings of a board (rows `here`): programs and clocks by a fixed seed.

    Of a board that ran few programs, the variants of a program (its arguments) stand for programs.
    """
    places = _places(rows, here, lambda example: (example.benchmark,))
    if len(places) <= READINGS:
        places = _places(rows, here, lambda example: (example.benchmark, example.kernel, example.arguments))
    if len(places) <= READINGS:
        return
    for seed in range(DRAWS):
        chance = random.Random(seed)
        chosen = chance.sample(sorted(places), number)
        taken = np.zeros(len(rows), dtype=bool)
        taken[[chance.choice(places[program]) for program in chosen]] = True
        others = here.copy()
        for program, rest in places.items():
            others[rest] = program not in chosen
        others &= np.array([reading.example is not None for reading in rows.readings])
        yield Draw(taken, others)


def _places(
    rows: JointRows, here: Mask, key: Callable[[Example], tuple[str, ...]]
) -> dict[tuple[str, ...], list[int]]:
    found: dict[tuple[str, ...], list[int]] = {}
    for place in np.flatnonzero(here):
        example = rows.readings[int(place)].example
        if example is not None:
            found.setdefault(key(example), []).append(int(place))
    return found


def calibrated_w(without: Estimate, rows: JointRows, drawn: Draw) -> Array:
    """Watts of the other programs of a board, after its readings; `without`: carried over to it."""
    values = without.values[without.layout.effects(0)]
    prior = tuple(
        replace(entry, value=float(value)) for entry, value in zip(no_effects(), values, strict=True)
    )
    effects = calibrate(rows.those(drawn.readings), without, prior)
    others = rows.those(drawn.others)
    return power_w(with_board(without, others.readings[0].gpu.id, effects), others)


def _calibrated_ratios(without: Estimate, rows: JointRows, drawn: Draw) -> Iterable[tuple[Reading, float]]:
    others = rows.those(drawn.others)
    return zip(others.readings, mean_w(without, others) / calibrated_w(without, rows, drawn), strict=True)


def case_interval(case: Case, ratios: Iterable[tuple[Reading, float]]) -> CaseInterval:
    """The intervals that readings and their ratios of mean to predicted watts give; idle ones give none.

    Raises `NotEnoughDataError` without a reading of known counts, and without one in doubt.
    """
    pairs = [(one.example, (unit_of(one), float(ratio))) for one, ratio in ratios if one.example is not None]
    return CaseInterval(
        case,
        conformal_interval([pair for example, pair in pairs if not example.doubt], UNIT),
        conformal_interval([pair for example, pair in pairs if example.doubt], UNIT),
    )


def unit_of(reading: Reading) -> str:
    """The unit that a reading belongs to."""
    return f"{reading.gpu.id} {family(reading.program)}"


def timed_s(reading: Reading) -> float:
    """The measured seconds of a run, over which its work makes rates; nan where there are none.

    A guess of bytes over measured seconds is no rate: over predicted ones the roofs bound it.
    """
    example = reading.example
    if example is None or example.time_s is None or example.doubt:
        return float("nan")
    return example.time_s


def _parts(families: Array, here: Mask) -> list[Mask]:
    names = sorted({str(name) for name in families[here]} - {IDLE})
    random.Random(0).shuffle(names)
    return [np.isin(families, names[number::BOTH_FOLDS]) for number in range(min(BOTH_FOLDS, len(names)))]
