"""Folders of the user that the program keeps things in, and looks for settings in."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/wattslice`, by default `~/.cache/wattslice`. Raises RuntimeError without a home."""
    return _below("XDG_CACHE_HOME", ".cache")


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/wattslice`, by default `~/.config/wattslice`. Raises RuntimeError without a home."""
    return _below("XDG_CONFIG_HOME", ".config")


def _below(variable: str, by_default: str) -> Path:
    configured = os.environ.get(variable, "")
    base = Path(configured) if configured and Path(configured).is_absolute() else Path.home() / by_default
    return base / "wattslice"
