"""Analysis of a text that is being edited: the same answers as for a saved file, at the pace of typing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from wattslice.analysis import Analysis
from wattslice.config import Config
from wattslice.errors import WattsliceError
from wattslice.geometry.overrides import check_overrides
from wattslice.pipeline import analyze_file, collected


class CancelledError(WattsliceError):
    """The caller has no use for this analysis any more."""


def never() -> bool:
    """Nobody cancels."""
    return False


class IncrementalAnalyzer:
    """Analyses the texts of open files again and again under one `config`. Not thread-safe."""

    def __init__(self, config: Config) -> None:
        self._config = config

    def analyze(self, path: Path, text: str, cancelled: Callable[[], bool] = never) -> Analysis:
        """What `analyze_files` would say of a file `path` with this content; the disk is not looked at.

        Raises `CancelledError` soon after `cancelled` becomes true, and whatever `analyze_files` raises.
        """
        if cancelled():
            raise CancelledError("cancelled")
        config = replace(self._config, files=(path,))
        # A lone surrogate is no character: an editor has nothing better to send for a broken one.
        found = analyze_file(path, config, text.encode("utf-8", "replace"))
        check_overrides(config.typed_overrides, [found.names])
        return collected(config, (found,))

    def forget(self, path: Path) -> None:
        """The file has been closed."""
