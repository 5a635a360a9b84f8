"""The report for GitHub Actions: workflow commands that annotate lines, and a summary of the step.

GitHub shows ten annotations of a kind per step; the ten findings that matter most are told as annotations,
whatever their kind, and all of them stand in the summary.
"""

from __future__ import annotations

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import Finding
from wattslice.findings.rules import RULES
from wattslice.ir import Severity
from wattslice.patterns import regex
from wattslice.report.ci.places import SourceTree, clean, importance
from wattslice.report.data_words import data_words
from wattslice.units import energy, power, printable, time

ANNOTATIONS = 10
"""Findings told as annotations."""

SUMMARY_BYTES = 1024 * 1024
"""What all summaries of a step may have together; GitHub shows nothing of a larger one."""

_MESSAGE = 4000
_RESERVE = 200
_KERNEL_HEADER = "| kernel | place | power | interval | time | energy |\n|---|---|--:|--:|--:|--:|\n"
_FINDING_HEADER = "| | rule | place | finding | at stake |\n|---|---|---|---|--:|\n"
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_NAMES = {rule.id: rule.name for rule in RULES}


def render_github(
    analysis: Analysis,
    findings: tuple[Finding, ...],
    _status: int | None = None,
    tree: SourceTree | None = None,
) -> str:
    """Workflow commands, the most important first, then a line that tells how many findings there are.

    No line but the commands holds text of the sources: the runner would obey commands in it.
    """
    tree = tree or SourceTree()
    first = sorted(findings, key=importance)[:ANNOTATIONS]
    lines = [_command(finding, tree) for finding in first]
    more = f", of which the {ANNOTATIONS} most important are shown" if len(findings) > len(first) else ""
    data = data_words(analysis.kernels, named=False)
    launches = f"{len(analysis.kernels)}{f' ({data})' if data else ''}"
    lines.append(f"wattslice: launches: {launches}, findings: {len(findings)}{more}")
    return "".join(f"{line}\n" for line in lines)


def _command(finding: Finding, tree: SourceTree) -> str:
    properties = {"title": f"{finding.rule} {_NAMES.get(finding.rule, '')}".rstrip()}
    if finding.file:
        place = {"file": tree.place(finding.file).path, "line": str(max(1, finding.line))}
        properties = place | properties
    told = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {told}::{_data(_message(finding))}"


def _message(finding: Finding) -> str:
    hint = f"\n{finding.fix}" if finding.fix else ""
    return f"{finding.message}{hint}"[:_MESSAGE]


def _data(text: str) -> str:
    """As actions/toolkit escapes the data of a command; other control characters do not get through."""
    shown = "\n".join(printable(line) for line in clean(text).replace("\r", "\n").split("\n"))
    return shown.replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    """As actions/toolkit escapes properties of a command. The name of a file stays what it is, but for signs
    that would steer the terminal of whoever reads the log.
    """
    text = "".join(sign if sign in "\r\n" else printable(sign) for sign in text)
    for sign in "%\r\n:,":
        text = text.replace(sign, f"%{ord(sign):02X}")
    return clean(text)


def step_summary(
    analysis: Analysis,
    findings: tuple[Finding, ...],
    room: int = SUMMARY_BYTES,
    tree: SourceTree | None = None,
) -> str:
    """Markdown of at most `room` bytes: a table of the kernels, most watts first, and one of the findings.

    Findings stand in order of importance. What does not fit is left out and counted.
    """
    tree = tree or SourceTree()
    text = f"## wattslice on {escaped(analysis.gpu_name)}\n"
    if analysis.kernels:
        text += f"\nD{escaped(data_words(analysis.kernels)[1:])}\n"
    if len(text.encode()) > room:
        return ""
    kernels = sorted(analysis.kernels, key=lambda kernel: -(kernel.power_w or 0.0))
    rows = [_kernel_row(kernel, tree) for kernel in kernels]
    text += _table("kernels", _KERNEL_HEADER, rows, (room - len(text.encode())) // 2)
    rows = [_finding_row(finding, tree) for finding in sorted(findings, key=importance)]
    return text + _table("findings", _FINDING_HEADER, rows, room - len(text.encode()))


def _table(title: str, header: str, rows: list[str], room: int) -> str:
    """The rows that fit; a line tells how many do not."""
    if not rows:
        return ""
    start = f"\n### {len(rows)} {title}\n\n{header}"
    left = room - len(start.encode()) - _RESERVE
    kept = 0
    for row in rows:
        left -= len(row.encode())
        if left < 0:
            break
        kept += 1
    if not kept:
        return ""
    cut = len(rows) - kept
    end = f"\n{cut} more {title} do not fit into the summary of a step.\n" if cut else ""
    return f"{start}{''.join(rows[:kept])}{end}"


def _kernel_row(kernel: KernelAnalysis, tree: SourceTree) -> str:
    source, watts = kernel.source, kernel.power
    cells = (
        escaped(source.qualified_name),
        escaped(f"{tree.place(source.file).path}:{source.line}"),
        power(kernel.power_w),
        "" if watts is None else f"{watts.low_w:.0f}–{watts.high_w:.0f} W",
        time(kernel.time_s),
        energy(kernel.energy_j),
    )
    return f"| {' | '.join(cells)} |\n"


def _finding_row(finding: Finding, tree: SourceTree) -> str:
    place = f"{tree.place(finding.file).path}:{max(1, finding.line)}" if finding.file else ""
    stake = power(finding.power_w) if finding.power_w is not None else ""
    message = escaped(_message(finding))
    cells = (_COMMANDS[finding.severity], finding.rule, escaped(place), message, stake)
    return f"| {' | '.join(cells)} |\n"


_MEANS_SOMETHING = regex(r"([\\`*_\[\]<>|~&@:#!$])")


def escaped(text: str) -> str:
    """`text` on one line as Markdown that shows just that: no link, mark, HTML, mention or table column."""
    return _MEANS_SOMETHING.sub(r"\\\1", printable(" ".join(clean(text).split())))
