"""Time of a kernel launch: launch overhead plus the slowest resource (a roofline with many roofs).

    t = t_launch + max over resources r of  work_r / throughput_r

Throughputs per SM and clock come from the GPU catalogue; the busiest SM, which gets ceil(blocks / SMs) blocks,
sets the time of everything that happens inside an SM. Latency is a resource too, by Little's law: a warp whose
instructions wait for one another cannot go faster, and only so many warps fit on an SM at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wattslice_models.gpu import Architecture, Gpu
from wattslice_models.workload import Workload


class Resource(StrEnum):
    """What can set the time of a kernel; the values are for reports."""

    FP32 = "fp32 pipe"
    FP64 = "fp64 pipe"
    FP16 = "fp16 pipe"
    INTEGER = "integer pipe"
    SPECIAL = "special-function unit"
    TENSOR = "tensor cores"
    ISSUE = "instruction issue"
    LOAD_STORE = "load/store and shared memory"
    L2 = "L2 bandwidth"
    DRAM = "DRAM bandwidth"
    LATENCY = "latency"
    LAUNCH = "launch overhead"


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks of the arithmetic units and of the memory, MHz; ``None``: the catalogue's boost and memory clock.

    `memory_mhz` may be the command clock of a specification sheet or the number nvidia-smi prints.
    """

    core_mhz: float | None = None
    memory_mhz: float | None = None

    def __post_init__(self) -> None:
        for value in (self.core_mhz, self.memory_mhz):
            if value is not None and not value > 0:
                raise ValueError(f"a clock of {value} MHz: must be positive")


@dataclass(frozen=True, slots=True)
class Utilisation:
    """Share of the kernel's time that `resource` is busy, in [0, 1]."""

    resource: Resource
    share: float


@dataclass(frozen=True, slots=True)
class TimePrediction:
    """Seconds of one launch, the resource that sets them, and how busy each resource is, busiest first."""

    time_s: float
    limited_by: Resource
    utilisations: tuple[Utilisation, ...]
    notes: tuple[str, ...]
    """What had to be assumed because the workload or the catalogue does not say."""
