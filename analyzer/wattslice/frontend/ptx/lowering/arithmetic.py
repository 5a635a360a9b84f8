"""Arithmetic and logic instructions, and special functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.types import POINTER, type_of, working_name
from wattslice.frontend.ptx.syntax.syntax import Immediate, Instruction, Operand, Register
from wattslice.ir import (
    INT32,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    Intrinsic,
    OperationClass,
    OperationCount,
    PointerOffset,
    Semantics,
    Span,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
)
from wattslice.ir.operation_counts import arithmetic_class


def values_of(body: FunctionBody, instruction: Instruction, type_: Type) -> list[Expr]:
    """The operands behind the result, all as `type_`."""
    span = body.unit.span(instruction)
    return [body.value(operand, type_, span) for operand in instruction.operands[1:]]


def working_type(instruction: Instruction) -> Type:
    """The type that an instruction works in."""
    return type_of(working_name(instruction.opcode, instruction.modifiers))


def call(
    name: str, arguments: tuple[Expr, ...], number: float, semantics: Semantics, type_: Type, span: Span
) -> Intrinsic:
    """An instruction that C writes as a call: `number` operations in the class of `type_`."""
    operations = (OperationCount(arithmetic_class(type_), number * max(1, type_.lanes)),)
    return Intrinsic(name, arguments, operations, semantics, False, type_, span)


def special_function(name: str, arguments: tuple[Expr, ...], type_: Type, span: Span) -> Intrinsic:
    """A call of a special function (`sinf`): one operation, whatever it takes."""
    operations = (OperationCount(OperationClass.SPECIAL, float(max(1, type_.lanes))),)
    return Intrinsic(name, arguments, operations, Semantics.OPAQUE, False, type_, span)


def _is_pointer(body: FunctionBody, operand: Operand) -> bool:
    """Whether an operand is an address."""
    if isinstance(operand, Register):
        return operand.name in body.registers.pointers.registers
    return not isinstance(operand, Immediate) and body.symbol(getattr(operand, "name", "")) is not None


def _sum(body: FunctionBody, instruction: Instruction) -> bool:
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    result, first, second = instruction.operands[:3]
    is_add = instruction.opcode == "add"
    if type_.kind is TypeKind.INT and isinstance(result, Register) and _is_pointer(body, result):
        pointer, index = (second, first) if is_add and not _is_pointer(body, first) else (first, second)
        if _is_pointer(body, pointer):
            wide = replace(type_, signed=True)
            base, by = body.value(pointer, POINTER, span), body.value(index, wide, span)
            if isinstance(by, Constant):
                step = int(by.value) if is_add else -int(by.value)
                moved = PointerOffset(base, None, 1, step, True, False, POINTER, span)
            else:
                moved = PointerOffset(base, by, 1, 0, True, not is_add, POINTER, span)
            body.set(result, moved, span)
            return True
    return _binary(BinaryOp.ADD if is_add else BinaryOp.SUB)(body, instruction)


_SIGN_MATTERS = frozenset({BinaryOp.DIV, BinaryOp.MOD, BinaryOp.SHR})


def _binary(op: BinaryOp) -> Callable[[FunctionBody, Instruction], bool]:
    def lower(body: FunctionBody, instruction: Instruction) -> bool:
        named = working_name(instruction.opcode, instruction.modifiers)
        type_ = type_of(named)
        span = body.unit.span(instruction)
        if type_.kind is TypeKind.INT and op not in _SIGN_MATTERS:
            type_ = replace(type_, signed=True)  # the same bits either way
        elif op is BinaryOp.SHR and named.startswith("b"):
            type_ = replace(type_, signed=False)
        left, right = body.value(instruction.operands[1], type_, span), instruction.operands[2]
        amount = type_ if op not in (BinaryOp.SHL, BinaryOp.SHR) else INT32
        found = Binary(op, left, body.value(right, amount, span), type_, type_, span)
        body.set(instruction.operands[0], found, span)
        return True

    return lower


def _product(body: FunctionBody, instruction: Instruction) -> bool:
    type_ = working_type(instruction)
    if type_.is_float:
        return _binary(BinaryOp.MUL)(body, instruction)
    span = body.unit.span(instruction)
    a, b = values_of(body, instruction, type_)[:2]
    body.set(instruction.operands[0], _multiplied(a, b, type_, instruction, span), span)
    return True


def _multiplied(a: Expr, b: Expr, type_: Type, instruction: Instruction, span: Span) -> Expr:
    """`mul.lo`, `mul.wide` or `mul.hi` of two integers."""
    if "wide" in instruction.modifiers:
        wide = replace(type_, bits=2 * type_.bits)
        return Binary(BinaryOp.MUL, _widened(a, wide, span), _widened(b, wide, span), wide, wide, span)
    if "hi" in instruction.modifiers:
        if type_.bits != 32:
            return call("__mulhi", (a, b), 1, Semantics.OPAQUE, type_, span)
        # the product itself costs nothing: what is left of it is the one instruction
        wide = replace(type_, bits=64)
        product = Intrinsic("ptx product", (a, b), (), Semantics.MUL, False, wide, span)
        high = Binary(BinaryOp.SHR, product, Constant(32, INT32, span), wide, wide, span)
        return Cast(high, INT32, span)
    signed = replace(type_, signed=True)
    return Binary(BinaryOp.MUL, a, b, signed, signed, span)


def _widened(value: Expr, wide: Type, span: Span) -> Expr:
    if isinstance(value, Constant):
        return Constant(value.value, wide, span)
    return Cast(value, wide, span)


def _multiply_add(body: FunctionBody, instruction: Instruction) -> bool:
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    operands = instruction.operands
    if type_.is_float:
        a, b, c = values_of(body, instruction, type_)[:3]
        name = "fmaf" if type_.bits == 32 else "fma"
        found = call(name, (a, b, c), 2, Semantics.FMA, type_, span)
        body.set(operands[0], found, span)
        return True
    a, b = (body.value(operand, type_, span) for operand in operands[1:3])
    product = _multiplied(a, b, type_, instruction, span)
    result = replace(type_, signed=True, bits=product.type.bits)
    is_pointer = isinstance(operands[0], Register) and _is_pointer(body, operands[0])
    if is_pointer and _is_pointer(body, operands[3]):
        base = body.value(operands[3], POINTER, span)
        body.set(operands[0], PointerOffset(base, product, 1, 0, True, False, POINTER, span), span)
        return True
    c = body.value(operands[3], result, span)
    body.set(operands[0], Binary(BinaryOp.ADD, product, c, result, result, span), span)
    return True


def _divide(body: FunctionBody, instruction: Instruction) -> bool:
    type_ = working_type(instruction)
    modifiers = instruction.modifiers
    if not type_.is_float or "rn" in modifiers or type_.bits == 64:
        return _binary(BinaryOp.DIV)(body, instruction)
    span = body.unit.span(instruction)
    a, b = values_of(body, instruction, type_)[:2]
    name = "__fdividef" if "full" in modifiers or "approx" in modifiers else "__fdiv_rn"
    body.set(instruction.operands[0], call(name, (a, b), 1, Semantics.OPAQUE, type_, span), span)
    return True


def _unary(op: UnaryOp) -> Callable[[FunctionBody, Instruction], bool]:
    def lower(body: FunctionBody, instruction: Instruction) -> bool:
        type_ = working_type(instruction)
        span = body.unit.span(instruction)
        (value,) = values_of(body, instruction, type_)[:1]
        chosen = UnaryOp.NOT if type_.kind is TypeKind.BOOL else op
        body.set(instruction.operands[0], Unary(chosen, value, type_, span), span)
        return True

    return lower


_LEAST = {"min": Semantics.MIN, "max": Semantics.MAX, "abs": Semantics.ABS}


def _least(body: FunctionBody, instruction: Instruction) -> bool:
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    values = tuple(values_of(body, instruction, type_))
    name = instruction.opcode
    if type_.is_float:
        name = f"f{name}" + ("f" if type_.bits == 32 else "")
    found = call(name, values, 1, _LEAST[instruction.opcode], type_, span)
    body.set(instruction.operands[0], found, span)
    return True


_APPROXIMATE = {
    "sqrt": "rsqrtf",  # what ptxas makes of it costs as much
    "rsqrt": "rsqrtf",
    "sin": "__sinf",
    "cos": "__cosf",
    "lg2": "__log2f",
    "ex2": "exp2f",
}
"""The call of CUDA that becomes the same instructions as the approximation without `.ftz`."""


def _function(body: FunctionBody, instruction: Instruction) -> bool:
    """A special function: exact ones as calls, approximate ones as one MUFU and what scales its operand."""
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    values = tuple(values_of(body, instruction, type_))
    name = "ptx " + instruction.mnemonic
    if "approx" not in instruction.modifiers:
        name = "sqrt" if type_.bits == 64 else "__fsqrt_rn"
    elif type_.bits == 32 and "ftz" not in instruction.modifiers:
        name = _APPROXIMATE.get(instruction.opcode, name)
    found = special_function(name, values, type_, span)
    if instruction.opcode == "sqrt":
        found = replace(found, semantics=Semantics.SQRT)
    body.set(instruction.operands[0], found, span)
    return True


def _reciprocal(body: FunctionBody, instruction: Instruction) -> bool:
    if "approx" in instruction.modifiers:
        return _function(body, instruction)
    type_ = working_type(instruction)
    span = body.unit.span(instruction)
    (value,) = values_of(body, instruction, type_)[:1]
    one = Constant(1.0, type_, span)
    body.set(instruction.operands[0], Binary(BinaryOp.DIV, one, value, type_, type_, span), span)
    return True


LOWERINGS: dict[str, Callable[[FunctionBody, Instruction], bool]] = {
    "add": _sum,
    "sub": _sum,
    "mul": _product,
    "mul24": _product,
    "mad": _multiply_add,
    "mad24": _multiply_add,
    "fma": _multiply_add,
    "div": _divide,
    "rem": _binary(BinaryOp.MOD),
    "shl": _binary(BinaryOp.SHL),
    "shr": _binary(BinaryOp.SHR),
    "neg": _unary(UnaryOp.NEGATE),
    "not": _unary(UnaryOp.INVERT),
    "abs": _least,
    "min": _least,
    "max": _least,
    "sqrt": _function,
    "rsqrt": _function,
    "sin": _function,
    "cos": _function,
    "lg2": _function,
    "ex2": _function,
    "tanh": _function,
    "rcp": _reciprocal,
}


def logic(op: BinaryOp) -> Callable[[FunctionBody, Instruction], bool]:
    """`and`, `or`, `xor` of integers."""
    return _binary(op)
