"""``[components.NAME]`` of a workflow file, read and checked: what runs, how long, on which nodes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from wattslice.documents import Table, Value
from wattslice.projection.workflow import (
    FULL_LOAD,
    CharacterisedKernels,
    Component,
    CpuNode,
    GpuNode,
    KernelUse,
    Measured,
    NodeKind,
    leaves_power,
)
from wattslice_models.communication import Exchange, Pattern
from wattslice_models.cpu_roofline import Loop, LoopCoefficients
from wattslice_models.escape_time import KernelCharacteristics
from wattslice_models.node_energy import PowerCoefficients

MOST_NODES = 1_000_000
MOST_COUNTS = 100_000


def counts(value: Value, what: str) -> tuple[int, ...]:
    """Whole numbers from 1: one, a list, or a range such as ``"1..64"``; ascending, each once."""
    if isinstance(value.any, str):
        found = re.fullmatch(r"\s*(\d{1,9})\s*\.\.\s*(\d{1,9})\s*", value.any)
        low, high = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= low <= high <= MOST_NODES or high - low >= MOST_COUNTS:
            remedy = f'a range such as "1..64", of at most {MOST_COUNTS} numbers up to {MOST_NODES}'
            raise value.error(f"{value.any!r} is no range of {what}", remedy)
        return tuple(range(low, high + 1))
    if isinstance(value.any, list):
        numbers = tuple(sorted({entry.whole(1, MOST_NODES) for entry in value.list()}))
        if not numbers:
            raise value.error(f"names no {what}", "a list such as [1, 2, 4, 8]")
        return numbers
    return (value.whole(1, MOST_NODES),)


def texts(table: Table, key: str) -> tuple[str, ...]:
    """A list of texts, or one text; none without the key."""
    return table.get(key, lambda value: tuple(entry.text() for entry in value.entries()), ())


def named_tables(table: Table, key: str, what: str) -> list[tuple[str, Value]]:
    """The entries of ``[key.NAME]`` in their order, at least one."""
    entries = table.value(key).table()
    found = [(name, entries.value(name)) for name in entries]
    if not found:
        raise table.value(key).error(f"there is no {what}", f"write one as [{key}.NAME]")
    return found


def read_kernel(value: Value) -> KernelUse:
    """A kernel of a source file."""
    table = value.table()
    options = ("launch", "set", "define", "include", "profile")
    table.only("source", "kernel", "launches", "launch_line", *options)
    folder = value.path.parent
    source = folder / table.value("source").name()
    if not os.path.isfile(source):  # noqa: PTH113  (a name that is too long is none)
        raise table.value("source").error(f"{source} is no file", "a path from the workflow file's folder")
    return KernelUse(
        place=value.place,
        source=source,
        kernel=table.get("kernel", Value.name, None),
        launches=table.get("launches", Value.positive, 1.0),
        launch_line=table.get("launch_line", lambda value: value.position("line"), None),
        launch=texts(table, "launch"),
        overrides=texts(table, "set"),
        definitions=texts(table, "define"),
        include=tuple(folder / text for text in texts(table, "include")),
        profile=table.get("profile", lambda value: folder / value.name(), None),
    )


def read_characterised(component: Table, kinds: Iterable[str]) -> CharacterisedKernels | None:
    """Kernels with ESCAPE's characteristics."""
    own = component.optional("characteristics")
    if own is None:
        return None
    table = own.table()
    table.only("cells", "kernels", "gpu_power_w")
    kernels = tuple(_characteristics(entry) for entry in table.value("kernels").list())
    if not kernels:
        raise own.error("names no kernels", f"give [[{own.place}.kernels]]")
    powers: list[tuple[str, float]] = []
    if "gpu_power_w" in table:
        by_node = table.value("gpu_power_w").table()
        by_node.only(*kinds)
        powers = [(name, by_node.value(name).positive()) for name in by_node]
    return CharacterisedKernels(own.place, kernels, table.value("cells").positive(), tuple(powers))


def _characteristics(value: Value) -> KernelCharacteristics:
    table = value.table()
    names = list(KernelCharacteristics.__struct_fields__)
    table.only(*names)
    try:
        return KernelCharacteristics(**{name: table.value(name).not_negative() for name in names})
    except ValueError as error:
        raise value.error(
            str(error), "fractions (not percent), and counts for one cell: ESCAPE D3.5, Table 8"
        ) from None


def _loop(value: Value) -> Loop:
    table = value.table()
    table.only("name", "work_flop", "traffic_bytes", "V", "X", "Y", "Z", "U", "S_flop_per_s")

    def share(key: str) -> float:
        return table.get(key, Value.not_negative, 0.0)

    try:
        return Loop(
            name=table.get("name", Value.name, value.place),
            work_flop=share("work_flop"),
            traffic_bytes=table.value("traffic_bytes").not_negative(),
            coefficients=LoopCoefficients(
                share("V"),
                share("X"),
                share("Y"),
                share("Z"),
                flop_share=table.get("U", Value.not_negative, None),
                flop_offset_per_s=table.get("S_flop_per_s", Value.finite, 0.0),
            ),
        )
    except ValueError as error:
        raise value.error(str(error), "V, X, Y, Z: shares of L1, L2, L3, DRAM; U: of the flop/s") from None


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
        "loops",
        "power",
    )
    on = table.optional("on")
    if on is not None and not on.entries():
        raise on.error("names no node kind", "remove it: the component may then run on all of them")
    allowed = kinds if on is None else tuple(entry.one_of(kinds, "node kind") for entry in on.entries())
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
        node_counts=table.get("nodes", lambda value: counts(value, "nodes"), (1,)),
        on=() if on is None else tuple(allowed),
        serial_share=table.get("serial_share", lambda value: value.number(0.0, 1.0), 0.0),
        exchanges=tuple(_exchange(entry) for entry in table.list("communication")),
        measured=measured,
        kernels=tuple(read_kernel(entry) for entry in table.list("kernels")),
        characterised=read_characterised(table, kinds),
        loops=tuple(_loop(entry) for entry in table.list("loops")),
        package=_coefficients(table, "package"),
        memory=_coefficients(table, "memory"),
    )
    if component.kernels and component.characterised:
        raise value.error("kernels and characteristics tell the same", "keep one of them")
    if not (component.measured or component.kernels or component.characterised or component.loops):
        remedy = f"give [[{value.place}.kernels]], measured, loops or characteristics"
        raise value.error("nothing tells how long it takes", remedy)
    power = table.optional("power")
    if power is not None and not (
        component.loops or any(leaves_power(entry, kinds.values()) for entry in component.measured)
    ):
        raise power.error(
            "tells nothing: only loops, and times on CPU nodes without their own power_w, draw full_power",
            "remove it, or the power_w",
        )
    return component


def _exchange(value: Value) -> Exchange:
    table = value.table()
    table.only("pattern", "data_bytes", "per_step", "dimensions")
    pattern = Pattern(table.value("pattern").one_of(Pattern, "communication pattern"))
    if "dimensions" in table and pattern is not Pattern.HALO:
        raise table.value("dimensions").error("only a halo exchange has dimensions", "remove it")
    return Exchange(
        pattern=pattern,
        data_bytes=table.value("data_bytes").not_negative(),
        count=table.get("per_step", Value.not_negative, 1.0),
        dimensions=table.get("dimensions", lambda value: value.whole(1, 3), 2),
    )


def _measured(value: Value, kinds: dict[str, NodeKind]) -> Measured:
    table = value.table()
    table.only(*(name for name in Measured.__struct_fields__ if name != "place"))
    node = table.value("node").one_of(kinds, "node kind")
    measured = Measured(
        place=value.place,
        node=node,
        time_s=table.value("time_s").positive(),
        cores=table.get("cores", lambda value: value.whole(1, MOST_NODES), None),
        clock_mhz=table.get("clock_mhz", Value.positive, None),
        power_w=table.get("power_w", Value.positive, None),
        gpu_power_w=table.get("gpu_power_w", Value.positive, None),
        power_limit_share=table.get("power_limit_share", Value.positive, None),
        power_low_w=table.get("power_low_w", Value.not_negative, None),
        power_high_w=table.get("power_high_w", Value.positive, None),
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
    return PowerCoefficients(full.finite(), idle.finite())
