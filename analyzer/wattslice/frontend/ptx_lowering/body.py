"""One PTX function as a block of statements: its structure from the tree, its instructions one by one."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import replace

from wattslice.frontend.bounds import MOST_NESTED_BLOCKS
from wattslice.frontend.ptx_lowering.blocks import BasicBlock, NotUnderstoodError, basic_blocks
from wattslice.frontend.ptx_lowering.context import KernelParts, TooLargeError, variable_of
from wattslice.frontend.ptx_lowering.control_flow import IrreducibleError
from wattslice.frontend.ptx_lowering.pointer_parameters import passed_addresses
from wattslice.frontend.ptx_lowering.pointers import Pointers, find_pointers
from wattslice.frontend.ptx_lowering.registers import (
    Registers,
    float_bits,
    is_leaf,
    is_same_kind,
)
from wattslice.frontend.ptx_lowering.steps import steps_apart
from wattslice.frontend.ptx_lowering.structure import (
    Choice,
    Code,
    Fork,
    Frame,
    Jump,
    Quit,
    Repeat,
    Structure,
    Switching,
    Tree,
    Wrap,
)
from wattslice.frontend.ptx_lowering.types import POINTER, type_of
from wattslice.frontend.ptx_source import syntax
from wattslice.frontend.ptx_source.scopes import flat_body
from wattslice.ir import (
    BOOL,
    COMPARISONS,
    INT64,
    AddressOf,
    Assign,
    Binary,
    BinaryOp,
    Block,
    Break,
    Case,
    Cast,
    Constant,
    Declare,
    Expr,
    ExprStmt,
    If,
    Intrinsic,
    Loop,
    LoopKind,
    MachineInstruction,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Semantics,
    Span,
    Stmt,
    Switch,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
    Variable,
    walk_expressions,
)
from wattslice.region_operations import own_operations

ParameterKey = tuple[str, int]
"""A place in parameter space: the parameter's name and the offset in it, in bytes."""

_OPPOSITE = {
    BinaryOp.LT: BinaryOp.GE,
    BinaryOp.GE: BinaryOp.LT,
    BinaryOp.GT: BinaryOp.LE,
    BinaryOp.LE: BinaryOp.GT,
    BinaryOp.EQ: BinaryOp.NE,
    BinaryOp.NE: BinaryOp.EQ,
}


MOST_UNROLLED = 60
"""Instructions of a loop up to which ptxas unrolls it."""
_WAITS = frozenset({"bar", "barrier", "call", "atom"})


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
        statements = flat_body(function)
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
            instructions,
            self._pointer_parameter,
            self.symbol,
            passed_addresses(self.unit, instructions),
        )
        settle(self.registers.pointers)
        self.statements: list[Stmt] = []
        self._conditions: dict[int, Expr] = {}
        self._frames: list[Frame] = []

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
        return self.parameter(*place, POINTER if place[0] in self._call_spaces else INT64)

    # ------------------------------------------------------------------ structure

    def block(self) -> Block:
        """The whole function."""
        endings = [block.ending for block in self.blocks]
        try:
            structure = Structure(endings, lambda node: self.blocks[node].is_bare)
        except IrreducibleError as error:
            entry = self.blocks[error.node]
            where = f", one at label '{entry.label}'" if entry.label else ""
            raise NotUnderstoodError(f"a loop with several entries{where}", entry.line) from None
        if structure.loop_depth > MOST_NESTED_BLOCKS:
            raise TooLargeError(f"its loops nest more than {MOST_NESTED_BLOCKS} deep")
        region = self.parts.region()
        return Block(tuple(self._tree(structure.tree())), region, self.span)

    def _tree(self, tree: list[Tree]) -> list[Stmt]:
        found: list[Stmt] = []
        for part in tree:
            match part:
                case Code(node=node):
                    found += self._code(node)
                case Choice():
                    found += self._choice(part)
                case Repeat():
                    found.append(self._repeat(part))
                case Wrap(frame=frame, body=body):
                    region = self.parts.region()
                    self._frames.append(frame)
                    inner = self._tree(body)
                    self._frames.pop()
                    found.append(Block(tuple(inner), region, self._span_of(inner), is_breakable=True))
                case Switching():
                    found.append(self._switching(part))
                case Jump(frame=frame):
                    levels = len(self._frames) - self._frames.index(frame)
                    found.append(Break(self.parts.region(), self._last_span(found), levels))
                case Quit():
                    found.append(Return(None, self.parts.region(), self._last_span(found)))
        return found

    def _code(self, node: int) -> list[Stmt]:
        """A basic block, as a block of its own: how often it runs is how often its instructions do."""
        block = self.blocks[node]
        if not block.instructions:
            return []
        region = self.parts.region()
        outer, self.statements = self.statements, []
        spans: list[Span] = []
        for instruction in block.instructions:
            is_ending = (
                instruction is block.instructions[-1]
                and not isinstance(block.ending, Fork)
                and (instruction.opcode in ("bra", "brx", "ret", "exit"))
            )
            span = self.unit.span(instruction)
            spans.append(span)
            if instruction.guard is None or is_ending or self._decides(block, instruction):
                self.parts.machine.append(MachineInstruction(instruction.mnemonic, region, span))
                if not is_ending and not self._decides(block, instruction):
                    self._lowered(instruction)
            else:
                self._guarded(instruction, span)
        if isinstance(block.ending, Fork) and block.guard is not None:
            self._conditions[node] = self._truth(block.guard, spans[-1])
        elif block.selector is not None:
            self._conditions[node] = self.value(block.selector, type_of("u32"), spans[-1])
        self.flush()
        statements, self.statements = self.statements, outer
        return [Block(tuple(statements), region, spans[0])]

    def _lowered(self, instruction: syntax.Instruction) -> None:
        """Adds an instruction, whose operands and types may be any that can be written."""
        try:
            self._lower(self, instruction)
        except (LookupError, ValueError, ArithmeticError):
            message = f"'{instruction.mnemonic}' has not the types or operands that it needs"
            raise NotUnderstoodError(message, instruction.line) from None

    def _decides(self, block: BasicBlock, instruction: syntax.Instruction) -> bool:
        """Whether an instruction is the branch that ends its block."""
        return instruction is block.instructions[-1] and instruction.opcode in ("bra", "brx", "ret", "exit")

    def _guarded(self, instruction: syntax.Instruction, span: Span) -> None:
        """`@%p st...`: an `if` around one statement, around several where the guard stays the same."""
        guard = instruction.guard
        assert guard is not None
        condition = self._truth(guard, span)
        self.flush()
        region, inside = self.parts.region(), self.parts.region()
        outer, self.statements = self.statements, []
        self.parts.machine.append(MachineInstruction(instruction.mnemonic, inside, span))
        self._lowered(replace(instruction, guard=None))
        self.flush()
        then = Block(tuple(self.statements), inside, span)
        self.statements = outer
        self.statements.append(If(condition, then, None, region, span))

    def _truth(self, guard: syntax.Guard, span: Span) -> Expr:
        condition = self.registers.read(guard.register, "", span)
        return negated(condition) if guard.negated else condition

    def _choice(self, choice: Choice) -> list[Stmt]:
        condition = self._conditions.pop(choice.node, None)
        if condition is None:
            return self._tree(choice.then or choice.otherwise)
        span = condition.span
        last = self.blocks[choice.node].instructions[-1]
        span = self.unit.span(last)
        region = self.parts.region()
        then_region, otherwise_region = self.parts.region(), self.parts.region()
        then, otherwise = self._tree(choice.then), self._tree(choice.otherwise)
        if not then and not otherwise:
            return self._kept(condition, span, region)
        if not then:
            block = Block(tuple(otherwise), otherwise_region, self._span_of(otherwise, span))
            return [If(negated(condition), block, None, region, span)]
        block = Block(tuple(then), then_region, self._span_of(then, span))
        other = None
        if otherwise:
            other = Block(tuple(otherwise), otherwise_region, self._span_of(otherwise, span))
        return [If(condition, block, other, region, span)]

    def _kept(self, condition: Expr, span: Span, region: int) -> list[Stmt]:
        costs = any(own_operations(node) for node in walk_expressions(condition))
        return [ExprStmt(condition, region, span)] if costs else []

    def _repeat(self, repeat: Repeat) -> Loop:
        region, body_region = self.parts.region(), self.parts.region()
        test_region, step_region = self.parts.region(), self.parts.region()
        self._frames.append(repeat.frame)
        statements = self._tree(repeat.body)
        self._frames.pop()
        condition = None if repeat.test is None else self._conditions.pop(repeat.test)
        if condition is not None and not repeat.test_holds:
            condition = negated(condition)
        step: Expr | None = None
        if condition is not None:
            statements, step = steps_apart(statements)
        instructions = self.blocks[repeat.header].instructions
        span = self.unit.span(instructions[0]) if instructions else self._span_of(statements)
        end = max([span.line, *(s.span.line for s in statements if s.span.file == span.file)])
        return Loop(
            LoopKind.WHILE if condition is None else LoopKind.DO,
            (),
            condition,
            step,
            Block(tuple(statements), body_region, span),
            4 if self._is_unrolled_by_ptxas(repeat) else 1,
            region,
            test_region,
            step_region,
            replace(span, end_line=max(end, span.end_line)),
        )

    def _is_unrolled_by_ptxas(self, repeat: Repeat) -> bool:
        """Whether ptxas copies a loop that nvcc has left as it is, or unrolled, once more: by four.

        Seen in SASS: loops of one block that a constant step counts, and no pragma keeps it from.
        """
        block = self.blocks[repeat.header]
        if repeat.test != repeat.header or block.is_unrolled:
            return False
        if len(block.instructions) > MOST_UNROLLED or any(i.opcode in _WAITS for i in block.instructions):
            return False
        stepped = {
            i.operands[0].name
            for i in block.instructions
            if i.opcode == "add"
            and len(i.operands) > 2
            and isinstance(i.operands[0], syntax.Register)
            and i.operands[0] == i.operands[1]
            and isinstance(i.operands[2], syntax.Immediate)
        }
        tests = [i for i in block.instructions if i.opcode == "setp"]
        return any(
            isinstance(o, syntax.Register) and o.name in stepped for i in tests for o in i.operands[1:]
        )

    def _switching(self, switching: Switching) -> Switch:
        selector = self._conditions.pop(switching.node)
        region = self.parts.region()
        self._frames.append(switching.frame)
        cases: list[Case] = []
        for labels, tree in switching.cases:
            inside = self.parts.region()
            statements = self._tree(tree)
            cases.append(Case(labels, Block(tuple(statements), inside, self._span_of(statements))))
        self._frames.pop()
        span = self.unit.span(self.blocks[switching.node].instructions[-1])
        return Switch(selector, tuple(cases), region, span)

    def _span_of(self, statements: list[Stmt], otherwise: Span | None = None) -> Span:
        return statements[0].span if statements else otherwise or self.span

    def _last_span(self, statements: list[Stmt]) -> Span:
        return statements[-1].span if statements else self.span

    # ------------------------------------------------------------------ statements

    def emit(self, expr: Expr, span: Span) -> None:
        """A statement of its own."""
        self.statements.append(ExprStmt(expr, self.parts.region(), span))

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
            if is_leaf(value) and registers.never_changes(value):
                registers.stand_for(name, value)
                return
            if registers.may_wait(name) and is_pure(value) and registers.wait(name, value):
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
        for waiting in registers.overwritten_by(variable):
            self._write_out(waiting)
        value = fitted(value, variable.type, span)
        place = RegisterPlace(variable, (), variable.type)
        self.emit(Assign(place, None, value, variable.type, variable.type, span), span)

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
        self.note_shared(variable)
        found: Expr = AddressOf(variable, POINTER, span)
        return PointerOffset(found, None, 1, offset, False, False, POINTER, span) if offset else found

    def note_shared(self, variable: Variable) -> None:
        """Notes a `.shared` variable that the kernel uses."""
        if variable.space is MemorySpace.SHARED:
            self.parts.shared[variable] = None


def parameter_place(instruction: syntax.Instruction) -> ParameterKey | None:
    """The place in parameter space that a load or store names, None when a register is in its address."""
    for operand in instruction.operands:
        if isinstance(operand, syntax.Address) and isinstance(operand.base, syntax.Symbol):
            return operand.base.name, operand.offset + operand.base.offset
    return None


def is_pure(expr: Expr) -> bool:
    """Whether an expression may be computed later: it neither reads memory nor does anything."""
    for node in walk_expressions(expr):
        match node:
            case Constant() | Read() | AddressOf() | Cast() | Unary() | Binary() | PointerOffset():
                pass
            case Intrinsic(semantics=semantics, is_opaque_call=False) if semantics not in (
                Semantics.EFFECT,
                Semantics.BARRIER,
                Semantics.NONE,
            ):
                pass
            case _:
                if type(node).__name__ not in ("Builtin", "Logical", "Select"):
                    return False
    return True


def constant(value: int | float, type_: Type, span: Span) -> Constant:
    """An immediate as `type_`: integers in its range, floating-point numbers from their bits."""
    if type_.is_float:
        number = float_bits(value, type_.bits) if type_.lanes == 1 and type_.bits in (16, 32, 64) else 0.0
        if type_.bfloat:
            number = float_bits((int(value) & 0xFFFF) << 16, 32)
        return Constant(number, type_, span)
    if isinstance(value, float):
        return Constant(value if math.isfinite(value) else _bits(value, type_.bits), type_, span)
    if type_.kind is TypeKind.BOOL:
        return Constant(int(value != 0), type_, span)
    bits = type_.bits or 64
    value &= (1 << bits) - 1
    if type_.signed and type_.kind is TypeKind.INT and value >> (bits - 1):
        value -= 1 << bits
    return Constant(value, type_, span)


def _bits(value: float, bits: int) -> int:
    """An infinity or no number as the bits that an integer register holds of it."""
    wide = bits == 64
    return int.from_bytes(struct.pack(">d" if wide else ">f", value), "big", signed=True)


def as_type(value: Expr, type_: Type, span: Span) -> Expr:
    """The bits of a register read as `type_`: another sign or width, or a number of the other kind."""
    own = value.type
    if own.kind is TypeKind.POINTER or own == type_ or TypeKind.BOOL in (own.kind, type_.kind):
        return value
    if isinstance(value, Constant) and (own.is_float == type_.is_float or isinstance(value.value, int)):
        return constant(value.value, type_, span) if isinstance(value.value, int) else value
    if not is_same_kind(own, type_):
        if type_.kind is TypeKind.POINTER:
            return value
        return Intrinsic("bit_cast", (value,), (), Semantics.OPAQUE, False, type_, span)
    if own.is_float:
        return value
    if own.bits == type_.bits and own.signed == type_.signed:
        return value
    return Cast(value, type_, span)


def fitted(value: Expr, type_: Type, span: Span) -> Expr:
    """A value as a variable of `type_` holds it."""
    if value.type.kind is TypeKind.INT and type_.kind is TypeKind.INT:
        return as_type(value, type_, span)
    return value


def negated(condition: Expr) -> Expr:
    """`!condition`; integers are compared the other way round."""
    if isinstance(condition, Unary) and condition.op is UnaryOp.NOT:
        return condition.operand
    if (
        isinstance(condition, Binary)
        and condition.op in COMPARISONS
        and (not condition.operand_type.is_float or condition.op in (BinaryOp.EQ, BinaryOp.NE))
    ):
        return replace(condition, op=_OPPOSITE[condition.op])
    return Unary(UnaryOp.NOT, condition, BOOL, condition.span)
