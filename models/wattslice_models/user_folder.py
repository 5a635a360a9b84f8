"""Where the user's own models are. Imports nothing else of the package."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path


def user_models() -> Path:
    """Where `wattslice train` puts models, by the XDG base directory specification."""
    return _models_below(os.environ.get("XDG_DATA_HOME", ""), os.environ.get("HOME", ""))


@lru_cache(maxsize=1)
def _models_below(data: str, home: str) -> Path:
    """For these values of XDG_DATA_HOME and HOME, which `Path.home` reads itself: every launch asks."""
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "wattslice" / "models"
