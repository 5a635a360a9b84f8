"""What the compiler makes of a kernel: executed instructions by kind (the rules: `docs/instructions.md`)."""

from wattslice.instructions.isa import Isa, isa_of
from wattslice.instructions.kinds import InstructionKind
from wattslice.instructions.mix import InstructionMix, lower_instructions

__all__ = ["InstructionKind", "InstructionMix", "Isa", "isa_of", "lower_instructions"]
