"""Non-negative least squares of relative errors that a few wild measurements do not bend. Needs scipy."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import optimize  # pyright: ignore[reportMissingTypeStubs]

Array = NDArray[np.float64]
_scipy: Any = optimize  # scipy has no types

HUBER_TUNING = 1.345
"""Huber's constant: 95 % efficiency for normal errors, in units of their robust standard deviation."""
HUBER_ROUNDS = 5
LOSS_BOUND = 0.1
"""Relative error from which the loss of a fit grows linearly, so that fits can be compared."""


class RobustFit(Struct, frozen=True):
    """`solution`, shape (unknowns,), not negative; `loss`: Huber's of the errors left, and the prior's."""

    solution: Array
    loss: float


def huber_nnls(matrix: Array, target: Array, prior_weights: Array | None = None) -> RobustFit:
    """Minimises |matrix · x - target| over x ≥ 0, reweighted by Huber's rule.

    `matrix`: shape (runs, unknowns), `target`: (runs,), both relative to the measured value, so that errors
    are relative. `prior_weights`, shape (unknowns,): how strongly each is drawn towards 1; 0 for not at all.
    """
    weights = np.zeros(matrix.shape[1]) if prior_weights is None else prior_weights
    prior = np.diag(weights)
    trust = np.ones(len(target))
    solution, errors = np.zeros(matrix.shape[1]), -target
    for _ in range(HUBER_ROUNDS):
        root = np.sqrt(trust)
        stacked = np.vstack([matrix * root[:, None], prior])
        solution = cast("Array", _scipy.nnls(stacked, np.concatenate([target * root, weights]))[0])
        errors = matrix @ solution - target
        scale = max(1e-6, 1.4826 * float(np.median(np.abs(errors))))
        trust = np.minimum(1.0, HUBER_TUNING * scale / np.maximum(np.abs(errors), 1e-12))
    small = np.abs(errors) <= LOSS_BOUND
    loss = np.where(small, errors**2 / 2.0, LOSS_BOUND * (np.abs(errors) - LOSS_BOUND / 2.0))
    drift = float(((prior @ solution - weights) ** 2).sum()) / 2.0
    return RobustFit(solution, float(loss.sum()) + drift)
