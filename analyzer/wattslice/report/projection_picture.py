"""Time-to-solution against energy-to-solution of all configurations, as in ESCAPE D3.5, Figures 28 to 30."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wattslice.projection.projection import ProjectedComponent, Projection
from wattslice.report.pictures import (
    COLOURS,
    MANY_POINTS,
    Axes,
    Figure,
    save_picture,
    scale_seconds_and_joules,
)
from wattslice.units import energy, time

_MARKERS = "os^DvPX*"
_Inside = Literal["cores", "gpus"]
_INSIDE: tuple[tuple[_Inside, str], ...] = (("cores", "cores"), ("gpus", "GPUs"))


def plot_projection(projection: Projection, *paths: Path) -> None:
    """A point a configuration, labelled with node counts, the Pareto front joined and the best marked.

    Colours are the node kinds of the first component, forms those of the others. Configurations of unknown
    energy are not drawn; the title tells how many.

    Raises `NoPlotsError`, and ``OSError`` where a file cannot be written.
    """
    outcomes = projection.outcomes
    drawn = np.flatnonzero(np.isfinite(outcomes.energy_j))
    groups = _groups(projection)

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        if not drawn.size:
            axis.text(0.5, 0.5, "no energy is known", ha="center", transform=axis.transAxes)
        _points(axis, projection, drawn, groups)
        _front(axis, projection)
        front = list(projection.front)
        ends_j = [outcomes.energy_j[drawn], outcomes.energy_low_j[front], outcomes.energy_high_j[front]]
        scale_seconds_and_joules(axis, outcomes.time_s[drawn].tolist(), np.concatenate(ends_j).tolist())
        _labels(axis, projection, drawn)
        axis.set_xlabel("time-to-solution")
        axis.set_ylabel("energy-to-solution")
        unknown = len(outcomes) - drawn.size
        left_out = f" ({unknown} of unknown energy not drawn)" if unknown else ""
        if drawn.size:
            figure.legend(loc="outside right upper")
        names = " + ".join(
            f"{component.component.name}{_beside_nodes(component)}" for component in _counted(projection)
        )
        axis.set_title(
            f"numbers: nodes of {names or 'each component: 1'}{left_out}", fontsize=8, fontweight="normal"
        )

    save_picture(draw, (8.4, 4.8), paths, projection.workflow.name)


def _groups(projection: Projection) -> NDArray[np.int64]:
    """For each configuration and component, the number of its node kind: (c, k)."""
    kinds = [node.name for node in projection.workflow.nodes]
    columns: list[NDArray[np.int64]] = []
    for number, component in enumerate(projection.components):
        of_runs = np.repeat([kinds.index(way.node) for way in component.ways], component.runs_per_way)
        columns.append(of_runs[projection.outcomes.choice[:, number]])
    return np.stack(columns, axis=1)


def _points(axis: Axes, projection: Projection, drawn: NDArray[np.int64], groups: NDArray[np.int64]) -> None:
    outcomes = projection.outcomes
    kinds = [node.name for node in projection.workflow.nodes]
    found = np.unique(groups[drawn], axis=0) if drawn.size else groups[:0]
    colours = sorted({int(group[0]) for group in found})
    markers = sorted({tuple(group[1:].tolist()) for group in found})
    for group in found:
        here = drawn[(groups[drawn] == group).all(axis=1)]
        inside = projection.within_limits[here]
        colour = COLOURS[colours.index(int(group[0])) % len(COLOURS)]
        marker = _MARKERS[markers.index(tuple(group[1:].tolist())) % len(_MARKERS)]
        for chosen, alpha in ((inside, 0.85), (~inside, 0.2)):
            axis.scatter(
                outcomes.time_s[here[chosen]],
                outcomes.energy_j[here[chosen]],
                s=22 if drawn.size <= MANY_POINTS else 8,
                marker=marker,
                linewidths=0,
                alpha=alpha,
                color=colour,
                rasterized=drawn.size > MANY_POINTS,
            )
        label = " + ".join(dict.fromkeys(kinds[int(kind)] for kind in group))
        label = label if not label.startswith("_") else f" {label}"  # a legend leaves those out
        axis.scatter([], [], s=22, marker=marker, linewidths=0, color=colour, label=label)
    if not projection.within_limits[drawn].all():
        axis.scatter(
            [], [], s=22, linewidths=0, color="#bbbbbb", alpha=0.4, label="pale: not within the limits"
        )


def _front(axis: Axes, projection: Projection) -> None:
    outcomes, front = projection.outcomes, list(projection.front)
    if front:
        axis.plot(
            outcomes.time_s[front],
            outcomes.energy_j[front],
            color="#222222",
            linewidth=1,
            label="Pareto front" + (" within the limits" if projection.has_limits else ""),
            zorder=1.5,
        )
        low_j, high_j = outcomes.energy_low_j[front], outcomes.energy_high_j[front]
        if (low_j < high_j).any():
            axis.vlines(
                outcomes.time_s[front],
                low_j,
                high_j,
                color="#222222",
                linewidth=0.6,
                alpha=0.6,
                label="interval of energy",
                zorder=1.4,
            )
    best = projection.chosen
    if best is not None and np.isfinite(outcomes.energy_j[best]):
        time_s, energy_j = float(outcomes.time_s[best]), float(outcomes.energy_j[best])
        objective = projection.workflow.objective.value.replace("-", " ")
        axis.scatter(
            [time_s],
            [energy_j],
            s=110,
            facecolors="none",
            edgecolors="#222222",
            linewidths=1.4,
            label=f"{objective}:\n{time(time_s)}, {energy(energy_j)}",
            zorder=3,
        )


def _counted(projection: Projection) -> list[ProjectedComponent]:
    """The components whose number of nodes, cores or GPUs differs among configurations."""
    return [component for component in projection.components if _is_counted(component)]


def _is_counted(component: ProjectedComponent) -> bool:
    return component.runs_per_way > 1 or _differ(component, "cores") or _differ(component, "gpus")


def _labels(axis: Axes, projection: Projection, drawn: NDArray[np.int64]) -> None:
    """Node counts beside the points, the best and the front first; none over another."""
    if not drawn.size:
        return
    outcomes, best = projection.outcomes, projection.chosen
    first = [best] if best is not None and best in drawn else []
    rest: list[int] = drawn.tolist() if drawn.size <= MANY_POINTS else []
    to_axes = axis.transData + axis.transAxes.inverted()
    placed: list[tuple[float, float, int]] = []
    for index in dict.fromkeys((*first, *projection.front, *rest)):
        point = (float(outcomes.time_s[index]), float(outcomes.energy_j[index]))
        text = _counts(projection, index)
        x, y = to_axes.transform(point)
        if any(
            abs(x - left) < 0.012 * (1 + max(len(text), length)) and abs(y - low) < 0.035
            for left, low, length in placed
        ):
            continue
        placed.append((x, y, len(text)))
        below = -14 if index == best else -9  # of the ring around the best
        axis.annotate(
            text, point, xytext=(-3, below), textcoords="offset points", fontsize=7, color="#444444"
        )


def _counts(projection: Projection, index: int) -> str:
    """`8`, or `8+1` of several components; `8/4` where a component's cores or GPUs differ as well."""
    counts: list[str] = []
    for component, run in zip(projection.components, projection.outcomes.choice[index].tolist(), strict=True):
        if _is_counted(component):
            way = component.way(run)
            number = way.cores if _differ(component, "cores") and way.cores is not None else None
            if _differ(component, "gpus") and way.gpus is not None:
                number = way.gpus
            inside = "" if number is None else f"/{number}"
            counts.append(f"{component.runs.nodes[run]:.0f}{inside}")
    return "+".join(counts)


def _differ(component: ProjectedComponent, name: _Inside) -> bool:
    return len({getattr(way, name) for way in component.ways} - {None}) > 1


def _beside_nodes(component: ProjectedComponent) -> str:
    """What a label tells beside the number of nodes."""
    told = [word for name, word in _INSIDE if _differ(component, name)]
    return f" / {' or '.join(told)}" if told else ""
