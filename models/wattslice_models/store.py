"""Trained models on disk: JSON with a schema version, names, full precision and the residuals of the fit.

A model of a GPU stands in ``<gpu>/<name>.json``, the choice among them in ``<gpu>/choice.json`` (and a fitted
energy roofline, which predicts no kernel, in ``<gpu>/roofline.json``: see `roofline_store`): in the
user's data folder when trained there (``$XDG_DATA_HOME/wattslice/models``), else in ``trained/``, which comes
with the program. The energy models that ship are one file for all boards: `joint_store`. Every number
reads back exactly; a file with an unknown entry, a missing one or another
schema is refused.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from wattslice_models.contract import PowerModel
from wattslice_models.energy import EnergyModel, NoEnergyModel
from wattslice_models.energy_power import EnergyPowerModel
from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded
from wattslice_models.gpu import Gpu
from wattslice_models.joint import energy_model_of
from wattslice_models.joint_store import joint_model
from wattslice_models.learners import GENERAL, NAMES, entry, model_type
from wattslice_models.user_folder import user_models

SCHEMA_VERSION = 3
SHIPPED = Path(__file__).parent / "trained"


class ModelFileError(ValueError):
    """A model file that is not what `save` writes."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(f"{path}: {message}; train the model again")
        self.path = path


class Residual(Struct, frozen=True):
    """One training row with its benchmark left out of the fit. `held_out_w` None: nothing was predicted."""

    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float | None
    memory_mhz: float | None
    measured_w: float
    held_out_w: float | None


class DataFile(Struct, frozen=True):
    """A table that a model was trained on: its name and the SHA-256 of its bytes."""

    name: str
    sha256: str


class Version(Struct, frozen=True):
    """A package that took part in training."""

    package: str
    version: str


class Provenance(Struct, frozen=True):
    """What a model was made of, and with."""

    gpu_ids: tuple[str, ...]
    seed: int
    data: tuple[DataFile, ...]
    versions: tuple[Version, ...]


class TrainedModel(Struct, frozen=True):
    """A model file. `name`: of its learner."""

    name: str
    provenance: Provenance
    model: PowerModel
    residuals: tuple[Residual, ...]


class CandidateError(Struct, frozen=True):
    """Mean relative error of the held-out runs that all candidates spoke about; None: the `reason` why."""

    name: str
    error: float | None
    reason: str


class Choice(Struct, frozen=True):
    """Which model ``auto`` means for a GPU, and why: what cross-validation on the training data can tell.

    `by_rule`: cross-validation had too few kinds of programs to choose by, a rule chose instead.
    """

    name: str
    by_rule: bool
    reason: str
    candidates: tuple[CandidateError, ...]


def save(folder: Path, trained: TrainedModel) -> Path:
    """Write ``<name>.json`` into `folder`. Raises ``OSError`` when it cannot be written."""
    columns = list(Residual.__struct_fields__)
    document = {
        "schema_version": SCHEMA_VERSION,
        "name": trained.name,
        "kind": trained.model.kind.value,
        "provenance": encoded(trained.provenance),
        "model": encoded(trained.model),
        "residual_columns": columns,
    }
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    rows = ",\n".join(
        "    " + json.dumps([getattr(row, name) for name in columns], ensure_ascii=False, allow_nan=False)
        for row in trained.residuals
    )
    path = folder / f"{trained.name}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f'{text[:-2]},\n  "residuals": [\n{rows}\n  ]\n}}\n', encoding="utf-8")
    return path


def load(path: Path) -> TrainedModel:
    """Read what `save` wrote. Raises `ModelFileError`, and ``OSError`` when it cannot be read."""
    document = read_document(path)
    try:
        known = entry(document["name"])
        columns = list(Residual.__struct_fields__)
        if document["residual_columns"] != columns or document["kind"] != known.kind.value:
            raise ValueError("kind or columns of the residuals")
        return TrainedModel(
            known.name,
            decoded(Provenance, document["provenance"]),
            decoded(model_type(known), document["model"]),
            tuple(
                decoded(Residual, dict(zip(columns, row, strict=True)), f"residuals[{number}]")
                for number, row in enumerate(document["residuals"])
            ),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None


def load_model(path: Path) -> PowerModel:
    """The model alone: its residuals take longer to read than itself. Raises as `load` does."""
    document = read_document(path)
    try:
        return decoded(model_type(entry(document["name"])), document["model"])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None


def save_choice(folder: Path, choice: Choice) -> Path:
    """Write ``choice.json`` into `folder`. Raises ``OSError`` when it cannot be written."""
    document = {"schema_version": SCHEMA_VERSION, "choice": encoded(choice)}
    path = folder / "choice.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def load_choice(gpu_id: str) -> Choice | None:
    """What ``auto`` means for a GPU; None when nobody has trained models of it. Raises `ModelFileError`."""
    path = model_file(gpu_id, "choice.json")
    return None if path is None else read_choice(path)


def read_choice(path: Path) -> Choice:
    """The choice in a file. Raises `ModelFileError`."""
    try:
        return decoded(Choice, read_document(path)["choice"])
    except (KeyError, FrozenJsonError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None


def trained_model(gpu: Gpu, name: str) -> PowerModel | None:
    """The model of that name that was trained on measurements of this very GPU, the user's own first.

    Raises `ModelFileError`.
    """
    path = model_file(gpu.id, f"{name}.json")
    return None if path is None else _loaded(path)


def power_model(gpu: Gpu, name: str) -> PowerModel | None:
    """The model of that name that answers for a GPU: its own, else one that can speak for others; else None.

    An energy model is the joint model's; see `energy_model`.
    """
    own = trained_model(gpu, name)
    if own is not None:
        return own
    if name == "energy":
        found = energy_model(gpu)
        return None if isinstance(found, NoEnergyModel) else EnergyPowerModel(found)
    path = model_file(GENERAL, f"{name}.json")
    return None if path is None else _loaded(path)


def training_runs(gpu: Gpu, name: str) -> tuple[Residual, ...]:
    """The runs that `power_model` of that name learnt from; none where it is carried over or there is none.

    Raises `ModelFileError`.
    """
    path = model_file(gpu.id, f"{name}.json")
    if path is None and name != "energy":
        path = model_file(GENERAL, f"{name}.json")
    return () if path is None else load(path).residuals


def trained_names(gpu: Gpu) -> tuple[str, ...]:
    """The models trained on measurements of this very GPU."""
    return tuple(name for name in NAMES if model_file(gpu.id, f"{name}.json") is not None)


def trained_gpu_ids() -> tuple[str, ...]:
    """Ids of the GPUs that shipped models were trained for, of those alone."""
    return tuple(
        sorted(path.parent.name for path in SHIPPED.glob("*/choice.json") if path.parent.name != GENERAL)
    )


def energy_model(gpu: Gpu) -> EnergyModel | NoEnergyModel:
    """The energy model of a GPU: the user's own, else the joint model for this board, else why there is none.

    `EnergyModel.case` says what is known of the board: it was measured, or the model is carried over to it.
    """
    own = trained_model(gpu, "energy")
    return _joint(gpu) if own is None else _energy(own)


@cache
def _joint(gpu: Gpu) -> EnergyModel | NoEnergyModel:
    """Once for each GPU: every change of a kernel that is weighed asks for it."""
    return energy_model_of(joint_model(), gpu)


def _energy(model: PowerModel) -> EnergyModel:
    assert isinstance(model, EnergyPowerModel)
    return model.model


@cache
def _loaded(path: Path) -> PowerModel:
    return load_model(path)


def model_file(gpu_id: str, name: str) -> Path | None:
    """A file of a GPU's models, the user's own first; None when there is none of that name."""
    for folder in (user_models(), SHIPPED):
        path = f"{folder}/{gpu_id}/{name}"
        if os.path.isfile(path):  # noqa: PTH113  (each launch asks a dozen times)
            return Path(path)
    return None


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a model file. Raises `ModelFileError`, and ``OSError`` when it cannot be read."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelFileError(path, f"not valid JSON ({error})") from None
    if not isinstance(document, dict):
        raise ModelFileError(path, "not a JSON object")
    entries = cast("dict[str, Any]", document)
    if entries.get("schema_version") != SCHEMA_VERSION:
        raise ModelFileError(path, f"not of schema version {SCHEMA_VERSION}")
    return entries
