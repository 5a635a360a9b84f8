"""Barriers, exchanges between lanes, textures: what no operator says."""

from __future__ import annotations

from collections.abc import Callable

from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.types import LANE_NAMES, lanes_of, scalar_types, type_of
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Instruction,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from wattslice.ir import (
    BOOL,
    INT32,
    VOID,
    Declare,
    Expr,
    Intrinsic,
    MemorySpace,
    OperationClass,
    OperationCount,
    Read,
    RegisterPlace,
    Semantics,
    TextureFetch,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)


def _barrier(body: FunctionBody, instruction: Instruction) -> bool:
    if "red" in instruction.modifiers:
        return False
    span = body.unit.span(instruction)
    if "warp" in instruction.modifiers:  # __syncwarp
        body.emit(Intrinsic("__syncwarp", (), (), Semantics.NONE, False, VOID, span), span)
        return True
    operations = (OperationCount(OperationClass.BARRIER, 1.0),)
    body.emit(Intrinsic("__syncthreads", (), operations, Semantics.BARRIER, False, VOID, span), span)
    return True


def _fence(body: FunctionBody, instruction: Instruction) -> bool:
    span = body.unit.span(instruction)
    body.emit(Intrinsic("__threadfence", (), (), Semantics.NONE, False, VOID, span), span)
    return True


def _nothing(body: FunctionBody, instruction: Instruction) -> bool:
    """Hints and waits: they move nothing that is counted."""
    return True


_EXCHANGES = {
    "shfl": ("__shfl_sync", Semantics.OPAQUE),
    "vote": ("__ballot_sync", Semantics.UNIFORM),
    "activemask": ("__ballot_sync", Semantics.UNIFORM),
    "match": ("__match_any_sync", Semantics.OPAQUE),
    "redux": ("__reduce_add_sync", Semantics.UNIFORM),
}


def _exchange(body: FunctionBody, instruction: Instruction) -> bool:
    span = body.unit.span(instruction)
    name, semantics = _EXCHANGES[instruction.opcode]
    target = instruction.operands[0]
    first = target.first if isinstance(target, Pair) else target
    types = scalar_types(instruction.modifiers)
    type_ = BOOL if types and types[-1] == "pred" else INT32
    values = [
        body.registers.read(operand.name, operand.component, span)
        for operand in instruction.operands[1:]
        if isinstance(operand, Register)
    ]
    if isinstance(first, Register):
        declared = body.registers.declared_type(first.name)
        type_ = values[0].type if instruction.opcode == "shfl" and values else declared
        if type_.kind is TypeKind.POINTER:
            type_ = declared
    operations = (OperationCount(OperationClass.INT, 1.0),)
    found = Intrinsic(name, tuple(values), operations, semantics, False, type_, span)
    body.set(first, found, span)
    if isinstance(target, Pair):
        body.set(target.second, Intrinsic(name, (), (), Semantics.OPAQUE, False, BOOL, span), span)
    return True


def _texture(body: FunctionBody, instruction: Instruction) -> bool:
    """`tex`, `tld4`, `suld`: a fetch; `sust`: a write."""
    span = body.unit.span(instruction)
    is_store = instruction.opcode == "sust"
    address = next((o for o in instruction.operands if isinstance(o, Address)), None)
    if address is None:
        return False
    texture: Variable | None = None
    if isinstance(address.base, Symbol):
        texture = body.symbol(address.base.name)
    elif isinstance(address.base, Register):
        value = body.registers.read(address.base.name, "", span)
        texture = value.place.variable if isinstance(value, Read) else None
    coordinates: list[Expr] = []
    for argument in address.arguments:
        for part in argument.elements if isinstance(argument, Vector) else (argument,):
            if isinstance(part, Register):
                value = body.registers.read(part.name, part.component, span)
                coordinates.append(value)
            elif not isinstance(part, Register | Symbol):
                coordinates.append(body.value(part, INT32, span))
    types = scalar_types(instruction.modifiers)
    element = type_of(types[0] if types else "b32")
    lanes = lanes_of(instruction.modifiers) if is_store else _lanes_used(body, instruction)
    type_ = Type(element.kind, element.bits, element.signed, lanes)
    name = instruction.mnemonic
    if is_store:
        stored = _values(body, instruction.operands[-1], element, instruction)
        fetch = TextureFetch(
            texture, (*stored, *coordinates), True, body.parts.site(), VOID, span, function=name
        )
        body.emit(fetch, span)
        return True
    fetch = TextureFetch(texture, tuple(coordinates), False, body.parts.site(), type_, span, function=name)
    target = instruction.operands[0]
    target = target.first if isinstance(target, Pair) else target
    if not isinstance(target, Vector):
        body.set(target, fetch, span)
        return True
    kept = Variable("fetched", type_, MemorySpace.REGISTER, VariableRole.TEMPORARY, span)
    body.statements.append(Declare(kept, fetch, body.parts.region(), span))
    for lane, part in zip(LANE_NAMES, target.elements, strict=False):
        if isinstance(part, Register) and not body.registers.is_unused(part.name):
            body.set(part, Read(RegisterPlace(kept, (lane,), element), element, span), span)
    return True


def _lanes_used(body: FunctionBody, instruction: Instruction) -> int:
    """The elements of a texel that are fetched: `tex` has four results, of fewer channels some are unused."""
    target = instruction.operands[0]
    target = target.first if isinstance(target, Pair) else target
    if instruction.opcode != "tex" or not isinstance(target, Vector):
        return lanes_of(instruction.modifiers)
    used = [
        number
        for number, part in enumerate(target.elements, start=1)
        if isinstance(part, Register) and not body.registers.is_unused(part.name)
    ]
    return max(used, default=1)


def _values(body: FunctionBody, operand: Operand, type_: Type, instruction: Instruction) -> tuple[Expr, ...]:
    parts = operand.elements if isinstance(operand, Vector) else (operand,)
    return tuple(body.value(part, type_, body.unit.span(instruction)) for part in parts)


LOWERINGS: dict[str, Callable[[FunctionBody, Instruction], bool]] = {
    "bar": _barrier,
    "barrier": _barrier,
    "membar": _fence,
    "fence": _fence,
    "shfl": _exchange,
    "vote": _exchange,
    "activemask": _exchange,
    "match": _exchange,
    "redux": _exchange,
    "tex": _texture,
    "tld4": _texture,
    "suld": _texture,
    "sust": _texture,
    **dict.fromkeys(
        ("prefetch", "prefetchu", "nanosleep", "pmevent", "brkpt", "discard", "applypriority"), _nothing
    ),
    **dict.fromkeys(("griddepcontrol", "setmaxnreg"), _nothing),
}
