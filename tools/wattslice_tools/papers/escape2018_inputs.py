"""ESCAPE's printed tables as what the models take."""

from __future__ import annotations

from functools import cache

from msgspec import convert
from msgspec.structs import asdict

from wattslice_corpora.published.escape2018 import (
    GpuCharacteristicsRow,
    KernelCharacteristicsRow,
    escape2018_kernels,
)
from wattslice_corpora.published.escape2018_cpu import (
    CpuStateRow,
    escape2018_loop_work,
    escape2018_spherical_loops,
)
from wattslice_models.cpu_roofline import CpuRates, Loop, LoopCoefficients
from wattslice_models.escape_time import GpuCharacteristics, KernelCharacteristics

_ARCHITECTURES = {"GeForce 970": "maxwell", "Tesla K20m": "kepler", "Tesla 2070-q": "fermi"}


def published_kernel(row: KernelCharacteristicsRow) -> KernelCharacteristics:
    """A kernel of Table 9. Its counts reproduce the printed times only with N doubled:
    `escape_time.PUBLISHED_CELLS_FACTOR`.
    """
    return convert(row, KernelCharacteristics, from_attributes=True)


@cache
def acraneb2() -> tuple[KernelCharacteristics, ...]:
    """The seven kernels of Table 9."""
    return tuple(map(published_kernel, escape2018_kernels()))


def published_gpu(row: GpuCharacteristicsRow) -> GpuCharacteristics:
    """A GPU of Table 10, its peaks as printed."""
    told = {"name": row.gpu, "architecture": _ARCHITECTURES[row.gpu]}
    return convert(asdict(row) | told, GpuCharacteristics)


def published_rates(row: CpuStateRow) -> CpuRates[float] | None:
    """A state of a CPU (Tables 25 to 29, 37); ``None`` where a rate is damaged in print."""
    return None if row.l1_bytes_per_s is None else convert(row, CpuRates[float], from_attributes=True)


@cache
def spherical_harmonics() -> tuple[Loop, ...]:
    """The loops of the spherical-harmonics dwarf, TCO639, on one node: Tables 24 and 30.

    An empty X would be a level of memory without a share; Table 30 has none.
    """
    works = {row.loop: row for row in escape2018_loop_work()}
    return tuple(
        Loop(
            name=row.loop,
            work_flop=works[row.loop].work_flop or 0.0,
            traffic_bytes=works[row.loop].traffic_bytes,
            coefficients=LoopCoefficients(
                row.l1_share, row.l2_share or 0.0, row.l3_share, row.dram_share, row.flop_share
            ),
        )
        for row in escape2018_spherical_loops()
    )
