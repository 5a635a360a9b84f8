"""The texts that are open in the editor, line by line as the protocol counts lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from lsprotocol import types

from wattslice.lsp.positions import Encoding, index

# Only these end a line in the protocol and for compilers; str.splitlines() also breaks at form feeds.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Document:
    """One open text. `path` names it for the analysis; it need not exist (`is_saved` False: it never did).

    `version` is the client's, `revision` counts what was changed here.
    """

    def __init__(
        self, uri: str, path: Path, language: str, version: int, text: str, *, is_saved: bool = True
    ) -> None:
        self.uri = uri
        self.path = path
        self.language = language
        self.version = version
        self.is_saved = is_saved
        self.revision = 0
        self._lines = split_lines(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self._lines)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines with their ends."""
        return tuple(self._lines)

    def line(self, number: int) -> str:
        """Line `number` (from 0) without its end; empty beyond the last."""
        return self._lines[number].rstrip("\r\n") if 0 <= number < len(self._lines) else ""

    def change(
        self, version: int, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: Encoding
    ) -> None:
        """Apply the edits in their order. What lies beyond the text means its end."""
        for change in changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                self._replace(change.range, change.text, encoding)
            else:
                self._lines = split_lines(change.text)
        self.version = version
        self.revision += 1

    def _replace(self, where: types.Range, text: str, encoding: Encoding) -> None:
        first, before = self._place(where.start, encoding)
        last, after = self._place(where.end, encoding)
        if (last, after) < (first, before):
            last, after = first, before
        lines = self._lines
        head = lines[first][:before] if first < len(lines) else ""
        tail = lines[last][after:] if last < len(lines) else ""
        if not head and first and not lines[first - 1].endswith("\n"):
            first -= 1  # a line end and what follows may become one
            head = lines[first]
        lines[first : last + 1] = split_lines(head + text + tail)

    def _place(self, position: types.Position, encoding: Encoding) -> tuple[int, int]:
        if position.line >= len(self._lines):
            return len(self._lines), 0
        return position.line, index(self.line(position.line), position.character, encoding)


def split_lines(text: str) -> list[str]:
    """Lines with their ends (LF, CRLF or CR); the last one may lack it."""
    return _LINE.findall(text)
