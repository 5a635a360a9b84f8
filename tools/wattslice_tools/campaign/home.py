"""The folder of a campaign, where it is measured and at home: what is done and left, tables, packets.

``FOLDER/log.jsonl`` tells of pieces; ``FOLDER/<board>/`` is of one board: ``machine.json``,
``journal.jsonl``, ``traces/``, ``sensor.json``, ``instructions/``, ``counters.jsonl``, tables made of these.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct, to_builtins

from wattslice_corpora.instruction_kernels import Added
from wattslice_corpora.measuring.bench import Timing, with_power
from wattslice_corpora.measuring.card import USES, protocol, write_card
from wattslice_corpora.measuring.chip import Chip
from wattslice_corpora.measuring.instruction_energy import instruction_rows
from wattslice_corpora.measuring.instruction_plan import Study
from wattslice_corpora.measuring.instruction_table import write_instruction_card, write_instruction_table
from wattslice_corpora.measuring.journal import TRACES, Entry, Journal, read_entries
from wattslice_corpora.measuring.power import SHORTEST_LAUNCH_S, power_of
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.measuring.trace import read_trace
from wattslice_corpora.records import sha256, write_table, write_text
from wattslice_tools.campaign.counters import EACH_S as COUNTER_S
from wattslice_tools.campaign.probes import DATASET, ProbeRow, probe_rows
from wattslice_tools.campaign.sections import START_S, TIMING, TUNER, Plan, Section, make_plan
from wattslice_tools.campaign.sensor_check import CHECK_S, RESULT

LOG, MACHINE, COUNTERS, INSTRUCTIONS = "log.jsonl", "machine.json", "counters.jsonl", "instructions"
PACKET, SUMS = "piece", "SHA256SUMS"
_LEFT_BEHIND = ("build", "sources", "kernels")
_LINES = ".jsonl"
_NAMED = 5
"""Damaged files that are told by name."""
_CARD_USES = (
    *USES,
    (DATASET, "test", "microbenchmarks of the campaign"),
    (TUNER, "test", "variants of one tiled matrix product, in random order"),
)


class BoardFolder(Struct, frozen=True):
    """One board's part of a campaign."""

    folder: Path
    board: Board
    chip: Chip
    identity: str

    def plan(self, each: int | None = None) -> Plan:
        """Its plan; sources are written into the folder."""
        return make_plan(self.chip.sm_count, self.folder.name, self.folder, each)

    def write(self) -> None:
        """``machine.json``."""
        self.folder.mkdir(parents=True, exist_ok=True)
        values = {"board": to_builtins(self.board), "chip": to_builtins(self.chip), "identity": self.identity}
        write_text(self.folder / MACHINE, f"{json.dumps(values, indent=1)}\n")


def boards(campaign: Path) -> tuple[BoardFolder, ...]:
    """The boards that were measured, by name of their folder."""
    found: list[BoardFolder] = []
    for path in sorted(campaign.glob(f"*/{MACHINE}")):
        values = json.loads(path.read_text(encoding="utf-8"))
        found.append(
            BoardFolder(path.parent, Board(**values["board"]), Chip(**values["chip"]), values["identity"])
        )
    return tuple(found)


def timing_s(timing: Timing = TIMING) -> float:
    """Seconds that the plan allows for one configuration of the bench."""
    return START_S + timing.idle_s + timing.warmup_s + timing.window_s


def predicted_s(section: Section, count: int, with_check: bool = False) -> float:
    """Seconds for `count` configurations of a section. `with_check`: the sensor check comes on top."""
    each_s = COUNTER_S if section is Section.COUNTERS else timing_s()
    return count * each_s + (CHECK_S if with_check else 0.0)


class Left(Struct, frozen=True):
    """What a section still has to measure: of `total`, `count`. `check`: the sensor check as well."""

    section: Section
    total: int
    count: int
    check: bool = False

    @property
    def seconds(self) -> float:
        """As the plan predicts."""
        return predicted_s(self.section, self.count, self.check)


class State(Struct, frozen=True):
    """What was done on boards of one kind: (name, version) of configurations and runs, names counted.

    Of the board itself, not of its kind: `refused`, why it gives no counters, else empty; `sensor`: its
    sensor check succeeded; `sensor_tried`: or failed. `tried_again`: names that had their second chance.
    """

    entries: tuple[Entry, ...]
    runs: frozenset[tuple[str, str]]
    counted: frozenset[str]
    refused: str
    sensor: bool
    sensor_tried: bool
    tried_again: frozenset[str]

    @property
    def done(self) -> frozenset[tuple[str, str]]:
        """Measured, whether valid or not."""
        return frozenset((entry.name, entry.version) for entry in self.entries)


def state_of(campaign: Path, board: Board) -> State:
    """What boards of that name have measured, all of them together."""
    alike = [one for one in boards(campaign) if one.board.name == board.name]
    own = [one.folder for one in alike if one.board.uuid == board.uuid]
    counters = [values for one in alike for values in read_lines(one.folder / COUNTERS)]
    refusals = [values for folder in own for values in read_lines(folder / COUNTERS) if "refused" in values]
    checks = [json.loads(path.read_bytes()) for one in own if (path := one / RESULT).exists()]
    return State(
        entries=tuple(entry for one in alike for entry in read_entries(one.folder)),
        runs=frozenset(
            (entry.name, entry.version) for one in alike for entry in read_entries(one.folder / INSTRUCTIONS)
        ),
        counted=frozenset(str(values["name"]) for values in counters if "name" in values),
        refused=next((str(values["refused"]) for values in refusals), ""),
        sensor=any("check" in values for values in checks),
        sensor_tried=bool(checks),
        tried_again=frozenset(
            str(values["again"]) for values in read_lines(campaign / LOG) if "again" in values
        ),
    )


def left_of(plan: Plan, versions: dict[str, str], state: State) -> tuple[Left, ...]:
    """Section by section. `versions`: of the runs of instructions, by name."""
    done = state.done
    names = {one.name for one in plan.configurations}
    by_section = dict(plan.powers)
    found: list[Left] = []
    for section in Section:
        if section is Section.INSTRUCTIONS:
            missing = sum((name, version) not in state.runs for name, version in versions.items())
            found.append(Left(section, len(versions), missing))
        elif section is Section.COUNTERS:
            missing = sum(one.name not in state.counted for one in plan.counted)
            found.append(Left(section, len(plan.counted), 0 if state.refused else missing))
        elif section is Section.AGAIN:
            unlucky = [entry for entry in state.entries if entry.name in names and is_unlucky(entry, state)]
            found.append(Left(section, len(unlucky), len(unlucky)))
        else:
            some = by_section[section]
            missing = sum((one.name, one.version) not in done for one in some)
            check = section is Section.SENSOR and not state.sensor_tried
            found.append(Left(section, len(some), missing, check))
    return tuple(found)


def is_unlucky(entry: Entry, state: State) -> bool:
    """Not valid, for a reason that may be gone, and not tried again yet."""
    row = entry.row
    long_enough = (row.time_s or 1.0) >= SHORTEST_LAUNCH_S
    return not row.power_valid and long_enough and entry.name not in state.tried_again


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file of JSON lines; a torn line is left out; none without the file."""
    for line in path.read_bytes().split(b"\n") if path.exists() else ():
        try:
            values = json.loads(line)
        except ValueError:
            continue
        if isinstance(values, dict):
            yield values


def append_line(path: Path, values: dict[str, object]) -> None:
    """A line more, on disk before this returns. Raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(json.dumps(values, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def write_tables(found: BoardFolder, each: int | None = None) -> None:
    """Tables and cards of a board anew, from its journals. Raises `MeasureError`, ``OSError``."""
    board, chip, folder = found.board, found.chip, found.folder
    plan = found.plan(each)
    entries = read_entries(folder)
    comments = (
        f"measured on {board.name} {board.uuid}, driver {board.driver}, CUDA {board.cuda}",
        protocol(TIMING),
    )
    with Journal(folder, found.identity) as journal:
        journal.write_tables(comments, tuple((one.name, one.version) for one in plan.configurations))
    rows = probe_rows(chip.sm_count, (entry.row for entry in entries))
    write_table(folder / "probes.csv", comments, ProbeRow, rows)
    write_card(folder, board, folder.name, chip.architecture, TIMING, None, _CARD_USES)
    runs = read_entries(folder / INSTRUCTIONS)
    if runs:
        kernels = folder / INSTRUCTIONS / "kernels"
        versions = tuple(
            (run.name(), run.configuration(chip.sm_count, kernels).version) for run in plan.instructions
        )
        table = instruction_rows(plan.instructions, versions, runs, chip.sm_count, _no_machine_code)
        write_instruction_table(folder / INSTRUCTIONS, board, TIMING, table)
        write_instruction_card(folder / INSTRUCTIONS, board, chip, TIMING)


def judge_anew(found: BoardFolder) -> int:
    """Every row again from its trace, by the rules of today; the tables anew. How many rows changed.

    Raises `MeasureError`, `TraceError`, ``OSError``.
    """
    changed = 0
    instructions = found.folder / INSTRUCTIONS, f"{found.identity}, {INSTRUCTIONS}"
    for folder, identity in ((found.folder, found.identity), instructions):
        if not read_entries(folder):
            continue
        with Journal(folder, identity) as journal:
            for entry in journal.entries:
                path = folder / TRACES / f"{entry.name}.csv.gz"
                if not path.exists():
                    continue
                trace = read_trace(path)
                power = power_of(trace)
                again = Entry(entry.name, entry.version, with_power(entry.row, trace, power), power.powers)
                if again != entry:
                    journal.add(again, None)
                    changed += 1
    write_tables(found)
    return changed


def _no_machine_code(study: Study) -> Added | None:
    return None


class Packer:
    """What a piece brings home, as one file in `out`: what has changed in `campaign` since this was made."""

    def __init__(self, campaign: Path, out: Path, name: str) -> None:
        self._campaign = campaign
        self._packet = out / f"{name}.tar.gz"
        self._before = {path: _stamp(path) for path in self._files()}
        out.mkdir(parents=True, exist_ok=True)

    def pack(self) -> Path:
        """Whole or not at all, whatever stops it. Raises ``OSError``, when the disk is full."""
        draft = self._packet.with_suffix(".tmp")
        changed = [path for path in self._files() if self._before.get(path) != _stamp(path)]
        names = [path.relative_to(self._campaign).as_posix() for path in changed]
        lines = (f"{sha256(path)}  {name}\n" for path, name in zip(changed, names, strict=True))
        sums = "".join(lines).encode()
        listed = tarfile.TarInfo(SUMS)
        listed.size = len(sums)
        try:
            with tarfile.open(draft, "w:gz", compresslevel=1) as tar:
                tar.addfile(listed, io.BytesIO(sums))
                for path, name in zip(changed, names, strict=True):
                    tar.add(path, name, recursive=False)
            draft.replace(self._packet)
        finally:
            draft.unlink(missing_ok=True)
        return self._packet

    def _files(self) -> tuple[Path, ...]:
        found = (path for path in sorted(self._campaign.rglob("*")) if path.is_file())
        return tuple(
            path
            for path in found
            if not set(path.relative_to(self._campaign).parts) & set(_LEFT_BEHIND)
            and path.suffix != ".tmp"
            and not path.name.startswith(".")
        )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def merge(campaign: Path, packets: Iterable[Path]) -> tuple[str, ...]:
    """Puts what came home into `campaign`: lines of journals are united, the rest replaced, tables made anew.

    In the order of the packets' names. A packet cut off or damaged gives what is whole in it, by the
    checksums that it carries. Returns what is wrong with packets; raises ``OSError``.
    """
    faults: list[str] = []
    campaign.mkdir(parents=True, exist_ok=True)
    for packet in sorted(packets, key=lambda path: path.name):
        with tempfile.TemporaryDirectory(prefix="packet-") as temporary:
            faults += unpack(packet, Path(temporary))
            _unite(Path(temporary), campaign)
    for found in boards(campaign):
        write_tables(found)
    return tuple(faults)


def unpack(packet: Path, place: Path) -> tuple[str, ...]:
    """Leaves in `place` what is whole in the packet; returns what is not."""
    why, content = "", packet.read_bytes()
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as tar:
            tar.extractall(place, filter="data")
    except (tarfile.TarError, EOFError, OSError, OverflowError, zlib.error) as error:
        why = f"{error}: "
    sums = place / SUMS
    lines = sums.read_text(encoding="utf-8", errors="replace").splitlines() if sums.is_file() else ()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = {
        path.relative_to(place).as_posix(): path
        for path in place.rglob("*")
        if path.is_file() and path != sums
    }
    whole = {name for name, path in found.items() if listed.get(name) == sha256(path)}
    sums.unlink(missing_ok=True)
    for name in found.keys() - whole:
        found[name].unlink()
    damaged = sorted((listed.keys() | found.keys()) - whole)
    if lines and not why and not damaged:
        return ()
    names = ", ".join(damaged[:_NAMED]) + (f" and {len(damaged) - _NAMED} more" if damaged[_NAMED:] else "")
    return (f"{packet}: {why}damaged: {names or 'all of it'}; copy it again; what was whole is taken",)


def _unite(source: Path, campaign: Path) -> None:
    for path in sorted(source.rglob("*")):
        target = campaign / PurePosixPath(path.relative_to(source))
        if not path.is_file():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == _LINES and target.exists():
            lines = dict.fromkeys((*_whole_lines(target), *_whole_lines(path)))
            target.write_bytes(b"".join(line + b"\n" for line in lines))
        else:
            shutil.copyfile(path, target)


def _whole_lines(path: Path) -> tuple[bytes, ...]:
    *lines, _torn = path.read_bytes().split(b"\n")
    return tuple(lines)
