"""ESCAPE deliverable D3.5, 2018: power and energy of weather and climate kernels on CPUs and GPUs.

Numbers as printed; where the paper contradicts itself, the docstring of the row says how it is read here.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from wattslice_corpora.published.escape2018 import escape2018_path
from wattslice_corpora.published.tables import PublishedRow, numbers_by, table_rows

_BIFFT_CASES = ("200x180_20f", "200x180_525f", "800x720_20f")


class CpuPowerRow(Struct, frozen=True):
    """Table 32: Intel i7-4700EQ under a stress test, 0 cores: idle. Printed in J, used as joules a second."""

    cores: int
    package_w: float
    memory_w: float


class CoefficientRow(Struct, frozen=True):
    """Tables 33, 34, 42, 43: coefficients of ``measured = busy * full + idle * full of 0 cores``.

    `full_w`: under a stress test (0 cores: idle); `measured_w`: running the program. Printed in J, used as
    joules a second.
    """

    cores: int
    full_w: float
    measured_w: float | None
    busy: float | None
    idle: float | None


class NodeEnergyRow(Struct, frozen=True):
    """Table 35: spherical harmonics on an Intel E5-2640v3. 0 cores: idle, where only powers are printed."""

    cores: int
    package_w: float
    memory_w: float
    time_s: float | None
    package_modelled_j: float | None
    memory_modelled_j: float | None
    package_measured_j: float | None
    memory_measured_j: float | None


class GpuPowerRow(Struct, frozen=True):
    """Table 36: average power of a GPU, also as a share of its limit. Printed in W/s, which must be W."""

    gpu: str
    limit_w: float
    average_w: float
    share_of_limit: float


class BifftRow(Struct, frozen=True):
    """Tables 38 and 39: BiFFT on one core and on several. `intensity` in flop per byte."""

    case: str
    work_flop: float
    traffic_bytes: float
    time_s: float
    intensity: float
    flop_per_s: float
    bytes_per_s: float


class BifftEnergyRow(Struct, frozen=True):
    """Table 44: measured and modelled energy of one BiFFT case."""

    case: str
    cores: int
    measured_j: float
    modelled_j: float


def escape2018_cpu_power(path: Path | None = None) -> tuple[CpuPowerRow, ...]:
    """Table 32. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        CpuPowerRow(cores=_cores(row), package_w=row.number("pkg_J"), memory_w=row.number("dram_J"))
        for row in table_rows(path or escape2018_path(32))
    )


def escape2018_coefficients(number: int, path: Path | None = None) -> tuple[CoefficientRow, ...]:
    """Table `number`: 33 or 42 (package), 34 or 43 (memory).

    Raises `PublishedTableError` with file and line for a damaged table.
    """
    part, busy, idle = ("pkg", "U", "S") if number in (33, 42) else ("dram", "X", "Y")
    return tuple(
        CoefficientRow(
            cores=_cores(row),
            full_w=row.number(f"E_{part}_J"),
            measured_w=row.maybe(f"E_m_{part}_J"),
            busy=row.maybe(busy),
            idle=row.maybe(idle),
        )
        for row in table_rows(path or escape2018_path(number))
    )


def escape2018_node_energy(path: Path | None = None) -> tuple[NodeEnergyRow, ...]:
    """Table 35. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        NodeEnergyRow(
            cores=_cores(row),
            package_w=row.number("E_pkg_J"),
            memory_w=row.number("E_dram_J"),
            time_s=row.maybe("time_s"),
            package_modelled_j=row.maybe("E_pkg_model_J"),
            memory_modelled_j=row.maybe("E_dram_model_J"),
            package_measured_j=row.maybe("E_pkg_measured_J"),
            memory_measured_j=row.maybe("E_dram_measured_J"),
        )
        for row in table_rows(path or escape2018_path(35))
    )


def escape2018_gpu_power(path: Path | None = None) -> tuple[GpuPowerRow, ...]:
    """Table 36. Raises `PublishedTableError` with file and line for a damaged table."""
    number = numbers_by(path or escape2018_path(36), "quantity")
    return tuple(
        GpuPowerRow(
            gpu=gpu,
            limit_w=number("power_limit_W", gpu),
            average_w=number("avg_power_W", gpu),
            share_of_limit=number("S_pct_of_power_limit", gpu) / 100,
        )
        for gpu in ("Tesla K20", "GeForce GTX970")
    )


def escape2018_bifft(number: int, path: Path | None = None) -> tuple[BifftRow, ...]:
    """Table `number`, 38 or 39. Raises `PublishedTableError` with file and line for a damaged table."""
    return tuple(
        BifftRow(
            case=row.text("testcase"),
            work_flop=row.number("gflop") * 1e9,
            traffic_bytes=row.number("gbyte") * 1e9,
            time_s=row.number("time_s"),
            intensity=row.number("I_flop_per_byte"),
            flop_per_s=row.number("gflop_s") * 1e9,
            bytes_per_s=row.number("gb_s") * 1e9,
        )
        for row in table_rows(path or escape2018_path(number))
    )


def escape2018_bifft_energy(path: Path | None = None) -> tuple[BifftEnergyRow, ...]:
    """Table 44, one row per number pair. Raises `PublishedTableError` for a damaged table."""
    return tuple(
        BifftEnergyRow(
            case=case,
            cores=_cores(row),
            measured_j=row.number(f"E_meas_{case}_J"),
            modelled_j=row.number(f"E_sim_{case}_J"),
        )
        for row in table_rows(path or escape2018_path(44))
        for case in _BIFFT_CASES
    )


def _cores(row: PublishedRow) -> int:
    return 0 if row.text("cores") == "idle" else int(row.number("cores"))
