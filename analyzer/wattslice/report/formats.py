"""The formats a result can be written in: `analyze --format` and `gate --format` share them.

A format turns the finished analysis and the findings to be told into one text; what it needs is imported when
it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the names of the formats are part of --help, which must not wait for numpy
    from wattslice.analysis import Analysis
    from wattslice.findings.findings import Finding


Renderer = Callable[["Analysis", "tuple[Finding, ...]", "int | None"], str]


def _text(analysis: Analysis, _findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.text import write_text

    buffer = StringIO()
    write_text(analysis, buffer)
    return buffer.getvalue()


def _json(analysis: Analysis, _findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.json import render_json

    return render_json(analysis)


def _gcc(analysis: Analysis, findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.ci.gcc import render_gcc

    return render_gcc(analysis, findings)


def _sarif(analysis: Analysis, findings: tuple[Finding, ...], status: int | None) -> str:
    from wattslice.report.ci.sarif import render_sarif

    return render_sarif(analysis, findings, status)


def _github(analysis: Analysis, findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.ci.github import render_github

    return render_github(analysis, findings)


def _junit(analysis: Analysis, findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.ci.junit import render_junit

    return render_junit(analysis, findings)


def _gitlab(_analysis: Analysis, findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.ci.gitlab import render_gitlab

    return render_gitlab(findings)


def _html(analysis: Analysis, _findings: tuple[Finding, ...], _status: int | None) -> str:
    from wattslice.report.html.page import render_html

    return render_html(analysis)


_RENDERERS: dict[str, Renderer] = {
    "text": _text,
    "json": _json,
    "gcc": _gcc,
    "sarif": _sarif,
    "github": _github,
    "junit": _junit,
    "gitlab": _gitlab,
    "html": _html,
}

FORMATS: tuple[str, ...] = tuple(_RENDERERS)
"""Names of the formats, `text` (for people) first."""


def render(name: str, analysis: Analysis, findings: tuple[Finding, ...], status: int | None = None) -> str:
    """The result as one text in the format `name` (of `FORMATS`), with a newline at its end.

    `findings`: what is to be told beside the kernels, `findings_of(analysis)` or those of a gate before them.
    Suppressed ones among them are told by `sarif` alone, which adds those of the analysis.
    `text`, `json` and `html` tell what the analysis says and leave findings of a gate out. `status`: the exit
    status that the command will end with, for formats that tell it.
    """
    if name != "sarif":
        findings = not_suppressed(findings)
    return _RENDERERS[name](analysis, findings, status)


def not_suppressed(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """Those that no comment in the source suppresses."""
    return tuple(finding for finding in findings if finding.suppressed is None)
