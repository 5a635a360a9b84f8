"""What the instructions of a loop depend on.

Whether it is unrolled, what its counters cost, and what changes from one iteration to the next.
`kernel_facts` holds what lowering must know of a stretch of code before it reads it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum, auto
from functools import lru_cache
from itertools import product

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.counting.profile import ExecutionProfile
from wattslice.ir import (
    COMPARISONS,
    Assign,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Block,
    Break,
    Builtin,
    BuiltinKind,
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
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Select,
    Semantics,
    Stmt,
    Switch,
    Type,
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
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.loops import (
    Bound,
    Induction,
    LoopShape,
    constant_trips,
    last_updates,
    shape_of,
    written_below,
)
from wattslice.ir.operation_counts import own_operations
from wattslice.ir.rewriting import is_same_text
from wattslice.ir.walking import LEAVES, expression_regions, expressions_below
from wattslice.patterns import regex
from wattslice.workload.instructions.constants import is_counted, with_constants
from wattslice.workload.instructions.expressions import (
    Expressions,
    Step,
    Steps,
    computes_only,
    without_difference,
    working_type,
)
from wattslice.workload.instructions.forwarding import GROUP
from wattslice.workload.instructions.kinds import Cost, InstructionKind, call_cost
from wattslice.workload.instructions.operators import FOLD_WORDS, is_power
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
_SUMS = (BinaryOp.ADD, BinaryOp.SUB)
_NOTHING = Value(Shape.PLAIN, AT_START)
_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
_SCALINGS = (BinaryOp.MUL, BinaryOp.DIV)


_Steps = dict[Variable, Induction]

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
        trips = known.get(loop.region)
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
        if stride is not None and self.is_by_shares(_shape(stmt, facts).bounds[0], stride):
            stride = None
        level = self.level(stmt, steps, stride)
        outer_stack, outer = self.stack, self.guard
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
            sums_up = step is not None and step.op in _SUMS and head.shape is not Shape.INT_SUM
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

    def level(self, stmt: Loop, steps: _Steps, stride: Value | None) -> LoopLevel:
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
        indices = _indices_of(stmt, own)
        strides = not indices.are_unsigned and all(
            variable in ones or _may_not_wrap(step) for variable, step in counters.items()
        )
        starts = (self.environment.get(variable, _NOTHING).number for variable in ones)
        counts = not constant and any(start is not None for start in starts)
        has_rounds = not constant and (trips is None or trips >= PARTIAL_UNROLL)
        scales_counter = has_rounds and indices.are_stepped
        unroll = 1.0
        is_counted = _unrolls(body, counters) or stride is not None
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
                is_needed = counts and (scales_counter or _needs_sums(stmt, ones))
                unroll = PARTIAL_UNROLL if is_needed else FURTHER_UNROLL
        left_over, more_rounds = 0, 0.0
        if trips is not None and not full:
            is_whole = not constant and trips == int(trips)
            is_further = unroll == FURTHER_UNROLL and is_whole and trips >= PARTIAL_UNROLL
            made, unroll = unroll, max(1.0, min(unroll, trips))
            if is_further:
                left_over = int(trips % PARTIAL_UNROLL)
                unroll = unroll if trips >= FURTHER_UNROLL else trips / _rounds(int(trips) - left_over)
            is_inside = any(not level.is_unrolled for level in self.stack)
            if is_whole and unroll > 1.0 and not is_inside and stride is None and exits is None:
                left_over = int(trips % (min(made, PARTIAL_UNROLL) if stmt.unroll in (None, 0) else made))
                in_copies = int(trips) - left_over
                in_rounds = _rounds(in_copies) if is_further else in_copies / made
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
            wraps=not all(map(_may_not_wrap, counters.values())),
            left_over=left_over,
            more_rounds=more_rounds,
            may_load=may_load,
        )

    def steps_of(self, loop: Loop) -> _Steps:
        """Variables that change once an iteration, and how: at its end; elsewhere integers and pointers that
        something is added to.
        """
        shape = _shape(loop, self.facts.loops[loop])
        stepped = {update.variable for update in last_updates(loop)}
        going_round = self.going_round_of(loop)
        return {
            update.variable: update
            for update in shape.inductions
            if update.variable in stepped or (update.op in _SUMS and not update.variable.type.is_float)
            if update.variable not in going_round
        }

    def going_round_of(self, loop: Loop) -> frozenset[Variable]:
        """The counters that may go round their type; of a loop inside as far as it is known ahead."""
        if loop in self.going_round:
            return self.going_round[loop]
        ahead = Ahead(self.environment, self.known.widened)
        bounds = _shape(loop, self.facts.loops[loop]).bounds
        return frozenset(one.induction.variable for one in bounds if ahead.goes_round(one, loop))

    def counters_of(self, loop: Loop) -> _Steps:
        """Those of `steps_of` that alone decide how often the loop runs, by one limit; none where more does
        or one may go round.
        """
        shape = _shape(loop, self.facts.loops[loop])
        is_known = is_counted(shape) and not self.going_round_of(loop)
        found = shape.bounds if is_known else ()
        return {bound.induction.variable: bound.induction for bound in found}

    def stride_of(self, loop: Loop) -> Expr | None:
        """What a loop adds to its counter where only the run tells: `i += st` while `i < n`.

        The compiler divides the way by it to unroll the loop. It has to be signed, for what is unsigned may
        wrap (`i += blockDim.x`), and no other lane may take part in the loop. None for others.
        """
        shape = _shape(loop, self.facts.loops[loop])
        if shape.has_other_conjuncts or len(shape.bounds) != 1:
            return None
        if not self.facts.loops[loop].has.isdisjoint((Trait.ASSEMBLY, Trait.MEETS_OTHERS, Trait.BARRIER)):
            return None
        (bound,) = shape.bounds
        step, comparison = bound.induction, bound.comparison
        if isinstance(step.amount, int) or _is_constant(step) or step.op is not BinaryOp.ADD:
            return None
        if _is_bare_size(step.amount):
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

    def exits_of_copies(self, stmt: Loop, steps: _Steps) -> float | None:
        """The copies that a bare `#pragma unroll` makes of a loop that follows the counter of one around it.

        As many as it runs at most, each with the test that leaves; None where that is not known, or too much.
        """
        counters: dict[Variable, float] = {}
        regions = {level.entry_region: level.trips for level in self.stack if level.has_constant_trips}
        for loop in self.facts.loops:
            if (trips := regions.get(loop.region)) is not None:
                counters.update(dict.fromkeys(self.steps_of(loop), trips))
        others = _bounds(stmt) - frozenset(steps)
        if not steps or not others or not all(map(_is_constant, steps.values())):
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
            if inside is None or alone is None or not all(map(_is_constant, steps.values())):
                return None
            most = loop.unroll or FULL_UNROLL_TRIPS
            if trips > most or (loop.unroll is None and trips * alone.size > self.most_size(body, itself)):
                return None
            follows = False
            for variable in _bounds(loop) - frozenset(steps):
                value = self.environment.get(variable)
                follows |= variable in counters
                if variable in counters or (value is not None and value.shape is Shape.CONSTANT):
                    continue
                bounds = _shape(loop, self.facts.loops[loop]).bounds
                starts = (isinstance(strip_casts(one), Read) for one in _starts(loop))
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
            if Trait.BARRIER not in inner.has and _unrolls(inner, self.counters_of(loop)):
                size += (TRIANGLE_COPIES - 1) * whole.size + TRIANGLE_TESTS
        return size

    def has_constant_trips(self, stmt: Loop, steps: _Steps) -> bool:
        """Does the compiler know how often the loop runs: constant start, step and bound, or distance?"""
        if stmt.condition is None or not steps:
            return False
        shape = _shape(stmt, self.facts.loops[stmt])
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
                    if step is not None and not _is_constant(step):
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
        for bound in _shape(stmt, self.facts.loops[stmt]).bounds:
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
        bounds = _shape(stmt, self.facts.loops[stmt]).bounds
        return any(map(Ahead(self.environment, self.known.widened).has_few_copies, bounds))

    def is_fixed_way(self, bound: Bound) -> bool:
        """Whether a counter has a constant way to go: `p != p0 + 64` from `p0` on."""
        start = self.environment.get(bound.induction.variable)
        if start is None or start in self.known.late or not _is_constant(bound.induction):
            return False
        limit = {bound.limit} if isinstance(bound.limit, int) else set(walk_expressions(bound.limit))
        if bound.induction.op not in _SUMS and any(isinstance(one, Builtin) for one in limit):
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
        self, stmt: Loop, changing: Mapping[EnvironmentKey, Value], steps: _Steps, level: LoopLevel
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
        self, key: EnvironmentKey, initial: Value, level: LoopLevel, steps: _Steps, *, is_settled: bool
    ) -> Value:
        """The value of a variable or a part of one at the start of an iteration."""
        step = None if isinstance(key, tuple) else steps.get(key)
        increment = self.constant_or_read(step) if step is not None and step.op in _SUMS else None
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
            if _keeps_powers(step) and self.is_power(initial):
                self.known.powers.add(head)
            self.known.starts[head] = 0.0
            first = initial.number if is_counted else 0.0
            if first is not None and (numbers := _numbers(step, increment, first, int(level.copies))):
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
        match _amount(step):
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
        names = _bounds(stmt) - frozenset(self.steps_of(stmt))
        known = [value for name in names if (value := self.environment.get(name)) is not None]
        return None if level.parent in varying(known) else level.parent


_DIVIDED = (
    (InstructionKind.ISETP, 2.0),
    (InstructionKind.BRANCH, 1.0),
    (InstructionKind.IADD, 5.0),
    (InstructionKind.LOP, 1.0),
    (InstructionKind.MOV, 1.0),
)


class _Copies(Struct, frozen=True):
    """Code with the loops in it unrolled: `size` in source operations. `follows_counter`: the bounds of one
    follow the counter of a loop around it, as in a triangle."""

    size: float
    follows_counter: bool


def _bounds(loop: Loop) -> frozenset[Variable]:
    """The variables that say where a loop starts and ends."""
    tests = [] if loop.condition is None else [loop.condition]
    reads = (expr for top in (*_starts(loop), *tests) for expr in walk_expressions(top))
    return frozenset(expr.place.variable for expr in reads if isinstance(expr, Read))


def _starts(loop: Loop) -> list[Expr]:
    """What a loop begins with."""
    starts = [stmt.value for stmt in loop.init if isinstance(stmt, Declare) and stmt.value is not None]
    return starts + [
        stmt.expr.value for stmt in loop.init if isinstance(stmt, ExprStmt) and isinstance(stmt.expr, Assign)
    ]


def _rounds(iterations: int) -> int:
    """Rounds that a multiple of four iterations takes: of sixteen copies while more than twelve are left, of
    eight, of four."""
    sixteens = max(0, -(-(iterations - 12) // 16))
    return sixteens + -(-(iterations - 16 * sixteens) // 8)


def expr_is_transparent(expr: Expr) -> bool:
    """Casts and the like, which change no constant's being one."""
    return not isinstance(expr, Load | InlinedCall | Intrinsic | Assign | Increment)


class _Follows(Enum):
    """What a number has to do with a counter: it stays, it is the counter, a sum of it or a multiple."""

    NOT = auto()
    IS_IT = auto()
    IN_SUM = auto()
    OTHERWISE = auto()  # or changes for itself


def _needs_sums(loop: Loop, counters: set[Variable]) -> bool:
    """Whether a body needs sums or multiples of a counter other than in addresses: `i + k < n`, not `k < i`.

    The test of the copies then reads the counter, too, and ptxas makes no further ones.
    """
    written = {key[0] if isinstance(key, tuple) else key for key in written_below(loop)[0]}
    known = dict.fromkeys(written, _Follows.OTHERWISE) | dict.fromkeys(counters, _Follows.IS_IT)

    def kind(expr: Expr, *, in_sum: bool = False) -> _Follows:
        match expr:
            case Constant() | Builtin():
                return _Follows.NOT
            case Read(place=place):
                return known.get(place.variable, _Follows.NOT)
            case Cast(operand=operand) if expr.type.kind is operand.type.kind is TypeKind.INT:
                return kind(operand, in_sum=in_sum)
            case Binary(op=op, left=left, right=right):
                kinds = {kind(one, in_sum=op in _SUMS) for one in (left, right)}
                if kinds <= {_Follows.NOT} or _Follows.OTHERWISE in kinds:
                    return max(kinds, key=lambda one: one.value)
                factors = (left, right) if op is BinaryOp.MUL else (right,) if op is BinaryOp.SHL else ()
                is_sum = op in _SUMS or any(isinstance(strip_casts(one), Constant) for one in factors)
                return _Follows.IN_SUM if is_sum or (in_sum and op is BinaryOp.MUL) else _Follows.OTHERWISE
            case _:
                return _Follows.OTHERWISE

    def needs(expr: Expr) -> bool:
        """Whether `expr` does."""
        if isinstance(expr, Binary):
            expr = without_difference(expr)
        if (own := kind(expr)) is not _Follows.OTHERWISE:
            return own is _Follows.IN_SUM
        below = children(expr)
        if isinstance(expr, InlinedCall):
            known.update({one: kind(given) for one, given in zip(expr.parameters, below, strict=True)})
        if not isinstance(expr, PointerOffset | InlinedCall):
            return any(map(needs, below))
        return any(needs(part) for one in below for part in addends(one) if kind(part) is _Follows.OTHERWISE)

    def addends(index: Expr) -> Iterator[Expr]:
        """What an index adds up and multiplies: `i * 256` and `p[i]` of `t[i * 256 + p[i]]`."""
        match strip_casts(index):
            case Binary(op=op, left=left, right=right) if op in (*_SUMS, BinaryOp.MUL):
                yield from addends(left)
                yield from addends(right)
            case _:
                yield index

    for stmt in walk_statements(loop.body):
        for expr in statement_expressions(stmt):
            if isinstance(stmt, Declare):
                known[stmt.variable] = kind(expr)
            if needs(expr) and not (isinstance(stmt, Declare) and kind(expr) is _Follows.IN_SUM):
                return True
    return False


class _Moves(Enum):
    """How a counter `i` moves a number."""

    NOT = auto()
    LOADED = auto()  # a[i]
    AS_IT = auto()  # i
    AHEAD = auto()  # i + 1
    BY_ONE = auto()  # i + n
    DOWN = auto()  # n - i
    BY_STRIDE = auto()  # i * w, (i + 1) * w + n
    TIMES = auto()  # i * 64
    IN_SUM = auto()  # i * 64 + n
    AHEAD_IN_SUM = auto()  # (i + 1) * 64
    MULTIPLIED = auto()  # (i * w + n) * w, (n - i) * w, i * w + i * n
    OTHERWISE = auto()


_UNMOVED = (_Moves.NOT, _Moves.LOADED)
_BY_ONE = (_Moves.AS_IT, _Moves.AHEAD, _Moves.BY_ONE)
_MAY_WRAP = (_Moves.IN_SUM, _Moves.AHEAD_IN_SUM, _Moves.MULTIPLIED)


class _Indices(Struct, frozen=True):
    """What the indices of a body do with the counters of its loop: whether one of them has no sign, and
    whether the copies step an index in 32 bits.
    """

    are_unsigned: bool
    are_stepped: bool


def _indices_of(loop: Loop, counters: frozenset[Variable]) -> _Indices:
    """The indices of a loop whose copies step from address to address.

    A pointer moves by `w` with `i * w + c` and `(i - 1) * w + c`. But `i * 64 + c`, `(i * h + j) * w` and
    `(n - i) * w` may wrap on their way to 64 bits (SASS of nvcc 13): the first of them only where the counter
    is not needed elsewhere. An address in shared memory has 32 bits itself.
    """
    known = dict.fromkeys(counters, _Moves.AS_IT)

    def moves(expr: Expr) -> _Moves:
        match expr:
            case Read(place=place):
                return known.get(place.variable, _Moves.NOT)
            case Cast(operand=operand):
                return moves(operand)
            case Binary(op=op, left=left, right=right) if op in (*_SUMS, BinaryOp.MUL, BinaryOp.SHL):
                return of_two(op, left, right)
            case InlinedCall(body=Block(statements=(Return(value=value),))) if value is not None:
                known.update(zip(expr.parameters, map(moves, expr.arguments), strict=True))
                return moves(value)
            case _:
                found = {moves(one) for one in children(expr)} - {_Moves.NOT}
                is_loaded = isinstance(expr, Load) or found == {_Moves.LOADED}
                return _Moves.NOT if not found else _Moves.LOADED if is_loaded else _Moves.OTHERWISE

    def of_two(op: BinaryOp, left: Expr, right: Expr) -> _Moves:
        of_left, of_right = moves(left), moves(right)
        if of_left in _UNMOVED and of_right in _UNMOVED:
            return max(of_left, of_right, key=lambda one: one.value)
        if {of_left, of_right} & {_Moves.OTHERWISE, _Moves.LOADED} or (
            op is BinaryOp.SHL and of_right is not _Moves.NOT
        ):
            return _Moves.OTHERWISE
        if _Moves.NOT not in (of_left, of_right):
            return _Moves.MULTIPLIED if op in _SUMS else _Moves.OTHERWISE
        how, beside = (of_left, right) if of_right is _Moves.NOT else (of_right, left)
        number = _number(beside)
        if op in _SUMS:
            if op is BinaryOp.SUB and how is of_right and how in _BY_ONE:
                return _Moves.DOWN
            if how is _Moves.AS_IT:
                return _Moves.BY_ONE if number is None else _Moves.AHEAD
            return _Moves.IN_SUM if how is _Moves.TIMES else how
        if how in (_Moves.AS_IT, _Moves.AHEAD) and number is not None:
            if number == (1 if op is BinaryOp.SHL else 2):
                return _Moves.BY_STRIDE
            return _Moves.TIMES if how is _Moves.AS_IT else _Moves.AHEAD_IN_SUM
        return _Moves.BY_STRIDE if how in _BY_ONE else _Moves.MULTIPLIED

    def needs_counter(expr: Expr) -> bool:
        """Whether a number is made of the counter: no address, and no truth."""
        if (own := moves(expr)) is not _Moves.OTHERWISE:
            return own in _BY_ONE
        match expr:
            case PointerOffset(pointer=pointer):
                return needs_counter(pointer)
            case Binary(op=op) if op in COMPARISONS:
                return False
            case Assign(target=RegisterPlace(variable=variable)) if variable in counters:
                return False
            case _:
                return any(map(needs_counter, children(expr)))

    found, are_unsigned, is_needed = set[_Moves](), False, False
    for stmt in walk_statements(loop.body):
        for top in statement_expressions(stmt):
            if isinstance(stmt, Declare):
                known[stmt.variable] = moves(top)
            if not isinstance(stmt, Declare) or known[stmt.variable] is _Moves.OTHERWISE:
                is_needed |= needs_counter(top)
            for expr in walk_expressions(top):
                index = expr.index if isinstance(expr, PointerOffset) else None
                if index is not None and _is_unsigned_sum(index):
                    are_unsigned |= moves(index) not in _UNMOVED
                place = _accessed(expr)
                address = None if place is None or place.space is MemorySpace.SHARED else place.address
                while isinstance(address, PointerOffset):
                    found.add(_Moves.NOT if address.index is None else moves(address.index))
                    address = address.pointer
    is_needed |= not found.isdisjoint((*_BY_ONE, _Moves.TIMES))
    return _Indices(are_unsigned, not found.isdisjoint(_MAY_WRAP[is_needed:]))


def _is_unsigned_sum(index: Expr) -> bool:
    while isinstance(index, Cast) and index.type.bits == 64:
        index = index.operand
    return isinstance(index, Binary) and index.type.bits == 32 and not index.type.signed


def _shape(loop: Loop, facts: CodeFacts) -> LoopShape:
    """What `ir.loops` knows of `loop`; a bound in memory stays where the loop stores nothing."""
    tests = () if loop.condition is None else walk_expressions(loop.condition)
    loads = any(isinstance(expr, Load) for expr in tests)
    return shape_of(loop, memory_stays=loads and not facts.stores)


def _may_not_wrap(step: Induction) -> bool:
    """Whether counter and step are signed: `i += 32u` and `i += warp.size()` are computed without a sign.

    What has the 64 bits of an address wraps as that does.
    """
    amount = step.amount
    if step.variable.type.bits == 64:
        return True
    return step.variable.type.signed and (isinstance(amount, int) or not _is_unsigned_word(amount.type))


def _is_bare_size(amount: Expr) -> bool:
    """Whether a stride is a size of the launch alone, in more bits (SASS of nvcc 13: no copies)."""
    match amount:
        case Cast(operand=Builtin() as size):
            return (size.type.bits or 64) < (amount.type.bits or 64)
        case _:
            return False


def _is_unsigned_word(type_: Type) -> bool:
    return type_.kind is TypeKind.INT and type_.bits >= 32 and not type_.signed


def _amount(step: Induction) -> Expr | int:
    """What a step adds or multiplies by, without conversions and signs."""
    amount = step.amount
    while isinstance(amount, Cast | Unary):
        amount = amount.operand
    return amount


def _is_constant(step: Induction) -> bool:
    return isinstance(_amount(step), Constant | int)


def _numbers(step: Induction, increment: Value | None, first: float, copies: int) -> list[float]:
    """What a variable is in each of the copies of a loop; nothing where that is not known."""
    amount = _amount(step)
    factor = amount.value if isinstance(amount, Constant) else amount
    if increment is not None and increment.number is not None:
        return [first + n * increment.number for n in range(copies)]
    type_ = step.variable.type
    if not isinstance(factor, int) or factor < 0 or type_.is_float or step.op not in FOLD_WORDS:
        return []
    found = [first]
    while len(found) < copies and abs(found[-1]) < 1 << (type_.bits or 64) - 1:  # or it wraps
        found.append(FOLD_WORDS[step.op](found[-1], factor))
    return found if len(found) == copies else []


def _keeps_powers(step: Induction) -> bool:
    """Whether a step makes a power of two of one."""
    amount = _amount(step)
    factor = amount.value if isinstance(amount, Constant) else amount
    return step.op in _SHIFTS or (
        step.op in _SCALINGS and isinstance(factor, int | float) and is_power(factor)
    )


def _unrolls(body: CodeFacts, steps: _Steps) -> bool:
    """Counted by constant steps, and with no arm that returns."""
    counted = bool(steps) and all(_is_constant(step) and step.op in _SUMS for step in steps.values())
    return counted and not body.has.issuperset((Trait.LONG_ARM, Trait.RETURN))


PREDICATED_SIZE = 12
"""Source operations in an arm, but for those made ahead of the loop, up to which it is predicated."""
PREDICATED_INSTRUCTIONS, UNSYNCHRONISED_INSTRUCTIONS = 8, 20
"""Instructions in an arm that loads nothing up to which it is predicated, and, in a loop and without another
arm, branched around with no BSSY and BSYNC."""
MOST_MADE = 256
"""Source operations in an arm above which it is not asked which of them copies of a loop have made."""
ROTATION_SIZE = 3
"""Source operations of a rotation that shifts make (nvcc 13: 180 copies of two and two sums, not 200)."""
SELECTED_SIZE = 4
"""Source operations in an arm without memory up to which it is computed in any case (nvcc 13: 3, not 6)."""


class Trait(Enum):
    """What there is somewhere in a stretch of code.

    `ASSEMBLY`: inline assembly, also in the headers of CUDA: the compiler does not know whether control comes
    back. `MEETS_OTHERS`: an atomic, a fence, or an exchange between lanes; `IN_WARPS`: but for an atomic that
    each lane makes for itself. `LONG_ARM`: an `if` whose first
    arm is too long to be predicated, and no short way out.
    """

    BARRIER = auto()
    ASSEMBLY = auto()
    MEETS_OTHERS = auto()
    IN_WARPS = auto()
    LOADS = auto()
    INTRINSIC = auto()
    DIVISION = auto()  # many instructions, but one operation to what unrolls loops
    NESTED = auto()  # loops and switches
    LONG_ARM = auto()
    EXIT = auto()  # of a loop inside
    BREAK = auto()  # of this loop or switch
    CONTINUE = auto()
    RETURN = auto()
    OWN_ARRAY = auto()  # of the thread, which unrolling may put into registers


class Guarded(Struct, frozen=True, eq=False):
    """A load, or a store, at an `index` that has multiples of the variables `scaled` in it.

    `condition`: what decides whether it is made, of an `if` or `?:` inside; `arm`: which way.
    """

    is_load: bool
    index: Expr | None = None
    scaled: frozenset[Variable] = frozenset()
    condition: Expr | None = None
    arm: bool = False


class CodeFacts(Struct, eq=False):
    """A stretch of code with everything nested in it, bodies of inlined calls included.

    `size`: source operations, each once; an access of an array of the thread is one, whose index is a number
    in each copy of an unrolled loop. `written`: register variables, parts of them and local arrays that
    may change; `assigned`: variables of which an assignment changes a part or all. `stores`: to what.
    `elements`: of accesses to arrays of the thread, the variables in the index; `rewritten`: of those that
    write.
    """

    parent: CodeFacts | None = None
    condition: Expr | None = None
    is_first_arm: bool = False
    is_loop: bool = False
    is_switch: bool = False
    size: float = 0.0
    products: int = 0  # multiplications: sums take them along
    instructions: float = 0.0  # of functions, beyond their operations, less the products that sums take along
    has: set[Trait] = field(default_factory=set[Trait])
    elements: list[frozenset[Variable]] = field(default_factory=list[frozenset[Variable]])
    rewritten: list[frozenset[Variable]] = field(default_factory=list[frozenset[Variable]])
    written: dict[EnvironmentKey, None] = field(default_factory=dict[EnvironmentKey, None])  # in their order
    assigned: set[Variable] = field(default_factory=set[Variable])
    stores: dict[tuple[MemorySpace, Variable | None], None] = field(
        default_factory=dict[tuple[MemorySpace, Variable | None], None]
    )
    inner_loops: list[Loop] = field(default_factory=list[Loop])  # not those inside of these
    accesses: list[Guarded] = field(default_factory=list[Guarded])

    @property
    def is_short(self) -> bool:
        """Short enough to be predicated: few operations, no loop, no call, no way out."""
        return self.is_short_but()

    def is_short_but(self, *traits: Trait) -> bool:
        """The same where `traits` do not matter."""
        is_plain = self.has.isdisjoint(_NEVER_PREDICATED.difference(traits))
        return is_plain and (
            self.most_predicated >= self.size or self.most_predicated >= self.size - self.resting
        )

    @property
    def most_predicated(self) -> float:
        """Up to how many source operations it is predicated: those with loads to more."""
        if Trait.LOADS in self.has:
            return PREDICATED_SIZE - max(0.0, self.instructions)
        return PREDICATED_INSTRUCTIONS - self.instructions

    @property
    def needs_no_sync(self) -> bool:
        """Whether it is branched around, but by lanes that meet anyhow (in a loop)."""
        is_plain = self.has.isdisjoint((*_NEVER_PREDICATED, Trait.LOADS))
        return is_plain and self.size + self.instructions <= UNSYNCHRONISED_INSTRUCTIONS

    def is_short_without(self, known: Callable[[], float]) -> bool:
        """The same of an arm in an unrolled loop, where each copy has `known` operations made already."""
        if self.is_short or self.size > MOST_MADE or not self.has.isdisjoint(_NEVER_PREDICATED):
            return self.is_short
        return self.size - self.resting - known() <= self.most_predicated

    @property
    def resting(self) -> float:
        """Source operations in indices that no iteration of the loop around changes: they are made ahead."""
        around = self
        while around is not None and not around.is_loop:
            around = around.parent
        if around is None:
            return 0.0
        written = {key[0] if isinstance(key, tuple) else key for key in around.written}
        found, stack = 0.0, [one.index for one in self.accesses if one.index is not None]
        while stack:
            expr = stack.pop()
            if not written.isdisjoint(_read_variables(expr)):
                stack += children(expr)
            else:
                found += sum(n for e in walk_expressions(expr) for _, n in own_operations(e))
        return found

    @property
    def is_selected(self) -> bool:
        """So short that it is computed in any case, and only its result chosen: no memory is accessed."""
        is_small = self.is_short and self.size <= SELECTED_SIZE
        return is_small and not self.stores and Trait.LOADS not in self.has

    @property
    def guards(self) -> list[Expr]:
        """By what an `if` or `?:` loads or not."""
        return [one.condition for one in self.accesses if one.is_load and one.condition is not None]

    @property
    def accesses_in_arms(self) -> bool:
        """Whether an `if` or `?:` decides about a store, or a load that is not made in any case."""
        loaded = [one.index for one in self.accesses if one.is_load and one.condition is None and one.index]
        return any(
            one.condition is not None
            and not (one.is_load and one.index and any(is_written_alike(one.index, i) for i in loaded))
            for one in self.accesses
        )

    def guarded_alone(self, counters: frozenset[Variable]) -> list[Guarded]:
        """The accesses that an `if` decides about and whose addresses no pointer has that steps along.

        Those at multiples of one of `counters`, but by two, where neither the other arm has any nor an access
        in any case the same index.
        """
        scaled = [one for one in self.accesses if not one.scaled.isdisjoint(counters)]
        steady = [one.index for one in scaled if one.condition is None]
        arms = {(one.condition, one.arm) for one in scaled}
        return [
            one
            for one in scaled
            if one.condition is not None
            and (one.condition, not one.arm) not in arms
            and not any(is_written_alike(one.index, index) for index in steady if index and one.index)
        ]

    @property
    def may_leave(self) -> bool:
        """Whether something in the body of a loop may end it, or a loop inside."""
        return not self.has.isdisjoint((Trait.EXIT, Trait.BREAK))

    def size_in(self, counters: frozenset[Variable]) -> float:
        """Source operations, and the elements of own arrays that a loop over `counters` chooses: those that
        only loops inside choose are registers once these are unrolled.
        """
        return self.size + sum(not counters.isdisjoint(index) for index in self.elements)

    def absorb(self, inner: CodeFacts) -> None:
        """Add what a nested stretch does."""
        self.size += inner.size
        self.products += inner.products
        self.instructions += inner.instructions
        own = {Trait.BREAK} if inner.is_loop or inner.is_switch else set[Trait]()
        self.accesses += (
            one
            if inner.condition is None or one.condition is not None
            else replace(one, condition=inner.condition, arm=inner.is_first_arm)
            for one in inner.accesses
        )
        self.has |= inner.has - own
        if inner.is_loop and Trait.BREAK in inner.has:
            self.has.add(Trait.EXIT)
        is_way_out = Trait.BREAK in inner.has and inner.size <= PREDICATED_SIZE
        is_long = not inner.is_short_but(Trait.DIVISION) and not is_way_out
        if inner.is_first_arm and is_long:
            self.has.add(Trait.LONG_ARM)
        self.elements += inner.elements
        self.rewritten += inner.rewritten
        self.assigned |= inner.assigned
        self.stores |= inner.stores
        if not inner.is_loop:
            self.inner_loops += inner.inner_loops


_NEVER_PREDICATED = frozenset(
    (
        Trait.NESTED,
        Trait.EXIT,
        Trait.BREAK,
        Trait.CONTINUE,
        Trait.RETURN,
        Trait.INTRINSIC,
        Trait.DIVISION,
        Trait.MEETS_OTHERS,
    )
)


class KernelFacts(Struct):
    """Facts about the arms of `if`s and the bodies of loops (`blocks`), and loops without their `init`."""

    blocks: dict[Block, CodeFacts] = field(default_factory=dict[Block, CodeFacts])
    loops: dict[Loop, CodeFacts] = field(default_factory=dict[Loop, CodeFacts])


@lru_cache(maxsize=4)
def kernel_facts(kernel: Kernel) -> KernelFacts:
    """The facts about all of `kernel`; kept for the last few kernels, for nobody changes them."""
    facts, is_fast = KernelFacts(), bool(kernel.fast_math)
    work: list[tuple[Stmt, CodeFacts]] = [(kernel.body, CodeFacts())]
    joining: set[Return] = set()
    inside: list[CodeFacts] = []  # every stretch after the one around it

    def nested(
        block: Block, around: CodeFacts, arm_of: Expr | None = None, *, is_first: bool = False
    ) -> None:
        own = facts.blocks[block] = CodeFacts(around, arm_of, is_first)
        inside.append(own)
        work.append((block, own))

    while work:
        stmt, here = work.pop()
        around = here
        if isinstance(stmt, Loop):
            here.has.add(Trait.NESTED)
            here.inner_loops.append(stmt)
            work.extend((inner, here) for inner in stmt.init)
            around = facts.loops[stmt] = CodeFacts(here, is_loop=True)
            inside.append(around)
            nested(stmt.body, around)
        elif isinstance(stmt, Switch):
            here.has.add(Trait.NESTED)
            inside.append(own := CodeFacts(here, is_switch=True))
            work.extend((inner, own) for inner in nested_statements(stmt))
        elif isinstance(stmt, If):
            nested(stmt.then, here, stmt.condition, is_first=True)
            if stmt.otherwise is not None:
                nested(stmt.otherwise, here, stmt.condition)
        else:
            if stmt not in joining:
                _note_statement(stmt, here)
            work.extend([(inner, here) for inner in nested_statements(stmt)])
        for expr, _ in expression_regions(stmt):
            for body in _note_expressions(expr, around, is_fast=is_fast):
                joining.update(_joining_returns(body))
                work.append((body, around))
    for own in reversed(inside):
        if own.parent is not None:
            own.parent.written |= own.written
    for own in reversed(inside):
        if own.parent is not None:
            own.parent.absorb(own)
    return facts


def _joining_returns(body: Block) -> Iterator[Return]:
    """The returns of an inlined function that are no way out: with which it ends, in each arm.

    Of one that loads nothing and has no loop all: it computes what each may give, and chooses.
    """
    below = tuple(walk_statements(body))
    if not any(isinstance(stmt, Loop | Switch) for stmt in below) and not any(
        isinstance(expr, Load) for expr in expressions_below(body)
    ):
        yield from (stmt for stmt in below if isinstance(stmt, Return))
        return
    last: list[Stmt | None] = [body]
    while last:
        match last.pop():
            case Block(statements=(*_, end), is_breakable=False):
                last.append(end)
            case If(then=then, otherwise=otherwise):
                last += [then, otherwise]
            case Return() as found:
                yield found
            case _:
                pass


def _note_statement(stmt: Stmt, facts: CodeFacts) -> None:
    if isinstance(stmt, Declare):
        if stmt.value is not None:
            facts.written[stmt.variable] = None
    elif isinstance(stmt, Break):
        facts.has.add(Trait.BREAK if stmt.levels == 1 else Trait.EXIT)
    elif isinstance(stmt, Continue):
        facts.has.add(Trait.CONTINUE)
    elif isinstance(stmt, Return):
        facts.has.add(Trait.RETURN)


def _note_expressions(top: Expr, facts: CodeFacts, *, is_fast: bool) -> list[Block]:
    """Note what `top` and all below do; the bodies of the calls inlined in it.

    `is_fast`: compiled with `--use_fast_math`.
    """
    bodies: list[Block] = []
    stack = [top]
    folded: set[Expr] = set()  # indices of the thread's own arrays
    chosen: dict[Expr, tuple[Expr, bool]] = {}  # what is evaluated only as something else decides
    while stack:
        expr = stack.pop()
        if type(expr) in LEAVES:
            continue
        if (own := _own_array(expr)) is not None:
            folded.add(own.address)
            facts.has.add(Trait.OWN_ARRAY)
            facts.elements.append(_read_variables(own.address))
            if isinstance(expr, Assign | Increment):
                facts.rewritten.append(facts.elements[-1])
        if expr in folded:
            folded.update(children(expr))
        else:
            facts.size += sum(number for _, number in own_operations(expr))
        if _is_assembly(expr):
            facts.has.add(Trait.ASSEMBLY)
        if isinstance(expr, Load):
            facts.has.add(Trait.LOADS)
        if (place := _accessed(expr)) is not None:
            condition, arm = chosen.get(expr, (None, False))
            index, scaled = _scaled_index(place)
            facts.accesses.append(Guarded(isinstance(expr, Load), index, scaled, condition, arm))
        facts.products += isinstance(expr, Binary) and expr.op is BinaryOp.MUL
        facts.instructions -= _takes_product(expr)
        if _is_division(expr) and not (is_fast and expr.type.is_float):
            facts.has.add(Trait.DIVISION)
        if isinstance(expr, Assign | Increment):
            _note_target(expr, facts)
        elif isinstance(expr, Atomic):
            facts.stores[expr.place.space, expr.place.root] = None
            facts.has.add(Trait.MEETS_OTHERS)
            if expr.place.space is MemorySpace.SHARED or _is_by_warp(expr):
                facts.has.add(Trait.IN_WARPS)
        elif isinstance(expr, Intrinsic):
            if (number := _straight_code(expr, is_fast=is_fast)) is None:
                facts.has.add(Trait.INTRINSIC)
            else:
                facts.instructions += number - sum(number for _, number in own_operations(expr))
            if _EXCHANGE.match(expr.name):
                facts.has |= {Trait.MEETS_OTHERS, Trait.IN_WARPS}
            if expr.semantics is Semantics.BARRIER:
                facts.has.add(Trait.BARRIER)
        elif isinstance(expr, InlinedCall):
            facts.written.update(dict.fromkeys(expr.parameters))
            bodies.append(expr.body)
        turned = _rotated(expr)
        below = children(expr) if turned is None else children(turned)[:1]
        if turned is not None and expr not in folded:
            facts.size += ROTATION_SIZE - 1
        if expr in chosen:
            chosen.update(dict.fromkeys(below, chosen[expr]))
        elif isinstance(expr, Select | Logical):
            chosen.update((part, (below[0], part is below[1])) for part in below[1:])
        stack.extend(below)
    return bodies


_ONE_INSTRUCTION = (Semantics.MIN, Semantics.MAX, Semantics.ABS, Semantics.FMA)


def _straight_code(call: Intrinsic, *, is_fast: bool) -> float | None:
    """The instructions of a function that an arm may have and still be predicated; None: it branches, or does
    more than compute.
    """
    if call.semantics in _ONE_INSTRUCTION or call.semantics is Semantics.IDENTITY:
        return 1.0
    if not computes_only(call):
        return None
    cost = call_cost(call.name, working_type(call), call.operations, fast=is_fast)
    return None if InstructionKind.BRANCH in dict(cost) else sum(number for _, number in cost)


def _takes_product(expr: Expr) -> bool:
    """Whether a sum takes a product along."""
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=left, right=right):
            parts = (left, right)
        case Assign(op=BinaryOp.ADD | BinaryOp.SUB, value=value):
            parts = (value,)
        case _:
            return False
    return any(isinstance(one, Binary) and one.op is BinaryOp.MUL for one in map(strip_casts, parts))


def _is_by_warp(expr: Atomic) -> bool:
    """Whether a warp may make an atomic for all of its lanes: it adds up integers, or compares them."""
    return not expr.type.is_float and expr.op not in (AtomicOp.EXCHANGE, AtomicOp.CAS)


_EXCHANGE = regex(r"(__)?(shfl|ballot|any|all|match|reduce|uni|syncwarp|threadfence)(_|$)")
_ASSEMBLY = regex(r"asm |__(dp[24]a|match_|reduce_|funnelshift|activemask)")
"""Functions that the headers of CUDA 13 write in inline assembly (SASS: stores stay in loops with them)."""


def _is_assembly(expr: Expr) -> bool:
    """Whether `expr` is inline assembly to the compiler, as all that computes with 16-bit floats is."""
    match expr:
        case Load(place=place):
            return place.is_assembly
        case Intrinsic(name=name) if _ASSEMBLY.match(name):
            return True
        case Cast(operand=operand):
            return _is_half(expr.type) or _is_half(operand.type)
        case Binary() | Intrinsic():
            return _is_half(expr.type)
        case _:
            return False


def _is_division(expr: Expr) -> bool:
    """Whether `expr` divides by what is no number: not words without a sign, of which it takes few."""
    match expr:
        case (
            Binary(op=BinaryOp.DIV | BinaryOp.MOD, right=right, operand_type=type_)
            | Assign(op=BinaryOp.DIV | BinaryOp.MOD, value=right, operand_type=type_)
        ):
            is_short = type_.kind is TypeKind.INT and not type_.signed and type_.bits <= 32
            return not isinstance(strip_casts(right), Constant) and not is_short
        case _:
            return False


def _rotated(expr: Expr) -> Binary | None:
    """The shift down of `x >> n | x << bits - n`, a rotation by a number: what it turns is there once."""
    if not isinstance(expr, Binary) or expr.op not in (BinaryOp.OR, BinaryOp.XOR, BinaryOp.ADD):
        return None
    match strip_casts(expr.left), strip_casts(expr.right):
        case Binary(op=BinaryOp.SHR) as down, Binary(op=BinaryOp.SHL) as up:
            pass
        case Binary(op=BinaryOp.SHL) as up, Binary(op=BinaryOp.SHR) as down:
            pass
        case _:
            return None
    distances = [_number(down.right), _number(up.right)]
    if down.type.signed or None in distances or sum(filter(None, distances)) != down.type.bits:
        return None
    return down if is_same_text(down.left, up.left) else None


def _number(expr: Expr) -> int | float | None:
    """A number, or the difference of two; None for others."""
    match strip_casts(expr):
        case Constant(value=value):
            return value
        case Binary(op=BinaryOp.SUB, left=Constant(value=whole), right=Constant(value=part)):
            return whole - part
        case _:
            return None


def _is_half(type_: Type) -> bool:
    return type_.is_float and type_.bits == 16


def _accessed(expr: Expr) -> MemoryPlace | None:
    """What an expression loads or stores."""
    place = expr.place if isinstance(expr, Load) else None
    if isinstance(expr, Assign | Increment):
        place = expr.target
    return place if isinstance(place, MemoryPlace) else None


def _scaled_index(place: MemoryPlace) -> tuple[Expr | None, frozenset[Variable]]:
    """The index of an address of 64 bits but for its constant, and what variables it multiplies, but by 2."""
    address = place.address
    if place.space is MemorySpace.SHARED or not isinstance(address, PointerOffset) or address.index is None:
        return None, frozenset()
    found: set[Variable] = set()
    for expr in walk_expressions(address.index):
        if isinstance(expr, Binary) and expr.op in (BinaryOp.MUL, BinaryOp.SHL):
            factors = [one.value for one in (expr.left, expr.right) if isinstance(one, Constant)]
            if factors != [2 if expr.op is BinaryOp.MUL else 1]:
                found |= _read_variables(expr)
    index = strip_casts(address.index)
    while isinstance(index, Binary) and index.op in _SUMS and isinstance(index.right, Constant):
        index = strip_casts(index.left)
    return index, frozenset(found)


def _own_array(expr: Expr) -> MemoryPlace | None:
    """What an expression accesses of an array of the thread."""
    place = _accessed(expr)
    return place if place is not None and place.space is MemorySpace.LOCAL else None


def _read_variables(address: Expr) -> frozenset[Variable]:
    places = (expr.place for expr in walk_expressions(address) if isinstance(expr, Read))
    return frozenset(place.variable for place in places)


def _note_target(expr: Assign | Increment, facts: CodeFacts) -> None:
    target = expr.target
    if isinstance(target, RegisterPlace):
        facts.written[(target.variable, target.path) if target.path else target.variable] = None
        facts.assigned.add(target.variable)
        return
    facts.stores[target.space, target.root] = None
    if target.space is MemorySpace.LOCAL and target.root is not None:
        facts.written[target.root] = None
