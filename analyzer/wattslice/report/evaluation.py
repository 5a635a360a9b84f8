"""What `wattslice evaluate` shows: one line a predictor, and pictures of measured against predicted watts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wattslice.report.model_plots import Panel, plot_measured_against_predicted
from wattslice.report.pictures import check
from wattslice.training.evaluation import GpuEvaluation, Score
from wattslice_models.learners import MEANS


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


def plot_evaluations(found: Sequence[GpuEvaluation], folder: Path) -> dict[str, Path]:
    """Draw measured against predicted watts of every GPU, by its first protocol: picture by GPU id.

    Raises `NoPlotsError` without matplotlib, and ``OSError``.
    """
    pictures: dict[str, Path] = {}
    check()
    folder.mkdir(parents=True, exist_ok=True)
    for entry in found:
        first = entry.protocols[0]
        panels = [Panel(score.title, score.predicted) for score in first.scores if score.judgement.errors]
        path = folder / f"{entry.gpu.id}.svg"
        plot_measured_against_predicted(panels, f"{entry.gpu.name}: {first.title}", path)
        pictures[entry.gpu.id] = path
    return pictures
