"""Kernels written as text inside a test: read, launch, count."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.frontend.cuda.read import read_cuda
from wattslice.ir import Kernel
from wattslice.launches.launch import NO_OVERRIDES, KernelLaunch
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu
from wattslice_models.types import PowerFactors

FACTORS = PowerFactors(1.0, 0.25, 0.125, 0.5, "made up for tests", gpu_matched=False)


@cache
def kernel_of(text: str) -> Kernel:
    """The only kernel in `text`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(text)
        (kernel,) = read_cuda(path).kernels
    return kernel


@cache
def launch_of(text: str) -> KernelLaunch:
    """The only launch of the only kernel in `text`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cu"
        path.write_text(text)
        (launch,) = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    return launch


@cache
def launched(text: str) -> tuple[Kernel, ExecutionProfile]:
    """The only launch of the only kernel in `text`, counted."""
    launch = launch_of(text)
    return launch.kernel, count(launch)


def flat_profile(kernel: Kernel, times: float = 1.0) -> ExecutionProfile:
    """Every region runs `times` times."""
    counts = (times,) * kernel.region_count
    return ExecutionProfile(counts, counts, (), (), (), ())
