"""Comparisons, choices and the logic of predicates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wattslice.frontend.ptx.lowering.arithmetic import logic, working_type
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.types import scalar_types, type_of
from wattslice.frontend.ptx.lowering.values import negated
from wattslice.frontend.ptx.syntax.syntax import Instruction, Pair
from wattslice.ir import (
    BOOL,
    INT32,
    Binary,
    BinaryOp,
    Constant,
    Expr,
    Intrinsic,
    Logical,
    LogicalOp,
    OperationClass,
    OperationCount,
    Select,
    Semantics,
    Span,
    TypeKind,
)

_ORDERED = {
    "eq": BinaryOp.EQ,
    "ne": BinaryOp.NE,
    "lt": BinaryOp.LT,
    "le": BinaryOp.LE,
    "gt": BinaryOp.GT,
    "ge": BinaryOp.GE,
    "lo": BinaryOp.LT,
    "ls": BinaryOp.LE,
    "hi": BinaryOp.GT,
    "hs": BinaryOp.GE,
}
_COMPARISONS = _ORDERED | {f"{name}u": op for name, op in _ORDERED.items()}  # `ltu`: true of NaN, too
_UNSIGNED = frozenset({"lo", "ls", "hi", "hs"})
_LOGICAL = {"and": LogicalOp.AND, "or": LogicalOp.OR}


def _compared(body: FunctionBody, instruction: Instruction) -> Expr | None:
    """The truth value of `setp` or `set`."""
    span = body.unit.span(instruction)
    word = instruction.modifiers[0]
    op = _COMPARISONS.get(word)
    type_ = type_of(scalar_types(instruction.modifiers)[-1])
    if word in _UNSIGNED:
        type_ = replace(type_, signed=False)
    a, b = (body.value(operand, type_, span) for operand in instruction.operands[1:3])
    if op is None:  # num, nan
        operations = (OperationCount(OperationClass.INT, 1.0),)
        found: Expr = Intrinsic("isnan", (a, b), operations, Semantics.OPAQUE, False, BOOL, span)
    else:
        found = Binary(op, a, b, type_, BOOL, span)
    if len(instruction.operands) > 3:
        other = body.value(instruction.operands[3], BOOL, span)
        together = next((word for word in instruction.modifiers if word in ("and", "or", "xor")), "and")
        found = _joined(body, together, found, other, span)
    return found


def _joined(body: FunctionBody, word: str, a: Expr, b: Expr, span: Span) -> Expr:
    if word == "xor":
        return Binary(BinaryOp.NE, a, b, BOOL, BOOL, span)
    return Logical(_LOGICAL[word], a, b, body.parts.region(), BOOL, span)


def _set_predicate(body: FunctionBody, instruction: Instruction) -> bool:
    found = _compared(body, instruction)
    if found is None:
        return False
    span = body.unit.span(instruction)
    target = instruction.operands[0]
    if isinstance(target, Pair):
        body.set(target.first, found, span)
        body.set(target.second, _opposite(body, target, span), span)
    else:
        body.set(target, found, span)
    return True


def _opposite(body: FunctionBody, target: Pair, span: Span) -> Expr:
    if body.registers.is_single(getattr(target.first, "name", "")):
        return Intrinsic("complement", (), (), Semantics.OPAQUE, False, BOOL, span)
    return negated(body.value(target.first, BOOL, span))


def _set(body: FunctionBody, instruction: Instruction) -> bool:
    found = _compared(body, instruction)
    if found is None:
        return False
    span = body.unit.span(instruction)
    type_ = type_of(scalar_types(instruction.modifiers)[0])
    one = Constant(1.0, type_, span) if type_.is_float else Constant(-1, INT32, span)
    zero = Constant(0, type_, span)
    value = Select(found, one, zero, body.parts.region(), body.parts.region(), type_, span)
    body.set(instruction.operands[0], value, span)
    return True


def _select(body: FunctionBody, instruction: Instruction) -> bool:
    span = body.unit.span(instruction)
    type_ = working_type(instruction)
    then, otherwise, third = instruction.operands[1:4]
    if instruction.opcode == "slct":
        sign = type_of(scalar_types(instruction.modifiers)[-1])
        type_ = type_of(scalar_types(instruction.modifiers)[0])
        value = body.value(third, sign, span)
        condition: Expr = Binary(BinaryOp.GE, value, Constant(0, sign, span), sign, BOOL, span)
    else:
        condition = body.value(third, BOOL, span)
    a, b = body.value(then, type_, span), body.value(otherwise, type_, span)
    chosen = a.type if a.type.kind is TypeKind.POINTER else type_
    found = Select(condition, a, b, body.parts.region(), body.parts.region(), chosen, span)
    body.set(instruction.operands[0], found, span)
    return True


def _logic(op: BinaryOp) -> Callable[[FunctionBody, Instruction], bool]:
    integers = logic(op)

    def lower(body: FunctionBody, instruction: Instruction) -> bool:
        if "pred" not in instruction.modifiers:
            return integers(body, instruction)
        span = body.unit.span(instruction)
        a, b = (body.value(operand, BOOL, span) for operand in instruction.operands[1:3])
        body.set(instruction.operands[0], _joined(body, instruction.opcode, a, b, span), span)
        return True

    return lower


LOWERINGS: dict[str, Callable[[FunctionBody, Instruction], bool]] = {
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select,
    "and": _logic(BinaryOp.AND),
    "or": _logic(BinaryOp.OR),
    "xor": _logic(BinaryOp.XOR),
}
