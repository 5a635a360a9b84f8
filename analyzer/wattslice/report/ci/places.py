"""Where files lie, as machines want it: paths from the root of the repository, URIs, the text of lines."""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from wattslice.findings.quoting import text_of
from wattslice.ir import numbered_lines

_SAFE = "/!$&'()*+,;=@-._~"
"""What RFC 3986 allows in a path, less the colon, which a relative reference must not have early on."""

_SURROGATE = re.compile("[\ud800-\udfff]")

_OPEN = 16
"""Files whose lines are kept: findings come file by file."""


def source_root(start: Path | None = None) -> Path:
    """The folder that paths in reports are relative to: of the repository around `start`, else `start`.

    `start`: the current folder by default.
    """
    here = (start or Path.cwd()).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def clean(text: str) -> str:
    """`text` without what UTF-8 cannot say (the parts of a file name that are not UTF-8 themselves)."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


@dataclass(frozen=True, slots=True)
class Place:
    """A file as reports name it. `path`: from the root, or absolute when it lies outside; `/` between parts.

    `uri`: percent-encoded, relative to the root, or absolute (``file://``) outside of it.
    """

    path: str
    uri: str
    inside: bool


@dataclass(slots=True)
class _Text:
    """A file, empty when it could not be read: whole, its lines, and their hashes once somebody asked."""

    whole: str
    lines: tuple[str, ...]
    hashes: list[str] = field(default_factory=list[str])


class SourceTree:
    """The files below a root (`source_root()` by default), each looked up once."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = source_root() if root is None else root.resolve()
        self._below = f"{str(self.root).rstrip('/')}/"
        self._places: dict[str, Place] = {}
        self._texts: OrderedDict[str, _Text] = OrderedDict()

    @property
    def root_uri(self) -> str:
        """The root as a URI that ends in a slash."""
        return f"file://{_quoted(self._below)}"

    def place(self, file: str) -> Place:
        """Where `file`, as a finding names it, lies. A link is followed unless it leads outside."""
        if file not in self._places:
            self._places[file] = self._find(file)
        return self._places[file]

    def line(self, file: str, line: int) -> str:
        """The text of a line (from 1) without its end, empty when there is none or it cannot be read."""
        lines = self._text(file).lines
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def line_hash(self, file: str, line: int) -> str:
        """What `line_hashes` says of a line (from 1); empty when there is none or it cannot be read."""
        text = self._text(file)
        if text.whole and not text.hashes:
            from wattslice.report.ci.line_hashes import line_hashes

            text.hashes = line_hashes(text.whole)
        return text.hashes[line - 1] if 0 < line <= len(text.hashes) else ""

    def _text(self, file: str) -> _Text:
        if file not in self._texts:
            whole = text_of(file)
            self._texts[file] = _Text(whole, numbered_lines(whole))
            while len(self._texts) > _OPEN:
                self._texts.popitem(last=False)
        return self._texts[file]

    def _find(self, file: str) -> Place:
        parent, name = os.path.split(file)
        real, written = os.path.realpath(file), f"{os.path.realpath(parent).rstrip('/')}/{name}"
        for path in (real, written):
            if path.startswith(self._below):
                relative = path.removeprefix(self._below)
                return Place(relative, _quoted(relative), inside=True)
        return Place(real, f"file://{_quoted(real)}", inside=False)


def _quoted(path: str) -> str:
    return quote(os.fsencode(path), safe=_SAFE)
