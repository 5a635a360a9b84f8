"""Output streams that know few characters, and readers that leave: the report goes on in either case."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys

TYPE_CHECKING = False  # as in cli.py
if TYPE_CHECKING:
    from collections.abc import Generator

_PLAIN = str.maketrans(
    {
        **dict.fromkeys("█▉▊▋▌", "#"),
        **dict.fromkeys("▍▎▏│", "|"),
        **dict.fromkeys("–─—░−", "-"),
        "▓": "=",
        "·": ".",
        "…": "~",
        "⋯": "~",
        "└": "`",
        "↓": "v",
        "→": ">",
        "×": "x",
        "µ": "u",
        "δ": "d",
        "’": "'",
    }
)
"""One character for one, so that columns stay columns."""


def _plainly(error: UnicodeError) -> tuple[str, int]:
    """What a stream cannot encode, in ASCII: the nearest sign, else a question mark."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end].translate(_PLAIN)
    return "".join(sign if sign.isascii() else "?" for sign in text), error.end


def prepare_streams() -> None:
    """A terminal that knows only ASCII still gets its figures and bars."""
    codecs.register_error("wattslice", _plainly)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="wattslice")  # pyright: ignore[reportUnknownMemberType,reportAttributeAccessIssue]


class StdoutError(Exception):
    """stdout takes nothing (more): the disk is full. What it still held is dropped."""


def flush() -> None:
    """Write out what stdout still holds. A reader that has left (`| head`) read enough: no failure.

    Raises `StdoutError`.
    """
    with writing():
        if not is_closed():
            sys.stdout.flush()


def is_closed() -> bool:
    """Whether the program was begun without a stdout (``>&-``): Python then has none."""
    return sys.stdout is None  # pyright: ignore[reportUnnecessaryComparison]


@contextlib.contextmanager
def writing() -> Generator[None]:
    """Meanwhile stdout is written to, and whatever fails without a file's name is its failure."""
    try:
        yield
    except BrokenPipeError:
        _drop()
    except OSError as error:
        if error.filename is not None:
            raise
        _drop()
        raise StdoutError(error.strerror or type(error).__name__) from None


def _drop() -> None:
    """Else Python tries again to write it when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
