"""Source lines for quoting in reports: those of the analysed file, others read when first asked for."""

from __future__ import annotations

import os
from pathlib import Path

from wattslice.analysis import SourceText
from wattslice.frontend.inputs import file_bytes
from wattslice.ir import numbered_lines

MAX_BYTES = 64 << 20
"""The largest file that lines are quoted from."""


def text_of(file: str) -> str:
    """The text of a regular file up to `MAX_BYTES`; empty for all else: a pipe never ends."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > MAX_BYTES:  # noqa: PTH113, PTH202
            return ""
        return file_bytes(Path(file), MAX_BYTES).decode("utf-8", errors="replace")
    except (OSError, ValueError):
        return ""


class Quoter:
    """Gives the text of a line; an unreadable file quotes as empty lines, it never fails.

    `included`: by the analysed `file`.
    """

    def __init__(self, file: str, lines: tuple[str, ...], included: tuple[str, ...] = ()) -> None:
        self._lines: dict[str, tuple[str, ...]] = {file: lines}
        self._files = file, *included

    def text(self, file: str) -> str:
        """The whole text of `file`; empty when it cannot be read."""
        self.line(file, 1)
        return "\n".join(self._lines[file])

    def texts(self, first: str) -> tuple[str, ...]:
        """The whole text of `first` and of the other files of the analysed one; empty where unreadable."""
        files = dict.fromkeys((first, *self._files))
        return tuple("\n".join(self._lines[file]) if file in self._lines else text_of(file) for file in files)

    def line(self, file: str, line: int) -> str:
        """Line `line` (from 1) of `file`, without its end; empty when there is none."""
        if file not in self._lines:
            self._lines[file] = numbered_lines(text_of(file))
        lines = self._lines[file]
        return lines[line - 1].rstrip() if 0 < line <= len(lines) else ""

    def quoted(self) -> tuple[SourceText, ...]:
        """The files that lines were asked of, the analysed one first; without those that are unreadable."""
        return tuple(SourceText(file, lines) for file, lines in self._lines.items() if lines)
