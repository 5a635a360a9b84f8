"""What several commands share: the options of an analysis, and writing results."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeVar

import click

from wattslice.commands.streams import StdoutError, flush, is_closed, writing
from wattslice.errors import WattsliceError
from wattslice.report.printable import printable

if TYPE_CHECKING:
    from wattslice.analysis import Analysis
    from wattslice.config.config import Config, Options
    from wattslice.findings.findings import Finding

Command = TypeVar("Command", bound=Callable[..., int])
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

_FILE = click.Path(path_type=Path)
_PATHS = click.argument("paths", nargs=-1, required=True, type=_FILE, metavar="PATH...")
_PERHAPS_PATHS = click.argument("paths", nargs=-1, type=_FILE, metavar="[PATH...]")
_ANALYSIS_OPTIONS = (
    click.option("--gpu", metavar="ID", help="GPU to predict for; `wattslice gpus` lists them."),
    click.option("--model", metavar="NAME", help="Power model: auto, regression, wavelet or energy."),
    click.option("--method", metavar="NAME", help="How slices make a program: auto, bspm, bdpm or expected."),
    click.option(
        "--delta", type=float, metavar="P", help="Drop branches less likely than P from a slice (BDPM)."
    ),
    click.option(
        "--dense-from",
        type=float,
        metavar="SHARE",
        help="Branch-dense from this share of statements in dividing branches on.  [default: 0.2]",
    ),
    click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="[KERNEL.]NAME=VALUE",
        help="Value of a parameter, variable or loop (trip_L42=16). Repeatable.",
    ),
    click.option(
        "--launch",
        "launches",
        multiple=True,
        metavar="KERNEL=GRID:BLOCK[:SMEM]",
        help="Launch configuration, e.g. 'mul=64,64:16,16'. Repeatable.",
    ),
    click.option(
        "-I", "include_directories", multiple=True, type=_FILE, metavar="DIR", help="Folder of headers."
    ),
    click.option("-D", "definitions", multiple=True, metavar="NAME[=V]", help="Macro definition."),
    click.option("--std", "language_standard", metavar="STD", help="Language standard, e.g. c++17."),
    click.option(
        "-p",
        "compile_commands_directory",
        type=_FILE,
        metavar="DIR",
        help="Folder of a compile_commands.json.",
    ),
    click.option("--profile", type=_FILE, metavar="FILE", help="Measured branch probabilities (JSON)."),
    click.option("--core-mhz", "core_clock_mhz", type=float, metavar="N", help="Clock of the SMs."),
    click.option(
        "--mem-mhz", "memory_clock_mhz", type=float, metavar="N", help="Clock of the memory (nvidia-smi)."
    ),
    click.option(
        "--jobs",
        type=int,
        metavar="N",
        help="Processes to analyse files with; 0: one per core.  [default: 1]",
    ),
    click.option(
        "--backend", metavar="NAME", help="Who runs the processes: loky, dask or ray.  [default: loky]"
    ),
    click.option("--scheduler", metavar="URL", help="Scheduler of a dask or ray cluster."),
    click.option(
        "--cache", type=_FILE, metavar="DIR", help="Folder of results to use again.  [default: the user's]"
    ),
    click.option("--no-cache", is_flag=True, help="Analyse everything anew and keep nothing."),
)


def analysis_options(command: Command) -> Command:
    """Add PATH... and every option that shapes the analysis itself."""
    return _PATHS(_with_options(command))


def options_of_perhaps_an_analysis(command: Command) -> Command:
    """The same for a command that has something to tell without any file, too."""
    return _PERHAPS_PATHS(_with_options(command))


def _with_options(command: Command) -> Command:
    for decorate in reversed(_ANALYSIS_OPTIONS):
        command = decorate(command)
    return command


def options_from(values: dict[str, object]) -> Options:
    """The values click collected for `analysis_options`, typed."""
    from wattslice.config.config import Options  # not for --help

    return Options(**values)  # pyright: ignore[reportArgumentType]  (click has checked the types)


def config_for(report_format: str, config: Config) -> Config:
    """The configuration with what the format needs of the analysis.

    Raises `WattsliceError` for a format whose packages are missing, before anything is analysed.
    """
    if report_format != "html":
        return config
    from wattslice.report.html.page import check_packages

    check_packages()
    return replace(config, keep_sources=True)


def analyzed(config: Config) -> Analysis:
    """The analysis, with a bar on a terminal while several files are under way."""
    from wattslice.commands.progress import files_progress
    from wattslice.pipeline.files import analyze_files  # numpy and libclang load here, after all checks

    with files_progress(len(config.files)) as done:
        analysis = analyze_files(config, done)
    for complaint in analysis.unmatched_settings:
        message(f"warning: the settings: {complaint}")
    return analysis


def message(text: str) -> None:
    """Tell the user something on stderr, on one line whatever files are called; stdout is for results."""
    click.echo(f"wattslice: {printable(text)}", err=True)


def write_report(
    report_format: str,
    analysis: Analysis,
    findings: tuple[Finding, ...],
    output: Path | None,
    status: int | None = None,
) -> None:
    """Write a result in one of `report.formats.FORMATS`, as `write_result` does; for the rest see `render`.

    The format `github` also appends to the summary of the step, where GitHub names its file.
    """
    from wattslice.report.formats import not_suppressed, render

    if report_format == "text":  # as wide and as coloured as the terminal is
        from wattslice.report.text import write_text

        write_result(lambda file: write_text(analysis, file), output)
        return
    text = render(report_format, analysis, findings, status)
    write_result(lambda file: print(text, end="", file=file), output)
    if report_format == "github":
        _summarize_step(analysis, not_suppressed(findings))


def _summarize_step(analysis: Analysis, findings: tuple[Finding, ...]) -> None:
    """Append to the file that GitHub shows beside the step. It is an extra: a failure is told, no more."""
    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return
    from wattslice.report.ci.github import SUMMARY_BYTES, step_summary

    path = Path(name)
    try:
        taken = path.stat().st_size if path.exists() else 0
        summary = step_summary(analysis, findings, SUMMARY_BYTES - taken)
        with path.open("a", encoding="utf-8") as file:
            file.write(summary)
    except OSError as error:
        message(f"the step summary could not be written: {error.strerror or error}")


def write_result(render: Callable[[TextIO], None], output: Path | None) -> None:
    """Render to stdout, or to a file that appears complete or not at all.

    Raises `WattsliceError`, `StdoutError`.
    """
    if output is None:
        if is_closed():
            raise StdoutError("it is closed")
        with writing():
            render(sys.stdout)
        flush()
        return
    buffer = StringIO()
    render(buffer)
    try:
        _replace(output.resolve(), buffer.getvalue())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WattsliceError(
            f"cannot be written: {reason}", path=output, remedy="choose another -o"
        ) from None


def _replace(target: Path, text: str) -> None:
    from wattslice_corpora.records import write_text

    if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
        target.write_text(text, encoding="utf-8", errors="replace")
        return
    # A file name need not be UTF-8, and must not spoil the report it stands in.
    write_text(target, text.encode(errors="replace").decode())
