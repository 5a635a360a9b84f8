"""Seconds and joules of all variants of a sweep, with those that no other beats. Needs matplotlib."""

from __future__ import annotations

from pathlib import Path

from wattslice.report.pictures import COLOURS, MANY_POINTS, Axes, Figure, plain, save_picture
from wattslice.sweep.run import Outcome, PredictedVariant, Sweep
from wattslice.units import printable

_INCHES = (7.2, 4.6)
_MOST_NAMED = 6
"""Variants whose macros stand in the legend: more have no room."""
_SPREAD = 8.0
"""From this ratio of the largest to the least amount on, both axes are logarithmic."""


def draw_sweep(sweep: Sweep, *paths: Path) -> None:
    """Draw it. Raises ``NoPlotsError`` without matplotlib, ``OSError`` where a path cannot be written."""

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import LogLocator

        axis: Axes = figure.subplots()
        known = [one for one in sweep.variants if one.outcome is Outcome.PREDICTED]
        best = sweep.pareto()
        scale_s, unit = _unit(max((one.time_s or 0.0 for one in known), default=0.0), "s")
        scale_j, unit_j = _unit(max((one.energy_j or 0.0 for one in known), default=0.0), "J")

        def places(some: list[PredictedVariant]) -> tuple[list[float], list[float]]:
            return [scale_s * (one.time_s or 0.0) for one in some], [
                scale_j * (one.energy_j or 0.0) for one in some
            ]

        x, y = places(known)
        axis.scatter(
            x, y, s=14, color=COLOURS[0], alpha=0.55, linewidths=0, rasterized=len(known) > MANY_POINTS
        )
        x, y = places(list(best))
        axis.step(x, y, where="post", color=COLOURS[1], linewidth=1.0)
        names = _varying(sweep)
        for number, one in enumerate(best):
            macros = " ".join(f"{name}={value}" for name, value in one.macros if name in names)
            label = printable(macros) if number < _MOST_NAMED else None
            marker = "osD^vP"[number % 6]
            axis.plot(*([value] for value in (x[number], y[number])), marker, color=COLOURS[1], label=label)
        if known and any(max(values) > _SPREAD * min(values) for values in places(known)):
            for scale, ticks in ((axis.set_xscale, axis.xaxis), (axis.set_yscale, axis.yaxis)):
                scale("log")
                ticks.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
                ticks.set_major_formatter(plain)
            axis.minorticks_off()
        axis.set_xlabel(f"predicted time, {unit}")
        axis.set_ylabel(f"predicted energy, {unit_j}")
        if best:
            more = f", {len(best) - _MOST_NAMED} more" if len(best) > _MOST_NAMED else ""
            axis.legend(title=f"beaten by no other{more}", title_fontsize=8, loc="best")

    title = f"{printable(Path(sweep.file).name)} on the {sweep.gpu_name}: {len(sweep.variants)} variants"
    save_picture(draw, _INCHES, paths, title)


def _varying(sweep: Sweep) -> set[str]:
    values: dict[str, set[str]] = {}
    for one in sweep.variants:
        for name, value in one.macros:
            values.setdefault(name, set()).add(value)
    return {name for name, found in values.items() if len(found) > 1}


def _unit(largest: float, unit: str) -> tuple[float, str]:
    for factor, prefix in ((1.0, ""), (1e3, "m"), (1e6, "µ")):
        if largest * factor >= 1.0:
            return factor, prefix + unit
    return 1e9, f"n{unit}"
