"""Measured energies of instructions, as a table."""

from __future__ import annotations

from typing import TextIO

from rich.table import Table
from rich.text import Text

from wattslice import units
from wattslice.report.printable import printable
from wattslice.report.text import make_console, print_stripped
from wattslice_corpora.measuring.power import Method
from wattslice_corpora.records import MeasuredInstruction


def write_instruction_energies(rows: tuple[MeasuredInstruction, ...], file: TextIO) -> None:
    """A line for every instruction, variant and level: energy by every method, and time."""
    console = make_console(file)
    table = Table(box=None, pad_edge=False)
    for heading in ("instruction", "variant", "level"):
        table.add_column(heading, no_wrap=True)
    for heading in (*(method.value for method in Method), "time"):
        table.add_column(heading, justify="right", no_wrap=True)
    for same in _grouped(rows):
        first = same[0]
        table.add_row(
            printable(first.instruction),
            first.variant,
            "-O3" if first.optimized else "-O0",
            *(_energy(same, method) for method in Method),
            units.time(first.time_s),
        )
    print_stripped(console, table)
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            level = "-O3" if row.optimized else "-O0"
            where = f"{row.instruction}, {row.variant}, {level}: {row.reason}"
            reasons.setdefault(where, []).append(row.method)
    for reason, methods in reasons.items():
        print_stripped(console, Text(printable(f"{reason} ({', '.join(methods)})")))


def _grouped(rows: tuple[MeasuredInstruction, ...]) -> tuple[tuple[MeasuredInstruction, ...], ...]:
    groups: dict[tuple[str, str, bool], list[MeasuredInstruction]] = {}
    for row in rows:
        groups.setdefault((row.instruction, row.variant, row.optimized), []).append(row)
    return tuple(tuple(group) for group in groups.values())


def _energy(rows: tuple[MeasuredInstruction, ...], method: Method) -> str:
    row = next((row for row in rows if row.method == method.value), None)
    if row is None or row.energy_j is None:
        return units.UNKNOWN
    if row.standard_error_j is None:
        return units.energy(row.energy_j)
    return f"{units.energy(row.energy_j)} ± {100 * row.standard_error_j / row.energy_j:.1f} %"
