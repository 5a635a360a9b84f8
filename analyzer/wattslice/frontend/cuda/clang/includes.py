"""Finding headers and including files in the repository around a source file."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from wattslice.frontend.cuda.clang.source_files import SourceFiles
from wattslice.frontend.inputs import Search, note_search

_UNITS = frozenset((".cu", ".c", ".cc", ".cpp", ".cxx"))
_MOST_HOPS = 3


def repository_root(path: Path) -> Path:
    """The nearest folder above the file that holds `.git`, else the file's own folder."""
    folder = path.resolve().parent
    around = (candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists())
    root = next(around, folder)
    note_search(Search.ROOT, path, (), (root,))
    return root


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
