"""`wattslice roofline [PATH...]`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.analyze import no_kernels
from wattslice.commands.common import analyzed, configured, options_from, options_of_perhaps_an_analysis
from wattslice.commands.output import (
    CONTEXT,
    FILE,
    check_pictures,
    draw_pictures,
    format_option,
    message,
    write_result,
)
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.config.config import Options
    from wattslice.roofline.kernels import Rooflines

_OF_RUNS = ("paths", "jobs", "backend", "scheduler", "cache", "no_cache")
"""Parameters that say how files are analysed, not what the roofs are: of no harm where there is no file."""
_OF_ROOFS = ("gpu", "core_clock_mhz", "memory_clock_mhz")


@click.command(context_settings=CONTEXT)
@options_of_perhaps_an_analysis
@click.option(
    "--precision",
    type=click.Choice(("fp32", "fp64", "fp16", "tensor")),
    metavar="NAME",
    help="Only these roofs: fp32, fp64, fp16 or tensor.  [default: the kernels']",
)
@click.option(
    "--coefficients",
    type=click.Choice(("auto", "fitted", "published", "model", "none")),
    default="auto",
    metavar="NAME",
    help="Where the energies come from: auto, fitted, published, model or none.  [default: auto]",
)
@format_option("text", "json")
@click.option(
    "-o",
    "pictures",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Draw them there, too: .svg or .png. Repeatable.",
)
def roofline(
    precision: str | None, coefficients: str, report_format: str, pictures: tuple[Path, ...], **values: object
) -> int:
    """Show the time, energy and power rooflines of a GPU (Choi et al. 2013), with kernels on them.

    Without PATH the roofs alone. --gpu also takes i7-950, the processor of the paper.
    """
    check_pictures(pictures)
    options = options_from(values)
    if not options.paths:
        _refuse(values, _OF_ROOFS, "about kernels", "give a file, or leave it out")
    shown, status = _rooflines(options, values, precision, coefficients)
    if pictures:
        from wattslice.report.roofline_picture import draw_rooflines

        draw_pictures(lambda *paths: draw_rooflines(shown, *paths), pictures)
    from wattslice.report.roofline_tables import render_json, write_tables

    write_result(render_json(shown) if report_format == "json" else lambda file: write_tables(shown, file))
    return status


def _refuse(values: dict[str, object], known: tuple[str, ...], about: str, remedy: str) -> None:
    """Raises `WattsliceError` for an analysis option that was given and would do nothing here."""
    named = {one.name: max(one.opts, key=len) for one in roofline.params}
    for name, value in values.items():
        if name not in (*_OF_RUNS, *known) and value not in (None, (), False):
            raise WattsliceError(f"{named[name]} is {about}", remedy=remedy)


def _rooflines(
    options: Options, values: dict[str, object], precision: str | None, coefficients: str
) -> tuple[Rooflines, int]:
    """What to show, and the exit status: files without any kernel, or unread ones, are a failure."""
    from wattslice.analysis import Precision
    from wattslice.config.settings import find_settings
    from wattslice.findings.findings import unread_files
    from wattslice.roofline.kernels import rooflines_of_gpu, rooflines_of_published
    from wattslice.roofline.machines import Coefficients, is_published_only

    wanted = Coefficients(coefficients)
    only = None if precision is None else Precision[precision.upper()]
    if options.gpu is not None and is_published_only(options.gpu):
        if options.paths:
            raise WattsliceError(
                f"{options.gpu} is a processor: no kernel can be placed on it",
                remedy="leave the files out, or name a GPU",
            )
        about = "about GPUs of the catalogue"
        _refuse(values, ("gpu",), about, f"leave it out: {options.gpu} is known as published only")
        if wanted not in (Coefficients.AUTO, Coefficients.PUBLISHED):
            raise WattsliceError(
                f"--coefficients {wanted.value}: {options.gpu} is known as published only",
                remedy="leave the option out",
            )
        return rooflines_of_published(options.gpu, only), FINE
    # Without files the settings of the current folder hold.
    config = configured(options, settings=None if options.paths else find_settings((Path(),)))
    rooflines_of_gpu(config, wanted, only, None)  # what is wrong with the options comes before the analysis
    analysis = analyzed(config) if config.files else None
    shown = rooflines_of_gpu(config, wanted, only, analysis)
    if analysis is None:
        return shown, FINE
    if not analysis.kernels:
        message(no_kernels(analysis))
        return shown, FAILED
    if unread := unread_files(analysis):
        message(f"no result for {', '.join(unread)}: `wattslice analyze` tells why")
        return shown, FAILED
    return shown, FINE
