"""The cache's folder: small files that appear whole or not at all, the least recently used going first.

The folder is opened once and only if it belongs to the user alone; everything then happens relative to that
open folder and follows no symbolic link, so that nobody can slip another one in.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import time
import zlib
from pathlib import Path
from typing import NamedTuple, cast

from wattslice.errors import WattsliceError
from wattslice.patterns import regex
from wattslice.user_folders import CACHE_MIB, OTHER_CACHE

NAME = "results"
_RESULT = regex(r"[0-9a-f]{64}")
_ENTRY = regex(r"(?:answer-|program-)?[0-9a-f]{64}")
_SCRATCH = regex(r"\.(?:answer-|program-)?[0-9a-f]{64}\.[0-9a-f]{16}\.tmp")
_MOST_BYTES = 64 << 20
_ABANDONED_S = 3600.0
_KEPT_SHARE = 0.8
"""What eviction leaves of the limit: it lists the whole folder, which must not happen at every entry."""
_TRIMS = "0"
"""An entry whose digest begins so has the folder trimmed: one of 16, however short the runs are."""


_MOST_UNPACKED_BYTES = 512 << 20


def packed(magic: bytes, document: dict[str, object]) -> bytes:
    """An entry: `magic`, a checksum, then compressed JSON. Raises TypeError or ValueError else."""
    text = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    body = zlib.compress(text.encode(), 1)
    return b"".join((magic, hashlib.sha256(body).digest(), body))


def unpacked(magic: bytes, name: str, content: bytes) -> dict[str, object] | None:
    """What `packed` made of a document of this `name`; None for anything else."""
    begin = len(magic) + hashlib.sha256().digest_size
    digest, body = content[len(magic) : begin], content[begin:]
    if not content.startswith(magic) or hashlib.sha256(body).digest() != digest:
        return None
    try:
        unpacking = zlib.decompressobj()
        document: object = json.loads(unpacking.decompress(body, _MOST_UNPACKED_BYTES))
    except (zlib.error, ValueError, RecursionError):
        return None
    if not unpacking.eof or not isinstance(document, dict):
        return None
    entries = cast("dict[str, object]", document)
    return entries if entries.get("name") == name else None


class CacheError(WattsliceError):
    """A folder that cannot be the cache: somebody else could write to it, or nobody can."""


def is_used(path: Path) -> bool:
    """Whether results were ever kept there: asking about a cache should not make one.

    True as well of what is no folder, which whoever opens it is told.
    """
    return os.path.lexists(path / NAME) or (os.path.lexists(path) and not path.is_dir())


class Usage(NamedTuple):
    """What the folder holds: results of files, and the size of everything."""

    entries: int
    size_bytes: int


class CacheFolder:
    """An open cache folder `path`/results, made if it is not there. Raises `CacheError`."""

    def __init__(self, path: Path, limit_bytes: int = CACHE_MIB << 20) -> None:
        self.path = path
        self.limit_bytes = limit_bytes
        self._descriptor = _open_own(path)
        self._written_bytes = 0

    def close(self) -> None:
        """Give the folder back to the system."""
        os.close(self._descriptor)

    def read(self, name: str) -> bytes | None:
        """The content of an entry, which counts as used now; None when there is none that can be read."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(name, flags, dir_fd=self._descriptor)
        except OSError:
            return None
        with contextlib.suppress(OSError), os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
                return None
            if status.st_uid != os.geteuid():  # somebody was let into the folder once
                return None
            content = file.read()
            with contextlib.suppress(OSError):
                os.utime(descriptor)
            return content
        return None

    def write(self, name: str, content: bytes) -> None:
        """Keep `content`, in place of what the entry held. A full or read-only disk is no error."""
        scratch = f".{name}.{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            descriptor = os.open(scratch, flags, 0o600, dir_fd=self._descriptor)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            os.replace(scratch, name, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except OSError:
            self._remove(scratch)
            return
        self._written_bytes += len(content)
        if name.rpartition("-")[2].startswith(_TRIMS) or self._written_bytes > self.limit_bytes // 8:
            self.trim()

    def trim(self) -> None:
        """Remove what was longest not used while the folder is over its limit, and what writers left half."""
        self._written_bytes = 0
        found = self._files(_ENTRY)
        size_bytes = sum(size for _, size, _ in found)
        if size_bytes > self.limit_bytes:
            for _, size, name in sorted(found):
                self._remove(name)
                size_bytes -= size
                if size_bytes <= _KEPT_SHARE * self.limit_bytes:
                    break
        before = time.time() - _ABANDONED_S
        for used, _, name in self._files(_SCRATCH):
            if used < before:
                self._remove(name)

    def clear(self) -> Usage:
        """Remove everything; what there was."""
        usage = self.usage()
        for pattern in (_ENTRY, _SCRATCH):
            for _, _, name in self._files(pattern):
                self._remove(name)
        return usage

    def usage(self) -> Usage:
        """How much there is."""
        found = self._files(_ENTRY)
        results = [name for *_, name in found if _RESULT.fullmatch(name)]
        return Usage(len(results), sum(size for _, size, _ in found))

    def _files(self, pattern: re.Pattern[str]) -> list[tuple[float, int, str]]:
        """(seconds when last used, bytes, name) of our own files; anything else is not ours to touch."""
        found: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError), os.scandir(self._descriptor) as entries:
            for entry in entries:
                if pattern.fullmatch(entry.name):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, entry.name))
        return found

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._descriptor)


def _open_own(path: Path) -> int:
    """A descriptor of the folder `path`/results. Both folders must be the user's own and nobody else's."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        outer = os.open(path, flags)
    except OSError as error:
        raise _unusable(path, error.strerror or "cannot be made") from None
    try:
        _check_own(path, os.fstat(outer))
        with contextlib.suppress(FileExistsError):
            os.mkdir(NAME, 0o700, dir_fd=outer)
        descriptor = os.open(NAME, flags | os.O_NOFOLLOW, dir_fd=outer)
    except OSError as error:
        raise _unusable(path / NAME, error.strerror or "cannot be made") from None
    finally:
        os.close(outer)
    try:
        _check_own(path / NAME, os.fstat(descriptor))
    except CacheError:
        os.close(descriptor)
        raise
    return descriptor


def _check_own(path: Path, status: os.stat_result) -> None:
    if status.st_uid != os.geteuid():
        raise _unusable(path, "it belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        who = "everybody" if status.st_mode & stat.S_IWOTH else "its group"
        raise _unusable(path, f"{who} may write to it")


def _unusable(path: Path, reason: str) -> CacheError:
    return CacheError(f"not used as cache: {reason}", path=path, remedy=OTHER_CACHE)
