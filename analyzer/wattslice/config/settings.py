"""Settings files: `[tool.wattslice]` of a pyproject.toml, or a wattslice.toml.

The file is looked for in the folder of what is analysed and upwards from there; the first that speaks of
wattslice counts, a wattslice.toml before a pyproject.toml beside it. Keys are the options' names. Paths are
relative to the settings file.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import cast

from wattslice.errors import WattsliceError
from wattslice.gate.budgets import Budget, parse_budgets


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
    branches: str | None = None
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
    """What a settings file says. `path` is the file, None without one; `gate_max_power_w` in watts.

    `gate_max_energy_j` in joules; `gate_tolerance` and `gate_confidence` as written: ``5%`` or 0.05.
    `cache_mib`: the bound of the cache.
    """

    path: Path | None = None
    cache_mib: int | None = None
    gate_max_power_w: float | None = None
    gate_max_energy_j: float | None = None
    gate_unknown: str | None = None
    gate_budgets: tuple[Budget, ...] = ()
    gate_baseline: Path | None = None
    gate_fail_on: tuple[str, ...] = ()
    gate_tolerance: str | float | None = None
    gate_confidence: str | float | None = None


NO_SETTINGS = Settings()


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of the file: the field it fills and what its value must be."""

    key: str
    field: str
    expected: str


_KEYS = (
    _Key("gpu", "gpu", "text"),
    _Key("model", "model", "text"),
    _Key("method", "method", "text"),
    _Key("branches", "branches", "text"),
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
    _Key("backend", "backend", "text"),
    _Key("scheduler", "scheduler", "text"),
    _Key("cache", "cache", "a path"),
    _Key("cache-mib", "cache_mib", "a whole number"),
    _Key("gate.max-power", "gate_max_power_w", "a number"),
    _Key("gate.max-energy", "gate_max_energy_j", "a number"),
    _Key("gate.unknown", "gate_unknown", "text"),
    _Key("gate.budget", "gate_budgets", "a list of budgets"),
    _Key("gate.baseline", "gate_baseline", "a path"),
    _Key("gate.fail-on", "gate_fail_on", "a list of texts"),
    _Key("gate.tolerance", "gate_tolerance", "a share"),
    _Key("gate.confidence", "gate_confidence", "a share"),
)
assert {key.field for key in _KEYS} == {field.name for field in fields(Settings)} - {"path"}


def find_settings(paths: tuple[Path, ...]) -> Settings:
    """The settings that hold for these files: from their common folder upwards. Raises `SettingsError`."""
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
    """Read a settings file; None for a pyproject.toml without `[tool.wattslice]`. Raises `SettingsError`."""
    try:
        document: dict[str, object] = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingsError(f"cannot read the settings: {error.strerror}", path=path) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        if path.name == "pyproject.toml" and b"tool.wattslice" not in path.read_bytes():
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
    return _settings(path, prefix, cast("dict[str, object]", table))


def settings_prefix(path: Path | None) -> str:
    """What stands before every key in this settings file; nothing without one."""
    return "tool.wattslice." if path is not None and path.name == "pyproject.toml" else ""


def _settings(path: Path, prefix: str, table: dict[str, object]) -> Settings:
    known = {key.key: key for key in _KEYS}
    values: dict[str, object] = {}
    for name, value in _flat(table).items():
        key = known.get(name)
        if key is None:
            close = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1)
            remedy = f"did you mean {prefix}{close[0]}?" if close else f"keys: {', '.join(known)}"
            raise SettingsError(f"{prefix}{name}: no such setting", path=path, remedy=remedy)
        values[key.field] = _value(path, prefix + name, key.expected, value)
    return Settings(path=path, **values)  # pyright: ignore[reportArgumentType]  (checked by _value)


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
