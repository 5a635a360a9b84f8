"""The SARIF 2.1.0 report, for code scanning and for viewers in editors.

Findings are results, the most important first. Kernels, with their watts, are properties of the run: code
scanning would show each as an alert. Whatever the number of findings, the file stays within the limits of
GitHub's code scanning (docs/formats.md has the sources): the least important are left out, and a notification
says so.
"""

from __future__ import annotations

import json
import re
import zlib

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import Finding, all_findings, unread_files
from wattslice.findings.rules import RULES, Rule
from wattslice.ir import Severity
from wattslice.report.ci.places import Located, Place, SourceTree, clean, importance, located
from wattslice.report.json import power_fields
from wattslice.report.json_values import Json, fields, finite
from wattslice.version import __version__

MAX_RESULTS = 25_000
"""Results a run may have; a file with more is rejected."""

MAX_BYTES = 10_000_000
"""Of the file compressed by gzip; a larger one is rejected."""

MAX_TEXT = 1024
"""Characters of a rule's descriptions; our own bound of a result's message."""

_GITHUB_SEVERITY = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}


RULE_INDEX = {rule.id: index for index, rule in enumerate(RULES)}


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """At most `limit` characters; an ellipsis tells that there were more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _descriptor(rule: Rule) -> Json:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": clipped(rule.what)},
        "fullDescription": {"text": clipped(f"{rule.what} {rule.why}")},
        "help": {"text": _help(rule), "markdown": _markdown_help(rule)},
        "defaultConfiguration": {"level": rule.severity.value},
        "properties": {
            "tags": ["cuda", "energy", "power"],
            "problem.severity": _GITHUB_SEVERITY[rule.severity],
        },
    }


def _help(rule: Rule) -> str:
    return (
        f"{rule.what}\n\nWhy it matters: {rule.why}\n\nExample: {rule.example}\n\n"
        f"What to do: {rule.remedy}\n\nwattslice explain {rule.id} prints this."
    )


def _markdown_help(rule: Rule) -> str:
    return (
        f"{_escaped(rule.what)}\n\n**Why it matters:** {_escaped(rule.why)}\n\n"
        f"**Example:**\n\n```text\n{rule.example}\n```\n\n"
        f"**What to do:** {_escaped(rule.remedy)}\n\n`wattslice explain {rule.id}` prints this."
    )


def _escaped(text: str) -> str:
    """Markdown of a SARIF file must hold no HTML: `<line>` is one of our placeholders."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>&*_|])", r"\\\1", part) for part in parts)


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_FINGERPRINT = "wattslice/v1"
_MAX_SNIPPET = 200
_MAX_NOTIFICATIONS = 100
_NOT_READ = ("PW001", "PW099")
"""Rules that tell, as errors, of a file or kernel that the run could not do."""


def render_sarif(
    analysis: Analysis,
    findings: tuple[Finding, ...],
    status: int | None = None,
    tree: SourceTree | None = None,
) -> str:
    """One SARIF log with one run; a newline ends it. `status`: the exit status of the command, if known.

    What a comment in the source suppresses is among the results, marked as suppressed.
    """
    tree = tree or SourceTree()
    suppressed = (finding for finding in all_findings(analysis) if finding.suppressed is not None)
    every = located(dict.fromkeys((*findings, *suppressed)), tree)
    every.sort(key=lambda one: importance(one.finding))
    results = [_result(one) for one in every[:MAX_RESULTS]]
    while True:
        text = _log(analysis, findings, status, tree, results, len(every) - len(results))
        if not results or len(zlib.compress(text.encode(), 6)) <= MAX_BYTES:
            return text
        del results[len(results) * 4 // 5 :]


def _log(
    analysis: Analysis,
    findings: tuple[Finding, ...],
    status: int | None,
    tree: SourceTree,
    results: list[Json],
    left_out: int,
) -> str:
    root: Json = {"uri": tree.root_uri, "description": {"text": "The root of the repository."}}
    run: dict[str, Json] = {
        "tool": {
            "driver": {
                "name": "wattslice",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_descriptor(rule) for rule in RULES],  # in the order of `RULE_INDEX`
            }
        },
        "automationDetails": {"id": f"wattslice/{analysis.gpu_id}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"%SRCROOT%": root},
        "invocations": [_invocation(analysis, findings, status, tree, left_out)],
        "results": results,
        "properties": {
            "gpu": analysis.gpu_id,
            "gpu_name": analysis.gpu_name,
            "kernels": [_kernel(kernel, tree) for kernel in analysis.kernels],
        },
    }
    log: Json = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    # ASCII and without spaces: half the size, and no encoding of a terminal can spoil it.
    return json.dumps(log, separators=(",", ":"), allow_nan=False) + "\n"


def _result(one: Located) -> Json:
    finding = one.finding
    result: dict[str, Json] = {"ruleId": finding.rule}
    if finding.rule in RULE_INDEX:
        result["ruleIndex"] = RULE_INDEX[finding.rule]
    location: dict[str, Json] = {
        "physicalLocation": {"artifactLocation": _artifact(one.place), "region": _region(one)}
    }
    if finding.kernel:
        location["logicalLocations"] = [{"name": clean(finding.kernel), "kind": "function"}]
    hint = f" ({finding.fix})" if finding.fix else ""
    result |= {
        "level": finding.severity.value,
        "message": {"text": _plain(finding.message + hint)},
        "locations": [location],
        "partialFingerprints": {_FINGERPRINT: one.fingerprint},
    }
    if finding.suppressed is not None:
        result["suppressions"] = [{"kind": "inSource", "justification": _plain(finding.suppressed)}]
    stake = {"power_w": finite(finding.power_w), "energy_j": finite(finding.energy_j)}
    if any(value is not None for value in stake.values()):
        result["properties"] = {**stake}
    return result


def _region(one: Located) -> Json:
    """The whole line without its indentation; only its number where the text is not known."""
    text = clean(one.text).rstrip()
    if not text:
        return {"startLine": one.line}
    start = len(text) - len(text.lstrip())
    region: dict[str, Json] = {"startLine": one.line, "startColumn": start + 1, "endColumn": len(text) + 1}
    if len(text) - start <= _MAX_SNIPPET:
        region["snippet"] = {"text": text[start:]}
    return region


def _artifact(place: Place) -> Json:
    return {"uri": place.uri, "uriBaseId": "%SRCROOT%"} if place.inside else {"uri": place.uri}


def _plain(text: str) -> str:
    """A message of the length that viewers take; `](` would begin a link to one of its locations."""
    return clipped(clean(" ".join(text.split())).replace("](", "] ("))


def _kernel(kernel: KernelAnalysis, tree: SourceTree) -> Json:
    return {
        "name": clean(kernel.source.qualified_name),
        "location": {
            "physicalLocation": {
                "artifactLocation": _artifact(tree.place(kernel.source.file)),
                "region": {"startLine": max(1, kernel.source.line)},
            }
        },
        "launch_line": kernel.launch.line,
        "data": kernel.launch.data,
        **power_fields(kernel.power),
        **fields(kernel, "time_s", "energy_j"),
    }


def _invocation(
    analysis: Analysis, findings: tuple[Finding, ...], status: int | None, tree: SourceTree, left_out: int
) -> Json:
    """How the run went: what concerns no file at all, what could not be done, how much was left out."""
    told = [
        finding
        for finding in findings
        if not finding.file or (finding.rule in _NOT_READ and finding.severity is Severity.ERROR)
    ]
    notifications: list[Json] = []
    if left_out:
        text = (
            f"{left_out} findings were left out to stay within the limits of code scanning: "
            "notes first, then those with the fewest watts at stake."
        )
        notifications.append({"level": "warning", "message": {"text": text}})
    notifications += [_notification(finding, tree) for finding in told[:_MAX_NOTIFICATIONS]]
    invocation: dict[str, Json] = {
        "executionSuccessful": bool(analysis.kernels) and not unread_files(analysis)
    }
    if status is not None:
        invocation["exitCode"] = status
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    return invocation


def _notification(finding: Finding, tree: SourceTree) -> Json:
    notification: dict[str, Json] = {
        "level": finding.severity.value,
        "message": {"text": _plain(finding.message)},
    }
    if finding.rule in RULE_INDEX:
        notification["associatedRule"] = {"id": finding.rule, "index": RULE_INDEX[finding.rule]}
    if finding.file:
        place: dict[str, Json] = {"artifactLocation": _artifact(tree.place(finding.file))}
        if finding.line:
            place["region"] = {"startLine": finding.line}
        notification["locations"] = [{"physicalLocation": place}]
    return notification
