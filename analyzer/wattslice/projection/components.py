"""``[components.NAME]`` of a workflow file."""

from __future__ import annotations

from wattslice.documents import Table, Value
from wattslice.projection.fields import (
    counts,
    finite,
    maybe_not_negative,
    maybe_positive,
    named_tables,
    not_negative,
    one_of,
    positive,
    texts,
)
from wattslice.projection.published_work import ACRANEB2, published_names, spherical_loops
from wattslice.projection.workflow import (
    FULL_LOAD,
    Component,
    CpuNode,
    GpuNode,
    KernelUse,
    Measured,
    NodeKind,
    PublishedKernels,
)
from wattslice_models.communication import Exchange, Pattern
from wattslice_models.cpu_roofline import Loop, LoopCoefficients
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
        "nodes", "on", "serial_share", "communication", "measured", "kernels", "published", "loops", "power"
    )
    on = table.optional("on")
    if on is not None and isinstance(on.any, str):
        on = on.inside("", [on.any])
    published, published_loops = _published(table, kinds)
    component = Component(
        name=name,
        place=value.place,
        node_counts=counts(table.value("nodes"), "nodes") if "nodes" in table else (1,),
        on=() if on is None else tuple(one_of(entry, kinds, "node kind") for entry in on.list()),
        serial_share=table.value("serial_share").number(0.0, 1.0) if "serial_share" in table else 0.0,
        exchanges=tuple(_exchange(entry) for entry in table.list("communication")),
        measured=tuple(_measured(entry, kinds) for entry in table.list("measured")),
        kernels=tuple(_kernel(entry) for entry in table.list("kernels")),
        published=published,
        loops=(*published_loops, *(_loop(entry) for entry in table.list("loops"))),
        package=_coefficients(table, "package"),
        memory=_coefficients(table, "memory"),
    )
    if not (component.measured or component.kernels or component.published or component.loops):
        remedy = f"give [[{value.place}.kernels]], measured, loops or published"
        raise value.error("nothing tells how long it takes", remedy)
    if component.kernels and component.published:
        raise value.error("kernels and published both say how long it takes on GPUs", "keep one of them")
    return component


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
        cores=table.value("cores").whole(1) if "cores" in table else None,
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
    else:
        _check_cpu(value, measured, processor)
    return measured


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


def _kernel(value: Value) -> KernelUse:
    table = value.table()
    table.only("source", "kernel", "launches", "launch_line", "launch", "set", "define", "include")
    folder = value.path.parent
    source = folder / table.value("source").name()
    if not source.is_file():
        raise table.value("source").error(f"{source} is no file", "a path from the workflow file's folder")
    return KernelUse(
        place=value.place,
        source=source,
        kernel=table.value("kernel").name() if "kernel" in table else None,
        launches=positive(table.value("launches")) if "launches" in table else 1.0,
        launch_line=table.value("launch_line").position("line") if "launch_line" in table else None,
        launch=texts(table, "launch"),
        overrides=texts(table, "set"),
        definitions=texts(table, "define"),
        include=tuple(folder / text for text in texts(table, "include")),
    )


def _published(
    component: Table, kinds: dict[str, NodeKind]
) -> tuple[PublishedKernels | None, tuple[Loop, ...]]:
    """The published program: kernels on GPUs, or loops on CPUs."""
    value = component.optional("published")
    if value is None:
        return None, ()
    table = value.table()
    if one_of(table.value("name"), published_names(), "published program") != ACRANEB2:
        table.only("name")
        return None, spherical_loops()
    table.only("name", "cells", "gpu_power_w")
    powers: list[tuple[str, float]] = []
    if "gpu_power_w" in table:
        by_node = table.value("gpu_power_w").table()
        by_node.only(*kinds)
        powers = [(name, positive(by_node.value(name))) for name in by_node]
    return PublishedKernels(positive(table.value("cells")), tuple(powers)), ()


def _loop(value: Value) -> Loop:
    table = value.table()
    table.only("name", "work_flop", "traffic_bytes", "V", "X", "Y", "Z", "U", "S_flop_per_s")

    def share(key: str) -> float:
        return not_negative(table.value(key)) if key in table else 0.0

    try:
        return Loop(
            name=table.value("name").name() if "name" in table else value.place,
            work_flop=share("work_flop"),
            traffic_bytes=not_negative(table.value("traffic_bytes")),
            coefficients=LoopCoefficients(
                share("V"),
                share("X"),
                share("Y"),
                share("Z"),
                flop_share=maybe_not_negative(table, "U"),
                flop_offset_per_s=finite(table.value("S_flop_per_s")) if "S_flop_per_s" in table else 0.0,
            ),
        )
    except ValueError as error:
        raise value.error(str(error), "V, X, Y, Z: shares of L1, L2, L3, DRAM; U: of the flop/s") from None


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
