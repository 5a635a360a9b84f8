"""Figures 2, 4 and 5 of Choi et al. 2013, from the published parameters. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from wattslice.report.pictures import COLOURS, DASHED, DOTTED, Axes, Figure, fraction, save_picture, upright
from wattslice.roofline.machines import published_roofline
from wattslice_corpora.published.choi2013 import MachineRow, choi2013_fermi, choi2013_machines
from wattslice_models.energy_roofline import EnergyRoofline

_TIME, _ENERGY, _FREE = COLOURS[0], COLOURS[1], "#777777"
_SAMPLES = 300
_TITLE_5 = "Figure 5: power lines in watts, dashed what is asked for above the limit"


def plot_choi2013(folder: Path) -> tuple[Path, ...]:
    """Write the three pictures into `folder`. Raises ``NoPlotsError`` and ``OSError``."""
    pictures = (
        (folder / "choi_fig2.svg", 3.1, _figure_2, "Figure 2: Table II, no constant power"),
        (folder / "choi_fig4.svg", 5.6, _figure_4, "Figure 4: speed and energy efficiency over their best"),
        (folder / "choi_fig5.svg", 5.6, _figure_5, _TITLE_5),
    )
    for path, height, draw, title in pictures:
        save_picture(draw, (7.6, height), (path,), title)
    return tuple(path for path, *_ in pictures)


def _figure_2(figure: Figure) -> None:
    machine = published_roofline(choi2013_fermi())
    lines, power = figure.subplots(1, 2)
    places = _places(machine, 0.5, 512.0)
    _relative_lines(lines, machine, places)
    lines.set_title("(a) speed and efficiency over their best")
    lines.legend(loc="lower right")
    power.plot(
        places, [machine.power_w(one) / machine.flop_power_w for one in places], color=_ENERGY, linewidth=1.8
    )
    power.set_title("(b) power over that of the flops")
    power.set_ylim(0.0, 5.6)
    upright(power, machine.time_balance, f"$B_\\tau$ {machine.time_balance:.1f}", _TIME, right=False)
    upright(power, machine.energy_balance, f"$B_\\epsilon$ {machine.energy_balance:.1f}", _ENERGY, right=True)
    _finish(figure, (lines, power), places)


def _figure_4(figure: Figure) -> None:
    def draw(axis: Axes, machine: EnergyRoofline, places: Sequence[float]) -> None:
        _relative_lines(axis, machine.without_limit(), places)

    _four(figure, draw)


def _figure_5(figure: Figure) -> None:
    def draw(axis: Axes, machine: EnergyRoofline, places: Sequence[float]) -> None:
        axis.plot(
            places,
            [machine.demanded_power_w(one) for one in places],
            color=_ENERGY,
            linestyle=DASHED,
            linewidth=1,
        )
        axis.plot(places, [machine.power_w(one) for one in places], color=_ENERGY, linewidth=1.8)
        upright(axis, machine.time_balance, f"$B_\\tau$ {machine.time_balance:.1f}", _TIME, right=False)
        levels = [(machine.constant_power_w, "constant power"), (machine.power_limit_w, "limit")]
        for watts, words in levels:
            if watts is not None:
                axis.axhline(watts, color=_FREE, linewidth=0.9, linestyle=DOTTED)
                axis.annotate(
                    f"{words} {watts:g} W",
                    (places[-1], watts),
                    xytext=(-1, 2),
                    textcoords="offset points",
                    ha="right",
                    fontsize=7,
                    color=_FREE,
                )
        axis.set_ylim(0.0, 1.1 * machine.peak_power_w)

    _four(figure, draw)


def _four(figure: Figure, draw: Callable[[Axes, EnergyRoofline, Sequence[float]], None]) -> None:
    """Double precision above, single below; the GPU left, the processor right."""
    grid = figure.subplots(2, 2)
    rows = {(row.precision, row.machine): row for row in choi2013_machines()}
    axes: list[Axes] = []
    places: list[float] = []
    for line, precision in enumerate(("double", "single")):
        for column, name in enumerate(("gtx580", "i7-950")):
            row: MachineRow = rows[precision, name]
            machine = published_roofline(row)
            places = _places(machine, 0.25, 64.0)
            axis = grid[line][column]
            axis.set_title(f"{row.name}, {precision}")
            draw(axis, machine, places)
            axes.append(axis)
    if axes[0].get_legend_handles_labels()[0]:
        axes[0].legend(loc="lower right")
    _finish(figure, axes, places)


def _relative_lines(axis: Axes, machine: EnergyRoofline, places: Sequence[float]) -> None:
    axis.plot(
        places, [machine.relative_speed(one) for one in places], color=_TIME, linewidth=1.8, label="speed"
    )
    axis.plot(
        places,
        [machine.relative_efficiency(one) for one in places],
        color=_ENERGY,
        linewidth=1.8,
        label="energy",
    )
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(fraction)
    point = machine.effective_balance_point
    words = f"$B_\\tau$ {machine.time_balance:.1f}"
    upright(axis, machine.time_balance, words, _TIME, right=point <= machine.time_balance)
    upright(axis, point, f"half {point:.2g}", _ENERGY, right=point > machine.time_balance)
    axis.plot([point], [0.5], marker="o", markersize=5, color=_ENERGY)
    if machine.constant_power_w:
        free = replace(machine, constant_power_w=0.0).effective_balance_point
        axis.plot([free], [0.5], marker="o", markersize=5, markerfacecolor="white", color=_FREE)
        axis.annotate(
            f"$\\pi_0$ = 0: {free:.1f}",
            (free, 0.5),
            parse_math=True,
            xytext=(6, -8),
            textcoords="offset points",
            fontsize=7,
            color=_FREE,
        )


def _finish(figure: Figure, axes: Sequence[Axes], places: Sequence[float]) -> None:
    for axis in axes:
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(fraction)
        axis.minorticks_off()
        axis.set_xlim(places[0], places[-1])
    figure.supxlabel("intensity, flop per byte", fontsize=9)


def _places(machine: EnergyRoofline, low: float, high: float) -> list[float]:
    step = math.log(high / low) / _SAMPLES
    return sorted({machine.time_balance, *(low * math.exp(step * number) for number in range(_SAMPLES + 1))})
