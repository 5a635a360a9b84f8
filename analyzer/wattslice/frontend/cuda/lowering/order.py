"""The order in which host code evaluates what stands side by side, as g++ does; and each place found once.

What an expression needs to be run before it is put before the statement at hand (`body.before`). That is too
early where something else of the same expression is run first: then it belongs to its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location
from wattslice.frontend.cuda.lowering.memory import with_effects
from wattslice.ir import Expr, Read, RegisterPlace, Span

_ACTING = ir.Call | ir.Assign | ir.Increment | ir.InlinedCall | ir.LaunchCall
_FIRST_TO_LAST = ("<<", ">>", "->*", "[]", "&&", "||", ",")
"""Operators whose operands C++17 orders; those of others g++ takes from the last on, as it must of `=`."""


def acts(value: Expr) -> bool:
    """Whether evaluating something may do more than give its value."""
    return any(isinstance(one, _ACTING) for one in ir.walk_expressions(value))


def last_first(number: int, ahead: int = 0) -> tuple[int, ...]:
    """The order of the arguments of a call: the object in front of it, then from the last one on."""
    return (*range(ahead), *reversed(range(ahead, number)))


def order_of(operator: str, number: int, has_object: bool) -> tuple[int, ...]:
    """The order of the arguments of a call, or of the operands of an operator that is a call (`+`)."""
    if operator in _FIRST_TO_LAST:
        return tuple(range(number))
    return last_first(number, int(has_object and operator in ("", "()")))


def in_turn(body: Body, steps: Sequence[Callable[[], Expr]], order: Sequence[int] = ()) -> list[Expr]:
    """The values that stand side by side, which are evaluated in this order; empty: the first one first."""
    found: dict[int, Expr] = {}
    for at in order or range(len(steps)):
        mark = len(body.before)
        value = steps[at]()
        if body.is_host and len(body.before) > mark and any(map(acts, found.values())):
            value = with_effects(body, mark, value)
        found[at] = value
    return [found[at] for at in range(len(steps))]


def found_once(body: Body, where: Location | None, span: Span) -> Location | None:
    """A place of host code that is named more than once: where it is found by what acts, that is run here."""
    if not isinstance(where, Cell) or not acts(where.address):
        return where
    held = body.temporary("place", where.address.type, span)
    body.before.append(ir.Declare(held, where.address, body.region(), span))
    return replace(where, address=Read(RegisterPlace(held, (), held.type), held.type, span))
