"""Tests of a loop that compare a counter plus something that the loop does not change: `rest + i != 0`.

Compilers write them where the counter is used behind the loop, or counts the other way round (`n - i > 1`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wattslice import ir
from wattslice.counting.inductions import Induction
from wattslice.counting.syntax import strip_casts
from wattslice.counting.update_chains import Definitions, Term, sum_of


@dataclass(frozen=True, slots=True, eq=False)
class CounterSum:
    """`sign * counter + rest`; `is_old`: of the counter's value ahead of this iteration's step."""

    induction: Induction
    sign: int
    rest: tuple[Term, ...]
    is_old: bool

    def limit(self, other: ir.Expr) -> ir.Expr | int:
        """What the counter itself is compared with where this is compared with `other`.

        A comparison of order turns round where `sign` is negative.
        """
        terms = [(other, self.sign), *((value, -self.sign * factor) for value, factor in self.rest)]
        return sum_of(terms, other.span)


class _NoSumError(Exception):
    """An expression is no counter plus something that the loop does not change."""


def counter_sum(
    expr: ir.Expr,
    inductions: tuple[Induction, ...],
    is_invariant: Callable[[ir.Expr], bool],
    known: Definitions,
    stepped: frozenset[ir.Variable],
) -> CounterSum | None:
    """`expr` as such a sum; None for any other expression.

    `known`: what a body has given to registers ahead of the test at its bottom, `stepped`: the counters that
    move only behind them.
    """
    counters = {induction.variable: induction for induction in inductions}
    found: list[tuple[Induction, int, bool]] = []
    rest: list[Term] = []

    def take(expr: ir.Expr, sign: int, is_old: bool) -> None:
        expr = strip_casts(expr)
        match expr:
            case ir.Read(place=ir.RegisterPlace(variable=variable, path=())) if variable in counters:
                if is_old and variable not in stepped:
                    raise _NoSumError
                found.append((counters[variable], sign, is_old))
            case ir.Read(place=ir.RegisterPlace(variable=variable, path=())) if variable in known:
                take(known[variable], sign, True)
            case ir.Binary(op=ir.BinaryOp.ADD | ir.BinaryOp.SUB) if expr.operand_type.is_integral:
                take(expr.left, sign, is_old)
                take(expr.right, sign if expr.op is ir.BinaryOp.ADD else -sign, is_old)
            case _:
                if not (is_invariant(expr) and expr.type.is_integral):
                    raise _NoSumError
                rest.append((expr, sign))

    try:
        take(expr, 1, False)
    except (_NoSumError, RecursionError):
        return None
    if len(found) != 1:
        return None
    induction, sign, is_old = found[0]
    return CounterSum(induction, sign, tuple(rest), is_old)
