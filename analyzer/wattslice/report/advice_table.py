"""The advice of one kernel: where it costs power, and what would be saved."""

from __future__ import annotations

from pathlib import PurePath

from rich.table import Table
from rich.text import Text

from wattslice.analysis import Advice, KernelAnalysis
from wattslice.ir import Severity
from wattslice.report.bars import WARM
from wattslice.report.columns import ORNAMENT, Column, fitting_table
from wattslice.report.printable import printable
from wattslice.units import energy, percent, three_digits

MAX_ADVICE = 6
"""Pieces of advice told; the JSON report has them all."""

_HOT_LINE = "PW040"
"""The table of the hottest lines shows it already."""
_NOTHING = "–"


def advice_shown(kernel: KernelAnalysis) -> tuple[Advice, ...]:
    """What the section tells, most joules first."""
    return tuple(advice for advice in kernel.advice if advice.rule != _HOT_LINE)[:MAX_ADVICE]


def advice_table(kernel: KernelAnalysis, width: int) -> Table:
    """One piece of advice per row: where, what and what to do; the joules at stake, and how the watts
    would change.
    """
    shown = advice_shown(kernel)
    columns = (
        Column("  line", tuple(Text(f"  {advice.line}") for advice in shown), right=True, style="dim"),
        Column(
            "what costs power, and what to do",
            tuple(_words(advice) for advice in shown),
            least=24,
            wanted=50,
            stretch=True,
        ),
        Column("at stake", tuple(_stake(advice) for advice in shown), right=True),
        Column(
            "share", tuple(Text(_share(advice, kernel)) for advice in shown), right=True, give_up=ORNAMENT
        ),
        Column("watts", tuple(Text(_change(advice)) for advice in shown), right=True, give_up=1),
        Column("", tuple(Text(advice.rule) for advice in shown), style="dim"),
    )
    return fitting_table(columns, width)


def _words(advice: Advice) -> Text:
    words = Text(printable(advice.told))
    words.append(f"\n→ {printable(advice.fix)}", style="cyan")
    if advice.file:
        words.append(f"\nin {printable(PurePath(advice.file).name)}", style="dim")
    return words


def _stake(advice: Advice) -> Text:
    style = WARM if advice.severity is Severity.WARNING else ""
    return Text(_NOTHING if advice.energy_j is None else energy(advice.energy_j), style=style)


def _share(advice: Advice, kernel: KernelAnalysis) -> str:
    if advice.energy_j is None or not kernel.energy_j:
        return _NOTHING
    return percent(min(1.0, advice.energy_j / kernel.energy_j))


def _change(advice: Advice) -> str:
    """The watts would change by so much: `−4.89 W` are saved, `+77.0 W` come with the shorter time."""
    if advice.power_w is None:
        return _NOTHING
    return f"{'−' if advice.power_w >= 0 else '+'}{three_digits(abs(advice.power_w))} W"
