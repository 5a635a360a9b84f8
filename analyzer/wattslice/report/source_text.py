"""Source text for showing: lines in pieces to colour, and the colours and letters of memory spaces.

Nothing of the text is understood. Each space has one hue, readable on light and on dark, never without its
letter. The hues are those of Okabe and Ito's palette for colour-blind readers as far as contrast allows:
every colour has at least 4.5 : 1 (WCAG 2 AA) against what it stands on; those of terminals against black and
white.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from msgspec import Struct

from wattslice.ir import MemorySpace
from wattslice.patterns import regex


class TextKind(Enum):
    """What a piece of source text is; the values are for styles."""

    PLAIN = "plain"
    COMMENT = "comment"
    STRING = "string"
    KEYWORD = "keyword"
    QUALIFIER = "qualifier"
    NUMBER = "number"
    DIRECTIVE = "directive"


class Piece(Struct, frozen=True):
    """A stretch of one line of one kind."""

    kind: TextKind
    text: str


_WORDS = (
    "alignas auto bool break case catch char class const constexpr continue default delete do double else "
    "enum explicit extern false float for friend goto if inline int long namespace new nullptr operator "
    "private protected public register return short signed sizeof static static_cast struct switch template "
    "this throw true try typedef typename union unsigned using virtual void volatile while half"
)
_KEYWORDS = frozenset(_WORDS.split())
_PIECE = regex(
    r"""(?P<comment>//.*|/\*.*?(?:\*/|$))"""
    r"""|(?P<string>"(?:[^"\\]|\\.)*+(?:"|$)|(?<!\w)'(?:[^'\\]|\\.)*+(?:'|$))"""
    r"""|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<number>\.?\d(?:[\w.']|(?<=[eEpP])[+-])*)"""
)
_DIRECTIVE = regex(r"\s*#\s*\w+")


def pieces(lines: Iterable[str]) -> Iterator[tuple[Piece, ...]]:
    """Each line in pieces that together are the line; block comments go on over lines."""
    inside = False
    for line in lines:
        found, inside = _line(line, inside)
        yield tuple(Piece(kind, text) for kind, text in found if text)


def _line(line: str, inside: bool) -> tuple[list[tuple[TextKind, str]], bool]:
    found: list[tuple[TextKind, str]] = []
    at = 0
    if inside:
        end = line.find("*/")
        if end < 0:
            return [(TextKind.COMMENT, line)], True
        at = end + 2
        found.append((TextKind.COMMENT, line[:at]))
    elif directive := _DIRECTIVE.match(line):
        at = directive.end()
        found.append((TextKind.DIRECTIVE, directive.group()))
    open_comment = False
    for match in _PIECE.finditer(line, at):
        found.append((TextKind.PLAIN, line[at : match.start()]))
        at, text = match.end(), match.group()
        found.append((_kind(match.lastgroup, text), text))
        open_comment = text.startswith("/*") and not (len(text) >= 4 and text.endswith("*/"))
    found.append((TextKind.PLAIN, line[at:]))
    return found, open_comment


def _kind(group: str | None, text: str) -> TextKind:
    if group != "word":
        return TextKind(group)
    if text.startswith("__") and text.endswith("__"):
        return TextKind.QUALIFIER
    return TextKind.KEYWORD if text in _KEYWORDS else TextKind.PLAIN


class SpaceStyle(Struct, frozen=True):
    """How a memory space is shown: its letter, and colours as #rrggbb for terminals and both pages."""

    name: str
    letter: str
    label: str
    terminal: str
    light: str
    dark: str


SPACE_STYLES: dict[MemorySpace, SpaceStyle] = {
    space: SpaceStyle(space.value, *look)
    for space, look in (
        (MemorySpace.GLOBAL, ("G", "global memory", "#cc4b00", "#a43f04", "#ff833c")),
        (MemorySpace.SHARED, ("S", "shared memory", "#1273e3", "#135eb5", "#69a9f3")),
        (MemorySpace.CONSTANT, ("C", "constant memory", "#00856e", "#036c5b", "#00bc9c")),
        (MemorySpace.TEXTURE, ("T", "texture memory", "#c043a1", "#9c3783", "#d98dc6")),
        (MemorySpace.REGISTER, ("R", "registers only", "#71757f", "#5c5f67", "#a2a6ad")),
    )
}
"""The spaces that slices are made of (docs/slicing.md)."""
