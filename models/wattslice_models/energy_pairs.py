"""What live data draw more than idle data, from matched pairs of runs.

How many bits toggle matters as much as how many instructions run, and public microbenchmarks run on zeros.
Only where the same program was measured on live and on idle values, everything else equal, does the
difference of the two runs tell what the values cost. Whatever such a pair has in common cancels: static
power, issue, addresses, errors of the byte counts.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from msgspec import Struct

from wattslice_models.energy import Component
from wattslice_models.energy_rows import Array, TimedRow, WorkRates
from wattslice_models.robust import huber_nnls

SAME_TIME = 0.05
SAME_BYTES = 0.01
"""How far, relatively, seconds and DRAM bytes of two runs may differ for them to match."""


class MatchedPairs(Struct, frozen=True):
    """Indices of runs that differ in how live their values are alone, and of their idle counterparts."""

    live: tuple[int, ...]
    idle: tuple[int, ...]


class LiveEnergies(Struct, frozen=True):
    """Joules at the reference voltage that live values draw more than idle ones: per multiply-add (or fp32
    instruction or integer multiplication), per byte of DRAM. `loss`: of the differences of watts.
    """

    multiplier_j: float
    dram_byte_j: float
    loss: float

    def watts(self, work: WorkRates, voltage: Array) -> Array:
        """What live values draw in every run."""
        return _columns(work, voltage) @ np.array([self.multiplier_j, self.dram_byte_j])


def matched_pairs(rows: tuple[TimedRow, ...], work: WorkRates) -> MatchedPairs:
    """The pairs among `rows`: program, clocks, blocks, seconds and bytes alike, values live and idle."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for index, row in enumerate(rows):
        key = (row.example.benchmark, row.example.subject.clocks, row.blocks)
        groups.setdefault(key, []).append(index)
    multiplier, dram = work.column(Component.FP32), work.column(Component.DRAM)
    found: list[tuple[int, int]] = []
    for group in groups.values():
        live = [index for index in group if work.live[index, multiplier] or work.live[index, dram]]
        idle = [index for index in group if index not in live]
        for one, other in product(live, idle):
            seconds = rows[one].time_s / rows[other].time_s
            moved, same = (work.rates[index, dram] * rows[index].time_s for index in (one, other))
            if abs(seconds - 1.0) < SAME_TIME and abs(moved - same) <= SAME_BYTES * same:
                found.append((one, other))
    return MatchedPairs(tuple(pair[0] for pair in found), tuple(pair[1] for pair in found))


def live_energies(pairs: MatchedPairs, work: WorkRates, voltage: Array) -> LiveEnergies | None:
    """Non-negative least squares of the differences; None when they do not tell the two energies apart."""
    live, idle = list(pairs.live), list(pairs.idle)
    columns = _columns(work, voltage)
    differences = (columns[live] - columns[idle]) / work.power_w[live, None]
    if len(live) < 2 or np.linalg.matrix_rank(differences / (differences.max(axis=0) + 1e-30)) < 2:
        return None
    target = (work.power_w[live] - work.power_w[idle]) / work.power_w[live]
    units = 1.0 / differences.max(axis=0)
    found = huber_nnls(differences * units, target)
    multiplier_j, dram_byte_j = (float(value) for value in found.solution * units)
    return LiveEnergies(multiplier_j, dram_byte_j, found.loss)


def _columns(work: WorkRates, voltage: Array) -> Array:
    """Rates of live work: multipliers follow the core voltage, DRAM does not."""
    multipliers = work.live[:, work.column(Component.FP32)] * voltage**2
    return np.column_stack([multipliers, work.live[:, work.column(Component.DRAM)]])
