"""Files around a program that may be settings of a test driver or an editor.

Imports the standard library and what needs nothing else, as `inputs.py` does.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from wattslice.frontend.inputs import Search, note_search
from wattslice.frontend.surroundings import Surroundings

FOLDERS_OF_SETTINGS = (".vscode", "config", "configs", "bench", "benchmark", "benchmarks", "test", "tests")
DEPTH_OF_SETTINGS = 3
"""Folders within each other, from such a one on."""
SUFFIXES = (".json", ".cfg", ".ini")
_MOST_FILES = 40


def settings_files(folder: Path, around: Surroundings | None = None) -> tuple[Path, ...]:
    """Files that may be settings, the nearest first."""
    around = around or Surroundings()
    own = str(folder)
    inner = around.listed(own).folders
    level = [path for name in FOLDERS_OF_SETTINGS if (path := os.path.join(own, name)) in inner]  # noqa: PTH118
    places = [own]
    for _ in range(DEPTH_OF_SETTINGS):
        places += level
        level = [path for place in level for path in around.listed(place).folders][:_MOST_FILES]
    files = (path for place in places for path in around.files_in(place, SUFFIXES))
    found = tuple(map(Path, islice(files, _MOST_FILES)))
    note_search(Search.SETTINGS, folder, (), found)
    return found
