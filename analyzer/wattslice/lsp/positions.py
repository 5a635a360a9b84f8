"""Columns as the client counts them: in code units of UTF-8, UTF-16 or UTF-32, whichever was agreed on."""

from __future__ import annotations

from lsprotocol import types

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
    if encoding == types.PositionEncodingKind.Utf8:
        units = line.encode("utf-8", _SURROGATES)[:character]
        return len(units.decode("utf-8", "ignore")) if _clean(line) else _walk(line, character, encoding)
    units = line.encode("utf-16-le", _SURROGATES)[: 2 * character]
    return len(units.decode("utf-16-le", "ignore")) if _clean(line) else _walk(line, character, encoding)


def _clean(line: str) -> bool:
    """Whether every character of the line is one (no lone surrogates)."""
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _walk(line: str, character: int, encoding: Encoding) -> int:
    column = 0
    for number, sign in enumerate(line):
        column += width(sign, encoding)
        if column > character:
            return number
    return len(line)


def whole_line(number: int, line: str, encoding: Encoding) -> types.Range:
    """The text of line `number` (from 0) without the blanks around it."""
    text = line.rstrip()
    start = len(text) - len(text.lstrip())
    return types.Range(
        types.Position(number, width(text[:start], encoding)), types.Position(number, width(text, encoding))
    )
