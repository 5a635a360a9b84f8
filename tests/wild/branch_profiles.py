"""Branch profiles for the scripts of this folder: `NAME.json` in one folder is the profile of `NAME.cu`."""

from __future__ import annotations

from pathlib import Path

from wattslice.config import BranchProfile, read_branch_profile


def profile_of(source: Path, folder: Path | None) -> BranchProfile | None:
    """The profile of a source file; None without one."""
    path = None if folder is None else folder / f"{source.stem}.json"
    return read_branch_profile(path) if path is not None and path.is_file() else None
