"""Where findings lie, as machines want it: paths from the root of the repository, URIs, lines, fingerprints.

`line_hashes`: by which GitHub's code scanning knows an alert again (`primaryLocationLineHash`).
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from urllib.parse import quote

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.findings.findings import Finding
from wattslice.findings.quoting import text_of
from wattslice.ir import Severity, numbered_lines
from wattslice.patterns import regex

_SAFE = "/!$&'()*+,;=@-._~"
"""What RFC 3986 allows in a path, less the colon, which a relative reference must not have early on."""

_SURROGATE = regex("[\ud800-\udfff]")

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


class Place(Struct, frozen=True):
    """A file as reports name it. `path`: from the root, or absolute when it lies outside; `/` between parts.

    `uri`: percent-encoded, relative to the root, or absolute (``file://``) outside of it.
    """

    path: str
    uri: str
    inside: bool


class _Text(Struct):
    """A file, empty when it could not be read: whole, its lines, and their hashes once somebody asked."""

    whole: str
    lines: tuple[str, ...]
    hashes: list[str] = field(default_factory=list[str])


class SourceTree:
    """The files below a root (`source_root()` by default), each looked up once: `place` tells where."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = source_root() if root is None else root.resolve()
        self._below = f"{str(self.root).rstrip('/')}/"
        self.place = cache(self._find)
        self._text = lru_cache(_OPEN)(_read)

    @property
    def root_uri(self) -> str:
        """The root as a URI that ends in a slash."""
        return f"file://{_quoted(self._below)}"

    def line(self, file: str, line: int) -> str:
        """The text of a line (from 1) without its end, empty when there is none or it cannot be read."""
        lines = self._text(file).lines
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def line_hash(self, file: str, line: int) -> str:
        """What `line_hashes` says of a line (from 1); empty when there is none or it cannot be read."""
        text = self._text(file)
        if text.whole and not text.hashes:
            text.hashes = line_hashes(text.whole)
        return text.hashes[line - 1] if 0 < line <= len(text.hashes) else ""

    def _find(self, file: str) -> Place:
        """Where `file`, as a finding names it, lies. A link is followed unless it leads outside."""
        parent, name = os.path.split(file)
        real, written = os.path.realpath(file), f"{os.path.realpath(parent).rstrip('/')}/{name}"
        for path in (real, written):
            if path.startswith(self._below):
                relative = path.removeprefix(self._below)
                return Place(relative, _quoted(relative), inside=True)
        return Place(real, f"file://{_quoted(real)}", inside=False)


def _read(file: str) -> _Text:
    whole = text_of(file)
    return _Text(whole, numbered_lines(whole))


def _quoted(path: str) -> str:
    return quote(os.fsencode(path), safe=_SAFE)


_BLOCK = 100
_BASE = 37
_END = 65535
_LINE_FEED = 10
_POWERS = tuple(np.uint64(pow(_BASE, _BLOCK - 1 - place, 2**64)) for place in range(_BLOCK))


def line_hashes(text: str) -> list[str]:
    """One per line of `text` (ends of lines as the text has them): hexadecimal digits, a colon, its count."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace(" ", "").replace("\t", "")
    written = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype="<u2").astype(np.uint64)
    units = np.concatenate((written, np.array([_END, *[0] * _BLOCK], dtype=np.uint64)))
    starts = np.concatenate((np.zeros(1, dtype=np.intp), np.flatnonzero(written == _LINE_FEED) + 1))
    values = np.zeros(len(starts), dtype=np.uint64)
    for place, power in enumerate(_POWERS):
        values += units[starts + place] * power  # modulo 2^64, as unsigned numbers are
    seen: Counter[int] = Counter()
    found: list[str] = []
    for value in values.tolist():
        seen[value] += 1
        found.append(f"{value:x}:{seen[value]}")
    return found


class Located(Struct, frozen=True):
    """A finding about a file. `text`: its line in the source, empty when it is about the whole file.

    `fingerprint`: no other finding of the run has it. 32 hexadecimal digits from rule, file (from the root),
    kernel and the text of the line without its white space, then which of several alike it is by line. So the
    line may move and be indented anew, other lines and the predicted watts may change; moving the file,
    renaming the kernel or rewriting the line makes a new finding. `line_hash`: see `SourceTree.line_hash`.
    """

    finding: Finding
    place: Place
    text: str
    fingerprint: str
    line_hash: str = ""

    @property
    def line(self) -> int:
        """From 1; the first line stands for the whole file."""
        return max(1, self.finding.line)


def located(findings: Iterable[Finding], tree: SourceTree, line_hashes: bool = False) -> list[Located]:
    """Those findings that are about a file, in their order; with `line_hash` only if they are asked for."""
    found: list[Located] = []
    for finding in findings:
        if finding.file:
            place, text = tree.place(finding.file), tree.line(finding.file, finding.line)
            parts = "\0".join((finding.rule, place.path, finding.kernel, "".join(text.split())))
            digest = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            line_hash = tree.line_hash(finding.file, max(1, finding.line)) if line_hashes else ""
            found.append(Located(finding, place, text, digest, line_hash))
    seen: Counter[str] = Counter()
    for index in sorted(range(len(found)), key=lambda index: found[index].line):
        digest = found[index].fingerprint
        seen[digest] += 1
        found[index] = replace(found[index], fingerprint=f"{digest}:{seen[digest]}")
    return found


_RANK = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def importance(finding: Finding) -> tuple[bool, int, float, float]:
    """Sorts what matters most first: errors, warnings, notes; in each by watts at stake, then by joules.

    What is suppressed comes last: nobody needs to act on it.
    """
    return (
        finding.suppressed is not None,
        _RANK[finding.severity],
        -(finding.power_w or 0.0),
        -(finding.energy_j or 0.0),
    )
