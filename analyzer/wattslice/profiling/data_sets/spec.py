"""Reads a data spec: a TOML file that says what a kernel is run on.

[launch]
grid = [4]
block = [256]

[[data]]
name = "uniform"
seed = 1
[data.arguments]
n = 1000
keys = { size = 1000, generator = "uniform", low = 0, high = 100 }
"""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from wattslice.documents import Table, Value, parse_toml
from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import file_bytes
from wattslice.launches.launch import MAX_BLOCK, MAX_GRID, MAX_THREADS_PER_BLOCK, Dim3, KernelLaunch


class LaunchGiven(Struct, frozen=True):
    """What a spec says of the launch; None where it leaves it to the host code."""

    grid: Dim3 | None = None
    block: Dim3 | None = None
    shared_bytes: int | None = None


class DataSetSpec(Struct, frozen=True, eq=False):
    """One data set: what it says of arguments and globals is checked against a kernel later (`arguments`).

    `kernel` None: the only one of the file, or the one that `--kernel` names.
    """

    name: str
    seed: int
    kernel: str | None
    launch: LaunchGiven
    arguments: Table
    globals: Table


class Spec(Struct, frozen=True, eq=False):
    """A data spec as read."""

    path: Path
    launch: LaunchGiven
    data: tuple[DataSetSpec, ...]


class Shape(Struct, frozen=True):
    """Grid, block and dynamic shared memory of one launch."""

    grid: Dim3
    block: Dim3
    shared_bytes: int


def read_spec(path: Path) -> Spec:
    """Reads and checks everything but arguments and globals. Raises `WattsliceError` with file and place."""
    try:
        document = parse_toml(file_bytes(path))
    except OSError as error:
        remedy = "`wattslice profile FILE --skeleton` writes one to start from"
        raise of_system(error, "cannot read the data spec", path, remedy) from None
    except ValueError as error:
        raise WattsliceError(f"not TOML: {error}", path=path) from None
    top = Value(path, "", document).table()
    top.only("launch", "data")
    launch = top.get("launch", _launch, LaunchGiven())
    data = tuple(map(_data_set, top.list("data")))
    if not data:
        raise WattsliceError("no [[data]]: at least one data set is needed", path=path)
    seen: set[tuple[str | None, str]] = set()
    for value, entry in zip(top.list("data"), data, strict=True):
        if (entry.kernel, entry.name) in seen:
            remedy = "give each data set of a kernel a name of its own"
            raise value.error(f"another one is called {entry.name!r}", remedy)
        seen.add((entry.kernel, entry.name))
    return Spec(path, launch, data)


def _data_set(value: Value) -> DataSetSpec:
    table = value.table()
    table.only("name", "kernel", "seed", "launch", "arguments", "globals")
    return DataSetSpec(
        name=table.value("name").name(),
        seed=table.get("seed", lambda value: value.whole(0), 0),
        kernel=table.get("kernel", Value.name, None),
        launch=table.get("launch", _launch, LaunchGiven()),
        arguments=table.table("arguments"),
        globals=table.table("globals"),
    )


def _launch(value: Value) -> LaunchGiven:
    table = value.table()
    table.only("grid", "block", "shared_bytes")
    block = table.get("block", lambda value: _extent(value, MAX_BLOCK), None)
    if block is not None and (threads := math.prod(block)) > MAX_THREADS_PER_BLOCK:
        told = f"{threads} threads; no GPU runs more than {MAX_THREADS_PER_BLOCK} in a block"
        raise table.value("block").error(told)
    grid = table.get("grid", lambda value: _extent(value, MAX_GRID), None)
    return LaunchGiven(grid, block, table.get("shared_bytes", lambda value: value.whole(0), None))


def _extent(value: Value, limits: Dim3) -> Dim3:
    """`[4]`, `[4, 2]`, `[4, 2, 1]`, or one number."""
    entries = value.entries()
    if not 1 <= len(entries) <= 3:
        raise value.error(f"expected one to three numbers (x, y, z), found {len(entries)}")
    numbers = [entry.whole(1, limit) for entry, limit in zip(entries, limits, strict=False)]
    x, y, z = (*numbers, *(1 for _ in range(3 - len(numbers))))
    return (x, y, z)


def shape_of(spec: Spec, data: DataSetSpec, launch: KernelLaunch, *, is_certain: bool) -> Shape:
    """What `data` is launched with: its own, else the spec's, else the host code's when `is_certain`.

    Raises `WattsliceError` when nobody says.
    """
    own, general = data.launch, spec.launch
    grid = own.grid or general.grid or (launch.grid if is_certain else None)
    block = own.block or general.block or (launch.block if is_certain else None)
    shared = [given for given in (own.shared_bytes, general.shared_bytes) if given is not None]
    if grid is None or block is None:
        missing = [name for name, extent in (("grid", grid), ("block", block)) if extent is None]
        raise WattsliceError(
            f"the {' and '.join(missing)} of {launch.kernel.name} cannot be read from the host code",
            path=spec.path,
            remedy=f"add [launch] with {' and '.join(f'{name} = [x, y, z]' for name in missing)}",
        )
    return Shape(grid, block, shared[0] if shared else launch.dynamic_shared_bytes)
