"""Long loops of host code, of which a few iterations are visited: what the others make of the variables.

A variable that every iteration changes by the same amount, whatever else happens in it, is known in each of
them. Of any other that the loop may write nothing is known once iterations are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from wattslice import ir
from wattslice.ir import loops
from wattslice.launches.host_api import base_of


class LoopWrites(Struct, frozen=True):
    """What a loop writes: `steady` by the same amount in each iteration, with how often it is written there,
    `grown`: vectors by an element.

    `names`: the variables that it may write. `may_end_early`: a jump out of it depends on what it writes.
    """

    steady: Mapping[ir.Variable, int]
    names: frozenset[ir.Variable]
    may_end_early: bool
    grown: frozenset[ir.Variable]


def writes_of(loop: ir.Loop, callees: Iterable[ir.Function]) -> LoopWrites:
    """`callees`: the functions that its body may call."""
    written: dict[ir.Variable, int] = {}
    expressions = (*_expressions(loop), *(e for f in callees for e in ir.expressions_below(f.body)))
    for expr in expressions:
        for variable in _written_by(expr):
            written[variable] = written.get(variable, 0) + 1
    for stmt in ir.walk_statements(loop.body):
        if isinstance(stmt, ir.Declare) and stmt.variable.role is not ir.VariableRole.STATIC_LOCAL:
            written.setdefault(stmt.variable, 1)
    steps: dict[ir.Variable, int] = {}
    in_test = () if loop.condition is None else loops.always_evaluated(loop.condition)
    for expr in (*loops.once_an_iteration(loop), *in_test):
        variable = _stepped(expr, written)
        if variable is not None:
            steps[variable] = steps.get(variable, 0) + 1
    steady = {v: n for v, n in steps.items() if written[v] == n}
    return LoopWrites(
        steady,
        frozenset(written),
        _may_end_early(loop.body, set(written)),
        frozenset() if not _names_vectors(expressions) else _grown(loop, expressions),
    )


_KEEP_LENGTHS = frozenset(
    {"size", "empty", "capacity", "data", "begin", "end", "cbegin", "cend", *ir.ELEMENT_METHODS}
)


def _names_vectors(expressions: Iterable[ir.Expr]) -> bool:
    """Whether each vector that may get another length is named there, and none reached by a pointer."""
    for expr in expressions:
        is_object = isinstance(expr, ir.Assign) and _may_hold_vectors(expr.target.type)
        if isinstance(expr, ir.Assign) and is_object and not isinstance(expr.target, ir.RegisterPlace):
            return False
        if not isinstance(expr, ir.Call) or expr.name.removeprefix(ir.ADDRESS_OF) in _KEEP_LENGTHS:
            continue
        for inner in (inner for argument in expr.arguments for inner in ir.walk_expressions(argument)):
            pointed = inner.type.element
            if isinstance(inner, (ir.Text, ir.Constant, ir.Construct, ir.AddressOf)):
                continue
            if isinstance(base_of(inner), ir.AddressOf):  # one of these expressions
                continue
            if (pointed is not None and _may_hold_vectors(pointed)) or (
                isinstance(inner, ir.Load) and _may_hold_vectors(inner.type)
            ):
                return False
    return True


def _may_hold_vectors(type_: ir.Type) -> bool:
    """Whether a vector may lie in an object."""
    while type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        type_ = type_.element
    if type_.kind in (ir.TypeKind.VOID, ir.TypeKind.UNKNOWN):
        return True
    if type_.kind is not ir.TypeKind.RECORD or type_.lanes > 1:
        return False
    return not type_.fields or any(_may_hold_vectors(member.type) for member in type_.fields)


def _grown(loop: ir.Loop, expressions: Iterable[ir.Expr]) -> frozenset[ir.Variable]:
    """Vectors that an element is put behind once in each iteration, and whose length nothing else changes."""
    added = [
        expr.arguments[0].variable
        for expr in loops.once_an_iteration(loop)
        if isinstance(expr, ir.Call) and expr.name in ("push_back", "emplace_back")
        if expr.arguments and isinstance(expr.arguments[0], ir.AddressOf)
    ]
    named = [
        inner.variable if isinstance(inner, ir.AddressOf) else ir.read_variable(inner)
        for expr in expressions
        if isinstance(expr, ir.Call) and expr.name.removeprefix(ir.ADDRESS_OF) not in _KEEP_LENGTHS
        for argument in expr.arguments
        for inner in ir.walk_expressions(argument)
    ]
    assigned = {
        variable for expr in expressions if isinstance(expr, ir.Assign) for variable in _written_by(expr)
    }
    return frozenset(v for v in added if added.count(v) == named.count(v) == 1 and v not in assigned)


def _expressions(loop: ir.Loop) -> Iterator[ir.Expr]:
    yield from ir.expressions_below(loop.body)
    for expr in (loop.condition, loop.step):
        if expr is not None:
            yield from ir.walk_expressions(expr)


def _written_by(expr: ir.Expr) -> Iterator[ir.Variable]:
    if isinstance(expr, (ir.Assign, ir.Increment)):
        target = expr.target
        if isinstance(target, ir.RegisterPlace):
            yield target.variable
        elif target.root is not None and not isinstance(base_of(target.address), ir.Load):
            yield target.root
    elif isinstance(expr, ir.Call):
        for argument in expr.arguments:
            for inner in ir.walk_expressions(argument):
                if isinstance(inner, ir.AddressOf):
                    yield inner.variable


def _stepped(expr: ir.Expr, written: Iterable[ir.Variable]) -> ir.Variable | None:
    """The variable that an expression changes by an amount that no iteration changes."""
    update = loops.update_of(expr)
    if update is None or update.op not in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
        return None
    variable = update.variable
    if variable.type.kind is ir.TypeKind.BOOL:
        return None
    for node in () if isinstance(update.amount, int) else ir.walk_expressions(update.amount):
        if node.type.is_float and not variable.type.is_float:  # which rounds
            return None
        if isinstance(node, ir.Read):
            if node.place.variable in written:
                return None
        elif not isinstance(node, (ir.Constant, ir.Binary, ir.Unary, ir.Cast)):
            return None
    return variable


def jumps_of(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    """The jumps in the body of a loop that concern this loop."""
    if isinstance(stmt, (ir.Break, ir.Continue, ir.Return)):
        yield stmt
    for inner in ir.nested_statements(stmt):
        for jump in jumps_of(inner):
            if isinstance(jump, ir.Return) or not (
                isinstance(stmt, ir.Loop) or (isinstance(stmt, ir.Switch) and isinstance(jump, ir.Break))
            ):
                yield jump


def _may_end_early(stmt: ir.Stmt, written: set[ir.Variable]) -> bool:
    """Whether a condition over something that the loop writes decides a jump out of it."""
    decisions = (
        inner for inner in ir.walk_statements(stmt) if isinstance(inner, (ir.If, ir.Switch, ir.Loop))
    )
    for inner in decisions:
        leaves = any(isinstance(jump, (ir.Break, ir.Return)) for jump in jumps_of(inner))
        reads = (
            node.place.variable
            for expr in ir.statement_expressions(inner)
            for node in ir.walk_expressions(expr)
            if isinstance(node, ir.Read)
        )
        if leaves and any(variable in written for variable in reads):
            return True
    return False
