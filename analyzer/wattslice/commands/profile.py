"""`wattslice profile FILE`"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.cli import FINE
from wattslice.commands.common import CONTEXT, message, write_result
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice.config import Config
    from wattslice.profiles.types import BranchProfile
    from wattslice.profiling import DataSetRun

_PATH = click.Path(path_type=Path)
DEFAULT_STEPS = 2_000_000
DEFAULT_MEMORY_MIB = 1024


@click.command(context_settings=CONTEXT)
@click.argument("file", type=_PATH, metavar="FILE")
@click.option("--kernel", metavar="NAME", help="Profile this kernel only.  [default: those of the data spec]")
@click.option("--data", type=_PATH, metavar="SPEC", help="What to run the kernels on (TOML).")
@click.option("--skeleton", is_flag=True, help="Write a data spec to start from (to stdout or -o).")
@click.option("-o", "output", type=_PATH, metavar="FILE", help="Write the profile there (JSON).")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=DEFAULT_STEPS,
    metavar="N",
    help=f"Budget of the interpreter for one data set.  [default: {DEFAULT_STEPS}]",
)
@click.option(
    "--memory-mib",
    type=click.IntRange(min=1),
    default=DEFAULT_MEMORY_MIB,
    metavar="N",
    help=f"Memory for the arrays of one data set.  [default: {DEFAULT_MEMORY_MIB}]",
)
@click.option("-I", "include_directories", multiple=True, type=_PATH, metavar="DIR", help="As in analyze.")
@click.option("-D", "definitions", multiple=True, metavar="NAME[=VALUE]", help="As in analyze.")
@click.option("--std", "language_standard", metavar="NAME", help="As in analyze.")
@click.option("-p", "compile_commands_directory", type=_PATH, metavar="DIR", help="As in analyze.")
def profile(
    file: Path,
    kernel: str | None,
    data: Path | None,
    skeleton: bool,
    output: Path | None,
    steps: int,
    memory_mib: int,
    **parsing: object,
) -> int:
    """Count which way the branches of kernels go on test data, for `analyze --profile`.

    The kernels are interpreted: neither a GPU nor a compiler is needed, and no code of the file is executed.
    The data spec says what they run on; --skeleton writes one to start from.
    """
    from wattslice.config import Options, make_config

    if skeleton == (data is not None):
        raise click.UsageError("--data SPEC says what to run on (--skeleton writes one to start from)")
    if file.is_dir():
        raise WattsliceError("is a folder", path=file, remedy="profile one file")
    config = make_config(Options(paths=(file,), **parsing))  # pyright: ignore[reportArgumentType]  (by click)
    if data is None:
        return _write_skeleton(file, config, kernel, output)
    from wattslice.data_sets.spec import read_spec

    spec = read_spec(data)
    from wattslice.profiling import Limits, profile_of, run_data_sets  # numpy and libclang load here

    runs = tuple(run_data_sets(file, config, spec, kernel, Limits(steps, memory_mib)))
    for note in dict.fromkeys(run.note for run in runs if run.note):
        message(note)
    made = profile_of(runs, _command(file, kernel, data, output, parsing))
    if output is not None:
        from wattslice.profiles.writer import profile_json

        text = profile_json(made)
        write_result(lambda stream: click.echo(text, stream, nl=False), output)
    _print(made, runs, file)
    return FINE


def _write_skeleton(file: Path, config: Config, kernel: str | None, output: Path | None) -> int:
    from wattslice.data_sets.skeleton import skeleton
    from wattslice.profiling import choose_kernel, known_launches

    program, known = known_launches(file, config)
    chosen = known if kernel is None and known else (choose_kernel(kernel, known, file),)
    text = skeleton(program, tuple((entry.launch, entry.is_certain) for entry in chosen))
    write_result(lambda stream: click.echo(text, stream, nl=False), output)
    return FINE


def _command(
    file: Path, kernel: str | None, data: Path, output: Path | None, parsing: dict[str, object]
) -> str:
    """What makes the profile anew, as it was typed."""
    words = ["wattslice", "profile", str(file)]
    words += [] if kernel is None else ["--kernel", kernel]
    words += ["--data", str(data)]
    options = {"include_directories": "-I", "definitions": "-D", "language_standard": "--std"}
    for name, option in (*options.items(), ("compile_commands_directory", "-p")):
        given = parsing[name]
        for value in given if isinstance(given, tuple) else () if given is None else (given,):  # pyright: ignore[reportUnknownVariableType]
            words += [option, str(value)]  # pyright: ignore[reportUnknownArgumentType]
    words += [] if output is None else ["-o", str(output)]
    return shlex.join(words)


def _print(made: BranchProfile, runs: tuple[DataSetRun, ...], file: Path) -> None:
    from wattslice.quoting import Quoter
    from wattslice.report.profile_table import RunRow, write_profile

    quoter = Quoter("", ())
    places = {arm.file: arm.file for run in runs for arm in run.arms}

    def quote(name: str, line: int) -> str:
        path = next((place for place in places if Path(place).as_posix().endswith(name)), name)
        return quoter.line(path, line)

    rows = [
        RunRow(run.kernel, run.data_set, run.threads, run.execution.thread_instructions, run.time_s)
        for run in runs
    ]
    write_result(lambda stream: write_profile(made, rows, quote, stream), None)
