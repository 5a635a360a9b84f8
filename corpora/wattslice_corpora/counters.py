"""Hardware counters that others measured for public kernels: `measurements/<gpu>_counters.csv`.

One row per program, kernel and arguments; every counter is for one launch of the kernel. The names are
nvprof's; what they count on the board at hand stands in docs/appendix/counters.md. Counts of more than ten
digits come from the source with four significant ones.
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records import MEASUREMENT_DIRECTORY, Dim3, read_table


class CounterRow(Struct, frozen=True):
    """Counters of one launch, the median over the clocks it was measured at; units as nvprof's.

    `clocks`: pairs of core and memory clock that the median was taken over. `changes_with_clock`: the
    counters that differ by more than 5 % between clocks, separated by spaces. `..._per_request`: per request
    of a warp. Efficiencies and hit rates are shares of 1.
    `inst_executed`, `inst_per_warp` and `cf_executed` count warp
    instructions, the other `inst_...` and `flop_...` thread operations, where an FMA is two `flop`.
    """

    benchmark: str
    kernel: str
    arguments: str
    grid_x: int
    grid_y: int
    grid_z: int
    block_x: int
    block_y: int
    block_z: int
    clocks: int
    changes_with_clock: str
    warp_execution_efficiency: float
    branch_efficiency: float
    inst_executed: float
    inst_per_warp: float
    cf_executed: float
    inst_fp_32: float
    inst_fp_64: float
    inst_integer: float
    flop_count_sp: float
    flop_count_sp_fma: float
    flop_count_sp_special: float
    flop_count_dp: float
    flop_count_dp_fma: float
    gld_transactions: float
    gld_transactions_per_request: float
    global_hit_rate: float
    gst_transactions: float
    gst_transactions_per_request: float
    shared_load_transactions: float
    shared_load_transactions_per_request: float
    shared_store_transactions: float
    shared_store_transactions_per_request: float
    tex_cache_transactions: float
    tex_cache_hit_rate: float
    l2_tex_read_transactions: float
    l2_read_transactions: float
    l2_write_transactions: float
    dram_read_transactions: float
    dram_write_transactions: float

    @property
    def grid(self) -> Dim3:
        """Blocks along x, y, z."""
        return self.grid_x, self.grid_y, self.grid_z

    @property
    def block(self) -> Dim3:
        """Threads of a block along x, y, z."""
        return self.block_x, self.block_y, self.block_z


COUNTERS: tuple[str, ...] = tuple(
    name for name in CounterRow.__struct_fields__ if CounterRow.__annotations__[name] == "float"
)
"""The counters of a row by their nvprof names, in the order of the table."""


def counters_path(gpu_id: str) -> Path:
    """The table of counters of a GPU."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_counters.csv"


def read_counters(path: Path) -> tuple[CounterRow, ...]:
    """All rows of a table of counters. Raises `RecordError`, and ``OSError`` when unreadable."""
    return read_table(path, CounterRow, _fault)


def _fault(row: CounterRow) -> str:
    if min(*row.grid, *row.block) < 1:
        return "a launch without blocks or threads"
    wrong = [name for name in COUNTERS if not 0.0 <= getattr(row, name) < math.inf]
    return f"{wrong[0]} must be finite and not negative" if wrong else ""
