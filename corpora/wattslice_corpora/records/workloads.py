"""Our own static features of measured kernels: `measurements/<gpu>_workloads.csv`."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.measured import MEASUREMENT_DIRECTORY
from wattslice_corpora.records.tables import read_table


class WorkloadRow(Struct, frozen=True):
    """Our static features of one kernel launch of one timed iteration; units as in the `Workload` record.

    `launch`: 0, 1, ... for the launches of an iteration, each made `repeat` times. An empty cell is unknown.
    `doubt`: why counts or bytes are not to be trusted (addresses not followed, assumed trips), else empty.
    `kinds`: blocks that differ, as JSON; else empty.
    """

    benchmark: str
    kernel: str
    arguments: str
    launch: int
    launched_kernel: str
    path: str
    repeat: int
    blocks: int
    threads_per_block: int
    active_warps_per_sm: float
    fp32: float
    fp32_three_registers: float
    fp64: float
    fp16: float
    integer: float
    integer_multiply: float
    special: float
    wide_conversion: float
    tensor: float
    load_store: float
    other: float
    warp_instructions: float | None
    l1_bytes: float | None
    l2_bytes: float | None
    dram_bytes: float | None
    dram_rows: float | None
    shared_passes: float | None
    l1_passes: float | None
    shared_accesses: float
    texture_fetches: float
    atomics: float
    barriers: float
    global_loads: float | None
    dependent_instructions: float | None
    dependent_shared: float | None
    dependent_loads: float | None
    longest_warp: float
    footprint_bytes: float | None
    live_operands: float
    live_data: float
    doubt: str
    kinds: str
    constant_requests: float = 0.0
    constant_misses: float = 0.0
    atomic_requests: float = 0.0
    atomic_line_requests: float = 0.0


def workloads_path(gpu_id: str) -> Path:
    """The table of our features, made for a GPU (occupancy and filling launches depend on it)."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_workloads.csv"


def read_workloads(path: Path) -> tuple[WorkloadRow, ...]:
    """All rows of a table of features. Raises `RecordError`, and ``OSError`` when unreadable."""
    return read_table(path, WorkloadRow, by_name=True)
