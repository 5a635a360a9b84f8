"""The ways in which a component may run on one node: seconds and watts for each node kind and setting.

What cannot be told is NaN, with a reason in `WaysOfComponent.problems`; a way of unknown time is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct, field

from wattslice.errors import WattsliceError
from wattslice.projection.kernels import STATIC, Analyses, kernels_on_gpu
from wattslice.projection.workflow import (
    Component,
    CpuNode,
    CpuPower,
    GpuNode,
    Measured,
    NodeKind,
    Workflow,
    setting_words,
)
from wattslice_models.cluster import OneNode
from wattslice_models.cpu_roofline import loops_time_s
from wattslice_models.escape_time import GpuCharacteristics, kernels_time_s
from wattslice_models.gpu import load_gpu
from wattslice_models.node_energy import PartPower, PowerCoefficients, part_power_w


class ImpossiblePowerError(ValueError):
    """Coefficients make a negative power of the given ones; the message has the watts."""


def idle_power_w(cpu: CpuNode) -> float | None:
    """Package and memory without work; None: unknown."""
    if cpu.package_idle_w is None or cpu.memory_idle_w is None:
        return None
    return cpu.package_idle_w + cpu.memory_idle_w


def working_power_w(
    cpu: CpuNode,
    package: PowerCoefficients,
    memory: PowerCoefficients,
    cores: int | None,
    clock_mhz: float | None,
) -> float | str:
    """U E_pkg + S E_pkg,idle + X E_dram + Y E_dram,idle, or why it is unknown.

    Between two given numbers of cores the full power is interpolated, beyond them it is unknown.
    Raises `ImpossiblePowerError` where the coefficients make less than nothing of package or memory, or
    nothing of both.
    """
    if cores is None:
        return "the number of cores is not given"
    powers = [entry for entry in cpu.full if entry.clock_mhz in (None, clock_mhz)]
    full = _interpolated(powers, cores)
    if full is None:
        known = ", ".join(str(entry.cores) for entry in powers) or "none"
        at = "" if clock_mhz is None else f" at {clock_mhz:g} MHz"
        return f"full_power with {cores} cores{at} is not given (given: {known})"
    package_idle_w, memory_idle_w = cpu.package_idle_w, cpu.memory_idle_w
    if (package_idle_w is None and package.idle_share) or (memory_idle_w is None and memory.idle_share):
        return "package_idle_w and memory_idle_w are needed for it"
    package_w = part_power_w(PartPower(full[0], package_idle_w or 0.0), package)
    memory_w = part_power_w(PartPower(full[1], memory_idle_w or 0.0), memory)
    if package_w < 0 or memory_w < 0 or not package_w + memory_w:
        raise ImpossiblePowerError(f"{package_w:g} W of the package and {memory_w:g} W of memory at work")
    return package_w + memory_w


def _interpolated(powers: list[CpuPower], cores: int) -> tuple[float, float] | None:
    """Watts of package and memory under full load; None beyond the numbers of cores that are given."""
    below = max(
        (entry for entry in powers if entry.cores <= cores), key=lambda entry: entry.cores, default=None
    )
    above = min(
        (entry for entry in powers if entry.cores >= cores), key=lambda entry: entry.cores, default=None
    )
    if below is None or above is None:
        return None
    if below.cores == above.cores:
        return below.package_w, below.memory_w
    share = (cores - below.cores) / (above.cores - below.cores)
    return (
        below.package_w + share * (above.package_w - below.package_w),
        below.memory_w + share * (above.memory_w - below.memory_w),
    )


Number = TypeVar("Number", int, float)


class Way(Struct, frozen=True):
    """One way to run a component on one node; cores and clock of a CPU node, GPUs of a GPU node.

    `source` says where its time comes from. `alone` is for all steps of the workflow.
    """

    node: str
    cores: int | None
    clock_mhz: float | None
    gpus: int | None
    source: str
    alone: OneNode

    @property
    def setting(self) -> str:
        """`haswell 8 cores 2600 MHz`, `gtx970 2 GPUs`."""
        return " ".join((self.node, *setting_words(self.cores, self.clock_mhz, self.gpus)))


class WaysOfComponent(Struct):
    """What is collected while `component` goes through the node kinds.

    `idle_problems`: of node kinds whose idle power is unknown, which matters only where they wait.
    """

    component: Component
    workflow: Workflow
    analyses: Analyses
    ways: list[Way] = field(default_factory=list[Way])
    problems: list[str] = field(default_factory=list[str])
    idle_problems: dict[str, str] = field(default_factory=dict[str, str])
    assumed: list[str] = field(default_factory=list[str])

    def go_through(self, node: NodeKind) -> None:
        """Adds the ways on one node kind."""
        measured = [entry for entry in self.component.measured if entry.node == node.name]
        processor = node.processor
        if isinstance(processor, GpuNode):
            ways = self._on_gpus(node, processor, measured)
        else:
            ways = self._on_cpu(node, processor, measured)
        for way in ways:
            if 0 < way.alone.time_s < math.inf:
                self.ways.append(way)
            elif not math.isnan(way.alone.time_s):  # NaN: the reason is known
                self.problems.append(f"{self.component.name} on {way.setting}: takes {way.alone.time_s:g} s")

    def _unknown(self, node: NodeKind, what: str) -> None:
        self.problems.append(f"{self.component.name} on {node.name}: {what}")

    def _on_gpus(self, node: NodeKind, gpu: GpuNode, measured: list[Measured]) -> Iterator[Way]:
        component, steps = self.component, self.workflow.steps
        power_w = low_w = high_w = math.nan
        fixed_s = 0.0
        if measured:
            (entry,) = measured
            time_s, source = entry.time_s, "measured"
            power_w, low_w, high_w = self._measured_gpu_w(entry, node, gpu)
        elif component.kernels:
            kernels = kernels_on_gpu(component.kernels, gpu.gpu_id, self.workflow, self.analyses)
            time_s, source = kernels.time_s, STATIC
            fixed_s = min(kernels.launching_s, kernels.time_s)
            power_w, low_w, high_w = kernels.power_w, kernels.power_low_w, kernels.power_high_w
            self.problems += kernels.problems
            self.assumed += kernels.assumed
        elif known := component.characterised:
            source = "characteristics as given; GPU of the catalogue"
            try:
                board = GpuCharacteristics.from_gpu(load_gpu(gpu.gpu_id))
                time_s = kernels_time_s(known.kernels, board, known.cells)
            except ValueError as error:
                self._unknown(node, str(error))
                return
            power_w = low_w = high_w = dict(known.gpu_power_w).get(node.name, math.nan)
            if math.isnan(power_w):
                self._unknown(node, f"the power is unknown (give {known.place}.gpu_power_w.{node.name})")
        else:
            return
        if gpu.gpu_idle_w is None:
            self.idle_problems[node.name] = (
                f"{node.name}: the idle power of a {gpu.gpu_id} is unknown, so no waiting there has an energy"
                f" (give {node.place}.gpu_idle_w)"
            )
        idle_w = math.nan if gpu.gpu_idle_w is None else gpu.gpu_idle_w
        for number in gpu.gpus:
            alone = OneNode(
                time_s=steps * (fixed_s + (time_s - fixed_s) / number),
                power_w=gpu.host_idle_w + number * power_w,
                power_low_w=gpu.host_idle_w + number * low_w,
                power_high_w=gpu.host_idle_w + number * high_w,
                idle_power_w=gpu.host_idle_w + number * idle_w,
                fixed_s=steps * fixed_s,
            )
            yield Way(node.name, None, None, number, source, alone)

    def _measured_gpu_w(self, entry: Measured, node: NodeKind, gpu: GpuNode) -> tuple[float, float, float]:
        """Watts of one GPU, with the interval where there is one."""
        given_w, host_w = entry.gpu_power_w, 0.0
        if entry.power_limit_share is not None:
            limit_w = load_gpu(gpu.gpu_id).power_limit_w
            if limit_w is None:
                self.problems.append(f"{node.name}: the power limit of a {gpu.gpu_id} is unknown")
                return math.nan, math.nan, math.nan
            given_w = entry.power_limit_share * limit_w
        elif entry.power_w is not None:
            given_w, host_w = entry.power_w, gpu.host_idle_w
        if given_w is None:
            self.problems.append(f"{entry.place}: the power on {node.name} is unknown (give gpu_power_w)")
            return math.nan, math.nan, math.nan
        low_w = given_w if entry.power_low_w is None else entry.power_low_w
        high_w = given_w if entry.power_high_w is None else entry.power_high_w
        return given_w - host_w, low_w - host_w, high_w - host_w

    def _on_cpu(self, node: NodeKind, cpu: CpuNode, measured: list[Measured]) -> Iterator[Way]:
        steps = self.workflow.steps
        idle_w = idle_power_w(cpu)
        if idle_w is None:
            self.idle_problems[node.name] = (
                f"{node.name}: the idle power is unknown, so no waiting there has an energy"
                f" (give {node.place}.package_idle_w and memory_idle_w)"
            )
        idle = math.nan if idle_w is None else idle_w
        for entry in measured:
            cores = entry.cores if entry.cores is not None else _only(cpu.cores)
            clock_mhz = entry.clock_mhz if entry.clock_mhz is not None else _only(cpu.clocks_mhz)
            power_w = entry.power_w
            if power_w is None:
                power_w = self._cpu_power_w(node, cpu, cores, clock_mhz)
            low_w = power_w if entry.power_low_w is None else entry.power_low_w
            high_w = power_w if entry.power_high_w is None else entry.power_high_w
            alone = OneNode(entry.time_s * steps, power_w, low_w, high_w, idle)
            yield Way(node.name, cores, clock_mhz, None, "measured", alone)
        loops = self.component.loops
        if measured or not loops:
            return
        if not cpu.states:
            self._unknown(node, f"the CPU's rates are unknown (give {node.place}.rates)")
        for state in cpu.states:
            cores, clock_mhz = state.cores, state.clock_mhz
            if cores not in cpu.cores or clock_mhz not in cpu.clocks_mhz:
                continue
            try:
                time_s = float(loops_time_s(loops, state.rates))
            except ValueError as error:
                self._unknown(node, f"with {cores} cores at {clock_mhz:g} MHz {error}")
                continue
            power_w = self._cpu_power_w(node, cpu, cores, clock_mhz)
            alone = OneNode(time_s * steps, power_w, power_w, power_w, idle)
            yield Way(node.name, cores, clock_mhz, None, "loops on rates as given", alone)

    def _cpu_power_w(self, node: NodeKind, cpu: CpuNode, cores: int | None, clock_mhz: float | None) -> float:
        component = self.component
        try:
            power = working_power_w(cpu, component.package, component.memory, cores, clock_mhz)
        except ImpossiblePowerError as error:
            raise WattsliceError(
                f"{component.place}.power: makes {error} of what nodes.{node.name} draws with {cores} cores",
                path=self.workflow.path,
                remedy="correct package_full, package_idle, memory_full, memory_idle or its full_power",
            ) from None
        if isinstance(power, str):
            self._unknown(node, f"the power is unknown: {power}")
            return math.nan
        return power


def ways_of(component: Component, workflow: Workflow, analyses: Analyses) -> WaysOfComponent:
    """Every way to run it. Raises `WattsliceError` where there is none, or a kernel cannot be found."""
    found = WaysOfComponent(component, workflow, analyses)
    for node in workflow.nodes:
        if not component.on or node.name in component.on:
            found.go_through(node)
    if not found.ways:
        reasons = "; ".join(dict.fromkeys(found.problems))
        raise WattsliceError(
            f"{component.place}: runs on none of the node kinds",
            path=workflow.path,
            remedy=reasons or "kernels and characteristics run on GPU nodes, loops on CPU nodes with rates",
        )
    return found


def _only(numbers: tuple[Number, ...]) -> Number | None:
    """The one number of a node kind that has only one."""
    return numbers[0] if len(numbers) == 1 else None
