"""`wattslice measure`: a program, its variants, a campaign, or single instructions."""

from __future__ import annotations

import math
import shlex
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from wattslice.commands.common import some_options
from wattslice.commands.output import CONTEXT, FILE, format_option, message, progress, write_result
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError, of_system

if TYPE_CHECKING:
    from wattslice.sweep.measured import MeasuredVariant
    from wattslice.sweep.space import Variant
    from wattslice_corpora.measuring.bench import Bench, Configuration, Timing
    from wattslice_corpora.measuring.campaign import Outcome, Progress
    from wattslice_corpora.measuring.instruction_plan import Study
    from wattslice_corpora.measuring.journal import Entry, Journal
    from wattslice_corpora.measuring.machine import Machine
    from wattslice_corpora.measuring.power import Method
    from wattslice_corpora.measuring.sensor import Board
    from wattslice_corpora.synthetic import AccessWeights


_LONGEST_S = 86400.0
_SWEEP = "roofline"
"""The part of a campaign that can be measured alone."""
VARIANTS_TABLE = "variants.csv"
"""In the folder of measured variants."""


class _Seconds(click.ParamType):  # pyright: ignore[reportMissingTypeArgument]  (not generic before click 8.2)
    """A span of time that a person could wait for."""

    name = "seconds"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Raises ``click.BadParameter`` for what is no such number."""
        try:
            seconds = float(str(value))
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= _LONGEST_S:
            self.fail(f"{value!r} is no number of seconds from 0 to {_LONGEST_S:g}", param, ctx)
        return seconds


_SECONDS = _Seconds()


class _Program(Struct, frozen=True):
    """What is measured. `file` None: no program. `occurrence` counts from 1."""

    file: Path | None
    program_arguments: tuple[str, ...]
    kernel: str
    occurrence: int | None
    variants: bool
    definitions: tuple[str, ...]
    where: tuple[str, ...]
    draw: int | None


class _Options(Struct, frozen=True):
    """What the command line said. A campaign, instructions, or a program."""

    program: _Program
    campaign: bool
    instructions: bool
    only: str | None
    optimization: str | None
    variant: str | None
    device: int
    nvcc_flags: str
    out: Path | None
    report_format: str
    output: Path | None
    window: float | None
    warmup: float
    timeout: float | None
    time_budget: float | None
    method: str | None
    seed: int


@click.command(context_settings=CONTEXT)
@click.argument("file", required=False, type=FILE, metavar="[FILE.cu")
@click.argument("program_arguments", nargs=-1, metavar="[ARGUMENT]...]")
@click.option("--kernel", default="", metavar="NAME", help="Only this kernel.  [default: every kernel]")
@click.option(
    "--occurrence",
    type=click.IntRange(min=1),
    metavar="N",
    help="The N-th launch of the kernel.  [default: 1]",
)
@click.option(
    "--variants", is_flag=True, help="Measure the variants of FILE.cu that -D TILE=8,16,32 spans, for train."
)
@some_options("define")
@click.option(
    "--where",
    multiple=True,
    metavar="CONDITION",
    help="Only variants for which it holds, e.g. 'TILE*BLOCK<=1024'. Repeatable.",
)
@click.option(
    "--draw", type=click.IntRange(min=1), metavar="N", help="Only N variants, drawn at random (--seed)."
)
@click.option("--campaign", is_flag=True, help="Measure synthetic slices and the corpus, for training.")
@click.option("--instructions", is_flag=True, help="Measure the energy of single PTX instructions.")
@click.option(
    "--only",
    metavar="PATTERN",
    help="Instructions like 'div*', '*.f32'; of a campaign 'roofline': the intensity sweep, two minutes.",
)
@click.option(
    "--optimization",
    type=click.Choice(("0", "3")),
    help="How instructions are assembled.  [default: 3, then 0]",
)
@click.option(
    "--variant",
    type=click.Choice(("latency", "throughput")),
    help="Instructions by one thread, or by as many as the GPU holds.  [default: both]",
)
@click.option("--out", type=FILE, metavar="DIR", help="Keep rows and raw traces; go on from what is there.")
@click.option("--time-budget", type=_SECONDS, metavar="S", help="Stop in time; run again to go on.")
@click.option("--seed", default=0, metavar="N", help="Of the order of what is measured.  [default: 0]")
@click.option("--device", default=0, metavar="N", help="Number of the GPU (nvidia-smi).  [default: 0]")
@click.option(
    "--window",
    type=_SECONDS,
    metavar="S",
    help="Seconds measured.  [default: 5, campaign 2.5, instructions 2.1]",
)
@click.option(
    "--warmup", type=_SECONDS, default=1.0, metavar="S", help="Seconds dropped first.  [default: 1]"
)
@click.option(
    "--timeout",
    type=_SECONDS,
    metavar="S",
    help="How long a program may take until it makes the launch.  [default: 120, else 40]",
)
@click.option(
    "--method",
    type=click.Choice(("energy-counter", "mtsm", "sma", "papi")),
    help="Whose watts a row gets.  [default: energy-counter, without one mtsm]",
)
@click.option("--nvcc-flags", default="", metavar="FLAGS", help="More for nvcc, e.g. '-I include -lcublas'.")
@format_option("text", "csv")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the result to FILE.")
def measure(**values: object) -> int:
    """Measure what the kernels of a program draw on the GPU of this machine.

    Builds FILE.cu with nvcc, runs it with the ARGUMENTs (after `--` if they look like options), repeats
    its launches and reads the power meanwhile. Needs more packages: pip install '.[measure]' in the checkout.
    """
    checked: dict[str, Any] = values  # by click
    program = _Program(**{name: checked.pop(name) for name in _Program.__struct_fields__})
    options = _Options(program, **checked)
    _check(options)
    if program.file is not None and not program.file.is_file():
        raise WattsliceError("no such file", path=program.file, remedy="give a .cu file with a main function")
    with errors_told(), result_folder(options.out) as folder:
        return run_instructions(options, folder) if options.instructions else _run(options, folder)


def _check(options: _Options) -> None:
    program = options.program
    if (program.file is not None) + options.campaign + options.instructions != 1:
        raise click.UsageError("give either a FILE.cu, --campaign or --instructions")
    if program.file is not None and options.only is not None:
        raise click.UsageError("--only is for --campaign or --instructions")
    if options.campaign and options.only not in (None, _SWEEP):
        raise click.UsageError(f"--only {options.only!r}: of a campaign, {_SWEEP!r} can be measured alone")
    if not options.instructions and (options.optimization or options.variant):
        raise click.UsageError("--optimization and --variant are for --instructions")
    if program.variants and (program.file is None or not program.kernel or options.out is None):
        raise click.UsageError("--variants needs FILE.cu, --kernel NAME and --out DIR")
    if not program.variants and (program.definitions or program.where or program.draw):
        raise click.UsageError("-D, --where and --draw are for --variants; else --nvcc-flags '-D NAME=VALUE'")
    if program.file is None and (program.kernel or program.occurrence):
        raise click.UsageError("--kernel and --occurrence are for a FILE.cu")
    if options.instructions and options.method:
        raise click.UsageError("--method is not for --instructions, whose rows have every method")
    if program.file is None and options.out is None:
        raise click.UsageError(f"--{'campaign' if options.campaign else 'instructions'} needs --out DIR")


def _run(options: _Options, folder: Path) -> int:
    from wattslice_corpora.measuring.card import protocol, write_card
    from wattslice_corpora.measuring.journal import Journal
    from wattslice_corpora.measuring.machine import this_machine
    from wattslice_corpora.measuring.power import Method

    program = options.program
    variants: tuple[Variant, ...] = ()
    if program.variants:
        from wattslice.sweep.measuring import variants_to_measure

        variants = variants_to_measure(
            program.kernel, program.definitions, program.where, program.draw, options.seed
        )
    timing = _timing(options)
    method = None if options.method is None else Method[options.method.replace("-", "_").upper()]
    flags = _flags(options.nvcc_flags)
    with this_machine(options.device, folder / "build", timing, flags) as machine:
        board = machine.board
        comments = (
            f"measured on {board.name} {board.uuid}, driver {board.driver}, CUDA {board.cuda}",
            protocol(timing),
        )
        identity = (
            f"{board.name} {board.uuid}, seed {options.seed}, {method or 'best method'}, {timing}, {flags}"
        )
        with Journal(folder, identity) as journal:
            tell_found(journal)
            plan = _plan(options, variants, machine, folder)
            names = tuple((configuration.name, configuration.version) for configuration in plan)

            write = partial(_write_variants, program, board, comments, variants, plan, journal)
            outcome = _measured(options, plan, machine.bench, journal, comments, method, write)
            table = journal.write_tables(comments, names)
            entries = tuple(entry for entry in journal.entries if (entry.name, entry.version) in names)
            measured = write()
        if options.campaign:
            write_card(folder, board, machine.key, machine.chip.architecture, timing, method)
    if not entries:
        message("nothing measured: the time budget is too short for any configuration")
    if variants:
        _report_variants(options, folder, board, entries, measured, outcome.left)
    else:
        _report(options, board, entries, outcome.left, table)
    return FINE if any(entry.row.power_valid for entry in entries) else FAILED


def _timing(options: _Options) -> Timing:
    from wattslice_corpora.measuring.bench import Timing

    kind = 0 if options.campaign else 1 if options.instructions else 2
    return Timing(
        warmup_s=options.warmup,
        window_s=(2.5, 2.1, 5.0)[kind] if options.window is None else options.window,
        start_limit_s=(40.0, 40.0, 120.0)[kind] if options.timeout is None else options.timeout,
    )


def _flags(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise click.UsageError(f"--nvcc-flags {text!r}: {error}") from None


def _plan(
    options: _Options, variants: tuple[Variant, ...], machine: Machine, folder: Path
) -> tuple[Configuration, ...]:
    from wattslice_corpora.measuring.bench import visible
    from wattslice_corpora.measuring.plan import campaign_plan, file_plan, sweep_plan, variant_plan
    from wattslice_corpora.measuring.program import Choice, Command

    measured, seed = options.program, options.seed
    if options.only is not None:
        return sweep_plan(machine.chip.sm_count, machine.key, folder, seed)
    if measured.file is None:
        weights = _access_weights(machine.board.name)
        return campaign_plan(machine.chip.sm_count, machine.key, folder, seed, weights)
    choice = Choice(measured.kernel, (measured.occurrence or 1) - 1)
    if variants:
        definitions = tuple(tuple(f"{name}={value}" for name, value in variant) for variant in variants)
        version = machine.builder.version(measured.file)
        return variant_plan(
            measured.file, choice, measured.program_arguments, definitions, version, machine.key
        )
    program = machine.builder.build(measured.file)
    command = Command(program, measured.program_arguments, environment=visible(machine.board))
    limit_s = machine.timing.start_limit_s
    return file_plan(measured.file, command, choice, program.name, machine.key, limit_s)


def _write_variants(
    measured: _Program,
    board: Board,
    comments: tuple[str, ...],
    variants: tuple[Variant, ...],
    plan: tuple[Configuration, ...],
    journal: Journal,
) -> tuple[MeasuredVariant, ...]:
    """The table of those of the `variants` that were measured so far; none: no table."""
    if not variants:
        return ()
    from wattslice.sweep.measured import measured_table
    from wattslice.sweep.measuring import measured_rows
    from wattslice_corpora.records import write_text

    rows = measured_rows(board, measured.kernel, variants, plan, journal.entries)
    if rows:
        program = shlex.join((str(measured.file), *measured.program_arguments))
        write_text(journal.folder / VARIANTS_TABLE, measured_table((*comments, f"program: {program}"), rows))
    return rows


def _report_variants(
    options: _Options,
    folder: Path,
    board: Board,
    entries: tuple[Entry, ...],
    measured: tuple[MeasuredVariant, ...],
    left: int,
) -> None:
    from wattslice.report.measured import write_measured_variants
    from wattslice_models.gpu import gpu_of_board

    if left:
        message(f"{left} variants left: the same command goes on")
    if not measured:
        return
    program, table = options.program, folder / VARIANTS_TABLE
    if options.report_format == "csv":
        write_result(table.read_text(encoding="utf-8"), options.output)
        return
    capped = sum(entry.row.power_valid and entry.row.capped is True for entry in entries)
    write_result(lambda stream: write_measured_variants(board, measured, capped, stream), options.output)
    gpu = gpu_of_board(board.name)
    gpu_id = "ID" if gpu is None else gpu.id
    words = ["wattslice", "train", str(program.file), "--variants", str(table), "--gpu", gpu_id]
    if program.program_arguments:
        words += ["--args", shlex.join(program.program_arguments)]
    message(f"next: {shlex.join(words)}")


def _access_weights(board: str) -> AccessWeights:
    """What an access is worth on this board; all alike on one that the catalogue does not know."""
    from wattslice_corpora.synthetic import AccessWeights
    from wattslice_models.access_power import access_power_factors
    from wattslice_models.gpu import gpu_of_board

    gpu = gpu_of_board(board)
    if gpu is None:
        return AccessWeights()
    factors = access_power_factors(gpu)
    return AccessWeights(factors.shared_memory, factors.constant_memory, factors.texture_memory)


def _report(options: _Options, board: Board, entries: tuple[Entry, ...], left: int, table: Path) -> None:
    from wattslice.report.measured import write_measured, write_summary
    from wattslice_corpora.measuring.summary import summarise

    if options.report_format == "csv":
        write_result(table.read_text(encoding="utf-8"), options.output)
    elif options.campaign:
        write_result(lambda stream: write_summary(summarise(entries), left, stream), options.output)
    else:
        write_result(lambda stream: write_measured(board, entries, stream), options.output)


@contextmanager
def result_folder(out: Path | None) -> Generator[Path]:
    """`out`, or a folder that is gone afterwards."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="wattslice-") as temporary:
        yield Path(temporary)


@contextmanager
def errors_told() -> Generator[None]:
    """What measuring raises becomes an error of the command."""
    from wattslice_corpora.measuring.errors import ConfigurationError, MeasureError

    try:
        yield
    except (MeasureError, ConfigurationError) as error:
        raise WattsliceError(str(error)) from None
    except OSError as error:
        raise of_system(error, "cannot be used", None, "choose another --out") from None


def tell_found(journal: Journal) -> None:
    """Says what the folder holds already."""
    if journal.entries:
        message(f"{journal.folder}: {len(journal.entries)} configurations measured before, going on")
    if journal.dropped:
        message(f"{journal.folder}: {journal.dropped} damaged lines dropped, measured again")


def _measured(
    options: _Options,
    plan: tuple[Configuration, ...],
    bench: Bench,
    journal: Journal,
    comments: tuple[str, ...],
    method: Method | None,
    write: Callable[[], object],
) -> Outcome:
    """Measures in the time there is; after each configuration it is told, and the tables are written."""
    from wattslice import units
    from wattslice_corpora.measuring.campaign import run_campaign, unmeasured

    with progress(sum(map(len, unmeasured(plan, journal))), "configurations") as tell:

        def told(now: Progress) -> None:
            write()
            tell(f"{now.name} {now.row.reason or units.power(now.row.power_w)}")

        return run_campaign(plan, bench, journal, comments, options.time_budget, method, told)


def run_instructions(options: _Options, folder: Path) -> int:
    """Measures, writes ``instructions.csv`` after every run, and reports what was asked for.

    The table has everything that was ever measured into the folder, also what `only` leaves out this time.
    """
    from wattslice.report.measured import write_instruction_energies
    from wattslice_corpora.measuring.instruction_bench import InstructionBench
    from wattslice_corpora.measuring.instruction_energy import instruction_rows
    from wattslice_corpora.measuring.instruction_plan import instruction_plan, studies
    from wattslice_corpora.measuring.instruction_table import write_instruction_card, write_instruction_table
    from wattslice_corpora.measuring.journal import Journal
    from wattslice_corpora.measuring.machine import this_machine
    from wattslice_corpora.records import read_instructions

    wanted = _studies(options)
    plan = instruction_plan(wanted, options.seed)
    everything = instruction_plan(studies(), options.seed)
    timing, flags = _timing(options), _flags(options.nvcc_flags)
    with this_machine(options.device, folder / "build", timing, flags) as machine:
        board, chip = machine.board, machine.chip
        bench = InstructionBench(
            machine.bench, machine.builder.nvcc, chip.architecture, folder / "kernels", everything
        )
        configurations = {run: run.configuration(chip.sm_count, folder / "kernels") for run in everything}
        versions = tuple((one.name, one.version) for one in configurations.values())
        identity = f"{board.name} {board.uuid}, instructions, {timing}, {flags}"
        with Journal(folder, identity) as journal:
            tell_found(journal)

            def write() -> Path:
                rows = instruction_rows(
                    everything, versions, journal.entries, chip.sm_count, bench.machine_code
                )
                return write_instruction_table(folder, board, timing, rows)

            chosen = tuple(configurations[run] for run in plan)
            outcome = _measured(options, chosen, bench, journal, (), None, write)
            table = write()
        write_instruction_card(folder, board, chip, timing)
    asked = {(study.instruction.name, study.variant.value, study.optimized) for study in wanted}
    found = read_instructions(table)
    rows = tuple(row for row in found if (row.instruction, row.variant, row.optimized) in asked)
    if not rows:
        message("nothing measured: the time budget is too short for any kernel")
    if outcome.left:
        message(f"{outcome.left} runs left: the same command goes on")
    if options.report_format == "csv":
        write_result(table.read_text(encoding="utf-8"), options.output)
    else:
        write_result(lambda stream: write_instruction_energies(rows, stream), options.output)
    return FINE if any(row.energy_j is not None for row in rows) else FAILED


def _studies(options: _Options) -> tuple[Study, ...]:
    from wattslice_corpora.measuring.instruction_plan import Variant, studies

    variants = tuple(Variant) if options.variant is None else (Variant(options.variant),)
    levels = (True, False) if options.optimization is None else (options.optimization == "3",)
    wanted = studies(options.only or "*", variants, levels)
    if not wanted:
        raise click.UsageError(
            f"--only {options.only!r}: no such instruction; docs/instruction-energies.md lists them"
        )
    return wanted
