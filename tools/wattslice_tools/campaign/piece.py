"""One piece of the campaign: goes on where the last one stopped, and ends in time whatever happens."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.measuring.bench import Bench, Configuration, visible
from wattslice_corpora.measuring.campaign import Progress, run_campaign
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError
from wattslice_corpora.measuring.instruction_bench import InstructionBench
from wattslice_corpora.measuring.instruction_plan import Run
from wattslice_corpora.measuring.journal import Journal
from wattslice_corpora.measuring.machine import this_machine
from wattslice_corpora.measuring.nvml import NvmlSensor
from wattslice_corpora.measuring.sensor import Board
from wattslice_tools.campaign.counters import LIMIT_S, CountersRefusedError, Profiler
from wattslice_tools.campaign.home import (
    COUNTERS,
    INSTRUCTIONS,
    LOG,
    PACKET,
    BoardFolder,
    Left,
    Packer,
    append_line,
    is_unlucky,
    left_of,
    predicted_s,
    read_lines,
    state_of,
    write_tables,
)
from wattslice_tools.campaign.sections import TIMING, Plan, Section, anchored
from wattslice_tools.campaign.sensor_check import CHECK_S, RESULT, check_sensor

BUDGET_S = 525.0
"""Of a piece: a program that hangs at its end is killed some 35 s later, and then a packet is made."""
_PACK_EVERY_S = 30.0
_ROOM_BYTES = 50 << 20


class Lab(Struct, frozen=True):
    """What a piece needs of the machine it is on.

    `instruction_bench`: for a folder of kernels and the runs of the plan. `check_sensor` writes into a
    folder. `count`: counters of a launch; raises `CountersRefusedError` where there are none at all.
    """

    board: Board
    chip: Chip
    key: str
    flags: tuple[str, ...]
    bench: Bench
    instruction_bench: Callable[[Path, tuple[Run, ...]], Bench]
    check_sensor: Callable[[Path], object]
    count: Callable[[Configuration], dict[str, float]]


@contextmanager
def this_lab(device: int, builds: Path, flags: tuple[str, ...]) -> Generator[Lab]:
    """The GPU of this machine. Raises `MeasureError`."""
    with this_machine(device, builds, TIMING, flags) as machine:
        profilers: list[Profiler] = []

        def count(configuration: Configuration) -> dict[str, float]:
            if not profilers:
                profilers.append(Profiler())
            program = machine.bench.program(configuration.source)
            return profilers[0].count(program, configuration, visible(machine.board))

        def check(folder: Path) -> object:
            sensor = NvmlSensor(device)
            try:
                return check_sensor(sensor, machine.builder, folder)
            finally:
                sensor.close()

        def instructions(kernels: Path, plan: tuple[Run, ...]) -> Bench:
            nvcc = machine.builder.nvcc
            return InstructionBench(machine.bench, nvcc, machine.chip.architecture, kernels, plan)

        board, chip, key = machine.board, machine.chip, machine.key
        yield Lab(board, chip, key, flags, machine.bench, instructions, check, count)


class Done(Struct, frozen=True):
    """`left` by section after the piece. `trouble`: what ended it early, else empty."""

    piece: int
    left: tuple[Left, ...]
    packet: Path | None
    trouble: str


def run_piece(
    lab: Lab,
    campaign: Path,
    out: Path,
    budget_s: float = BUDGET_S,
    each: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    say: Callable[[str], None] = print,
) -> Done:
    """Measures until `budget_s` is over or nothing is left. Raises nothing that a full disk or a lost board
    causes: that is `Done.trouble`.
    """
    folder = campaign / lab.key
    identity = f"{lab.board.name} {lab.board.uuid}, campaign, {TIMING}, {lab.flags}"
    number = 1 + max((int(values.get("piece", 0)) for values in read_lines(campaign / LOG)), default=0)
    packer = Packer(campaign, out, f"{PACKET}-{number:02}-{lab.key}")
    home = BoardFolder(folder, lab.board, lab.chip, identity)
    piece = _Piece(lab, campaign, home, number, clock() + budget_s, packer, clock, say, each)
    trouble = ""
    try:
        piece.begin()
        with Journal(folder, identity) as journal:
            piece.measure(journal)
        write_tables(home, each)
    except (MeasureError, ConfigurationError, OSError) as error:
        trouble = str(error)
    finally:
        packet = piece.pack()
    left = _left(home.plan(each), home, campaign)
    if packet is None and not trouble:
        trouble = "what was measured could not be packed: the disk is full"
    return Done(number, left, packet, trouble)


def _left(plan: Plan, home: BoardFolder, campaign: Path) -> tuple[Left, ...]:
    return left_of(plan, _versions(plan, home), state_of(campaign, home.board.name))


def _versions(plan: Plan, home: BoardFolder) -> dict[str, str]:
    kernels = home.folder / INSTRUCTIONS / "kernels"
    return {run.name(): run.configuration(home.chip.sm_count, kernels).version for run in plan.instructions}


class _Piece(Struct):
    """A piece under way."""

    lab: Lab
    campaign: Path
    home: BoardFolder
    number: int
    deadline_s: float
    packer: Packer
    clock: Callable[[], float]
    say: Callable[[str], None]
    each: int | None
    packed_s: float = 0.0
    valid: int = 0

    def begin(self) -> None:
        if shutil.disk_usage(self.campaign if self.campaign.exists() else Path.cwd()).free < _ROOM_BYTES:
            raise MeasureError(f"less than {_ROOM_BYTES >> 20} MiB are free: make room first")
        self.home.write()
        self.packed_s = self.clock()
        begin = {"board": self.lab.key, "name": self.lab.board.name, "begin": datetime.now(UTC).isoformat()}
        append_line(self.campaign / LOG, {"piece": self.number, **begin})

    def measure(self, journal: Journal) -> None:
        """Section after section until time is over."""
        plan = self.home.plan(self.each)
        if not any(one.count or one.check for one in _left(plan, self.home, self.campaign)):
            return
        powers = dict(plan.powers)
        for section in Section:
            state = state_of(self.campaign, self.lab.board.name)
            done = state.done
            if section is Section.SENSOR and not state.sensor:
                self._check()
            if section is Section.INSTRUCTIONS:
                self._instructions(plan, state.runs)
            elif section is Section.COUNTERS:
                if not state.refused:
                    self._counters(plan, state.counted)
            elif section is Section.AGAIN:
                again = {entry.name for entry in state.entries if is_unlucky(entry, state)}
                self._powers(section, tuple(one for one in plan.configurations if one.name in again), journal)
            else:
                some = tuple(one for one in powers[section] if (one.name, one.version) not in done)
                self._powers(section, some, journal)
            if section is Section.SENSOR:
                self._powers(section, anchored(plan.anchors, self.number), journal)
            if self.clock() >= self.deadline_s:
                return

    def pack(self) -> Path | None:
        """Brings home what there is; None when there is no room for it."""
        self.packed_s = self.clock()
        try:
            return self.packer.pack()
        except OSError as error:
            self.say(f"cannot pack: {error}")
            return None

    def _check(self) -> None:
        if self._left_s() < CHECK_S + 10.0:
            return
        begin_s = self.clock()
        try:
            self.lab.check_sensor(self.home.folder)
        except ConfigurationError as error:
            (self.home.folder / RESULT).write_text(f'{{"failed": "{type(error).__name__}"}}\n')
            self.say(f"a sensor check: {error}")
        self._log(Section.SENSOR, 1, 1, CHECK_S, self.clock() - begin_s)

    def _powers(self, section: Section, some: tuple[Configuration, ...], journal: Journal) -> None:
        self._measure(section, some, self.lab.bench, journal)

    def _instructions(self, plan: Plan, done: frozenset[tuple[str, str]]) -> None:
        folder = self.home.folder / INSTRUCTIONS
        wanted = tuple(
            run.configuration(self.lab.chip.sm_count, folder / "kernels") for run in plan.instructions
        )
        some = tuple(one for one in wanted if (one.name, one.version) not in done)
        if some and self._left_s() > 0:
            bench = self.lab.instruction_bench(folder / "kernels", plan.instructions)
            with Journal(folder, f"{self.home.identity}, instructions") as journal:
                self._measure(Section.INSTRUCTIONS, some, bench, journal)

    def _measure(
        self, section: Section, some: tuple[Configuration, ...], bench: Bench, journal: Journal
    ) -> None:
        if not some or self._left_s() <= 0:
            return
        begin_s, self.valid = self.clock(), 0
        again = section is Section.AGAIN

        def told(progress: Progress) -> None:
            row = progress.row
            self.valid += row.power_valid
            watts = "no watts" if row.power_w is None else f"{row.power_w:.1f} W"
            said = row.reason or watts
            self.say(f"{section.letter} {progress.done}/{progress.total} {progress.name}: {said}")
            if again:
                append_line(self.campaign / LOG, {"again": progress.name})
            self._pack_sometimes()

        outcome = run_campaign(some, bench, journal, (), self._left_s(), None, told, self.clock)
        spent_s = self.clock() - begin_s
        self._log(section, outcome.measured, self.valid, predicted_s(section, outcome.measured), spent_s)

    def _counters(self, plan: Plan, counted: frozenset[str]) -> None:
        begin_s, done, good = self.clock(), 0, 0
        path = self.home.folder / COUNTERS
        some = tuple(one for one in plan.counted if one.name not in counted)
        if some and self._left_s() > 0:
            self.lab.bench.prepare(some[:8])
        for configuration in some:
            if self._left_s() < LIMIT_S:
                break
            named: dict[str, object] = {"name": configuration.name, "version": configuration.version}
            try:
                found = self.lab.count(configuration)
                append_line(path, {**named, "counters": found})
                good += 1
            except ConfigurationError as error:
                append_line(path, {**named, "reason": str(error)})
            except CountersRefusedError as error:
                append_line(path, {"refused": str(error)})
                self.say(f"g no counters: {error}")
                break
            done += 1
            self._pack_sometimes()
        if done:
            spent_s = self.clock() - begin_s
            self._log(Section.COUNTERS, done, good, predicted_s(Section.COUNTERS, done), spent_s)

    def _left_s(self) -> float:
        return max(0.0, self.deadline_s - self.clock())

    def _pack_sometimes(self) -> None:
        if self.clock() - self.packed_s >= _PACK_EVERY_S:
            self.pack()

    def _log(self, section: Section, measured: int, valid: int, predicted: float, charged: float) -> None:
        if not measured:
            return
        values: dict[str, object] = {
            "piece": self.number,
            "board": self.lab.key,
            "end": datetime.now(UTC).isoformat(),
            "section": section.letter,
            "measured": measured,
            "valid": valid,
            "predicted_s": round(predicted, 1),
            "charged_s": round(charged, 1),
        }
        append_line(self.campaign / LOG, values)
