"""``python -m wattslice.calibration``: from public measurements and sources to trained energy models."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import wattslice_models
from wattslice.calibration.document import Trained, update
from wattslice.calibration.features import checkout_commit, workload_rows
from wattslice.calibration.measured import public_gpu_ids, read_public_table
from wattslice.calibration.training import public_runs
from wattslice.errors import WattsliceError
from wattslice_corpora.records import (
    DataCard,
    MeasuredRow,
    RecordError,
    WorkloadRow,
    card_path,
    measurements_path,
    read_card,
    read_measurements,
    read_recipes,
    recipes_path,
    sha256,
    workloads_path,
    write_table,
)
from wattslice_models.energy import NoEnergyModel
from wattslice_models.energy_fit import NotEnoughDataError, fit_energy_model
from wattslice_models.gpu import load_gpu
from wattslice_models.store import energy_model, save

_TRAINED = Path(wattslice_models.__file__).parent / "trained"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m wattslice.calibration",
        description="Fits the energy models to public measurements, from the tables of this package. "
        "With --measurements and --sources these tables are made anew first.",
    )
    parser.add_argument("--measurements", type=Path, metavar="CSV", help="public table of measured kernels")
    parser.add_argument("--sources", type=Path, metavar="DIR", help="git checkout of the kernels' repository")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write the results into this document")
    parser.add_argument(
        "--gpu", choices=public_gpu_ids(), action="append", help="only this GPU (may be repeated)"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; 0 when all went well, 2 with a message when not."""
    options = _parser().parse_args(arguments)
    try:
        cards = [read_card(card_path(gpu_id)) for gpu_id in options.gpu or public_gpu_ids()]
        for card in cards:
            if options.measurements:
                _import(options.measurements, card)
            if options.sources:
                _analyze(options.sources, card)
        trained = tuple(_train(card) for card in cards)
        if options.document:
            update(options.document, trained)
    except (WattsliceError, RecordError, NotEnoughDataError, OSError) as error:
        print(f"wattslice.calibration: {error}", file=sys.stderr)
        return 2
    return 0


def _import(table: Path, card: DataCard) -> None:
    comments = (
        f"runs of public kernels measured on {card.gpu_id}; card: {card_path(card.gpu_id).name}",
        *(f"{entry.key}: {entry.repository} {entry.path} at {entry.commit}" for entry in card.datasets),
    )
    write_table(measurements_path(card.gpu_id), comments, MeasuredRow, read_public_table(table, card))


def _analyze(sources: Path, card: DataCard) -> None:
    recipes = read_recipes(recipes_path(card.datasets[0].recipes))
    commit = checkout_commit(sources)
    measured = read_measurements(measurements_path(card.gpu_id))
    rows = workload_rows(sources, recipes, measured, load_gpu(card.gpu_id), _tell)
    comments = (
        f"features that wattslice found in public kernels, for {card.gpu_id}; counts and bytes per thread",
        f"source: {recipes.repository} at {commit}",
    )
    write_table(workloads_path(card.gpu_id), comments, WorkloadRow, rows)


def _train(card: DataCard) -> Trained:
    gpu = load_gpu(card.gpu_id)
    runs = public_runs(gpu)
    if not runs.training:
        transferred = energy_model(gpu)
        if isinstance(transferred, NoEnergyModel):
            raise WattsliceError(f"{gpu.id}: {transferred.reason}")
        return Trained(gpu, transferred, runs)
    data = sha256(measurements_path(gpu.id), workloads_path(gpu.id))
    model, residuals = fit_energy_model(runs.training, gpu, data)
    save(_TRAINED / gpu.id / "energy.json", model, residuals)
    return Trained(gpu, model, runs)


def _tell(message: str) -> None:
    print(message, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
