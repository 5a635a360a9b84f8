"""From the paths on the command line to the source files to analyse."""

from __future__ import annotations

import os
import re
from pathlib import Path

from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import Search, file_bytes, note_search
from wattslice.patterns import regex

SUFFIXES_IN_FOLDERS = (".cu",)
"""What counts as a source in a folder. Any other file (a ``.c`` kernel, PTX, a header) is named itself."""
HEADER_SUFFIX = ".cuh"
"""Headers in a folder count where they define a kernel and no source there includes them."""
_MOST_HEADER_BYTES = 4 << 20
_INCLUDED = regex(rb"^[ \t]*#[ \t]*include[ \t]*[<\"](?:[^>\"\n]*[/\\])?([^>\"/\\\n]+)[>\"]", re.M)


def is_ptx(path: str | Path) -> bool:
    """Whether a file is read as PTX; its suffix may be in capitals."""
    return str(path).lower().endswith(".ptx")


def source_files(paths: tuple[Path, ...]) -> tuple[Path, ...]:
    """Files in the order given; a folder stands for all .cu files below it, sorted. Each file once.

    Paths stay as they were written, so that reports show what the user typed. Hidden folders are skipped.
    Raises `WattsliceError`.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = readable_files(path)
        note_search(Search.SOURCES, path, (), inside)
        for file in inside:
            found.setdefault(file.resolve(), file)
    return tuple(found.values())


def readable_files(path: Path) -> tuple[Path, ...]:
    """The files that a path stands for: itself, or those below it. Raises `WattsliceError`."""
    inside = (path,)
    if path.is_dir():
        inside = _below(path)
        if not inside:
            remedy = "name the files themselves; in a folder only .cu, and .cuh with kernels, count"
            raise WattsliceError("no .cu file in this folder or below it", path=path, remedy=remedy)
    for file in inside:
        _check_readable(file)
    return inside


def _below(folder: Path) -> tuple[Path, ...]:
    files: list[Path] = []
    headers: list[Path] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        files += (Path(parent, name) for name in names if name.endswith(SUFFIXES_IN_FOLDERS))
        headers += (Path(parent, name) for name in names if name.endswith(HEADER_SUFFIX))
    files = [file for file in files if file.is_file()]
    return tuple(sorted((*files, *_alone(files, [header for header in headers if header.is_file()]))))


def _alone(files: list[Path], headers: list[Path]) -> list[Path]:
    """The headers with kernels that nobody here includes; those of the others come with who does."""
    texts = {header: _text(header) for header in headers}
    if not any(b"__global__" in text for text in texts.values()):
        return []
    included = {name for file in files for name in _INCLUDED.findall(_text(file))}
    included |= {name for text in texts.values() for name in _INCLUDED.findall(text)}
    return [
        header
        for header, text in texts.items()
        if b"__global__" in text and os.fsencode(header.name) not in included
    ]


def _text(file: Path) -> bytes:
    try:
        return file_bytes(file, _MOST_HEADER_BYTES)
    except OSError:
        return b""


def _check_readable(file: Path) -> None:
    if not file.exists():
        raise WattsliceError("no such file", path=file, remedy="check the spelling, or the folder you are in")
    if not file.is_file():
        raise WattsliceError("neither a file nor a folder", path=file, remedy="pass a source file")
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise of_system(error, "cannot be read", file, "check its permissions") from None
