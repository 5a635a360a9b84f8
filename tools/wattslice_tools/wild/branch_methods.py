"""Does BDPM beat BSPM on branch-dense kernels? Both, and the expectation, beside measured watts, as Markdown.

    python -m wattslice_tools.wild.branch_methods NV-DVFS-CHECKOUT [-o docs/appendix/branches.md]

Measured: every program of the committed tables with a launch some of whose branches or loops data decide,
at every clock it was run at (`branch_measured.py`).
Profiles are made on the spot, from the committed data specs (`branch_profiles.py`).
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from wattslice.analysis import BranchClass
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_tools.public_sets.checkout import find_recipes, gpus_of
from wattslice_tools.wild.branch_measured import (
    DELTA,
    INFORMED,
    MODELS,
    PLAIN,
    VARIANTS,
    Compared,
    Variant,
    compared,
)
from wattslice_tools.wild.checkouts import revision
from wattslice_tools.wild.document import publish

NO_VALUE = "–"
SAME_W = 0.05
"""Watts by which two predictions may differ and still count as the same."""
BSPM, BDPM, EXPECTED = PLAIN
BSPM_TRIPS, BDPM_PROFILE, EXPECTED_PROFILE = INFORMED
Runs = list[Compared]


class Tally(Struct, frozen=True):
    """In how many runs one variant is nearer to the measured watts than another, as near, and farther."""

    nearer: int
    even: int
    farther: int


def tally(runs: Runs, model: str, one: Variant, other: Variant) -> Tally:
    """`one` against `other`, over the runs for which both have watts."""
    gains: list[float] = []
    for run in runs:
        first, second = (run.answer(model, variant).power_w for variant in (one, other))
        if first is not None and second is not None:
            measured = run.example.power_w
            gains.append(abs(second - measured) - abs(first - measured))
    nearer, farther = sum(gain > SAME_W for gain in gains), sum(gain < -SAME_W for gain in gains)
    return Tally(nearer, len(gains) - nearer - farther, farther)


def mean_error(pairs: Iterable[tuple[float | None, float | None]]) -> float | None:
    """Mean of |predicted / measured - 1|; None without any pair."""
    ratios = [abs(told / true - 1.0) for told, true in pairs if told is not None and true]
    return statistics.fmean(ratios) if ratios else None


def _watts_error(runs: Runs, model: str, variant: Variant) -> str:
    return _percent(mean_error((run.answer(model, variant).power_w, run.example.power_w) for run in runs))


def _percent(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1%}"


def _watts(value: float | None) -> str:
    return NO_VALUE if value is None else f"{value:.1f}"


def _milliseconds(value: float | None) -> str:
    return NO_VALUE if value is None else f"{1000.0 * value:.3g}"


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _table(heads: tuple[str, ...], rows: Iterable[str]) -> list[str]:
    return [_row(*heads), "|---" * len(heads) + "|", *rows, ""]


def _titles(variants: Iterable[Variant]) -> tuple[str, ...]:
    return tuple(variant.title for variant in variants)


def _clocks(run: Compared) -> tuple[float, float]:
    clocks = run.example.subject.clocks
    return clocks.core_mhz or 0.0, clocks.memory_mhz or 0.0


def _class_name(run: Compared) -> str:
    names = [NO_VALUE if one is None else one.value for one in (run.classes.plain, run.classes.profiled)]
    return " → ".join(dict.fromkeys(names))


def _programs(found: list[tuple[Gpu, Runs]]) -> Iterator[tuple[Gpu, str, Runs]]:
    for gpu, runs in found:
        for program in dict.fromkeys(run.example.benchmark for run in runs):
            yield gpu, program, [run for run in runs if run.example.benchmark == program]


KINDS: tuple[tuple[str, Callable[[Compared], bool]], ...] = (
    ("branch-dense", lambda run: run.classes.plain is BranchClass.DENSE),
    ("branch-sparse", lambda run: run.classes.plain is BranchClass.SPARSE),
    ("loops only", lambda run: run.classes.plain is None),
)


def error_lines(found: list[tuple[Gpu, Runs]]) -> list[str]:
    """Mean errors over all clocks, by kind of program and GPU."""
    everything = ("all GPUs", [run for _, runs in found for run in runs])
    rows: list[str] = []
    for kind, fits in KINDS:
        for gpu, runs in (*((gpu.name, runs) for gpu, runs in found), everything):
            own = [run for run in runs if fits(run)]
            programs = len({run.example.benchmark for run in own})
            for model in MODELS if own else ():
                errors = [_watts_error(own, model, variant) for variant in VARIANTS]
                if set(errors) != {NO_VALUE}:
                    rows.append(_row(kind, gpu, model, programs, len(own), *errors))
    return _table(("programs", "GPU", "model", "programs", "runs", *_titles(VARIANTS)), rows)


def program_lines(found: list[tuple[Gpu, Runs]]) -> list[str]:
    """Every program: watts at the highest clocks by the energy model."""
    watts: list[str] = []
    for gpu, program, runs in _programs(found):
        top = max(runs, key=_clocks)
        answers = (_watts(top.answer("energy", variant).power_w) for variant in VARIANTS)
        watts.append(_row(gpu.name, program, _class_name(top), _watts(top.example.power_w), *answers))
    return [
        "By program, energy model, watts at the highest clocks (class: without → with profile):",
        "",
        *_table(("GPU", "program", "class", "measured", *_titles(VARIANTS)), watts),
    ]


def time_lines(found: list[tuple[Gpu, Runs]]) -> list[str]:
    """Seconds, where those of the program were measured: only the expectation tells time."""
    rows: list[str] = []
    for gpu, program, runs in _programs(found):
        timed = [run for run in runs if run.example.time_s is not None]
        if not timed or all(run.classes.profiled is None and not run.loops for run in timed):
            continue
        top = max(timed, key=_clocks)
        told = [top.answer("energy", variant).time_s for variant in (EXPECTED, EXPECTED_PROFILE)]
        errors = [
            _percent(mean_error((run.answer("energy", v).time_s, run.example.time_s) for run in timed))
            for v in (EXPECTED, EXPECTED_PROFILE)
        ]
        times = map(_milliseconds, (top.example.time_s, *told))
        rows.append(_row(gpu.name, program, *times, len(timed), *errors))
    heads = ("GPU", "program", "measured, ms", "expected", "expected, profile", "clocks", "error")
    return _table((*heads, "error, profile"), rows)


def loop_lines(found: list[tuple[Gpu, Runs]]) -> list[str]:
    """Loops whose trips the profile has."""
    facts = dict.fromkeys(fact for _, runs in found for run in runs for fact in run.loops)
    loops = [
        _row(f.program, f"{f.file}:{f.line}", *(f"{n:.3g}" for n in (f.assumed, f.profiled, f.of_warps)))
        for f in facts
    ]
    return _table(("program", "loop", "iterations assumed", "profiled", "of warps"), loops)


def verdict_lines(runs: Runs) -> list[str]:
    """Who is nearer, in numbers."""
    asked = (
        ("BDPM than BSPM, no profile", BDPM, BSPM),
        ("BDPM with a profile than BSPM with its trip counts", BDPM_PROFILE, BSPM_TRIPS),
        ("BDPM with a profile than BSPM without", BDPM_PROFILE, BSPM),
        ("expectation than BSPM, no profile", EXPECTED, BSPM),
        ("expectation with a profile than without", EXPECTED_PROFILE, EXPECTED),
        ("expectation with a profile than BDPM with it", EXPECTED_PROFILE, BDPM_PROFILE),
    )
    rows: list[str] = []
    for name, one, other in asked:
        for model in MODELS:
            for kind, own in (("all", runs), (KINDS[0][0], [run for run in runs if KINDS[0][1](run)])):
                result = tally(own, model, one, other)
                rows.append(_row(name, model, kind, result.nearer, result.even, result.farther))
    return _table(("is nearer to the measured watts", "model", "programs", "nearer", "even", "farther"), rows)


def main() -> None:
    """Runs the comparison and prints it, or puts it in the document."""
    parser = argparse.ArgumentParser(description="Compares BSPM, BDPM and expectation.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    recipes = find_recipes(options.checkout, None)
    found = [
        (gpu, runs)
        for gpu in map(load_gpu, gpus_of(recipes))
        if (runs := list(compared(options.checkout, recipes, gpu)))
    ]
    lines = [
        f"Measured programs of {recipes.repository} at {revision(options.checkout)} with branches or loops "
        f"that data decide, at every clock; δ = {DELTA:g}. Mean of |predicted / measured - 1|:",
        "",
        *error_lines(found),
        *verdict_lines([run for _, runs in found for run in runs]),
        *program_lines(found),
        "Trip counts of data-dependent loops:",
        "",
        *loop_lines(found),
        "Time of one iteration at the highest clocks, and its mean error over all:",
        "",
        *time_lines(found),
    ]
    publish(options.output, "branch_methods", lines)


if __name__ == "__main__":
    main()
