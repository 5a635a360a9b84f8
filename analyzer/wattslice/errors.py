"""Every error that wattslice reports to a person: what is wrong, where, and what to do about it."""

from __future__ import annotations

from enum import Enum
from pathlib import Path


class Severity(Enum):
    """How much a diagnostic matters."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class WattsliceError(Exception):
    """An error with a place and a remedy; the command line prints it, nobody sees a traceback.

    `line` counts from 1 and is None when the error concerns the whole file (or no file at all).
    `remedy` is one sentence that tells the user what to change.
    """

    def __init__(
        self, message: str, *, path: Path | None = None, line: int | None = None, remedy: str = ""
    ) -> None:
        super().__init__(message)
        self.path = path
        self.line = line
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        place = "" if self.path is None else str(self.path)
        if place and self.line is not None:
            place += f":{self.line}"
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} ({self.remedy})" if self.remedy else text


def of_system(
    error: OSError, what: str, path: Path | None = None, remedy: str = "", *, otherwise: Path | None = None
) -> WattsliceError:
    """What the system refuses: `cannot be read: ...`; of `path`, else the file it names, else `otherwise`."""
    if path is None:
        path = Path(error.filename) if isinstance(error.filename, str) else otherwise
    return WattsliceError(f"{what}: {error.strerror or type(error).__name__}", path=path, remedy=remedy)


class FrontendError(WattsliceError):
    """A source file that cannot be read or understood at all (not: one with a few errors in it)."""

    def __init__(self, path: Path, line: int | None, message: str, remedy: str) -> None:
        super().__init__(message, path=path, line=line, remedy=remedy)


class EmptyFileError(FrontendError):
    """A source file without any text: among several it is passed over, with a note."""


class AbandonedError(FrontendError):
    """A file that takes too long or too much memory: another try at the same text would not help."""
