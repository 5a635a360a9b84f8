"""What the compiler makes of a kernel: executed instructions by kind (the rules: `docs/instructions.md`)."""

from wattslice.workload.instructions.isa import Isa, isa_of
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.mix import InstructionMix, lower_instructions

__all__ = ["InstructionKind", "InstructionMix", "Isa", "isa_of", "lower_instructions"]
