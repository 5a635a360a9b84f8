"""The file in which an instrumented program leaves its counters, and what they say about branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wattslice.branch_profile.profile import ELSE, LOOP, RIGHT, THEN, ArmCount
from wattslice.profiling.probes.types import ProbeError, ProbeKind

FILE_VARIABLE = "WATTSLICE_COUNTS"
"""The environment variable that names the file to an instrumented program."""
DEFAULT_FILE = "wattslice-counts.txt"
_FIRST_LINE = "wattslice-counts 1"


@dataclass(frozen=True, slots=True)
class Counts:
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
