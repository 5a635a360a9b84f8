"""Source operations by class: a frozen, addable, scalable record, and what one run of a region costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from wattslice import ir
from wattslice.ir.walking import decision_region, evaluations

SPACE_OF: dict[ir.OperationClass, ir.MemorySpace] = {
    ir.OperationClass.GLOBAL_LOAD: ir.MemorySpace.GLOBAL,
    ir.OperationClass.GLOBAL_STORE: ir.MemorySpace.GLOBAL,
    ir.OperationClass.SHARED_LOAD: ir.MemorySpace.SHARED,
    ir.OperationClass.SHARED_STORE: ir.MemorySpace.SHARED,
    ir.OperationClass.CONSTANT_LOAD: ir.MemorySpace.CONSTANT,
    ir.OperationClass.TEXTURE_LOAD: ir.MemorySpace.TEXTURE,
}
"""The memory space that a load or store of a class works on; atomics name theirs themselves."""


class OperationCounts(Struct, frozen=True):
    """Operations by class of the JSON contract (`counts_per_thread`); `integer` is the contract's `int`.

    Unit: operations, per whatever the context counts (one run of a region, one launched thread).
    """

    fp32: float = 0.0
    fp64: float = 0.0
    integer: float = 0.0
    special: float = 0.0
    fp16: float = 0.0
    tensor: float = 0.0
    control: float = 0.0
    global_load: float = 0.0
    global_store: float = 0.0
    shared_load: float = 0.0
    shared_store: float = 0.0
    constant_load: float = 0.0
    texture_load: float = 0.0
    atomic: float = 0.0
    barrier: float = 0.0

    def __add__(self, other: OperationCounts) -> OperationCounts:
        return OperationCounts(*(a + b for a, b in zip(self.values(), other.values(), strict=True)))

    def values(self) -> tuple[float, ...]:
        """The counts in the order of the fields."""
        return tuple(getattr(self, name) for name in FIELD_NAMES)

    @property
    def compute(self) -> float:
        """Arithmetic operations, Wang & Chen's `N_a` (all operators count alike, section 4.2)."""
        return self.fp32 + self.fp64 + self.integer + self.special + self.fp16 + self.tensor


FIELD_NAMES: tuple[str, ...] = OperationCounts.__struct_fields__
JSON_NAMES: tuple[str, ...] = tuple("int" if name == "integer" else name for name in FIELD_NAMES)
CLASS_FIELD: dict[ir.OperationClass, str] = {
    cls: ("integer" if cls is ir.OperationClass.INT else cls.value) for cls in ir.OperationClass
}


LOAD_CLASS: dict[ir.MemorySpace, ir.OperationClass] = {
    ir.MemorySpace.GLOBAL: ir.OperationClass.GLOBAL_LOAD,
    ir.MemorySpace.SHARED: ir.OperationClass.SHARED_LOAD,
    ir.MemorySpace.CONSTANT: ir.OperationClass.CONSTANT_LOAD,
    ir.MemorySpace.TEXTURE: ir.OperationClass.TEXTURE_LOAD,
}
STORE_CLASS: dict[ir.MemorySpace, ir.OperationClass] = {
    ir.MemorySpace.GLOBAL: ir.OperationClass.GLOBAL_STORE,
    ir.MemorySpace.SHARED: ir.OperationClass.SHARED_STORE,
    ir.MemorySpace.TEXTURE: ir.OperationClass.GLOBAL_STORE,  # surface writes
}


class Operation(Struct, frozen=True):
    """`number` source operations of one class that one run of `region` makes, and where they are written."""

    region: int
    span: ir.Span
    operation: ir.OperationClass
    number: float


Costs = tuple[tuple[ir.OperationClass, float], ...]
"""Operations of one evaluation by class."""


def arithmetic_class(type_: ir.Type) -> ir.OperationClass:
    """The class in which an operator on `type_` counts: integers, pointers and unreadable types are `int`."""
    if type_.kind is not ir.TypeKind.FLOAT:
        return ir.OperationClass.INT
    if type_.bits <= 16:
        return ir.OperationClass.FP16
    return ir.OperationClass.FP32 if type_.bits == 32 else ir.OperationClass.FP64


def own_operations(expr: ir.Expr) -> Costs:
    """What one evaluation of `expr` costs without its sub-expressions, as (class, number) pairs."""
    costs = _OWN.get(type(expr))
    return () if costs is None else costs(expr)


_CONTROL: Costs = ((ir.OperationClass.CONTROL, 1.0),)
_INT: Costs = ((ir.OperationClass.INT, 1.0),)
_OWN: dict[type[ir.Stmt | ir.Expr], Callable[[Any], Costs]] = {  # by type: asked for every expression
    ir.Binary: lambda expr: () if expr.op is ir.BinaryOp.COMMA else (_arithmetic(expr.operand_type),),
    ir.Unary: lambda expr: () if expr.op is ir.UnaryOp.NOT else (_arithmetic(expr.type),),
    ir.Logical: lambda expr: _CONTROL,
    ir.Select: lambda expr: _CONTROL,
    ir.PointerOffset: lambda expr: _INT if expr.written else (),
    ir.Load: lambda expr: _access(LOAD_CLASS, expr.place),
    ir.Assign: lambda expr: _update(
        expr.target, () if expr.op is None else (_arithmetic(expr.operand_type),)
    ),
    ir.Increment: lambda expr: _update(expr.target, (_arithmetic(expr.type),)),
    ir.Atomic: lambda expr: ((ir.OperationClass.ATOMIC, 1.0),),
    ir.TextureFetch: lambda expr: (
        (ir.OperationClass.GLOBAL_STORE if expr.is_store else ir.OperationClass.TEXTURE_LOAD, 1.0),
    ),
    ir.Intrinsic: lambda expr: tuple((count.operation, count.number) for count in expr.operations),
}


def decision(stmt: ir.Stmt) -> Operation | None:
    """The control operation a statement makes by itself: `if`, loop test, `switch`."""
    region = decision_region(stmt)
    if region is None:
        return None
    span = stmt.condition.span if isinstance(stmt, ir.Loop) and stmt.condition is not None else stmt.span
    return Operation(region, span, ir.OperationClass.CONTROL, 1.0)


@lru_cache(maxsize=4)
def operations(kernel: ir.Kernel) -> tuple[Operation, ...]:
    """Every source operation of a kernel, bodies of inlined calls included, in no particular order."""
    found: list[Operation] = []
    folded = [s for s in ir.walk_statements(kernel.body) if isinstance(s, ir.Loop) and s.is_folded]
    free = frozenset(region for loop in folded for region in (loop.test_region, loop.step_region))
    for node, region in evaluations(kernel):
        if region in free:
            continue
        costs = _OWN.get(type(node))
        if costs is not None:
            for operation, number in costs(node):
                found.append(Operation(region, node.span, operation, number))
        elif isinstance(node, ir.If | ir.Switch | ir.Loop) and (control := decision(node)) is not None:
            found.append(control)
    return tuple(found)


def region_operations(kernel: ir.Kernel) -> tuple[OperationCounts, ...]:
    """Source operations of one run of each region, indexed by region (`kernel.region_count` entries)."""
    table = [[0.0] * len(FIELD_NAMES) for _ in range(kernel.region_count)]
    for operation in operations(kernel):
        table[operation.region][COLUMN[operation.operation]] += operation.number
    return tuple(OperationCounts(*row) for row in table)


def weighted_counts(parts: Iterable[Operation], counts: tuple[float, ...]) -> OperationCounts:
    """The sum of `parts`, each times how often its region runs (`counts`, indexed by region)."""
    total = [0.0] * len(FIELD_NAMES)
    for one in parts:
        total[COLUMN[one.operation]] += one.number * counts[one.region]
    return OperationCounts(*total)


COLUMN: dict[ir.OperationClass, int] = {cls: FIELD_NAMES.index(name) for cls, name in CLASS_FIELD.items()}


def _arithmetic(type_: ir.Type) -> tuple[ir.OperationClass, float]:
    return arithmetic_class(type_), float(max(1, type_.lanes))


def _access(classes: dict[ir.MemorySpace, ir.OperationClass], place: ir.MemoryPlace) -> Costs:
    return ((classes[place.space], float(_members(place.type))),) if place.space in classes else ()


def _members(type_: ir.Type) -> int:
    """Scalars and vectors that a copy of this type moves: a record is copied member by member."""
    if type_.kind is ir.TypeKind.RECORD and type_.fields:
        return sum(_members(field.type) for field in type_.fields)
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        return (type_.length or 1) * _members(type_.element)
    return 1


def _update(target: object, arithmetic: Costs) -> Costs:
    """`target op= value`: the operator, and for memory the load (when there is an operator) and the store."""
    if not isinstance(target, ir.MemoryPlace):
        return arithmetic
    load = _access(LOAD_CLASS, target) if arithmetic else ()
    return (*load, *arithmetic, *_access(STORE_CLASS, target))
