"""Folders that the program keeps things in, looks for settings in, and learns of this machine's GPUs from."""

from __future__ import annotations

import os
from pathlib import Path

from wattslice.errors import WattsliceError

DRIVER_FOLDER = Path("/proc/driver/nvidia/gpus")
"""Where NVIDIA's Linux driver names the GPUs of this machine; reading it costs nothing and needs no tool."""
CACHE_MIB = 256
"""The most that the folder of results holds; here, because kept answers need no options."""
OTHER_CACHE = "--cache DIR names another folder, --no-cache none"


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/wattslice`, by default `~/.cache/wattslice`. Raises RuntimeError without a home."""
    return _below("XDG_CACHE_HOME", ".cache")


def default_cache() -> Path | None:
    """The folder of results that `$WATTSLICE_CACHE` names, by default the user's; None where it says `off`.

    Raises `WattsliceError` when the user has no home.
    """
    configured = os.environ.get("WATTSLICE_CACHE", "")
    if configured == "off":
        return None
    try:
        return Path(configured) if configured else cache_folder()
    except RuntimeError:
        raise WattsliceError(
            "not used as cache: there is no home folder", path=Path("~/.cache"), remedy=OTHER_CACHE
        ) from None


def config_folder() -> Path:
    """`$XDG_CONFIG_HOME/wattslice`, by default `~/.config/wattslice`. Raises RuntimeError without a home."""
    return _below("XDG_CONFIG_HOME", ".config")


def _below(variable: str, by_default: str) -> Path:
    configured = os.environ.get(variable, "")
    base = Path(configured) if configured and Path(configured).is_absolute() else Path.home() / by_default
    return base / "wattslice"
