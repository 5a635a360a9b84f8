"""ESCAPE deliverable D3.5, 2018: run times of weather and climate kernels on GPUs.

Numbers as printed; where the paper contradicts itself, the docstring of the row says how it is read here.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.tables import numbers_by, table_rows

_TABLES = Path(__file__).parent / "escape2018"
_GPUS = ("GeForce 970", "Tesla K20m", "Tesla 2070-q")


class RooflineRow(Struct, frozen=True):
    """Tables 1 to 6 and 18 to 20: work and traffic of a kernel, or of all of them on a domain of some size.

    `time_s`: measured in Tables 4 to 6; modelled in Tables 1 to 3 (equal to Tables 12 to 14) and 18 to 20.
    `intensity` (flop per byte) and `flop_per_s` as printed. Tables 18 to 20 only: `profiled_s`, and
    `difference` of the modelled from it, a fraction.
    """

    gpu: str
    name: str
    work_flop: float
    traffic_bytes: float
    time_s: float
    intensity: float
    flop_per_s: float
    profiled_s: float | None
    difference: float | None


class KernelCharacteristicsRow(Struct, frozen=True):
    """Table 9: one ACRANEB2 kernel. Shares of time are fractions; counts are for one cell of the domain."""

    kernel: str
    inactive_share: float
    miscellaneous_share: float
    control_flow_share: float
    memory_efficiency: float
    requested_bytes: float
    integer_instructions: float
    single_instructions: float
    double_instructions: float
    warp_instructions: float
    instructions_per_clock_per_sm: float


class GpuCharacteristicsRow(Struct, frozen=True):
    """Table 10: one GPU; peaks count a multiply-add as two operations, rates per clock and SM as one."""

    gpu: str
    core_clock_hz: float
    memory_clock_hz: float
    memory_bus_bits: int
    sm_count: int
    double_per_clock_per_sm: float
    single_per_clock_per_sm: float
    integer_per_clock_per_sm: float
    peak_double_flop_per_s: float
    peak_single_flop_per_s: float
    peak_integer_op_per_s: float
    memory_bandwidth_bytes_per_s: float


class VerificationRow(Struct, frozen=True):
    """Tables 12 to 17: the time of one kernel (``Dwarf``: of all). `modelled_s` is compute, transfer and
    inactive time together: the printed column "Total"; the measured time is the one called "Simulated".
    """

    gpu: str
    domain: str
    kernel: str
    compute_s: float
    transfer_s: float
    inactive_s: float
    modelled_s: float
    measured_s: float


def escape2018_tables() -> tuple[Path, ...]:
    """The files of the tables, in the order of their numbers."""
    return tuple(sorted(_TABLES.glob("table*.csv")))


def escape2018_path(number: int) -> Path:
    """The file of Table `number`."""
    return _TABLES / f"table{number:02d}.csv"


def escape2018_roofline(number: int, path: Path | None = None) -> tuple[RooflineRow, ...]:
    """Table `number`: 1 to 6, 18 to 20. Raises `PublishedTableError` with file and line for a damaged one."""
    gpu = _GPUS[(number - 1) % 3] if number <= 6 else _GPUS[number - 18]
    return tuple(
        RooflineRow(
            gpu=gpu,
            name=row.text("kernel" if number <= 3 else "domain_size"),
            work_flop=row.number("W_flop"),
            traffic_bytes=row.number("Q_byte"),
            time_s=row.number("T_s" if number <= 6 else "T_sim_s"),
            intensity=row.number("W_per_Q_flop_per_byte" if number <= 6 else "W_per_Q"),
            flop_per_s=row.number("W_per_T_gflop_s") * 1e9,
            profiled_s=None if number <= 6 else row.number("T_prof_s"),
            difference=None if number <= 6 else row.number("difference_pct"),
        )
        for row in table_rows(path or escape2018_path(number))
    )


def escape2018_kernels(path: Path | None = None) -> tuple[KernelCharacteristicsRow, ...]:
    """Table 9. Raises `PublishedTableError` with file and line for a damaged table."""
    path = path or escape2018_path(9)
    number = numbers_by(path, "symbol")
    kernels = [column for column in next(table_rows(path)).cells if column not in ("symbol", "unit")]
    return tuple(
        KernelCharacteristicsRow(
            kernel=kernel,
            inactive_share=number("P_{iavg}", kernel),
            miscellaneous_share=number("P_{mavg}", kernel),
            control_flow_share=number("P_{cflavg}", kernel),
            memory_efficiency=number("G_{eavg}", kernel),
            requested_bytes=number("G_{ravgn}", kernel),
            integer_instructions=number("i_{iavgn}", kernel),
            single_instructions=number("i_{favgn}", kernel),
            double_instructions=number("i_{davgn}", kernel),
            warp_instructions=number("l_{eavgn}", kernel),
            instructions_per_clock_per_sm=number("IPC_{eavg}", kernel),
        )
        for kernel in kernels
    )


def escape2018_gpus(path: Path | None = None) -> tuple[GpuCharacteristicsRow, ...]:
    """Table 10. Raises `PublishedTableError` with file and line for a damaged table."""
    number = numbers_by(path or escape2018_path(10), "symbol")
    return tuple(
        GpuCharacteristicsRow(
            gpu=gpu,
            core_clock_hz=number("C_G", gpu),
            memory_clock_hz=number("C_M", gpu),
            memory_bus_bits=int(number("G_{bit}", gpu)),
            sm_count=int(number("SM", gpu)),
            double_per_clock_per_sm=number("O_{SMd}", gpu),
            single_per_clock_per_sm=number("O_{SMf}", gpu),
            integer_per_clock_per_sm=number("O_{SMi}", gpu),
            peak_double_flop_per_s=number("O_d", gpu),
            peak_single_flop_per_s=number("O_f", gpu),
            peak_integer_op_per_s=number("O_i", gpu),
            memory_bandwidth_bytes_per_s=number("G_{max}", gpu),
        )
        for gpu in _GPUS
    )


def escape2018_verification(number: int, path: Path | None = None) -> tuple[VerificationRow, ...]:
    """Table `number`, 12 to 17. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        VerificationRow(
            gpu=_GPUS[number % 3],
            domain="200x200x80" if number < 15 else "100x100x80",
            kernel=row.text("kernel"),
            compute_s=row.number("compute_s"),
            transfer_s=row.number("transfer_s"),
            inactive_s=row.number("inactive_s"),
            modelled_s=row.number("printed_col_Total_s"),
            measured_s=row.number("printed_col_Simulated_s"),
        )
        for row in table_rows(path or escape2018_path(number))
    )
