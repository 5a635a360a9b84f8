"""Calls: functions of the file are inlined, `printf` and its kin cost nothing, others are unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from wattslice.frontend.ptx.lowering.blocks import NotUnderstoodError
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.call_sites import as_called
from wattslice.frontend.ptx.lowering.statements import block_of
from wattslice.frontend.ptx.syntax.calls import Call, call_of
from wattslice.frontend.ptx.syntax.syntax import Instruction, Operand, Register, Symbol
from wattslice.ir import (
    VOID,
    Expr,
    InlinedCall,
    Intrinsic,
    Read,
    RegisterPlace,
    Semantics,
    Severity,
    Span,
    Type,
    Variable,
)

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
    bound: dict[str, str] = {}
    for formal, actual in zip(function.parameters, call.arguments, strict=False):
        bound[formal.name] = _name(actual)
    for formal, actual in zip(function.results, call.results, strict=False):
        bound[formal.name] = _name(actual)

    def parameter(own: str, offset: int, type_: Type) -> Variable | None:
        outer = bound.get(own)
        return None if outer is None else body.parameter(outer, offset, type_)

    parts.inlining.append(name)
    try:
        there = as_called(function, instruction.location, body.unit.foreign)
        inner = FunctionBody(parts, there, parameter, lower)
        for formal, actual in (
            *zip(function.parameters, call.arguments, strict=False),
            *zip(function.results, call.results, strict=False),
        ):
            if formal.space == "reg" and isinstance(actual, Register):
                inner.registers.share(formal.name, body.registers, actual.name)
        block = block_of(inner)
    except NotUnderstoodError as error:
        _unknown(body, instruction, f"'{name}': {error}", call)
        return
    finally:
        parts.inlining.pop()
    body.emit(InlinedCall(name, (), (), block, VOID, span), span)


def _name(operand: Operand) -> str:
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
                    yield Read(RegisterPlace(variable, (), variable.type), variable.type, span)


def _forget(body: FunctionBody, results: tuple[Operand, ...], name: str, instruction: Instruction) -> None:
    """What a call that is not followed gives is unknown."""
    span = body.unit.span(instruction)
    for result in results:
        if isinstance(result, Register):
            type_ = body.registers.declared_type(result.name)
            body.set(result, Intrinsic(name, (), (), Semantics.OPAQUE, False, type_, span), span)
