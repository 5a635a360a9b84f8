"""Which lines changed a kernel's watts or joules: line heat on both sides, mapped through the text diff."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field

from wattslice.analysis import KernelAnalysis
from wattslice.gate.ratio_trust import Quantity
from wattslice.gate.records import Pair
from wattslice.quoting import Quoter
from wattslice.report.units import energy, power

MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class LineChange:
    """What a line costs more (W or J): `line` of `file` now, or before where `is_removed`.

    `is_edited`: its text is new. A line whose text stayed costs more because of what is around it.
    """

    file: str
    line: int
    more: float
    text: str
    is_edited: bool = False
    is_removed: bool = False


@dataclass(slots=True)
class Blame:
    """Explains pairs of launches of two states. `shared_old`, `shared_new`: paths common to both states."""

    shared_old: Callable[[str], str]
    shared_new: Callable[[str], str]
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
        changes = self.line_changes(old, new, by_power=by_power)
        shown = [change for change in changes if change.more > 0][:MOST_LINES]
        edited = [change for change in changes if change.is_edited and not change.is_removed]
        parts = [_told(change, by_power) for change in shown]
        parts += (_told(change, by_power) for change in edited[:2] if change not in shown)
        static = _static(new, by_power) - _static(old, by_power)
        if not by_power and static > max((change.more for change in shown), default=0.0):
            parts.insert(0, f"what the board draws anyway, for longer: {energy(static)} more")
        if not edited and not any(change.is_removed for change in changes):
            parts.append("no line of it was edited")
        return "; ".join(parts)

    def line_changes(
        self, old: KernelAnalysis, new: KernelAnalysis, *, by_power: bool
    ) -> tuple[LineChange, ...]:
        """Every line with any heat before or after, the greatest rise first."""
        before, after = _heat(old, by_power), _heat(new, by_power)
        taken: set[tuple[str, int]] = set()
        found: list[LineChange] = []
        for (file, line), heat in after.items():
            partner = self._before(file, line, old, new)
            earlier = 0.0 if partner is None else before.get(partner, 0.0)
            if partner is not None:
                taken.add(partner)
            text = self._quoter.line(file, line)
            found.append(LineChange(file, line, heat - earlier, text, is_edited=partner is None))
        for place, heat in before.items():
            if place not in taken:
                kept = self._after_exists(*place, old, new)
                found.append(
                    LineChange(
                        self.shared_old(place[0]),
                        place[1],
                        -heat,
                        self._quoter.line(*place),
                        is_edited=not kept,
                        is_removed=not kept,
                    )
                )
        return tuple(sorted(found, key=lambda change: (-change.more, change.file, change.line)))

    def _before(
        self, file: str, line: int, old: KernelAnalysis, new: KernelAnalysis
    ) -> tuple[str, int] | None:
        """Where a line of now stood before; None for one that was written since."""
        for earlier in self._counterparts(file, old, new):
            found = self._map(earlier, file).get(line)
            if found is not None:
                return earlier, found
        return None

    def _after_exists(self, file: str, line: int, old: KernelAnalysis, new: KernelAnalysis) -> bool:
        files = dict.fromkeys((new.file, *(heat.file for heat in new.hot_lines)))
        return any(line in self._map(file, later).values() for later in files)

    def _counterparts(self, file: str, old: KernelAnalysis, new: KernelAnalysis) -> list[str]:
        """Old files in which a line of `file` may have stood: the same path first."""
        files = list(dict.fromkeys((old.file, *(heat.file for heat in old.hot_lines))))
        return sorted(files, key=lambda one: self.shared_old(one) != self.shared_new(file))

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


def _told(change: LineChange, by_power: bool) -> str:
    figure = power(abs(change.more)) if by_power else energy(abs(change.more))
    more = "more" if change.more > 0 else "less"
    how = "edited" if change.is_edited else "same text"
    return f"line {change.line} ({how}) {figure} {more}: {' '.join(change.text.split())[:60]}"
