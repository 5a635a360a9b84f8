"""The parts of memory that one block touches at an access site, in all iterations of the loops around it.

Of a loop whose iterations are alike the first and the last are evaluated; what lies between follows from them
where addresses move by the same distance in each iteration.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.counting.values import distinct

MOST_VISITS = 64
"""Visits that are kept, and ..."""
MOST_ITERATIONS = 1 << 10
"""... iterations of all loops around a site that they may stand for: the taps of a filter."""
MOST_SECTORS = 1 << 14
"""Sectors of all lanes and iterations that are looked at."""

Runs = tuple[tuple[int, int], ...]
"""Runs of sectors, first and one behind the last, in order."""
Iteration = tuple[tuple[int, int], ...]
"""Of each loop around, outermost first: the number of its iteration, and how many there are."""


class _Visit(Struct, frozen=True):
    """How far it lies behind the first one, in bytes; how many iterations it stands for, of which it is one;
    None: which is not known.
    """

    distance: int
    weight: float
    iteration: Iteration | None


class Touched:
    """The visits of one block, as long as each of them lies behind the first by one distance."""

    def __init__(self) -> None:
        self._visits: list[_Visit] | None = []
        self._lanes: NDArray[np.bool_] | None = None
        self._first: NDArray[np.int64] | None = None

    def visit(
        self, offsets: int | NDArray[np.int64], weights: NDArray[np.float64], iteration: Iteration | None
    ) -> None:
        """The block's lanes come to `offsets`, in bytes, each so often."""
        if self._visits is None:
            return
        lanes = weights > 0.0
        if not bool(lanes.any()):
            return
        here = np.broadcast_to(np.asarray(offsets, np.int64), lanes.shape)[lanes]
        if self._lanes is None or self._first is None:
            self._lanes, self._first = lanes, here
        elif len(self._visits) == MOST_VISITS or not bool((lanes == self._lanes).all()):
            self._visits = None
            return
        distances = here - self._first
        if bool((distances != distances[0]).any()):
            self._visits = None
            return
        self._visits.append(_Visit(int(distances[0]), float(weights.max()), iteration))

    def runs(self, size_bytes: int, sector_bytes: int) -> Runs | None:
        """The sectors of all visits, and of those that they stand for, to objects of `size_bytes`; None where
        that is not known.
        """
        if not self._visits or self._first is None:
            return None
        distances = _distances(self._visits)
        if distances is None:
            return None
        hops: dict[int, list[int]] = {}  # whole sectors of each distance, by what is left of it
        for distance in distances:
            hops.setdefault(distance % sector_bytes, []).append(distance // sector_bytes)
        found: list[NDArray[np.int64]] = []
        for rest, whole in hops.items():
            first = (self._first + rest) // sector_bytes
            last = (self._first + (rest + max(1, size_bytes) - 1)) // sector_bytes
            pieces = range(int((last - first).max()) + 1)
            own = distinct(np.concatenate([np.minimum(first + piece, last) for piece in pieces]))
            if own.size * len(distances) > MOST_SECTORS:
                return None
            found.append((own[:, None] + np.array(whole)[None, :]).ravel())
        sectors = distinct(np.concatenate(found))
        ends = np.flatnonzero(np.diff(sectors) > 1)
        begin, end = sectors[np.r_[0, ends + 1]], sectors[np.r_[ends, sectors.size - 1]] + 1
        return tuple(zip(begin.tolist(), end.tolist(), strict=True))


def _distances(visits: Sequence[_Visit]) -> set[int] | None:
    """How far all iterations that the visits stand for lie behind the first visit."""
    if all(visit.weight <= 1.0 for visit in visits):
        return {visit.distance for visit in visits}
    known = [visit.iteration for visit in visits if visit.iteration is not None]
    if len(known) < len(visits):
        return None
    trips = tuple(number for _, number in known[0])
    total = math.fsum(visit.weight for visit in visits)
    if any(tuple(n for _, n in one) != trips for one in known):
        return None
    if len(trips) == 1 and max(place for ((place, _),) in known) < total < trips[0]:
        trips = (round(total),)  # a break leaves it behind so many of its iterations
    if math.prod(trips) > MOST_ITERATIONS or not math.isclose(total, math.prod(trips)):
        return None
    steps = _steps([tuple(place for place, _ in one) for one in known], [one.distance for one in visits])
    if any(n > 1 and step is None for n, step in zip(trips, steps, strict=True)):
        return None
    ways = [
        [(step or 0) * (k - first) for k in range(n)]
        for step, (first, _), n in zip(steps, known[0], trips, strict=True)
    ]
    found = {sum(way) for way in itertools.product(*ways)}
    return found if found.issuperset(visit.distance for visit in visits) else None


def _steps(places: Sequence[tuple[int, ...]], distances: Sequence[int]) -> list[int | None]:
    """By how much one iteration of each loop moves, as visits tell that differ in one loop not known yet from
    the first visit; None: none does.
    """
    steps: list[int | None] = [None] * len(places[0])
    for _ in steps:
        for place, distance in zip(places, distances, strict=True):
            apart = [one - first for one, first in zip(place, places[0], strict=True)]
            left = [k for k, number in enumerate(apart) if number and steps[k] is None]
            if len(left) == 1:
                rest = distance - sum(number * (step or 0) for number, step in zip(apart, steps, strict=True))
                steps[left[0]] = rest // apart[left[0]]
    return steps
