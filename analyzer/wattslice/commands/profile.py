"""`wattslice profile FILE`"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from wattslice.commands.common import options_from, some_options
from wattslice.commands.output import CONTEXT, FILE, message, told_when_slow, write_result
from wattslice.commands.table import FINE
from wattslice.errors import WattsliceError, of_system
from wattslice.profiling.interpreter.errors import MAX_MEMORY_MIB, MAX_STEPS

if TYPE_CHECKING:
    from wattslice.branch_profile.profile import BranchProfile, DataSetCounts, Making
    from wattslice.config.config import Config
    from wattslice.profiling.interpreted import DataSetRun

_WAYS = ("--data", "--counts", "--emit-probes", "--skeleton")
_WORDS = "wattslice.words"
_PROBES_HEAD = "// Written by wattslice: counts which way branches go."


class _Remembering(click.Command):
    """Keeps the words of the command line: a profile tells how to make it anew."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_WORDS] = tuple(args)
        return super().parse_args(ctx, args)


@click.command(cls=_Remembering, context_settings=CONTEXT)
@click.argument("file", type=FILE, metavar="FILE")
@click.option("--kernel", metavar="NAME", help="Profile this kernel only.  [default: all that is run]")
@click.option("--data", type=FILE, metavar="SPEC", help="Interpret the kernels on this data (TOML).")
@click.option("--skeleton", is_flag=True, help="Write a data spec to start from, to stdout or -o.")
@click.option("-o", "output", type=FILE, metavar="FILE", help="Write the profile there (JSON).")
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=MAX_STEPS,
    metavar="N",
    help=f"Budget of the interpreter for a data set.  [default: {MAX_STEPS}]",
)
@click.option(
    "--memory-mib",
    type=click.IntRange(min=1),
    default=MAX_MEMORY_MIB,
    metavar="N",
    help=f"Memory for the arrays of a data set.  [default: {MAX_MEMORY_MIB}]",
)
@click.option(
    "--emit-probes", type=FILE, metavar="OUT.cu", help="Write the program with counters, to build yourself."
)
@click.option(
    "--counts", multiple=True, type=FILE, metavar="FILE", help="What such a program counted. Repeatable."
)
@some_options("include", "define", "std", "compile-commands")
def profile(
    file: Path,
    kernel: str | None,
    data: Path | None,
    skeleton: bool,
    output: Path | None,
    steps: int,
    memory_mib: int,
    emit_probes: Path | None,
    counts: tuple[Path, ...],
    **parsing: object,
) -> int:
    """Count which way the branches of kernels go on test data, for `analyze --profile`.

    With --data the kernels are interpreted: neither a GPU nor a compiler is needed, and nothing of the file
    is executed. --emit-probes is for the data of the program's own main: build what it writes and run it.
    """
    from wattslice.config.config import make_config
    from wattslice.config.sources import is_ptx

    _check_way(dict(zip(_WAYS, (data, counts, emit_probes, skeleton), strict=True)))
    if file.is_dir():
        raise WattsliceError("is a folder", path=file, remedy="profile one file")
    if is_ptx(file):
        raise WattsliceError("PTX cannot be profiled", path=file, remedy="name its CUDA source")
    if not skeleton:
        inputs = tuple(path for path in (file, data, *counts) if path is not None)
        _check_output(output, inputs, '"made": ')
        _check_output(emit_probes, inputs, _PROBES_HEAD)
    config = make_config(options_from({"paths": (file,), **parsing}))
    if skeleton:
        return _write_skeleton(file, config, kernel, output)
    if emit_probes is not None:
        return _emit(file, config, emit_probes)
    if data is not None:
        made = _interpret(file, config, data, kernel, steps, memory_mib)
    else:
        made = _read_counts(file, counts, kernel)
    return _finish(made, output)


def _check_output(output: Path | None, inputs: tuple[Path, ...], mark: str) -> None:
    """Before the work: only what wattslice wrote there before may be replaced (its beginning has `mark`).

    That also spares what a run reads without being told: headers, and the files that a data spec names.
    """
    if output is None:
        return
    target = output.resolve()
    if any(target == path.resolve() for path in inputs):
        raise WattsliceError(
            "is read by this very command, and would be overwritten",
            path=output,
            remedy="choose another output",
        )
    found = _text_of(output, 400)
    if found and mark not in found:
        raise WattsliceError(
            "exists, and wattslice did not write it",
            path=output,
            remedy="remove it, or choose another output",
        )


def _text_of(path: Path, most: int = -1) -> str:
    """What (the beginning of) a file holds; nothing where there is none, or a pipe or a device."""
    try:
        if not path.is_file():
            return ""
        with path.open(encoding="utf-8", errors="replace") as stream:
            return stream.read(most)
    except OSError as error:
        raise of_system(error, "cannot be written", path, "choose another output") from None


def _check_way(given: dict[str, object]) -> None:
    chosen = [name for name, value in given.items() if value]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} exclude each other")
    if not chosen:
        remedy = "--skeleton writes one to start from; --emit-probes is for the program's own main"
        raise click.UsageError(f"--data SPEC says what the kernels are to run on ({remedy})")


class _Made(Struct, frozen=True):
    """What data sets counted, and how."""

    counted: Sequence[DataSetCounts]
    making: Making
    runs: Sequence[DataSetRun] = ()


def _interpret(
    file: Path, config: Config, data: Path, kernel: str | None, steps: int, memory_mib: int
) -> _Made:
    from wattslice.profiling.data_sets.spec import read_spec

    spec = read_spec(data)
    from wattslice.branch_profile.profile import Making
    from wattslice.profiling.interpreted import counted_by, hardly_met, run_data_sets
    from wattslice.profiling.interpreter.launch import Allowance  # numpy and libclang load here

    with told_when_slow() as tell:

        def begin(name: str, data_set: str) -> None:
            tell(f"still at data set {data_set!r} of {name}, up to {steps} steps (--steps); Ctrl-C stops it")

        runs = tuple(run_data_sets(file, config, spec, kernel, Allowance(steps, memory_mib << 20), begin))
    for note in (*dict.fromkeys(run.note for run in runs if run.note), *hardly_met(runs)):
        message(note)
    return _Made(counted_by(runs), Making.INTERPRETER, runs)


def _read_counts(file: Path, counts: tuple[Path, ...], kernel: str | None) -> _Made:
    from wattslice.branch_profile.profile import Making
    from wattslice.profiling.instrumented import counted_elsewhere

    return _Made(counted_elsewhere(file, counts, kernel), Making.PROBES)


def _emit(file: Path, config: Config, output: Path) -> int:
    from wattslice.profiling.instrumented import instrumented
    from wattslice.profiling.probes.counts import DEFAULT_FILE, FILE_VARIABLE

    text = instrumented(file, config, message).text
    write_result(text, output)
    message(f"{output}: build and run it; it leaves its counts in {DEFAULT_FILE} (or ${FILE_VARIABLE})")
    message(f"then: wattslice profile {shlex.quote(str(file))} --counts {DEFAULT_FILE} -o profile.json")
    return FINE


def _write_skeleton(file: Path, config: Config, kernel: str | None, output: Path | None) -> int:
    from wattslice.profiling.data_sets.skeleton import skeleton
    from wattslice.profiling.interpreted import choose_kernel, known_launches

    program, known = known_launches(file, config)
    chosen = known if kernel is None and known else (choose_kernel(kernel, known, file),)
    text = skeleton(program, tuple((entry.launch, entry.is_certain) for entry in chosen))
    if output is not None and _text_of(output) not in ("", text):
        raise WattsliceError(
            "exists, and may have been edited", path=output, remedy="remove it, or choose another -o"
        )
    write_result(text, output)
    return FINE


def _finish(made: _Made, output: Path | None) -> int:
    from wattslice.branch_profile.files import profile_json
    from wattslice.branch_profile.making import make_profile

    words: tuple[str, ...] = click.get_current_context().meta[_WORDS]
    try:
        found = make_profile(made.counted, made.making, shlex.join(("wattslice", "profile", *words)))
    except OSError as error:  # a header that a program was built with elsewhere
        raise of_system(error, "cannot be read", None, "profile it here") from None
    if output is not None:
        write_result(profile_json(found), output)
    _print(found, made)
    return FINE


def _print(found: BranchProfile, made: _Made) -> None:
    from wattslice.findings.quoting import Quoter
    from wattslice.report.profile_table import write_profile

    quoter = Quoter("", ())
    places = dict.fromkeys(arm.file for counts in made.counted for arm in counts.arms)

    def quote(name: str, line: int) -> str:
        path = next((place for place in places if Path(place).as_posix().endswith(name)), name)
        return quoter.line(path, line)

    write_result(lambda stream: write_profile(found, made.runs, quote, stream))
