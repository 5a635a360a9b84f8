"""What the HTML page shows: texts and ids that the template places, and what it asks of a kernel.

Everything that comes from a source or a file name goes through `printable`: control and bidirectional
characters become a replacement sign. The template escapes.
"""

from __future__ import annotations

from itertools import count, pairwise
from pathlib import PurePath

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis, KernelAnalysis, Launch, SliceAnalysis, Work
from wattslice.findings.findings import (
    Finding,
    cause_of_unknown,
    decision,
    findings_of,
    throttling,
    told_by,
    why_unknown,
)
from wattslice.ir.operation_counts import JSON_NAMES
from wattslice.launches.launch import LaunchSource
from wattslice.report.annotated import (
    CONTEXT,
    IN_HEADER,
    SPREAD,
    AnnotatedFile,
    AnnotatedKernel,
    AnnotatedLine,
    LineMark,
    annotate_files,
    basis,
    line_watts,
    other_findings,
    owner_words,
    stake,
    stretches,
)
from wattslice.report.html.charts import power_bar_svg, power_line_svg, time_roofline_svg
from wattslice.report.source_text import SPACE_STYLES, Piece, SpaceStyle, pieces
from wattslice.report.terminal import COOL, HOT, WARM, load_style
from wattslice.report.text import GPU_SOURCES, fills, geometry, interval, launch_origin, runs
from wattslice.units import energy, percent, power, prefixed, printable, three_digits, time


class Said(Struct, frozen=True):
    """A finding; `href` is the line it is about, empty when that is not on the page."""

    rule: str
    severity: str
    message: str
    fix: str
    stake: str
    place: str = ""
    href: str = ""

    @property
    def is_option(self) -> bool:
        """Whether the fix is something to type, not a sentence."""
        return self.fix.startswith("-")


class SliceView(Struct, frozen=True):
    """A row of the table of slices; `id` is what lines refer to."""

    id: str
    style: SpaceStyle
    variables: str
    density: str
    power: str
    share: str
    detail: str


class LaunchView(Struct, frozen=True):
    """One launch of a kernel. `why`: the cause of an unknown power, else empty."""

    id: str
    kernel: KernelAnalysis
    why: str
    slices: tuple[SliceView, ...]
    advice: tuple[Said, ...]
    assumptions: tuple[Said, ...]
    charts: tuple[str, ...]
    chart_notes: tuple[str, ...]


class LineView(Struct, frozen=True):
    """One line; `detail`: what each launch draws on it, empty without heat. `width` of its bar in percent."""

    id: str
    number: int
    code: tuple[Piece, ...]
    styles: str = ""
    watts: str = ""
    share: str = ""
    width: int = 0
    letters: tuple[SpaceStyle, ...] = ()
    slices: str = ""
    others: str = ""
    detail: str = ""
    tab: int = -1
    notes: tuple[Said, ...] = ()
    whose: str = ""


class PartView(Struct, frozen=True):
    """Lines in a row, folded away or not."""

    lines: tuple[LineView, ...]
    is_fold: bool


class BlockView(Struct, frozen=True):
    """A kernel with its launches (none before the first kernel) and the lines up to the next one."""

    launches: tuple[LaunchView, ...]
    parts: tuple[PartView, ...]


class FileView(Struct, frozen=True):
    """One file; `columns` of its longest line."""

    id: str
    name: str
    remark: str
    columns: int
    blocks: tuple[BlockView, ...]


class PageView(Struct, frozen=True):
    """The whole page."""

    title: str
    gpu: str
    summary: str
    legend: tuple[SpaceStyle, ...]
    index: tuple[LaunchView, ...]
    files: tuple[FileView, ...]
    findings: tuple[Said, ...]


MOST_COLUMNS = 2000
"""Longer lines end there: nobody reads them, and a browser chokes on them."""
_MOST_MARKS = 6
_HOT_FROM = 0.10
_NOTHING = "–"


def page_view(analysis: Analysis) -> PageView:
    """The page of an analysis."""
    return _Page(analysis).view()


class _Page:
    """Gives ids, which everything that refers to a line or a slice needs."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._kernels = analysis.kernels
        self._files = annotate_files(analysis)
        self._ids = {file.file: f"f{index}" for index, file in enumerate(self._files)}
        self._there = {
            (file.file, line.number): f"{self._ids[file.file]}L{line.number}"
            for file in self._files
            for line in file.lines
        }
        self._tabs = count()
        self._advice = [entry for entry in findings_of(analysis) if entry.kernel]
        self._launches = tuple(map(self._launch, range(len(self._kernels))))

    def view(self) -> PageView:
        analysis = self._analysis
        files = tuple(map(self._file, self._files))
        spaces = {part.memory_space for kernel in self._kernels for part in kernel.slices}
        rest = (*(finding for file in self._files for finding in file.findings), *other_findings(analysis))
        number, launches = len(analysis.files), len(self._kernels)
        names = ", ".join(PurePath(file).name for file in analysis.files[:3])
        return PageView(
            title=printable(f"{names}{' …' if number > 3 else ''} – wattslice"),
            gpu=printable(analysis.gpu_name),
            summary=f"{analysis.gpu_id}, {GPU_SOURCES.get(analysis.gpu_source, analysis.gpu_source)} · "
            f"{number} file{'s' * (number != 1)}, {launches} launch{'es' * (launches != 1)}",
            legend=tuple(style for space, style in SPACE_STYLES.items() if space in spaces),
            index=self._launches if launches > 1 else (),
            files=files,
            findings=tuple(self._said(finding, finding.file) for finding in rest),
        )

    def _file(self, file: AnnotatedFile) -> FileView:
        own = self._ids[file.file]
        texts = [_shortened(printable(line.text)) for line in file.lines]
        lines = [self._line(line, code, own) for line, code in zip(file.lines, pieces(texts), strict=True)]
        begins = {line.number: index for index, line in enumerate(file.lines)}
        starts = {begins[kernel.line]: kernel for kernel in file.kernels if kernel.line in begins}
        lost = [kernel for kernel in file.kernels if kernel.line not in begins]
        blocks: list[BlockView] = [BlockView(self._of(kernel), ()) for kernel in lost]
        launches: tuple[LaunchView, ...] = ()
        parts: list[PartView] = []
        for start, end, worth in stretches(file, CONTEXT, SPREAD):
            cuts = sorted({start, end, *(index for index in starts if start < index < end)})
            for first, last in pairwise(cuts):
                if first in starts:
                    if launches or parts:
                        blocks.append(BlockView(launches, tuple(parts)))
                    launches, parts = self._of(starts[first]), []
                parts.append(PartView(tuple(lines[first:last]), not worth))
        if launches or parts:
            blocks.append(BlockView(launches, tuple(parts)))
        remark = "included" if file.is_included else ""
        if not file.is_whole:
            remark = "its text was not kept: lines with heat only"
        columns = max(map(len, texts), default=0)
        return FileView(own, printable(file.file), remark, columns, tuple(blocks))

    def _line(self, line: AnnotatedLine, code: tuple[Piece, ...], own: str) -> LineView:
        notes = tuple(self._said(finding, "") for finding in line.findings if finding.rule != IN_HEADER)
        name = f"{own}L{line.number}"
        if not line.marks:
            return LineView(name, line.number, code, notes=notes)
        mark, *others = line.marks
        spaces = [self._slice(mark, index).memory_space for index in mark.slices]
        styles = f" s-{spaces[0].value}" if spaces else ""
        return LineView(
            id=name,
            number=line.number,
            code=code,
            styles=styles + " hot10" * (mark.share >= _HOT_FROM),
            watts=line_watts(mark.power_w),
            share=percent(mark.share),
            width=max(1, min(100, round(100 * mark.share))),
            letters=tuple(SPACE_STYLES[space] for space in spaces),
            slices=_slice_ids(mark),
            others=" ".join(ids for other in others if (ids := _slice_ids(other))),
            detail=self._detail(line.marks),
            tab=-1 if next(self._tabs) else 0,
            notes=notes,
            whose=owner_words(line.whose) if line.whose else "",
        )

    def _slice(self, mark: LineMark, index: int) -> SliceAnalysis:
        return self._kernels[mark.launch].slices[index]

    def _detail(self, marks: tuple[LineMark, ...]) -> str:
        words: list[str] = []
        for mark in marks[:_MOST_MARKS]:
            kernel = self._kernels[mark.launch]
            figures = f"{line_watts(mark.power_w)}, {percent(mark.share)} of its operations"
            if mark.energy_j is not None:
                figures += f", {energy(mark.energy_j)}"
            spaces = ", ".join(self._slice(mark, index).memory_space.value for index in mark.slices)
            figures += f" · {spaces} slice" if spaces else ""
            name, launch = printable(kernel.source.qualified_name), kernel.launch
            words.append(f"{name} {geometry(launch.grid, launch.block)}: {figures}")
        left = len(marks) - _MOST_MARKS
        return "\n".join(words) + (f"\nand {left} more launches" if left > 0 else "")

    def _launch(self, index: int) -> LaunchView:
        kernel = self._kernels[index]
        roofline = kernel.roofline
        charts: tuple[str, ...] = ()
        notes: tuple[str, ...] = ("No rooflines: the launch cannot run.",)
        if roofline is not None:
            charts = tuple(filter(None, (time_roofline_svg(roofline), power_line_svg(roofline, kernel))))
            notes = (
                *([f"No point: {roofline.no_point}."] if roofline.no_point else ()),
                f"No power line: {roofline.no_power_line}."
                if roofline.no_power_line
                else f"Energies of the power line: {roofline.source}.",
            )
        return LaunchView(
            id=f"k{index}",
            kernel=kernel,
            why=self._why(kernel),
            slices=tuple(
                _slice_view(part, f"k{index}s{number}", kernel) for number, part in enumerate(kernel.slices)
            ),
            advice=tuple(self._said(finding, kernel.source.file) for finding in self._advised(kernel)),
            assumptions=tuple(
                self._said_at(
                    entry.file or kernel.source.file,
                    entry.line,
                    kernel.source.file,
                    Said(entry.rule, "note", printable(entry.message), printable(entry.fix), ""),
                )
                for entry in kernel.assumptions
            ),
            charts=charts,
            chart_notes=notes,
        )

    def _of(self, kernel: AnnotatedKernel) -> tuple[LaunchView, ...]:
        return tuple(self._launches[index] for index in kernel.launches)

    def _advised(self, kernel: KernelAnalysis) -> tuple[Finding, ...]:
        """The findings that this launch's advice became; suppressed ones are not among them."""
        return tuple(
            finding
            for finding in (self._advice if kernel.advice else ())
            if any(told_by(finding, kernel, entry) for entry in kernel.advice)
        )

    def _why(self, kernel: KernelAnalysis) -> str:
        if kernel.power_w is not None:
            return ""
        why = printable(cause_of_unknown(kernel, self._analysis))
        return "No diagnostic names the cause." if why_unknown(kernel, self._analysis) is None else why

    def _said(self, finding: Finding, home: str) -> Said:
        said = Said(
            finding.rule,
            finding.severity.value,
            printable(finding.message),
            printable(finding.fix),
            stake(finding).strip(" ()"),
        )
        return self._said_at(finding.file, finding.line, home, said) if home or finding.file else said

    def _said_at(self, file: str, line: int, home: str, said: Said) -> Said:
        name = "" if file == home else printable(PurePath(file).name)
        place = f"{name}:{line}" if name and line else f"line {line}" if line else name
        return replace(said, place=place, href=self._there.get((file, line), ""))


def _slice_ids(mark: LineMark) -> str:
    return " ".join(f"k{mark.launch}s{index}" for index in mark.slices)


def _shortened(text: str) -> str:
    more = len(text) - MOST_COLUMNS
    return text if more <= 0 else f"{text[:MOST_COLUMNS]} … ({more} more characters)"


def launch_source(launch: Launch) -> tuple[str, str]:
    """Where the launch comes from, and the class of these words."""
    return launch_origin(launch).plain, "assumed" if launch.source is LaunchSource.ASSUMED else "muted"


_LOADS = {HOT: "hot", WARM: "warm", COOL: "cool"}


def load(kernel: KernelAnalysis) -> str:
    """The class of the colour of a power against the limit, from the same steps as in the terminal."""
    if kernel.power_w is None:
        return "warm"
    return _LOADS[load_style(kernel.power_w / kernel.power_limit_w)] if kernel.power_limit_w else ""


def limit_words(kernel: KernelAnalysis) -> str:
    """That the power limit may hold it back, where it may."""
    words = throttling(kernel)
    return words and f"{words.capitalize()} (PW021): the GPU would lower its clocks and run longer."


def sureness(kernel: KernelAnalysis) -> str:
    """What to make of the watts, behind them."""
    return decision(kernel).removeprefix(power(kernel.power_w)).partition(":")[0].lstrip(", ")


def facts(kernel: KernelAnalysis) -> tuple[tuple[str, str], ...]:
    """What is known of the launch besides its watts, by name."""
    found = [("runs", runs(kernel))]
    if known := fills(kernel.resources):
        found.append(("fills", " · ".join(known)))
    found.append(
        ("model", f"{kernel.basis.model} · {kernel.basis.method} · data {printable(kernel.launch.data)}")
    )
    if words := basis(kernel):
        found.append(("lines", words.removeprefix("the lines ")))
    if (moved := kernel.roofline) is not None:
        work = f"{prefixed(moved.flops, 'flop')} · {prefixed(moved.dram_bytes, 'B')} of DRAM"
        found.append(("work", work))
    return tuple(found)


def counts(work: Work | None) -> tuple[tuple[str, str], ...]:
    """Operations per thread, by class."""
    if work is None:
        return ()
    pairs = zip(JSON_NAMES, work.counts_per_thread.values(), strict=True)
    return tuple((name.replace("_", " "), three_digits(value)) for name, value in pairs if value)


def _slice_view(part: SliceAnalysis, own: str, kernel: KernelAnalysis) -> SliceView:
    style = SPACE_STYLES[part.memory_space]
    variables = printable(", ".join(part.variables))
    density = _NOTHING if part.arithmetic_density is None else three_digits(part.arithmetic_density)
    detail = f"{printable(kernel.source.qualified_name)}, {style.label}: {variables or _NOTHING}; "
    detail += f"{power(part.average_power_w)} of the kernel's, {percent(part.share_of_power)}; "
    if part.time_share is not None:
        detail += f"{power(part.power_w)} while it runs, {percent(part.time_share)} of the time; "
    detail += f"density {density}, {three_digits(part.length)} statements per thread"
    return SliceView(
        own,
        style,
        variables or _NOTHING,
        density,
        _NOTHING if part.average_power_w is None else power(part.average_power_w),
        percent(part.share_of_power),
        detail,
    )


IN_TEMPLATE = {
    "geometry": geometry,
    "launch_source": launch_source,
    "load": load,
    "limit_words": limit_words,
    "facts": facts,
    "counts": counts,
    "interval": interval,
    "sureness": sureness,
    "bar": power_bar_svg,
}
"""What the template asks of a kernel."""
FILTERS = {"power": power, "time": time, "energy": energy, "printable": printable}
"""How it writes names and figures."""
