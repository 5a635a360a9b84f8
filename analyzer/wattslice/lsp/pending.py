"""Settings files as the editor holds them: with our edits in them that have not been saved yet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from wattslice.lsp.workspace import SettingsFile

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Pending:
    text: str
    stamp: _Stamp | None


class PendingTexts:
    """What the editor was given to write, until the file on the disk changes: then that is what counts."""

    def __init__(self) -> None:
        self._known: dict[Path, _Pending] = {}

    def applied(self, path: Path, text: str) -> None:
        """The editor has taken this text over, and perhaps created the empty file for it."""
        self._known[path] = _Pending(text, _stamp(path))

    def now(self, settings: SettingsFile) -> SettingsFile:
        """The file as the editor holds it."""
        pending = self._known.get(settings.path)
        if pending is None:
            return settings
        if pending.stamp != _stamp(settings.path):
            del self._known[settings.path]
            return settings
        return replace(settings, text=pending.text)


def _stamp(path: Path) -> _Stamp | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
