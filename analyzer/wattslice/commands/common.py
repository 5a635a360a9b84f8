"""From the words of a command line to a command, its options of an analysis, and the analysis."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import click

from wattslice.commands.output import files_progress, message
from wattslice.commands.streams import writing
from wattslice.commands.table import COMMANDS, FAILED
from wattslice.errors import WattsliceError
from wattslice.report.formats import FORMATS

if TYPE_CHECKING:
    from wattslice.analysis import Analysis
    from wattslice.config.config import Config, Options


Command = TypeVar("Command", bound=Callable[..., int])

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
    chosen = FORMATS[report_format]
    chosen.check()
    return replace(config, keep_sources=True) if chosen.keeps_sources else config


def analyzed(config: Config) -> Analysis:
    """The analysis, with a bar on a terminal while several files are under way."""
    from wattslice.pipeline.files import analyze_files  # numpy and libclang load here, after all checks

    with files_progress(len(config.files)) as done:
        analysis = analyze_files(config, done)
    for complaint in analysis.unmatched_settings:
        message(f"warning: the settings: {complaint}")
    return analysis


def dispatch(arguments: list[str], debug: bool) -> int:
    """Run one command; its exit status. Raises only what nobody foresaw."""
    name, *rest = arguments
    known = {command: module for command, module, _ in COMMANDS}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        kind = "option" if name.startswith("-") else "command"
        remedy = f"did you mean {close[0]}?" if close else "`wattslice --help` lists the commands"
        return _fail(f"no {kind} {name!r} ({remedy})")
    command = cast(click.Command, getattr(import_module(f"wattslice.commands.{known[name]}"), name))
    return run_command(command, f"wattslice {name}", rest, debug)


def run_command(command: click.Command, program: str, rest: list[str], debug: bool = False) -> int:
    """Run a click command as `program`; its exit status. Foreseen errors are one line on stderr."""
    asks_help = not {"-h", "--help"}.isdisjoint(rest)
    try:
        with writing() if asks_help else nullcontext():
            status = command.main(rest, prog_name=program, standalone_mode=False)
    except WattsliceError as error:
        if debug:
            raise
        return _fail(str(error))
    except click.UsageError as error:
        return _fail(f"{error.format_message()} (`{program} --help` lists the options)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except click.Abort:
        return _fail("interrupted")
    return status if isinstance(status, int) else 0


def _fail(message: str) -> int:
    click.echo(f"wattslice: {' '.join(message.split())}", err=True)
    return FAILED
