"""`wattslice instructions [FILE.ptx]`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wattslice.commands.common import some_options
from wattslice.commands.output import CONTEXT, FILE, format_option, gpu_names, message, write_result
from wattslice.commands.table import FAILED, FINE
from wattslice.errors import WattsliceError

if TYPE_CHECKING:
    from wattslice_models.instruction_energy import InstructionEnergies


@click.command(context_settings=CONTEXT)
@click.argument("path", required=False, type=FILE, metavar="[FILE.ptx]")
@click.option(
    "--gpu",
    metavar="ID",
    shell_complete=gpu_names,
    help="GPU of the energies.  [default: the table's only one, or titan_v]",
)
@click.option(
    "--optimized/--not-optimized",
    default=True,
    show_default=True,
    help="Energies of instructions compiled with -O3, or -O0.",
)
@click.option("--method", metavar="NAME", help="How the watts were read: mtsm, papi.  [default: mtsm]")
@click.option("--energies", "table", type=FILE, metavar="FILE.csv", help="Measured energies to use instead.")
@click.option(
    "--variant",
    type=click.Choice(("latency", "throughput")),
    default="latency",
    show_default=True,
    help="Measured with one thread, or on a full board (only in measured tables).",
)
@click.option(
    "--stand-ins", is_flag=True, help="Count what has no energy as something alike: guesses, marked."
)
@some_options("set", "launch")
@format_option("text", "json")
@click.option("-o", "output", type=FILE, metavar="FILE", help="Write the report there.  [default: stdout]")
def instructions(
    path: Path | None,
    gpu: str | None,
    optimized: bool,
    method: str | None,
    table: Path | None,
    variant: str,
    stand_ins: bool,
    overrides: tuple[str, ...],
    launches: tuple[str, ...],
    report_format: str,
    output: Path | None,
) -> int:
    """Energy per PTX instruction, and what of a kernel's energy each instruction makes.

    Without a file: the table of a GPU. With one: the instructions of each kernel in it, how often a thread
    executes them, their energy, and which have none.
    """
    from wattslice.ptx_energy.tables import DEFAULT_GPU

    chosen = None if gpu is None and table is not None else gpu or DEFAULT_GPU
    energies = _energies(chosen, optimized, None if method is None else method.lower(), table, variant)
    if path is None:
        if overrides or launches or stand_ins:
            raise WattsliceError(
                "--set, --launch and --stand-ins are about a kernel", remedy="give a .ptx file"
            )
        _show_table(energies, report_format, output)
        return FINE
    from wattslice.config.config import Options, make_config
    from wattslice.ptx_energy.costs import check_ptx, file_costs

    check_ptx(path)
    config = make_config(
        Options(paths=(path,), gpu=energies.gpu_id, overrides=overrides, launches=launches, no_cache=True)
    )
    costed = file_costs(path, config, energies, stand_ins=stand_ins)
    for entry in costed.diagnostics:
        message(f"{entry.file}:{entry.line}: {entry.message} [{entry.rule}]")
    from wattslice.report.instruction_costs import costs_json, write_costs

    if report_format == "json":
        write_result(costs_json(costed, energies), output)
    else:
        write_result(lambda file: write_costs(costed, energies, file), output)
    if any(kernel.thread is not None for kernel in costed.kernels):
        return FINE
    message(f"the executions of no kernel in {path} are known")
    return FAILED


def _energies(
    gpu: str | None, optimized: bool, method: str | None, table: Path | None, variant: str
) -> InstructionEnergies:
    from wattslice.config.gpu_choice import known_gpu
    from wattslice.ptx_energy.tables import DEFAULT_METHOD, measured_energies, published_energies
    from wattslice_models.instruction_energy import Variant

    gpu_id = None if gpu is None else known_gpu(gpu)
    if table is not None:
        return measured_energies(table, gpu_id, optimized=optimized, variant=Variant(variant), method=method)
    if variant != Variant.LATENCY:
        raise WattsliceError(
            f"--variant {variant}: published energies are those of one thread",
            remedy="measure some and give them with --energies",
        )
    assert gpu_id is not None
    return published_energies(gpu_id, optimized=optimized, method=method or DEFAULT_METHOD)


def _show_table(energies: InstructionEnergies, report_format: str, output: Path | None) -> None:
    from wattslice.ptx_energy.tables import published_beside
    from wattslice.report.instruction_costs import TableOfGpus, energies_json, write_energies

    shown = TableOfGpus(energies, published_beside(energies))
    if report_format == "json":
        write_result(energies_json(shown), output)
    else:
        write_result(lambda file: write_energies(shown, file), output)
