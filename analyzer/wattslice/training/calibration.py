"""Readings of the user's own board: what they change of the joint model.

A reading is the watts of a kernel, or of the idle board, at some clocks. The effects of the board are those
most probable given the readings and what was known before (`wattslice_models.joint_fit.calibrate`): they
always shrink towards that, one reading moves little.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from wattslice.config.config import Options, make_config
from wattslice.errors import WattsliceError
from wattslice.ir import Severity
from wattslice.launches.data import data_of
from wattslice.launches.launch import LaunchSource
from wattslice.launches.overrides import check_overrides, known_names, names_kernel
from wattslice.launches.resolver import resolve_launches
from wattslice.pipeline.files import followed, neighbours_of, read_program
from wattslice.training.launch_rows import launch_features
from wattslice.training.training import provenance
from wattslice_corpora.records import RecordError, sha256
from wattslice_corpora.records.tables import read_table
from wattslice_models.contract import Example, Interval, RepeatedLaunch, Subject
from wattslice_models.energy import EnergyModel, NoEnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.execution_time import (
    Clocks,
    core_clock_mhz,
    core_clock_range_mhz,
    memory_clock_range_mhz,
    memory_clock_scale,
)
from wattslice_models.gpu import Gpu
from wattslice_models.joint import BoardEffect, energy_model_of, prior_effects
from wattslice_models.joint_fit import calibrate, estimate_of, power_w, with_board
from wattslice_models.joint_learner import calibrated_model
from wattslice_models.joint_rows import Reading, joint_rows
from wattslice_models.joint_store import joint_model
from wattslice_models.plausible import (
    ABOVE_LIMIT,
    REAL_LIMIT,
    beyond_sensors,
    contradictions,
    impossible_watts,
    is_far_off,
)
from wattslice_models.store import DataFile, Residual, TrainedModel

IDLE = "idle"
"""Program of a reading of a board without work."""
READINGS = 5
"""Readings from which the interval of a calibrated board is found."""
BOARD_SPREAD = 0.08
"""How far two boards of one model differ, as the logarithm of watts: 6 to 8 % in the public sets."""


class ReadingRow(Struct, frozen=True):
    """One row of the user's table.

    `kernel`: ``idle`` (with both clocks), or a source file, with ``:NAME`` where it has several kernels;
    relative to the table.
    `launch`, `settings`: as `--launch` and (several, apart by blanks) `--set` have them.
    """

    kernel: str
    power_w: float
    core_mhz: float | None = None
    memory_mhz: float | None = None
    launch: str = ""
    settings: str = ""


class ReadBack(Struct, frozen=True):
    """A reading beside what the model said before it and says now, with the interval that results: of what
    sensors show, the board's limit in it.
    """

    kernel: str
    measured_w: float
    before_w: float
    after_w: float
    low_w: float
    high_w: float

    @property
    def doubt(self) -> str:
        """Why the reading may mislead: it is far from its prediction, or outside of its interval."""
        is_inside = self.low_w <= self.measured_w <= self.high_w
        if is_inside and not is_far_off(self.measured_w, self.before_w):
            return ""
        where = "inside" if is_inside else "outside of"
        asked = "were launch and settings these, and did the kernel run all the time?"
        return (
            f"{self.kernel}: {self.measured_w:g} W, and {self.before_w:.0f} W predicted; it lies {where} the "
            f"interval that results, {self.low_w:.0f} to {self.high_w:.0f} W: "
            + ("did the board sleep, or work?" if self.kernel == IDLE else asked)
        )


class Calibration(Struct, frozen=True):
    """What readings changed. `doubts`: readings that may mislead, and why."""

    trained: TrainedModel
    before: tuple[BoardEffect, ...]
    after: tuple[BoardEffect, ...]
    readings: tuple[ReadBack, ...]
    doubts: tuple[str, ...]


def calibration(table: Path, gpu: Gpu) -> Calibration:
    """Reads the table and calibrates the joint model.

    Raises `WattsliceError` for a table or kernel that cannot be used, a GPU without a model; ``OSError``.
    """
    shared = joint_model()
    without = energy_model_of(shared, gpu)
    if isinstance(without, NoEnergyModel):
        raise WattsliceError(without.reason, remedy="choose another --gpu")
    before = tuple(
        replace(entry, deviation=(entry.deviation**2 + BOARD_SPREAD**2) ** 0.5)
        for entry in prior_effects(shared, gpu)
    )
    estimate = estimate_of(shared)
    carried_over = with_board(estimate, gpu.id, before)
    readings: list[Reading] = []
    doubts = list[str]()

    def fault(row: ReadingRow) -> str:
        if found := _fault(row, gpu, without.sensor_peak):
            return found
        try:
            readings.append(_reading(row, table, gpu, doubts))
        except WattsliceError as error:
            return str(error)
        return _idle_fault(readings[-1], float(power_w(carried_over, joint_rows((readings[-1],)))[0]))

    try:
        rows = read_table(table, ReadingRow, fault, by_name=True)
    except RecordError as error:
        raise WattsliceError(str(error)) from None
    if not rows:
        raise WattsliceError("no reading in this table", path=table, remedy="one row is enough")
    doubts += _passed_over(table)
    arrays = joint_rows(tuple(readings))
    after = calibrate(arrays, estimate, before)
    model = calibrated_model(shared, gpu, tuple(readings), before)
    assert isinstance(model, EnergyModel)  # as without the readings
    if len({reading.program for reading in readings}) < READINGS:
        model = replace(
            model,
            interval=_wider(model.interval, without.interval),
            doubted=_wider(model.doubted, without.doubted),
        )
    watts = [power_w(with_board(estimate, gpu.id, effects), arrays) for effects in (before, after)]
    read_back = tuple(
        ReadBack(row.kernel, row.power_w, float(first), float(last), *_ends(model, reading, float(last)))
        for row, reading, first, last in zip(rows, readings, *watts, strict=True)
    )
    doubts += _contradicting(rows, readings)
    doubts += filter(None, (one.doubt for one in read_back))
    doubts += (
        f"{one.kernel}: {one.measured_w:g} W lie above the board's limit of {gpu.power_limit_w:g} W: "
        + ABOVE_LIMIT
        for one in read_back
        if gpu.power_limit_w is not None and one.measured_w > gpu.power_limit_w
    )
    made_of = provenance((gpu.id,), 0, (DataFile(table.name, sha256(table)),), ("wattslice", "numpy"))
    residuals = tuple(
        Residual("readings", row.kernel, "", "", row.core_mhz, row.memory_mhz, row.power_w, float(first))
        for row, first in zip(rows, watts[0], strict=True)
    )
    trained = TrainedModel("energy", made_of, EnergyPowerModel(model), residuals)
    return Calibration(trained, before, after, read_back, tuple(doubts))


def _ends(model: EnergyModel, reading: Reading, after_w: float) -> tuple[float, float]:
    """The interval of a reading by the calibrated model. An idle board has that of kernels."""
    if reading.example is None:
        return model.interval.low * after_w, model.interval.high * after_w
    told = EnergyPowerModel(model).predict(reading.example.subject)
    assert told.power_low_w is not None  # the GPU is the model's
    assert told.power_high_w is not None
    return told.power_low_w, told.power_high_w


def _contradicting(rows: Sequence[ReadingRow], readings: Sequence[Reading]) -> Iterator[str]:
    """The same kernel, doing the same, or the idle board, at the same clocks, with watts far apart."""
    for low, high in contradictions([(_what_was_read(one), one.power_w) for one in readings]):
        yield (
            f"{rows[low].kernel}: the same was read with {rows[low].power_w:g} W and "
            f"{rows[high].power_w:g} W (readings {low + 1} and {high + 1}): does something vary that the "
            "table does not say, or is one of them a mistake?"
        )


def _what_was_read(reading: Reading) -> Hashable:
    clocks = core_clock_mhz(reading.gpu, reading.clocks), memory_clock_scale(reading.gpu, reading.clocks)
    return clocks, reading.program, None if reading.example is None else reading.example.subject.launches


def _wider(own: Interval, plain: Interval) -> Interval:
    """Few readings tell little: the interval is not narrower than the `plain` one without them."""
    source = f"{plain.source}; fewer than {READINGS} programs were read"
    return replace(plain, low=min(plain.low, own.low), high=max(plain.high, own.high), source=source)


def _fault(row: ReadingRow, gpu: Gpu, peak: float) -> str:
    """Why no board like this can have had that reading; empty when it can. `peak`: see `beyond_sensors`."""
    if not row.kernel:
        return "kernel must be idle or a source file"
    clocks = (row.core_mhz, row.memory_mhz)
    if not 0 < row.power_w < np.inf or any(clock is not None and not clock > 0 for clock in clocks):
        return "watts and clocks must be positive"
    reason = impossible_watts(row.power_w, gpu, is_idle=row.kernel == IDLE)
    for name, clock, (low, high) in (
        ("core_mhz", row.core_mhz, core_clock_range_mhz(gpu)),
        ("memory_mhz", row.memory_mhz, memory_clock_range_mhz(gpu)),
    ):
        if clock is not None and not low <= clock <= high:
            reason = f"{name} {clock:g}: the {gpu.name} runs at {low:g} to {high:g} MHz"
    if row.kernel == IDLE and not reason:
        if row.launch or row.settings:
            reason = "an idle board has no launch and no settings"
        elif None in clocks:
            reason = "an idle board lowers its clocks: say core_mhz and memory_mhz that it had (nvidia-smi)"
    if reason:
        return f"{row.kernel}: {reason}; correct or remove this row"
    beyond = beyond_sensors(row.power_w, gpu, peak)
    return f"{row.kernel}: {beyond}; {REAL_LIMIT}" if beyond else ""


def _idle_fault(reading: Reading, predicted_w: float) -> str:
    """Why a reading of an idle board is none of one that is awake; empty for all others.

    Boards asleep draw down to a tenth. Taken for one awake, 0.4 of it costs up to 9 % of all watts.
    """
    if reading.example is not None or not is_far_off(reading.power_w, predicted_w):
        return ""
    return (
        f"{IDLE}: {reading.power_w:g} W, and {predicted_w:.0f} W predicted at these clocks: does the board "
        "sleep, or work? Read it at clocks that it has under load (nvidia-smi -lgc), or remove this row"
    )


def _passed_over(table: Path) -> list[str]:
    """Columns of the table that say nothing here, perhaps misspelt."""
    lines = table.read_text(encoding="utf-8-sig").splitlines()
    header = next(csv.reader(line for line in lines if not line.startswith("#")))
    known = ReadingRow.__struct_fields__
    return [
        f"column {name!r} is passed over; known: {', '.join(known)}" for name in header if name not in known
    ]


def _reading(row: ReadingRow, table: Path, gpu: Gpu, doubts: list[str]) -> Reading:
    clocks = Clocks(row.core_mhz, row.memory_mhz)
    if row.kernel == IDLE:
        return Reading(gpu, clocks, "readings", IDLE, row.power_w)
    file, _, name = row.kernel.partition(":")
    path = table.parent / file
    said = Options(
        paths=(path,),
        gpu=gpu.id,
        launches=(row.launch,) if row.launch else (),
        overrides=tuple(row.settings.split()),
    )
    config = make_config(said)
    program, found = followed(
        lambda wanted: read_program(path, config, wanted=wanted),
        lambda program: resolve_launches(program, config.facts.overrides, gpu, neighbours_of(path, config)),
    )
    check_overrides(config.facts.typed_overrides, [known_names(program)])
    launches = [
        replace(launch, data=data_of(launch.kernel, config.facts.data, launch.zeros))
        for launch in found
        if not name or names_kernel(name, launch.kernel)
    ]
    if len({launch.kernel.name for launch in launches}) != 1:
        known = ", ".join(sorted({kernel.name for kernel in program.kernels})) or "none"
        raise WattsliceError(
            f"{row.kernel}: which kernel was read?", remedy=f"write {file}:NAME; kernels: {known}"
        )
    if any(launch.source is LaunchSource.ASSUMED for launch in launches):
        doubts.append(f"{row.kernel}: how it is launched is assumed: say it with launch and settings")
    elif len(launches) > 1 and any(launch.times is None for launch in launches):
        doubts.append(
            f"{row.kernel}: how often each of its launches is made is not known: taken as once each"
        )
    misread = [one for one in program.diagnostics if one.severity is not Severity.NOTE]
    if misread:
        one = misread[0]
        more = f", and {len(misread) - 1} more" if len(misread) > 1 else ""
        doubts.append(f"{row.kernel}: {one.file}:{one.line}: {one.message} ({one.rule}){more}")
    try:
        repeats = all(launch.times for launch in launches)
        subject = Subject(
            gpu,
            clocks,
            tuple(
                RepeatedLaunch(launch_features(launch, gpu).workload, (launch.times or 1) if repeats else 1)
                for launch in launches
            ),
        )
    except RecordError as error:
        raise WattsliceError(f"{row.kernel}: {error}") from None
    kernel = f"{os.path.normpath(file)}:{launches[0].kernel.name}"  # whether or not the row names it
    example = Example("readings", kernel, launches[0].kernel.name, row.settings, subject, row.power_w, None)
    if example.doubt:
        doubts.append(f"{row.kernel}: {example.doubt}")
    return Reading(gpu, clocks, "readings", kernel, row.power_w, example)
