"""Choi, Bedard, Fowler & Vuduc 2013: a roofline model of energy."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from wattslice.report.pictures import fraction
from wattslice.roofline.machines import published_roofline
from wattslice_corpora.published.choi2013 import (
    FigureLabel,
    MachineRow,
    choi2013_fermi,
    choi2013_figures,
    choi2013_machines,
    choi2013_tables,
)
from wattslice_corpora.published.tables import table_source
from wattslice_models.energy_roofline import EnergyRoofline
from wattslice_tools.papers.markdown import table

INTENSITIES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Of Figures 4 and 5, in flops per byte."""
_FAR = 1e9
"""Times the balances: so far off that only flops, or only bytes, cost anything."""


class CheckedLabel(Struct, frozen=True):
    """A number printed into a figure beside what the equations give; `agrees` to the printed digits."""

    label: FigureLabel
    computed: float

    @property
    def agrees(self) -> bool:
        """Whether the computed number, rounded as the printed one is, is the printed one."""
        return round(self.computed, self.label.decimals) == self.label.printed


def choi2013() -> tuple[str, ...]:
    """The paragraphs and tables of this paper."""
    return (
        "## Choi et al. 2013: a roofline model of energy",
        f"{table_source(choi2013_tables()[0]).split('; ')[0]}.",
        "The paper itself was not at hand, only notes on it whose pictures are missing, and the text "
        "of a later talk "
        "of its authors that shows some of the figures again. Tables II, III and IV are therefore "
        "recalled, not "
        "re-read; the column *read* says of every printed number where it comes from. Numbers that agree "
        "below make the recalled tables credible; they are no proof.",
        *_parameters(),
        *_labels(),
        *_claims(),
        *_figures(),
        *_not_checked(),
    )


def checked_labels() -> tuple[CheckedLabel, ...]:
    """Every number printed into Figures 2 and 4, computed from the tables."""
    rows = {(row.machine, row.precision): row for row in (choi2013_fermi(), *choi2013_machines())}
    return tuple(
        CheckedLabel(
            label, _COMPUTED[label.quantity](published_roofline(rows[label.machine, label.precision]))
        )
        for label in choi2013_figures()
    )


def _relative_power(machine: EnergyRoofline, intensity: float) -> float:
    """Watts over those of the flops, as Fig. 2b counts."""
    return machine.demanded_power_w(intensity) / machine.flop_power_w


_COMPUTED: dict[str, Callable[[EnergyRoofline], float]] = {
    "time balance": lambda machine: machine.time_balance,
    "energy balance": lambda machine: machine.energy_balance,
    "effective balance": lambda machine: machine.effective_balance_point,
    "power at low intensity": lambda machine: _relative_power(machine, machine.time_balance / _FAR),
    "peak power": lambda machine: machine.peak_power_w / machine.flop_power_w,
    "power at high intensity": lambda machine: _relative_power(machine, machine.time_balance * _FAR),
}


def _name(row: MachineRow) -> str:
    return row.name if row.machine == "fermi" else f"{row.name}, {row.precision}"


def _parameters() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for row in (choi2013_fermi(), *choi2013_machines()):
        machine = published_roofline(row)
        rows.append(
            (
                _name(row),
                f"{row.peak_flops_per_s / 1e9:g}",
                f"{row.bandwidth_bytes_per_s / 1e9:g}",
                f"{row.flop_energy_j * 1e12:.4g}",
                f"{row.byte_energy_j * 1e12:.4g}",
                f"{row.constant_power_w:g}",
                f"{machine.time_balance:.2f}",
                f"{machine.energy_balance:.2f}",
                f"{machine.flop_efficiency:.3f}",
                f"{machine.effective_balance_point:.3f}",
                f"{machine.peak_flops_per_j / 1e9:.3g}",
            )
        )
    head = (
        "machine",
        "Gflop/s",
        "GB/s",
        "ε_flop / pJ",
        "ε_mem / pJ",
        "π0 / W",
        "B_τ",
        "B_ε",
        "η",
        "effective",
    )
    return (
        "### Tables II, III and IV (recalled), and what follows from them",
        "`B_τ`, `B_ε` and the effective balance (where `B̂_ε(I) = I`, eq. (6)) in flops per byte; the last "
        "column is the best energy efficiency, `1 / (ε_flop + π0 τ_flop)`.",
        table((*head, "Gflop/J"), rows),
    )


def _labels() -> tuple[str, ...]:
    checked = checked_labels()
    rows = [
        (
            f"{one.label.figure}",
            one.label.machine,
            one.label.precision,
            one.label.quantity,
            f"{one.label.printed:.{one.label.decimals}f}",
            f"{one.computed:.3f}",
            "yes" if one.agrees else "NO",
            one.label.read,
        )
        for one in checked
    ]
    read = [one for one in checked if one.label.read == "slides"]
    return (
        "### Numbers printed into the figures",
        "Balances in flops per byte; power in Fig. 2b in units of the flops' power `π_flop`.",
        table(("figure", "machine", "precision", "quantity", "printed", "computed", "agrees", "read"), rows),
        f"{sum(one.agrees for one in read)} of the {len(read)} numbers that were read agree to every "
        "printed digit, "
        f"{sum(one.agrees for one in checked)} of all {len(checked)}.",
    )


def _claims() -> tuple[str, ...]:
    rows: list[tuple[str, ...]] = []
    for row in choi2013_machines():
        machine = published_roofline(row)
        free = replace(machine.without_limit(), constant_power_w=0.0)
        rows.append(
            (
                _name(row),
                f"{machine.balance_gap:.2f}",
                _race(machine),
                f"{free.effective_balance_point:.2f}",
                _race(free),
                f"{machine.peak_power_w:.0f}",
                "–" if row.power_limit_w is None else f"{row.power_limit_w:g}",
                _cap(machine),
            )
        )
    fermi = published_roofline(choi2013_fermi())
    head = ("machine", "B_ε / B_τ", "race to halt", "balance, π0 = 0", "race to halt, π0 = 0", "peak / W")
    return (
        "### What the paper claims",
        "*Race to halt*: the effective balance is at most `B_τ`, so that whoever computes fast computes "
        "efficiently.",
        table((*head, "limit / W", "asks for more than the limit"), rows),
        "\n".join(
            (
                "- *On the GPU in double precision `B_ε > B_τ`, yet the effective balance lies below "
                "`B_τ`; with "
                f"π0 → 0 that may reverse* (text on Fig. 4): {_double_claim()}.",
                "- *The GTX 580 in single precision is asked for more than its limit of 244 W* (text "
                "on Fig. 5): "
                f"{_single_claim()}.",
                "- *Without π0 power peaks at `B_τ`, where it is `π_flop (1 + B_ε / B_τ)`* (text on "
                "Fig. 2b): with "
                f"Table II {fermi.peak_power_w:.1f} W, which is "
                f"{fermi.peak_power_w / fermi.flop_power_w:.2f} "
                f"times the {fermi.flop_power_w:.3g} W of the flops; `1 + B_ε / B_τ` is "
                f"{1 + fermi.balance_gap:.2f}.",
            )
        ),
    )


def _race(machine: EnergyRoofline) -> str:
    return "yes" if machine.race_to_halt else "no"


def _cap(machine: EnergyRoofline) -> str:
    """At which of the intensities of the figures the limit is exceeded."""
    if machine.power_limit_w is None:
        return "–"
    above = [one for one in INTENSITIES if machine.demanded_power_w(one) > machine.power_limit_w]
    if not above:
        return "nowhere"
    return f"at I = {fraction(above[0])}" + (f" to {fraction(above[-1])}" if len(above) > 1 else "")


def _of(machine: str, precision: str) -> EnergyRoofline:
    row = next(one for one in choi2013_machines() if (one.machine, one.precision) == (machine, precision))
    return published_roofline(row)


def _double_claim() -> str:
    machine = _of("gtx580", "double")
    free = replace(machine, constant_power_w=0.0)
    holds = machine.balance_gap > 1.0 and machine.race_to_halt and not free.race_to_halt
    return (
        f"{'holds' if holds else 'FAILS'}: {machine.energy_balance:.2f} > {machine.time_balance:.2f}, "
        "effective "
        f"{machine.effective_balance_point:.2f}, {free.effective_balance_point:.2f} without π0"
    )


def _single_claim() -> str:
    machine = _of("gtx580", "single")
    return (
        f"{'holds' if machine.is_capped else 'FAILS'}: {machine.peak_power_w:.0f} W at `B_τ`, and "
        f"{machine.constant_power_w + machine.flop_power_w:.0f} W still where memory costs nothing. "
        "By the same "
        f"numbers it is asked for {_of('gtx580', 'double').peak_power_w:.0f} W in double precision, "
        "above the "
        "limit as well, of which the notes say nothing"
    )


def _figures() -> tuple[str, ...]:
    return (
        "### Figures 2, 4 and 5",
        "Figure 2: speed and energy efficiency of the machine of Table II over their best, power over that "
        "of the flops.",
        "![Figure 2](plots/choi_fig2.svg)",
        "Figure 4: rooflines and arch lines of both machines over their best, by eqs. (3) and (5), the power "
        "limit left out, as in the paper.",
        "![Figure 4](plots/choi_fig4.svg)",
        "Figure 5: power lines of both machines in watts, by eq. (7).",
        "![Figure 5](plots/choi_fig5.svg)",
        "Where the limit caps the watts, this project lets the run last longer too, `T = (W ε_flop + "
        "Q ε_mem) / (limit − π0)`, so that energy over time is the limit (`EnergyRoofline.time_s`); the "
        "paper of 2013 caps the line alone. `python -m wattslice_tools.papers --plots docs/appendix/plots` "
        "draws the pictures.",
    )


def _not_checked() -> tuple[str, ...]:
    return (
        "### What could not be checked",
        "\n".join(
            (
                "- The measured points of Figures 4 and 5, how far they lie from the lines, and the "
                "regression behind "
                "Table IV with its errors: neither pictures nor measurements were at hand. The "
                "repository of the "
                "authors has the benchmarks, not the measurements.",
                "- Tables II, III and IV digit by digit: recalled.",
                "- Sections on algorithmic trade-offs: the notes do not quote them.",
            )
        ),
    )
