"""Programs whose characteristics ESCAPE D3.5 prints, by the name that a workflow file says.

ACRANEB2 (Table 9) for GPUs; spherical harmonics TCO639, 100 iterations (Tables 24 and 30) for CPUs. For BiFFT
the coefficients of its loops are printed (Tables 40, 41), but not the work and traffic of each.
"""

from __future__ import annotations

from functools import cache

from wattslice.projection.workflow import CharacterisedKernels
from wattslice_models.escape_time import GpuCharacteristics, kernels_time_s
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
    return kernels_time_s(kernels.kernels, _gpu(gpu_id), kernels.cells)


def characterised_source(kernels: CharacterisedKernels, gpu_id: str) -> str:
    """Where the time comes from."""
    where = "ESCAPE D3.5, Table 10" if gpu_id in _GPUS else "the catalogue"
    return f"{kernels.source}; GPU of {where}"


@cache
def _gpu(gpu_id: str) -> GpuCharacteristics:
    from wattslice.projection.escape_published import published_gpu
    from wattslice_corpora.published import escape2018_gpus

    for row in escape2018_gpus():
        if row.gpu == _GPUS.get(gpu_id):
            return published_gpu(row)
    return GpuCharacteristics.from_gpu(load_gpu(gpu_id))
