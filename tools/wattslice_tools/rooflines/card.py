"""What a fit found, in Markdown: coefficients, errors, what they are worth."""

from __future__ import annotations

import math

from msgspec import Struct

from wattslice_models.energy_roofline_fit import Coefficient, EnergyRooflineFit, SweepPrecision
from wattslice_models.gpu import Gpu
from wattslice_models.roofline_store import ClockFit
from wattslice_tools.rooflines.fitting import RooflineResult

_PICO = 1e12
_MOST_DIGITS = 5


def _order(value: float) -> int:
    """The power of ten of its first digit; 0 for 0."""
    return math.floor(math.log10(abs(value))) if value else 0


class Estimate(Struct, frozen=True):
    """One line of a report: a coefficient in the `unit` that a person reads, `scale` times what is stored."""

    symbol: str
    meaning: str
    unit: str
    scale: float
    coefficient: Coefficient

    @property
    def value(self) -> str:
        """``99.7 ± 1.2``"""
        shown = self.coefficient.value * self.scale
        error = self.coefficient.standard_error * self.scale
        # Two digits of the error say what the value is worth; nobody reads more than five of the value.
        wanted = 1 - _order(error) if error > 0.0 else _MOST_DIGITS
        places = max(0, min(wanted, _MOST_DIGITS - 1 - _order(shown)))
        return f"{shown:.{places}f} ± {error:.{places}f}"

    @property
    def p_value(self) -> str:
        """``0.013``, ``< 0.001``"""
        p_value = self.coefficient.p_value
        return "< 0.001" if p_value < 0.001 else f"{p_value:.2g}"


def estimates(fit: EnergyRooflineFit) -> tuple[Estimate, ...]:
    """The coefficients of a fit in the order of the paper."""
    return (
        Estimate("ε_s", "flop, single precision", "pJ/flop", _PICO, fit.single_flop_energy_j),
        Estimate("ε_d", "flop, double precision", "pJ/flop", _PICO, fit.double_flop_energy_j),
        Estimate("Δε_d", "the difference of both", "pJ/flop", _PICO, fit.double_extra_energy_j),
        Estimate("ε_mem", "byte to or from DRAM", "pJ/B", _PICO, fit.byte_energy_j),
        Estimate("π0", "constant power", "W", 1.0, fit.constant_power_w),
    )


class Roof(Struct, frozen=True):
    """A roof in time: what the sweep achieved, and what the catalogue says; None: unknown. Per second.

    `reached` False: the roof lies above what was achieved.
    """

    name: str
    unit: str
    achieved: float
    reached: bool
    catalogue: float | None

    @property
    def achieved_text(self) -> str:
        """``830``; ``> 8771`` where it was not reached."""
        return f"{'' if self.reached else '> '}{self.achieved:.0f}"


def roofs(one: ClockFit, gpu: Gpu) -> tuple[Roof, ...]:
    """The three roofs of a sweep in GFLOP/s and GB/s, with the catalogue's peaks at the clock of the fit."""
    rates = one.fit.rates
    core_hz = (one.core_mhz or gpu.boost_clock_mhz) * 1e6

    def peak(per_clock: float | None) -> float | None:
        return None if per_clock is None else 2.0 * per_clock * gpu.sm_count * core_hz / 1e9

    return (
        Roof(
            "single",
            "GFLOP/s",
            rates.single_flops_per_s / 1e9,
            rates.single_reached,
            peak(gpu.fp32_fma_per_clock_per_sm),
        ),
        Roof(
            "double",
            "GFLOP/s",
            rates.double_flops_per_s / 1e9,
            rates.double_reached,
            peak(gpu.fp64_fma_per_clock_per_sm),
        ),
        Roof("memory", "GB/s", rates.bytes_per_s / 1e9, True, gpu.memory_bandwidth_bytes_per_s / 1e9),
    )


def clock_text(one: ClockFit) -> str:
    """``1380 MHz``"""
    return "clock unknown" if one.core_mhz is None else f"{one.core_mhz:g} MHz"


def roofline_card(result: RooflineResult) -> str:
    """The card, one section for each thing that a reader has to know."""
    trained, gpu = result.trained, result.gpu
    lines = [
        f"# Energy roofline of the {gpu.name} (`{gpu.id}`)",
        "",
        "Fitted to an intensity sweep by ordinary linear regression, as Choi et al. 2013 do (how:",
        "`docs/roofline.md`). Written by `python -m wattslice_tools.rooflines`; do not edit.",
        "",
        f"## At {clock_text(trained.reference)}",
        "",
        *_at(trained.reference, gpu),
        "## At every clock",
        "",
        "As the paper fits:",
        "",
        *_clock_table([(one, one.fit, one.held_out_error) for one in trained.fits]),
        "",
        "With errors of measurement in proportion to what is measured:",
        "",
        *_clock_table([(one, one.relative_fit, one.relative_held_out_error) for one in trained.fits]),
        "",
        "Each value ± its standard error. Error: mean of |predicted / measured - 1| of the energy, each run",
        "predicted by a fit without it.",
        "",
        "## What not to believe",
        "",
        *(f"- {caveat}." for caveat in trained.caveats),
        *(f"- At {clock_text(trained.reference)}: {doubt}." for doubt in trained.reference.fit.doubts),
        "- In brackets above: what cannot be told from zero, or is negative.",
        "",
        "## Data",
        "",
        *(f"- `{file.name}`, SHA-256 `{file.sha256}`" for file in trained.provenance.data),
        *(f"- {entry.runs} runs left out ({entry.benchmark}): {entry.reason}" for entry in result.left_out),
        "",
    ]
    return "\n".join(lines)


def _at(one: ClockFit, gpu: Gpu) -> list[str]:
    fit, relative = one.fit, one.relative_fit
    found = [
        "| | | as the paper fits | p | relative errors | p |",
        "|---|---|---|---|---|---|",
        *(
            f"| {line.symbol} | {line.meaning}, {line.unit} | {line.value} | {line.p_value} "
            f"| {other.value} | {other.p_value} |"
            for line, other in zip(estimates(fit), estimates(relative), strict=True)
        ),
        f"| R² of E / W | | {fit.r_squared:.4f} | | {relative.r_squared:.4f} | |",
        f"| condition | | {fit.condition:.0f} | | {relative.condition:.0f} | |",
        f"| error of the energies | mean, worst | {_errors(fit)} | | {_errors(relative)} | |",
        f"| the same, held out | mean | {_share(one.held_out_error)} | "
        f"| {_share(one.relative_held_out_error)} | |",
        "",
        f"{fit.points} runs, {fit.single_points} of them in single precision.",
        "",
        "| roof | best of the sweep | catalogue |",
        "|---|---|---|",
        *(
            f"| {roof.name} | {roof.achieved_text} {roof.unit} | "
            f"{'unknown' if roof.catalogue is None else f'{roof.catalogue:.0f} {roof.unit}'} |"
            for roof in roofs(one, gpu)
        ),
        "",
    ]
    for precision in SweepPrecision:
        found += [_balances(one, gpu, precision), ""]
    return found


def _balances(one: ClockFit, gpu: Gpu, precision: SweepPrecision) -> str:
    (roof,) = (roof for roof in roofs(one, gpu) if roof.name == precision)
    catalogue = not roof.reached and roof.catalogue is not None and roof.catalogue > roof.achieved
    flop_time_s = 1e-9 / roof.catalogue if catalogue and roof.catalogue else None
    source = "the catalogue's peak" if catalogue else "the best rate of the sweep"
    try:
        machine = one.fit.roofline(precision, gpu.power_limit_w, flop_time_s=flop_time_s)
    except ValueError as error:
        return f"In {precision} precision the coefficients make no machine: {error}."
    return (
        f"In {precision} precision, with {source} as the roof in flops: B_τ {machine.time_balance:.3g}, "
        f"B_ε {machine.energy_balance:.3g}, effective {machine.effective_balance_point:.3g} flops per byte; "
        f"highest power {machine.peak_power_w:.0f} W."
    )


def _errors(fit: EnergyRooflineFit) -> str:
    return f"{fit.mean_error:.1%}, {fit.worst_error:.1%}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _clock_table(fits: list[tuple[ClockFit, EnergyRooflineFit, float | None]]) -> list[str]:
    found = [
        "| core clock | ε_s, pJ/flop | ε_d, pJ/flop | ε_mem, pJ/B | π0, W | runs | R² | error, held out |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one, fit, held_out in fits:
        cells = " | ".join(_marked(line) for line in estimates(fit) if line.symbol != "Δε_d")
        found.append(
            f"| {clock_text(one)} | {cells} | {fit.points} | {fit.r_squared:.4f} | {_share(held_out)} |"
        )
    return found


def _marked(line: Estimate) -> str:
    """The value; in brackets where it cannot be told from zero or is impossible."""
    sure = line.coefficient.significant and line.coefficient.value > 0
    return line.value if sure else f"({line.value})"
