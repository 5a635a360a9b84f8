"""Settings files: `[tool.wattslice]` of a pyproject.toml, or a wattslice.toml.

The file is looked for in the folder of what is analysed and upwards from there; the first that speaks of
wattslice counts, a wattslice.toml before a pyproject.toml beside it. Keys are the options' names. Paths are
relative to the settings file. What it does not say the user's own settings may say, a wattslice.toml in the
folder of the user's configuration.

What is analysed may be a stranger's, and so are the settings found beside it: they choose nothing that
connects or writes. Such keys count in the user's own settings only.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, cast

from msgspec.structs import replace

from wattslice.config.budgets import parse_budgets
from wattslice.config.options import Choices, Kind, Option, Place, said_at
from wattslice.documents import line_of, parse_toml
from wattslice.errors import WattsliceError, of_system
from wattslice.frontend.inputs import file_bytes, note_file, note_text
from wattslice.user_folders import config_folder


class Settings(Choices, frozen=True, kw_only=True):
    """What settings files say. `path` is the one beside the sources, None without one; `user_path` the user's
    own, where it says something, and `users` the fields that come from there.
    """

    path: Path | None = None
    user_path: Path | None = None
    users: frozenset[str] = frozenset()

    def file_of(self, field: str) -> Path | None:
        """The file that a field comes from."""
        return self.user_path if field in self.users else self.path


NO_SETTINGS = Settings()
_KEYS = said_at(Place.BESIDE | Place.USER)
_MOST_BYTES = 1 << 20


def find_settings(paths: tuple[Path, ...]) -> Settings:
    """The settings that hold for these files: from their common folder upwards, then the user's own.

    Raises `WattsliceError`.
    """
    return _with_users(_beside(paths))


def _with_users(settings: Settings) -> Settings:
    """What `settings` do not say as the user's own settings say it."""
    try:
        path = config_folder() / "wattslice.toml"
    except RuntimeError:
        return settings
    note_file(path, path.exists())
    users = _read(path, is_users=True) if path.exists() else None
    if users is None:
        return settings
    said = {
        option.field: value
        for option in _KEYS.values()
        if option.is_silent(getattr(settings, option.field))
        and not option.is_silent(value := getattr(users, option.field))
    }
    return replace(settings, user_path=path, users=frozenset(said), **said)


def _beside(paths: tuple[Path, ...]) -> Settings:
    folders = [path if path.is_dir() else path.parent for path in (path.absolute() for path in paths)]
    if not folders:
        return NO_SETTINGS
    start = Path(os.path.commonpath(folders))
    for folder in (start, *start.parents):
        for name in ("wattslice.toml", "pyproject.toml"):
            candidate = folder / name
            note_file(candidate, candidate.exists())
            # what is no regular file is refused, not passed over
            if candidate.exists() and (settings := read_settings(candidate)) is not None:
                return settings
    return NO_SETTINGS


def read_settings(path: Path) -> Settings | None:
    """Read a settings file that stands beside sources; None for a pyproject.toml without `[tool.wattslice]`.

    Raises `WattsliceError`.
    """
    return _read(path, is_users=False)


def _read(path: Path, *, is_users: bool) -> Settings | None:
    try:
        content = file_bytes(path, _MOST_BYTES)
        note_text(path, content)
    except OSError as error:
        raise of_system(error, "cannot read the settings", path) from None
    try:
        document = parse_toml(content)
    except ValueError as error:
        if path.name == "pyproject.toml" and b"tool.wattslice" not in content:
            return None  # somebody else's broken file is not our business
        raise WattsliceError(f"not valid TOML: {error}", path=path) from None
    table: object = document
    prefix = settings_prefix(path)
    if path.name == "pyproject.toml":
        tools = document.get("tool")
        table = cast("dict[str, object]", tools).get("wattslice") if isinstance(tools, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise WattsliceError("tool.wattslice: expected a table", path=path)
    settings, keys = _settings(path, prefix, cast("dict[str, object]", table))
    if not is_users:
        for key in keys:
            _check_trust(path, prefix, key, settings)
    return settings


def _check_trust(path: Path, prefix: str, key: Option, settings: Settings) -> None:
    """Raises `WattsliceError` for what the settings beside sources may not choose."""
    reason = remedy = ""
    if Place.BESIDE not in key.places:
        reason = "not for settings beside sources, which may be a stranger's: it connects or writes"
        give = f"give {key.name}, or " if Place.COMMAND in key.places else ""
        remedy = f"{give}say it in {_users_file()}"
    elif key.stays:
        folder, named = path.parent.resolve(), getattr(settings, key.field)
        if not Path(os.path.realpath(named)).is_relative_to(folder):
            reason = f"{named} lies outside of the folder of these settings"
            remedy = f"give {key.name}"
    if reason:
        place = f"{prefix}{key.key}"
        raise WattsliceError(f"{place}: {reason}", path=path, line=line_of(path, place), remedy=remedy)


def _users_file() -> str:
    try:
        return str(config_folder() / "wattslice.toml")
    except RuntimeError:
        return "the user's own settings"


def settings_prefix(path: Path | None) -> str:
    """What stands before every key in this settings file; nothing without one."""
    return "tool.wattslice." if path is not None and path.name == "pyproject.toml" else ""


def _settings(path: Path, prefix: str, table: dict[str, object]) -> tuple[Settings, tuple[Option, ...]]:
    """What a file says, and the keys it says it with."""
    values: dict[str, Any] = {}
    keys: list[Option] = []
    for name, value in _flat(table).items():
        key = _KEYS.get(name)
        if key is None and name == "tool":
            remedy = "[tool.wattslice] is for a pyproject.toml: write its keys without a table here"
            line = line_of(path, name)
            raise WattsliceError("tool: this file wants no table", path=path, line=line, remedy=remedy)
        if key is None:
            close = difflib.get_close_matches(name.lower().replace("_", "-"), _KEYS, n=1)
            remedy = f"did you mean {prefix}{close[0]}?" if close else f"keys: {', '.join(_KEYS)}"
            line = line_of(path, f"{prefix}{name}")
            raise WattsliceError(f"{prefix}{name}: no such setting", path=path, line=line, remedy=remedy)
        place = f"{prefix}{name}"
        try:
            values[key.field] = (
                parse_budgets(path, place, value)
                if key.kind is Kind.BUDGETS
                else key.read(value, path.parent)
            )
        except ValueError as error:
            raise WattsliceError(f"{place}: {error}", path=path, line=line_of(path, place)) from None
        keys.append(key)
    return Settings(path=path, **values), tuple(keys)


def _flat(table: dict[str, object]) -> dict[str, object]:
    """The keys of `[gate]` as ``gate.max-power``; every other key as it is."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        if name == "gate" and isinstance(value, dict):
            flat |= {f"gate.{key}": entry for key, entry in cast("dict[str, object]", value).items()}
        else:
            flat[name] = value
    return flat
