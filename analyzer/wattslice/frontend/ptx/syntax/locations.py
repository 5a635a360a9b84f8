"""Where a PTX instruction comes from: `.file`, `.loc` and the names in `.debug_str`."""

from __future__ import annotations

import re

from wattslice.frontend.ptx.syntax.constants import integer
from wattslice.frontend.ptx.syntax.lexer import Cursor
from wattslice.frontend.ptx.syntax.syntax import SourceFile, SourceLocation

_STRING_OF_LABEL = re.compile(r"(?<![\w$])([\w$]++):((?:\s*\.b8\s+[\d,\s]+)+)")
_DEPTH = 32
"""The most calls that inlining removed around one place: also what ends a place inlined into itself."""
_ESCAPE = re.compile(r"\\(.)")


class Locations:
    """The `.loc` that stands last before an instruction, with the calls that inlining removed."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        self._seen: dict[tuple[int, int, int], tuple[SourceLocation, int]] = {}
        self.current: SourceLocation | None = None

    def begin_function(self) -> None:
        """What a function says of its lines ends with it."""
        self._seen.clear()
        self.current = None

    def read(self, cursor: Cursor) -> None:
        """What follows `.loc`: `1 9 68, function_name label, inlined_at 1 9 68`."""
        place = _place(cursor)
        function: str | None = None
        inlined_at: SourceLocation | None = None
        depth = 0
        while cursor.accept(","):
            word = cursor.word("'function_name' or 'inlined_at'")
            if word == "inlined_at":
                caller = _place(cursor)
                inlined_at, depth = self._seen.get(caller, (None, 0))
                if inlined_at is None or depth > _DEPTH:
                    inlined_at, depth = SourceLocation(*caller), 0
            elif word == "function_name":
                label = cursor.word("a label")
                if cursor.accept("+"):
                    integer(cursor, "an offset")
                function = self._names.get(label)
            else:
                cursor.fail(f"'{word[:40]}' is not part of .loc")
        if place[1] == 0 and inlined_at is None and self.current is not None:
            return  # line 0: made or moved by the compiler, for what stands around it
        self.current = SourceLocation(*place, inlined_at, function)
        self._seen[place] = self.current, depth + 1


def _place(cursor: Cursor) -> tuple[int, int, int]:
    return (
        integer(cursor, "a file number"),
        integer(cursor, "a line number"),
        integer(cursor, "a column number"),
    )


def function_names(text: str) -> dict[str, str]:
    """The strings of the `.debug_str` section, by their labels."""
    begin = text.rfind(".debug_str")
    if begin < 0:
        return {}
    end = text.find("}", begin)
    names: dict[str, str] = {}
    for match in _STRING_OF_LABEL.finditer(text, begin, end if end >= 0 else len(text)):
        numbers = [int(word) for word in re.findall(r"(?<=[\s,])\d{1,3}(?=[,\s]|$)", match[2])]
        names[match[1]] = bytes(n & 255 for n in numbers).split(b"\0")[0].decode("utf-8", "replace")
    return names


def source_file(cursor: Cursor) -> SourceFile:
    """What follows `.file`: `1 "path"`, in older files also a time and a size."""
    number = integer(cursor, "a file number")
    path = _ESCAPE.sub(r"\1", cursor.string("the path of the file"))
    while cursor.accept(","):
        integer(cursor, "a time or a size")
    return SourceFile(number, path)
