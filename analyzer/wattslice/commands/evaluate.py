"""`wattslice evaluate`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import CONTEXT, message, write_result
from wattslice.commands.progress import progress
from wattslice.commands.table import FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.training.evaluation import GpuEvaluation, Request

_PATH = click.Path(path_type=Path)


@click.command(context_settings=CONTEXT)
@click.option(
    "--gpu",
    "gpu_ids",
    multiple=True,
    metavar="ID|FILE",
    help="Only this GPU. Repeatable.  [default: all that were measured]",
)
@click.option(
    "--model", "names", multiple=True, metavar="NAME", help="Only this model. Repeatable.  [default: all]"
)
@click.option(
    "--data", "file", type=_PATH, metavar="FILE", help="Measured runs.  [default: those that come along]"
)
@click.option("--trained-only", is_flag=True, help="Only models trained before: no leaving out, seconds.")
@click.option(
    "--document", type=_PATH, metavar="FILE", help="Renew its generated sections (docs/appendix/accuracy.md)."
)
@click.option("--plots", type=_PATH, metavar="DIR", help="Pictures.  [default: plots beside the document]")
@click.option("--seed", default=0, metavar="N", help="Of everything random.  [default: 0]")
def evaluate(
    gpu_ids: tuple[str, ...],
    names: tuple[str, ...],
    file: Path | None,
    trained_only: bool,
    document: Path | None,
    plots: Path | None,
    seed: int,
) -> int:
    """Compare predicted with measured watts, beside the constant mean and counters.

    Models trained before are asked about applications that they never saw; then models are trained anew
    without each application in turn. Needs more packages: pip install 'wattslice[train,report]'.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.training.evaluation import Request
    from wattslice_corpora.records import RecordError, measured_gpu_ids
    from wattslice_models.gpu import load_gpu
    from wattslice_models.learners import NAMES, MissingPackageError
    from wattslice_models.store import ModelFileError
    from wattslice_tools.accuracy.accuracy_page import check_document, summary_lines, update

    for name in names:
        if name not in NAMES:
            raise click.UsageError(f"--model: no model {name!r}; one of {', '.join(NAMES)}")
    if file is not None and len(gpu_ids) != 1:
        raise click.UsageError("--data is for one --gpu")
    if document is not None and not document.is_file():
        raise WattsliceError("no such document", path=document, remedy="choose another --document")
    chosen = tuple(dict.fromkeys(known_gpu(gpu_id) for gpu_id in gpu_ids)) or measured_gpu_ids()
    requests = [
        Request(load_gpu(gpu_id), names or NAMES, file, retrain=not trained_only, seed=seed)
        for gpu_id in chosen
    ]
    try:
        if document is not None:
            check_document(document, [request.gpu.id for request in requests])
        found = _evaluate(requests, optional=not gpu_ids)
        folder = plots or (document.parent / "plots" if document is not None else None)
        pictures = {} if folder is None else _plot(found, folder)
        if document is not None:
            update(document, found, pictures)
    except (RecordError, MissingPackageError, ModelFileError) as error:
        raise WattsliceError(str(error)) from None
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else None
        raise WattsliceError(error.strerror or str(error), path=path, remedy="check the path") from None
    head = f"{'':44} {'MAPE':>6} {'median':>6} {'worst':>7} {'rank':>5} {'in 90 %':>7}"
    text = "\n".join((head, *summary_lines(found)))
    write_result(lambda stream: click.echo(text, stream), None)
    return FINE


def _evaluate(requests: list[Request], *, optional: bool) -> list[GpuEvaluation]:
    from wattslice.training.evaluation import evaluate as judged

    found: list[GpuEvaluation] = []
    with progress(None) as tell:
        for request in requests:
            try:
                found.append(judged(request, tell))
            except WattsliceError as error:
                if not optional or len(requests) == 1:
                    raise
                message(str(error))
    return found


def _plot(found: list[GpuEvaluation], folder: Path) -> dict[str, Path]:
    """Measured against predicted for every GPU, by the first protocol; nothing without matplotlib."""
    from wattslice.report.model_plots import Panel, plot_measured_against_predicted
    from wattslice.report.pictures import NoPlotsError, check

    pictures: dict[str, Path] = {}
    for entry in found:
        first = entry.protocols[0]
        panels = [Panel(score.title, score.predicted) for score in first.scores if score.judgement.errors]
        path = folder / f"{entry.gpu.id}.svg"
        try:
            check()
            folder.mkdir(parents=True, exist_ok=True)
            plot_measured_against_predicted(panels, f"{entry.gpu.name}: {first.title}", path)
        except NoPlotsError as error:
            message(f"no pictures: {error}")
            return pictures
        pictures[entry.gpu.id] = path
    return pictures
