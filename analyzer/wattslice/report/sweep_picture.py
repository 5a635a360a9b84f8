"""Seconds and joules of all variants of a sweep, with those that no other beats. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wattslice.report.data_words import data_words
from wattslice.report.pictures import (
    COLOURS,
    MANY_POINTS,
    Axes,
    Figure,
    save_picture,
    scale_seconds_and_joules,
)
from wattslice.sweep.run import Outcome, PredictedVariant, Sweep
from wattslice.units import printable

_INCHES = (7.2, 4.6)
_MOST_NAMED = 6
"""Variants whose macros stand in the legend: more have no room."""


def draw_sweep(sweep: Sweep, *paths: Path) -> None:
    """Draw it. Raises ``NoPlotsError`` without matplotlib, ``OSError`` where a path cannot be written."""

    def draw(figure: Figure) -> None:
        axis: Axes = figure.subplots()
        known = [one for one in sweep.variants if one.outcome is Outcome.PREDICTED]
        best = sweep.pareto()
        x, y = _places(known)
        scale_seconds_and_joules(axis, x, y)
        axis.scatter(
            x, y, s=14, color=COLOURS[0], alpha=0.55, linewidths=0, rasterized=len(known) > MANY_POINTS
        )
        x, y = _places(best)
        axis.step(x, y, where="post", color=COLOURS[1], linewidth=1.0)
        names = _varying(sweep)
        for number, one in enumerate(best):
            macros = " ".join(f"{name}={value}" for name, value in one.macros if name in names)
            label = printable(macros) if number < _MOST_NAMED else None
            marker = "osD^vP"[number % 6]
            axis.plot(*([value] for value in (x[number], y[number])), marker, color=COLOURS[1], label=label)
        axis.set_xlabel("predicted time")
        axis.set_ylabel("predicted energy")
        if best:
            more = f", {len(best) - _MOST_NAMED} more" if len(best) > _MOST_NAMED else ""
            axis.legend(title=f"beaten by no other{more}", title_fontsize=8, loc="best")

    title = f"{printable(Path(sweep.file).name)} on the {sweep.gpu_name}: {len(sweep.variants)} variants"
    launches = [launch for variant in sweep.variants for launch in variant.launches]
    title = ", ".join(filter(None, (title, data_words(launches, named=False))))
    save_picture(draw, _INCHES, paths, title)


def _places(some: Sequence[PredictedVariant]) -> tuple[list[float], list[float]]:
    return [one.time_s or 0.0 for one in some], [one.energy_j or 0.0 for one in some]


def _varying(sweep: Sweep) -> set[str]:
    values: dict[str, set[str]] = {}
    for one in sweep.variants:
        for name, value in one.macros:
            values.setdefault(name, set()).add(value)
    return {name for name, found in values.items() if len(found) > 1}
