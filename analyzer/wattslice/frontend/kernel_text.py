"""The text of a kernel before macros are applied: tells it from other kernels, and from earlier versions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

from msgspec import Struct

from wattslice.frontend.cuda.clang.chunks import Chunk, cut
from wattslice.patterns import regex

_TOKEN = regex(r"[A-Za-z_]\w*|\d[\w.]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[^\s\w]")
_COMMENT = regex(r"(?P<text>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)

ONE_KERNEL_FROM = 0.8
"""Kernels whose words are at least so much alike may be one under two names, or before and after an edit."""


class KernelText(Struct, frozen=True):
    """`words` of a kernel (see `kernel_words`), and a digest of the macros, functions and declarations that
    it rests on, of its file and of those compiled with it.
    """

    words: tuple[str, ...]
    uses: str


def kernel_text(texts: Sequence[str], name: str, line: int, end_line: int) -> KernelText:
    """Of the kernel `name` in these lines, from 1, of the first of the `texts`; the others are of the files
    that are compiled with it.
    """
    plain = tuple(map(_without_comments, texts))
    lines = plain[0].split("\n")[line - 1 : end_line]
    sources = [text.encode(errors="replace") for text in plain]
    return KernelText(_words("\n".join(lines), name), _used(sources, line, end_line))


def fixed_macros(defines: Iterable[str], variable: Collection[str]) -> str:
    """What ``-D`` defines but for macros that are `variable`, as a text that `kernel_text` takes."""
    cut = (define.partition("=") for define in defines)
    fixed = {name: value if equals else "1" for name, equals, value in cut if name not in variable}
    return "".join(f"#define {name} {fixed[name]}\n" for name in sorted(fixed))


def kernel_words(lines: Iterable[str], name: str) -> tuple[str, ...]:
    """The words of a kernel without comments; its own name is ``@``, so that a rename changes nothing."""
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


def _used(sources: Sequence[bytes], line: int, end_line: int) -> str:
    """A digest of all that gives a meaning to the words of these lines of the first of `sources`: of the
    pieces of all of them, and of the conditions between those pieces. Of a text that cannot be cut at its
    declarations it is all.
    """
    found = blake2b(digest_size=12)
    pieces: list[tuple[int, bytes, Chunk]] = []
    own: set[int] = set()
    for place, source in enumerate(sources):
        text = cut(source)
        if text is None:
            found.update(" ".join(_words(source.decode())).encode())
            continue
        if place == 0:
            begin = text.offset(line, 1)
            end = text.size if end_line >= len(text.line_starts) else text.offset(end_line + 1, 1)
        else:
            begin = end = -1
        for piece in (*text.chunks, *text.macros):
            if piece.begin < end and begin < piece.end:
                own.add(len(pieces))
            pieces.append((place, source[piece.begin : piece.end], piece))
    reached, files, names = set(own), set[int](), set[bytes]()
    more = set(own)
    while more:
        reached |= more
        files |= {pieces[number][0] for number in more}
        names |= {name for number in more for name in pieces[number][2].mentioned}
        more = {
            number
            for number, (place, _, piece) in enumerate(pieces)
            if number not in reached
            and (not names.isdisjoint(piece.words.introduced) or (_is_condition(piece) and place in files))
        }
    for number in sorted(reached - own):
        found.update(" ".join((*_words(pieces[number][1].decode()), "\n")).encode())
    return found.hexdigest()


def _is_condition(piece: Chunk) -> bool:
    return not piece.identity
