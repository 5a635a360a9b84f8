"""Everything that `wattslice roofline` shows: machines, and the kernels of an analysis on them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wattslice.analysis import Analysis
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.roofline.kernels import PlacedKernel, place_kernels
from wattslice.roofline.machines import Coefficients, Machine, machines_of, published_machines, unusable_fit
from wattslice.roofline.roofs import Precision
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import load_gpu

_USUAL = (Precision.FP32, Precision.FP64)


@dataclass(frozen=True, slots=True)
class Rooflines:
    """`machines` at least one; `kernels` None: no file was given. `gpu_source` as in `Config`."""

    machines: tuple[Machine, ...]
    gpu_source: str
    kernels: tuple[PlacedKernel, ...] | None = None


def rooflines_of_published(name: str, only: Precision | None) -> Rooflines:
    """The machine of a paper that is no GPU of the catalogue. Raises `WattsliceError`."""
    return Rooflines(_chosen(published_machines(name), only, ()), "--gpu")


def rooflines_of_gpu(
    config: Config, wanted: Coefficients, only: Precision | None, analysis: Analysis | None
) -> Rooflines:
    """Of the GPU of the run, with the kernels of its analysis; without one the roofs alone.

    Raises `WattsliceError` for coefficients or a precision that this GPU has not.
    """
    clocks = Clocks(config.core_clock_mhz, config.memory_clock_mhz)
    gpu = load_gpu(config.gpu_id)
    machines = machines_of(gpu, clocks, wanted)
    if wanted is Coefficients.AUTO and (fault := unusable_fit(gpu)):
        doubt = f"a fit to a sweep of this GPU is left out: {fault}"
        machines = tuple(replace(machine, doubts=(*machine.doubts, doubt)) for machine in machines)
    if analysis is None:
        return Rooflines(_chosen(machines, only, ()), config.gpu_source)
    worked = tuple(
        kernel.roofline.precision for kernel in analysis.kernels if kernel.roofline and kernel.roofline.flops
    )
    shown = _chosen(machines, only, worked)
    return Rooflines(shown, config.gpu_source, place_kernels(analysis, shown))


def _chosen(
    machines: tuple[Machine, ...], only: Precision | None, worked: tuple[Precision, ...]
) -> tuple[Machine, ...]:
    """The roofs that were asked for, else those that kernels work under, else the usual ones."""
    if only is not None:
        chosen = tuple(machine for machine in machines if machine.precision is only)
        if not chosen:
            there = ", ".join(machine.precision.name.lower() for machine in machines)
            raise WattsliceError(
                f"--precision {only.name.lower()}: no peak of it is known of {machines[0].name}",
                remedy=f"one of {there}",
            )
        return chosen
    return (
        tuple(machine for machine in machines if machine.precision in worked)
        or tuple(machine for machine in machines if machine.precision in _USUAL)
        or machines
    )
