"""One piece of the campaign: goes on where the last one stopped, and ends in time whatever happens."""

from __future__ import annotations

import json
import shutil
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, field

from wattslice_corpora.measuring.bench import Bench, Configuration, visible
from wattslice_corpora.measuring.campaign import Progress, run_campaign
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.errors import AllFailError, MeasureError, told
from wattslice_corpora.measuring.instruction_bench import InstructionBench
from wattslice_corpora.measuring.instruction_plan import Run
from wattslice_corpora.measuring.journal import Journal
from wattslice_corpora.measuring.machine import this_machine
from wattslice_corpora.measuring.nvml import NvmlSensor
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.records import write_text
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
from wattslice_tools.campaign.sections import ANCHORS, TIMING, Plan, Section, anchored
from wattslice_tools.campaign.sensor_check import CHECK_S, RESULT, check_sensor

BUDGET_S = 525.0
"""Of a piece: a program that hangs at its end is killed some 35 s later, and then a packet is made."""
MOST_FAILURES = 8
"""In a row: more programs than that do not fail one by one, something fails them all."""
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
            program = machine.bench.program(configuration)
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
    most_failures: int = MOST_FAILURES,
) -> Done:
    """Measures until `budget_s` is over or nothing is left. Raises nothing that a full disk, a lost board or
    a defect of ours causes: that is `Done.trouble`.

    `most_failures`: so many programs in a row that do not run end a section, and the piece when nothing has
    run in it at all; these rows are measured again.
    """
    folder = campaign / lab.key
    identity = f"{lab.board.name} {lab.board.uuid}, campaign, {TIMING}"
    number = 1 + max((int(values.get("piece", 0)) for values in read_lines(campaign / LOG)), default=0)
    packer = Packer(campaign, out, f"{PACKET}-{number:02}-{lab.key}")
    home = BoardFolder(folder, lab.board, lab.chip, identity)
    piece = _Piece(lab, campaign, home, number, clock() + budget_s, packer, clock, say, each, most_failures)
    trouble: tuple[str, ...] = ()
    try:
        piece.begin()
        with Journal(folder, identity) as journal:
            piece.measure(journal)
        write_tables(home, each)
    except Exception as error:
        trouble = (told(error),)
        if not isinstance(error, MeasureError | OSError):
            say(traceback.format_exc())
    finally:
        packet = piece.pack()
    left = _left(home.plan(each), home, campaign)
    if packet is None and not trouble:
        trouble = ("what was measured could not be packed: the disk is full",)
    return Done(number, left, packet, "; ".join((*piece.stopped, *trouble)))


def _left(plan: Plan, home: BoardFolder, campaign: Path) -> tuple[Left, ...]:
    return left_of(plan, _versions(plan, home), state_of(campaign, home.board))


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
    most_failures: int
    packed_s: float = 0.0
    measured: int = 0
    valid: int = 0
    any_ran: bool = False
    stopped: list[str] = field(default_factory=list[str])

    def begin(self) -> None:
        if shutil.disk_usage(self.campaign if self.campaign.exists() else Path.cwd()).free < _ROOM_BYTES:
            raise MeasureError(f"less than {_ROOM_BYTES >> 20} MiB are free: make room first")
        self.home.write()
        self.packed_s = self.clock()
        begin = {"board": self.lab.key, "name": self.lab.board.name, "begin": datetime.now(UTC).isoformat()}
        append_line(self.campaign / LOG, {"piece": self.number, **begin, "flags": self.lab.flags})

    def measure(self, journal: Journal) -> None:
        """Section after section until time is over."""
        plan = self.home.plan(self.each)
        if not any(one.count or one.check for one in _left(plan, self.home, self.campaign)):
            return
        powers = dict(plan.powers)
        for section in Section:
            state = state_of(self.campaign, self.lab.board)
            done = state.done
            if section is Section.SENSOR:
                if not state.sensor:
                    self._check()
                anchors = anchored(plan.anchors, self.number)
                most = ANCHORS if self.most_failures == MOST_FAILURES else self.most_failures
                self._measure(section, anchors, self.lab.bench, journal, most)
            if section is Section.INSTRUCTIONS:
                self._instructions(plan, state.runs)
            elif section is Section.COUNTERS:
                self._counters(plan, state.counted)
            elif section is Section.AGAIN:
                again = {entry.name for entry in state.entries if is_unlucky(entry, state)}
                some = tuple(one for one in plan.configurations if one.name in again and not self.stopped)
                self._measure(section, some, self.lab.bench, journal, len(some) + 1)
            else:
                some = tuple(one for one in powers[section] if (one.name, one.version) not in done)
                self._measure(section, some, self.lab.bench, journal, self.most_failures)
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
        begin_s, self.measured, self.valid = self.clock(), 1, 1
        try:
            self.lab.check_sensor(self.home.folder)
        except Exception as error:
            self.valid = 0
            write_text(self.home.folder / RESULT, f"{json.dumps({'failed': told(error)})}\n")
            self.say(f"a sensor check: {told(error)}")
        self._log(Section.SENSOR, CHECK_S, begin_s)

    def _instructions(self, plan: Plan, done: frozenset[tuple[str, str]]) -> None:
        folder = self.home.folder / INSTRUCTIONS
        wanted = tuple(
            run.configuration(self.lab.chip.sm_count, folder / "kernels") for run in plan.instructions
        )
        some = tuple(one for one in wanted if (one.name, one.version) not in done)
        if some and self._left_s() > 0:
            bench = self.lab.instruction_bench(folder / "kernels", plan.instructions)
            with Journal(folder, f"{self.home.identity}, {INSTRUCTIONS}") as journal:
                self._measure(Section.INSTRUCTIONS, some, bench, journal, self.most_failures)

    def _measure(
        self, section: Section, some: tuple[Configuration, ...], bench: Bench, journal: Journal, most: int
    ) -> None:
        if not some or self._left_s() <= 0:
            return
        begin_s, self.measured, self.valid = self.clock(), 0, 0

        def tell(progress: Progress) -> None:
            row = progress.row
            self.measured += 1
            self.valid += row.power_valid
            self.any_ran = self.any_ran or row.time_s is not None
            watts = "no watts" if row.power_w is None else f"{row.power_w:.1f} W"
            said = row.reason or watts
            self.say(f"{section.letter} {progress.done}/{progress.total} {progress.name}: {said}")
            if section is Section.AGAIN:
                append_line(self.campaign / LOG, {"again": progress.name})
            self._pack_sometimes()

        try:
            run_campaign(some, bench, journal, (), self._left_s(), None, tell, self.clock, most)
        except AllFailError as error:
            self._stop(section, str(error))
        finally:  # also when the piece is asked to end
            self._log(section, predicted_s(section, self.measured), begin_s)

    def _stop(self, section: Section, why: str) -> None:
        """Leaves a section whose programs fail alike; the piece, when nothing has run in it yet."""
        words = (
            f"section {section.letter} was left: {why}; these rows are measured again: mend the cause (nvcc "
            "newer than the driver? --nvcc-flags), or take them as failed with --failures 1000"
        )
        if not self.any_ran:
            raise MeasureError(words)
        self.say(words)
        self.stopped.append(words)

    def _counters(self, plan: Plan, counted: frozenset[str]) -> None:
        begin_s, self.measured, self.valid = self.clock(), 0, 0
        path = self.home.folder / COUNTERS
        failed: list[dict[str, object]] = []  # in a row
        some = tuple(one for one in plan.counted if one.name not in counted)
        if some and self._left_s() > 0:
            self.lab.bench.prepare(some[:8])
        try:
            for configuration in some:
                if self._left_s() < LIMIT_S:
                    break
                named: dict[str, object] = {"name": configuration.name, "version": configuration.version}
                try:
                    counters = self.lab.count(configuration)
                except CountersRefusedError as error:
                    append_line(path, {"refused": str(error)})
                    self.say(f"g no counters: {error}")
                    break
                except Exception as error:
                    self.measured += 1
                    failed.append({**named, "reason": told(error)})
                    if len(failed) == self.most_failures:
                        why = f"{len(failed)} counts in a row failed, the last: {told(error)}"
                        failed.clear()
                        self._stop(Section.COUNTERS, why)
                        break
                else:
                    self.measured, self.valid = self.measured + 1, self.valid + 1
                    for one in (*failed, {**named, "counters": counters}):
                        append_line(path, one)
                    failed.clear()
                    self._pack_sometimes()
            for one in failed:
                append_line(path, one)
        finally:
            self._log(Section.COUNTERS, predicted_s(Section.COUNTERS, self.measured), begin_s)

    def _left_s(self) -> float:
        return max(0.0, self.deadline_s - self.clock())

    def _pack_sometimes(self) -> None:
        if self.clock() - self.packed_s >= _PACK_EVERY_S:
            self.pack()

    def _log(self, section: Section, predicted: float, begin_s: float) -> None:
        if not self.measured:
            return
        values: dict[str, object] = {
            "piece": self.number,
            "board": self.lab.key,
            "end": datetime.now(UTC).isoformat(),
            "section": section.letter,
            "measured": self.measured,
            "valid": self.valid,
            "predicted_s": round(predicted, 1),
            "charged_s": round(self.clock() - begin_s, 1),
        }
        append_line(self.campaign / LOG, values)
