"""Charges of a kernel times what the execution profile says its regions run: the instruction mix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import Kernel
from wattslice.workload.instructions.isa import Isa
from wattslice.workload.instructions.kinds import InstructionCount, InstructionKind
from wattslice.workload.instructions.loops import loop_trips
from wattslice.workload.instructions.statements import Lowered, lower


class RequestCount(NamedTuple):
    """How often the access at `site` of the source is made: means over launched threads and warps.

    What is loaded once and kept in a register is requested less often than the source names it.
    """

    site: int
    is_store: bool
    per_thread: float
    per_warp: float


@dataclass(frozen=True, slots=True)
class InstructionMix:
    """Instructions of one launch by kind, in the order of `InstructionKind`, kinds that occur only.

    `per_thread`: mean executed by a launched thread. `per_warp`: mean issued by a warp; larger than
    `per_thread` when lanes diverge, since an instruction is issued once however few lanes execute it, and a
    predicated one even when none does. `requests`: how often each load and store of the source is made.
    """

    per_thread: tuple[InstructionCount, ...]
    per_warp: tuple[InstructionCount, ...]
    requests: tuple[RequestCount, ...]

    def number(self, kind: InstructionKind) -> float:
        """Executed instructions of `kind` per thread; 0 when there are none."""
        return next((count.number for count in self.per_thread if count.name == kind.value), 0.0)

    @property
    def total(self) -> float:
        """Executed instructions of all kinds per thread."""
        return sum(count.number for count in self.per_thread)


def lower_instructions(kernel: Kernel, profile: ExecutionProfile, isa: Isa = Isa.IMAD) -> InstructionMix:
    """The executed instructions of `kernel` for the launch that `profile` describes.

    `ValueError` when the profile is not one of this kernel.
    """
    if len(profile.thread_counts) != kernel.region_count:
        message = f"{len(profile.thread_counts)} thread counts for {kernel.region_count} regions"
        raise ValueError(message)
    per_thread = dict.fromkeys(InstructionKind, 0.0)
    per_warp = dict.fromkeys(InstructionKind, 0.0)
    lowered = lower(kernel, loop_trips(kernel, profile), isa)
    for kind, region, number in lowered.instructions:
        per_thread[kind] += number * profile.thread_counts[region]
        per_warp[kind] += number * profile.warp_counts[lowered.issuers.get(region, region)]
    for kind, region, number in lowered.issued_only:
        per_warp[kind] += number * profile.warp_counts[region]
    return InstructionMix(_counts(per_thread), _counts(per_warp), _requests(lowered, profile))


def _requests(lowered: Lowered, profile: ExecutionProfile) -> tuple[RequestCount, ...]:
    totals: dict[tuple[int, bool], tuple[float, float]] = {}
    for site, is_store, region, number in lowered.requests:
        threads, warps = totals.get((site, is_store), (0.0, 0.0))
        threads += number * profile.thread_counts[region]
        totals[site, is_store] = threads, warps + number * profile.warp_counts[region]
    return tuple(RequestCount(*key, *numbers) for key, numbers in totals.items())


def _counts(totals: dict[InstructionKind, float]) -> tuple[InstructionCount, ...]:
    return tuple(InstructionCount(kind.value, number) for kind, number in totals.items() if number)
