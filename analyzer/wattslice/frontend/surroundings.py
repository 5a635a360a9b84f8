"""What lies around source files: folders, texts, links and the repository, each looked at once."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from wattslice.frontend.inputs import file_bytes, root_above

MAX_BYTES = 1 << 20
_WORD = re.compile(rb"\w+")
_MAIN = re.compile(rb"\bmain\s*\(")


class Text(NamedTuple):
    """What a file says; of one that cannot be read, nothing."""

    content: bytes
    words: frozenset[bytes]
    has_main: bool


class Surroundings:
    """The disk as it is when first asked: one for each question, or for all questions of one moment."""

    def __init__(self) -> None:
        self._resolved: dict[str, str] = {}
        self._names: dict[str, list[str]] = {}
        self._files: dict[tuple[str, frozenset[str]], list[str]] = {}
        self._texts: dict[str, Text] = {}
        self._roots: dict[str, Path] = {}
        self._below: dict[tuple[str, frozenset[str]], list[str]] = {}

    def resolved(self, path: str) -> str:
        """Where a path leads, every link followed; of a loop of links, itself."""
        known = self._resolved.get(path)
        if known is None:
            folder, name = os.path.split(path)
            if folder == path or name in ("", ".", ".."):
                known = os.path.realpath(path)
            else:
                known = os.path.join(self.resolved(folder or os.curdir), name)  # noqa: PTH118  (thousands)
                known = os.path.realpath(known) if os.path.islink(known) else known  # noqa: PTH114
            self._resolved[path] = known
        return known

    def folder_of(self, path: Path) -> str:
        """The folder that a file really lies in."""
        return os.path.dirname(self.resolved(str(path)))  # noqa: PTH120

    def listed(self, folder: str) -> list[str]:
        """What is in a folder, sorted; nothing for a file or a folder that may not be read."""
        known = self._names.get(folder)
        if known is None:
            try:
                known = sorted(os.listdir(folder))  # noqa: PTH208
            except OSError:
                known = []
            self._names[folder] = known = [os.path.join(folder, name) for name in known]  # noqa: PTH118
        return known

    def files_in(self, folder: str, suffixes: frozenset[str]) -> list[str]:
        """What ends in one of `suffixes` in a folder, sorted."""
        known = self._files.get((folder, suffixes))
        if known is None:
            known = [path for path in self.listed(folder) if os.path.splitext(path)[1] in suffixes]  # noqa: PTH122
            self._files[folder, suffixes] = known
        return known

    def repository_files(self, folder: str, suffixes: frozenset[str], most: int) -> list[str]:
        """What ends in one of `suffixes` in the repository around a folder; nothing without one, and where
        there are more than `most`.
        """
        top = root_above(Path(folder))
        if not (top / ".git").exists():
            return []
        known = self._below.get((str(top), suffixes))
        if known is None:
            known = self._below[str(top), suffixes] = []
            for number, (place, inner, _) in enumerate(os.walk(top)):
                inner[:] = sorted(name for name in inner if not name.startswith("."))
                known += self.files_in(place, suffixes)
                if len(known) > most or number > most:
                    known.clear()
                    break
        return known

    def text(self, path: str) -> Text:
        """What a file says."""
        known = self._texts.get(path)
        if known is None:
            try:
                content = file_bytes(Path(path), MAX_BYTES)
            except OSError:
                content = b""
            words = _words(content)
            known = Text(content, words, b"main" in words and _MAIN.search(content) is not None)
            self._texts[path] = known
        return known

    def repository_root(self, path: Path) -> Path:
        """The nearest folder above the file that holds `.git`, else the file's own folder."""
        folder = self.folder_of(path)
        known = self._roots.get(folder)
        if known is None:
            known = self._roots[folder] = root_above(Path(folder))
        return known


@lru_cache(maxsize=128)
def _words(data: bytes) -> frozenset[bytes]:
    """The words of a text, which the files around it ask about by one name after another."""
    return frozenset(_WORD.findall(data))
