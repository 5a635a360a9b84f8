"""Values of one kernel in static single assignment form, as linear forms where they are sums.

`statements.py` and its bases build the graph from the IR, with equal computations shared (value numbering);
`charging.py` says what it costs. What no store, branch, barrier or atomic needs is never charged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from wattslice.ir import MemorySpace
from wattslice.workload.instructions.kinds import InstructionKind

Cost = tuple[tuple[InstructionKind, float], ...]
Terms = tuple[tuple["Value", int], ...]


@dataclass(slots=True, eq=False)
class LoopLevel:
    """A loop being lowered: `entry_region` counts entries, `body_region` iterations.

    `unroll`: iterations of the source per round of the machine loop. `is_unrolled`: fully, no loop is left.
    `single_stores`: memory spaces that exactly one statement in the loop stores to. `trips`: iterations per
    entry, None when unknown.
    """

    parent: LoopLevel | None
    entry_region: int
    body_region: int
    unroll: float
    is_unrolled: bool
    scope: int
    arm_depth: int
    depth: int
    has_constant_trips: bool = False
    steps_pointers: bool = False
    single_stores: frozenset[MemorySpace] = frozenset()
    trips: float | None = None

    @property
    def copies(self) -> float:
        """Iterations of the source that stand side by side in the machine code."""
        return self.trips or 1.0 if self.is_unrolled else self.unroll


class Shape(Enum):
    """How a value takes part in fusion."""

    PLAIN = "plain"
    CONSTANT = "constant"
    FLOAT_PRODUCT = "float product"
    FLOAT_SUM = "float sum"
    INT_PRODUCT = "int product"
    INT_SUM = "int sum"  # linear form of other values
    LOGIC = "logic"
    SHIFTED = "shifted"  # to the right, further in each copy of an unrolled loop
    TRUTH = "truth"  # whether bits that a LOGIC value leaves are set
    ADDRESS = "address"  # linear form that an access uses


class MemoryRequest(NamedTuple):
    """The memory access that computing a value makes: its `site` in the source, and `number` of it per run
    (below 1 where neighbours are loaded together).
    """

    site: int
    is_store: bool
    number: float


@dataclass(slots=True, eq=False)
class Value:
    """One value. `region`, `scale`: where and how much it is charged.

    `level`: innermost loop it varies in. `varies`: all such loops; None: that one and all around it.
    `terms`, `offset`: an integer or pointer as a linear form of other values. `number`: of a constant; None:
    it differs between the copies of an unrolled loop. `step`: of an induction variable, per iteration.
    `access`: the load or store that this value is. `is_unsigned`: of an address, that its index is.
    """

    shape: Shape
    level: LoopLevel | None
    region: int
    cost: Cost = ()
    inputs: list[Value] = field(default_factory=list["Value"])
    terms: Terms = ()
    offset: int = 0
    number: float | None = None
    bits: int = 32
    is_uniform: bool = False
    is_pointer: bool = False
    copies: tuple[tuple[Value, int], ...] = ()
    is_wide: bool = False
    step: Value | None = None
    scale: float = 1.0
    fused: Cost = ()  # cost when one input is a product that nothing else needs
    stack: tuple[LoopLevel, ...] = ()
    access: MemoryRequest | None = None
    varies: frozenset[LoopLevel] | None = None
    is_unsigned: bool = False


def varying(values: Iterable[Value]) -> frozenset[LoopLevel]:
    """The loops in which one of `values` varies."""
    found: set[LoopLevel] = set()
    for value in values:
        if value.varies is not None:
            found |= value.varies
            continue
        level = value.level
        while level is not None:
            found.add(level)
            level = level.parent
    return frozenset(found)


class Placement(NamedTuple):
    """A computation made `scale` times for each run of `region`; `outside`: of which loop, if hoisted."""

    region: int
    scale: float
    outside: LoopLevel | None


def placed(values: Iterable[Value], stack: tuple[LoopLevel, ...], region: int) -> Placement:
    """Where a computation on `values` at `region` in the loops `stack` runs, hoisted as far as they allow.

    Copies that a full unrolling made of it leave a loop around them as well, each; what does not vary in an
    unrolled loop is computed once for all of its copies.
    """
    loops = varying(values)
    scale = 1.0
    outside: LoopLevel | None = None
    for loop in reversed(stack):
        if loop in loops:
            if not loop.is_unrolled or loop.trips is None:
                break
            scale *= loop.trips
        outside = loop
    if outside is None or not any(loop not in loops for loop in stack[outside.depth - 1 :]):
        return Placement(region, 1.0, None)
    return Placement(outside.entry_region, scale, outside)


def deepest(values: Iterable[Value], stack: tuple[LoopLevel, ...]) -> LoopLevel | None:
    """The innermost loop of `stack` in which one of `values` varies."""
    found: LoopLevel | None = None
    for value in values:
        level = value.level
        while level is not None and (level.depth > len(stack) or stack[level.depth - 1] is not level):
            level = level.parent
        if level is not None and (found is None or level.depth > found.depth):
            found = level
    return found


def linear(value: Value) -> tuple[tuple[tuple[Value, int], ...], int, tuple[tuple[Value, int], ...]]:
    """`value` as terms, offset, and constants that differ between copies of an unrolled loop."""
    if value.shape is Shape.CONSTANT:
        if value.number is None:
            return (), 0, value.copies or ((value, 1),)
        return (), int(value.number), ()
    if value.shape is Shape.INT_SUM:
        return value.terms, value.offset, value.copies
    return ((value, 1),), 0, ()


def inputs_key(inputs: Iterable[Value]) -> tuple[object, ...]:
    """Names operands for value numbering: constants by number, everything else by identity."""
    return tuple(
        ("constant", value.number) if value.shape is Shape.CONSTANT and value.number is not None else value
        for value in inputs
    )
