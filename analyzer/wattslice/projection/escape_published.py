"""ESCAPE's printed tables as what the models take."""

from __future__ import annotations

from functools import cache

from msgspec import convert
from msgspec.structs import asdict

from wattslice.projection.workflow import CharacterisedKernels, CpuState
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
from wattslice_models.escape_time import GpuCharacteristics, KernelCharacteristics, kernels_time_s
from wattslice_models.gpu import load_gpu

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


PUBLISHED_CPUS = {"e5-2697v3": "Tables 25 to 29", "xeon-gold-6148": "Table 37"}
"""The CPUs whose rates are printed, and where."""


@cache
def published_states(name: str) -> tuple[tuple[CpuState, ...], str]:
    """The rates at every clock and number of cores that is printed, and the tables they stand in.

    Left out: turbo mode, whose clock falls with the number of cores, and a state with a rate that print
    damaged. Raises ``KeyError`` for another name.
    """
    from wattslice_corpora.published.escape2018_cpu import (
        escape2018_haswell_states,
        escape2018_skylake_states,
    )

    rows = {"e5-2697v3": escape2018_haswell_states, "xeon-gold-6148": escape2018_skylake_states}[name]()
    states = tuple(
        CpuState(row.cores, float(round(row.clock_ghz * 1000.0)), rates)
        for row in rows
        if row.clock_ghz is not None and (rates := published_rates(row)) is not None
    )
    return states, f"ESCAPE D3.5, {PUBLISHED_CPUS[name]} ({rows[0].cpu})"


ACRANEB2 = "acraneb2"
PROGRAMS = (ACRANEB2, "spherical-harmonics-tco639")
_GPUS = {"gtx_970": "GeForce 970", "k20m": "Tesla K20m", "m2070": "Tesla 2070-q"}
"""GPUs of the catalogue whose characteristics Table 10 prints."""


def characterised_time_s(kernels: CharacterisedKernels, gpu_id: str) -> float:
    """Seconds of the kernels one after the other: ESCAPE D3.5, Table 11.

    With the characteristics of Table 10 where it has the GPU, else those of the catalogue. Raises
    ``ValueError`` where a rate that they need is unknown.
    """
    return kernels_time_s(kernels.kernels, _gpu(gpu_id), kernels.cells)


def characterised_source(kernels: CharacterisedKernels, gpu_id: str) -> str:
    """Where the time comes from."""
    where = "ESCAPE D3.5, Table 10" if gpu_id in _GPUS else "the catalogue"
    return f"{kernels.source}; GPU of {where}"


@cache
def _gpu(gpu_id: str) -> GpuCharacteristics:
    from wattslice_corpora.published.escape2018 import escape2018_gpus

    for row in escape2018_gpus():
        if row.gpu == _GPUS.get(gpu_id):
            return published_gpu(row)
    return GpuCharacteristics.from_gpu(load_gpu(gpu_id))
