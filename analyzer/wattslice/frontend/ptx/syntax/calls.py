"""The parts of a `call`."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.frontend.ptx.syntax.syntax import Arguments, Instruction, Operand, Register, Symbol


@dataclass(frozen=True, slots=True)
class Call:
    """`call (results), callee, (arguments), prototype;`; `callee` is a register in an indirect call.

    `prototype` names a `.callprototype` or `.calltargets`.
    """

    results: tuple[Operand, ...]
    callee: Register | Symbol
    arguments: tuple[Operand, ...]
    prototype: str | None


def call_of(instruction: Instruction) -> Call | None:
    """The parts of a call, None for another instruction or a call of a form that PTX does not have."""
    if instruction.opcode != "call":
        return None
    rest = list(instruction.operands)
    results = _arguments(rest)
    callee = rest.pop(0) if rest else None
    arguments = _arguments(rest)
    prototype = rest.pop(0) if rest else None
    if not isinstance(callee, Register | Symbol) or rest or not isinstance(prototype, Symbol | None):
        return None
    name = None if prototype is None else prototype.name
    return Call(results, callee, arguments, name)


def _arguments(rest: list[Operand]) -> tuple[Operand, ...]:
    """The list that comes next, taken away; empty when none does."""
    if rest and isinstance(first := rest[0], Arguments):
        del rest[0]
        return first.elements
    return ()
