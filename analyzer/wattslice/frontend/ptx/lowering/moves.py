"""Copies and conversions."""

from __future__ import annotations

from collections.abc import Callable

from wattslice.frontend.ptx.lowering.arithmetic import call, working_type
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.types import POINTER, scalar_types, type_of
from wattslice.frontend.ptx.syntax.syntax import Instruction, Register, Vector
from wattslice.ir import (
    Cast,
    Expr,
    Intrinsic,
    Semantics,
    Span,
    Type,
    TypeKind,
)


def _move(body: FunctionBody, instruction: Instruction) -> bool:
    span = body.unit.span(instruction)
    target, source = instruction.operands[:2]
    type_ = working_type(instruction)
    if isinstance(target, Vector):
        _unpack(body, target, body.value(source, type_, span), type_, span)
        return True
    if isinstance(source, Register) and isinstance(target, Register):
        value = body.registers.read(source.name, source.component, span)
        if value.type.kind is not TypeKind.POINTER:
            value = body_type(body, value, target, type_, span)
        body.set(target, value, span)
        return True
    body.set(target, body.value(source, type_, span), span)
    return True


def body_type(body: FunctionBody, value: Expr, target: Register, type_: Type, span: Span) -> Expr:
    """The bits of a value as the register that they are copied to holds them."""
    declared = body.registers.declared_type(target.name)
    if value.type.is_float == declared.is_float or declared.kind is TypeKind.BOOL:
        return value
    if value.type.is_float and not type_.is_float:
        return value  # a register of bits that holds a number
    return body_cast(value, declared, span)


def body_cast(value: Expr, type_: Type, span: Span) -> Expr:
    """Bits of another kind, which costs nothing."""
    return Intrinsic("bit_cast", (value,), (), Semantics.OPAQUE, False, type_, span)


def _unpack(body: FunctionBody, target: Vector, value: Expr, type_: Type, span: Span) -> None:
    """`mov.b64 {%r1, %r2}, %rd3`: the low part is known, the high one too where it is an integer."""
    bits = type_.bits // len(target.elements)
    part = Type(TypeKind.INT, bits=bits)
    for number, element in enumerate(target.elements):
        if not isinstance(element, Register):
            continue
        low: Expr = (
            Cast(value, part, span)
            if number == 0 and value.type.kind is TypeKind.INT
            else Intrinsic("unpack", (value,) if number == 0 else (), (), Semantics.OPAQUE, False, part, span)
        )
        declared = body.registers.declared_type(element.name)
        body.set(element, low if not declared.is_float else body_cast(low, declared, span), span)


def _to_address(body: FunctionBody, instruction: Instruction) -> bool:
    """`cvta`: generic or not, an address is an address."""
    span = body.unit.span(instruction)
    body.set(instruction.operands[0], body.value(instruction.operands[1], POINTER, span), span)
    return True


_ROUNDINGS = {"rmi": ("floor", Semantics.FLOOR), "rpi": ("ceil", Semantics.CEIL)}


def _convert(body: FunctionBody, instruction: Instruction) -> bool:
    names = scalar_types(instruction.modifiers)
    if len(names) != 2 or len(instruction.operands) != 2:
        return False
    target, source = type_of(names[0]), type_of(names[1])
    span = body.unit.span(instruction)
    value = body.value(instruction.operands[1], source, span)
    if value.type.kind is TypeKind.POINTER:  # between the widths of shared and generic addresses
        body.set(instruction.operands[0], value, span)
        return True
    rounding = next((word for word in instruction.modifiers if word in _ROUNDINGS), None)
    if rounding is not None and source.is_float:
        name, semantics = _ROUNDINGS[rounding]
        name += "f" if source.bits == 32 else ""
        value = Intrinsic(name, (value,), (), semantics, False, source, span)
    if "sat" in instruction.modifiers and target.is_float:
        body.set(
            instruction.operands[0], call("__saturatef", (value,), 1, Semantics.OPAQUE, target, span), span
        )
        return True
    body.set(instruction.operands[0], value if source == target else Cast(value, target, span), span)
    return True


LOWERINGS: dict[str, Callable[[FunctionBody, Instruction], bool]] = {
    "mov": _move,
    "cvta": _to_address,
    "cvt": _convert,
}
