"""Which source line draws the energy: a kernel's dynamic energy spread over lines by what they execute."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel
from wattslice.ir.operation_counts import COLUMN, OperationCounts, operations


@dataclass(frozen=True, slots=True)
class LineShare:
    """`share` in [0, 1] of a kernel's dynamic energy that the operations written on one line cost."""

    file: str
    line: int
    share: float


def region_energies(
    kernel: Kernel, profile: ExecutionProfile, energies: OperationCounts
) -> tuple[float, ...]:
    """What all executions of each region cost, by region, in the unit of `energies` (as in `line_shares`)."""
    prices, runs = energies.values(), profile.thread_counts
    found = [0.0] * kernel.region_count
    for region, _, operation, number in operations(kernel):
        found[region] += prices[COLUMN[operation]] * number * runs[region]
    return tuple(found)


def line_shares(
    kernel: Kernel, profile: ExecutionProfile, energies: OperationCounts
) -> tuple[LineShare, ...]:
    """Shares of all lines that cost anything, largest first; they sum to 1, or there are none at all.

    `energies`: energy of one operation of each class, in any unit, none negative (`ValueError`). An operation
    counts where its operator is written: an inlined function heats its own lines, not the call's.
    """
    prices = energies.values()
    if min(prices) < 0:
        raise ValueError("energies of operations must not be negative")
    heat: dict[tuple[str, int], float] = {}
    runs = profile.thread_counts
    for region, span, operation, number in operations(kernel):
        place = (span.file, span.line)
        heat[place] = heat.get(place, 0.0) + prices[COLUMN[operation]] * number * runs[region]
    total = sum(heat.values())
    if total <= 0:
        return ()
    ranked = sorted(heat.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LineShare(file, line, energy / total) for (file, line), energy in ranked if energy > 0)
