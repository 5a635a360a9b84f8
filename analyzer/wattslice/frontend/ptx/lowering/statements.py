"""The structure of a function as statements: basic blocks, branches, loops and switches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend import MOST_NESTED_BLOCKS
from wattslice.frontend.ptx.lowering.blocks import ENDS, BasicBlock, NotUnderstoodError
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.context import TooLargeError
from wattslice.frontend.ptx.lowering.registers import negated
from wattslice.frontend.ptx.lowering.structure import (
    Choice,
    Code,
    Fork,
    Frame,
    IrreducibleError,
    Jump,
    Quit,
    Repeat,
    Structure,
    Switching,
    Tree,
    Wrap,
)
from wattslice.frontend.ptx.operations import type_of
from wattslice.frontend.ptx.syntax import syntax
from wattslice.ir import Assign, Block, Expr, ExprStmt, If, Loop, Read, RegisterPlace, Span, Stmt, Variable
from wattslice.ir.operation_counts import own_operations


class _Statements:
    """Writes the statements of one function."""

    def __init__(self, body: FunctionBody) -> None:
        self.body = body
        self._conditions: dict[int, Expr] = {}
        self._frames: list[Frame] = []

    def block(self) -> Block:
        """The whole function."""
        endings = [block.ending for block in self.body.blocks]
        try:
            structure = Structure(endings, lambda node: self.body.blocks[node].is_bare)
        except IrreducibleError as error:
            entry = self.body.blocks[error.node]
            where = f", one at label '{entry.label}'" if entry.label else ""
            raise NotUnderstoodError(f"a loop with several entries{where}", entry.line) from None
        if structure.loop_depth > MOST_NESTED_BLOCKS:
            raise TooLargeError(f"its loops nest more than {MOST_NESTED_BLOCKS} deep")
        region = self.body.parts.region()
        return Block(tuple(self._tree(structure.tree())), region, self.body.span)

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
                    region = self.body.parts.region()
                    self._frames.append(frame)
                    inner = self._tree(body)
                    self._frames.pop()
                    found.append(Block(tuple(inner), region, self._span_of(inner), is_breakable=True))
                case Switching():
                    found.append(self._switching(part))
                case Jump(frame=frame):
                    levels = len(self._frames) - self._frames.index(frame)
                    found.append(ir.Break(self.body.parts.region(), self._last_span(found), levels))
                case Quit():
                    found.append(ir.Return(None, self.body.parts.region(), self._last_span(found)))
        return found

    def _code(self, node: int) -> list[Stmt]:
        """A basic block, as a block of its own: how often it runs is how often its instructions do."""
        block = self.body.blocks[node]
        if not block.instructions:
            return []
        region = self.body.parts.region()
        outer, self.body.statements = self.body.statements, []
        spans: list[Span] = []
        for instruction in block.instructions:
            is_ending = instruction is block.instructions[-1] and instruction.opcode in ENDS
            span = self.body.unit.span(instruction)
            spans.append(span)
            if instruction.guard is None or is_ending:
                self.body.parts.machine.append(ir.MachineInstruction(instruction.mnemonic, region, span))
                if not is_ending:
                    self.body.lower(instruction)
            else:
                self._guarded(instruction, span)
        if isinstance(block.ending, Fork) and block.guard is not None:
            self._conditions[node] = self._truth(block.guard, spans[-1])
        elif block.selector is not None:
            self._conditions[node] = self.body.value(block.selector, type_of("u32"), spans[-1])
        self.body.flush()
        statements, self.body.statements = self.body.statements, outer
        return [Block(tuple(statements), region, spans[0])]

    def _guarded(self, instruction: syntax.Instruction, span: Span) -> None:
        """`@%p st...`: an `if` around one statement, around several where the guard stays the same."""
        guard = instruction.guard
        assert guard is not None
        condition = self._truth(guard, span)
        self.body.flush()
        region, inside = self.body.parts.region(), self.body.parts.region()
        outer, self.body.statements = self.body.statements, []
        self.body.parts.machine.append(ir.MachineInstruction(instruction.mnemonic, inside, span))
        self.body.lower(replace(instruction, guard=None))
        self.body.flush()
        then = Block(tuple(self.body.statements), inside, span)
        self.body.statements = outer
        self.body.statements.append(If(condition, then, None, region, span))

    def _truth(self, guard: syntax.Guard, span: Span) -> Expr:
        condition = self.body.registers.read(guard.register, "", span)
        return negated(condition) if guard.negated else condition

    def _choice(self, choice: Choice) -> list[Stmt]:
        condition = self._conditions.pop(choice.node, None)
        if condition is None:
            return self._tree(choice.then or choice.otherwise)
        span = condition.span
        last = self.body.blocks[choice.node].instructions[-1]
        span = self.body.unit.span(last)
        region = self.body.parts.region()
        then_region, otherwise_region = self.body.parts.region(), self.body.parts.region()
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
        costs = any(own_operations(node) for node in ir.walk_expressions(condition))
        return [ExprStmt(condition, region, span)] if costs else []

    def _repeat(self, repeat: Repeat) -> Loop:
        region, body_region = self.body.parts.region(), self.body.parts.region()
        test_region, step_region = self.body.parts.region(), self.body.parts.region()
        self._frames.append(repeat.frame)
        statements = self._tree(repeat.body)
        self._frames.pop()
        condition = None if repeat.test is None else self._conditions.pop(repeat.test)
        if condition is not None and not repeat.test_holds:
            condition = negated(condition)
        step: Expr | None = None
        if condition is not None:
            statements, step = steps_apart(statements)
        header = self.body.blocks[repeat.header]
        instructions = header.instructions
        span = self.body.unit.span(instructions[0]) if instructions else self._span_of(statements)
        end = max([span.line, *(s.span.line for s in statements if s.span.file == span.file)])
        return Loop(
            ir.LoopKind.WHILE if condition is None else ir.LoopKind.DO,
            (),
            condition,
            step,
            Block(tuple(statements), body_region, span),
            4 if repeat.test == repeat.header and is_unrolled_by_ptxas(header) else 1,
            region,
            test_region,
            step_region,
            replace(span, end_line=max(end, span.end_line)),
        )

    def _switching(self, switching: Switching) -> ir.Switch:
        selector = self._conditions.pop(switching.node)
        region = self.body.parts.region()
        self._frames.append(switching.frame)
        cases: list[ir.Case] = []
        for labels, tree in switching.cases:
            inside = self.body.parts.region()
            statements = self._tree(tree)
            cases.append(ir.Case(labels, Block(tuple(statements), inside, self._span_of(statements))))
        self._frames.pop()
        span = self.body.unit.span(self.body.blocks[switching.node].instructions[-1])
        return ir.Switch(selector, tuple(cases), region, span)

    def _span_of(self, statements: list[Stmt], otherwise: Span | None = None) -> Span:
        return statements[0].span if statements else otherwise or self.body.span

    def _last_span(self, statements: list[Stmt]) -> Span:
        return statements[-1].span if statements else self.body.span


def block_of(body: FunctionBody) -> Block:
    """The whole function."""
    return _Statements(body).block()


# ---------------------------------------------------------------------------
# The steps of a loop's counters, taken out of its body to where a `for` has them.


def steps_apart(body: list[Stmt]) -> tuple[list[Stmt], Expr | None]:
    """The body without the constant steps of registers that it does not read any more, and these steps.

    Looked at is the last block, which runs in every iteration; the loop's test comes behind the steps.
    """
    last = body[-1] if body else None
    if not isinstance(last, Block) or last.is_breakable:
        return body, None
    kept: list[Stmt] = []
    steps: list[Expr] = []
    used: set[Variable] = set()
    for stmt in reversed(last.statements):
        stepped = _stepped(stmt)
        if stepped is not None and stepped not in used and isinstance(stmt, ExprStmt):
            steps.insert(0, stmt.expr)
        else:
            kept.insert(0, stmt)
        used |= _registers(stmt)
    if not steps:
        return body, None
    step = steps[0]
    for other in steps[1:]:
        step = ir.Binary(ir.BinaryOp.COMMA, step, other, other.type, other.type, other.span)
    return [*body[:-1], replace(last, statements=tuple(kept))], step


def _stepped(stmt: Stmt) -> Variable | None:
    """The integer register that a statement moves by a constant."""
    match stmt:
        case ExprStmt(
            expr=Assign(
                target=RegisterPlace(variable=variable, path=()),
                op=None,
                value=ir.Binary(
                    op=ir.BinaryOp.ADD,
                    left=Read(place=RegisterPlace(variable=read, path=())),
                    right=ir.Constant(),
                ),
            )
        ) if read is variable and variable.type.is_integral:
            return variable
        case _:
            return None


def _registers(stmt: Stmt) -> set[Variable]:
    """The registers that a statement reads or writes."""
    found: set[Variable] = set()
    for expr in ir.expressions_below(stmt):
        if isinstance(expr, Read):
            found.add(expr.place.variable)
        elif isinstance(expr, Assign) and isinstance(expr.target, RegisterPlace):
            found.add(expr.target.variable)
    return found


# ---------------------------------------------------------------------------
# Where a register is a variable of one arm or of a loop's body alone: declared there, as a person would.


def scoped(body: Block) -> Block:
    """The body of a kernel, first assignments made declarations."""
    declared = frozenset(_first_assignments(body))
    return _rewritten(body, declared) if declared else body


def _first_assignments(body: Block) -> Iterator[ExprStmt]:
    """The assignments that come before all else that happens to their register, all of it in one sequence."""
    total = _uses(body)
    waiting: list[tuple[Stmt, ...]] = [body.statements]
    while waiting:
        sequence = list(_flat(waiting.pop()))
        first: dict[Variable, Stmt] = {}
        here: Counter[Variable] = Counter()
        for stmt in sequence:
            used = _uses(stmt)
            here.update(used)
            for variable in used:
                first.setdefault(variable, stmt)
            waiting += _arms(stmt)
        for variable, stmt in first.items():
            if here[variable] == total[variable] and _sets(stmt) is variable:
                assert isinstance(stmt, ExprStmt)
                yield stmt


def _flat(statements: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Statements that run one after the other, those of plain blocks among them."""
    for stmt in statements:
        if isinstance(stmt, Block) and not stmt.is_breakable:
            yield from _flat(stmt.statements)
        else:
            yield stmt


def _arms(stmt: Stmt) -> list[tuple[Stmt, ...]]:
    """The sequences inside a statement."""
    match stmt:
        case If(then=then, otherwise=otherwise):
            return [then.statements] if otherwise is None else [then.statements, otherwise.statements]
        case Loop(body=body):
            return [body.statements]
        case ir.Switch(cases=cases):
            return [case.body.statements for case in cases]
        case Block(statements=statements):
            return [statements]
        case _:
            return []


def _uses(stmt: Stmt) -> Counter[Variable]:
    """How often each register is mentioned in a statement and all that it holds."""
    found: Counter[Variable] = Counter(
        inner.variable for inner in ir.walk_statements(stmt) if isinstance(inner, ir.Declare)
    )
    for expr in ir.expressions_below(stmt):
        match expr:
            case Read(place=RegisterPlace(variable=variable)):
                found[variable] += 1
            case Assign(target=RegisterPlace(variable=variable)):
                found[variable] += 1
            case ir.Increment(target=RegisterPlace(variable=variable)):
                found[variable] += 1
            case ir.InlinedCall(parameters=parameters):
                found.update(parameters)
            case _:
                pass
    return found


def _sets(stmt: Stmt) -> Variable | None:
    """The register that a statement gives a value that does not come from itself."""
    match stmt:
        case ExprStmt(expr=Assign(target=RegisterPlace(variable=variable, path=()), op=None)):
            return variable if _uses(stmt)[variable] == 1 else None
        case _:
            return None


def _rewritten(block: Block, declared: frozenset[Stmt]) -> Block:
    return replace(block, statements=tuple(_with_declarations(stmt, declared) for stmt in block.statements))


def _with_declarations(stmt: Stmt, declared: frozenset[Stmt]) -> Stmt:
    """A statement with the assignments in `declared` as declarations."""
    match stmt:
        case ExprStmt(expr=Assign(target=RegisterPlace(variable=variable), value=value)) if stmt in declared:
            return ir.Declare(variable, value, stmt.region, stmt.span)
        case Block():
            return _rewritten(stmt, declared)
        case If(then=then, otherwise=otherwise):
            other = None if otherwise is None else _rewritten(otherwise, declared)
            return replace(stmt, then=_rewritten(then, declared), otherwise=other)
        case Loop(body=body):
            return replace(stmt, body=_rewritten(body, declared))
        case ir.Switch(cases=cases):
            return replace(stmt, cases=tuple(replace(c, body=_rewritten(c.body, declared)) for c in cases))
        case _:
            return stmt


# ---------------------------------------------------------------------------
# Which loops ptxas unrolls, that nvcc has left as they are.


MOST_UNROLLED = 60
"""Instructions of a loop up to which ptxas unrolls it."""
_WAITS = frozenset({"bar", "barrier", "call", "atom"})


def is_unrolled_by_ptxas(block: BasicBlock) -> bool:
    """Whether ptxas copies a loop of this one block, as nvcc has left it or unrolled, once more: by four.

    Seen in SASS: loops of one block that a constant step counts, and no pragma keeps it from.
    """
    if block.is_unrolled:
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
    return any(isinstance(o, syntax.Register) and o.name in stepped for i in tests for o in i.operands[1:])
