"""Programs whose characteristics ESCAPE D3.5 prints, by the name that a workflow file says.

ACRANEB2 (Table 9) for GPUs; spherical harmonics TCO639, 100 iterations (Tables 24 and 30) for CPUs. For BiFFT
the coefficients of its loops are printed (Tables 40, 41), but not the work and traffic of each.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

from wattslice.projection.workflow import CharacterisedKernels
from wattslice_models.cpu_roofline import Loop, LoopCoefficients
from wattslice_models.escape_time import (
    GpuCharacteristics,
    KernelCharacteristics,
    gpu_time,
)
from wattslice_models.gpu import load_gpu

ACRANEB2 = "acraneb2"
SPHERICAL = "spherical-harmonics-tco639"
_GPUS = {"gtx_970": "GeForce 970", "k20m": "Tesla K20m", "m2070": "Tesla 2070-q"}
"""GPUs of the catalogue whose characteristics Table 10 prints."""


def published_names() -> tuple[str, ...]:
    """The names of all programs."""
    return (ACRANEB2, SPHERICAL)


def characterised_time_s(kernels: CharacterisedKernels, gpu_id: str) -> float:
    """Seconds of the kernels one after the other: ESCAPE D3.5, Table 11.

    With the characteristics of Table 10 where it has the GPU, else those of the catalogue. Raises
    ``ValueError`` where a rate that they need is unknown.
    """
    gpu = _gpu(gpu_id)
    return sum(gpu_time(kernel, gpu, kernels.cells).total_s for kernel in kernels.kernels)


def characterised_source(kernels: CharacterisedKernels, gpu_id: str) -> str:
    """Where the time comes from."""
    where = "ESCAPE D3.5, Table 10" if gpu_id in _GPUS else "the catalogue"
    return f"{kernels.source}; GPU of {where}"


@cache
def spherical_loops() -> tuple[Loop, ...]:
    """The loops of spherical harmonics TCO639 for 100 iterations."""
    from wattslice_corpora.published import escape2018_loop_work, escape2018_spherical_loops

    coefficients = {
        row.loop: LoopCoefficients(
            row.l1_share, row.l2_share or 0.0, row.l3_share, row.dram_share, flop_share=row.flop_share
        )
        for row in escape2018_spherical_loops()
    }
    return tuple(
        # No work printed: the loop computes nothing.
        Loop(row.loop, row.work_flop or 0.0, row.traffic_bytes, coefficients[row.loop])
        for row in escape2018_loop_work()
    )


@cache
def acraneb2() -> tuple[KernelCharacteristics, ...]:
    """The characteristics of its seven kernels; they hold for N multiplied by `PUBLISHED_CELLS_FACTOR`."""
    from wattslice_corpora.published import escape2018_kernels

    return tuple(
        KernelCharacteristics(**_same_fields(row, KernelCharacteristics)) for row in escape2018_kernels()
    )


@cache
def _gpu(gpu_id: str) -> GpuCharacteristics:
    from wattslice_corpora.published import escape2018_gpus

    board = load_gpu(gpu_id)
    for row in escape2018_gpus():
        if row.gpu == _GPUS.get(gpu_id):
            rates = _same_fields(row, GpuCharacteristics)
            return GpuCharacteristics(name=board.name, architecture=board.architecture, **rates)
    return GpuCharacteristics.from_gpu(board)


def _same_fields(row: object, kind: type[Any]) -> dict[str, Any]:
    """What a row of a table and a record of the model call by the same name."""
    return {field.name: getattr(row, field.name) for field in fields(kind) if hasattr(row, field.name)}
