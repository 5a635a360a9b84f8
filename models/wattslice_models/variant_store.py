"""What measured variants of a kernel taught, on disk: ``<gpu>/variants/<file>.<kernel>.json``.

`wattslice train --variants` writes it into the user's data folder, and nowhere else is it looked for: no
repository brings figures of its own. It corrects the very predictions that it was learnt on: those of the
same model with the same coefficients, clocks and version of the program.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from msgspec import Struct

from wattslice_models.execution_time import Clocks
from wattslice_models.frozen_json import decoded, encoded
from wattslice_models.gpu import Gpu
from wattslice_models.store import SCHEMA_VERSION, DataFile, ModelFileError, power_model, read_document
from wattslice_models.user_folder import user_models
from wattslice_models.variant_residual import Taught

_FOLDER = "variants"


class StoredVariants(Struct, frozen=True):
    """What the variants in the table `data` taught about `kernel` of a source file named `file`.

    `board`: the name of the one that they were measured on, empty where nobody told. `predicted_with`: what
    `prediction_stamp` said of the predictions that it corrects. `words` and `uses` tell the kernel by its
    text, which the values of the `macros` of variants do not change; `values`: what its arrays held
    (`KernelAnalysis.data`).
    """

    file: str
    kernel: str
    board: str
    predicted_with: str
    macros: tuple[str, ...]
    words: tuple[str, ...]
    uses: str
    values: str
    data: DataFile
    taught: Taught


@cache
def prediction_stamp(gpu: Gpu, model: str, clocks: Clocks, version: str) -> str:
    """A hash of all that predictions come of, but for the source. Raises `ModelFileError`."""
    made_of = (gpu, model, power_model(gpu, model), clocks, version)
    return hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def variants_file(folder: Path, file: str, kernel: str) -> Path:
    """Where what variants of `kernel` taught is kept, below the models of a GPU in `folder`."""
    return folder / _FOLDER / _name(file, kernel)


def save_variants(folder: Path, stored: StoredVariants) -> Path:
    """Write it below the models of a GPU in `folder`. Raises ``OSError`` when it cannot be written."""
    path = variants_file(folder, stored.file, stored.kernel)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"schema_version": SCHEMA_VERSION, "variants": encoded(stored)}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def stored_variants(gpu_id: str, file: str, kernel: str) -> StoredVariants | None:
    """What the user's variants of `kernel` in a file of that name taught; None: none were measured.

    Raises `ModelFileError`.
    """
    return variants_in(user_models() / gpu_id, file, kernel)


def variants_in(folder: Path, file: str, kernel: str) -> StoredVariants | None:
    """Those below the models of a GPU in `folder`, as `stored_variants` has them."""
    path = variants_file(folder, file, kernel)
    return _found(path) if os.path.isfile(path) else None  # noqa: PTH113  (a name that is too long is none)


def all_stored_variants(gpu_id: str) -> tuple[StoredVariants, ...]:
    """Those of every kernel, by their files; what cannot be read is passed over."""
    found: list[StoredVariants] = []
    for path in sorted((user_models() / gpu_id / _FOLDER).glob("*.json")):
        with suppress(ModelFileError):
            found.append(_found(path))
    return tuple(found)


def _name(file: str, kernel: str) -> str:
    return re.sub(r"[^\w.]", "_", f"{Path(file).name}.{kernel}.json")


def _found(path: Path) -> StoredVariants:
    return _read(path, path.stat().st_mtime_ns)


@cache
def _read(path: Path, _written: int) -> StoredVariants:
    try:
        return decoded(StoredVariants, read_document(path)["variants"])
    except (KeyError, ValueError) as error:
        raise ModelFileError(path, f"entry missing, unknown or out of range ({error})") from None
