"""A translation unit's handle, and places in its files."""

from __future__ import annotations

import ctypes as ct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattslice.frontend.cuda.clang.libclang import library, text


class UnitHandle:
    """Owns a CXTranslationUnit and its index; disposes of both when the last node is gone."""

    def __init__(self, index: int, unit: int) -> None:
        self.index = index
        self.unit = unit
        self._names: dict[int, Path] = {}

    def file_name(self, file: int | None) -> Path | None:
        """The path of a CXFile; one call per file, then cached."""
        if not file:
            return None
        known = self._names.get(file)
        if known is None:
            name = text(library().clang_getFileName(file), errors="surrogateescape")  # as Python names files
            known = self._names[file] = Path(name)
        return known

    def __del__(self) -> None:
        lib = library()
        lib.clang_disposeTranslationUnit(self.unit)
        lib.clang_disposeIndex(self.index)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: line and column from 1, offset in bytes from 0; `path` None inside the compiler."""

    path: Path | None
    line: int
    column: int
    offset: int


def place_of(handle: UnitHandle, location: Any) -> Place:  # noqa: ANN401  (a CXSourceLocation)
    """The expansion place of a CXSourceLocation."""
    file, line, column, offset = ct.c_void_p(), ct.c_uint(), ct.c_uint(), ct.c_uint()
    library().clang_getExpansionLocation(
        location, ct.byref(file), ct.byref(line), ct.byref(column), ct.byref(offset)
    )
    return Place(handle.file_name(file.value), line.value, column.value, offset.value)
