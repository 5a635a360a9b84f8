"""The energy model: watts of a kernel from energies per operation and byte.

    P = P_idle + P_active · (active SM share) + Σ_c ε_c · work_c / time,   ε_c ≥ 0

It is the energy roofline of Choi et al. 2013 (E = W ε_flop + Q ε_mem + π0 T) with more than two components.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wattslice_models.execution_time import Resource, Utilisation


class Component(StrEnum):
    """What draws power; the values are the names in stored models and in reports."""

    IDLE = "idle"
    ACTIVE = "active SMs"
    FP32 = "fp32"
    FP64 = "fp64"
    FP16 = "fp16"
    INTEGER = "integer"
    SPECIAL = "special"
    TENSOR = "tensor"
    ISSUE = "issue"
    SHARED = "shared memory"
    L1 = "L1"
    L2 = "L2"
    DRAM = "DRAM"


@dataclass(frozen=True, slots=True)
class ComponentPower:
    """Average watts one component draws while the kernel runs."""

    component: Component
    power_w: float


@dataclass(frozen=True, slots=True)
class EnergyPrediction:
    """Watts, seconds and joules of one launch.

    `power_w` is the average board power, clipped at the board's limit, in [`power_low_w`, `power_high_w`];
    `interval_source` says what the interval may claim. `energy_j` = power_w · time_s. `may_hit_power_limit`:
    the upper end of the interval reaches the limit; None when the limit is unknown. `transferred_from`: id of
    the GPU whose measurements the coefficients come from when it is not the one asked for, else empty.
    """

    power_w: float
    power_low_w: float
    power_high_w: float
    time_s: float
    energy_j: float
    limited_by: Resource
    utilisations: tuple[Utilisation, ...]
    components: tuple[ComponentPower, ...]
    may_hit_power_limit: bool | None
    interval_source: str
    transferred_from: str
    in_trained_domain: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NoEnergyModel:
    """No energy model for a GPU, and why."""

    gpu_id: str
    reason: str
