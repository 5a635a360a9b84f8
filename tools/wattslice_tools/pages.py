"""Pages that a command writes whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from wattslice_corpora.records import write_text


def write_page(arguments: list[str], module: str, page: Callable[[], str]) -> int:
    """Writes what `page` gives into the one file that `arguments` name; 2 with a message when it cannot."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(f"usage: python -m wattslice_tools.{module} FILE", file=sys.stderr)
        return 2
    try:
        write_text(Path(arguments[0]), page())
    except OSError as error:
        print(f"wattslice: {error}", file=sys.stderr)
        return 2
    return 0
