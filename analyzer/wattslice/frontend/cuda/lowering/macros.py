"""Macros of a file, expanded in the text of what clang could not read: it may launch by way of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from msgspec import Struct

from wattslice.patterns import regex

DEFINITION = regex(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)((?:[^\n\\]++|\\.|(?:\\\r?\n)++)*+)", re.M)
_CONTINUED = regex(rb"\\\r?\n")
_MOST_EXPANSIONS = 2048
_MOST_TOKENS = 1 << 14
_REST = "__VA_ARGS__"

Tokens = tuple[str, ...]

_TOKEN = regex(
    r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|[A-Za-z_]\w*|\d[\w.]*|<<<|>>>|<<=|>>=|->"""
    r"""|\+\+|--|::|[-+*/%&|^=!<>]=|&&|\|\||<<|>>|[^\s]""",
    re.S,
)


@lru_cache(maxsize=64)
def tokens_of(text: str) -> Tokens:
    """The words and signs of a text, without its comments."""
    return tuple(token for token in _TOKEN.findall(text) if not token.startswith(("//", "/*")))


class Macro(Struct, frozen=True):
    """What a name stands for; `parameters`: None of one that is used without brackets."""

    parameters: Tokens | None
    body: Tokens
    is_certain: bool
    """Whether the file defines it once, or always in the same way."""


class Macros:
    """The macros that texts define."""

    def __init__(self, texts: Iterable[bytes]) -> None:
        bodies: dict[str, dict[bytes, None]] = {}
        for text in texts:
            for name, body in DEFINITION.findall(text):
                bodies.setdefault(name.decode(), {})[_CONTINUED.sub(b" ", body)] = None
        self._macros = {name: _macro(tuple(found)) for name, found in bodies.items()}
        self._left = 0
        self._known: dict[Tokens, Tokens] = {}

    def expanded(self, tokens: Tokens) -> Tokens:
        """The tokens with macros expanded, as far as that ends.

        What is defined in several ways stays as well, in front of one of them: of those, one that launches.
        """
        found = self._known.get(tokens)
        if found is None:
            self._left = _MOST_EXPANSIONS
            found = self._known[tokens] = tuple(self._expanded(tokens, frozenset()))
        return found

    def _expanded(self, tokens: Sequence[str], within: frozenset[str]) -> list[str]:
        result: list[str] = []
        at = 0
        while at < len(tokens):
            name, begin = tokens[at], at
            at += 1
            macro = self._macros.get(name)
            given = None if macro is None or name in within else _arguments(macro, tokens, at)
            if macro is None or given is None or not self._left or len(result) > _MOST_TOKENS:
                result.append(name)
                continue
            self._left -= 1
            values, at = given
            if not macro.is_certain:
                result += (*tokens[begin:at], ";")
            result += self._expanded(_filled(macro.body, values), within | {name})
        return result


def _macro(bodies: Sequence[bytes]) -> Macro:
    body = next((one for one in bodies if b"<<<" in one), bodies[-1])
    tokens = tokens_of(body.decode("utf-8", "replace"))
    if not body.startswith(b"(") or ")" not in tokens:
        return Macro(None, tokens, len(bodies) == 1)
    end = tokens.index(")")
    parameters = tuple(token for token in tokens[1:end] if token not in (",", "."))
    if tokens[end - 1] == ".":  # `...`, or `rest...`
        parameters += (_REST,) if tokens[end - 4] in ("(", ",") else ()
    return Macro(parameters, tokens[end + 1 :], len(bodies) == 1)


def _arguments(macro: Macro, tokens: Sequence[str], at: int) -> tuple[dict[str, list[str]], int] | None:
    """What the parameters stand for in a use whose brackets begin at a place, and where it ends."""
    if macro.parameters is None:
        return {}, at
    if at == len(tokens) or tokens[at] != "(":
        return None
    found: list[list[str]] = [[]]
    level = 0
    for end in range(at, len(tokens)):
        token = tokens[end]
        level += (token == "(") - (token == ")")
        if not level:
            return dict(zip(macro.parameters, found, strict=False)), end + 1
        if token == "," and level == 1 and len(found) < len(macro.parameters):
            found.append([])
        elif end > at:
            found[-1].append(token)
    return None


def _filled(body: Tokens, values: dict[str, list[str]]) -> list[str]:
    """The body with the arguments in their places, and what `##` joins joined."""
    result: list[str] = []
    for at, token in enumerate(body):
        value = values.get(token, [token])
        if token == "#" and "#" in (*body[at - 1 : at], *body[at + 1 : at + 2]):
            continue
        if body[at - 2 : at] == ("#", "#") and result and value and result[-1].isidentifier():
            result[-1] += value[0]
            value = value[1:]
        result += value
    return result
