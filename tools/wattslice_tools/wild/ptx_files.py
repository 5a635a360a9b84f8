"""PTX of public CUDA files by `nvcc -ptx`, kept in a folder so that each is compiled once."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

_FOLDERS = ("Common", "common", "utilities", "inc", "include")
_LIMIT_S = 90
_RENAMED = ("-DcudaThreadSynchronize=cudaDeviceSynchronize", "-DcudaThreadExit=cudaDeviceReset")
"""Host functions that CUDA 13 has under their later name only."""


def include_folders(path: Path, checkout: Path) -> list[Path]:
    """Where a file of a checkout may find its headers."""
    folders = {path.parent, path.parent.parent}
    for name in _FOLDERS:
        folders.update(
            found for found in (*checkout.glob(name), *checkout.glob(f"*/{name}")) if found.is_dir()
        )
    return sorted(folders)


def ptx_of(path: Path, includes: list[Path], options: tuple[str, ...], kept: Path) -> Path | None:
    """The PTX of a CUDA file in the folder `kept`; None when nvcc does not compile it as it is."""
    text = path.read_bytes() + "\0".join(options).encode()
    stem = kept / f"{path.stem}-{hashlib.sha256(text).hexdigest()[:16]}"
    target, refused = stem.with_suffix(".ptx"), stem.with_suffix(".refused")
    if target.exists() or refused.exists():
        return target if target.exists() else None
    kept.mkdir(parents=True, exist_ok=True)
    command = ["nvcc", "-w", "-ptx", *options, *_RENAMED, "-o", str(target), str(path)]
    command += [f"-I{folder}" for folder in includes]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0 or not target.exists():
        target.unlink(missing_ok=True)
        refused.touch()
        return None
    return target
