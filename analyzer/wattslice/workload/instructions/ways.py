"""How types decide what the compiler knows of the way of a counter to its limit (SASS of nvcc 13)."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from wattslice.ir import (
    INT32,
    Assign,
    BinaryOp,
    Cast,
    Constant,
    Declare,
    Expr,
    ExprStmt,
    Loop,
    RegisterPlace,
    Type,
    TypeKind,
    Variable,
    read_variable,
    strip_casts,
)
from wattslice.ir.loops import Bound
from wattslice.workload.instructions.value_graph import EnvironmentKey, Shape, Value


class Ahead(Struct, frozen=True):
    """What is known in front of a loop: what variables hold (`environment`), of which 32 bits come 64,
    and whether with a sign (`widened`).
    """

    environment: Mapping[EnvironmentKey, Value]
    widened: Mapping[Value, bool]

    def goes_round(self, bound: Bound, loop: Loop) -> bool:
        """Whether a counter may go round its own type before it meets a limit of a wider one: `int i` beside
        `long n`. The compiler neither counts such a loop nor steps pointers along.

        A counter with a sign that goes up from a number does not; one of less than 32 bits only by one.
        """
        if not self.is_widened(bound):
            return False
        variable, distance = bound.induction.variable, bound.induction.distance or 0
        goes_up = distance > 0 and (distance == 1 or not _is_short(variable.type))
        return not (variable.type.signed and goes_up and self.may_start_at_number(variable, loop))

    def has_few_copies(self, bound: Bound) -> bool:
        """Whether a loop is not unrolled further than by four for its way.

        That of a counter of 64 bits by ones from a number, or without a sign by more; of a pointer up to
        another; of a counter that is widened, or meets a limit without its sign (`unsigned n`), by more.
        """
        variable, is_unit = bound.induction.variable, bound.induction.distance in (1, -1)
        start = self.environment.get(variable)
        is_number = start is not None and start.number is not None
        if variable.type.kind is TypeKind.POINTER:
            return bound.comparison is not BinaryOp.NE
        if _bits(variable.type) > _bits(INT32):
            return (bound.induction.distance == 1 and is_number) or not (variable.type.signed or is_unit)
        return not is_unit and (self.is_widened(bound) or (loses_sign(bound) and not is_number))

    def is_widened(self, bound: Bound) -> bool:
        """Whether a counter is compared in more bits than it has, with what it may not hold.

        A limit that is a number, or as narrow before it is widened, is met in the type of an `int`.
        """
        counter, limit = bound.induction.variable.type, bound.limit
        if isinstance(limit, int | Constant) or counter.kind is not TypeKind.INT:
            return False
        is_narrow = _bits(counter) < (bound.type_.bits or 0)
        return is_narrow and (_is_short(counter) or not _fits(self.before_widening(limit), counter))

    def before_widening(self, limit: Expr) -> Type:
        """The type of a limit before it was widened."""
        while isinstance(limit, Cast) and _bits(limit.operand.type) <= _bits(limit.type):
            limit = limit.operand
        variable = read_variable(limit)
        value = None if variable is None else self.environment.get(variable)
        if value is None or value.bits != _bits(INT32) or value not in self.widened:
            return limit.type
        return replace(INT32, signed=self.widened[value])

    def may_start_at_number(self, variable: Variable, loop: Loop) -> bool:
        """Whether a counter starts with a number, as far as can be told: of a loop inside it may not be."""
        for stmt in loop.init:
            match stmt:
                case (
                    Declare(variable=given, value=value)
                    | ExprStmt(expr=Assign(target=RegisterPlace(variable=given), value=value))
                ) if given is variable and value is not None:
                    return isinstance(strip_casts(value), Constant)
                case _:
                    pass
        start = self.environment.get(variable)
        return start is None or start.shape is Shape.CONSTANT


def loses_sign(bound: Bound) -> bool:
    """Whether a counter with a sign meets its limit without one: `int i` beside `unsigned n`."""
    counter, tested = bound.induction.variable.type, bound.type_
    return counter.kind is tested.kind is TypeKind.INT and counter.signed and not tested.signed


def _bits(type_: Type) -> int:
    return type_.bits or 64


def _is_short(counter: Type) -> bool:
    return _bits(counter) < _bits(INT32)


def _fits(type_: Type, wider: Type) -> bool:
    """Whether each value of one type of integers is one of another."""
    if wider.signed and not type_.signed:
        return _bits(type_) < _bits(wider)
    return _bits(type_) <= _bits(wider)
