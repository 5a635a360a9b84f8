"""Public power measurements, how their programs were run, and the features our analyzer found in them.

`measurements/<gpu>.csv`: watts and seconds measured by others, one row per program, arguments and clocks.
`measurements/nv_dvfs_benchmark.toml`: which source, which launch, which value for which parameter.
`measurements/<gpu>_workloads.csv`: our own static features of those kernels, with source, path and commit.
Comment lines (``#``) before the header of a table say where it comes from.
"""

from __future__ import annotations

import csv
import hashlib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar, cast

MEASUREMENT_DIRECTORY = Path(__file__).parent / "measurements"
RECIPE_FILE = MEASUREMENT_DIRECTORY / "nv_dvfs_benchmark.toml"

_Row = TypeVar("_Row")


class RecordError(ValueError):
    """A table or recipe that cannot be used; the message names the file, the place and what is wrong."""


class Role(StrEnum):
    """What a benchmark's rows may be used for: nothing of a test application ever enters a fit."""

    TRAINING = "training"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One run: average board watts, seconds of one timed iteration, clocks as nvidia-smi counts them."""

    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float
    memory_mhz: float
    time_s: float
    power_w: float


@dataclass(frozen=True, slots=True)
class WorkloadRow:
    """Our static features of one kernel launch of one timed iteration; units as in the `Workload` record.

    `launch`: 0, 1, ... for the launches of an iteration, each made `repeat` times. An empty cell is unknown.
    `doubt`: why the bytes are not to be trusted (addresses not followed), else empty.
    """

    benchmark: str
    kernel: str
    arguments: str
    launch: int
    launched_kernel: str
    path: str
    repeat: int
    blocks: int
    threads_per_block: int
    active_warps_per_sm: float
    fp32: float
    fp64: float
    fp16: float
    integer: float
    integer_multiply: float
    special: float
    tensor: float
    load_store: float
    other: float
    warp_instructions: float | None
    l1_bytes: float | None
    l2_bytes: float | None
    dram_bytes: float | None
    shared_passes: float | None
    shared_accesses: float
    atomics: float
    barriers: float
    global_loads: float | None
    loads_in_flight: float | None
    footprint_bytes: float | None
    doubt: str


@dataclass(frozen=True, slots=True)
class ParameterValue:
    """A kernel parameter and its value: a number, or the name of the program's option that holds it."""

    name: str
    value: float | str


@dataclass(frozen=True, slots=True)
class LaunchRecipe:
    """One launch of a timed iteration. `kernel` empty: the one that the measurement names.

    `grid` None: as many blocks as the GPU holds at a time.
    """

    kernel: str
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int]
    shared_bytes: int
    repeat: int
    parameters: tuple[ParameterValue, ...]


@dataclass(frozen=True, slots=True)
class BenchmarkRecipe:
    """How one program was run.

    `one_of`: an iteration makes only the launch of the kernel that the measurement names. `incomplete`: what
    the launches leave out of an iteration, else empty.
    """

    name: str
    role: Role
    file: str
    defines: tuple[str, ...]
    launches: tuple[LaunchRecipe, ...]
    one_of: bool
    incomplete: str


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Measured rows of one GPU at one core clock that must not be used, and why."""

    gpu_id: str
    core_mhz: float
    reason: str


@dataclass(frozen=True, slots=True)
class Recipes:
    """Everything in the recipe file."""

    repository: str
    include: tuple[str, ...]
    exclusions: tuple[Exclusion, ...]
    benchmarks: tuple[BenchmarkRecipe, ...]

    def benchmark(self, name: str) -> BenchmarkRecipe:
        """The recipe of a benchmark; `RecordError` when there is none."""
        for entry in self.benchmarks:
            if entry.name == name:
                return entry
        raise RecordError(f"{RECIPE_FILE}: no [[benchmark]] named {name!r}")


def measured_gpu_ids() -> tuple[str, ...]:
    """GPUs with a table of measurements."""
    found = (path.stem for path in MEASUREMENT_DIRECTORY.glob("*.csv"))
    return tuple(sorted(name for name in found if not name.endswith("_workloads")))


def measurements_path(gpu_id: str) -> Path:
    """The table of measurements of a GPU."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}.csv"


def workloads_path(gpu_id: str) -> Path:
    """The table of our features, made for a GPU (occupancy and filling launches depend on it)."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}_workloads.csv"


def read_measurements(path: Path) -> tuple[MeasuredRow, ...]:
    """All rows of a table of measurements. Raises `RecordError`, and ``OSError`` when unreadable."""
    rows = _read(path, MeasuredRow)
    for number, row in enumerate(rows, start=1):
        if not (row.time_s > 0 and row.power_w > 0 and row.core_mhz > 0):
            raise RecordError(f"{path}: data row {number}: time, watts and clock must be positive")
    return rows


def read_workloads(path: Path) -> tuple[WorkloadRow, ...]:
    """All rows of a table of features. Raises `RecordError`, and ``OSError`` when unreadable."""
    return _read(path, WorkloadRow)


def write_table(path: Path, comments: tuple[str, ...], row_type: type[_Row], rows: tuple[_Row, ...]) -> None:
    """Write a table that the readers above read back exactly (numbers with full precision)."""
    names = [field.name for field in fields(cast("Any", row_type))]
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.writelines(f"# {comment}\n" for comment in comments)
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for row in rows:
            values = (getattr(row, name) for name in names)
            writer.writerow("" if value is None else _exact(value) for value in values)


def sha256(*paths: Path) -> str:
    """Hash of the contents of `paths`, in order."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_recipes(path: Path = RECIPE_FILE) -> Recipes:
    """The recipe file. Raises `RecordError` naming the benchmark at fault."""
    place = str(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        benchmarks: list[BenchmarkRecipe] = []
        for entry in document["benchmark"]:
            place = f"{path}: [[benchmark]] {entry.get('name')}"
            benchmarks.append(_benchmark(entry))
        place = f"{path}: [[exclude]]"
        exclusions = tuple(
            Exclusion(entry["gpu"], float(entry["core_mhz"]), entry["reason"])
            for entry in document["exclude"]
        )
        place = str(path)
        return Recipes(document["repository"], tuple(document["include"]), exclusions, tuple(benchmarks))
    except (KeyError, TypeError, ValueError) as error:
        raise RecordError(f"{place}: entry missing or malformed ({error})") from None


def option(arguments: str, name: str) -> float:
    """The number of ``-name=5`` in a command line. Raises `RecordError` without it."""
    for word in arguments.split():
        key, _, value = word.lstrip("-").partition("=")
        if key == name and value:
            try:
                return float(value)
            except ValueError:
                break
    raise RecordError(f"no number for option {name!r} in {arguments!r}")


def _benchmark(entry: dict[str, Any]) -> BenchmarkRecipe:
    return BenchmarkRecipe(
        name=entry["name"],
        role=Role(entry["role"]),
        file=entry["file"],
        defines=tuple(entry.get("define", ())),
        launches=tuple(_launch(launch) for launch in entry["launch"]),
        one_of=bool(entry.get("one_of", False)),
        incomplete=entry.get("incomplete", ""),
    )


def _launch(entry: dict[str, Any]) -> LaunchRecipe:
    grid = None if entry.get("fills_gpu") else _dim3(entry["grid"])
    values = cast("dict[str, float | str]", entry.get("set", {}))
    return LaunchRecipe(
        kernel=entry.get("kernel", ""),
        grid=grid,
        block=_dim3(entry["block"]),
        shared_bytes=int(entry.get("shared_bytes", 0)),
        repeat=int(entry.get("repeat", 1)),
        parameters=tuple(ParameterValue(name, value) for name, value in values.items()),
    )


def _dim3(values: list[int]) -> tuple[int, int, int]:
    x, y, z = (int(value) for value in values)
    return x, y, z


def _exact(value: object) -> str:
    return repr(value) if isinstance(value, float) else str(value)


_CONVERT: dict[str, Callable[[str], object]] = {
    "str": str,
    "int": int,
    "float": float,
    "float | None": lambda text: float(text) if text else None,
}


def _read(path: Path, row_type: type[_Row]) -> tuple[_Row, ...]:
    columns = {field.name: _CONVERT[str(field.type)] for field in fields(cast("Any", row_type))}
    lines = path.read_text(encoding="utf-8").splitlines()
    body = [(number, line) for number, line in enumerate(lines, start=1) if not line.startswith("#")]
    rows: list[_Row] = []
    reader = csv.reader(line for _, line in body)
    for (number, _), cells in zip(body, reader, strict=False):
        if not rows and cells == list(columns):
            continue
        try:
            pairs = zip(columns.items(), cells, strict=True)
            rows.append(row_type(**{name: convert(cell) for (name, convert), cell in pairs}))
        except ValueError as error:
            raise RecordError(f"{path}:{number}: {error}; columns are {','.join(columns)}") from None
    return tuple(rows)
