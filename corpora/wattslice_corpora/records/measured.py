"""The one schema of measured runs: `measurements/<gpu>.csv`, whoever measured them."""

from __future__ import annotations

import math
from pathlib import Path

from msgspec import Struct

from wattslice_corpora.records.tables import Dim3, read_table

MEASUREMENT_DIRECTORY = Path(__file__).parents[1] / "measurements"


class MeasuredRow(Struct, frozen=True):
    """One run of one kernel at one pair of clocks; None is what the data set does not tell.

    Which run:
    `dataset`: key of the data set in the GPU's card, which tells who measured, how, and what it may serve.
    `benchmark`, `kernel` (empty: the program's only one, or several), `arguments` of the program.
    `grid`, `block`, `shared_bytes` (dynamic shared memory): of the launch.
    `input`: what the data were: ``zeros``, ``random``, ``real``; empty when unknown.
    `core_mhz`, `memory_mhz`: clocks as nvidia-smi counts them; set, or the median when the card chose them.

    What was measured:
    `time_s`: of one launch or one timed iteration. `power_w`: board power of the plateau.
    `energy_j`: of one launch, from the energy counter. `idle_power_w`: of the board before the run.
    `memory_power_w`: the part that the board ascribes to its memory. `temperature_c`: of the chip, at last.
    `launches`, `window_s`: how often, how long the kernel was repeated. `method`: how the watts were defined.

    What it is worth:
    `power_valid`: whether the watts may be used, else `reason` says why not. `capped`: at the power limit, so
    that the watts are a lower bound of what the kernel wants. `throttled`: clocks lowered for another cause.
    """

    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    grid: Dim3 | None = None
    block: Dim3 | None = None
    shared_bytes: int | None = None
    input: str = ""
    core_mhz: float | None = None
    memory_mhz: float | None = None
    time_s: float | None = None
    power_w: float | None = None
    energy_j: float | None = None
    idle_power_w: float | None = None
    memory_power_w: float | None = None
    temperature_c: float | None = None
    launches: int | None = None
    window_s: float | None = None
    method: str = ""
    power_valid: bool = True
    capped: bool | None = None
    throttled: bool | None = None
    reason: str = ""


_POSITIVE = (
    "core_mhz",
    "memory_mhz",
    "time_s",
    "energy_j",
    "idle_power_w",
    "memory_power_w",
    "launches",
    "window_s",
)
_INPUTS = ("", "zeros", "random", "real")


_MOST_THREADS = 1024


def measured_fault(row: MeasuredRow) -> str:
    """What makes a row unfit to be kept, else empty. A failed run is fit: flagged, with its reason."""
    for name in ("dataset", "benchmark", "method"):
        if not getattr(row, name):
            return f"{name} must be told"
    if row.input not in _INPUTS:
        return f"input is {row.input!r}, not one of {', '.join(_INPUTS[1:])} or empty"
    if row.block is not None and math.prod(row.block) > _MOST_THREADS:
        return f"block has {math.prod(row.block)} threads, and none has more than {_MOST_THREADS}"
    if row.power_valid == bool(row.reason):
        return "reason must be told when, and only when, power_valid is false"
    if not row.power_valid:
        return ""
    if row.power_w is None or row.power_w <= 0:
        return "watts that are valid must be positive"
    for name in _POSITIVE:
        value = getattr(row, name)
        if value is not None and value <= 0:
            return f"{name} must be positive"
    return ""


def read_measurements(path: Path) -> tuple[MeasuredRow, ...]:
    """All rows of a table of measured runs, also those with watts not to be used.

    Raises `RecordError` with file and line, and ``OSError`` when unreadable.
    """
    return read_table(path, MeasuredRow, measured_fault)


def measurements_path(gpu_id: str) -> Path:
    """The table of measured runs of a GPU."""
    return MEASUREMENT_DIRECTORY / f"{gpu_id}.csv"


def measured_gpu_ids() -> tuple[str, ...]:
    """GPUs with a table of measured runs, which is one that has a data card beside it."""
    tables = MEASUREMENT_DIRECTORY.glob("*.csv")
    return tuple(sorted(path.stem for path in tables if path.with_suffix(".toml").exists()))
