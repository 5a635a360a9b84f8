"""How branchy are public kernels? The distribution of what makes a kernel branch-dense, as Markdown.

    python -m wattslice_tools.wild.branch_classes CHECKOUT... [-o docs/appendix/branches.md]

Every launch of every `.cu` file (each content once), each kernel definition once: its branchiest launch. The
measure is that of `power/methods.py`: the share of executed statements in arms that some visits take,
some not.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from msgspec import Struct

from wattslice.config.options import DENSE_FROM
from wattslice.counting.count import NotCountedError, count
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import read_cuda
from wattslice.launches.launch import NO_OVERRIDES
from wattslice.launches.resolver import resolve_launches
from wattslice.power.methods import branch_density
from wattslice.power.paths import arms_of_data
from wattslice.slicing.slices import slice_kernel
from wattslice_models.gpu import load_gpu
from wattslice_tools.wild.checkouts import cuda_files, revision
from wattslice_tools.wild.document import publish

EDGES = (0.0, 0.01, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.6, 0.8)
THRESHOLDS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


class Kernel(Struct, frozen=True):
    """The share of one kernel, and whether data decide any of its branches."""

    suite: str
    name: str
    share: float
    by_data: bool


def kernels_of(path: Path, suite: str) -> list[Kernel]:
    """The kernels of one file; none when it cannot be read."""
    found: dict[tuple[str, int], Kernel] = {}
    try:
        launches = resolve_launches(read_cuda(path), NO_OVERRIDES, load_gpu("v100"))
    except WattsliceError:
        return []
    for launch in launches:
        kernel = launch.kernel
        try:
            profile = count(launch)
            share = branch_density(slice_kernel(kernel), profile).divided_share
        except (NotCountedError, RecursionError):
            continue
        place = (kernel.span.file, kernel.span.line)
        if place not in found or share > found[place].share:
            found[place] = Kernel(suite, kernel.name, share, bool(arms_of_data(profile)))
    return list(found.values())


def lines_of(kernels: list[Kernel]) -> list[str]:
    """The distribution, and how many are dense at each threshold."""
    suites = list(dict.fromkeys(kernel.suite for kernel in kernels))
    lines = [f"| share | {' | '.join(suites)} | all |", "|---" * (len(suites) + 2) + "|"]
    for low, high in zip(EDGES, (*EDGES[1:], None), strict=True):
        inside = [k for k in kernels if k.share >= low and (high is None or k.share < high)]
        counts = Counter(kernel.suite for kernel in inside)
        name = f"{low:.0%} to {1.0 if high is None else high:.0%}"
        cells = " | ".join(str(counts[suite]) for suite in suites)
        lines.append(f"| {name} | {cells} | {len(inside)} |")
    cells = " | ".join(str(sum(kernel.suite == suite for kernel in kernels)) for suite in suites)
    lines.append(f"| kernels | {cells} | {len(kernels)} |")
    lines += [
        "",
        "Branch-dense kernels at each threshold, and how many of them have branches that data decide:",
    ]
    lines += ["", "| threshold | dense | of these by data |", "|---|---|---|"]
    for threshold in THRESHOLDS:
        dense = [kernel for kernel in kernels if kernel.share >= threshold]
        mark = " (default)" if threshold == DENSE_FROM else ""
        lines.append(
            f"| {threshold:g}{mark} | {len(dense)} ({len(dense) / len(kernels):.0%}) | "
            f"{sum(kernel.by_data for kernel in dense)} |"
        )
    return lines


def main() -> None:
    """Measures and prints, or puts the tables in the document."""
    parser = argparse.ArgumentParser(description="Shows how branchy public kernels are.")
    parser.add_argument("checkouts", type=Path, nargs="+", metavar="CHECKOUT")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    seen: set[str] = set()
    kernels: list[Kernel] = []
    for checkout in options.checkouts:
        for path in cuda_files(checkout, seen):
            kernels += kernels_of(path, checkout.name)
    states = ", ".join(f"{path.name} {revision(path)}" for path in options.checkouts)
    lines = [f"Kernels of {states} by their share of executed statements in dividing arms:", ""]
    lines += lines_of(kernels)
    publish(options.output, "branch_classes", lines)


if __name__ == "__main__":
    main()
