"""The source of an analysis with its heat: what every line draws, in which launch, and what is said of it.

The lines of several launches are never added up: launches run one after the other, each with watts of its
own. Of the launches of one kernel that with most joules is shown; a line outside of kernels (a device
function, a header) shows the kernel that spends most joules on it, and every other one is named beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from wattslice.analysis import Analysis, KernelAnalysis, LineHeat
from wattslice.findings.findings import Finding, findings_of

LEAST_FOLDED = 4
"""Lines that a fold hides at least: fewer stay where they are."""


@dataclass(frozen=True, slots=True)
class LineMark:
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


@dataclass(frozen=True, slots=True)
class AnnotatedKernel:
    """A kernel in the source and its launches (indices into `Analysis.kernels`), that with most joules first.

    Instances of one template are launches of one kernel here: their lines are the same. `line`: where it
    begins, with its `template <...>` if that stands on the line before.
    """

    line: int
    end_line: int
    launches: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AnnotatedLine:
    """One line: its marks, the shown one first, and the findings about it.

    `whose`: qualified names of the kernel whose watts follow and of the others that run the line, where that
    changes and is not plain from the kernel that the line stands in; else empty.
    """

    number: int
    text: str
    marks: tuple[LineMark, ...] = ()
    findings: tuple[Finding, ...] = ()
    whose: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnnotatedFile:
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
    shown |= {kernel.file for kernel in analysis.kernels} | set(analysis.files)
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
    found: list[tuple[int, int, bool]] = []
    for index, worth in enumerate(shown):
        if found and found[-1][2] == worth:
            found[-1] = (found[-1][0], index + 1, worth)
        else:
            found.append((index, index + 1, worth))
    return _joined((start, end, worth or end - start < LEAST_FOLDED) for start, end, worth in found)


def _joined(parts: Iterable[tuple[int, int, bool]]) -> tuple[tuple[int, int, bool], ...]:
    joined: list[tuple[int, int, bool]] = []
    for start, end, worth in parts:
        if joined and joined[-1][2] == worth:
            joined[-1] = (joined[-1][0], end, worth)
        else:
            joined.append((start, end, worth))
    return tuple(joined)


def _marks(kernels: Sequence[KernelAnalysis]) -> dict[str, dict[int, list[LineMark]]]:
    """By file and line."""
    found: dict[str, dict[int, list[LineMark]]] = defaultdict(lambda: defaultdict(list))
    for index, kernel in enumerate(kernels):
        owners: dict[int, list[int]] = defaultdict(list)
        for number, part in enumerate(kernel.slices):
            for line in part.lines:
                owners[line].append(number)
        for heat in kernel.hot_lines:
            own = owners[heat.line] if heat.file == kernel.file else []
            slices = tuple(sorted(own, key=lambda number: -(kernel.slices[number].share_of_power or 0.0)))
            mark = LineMark(index, heat.power_w, heat.share, _energy_j(heat, kernel), slices)
            found[heat.file][heat.line].append(mark)
    return found


def _energy_j(heat: LineHeat, kernel: KernelAnalysis) -> float | None:
    return None if kernel.time_s is None else heat.power_w * kernel.time_s


def _rank(lines: dict[int, list[LineMark]]) -> float:
    return -sum(mark.energy_j or 0.0 for marks in lines.values() for mark in marks)


def _kernels(kernels: Sequence[KernelAnalysis]) -> dict[str, tuple[AnnotatedKernel, ...]]:
    """By file, in the order of lines."""
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for index, kernel in enumerate(kernels):
        places[kernel.file, kernel.line].append(index)
    found: dict[str, tuple[AnnotatedKernel, ...]] = {}
    for (file, line), launches in sorted(places.items()):
        launches.sort(key=lambda index: -_joules(kernels[index]))
        end_line = max(kernels[index].end_line for index in launches)
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
            names = tuple(dict.fromkeys(analyses[mark.launch].qualified_name for mark in line.marks))
            if names != last:
                lines[index] = replace(line, whose=names)
                last = names
    return tuple(lines)
