"""Fitted energy rooflines on disk: ``<gpu>/roofline.json``, beside the models of that GPU (see `store`).

One fit for each pair of clocks, in full precision, with the points that it rests on, what it makes of each,
and the hash of the tables. It is a model of sweeps, about a machine: `--model auto` never chooses it.
"""

from __future__ import annotations

import json
from pathlib import Path

from msgspec import Struct

from wattslice_models.energy_roofline_fit import EnergyRooflineFit, SweepPrecision
from wattslice_models.frozen_json import decoded, encoded
from wattslice_models.store import SCHEMA_VERSION, ModelFileError, Provenance, model_file, read_document

NAME = "roofline"
FILE_NAME = f"{NAME}.json"


class SweepResidual(Struct, frozen=True):
    """One run of a sweep at one pair of clocks, and its energy by the fit.

    `held_out_energy_j`: by a fit without this run; None where the others cannot be fitted. `relative_...`:
    the same by the fit to relative errors.
    """

    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float | None
    memory_mhz: float | None
    precision: SweepPrecision
    work_flop: float
    traffic_bytes: float
    time_s: float
    energy_j: float
    fitted_energy_j: float
    held_out_energy_j: float | None
    relative_fitted_energy_j: float
    relative_held_out_energy_j: float | None


class ClockFit(Struct, frozen=True):
    """The fits at one pair of clocks; None: not told.

    `fit`: the paper's. `relative_fit`: with errors in proportion to E / W (see `energy_roofline_fit`).
    `..._error`: mean |held out / measured - 1| of the energies, each run predicted by a fit without it; None
    where that could not be done.
    """

    core_mhz: float | None
    memory_mhz: float | None
    fit: EnergyRooflineFit
    relative_fit: EnergyRooflineFit
    held_out_error: float | None = None
    relative_held_out_error: float | None = None


class TrainedRoofline(Struct, frozen=True):
    """All fits of one GPU, the fastest core clock first. `caveats`: what is wrong with the data, in words."""

    provenance: Provenance
    caveats: tuple[str, ...]
    fits: tuple[ClockFit, ...]
    residuals: tuple[SweepResidual, ...]

    @property
    def reference(self) -> ClockFit:
        """The fit at the highest core clock, where a board runs when nobody sets it."""
        return self.fits[0]

    def at(self, core_mhz: float | None) -> ClockFit:
        """The fit at the clock nearest to `core_mhz`; None: the reference."""
        known = [one for one in self.fits if one.core_mhz is not None]
        if core_mhz is None or not known:
            return self.reference
        return min(known, key=lambda one: abs((one.core_mhz or 0.0) - core_mhz))


def save_roofline(folder: Path, trained: TrainedRoofline) -> Path:
    """Write ``roofline.json`` into `folder`. Raises ``OSError`` when it cannot be written."""
    columns = list(SweepResidual.__struct_fields__)
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": NAME,
        "provenance": encoded(trained.provenance),
        "caveats": encoded(trained.caveats),
        "fits": encoded(trained.fits),
        "residual_columns": columns,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    rows = ",\n".join(
        "    " + json.dumps([getattr(row, name) for name in columns], ensure_ascii=False, allow_nan=False)
        for row in trained.residuals
    )
    path = folder / FILE_NAME
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{text[:-2]},\n  "residuals": [\n{rows}\n  ]\n}}\n', encoding="utf-8")
    return path


def load_roofline(path: Path) -> TrainedRoofline:
    """Read what `save_roofline` wrote. Raises `ModelFileError`, and ``OSError`` when it cannot be read."""
    document = read_document(path)
    try:
        columns = list(SweepResidual.__struct_fields__)
        if document["residual_columns"] != columns or document["name"] != NAME or not document["fits"]:
            raise ValueError("name, fits or columns of the residuals")
        return TrainedRoofline(
            decoded(Provenance, document["provenance"]),
            tuple(str(caveat) for caveat in document["caveats"]),
            tuple(decoded(ClockFit, one, f"fits[{number}]") for number, one in enumerate(document["fits"])),
            tuple(
                decoded(SweepResidual, dict(zip(columns, row, strict=True)), f"residuals[{number}]")
                for number, row in enumerate(document["residuals"])
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None


def stored_roofline(gpu_id: str) -> TrainedRoofline | None:
    """What was fitted to a sweep of this very GPU, the user's own first; None without any.

    Raises `ModelFileError`.
    """
    path = model_file(gpu_id, FILE_NAME)
    return None if path is None else load_roofline(path)
