"""What clang complains about, as values, and the two kinds of complaint that the parse can repair."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from wattslice.frontend.cuda.clang.libclang import library, text
from wattslice.frontend.cuda.clang.places import UnitHandle, place_of


class Severity(IntEnum):
    """`CXDiagnosticSeverity`."""

    IGNORED = 0
    NOTE = 1
    WARNING = 2
    ERROR = 3
    FATAL = 4


@dataclass(frozen=True, slots=True)
class ParseDiagnostic:
    """One complaint of clang; `path` None when it concerns no file. Line and column count from 1."""

    severity: Severity
    message: str
    path: Path | None
    line: int
    column: int

    @property
    def is_error(self) -> bool:
        """Whether clang may have dropped code because of it."""
        return self.severity >= Severity.ERROR


_MISSING_FILE = re.compile(r"^'(?P<name>[^']+)' file not found")


def diagnostics_of(handle: UnitHandle) -> tuple[ParseDiagnostic, ...]:
    """All complaints about a unit, in the order clang made them."""
    lib = library()
    found: list[ParseDiagnostic] = []
    for i in range(lib.clang_getNumDiagnostics(handle.unit)):
        raw = lib.clang_getDiagnostic(handle.unit, i)
        place = place_of(handle, lib.clang_getDiagnosticLocation(raw))
        found.append(
            ParseDiagnostic(
                Severity(lib.clang_getDiagnosticSeverity(raw)),
                text(lib.clang_getDiagnosticSpelling(raw)),
                place.path,
                place.line,
                place.column,
            )
        )
        lib.clang_disposeDiagnostic(raw)
    return tuple(found)


def missing_includes(diagnostics: tuple[ParseDiagnostic, ...]) -> tuple[str, ...]:
    """The names in `#include` lines that no folder has, each once, in order."""
    found = (_MISSING_FILE.match(d.message) for d in diagnostics if d.is_error)
    return tuple(dict.fromkeys(m["name"] for m in found if m is not None))
