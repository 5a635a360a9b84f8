"""PTX kernels for the energy of single instructions, and what the assembler makes of them."""

from wattslice_corpora.instruction_kernels.assembly import (
    AssemblyError,
    assemble,
    assembled_instances,
    instance_code,
)
from wattslice_corpora.instruction_kernels.kernels import ENTRY, ChainInstruction, chain_ptx
from wattslice_corpora.instruction_kernels.machine_code import Added, added, faults, loop_body, opcode_counts
from wattslice_corpora.instruction_kernels.operands import Operand
from wattslice_corpora.instruction_kernels.table import INSTRUCTIONS, PUBLISHED

__all__ = [
    "ENTRY",
    "INSTRUCTIONS",
    "PUBLISHED",
    "Added",
    "AssemblyError",
    "ChainInstruction",
    "Operand",
    "added",
    "assemble",
    "assembled_instances",
    "chain_ptx",
    "faults",
    "instance_code",
    "loop_body",
    "opcode_counts",
]
