"""Where the lines of an analysed text are after further edits."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

_MOST_COMPARED = 2000
"""Lines between the first and the last edit that are compared with each other; beyond, they are gone."""


class LineMap:
    """Lines of an `old` text in a `new` one, both from 0; None for what was changed beyond recognition.

    What is equal stays itself. A line that was typed in keeps its place, and so does the first line of a
    stretch that became another number of lines.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        most = min(len(old), len(new))
        head = next((i for i in range(most) if old[i] != new[i]), most)
        most -= head
        tail = next((i for i in range(most) if old[-1 - i] != new[-1 - i]), most)
        self._head, self._tail_from = head, len(old) - tail
        self._shift = len(new) - len(old)
        self._lines = len(old)
        between = old[head : len(old) - tail], new[head : len(new) - tail]
        self._now = {head + line: head + place for line, place in _matches(*between)}
        self._then = {place: line for line, place in self._now.items()}

    def now(self, line: int) -> int | None:
        """Where line `line` of the old text is in the new one."""
        if line < 0 or line >= self._lines:
            return None
        if line < self._head:
            return line
        return line + self._shift if line >= self._tail_from else self._now.get(line)

    def then(self, line: int) -> int | None:
        """Which line of the old text is line `line` of the new one."""
        if 0 <= line < self._head:
            return line
        old = line - self._shift
        return old if self._tail_from <= old < self._lines else self._then.get(line)


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    if len(old) == len(new):
        return [(line, line) for line in range(len(old))]
    if len(old) + len(new) > _MOST_COMPARED:
        return []
    found: list[tuple[int, int]] = []
    for _, first, last, to_first, to_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = last - first == to_last - to_first
        lines = last - first if same else min(1, last - first, to_last - to_first)
        found += [(first + i, to_first + i) for i in range(lines)]
    return found
