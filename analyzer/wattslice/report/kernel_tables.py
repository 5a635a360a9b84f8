"""The tables inside one kernel's section: slices, hottest lines, assumptions."""

from __future__ import annotations

from pathlib import Path, PurePath
from textwrap import dedent

from rich.table import Table
from rich.text import Text

from wattslice.analysis import KernelAnalysis, LaunchSource, SliceAnalysis
from wattslice.execution import Assumption
from wattslice.report.bars import WARM, heat_style, share_bar
from wattslice.report.printable import printable
from wattslice.report.units import line_ranges, percent, power, three_digits

MAX_HOT_LINES = 8
"""Lines quoted; the JSON report has them all."""

_NOTHING = "–"
_BAR = 10


def launch_text(kernel: KernelAnalysis) -> Text:
    """`<<<(64, 64), 256, 2048>>>` and where it comes from."""
    inside = f"{_extent(kernel.grid)}, {_extent(kernel.block)}"
    text = Text(f"<<<{inside}>>>")
    if kernel.launch_source is LaunchSource.HOST_CODE:
        where = "host code" if kernel.launch_line is None else f"host code, line {kernel.launch_line}"
        text.append(f"  {where}", style="dim")
    else:
        style = WARM if kernel.launch_source is LaunchSource.ASSUMED else "dim"
        text.append(f"  {kernel.launch_source.value}", style=style)
    return text


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z != 1 else f"({x}, {y})" if y != 1 else str(x)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)


def _add_power_columns(table: Table) -> None:
    """Watts, share and its bar: at the right edge and of one width, so that they line up across tables."""
    table.add_column("watts", justify="right", no_wrap=True, min_width=9)
    table.add_column("share", justify="right", no_wrap=True, min_width=5)
    table.add_column("", no_wrap=True, min_width=_BAR)


def slice_table(slices: tuple[SliceAnalysis, ...]) -> Table:
    """One row per slice, in the order of the analysis."""
    table = _table()
    table.add_column("  slice", no_wrap=True)
    table.add_column("variables", overflow="ellipsis", no_wrap=True, ratio=1)
    table.add_column("lines", max_width=20)
    table.add_column("length", justify="right", no_wrap=True, min_width=6)
    table.add_column("density", justify="right", no_wrap=True, min_width=7)
    _add_power_columns(table)
    for part in slices:
        table.add_row(
            f"  {part.memory_space.value}",
            printable(", ".join(part.variables)) or _NOTHING,
            line_ranges(part.lines) or _NOTHING,
            three_digits(part.length),
            _NOTHING if part.arithmetic_density is None else three_digits(part.arithmetic_density),
            Text(power(part.power_w), style="" if part.power_w is not None else WARM),
            percent(part.share_of_power),
            share_bar(part.share_of_power, _BAR),
        )
    return table


def hot_line_table(kernel: KernelAnalysis) -> Table:
    """The hottest lines as the source has them, each with its watts above idle."""
    shown = kernel.hot_lines[:MAX_HOT_LINES]
    foreign = any(heat.file != kernel.file for heat in shown)
    quoted = dedent("\n".join(printable(heat.text) for heat in shown)).split("\n")
    table = _table()
    table.add_column("  line", justify="right", no_wrap=True, style="dim", max_width=24)
    table.add_column("hottest source", no_wrap=True, overflow="ellipsis", ratio=1)
    _add_power_columns(table)
    for heat, text in zip(shown, quoted, strict=True):
        place = (
            f"{PurePath(heat.file).name}:{heat.line}"
            if foreign and heat.file != kernel.file
            else str(heat.line)
        )
        style = heat_style(heat.share)
        table.add_row(
            f"  {place}",
            Text(text),
            Text(power(heat.power_w), style=style),
            percent(heat.share),
            share_bar(heat.share, _BAR),
        )
    return table


def assumption_table(assumptions: tuple[Assumption, ...]) -> Table:
    """What had to be assumed, each with the option that settles it."""
    table = _table()
    table.add_column("  line", justify="right", no_wrap=True, style="dim")
    table.add_column("assumed", ratio=1)
    table.add_column("", style="dim", no_wrap=True)
    for assumption in assumptions:
        message = Text(printable(assumption.message))
        if assumption.fix:
            message.append(f"\n→ {printable(assumption.fix)}", style="cyan")
        if assumption.file:
            message.append(f"\nin {printable(Path(assumption.file).name)}", style="dim")
        table.add_row(f"  {assumption.line or _NOTHING}", message, assumption.rule)
    return table
