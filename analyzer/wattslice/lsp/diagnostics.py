"""Findings as the editor underlines them."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types

from wattslice.errors import FrontendError, WattsliceError
from wattslice.findings.findings import GATE_RULES, Finding
from wattslice.ir import Severity
from wattslice.lsp.documents import Document, Encoding, LineMap, whole_line
from wattslice.lsp.views import Torn, View, stake_text
from wattslice.units import printable

SOURCE = "wattslice"
MOST = 500
"""Of one document; an editor shows them all."""
_STALE = "the watts shown are those of the last text that could be read"


def diagnostics_of(
    view: View, document: Document, lines: LineMap, encoding: Encoding, torn: tuple[Torn, ...] = ()
) -> list[types.Diagnostic]:
    """What the analysis has to tell of this document, at the lines as they are now; of very much the most
    important. `torn`: kernels whose figures are those of an earlier text.
    """
    found: list[tuple[Finding, types.Diagnostic]] = []
    for finding in view.findings:
        now = lines.now(max(0, finding.line - 1))
        if now is not None:
            diagnostic = _diagnostic(finding, now, document, encoding)
            if names := [entry.name for entry in torn if finding in entry.why]:
                diagnostic.message += f"\n{', '.join(names)}: {_STALE}"
            found.append((finding, diagnostic))
    for finding in view.elsewhere:
        now = lines.now(view.place_of(finding) - 1) if finding.file else None
        if now is not None:
            diagnostic = _diagnostic(finding, now, document, encoding)
            diagnostic.related_information = [_where(finding)]
            found.append((finding, diagnostic))
    told = [_unread(entry, lines, document, encoding) for entry in torn if not entry.why]
    if not view.is_in_pieces:
        warning = types.DiagnosticSeverity.Warning
        told += (
            _plain(complaint, None, 0, document, encoding, warning)
            for complaint in view.analysis.unmatched_settings
        )
    if len(found) > MOST:
        more = len(found) - MOST
        message = f"{more} more findings: {MOST} are shown here, wattslice analyze and gate tell all"
        information = types.DiagnosticSeverity.Information
        told.append(_plain(message, None, 0, document, encoding, information))
        chosen = {id(entry) for entry in sorted(found, key=_importance)[:MOST]}
        found = [entry for entry in found if id(entry) in chosen]
    return [*told, *(diagnostic for _, diagnostic in found)]


def _importance(entry: tuple[Finding, types.Diagnostic]) -> tuple[int, bool, float]:
    """Smaller for what matters more: errors first; of warnings, what is no advice, then what saves most."""
    finding, diagnostic = entry
    severity = int(diagnostic.severity or types.DiagnosticSeverity.Hint)
    is_advice = bool(finding.kernel) and finding.rule not in GATE_RULES
    return severity, is_advice, -max(finding.energy_j or 0.0, 0.0)


def _unread(torn: Torn, lines: LineMap, document: Document, encoding: Encoding) -> types.Diagnostic:
    message = f"{torn.name} cannot be read any more; {_STALE}"
    warning = types.DiagnosticSeverity.Warning
    return _plain(message, "PW001", lines.now(torn.line - 1) or 0, document, encoding, warning)


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
    rule = "PW001" if isinstance(error, FrontendError) else None
    return _plain(message, rule, line, document, encoding, types.DiagnosticSeverity.Error)


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
