"""``k << <grid, block >> > (x)``: launch brackets torn apart by a formatter; clang refuses them."""

from __future__ import annotations

import re

_TORN = re.compile(rb"<[ \t]*<[ \t]*<(?P<configuration>[^;{}]*?)>[ \t]*>[ \t]*>(?=\s*\()")


def joined_brackets(source: bytes) -> bytes:
    """`source` with such brackets joined; everything else, and every place in it, stays as it is."""
    if b"<< <" not in source and b"< <<" not in source:
        return source
    return _TORN.sub(_joined, source)


def _joined(launch: re.Match[bytes]) -> bytes:
    begin, end = launch.span("configuration")
    opening, closing = begin - launch.start(), launch.end() - end
    return b"<<<".ljust(opening) + launch["configuration"] + b">>>".rjust(closing)
