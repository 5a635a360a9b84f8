"""`wattslice measure --instructions`"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import message, write_result
from wattslice.commands.measure_common import progress, tell_found
from wattslice.commands.table import FAILED, FINE

if TYPE_CHECKING:
    from wattslice_corpora.measuring.campaign import Progress
    from wattslice_corpora.measuring.instruction_plan import Study


@dataclass(frozen=True, slots=True)
class InstructionOptions:
    """What the command line said. `optimization`, `variant` None: all of them."""

    folder: Path
    only: str
    optimization: int | None
    variant: str | None
    time_budget_s: float | None
    seed: int
    device: int
    window_s: float
    warmup_s: float
    start_limit_s: float
    nvcc_flags: tuple[str, ...]
    report_format: str
    output: Path | None


def run_instructions(options: InstructionOptions) -> int:
    """Measures, writes ``instructions.csv`` after every run, and reports what was asked for.

    The table has everything that was ever measured into the folder, also what `only` leaves out this time.
    """
    from wattslice.report.measured import write_instruction_energies
    from wattslice_corpora.measuring.bench import Timing
    from wattslice_corpora.measuring.campaign import run_campaign
    from wattslice_corpora.measuring.instruction_bench import InstructionBench
    from wattslice_corpora.measuring.instruction_energy import instruction_rows
    from wattslice_corpora.measuring.instruction_plan import instruction_plan, studies
    from wattslice_corpora.measuring.instruction_table import write_instruction_card, write_instruction_table
    from wattslice_corpora.measuring.journal import Journal
    from wattslice_corpora.measuring.machine import this_machine
    from wattslice_corpora.records import read_instructions

    folder = options.folder
    wanted = _studies(options)
    plan = instruction_plan(wanted, options.seed)
    everything = instruction_plan(studies(), options.seed)
    timing = Timing(warmup_s=options.warmup_s, window_s=options.window_s, start_limit_s=options.start_limit_s)
    with this_machine(options.device, folder / "build", timing, options.nvcc_flags) as machine:
        board, chip = machine.board, machine.chip
        bench = InstructionBench(
            machine.bench, machine.builder.nvcc, chip.architecture, folder / "kernels", everything
        )
        configurations = {run: run.configuration(chip.sm_count, folder / "kernels") for run in everything}
        versions = tuple((one.name, one.version) for one in configurations.values())
        identity = f"{board.name} {board.uuid}, instructions, {timing}, {options.nvcc_flags}"
        with Journal(folder, identity) as journal:
            tell_found(journal)

            def write() -> Path:
                rows = instruction_rows(
                    everything, versions, journal.entries, chip.sm_count, bench.machine_code
                )
                return write_instruction_table(folder, board, timing, rows)

            with progress(len(plan)) as tell:

                def told(now: Progress) -> None:
                    write()
                    tell(now)

                chosen = tuple(configurations[run] for run in plan)
                outcome = run_campaign(chosen, bench, journal, (), options.time_budget_s, None, told)
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
        text = table.read_text(encoding="utf-8")
        write_result(lambda stream: click.echo(text, stream, nl=False), options.output)
    else:
        write_result(lambda stream: write_instruction_energies(rows, stream), options.output)
    return FINE if any(row.energy_j is not None for row in rows) else FAILED


def _studies(options: InstructionOptions) -> tuple[Study, ...]:
    from wattslice_corpora.measuring.instruction_plan import Variant, studies

    variants = tuple(Variant) if options.variant is None else (Variant(options.variant),)
    levels = (True, False) if options.optimization is None else (options.optimization == 3,)
    wanted = studies(options.only, variants, levels)
    if not wanted:
        raise click.UsageError(
            f"--only {options.only!r}: no such instruction; docs/instruction-measuring.md lists them"
        )
    return wanted
