"""Source operations of one run of each region: the convention of `docs/counting.md`, applied to the IR.

`own_operations` says what one expression costs by itself; everything else here only walks. All walks use
explicit stacks: generated kernels nest deeper than Python's recursion limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wattslice.execution import ExecutionProfile
from wattslice.ir import (
    Assign,
    Atomic,
    Binary,
    BinaryOp,
    Expr,
    If,
    Increment,
    InlinedCall,
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
    children,
    nested_statements,
    statement_expressions,
)
from wattslice.operations import CLASS_FIELD, FIELD_NAMES, OperationCounts

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


@dataclass(frozen=True, slots=True)
class Operation:
    """`number` source operations of one class that one run of `region` makes, and where they are written."""

    region: int
    span: Span
    operation: OperationClass
    number: float


def arithmetic_class(type_: Type) -> OperationClass:
    """The class in which an operator on `type_` counts: integers, pointers and unreadable types are `int`."""
    if type_.kind is not TypeKind.FLOAT:
        return OperationClass.INT
    if type_.bits <= 16:
        return OperationClass.FP16
    return OperationClass.FP32 if type_.bits == 32 else OperationClass.FP64


def own_operations(expr: Expr) -> tuple[tuple[OperationClass, float], ...]:
    """What one evaluation of `expr` costs without its sub-expressions, as (class, number) pairs."""
    match expr:
        case Binary(op=op, operand_type=operand_type):
            return () if op is BinaryOp.COMMA else (_arithmetic(operand_type),)
        case Unary(op=op, type=type_):
            return () if op is UnaryOp.NOT else (_arithmetic(type_),)
        case Logical() | Select():
            return ((OperationClass.CONTROL, 1.0),)
        case PointerOffset(written=written):
            return ((OperationClass.INT, 1.0),) if written else ()
        case Load(place=place):
            return _access(LOAD_CLASS, place)
        case Assign(target=target, op=op, operand_type=operand_type):
            arithmetic = () if op is None else (_arithmetic(operand_type),)
            return _update(target, arithmetic)
        case Increment(target=target, type=type_):
            return _update(target, (_arithmetic(type_),))
        case Atomic():
            return ((OperationClass.ATOMIC, 1.0),)
        case TextureFetch(is_store=is_store):
            return ((OperationClass.GLOBAL_STORE if is_store else OperationClass.TEXTURE_LOAD, 1.0),)
        case Intrinsic(operations=operations):
            return tuple((count.operation, count.number) for count in operations)
        case _:
            return ()


def child_regions(expr: Expr, region: int) -> tuple[tuple[Expr, int], ...]:
    """The sub-expressions of `expr`, each with the region it runs in when `expr` runs in `region`."""
    match expr:
        case Logical(left=left, right=right, right_region=right_region):
            return ((left, region), (right, right_region))
        case Select(condition=condition, then=then, otherwise=otherwise):
            return (
                (condition, region),
                (then, expr.then_region),
                (otherwise, expr.otherwise_region),
            )
        case _:
            return tuple((child, region) for child in children(expr))


def expression_regions(stmt: Stmt) -> tuple[tuple[Expr, int], ...]:
    """The expressions a statement holds directly, each with the region it runs in."""
    if isinstance(stmt, Loop):
        parts = ((stmt.condition, stmt.test_region), (stmt.step, stmt.step_region))
        return tuple((expr, region) for expr, region in parts if expr is not None)
    return tuple((expr, stmt.region) for expr in statement_expressions(stmt))


def decision(stmt: Stmt) -> Operation | None:
    """The control operation a statement makes by itself: `if`, loop test, `switch`."""
    match stmt:
        case If(region=region, span=span) | Switch(region=region, span=span):
            return Operation(region, span, OperationClass.CONTROL, 1.0)
        case Loop(condition=condition, test_region=region) if condition is not None:
            return Operation(region, condition.span, OperationClass.CONTROL, 1.0)
        case _:
            return None


def operations(kernel: Kernel) -> Iterator[Operation]:
    """Every source operation of a kernel, bodies of inlined calls included, in no particular order."""
    statements: list[Stmt] = [kernel.body]
    while statements:
        stmt = statements.pop()
        if (control := decision(stmt)) is not None:
            yield control
        stack = list(expression_regions(stmt))
        while stack:
            expr, region = stack.pop()
            for operation, number in own_operations(expr):
                yield Operation(region, expr.span, operation, number)
            if isinstance(expr, InlinedCall):
                statements.append(expr.body)
            stack.extend(child_regions(expr, region))
        statements.extend(nested_statements(stmt))


def region_operations(kernel: Kernel) -> tuple[OperationCounts, ...]:
    """Source operations of one run of each region, indexed by region (`kernel.region_count` entries)."""
    table = [[0.0] * len(FIELD_NAMES) for _ in range(kernel.region_count)]
    for operation in operations(kernel):
        table[operation.region][COLUMN[operation.operation]] += operation.number
    return tuple(OperationCounts(*row) for row in table)


def total_counts(kernel: Kernel, profile: ExecutionProfile) -> OperationCounts:
    """Mean source operations per launched thread: `counts_per_thread` of the JSON contract.

    Raises `ValueError` when the profile is not one of this kernel.
    """
    if len(profile.thread_counts) != kernel.region_count:
        message = f"{len(profile.thread_counts)} thread counts for {kernel.region_count} regions"
        raise ValueError(message)
    return weighted_counts(operations(kernel), profile.thread_counts)


def weighted_counts(parts: Iterator[Operation], counts: tuple[float, ...]) -> OperationCounts:
    """The sum of `parts`, each times how often its region runs (`counts`, indexed by region)."""
    total = [0.0] * len(FIELD_NAMES)
    for part in parts:
        total[COLUMN[part.operation]] += part.number * counts[part.region]
    return OperationCounts(*total)


COLUMN: dict[OperationClass, int] = {cls: FIELD_NAMES.index(name) for cls, name in CLASS_FIELD.items()}


def _arithmetic(type_: Type) -> tuple[OperationClass, float]:
    return arithmetic_class(type_), float(max(1, type_.lanes))


def _access(
    classes: dict[MemorySpace, OperationClass], place: MemoryPlace
) -> tuple[tuple[OperationClass, float], ...]:
    return ((classes[place.space], float(_members(place.type))),) if place.space in classes else ()


def _members(type_: Type) -> int:
    """Scalars and vectors that a copy of this type moves: a record is copied member by member."""
    if type_.kind is TypeKind.RECORD and type_.fields:
        return sum(_members(field.type) for field in type_.fields)
    if type_.kind is TypeKind.ARRAY and type_.element is not None:
        return (type_.length or 1) * _members(type_.element)
    return 1


def _update(
    target: object, arithmetic: tuple[tuple[OperationClass, float], ...]
) -> tuple[tuple[OperationClass, float], ...]:
    """`target op= value`: the operator, and for memory the load (when there is an operator) and the store."""
    if not isinstance(target, MemoryPlace):
        return arithmetic
    load = _access(LOAD_CLASS, target) if arithmetic else ()
    return (*load, *arithmetic, *_access(STORE_CLASS, target))
