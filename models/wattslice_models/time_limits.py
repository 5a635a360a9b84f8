"""Which time parameters measurements determine: how far from their defaults, and between which limits."""

from __future__ import annotations

from typing import NamedTuple


class TimePrior(NamedTuple):
    """A fitted time parameter: standard deviation of its logarithm around the default, lowest, highest."""

    name: str
    deviation: float
    low: float
    high: float


TIME_PRIORS = (
    TimePrior("launch_overhead_s", 1.0, 1e-6, 2e-5),
    TimePrior("dram_share", 0.05, 0.8, 1.05),
    TimePrior("l2_share", 0.1, 0.7, 1.1),
    TimePrior("issue_share", 0.05, 0.75, 1.0),
    TimePrior("overlap", 0.25, 1.5, 12.0),
    TimePrior("latency_share", 0.2, 0.4, 2.5),
)


def time_limits(name: str) -> tuple[float, float]:
    """The lowest and the highest value that a fitted time parameter may take."""
    return next((prior.low, prior.high) for prior in TIME_PRIORS if prior.name == name)
