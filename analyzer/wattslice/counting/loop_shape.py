"""What can be told of a loop by looking at it: its counters, its bounds, what it assigns.

A variable is an *induction* variable when each iteration updates it exactly once, unconditionally, by
the same operation with an amount the loop does not change. The trip count then follows in closed form
and the value at any iteration is known without running those before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from wattslice import ir
from wattslice.counting.counter_sums import counter_sum
from wattslice.counting.inductions import Induction, assignments, update_of
from wattslice.counting.iteration_taint import iterations_differ
from wattslice.counting.syntax import Key, comma_parts, read_variable, strip_casts
from wattslice.counting.update_chains import (
    Definitions,
    chained_update,
    constant_distance,
    definitions,
)


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """One conjunct of the loop's condition: `variable comparison limit`.

    `shift` is what the test itself adds to the variable before comparing (`--n > 0`: -1).
    """

    variable: ir.Variable
    comparison: ir.BinaryOp
    limit: ir.Expr | int
    shift: int


@dataclass(frozen=True, slots=True, eq=False)
class LoopShape:
    """The static facts of one loop.

    `bounds` holds the conjuncts that compare an induction variable with something invariant;
    `has_other_conjuncts`: the condition asks for more than that. `iterations_differ`: some condition,
    bound or selector inside the body depends on the iteration, so that iterations must be told apart.
    `may_leave`: a `break` or `return` inside may end the loop
    early. `size`: number of expression nodes in the loop, a measure of the work of one iteration.
    `updated_in_test`: induction variables that the condition itself updates.
    """

    assigned: frozenset[Key]
    inductions: tuple[Induction, ...]
    bounds: tuple[Bound, ...]
    has_other_conjuncts: bool
    iterations_differ: bool
    may_leave: bool
    updated_in_test: frozenset[ir.Variable]
    size: int


_FLIPPED = {
    ir.BinaryOp.LT: ir.BinaryOp.GT,
    ir.BinaryOp.LE: ir.BinaryOp.GE,
    ir.BinaryOp.GT: ir.BinaryOp.LT,
    ir.BinaryOp.GE: ir.BinaryOp.LE,
    ir.BinaryOp.EQ: ir.BinaryOp.EQ,
    ir.BinaryOp.NE: ir.BinaryOp.NE,
}


def _straight_line(block: ir.Stmt) -> Iterator[ir.Expr]:
    """Top-level expressions of a body: those every iteration runs exactly once."""
    if isinstance(block, ir.Block) and not block.is_breakable:
        for stmt in block.statements:
            yield from _straight_line(stmt)
    elif isinstance(block, ir.ExprStmt):
        yield from comma_parts(block.expr)


def _continues(stmt: ir.Stmt) -> bool:
    """True when `stmt` contains a `continue` of this loop."""
    if isinstance(stmt, ir.Continue):
        return True
    return not isinstance(stmt, ir.Loop) and any(map(_continues, ir.nested_statements(stmt)))


def _may_leave(stmt: ir.Stmt, inside: int = 0) -> bool:
    """True when `stmt` contains a `break` of this loop or a `return`; calls inlined return to here.

    `inside`: how many loops, switches and breakable blocks of this loop `stmt` is in.
    """
    if isinstance(stmt, ir.Break):
        return stmt.levels > inside
    if isinstance(stmt, ir.Return):
        return True
    if isinstance(stmt, ir.Loop | ir.Switch) or (isinstance(stmt, ir.Block) and stmt.is_breakable):
        inside += 1
    return any(_may_leave(inner, inside) for inner in ir.nested_statements(stmt))


def _is_invariant(expr: ir.Expr | int, assigned: Counter[Key]) -> bool:
    if isinstance(expr, int):
        return True
    for node in ir.walk_expressions(expr):
        if isinstance(node, ir.Read) and (
            node.place.variable in assigned or (node.place.variable, node.place.path) in assigned
        ):
            return False
        if isinstance(node, ir.Load | ir.Assign | ir.Increment | ir.Atomic | ir.InlinedCall):
            return isinstance(node, ir.Load) and node.place.space is ir.MemorySpace.CONSTANT
    return True


def _conjuncts(condition: ir.Expr) -> Iterator[ir.Expr]:
    condition = strip_casts(condition)
    if isinstance(condition, ir.Logical) and condition.op is ir.LogicalOp.AND:
        yield from _conjuncts(condition.left)
        yield from _conjuncts(condition.right)
    else:
        yield condition


def _operand(expr: ir.Expr) -> tuple[ir.Variable, int] | None:
    """The register an operand of a comparison reads, and the shift the test applies before comparing."""
    expr = strip_casts(expr)
    if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace) and not expr.target.path:
        return expr.target.variable, (expr.delta if expr.is_prefix else 0)
    if isinstance(expr, ir.Binary) and expr.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
        inner, amount = read_variable(expr.left), strip_casts(expr.right)
        if inner is not None and isinstance(amount, ir.Constant) and isinstance(amount.value, int):
            return inner, (amount.value if expr.op is ir.BinaryOp.ADD else -amount.value)
    variable = read_variable(expr)
    return None if variable is None else (variable, 0)


def _behind(
    expr: ir.Expr, inductions: tuple[Induction, ...], known: Definitions
) -> tuple[ir.Variable, int] | None:
    """The counter that an operand of a test at the bottom is made from, and how far it is from its new value.

    `next = i + 1; i = next; while (next < n)`: i, 0.
    """
    for induction in inductions:
        amount = induction.amount.value if isinstance(induction.amount, ir.Constant) else induction.amount
        beyond = constant_distance(expr, induction.variable, known)
        if beyond is not None and isinstance(amount, int) and induction.op is ir.BinaryOp.ADD:
            return induction.variable, beyond - amount * induction.scale
    return None


def _bound(
    conjunct: ir.Expr,
    inductions: tuple[Induction, ...],
    assigned: Counter[Key],
    known: Definitions,
    stepped: frozenset[ir.Variable],
) -> Bound | None:
    counters = frozenset(induction.variable for induction in inductions)
    if isinstance(conjunct, ir.Binary) and conjunct.op in ir.COMPARISONS:
        for side, other, comparison in (
            (conjunct.left, conjunct.right, conjunct.op),
            (conjunct.right, conjunct.left, _FLIPPED[conjunct.op]),
        ):
            operand = _operand(side)
            if known and (operand is None or operand[0] not in counters):
                operand = _behind(side, inductions, known)
            if operand and operand[0] in counters and _is_invariant(other, assigned):
                return Bound(operand[0], comparison, other, operand[1])
            if _is_invariant(other, assigned) and _may_move(conjunct):
                bound = _bound_of_sum(side, other, comparison, inductions, assigned, known, stepped)
                if bound is not None:
                    return bound
        return None
    operand = _operand(conjunct)
    if operand and operand[0] in counters:
        return Bound(operand[0], ir.BinaryOp.NE, 0, operand[1])
    return None


def _may_move(test: ir.Binary) -> bool:
    """Whether a term may be taken to the other side: not where sums wrap round and order matters."""
    is_equality = test.op in (ir.BinaryOp.EQ, ir.BinaryOp.NE)
    return test.operand_type.is_integral and (is_equality or test.operand_type.signed)


def _bound_of_sum(
    side: ir.Expr,
    other: ir.Expr,
    comparison: ir.BinaryOp,
    inductions: tuple[Induction, ...],
    assigned: Counter[Key],
    known: Definitions,
    stepped: frozenset[ir.Variable],
) -> Bound | None:
    """The bound that `rest + counter comparison other` is for the counter."""
    found = counter_sum(side, inductions, lambda expr: _is_invariant(expr, assigned), known, stepped)
    if found is None:
        return None
    shift = 0
    if found.is_old:
        amount = found.induction.amount
        amount = amount.value if isinstance(amount, ir.Constant) else amount
        if not isinstance(amount, int) or found.induction.op is not ir.BinaryOp.ADD:
            return None
        shift = -amount * found.induction.scale
    turned = comparison if found.sign > 0 else _FLIPPED[comparison]
    return Bound(found.induction.variable, turned, found.limit(other), shift)


def shape_of(loop: ir.Loop) -> LoopShape:
    """The static facts of `loop`."""
    nodes = list(ir.expressions_below(loop.body))
    header: list[ir.Expr] = []
    for expr in (loop.condition, loop.step):
        if expr is not None:
            header += list(ir.walk_expressions(expr))
    nodes += header
    assigned = assignments(nodes, loop.body)

    updates: list[Induction] = []
    in_test: set[ir.Variable] = set()
    once: list[ir.Expr] = list(comma_parts(loop.step)) if loop.step is not None else []
    if not _continues(loop.body):
        once += _straight_line(loop.body)
    known = definitions(loop.body, assigned)
    for expr in once:
        update = update_of(expr)
        if update is None or not _is_invariant(update.amount, assigned):
            update = chained_update(expr, known) or update
        if update:
            updates.append(update)
    if loop.condition is not None:
        first = next(_conjuncts(loop.condition))  # always evaluated, hence unconditional
        for node in ir.walk_expressions(first):
            update = update_of(node) if isinstance(node, ir.Increment) else None
            if update:
                updates.append(update)
                in_test.add(update.variable)
    inductions = tuple(u for u in updates if assigned[u.variable] == 1 and _is_invariant(u.amount, assigned))
    counters = frozenset(u.variable for u in inductions)
    at_bottom = known if loop.kind is ir.LoopKind.DO else {}  # where the test is, they are of this iteration
    steps = () if loop.step is None else comma_parts(loop.step)
    stepped = frozenset(update.variable for expr in steps if (update := update_of(expr)) is not None)
    bounds: list[Bound] = []
    others = False
    if loop.condition is not None:
        for conjunct in _conjuncts(loop.condition):
            bound = _bound(conjunct, inductions, assigned, at_bottom, stepped)
            if bound:
                bounds.append(bound)
            else:
                others = True
    return LoopShape(
        assigned=frozenset(assigned),
        inductions=inductions,
        bounds=tuple(bounds),
        has_other_conjuncts=others,
        iterations_differ=iterations_differ(loop.body, counters, assigned),
        may_leave=_may_leave(loop.body),
        updated_in_test=frozenset(in_test),
        size=max(1, len(nodes)),
    )
