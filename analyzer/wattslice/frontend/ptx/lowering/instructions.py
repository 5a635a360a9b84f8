"""One PTX instruction as expressions; what has no meaning here counts by its mnemonic, its result unknown."""

from __future__ import annotations

from collections.abc import Callable

from wattslice.frontend.ptx.lowering import accesses, arithmetic, bits, comparisons, moves, special
from wattslice.frontend.ptx.lowering.blocks import has_result, results_of
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.calls import lower_call
from wattslice.frontend.ptx.lowering.types import scalar_types, type_of
from wattslice.frontend.ptx.operations import OPCODES, operation_of
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Sink,
    Vector,
)
from wattslice.ir import (
    INT32,
    VOID,
    Expr,
    Intrinsic,
    OperationCount,
    Semantics,
    Severity,
    Type,
)

Lowering = Callable[[FunctionBody, Instruction], bool]
"""Lowers an instruction of its opcode; False: of a form that it does not know."""

_LOWERINGS: dict[str, Lowering] = {
    **arithmetic.LOWERINGS,
    **moves.LOWERINGS,
    **bits.LOWERINGS,
    **comparisons.LOWERINGS,
    **accesses.LOWERINGS,
    **special.LOWERINGS,
}


def lower_instruction(body: FunctionBody, instruction: Instruction) -> None:
    """Adds what an instruction does to the statements of `body`; its guard is the caller's business."""
    if instruction.opcode == "call":
        lower_call(body, instruction, lower_instruction)
        return
    lowering = _LOWERINGS.get(instruction.opcode)
    if lowering is None or not lowering(body, instruction):
        _opaque(body, instruction)


def _opaque(body: FunctionBody, instruction: Instruction) -> None:
    """Operations by the mnemonic; the first result carries them, all are unknown."""
    span = body.unit.span(instruction)
    if instruction.opcode not in OPCODES:
        message = f"'{instruction.opcode}' is no instruction that is known: counted by the type that it names"
        body.parts.holes.append(body.unit.report_at("PW006", Severity.NOTE, span, message))
    found = operation_of(instruction.mnemonic)
    operations = () if found is None else (OperationCount(*found),)
    results = results_of(instruction)
    operands = instruction.operands[1:] if has_result(instruction) else instruction.operands
    arguments = tuple(arg for operand in operands for arg in _arguments(body, operand, instruction))
    types = scalar_types(instruction.modifiers)
    type_ = type_of(types[0]) if types and results else INT32 if results else VOID
    semantics = Semantics.OPAQUE if results else Semantics.NONE
    name = "ptx " + instruction.mnemonic
    value = Intrinsic(name, arguments, operations, semantics, False, type_, span)
    if not results:
        if operations or instruction.opcode == "trap":
            body.emit(value, span)
        return
    for operand in _parts(instruction.operands[0]):
        declared = body.registers.declared_type(operand.name) if isinstance(operand, Register) else type_
        body.set(operand, _typed(value, declared), span)
        value = Intrinsic(name, (), (), semantics, False, type_, span)


def _typed(value: Intrinsic, type_: Type) -> Expr:
    return Intrinsic(value.name, value.arguments, value.operations, value.semantics, False, type_, value.span)


def _arguments(body: FunctionBody, operand: Operand, instruction: Instruction) -> list[Expr]:
    span = body.unit.span(instruction)
    match operand:
        case Register(name=name, component=component):
            return [body.registers.read(name, component, span)]
        case Address(base=base, arguments=arguments):
            found = [] if not isinstance(base, Register) else _arguments(body, base, instruction)
            return found + [value for part in arguments for value in _arguments(body, part, instruction)]
        case Vector(elements=elements):
            return [value for part in elements for value in _arguments(body, part, instruction)]
        case _:
            return []


def _parts(operand: Operand) -> tuple[Operand, ...]:
    match operand:
        case Vector(elements=elements):
            return elements
        case Pair(first=first, second=second):
            return (first, second)
        case Sink() | Register():
            return (operand,)
        case Immediate():
            return ()
        case _:
            return ()
