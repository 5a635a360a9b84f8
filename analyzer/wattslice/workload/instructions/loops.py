"""What the instructions of a loop depend on.

Whether it is unrolled, what its counters cost, and what changes from one iteration to the next.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Builtin,
    BuiltinKind,
    Cast,
    Constant,
    Expr,
    If,
    Increment,
    InlinedCall,
    Kernel,
    Load,
    Logical,
    Loop,
    LoopKind,
    PointerOffset,
    Read,
    RegisterPlace,
    Select,
    Stmt,
    TypeKind,
    Unary,
    Variable,
    children,
    nested_statements,
    statement_expressions,
    strip_casts,
    walk_expressions,
    walk_statements,
)
from wattslice.ir.loops import Bound, Induction, constant_trips, last_updates, written_below
from wattslice.ir.operation_counts import own_operations
from wattslice.ir.walking import expressions_below
from wattslice.workload.instructions.code_facts import SUMS, CodeFacts, Trait, kernel_facts
from wattslice.workload.instructions.constants import is_counted, with_constants
from wattslice.workload.instructions.counters import (
    CounterSteps,
    amount_of,
    bounds_of,
    counts_by_constants,
    expr_is_transparent,
    indices_of,
    is_bare_size,
    is_constant_step,
    keeps_powers,
    may_not_wrap,
    needs_sums,
    numbers_of_copies,
    rounds_of,
    shape_with,
    starts_of,
)
from wattslice.workload.instructions.expressions import Expressions, Step, Steps
from wattslice.workload.instructions.forwarding import GROUP
from wattslice.workload.instructions.kinds import Cost, InstructionKind
from wattslice.workload.instructions.operators import is_power
from wattslice.workload.instructions.states import few_values, given_in, named_in
from wattslice.workload.instructions.value_graph import (
    AT_START,
    EnvironmentKey,
    LoopLevel,
    Placement,
    Shape,
    Value,
    has_own_elements,
    inputs_key,
    linear,
    varying,
)
from wattslice.workload.instructions.ways import Ahead, loses_sign

FULL_UNROLL_TRIPS = 1024
"""A loop of known, constant trip count is unrolled fully up to this many iterations ..."""
FULL_UNROLL_SIZE = 1500
"""... and this many source operations in all copies (fitted on SASS, docs/instructions.md)."""
OWN_ARRAY_SIZE = 2400
"""... more where an array of the thread is in registers only if all are made (nvcc 13 has 400 for each of its
words, up to six), and the innermost iterations do not write elements of it that the loop chooses, too."""
BRANCHING_STATES_SIZE = 500
"""... of a loop whose states branches give, with two for each state (nvcc 13 makes 480, not 540)."""
TRIANGLE_COPIES, TRIANGLE_TESTS, TRIANGLE_SIZE = 8, 15, 435
"""A loop around one that follows its counter is unrolled when its copies have at most that size, with the
inner loop as it was unrolled by four before; with an array of the thread's own it is one like any other."""
MOST_EXITS = 64.0
"""Copies, each with a test, that a bare `#pragma unroll` makes of a loop that follows a counter at most."""
PARTIAL_UNROLL = 4.0
"""Copies of the body of an innermost loop without branches, barriers or exits."""
FURTHER_UNROLL = 16.0
"""Copies when pointers can step along and the copies have at most FURTHER_UNROLL_SIZE operations."""
FURTHER_UNROLL_SIZE = 320
FURTHER_ARITHMETIC = 4.0
"""Source operations of a body without loads up to which it has so many copies, products apart."""
PARTIAL_UNROLL_SIZE, HALF_UNROLL_SIZE = 60, 87
"""Source operations in a body above which it has two copies, and none."""


_FEW_TRIPS = frozenset(range(1, 6))
"""Iterations of a loop inside another one that is unrolled as all lanes make as many (nvcc 13: 5, not 6)."""
_NOTHING = Value(Shape.PLAIN, AT_START)


TripCounts = tuple[tuple[int, float], ...]
"""Loops (their regions) with their mean iterations per entry; those that are never entered are not there."""


def loop_trips(kernel: Kernel, profile: ExecutionProfile) -> TripCounts:
    """The trip counts that are known, else those that the counts of `profile` come to, to nine digits.

    The latter only as far as lowering asks: no loop is unrolled further for more iterations than its copies,
    and not at all where data decide in its body whether it goes on.
    """
    known = {loop.region: loop.trip_count for loop in profile.loops}
    facts = kernel_facts(with_constants(kernel))
    found: list[tuple[int, float]] = []
    for loop in facts.loops:
        trips = None if loop.ranges else known.get(loop.region)
        if trips is None and (entries := profile.thread_counts[loop.region]):
            if facts.blocks[loop.body].may_leave and loop.unroll in (None, 1):
                continue
            most = max(FURTHER_UNROLL, loop.unroll or 0)
            trips = min(most, float(f"{profile.thread_counts[loop.body.region] / entries:.9g}"))
        if trips is not None:
            found.append((loop.region, trips))
    return tuple(found)


class Loops(Expressions):
    """Lowers loops."""

    def __init__(self, kernel: Kernel, trips: TripCounts) -> None:
        super().__init__()
        self.facts = kernel_facts(kernel)
        self.trips = dict(trips)
        self.breakable: list[Value] = []  # the guards of loops and switches around, in this function
        self.is_machine_code = bool(kernel.machine_instructions)
        self.is_fast = bool(kernel.fast_math)
        # loops that multiply or divide what counts them, unrolled whole or not at all: if a barrier is inside
        self.halving: dict[LoopLevel, bool] = {}
        self.going_round: dict[Loop, frozenset[Variable]] = {}  # counters, of the loops met so far

    @abstractmethod
    def statement(self, stmt: Stmt) -> Step:
        """Lower a statement; all but loops are the subclass's business."""

    def loop(self, stmt: Loop) -> Steps:
        """Lower a loop: one iteration, told from the others by what it changes."""
        for inner in stmt.init:
            yield self.statement(inner)
        facts = self.facts.loops[stmt]
        self.going_round[stmt] = self.going_round_of(stmt)
        steps = self.steps_of(stmt)
        amount = self.stride_of(stmt)
        stride = None if amount is None else (yield self.expression(amount, stmt.region))
        if stride is not None and self.is_by_shares(shape_with(stmt, facts).bounds[0], stride):
            stride = None
        level = self.level(stmt, steps, stride)
        outer_stack, outer = self.stack, self.guard
        counters = self.counters_of(stmt).values()
        is_alone = level.is_unrolled or level.copies == 1
        if counters and is_alone and all(step.op not in SUMS for step in counters):
            self.halving[level] = Trait.BARRIER in facts.has
        if not level.is_unrolled:
            self.cut()
        self.stack, self.guard = (*outer_stack, level), self.scope()
        level.guard = self.guard
        self.breakable.append(self.guard)
        self.open_scope()
        changing = self.changing(facts.written)
        settled = self.settled(stmt, changing, steps, level) if level.copies > 1 else frozenset[Variable]()
        heads = [
            (key, self.loop_head(key, initial, level, steps, is_settled=key in settled))
            for key, initial in changing.items()
        ]
        for _, head in (one for one in heads if one[0] in self.going_round[stmt]):
            head.cost = ((InstructionKind.MOV, 1.0),)  # from where it is added to and widened
        stores = [(space, self.part_of(space, root)) for space, root in facts.stores]
        self.clobber(stores, Trait.BARRIER in facts.has, level)
        around, self.accesses = self.accesses, []
        self.await_leavers(guard := self.guard)
        if stmt.kind is not LoopKind.DO:
            yield self.test(stmt, level)
        self.await_leavers(level)
        yield self.statement(stmt.body)
        self.leavers_met(level, stmt.body.region, guard)
        if stmt.step is not None:
            yield self.expression(stmt.step, stmt.step_region)
        if stmt.kind is LoopKind.DO:
            yield self.test(stmt, level)
        for key, head in heads:
            # Copies of an unrolled body shift the first value by constants, which their uses take in.
            step = None if isinstance(key, tuple) else steps.get(key)
            sums_up = step is not None and step.op in SUMS and head.shape is not Shape.INT_SUM
            is_folded = level.is_unrolled and step is not None and not sums_up
            following = self.environment[key]
            if level.copies > 1 and self.known.halves.get(following) is head and head.bits == 32:
                head.shape, is_folded = Shape.SHIFTED, False
            if head.step is not None and following is not head:  # the head is charged for the last copy's
                is_last = stmt.kind is LoopKind.DO or following.place.region == stmt.test_region
                others = 0.0 if is_last else 1.0 - 1.0 / level.unroll
                scale = following.place.scale * others
                following.place = replace(following.place, scale=scale)
            elif head.step is None and head.shape is not Shape.CONSTANT and not is_folded:
                head.inputs.append(following)
                if (
                    following.shape is Shape.BOTH and not level.is_unrolled
                ):  # each four copies make a number of it
                    each = 1.0 / min(level.unroll, PARTIAL_UNROLL)
                    head.cost = ((InstructionKind.ISETP, 2.0 * each), (InstructionKind.LOP, each))
            if isinstance(key, Variable) and level.is_unrolled and has_own_elements(level, key):
                level.separate.add(head)
            self.environment[key] = head
        self.close_scope()
        if not level.is_unrolled:
            self.cut()
        if not level.is_left:
            made = level.copies if level.is_unrolled else float(stmt.unroll or min(level.unroll, GROUP))
            self.forward_in_copies(level, made)
            self.keep_in_registers(level, stores_stay=Trait.ASSEMBLY in facts.has and not level.is_unrolled)
        self.accesses = around + self.accesses if outer_stack else []
        self.stack, self.guard = outer_stack, outer
        self.breakable.pop()
        self.leavers_met(guard, stmt.region, guard)
        self.clobber(stores, Trait.BARRIER in facts.has, None)
        return None

    def level(self, stmt: Loop, steps: CounterSteps, stride: Value | None) -> LoopLevel:
        """How the compiler unrolls a loop; `stride`: what it adds where only the run tells (`stride_of`)."""
        body = self.facts.blocks[stmt.body]
        constant = self.has_constant_trips(stmt, steps)
        counters = self.counters_of(stmt)
        # a loop that something in it may end is unrolled for the bound in its head alone
        most = self.most_trips(stmt) if constant and body.may_leave else None
        trips = self.trips.get(stmt.region) if most is None else most
        simple = most is not None or not body.may_leave
        own = frozenset(steps)
        copies = self.copies_of(body, own, own)
        is_innermost = copies is not None and not copies.follows_counter
        size = body.size_in(own) if copies is None else copies.size
        full = constant and simple and trips is not None and trips <= (stmt.unroll or FULL_UNROLL_TRIPS)
        if full and stmt.unroll is None and trips != 1.0:
            full = copies is not None and self.fits(stmt, own, trips or 0.0, size)
            if copies is not None and copies.follows_counter and Trait.OWN_ARRAY not in body.has:
                full = full and (trips or 0.0) * self.triangle_row(body) <= TRIANGLE_SIZE
        elif stmt.unroll == 1:
            full = False
        # what is unsigned may wrap, which keeps the compiler from stepping pointers along with a counter; one
        # that goes up by one reaches its bound before
        ones = {variable for variable, step in steps.items() if step.distance == 1}
        indices = indices_of(stmt, own)
        strides = not indices.are_unsigned and all(
            variable in ones or may_not_wrap(step) for variable, step in counters.items()
        )
        starts = (self.environment.get(variable, _NOTHING).number for variable in ones)
        counts = not constant and any(start is not None for start in starts)
        has_rounds = not constant and (trips is None or trips >= PARTIAL_UNROLL)
        scales_counter = has_rounds and indices.are_stepped
        unroll = 1.0
        is_counted = counts_by_constants(body, counters) or stride is not None
        may_load = bool(body.guarded_alone(frozenset(steps)))
        may_load = may_load and not any(self.is_decided(one, stmt, full=full) for one in body.guards)
        exits = self.exits_of_copies(stmt, steps) if stmt.unroll == 0 and simple and not constant else None
        if stmt.unroll is not None and stmt.unroll > 1:
            unroll = float(stmt.unroll)
        elif exits is not None:
            unroll = exits
        elif stmt.unroll == 0 and simple and not full and is_counted:
            unroll = PARTIAL_UNROLL
        elif stmt.unroll is None and simple and is_innermost and size <= HALF_UNROLL_SIZE and is_counted:
            unroll = PARTIAL_UNROLL if size <= PARTIAL_UNROLL_SIZE else 2.0
            steps_on = stride is None and strides and Trait.IN_WARPS not in body.has
            steps_on = steps_on and (constant or not self.is_long_way(stmt))
            is_small = FURTHER_UNROLL * size <= FURTHER_UNROLL_SIZE
            is_plain = size - body.products <= FURTHER_ARITHMETIC
            steps_on = steps_on and body.has.isdisjoint((Trait.DIVISION, Trait.LONG_ARM))
            if not constant and Trait.BARRIER in body.has:
                steps_on = steps_on and not body.accesses_in_arms
            if steps_on and is_small and not may_load and (Trait.LOADS in body.has or is_plain):
                is_needed = counts and (scales_counter or needs_sums(stmt, ones))
                unroll = PARTIAL_UNROLL if is_needed else FURTHER_UNROLL
        left_over, more_rounds = 0, 0.0
        if trips is not None and not full:
            is_whole = not constant and trips == int(trips)
            is_further = unroll == FURTHER_UNROLL and is_whole and trips >= PARTIAL_UNROLL
            made, unroll = unroll, max(1.0, min(unroll, trips))
            if is_further:
                left_over = int(trips % PARTIAL_UNROLL)
                unroll = unroll if trips >= FURTHER_UNROLL else trips / rounds_of(int(trips) - left_over)
            is_inside = any(not level.is_unrolled for level in self.stack)
            if is_whole and unroll > 1.0 and not is_inside and stride is None and exits is None:
                left_over = int(trips % (min(made, PARTIAL_UNROLL) if stmt.unroll in (None, 0) else made))
                in_copies = int(trips) - left_over
                in_rounds = rounds_of(in_copies) if is_further else in_copies / made
                more_rounds = (in_rounds + left_over) / trips - 1.0 / unroll
        while most is not None and not full and most % unroll:
            unroll = max(1.0, unroll // 2)
        rounds = None
        if stride is not None and unroll > 1.0:
            (counter,) = counters
            distance, type_ = self.joined([], stmt.region), replace(counter.type, signed=False)
            rounds = self.division(BinaryOp.DIV, distance, stride, type_, stmt.region)
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
            trips,
            exits is not None or (unroll > 1.0 and not constant and not counters),
            rounds=rounds,
            scales_counter=scales_counter,
            wraps=not all(map(may_not_wrap, counters.values())),
            left_over=left_over,
            more_rounds=more_rounds,
            may_load=may_load,
        )

    def steps_of(self, loop: Loop) -> CounterSteps:
        """Variables that change once an iteration, and how: at its end; elsewhere integers and pointers that
        something is added to.
        """
        shape = shape_with(loop, self.facts.loops[loop])
        stepped = {update.variable for update in last_updates(loop)}
        going_round = self.going_round_of(loop)
        return {
            update.variable: update
            for update in shape.inductions
            if update.variable in stepped or (update.op in SUMS and not update.variable.type.is_float)
            if update.variable not in going_round
        }

    def going_round_of(self, loop: Loop) -> frozenset[Variable]:
        """The counters that may go round their type; of a loop inside as far as it is known ahead."""
        if loop in self.going_round:
            return self.going_round[loop]
        ahead = Ahead(self.environment, self.known.widened)
        bounds = shape_with(loop, self.facts.loops[loop]).bounds
        return frozenset(one.induction.variable for one in bounds if ahead.goes_round(one, loop))

    def counters_of(self, loop: Loop) -> CounterSteps:
        """Those of `steps_of` that alone decide how often the loop runs, by one limit; none where more does
        or one may go round.
        """
        shape = shape_with(loop, self.facts.loops[loop])
        is_known = is_counted(shape) and not self.going_round_of(loop)
        found = shape.bounds if is_known else ()
        return {bound.induction.variable: bound.induction for bound in found}

    def stride_of(self, loop: Loop) -> Expr | None:
        """What a loop adds to its counter where only the run tells: `i += st` while `i < n`.

        The compiler divides the way by it to unroll the loop. It has to be signed, for what is unsigned may
        wrap (`i += blockDim.x`), and no other lane may take part in the loop. None for others.
        """
        shape = shape_with(loop, self.facts.loops[loop])
        if shape.has_other_conjuncts or len(shape.bounds) != 1:
            return None
        if not self.facts.loops[loop].has.isdisjoint((Trait.ASSEMBLY, Trait.MEETS_OTHERS, Trait.BARRIER)):
            return None
        (bound,) = shape.bounds
        step, comparison = bound.induction, bound.comparison
        if isinstance(step.amount, int) or is_constant_step(step) or step.op is not BinaryOp.ADD:
            return None
        if is_bare_size(step.amount):
            return None
        types = (step.variable.type, step.amount.type)
        is_signed = all(type_.kind is TypeKind.INT and type_.signed for type_ in types)
        is_signed = is_signed and not (self.going_round_of(loop) or loses_sign(bound))
        is_signed = is_signed and (step.amount.type.bits or 64) <= (step.variable.type.bits or 64)
        return step.amount if is_signed and comparison is BinaryOp.LT else None

    def is_decided(self, condition: Expr, stmt: Loop, *, full: bool) -> bool:
        """Whether no thread and no iteration changes a condition, which has a loop for each case then.

        Or copies may know it, as they know whether their counter is even, or what state comes next.
        """
        match condition:
            case Read(place=place):
                if place.variable not in self.facts.loops[stmt].written:
                    return self.environment.get(place.variable, _NOTHING).is_uniform
                given = given_in(stmt).get(place.variable, [])
                number = self.number_of_values(place.variable, given) if given else 0
                return number > 0 and (full or PARTIAL_UNROLL % number == 0)
            case Builtin():
                return self.builtin(condition).is_uniform
            case Binary(op=BinaryOp.AND | BinaryOp.MOD, left=Read(place=place), right=Constant()) if (
                place.variable in self.facts.loops[stmt].written
            ):
                return True
            case _:
                is_plain = expr_is_transparent(condition)
                return is_plain and all(
                    self.is_decided(part, stmt, full=full) for part in children(condition)
                )

    def known_size(self, stmt: Stmt) -> float:
        """The source operations in `stmt` on numbers alone, as each copy of an unrolled loop has them."""
        written, _ = written_below(stmt)

        def is_known(expr: Expr) -> bool:
            match expr:
                case Constant() | Binary() | Unary() | Cast():
                    return True
                case Read(place=place):
                    held = self.environment.get(place.variable, _NOTHING)
                    return held.shape is Shape.CONSTANT and place.variable not in written
                case _:
                    return False

        found, stack = 0.0, [e for inner in walk_statements(stmt) for e in statement_expressions(inner)]
        while stack:
            expr = stack.pop()
            if all(map(is_known, walk_expressions(expr))):
                found += sum(n for e in walk_expressions(expr) for _, n in own_operations(e))
            else:
                stack += children(expr)
        return found

    def is_by_shares(self, bound: Bound, stride: Value) -> bool:
        """Whether a loop goes from `threadIdx.x / 32` on by `blockDim.x / 32`: the compiler unrolls no loop
        from a share, or a multiple, of an index on by the same of a size (SASS of nvcc 13).
        """
        start = self.environment.get(bound.induction.variable, _NOTHING)
        of_index = self.share_of((BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_IDX), start)
        return of_index is not None and of_index == self.share_of(
            (BuiltinKind.BLOCK_DIM, BuiltinKind.GRID_DIM), stride
        )

    def share_of(self, kinds: tuple[BuiltinKind, ...], value: Value) -> tuple[object, ...] | None:
        """What a number makes `value` of one of the builtins of `kinds`; None where it is made otherwise."""
        for kind, axis in product(kinds, range(3)):
            of = self.available.get(("builtin", kind, axis))
            terms, offset, _ = linear(value)
            if len(terms) == 1 and terms[0][0] is of and terms[0][1] != 1 and not offset:
                return BinaryOp.MUL, terms[0][1]
            for op, is_signed in product((BinaryOp.DIV, BinaryOp.SHR), (False, True)):
                number = value.inputs[1].number if len(value.inputs) == 2 else None
                if of is None or number is None:
                    continue
                if self.available.get((op, is_signed, *inputs_key((of, value.inputs[1])))) is value:
                    is_shift = op is BinaryOp.SHR and not is_signed
                    return (BinaryOp.DIV, False, 2**number) if is_shift else (op, is_signed, number)
        return None

    def exits_of_copies(self, stmt: Loop, steps: CounterSteps) -> float | None:
        """The copies that a bare `#pragma unroll` makes of a loop that follows the counter of one around it.

        As many as it runs at most, each with the test that leaves; None where that is not known, or too much.
        """
        counters: dict[Variable, float] = {}
        regions = {level.entry_region: level.trips for level in self.stack if level.has_constant_trips}
        for loop in self.facts.loops:
            if (trips := regions.get(loop.region)) is not None:
                counters.update(dict.fromkeys(self.steps_of(loop), trips))
        others = bounds_of(stmt) - frozenset(steps)
        if not steps or not others or not all(map(is_constant_step, steps.values())):
            return None
        most = 0.0
        for variable in others:
            value = self.environment.get(variable)
            if variable in counters:
                most = max(most, counters[variable])
            elif value is None or value.shape is not Shape.CONSTANT:
                return None
        return most if 1.0 < most <= MOST_EXITS else None

    def copies_of(
        self, facts: CodeFacts, counters: frozenset[Variable], own: frozenset[Variable]
    ) -> _Copies | None:
        """A stretch of code in loops over `counters` with all loops in it unrolled, in that over `own`; None
        when one stays.
        """
        size, follows_counter = facts.size_in(own), False
        for loop in facts.inner_loops:
            body = self.facts.blocks[loop.body]
            steps = self.counters_of(loop)
            trips = self.trips.get(loop.region)
            if trips is None or not steps or body.may_leave or loop.unroll == 1:
                return None
            counted, itself = counters | frozenset(steps), frozenset(steps)
            inside, alone = self.copies_of(body, counted, own), self.copies_of(body, counted, itself)
            if inside is None or alone is None or not all(map(is_constant_step, steps.values())):
                return None
            most = loop.unroll or FULL_UNROLL_TRIPS
            if trips > most or (loop.unroll is None and trips * alone.size > self.most_size(body, itself)):
                return None
            follows = False
            for variable in bounds_of(loop) - frozenset(steps):
                value = self.environment.get(variable)
                follows |= variable in counters
                if variable in counters or (value is not None and value.shape is Shape.CONSTANT):
                    continue
                bounds = shape_with(loop, self.facts.loops[loop]).bounds
                starts = (isinstance(strip_casts(one), Read) for one in starts_of(loop))
                if value is None or not any(starts) or not self.is_short_way(bounds, value, is_inside=True):
                    return None
            if follows and Trait.OWN_ARRAY in body.has:
                trips *= 2.0  # the longest round counts, not the mean
            size += trips * inside.size - body.size_in(own)
            follows_counter |= follows
            follows_counter |= inside.follows_counter
        return _Copies(size, follows_counter)

    def triangle_row(self, body: CodeFacts) -> float:
        """The size of a body whose inner loops are unrolled by four, with tests and what is left over.

        A loop that halves its counter, or waits at a barrier, stays as it is.
        """
        size = body.size
        for loop in body.inner_loops:
            inner = self.facts.blocks[loop.body]
            whole = self.facts.loops[loop]
            if Trait.BARRIER not in inner.has and counts_by_constants(inner, self.counters_of(loop)):
                size += (TRIANGLE_COPIES - 1) * whole.size + TRIANGLE_TESTS
        return size

    def has_constant_trips(self, stmt: Loop, steps: CounterSteps) -> bool:
        """Does the compiler know how often the loop runs: constant start, step and bound, or distance?"""
        if stmt.condition is None or not steps:
            return False
        shape = shape_with(stmt, self.facts.loops[stmt])
        if shape.bounds and not shape.has_other_conjuncts:
            start = self.environment.get(shape.bounds[0].induction.variable, _NOTHING)
            is_short = self.is_short_way(shape.bounds, start, is_inside=bool(self.stack))
            if is_short or all(map(self.is_fixed_way, shape.bounds)):
                return True
        for expr in walk_expressions(stmt.condition):
            match expr:
                case Read(place=place) | Increment(target=RegisterPlace() as place):
                    value = self.environment.get(place.variable)
                    if value is None or value.shape is not Shape.CONSTANT or value in self.known.late:
                        return False
                    step = steps.get(place.variable)
                    if step is None and place.variable in self.facts.loops[stmt].written:
                        return False
                    if step is not None and not is_constant_step(step):
                        return False
                case Constant() | Binary() | Logical():
                    pass
                case Builtin():  # the launch says it, not the source
                    return False
                case _ if not expr_is_transparent(expr):
                    return False
                case _:
                    pass
        return True

    def most_trips(self, stmt: Loop) -> float | None:
        """How often a loop runs by constant bounds alone; None where they are not numbers."""
        found: list[int | None] = []
        for bound in shape_with(stmt, self.facts.loops[stmt]).bounds:
            start = self.environment.get(bound.induction.variable, _NOTHING).number
            step, limit = bound.induction.distance, bound.limit
            limit = limit.value if isinstance(limit, Constant) else limit
            if not isinstance(start, int) or not isinstance(limit, int) or step is None:
                return None
            is_do = stmt.kind is LoopKind.DO
            start += bound.shift + is_do * step
            trips = constant_trips(start, step, bound.comparison, limit)
            found.append(None if trips is None else trips + is_do)
        known = [float(trips) for trips in found if trips]
        return min(known, default=None)

    def is_long_way(self, stmt: Loop) -> bool:
        """Whether the way to the bound is one for which a loop has few copies."""
        bounds = shape_with(stmt, self.facts.loops[stmt]).bounds
        return any(map(Ahead(self.environment, self.known.widened).has_few_copies, bounds))

    def is_fixed_way(self, bound: Bound) -> bool:
        """Whether a counter has a constant way to go: `p != p0 + 64` from `p0` on."""
        start = self.environment.get(bound.induction.variable)
        if start is None or start in self.known.late or not is_constant_step(bound.induction):
            return False
        limit = {bound.limit} if isinstance(bound.limit, int) else set(walk_expressions(bound.limit))
        if bound.induction.op not in SUMS and any(isinstance(one, Builtin) for one in limit):
            return False  # of `warpSize` as well
        base = frozenset(linear(start)[0])
        type_, is_equality = bound.induction.variable.type, bound.comparison is BinaryOp.NE
        may_wrap = not type_.signed or any(term not in self.known.naturals for term, _ in base)
        if base and may_wrap and not (is_equality or start.is_pointer):
            return False
        return self.base_of(bound.limit) == base

    def is_short_way(self, bounds: tuple[Bound, ...], start: Value, *, is_inside: bool) -> bool:
        """Whether a few iterations lead to a number from some bits of a word, whatever these are: 64 from
        `threadIdx.x & 31` by 32. In no other loop the compiler sees that too late, unless it is one.
        """
        terms, offset, copies = linear(start)
        if len(bounds) != 1 or copies or not terms:
            return False
        step, limit = bounds[0].induction.distance, bounds[0].limit
        limit = limit.value if isinstance(limit, Constant) else limit
        if step is None or not is_power(abs(step)) or not isinstance(limit, int):
            return False
        least = most = offset + bounds[0].shift
        for term, coefficient in terms:
            mask = self.known.masked.get(term, (term, term))[1].number
            if mask is None or mask < 0:
                return False
            least += min(0, coefficient * int(mask))
            most += max(0, coefficient * int(mask))
        trips = {constant_trips(end, step, bounds[0].comparison, limit) for end in (least, most)}
        return len(trips) == 1 and trips <= (_FEW_TRIPS if is_inside else {1})

    def base_of(self, limit: Expr | int) -> frozenset[tuple[Value, int]] | None:
        """What `limit` is a constant distance away from, no terms where it is constant; None: not known."""
        match limit:
            case Cast(operand=operand):
                return self.base_of(operand)
            case Read(place=RegisterPlace(variable=variable, path=())):
                value = self.environment.get(variable)
                return None if value is None else frozenset(linear(value)[0])
            case Builtin():
                return frozenset(linear(self.builtin(limit))[0])
            case Constant() | int():
                return frozenset()
            case PointerOffset(pointer=left, index=right):
                right = 0 if right is None else right
            case Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=left, right=right):
                pass
            case _:
                return None
        return self.base_of(left) if self.base_of(right) == frozenset() else None

    def settled(
        self, stmt: Loop, changing: Mapping[EnvironmentKey, Value], steps: CounterSteps, level: LoopLevel
    ) -> frozenset[Variable]:
        """Variables that constants alone decide in each copy of an unrolled loop: `p = 1 - p`, the state of a
        machine. Of one that is not fully unrolled those of few values, which come again.
        """
        others: set[Variable] = set()
        own = frozenset(steps)
        are_unrolled = (
            level.is_unrolled and self.copies_of(self.facts.blocks[stmt.body], own, own) is not None
        )
        given = given_in(stmt, others, are_unrolled=are_unrolled)
        found = {
            variable
            for variable in given.keys() - others - steps.keys()
            if changing.get(variable, _NOTHING).shape is Shape.CONSTANT or variable not in changing
        }
        if not level.is_unrolled:
            # more are made later, and know nothing
            copies = stmt.unroll or min(level.unroll, PARTIAL_UNROLL) * (1 + level.has_constant_trips)
            numbers = {v: self.number_of_values(v, given[v]) for v in found}
            found = {v for v in found if numbers[v] and copies % numbers[v] == 0}
        counters = {v for v in steps if changing.get(v, _NOTHING).shape is Shape.CONSTANT}

        def is_known(expr: Expr) -> bool:
            match expr:
                case Read(place=RegisterPlace(variable=variable)):
                    if variable in changing or variable in given:
                        return variable in found or variable in counters
                    return self.environment.get(variable, _NOTHING).shape is Shape.CONSTANT
                case (
                    Assign(target=RegisterPlace(variable=variable))
                    | Increment(target=RegisterPlace(variable=variable))
                ):
                    return variable in found or variable in counters
                case _:
                    return isinstance(expr, Constant | Cast | Unary | Binary | Logical | Select)

        while unknown := {
            v
            for v in found
            if not all(is_known(e) for g in given[v] for one in g for e in walk_expressions(one))
        }:
            found -= unknown
        return frozenset(found)

    def most_size(self, body: CodeFacts, own: frozenset[Variable]) -> float:
        """The most source operations in all copies of a loop over `own` that is unrolled fully."""
        inner = frozenset[Variable]().union(*self.innermost(body)) or own
        together = (index for index in body.rewritten if not own.isdisjoint(index))
        is_rewritten = any(not inner.isdisjoint(index) for index in together)
        return OWN_ARRAY_SIZE if Trait.OWN_ARRAY in body.has and not is_rewritten else FULL_UNROLL_SIZE

    def innermost(self, body: CodeFacts) -> Iterator[Iterable[Variable]]:
        """The counters of the innermost loops in a stretch of code."""
        for loop in body.inner_loops:
            inside = self.facts.blocks[loop.body]
            if inside.inner_loops:
                yield from self.innermost(inside)
            else:
                yield self.counters_of(loop)

    def fits(self, stmt: Loop, own: frozenset[Variable], trips: float, size: float) -> bool:
        """Whether all copies of a body of `size` operations, in a loop over `own`, are few enough.

        A state like `(q + 1) % 3`, and which arm it chooses, is known ahead: the more that spares, the more
        copies are made. What comes of branches over constants is not, if it is another behind eight copies.
        """
        spared = 0.0
        for variable, given in given_in(stmt).items():
            number = self.number_of_values(variable, given)
            if number and any(variable in named_in(one) for _, *by in given for one in by):
                constants = [value for value, *_ in given if isinstance(strip_casts(value), Constant)]
                if len(constants) > 2 and 2 * PARTIAL_UNROLL % number:
                    return trips * (size + 2 * number) <= BRANCHING_STATES_SIZE
            elif number:
                operators = (isinstance(e, Binary) for value, *_ in given for e in walk_expressions(value))
                arms = self.arms_by(stmt.body, variable) * (1.0 - 1.0 / number)
                spared = max(spared, arms + sum(operators) * (arms > 0.0))
        size -= spared
        most = self.most_size(self.facts.blocks[stmt.body], own)
        return trips * size <= most * min(4.0, 1.0 + spared / max(1.0, size))

    def arms_by(self, stmt: Stmt, variable: Variable) -> float:
        """The size of the arms of `if` in `stmt` of which `variable` chooses one."""
        if isinstance(stmt, If) and variable in named_in(stmt.condition):
            return sum(self.facts.blocks[arm].size for arm in (stmt.then, stmt.otherwise) if arm is not None)
        return sum(self.arms_by(inner, variable) for inner in nested_statements(stmt))

    def number_of_values(self, variable: Variable, given: list[tuple[Expr, ...]]) -> int:
        """How many values a variable has that goes through few of them from where it is; 0: not known."""
        values = {self.environment.get(variable, _NOTHING).number} - {None}
        for value, *_ in given:
            if (few := few_values(value)) is None:
                return 0
            values |= few
        return len(values)

    def loop_head(
        self, key: EnvironmentKey, initial: Value, level: LoopLevel, steps: CounterSteps, *, is_settled: bool
    ) -> Value:
        """The value of a variable or a part of one at the start of an iteration."""
        step = None if isinstance(key, tuple) else steps.get(key)
        increment = self.constant_or_read(step) if step is not None and step.op in SUMS else None
        is_counted = level.is_unrolled and step is not None and initial.shape is Shape.CONSTANT
        moves = level.is_unrolled and increment is not None and increment.number is not None
        if is_counted and level.trips == 1.0 and initial.number is not None:
            head = initial  # the only iteration starts and ends with it
        elif step is not None and (is_counted or (moves and not step.variable.type.is_float)):
            start = initial if is_counted else self.constant(0, step.variable.type)
            loops = varying((start,)) | {level}
            place = Placement(level.body_region, level, varies=loops)
            head = Value(Shape.CONSTANT, place, bits=initial.bits, is_uniform=True)
            head.step = increment
            if keeps_powers(step) and self.is_power(initial):
                self.known.powers.add(head)
            self.known.starts[head] = 0.0
            first = initial.number if is_counted else 0.0
            if first is not None and (
                numbers := numbers_of_copies(step, increment, first, int(level.copies))
            ):
                self.known.numbers[head] = {frozenset(((head, n),)): x for n, x in enumerate(numbers)}
            if is_counted and initial.number is not None:
                self.known.starts[head] = initial.number
            elif is_counted:
                del self.known.starts[head]
            else:
                head = self.sum(initial, head, 1, level.body_region, initial.bits)
        elif is_settled:
            place = Placement(level.body_region, level, varies=varying((initial,)) | {level})
            head = Value(Shape.CONSTANT, place, bits=initial.bits, is_uniform=True)
        else:
            place = Placement(level.body_region, level, self.stack)
            declared = (
                key.type.bits if isinstance(key, Variable) else 0
            )  # what starts with 32 bits may have 64
            bits, is_uniform = max(initial.bits, declared or 0), initial.is_uniform
            is_pointer = initial.is_pointer
            head = Value(Shape.PLAIN, place, (), [initial], bits, is_uniform, is_pointer, span=self.here)
            head.guards = (self.guard,)
            if increment is not None:
                head.step = increment
                if initial.shape is Shape.CONSTANT and initial.number is not None:
                    self.known.starts[head] = initial.number
                if increment.shape is Shape.CONSTANT:
                    adds = level.rounds_made
                else:  # two words of a pointer in each copy
                    adds = 2.0 if is_pointer else math.ceil(level.unroll / 2) / level.unroll
                moves = is_pointer and adds == 2.0 and level.unroll == 1.0
                head.cost = ((InstructionKind.IADD, adds), *(((InstructionKind.MOV, 1.0),) * moves))
        self.environment[key] = head
        return head

    def constant_or_read(self, step: Induction) -> Value | None:
        """The value of a step that is a constant or a variable."""
        if step.distance is not None:
            return self.constant(step.distance, step.variable.type)
        match amount_of(step):
            case int(number):
                return self.constant(number, step.variable.type)
            case Constant() as constant:
                return self.constant(constant.value, constant.type)
            case Read(place=place):
                return self.environment.get(place.variable)
            case Builtin(kind=BuiltinKind.WARP_SIZE) as size:
                return self.builtin(size)
            case _:
                return None

    def test(self, stmt: Loop, level: LoopLevel) -> Steps:
        """The test and branch of each round, and those at the entry."""
        if stmt.condition is None:
            self.decide(self.guard, level.body_region, ((InstructionKind.BRANCH, 1.0),), ())
            return None
        before = len(self.created)
        condition = yield self.expression(stmt.condition, stmt.test_region)
        if level.is_unrolled:  # what it updates counts on, what it decides is known
            return None
        rounds = 1.0 if level.copies_leave else level.rounds_made
        counters = self.counters_of(stmt)
        further = {e.right_region for e in walk_expressions(stmt.condition) if isinstance(e, Logical)}
        for value in self.created[before:]:
            if value.place.region == stmt.test_region:
                value.place = replace(value.place, scale=rounds)
            elif value.place.region in further:  # at the entry, where one limit comes of all
                value.place = replace(value.place, scale=0.0 if counters else rounds)
        is_divided = level.unroll > 1 and not level.has_constant_trips and not level.copies_leave
        # what is left to do is counted apart from a counter that anything else needs
        counts_down = (
            is_divided
            and level.rounds is None
            and any(
                isinstance(expr, Read) and expr.place.variable in counters
                for expr in expressions_below(stmt.body)
            )
        )
        cost = ((InstructionKind.BRANCH, rounds), *(((InstructionKind.IADD, rounds),) * counts_down))
        self.decide(self.guard, level.body_region, cost, (condition,))
        # is there an iteration at all (the first of the tests above); with unrolling also: how many are left
        # over, is there a full round
        guard: Cost = ((InstructionKind.BRANCH, 1.0),)
        if is_divided and (around := self.may_divide_ahead(stmt, level)) is not None:
            guard = ((InstructionKind.ISETP, 2.0), (InstructionKind.BRANCH, 2.0), (InstructionKind.MOV, 2.0))
            self.decide(self.guard, around.entry_region, _DIVIDED, ())
        elif is_divided:
            is_skipped = level.left_over == level.trips  # no round of copies, nor what it starts with
            more = (
                (InstructionKind.IADD, 2.0 if is_skipped else 5.0),
                (InstructionKind.LOP, 1.0),
                (InstructionKind.MOV, 1.0 if is_skipped else 3.0),
            )
            is_inside = any(not one.is_unrolled for one in self.stack[:-1])
            tests = min(level.left_over, 2) if is_inside else 0
            more += ((InstructionKind.MOV, (level.unroll > PARTIAL_UNROLL) + float(level.left_over > 0)),)
            guard = ((InstructionKind.ISETP, 4.0 + tests), (InstructionKind.BRANCH, 3.0 + tests), *more)
        guard += ((InstructionKind.ISETP, float(len(further))),) * bool(further and counters)
        if (ranges := stmt.ranges) is not None:
            guard += tuple((kind, ranges.number * number) for kind, number in _OF_RANGE)
            if ranges.passed is not None:
                guard += _OF_RANGE
                self.decide(self.guard, ranges.passed, _PASSING, ())
        self.decide(self.guard, level.entry_region, guard, () if level.rounds is None else (level.rounds,))
        return None

    def may_divide_ahead(self, stmt: Loop, level: LoopLevel) -> LoopLevel | None:
        """The loop around, where each of its iterations leaves the same few iterations over, and no round.

        What decides how many is computed ahead of it then (SASS of nvcc 13).
        """
        tests = () if stmt.condition is None else walk_expressions(stmt.condition)
        if level.parent is None or (level.trips or math.inf) >= PARTIAL_UNROLL:
            return None
        if any(isinstance(expr, Load | InlinedCall) for expr in tests):
            return None
        names = bounds_of(stmt) - frozenset(self.steps_of(stmt))
        known = [value for name in names if (value := self.environment.get(name)) is not None]
        return None if level.parent in varying(known) else level.parent


_DIVIDED = (
    (InstructionKind.ISETP, 2.0),
    (InstructionKind.BRANCH, 1.0),
    (InstructionKind.IADD, 5.0),
    (InstructionKind.LOP, 1.0),
    (InstructionKind.MOV, 1.0),
)


_OF_RANGE = (
    (InstructionKind.ISETP, 6.0),
    (InstructionKind.IADD, 8.0),
    (InstructionKind.MOV, 8.0),
    (InstructionKind.BRANCH, 8.0),
)
"""Where a range of a split loop ends, and on the mean what four copies leave over of it."""
_PASSING = tuple(
    (kind, number / FURTHER_UNROLL)
    for kind, number in (
        (InstructionKind.IADD, 2.0),
        (InstructionKind.ISETP, 1.0),
        (InstructionKind.BRANCH, 1.0),
    )
)
"""What an iteration takes that does nothing."""


class _Copies(Struct, frozen=True):
    """Code with the loops in it unrolled: `size` in source operations. `follows_counter`: the bounds of one
    follow the counter of a loop around it, as in a triangle."""

    size: float
    follows_counter: bool
