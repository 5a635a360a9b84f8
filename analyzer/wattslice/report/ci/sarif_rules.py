"""The rules of a SARIF file, and the limits of GitHub's code scanning (docs/formats.md has the sources)."""

from __future__ import annotations

import re

from wattslice.findings.rules import RULES, Rule
from wattslice.ir import Severity
from wattslice.report.json import Json

MAX_RESULTS = 25_000
"""Results a run may have; a file with more is rejected."""

MAX_BYTES = 10_000_000
"""Of the file compressed by gzip; a larger one is rejected."""

MAX_TEXT = 1024
"""Characters of a rule's descriptions; our own bound of a result's message."""

_ERRORS = frozenset({"PW020", "PW022", "PW023", "PW099"})
_NOTES = frozenset(
    {"PW005", "PW006", "PW010", "PW011", "PW012", "PW013", "PW015", "PW016", "PW019", "PW027", "PW030"}
)
_GITHUB_SEVERITY = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "recommendation"}


def default_severity(rule: str) -> Severity:
    """How much findings of a rule matter as a rule; a finding of its own says how much that one does."""
    if rule in _ERRORS:
        return Severity.ERROR
    return Severity.NOTE if rule in _NOTES else Severity.WARNING


RULE_INDEX = {rule.id: index for index, rule in enumerate(RULES)}


def rule_descriptors() -> list[Json]:
    """A `reportingDescriptor` for every rule there is, in the order of `RULE_INDEX`."""
    return [_descriptor(rule) for rule in RULES]


def clipped(text: str, limit: int = MAX_TEXT) -> str:
    """At most `limit` characters; an ellipsis tells that there were more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _descriptor(rule: Rule) -> Json:
    severity = default_severity(rule.id)
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": clipped(rule.what)},
        "fullDescription": {"text": clipped(f"{rule.what} {rule.why}")},
        "help": {"text": _help(rule), "markdown": _markdown_help(rule)},
        "defaultConfiguration": {"level": severity.value},
        "properties": {
            "tags": ["cuda", "energy", "power"],
            "problem.severity": _GITHUB_SEVERITY[severity],
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
