"""Messages on a byte stream: `Content-Length: N`, an empty line, N bytes of JSON."""

from __future__ import annotations

import re
from typing import BinaryIO

MOST_BYTES = 256 << 20
"""Of one message; the largest source that is analysed has 32 MiB, and JSON may escape every byte of it."""
_MOST_HEADER_BYTES = 8 << 10
_MOST_HEADER_LINES = 64
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,12})[ \t]*", re.IGNORECASE)
_CHUNK = 1 << 20


class FrameError(Exception):
    """The stream is no sequence of messages; where the next one begins, nobody can tell."""


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next message, None at the end of the stream. Blocks. Raises `FrameError`."""
    length = _read_header(stream)
    if length is None:
        return None
    if length > MOST_BYTES:
        raise FrameError(f"a message of {length} bytes, at most {MOST_BYTES} are read")
    parts: list[bytes] = []
    while length:  # in parts: a length that lies does not cost its memory
        part = stream.read(min(length, _CHUNK))
        if not part:
            raise FrameError("the stream ends within a message")
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _read_header(stream: BinaryIO) -> int | None:
    length: int | None = None
    for number in range(_MOST_HEADER_LINES):
        line = stream.readline(_MOST_HEADER_BYTES)
        if not line and number == 0:
            return None
        if not line.endswith(b"\n"):
            raise FrameError("a header line without an end")
        text = line.strip(b"\r\n")
        if not text and length is not None:
            return length
        if found := _LENGTH.fullmatch(text):
            length = int(found[1])
        elif text and b":" not in text:
            raise FrameError("what should be a header is none")
        elif not text:
            raise FrameError("a header without Content-Length")
    raise FrameError(f"a header of more than {_MOST_HEADER_LINES} lines")
