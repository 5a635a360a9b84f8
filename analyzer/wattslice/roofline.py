"""Where a launch lies under the rooflines of its GPU: time, and power (Choi et al. 2013).

The formulas are those of `wattslice_models.energy_roofline`. The roofs are the catalogue's peak rates at the
clocks of the run; a real kernel stays below. Where an energy model gives the energies, π0 is its static power
with all SMs at work, ε_flop that of an FMA with its issue, halved, ε_mem that of a byte on its way through
DRAM, L2 and L1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from wattslice.operations import OperationCounts
from wattslice_models.energy import Component, EnergyModel, NoEnergyModel
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.execution_time import Clocks, core_clock_mhz, memory_clock_scale, traffic
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


class Precision(Enum):
    """The kinds of arithmetic with a roof of their own."""

    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    TENSOR = "tensor cores"


_COMPONENTS = {
    Precision.FP32: Component.FP32,
    Precision.FP64: Component.FP64,
    Precision.FP16: Component.FP16,
    Precision.TENSOR: Component.TENSOR,
}
_LANES = 32


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
    `no_power_line` says why they are not. `point` None: `no_point` says why.
    """

    precision: Precision
    flops: float
    dram_bytes: float
    machine: EnergyRoofline | TimeRoofline  # both, for what reads kept results by these types
    power_limit_w: float | None
    point: RooflinePoint | None
    no_point: str = ""
    no_power_line: str = ""

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
    clocks: Clocks,
    model: EnergyModel | NoEnergyModel,
    power_w: float | None,
    time_s: float | None,
) -> Roofline:
    """The rooflines of one launch; `counts` per thread, `power_w` and `time_s` as predicted."""
    per_thread = {
        Precision.FP32: counts.fp32,
        Precision.FP64: counts.fp64,
        Precision.FP16: counts.fp16,
        Precision.TENSOR: 2.0 * workload.instructions.tensor,
    }
    roofs = {precision: time_roofline(gpu, precision, clocks) for precision in Precision}

    def busy_s(precision: Precision) -> float:
        roof = roofs[precision]
        return 0.0 if roof is None else per_thread[precision] * roof.flop_time_s

    precision = max(Precision, key=busy_s)
    roof = roofs[precision]
    assert roof is not None, "every GPU of the catalogue has a rate of fp32"
    flops = workload.threads * math.fsum(per_thread.values())
    dram_bytes = traffic(workload, gpu).dram_bytes
    point, no_point = None, _why_no_point(flops, dram_bytes, time_s)
    if time_s and not no_point:
        point = RooflinePoint(flops / dram_bytes, flops / time_s, power_w)
    machine, no_power_line = model_roofline(model, roof, precision, gpu, clocks)
    return Roofline(
        precision=precision,
        flops=flops,
        dram_bytes=dram_bytes,
        machine=machine,
        power_limit_w=gpu.power_limit_w,
        point=point,
        no_point=no_point,
        no_power_line=no_power_line,
    )


def time_roofline(gpu: Gpu, precision: Precision, clocks: Clocks) -> TimeRoofline | None:
    """The catalogue's peak (an FMA is two flops) and bandwidth; None: no such arithmetic, or unknown."""
    rate = {
        Precision.FP32: gpu.fp32_fma_per_clock_per_sm,
        Precision.FP64: gpu.fp64_fma_per_clock_per_sm,
        Precision.FP16: gpu.fp16_vector_fma_per_clock_per_sm,
        Precision.TENSOR: gpu.tensor_fp16_dense_fma_per_clock_per_sm,
    }[precision]
    if not rate:
        return None
    peak_flops_per_s = 2e6 * rate * gpu.sm_count * core_clock_mhz(gpu, clocks)
    bandwidth_bytes_per_s = gpu.memory_bandwidth_bytes_per_s * memory_clock_scale(gpu, clocks)
    return TimeRoofline(1.0 / peak_flops_per_s, 1.0 / bandwidth_bytes_per_s)


def model_roofline(
    model: EnergyModel | NoEnergyModel, roof: TimeRoofline, precision: Precision, gpu: Gpu, clocks: Clocks
) -> tuple[TimeRoofline, str]:
    """`roof` with the energies of an energy model; the same roof and the reason where there are none."""
    if isinstance(model, NoEnergyModel):
        return roof, model.reason
    static_w, flop_j, byte_j = _powers(model, precision, gpu, clocks)
    try:
        return EnergyRoofline(
            roof.flop_time_s, roof.byte_time_s, flop_j, byte_j, static_w, gpu.power_limit_w
        ), ""
    except ValueError as error:
        return roof, f"the energy model makes no power line: {error}"


def is_presumed(model: EnergyModel, precision: Precision) -> bool:
    """Whether the energy of that arithmetic is an order of magnitude that no training kernel confirmed."""
    return not any(one.fitted for one in model.energies if one.component is _COMPONENTS[precision])


def _why_no_point(flops: float, dram_bytes: float, time_s: float | None) -> str:
    if not flops:
        return "it has no floating-point operations: 0 flops per byte"
    if not dram_bytes:
        return "it moves no bytes of DRAM: its data stay in the caches"
    return "" if time_s else "its run time is unknown"


def _powers(model: EnergyModel, precision: Precision, gpu: Gpu, clocks: Clocks) -> tuple[float, float, float]:
    """π0 in W, ε_flop in J per flop, ε_mem in J per byte."""
    core_mhz = core_clock_mhz(gpu, clocks)
    voltage = model.voltage.relative_voltage(core_mhz)
    energy = {entry.component: entry.energy_j * voltage**2 for entry in model.energies}
    dram_j = next((one.energy_j for one in model.energies if one.component is Component.DRAM), 0.0)
    static_w = model.idle_w + model.leakage_w * voltage
    static_w += model.active_w * voltage**2 * core_mhz / model.voltage.reference_mhz
    fma_j = energy.get(_COMPONENTS[precision], 0.0)
    if precision is not Precision.TENSOR:  # one instruction of a warp makes thousands of those
        fma_j += energy.get(Component.ISSUE, 0.0) / _LANES
    byte_j = dram_j + energy.get(Component.L2, 0.0) + energy.get(Component.L1, 0.0)
    return static_w, fma_j / 2.0, byte_j
