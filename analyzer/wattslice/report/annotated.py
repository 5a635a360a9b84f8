"""The annotated source for people: watts and share of every line in the margin, findings at their lines."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console, RenderableType
from rich.text import Text

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import (
    Finding,
    operations_power_w,
    plain_reason,
    why_unknown,
    would_hit_power_limit,
)
from wattslice.ir import MemorySpace, Severity
from wattslice.report.annotation import (
    AnnotatedFile,
    AnnotatedKernel,
    AnnotatedLine,
    LineMark,
    annotate_files,
    other_findings,
    stretches,
)
from wattslice.report.bars import HOT, WARM, share_bar
from wattslice.report.html.c_text import Piece, TextKind, pieces
from wattslice.report.html.palette import SPACE_STYLES
from wattslice.report.kernel_tables import launch_text
from wattslice.report.printable import printable, tail
from wattslice.report.text import (
    MAX_COLUMNS,
    finding_table,
    header,
    make_console,
    power_line,
    section_title,
)
from wattslice.units import energy, percent, power, time

CONTEXT = 2
"""Lines shown around heat and findings."""
SPREAD = 12
"""Lines shown of a kernel that has no heat."""
_MOST_OTHERS = 3
IN_HEADER = "PW021"
"""The power limit: stands above the kernel already."""
_HOT_FROM = 0.10
_BAR = 8
_BAR_FROM, _SHARE_FROM = 88, 50
"""Widths from which the margin has room for a bar, and for the share beside the watts."""

_KIND_STYLES = {
    TextKind.PLAIN: "",
    TextKind.COMMENT: "dim italic",
    TextKind.STRING: "",
    TextKind.KEYWORD: "bold",
    TextKind.QUALIFIER: "bold",
    TextKind.NUMBER: "",
    TextKind.DIRECTIVE: "dim",
}
_SEVERITY_STYLES = {Severity.NOTE: "dim", Severity.WARNING: WARM, Severity.ERROR: HOT}


def write_annotated(analysis: Analysis, file: TextIO, *, show_all: bool = False) -> None:
    """Write the sources with their heat. `show_all`: cold stretches too, else they are folded.

    In a terminal lines are cut at its edge; in a file or pipe they are whole.
    """
    console = make_console(file, most=1000)
    view = _View(analysis, console, show_all)
    if console.is_terminal:
        for part in view.parts():
            console.print(part, soft_wrap=isinstance(part, Text))
        return
    with console.capture() as capture:
        for part in view.parts():
            console.print(part, soft_wrap=isinstance(part, Text))
    file.write("".join(f"{line.rstrip()}\n" for line in capture.get().split("\n")[:-1]))


@dataclass(frozen=True, slots=True)
class _Margin:
    """What the margin of one file has room for, in columns."""

    letters: int
    digits: int
    width: int
    has_share: bool
    has_bar: bool

    @property
    def columns(self) -> int:
        """Columns up to where the source begins."""
        return 8 + 6 * self.has_share + (_BAR + 1) * self.has_bar + self.letters + 1 + self.digits + 3


class _View:
    """One report on its way to a console."""

    def __init__(self, analysis: Analysis, console: Console, show_all: bool) -> None:
        self._analysis = analysis
        self._kernels = analysis.kernels
        self._is_cut = console.is_terminal
        self._width = console.width
        self._report_width = min(console.width, MAX_COLUMNS)
        self._show_all = show_all

    def parts(self) -> Iterator[RenderableType]:
        yield self._cut(header(self._analysis))
        yield from self._legend()
        files = annotate_files(self._analysis)
        for file in files:
            yield from self._file(file)
        rest = (*(finding for file in files for finding in file.findings), *other_findings(self._analysis))
        if rest:
            yield ""
            yield section_title("Diagnostics", "", self._report_width, "bold")
            yield finding_table(rest, self._report_width)
        if rest or any(line.findings for file in files for line in file.lines):
            yield ""
            yield from self._wrapped("wattslice explain RULE tells more about a finding.", "dim", indent="")

    def _legend(self) -> Iterator[Text]:
        there = {part.memory_space for kernel in self._kernels for part in kernel.slices}
        words: list[Text] = []
        for space, style in SPACE_STYLES.items():
            if space in there:
                words.append(
                    Text.assemble((style.letter, f"bold {style.terminal}"), (f" {style.label}", "dim"))
                )
        if not words:
            return
        line = Text("slices  ", style="")
        line.stylize("dim")
        for word in words:
            gap = 2 if line.plain.strip() != "slices" else 0
            if line.cell_len + gap + word.cell_len > self._report_width:
                yield line
                line = Text("        ")
                gap = 0
            line.append(" " * gap)
            line.append_text(word)
        yield line

    def _file(self, file: AnnotatedFile) -> Iterator[RenderableType]:
        name = printable(file.file)
        right = "included" if file.is_included else ""
        if not file.is_whole:
            right = "not kept: lines with heat only"
        yield ""
        room = max(8, self._report_width - len(right) - 9)
        yield section_title(tail(name, room), right, self._report_width, "bold")
        margin = self._margin(file)
        shown = list(pieces(printable(line.text) for line in file.lines))
        begins = {kernel.line: kernel for kernel in file.kernels}
        numbers = {line.number for line in file.lines}
        for kernel in file.kernels:
            if kernel.line not in numbers:
                yield from self._kernel(kernel)
        for start, end, worth in stretches(file, CONTEXT, SPREAD):
            if not worth and not self._show_all:
                yield self._fold(end - start, margin)
                continue
            for index in range(start, end):
                line = file.lines[index]
                if line.number in begins:
                    yield from self._kernel(begins[line.number])
                if line.whose:
                    note = " " * (margin.columns - 2) + owner_words(line.whose)
                    yield self._cut(Text(note, style="dim"))
                yield self._line(line, shown[index], margin)
                for finding in line.findings:
                    if finding.rule != IN_HEADER:
                        yield from self._note(finding, margin)

    def _margin(self, file: AnnotatedFile) -> _Margin:
        shown = (line.marks[0] for line in file.lines if line.marks)
        letters = max((len(mark.slices) for mark in shown), default=1) or 1
        digits = max(3, len(str(file.lines[-1].number)) if file.lines else 0)
        return _Margin(letters, digits, self._width, self._width >= _SHARE_FROM, self._width >= _BAR_FROM)

    def _fold(self, number: int, margin: _Margin) -> Text:
        words = f"⋯ {number} lines without heat"
        return self._cut(Text(" " * (margin.columns - 2) + words, style="dim"))

    def _line(self, line: AnnotatedLine, shown: tuple[Piece, ...], margin: _Margin) -> Text:
        text = Text()
        mark = line.marks[0] if line.marks else None
        if mark is None:
            text.append(" " * (margin.columns - margin.digits - 3))
        else:
            self._heat(text, mark, margin)
        is_hot = mark is not None and mark.share >= _HOT_FROM
        text.append(f"{line.number:{margin.digits}}", style="bold" if is_hot else "dim")
        text.append(" │ ", style=self._colour(mark) if is_hot and mark else "dim")
        for piece in shown:
            text.append(piece.text, style=_KIND_STYLES[piece.kind])
        return self._cut(text)

    def _heat(self, text: Text, mark: LineMark, margin: _Margin) -> None:
        colour = self._colour(mark)
        weight = "bold " if mark.share >= _HOT_FROM else ""
        text.append(f"{line_watts(mark.power_w):>7} ", style=f"{weight}{colour}")
        if margin.has_share:
            text.append(f"{percent(mark.share):>5} ", style=f"{weight}{colour}")
        if margin.has_bar:
            bar = share_bar(mark.share, _BAR)
            text.append(bar.plain, style=colour)
            text.append(" ")
        for index in mark.slices[: margin.letters]:
            style = SPACE_STYLES[self._space(mark, index)]
            text.append(style.letter, style=style.terminal)
        text.append(" " * (margin.letters - len(mark.slices) + 1))

    def _space(self, mark: LineMark, index: int) -> MemorySpace:
        return self._kernels[mark.launch].slices[index].memory_space

    def _colour(self, mark: LineMark | None) -> str:
        """That of the line's first slice; what belongs to no slice of the kernel's file has none."""
        if mark is None or not mark.slices:
            return ""
        return SPACE_STYLES[self._space(mark, mark.slices[0])].terminal

    def _kernel(self, kernel: AnnotatedKernel) -> Iterator[RenderableType]:
        first, *others = (self._kernels[index] for index in kernel.launches)
        yield ""
        count = f"{len(kernel.launches)} launches, most joules first" if others else ""
        if len(count) > self._report_width // 2:
            count = f"{len(kernel.launches)} launches"
        yield section_title(printable(first.qualified_name), count, self._report_width, "bold cyan")
        yield power_line(first, self._report_width)
        if first.power_w is None:
            reason = why_unknown(first, self._analysis)
            why = "no diagnostic names the cause"
            if reason is not None:
                why = f"{printable(plain_reason(first, reason))} ({reason.rule})"
            yield from self._wrapped(why, WARM)
        if first.may_hit_power_limit:
            hits = "would" if would_hit_power_limit(first) else "may"
            yield from self._wrapped(
                f"{hits} hit the power limit: the GPU would lower its clocks (PW021)", HOT
            )
        yield self._cut(Text("  ").append_text(launch_text(first)))
        yield from self._wrapped(runs(first), "")
        yield from self._wrapped(basis(first), "dim")
        for other in others:
            words = f"also {printable(other.qualified_name)} {launch_text(other).plain.split('>>>')[0]}>>>"
            words += f"  {power(other.power_w)} · {time(other.time_s)} · {energy(other.energy_j)}"
            yield from self._wrapped(words, "dim")
        yield ""

    def _wrapped(self, words: str, style: str, indent: str = "  ") -> Iterator[Text]:
        for line in textwrap.wrap(words, max(16, self._report_width - 2)):
            yield Text(f"{indent}{line}", style=style)

    def _note(self, finding: Finding, margin: _Margin) -> Iterator[Text]:
        room = (self._width if self._is_cut else MAX_COLUMNS + margin.columns) - margin.columns
        indent = " " * (margin.columns if room >= 30 else 8)
        room = max(20, (self._width if self._is_cut else 1000) - len(indent) - 2)
        style = _SEVERITY_STYLES[finding.severity]
        words = f"{finding.rule} {printable(finding.message)}{stake(finding)}"
        if self._is_cut:
            for number, part in enumerate(textwrap.wrap(words, room)):
                yield Text(f"{indent}{'  ' if number else '└ '}{part}", style=style)
        else:
            yield Text(f"{indent}└ {words}", style=style)
        if finding.fix:
            fix = f"→ {printable(finding.fix)}"
            for part in textwrap.wrap(fix, room, break_on_hyphens=False) if self._is_cut else (fix,):
                yield Text(f"{indent}  {part}", style="cyan")

    def _cut(self, text: Text) -> Text:
        """On a terminal as wide as that at most; source lines do not wrap."""
        if self._is_cut:
            text.truncate(self._width, overflow="ellipsis")
        return text


def owner_words(whose: tuple[str, ...]) -> str:
    """Whose watts follow, where that is not plain from the kernel that the lines stand in."""
    first, *others = map(printable, whose)
    words = f"↓ watts of {first}"
    if others:
        left = len(others) - _MOST_OTHERS
        more = f" and {left} more" if left > 0 else ""
        words += f"; also runs in {', '.join(others[:_MOST_OTHERS])}{more}"
    return words


def line_watts(power_w: float) -> str:
    """Watts in seven columns."""
    if power_w >= 0.09995 or power_w == 0:
        return power(power_w)
    return "<1 mW" if power_w < 0.0005 else f"{power_w:.3f} W"  # one unit down the margin


def stake(finding: Finding) -> str:
    """What a launch would draw and spend without what the finding is about, where that is known."""
    known = [
        f"{words(abs(value))} {'less' if value > 0 else 'more'}"
        for words, value in ((energy, finding.energy_j), (power, finding.power_w))
        if value
    ]
    return f" (without it {', '.join(known)})" if known else ""


def runs(kernel: KernelAnalysis) -> str:
    """How long a launch takes, what it spends and what limits it."""
    words = f"{time(kernel.time_s)} · {energy(kernel.energy_j)}"
    if kernel.time_s is None and kernel.energy_j is None:
        words = "time and energy unknown"
    return words if kernel.limited_by is None else f"{words} · limited by {kernel.limited_by}"


def basis(kernel: KernelAnalysis) -> str:
    """What the shares of the lines are shares of."""
    if kernel.power_w is None or not kernel.hot_lines:
        return ""
    if kernel.model != "energy":
        whole = power(kernel.power_w)
        return f"the lines share all {whole}: this model tells no power of the idle board apart"
    own_w = operations_power_w(kernel)
    rest = power(max(0.0, kernel.power_w - own_w))
    return f"the lines share {power(own_w)}; the idle board and its clocks draw {rest}"
