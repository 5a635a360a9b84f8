"""What the values of a kernel need of registers, where constant trip counts alone unroll its loops."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Declare,
    Expr,
    ExprStmt,
    Increment,
    Kernel,
    Loop,
    LoopKind,
    Read,
    RegisterPlace,
    Unary,
    UnaryOp,
    Variable,
    walk_expressions,
)
from wattslice.ir.accesses import register_assignments
from wattslice.ir.c_arithmetic import fold, wrapped
from wattslice.ir.loops import Induction, LoopShape, shape_of
from wattslice.ir.loops import constant_trips as trips_to
from wattslice.workload.instructions.code_facts import kernel_facts
from wattslice.workload.instructions.constants import with_constants
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.kinds import Isa
from wattslice.workload.instructions.loops import TripCounts
from wattslice.workload.instructions.pressure import Pressure, pressure, width
from wattslice.workload.instructions.statements import lower
from wattslice.workload.instructions.value_graph import LoopLevel, Value, chain

MOST_TRIPS = 4096
_GLOBAL = frozenset({K.LDG, K.TEX})


class Liveness(Struct, frozen=True):
    """In 32-bit registers. `pressure`: of the values (`pressure.py`).

    `ahead`: most that one stretch without a loop loads from global memory, unrolled copies included;
    `ahead_shared`: from shared memory. `indexed`: arrays of the thread that have to lie in local memory.
    """

    pressure: Pressure
    ahead: float
    ahead_shared: float
    indexed: frozenset[Variable]


@lru_cache(maxsize=16)
def liveness(kernel: Kernel) -> Liveness:
    """The values of `kernel` that are live at once."""
    found = lower(kernel, constant_trips(kernel), Isa.IMAD)
    return Liveness(pressure(found), *_ahead(found.values), found.indexed)


def constant_trips(kernel: Kernel) -> TripCounts:
    """The loops (their regions) whose start, step and bound are constants, with their iterations.

    Where a bound follows the counter of a loop around it, that stands at the middle of its way.
    """
    found: dict[int, float] = {}
    counters: dict[Variable, int | float] = {}
    kernel = with_constants(kernel)
    for loop in kernel_facts(kernel).loops:
        if (trips := _trips(loop, counters, kernel)) is not None:
            found[loop.region] = trips
    return tuple(found.items())


def _trips(loop: Loop, counters: dict[Variable, int | float], kernel: Kernel) -> float | None:
    if loop.condition is None:
        return None
    shape = shape_of(loop)
    tested = {expr.place.variable for expr in walk_expressions(loop.condition) if isinstance(expr, Read)}
    updates = [one for one in shape.inductions if one.variable in tested | shape.updated_in_test]
    if len(updates) != 1:
        return None
    (update,) = updates
    amount = _constant(update.amount, counters) if isinstance(update.amount, Expr) else update.amount
    value = _start(loop, update, kernel, counters)
    if (counted := _counted(shape, update, value, amount, counters)) is not None:
        if counted[0] > MOST_TRIPS:
            return None
        trips, counters[update.variable] = counted
        return float(trips)
    is_tested_behind = loop.kind is LoopKind.DO and update.variable not in shape.updated_in_test
    way: list[int | float] = []
    while value is not None and amount is not None and len(way) <= MOST_TRIPS:
        following = fold(update.op, value, amount, update.variable.type)
        tested_at = following if is_tested_behind else value
        goes_on = (
            None if tested_at is None else _constant(loop.condition, {**counters, update.variable: tested_at})
        )
        if goes_on is None:
            return None
        if loop.kind is LoopKind.DO or goes_on:
            way.append(value)
        if not goes_on:
            counters[update.variable] = way[len(way) // 2] if way else value
            return float(len(way))
        value = following
    return None


def _counted(
    shape: LoopShape, update: Induction, start: object, step: object, known: dict[Variable, int | float]
) -> tuple[int, int] | None:
    """The iterations of a loop that counts to one limit and wraps nowhere, and its counter half way.

    None where that is not sure. Of more than `MOST_TRIPS` only that there are more.
    """
    bound = shape.bounds[0] if len(shape.bounds) == 1 and not shape.has_other_conjuncts else None
    if bound is None or bound.induction is not update or bound.shift or shape.loop.kind is LoopKind.DO:
        return None
    limit = bound.limit if isinstance(bound.limit, int) else _constant(bound.limit, known)
    if not (isinstance(start, int) and isinstance(step, int) and isinstance(limit, int)):
        return None
    number = trips_to(start, step, bound.comparison, limit) if update.op is BinaryOp.ADD else None
    if number is None or shape.loop.condition is None:
        return None
    number = min(number, MOST_TRIPS + 1)
    last, end = (start + step * k for k in (max(0, number - 1), number))
    last_runs, end_runs = (
        _constant(shape.loop.condition, {**known, update.variable: at}) for at in (last, end)
    )
    is_so = (
        (end_runs == 0 or number > MOST_TRIPS)
        and (last_runs or not number)
        and wrapped(end, update.variable.type) == end
    )
    return (number, start + step * (number // 2)) if is_so else None


def _start(
    loop: Loop, update: Induction, kernel: Kernel, known: dict[Variable, int | float]
) -> int | float | None:
    """What a counter starts with: given in the head of its loop, else the only constant ever given to it."""
    starts = [
        value for stmt in loop.init for variable, value in _assigned(stmt) if variable is update.variable
    ]
    if not starts:
        own = {value for _, value in register_assignments(loop)}
        given = register_assignments(kernel.body)
        starts = [value for variable, value in given if variable is update.variable and value not in own]
    numbers = {None if value is None else _constant(value, known) for value in starts}
    return numbers.pop() if len(numbers) == 1 else None


def _assigned(stmt: object) -> Iterator[tuple[Variable | None, Expr | None]]:
    match stmt:
        case Declare(variable=variable, value=value):
            yield variable, value
        case ExprStmt(expr=Assign(target=target, op=None, value=value)):
            yield getattr(target, "variable", None), value
        case _:
            pass


def _constant(expr: Expr, known: dict[Variable, int | float]) -> int | float | None:
    match expr:
        case Constant(value=value):
            return value
        case Read(place=place):
            return known.get(place.variable)
        case Cast(operand=operand):
            return _constant(operand, known)
        case Increment(target=RegisterPlace(variable=variable), delta=delta, is_prefix=is_prefix):
            return known[variable] + delta * is_prefix if variable in known else None
        case Unary(op=UnaryOp.NOT, operand=operand):
            value = _constant(operand, known)
            return None if value is None else not value
        case Binary(op=op, left=left, right=right, operand_type=type_):
            a, b = _constant(left, known), _constant(right, known)
            return None if a is None or b is None else fold(op, a, b, type_)
        case _:
            return None


def _ahead(needed: list[Value]) -> tuple[float, float]:
    """The most that a stretch without a loop loads, from global and from shared memory."""
    numbers: dict[LoopLevel | None, list[float]] = {None: [0.0, 0.0]}
    for value in needed:
        if value.access is None or value.access.is_store or not value.cost:
            continue
        copies, around = 1.0, None
        for level in chain(value.place.level):
            copies *= level.copies
            if not level.is_unrolled:
                around = level
                break
        here = numbers.setdefault(around, [0.0, 0.0])
        here[value.cost[0][0] not in _GLOBAL] += copies * width(value)
    return max(far for far, _ in numbers.values()), max(near for _, near in numbers.values())
