"""`wattslice roofline [PATH...]`"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.analyze import no_kernels
from wattslice.commands.common import analyzed, configured, options_from, options_of_perhaps_an_analysis
from wattslice.commands.output import CONTEXT, FILE, format_option, message, write_result
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.config.config import Options
    from wattslice.roofline.kernels import Rooflines

_PICTURES = (".svg", ".png")
_OF_RUNS = ("paths", "jobs", "backend", "scheduler", "cache", "no_cache")
"""Parameters that say how files are analysed, not what the roofs are: of no harm where there is no file."""
_OF_ROOFS = ("gpu", "core_clock_mhz", "memory_clock_mhz")


@click.command(context_settings=CONTEXT)
@options_of_perhaps_an_analysis
@click.option(
    "--precision",
    metavar="NAME",
    help="Only these roofs: fp32, fp64, fp16 or tensor.  [default: the kernels']",
)
@click.option(
    "--coefficients",
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
    precision: str | None,
    coefficients: str | None,
    report_format: str,
    pictures: tuple[Path, ...],
    **values: object,
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

    if report_format == "json":
        write_result(lambda file: click.echo(render_json(shown), file, nl=False), None)
    else:
        write_result(lambda file: write_tables(shown, file), None)
    return status


def _refuse(values: dict[str, object], known: tuple[str, ...], about: str, remedy: str) -> None:
    """Raises `WattsliceError` for an analysis option that was given and would do nothing here."""
    named = {one.name: max(one.opts, key=len) for one in roofline.params}
    for name, value in values.items():
        if name not in (*_OF_RUNS, *known) and value not in (None, (), False):
            raise WattsliceError(f"{named[name]} is {about}", remedy=remedy)


def draw_pictures(draw: Callable[..., None], pictures: tuple[Path, ...]) -> None:
    """Call `draw` with the paths. Raises `WattsliceError` for one that cannot be written."""
    try:
        draw(*pictures)
    except OSError as error:
        path = Path(error.filename) if isinstance(error.filename, str) else pictures[0]
        reason = error.strerror or str(error)
        raise WattsliceError(f"cannot be written: {reason}", path=path, remedy="choose another -o") from None


def check_pictures(pictures: tuple[Path, ...]) -> None:
    """Raises `WattsliceError` for a path that is no picture, and where pictures cannot be made."""
    for path in pictures:
        if path.suffix.lower() not in _PICTURES:
            raise WattsliceError("no kind of picture", path=path, remedy="a name that ends in .svg or .png")
    if pictures:
        from wattslice.report.pictures import check

        check()


def _rooflines(
    options: Options, values: dict[str, object], precision: str | None, coefficients: str | None
) -> tuple[Rooflines, int]:
    """What to show, and the exit status: files without any kernel, or unread ones, are a failure."""
    from wattslice.config.settings import find_settings
    from wattslice.findings.findings import unread_files
    from wattslice.roofline.kernels import rooflines_of_gpu, rooflines_of_published
    from wattslice.roofline.machines import (
        Coefficients,
        is_published_only,
        parse_coefficients,
        parse_precision,
    )

    wanted = parse_coefficients(coefficients)
    only = None if precision is None else parse_precision(precision)
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
