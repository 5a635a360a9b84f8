"""What a mangled name says (Itanium C++ ABI, chapter 5.1), as far as it tells two functions apart."""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

from wattslice.patterns import regex


class Mangled(Struct, frozen=True):
    """`entity`: the function with its namespaces, class and template arguments; `types`: the classes and
    enumerations that its parameters name."""

    entity: str
    types: frozenset[str]


_TOKEN = regex(r"S[t0-9A-Z_]*?(?:_|(?<=S)[tabsiod])|T[0-9]*_|[CD][0-9]|D[a-z]|L(?!_Z)[^E]*E|\d+|.")
_OPENING = frozenset("NIXJF")


@lru_cache(maxsize=4096)
def demangled(name: str) -> Mangled | None:
    """The parts of a mangled name; None for one that is not mangled."""
    if not name.startswith("_Z"):
        return None
    text = name.partition("@")[0].removeprefix("_Z").removeprefix("L")  # L: of this file alone
    end = _end(text)
    return Mangled(text[:end], frozenset(_source_names(text, end)))


def _end(text: str) -> int:
    """Where the name of the function ends, with the arguments of its template."""
    at = depth = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        assert token is not None
        at = token.end() + (int(token[0]) if token[0].isdigit() else 0)
        depth += (token[0] in _OPENING) - (token[0] == "E")
        if depth == 0 and text[at : at + 1] != "I":
            break
    return at


def _source_names(text: str, at: int) -> list[str]:
    found: list[str] = []
    while at < len(text):
        token = _TOKEN.match(text, at)
        assert token is not None
        at = token.end()
        if token[0].isdigit():
            found.append(text[at : at + int(token[0])])
            at += int(token[0])
    return found
