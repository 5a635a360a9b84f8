"""Settings files that actions write: which one, its text as the editor holds it, and an entry more in it.

Only files within the folders that the editor has open are written.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path
from typing import cast

import tomlkit
from msgspec import Struct
from msgspec.structs import replace
from pygls.uris import to_fs_path
from tomlkit.exceptions import TOMLKitError

from wattslice.config.settings import find_settings
from wattslice.documents import parse_toml
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import file_bytes
from wattslice.frontend.source_files import FileState, file_state

_NEW = "wattslice.toml"
_MOST_BYTES = 1 << 16
"""Of a file that is edited: while it is read to keep every blank of it, nothing else is answered."""


class SettingsFile(Struct, frozen=True):
    """A settings file to edit; `text` is None when the file is yet to be created."""

    path: Path
    text: str | None

    @property
    def is_pyproject(self) -> bool:
        """Whether the settings are a table of a pyproject.toml."""
        return self.path.name == "pyproject.toml"


def path_of(uri: str) -> Path | None:
    """The file that a URI means, None for what is no file."""
    found = to_fs_path(uri)
    return Path(found) if found and "\0" not in found else None


def folder_of(path: Path, folders: tuple[Path, ...]) -> Path | None:
    """The innermost of the workspace's folders that really holds `path`, links followed; None outside."""
    try:
        real = path.resolve()
        inside = [folder for folder in folders if real.is_relative_to(folder.resolve())]
    except (OSError, RuntimeError):  # a loop of links
        return None
    return max(inside, key=lambda folder: len(folder.resolve().parts), default=None)


def settings_file(path: Path, folders: tuple[Path, ...]) -> SettingsFile | None:
    """The settings file that holds for a document, or the one to create at the root of its workspace folder.

    None for a document outside the workspace, and where settings outside of it hold: a new file would
    replace them all.
    """
    root = folder_of(path, folders)
    if root is None:
        return None
    try:
        found = find_settings((path,)).path
        if found is None:
            new = root / _NEW
            return SettingsFile(new, None) if not new.exists() and not new.is_symlink() else None
        if folder_of(found, folders) is None or found.stat().st_size > _MOST_BYTES:
            return None
        return SettingsFile(found, file_bytes(found, _MOST_BYTES).decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, WattsliceError):
        return None


_Mapping = MutableMapping[str, object]


class _Pending(Struct, frozen=True):
    text: str
    stamp: FileState


class PendingTexts:
    """What the editor was given to write, until the file on the disk changes: then that is what counts."""

    def __init__(self) -> None:
        self._known: dict[Path, _Pending] = {}

    def applied(self, path: Path, text: str) -> None:
        """The editor has taken this text over, and perhaps created the empty file for it."""
        self._known[path] = _Pending(text, file_state(path))

    def now(self, settings: SettingsFile) -> SettingsFile:
        """The file as the editor holds it."""
        pending = self._known.get(settings.path)
        if pending is None:
            return settings
        if pending.stamp != file_state(settings.path):
            del self._known[settings.path]
            return settings
        return replace(settings, text=pending.text)


def with_entry(text: str, key: str, value: str, *, is_pyproject: bool) -> str | None:
    """The text with `value` in the list `key`, which may be there or not, and all else as it was.

    In a pyproject.toml the list belongs into `[tool.wattslice]`. None: the value is there already, there is
    no such table, or the text is no TOML.
    """
    wanted = _read(text)
    table = None if wanted is None else _table(wanted, is_pyproject=is_pyproject)
    entries = None if table is None else table.setdefault(key, [])
    if not isinstance(entries, list) or value in entries:
        return None
    cast("list[object]", entries).append(value)
    try:
        document = tomlkit.parse(text)
        table = _table(document, is_pyproject=is_pyproject)
        assert table is not None  # it holds what `wanted` holds
        table.setdefault(key, tomlkit.array())
        cast("list[object]", table[key]).append(value)
        new = tomlkit.dumps(document)  # pyright: ignore[reportUnknownMemberType]
    except (TOMLKitError, RecursionError):
        return None
    if text.count("\n") == text.count("\r\n") > 0:
        new = new.replace("\r\n", "\n").replace("\n", "\r\n")
    return new if _read(new) == wanted else None


def has_entry(text: str, key: str, value: str, *, is_pyproject: bool) -> bool:
    """Whether the list `key` has an entry for what `value` names (what stands before its ``=``)."""
    entries = (_table(_read(text) or {}, is_pyproject=is_pyproject) or {}).get(key)
    if not isinstance(entries, list):
        return False
    names = (str(entry).partition("=")[0].strip() for entry in cast("list[object]", entries))
    return value.partition("=")[0].strip() in names


def _read(text: str) -> dict[str, object] | None:
    try:
        return parse_toml(text.encode())
    except ValueError:
        return None


def _table(document: _Mapping, *, is_pyproject: bool) -> _Mapping | None:
    """The table of ours, None without it."""
    table = document
    for name in ("tool", "wattslice") if is_pyproject else ():
        inner = table.get(name)
        if not isinstance(inner, MutableMapping):
            return None
        table = cast("_Mapping", inner)
    return table
