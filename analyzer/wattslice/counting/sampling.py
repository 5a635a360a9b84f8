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
