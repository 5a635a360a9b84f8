"""Where the lines of an analysed text are after further edits."""

from __future__ import annotations

from collections.abc import Sequence


class LineMap:
    """Lines of an `old` text in a `new` one, both from 0; None for what was changed beyond recognition.

    What is equal at the beginning and at the end stays; of what lies between, lines keep their places when
    their number is the same (somebody types in a line), and are gone otherwise.
    """

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        common = min(len(old), len(new))
        head = 0
        while head < common and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < common - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        self._head = len(old) if len(old) == len(new) else head
        self._tail_from = len(old) - tail
        self._shift = len(new) - len(old)
        self._lines = len(old)

    def now(self, line: int) -> int | None:
        """Where line `line` of the old text is in the new one."""
        if line < 0 or line >= self._lines:
            return None
        if line < self._head:
            return line
        return line + self._shift if line >= self._tail_from else None

    def then(self, line: int) -> int | None:
        """Which line of the old text is line `line` of the new one."""
        if 0 <= line < self._head:
            return line
        old = line - self._shift
        return old if self._tail_from <= old < self._lines else None
