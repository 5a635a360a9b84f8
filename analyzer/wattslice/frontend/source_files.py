"""The source files under a root as one analysis sees them.

One `SourceFiles` belongs to the parse of one file: in it every file has one content. What costs more than a
look at time stamps, the listing of a root and the `#include` lines of every file in it, is kept for the
process, and used again where no stamp has changed: a process that lives long sees a new header. Stamps are
looked at again five seconds after the last time, since a repository has thousands, and many files want them.
"""

from __future__ import annotations

import functools
import math
import os
import re
import time
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from wattslice.frontend.inputs import Search, file_bytes, note_search, note_text, note_unrepeatable, open_text
from wattslice.patterns import regex

SUFFIXES = frozenset(
    (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc")
)
"""Of sources and headers, in small letters; files of another kind are neither read nor quoted."""
_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"))
_MOST_FILES = 20_000
_MOST_FOLDERS = 10_000
_MOST_SEARCHED = 2_000
_MOST_BYTES = 2_000_000
MAX_BYTES = 32 << 20
"""The largest source that is read."""
_MOST_ROOTS = 8
# Two changes within a tick of the file system's clock have one stamp: a younger stamp proves nothing.
_TICK_NS = 20_000_000
_FRESH_S = 5.0
# Without an anchor, which would try every line: whether only blanks stand before it is looked at afterwards.
_INCLUDE = regex(rb'#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]')


def included_names(source: bytes) -> tuple[str, ...]:
    """The names in the `#include` lines of a text, switched-off ones too."""
    found = (
        match[1].decode("utf-8", "replace")
        for match in _INCLUDE.finditer(source)
        if not source[source.rfind(b"\n", 0, match.start()) + 1 : match.start()].strip(b" \t")
    )
    return tuple(dict.fromkeys(found))


@functools.lru_cache(maxsize=8192)
def _base_name(name: str) -> str:
    return PurePosixPath(name).name


class SourceFiles:
    """The files below `root` (resolved; at most 20 000 in 10 000 folders), each read at most once.

    `asked` is the file that is analysed and `source` its bytes, which may be newer than the disk.
    """

    def __init__(self, root: Path, asked: Path, source: bytes) -> None:
        self.root = root.resolve()
        self._asked = asked
        self._texts: dict[Path, bytes] = {asked: source}
        self._included: dict[Path, tuple[str, ...]] = {}
        self._resolved: dict[Path, Path] = {}

    def text_of(self, path: Path) -> bytes:
        """The bytes of a source file; empty if it cannot be read, is a device, or is over 32 MiB."""
        known = self._texts.get(path)
        if known is None:
            is_asked = path.name == self._asked.name and self.is_same(path, self._asked)
            known = self._texts[path] = self._texts[self._asked] if is_asked else _read(path)
            note_text(path, known)
        return known

    def included_by(self, path: Path) -> tuple[str, ...]:
        """The names in the `#include` lines of a file."""
        known = self._included.get(path)
        if known is None:
            known = self._included[path] = included_names(self.text_of(path))
        return known

    def is_same(self, left: Path, right: Path) -> bool:
        """Whether two paths name one file."""
        return left == right or self._resolve(left) == self._resolve(right)

    def _resolve(self, path: Path) -> Path:
        known = self._resolved.get(path)
        if known is None:
            known = self._resolved[path] = Path(os.path.realpath(path))  # a loop of links is itself
        return known

    @functools.cached_property
    def _listing(self) -> _Listing:
        known = _listings.get(self.root)
        if known is None or not (known.is_fresh() or known.is_current()):
            while len(_listings) >= _MOST_ROOTS:
                del _listings[next(iter(_listings))]
            known = _listings[self.root] = _list(self.root)
        return known

    def named(self, name: str) -> tuple[Path, ...]:
        """The source files of this name below the root."""
        found = tuple(map(Path, self._listing.by_name.get(name, ())))
        note_search(Search.NAMED, self.root, (name,), found)
        return found

    def includers_of(self, name: str) -> tuple[Path, ...]:
        """The files below the root with an `#include` of this file name, whatever its folder."""
        found = tuple(map(Path, self._includers.get(name, ())))
        note_search(Search.INCLUDERS, self.root, (name,), found)
        return found

    @functools.cached_property
    def _includers(self) -> dict[str, list[str]]:
        return self._listing.includers()


FileState = tuple[int, int, int] | None
"""Inode, time of change and size; None where there is nothing."""


def file_state(path: Path | str) -> FileState:
    """What changes when a file is written anew."""
    try:
        found = os.stat(path)  # noqa: PTH116  (hundreds of them, twice a second)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


class Stamp(NamedTuple):
    """What changes with a file or with the names in a folder; `changed_ns` None: too young to rely on."""

    changed_ns: int | None
    size_bytes: int

    @classmethod
    def of(cls, path: Path | str) -> Stamp:
        """Raises OSError."""
        if (text := open_text(path)) is not None:
            return cls(None, len(text))
        now_ns = time.time_ns()
        found = os.stat(path)  # noqa: PTH116  (thousands)
        young = found.st_mtime_ns > now_ns - _TICK_NS
        return cls(None if young else found.st_mtime_ns, found.st_size)

    def holds_for(self, path: Path | str) -> bool:
        """Whether the file is as it was when it was stamped."""
        try:
            return self.changed_ns is not None and self == Stamp.of(path)
        except OSError:
            return False


class _Listing:
    """The source files under a root in a stable order, and the folders they were listed from: thousands."""

    def __init__(self, files: tuple[str, ...], folders: tuple[tuple[str, Stamp], ...]) -> None:
        self.files = files
        self._folders = folders
        self._base_names: dict[str, tuple[Stamp, frozenset[str]]] = {}
        self._includers: dict[str, list[str]] | None = None
        self.looked_s = time.monotonic()
        self.by_name: dict[str, list[str]] = {}
        for path in files:
            self.by_name.setdefault(path.rpartition(os.sep)[2], []).append(path)

    def is_fresh(self) -> bool:
        """Whether stamps were looked at so lately that there is no need to do it again."""
        return time.monotonic() < self.looked_s + _FRESH_S

    def is_current(self) -> bool:
        """Whether no folder has gained or lost a name since."""
        self.looked_s, self._includers = time.monotonic(), None
        return all(stamp.holds_for(folder) for folder, stamp in self._folders)

    def includers(self) -> dict[str, list[str]]:
        """The files that include a file of a name, whatever its folder."""
        if self._includers is None:
            self._includers = {}
            for path in self.files:
                for name in self._base_names_in(path):
                    self._includers.setdefault(name, []).append(path)
        return self._includers

    def _base_names_in(self, path: str) -> frozenset[str]:
        """The last parts of the names that a file includes; nothing for one that is unreadable or large."""
        try:
            stamp = Stamp.of(path)
            known = self._base_names.get(path)
            if known is None or stamp.changed_ns is None or known[0] != stamp:
                source = file_bytes(path, _MOST_BYTES) if stamp.size_bytes <= _MOST_BYTES else b""
                names = frozenset(map(_base_name, included_names(source)))
                known = self._base_names[path] = (stamp, names)
        except OSError:
            return frozenset()
        return known[1]


_listings: dict[Path, _Listing] = {}


def look_again() -> None:
    """Whoever must not be told what was true some seconds ago calls this first."""
    for listing in _listings.values():
        listing.looked_s = -math.inf


def mentions(root: Path, word: str) -> bool:
    """Whether a source below a folder holds a word; also where there are too many to look."""
    found = re.compile(rf"\b{re.escape(word)}\b".encode())
    files = _list(root).files
    if len(files) > _MOST_SEARCHED:
        return True
    for path in map(Path, files):
        text = _read(path)
        if found.search(text):
            note_text(path, text)
            return True
    note_unrepeatable()  # any new file may
    return False


def _list(root: Path) -> _Listing:
    """List the sources under a folder; symbolic links are not followed, unreadable folders are skipped."""
    found: list[str] = []
    folders: list[tuple[str, Stamp]] = []
    waiting = [str(root)]
    while waiting and len(found) < _MOST_FILES and len(folders) <= _MOST_FOLDERS:
        folder = waiting.pop()
        try:
            stamp = Stamp.of(folder)
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError:  # gone while it was listed
            continue
        folders.append((folder, stamp))
        inner: list[str] = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                inner += [] if entry.name in _SKIPPED else [entry.path]
            elif os.path.splitext(entry.name)[1] in SUFFIXES and not (  # noqa: PTH122
                entry.is_symlink() and os.path.isdir(entry)  # noqa: PTH112
            ):
                found.append(entry.path)
        waiting += reversed(inner)
    return _Listing(tuple(found[:_MOST_FILES]), tuple(folders))


def _read(path: Path) -> bytes:
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return b""
        return file_bytes(path, MAX_BYTES)
    except OSError:
        return b""


# ---------------------------------------------------------------------------
# Finding headers and including files in the repository around a source file.


_UNITS = frozenset((".cu", ".c", ".cc", ".cpp", ".cxx"))
_MOST_HOPS = 3


def find_header(name: str, source: Path, files: SourceFiles) -> Path | None:
    """The folder to search so that `#include "name"` succeeds, nearest to the source, or None."""
    wanted = tuple(
        part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("..", ".", "/")
    )
    if not wanted:
        return None
    matches = [p for p in files.named(wanted[-1]) if p.parts[-len(wanted) :] == wanted]
    if not matches:
        return None
    best = min(matches, key=lambda p: _distance(p, source))
    folder = best.parents[len(wanted) - 1]
    ups = PurePosixPath(name).parts.count("..")
    return folder / "/".join(["_"] * ups) if ups else folder


def including_units(source: Path, files: SourceFiles) -> tuple[Path, ...]:
    """The translation units that include this file, directly or over headers, nearest first."""
    units: list[Path] = []
    seen = {source}
    front = [source]
    for _ in range(_MOST_HOPS):
        above = [p for included in front for p in files.includers_of(included.name) if p not in seen]
        seen.update(above)
        units.extend(sorted((p for p in above if p.suffix in _UNITS), key=lambda p: _distance(p, source)))
        front = above
        if units or not front:
            break
    return tuple(dict.fromkeys(units))


def _distance(candidate: Path, source: Path) -> tuple[int, int, str]:
    """Nearer first: most shared folders, then least depth."""
    shared = len(Path(os.path.commonpath((candidate, source.parent))).parts)
    return (-shared, len(candidate.parts), str(candidate))
