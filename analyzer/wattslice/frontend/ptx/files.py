"""The source files that a PTX file names (`.file`): where they lie, and whether they may be read.

A PTX may come from anybody, and what it names is quoted in reports. So only sources are opened, and only
those below the folder of the PTX, the repository around it, and the working folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from wattslice.frontend.cuda.clang.includes import repository_root
from wattslice.frontend.inputs import note_file
from wattslice.frontend.ptx.syntax.syntax import SourceFile

SUFFIXES = frozenset(
    (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx", ".inl", ".inc")
)
"""In small letters; files of another kind are neither read nor quoted."""

MAX_BYTES = 32 << 20
"""The largest source that is read."""


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """`paths`: by number, as reports name them; of a file that is not there, where it would be.

    `barred`: those that are there, and are not opened.
    """

    paths: dict[int, str]
    barred: frozenset[int]


def named_files(files: Iterable[SourceFile], ptx: Path, moved: tuple[Path, Path] | None = None) -> NamedFiles:
    """Where the files of a PTX lie: under the path written, taken from the folder of `ptx`, else beside it.

    `moved`: what is written to lie below the first folder lies below the second.
    """
    folders = [Path(os.path.realpath(folder)) for folder in (ptx.parent, Path.cwd())]
    folders.append(repository_root(ptx))
    paths: dict[int, str] = {}
    barred: set[int] = set()
    for file in files:
        path = _found(file.path, ptx, folders, moved)
        if path is None:
            barred.add(file.number)
        paths[file.number] = file.path if path is None else _shown(path)
    return NamedFiles(paths, frozenset(barred))


def _found(written: str, ptx: Path, folders: list[Path], moved: tuple[Path, Path] | None) -> Path | None:
    """None when only what may not be opened is there."""
    is_there = False
    for path in _places(written, ptx, moved):
        is_file = os.path.isfile(path)  # noqa: PTH113  (a path of any length, or with a null byte, is none)
        note_file(path, is_file)
        if is_file and _is_admitted(path, folders):
            return path
        is_there |= os.path.lexists(path)
    return None if is_there else next(_places(written, ptx, moved))


def _places(written: str, ptx: Path, moved: tuple[Path, Path] | None) -> Iterator[Path]:
    path = ptx.parent / written
    if moved is not None and path.is_relative_to(moved[0]):
        path = moved[1] / path.relative_to(moved[0])
    yield path
    yield ptx.parent / PurePath(written).name


def _is_admitted(path: Path, folders: list[Path]) -> bool:
    if path.suffix.lower() not in SUFFIXES:
        return False
    try:
        real = Path(os.path.realpath(path))
        is_small = real.stat().st_size <= MAX_BYTES
    except OSError:
        return False
    return is_small and real.suffix.lower() in SUFFIXES and any(map(real.is_relative_to, folders))


def _shown(path: Path) -> str:
    if ".." in path.parts:
        path = Path(os.path.realpath(path))
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
