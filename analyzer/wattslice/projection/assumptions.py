"""What a projection takes for granted, in sentences that name the key which changes it."""

from __future__ import annotations

from collections.abc import Sequence

from wattslice.projection.kernels import STATIC
from wattslice.projection.ways import Way
from wattslice.projection.workflow import FULL_LOAD, CpuNode, GpuNode, Workflow, leaves_power
from wattslice.units import prefixed


def assumptions_of(
    workflow: Workflow, ways: Sequence[Sequence[Way]], of_kernels: Sequence[str]
) -> tuple[str, ...]:
    """All of them; `ways` of every component, `of_kernels`: what the analyses of kernels assumed."""
    return (
        *_division(workflow),
        *_communication(workflow),
        *_components(workflow),
        *_powers(workflow, ways),
        *dict.fromkeys(of_kernels),
    )


def _division(workflow: Workflow) -> list[str]:
    told = ["all nodes of a component are alike and share its work equally: W/n, Q/n"]
    serial = [
        f"{component.name} {100 * component.serial_share:g} %"
        for component in workflow.components
        if component.serial_share
    ]
    if serial:
        told.append(f"one node alone does the serial share ({', '.join(serial)}), the others wait")
    else:
        told.append("everything can be divided (serial_share is 0)")
    if any(isinstance(node.processor, GpuNode) and max(node.processor.gpus) > 1 for node in workflow.nodes):
        told.append("the GPUs of a node share its work equally and exchange nothing")
    return told


def _communication(workflow: Workflow) -> list[str]:
    network = workflow.network
    silent = [component.name for component in workflow.components if not component.exchanges]
    told: list[str] = []
    if silent:
        told.append(f"no communication is counted for {', '.join(silent)} (communication)")
    if network is None or len(silent) == len(workflow.components):
        return told
    figures = (
        f"{prefixed(network.latency_s, 's')} per message and {prefixed(network.bandwidth_bytes_per_s, 'B/s')}"
        " per node, the busiest node sends and receives one after the other"
    )
    hidden = "hidden behind computation" if workflow.hides_communication else "added to computation"
    waiting = "as much as at work" if workflow.waits_busy else "its idle power"
    told.append(f"network: {figures}; no congestion")
    told.append(
        f"communication is {hidden} (network.overlap); a waiting node draws {waiting} (network.waiting)"
    )
    return told


def _components(workflow: Workflow) -> list[str]:
    if len(workflow.components) < 2:
        return []
    if workflow.overlap:
        return ["the components run at the same time, each on nodes of its own, and end with the slowest"]
    shared = " take turns on the same nodes (share_nodes)"
    own = " have nodes of their own (share_nodes)"
    return [
        "the components run one after the other; nodes draw their idle power while another component runs",
        f"components on the same node kind{shared if workflow.share_nodes else own}",
    ]


def _powers(workflow: Workflow, ways: Sequence[Sequence[Way]]) -> list[str]:
    told: list[str] = []
    sources = {way.source for several in ways for way in several}
    if any(source.startswith("loops") for source in sources):
        told.append(
            "in CPU loops arithmetic and memory traffic overlap perfectly: T = max(W T_flop, Q T_mop)"
        )
    if any(source.startswith(STATIC) for source in sources):
        told.append(
            "a kernel's predicted time divides by the number of GPUs, but for the overhead of its launch"
        )
    cpus = {node.name for node in workflow.nodes if isinstance(node.processor, CpuNode)}
    full = [
        component.name
        for component, several in zip(workflow.components, ways, strict=True)
        if any(way.node in cpus for way in several)
        and (component.loops or any(leaves_power(entry, workflow.nodes) for entry in component.measured))
        and (component.package, component.memory) == (FULL_LOAD, FULL_LOAD)
    ]
    if full:
        told.append(f"{', '.join(full)}: a CPU at work draws its full_power (power gives U, S, X, Y)")
    between = [
        node.name
        for node in workflow.nodes
        if isinstance(node.processor, CpuNode) and _interpolates(node.processor)
    ]
    if between:
        told.append(f"{', '.join(between)}: full_power between the given numbers of cores is interpolated")
    clocked = [
        node.name
        for node in workflow.nodes
        if isinstance(node.processor, CpuNode) and len(node.processor.clocks_mhz) > 1
    ]
    if clocked:
        told.append(f"{', '.join(clocked)}: the idle power is the same at every clock")
    if any(way.gpus is not None for several in ways for way in several):
        told.append("the host of a GPU at work draws host_idle_w: E = T (E_idle + E_gpu)")
    if any(way.alone.power_low_w < way.alone.power_high_w for several in ways for way in several):
        told.append("intervals of energy carry those of power, all ends together; times count as exact")
    return told


def _interpolates(cpu: CpuNode) -> bool:
    given = [entry.cores for entry in cpu.full]
    return (
        any(min(given) < cores < max(given) and cores not in given for cores in cpu.cores) if given else False
    )
