"""A source, and what is written into it at places that its text tells."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from msgspec import Struct

from wattslice.frontend.blanked_text import without_text
from wattslice.patterns import regex

_DIRECTIVE = regex(rb"^[ \t]*#", re.MULTILINE)
_BLANK = b" \t\r\n\f\v"


class Piece(Struct, frozen=True):
    """Part of a source: offsets in bytes of its first byte and one past its last."""

    start: int
    end: int


@dataclass(slots=True)
class SourceText:
    """A source and what is to be written into it, at byte offsets.

    What is put in front at one place stands in the order of the calls, behind all that ends there: nested
    parts stay nested when the outer one is opened before and closed after the inner one.
    """

    source: bytes
    plain: bytes = field(init=False)
    _edits: list[tuple[int, int, int, bytes]] = field(
        init=False, default_factory=list[tuple[int, int, int, bytes]]
    )

    def __post_init__(self) -> None:
        self.plain = without_text(self.source)

    def open(self, at: int, text: str, replaced: int = 0) -> None:
        """Write `text` in front of offset `at`, in place of the `replaced` bytes there."""
        self._edits.append((at, 1, replaced, text.encode()))

    def close(self, at: int, text: str) -> None:
        """Write `text` at offset `at`, behind what ends there."""
        self._edits.append((at, 0, 0, text.encode()))

    def mark(self) -> int:
        """For `take_back`."""
        return len(self._edits)

    def take_back(self, mark: int) -> None:
        """Forget what was written since `mark`."""
        del self._edits[mark:]

    def edited(self) -> bytes:
        """The source with everything written into it; lines keep their numbers."""
        parts: list[bytes] = []
        done = 0
        for at, _, replaced, text in sorted(self._edits, key=lambda edit: edit[:2]):
            parts += (self.source[done:at], text)
            done = max(done, at + replaced)
        return b"".join((*parts, self.source[done:]))

    def trimmed(self, piece: Piece) -> Piece | None:
        """Without the blanks and comments at both ends; None when nothing else is there."""
        text = self.plain[piece.start : piece.end]
        inner = text.strip(_BLANK)
        if not inner:
            return None
        start = piece.start + len(text) - len(text.lstrip(_BLANK))
        return Piece(start, start + len(inner))

    def next(self, at: int) -> int:
        """The offset of the next byte that is no blank and no comment."""
        while at < len(self.plain) and self.plain[at] in _BLANK:
            at += 1
        return at

    def header(self, keyword_end: int) -> tuple[Piece, ...] | None:
        """The parts between semicolons in the parentheses after a keyword.

        None when there are no such parentheses, or preprocessor lines between them.
        """
        opened = self.next(keyword_end)
        if self.plain[opened : opened + 1] != b"(":
            return None
        depth = 0
        cuts = [opened]
        for at in range(opened, len(self.plain)):
            byte = self.plain[at : at + 1]
            if byte in b"([{":
                depth += 1
            elif byte in b")]}":
                depth -= 1
                if depth == 0:
                    cuts.append(at)
                    break
            elif byte == b";" and depth == 1:
                cuts.append(at)
        if depth or _DIRECTIVE.search(self.plain, cuts[0], cuts[-1]):
            return None
        return tuple(Piece(start + 1, end) for start, end in pairwise(cuts))

    def end_of_statement(self, end: int) -> int | None:
        """One past a statement that the tree says ends at `end`, its semicolon included; None if unclear."""
        semicolon = self.next(end)
        if self.plain[semicolon : semicolon + 1] == b";":
            return semicolon + 1
        return end if self.plain[end - 1 : end] in (b"}", b";") else None
