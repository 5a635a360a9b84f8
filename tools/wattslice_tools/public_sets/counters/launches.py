"""The launches that were counted, analysed from their sources."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile
from wattslice.counting.sampling import WARP_SIZE
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.frontend.parse_options import ParseOptions
from wattslice.ir import MemorySpace
from wattslice.ir.accesses import MemoryAccess
from wattslice.launches.launch import KernelLaunch, LaunchOverride, Overrides, Setting
from wattslice.launches.resolver import resolve_launches
from wattslice.workload.instructions import InstructionKind
from wattslice.workload.instructions.statements import RequestCount
from wattslice.workload.launch_work import LaunchWork, launch_work, residency
from wattslice.workload.traffic import array_bytes, made_accesses, request_sectors
from wattslice_corpora.counters import CounterRow
from wattslice_corpora.records import BenchmarkRecipe, LaunchRecipe, Recipes, RecordError
from wattslice_models.gpu import Gpu
from wattslice_tools.public_sets.run_features import parameter_value, with_arrays


class CountedLaunch(Struct, frozen=True):
    """What our analysis says of a launch that was counted. Totals are of the whole launch."""

    launch: KernelLaunch
    profile: ExecutionProfile
    work: LaunchWork

    @property
    def threads(self) -> int:
        """Launched threads."""
        return self.launch.blocks * self.launch.threads_per_block

    @property
    def warps(self) -> int:
        """Launched warps."""
        return self.launch.blocks * -(-self.launch.threads_per_block // WARP_SIZE)

    def thread_instructions(self, *kinds: InstructionKind) -> float:
        """Executed instructions of these kinds, summed over threads."""
        return self.threads * sum(self.work.instructions.number(kind) for kind in kinds)

    def warp_instructions(self, *kinds: InstructionKind) -> float:
        """Issued instructions of these kinds (of all, when none is named), summed over warps."""
        names = {kind.value for kind in kinds}
        entries = self.work.instructions.per_warp
        return self.warps * sum(entry.number for entry in entries if not names or entry.name in names)

    def sectors(self, *, stores: bool) -> float:
        """32-byte sectors that the requests of global loads, or of stores, touch; atomics are neither."""
        found = 0.0
        for access, made in self._made(MemorySpace.GLOBAL, stores=stores):
            statistics = self.profile.sites[access.site]
            led_into = array_bytes(self.launch, access, statistics)
            found += self.warps * made.per_warp * request_sectors(access, statistics, made, led_into)
        return found

    def shared_passes(self, *, stores: bool) -> float:
        """Passes through shared memory of loads, or of stores, atomics as neither."""
        return self.warps * sum(
            moved.shared_passes
            for moved in self.work.traffic.by_access
            if moved.access.space is MemorySpace.SHARED
            and moved.access.is_store == stores
            and not moved.access.is_atomic
        )

    def _made(self, space: MemorySpace, *, stores: bool) -> Iterable[tuple[MemoryAccess, RequestCount]]:
        for access, made in made_accesses(self.launch, self.profile, self.work.instructions.requests):
            if access.space is space and access.is_store == stores and not access.is_atomic:
                yield access, made


def source_root(sources: tuple[Path, ...], recipe: BenchmarkRecipe) -> Path:
    """The checkout that holds the program. Raises `WattsliceError` when none does."""
    for root in sources:
        if (root / recipe.file).is_file():
            return root
    raise WattsliceError(
        f"{recipe.name}: no checkout holds {recipe.file}", remedy="name its checkout with --sources"
    )


def recipes_of(every: tuple[Recipes, ...], benchmark: str) -> Recipes:
    """The recipes that tell how the program was run; the first ones, which say why, when none does."""
    found = (recipes for recipes in every if any(entry.name == benchmark for entry in recipes.benchmarks))
    return next(found, every[0])


def counted_launch(sources: tuple[Path, ...], recipes: Recipes, row: CounterRow, gpu: Gpu) -> CountedLaunch:
    """Our analysis of the launch that `row` counted, with its grid and block and the values of the recipe.

    Raises `WattsliceError` or `RecordError` when it cannot be analysed.
    """
    recipe = recipes.benchmark(row.benchmark, row.arguments)
    root = source_root(sources, recipe)
    include = tuple(root / folder for folder in recipes.include)
    program = read_cuda(root / recipe.file, ParseOptions(include_dirs=include, defines=recipe.defines))
    entry = recipe_of(recipe, row.kernel)
    kernel = entry.kernel or row.kernel
    settings = tuple(
        Setting(kernel, parameter.name, parameter_value(parameter.value, row.arguments))
        for parameter in entry.parameters
    )
    override = LaunchOverride(kernel, row.grid, row.block, entry.shared_bytes)
    found = resolve_launches(program, Overrides((override,), settings), gpu)
    launch = next((launch for launch in found if launch.kernel.name == kernel), None)
    if launch is None:
        raise RecordError(f"{program.file} has no kernel {kernel}")
    launch = with_arrays(launch, entry)
    profile = count(launch)
    return CountedLaunch(launch, profile, launch_work(launch, residency(launch, gpu), profile))


def recipe_of(recipe: BenchmarkRecipe, kernel: str) -> LaunchRecipe:
    """The launch of `kernel`: named so, by another variant of the name, or the one that is left unnamed."""
    for entry in recipe.launches:
        if entry.kernel in ("", kernel):
            return replace(entry, kernel=kernel)
    for entry in recipe.launches:
        if entry.kernel.startswith(kernel):
            return entry
    raise RecordError(f"{recipe.name}: no launch of {kernel} in the recipe")
