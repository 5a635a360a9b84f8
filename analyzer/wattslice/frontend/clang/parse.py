"""One call into libclang: a file and flags in, a unit or None out."""

from __future__ import annotations

import ctypes as ct
import os
from pathlib import Path

from wattslice.frontend.clang.cursors import UnitHandle
from wattslice.frontend.clang.libclang import CXUnsavedFile, library


def raw_parse(
    path: Path, flags: tuple[str, ...], options: int, unsaved: tuple[tuple[Path, bytes], ...] = ()
) -> UnitHandle | None:
    """Parse once. None when libclang gives no unit at all (it crashed, or cannot read a PCH)."""
    lib = library()
    arguments = (ct.c_char_p * len(flags))(*(os.fsencode(flag) for flag in flags))
    files = (CXUnsavedFile * len(unsaved))(
        *(CXUnsavedFile(os.fsencode(name), content, len(content)) for name, content in unsaved)
    )
    # excludeDeclarationsFromPCH: the root lists only this unit's declarations, and template instances too.
    index: int = lib.clang_createIndex(1, 0)
    unit = ct.c_void_p()
    status: int = lib.clang_parseTranslationUnit2(
        index, os.fsencode(path), arguments, len(flags), files, len(unsaved), options, ct.byref(unit)
    )
    if status != 0 or not unit.value:
        lib.clang_disposeIndex(index)
        return None
    return UnitHandle(index, unit.value)
