"""Which sampled lanes run, and with what weight (loop multiplicity times probability)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wattslice.counting.sampling import WARP_SIZE, SampledThreads


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
