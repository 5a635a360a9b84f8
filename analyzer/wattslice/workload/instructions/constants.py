"""What compilers make of a kernel before they choose instructions: constants in place of local variables that
are, and of jumps in loops what they come to."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.loops import (
    Bound,
    LoopShape,
    always_evaluated,
    break_test,
    canonical,
    conjuncts_of,
    is_endless,
    may_leave,
    shape_of,
    written_below,
)
from wattslice.ir.rewriting import is_same_text, rewritten, with_values
from wattslice.workload.instructions.splitting import with_split_loops

MOST_TESTED = 20
"""A constant bound of no more iterations stays a test beside another one (nvcc 13: 20, not 21)."""


@lru_cache(maxsize=32)
def with_constants(kernel: ir.Kernel) -> ir.Kernel:
    """`kernel` with the constant in place of each variable that is declared with it and never changes.

    `if (c) continue;` becomes a branch around what is left of the body, and `if (j > i) break;` beside the
    test of a loop part of that, as compilers see it. So is a `return` that does what follows the loop.
    """
    given = ir.values_given(kernel.body)
    begun = {s.variable for s in ir.walk_statements(kernel.body) if isinstance(s, ir.Declare) and s.value}
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.InlinedCall):
            begun.update(expr.parameters)
            for parameter, argument in zip(expr.parameters, expr.arguments, strict=True):
                given.setdefault(parameter, []).append(argument)
    found = {
        variable: values[0]
        for variable, values in given.items()
        if len(values) == 1 and isinstance(values[0], ir.Constant) and variable in begun
    }
    for expr in ir.expressions_below(kernel.body) if found else ():
        if isinstance(expr, ir.Increment) and isinstance(expr.target, ir.RegisterPlace):
            found.pop(expr.target.variable, None)
        elif isinstance(expr, ir.AddressOf):
            found.pop(expr.variable, None)

    body = with_values(kernel.body, found)
    if body is not kernel.body:
        return with_constants(replace(kernel, body=body))
    if kernel.machine_instructions:
        return kernel
    changed = rewritten(kernel, partial(_without_jumps, kernel.body))
    body = _joining_ends(changed.body)
    return with_split_loops(changed if body is changed.body else replace(changed, body=body))


def _without_jumps(around: ir.Block, old: Any, new: Any) -> Any:  # noqa: ANN401 - any node
    if isinstance(new, ir.InlinedCall) and (body := _joining_ends(new.body)) is not new.body:
        return replace(new, body=body)
    if not isinstance(new, ir.Loop):
        return new
    loop = new
    while (tested := _with_test(loop, partial(_computed_ahead, around, old))) is not loop:
        loop = tested
    statements = _branching(loop.body.statements)
    return (
        loop
        if statements is loop.body.statements
        else replace(loop, body=replace(loop.body, statements=statements))
    )


def _joining_ends(body: ir.Block) -> ir.Block:
    """A function of which `{ b[i] = s; return; }` in a loop is a `break`, where just that follows the loop.

    So it is in a loop that has no other end. What stood there is done behind the loop, as often as before.
    """
    statements = list[ir.Stmt]()
    for at, stmt in enumerate(body.statements):
        ends = list[ir.Block]()
        if isinstance(stmt, ir.Loop):
            is_only = is_endless(stmt) and sum(map(may_leave, stmt.body.statements)) == 1
            rest = None if is_only else _without_return(body.statements[at + 1 :])
            inside = tuple([_leaving(inner, rest, ends) for inner in stmt.body.statements])
            if ends:
                stmt = _without_jumps(body, stmt, replace(stmt, body=replace(stmt.body, statements=inside)))
        statements.append(stmt)
        always = ir.Constant(1, ir.BOOL, stmt.span)
        statements += [ir.If(always, arm, None, stmt.region, arm.span) for arm in ends]
    return body if len(statements) == len(body.statements) else replace(body, statements=tuple(statements))


def _leaving(stmt: ir.Stmt, rest: tuple[ir.Stmt, ...] | None, ends: list[ir.Block]) -> ir.Stmt:
    """An `if` with `break` in place of arms that do `rest` (None: anything) and return, added to `ends`."""
    if not isinstance(stmt, ir.If):
        return stmt
    arms: list[ir.Block | None] = []
    for arm in (stmt.then, stmt.otherwise):
        match arm:
            case ir.Block(statements=(*_, ir.Return() as last)) if rest is None or is_same_text(
                _without_return(arm.statements), rest
            ):
                ends.append(arm)
                arms.append(replace(arm, statements=(ir.Break(arm.region, last.span),)))
            case _:
                arms.append(arm)
    return replace(stmt, then=arms[0] or stmt.then, otherwise=arms[1]) if ends else stmt


def _without_return(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """Statements without a `return` at their end that gives nothing back."""
    last = statements[-1] if statements else None
    return statements[:-1] if isinstance(last, ir.Return) and last.value is None else statements


def _with_test(loop: ir.Loop, ahead: Callable[[], list[ir.Expr]]) -> ir.Loop:
    """A loop with the `break` that stands next to its test in the test, where both ask for counters alone.

    At the end of a `for` the counter steps in between, which the limit takes in; a step at the end of the
    body of a `while` it does not (SASS of nvcc 13). `ahead`: what is computed on the way to the loop.
    """
    statements = _with_test_ahead(_with_else_ahead(loop.body.statements), is_all=is_endless(loop))
    if is_endless(loop):
        turned = canonical(replace(loop, body=replace(loop.body, statements=statements)))
        if turned.condition is not None and not is_endless(turned):
            test = statements[-1 if turned.kind is ir.LoopKind.DO else 0]
            return replace(turned, test_region=test.region)
    if loop.condition is None or len(statements) < 2:
        return loop
    always = {exit_.stmt for exit_ in shape_of(loop).exits}
    for kind, stmt, rest in (
        (ir.LoopKind.DO, statements[0], statements[1:]),
        (ir.LoopKind.WHILE, statements[-1], statements[:-1]),
    ):
        is_first = stmt is statements[0]
        is_beside = loop.kind is not kind and (is_first or stmt in always)
        stay = break_test(stmt) if is_beside else None
        if stay is None or not isinstance(stmt, ir.If) or isinstance(stmt.condition, ir.Logical):
            continue
        tests = (loop.condition, stay) if is_first else (stay, loop.condition)
        both = ir.Logical(ir.LogicalOp.AND, *tests, stmt.region, ir.BOOL, stmt.span)
        tested = replace(loop, condition=both, body=ir.Block(rest, rest[0].region, rest[0].span))
        shape = shape_of(tested)
        if not shape.has_other_conjuncts and (not is_first or _joins(stay, shape, ahead)):
            return tested
    return loop


def _with_test_ahead(statements: tuple[ir.Stmt, ...], *, is_all: bool) -> tuple[ir.Stmt, ...]:
    """`int j = i + k; if (j >= n) break; ...` as `if (i + k >= n) break; ...`.

    `is_all`: also where the rest reads what is declared; else the statements stay as they are.
    """
    at = next((i for i, stmt in enumerate(statements) if not isinstance(stmt, ir.Declare)), len(statements))
    if not 0 < at < len(statements) or break_test(statements[at]) is None:
        return statements
    values: dict[ir.Variable, ir.Expr] = {}
    for stmt in statements[:at]:
        if not isinstance(stmt, ir.Declare) or stmt.value is None or not _is_arithmetic(stmt.value):
            return statements
        values[stmt.variable] = with_values(stmt.value, values)
    test, rest = with_values(statements[at], values), statements[at + 1 :]
    reads = {ir.read_variable(expr) for stmt in rest for expr in ir.expressions_below(stmt)}
    if reads.isdisjoint(values):
        return (test, *rest)
    return (test, *statements[:at], *rest) if is_all else statements


def _is_arithmetic(expr: ir.Expr) -> bool:
    kinds = ir.Constant | ir.Read | ir.Builtin | ir.Binary | ir.Cast | ir.Unary
    least = (ir.Semantics.MIN, ir.Semantics.MAX)
    return all(
        isinstance(node, kinds) or (isinstance(node, ir.Intrinsic) and node.semantics in least)
        for node in ir.walk_expressions(expr)
    )


def is_counted(shape: LoopShape) -> bool:
    """Whether one limit ends a loop: one bound, or the least of several of a signed counter by ones."""
    if shape.has_other_conjuncts or not shape.bounds or not _are_one_test(shape):
        return False
    counter, type_ = shape.bounds[0].induction, shape.bounds[0].induction.variable.type
    return len(shape.bounds) == 1 or (
        type_.signed
        and type_.bits >= 32
        and counter.distance in (1, -1)
        and not any(map(_is_small, shape.bounds))
        and all(bound.induction is counter for bound in shape.bounds)
    )


def _are_one_test(shape: LoopShape) -> bool:
    """Whether what a loop asks for is asked for at once, before each iteration.

    What follows `&&` is, where it may be computed in any case: no load, no division (SASS of nvcc 13). Behind
    the body all of it is.
    """
    test = shape.loop.condition
    if test is None or shape.loop.kind is ir.LoopKind.DO:
        return True
    later = (node for one, _ in tuple(conjuncts_of(test))[1:] for node in ir.walk_expressions(one))
    return not any(
        _is_load(node) or (isinstance(node, ir.Binary) and node.op in _DIVISIONS) for node in later
    )


_DIVISIONS = (ir.BinaryOp.DIV, ir.BinaryOp.MOD)


def _is_load(expr: ir.Expr) -> bool:
    return isinstance(expr, ir.Load) and expr.place.space is not ir.MemorySpace.SHARED


def _joins(test: ir.Expr, shape: LoopShape, ahead: Callable[[], list[ir.Expr]]) -> bool:
    """Whether a `break` in front of a body joins the test: it compares the counter with what no iteration
    changes, or computes one number beyond what there is `ahead` of the loop (SASS of nvcc 13).
    """
    if any(map(_is_load, ir.walk_expressions(test))):
        return False
    (compared, _), *_ = conjuncts_of(test)
    sides = ir.children(compared)
    if any(ir.read_variable(side) in shape.counters for side in sides):
        return True
    if sum(_numbers(side, []) for side in sides) <= 1:
        return True
    there = [] if any(map(_is_small, shape.bounds)) else ahead()
    return sum(_numbers(side, there) for side in sides) <= 1


def _numbers(expr: ir.Expr, there: list[ir.Expr]) -> int:
    """How many numbers an expression computes that are not `there`."""
    if any(is_same_text(expr, one) for one in there):
        return 0
    own = isinstance(expr, ir.Binary | ir.Intrinsic)
    return own + sum(_numbers(part, there) for part in ir.children(expr))


def _computed_ahead(around: ir.Stmt, loop: ir.Loop) -> list[ir.Expr]:
    """What is computed on each way to `loop` and not changed since."""
    found: list[ir.Expr] = []
    return found if _reaches(around, loop, found) else []


def _reaches(stmt: ir.Stmt, loop: ir.Loop, found: list[ir.Expr]) -> bool:
    """Whether `loop` is in `stmt`; `found`: what is computed on the way to it, or by all of `stmt`."""
    if isinstance(stmt, ir.Loop):
        _forget(stmt, found)
        if stmt is loop:
            return True
    bodies = list(ir.nested_statements(stmt))
    for top in () if isinstance(stmt, ir.Loop) else ir.statement_expressions(stmt):
        found += [expr for expr in always_evaluated(top) if isinstance(expr, ir.Binary | ir.Intrinsic)]
        bodies += [expr.body for expr in ir.walk_expressions(top) if isinstance(expr, ir.InlinedCall)]
    for body in bodies:
        known = len(found)
        if _reaches(body, loop, found):
            return True
        if not isinstance(stmt, ir.Block):
            del found[known:]
    _forget(stmt, found)
    return False


def _forget(stmt: ir.Stmt, found: list[ir.Expr]) -> None:
    """Take out of `found` what reads something that `stmt` changes."""
    changed, _ = written_below(stmt)
    found[:] = [e for e in found if changed.isdisjoint(map(ir.read_variable, ir.walk_expressions(e)))]


def _is_small(bound: Bound) -> bool:
    limit = bound.limit.value if isinstance(bound.limit, ir.Constant) else bound.limit
    return isinstance(limit, int) and 0 < limit <= MOST_TESTED


def _with_else_ahead(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """`if (c) ... else break;` at the beginning of a body as `if (!c) break; ...`."""
    match statements:
        case (ir.If(otherwise=ir.Block(statements=(ir.Break(),)) as leaving) as stmt, *rest):
            condition = ir.Unary(ir.UnaryOp.NOT, stmt.condition, ir.BOOL, stmt.condition.span)
            turned = replace(stmt, condition=condition, then=leaving, otherwise=None)
            return (turned, *stmt.then.statements, *rest)
        case _:
            return statements


def _branching(statements: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The end of a loop's body, what a `continue` skips in the other arm of the `if` that it ends."""
    for at, stmt in enumerate(statements):
        if not isinstance(stmt, ir.If) or stmt.otherwise is not None or not stmt.then.statements:
            continue
        if not isinstance(stmt.then.statements[-1], ir.Continue):
            continue
        then = replace(stmt.then, statements=_branching(stmt.then.statements[:-1]))
        rest = _branching(statements[at + 1 :])
        others = ir.Block(rest, rest[0].region, rest[0].span) if rest else None
        if others is not None and not then.statements:
            condition = ir.Unary(ir.UnaryOp.NOT, stmt.condition, ir.BOOL, stmt.condition.span)
            branch = replace(stmt, condition=condition, then=others)
        else:
            branch = replace(stmt, then=then, otherwise=others)
        return (*statements[:at], branch)
    return statements
