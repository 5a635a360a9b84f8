"""``[components.NAME]`` of a workflow file."""

from __future__ import annotations

from wattslice.documents import Table, Value
from wattslice.projection.component_work import read_characterised, read_kernel, read_loops
from wattslice.projection.fields import (
    MOST_NODES,
    counts,
    finite,
    maybe_not_negative,
    maybe_positive,
    named_tables,
    not_negative,
    one_of,
    positive,
)
from wattslice.projection.workflow import (
    FULL_LOAD,
    Component,
    CpuNode,
    GpuNode,
    Measured,
    NodeKind,
)
from wattslice_models.communication import Exchange, Pattern
from wattslice_models.node_energy import PowerCoefficients


def read_components(document: Table, nodes: tuple[NodeKind, ...]) -> tuple[Component, ...]:
    """All components in their order. Raises the document's error with key and remedy."""
    kinds = {node.name: node for node in nodes}
    return tuple(
        _component(name, value, kinds) for name, value in named_tables(document, "components", "component")
    )


def _component(name: str, value: Value, kinds: dict[str, NodeKind]) -> Component:
    table = value.table()
    table.only(
        "nodes",
        "on",
        "serial_share",
        "communication",
        "measured",
        "kernels",
        "characteristics",
        "published",
        "loops",
        "power",
    )
    on = table.optional("on")
    if on is not None and isinstance(on.any, str):
        on = on.inside("", [on.any])
    if on is not None and not on.list():
        raise on.error("names no node kind", "remove it: the component may then run on all of them")
    allowed = kinds if on is None else tuple(one_of(entry, kinds, "node kind") for entry in on.list())
    measured = tuple(_measured(entry, kinds) for entry in table.list("measured"))
    _check_once(table, measured)
    for entry, found in zip(table.list("measured"), measured, strict=True):
        if found.node not in allowed:
            raise entry.error(
                f"{found.node} is not in {table.itself.place}.on", "add it there, or remove this"
            )
    component = Component(
        name=name,
        place=value.place,
        node_counts=counts(table.value("nodes"), "nodes") if "nodes" in table else (1,),
        on=() if on is None else tuple(allowed),
        serial_share=table.value("serial_share").number(0.0, 1.0) if "serial_share" in table else 0.0,
        exchanges=tuple(_exchange(entry) for entry in table.list("communication")),
        measured=measured,
        kernels=tuple(read_kernel(entry) for entry in table.list("kernels")),
        characterised=read_characterised(table, kinds),
        loops=read_loops(table),
        package=_coefficients(table, "package"),
        memory=_coefficients(table, "memory"),
    )
    if (component.kernels and component.characterised) or (
        "characteristics" in table and "published" in table
    ):
        raise value.error("two of kernels, characteristics and published tell the same", "keep one of them")
    if not (component.measured or component.kernels or component.characterised or component.loops):
        remedy = f"give [[{value.place}.kernels]], measured, loops, characteristics or published"
        raise value.error("nothing tells how long it takes", remedy)
    power = table.optional("power")
    if power is not None and not (component.loops or _asks_for_full_power(component, kinds)):
        raise power.error(
            "tells nothing: only loops, and times on CPU nodes without their own power_w, draw full_power",
            "remove it, or the power_w",
        )
    return component


def _asks_for_full_power(component: Component, kinds: dict[str, NodeKind]) -> bool:
    """Whether a time on a CPU node leaves its power to `full_power`."""
    return any(
        entry.power_w is None and isinstance(kinds[entry.node].processor, CpuNode)
        for entry in component.measured
    )


def _exchange(value: Value) -> Exchange:
    table = value.table()
    table.only("pattern", "data_bytes", "per_step", "dimensions")
    pattern = Pattern(one_of(table.value("pattern"), list(Pattern), "communication pattern"))
    if "dimensions" in table and pattern is not Pattern.HALO:
        raise table.value("dimensions").error("only a halo exchange has dimensions", "remove it")
    return Exchange(
        pattern=pattern,
        data_bytes=not_negative(table.value("data_bytes")),
        count=not_negative(table.value("per_step")) if "per_step" in table else 1.0,
        dimensions=table.value("dimensions").whole(1, 3) if "dimensions" in table else 2,
    )


def _measured(value: Value, kinds: dict[str, NodeKind]) -> Measured:
    table = value.table()
    table.only(
        "node",
        "time_s",
        "cores",
        "clock_mhz",
        "power_w",
        "gpu_power_w",
        "power_limit_share",
        "power_low_w",
        "power_high_w",
    )
    node = one_of(table.value("node"), kinds, "node kind")
    measured = Measured(
        place=value.place,
        node=node,
        time_s=positive(table.value("time_s")),
        cores=table.value("cores").whole(1, MOST_NODES) if "cores" in table else None,
        clock_mhz=maybe_positive(table, "clock_mhz"),
        power_w=maybe_positive(table, "power_w"),
        gpu_power_w=maybe_positive(table, "gpu_power_w"),
        power_limit_share=maybe_positive(table, "power_limit_share"),
        power_low_w=maybe_not_negative(table, "power_low_w"),
        power_high_w=maybe_positive(table, "power_high_w"),
    )
    _check_powers(value, measured)
    processor = kinds[node].processor
    if isinstance(processor, GpuNode):
        if measured.cores is not None or measured.clock_mhz is not None:
            raise value.error(f"{node} is a GPU node: a time there has no cores and no clock", "remove them")
        _check_host(value, measured, processor)
    else:
        _check_cpu(value, measured, processor)
    return measured


def _check_once(table: Table, measured: tuple[Measured, ...]) -> None:
    known: set[tuple[str, int | None, float | None]] = set()
    for value, entry in zip(table.list("measured"), measured, strict=True):
        setting = (entry.node, entry.cores, entry.clock_mhz)
        if setting in known:
            raise value.error(f"{entry.node} stands there twice with the same cores and clock", "remove one")
        known.add(setting)


def _check_powers(value: Value, measured: Measured) -> None:
    given = [
        key for key in ("power_w", "gpu_power_w", "power_limit_share") if getattr(measured, key) is not None
    ]
    if len(given) > 1:
        raise value.error(f"{' and '.join(given)} both say what it draws", "keep one of them")
    low_w, high_w = measured.power_low_w, measured.power_high_w
    if low_w is None and high_w is None:
        return
    power_w = measured.power_w if measured.power_w is not None else measured.gpu_power_w
    if power_w is None or low_w is None or high_w is None or not low_w <= power_w <= high_w:
        raise value.error(
            "the interval does not hold the power", "power_low_w <= power_w <= power_high_w, all three given"
        )


def _check_host(value: Value, measured: Measured, node: GpuNode) -> None:
    """`power_w` of a GPU node includes its host, so that what is left for the GPU is not negative."""
    if measured.power_w is None:
        return
    low_w = measured.power_w if measured.power_low_w is None else measured.power_low_w
    if low_w < node.host_idle_w:
        key = "power_w" if measured.power_low_w is None else "power_low_w"
        raise value.error(
            f"{key} = {low_w:g} is less than the host_idle_w = {node.host_idle_w:g} of {measured.node}",
            "power_w is that of the node with its host; that of the GPU alone is gpu_power_w",
        )


def _check_cpu(value: Value, measured: Measured, node: CpuNode) -> None:
    if measured.gpu_power_w is not None or measured.power_limit_share is not None:
        raise value.error(f"{measured.node} has no GPU", "give power_w, the watts of the node")
    for key, given, known in (
        ("cores", measured.cores, node.cores),
        ("clock_mhz", measured.clock_mhz, node.clocks_mhz),
    ):
        listed = f"nodes.{measured.node} has {', '.join(f'{number:g}' for number in known)}"
        if given is None and len(known) > 1:
            raise value.error(f"{key!r} is missing", listed)
        if given is not None and known and given not in known:
            raise value.error(f"{key} = {given:g} is none of that node kind", listed)


def _coefficients(component: Table, part: str) -> PowerCoefficients:
    power = component.optional("power")
    if power is None:
        return FULL_LOAD
    table = power.table()
    table.only(*(f"{name}_{kind}" for name in ("package", "memory") for kind in ("full", "idle")))
    if f"{part}_full" not in table and f"{part}_idle" not in table:
        return FULL_LOAD
    full, idle = table.value(f"{part}_full"), table.value(f"{part}_idle")
    return PowerCoefficients(finite(full), finite(idle))
