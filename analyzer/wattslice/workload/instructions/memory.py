"""Loads, stores and the versions of memory that tell which loads may be shared."""

from __future__ import annotations

from collections.abc import Iterable

from wattslice.ir import MemoryPlace, MemorySpace, Type, TypeKind, Variable
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.operators import Operators
from wattslice.workload.instructions.value_graph import (
    AT_START,
    Computation,
    LinearForm,
    LoopLevel,
    MemoryRequest,
    Placement,
    Shape,
    Terms,
    Value,
    deepest,
    linear,
    varying,
)

_LOAD: dict[MemorySpace, K] = {
    MemorySpace.SHARED: K.LDS,
    MemorySpace.CONSTANT: K.LDC,
    MemorySpace.LOCAL: K.LDL,
}
_STORE: dict[MemorySpace, K] = {MemorySpace.SHARED: K.STS, MemorySpace.LOCAL: K.STL}
SECTOR_BYTES = 32
MOST_COPIES = 1 << 16
"""Copies of a load that are compared with each other; `loops.FULL_UNROLL_SIZE` leaves far fewer."""


class Memory(Operators):
    """Accesses to memory."""

    def version(self, space: MemorySpace) -> Value:
        """Stands for the contents of a memory space; changes with every store to it."""
        if space not in self.versions:
            self.versions[space] = Value(Shape.PLAIN, AT_START, is_uniform=True)
        return self.versions[space]

    def clobber(self, spaces: Iterable[MemorySpace], has_barrier: bool, level: LoopLevel | None) -> None:
        """Loads from `spaces` (and behind a barrier from all shared ones) no longer see what was there."""
        shared = (MemorySpace.GLOBAL, MemorySpace.SHARED) if has_barrier else ()
        for space in {*spaces, *shared}:
            here = level or (self.stack[-1] if self.stack else None)
            self.versions[space] = Value(Shape.PLAIN, Placement(0, here), is_uniform=True)

    def address(self, place: MemoryPlace, pointer: Value, region: int) -> tuple[Value, tuple[object, ...]]:
        """The address of an access without its constant part, an immediate; and what names the object."""
        terms, offset, copies = linear(pointer)
        narrow = place.space not in (MemorySpace.GLOBAL, MemorySpace.HOST)
        address = self.address_value(pointer, region, narrow=narrow)
        name = (
            place.space,
            place.root if not terms or narrow else None,
            frozenset(terms),
            offset,
            *copies,
        )
        return address, name

    def address_value(self, pointer: Value, region: int, *, narrow: bool) -> Value:
        """The register that addresses around `pointer` are made from; `narrow`: of 32 bits."""
        terms = linear(pointer)[0]
        values = tuple(term for term, _ in terms)
        scale = min((abs(c) for t, c in terms if not t.is_pointer), default=1)
        is_wide, is_unsigned = pointer.form.is_wide, pointer.form.is_unsigned
        form = LinearForm(terms, is_wide=is_wide, is_unsigned=is_unsigned, unit=scale)
        what = Computation(Shape.ADDRESS, bits=32 if narrow else 64, inputs=(), form=form)
        address = self.shared(("address", frozenset(terms), narrow, is_wide), region, values, what)
        if address.form.is_unsigned is not is_unsigned:
            address.form = address.form._replace(is_unsigned=is_unsigned)
        return address

    def load(self, place: MemoryPlace, pointer: Value, region: int, type_: Type) -> Value:
        """A read from memory: shared with equal reads as long as nothing was stored to the space."""
        address, name = self.address(place, pointer, region)
        if place.is_volatile:
            return self.volatile(place, address, region, type_)
        if _is_register(place):
            return self.plain("register", region, (address, self.version(place.space)), (), type_.bits or 64)
        fixed = not address.form.terms
        copies = linear(pointer)[2]
        counters = tuple(copy for copy, _ in copies)
        if place.space is MemorySpace.LOCAL and place.root is not None:
            contents = self.whole(place.root)
            self.note_element(place.root, pointer)
            if not fixed:
                self.indexed.add(place.root)
            cost = () if fixed else ((K.LDL, 1.0),)
            what = Computation(cost=cost, inputs=(contents, address))
            return self.shared(("local", name, contents), region, (contents, address, *counters), what)
        version = self.version(place.space)
        kind = _LOAD.get(place.space, K.TEX if place.space is MemorySpace.TEXTURE else K.LDG)
        number = 0.0 if kind is K.LDC and fixed else float(type_.requests)
        together = _merged(address, copies, type_.size_bytes) if kind is K.LDS else 1.0
        share, fresh = self.copies_share(copies, version)
        share /= together
        number *= share
        key = ("load", name, version, type_.bits, type_.lanes)
        what = Computation(
            cost=((kind, number),) if number else (),
            bits=(type_.bits or 64) * max(1, type_.lanes),
            inputs=(address,),
            is_uniform=kind is K.LDC and address.is_uniform,
            is_pointer=type_.kind is TypeKind.POINTER,
        )
        may_hoist = place.space is MemorySpace.CONSTANT and fixed
        value = self.shared(key, region, (address, version, *counters), what, may_hoist=may_hoist)
        if value.access is None and value.inputs == [address]:
            value.access = MemoryRequest(place.site, False, share * type_.requests, fresh)
            if self.is_machine_code and kind is K.LDS and not copies:
                self.join(value, place, pointer)
        return value

    def copies_share(self, copies: Terms, version: Value) -> tuple[float, float]:
        """Of the loads in unrolled loops the share that is made, and of their sectors the share that is new.

        The compiler loads an address once where nothing was stored meanwhile (`version`): the rows that the
        taps of a filter have in common. What stands beside it in a sector is then in L1.
        """
        changed = varying((version,))
        offsets, number = {0}, 1
        for copy, coefficient in copies:
            level, step = copy.place.level, copy.step
            if (
                level is None
                or copy.place.varies != frozenset((level,))
                or level in changed
                or level.trips is None
            ):
                return 1.0, 1.0
            trips = round(level.trips)
            if (
                step is None
                or step.number is None
                or trips != level.trips
                or level.arm_depth != self.arm_depth
            ):
                return 1.0, 1.0
            number *= trips
            if not 0 < number <= MOST_COPIES:  # of none, in a loop that never runs, nothing is shared
                return 1.0, 1.0
            width = coefficient * int(step.number)
            offsets = {offset + width * copied for offset in offsets for copied in range(trips)}
        least = min(offsets)
        sectors = {(offset - least) // SECTOR_BYTES for offset in offsets}
        return len(offsets) / number, len(sectors) / len(offsets)

    def join(self, value: Value, place: MemoryPlace, pointer: Value) -> None:
        """Makes a load part of one LDS.64 or LDS.128 with others of the same aligned 8 or 16 bytes."""
        terms, offset, _ = linear(pointer)
        if place.type.size_bytes != 4 or place.root is None or any(c % 16 for _, c in terms):
            return
        loop = self.stack[-1] if self.stack else None
        key = (place.root, frozenset(terms), offset // 16, self.version(place.space), self.arms_passed, loop)
        loads = self.neighbours.setdefault(key, {})
        loads[offset % 16] = value
        for half in (0, 8):
            pair = [loads[at] for at in (half, half + 4) if at in loads]
            number = 1.0 / len(loads) if len(loads) == 4 else 1.0 / max(1, len(pair))
            for load in pair:
                load.cost = ((K.LDS, number),)
                if load.access is not None:
                    load.access = load.access._replace(number=number)

    def volatile(self, place: MemoryPlace, address: Value, region: int, type_: Type) -> Value:
        """A read that is made each time, whether or not anybody needs what it yields."""
        kind = _LOAD.get(place.space, K.LDG)
        number = float(type_.requests)
        self.root(region, ((kind, number),), (address,))
        value = self.roots[-1]
        value.access = MemoryRequest(place.site, False, number)
        value.bits, value.is_pointer = type_.bits or 64, type_.kind is TypeKind.POINTER
        return value

    def carried(self, place: MemoryPlace, pointer: Value, region: int) -> Value | None:
        """`s[i] += x` in a loop over something else: loaded once, kept in a register, stored each time."""
        if not self.stack or place.is_volatile or place.space not in self.stack[-1].single_stores:
            return None
        loop = self.stack[-1]
        address, _ = self.address(place, pointer, region)
        if loop.arm_depth != self.arm_depth or deepest((address,), self.stack) is loop or linear(pointer)[2]:
            return None
        if place.space is MemorySpace.LOCAL and not address.form.terms:
            return None  # a register already: the thread's own array at a constant index
        kind, number = _LOAD.get(place.space, K.LDG), float(place.type.requests)
        before = Placement(loop.entry_region, loop.parent, self.stack[:-1])
        first = Value(Shape.PLAIN, before, ((kind, number),), [address], span=self.here)
        first.access = MemoryRequest(place.site, False, number)
        return Value(Shape.PLAIN, Placement(region, loop, self.stack), (), [first], place.type.bits)

    def store(self, place: MemoryPlace, pointer: Value, value: Value, region: int) -> None:
        """A write to memory; a read of the same object right after yields `value`."""
        address, name = self.address(place, pointer, region)
        if place.space is MemorySpace.LOCAL and place.root is not None and not place.is_volatile:
            fixed = not address.form.terms
            cost = () if fixed else ((K.STL, 1.0),)
            self.note_element(place.root, pointer)
            if cost:
                self.indexed.add(place.root)
            inputs = [self.whole(place.root), address, value]
            here = Placement(region, self.stack[-1] if self.stack else None, self.stack)
            self._set(place.root, stored := Value(Shape.PLAIN, here, cost, inputs, span=self.here))
            if fixed:
                number = place.type.requests / _merged(address, linear(pointer)[2], place.type.size_bytes)
                self.fixed_stores.append((place.root, stored, number))
            return
        if _is_register(place):
            self.root(region, (), (address, value))
            self.clobber((place.space,), False, None)
            return
        number = float(place.type.requests)
        self.root(region, ((_STORE.get(place.space, K.STG), number),), (address, value))
        self.roots[-1].access = MemoryRequest(place.site, True, number)
        self.clobber((place.space,), False, None)
        key = ("load", name, self.version(place.space), place.type.bits, place.type.lanes)
        self.hide(key, value)  # a load of the same object right after needs no memory

    def store_indexed(self) -> None:
        """Stores at constant indices are made where others index the array by what is not known."""
        for array, stored, number in self.fixed_stores:
            if array in self.indexed:
                stored.cost = ((K.STL, number),)

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


def _is_register(place: MemoryPlace) -> bool:
    """One of several registers, chosen by a reference: the compiler knows which, or selects values."""
    return place.space is MemorySpace.LOCAL and place.root is None


def _merged(address: Value, copies: Terms, size_bytes: int) -> float:
    """How many neighbouring loads of an unrolled loop become one LDS.128 (the address must stay aligned)."""
    steps_by_one = len(copies) == 1 and copies[0][1] == size_bytes
    aligned = all(coefficient % 16 == 0 for _, coefficient in address.form.terms)
    return 16.0 / size_bytes if steps_by_one and aligned and size_bytes in (4, 8) else 1.0
