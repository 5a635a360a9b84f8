"""Which of our figures stands against which counter, and how near it has to come.

What the counters of Pascal count was found from kernels whose truth is evident: docs/appendix/counters.md.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Generic, TypeVar

from msgspec import Struct

from wattslice.counting.sites import SECTOR_BYTES
from wattslice.workload.instructions import InstructionKind as Kind
from wattslice_corpora.counters import CounterRow
from wattslice_tools.public_sets.counters.launches import CountedLaunch


class Target(Enum):
    """How far a figure of ours may be from the counter, relative to it."""

    OPERATIONS = 0.10
    TRANSACTIONS = 0.25


Row = TypeVar("Row")
Work = TypeVar("Work")


class Quantity(Struct, Generic[Row, Work], frozen=True):
    """A counter and our figure for it. `counters`: those that `measured` is made of. `is_explained`: whether
    each miss has its cause written down.
    """

    name: str
    title: str
    target: Target
    counters: tuple[str, ...]
    measured: Callable[[Row], float | None]
    ours: Callable[[Work], float | None]
    is_explained: bool = True


FP32 = (Kind.FFMA, Kind.FADD, Kind.FMUL)
FP64 = (Kind.DFMA, Kind.DADD, Kind.DMUL)
INTEGER = (Kind.IMAD, Kind.IADD, Kind.LOP, Kind.SHF, Kind.ISETP)

QUANTITIES: tuple[Quantity[CounterRow, CountedLaunch], ...] = (
    Quantity(
        "fp32",
        "fp32 operations, FMA as two",
        Target.OPERATIONS,
        ("flop_count_sp",),
        lambda row: row.flop_count_sp,
        lambda it: it.thread_instructions(*FP32, Kind.FFMA),
    ),
    Quantity(
        "fp32_fma",
        "fp32 FMA instructions",
        Target.OPERATIONS,
        ("flop_count_sp_fma",),
        lambda row: row.flop_count_sp_fma,
        lambda it: it.thread_instructions(Kind.FFMA),
    ),
    Quantity(
        "fp32_special",
        "fp32 special-function instructions",
        Target.OPERATIONS,
        ("flop_count_sp_special",),
        lambda row: row.flop_count_sp_special,
        lambda it: it.thread_instructions(Kind.MUFU),
    ),
    Quantity(
        "fp32_instructions",
        "fp32 instructions, comparisons and special functions included",
        Target.OPERATIONS,
        ("inst_fp_32",),
        lambda row: row.inst_fp_32,
        lambda it: it.thread_instructions(*FP32, Kind.FSETP, Kind.MUFU),
    ),
    Quantity(
        "fp64",
        "fp64 operations, FMA as two",
        Target.OPERATIONS,
        ("flop_count_dp",),
        lambda row: row.flop_count_dp,
        lambda it: it.thread_instructions(*FP64, Kind.DFMA),
    ),
    Quantity(
        "fp64_instructions",
        "fp64 instructions, comparisons included",
        Target.OPERATIONS,
        ("inst_fp_64",),
        lambda row: row.inst_fp_64,
        lambda it: it.thread_instructions(*FP64, Kind.DSETP),
    ),
    Quantity(
        "integer",
        "integer instructions",
        Target.OPERATIONS,
        ("inst_integer",),
        lambda row: row.inst_integer,
        lambda it: it.thread_instructions(*INTEGER),
    ),
    Quantity(
        "instructions",
        "warp instructions of all kinds",
        Target.OPERATIONS,
        ("inst_executed",),
        lambda row: row.inst_executed,
        lambda it: it.warp_instructions(),
    ),
    Quantity(
        "control",
        "control-flow warp instructions",
        Target.OPERATIONS,
        ("cf_executed",),
        lambda row: row.cf_executed,
        lambda it: it.warp_instructions(Kind.BRANCH),
    ),
    Quantity(
        "global_load",
        "sectors of global loads",
        Target.TRANSACTIONS,
        ("gld_transactions", "global_hit_rate"),
        lambda row: row.gld_transactions * (1.0 - row.global_hit_rate),
        lambda it: it.sectors(stores=False),
    ),
    Quantity(
        "global_store",
        "sectors of global stores",
        Target.TRANSACTIONS,
        ("gst_transactions",),
        lambda row: row.gst_transactions,
        lambda it: it.sectors(stores=True),
    ),
    Quantity(
        "shared_load",
        "passes of shared-memory loads",
        Target.TRANSACTIONS,
        ("shared_load_transactions",),
        lambda row: row.shared_load_transactions,
        lambda it: it.shared_passes(stores=False),
    ),
    Quantity(
        "shared_store",
        "passes of shared-memory stores",
        Target.TRANSACTIONS,
        ("shared_store_transactions",),
        lambda row: row.shared_store_transactions,
        lambda it: it.shared_passes(stores=True),
    ),
    Quantity(
        "l2",
        "sectors between L1 and L2, both ways",
        Target.TRANSACTIONS,
        ("l2_read_transactions", "l2_write_transactions"),
        lambda row: row.l2_read_transactions + row.l2_write_transactions,
        lambda it: it.work.traffic.l2_bytes * it.threads / SECTOR_BYTES,
    ),
    Quantity(
        "dram",
        "sectors between L2 and DRAM, both ways",
        Target.TRANSACTIONS,
        ("dram_read_transactions", "dram_write_transactions"),
        lambda row: row.dram_read_transactions + row.dram_write_transactions,
        lambda it: it.work.traffic.dram_bytes * it.threads / SECTOR_BYTES,
    ),
)


class Compared(Struct, frozen=True):
    """One quantity of one counted launch. Totals of the launch; both are never zero."""

    benchmark: str
    kernel: str
    quantity: Quantity[Any, Any]
    ours: float
    measured: float

    @property
    def ratio(self) -> float | None:
        """Ours over measured; None when the counter is 0."""
        return self.ours / self.measured if self.measured else None

    @property
    def is_miss(self) -> bool:
        """Whether we are further from the counter than the target allows."""
        return self.ratio is None or abs(self.ratio - 1.0) > self.quantity.target.value

    @property
    def is_to_explain(self) -> bool:
        """Whether it is a miss whose cause is to be written down."""
        return self.is_miss and self.quantity.is_explained


def compare(row: CounterRow, launch: CountedLaunch) -> tuple[Compared, ...]:
    """All quantities that the launch has, by our count or by the counter.

    Left out is what the clocks change by more than 5 %: then it is no property of the kernel alone.
    """
    changing = set(row.changes_with_clock.split())
    stable = tuple(quantity for quantity in QUANTITIES if not changing.intersection(quantity.counters))
    return beside(row.benchmark, row.kernel, stable, row, launch)


def beside(
    benchmark: str, kernel: str, quantities: tuple[Quantity[Row, Work], ...], row: Row, work: Work
) -> tuple[Compared, ...]:
    """Each of `quantities` of which both sides tell something and one has some."""
    found = ((quantity, quantity.ours(work), quantity.measured(row)) for quantity in quantities)
    return tuple(
        Compared(benchmark, kernel, quantity, ours, measured)
        for quantity, ours, measured in found
        if ours is not None and measured is not None and (ours or measured)
    )
