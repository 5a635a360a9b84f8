"""The text of a kernel before macros are applied: tells it from other kernels, and from earlier versions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b

from msgspec import Struct

from wattslice.frontend.cuda.clang.chunks import cut
from wattslice.patterns import regex

_TOKEN = regex(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[^\s\w]")
_COMMENT = regex(r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)

ONE_KERNEL_FROM = 0.8
"""Kernels whose words are at least so much alike may be one under two names, or before and after an edit."""


class KernelText(Struct, frozen=True):
    """`words` of a kernel (see `kernel_words`), and a digest of the macros, functions and declarations of the
    same file that it rests on.
    """

    words: tuple[str, ...]
    uses: str


def kernel_text(text: str, name: str, line: int, end_line: int) -> KernelText:
    """Of the kernel `name` in these lines, from 1, of the `text` of a file."""
    plain = _without_comments(text)
    lines = plain.split("\n")[line - 1 : end_line]
    return KernelText(_words("\n".join(lines), name), _used(plain.encode(errors="replace"), line, end_line))


def kernel_words(lines: Iterable[str], name: str) -> tuple[str, ...]:
    """The words in the lines of a kernel, without comments; its own name is ``@``, so that a rename alone
    changes nothing.
    """
    return _words(_without_comments("\n".join(lines)), name)


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """How alike the words of two kernels are, 0 to 1; 0 where one has none."""
    if not (one and other):
        return 0.0
    import difflib

    matcher = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() > 0.3 and matcher.quick_ratio() > 0.3 else 0.0


def _without_comments(text: str) -> str:
    """The same text in the same lines."""
    return _COMMENT.sub(lambda match: match["text"] or " " + "\n" * match[0].count("\n"), text)


def _words(text: str, name: str = "") -> tuple[str, ...]:
    return tuple("@" if token == name else token for token in _TOKEN.findall(text))


def _used(source: bytes, line: int, end_line: int) -> str:
    """A digest of all that gives a meaning to the words of these lines; of a text that cannot be cut at its
    declarations, of all of it.
    """
    found, text = blake2b(digest_size=12), cut(source)
    if text is None:
        found.update(" ".join(_words(source.decode())).encode())
        return found.hexdigest()
    pieces = (*text.chunks, *text.macros)
    begin = text.offset(line, 1)
    end = text.size if end_line >= len(text.line_starts) else text.offset(end_line + 1, 1)
    own = {number for number, piece in enumerate(pieces) if piece.begin < end and begin < piece.end}
    reached, names = set(own), {name for number in own for name in pieces[number].mentioned}
    while more := {
        number
        for number, piece in enumerate(pieces)
        if number not in reached and not names.isdisjoint(piece.words.introduced)
    }:
        reached |= more
        names |= {name for number in more for name in pieces[number].mentioned}
    for number in sorted(reached - own):
        piece = pieces[number]
        found.update(" ".join((*_words(source[piece.begin : piece.end].decode()), "\n")).encode())
    return found.hexdigest()
