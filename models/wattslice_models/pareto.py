"""Which configurations are worth a choice: the Pareto front of time and energy, the best by an objective."""

from __future__ import annotations

import math
from enum import StrEnum

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice_models.workflow_energy import Outcomes

Array = NDArray[np.float64]
SAME = 1e-9
"""Relative difference below which two figures are the same: rounding makes no front."""


class Objective(StrEnum):
    """What the best configuration has least of; the energy-delay product is E * T."""

    ENERGY = "least-energy"
    TIME = "least-time"
    DELAY_PRODUCT = "least-energy-delay"


class Limits(Struct, frozen=True):
    """Bounds that a configuration must keep; None: none. What is exactly at one keeps it.

    `power_budget_w` bounds the phase of the workflow that draws most.
    """

    deadline_s: float | None = None
    energy_budget_j: float | None = None
    power_budget_w: float | None = None


NO_LIMITS = Limits()


def pareto_front(time_s: Array, energy_j: Array, tolerance: float = SAME) -> NDArray[np.int64]:
    """Indices of the configurations that no other beats, fastest first.

    One beats another that is not better in either and worse in one of time and energy. Of equals the first
    is kept, and whatever is less than `tolerance` (relative) below the energy of a faster one is no better.
    Configurations of unknown time or energy (NaN) are left out.
    """
    known = np.flatnonzero(np.isfinite(time_s) & np.isfinite(energy_j))
    ordered = known[np.lexsort((known, energy_j[known], time_s[known]))]
    if not ordered.size:
        return ordered
    lowest = np.minimum.accumulate(energy_j[ordered])
    candidates = ordered[np.r_[True, lowest[1:] < lowest[:-1]]]
    front: list[int] = []
    bound = math.inf
    for index in candidates.tolist():
        if energy_j[index] < bound:
            front.append(index)
            bound = energy_j[index] * (1 - tolerance)
    return np.array(front, dtype=np.int64)


def keeping(outcomes: Outcomes, limits: Limits) -> NDArray[np.bool_]:
    """Which configurations keep the limits; one of unknown energy or power keeps no limit on it."""
    kept = np.isfinite(outcomes.time_s)
    for values, bound in _bounded(outcomes, limits):
        kept &= values <= bound  # False for NaN
    return kept


def exceeding(outcomes: Outcomes, limits: Limits) -> NDArray[np.bool_]:
    """Which configurations are known to be over a limit; the others keep them, or it is unknown."""
    over = np.zeros(len(outcomes), dtype=np.bool_)
    for values, bound in _bounded(outcomes, limits):
        over |= values > bound  # False for NaN
    return over


def _bounded(outcomes: Outcomes, limits: Limits) -> list[tuple[Array, float]]:
    pairs = (
        (outcomes.time_s, limits.deadline_s),
        (outcomes.energy_j, limits.energy_budget_j),
        (outcomes.highest_power_w, limits.power_budget_w),
    )
    return [(values, bound) for values, bound in pairs if bound is not None]


def best(outcomes: Outcomes, objective: Objective, limits: Limits = NO_LIMITS) -> int | None:
    """The configuration with the least of the objective within the limits; None when there is none.

    Among the same (`SAME`) the faster is taken for energy and the frugal one for time, then the first.
    """
    time_s, energy_j = outcomes.time_s, outcomes.energy_j
    wanted, second = {
        Objective.ENERGY: (energy_j, time_s),
        Objective.TIME: (time_s, energy_j),
        Objective.DELAY_PRODUCT: (outcomes.delay_product_js, time_s),
    }[objective]
    possible = np.flatnonzero(keeping(outcomes, limits) & np.isfinite(wanted))
    if not possible.size:
        return None
    least = wanted[possible].min()
    equal = possible[wanted[possible] <= least + SAME * abs(least)]
    known = np.where(np.isfinite(second[equal]), second[equal], math.inf)
    return int(equal[np.argmin(known)])
