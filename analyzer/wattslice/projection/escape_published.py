"""ESCAPE's printed tables as what the models take."""

from __future__ import annotations

from functools import cache

from wattslice_corpora.published import (
    CpuStateRow,
    GpuCharacteristicsRow,
    KernelCharacteristicsRow,
    escape2018_kernels,
    escape2018_loop_work,
    escape2018_spherical_loops,
)
from wattslice_models.cpu_roofline import CpuRates, Loop, LoopCoefficients
from wattslice_models.escape_time import GpuCharacteristics, KernelCharacteristics
from wattslice_models.gpu import Architecture

_ARCHITECTURES = {
    "GeForce 970": Architecture.MAXWELL,
    "Tesla K20m": Architecture.KEPLER,
    "Tesla 2070-q": Architecture.FERMI,
}


def published_kernel(row: KernelCharacteristicsRow) -> KernelCharacteristics:
    """A kernel of Table 9. Its counts reproduce the printed times only with N doubled:
    `escape_time.PUBLISHED_CELLS_FACTOR`.
    """
    return KernelCharacteristics(
        inactive_share=row.inactive_share,
        miscellaneous_share=row.miscellaneous_share,
        control_flow_share=row.control_flow_share,
        memory_efficiency=row.memory_efficiency,
        requested_bytes=row.requested_bytes,
        integer_instructions=row.integer_instructions,
        single_instructions=row.single_instructions,
        double_instructions=row.double_instructions,
        warp_instructions=row.warp_instructions,
        instructions_per_clock_per_sm=row.instructions_per_clock_per_sm,
    )


@cache
def acraneb2() -> tuple[KernelCharacteristics, ...]:
    """The seven kernels of Table 9."""
    return tuple(map(published_kernel, escape2018_kernels()))


def published_gpu(row: GpuCharacteristicsRow) -> GpuCharacteristics:
    """A GPU of Table 10, its peaks as printed."""
    return GpuCharacteristics(
        name=row.gpu,
        architecture=_ARCHITECTURES[row.gpu],
        core_clock_hz=row.core_clock_hz,
        sm_count=row.sm_count,
        peak_double_flop_per_s=row.peak_double_flop_per_s,
        peak_single_flop_per_s=row.peak_single_flop_per_s,
        peak_integer_op_per_s=row.peak_integer_op_per_s,
        memory_bandwidth_bytes_per_s=row.memory_bandwidth_bytes_per_s,
    )


def published_rates(row: CpuStateRow) -> CpuRates[float] | None:
    """A state of a CPU (Tables 25 to 29, 37); ``None`` where a rate is damaged in print."""
    if row.l1_bytes_per_s is None:
        return None
    return CpuRates(
        flop_per_s=row.flop_per_s,
        l1_bytes_per_s=row.l1_bytes_per_s,
        l2_bytes_per_s=row.l2_bytes_per_s,
        l3_bytes_per_s=row.l3_bytes_per_s,
        dram_bytes_per_s=row.dram_bytes_per_s,
    )


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
