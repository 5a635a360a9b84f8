"""The prelude, compiled once per user: a PCH in the cache folder saves about 20 ms a file.

The file name is a hash of libclang's version, the flags and the stubs' content and times, so a stale PCH is
never used. Writing goes to a private name first and is renamed into place, so parallel processes cannot see
half a file. Whatever fails here, the caller parses the prelude as text instead.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import tempfile
from pathlib import Path

from wattslice.frontend.cuda.clang.flags import FOR_SERIALIZATION, INCOMPLETE, PRELUDE, STUBS, language_flags
from wattslice.frontend.cuda.clang.libclang import library, version
from wattslice.frontend.cuda.clang.parse import raw_parse
from wattslice.user_folders import cache_folder


@functools.cache
def _stubs_digest() -> str:
    digest = hashlib.sha256(version().encode())
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
