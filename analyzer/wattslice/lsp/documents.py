"""The texts that are open in the editor, line by line and in columns as the protocol counts them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import accumulate, takewhile
from pathlib import Path

from lsprotocol import types

from wattslice.frontend.blanked_text import without_text
from wattslice.patterns import regex

# Only these end a line in the protocol and for compilers; str.splitlines() also breaks at form feeds.
_LINE = regex(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


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


Encoding = types.PositionEncodingKind | str
_SURROGATES = "surrogatepass"  # JSON may carry half a character; it has a width all the same


def width(text: str, encoding: Encoding) -> int:
    """Code units of `text`."""
    if encoding == types.PositionEncodingKind.Utf32 or text.isascii():
        return len(text)
    if encoding == types.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", _SURROGATES))
    return len(text.encode("utf-16-le", _SURROGATES)) // 2


def index(line: str, character: int, encoding: Encoding) -> int:
    """The index into `line` of a client's column; beyond the end: the end, as the protocol wants it.

    A column in the middle of a character means its beginning.
    """
    if encoding == types.PositionEncodingKind.Utf32 or line.isascii():
        return min(character, len(line))
    ends = accumulate(width(sign, encoding) for sign in line)
    return sum(1 for _ in takewhile(lambda end: end <= character, ends))


def whole_line(number: int, line: str, encoding: Encoding) -> types.Range:
    """The text of line `number` (from 0) without the blanks around it."""
    text = line.rstrip()
    start = len(text) - len(text.lstrip())
    return types.Range(
        types.Position(number, width(text[:start], encoding)), types.Position(number, width(text, encoding))
    )


_MOST_COMPARED = 2000
"""Lines between the first and the last edit that are compared with each other; beyond, they are gone."""


class LineMap:
    """Lines of an `old` text in a `new` one, both from 0; None for what was changed beyond recognition.

    What is equal stays itself. A line that was typed in keeps its place, and so does the first line of a
    stretch that became another number of lines.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        most = min(len(old), len(new))
        head = next((i for i in range(most) if old[i] != new[i]), most)
        most -= head
        tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
        self._head, self._tail_from = head, len(old) - tail
        self._shift = len(new) - len(old)
        self._lines = len(old)
        between = old[head : len(old) - tail], new[head : len(new) - tail]
        self._now = {head + line: head + place for line, place in _matches(*between)}
        self._then = {place: line for line, place in self._now.items()}

    def now(self, line: int) -> int | None:
        """Where line `line` of the old text is in the new one."""
        if line < 0 or line >= self._lines:
            return None
        if line < self._head:
            return line
        return line + self._shift if line >= self._tail_from else self._now.get(line)

    def then(self, line: int) -> int | None:
        """Which line of the old text is line `line` of the new one."""
        if 0 <= line < self._head:
            return line
        old = line - self._shift
        return old if self._tail_from <= old < self._lines else self._then.get(line)


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    if len(old) == len(new):
        return [(line, line) for line in range(len(old))]
    if len(old) + len(new) > _MOST_COMPARED:
        return []
    found: list[tuple[int, int]] = []
    for _, first, last, to_first, to_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = last - first == to_last - to_first
        lines = last - first if same else min(1, last - first, to_last - to_first)
        found += [(first + i, to_first + i) for i in range(lines)]
    return found


_CONDITION = regex(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(.*)")
_NEVER, _ALWAYS = ("0", "false", "(0)"), ("1", "true", "(1)")
_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"


def live_text(lines: Iterable[str]) -> str:
    """The lines, ended by LF, with nothing in place of what is not read. Other conditions count as met."""
    text = "\n".join(line.rstrip("\r\n") for line in lines)
    found: list[str] = []
    dead: list[bool] = []  # of the conditions around a line, innermost last
    met: list[bool] = []  # one of the branches so far is the one that is read
    for line in without_text(text.encode("utf-8", "replace")).decode("utf-8", "replace").split("\n"):
        directive = _CONDITION.match(line)
        if directive is None:
            found.append("" if any(dead) else line)
            continue
        found.append("")
        word, condition = directive[1], directive[2].strip()
        if word.startswith("if"):
            dead.append(word == "if" and condition in _NEVER)
            met.append(word == "if" and condition in _ALWAYS)
        elif dead and word == "endif":
            dead.pop()
            met.pop()
        elif dead:
            dead[-1] = met[-1] or (word == "elif" and condition in _NEVER)
    return "\n".join(found)


def definition_line(name: str, live: str) -> int | None:
    """The line (from 1) of the `__global__` of kernel `name` in a live text, torn or not; None if none is."""
    between = rf"(?:(?!__global__)[^;{{}}()]|__\s*{_PARENTHESES})*?"
    found = re.search(rf"\b__global__\b{between}\b{re.escape(name)}\b(?!\s*{_PARENTHESES}\s*;)", live)
    return None if found is None else live.count("\n", 0, found.start()) + 1
