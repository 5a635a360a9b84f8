"""Which loops ptxas unrolls, that nvcc has left as they are."""

from __future__ import annotations

from wattslice.frontend.ptx.lowering.blocks import BasicBlock
from wattslice.frontend.ptx.syntax import syntax

MOST_UNROLLED = 60
"""Instructions of a loop up to which ptxas unrolls it."""
_WAITS = frozenset({"bar", "barrier", "call", "atom"})


def is_unrolled_by_ptxas(block: BasicBlock) -> bool:
    """Whether ptxas copies a loop of this one block, as nvcc has left it or unrolled, once more: by four.

    Seen in SASS: loops of one block that a constant step counts, and no pragma keeps it from.
    """
    if block.is_unrolled:
        return False
    if len(block.instructions) > MOST_UNROLLED or any(i.opcode in _WAITS for i in block.instructions):
        return False
    stepped = {
        i.operands[0].name
        for i in block.instructions
        if i.opcode == "add"
        and len(i.operands) > 2
        and isinstance(i.operands[0], syntax.Register)
        and i.operands[0] == i.operands[1]
        and isinstance(i.operands[2], syntax.Immediate)
    }
    tests = [i for i in block.instructions if i.opcode == "setp"]
    return any(isinstance(o, syntax.Register) and o.name in stepped for i in tests for o in i.operands[1:])
