"""Which threads stand for the whole launch: whole blocks at representative places of the grid.

Small launches are evaluated completely. In large ones the first and the last block along each axis
stand for themselves (boundary conditions live there) and the interior is represented by the middles
of equal strata, symmetric about the centre, so that counts linear in the block index come out exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

WARP_SIZE = 32
FULL_LAUNCH_LANES = 4096
SAMPLED_LANES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class SampledThreads:
    """The sampled lanes, warp by warp (blocks padded to whole warps).

    `thread_idx`, `block_idx`: three int64 arrays of shape (lanes,), or ints where all lanes agree.
    `population`: weight of each lane, 0 for padding, sums to 1. `warp_population`: the same per warp.
    `exists`: False for padding lanes. `inner_block`: the lanes of one block away from the grid's edges.
    """

    thread_idx: tuple[int | NDArray[np.int64], ...]
    block_idx: tuple[int | NDArray[np.int64], ...]
    population: NDArray[np.float64]
    warp_population: NDArray[np.float64]
    exists: NDArray[np.bool_]
    inner_block: slice


def representatives(extent: int, number: int) -> tuple[tuple[int, float], ...]:
    """At most about `number` positions of 0..extent-1 with weights that sum to `extent`.

    Both ends stand for themselves; in between, the middles of equal strata (two, when the middle falls
    between two positions).
    """
    if extent <= max(number, 3):
        return tuple((k, 1.0) for k in range(extent))
    inner = extent - 2
    strata = max(1, min(number - 2, inner))
    chosen: list[tuple[int, float]] = [(0, 1.0)]
    for s in range(strata):
        low, high = 1 + inner * s // strata, 1 + inner * (s + 1) // strata  # [low, high)
        middle, odd = divmod(low + high - 1, 2)
        weight = float(high - low)
        chosen += [(middle, weight / 2), (middle + 1, weight / 2)] if odd else [(middle, weight)]
    chosen.append((extent - 1, 1.0))
    return tuple(chosen)


def _collapse(values: NDArray[np.int64]) -> int | NDArray[np.int64]:
    first = int(values[0])
    return first if bool((values == first).all()) else values


@lru_cache(maxsize=64)
def sample_threads(grid: tuple[int, int, int], block: tuple[int, int, int]) -> SampledThreads:
    """Sampled threads of a launch; `grid` in blocks, `block` in threads (all positive)."""
    threads = block[0] * block[1] * block[2]
    padded = -(-threads // WARP_SIZE) * WARP_SIZE
    blocks = grid[0] * grid[1] * grid[2]
    if blocks * padded <= FULL_LAUNCH_LANES:
        axes = [tuple((k, 1.0) for k in range(extent)) for extent in grid]
    else:
        long_axes = sum(extent > 1 for extent in grid)
        per_axis = max(3, int((SAMPLED_LANES / padded) ** (1 / long_axes)))
        axes = [representatives(extent, per_axis) for extent in grid]
    x, y, z = np.meshgrid(*(np.array([k for k, _ in axis]) for axis in axes), indexing="ij")
    wx, wy, wz = np.meshgrid(*(np.array([w for _, w in axis]) for axis in axes), indexing="ij")
    block_weight = (wx * wy * wz).ravel() / blocks
    lane = np.arange(padded)
    inside = lane < threads
    lane = np.where(inside, lane, 0)
    count = block_weight.size
    tid = (lane % block[0], lane // block[0] % block[1], lane // (block[0] * block[1]))
    population = (block_weight[:, None] * (inside / threads)[None, :]).ravel()
    warps = padded // WARP_SIZE
    return SampledThreads(
        thread_idx=tuple(_collapse(np.tile(axis, count)) for axis in tid),
        block_idx=tuple(_collapse(np.repeat(axis.ravel(), padded)) for axis in (x, y, z)),
        population=population,
        warp_population=np.repeat(block_weight / warps, warps),
        exists=np.tile(inside, count),
        inner_block=slice(count // 2 * padded, (count // 2 + 1) * padded),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """Weights of shape (lanes,); `thread_mean` and `warp_mean` are their means over the launch.

    A warp issues as often as its busiest lane asks for, hence `warp_mean` ≥ `thread_mean`. `certain`: the
    weights if every chance that the lanes take one by one had come out true; ``weights`` itself without any.
    """

    weights: NDArray[np.float64]
    certain: NDArray[np.float64]
    thread_mean: float
    warp_mean: float
    lanes_active: int

    @property
    def is_empty(self) -> bool:
        """True when no lane runs."""
        return self.lanes_active == 0

    @property
    def active(self) -> NDArray[np.bool_]:
        """The lanes that may run."""
        return self.weights > 0

    def scaled(self, factor: float) -> Mask:
        """Every weight multiplied by a non-negative factor."""
        if factor == 1.0:
            return self
        weights = self.weights * factor
        return Mask(
            weights,
            weights if self.certain is self.weights else self.certain * factor,
            self.thread_mean * factor,
            self.warp_mean * factor,
            self.lanes_active if factor > 0 else 0,
        )


class Masks:
    """Builds masks for one set of sampled threads."""

    def __init__(self, threads: SampledThreads) -> None:
        self._threads = threads
        everywhere = threads.exists.astype(np.float64)
        number = int(threads.exists.sum())
        self.all = Mask(everywhere, everywhere, 1.0, 1.0, number)  # exact, where a sum would not be
        self.none = self.of(np.zeros_like(threads.population))

    def of(self, weights: NDArray[np.float64], certain: NDArray[np.float64] | None = None) -> Mask:
        """The mask with these weights. With `certain`, every lane takes its chance by itself, and a warp runs
        when any of its lanes does.
        """
        rows = weights.reshape(-1, WARP_SIZE)
        if certain is None:
            per_warp = rows.max(axis=1)
        else:
            runs = certain.reshape(-1, WARP_SIZE).max(axis=1)
            chances = np.divide(rows, runs[:, None], out=np.zeros_like(rows), where=runs[:, None] > 0)
            per_warp = runs * (1.0 - np.prod(1.0 - np.minimum(chances, 1.0), axis=1))
        return Mask(
            weights,
            weights if certain is None else certain,
            # Not `@`: BLAS adds up in another order when it has another number of threads.
            float((weights * self._threads.population).sum()),
            float((per_warp * self._threads.warp_population).sum()),
            int(np.count_nonzero(weights)),
        )

    def where(self, mask: Mask, condition: NDArray[np.bool_] | NDArray[np.float64]) -> Mask:
        """`mask` with its weights multiplied lane by lane."""
        certain = None if mask.certain is mask.weights else mask.certain * condition
        return self.of(mask.weights * condition, certain)

    def perhaps(self, mask: Mask, chance: float | NDArray[np.float64], *, together: bool) -> Mask:
        """The lanes of `mask`, each with a probability: all lanes of a warp `together`, or each by itself."""
        if isinstance(chance, float):
            if together or chance in (0.0, 1.0):
                return mask.scaled(chance)
            return self.of(mask.weights * chance, mask.certain)
        chances = np.broadcast_to(np.asarray(chance, np.float64), mask.weights.shape)
        if together or bool(((chances == 0.0) | (chances == 1.0)).all()):
            return self.where(mask, chances)
        return self.of(mask.weights * chances, np.where(chances > 0.0, mask.certain, 0.0))

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
        return self.of(weights, np.maximum(weights, np.maximum(a.certain, b.certain)))
