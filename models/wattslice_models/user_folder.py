"""Where the user's own models are. Imports nothing else of the package."""

from __future__ import annotations

import os
from pathlib import Path


def user_models() -> Path:
    """Where `wattslice train` puts models, by the XDG base directory specification."""
    home = os.environ.get("XDG_DATA_HOME", "")
    base = Path(home) if Path(home).is_absolute() else Path.home() / ".local" / "share"
    return base / "wattslice" / "models"
