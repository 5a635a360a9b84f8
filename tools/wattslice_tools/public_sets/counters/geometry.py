"""What the host code alone tells of the counted launches: grid and block, read without any `--launch`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_callers, read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.launches.launch import Dim3, KernelLaunch, LaunchSource, Overrides, Setting
from wattslice.launches.resolver import Neighbours, resolve_launches
from wattslice_corpora.counters import CounterRow
from wattslice_corpora.records import Recipes
from wattslice_models.gpu import Gpu
from wattslice_tools.public_sets.counters.causes import HostRun
from wattslice_tools.public_sets.counters.launches import recipe_of, source_root
from wattslice_tools.public_sets.run_features import parameter_value


class ReadGeometry(Struct, frozen=True):
    """Grid and block that we read for a counted launch. None, and `reason`, when they were not read.

    `sizes`: the host variables that were given because the program gets them when it runs.
    """

    benchmark: str
    kernel: str
    grid: Dim3 | None
    block: Dim3 | None
    sizes: tuple[str, ...]
    is_right: bool
    reason: str


def read_geometry(
    sources: tuple[Path, ...], recipes: Recipes, row: CounterRow, run: HostRun, gpu: Gpu
) -> ReadGeometry:
    """Grid and block of the launch from the host code, given the sizes of the run only."""
    recipe = recipes.benchmark(row.benchmark, row.arguments)
    root = source_root(sources, recipe)
    include = tuple(root / folder for folder in recipes.include)
    options = ParseOptions(include_dirs=include, defines=recipe.defines)
    file = root / (run.file or recipe.file)
    settings = tuple(
        Setting(None, variable.name, parameter_value(variable.value, row.arguments))
        for variable in run.variables
    )
    program = read_cuda(file, options)
    launches = resolve_launches(
        program, Overrides((), settings), gpu, Neighbours(partial(read_callers, file, options=options))
    )
    kernel = recipe_of(recipe, row.kernel).kernel
    named = [launch for launch in launches if launch.kernel.name == kernel]
    if not named:
        raise WattsliceError(f"{file}: no launch of {row.kernel}")
    found = min(named, key=lambda launch: (not _is_counted(launch, row), not _is_read(launch)))
    sizes = tuple(f"{setting.name} = {setting.value}" for setting in settings)
    read = _is_read(found)
    reason = run.reason or ("" if read else "; ".join(_assumed(found)))
    grid, block = (found.grid, found.block) if read else (None, None)
    is_right = read and _is_counted(found, row)
    return ReadGeometry(row.benchmark, row.kernel, grid, block, sizes, is_right, reason)


def _is_read(launch: KernelLaunch) -> bool:
    return launch.source is LaunchSource.HOST_CODE


def _is_counted(launch: KernelLaunch, row: CounterRow) -> bool:
    return launch.grid == row.grid and launch.block == row.block


def _assumed(launch: KernelLaunch) -> list[str]:
    return [entry.message.partition(";")[0] for entry in launch.assumptions if entry.rule == "PW011"]
