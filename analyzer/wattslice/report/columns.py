"""Tables that give up columns, the least telling first, where a terminal is too narrow for all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

_GAP = 2
_WORD = " "


@dataclass(frozen=True, slots=True)
class Column:
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


def _kept(columns: Sequence[Column], width: int) -> list[Column]:
    kept = list(columns)
    for column in sorted(columns, key=lambda column: -column.give_up):
        ornament = column.give_up >= ORNAMENT
        needed = [part.wanted_width() if ornament else part.least_width() for part in kept]
        if column.give_up and sum(needed) + _GAP * (len(kept) - 1) > width:
            kept.remove(column)
    return kept
