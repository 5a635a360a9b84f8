"""Files around a program that may be settings of a test driver or an editor.

Imports the standard library and what needs nothing else, as `inputs.py` does.
"""

from __future__ import annotations

from pathlib import Path

from wattslice.frontend.inputs import Search, note_search

FOLDERS_OF_SETTINGS = (".vscode", "config", "configs", "bench", "benchmark", "benchmarks", "test", "tests")
DEPTH_OF_SETTINGS = 3
"""Folders within each other, from such a one on."""
SUFFIXES = (".json", ".cfg", ".ini")
_MOST_FILES = 40


def settings_files(folder: Path) -> tuple[Path, ...]:
    """Files that may be settings, the nearest first."""
    places, level = [folder], [folder / name for name in FOLDERS_OF_SETTINGS]
    for _ in range(DEPTH_OF_SETTINGS):
        places += level
        level = [path for place in level for path in _entries(place) if path.is_dir()][:_MOST_FILES]
    files = (path for place in places for path in _entries(place) if path.suffix in SUFFIXES)
    found = tuple(path for path, _ in zip(files, range(_MOST_FILES), strict=False))
    note_search(Search.SETTINGS, folder, (), found)
    return found


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
