"""What stops an interpreted kernel: always with the line, and with what to do about it."""

from __future__ import annotations

from pathlib import Path

from wattslice.errors import WattsliceError
from wattslice.ir import Span


class InterpreterError(WattsliceError):
    """A kernel that did something wrong, exceeded its budget, or uses what cannot be interpreted."""

    def __init__(self, message: str, span: Span | None, remedy: str) -> None:
        path = Path(span.file) if span is not None and span.file else None
        super().__init__(message, path=path, line=None if span is None else span.line or None, remedy=remedy)


class UnsupportedError(Exception):
    """Something the interpreter has no value for; becomes an `InterpreterError` when it is executed."""


PROBES = "run the program itself instead: see --emit-probes"
"""The remedy for what only a compiler can execute."""


MAX_STEPS = 2_000_000
"""Statements and loop tests, each counted once for all the threads that execute it together."""
MAX_MEMORY_MIB = 1024
