"""Loops that nvcc splits where a comparison of their counter changes: one for each range, without the test.

Found by varied loops in PTX and SASS of nvcc 13. It splits a loop that is in no other one, whose `int` or
`unsigned` goes by one from 0 up to what only the run tells (`k < n`), once the one branch in it compares that
counter with a variable, or `threadIdx`. It does so only where an `if` or a `return` decides whether the loop
is reached, and where nothing else between that and its end branches or goes round in a loop of the run.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.loops import LoopShape, conjuncts_of, shape_of
from wattslice.ir.rewriting import is_same_text, rewritten, rewritten_part
from wattslice.workload.instructions.code_facts import KernelFacts, Trait, calls_branching, kernel_facts

_UNSPLIT = frozenset((Trait.BREAK, Trait.EXIT, Trait.RETURN, Trait.NESTED, Trait.BARRIER))
_LOWER = (ir.BinaryOp.GT, ir.BinaryOp.GE)
_BY_ONE = {
    (ir.BinaryOp.LT, ir.BinaryOp.ADD): ir.BinaryOp.LE,
    (ir.BinaryOp.GE, ir.BinaryOp.ADD): ir.BinaryOp.GT,
    (ir.BinaryOp.LE, ir.BinaryOp.SUB): ir.BinaryOp.LT,
    (ir.BinaryOp.GT, ir.BinaryOp.SUB): ir.BinaryOp.GE,
}
"""`k < i + 1` is `k <= i`."""


def with_split_loops(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with the ranges of loops that are split, and no comparison that these decide."""
    if not any(_counter_of(loop) for loop in _outermost(kernel.body)):
        return kernel
    facts = kernel_facts(kernel)
    is_fast = bool(kernel.fast_math)
    found = {
        loop: _split(loop, facts, is_fast=is_fast) for loop in _alone(kernel.body, facts, is_fast=is_fast)
    }
    return rewritten(kernel, lambda old, new: found.get(old, new) if isinstance(old, ir.Loop) else new)


def _outermost(stmt: ir.Stmt) -> Iterator[ir.Loop]:
    """The loops that are in no other one."""
    if isinstance(stmt, ir.Loop):
        yield stmt
        return
    for inner in ir.nested_statements(stmt):
        yield from _outermost(inner)
    for top in ir.statement_expressions(stmt):
        for expr in ir.walk_expressions(top):
            if isinstance(expr, ir.InlinedCall):
                yield from _outermost(expr.body)


def _counter_of(loop: ir.Loop) -> ir.Variable | None:
    """What counts a loop by ones from 0 up to what only the run tells, if that alone ends it."""
    shape = shape_of(loop)
    if shape.has_other_conjuncts or len(shape.bounds) != 1 or loop.kind is ir.LoopKind.DO or shape.has_loops:
        return None
    (bound,) = shape.bounds
    counter = bound.induction.variable
    if bound.induction.distance != 1 or bound.comparison is not ir.BinaryOp.LT or bound.shift:
        return None
    if counter.type.kind is not ir.TypeKind.INT or counter.type.bits != 32 or shape.may_leave:
        return None
    if isinstance(bound.limit, int | ir.Constant):
        return None
    for stmt in loop.init:
        match stmt:
            case ir.Declare(variable=variable, value=ir.Constant(value=0)) if variable is counter:
                return counter
            case ir.ExprStmt(expr=ir.Assign(op=None, value=ir.Constant(value=0)) as given) if (
                isinstance(given.target, ir.RegisterPlace) and given.target.variable is counter
            ):
                return counter
            case _:
                pass
    return None


class _Stretch(Struct):
    """What runs as one `if` or `return` decides: its loops of the run, and whether anything else branches."""

    is_guarded: bool
    loops: list[ir.Loop] = field(default_factory=list[ir.Loop])
    branches: bool = False


def _alone(body: ir.Block, facts: KernelFacts, *, is_fast: bool) -> Iterator[ir.Loop]:
    """The loops of the run with nothing but straight code beside them, which an `if` or `return` guards."""
    stretches = [_Stretch(False)]

    def visit(stmt: ir.Stmt, here: _Stretch) -> _Stretch:
        for top in ir.statement_expressions(stmt):
            for expr in ir.walk_expressions(top):
                if isinstance(expr, ir.InlinedCall):
                    here = visit(expr.body, here)
                elif not isinstance(stmt, ir.Loop):
                    here.branches |= _branches(expr, facts, is_fast=is_fast)
        match stmt:
            case ir.Block(is_breakable=False):
                for inner in stmt.statements:
                    here = visit(inner, here)
            case ir.If():
                here.branches |= _branches(stmt, facts, is_fast=is_fast)
                for arm in filter(None, (stmt.then, stmt.otherwise)):
                    stretches.append(inside := _Stretch(True))
                    visit(arm, inside)
                if stmt.otherwise is None and isinstance(stmt.then.statements[-1], ir.Return):
                    stretches.append(here := _Stretch(True))
            case ir.Loop() if _is_of_the_run(stmt):
                here.loops.append(stmt)
            case ir.Loop():
                visit(stmt.body, inside := _Stretch(True))
                here.branches |= inside.branches or bool(inside.loops)
            case ir.Switch() | ir.Block():
                here.branches = True
            case _:
                pass
        return here

    visit(body, stretches[0])
    for one in stretches:
        if one.is_guarded and not one.branches and len(one.loops) == 1:
            yield one.loops[0]


def _is_of_the_run(loop: ir.Loop) -> bool:
    shape = shape_of(loop)
    limits = [bound.limit for bound in shape.bounds]
    return (
        shape.has_other_conjuncts
        or not limits
        or not all(isinstance(one, int | ir.Constant) for one in limits)
    )


def _branches(node: ir.Stmt | ir.Expr, facts: KernelFacts, *, is_fast: bool) -> bool:
    """Whether the compiler has a branch for an `if`, a choice or a function, before it predicates any."""
    match node:
        case ir.If():
            arms = filter(None, (node.then, node.otherwise))
            return not all(facts.blocks[arm].is_selected for arm in arms)
        case ir.Select(then=then, otherwise=otherwise):
            return any(_is_dear(expr) for arm in (then, otherwise) for expr in ir.walk_expressions(arm))
        case ir.Logical(right=right):
            return any(map(_is_dear, ir.walk_expressions(right)))
        case ir.Intrinsic():
            return calls_branching(node, is_fast=is_fast)
        case _:
            return False


def _is_dear(expr: ir.Expr) -> bool:
    """Whether an expression is computed only where it is needed."""
    if isinstance(expr, ir.Intrinsic):
        return expr.semantics not in (ir.Semantics.MIN, ir.Semantics.MAX, ir.Semantics.ABS)
    return isinstance(expr, ir.Load | ir.Atomic | ir.InlinedCall | ir.Assign | ir.Increment)


def _split(loop: ir.Loop, facts: KernelFacts, *, is_fast: bool) -> ir.Loop:
    """`loop` with its ranges, where the one branch in it compares its counter; else as it is."""
    if (counter := _counter_of(loop)) is None or not facts.blocks[loop.body].has.isdisjoint(_UNSPLIT):
        return loop
    found: list[ir.If | ir.Select] = []
    for stmt in (statements := _flat(loop.body)):
        if isinstance(stmt, ir.If):
            found += [stmt] * _branches(stmt, facts, is_fast=is_fast)
            continue
        for top in ir.statement_expressions(stmt):
            for expr in ir.walk_expressions(top):
                if isinstance(expr, ir.InlinedCall):
                    return loop
                if _branches(expr, facts, is_fast=is_fast):
                    if not isinstance(expr, ir.Select):
                        return loop
                    found.append(expr)
    if len(found) != 1 or _are_alike(found[0]):
        return loop
    (branch,) = found
    if _loads_one_address(statements, branch, shape_of(loop)):
        return loop
    first, rest, region = _taken_apart(branch.condition)
    op = _compared(first, counter, shape_of(loop))
    if isinstance(branch, ir.If) and (window := _window(branch, counter, shape_of(loop))) is not None:
        op, branch, rest = *window, None
    if op is None or _asks_more(branch, rest):
        return loop
    always = ir.Constant(1, ir.BOOL, first.span)
    decided = replace(branch, condition=always)
    if isinstance(branch, ir.If) and rest is not None:
        asked = replace(branch, condition=rest, region=region)
        decided = replace(branch, condition=always, then=ir.Block((asked,), region, branch.span))
    if isinstance(decided, ir.If) and decided.otherwise is None and len(statements) == 1:
        arm = decided.then
        passed = None if op in (ir.BinaryOp.LT, ir.BinaryOp.NE) else loop.body.region
        ranges = ir.Ranges(2 if op is ir.BinaryOp.NE else 1, passed)
        return replace(loop, body=arm, test_region=arm.region, step_region=arm.region, ranges=ranges)
    changed = rewritten_part(loop, lambda old, new: decided if old is found[0] else new)
    return replace(changed, ranges=ir.Ranges(2))


def _loads_one_address(statements: list[ir.Stmt], branch: ir.If | ir.Select, shape: LoopShape) -> bool:
    """Whether what is loaded first in each iteration, whatever the branch decides, is always the same."""
    for stmt in statements:
        for top in () if stmt is branch else ir.statement_expressions(stmt):
            for expr in ir.walk_expressions(top):
                if isinstance(expr, ir.Load):
                    reads = {
                        one.place.variable for one in ir.walk_expressions(expr) if isinstance(one, ir.Read)
                    }
                    return reads.isdisjoint(shape.assigned)
    return False


def _asks_more(branch: ir.If | ir.Select, rest: ir.Expr | None) -> bool:
    """Whether a branch asks for more at once: `k != i && d < r` is one truth, also as two `if`."""
    if rest is not None and (isinstance(branch, ir.Select) or branch.otherwise is not None):
        return True
    match branch:
        case ir.If(then=ir.Block(statements=(ir.If(condition=inner, otherwise=None),)), otherwise=None):
            rest = rest or inner
        case _:
            pass
    return rest is not None and not any(map(_is_dear, ir.walk_expressions(rest)))


def _flat(body: ir.Block) -> list[ir.Stmt]:
    """The statements of a body, those of blocks in it as its own."""
    found: list[ir.Stmt] = []
    for stmt in body.statements:
        found += _flat(stmt) if isinstance(stmt, ir.Block) and not stmt.is_breakable else [stmt]
    return found


def _are_alike(branch: ir.If | ir.Select) -> bool:
    """Whether both arms do the same with other values, which are chosen then: `s += a[k]` or `s += b[k]`."""
    match branch:
        case ir.If(
            then=ir.Block(statements=(ir.ExprStmt(expr=ir.Assign() as one),)),
            otherwise=ir.Block(statements=(ir.ExprStmt(expr=ir.Assign() as other),)),
        ):
            if not is_same_text(one.target, other.target):
                return False
            is_loaded_once = is_same_text(one.value, other.value)  # `s += a[k]` or `s -= a[k]`
            return is_loaded_once or (one.op is other.op and _form(one.value) == _form(other.value))
        case ir.If(
            then=ir.Block(statements=(ir.If(then=one, otherwise=None),)),
            otherwise=ir.Block(statements=(ir.If(then=other, otherwise=None),)),
        ):
            return is_same_text(one, other)  # what is asked of the data is chosen: the rank of a number
        case ir.Select(then=one, otherwise=other):
            return _form(one) == _form(other)
        case _:
            return False


def _form(expr: ir.Expr) -> list[object]:
    """Operations of an expression, any comparison as one; of a load that it is one, for then the address is
    chosen.
    """
    if isinstance(ir.strip_casts(expr), ir.Load):
        return [ir.Load]
    found = ((type(one), getattr(one, "op", None)) for one in ir.walk_expressions(expr))
    return [(kind, op in ir.COMPARISONS or op) for kind, op in found]


def _taken_apart(condition: ir.Expr) -> tuple[ir.Expr, ir.Expr | None, int]:
    """The first of what `&&` joins, the others if there are any, and the region in which these are asked."""
    others: list[ir.Logical] = []
    condition = ir.strip_casts(condition)
    while isinstance(condition, ir.Logical) and condition.op is ir.LogicalOp.AND:
        others.append(condition)
        condition = ir.strip_casts(condition.left)
    if not others:
        return condition, None, 0
    rest = (last := others.pop()).right
    for one in reversed(others):
        rest = replace(one, left=rest)
    return condition, rest, last.right_region


def _window(branch: ir.If, counter: ir.Variable, shape: LoopShape) -> tuple[ir.BinaryOp, ir.If] | None:
    """Of limits alone that `&&` or one `if` in another joins, one, a lower one where there is any (`k >= lo`
    of `k >= lo && k < hi`), and the `if` around what they decide. None for others, and for a single one.
    """
    inside, found = branch, list[ir.BinaryOp | None]()
    while True:
        found += [
            _compared(e, counter, shape) if holds else None for e, holds in conjuncts_of(inside.condition)
        ]
        match inside:
            case ir.If(then=ir.Block(statements=(ir.If() as inner,)), otherwise=None):
                inside = inner
            case _:
                break
    is_joined = len(found) > 1 and inside.otherwise is None
    if not is_joined or not set(found) <= {*_LOWER, ir.BinaryOp.LT, ir.BinaryOp.LE}:
        return None
    op = next((op for op in found if op in _LOWER), found[0])
    return None if op is None else (op, replace(branch, then=inside.then))


def _compared(condition: ir.Expr, counter: ir.Variable, shape: LoopShape) -> ir.BinaryOp | None:
    """How a condition compares the counter with a variable that the loop leaves as it is, or an index."""
    condition, holds = ir.strip_casts(condition), True
    while isinstance(condition, ir.Unary) and condition.op is ir.UnaryOp.NOT:
        condition, holds = ir.strip_casts(condition.operand), not holds
    if not isinstance(condition, ir.Binary) or condition.op not in ir.COMPARISONS:
        return None
    op, left, right = condition.op, ir.strip_casts(condition.left), ir.strip_casts(condition.right)
    if isinstance(left, ir.Constant):
        op, left, right = ir.MIRRORED[op], right, left
    match left, right:
        case ir.Binary(op=ir.BinaryOp.SUB), ir.Constant(value=0) if left.type.signed:  # `i - k >= 0`
            left, right = ir.strip_casts(left.left), ir.strip_casts(left.right)
        case _:
            pass
    if ir.read_variable(right) is counter:
        op, left, right = ir.MIRRORED[op], right, left
    if ir.read_variable(left) is not counter:
        return None
    op = op if holds else ir.NEGATED[op]
    match right:
        case ir.Binary(op=by, right=ir.Constant(value=1)) if (op, by) in _BY_ONE:
            op, right = _BY_ONE[op, by], ir.strip_casts(right.left)
        case _:
            pass
    match right:
        case ir.Read(place=place) if place.type.bits == 32:
            return None if place.variable in shape.assigned else op
        case ir.Builtin():
            return op
        case _:
            return None
