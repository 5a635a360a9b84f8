"""Loops, understood once: counters, bounds, steps and trip counts, whatever form they are written in.

A variable is an *induction* variable when each iteration updates it exactly once, unconditionally, by the
same operation with an amount that the loop does not change. The trip count then follows in closed form, and
the value at any iteration is known without running those before. A new form of step is a case of `update_of`
(or of `_distance`, where it goes by way of other registers), a new form of test one of `_Header.bound`;
counting, the reading of host code and the instructions of loops take what these find.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.c_arithmetic import COMPARE
from wattslice.ir.objects import FOLLOWED


class Induction(Struct, frozen=True, eq=False):
    """`variable = variable op amount` once an iteration (`amount` in bytes for pointers: times `scale`)."""

    variable: ir.Variable
    op: ir.BinaryOp
    amount: ir.Expr | int
    scale: int

    @property
    def distance(self) -> int | None:
        """What one iteration adds, where that is a number."""
        amount = self.amount.value if isinstance(self.amount, ir.Constant) else self.amount
        if not isinstance(amount, int) or self.op not in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
            return None
        return amount * self.scale if self.op is ir.BinaryOp.ADD else -amount * self.scale


class Bound(Struct, frozen=True, eq=False):
    """One conjunct of the loop's condition: `counter comparison limit`, the counter that of `induction`.

    `shift` is what the test itself adds to the counter before comparing (`--n > 0`: -1). `type_`: in which it
    compares, where that is told.
    """

    induction: Induction
    comparison: ir.BinaryOp
    limit: ir.Expr | int
    shift: int
    type_: ir.Type = ir.UNKNOWN_TYPE


class Exit(Struct, frozen=True, eq=False):
    """`if (...) break;` or `return` that each iteration meets: `bounds` hold as long as it is not taken.

    `behind_step`: the counters that have taken this iteration's step there.
    `has_other_conjuncts`: it is also taken for reasons that are no bounds.
    """

    stmt: ir.If
    bounds: tuple[Bound, ...]
    behind_step: frozenset[ir.Variable]
    has_other_conjuncts: bool


class LoopShape(Struct, frozen=True, eq=False):
    """The static facts of one loop.

    `assigned`: the registers that it writes. `overwritten`: records, vectors and objects in memory of which
    it writes the whole, or a part that only the run tells. `counters`: the variables of its `inductions`;
    `stepped`: those that its step updates, behind the body. `bounds` holds the conjuncts that compare a
    counter with something invariant; `has_other_conjuncts`: the condition asks for more than that.
    `iterations_differ`: some condition, bound or selector inside the body depends on the iteration, or which
    pointer is loaded (at the sites `moving_pointers`), so that iterations must be told apart. `may_leave`: a
    `break` or `return` inside may end the loop early. `size`: number of expression nodes in the loop, a
    measure of the work of one iteration. `updated_in_test`: counters that the condition itself updates.
    `exits`: the ways out of the body that compare a counter with something invariant; they are not among what
    `iterations_differ` for, unless they ask for more.
    """

    loop: ir.Loop
    assigned: frozenset[ir.RegisterKey]
    overwritten: frozenset[ir.Variable]
    inductions: tuple[Induction, ...]
    counters: frozenset[ir.Variable]
    stepped: frozenset[ir.Variable]
    bounds: tuple[Bound, ...]
    has_other_conjuncts: bool
    iterations_differ: bool
    moving_pointers: frozenset[int]
    may_leave: bool
    updated_in_test: frozenset[ir.Variable]
    exits: tuple[Exit, ...]
    has_loops: bool
    size: int


@lru_cache(maxsize=1024)
def shape_of(loop: ir.Loop, *, memory_stays: bool = False) -> LoopShape:
    """The static facts of `loop`; `memory_stays`: what is loaded for a bound is taken not to change.

    Kept for the last loops: every evaluation of a kernel, and every reading of host code, asks anew.
    """
    nodes = _nodes(loop)
    assigned = _assignments(nodes, loop.body)
    known = _definitions(loop.body, assigned)
    conjuncts = () if is_endless(loop) or loop.condition is None else tuple(conjuncts_of(loop.condition))
    updates: list[Induction] = []
    for expr in once_an_iteration(loop):
        update = update_of(expr)
        if update is None or not is_invariant(update.amount, assigned):
            update = _chained_update(expr, known) or update
        if update:
            updates.append(update)
    in_test = [  # the first conjunct is always evaluated, hence unconditional
        update
        for node in (ir.walk_expressions(conjuncts[0][0]) if conjuncts else ())
        if isinstance(node, ir.Increment) and (update := update_of(node)) is not None
    ]
    inductions = tuple(
        update
        for update in (*updates, *in_test)
        if assigned[update.variable] == 1 and is_invariant(update.amount, assigned)
    )
    counters = {induction.variable: induction for induction in inductions}
    stepped = frozenset(update.variable for update in step_updates(loop))
    updated_in_test = frozenset(update.variable for update in in_test)
    at_bottom = known if loop.kind is ir.LoopKind.DO else {}  # where the test is, they are of this iteration
    header = _Header(counters, assigned, at_bottom, stepped, memory_stays)
    bounds = [header.bound(*conjunct) for conjunct in conjuncts]
    at_top = _Header(counters, assigned, {}, stepped, memory_stays)
    exits = tuple(_exits(loop, at_top, updated_in_test))
    solved = frozenset(exit_.stmt for exit_ in exits if not exit_.has_other_conjuncts)
    loads_pointers = any(
        isinstance(node, ir.Load) and node.type.kind is ir.TypeKind.POINTER for node in nodes
    )
    taint = _IterationTaint(frozenset(counters), assigned, solved, loads_pointers)
    taint.visit(loop.body, conditional=False)
    return LoopShape(
        loop=loop,
        assigned=frozenset(assigned),
        overwritten=_overwritten(nodes, loop.body),
        inductions=inductions,
        counters=frozenset(counters),
        stepped=stepped,
        bounds=tuple(bound for bound in bounds if bound is not None),
        has_other_conjuncts=None in bounds,
        iterations_differ=taint.differ or bool(taint.moving),
        moving_pointers=frozenset(taint.moving),
        may_leave=may_leave(loop.body),
        updated_in_test=updated_in_test,
        exits=exits,
        has_loops=any(isinstance(stmt, ir.Loop) for stmt in ir.walk_statements(loop.body)),
        size=max(1, len(nodes)),
    )


def is_endless(loop: ir.Loop) -> bool:
    """`for (;;)`, `while (true)`: only something inside ends it."""
    return loop.condition is None or (isinstance(loop.condition, ir.Constant) and loop.condition.value != 0)


def canonical(loop: ir.Loop) -> ir.Loop:
    """A loop that a counter ends with its test in the head, or behind the body, wherever it is written.

    `for (;;) { if (c) break; ... }` becomes `for (; !c;) { ... }`, or with the test at its end
    `do ... while (!c)`. They say the same and count the same. What data decide stays the branch that a
    profile knows; any other loop comes back as is.
    """
    statements = loop.body.statements
    if not is_endless(loop) or not statements:
        return loop
    if (test := break_test(statements[0])) is not None:
        kind, rest = ir.LoopKind.FOR if loop.kind is ir.LoopKind.FOR else ir.LoopKind.WHILE, statements[1:]
    elif loop.step is None and (test := break_test(statements[-1])) is not None:
        kind, rest = ir.LoopKind.DO, statements[:-1]
        if any(map(_continues, rest)):
            return loop
    else:
        return loop
    turned = replace(loop, kind=kind, condition=test, body=replace(loop.body, statements=rest))
    shape = shape_of(turned)
    return turned if shape.bounds and not shape.has_other_conjuncts else loop


def break_test(stmt: ir.Stmt) -> ir.Expr | None:
    """What must hold for `if (...) break;` not to leave; None for any other statement."""
    if not isinstance(stmt, ir.If) or stmt.otherwise is not None or len(stmt.then.statements) != 1:
        return None
    (only,) = stmt.then.statements
    if not (isinstance(only, ir.Break) and only.levels == 1):
        return None
    if isinstance(stmt.condition, ir.Unary) and stmt.condition.op is ir.UnaryOp.NOT:
        return stmt.condition.operand
    return ir.Unary(ir.UnaryOp.NOT, stmt.condition, ir.BOOL, stmt.condition.span)


def whole_limit(comparison: ir.BinaryOp, limit: float) -> int | None:
    """The integer that an integral counter meets as it would meet `limit`; None where it meets none."""
    if limit.is_integer():
        return int(limit)
    if not math.isfinite(limit) or comparison in (ir.BinaryOp.EQ, ir.BinaryOp.NE):
        return None
    rounds_up = comparison in (ir.BinaryOp.LT, ir.BinaryOp.GE)
    return math.ceil(limit) if rounds_up else math.floor(limit)


def constant_trips(start: int, step: int, comparison: ir.BinaryOp, limit: int) -> int | None:
    """Iterations of `for (v = start; v comparison limit; v += step)`; None when it does not end so."""
    if not COMPARE[comparison](start, limit):
        return 0
    distance = limit - start
    if comparison is ir.BinaryOp.EQ:  # runs once where it holds, because the counter then moves away
        return 1 if step else None
    if comparison is ir.BinaryOp.NE:
        return distance // step if step and distance % step == 0 and distance // step >= 0 else None
    if comparison in (ir.BinaryOp.GT, ir.BinaryOp.GE):
        distance, step = -distance, -step
    if comparison in (ir.BinaryOp.LE, ir.BinaryOp.GE):
        distance += 1
    return -(-distance // step) if step > 0 else None


# ---------------------------------------------------------------------------------------------- steps

_UPDATES = frozenset(
    {ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL, ir.BinaryOp.DIV, ir.BinaryOp.SHL, ir.BinaryOp.SHR}
)


def update_of(expr: ir.Expr) -> Induction | None:
    """The update `expr` makes, if it has the form of an induction step."""
    if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace) and not expr.target.path:
        return Induction(expr.target.variable, ir.BinaryOp.ADD, expr.delta, expr.step_bytes or 1)
    if not (
        isinstance(expr, ir.Assign) and isinstance(expr.target, ir.RegisterPlace) and not expr.target.path
    ):
        return None
    variable = expr.target.variable
    is_pointer = variable.type.kind is ir.TypeKind.POINTER
    if expr.op is not None:
        scale = variable.type.element.size_bytes if is_pointer and variable.type.element else 1
        return Induction(variable, expr.op, expr.value, scale) if expr.op in _UPDATES else None
    value = ir.strip_casts(expr.value)
    if isinstance(value, ir.PointerOffset) and ir.read_variable(value.pointer) is variable:
        if value.index is None:
            return Induction(variable, ir.BinaryOp.ADD, value.offset_bytes, 1)
        op = ir.BinaryOp.SUB if value.subtract else ir.BinaryOp.ADD
        return Induction(variable, op, value.index, value.scale_bytes) if value.offset_bytes == 0 else None
    if isinstance(value, ir.Binary) and value.op in _UPDATES:
        if ir.read_variable(value.left) is variable:
            return Induction(variable, value.op, value.right, 1)
        if value.op in (ir.BinaryOp.ADD, ir.BinaryOp.MUL) and ir.read_variable(value.right) is variable:
            return Induction(variable, value.op, value.left, 1)
    return None


def step_updates(loop: ir.Loop) -> tuple[Induction, ...]:
    """The updates that the step of a loop makes, `i++, j += 2`."""
    parts = () if loop.step is None else always_evaluated(loop.step)
    return tuple(update for part in parts if (update := update_of(part)) is not None)


def last_updates(loop: ir.Loop) -> Iterator[Induction]:
    """The updates that the step of a loop makes, or what ends its body in place of one."""
    yield from step_updates(loop)
    for stmt in reversed(tuple(_straight_line(loop.body)) if loop.step is None else ()):
        parts = ir.comma_parts(stmt.expr) if isinstance(stmt, ir.ExprStmt) else ()
        updates = [update for part in parts if (update := update_of(part)) is not None]
        if not updates:
            return
        yield from updates


def written_in(loop: ir.Loop) -> Counter[ir.RegisterKey]:
    """How many times each register is written in a loop, textually."""
    return _assignments(_nodes(loop), loop.body)


@lru_cache(maxsize=256)
def written_below(body: ir.Stmt) -> tuple[frozenset[ir.RegisterKey], frozenset[ir.Variable]]:
    """The registers that `body` writes, and what it writes the whole of, as `LoopShape` has them."""
    nodes = list(ir.expressions_below(body))
    return frozenset(_assignments(nodes, body)), _overwritten(nodes, body)


def _nodes(loop: ir.Loop) -> list[ir.Expr]:
    nodes = list(ir.expressions_below(loop.body))
    for expr in (loop.condition, loop.step):
        if expr is not None:
            nodes += ir.walk_expressions(expr)
    return nodes


def _assignments(nodes: list[ir.Expr], body: ir.Stmt) -> Counter[ir.RegisterKey]:
    """How many times each register is written, textually."""
    written: Counter[ir.RegisterKey] = Counter()
    for node in nodes:
        if isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
            written[ir.register_key(node.target)] += 1
            if node.target.path:
                written[node.target.variable] += 1
        elif isinstance(node, ir.Assign | ir.Increment | ir.Atomic):
            place = node.place if isinstance(node, ir.Atomic) else node.target
            if isinstance(place, ir.MemoryPlace) and place.root is not None and place.space in FOLLOWED:
                written[place.root] += 1
        elif isinstance(node, ir.InlinedCall):
            written.update(node.parameters)
    for stmt in ir.walk_statements(body):
        if isinstance(stmt, ir.Declare):
            written[stmt.variable] += 1
    return written


def _overwritten(nodes: list[ir.Expr], body: ir.Stmt) -> frozenset[ir.Variable]:
    """The variables with parts that are written as a whole, or in memory."""
    found = {stmt.variable for stmt in ir.walk_statements(body) if isinstance(stmt, ir.Declare)}
    for node in nodes:
        if isinstance(node, ir.InlinedCall):
            found.update(node.parameters)
        elif isinstance(node, ir.Assign | ir.Increment):
            place = node.target
            if isinstance(place, ir.RegisterPlace):
                if _has_parts(place.type):
                    found.add(place.variable)
            elif place.root is not None and place.space in FOLLOWED:
                found.add(place.root)
    return frozenset(v for v in found if _has_parts(v.type) or v.space in FOLLOWED)


def _has_parts(type_: ir.Type) -> bool:
    return type_.lanes > 1 or type_.kind in (ir.TypeKind.RECORD, ir.TypeKind.ARRAY)


def once_an_iteration(loop: ir.Loop) -> Iterator[ir.Expr]:
    """The expressions at the top of step and body that every iteration runs exactly once."""
    if loop.step is not None:
        yield from always_evaluated(loop.step)
    for stmt in _straight_line(loop.body):
        yield from _always_of(stmt)
        if _continues(stmt):
            return


def _always_of(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """What running a statement of straight-line code evaluates once."""
    match stmt:
        case ir.ExprStmt(expr=expr) | ir.If(condition=expr):
            yield from always_evaluated(expr)
        case ir.Declare(value=value) if value is not None:
            yield from always_evaluated(value)
        case _:
            pass


def always_evaluated(expr: ir.Expr) -> Iterator[ir.Expr]:
    """The parts of an expression that are always evaluated: `i++` in `j = i++`, but not in `c && i++`."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case ir.Logical(left=left):
                stack.append(left)
            case ir.Select(condition=condition):
                stack.append(condition)
            case _:
                stack.extend(ir.children(node))


def _straight_line(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    """The statements of a body that control meets one after the other."""
    if isinstance(stmt, ir.Block) and not stmt.is_breakable:
        for inner in stmt.statements:
            yield from _straight_line(inner)
    else:
        yield stmt


def _continues(stmt: ir.Stmt) -> bool:
    """True when `stmt` contains a `continue` of this loop."""
    if isinstance(stmt, ir.Continue):
        return True
    return not isinstance(stmt, ir.Loop) and any(map(_continues, ir.nested_statements(stmt)))


def may_leave(stmt: ir.Stmt, inside: int = 0) -> bool:
    """True when `stmt` contains a `break` of this loop or a `return`; calls inlined return to here.

    `inside`: how many loops, switches and breakable blocks of this loop `stmt` is in.
    """
    if isinstance(stmt, ir.Break):
        return stmt.levels > inside
    if isinstance(stmt, ir.Return):
        return True
    if isinstance(stmt, ir.Loop | ir.Switch) or (isinstance(stmt, ir.Block) and stmt.is_breakable):
        inside += 1
    return any(may_leave(inner, inside) for inner in ir.nested_statements(stmt))


def is_invariant(
    expr: ir.Expr | int, assigned: Counter[ir.RegisterKey], *, memory_stays: bool = False
) -> bool:
    """Whether a loop that writes `assigned` leaves `expr` as it is."""
    if isinstance(expr, int):
        return True
    for node in ir.walk_expressions(expr):
        if isinstance(node, ir.Read) and (
            node.place.variable in assigned or (node.place.variable, node.place.path) in assigned
        ):
            return False
        if isinstance(node, ir.Load):
            if not (memory_stays or node.place.space is ir.MemorySpace.CONSTANT):
                return False
        elif isinstance(node, ir.Assign | ir.Increment | ir.Atomic | ir.InlinedCall):
            return False
    return True


# ---------------------------------------------------------------------------------------------- chains

_Definitions = dict[ir.Variable, ir.Expr]
"""What straight-line code of a loop's body gives to registers that it writes once."""

_Term = tuple[ir.Expr | int, int]
"""Something times a number."""


def _definitions(body: ir.Stmt, assigned: Counter[ir.RegisterKey]) -> _Definitions:
    """The declarations that every iteration runs, of registers written nowhere else in the loop."""
    return {
        stmt.variable: stmt.value
        for stmt in _straight_line(body)
        if isinstance(stmt, ir.Declare) and stmt.value is not None and assigned[stmt.variable] == 1
    }


def _chained_update(expr: ir.Expr, known: _Definitions) -> Induction | None:
    """The induction step that `expr` makes by way of other registers; None for any other expression.

    `next = p + s; last = next + s; p = last` moves `p` by `2 * s`. Compilers write them for unrolled loops,
    people where they look ahead (`int next = i + 1; ...; i = next`).
    """
    if not (
        isinstance(expr, ir.Assign)
        and expr.op is None
        and isinstance(expr.target, ir.RegisterPlace)
        and not expr.target.path
    ):
        return None
    variable = expr.target.variable
    terms = _distance(expr.value, variable, known)
    if not terms:
        return None
    return Induction(variable, ir.BinaryOp.ADD, _sum_of(terms, expr.span), 1)


def _distance(expr: ir.Expr, variable: ir.Variable, known: _Definitions) -> list[_Term] | None:
    """What `expr` is beyond `variable`, as terms of a sum; None where it is no such sum."""
    terms: list[_Term] = []
    left = len(known) + 32
    while left:
        left -= 1
        expr = ir.strip_casts(expr)
        match expr:
            case ir.Read(place=ir.RegisterPlace(variable=read, path=())):
                if read is variable:
                    return terms
                if read not in known:
                    return None
                expr = known[read]
            case ir.PointerOffset(pointer=pointer, index=index, scale_bytes=scale):
                sign = -1 if expr.subtract else 1
                if index is not None:
                    if not _is_simple(index):
                        return None
                    terms.append((index, sign * scale))
                terms.append((expr.offset_bytes, 1))
                expr = pointer
            case ir.Binary(op=ir.BinaryOp.ADD | ir.BinaryOp.SUB as op, left=a, right=b) if (
                expr.operand_type.is_integral
            ):
                if op is ir.BinaryOp.ADD and not _leads(a, variable, known) and _leads(b, variable, known):
                    a, b = b, a
                if not _is_simple(b):
                    return None
                terms.append((b, 1 if op is ir.BinaryOp.ADD else -1))
                expr = a
            case _:
                return None
    return None


def _constant_distance(expr: ir.Expr, variable: ir.Variable, known: _Definitions) -> int | None:
    """How far `expr` is beyond `variable`, where that is a number."""
    terms = _distance(expr, variable, known)
    if terms is None:
        return None
    total = 0
    for value, factor in terms:
        number = value.value if isinstance(value, ir.Constant) else value
        if not isinstance(number, int):
            return None
        total += number * factor
    return total


def _leads(expr: ir.Expr, variable: ir.Variable, known: _Definitions) -> bool:
    expr = ir.strip_casts(expr)
    if not isinstance(expr, ir.Read) or expr.place.path:
        return isinstance(expr, ir.Binary | ir.PointerOffset)
    return expr.place.variable is variable or expr.place.variable in known


def _is_simple(expr: ir.Expr) -> bool:
    """Whether an expression may be evaluated once more without being counted."""
    kinds = ir.Constant | ir.Read | ir.Builtin | ir.Binary | ir.Cast | ir.Unary
    return all(isinstance(node, kinds) for node in ir.walk_expressions(expr))


def _sum_of(terms: list[_Term], span: ir.Span) -> ir.Expr | int:
    """The terms added up in 64 bits."""
    number = 0
    total: ir.Expr | None = None
    for value, factor in terms:
        if isinstance(value, ir.Constant) and isinstance(value.value, int):
            value = value.value
        if isinstance(value, int):
            number += value * factor
            continue
        term: ir.Expr = value
        if factor != 1:
            term = _binary(ir.BinaryOp.MUL, value, ir.Constant(factor, ir.INT64, span))
        total = term if total is None else _binary(ir.BinaryOp.ADD, total, term)
    if total is None:
        return number
    return total if number == 0 else _binary(ir.BinaryOp.ADD, total, ir.Constant(number, ir.INT64, span))


def _binary(op: ir.BinaryOp, left: ir.Expr, right: ir.Expr) -> ir.Binary:
    return ir.Binary(op, left, right, ir.INT64, ir.INT64, left.span)


# ---------------------------------------------------------------------------------------------- tests


def conjuncts_of(condition: ir.Expr, holds: bool = True) -> Iterator[tuple[ir.Expr, bool]]:
    """What must hold, or must not, for `condition` to hold, or not to hold."""
    condition = ir.strip_casts(condition)
    if isinstance(condition, ir.Unary) and condition.op is ir.UnaryOp.NOT:
        yield from conjuncts_of(condition.operand, not holds)
    elif isinstance(condition, ir.Logical) and (condition.op is ir.LogicalOp.AND) is holds:
        yield from conjuncts_of(condition.left, holds)
        yield from conjuncts_of(condition.right, holds)
    else:
        yield condition, holds


class _NoSumError(Exception):
    """An expression is no counter plus something that the loop does not change."""


class _Header(Struct, frozen=True, eq=False):
    """What a conjunct of a loop's condition is read with.

    `known`: what a body has given to registers ahead of the test at its bottom, `stepped`: the counters that
    move only behind them.
    """

    counters: dict[ir.Variable, Induction]
    assigned: Counter[ir.RegisterKey]
    known: _Definitions
    stepped: frozenset[ir.Variable]
    memory_stays: bool

    def bound(self, conjunct: ir.Expr, holds: bool) -> Bound | None:
        """The bound that a conjunct is for a counter; None where it is none. It `holds` to go on."""
        if not (isinstance(conjunct, ir.Binary) and conjunct.op in ir.COMPARISONS):
            operand = self._operand(conjunct)  # `while (n--)`
            comparison = ir.BinaryOp.NE if holds else ir.BinaryOp.EQ
            return None if operand is None else Bound(operand[0], comparison, 0, operand[1])
        op = conjunct.op if holds else ir.NEGATED[conjunct.op]
        for side, other, comparison in (
            (conjunct.left, conjunct.right, op),
            (conjunct.right, conjunct.left, ir.MIRRORED[op]),
        ):
            if not self._is_invariant(other):
                continue
            operand = self._operand(side) or self._behind(side)
            if operand is not None:
                return Bound(operand[0], comparison, other, operand[1], conjunct.operand_type)
            if _may_move(conjunct) and (bound := self._bound_of_sum(side, other, comparison)) is not None:
                return bound
        return None

    def _is_invariant(self, expr: ir.Expr) -> bool:
        return is_invariant(expr, self.assigned, memory_stays=self.memory_stays)

    def _operand(self, expr: ir.Expr) -> tuple[Induction, int] | None:
        """The counter an operand of a comparison reads, and the shift the test applies before comparing."""
        expr = ir.strip_casts(expr)
        shift = 0
        variable = ir.read_variable(expr)
        if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace):
            if not expr.target.path:
                variable, shift = expr.target.variable, expr.delta if expr.is_prefix else 0
        elif isinstance(expr, ir.Binary) and expr.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
            amount = ir.strip_casts(expr.right)
            if isinstance(amount, ir.Constant) and isinstance(amount.value, int):
                variable = ir.read_variable(expr.left)
                shift = amount.value if expr.op is ir.BinaryOp.ADD else -amount.value
        induction = None if variable is None else self.counters.get(variable)
        return None if induction is None else (induction, shift)

    def _behind(self, expr: ir.Expr) -> tuple[Induction, int] | None:
        """The counter that an operand of a test at the bottom is made from, and how far it is from its new
        value.

        `next = i + 1; i = next; while (next < n)`: i, 0.
        """
        for induction in self.counters.values() if self.known else ():
            beyond = _constant_distance(expr, induction.variable, self.known)
            if beyond is not None and (distance := induction.distance) is not None:
                return induction, beyond - distance
        return None

    def _bound_of_sum(self, side: ir.Expr, other: ir.Expr, comparison: ir.BinaryOp) -> Bound | None:
        """The bound that `rest + counter comparison other` is for the counter.

        Compilers write such tests where the counter is used behind the loop, or counts the other way round
        (`n - i > 1`).
        """
        found: list[
            tuple[Induction, int, bool]
        ] = []  # counter, its sign, whether ahead of this iteration's step
        rest: list[_Term] = []

        def take(expr: ir.Expr, sign: int, is_old: bool) -> None:
            expr = ir.strip_casts(expr)
            match expr:
                case ir.Read(place=ir.RegisterPlace(variable=variable, path=())) if variable in self.counters:
                    if is_old and variable not in self.stepped:
                        raise _NoSumError
                    found.append((self.counters[variable], sign, is_old))
                case ir.Read(place=ir.RegisterPlace(variable=variable, path=())) if variable in self.known:
                    take(self.known[variable], sign, True)
                case ir.Binary(op=ir.BinaryOp.ADD | ir.BinaryOp.SUB) if expr.operand_type.is_integral:
                    take(expr.left, sign, is_old)
                    take(expr.right, sign if expr.op is ir.BinaryOp.ADD else -sign, is_old)
                case _:
                    if not (self._is_invariant(expr) and expr.type.is_integral):
                        raise _NoSumError
                    rest.append((expr, sign))

        try:
            take(side, 1, False)
        except (_NoSumError, RecursionError):
            return None
        if len(found) != 1:
            return None
        induction, sign, is_old = found[0]
        shift = 0
        if is_old:
            if (distance := induction.distance) is None:
                return None
            shift = -distance
        turned = comparison if sign > 0 else ir.MIRRORED[comparison]
        limit = _sum_of([(other, sign), *((value, -sign * factor) for value, factor in rest)], other.span)
        return Bound(induction, turned, limit, shift)


def _may_move(test: ir.Binary) -> bool:
    """Whether a term may be taken to the other side: not where sums wrap round and order matters."""
    is_equality = test.op in (ir.BinaryOp.EQ, ir.BinaryOp.NE)
    return test.operand_type.is_integral and (is_equality or test.operand_type.signed)


# ---------------------------------------------------------------------------------------------- iterations


def _exits(loop: ir.Loop, header: _Header, updated_in_test: frozenset[ir.Variable]) -> Iterator[Exit]:
    """The ways out that every iteration meets and that compare a counter with something invariant."""
    behind: set[ir.Variable] = set(updated_in_test)
    for stmt in _straight_line(loop.body):
        if _continues(stmt):
            return
        if isinstance(stmt, ir.If) and (leaves := _leaves(stmt)) is not None:
            found = [header.bound(*conjunct) for conjunct in conjuncts_of(stmt.condition, not leaves)]
            bounds = tuple(bound for bound in found if bound is not None)
            if bounds:
                yield Exit(stmt, bounds, frozenset(behind), None in found)
        updates = map(update_of, _always_of(stmt))
        behind.update(update.variable for update in updates if update is not None)


def _leaves(stmt: ir.If) -> bool | None:
    """Whether a loop is left where `stmt` takes its first arm, or the other; None: neither, or both."""
    then = _ends_by_leaving(stmt.then)
    otherwise = stmt.otherwise is not None and _ends_by_leaving(stmt.otherwise)
    return None if then is otherwise else then


def _ends_by_leaving(block: ir.Stmt) -> bool:
    if isinstance(block, ir.Block):
        return bool(block.statements) and not block.is_breakable and _ends_by_leaving(block.statements[-1])
    return isinstance(block, ir.Return) or (isinstance(block, ir.Break) and block.levels == 1)


def read_place(expr: ir.Expr) -> ir.RegisterPlace | None:
    """The register that an expression reads: `k`, and also `++k` and `k += 2`."""
    match expr:
        case ir.Read(place=place) | ir.Increment(target=ir.RegisterPlace() as place):
            return place
        case ir.Assign(target=ir.RegisterPlace() as place, op=op) if op is not None:
            return place
        case _:
            return None


class _IterationTaint:
    """Walks a body in execution order with the set of registers whose value depends on the iteration.

    `carried`: counters of the loop. `assigned`: registers that it writes. `differ` turns True where some
    branch, bound or selector may depend on the iteration. Conservative: True costs time, a wrong False would
    cost truth. `solved`: the ways out that are told apart by other means. `moving`: where pointers are loaded
    from a place that may depend on the iteration; looked for if it `loads_pointers`.
    """

    def __init__(
        self,
        carried: frozenset[ir.Variable],
        assigned: Counter[ir.RegisterKey],
        solved: frozenset[ir.If],
        loads_pointers: bool,
    ) -> None:
        self._solved = solved
        self._tainted: set[ir.RegisterKey] = set(carried)
        self._assigned = assigned
        self._defined: set[ir.RegisterKey] = set()
        self._changes = 0  # of both sets so far
        self._settled: dict[ir.Loop, int] = {}  # inner loops that change nothing more, since so many changes
        self.differ = False
        self.moving: set[int] = set()
        self._loads_pointers = loads_pointers

    def _reads_taint(self, expr: ir.Expr) -> bool:
        """True when the value of `expr` depends on the iteration; notes control decisions on the way."""
        found = False
        stack: list[ir.Expr] = [expr]
        while stack:
            node = stack.pop()
            place = read_place(node)
            if place is not None:
                key = ir.register_key(place)
                if key in self._tainted:
                    found = True
                elif key in self._assigned and key not in self._defined and not place.type.is_float:
                    self._taint(key)
                    found = True
            if isinstance(node, ir.TextureFetch | ir.Atomic):
                continue
            if isinstance(node, ir.Load):
                if self._loads_pointers:
                    found = self._loads_moving(node) or found
                if node.place.space not in FOLLOWED or not node.type.is_integral:
                    continue
                found = found or node.place.root in self._assigned
            elif isinstance(node, ir.Select) and ir.is_decision(node):
                self._decide(node.condition)
            elif isinstance(node, ir.Logical):
                self._decide(node.left)
            elif isinstance(node, ir.InlinedCall):
                for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                    self._assign(parameter, self._reads_taint(argument), conditional=False)
                self.visit(node.body, conditional=True)
                found = found or any(self._reads_taint(argument) for argument in node.arguments)
                continue
            elif isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
                self._write(node)
            stack.extend(ir.children(node))
        return found

    def _loads_moving(self, load: ir.Load) -> bool:
        """Whether `load` is of a pointer from a place that depends on the iteration; notes other pointers."""
        if load.type.kind is ir.TypeKind.POINTER:
            moves = self._reads_taint(load.place.address)
            if moves:
                self.moving.add(load.place.site)
            return moves
        for node in ir.walk_expressions(load.place.address):
            if isinstance(node, ir.Load) and node.type.kind is ir.TypeKind.POINTER:
                self._loads_moving(node)
        return False

    def _decide(self, condition: ir.Expr) -> None:
        self.differ = self._reads_taint(condition) or self.differ

    def _assign(self, key: ir.RegisterKey, taint: bool, conditional: bool) -> None:
        if taint:
            self._taint(key)
        elif not conditional and key in self._tainted:
            self._tainted.discard(key)
            self._changes += 1
        if not conditional and key not in self._defined:
            self._defined.add(key)
            self._changes += 1

    def _taint(self, key: ir.RegisterKey) -> None:
        self._changes += key not in self._tainted
        self._tainted.add(key)

    def _write(self, node: ir.Assign | ir.Increment, conditional: bool = True) -> None:
        assert isinstance(node.target, ir.RegisterPlace)
        key = ir.register_key(node.target)
        if isinstance(node, ir.Assign):
            taint = self._reads_taint(node.value) or (node.op is not None and key in self._tainted)
            self._assign(key, taint, conditional or node.op is not None)

    def visit(self, stmt: ir.Stmt, conditional: bool) -> None:
        """Follows `stmt`; `conditional`: it may not run in every iteration."""
        if self.differ and not self._loads_pointers:
            return
        match stmt:
            case ir.Declare(variable=variable, value=value):
                self._assign(variable, value is not None and self._reads_taint(value), conditional=False)
            case ir.ExprStmt(expr=expr):
                for part in ir.comma_parts(expr):
                    if isinstance(part, ir.Assign) and isinstance(part.target, ir.RegisterPlace):
                        self._write(part, conditional)
                    else:
                        self._reads_taint(part)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                if stmt not in self._solved:
                    self._decide(condition)
                self.visit(then, conditional=True)
                if otherwise is not None:
                    self.visit(otherwise, conditional=True)
            case ir.Loop():
                self._loop(stmt, conditional)
            case ir.Switch(selector=selector, cases=cases):
                self._decide(selector)
                for case in cases:
                    self.visit(case.body, conditional=True)
            case ir.Block(statements=statements):
                for inner in statements:
                    self.visit(inner, conditional)
            case ir.Return(value=value):
                if value is not None:
                    self._reads_taint(value)
            case ir.Break() | ir.Continue():
                pass

    def _loop(self, loop: ir.Loop, conditional: bool) -> None:
        for inner in loop.init:
            self.visit(inner, conditional)
        for _ in range(2):  # once more for what the inner loop carries
            if self._settled.get(loop) == self._changes:
                break
            before, changes = set(self._tainted), self._changes
            if loop.condition is not None:
                self._decide(loop.condition)
            self.visit(loop.body, conditional=True)
            if loop.step is not None:
                for part in ir.comma_parts(loop.step):
                    update = update_of(part)
                    amount = update.amount if update else part
                    if not isinstance(amount, int) and self._reads_taint(amount) and update:
                        self._taint(update.variable)
            if self._changes == changes:
                self._settled[loop] = changes
            if self._tainted == before:
                break
