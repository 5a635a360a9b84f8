"""Charges of a kernel times what the execution profile says its regions run: the instruction mix."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.execution import ExecutionProfile
from wattslice.instructions.isa import Isa
from wattslice.instructions.kinds import InstructionCount, InstructionKind
from wattslice.instructions.statements import lower
from wattslice.ir import Kernel


@dataclass(frozen=True, slots=True)
class InstructionMix:
    """Instructions of one launch by kind, in the order of `InstructionKind`, kinds that occur only.

    `per_thread`: mean executed by a launched thread. `per_warp`: mean issued by a warp; larger than
    `per_thread` when lanes diverge, since an instruction is issued once however few lanes execute it.
    """

    per_thread: tuple[InstructionCount, ...]
    per_warp: tuple[InstructionCount, ...]

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
    for kind, region, number in lower(kernel, profile, isa):
        per_thread[kind] += number * profile.thread_counts[region]
        per_warp[kind] += number * profile.warp_counts[region]
    return InstructionMix(_counts(per_thread), _counts(per_warp))


def _counts(totals: dict[InstructionKind, float]) -> tuple[InstructionCount, ...]:
    return tuple(InstructionCount(kind.value, number) for kind, number in totals.items() if number)
