"""Are heuristics better than one half? Both against measured probabilities, as Markdown.

    python -m wattslice_tools.wild.branch_heuristics [--measured NV-DVFS-CHECKOUT] FILE_OR_FOLDER...
                                           [-o docs/branches.md]

Profiles are made on the spot from the committed data specs (`branch_profiles.py`); files without one are
passed over. Every `if` that data decide and that its profile speaks of is one row: the probability of its
then-arm by profile, by heuristics, and with one half for every comparison. Of a kernel in two checkouts
(`eigenvalues`), by the names of file and kernel, the first one counts.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wattslice.config.config import BranchProfile
from wattslice.config.sources import source_files
from wattslice.counting.count import BudgetExceededError, count
from wattslice.counting.profile import BranchArm, ExecutionProfile, ProbabilitySource
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.heuristics import Heuristic, spread
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice_models.gpu import load_gpu
from wattslice_tools.public_sets.checkout import find_recipes
from wattslice_tools.wild.branch_profiles import measured_profile, profile_of
from wattslice_tools.wild.document import publish


@dataclass(frozen=True, slots=True)
class Row:
    """One branch: where, how often its then-arm is taken in truth and as estimated, how often it is visited.

    `spoke`: the heuristics of its line.
    """

    file: str
    kernel: str
    line: int
    truth: float
    heuristic: float
    half: float
    visits: float
    spoke: tuple[Heuristic, ...]


def rows_of(path: Path, profile: BranchProfile) -> Iterator[Row]:
    """The branches of one file that data decide and its profile has measured."""
    try:
        launches = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    except WattsliceError:
        return
    for launch in launches:
        try:
            weighed, even = count(launch, heuristics=True), count(launch)
            measured = count(launch, profile)
        except (BudgetExceededError, RecursionError):
            continue
        for arm in _estimated(weighed):
            truth, half = _arm(measured, arm.region), _arm(even, arm.region)
            if truth is None or half is None or truth.source is not ProbabilitySource.PROFILE:
                continue
            messages = [a.message for a in weighed.assumptions if a.line == arm.line and a.rule == "PW012"]
            if any("leaving the loop" in message for message in messages):
                continue  # these have a default of their own, which no heuristic touches
            message = next((message for message in messages if "heuristics" in message), "")
            spoke = tuple(h for h in Heuristic if h.value in message.partition("(")[2])
            visits = measured.thread_counts[arm.region] / truth.probability if truth.probability else 0.0
            yield Row(
                path.name,
                launch.kernel.name,
                arm.line,
                truth.probability,
                arm.probability,
                half.probability,
                visits,
                spoke,
            )


def _estimated(profile: ExecutionProfile) -> Iterator[BranchArm]:
    estimated = (ProbabilitySource.HEURISTIC, ProbabilitySource.DEFAULT)
    return (arm for arm in profile.arms if arm.arm == "then" and arm.source in estimated)


def _arm(profile: ExecutionProfile, region: int) -> BranchArm | None:
    return next((arm for arm in profile.arms if arm.region == region), None)


def lines_of(rows: list[Row]) -> list[str]:
    """The mean errors, how often each heuristic helps, how often the truth lies in the interval, and all."""
    spoken = [row for row in rows if row.spoke]
    lines = ["| branches | number | heuristics | one half |", "|---|---|---|---|"]
    for name, own in (("all", rows), ("of which heuristics speak", spoken)):
        errors = [(abs(row.heuristic - row.truth), abs(row.half - row.truth)) for row in own]
        if own:
            means = [math.fsum(column) / len(own) for column in zip(*errors, strict=True)]
            lines.append(f"| {name} | {len(own)} | {means[0]:.3f} | {means[1]:.3f} |")
        weight = math.fsum(row.visits for row in own)
        if weight:
            weighed = [
                math.fsum(error[side] * row.visits for error, row in zip(errors, own, strict=True)) / weight
                for side in (0, 1)
            ]
            lines.append(f"| {name}, by visits | {len(own)} | {weighed[0]:.3f} | {weighed[1]:.3f} |")
    inside = sum(low <= row.truth <= high for row in rows for low, high in (spread(row.heuristic),))
    lines += ["", f"The truth lies in the interval of the estimate for {inside} of {len(rows)} branches.", ""]
    lines += ["| heuristic | speaks of | nearer than one half |", "|---|---|---|"]
    for heuristic in Heuristic:
        own = [row for row in rows if heuristic in row.spoke]
        nearer = sum(abs(row.heuristic - row.truth) < abs(row.half - row.truth) for row in own)
        lines.append(f"| {heuristic.value} | {len(own)} | {nearer} |")
    lines += [
        "",
        "| kernel | line | taken | heuristics say | one half | spoke |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        spoke = ", ".join(heuristic.value for heuristic in row.spoke) or "–"
        lines.append(
            f"| {row.kernel} ({row.file}) | {row.line} | {row.truth:.3f} | {row.heuristic:.3f} | "
            f"{row.half:.3f} | {spoke} |"
        )
    return lines


def _profiled(paths: list[Path], measured: Path | None) -> Iterator[tuple[Path, BranchProfile]]:
    """Every source with a spec; those of the measured programs first."""
    if measured is not None:
        recipes = find_recipes(measured, None)
        for recipe in recipes.benchmarks:
            if (profile := measured_profile(measured, recipes, recipe)) is not None:
                yield measured / recipe.file, profile
    for path in source_files(tuple(paths)):
        if (profile := profile_of(path)) is not None:
            yield path, profile


def main() -> None:
    """Compares and prints, or puts the tables in the document."""
    parser = argparse.ArgumentParser(
        description="Compares heuristics and one half with measured probabilities."
    )
    parser.add_argument("--measured", type=Path, metavar="NV-DVFS-CHECKOUT")
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE_OR_FOLDER")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    rows: list[Row] = []
    home: dict[tuple[str, str], Path] = {}  # a program may be in two checkouts: the first one counts
    read = 0
    for path, profile in _profiled(options.paths, options.measured):
        read += 1
        own = rows_of(path, profile)
        rows += (row for row in own if home.setdefault((row.file, row.kernel), path) == path)
    if not rows:
        raise SystemExit("no profile speaks of a branch that data decide in these files")
    unique = list({(row.file, row.kernel, row.line): row for row in rows}.values())
    lines = [f"Mean absolute error of the probability of then-arms, {read} profiled programs:", ""]
    lines += lines_of(unique)
    publish(options.output, "branch_heuristics", lines)


if __name__ == "__main__":
    main()
