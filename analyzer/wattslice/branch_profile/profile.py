"""What a branch profile is: arms of branches with the counts of each data set, and the source they lie in."""

from __future__ import annotations

import hashlib
from collections import Counter
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache
from pathlib import Path, PurePath

from msgspec import Struct

from wattslice import ir
from wattslice.frontend.inputs import file_bytes
from wattslice.launches.overrides import names_kernel

SCHEMA_VERSION = 2

THEN, ELSE, LOOP, RIGHT, DEFAULT = "then", "else", "loop", "right", "default"
"""Arms of `if` and `?:`, of loops (another iteration follows a test), of `&&` and `||`, of `switch`."""


class Making(Enum):
    """How the counts of a profile came about."""

    INTERPRETER = "interpreter"
    PROBES_CPU = "probes cpu"
    PROBES_NVCC = "probes nvcc"
    PROBES = "probes"  # built and run by the user
    HAND = "hand"


class ArmCount(Struct, frozen=True):
    """What one data set counted of one arm: threads that came to its branch, and that took the arm.

    `kernel`: qualified name. `line` and `column` (from 1) of the branch: for `if`, `switch` and loops where
    they begin, for ``?:`` where its condition does, for ``&&`` and ``||`` where the right side does. `arm`:
    ``then``, ``else``, ``case N`` (the first label; jumps to it, without what falls through), ``default``,
    ``right`` (the right side is evaluated), ``loop`` (visits are tests, taken those that another iteration
    follows). `entries`: of loops, how often one was entered. `warp_entries`, `warp_taken`: the same of loops
    by warps, of which each goes on as long as any of its threads; None where nobody counted warps.
    """

    kernel: str
    file: str
    line: int
    column: int
    arm: str
    visits: int
    taken: int
    entries: int | None = None
    warp_entries: int | None = None
    warp_taken: int | None = None


class DataSetCounts(Struct, frozen=True):
    """Everything that one data set counted."""

    name: str
    arms: tuple[ArmCount, ...]


class DataSet(Struct, frozen=True):
    """One data set of a profile, and what it counts in the mean."""

    name: str
    weight: float = 1.0


class LineDigest(Struct, frozen=True):
    """One line of a source: a digest of its text without the blanks around it, and how many are before it."""

    digest: str
    indent: int


class SourceLines(Struct, frozen=True):
    """A source as it was when the profile was made: the SHA-256 of its bytes, and its lines."""

    file: str
    sha256: str
    lines: tuple[LineDigest, ...]


class ArmProbability(Struct, frozen=True):
    """Mean probability that a visit of the branch on `line` of `file` takes `arm` (Wang & Chen 2013, eq. 14).

    `probability` is None when no data set came to the branch. `kernel` empty: of any kernel. `column` 0: of
    any branch on the line. `visits`, `taken` and `entries` have one number per data set of the profile;
    they are empty where only the probability is known, `entries` also for all but loops, `warp_entries` and
    `warp_taken` also where nobody counted warps.
    """

    file: str
    line: int
    arm: str
    probability: float | None
    kernel: str = ""
    column: int = 0
    visits: tuple[int, ...] = ()
    taken: tuple[int, ...] = ()
    entries: tuple[int, ...] = ()
    warp_entries: tuple[int, ...] = ()
    warp_taken: tuple[int, ...] = ()


class BranchProfile(Struct, frozen=True, eq=False):
    """All measured arms, in the order of the file, and how they were measured.

    `sources` is empty for a profile that is not tied to its source. `command` makes the profile anew; empty
    when nobody knows. `name` of the file it was read from.
    """

    arms: tuple[ArmProbability, ...]
    data_sets: tuple[DataSet, ...] = ()
    sources: tuple[SourceLines, ...] = ()
    making: Making = Making.HAND
    command: str = ""
    name: str = ""

    def lookup(self, kernel: ir.Kernel, span: ir.Span, arm: str) -> ArmProbability | None:
        """The entry of an arm of the branch at `span` in `kernel`, None when the profile does not have it.

        A profile's ``match.cu`` means every path that ends in it; the entry that names most of the path wins,
        among these the one that names the kernel, then the one that names the column.
        """
        fitting = [
            entry
            for entry in _by_line(self).get((span.line, arm), ())
            if entry.column in (0, span.column)
            and is_tail(entry.file, span.file)
            and (not entry.kernel or names_kernel(entry.kernel, kernel))
        ]
        return max(fitting, key=_precision, default=None)

    def probability_range(self, kernel: ir.Kernel, span: ir.Span, arm: str) -> tuple[float, float] | None:
        """The least and the largest share of visits that took an arm, over the data sets that came there.

        Of `then` also from its `else`, and the other way round. None with fewer than two such data sets.
        """
        other = {THEN: ELSE, ELSE: THEN}.get(arm, "")
        entry = self.lookup(kernel, span, arm)
        mirrored = entry is None and bool(other)
        entry = self.lookup(kernel, span, other) if mirrored else entry
        counts = () if entry is None else zip(entry.taken, entry.visits, strict=False)
        shares = [taken / visits for taken, visits in counts if visits]
        if len(shares) < 2:
            return None
        low, high = min(shares), max(shares)
        return (1.0 - high, 1.0 - low) if mirrored else (low, high)

    def mean_iterations(self, kernel: ir.Kernel, span: ir.Span) -> float | None:
        """Mean number of tests of the loop at `span` that another iteration followed, per entry of the loop.

        None when no data set entered it, or the profile does not say.
        """
        entry = self.lookup(kernel, span, LOOP)
        return None if entry is None else weighted_mean(self.data_sets, entry.taken, entry.entries)

    def warp_iterations(self, kernel: ir.Kernel, span: ir.Span) -> float | None:
        """As `mean_iterations`, of whole warps: at least that. None where nobody counted warps."""
        entry = self.lookup(kernel, span, LOOP)
        return None if entry is None else weighted_mean(self.data_sets, entry.warp_taken, entry.warp_entries)


def _precision(entry: ArmProbability) -> tuple[int, bool, bool]:
    return len(PurePath(entry.file).parts), bool(entry.kernel), bool(entry.column)


@lru_cache(maxsize=8)
def _by_line(profile: BranchProfile) -> dict[tuple[int, str], list[ArmProbability]]:
    found: dict[tuple[int, str], list[ArmProbability]] = {}
    for entry in profile.arms:
        found.setdefault((entry.line, entry.arm), []).append(entry)
    return found


def weighted_mean(
    data_sets: tuple[DataSet, ...], counts: tuple[int, ...], totals: tuple[int, ...]
) -> float | None:
    """Equation 14: the mean of count/total over the data sets that have a total; None when none has."""
    known = [
        (data_set.weight, count / total)
        for data_set, count, total in zip(data_sets, counts, totals, strict=False)
        if total > 0
    ]
    weight = sum(weight for weight, _ in known)
    return sum(weight * share for weight, share in known) / weight if weight else None


def is_tail(tail: str, path: str) -> bool:
    """True when `path` ends in all parts of `tail`: ``a/match.cu`` in ``match.cu``."""
    tail_parts, parts = PurePath(tail).parts, PurePath(path).parts
    return parts[len(parts) - len(tail_parts) :] == tail_parts if len(tail_parts) <= len(parts) else False


_DIGITS = 8
"""Hexadecimal digits of a line's digest: two different lines of a file hardly ever share one."""


def source_lines(path: Path, name: str) -> SourceLines:
    """The source at `path` under the name that a profile gives it. Raises `OSError`."""
    data = file_bytes(path)
    return SourceLines(name, hashlib.sha256(data).hexdigest(), line_digests(data))


def line_digests(data: bytes) -> tuple[LineDigest, ...]:
    """One for each line of the text, as compilers number them."""
    return tuple(map(_digest, data.replace(b"\r\n", b"\n").split(b"\n")))


def _digest(line: bytes) -> LineDigest:
    text = line.strip()
    digest = hashlib.sha256(text).hexdigest()[:_DIGITS]
    return LineDigest(digest, len(line) - len(line.lstrip()) if text else 0)


def moved_lines(old: tuple[LineDigest, ...], new: tuple[LineDigest, ...]) -> dict[int, int]:
    """Where the lines of `old` (numbered from 1) are in `new`; those whose text is gone are missing.

    Lines keep their order as far as possible (a longest match of digests); of the others, those are found
    whose text occurs once in either version: a function moved as a whole.
    """
    before, after = [line.digest for line in old], [line.digest for line in new]
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    found = {line: line for line in range(1, head + 1)}
    found |= {len(before) - k: len(after) - k for k in range(tail)}
    middle = SequenceMatcher(
        None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=True
    )
    for block in middle.get_matching_blocks():
        found |= {head + block.a + k + 1: head + block.b + k + 1 for k in range(block.size)}
    places = {digest: line for line, digest in enumerate(after, start=1)}
    times, times_before = Counter(after), Counter(before)
    for line, digest in enumerate(before, start=1):
        if line not in found and times[digest] == 1 == times_before[digest]:
            found[line] = places[digest]
    return found


class BoundProfile(Struct, frozen=True):
    """What a profile says of one program.

    `profile` has the entries that are about it, on today's lines. `fitting` and `lost` are places in the
    list of the profile as it was read: entries that are about a branch, and entries whose line has changed.
    `kernels`: the names in the profile that mean a kernel of the program.
    """

    profile: BranchProfile
    fitting: frozenset[int]
    lost: frozenset[int]
    kernels: frozenset[str]


def arm_name(case: ir.Case) -> str:
    """How reports and profiles call a case: `case 3`, `default`."""
    return DEFAULT if case.labels[:1] == (None,) else f"case {case.labels[0]}"
