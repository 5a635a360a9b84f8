"""Source operations of one run of each region: the convention of `docs/counting.md`, applied to the IR.

`own_operations` says what one expression costs by itself; everything else here only adds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from wattslice.ir import (
    Assign,
    Atomic,
    Binary,
    BinaryOp,
    Expr,
    If,
    Increment,
    Intrinsic,
    Kernel,
    Load,
    Logical,
    Loop,
    MemoryPlace,
    MemorySpace,
    OperationClass,
    PointerOffset,
    Select,
    Span,
    Stmt,
    Switch,
    TextureFetch,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
)
from wattslice.ir.evaluations import decision_region, evaluations
from wattslice.ir.operation_counts import CLASS_FIELD, FIELD_NAMES, OperationCounts

LOAD_CLASS: dict[MemorySpace, OperationClass] = {
    MemorySpace.GLOBAL: OperationClass.GLOBAL_LOAD,
    MemorySpace.SHARED: OperationClass.SHARED_LOAD,
    MemorySpace.CONSTANT: OperationClass.CONSTANT_LOAD,
    MemorySpace.TEXTURE: OperationClass.TEXTURE_LOAD,
}
STORE_CLASS: dict[MemorySpace, OperationClass] = {
    MemorySpace.GLOBAL: OperationClass.GLOBAL_STORE,
    MemorySpace.SHARED: OperationClass.SHARED_STORE,
    MemorySpace.TEXTURE: OperationClass.GLOBAL_STORE,  # surface writes
}


class Operation(NamedTuple):
    """`number` source operations of one class that one run of `region` makes, and where they are written.

    A tuple, because there are thousands of them and they take a third of the time to build.
    """

    region: int
    span: Span
    operation: OperationClass
    number: float


Costs = tuple[tuple[OperationClass, float], ...]
"""Operations of one evaluation by class."""


def arithmetic_class(type_: Type) -> OperationClass:
    """The class in which an operator on `type_` counts: integers, pointers and unreadable types are `int`."""
    if type_.kind is not TypeKind.FLOAT:
        return OperationClass.INT
    if type_.bits <= 16:
        return OperationClass.FP16
    return OperationClass.FP32 if type_.bits == 32 else OperationClass.FP64


def own_operations(expr: Expr) -> Costs:
    """What one evaluation of `expr` costs without its sub-expressions, as (class, number) pairs."""
    costs = _OWN.get(type(expr))
    return () if costs is None else costs(expr)


def _assignment(expr: Assign) -> Costs:
    return _update(expr.target, () if expr.op is None else (_arithmetic(expr.operand_type),))


def _fetch(expr: TextureFetch) -> Costs:
    return ((OperationClass.GLOBAL_STORE if expr.is_store else OperationClass.TEXTURE_LOAD, 1.0),)


_CONTROL: Costs = ((OperationClass.CONTROL, 1.0),)
_INT: Costs = ((OperationClass.INT, 1.0),)
_OWN: dict[type[Stmt | Expr], Callable[[Any], Costs]] = {  # by type: asked for every expression
    Binary: lambda expr: () if expr.op is BinaryOp.COMMA else (_arithmetic(expr.operand_type),),
    Unary: lambda expr: () if expr.op is UnaryOp.NOT else (_arithmetic(expr.type),),
    Logical: lambda expr: _CONTROL,
    Select: lambda expr: _CONTROL,
    PointerOffset: lambda expr: _INT if expr.written else (),
    Load: lambda expr: _access(LOAD_CLASS, expr.place),
    Assign: _assignment,
    Increment: lambda expr: _update(expr.target, (_arithmetic(expr.type),)),
    Atomic: lambda expr: ((OperationClass.ATOMIC, 1.0),),
    TextureFetch: _fetch,
    Intrinsic: lambda expr: tuple((count.operation, count.number) for count in expr.operations),
}


def decision(stmt: Stmt) -> Operation | None:
    """The control operation a statement makes by itself: `if`, loop test, `switch`."""
    region = decision_region(stmt)
    if region is None:
        return None
    span = stmt.condition.span if isinstance(stmt, Loop) and stmt.condition is not None else stmt.span
    return Operation(region, span, OperationClass.CONTROL, 1.0)


@lru_cache(maxsize=4)
def operations(kernel: Kernel) -> tuple[Operation, ...]:
    """Every source operation of a kernel, bodies of inlined calls included, in no particular order."""
    found: list[Operation] = []
    for node, region in evaluations(kernel):
        costs = _OWN.get(type(node))
        if costs is not None:
            for operation, number in costs(node):
                found.append(Operation(region, node.span, operation, number))
        elif isinstance(node, If | Switch | Loop) and (control := decision(node)) is not None:
            found.append(control)
    return tuple(found)


def region_operations(kernel: Kernel) -> tuple[OperationCounts, ...]:
    """Source operations of one run of each region, indexed by region (`kernel.region_count` entries)."""
    table = [[0.0] * len(FIELD_NAMES) for _ in range(kernel.region_count)]
    for operation in operations(kernel):
        table[operation.region][COLUMN[operation.operation]] += operation.number
    return tuple(OperationCounts(*row) for row in table)


def weighted_counts(parts: Iterable[Operation], counts: tuple[float, ...]) -> OperationCounts:
    """The sum of `parts`, each times how often its region runs (`counts`, indexed by region)."""
    total = [0.0] * len(FIELD_NAMES)
    for region, _, operation, number in parts:
        total[COLUMN[operation]] += number * counts[region]
    return OperationCounts(*total)


COLUMN: dict[OperationClass, int] = {cls: FIELD_NAMES.index(name) for cls, name in CLASS_FIELD.items()}


def _arithmetic(type_: Type) -> tuple[OperationClass, float]:
    return arithmetic_class(type_), float(max(1, type_.lanes))


def _access(classes: dict[MemorySpace, OperationClass], place: MemoryPlace) -> Costs:
    return ((classes[place.space], float(_members(place.type))),) if place.space in classes else ()


def _members(type_: Type) -> int:
    """Scalars and vectors that a copy of this type moves: a record is copied member by member."""
    if type_.kind is TypeKind.RECORD and type_.fields:
        return sum(_members(field.type) for field in type_.fields)
    if type_.kind is TypeKind.ARRAY and type_.element is not None:
        return (type_.length or 1) * _members(type_.element)
    return 1


def _update(target: object, arithmetic: Costs) -> Costs:
    """`target op= value`: the operator, and for memory the load (when there is an operator) and the store."""
    if not isinstance(target, MemoryPlace):
        return arithmetic
    load = _access(LOAD_CLASS, target) if arithmetic else ()
    return (*load, *arithmetic, *_access(STORE_CLASS, target))
