"""Findings as the editor underlines them."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from wattslice.errors import WattsliceError
from wattslice.findings import GATE_RULES, Finding
from wattslice.ir import Severity
from wattslice.lsp.documents import Document
from wattslice.lsp.figures import stake_text
from wattslice.lsp.line_map import LineMap
from wattslice.lsp.positions import Encoding, whole_line
from wattslice.lsp.views import View
from wattslice.report.printable import printable

SOURCE = "wattslice"
MOST = 500
"""Of one document; an editor shows them all."""
_STALE = "the watts shown are those of the last text that could be read"


def diagnostics_of(
    view: View, document: Document, lines: LineMap, encoding: Encoding
) -> list[types.Diagnostic]:
    """What the analysis has to tell of this document, at the lines as they are now."""
    found: list[types.Diagnostic] = []
    for finding in view.findings:
        now = lines.now(max(0, finding.line - 1))
        if now is not None:
            found.append(_diagnostic(finding, now, document, encoding))
    for finding in view.elsewhere:
        now = lines.now(view.place_of(finding) - 1) if finding.file else None
        if now is not None:
            diagnostic = _diagnostic(finding, now, document, encoding)
            diagnostic.related_information = [_where(finding)]
            found.append(diagnostic)
    return found[:MOST]


def torn(view: View, document: Document, lines: LineMap, encoding: Encoding) -> list[types.Diagnostic]:
    """What cannot be read in a text whose figures are not shown."""
    found: list[types.Diagnostic] = []
    for finding in view.unreadable():
        now = lines.now(max(0, finding.line - 1))
        if now is not None:
            diagnostic = _diagnostic(finding, now, document, encoding)
            diagnostic.message += f"\n{_STALE}"
            found.append(diagnostic)
    if not found:
        message = f"a kernel cannot be read any more; {_STALE}"
        found.append(_plain(message, "PW001", 0, document, encoding, types.DiagnosticSeverity.Warning))
    return found


def failure(
    error: WattsliceError, document: Document, encoding: Encoding, *, is_stale: bool
) -> types.Diagnostic:
    """Why the document, or its settings, could not be read at all."""
    place = ""
    line = (error.line or 1) - 1
    if error.path is not None and error.path != document.path:
        place = f"{error.path}:{error.line}: " if error.line is not None else f"{error.path}: "
        line = 0
    message = f"{place}{error.message}" + (f" ({error.remedy})" if error.remedy else "")
    if is_stale:
        message += f"\n{_STALE}"
    return _plain(message, None, line, document, encoding, types.DiagnosticSeverity.Error)


def _diagnostic(finding: Finding, line: int, document: Document, encoding: Encoding) -> types.Diagnostic:
    message = finding.message
    if stake := stake_text(finding.power_w, finding.energy_j):
        message += f"\n{stake}"
    if finding.fix:
        message += f"\n→ {finding.fix}"
    return _plain(message, finding.rule, line, document, encoding, _severity(finding))


def _plain(
    message: str,
    rule: str | None,
    line: int,
    document: Document,
    encoding: Encoding,
    severity: types.DiagnosticSeverity,
) -> types.Diagnostic:
    return types.Diagnostic(
        range=whole_line(line, document.line(line), encoding),
        message="\n".join(printable(part) for part in message.split("\n")),
        severity=severity,
        code=rule,
        source=SOURCE,
    )


def _severity(finding: Finding) -> types.DiagnosticSeverity:
    """Assumptions inform, those that nothing settles only hint; advice that saves nothing known informs.

    Over a budget is an error to the gate; to the compiler, whose errors these look like, it is none.
    """
    if finding.severity is Severity.ERROR and finding.rule not in GATE_RULES:
        return types.DiagnosticSeverity.Error
    if finding.severity is Severity.NOTE:
        return types.DiagnosticSeverity.Information if finding.fix else types.DiagnosticSeverity.Hint
    stakes = [stake for stake in (finding.power_w, finding.energy_j) if stake is not None]
    if stakes and max(stakes) <= 0:
        return types.DiagnosticSeverity.Information
    return types.DiagnosticSeverity.Warning


def _where(finding: Finding) -> types.DiagnosticRelatedInformation:
    position = types.Position(max(0, finding.line - 1), 0)
    location = types.Location(Path(finding.file).absolute().as_uri(), types.Range(position, position))
    return types.DiagnosticRelatedInformation(location, finding.message)
