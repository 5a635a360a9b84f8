"""Asking the cache before a file is analysed, and telling it afterwards.

A kept result is a checksum, then compressed JSON of the inputs and the result. Nothing of it is ever run, and
nothing of it is believed before the checksum has been compared: a truncated, corrupted or edited entry is
none.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice.config.config import Config, Execution
from wattslice.config.gpu_choice import GpuChoice
from wattslice.frontend.inputs import Inputs, note_inputs, recorded
from wattslice.patterns import regex
from wattslice.pipeline.cache.current import (
    CurrentInputs,
    files_below,
    inputs_document,
    installation_stamp,
    program_folders,
    read_inputs,
)
from wattslice.pipeline.cache.folder import CacheError, CacheFolder, packed, unpacked
from wattslice_models.frozen_json import FrozenJsonError, decoded, encoded
from wattslice_models.gpu import load_gpu
from wattslice_models.user_folder import user_models

Result = TypeVar("Result")


class Keeper(Struct, Generic[Result], frozen=True):
    """The cache for the files of one run. `key`: see `run_key`. `kind` of the results.

    It travels to other processes; the open folder does not.
    """

    path: Path
    limit_bytes: int
    key: str
    kind: type[Result]

    def find(self, file: Path, current: CurrentInputs) -> Result | None:
        """The result of a file as an analysis now would give it; None: analyse it."""
        name = self._name(file, current.digest(str(file)))
        folder = self._folder
        content = None if folder is None else folder.read(name)
        kept = None if content is None else read_entry(name, content, self.kind)
        result = kept.result() if kept is not None and current.hold(kept.inputs) else None
        if kept is not None and result is not None:
            note_inputs(kept.inputs)
        return result

    def made(self, file: Path, analyze: Callable[[], Result], is_lasting: Callable[[Result], bool]) -> Result:
        """What `analyze` gives, kept if it is lasting: one that another try would not change."""
        with recorded() as recording:
            result = analyze()
        inputs = recording.inputs if is_lasting(result) else None
        note_inputs(inputs)
        own = None if inputs is None else next((t for t in inputs.texts if t.path == str(file)), None)
        if inputs is not None and own is not None:
            name = self._name(file, own.sha256)
            content = entry_bytes(name, inputs, result)
            folder = self._folder
            if content is not None and folder is not None:
                folder.write(name, content)
        return result

    def trim(self) -> None:
        """Keep the folder within its bound."""
        folder = self._folder
        if folder is not None:
            folder.trim()

    @property
    def _folder(self) -> CacheFolder | None:
        return _opened(self.path, self.limit_bytes)

    def _name(self, file: Path, sha256: str) -> str:
        return hashlib.sha256(f"{self.key}\0{file}\0{sha256}".encode(errors="surrogateescape")).hexdigest()


def with_usable_cache(config: Config) -> Config:
    """The configuration; without its cache, and with a note that says why, where that cannot be used."""
    if config.execution.cache is None:
        return config
    try:
        CacheFolder(config.execution.cache, config.execution.cache_limit_bytes).close()
    except CacheError as error:
        return replace(
            config, execution=replace(config.execution, cache=None), notes=(*config.notes, str(error))
        )
    return config


@functools.lru_cache(maxsize=4)
def _opened(path: Path, limit_bytes: int) -> CacheFolder | None:
    """Once per process; None where the folder cannot be used, which `with_usable_cache` has told."""
    try:
        return CacheFolder(path, limit_bytes)
    except CacheError:
        return None


def keeper(config: Config, kind: type[Result]) -> Keeper[Result] | None:
    """The cache that `config` asks for; None when it asks for none, or it cannot be used."""
    cache = config.execution.cache
    if cache is None:
        return None
    try:
        return Keeper(cache, config.execution.cache_limit_bytes, run_key(config), kind)
    except OSError:  # no folder to start from any more, a part of the program cannot be read
        return None


_MAGIC = b"wattslice result 1\n"
_SHARES = frozenset(
    (
        *("probability", "probability_low", "probability_high", "occupancy"),
        *("share", "share_of_power", "time_share"),
    )
)
_MOST = sys.float_info.max
_MOST_SHARE = 1 + 1e-9  # sums of shares are rounded


class Kept(Struct, Generic[Result], frozen=True):
    """What an entry holds. The result is typed when asked for: only then it is known to be wanted."""

    inputs: Inputs
    document: object
    kind: type[Result]

    def result(self) -> Result | None:
        """The result; None when the entry is not what this version writes."""
        if not _is_possible(self.document):
            return None
        try:
            return decoded(self.kind, self.document, exact=True)
        except FrozenJsonError:
            return None


def _is_possible(document: object) -> bool:
    """Whether every number is one that an analysis may give: finite and not negative, shares up to 1.

    Only what advice saves may be negative.
    """
    waiting: list[tuple[str, object, float]] = [("", document, 0.0)]
    while waiting:
        name, value, least = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                (key, entry, -_MOST if key == "advice" else least)
                for key, entry in cast("dict[str, object]", value).items()
            ]
        elif isinstance(value, list):
            items = cast("list[object]", value)
            waiting += [(name, entry, least) for entry in items if type(entry) is not str]
        elif isinstance(value, int | float) and not (
            least <= value <= (_MOST_SHARE if name in _SHARES else _MOST)
        ):
            return False
    return True


def entry_bytes(name: str, inputs: Inputs, result: object) -> bytes | None:
    """The entry called `name`; None for a result that JSON cannot hold (infinite or not a number)."""
    document = {"name": name, "inputs": inputs_document(inputs), "result": encoded(result)}
    try:
        return packed(_MAGIC, document)
    except (TypeError, ValueError):
        return None


def read_entry(name: str, content: bytes, kind: type[Result]) -> Kept[Result] | None:
    """What `entry_bytes` made; None for anything else."""
    document = unpacked(_MAGIC, name, content) or {}
    try:
        return Kept(read_inputs(document.get("inputs")), document.get("result"), kind)
    except ValueError:
        return None


def run_key(config: Config) -> str:
    """A digest of everything but the files that decides the result of a file under `config`.

    The program (the text of every module, table and trained coefficient), its libraries and Python, the
    models that the user trained, the GPU (whose file may be the user's), every option, and the folder that
    relative paths start from. Raises OSError.
    """
    digest = hashlib.sha256()
    for part in (
        kept_program_digest(config.execution),
        _digest_of(files_below(user_models())),
        repr(load_gpu(config.gpu.gpu_id)),
        json.dumps(encoded(_deciding(config)), sort_keys=True, default=str),
        os.getcwd(),  # noqa: PTH109  (a text is wanted)
    ):
        digest.update(part.encode(errors="surrogateescape") + b"\0")
    return digest.hexdigest()


def _deciding(config: Config) -> Config:
    """`config` with a default in place of all that decides no result."""
    profiled = config.facts.branch_profile is not None
    return replace(
        config,
        files=config.files if profiled else (),  # a profile of one file is not taken for another of its name
        gpu=GpuChoice(config.gpu.gpu_id),
        settings_path=None,
        parse=replace(config.parse, is_wary=False),
        execution=Execution(),
        notes=(),
    )


def kept_program_digest(execution: Execution) -> str:
    """`program_digest`, read anew only after the installation has changed: its files are many."""
    folder = None if execution.cache is None else _opened(execution.cache, execution.cache_limit_bytes)
    if folder is None:
        return program_digest()
    name = f"program-{installation_stamp()}"
    kept = folder.read(name)
    if kept is not None and _DIGEST.fullmatch(kept):
        return kept.decode()
    digest = program_digest()
    folder.write(name, digest.encode())
    return digest


_LIBRARIES = ("libclang-", "numpy-")
_DIGEST = regex(rb"[0-9a-f]{64}")


@functools.cache
def program_digest() -> str:
    """A digest of this very program: equal where the same input gives the same result."""
    digest = hashlib.sha256(platform.python_version().encode())
    for installed in _installed():
        digest.update(f"{installed}\0".encode(errors="surrogateescape"))
    for folder in program_folders():
        digest.update(_digest_of(files_below(folder)).encode())
    return digest.hexdigest()


def _installed() -> list[str]:
    """The libraries with their versions, as installers name the folders of what they know about them."""
    names: list[str] = []
    for folder in sys.path:
        with contextlib.suppress(OSError):
            found = os.listdir(folder or ".")  # noqa: PTH208
            names += (name for name in found if name.startswith(_LIBRARIES) and name.endswith("-info"))
    return sorted(names)


def _digest_of(files: Iterable[tuple[str, str]]) -> str:
    digest = hashlib.sha256()
    for name, file in files:
        with open(file, "rb", buffering=0) as opened:  # noqa: PTH123  (hundreds of them)
            content = opened.read()
        digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        digest.update(content)
    return digest.hexdigest()
