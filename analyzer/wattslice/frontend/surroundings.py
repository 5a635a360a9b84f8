"""What lies around source files: folders, texts, links and the repository, each looked at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from wattslice.frontend.inputs import file_bytes, root_above
from wattslice.frontend.source_files import Stamp
from wattslice.patterns import regex

MAX_BYTES = 1 << 20
_MOST_KEPT = 256
_WORD = regex(rb"\w+")
_MAIN = regex(rb"\bmain\s*\(")


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
            known = self._texts[path] = _text_of(path)
        return known

    def repository_root(self, path: Path) -> Path:
        """The nearest folder above the file that holds `.git`, else the file's own folder."""
        folder = self.folder_of(path)
        known = self._roots.get(folder)
        if known is None:
            known = self._roots[folder] = root_above(Path(folder))
        return known


_kept: dict[str, tuple[Stamp, Text]] = {}
"""Texts last asked for: the files of a folder all ask about the same others."""


def _text_of(path: str) -> Text:
    file, kept = Path(path), _kept.get(path)
    if kept is not None and kept[0].holds_for(file):
        return kept[1]
    try:
        stamp = Stamp.of(file)
        content = file_bytes(file, MAX_BYTES)
    except OSError:
        return Text(b"", frozenset(), has_main=False)
    words = frozenset(_WORD.findall(content))
    found = Text(content, words, b"main" in words and _MAIN.search(content) is not None)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[path] = stamp, found
    return found
