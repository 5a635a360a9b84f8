"""What lies around source files: folders, texts, links and the repository, each looked at once."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from wattslice.frontend.inputs import file_bytes, root_above
from wattslice.frontend.source_files import Stamp
from wattslice.patterns import regex

MAX_BYTES = 1 << 20
_MOST_KEPT = 256
_MOST_KEPT_FOLDERS = 4096
_MOST_SEARCHES = 32
"""Searches of a text for one word each, from which on its words are collected."""
_WORD = regex(rb"\w+")
_MAIN = regex(rb"main\s*\(")


class Text:
    """What a file says; of one that cannot be read, nothing."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._searches = 0

    @cached_property
    def has_main(self) -> bool:
        """Whether it has a `main`, or calls one."""
        return any(_MAIN.match(self.content, at) is not None for at in places_of(b"main", self.content))

    @cached_property
    def _words(self) -> frozenset[bytes]:
        return frozenset(_WORD.findall(self.content))

    def has_any(self, words: frozenset[bytes]) -> bool:
        """Whether it has one of these words. To search for a few is cheaper than to know all words."""
        self._searches += len(words)
        if self._searches > _MOST_SEARCHES:
            return not words.isdisjoint(self._words)
        return any(True for word in words for _ in places_of(word, self.content))


def places_of(word: bytes, text: bytes) -> Iterator[int]:
    """Where a word begins in a text, as no part of another one."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not (_is_of_word(text[at - 1 : at]) or _is_of_word(text[end : end + 1])):
            yield at
        at = text.find(word, at + 1)


def _is_of_word(character: bytes) -> bool:
    return character.isalnum() or character == b"_"


class Folder(NamedTuple):
    """The paths of what is in a folder, sorted: files by suffix, folders. A link may be both."""

    files: dict[str, tuple[str, ...]]
    folders: tuple[str, ...]
    links: frozenset[str]


class Surroundings:
    """The disk as it is when first asked: one for each question, or for all questions of one moment."""

    def __init__(self) -> None:
        self._resolved: dict[str, str] = {}
        self._folders: dict[str, Folder] = {}
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

    def listed(self, folder: str) -> Folder:
        """What is in a folder; nothing where there is none, or it may not be read."""
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = _folder_of(folder)
        return known

    def files_in(self, folder: str, suffixes: Collection[str]) -> list[str]:
        """The files in a folder whose names end in one of `suffixes`, sorted."""
        files = self.listed(folder).files
        return sorted(path for suffix in suffixes for path in files.get(suffix, ()))

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
            waiting, number = [str(top)], 0
            while waiting:
                place = waiting.pop()
                known += self.files_in(place, suffixes)
                if max(len(known), number) > most:
                    known.clear()
                    break
                number += 1
                inner, hidden = self.listed(place), os.path.join(place, ".")  # noqa: PTH118
                waiting += (
                    path
                    for path in reversed(inner.folders)
                    if not path.startswith(hidden) and path not in inner.links
                )
        return known

    def text(self, path: str) -> Text:
        """What a file says."""
        known = self._texts.get(path)
        if known is None:
            known = self._texts[path] = _text_of(path)
        return known

    def repository_root(self, path: Path) -> Path:
        """What `root_above` finds for the folder of a file."""
        folder = self.folder_of(path)
        known = self._roots.get(folder)
        if known is None:
            known = self._roots[folder] = root_above(Path(folder))
        return known


_kept: dict[str, tuple[Stamp, Text]] = {}
"""Texts last asked for: the files of a folder all ask about the same others."""
_kept_folders: dict[str, tuple[Stamp, Folder]] = {}
"""Folders last listed, which all files around them ask about."""


def _folder_of(path: str) -> Folder:
    kept = _kept_folders.get(path)
    if kept is not None and kept[0].holds_for(path):
        return kept[1]
    files: dict[str, list[str]] = {}
    try:
        stamp = Stamp.of(path)
        with os.scandir(path) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
        inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False) or entry.is_symlink()]
        links = frozenset(entry.path for entry in inner if entry.is_symlink())
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                files.setdefault(os.path.splitext(entry.name)[1], []).append(entry.path)  # noqa: PTH122
    except OSError:
        return Folder({}, (), frozenset())
    by_suffix = {suffix: tuple(paths) for suffix, paths in files.items()}
    found = Folder(by_suffix, tuple([entry.path for entry in inner]), links)
    if len(_kept_folders) >= _MOST_KEPT_FOLDERS:
        _kept_folders.clear()
    _kept_folders[path] = stamp, found
    return found


def _text_of(path: str) -> Text:
    kept = _kept.get(path)
    if kept is not None and kept[0].holds_for(path):
        return kept[1]
    try:
        stamp = Stamp.of(path)
        content = file_bytes(Path(path), MAX_BYTES)
    except OSError:
        return Text(b"")
    found = Text(content)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[path] = stamp, found
    return found
