"""What a comparison knows of one launch, whether it was analysed just now or stands in a baseline file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.quoting import Quoter
from wattslice.frontend.kernel_text import ONE_KERNEL_FROM, kernel_words, likeness
from wattslice.launches.launch import Dim3


class LaunchRecord(Struct, frozen=True):
    """One launch: `kernel` is the qualified name, `file` a path that both states share.

    `ordinal` from 1 counts the launches of a kernel in a file. `body`: hash of the kernel's text without
    comments, spaces and its name. `times`: how often one run makes it; figures are of one launch.

    Figures and `times` are None when unknown. `tokens` and `analysis` are there only for what was analysed
    just now.
    """

    file: str
    kernel: str
    ordinal: int
    grid: Dim3
    block: Dim3
    power_w: float | None
    energy_j: float | None
    time_s: float | None
    model: str
    body: str
    times: int | None = None
    tokens: tuple[str, ...] = ()
    analysis: KernelAnalysis | None = None

    @property
    def name(self) -> str:
        """How messages call it."""
        return self.kernel if self.ordinal == 1 else f"{self.kernel} (launch {self.ordinal})"


def records_of(analysis: Analysis, shared_path: Callable[[str], str]) -> tuple[LaunchRecord, ...]:
    """The launches of an analysis; `shared_path` turns a file as findings spell it into the common one."""
    quoter = Quoter("", ())
    seen: Counter[tuple[str, str]] = Counter()
    found: list[LaunchRecord] = []
    for kernel in analysis.kernels:
        source = kernel.source
        file = shared_path(source.file)
        seen[file, source.qualified_name] += 1
        lines = (quoter.line(source.file, line) for line in source.lines)
        tokens = kernel_words(lines, kernel.name)
        found.append(
            LaunchRecord(
                file,
                source.qualified_name,
                seen[file, source.qualified_name],
                kernel.launch.grid,
                kernel.launch.block,
                kernel.power_w,
                kernel.energy_j,
                kernel.time_s,
                kernel.basis.model,
                hashlib.sha256(" ".join(tokens).encode()).hexdigest()[:12],
                kernel.launch.times,
                tokens,
                kernel,
            )
        )
    return tuple(found)


class Pair(Struct, frozen=True):
    """The same launch before and after. `similarity` of the two bodies, 0 to 1; None when it is not known."""

    old: LaunchRecord
    new: LaunchRecord
    similarity: float | None

    @property
    def is_renamed(self) -> bool:
        """Whether the kernel had another name."""
        return self.old.kernel != self.new.kernel


class Matching(Struct, frozen=True):
    """Which launches belong together, and those that have no partner."""

    pairs: tuple[Pair, ...]
    new: tuple[LaunchRecord, ...]
    vanished: tuple[LaunchRecord, ...]


def match(old: Sequence[LaunchRecord], new: Sequence[LaunchRecord]) -> Matching:
    """By file and qualified name, then by qualified name wherever it went, then by likeness of the bodies.

    Launches of one kernel belong together by equal geometry, then in their order.
    """
    left = _grouped(old)
    right = _grouped(new)
    couples = [(key, key) for key in right if key in left]
    taken_old, taken_new = {key for key, _ in couples}, {key for _, key in couples}
    for key in right:
        if key not in taken_new:
            moved = [other for other in left if other[1] == key[1] and other not in taken_old]
            if len(moved) == 1 or (moved and len({other[1] for other in moved}) == 1):
                couples.append((moved[0], key))
                taken_old.add(moved[0])
                taken_new.add(key)
    alike = sorted(
        (
            (_likeness(left[one][0], right[other][0]), one, other)
            for one in left
            if one not in taken_old
            for other in right
            if other not in taken_new
        ),
        key=lambda entry: (-entry[0], entry[1:]),
    )
    for share, one, other in alike:
        if share >= ONE_KERNEL_FROM and one not in taken_old and other not in taken_new:
            couples.append((one, other))
            taken_old.add(one)
            taken_new.add(other)
    pairs: list[Pair] = []
    lonely_new = [record for key, records in right.items() if key not in taken_new for record in records]
    lonely_old = [record for key, records in left.items() if key not in taken_old for record in records]
    for one, other in couples:
        found, more_old, more_new = _by_geometry(left[one], right[other])
        pairs += found
        lonely_old += more_old
        lonely_new += more_new
    place = {id(record): index for index, record in enumerate(new)}
    pairs.sort(key=lambda pair: place[id(pair.new)])
    return Matching(tuple(pairs), tuple(lonely_new), tuple(lonely_old))


def _likeness(one: LaunchRecord, other: LaunchRecord) -> float:
    """How alike two bodies are, 0 to 1; where a text is not known, 1 for equal ones and 0 for others."""
    return 1.0 if one.body == other.body else likeness(one.tokens, other.tokens)


def _grouped(records: Sequence[LaunchRecord]) -> dict[tuple[str, str], list[LaunchRecord]]:
    groups: dict[tuple[str, str], list[LaunchRecord]] = {}
    for record in records:
        groups.setdefault((record.file, record.kernel), []).append(record)
    return groups


def _by_geometry(
    old: list[LaunchRecord], new: list[LaunchRecord]
) -> tuple[list[Pair], list[LaunchRecord], list[LaunchRecord]]:
    known = old[0].body == new[0].body or (old[0].tokens and new[0].tokens)
    similarity = _likeness(old[0], new[0]) if known else None
    waiting, pairs, unmatched = list(old), list[Pair](), list[LaunchRecord]()
    for record in new:
        same = next((one for one in waiting if (one.grid, one.block) == (record.grid, record.block)), None)
        if same is None:
            unmatched.append(record)
        else:
            waiting.remove(same)
            pairs.append(Pair(same, record, similarity))
    pairs += (Pair(one, record, similarity) for one, record in zip(waiting, unmatched, strict=False))
    number = min(len(waiting), len(unmatched))
    return pairs, waiting[number:], unmatched[number:]
