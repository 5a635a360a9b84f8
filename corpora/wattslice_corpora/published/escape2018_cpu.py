"""ESCAPE deliverable D3.5, 2018: rates of CPUs; work, traffic and coefficients of loops that ran there.

Numbers as printed; where the paper contradicts itself, the docstring of the row says how it is read here.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.escape2018 import escape2018_path
from wattslice_corpora.published.tables import PublishedRow, numbers_by, table_rows

_GHZ = ("1.2", "1.4", "1.6", "1.8", "2", "2.4", "2.6", "turbo")
_NODES = (1, 2, 4, 8)


class CpuSpecificationRow(Struct, frozen=True):
    """Table 21: what the model uses of the Intel Xeon E5-2697v3's specification, of one of its sockets."""

    cores: int
    sockets: int
    clock_ghz: float
    double_flop_per_s_per_core: float


class SphericalCaseRow(Struct, frozen=True):
    """Table 22: input of a spherical-harmonics test case."""

    name: str
    resolution_km: float
    grid_number: float
    """GRIDN"""
    points: float
    """PTS"""
    truncation: float
    """NSMAX: the cut-off wavenumber."""
    iterations: float
    """ITER"""
    fields: float
    """F"""


class LoopMemoryRow(Struct, frozen=True):
    """Table 23: memory of one part of the dgemm loop that leinv calls."""

    part: str
    memory_bytes: float
    bytes_per_iteration: float
    intensity_flop_per_byte: float


class LoopWorkRow(Struct, frozen=True):
    """Table 24: work and traffic of one spherical-harmonics loop, TCO639. ``None``: the loop computes nothing
    (no work), or the intensity is not printed.
    """

    loop: str
    flop_per_iteration: float | None
    work_flop: float | None
    intensity_flop_per_byte: float | None
    bytes_per_iteration: float
    traffic_bytes: float


class CpuStateRow(Struct, frozen=True):
    """Tables 25 to 29 (Intel Xeon E5-2697v3) or Table 37 (Xeon Gold 6148): one clock and number of cores.

    `clock_ghz`: ``None`` in turbo mode, where the clock falls with the number of cores. `l1_bytes_per_s`:
    ``None`` where print is damaged (Table 37, 2 cores).
    """

    cpu: str
    clock_ghz: float | None
    cores: int
    flop_per_s: float
    l1_bytes_per_s: float | None
    l2_bytes_per_s: float
    l3_bytes_per_s: float
    dram_bytes_per_s: float


class LoopCoefficientsRow(Struct, frozen=True):
    """Table 30, or Tables 40 and 41: shares of the CPU's rates that a loop reaches.

    `l2_share`: ``None`` where print leaves it empty (qpassf.F:537). `flop_share`: ``None`` for a loop that
    computes nothing. `flop_offset_per_s`: S of Table 41, ``None`` where the table has no such column.
    """

    loop: str
    l1_share: float
    l2_share: float | None
    l3_share: float
    dram_share: float
    flop_share: float | None
    flop_offset_per_s: float | None


class DividedWorkRow(Struct, frozen=True):
    """Table 31: work or traffic of one spherical-harmonics loop on each of `nodes` nodes."""

    loop: str
    nodes: int
    quantity: str
    """``W``: flop, ``Q``: bytes."""
    amount: float


def escape2018_cpu_specification(path: Path | None = None) -> CpuSpecificationRow:
    """Table 21. Raises `PublishedTableError` with file and line for a damaged table."""
    number = numbers_by(path or escape2018_path(21), "quantity")
    return CpuSpecificationRow(
        cores=int(number("Cores", "value")),
        sockets=int(number("Sockets", "value")),
        clock_ghz=number("Frequency [GHz]", "value"),
        double_flop_per_s_per_core=number("Performance DP/core [GFLOP/s]", "value") * 1e9,
    )


def escape2018_spherical_cases(path: Path | None = None) -> tuple[SphericalCaseRow, ...]:
    """Table 22. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        SphericalCaseRow(
            name=row.text("testcase"),
            resolution_km=row.number("resolution_km"),
            grid_number=row.number("GRIDN"),
            points=row.number("PTS"),
            truncation=row.number("NSMAX"),
            iterations=row.number("ITER"),
            fields=row.number("F"),
        )
        for row in table_rows(path or escape2018_path(22))
    )


def escape2018_loop_memory(path: Path | None = None) -> tuple[LoopMemoryRow, ...]:
    """Table 23. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        LoopMemoryRow(
            part=row.text("part"),
            memory_bytes=row.number("memory_GB") * 1e9,
            bytes_per_iteration=row.number("bytes_per_iteration"),
            intensity_flop_per_byte=row.number("AI"),
        )
        for row in table_rows(path or escape2018_path(23))
    )


def escape2018_loop_work(path: Path | None = None) -> tuple[LoopWorkRow, ...]:
    """Table 24. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        LoopWorkRow(
            loop=row.text("loop"),
            flop_per_iteration=row.maybe("W_per_iter"),
            work_flop=row.maybe("W_flop"),
            intensity_flop_per_byte=row.maybe("I"),
            bytes_per_iteration=row.number("Q_per_iter"),
            traffic_bytes=row.number("Q_bytes"),
        )
        for row in table_rows(path or escape2018_path(24))
    )


def escape2018_haswell_states() -> tuple[CpuStateRow, ...]:
    """Tables 25 to 29, clock by clock. Raises `PublishedTableError` with file and line for a damaged one."""
    flop, l1, l2, l3, dram = (numbers_by(escape2018_path(number), "threads") for number in range(25, 30))
    cores = [row.text("threads") for row in table_rows(escape2018_path(25))]
    return tuple(
        CpuStateRow(
            cpu="Xeon E5-2697v3",
            clock_ghz=None if clock == "turbo" else float(clock),
            cores=int(threads),
            flop_per_s=flop(threads, clock) * 1e9,
            l1_bytes_per_s=l1(threads, clock) * 1e9,
            l2_bytes_per_s=l2(threads, clock) * 1e9,
            l3_bytes_per_s=l3(threads, clock) * 1e9,
            dram_bytes_per_s=dram(threads, clock) * 1e9,
        )
        for clock in _GHZ
        for threads in cores
    )


def escape2018_skylake_states(path: Path | None = None) -> tuple[CpuStateRow, ...]:
    """Table 37. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        CpuStateRow(
            cpu="Xeon Gold 6148",
            clock_ghz=2.4,
            cores=int(row.number("cores")),
            flop_per_s=row.number("GFLOP_s") * 1e9,
            l1_bytes_per_s=_giga(row, "L1_GB_s"),
            l2_bytes_per_s=row.number("L2_GB_s") * 1e9,
            l3_bytes_per_s=row.number("L3_GB_s") * 1e9,
            dram_bytes_per_s=row.number("DRAM_GB_s") * 1e9,
        )
        for row in table_rows(path or escape2018_path(37))
    )


def escape2018_spherical_loops(path: Path | None = None) -> tuple[LoopCoefficientsRow, ...]:
    """Table 30: spherical harmonics. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(_coefficients(row, row.maybe("U"), None) for row in table_rows(path or escape2018_path(30)))


def escape2018_bifft_loops() -> tuple[LoopCoefficientsRow, ...]:
    """Tables 40 and 41: BiFFT. Raises `PublishedTableError` with file and line for a damaged table."""
    flops = {row.text("loop"): row for row in table_rows(escape2018_path(41))}
    rows: list[LoopCoefficientsRow] = []
    for row in table_rows(escape2018_path(40)):
        flop = flops.get(row.text("loop"))
        share, offset = (flop.number("U"), _giga(flop, "S")) if flop else (None, None)
        rows.append(_coefficients(row, share, offset))
    return tuple(rows)


def escape2018_divided_work(path: Path | None = None) -> tuple[DividedWorkRow, ...]:
    """Table 31, one row per number. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        DividedWorkRow(row.text("loop"), nodes, row.text("metric"), row.number(str(nodes)))
        for row in table_rows(path or escape2018_path(31))
        for nodes in _NODES
    )


def _coefficients(row: PublishedRow, share: float | None, offset: float | None) -> LoopCoefficientsRow:
    return LoopCoefficientsRow(
        loop=row.text("loop"),
        l1_share=row.number("V"),
        l2_share=row.maybe("X"),
        l3_share=row.number("Y"),
        dram_share=row.number("Z"),
        flop_share=share,
        flop_offset_per_s=offset,
    )


def _giga(row: PublishedRow, column: str) -> float | None:
    found = row.maybe(column)
    return None if found is None else found * 1e9
