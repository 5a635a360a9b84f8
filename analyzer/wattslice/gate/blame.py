"""Which lines changed a kernel's watts or joules: line heat on both sides, mapped through the text diff."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from wattslice.analysis import KernelAnalysis
from wattslice.findings.quoting import Quoter
from wattslice.gate.ratio_trust import Quantity
from wattslice.gate.records import Pair
from wattslice.units import energy, power

MOST_LINES = 3
WORTH_TELLING = 0.1
"""Share of the whole rise from which on a line whose text stayed is told."""

_IDLE_TEXT = re.compile(r"\s*(?://.*|/\*.*|\*.*|[{}();]*)\s*")
"""Lines that say nothing: blank, brackets, comments."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """What a line costs more (W or J) than before: `line` of `file` now. `is_edited`: its text is new."""

    file: str
    line: int
    more: float
    text: str
    is_edited: bool


@dataclass(slots=True)
class Blame:
    """Explains pairs of launches of two states. `shared_old`, `shared_new`: paths common to both states.

    `changed`: paths of all files that differ.
    """

    shared_old: Callable[[str], str]
    shared_new: Callable[[str], str]
    changed: tuple[str, ...] = ()
    _quoter: Quoter = field(default_factory=lambda: Quoter("", ()))
    _maps: dict[tuple[str, str], dict[int, int]] = field(
        default_factory=dict[tuple[str, str], dict[int, int]]
    )

    def explain(self, pair: Pair, quantity: Quantity) -> str:
        """The lines that changed `quantity`, in words; empty when the heat of one side is not known."""
        old, new = pair.old.analysis, pair.new.analysis
        if old is None or new is None or not (old.hot_lines and new.hot_lines):
            return ""
        by_power = quantity is Quantity.POWER
        rise = ((new.power_w if by_power else new.energy_j) or 0.0) - (
            (old.power_w if by_power else old.energy_j) or 0.0
        )
        changes = self.line_changes(old, new, by_power=by_power)
        edited = [change for change in changes if change.is_edited]
        same = [change for change in changes if not change.is_edited and change.more > WORTH_TELLING * rise]
        parts: list[str] = []
        if edited:
            more = f" and {len(edited) - MOST_LINES} more" if len(edited) > MOST_LINES else ""
            told = ", ".join(_told(change, by_power, new.file) for change in edited[:MOST_LINES])
            parts.append(f"edited: {told}{more}")
        elif self.changed:
            parts.append(f"no line of it was edited, but {', '.join(self.changed[:MOST_LINES])}")
        if same:
            told = ", ".join(_told(change, by_power, new.file) for change in same[:MOST_LINES])
            parts.append(f"costlier with the same text: {told}")
        static = _static(new, by_power) - _static(old, by_power)
        if static > WORTH_TELLING * rise:
            figure = power(static) if by_power else energy(static)
            parts.append(f"{figure} more for the board itself" + ("" if by_power else ", busy for longer"))
        return "; ".join(parts)

    def line_changes(
        self, old: KernelAnalysis, new: KernelAnalysis, *, by_power: bool
    ) -> tuple[LineChange, ...]:
        """Every line with heat now and every line of the kernel that says something, the costliest first."""
        before, after = _heat(old, by_power), _heat(new, by_power)
        places = dict.fromkeys((*after, *((new.file, line) for line in range(new.line, new.end_line + 1))))
        found: list[LineChange] = []
        for file, line in places:
            partner = self._before(file, line, old)
            text = self._quoter.line(file, line)
            if partner is None and (file, line) not in after and _IDLE_TEXT.fullmatch(text):
                continue
            earlier = 0.0 if partner is None else before.get(partner, 0.0)
            more = after.get((file, line), 0.0) - earlier
            found.append(LineChange(file, line, more, text, partner is None))
        return tuple(sorted(found, key=lambda change: (-change.more, change.file, change.line)))

    def _before(self, file: str, line: int, old: KernelAnalysis) -> tuple[str, int] | None:
        """Where a line of now stood before; None for one that was written since."""
        files = dict.fromkeys((old.file, *(heat.file for heat in old.hot_lines)))
        for earlier in sorted(files, key=lambda one: self.shared_old(one) != self.shared_new(file)):
            found = self._map(earlier, file).get(line)
            if found is not None:
                return earlier, found
        return None

    def _map(self, old_file: str, new_file: str) -> dict[int, int]:
        """Line now to line before: equal runs of the diff, then equal lines that moved."""
        known = self._maps.get((old_file, new_file))
        if known is None:
            before = [" ".join(line.split()) for line in self._quoter.text(old_file).split("\n")]
            after = [" ".join(line.split()) for line in self._quoter.text(new_file).split("\n")]
            known = self._maps[old_file, new_file] = line_map(before, after)
        return known


def line_map(before: list[str], after: list[str]) -> dict[int, int]:
    """Lines (from 1) of `after` that stood in `before`, unchanged or moved; blank ones only in place."""
    found: dict[int, int] = {}
    for start_old, start_new, length in difflib.SequenceMatcher(
        None, before, after, autojunk=False
    ).get_matching_blocks():
        found.update({start_new + i + 1: start_old + i + 1 for i in range(length)})
    free: dict[str, list[int]] = {}
    taken = set(found.values())
    for number, text in enumerate(before, 1):
        if number not in taken and len(text) > 1:
            free.setdefault(text, []).append(number)
    for number, text in enumerate(after, 1):
        if number not in found and free.get(text):
            found[number] = free[text].pop(0)
    return found


def _heat(kernel: KernelAnalysis, by_power: bool) -> dict[tuple[str, int], float]:
    factor = 1.0 if by_power else kernel.time_s or 0.0
    return {(heat.file, heat.line): heat.power_w * factor for heat in kernel.hot_lines}


def _static(kernel: KernelAnalysis, by_power: bool) -> float:
    """What no line draws: idle and active SMs."""
    total = kernel.power_w if by_power else kernel.energy_j
    return (total or 0.0) - sum(_heat(kernel, by_power).values())


def _told(change: LineChange, by_power: bool, own_file: str) -> str:
    figure = power(abs(change.more)) if by_power else energy(abs(change.more))
    place = f"line {change.line}" + ("" if change.file == own_file else f" of {Path(change.file).name}")
    heat = f" ({'+' if change.more > 0 else '-'}{figure})" if change.more else ""
    text = " ".join(change.text.split())
    return f"{place}{heat} `{text if len(text) <= 60 else text[:59] + '…'}`"
