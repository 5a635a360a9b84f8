"""Findings with their place and what stays the same of them while the file around them changes."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from wattslice.findings.findings import Finding
from wattslice.ir import Severity
from wattslice.report.ci.places import Place, SourceTree


@dataclass(frozen=True, slots=True)
class Located:
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
