"""Instructions on the bits of integers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wattslice.frontend.ptx.lowering.arithmetic import call, values_of, working_type
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.syntax.syntax import Immediate, Instruction
from wattslice.ir import (
    INT32,
    Binary,
    BinaryOp,
    Constant,
    Expr,
    Intrinsic,
    OperationClass,
    OperationCount,
    Semantics,
)

_BITS = {
    "popc": ("__popc", Semantics.POPC),
    "clz": ("__clz", Semantics.CLZ),
    "brev": ("__brev", Semantics.BREV),
}


def _count_bits(body: FunctionBody, instruction: Instruction) -> bool:
    name, semantics = _BITS[instruction.opcode]
    type_ = replace(working_type(instruction), signed=False)
    span = body.unit.span(instruction)
    values = tuple(values_of(body, instruction, type_)[:1])
    operations = (OperationCount(OperationClass.INT, 1.0),)
    result = INT32 if instruction.opcode != "brev" else replace(type_, signed=True)
    found = Intrinsic(name, values, operations, semantics, False, result, span)
    body.set(instruction.operands[0], found, span)
    return True


def _find_bit(body: FunctionBody, instruction: Instruction) -> bool:
    """`bfind`: the place of the highest bit, -1 of zero; with `.shiftamt` how far it is from the top."""
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    (value,) = values_of(body, instruction, type_)[:1]

    def known(semantics: Semantics, *arguments: Expr) -> Intrinsic:
        return Intrinsic("__clz", arguments, (), semantics, False, INT32, span)

    def number(value: int) -> Constant:
        return Constant(value, INT32, span)

    if type_.signed:  # of a negative number the highest 0
        found = known(Semantics.OPAQUE, value)
    elif "shiftamt" in instruction.modifiers:  # __ffs(x) is this of the bits turned round, and 1
        turned = Intrinsic("__brev", (value,), (), Semantics.BREV, False, type_, span)
        found = known(Semantics.ADD, known(Semantics.FFS, turned), number(-1))
    else:
        zeros = known(Semantics.CLZ, value)
        found = known(Semantics.FMA, zeros, number(-1), number(type_.bits - 1))
    operations = (OperationCount(OperationClass.INT, 1.0),)
    body.set(instruction.operands[0], replace(found, operations=operations), span)
    return True


_LOGIC_TABLES = {0xC0: BinaryOp.AND, 0xFC: BinaryOp.OR, 0x3C: BinaryOp.XOR}


def _lop3(body: FunctionBody, instruction: Instruction) -> bool:
    table = instruction.operands[-1]
    if len(instruction.operands) != 5 or not isinstance(table, Immediate):
        return False
    span = body.unit.span(instruction)
    a, b, c = (body.value(operand, INT32, span) for operand in instruction.operands[1:4])
    op = _LOGIC_TABLES.get(int(table.value))
    found: Expr = call("lop3", (a, b, c), 1, Semantics.OPAQUE, INT32, span)
    if op is not None:
        found = Binary(op, a, b, INT32, INT32, span)
    body.set(instruction.operands[0], found, span)
    return True


def _extract_bits(body: FunctionBody, instruction: Instruction) -> bool:
    """`bfe.u32` of constant place and width, which newer chips shift and mask."""
    start, width = instruction.operands[2:4]
    if not (isinstance(start, Immediate) and isinstance(width, Immediate)):
        return False
    type_ = working_type(instruction)
    if type_.signed:
        return False
    span = body.unit.span(instruction)
    value = body.value(instruction.operands[1], type_, span)
    moved = Binary(BinaryOp.SHR, value, Constant(int(start.value), INT32, span), type_, type_, span)
    mask = Constant((1 << int(width.value)) - 1, type_, span)
    body.set(instruction.operands[0], Binary(BinaryOp.AND, moved, mask, type_, type_, span), span)
    return True


def _funnel(body: FunctionBody, instruction: Instruction) -> bool:
    span = body.unit.span(instruction)
    values = tuple(values_of(body, instruction, INT32))
    body.set(instruction.operands[0], call("__funnelshift_l", values, 1, Semantics.OPAQUE, INT32, span), span)
    return True


LOWERINGS: dict[str, Callable[[FunctionBody, Instruction], bool]] = {
    "popc": _count_bits,
    "clz": _count_bits,
    "brev": _count_bits,
    "bfind": _find_bit,
    "lop3": _lop3,
    "bfe": _extract_bits,
    "shf": _funnel,
}
