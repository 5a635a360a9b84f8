"""Statements, branches and inlined calls; charges times what the execution profile says their regions run."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import (
    BOOL,
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
    InlinedCall,
    Intrinsic,
    Kernel,
    Load,
    Logical,
    LogicalOp,
    Loop,
    MemoryPlace,
    MemorySpace,
    Read,
    Return,
    Span,
    Stmt,
    Switch,
    TypeKind,
    Unary,
    UnaryOp,
    Variable,
    children,
    statement_expressions,
    strip_casts,
    walk_expressions,
    walk_statements,
)
from wattslice.ir.loops import written_below
from wattslice.ir.objects import objects, part_of
from wattslice.workload.instructions.chains import NO_CHAIN, Chain, Chains
from wattslice.workload.instructions.charging import Charge, Pass, Request, charges
from wattslice.workload.instructions.code_facts import Trait
from wattslice.workload.instructions.constants import with_constants
from wattslice.workload.instructions.counters import expr_is_transparent
from wattslice.workload.instructions.expressions import ONE_THREAD, At, Step, Steps, drive
from wattslice.workload.instructions.guards import guards_apart
from wattslice.workload.instructions.kinds import Cost, InstructionCount, InstructionKind, Isa
from wattslice.workload.instructions.loops import Loops, TripCounts, loop_trips
from wattslice.workload.instructions.memory import Predicated
from wattslice.workload.instructions.operators import counted_up, is_minimum, is_there, is_updated
from wattslice.workload.instructions.states import may_skip
from wattslice.workload.instructions.value_graph import (
    AT_START,
    Chosen,
    EnvironmentKey,
    LoopLevel,
    Shape,
    Value,
)


class Lowered(Struct, frozen=True, dict=True):
    """The instructions of a kernel by kind and region.

    `issued_only`: what warps issue although no thread counts it. `issuers`: for a region that is predicated,
    not branched around, the region whose every run issues it. `values`: those that instructions compute, for
    `roots`, which happen whether or not anybody uses a value. `written`: the instructions, each with the text
    that asked for it; the other lists are merged by kind and region. `indexed`: arrays of the thread that
    have to lie in local memory. `cuts`: births at which straight code ends. `pointers`, `three_registers`: as
    in `Charges`. `once`: regions beyond those of the kernel, as in `Environment`.
    """

    instructions: list[Charge]
    requests: list[Request]
    issued_only: list[Charge]
    issuers: dict[int, int]
    values: list[Value]
    roots: list[Value]
    written: list[Charge]
    pointers: dict[Value, LoopLevel]
    indexed: frozenset[Variable]
    cuts: list[int]
    three_registers: list[tuple[int, float]]
    once: list[tuple[int, int]]

    def counts(self, profile: ExecutionProfile) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """How often threads and warps run each region, with those `once`."""
        threads, warps = profile.thread_counts, profile.warp_counts
        for arm, entry in self.once:
            threads += (min(threads[arm], threads[entry]),)
            warps += (min(warps[self.issuers.get(arm, arm)], warps[entry]),)
        return threads, warps

    @cached_property
    def chains(self) -> Chains:
        """The instructions that wait for one another."""
        return Chains(self.values, self.roots)


@lru_cache(maxsize=16)
def lower(kernel: Kernel, trips: TripCounts, isa: Isa) -> Lowered:
    """The instructions of `kernel` by kind and region, and its accesses to memory.

    Kept for the last few kernels: counts that differ in probabilities alone are asked for one after another.
    """
    lowering = Lowering(with_constants(kernel), trips)
    lowering.adds_up_warps = isa in (Isa.F2FP, Isa.I2FP, Isa.LDC)
    lowering.waits_for_shared_atomics = isa is not Isa.LDC
    drive(lowering, lowering.kernel_body())
    found = charges(lowering.roots, isa)
    return Lowered(
        _merged(found.instructions),
        found.requests,
        _merged(lowering.issued_only),
        lowering.issuers,
        found.needed,
        lowering.roots,
        found.instructions,
        found.pointers,
        frozenset(lowering.indexed),
        lowering.cuts,
        found.three_registers,
        lowering.once,
    )


def _merged(found: list[Charge]) -> list[Charge]:
    """The same charges, those of one kind and region as one."""
    numbers: dict[tuple[InstructionKind, int], float] = {}
    for one in found:
        key = one.kind, one.region
        numbers[key] = numbers.get(key, 0.0) + one.number
    return [Charge(kind, region, number) for (kind, region), number in numbers.items()]


class _Call(Struct, frozen=True):
    """A function being inlined: what decides how far it runs, what it may return, loops around the call.

    `chosen`: of what it may return, all but what each copy of an unrolled loop knows to return.
    """

    guard: Value
    returned: list[Value]
    depth: int
    chosen: list[Value]


class Lowering(Loops):
    """Lowers statements."""

    def __init__(self, kernel: Kernel, trips: TripCounts) -> None:
        super().__init__(kernel, trips)
        self.kernel = kernel
        self.region_count = kernel.region_count
        if not self.is_machine_code:
            self.unread = objects(kernel).unread
        self.last = kernel.body.statements[-1] if kernel.body.statements else None
        self.apart = frozenset[If]() if self.is_machine_code else guards_apart(kernel.body)
        self.calls: list[_Call] = []
        self.issuer: int | None = None  # of the outermost predicated arm being lowered
        self.issuers: dict[int, int] = {}
        self.issued_only: list[Charge] = []

    def kernel_body(self) -> Steps:
        """Lower all of the kernel."""
        region = self.kernel.body.region
        # stack pointer, memory descriptor and EXIT: in every kernel measured
        self.root(region, ((InstructionKind.MOV, 2.0), (InstructionKind.BRANCH, 1.0)), ())
        for parameter in self.kernel.parameters:
            # so that a loop that is the first to name one may change it
            value = self.whole(parameter)
            self.parameters[value], value.is_given = parameter, True
        yield self.statement(self.kernel.body)
        self.access_indexed()
        self.join_rows()
        self.pair_halves()
        self.drop_dead_decisions()
        return None

    def statement(self, stmt: Stmt) -> Step:
        """Lower one statement."""
        if self.issuer is not None:
            self.issuers[stmt.region] = self.issuer
        lowering = _LOWERINGS.get(type(stmt))
        return None if lowering is None else At(stmt.span, lowering(self, stmt))

    def block(self, stmt: Block) -> Steps:
        """Lower statements in order; behind a breakable block those meet who left it."""
        if not stmt.is_breakable or self.is_machine_code:
            for inner in stmt.statements:
                yield self.statement(inner)
            return None
        outer, self.guard = self.guard, (guard := self.scope())
        self.breakable.append(guard)
        self.met[guard] = len(self.undo), (ends := list[dict[EnvironmentKey, Value]]())
        self.enter_arm()
        for inner in stmt.statements:
            yield self.statement(inner)
        ends.append(self.leave_arm())
        self.breakable.pop()
        self.guard = outer
        self.merge(ends, stmt.region, guard)
        return None

    def evaluate(self, stmt: ExprStmt) -> Steps:
        """Lower an expression for its effects."""
        if isinstance(stmt.expr, Intrinsic) and stmt.expr.name == "assert":
            return self.assertion(stmt, stmt.expr)
        return self.alone(stmt.expr, stmt.region)

    def alone(self, expr: Expr, region: int) -> Steps:
        """Lower one expression."""
        yield self.expression(expr, region)
        return None

    def assertion(self, stmt: ExprStmt, call: Intrinsic) -> Steps:
        """`assert(c)`: a branch around a call that never runs; at the end of the kernel the EXIT itself."""
        (condition,) = yield from self.all_of(call.arguments, stmt.region)
        number = 1.0 if condition.is_uniform else 3.0
        cost = () if stmt is self.last else ((InstructionKind.BRANCH, number),)
        self.root(stmt.region, cost, (condition,))
        return None

    def declare(self, stmt: Declare) -> Steps:
        """Lower a declaration."""
        if stmt.value is not None:
            value = yield self.expression(stmt.value, stmt.region)
            self.write(stmt.variable, (), value)
            if self.is_machine_code and stmt.variable.type.kind is TypeKind.POINTER:
                # PTX has this address in a register, wherever it is used
                self.address_value(value, stmt.region, narrow=False)
                self.address_value(value, stmt.region, narrow=True)
        return None

    def leave(self, stmt: Return) -> Steps:
        """Lower a return, out of the kernel or of what is inlined."""
        if stmt.value is not None:
            returned = yield self.expression(stmt.value, stmt.region)
            if self.calls:
                self.calls[-1].returned.append(returned)
                if self.arm_depth not in self.decided:
                    self.calls[-1].chosen.append(returned)
        depth = self.calls[-1].depth if self.calls else 0
        for level in self.stack[depth:]:
            level.is_left = True
        for left in (*self.breakable, *(call.guard for call in self.calls[-1:])):
            left.guards += (self.guard,)
        if self.calls:
            self.snapshot(self.calls[-1].guard)
        else:
            self.exits.append(self.guard)
        return None

    def jump(self, stmt: Break | Continue) -> None:
        """What runs of the loop or switch that control leaves is decided here."""
        ends = self.breakable[-stmt.levels :] if isinstance(stmt, Break) else [self.stack[-1].guard]
        for left in ends:
            left.guards += (self.guard,)
        for level in self.stack[-1:]:
            level.is_left = True
        if self.is_machine_code:
            self.exits.append(self.guard)  # it may leave a block, whatever is behind it depends on that
        else:
            self.snapshot(ends[0] if isinstance(stmt, Break) else self.stack[-1])

    def branch(self, stmt: If) -> Steps:
        """Lower an `if`, predicated when it is short; `if (a) if (b)` is `if (a && b)`."""
        is_last, is_apart = stmt is self.last, stmt in self.apart
        while stmt.otherwise is None and (inner := _guard_inside(stmt.then)) is not None:
            whole = Logical(LogicalOp.AND, stmt.condition, inner.condition, inner.region, BOOL, inner.span)
            stmt = replace(stmt, condition=whole, then=inner.then)
        condition = yield self.expression(stmt.condition, stmt.region)
        is_predicated, guard = False, self.scope()
        is_decided = condition.shape is Shape.CONSTANT
        if is_decided:
            cost = ()  # at once, or in each copy of an unrolled loop
        elif stmt.otherwise is None and (_is_single_jump(stmt.then) or is_last):
            cost = ()  # a predicated EXIT: every thread executes one EXIT, here or at the end
            if not isinstance(stmt.then.statements[-1] if stmt.then.statements else None, Return) and (
                not is_last
            ):
                cost = ((InstructionKind.BRANCH, 1.0),)  # break, continue
            elif not self.calls:  # not in a function that was inlined
                # Every warp issues this EXIT; those that go on, the one behind what it guards, too.
                again = stmt.then.region if is_last else stmt.region
                self.issued_only.append(Charge(InstructionKind.BRANCH, again, 1.0))
        elif all(
            self.facts.blocks[arm].is_short_without(partial(self.known_size, arm))
            for arm in (stmt.then, stmt.otherwise)
            if arm is not None
        ) and not (is_apart or self.is_passed_by(stmt)):
            cost, is_predicated = (), True
        else:
            leaves = stmt.otherwise is None and isinstance(stmt.then.statements[-1], Return | Break)
            meets = stmt.otherwise is None and self.facts.blocks[stmt.then].needs_no_sync
            meets = meets and any(not level.is_unrolled for level in self.stack)
            # who leaves does not come back
            synchronises = 0.0 if condition.is_uniform or leaves or meets else 2.0
            share = self.known.shares.get(condition, 1.0)
            cost = ((InstructionKind.BRANCH, share * (1.0 + synchronises)),)
            if stmt.otherwise is not None:
                self.decide(guard, stmt.then.region, ((InstructionKind.BRANCH, share),), ())
        self.decide(guard, stmt.region, cost, (condition,))
        outer, around = self.issuer, self.predicated
        if is_predicated and outer is None:
            self.issuer = stmt.region
        began = Value(Shape.PLAIN, AT_START).birth
        blocks = (stmt.then, *((stmt.otherwise,) if stmt.otherwise else ()))
        arms = [self.facts.blocks[arm] for arm in blocks]
        is_pure = not any(arm.stores or Trait.LOADS in arm.has for arm in arms)
        turned = _is_turned(stmt.condition)
        self.predicated = Predicated(began, stmt.region, is_pure, turned) if is_predicated else None
        if cost:
            self.cut()
        passed = self.arms_passed
        yield self.arms(
            blocks, stmt.region, guard, cuts=bool(cost), is_decided=is_decided, condition=condition
        )
        if is_predicated and all(self.facts.blocks[arm].is_selected for arm in blocks):
            self.arms_passed = passed  # a select: what lies before and behind it runs as one
        self.issuer, self.predicated = outer, around
        if _is_single_jump(stmt.then):
            for key, value in self.known.implied.get((LogicalOp.OR, condition), ()):
                self.hide(key, value)
            if self.known.one_thread.get(condition) is False:
                self.hide(ONE_THREAD, condition)
        return None

    def is_passed_by(self, stmt: If) -> bool:
        """Whether an `if` is branched around however short, in a loop that halves or doubles its counter.

        Its arms load from global memory, do more than one sum in shared memory, or ask data what
        they store there (SASS of nvcc 13: the guards of a reduction by a tree). Beside a barrier they store.
        Sums are predicated where the loop is unrolled whole.
        """
        if not self.stack or self.stack[-1] not in self.halving:
            return False
        most = sys.float_info.max if self.stack[-1].is_unrolled else MOST_PASSED  # of shared memory
        for arm in filter(None, (stmt.then, stmt.otherwise)):
            inside = (self.facts.blocks[i.then] for i in walk_statements(arm) if isinstance(i, If))
            if self.halving[self.stack[-1]] and not self.facts.blocks[arm].stores:
                continue
            if any(facts.stores for facts in inside) or _instructions(arm) > most:
                return True
        return False

    def switch(self, stmt: Switch) -> Steps:
        """Lower a switch to a chain of tests."""
        selector = yield self.expression(stmt.selector, stmt.region)
        tests = float(max(1, len(stmt.cases) - 1))
        is_decided = selector.shape is Shape.CONSTANT  # in each copy of an unrolled loop
        cost = () if is_decided else ((InstructionKind.ISETP, tests), (InstructionKind.BRANCH, tests))
        self.decide(guard := self.scope(), stmt.region, cost, (selector,))
        self.breakable.append(guard)
        self.await_leavers(guard)
        if not any(None in case.labels for case in stmt.cases):
            self.snapshot(guard)  # no way is taken
        if cost:
            self.cut()
        blocks = tuple(case.body for case in stmt.cases)
        # an arm that gives the next state branches out, and moves a constant to its register
        state = strip_casts(stmt.selector)
        steers = not is_decided and isinstance(state, Read) and state.place.variable in written_below(stmt)[0]
        for block in blocks[:-1]:
            if steers:
                self.decide(guard, block.region, ((InstructionKind.BRANCH, 1.0),), ())
        yield self.arms(
            blocks,
            stmt.region,
            guard,
            cuts=bool(cost),
            is_decided=is_decided,
            condition=selector,
            steers=steers,
        )
        self.breakable.pop()
        ifs = (inner for block in blocks for inner in walk_statements(block) if isinstance(inner, If))
        decides = is_decided and not any(may_skip(inner, is_in_switch=True) for inner in ifs)
        self.leavers_met(guard, stmt.region, guard, selector if decides else None)
        return None

    def arms(
        self,
        blocks: tuple[Block, ...],
        region: int,
        guard: Value,
        *,
        cuts: bool,
        is_decided: bool = False,
        condition: Value | None = None,
        steers: bool = False,
    ) -> Steps:
        """Lower what may run, as `guard` decides; merge what it assigned (predicated: by `condition`).

        `is_decided`: in each copy of an unrolled loop. `steers`: they give what selects the next one.
        """
        outer, self.guard = self.guard, guard
        predicated, chosen = self.predicated, dict[EnvironmentKey, Chosen]()
        ends: list[dict[EnvironmentKey, Value]] = []
        begun: list[list[tuple[object, Value]]] = []
        for number, block in enumerate(blocks):
            self.enter_arm(is_decided=is_decided)
            before = len(self.roots), len(self.cuts), Value(Shape.PLAIN, AT_START).birth
            if condition is not None:  # what the last of several conditions needed is there behind them
                operator = LogicalOp.OR if number else LogicalOp.AND
                for key, value in self.known.implied.get((operator, condition), ()):
                    self.hide(key, value)
                if self.known.one_thread.get(condition) is (number == 0):
                    self.hide(ONE_THREAD, condition)
            yield self.statement(block)
            begun.append(self.made_first(*before))
            ends.append(self.leave_arm())
            if cuts:
                self.cut()
        self.guard = outer
        if len(blocks) == 2 and condition is not None:
            self.hoist_alike(begun[0], begun[1], region)
        self.merge(ends, region, guard, chosen, condition if is_decided else None)
        if steers:
            for one in chosen.values():
                moved = sum(known.shape is Shape.CONSTANT for known in one.known)
                one.value.cost = ((InstructionKind.MOV, moved / len(one.known)),) if moved else ()
        if predicated is not None and condition is not None:
            self.select_registers(chosen, condition, predicated, len(blocks))
        return None

    def made_first(self, roots: int, cuts: int, began: int) -> list[tuple[object, Value]]:
        """What an arm computes before it does anything that is seen, or branches."""
        seen = (*(root.birth for root in self.roots[roots : roots + 1]), *self.cuts[cuts : cuts + 1])
        end = min(seen, default=math.inf)
        made = [(key, self.available[key]) for key, hidden in self.scopes[-1] if hidden is None]
        # what is stored is the same for all these loads, as it was in front of the branch
        return [(_without_version(key), value) for key, value in made if began < value.birth < end]

    def hoist_alike(
        self, then: list[tuple[object, Value]], otherwise: list[tuple[object, Value]], region: int
    ) -> None:
        """What both arms of a branch in `region` begin with is done in front of it: loads are made once."""
        waiting: list[Value] = []
        for (key, value), (other_key, other) in zip(then, otherwise, strict=False):
            if key != other_key or value.place.region >= self.region_count:
                return
            waiting.append(value)
            if other.access is not None:
                for needed in waiting:
                    needed.place = replace(needed.place, region=region)
                other.inputs, other.cost, other.access = [value], (), None
                waiting.clear()

    def select_registers(
        self, chosen: dict[EnvironmentKey, Chosen], condition: Value, predicated: Predicated, arms: int
    ) -> None:
        """What predicated arms assign without computing it takes a SEL or FSEL.

        So does the operand of `v += w`, which each lane then adds, if only 0, in an arm without memory; of
        `v++` each lane makes both numbers. What else an arm computes is computed into the register. A
        comparison of integers that chooses between the two is one of them along (IMNMX). Where the other of
        two arms keeps what was there, it is a predicated MOV. Nothing is selected where an arm changes more
        than three variables (`if (t > a) { b = a; a = t; j = i; i = k; }`): all are moved, to and fro.
        """
        moves = _moves(chosen) if len(chosen) > MOST_SELECTED else {}
        spared = is_minimum(condition) and all(
            {one.before, *one.known} == set(condition.inputs) for one in chosen.values()
        )
        ups = {
            key: counted_up(one.before, *(other for other in one.known if other is not one.before))
            if predicated.is_pure and one.before in one.known
            else 0
            for key, one in chosen.items()
        }
        is_alone = self.issuer == predicated.region and all(ups.values())
        for key, one in chosen.items():
            value, before, known = one.value, one.before, one.known
            variable, path = key if isinstance(key, tuple) else (key, ())
            found = part_of(variable.type, path)
            type_ = variable.type if found is None else found[1]
            others, began = [one for one in known if one is not before], predicated.began
            if moves and variable.space is MemorySpace.LOCAL:
                for other in others:
                    if dict(other.cost).keys() <= _SELECTIONS:
                        other.cost = _as_moves(other.cost, moves[key])
            if variable.space is MemorySpace.LOCAL or type_.kind is TypeKind.BOOL:
                continue
            if up := ups[key]:
                is_turned = predicated.is_turned is (known[0] is not before)
                as_number = self.counted if is_alone else self.as_integer
                number = as_number(condition, predicated.region, is_turned, up)
                self._set(key, self.sum(before, number, up, predicated.region, value.bits))
                continue
            updated = [other for other in others if is_updated(before, other, began)]
            updated = updated if predicated.is_pure else []
            for other in updated:
                other.place = replace(other.place, region=predicated.region)
            if updated or any(is_there(other, began) for other in others):
                cost = () if spared else self.selection(type_)
                is_moved = arms > 1 and before in known
                value.cost = _as_moves(cost, moves.get(key, 1.0)) if moves or is_moved else cost
                spared = False

    def call(self, expr: InlinedCall, region: int) -> Steps:
        """Lower the body of an inlined call."""
        for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
            self.write(parameter, (), (yield self.expression(argument, region)))
        outer, self.guard = self.guard, self.scope()
        breakable, self.breakable = self.breakable, []
        self.calls.append(_Call(self.guard, [], len(self.stack), []))
        began = Value(Shape.PLAIN, AT_START).birth
        self.await_leavers(self.guard)
        yield self.statement(expr.body)
        call = self.calls.pop()
        guard, returned = call.guard, call.returned
        self.guard, self.breakable = outer, breakable
        self.leavers_met(guard, region, guard)
        if len(returned) == 1:
            return returned[0]
        value = self.joined(returned, region)
        value.guards = (guard,)
        moved = sum(is_there(one, began) for one in call.chosen)  # others are computed into the register
        moved = min(moved, len(call.chosen) - 1)
        if expr.type.kind in (TypeKind.INT, TypeKind.FLOAT) and moved > 0:
            value.cost = tuple((kind, number * moved) for kind, number in self.selection(expr.type))
        return value


MOST_PASSED = 7.0
"""Loads, stores and sums of an arm that is still predicated there (nvcc 13: not two of each two)."""
MOST_SELECTED = 3
"""Variables that a branch changes and that are still selected, each by one instruction."""
_SELECTIONS = {InstructionKind.ISETP, InstructionKind.FSETP}


def _moves(chosen: dict[EnvironmentKey, Chosen]) -> dict[EnvironmentKey, float]:
    """Moves for what an arm changes: of a variable that gets what another one was, which is kept for that,
    two; three for two that are exchanged (SASS of nvcc 13).
    """
    taken = {
        key: {
            other
            for other, old in chosen.items()
            if other != key and _takes(one, _is_array(key), old, _is_array(other))
        }
        for key, one in chosen.items()
    }
    return {
        key: 1.0 if not others else 1.5 if any(key in taken[other] for other in others) else 2.0
        for key, others in taken.items()
    }


def _takes(one: Chosen, is_array: bool, old: Chosen, is_from_array: bool) -> bool:
    """Whether a variable, or an element of the thread's own array, gets what another one was."""
    given = [new.inputs[-1] if is_array and new.inputs else new for new in one.known if new is not one.before]
    return any(new is old.before or (is_from_array and old.before in new.inputs) for new in given)


def _is_array(key: EnvironmentKey) -> bool:
    return (key[0] if isinstance(key, tuple) else key).space is MemorySpace.LOCAL


def _as_moves(selections: Cost, number: float) -> Cost:
    return tuple((InstructionKind.MOV, number * each) for _, each in selections)


def _instructions(arm: Block) -> float:
    """What an arm loads, stores and computes of that, but for indices; no end of it in global memory."""
    found, stack = 0.0, list[Expr]()
    for stmt in walk_statements(arm):
        if not isinstance(stmt, Declare) or stmt.variable.type.is_float:
            stack += statement_expressions(stmt)
    while stack:
        match expr := stack.pop():
            case Load(place=place):
                found += 1.0 if place.space is MemorySpace.SHARED else math.inf
            case Assign(target=MemoryPlace() as place, op=op, value=value):
                stack.append(value)
                is_loaded = op is not None  # and added to
                found += 1.0 + 2.0 * is_loaded
                if is_loaded and place.space is not MemorySpace.SHARED:
                    found = math.inf
            case Binary(op=op):
                found += op is not BinaryOp.MUL
                stack += children(expr)
            case _:
                found += isinstance(expr, Intrinsic)
                stack += children(expr)
    return found


_LOWERINGS: dict[type[Stmt], Callable[[Lowering, Any], Steps | None]] = {
    Block: Lowering.block,
    ExprStmt: Lowering.evaluate,
    Declare: Lowering.declare,
    If: Lowering.branch,
    Switch: Lowering.switch,
    Loop: Lowering.loop,
    Return: Lowering.leave,
    Break: Lowering.jump,
    Continue: Lowering.jump,
}


def _without_version(key: object) -> object:
    if not isinstance(key, tuple):
        return key
    parts = cast("tuple[object, ...]", key)
    return parts[:2] + parts[3:] if parts[0] == "load" else parts


def _is_turned(condition: Expr) -> bool:
    """Whether a condition is true where the truth that is its value is not: `!c`, `c == 0`."""
    match condition:
        case Cast(operand=inner):
            return _is_turned(inner)
        case (
            Unary(op=UnaryOp.NOT, operand=inner) | Binary(op=BinaryOp.EQ, left=inner, right=Constant(value=0))
        ):
            return not _is_turned(inner)
        case _:
            return False


def _only(block: Block) -> Stmt | None:
    """The only statement of a block."""
    return block.statements[0] if len(block.statements) == 1 else None


def _guard_inside(block: Block) -> If | None:
    """The `if` that is all of a block, where its condition may be computed whether or not the block runs."""
    inner = _only(block)
    if not isinstance(inner, If) or inner.otherwise is not None:
        return None
    return inner if all(map(expr_is_transparent, walk_expressions(inner.condition))) else None


def _is_single_jump(block: Block) -> bool:
    """Whether a block is nothing but a return, break or continue."""
    return isinstance(_only(block), Return | Break | Continue)


class RequestCount(Struct, frozen=True):
    """How often the access at `site` of the source is made: means over launched threads and warps.

    What is loaded once and kept in a register is requested less often than the source names it. `fresh`: of
    the sectors that the requests touch, the share that no copy of them in an unrolled loop touched before.
    `passes`: the loops around it, outermost first. `joined`: neighbours that a request takes along, itself
    among them, on the mean.
    """

    site: int
    is_store: bool
    per_thread: float
    per_warp: float
    fresh: float = 1.0
    passes: tuple[Pass, ...] = ()
    joined: float = 1.0


class InstructionMix(Struct, frozen=True):
    """Instructions of one launch by kind, in the order of `InstructionKind`, kinds that occur only.

    `per_thread`: mean executed by a launched thread. `per_warp`: mean issued by a warp; larger than
    `per_thread` when lanes diverge, since an instruction is issued once however few lanes execute it, and a
    predicated one even when none does. `requests`: how often each load and store of the source is made.
    `chain`: the instructions of a warp that wait for one another, on the mean. `three_registers`: the FFMA
    per thread that read three registers, none of which the instruction before reads too.
    """

    per_thread: tuple[InstructionCount, ...]
    per_warp: tuple[InstructionCount, ...]
    requests: tuple[RequestCount, ...]
    chain: Chain = NO_CHAIN
    three_registers: float = 0.0

    def number(self, kind: InstructionKind) -> float:
        """Executed instructions of `kind` per thread; 0 when there are none."""
        return next((count.number for count in self.per_thread if count.name == kind.value), 0.0)

    @property
    def local_loads(self) -> float:
        """Loads from local memory per thread."""
        return self.number(InstructionKind.LDL)

    @property
    def local_accesses(self) -> float:
        """Loads and stores of local memory per thread."""
        return self.local_loads + self.number(InstructionKind.STL)

    @property
    def total(self) -> float:
        """Executed instructions of all kinds per thread."""
        return sum(count.number for count in self.per_thread)


def lower_instructions(
    kernel: Kernel, profile: ExecutionProfile, isa: Isa = Isa.IMAD, trips: TripCounts | None = None
) -> InstructionMix:
    """The executed instructions of `kernel` for the launch that `profile` describes.

    `trips`: those that the compiler knows, where `profile` is of some blocks only.
    `ValueError` when the profile is not one of this kernel.
    """
    if len(profile.thread_counts) != kernel.region_count:
        message = f"{len(profile.thread_counts)} thread counts for {kernel.region_count} regions"
        raise ValueError(message)
    per_thread = dict.fromkeys(InstructionKind, 0.0)
    per_warp = dict.fromkeys(InstructionKind, 0.0)
    lowered = lower(kernel, loop_trips(kernel, profile) if trips is None else trips, isa)
    (threads, warps), issuers = lowered.counts(profile), lowered.issuers
    for one in lowered.instructions:
        per_thread[one.kind] += one.number * threads[one.region]
        per_warp[one.kind] += one.number * warps[issuers.get(one.region, one.region)]
    for one in lowered.issued_only:
        per_warp[one.kind] += one.number * warps[one.region]
    chain = lowered.chains.of_warp(warps)
    threes = sum(number * threads[region] for region, number in lowered.three_registers)
    return InstructionMix(
        _counts(per_thread), _counts(per_warp), _requests(lowered, threads, warps), chain, threes
    )


class WrittenInstruction(Struct, frozen=True):
    """Instructions of one kind that the text at `span` asks for, in the runs of `region`: the mean that a
    launched thread executes, and that a warp issues.
    """

    kind: InstructionKind
    region: int
    span: Span
    per_thread: float
    per_warp: float


def written_instructions(
    kernel: Kernel, profile: ExecutionProfile, isa: Isa = Isa.IMAD
) -> Iterator[WrittenInstruction]:
    """The executed instructions of `lower_instructions`, told apart by the text that asks for them.

    What several expressions share (an index, an address) belongs to the first of them, a fused multiply-add
    to its product and its sum by halves. Stack pointer and EXIT
    belong to the head of the kernel, with what warps issue for an early return although no thread counts it.
    """
    lowered = lower(kernel, loop_trips(kernel, profile), isa)
    (threads, warps), issuers = lowered.counts(profile), lowered.issuers
    for one in lowered.written:
        region = one.region
        per_thread, per_warp = one.number * threads[region], one.number * warps[issuers.get(region, region)]
        if per_thread or per_warp:
            own = one.span or kernel.span
            spans = (own,) if one.product is None else (own, one.product)
            if region >= kernel.region_count:
                region, _ = lowered.once[region - kernel.region_count]
            for span in spans:
                share = 1.0 / len(spans)
                yield WrittenInstruction(one.kind, region, span, share * per_thread, share * per_warp)
    for one in lowered.issued_only:
        yield WrittenInstruction(one.kind, one.region, kernel.span, 0.0, one.number * warps[one.region])


def _requests(
    lowered: Lowered, runs: Sequence[float], warp_runs: Sequence[float]
) -> tuple[RequestCount, ...]:
    totals: dict[tuple[int, bool], tuple[float, float, float, float]] = {}
    passes: dict[tuple[int, bool], tuple[Pass, ...]] = {}
    for one in lowered.requests:
        key = one.site, one.is_store
        passes[key] = max(passes.get(key, ()), one.passes, key=len)
        threads, warps, new, alone = totals.get(key, (0.0, 0.0, 0.0, 0.0))
        made = one.number * warp_runs[one.region]
        threads += one.number * runs[one.region]
        totals[key] = threads, warps + made, new + one.fresh * made, alone + one.joined * made
    return tuple(
        RequestCount(
            *key,
            per_thread=threads,
            per_warp=warps,
            fresh=new / warps if warps else 1.0,
            passes=passes[key],
            joined=alone / warps if warps else 1.0,
        )
        for key, (threads, warps, new, alone) in totals.items()
    )


def _counts(totals: dict[InstructionKind, float]) -> tuple[InstructionCount, ...]:
    return tuple(InstructionCount(kind.value, number) for kind, number in totals.items() if number)
