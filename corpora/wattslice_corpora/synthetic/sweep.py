"""The intensity sweep of Choi et al. 2013 as synthetic slices: from memory alone to arithmetic alone.

Each streams through global memory, every address once, and does a chosen number of multiply-adds on what it
reads, in single and in double precision, on the whole GPU. What a launch does is known to the last flop and
byte; what it costs is for `wattslice measure` to find, and for `wattslice_tools.rooflines` to explain.
"""

from __future__ import annotations

from msgspec import Struct

from wattslice_corpora.synthetic.kinds import CHAINS, LIGHT_CHAINS, SCALAR_KINDS
from wattslice_corpora.synthetic.plan import is_feasible, plan
from wattslice_corpora.synthetic.spec import OperationKind, SliceSpec, Space

INTENSITIES = tuple(2.0**power for power in range(-4, 8))
"""Flops per byte, about: the paper's octaves from 1/4 to 64, and beyond on both sides."""
KINDS = (OperationKind.FP32, OperationKind.FP64)

# A density counts what turns the loop and moves the pointer, too: three operations for sixteen loads.
_OVERHEAD = 3 / 16


class SweepSlice(Struct, frozen=True):
    """One point of the sweep: W in flops and Q in bytes of DRAM, of one launch."""

    spec: SliceSpec
    work_flop: int
    traffic_bytes: int

    @property
    def intensity(self) -> float:
        """Flops per byte."""
        return self.work_flop / self.traffic_bytes


def intensity_sweep(sm_count: int) -> tuple[SweepSlice, ...]:
    """The sweep for a GPU of `sm_count` multiprocessors, single precision first, least intensity first."""
    specs = (
        SliceSpec(Space.GLOBAL, kind, intensity * SCALAR_KINDS[kind].element_bytes + _OVERHEAD, sm_count)
        for kind in KINDS
        for intensity in INTENSITIES
    )
    return tuple(_counted(spec) for spec in specs if is_feasible(spec))


def _counted(spec: SliceSpec) -> SweepSlice:
    """Floating-point additions and multiplications, and bytes that go to or come from DRAM.

    Outside the loop a thread makes the first value of every chain with one operation each, adds all chains
    up, and stores the total.
    """
    numbers, kind = plan(spec), SCALAR_KINDS[spec.kind]
    trip = kind.main_operations * numbers.mains_per_trip + numbers.lights
    ends = CHAINS + CHAINS - 1 + min(numbers.lights, LIGHT_CHAINS)
    moved = numbers.iterations * numbers.loads + 1
    return SweepSlice(
        spec, spec.threads * (numbers.iterations * trip + ends), spec.threads * moved * kind.element_bytes
    )
