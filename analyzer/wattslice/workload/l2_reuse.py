"""How often an object comes from DRAM, when blocks that share it run too far apart for L2 to keep it.

Blocks run in the order of their index, x fastest, as many at a time as the GPU holds; those that run together
keep step, so that what they share is fetched once for all of them. A block touches the part of an object
that belongs to its position along the axes its addresses depend on (`block_axes`); parts are equal, and what
neighbouring parts have in common (a halo) counts once. Blocks that differ along the other axes only touch the
same part again: `apart` blocks later, the stride of that axis in the order of blocks, at least those that run
together. When everything that so many blocks touch fits L2, the part is still there; else it is fetched once
for every stretch of `apart` blocks (least recently used, cyclic: nothing is left, however little is missing).

2048 x 2048 floats on 64 x 64 blocks, C = A B: A depends on y, B on x, C on both. With 56 blocks at a time B
comes back after 64 blocks, which touch all 16 MiB of it: it is fetched 64 times from an L2 of 2.75 MiB. Of A
56 blocks in a row of 64 share a part at a time: it is fetched 64 / 56 times.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from wattslice.launches.launch import Dim3


@dataclass(frozen=True, slots=True)
class SharedObject:
    """What a launch touches of one object, in distinct bytes, and the axes its parts differ along."""

    distinct_bytes: float
    axes: frozenset[int]


@dataclass(frozen=True, slots=True)
class L2Reuse:
    """A launch whose blocks, `resident` at a time, go through `objects` with an L2 cache of `l2_bytes`."""

    objects: Collection[SharedObject]
    grid: Dim3
    resident: int
    l2_bytes: float

    def fetches(self, axes: frozenset[int]) -> float:
        """How often each part of an object whose parts differ along `axes` comes from DRAM; at least 1."""
        number = stride = 1.0
        for axis, extent in enumerate(self.grid):
            if axis not in axes:
                apart = max(self.resident, stride)
                if self._touched(apart) > self.l2_bytes:
                    number *= max(1.0, stride * extent / apart)
            stride *= extent
        return number

    def _touched(self, blocks: float) -> float:
        """Distinct bytes of all objects that so many blocks in a row touch."""
        every = self.grid[0] * self.grid[1] * self.grid[2]
        return sum(
            entry.distinct_bytes * self._parts(entry.axes, blocks) / self._parts(entry.axes, every)
            for entry in self.objects
        )

    def _parts(self, axes: frozenset[int], blocks: float) -> float:
        """Distinct positions along `axes` of so many blocks in a row, the first at the start of a row."""
        parts = 1.0
        for axis, extent in enumerate(self.grid):
            if axis in axes:
                parts *= min(blocks, extent)
            blocks = max(1.0, blocks / extent)
        return parts
