"""One call into libclang: a file and flags in, a unit or None out; with a time limit where asked for.

A running parse cannot be stopped. One that is over its time or memory goes on in a thread that nobody waits
for; until the process ends it costs a core and memory (`was_abandoned` tells, so that the command line can
end the process without waiting for it). Should it take all the memory, the process ends.
"""

from __future__ import annotations

import contextlib
import ctypes as ct
import functools
import hashlib
import os
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path

from wattslice.frontend.cuda.clang.flags import (
    BUILTINS,
    FOR_SERIALIZATION,
    INCOMPLETE,
    PRELUDE,
    STUBS,
    language_flags,
)
from wattslice.frontend.cuda.clang.libclang import CXUnsavedFile, UnitHandle, library, version
from wattslice.frontend.limits import resident_bytes
from wattslice.ir.builtins import declarations
from wattslice.user_folders import cache_folder

_INCLUDE_VARIABLES = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
    "OBJCPLUS_INCLUDE_PATH",
)
_hiding = threading.Lock()
_hidden_for = 0
_abandoned = threading.Event()
_LOOK_S = 0.1
_MOST_STRETCHED = 10
_MOST_BYTES = 2 << 30


class ParseAbandonedError(Exception):
    """clang did not come back in time, or took too much memory (exponential templates or macros, headers that
    include themselves). It speaks of memory where that was it.
    """


def was_abandoned() -> bool:
    """Whether a parse of this process is still running although nobody waits for it."""
    return _abandoned.is_set()


def budget_clock() -> Callable[[], float]:
    """Seconds of the processor: a busy machine does not stretch them, files read alike whatever else runs.

    Those of the wall while a parse that was given up uses the processor too.
    """
    return time.monotonic if was_abandoned() else time.process_time


def raw_parse(
    path: Path,
    flags: tuple[str, ...],
    options: int,
    unsaved: tuple[tuple[Path, bytes], ...] = (),
    limit_s: float | None = None,
) -> UnitHandle | None:
    """Parse once. None when libclang gives no unit at all (it crashed, or cannot read a PCH).

    `unsaved` are files to take from memory. Raises `ParseAbandonedError` after `limit_s` seconds of
    `budget_clock`, ten times as long on the wall, or when the process has grown too much.
    """
    if limit_s is None:
        return _parse(path, flags, options, unsaved)
    found: list[UnitHandle | None] = []
    thread = threading.Thread(
        target=lambda: found.append(_parse(path, flags, options, unsaved)), name="clang", daemon=True
    )
    now, limit_s = budget_clock(), max(0.1, limit_s)
    end, last = now() + limit_s, time.monotonic() + _MOST_STRETCHED * limit_s
    most_bytes = resident_bytes() + _MOST_BYTES
    thread.start()
    reason = ""
    while thread.is_alive() and now() < end and time.monotonic() < last and not reason:
        thread.join(_LOOK_S)
        if resident_bytes() > most_bytes:
            reason = f"clang takes more than {_MOST_BYTES >> 30} GiB of memory to parse it"
    if not found:
        if thread.is_alive():
            _abandon(thread, most_bytes + _MOST_BYTES)
            raise ParseAbandonedError(reason)
        return None
    return found[0]


def _abandon(thread: threading.Thread, most_bytes: int) -> None:
    """Nobody waits for the parse any more; only the process can be ended, which it is before it takes all."""
    _abandoned.set()

    def look() -> None:
        while thread.is_alive():
            if resident_bytes() > most_bytes:
                os.write(2, b"wattslice: a parse that was given up takes all the memory: ended\n")
                os._exit(2)
            time.sleep(_LOOK_S)

    threading.Thread(target=look, name="memory", daemon=True).start()


@contextlib.contextmanager
def _include_variables_hidden() -> Generator[None]:
    """libclang does not see these variables meanwhile: else the answer would depend on the environment.

    No flag says so. `os.environ` stays as it is, and so does what child processes get that are given it.
    """
    global _hidden_for
    with _hiding:
        _hidden_for += 1
        for name in _INCLUDE_VARIABLES:
            if name in os.environ:
                os.unsetenv(name)
    try:
        yield
    finally:
        with _hiding:
            _hidden_for -= 1
            for name in _INCLUDE_VARIABLES if _hidden_for == 0 else ():
                if name in os.environ:
                    os.putenv(name, os.environ[name])


def _parse(
    path: Path, flags: tuple[str, ...], options: int, unsaved: tuple[tuple[Path, bytes], ...]
) -> UnitHandle | None:
    lib = library()
    unsaved = (*unsaved, (BUILTINS, declarations().encode()))
    arguments = (ct.c_char_p * len(flags))(*(os.fsencode(flag) for flag in flags))
    files = (CXUnsavedFile * len(unsaved))(
        *(CXUnsavedFile(os.fsencode(name), content, len(content)) for name, content in unsaved)
    )
    # excludeDeclarationsFromPCH: the root lists only this unit's declarations, and template instances too.
    index: int = lib.clang_createIndex(1, 0)
    unit = ct.c_void_p()
    # clang takes -name.cu for an option, and gives ./ back where it says in which file something stands.
    name = b"./" + os.fsencode(path) if str(path).startswith("-") else os.fsencode(path)
    with _include_variables_hidden():
        status: int = lib.clang_parseTranslationUnit2(
            index, name, arguments, len(flags), files, len(unsaved), options, ct.byref(unit)
        )
    if status != 0 or not unit.value:
        lib.clang_disposeIndex(index)
        return None
    return UnitHandle(index, unit.value)


# ---------------------------------------------------------------------------
# The prelude, compiled once per user: a PCH in the cache folder saves about 20 ms a file.


@functools.cache
def _stubs_digest() -> str:
    digest = hashlib.sha256(version().encode() + declarations().encode())
    for path in [*sorted(STUBS.glob("wattslice_*")), PRELUDE]:
        digest.update(f"{path}\0{path.stat().st_mtime_ns}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@functools.cache
def prelude_pch(standard: str, gpu_arch: str) -> Path | None:
    """The PCH of the prelude for these flags, made if it is not there; None when that is impossible."""
    flags = language_flags(standard, gpu_arch)
    key = hashlib.sha256("\0".join((_stubs_digest(), *flags)).encode()).hexdigest()[:24]
    try:
        target = cache_folder() / f"prelude-{key}.pch"
        if target.is_file():
            return target
        import tempfile  # not where the prelude is there

        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # results are kept there, too
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".prelude-", suffix=".tmp")
        os.close(descriptor)
    except (OSError, RuntimeError):
        return None
    scratch = Path(name)
    try:
        handle = raw_parse(PRELUDE, flags, INCOMPLETE | FOR_SERIALIZATION)
        if handle is None or library().clang_saveTranslationUnit(handle.unit, os.fsencode(scratch), 0) != 0:
            return None
        scratch.replace(target)
    except OSError:
        return None
    finally:
        with contextlib.suppress(OSError):
            scratch.unlink(missing_ok=True)
    return target
