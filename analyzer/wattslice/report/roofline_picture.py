"""The rooflines as a picture: speed, energy efficiency and power over intensity. Needs matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattslice.machines import Machine
from wattslice.pictures import COLOURS, Axes, Figure, plain, save_picture
from wattslice.placed_kernels import PlacedKernel
from wattslice.report.printable import printable, tail
from wattslice.report.units import three_digits
from wattslice.rooflines import Rooflines
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline

_INCHES = (11.4, 4.0)
_SAMPLES = 400
_NAMED = 16
"""Kernels that the legend names; the table has them all."""
_FARTHEST = 500.0
"""A kernel whose intensity is so many times off every balance stands at the edge, as an arrowhead."""
_BINARY_OCTAVES = 16
"""Up to so many octaves intensities are powers of two, as in the paper; beyond, powers of ten."""
_MANY_DECADES = 300.0
_DASHED = (0, (4, 3))
_DOTTED = (0, (1, 2))
_GREY = "#777777"
_MARKERS = ("o", "s", "D", "^")


@dataclass(frozen=True, slots=True)
class _Panel:
    """`line`: of a machine at an intensity, None: unknown; `of_kernel`: the same of a kernel."""

    title: str
    unit: str
    line: Callable[[EnergyRoofline | TimeRoofline, float], float | None]
    of_kernel: Callable[[PlacedKernel], float | None]
    balance: Callable[[Machine], float]
    balance_name: str
    logarithmic: bool


def draw_rooflines(rooflines: Rooflines, *paths: Path) -> None:
    """Draw them. Raises ``NoPlotsError`` without matplotlib, ``OSError`` where a path cannot be written."""

    def draw(figure: Figure) -> None:
        axes = figure.subplots(1, len(_PANELS))
        places = _intensities(rooflines)
        for axis, panel in zip(axes, _PANELS, strict=True):
            _draw_panel(axis, panel, rooflines, places)
        figure.supxlabel("intensity, flop per byte of DRAM", fontsize=9)
        _legend(figure, axes[0], rooflines)
        _title(figure, rooflines)
        figure.draw_without_rendering()  # labels are placed where there is room: sizes are known from here on
        for axis, panel in zip(axes, _PANELS, strict=True):
            _number_kernels(axis, panel, rooflines)

    save_picture(draw, _INCHES, paths)


def _speed(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float:
    return 1e-9 * machine.flops_per_s(intensity)


def _efficiency(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float | None:
    return 1e-9 * machine.flops_per_j(intensity) if isinstance(machine, EnergyRoofline) else None


def _power(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float | None:
    return machine.power_w(intensity) if isinstance(machine, EnergyRoofline) else None


def _time_balance(machine: Machine) -> float:
    return machine.roofline.time_balance


def _effective_balance(machine: Machine) -> float:
    return (
        machine.roofline.time_balance
        if machine.energies is None
        else machine.energies.effective_balance_point
    )


_PANELS = (
    _Panel("Time", "Gflop/s", _speed, lambda one: _giga(one.flops_per_s), _time_balance, r"$B_\tau$", True),
    _Panel(
        "Energy efficiency",
        "Gflop/J",
        _efficiency,
        lambda one: _giga(one.flops_per_j),
        _effective_balance,
        "half of the best at",
        True,
    ),
    _Panel("Power", "W", _power, lambda one: one.power_w, _time_balance, r"$B_\tau$", False),
)


def _giga(value: float | None) -> float | None:
    return None if value is None else 1e-9 * value


def _intensities(rooflines: Rooflines) -> list[float]:
    """Where the lines are drawn: around all balances and the kernels that are not too far off."""
    marks = [machine.roofline.time_balance for machine in rooflines.machines]
    marks += [one.energies.effective_balance_point for one in rooflines.machines if one.energies is not None]
    low, high = min(marks) / 12, max(marks) * 12
    for _, kernel in _placed(rooflines):
        if kernel.intensity is not None:
            low, high = min(low, kernel.intensity / 2), max(high, kernel.intensity * 2)
    low, high = max(low, min(marks) / _FARTHEST), min(high, max(marks) * _FARTHEST)
    base = _base(low, high)
    low, high = base ** math.floor(math.log(low, base)), base ** math.ceil(math.log(high, base))
    step = math.log(high / low) / _SAMPLES
    places = {low * math.exp(step * number) for number in range(_SAMPLES + 1)}
    return sorted(places | {mark for mark in marks if low < mark < high})


def _base(low: float, high: float) -> float:
    return 2.0 if math.log2(high / low) <= _BINARY_OCTAVES else 10.0


def _placed(rooflines: Rooflines) -> Iterator[tuple[int, PlacedKernel]]:
    """Kernels with a place, with their number in the table."""
    for number, kernel in enumerate(rooflines.kernels or (), 1):
        if kernel.machine is not None and kernel.intensity is not None:
            yield number, kernel


def _draw_panel(axis: Axes, panel: _Panel, rooflines: Rooflines, places: list[float]) -> None:
    axis.set_title(f"{panel.title}, {panel.unit}")
    base = _base(places[0], places[-1])
    axis.set_xscale("log", base=base)
    axis.xaxis.set_major_formatter(_fraction if base == 2.0 else plain)
    axis.set_xlim(places[0], places[-1])
    for index, machine in enumerate(rooflines.machines):
        _draw_machine(axis, panel, machine, index, places)
    for _, kernel in _placed(rooflines):
        _draw_kernel(axis, panel, rooflines, kernel, places)
    known = [machine for machine in rooflines.machines if panel.line(machine.roofline, 1.0) is not None]
    _draw_balances(axis, panel, rooflines, known)
    if not known:
        reason = rooflines.machines[0].no_energies or "no energies are known"
        words = textwrap.fill(f"line unknown: {reason}", 40)
        axis.text(0.97, 0.4, words, transform=axis.transAxes, ha="right", fontsize=7.5, color=_GREY)
    if panel.logarithmic:
        _logarithmic(axis)
    else:
        axis.minorticks_off()
        _draw_limits(axis, rooflines, places)
        axis.set_ylim(0.0, 1.12 * axis.get_ylim()[1])


def _logarithmic(axis: Axes) -> None:
    """Whole decades are told; where there are few of them, steps between as well."""
    from matplotlib.ticker import LogLocator

    axis.set_yscale("log", base=10)
    low, high = axis.get_ylim()
    steps = (1.0,) if high / low > _MANY_DECADES else (1.0, 2.0, 5.0)
    axis.yaxis.set_major_locator(LogLocator(base=10, subs=steps))
    axis.yaxis.set_major_formatter(plain)
    axis.minorticks_off()


def _draw_machine(axis: Axes, panel: _Panel, machine: Machine, index: int, places: list[float]) -> None:
    values = [panel.line(machine.roofline, place) for place in places]
    if None in values:
        return
    colour = COLOURS[index]
    if machine.energies is not None and machine.energies.is_capped:
        free = [panel.line(machine.energies.without_limit(), place) for place in places]
        axis.plot(places, free, color=colour, linewidth=1, linestyle=_DASHED)
    width = 1.6 if index else 2.6  # where two roofs are one line, the first shows on both sides of the next
    axis.plot(places, values, color=colour, linewidth=width)


def _draw_balances(axis: Axes, panel: _Panel, rooflines: Rooflines, known: list[Machine]) -> None:
    """Where arithmetic and memory take alike; told left of the lowest balance, right of the others."""
    marks = sorted((panel.balance(machine), rooflines.machines.index(machine)) for machine in known)
    for place, (mark, index) in enumerate(marks):
        colour = COLOURS[index]
        axis.axvline(mark, color=colour, linewidth=0.9, linestyle=_DOTTED)
        axis.annotate(
            f"{panel.balance_name} {three_digits(mark)}",
            (mark, 0.02 if place < 2 else 0.02 + 0.25 * (place - 1)),
            xycoords=axis.get_xaxis_transform(),
            xytext=(2.5 if place else -2.5, 2.0),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            color=colour,
            ha="left" if place else "right",
            va="bottom",
        )


def _draw_limits(axis: Axes, rooflines: Rooflines, places: list[float]) -> None:
    """The limit of the board, and what the machines draw for being on."""
    limit_w = rooflines.machines[0].power_limit_w
    if limit_w is not None:
        _draw_level(axis, places[-1], limit_w, f"limit {three_digits(limit_w)} W", "#222222", _DASHED)
    for watts in {one.energies.constant_power_w for one in rooflines.machines if one.energies is not None}:
        _draw_level(axis, places[-1], watts, f"constant power {three_digits(watts)} W", _GREY, _DOTTED)


def _draw_level(axis: Axes, right: float, watts: float, words: str, colour: str, style: object) -> None:
    axis.axhline(watts, color=colour, linewidth=1.0, linestyle=style)
    axis.annotate(
        words,
        (right, watts),
        xytext=(-1.0, 2.0),
        textcoords="offset points",
        fontsize=7,
        color=colour,
        ha="right",
        va="bottom",
    )


def _shown_at(kernel: PlacedKernel, low: float, high: float) -> float:
    """Its intensity, or the edge of the picture."""
    return min(max(kernel.intensity or low, low), high)


def _draw_kernel(
    axis: Axes, panel: _Panel, rooflines: Rooflines, kernel: PlacedKernel, places: list[float]
) -> None:
    value = panel.of_kernel(kernel)
    if value is None or kernel.machine is None:
        return
    shown = _shown_at(kernel, places[0], places[-1])
    marker = _MARKERS[rooflines.machines.index(kernel.machine)]
    if shown != kernel.intensity:
        marker = "<" if shown == places[0] else ">"
    index = rooflines.machines.index(kernel.machine)
    axis.plot(
        [shown],
        [value],
        marker=marker,
        clip_on=False,
        markersize=5.5,
        markerfacecolor=COLOURS[index],
        markeredgecolor="white",
        markeredgewidth=0.8,
        linestyle="none",
        zorder=5,
    )


def _number_kernels(axis: Axes, panel: _Panel, rooflines: Rooflines) -> None:
    """The number of each kernel beside its point, at the nearest place where nothing else stands."""
    to_points = 72.0 / axis.figure.dpi
    points: list[tuple[float, float, int, tuple[float, float]]] = []
    for number, kernel in _named(rooflines):
        value = panel.of_kernel(kernel)
        if value is not None:
            place = (_shown_at(kernel, *axis.get_xlim()), value)
            x, y = axis.transData.transform(place)
            points.append((float(x) * to_points, float(y) * to_points, number, place))
    taken = [_box(x, y, 7.0, 7.0) for x, y, _, _ in points]
    taken += [_in_points(text.get_window_extent(), to_points) for text in axis.texts]
    inside = _in_points(axis.get_window_extent(), to_points)
    for x, y, number, place in points:
        width = 4.6 * len(str(number)) + 1.0
        for radius, angle in _NEAR:
            dx, dy = radius * math.cos(angle), radius * math.sin(angle)
            box = _box(x + dx, y + dy, width, 7.5)
            if _contains(inside, box) and not any(_overlap(box, other) for other in taken):
                break
        else:
            dx, dy, box = 7.0, 7.0, _box(x + 7.0, y + 7.0, width, 7.5)
        taken.append(box)
        far = math.hypot(dx, dy) > 12.0
        shown = axis.annotate(
            str(number),
            place,
            xytext=(dx, dy),
            textcoords="offset points",
            fontsize=7,
            ha="center",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": _GREY, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0}
            if far
            else None,
        )
        shown.set_in_layout(False)


_NEAR = tuple(
    (radius, math.radians(angle))
    for radius in (8.0, 11.0, 15.0, 20.0, 26.0, 33.0)
    for angle in range(30, 390, 30)
)
"""Where a number may stand, from its point: distance in points, direction."""
Extent = Any
"""A bounding box of matplotlib, in pixels."""
_Box = tuple[float, float, float, float]
"""Left, bottom, right, top, in points."""


def _box(x: float, y: float, width: float, height: float) -> _Box:
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def _in_points(extent: Extent, to_points: float) -> _Box:
    return tuple(to_points * float(side) for side in extent.extents)  # pyright: ignore[reportReturnType]


def _overlap(first: _Box, second: _Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


def _contains(outer: _Box, inner: _Box) -> bool:
    return outer[0] <= inner[0] and outer[1] <= inner[1] and inner[2] <= outer[2] and inner[3] <= outer[3]


def _named(rooflines: Rooflines) -> list[tuple[int, PlacedKernel]]:
    return list(_placed(rooflines))[:_NAMED]


def _legend(figure: Figure, axis: Axes, rooflines: Rooflines) -> None:
    """What the colours are, then which kernel has which number."""
    handles = [
        axis.plot([], [], color=COLOURS[index], linewidth=1.8, label=machine.precision.value)[0]
        for index, machine in enumerate(rooflines.machines)
    ]
    if any(machine.energies is not None and machine.energies.is_capped for machine in rooflines.machines):
        handles += axis.plot(
            [], [], color=_GREY, linewidth=1, linestyle=_DASHED, label="if nothing throttled"
        )
    placed, named = list(_placed(rooflines)), _named(rooflines)
    for number, kernel in named:
        assert kernel.machine is not None
        index = rooflines.machines.index(kernel.machine)
        label = f"{number} {tail(printable(kernel.name), 24)}"
        handles += axis.plot(
            [], [], marker=_MARKERS[index], color=COLOURS[index], linestyle="none", markersize=5, label=label
        )
    if len(placed) > len(named):
        handles += axis.plot(
            [], [], linestyle="none", label=f"and {len(placed) - len(named)} more, see the table"
        )
    figure.legend(handles=handles, loc="outside right upper", fontsize=7.5)


def _title(figure: Figure, rooflines: Rooflines) -> None:
    first = rooflines.machines[0]
    figure.suptitle(f"{first.name} · coefficients: {first.source}", x=0.01, ha="left", fontsize=10)


def _fraction(value: float, _position: object = None) -> str:
    """1/4, 1/2, 1, 2: intensities below one as people write them."""
    return plain(value) if value >= 1.0 else f"1/{1.0 / value:g}"
