"""What `wattslice measure` prints: measured launches and instructions, and what a campaign showed."""

from __future__ import annotations

from typing import TextIO

from rich.table import Table
from rich.text import Text

from wattslice import units
from wattslice.report.terminal import make_console, plain_table, print_stripped
from wattslice.report.text import geometry
from wattslice.sweep.measured import MeasuredVariant
from wattslice.units import printable
from wattslice_corpora.measuring.journal import Entry
from wattslice_corpora.measuring.power import Method
from wattslice_corpora.measuring.sensor import Board
from wattslice_corpora.measuring.summary import Spread, Summary
from wattslice_corpora.records import MeasuredInstruction

_MOST_FAILURES = 10


def write_measured(board: Board, entries: tuple[Entry, ...], file: TextIO) -> None:
    """A line per measured launch, its watts by every method, and why watts are not to be believed."""
    console = make_console(file)
    print_stripped(console, _about(board), Text())
    print_stripped(console, _launches(entries), Text(), _methods(entries))
    for entry in entries:
        if entry.row.reason:
            print_stripped(console, Text(), Text(f"not valid: {_name(entry)}: {entry.row.reason}"))
        if entry.row.capped:
            print_stripped(console, Text(), Text(f"at the power limit: {_name(entry)} would draw more"))


def _launches(entries: tuple[Entry, ...]) -> Table:
    table = plain_table(("kernel", "launch"), ("time", "energy", "power", "idle", "clock"), gap=1)
    for entry in entries:
        row = entry.row
        table.add_row(
            _name(entry),
            units.UNKNOWN if row.grid is None or row.block is None else geometry(row.grid, row.block),
            units.time(row.time_s),
            units.energy(row.energy_j),
            units.power(row.power_w),
            units.power(row.idle_power_w),
            units.UNKNOWN if row.core_mhz is None else f"{row.core_mhz:.0f} MHz",
        )
    return table


def _methods(entries: tuple[Entry, ...]) -> Table:
    table = plain_table(("power by method",), tuple(method.value for method in Method), gap=1)
    for entry in entries:
        watts = (None if entry.powers is None else entry.powers.by(method) for method in Method)
        table.add_row(_name(entry), *(units.power(power_w) for power_w in watts))
    return table


def write_measured_variants(
    board: Board, variants: tuple[MeasuredVariant, ...], capped: int, file: TextIO
) -> None:
    """A line per variant, by the macros that vary; `capped`: how many were held at the power limit."""
    console = make_console(file)
    print_stripped(console, _about(board), Text())
    names = [name for name, _ in variants[0].macros]
    shown = [at for at in range(len(names)) if len({one.macros[at] for one in variants}) > 1]
    table = plain_table((), (*(printable(names[at]) for at in shown), "time", "energy", "power"), gap=1)
    for one in variants:
        energy_j = None if one.time_s is None or one.power_w is None else one.time_s * one.power_w
        figures = (units.time(one.time_s), units.energy(energy_j), units.power(one.power_w))
        table.add_row(*(printable(one.macros[at][1]) for at in shown), *figures)
    print_stripped(console, table)
    for one in variants:
        if one.reason:
            macros = " ".join(f"{names[at]}={one.macros[at][1]}" for at in shown)
            print_stripped(console, Text(printable(f"no figures: {macros}: {one.reason}")))
    if capped:
        print_stripped(console, Text(f"at the power limit: {capped} of them would draw more"))


def _about(board: Board) -> Text:
    limit = f" · limit {units.power(board.power_limit_w)}" if board.power_limit_w else ""
    return Text(f"{board.name} · driver {board.driver}{limit}")


def _name(entry: Entry) -> str:
    return entry.row.kernel or entry.row.benchmark


def write_summary(summary: Summary, left: int, file: TextIO) -> None:
    """How many rows are valid, how the methods compare, how well the board repeats itself."""
    console = make_console(file)
    lines = [
        f"{summary.rows} configurations measured, {summary.valid} valid, "
        f"{summary.capped} at the power limit, {left} left",
        f"idle power (median): {units.power(summary.idle_w)}",
        *(
            f"{entry.method.value} against the energy counter: {_differences(entry.spread)}"
            for entry in summary.methods
        ),
        f"the same launch again: {_differences(summary.repeats)}",
        *(f"not valid: {failure}" for failure in summary.failures[:_MOST_FAILURES]),
    ]
    if len(summary.failures) > _MOST_FAILURES:
        lines.append(f"and {len(summary.failures) - _MOST_FAILURES} more, see the column `reason`")
    print_stripped(console, *(Text(line) for line in lines))


def _differences(spread: Spread | None) -> str:
    if spread is None:
        return "nothing to compare"
    return f"median {spread.median:.1%}, worst {spread.worst:.1%} of {spread.number}"


def write_instruction_energies(rows: tuple[MeasuredInstruction, ...], file: TextIO) -> None:
    """A line for every instruction, variant and level: energy by every method, and time."""
    console = make_console(file)
    methods = tuple(method.value for method in Method)
    table = plain_table(("instruction", "variant", "level"), (*methods, "time"), gap=1)
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
