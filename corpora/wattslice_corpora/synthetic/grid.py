"""The synthetic slices of a measuring campaign, in an order of which every beginning is a useful design."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

from msgspec import Struct

from wattslice_corpora.synthetic.plan import is_feasible
from wattslice_corpora.synthetic.spec import (
    HIGHEST_DENSITY,
    LOWEST_DENSITY,
    OperationKind,
    Pattern,
    SliceSpec,
    Space,
    SpecError,
)

GRID_SIZE = 150
"""Slices of the default grid: at three seconds each, a campaign of under ten minutes."""
DENSITIES = (LOWEST_DENSITY, 1.0, 4.0, 12.0, 36.0, 100.0, 300.0, 900.0, 2700.0, HIGHEST_DENSITY)
SATURATIONS = (1.0, 0.1, 0.3, 0.6, 0.8)
"""The paper's four and its lower bound (Wang & Chen 2013, Def. 4 and section 3)."""

# What one more coincidence of two slices costs, as a factor. A full GPU tells most: it may come back oftener.
_COINCIDENCE = 3.0
_COINCIDENCE_AT_FULL = 0.5


class AccessWeights(Struct, frozen=True):
    """Power of an access relative to a global one: r of Wang & Chen 2013, eq. (1); 1 counts all alike."""

    shared: float = 1.0
    constant: float = 1.0
    texture: float = 1.0

    def of(self, space: Space) -> float:
        """The weight of an access to `space`."""
        known = {Space.SHARED: self.shared, Space.CONSTANT: self.constant, Space.TEXTURE: self.texture}
        return known.get(space, 1.0)


UNWEIGHTED = AccessWeights()


@cache
def default_grid(sm_count: int, weights: AccessWeights = UNWEIGHTED) -> tuple[SliceSpec, ...]:
    """150 different slices for a GPU of `sm_count` multiprocessors, the most valuable first.

    Each slice is the one that coincides least with all before it, in memory space, operation kind, pattern,
    density and saturation, taken singly and together (a greedy orthogonal array). So in any first part
    every value of each occurs about equally often, and with every value of the others. The same arguments
    give the same grid. `weights` are those of the GPU to be measured.
    """
    candidates = _candidates(sm_count, weights)
    crowding = [0.0] * len(candidates)
    chosen: list[int] = []
    for _ in range(min(GRID_SIZE, len(candidates))):
        best = min(range(len(candidates)), key=crowding.__getitem__)  # the first of equals: nothing by chance
        chosen.append(best)
        for index, candidate in enumerate(candidates):
            crowding[index] += _COINCIDENCE ** _coincidences(candidate, candidates[best])
        crowding[best] = math.inf
    return tuple(candidates[index] for index in chosen)


def _candidates(sm_count: int, weights: AccessWeights) -> tuple[SliceSpec, ...]:
    """Every combination that means something and can be built."""
    found: list[SliceSpec] = []
    for space, kind, pattern in product(Space, OperationKind, Pattern):
        for density in (None,) if space is Space.REGISTERS else DENSITIES:
            try:
                specs = tuple(
                    SliceSpec(space, kind, density, sm_count, share, pattern, access_weight=weights.of(space))
                    for share in SATURATIONS
                )
            except SpecError:
                continue
            found += (spec for spec in specs if is_feasible(spec))
    return tuple(found)


def _coincidences(one: SliceSpec, other: SliceSpec) -> float:
    """In how many things two slices are alike."""
    alike = (one.space is other.space) + (one.kind is other.kind) + (one.pattern is other.pattern)
    alike += one.density == other.density
    if one.saturation == other.saturation:
        return alike + (_COINCIDENCE_AT_FULL if one.saturation == 1.0 else 1.0)
    return float(alike)
