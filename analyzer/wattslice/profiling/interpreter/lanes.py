"""The threads that are interpreted together (some whole blocks), and which of them are active."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

WARP_SIZE = 32
Bools = NDArray[np.bool_]


class Mask:
    """A set of lanes; `count` of them. Two names for one set are often, not always, one object."""

    __slots__ = ("_index", "_warps", "batch", "count", "full", "lanes")

    def __init__(self, batch: Batch, lanes: Bools, count: int) -> None:
        self.batch = batch
        self.lanes = lanes
        self.count = count
        self.full = count == batch.size
        self._index: NDArray[np.int64] | None = None
        self._warps: int | None = None

    @property
    def index(self) -> NDArray[np.int64]:
        """The numbers of the active lanes, ascending."""
        if self._index is None:
            self._index = np.flatnonzero(self.lanes)
        return self._index

    @property
    def warps(self) -> int:
        """How many warps have an active lane."""
        if self._warps is None:
            self._warps = self.batch.warps_of(self.lanes) if self.count else 0
        return self._warps

    def where(self, condition: NDArray[Any]) -> Mask:
        """The lanes of this mask in which `condition` holds; this very object if it does in all of them."""
        lanes: Bools = condition if self.full else condition & self.lanes
        count = int(np.count_nonzero(lanes))
        if count == self.count:
            return self
        return Mask(self.batch, lanes, count) if count else self.batch.none

    def without(self, other: Mask) -> Mask:
        """The lanes that are not in `other`, a subset of this mask."""
        if not other.count:
            return self
        if other.count == self.count:
            return self.batch.none
        return Mask(self.batch, self.lanes & ~other.lanes, self.count - other.count)

    def plus(self, other: Mask) -> Mask:
        """The union with a disjoint mask."""
        if not other.count:
            return self
        if not self.count:
            return other
        return Mask(self.batch, self.lanes | other.lanes, self.count + other.count)


class Batch:
    """Consecutive blocks of a grid, one lane for each of their threads, block after block, x fastest.

    The arrays have one entry per lane; an axis of extent 1 is a number instead.
    """

    def __init__(self, first_block: int, blocks: int, grid: tuple[int, ...], block: tuple[int, ...]) -> None:
        threads = block[0] * block[1] * block[2]
        self.first_block = first_block
        self.blocks = blocks
        self.threads = threads
        self.size = threads * blocks
        in_block = np.arange(threads)
        self.thread_in_block = np.tile(in_block, blocks)
        self.block_of_lane = np.repeat(np.arange(blocks), threads)
        self.lane_in_warp = self.thread_in_block % WARP_SIZE
        self.warp_start = np.arange(self.size) - self.lane_in_warp
        self.starts = np.flatnonzero(self.lane_in_warp == 0)
        self.warp_of_lane = np.repeat(np.arange(len(self.starts)), np.diff(np.append(self.starts, self.size)))
        self.thread_idx = _coordinates(self.thread_in_block, block)
        self.block_idx: tuple[NDArray[Any], ...]
        self.move_to(first_block, grid)
        self._by_words = threads % WARP_SIZE == 0
        self.none = Mask(self, np.zeros(self.size, np.bool_), 0)
        self.all = Mask(self, np.ones(self.size, np.bool_), self.size)

    def move_to(self, first_block: int, grid: tuple[int, ...]) -> None:
        """The lanes stand for as many blocks from another one on."""
        self.first_block = first_block
        parts = _coordinates(self.block_of_lane + first_block, grid)
        if self.blocks == 1:
            parts = tuple(part if part.ndim == 0 else part[0] for part in parts)
        self.block_idx = parts

    def warps_of(self, lanes: Bools) -> int:
        """How many warps have a lane in `lanes`."""
        if self._by_words:
            words = np.ascontiguousarray(lanes).view(np.uint64).reshape(-1, 4)
            return int(np.count_nonzero(words[:, 0] | words[:, 1] | words[:, 2] | words[:, 3]))
        return int(np.count_nonzero(np.logical_or.reduceat(lanes, self.starts)))

    def blocks_of(self, lanes: Bools) -> NDArray[np.int64]:
        """How many lanes of each block are in `lanes`."""
        return np.count_nonzero(lanes.reshape(self.blocks, self.threads), axis=1)


def _coordinates(linear: NDArray[Any], extent: tuple[int, ...]) -> tuple[NDArray[Any], ...]:
    width, height, depth = extent
    parts = (linear % width, linear // width % height, linear // (width * height))
    found: list[NDArray[Any]] = []
    for part, size in zip(parts, (width, height, depth), strict=True):
        found.append(np.asarray(part.astype(np.uint32)) if size > 1 else np.zeros((), np.uint32)[()])
    return tuple(found)
