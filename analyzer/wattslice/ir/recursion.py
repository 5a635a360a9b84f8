"""Room for recursion over deep trees: long chains of operators and `else if` are common in generated code."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

LIMIT = 20_000


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise Python's recursion limit while this runs (calls between Python functions use no C stack)."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
