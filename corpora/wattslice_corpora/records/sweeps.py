"""Intensity sweeps: flops and bytes of measured runs, `NAME_sweep.csv` beside `NAME.csv`.

What an energy roofline is fitted to: kernels that do a known number of flops on a known number of bytes, from
far below to far above the balance of the machine.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_corpora.records.tables import read_table

Run = tuple[str, str, str]
"""Benchmark, kernel and arguments."""


class FlopKind(StrEnum):
    """What the flops of a sweep are made in."""

    SINGLE = "single"
    DOUBLE = "double"


class SweepRow(Struct, frozen=True):
    """One run of a sweep, found again among the measured ones by the first three columns.

    `precision`: ``single`` or ``double``. `work_flop`: W of one launch, additions and multiplications of that
    precision. `traffic_bytes`: Q of one launch, bytes to and from DRAM.
    """

    benchmark: str
    kernel: str
    arguments: str
    precision: str
    work_flop: float
    traffic_bytes: float

    @property
    def run(self) -> Run:
        """Which measured runs it is of."""
        return self.benchmark, self.kernel, self.arguments


def sweep_fault(row: SweepRow) -> str:
    """What is wrong with a row, else empty."""
    if row.precision not in tuple(FlopKind):
        return f"precision is {row.precision!r}, not one of {', '.join(FlopKind)}"
    if row.work_flop <= 0:
        return "work_flop must be above 0: the regression divides by it"
    if row.traffic_bytes < 0:
        return "traffic_bytes must not be negative"
    return ""


def sweep_path(gpu_id: str) -> Path:
    """The sweep among the measured runs of a GPU; most have none."""
    return sweep_beside(MEASUREMENT_DIRECTORY / f"{gpu_id}.csv")


def sweep_beside(measured: Path) -> Path:
    """Where the sweep of a table of measured runs stands."""
    return measured.with_name(f"{measured.stem}_sweep.csv")


def read_sweep(path: Path) -> tuple[SweepRow, ...]:
    """All rows. Raises `RecordError` with file and line, and ``OSError`` when unreadable."""
    return read_table(path, SweepRow, sweep_fault)
