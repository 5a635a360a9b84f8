"""Our own features of the slices of measured kernels: `measurements/<gpu>_slices.csv`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_corpora.records.tables import read_table


class SliceRow(Struct, frozen=True):
    """Our static features of one slice of one launch of a timed iteration (Wang & Chen 2013, section 2.3).

    The first five columns are those of the workload row of the launch; a launch whose kernel touches no
    memory has no slice. `arithmetic_density` Ã, None when the slice makes no access; `sm_saturation` Sa in
    (0, 1] (Def. 4); `code_lines`: effective logical statements, each once. `length`: executed statements of
    all threads of all `repeat` launches, whose share in those of the whole iteration is |C_i| / L of (12).
    """

    benchmark: str
    kernel: str
    arguments: str
    launch: int
    launched_kernel: str
    memory_space: str
    arithmetic_density: float | None
    sm_saturation: float
    code_lines: int
    length: float


def slice_fault(row: SliceRow) -> str:
    """What is wrong with a row, else empty."""
    if not 0 < row.sm_saturation <= 1:
        return "sm_saturation must lie in (0, 1]"
    if row.arithmetic_density is not None and row.arithmetic_density < 0:
        return "arithmetic_density must not be negative"
    return "" if row.length >= 0 and row.code_lines >= 0 else "length and code_lines must not be negative"


def slices_path(gpu_id: str) -> Path:
    """The table of a GPU (access energies and SM saturation depend on it)."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_slices.csv"


def read_slices(path: Path) -> tuple[SliceRow, ...]:
    """All rows. Raises `RecordError` with file and line, and ``OSError`` when unreadable."""
    return read_table(path, SliceRow, slice_fault)
