"""What whole commands said, kept for when nothing has changed that they were made of.

`keeper.py` keeps what one file gave; a run over files that have not changed still has to read that, join it
and render it. Here stands what the run printed. It is asked for before anything else of the program is
imported, so it imports the standard library alone. An answer holds while the words of the command, the
environment, the terminal, the installation, the user's models and every input are the same; a command that
ended with an error, wrote to a file or has a cache of its own is not kept. One that found nothing in some of
the files is: its exit status is part of the answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from wattslice.errors import WattsliceError
from wattslice.frontend.inputs import file_bytes, recorded
from wattslice.pipeline.cache.current import (
    CurrentInputs,
    inputs_document,
    installation_stamp,
    read_inputs,
    stamp_of,
)
from wattslice.pipeline.cache.folder import CacheFolder, is_used, packed, unpacked
from wattslice.user_folders import DRIVER_FOLDER, config_folder, default_cache
from wattslice_models.user_folder import user_models

COMMANDS = frozenset(("analyze", "annotate", "gpus", "explain"))
_NOT_WITH = ("-o", "--no-cache", "--cache", "--backend", "--scheduler")
"""Options that write, choose another cache, or ask somebody else."""
_SAYS_NOTHING = frozenset(("_", "OLDPWD", "PWD", "SHLVL", "GPG_TTY", "WINDOWID"))
"""Variables of a shell that change from one command to the next."""
_MAGIC = b"wattslice answer 2\n"
_MOST_BYTES = 48 << 20
OUT, ERR = "out", "err"


def answered(
    words: Sequence[str],
    run: Callable[[], int],
    writing: Callable[[], contextlib.AbstractContextManager[None]],
) -> int:
    """Print what these words said before, if that still holds; else `run`, and keep what it prints.

    The exit status of either. `writing`: what goes around whatever is written to stdout, for its failures.
    """
    folder = _folder(words)
    if folder is None:
        return run()
    name = _name(words)
    if (known := _printed(folder, name, writing)) is not None:
        return known
    told = _Told(sys.stdout)
    with recorded() as recording, told.listening():
        status = run()
    inputs = recording.inputs
    if inputs is not None and told.is_complete:
        document = {"name": name, "inputs": inputs_document(inputs), "said": told.said, "status": status}
        with contextlib.suppress(WattsliceError):
            opened = CacheFolder(folder)
            opened.write(name, packed(_MAGIC, document))
            opened.close()
    return status


def _folder(words: Sequence[str]) -> Path | None:
    """Where answers are kept; None for a command whose answer is not."""
    if not words or words[0] not in COMMANDS or "-" in words or "GITHUB_STEP_SUMMARY" in os.environ:
        return None
    if any(word.startswith(_NOT_WITH) for word in words[1:]) or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        return None
    try:
        return None if _settings_say_cache() else default_cache()
    except WattsliceError:
        return None


def _settings_say_cache() -> bool:
    """Whether the user's own settings may choose the folder of the cache, its size, or none."""
    with contextlib.suppress(OSError, RuntimeError):
        return b"cache" in file_bytes(config_folder() / "wattslice.toml", 1 << 20)
    return False


def _name(words: Sequence[str]) -> str:
    """A digest of all but the inputs that decides what a command says."""
    variables = sorted(entry for entry in os.environ.items() if entry[0] not in _SAYS_NOTHING)
    try:
        gpus = sorted(os.listdir(DRIVER_FOLDER))  # noqa: PTH208
    except OSError:
        gpus = []
    terminals = [
        (stream is not None and stream.isatty(), str(getattr(stream, "encoding", "")))
        for stream in (sys.stdout, sys.stderr)
    ]
    width = ""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        width = str(os.get_terminal_size(sys.stdout.fileno()))
    installed = installation_stamp(), stamp_of(user_models())
    parts = (installed, os.getcwd(), list(words), variables, gpus, terminals, width)  # noqa: PTH109
    return "answer-" + hashlib.sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()


def _printed(
    path: Path, name: str, writing: Callable[[], contextlib.AbstractContextManager[None]]
) -> int | None:
    """The exit status of an answer that holds, which is then on the streams; None without one."""
    if not is_used(path):
        return None
    try:
        folder = CacheFolder(path)
    except WattsliceError:  # whoever runs the command tells it
        return None
    content = folder.read(name)
    folder.close()
    known = None if content is None else _holding(name, content)
    if known is None:
        return None
    said, status = known
    with writing():
        for stream, text in said:
            (sys.stdout if stream == OUT else sys.stderr).write(text)
    return status


def _holding(name: str, content: bytes) -> tuple[list[tuple[str, str]], int] | None:
    document: Any = unpacked(_MAGIC, name, content)
    try:
        inputs = read_inputs(document["inputs"])
        said = [(str(stream), str(text)) for stream, text in document["said"]]
        status = int(document["status"])
    except (ValueError, KeyError, TypeError):
        return None
    return (said, status) if CurrentInputs().hold(inputs) else None


class _Told:
    """Stands in for stdout and hears what is written; what goes to stderr is told by `heard`."""

    def __init__(self, stdout: TextIO) -> None:
        self._stdout = stdout
        self.said: list[tuple[str, str]] = []
        self._size = 0

    @property
    def is_complete(self) -> bool:
        """Whether all of it is here: a report of many megabytes is not."""
        return self._size <= _MOST_BYTES

    @contextlib.contextmanager
    def listening(self) -> Generator[None]:
        """Meanwhile it stands in."""
        global _listener
        sys.stdout, _listener = cast("TextIO", self), self
        try:
            yield
        finally:
            sys.stdout, _listener = self._stdout, None

    def hear(self, stream: str, text: str) -> None:
        """Something was written."""
        self._size += len(text)
        if self.is_complete:
            self.said.append((stream, text))

    def write(self, text: str) -> int:
        """To stdout, which refuses the bytes that click tries it with."""
        written = self._stdout.write(text)
        self.hear(OUT, text)
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self._stdout, name)


_listener: _Told | None = None


def heard(text: str) -> None:
    """A message went to stderr, which belongs to what a command says."""
    if _listener is not None:
        _listener.hear(ERR, text)
