"""Loops: unrolled or not, what their counters cost, what changes from one iteration to the next."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Expr,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    Load,
    Logical,
    Loop,
    LoopKind,
    Read,
    RegisterPlace,
    Stmt,
    Unary,
    Variable,
    walk_expressions,
)
from wattslice.workload.instructions.environment import EnvironmentKey
from wattslice.workload.instructions.expressions import Expressions, Step, Steps
from wattslice.workload.instructions.kinds import InstructionKind
from wattslice.workload.instructions.loop_facts import CodeFacts, kernel_facts
from wattslice.workload.instructions.operators import is_power
from wattslice.workload.instructions.value_graph import Cost, LoopLevel, Shape, Value, varying

FULL_UNROLL_TRIPS = 1024
"""A loop of known, constant trip count is unrolled fully up to this many iterations ..."""
FULL_UNROLL_SIZE = 1500
"""... and this many source operations in all copies (fitted on SASS, docs/instructions.md)."""
PARTIAL_UNROLL = 4.0
"""Copies of the body of an innermost loop without branches, barriers or exits."""
FURTHER_UNROLL = 16.0
"""Copies when pointers can step along and the copies have at most FURTHER_UNROLL_SIZE operations."""
FURTHER_UNROLL_SIZE = 320
PARTIAL_UNROLL_SIZE = 60
"""Source operations in a body above which it is not unrolled."""


_SUMS = (BinaryOp.ADD, BinaryOp.SUB)
_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_SCALINGS = (BinaryOp.MUL, BinaryOp.DIV)


LoopTrips = tuple[tuple[int, float], ...]
"""Loops (their regions) with their mean iterations per entry; those that are never entered are not there."""


def loop_trips(kernel: Kernel, profile: ExecutionProfile) -> LoopTrips:
    """The trip counts that are known, else those that the counts of `profile` come to, to nine digits.

    The latter only as far as lowering asks: no loop is unrolled further for more iterations than its copies,
    and not at all where data decide in its body whether it goes on.
    """
    known = {loop.region: loop.trip_count for loop in profile.loops}
    facts = kernel_facts(kernel)
    found: list[tuple[int, float]] = []
    for loop in facts.loops:
        trips = known.get(loop.region)
        if trips is None and (entries := profile.thread_counts[loop.region]):
            if facts.blocks[loop.body].has_exit and loop.unroll in (None, 1):
                continue
            most = max(FURTHER_UNROLL, loop.unroll or 0)
            trips = min(most, float(f"{profile.thread_counts[loop.body.region] / entries:.9g}"))
        if trips is not None:
            found.append((loop.region, trips))
    return tuple(found)


class Loops(Expressions):
    """Lowers loops."""

    def __init__(self, kernel: Kernel, trips: LoopTrips) -> None:
        super().__init__()
        self.facts = kernel_facts(kernel)
        self.trips = dict(trips)
        self.is_machine_code = bool(kernel.machine_instructions)

    @abstractmethod
    def statement(self, stmt: Stmt) -> Step:
        """Lower a statement; all but loops are the subclass's business."""

    def loop(self, stmt: Loop) -> Steps:
        """Lower a loop: one iteration, told from the others by what it changes."""
        for inner in stmt.init:
            yield self.statement(inner)
        facts = self.facts.loops[stmt]
        steps = _steps(stmt, self.facts.blocks[stmt.body])
        level = self.level(stmt, steps)
        outer_stack = self.stack
        self.stack = (*outer_stack, level)
        self.open_scope()
        heads = [
            (key, self.loop_head(key, initial, level, steps))
            for key, initial in self.changing(facts.written).items()
        ]
        self.clobber(facts.stores, facts.has_barrier, level)
        if stmt.kind is not LoopKind.DO:
            yield self.test(stmt, level)
        yield self.statement(stmt.body)
        before = len(self.created)
        if stmt.step is not None:
            yield self.expression(stmt.step, stmt.step_region)
        if stmt.kind is LoopKind.DO:
            for value in self.created[before:]:  # of PTX: the heads have been charged for these steps
                if value.region == stmt.step_region:
                    value.scale = 0.0
            yield self.test(stmt, level)
        for key, head in heads:
            # Copies of an unrolled body shift the first value by constants, which their uses take in.
            step = None if isinstance(key, tuple) else steps.get(key)
            is_folded = level.is_unrolled and step is not None and not step.is_sum
            if level.copies > 1 and self.halves.get(self.environment[key]) is head and head.bits == 32:
                head.shape, is_folded = Shape.SHIFTED, False
            if head.step is None and head.shape is not Shape.CONSTANT and not is_folded:
                head.inputs.append(self.environment[key])
            self.environment[key] = head
        self.close_scope()
        self.stack = outer_stack
        self.clobber(facts.stores, facts.has_barrier, None)
        return None

    def level(self, stmt: Loop, steps: dict[Variable, _Step]) -> LoopLevel:
        """How the compiler unrolls a loop."""
        body = self.facts.blocks[stmt.body]
        size = body.size
        trips = self.trips.get(stmt.region)
        constant = self.has_constant_trips(stmt, steps)
        simple = not body.has_exit
        full = constant and trips is not None and simple and stmt.unroll != 1
        if stmt.unroll is None:
            full = (
                full and trips is not None and trips <= FULL_UNROLL_TRIPS and trips * size <= FULL_UNROLL_SIZE
            )
        elif stmt.unroll > 1:
            full = full and trips is not None and trips <= stmt.unroll
        # what is unsigned may wrap, which keeps the compiler from stepping pointers along with a counter
        strides = not (body.has_barrier or body.has_unsigned_index)
        strides = strides and all(variable.type.signed for variable in steps)
        unroll = 1.0
        if stmt.unroll is not None and stmt.unroll > 1:
            unroll = float(stmt.unroll)
        elif stmt.unroll is None and simple and size <= PARTIAL_UNROLL_SIZE and _unrolls(body, steps):
            unroll = PARTIAL_UNROLL
            only_scaled = body.scaled_in_index - body.plain_in_index
            steps_sums = constant or only_scaled.isdisjoint(steps)
            if strides and steps_sums and FURTHER_UNROLL * size <= FURTHER_UNROLL_SIZE:
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
            body.single_stores,
            trips,
        )

    def has_constant_trips(self, stmt: Loop, steps: dict[Variable, _Step]) -> bool:
        """Does the compiler know how often the loop runs: constant start, step and bound?"""
        if stmt.condition is None or not steps:
            return False
        for expr in walk_expressions(stmt.condition):
            match expr:
                case Read(place=place):
                    value = self.environment.get(place.variable)
                    if value is None or value.shape is not Shape.CONSTANT:
                        return False
                    if place.variable not in steps and place.variable in self.facts.loops[stmt].written:
                        return False
                case Constant() | Binary() | Logical():
                    pass
                case _ if not expr_is_transparent(expr):
                    return False
                case _:
                    pass
        return all(isinstance(step.amount, Constant) for step in steps.values())

    def loop_head(
        self, key: EnvironmentKey, initial: Value, level: LoopLevel, steps: dict[Variable, _Step]
    ) -> Value:
        """The value of a variable or a part of one at the start of an iteration."""
        step = None if isinstance(key, tuple) else steps.get(key)
        increment = self.constant_or_read(step.amount) if step is not None and step.is_sum else None
        is_counted = level.is_unrolled and step is not None and initial.shape is Shape.CONSTANT
        if is_counted and level.trips == 1.0 and initial.number is not None:
            head = initial  # the only iteration starts and ends with it
        elif is_counted:
            loops = varying((initial,)) | {level}
            head = Value(
                Shape.CONSTANT, level, level.body_region, is_uniform=True, bits=initial.bits, varies=loops
            )
            head.step = increment
            if step is not None and step.keeps_powers and self.is_power(initial):
                self.powers.add(head)
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
            if increment is not None:
                head.step = increment
                head.cost = ((InstructionKind.IADD, 1.0 / level.unroll),)
        self.environment[key] = head
        return head

    def constant_or_read(self, step: Expr) -> Value | None:
        """The value of a step that is a constant or a variable."""
        match step:
            case Constant():
                return self.constant(step.value, step.type)
            case Read(place=place):
                return self.environment.get(place.variable)
            case _:
                return None

    def test(self, stmt: Loop, level: LoopLevel) -> Steps:
        """The test and branch of each round, and those at the entry."""
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
        # is there an iteration at all (the first of the tests above); with unrolling also: how many are left
        # over, is there a full round
        guard: Cost = ((InstructionKind.BRANCH, 1.0),)
        if level.unroll > 1 and not level.has_constant_trips:
            more = ((InstructionKind.IADD, 1.0), (InstructionKind.LOP, 1.0))
            guard = ((InstructionKind.ISETP, 3.0), (InstructionKind.BRANCH, 3.0), *more)
        self.root(level.entry_region, guard, ())
        return None


def expr_is_transparent(expr: Expr) -> bool:
    """Casts and the like, which change no constant's being one."""
    return not isinstance(expr, Load | InlinedCall | Intrinsic | Assign | Increment)


@dataclass(frozen=True, slots=True)
class _Step:
    """What a loop's step does to a variable: ``i += amount``, ``s >>= amount``."""

    amount: Expr
    op: BinaryOp

    @property
    def is_sum(self) -> bool:
        """Whether it adds."""
        return self.op in _SUMS

    @property
    def keeps_powers(self) -> bool:
        """Whether it makes a power of two of one."""
        factor = self.amount.value if isinstance(self.amount, Constant) else None
        return self.op in _SHIFTS or (self.op in _SCALINGS and factor is not None and is_power(factor))


def _steps(loop: Loop, body: CodeFacts) -> dict[Variable, _Step]:
    """Variables that change only in the loop's step, by a compound assignment, and how."""
    if loop.step is None:
        return {}
    found: dict[Variable, _Step] = {}
    for expr in walk_expressions(loop.step):
        op: BinaryOp | None = BinaryOp.ADD
        match expr:
            case Increment(
                target=RegisterPlace(variable=variable, path=()), delta=delta, type=type_, span=span
            ):
                step: Expr | None = Constant(delta, type_, span)
            case Assign(target=RegisterPlace(variable=variable, path=()), op=op, value=value) if (
                op is not None
            ):
                step = value
            case Assign(target=RegisterPlace(variable=variable, path=()), value=Binary() as value):
                step, op = _step_of(variable, value), value.op
            case _:
                continue
        while isinstance(step, Cast | Unary):
            step = step.operand
        if step is not None and variable not in body.assigned:
            found[variable] = _Step(step, op)
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


def _unrolls(body: CodeFacts, steps: dict[Variable, _Step]) -> bool:
    """Innermost, counted by constant steps, and with no more than short arms inside."""
    counted = bool(steps) and all(
        isinstance(step.amount, Constant) and step.is_sum for step in steps.values()
    )
    return counted and not body.has_nested and not body.has_long_arm
