"""Trying a suspicious file in a process of its own: a stack overflow in clang kills the process.

The child only parses and walks; nothing of the file is ever run.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import deque
from pathlib import Path

from wattslice.errors import AbandonedError, FrontendError
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.flags import KEEP_GOING
from wattslice.frontend.cuda.clang.kinds import CursorKind
from wattslice.frontend.cuda.clang.libclang import UnitHandle, library
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.frontend.inputs import note_unrepeatable

PATIENCE_S = 4.0  # of the processor, which a busy machine does not stretch
_MOST_STRETCHED = 10
_MOST_MEMORY_BYTES = 1 << 30
_MOST_NODES = 100_000
_OUT_OF_MEMORY = 3
_REMEDY = "look for templates, macros or headers that multiply without end, or split the longest statement"
_START = f"import sys; from {__name__} import main; sys.exit(main())"


def refuse_if_fatal(path: Path, flags: tuple[str, ...], unsaved: tuple[tuple[Path, bytes], ...]) -> None:
    """Raise `FrontendError` if parsing this file would take the process down (or hardly end).

    `unsaved`: the files to take from memory.
    """
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
    command = (sys.executable, "-P", "-c", _START, str(path.resolve()), *flags)
    texts = {str(name.resolve()): content.decode("latin-1") for name, content in unsaved}
    try:
        done = subprocess.run(
            command,
            env=environment,
            input=json.dumps(texts).encode(),
            capture_output=True,
            timeout=_MOST_STRETCHED * PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _unfinished(path) from None
    except OSError as error:
        raise FrontendError(
            path,
            None,
            f"its deep nesting could not be tried safely: {error.strerror}",
            "split its statements",
        ) from None
    status = done.returncode
    if status == -getattr(signal, "SIGXCPU", 0) != 0:
        raise _unfinished(path)
    if status == _OUT_OF_MEMORY or b"out of memory" in done.stderr.lower():
        message = f"clang takes more than {_MOST_MEMORY_BYTES >> 30} GiB of memory to parse it"
        raise AbandonedError(path, None, message, _REMEDY)
    if status != 0:
        raise FrontendError(
            path,
            None,
            "crashes clang: it nests too deeply for clang, or an initializer is too large",
            "split the longest statement",
        )


def _unfinished(path: Path) -> AbandonedError:
    note_unrepeatable()
    message = f"clang does not finish parsing it in {PATIENCE_S:g} s"
    return AbandonedError(path, None, message, _REMEDY)


def main() -> int:
    """Parse, then look at the outermost nodes (extents and names recurse); 0: all is well."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource  # not on Windows

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY_BYTES, _MOST_MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (int(PATIENCE_S), int(PATIENCE_S) + 1))
    path, flags = Path(sys.argv[1]), tuple(sys.argv[2:])
    texts: dict[str, str] = json.load(sys.stdin)
    unsaved = tuple((Path(name), text.encode("latin-1")) for name, text in texts.items())
    handle = raw_parse(path, flags, KEEP_GOING, unsaved)
    if handle is None:  # libclang ends a parse that gets no more memory as it does one whose stack is full
        return _OUT_OF_MEMORY if _peak_bytes() > _MOST_MEMORY_BYTES // 4 else 1
    try:
        _walk(handle)
    except MemoryError:
        return _OUT_OF_MEMORY
    return 0


def _peak_bytes() -> int:
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _walk(handle: UnitHandle) -> None:
    waiting = deque([Node(handle, library().clang_getTranslationUnitCursor(handle.unit))])
    for _ in range(_MOST_NODES):
        if not waiting:
            break
        node = waiting.popleft()
        _ = node.start, node.end
        if node.kind == CursorKind.FUNCTION_DECL:
            _ = node.mangled_name
        waiting.extend(node.children)
