"""Joins measured runs with our features of their kernels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from wattslice_corpora.records import (
    DataCard,
    MeasuredRow,
    Timed,
    Use,
    WorkloadRow,
    card_path,
    measurements_path,
    read_card,
    read_measurements,
    read_recipes,
    read_workloads,
    recipes_path,
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
    """What may be trained on and what may be tested on, for one GPU. `incomplete`: benchmarks whose time is
    not that of the launches analysed, so that it tells nothing.
    """

    training: tuple[TrainingRow, ...]
    test: tuple[TrainingRow, ...]
    incomplete: tuple[str, ...]
    left_out: tuple[LeftOut, ...]


def public_runs(gpu: Gpu) -> PublicRuns:
    """All committed runs of one GPU. Raises `RecordError`, and ``OSError`` when a table is missing."""
    card = read_card(card_path(gpu.id))
    works: dict[tuple[str, str, str], list[WorkloadRow]] = {}
    for row in read_workloads(workloads_path(gpu.id)):
        works.setdefault((row.benchmark, row.kernel, row.arguments), []).append(row)
    by_use: dict[Use, list[TrainingRow]] = {Use.TRAINING: [], Use.TEST: []}
    left_out: Counter[tuple[str, str]] = Counter()
    for row in read_measurements(measurements_path(gpu.id)):
        use = card.dataset(row.dataset).use
        launches = works.get((row.benchmark, row.kernel, row.arguments), [])
        reason = _unusable(row, launches, use)
        if reason:
            whole_clock = not row.power_valid and row.core_mhz is not None
            left_out[f"at {row.core_mhz:g} MHz" if whole_clock else row.benchmark, reason] += 1
        else:
            by_use[use].append(_training_row(row, launches))
    return PublicRuns(
        training=tuple(by_use[Use.TRAINING]),
        test=tuple(by_use[Use.TEST]),
        incomplete=_incomplete(card),
        left_out=tuple(LeftOut(name, runs, reason) for (name, reason), runs in left_out.items()),
    )


def _unusable(row: MeasuredRow, launches: list[WorkloadRow], use: Use) -> str:
    """Why a run enters neither fit nor evaluation, else empty."""
    if not row.power_valid:
        return row.reason
    if row.time_s is None:
        return "the time of one launch is not told"
    if not launches:
        return "it has no features"
    doubts = [launch.doubt for launch in launches if launch.doubt]
    # An application is tested whatever we know of it; but nothing is learnt from guessed bytes.
    return doubts[0] if doubts and use is Use.TRAINING else ""


def _incomplete(card: DataCard) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for dataset in card.datasets:
        for recipe in read_recipes(recipes_path(dataset.recipes)).benchmarks if dataset.recipes else ():
            several = not recipe.one_of and sum(launch.repeat for launch in recipe.launches) > 1
            if recipe.incomplete or (several and dataset.timed is Timed.KERNEL):
                found[recipe.name] = None
    return tuple(found)


def _training_row(row: MeasuredRow, launches: list[WorkloadRow]) -> TrainingRow:
    assert row.time_s is not None
    assert row.power_w is not None
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
