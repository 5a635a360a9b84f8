"""The gate's verdict: every kernel within its budgets, and nothing worse than before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.findings.findings import (
    Finding,
    in_order,
    plain_reason,
    unused_suppressions,
    why_unknown,
    with_suppressions,
)
from wattslice.gate.bounds import over_budget, unknown_bounds
from wattslice.gate.budgets import Budget
from wattslice.gate.lost import losses_without_kernel
from wattslice.ir import Severity


class UnknownPolicy(Enum):
    """What becomes of a kernel whose power is unknown; FAIL is the default, for unknown is not "below"."""

    FAIL = "fail"
    WARN = "warn"

    @property
    def severity(self) -> Severity:
        """Of a finding about something unknown."""
        return Severity.ERROR if self is UnknownPolicy.FAIL else Severity.WARNING


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison with the state `against` found; `pairs`: launches that were compared."""

    against: str
    pairs: int
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Outcome of the gate: `findings` over budget (PW020), unverifiable (PW022), worse (PW023), and notes.

    It passes when none of them is an error. `suppressed`: those that a comment in the source accepts.
    """

    budgets: tuple[Budget, ...]
    checked: int
    findings: tuple[Finding, ...]
    passed: bool
    suppressed: tuple[Finding, ...] = ()
    compared: tuple[Compared, ...] = ()


def judge(
    analysis: Analysis,
    budgets: Sequence[Budget],
    unknown: UnknownPolicy,
    compared: Sequence[Compared] = (),
    *,
    tell_unmatched: bool = False,
) -> Verdict:
    """Each kernel's predicted figures (not the ends of their intervals) against every budget that names it.

    Files that could not be analysed count like unknown kernels; a comparison tells itself of those that could
    be before. `tell_unmatched`: a budget of the settings
    that names no kernel of this run is told (PW026); of a run over a few files of many it should not.
    """
    severity = unknown.severity
    found: list[Finding] = []
    for kernel in analysis.kernels:
        own = [budget for budget in budgets if _holds(budget, kernel)]
        missing = dict.fromkeys(name for budget in own for name in unknown_bounds(kernel, budget))
        if missing:
            found.append(_unverifiable(kernel, analysis, severity, tuple(missing)))
        found += (finding for budget in own for finding in over_budget(kernel, budget))
    found += (
        Finding(
            "PW022", severity, file, 0, "", "no kernel of this file could be analysed", "see its diagnostics"
        )
        for file in (analysis.unread if budgets else ())
    )
    found += (
        Finding(
            "PW022",
            severity,
            lost.file,
            lost.line,
            "",
            f"a kernel's power is unknown: {lost.message} (PW001)",
        )
        for lost in losses_without_kernel(analysis)
        if any(budget.covers(lost.file) for budget in budgets)
    )
    found += (finding for one in compared for finding in one.findings)
    marked = with_suppressions(found, analysis.suppressions)
    asked = ["PW022", *(["PW020"] if budgets else []), *(["PW023", "PW027"] if compared else [])]
    unused = unused_suppressions(analysis, marked, lambda rule: rule in asked)
    told = [finding for finding in (*marked, *unused) if finding.suppressed is None]
    if tell_unmatched:
        told += _unmatched(budgets, analysis)
    return Verdict(
        tuple(budgets),
        len(analysis.kernels),
        in_order(told, analysis),
        not any(finding.severity is Severity.ERROR for finding in told),
        tuple(finding for finding in marked if finding.suppressed is not None),
        tuple(compared),
    )


def _holds(budget: Budget, kernel: KernelAnalysis) -> bool:
    return budget.holds_for(kernel.file, (kernel.name, kernel.qualified_name))


def _unmatched(budgets: Sequence[Budget], analysis: Analysis) -> list[Finding]:
    return [
        Finding(
            "PW026",
            Severity.WARNING,
            "",
            0,
            "",
            f"gate.{budget.label} holds for no kernel that was analysed",
            f"correct it in {Path(budget.folder).as_posix()}",
        )
        for budget in budgets
        if budget.label and not any(_holds(budget, kernel) for kernel in analysis.kernels)
    ]


def _unverifiable(
    kernel: KernelAnalysis, analysis: Analysis, severity: Severity, missing: tuple[str, ...]
) -> Finding:
    if kernel.power_w is not None:
        message = f"{kernel.name}: {' and '.join(missing)} unknown"
    else:
        reason = why_unknown(kernel, analysis)
        because = (
            f"{plain_reason(kernel, reason)} ({reason.rule})" if reason else "no diagnostic names the cause"
        )
        message = f"{kernel.name}: power unknown: {because}"
    return Finding(
        "PW022", severity, kernel.file, kernel.line, kernel.name, message, launch_line=kernel.launch_line
    )
