"""What a model is worth on a board: how far it misses runs that it never saw there, beside the means.

The figures of the models that ship are those of docs/appendix/accuracy.md: the command that writes this
page writes ``trained/worth.json``, too. Those of a model that the user trained are of the held-out runs in
its file.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from math import fsum
from pathlib import Path

from msgspec import Struct

from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded
from wattslice_models.gpu import Gpu
from wattslice_models.learners import GENERAL, entry
from wattslice_models.store import SCHEMA_VERSION, SHIPPED, ModelFileError, load, model_file, read_document

FILE = SHIPPED / "worth.json"


class Worth(Struct, frozen=True):
    """MAPE over `runs` of a model, and of two means that know nothing of kernels, as shares of 1.

    `gpu_id`: whose runs; ``general`` for boards that the model never saw, one after another. `asked`: what
    was run there, `learnt`: what the model had learnt from, in words.
    """

    gpu_id: str
    model: str
    asked: str
    learnt: str
    runs: int
    error: float
    constant_mean: float
    clock_mean: float

    @property
    def loses_to(self) -> tuple[str, ...]:
        """Titles of the means that miss these runs by less."""
        means = (("mean", self.constant_mean), ("mean-by-clock", self.clock_mean))
        return tuple(entry(name).title for name, error in means if error < self.error)

    @property
    def loses_to_constant(self) -> bool:
        """Whether knowing nothing of kernels and clocks is nearer to these runs."""
        return self.constant_mean < self.error

    @property
    def told(self) -> str:
        """The figures and the verdict, for somebody who reads the model's answers."""
        here = "" if self.gpu_id == GENERAL else " of this board"
        where = f"On {self.asked}{here} ({self.learnt})"
        verdict = f"; it loses to the {' and the '.join(self.loses_to)}" if self.loses_to else ""
        return (
            f"{where}: the {entry(self.model).title} misses {self.runs} held-out runs by {self.error:.1%} "
            f"(MAPE), the constant mean by {self.constant_mean:.1%}, the mean at each clock "
            f"by {self.clock_mean:.1%}{verdict}"
        )


class HeldOutWatts(Struct, frozen=True):
    """A measured run and the watts that a model said which never saw it. `group`: its board and data set."""

    group: tuple[str, str]
    clocks: tuple[float | None, float | None]
    measured_w: float
    predicted_w: float


def worth(gpu_id: str, model: str, asked: str, learnt: str, runs: Iterable[HeldOutWatts]) -> Worth:
    """Errors of every group, and of its own means, every group with the same weight.

    Raises ``ValueError`` without runs.
    """
    groups: defaultdict[tuple[str, str], list[HeldOutWatts]] = defaultdict(list)
    for run in runs:
        groups[run.group].append(run)
    errors: list[tuple[float, float, float]] = []
    for group in groups.values():
        clocks: defaultdict[object, list[float]] = defaultdict(list)
        for run in group:
            clocks[run.clocks].append(run.measured_w)
        mean_w, at_clock = (
            _mean([run.measured_w for run in group]),
            {one: _mean(w) for one, w in clocks.items()},
        )
        said = ((run.measured_w, run.predicted_w, mean_w, at_clock[run.clocks]) for run in group)
        off = [tuple(abs(watts / measured - 1.0) for watts in those) for measured, *those in said]
        errors.append(tuple(_mean(column) for column in zip(*off, strict=True)))  # pyright: ignore[reportArgumentType]
    if not errors:
        raise ValueError("no held-out run")
    error, constant, by_clock = (_mean(column) for column in zip(*errors, strict=True))
    number = sum(map(len, groups.values()))
    return Worth(gpu_id, model, asked, learnt, number, error, constant, by_clock)


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values)


def worth_of(gpu: Gpu, name: str) -> Worth | None:
    """Of the model of that name that answers for a GPU; None where no held-out run can tell.

    Raises `ModelFileError`, ``OSError``.
    """
    own = model_file(gpu.id, f"{name}.json") or model_file(GENERAL, f"{name}.json")
    if own is not None and not own.is_relative_to(SHIPPED):
        return _of_file(own)
    shipped = shipped_worth()
    return shipped.get((gpu.id, name)) or shipped.get((GENERAL, name))


@cache
def _of_file(path: Path) -> Worth | None:
    """Of the held-out runs in a model's file. Readings are none: too few, and chosen by the user."""
    trained = load(path)
    runs = [
        HeldOutWatts((row.dataset, ""), (row.core_mhz, row.memory_mhz), row.measured_w, row.held_out_w)
        for row in trained.residuals
        if row.held_out_w is not None and row.dataset != "readings"
    ]
    learnt = "yours, each benchmark left out"
    return worth(path.parent.name, trained.name, "runs", learnt, runs) if runs else None


@cache
def shipped_worth() -> dict[tuple[str, str], Worth]:
    """By GPU id (or ``general``) and model. Raises `ModelFileError`, ``OSError``."""
    try:
        rows = [decoded(Worth, row) for row in read_document(FILE)["worth"]]
    except (KeyError, TypeError, FrozenJsonError) as error:
        raise ModelFileError(FILE, f"entry missing, unknown or out of range ({error})") from None
    return {(row.gpu_id, row.model): row for row in rows}


def save_worth(rows: Iterable[Worth]) -> None:
    """Writes these rows, and keeps those of other GPUs. Raises ``OSError``."""
    new = tuple(rows)
    gpu_ids = {row.gpu_id for row in new}
    kept = [row for row in shipped_worth().values() if row.gpu_id not in gpu_ids] if FILE.exists() else []
    ordered = sorted((*kept, *new), key=lambda row: (row.gpu_id, row.model))
    document = {"schema_version": SCHEMA_VERSION, "worth": [encoded(row) for row in ordered]}
    FILE.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    shipped_worth.cache_clear()
