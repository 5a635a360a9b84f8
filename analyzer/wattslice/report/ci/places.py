"""Where findings lie, as machines want it: paths from the root of the repository, URIs, fingerprints."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from wattslice.findings.findings import Finding
from wattslice.findings.quoting import Quoter
from wattslice.ir import Severity
from wattslice.patterns import regex

_SAFE = "/!$&'()*+,;=@-._~"
"""What RFC 3986 allows in a path, less the colon, which a relative reference must not have early on."""

_SURROGATE = regex("[\ud800-\udfff]")


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


class SourceTree:
    """The files below a root (`source_root()` by default), each looked up once: `place` tells where, `line`
    their text.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = source_root() if root is None else root.resolve()
        self._below = f"{str(self.root).rstrip('/')}/"
        self.place = cache(self._find)
        self.line = Quoter("", ()).line

    @property
    def root_uri(self) -> str:
        """The root as a URI that ends in a slash."""
        return f"file://{_quoted(self._below)}"

    def _find(self, file: str) -> Place:
        """Where `file`, as a finding names it, lies. A link is followed unless it leads outside."""
        parent, name = os.path.split(file)
        real, written = os.path.realpath(file), f"{os.path.realpath(parent).rstrip('/')}/{name}"
        for path in (real, written):
            if path.startswith(self._below):
                relative = path.removeprefix(self._below)
                return Place(relative, _quoted(relative), inside=True)
        return Place(real, f"file://{_quoted(real)}", inside=False)


def _quoted(path: str) -> str:
    return quote(os.fsencode(path), safe=_SAFE)


class Located(Struct, frozen=True):
    """A finding about a file. `text`: its line in the source, empty when it is about the whole file.

    `fingerprint`: no other finding of the run has it. 32 hexadecimal digits from rule, file (from the root),
    kernel and the text of the line without its white space, then which of several alike it is by line. So the
    line may move and be indented anew, other lines and the predicted watts may change; moving the file,
    renaming the kernel or rewriting the line makes a new finding.
    """

    finding: Finding
    place: Place
    text: str
    fingerprint: str

    @property
    def line(self) -> int:
        """From 1; the first line stands for the whole file."""
        return max(1, self.finding.line)


def located(findings: Iterable[Finding], tree: SourceTree) -> list[Located]:
    """Those findings that are about a file, in their order."""
    found: list[Located] = []
    for finding in findings:
        if finding.file:
            place, text = tree.place(finding.file), tree.line(finding.file, finding.line)
            parts = "\0".join((finding.rule, place.path, finding.kernel, "".join(text.split())))
            digest = hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            found.append(Located(finding, place, text, digest))
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
