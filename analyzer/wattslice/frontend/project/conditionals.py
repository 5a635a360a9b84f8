"""What `#ifdef NAME` leaves out of sources where nothing defines the macro, and the `-D NAME` for it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from wattslice import ir
from wattslice.patterns import regex

_DIRECTIVE = regex(r"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[ \t]*(.*)")
_ONE_MACRO = regex(r"(?:defined\s*\(\s*(\w+)\s*\)|defined\s+(\w+)|([A-Za-z]\w*))\s*(?:/[/*].*)?")
_COMMENT = regex(r"//.*|/\*.*?\*/")


class Wanted(Struct, frozen=True):
    """A macro that lines want to be defined: its name, and the line of the `#if`."""

    name: str
    line: int


def wanting(lines: Sequence[str]) -> Iterator[tuple[int, str, tuple[Wanted, ...]]]:
    """The lines that want macros to be defined, with their number and these, the outermost first."""
    stack: list[tuple[Wanted | None, Wanted | None]] = []  # what holds here, what holds behind #else
    for number, line in enumerate(lines, 1):
        found = _DIRECTIVE.match(line)
        if found is None:
            if stack and any(here for here, _ in stack):
                yield number, line, tuple(here for here, _ in stack if here is not None)
            continue
        what, rest = found[1], found[2]
        if what in ("if", "ifdef"):
            stack.append((_macro(rest, number), None))
        elif what == "ifndef":
            stack.append((None, _macro(rest, number)))
        elif not stack:
            continue
        elif what == "endif":
            stack.pop()
        else:
            stack[-1] = (_macro(rest, number) if what == "elif" else stack[-1][1], None)


def macros_of(lines: Sequence[str], line: int | None) -> tuple[str, ...]:
    """The macros that a line wants; of no line none."""
    found = (macros for number, _, macros in (() if line is None else wanting(lines)) if number == line)
    return tuple(one.name for one in next(found, ()))


def _macro(condition: str, line: int) -> Wanted | None:
    found = _ONE_MACRO.fullmatch(condition.strip())
    name = "" if found is None else found[1] or found[2] or found[3]
    return Wanted(name, line) if name and not name.startswith("_") else None  # _WIN32, __CUDA_ARCH__


def left_out(
    texts: Sequence[tuple[str, str]], undeclared: Collection[str], given: Collection[str]
) -> Iterator[ir.AssumedOfText]:
    """Names that a source uses, and that it or a header (path, text) declares only with a macro that is not
    among those `given`, nor defined by a text: one for the same macros.
    """
    if not undeclared:
        return
    names = "|".join(map(re.escape, sorted(undeclared)))
    declares = re.compile(
        rf"[ \t]*#[ \t]*define[ \t]+(?P<macro>{names})\b"
        rf"|.*\b(?:struct|class|enum|union|using)\s+(?P<type>{names})\b"
        rf"|.*\b(?!(?:return|else|new|throw|case|goto)\b)\w+[\s*&]+(?P<other>{names})\s*[(;=\[]"
    )
    found: dict[tuple[str, ...], dict[str, tuple[str, int]]] = {}
    for path, text in texts:
        for _, line, macros in wanting(text.split("\n")):
            declared = declares.match(_COMMENT.sub("", line))
            lacking = [one for one in macros if one.name not in given]
            if declared is not None and lacking:
                names_of = found.setdefault(tuple(dict.fromkeys(one.name for one in lacking)), {})
                names_of.setdefault(declared[declared.lastgroup or 0], (path, lacking[-1].line))
    defined = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
    known = {name for _, text in texts for name in defined.findall(text)} if found else set[str]()
    for lacking, declared in found.items():
        if known.isdisjoint(lacking):
            path, line = next(iter(declared.values()))
            message = f"{' and '.join(lacking)} assumed not to be defined: "
            message += f"only with it is there {', '.join(declared)}, used here"
            yield ir.AssumedOfText(path, line, message, " ".join(f"-D {name}" for name in lacking))
