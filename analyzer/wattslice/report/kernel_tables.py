"""The tables inside one kernel's section: slices, hottest lines, branches, assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from textwrap import dedent

from rich.table import Table
from rich.text import Text

from wattslice.analysis import ArmAnalysis, KernelAnalysis, LaunchSource, LineHeat, SliceAnalysis
from wattslice.counting.profile import ProbabilitySource
from wattslice.findings.findings import operations_power_w
from wattslice.launches.launch import Assumption
from wattslice.report.bars import WARM, heat_style, share_bar
from wattslice.report.columns import ORNAMENT, Column, fitting_table
from wattslice.report.printable import printable, tail
from wattslice.units import line_ranges, percent, power, three_digits

MAX_HOT_LINES = 8
"""Lines quoted; the JSON report has them all."""

MAX_ARMS = 8
"""Arms listed; the JSON report has them all."""

_WORTH = 0.01
_NOTHING = "–"
_BAR = 10
_PLACE = 22
_ROOMY = 80
"""From this width on figures of several tables line up."""


def launch_text(kernel: KernelAnalysis) -> Text:
    """`<<<(64, 64), 256, 2048>>>` and where it comes from."""
    inside = f"{_extent(kernel.grid)}, {_extent(kernel.block)}"
    text = Text(f"<<<{inside}>>>")
    if kernel.launch_source is LaunchSource.HOST_CODE:
        where = "host code" if kernel.launch_line is None else f"host code, line {kernel.launch_line}"
        where += f" of {printable(PurePath(kernel.launch_file).name)}" if kernel.launch_file else ""
        text.append(f"  {where}", style="dim")
    else:
        style = WARM if kernel.launch_source is LaunchSource.ASSUMED else "dim"
        text.append(f"  {kernel.launch_source.value}", style=style)
    return text


def _extent(extent: tuple[int, int, int]) -> str:
    x, y, z = extent
    return f"({x}, {y}, {z})" if z != 1 else f"({x}, {y})" if y != 1 else str(x)


def _power_columns(powers: list[Text], shares: Sequence[float | None], width: int) -> tuple[Column, ...]:
    """Watts, share and its bar: at the right edge and of one width, so that they line up across tables."""
    percents = tuple(Text(percent(share)) for share in shares)
    bars = tuple(share_bar(share, _BAR) for share in shares)
    return (
        Column("watts", tuple(powers), right=True, at_least=9 if width >= _ROOMY else 0),
        Column("share", percents, right=True, give_up=ORNAMENT),
        Column("", bars, give_up=ORNAMENT + 1),
    )


def slice_table(slices: tuple[SliceAnalysis, ...], width: int) -> Table:
    """One row per slice, in the order of the analysis."""

    def texts(cells: Iterable[str]) -> tuple[Text, ...]:
        return tuple(map(Text, cells))

    watts = [Text(power(part.power_w), style="" if part.power_w is not None else WARM) for part in slices]
    densities = (
        _NOTHING if part.arithmetic_density is None else three_digits(part.arithmetic_density)
        for part in slices
    )
    columns = (
        Column("  slice", texts(f"  {part.memory_space.value}" for part in slices)),
        Column(
            "variables",
            texts(printable(", ".join(part.variables)) or _NOTHING for part in slices),
            least=12,
            wanted=24,
            stretch=True,
            cut=True,
        ),
        Column("lines", texts(line_ranges(part.lines) or _NOTHING for part in slices), least=5, wanted=20),
        Column("length", texts(three_digits(part.length) for part in slices), right=True, give_up=1),
        Column("density", texts(densities), right=True, give_up=2),
        *_power_columns(watts, [part.share_of_power for part in slices], width),
    )
    return fitting_table(columns, width)


def hot_line_table(kernel: KernelAnalysis, width: int) -> Table:
    """The hottest lines as the source has them, each with its watts of those that the heading tells."""
    shown = kernel.hot_lines[:MAX_HOT_LINES]
    quoted = dedent("\n".join(printable(heat.text) for heat in shown)).split("\n")
    whose = "the board draws" if kernel.model == "regression" else "operations draw"
    heading = f"hottest source, of the {power(operations_power_w(kernel))} that {whose}"
    watts = [Text(power(heat.power_w), style=heat_style(heat.share)) for heat in shown]
    columns = (
        Column("  line", tuple(Text(f"  {_place(heat, kernel)}") for heat in shown), right=True, style="dim"),
        Column(heading, tuple(map(Text, quoted)), least=24, wanted=40, stretch=True, cut=True),
        *_power_columns(watts, [heat.share for heat in shown], width),
    )
    return fitting_table(columns, width)


def arms_shown(kernel: KernelAnalysis) -> tuple[ArmAnalysis, ...]:
    """The arms that data decide and that draw or move a part worth telling, or leave; the largest first.

    The copies of a function that is inlined several times are one arm.
    """
    copies: dict[tuple[str, int, int, str], list[ArmAnalysis]] = {}
    for arm in kernel.arms:
        if arm.source is not ProbabilitySource.STATIC:
            copies.setdefault((arm.file, arm.line, arm.column, arm.arm), []).append(arm)
    decided = (_together(arms, kernel) for arms in copies.values())
    worth = (
        arm
        for arm in decided
        if arm.leaves
        or (arm.share_of_power or 0.0) >= _WORTH
        or _moves_w(arm) >= _WORTH * (kernel.power_w or math.inf)
    )
    return tuple(sorted(worth, key=lambda arm: -max(arm.power_w or 0.0, _moves_w(arm)))[:MAX_ARMS])


def _moves_w(arm: ArmAnalysis) -> float:
    """How far the arm moves the kernel's watts; 0 where that is not known."""
    if arm.kernel_low_w is None or arm.kernel_high_w is None:
        return 0.0
    return arm.kernel_high_w - arm.kernel_low_w


def _together(copies: list[ArmAnalysis], kernel: KernelAnalysis) -> ArmAnalysis:
    """Several copies of one arm as one: probabilities by visits, watts in sum, all of them moving at once."""
    first, visits = copies[0], sum(arm.visits for arm in copies)
    if len(copies) == 1 or not visits:
        return first

    def mean(values: Iterable[float]) -> float:
        return sum(value * arm.visits for value, arm in zip(values, copies, strict=True)) / visits

    def total(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    power_w = kernel.power_w or 0.0
    below = total(None if arm.kernel_low_w is None else power_w - arm.kernel_low_w for arm in copies)
    above = total(None if arm.kernel_high_w is None else arm.kernel_high_w - power_w for arm in copies)
    high_w = None if above is None else power_w + above
    if high_w is not None and kernel.power_limit_w is not None:
        high_w = min(high_w, kernel.power_limit_w)
    return replace(
        first,
        probability=mean(arm.probability for arm in copies),
        probability_low=mean(arm.probability_low for arm in copies),
        probability_high=mean(arm.probability_high for arm in copies),
        power_w=total(arm.power_w for arm in copies),
        share_of_power=total(arm.share_of_power for arm in copies),
        kernel_low_w=None if below is None else max(0.0, power_w - below),
        kernel_high_w=high_w,
        visits=visits,
    )


def arm_table(kernel: KernelAnalysis, width: int) -> Table:
    """How often data take an arm, who says so, and what it does to the watts."""
    shown = arms_shown(kernel)
    watts = [Text(power(arm.power_w), style=heat_style(arm.share_of_power or 0.0)) for arm in shown]
    columns = (
        Column("  line", tuple(Text(f"  {_arm_place(arm)}") for arm in shown), right=True, style="dim"),
        Column("arm", tuple(Text(arm.arm) for arm in shown), least=4, wanted=8, cut=True),
        Column("taken", tuple(Text(percent(arm.probability)) for arm in shown), right=True),
        Column("by", tuple(Text(arm.source.value) for arm in shown), style="dim"),
        Column("may be", tuple(map(_may_be, shown)), give_up=1),
        Column("kernel then", tuple(map(_kernel_draws, shown)), stretch=True, give_up=2),
        *_power_columns(watts, [arm.share_of_power for arm in shown], width),
    )
    return fitting_table(columns, width)


def _may_be(arm: ArmAnalysis) -> Text:
    low, high = arm.probability_low, arm.probability_high
    return Text(_NOTHING if low == high else f"{percent(low)} to {percent(high)}")


def _kernel_draws(arm: ArmAnalysis) -> Text:
    if arm.kernel_low_w is None or arm.kernel_high_w is None:
        return Text(_NOTHING)
    return Text(f"{three_digits(arm.kernel_low_w)}–{three_digits(arm.kernel_high_w)} W")


def _arm_place(arm: ArmAnalysis) -> str:
    return tail(f"{PurePath(arm.file).name}:{arm.line}", _PLACE) if arm.file else str(arm.line)


def _place(heat: LineHeat, kernel: KernelAnalysis) -> str:
    if heat.file == kernel.file:
        return str(heat.line)
    return tail(f"{PurePath(heat.file).name}:{heat.line}", _PLACE)


def assumption_table(assumptions: tuple[Assumption, ...]) -> Table:
    """What had to be assumed, each with the option that settles it where there is one."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
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
