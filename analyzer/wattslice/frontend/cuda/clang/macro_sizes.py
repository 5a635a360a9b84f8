"""How much macros grow, estimated before clang expands them: five lines of macros can fill the memory.

An estimate on the safe side: what is suspicious is tried in a process of its own, nothing is refused here.
"""

from __future__ import annotations

import re

from wattslice.patterns import regex

_DEFINE = regex(
    rb"^[ \t]*(?:#|%:)[ \t]*define[ \t]+(\w+)(\([^()\n]*\))?((?:[^\\\n]++|(?:\\\r?\n)++|\\)*+)", re.MULTILINE
)
_TOKEN = regex(rb"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")
_PARAMETER = regex(rb"\w+")
_STATEMENT_ENDS = regex(rb"[{};]")
_LARGE = 2_000
_MOST_TOKENS = 400_000.0
_MOST_NESTED = 4_000.0  # in one expression these exhaust clang's stack: so many casts do
_MOST_GROWTH = 256.0
_MOST_CHAIN = 100
_MOST = 1e30

_Size = tuple[float, float]
"""Tokens that a text expands to, and how often it repeats those of an argument."""


class MacroSizes:
    """The macros of a file and its headers."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._parameters: dict[bytes, set[bytes]] = {}
        self._bodies: dict[bytes, list[bytes]] = {}
        self._sizes: dict[bytes, _Size] = {}
        self.add(source)

    def add(self, text: bytes) -> None:
        """Take in the definitions of one more text; several of one name are all kept."""
        if b"define" not in text:
            return
        for name, parameters, body in _DEFINE.findall(text):
            self._bodies.setdefault(name, []).append(body)
            if parameters:
                known = self._parameters.setdefault(name, {b"__VA_ARGS__"})
                known.update(_PARAMETER.findall(parameters))

    def may_exhaust(self) -> bool:
        """Whether the macros of the file may expand to hundreds of thousands of tokens, which fill memory, or
        in one statement to thousands, which may fill the stack of clang.
        """
        total = 0.0
        growing: list[bytes] = []
        for name in self._bodies:
            size, growth = self._size(name, ())
            total += size * self._source.count(name) if size > _LARGE else 0.0
            if total > _MOST_TOKENS or size > _MOST_NESTED or growth > _MOST_GROWTH:
                return True
            if growth > 1:
                growing.append(name)
        return bool(growing) and any(
            self._sum(_TOKEN.findall(statement), set(), ())[0] > _MOST_NESTED
            for statement in _nesting_calls(growing, self._source)
        )

    def _size(self, name: bytes, outer: tuple[bytes, ...]) -> _Size:
        found = self._sizes.get(name)
        if found is None:
            if name in outer:  # hidden while it is expanded
                return 1.0, 1.0
            if len(outer) > _MOST_CHAIN:
                return _MOST_TOKENS, _MOST_GROWTH
            parameters = self._parameters.get(name, set())
            inner = (*outer, name)
            sums = [self._sum(_TOKEN.findall(body), parameters, inner) for body in self._bodies[name]]
            found = self._sizes[name] = (max(size for size, _ in sums), max(growth for _, growth in sums))
        return found

    def _sum(self, tokens: list[bytes], parameters: set[bytes], outer: tuple[bytes, ...]) -> _Size:
        """What stands in the brackets of a call counts as often as the macro repeats it."""
        size = growth = 0.0
        factor = called = 1.0
        brackets: list[float] = []
        for token in tokens:
            if token == b"(":
                brackets.append(factor)
                factor = min(factor * max(1.0, called), _MOST)
            elif token == b")" and brackets:
                factor = brackets.pop()
            called = 1.0
            if token in parameters:
                growth += factor
            elif token in self._bodies:
                inner, called = self._size(token, outer)
                size += factor * inner
            else:
                size += factor
        return min(size, _MOST), min(growth, _MOST)


def _nesting_calls(names: list[bytes], source: bytes) -> list[bytes]:
    """Statements that call macros of these names several times, in one another perhaps."""
    call = re.compile(rb"\b(?:" + b"|".join(names) + rb")\s*\(")
    return [text for text in _STATEMENT_ENDS.split(source) if len(call.findall(text)) > 3]
