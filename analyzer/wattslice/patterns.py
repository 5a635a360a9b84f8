"""Regular expressions that are compiled when they are first used: a run needs few of all that it imports."""

from __future__ import annotations

import re

TYPE_CHECKING = False  # the first modules of a process import this one
if TYPE_CHECKING:
    from typing import AnyStr


class _Pattern:
    """Stands for a compiled pattern; keeps whatever was asked of that."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> object:
        found = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, found)  # so that it is not asked again
        return found


def regex(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, for a module to begin with. Raises `re.error` only when it is used."""
    return _Pattern(text, flags)  # pyright: ignore[reportReturnType]
