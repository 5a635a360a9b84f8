"""``python -m wattslice_tools.public_sets``: from public measurements and sources to the tables of this
package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    DataCard,
    MeasuredRow,
    Recipes,
    RecordError,
    SliceRow,
    UtilisationRow,
    WorkloadRow,
    card_path,
    measurements_path,
    read_card,
    read_measurements,
    read_slices,
    read_workloads,
    slices_path,
    table_text,
    utilisation_path,
    workloads_path,
    write_table,
    write_text,
)
from wattslice_models.gpu import load_gpu
from wattslice_tools.public_sets.checkout import find_recipes, public_features, runs_of
from wattslice_tools.public_sets.dcgm import read_dcgm_table
from wattslice_tools.public_sets.measured import public_gpu_ids, read_public_tables

_Features = TypeVar("_Features", WorkloadRow, SliceRow)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m wattslice_tools.public_sets",
        description="Makes the tables of measured runs (--measurements), of DCGM activity (--dcgm) and of "
        "our features of the kernels (--sources) anew. `wattslice train` learns from them.",
    )
    parser.add_argument(
        "--measurements",
        type=Path,
        action="append",
        default=[],
        metavar="CSV",
        help="public table of measured kernels (may be repeated: all that have rows of a GPU are needed)",
    )
    parser.add_argument(
        "--dcgm",
        type=Path,
        action="append",
        default=[],
        metavar="CSV",
        help="public table of DCGM activity of the runs of the one --gpu (may be repeated)",
    )
    parser.add_argument(
        "--sources", type=Path, metavar="DIR", help="git checkout of a repository of measured kernels"
    )
    parser.add_argument(
        "--gpu", choices=public_gpu_ids(), action="append", help="only this GPU (may be repeated)"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 0 when all went well, 2 with a message when not."""
    options = _parser().parse_args(arguments)
    try:
        if options.dcgm and len(options.gpu or ()) != 1:
            raise WattsliceError("--dcgm is for one GPU", remedy="say which with --gpu")
        cards = [read_card(card_path(gpu_id)) for gpu_id in options.gpu or public_gpu_ids()]
        for card in cards:
            if options.measurements:
                _import(options.measurements, card)
            if options.dcgm:
                _import_dcgm(options.dcgm, card)
        if options.sources:
            recipes = find_recipes(options.sources, None)
            for card in cards:
                if any(entry.recipes == recipes.path.stem for entry in card.datasets):
                    _analyze(options.sources, card, recipes)
    except (WattsliceError, RecordError, OSError) as error:
        print(f"wattslice_tools.public_sets: {error}", file=sys.stderr)
        return 2
    return 0


def _import(tables: list[Path], card: DataCard) -> None:
    comments = (
        f"runs of public kernels measured on {card.gpu_id}; card: {card_path(card.gpu_id).name}",
        *(f"{entry.key}: {entry.repository} {entry.path} at {entry.commit}" for entry in card.datasets),
    )
    write_table(measurements_path(card.gpu_id), comments, MeasuredRow, read_public_tables(tables, card))


def _import_dcgm(tables: list[Path], card: DataCard) -> None:
    measured = read_measurements(measurements_path(card.gpu_id))
    rows = tuple(row for table in tables for row in read_dcgm_table(table, measured))
    comments = (
        f"DCGM activity of runs of public kernels on {card.gpu_id}; card: {card_path(card.gpu_id).name}",
        *(
            f"{entry.key}: {entry.repository} {entry.utilisation_path} at {entry.commit}"
            for entry in card.datasets
        ),
    )
    write_table(utilisation_path(card.gpu_id), comments, UtilisationRow, rows)


def _analyze(sources: Path, card: DataCard, recipes: Recipes) -> None:
    found = public_features(sources, recipes, runs_of(recipes, card.gpu_id), load_gpu(card.gpu_id))
    for entry in found.features.left_out:
        print(f"{', '.join(entry.runs)}: left out: {entry.reason}", file=sys.stderr)
    others = frozenset(
        _run(row)
        for row in read_measurements(measurements_path(card.gpu_id))
        if card.dataset(row.dataset).recipes != recipes.path.stem
    )
    workloads, slices = workloads_path(card.gpu_id), slices_path(card.gpu_id)
    kept = _kept(workloads, read_workloads, WorkloadRow, others), _kept(slices, read_slices, SliceRow, others)
    write_text(workloads, found.workloads + kept[0])
    write_text(slices, found.slices + kept[1])


def _kept(
    path: Path,
    read: Callable[[Path], tuple[_Features, ...]],
    row_type: type[_Features],
    runs: frozenset[tuple[str, str, str]],
) -> str:
    """The lines of a table of features that are of these runs, which another source gave."""
    rows = tuple(row for row in read(path) if _run(row) in runs) if path.is_file() else ()
    return "".join(table_text((), row_type, rows).splitlines(keepends=True)[1:])


def _run(row: MeasuredRow | WorkloadRow | SliceRow) -> tuple[str, str, str]:
    return row.benchmark, row.kernel, row.arguments


if __name__ == "__main__":
    sys.exit(main())
