"""Trying a suspicious file in a process of its own: a stack overflow in clang kills the process.

The child only parses and walks; nothing of the file is ever run.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from wattslice.errors import FrontendError
from wattslice.frontend.clang.cursors import Node
from wattslice.frontend.clang.flags import KEEP_GOING, PRELUDE
from wattslice.frontend.clang.libclang import library
from wattslice.frontend.clang.parse import raw_parse

_PATIENCE_S = 60.0


def refuse_if_fatal(path: Path, flags: tuple[str, ...]) -> None:
    """Raise `FrontendError` if parsing this file would take the process down (or never end)."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    command = (sys.executable, "-P", "-m", "wattslice.frontend.clang.probe", str(path.resolve()), *flags)
    try:
        done = subprocess.run(command, env=environment, capture_output=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        done = None
    if done is None or done.returncode != 0:
        raise FrontendError(
            path, None, "nests statements or operators too deeply for clang", "split the longest statement"
        )


def main() -> int:
    """Parse, walk and evaluate the largest expressions; the exit status is the answer."""
    path, flags = Path(sys.argv[1]), tuple(sys.argv[2:])
    handle = raw_parse(path, (*flags, f"-include{PRELUDE}"), KEEP_GOING)
    if handle is None:
        return 1
    root = Node(handle, library().clang_getTranslationUnitCursor(handle.unit))
    for declaration in root.children:
        for node in declaration.walk():
            _ = node.start, node.end
    return 0


if __name__ == "__main__":
    sys.exit(main())
