"""Finding headers and including files in the repository around a source file; bounded and cached."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_SOURCES = frozenset(
    (".cu", ".cuh", ".h", ".hpp", ".hh", ".hxx", ".c", ".cc", ".cpp", ".cxx", ".inl", ".inc")
)
_UNITS = frozenset((".cu", ".c", ".cc", ".cpp", ".cxx"))
_SKIPPED = frozenset((".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv"))
_MOST_FILES = 20_000
_MOST_FOLDERS = 10_000
_MOST_BYTES = 2_000_000
_MOST_HEADER_BYTES = 32 << 20
_MOST_HOPS = 3
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


@functools.lru_cache(maxsize=256)
def text_of(path: Path) -> bytes:
    """The bytes of a source file, cached; empty if it cannot be read, is a device, or is over 32 MiB."""
    try:
        if not path.is_file() or path.stat().st_size > _MOST_HEADER_BYTES:
            return b""
        return path.read_bytes()
    except OSError:
        return b""


def included_names(source: bytes) -> tuple[str, ...]:
    """The names in the `#include` lines of a text, switched-off ones too."""
    return tuple(dict.fromkeys(name.decode("utf-8", "replace") for name in _INCLUDE.findall(source)))


@functools.lru_cache(maxsize=1024)
def included_by(path: Path) -> tuple[str, ...]:
    """The names in the `#include` lines of a file; cached."""
    return included_names(text_of(path))


def repository_root(path: Path) -> Path:
    """The nearest folder above the file that holds `.git`, else the file's own folder."""
    folder = path.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate
    return folder


@dataclass(frozen=True, slots=True)
class SourceTree:
    """The source files under a root, at most 20 000 of them in 10 000 folders, in a stable order."""

    root: Path
    files: tuple[Path, ...]


@functools.lru_cache(maxsize=8)
def source_tree(root: Path) -> SourceTree:
    """List the sources under a folder; symbolic links are not followed, unreadable folders are skipped."""
    found: list[Path] = []
    for number, (folder, subfolders, names) in enumerate(os.walk(root)):
        subfolders[:] = sorted(set(subfolders) - _SKIPPED)
        found.extend(Path(folder, name) for name in sorted(names) if Path(name).suffix in _SOURCES)
        if len(found) >= _MOST_FILES or number >= _MOST_FOLDERS:
            break
    return SourceTree(root, tuple(found[:_MOST_FILES]))


@functools.lru_cache(maxsize=8)
def _by_name(root: Path) -> dict[str, list[Path]]:
    table: dict[str, list[Path]] = {}
    for path in source_tree(root).files:
        table.setdefault(path.name, []).append(path)
    return table


def _distance(candidate: Path, source: Path) -> tuple[int, int, str]:
    """Nearer first: most shared folders, then least depth."""
    shared = len(Path(os.path.commonpath((candidate, source.parent))).parts)
    return (-shared, len(candidate.parts), str(candidate))


def find_header(name: str, source: Path, root: Path) -> Path | None:
    """The folder to search so that `#include "name"` succeeds, nearest to the source, or None."""
    wanted = tuple(
        part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("..", ".", "/")
    )
    if not wanted:
        return None
    matches = [p for p in _by_name(root).get(wanted[-1], ()) if p.parts[-len(wanted) :] == wanted]
    if not matches:
        return None
    best = min(matches, key=lambda p: _distance(p, source))
    folder = best.parents[len(wanted) - 1]
    ups = PurePosixPath(name).parts.count("..")
    return folder / "/".join(["_"] * ups) if ups else folder


@functools.lru_cache(maxsize=8)
def _includers(root: Path) -> dict[str, list[Path]]:
    table: dict[str, list[Path]] = {}
    for path in source_tree(root).files:
        try:
            if path.stat().st_size > _MOST_BYTES:
                continue
            names = set(_INCLUDE.findall(path.read_bytes()))
        except OSError:
            continue
        for name in names:
            table.setdefault(PurePosixPath(name.decode("utf-8", "replace")).name, []).append(path)
    return table


def including_units(source: Path, root: Path) -> tuple[Path, ...]:
    """The translation units that include this file, directly or over headers, nearest first."""
    units: list[Path] = []
    seen = {source}
    front = [source]
    for _ in range(_MOST_HOPS):
        above = [p for included in front for p in _includers(root).get(included.name, ()) if p not in seen]
        seen.update(above)
        units.extend(sorted((p for p in above if p.suffix in _UNITS), key=lambda p: _distance(p, source)))
        front = above
        if units or not front:
            break
    return tuple(dict.fromkeys(units))
