"""What clang itself read for a unit, and where a header would have been taken instead had there been one."""

from __future__ import annotations

import ctypes as ct
import re
from pathlib import Path

from wattslice.frontend.cuda.clang.flags import FALLBACK_STUBS, STUBS
from wattslice.frontend.cuda.clang.libclang import INCLUSION_VISITOR, library
from wattslice.frontend.cuda.clang.places import UnitHandle
from wattslice.frontend.inputs import is_recording, note_file, note_text, note_unrepeatable

_ASKED = re.compile(
    rb'#[ \t]*(?:include|include_next|import)[ \t]*[<"]([^>"\n]+)[>"]'
    rb'|__has_include(?:_next)?[ \t]*\([ \t]*[<"]([^>"\n]+)[>"]'
)
_COMPUTED = re.compile(
    rb"#[ \t]*(?:include|include_next|import)[ \t]+[A-Za-z_]|__has_include\w*[ \t]*\([ \t]*\w"
)


def _visit(file: int, _stack: object, depth: int, sink: list[int]) -> None:
    if depth:  # else the file itself
        sink.append(file)


_VISIT = INCLUSION_VISITOR(_visit)


def note_unit(handle: UnitHandle, given: tuple[tuple[Path, bytes], ...], folders: tuple[Path, ...]) -> None:
    """Tell (`inputs.py`) which files a unit is made of, but for those whose text was `given` to clang.

    `folders`: where clang searched, the user's and those found, in this order.
    """
    if not is_recording():
        return
    searched = tuple(folder for folder in folders if not folder.is_relative_to(STUBS))
    for path, source in given:
        _note_names(source, path.parent, searched)
    for path, data in _entered(handle):
        if any(path == known for known, _ in given):
            continue
        stub = _stub_name(path)
        if stub is None:
            note_text(path, data)
            _note_names(data, path.parent, searched)
        else:  # a header of this name in a folder of the user comes before ours
            for folder in searched:
                _note_place(folder / stub)


def _entered(handle: UnitHandle) -> list[tuple[Path, bytes]]:
    """The files that clang included, with the bytes it saw."""
    found: list[int] = []
    library().clang_getInclusions(handle.unit, _VISIT, found)
    entered: list[tuple[Path, bytes]] = []
    for file in dict.fromkeys(found):
        path, size = handle.file_name(file), ct.c_size_t()
        address: int | None = library().clang_getFileContents(handle.unit, file, ct.byref(size))
        if path is not None:
            entered.append((path, ct.string_at(address, size.value) if address else b""))
    return entered


def _stub_name(path: Path) -> Path | None:
    """How one of our own headers is included; None for any other file."""
    for folder in (FALLBACK_STUBS, STUBS):
        if path.is_relative_to(folder):
            return path.relative_to(folder)
    return None


def _note_names(source: bytes, folder: Path, searched: tuple[Path, ...]) -> None:
    """Every place where a header that the text asks for is, or might come to be."""
    if any(_begins_line(source, m.start()) or m[0].startswith(b"__") for m in _COMPUTED.finditer(source)):
        note_unrepeatable()  # a name that macros make: nobody knows where it was looked for
    for asked in _ASKED.finditer(source):
        name = (asked[1] or asked[2]).decode("utf-8", "replace")
        for place in (folder, *searched):
            _note_place(place / name)


def _begins_line(source: bytes, position: int) -> bool:
    return not source[source.rfind(b"\n", 0, position) + 1 : position].strip(b" \t")


def _note_place(path: Path) -> None:
    try:
        note_file(path, path.is_file())
    except OSError:  # a name too long for the file system
        note_unrepeatable()
