"""What `train` and `evaluate` show of models.

A line for each predictor; as pictures, measured against predicted watts, residuals and learning curves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from wattslice.report.pictures import COLOURS, DASHED, MANY_POINTS, Axes, Figure, check, plain, save_picture
from wattslice.training.evaluation import GpuEvaluation, Score
from wattslice.training.training import TrainedEntry
from wattslice_models.cross_validation import HeldOut
from wattslice_models.learners import MEANS

Coordinate = Callable[[HeldOut], float]

_PANEL_INCHES = 2.8
_COLUMNS = 3
_LEAST_WIDTH_INCHES = 6.5
_RATIOS = (0.25, 0.33, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0)


class Panel(Struct, frozen=True):
    """Predictions of one model."""

    title: str
    held_out: tuple[HeldOut, ...]


def plot_measured_against_predicted(models: Sequence[Panel], title: str, *paths: Path) -> None:
    """One panel a model: a point a run, on the diagonal when right; dashed where it is off by 20 %."""

    def draw(figure: Figure) -> None:
        entries = [entry for one in models for entry in one.held_out]
        top_w = 1.08 * max(max(_measured_w(entry), _predicted_w(entry)) for entry in entries)
        axes, groups = _axes(figure, len(models), sharex=True), _groups(models)
        for axis, one in zip(axes, models, strict=True):
            axis.axline((0, 0), slope=1, color="#555555", linewidth=1)
            for slope in (0.8, 1.2):
                axis.axline((0, 0), slope=slope, color="#999999", linewidth=0.8, linestyle=DASHED)
            _scatter(axis, one.held_out, groups, _measured_w, _predicted_w)
            axis.set_title(one.title)
            axis.set_xlim(0, top_w)
            axis.set_ylim(0, top_w)
            axis.set_aspect("equal")
        figure.supxlabel("measured, W", fontsize=9)
        figure.supylabel("predicted, W", fontsize=9)
        _legend(figure, axes[-1], groups)

    save_picture(draw, _inches(models), paths, title)


def plot_residuals(models: Sequence[Panel], title: str, *paths: Path) -> None:
    """One panel a model: measured / predicted over the predicted watts, each run held out of the training."""
    check()
    from matplotlib.ticker import FixedLocator

    def draw(figure: Figure) -> None:
        axes, groups = _axes(figure, len(models), sharex=False), _groups(models)
        for axis, one in zip(axes, models, strict=True):
            axis.axhline(1.0, color="#555555", linewidth=1)
            _scatter(axis, one.held_out, groups, _predicted_w, _ratio)
            axis.set_yscale("log", base=2)
            axis.yaxis.set_major_locator(FixedLocator(_RATIOS))
            axis.yaxis.set_major_formatter(plain)
            axis.set_title(one.title)
        figure.supxlabel("predicted, W", fontsize=9)
        figure.supylabel("measured / predicted", fontsize=9)
        _legend(figure, axes[-1], groups)

    save_picture(draw, _inches(models), paths, title)


def plot_learning_curves(models: Sequence[TrainedEntry], title: str, *paths: Path) -> None:
    """Error of held-out benchmarks over the number of kernels learnt from."""

    def draw(figure: Figure) -> None:
        axis = figure.subplots()
        for number, one in enumerate(models):
            axis.plot(
                [point.kernels for point in one.curve],
                [100 * point.error for point in one.curve],
                marker="o",
                markersize=4,
                color=COLOURS[number % len(COLOURS)],
                label=one.entry.title,
            )
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(plain)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("kernels learnt from")
        axis.set_ylabel("mean error of held-out runs, %")
        figure.legend(loc="outside right center")

    save_picture(draw, (7.2, 3.6), paths, title)


def _axes(figure: Figure, number: int, *, sharex: bool) -> list[Axes]:
    """So many panels in rows of `_COLUMNS`; places left over stay empty."""
    rows = -(-number // _COLUMNS)
    grid = figure.subplots(rows, min(number, _COLUMNS), sharex=sharex, sharey=True, squeeze=False)
    axes = [axis for row in grid for axis in row]
    for unused in axes[number:]:
        unused.set_axis_off()
    return axes[:number]


def _inches(models: Sequence[Panel]) -> tuple[float, float]:
    """Width and height of a figure of these panels, with room for a legend where there is one."""
    rows = -(-len(models) // _COLUMNS)
    legend = 1.9 if _groups(models) else 0.4
    width = _PANEL_INCHES * min(len(models), _COLUMNS) + legend
    return max(_LEAST_WIDTH_INCHES, width), _PANEL_INCHES * rows + 0.6


def _groups(models: Sequence[Panel]) -> tuple[str, ...]:
    """Benchmarks to tell apart by colour; none when there are too many for that."""
    benchmarks = tuple(dict.fromkeys(entry.example.benchmark for one in models for entry in one.held_out))
    return benchmarks if len(benchmarks) <= len(COLOURS) else ()


def _measured_w(entry: HeldOut) -> float:
    return entry.example.power_w


def _predicted_w(entry: HeldOut) -> float:
    return entry.prediction.power_w or 0.0


def _ratio(entry: HeldOut) -> float:
    return entry.ratio or 1.0


def _scatter(
    axis: Axes, entries: Sequence[HeldOut], groups: tuple[str, ...], x: Coordinate, y: Coordinate
) -> None:
    for number, group in enumerate(groups or ("",)):
        here = [
            entry
            for entry in entries
            if entry.ratio is not None and (not groups or entry.example.benchmark == group)
        ]
        axis.scatter(
            [x(entry) for entry in here],
            [y(entry) for entry in here],
            s=10,
            linewidths=0,
            alpha=0.6,
            color=COLOURS[number],
            rasterized=len(entries) > MANY_POINTS,
        )


def _legend(figure: Figure, axis: Axes, groups: tuple[str, ...]) -> None:
    if groups:
        handles = [
            axis.scatter([], [], s=18, linewidths=0, color=COLOURS[number], label=group)
            for number, group in enumerate(groups)
        ]
        figure.legend(handles=handles, loc="outside right upper")


def rank(score: Score) -> tuple[bool, bool, float]:
    """The mean first, then what needs the source only, best first, then what needs a run."""
    error = score.judgement.errors
    return score.name not in MEANS, not score.source_only, error.mean if error else float("inf")


def summary_lines(evaluations: Sequence[GpuEvaluation]) -> list[str]:
    """One line for every predictor of every protocol, for a terminal: title, error, rank correlation."""
    lines: list[str] = []
    for found in evaluations:
        for protocol in found.protocols:
            lines.append(f"{found.gpu.name} · {protocol.title}")
            if not protocol.is_test:
                lines.append(f"  {protocol.explanation}")
            for score in sorted(protocol.scores, key=rank):
                error = score.judgement.errors
                if error is None:
                    lines.append(f"  {score.title:42} nothing predicted")
                    continue
                spearman = "    –" if error.spearman is None else f"{error.spearman:5.2f}"
                coverage = "    –" if score.judgement.coverage is None else f"{score.judgement.coverage:5.0%}"
                told = f"  loses to the {' and the '.join(score.loses_to)}" if score.loses_to else ""
                lines.append(
                    f"  {score.title:42} {error.mean:6.1%} {error.median:6.1%} {error.worst:7.1%} {spearman} "
                    f"{coverage}{told}"
                )
            lines += [f"  {reason}" for reason in protocol.absent]
            lines.append("")
    return lines
