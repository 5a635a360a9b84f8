"""Asking the cache before a file is analysed, and telling it afterwards."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from wattslice.config.config import Config
from wattslice.frontend.inputs import recorded
from wattslice.pipeline.cache.current_inputs import CurrentInputs
from wattslice.pipeline.cache.entry import entry_bytes, read_entry
from wattslice.pipeline.cache.folder import CacheError, CacheFolder
from wattslice.pipeline.cache.run_key import run_key

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Keeper(Generic[Result]):
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
        return kept.result() if kept is not None and current.hold(kept.inputs) else None

    def made(self, file: Path, analyze: Callable[[], Result], is_lasting: Callable[[Result], bool]) -> Result:
        """What `analyze` gives, kept if it is lasting: one that another try would not change."""
        with recorded() as recording:
            result = analyze()
        inputs = recording.inputs
        own = None if inputs is None else next((t for t in inputs.texts if t.path == str(file)), None)
        if inputs is not None and own is not None and is_lasting(result):
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


@functools.lru_cache(maxsize=4)
def _opened(path: Path, limit_bytes: int) -> CacheFolder | None:
    """Once per process; None where the folder cannot be used, which `make_config` has told."""
    try:
        return CacheFolder(path, limit_bytes)
    except CacheError:
        return None


def keeper(config: Config, kind: type[Result]) -> Keeper[Result] | None:
    """The cache that `config` asks for; None when it asks for none, or it cannot be used."""
    if config.cache is None:
        return None
    try:
        return Keeper(config.cache, config.cache_limit_bytes, run_key(config), kind)
    except OSError:  # no folder to start from any more, a part of the program cannot be read
        return None
