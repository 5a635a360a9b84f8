"""Energies per instruction as tables on a terminal and as JSON."""

from __future__ import annotations

from typing import TextIO

from msgspec import Struct
from rich.table import Table
from rich.text import Text

from wattslice.ptx_energy.costs import CostedFile, KernelCost
from wattslice.report.json_values import Json, as_text, fields
from wattslice.report.terminal import make_console, plain_table, print_stripped
from wattslice.units import energy, percent, printable, three_digits
from wattslice_models.gpu import load_gpu
from wattslice_models.instruction_energy import (
    Basis,
    InstructionEnergies,
    InstructionEnergy,
    LaunchEnergy,
    PricedInstruction,
    ThreadEnergy,
    Variant,
)

_ALONE = (
    "Energies are those of one thread alone on the board, idle power included: relative weights, not the "
    "energy of a launch, which is not threads times them either (docs/instruction-energies.md)."
)
_FULL = "Energies were measured on a full board; their sum takes pipes never to work at the same time."


class TableOfGpus(Struct, frozen=True):
    """The table of one GPU and, for comparison, those of others."""

    own: InstructionEnergies
    others: tuple[InstructionEnergies, ...]


def write_energies(table: TableOfGpus, file: TextIO) -> None:
    """Every row of a table: joules on its GPU, and what the other GPUs need relative to it."""
    own = table.own
    notes = tuple(dict.fromkeys(row.note for row in own.rows if row.note))
    grid = plain_table(("instruction",), ("energy", *(f"{other.gpu_id} ×" for other in table.others)), ("",))
    category = ""
    for row in own.rows:
        if row.category != category:
            category = row.category
            grid.add_row(Text(printable(category), style="bold"))
        ratios = (_ratio(_elsewhere_j(other, row), row.energy_j) for other in table.others)
        mark = f"[{notes.index(row.note) + 1}]" if row.note else ""
        grid.add_row(f"  {printable(row.instruction)}", _joules(row.energy_j), *ratios, mark)
    legend = (
        Text(f"[{number}] {printable(note)}", style="dim") for number, note in enumerate(notes, start=1)
    )
    end = (*legend, Text(_caveat(own), style="dim"))
    print_stripped(make_console(file), _heading(own), Text(), grid, Text(), *end)


def _elsewhere_j(other: InstructionEnergies, row: InstructionEnergy) -> float | None:
    """What another table has for a row: under its name, else for the opcode that it stands for."""
    for found in other.rows:
        if found.name == row.name:
            return found.energy_j
    return other.price(row.instruction.partition("+")[0]).energy_j


def _ratio(other_j: float | None, own_j: float | None) -> str:
    return "–" if other_j is None or not own_j else three_digits(other_j / own_j)


def _joules(energy_j: float | None) -> str:
    return "–" if energy_j is None else energy(energy_j)


def _heading(energies: InstructionEnergies) -> Text:
    words = (
        load_gpu(energies.gpu_id).name,
        "-O3" if energies.optimized else "-O0",
        energies.method.upper(),
        energies.variant,
        energies.source,
    )
    return Text(printable(" · ".join(words)), style="bold")


def _caveat(energies: InstructionEnergies) -> str:
    return _ALONE if energies.variant is Variant.LATENCY else _FULL


def write_costs(costed: CostedFile, energies: InstructionEnergies, file: TextIO) -> None:
    """Every kernel: what of its instructions has an energy, and what has none."""
    console = make_console(file)
    print_stripped(console, _heading(energies), Text())
    for kernel in costed.kernels:
        print_stripped(console, *_kernel(kernel), Text())
    print_stripped(console, Text(_caveat(energies), style="dim"))


def _kernel(cost: KernelCost) -> tuple[Text | Table, ...]:
    launched, kernel, thread = cost.launched, cost.launched.kernel, cost.thread
    grid, block = (",".join(map(str, extent)) for extent in (launched.grid, launched.block))
    title = Text(printable(f"{kernel.span.file}:{kernel.span.line} {kernel.qualified_name}"), style="bold")
    title.append(f"  grid {grid} block {block} ({launched.source.value})", style="dim")
    if thread is None:
        return title, Text(f"  executions unknown: {cost.reason}")
    priced = tuple(entry for entry in thread.instructions if entry.price.energy_j is not None)
    bare = tuple(entry for entry in thread.instructions if entry.price.energy_j is None)
    parts: list[Text | Table] = [title, Text(f"  {_summary(thread)}")]
    if cost.launch is not None:
        parts.append(Text(f"  {_launch(cost.launch)}"))
    if not kernel.body_is_complete:
        parts.append(Text("  instructions are missing: a part of the body could not be read"))
    if priced:
        parts += [Text(), *_priced_table(thread, priced)]
    if bare:
        parts += [Text(), _bare_table(bare)]
    parts += [
        Text(f"  assumed: {entry.message} {entry.fix}".rstrip(), style="dim") for entry in cost.assumptions
    ]
    return tuple(parts)


def _launch(launch: LaunchEnergy) -> str:
    text = f"the launch: at most {energy(launch.most_j)} in these instructions"
    return text if launch.above_idle_j is None else f"{text}, {energy(launch.above_idle_j)} of it above idle"


def _summary(thread: ThreadEnergy) -> str:
    named, stand_in = thread.coverage(Basis.NAMED), thread.coverage(Basis.STAND_IN)
    if named is None or stand_in is None:
        return "no instruction is executed"
    covered = f"{percent(named)} of them in the table"
    if stand_in:
        covered += f", {percent(stand_in)} by stand-ins"
    alone = f"; those take {energy(thread.energy_j)}" if thread.energy_j is not None else ""
    doubtful = sum(entry.executions for entry in thread.instructions if _doubt(entry))
    doubt = f", {percent(doubtful / thread.executions)} on doubtful numbers" if doubtful else ""
    return f"{three_digits(thread.executions)} PTX instructions per thread, {covered}{doubt}{alone}"


def _doubt(entry: PricedInstruction) -> str:
    """What to say of a number that is there: why it is doubtful, or only stands in."""
    price = entry.price
    if price.energy_j is None:
        return ""
    return f"a guess: {price.reason}" if price.basis is Basis.STAND_IN else price.reason


def _priced_table(thread: ThreadEnergy, priced: tuple[PricedInstruction, ...]) -> tuple[Table | Text, ...]:
    doubts = tuple(dict.fromkeys(_doubt(entry) for entry in priced if _doubt(entry)))
    grid = plain_table(("  instruction",), ("executions", "energy each", "in all", "share"), ("row",))
    for entry in priced:
        mark = f" [{doubts.index(_doubt(entry)) + 1}]" if _doubt(entry) else ""
        grid.add_row(
            f"  {entry.opcode}",
            three_digits(entry.executions),
            _joules(entry.price.energy_j),
            _joules(entry.energy_j),
            percent(thread.share(entry)),
            _short(entry.price.row) + mark,
        )
    return grid, *(
        Text(f"  [{number}] {printable(doubt)}", style="dim") for number, doubt in enumerate(doubts, start=1)
    )


def _short(row: str) -> str:
    """A row of the published table without the words that all of them have."""
    for word in (" Instructions", " Arithmetic", " Mathematical", "Floating ", " Precision"):
        row = row.replace(word, "")
    return printable(row)


def _bare_table(bare: tuple[PricedInstruction, ...]) -> Table:
    grid = plain_table(("  without energy",), ("executions",), ("why",))
    for entry in bare:
        grid.add_row(f"  {entry.opcode}", three_digits(entry.executions), printable(entry.price.reason))
    return grid


def energies_json(table: TableOfGpus) -> str:
    """The table as JSON; joules, null where unknown."""
    return as_text({**_about(table.own), "rows": [_row(row, table.others) for row in table.own.rows]})


def _about(energies: InstructionEnergies) -> dict[str, Json]:
    return {
        "schema_version": 1,
        "gpu": energies.gpu_id,
        **fields(energies, "optimized", "method", "variant", "source"),
        "caveat": _caveat(energies),
    }


def _row(row: InstructionEnergy, others: tuple[InstructionEnergies, ...]) -> dict[str, Json]:
    return {
        **fields(row, "category", "instruction", "opcodes", "energy_j", "note"),
        "others": [{"gpu": other.gpu_id, "energy_j": _elsewhere_j(other, row)} for other in others],
    }


def costs_json(costed: CostedFile, energies: InstructionEnergies) -> str:
    """The kernels as JSON; per thread, null where unknown."""
    return as_text({**_about(energies), "kernels": [_kernel_json(kernel) for kernel in costed.kernels]})


def _kernel_json(cost: KernelCost) -> dict[str, Json]:
    launched, kernel, thread, launch = cost.launched, cost.launched.kernel, cost.thread, cost.launch
    return {
        **fields(kernel, "name", "qualified_name"),
        **fields(kernel.span, "file", "line"),
        **fields(launched, "grid", "block"),
        "launch_source": launched.source.value,
        **fields(kernel, "body_is_complete"),
        **fields(thread, "executions"),
        "coverage": None if thread is None else thread.coverage(Basis.NAMED),
        "stand_in_coverage": None if thread is None else thread.coverage(Basis.STAND_IN),
        "thread_energy_j": None if thread is None else thread.energy_j,
        "launch_energy_j": None if launch is None else launch.most_j,
        "launch_above_idle_j": None if launch is None else launch.above_idle_j,
        "reason": cost.reason,
        "instructions": [
            {
                **fields(entry, "opcode", "executions"),
                "energy_each_j": entry.price.energy_j,
                "energy_j": entry.energy_j,
                "share": thread.share(entry),
                **fields(entry.price, "basis", "row", "reason"),
            }
            for entry in thread.instructions
        ]
        if thread is not None
        else [],
        "assumptions": [
            fields(entry, "rule", "file", "line", "message", "fix") for entry in cost.assumptions
        ],
    }
