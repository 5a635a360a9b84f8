"""Data cards, `measurements/<gpu>.toml`: where the measured runs of a GPU come from, what they are worth."""

from __future__ import annotations

import tomllib
from enum import StrEnum
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY, MeasuredRow
from wattslice_corpora.records.tables import RecordError


class Use(StrEnum):
    """What a data set may be used for: nothing of a test set enters the fit of a model of one board.

    The model of all boards learns from every set, and is judged by what was left out of its fits.
    """

    TRAINING = "training"
    TEST = "test"


class Timed(StrEnum):
    """What the time of a row is the time of."""

    ITERATION = "iteration"  # all launches of one timed iteration
    KERNEL = "kernel"  # one launch of the kernel that the row names
    RUN = "run"  # the whole run, of a number of launches that nobody recorded: stands in `window_s`


class CoreClock(StrEnum):
    """Who chose the core clock of the runs."""

    SET = "set"  # whoever measured
    FREE = "free"  # the board: it lowers the clock where the power limit asks for that


class InvalidRows(Struct, frozen=True):
    """Rows of a data set whose watts must not be used: those at a clock, of a benchmark, with some arguments.

    A clock None: every clock. `benchmark` empty: every program. `arguments` empty: whatever they are.
    """

    core_mhz: float | None
    memory_mhz: float | None
    benchmark: str
    arguments: tuple[str, ...]
    reason: str

    def hit(self, row: MeasuredRow) -> bool:
        """Whether `row` is one of them."""
        return (
            self.core_mhz in (None, row.core_mhz)
            and self.memory_mhz in (None, row.memory_mhz)
            and self.benchmark in ("", row.benchmark)
            and (not self.arguments or row.arguments in self.arguments)
        )


class IdlePower(Struct, frozen=True):
    """Board power without work at one pair of clocks."""

    core_mhz: float
    memory_mhz: float
    power_w: float


class DataSet(Struct, frozen=True):
    """Runs that were measured together. An empty text is unknown.

    `key` stands in the rows. `core_clock`: "set" where a card does not say. `recipes`: the recipe file that
    tells how the programs were run, if there is one.
    `repository`, `path`, `commit`: of the table that the rows were taken from. `measured_in`: year or date.
    `utilisation_path`: of the table with DCGM activity of the same runs, if there is one. `power_definition`:
    how the watts came from the samples, which the rows name in short in `method`.
    `faults`: what is known to be wrong, with numbers. `invalid`: which rows the importer flags.
    `idle`: idle power, where it was measured once for all runs.
    """

    key: str
    use: Use
    timed: Timed
    core_clock: CoreClock
    recipes: str
    repository: str
    path: str
    utilisation_path: str
    commit: str
    licence: str
    measured_by: str
    measured_in: str
    protocol: str
    power_definition: str
    faults: tuple[str, ...]
    invalid: tuple[InvalidRows, ...]
    idle: tuple[IdlePower, ...]

    @property
    def reads_peaks(self) -> bool:
        """Whether the watts are a mean of the highest samples, and so biased high."""
        return "highest samples" in self.power_definition


class DataCard(Struct, frozen=True):
    """All that is known of the measured runs of one GPU. `driver` empty: unknown."""

    gpu_id: str
    board: str
    chip: str
    driver: str
    datasets: tuple[DataSet, ...]

    def dataset(self, key: str) -> DataSet:
        """The data set of a row. Raises `RecordError` when the card has none of that key."""
        for entry in self.datasets:
            if entry.key == key:
                return entry
        raise RecordError(f"{card_path(self.gpu_id)}: no [[dataset]] with key {key!r}")


def card_path(gpu_id: str) -> Path:
    """The data card of a GPU."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}.toml"


def read_card(path: Path) -> DataCard:
    """A data card. Raises `RecordError` naming the data set at fault, and ``OSError`` when unreadable."""
    place = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        datasets: list[DataSet] = []
        for entry in document["dataset"]:
            place = f"{path}: [[dataset]] {entry.get('key')}"
            datasets.append(_dataset(entry))
        place = str(path)
        keys = [entry.key for entry in datasets]
        if len(set(keys)) < len(keys):
            raise ValueError("a key stands twice")
        return DataCard(path.stem, document["board"], document["chip"], document["driver"], tuple(datasets))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(f"{place}: entry missing or malformed ({error})") from None


def _dataset(entry: dict[str, Any]) -> DataSet:
    found = DataSet(
        key=entry["key"],
        use=Use(entry["use"]),
        timed=Timed(entry["timed"]),
        core_clock=CoreClock(entry.get("core_clock", CoreClock.SET)),
        recipes=entry["recipes"],
        repository=entry["repository"],
        path=entry["path"],
        utilisation_path=entry.get("utilisation_path", ""),
        commit=entry["commit"],
        licence=entry["licence"],
        measured_by=entry["measured_by"],
        measured_in=entry["measured_in"],
        protocol=entry["protocol"],
        power_definition=entry["power_definition"],
        faults=tuple(entry["faults"]),
        invalid=tuple(
            InvalidRows(
                rows.get("core_mhz"),
                rows.get("memory_mhz"),
                rows.get("benchmark", ""),
                tuple(rows.get("arguments", ())),
                rows["reason"],
            )
            for rows in entry.get("invalid", ())
        ),
        idle=tuple(
            IdlePower(float(core), float(memory), float(watts))
            for core, memory, watts in entry.get("idle", ())
        ),
    )
    for name in ("key", "measured_by", "protocol", "power_definition", "licence"):
        if not getattr(found, name):
            raise ValueError(f"{name} must be told, if only by saying that nothing is known")
    return found
