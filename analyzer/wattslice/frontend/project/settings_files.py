"""Files around a program that may be settings of a test driver or an editor.

Imports the standard library and what needs nothing else, as `inputs.py` does.
"""

from __future__ import annotations

import os
from pathlib import Path

from wattslice.frontend.inputs import Search, note_search

FOLDERS_OF_SETTINGS = (".vscode", "config", "configs", "bench", "benchmark", "benchmarks", "test", "tests")
DEPTH_OF_SETTINGS = 3
"""Folders within each other, from such a one on."""
SUFFIXES = (".json", ".cfg", ".ini")
_MOST_FILES = 40


def settings_files(folder: Path) -> tuple[Path, ...]:
    """Files that may be settings, the nearest first."""
    files, _ = _listed(str(folder))
    level = [os.path.join(folder, name) for name in FOLDERS_OF_SETTINGS]  # noqa: PTH118  (hundreds)
    for _ in range(DEPTH_OF_SETTINGS):
        inside = [_listed(place) for place in level]
        files += [path for found, _ in inside for path in found]
        level = [path for _, folders in inside for path in folders][:_MOST_FILES]
    found = tuple(map(Path, files[:_MOST_FILES]))
    note_search(Search.SETTINGS, folder, (), found)
    return found


def _listed(folder: str) -> tuple[list[str], list[str]]:
    """What is called as settings are in a folder, and the folders in it, both sorted."""
    try:
        with os.scandir(folder) as entries:
            found = sorted((entry.path, entry.is_file(follow_symlinks=False)) for entry in entries)
    except OSError:
        return [], []
    files = [path for path, _ in found if os.path.splitext(path)[1] in SUFFIXES]  # noqa: PTH122
    return files, [path for path, is_file in found if not is_file and os.path.isdir(path)]  # noqa: PTH112
