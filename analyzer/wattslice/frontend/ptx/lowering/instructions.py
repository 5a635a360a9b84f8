"""One PTX instruction as expressions; what has no meaning here counts by its mnemonic, its result unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.ptx.lowering import accesses, arithmetic
from wattslice.frontend.ptx.lowering.blocks import NotUnderstoodError, has_result, results_of
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.statements import block_of
from wattslice.frontend.ptx.operations import (
    OPCODES,
    UNCOUNTED_PRODUCT,
    is_uncounted_product,
    operations_of,
    scalar_types,
    type_of,
)
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Call,
    Function,
    Instruction,
    Operand,
    Pair,
    Register,
    Sink,
    SourceLocation,
    Symbol,
    Vector,
    call_of,
)
from wattslice.ir import INT32, VOID, Expr, Intrinsic, Read, Semantics, Severity, Span, Type, Variable

_LOWERINGS = arithmetic.LOWERINGS | accesses.LOWERINGS


def lower_instruction(body: FunctionBody, instruction: Instruction) -> None:
    """Adds what an instruction does to the statements of `body`; its guard is the caller's business."""
    if instruction.opcode == "call":
        lower_call(body, instruction, lower_instruction)
        return
    span = body.unit.span(instruction)
    valued, lowering = arithmetic.VALUES.get(instruction.opcode), _LOWERINGS.get(instruction.opcode)
    value = None if valued is None else valued(body, instruction, span)
    if value is not None:
        body.set(instruction.operands[0], value, span)
    elif lowering is None or not lowering(body, instruction, span):
        _opaque(body, instruction, span)


def _opaque(body: FunctionBody, instruction: Instruction, span: Span) -> None:
    """Operations by the mnemonic; the first result carries them, all are unknown."""
    if instruction.opcode not in OPCODES:
        message = f"'{instruction.opcode}' is no instruction that is known: counted by the type that it names"
        body.parts.holes.append(body.unit.report_at("PW006", Severity.NOTE, span, message))
    if is_uncounted_product(instruction.mnemonic):
        body.parts.holes.append(body.unit.report_at("PW006", Severity.WARNING, span, UNCOUNTED_PRODUCT))
    found = operations_of(instruction.mnemonic)
    operations = () if found is None else (found,)
    results = results_of(instruction)
    operands = instruction.operands[1:] if has_result(instruction) else instruction.operands
    arguments = tuple(arg for operand in operands for arg in _arguments(body, operand, span))
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
        body.set(operand, replace(value, type=declared), span)
        value = Intrinsic(name, (), (), semantics, False, type_, span)


def _arguments(body: FunctionBody, operand: Operand, span: Span) -> list[Expr]:
    match operand:
        case Register(name=name, component=component):
            return [body.registers.read(name, component, span)]
        case Address(base=base, arguments=arguments):
            found = [] if not isinstance(base, Register) else _arguments(body, base, span)
            return found + [value for part in arguments for value in _arguments(body, part, span)]
        case Vector(elements=elements):
            return [value for part in elements for value in _arguments(body, part, span)]
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
        case _:
            return ()


# ---------------------------------------------------------------------------
# Calls: functions of the file are inlined, `printf` and its kin cost nothing, others are unknown.


MAX_DEPTH = 16
"""Calls inside calls that are followed; deeper ones, and all recursion, are cut."""

_FREE = frozenset({"vprintf", "__assertfail", "malloc", "free"})
"""What the device runtime does: printing and the heap, left out as in CUDA sources."""


def lower_call(
    body: FunctionBody, instruction: Instruction, lower: Callable[[FunctionBody, Instruction], None]
) -> None:
    """Adds a call to the statements of `body`."""
    call = call_of(instruction)
    span = body.unit.span(instruction)
    if call is None:
        _unknown(body, instruction, "a call")
        return
    name = call.callee.name if isinstance(call.callee, Symbol) else ""
    if name in _FREE:
        body.flush()
        body.emit(Intrinsic(name, (), (), Semantics.NONE, False, VOID, span), span)
        _forget(body, call.results, name, instruction)
        return
    function = body.unit.functions.get(name)
    if function is None or function.body is None:
        what = (
            f"function '{name}', whose body is not in this file" if name else "a function through a pointer"
        )
        _unknown(body, instruction, what, call)
        return
    parts = body.parts
    if name in parts.inlining:
        _unknown(body, instruction, f"'{name}' within itself, followed no further", call)
        return
    if len(parts.inlining) >= MAX_DEPTH:
        _unknown(body, instruction, f"'{name}', the {MAX_DEPTH}th inside one another", call)
        return
    body.flush()
    passed = (
        *zip(function.parameters, call.arguments, strict=False),
        *zip(function.results, call.results, strict=False),
    )
    bound = {formal.name: _name_of(actual) for formal, actual in passed}

    def parameter(own: str, offset: int, type_: Type) -> Variable | None:
        outer = bound.get(own)
        return None if outer is None else body.parameter(outer, offset, type_)

    parts.inlining.append(name)
    try:
        there = as_called(function, instruction.location, body.unit.foreign)
        inner = FunctionBody(parts, there, parameter, lower)
        for formal, actual in passed:
            if formal.space == "reg" and isinstance(actual, Register):
                inner.registers.share(formal.name, body.registers, actual.name)
        block = block_of(inner)
    except NotUnderstoodError as error:
        _unknown(body, instruction, f"'{name}': {error}", call)
        return
    finally:
        parts.inlining.pop()
    body.emit(ir.InlinedCall(name, (), (), block, VOID, span), span)


def _name_of(operand: Operand) -> str:
    return operand.name if isinstance(operand, Symbol | Register) else ""


def _unknown(body: FunctionBody, instruction: Instruction, what: str, call: Call | None = None) -> None:
    """A call that is not followed: told, and it uses what it is passed."""
    span = body.unit.span(instruction)
    message = f"call to {what}: its cost is unknown and left out"
    body.parts.holes.append(body.unit.report_at("PW005", Severity.WARNING, span, message))
    body.flush()
    arguments = () if call is None else tuple(_passed(body, call, span))
    body.emit(Intrinsic(what, arguments, (), Semantics.NONE, True, VOID, span), span)
    _forget(body, () if call is None else call.results, what, instruction)


def _passed(body: FunctionBody, call: Call, span: Span) -> Iterator[Expr]:
    """What a call is passed: registers, and what was stored into the parameters made for it."""
    for argument in call.arguments:
        if isinstance(argument, Register):
            yield body.registers.read(argument.name, argument.component, span)
        elif isinstance(argument, Symbol):
            for (name, _), variable in body.call_parameters.items():
                if name == argument.name:
                    yield Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)


def _forget(body: FunctionBody, results: tuple[Operand, ...], name: str, instruction: Instruction) -> None:
    """What a call that is not followed gives is unknown."""
    span = body.unit.span(instruction)
    for result in results:
        if isinstance(result, Register):
            type_ = body.registers.declared_type(result.name)
            body.set(result, Intrinsic(name, (), (), Semantics.OPAQUE, False, type_, span), span)


# ---------------------------------------------------------------------------
# Functions of the toolkit at the place that calls them: nobody reads their lines, if they have any.


def as_called(function: Function, site: SourceLocation | None, toolkit: AbstractSet[int]) -> Function:
    """`function` as if it had been inlined at `site`, where it is of the toolkit or tells no lines.

    `toolkit`: the numbers of the toolkit's files.
    """
    if site is None or function.body is None:
        return function
    body = tuple(
        replace(statement, location=_inlined(statement.location, site, toolkit))
        if isinstance(statement, Instruction)
        else statement
        for statement in function.body
    )
    return replace(function, body=body)


def _inlined(
    location: SourceLocation | None, site: SourceLocation, toolkit: AbstractSet[int]
) -> SourceLocation:
    """The place of an instruction, called at `site` where the function around it is the toolkit's."""
    if location is None:
        return site
    if location.inlined_at is not None:
        return replace(location, inlined_at=_inlined(location.inlined_at, site, toolkit))
    return replace(location, inlined_at=site) if location.file in toolkit else location
