"""The rooflines as a picture of three panels (speed, efficiency, power), with numbered kernels.

Needs matplotlib.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice.report.data_words import data_words
from wattslice.report.pictures import (
    COLOURS,
    DASHED,
    DOTTED,
    Axes,
    Figure,
    fraction,
    plain,
    save_picture,
    upright,
)
from wattslice.roofline.kernels import PlacedKernel, Rooflines
from wattslice.roofline.machines import Machine
from wattslice.units import printable, tail, three_digits
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline

GREY = "#777777"
_SAMPLES = 400
_FARTHEST = 500.0
"""A kernel whose intensity is so many times off every balance stands at the edge, as an arrowhead."""
_LOWEST = 30.0
"""A kernel so many times below every line stands at the bottom, as an arrowhead."""
_BINARY_OCTAVES = 16
"""Up to so many octaves intensities are powers of two, as in the paper; beyond, powers of ten."""
_MANY_DECADES = 300.0


class Panel(Struct, frozen=True):
    """One of the pictures side by side.

    `line`: of a machine at an intensity, None: unknown; `of_kernel`: the same of a kernel.
    """

    title: str
    unit: str
    line: Callable[[EnergyRoofline | TimeRoofline, float], float | None]
    of_kernel: Callable[[PlacedKernel], float | None]
    balance: Callable[[Machine], float]
    balance_name: str
    logarithmic: bool


def _giga(value: float | None) -> float | None:
    return None if value is None else 1e-9 * value


PANELS = (
    Panel(
        "Time",
        "Gflop/s",
        lambda machine, intensity: 1e-9 * machine.flops_per_s(intensity),
        lambda one: _giga(one.flops_per_s),
        lambda machine: machine.roofline.time_balance,
        r"$B_\tau$",
        True,
    ),
    Panel(
        "Energy efficiency",
        "Gflop/J",
        lambda machine, intensity: (
            1e-9 * machine.flops_per_j(intensity) if isinstance(machine, EnergyRoofline) else None
        ),
        lambda one: _giga(one.flops_per_j),
        lambda machine: (
            machine.energies.effective_balance_point if machine.energies else machine.roofline.time_balance
        ),
        "half at",
        True,
    ),
    Panel(
        "Power",
        "W",
        lambda machine, intensity: (
            machine.power_w(intensity) if isinstance(machine, EnergyRoofline) else None
        ),
        lambda one: one.power_w,
        lambda machine: machine.roofline.time_balance,
        r"$B_\tau$",
        False,
    ),
)


def intensities(rooflines: Rooflines) -> tuple[float, list[float]]:
    """The base of the axis, and where lines are drawn: around all balances and kernels not too far off."""
    marks = [machine.roofline.time_balance for machine in rooflines.machines]
    marks += [one.energies.effective_balance_point for one in rooflines.machines if one.energies is not None]
    low, high = min(marks) / 12, max(marks) * 12
    for _, kernel in placed(rooflines):
        if kernel.intensity is not None:
            low, high = min(low, kernel.intensity / 2), max(high, kernel.intensity * 2)
    low, high = max(low, min(marks) / _FARTHEST), min(high, max(marks) * _FARTHEST)
    base = 2.0 if math.log2(high / low) <= _BINARY_OCTAVES else 10.0
    low, high = base ** math.floor(math.log(low, base)), base ** math.ceil(math.log(high, base))
    step = math.log(high / low) / _SAMPLES
    places = {low * math.exp(step * number) for number in range(_SAMPLES + 1)}
    return base, sorted(places | {mark for mark in marks if low < mark < high})


def placed(rooflines: Rooflines) -> Iterator[tuple[int, PlacedKernel]]:
    """Kernels with a place, with their number in the table."""
    for number, kernel in enumerate(rooflines.kernels or (), 1):
        if kernel.machine is not None and kernel.intensity is not None:
            yield number, kernel


def draw_lines(axis: Axes, panel: Panel, rooflines: Rooflines, base: float, places: list[float]) -> None:
    """Scales, lines, balances and limits of one panel; kernels are drawn upon them."""
    axis.set_title(f"{panel.title}, {panel.unit}")
    axis.set_xscale("log", base=base)
    axis.xaxis.set_major_formatter(fraction if base == 2.0 else plain)
    axis.tick_params(axis="x", labelsize=8)
    axis.set_xlim(places[0], places[-1])
    for index, machine in enumerate(rooflines.machines):
        _draw_machine(axis, panel, machine, index, places)
    known = [machine for machine in rooflines.machines if panel.line(machine.roofline, 1.0) is not None]
    if not known:
        reason = rooflines.machines[0].no_energies or "no energies are known"
        words = textwrap.fill(f"line unknown: {reason}", 40)
        axis.text(0.97, 0.05, words, transform=axis.transAxes, ha="right", fontsize=7.5, color=GREY)
    values = [panel.of_kernel(kernel) for _, kernel in placed(rooflines)]
    lines = [panel.line(machine.roofline, place) for machine in known for place in places]
    if panel.logarithmic:
        _scale_logarithmically(axis, _numbers(lines), _numbers(values))
    else:
        _draw_limits(axis, rooflines, places)
        axis.set_ylim(0.0, 1.12 * max(axis.get_ylim()[1], *_numbers(values), 0.0))
    axis.minorticks_off()
    _draw_balances(axis, panel, rooflines, known)


def _numbers(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _scale_logarithmically(axis: Axes, lines: list[float], kernels: list[float]) -> None:
    """Whole decades are told; where there are few of them, steps between as well."""
    from matplotlib.ticker import LogLocator

    axis.set_yscale("log", base=10)
    if lines or kernels:
        least = min(lines) / _LOWEST if lines else max(kernels) / _FARTHEST
        low, high = max(least, min([*lines, *kernels]) / 1.5), 1.8 * max([*lines, *kernels])
        axis.set_ylim(low, high)
        steps = (1.0,) if high / low > _MANY_DECADES else (1.0, 2.0, 5.0)
        axis.yaxis.set_major_locator(LogLocator(base=10, subs=steps))
    axis.yaxis.set_major_formatter(_digits)


def _digits(value: float, _position: object) -> str:
    return f"{value:.10g}"  # 1000000, where `plain` has 1e+06


def _draw_machine(axis: Axes, panel: Panel, machine: Machine, index: int, places: list[float]) -> None:
    values = [panel.line(machine.roofline, place) for place in places]
    if None in values:
        return
    colour = COLOURS[index]
    if machine.energies is not None and machine.energies.is_capped:
        free = [panel.line(machine.energies.without_limit(), place) for place in places]
        axis.plot(places, free, color=colour, linewidth=1, linestyle=DASHED)
    width = 1.6 if index else 2.6  # where two roofs are one line, the first shows on both sides of the next
    axis.plot(places, values, color=colour, linewidth=width)


def _draw_balances(axis: Axes, panel: Panel, rooflines: Rooflines, known: list[Machine]) -> None:
    """Where arithmetic and memory take alike; told left of the lowest balance, right of the others."""
    marks = sorted((panel.balance(machine), rooflines.machines.index(machine)) for machine in known)
    for place, (mark, index) in enumerate(marks):
        words = f"{panel.balance_name} {three_digits(mark)}"
        bottom = 0.02 if place < 2 else 0.02 + 0.25 * (place - 1)
        upright(axis, mark, words, COLOURS[index], right=bool(place), bottom=bottom, above=2.0)


def _draw_limits(axis: Axes, rooflines: Rooflines, places: list[float]) -> None:
    """The limit of the board, and what the machines draw for being on."""
    limit_w = rooflines.machines[0].power_limit_w
    if limit_w is not None:
        words = f"limit {three_digits(limit_w)} W"
        _draw_level(axis, places[-1], limit_w, words, "#222222", DASHED, above=True)
    constant = {one.energies.constant_power_w for one in rooflines.machines if one.energies is not None}
    for place, watts in enumerate(sorted(constant)):  # one label for all, which may lie near each other
        shown = dict.fromkeys(three_digits(one) for one in sorted(constant))
        words = "" if place else f"constant power {' and '.join(shown)} W"
        _draw_level(axis, places[-1], watts, words, GREY, DOTTED, above=False)


def _draw_level(
    axis: Axes, right: float, watts: float, words: str, colour: str, style: object, *, above: bool
) -> None:
    axis.axhline(watts, color=colour, linewidth=1.0, linestyle=style)
    axis.annotate(
        words,
        (right, watts),
        xytext=(-1.0, 2.0 if above else -2.5),
        textcoords="offset points",
        fontsize=7,
        color=colour,
        ha="right",
        va="bottom" if above else "top",
    )


_RADII = (8.0, 11.0, 15.0, 20.0, 26.0, 33.0)
_DEGREES = range(30, 390, 30)


class Box(Struct, frozen=True):
    """A rectangle by its sides, in typographic points, y upwards."""

    left: float
    bottom: float
    right: float
    top: float

    @staticmethod
    def around(x: float, y: float, width: float, height: float) -> Box:
        """The one with this centre."""
        return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def overlaps(self, other: Box) -> bool:
        """Whether they have more than an edge in common."""
        across = self.left < other.right and other.left < self.right
        return across and self.bottom < other.top and other.bottom < self.top

    def contains(self, other: Box) -> bool:
        """Whether `other` lies inside, edges included."""
        across = self.left <= other.left and other.right <= self.right
        return across and self.bottom <= other.bottom and other.top <= self.top


def free_offsets(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    obstacles: Sequence[Box],
    inside: Box,
) -> tuple[tuple[float, float], ...]:
    """From each point to the centre of its label: the nearest free place inside, in the order given.

    Where nothing is free the label stands up and right of its point, over whatever is there.
    """
    taken = list(obstacles)
    found: list[tuple[float, float]] = []
    for (x, y), (width, height) in zip(points, sizes, strict=True):
        for dx, dy in _around():
            box = Box.around(x + dx, y + dy, width, height)
            if inside.contains(box) and not any(box.overlaps(other) for other in taken):
                break
        else:
            dx = dy = _RADII[0]
            box = Box.around(x + dx, y + dy, width, height)
        taken.append(box)
        found.append((dx, dy))
    return tuple(found)


def _around() -> Iterator[tuple[float, float]]:
    for radius in _RADII:
        for degrees in _DEGREES:
            angle = math.radians(degrees)
            yield radius * math.cos(angle), radius * math.sin(angle)


_INCHES = (11.4, 4.0)
_LEGEND_LINES = 24
"""So many have room; kernels that the legend cannot name are in the table."""
_LEADER_FROM = 12.0
"""From this distance on, in points, a line leads from a point to its number."""
_MARKERS = ("o", "s", "D", "^")
Extent = Any
"""A bounding box of matplotlib, in pixels."""


def draw_rooflines(rooflines: Rooflines, *paths: Path) -> None:
    """Draw them. Raises ``NoPlotsError`` without matplotlib, ``OSError`` where a path cannot be written."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(PANELS))
        base, places = intensities(rooflines)
        for axis, panel in zip(axes, PANELS, strict=True):
            draw_lines(axis, panel, rooflines, base, places)
            for _, kernel in placed(rooflines):
                _draw_kernel(axis, panel, rooflines, kernel)
        figure.supxlabel("intensity, flop per byte of DRAM", fontsize=9)
        _legend(figure, axes[0], rooflines)
        _title(figure, rooflines)
        figure.draw_without_rendering()  # labels are placed where there is room: sizes are known from here on
        for axis, panel in zip(axes, PANELS, strict=True):
            _number_kernels(axis, panel, rooflines)

    save_picture(draw, _INCHES, paths)


def _spot(axis: Axes, panel: Panel, kernel: PlacedKernel) -> tuple[float, float] | None:
    """Where the kernel stands, at the nearest edge if it is out of the picture; None: nowhere."""
    value = panel.of_kernel(kernel)
    if value is None or kernel.intensity is None:
        return None
    low, high = axis.get_xlim()
    return min(max(kernel.intensity, low), high), max(value, axis.get_ylim()[0])


def _draw_kernel(axis: Axes, panel: Panel, rooflines: Rooflines, kernel: PlacedKernel) -> None:
    spot = _spot(axis, panel, kernel)
    if spot is None or kernel.machine is None:
        return
    index = rooflines.machines.index(kernel.machine)
    marker = _MARKERS[index]
    if spot[0] != kernel.intensity:
        marker = "<" if spot[0] == axis.get_xlim()[0] else ">"
    elif spot[1] != panel.of_kernel(kernel):
        marker = "v"
    axis.plot(
        [spot[0]],
        [spot[1]],
        marker=marker,
        clip_on=False,
        markersize=5.5,
        markerfacecolor=COLOURS[index],
        markeredgecolor="white",
        markeredgewidth=0.8,
        linestyle="none",
        zorder=5,
    )


def _number_kernels(axis: Axes, panel: Panel, rooflines: Rooflines) -> None:
    """The number of each kernel beside its point, at the nearest place where nothing else stands."""
    to_points = 72.0 / axis.figure.dpi
    spots = {number: _spot(axis, panel, kernel) for number, kernel in placed(rooflines)}
    centres = {
        number: (x * to_points, y * to_points)
        for number, spot in spots.items()
        if spot is not None
        for x, y in [axis.transData.transform(spot)]
    }
    named = [number for number, _ in _named(rooflines) if number in centres]
    offsets = free_offsets(
        [centres[number] for number in named],
        [(4.6 * len(str(number)) + 1.0, 7.5) for number in named],
        [Box.around(x, y, 7.0, 7.0) for x, y in centres.values()]
        + [_in_points(text.get_window_extent(), to_points) for text in axis.texts],
        _in_points(axis.get_window_extent(), to_points),
    )
    leader = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
    for number, offset in zip(named, offsets, strict=True):
        shown = axis.annotate(
            str(number),
            spots[number],
            xytext=offset,
            textcoords="offset points",
            fontsize=7,
            ha="center",
            va="center",
            annotation_clip=False,
            arrowprops=leader if math.hypot(*offset) > _LEADER_FROM else None,
        )
        shown.set_in_layout(False)


def _in_points(extent: Extent, to_points: float) -> Box:
    return Box(*(to_points * float(side) for side in extent.extents))


def _named(rooflines: Rooflines) -> list[tuple[int, PlacedKernel]]:
    """The first kernels, as many as the legend has room for."""
    kernels = list(placed(rooflines))
    room = _LEGEND_LINES - len(rooflines.machines) - _is_capped(rooflines)
    return kernels if len(kernels) <= room else kernels[: room - 1]


def _is_capped(rooflines: Rooflines) -> bool:
    return any(machine.energies is not None and machine.energies.is_capped for machine in rooflines.machines)


def _legend(figure: Figure, axis: Axes, rooflines: Rooflines) -> None:
    """What the colours are, then which kernel has which number."""
    handles = [
        axis.plot([], [], color=COLOURS[index], linewidth=1.8, label=machine.precision.value)[0]
        for index, machine in enumerate(rooflines.machines)
    ]
    if _is_capped(rooflines):
        handles += axis.plot([], [], color=GREY, linewidth=1, linestyle=DASHED, label="if nothing throttled")
    named = _named(rooflines)
    unnamed = len(list(placed(rooflines))) - len(named)
    for number, kernel in named:
        assert kernel.machine is not None
        index = rooflines.machines.index(kernel.machine)
        label = f"{number} {tail(printable(kernel.name), 26)}"
        handles += axis.plot(
            [], [], marker=_MARKERS[index], color=COLOURS[index], linestyle="none", markersize=5, label=label
        )
    if unnamed:
        handles += axis.plot([], [], linestyle="none", label=f"and {unnamed} more, see the table")
    figure.legend(handles=handles, loc="outside right upper", fontsize=7.5)


def _title(figure: Figure, rooflines: Rooflines) -> None:
    sources = {machine.source for machine in rooflines.machines}
    source = rooflines.machines[0].source if len(sources) == 1 else "of several sources, see the table"
    words = f"{rooflines.machines[0].name} · coefficients: {source}"
    words = " · ".join(filter(None, (words, data_words(rooflines.kernels or (), named=False))))
    figure.suptitle(words, x=0.01, ha="left", fontsize=10)
