"""The gate: is every kernel's predicted power within the budget?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings import Finding, files_without_result, plain_reason, why_unknown
from wattslice.ir import Severity


class UnknownPolicy(Enum):
    """What becomes of a kernel whose power is unknown; FAIL is the default, for unknown is not "below"."""

    FAIL = "fail"
    WARN = "warn"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of the gate: `findings` over budget (PW020) or unverifiable (PW022), and whether it passes."""

    max_power_w: float
    checked: int
    findings: tuple[Finding, ...]
    passed: bool


def judge(analysis: Analysis, max_power_w: float, unknown: UnknownPolicy) -> Verdict:
    """Compare each kernel's predicted power (not its interval's end) with the budget in watts.

    A kernel exactly at the budget passes. Files that could not be analysed count like unknown kernels.
    """
    severity = Severity.ERROR if unknown is UnknownPolicy.FAIL else Severity.WARNING
    findings: list[Finding] = []
    for kernel in analysis.kernels:
        if kernel.power_w is None:
            findings.append(_unverifiable(kernel, analysis, severity))
        elif kernel.power_w > max_power_w:
            findings.append(_over_budget(kernel, kernel.power_w, max_power_w))
    findings += (
        Finding(
            "PW022", severity, file, 0, "", "no kernel of this file could be analysed", "see its diagnostics"
        )
        for file in files_without_result(analysis)
    )
    passed = not any(finding.severity is Severity.ERROR for finding in findings)
    return Verdict(max_power_w, len(analysis.kernels), tuple(findings), passed)


def _over_budget(kernel: KernelAnalysis, power_w: float, max_power_w: float) -> Finding:
    message = f"{kernel.name}: {power_w:.1f} W"
    if kernel.power_low_w is not None and kernel.power_high_w is not None:
        message += f" ({kernel.power_low_w:.1f}-{kernel.power_high_w:.1f} W)"
    message += f" is over the budget of {max_power_w:g} W by {power_w - max_power_w:.1f} W"
    return Finding("PW020", Severity.ERROR, kernel.file, kernel.line, kernel.name, message)


def _unverifiable(kernel: KernelAnalysis, analysis: Analysis, severity: Severity) -> Finding:
    reason = why_unknown(kernel, analysis)
    because = f"{plain_reason(kernel, reason)} ({reason.rule})" if reason else "no diagnostic names the cause"
    message = f"{kernel.name}: power unknown: {because}"
    return Finding("PW022", severity, kernel.file, kernel.line, kernel.name, message)
