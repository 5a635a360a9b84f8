"""The source of an analysis with its heat: what every line draws, in which launch, and what is said of it.

The lines of several launches are never added up: launches run one after the other, each with watts of its
own. Of the launches of one kernel that with most joules is shown; a line outside of kernels (a device
function, a header) shows the kernel that spends most joules on it, and every other one is named beside it.
`annotate_files` is what the HTML page shows, too; `write_annotated` is for a terminal: watts and shares in
the margin, findings at their lines.
"""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import groupby
from typing import TextIO

from msgspec import Struct
from msgspec.structs import replace
from rich.console import Console, RenderableType
from rich.text import Text

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import Finding, cause_of_unknown, findings_of, operations_power_w
from wattslice.ir import MemorySpace, Severity
from wattslice.report.source_text import SPACE_STYLES, Piece, TextKind, pieces
from wattslice.report.terminal import (
    HOT,
    MAX_COLUMNS,
    WARM,
    make_console,
    print_stripped,
    section_title,
    share_bar,
)
from wattslice.report.text import finding_table, geometry, header, launch_text, power_line, runs
from wattslice.units import energy, percent, power, printable, tail, time

LEAST_FOLDED = 4
"""Lines that a fold hides at least: fewer stay where they are."""


class LineMark(Struct, frozen=True):
    """What the launch `launch` (an index into `Analysis.kernels`) draws on one line.

    `share` of what its operations draw, in [0, 1]; `energy_j` per launch, None where the time is unknown.
    `slices`: indices into the slices of the launch that have a statement on the line, that with most of the
    kernel's power first; empty for lines of other files than the kernel's own.
    """

    launch: int
    power_w: float
    share: float
    energy_j: float | None
    slices: tuple[int, ...]


class AnnotatedKernel(Struct, frozen=True):
    """A kernel in the source and its launches (indices into `Analysis.kernels`), that with most joules first.

    Instances of one template are launches of one kernel here: their lines are the same. `line`: where it
    begins, with its `template <...>` if that stands on the line before.
    """

    line: int
    end_line: int
    launches: tuple[int, ...]


class AnnotatedLine(Struct, frozen=True):
    """One line: its marks, the shown one first, and the findings about it.

    `whose`: qualified names of the kernel whose watts follow and of the others that run the line, where that
    changes and is not plain from the kernel that the line stands in; else empty.
    """

    number: int
    text: str
    marks: tuple[LineMark, ...] = ()
    findings: tuple[Finding, ...] = ()
    whose: tuple[str, ...] = ()


class AnnotatedFile(Struct, frozen=True):
    """A file with its heat. `is_whole` False: the text was not kept, there are the lines with heat only.

    `findings`: those about none of the lines. `is_included`: a header that kernels of other files heat.
    """

    file: str
    lines: tuple[AnnotatedLine, ...]
    kernels: tuple[AnnotatedKernel, ...]
    findings: tuple[Finding, ...]
    is_whole: bool
    is_included: bool


def annotate_files(analysis: Analysis) -> tuple[AnnotatedFile, ...]:
    """The analysed files in their order, then included ones with kernels or heat, most joules first."""
    marks = _marks(analysis.kernels)
    kernels = _kernels(analysis.kernels)
    included = [file for file in dict.fromkeys((*marks, *kernels)) if file not in analysis.files]
    included.sort(key=lambda file: _rank(marks.get(file, {})))
    texts = {source.file: dict(enumerate(source.lines, 1)) for source in analysis.sources}
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings_of(analysis):
        found[finding.file].append(finding)
    files: list[AnnotatedFile] = []
    for file in (*analysis.files, *included):
        heat, told = marks.get(file, {}), found[file]
        text = texts[file] if file in texts else _quoted(file, analysis.kernels)
        own = tuple(_with_template(kernel, text) for kernel in kernels.get(file, ()))
        lines = _lines(text, heat, own, told, analysis.kernels)
        numbers = {line.number for line in lines}
        rest = tuple(finding for finding in told if finding.line not in numbers)
        is_included = file not in analysis.files
        files.append(AnnotatedFile(file, lines, own, rest, file in texts, is_included))
    return tuple(files)


def _with_template(kernel: AnnotatedKernel, text: dict[int, str]) -> AnnotatedKernel:
    """`template <int N>` on the line before belongs to the kernel."""
    before = text.get(kernel.line - 1, "").strip()
    is_template = before.startswith("template") and before.endswith(">")
    return replace(kernel, line=kernel.line - 1) if is_template else kernel


def _quoted(file: str, kernels: Sequence[KernelAnalysis]) -> dict[int, str]:
    """What the heat itself quotes of a file whose text was not kept."""
    heats = (heat for kernel in kernels for heat in kernel.hot_lines if heat.file == file)
    return {heat.line: heat.text for heat in sorted(heats, key=lambda heat: heat.line)}


def other_findings(analysis: Analysis) -> tuple[Finding, ...]:
    """Findings about no file that `annotate_files` shows: the GPU's clock, a header without heat."""
    shown = {heat.file for kernel in analysis.kernels for heat in kernel.hot_lines}
    shown |= {kernel.source.file for kernel in analysis.kernels} | set(analysis.files)
    return tuple(finding for finding in findings_of(analysis) if finding.file not in shown)


def stretches(file: AnnotatedFile, context: int, spread: int) -> tuple[tuple[int, int, bool], ...]:
    """The lines of a file as (first index, index after the last, whether worth showing), without gaps.

    Worth showing: heat and findings with `context` lines around them, the first `spread` lines of
    kernels and their last one.
    """
    shown = [False] * len(file.lines)
    place = {line.number: index for index, line in enumerate(file.lines)}

    def show(first: int, last: int) -> None:
        for index in range(max(0, first), min(len(shown), last + 1)):
            shown[index] = True

    starts = {place[kernel.line]: kernel for kernel in file.kernels if kernel.line in place}
    first = 0  # the context of a kernel's lines ends where the kernel begins
    for index, line in enumerate(file.lines):
        if index in starts:
            kernel, first = starts[index], index
            last = index + kernel.end_line - kernel.line
            show(index, min(last, index + spread))
            show(last, last)
        if line.marks or line.findings:
            show(max(first, index - context), index + context)
    for start, end, _ in _runs(shown):
        if end - start < LEAST_FOLDED:
            show(start, end - 1)
    return tuple(_runs(shown))


def _runs(values: Sequence[bool]) -> list[tuple[int, int, bool]]:
    """Start, end and value of every stretch of equal values."""
    groups = [list(group) for _, group in groupby(range(len(values)), values.__getitem__)]
    return [(group[0], group[-1] + 1, values[group[0]]) for group in groups]


def _marks(kernels: Sequence[KernelAnalysis]) -> dict[str, dict[int, list[LineMark]]]:
    """By file and line."""
    found: dict[str, dict[int, list[LineMark]]] = defaultdict(lambda: defaultdict(list))
    for index, kernel in enumerate(kernels):
        owners: dict[int, list[int]] = defaultdict(list)
        for number, part in enumerate(kernel.slices):
            for line in part.lines:
                owners[line].append(number)
        for heat in kernel.hot_lines:
            own = owners[heat.line] if heat.file == kernel.source.file else []
            slices = tuple(sorted(own, key=lambda number: -(kernel.slices[number].share_of_power or 0.0)))
            energy_j = None if kernel.time_s is None else heat.power_w * kernel.time_s
            mark = LineMark(index, heat.power_w, heat.share, energy_j, slices)
            found[heat.file][heat.line].append(mark)
    return found


def _rank(lines: dict[int, list[LineMark]]) -> float:
    return -sum(mark.energy_j or 0.0 for marks in lines.values() for mark in marks)


def _kernels(kernels: Sequence[KernelAnalysis]) -> dict[str, tuple[AnnotatedKernel, ...]]:
    """By file, in the order of lines."""
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, kernel in enumerate(kernels):
        places[kernel.source.place].append(index)
    found: dict[str, tuple[AnnotatedKernel, ...]] = {}
    for (file, line), launches in sorted(places.items()):
        launches.sort(key=lambda index: -_joules(kernels[index]))
        end_line = max(kernels[index].source.end_line for index in launches)
        found[file] = (*found.get(file, ()), AnnotatedKernel(line, end_line, tuple(launches)))
    return found


def _joules(kernel: KernelAnalysis) -> float:
    return -1.0 if kernel.energy_j is None else kernel.energy_j


def _lines(
    text: dict[int, str],
    marks: dict[int, list[LineMark]],
    kernels: tuple[AnnotatedKernel, ...],
    findings: Sequence[Finding],
    analyses: Sequence[KernelAnalysis],
) -> tuple[AnnotatedLine, ...]:
    said: dict[int, dict[tuple[str, str, str], Finding]] = defaultdict(dict)
    for finding in findings:  # kernels that share a function share what is said of it
        said[finding.line].setdefault((finding.rule, finding.message, finding.fix), finding)
    home = {
        line: kernel.launches for kernel in kernels for line in range(kernel.line, kernel.end_line + 1)
    }  # later kernels win: one that is defined inside another's lines

    def line(number: int, words: str) -> AnnotatedLine:
        own = home.get(number, ())

        def order(mark: LineMark) -> tuple[float, ...]:
            at_home = own.index(mark.launch) if mark.launch in own else len(own)
            return at_home, -(mark.energy_j or 0.0), -mark.power_w, mark.launch

        ranked = tuple(sorted(marks.get(number, ()), key=order))
        return AnnotatedLine(number, words, ranked, tuple(said[number].values()) if number in said else ())

    return _with_owners([line(number, words) for number, words in text.items()], home, analyses)


def _with_owners(
    lines: list[AnnotatedLine], home: Container[int], analyses: Sequence[KernelAnalysis]
) -> tuple[AnnotatedLine, ...]:
    last: tuple[str, ...] = ()
    for index, line in enumerate(lines):
        if line.number in home:
            last = ()
        elif line.marks:
            names = tuple(dict.fromkeys(analyses[mark.launch].source.qualified_name for mark in line.marks))
            if names != last:
                lines[index] = replace(line, whose=names)
                last = names
    return tuple(lines)


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
    print_stripped(console, *_View(analysis, console, show_all).parts(), soft_wrap=True)


class _Margin(Struct, frozen=True):
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
        yield section_title(printable(first.source.qualified_name), count, self._report_width, "bold cyan")
        yield power_line(first, self._report_width)
        if first.power_w is None:
            yield from self._wrapped(printable(cause_of_unknown(first, self._analysis)), WARM)
        yield self._cut(Text("  ").append_text(launch_text(first.launch)))
        yield from self._wrapped(runs(first), "")
        data = f"data {printable(first.launch.data)}"
        yield from self._wrapped(" · ".join(filter(None, (data, basis(first)))), "dim")
        for other in others:
            where = geometry(other.launch.grid, other.launch.block)
            words = f"also {printable(other.source.qualified_name)} {where}"
            words += f"  {power(other.power_w)} · {time(other.time_s)} · {energy(other.energy_j)}"
            held = other.launch.data
            words += f" · data {printable(held)}" if held != first.launch.data else ""
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
    known = stake_words(finding.power_w, finding.energy_j)
    return f" (without it {known})" if known else ""


def stake_words(power_w: float | None, energy_j: float | None) -> str:
    """`5.76 mJ less, 13.8 W more`; empty when neither is known."""
    return ", ".join(
        f"{words(abs(value))} {'less' if value > 0 else 'more'}"
        for words, value in ((energy, energy_j), (power, power_w))
        if value
    )


def basis(kernel: KernelAnalysis) -> str:
    """What the shares of the lines are shares of."""
    if kernel.power is None or not kernel.hot_lines:
        return ""
    if kernel.power.static_w is None:
        whole = power(kernel.power.power_w)
        return f"the lines share all {whole}: this model tells no power of the idle board apart"
    own_w, rest = power(operations_power_w(kernel)), power(kernel.power.static_w)
    return f"the lines share {own_w}; the idle board and its clocks draw {rest}"
