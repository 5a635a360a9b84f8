"""Hardware counters that we measured with Nsight Compute: `measurements/<gpu>_counters_ncu.csv`.

One row per kernel of a program's run: the first launch of it (of the corpus' programs the one that campaigns
measure). What the counters count stands in docs/appendix/counters.md.
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records import MEASUREMENT_DIRECTORY, Dim3, read_table


class NcuRow(Struct, frozen=True):
    """One launch. The program: `file` of a checkout of `repository` (empty: of our corpus), built with
    `options` and run with `arguments`.

    `launches`: of this kernel in the whole run; None where the run was cut short. Empty cells were not asked
    for. Counts are of the whole launch: of threads that are not predicated off, or of warps, by the name.
    """

    program: str
    repository: str
    file: str
    options: str
    arguments: str
    kernel: str
    launches: int | None
    grid: Dim3 | None
    block: Dim3 | None
    registers_per_thread: int | None
    static_shared_bytes: int | None
    dynamic_shared_bytes: int | None
    time_s: float
    warp_instructions: float
    thread_instructions: float
    fadd_thread_instructions: float
    fmul_thread_instructions: float
    ffma_thread_instructions: float
    dadd_thread_instructions: float
    dmul_thread_instructions: float
    dfma_thread_instructions: float
    fp16_thread_instructions: float
    integer_thread_instructions: float
    control_thread_instructions: float
    memory_thread_instructions: float
    xu_warp_instructions: float
    tensor_warp_instructions: float
    global_load_requests: float
    global_load_sectors: float
    global_store_requests: float
    global_store_sectors: float
    shared_load_wavefronts: float
    shared_store_wavefronts: float
    l2_read_sectors: float
    l2_write_sectors: float
    dram_read_bytes: float
    dram_write_bytes: float
    active_warps_percent: float


COUNTERS: tuple[str, ...] = tuple(
    name for name in NcuRow.__struct_fields__ if NcuRow.__annotations__[name] == "float"
)
"""The counters of a row, in the order of the table."""


def ncu_counters_path(gpu_id: str) -> Path:
    """The table of counters of a GPU."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_counters_ncu.csv"


def read_ncu_counters(path: Path) -> tuple[NcuRow, ...]:
    """All rows of a table of counters. Raises `RecordError`, and ``OSError`` when unreadable."""
    return read_table(path, NcuRow, _fault)


def _fault(row: NcuRow) -> str:
    wrong = [name for name in COUNTERS if not 0.0 <= getattr(row, name) < math.inf]
    return f"{wrong[0]} must be finite and not negative" if wrong else ""
