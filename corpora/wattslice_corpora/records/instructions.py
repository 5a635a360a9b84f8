"""Measured energies of single instructions: the table that `wattslice measure --instructions` writes."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.tables import read_table

VARIANTS = ("latency", "throughput")


class MeasuredInstruction(Struct, frozen=True, kw_only=True):
    """What one PTX instruction cost on one board, by one method.

    `instruction`: the opcode; ``sub.cc.u32+subc.u32`` are two that were measured as one, the numbers are then
    the mean of the two. `category`, `table_row`: where Arafa et al. 2020, Table I, has it; empty where it has
    not. `optimized`: assembled with -O3, else -O0. `variant`: ``latency`` (one thread, as in the paper) or
    ``throughput`` (all SMs full of threads). `method`: ``MTSM``, ``SMA``, ``PAPI`` or ``energy counter``.

    `energy_j`: of one instruction in one thread, whole board, idle power included; None with a `reason`.
    `standard_error_j`: None while no kernel of the variant was measured twice. `time_s`: by how much one more
    instruction in one thread prolongs the run. `above_idle_j`: without `idle_power_w` (the median of the
    table) over that time. `repeats`: valid runs of the kernel with the instructions. `sass`: the machine
    instructions of an instance; empty when there was no disassembler. Clock, temperature: means of the runs.
    """

    instruction: str
    category: str = ""
    table_row: str = ""
    optimized: bool
    variant: str
    method: str
    energy_j: float | None
    standard_error_j: float | None = None
    above_idle_j: float | None = None
    time_s: float | None = None
    repeats: int = 1
    sass: str = ""
    core_mhz: float | None = None
    temperature_c: float | None = None
    idle_power_w: float | None = None
    board: str
    driver: str = ""
    reason: str = ""


def read_instructions(path: Path) -> tuple[MeasuredInstruction, ...]:
    """The rows of ``instructions.csv``, its columns by name; those with a default may be missing.

    Raises `RecordError`, ``OSError``.
    """
    return read_table(path, MeasuredInstruction, _fault, by_name=True)


def _fault(row: MeasuredInstruction) -> str:
    if row.variant not in VARIANTS:
        return f"column 'variant': {row.variant!r} is none of {', '.join(VARIANTS)}"
    if row.energy_j is None and not row.reason:
        return "no 'energy_j', and no 'reason' why"
    if row.energy_j is not None and row.energy_j <= 0:
        return f"column 'energy_j': {row.energy_j} is not above 0"
    if row.standard_error_j is not None and row.standard_error_j < 0:
        return f"column 'standard_error_j': {row.standard_error_j} is below 0"
    if row.energy_j is not None and row.above_idle_j is not None and row.above_idle_j > row.energy_j:
        return f"column 'above_idle_j': {row.above_idle_j} is above 'energy_j', {row.energy_j}"
    return ""
