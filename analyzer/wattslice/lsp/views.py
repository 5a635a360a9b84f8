"""A finished analysis as an editor asks for it, by line of one document; its hints, lenses and words."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Set
from pathlib import Path, PurePath

from lsprotocol import types
from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis, KernelAnalysis, LineHeat
from wattslice.config.budgets import Budget
from wattslice.findings.findings import Finding, decision, findings_of
from wattslice.gate.verdict import UnknownPolicy, judge
from wattslice.lsp.documents import Document, Encoding, LineMap, definition_line, live_text, width
from wattslice.patterns import regex
from wattslice.report.annotated import stake_words
from wattslice.units import UNKNOWN, energy, percent, power, printable, three_digits, time

_UNREADABLE = ("PW001", "PW002")
"""Rules of text that could not be read: typical of a text in the middle of being typed."""


class Torn(Struct, frozen=True):
    """A kernel that stands in the text at `line`, and could not be read. `why`: findings that say so."""

    name: str
    line: int
    why: tuple[Finding, ...]


class View:
    """What an analysis says of the document `path`, whose text had these `lines`. Lines count from 1.

    `kernels`: the launches of each kernel defined in the document, by the line of its definition; `findings`
    those of the document, `elsewhere` those of its kernels in other files (headers, host code). What is over
    one of the `budgets` is among them.
    """

    def __init__(
        self, analysis: Analysis, path: Path, lines: tuple[str, ...], budgets: tuple[Budget, ...] = ()
    ) -> None:
        self.lines = lines
        self._is_own = _Own(path)
        self._is_part = False
        found = (*findings_of(analysis), *judge(analysis, budgets, UnknownPolicy.WARN).findings)
        self._fill(analysis, found)
        self._holes = {name: len(self._unreadable_in(*span)) for name, span in self._spans().items()}

    def _fill(self, analysis: Analysis, found: tuple[Finding, ...]) -> None:
        self.analysis = analysis
        self.kernels: dict[int, tuple[KernelAnalysis, ...]] = {}
        self.heats: dict[int, tuple[tuple[KernelAnalysis, LineHeat], ...]] = {}
        for kernel in analysis.kernels:
            if self.is_own(kernel.source.file):
                self.kernels[kernel.source.line] = (*self.kernels.get(kernel.source.line, ()), kernel)
            for heat in kernel.hot_lines:
                if self.is_own(heat.file):
                    self.heats[heat.line] = (*self.heats.get(heat.line, ()), (kernel, heat))
        self.findings = tuple(finding for finding in found if self.is_own(finding.file))
        self.elsewhere = tuple(finding for finding in found if not self.is_own(finding.file))

    def only(self, names: Set[str]) -> View:
        """What it says of the kernels of these names, and nothing else."""
        return self._part(lambda name: name in names)

    def without(self, names: Set[str]) -> View:
        """All but what it says of the kernels of these names."""
        return self._part(lambda name: name not in names)

    @property
    def is_in_pieces(self) -> bool:
        """Whether something of the document, or of its kernels, is not in it."""
        return self._is_part or any(finding.rule in _UNREADABLE for finding in self.findings)

    def _part(self, belongs: Callable[[str], bool]) -> View:
        kernels = tuple(kernel for kernel in self.analysis.kernels if belongs(kernel.name))
        found = tuple(finding for finding in (*self.findings, *self.elsewhere) if belongs(finding.kernel))
        part = copy.copy(self)
        part._is_part = True
        part._fill(replace(self.analysis, kernels=kernels), found)
        return part

    def is_own(self, file: str) -> bool:
        """Whether a file that the analysis names is the document; one without a name is not."""
        return bool(file) and self._is_own(file)

    def torn_since(self, before: View) -> tuple[Torn, ...]:
        """The kernels of an earlier text that still stand in this one and cannot be read any more: they are
        gone, or more of them cannot be read. Somebody is typing in them.
        """
        found: list[Torn] = []
        spans = self._spans()
        live: str | None = None
        for name, (first, last) in before._spans().items():
            if name in spans:
                if self._holes.get(name, 0) > before._holes.get(name, 0):
                    found.append(Torn(name, spans[name][0], self._unreadable_in(*spans[name])))
                continue
            live = live_text(self.lines) if live is None else live
            line = definition_line(name, live)
            if line is not None:
                found.append(Torn(name, line, self._unreadable_in(line, line + last - first)))
        return tuple(found)

    def _spans(self) -> dict[str, tuple[int, int]]:
        """First and last line of the document's kernels, by name."""
        return {kernel.name: (line, kernel.source.end_line) for line, (kernel, *_) in self.kernels.items()}

    def _unreadable_in(self, first: int, last: int) -> tuple[Finding, ...]:
        """What could not be read of these lines."""
        return tuple(f for f in self.findings if f.rule in _UNREADABLE and first <= f.line <= last)

    def launches_around(self, line: int) -> tuple[KernelAnalysis, ...]:
        """The launches of the kernels whose definition holds this line."""
        return tuple(
            kernel for launches in self.kernels.values() for kernel in launches if line in kernel.source.lines
        )

    def place_of(self, finding: Finding) -> int:
        """The line of the document where a finding belongs: its own, else that of the kernel it concerns.

        For one of another file that concerns no kernel: the line that includes it, else the first.
        """
        if self.is_own(finding.file):
            return max(1, finding.line)
        own = (kernel.source.line for kernel in self.named(finding.kernel) if self.is_own(kernel.source.file))
        name = PurePath(finding.file).name
        including = (
            number
            for number, line in enumerate(self.lines, 1)
            if line.lstrip().startswith("#") and "include" in line and name in line
        )
        return next((line for lines in (own, including) for line in lines), 1)

    def named(self, name: str) -> tuple[KernelAnalysis, ...]:
        """All launches of the kernels of this name, wherever they are defined."""
        return tuple(kernel for kernel in self.analysis.kernels if kernel.name == name)


class _Own:
    """Whether a file name means the document; the disk is asked once per name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, bool] = {str(path): True}

    def __call__(self, file: str) -> bool:
        known = self._known.get(file)
        if known is None:
            try:
                known = Path(file).resolve() == self._path.resolve()
            except (OSError, RuntimeError):  # a loop of links
                known = False
            self._known[file] = known
        return known


def heat_text(heats: Iterable[LineHeat]) -> str:
    """`32.4 W · 42 %`; several launches that differ give ranges."""
    found = tuple(heats)
    return f"{ranged(power, (h.power_w for h in found))} · {ranged(percent, (h.share for h in found))}"


def ranged(text: Callable[[float | None], str], values: Iterable[float | None]) -> str:
    """One figure, or `12–18 W`: the unit once where both ends have the same."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    if not numbers or len(numbers) < len(known):
        return UNKNOWN
    low, high = text(min(numbers)), text(max(numbers))
    if low == high:
        return high
    number, _, unit = low.rpartition(" ")
    return f"{number}–{high}" if unit == high.rpartition(" ")[2] else f"{low}–{high}"


def launches_text(launches: tuple[KernelAnalysis, ...]) -> str:
    """`183 W (104–295 W) · 2.10 mJ · 11.5 µs · limited by DRAM bandwidth`, of all launches of a kernel."""
    parts: list[str] = []
    if len(launches) > 1:
        instances = len({kernel.source.qualified_name for kernel in launches})
        parts.append(f"{len(launches)} launches" + (f" of {instances} instances" if instances > 1 else ""))
    if all(kernel.power_w is None for kernel in launches):
        return " · ".join([*parts, f"power {UNKNOWN}"])
    parts += [
        ranged(power, (kernel.power_w for kernel in launches)) + _interval(launches),
        ranged(energy, (kernel.energy_j for kernel in launches)),
        ranged(time, (kernel.time_s for kernel in launches)),
    ]
    limits = {kernel.limited_by for kernel in launches} - {None}
    if limits:
        parts.append(f"limited by {' or '.join(sorted(limit for limit in limits if limit))}")
    if (sure := _sureness(launches)) is not None:
        parts.append(sure)
    return " · ".join(parts)


def _sureness(launches: tuple[KernelAnalysis, ...]) -> str | None:
    """How sure the launch nearest to the power limit is to stay under it."""
    nearest = max(launches, key=lambda kernel: kernel.limit_exceedance or 0.0)
    words = decision(nearest).partition(", ")[2]
    return words or None


def stake_text(power_w: float | None, energy_j: float | None) -> str:
    """`without it, per launch: 5.76 mJ less, 13.8 W more`; empty when neither is known."""
    known = stake_words(power_w, energy_j)
    return f"without it, per launch: {known}" if known else ""


def _interval(launches: tuple[KernelAnalysis, ...]) -> str:
    known = [kernel.power for kernel in launches if kernel.power is not None]
    if len(known) < len(launches):
        return ""
    low_w, high_w = min(watts.low_w for watts in known), max(watts.high_w for watts in known)
    return f" ({three_digits(low_w)}–{three_digits(high_w)} W)"


# Only what would mean something: editors that show the text as it is show the backslashes too.
_SPECIAL = regex(r"([\\`*<|&~]|\](?=[(\[:])|\b_|_\b)")


def code(text: str) -> str:
    """The text as a code span, whatever backticks it holds."""
    text = printable(text).replace("|", "¦")  # a bar would end the cell of a table
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def plain(text: str) -> str:
    """The text as it is, nothing in it meaning anything."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def inlay_hints(
    view: View, document: Document, where: types.Range, lines: LineMap, min_share: float, encoding: Encoding
) -> list[types.InlayHint]:
    """Hints at the lines in `where` that draw at least `min_share` of a kernel's power."""
    found: list[types.InlayHint] = []
    for line, heats in sorted(view.heats.items()):
        now = lines.now(line - 1)
        hot = [heat for _, heat in heats if heat.share >= min_share]
        if now is None or not hot or not where.start.line <= now <= where.end.line:
            continue
        names = ", ".join(dict.fromkeys(kernel.source.qualified_name for kernel, _ in heats))
        end = width(document.line(now), encoding)
        found.append(
            types.InlayHint(
                position=types.Position(now, end),
                label=heat_text(hot),
                tooltip=f"What this line draws of what the operations of {names} draw",
                padding_left=True,
            )
        )
    return found


def code_lenses(view: View, lines: LineMap) -> list[types.CodeLens]:
    """One lens per kernel that the document defines, its launches together."""
    found: list[types.CodeLens] = []
    for line, launches in sorted(view.kernels.items()):
        now = lines.now(line - 1)
        if now is None:
            continue
        start = types.Position(now, 0)
        # A lens is shown by its command; one without a name is text and does nothing.
        command = types.Command(title=launches_text(launches), command="")
        found.append(types.CodeLens(range=types.Range(start, start), command=command))
    return found
