"""What the assembler made of a chain: the machine instructions that its instances became.

The loop with the instances is compared with the loop without them. Only what stands in the loop counts; a
slow path that is called lies outside and counts as its call.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction

from msgspec import Struct

from wattslice_corpora.instruction_kernels.kernels import ChainInstruction
from wattslice_corpora.sass import Instruction, SassFunction

_TARGET = re.compile(r"`\((\.L\w+)\)")
_ONE_PIPE_OR_THE_OTHER = {
    "IMAD.IADD": "IADD",
    "IADD3": "IADD",
    "VIADD": "IADD",
    "IMAD.MOV.U32": "MOV",
    "IMAD.MOV": "MOV",
    "MOV": "MOV",
    "IMAD.SHL.U32": "SHL",
    "SHF.L.U32": "SHL",
    "IMAD.X": "IADD.X",
    "IADD3.X": "IADD.X",
}
"""Additions, moves and shifts that the assembler gives to one pipe or the other as it likes."""


_HALF = {"HADD2": "HFMA2", "HFMA2.MMA": "HFMA2"}
"""Sums of half precision go to the pipe of the products as well."""

_APPROXIMATED = {"div", "rem", "rcp", "sqrt", "rsqrt", "sin", "cos", "lg2", "ex2"}


class Added(Struct, frozen=True):
    """What one instance adds to the loop: how often each opcode, and how many instructions altogether."""

    opcodes: tuple[tuple[str, Fraction], ...]

    @property
    def count(self) -> Fraction:
        """Machine instructions of one instance."""
        return sum((count for _, count in self.opcodes), Fraction(0))

    def __str__(self) -> str:
        return ", ".join(
            f"{_counted(count)}{opcode}"
            for opcode, count in sorted(self.opcodes, key=lambda one: (-one[1], one[0]))
        )


def added(with_instances: SassFunction, without: SassFunction, instances: int) -> Added:
    """What an instance adds, averaged over the `instances` of the loop."""
    counts = opcode_counts(loop_body(with_instances))
    counts.subtract(opcode_counts(loop_body(without)))
    return Added(
        tuple((opcode, Fraction(count, instances)) for opcode, count in sorted(counts.items()) if count)
    )


def faults(instruction: ChainInstruction, found: Added) -> tuple[str, ...]:
    """What is wrong with the machine code of an instance; empty when nothing is.

    One machine instruction for one instance has to be that exactly, up to three instructions of the loop. Of
    longer ones, opcodes come a whole number of times per instance, but for moves and additions that the
    assembler places as it likes; what they start an approximation from (MUFU) must be their own.
    """
    spare = Fraction(3, instruction.instances)
    counts = dict(found.opcodes)
    kinds = {_HALF.get(name, name) for name, count in counts.items() if abs(count) > spare}
    if abs(found.count - 1) <= spare and len(kinds) == 1:
        return ()
    complaints: list[str] = []
    if found.count < 1:
        complaints.append(f"{float(found.count):.3f} machine instructions for an instance")
    broken = sum(abs(count - round(count)) for name, count in counts.items() if name not in ("MOV", "IADD"))
    if broken > spare + found.count / 20:
        complaints.append(f"no whole number of {found}")
    own = [name for name, count in counts.items() if name.startswith("MUFU") and count.denominator == 1]
    if not own and instruction.name.split(".")[0] in _APPROXIMATED:
        complaints.append("instances share the approximation they start from")
    return tuple(complaints)


def loop_body(function: SassFunction) -> tuple[Instruction, ...]:
    """The longest loop; empty when there is none."""
    labels = dict(function.labels)
    longest: tuple[Instruction, ...] = ()
    for number, instruction in enumerate(function.instructions):
        target = _TARGET.search(instruction.operands)
        if instruction.opcode.startswith("BRA") and target is not None:
            body = function.instructions[labels.get(target[1], number) : number + 1]
            longest = max(longest, body, key=len)
    return longest


def opcode_counts(body: tuple[Instruction, ...]) -> Counter[str]:
    """How often each opcode stands there; padding does not count."""
    return Counter(name for name in map(_name, body) if name != "NOP")


def _name(instruction: Instruction) -> str:
    if instruction.opcode == "HFMA2.MMA" and ", -RZ, RZ, " in instruction.operands:
        return "MOV"  # of a constant, on the pipe of the half-precision products
    return _ONE_PIPE_OR_THE_OTHER.get(instruction.opcode, instruction.opcode)


def _counted(count: Fraction) -> str:
    return "" if count == 1 else f"{float(count):.3g} "
