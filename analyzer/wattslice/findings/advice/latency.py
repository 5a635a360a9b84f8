"""PW044: a kernel that waits more than it works, on an SM that could hold more warps to wait side by side.

Told only when the time model says that latency limits the kernel and that a full SM would be faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wattslice.analysis import Advice
from wattslice.findings.advice.facts import LaunchFacts
from wattslice.workload.occupancy import LimitingResource
from wattslice_models.execution_time import Resource

MOST_OCCUPANCY = 0.5
"""Above this occupancy more warps seldom help (CUDA C++ Best Practices Guide, section on occupancy)."""

_FIXES = {
    LimitingResource.REGISTERS: "fewer registers: __launch_bounds__ or -maxrregcount, shorter live ranges",
    LimitingResource.SHARED_MEMORY: "less shared memory per block",
    LimitingResource.BLOCKS: "more threads per block: the number of blocks on an SM is at its limit",
    LimitingResource.WARPS: "a block size that divides the threads that an SM holds",
}


def low_occupancy(facts: LaunchFacts) -> Iterator[Advice]:
    """At most one finding."""
    held, gpu = facts.resident.occupancy, facts.gpu
    is_waiting = facts.found.limited_by == Resource.LATENCY.value
    at_once = gpu.sm_count * held.blocks_per_sm
    if (
        not facts.is_given
        or not is_waiting
        or held.occupancy > MOST_OCCUPANCY
        or facts.launch.blocks <= at_once
    ):
        return
    most = gpu.max_warps_per_sm // held.warps_per_block * held.warps_per_block
    stake = facts.stake(replace(facts.workload, active_warps_per_sm=most))
    if held.limited_by is None or not stake.is_worth_telling:
        return
    message = (
        f"waits for memory and results, with {held.active_warps_per_sm} of {gpu.max_warps_per_sm} warps "
        f"on an SM to wait side by side: limited by {held.limited_by.value}"
    )
    yield facts.advice("PW044", facts.kernel.span, message, _FIXES[held.limited_by], stake, is_certain=False)
