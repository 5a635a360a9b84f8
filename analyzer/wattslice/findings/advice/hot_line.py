"""PW040: one source line draws most of what a kernel's operations draw."""

from __future__ import annotations

from collections.abc import Iterator

from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.ir import Severity

MOST_OF_IT = 0.75
"""Share of the watts of all operations."""
LEAST_LINES = 8
"""Lines that draw anything, below which it is no wonder."""
OF_THE_BOARD = 0.2
"""Share of the kernel's power that the line draws."""


def hot_line(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding. At stake is what the line draws, over the time of the launch."""
    lines, power_w, time_s = facts.hot_lines, facts.found.watts.power_w, facts.found.time_s
    if len(lines) < LEAST_LINES or power_w is None or time_s is None:
        return
    hottest = lines[0]
    if hottest.share < MOST_OF_IT or hottest.power_w < OF_THE_BOARD * power_w:
        return
    own = facts.kernel.span.file
    yield Advice(
        "PW040",
        hottest.line,
        f"this line draws {hottest.share:.0%} of what the {len(lines)} lines of the kernel draw",
        "start here: what makes this line cheaper, or run less often, makes the kernel cheaper",
        hottest.power_w,
        hottest.power_w * time_s,
        "" if hottest.file == own else hottest.file,
        Severity.NOTE,
    )
