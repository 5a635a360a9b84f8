"""One PTX function being lowered: its names, the values of its operands, and the statements so far."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.ptx.lowering.blocks import (
    NotUnderstoodError,
    ParameterKey,
    Pointers,
    basic_blocks,
    find_pointers,
    parameter_place,
)
from wattslice.frontend.ptx.lowering.context import KernelParts, passed_addresses, variable_of
from wattslice.frontend.ptx.lowering.registers import (
    Registers,
    as_type,
    constant,
    fitted,
    is_leaf,
    is_pure,
    negated,
)
from wattslice.frontend.ptx.operations import POINTER
from wattslice.frontend.ptx.syntax import syntax
from wattslice.ir import Declare, Expr, Intrinsic, Semantics, Span, Stmt, Type, Variable, walk_expressions
from wattslice.ir.operation_counts import own_operations


class FunctionBody:
    """Lowers one function.

    `parameters`: what stands at places of the function's own parameters and results; those of calls that it
    makes are added on the way. Raises `NotUnderstoodError` and `TooLargeError`.
    """

    def __init__(
        self,
        parts: KernelParts,
        function: syntax.Function,
        parameter: Callable[[str, int, Type], Variable | None],
        lower: Callable[[FunctionBody, syntax.Instruction], None],
        settle: Callable[[Pointers], None] = lambda pointers: None,
    ) -> None:
        self.parts = parts
        self.unit = parts.unit
        self.function = function
        self._outer_parameter = parameter
        self._lower = lower
        statements = function.body or ()
        self.blocks = basic_blocks(statements)
        self.span = Span(str(self.unit.path), function.line, 1, function.line)
        self.registers = Registers(statements, self.blocks, self.span, parts.taken)
        self._symbols: dict[str, Variable] = {}
        self.call_parameters: dict[ParameterKey, Variable] = {}
        self._call_spaces: set[str] = set()
        for statement in statements:
            if isinstance(statement, syntax.Variable):
                if statement.space == "param":
                    self._call_spaces.add(statement.name)
                else:
                    span = replace(self.span, line=statement.line, end_line=statement.line)
                    self._symbols[statement.name] = variable_of(statement, span)
        instructions = [i for block in self.blocks for i in block.instructions]
        parts.take(len(instructions))
        self.registers.pointers = find_pointers(
            instructions, self._pointer_parameter, self.symbol, passed_addresses(self.unit, instructions)
        )
        settle(self.registers.pointers)
        self.statements: list[Stmt] = []

    # ------------------------------------------------------------------ names

    def symbol(self, name: str) -> Variable | None:
        """The variable of this name, of the function or of the module."""
        return self._symbols.get(name) or self.unit.variables.get(name)

    def parameter(self, name: str, offset: int, type_: Type) -> Variable | None:
        """The variable at a place in parameter space: of a call being prepared, or of the function."""
        if name not in self._call_spaces:
            return self._outer_parameter(name, offset, type_)
        known = self.call_parameters.get((name, offset))
        if known is None:
            known = replace(
                self.registers.variable(f"{name}_{offset}", type_), name=f"{name}_{offset}", type=type_
            )
            self.call_parameters[name, offset] = known
        return known

    def _pointer_parameter(self, instruction: syntax.Instruction) -> Variable | None:
        place = parameter_place(instruction)
        if place is None or "param" not in instruction.modifiers:
            return None
        return self.parameter(*place, POINTER if place[0] in self._call_spaces else ir.INT64)

    def lower(self, instruction: syntax.Instruction) -> None:
        """Adds an instruction, whose operands and types may be any that can be written."""
        try:
            self._lower(self, instruction)
        except (LookupError, ValueError, ArithmeticError):
            message = f"'{instruction.mnemonic}' has not the types or operands that it needs"
            raise NotUnderstoodError(message, instruction.line) from None

    # ------------------------------------------------------------------ statements

    def emit(self, expr: Expr, span: Span) -> None:
        """A statement of its own."""
        self.statements.append(ir.ExprStmt(expr, self.parts.region(), span))

    def flush(self) -> None:
        """Writes out all that waits for a reader."""
        for name in list(self.registers.pending):
            self._write_out(name)

    def _write_out(self, name: str) -> None:
        kept = self.registers.pending.pop(name)
        variable = self.registers.variable(name, kept.expr.type)
        self.statements.append(Declare(variable, kept.expr, self.parts.region(), kept.expr.span))

    def set(self, operand: syntax.Operand, value: Expr, span: Span) -> None:
        """Gives a register its new value; `_` only what computing it costs."""
        registers = self.registers
        if not isinstance(operand, syntax.Register):
            if any(own_operations(node) for node in walk_expressions(value)):
                self.emit(value, span)
            return
        name = operand.name
        if registers.is_single(name):
            if is_leaf(value) and not registers.changing(value):
                registers.stand_for(name, value)
                return
            if is_pure(value) and registers.wait(name, value):
                return
            if registers.is_unused(name):
                if any(own_operations(node) for node in walk_expressions(value)):
                    self.emit(value, span)
                return
            variable = registers.variable(name, value.type)
            value = fitted(value, variable.type, span)
            self.statements.append(Declare(variable, value, self.parts.region(), span))
            return
        variable = registers.variable(name, value.type)
        for waiting in [name for name, kept in registers.pending.items() if variable in kept.reads]:
            self._write_out(waiting)
        value = fitted(value, variable.type, span)
        place = ir.RegisterPlace(variable, (), variable.type)
        self.emit(ir.Assign(place, None, value, variable.type, variable.type, span), span)

    # ------------------------------------------------------------------ values

    def value(self, operand: syntax.Operand, type_: Type, span: Span) -> Expr:
        """The value of an operand as `type_`."""
        match operand:
            case syntax.Immediate(value=value):
                return constant(value, type_, span)
            case syntax.Register(name=name, component=component, negated=is_negated):
                found = self.registers.read(name, component, span)
                return as_type(negated(found) if is_negated else found, type_, span)
            case syntax.Symbol(name=name, offset=offset):
                return self.address_of(name, offset, span)
            case syntax.Vector(elements=elements):
                parts = tuple(self.value(part, type_, span) for part in elements)
                return Intrinsic("pack", parts, (), Semantics.OPAQUE, False, type_, span)
            case _:
                return Intrinsic("operand", (), (), Semantics.OPAQUE, False, type_, span)

    def address_of(self, name: str, offset: int, span: Span) -> Expr:
        """The address of a variable, `offset` bytes further."""
        variable = self.symbol(name)
        if variable is None:
            return Intrinsic(name, (), (), Semantics.UNIFORM, False, POINTER, span)
        if variable.space is ir.MemorySpace.SHARED:
            self.parts.shared[variable] = None
        found: Expr = ir.AddressOf(variable, POINTER, span)
        return ir.PointerOffset(found, None, 1, offset, False, False, POINTER, span) if offset else found
