"""Joins measured runs with our features of their kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wattslice_corpora.records import (
    MeasuredRow,
    Role,
    WorkloadRow,
    measurements_path,
    read_measurements,
    read_recipes,
    read_workloads,
    workloads_path,
)
from wattslice_models.energy_fit import LaunchWork, TrainingRow
from wattslice_models.execution_time import Clocks
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Instructions, Workload


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Measured runs of a program (or at a clock) that enter neither fit nor evaluation, and why."""

    benchmark: str
    runs: int
    reason: str


@dataclass(frozen=True, slots=True)
class PublicRuns:
    """What may be trained on and what may be tested on, for one GPU. `incomplete`: benchmarks whose timed
    iteration holds more than what was analysed, so that their time tells nothing.
    """

    training: tuple[TrainingRow, ...]
    test: tuple[TrainingRow, ...]
    incomplete: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


def public_runs(gpu: Gpu) -> PublicRuns:
    """All committed runs of one GPU. Raises `RecordError`, and ``OSError`` when a table is missing."""
    recipes = read_recipes()
    works: dict[tuple[str, str, str], list[WorkloadRow]] = {}
    for row in read_workloads(workloads_path(gpu.id)):
        works.setdefault((row.benchmark, row.kernel, row.arguments), []).append(row)
    excluded = {entry.core_mhz: entry.reason for entry in recipes.exclusions if entry.gpu_id == gpu.id}
    by_role: dict[Role, list[TrainingRow]] = {Role.TRAINING: [], Role.TEST: []}
    left_out: Counter[tuple[str, str]] = Counter()
    for row in read_measurements(measurements_path(gpu.id)):
        recipe = recipes.benchmark(row.benchmark)
        launches = works.get((row.benchmark, row.kernel, row.arguments), [])
        doubts = [launch.doubt for launch in launches if launch.doubt]
        if row.core_mhz in excluded:
            left_out[f"at {row.core_mhz:g} MHz", excluded[row.core_mhz]] += 1
        elif not launches:
            left_out[row.benchmark, "a kernel of it could not be analysed"] += 1
        elif doubts and recipe.role is Role.TRAINING:
            # An application is tested whatever we know of it; but nothing is learnt from guessed bytes.
            left_out[row.benchmark, doubts[0]] += 1
        else:
            by_role[recipe.role].append(_training_row(row, launches))
    return PublicRuns(
        training=tuple(by_role[Role.TRAINING]),
        test=tuple(by_role[Role.TEST]),
        incomplete=tuple(recipe.name for recipe in recipes.benchmarks if recipe.incomplete),
        left_out=tuple(LeftOut(name, runs, reason) for (name, reason), runs in left_out.items()),
    )


def _training_row(row: MeasuredRow, launches: list[WorkloadRow]) -> TrainingRow:
    return TrainingRow(
        benchmark=row.benchmark,
        kernel=row.kernel,
        arguments=row.arguments,
        launches=tuple(LaunchWork(_workload(launch), launch.repeat) for launch in launches),
        clocks=Clocks(row.core_mhz, row.memory_mhz),
        time_s=row.time_s,
        power_w=row.power_w,
    )


def _workload(row: WorkloadRow) -> Workload:
    return Workload(
        blocks=row.blocks,
        threads_per_block=row.threads_per_block,
        active_warps_per_sm=row.active_warps_per_sm,
        instructions=Instructions(
            fp32=row.fp32,
            fp64=row.fp64,
            fp16=row.fp16,
            integer=row.integer,
            integer_multiply=row.integer_multiply,
            special=row.special,
            tensor=row.tensor,
            load_store=row.load_store,
            other=row.other,
        ),
        warp_instructions=row.warp_instructions,
        l1_bytes=row.l1_bytes,
        l2_bytes=row.l2_bytes,
        dram_bytes=row.dram_bytes,
        shared_passes=row.shared_passes,
        shared_accesses=row.shared_accesses,
        atomics=row.atomics,
        barriers=row.barriers,
        global_loads=row.global_loads,
        loads_in_flight=row.loads_in_flight,
        footprint_bytes=row.footprint_bytes,
    )
