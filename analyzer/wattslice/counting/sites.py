"""Tallies of one textual memory access: what its requests cost, what they reach."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.access import bank_passes, distinct_share, sectors_per_request
from wattslice.counting.masks import Mask
from wattslice.counting.values import Pointer, Unknown, Value
from wattslice.execution import SiteStatistics
from wattslice.ir import MemorySpace

DETAILED_VISITS = 6
"""Visits of one access site whose addresses are looked at; later ones are taken to be alike."""


@dataclass(slots=True)
class _Reach:
    """Lowest and one past the highest byte touched."""

    low: int | None = None
    high: int = 0

    def extend(self, low: int, high: int) -> None:
        self.high = high if self.low is None else max(self.high, high)
        self.low = low if self.low is None else min(self.low, low)

    @property
    def span_bytes(self) -> float | None:
        return None if self.low is None else float(self.high - self.low)


class SiteTally:
    """Running sums of one access site, weighted by warp requests."""

    def __init__(self) -> None:
        self._size_bytes = 0
        self._visits = 0
        self._known = self._unknown = self._detailed = 0.0
        self._sectors = self._passes = self._distinct = 0.0
        self._launch = _Reach()
        self._block = _Reach()

    def visit(
        self, size_bytes: int, space: MemorySpace, address: Value, mask: Mask, inner_block: slice
    ) -> None:
        """One visit of the site by the lanes of `mask` at `address`."""
        self._size_bytes = max(1, size_bytes)
        weight = max(mask.warp_mean, 1e-12)
        offset = address.offset if isinstance(address, Pointer) else address
        base_known = not isinstance(offset, Unknown)
        if isinstance(offset, Unknown):
            if not offset.uniform:
                self._unknown += weight
                return
            offset = offset.delta
        if not isinstance(offset, int | np.ndarray):
            self._unknown += weight
            return
        self._known += weight
        self._visits += 1
        if self._visits > DETAILED_VISITS:
            return
        self._detailed += weight
        if isinstance(offset, int):
            self._uniform(offset, weight, base_known, mask, inner_block)
        else:
            self._lanes(np.asarray(offset, np.int64), space, weight, base_known, mask, inner_block)

    def _uniform(self, offset: int, weight: float, base_known: bool, mask: Mask, inner_block: slice) -> None:
        self._sectors += weight * (1 + (self._size_bytes - 1) // 32)
        self._passes += weight
        self._distinct += weight * 32 / (inner_block.stop - inner_block.start)
        if base_known:
            self._launch.extend(offset, offset + self._size_bytes)
        self._block.extend(offset, offset + self._size_bytes)

    def _lanes(
        self,
        offsets: NDArray[np.int64],
        space: MemorySpace,
        weight: float,
        base_known: bool,
        mask: Mask,
        inner_block: slice,
    ) -> None:
        active = mask.active
        if space is MemorySpace.SHARED:
            self._passes += weight * bank_passes(offsets, active, self._size_bytes)
            self._sectors += weight
        else:
            self._passes += weight
            self._sectors += weight * sectors_per_request(offsets, active, self._size_bytes)
        touched = offsets[active]
        if base_known:
            self._launch.extend(int(touched.min()), int(touched.max()) + self._size_bytes)
        in_block, block_active = offsets[inner_block], active[inner_block]
        if bool(block_active.any()):
            self._distinct += weight * distinct_share(in_block, block_active)
            own = in_block[block_active]
            self._block.extend(int(own.min()), int(own.max()) + self._size_bytes)
        else:
            self._distinct += weight

    def statistics(self) -> SiteStatistics:
        """The averages over all visits; unknown where most requests went to unknown addresses."""
        if self._known == 0.0 or self._unknown > self._known:
            return SiteStatistics(None, None, None, None, None, self._size_bytes)
        return SiteStatistics(
            sectors_per_request=self._sectors / self._detailed,
            bank_passes=self._passes / self._detailed,
            block_distinct_share=self._distinct / self._detailed,
            block_span_bytes=self._block.span_bytes,
            span_bytes=self._launch.span_bytes,
            access_bytes=self._size_bytes,
        )
