"""The report for GitLab's code quality: an array of issues in its part of Code Climate's format."""

from __future__ import annotations

import json

from wattslice.analysis import Analysis
from wattslice.findings.findings import Finding
from wattslice.ir import Severity
from wattslice.report.ci.places import SourceTree, clean, located
from wattslice.report.json_values import Json

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render_gitlab(
    _analysis: Analysis,
    findings: tuple[Finding, ...],
    _status: int | None = None,
    tree: SourceTree | None = None,
) -> str:
    """One issue per finding about a file, in their order; a newline ends the array.

    What concerns no file is left out: GitLab shows nothing without a path.
    """
    issues: Json = [
        {
            "description": f"{_line(one.finding.message)}{_hint(one.finding)}",
            "check_name": one.finding.rule,
            "fingerprint": one.fingerprint.replace(":", ""),
            "severity": _SEVERITIES[one.finding.severity],
            "location": {"path": clean(one.place.path), "lines": {"begin": one.line}},
        }
        for one in located(findings, tree or SourceTree())
    ]
    return json.dumps(issues, indent=1) + "\n"


def _hint(finding: Finding) -> str:
    return f" ({_line(finding.fix)})" if finding.fix else ""


def _line(text: str) -> str:
    return clean(" ".join(text.split()))
