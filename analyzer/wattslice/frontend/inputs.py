"""What an analysis read from the disk, and where it looked in vain: told by whoever reads, kept by the cache.

An answer of the cache is as good as a new analysis only while everything the analysis saw is as it was. So
whoever opens a file, asks whether there is one, or searches a folder says so here. Without a recording this
costs nothing. Nothing but the standard library is imported: an answer of the cache waits for no more.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 64 << 20
"""No file that is read whole is larger."""


def file_bytes(path: Path | str, most_bytes: int = MOST_BYTES) -> bytes:
    """The content of a regular file, as far as it is of a reasonable size; of `open_texts` as they are there.

    Raises OSError, also for what never ends (a pipe, a device) or is larger than `most_bytes`.
    """
    if (known := open_text(path)) is not None:
        return known
    _check_regular(os.stat(path), path)  # noqa: PTH116  (thousands)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(descriptor)
        _check_regular(status, path)  # it may have been changed for another one
        content = b""
        while piece := os.read(descriptor, min(max(status.st_size, 1 << 16), most_bytes - len(content)) + 1):
            content += piece  # /proc says 0 of files that have something in them
            if len(content) > most_bytes:
                raise OSError(errno.EFBIG, f"larger than {most_bytes >> 20} MiB", str(path))
    finally:
        os.close(descriptor)
    return content


def _check_regular(status: os.stat_result, path: Path | str) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "no regular file", str(path))


_open_texts: ContextVar[tuple[tuple[Path, bytes], ...]] = ContextVar("open texts", default=())


@contextmanager
def reading_open_texts(texts: tuple[tuple[Path, bytes], ...]) -> Generator[None]:
    """Files (resolved) that an editor holds and has not saved are read as they are there in this thread."""
    token = _open_texts.set(texts)
    try:
        yield
    finally:
        _open_texts.reset(token)


def open_texts() -> tuple[tuple[Path, bytes], ...]:
    """What is read from memory, and where it will be saved."""
    return _open_texts.get()


def open_text(path: Path | str) -> bytes | None:
    """One of `open_texts`."""
    texts = _open_texts.get()
    return next((text for file, text in texts if str(file) == os.path.realpath(path)), None)


class Search(Enum):
    """A question about many files at once. `pipeline/cache/` asks the same questions again."""

    ROOT = "root"  # the repository around a file
    NAMED = "named"  # the source files of a name below a root
    INCLUDERS = "includers"  # the files below a root that include a name
    CALLERS = "callers"  # the files beside a file that call functions
    DEFINITIONS = "definitions"  # the files beside a file that define functions or variables
    LAUNCHERS = "launchers"  # the files beside a file that include it and launch kernels
    LINKING = "linking"  # the files beside a file that may launch kernels which they only declare
    SHARING = "sharing"  # the files beside a file that may call and launch what it does
    SOURCES = "sources"  # the files to analyse that a path stands for
    FOLDER = "folder"  # the folder itself, where there is one
    SETTINGS = "settings"  # the files of a folder that may say how programs are run
    LINK = "link"  # where a path leads


class TextInput(NamedTuple):
    """A file whose content counted. `sha256` of its bytes, or of nothing if it could not be read."""

    path: str
    sha256: str


class SearchInput(NamedTuple):
    """A search: what was asked `about` which file or folder, and `answer`, a digest of the paths found."""

    search: Search
    about: str
    names: tuple[str, ...]
    answer: str


class Inputs(NamedTuple):
    """Everything one analysis saw. `present`, `absent`: where a file was looked for, and was or was not."""

    texts: tuple[TextInput, ...]
    present: tuple[str, ...]
    absent: tuple[str, ...]
    searches: tuple[SearchInput, ...]


def digest_of_text(content: bytes) -> str:
    """The digest that `TextInput` keeps."""
    return hashlib.sha256(content).hexdigest()


def digest_of_paths(found: Iterable[Path]) -> str:
    """The digest that `SearchInput` keeps of an answer."""
    return hashlib.sha256("\0".join(map(str, found)).encode(errors="surrogateescape")).hexdigest()[:32]


class Recording:
    """What was told since the recording began."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._files: dict[str, bool] = {}
        self._searches: dict[tuple[Search, str, tuple[str, ...]], str] = {}
        self._unrepeatable = False

    @property
    def inputs(self) -> Inputs | None:
        """Everything told; None when the same inputs need not lead to the same result."""
        if self._unrepeatable:
            return None
        return Inputs(
            tuple(TextInput(path, digest) for path, digest in self._texts.items()),
            tuple(path for path, there in self._files.items() if there and path not in self._texts),
            tuple(path for path, there in self._files.items() if not there),
            tuple(SearchInput(*question, answer) for question, answer in self._searches.items()),
        )

    def inputs_with(self, path: str) -> Inputs | None:
        """`inputs`; None too when the file at `path` was not read, so that nothing tells when it changes."""
        return self.inputs if path in self._texts else None

    @property
    def paths(self) -> tuple[str, ...]:
        """Every file that was read or looked for."""
        return (*self._texts, *self._files)

    def text(self, path: str, digest: str) -> None:
        """A file was read. One that changes meanwhile makes the result unrepeatable."""
        self._unrepeatable |= self._texts.setdefault(path, digest) != digest

    def file(self, path: str, is_there: bool) -> None:
        """A file was looked for."""
        self._unrepeatable |= self._files.setdefault(path, is_there) != is_there

    def search(self, search: Search, about: str, names: tuple[str, ...], answer: str) -> None:
        """A search was made."""
        self._unrepeatable |= self._searches.setdefault((search, about, names), answer) != answer

    def unrepeatable(self) -> None:
        """The result depends on more than the inputs, such as the time that something took."""
        self._unrepeatable = True

    def all_of(self, inputs: Inputs | None) -> None:
        """Everything that a part of the work was made of; None: not of inputs alone."""
        if inputs is None:
            self.unrepeatable()
            return
        for text in inputs.texts:
            self.text(*text)
        for path in inputs.present:
            self.file(path, True)
        for path in inputs.absent:
            self.file(path, False)
        for search in inputs.searches:
            self.search(*search)


_current: ContextVar[Recording | None] = ContextVar("recording", default=None)


@contextmanager
def recorded() -> Generator[Recording]:
    """Gives a recording of everything told meanwhile in this thread.

    One around it is told what a part that fails was made of: whoever goes on without it does so for that.
    """
    recording, around = Recording(), _current.get()
    token = _current.set(recording)
    try:
        yield recording
    except Exception:
        if around is not None:
            around.all_of(recording.inputs)
        raise
    finally:
        _current.reset(token)


def is_recording() -> bool:
    """Whether anybody wants to know: worth asking before a costly answer."""
    return _current.get() is not None


def note_text(path: Path | str, content: bytes) -> None:
    """Somebody read a file; nothing of it if it could not be read."""
    recording = _current.get()
    if recording is not None:
        recording.text(str(path), digest_of_text(content))


def note_file(path: Path | str, is_there: bool) -> None:
    """Somebody looked whether there is a file."""
    recording = _current.get()
    if recording is not None:
        recording.file(str(path), is_there)


def note_search(search: Search, about: Path, names: tuple[str, ...], found: Iterable[Path]) -> None:
    """Somebody searched."""
    recording = _current.get()
    if recording is not None:
        recording.search(search, str(about), names, digest_of_paths(found))


def note_inputs(inputs: Inputs | None) -> None:
    """A part of the work was made of these; None: not of inputs alone."""
    recording = _current.get()
    if recording is not None:
        recording.all_of(inputs)


def note_unrepeatable() -> None:
    """The result depends on more than what was read."""
    recording = _current.get()
    if recording is not None:
        recording.unrepeatable()


def followed(path: Path | str) -> Path:
    """Where a path leads, every link on its way followed. A link may lead elsewhere the next time."""
    found = Path(os.path.realpath(path))
    if is_recording() and str(found) != os.path.normpath(path):
        note_search(Search.LINK, Path(path), (), (found,))
    return found


def is_folder(path: Path) -> bool:
    """Whether there is a folder of this name."""
    is_there = os.path.isdir(path)  # noqa: PTH112  (a name that is too long is none)
    note_search(Search.FOLDER, path, (), (path,) if is_there else ())
    return is_there


def repository_root(path: Path) -> Path:
    """What `root_above` finds for the folder of a file."""
    root = root_above(path.resolve().parent)
    note_search(Search.ROOT, path, (), (root,))
    return root


def root_above(folder: Path) -> Path:
    """The nearest of a folder (resolved) and those above it that holds `.git`; else of few that holds the
    CMakeLists.txt of a project, as archives do; else itself.
    """
    around = (folder, *folder.parents)
    root = next((place for place in around if os.path.exists(f"{place}/.git")), None)  # noqa: PTH110
    return root or next(filter(_is_project, around[:_MOST_ABOVE]), folder)


_MOST_ABOVE = 4


def _is_project(folder: Path) -> bool:
    try:
        lines = file_bytes(f"{folder}/CMakeLists.txt").splitlines()
    except OSError:
        return False
    return any(line.replace(b" ", b"")[:8].lower() == b"project(" for line in lines)
