"""Kernels on the rooflines of a GPU: how near to its roof each one is, and what it is bound by.

The formulas are those of `wattslice_models.energy_roofline` (Choi et al. 2013).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import Analysis, KernelAnalysis, Launch, Precision, Roofline, RooflinePoint
from wattslice.config.config import Config
from wattslice.errors import WattsliceError
from wattslice.ir.operation_counts import OperationCounts
from wattslice.roofline.machines import Coefficients, Machine, machines_of, published_machines, unusable_fit
from wattslice_models.execution_time import moved_bytes
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.workload import Workload


class Bound(Enum):
    """Which part of a run costs more, in time or in energy."""

    MEMORY = "memory"
    COMPUTE = "compute"


class PowerSource(Enum):
    """Who says the watts of a kernel."""

    MODEL = "the power model"
    ROOFLINE = "the roofline"


class PlacedKernel(Struct, frozen=True):
    """One launch against `machine`, whose roofs are those of its `precision`; None is unknown.

    `flops` and `dram_bytes` per launch, known where there is a machine. `power_w`: of the power model of the
    run, or, where that knows none, of eq. (4) over the predicted time. `why`: why it has no place in the
    pictures; empty where it has one.
    """

    name: str
    file: str
    line: int
    launch: Launch
    time_s: float | None
    why: str
    precision: Precision | None = None
    machine: Machine | None = None
    flops: float | None = None
    dram_bytes: float | None = None
    power_w: float | None = None
    power_source: PowerSource | None = None

    @property
    def intensity(self) -> float | None:
        """Flops per byte."""
        return self.flops / self.dram_bytes if self.flops and self.dram_bytes else None

    @property
    def throttled_time_s(self) -> float | None:
        """At the power limit a launch is taken to last until the energy of its flops and bytes fits under it,
        as the lines do; None where that is `time_s`. A power below the limit is no throttled one.
        """
        energies = None if self.machine is None else self.machine.energies
        if energies is None or not self.time_s or self.power_w is None:
            return None
        if energies.power_limit_w is None or self.power_w < energies.power_limit_w:
            return None
        throttled_s = energies.throttled_time_s(self.flops or 0.0, self.dram_bytes or 0.0, self.time_s)
        return throttled_s if throttled_s > self.time_s else None

    @property
    def slowdown(self) -> float | None:
        """`throttled_time_s` over `time_s`; None where the limit does not throttle."""
        throttled_s = self.throttled_time_s
        return throttled_s / self.time_s if throttled_s and self.time_s else None

    @property
    def flops_per_s(self) -> float | None:
        """Over the time that it takes, throttled or not."""
        taken_s = self.throttled_time_s or self.time_s
        return self.flops / taken_s if self.flops and taken_s else None

    @property
    def flops_per_j(self) -> float | None:
        """Over that time too."""
        return self.flops_per_s / self.power_w if self.flops_per_s is not None and self.power_w else None

    @property
    def share_of_roof(self) -> float | None:
        """The least time by the roofs over that which it takes: the share of flops per second too."""
        taken_s = self.throttled_time_s or self.time_s
        if self.machine is None or not taken_s:
            return None
        roof = self.machine.roofline.without_limit()
        return roof.time_s(self.flops or 0.0, self.dram_bytes or 0.0) / taken_s

    @property
    def time_bound(self) -> Bound | None:
        """By the time balance."""
        return None if self.machine is None else self._bound(self.machine.roofline.time_balance)

    @property
    def energy_bound(self) -> Bound | None:
        """By the effective balance point, below which most energy goes to memory and waiting for it."""
        energies = None if self.machine is None else self.machine.energies
        return None if energies is None else self._bound(energies.effective_balance_point)

    def _bound(self, balance: float) -> Bound | None:
        if self.intensity is None:
            return None
        return Bound.COMPUTE if self.intensity >= balance else Bound.MEMORY


def place_kernels(analysis: Analysis, machines: Sequence[Machine]) -> tuple[PlacedKernel, ...]:
    """Every launch of an analysis for the GPU of these machines, in its order."""
    by_precision = {machine.precision: machine for machine in machines}
    return tuple(_place(kernel, by_precision) for kernel in analysis.kernels)


def _place(kernel: KernelAnalysis, machines: dict[Precision, Machine]) -> PlacedKernel:
    found, source, time_s = kernel.roofline, kernel.source, kernel.time_s
    name = source.qualified_name or kernel.name
    why = "the launch cannot run, or its work could not be counted"
    placed = PlacedKernel(name, source.file, source.line, kernel.launch, time_s, why)
    if found is None:
        return placed
    machine = machines.get(found.precision) if found.flops else None
    power_w, power_source = kernel.power_w, PowerSource.MODEL
    if power_w is None and time_s and machine is not None and machine.energies is not None:
        power_w = machine.energies.power_of_run_w(found.flops, found.dram_bytes, time_s)
        power_source = PowerSource.ROOFLINE
    return replace(
        placed,
        why=_why(found.no_point, machine, found.precision, machines),
        precision=found.precision if found.flops else None,
        machine=machine,
        flops=found.flops,
        dram_bytes=found.dram_bytes,
        power_w=power_w,
        power_source=None if power_w is None else power_source,
    )


def _why(
    no_point: str, machine: Machine | None, precision: Precision, machines: dict[Precision, Machine]
) -> str:
    if no_point or machine is not None:
        return no_point
    shown = " and ".join(one.value for one in machines)
    return f"its arithmetic is mostly {precision.value}, the roofs are {shown}"


_USUAL = (Precision.FP32, Precision.FP64)


class Rooflines(Struct, frozen=True):
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
    clocks = config.clocks
    gpu = load_gpu(config.gpu.gpu_id)
    machines = machines_of(gpu, clocks, wanted)
    if wanted is Coefficients.AUTO and (fault := unusable_fit(gpu)):
        doubt = f"a fit to a sweep of this GPU is left out: {fault}"
        machines = tuple(replace(machine, doubts=(*machine.doubts, doubt)) for machine in machines)
    if analysis is None:
        return Rooflines(_chosen(machines, only, ()), config.gpu.source)
    worked = tuple(
        kernel.roofline.precision for kernel in analysis.kernels if kernel.roofline and kernel.roofline.flops
    )
    shown = _chosen(machines, only, worked)
    return Rooflines(shown, config.gpu.source, place_kernels(analysis, shown))


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


def make_roofline(
    workload: Workload,
    counts: OperationCounts,
    gpu: Gpu,
    machines: Iterable[Machine],
    power_w: float | None,
    time_s: float | None,
) -> Roofline:
    """The rooflines of one launch; `counts` per thread, `machines` of `gpu`, power and time as predicted."""
    per_thread = {
        Precision.FP32: counts.fp32,
        Precision.FP64: counts.fp64,
        Precision.FP16: counts.fp16,
        Precision.TENSOR: 2.0 * workload.instructions.tensor,
    }
    machine = max(machines, key=lambda one: per_thread[one.precision] * one.roofline.flop_time_s)
    flops = workload.threads * math.fsum(per_thread.values())
    dram_bytes = moved_bytes(workload, gpu).dram_bytes
    point, no_point = None, _why_no_point(flops, dram_bytes, time_s)
    if time_s and not no_point:
        point = RooflinePoint(flops / dram_bytes, flops / time_s, power_w)
    return Roofline(
        precision=machine.precision,
        flops=flops,
        dram_bytes=dram_bytes,
        machine=machine.energies or machine.roofline,
        power_limit_w=machine.power_limit_w,
        point=point,
        no_point=no_point,
        no_power_line=machine.no_energies,
        source=machine.source,
    )


def _why_no_point(flops: float, dram_bytes: float, time_s: float | None) -> str:
    if not flops:
        return "it has no floating-point operations: 0 flops per byte"
    if not dram_bytes:
        return "it moves no bytes of DRAM: its data stay in the caches"
    return "" if time_s else "its run time is unknown"
