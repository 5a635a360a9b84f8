"""Arafa et al. 2020, Table I, number by number, as the pages about it ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from wattslice.ptx_energy.tables import gpu_of_column
from wattslice_corpora.published.arafa2020 import arafa2020_instruction_energies

Row = tuple[str, str]
"""Category and instructions, as printed."""
METHODS = ("PAPI", "MTSM")
GPUS = {"gtx_titan_x": "Maxwell", "gtx_1080_ti": "Pascal", "titan_v": "Volta", "titan_rtx": "Turing"}
"""How the paper calls its GPUs."""


class Cell(Struct, frozen=True):
    """One number of the table, in the microjoules that it turns out to hold."""

    row: Row
    gpu: str  # "Maxwell", ...
    optimized: bool
    method: str
    value: float


@cache
def cells() -> tuple[Cell, ...]:
    """All numbers that the table prints."""
    return tuple(
        Cell(
            (row.category, row.instruction),
            GPUS[gpu_of_column(row.gpu).id],
            row.optimized,
            row.method,
            row.energy_j * 1e6,
        )
        for row in arafa2020_instruction_energies()
        if row.energy_j is not None
    )


def value(row: Row, gpu: str, optimized: bool, method: str) -> float:
    """A number of the table. Raises ``LookupError`` where it has none."""
    return _values()[row, gpu, optimized, method]


@cache
def _values() -> dict[tuple[Row, str, bool, str], float]:
    return {(cell.row, cell.gpu, cell.optimized, cell.method): cell.value for cell in cells()}


@cache
def table_rows() -> tuple[Row, ...]:
    """All rows, in their order."""
    return tuple(dict.fromkeys(cell.row for cell in cells()))


def places() -> Iterator[tuple[Row, str, bool]]:
    """Every place of the table that has numbers, by row, GPU and optimisation."""
    yield from dict.fromkeys((cell.row, cell.gpu, cell.optimized) for cell in cells())
