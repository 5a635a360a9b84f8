"""Energy models on disk: JSON with a schema version, names, full precision and the residuals of the fit.

``trained/<gpu>/energy.json`` holds what was fitted on measurements of that very GPU. Every number is written
so that it reads back exactly; a file with an unknown entry, a missing one or another schema is refused.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

from wattslice_models.energy import Component, ComponentEnergy, EnergyModel, NoEnergyModel, VoltageCurve
from wattslice_models.execution_time import TimeParameters
from wattslice_models.gpu import Gpu, load_gpu
from wattslice_models.transfer import transferred

SCHEMA_VERSION = 1
_TRAINED = Path(__file__).parent / "trained"
_UNITS = {
    "idle_w, leakage_w, active_w": "W",
    "energies.energy_j": "J per thread instruction, per warp issue slot (issue) or per byte (memories)",
    "residuals": "measured / predicted watts - 1, dimensionless",
}


class ModelFileError(ValueError):
    """A model file that is not what `save` writes."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}; train the model again")
        self.path = path


@dataclass(frozen=True, slots=True)
class Residual:
    """One training row: measured / predicted - 1 with its benchmark left out of the fit."""

    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float
    relative_power: float
    relative_time: float


def save(path: Path, model: EnergyModel, residuals: tuple[Residual, ...]) -> None:
    """Write `model` and the residuals its interval comes from."""
    columns = [field.name for field in fields(Residual)]
    document = {
        "schema_version": SCHEMA_VERSION,
        "units": _UNITS,
        "model": asdict(model),
        "residual_columns": columns,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    rows = ",\n".join(
        "    " + json.dumps([getattr(row, name) for name in columns], ensure_ascii=False) for row in residuals
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{text[:-2]},\n  "residuals": [\n{rows}\n  ]\n}}\n', encoding="utf-8")


def load(path: Path) -> EnergyModel:
    """Read a model written by `save`. Raises `ModelFileError`, and ``OSError`` when it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFileError(path, f"not valid JSON ({error})") from None
    if (
        not isinstance(document, dict)
        or cast("dict[str, Any]", document).get("schema_version") != SCHEMA_VERSION
    ):
        raise ModelFileError(path, f"not a model of schema version {SCHEMA_VERSION}")
    try:
        entries = dict(cast("dict[str, Any]", document["model"]))
        entries["energies"] = tuple(
            ComponentEnergy(Component(entry["component"]), float(entry["energy_j"]), bool(entry["fitted"]))
            for entry in entries["energies"]
        )
        entries["voltage"] = VoltageCurve(**entries["voltage"])
        entries["time"] = TimeParameters(**entries["time"])
        entries["notes"] = tuple(entries["notes"])
        return EnergyModel(**entries)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None


def trained_gpu_ids() -> tuple[str, ...]:
    """Ids of the GPUs whose own measurements an energy model was fitted on."""
    return tuple(sorted(path.parent.name for path in _TRAINED.glob("*/energy.json")))


@cache
def energy_model(gpu: Gpu) -> EnergyModel | NoEnergyModel:
    """The energy model of a GPU: its own, else one transferred from the nearest GPU measured, else why none.

    A transferred model says so: `EnergyModel.measured_on` differs from `gpu_id`, its interval is wider, and
    every prediction has a note.
    """
    if gpu.id in trained_gpu_ids():
        return load(_TRAINED / gpu.id / "energy.json")
    measured = tuple(
        (load_gpu(gpu_id), load(_TRAINED / gpu_id / "energy.json")) for gpu_id in trained_gpu_ids()
    )
    return transferred(gpu, measured)
