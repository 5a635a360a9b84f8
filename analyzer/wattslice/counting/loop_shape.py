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

Key = ir.Variable | tuple[ir.Variable, tuple[str, ...]]
"""A register in the environment: a variable, or a member of one."""


def key_of(place: ir.RegisterPlace) -> Key:
    """The environment key of a register place."""
    return (place.variable, place.path) if place.path else place.variable


@dataclass(frozen=True, slots=True, eq=False)
class Induction:
    """`variable = variable op amount` once an iteration (`amount` in bytes for pointers: times `scale`)."""

    variable: ir.Variable
    op: ir.BinaryOp
    amount: ir.Expr | int
    scale: int


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


_UPDATES = frozenset(
    {
        ir.BinaryOp.ADD,
        ir.BinaryOp.SUB,
        ir.BinaryOp.MUL,
        ir.BinaryOp.DIV,
        ir.BinaryOp.SHL,
        ir.BinaryOp.SHR,
    }
)
_FLIPPED = {
    ir.BinaryOp.LT: ir.BinaryOp.GT,
    ir.BinaryOp.LE: ir.BinaryOp.GE,
    ir.BinaryOp.GT: ir.BinaryOp.LT,
    ir.BinaryOp.GE: ir.BinaryOp.LE,
    ir.BinaryOp.EQ: ir.BinaryOp.EQ,
    ir.BinaryOp.NE: ir.BinaryOp.NE,
}


def expressions(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """Every expression in and below `stmt`, inlined bodies included."""
    for inner in ir.walk_statements(stmt):
        for expr in ir.statement_expressions(inner):
            yield from ir.walk_expressions(expr)


def strip_casts(expr: ir.Expr) -> ir.Expr:
    """`expr` without the casts around it."""
    while isinstance(expr, ir.Cast):
        expr = expr.operand
    return expr


def _assignments(nodes: list[ir.Expr], body: ir.Stmt) -> Counter[Key]:
    """How many times each register is written, textually."""
    written: Counter[Key] = Counter()
    for node in nodes:
        if isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
            written[key_of(node.target)] += 1
            if node.target.path:
                written[node.target.variable] += 1
        elif isinstance(node, ir.InlinedCall):
            written.update(node.parameters)
    for stmt in ir.walk_statements(body):
        if isinstance(stmt, ir.Declare):
            written[stmt.variable] += 1
    return written


def _read_variable(expr: ir.Expr) -> ir.Variable | None:
    expr = strip_casts(expr)
    if isinstance(expr, ir.Read) and not expr.place.path:
        return expr.place.variable
    return None


def _update(expr: ir.Expr) -> Induction | None:
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
    value = strip_casts(expr.value)
    if isinstance(value, ir.PointerOffset) and _read_variable(value.pointer) is variable:
        if value.index is None:
            return Induction(variable, ir.BinaryOp.ADD, value.offset_bytes, 1)
        op = ir.BinaryOp.SUB if value.subtract else ir.BinaryOp.ADD
        return Induction(variable, op, value.index, value.scale_bytes) if value.offset_bytes == 0 else None
    if isinstance(value, ir.Binary) and value.op in _UPDATES:
        if _read_variable(value.left) is variable:
            return Induction(variable, value.op, value.right, 1)
        if value.op in (ir.BinaryOp.ADD, ir.BinaryOp.MUL) and _read_variable(value.right) is variable:
            return Induction(variable, value.op, value.left, 1)
    return None


def _comma_parts(expr: ir.Expr) -> Iterator[ir.Expr]:
    if isinstance(expr, ir.Binary) and expr.op is ir.BinaryOp.COMMA:
        yield from _comma_parts(expr.left)
        yield from _comma_parts(expr.right)
    else:
        yield expr


def _straight_line(block: ir.Stmt) -> Iterator[ir.Expr]:
    """Top-level expressions of a body: those every iteration runs exactly once."""
    if isinstance(block, ir.Block):
        for stmt in block.statements:
            yield from _straight_line(stmt)
    elif isinstance(block, ir.ExprStmt):
        yield from _comma_parts(block.expr)


def _continues(stmt: ir.Stmt) -> bool:
    """True when `stmt` contains a `continue` of this loop."""
    if isinstance(stmt, ir.Continue):
        return True
    return not isinstance(stmt, ir.Loop) and any(map(_continues, ir.nested_statements(stmt)))


def _leaves(stmt: ir.Stmt) -> bool:
    """True when `stmt` contains a `break` of this loop or a `return`."""
    if isinstance(stmt, ir.Break | ir.Return):
        return True
    if isinstance(stmt, ir.Loop | ir.Switch):
        return any(isinstance(inner, ir.Return) for inner in ir.walk_statements(stmt))
    return any(map(_leaves, ir.nested_statements(stmt)))


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
        inner, amount = _read_variable(expr.left), strip_casts(expr.right)
        if inner is not None and isinstance(amount, ir.Constant) and isinstance(amount.value, int):
            return inner, (amount.value if expr.op is ir.BinaryOp.ADD else -amount.value)
    variable = _read_variable(expr)
    return None if variable is None else (variable, 0)


def _bound(conjunct: ir.Expr, counters: frozenset[ir.Variable], assigned: Counter[Key]) -> Bound | None:
    if isinstance(conjunct, ir.Binary) and conjunct.op in ir.COMPARISONS:
        for side, other, comparison in (
            (conjunct.left, conjunct.right, conjunct.op),
            (conjunct.right, conjunct.left, _FLIPPED[conjunct.op]),
        ):
            operand = _operand(side)
            if operand and operand[0] in counters and _is_invariant(other, assigned):
                return Bound(operand[0], comparison, other, operand[1])
        return None
    operand = _operand(conjunct)
    if operand and operand[0] in counters:
        return Bound(operand[0], ir.BinaryOp.NE, 0, operand[1])
    return None


class _IterationTaint:
    """Finds out whether any control decision in a body depends on the iteration."""

    def __init__(self, carried: frozenset[Key], assigned: Counter[Key]) -> None:
        self.tainted: set[Key] = set(carried)
        self.assigned = assigned
        self.defined: set[Key] = set()
        self.differ = False

    def reads_taint(self, expr: ir.Expr) -> bool:
        """True when the value of `expr` depends on the iteration; notes control decisions on the way."""
        found = False
        stack: list[ir.Expr] = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, ir.Read):
                key = key_of(node.place)
                if key in self.tainted:
                    found = True
                elif key in self.assigned and key not in self.defined and not node.type.is_float:
                    self.tainted.add(key)
                    found = True
            elif isinstance(node, ir.Load | ir.TextureFetch | ir.Atomic):
                continue
            elif isinstance(node, ir.Select):
                self.decide(node.condition)
            elif isinstance(node, ir.Logical):
                self.decide(node.left)
            elif isinstance(node, ir.InlinedCall):
                for parameter, argument in zip(node.parameters, node.arguments, strict=True):
                    self.assign(parameter, self.reads_taint(argument), conditional=False)
                self.visit(node.body, conditional=True)
                found = found or any(self.reads_taint(argument) for argument in node.arguments)
                continue
            elif isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
                self.write(node)
            stack.extend(ir.children(node))
        return found

    def decide(self, condition: ir.Expr) -> None:
        self.differ = self.differ or self.reads_taint(condition)

    def assign(self, key: Key, taint: bool, conditional: bool) -> None:
        if taint:
            self.tainted.add(key)
        elif not conditional:
            self.tainted.discard(key)
        if not conditional:
            self.defined.add(key)

    def write(self, node: ir.Assign | ir.Increment, conditional: bool = True) -> None:
        assert isinstance(node.target, ir.RegisterPlace)
        key = key_of(node.target)
        if isinstance(node, ir.Assign):
            taint = self.reads_taint(node.value) or (node.op is not None and key in self.tainted)
            self.assign(key, taint, conditional or node.op is not None)

    def visit(self, stmt: ir.Stmt, conditional: bool) -> None:
        if self.differ:
            return
        match stmt:
            case ir.Declare(variable=variable, value=value):
                self.assign(variable, value is not None and self.reads_taint(value), conditional=False)
            case ir.ExprStmt(expr=expr):
                for part in _comma_parts(expr):
                    if isinstance(part, ir.Assign) and isinstance(part.target, ir.RegisterPlace):
                        self.write(part, conditional)
                    else:
                        self.reads_taint(part)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                self.decide(condition)
                self.visit(then, conditional=True)
                if otherwise is not None:
                    self.visit(otherwise, conditional=True)
            case ir.Loop():
                self.loop(stmt, conditional)
            case ir.Switch(selector=selector, cases=cases):
                self.decide(selector)
                for case in cases:
                    self.visit(case.body, conditional=True)
            case ir.Block(statements=statements):
                for inner in statements:
                    self.visit(inner, conditional)
            case ir.Return(value=value):
                if value is not None:
                    self.reads_taint(value)
            case ir.Break() | ir.Continue():
                pass

    def loop(self, loop: ir.Loop, conditional: bool) -> None:
        for inner in loop.init:
            self.visit(inner, conditional)
        for _ in range(2):  # once more for what the inner loop carries
            if loop.condition is not None:
                self.decide(loop.condition)
            self.visit(loop.body, conditional=True)
            if loop.step is not None:
                for part in _comma_parts(loop.step):
                    update = _update(part)
                    amount = update.amount if update else part
                    if not isinstance(amount, int) and self.reads_taint(amount) and update:
                        self.tainted.add(update.variable)


def shape_of(loop: ir.Loop) -> LoopShape:
    """The static facts of `loop`."""
    nodes = list(expressions(loop.body))
    header: list[ir.Expr] = []
    for expr in (loop.condition, loop.step):
        if expr is not None:
            header += list(ir.walk_expressions(expr))
    nodes += header
    assigned = _assignments(nodes, loop.body)

    updates: list[Induction] = []
    in_test: set[ir.Variable] = set()
    once: list[ir.Expr] = list(_comma_parts(loop.step)) if loop.step is not None else []
    if not _continues(loop.body):
        once += _straight_line(loop.body)
    for expr in once:
        update = _update(expr)
        if update:
            updates.append(update)
    if loop.condition is not None:
        first = next(_conjuncts(loop.condition))  # always evaluated, hence unconditional
        for node in ir.walk_expressions(first):
            update = _update(node) if isinstance(node, ir.Increment) else None
            if update:
                updates.append(update)
                in_test.add(update.variable)
    inductions = tuple(u for u in updates if assigned[u.variable] == 1 and _is_invariant(u.amount, assigned))
    counters = frozenset(u.variable for u in inductions)
    bounds: list[Bound] = []
    others = False
    if loop.condition is not None:
        for conjunct in _conjuncts(loop.condition):
            bound = _bound(conjunct, counters, assigned)
            if bound:
                bounds.append(bound)
            else:
                others = True
    taint = _IterationTaint(frozenset(counters), assigned)
    taint.visit(loop.body, conditional=False)
    return LoopShape(
        assigned=frozenset(assigned),
        inductions=inductions,
        bounds=tuple(bounds),
        has_other_conjuncts=others,
        iterations_differ=taint.differ,
        may_leave=_leaves(loop.body),
        updated_in_test=frozenset(in_test),
        size=max(1, len(nodes)),
    )
