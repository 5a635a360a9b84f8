"""The heads of functions, up to their bodies: is this one, and of which function?"""

from __future__ import annotations

import re
from functools import lru_cache

COMMENT = re.compile(rb"//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)
NAME = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_HEADER_TOKEN = re.compile(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*|\d\w*|::|[^\s]")
# What is before a parenthesis and is no function's name.
ATTRIBUTES = frozenset((b"__launch_bounds__", b"__attribute__", b"__align__", b"alignas", b"__declspec"))
_NO_PLAIN_FUNCTION = frozenset(
    b"struct class union enum namespace typedef using friend concept requires = [ { }".split()
)


@lru_cache(maxsize=1024)
def plain_function(header: bytes) -> bytes | None:
    """The function whose head this is, up to its body or semicolon; None when it is not that simple."""
    text = COMMENT.sub(b" ", header)
    if b"#" in text:
        return None
    tokens: list[bytes] = _HEADER_TOKEN.findall(text)
    position, name = 0, b""
    while position < len(tokens):
        token = tokens[position]
        if token in _NO_PLAIN_FUNCTION:
            return None
        if token == b"template" or token in ATTRIBUTES:
            position = _after_brackets(tokens, position + 1)
            continue
        if token == b"operator":
            return _operator_at(tokens, position)
        if token == b"(":
            break
        position += 1
    if position < 2 or position == len(tokens):
        return None
    if not _ends_a_head(tokens, position):
        return None
    at = position - 1
    if tokens[at] == b">":  # an explicit specialisation: name<arguments>(...)
        level = 0
        while at > 0:
            level += {b">": 1, b"<": -1}.get(tokens[at], 0)
            at -= 1
            if not level:
                break
    name = tokens[at]
    before = [token for token in tokens[:at] if NAME.fullmatch(token)]
    return name if before and NAME.fullmatch(name) else None


def _operator_at(tokens: list[bytes], position: int) -> bytes | None:
    position += 3 if tokens[position + 1 : position + 3] == [b"(", b")"] else 1
    while position < len(tokens) and tokens[position] != b"(":
        position += 1
    return b"operator" if _ends_a_head(tokens, position) else None


def _ends_a_head(tokens: list[bytes], position: int) -> bool:
    """Whether nothing but parameters and words without a meaning of their own are left of a head."""
    end = _after_brackets(tokens, position)
    return end <= len(tokens) and all(token in (b"const", b"noexcept", b"override") for token in tokens[end:])


def _after_brackets(tokens: list[bytes], position: int) -> int:
    """Behind the bracket that closes the one at `position`; beyond the end when none does."""
    if position >= len(tokens) or tokens[position] not in (b"(", b"<"):
        return position
    opening = tokens[position]
    closing = b")" if opening == b"(" else b">"
    level = 0
    for end in range(position, len(tokens)):
        level += (tokens[end] == opening) - (tokens[end] == closing)
        if not level:
            return end + 1
    return len(tokens) + 1
