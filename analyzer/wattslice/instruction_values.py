"""Expressions to values: equal computations are shared, invariant ones leave their loops, constants fold."""

from __future__ import annotations

import operator
from collections.abc import Callable, Generator, Iterable
from typing import Any

from wattslice.expansions import call_cost, measured
from wattslice.instruction_kinds import InstructionKind as K
from wattslice.ir import (
    COMPARISONS,
    AddressOf,
    Assign,
    Atomic,
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
    MemoryPlace,
    MemorySpace,
    OperationClass,
    Place,
    PointerOffset,
    Read,
    RegisterPlace,
    Select,
    Semantics,
    TextureFetch,
    Type,
    TypeKind,
    Unary,
    UnaryOp,
    Variable,
)
from wattslice.value_graph import Cost, LoopLevel, Shape, Value, charge_region, deepest

Steps = Generator["Steps", Any, "Value | None"]
"""A computation driven by `instruction_lowering`: yields what must be run first, returns a value."""

EnvironmentKey = Variable | tuple[Variable, tuple[str, ...]]

_FLOAT: dict[int, tuple[K, K, K, K]] = {  # bits: sum, product, fused, comparison
    16: (K.HFMA2, K.HFMA2, K.HFMA2, K.HFMA2),
    32: (K.FADD, K.FMUL, K.FFMA, K.FSETP),
    64: (K.DADD, K.DMUL, K.DFMA, K.DSETP),
}
_LOAD: dict[MemorySpace, K] = {
    MemorySpace.SHARED: K.LDS,
    MemorySpace.CONSTANT: K.LDC,
    MemorySpace.LOCAL: K.LDL,
}
_STORE: dict[MemorySpace, K] = {MemorySpace.SHARED: K.STS, MemorySpace.LOCAL: K.STL}
_LOGIC = frozenset({BinaryOp.AND, BinaryOp.OR, BinaryOp.XOR})
_FOLD: dict[BinaryOp, Callable[[float, float], float]] = {
    BinaryOp.ADD: operator.add,
    BinaryOp.SUB: operator.sub,
    BinaryOp.MUL: operator.mul,
}


class Expressions:
    """The state of lowering: environment, values available in each scope, loops around, roots found."""

    def __init__(self) -> None:
        self.environment: dict[EnvironmentKey, Value] = {}
        self.scopes: list[dict[object, Value]] = [{}]
        self.stack: tuple[LoopLevel, ...] = ()
        self.roots: list[Value] = []
        self.created: list[Value] = []
        self.returns: list[list[Value]] = []
        self.arm_depth = 0
        self.undo: list[dict[EnvironmentKey, Value | None]] = []
        self.versions: dict[MemorySpace, Value] = {}
        self.parts: dict[Variable, set[tuple[str, ...]]] = {}

    # ------------------------------------------------------------------ values

    def root(self, region: int, cost: Cost, inputs: Iterable[Value]) -> None:
        """Something that happens whether or not anybody uses its value."""
        self.roots.append(Value(Shape.PLAIN, None, region, cost, list(inputs)))

    def shared(
        self,
        key: object,
        region: int,
        operands: tuple[Value, ...],
        *,
        may_hoist: bool = True,
        **fields: Any,  # noqa: ANN401 - the fields of Value
    ) -> Value:
        """The value of an earlier equal computation, or a new one, hoisted as far as its inputs allow."""
        for scope in reversed(self.scopes):
            if (found := scope.get(key)) is not None:
                return found
        varying = deepest(operands, self.stack)
        target = self.scopes[-1]
        where = region
        for loop in self.stack:
            if varying is None or loop.depth > varying.depth:
                if may_hoist or self.arm_depth == loop.arm_depth:
                    where = charge_region(varying, self.stack, region)
                    target = self.scopes[loop.scope - 1]
                else:
                    varying = self.stack[-1]
                break
        fields.setdefault("is_uniform", all(value.is_uniform for value in operands))
        fields.setdefault("inputs", list(operands))
        value = Value(level=varying, region=where, stack=self.stack, **fields)
        target[key] = value
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
            return Value(Shape.CONSTANT, deepest(inputs, self.stack), region, is_uniform=True, bits=bits)
        return self.shared(
            (name, *inputs_key(inputs)), region, inputs, shape=Shape.PLAIN, cost=cost, bits=bits
        )

    # ------------------------------------------------------------------ environment

    def write(self, variable: Variable, path: tuple[str, ...], value: Value) -> None:
        """Assign a register variable or a part of it."""
        if path:
            self.parts.setdefault(variable, set()).add(path)
            self._set((variable, path), value)
            return
        self._set(variable, value)
        for part in self.parts.get(variable, ()):
            self._set((variable, part), self.plain(("part", part), value.region, (value,), ()))

    def read(self, place: RegisterPlace, region: int) -> Value:
        """The value of a register variable or a part of it."""
        variable = place.variable
        if place.path:
            if (part := self.environment.get((variable, place.path))) is not None:
                return part
            whole = self.whole(variable)
            part = self.plain(("part", place.path), region, (whole,), (), place.type.bits)
            part.is_pointer = place.type.kind is TypeKind.POINTER
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
        self.scopes.append({})
        self.arm_depth += 1

    def leave_arm(self) -> dict[EnvironmentKey, Value]:
        """Forget what the arm assigned; hand it back."""
        self.arm_depth -= 1
        self.scopes.pop()
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

    # ------------------------------------------------------------------ memory

    def version(self, space: MemorySpace) -> Value:
        """Stands for the contents of a memory space; changes with every store to it."""
        if space not in self.versions:
            self.versions[space] = Value(Shape.PLAIN, None, 0, is_uniform=True)
        return self.versions[space]

    def clobber(self, spaces: Iterable[MemorySpace], has_barrier: bool, level: LoopLevel | None) -> None:
        """Loads from `spaces` (and behind a barrier from all shared ones) no longer see what was there."""
        shared = (MemorySpace.GLOBAL, MemorySpace.SHARED) if has_barrier else ()
        for space in {*spaces, *shared}:
            here = level or (self.stack[-1] if self.stack else None)
            self.versions[space] = Value(Shape.PLAIN, here, 0, is_uniform=True)

    def address(self, place: MemoryPlace, pointer: Value, region: int) -> tuple[Value, tuple[object, ...]]:
        """The address of an access without its constant part, an immediate; and what names the object."""
        terms, offset, varying = linear(pointer)
        narrow = place.space not in (MemorySpace.GLOBAL, MemorySpace.HOST)
        values = tuple(term for term, _ in terms)
        scale = min((abs(c) for t, c in terms if not t.is_pointer), default=1)
        key = ("address", frozenset(terms), narrow, pointer.is_wide)
        address = self.shared(
            key,
            region,
            values,
            shape=Shape.ADDRESS,
            terms=terms,
            inputs=[],
            number=float(scale),
            bits=32 if narrow else 64,
            is_wide=pointer.is_wide,
        )
        name = (
            place.space,
            place.root if not terms or narrow else None,
            frozenset(terms),
            offset,
            *((id(v), c) for v, c in varying),
        )
        return address, name

    def load(self, place: MemoryPlace, pointer: Value, region: int, type_: Type) -> Value:
        """A read from memory: shared with equal reads as long as nothing was stored to the space."""
        address, name = self.address(place, pointer, region)
        fixed = not address.terms
        if place.space is MemorySpace.LOCAL and place.root is not None:
            contents = self.whole(place.root)
            cost = () if fixed else ((K.LDL, 1.0),)
            return self.shared(
                ("local", name, contents), region, (contents, address), shape=Shape.PLAIN, cost=cost
            )
        version = self.version(place.space)
        kind = _LOAD.get(place.space, K.TEX if place.space is MemorySpace.TEXTURE else K.LDG)
        number = 0.0 if kind is K.LDC and fixed else float(max(1, -(-type_.size_bytes // 16)))
        varying = linear(pointer)[2]
        if kind is K.LDS:
            number /= _merged(address, varying, type_.size_bytes)
        key = ("load", name, version, type_.bits, type_.lanes)
        is_uniform = kind is K.LDC and address.is_uniform
        return self.shared(
            key,
            region,
            (address, version, *(copy for copy, _ in varying)),
            may_hoist=False,
            shape=Shape.PLAIN,
            inputs=[address],
            cost=((kind, number),) if number else (),
            bits=type_.bits or 64,
            is_pointer=type_.kind is TypeKind.POINTER,
            is_uniform=is_uniform,
        )

    def carried(self, place: MemoryPlace, pointer: Value, region: int) -> Value | None:
        """`s[i] += x` in a loop over something else: loaded once, kept in a register, stored each time."""
        if not self.stack or place.space not in self.stack[-1].single_stores:
            return None
        loop = self.stack[-1]
        address, _ = self.address(place, pointer, region)
        if loop.arm_depth != self.arm_depth or deepest((address,), self.stack) is loop or linear(pointer)[2]:
            return None
        kind = _LOAD.get(place.space, K.LDG)
        first = Value(
            Shape.PLAIN, loop.parent, loop.entry_region, ((kind, 1.0),), [address], stack=self.stack[:-1]
        )
        return Value(Shape.PLAIN, loop, region, (), [first], bits=place.type.bits, stack=self.stack)

    def store(self, place: MemoryPlace, pointer: Value, value: Value, region: int) -> None:
        """A write to memory; a read of the same object right after yields `value`."""
        address, name = self.address(place, pointer, region)
        if place.space is MemorySpace.LOCAL and place.root is not None:
            cost = () if not address.terms else ((K.STL, 1.0),)
            inputs = [self.whole(place.root), address, value]
            level = self.stack[-1] if self.stack else None
            self._set(place.root, Value(Shape.PLAIN, level, region, cost, inputs, stack=self.stack))
            return
        number = float(max(1, -(-place.type.size_bytes // 16)))
        self.root(region, ((_STORE.get(place.space, K.STG), number),), (address, value))
        self.clobber((place.space,), False, None)
        key = ("load", name, self.version(place.space), place.type.bits, place.type.lanes)
        self.scopes[-1][key] = value  # a load of the same object right after needs no memory

    # ------------------------------------------------------------------ expressions

    def expression(self, expr: Expr, region: int) -> Steps:
        """The value of `expr`, run in `region`."""
        match expr:
            case Constant(value=number):
                return self.constant(number, expr.type)
            case Builtin(kind=kind, axis=axis):
                special = kind in (BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_IDX)
                return self.first(
                    ("builtin", kind, axis),
                    ((K.MOV, 1.0),) if special else (),
                    kind is not BuiltinKind.THREAD_IDX,
                )
            case Read(place=place):
                return self.read(place, region)
            case Load(place=place):
                pointer = yield self.expression(place.address, region)
                return self.load(place, pointer, region, expr.type)
            case AddressOf(variable=variable):
                return self.address_of(variable)
            case PointerOffset():
                return (yield self.pointer(expr, region))
            case Unary(op=op, operand=operand):
                value = yield self.expression(operand, region)
                return self.unary(op, value, expr.type, region)
            case Binary(op=op, left=left, right=right):
                a = yield self.expression(left, region)
                b = yield self.expression(right, region)
                return self.binary(op, a, b, expr.operand_type, region)
            case Logical(left=left, right=right, right_region=inner):
                a = yield self.expression(left, region)
                self.enter_arm()
                b = yield self.expression(right, inner)
                self.merge([self.leave_arm()], region)
                return self.plain(
                    ("logical", expr.op), region, (a, b), ()
                )  # ISETP takes the other predicate along
            case Select():
                return (yield self.select(expr, region))
            case Cast(operand=operand):
                value = yield self.expression(operand, region)
                return self.cast(value, operand.type, expr.type, region)
            case Assign(target=target, value=source):
                value = yield self.expression(source, region)
                return (yield self.assign(target, expr.op, value, expr.operand_type, region))
            case Increment(target=target, delta=delta, step_bytes=step):
                amount = delta * step if step else delta
                one = self.constant(amount, expr.type)
                return (yield self.assign(target, BinaryOp.ADD, one, expr.type, region))
            case Intrinsic():
                return (yield self.intrinsic(expr, region))
            case Atomic(place=place, arguments=arguments):
                pointer = yield self.expression(place.address, region)
                inputs = [self.address(place, pointer, region)[0]]
                scales = place.space is MemorySpace.SHARED and bool(inputs[0].terms)  # ATOMS has no [R.X4]
                inputs.extend((yield from self.all_of(arguments, region)))
                self.root(region, ((K.ATOM, 1.0), *(((K.IADD, 1.0),) if scales else ())), inputs)
                self.clobber((place.space,), False, None)
                return self.joined([], region)
            case TextureFetch(coordinates=coordinates):
                inputs = yield from self.all_of(coordinates, region)
                if expr.is_store:
                    self.root(region, ((K.TEX, 1.0),), inputs)
                    return self.joined([], region)
                key = ("fetch", expr.texture, *inputs_key(inputs))
                return self.shared(
                    key, region, tuple(inputs), shape=Shape.PLAIN, cost=((K.TEX, 1.0),), is_uniform=False
                )
            case Construct(arguments=arguments):
                inputs = yield from self.all_of(arguments, region)
                return self.plain(("construct", expr.type.name), region, tuple(inputs), ())
            case Extract(value=inner, field=field):
                whole = yield self.expression(inner, region)
                return self.plain(("part", (field,)), region, (whole,), (), expr.type.bits)
            case InlinedCall():
                return (yield self.call(expr, region))
            case _:
                return self.joined([], region)

    def all_of(self, expressions: tuple[Expr, ...], region: int) -> Generator[Steps, Any, list[Value]]:
        """The values of several expressions, in order."""
        found: list[Value] = []
        for expr in expressions:
            value = yield self.expression(expr, region)
            found += [value]
        return found

    def call(self, expr: InlinedCall, region: int) -> Steps:
        """Lower an inlined call; the statements are the subclass's business."""
        raise NotImplementedError

    def first(self, key: object, cost: Cost, is_uniform: bool) -> Value:
        """Something computed once at the start of the kernel."""
        if (found := self.scopes[0].get(key)) is None:
            found = Value(Shape.PLAIN, None, 0, cost, is_uniform=is_uniform)
            self.scopes[0][key] = found
        return found

    def address_of(self, variable: Variable) -> Value:
        """The address of a variable."""
        if variable.space in (
            MemorySpace.SHARED,
            MemorySpace.LOCAL,
            MemorySpace.CONSTANT,
            MemorySpace.REGISTER,
        ):
            return self.constant(0, variable.type)  # an offset known when linking
        value = self.first(("address of", variable), ((K.MOV, 2.0),), True)
        value.is_pointer, value.bits = True, 64
        return value

    def pointer(self, expr: PointerOffset, region: int) -> Steps:
        """Pointer plus scaled index plus offset."""
        base = yield self.expression(expr.pointer, region)
        offset = self.constant(expr.offset_bytes, expr.type)
        value = self.sum(base, offset, 1, region, 64)
        if expr.index is not None:
            index = yield self.expression(expr.index, region)
            scaled = self.scaled(index, expr.scale_bytes, region, 64)
            # two 32-bit indices one after the other are each extended and added in 64 bits
            twice = index.shape is not Shape.CONSTANT and any(not t.is_pointer for t, _ in linear(value)[0])
            value = self.sum(value, scaled, -1 if expr.subtract else 1, region, 64, is_wide=twice)
        return value

    def select(self, expr: Select, region: int) -> Steps:
        """`c ? a : b`."""
        condition = yield self.expression(expr.condition, region)
        self.enter_arm()
        then = yield self.expression(expr.then, expr.then_region)
        first = self.leave_arm()
        self.enter_arm()
        otherwise = yield self.expression(expr.otherwise, expr.otherwise_region)
        self.merge([first, self.leave_arm()], region)
        kind = K.FSETP if expr.type.kind is TypeKind.FLOAT else K.ISETP
        number = 2.0 if expr.type.bits == 64 else 1.0
        return self.plain("select", region, (condition, then, otherwise), ((kind, number),), expr.type.bits)

    def assign(self, target: Place, op: BinaryOp | None, value: Value, type_: Type, region: int) -> Steps:
        """`target = value` or `target op= value`; yields the new value."""
        if isinstance(target, RegisterPlace):
            if op is not None:
                value = self.binary(op, self.read(target, region), value, type_, region)
            self.write(target.variable, target.path, value)
            return value
        pointer = yield self.expression(target.address, region)
        if op is not None:
            old = self.carried(target, pointer, region) or self.load(target, pointer, region, target.type)
            value = self.binary(op, old, value, type_, region)
        self.store(target, pointer, value, region)
        return value

    def cast(self, value: Value, source: Type, target: Type, region: int) -> Value:
        """A conversion; free between integers of 32 and 64 bits."""
        if value.shape is Shape.CONSTANT:
            return value
        is_float = (source.kind is TypeKind.FLOAT, target.kind is TypeKind.FLOAT)
        if any(is_float):
            if all(is_float) and source.bits == target.bits:
                return value
            lanes = float(max(1, target.lanes))
            return self.plain(
                ("cast", target.bits, is_float), region, (value,), ((K.CONVERSION, lanes),), target.bits
            )
        if source.kind is TypeKind.BOOL and target.kind is TypeKind.INT:
            return self.plain("bool to int", region, (value,), ((K.ISETP, 1.0),))
        if source.bits > target.bits and target.bits in (8, 16):
            return self.plain(("narrow", target.bits), region, (value,), ((K.LOP, 1.0),))
        return value  # widening is part of IMAD.WIDE, narrowing to 32 bits takes the low register

    def unary(self, op: UnaryOp, value: Value, type_: Type, region: int) -> Value:
        """A unary operator; float negation and `!` are modifiers of whatever uses them."""
        if op is UnaryOp.NOT or (op is UnaryOp.NEGATE and type_.kind is TypeKind.FLOAT):
            return value  # a modifier of whatever uses it
        if op is UnaryOp.NEGATE:
            return self.scaled(value, -1, region, type_.bits)
        return self.logic(op, (value,), type_, region)

    def binary(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """A binary operator in `type_`."""
        if op is BinaryOp.COMMA:
            return b
        if a.shape is Shape.CONSTANT and b.shape is Shape.CONSTANT:
            number = None
            if op in _FOLD and a.number is not None and b.number is not None:
                number = _FOLD[op](a.number, b.number)
            return Value(
                Shape.CONSTANT,
                deepest((a, b), self.stack),
                region,
                number=number,
                bits=type_.bits,
                is_uniform=True,
            )
        if type_.kind is TypeKind.FLOAT:
            return self.floating(op, a, b, type_, region)
        wide = 2.0 if type_.bits == 64 or type_.kind is TypeKind.POINTER else 1.0
        if op in COMPARISONS:
            return self.plain(op, region, (a, b), ((K.ISETP, wide),))
        match op:
            case BinaryOp.ADD | BinaryOp.SUB:
                is_wide = type_.bits == 64 and type_.kind is not TypeKind.POINTER
                sign = -1 if op is BinaryOp.SUB else 1
                return self.sum(a, b, sign, region, type_.bits, is_wide=is_wide)
            case BinaryOp.MUL:
                return self.product(a, b, type_, region)
            case BinaryOp.SHL if b.shape is Shape.CONSTANT and b.number is not None:
                return self.scaled(a, 1 << (int(b.number) & 63), region, type_.bits)
            case BinaryOp.AND | BinaryOp.OR | BinaryOp.XOR:
                return self.logic(op, (a, b), type_, region)
            case BinaryOp.DIV | BinaryOp.MOD:
                return self.division(op, a, b, type_, region)
            case _:
                return self.plain(op, region, (a, b), ((K.SHF, wide),), type_.bits)

    def floating(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """A floating-point operator."""
        bits = type_.bits if type_.bits in _FLOAT else 16 if type_.bits < 32 else 64
        add, multiply, fused, compare = _FLOAT[bits]
        # two half lanes fill one HFMA2
        lanes = max(1.0, type_.lanes / 2) if bits == 16 else float(max(1, type_.lanes))
        key = (op, bits, *inputs_key((a, b)))
        if op in COMPARISONS:
            return self.shared(key, region, (a, b), shape=Shape.PLAIN, cost=((compare, lanes),))
        if op in (BinaryOp.ADD, BinaryOp.SUB):
            cost, other = ((add, lanes),), ((fused, lanes),)
            return self.shared(key, region, (a, b), shape=Shape.FLOAT_SUM, cost=cost, fused=other, bits=bits)
        reciprocal = (
            op is BinaryOp.DIV and b.shape is Shape.CONSTANT and b.number is not None and _is_power(b.number)
        )
        if op is BinaryOp.MUL or reciprocal:
            return self.shared(
                key, region, (a, b), shape=Shape.FLOAT_PRODUCT, cost=((multiply, lanes),), bits=bits
            )
        name = "rcp" if a.shape is Shape.CONSTANT and a.number == 1 else "div"
        cost = measured(f"{name}.fp{max(32, bits)}") or ((K.MUFU, 1.0),)
        cost = tuple((kind, number * lanes) for kind, number in cost)
        return self.shared(key, region, (a, b), shape=Shape.PLAIN, cost=cost, bits=bits)

    def logic(self, op: object, inputs: tuple[Value, ...], type_: Type, region: int) -> Value:
        """A bitwise operator."""
        cost = ((K.LOP, 2.0 if type_.bits == 64 else 1.0),)  # LOP3 takes three inputs: two operators
        key = ("logic", op, *inputs_key(inputs))
        return self.shared(key, region, inputs, shape=Shape.LOGIC, cost=cost, fused=cost, bits=type_.bits)

    def division(self, op: BinaryOp, a: Value, b: Value, type_: Type, region: int) -> Value:
        """Integer division or remainder, from the measured table."""
        name = "div" if op is BinaryOp.DIV else "mod"
        if b.shape is Shape.CONSTANT:
            name += "_power" if b.number is not None and _is_power(b.number) else "_constant"
        key = "int64" if type_.bits == 64 else "int32" if type_.signed else "uint32"
        cost = measured(f"{name}.{key}") or ((K.IMAD, 1.0),)
        return self.plain((op, type_.signed), region, (a, b), cost, type_.bits)

    def sum(self, a: Value, b: Value, sign: int, region: int, bits: int, *, is_wide: bool = False) -> Value:
        """a + sign*b as a linear form."""
        terms_a, offset_a, varying_a = linear(a)
        terms_b, offset_b, varying_b = linear(b)
        total = dict(terms_a)
        wide = a.is_wide or b.is_wide or is_wide
        for term, coefficient in terms_b:
            total[term] = total.get(term, 0) + sign * coefficient
        terms = tuple((term, c) for term, c in total.items() if c)
        return self.linear_value(
            terms, offset_a + sign * offset_b, (*varying_a, *varying_b), region, bits, is_wide=wide
        )

    def scaled(self, value: Value, factor: int, region: int, bits: int) -> Value:
        """value * factor as a linear form."""
        terms, offset, varying = linear(value)
        scaled = tuple((term, c * factor) for term, c in terms if factor)
        copies = tuple((copy, c * factor) for copy, c in varying if factor)
        wide = value.is_wide
        return self.linear_value(scaled, offset * factor, copies, region, bits, is_wide=wide)

    def linear_value(
        self,
        terms: tuple[tuple[Value, int], ...],
        offset: int,
        varying: tuple[tuple[Value, int], ...],
        region: int,
        bits: int,
        *,
        is_wide: bool = False,
    ) -> Value:
        """A linear form: constant, single term, or sum."""
        if not terms:
            level = deepest((copy for copy, _ in varying), self.stack)
            return Value(
                Shape.CONSTANT,
                level,
                region,
                number=None if varying else offset,
                bits=bits,
                copies=varying,
                is_uniform=True,
            )
        if len(terms) == 1 and terms[0][1] == 1 and offset == 0 and not varying:
            return terms[0][0]
        key = ("sum", frozenset(terms), offset, *((id(v), c) for v, c in varying), bits, is_wide)
        values = (*(term for term, _ in terms), *(copy for copy, _ in varying))
        return self.shared(
            key,
            region,
            values,
            shape=Shape.INT_SUM,
            inputs=[],
            terms=terms,
            offset=offset if not varying else offset or 1,
            copies=varying,
            is_wide=is_wide,
            bits=bits,
            is_pointer=any(term.is_pointer for term, _ in terms),
        )

    def product(self, a: Value, b: Value, type_: Type, region: int) -> Value:
        """Product of two integers."""
        if a.shape is Shape.CONSTANT:
            a, b = b, a
        if b.shape is Shape.CONSTANT and b.number is not None:
            return self.scaled(a, int(b.number), region, type_.bits)
        cost: Cost = ((K.IMAD, 1.0),)
        if type_.bits == 64:
            cost = measured("mul.int64") or cost
        value = self.shared(
            ("product", frozenset((a, b))) if a is not b else ("square", a),
            region,
            (a, b),
            shape=Shape.INT_PRODUCT,
            cost=cost,
            bits=type_.bits,
        )
        for moving, fixed in ((a, b), (b, a)):
            if moving.step is not None and deepest((fixed,), self.stack) is not moving.level:
                value.step = fixed
        return value

    def intrinsic(self, expr: Intrinsic, region: int) -> Steps:
        """A library function or builtin."""
        inputs = yield from self.all_of(expr.arguments, region)
        if expr.semantics is Semantics.IDENTITY and inputs:
            return inputs[0]
        types = (expr.type, *(argument.type for argument in expr.arguments))
        working = next((type_ for type_ in types if type_.kind is TypeKind.FLOAT), expr.type)
        if expr.semantics is Semantics.FMA and working.bits in _FLOAT:
            fused = _FLOAT[working.bits][2]
            return self.plain(
                "fma", region, tuple(inputs), ((fused, float(max(1, working.lanes))),), working.bits
            )
        cost = call_cost(expr.name, working, expr.operations)
        classes = {count.operation for count in expr.operations}
        if OperationClass.BARRIER in classes:
            self.root(region, ((K.BAR, 1.0),), inputs)
            self.clobber((), True, None)
            return self.joined([], region)
        written = tuple(a.variable for a in expr.arguments if isinstance(a, AddressOf))
        pure = classes <= _PURE and not written and bool(classes)
        if pure and K.SHFL not in dict(cost):
            return self.plain(("call", expr.name), region, tuple(inputs), cost, expr.type.bits)
        self.root(region, cost, inputs)
        result = self.joined(inputs, region)
        for variable in written:
            self.write(variable, (), result)
        return result


_PURE = frozenset(
    {
        OperationClass.FP32,
        OperationClass.FP64,
        OperationClass.FP16,
        OperationClass.INT,
        OperationClass.SPECIAL,
    }
)


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


def _merged(address: Value, copies: tuple[tuple[Value, int], ...], size_bytes: int) -> float:
    """How many neighbouring loads of an unrolled loop become one LDS.128 (the address must stay aligned)."""
    steps_by_one = len(copies) == 1 and copies[0][1] == size_bytes
    aligned = all(coefficient % 16 == 0 for _, coefficient in address.terms)
    return 16.0 / size_bytes if steps_by_one and aligned and size_bytes in (4, 8) else 1.0


def _is_power(number: float) -> bool:
    return number > 0 and number == int(number) and (int(number) & (int(number) - 1)) == 0
