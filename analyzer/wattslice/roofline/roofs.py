"""The roofs of a GPU in each kind of arithmetic: its rates in time, and what an energy model makes of them.

The roofs in time are the catalogue's peak rates at the clocks of the run, as the time model has them; a real
kernel stays below. Where an energy model gives the energies, π0 is its static power with all SMs at work,
ε_flop that of an FMA with its issue, halved, ε_mem that of a byte on its way through DRAM, L2 and L1.
"""

from __future__ import annotations

from enum import Enum

from wattslice_models.energy import Component, EnergyModel, NoEnergyModel
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline
from wattslice_models.execution_time import Clocks, core_clock_mhz, memory_clock_scale
from wattslice_models.gpu import Gpu


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
