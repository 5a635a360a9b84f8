"""Folders of the user that the program keeps things in."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/wattslice`, by default `~/.cache/wattslice`. Raises RuntimeError without a home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    base = Path(configured) if configured and Path(configured).is_absolute() else Path.home() / ".cache"
    return base / "wattslice"
