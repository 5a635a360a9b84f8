"""Values of one kernel in static single assignment form, as linear forms where they are sums.

`Environment` holds what variables stand for, which values exist already, which loops are around.
`statements.py` and its bases build the graph from the IR, with equal computations shared (value numbering);
`charging.py` says what it costs. What no store, branch, barrier or atomic needs is never charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from wattslice.ir import BinaryOp, MemorySpace, RegisterPlace, Type, TypeKind, Variable
from wattslice.workload.instructions.kinds import Cost

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
        if math.isfinite(value.number):
            return (), int(value.number), ()
        return ((value, 1),), 0, ()
    if value.shape is Shape.INT_SUM:
        return value.terms, value.offset, value.copies
    return ((value, 1),), 0, ()


def inputs_key(inputs: Iterable[Value]) -> tuple[object, ...]:
    """Names operands for value numbering: constants by number, everything else by identity."""
    return tuple(
        ("constant", value.number) if value.shape is Shape.CONSTANT and value.number is not None else value
        for value in inputs
    )


EnvironmentKey = Variable | tuple[Variable, tuple[str, ...]]


class Environment:
    """Values available in each scope, what each variable holds, loops around, roots found."""

    def __init__(self) -> None:
        self.environment: dict[EnvironmentKey, Value] = {}
        self.available: dict[object, Value] = {}
        self.scopes: list[list[tuple[object, Value | None]]] = [[]]  # what each made available, what it hid
        self.stack: tuple[LoopLevel, ...] = ()
        self.roots: list[Value] = []
        self.created: list[Value] = []
        self.returns: list[list[Value]] = []
        self.arm_depth = 0
        self.arms_passed = 0  # beginnings and ends of arms so far: what lies between two of them runs as one
        self.undo: list[dict[EnvironmentKey, Value | None]] = []
        self.versions: dict[MemorySpace, Value] = {}
        self.parts: dict[Variable, set[tuple[str, ...]]] = {}
        self.shifts: dict[Value, tuple[BinaryOp, Value, Value]] = {}  # what is shifted, and by how much
        self.halves: dict[Value, Value] = {}  # shifted to the right by a constant: what was shifted
        self.masked: dict[Value, tuple[Value, Value]] = {}  # the bits that a constant selects: of what, which
        self.powers: set[Value] = set()  # constants of copies that are powers of two
        self.naturals: set[Value] = set()  # signed or not, never negative
        self.components: dict[Value, dict[str, Value]] = {}
        self.is_machine_code = False  # PTX: where what is computed is settled, loads are not joined yet
        self.neighbours: dict[object, dict[int, Value]] = {}  # loads of one aligned word, by offset in it

    def root(self, region: int, cost: Cost, inputs: Iterable[Value]) -> None:
        """Something that happens whether or not anybody uses its value."""
        self.roots.append(Value(Shape.PLAIN, None, region, cost, list(inputs)))

    def shared(
        self,
        key: object,
        region: int,
        operands: tuple[Value, ...],
        shape: Shape,
        cost: Cost = (),
        *,
        may_hoist: bool = True,
        inputs: list[Value] | None = None,
        terms: Terms = (),
        offset: int = 0,
        number: float | None = None,
        bits: int = 32,
        is_uniform: bool | None = None,
        is_pointer: bool = False,
        copies: Terms = (),
        is_wide: bool = False,
        fused: Cost = (),
    ) -> Value:
        """The value of an earlier equal computation, or a new one, hoisted as far as its inputs allow.

        `inputs` None: the operands; `is_uniform` None: when all operands are. The rest: fields of `Value`.
        """
        if (found := self.available.get(key)) is not None:
            return found
        level = deepest(operands, self.stack)
        loops = varying(operands)
        target = self.scopes[-1]
        place = placed(operands, self.stack, region)
        if place.outside is not None:
            if may_hoist or self.arm_depth == place.outside.arm_depth:
                for loop in self.stack:
                    if level is None or loop.depth > level.depth:
                        target = self.scopes[loop.scope - 1]
                        break
            else:
                level, loops = self.stack[-1], None
                place = Placement(region, 1.0, None)
        if is_uniform is None:
            is_uniform = all(value.is_uniform for value in operands)
        if inputs is None:
            inputs = list(operands)
        value = Value(
            shape,
            level,
            place.region,
            cost,
            inputs,
            terms,
            offset,
            number,
            bits,
            is_uniform,
            is_pointer,
            copies,
            is_wide,
            fused=fused,
            stack=self.stack,
            scale=place.scale,
            varies=loops,
        )
        self.available[key] = value
        target.append((key, None))
        self.created.append(value)
        return value

    def constant(self, number: float | None, type_: Type) -> Value:
        """A compile-time constant."""
        bits = type_.bits or 64
        return Value(Shape.CONSTANT, None, 0, number=number, is_uniform=True, bits=bits)

    def joined(self, values: list[Value], region: int) -> Value:
        """One of `values`, depending on the way control came."""
        level = self.stack[-1] if self.stack else None
        bits = max((value.bits for value in values), default=32)
        return Value(Shape.PLAIN, level, region, inputs=list(values), bits=bits, stack=self.stack)

    def plain(
        self, name: object, region: int, inputs: tuple[Value, ...], cost: Cost, bits: int = 32
    ) -> Value:
        """A computation of no special shape; a constant when all it needs is constant."""
        if inputs and all(value.shape is Shape.CONSTANT for value in inputs):
            level = deepest(inputs, self.stack)
            return Value(Shape.CONSTANT, level, region, is_uniform=True, bits=bits, varies=varying(inputs))
        return self.shared(
            (name, *inputs_key(inputs)), region, inputs, shape=Shape.PLAIN, cost=cost, bits=bits
        )

    def part(self, whole: Value, path: tuple[str, ...], region: int, bits: int = 32) -> Value:
        """A member of a record in registers: what it was built from, where that is known."""
        while path and (known := self.components.get(whole, {}).get(path[0])) is not None:
            whole, path = known, path[1:]
        return self.plain(("part", path), region, (whole,), (), bits) if path else whole

    def first(self, key: object, cost: Cost, is_uniform: bool) -> Value:
        """Something computed once at the start of the kernel."""
        if (found := self.available.get(key)) is None:
            found = self.available[key] = Value(Shape.PLAIN, None, 0, cost, is_uniform=is_uniform)
        return found

    def open_scope(self) -> None:
        """Values found from here on are seen until `close_scope`, unless they are hoisted."""
        self.scopes.append([])

    def close_scope(self) -> None:
        """Forget the values of the innermost scope."""
        for key, hidden in reversed(self.scopes.pop()):
            if hidden is None:
                del self.available[key]
            else:
                self.available[key] = hidden

    def hide(self, key: object, value: Value) -> None:
        """Make `value` what `key` stands for in the innermost scope."""
        self.scopes[-1].append((key, self.available.get(key)))
        self.available[key] = value

    # ------------------------------------------------------------------ environment

    def write(self, variable: Variable, path: tuple[str, ...], value: Value) -> None:
        """Assign a register variable or a part of it."""
        parts = self.parts.setdefault(variable, set())
        if path:
            parts.add(path)
        self._set((variable, path) if path else variable, value)
        for part in parts:
            if len(part) > len(path) and part[: len(path)] == path:
                rest = part[len(path) :]
                self._set((variable, part), self.part(value, rest, value.region))

    def read(self, place: RegisterPlace, region: int) -> Value:
        """The value of a register variable or a part of it."""
        variable = place.variable
        if place.path:
            if (part := self.environment.get((variable, place.path))) is not None:
                return part
            whole = self.whole(variable)
            part = self.part(whole, place.path, region, place.type.bits)
            part.is_pointer |= place.type.kind is TypeKind.POINTER
            return part
        parts = self.parts.get(variable)
        whole = self.whole(variable)
        if not parts:
            return whole
        values = (
            whole,
            *(v for p in sorted(parts) if (v := self.environment.get((variable, p))) is not None),
        )
        return self.plain("whole", region, values, ())

    def changing(self, written: Iterable[EnvironmentKey]) -> dict[EnvironmentKey, Value]:
        """What may change when `written` is assigned, with its present value: a whole includes its parts."""
        found: dict[EnvironmentKey, Value] = {}
        for key in written:
            variable, path = key if isinstance(key, tuple) else (key, ())
            if path and key not in self.environment and variable in self.environment:
                self.parts.setdefault(variable, set()).add(path)
                self._set(key, self.part(self.environment[variable], path, 0))
            parts = [part for part in self.parts.get(variable, ()) if part[: len(path)] == path]
            for inside in (key, *((variable, part) for part in parts)):
                if (value := self.environment.get(inside)) is not None:
                    found[inside] = value
        return found

    def whole(self, variable: Variable) -> Value:
        """The last value assigned to all of `variable`; a parameter or undefined local when there is none."""
        if (value := self.environment.get(variable)) is not None:
            return value
        is_pointer = variable.type.kind is TypeKind.POINTER
        value = Value(
            Shape.PLAIN, None, 0, bits=variable.type.bits or 64, is_uniform=True, is_pointer=is_pointer
        )
        self.environment[variable] = value
        return value

    def _set(self, key: EnvironmentKey, value: Value) -> None:
        if self.undo:
            self.undo[-1].setdefault(key, self.environment.get(key))
        self.environment[key] = value

    def enter_arm(self) -> None:
        """What follows may not run: its assignments can be undone, its values are not seen outside."""
        self.undo.append({})
        self.open_scope()
        self.arm_depth += 1
        self.arms_passed += 1

    def leave_arm(self) -> dict[EnvironmentKey, Value]:
        """Forget what the arm assigned; hand it back."""
        self.arm_depth -= 1
        self.arms_passed += 1
        self.close_scope()
        found: dict[EnvironmentKey, Value] = {}
        for key, old in self.undo.pop().items():
            found[key] = self.environment[key]
            if old is None:
                del self.environment[key]
            else:
                self.environment[key] = old
        return found

    def merge(self, ends: list[dict[EnvironmentKey, Value]], region: int) -> None:
        """After a branch: what each arm assigned, or what was there before."""
        keys = dict.fromkeys(key for end in ends for key in end)
        for key in keys:
            values = [end[key] if key in end else self.environment.get(key) for end in ends]
            if len(ends) == 1:
                values.append(self.environment.get(key))
            known = list(dict.fromkeys(value for value in values if value is not None))
            self._set(key, known[0] if len(known) == 1 else self.joined(known, region))
