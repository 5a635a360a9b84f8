"""Measured programs with branches or loops that data decide, predicted in every way there is to count them.

A way to count is a method (BSPM, BDPM, expectation) and what is known of the data: nothing, the trip counts
of a profile, or all of it. It changes the features alone; models, recipes of launches and measurements are
those of `docs/appendix/accuracy.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice.analysis import BranchClass
from wattslice.config.config import BranchProfile, Prediction
from wattslice.counting.count import count
from wattslice.counting.profile import ExecutionProfile, LoopTrips
from wattslice.errors import WattsliceError
from wattslice.ir import Loop, walk_statements
from wattslice.launches.launch import KernelLaunch
from wattslice.power.methods import Method, branch_density, counts_for
from wattslice.power.paths import arms_of_data
from wattslice.slicing.features import slice_features
from wattslice.slicing.slices import slice_kernel
from wattslice.training import launch_rows as features
from wattslice.training.examples import examples_of
from wattslice.training.tables import MeasuredTables, measured_tables
from wattslice.workload.launch_work import launch_work, residency
from wattslice_corpora.records import BenchmarkRecipe, LaunchRecipe, MeasuredRow, Recipes, RecordError, Use
from wattslice_models.access_power import access_power_factors
from wattslice_models.contract import Example
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.gpu import Gpu
from wattslice_models.store import power_model
from wattslice_tools.public_sets import run_features as runs_of_recipes
from wattslice_tools.public_sets.checkout import runs_of
from wattslice_tools.wild.branch_profiles import measured_profile, only_loops

MODELS = ("energy", "regression")
DELTA = Prediction().branch_threshold


class Known(Enum):
    """What is known of the data."""

    NOTHING = ""
    TRIPS = "trips"  # how often loops run, but not which way branches go
    PROFILE = "profile"


class Variant(Struct, frozen=True):
    """A way to count."""

    method: Method
    known: Known = Known.NOTHING

    @property
    def title(self) -> str:
        """Head of a column."""
        name = "expected" if self.method is Method.EXPECTED else self.method.name
        return f"{name}, {self.known.value}" if self.known.value else name


PLAIN = (Variant(Method.BSPM), Variant(Method.BDPM), Variant(Method.EXPECTED))
INFORMED = (
    Variant(Method.BSPM, Known.TRIPS),  # all that BSPM can use of a profile
    Variant(Method.BDPM, Known.PROFILE),
    Variant(Method.EXPECTED, Known.PROFILE),
)
VARIANTS = (*PLAIN, *INFORMED)
_ASKED = (*VARIANTS, Variant(Method.EXPECTED, Known.TRIPS))


class Answer(Struct, frozen=True):
    """What one model says of one variant; `time_s` None for a model without a time."""

    model: str
    variant: Variant
    power_w: float | None
    time_s: float | None


class LoopFact(Struct, frozen=True):
    """One loop that data end: mean trips as assumed, as profiled, and of warps as profiled."""

    program: str
    file: str
    line: int
    assumed: float
    profiled: float
    of_warps: float


class Branchiness(Struct, frozen=True):
    """Branch class of a program without and with its profile; None: no branch is decided by data."""

    plain: BranchClass | None
    profiled: BranchClass | None


class Compared(Struct, frozen=True):
    """One measured run with everything that was said of it; no answers from a profile that is not there."""

    example: Example
    classes: Branchiness
    answers: tuple[Answer, ...]
    loops: tuple[LoopFact, ...]

    def answer(self, model: str, variant: Variant) -> Answer:
        """One column; unknown where nothing was asked."""
        fitting = (a for a in self.answers if (a.model, a.variant) == (model, variant))
        return next(fitting, Answer(model, variant, None, None))


class _Launched(Struct, frozen=True):
    launch: KernelLaunch
    index: int
    recipe: LaunchRecipe
    path: str


def compared(sources: Path, recipes: Recipes, gpu: Gpu) -> Iterator[Compared]:
    """Every run measured on one GPU, of programs that have branches or loops that data decide."""
    tables = measured_tables(gpu.id)
    measured = runs_of(recipes, gpu.id)
    for run in dict.fromkeys((row.benchmark, row.kernel, row.arguments) for row in measured):
        own = tuple(row for row in measured if (row.benchmark, row.kernel, row.arguments) == run)
        if all(tables.use(row.dataset) is not Use.TEST for row in own):
            continue
        try:
            recipe = recipes.benchmark(run[0], run[2])
            launches = _launches(sources, recipes, recipe, own[0], gpu)
        except (WattsliceError, RecordError, ValueError):
            continue
        counts = [count(one.launch) for one in launches]
        if any(arms_of_data(one) or any(loop.trip_count is None for loop in one.loops) for one in counts):
            yield from _one(tables, own, run, launches, gpu, measured_profile(sources, recipes, recipe))


def _launches(
    sources: Path, recipes: Recipes, recipe: BenchmarkRecipe, run: MeasuredRow, gpu: Gpu
) -> list[_Launched]:
    defines = runs_of_recipes._defines(recipe, run.arguments)
    program = runs_of_recipes._read(sources, recipes.include, recipe.file, defines)
    return [
        _Launched(
            runs_of_recipes._launch(program, one.kernel or run.kernel, one, run, gpu), index, one, recipe.file
        )
        for index, one in enumerate(runs_of_recipes._launches(recipe, run.kernel))
    ]


def _one(
    tables: MeasuredTables,
    own: tuple[MeasuredRow, ...],
    run: tuple[str, str, str],
    launches: list[_Launched],
    gpu: Gpu,
    profile: BranchProfile | None,
) -> Iterator[Compared]:
    found: dict[int, list[Answer]] = {}
    kept: dict[int, Example] = {}
    for variant in _ASKED:
        if variant.known is not Known.NOTHING and profile is None:
            continue
        rows = [_rows(one, run, gpu, _counts(one.launch, variant, profile)) for one in launches]
        asked = replace(
            tables,
            measured=own,
            workloads=tuple(row.workload for row in rows),
            slices=tuple(part for row in rows for part in row.slices),
        )
        for number, example in enumerate(examples_of(asked, gpu, Use.TEST).examples):
            kept.setdefault(number, example)
            found.setdefault(number, []).extend(_answers(example, gpu, variant))
    classes = Branchiness(_class(launches, None), None if profile is None else _class(launches, profile))
    loops = () if profile is None else tuple(_loops(run[0], launches, profile))
    for number, example in kept.items():
        yield Compared(example, classes, tuple(found[number]), loops)


def _counts(launch: KernelLaunch, variant: Variant, profile: BranchProfile | None) -> ExecutionProfile:
    given = None
    if profile is not None and variant.known is not Known.NOTHING:
        given = profile if variant.known is Known.PROFILE else only_loops(profile)
    slices = slice_kernel(launch.kernel)
    return counts_for(variant.method, launch.kernel, slices, count(launch, given), DELTA)


def _rows(
    one: _Launched, run: tuple[str, str, str], gpu: Gpu, counts: ExecutionProfile
) -> features.LaunchRows:
    launch, name = one.launch, one.launch.kernel.name
    resident = residency(launch, gpu)
    work = launch_work(launch, resident, counts)
    if work.workload is None:
        raise RecordError(f"{name} cannot run on {gpu.id}: {resident.occupancy.failure}")
    parts = slice_features(
        slice_kernel(launch.kernel), counts, access_power_factors(gpu), resident.sm_saturation
    )
    found = features.LaunchFeatures(work.workload, parts)
    live = one.recipe.live_share(run[2])
    return features.launch_rows(run, one.index, name, one.path, one.recipe.repeat, found, live=live)


def _answers(example: Example, gpu: Gpu, variant: Variant) -> Iterator[Answer]:
    for name in MODELS:
        model = power_model(gpu, name)
        watts = None if model is None else model.predict(example.subject).power_w
        time_s = model.time_s(example.subject) if isinstance(model, EnergyPowerModel) else None
        yield Answer(name, variant, watts, time_s)


def _class(launches: list[_Launched], profile: BranchProfile | None) -> BranchClass | None:
    """Dense when a launch is; None when no launch has branches that data decide."""
    found: set[BranchClass] = set()
    for one in launches:
        counts = count(one.launch, profile)
        if arms_of_data(counts):
            found.add(branch_density(slice_kernel(one.launch.kernel), counts).branch_class)
    return next((one for one in (BranchClass.DENSE, BranchClass.SPARSE) if one in found), None)


def _loops(program: str, launches: list[_Launched], profile: BranchProfile) -> Iterator[LoopFact]:
    for one in launches:
        counts = count(one.launch, profile)
        profiled = {loop.region: loop for loop in counts.loops}
        bodies = {
            stmt.region: stmt.body.region
            for stmt in walk_statements(one.launch.kernel.body)
            if isinstance(stmt, Loop)
        }
        for loop in count(one.launch).loops:
            known = profiled[loop.region]
            if loop.trip_count is None or abs(_trips(known) - _trips(loop)) > 0.005 * _trips(loop):
                file = loop.file or one.launch.kernel.span.file
                entered = counts.warp_counts[loop.region]
                of_warps = counts.warp_counts[bodies[loop.region]] / entered if entered else 0.0
                yield LoopFact(program, Path(file).name, loop.line, _trips(loop), _trips(known), of_warps)


def _trips(loop: LoopTrips) -> float:
    return loop.assumed if loop.trip_count is None else loop.trip_count
