"""From rows of tables to the examples that models learn from and are judged by."""

from __future__ import annotations

import math
from collections import Counter

from msgspec import Struct, convert, json
from msgspec.structs import asdict

from wattslice.training.tables import MeasuredTables, measured_tables
from wattslice_corpora.records import MeasuredRow, SliceRow, Use, WorkloadRow
from wattslice_models.contract import Example, RepeatedLaunch, SliceSample, Subject
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


class LeftOut(Struct, frozen=True):
    """Measured runs of a program (or at a clock) that give no example, and why."""

    benchmark: str
    runs: int
    reason: str


class Examples(Struct, frozen=True):
    """What some tables give for one use. `left_out`: the rows of that use that gave no example."""

    examples: tuple[Example, ...]
    left_out: tuple[LeftOut, ...]


def examples(gpu: Gpu, use: Use) -> Examples:
    """The committed runs of a GPU for one use. Raises `RecordError`, and `WattsliceError` without any."""
    return examples_of(measured_tables(gpu.id), gpu, use)


def examples_of(tables: MeasuredTables, gpu: Gpu, use: Use | None) -> Examples:
    """The examples of `tables`, measured on `gpu`; `use` None: whatever they may serve.

    A run without watts to trust or without features gives none.
    """
    workloads: dict[tuple[str, str, str], list[WorkloadRow]] = {}
    for row in tables.workloads:
        workloads.setdefault((row.benchmark, row.kernel, row.arguments), []).append(row)
    slices: dict[tuple[str, str, str], list[SliceRow]] = {}
    for row in tables.slices:
        slices.setdefault((row.benchmark, row.kernel, row.arguments), []).append(row)
    found: list[Example] = []
    left_out: Counter[tuple[str, str]] = Counter()
    without_features = dict(tables.reasons)
    for row in tables.measured:
        if use is not None and tables.use(row.dataset) not in (use, None):
            continue
        run = (row.benchmark, row.kernel, row.arguments)
        launches = workloads.get(run, [])
        reason = "" if launches else without_features.get(run, "it has no features")
        reason = reason if row.power_valid else row.reason
        if reason:
            left_out[program_or_clock(row), reason] += 1
            continue
        time_s = None if tables.time_is_of_something_else(row) else row.time_s
        clocks = Clocks(tables.core_mhz(row), row.memory_mhz)
        found.append(_example(row, launches, slices.get(run, []), gpu, clocks, time_s))
    return Examples(tuple(found), tuple(LeftOut(name, runs, why) for (name, why), runs in left_out.items()))


def program_or_clock(row: MeasuredRow) -> str:
    """What is left out with a run: its program, or a whole clock where its watts are not valid."""
    whole_clock = not row.power_valid and row.core_mhz is not None
    return f"at {row.core_mhz:g} MHz" if whole_clock else row.benchmark


def _example(
    row: MeasuredRow,
    launches: list[WorkloadRow],
    slices: list[SliceRow],
    gpu: Gpu,
    clocks: Clocks,
    time_s: float | None,
) -> Example:
    assert row.power_w is not None  # as the schema has it for valid watts
    return Example(
        dataset=row.dataset,
        benchmark=row.benchmark,
        kernel=row.kernel,
        arguments=row.arguments,
        subject=Subject(
            gpu,
            clocks,
            tuple(RepeatedLaunch(workload_of(launch), launch.repeat) for launch in launches),
            _samples(slices),
        ),
        power_w=row.power_w,
        time_s=time_s,
    )


def _samples(rows: list[SliceRow]) -> tuple[SliceSample, ...]:
    total = math.fsum(row.length for row in rows)
    if not total:
        return ()
    return tuple(
        SliceSample(
            row.memory_space, row.arithmetic_density, row.sm_saturation, row.code_lines, row.length / total
        )
        for row in rows
    )


def workload_of(row: WorkloadRow) -> Workload:
    """The workload that a row of a table holds."""
    columns = asdict(row)
    kinds = json.decode(row.kinds) if row.kinds else ()
    return convert({**columns, "instructions": columns, "kinds": kinds}, Workload)
