"""Why our counts miss the counters: sentences written by people, checked against what does miss."""

from __future__ import annotations

import tomllib
from pathlib import Path

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice_corpora.records import ParameterValue
from wattslice_tools.public_sets.counters.quantities import QUANTITIES, Compared

CAUSES_FILE = Path(__file__).with_name("causes.toml")


class Cause(Struct, frozen=True):
    """Why one quantity of one benchmark misses. `benchmark`: "PROGRAM KERNEL" of one with several."""

    benchmark: str
    quantity: str
    text: str

    def is_of(self, entry: Compared) -> bool:
        """Whether it tells why `entry` misses."""
        names = entry.benchmark, f"{entry.benchmark} {entry.kernel}"
        return self.quantity == entry.quantity.name and self.benchmark in names


class HostRun(Struct, frozen=True):
    """How the host code of a benchmark is to be read: the file with the launch and the sizes of the run.

    `file` relative to the checkout, empty for the recipe's. `variables`: host variables that the program
    takes from its command line or its input, with their values in the counted run. `reason`: why the geometry
    is not read, for people; empty where it is.
    """

    benchmark: str
    file: str
    variables: tuple[ParameterValue, ...]
    reason: str


class Notes(Struct, frozen=True):
    """Everything in the file of causes. `missing`: reasons why a benchmark cannot be compared at all."""

    causes: tuple[Cause, ...]
    host_runs: tuple[HostRun, ...]

    def cause(self, entry: Compared) -> str:
        """Why `entry` misses; empty when nobody wrote it down."""
        return next((cause.text for cause in self.causes if cause.is_of(entry)), "")

    def host_run(self, benchmark: str) -> HostRun:
        """How to read the host code of a benchmark: by default as it stands."""
        found = (run for run in self.host_runs if run.benchmark == benchmark)
        return next(found, HostRun(benchmark, "", (), ""))


def read_notes(
    path: Path = CAUSES_FILE, known: frozenset[str] = frozenset(quantity.name for quantity in QUANTITIES)
) -> Notes:
    """The file of causes of `known` quantities. Raises `WattsliceError` naming the entry at fault."""
    place = str(path)
    causes: list[Cause] = []
    runs: list[HostRun] = []
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in document.get("cause", ()):
            place = f"{path}: [[cause]] of {entry.get('benchmarks')}"
            for quantity in entry["quantities"]:
                if quantity not in known:
                    raise ValueError(f"no quantity {quantity!r}; there are {', '.join(sorted(known))}")
                causes += [Cause(name, quantity, str(entry["text"])) for name in entry["benchmarks"]]
        for entry in document.get("host", ()):
            place = f"{path}: [[host]] {entry.get('benchmark')}"
            values = tuple(ParameterValue(name, value) for name, value in entry.get("set", {}).items())
            runs.append(HostRun(entry["benchmark"], entry.get("file", ""), values, entry.get("reason", "")))
    except (OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise WattsliceError(f"{place}: entry missing or malformed ({error})") from None
    pairs = [(cause.benchmark, cause.quantity) for cause in causes]
    twice = sorted({pair for pair in pairs if pairs.count(pair) > 1})
    if twice:
        raise WattsliceError(f"{path}: two causes for {' '.join(twice[0])}", remedy="keep one of them")
    return Notes(tuple(causes), tuple(runs))


def without_cause(notes: Notes, compared: tuple[Compared, ...]) -> tuple[Compared, ...]:
    """Misses that nobody explained."""
    return tuple(entry for entry in compared if entry.is_to_explain and not notes.cause(entry))


def stale(notes: Notes, compared: tuple[Compared, ...]) -> tuple[Cause, ...]:
    """Causes of what is no miss (any more)."""
    misses = [entry for entry in compared if entry.is_to_explain]
    return tuple(cause for cause in notes.causes if not any(map(cause.is_of, misses)))
