"""What an analysis says beyond figures, as one flat list: diagnostics, assumptions, power limit.

Judging happens here and in `gate`; reports only print what these functions return.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from wattslice.analysis import Advice, Analysis, KernelAnalysis
from wattslice.ir import Diagnostic, Severity

_SAYS_WHY = ("PW031", "PW014", "PW015", "PW007", "PW099", "PW005", "PW001", "PW006")
"""Rules that can explain an unknown power, the likeliest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to tell, with its rule. `kernel` is empty for findings about a file; `fix` may be empty.

    `line` counts from 1; 0 means the whole file. `power_w`, `energy_j`: what is at stake, as in `Advice`.
    """

    rule: str
    severity: Severity
    file: str
    line: int
    kernel: str
    message: str
    fix: str = ""
    power_w: float | None = None
    energy_j: float | None = None


def findings_of(analysis: Analysis) -> tuple[Finding, ...]:
    """Diagnostics, assumptions, advice and kernels near the power limit, sorted by file and line.

    Files come in the order of the run; what several launches of one kernel share is told once.
    """
    found = [
        Finding(entry.rule, entry.severity, entry.file, entry.line, "", entry.message)
        for entry in analysis.diagnostics
    ]
    told_of_limit = {(entry.file, entry.line) for entry in analysis.diagnostics if entry.rule == "PW021"}
    for kernel in analysis.kernels:
        found += (
            Finding(
                assumption.rule,
                Severity.NOTE,
                assumption.file or kernel.file,
                assumption.line,
                kernel.name,
                assumption.message,
                assumption.fix,
            )
            for assumption in kernel.assumptions
        )
        found += (_advised(kernel, advice) for advice in kernel.advice)
        if kernel.may_hit_power_limit and (kernel.file, kernel.line) not in told_of_limit:
            found.append(_power_limit(kernel))
    order = {file: index for index, file in enumerate(analysis.files)}
    return tuple(
        sorted(
            dict.fromkeys(found), key=lambda item: (order.get(item.file, len(order)), item.file, item.line)
        )
    )


def _advised(kernel: KernelAnalysis, advice: Advice) -> Finding:
    file = advice.file or kernel.file
    stake = (advice.power_w, advice.energy_j)
    return Finding(
        advice.rule, advice.severity, file, advice.line, kernel.name, advice.message, advice.fix, *stake
    )


def _power_limit(kernel: KernelAnalysis) -> Finding:
    hits = "would" if would_hit_power_limit(kernel) else "may"
    message = f"{kernel.name} {hits} hit the power limit"
    if kernel.power_limit_w is not None:
        message += f" of {kernel.power_limit_w:.0f} W"
    return Finding("PW021", Severity.WARNING, kernel.file, kernel.line, kernel.name, message)


def would_hit_power_limit(kernel: KernelAnalysis) -> bool:
    """Whether the whole interval lies at the limit, so that nothing but the limit itself is predicted."""
    low_w, limit_w = kernel.power_low_w, kernel.power_limit_w
    return low_w is not None and limit_w is not None and low_w >= limit_w


def operations_power_w(kernel: KernelAnalysis) -> float:
    """Watts that the hot lines share among them: what the operations draw, above idle and active SMs."""
    return math.fsum(heat.power_w for heat in kernel.hot_lines)


def why_unknown(kernel: KernelAnalysis, analysis: Analysis) -> Diagnostic | None:
    """The diagnostic that explains an unknown power; None when the power is known or nothing explains it."""
    if kernel.power_w is not None:
        return None
    places = (kernel.line, kernel.launch_line, 0)
    candidates = [
        entry
        for entry in analysis.diagnostics
        if entry.rule in _SAYS_WHY
        and entry.file in (kernel.file, "")
        and (entry.line in places or kernel.line <= entry.line <= kernel.end_line)
    ]
    # A diagnostic that names the kernel beats one that merely lies in it.
    return min(
        candidates,
        key=lambda entry: (kernel.name not in entry.message, _SAYS_WHY.index(entry.rule)),
        default=None,
    )


def plain_reason(kernel: KernelAnalysis, reason: Diagnostic) -> str:
    """The diagnostic's message for a place that names the kernel and calls its power unknown already."""
    return reason.message.removeprefix(f"{kernel.name}: ").removeprefix("power unknown: ")


def files_without_result(analysis: Analysis) -> tuple[str, ...]:
    """Files that gave no kernel although something in them could not be read (severity ERROR)."""
    with_kernels = {kernel.file for kernel in analysis.kernels}
    failed = {entry.file for entry in analysis.diagnostics if entry.severity is Severity.ERROR}
    return tuple(file for file in analysis.files if file in failed and file not in with_kernels)
