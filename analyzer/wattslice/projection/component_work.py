"""What a component computes, in its three unmeasured forms: sources, characteristics, loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from wattslice.documents import Table, Value
from wattslice.projection.fields import (
    finite,
    maybe_not_negative,
    not_negative,
    one_of,
    positive,
    texts,
)
from wattslice.projection.published_work import ACRANEB2, published_names
from wattslice.projection.workflow import CharacterisedKernels, KernelUse, TimeModel
from wattslice_models.cpu_roofline import Loop, LoopCoefficients
from wattslice_models.escape_time import PUBLISHED_CELLS_FACTOR, KernelCharacteristics


def read_kernel(value: Value) -> KernelUse:
    """A kernel of a source file."""
    table = value.table()
    options = ("launch", "set", "define", "include", "profile")
    table.only("source", "kernel", "launches", "launch_line", *options, "model")
    folder = value.path.parent
    source = folder / table.value("source").name()
    if not source.is_file():
        raise table.value("source").error(f"{source} is no file", "a path from the workflow file's folder")
    profile, model = table.optional("profile"), table.optional("model")
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
        model=TimeModel.OWN if model is None else TimeModel(one_of(model, list(TimeModel), "time model")),
        profile=None if profile is None else folder / profile.name(),
    )


def read_characterised(component: Table, kinds: Iterable[str]) -> CharacterisedKernels | None:
    """Kernels with ESCAPE's characteristics: the planner's own, or those of a published program."""
    own, published = component.optional("characteristics"), component.optional("published")
    if own is not None:
        table = own.table()
        table.only("cells", "kernels", "gpu_power_w")
        kernels = tuple(_characteristics(entry) for entry in table.value("kernels").list())
        if not kernels:
            raise own.error("names no kernels", f"give [[{own.place}.kernels]]")
        source, factor, place = "characteristics as given", 1.0, own
    elif published is not None and _is_acraneb2(published):
        table = published.table()
        table.only("name", "cells", "gpu_power_w")
        from wattslice.projection.escape_published import acraneb2

        kernels, source = acraneb2(), "characteristics of ESCAPE D3.5, Table 9"
        factor, place = PUBLISHED_CELLS_FACTOR, published
    else:
        return None
    powers: list[tuple[str, float]] = []
    if "gpu_power_w" in table:
        by_node = table.value("gpu_power_w").table()
        by_node.only(*kinds)
        powers = [(name, positive(by_node.value(name))) for name in by_node]
    cells = positive(table.value("cells")) * factor
    return CharacterisedKernels(place.place, kernels, cells, tuple(powers), source)


def read_loops(component: Table) -> tuple[Loop, ...]:
    """Loops on CPUs: the planner's own, and those of a published program."""
    published = component.optional("published")
    known: tuple[Loop, ...] = ()
    if published is not None and not _is_acraneb2(published):
        published.table().only("name")
        from wattslice.projection.escape_published import spherical_harmonics

        known = spherical_harmonics()
    return (*known, *(_loop(entry) for entry in component.list("loops")))


def _is_acraneb2(published: Value) -> bool:
    name = published.table().value("name")
    return one_of(name, published_names(), "published program") == ACRANEB2


def _characteristics(value: Value) -> KernelCharacteristics:
    table = value.table()
    names = [field.name for field in fields(KernelCharacteristics)]
    table.only(*names)
    try:
        return KernelCharacteristics(**{name: not_negative(table.value(name)) for name in names})
    except ValueError as error:
        raise value.error(
            str(error), "fractions (not percent), and counts for one cell: ESCAPE D3.5, Table 8"
        ) from None


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
