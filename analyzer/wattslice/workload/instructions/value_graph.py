"""Values of one kernel in static single assignment form, as linear forms where they are sums.

`Environment` holds what variables stand for, which values exist already, which loops are around.
`statements.py` and its bases build the graph from the IR, with equal computations shared (value numbering);
`charging.py` says what it costs. What no store, branch, barrier or atomic needs is never charged.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import count
from typing import cast

from msgspec import Struct, field

from wattslice.ir import (
    COMPARISONS,
    BinaryOp,
    LogicalOp,
    MemorySpace,
    RegisterPlace,
    Span,
    Type,
    TypeKind,
    Variable,
)
from wattslice.ir.objects import outside_unions, part_of
from wattslice.ir.operators import IdentityEnum
from wattslice.workload.instructions.kinds import Cost

Terms = tuple[tuple["Value", int], ...]
"""Values, each with the integer that it is multiplied by."""


class LoopLevel(Struct, eq=False):
    """A loop being lowered: `entry_region` counts entries, `body_region` iterations.

    `unroll`: iterations of the source per round of the machine loop. `is_unrolled`: fully, no loop is left.
    `trips`: iterations per entry, None when unknown. `copies_leave`: each copy tests whether it is the last.
    `elements`: which ones of the thread's own arrays are accessed in it. `separate`: those of which each
    iteration has elements of its own, as it begins with them. `guard`: all that decides how often it runs.
    `is_left`: a jump leaves it, or one of its iterations. `rounds`: how often it runs, divided before it.
    `scales_counter`: its copies step an index in 32 bits. `wraps`: its counter may.
    `may_load`: it loads, but no iteration is sure to. `left_over`: iterations behind its last round;
    `more_rounds`: those that they take, and rounds of fewer copies, for each iteration.
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
    trips: float | None = None
    copies_leave: bool = False
    elements: dict[Variable, set[tuple[Terms, int, Terms]]] = field(
        default_factory=dict[Variable, set[tuple[Terms, int, Terms]]]
    )
    separate: set[Value] = field(default_factory=set["Value"])
    is_left: bool = False
    rounds: Value | None = None
    scales_counter: bool = False
    wraps: bool = False
    may_load: bool = False
    left_over: int = 0
    more_rounds: float = 0.0
    guard: Value = field(default_factory=lambda: Value(Shape.PLAIN, AT_START))

    @property
    def copies(self) -> float:
        """Iterations of the source that stand side by side in the machine code."""
        return self.trips or 1.0 if self.is_unrolled else self.unroll

    @property
    def rounds_made(self) -> float:
        """Rounds for each iteration."""
        return 1.0 / self.unroll + self.more_rounds


class Shape(IdentityEnum):
    """How a value takes part in fusion."""

    PLAIN = "plain"
    CONSTANT = "constant"
    FLOAT_PRODUCT = "float product"
    FLOAT_SUM = "float sum"
    INT_PRODUCT = "int product"
    INT_SUM = "int sum"  # linear form of other values
    LOGIC = "logic"
    SHIFT = "shift"  # to the right, by a number
    SHIFTED = "shifted"  # to the right, further in each copy of an unrolled loop
    TRUTH = "truth"  # whether bits that a LOGIC value leaves are set
    BOTH = "both"  # two truths, or one of two
    ADDRESS = "address"  # linear form that an access uses


class MemoryRequest(Struct, frozen=True):
    """The memory access that computing a value makes: its `site` in the source, and `number` of it per run
    (below 1 where neighbours are loaded together). `address`: what it varies with, in bytes. `size_bytes`: of
    one request. `joined`: neighbours in shared memory that one request takes along, itself among them, on the
    mean. `reach`: the space and the part of it (`memory.Part`) that it touches; None where that is not known.
    `span`: where it goes; None: not looked at.
    """

    site: int
    is_store: bool
    number: float
    address: Terms = ()
    size_bytes: int = 16
    reach: tuple[MemorySpace, Variable | MemorySpace | None] | None = None
    joined: float = 1.0
    span: AccessSpan | None = None


class AccessSpan(Struct, frozen=True):
    """What an access and its `copies` in unrolled loops touch: each `length` bytes at one of `offsets` from
    `base`. `arms_passed`: the same for what runs as one.
    """

    arms_passed: int
    base: frozenset[tuple[Value, int]]
    offsets: frozenset[int]
    length: int
    copies: int = 1

    @property
    def row(self) -> tuple[object, ...]:
        """The same of accesses at constant distances that run together."""
        return self.arms_passed, self.base, self.copies


class Placement(Struct, frozen=True):
    """Where a value is computed, and what changes it: `scale` times for each run of `region`.

    `stack`: the loops around where the source asks for it. `level`: innermost loop it varies in; `varies`:
    all such loops; None: that one and all around it.
    """

    region: int
    level: LoopLevel | None = None
    stack: tuple[LoopLevel, ...] = ()
    scale: float = 1.0
    varies: frozenset[LoopLevel] | None = None


AT_START = Placement(0)
"""Once, when the kernel begins."""


class LinearForm(Struct, frozen=True):
    """An integer or pointer as a sum: `terms`, `offset`, and `copies`.

    `copies`: constants that differ between the copies of an unrolled loop. `is_wide`: added up in 64 bits.
    `is_unsigned`: of an address, that its index is. `unit`: of an address, the bytes its index counts in.
    `is_guarded`: of an address, that it is needed in an arm only of the loop around. `added`: of an address,
    the offset and copies that are added to an index without a sign in 32 bits, where the sum may wrap.
    `is_scaled`: of an address, that no access multiplies it, as those of shared memory do. `is_anew`: of an
    address, that each copy of an unrolled loop computes it from its counter.
    """

    terms: Terms = ()
    offset: int = 0
    copies: Terms = ()
    is_wide: bool = False
    is_unsigned: bool = False
    unit: int = 1
    is_guarded: bool = False
    added: tuple[int, Terms] = (0, ())
    is_scaled: bool = False
    is_anew: bool = False


NO_FORM = LinearForm()
"""Of a value that is no sum."""


class Computation(Struct, frozen=True):
    """What makes a value of others. `inputs` None: the operands; `is_uniform` None: when all operands are."""

    shape: Shape = Shape.PLAIN
    cost: Cost = ()
    bits: int = 32
    inputs: tuple[Value, ...] | None = None
    is_uniform: bool | None = None
    is_pointer: bool = False
    form: LinearForm = NO_FORM


class Value(Struct, eq=False):
    """One value: how it is computed (`shape`, `cost`, `inputs`) and where (`place`).

    `number`: of a constant; None: it differs between the copies of an unrolled loop. `step`: of an induction
    variable, per iteration. `access`: the load or store that this value is. `local`: the same of an array
    of the thread, its site and requests, made where its `cost` has the array lie in local memory. `member`:
    what of a record it is. `birth`: values are numbered as they are made, in the order of the text.
    `span`: of the text that asked for it first. `guards`: what decides whether it happens, or which of its
    inputs it is. `is_extended`: whether something needs its 32 bits as 64. `is_given`: whether it lies in
    constant memory at a known place: parameters, sizes of the launch. `beside`: what makes
    this for nothing where something needs it: the low word of a product the high one.
    """

    shape: Shape
    place: Placement
    cost: Cost = ()
    inputs: list[Value] = field(default_factory=list["Value"])
    bits: int = 32
    is_uniform: bool = False
    is_pointer: bool = False
    form: LinearForm = NO_FORM
    number: float | None = None
    step: Value | None = None
    access: MemoryRequest | None = None
    local: tuple[int, float] | None = None
    member: tuple[str, ...] = ()
    birth: int = field(default_factory=count().__next__)
    span: Span | None = None
    guards: tuple[Value, ...] = ()
    is_extended: bool = False
    is_given: bool = False
    beside: Value | None = None


class Chosen(Struct, frozen=True):
    """A `value` that is one of several `known` behind a branch, in front of which it was `before`."""

    value: Value
    before: Value
    known: list[Value]


def chain(level: LoopLevel | None) -> Iterator[LoopLevel]:
    """A loop and those around it, innermost first."""
    while level is not None:
        yield level
        level = level.parent


def varying(values: Iterable[Value]) -> frozenset[LoopLevel]:
    """The loops in which one of `values` varies."""
    found: set[LoopLevel] = set()
    for value in values:
        loops = value.place.varies
        found |= frozenset(chain(value.place.level)) if loops is None else loops
    return frozenset(found)


MOST_TRUTHS = 6
"""Copies of a comparison that are made ahead of a loop: there are seven predicates."""
MOST_LOOKED_AT = 64
"""Values of an address that are followed to the counters in it; beyond, every loop around may move it."""


def moving(values: Iterable[Value]) -> frozenset[LoopLevel]:
    """The loops whose iterations may have other `values`, where a loop inside starts its counters anew.

    Unlike `varying`, which has each loop around a counter among those that it varies in.
    """
    found: set[LoopLevel] = set()
    stack = list(values)
    seen: set[Value] = set()
    while stack:
        value = stack.pop()
        if value in seen or value.place.level is None:
            continue
        seen.add(value)
        is_head = value.guards == (value.place.level.guard,)
        if value.access is not None or len(seen) > MOST_LOOKED_AT:
            found |= varying((value,))
        elif value.place.varies is None and is_head:
            found.add(value.place.level)
            stack += value.inputs if value.step is None else (*value.inputs[:1], value.step)
        elif value.place.varies is None:
            found |= varying((value,))
        elif value.shape is Shape.CONSTANT:
            found |= value.place.varies
        else:
            stack += (*value.inputs, *(term for term, _ in value.form.terms))
    return frozenset(found)


def strides(terms: Terms) -> dict[LoopLevel, float | None]:
    """The loops that move an address with these `terms`, each with its bytes per iteration where known."""
    found: dict[LoopLevel, float | None] = {}
    for value, coefficient in terms:
        for loop in moving((value,)):
            before, step = found.get(loop, 0.0), None
            if value.place.level is loop and value.step is not None:
                step = value.step.number
            found[loop] = None if step is None or before is None else before + coefficient * step
    return found


def has_own_elements(level: LoopLevel, array: Variable) -> bool:
    """Whether no iteration of an unrolled loop accesses an element of `array` that another one does."""
    forms = level.elements.get(array, set())
    if len({copies for _, _, copies in forms}) != 1 or any(terms for terms, _, _ in forms):
        return False
    for copy, coefficient in next(iter(forms))[2]:
        if copy.place.level is level and copy.step is not None and copy.step.number is not None:
            offsets = [offset for _, offset, _ in forms]
            return max(offsets) - min(offsets) < abs(coefficient * copy.step.number)
    return False


class Hoisting(Struct, frozen=True):
    """A computation made `scale` times for each run of `region`; `outside`: of which loop, if hoisted."""

    region: int
    scale: float
    outside: LoopLevel | None


def placed(loops: frozenset[LoopLevel], stack: tuple[LoopLevel, ...], region: int) -> Hoisting:
    """Where a computation that varies in `loops` runs, hoisted from `region` in `stack` as far as they allow.

    Copies that a full unrolling made of it leave a loop around them as well, each; what does not vary in an
    unrolled loop is computed once for all of its copies.
    """
    scale = 1.0
    outside: LoopLevel | None = None
    for loop in reversed(stack):
        if loop in loops:
            if not loop.is_unrolled or loop.trips is None:
                break
            scale *= loop.trips
        outside = loop
    if outside is None or loops.issuperset(stack[outside.depth - 1 :]):
        return Hoisting(region, 1.0, None)
    return Hoisting(outside.entry_region, scale, outside)


def deepest(values: Iterable[Value], stack: tuple[LoopLevel, ...]) -> LoopLevel | None:
    """The innermost loop of `stack` in which one of `values` varies."""
    found: LoopLevel | None = None
    for value in values:
        level = value.place.level
        while level is not None and (level.depth > len(stack) or stack[level.depth - 1] is not level):
            level = level.parent
        if level is not None and (found is None or level.depth > found.depth):
            found = level
    return found


def linear(value: Value) -> tuple[Terms, int, Terms]:
    """`value` as terms, offset, and constants that differ between copies of an unrolled loop."""
    if value.shape is Shape.CONSTANT:
        if value.number is None:
            return (), value.form.offset, value.form.copies or ((value, 1),)
        if math.isfinite(value.number):
            return (), int(value.number), ()
        return ((value, 1),), 0, ()
    if value.shape is Shape.INT_SUM:
        return value.form.terms, value.form.offset, value.form.copies
    return ((value, 1),), 0, ()


def counter_in(value: Value) -> Value | None:
    """The counter of the innermost loop in `value`, which moves by a fixed stride with it: `i`, `i - 1`,
    `(i + 1) * w`, `(i * h + j) * w`. None for others.
    """
    if value.step is not None and value.shape is not Shape.INT_PRODUCT:
        return value
    sums = value.inputs if value.step is not None else [term for term, _ in linear(value)[0]]
    found = [one for one in sums if one is not value and counter_in(one) is not None]
    inside = max(found, key=depth, default=None)
    if inside is None or inside.place.level is None:
        return None
    others = [one for one in (*sums, *(copy for copy, _ in value.form.copies)) if one is not inside]
    return None if inside.place.level in varying(others) else counter_in(inside)


def depth(value: Value) -> int:
    """How many loops are around the innermost one in which a value varies, and that one."""
    return 0 if value.place.level is None else value.place.level.depth


def inputs_key(inputs: Iterable[Value]) -> tuple[object, ...]:
    """Names operands for value numbering: constants by number, everything else by identity."""
    return tuple(
        ("constant", value.number) if value.shape is Shape.CONSTANT and value.number is not None else value
        for value in inputs
    )


def _is_truth(key: object) -> bool:
    """Whether `key` is that of a comparison, or of two joined."""
    name = cast("tuple[object, ...]", key)[0] if isinstance(key, tuple) else None
    of_two = cast("tuple[object, ...]", name)[0] if isinstance(name, tuple) else None
    return name in COMPARISONS or of_two in ("logical", "within")


Numbers = dict[frozenset[tuple[Value, int]], float]
"""Numbers, each of the copies of which it is: the counters of their loops, and how often each has stepped."""

EnvironmentKey = Variable | tuple[Variable, tuple[str, ...]]


class Knowledge:
    """What is known of values besides how they are computed."""

    def __init__(self) -> None:
        self.shifts: dict[Value, tuple[BinaryOp, Value, Value]] = {}  # what is shifted, and by how much
        self.halves: dict[Value, Value] = {}  # shifted to the right by a constant: what was shifted
        self.masked: dict[Value, tuple[Value, Value]] = {}  # the bits that a constant selects: of what, which
        self.widened: dict[Value, bool] = {}  # what 64 bits are made of 32 of, and whether with a sign
        self.remainders: dict[Value, tuple[Value, Value]] = {}  # of what, by which power of two
        self.quotients: set[Value] = set()  # those that are needed, of a division by what is no number
        self.moduli: dict[Value, Value] = {}  # the remainders beside them
        self.divided: dict[Value, tuple[BinaryOp | None, Value, Value]] = {}  # of what, by what
        # numbers that are multiplied by the same, by their terms
        self.rows: dict[tuple[frozenset[tuple[Value, int]], Value], list[Value]] = {}
        self.compared: dict[Value, tuple[BinaryOp, Value, Value]] = {}  # words with a sign: how, with what
        self.one_thread: dict[Value, bool] = {}  # comparisons of threadIdx: whether only one thread passes
        self.halves_alone: dict[Value, LoopLevel] = {}  # of one lane, in which unrolled loop
        self.truths: dict[Value, Value] = {}  # integers that are 0 or 1: the truth that they were made of
        self.powers: set[Value] = set()  # constants of copies that are powers of two
        self.late: set[Value] = set()  # numbers that only the assembler knows: `warpSize`, what is made of it
        self.naturals: set[Value] = set()  # signed or not, never negative
        self.roots: set[Value] = set()  # square roots
        self.exponentials: set[Value] = set()  # never negative
        self.floats: dict[Value, Value] = {}  # doubles that were made of floats: of which
        self.doubles: dict[Value, tuple[BinaryOp, Value, Value]] = {}  # what computes a double
        # `a && b` (or `||`): what was computed for `b`, and is there where the whole is true (or false)
        self.implied: dict[tuple[LogicalOp, Value], tuple[tuple[object, Value], ...]] = {}
        self.components: dict[Value, dict[str, Value]] = {}
        self.changed: dict[Value, tuple[Value, tuple[Value, ...]]] = {}  # as a record was, what is new
        self.starts: dict[Value, float] = {}  # counters of loops, and what they begin with
        self.shares: dict[Value, float] = {}  # comparisons that not all copies of a loop make: how many do
        self.numbers: dict[Value, Numbers] = {}  # what constants are in each copy of unrolled loops
        # where a lane accesses a matrix tile: where the tile begins, and the places of the lane in it
        self.in_tiles: dict[Value, tuple[Value, tuple[Value, ...]]] = {}


class Environment:
    """Values available in each scope, what each variable holds, loops around, roots found."""

    def __init__(self) -> None:
        self.environment: dict[EnvironmentKey, Value] = {}
        self.available: dict[object, Value] = {}
        self.scopes: list[list[tuple[object, Value | None]]] = [[]]  # what each made available, what it hid
        self.stack: tuple[LoopLevel, ...] = ()
        self.roots: list[Value] = []
        self.known = Knowledge()
        self.decisions: set[Value] = set()  # roots that happen only where what they decide on is needed
        self.guard = Value(Shape.PLAIN, AT_START)  # stands for all that decides whether the text here runs
        self.exits: list[Value] = []  # the guards of returns from the kernel
        self.created: list[Value] = []
        self.arm_depth = 0
        self.decided = set[int]()  # depths of the arms around that each copy of a loop decides for itself
        self.region_count = 0  # of the kernel; regions beyond are of what runs once for all copies of a loop
        self.once: list[tuple[int, int]] = []  # whose arm they are in, and what counts entries of the loop
        self.arms_passed = 0  # beginnings and ends of arms so far: what lies between two of them runs as one
        self.undo: list[dict[EnvironmentKey, Value | None]] = []
        # Of what may be left early: the entries of `undo` around, and what those that left have assigned.
        self.met: dict[object, tuple[int, list[dict[EnvironmentKey, Value]]]] = {}
        self.parts: dict[Variable, dict[tuple[str, ...], None]] = {}
        self.is_fast = False  # compiled with --use_fast_math
        self.yielding: set[LoopLevel] = set()  # rolled loops with atomics
        self.adds_up_warps = False  # REDUX, of compute capability 8.0 and later
        self.waits_for_shared_atomics = True  # in a loop that is not unrolled, before compute capability 9.0
        self.is_machine_code = False  # PTX: where what is computed is settled, loads are not joined yet
        # Arrays of the thread, and what is done at unknown indices.
        self.indexed: dict[Variable, list[Value]] = {}
        self.here: Span | None = None  # the text being lowered
        self.cuts: list[int] = []  # births at which straight code begins: at loops that stay, arms, barriers

    def root(self, region: int, cost: Cost, inputs: Iterable[Value]) -> None:
        """Something that happens whether or not anybody uses its value."""
        place = Placement(region, self.stack[-1] if self.stack else None, self.stack)
        here = (self.guard,)
        self.roots.append(Value(Shape.PLAIN, place, cost, list(inputs), span=self.here, guards=here))

    def cut(self) -> None:
        """Straight code ends here."""
        self.cuts.append(Value(Shape.PLAIN, AT_START).birth)

    def decide(self, guard: Value, region: int, cost: Cost, inputs: Iterable[Value]) -> None:
        """Part of what `guard` stands for: made where something needs `guard`."""
        self.root(region, cost, inputs)
        self.decisions.add(self.roots[-1])
        guard.guards += (self.roots[-1],)

    def scope(self) -> Value:
        """A guard inside of the present one; what it decides by comes later."""
        return Value(Shape.PLAIN, AT_START, guards=(self.guard,))

    def drop_dead_decisions(self) -> None:
        """Forget the branches and loops on which nothing depends that anybody can see, as the compiler does.

        It takes every loop to end (nvcc 13 drops one without effects whatever its trip count).
        """
        stack = [*self.exits, *(root for root in self.roots if root not in self.decisions)]
        seen: set[Value] = set()
        while stack:
            value = stack.pop()
            if value not in seen:
                seen.add(value)
                stack += (*value.inputs, *value.guards, *(term for term, _ in value.form.terms))
                if value.step is not None:
                    stack.append(value.step)
        self.roots = [root for root in self.roots if root not in self.decisions or root in seen]

    def shared(
        self,
        key: object,
        region: int,
        operands: tuple[Value, ...],
        what: Computation,
        *,
        may_hoist: bool = True,
        may_trap: bool = False,
    ) -> Value:
        """The value of an earlier equal computation, or a new one, hoisted as far as its inputs allow.

        `may_trap`: it is not made in front of an arm that may not run, but for one that each copy decides.
        """
        if (found := self.available.get(key)) is not None:
            return found
        level = deepest(operands, self.stack)
        loops = varying(operands)
        target = self.scopes[-1]
        there = placed(loops, self.stack, here := region)
        region, scale, outside = there.region, there.scale, there.outside
        if outside is not None and scale > MOST_TRUTHS and _is_truth(key):
            level, loops, region, scale = self.stack[-1], None, here, 1.0
        elif outside is not None:
            is_decided = self.decided.issuperset(range(outside.arm_depth + 1, self.arm_depth + 1))
            if is_decided if may_trap else may_hoist or self.arm_depth == outside.arm_depth:
                for loop in self.stack:
                    if level is None or loop.depth > level.depth:
                        target = self.scopes[loop.scope - 1]
                        break
            elif scale == 1.0 and is_decided:
                region = self.region_of_once(here, region)
            else:
                level, loops = self.stack[-1], None
                region, scale = here, 1.0
        is_uniform = what.is_uniform
        if is_uniform is None:
            is_uniform = all(value.is_uniform for value in operands)
        value = Value(
            what.shape,
            Placement(region, level, self.stack, scale, loops),
            what.cost,
            list(operands if what.inputs is None else what.inputs),
            what.bits,
            is_uniform,
            what.is_pointer,
            what.form,
            span=self.here,
        )
        self.available[key] = value
        target.append((key, None))
        self.created.append(value)
        return value

    def region_of_once(self, arm: int, entry: int) -> int:
        """What runs once where `arm` runs at all, for each run of `entry`."""
        if (arm, entry) not in self.once:
            self.once.append((arm, entry))
        return self.region_count + self.once.index((arm, entry))

    def constant(self, number: float | None, type_: Type) -> Value:
        """A compile-time constant."""
        value = Value(Shape.CONSTANT, AT_START, bits=type_.bits or 64, is_uniform=True)
        value.number = number
        return value

    def joined(self, values: list[Value], region: int) -> Value:
        """One of `values`, depending on the way control came."""
        level = self.stack[-1] if self.stack else None
        bits = max((value.bits for value in values), default=32)
        return Value(Shape.PLAIN, Placement(region, level, self.stack), (), list(values), bits)

    def plain(
        self, name: object, region: int, inputs: tuple[Value, ...], cost: Cost, bits: int = 32
    ) -> Value:
        """A computation of no special shape; a constant when all it needs is constant."""
        if inputs and all(value.shape is Shape.CONSTANT for value in inputs):
            return self.copied(inputs, region, bits)
        return self.shared((name, *inputs_key(inputs)), region, inputs, Computation(cost=cost, bits=bits))

    def copied(self, constants: Collection[Value], region: int, bits: int) -> Value:
        """A constant computed from `constants`, unknown: other copies of an unrolled loop may have others."""
        place = Placement(region, deepest(constants, self.stack), varies=varying(constants))
        return Value(Shape.CONSTANT, place, bits=bits, is_uniform=True)

    def note_element(self, array: Variable, pointer: Value) -> None:
        """An access of an array of the thread, in all loops around."""
        for level in self.stack:
            level.elements.setdefault(array, set()).add(linear(pointer))

    def part(self, whole: Value, path: tuple[str, ...], region: int, bits: int = 32) -> Value:
        """A member of a record in registers: what it was built from, where that is known."""
        while path and (known := self.known.components.get(whole, {}).get(path[0])) is not None:
            whole, path = known, path[1:]
        if not path:
            return whole
        value = self.plain(("part", path), region, (whole,), (), bits)
        value.member, value.is_given = path, whole.is_given
        return value

    def first(self, key: object, cost: Cost, is_uniform: bool) -> Value:
        """Something computed once at the start of the kernel."""
        if (found := self.available.get(key)) is None:
            found = self.available[key] = Value(
                Shape.PLAIN, AT_START, cost, is_uniform=is_uniform, span=self.here
            )
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
        parts = self.parts.setdefault(variable, {})
        if (kept := outside_unions(variable.type, path)) != path:
            one, union = part_of(variable.type, path), part_of(variable.type, kept)
            if one is None or union is None or one[1].size_bytes < union[1].size_bytes:
                old = self.read(RegisterPlace(variable, kept, variable.type), value.place.region)
                value = self.plain("member of a union", value.place.region, (old, value), ())
            path = kept
        if path:
            parts[path] = None
        self._set((variable, path) if path else variable, value)
        for part in parts:
            if len(part) > len(path) and part[: len(path)] == path:
                rest = part[len(path) :]
                self._set((variable, part), self.part(value, rest, value.place.region))

    def read(self, place: RegisterPlace, region: int) -> Value:
        """The value of a register variable or a part of it."""
        variable = place.variable
        path = outside_unions(variable.type, place.path)
        depth = len(path)
        while depth and (variable, path[:depth]) not in self.environment:
            depth -= 1
        held = self.environment[variable, path[:depth]] if depth else self.whole(variable)
        if depth < len(path):
            held = self.part(held, path[depth:], region, place.type.bits)
        if path:
            held.is_pointer |= place.type.kind is TypeKind.POINTER
        inside = [
            part
            for part in self.parts.get(variable, ())
            if len(part) > len(path) and part[: len(path)] == path
        ]
        values = [v for part in sorted(inside) if (v := self.environment.get((variable, part))) is not None]
        if not inside:
            return held
        whole = self.plain("whole", region, (held, *values), ())
        new = (v for v in values if not v.member or held not in v.inputs)
        self.known.changed[whole] = held, tuple(new)
        return whole

    def changing(self, written: Iterable[EnvironmentKey]) -> dict[EnvironmentKey, Value]:
        """What may change when `written` is assigned, with its present value: a whole includes its parts."""
        found: dict[EnvironmentKey, Value] = {}
        for key in written:
            variable, path = key if isinstance(key, tuple) else (key, ())
            path = outside_unions(variable.type, path)
            key = (variable, path) if path else variable
            if path and key not in self.environment and variable in self.environment:
                self.parts.setdefault(variable, {})[path] = None
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
        bits, is_pointer = variable.type.bits or 64, variable.type.kind is TypeKind.POINTER
        value = Value(Shape.PLAIN, AT_START, bits=bits, is_uniform=True, is_pointer=is_pointer)
        self.environment[variable] = value
        return value

    def _set(self, key: EnvironmentKey, value: Value) -> None:
        if self.undo:
            self.undo[-1].setdefault(key, self.environment.get(key))
        self.environment[key] = value

    def enter_arm(self, *, is_decided: bool = False) -> None:
        """What follows may not run: its assignments can be undone, its values are not seen outside.

        `is_decided`: each copy of an unrolled loop knows whether it does.
        """
        self.undo.append({})
        self.open_scope()
        self.arm_depth += 1
        self.arms_passed += 1
        if is_decided:
            self.decided.add(self.arm_depth)

    def leave_arm(self) -> dict[EnvironmentKey, Value]:
        """Forget what the arm assigned; hand it back."""
        self.decided.discard(self.arm_depth)
        self.arm_depth -= 1
        self.arms_passed += 1
        self.close_scope()
        return self.undone()

    def undone(self) -> dict[EnvironmentKey, Value]:
        """Undo the assignments since the last entry of `undo`; hand them back."""
        found: dict[EnvironmentKey, Value] = {}
        for key, old in self.undo.pop().items():
            found[key] = self.environment[key]
            if old is None:
                del self.environment[key]
            else:
                self.environment[key] = old
        return found

    def await_leavers(self, target: object) -> None:
        """What follows may be left early, for the place where `leavers_met` names `target`."""
        self.met[target] = len(self.undo), []
        self.undo.append({})

    def snapshot(self, target: object) -> None:
        """Keep what has been assigned so far for `target`, where control goes from here."""
        if (met := self.met.get(target)) is not None:
            assigned = (key for arm in self.undo[met[0] :] for key in arm)
            met[1].append({key: self.environment[key] for key in assigned})

    def leavers_met(self, target: object, region: int, guard: Value, condition: Value | None = None) -> None:
        """Here those who left for `target` meet the others: merge what they assigned, by `condition`."""
        ends = [*self.met.pop(target)[1], self.undone()]
        if len(ends) > 1:
            self.merge(ends, region, guard, condition=condition)
        else:
            for key, value in ends[0].items():
                self._set(key, value)

    def merge(
        self,
        ends: list[dict[EnvironmentKey, Value]],
        region: int,
        guard: Value | None = None,
        chosen: dict[EnvironmentKey, Chosen] | None = None,
        condition: Value | None = None,
    ) -> None:
        """After a branch that `guard` decides: what each arm assigned, or what was there before.

        `chosen`: takes what is one of several values now. `condition`: the constant that alone decides.
        """
        keys = dict.fromkeys(key for end in ends for key in end)
        for key in keys:
            before = self.environment.get(key)
            if before is None and isinstance(key, tuple) and key[0] in self.environment:
                before = self.part(self.environment[key[0]], key[1], 0)
            values = [end.get(key, before) for end in ends]
            if len(ends) == 1:
                values.append(before)
            known = list(dict.fromkeys(value for value in values if value is not None))
            value = known[0]
            if condition is not None and all(one.shape is Shape.CONSTANT for one in known):
                value = (
                    known[0] if len(known) == 1 else self.copied((*known, condition), region, known[0].bits)
                )
            elif len(known) > 1:
                value = self.joined(known, region)
                value.guards = () if guard is None else (guard,)
                if chosen is not None and before is not None:
                    chosen[key] = Chosen(value, before, known)
            self._set(key, value)
