"""Which sampled lanes run, and with what weight (loop multiplicity times probability)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.sampling import WARP_SIZE, SampledThreads


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """Weights of shape (lanes,); `thread_mean` and `warp_mean` are their means over the launch.

    A warp issues as often as its busiest lane asks for, hence `warp_mean` ≥ `thread_mean`.
    """

    weights: NDArray[np.float64]
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
        return Mask(
            self.weights * factor,
            self.thread_mean * factor,
            self.warp_mean * factor,
            self.lanes_active if factor > 0 else 0,
        )


class Masks:
    """Builds masks for one set of sampled threads."""

    def __init__(self, threads: SampledThreads) -> None:
        self._threads = threads
        everywhere = threads.exists.astype(np.float64)
        self.all = Mask(everywhere, 1.0, 1.0, int(threads.exists.sum()))  # exact, where a sum would not be
        self.none = self.of(np.zeros_like(threads.population))

    def of(self, weights: NDArray[np.float64]) -> Mask:
        """The mask with these weights."""
        return Mask(
            weights,
            float(weights @ self._threads.population),
            float(weights.reshape(-1, WARP_SIZE).max(axis=1) @ self._threads.warp_population),
            int(np.count_nonzero(weights)),
        )

    def where(self, mask: Mask, condition: NDArray[np.bool_] | NDArray[np.float64]) -> Mask:
        """`mask` with its weights multiplied lane by lane."""
        return self.of(mask.weights * condition)

    def sum(self, a: Mask, b: Mask) -> Mask:
        """Lanes of either mask, weights added."""
        if a.is_empty:
            return b
        if b.is_empty:
            return a
        return self.of(a.weights + b.weights)
