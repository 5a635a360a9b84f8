"""Which time parameters measurements determine, and between which limits."""

from __future__ import annotations

from wattslice_models.execution_time import DEFAULT_TIME_PARAMETERS

FITTED_TIME_PARAMETERS = (
    "launch_overhead_s",
    "dram_efficiency",
    "l2_bytes_per_clock_per_sm",
    "l1_bytes_per_clock_per_sm",
    "shared_passes_per_clock",
    "issue_efficiency",
    "overlap",
    "l2_latency_cycles",
    "dram_latency_s",
    "instructions_in_flight",
)
TIME_RANGE = 3.0
"""How far a parameter may move from its default, as a factor either way, unless TIME_LIMITS says."""
TIME_LIMITS: tuple[tuple[str, float, float], ...] = (
    ("dram_efficiency", 0.3, 0.95),  # refresh and turns of the bus take their share
    ("issue_efficiency", 0.3, 1.0),
    ("l1_bytes_per_clock_per_sm", 16.0, 128.0),  # the width of its data path
    ("instructions_in_flight", 1.0, 6.0),  # a warp has one at least
)
"""What a parameter cannot be for what it means: name, lowest, highest."""


def time_limits(name: str) -> tuple[float, float]:
    """The lowest and the highest value that a fitted time parameter may take."""
    known = next((limits[1:] for limits in TIME_LIMITS if limits[0] == name), None)
    start = float(getattr(DEFAULT_TIME_PARAMETERS, name))
    return known or (start / TIME_RANGE, start * TIME_RANGE)
