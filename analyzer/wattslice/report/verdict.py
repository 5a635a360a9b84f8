"""The gate's verdict for people."""

from __future__ import annotations

from typing import TextIO

from rich.text import Text

from wattslice.analysis import Analysis
from wattslice.gate import Verdict
from wattslice.report.bars import COOL, HOT
from wattslice.report.text import finding_table, make_console, print_stripped


def write_verdict(verdict: Verdict, analysis: Analysis, file: TextIO) -> None:
    """The findings, then one line with the outcome."""
    console = make_console(file)
    if verdict.findings:
        print_stripped(console, finding_table(verdict.findings, console.width), "")
    over = sum(finding.rule == "PW020" for finding in verdict.findings)
    unverified = sum(finding.rule == "PW022" for finding in verdict.findings)
    outcome = "passed" if verdict.passed else "failed"
    words = [f"{verdict.checked} checked", f"{over} over {verdict.max_power_w:g} W"]
    if unverified:
        words.append(f"{unverified} unknown")
    line = Text(f"gate {outcome}", style=f"bold {COOL if verdict.passed else HOT}")
    line.append(f": {', '.join(words)} on {analysis.gpu_id}", style="default not bold")
    print_stripped(console, line)
