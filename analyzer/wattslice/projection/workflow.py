"""A workflow as its planner wrote it down: what `reader.py` makes of a workflow.toml.

Times, work and exchanges are those of one step; `Workflow.steps` multiplies them.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from wattslice_models.communication import Exchange, Network
from wattslice_models.cpu_roofline import CpuRates, Loop
from wattslice_models.escape_time import KernelCharacteristics
from wattslice_models.node_energy import PowerCoefficients
from wattslice_models.pareto import Limits, Objective

FULL_LOAD = PowerCoefficients(1.0, 0.0)
"""A program that draws what a stress test does."""


class CpuState(Struct, frozen=True):
    """What a CPU can do at a clock with some cores."""

    cores: int
    clock_mhz: float
    rates: CpuRates[float]


class CpuPower(Struct, frozen=True):
    """Watts of package and memory under a stress test with some cores; `clock_mhz` None: at any clock."""

    cores: int
    clock_mhz: float | None
    package_w: float
    memory_w: float


class CpuNode(Struct, frozen=True):
    """The CPU of a node kind: every pair of `cores` and `clocks_mhz` is a configuration.

    `states` are its rates (empty: unknown). Powers in W; None: unknown. `full` without entries: unknown.
    """

    cores: tuple[int, ...]
    clocks_mhz: tuple[float, ...]
    states: tuple[CpuState, ...] = ()
    package_idle_w: float | None = None
    memory_idle_w: float | None = None
    full: tuple[CpuPower, ...] = ()


class GpuNode(Struct, frozen=True):
    """The GPUs of a node kind, `gpus` of them per node. `gpu_idle_w` of one GPU, None: unknown."""

    gpu_id: str
    gpus: tuple[int, ...]
    host_idle_w: float
    gpu_idle_w: float | None


class NodeKind(Struct, frozen=True):
    """One kind of node; `place` is where it stands in the file."""

    name: str
    place: str
    processor: CpuNode | GpuNode


class Measured(Struct, frozen=True):
    """A component's time and power as somebody measured or knows them, on one node of a kind.

    `cores`, `clock_mhz`: of a CPU node, None where its kind has only one; the time is that of one GPU on a
    GPU node. Of the powers one is given, or none: `power_w` of the node, `gpu_power_w` of one GPU,
    `power_limit_share` of a GPU's limit (ESCAPE's S). The interval goes with `power_w` or `gpu_power_w`.
    """

    place: str
    node: str
    time_s: float
    cores: int | None = None
    clock_mhz: float | None = None
    power_w: float | None = None
    gpu_power_w: float | None = None
    power_limit_share: float | None = None
    power_low_w: float | None = None
    power_high_w: float | None = None


def leaves_power(entry: Measured, nodes: Iterable[NodeKind]) -> bool:
    """Whether a time on a CPU node leaves its power to `full_power`."""
    on_cpu = any(node.name == entry.node and isinstance(node.processor, CpuNode) for node in nodes)
    return on_cpu and entry.power_w is None


def setting_words(cores: int | None, clock_mhz: float | None, gpus: int | None) -> list[str]:
    """`8 cores`, `2600 MHz`, `2 GPUs`, as far as they are said."""
    words = [] if cores is None else [f"{cores} core{'s' * (cores > 1)}"]
    words += [] if clock_mhz is None else [f"{clock_mhz:g} MHz"]
    return words + ([f"{gpus} GPUs"] if gpus is not None and gpus > 1 else [])


class KernelUse(Struct, frozen=True):
    """A kernel of a source file that is analysed for every GPU; `kernel` None: every launch of the file.

    `launches` per step; the rest are options of ``wattslice analyze``.
    """

    place: str
    source: Path
    kernel: str | None
    launches: float
    launch_line: int | None = None
    launch: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    include: tuple[Path, ...] = ()
    profile: Path | None = None


class CharacterisedKernels(Struct, frozen=True):
    """Kernels whose ESCAPE characteristics are known (Table 8), on a domain of so many cells (N).

    `gpu_power_w`: watts of one GPU by node kind; those that are not there are unknown.
    """

    place: str
    kernels: tuple[KernelCharacteristics, ...]
    cells: float
    gpu_power_w: tuple[tuple[str, float], ...]


class Component(Struct, frozen=True):
    """One part of a workflow: on what it may run, and what is known of its work.

    `measured` counts before `kernels`, `characterised` (GPU nodes) and `loops` (CPU nodes). `on`: the node
    kinds it may use, empty for all. `package`, `memory`: how much of a CPU node's power it draws (ESCAPE's U,
    S and X, Y).
    """

    name: str
    place: str
    node_counts: tuple[int, ...]
    on: tuple[str, ...] = ()
    serial_share: float = 0.0
    exchanges: tuple[Exchange, ...] = ()
    measured: tuple[Measured, ...] = ()
    kernels: tuple[KernelUse, ...] = ()
    characterised: CharacterisedKernels | None = None
    loops: tuple[Loop, ...] = ()
    package: PowerCoefficients = FULL_LOAD
    memory: PowerCoefficients = FULL_LOAD


class Workflow(Struct, frozen=True):
    """All of the file. `network` None: exchanges cost nothing, and there are none.

    `hides_communication`: behind computation. `waits_busy`: nodes that wait for the network draw as much as
    working ones.
    """

    path: Path
    name: str
    steps: int
    nodes: tuple[NodeKind, ...]
    components: tuple[Component, ...]
    overlap: bool
    share_nodes: bool
    objective: Objective
    limits: Limits
    network: Network | None
    hides_communication: bool = False
    waits_busy: bool = False
