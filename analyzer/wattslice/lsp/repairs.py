"""What an advice proposes, done to the text: padding, `__restrict__`, the suffix f, `#pragma unroll`.

A repair changes only lines that say plainly what the advice speaks of; elsewhere there is none. Each is one
edit of the client's, undone with one key.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from msgspec import Struct

from wattslice.findings.findings import Finding
from wattslice.patterns import regex
from wattslice.units import energy

_PADDED = regex(r"pad the rows of '(\w+)'")
_RESTRICTED = regex(r"declare '(\w+)' __restrict__")
_LITERAL = regex(r"write ([\d.]+(?:[eE][+-]?\d+)?)f\b")
_CALL = regex(r"\bcall (?:the function for floats, )?(\w+)f\b")
_LOOP = regex(r"\s*(?:for|while)\s*\(")
_OF_DECLARATIONS = ("PW042", "PW053", "PW054")
_MOST_LINES = 200
"""How far above an advice its declaration or loop is looked for."""


class Repair(Struct, frozen=True):
    """`title` of the action; line `number` (from 0) of the text becomes `text`, of one or two lines."""

    title: str
    number: int
    text: str


def repair(finding: Finding, lines: Sequence[str], at: int) -> Repair | None:
    """The repair of an advice that stands in line `at` (from 0) of `lines`, which lack their ends."""
    find = _REPAIRS.get(finding.rule)
    found = None if find is None else find(finding.fix, lines, at)
    if found is None or found.text == lines[found.number]:
        return None
    # What is told of several lines at once saves that in all of them; a declaration mends them all.
    is_whole = not finding.also_lines or finding.rule in _OF_DECLARATIONS
    saved = finding.energy_j if is_whole else None
    gain = (
        ""
        if saved is None
        else f" (predicted: {energy(abs(saved))} {'less' if saved > 0 else 'more'} per launch)"
    )
    return Repair(found.title + gain, found.number, found.text)


def _above(lines: Sequence[str], at: int, wanted: re.Pattern[str]) -> int | None:
    """The nearest line from `at` upwards that holds `wanted`."""
    return next((n for n in range(at, max(-1, at - _MOST_LINES), -1) if wanted.search(lines[n])), None)


def _pad(fix: str, lines: Sequence[str], at: int) -> Repair | None:
    """`tile[32][32]` becomes `tile[32][33]`, `tile[T][T]` `tile[T][T + 1]`, where it is declared."""
    told = _PADDED.search(fix)
    if told is None:
        return None
    declared = re.compile(rf"(\b__shared__\b[^;]*\b{told[1]}\s*(?:\[[^\[\]]+\])+?)\[([^\[\]]+)\](?!\s*\[)")
    number = _above(lines, at, declared)
    if number is None:
        return None

    def padded(found: re.Match[str]) -> str:
        length = found[2].strip()
        if length.isdecimal():
            return f"{found[1]}[{int(length) + 1}]"
        return f"{found[1]}[{length if length.isidentifier() else f'({length})'} + 1]"

    return Repair(f"Pad the rows of '{told[1]}'", number, declared.sub(padded, lines[number], count=1))


def _restrict(fix: str, lines: Sequence[str], at: int) -> Repair | None:
    """The pointer is a parameter of the kernel above."""
    told = _RESTRICTED.search(fix)
    if told is None:
        return None
    parameter = re.compile(rf"(\*\s*)({told[1]}\s*[,)])")
    head = _above(lines, at, re.compile(r"__global__"))
    number = (
        None if head is None else next((n for n in range(head, at + 1) if parameter.search(lines[n])), None)
    )
    if number is None:
        return None
    text = parameter.sub(r"\1__restrict__ \2", lines[number], count=1)
    return Repair(f"Declare '{told[1]}' __restrict__, where it overlaps no other", number, text)


def _in_floats(fix: str, lines: Sequence[str], at: int) -> Repair | None:
    """`0.1` becomes `0.1f`, `exp(x)` `expf(x)`."""
    text, told = lines[at], list[str]()
    if (literal := _LITERAL.search(fix)) is not None:
        text = re.sub(rf"(?<![\w.]){re.escape(literal[1])}(?![\w.])", f"{literal[1]}f", text)
        told.append(f"{literal[1]}f")
    if (call := _CALL.search(fix)) is not None:
        text = re.sub(rf"\b{call[1]}(?=\s*\()", f"{call[1]}f", text)
        told.append(f"{call[1]}f()")
    return Repair(f"Write {' and '.join(told)}", at, text) if told else None


def _unroll(fix: str, lines: Sequence[str], at: int) -> Repair | None:
    number = _above(lines, at, _LOOP) if "unroll" in fix else None
    if number is None or (number and "#pragma unroll" in lines[number - 1]):
        return None
    indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
    return Repair("Unroll the loop", number, f"{indent}#pragma unroll\n{lines[number]}")


_REPAIRS: dict[str, Callable[[str, Sequence[str], int], Repair | None]] = {
    "PW042": _pad,
    "PW045": _in_floats,
    "PW051": _unroll,
    "PW053": _restrict,
    "PW054": _restrict,
}
