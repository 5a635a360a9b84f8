"""The parts of the HTML page as the template takes them: texts and ids, nothing left to decide."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.report.html.c_text import Piece


@dataclass(frozen=True, slots=True)
class Letter:
    """A memory space: its class name, letter and label."""

    name: str
    letter: str
    label: str


@dataclass(frozen=True, slots=True)
class Fact:
    """A name and a value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Said:
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


@dataclass(frozen=True, slots=True)
class SliceView:
    """A row of the table of slices; `id` is what lines refer to."""

    id: str
    space: str
    letter: str
    label: str
    variables: str
    density: str
    power: str
    share: str
    detail: str


@dataclass(frozen=True, slots=True)
class LaunchView:
    """One launch of a kernel."""

    id: str
    name: str
    place: str
    geometry: str
    source: str
    source_style: str
    brief: str
    power: str
    time: str
    energy: str
    load: str
    interval: str
    bar: str
    why: str
    limit: str
    facts: tuple[Fact, ...]
    counts: tuple[Fact, ...]
    slices: tuple[SliceView, ...]
    advice: tuple[Said, ...]
    assumptions: tuple[Said, ...]
    charts: tuple[str, ...]
    chart_notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LineView:
    """One line; `detail`: what each launch draws on it, empty without heat. `width` of its bar in percent."""

    id: str
    number: int
    code: tuple[Piece, ...]
    styles: str = ""
    watts: str = ""
    share: str = ""
    width: int = 0
    letters: tuple[Letter, ...] = ()
    slices: str = ""
    others: str = ""
    detail: str = ""
    tab: int = -1
    notes: tuple[Said, ...] = ()
    whose: str = ""


@dataclass(frozen=True, slots=True)
class PartView:
    """Lines in a row, folded away or not."""

    lines: tuple[LineView, ...]
    is_fold: bool


@dataclass(frozen=True, slots=True)
class BlockView:
    """A kernel with its launches (none before the first kernel) and the lines up to the next one."""

    launches: tuple[LaunchView, ...]
    parts: tuple[PartView, ...]


@dataclass(frozen=True, slots=True)
class FileView:
    """One file; `columns` of its longest line."""

    id: str
    name: str
    remark: str
    columns: int
    blocks: tuple[BlockView, ...]


@dataclass(frozen=True, slots=True)
class PageView:
    """The whole page."""

    title: str
    gpu: str
    summary: str
    legend: tuple[Letter, ...]
    index: tuple[LaunchView, ...]
    files: tuple[FileView, ...]
    findings: tuple[Said, ...]
