"""A kernel's predicted figures against the bounds of a budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from wattslice.analysis import KernelAnalysis
from wattslice.findings.findings import Finding
from wattslice.gate.budgets import Budget
from wattslice.ir import Severity


def density(kernel: KernelAnalysis) -> float | None:
    """Arithmetic operations per weighted memory access, N_a / N_mem of all slices; None without accesses."""
    accesses = math.fsum(part.memory_ops_weighted for part in kernel.slices)
    return math.fsum(part.compute_ops for part in kernel.slices) / accesses if accesses else None


def over_budget(kernel: KernelAnalysis, budget: Budget) -> tuple[Finding, ...]:
    """PW020 for every bound of `budget` that the kernel does not keep; see also `unknown_bounds`."""
    messages: list[str] = []
    for bound in _bounds(kernel, budget):
        value = bound.value
        if value is None or (value >= bound.limit if bound.is_least else value <= bound.limit):
            continue
        verb = "under" if bound.is_least else "over"
        text = f"{kernel.name}: {bound.told(value)} is {verb} the budget of {bound.limit:g}{bound.unit}"
        messages.append(f"{text} by {bound.distance(abs(value - bound.limit))}{bound.unit}")
    label = f" ({budget.label})" if budget.label else ""
    return tuple(
        Finding(
            "PW020",
            Severity.ERROR,
            kernel.file,
            kernel.line,
            kernel.name,
            f"{message}{label}",
            launch_line=kernel.launch_line,
        )
        for message in messages
    )


def unknown_bounds(kernel: KernelAnalysis, budget: Budget) -> tuple[str, ...]:
    """What the budget bounds and nobody can tell of this kernel."""
    return tuple(bound.quantity for bound in _bounds(kernel, budget) if bound.value is None)


@dataclass(frozen=True, slots=True)
class _Bound:
    quantity: str
    value: float | None
    limit: float
    unit: str
    distance: Callable[[float], str]
    told: Callable[[float], str]
    is_least: bool = False


def _bounds(kernel: KernelAnalysis, budget: Budget) -> list[_Bound]:
    found: list[_Bound] = []
    if budget.max_power_w is not None:
        found.append(
            _Bound("power", kernel.power_w, budget.max_power_w, " W", _digits(1), lambda w: _watts(kernel, w))
        )
    if budget.max_energy_j is not None:
        found.append(
            _Bound(
                "energy", kernel.energy_j, budget.max_energy_j, " J", _short, lambda joules: f"{joules:.4g} J"
            )
        )
    if budget.max_time_s is not None:
        found.append(_Bound("time", kernel.time_s, budget.max_time_s, " s", _short, lambda s: f"{s:.4g} s"))
    for limit, is_least in ((budget.min_density, True), (budget.max_density, False)):
        if limit is not None:
            found.append(
                _Bound(
                    "density",
                    density(kernel),
                    limit,
                    " operations per access",
                    _digits(2),
                    lambda number: f"density {number:.2f}",
                    is_least,
                )
            )
    if budget.max_limit_share is not None:
        power_w, limit_w = kernel.power_w, kernel.power_limit_w
        share = None if power_w is None or not limit_w else power_w / limit_w
        told: Callable[[float], str] = lambda value: (  # noqa: E731
            f"{_watts(kernel, power_w or 0.0)}, {value:.3f} of the power limit,"
        )
        found.append(_Bound("share of the power limit", share, budget.max_limit_share, "", _digits(3), told))
    return found


def _digits(behind_the_point: int) -> Callable[[float], str]:
    return lambda value: f"{value:.{behind_the_point}f}"


def _short(value: float) -> str:
    """Launches take anything from nanoseconds to hours: digits that count, wherever they stand."""
    return f"{value:.4g}"


def _watts(kernel: KernelAnalysis, power_w: float) -> str:
    if kernel.power_low_w is None or kernel.power_high_w is None:
        return f"{power_w:.1f} W"
    return f"{power_w:.1f} W ({kernel.power_low_w:.1f}-{kernel.power_high_w:.1f} W)"
