"""The console and its parts: tables that give up columns, bars, headings.

Tables give up the columns that tell least where a terminal is too narrow for all of them. Bars have colours
that read on a light and on a dark terminal.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, TextIO

from msgspec import Struct
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from wattslice.analysis import Power

_GAP = 2
_WORD = " "


class Column(Struct, frozen=True):
    """One column of a table: its heading and a cell per row.

    `give_up`: columns with a higher number go first, those with 0 never. `least`: cells below which a column
    that can wrap or be cut says nothing any more; 0: what it holds stands as it is. `wanted`: width up to
    which such a column comes before ornaments (`give_up` of `ORNAMENT` and above). `stretch`: takes the rest.
    `cut`: too long a cell ends in an ellipsis instead of being wrapped. `at_least`: never narrower than that.
    """

    heading: str
    cells: tuple[Text, ...]
    right: bool = False
    give_up: int = 0
    least: int = 0
    wanted: int = 0
    stretch: bool = False
    cut: bool = False
    at_least: int = 0
    style: str = ""

    @property
    def natural(self) -> int:
        """Width of the widest cell or the heading."""
        return max(self.at_least, cell_len(self.heading), *(cell.cell_len for cell in self.cells))

    def wanted_width(self) -> int:
        """Width for which ornaments are given up."""
        return min(self.natural, self.wanted) if self.wanted else self.natural

    def least_width(self) -> int:
        """Width for which other columns are given up; nothing that wraps gets narrower than its words."""
        if not self.least:
            return self.natural
        if self.cut:
            return min(self.natural, self.least)
        words = [word for cell in self.cells for word in cell.plain.split(_WORD)]
        return min(self.natural, max(self.least, *map(cell_len, words)))


def texts(cells: Iterable[str]) -> tuple[Text, ...]:
    """Cells without a style of their own."""
    return tuple(map(Text, cells))


ORNAMENT = 10
"""From this `give_up` on a column shows what another one says."""


def fitting_table(columns: Sequence[Column], width: int) -> Table:
    """The table in `width` columns: ornaments go first, then what else may go; then cells wrap or are cut."""
    kept = _kept(columns, width)
    widths = [column.least_width() for column in kept]
    gap = _GAP if sum(widths) + _GAP * (len(kept) - 1) <= width else 1
    spare = width - sum(widths) - gap * (len(kept) - 1)
    for index, column in enumerate(kept):
        if not column.stretch and spare > 0:
            more = min(spare, column.wanted_width() - widths[index])
            widths[index] += more
            spare -= more
    for index, column in enumerate(kept):
        if column.stretch:
            widths[index] = max(1, widths[index] + spare)
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for column, cells in zip(kept, widths, strict=True):
        table.add_column(
            textwrap.fill(column.heading, cells) if column.stretch else column.heading,
            justify="right" if column.right else "left",
            no_wrap=column.cut or not column.least,
            overflow="ellipsis" if column.cut else "fold",
            width=cells,
            style=column.style,
        )
    for row in zip(*(column.cells for column in kept), strict=True):
        table.add_row(*row)
    return table


def plain_table(
    left: Sequence[str], right: Sequence[str], last: Sequence[str] = (), *, gap: int = 2
) -> Table:
    """An empty table: names and then figures, which stand as they are, and what wraps."""
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="dim")
    for heading in left:
        table.add_column(heading, no_wrap=True)
    for heading in right:
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in last:
        table.add_column(heading)
    return table


def _kept(columns: Sequence[Column], width: int) -> list[Column]:
    kept = list(columns)
    for column in sorted(columns, key=lambda column: -column.give_up):
        ornament = column.give_up >= ORNAMENT
        needed = [part.wanted_width() if ornament else part.least_width() for part in kept]
        if column.give_up and sum(needed) + _GAP * (len(kept) - 1) > width:
            kept.remove(column)
    return kept


COOL, WARM, HOT = "#2f9e6e", "#d9822b", "#d64545"
TRACK = "dim"
_EIGHTHS = " ▏▎▍▌▋▊▉"


def heat_style(share: float) -> str:
    """Colour of a share of a kernel's power: hot from 30 %, warm from 10 %."""
    return HOT if share >= 0.30 else WARM if share >= 0.10 else COOL


def load_style(fraction: float) -> str:
    """Colour of a power relative to the limit: hot from 90 %, warm from 70 %."""
    return HOT if fraction >= 0.90 else WARM if fraction >= 0.70 else COOL


def share_bar(share: float | None, width: int, style: str = "") -> Text:
    """A bar of `share` (0 to 1) of `width` cells, to an eighth of a cell; empty when unknown. `style`: else
    that of its share.
    """
    if share is None:
        return Text(" " * width)
    eighths = round(8 * width * min(max(share, 0.0), 1.0))
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    cells = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text(cells.ljust(width), style=style or heat_style(share))


def power_bar(power: Power, limit_w: float, width: int) -> Text:
    """Power against the limit (the full width): solid to the interval's low end, shaded to its high end."""

    def cell(watts: float) -> int:
        return min(width, max(0, round(width * watts / limit_w)))

    style = load_style(power.power_w / limit_w)
    low, middle, high = cell(power.low_w), cell(power.power_w), cell(power.high_w)
    bar = Text()
    bar.append("█" * low, style=style)
    bar.append("▓" * (middle - low), style=style)
    bar.append("░" * (high - middle), style=style)
    bar.append("·" * (width - high), style=TRACK)
    return bar


MAX_COLUMNS = 100


def make_console(file: TextIO, most: int = MAX_COLUMNS) -> Console:
    """A console of at most `most` columns; colours on a terminal, or on stdout with FORCE_COLOR,
    and never with NO_COLOR.

    In a file or pipe it is as wide as a terminal of COLUMNS, without that `MAX_COLUMNS`.
    """
    is_terminal = file.isatty() or (file is sys.stdout and bool(os.environ.get("FORCE_COLOR")))
    console = Console(file=file, force_terminal=is_terminal, highlight=False, emoji=False, markup=False)
    told = os.environ.get("COLUMNS", "")
    has_width = file.isatty() or (told.isdecimal() and int(told) > 0)
    console.width = min(console.width, most) if has_width else MAX_COLUMNS
    return console


def print_stripped(console: Console, *parts: RenderableType, soft_wrap: bool = False) -> None:
    """Print the parts; in a file or pipe without the spaces that fill table rows up to the right.

    `soft_wrap`: lines of text stay whole.
    """
    with nullcontext() if console.is_terminal else console.capture() as capture:
        for part in parts:
            console.print(part, soft_wrap=soft_wrap and isinstance(part, Text))
    if capture is not None:
        console.file.write("".join(f"{line.rstrip()}\n" for line in capture.get().split("\n")[:-1]))


def section_title(left: str, right: str, width: int, style: str) -> Text:
    """`── left ─────────── right ──`, exactly as wide as the report; `left` gives way when both are long."""
    room = max(8, width - len(right) - 9)
    left = left if len(left) <= room else left[: room - 1] + "…"
    title = Text()  # a style given here would dim everything appended
    title.append("── ", style="dim")
    title.append(left, style=style)
    end = f" {right} ──" if right else "──"
    title.append(" " + "─" * max(1, width - 4 - len(left) - len(end)), style="dim")
    title.append(end, style="dim")
    return title
