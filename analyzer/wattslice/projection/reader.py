"""From a workflow.toml to a `Workflow`, checked: every error names the file, the key and what to do."""

from __future__ import annotations

from pathlib import Path

from wattslice.config.gpu_choice import known_gpu
from wattslice.documents import Table, Value, parse_toml
from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import file_bytes
from wattslice.projection.components import MOST_NODES, counts, named_tables, read_components
from wattslice.projection.workflow import CpuNode, CpuPower, CpuState, GpuNode, NodeKind, Workflow
from wattslice_models.communication import Network
from wattslice_models.cpu_roofline import CpuRates
from wattslice_models.gpu import load_gpu
from wattslice_models.pareto import Limits, Objective

_CPU_KEYS = ("cores", "clocks_mhz", "rates", "package_idle_w", "memory_idle_w", "full_power")
_GPU_KEYS = ("gpu", "gpus", "host_idle_w", "gpu_idle_w")
_RATES = ("flop_per_s", "l1_bytes_per_s", "l2_bytes_per_s", "l3_bytes_per_s", "dram_bytes_per_s")


def _node_kind(name: str, value: Value) -> NodeKind:
    table = value.table()
    if "gpu" in table:
        table.only(*_GPU_KEYS)
        return NodeKind(name, value.place, _gpu_node(table))
    table.only(*_CPU_KEYS, "gpu")
    if "rates" not in table and "cores" not in table:
        raise value.error("neither a CPU nor a GPU", 'give gpu = "v100", or cores = 8')
    return NodeKind(name, value.place, _cpu_node(table))


def _gpu_node(table: Table) -> GpuNode:
    asked = table.value("gpu")
    name = asked.text()
    if name.endswith(".toml"):  # a file of the planner's own
        name = str(asked.path.parent / name)
    try:
        gpu_id = known_gpu(name)
    except WattsliceError as error:
        file = "" if error.path is None else f"{error.path}: "
        raise asked.error(f"{file}{error.message}", error.remedy) from None
    idle_w = table.get("gpu_idle_w", Value.not_negative, None)
    return GpuNode(
        gpu_id=gpu_id,
        gpus=table.get("gpus", lambda value: counts(value, "GPUs"), (1,)),
        host_idle_w=table.value("host_idle_w").not_negative(),
        gpu_idle_w=load_gpu(gpu_id).idle_power_w if idle_w is None else idle_w,
    )


def _cpu_node(table: Table) -> CpuNode:
    states = _states(table)
    clocks_given = table.optional("clocks_mhz")
    known = tuple(sorted({state.cores for state in states}))
    cores = table.get("cores", lambda value: counts(value, "cores"), known)
    clocks_mhz = tuple(sorted({state.clock_mhz for state in states}))
    if clocks_given is not None:
        clocks_mhz = tuple(sorted({entry.positive() for entry in clocks_given.entries()}))
        if not clocks_mhz:
            raise clocks_given.error("names no clock", "a list such as [2600]")
    full = tuple(_full_power(entry) for entry in table.list("full_power"))
    if len({(entry.cores, entry.clock_mhz) for entry in full}) < len(full):
        raise table.value("full_power").error("the same cores and clock stand there twice", "remove one")
    if len(clocks_mhz) > 1 and any(entry.clock_mhz is None for entry in full):
        raise table.value("full_power").error(
            f"at which of {', '.join(f'{clock:g}' for clock in clocks_mhz)} MHz?",
            "give each entry its clock_mhz",
        )
    if states:
        _check_states(table, states, cores, clocks_mhz)
    return CpuNode(
        cores=cores,
        clocks_mhz=clocks_mhz,
        states=states,
        package_idle_w=table.get("package_idle_w", Value.not_negative, None),
        memory_idle_w=table.get("memory_idle_w", Value.not_negative, None),
        full=full,
    )


def _states(table: Table) -> tuple[CpuState, ...]:
    states = tuple(_state(entry) for entry in table.list("rates"))
    if len({(state.cores, state.clock_mhz) for state in states}) < len(states):
        raise table.value("rates").error("a pair of cores and clock stands there twice", "remove one")
    return states


def _state(value: Value) -> CpuState:
    table = value.table()
    table.only("cores", "clock_mhz", *_RATES)
    return CpuState(
        cores=table.value("cores").whole(1, MOST_NODES),
        clock_mhz=table.value("clock_mhz").positive(),
        rates=CpuRates(*(table.value(key).positive() for key in _RATES)),
    )


def _check_states(
    table: Table, states: tuple[CpuState, ...], cores: tuple[int, ...], clocks_mhz: tuple[float, ...]
) -> None:
    known = {(state.cores, state.clock_mhz) for state in states}
    for clock_mhz in clocks_mhz:
        for number in cores:
            if (number, clock_mhz) not in known:
                has_clock = any(state.clock_mhz == clock_mhz for state in states)
                key = "cores" if has_clock and "cores" in table else "clocks_mhz"
                places = (
                    [str(state.cores) for state in states if state.clock_mhz == clock_mhz]
                    if has_clock
                    else [f"{clock:g}" for clock in sorted({state.clock_mhz for state in states})]
                )
                what = "cores" if has_clock else "MHz"
                place = table.optional(key) or table.itself
                raise place.error(
                    f"the CPU's rates with {number} cores at {clock_mhz:g} MHz are not known",
                    f"known are {', '.join(places)} {what}",
                )


def _full_power(value: Value) -> CpuPower:
    table = value.table()
    table.only("cores", "clock_mhz", "package_w", "memory_w")
    return CpuPower(
        cores=table.value("cores").whole(1, MOST_NODES),
        clock_mhz=table.get("clock_mhz", Value.positive, None),
        package_w=table.value("package_w").positive(),
        memory_w=table.value("memory_w").not_negative(),
    )


_WAITING = ("idle", "busy")


def read_workflow(path: Path) -> Workflow:
    """Read and check the file. Raises `WattsliceError`."""
    try:
        document = parse_toml(file_bytes(path))
    except OSError as error:
        raise of_system(error, "cannot be read", path) from None
    except ValueError as error:
        raise WattsliceError(f"not valid TOML: {error}", path=path) from None
    root = Value(path, "", document).table()
    root.only("workflow", "network", "nodes", "components")
    about = root.table("workflow")
    about.only("name", "steps", "overlap", "share_nodes", "objective", *Limits.__struct_fields__)
    network = root.table("network")
    network.only("latency_s", "bandwidth_bytes_per_s", "overlap", "waiting")
    nodes = tuple(_node_kind(name, value) for name, value in named_tables(root, "nodes", "node kind"))
    components = read_components(root, nodes)
    if "network" not in root:
        for component in components:
            if component.exchanges:
                raise WattsliceError(
                    f"{component.place}.communication: there is no network to communicate over",
                    path=path,
                    remedy="add [network] with latency_s and bandwidth_bytes_per_s",
                )
    return Workflow(
        path=path,
        name=about.get("name", Value.text, path.stem),
        steps=about.get("steps", lambda value: value.whole(1, 10**12), 1),
        nodes=nodes,
        components=components,
        overlap=about.get("overlap", Value.truth, False),
        share_nodes=about.get("share_nodes", Value.truth, True),
        objective=Objective(
            about.get("objective", lambda value: value.one_of(Objective, "objective"), Objective.ENERGY)
        ),
        limits=Limits(*(about.get(key, Value.positive, None) for key in Limits.__struct_fields__)),
        network=None
        if "network" not in root
        else Network(
            latency_s=network.value("latency_s").not_negative(),
            bandwidth_bytes_per_s=network.value("bandwidth_bytes_per_s").positive(),
        ),
        hides_communication=network.get("overlap", Value.truth, False),
        waits_busy=network.get("waiting", lambda value: value.one_of(_WAITING, "way to wait"), "") == "busy",
    )
