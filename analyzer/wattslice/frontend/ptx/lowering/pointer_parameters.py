"""Which parameters of the functions of a file are addresses: told by what their bodies do with them."""

from __future__ import annotations

from collections.abc import Iterable

from wattslice.frontend.ptx.lowering.context import Unit
from wattslice.frontend.ptx.lowering.pointers import find_pointers
from wattslice.frontend.ptx.syntax.calls import call_of
from wattslice.frontend.ptx.syntax.scopes import flat_body
from wattslice.frontend.ptx.syntax.syntax import Address, Instruction, Register, Symbol
from wattslice.ir import INT64, MemorySpace, Span, Variable, VariableRole


def passed_addresses(unit: Unit, instructions: Iterable[Instruction]) -> frozenset[str]:
    """The places in parameter space from which calls among `instructions` take addresses."""
    found: set[str] = set()
    for instruction in instructions:
        call = call_of(instruction)
        function = None if call is None else unit.functions.get(call.callee.name)
        if call is None or function is None or not function.parameters:
            continue
        addresses = pointer_parameters(unit, function.name)
        for formal, actual in zip(function.parameters, call.arguments, strict=False):
            if formal.name in addresses and isinstance(actual, Symbol | Register):
                found.add(actual.name)
    return frozenset(found)


def pointer_parameters(unit: Unit, name: str) -> frozenset[str]:
    """The parameters of a function of the file that it uses as addresses, or hands on as such."""
    known = unit.pointer_parameters.get(name)
    if known is not None:
        return known
    unit.pointer_parameters[name] = frozenset()  # of a function that calls itself, while it is looked at
    function = unit.functions[name]
    instructions = [s for s in flat_body(function) if isinstance(s, Instruction)]
    variables = {
        parameter.name: Variable(
            parameter.name,
            INT64,
            MemorySpace.REGISTER,
            VariableRole.PARAMETER,
            Span(str(unit.path), parameter.line, 1, parameter.line),
        )
        for parameter in function.parameters
    }

    def read(instruction: Instruction) -> Variable | None:
        for operand in instruction.operands:
            if isinstance(operand, Address) and isinstance(operand.base, Symbol):
                return variables.get(operand.base.name)
        return None

    passed = passed_addresses(unit, instructions)
    pointers = find_pointers(instructions, read, unit.variables.get, passed)
    found = frozenset(variable.name for variable in pointers.parameters)
    unit.pointer_parameters[name] = found
    return found
