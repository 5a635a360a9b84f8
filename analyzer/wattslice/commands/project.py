"""`wattslice project`"""

from __future__ import annotations

from pathlib import Path

import click

from wattslice.commands.output import (
    CONTEXT,
    FILE,
    draw_pictures,
    format_option,
    message,
    pictures_and_report,
    write_result,
)
from wattslice.commands.table import FINDINGS, FINE


@click.command(context_settings=CONTEXT)
@click.argument("workflow_file", type=FILE, metavar="WORKFLOW.TOML")
@format_option("text", "json")
@click.option("--all", "everything", is_flag=True, help="All configurations, not only the Pareto front.")
@click.option(
    "-o",
    "outputs",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="A .svg or .png: draw time against energy there. Else: write the report there. Repeatable.",
)
def project(workflow_file: Path, report_format: str, everything: bool, outputs: tuple[Path, ...]) -> int:
    """Project a workflow of kernels onto CPU and GPU nodes: time-to-solution against energy-to-solution.

    The file names steps, components, node kinds and network; docs/project.md tells how. The exit status is 1
    when no configuration is best: none keeps the file's limits, or the energy of none is known.
    """
    from wattslice.projection.reader import read_workflow

    pictures, output = pictures_and_report(outputs)
    workflow = read_workflow(workflow_file)
    from wattslice.projection.projection import project_workflow  # numpy loads here
    from wattslice.report.projection import projection_json, why_none, write_projection
    from wattslice_models.pareto import Objective

    projection = project_workflow(workflow)
    if pictures:
        from wattslice.report.projection_picture import plot_projection

        draw_pictures(lambda *paths: plot_projection(projection, *paths), pictures)
    if report_format == "json":
        write_result(projection_json(projection, everything), output)
    else:
        write_result(lambda file: write_projection(projection, everything, file), output)
    if projection.chosen is None:
        energy_needed = workflow.objective is not Objective.TIME
        other = (
            ' (objective = "least-time" needs none)'
            if energy_needed and projection.within_limits.any()
            else ""
        )
        message(f"no best configuration: {why_none(projection, energy_needed=energy_needed)}{other}")
        return FINDINGS
    return FINE
