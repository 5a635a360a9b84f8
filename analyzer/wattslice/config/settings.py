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
import re
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import cast

from wattslice.documents import parse_toml
from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import file_bytes
from wattslice.gate.budgets import Budget, parse_budgets
from wattslice.user_folders import config_folder


class SettingsError(WattsliceError):
    """A settings file with an unknown key or an impossible value; the message names the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a command line and a settings file can both say, unchecked; None or empty where they are silent.

    Units: clocks in MHz; `delta` is a probability, `dense_from` a share.
    """

    gpu: str | None = None
    model: str | None = None
    method: str | None = None
    delta: float | None = None
    dense_from: float | None = None
    overrides: tuple[str, ...] = ()
    launches: tuple[str, ...] = ()
    include_directories: tuple[Path, ...] = ()
    definitions: tuple[str, ...] = ()
    language_standard: str | None = None
    compile_commands_directory: Path | None = None
    profile: Path | None = None
    core_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    jobs: int | None = None
    backend: str | None = None
    scheduler: str | None = None
    cache: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Choices):
    """What settings files say. `path` is the one beside the sources, None without one; `user_path` the user's
    own, where it says something, and `users` the fields that come from there.

    `gate_max_power_w` in watts, `gate_max_energy_j` in joules; `gate_tolerance` and `gate_confidence` as
    written: ``5%`` or 0.05. `cache_mib`: the bound of the cache.
    """

    path: Path | None = None
    user_path: Path | None = None
    users: frozenset[str] = frozenset()
    cache_mib: int | None = None
    gate_max_power_w: float | None = None
    gate_max_energy_j: float | None = None
    gate_unknown: str | None = None
    gate_budgets: tuple[Budget, ...] = ()
    gate_baseline: Path | None = None
    gate_fail_on: tuple[str, ...] = ()
    gate_tolerance: str | float | None = None
    gate_confidence: str | float | None = None

    def file_of(self, field: str) -> Path | None:
        """The file that a field comes from."""
        return self.user_path if field in self.users else self.path


NO_SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of the file: the field it fills and what its value must be. `is_users`: the user's own settings
    only may say it, because it connects to somebody or writes something.
    """

    key: str
    field: str
    expected: str
    is_users: bool = False


_KEYS = (
    _Key("gpu", "gpu", "text"),
    _Key("model", "model", "text"),
    _Key("method", "method", "text"),
    _Key("delta", "delta", "a number"),
    _Key("dense-from", "dense_from", "a number"),
    _Key("set", "overrides", "a list of texts"),
    _Key("launch", "launches", "a list of texts"),
    _Key("include", "include_directories", "a list of paths"),
    _Key("define", "definitions", "a list of texts"),
    _Key("std", "language_standard", "text"),
    _Key("compile-commands", "compile_commands_directory", "a path"),
    _Key("profile", "profile", "a path"),
    _Key("core-mhz", "core_clock_mhz", "a number"),
    _Key("mem-mhz", "memory_clock_mhz", "a number"),
    _Key("jobs", "jobs", "a whole number"),
    _Key("backend", "backend", "text", is_users=True),
    _Key("scheduler", "scheduler", "text", is_users=True),
    _Key("cache", "cache", "a path", is_users=True),
    _Key("cache-mib", "cache_mib", "a whole number", is_users=True),
    _Key("gate.max-power", "gate_max_power_w", "a number"),
    _Key("gate.max-energy", "gate_max_energy_j", "a number"),
    _Key("gate.unknown", "gate_unknown", "text"),
    _Key("gate.budget", "gate_budgets", "a list of budgets"),
    _Key("gate.baseline", "gate_baseline", "a path"),
    _Key("gate.fail-on", "gate_fail_on", "a list of texts"),
    _Key("gate.tolerance", "gate_tolerance", "a share"),
    _Key("gate.confidence", "gate_confidence", "a share"),
)
_SAID = tuple(key.field for key in _KEYS)
assert set(_SAID) == {field.name for field in fields(Settings)} - {"path", "user_path", "users"}
_MOST_BYTES = 1 << 20


def find_settings(paths: tuple[Path, ...]) -> Settings:
    """The settings that hold for these files: from their common folder upwards, then the user's own.

    Raises `SettingsError`.
    """
    return _with_users(_beside(paths))


def _with_users(settings: Settings) -> Settings:
    """What `settings` do not say as the user's own settings say it."""
    try:
        path = config_folder() / "wattslice.toml"
    except RuntimeError:
        return settings
    users = _read(path, is_users=True) if path.is_file() else None
    if users is None:
        return settings
    silent = [name for name in _SAID if getattr(settings, name) in (None, ())]
    said = {name: value for name in silent if (value := getattr(users, name)) not in (None, ())}
    return replace(settings, user_path=path, users=frozenset(said), **said)


def _beside(paths: tuple[Path, ...]) -> Settings:
    folders = [path if path.is_dir() else path.parent for path in (path.absolute() for path in paths)]
    if not folders:
        return NO_SETTINGS
    start = Path(os.path.commonpath(folders))
    for folder in (start, *start.parents):
        for name in ("wattslice.toml", "pyproject.toml"):
            candidate = folder / name
            if candidate.is_file():
                settings = read_settings(candidate)
                if settings is not None:
                    return settings
    return NO_SETTINGS


def read_settings(path: Path) -> Settings | None:
    """Read a settings file that stands beside sources; None for a pyproject.toml without `[tool.wattslice]`.

    Raises `SettingsError`.
    """
    return _read(path, is_users=False)


def _read(path: Path, *, is_users: bool) -> Settings | None:
    try:
        content = file_bytes(path, _MOST_BYTES)
    except OSError as error:
        raise SettingsError(f"cannot read the settings: {error.strerror}", path=path) from None
    try:
        document = parse_toml(content)
    except ValueError as error:
        if path.name == "pyproject.toml" and b"tool.wattslice" not in content:
            return None  # somebody else's broken file is not our business
        raise SettingsError(f"not valid TOML: {error}", path=path) from None
    table: object = document
    prefix = settings_prefix(path)
    if path.name == "pyproject.toml":
        tools = document.get("tool")
        table = cast("dict[str, object]", tools).get("wattslice") if isinstance(tools, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise SettingsError("tool.wattslice: expected a table", path=path)
    settings, keys = _settings(path, prefix, cast("dict[str, object]", table))
    if not is_users:
        for key in keys:
            _check_trust(path, content.decode("utf-8-sig"), prefix, key, settings)
    return settings


def _check_trust(path: Path, text: str, prefix: str, key: _Key, settings: Settings) -> None:
    """Raises `SettingsError` for what the settings beside sources may not choose."""
    reason = remedy = ""
    if key.is_users:
        reason = "not for settings beside sources, which may be a stranger's: it connects or writes"
        remedy = f"give --{key.key}, or say it in {_users_file()}"
        if key.field == "cache_mib":
            remedy = f"say it in {_users_file()}"
    elif key.field == "gate_baseline":
        folder, baseline = path.parent.resolve(), settings.gate_baseline
        if baseline is not None and not Path(os.path.realpath(baseline)).is_relative_to(folder):
            reason = f"{baseline} lies outside of the folder of these settings"
            remedy = "give --baseline"
    if reason:
        name = re.compile(rf"\s*(?:[\w.\"'-]+\.)?[\"']?{key.key.rpartition('.')[2]}[\"']?\s*=")
        lines = (number for number, line in enumerate(text.splitlines(), 1) if name.match(line))
        raise SettingsError(f"{prefix}{key.key}: {reason}", path=path, line=next(lines, None), remedy=remedy)


def _users_file() -> str:
    try:
        return str(config_folder() / "wattslice.toml")
    except RuntimeError:
        return "the user's own settings"


def settings_prefix(path: Path | None) -> str:
    """What stands before every key in this settings file; nothing without one."""
    return "tool.wattslice." if path is not None and path.name == "pyproject.toml" else ""


def _settings(path: Path, prefix: str, table: dict[str, object]) -> tuple[Settings, tuple[_Key, ...]]:
    """What a file says, and the keys it says it with."""
    known = {key.key: key for key in _KEYS}
    values: dict[str, object] = {}
    for name, value in _flat(table).items():
        key = known.get(name)
        if key is None:
            close = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1)
            remedy = f"did you mean {prefix}{close[0]}?" if close else f"keys: {', '.join(known)}"
            raise SettingsError(f"{prefix}{name}: no such setting", path=path, remedy=remedy)
        values[key.field] = _value(path, prefix + name, key.expected, value)
    settings = Settings(path=path, **values)  # pyright: ignore[reportArgumentType]  (checked by _value)
    return settings, tuple(key for key in _KEYS if key.field in values)


def _flat(table: dict[str, object]) -> dict[str, object]:
    """The keys of `[gate]` as ``gate.max-power``; every other key as it is."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        if name == "gate" and isinstance(value, dict):
            flat |= {f"gate.{key}": entry for key, entry in cast("dict[str, object]", value).items()}
        else:
            flat[name] = value
    return flat


def _value(path: Path, place: str, expected: str, value: object) -> object:
    if expected in ("text", "a path") and isinstance(value, str):
        return path.parent / value if expected == "a path" else value
    if expected == "a number" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if expected == "a share" and isinstance(value, int | float | str) and not isinstance(value, bool):
        return value
    if expected == "a list of budgets":
        return parse_budgets(SettingsError, path, place, value)
    if expected == "a whole number" and type(value) is int:
        return value
    if expected in ("a list of texts", "a list of paths") and isinstance(value, list):
        entries = cast("list[object]", value)
        texts = tuple(entry for entry in entries if isinstance(entry, str))
        if len(texts) == len(entries):
            return tuple(path.parent / text for text in texts) if "paths" in expected else texts
    raise SettingsError(f"{place}: expected {expected}, found {value!r}", path=path)
