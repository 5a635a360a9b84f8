"""From the words of a command line to a command, its options of an analysis, and the analysis."""

from __future__ import annotations

import difflib
import gc
import os
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from msgspec.structs import replace

from wattslice.commands.output import FILE, Command, gpu_names, message, progress
from wattslice.commands.streams import writing
from wattslice.commands.table import COMMANDS, FAILED
from wattslice.config.options import Choices, Kind, Option, Place, is_silent, said_at
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import note_unrepeatable
from wattslice.report.formats import FORMATS
from wattslice.units import printable

if TYPE_CHECKING:
    from wattslice.analysis import Analysis
    from wattslice.config.config import Config, Options
    from wattslice.config.settings import Settings


_TYPES = {Kind.NUMBER: float, Kind.WHOLE: int, Kind.PATH: FILE, Kind.PATHS: FILE}
_LISTS = (Kind.TEXTS, Kind.PATHS)
STDIN = Path("stdin.cu")
"""What the text on stdin is called."""
MAX_STDIN_BYTES = 32 << 20


def with_options(command: Command, options: Iterable[Option]) -> Command:
    """Add rows of the table of options. A list that does not add up is one word with commas."""
    for option in reversed(tuple(options)):
        several = option.kind in _LISTS and option.adds
        of_words = option.kind in _LISTS and not several
        command = click.option(
            option.name,
            option.field,
            multiple=several,
            is_flag=True if option.kind is Kind.SWITCH else None,
            type=None if option.kind is Kind.SWITCH else _TYPES.get(option.kind, str),
            callback=_words if of_words else None,
            metavar=option.metavar or None,
            shell_complete=gpu_names if option.field == "gpu" else None,
            help=option.help,
        )(command)
    return command


def _words(_context: click.Context, _option: click.Parameter, text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",")) if text else ()


def analysis_options(command: Command) -> Command:
    """Add [PATH...], by default the current folder, and every option that shapes the analysis itself."""
    paths = click.argument("paths", nargs=-1, type=FILE, metavar="[PATH...]", callback=_here)
    return paths(with_options(command, said_at(Place.COMMAND).values()))


def _here(_context: click.Context, _argument: click.Parameter, paths: tuple[Path, ...]) -> tuple[Path, ...]:
    return paths or (Path(),)


def options_of_perhaps_an_analysis(command: Command) -> Command:
    """The same for a command that has something to tell without any file, too."""
    paths = click.argument("paths", nargs=-1, type=FILE, metavar="[PATH...]")
    return paths(with_options(command, said_at(Place.COMMAND).values()))


def gate_options(command: Command) -> Command:
    """Add those of `wattslice gate` that settings can say, too."""
    return with_options(command, said_at(Place.GATE).values())


def some_options(*keys: str) -> Callable[[Command], Command]:
    """Add the options of these keys."""
    return lambda command: with_options(command, (said_at(Place.COMMAND)[key] for key in keys))


def options_from(values: dict[str, object]) -> Options:
    """The values click collected for options of the table; it has checked their types."""
    from wattslice.config.config import Options  # not for --help

    checked: dict[str, Any] = values
    return Options(**checked)


def configured(options: Options, report_format: str = "text", settings: Settings | None = None) -> Config:
    """The configuration with what the format needs of the analysis; what the user should know goes to stderr.

    Raises `WattsliceError`, also for a format whose packages are missing.
    """
    from wattslice.config.config import make_config, naming_settings
    from wattslice.config.settings import find_settings
    from wattslice.findings.rules import check_choices
    from wattslice.pipeline.cache.keeper import with_usable_cache

    settings = find_settings(options.paths) if settings is None else settings
    config = with_usable_cache(make_config(options, settings))
    with naming_settings(options, settings):
        check_choices(config.rules)
    _check_gate(settings)
    chosen = FORMATS[report_format]
    chosen.check()
    for note in config.notes:
        message(note)
    return replace(config, keep_sources=True) if chosen.keeps_sources else config


def _check_gate(settings: Settings) -> None:
    """What settings say to the gate is checked whoever reads them. Raises `WattsliceError`."""
    if all(is_silent(getattr(settings, option.field)) for option in said_at(Place.GATE).values()):
        return
    from wattslice.commands.judging import judging_of
    from wattslice.config.config import naming_settings

    with naming_settings(Choices(), settings):
        judging_of(settings)


def with_definitions(config: Config, definitions: tuple[str, ...]) -> Config:
    """The configuration with further macros."""
    return replace(config, parse=replace(config.parse, defines=(*config.parse.defines, *definitions)))


def analyzed_words(options: Options, report_format: str, *, keep_sources: bool = False) -> Analysis:
    """The analysis of the files that the command line names; `-` is the text on stdin, as `STDIN`.

    Raises `WattsliceError`, also for a format whose packages are missing.
    """
    if Path("-") not in options.paths:
        config = configured(options, report_format)
        return analyzed(replace(config, keep_sources=True) if keep_sources else config)
    if options.paths != (Path("-"),):
        raise WattsliceError("- is stdin, and stands alone", remedy="analyse the files in another run")
    from msgspec import structs

    from wattslice.config.settings import find_settings
    from wattslice.pipeline.incremental import IncrementalAnalyzer

    text = sys.stdin.buffer.read(MAX_STDIN_BYTES + 1)
    if len(text) > MAX_STDIN_BYTES:
        raise WattsliceError(f"stdin: over {MAX_STDIN_BYTES >> 20} MiB", remedy="analyse a file")
    config = configured(structs.replace(options, paths=()), report_format, find_settings((STDIN,)))
    if keep_sources:
        config = replace(config, keep_sources=True)
    return IncrementalAnalyzer(config).analyze(STDIN, text.decode("utf-8", "replace"))


def analyzed(config: Config) -> Analysis:
    """The analysis; a terminal shows meanwhile which file is under way, and how many are done."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads cost a third of the import of numpy
    from wattslice.pipeline.files import analyze_files  # numpy and libclang load here, after all checks

    if len(config.files) == 1:
        gc.disable()  # the process ends with this file: nobody needs the room that garbage takes
    with progress(len(config.files), "files") as steps:
        analysis = analyze_files(
            config, lambda path: steps(path.name), lambda path: steps.under_way(printable(path.name))
        )
    for complaint in analysis.unmatched_settings:
        message(f"warning: {complaint}")
    return analysis


def dispatch(arguments: list[str], debug: bool) -> int:
    """Run one command; its exit status. Raises only what nobody foresaw."""
    name, *rest = arguments
    known = [command for command, *_ in COMMANDS]
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        kind = "option" if name.startswith("-") else "command"
        remedy = f"did you mean {close[0]}?" if close else "`wattslice --help` lists the commands"
        return _fail(f"no {kind} {name!r} ({remedy})")
    return run_command(command_named(name), f"wattslice {name}", rest, debug)


def command_named(name: str) -> click.Command:
    """The command of that name, which its module has."""
    (module,) = (module for command, module, _ in COMMANDS if command == name)
    return cast(click.Command, getattr(import_module(f"wattslice.commands.{module}"), name))


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
        text = error.format_message()
        if isinstance(error, click.NoSuchOption) and (short := _short_option(error)):
            text = f"No such option {error.option_name!r}. Did you mean {short!r}?"
        return _fail(f"{text} (`{program} --help` lists the options)")
    except click.ClickException as error:
        return _fail(error.format_message())
    except click.Abort:
        return _fail("interrupted")
    return status if isinstance(status, int) else 0


def _short_option(error: click.NoSuchOption) -> str | None:
    """The command's option that settings files call what was typed: `-p` for `--compile-commands`."""
    known = {f"--{option.key}": option.flag for option in said_at(Place.COMMAND).values() if option.flag}
    there = () if error.ctx is None else chain(*(parameter.opts for parameter in error.ctx.command.params))
    meant = difflib.get_close_matches(error.option_name, known, n=1)
    return next((known[name] for name in meant if known[name] in there), None)


def _fail(message: str) -> int:
    note_unrepeatable()  # not all that an error comes of is an input
    click.echo(f"wattslice: {printable(' '.join(message.split()))}", err=True)
    return FAILED
