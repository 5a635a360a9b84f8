"""The panels of the rooflines' picture and the lines in them: speed, efficiency, power. Needs matplotlib."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from wattslice.report.pictures import COLOURS, Axes, fraction, plain
from wattslice.roofline.kernels import PlacedKernel, Rooflines
from wattslice.roofline.machines import Machine
from wattslice.units import three_digits
from wattslice_models.energy_roofline import EnergyRoofline, TimeRoofline

GREY = "#777777"
DASHED = (0, (4, 3))
_DOTTED = (0, (1, 2))
_SAMPLES = 400
_FARTHEST = 500.0
"""A kernel whose intensity is so many times off every balance stands at the edge, as an arrowhead."""
_LOWEST = 30.0
"""A kernel so many times below every line stands at the bottom, as an arrowhead."""
_BINARY_OCTAVES = 16
"""Up to so many octaves intensities are powers of two, as in the paper; beyond, powers of ten."""
_MANY_DECADES = 300.0


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the pictures side by side.

    `line`: of a machine at an intensity, None: unknown; `of_kernel`: the same of a kernel.
    """

    title: str
    unit: str
    line: Callable[[EnergyRoofline | TimeRoofline, float], float | None]
    of_kernel: Callable[[PlacedKernel], float | None]
    balance: Callable[[Machine], float]
    balance_name: str
    logarithmic: bool


def _speed(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float:
    return 1e-9 * machine.flops_per_s(intensity)


def _efficiency(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float | None:
    return 1e-9 * machine.flops_per_j(intensity) if isinstance(machine, EnergyRoofline) else None


def _power(machine: EnergyRoofline | TimeRoofline, intensity: float) -> float | None:
    return machine.power_w(intensity) if isinstance(machine, EnergyRoofline) else None


def _time_balance(machine: Machine) -> float:
    return machine.roofline.time_balance


def _effective_balance(machine: Machine) -> float:
    return (
        machine.roofline.time_balance
        if machine.energies is None
        else machine.energies.effective_balance_point
    )


def _giga(value: float | None) -> float | None:
    return None if value is None else 1e-9 * value


PANELS = (
    Panel("Time", "Gflop/s", _speed, lambda one: _giga(one.flops_per_s), _time_balance, r"$B_\tau$", True),
    Panel(
        "Energy efficiency",
        "Gflop/J",
        _efficiency,
        lambda one: _giga(one.flops_per_j),
        _effective_balance,
        "half at",
        True,
    ),
    Panel("Power", "W", _power, lambda one: one.power_w, _time_balance, r"$B_\tau$", False),
)


def intensities(rooflines: Rooflines) -> tuple[float, list[float]]:
    """The base of the axis, and where lines are drawn: around all balances and kernels not too far off."""
    marks = [machine.roofline.time_balance for machine in rooflines.machines]
    marks += [one.energies.effective_balance_point for one in rooflines.machines if one.energies is not None]
    low, high = min(marks) / 12, max(marks) * 12
    for _, kernel in placed(rooflines):
        if kernel.intensity is not None:
            low, high = min(low, kernel.intensity / 2), max(high, kernel.intensity * 2)
    low, high = max(low, min(marks) / _FARTHEST), min(high, max(marks) * _FARTHEST)
    base = 2.0 if math.log2(high / low) <= _BINARY_OCTAVES else 10.0
    low, high = base ** math.floor(math.log(low, base)), base ** math.ceil(math.log(high, base))
    step = math.log(high / low) / _SAMPLES
    places = {low * math.exp(step * number) for number in range(_SAMPLES + 1)}
    return base, sorted(places | {mark for mark in marks if low < mark < high})


def placed(rooflines: Rooflines) -> Iterator[tuple[int, PlacedKernel]]:
    """Kernels with a place, with their number in the table."""
    for number, kernel in enumerate(rooflines.kernels or (), 1):
        if kernel.machine is not None and kernel.intensity is not None:
            yield number, kernel


def draw_lines(axis: Axes, panel: Panel, rooflines: Rooflines, base: float, places: list[float]) -> None:
    """Scales, lines, balances and limits of one panel; kernels are drawn upon them."""
    axis.set_title(f"{panel.title}, {panel.unit}")
    axis.set_xscale("log", base=base)
    axis.xaxis.set_major_formatter(fraction if base == 2.0 else plain)
    axis.tick_params(axis="x", labelsize=8)
    axis.set_xlim(places[0], places[-1])
    for index, machine in enumerate(rooflines.machines):
        _draw_machine(axis, panel, machine, index, places)
    known = [machine for machine in rooflines.machines if panel.line(machine.roofline, 1.0) is not None]
    if not known:
        reason = rooflines.machines[0].no_energies or "no energies are known"
        words = textwrap.fill(f"line unknown: {reason}", 40)
        axis.text(0.97, 0.05, words, transform=axis.transAxes, ha="right", fontsize=7.5, color=GREY)
    values = [panel.of_kernel(kernel) for _, kernel in placed(rooflines)]
    lines = [panel.line(machine.roofline, place) for machine in known for place in places]
    if panel.logarithmic:
        _scale_logarithmically(axis, _numbers(lines), _numbers(values))
    else:
        _draw_limits(axis, rooflines, places)
        axis.set_ylim(0.0, 1.12 * max(axis.get_ylim()[1], *_numbers(values), 0.0))
    axis.minorticks_off()
    _draw_balances(axis, panel, rooflines, known)


def _numbers(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _scale_logarithmically(axis: Axes, lines: list[float], kernels: list[float]) -> None:
    """Whole decades are told; where there are few of them, steps between as well."""
    from matplotlib.ticker import LogLocator

    axis.set_yscale("log", base=10)
    if lines or kernels:
        least = min(lines) / _LOWEST if lines else max(kernels) / _FARTHEST
        low, high = max(least, min([*lines, *kernels]) / 1.5), 1.8 * max([*lines, *kernels])
        axis.set_ylim(low, high)
        steps = (1.0,) if high / low > _MANY_DECADES else (1.0, 2.0, 5.0)
        axis.yaxis.set_major_locator(LogLocator(base=10, subs=steps))
    axis.yaxis.set_major_formatter(_digits)


def _digits(value: float, _position: object) -> str:
    return f"{value:.10g}"  # 1000000, where `plain` has 1e+06


def _draw_machine(axis: Axes, panel: Panel, machine: Machine, index: int, places: list[float]) -> None:
    values = [panel.line(machine.roofline, place) for place in places]
    if None in values:
        return
    colour = COLOURS[index]
    if machine.energies is not None and machine.energies.is_capped:
        free = [panel.line(machine.energies.without_limit(), place) for place in places]
        axis.plot(places, free, color=colour, linewidth=1, linestyle=DASHED)
    width = 1.6 if index else 2.6  # where two roofs are one line, the first shows on both sides of the next
    axis.plot(places, values, color=colour, linewidth=width)


def _draw_balances(axis: Axes, panel: Panel, rooflines: Rooflines, known: list[Machine]) -> None:
    """Where arithmetic and memory take alike; told left of the lowest balance, right of the others."""
    marks = sorted((panel.balance(machine), rooflines.machines.index(machine)) for machine in known)
    for place, (mark, index) in enumerate(marks):
        colour = COLOURS[index]
        axis.axvline(mark, color=colour, linewidth=0.9, linestyle=_DOTTED)
        axis.annotate(
            f"{panel.balance_name} {three_digits(mark)}",
            (mark, 0.02 if place < 2 else 0.02 + 0.25 * (place - 1)),
            parse_math=True,
            xycoords=axis.get_xaxis_transform(),
            xytext=(2.5 if place else -2.5, 2.0),
            textcoords="offset points",
            rotation=90,
            fontsize=7,
            color=colour,
            ha="left" if place else "right",
            va="bottom",
        )


def _draw_limits(axis: Axes, rooflines: Rooflines, places: list[float]) -> None:
    """The limit of the board, and what the machines draw for being on."""
    limit_w = rooflines.machines[0].power_limit_w
    if limit_w is not None:
        words = f"limit {three_digits(limit_w)} W"
        _draw_level(axis, places[-1], limit_w, words, "#222222", DASHED, above=True)
    constant = {one.energies.constant_power_w for one in rooflines.machines if one.energies is not None}
    for place, watts in enumerate(sorted(constant)):  # one label for all, which may lie near each other
        shown = dict.fromkeys(three_digits(one) for one in sorted(constant))
        words = "" if place else f"constant power {' and '.join(shown)} W"
        _draw_level(axis, places[-1], watts, words, GREY, _DOTTED, above=False)


def _draw_level(
    axis: Axes, right: float, watts: float, words: str, colour: str, style: object, *, above: bool
) -> None:
    axis.axhline(watts, color=colour, linewidth=1.0, linestyle=style)
    axis.annotate(
        words,
        (right, watts),
        xytext=(-1.0, 2.0 if above else -2.5),
        textcoords="offset points",
        fontsize=7,
        color=colour,
        ha="right",
        va="bottom" if above else "top",
    )
