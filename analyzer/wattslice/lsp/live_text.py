"""What of a text the compiler would read: without comments, literals, and branches of `#if 0`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wattslice.profiling.probes.source_text import without_text

_CONDITION = re.compile(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b[ \t]*(.*)")
_NEVER, _ALWAYS = ("0", "false", "(0)"), ("1", "true", "(1)")
_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"


def live_text(lines: Iterable[str]) -> str:
    """The lines, ended by LF, with nothing in place of what is not read. Other conditions count as met."""
    text = "\n".join(line.rstrip("\r\n") for line in lines)
    found: list[str] = []
    dead: list[bool] = []  # of the conditions around a line, innermost last
    met: list[bool] = []  # one of the branches so far is the one that is read
    for line in without_text(text.encode("utf-8", "replace")).decode("utf-8", "replace").split("\n"):
        directive = _CONDITION.match(line)
        if directive is None:
            found.append("" if any(dead) else line)
            continue
        found.append("")
        word, condition = directive[1], directive[2].strip()
        if word.startswith("if"):
            dead.append(word == "if" and condition in _NEVER)
            met.append(word == "if" and condition in _ALWAYS)
        elif dead and word == "endif":
            dead.pop()
            met.pop()
        elif dead:
            dead[-1] = met[-1] or (word == "elif" and condition in _NEVER)
    return "\n".join(found)


def definition_line(name: str, live: str) -> int | None:
    """The line (from 1) of the `__global__` of kernel `name` in a live text, torn or not; None if none is."""
    between = rf"(?:(?!__global__)[^;{{}}()]|__\s*{_PARENTHESES})*?"
    found = re.search(rf"\b__global__\b{between}\b{re.escape(name)}\b(?!\s*{_PARENTHESES}\s*;)", live)
    return None if found is None else live.count("\n", 0, found.start()) + 1
