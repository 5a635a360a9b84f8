"""The disk and the program as they are now, to compare with what a kept answer was made of.

Imports the standard library and what needs nothing else: an answer that holds waits for no more.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from wattslice.config.sources import readable_files
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import (
    Inputs,
    Search,
    SearchInput,
    TextInput,
    digest_of_paths,
    digest_of_text,
    file_bytes,
)
from wattslice.frontend.neighbours import (
    caller_files,
    definition_files,
    launcher_files,
    linking_files,
    sharing_files,
)
from wattslice.frontend.project.settings_files import settings_files
from wattslice.frontend.source_files import SourceFiles, look_again
from wattslice.frontend.surroundings import Surroundings

_BESIDE = {
    Search.CALLERS: caller_files,
    Search.DEFINITIONS: definition_files,
    Search.LAUNCHERS: launcher_files,
    Search.LINKING: linking_files,
    Search.SHARING: sharing_files,
}


class CurrentInputs:
    """The disk as it is now. Every file is read and every search made at most once: use it for one run.

    Contents are compared, not time stamps: a checkout or a copy changes stamps without changing a letter, and
    two edits within a tick of the clock change a letter without changing stamps.
    """

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._answers: dict[tuple[Search, str, tuple[str, ...]], str] = {}
        self._roots: dict[str, SourceFiles] = {}
        self._around = Surroundings()
        look_again()

    def hold(self, inputs: Inputs) -> bool:
        """Whether an analysis now would see the very same."""
        return (
            all(self.digest(text.path) == text.sha256 for text in inputs.texts)
            and all(os.path.isfile(path) for path in inputs.present)  # noqa: PTH113  (thousands of them)
            and not any(os.path.isfile(path) for path in inputs.absent)  # noqa: PTH113
            and all(self._answer(search) == search.answer for search in inputs.searches)
        )

    def digest(self, path: str) -> str:
        """The digest of a file's content, of nothing where it cannot be read."""
        known = self._digests.get(path)
        if known is None:
            try:
                content = file_bytes(Path(path))
            except OSError:
                content = b""
            known = self._digests[path] = digest_of_text(content)
        return known

    def _answer(self, asked: SearchInput) -> str:
        question = (asked.search, asked.about, asked.names)
        known = self._answers.get(question)
        if known is None:
            known = self._answers[question] = digest_of_paths(self._found(asked))
        return known

    def _found(self, asked: SearchInput) -> tuple[Path, ...]:
        about = Path(asked.about)
        if asked.search is Search.ROOT:
            return (self._around.repository_root(about),)
        if asked.search is Search.SOURCES:
            return _sources(about)
        if asked.search is Search.FOLDER:
            return (about,) if os.path.isdir(about) else ()  # noqa: PTH112  (a name that is too long is none)
        if asked.search is Search.SETTINGS:
            return settings_files(about)
        if asked.search is Search.LINK:
            return (Path(os.path.realpath(about)),)
        if asked.search in _BESIDE:
            return _BESIDE[asked.search](about, frozenset(asked.names), self._around)
        files = self._roots.get(asked.about)
        if files is None:
            files = self._roots[asked.about] = SourceFiles(about, about, b"")
        ask = files.named if asked.search is Search.NAMED else files.includers_of
        return tuple(path for name in asked.names for path in ask(name))


def _sources(path: Path) -> tuple[Path, ...]:
    try:
        return readable_files(path)
    except WattsliceError:
        return ()


def inputs_document(inputs: Inputs) -> object:
    """As JSON takes it."""
    searches = [[search.search.value, *search[1:]] for search in inputs.searches]
    return {**inputs._asdict(), "searches": searches}


def read_inputs(document: object) -> Inputs:
    """What `inputs_document` made. Raises ValueError for anything else."""
    if not isinstance(document, dict):
        raise ValueError("no inputs")
    entries = cast("dict[str, list[list[object]]]", document)
    try:
        texts, present, absent, searches = (entries[name] for name in Inputs._fields)
        found = Inputs(
            tuple(TextInput(_text(path), _text(digest)) for path, digest in texts),
            tuple(map(_text, present)),
            tuple(map(_text, absent)),
            tuple(
                SearchInput(
                    Search(kind), _text(about), tuple(map(_text, cast("list[object]", names))), _text(answer)
                )
                for kind, about, names, answer in searches
            ),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(str(error)) from None
    if len(entries) != len(Inputs._fields):
        raise ValueError("more than inputs")
    return found


def _text(value: object) -> str:
    if type(value) is not str:
        raise ValueError(f"{value!r} is no text")
    return value


# ---------------------------------------------------------------------------
# The program itself.

_PACKAGES = ("wattslice", "wattslice_models")
_LIBRARIES = ("clang", "click", "msgspec", "numpy", "rich")
_PICTURES = (".png", ".svg", ".pyc")


def program_folders() -> tuple[Path, ...]:
    """The packages that decide what an analysis says. They lie beside each other, or each in its own root."""
    own = Path(__file__).parents[2]
    entries = (own.parent, *map(Path, sys.path))
    return tuple(
        next((entry / name for entry in entries if (entry / name / "__init__.py").is_file()), own)
        for name in _PACKAGES
    )


def files_below(folder: Path) -> Iterator[tuple[str, str]]:
    """(path below the folder, file) in a stable order; neither pictures nor what Python makes of modules."""
    begin = len(str(folder)) + 1
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            if not name.endswith(_PICTURES):
                path = f"{parent}{os.sep}{name}"
                yield path[begin:], path


@functools.cache
def installation_stamp() -> str:
    """A digest of Python, of what is installed, and of the program's files (`stamp_of`): once per process."""
    libraries = (
        # one that came, went or changed its version changes the folder
        f"{folder} {os.stat(folder).st_mtime_ns}"  # noqa: PTH116
        for folder in sys.path
        if any(os.path.isdir(os.path.join(folder, library)) for library in _LIBRARIES)  # noqa: PTH112,PTH118
    )
    parts = [sys.version, sys.executable, *libraries, *map(stamp_of, program_folders())]
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def stamp_of(folder: Path) -> str:
    """A digest of size, time stamps and place of every file below a folder.

    Equal stamps mean that nothing was changed on this machine since; equal programs may differ in it. Not
    for the sources that are analysed: the kernel's stamp of a change (ctime) is no one's to set, but it has
    the resolution of a clock tick, and only those who edit wattslice itself save twice within one.
    """
    parts: list[str] = []
    waiting = [str(folder)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__":
                    waiting.append(entry.path)
            else:
                found = entry.stat()
                parts.append(
                    f"{entry.path} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"
                )
    parts.sort()
    return hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()
