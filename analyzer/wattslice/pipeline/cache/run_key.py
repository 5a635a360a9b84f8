"""What all results of one run depend on besides the files: the program itself, its numbers, the options."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import fields
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from wattslice.config.config import Config
from wattslice_models.frozen_json import encoded
from wattslice_models.gpu import load_gpu
from wattslice_models.store import user_models

_PACKAGES = ("wattslice", "wattslice_models")
_LIBRARIES = ("libclang", "numpy", "pycparser")
_PICTURES = (".png", ".svg", ".pyc")
_NOT_IN_THE_RESULT = frozenset(
    ("files", "gpu_source", "jobs", "backend", "scheduler", "cache", "cache_limit_bytes", "notes")
)


def run_key(config: Config) -> str:
    """A digest of everything but the files that decides the result of a file under `config`.

    The program (the text of every module, table and trained coefficient), its libraries and Python, the
    models that the user trained, the GPU (whose file may be the user's), every option, and the folder that
    relative paths start from. Raises OSError.
    """
    digest = hashlib.sha256()
    for part in (
        program_digest(),
        _digest_of(_files_below(user_models())),
        repr(load_gpu(config.gpu_id)),
        json.dumps(_options(config), sort_keys=True, default=str),
        os.getcwd(),  # noqa: PTH109  (a text is wanted)
    ):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def _options(config: Config) -> dict[str, object]:
    names = {field.name for field in fields(config)} - _NOT_IN_THE_RESULT
    if config.branch_profile is not None:
        names.add("files")  # a profile of one file is not taken for another of its name
    return {name: encoded(getattr(config, name)) for name in names}


@functools.cache
def program_digest() -> str:
    """A digest of this very program: equal where the same input gives the same result."""
    digest = hashlib.sha256(platform.python_version().encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {_version(library)}\0".encode())
    for package in _PACKAGES:
        spec = find_spec(package)
        for folder in () if spec is None else spec.submodule_search_locations or ():
            digest.update(_digest_of(_files_below(Path(folder))).encode())
    return digest.hexdigest()


def _version(library: str) -> str:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return ""


def _files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """(path below the folder, file) in a stable order."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if not name.endswith(_PICTURES):
                yield os.path.relpath(os.path.join(parent, name), folder), Path(parent, name)  # noqa: PTH118


def _digest_of(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
