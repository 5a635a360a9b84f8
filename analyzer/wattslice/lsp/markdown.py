"""Markdown of what may be any text: source, names, messages."""

from __future__ import annotations

import re

from wattslice.units import printable

# Only what would mean something: editors that show the text as it is show the backslashes too.
_SPECIAL = re.compile(r"([\\`*<|&~]|\](?=[(\[:])|\b_|_\b)")


def code(text: str) -> str:
    """The text as a code span, whatever backticks it holds."""
    text = printable(text).replace("|", "¦")  # a bar would end the cell of a table
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"{fence}{text}{fence}"


def plain(text: str) -> str:
    """The text as it is, nothing in it meaning anything."""
    return _SPECIAL.sub(r"\\\1", printable(text))


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
