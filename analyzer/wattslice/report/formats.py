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
    from wattslice.findings import Finding


def _text(analysis: Analysis, _findings: tuple[Finding, ...]) -> str:
    from wattslice.report.text import write_text

    buffer = StringIO()
    write_text(analysis, buffer)
    return buffer.getvalue()


def _json(analysis: Analysis, _findings: tuple[Finding, ...]) -> str:
    from wattslice.report.json import render_json

    return render_json(analysis)


def _gcc(analysis: Analysis, findings: tuple[Finding, ...]) -> str:
    from wattslice.report.gcc import render_gcc

    return render_gcc(analysis, findings)


_RENDERERS: dict[str, Callable[[Analysis, tuple[Finding, ...]], str]] = {
    "text": _text,
    "json": _json,
    "gcc": _gcc,
}

FORMATS: tuple[str, ...] = tuple(_RENDERERS)
"""Names of the formats, `text` (for people) first."""


def render(name: str, analysis: Analysis, findings: tuple[Finding, ...]) -> str:
    """The result as one text in the format `name` (of `FORMATS`), with a newline at its end.

    `findings`: what is to be told beside the kernels, `findings_of(analysis)` or those of a gate before them.
    `text` and `json` tell what the analysis says and leave findings of a gate out.
    """
    return _RENDERERS[name](analysis, findings)
