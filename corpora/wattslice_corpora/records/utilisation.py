"""What DCGM counted during measured runs, for counter-based predictors: `measurements/<gpu>_dcgm.csv`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_corpora.records.tables import read_table


class UtilisationRow(Struct, frozen=True):
    """Averages over one run, found again by the first six columns, as fractions 0 to 1; None: not recorded.

    `sm_active`: SM cycles with at least a warp resident; `sm_occupancy`: resident warps over the most
    possible; `dram_active`: cycles in which the memory moved data; the others: those with the pipe busy.
    """

    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float | None
    memory_mhz: float | None
    sm_active: float | None
    sm_occupancy: float | None
    dram_active: float | None
    fp32_active: float | None
    fp64_active: float | None
    fp16_active: float | None
    tensor_active: float | None


_FRACTIONS = (
    "sm_active",
    "sm_occupancy",
    "dram_active",
    "fp32_active",
    "fp64_active",
    "fp16_active",
    "tensor_active",
)


def utilisation_fault(row: UtilisationRow) -> str:
    """What is wrong with a row, else empty."""
    for name in _FRACTIONS:
        value = getattr(row, name)
        if value is not None and not 0 <= value <= 1:
            return f"{name} must be a fraction from 0 to 1"
    return ""


def utilisation_path(gpu_id: str) -> Path:
    """The table of a GPU; most have none."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_dcgm.csv"


def read_utilisation(path: Path) -> tuple[UtilisationRow, ...]:
    """All rows. Raises `RecordError` with file and line, and ``OSError`` when unreadable."""
    return read_table(path, UtilisationRow, utilisation_fault)
