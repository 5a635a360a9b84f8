"""The gate's verdict for people."""

from __future__ import annotations

from typing import TextIO

from rich.text import Text

from wattslice.analysis import Analysis
from wattslice.gate.verdict import Verdict
from wattslice.ir import Severity
from wattslice.report.bars import COOL, HOT
from wattslice.report.text import finding_table, make_console, print_stripped


def write_verdict(verdict: Verdict, analysis: Analysis, file: TextIO) -> None:
    """The findings, then one line with the outcome."""
    console = make_console(file)
    if verdict.findings:
        print_stripped(console, finding_table(verdict.findings, console.width), "")
    outcome = "passed" if verdict.passed else "failed"
    line = Text(f"gate {outcome}", style=f"bold {COOL if verdict.passed else HOT}")
    words = ", ".join(_words(verdict))
    line.append(f": {words} on {analysis.gpu_id}", style="default not bold")
    print_stripped(console, line)


def _words(verdict: Verdict) -> list[str]:
    def number(rule: str, *severities: Severity) -> int:
        return sum(
            finding.rule == rule and (not severities or finding.severity in severities)
            for finding in verdict.findings
        )

    words = [f"{verdict.checked} checked"]
    if verdict.budgets:
        first = verdict.budgets[0]
        only = len(verdict.budgets) == 1 and first.max_energy_j is None and first.max_power_w is not None
        words.append(
            f"{number('PW020')} over {first.max_power_w:g} W" if only else f"{number('PW020')} over budget"
        )
    for compared in verdict.compared:
        worse = [finding for finding in compared.findings if finding.rule == "PW023"]
        warned = sum(finding.severity is Severity.WARNING for finding in worse)
        words.append(f"{len(worse) - warned} of {compared.pairs} worse {compared.against}")
        if warned:
            words.append(f"{warned} warned of")
    if unverified := number("PW022"):
        words.append(f"{unverified} unknown")
    if verdict.suppressed:
        words.append(f"{len(verdict.suppressed)} suppressed")
    return words
