"""Which threads stand for the whole launch: whole blocks of each piece of the grid.

Small launches are evaluated completely. In large ones the first and the last block along each axis
stand for themselves (boundary conditions live there) and the interior is represented by the middles
of equal strata, symmetric about the centre, so that counts linear in the block index come out exact.
Where guards cut the grid elsewhere, `pieces` says which blocks are evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from weakref import WeakValueDictionary

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice.counting.pieces import Plan, Planner, Structure, TooManyPiecesError
from wattslice.counting.values import joint

WARP_SIZE = 32
FULL_LAUNCH_LANES = 4096
SAMPLED_LANES = 4096
MOST_LANES = 1 << 17
"""Lanes that the pieces of a grid may take; a grid in more pieces is sampled."""


class SampledThreads(Struct, frozen=True, eq=False, dict=True):
    """The sampled lanes, warp by warp (blocks padded to whole warps).

    `thread_idx`, `block_idx`: three int64 arrays of shape (lanes,), or ints where all lanes agree.
    `population`: weight of each lane, 0 for padding, sums to 1. `warp_population`: the same per warp.
    `block_population`: the same per block. `exists`: False for padding lanes. `block_lanes`: padded lanes of
    a block. `typical`: the sampled blocks, that which stands best for what one block does first.
    """

    thread_idx: tuple[int | NDArray[np.int64], ...]
    block_idx: tuple[int | NDArray[np.int64], ...]
    population: NDArray[np.float64]
    warp_population: NDArray[np.float64]
    block_population: NDArray[np.float64]
    exists: NDArray[np.bool_]
    block_lanes: int
    typical: tuple[int, ...]

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """The place of each sampled block along x, y and z."""
        axes = [np.broadcast_to(axis, self.exists.shape)[:: self.block_lanes] for axis in self.block_idx]
        return np.column_stack(axes)

    @cached_property
    def block_threads(self) -> int:
        """Threads of a block."""
        return int(self.exists[: self.block_lanes].sum())

    def lanes_of(self, block: int) -> slice:
        """The lanes of one sampled block."""
        return slice(block * self.block_lanes, (block + 1) * self.block_lanes)


@lru_cache(maxsize=16)
def places_of_blocks(threads: SampledThreads) -> NDArray[np.float64]:
    """Places of the sampled blocks along the axes of the grid on which they differ, the fastest one first.

    The last column is 1.
    """
    axes = [axis[:: threads.block_lanes] for axis in threads.block_idx if isinstance(axis, np.ndarray)]
    return np.column_stack([*axes, np.ones(len(threads.block_population))]).astype(np.float64)


def _collapse(values: NDArray[np.int64]) -> int | NDArray[np.int64]:
    first = int(values[0])
    return first if bool((values == first).all()) else values


def padded_lanes(block: tuple[int, int, int]) -> int:
    """Lanes of the whole warps of a block."""
    return -(-block[0] * block[1] * block[2] // WARP_SIZE) * WARP_SIZE


def is_complete(grid: tuple[int, int, int], block: tuple[int, int, int]) -> bool:
    """Whether a launch is small enough to be evaluated completely."""
    return grid[0] * grid[1] * grid[2] * padded_lanes(block) <= FULL_LAUNCH_LANES


def complete(grid: tuple[int, int, int]) -> Plan:
    """All blocks of a grid."""
    return Planner(Structure(grid), max(grid), math.prod(grid)).plan()


@lru_cache(maxsize=64)
def planned(structure: Structure, block: tuple[int, int, int]) -> Plan:
    """The blocks to evaluate for what is known. Raises TooManyPiecesError.

    Kept, as the threads below are: launches of a file often have one geometry, and guards in one place.
    """
    lanes = padded_lanes(block)
    if is_complete(structure.grid, block):
        return complete(structure.grid)
    while True:
        per_axis = max(3, int((SAMPLED_LANES / lanes / structure.remainders) ** (1 / structure.long_axes)))
        planner = Planner(structure, per_axis, max(MOST_LANES // lanes, 1))
        plan = planner.plan()
        more = planner.more(structure)
        if more is structure:
            if planner.lacks_cuts:
                raise TooManyPiecesError
            return plan
        structure = more


def sample_threads(grid: tuple[int, int, int], block: tuple[int, int, int]) -> SampledThreads:
    """Sampled threads of a launch of which nothing is known; `grid` in blocks, `block` in threads."""
    return threads_of(planned(Structure(grid), block), block)


@lru_cache(maxsize=4)
def threads_of(plan: Plan, block: tuple[int, int, int]) -> SampledThreads:
    """All threads of the planned blocks."""
    threads = block[0] * block[1] * block[2]
    padded = padded_lanes(block)
    block_weight = plan.weights / plan.weights.sum()
    lane = np.arange(padded)
    inside = lane < threads
    lane = np.where(inside, lane, 0)
    count = block_weight.size
    tid = (lane % block[0], lane // block[0] % block[1], lane // (block[0] * block[1]))
    population = (block_weight[:, None] * (inside / threads)[None, :]).ravel()
    warps = padded // WARP_SIZE
    return SampledThreads(
        thread_idx=tuple(_collapse(np.tile(axis, count)) for axis in tid),
        block_idx=tuple(_collapse(np.repeat(axis, padded)) for axis in plan.places.T),
        population=population,
        warp_population=np.repeat(block_weight / warps, warps),
        block_population=block_weight,
        exists=np.tile(inside, count),
        block_lanes=padded,
        typical=_typical(plan),
    )


def _typical(plan: Plan) -> tuple[int, ...]:
    """The blocks that stand for many, the most typical one first: in the middle, but not on a diagonal.

    On a diagonal of the grid a block reads the same rows twice, in a product of a matrix with itself, say.
    """
    weights, places = plan.weights, plan.places / np.maximum(1, np.array(plan.structure.grid) - 1)
    many = [int(block) for block in np.argsort(-weights, kind="stable") if weights[block] > 1.0]
    middle = weights.size // 2
    heavy = [block for block in many if weights[block] >= weights.max() / 2]
    if sum(extent > 1 for extent in plan.structure.grid) > 1 and heavy:
        middle = max(heavy, key=lambda block: float(np.ptp(places[block])))
    elif weights[middle] < weights.max() / 2:
        return tuple(many)
    return (middle, *(block for block in many if block != middle))


class Mask(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """Weights of shape (lanes,); `thread_mean` and `warp_mean` are their means over the launch.

    A warp issues as often as its busiest lane asks for, hence `warp_mean` ≥ `thread_mean`. `certain`: the
    weights if every chance that the lanes take one by one had come out true; ``weights`` itself without any.
    `which`: lanes of a warp for which it is the same number take them together; None: none do.
    `of_threads`, `of_warps`: compute the means, which nobody asks for of many a mask.
    """

    weights: NDArray[np.float64]
    certain: NDArray[np.float64]
    lanes_active: int
    of_threads: Callable[[Mask], float]
    of_warps: Callable[[Mask], float]
    which: NDArray[np.int64] | None = None

    @property
    def is_empty(self) -> bool:
        """True when no lane runs."""
        return self.lanes_active == 0

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """The lanes that may run."""
        return self.weights > 0

    @cached_property
    def busiest_lanes(self) -> NDArray[np.float64]:
        """The greatest weight of each warp."""
        return of_busiest_lanes(self.weights)

    @cached_property
    def thread_mean(self) -> float:
        """How often a thread runs."""
        return self.of_threads(self)

    @cached_property
    def warp_mean(self) -> float:
        """How often a warp runs."""
        return self.of_warps(self)

    def scaled(self, factor: float) -> Mask:
        """Every weight multiplied by a non-negative factor."""
        if factor == 1.0:
            return self
        known = self._scaled.get(factor)
        if known is not None:
            return known
        weights = self.weights * factor
        self._scaled[factor] = found = Mask(
            weights,
            weights if self.certain is self.weights else self.certain * factor,
            self.lanes_active if factor > 0 else 0,
            lambda _: self.thread_mean * factor,
            lambda _: self.warp_mean * factor,
            self.which,
        )
        return found

    @cached_property
    def _scaled(self) -> WeakValueDictionary[float, Mask]:
        """The masks made by a factor: loops that are entered again need the same ones."""
        return WeakValueDictionary()


def of_busiest_lanes(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The greatest weight of each warp."""
    return np.maximum.reduceat(weights, _first_lanes(weights.size))


@lru_cache(maxsize=64)
def _first_lanes(lanes: int) -> NDArray[np.intp]:
    return np.arange(0, lanes, WARP_SIZE)


def _mean_of_threads(threads: SampledThreads, mask: Mask) -> float:
    # Not `@`: BLAS adds up in another order when it has another number of threads.
    return float(np.add.reduce(mask.weights * threads.population))


def _mean_of_warps(threads: SampledThreads, mask: Mask) -> float:
    return float(np.add.reduce(_runs_of_warps(mask) * threads.warp_population))


def _one(_: Mask) -> float:
    return 1.0


def _runs_of_warps(mask: Mask) -> NDArray[np.float64]:
    """How often each warp runs."""
    weights, certain = mask.weights, mask.certain
    if certain is weights:
        return mask.busiest_lanes
    rows, runs = weights.reshape(-1, WARP_SIZE), of_busiest_lanes(certain)
    chances = np.divide(rows, runs[:, None], out=np.zeros_like(rows), where=runs[:, None] > 0)
    if mask.which is not None:
        chances = _of_groups(chances, mask.which.reshape(-1, WARP_SIZE))
    misses = np.subtract(1.0, np.minimum(chances, 1.0, out=chances), out=chances)
    return runs * (1.0 - np.multiply.reduce(misses, axis=1))


def _of_groups(chances: NDArray[np.float64], which: NDArray[np.int64]) -> NDArray[np.float64]:
    """The greatest chance of each group of lanes, which are those of a row with the same number, in its first
    lane; 0 in the others.
    """
    order = np.argsort(which, axis=1, kind="stable")
    groups = np.take_along_axis(which, order, axis=1)
    is_first = np.ones(which.shape, np.bool_)
    is_first[:, 1:] = groups[:, 1:] != groups[:, :-1]
    found = np.zeros_like(chances)
    ordered = np.take_along_axis(chances, order, axis=1).ravel()
    found[is_first] = np.maximum.reduceat(ordered, np.flatnonzero(is_first))
    return found


class Masks:
    """Builds masks for one set of sampled threads."""

    def __init__(self, threads: SampledThreads) -> None:
        self._of_threads = partial(_mean_of_threads, threads)  # not of this object: nobody collects circles
        self._of_warps = partial(_mean_of_warps, threads)
        everywhere = threads.exists.astype(np.float64)
        number = int(threads.exists.sum())
        self.all = Mask(everywhere, everywhere, number, _one, _one)  # exact, where no sum would be
        self.none = self.of(np.zeros_like(threads.population))

    def of(
        self,
        weights: NDArray[np.float64],
        certain: NDArray[np.float64] | None = None,
        which: NDArray[np.int64] | None = None,
    ) -> Mask:
        """The mask with these weights. With `certain`, every lane takes its chance by itself, or with those
        for which `which` is the same, and a warp runs when any of its lanes does.
        """
        number = int(np.count_nonzero(weights != 0.0))  # of truths, which is twice as fast
        certain = weights if certain is None else certain
        return Mask(weights, certain, number, self._of_threads, self._of_warps, which)

    def where(self, mask: Mask, condition: NDArray[np.bool_] | NDArray[np.float64]) -> Mask:
        """`mask` with its weights multiplied lane by lane."""
        certain = None if mask.certain is mask.weights else mask.certain * condition
        return self.of(mask.weights * condition, certain, mask.which)

    def typical(self, mask: Mask) -> Mask:
        """`mask` as if each warp ran with the lanes that it has on the mean, spread evenly over it.

        The first lane that may run does.
        """
        if mask.certain is mask.weights:
            return mask
        rows, runs = mask.weights.reshape(-1, WARP_SIZE), _runs_of_warps(mask)
        total, most = rows.sum(axis=1), np.count_nonzero(rows, axis=1)
        lanes = np.clip(np.rint(total / np.where(runs > 0, runs, 1.0)), np.minimum(most, 1), most)
        share = np.divide(total, lanes, out=np.ones_like(total), where=lanes > 0)[:, None]
        place = np.ceil(np.cumsum(rows, axis=1) / share - 1e-9)
        return self.of((share * (np.diff(place, axis=1, prepend=0.0) > 0)).ravel())

    def perhaps(
        self,
        mask: Mask,
        chance: float | NDArray[np.float64],
        *,
        together: bool,
        typical: bool = False,
        which: NDArray[np.int64] | None = None,
    ) -> Mask:
        """The lanes of `mask`, each with a probability: all lanes of a warp `together`, or each by itself,
        or with those for which `which` is the same; or those of a `typical` warp that have 1.
        """
        if mask.certain is not mask.weights:
            which = joint(mask.which, which)
        if typical:
            return self.where(self.typical(mask), np.asarray(chance, np.float64))
        if isinstance(chance, float):
            if together or chance in (0.0, 1.0):
                return mask.scaled(chance)
            return self.of(mask.weights * chance, mask.certain, which)
        chances = np.broadcast_to(np.asarray(chance, np.float64), mask.weights.shape)
        if together or bool(((chances == 0.0) | (chances == 1.0)).all()):
            return self.where(mask, chances)
        return self.of(mask.weights * chances, np.where(chances > 0.0, mask.certain, 0.0), which)

    def diverging(self, mask: Mask, factor: float, warp_factor: float) -> Mask:
        """Every weight times `factor`, and every full warp that runs in `mask` times `warp_factor` ≥ factor.

        So often lanes run an iteration that each reaches by itself, and the warp with the last of them.
        """
        most = WARP_SIZE * factor
        if not factor or warp_factor <= 1.001 * factor or mask.certain is not mask.weights:
            return mask.scaled(factor)
        low, high = factor, most / max(1e-6, 1.0 - min(1.0, warp_factor / most)) + factor
        for _ in range(50):  # chances of so many iterations of which a warp runs `warp_factor`
            middle = 0.5 * (low + high)
            ran = middle * (1.0 - (1.0 - min(1.0, factor / middle)) ** WARP_SIZE)
            low, high = (middle, high) if ran < warp_factor else (low, middle)
        return self.of(mask.weights * factor, mask.weights * low)

    def sum(self, a: Mask, b: Mask) -> Mask:
        """Lanes of either mask, weights added."""
        if a.is_empty:
            return b
        if b.is_empty:
            return a
        if a.certain is a.weights and b.certain is b.weights:
            return self.of(a.weights + b.weights)
        weights = a.weights + b.weights
        which = joint(*(one.which for one in (a, b) if one.certain is not one.weights))
        return self.of(weights, np.maximum(weights, np.maximum(a.certain, b.certain)), which)
