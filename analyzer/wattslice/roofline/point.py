"""Where a launch lies under the rooflines of its GPU: time, and power (Choi et al. 2013).

The formulas are those of `wattslice_models.energy_roofline`, the machines those of `wattslice roofline`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from wattslice.ir.operation_counts import OperationCounts
from wattslice.roofline.machines import Machine
from wattslice.roofline.roofs import Precision
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.execution_time import traffic
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


@dataclass(frozen=True, slots=True)
class RooflinePoint:
    """A place in the pictures: flops per byte of DRAM, flops per second, watts (None: unknown)."""

    intensity: float
    flops_per_s: float
    power_w: float | None


@dataclass(frozen=True, slots=True)
class Roofline:
    """One launch and the roofs above it.

    `flops`: of all precisions, per launch, special functions left out; `precision`: that which takes longest
    at its peak. `dram_bytes` per launch. `machine`: an `EnergyRoofline` where the energies are known, else
    `no_power_line` says why they are not; `source`: where they come from. `point` None: `no_point` says why.
    """

    precision: Precision
    flops: float
    dram_bytes: float
    machine: EnergyRoofline | TimeRoofline  # both, for what reads kept results by these types
    power_limit_w: float | None
    point: RooflinePoint | None
    no_point: str = ""
    no_power_line: str = ""
    source: str = ""

    @property
    def energies(self) -> EnergyRoofline | None:
        """The machine with its energies; None: `no_power_line` says why they are unknown."""
        return self.machine if isinstance(self.machine, EnergyRoofline) else None

    def at(self, intensity: float) -> RooflinePoint:
        """The roofs over `intensity` > 0.

        As in the paper the limit caps the watts alone: predicted times know nothing of throttling either.
        """
        energies = self.energies
        power_w = None if energies is None else energies.power_w(intensity)
        return RooflinePoint(intensity, self.machine.without_limit().flops_per_s(intensity), power_w)

    def curve(self, low: float, high: float, samples: int = 96) -> tuple[RooflinePoint, ...]:
        """The roofs from `low` to `high` flops per byte at equal ratios, the corner at B_τ among them."""
        step = math.log(high / low) / samples
        places = {low * math.exp(step * number) for number in range(samples + 1)}
        if low < self.machine.time_balance < high:
            places.add(self.machine.time_balance)
        return tuple(self.at(place) for place in sorted(places))


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
    dram_bytes = traffic(workload, gpu).dram_bytes
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
