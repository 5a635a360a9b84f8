"""What the editor says under `wattslice`: the settings file's keys, and a few that only an editor needs.

Unknown keys are the editor's own (paths to the server, traces) and of no concern; a known key with a value of
the wrong kind is told and left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

from wattslice.config.config import Config, Options, check_entries, check_settings, make_config
from wattslice.config.settings import Choices, Settings, find_settings
from wattslice.gate.budgets import Budget

MIN_SHARE = 0.05
"""A line below this share of the kernel's power gets no hint."""


_NO_CHOICES = Choices()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """`choices` come before those of the settings file. `pause_s` None: by how long analyses take.

    `min_share` (0 to 1) of a line with a hint; `plain_c`: look at `.c` files without a settings file too.
    """

    choices: Choices = _NO_CHOICES
    inlay_hints: bool = True
    code_lenses: bool = True
    diagnostics: bool = True
    plain_c: bool = False
    min_share: float = MIN_SHARE
    pause_s: float | None = None


NO_CLIENT_SETTINGS = ClientSettings()


def _text(value: object) -> object:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> object:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _switch(value: object) -> object:
    return value if isinstance(value, bool) else None


def _share(value: object) -> object:
    number = _number(value)
    return number if isinstance(number, float) and 0 <= number <= 1 else None


def _pause(value: object) -> object:
    number = _number(value)
    return number / 1000 if isinstance(number, float) and 0 <= number <= 60_000 else None


def _texts(value: object) -> object:
    entries = cast("list[object]", value) if isinstance(value, list) else None
    if entries is None or not all(isinstance(entry, str) for entry in entries):
        return None
    return tuple(str(entry) for entry in entries)


_CHOICES: dict[str, tuple[str, Callable[[object], object], str]] = {
    "gpu": ("gpu", _text, "a text"),
    "model": ("model", _text, "a text"),
    "method": ("method", _text, "a text"),
    "delta": ("delta", _number, "a number"),
    "dense-from": ("dense_from", _number, "a number"),
    "set": ("overrides", _texts, "a list of texts"),
    "launch": ("launches", _texts, "a list of texts"),
    "include": ("include_directories", _texts, "a list of texts"),
    "define": ("definitions", _texts, "a list of texts"),
    "std": ("language_standard", _text, "a text"),
    "compile-commands": ("compile_commands_directory", _text, "a text"),
    "profile": ("profile", _text, "a text"),
    "core-mhz": ("core_clock_mhz", _number, "a number"),
    "mem-mhz": ("memory_clock_mhz", _number, "a number"),
}
_OWN: dict[str, tuple[str, Callable[[object], object], str]] = {
    "inlay-hints": ("inlay_hints", _switch, "true or false"),
    "code-lens": ("code_lenses", _switch, "true or false"),
    "diagnostics": ("diagnostics", _switch, "true or false"),
    "plain-c": ("plain_c", _switch, "true or false"),
    "min-share": ("min_share", _share, "a number from 0 to 1"),
    "debounce-ms": ("pause_s", _pause, "milliseconds up to 60000"),
}
KEYS = (*_CHOICES, *_OWN)
"""As the settings file would spell them."""
_PATHS = ("compile_commands_directory", "profile")


def read_client_settings(value: object, root: Path | None) -> tuple[ClientSettings, tuple[str, ...]]:
    """The settings in what the client sent, and what is wrong with them. Keys may be camelCase.

    `null`, and an empty text where a text is expected, mean that nothing is said. Relative paths are
    relative to `root`.
    """
    if not isinstance(value, Mapping):
        return NO_CLIENT_SETTINGS, ()
    table = cast("Mapping[object, object]", value)
    choices: dict[str, object] = {}
    own: dict[str, object] = {}
    complaints: list[str] = []
    for name, entry in table.items():
        key = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", str(name)).lower()
        field, read, expected = _CHOICES.get(key) or _OWN.get(key) or ("", _text, "")
        if not field or entry is None or entry == "":
            continue
        found = read(entry)
        if found is None:
            complaints.append(f"wattslice.{name}: expected {expected}, found {entry!r}")
            continue
        (choices if key in _CHOICES else own)[field] = _located(field, found, root)
    settings = ClientSettings(
        choices=Choices(**choices),  # pyright: ignore[reportArgumentType]  (checked by the readers)
        **own,  # pyright: ignore[reportArgumentType]
    )
    return settings, tuple(complaints)


def _located(field: str, value: object, root: Path | None) -> object:
    base = root or Path()
    if field in _PATHS:
        return base / str(value)
    if field == "include_directories":
        return tuple(base / folder for folder in cast("tuple[str, ...]", value))
    return value


@dataclass(frozen=True, slots=True)
class Setup:
    """How a document is analysed, and the budgets that its kernels must keep."""

    config: Config
    budgets: tuple[Budget, ...] = ()


def setup_for(path: Path, client: ClientSettings) -> Setup:
    """What holds for a document: the client's choice before the settings file's. Raises `WattsliceError`.

    Reads the settings file each time: it costs a millisecond, and no change of it goes unnoticed.
    """
    found = find_settings((path,))
    check_entries(client.choices, "the editor's settings: wattslice.", None)
    check_settings(found)
    config = make_config(Options(paths=()), _merged(found, client.choices))
    power_w, energy_j = found.gate_max_power_w, found.gate_max_energy_j
    general = Budget(max_power_w=power_w, max_energy_j=energy_j)
    return Setup(config, (general, *found.gate_budgets))


def _merged(found: Settings, choices: Choices) -> Settings:
    """The client's lists come after the file's; of two values for one name the client's counts."""
    named = {_name(text) for text in choices.overrides}
    launched = {_name(text) for text in choices.launches}
    single = {
        field: value
        for field, kind, _ in _CHOICES.values()
        if kind is not _texts and (value := getattr(choices, field)) is not None
    }
    return replace(
        found,
        overrides=(*(text for text in found.overrides if _name(text) not in named), *choices.overrides),
        launches=(*(text for text in found.launches if _name(text) not in launched), *choices.launches),
        include_directories=(*found.include_directories, *choices.include_directories),
        definitions=(*found.definitions, *choices.definitions),
        **single,
    )


def _name(override: str) -> str:
    return override.partition("=")[0].strip()
