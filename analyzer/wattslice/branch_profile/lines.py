"""Finding the lines of a source again after it was edited."""

from __future__ import annotations

import hashlib
from collections import Counter
from difflib import SequenceMatcher
from pathlib import Path

from wattslice.branch_profile.types import LineDigest, SourceLines

_DIGITS = 8
"""Hexadecimal digits of a line's digest: two different lines of a file hardly ever share one."""


def source_lines(path: Path, name: str) -> SourceLines:
    """The source at `path` under the name that a profile gives it. Raises `OSError`."""
    data = path.read_bytes()
    return SourceLines(name, hashlib.sha256(data).hexdigest(), line_digests(data))


def line_digests(data: bytes) -> tuple[LineDigest, ...]:
    """One for each line of the text, as compilers number them."""
    return tuple(map(_digest, data.replace(b"\r\n", b"\n").split(b"\n")))


def _digest(line: bytes) -> LineDigest:
    text = line.strip()
    digest = hashlib.sha256(text).hexdigest()[:_DIGITS]
    return LineDigest(digest, len(line) - len(line.lstrip()) if text else 0)


def moved_lines(old: tuple[LineDigest, ...], new: tuple[LineDigest, ...]) -> dict[int, int]:
    """Where the lines of `old` (numbered from 1) are in `new`; those whose text is gone are missing.

    Lines keep their order as far as possible (a longest match of digests); of the others, those are found
    whose text occurs once in either version: a function moved as a whole.
    """
    before, after = [line.digest for line in old], [line.digest for line in new]
    head = 0
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    found = {line: line for line in range(1, head + 1)}
    found |= {len(before) - k: len(after) - k for k in range(tail)}
    middle = SequenceMatcher(
        None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=True
    )
    for block in middle.get_matching_blocks():
        found |= {head + block.a + k + 1: head + block.b + k + 1 for k in range(block.size)}
    places = {digest: line for line, digest in enumerate(after, start=1)}
    times, times_before = Counter(after), Counter(before)
    for line, digest in enumerate(before, start=1):
        if line not in found and times[digest] == 1 == times_before[digest]:
            found[line] = places[digest]
    return found
