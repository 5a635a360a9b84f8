"""Which packages the time of cold analyses goes to, by looking every few milliseconds where they are.

Time counts for the package of wattslice that runs or has called what runs, be it numpy, libclang or the tree.
"""

from __future__ import annotations

import contextlib
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

import wattslice
from wattslice.config.config import Config
from wattslice.config.gpu_choice import GpuChoice
from wattslice.errors import WattsliceError
from wattslice.frontend.cuda.read import forget
from wattslice.pipeline.files import analyze_file

_EVERY_S = 0.002
_ROOT = str(Path(wattslice.__file__).parent) + "/"
_APART = "frontend/cuda/"
"""Its packages are told apart."""


def _package(frame: FrameType | None) -> str:
    while frame is not None:
        name = frame.f_code.co_filename.removeprefix(_ROOT)
        if name != frame.f_code.co_filename and "/" in name:
            package = name.split("/")[0] if not name.startswith(_APART) else "/".join(name.split("/")[:3])
            if package != "ir":
                return package.removesuffix(".py")
        frame = frame.f_back
    return "other"


def shares(paths: Iterable[Path], gpu: str) -> dict[str, float]:
    """Of all the time together by package, the largest first."""
    found: Counter[str] = Counter()

    def look(_: int, frame: FrameType | None) -> None:
        found[_package(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    try:
        for path in paths:
            forget()
            signal.setitimer(signal.ITIMER_PROF, _EVERY_S, _EVERY_S)
            with contextlib.suppress(WattsliceError):
                analyze_file(path, Config(files=(path,), gpu=GpuChoice(gpu)))
            signal.setitimer(signal.ITIMER_PROF, 0)
    finally:
        signal.signal(signal.SIGPROF, before)
    total = sum(found.values())
    return {package: number / total for package, number in found.most_common()}


def lines(paths: Iterable[Path], gpu: str) -> list[str]:
    """As a table."""
    found = shares(paths, gpu)
    left = 1 - sum(list(found.values())[:2])
    return [
        "Where the time of the analyses goes, by package, seen every few milliseconds of one more run over"
        " these files:",
        "",
        "| package | share |",
        "|---|---|",
        *(f"| `{package}` | {share:.1%} |" for package, share in found.items() if share >= 0.005),
        "",
        f"Were the first two free, {left:.0%} of the time would be left.",
        "",
    ]
