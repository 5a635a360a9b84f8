"""What the compiler makes of a kernel: executed instructions by kind (the rules: `docs/instructions.md`)."""

from wattslice.workload.instructions.kinds import InstructionKind, Isa, isa_of
from wattslice.workload.instructions.statements import InstructionMix, lower_instructions

__all__ = ["InstructionKind", "InstructionMix", "Isa", "isa_of", "lower_instructions"]
