"""Expressions to values, each by a generator that asks for the values of its operands."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from wattslice.ir import (
    BIT_FIELD,
    COMPARISONS,
    LANE,
    AddressOf,
    Assign,
    Atomic,
    AtomicOp,
    Binary,
    BinaryOp,
    Builtin,
    BuiltinKind,
    Cast,
    Constant,
    Construct,
    Expr,
    Extract,
    Increment,
    InlinedCall,
    Intrinsic,
    Load,
    Logical,
    MemorySpace,
    OperationClass,
    Place,
    PointerOffset,
    Read,
    RegisterPlace,
    Select,
    Semantics,
    Span,
    TextureFetch,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
)
from wattslice.patterns import regex
from wattslice.workload.instructions.kinds import WARP_SIZE, Cost, barrier_cost, call_cost, shares, times
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.memory import SEEN_BY_OTHERS, Memory
from wattslice.workload.instructions.operators import (
    FLOAT_KINDS,
    JOINING,
    counted_up,
    is_minimum,
    is_there,
    per_operation,
)
from wattslice.workload.instructions.sectors import SECTOR_BYTES
from wattslice.workload.instructions.value_graph import (
    AT_START,
    Computation,
    Environment,
    LoopLevel,
    MemoryRequest,
    Placement,
    Shape,
    Terms,
    Value,
    inputs_key,
    linear,
)

Steps = Generator["Step", Any, "Value | None"]
"""A computation driven by `drive`: yields what must be run first, returns a value."""


class At(Struct, frozen=True):
    """A computation, or its result, of the text at `span`."""

    span: Span
    step: Value | Steps | None


Step = Value | Steps | At | None
"""What is known at once, or a computation that finds it."""


def drive(graph: Environment, first: Steps) -> None:
    """Run a computation and all it asks for: nesting as deep as generated code has it needs no recursion.

    `graph.here` follows the text.
    """
    stack: list[tuple[Steps, Span | None]] = [(first, graph.here)]
    result: Value | None = None
    while stack:
        steps, graph.here = stack[-1]
        try:
            asked = steps.send(result)
        except StopIteration as stop:
            stack.pop()
            result = stop.value
            continue
        here = graph.here
        if type(asked) is At:
            here, asked = asked.span, asked.step
        if asked is None or type(asked) is Value:
            result = asked
        else:
            stack.append((cast(Steps, asked), here))
            result = None


_CONVERTS = regex(r"(__)?\w+?2(?!(hi|lo)int)\w+")
"""``__float2int_rn``; ``__double2hiint`` takes one of two registers, ``__float_as_int`` the same one."""
_PURE = frozenset(
    {
        OperationClass.FP32,
        OperationClass.FP64,
        OperationClass.FP16,
        OperationClass.INT,
        OperationClass.SPECIAL,
    }
)


_OF_HALVES = {"__hadd": BinaryOp.ADD, "__hsub": BinaryOp.SUB, "__hmul": BinaryOp.MUL}
"""Functions that are operators to the assembler, which makes one HFMA2 of two; `__hadd_rn` stays alone."""


def _is_half(type_: Type) -> bool:
    return type_.kind is TypeKind.FLOAT and type_.bits == 16 and not type_.bfloat


def working_type(call: Intrinsic) -> Type:
    """What a function computes with: a floating-point type where there is one."""
    types = (call.type, *(argument.type for argument in call.arguments))
    return next((type_ for type_ in types if type_.kind is TypeKind.FLOAT), call.type)


def computes_only(call: Intrinsic) -> bool:
    """Whether a function does nothing but compute its result of its arguments."""
    classes = {count.operation for count in call.operations}
    reads_memory = any(a.type.kind is TypeKind.POINTER for a in call.arguments)
    pure = classes <= _PURE and not reads_memory and (bool(classes) or call.semantics in _ARITHMETIC)
    return pure and call.semantics is not Semantics.EFFECT


def without_difference(expr: Binary) -> Binary:
    """`a >= b` for `a - b >= 0`: the compiler takes no difference of signed numbers to wrap."""
    if expr.op in COMPARISONS and expr.operand_type.kind is TypeKind.INT and expr.operand_type.signed:
        match expr.left, expr.right:
            case Binary(op=BinaryOp.SUB, left=left, right=right), Constant(value=0):
                return replace(expr, left=left, right=right)
            case Constant(value=0), Binary(op=BinaryOp.SUB, left=left, right=right):
                return replace(expr, left=right, right=left)
            case _:
                pass
    return expr


class Expressions(Memory):
    """Lowers expressions."""

    def expression(self, expr: Expr, region: int) -> Step:
        """The value of `expr`, run in `region`; leaves are known at once."""
        handler = _HANDLERS.get(type(expr))
        if handler is None:
            return self.joined([], region)
        step = handler(self, expr, region)
        return step if type(step) is Value else At(expr.span, step)

    def builtin(self, expr: Builtin) -> Value:
        """`threadIdx.x` and the like: read once; sizes lie in constant memory; `warpSize` is a number."""
        if expr.kind is BuiltinKind.WARP_SIZE:
            self.known.late.add(size := self.constant(WARP_SIZE, expr.type))
            return size
        special = expr.kind in (BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_IDX)
        value = self.first(
            ("builtin", expr.kind, expr.axis),
            ((K.MOV, 1.0),) if special else (),
            expr.kind is not BuiltinKind.THREAD_IDX,
        )
        value.is_given = not special
        self.known.naturals.add(value)
        return value

    def load_expression(self, expr: Load, region: int) -> Steps:
        """A read from memory."""
        pointer = yield self.expression(expr.place.address, region)
        return self.load(expr.place, pointer, region, expr.type)

    def unary_expression(self, expr: Unary, region: int) -> Steps:
        """A unary operator."""
        value = yield self.expression(expr.operand, region)
        return self.unary(expr.op, value, expr.type, region)

    def binary_expression(self, expr: Binary, region: int) -> Steps:
        """A binary operator."""
        expr = without_difference(expr)
        a = yield self.expression(expr.left, region)
        b = yield self.expression(expr.right, region)
        return self.binary(expr.op, a, b, expr.operand_type, region)

    def logical(self, expr: Logical, region: int) -> Steps:
        """`a && b`."""
        a = yield self.expression(expr.left, region)
        self.enter_arm()
        b = yield self.expression(expr.right, expr.right_region)
        found = [(key, self.available[key]) for key, _ in self.scopes[-1]]
        self.merge([self.leave_arm()], region)
        both = self.both(expr.op, a, b, region)
        self.known.implied[expr.op, both] = (*self.known.implied.get((expr.op, a), ()), *found)
        return both

    def cast_expression(self, expr: Cast, region: int) -> Steps:
        """A conversion; of one of two doubles to a float, one of which was a float: of both."""
        chosen = expr.operand
        if isinstance(chosen, Select) and _resizes(expr, 64, 32):
            arms = chosen.then, chosen.otherwise
            if any(_resizes(arm, 32, 64) for arm in arms) or all(isinstance(arm, Constant) for arm in arms):
                then, otherwise = (replace(expr, operand=arm) for arm in arms)
                chosen = replace(chosen, then=then, otherwise=otherwise, type=expr.type)
                return (yield self.expression(chosen, region))
        value = yield self.expression(expr.operand, region)
        return self.cast(value, expr.operand.type, expr.type, region)

    def assignment(self, expr: Assign, region: int) -> Steps:
        """`a = b` or `a op= b`."""
        value = yield self.expression(expr.value, region)
        return (yield self.assign(expr.target, expr.op, value, expr.operand_type, region))

    def increment(self, expr: Increment, region: int) -> Steps:
        """`++a`, and `a++`, whose value is the old one."""
        amount = expr.delta * expr.step_bytes if expr.step_bytes else expr.delta
        one = self.constant(amount, expr.type)
        old = None
        if isinstance(expr.target, RegisterPlace) and not expr.is_prefix:
            old = self.read(expr.target, region)
        new = yield self.assign(expr.target, BinaryOp.ADD, one, expr.type, region)
        return old or new

    def atomic(self, expr: Atomic, region: int) -> Steps:
        """An atomic; its result is unknown."""
        place = expr.place
        pointer = yield self.expression(place.address, region)
        inputs = [self.address(place, pointer, region)[0]]
        scales = place.space is MemorySpace.SHARED and bool(inputs[0].form.terms)  # ATOMS has no [R.X4]
        operands = yield from self.all_of(expr.arguments, region)
        cost = _shared_atomic(expr) if place.space is MemorySpace.SHARED else ((K.ATOM, 1.0),)
        result = self.joined([], region)
        loop = next((level for level in reversed(self.stack) if not level.is_unrolled), None)
        waits = place.space is not MemorySpace.SHARED or self.waits_for_shared_atomics
        loop = loop if waits and loop is not None and loop.unroll <= 1.0 else None
        if loop is not None and loop not in self.yielding:
            self.yielding.add(loop)
            self.root(loop.body_region, ((K.OTHER, 1.0),), ())  # YIELD
        is_one = inputs[0].is_uniform and len(operands) == 1 and ONE_THREAD not in self.available
        election = self.elected(expr, operands[0], result) if is_one else ()
        if election:
            agreed = Value(Shape.PLAIN, result.place, election, list(operands), span=self.here)
            if election[: len(_ELECTION)] == _ELECTION:
                agreed.inputs.append(self.first("lane", ((K.MOV, 1.0),), is_uniform=False))
            else:
                agreed.beside = result
            # ATOMS counts up by itself where nobody needs the result
            counts = place.space is MemorySpace.SHARED and expr.op is AtomicOp.ADD and operands[0].number == 1
            (result.inputs if counts else inputs).append(agreed)
        else:
            cost += self.moved_operands(expr, operands, inputs, region, loop)
        self.root(region, (*cost, *(((K.IADD, 1.0),) if scales else ())), [*inputs, *operands])
        self.note(place, pointer, None, is_store=True)
        self.clobber(((place.space, self.part_of(place.space, place.root, pointer)),), False, None)
        return result

    def elected(self, expr: Atomic, operand: Value, result: Value) -> Cost:
        """What lanes of a warp agree on ahead of an atomic at one address, which one of them does for all:
        ptxas adds up words, and counts the lanes that add the same. Then each result follows from how many
        are before it; where a result of other atomics is needed none is elected.
        """
        is_counted = operand.is_uniform and expr.op in (AtomicOp.ADD, AtomicOp.SUB)
        if expr.type.is_float or not (is_counted or expr.op in _OF_WARP):
            return ()
        if expr.type.bits == 64:
            return (*_ELECTION, (K.IMAD, 1.0), (K.IADD, 1.0), (K.MOV, 4.0)) if is_counted else ()
        if is_counted:
            result.cost = _RANK
            return _ELECTION if operand.number in (1, -1) else (*_ELECTION, (K.IMAD, 1.0))
        negated: Cost = ((K.IADD, 1.0),) if expr.op is AtomicOp.SUB else ()
        if self.adds_up_warps:
            return (*_REDUX, *negated, *((K.MOV, 1.0),) * operand.is_uniform)
        return (*_WARP_SUM, *negated)

    def moved_operands(
        self, expr: Atomic, operands: list[Value], inputs: list[Value], region: int, loop: LoopLevel | None
    ) -> Cost:
        """Operands of an atomic that are in no register are moved there, in each iteration of a `loop` that
        is not unrolled. ATOMS counts up by itself.
        """
        counts = expr.place.space is MemorySpace.SHARED and expr.op is AtomicOp.ADD and not expr.type.is_float
        moved = [one for one in operands if one.number or (one.is_given and not one.access)]
        moved = [one for one in moved if not (counts and one.number == 1)]
        if loop is not None:
            return ((K.MOV, float(len(moved))),) if moved else ()
        for one in moved:
            what = Computation(cost=((K.MOV, 1.0),))
            inputs.append(self.shared(("operand", *inputs_key((one,))), region, (), what))
        return ()

    def fetch(self, expr: TextureFetch, region: int) -> Steps:
        """A texture fetch, shared with equal ones, or a surface write."""
        inputs = yield from self.all_of(expr.coordinates, region)
        terms = tuple((one, SECTOR_BYTES) for one in inputs)
        if expr.is_store:
            self.root(region, ((K.TEX, 1.0),), inputs)
            self.roots[-1].access = MemoryRequest(expr.site, True, 1.0, address=terms)
            return self.joined([], region)
        key = ("fetch", expr.texture, *inputs_key(inputs))
        what = Computation(cost=((K.TEX, 1.0),), is_uniform=False)
        value = self.shared(key, region, tuple(inputs), what)
        value.access = value.access or MemoryRequest(expr.site, False, 1.0, address=terms)
        return value

    def construct(self, expr: Construct, region: int) -> Steps:
        """`make_float4(...)`: registers side by side; floats that become halves are packed."""
        halves = [one for one in expr.arguments if isinstance(one, Cast) and _resizes(one, 32, 16)]
        if halves and len(halves) == len(expr.arguments):
            floats = yield from self.all_of(tuple([one.operand for one in halves]), region)
            pack = ((K.PACK, float(len(floats))),)
            return self.plain(("pack", expr.type.name), region, tuple(floats), pack, expr.type.bits)
        inputs = yield from self.all_of(expr.arguments, region)
        if len(inputs) == 1 and expr.arguments[0].type.lanes > 1:
            return self.cast(inputs[0], expr.arguments[0].type, expr.type, region)
        whole = self.plain(("construct", expr.type.name), region, tuple(inputs), ())
        self.known.components[whole] = dict(zip(expr.field_names, inputs, strict=False))
        return whole

    def extract(self, expr: Extract, region: int) -> Steps:
        """`f(x).y`."""
        whole = yield self.expression(expr.value, region)
        return self.part(whole, (expr.field,), region, expr.type.bits)

    def all_of(self, expressions: tuple[Expr, ...], region: int) -> Generator[Step, Any, list[Value]]:
        """The values of several expressions, in order."""
        found: list[Value] = []
        for expr in expressions:
            value = yield self.expression(expr, region)
            found += [value]
        return found

    @abstractmethod
    def call(self, expr: InlinedCall, region: int) -> Steps:
        """Lower an inlined call; the statements are the subclass's business."""

    def pointer(self, expr: PointerOffset, region: int) -> Steps:
        """Pointer plus scaled index plus offset."""
        base = yield self.expression(expr.pointer, region)
        offset = self.constant(expr.offset_bytes, expr.type)
        value = self.sum(base, offset, 1, region, 64)
        if expr.index is not None:
            index = yield self.expression(expr.index, region)
            scaled = self.scaled(index, expr.scale_bytes, region, 64)
            # two 32-bit indices one after the other are each extended and added in 64 bits
            indices = {term for term, _ in linear(value)[0] if not term.is_pointer}
            twice = index.shape is not Shape.CONSTANT and not indices <= {t for t, _ in linear(scaled)[0]}
            value = self.sum(value, scaled, -1 if expr.subtract else 1, region, 64, is_wide=twice)
            is_unsigned = _is_unsigned(expr.index)
            added = self.wrapping(index) if is_unsigned else (0, ())
            if (is_unsigned, added) != (value.form.is_unsigned, value.form.added):
                value.form = replace(value.form, is_unsigned=is_unsigned, added=added)
            if isinstance(expr.index, Intrinsic) and expr.index.name == LANE:
                begin, lanes = self.known.in_tiles.get(base, (base, ()))
                self.known.in_tiles[value] = begin, (*lanes, index)
        return value

    def wrapping(self, index: Value) -> tuple[int, Terms]:
        """What is added to `index`, which has no sign, where the sum may wrap: beyond low bits that the rest
        leaves free, and not to what is small.
        """
        terms, offset, copies = linear(index)
        free = math.gcd(0, *(coefficient for _, coefficient in terms))
        free &= -free  # a power of two
        if not free or any(one.step is not None and one.step.shape is Shape.CONSTANT for one, _ in terms):
            return 0, ()  # a pointer that steps
        if all(coefficient == 1 and self.is_small(term) for term, coefficient in terms):
            return 0, ()
        trips = ((copy.place.level.trips if copy.place.level else None, number) for copy, number in copies)
        most = offset % free + sum(number * ((many or math.inf) - 1) for many, number in trips)
        return offset - offset % free, () if 0 <= most < free else copies

    def is_small(self, term: Value) -> bool:
        """Whether the compiler knows that a little more than `term` fits 32 bits: the index of a thread or of
        a block, some bits of a word.
        """
        kinds = (BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_IDX)
        builtins = (self.available.get(("builtin", kind, axis)) for kind in kinds for axis in range(3))
        return term in self.known.masked or any(one is term for one in builtins)

    def select(self, expr: Select, region: int) -> Steps:
        """`c ? a : b`."""
        condition = yield self.expression(expr.condition, region)
        began = Value(Shape.PLAIN, AT_START).birth
        is_decided = condition.shape is Shape.CONSTANT  # in each copy of an unrolled loop
        self.enter_arm(is_decided=is_decided)
        then = yield self.expression(expr.then, expr.then_region)
        first = self.leave_arm()
        self.enter_arm(is_decided=is_decided)
        otherwise = yield self.expression(expr.otherwise, expr.otherwise_region)
        self.merge([first, self.leave_arm()], region)
        is_word = expr.type.kind is TypeKind.INT and expr.type.bits == 32
        is_zero = otherwise.shape is Shape.CONSTANT and otherwise.number == 0
        mask = self.bit_mask(condition, region) if is_word and is_zero else None
        if mask is not None:
            return self.logic(BinaryOp.AND, (mask, then), expr.type, region)
        cost = self.selection(expr.type)
        counted = [b for a, b in ((then, otherwise), (otherwise, then)) if counted_up(a, b)]
        if is_decided:
            cost = ()
        elif counted:  # each lane makes both numbers
            counted[0].place, cost = replace(counted[0].place, region=region), ((K.MOV, 1.0),)
        elif is_word and is_minimum(condition) and set(condition.inputs) == {then, otherwise}:
            cost = ()  # IMNMX, the comparison
        elif Shape.CONSTANT not in (then.shape, otherwise.shape) and any(
            arm.shape in _COMPUTED and not is_there(arm, began) for arm in (then, otherwise)
        ):
            cost = ()  # one is computed into the register of the other
        elif any(isinstance(arm, Load) for arm in (expr.then, expr.otherwise)):
            # a predicated load into the register that holds the other value
            cost = ((K.MOV, 2.0 if expr.type.bits == 64 else 1.0),)
        elif _names_registers(expr):
            cost = ()  # which register is settled when loops are unrolled: no address is ever selected
        return self.plain("select", region, (condition, then, otherwise), cost, expr.type.bits)

    def assign(self, target: Place, op: BinaryOp | None, value: Value, type_: Type, region: int) -> Steps:
        """`target = value` or `target op= value`; yields the new value."""
        if isinstance(target, RegisterPlace):
            if op is not None:
                value = self.compound(op, self.read(target, region), value, (target.type, type_), region)
            self.write(target.variable, target.path, value)
            return value
        pointer = yield self.expression(target.address, region)
        if op is not None:
            old = self.load(target, pointer, region, target.type)
            value = self.compound(op, old, value, (target.type, type_), region)
        self.store(target, pointer, value, region)
        return value

    def compound(
        self, op: BinaryOp, old: Value, value: Value, types: tuple[Type, Type], region: int
    ) -> Value:
        """The new value of `target op= value`, of which `types` are that of the target and that of the
        operation: to one that floats are of, and of a truth that another one joins, the old value is
        converted, and the result back."""
        of_target, working = types
        if of_target.kind is TypeKind.POINTER and of_target.element is not None:
            value = self.scaled(value, max(1, of_target.element.size_bytes), region, 64)
        joins = of_target.kind is TypeKind.BOOL and op in JOINING
        if TypeKind.FLOAT not in (of_target.kind, working.kind) and not joins:
            return self.binary(op, old, value, working, region)
        result = self.binary(op, self.cast(old, of_target, working, region), value, working, region)
        return self.cast(result, working, of_target, region)

    def intrinsic(self, expr: Intrinsic, region: int) -> Steps:
        """A library function or builtin."""
        inputs = yield from self.all_of(expr.arguments, region)
        if expr.name == BIT_FIELD:
            return self.bit_field(inputs, expr.type, region)
        if expr.name == LANE:
            return self.lane(expr, inputs, region)
        if expr.semantics is Semantics.IDENTITY and inputs:
            if _CONVERTS.match(expr.name):
                return self.cast(inputs[0], expr.arguments[0].type, expr.type, region)
            return inputs[0]
        working = working_type(expr)
        if expr.semantics is Semantics.FMA and working.kind is TypeKind.INT and len(inputs) == 3:
            product = self.binary(BinaryOp.MUL, inputs[0], inputs[1], working, region)
            return self.binary(BinaryOp.ADD, product, inputs[2], working, region)
        if expr.semantics is Semantics.FMA and working.bits in FLOAT_KINDS:
            fused = FLOAT_KINDS[working.bits][2]
            cost = ((fused, per_operation(working.bits, working.lanes)),)
            return self.noted_half(self.plain("fma", region, tuple(inputs), cost, working.bits), working)
        if expr.semantics is Semantics.ABS and working.kind is TypeKind.FLOAT:
            return self.plain("abs", region, tuple(inputs), (), working.bits)  # a modifier of what uses it
        if (of_halves := _OF_HALVES.get(expr.name.removesuffix("2"))) is not None and _is_half(working):
            return self.floating(of_halves, inputs[0], inputs[1], working, region)
        base = inputs[0].number if inputs and inputs[0].shape is Shape.CONSTANT else None
        cost = call_cost(expr.name, working, expr.operations, base, expr.detail, fast=self.is_fast)
        classes = {count.operation for count in expr.operations}
        if OperationClass.BARRIER in classes:
            self.root(region, barrier_cost(expr.name, expr.detail), inputs)
            self.cut()
            self.note_effect(SEEN_BY_OTHERS)
            self.clobber((), True, None)
            return self.joined([], region)
        written = tuple(a.variable for a in expr.arguments if isinstance(a, AddressOf))
        if computes_only(expr) and K.SHFL not in dict(cost):
            value = self.function(expr, working, tuple(inputs), cost, region)
            if expr.semantics is Semantics.SQRT:
                self.known.roots.add(value)
            return value
        self.root(region, cost, inputs)
        if K.SHFL not in dict(cost):
            self.note_effect((space, None) for space in MemorySpace)
        result = self.joined(inputs, region)
        for variable in written:
            self.write(variable, (), result)
        return result

    def lane(self, expr: Intrinsic, inputs: list[Value], region: int) -> Value:
        """The place of a lane in a matrix tile; found in an arm, each time, where one is around."""
        if expr.semantics is Semantics.MOD and inputs[1].number == WARP_SIZE:
            return inputs[0]  # S2R of the lane, which asks for no index of the thread
        inputs = [] if expr.semantics is Semantics.FMA else inputs
        is_given = inputs[-1:] and inputs[-1].shape is not Shape.CONSTANT
        cost = ((_LANES[expr.semantics], 1.0), *((K.SHF, 1.0),) * bool(is_given))  # rows apart, in words
        what = Computation(cost=cost, is_uniform=False)
        key = (LANE, expr.semantics, *inputs_key(inputs))
        return self.shared(key, region, tuple(inputs), what, may_hoist=False)

    def fast_quotient(self, name: object, a: Value, b: Value, region: int) -> Value:
        """`__fdividef(a, b)`: a product with the reciprocal of `b`, which all divisions by it share. Both are
        scaled, but where `b` is one and an exponential.
        """
        if b.shape is Shape.CONSTANT:
            return self.plain(name, region, (a, b), ((K.FMUL, 1.0),))
        summands = b.inputs if b.shape is Shape.FLOAT_SUM else []
        is_more = any((one.number or 0.0) >= 1.0 for one in summands)
        is_scaled = not (self.is_fast or (is_more and not self.known.exponentials.isdisjoint(summands)))
        scaling: Cost = ((K.FMUL, 1.0), (K.FSETP, 1.0)) if is_scaled else ()
        once = Computation(cost=((K.MUFU, 1.0), *scaling))
        reciprocal = self.shared(("fast reciprocal", b), region, (b,), once)
        products = float(is_scaled + (is_scaled or a.number != 1.0))
        return self.plain(name, region, (a, b, reciprocal), ((K.FMUL, products),) if products else ())

    def function(
        self, expr: Intrinsic, working: Type, inputs: tuple[Value, ...], cost: Cost, region: int
    ) -> Value:
        """A function without effects. Values of their own: what one argument alone decides; the constants of
        one of floats without branches, in registers; the share that branches hold in the loop around.
        """
        name = ("call", expr.name, *_negated(expr))
        if expr.name == "__fdividef":
            return self.fast_quotient(name, inputs[0], inputs[1], region)
        if (name, *inputs_key(inputs)) in self.available or {one.shape for one in inputs} <= {Shape.CONSTANT}:
            return self.plain(name, region, inputs, cost, expr.type.bits)
        held, *of_one = shares(expr.name, working, fast=self.is_fast)
        parts: list[Value] = []
        if cost == _OF_TURNS and expr.name.strip("_f") in ("sin", "cos"):
            turns = Computation(cost=cost[:1])
            parts.append(self.shared(("turns", *inputs_key(inputs)), region, inputs, turns))
            cost = cost[1:]
        kept = tuple(pair for pair in cost if pair[0] is K.MOV)
        if kept and working.kind is TypeKind.FLOAT and working.bits == 32 and K.BRANCH not in dict(cost):
            parts.append(self.shared(("constants", expr.name), region, (), Computation(cost=kept)))
            cost = tuple(pair for pair in cost if pair not in kept)
        for number, (one, share) in enumerate(zip(inputs, of_one, strict=False)):
            is_known = one.shape is Shape.CONSTANT  # two thirds are computed by the compiler
            part = Computation(cost=times(cost, share / 3 if is_known else share))
            operands = () if is_known else (one,)
            parts.append(self.shared(("part", number, name, *inputs_key((one,))), region, operands, part))
        value = self.plain(name, region, inputs, times(cost, 1.0 - sum(of_one)), expr.type.bits)
        value.inputs += parts
        if {kind for kind, _ in cost} == {K.HFMA2}:
            self.noted_half(value, working)
        if _EXPONENTIAL.fullmatch(expr.name):
            self.known.exponentials.add(value)
        if expr.name in ("__umulhi", "__mulhi"):
            value.beside = self.product(inputs[0], inputs[1], expr.type, region)
        if held and value.place.region != region and Shape.CONSTANT not in {one.shape for one in inputs}:
            stays = Value(Shape.PLAIN, Placement(region, self.stack[-1], self.stack), times(cost, held))
            stays.span = value.span
            value.inputs.append(stays)
            value.cost = times(cost, 1.0 - sum(of_one) - held)
        return value


_LANES = {Semantics.FMA: K.MOV, Semantics.DIV: K.SHF, Semantics.MUL: K.IMAD, Semantics.MOD: K.LOP}
"""What each step on the way to the place of a lane in a matrix tile takes."""
ONE_THREAD = "one thread"
"""Is available where a comparison with an index of the thread lets one thread of a block pass."""
_OF_WARP = (AtomicOp.ADD, AtomicOp.SUB, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR)
_ELECTION: Cost = ((K.SHFL, 1.0), (K.OTHER, 2.0), (K.ISETP, 1.0))
"""VOTE, FLO and POPC, whether the lane is the first; its number (S2R) once."""
_RANK: Cost = ((K.MOV, 1.0), (K.LOP, 1.0), (K.OTHER, 1.0), (K.SHFL, 1.0), (K.IADD, 1.0))
"""POPC of the lanes before, and the result of the first."""
_REDUX: Cost = ((K.MOV, 2.0), (K.SHFL, 2.0), (K.OTHER, 1.0), (K.ISETP, 1.0))
_WARP_SUM: Cost = ((K.MOV, 1.0), (K.SHFL, 6.0), (K.IADD, 5.0), (K.ISETP, 2.0), (K.ATOM, 1.0), (K.BRANCH, 1.0))
"""Without REDUX (sm_75), of a whole warp: the atomic of others is issued, too."""
_OF_TURNS: Cost = ((K.FMUL, 1.0), (K.MUFU, 1.0))
"""The sine and the cosine of a number of turns, which is that of radians by two pi."""
_EXPONENTIAL = regex(r"(__)?exp(2|10)?f?")
_SYMMETRIC = regex(r"(__)?(sin|cos|tan|asin|atan|sinh|cosh|tanh|asinh|atanh|erf|cbrt)f?")
"""Functions that are of `-x` what they are of `x`, or the negative of that."""
_ARITHMETIC = (Semantics.ADD, Semantics.MUL, Semantics.DIV, Semantics.MOD)
"""What is computed on the way to a rank, a size or an address, at no cost that anybody names."""
_COMPUTED = (Shape.FLOAT_SUM, Shape.FLOAT_PRODUCT, Shape.INT_SUM, Shape.INT_PRODUCT, Shape.LOGIC)


def _negated(call: Intrinsic) -> tuple[int, ...]:
    """The arguments of a function that are negated, which is a modifier of a value and none of its own."""
    if _SYMMETRIC.fullmatch(call.name):
        return ()
    arguments = [a.operand if isinstance(a, Cast) else a for a in call.arguments]
    negated = (isinstance(a, Unary) and a.op is UnaryOp.NEGATE and a.type.is_float for a in arguments)
    return tuple(number for number, is_negated in enumerate(negated) if is_negated)


def _resizes(expr: Expr, before: int, after: int) -> bool:
    """Whether a floating-point number of `before` bits becomes one of `after`."""
    if not isinstance(expr, Cast) or not (expr.type.is_float and expr.operand.type.is_float):
        return False
    return (expr.operand.type.bits, expr.type.bits) == (before, after)


def _is_unsigned(index: Expr) -> bool:
    """Whether an index is an unsigned integer of 32 bits, before it is widened."""
    while isinstance(index, Cast) and index.type.bits == 64:
        index = index.operand
    return index.type.kind is TypeKind.INT and index.type.bits == 32 and not index.type.signed


_HANDLERS: dict[
    type[Expr], Callable[[Expressions, Any, int], Value | Steps | None]
] = {  # by type: asked for every node
    Constant: lambda here, expr, region: here.constant(expr.value, expr.type),
    Builtin: lambda here, expr, region: here.builtin(expr),
    Read: lambda here, expr, region: here.read(expr.place, region),
    AddressOf: lambda here, expr, region: here.address_of(expr.variable),
    Load: Expressions.load_expression,
    PointerOffset: Expressions.pointer,
    Unary: Expressions.unary_expression,
    Binary: Expressions.binary_expression,
    Logical: Expressions.logical,
    Select: Expressions.select,
    Cast: Expressions.cast_expression,
    Assign: Expressions.assignment,
    Increment: Expressions.increment,
    Intrinsic: Expressions.intrinsic,
    Atomic: Expressions.atomic,
    TextureFetch: Expressions.fetch,
    Construct: Expressions.construct,
    Extract: Expressions.extract,
    InlinedCall: lambda here, expr, region: here.call(expr, region),
}


def _shared_atomic(expr: Atomic) -> Cost:
    """Shared memory adds 32-bit integers; anything else is a loop of load, operation and compare-and-swap.

    One round of the loop: how often another thread comes in between depends on data.
    """
    type_ = expr.type
    is_swap = expr.op in (AtomicOp.CAS, AtomicOp.EXCHANGE)
    if is_swap or (not type_.is_float and type_.bits <= 32):
        return ((K.ATOM, 1.0),)
    words = 2.0 if type_.bits == 64 else 1.0
    add = FLOAT_KINDS.get(type_.bits, FLOAT_KINDS[32])[0]
    operation = (add, 1.0) if type_.is_float else (K.IADD, words)
    return ((K.LDS, 1.0), operation, (K.ATOM, 1.0), (K.ISETP, words), (K.BRANCH, 3.0))


def _names_registers(expr: Expr) -> bool:
    """Whether an address is that of one of several registers (`int& r = c ? a : b`)."""
    if isinstance(expr, Select):
        return _names_registers(expr.then) and _names_registers(expr.otherwise)
    return isinstance(expr, AddressOf) and expr.variable.space is MemorySpace.REGISTER
