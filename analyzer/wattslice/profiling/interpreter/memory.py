"""Byte-addressed memory: allocations far apart, so that an address out of bounds belongs to none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice.profiling.interpreter.layout import Dtype

WINDOW_BITS = 36
"""Every allocation has 64 GiB of addresses for itself; the first of these windows belongs to none."""
UNINITIALISED = 0x7EAD << 44
"""What a pointer holds that was never assigned."""
_PADDING = 16


def first_address(window: int) -> int:
    """Where the allocation of a window begins: in its middle, so that what is before it is in it too."""
    return (window << WINDOW_BITS) + (1 << (WINDOW_BITS - 1))


class Allocation:
    """An object in memory, or one of it for each thread or block of a batch (`windows`).

    `size` is that of one object. `origin` is where the object begins that a lane may access: an address, or
    an array of them, one per lane.
    """

    def __init__(self, name: str, base: int, size: int, windows: int, fill: int = 0) -> None:
        self.name = name
        self.base = base
        self.size = size
        self.stride = -(-size // _PADDING) * _PADDING
        self.data = np.full(self.stride * windows + _PADDING, fill, np.uint8)
        self.origin: NDArray[Any] = np.full((), base, np.int64)[()]
        self._views: dict[tuple[Dtype | int, int], NDArray[Any]] = {}

    def elements(self, dtype: Dtype) -> NDArray[Any]:
        """All bytes as numbers of `dtype`."""
        key = (dtype, 0)
        found = self._views.get(key)
        if found is None:
            found = self._views[key] = self.data.view(dtype)
        return found

    def rows(self, size: int, alignment: int) -> NDArray[np.uint8]:
        """Overlapping stretches of `size` bytes, one at every multiple of `alignment`."""
        key = (size, alignment)
        found = self._views.get(key)
        if found is None:
            count = max(0, (len(self.data) - size) // alignment + 1)
            found = self._views[key] = np.ndarray((count, size), np.uint8, self.data, 0, (alignment, 1))
        return found


class DeviceMemory:
    """Global memory: what a launch's pointers point at. It outlives launches."""

    def __init__(self) -> None:
        self._allocations: dict[int, Allocation] = {}
        self._next = 1
        self.total_bytes = 0

    def allocate(self, name: str, contents: NDArray[np.uint8]) -> int:
        """Copies `contents` into an allocation of its own; its device address."""
        number = self._next
        self._next += 1
        allocation = Allocation(name, first_address(number), len(contents), 1)
        allocation.data[: len(contents)] = contents
        self._allocations[number] = allocation
        self.total_bytes += len(contents)
        return allocation.base

    def contents(self, address: int) -> NDArray[np.uint8]:
        """The live bytes of the allocation that `address` belongs to; `KeyError` when it belongs to none."""
        allocation = self._allocations[address >> WINDOW_BITS]
        return allocation.data[: allocation.size]

    def __iter__(self) -> Iterator[tuple[int, Allocation]]:
        """Window numbers and allocations."""
        return iter(self._allocations.items())
