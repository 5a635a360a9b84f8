"""The gate's verdict: every kernel within its budgets, and nothing worse than before.

A kernel that stands in the source and could not be read (PW001 names it) is unknown, neither below a budget
nor gone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path

from msgspec import Struct

from wattslice.analysis import Analysis, KernelAnalysis
from wattslice.config.budgets import Budget
from wattslice.config.options import CONFIDENCE
from wattslice.findings.findings import (
    Finding,
    cause_of_unknown,
    in_order,
    unused_suppressions,
    with_suppressions,
)
from wattslice.ir import Diagnostic, Severity
from wattslice.patterns import regex
from wattslice.units import probability

_WORD = regex(r"[A-Za-z_]\w*")


def losses(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """The errors by which something of a file was lost, but for files that were lost as a whole."""
    return tuple(
        entry
        for entry in analysis.diagnostics
        if entry.rule == "PW001" and entry.severity is Severity.ERROR and entry.file not in analysis.unread
    )


def losses_without_kernel(analysis: Analysis) -> tuple[Diagnostic, ...]:
    """Those of `losses` that speak of no kernel in the result, where it would stand as unknown."""
    return tuple(
        entry
        for entry in losses(analysis)
        if not any(one.source.file == entry.file and names(entry, one.name) for one in analysis.kernels)
    )


def names(entry: Diagnostic, qualified_name: str) -> bool:
    """Whether the message is about the kernel; its template arguments and namespaces need not be in it."""
    plain = qualified_name.partition("<")[0].rpartition("::")[2]
    return plain in _WORD.findall(entry.message)


def density(kernel: KernelAnalysis) -> float | None:
    """Arithmetic operations per weighted memory access, N_a / N_mem of all slices; None without accesses."""
    accesses = math.fsum(part.memory_ops_weighted for part in kernel.slices)
    return math.fsum(part.compute_ops for part in kernel.slices) / accesses if accesses else None


def idles_by_assumption(kernel: KernelAnalysis) -> str:
    """What was assumed of a kernel that accesses no memory with it, so that its watts are those of an idle
    GPU and say nothing; empty for all others.
    """
    if not kernel.slices or any(part.memory_ops_weighted for part in kernel.slices):
        return ""
    assumed = (one.message for rule in ("PW010", "PW011") for one in kernel.assumptions if one.rule == rule)
    return next(assumed, "")


def over_budget(
    kernel: KernelAnalysis, budget: Budget, confidence: float = CONFIDENCE
) -> tuple[Finding, ...]:
    """PW020 for every bound of `budget` that the kernel does not keep: an error where the predicted figure
    lies beyond it, a warning where it is not kept with the `confidence`. See also `unknown_bounds`.
    """
    found: list[Finding] = []
    for bound in _bounds(kernel, budget):
        value, limit, odds = bound.value, bound.limit, bound.odds or 0.0
        if value is None or limit is None:
            continue
        severity, budgeted = Severity.ERROR, f"the budget of {limit:g}{bound.unit}"
        if value < limit if bound.is_least else value > limit:
            verb = "under" if bound.is_least else "over"
            text = f"is {verb} {budgeted} by {abs(value - limit):{bound.digits}}{bound.unit}"
        elif odds > 1.0 - confidence + 1e-9:
            severity, text = Severity.WARNING, f"may exceed {budgeted}"
        else:
            continue
        message = f"{kernel.name}: {bound.told(value)} {text}" + (
            f" ({budget.label})" if budget.label else ""
        )
        about = severity, *kernel.source.place, kernel.name
        found.append(Finding("PW020", *about, message, launch_line=kernel.launch.line))
    return tuple(found)


def unknown_bounds(kernel: KernelAnalysis, budget: Budget) -> tuple[str, ...]:
    """What the budget bounds and nobody can tell of this kernel."""
    return tuple(bound.quantity for bound in _bounds(kernel, budget) if bound.value is None)


class _Bound(Struct, frozen=True):
    quantity: str
    value: float | None
    limit: float | None
    unit: str
    digits: str  # how distances are written
    told: Callable[[float], str]
    is_least: bool = False
    odds: float | None = None  # that what is measured exceeds it


def _bounds(kernel: KernelAnalysis, budget: Budget) -> list[_Bound]:
    """What the budget bounds. Launches take anything from nanoseconds to hours: four digits that count."""
    power_w, board_w = kernel.power_w, kernel.power_limit_w
    share = None if power_w is None or not board_w else power_w / board_w
    most_w, most_share = budget.max_power_w, budget.max_limit_share

    share_w = (most_share or 0.0) * (board_w or 0.0)

    def watts(value: float) -> str:
        return _watts(kernel, value, most_w or 0.0)

    def shared(value: float) -> str:
        return f"{_watts(kernel, power_w or 0.0, share_w)}, {value:.3f} of the power limit,"

    dense: tuple[str, str, Callable[[float], str]]
    dense = " operations per access", ".2f", lambda number: f"density {number:.2f}"
    rows = (
        _Bound("power", power_w, most_w, " W", ".1f", watts, odds=kernel.exceedance(most_w or 0.0)),
        _Bound("energy", kernel.energy_j, budget.max_energy_j, " J", ".4g", lambda one: f"{one:.4g} J"),
        _Bound("time", kernel.time_s, budget.max_time_s, " s", ".4g", lambda one: f"{one:.4g} s"),
        _Bound("density", density(kernel), budget.min_density, *dense, is_least=True),
        _Bound("density", density(kernel), budget.max_density, *dense),
        _Bound(
            *("share of the power limit", share, most_share, "", ".3f", shared),
            odds=kernel.exceedance(share_w),
        ),
    )
    return [bound for bound in rows if bound.limit is not None]


def _watts(kernel: KernelAnalysis, power_w: float, budget_w: float) -> str:
    over = kernel.exceedance(budget_w)
    return f"{power_w:.1f} W" + ("" if over is None else f" (P(> {budget_w:g} W) {probability(over)})")


class Odds(Struct, frozen=True, order=True):
    """Probability that the measured watts of a kernel exceed a budget of so many watts."""

    probability: float
    kernel: str
    budget_w: float


def _likeliest(kernels: Sequence[KernelAnalysis], budgets: Sequence[Budget]) -> Odds | None:
    """Of all kernels and budgets in watts that which is exceeded most probably; None without any."""
    return max(
        (
            Odds(odds, kernel.name, budget.max_power_w)
            for budget in budgets
            for kernel in kernels
            if budget.max_power_w is not None and _holds(budget, kernel)
            if (odds := kernel.exceedance(budget.max_power_w)) is not None
        ),
        default=None,
    )


class UnknownPolicy(Enum):
    """What becomes of a kernel whose power is unknown; FAIL is the default, for unknown is not "below"."""

    FAIL = "fail"
    WARN = "warn"

    @property
    def severity(self) -> Severity:
        """Of a finding about something unknown."""
        return Severity.ERROR if self is UnknownPolicy.FAIL else Severity.WARNING


class Compared(Struct, frozen=True):
    """What a comparison with the state `against` found; `pairs`: launches that were compared."""

    against: str
    pairs: int
    findings: tuple[Finding, ...]


class Verdict(Struct, frozen=True):
    """Outcome of the gate: `findings` over budget (PW020), unverifiable (PW022), worse (PW023), and notes.

    It passes when none of them is an error. `suppressed`: those that a comment in the source accepts.
    `likeliest`: what exceeds a budget in watts most probably, whether or not it passes.
    """

    budgets: tuple[Budget, ...]
    checked: int
    findings: tuple[Finding, ...]
    passed: bool
    suppressed: tuple[Finding, ...] = ()
    compared: tuple[Compared, ...] = ()
    likeliest: Odds | None = None


def judge(
    analysis: Analysis,
    budgets: Sequence[Budget],
    unknown: UnknownPolicy,
    compared: Sequence[Compared] = (),
    *,
    confidence: float = CONFIDENCE,
    tell_unmatched: bool = False,
) -> Verdict:
    """Each kernel's predicted figures against every budget that names it (`over_budget`).

    Files that could not be analysed count like unknown kernels; a comparison tells itself of those that could
    be before. `tell_unmatched`: a budget of the settings that names no kernel of this run is told (PW026); of
    a run over a few files of many it should not.
    """
    severity = unknown.severity
    found: list[Finding] = []
    for kernel in analysis.kernels:
        own = [budget for budget in budgets if _holds(budget, kernel)]
        missing = dict.fromkeys(name for budget in own for name in unknown_bounds(kernel, budget))
        if missing or (own and idles_by_assumption(kernel)):
            found.append(_unverifiable(kernel, analysis, severity, tuple(missing)))
        found += (finding for budget in own for finding in over_budget(kernel, budget, confidence))
    what, fix = "no kernel of this file could be analysed", "see its diagnostics"
    unread = analysis.unread if budgets else ()
    found += (Finding("PW022", severity, file, 0, "", what, fix) for file in unread)
    for lost in losses_without_kernel(analysis):
        if any(budget.covers(lost.file) for budget in budgets):
            why = f"a kernel's power is unknown: {lost.message} (PW001)"
            found.append(Finding("PW022", severity, lost.file, lost.line, "", why))
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
        _likeliest(analysis.kernels, budgets),
    )


def _holds(budget: Budget, kernel: KernelAnalysis) -> bool:
    return budget.holds_for(kernel.source.file, (kernel.name, kernel.source.qualified_name))


def _unmatched(budgets: Sequence[Budget], analysis: Analysis) -> list[Finding]:
    found: list[Finding] = []
    for budget in budgets:
        if budget.label and not any(_holds(budget, kernel) for kernel in analysis.kernels):
            message = f"gate.{budget.label} holds for no kernel that was analysed"
            fix = f"correct it in {Path(budget.folder).as_posix()}"
            found.append(Finding("PW026", Severity.WARNING, "", 0, "", message, fix))
    return found


def _unverifiable(
    kernel: KernelAnalysis, analysis: Analysis, severity: Severity, missing: tuple[str, ...]
) -> Finding:
    if missing and kernel.power_w is not None:
        message = f"{kernel.name}: {' and '.join(missing)} unknown"
    elif kernel.power_w is not None:
        message = f"{kernel.name}: power unknown: it accesses nothing with what is assumed: "
        message += idles_by_assumption(kernel)
    else:
        message = f"{kernel.name}: power unknown: {cause_of_unknown(kernel, analysis)}"
    place, launch_line = kernel.source.place, kernel.launch.line
    return Finding("PW022", severity, *place, kernel.name, message, launch_line=launch_line)
