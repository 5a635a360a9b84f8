"""The text of a source with its comments and literals blanked."""

from __future__ import annotations

import re

from wattslice.patterns import regex

_HIDDEN = regex(rb"//(?:\\\r?\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)


def without_text(source: bytes) -> bytes:
    """`source` with blanks for comments and literals; every byte keeps its place, every line its end.

    The quotes of literals stay, so that a literal is not taken for nothing.
    """
    return _HIDDEN.sub(_blanked, source)


def _blanked(found: re.Match[bytes]) -> bytes:
    text = found[0]
    blank = re.sub(rb"[^\n]", b" ", text)
    return blank if text[:1] == b"/" else text[:1] + blank[1:-1] + text[-1:]
