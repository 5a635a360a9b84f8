"""Figures in the few words that fit at the end of a line: of one launch, or of several as a range."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wattslice.analysis import KernelAnalysis, LineHeat
from wattslice.lsp.views import spread
from wattslice.units import UNKNOWN, energy, percent, power, three_digits, time


def heat_text(heats: Iterable[LineHeat]) -> str:
    """`32.4 W · 42 %`; several launches that differ give ranges."""
    found = tuple(heats)
    return f"{ranged(power, (h.power_w for h in found))} · {ranged(percent, (h.share for h in found))}"


def ranged(text: Callable[[float | None], str], values: Iterable[float | None]) -> str:
    """One figure, or `12–18 W`: the unit once where both ends have the same."""
    ends = spread(values)
    if ends is None:
        return UNKNOWN
    low, high = (text(end) for end in ends)
    if low == high:
        return high
    number, _, unit = low.rpartition(" ")
    return f"{number}–{high}" if unit == high.rpartition(" ")[2] else f"{low}–{high}"


def launches_text(launches: tuple[KernelAnalysis, ...]) -> str:
    """`183 W (104–295 W) · 2.10 mJ · 11.5 µs · limited by DRAM bandwidth`, of all launches of a kernel."""
    first = launches[0]
    parts: list[str] = []
    if len(launches) > 1:
        instances = len({kernel.qualified_name for kernel in launches})
        parts.append(f"{len(launches)} launches" + (f" of {instances} instances" if instances > 1 else ""))
    if all(kernel.power_w is None for kernel in launches):
        return " · ".join([*parts, f"power {UNKNOWN}"])
    parts += [
        ranged(power, (kernel.power_w for kernel in launches)) + _interval(launches),
        ranged(energy, (kernel.energy_j for kernel in launches)),
        ranged(time, (kernel.time_s for kernel in launches)),
    ]
    limits = {kernel.limited_by for kernel in launches} - {None}
    if limits:
        parts.append(f"limited by {' or '.join(sorted(limit for limit in limits if limit))}")
    if any(kernel.may_hit_power_limit for kernel in launches) and first.power_limit_w is not None:
        parts.append(f"may hit the limit of {first.power_limit_w:g} W")
    return " · ".join(parts)


def stake_text(power_w: float | None, energy_j: float | None) -> str:
    """`without it, per launch: 5.76 mJ less, 13.8 W more`; empty when neither is known."""
    stakes = ((energy, energy_j), (power, power_w))
    parts = [
        f"{text(abs(value))} {'less' if value >= 0 else 'more'}"
        for text, value in stakes
        if value is not None
    ]
    return f"without it, per launch: {', '.join(parts)}" if parts else ""


def _interval(launches: tuple[KernelAnalysis, ...]) -> str:
    lows = spread(kernel.power_low_w for kernel in launches)
    highs = spread(kernel.power_high_w for kernel in launches)
    if lows is None or highs is None:
        return ""
    return f" ({three_digits(lows[0])}–{three_digits(highs[1])} W)"
