"""`python -m wattslice_tools.public_sets.features_command`: features of public kernels whose power was
measured."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import run_command
from wattslice.commands.output import CONTEXT, message, write_result
from wattslice.commands.table import FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice_corpora.records import MeasuredRow, Recipes

_PATH = click.Path(path_type=Path)


@click.command(context_settings=CONTEXT)
@click.option(
    "--sources", type=_PATH, required=True, metavar="DIR", help="Git checkout of the kernels' repository."
)
@click.option(
    "--recipes",
    "wanted",
    metavar="NAME|FILE",
    help="How its programs were run.  [default: the recipes whose files DIR holds]",
)
@click.option("--gpu", "gpu_id", metavar="ID", help="GPU that the programs were measured on.")
@click.option(
    "--runs", type=_PATH, metavar="CSV", help="Measured runs.  [default: those of the GPU's data sets]"
)
@click.option(
    "--slices", is_flag=True, help="The table of slices.  [default: that of instructions and bytes]"
)
@click.option("-o", "output", type=_PATH, metavar="FILE", help="Write the table here.  [default: stdout]")
def features(
    sources: Path,
    wanted: str | None,
    gpu_id: str | None,
    runs: Path | None,
    slices: bool,
    output: Path | None,
) -> int:
    """Our features of public kernels whose power was measured, from a checkout of their sources.

    A recipe file tells how each program of the repository was run; the runs come from the tables of measured
    kernels. What could not be analysed, and why, is told on stderr and in the table's comments.
    """
    from wattslice.config.gpu_choice import known_gpu
    from wattslice_corpora.records import RecordError
    from wattslice_models.gpu import load_gpu
    from wattslice_tools.public_sets.checkout import find_recipes, public_features

    if not sources.is_dir():
        raise WattsliceError("is no folder", path=sources, remedy="clone the repository of the kernels")
    try:
        recipes = find_recipes(sources, wanted)
        chosen, measured = _runs(recipes, gpu_id, runs)
        found = public_features(sources, recipes, measured, load_gpu(known_gpu(chosen)))
    except RecordError as error:
        raise WattsliceError(str(error)) from None
    except OSError as error:
        raise WattsliceError(f"{error.filename}: cannot be read: {error.strerror}") from None
    for entry in found.features.left_out:
        message(f"without features: {', '.join(entry.runs)}: {entry.reason}")
    table = found.slices if slices else found.workloads
    write_result(lambda file: click.echo(table, file, nl=False), output)
    return FINE


def _runs(recipes: Recipes, gpu_id: str | None, runs: Path | None) -> tuple[str, tuple[MeasuredRow, ...]]:
    from wattslice_corpora.records import measured_gpu_ids, read_measurements
    from wattslice_tools.public_sets.checkout import gpus_of, runs_of

    measured_on = gpus_of(recipes)
    if gpu_id is None:
        if len(measured_on) != 1:
            remedy = (
                f"choose with --gpu: {', '.join(measured_on)}"
                if measured_on
                else "--gpu and --runs say which"
            )
            raise WattsliceError(
                f"these programs were not measured on one GPU but on {len(measured_on)}", remedy=remedy
            )
        (gpu_id,) = measured_on
    if runs is not None:
        return gpu_id, read_measurements(runs)
    if gpu_id not in measured_gpu_ids() or not runs_of(recipes, gpu_id):
        remedy = (
            f"--gpu: {', '.join(measured_on)}; or give the runs with --runs"
            if measured_on
            else "give them with --runs"
        )
        raise WattsliceError(
            f"no measured runs of the recipes {recipes.path.name} on {gpu_id!r}", remedy=remedy
        )
    return gpu_id, runs_of(recipes, gpu_id)


def main(arguments: list[str]) -> int:
    """Run the command; its exit status."""
    return run_command(features, "python -m wattslice_tools.public_sets.features_command", arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
