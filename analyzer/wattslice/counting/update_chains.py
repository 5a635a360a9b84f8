"""Updates of a register by way of others: `next = p + s; last = next + s; p = last` moves `p` by `2 * s`.

Compilers write them for unrolled loops, people where they look ahead (`int next = i + 1; ...; i = next`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wattslice import ir
from wattslice.counting.inductions import Induction
from wattslice.counting.syntax import Key, strip_casts

Definitions = dict[ir.Variable, ir.Expr]
"""What straight-line code of a loop's body gives to registers that it writes once."""


def definitions(body: ir.Stmt, assigned: Counter[Key]) -> Definitions:
    """The declarations that every iteration runs, of registers written nowhere else in the loop."""
    found: Definitions = {}
    for stmt in _every_iteration(body):
        if isinstance(stmt, ir.Declare) and stmt.value is not None and assigned[stmt.variable] == 1:
            found[stmt.variable] = stmt.value
    return found


def _every_iteration(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    if isinstance(stmt, ir.Block) and not stmt.is_breakable:
        for inner in stmt.statements:
            yield from _every_iteration(inner)
    else:
        yield stmt


def chained_update(expr: ir.Expr, known: Definitions) -> Induction | None:
    """The induction step that `expr` makes by way of other registers; None for any other expression."""
    if not (
        isinstance(expr, ir.Assign)
        and expr.op is None
        and isinstance(expr.target, ir.RegisterPlace)
        and not expr.target.path
    ):
        return None
    variable = expr.target.variable
    terms = distance(expr.value, variable, known)
    if not terms:
        return None
    return Induction(variable, ir.BinaryOp.ADD, sum_of(terms, expr.span), 1)


Term = tuple[ir.Expr | int, int]
"""Something times a number."""


def distance(expr: ir.Expr, variable: ir.Variable, known: Definitions) -> list[Term] | None:
    """What `expr` is beyond `variable`, as terms of a sum; None where it is no such sum."""
    terms: list[Term] = []
    left = len(known) + 32
    while left:
        left -= 1
        expr = strip_casts(expr)
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


def constant_distance(expr: ir.Expr, variable: ir.Variable, known: Definitions) -> int | None:
    """How far `expr` is beyond `variable`, where that is a number."""
    terms = distance(expr, variable, known)
    if terms is None:
        return None
    total = 0
    for value, factor in terms:
        number = value.value if isinstance(value, ir.Constant) else value
        if not isinstance(number, int):
            return None
        total += number * factor
    return total


def _leads(expr: ir.Expr, variable: ir.Variable, known: Definitions) -> bool:
    expr = strip_casts(expr)
    if not isinstance(expr, ir.Read) or expr.place.path:
        return isinstance(expr, ir.Binary | ir.PointerOffset)
    return expr.place.variable is variable or expr.place.variable in known


def _is_simple(expr: ir.Expr) -> bool:
    """Whether an expression may be evaluated once more without being counted."""
    kinds = ir.Constant | ir.Read | ir.Builtin | ir.Binary | ir.Cast | ir.Unary
    return all(isinstance(node, kinds) for node in ir.walk_expressions(expr))


def sum_of(terms: list[Term], span: ir.Span) -> ir.Expr | int:
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
