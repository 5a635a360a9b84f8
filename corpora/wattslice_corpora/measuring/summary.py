"""What a campaign shows about the board and about the ways to read it."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from msgspec import Struct

from wattslice_corpora.measuring.journal import Entry
from wattslice_corpora.measuring.power import Method


class Spread(Struct, frozen=True):
    """Relative differences (fractions) of some watts from others that should be the same."""

    number: int
    median: float
    worst: float


class MethodSpread(Struct, frozen=True):
    """How far the watts of one method lie from the energy counter's, over valid configurations."""

    method: Method
    spread: Spread | None


class Summary(Struct, frozen=True):
    """`idle_w`: median over all configurations. `repeats`: (highest - lowest) / mean of the same launch."""

    rows: int
    valid: int
    capped: int
    failures: tuple[str, ...]
    idle_w: float | None
    methods: tuple[MethodSpread, ...]
    repeats: Spread | None


def summarise(entries: tuple[Entry, ...]) -> Summary:
    """What the entries of a journal show; None where there is nothing to compare."""
    valid = tuple(entry for entry in entries if entry.row.power_valid)
    idle = [entry.row.idle_power_w for entry in valid if entry.row.idle_power_w is not None]
    others = tuple(method for method in Method if method is not Method.ENERGY_COUNTER)
    return Summary(
        rows=len(entries),
        valid=len(valid),
        capped=sum(bool(entry.row.capped) for entry in valid),
        failures=tuple(f"{entry.name}: {entry.row.reason}" for entry in entries if not entry.row.power_valid),
        idle_w=statistics.median(idle) if idle else None,
        methods=tuple(MethodSpread(method, _from_counter(valid, method)) for method in others),
        repeats=_repeats(valid),
    )


def _from_counter(entries: tuple[Entry, ...], method: Method) -> Spread | None:
    return _spread(
        abs(watts / entry.powers.energy_counter_w - 1)
        for entry in entries
        if entry.powers is not None
        and entry.powers.energy_counter_w
        and (watts := entry.powers.by(method)) is not None
    )


def _repeats(entries: tuple[Entry, ...]) -> Spread | None:
    same: dict[tuple[object, ...], list[float]] = {}
    for entry in entries:
        row = entry.row
        if row.power_w is not None:
            launch = (row.benchmark, row.kernel, row.arguments, row.grid, row.block, row.input)
            same.setdefault(launch, []).append(row.power_w)
    return _spread(
        (max(watts) - min(watts)) / statistics.fmean(watts) for watts in same.values() if len(watts) > 1
    )


def _spread(differences: Iterable[float]) -> Spread | None:
    found = list(differences)
    return Spread(len(found), statistics.median(found), max(found)) if found else None
