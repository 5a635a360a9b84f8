"""The `__global__` definitions that stand in the text of a file, whatever clang made of them.

Comments, strings, directives (so what macros are made of) and what `#if 0` leaves out are no text; what
should hide text and never ends hides nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from wattslice.frontend.cuda.clang.chunks import TOKEN
from wattslice.frontend.cuda.clang.heads import ATTRIBUTES, NAME

_MARK = re.compile(rb"\b__global__\b")
_HEAD_TOKEN = re.compile(NAME.pattern + rb"|\d\w*|[^\s]")
_BRACE = re.compile(rb"[{}]")
_INK = re.compile(rb"[^\n]")
_CONDITION = re.compile(rb"[ \t]*#[ \t]*(?:(?P<opens>if)|(?P<turns>el)|endif)")
_CONSTANT = re.compile(rb"[ \t]*#[ \t]*if[ \t]+(?P<value>[01])[ \t]*(?://|/\*|\r?\Z)")
_LONGEST_HEAD_BYTES = 10_000


@dataclass(frozen=True, slots=True)
class Branch:
    """The bytes from `begin` to `end` between two directives; `is_in` None: the text alone does not tell."""

    begin: int
    end: int
    is_in: bool | None


@dataclass(frozen=True, slots=True)
class WrittenKernel:
    """A definition from `__global__` to the end of its body; line and column (from 1) of its name.

    `front`: what stands in front of the name, from the declaration before on. `brace`: the byte where its
    body begins. `in_doubt`: the branches of conditions around it.
    """

    name: str
    line: int
    column: int
    front: bytes
    brace: int
    first_line: int
    last_line: int
    in_doubt: tuple[Branch, ...]


def written_kernels(source: bytes) -> tuple[WrittenKernel, ...]:
    """All that are not left out for certain, in order."""
    code, branches = _without_the_rest(source)
    starts = [0, *accumulate(len(line) + 1 for line in source.split(b"\n"))]
    found: list[WrittenKernel] = []
    for mark in _MARK.finditer(code):
        around = tuple(branch for branch in branches if branch.begin <= mark.start() < branch.end)
        head = None if any(branch.is_in is False for branch in around) else _head(code, mark.start())
        if head is None:
            continue
        name, brace = head
        line = bisect_right(starts, name.start())
        found.append(
            WrittenKernel(
                name[0].decode("utf-8", "replace"),
                line,
                name.start() - starts[line - 1] + 1,
                code[_begin_of_declaration(code, name.start()) : name.start()],
                brace,
                bisect_right(starts, mark.start()),
                bisect_right(starts, _end_of_body(code, brace)),
                tuple(branch for branch in around if branch.is_in is None),
            )
        )
    return tuple(found)


def _without_the_rest(source: bytes) -> tuple[bytes, list[Branch]]:
    """The text with blanks for all that is none, and the branches of its conditions."""
    pieces: list[bytes] = []
    conditions: list[tuple[int, bool | None, bool]] = []  # begin of the branch; it and another one are in
    branches: list[Branch] = []
    position = done = 0
    while token := TOKEN.search(source, position):
        position = token.end()
        if token.lastgroup is None:
            continue
        text = token[0]
        if text.startswith(b"/*") and (len(text) < 4 or not text.endswith(b"*/")):
            position = token.start() + 2
            continue
        pieces += (source[done : token.start()], _INK.sub(b" ", text))
        done = position
        condition = _CONDITION.match(text) if token.lastgroup == "directive" else None
        if condition is None:
            continue
        before = None
        if not condition["opens"]:
            if not conditions:
                continue
            before = conditions.pop()
            branches.append(Branch(before[0], token.start(), before[1]))
        if condition["opens"] or condition["turns"]:
            conditions.append((position, *_what_opens(text, before)))
    return b"".join((*pieces, source[done:])), branches


def _what_opens(directive: bytes, before: tuple[int, bool | None, bool] | None) -> tuple[bool | None, bool]:
    """Whether the branch behind an #if, #elif or #else is in, and whether one of the condition is by then."""
    if before is None:
        constant = _CONSTANT.match(directive)
        is_in = None if constant is None else constant["value"] == b"1"
        return is_in, is_in is True
    _, last, is_one_in = before
    if is_one_in:
        return False, True
    # Only the #else of a plain `#if 0` is certain.
    is_in = True if last is False and re.match(rb"[ \t]*#[ \t]*else\b", directive) else None
    return is_in, is_in is True


def _head(code: bytes, begin: int) -> tuple[re.Match[bytes], int] | None:
    """The name of the function whose head begins there, and where its body does; None: none begins."""
    name: re.Match[bytes] | None = None
    for name, end in _parameter_lists(code, begin):
        brace = _HEAD_TOKEN.search(code, end)
        if brace is not None and brace[0] == b"{":
            return name, brace.start()
    return None


def _parameter_lists(code: bytes, begin: int) -> Iterator[tuple[re.Match[bytes], int]]:
    """Each `name(...)` up to the first brace or semicolon, with its end."""
    level = 0
    before = named = templated = None
    for token in _HEAD_TOKEN.finditer(code, begin, begin + _LONGEST_HEAD_BYTES):
        sign = token[0]
        if level:
            level += (sign == b"(") - (sign == b")")
            if not level and named is not None:
                yield named, token.end()
        elif sign in (b"{", b"}", b";"):
            return
        elif sign == b"(":
            level = 1
            named = templated if before is not None and before[0] == b">" else before
            if named is not None and (named[0] in ATTRIBUTES or not NAME.fullmatch(named[0])):
                named = None
        elif sign == b"<":
            templated = before
        before = token


def _begin_of_declaration(code: bytes, end: int) -> int:
    """Behind the last brace or semicolon before `end`."""
    return 1 + max(code.rfind(sign, 0, end) for sign in (b";", b"{", b"}"))


def _end_of_body(code: bytes, brace: int) -> int:
    """Where the brace is closed; the brace itself when it is nowhere."""
    level = 0
    for found in _BRACE.finditer(code, brace):
        level += 1 if found[0] == b"{" else -1
        if not level:
            return found.start()
    return brace
