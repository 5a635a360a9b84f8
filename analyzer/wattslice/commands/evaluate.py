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
    "--plots", type=_PATH, metavar="DIR", help="Draw measured against predicted watts of every GPU into DIR."
)
@click.option("--seed", default=0, metavar="N", help="Of everything random.  [default: 0]")
def evaluate(
    gpu_ids: tuple[str, ...],
    names: tuple[str, ...],
    file: Path | None,
    trained_only: bool,
    plots: Path | None,
    seed: int,
) -> int:
    """Compare predicted with measured watts, beside the constant mean and counters.

    Models trained before are asked about applications that they never saw; then models are trained anew
    without each application in turn. Needs more packages: pip install 'wattslice[train,report]'.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.report.evaluation import plot_evaluations, summary_lines
    from wattslice.report.pictures import NoPlotsError, check
    from wattslice.training.evaluation import Request
    from wattslice_corpora.records import RecordError, measured_gpu_ids
    from wattslice_models.gpu import load_gpu
    from wattslice_models.learners import NAMES, MissingPackageError
    from wattslice_models.store import ModelFileError

    for name in names:
        if name not in NAMES:
            raise click.UsageError(f"--model: no model {name!r}; one of {', '.join(NAMES)}")
    if file is not None and len(gpu_ids) != 1:
        raise click.UsageError("--data is for one --gpu")
    chosen = tuple(dict.fromkeys(known_gpu(gpu_id) for gpu_id in gpu_ids)) or measured_gpu_ids()
    requests = [
        Request(load_gpu(gpu_id), names or NAMES, file, retrain=not trained_only, seed=seed)
        for gpu_id in chosen
    ]
    try:
        if plots is not None:
            check()
        found = _evaluate(requests, optional=not gpu_ids)
        if plots is not None:
            plot_evaluations(found, plots)
    except (RecordError, MissingPackageError, ModelFileError, NoPlotsError) as error:
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
