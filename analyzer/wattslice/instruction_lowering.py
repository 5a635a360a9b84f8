"""From the IR to the value graph: statements, control flow and memory (expressions: `instruction_values.py`).

Everything is a generator driven by `_drive`, so that nesting as deep as generated code has it needs no
recursion. A generator yields another generator to run it and gets its result back.
"""

from __future__ import annotations

from wattslice.evaluations import expression_regions
from wattslice.execution import ExecutionProfile
from wattslice.instruction_kinds import InstructionKind
from wattslice.instruction_values import EnvironmentKey, Expressions, Steps
from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Block,
    Break,
    Cast,
    Constant,
    Continue,
    Declare,
    Expr,
    ExprStmt,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    Load,
    Logical,
    Loop,
    LoopKind,
    MemoryPlace,
    MemorySpace,
    Read,
    RegisterPlace,
    Return,
    Semantics,
    Stmt,
    Switch,
    Unary,
    Variable,
    nested_statements,
    statement_expressions,
    walk_expressions,
)
from wattslice.region_operations import own_operations
from wattslice.value_graph import Charge, LoopLevel, Shape, Value, charges

FULL_UNROLL_TRIPS = 1024
"""A loop of known, constant trip count is unrolled fully up to this many iterations ..."""
FULL_UNROLL_SIZE = 1500
"""... and this many source operations in all copies (fitted on SASS, docs/instructions.md)."""
PARTIAL_UNROLL = 4.0
"""Copies of the body of an innermost loop without branches, barriers or exits."""
FURTHER_UNROLL = 16.0
"""Copies when all strides are constants and the copies have at most FURTHER_UNROLL_SIZE operations."""
FURTHER_UNROLL_SIZE = 320
PARTIAL_UNROLL_SIZE = 60
"""Source operations in a body above which it is not unrolled."""
PREDICATED_SIZE = 12
"""Source operations in an arm up to which it is predicated instead of branched around."""


def lower(kernel: Kernel, profile: ExecutionProfile) -> list[Charge]:
    """The instructions of `kernel` by kind and region."""
    lowering = _Lowering(kernel, profile)
    _drive(lowering.kernel_body())
    return charges(lowering.roots)


def _drive(first: Steps) -> None:
    stack: list[Steps] = [first]
    result: Value | None = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as stop:
            stack.pop()
            result = stop.value


class _Lowering(Expressions):
    """Lowers statements; `returns` collects what a call being inlined may yield."""

    def __init__(self, kernel: Kernel, profile: ExecutionProfile) -> None:
        super().__init__()
        self.kernel = kernel
        self.profile = profile
        self.last = kernel.body.statements[-1] if kernel.body.statements else None
        self.trips = {loop.region: loop.trip_count for loop in profile.loops}

    def kernel_body(self) -> Steps:
        region = self.kernel.body.region
        # stack pointer, memory descriptor and EXIT: in every kernel measured
        self.root(region, ((InstructionKind.MOV, 2.0), (InstructionKind.BRANCH, 1.0)), ())
        yield self.statement(self.kernel.body)
        return None

    def statement(self, stmt: Stmt) -> Steps:
        match stmt:
            case Block(statements=statements):
                for inner in statements:
                    yield self.statement(inner)
            case ExprStmt(expr=expr):
                yield self.expression(expr, stmt.region)
            case Declare(variable=variable, value=value) if value is not None:
                self.write(variable, (), (yield self.expression(value, stmt.region)))
            case If():
                yield self.branch(stmt)
            case Switch():
                yield self.switch(stmt)
            case Loop():
                yield self.loop(stmt)
            case Return(value=value) if value is not None:
                returned = yield self.expression(value, stmt.region)
                if self.returns:
                    self.returns[-1].append(returned)
            case _:
                pass
        return None

    # ------------------------------------------------------------------ branches

    def branch(self, stmt: If) -> Steps:
        condition = yield self.expression(stmt.condition, stmt.region)
        if condition.shape is Shape.CONSTANT and condition.number is None:
            cost = ()  # decided in each copy of an unrolled loop
        elif stmt.otherwise is None and (_leaves(stmt.then) or stmt is self.last):
            cost = ()  # a predicated EXIT: every thread executes one EXIT, here or at the end
            if not isinstance(stmt.then.statements[-1] if stmt.then.statements else None, Return) and (
                stmt is not self.last
            ):
                cost = ((InstructionKind.BRANCH, 1.0),)  # break, continue
        elif all(_is_short(arm) for arm in (stmt.then, stmt.otherwise) if arm is not None):
            cost = ()
        else:
            synchronises = 0.0 if condition.is_uniform else 2.0
            cost = ((InstructionKind.BRANCH, 1.0 + synchronises),)
            if stmt.otherwise is not None:
                self.root(stmt.then.region, ((InstructionKind.BRANCH, 1.0),), ())
        self.root(stmt.region, cost, (condition,))
        yield self.arms((stmt.then, *((stmt.otherwise,) if stmt.otherwise else ())), stmt.region)
        return None

    def switch(self, stmt: Switch) -> Steps:
        selector = yield self.expression(stmt.selector, stmt.region)
        tests = float(max(1, len(stmt.cases) - 1))
        cost = ((InstructionKind.ISETP, tests), (InstructionKind.BRANCH, tests))
        self.root(stmt.region, cost, (selector,))
        yield self.arms(tuple(case.body for case in stmt.cases), stmt.region)
        return None

    def arms(self, blocks: tuple[Block, ...], region: int) -> Steps:
        ends: list[dict[EnvironmentKey, Value]] = []
        for block in blocks:
            self.enter_arm()
            yield self.statement(block)
            ends.append(self.leave_arm())
        self.merge(ends, region)
        return None

    # ------------------------------------------------------------------ loops

    def loop(self, stmt: Loop) -> Steps:
        for inner in stmt.init:
            yield self.statement(inner)
        written, spaces, has_barrier = _effects(stmt)
        steps = _steps(stmt)
        level = self.level(stmt, steps)
        outer_stack = self.stack
        self.stack = (*outer_stack, level)
        self.scopes.append({})
        heads: list[tuple[Variable, Value]] = []
        for variable in written:
            if (initial := self.environment.get(variable)) is None:
                continue
            heads.append((variable, self.loop_head(variable, initial, level, steps)))
        self.clobber(spaces, has_barrier, level)
        if stmt.kind is not LoopKind.DO:
            yield self.test(stmt, level)
        yield self.statement(stmt.body)
        if stmt.step is not None:
            yield self.expression(stmt.step, stmt.step_region)
        if stmt.kind is LoopKind.DO:
            yield self.test(stmt, level)
        for variable, head in heads:
            if head.step is None and head.shape is not Shape.CONSTANT:
                head.inputs.append(self.environment[variable])
            self.environment[variable] = head
        self.scopes.pop()
        self.stack = outer_stack
        self.clobber(spaces, has_barrier, None)
        return None

    def level(self, stmt: Loop, steps: dict[Variable, Expr]) -> LoopLevel:
        size = _size(stmt)
        trips = self.trips.get(stmt.region)
        if trips is None and (entries := self.profile.thread_counts[stmt.region]):
            trips = self.profile.thread_counts[stmt.body.region] / entries
        constant = self.has_constant_trips(stmt, steps)
        simple = not _has_exits(stmt)
        full = constant and trips is not None and simple and stmt.unroll != 1
        if stmt.unroll is None:
            full = (
                full and trips is not None and trips <= FULL_UNROLL_TRIPS and trips * size <= FULL_UNROLL_SIZE
            )
        elif stmt.unroll > 1:
            full = full and trips is not None and trips <= stmt.unroll
        # an unsigned counter may wrap, which keeps the compiler from stepping pointers along with it
        strides = _has_constant_strides(stmt) and all(variable.type.signed for variable in steps)
        unroll = 1.0
        if stmt.unroll is not None and stmt.unroll > 1:
            unroll = float(stmt.unroll)
        elif stmt.unroll is None and simple and size <= PARTIAL_UNROLL_SIZE and _unrolls(stmt, steps):
            unroll = PARTIAL_UNROLL
            if strides and FURTHER_UNROLL * size <= FURTHER_UNROLL_SIZE:
                unroll = FURTHER_UNROLL
        if trips is not None and not full:
            unroll = max(1.0, min(unroll, trips))
        parent = self.stack[-1] if self.stack else None
        return LoopLevel(
            parent,
            stmt.region,
            stmt.body.region,
            unroll,
            full,
            len(self.scopes),
            self.arm_depth,
            len(self.stack) + 1,
            constant,
            strides,
            _single_stores(stmt),
        )

    def has_constant_trips(self, stmt: Loop, steps: dict[Variable, Expr]) -> bool:
        """Does the compiler know how often the loop runs: constant start, step and bound?"""
        if stmt.condition is None or not steps:
            return False
        for expr in walk_expressions(stmt.condition):
            match expr:
                case Read(place=place):
                    value = self.environment.get(place.variable)
                    if value is None or value.shape is not Shape.CONSTANT:
                        return False
                    if place.variable not in steps and place.variable in _effects(stmt)[0]:
                        return False
                case Constant() | Binary() | Logical():
                    pass
                case _ if not expr_is_transparent(expr):
                    return False
                case _:
                    pass
        return all(isinstance(step, Constant) for step in steps.values())

    def loop_head(
        self, variable: Variable, initial: Value, level: LoopLevel, steps: dict[Variable, Expr]
    ) -> Value:
        """The value of `variable` at the start of an iteration."""
        step = steps.get(variable)
        if level.is_unrolled and step is not None:
            head = Value(Shape.CONSTANT, level, level.body_region, is_uniform=True, bits=initial.bits)
        else:
            head = Value(
                Shape.PLAIN,
                level,
                level.body_region,
                inputs=[initial],
                bits=initial.bits,
                is_uniform=initial.is_uniform,
                is_pointer=initial.is_pointer,
                stack=self.stack,
            )
            increment = self.constant_or_read(step)
            if increment is not None:
                head.step = increment
                head.cost = ((InstructionKind.IADD, 1.0 / level.unroll),)
        self.environment[variable] = head
        return head

    def constant_or_read(self, step: Expr | None) -> Value | None:
        match step:
            case Constant():
                return self.constant(step.value, step.type)
            case Read(place=place):
                return self.environment.get(place.variable)
            case _:
                return None

    def test(self, stmt: Loop, level: LoopLevel) -> Steps:
        if stmt.condition is None or level.is_unrolled:
            if stmt.condition is None:
                self.root(level.body_region, ((InstructionKind.BRANCH, 1.0),), ())
            return None
        before = len(self.created)
        condition = yield self.expression(stmt.condition, stmt.test_region)
        for value in self.created[before:]:
            if value.region == stmt.test_region:
                value.scale = 1.0 / level.unroll
        cost = ((InstructionKind.BRANCH, 1.0 / level.unroll),)
        self.root(level.body_region, cost, (condition,))
        # is there an iteration at all; with unrolling also: how many are left over, is there a full round
        guard = ((InstructionKind.ISETP, 1.0), (InstructionKind.BRANCH, 1.0))
        if level.unroll > 1 and not level.has_constant_trips:
            more = ((InstructionKind.IADD, 1.0), (InstructionKind.LOP, 1.0))
            guard = ((InstructionKind.ISETP, 3.0), (InstructionKind.BRANCH, 3.0), *more)
        self.root(level.entry_region, guard, ())
        return None

    # ------------------------------------------------------------------ calls

    def call(self, expr: InlinedCall, region: int) -> Steps:
        for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
            self.write(parameter, (), (yield self.expression(argument, region)))
        self.returns.append([])
        yield self.statement(expr.body)
        returned = self.returns.pop()
        if len(returned) == 1:
            return returned[0]
        return self.joined(returned, region)


def expr_is_transparent(expr: Expr) -> bool:
    """Casts and the like, which change no constant's being one."""
    return not isinstance(expr, Load | InlinedCall | Intrinsic | Assign | Increment)


def _effects(loop: Loop) -> tuple[tuple[Variable, ...], frozenset[MemorySpace], bool]:
    """The register variables a loop writes, the memory spaces it stores to, and whether it has a barrier."""
    variables: dict[Variable, None] = {}
    spaces: set[MemorySpace] = set()
    has_barrier = False
    stack: list[Stmt] = [loop.body]
    expressions = [expr for expr, _ in expression_regions(loop)]
    while stack or expressions:
        if not expressions:
            stmt = stack.pop()
            if isinstance(stmt, Declare) and stmt.value is not None:
                variables[stmt.variable] = None
            expressions.extend(statement_expressions(stmt))
            stack.extend(nested_statements(stmt))
            continue
        for expr in walk_expressions(expressions.pop()):
            match expr:
                case Assign(target=target) | Increment(target=target):
                    if isinstance(target, RegisterPlace):
                        variables[target.variable] = None
                    else:
                        spaces.add(target.space)
                        if target.space is MemorySpace.LOCAL and target.root is not None:
                            variables[target.root] = None
                case InlinedCall(parameters=parameters, body=body):
                    variables.update(dict.fromkeys(parameters))
                    stack.append(body)
                case Intrinsic(semantics=Semantics.BARRIER):
                    has_barrier = True
                case _:
                    pass
    return tuple(variables), frozenset(spaces), has_barrier


def _has_constant_strides(loop: Loop) -> bool:
    """No integer product of two things the compiler does not know, and no barrier."""
    for stmt in _all_statements(loop.body):
        for top in statement_expressions(stmt):
            for expr in walk_expressions(top):
                if isinstance(expr, Intrinsic) and expr.semantics is Semantics.BARRIER:
                    return False
                if not isinstance(expr, Binary) or expr.op is not BinaryOp.MUL or expr.type.is_float:
                    continue
                if not isinstance(expr.left, Constant) and not isinstance(expr.right, Constant):
                    return False
    return True


def _single_stores(loop: Loop) -> frozenset[MemorySpace]:
    """Spaces that one statement of the loop stores to, and no barrier lets others write."""
    found: dict[MemorySpace, int] = {}
    for stmt in _all_statements(loop.body):
        for top in statement_expressions(stmt):
            for expr in walk_expressions(top):
                match expr:
                    case Assign(target=MemoryPlace(space=space)) | Increment(target=MemoryPlace(space=space)):
                        found[space] = found.get(space, 0) + 1
                    case Intrinsic(semantics=Semantics.BARRIER):
                        return frozenset()
                    case _:
                        pass
    return frozenset(space for space, number in found.items() if number == 1)


def _steps(loop: Loop) -> dict[Variable, Expr]:
    """Variables that change only in the loop's step, by a compound assignment, and by what they change."""
    if loop.step is None:
        return {}
    inside: dict[Variable, int] = {}
    for stmt in _all_statements(loop.body):
        for top in statement_expressions(stmt):
            for expr in walk_expressions(top):
                if isinstance(expr, Assign | Increment) and isinstance(expr.target, RegisterPlace):
                    inside[expr.target.variable] = 1
    found: dict[Variable, Expr] = {}
    for expr in walk_expressions(loop.step):
        match expr:
            case Increment(target=RegisterPlace(variable=variable), delta=delta, type=type_, span=span):
                step: Expr | None = Constant(delta, type_, span)
            case Assign(target=RegisterPlace(variable=variable), op=op, value=value) if op is not None:
                step = value
            case Assign(target=RegisterPlace(variable=variable), value=Binary() as value):
                step = _step_of(variable, value)
            case _:
                continue
        while isinstance(step, Cast | Unary):
            step = step.operand
        if step is not None and variable not in inside:
            found[variable] = step
    return found


def _step_of(variable: Variable, value: Binary) -> Expr | None:
    """`i = i + s`: s."""
    if value.op is BinaryOp.COMMA:
        return None
    match value.left, value.right:
        case Read(place=place), step if place.variable is variable:
            return step
        case step, Read(place=place) if place.variable is variable:
            return step
        case _:
            return None


def _all_statements(stmt: Stmt) -> list[Stmt]:
    """`stmt` and all below, inlined bodies included."""
    found: list[Stmt] = []
    stack = [stmt]
    while stack:
        here = stack.pop()
        found.append(here)
        stack.extend(nested_statements(here))
        for top in statement_expressions(here):
            stack.extend(e.body for e in walk_expressions(top) if isinstance(e, InlinedCall))
    return found


def _size(loop: Loop) -> float:
    """Source operations in one iteration; a nested loop counts as one iteration of it."""
    total = 0.0
    for stmt in _all_statements(loop.body):
        for top in statement_expressions(stmt):
            total += sum(number for e in walk_expressions(top) for _, number in own_operations(e))
    return total


def _unrolls(loop: Loop, steps: dict[Variable, Expr]) -> bool:
    """Innermost, counted by constant steps, and with no more than short arms inside."""
    statements = _all_statements(loop.body)
    if not steps or not all(isinstance(step, Constant) for step in steps.values()):
        return False
    return not any(
        isinstance(stmt, Loop | Switch) or (isinstance(stmt, If) and not _is_short(stmt.then))
        for stmt in statements
    )


def _has_exits(loop: Loop) -> bool:
    """Can the loop be left before its test says so (break, return), or does it skip (continue)?"""
    return any(isinstance(stmt, Break | Continue) for stmt in _all_statements(loop.body))


def _leaves(block: Block) -> bool:
    last = block.statements[-1] if block.statements else None
    return isinstance(last, Return | Break | Continue) and len(block.statements) == 1


def _is_short(block: Block) -> bool:
    """Short enough to be predicated: few operations, no loop, no barrier."""
    statements = _all_statements(block)
    if any(isinstance(stmt, Loop | Switch | Break | Continue | Return) for stmt in statements):
        return False
    size = 0.0
    for stmt in statements:
        for top in statement_expressions(stmt):
            for expr in walk_expressions(top):
                if isinstance(expr, Intrinsic):
                    return False
                size += sum(number for _, number in own_operations(expr))
    return size <= PREDICATED_SIZE
