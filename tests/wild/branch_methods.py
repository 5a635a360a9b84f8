"""Does BDPM beat BSPM on branch-dense kernels? Both, and the expectation, beside measured watts, as Markdown.

    python tests/wild/branch_methods.py NV-DVFS-CHECKOUT [--also FILE_OR_FOLDER]... [--profiles DIR]
                                        [-o docs/branches.md]

Measured: every program of the committed tables that has a launch some of whose branches data decide, at every
clock it was run at. A method changes the counts alone; the models were trained before, on microbenchmarks,
and stay. Unmeasured: the branch-dense kernels of `--also`. `--profiles`: a folder of profiles, `NAME.json`
for `NAME.cu`, which fill columns of their own.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from branch_profiles import profile_of
from checkouts import revision
from document import write_section

from wattslice.branches import BranchClass, branch_density
from wattslice.calibration import features
from wattslice.calibration.checkout import find_recipes, gpus_of, runs_of
from wattslice.config import BranchProfile, Config
from wattslice.counting.count import count
from wattslice.errors import WattsliceError
from wattslice.execution import ExecutionProfile, ProbabilitySource
from wattslice.features import slice_features
from wattslice.geometry.types import KernelLaunch
from wattslice.launch_work import launch_work, residency
from wattslice.learning.examples import examples_of
from wattslice.learning.tables import measured_tables
from wattslice.methods import Method, counts_for
from wattslice.paths import arms_of_data
from wattslice.pipeline import analyze_file
from wattslice.slicing.slices import slice_kernel
from wattslice.sources import source_files
from wattslice_corpora.records import BenchmarkRecipe, LaunchRecipe, MeasuredRow, Recipes, RecordError, Use
from wattslice_models.access_power import access_power_factors
from wattslice_models.contract import Example
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.store import power_model

MODELS = ("energy", "regression")
DELTA = Config((), "v100").branch_threshold
ORDER = (Method.BSPM, Method.BDPM, Method.EXPECTED)


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to count: a method, with the probabilities of a profile or without."""

    method: Method
    profiled: bool

    @property
    def title(self) -> str:
        """Head of a column."""
        name = {Method.BSPM: "BSPM", Method.BDPM: "BDPM", Method.EXPECTED: "expected"}[self.method]
        return f"{name}, profile" if self.profiled else name


VARIANTS = (*(Variant(method, False) for method in ORDER), *(Variant(m, True) for m in ORDER[1:]))


@dataclass(frozen=True, slots=True)
class Compared:
    """One measured run and its watts by model and variant; None where a model is silent or no profile is."""

    example: Example
    dense: bool
    watts: tuple[tuple[str, Variant, float | None], ...]

    def of(self, model: str, variant: Variant) -> float | None:
        """The watts of one column."""
        return next(watts for name, one, watts in self.watts if (name, one) == (model, variant))


def _counted(
    launch: KernelLaunch, variant: Variant, profile: BranchProfile | None
) -> ExecutionProfile | None:
    """The counts of one launch; None when a profile is asked for and there is none that speaks of it."""
    known = count(launch, profile if variant.profiled else None)
    if variant.profiled and not any(arm.source is ProbabilitySource.PROFILE for arm in known.arms):
        return None
    return counts_for(variant.method, launch.kernel, slice_kernel(launch.kernel), known, DELTA)


def _class(launch: KernelLaunch) -> BranchClass | None:
    """The branch class; None without branches that data decide: then all methods are one."""
    profile = count(launch)
    if not arms_of_data(profile):
        return None
    return branch_density(slice_kernel(launch.kernel), profile).branch_class


@dataclass(frozen=True, slots=True)
class Launched:
    """One launch of a run: its number, its recipe, and the file it is in."""

    launch: KernelLaunch
    index: int
    recipe: LaunchRecipe
    path: str


def _rows(
    one: Launched, run: tuple[str, str, str], gpu: Gpu, counts: ExecutionProfile
) -> features.LaunchRows:
    launch, name = one.launch, one.launch.kernel.name
    resident = residency(launch, gpu)
    work = launch_work(launch, resident, counts)
    if work.workload is None:
        raise RecordError(f"{name} cannot run on {gpu.id}: {resident.occupancy.failure}")
    parts = slice_features(
        slice_kernel(launch.kernel), counts, access_power_factors(gpu), resident.sm_saturation
    )
    found = features.LaunchFeatures(work.workload, "", parts)
    live = one.recipe.live_share(run[2])
    return features.launch_rows(*run, one.index, name, one.path, one.recipe.repeat, found, live=live)


def compared(sources: Path, recipes: Recipes, gpu: Gpu, folder: Path | None) -> Iterator[Compared]:
    """Every measured run of a branch-dense program on one GPU."""
    tables = measured_tables(gpu.id)
    measured = runs_of(recipes, gpu.id)
    for run in dict.fromkeys((row.benchmark, row.kernel, row.arguments) for row in measured):
        own = tuple(row for row in measured if (row.benchmark, row.kernel, row.arguments) == run)
        if all(tables.use(row.dataset) is not Use.TEST for row in own):
            continue
        try:
            recipe = recipes.benchmark(run[0])
            launches = _launches(sources, recipes, recipe, run, gpu)
        except (WattsliceError, RecordError, ValueError):
            continue
        classes = {_class(one.launch) for one in launches}
        if classes != {None}:
            profile = profile_of(sources / recipe.file, folder)
            yield from _one(tables, own, run, launches, gpu, profile, BranchClass.DENSE in classes)


def _launches(
    sources: Path, recipes: Recipes, recipe: BenchmarkRecipe, run: tuple[str, str, str], gpu: Gpu
) -> list[Launched]:
    program = features._read(sources, recipes, recipe)
    return [
        Launched(features._launch(program, one.kernel or run[1], one, run[2], gpu), index, one, recipe.file)
        for index, one in enumerate(features._launches(recipe, run[1]))
    ]


def _one(
    tables, own: tuple[MeasuredRow, ...], run, launches, gpu: Gpu, profile: BranchProfile | None, dense: bool
) -> Iterator[Compared]:
    found: dict[int, list[tuple[str, Variant, float | None]]] = {}
    kept: dict[int, Example] = {}
    for variant in VARIANTS:
        counts = [_counted(one.launch, variant, profile) for one in launches]
        silent = all(one is None for one in counts)
        rows = [
            _rows(one, run, gpu, known or count(one.launch))
            for one, known in zip(launches, counts, strict=True)
        ]
        asked = replace(
            tables,
            measured=own,
            workloads=tuple(row.workload for row in rows),
            slices=tuple(part for row in rows for part in row.slices),
        )
        for number, example in enumerate(examples_of(asked, gpu, Use.TEST).examples):
            kept.setdefault(number, example)
            for name in MODELS:
                model = None if silent else power_model(gpu, name)
                watts = None if model is None else model.predict(example.subject).power_w
                found.setdefault(number, []).append((name, variant, watts))
    for number, example in kept.items():
        yield Compared(example, dense, tuple(found[number]))


def _error(runs: list[Compared], model: str, variant: Variant) -> str:
    ratios = [
        abs(watts / one.example.power_w - 1.0)
        for one in runs
        if (watts := one.of(model, variant)) is not None
    ]
    return f"{statistics.fmean(ratios):.1%}" if ratios else "–"


def _clocks(one: Compared) -> tuple[float, float]:
    clocks = one.example.subject.clocks
    return clocks.core_mhz or 0.0, clocks.memory_mhz or 0.0


def _watts(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def measured_lines(found: list[tuple[Gpu, list[Compared]]]) -> list[str]:
    """The mean errors by GPU and model, then the programs at the highest clocks."""
    heads = " | ".join(variant.title for variant in VARIANTS)
    lines = [f"| programs | GPU | model | programs | runs | {heads} |", "|---" * (5 + len(VARIANTS)) + "|"]
    everything = ("all GPUs", [one for _, runs in found for one in runs])
    for dense in (True, False):
        for gpu, runs in (*((gpu.name, runs) for gpu, runs in found), everything):
            own = [one for one in runs if one.dense is dense]
            programs = len({one.example.benchmark for one in own})
            for model in MODELS if own else ():
                cells = " | ".join(_error(own, model, variant) for variant in VARIANTS)
                name = "branch-dense" if dense else "branch-sparse"
                lines.append(f"| {name} | {gpu} | {model} | {programs} | {len(own)} | {cells} |")
    lines += ["", "By program, energy model, watts at the highest clocks:", ""]
    lines += [f"| GPU | program | measured | {heads} |", "|---" * (3 + len(VARIANTS)) + "|"]
    for gpu, runs in found:
        top = max(map(_clocks, runs))
        for one in runs:
            if _clocks(one) == top:
                cells = " | ".join(_watts(one.of("energy", variant)) for variant in VARIANTS)
                name = one.example.benchmark + (", dense" if one.dense else "")
                lines.append(f"| {gpu.name} | {name} | {one.example.power_w:.1f} | {cells} |")
    return lines


def wins(runs: list[Compared], model: str) -> tuple[int, int, int]:
    """Runs in which BDPM is nearer to the measured watts than BSPM, as near (to 0.05 W), and farther."""
    nearer = even = farther = 0
    for one in runs:
        bspm, bdpm = (one.of(model, Variant(method, False)) for method in (Method.BSPM, Method.BDPM))
        if bspm is None or bdpm is None:
            continue
        gain = abs(bspm - one.example.power_w) - abs(bdpm - one.example.power_w)
        nearer, even, farther = nearer + (gain > 0.05), even + (abs(gain) <= 0.05), farther + (gain < -0.05)
    return nearer, even, farther


def unmeasured_lines(paths: list[Path], gpu: str, folder: Path | None) -> list[str]:
    """The branch-dense kernels of files whose power nobody measured; the largest difference first."""
    rows: list[tuple[float, str]] = []
    seen: set[tuple[str, str]] = set()
    for path in source_files(tuple(paths)):
        try:
            plain = analyze_file(path, Config((path,), gpu)).kernels
        except WattsliceError:
            continue
        profile = profile_of(path, folder)
        known = None
        if profile is not None:
            known = analyze_file(path, Config((path,), gpu, branch_profile=profile)).kernels
        for number, kernel in enumerate(plain):
            watts = kernel.methods
            dense = kernel.branch_class is BranchClass.DENSE
            if not dense or watts.expected_w is None or (kernel.name, path.name) in seen:
                continue
            if not any(arm.source.value != "static" for arm in kernel.arms):
                continue
            seen.add((kernel.name, path.name))
            used = known is not None and any(arm.source.value == "profile" for arm in known[number].arms)
            measured = known[number].methods if known is not None and used else None
            profiled = (None, None) if measured is None else (measured.bdpm_w, measured.expected_w)
            columns = (watts.bspm_w, watts.bdpm_w, watts.expected_w, *profiled)
            interval = f"{kernel.power_low_w:.0f}–{kernel.power_high_w:.0f}"
            cells = " | ".join(map(_watts, columns))
            apart = abs((watts.bspm_w or 0.0) - watts.expected_w)
            rows.append((apart, f"| {path.name} | {kernel.name} | {cells} | {interval} |"))
    heads = " | ".join(variant.title for variant in VARIANTS)
    return [
        f"| file | kernel | {heads} | interval |",
        "|---" * (3 + len(VARIANTS)) + "|",
        *(row for _, row in sorted(rows, key=lambda row: -row[0])),
    ]


def main() -> None:
    """Runs the comparison and prints it, or puts it in the document."""
    parser = argparse.ArgumentParser(description="Compares BSPM, BDPM and expectation.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--also", type=Path, action="append", default=[])
    parser.add_argument("--profiles", type=Path)
    parser.add_argument("--gpu", default="v100", help="for kernels without measurement")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    recipes = find_recipes(options.checkout, None)
    found = []
    for gpu_id in gpus_of(recipes):
        gpu = load_gpu(gpu_id)
        runs = list(compared(options.checkout, recipes, gpu, options.profiles))
        if runs:
            found.append((gpu, runs))
    everything = [one for _, runs in found for one in runs]
    lines = [
        f"Measured programs of {recipes.repository} at {revision(options.checkout)} with branches that data "
        f"decide; δ = {DELTA:g}. Mean of |predicted / measured - 1|:",
        "",
        *measured_lines(found),
        "",
    ]
    for model in MODELS:
        nearer, even, farther = wins([one for one in everything if one.dense], model)
        lines.append(
            f"- Branch-dense programs, {model} model, without profile: BDPM is nearer to the measured watts "
            f"than BSPM in {nearer} runs, as near (to 0.05 W) in {even}, farther in {farther}."
        )
    if options.also:
        lines += ["", f"Branch-dense kernels that nobody measured, watts on {options.gpu}:", ""]
        lines += unmeasured_lines(options.also, options.gpu, options.profiles)
    if options.output is None:
        print("\n".join(lines))
    else:
        write_section(options.output, "branch_methods", lines)


if __name__ == "__main__":
    main()
