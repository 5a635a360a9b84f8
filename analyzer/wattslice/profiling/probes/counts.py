"""The file in which an instrumented program leaves its counters, and what they say about branches."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from msgspec import Struct

from wattslice.branch_profile.profile import ELSE, LOOP, RIGHT, THEN, ArmCount
from wattslice.errors import WattsliceError

FILE_VARIABLE = "WATTSLICE_COUNTS"
"""The environment variable that names the file to an instrumented program."""
DEFAULT_FILE = "wattslice-counts.txt"
_FIRST_LINE = "wattslice-counts 1"


class Counts(Struct, frozen=True):
    """What one run of an instrumented program counted.

    `file` and `sha256` of the program before it was instrumented.
    """

    file: str
    sha256: str
    arms: tuple[ArmCount, ...]


def read_counts(path: Path) -> Counts:
    """The counts in a file that an instrumented program wrote. Raises `ProbeError` with the line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise ProbeError(f"cannot read the counts: {error.strerror}", path=path) from None
    except UnicodeDecodeError:
        raise ProbeError("the counts are not UTF-8 text", path=path) from None
    if len(lines) < 3 or lines[0] != _FIRST_LINE:
        raise ProbeError(
            "is no file of counts", path=path, line=1, remedy=f"its first line would be '{_FIRST_LINE}'"
        )
    arms: list[ArmCount] = []
    for number, line in enumerate(lines[3:], 4):
        try:
            file, kernel, row, column, kind, labels, *counters = line.split("\t")
            place = kernel, file, int(row), int(column)
            counted = [int(counter) for counter in counters]
            arms.extend(
                ArmCount(*place, arm, visits, taken, entries)
                for arm, visits, taken, entries in _arms(ProbeKind(kind), labels, counted)
            )
        except (ValueError, IndexError):
            raise ProbeError(
                "not a line of counts", path=path, line=number, remedy="run the program again"
            ) from None
    if not arms:
        raise ProbeError(
            "the kernels have no branch that can be counted", path=path, remedy="they need no profile"
        )
    if not any(arm.visits for arm in arms):
        raise ProbeError(
            "every counter is zero: no kernel came to a branch, or its counts were lost",
            path=path,
            remedy="the program must run a kernel, and must not reset the device in another file",
        )
    return Counts(lines[1], lines[2], tuple(arms))


def _arms(kind: ProbeKind, labels: str, counted: list[int]) -> Iterator[tuple[str, int, int, int | None]]:
    """Arm, visits, taken, entries of each arm of a branch, from its counters."""
    first, *rest = counted
    match kind:
        case ProbeKind.TEST:
            yield THEN, first, rest[0], None
            if labels != THEN:
                yield ELSE, first, first - rest[0], None
        case ProbeKind.LOOP:
            yield LOOP, first, rest[0], rest[1] if len(rest) > 1 else None
        case ProbeKind.DO:
            yield LOOP, first, rest[0], rest[1] - rest[0]
        case ProbeKind.ENDLESS:
            yield LOOP, first, first, rest[0] if rest else None
        case ProbeKind.LOGICAL:
            yield RIGHT, first, rest[0], None
        case ProbeKind.SWITCH:
            for arm, taken in zip(labels.split(","), rest, strict=True):
                yield arm, first, taken, None


class ProbeError(WattsliceError):
    """A program that cannot be instrumented, built or run, or that left no counts."""


class ProbeKind(Enum):
    """A branch, by what its counters mean.

    TEST: tests, tests that held (`if`, ``?:``; its arm is `then` alone where there is no `else`). LOOP: the
    same and, if there is a third, entries. DO: the
    same and iterations. ENDLESS: iterations and, if there is a second, entries. LOGICAL: evaluations,
    evaluations of the right side. SWITCH: evaluations, then jumps to each of its groups of labels.
    """

    TEST = "test"
    LOOP = "loop"
    DO = "do"
    ENDLESS = "endless"
    LOGICAL = "logical"
    SWITCH = "switch"


class Probe(Struct, frozen=True):
    """The counters of one branch; every kernel in `kernels`, which can come here, has its own set of them.

    `line` and `column` as in `ArmCount`. `first` of `counters` counters. `arms` of a switch, in the order of
    its counters after the first.
    """

    kind: ProbeKind
    file: str
    line: int
    column: int
    first: int
    counters: int
    kernels: tuple[str, ...]
    arms: tuple[str, ...] = ()


class NotProbed(Struct, frozen=True, order=True):
    """A branch of a kernel that is not counted, and why."""

    file: str
    line: int
    column: int
    reason: str


class InstrumentedSource(Struct, frozen=True):
    """A program that counts its branches; lines keep their numbers. `sha256` of the program as it was.

    `include_dirs` that its headers were found in beyond those that the user has named.
    """

    file: str
    text: str
    sha256: str
    kernels: tuple[str, ...]
    probes: tuple[Probe, ...]
    not_probed: tuple[NotProbed, ...]
    include_dirs: tuple[Path, ...] = ()
