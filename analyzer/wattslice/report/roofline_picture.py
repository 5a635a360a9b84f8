"""The rooflines as a picture, with numbered kernels. Needs matplotlib."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from wattslice.report.label_places import Box, free_offsets
from wattslice.report.pictures import COLOURS, Axes, Figure, save_picture
from wattslice.report.printable import printable, tail
from wattslice.report.roofline_panels import DASHED, GREY, PANELS, Panel, draw_lines, intensities, placed
from wattslice.roofline.kernels import PlacedKernel, Rooflines

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
    figure.suptitle(words, x=0.01, ha="left", fontsize=10)
