"""Our own features of public kernels: from a checkout of their sources to tables of workloads and slices."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.ir import Program, TypeKind
from wattslice.launches.launch import GivenPointer, KernelLaunch, LaunchOverride, Overrides, Setting
from wattslice.launches.resolver import resolve_launches
from wattslice.training.launch_rows import LaunchRows, launch_features, launch_rows
from wattslice_corpora.records import (
    BenchmarkRecipe,
    LaunchRecipe,
    MeasuredRow,
    Recipes,
    RecordError,
    SliceRow,
    WorkloadRow,
    option,
)
from wattslice_models.gpu import Gpu


class LeftOut(Struct, frozen=True):
    """Runs without features, each ``benchmark``, with kernel and arguments where it has some, and why."""

    runs: tuple[str, ...]
    reason: str


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
        except (WattsliceError, RecordError) as error:
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
                (recipe.name, run.kernel, run.arguments),
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
    given = ((index, sizes.get(p.name)) for index, p in enumerate(launch.kernel.parameters))
    known = tuple(GivenPointer(index, 0, index, size) for index, size in given if size is not None)
    return replace(launch, contents=replace(launch.contents, pointers=known))


def parameter_value(value: float | str, arguments: str) -> int | float:
    """The value of a recipe's parameter: a number, or the option of that name. `RecordError` without it."""
    number = option(arguments, value) if isinstance(value, str) else value
    return int(number) if float(number).is_integer() else number
