"""Workflows of components: time, energy and power of every combination of ways to run them.

ESCAPE deliverable D3.5, 2018, section 5.7, for two components on different architectures:

    no overlap:  T = T1 + T2        E = E1 + E1const * T2 + E2 + E2const * T1
    overlap:     T = max(T1, T2)    E = E1 + E2 + E1const * (T - T1) + E2const * (T - T2)

where E_const is the constant power of an architecture: that of all its nodes without work. Both say the
same: whatever is held for the whole time T and does not work draws its constant power. So for any number of
components

    E = sum E_i + sum over machines of p_idle * (held * T - sum n_i * T_i)

`held` nodes of a machine are reserved, of which component i keeps n_i at work for T_i. On different machines
`held` is n_i: exactly the equations above. Components on the same machine take turns on the same nodes when
they do not overlap (held = max n_i), unless told not to share; when they overlap, each has its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice_models.cluster import ComponentRuns

Array = NDArray[np.float64]
_ROUNDING = 1e-12
"""Relative waiting time below which nobody waits: n * (T / n) - T need not be 0."""


class Outcomes(Struct, frozen=True):
    """Every configuration of a workflow; arrays of length c, `choice` (c, k): which way component k runs.

    Times in s, energies in J, powers in W, `delay_product_js` in J*s. `idle_j` is the part of `energy_j` that
    machines draw while their components do not work. `highest_power_w` in the phase that draws most
    (`ComponentRuns`), with what idles beside it; of components that overlap, the sum of their highest. NaN
    where a power is unknown.
    """

    choice: NDArray[np.int64]
    time_s: Array
    energy_j: Array
    energy_low_j: Array
    energy_high_j: Array
    idle_j: Array
    highest_power_w: Array

    def __len__(self) -> int:
        return len(self.time_s)

    @property
    def average_power_w(self) -> Array:
        """Energy over time."""
        return self.energy_j / self.time_s

    @property
    def delay_product_js(self) -> Array:
        """The energy-delay product E * T."""
        return self.energy_j * self.time_s


def configurations(components: Sequence[ComponentRuns]) -> int:
    """How many combinations there are."""
    return math.prod(len(runs) for runs in components)


def _combinations(numbers: Sequence[int]) -> NDArray[np.int64]:
    """All combinations of an index below each number, (k, c): more numbers than an array may have axes."""
    rest = np.arange(math.prod(numbers))
    found = np.empty((len(numbers), len(rest)), dtype=np.int64)
    for place in reversed(range(len(numbers))):
        rest, found[place] = np.divmod(rest, numbers[place])
    return found


def workflow_outcomes(
    components: Sequence[ComponentRuns], *, overlap: bool, share_nodes: bool = True
) -> Outcomes:
    """All combinations, the last component's way varying fastest.

    `overlap`: components run at the same time, each on its own nodes. `share_nodes`: without overlap,
    components on one machine take turns on the same nodes. Raises ``ValueError`` without a component.
    """
    if not components:
        raise ValueError("a workflow has at least one component")
    choice = _combinations([len(runs) for runs in components])

    def each(name: str) -> Array:
        """A field of the ways chosen, (k, c)."""
        return np.stack([getattr(runs, name)[way] for runs, way in zip(components, choice, strict=True)])

    times_s, nodes, idle_w, energies_j = each("time_s"), each("nodes"), each("idle_power_w"), each("energy_j")
    machines = each("machine")
    if overlap or not share_nodes:
        machines = np.broadcast_to(np.arange(len(components))[:, None], machines.shape)
    time_s = times_s.max(axis=0) if overlap else times_s.sum(axis=0)
    idle_j, powers_w = np.zeros_like(time_s), each("highest_power_w")
    for number, machine in enumerate(machines):
        same = machines == machine
        # The first component on a machine accounts for all that run there.
        first = ~same[:number].any(axis=0)
        held = np.where(same, nodes, 0.0).max(axis=0)
        idle_s = held * time_s - np.where(same, nodes * times_s, 0.0).sum(axis=0)
        waits = first & (idle_s > _ROUNDING * held * time_s)
        idle_j += np.where(waits, idle_w[number] * idle_s, 0.0)
        if overlap:  # what is done first idles until the last is
            idling_w = np.where(waits, idle_w[number] * nodes[number], 0.0)
            powers_w[number] = np.maximum(powers_w[number], idling_w)
            continue
        for other in range(len(machines)):
            idle_nodes = held - np.where(same[other], nodes[other], 0.0)
            # Where no node idles, its power need not be known.
            powers_w[other] += np.where(first & (idle_nodes > 0), idle_w[number] * idle_nodes, 0.0)
    return Outcomes(
        choice=choice.T,
        time_s=time_s,
        energy_j=energies_j.sum(axis=0) + idle_j,
        energy_low_j=each("energy_low_j").sum(axis=0) + idle_j,
        energy_high_j=each("energy_high_j").sum(axis=0) + idle_j,
        idle_j=idle_j,
        highest_power_w=powers_w.sum(axis=0) if overlap else powers_w.max(axis=0),
    )
