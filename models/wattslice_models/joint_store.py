"""The joint model on disk: ``trained/joint/model.json``, and its held-out predictions beside it."""

from __future__ import annotations

import csv
import io
import json
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded
from wattslice_models.joint import JointModel

FOLDER = Path(__file__).parent / "trained" / "joint"
MODEL, HELD_OUT = "model.json", "held_out.csv"
SCHEMA_VERSION = 1


class HeldOutRun(Struct, frozen=True):
    """One measured run and what fits predicted that did not know its application, its board, or both.

    `timed_w`: as `application_w`, told the measured seconds; None where these are unknown.
    """

    gpu_id: str
    dataset: str
    benchmark: str
    kernel: str
    arguments: str
    core_mhz: float | None
    memory_mhz: float | None
    measured_w: float
    application_w: float
    board_w: float
    both_w: float
    timed_w: float | None


class JointFileError(ValueError):
    """A file of the joint model that is not what this program writes."""


def save_joint(folder: Path, model: JointModel, held_out: tuple[HeldOutRun, ...]) -> None:
    """Writes both files into `folder`. Raises ``OSError``."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"schema_version": SCHEMA_VERSION, "model": encoded(model)}
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    (folder / MODEL).write_text(f"{text}\n", encoding="utf-8")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = HeldOutRun.__struct_fields__
    writer.writerow(names)
    for run in held_out:
        cells = (getattr(run, name) for name in names)
        writer.writerow(
            "" if cell is None else f"{cell:g}" if isinstance(cell, float) else cell for cell in cells
        )
    (folder / HELD_OUT).write_text(stream.getvalue(), encoding="utf-8")


@cache
def joint_model(folder: Path = FOLDER) -> JointModel:
    """The joint model in `folder`. Raises `JointFileError`, ``OSError``."""
    path = folder / MODEL
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        if document["schema_version"] != SCHEMA_VERSION:
            raise ValueError(f"not of schema version {SCHEMA_VERSION}")
        return decoded(JointModel, document["model"])
    except (FrozenJsonError, KeyError, TypeError, ValueError) as error:
        raise JointFileError(f"{path}: {error}") from None


@cache
def held_out_runs(folder: Path = FOLDER) -> tuple[HeldOutRun, ...]:
    """The held-out predictions in `folder`. Raises `JointFileError`, ``OSError``."""
    path = folder / HELD_OUT
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        if tuple(next(reader, ())) != HeldOutRun.__struct_fields__:
            raise JointFileError(f"{path}: other columns than {', '.join(HeldOutRun.__struct_fields__)}")
        return tuple(
            HeldOutRun(*row[:5], *map(_number, row[5:]))  # pyright: ignore[reportCallIssue, reportArgumentType]
            for row in reader
        )


def _number(cell: str) -> float | None:
    return float(cell) if cell else None
