"""The parts of memory that one block touches at an access site, in all iterations of the loops around it.

Of a loop whose iterations are alike the first and the last are evaluated; what lies between follows from them
where addresses move by the same distance in each iteration. Blocks of a grid are such iterations, too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.counting.sampling import SampledThreads

MOST_KEPT = 1 << 16
"""Lanes of all visits that are kept, and runs of bytes that they touch."""
MOST_RUNS = 1 << 14
"""Runs of bytes that are handed on."""
SECTOR_BYTES = 32
_NOWHERE = np.iinfo(np.int64).min

Lanes = NDArray[np.int64]
Runs = tuple[tuple[int, int], ...]
"""Runs of bytes, first and one behind the last, in order; each sector of a run is touched."""


class Stretch(Struct, frozen=True, eq=False):
    """Of a loop the iteration `place`, which stands for those from `first` to below `behind`, as far as a
    lane has so many (`trips`).
    """

    place: int
    first: float
    behind: float
    trips: int | Lanes

    def number(self, block: slice) -> NDArray[np.float64]:
        """How many those are in the lanes of a block."""
        trips = self.trips if isinstance(self.trips, int) or self.trips.size == 1 else self.trips[block]
        return np.asarray(np.minimum(trips, self.behind) - self.first)


Iteration = tuple[Stretch, ...]
"""Of each loop around, outermost first."""


class _Visit(Struct, frozen=True, eq=False):
    """The `lanes` that come, and to which `offsets`. Of each loop around the place, the first of the
    iterations that it stands for, and how many those are in each lane; none where these are not known, and it
    stands for itself alone.
    """

    lanes: NDArray[np.intp]
    offsets: Lanes
    places: tuple[int, ...] = ()
    firsts: tuple[int, ...] = ()
    numbers: tuple[int | Lanes, ...] = ()


class Touched:
    """The visits of one of the sampled blocks."""

    def __init__(self, threads: SampledThreads, block: int) -> None:
        self._threads = threads
        self._block = block
        self._lanes = threads.lanes_of(block)
        self._visits: list[_Visit] | None = []
        self._kept = 0
        self._slopes: Lanes | None = None  # by how much blocks lie apart along each axis of the grid
        self._is_alike = True

    def visit(self, offsets: int | Lanes, weights: NDArray[np.float64], iteration: Iteration | None) -> None:
        """All lanes of all blocks come to `offsets`, in bytes, each so often."""
        if self._visits is None:
            return
        own = weights[self._lanes]
        lanes = np.flatnonzero(own)
        if not lanes.size:
            self._is_alike = False
            return
        self._kept += lanes.size
        here = np.full(lanes.size, offsets) if isinstance(offsets, int) else offsets[self._lanes][lanes]
        visit = _visit(lanes, here, own[lanes], iteration, self._lanes) if self._kept <= MOST_KEPT else None
        if visit is None:
            self._visits = None
        else:
            self._visits.append(visit)
            self._is_alike = self._is_alike and self._compare(offsets, weights)

    def _compare(self, offsets: int | Lanes, weights: NDArray[np.float64]) -> bool:
        """Whether in this visit, too, all blocks do at most the same, as far behind as the grid says."""
        blocks, lanes = self._threads.block_population.size, self._threads.block_lanes
        of_blocks = weights.reshape(blocks, lanes)
        if bool((of_blocks > of_blocks[self._block]).any()):
            return False
        rows = np.broadcast_to(np.asarray(offsets, np.int64), weights.shape).reshape(blocks, lanes)
        apart = np.where(of_blocks > 0.0, rows - rows[self._block], _NOWHERE)
        places = self._threads.places - self._threads.places[self._block]
        if self._slopes is None:
            self._slopes = _slopes(places, apart.max(axis=1))
        return bool(((apart == _NOWHERE) | (apart == (places @ self._slopes)[:, None])).all())

    @property
    def moves(self) -> tuple[tuple[int, int], ...] | None:
        """As in `ReachedObject`."""
        if self._visits is None or not self._is_alike or self._slopes is None:
            return None
        return tuple(zip(self._threads.places[self._block].tolist(), self._slopes.tolist(), strict=True))

    def runs(self, size_bytes: int) -> Runs | None:
        """What the block touches by objects of `size_bytes`; None where that is not known."""
        steps = None if self._visits is None else _steps(self._visits)
        if not self._visits or steps is None:
            return None
        first = np.concatenate(
            [
                visit.offsets
                + sum(step * (visit.firsts[loop] - visit.places[loop]) for loop, step in steps.items())
                for visit in self._visits
            ]
        )
        loops = [
            (step, np.concatenate([np.broadcast_to(v.numbers[loop], v.lanes.shape) for v in self._visits]))
            for loop, step in steps.items()
        ]
        found = united(first, first + max(1, size_bytes), loops)
        if found is None or found[0].size > MOST_RUNS:
            return None
        return tuple(zip(found[0].tolist(), found[1].tolist(), strict=True))


def _visit(
    lanes: NDArray[np.intp],
    offsets: Lanes,
    weights: NDArray[np.float64],
    iteration: Iteration | None,
    block: slice,
) -> _Visit | None:
    """None where it is not known for which iterations it stands."""
    most = float(weights.max())
    alone = _Visit(lanes, offsets) if most <= 1.0 else None
    if iteration is None:
        return alone
    numbers = [
        number[lanes] if number.ndim else number for number in (one.number(block) for one in iteration)
    ]
    if float(np.abs(math.prod(numbers, start=np.ones(())) - weights).max()) > 1e-6 * most:
        return alone
    firsts = [math.floor(one.first) for one in iteration]
    behind = [np.ceil(one.first + number) for one, number in zip(iteration, numbers, strict=True)]
    whole = [(end - first).astype(np.int64) for first, end in zip(firsts, behind, strict=True)]
    return _Visit(lanes, offsets, tuple(one.place for one in iteration), tuple(firsts), tuple(whole))


def _steps(visits: Sequence[_Visit]) -> dict[int, int] | None:
    """By how much an iteration moves all lanes, of each loop of which visits stand for several; None where
    that is not known, or not always the same.
    """
    many = {loop for visit in visits for loop, number in enumerate(visit.numbers) if np.any(number != 1)}
    if not many:
        return {}
    groups: dict[tuple[int, ...], list[_Visit]] = {}
    for visit in visits:
        if not visit.numbers:
            return None
        elsewhere = tuple(place for k, place in enumerate(visit.places) if k not in many)
        groups.setdefault(elsewhere, []).append(visit)
    steps: dict[int, int] = {}
    for one, other in (pair for _ in many for group in groups.values() for pair in _pairs(group)):
        apart = {k: other.places[k] - one.places[k] for k in many if other.places[k] != one.places[k]}
        unknown = apart.keys() - steps.keys()
        _, here, there = np.intersect1d(one.lanes, other.lanes, assume_unique=True, return_indices=True)
        if len(unknown) != 1 or not here.size:
            continue
        (loop,) = unknown
        known = sum(number * steps[k] for k, number in apart.items() if k != loop)
        steps[loop] = (int(other.offsets[there[0]] - one.offsets[here[0]]) - known) // apart[loop]
        if len(steps) == len(many):
            break
    if len(steps) < len(many):
        return None
    return steps if all(_follow(group, steps) for group in groups.values()) else None


def _slopes(places: Lanes, apart: Lanes) -> Lanes:
    """What best explains how far apart blocks at these `places` of the grid are, along each axis."""
    met = apart != _NOWHERE
    found = np.linalg.lstsq(places[met].astype(np.float64), apart[met].astype(np.float64), rcond=None)[0]
    return np.array([round(slope) for slope in found.tolist()], np.int64)


def _pairs(group: Sequence[_Visit]) -> Iterator[tuple[_Visit, _Visit]]:
    yield from itertools.pairwise(group)
    yield from ((group[0], other) for other in group[2:])


def _follow(visits: Sequence[_Visit], steps: dict[int, int]) -> bool:
    """Whether the places of all visits are as these steps say."""
    size = 1 + max(int(visit.lanes[-1]) for visit in visits)
    start, is_known = np.zeros(size, np.int64), np.zeros(size, np.bool_)
    for visit in visits:
        own = visit.offsets - sum(step * visit.places[loop] for loop, step in steps.items())
        if bool((is_known[visit.lanes] & (start[visit.lanes] != own)).any()):
            return False
        start[visit.lanes], is_known[visit.lanes] = own, True
    return True


def united(
    first: Lanes, behind: Lanes, loops: Iterable[tuple[int, int | Lanes]]
) -> tuple[Lanes, Lanes] | None:
    """The union of runs of bytes, in order, each of which comes again in iterations of `loops`: the step of
    each, and how many they are, for each run. None where these are too many.

    A loop whose steps leave out no sector makes each run longer; of others each iteration has its own.
    """
    around = sorted(((abs(step), step < 0, number) for step, number in loops if step), key=lambda one: one[0])
    numbers = [np.broadcast_to(number, first.shape) for _, _, number in around]
    for step, is_down, _ in around:
        here, *numbers = numbers
        if is_down:
            first, behind = first - step * (here - 1), behind - step * (here - 1)
        if bool(((step <= np.maximum(behind - first, SECTOR_BYTES)) | (here == 1)).all()):
            behind = behind + step * (here - 1)
            continue
        first, behind, (here, *numbers) = merged(first, behind, [here, *numbers])
        if int(here.sum()) > MOST_KEPT:
            return None
        which = np.repeat(np.arange(here.size), here)
        far = step * (np.arange(which.size) - np.repeat(np.cumsum(here) - here, here))
        first, behind, numbers = first[which] + far, behind[which] + far, [own[which] for own in numbers]
    first, behind, _ = merged(first, behind)
    return first, behind


def merged(first: Lanes, behind: Lanes, numbers: Sequence[Lanes] = ()) -> tuple[Lanes, Lanes, list[Lanes]]:
    """The union of runs that have the same `numbers`, each in order."""
    order = np.lexsort((first, *numbers))
    first, behind, numbers = first[order], behind[order], [own[order] for own in numbers]
    is_other = np.zeros(first.size, np.bool_)
    for own in numbers:
        is_other[1:] |= own[1:] != own[:-1]
    far = np.cumsum(is_other) * (int(behind.max()) - int(first.min()))  # runs of other numbers lie far behind
    reached = np.maximum.accumulate(behind + far)
    is_new = np.ones(first.size, np.bool_)
    is_new[1:] = is_other[1:] | (first[1:] + far[1:] > reached[:-1])
    last = np.append(np.flatnonzero(is_new)[1:] - 1, first.size - 1)
    return first[is_new], (reached - far)[last], [own[is_new] for own in numbers]
