"""What the iterations of a loop give to variables, as far as the copies of an unrolled loop may know it."""

from __future__ import annotations

import math

from wattslice.ir import (
    COMPARISONS,
    Assign,
    Binary,
    BinaryOp,
    Break,
    Constant,
    Continue,
    Declare,
    Expr,
    If,
    Increment,
    InlinedCall,
    Logical,
    Loop,
    Read,
    RegisterPlace,
    Select,
    Stmt,
    Switch,
    Unary,
    UnaryOp,
    Variable,
    nested_statements,
    statement_expressions,
    strip_casts,
    walk_expressions,
    walk_statements,
)
from wattslice.ir.loops import always_evaluated, written_below

_ANOTHER = frozenset((math.inf,))
_LIMITS = (BinaryOp.MOD, BinaryOp.AND, BinaryOp.XOR)
MOST_VALUES = 16
"""Values of a state below which copies of a loop may come back to it."""


def named_in(expr: Expr) -> set[Variable]:
    """The variables that an expression reads."""
    return {e.place.variable for e in walk_expressions(expr) if isinstance(e, Read)}


Given = dict[Variable, list[tuple[Expr, ...]]]
"""What variables get: each value with all that decides whether it comes to that."""


def given_in(loop: Loop, others: set[Variable] | None = None, *, are_unrolled: bool = False) -> Given:
    """What an iteration gives to variables; `others`: what else it changes.

    `are_unrolled`: the loops inside are, whose copies give like any other code (`v[k++]` in two loops).
    """
    given: Given = {}
    others = set() if others is None else others
    jumps = _note_given(loop.body, (), given, others, are_unrolled=are_unrolled)
    return {variable: [(*one, *jumps) for one in found] for variable, found in given.items()}


def _note_given(
    stmt: Stmt,
    deciding: tuple[Expr, ...],
    given: Given,
    others: set[Variable],
    *,
    are_unrolled: bool,
    is_in_switch: bool = False,
) -> list[Expr]:
    """Note what `stmt` gives to variables, and what else it changes.

    Returns what decides about jumps, and so about all that follows them.
    """
    if isinstance(stmt, Loop) and are_unrolled:
        deciding, is_in_switch = (*deciding, *statement_expressions(stmt)[:1]), False
    elif isinstance(stmt, Loop):
        others.update(key[0] if isinstance(key, tuple) else key for key in written_below(stmt)[0])
        return []
    if isinstance(stmt, Declare) and stmt.value is not None:
        given.setdefault(stmt.variable, []).append((stmt.value, *deciding))
    for top in statement_expressions(stmt):
        always = set(always_evaluated(top))
        for expr in walk_expressions(top):
            match expr:
                case (
                    Assign(target=RegisterPlace(variable=variable, path=()))
                    | Increment(target=RegisterPlace(variable=variable, path=()))
                ) if expr in always:
                    value = expr.value if isinstance(expr, Assign) and expr.op is None else expr
                    given.setdefault(variable, []).append((value, *deciding))
                case (
                    Assign(target=RegisterPlace(variable=variable))
                    | Increment(target=RegisterPlace(variable=variable))
                ):
                    others.add(variable)
                case InlinedCall(parameters=parameters, body=body):
                    others.update(parameters)
                    others.update(key[0] if isinstance(key, tuple) else key for key in written_below(body)[0])
                case _:
                    pass
    jumps: list[Expr] = []
    if isinstance(stmt, If | Switch):
        decides = stmt.condition if isinstance(stmt, If) else stmt.selector
        deciding = (*deciding, decides)
        is_in_switch |= isinstance(stmt, Switch)
        if isinstance(stmt, If) and may_skip(stmt, is_in_switch=is_in_switch):
            jumps.append(decides)
    for inner in nested_statements(stmt):
        jumps += _note_given(
            inner, deciding, given, others, are_unrolled=are_unrolled, is_in_switch=is_in_switch
        )
    return jumps


def few_values(given: Expr) -> frozenset[float] | None:
    """The numbers that are given to a variable: by `1`, `(i + 1) % 4`, `!p`; by `p = q` none, by `p ^= 1`
    another than was there.
    """
    match strip_casts(given):
        case Constant(value=value):
            return frozenset((value,))
        case Read():
            return frozenset()
        case Select(then=then, otherwise=otherwise):
            one, other = few_values(then), few_values(otherwise)
            return None if one is None or other is None else one | other
        case Unary(op=op) if op is not UnaryOp.NOT:
            return _ANOTHER
        case Binary(op=BinaryOp.SUB, left=Constant(), right=Read()):
            return _ANOTHER
        case Binary(op=op, right=right) | Assign(op=op, value=right) if op in _LIMITS:
            match strip_casts(right):
                case Constant() if op is BinaryOp.XOR:
                    return _ANOTHER
                case Constant(value=int(limit)) if 0 < limit < MOST_VALUES:
                    return frozenset(range(limit + (op is BinaryOp.AND)))
                case _:
                    return None
        case Unary() | Logical():
            return frozenset((0, 1))
        case Binary(op=op) if op in COMPARISONS:
            return frozenset((0, 1))
        case _:
            return None


def may_skip(stmt: Stmt, *, is_in_switch: bool) -> bool:
    """Whether a `continue`, or the `break` of a switch, passes over statements that follow `stmt`."""
    skips = Continue | Break if is_in_switch else Continue
    return any(isinstance(inner, skips) for inner in walk_statements(stmt))
