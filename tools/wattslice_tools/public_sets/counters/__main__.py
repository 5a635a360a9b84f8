"""``python -m wattslice_tools.public_sets.counters``: our static counts beside hardware counters."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice_corpora.counters import CounterRow, counters_path, read_counters
from wattslice_corpora.records import (
    RecordError,
    measurements_path,
    read_measurements,
    read_recipes,
    recipes_path,
    write_table,
)
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_tools.public_sets.checkout import checkout_commit
from wattslice_tools.public_sets.counters.causes import CAUSES_FILE, read_notes, stale
from wattslice_tools.public_sets.counters.document import (
    Comparison,
    NotCompared,
    update,
    verdict,
    without_root,
)
from wattslice_tools.public_sets.counters.geometry import ReadGeometry, read_geometry
from wattslice_tools.public_sets.counters.launches import counted_launch, recipes_of
from wattslice_tools.public_sets.counters.nvprof import read_nvprof_table
from wattslice_tools.public_sets.counters.quantities import QUANTITIES, Compared, compare

_GPU = "gtx_1080_ti"
_RECIPES = ("nv_dvfs_benchmark", "rodinia", "cuda_samples")
_REPOSITORY = "https://github.com/blackjack2015/NV-DVFS-Benchmark"
_TABLE = "csvs/raw/gtx1080ti-dvfs-real-Performance-Power.csv"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m wattslice_tools.public_sets.counters",
        description="Compares our static counts with the hardware counters of public kernels, one by one. "
        f"Why a count misses stands in {CAUSES_FILE.name}, written by people.",
    )
    parser.add_argument(
        "--counters", type=Path, metavar="CSV", help="make the table of counters anew from this"
    )
    parser.add_argument(
        "--sources",
        type=Path,
        metavar="DIR",
        action="append",
        default=[],
        help="git checkout that holds some of the programs (may be repeated)",
    )
    parser.add_argument(
        "--document", type=Path, metavar="FILE", help="write the comparison into this document"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 0 when every miss has its cause and no cause is stale, 1 when not, 2 on an error."""
    options = _parser().parse_args(arguments)
    try:
        gpu = load_gpu(_GPU)
        if options.counters:
            _import(options.counters, gpu)
        if not options.sources:
            return 0
        comparison = _compare(tuple(options.sources), gpu)
        if options.document:
            update(options.document, comparison)
    except (WattsliceError, RecordError, OSError) as error:
        print(f"wattslice_tools.public_sets.counters: {error}", file=sys.stderr)
        return 2
    return verdict(comparison)


def _import(table: Path, gpu: Gpu) -> None:
    arguments = {row.benchmark: row.arguments for row in read_measurements(measurements_path(gpu.id))}
    rows = read_nvprof_table(table, tuple(arguments.items()))
    comments = (
        f"nvprof counters of public kernels on {gpu.name}: one launch each, median over the clocks",
        f"source: {_REPOSITORY}, branch wsl, {_TABLE}",
    )
    write_table(counters_path(gpu.id), comments, CounterRow, rows)


def _compare(sources: tuple[Path, ...], gpu: Gpu) -> Comparison:
    every, notes = tuple(read_recipes(recipes_path(name)) for name in _RECIPES), read_notes()
    rows = read_counters(counters_path(gpu.id))
    compared: list[Compared] = []
    failed: list[NotCompared] = []
    geometries: list[ReadGeometry] = []
    for row in rows:
        recipes = recipes_of(every, row.benchmark)
        try:
            compared += compare(row, counted_launch(sources, recipes, row, gpu))
            geometries.append(read_geometry(sources, recipes, row, notes.host_run(row.benchmark), gpu))
        except (WattsliceError, RecordError, ValueError) as error:
            failed.append(NotCompared(row.benchmark, row.kernel, without_root(str(error), sources)))
    found = tuple(compared)
    commits = ", ".join(f"{root.resolve().name} {checkout_commit(root)}" for root in sources)
    return Comparison(
        gpu,
        QUANTITIES,
        f"{', '.join(recipes.repository for recipes in every)}; checkouts: {commits}",
        len(rows),
        found,
        tuple(failed),
        tuple(geometries),
        notes,
        stale(notes, found),
    )


if __name__ == "__main__":
    sys.exit(main())
