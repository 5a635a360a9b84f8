"""What may be written, and where settings belong: only files within the folders that the editor has open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pygls.uris import to_fs_path

from wattslice.config.settings import find_settings
from wattslice.errors import WattsliceError

_NEW = "wattslice.toml"
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SettingsFile:
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
        return SettingsFile(found, found.read_bytes().decode("utf-8-sig"))
    except (OSError, UnicodeDecodeError, WattsliceError):
        return None
