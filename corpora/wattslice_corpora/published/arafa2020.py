"""Arafa et al. 2020: the energy of single PTX instructions."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.tables import PublishedTableError, table_rows

_TABLE = Path(__file__).parent / "arafa2020" / "table1.csv"


class InstructionEnergyRow(Struct, frozen=True):
    """Arafa et al. 2020, Table I: one kind of PTX instruction on one GPU.

    `energy_j`: whole-board power times the latency of an instruction in a dependent chain of one thread, so a
    relative cost, not what an instruction costs at full throughput; None where the paper has no number. The
    table prints 10^6 times that. `method`: PAPI (one reading) or MTSM (area under synchronised samples).
    """

    category: str
    instruction: str
    gpu: str
    optimized: bool
    method: str
    energy_j: float | None


def arafa2020_instruction_energies(path: Path = _TABLE) -> tuple[InstructionEnergyRow, ...]:
    """Table I. Raises `PublishedTableError` with file and line for a damaged table."""
    rows: list[InstructionEnergyRow] = []
    for row in table_rows(path):
        optimized = row.text("optimized")
        if optimized not in ("yes", "no"):
            raise PublishedTableError(path, row.line, f"'optimized' is neither yes nor no: {optimized!r}")
        microjoules = row.maybe("energy_uj")
        rows.append(
            InstructionEnergyRow(
                category=row.text("category"),
                instruction=row.text("instruction"),
                gpu=row.text("gpu"),
                optimized=optimized == "yes",
                method=row.text("method"),
                energy_j=None if microjoules is None else microjoules * 1e-6,
            )
        )
    return tuple(rows)
