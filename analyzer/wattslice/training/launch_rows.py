"""Our own features of public kernels: from a checkout of their sources to tables of workloads and slices."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.ir import MemorySpace, Program, TypeKind
from wattslice.ir.accesses import follows_data, loaded_registers, memory_accesses
from wattslice.ir.operation_counts import OperationCounts
from wattslice.launches.launch import KernelLaunch, LaunchOverride, Overrides, Setting
from wattslice.launches.resolver import resolve_launches
from wattslice.slicing.features import SliceFeatures, slice_features
from wattslice.slicing.slices import slice_kernel
from wattslice.workload.launch_work import launch_work, residency
from wattslice.workload.traffic import Traffic
from wattslice_corpora.records import (
    UNKNOWN_DATA,
    BenchmarkRecipe,
    LaunchRecipe,
    LiveShare,
    MeasuredRow,
    Recipes,
    RecordError,
    SliceRow,
    WorkloadRow,
    option,
)
from wattslice_models.access_power import access_power_factors
from wattslice_models.gpu import Gpu
from wattslice_models.workload import Workload


class LeftOut(Struct, frozen=True):
    """Runs without features, each ``benchmark``, with kernel and arguments where it has some, and why."""

    runs: tuple[str, ...]
    reason: str


class LaunchFeatures(Struct, frozen=True):
    """What every model may know of one launch. `doubt`: why its bytes are in doubt, else empty."""

    workload: Workload
    doubt: str
    slices: tuple[SliceFeatures, ...]


class LaunchRows(Struct, frozen=True):
    """One launch of a run as the tables have it."""

    workload: WorkloadRow
    slices: tuple[SliceRow, ...]


class RunFeatures(Struct, frozen=True):
    """Our features of measured runs. `left_out`: the runs of which a launch could not be analysed."""

    rows: tuple[WorkloadRow, ...]
    slices: tuple[SliceRow, ...]
    left_out: tuple[LeftOut, ...]


_PROGRAMS = 64
"""Builds that are held at a time: a program's runs come together, and variants have a build each."""


def run_features(sources: Path, recipes: Recipes, measured: tuple[MeasuredRow, ...], gpu: Gpu) -> RunFeatures:
    """The rows of every launch of every distinct run, as far as the kernels can be analysed."""
    found: list[LaunchRows] = []
    left_out: dict[str, list[str]] = {}
    read = lru_cache(maxsize=_PROGRAMS)(partial(_read, sources, recipes.include))
    runs: dict[tuple[str, str, str], MeasuredRow] = {}
    for row in measured:
        runs.setdefault((row.benchmark, row.kernel, row.arguments), row)
    for run in runs.values():
        try:
            recipe = recipes.benchmark(run.benchmark, run.arguments)
            found += _run(read(recipe.file, _defines(recipe, run.arguments)), recipe, run, gpu)
        except (WattsliceError, RecordError, ValueError) as error:
            name = " ".join(part for part in (run.benchmark, run.kernel, run.arguments) if part)
            left_out.setdefault(str(error), []).append(name)
    return RunFeatures(
        tuple(rows.workload for rows in found),
        tuple(row for rows in found for row in rows.slices),
        tuple(LeftOut(tuple(runs), why) for why, runs in left_out.items()),
    )


def _run(program: Program, recipe: BenchmarkRecipe, run: MeasuredRow, gpu: Gpu) -> list[LaunchRows]:
    """All launches of an iteration: without one of them, the rest says nothing about what was measured."""
    rows: list[LaunchRows] = []
    for index, launch in enumerate(_launches(recipe, run.kernel)):
        name = launch.kernel or run.kernel
        found = launch_features(_launch(program, name, launch, run, gpu), gpu)
        rows.append(
            launch_rows(
                recipe.name,
                run.kernel,
                run.arguments,
                index,
                name,
                recipe.file,
                launch.repeat,
                found,
                live=launch.live_share(run.arguments),
            )
        )
    if not rows:
        raise RecordError(f"the recipe has no launch of {run.kernel}")
    return rows


def _defines(recipe: BenchmarkRecipe, arguments: str) -> tuple[str, ...]:
    macros = (f"{macro.name}={parameter_value(macro.value, arguments)}" for macro in recipe.macros)
    return (*recipe.defines, *macros)


def _read(sources: Path, folders: tuple[str, ...], file: str, defines: tuple[str, ...]) -> Program:
    include = tuple(sources / folder for folder in folders)
    return read_cuda(sources / file, ParseOptions(include_dirs=include, defines=defines))


def _launches(recipe: BenchmarkRecipe, kernel: str) -> tuple[LaunchRecipe, ...]:
    if not recipe.one_of:
        return recipe.launches
    return tuple(launch for launch in recipe.launches if launch.kernel == kernel)


def _launch(program: Program, kernel: str, recipe: LaunchRecipe, run: MeasuredRow, gpu: Gpu) -> KernelLaunch:
    """One launch of `kernel` by its recipe. Raises `RecordError` when there is no such kernel or option."""
    grid, block = (recipe.grid, recipe.block) if recipe.block else (run.grid, run.block)
    if block is None:
        raise RecordError("its launch configuration was not recorded")
    filling = (gpu.sm_count * (gpu.max_threads_per_sm // math.prod(block)), 1, 1)
    settings = tuple(
        Setting(kernel, parameter.name, parameter_value(parameter.value, run.arguments))
        for parameter in recipe.parameters
    )
    override = LaunchOverride(kernel, grid or filling, block, recipe.shared_bytes)
    launches = resolve_launches(program, Overrides((override,), settings), gpu)
    for launch in launches:
        if launch.kernel.name == kernel:
            return with_arrays(launch, recipe)
    raise RecordError(f"{program.file} has no kernel {kernel}")


def with_arrays(launch: KernelLaunch, recipe: LaunchRecipe) -> KernelLaunch:
    """The launch with the sizes of arrays that the recipe tells, and no others: those that the host code as
    read gives are of its own defaults. Raises `RecordError` for what is no pointer parameter.
    """
    sizes = {array.name: array.size_bytes for array in recipe.arrays}
    pointers = {p.name for p in launch.kernel.parameters if p.type.kind is TypeKind.POINTER}
    if unknown := sizes.keys() - pointers:
        raise RecordError(f"{launch.kernel.name} has no pointer parameter {', '.join(sorted(unknown))}")
    return replace(launch, extents=tuple(sizes.get(p.name) for p in launch.kernel.parameters))


def parameter_value(value: float | str, arguments: str) -> int | float:
    """The value of a recipe's parameter: a number, or the option of that name. `RecordError` without it."""
    number = option(arguments, value) if isinstance(value, str) else value
    return int(number) if float(number).is_integer() else number


def launch_features(launch: KernelLaunch, gpu: Gpu) -> LaunchFeatures:
    """Workload and slices of one launch. Raises `RecordError` when it cannot run on `gpu`."""
    resident = residency(launch, gpu)
    profile = count(launch)
    work = launch_work(launch, resident, profile)
    if work.workload is None:
        raise RecordError(f"{launch.kernel.name} cannot run on {gpu.id}: {resident.occupancy.failure}")
    slices = slice_features(
        slice_kernel(launch.kernel), profile, access_power_factors(gpu), resident.sm_saturation
    )
    return LaunchFeatures(work.workload, _doubt(launch, profile, work.counts, work.traffic), slices)


def _doubt(launch: KernelLaunch, profile: ExecutionProfile, counts: OperationCounts, moved: Traffic) -> str:
    if moved.gathered:
        return "addresses not followed: every lane taken to touch a sector of its own"
    loaded = loaded_registers(launch.kernel.body)
    if any(
        access.space in (MemorySpace.GLOBAL, MemorySpace.TEXTURE) and follows_data(access.addresses, loaded)
        for access in memory_accesses(launch.kernel)
    ):
        return "addresses depend on loaded data: how far they reach is unknown"
    followed = sum(
        profile.thread_counts[access.region]
        for access in memory_accesses(launch.kernel)
        if access.space is MemorySpace.GLOBAL
    )
    if followed < 0.9 * (counts.global_load + counts.global_store):
        return "accesses by inline PTX: their bytes are not counted"
    return ""


def launch_rows(
    benchmark: str,
    kernel: str,
    arguments: str,
    index: int,
    name: str,
    path: str,
    repeat: int,
    found: LaunchFeatures,
    live: LiveShare = UNKNOWN_DATA,
) -> LaunchRows:
    """The features of launch number `index` of a run, made `repeat` times, as rows of the tables."""
    executions = found.workload.threads * repeat
    return LaunchRows(
        _row(benchmark, kernel, arguments, index, name, path, repeat, found.workload, live, found.doubt),
        tuple(
            SliceRow(
                benchmark=benchmark,
                kernel=kernel,
                arguments=arguments,
                launch=index,
                launched_kernel=name,
                memory_space=part.memory_space.value,
                arithmetic_density=_float(part.arithmetic_density),
                sm_saturation=float(part.sm_saturation),
                code_lines=part.static_length,
                length=float(part.length) * executions,
            )
            for part in found.slices
        ),
    )


def _row(
    benchmark: str,
    kernel: str,
    arguments: str,
    index: int,
    name: str,
    path: str,
    repeat: int,
    work: Workload,
    live: LiveShare,
    doubt: str,
) -> WorkloadRow:
    done = work.instructions
    return WorkloadRow(
        benchmark=benchmark,
        kernel=kernel,
        arguments=arguments,
        launch=index,
        launched_kernel=name,
        path=path,
        repeat=repeat,
        blocks=work.blocks,
        threads_per_block=work.threads_per_block,
        active_warps_per_sm=float(work.active_warps_per_sm),
        fp32=float(done.fp32),
        fp64=float(done.fp64),
        fp16=float(done.fp16),
        integer=float(done.integer),
        integer_multiply=float(done.integer_multiply),
        special=float(done.special),
        wide_conversion=float(done.wide_conversion),
        tensor=float(done.tensor),
        load_store=float(done.load_store),
        other=float(done.other),
        warp_instructions=_float(work.warp_instructions),
        l1_bytes=_float(work.l1_bytes),
        l2_bytes=_float(work.l2_bytes),
        dram_bytes=_float(work.dram_bytes),
        shared_passes=_float(work.shared_passes),
        shared_accesses=float(work.shared_accesses),
        texture_fetches=float(work.texture_fetches),
        atomics=float(work.atomics),
        barriers=float(work.barriers),
        global_loads=_float(work.global_loads),
        dependent_instructions=_float(work.dependent_instructions),
        dependent_shared=_float(work.dependent_shared),
        dependent_loads=_float(work.dependent_loads),
        mean_block=float(work.mean_block),
        longest_block=float(work.longest_block),
        footprint_bytes=_float(work.footprint_bytes),
        live_operands=live.operands,
        live_data=live.data,
        doubt=doubt,
    )


def _float(value: float | None) -> float | None:
    # Counts come as numpy scalars; the table wants plain numbers.
    return None if value is None else float(value)
