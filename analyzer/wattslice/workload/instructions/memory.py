"""Loads, stores and the versions of memory that tell which loads may be shared."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from wattslice.ir import (
    LANE,
    Expr,
    Intrinsic,
    MemoryPlace,
    MemorySpace,
    PointerOffset,
    Type,
    TypeKind,
    Variable,
)
from wattslice.workload.instructions.forwarding import Access, AccessName, Part, shares_loaded
from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.operators import Operators, is_there
from wattslice.workload.instructions.rows import WORD_BYTES, RowPart, join, share_taps
from wattslice.workload.instructions.value_graph import (
    AT_START,
    AccessSpan,
    Computation,
    LinearForm,
    LoopLevel,
    MemoryRequest,
    Placement,
    Shape,
    Terms,
    Value,
    chain,
    linear,
    varying,
)

_LOAD: dict[MemorySpace, K] = {
    MemorySpace.SHARED: K.LDS,
    MemorySpace.CONSTANT: K.LDC,
    MemorySpace.LOCAL: K.LDL,
}
_STORE: dict[MemorySpace, K] = {MemorySpace.SHARED: K.STS, MemorySpace.LOCAL: K.STL}
SEEN_BY_OTHERS: tuple[tuple[MemorySpace, Part], ...] = (
    (MemorySpace.GLOBAL, MemorySpace.GLOBAL),
    (MemorySpace.SHARED, None),
)
"""What a barrier hands to other threads: through `__restrict__` nobody else stores, the compiler believes."""
MOST_COPIES = 1 << 16
"""Copies of a load that are compared with each other; `loops.FULL_UNROLL_SIZE` leaves far fewer."""


MOST_SELECTED = 48.0
"""Comparisons by which accesses at unknown indices select a register of an array."""
MOST_ELEMENTS = 64.0
"""Of an array of which one or two accesses do whatever that takes; longer ones were not looked at."""


_Row = tuple[MemorySpace, Variable | None, bool, object, int, LoopLevel | None, int | None]
"""Space, object, stores or loads, contents, arms passed, loop around, region where it is hoisted."""


class Predicated(Struct, frozen=True):
    """An arm that is predicated, of a branch in `region`; values in it are born after `began`.

    `is_pure`: neither arm loads or stores, so that they may be computed in any case. `is_turned`: its value
    is the opposite of the truth that stands for it.
    """

    began: int
    region: int
    is_pure: bool
    is_turned: bool


class _Held(Struct, frozen=True):
    """What a load or store of `size` bytes made known: the `name` and `kind` (bits, lanes) of an object."""

    name: tuple[object, ...]
    kind: tuple[object, ...]
    size: int


MOST_HELD = 32
"""Objects that a store is compared with."""
_OFFSET = 3
"""Where the name of an object has its offset; see `Memory.address`."""


class _Member(Struct, frozen=True):
    """The member of a record that an access reaches. Others of that type of record, anywhere, lie apart from
    it: no record lies across two."""

    record: Type
    offset_bytes: int

    def is_beside(self, other: _Member | None) -> bool:
        """Whether an access to `other` never touches what this one does."""
        return other is not None and self.record == other.record and self.offset_bytes != other.offset_bytes


def _is_apart(held: _Held, name: tuple[object, ...], size: int) -> bool:
    """Whether `size` bytes at `name` lie beside what is held, a constant distance from it."""
    at, there = held.name[_OFFSET], name[_OFFSET]
    if not isinstance(at, int) or not isinstance(there, int):
        return False
    if (*held.name[:_OFFSET], *held.name[_OFFSET + 1 :]) != (*name[:_OFFSET], *name[_OFFSET + 1 :]):
        return False
    return at + held.size <= there or there + size <= at


class Memory(Operators):
    """Accesses to memory."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters: dict[Value, Variable] = {}
        self.unread: frozenset[Variable] = frozenset()  # shared objects that nothing reads: no store is made
        self.versions: dict[tuple[MemorySpace, Part], Value] = {}
        self.unknown_stores: dict[MemorySpace, Value] = {}  # the last one to any part of a space
        self.accesses: list[Access] = []  # in the loop being lowered
        self.spared: set[Value] = set()  # loads that not all copies of a loop make
        self.fixed_stores: list[
            tuple[Variable, Value, float]
        ] = []  # to the thread's arrays, at constant indices
        self.fixed_loads: list[tuple[Variable, Value, object, float]] = []
        self.local_stores: dict[Value, object] = {}  # to which element; None: to any
        self.rows: dict[_Row, list[RowPart]] = {}  # accesses that may join
        self.taps: dict[tuple[_Row, int], list[RowPart]] = {}  # loads that may be of one address
        self.epoch: Counter[MemorySpace] = Counter()  # between two reads of what was stored to a space
        self.pending: dict[MemorySpace, list[tuple[Part, _Member | None]]] = {}  # stored in this epoch
        self.beside: dict[Value, tuple[Value, _Member]] = {}  # contents before a store to one member
        self.read_in: dict[MemorySpace, set[LoopLevel]] = {}  # loops that read a space
        self.predicated: Predicated | None = None  # around here
        self.held: dict[Value, list[_Held]] = {}  # loaded or stored, by the contents of memory

    def part_of(self, space: MemorySpace, root: Variable | None, pointer: Value | None = None) -> Part:
        """The part of a memory space that an access reaches, as far as the compiler tells parts apart."""
        if root is None or (root.space is MemorySpace.REGISTER and root not in self.parameters.values()):
            terms = () if pointer is None else linear(pointer)[0]
            root = next((self.parameters[term] for term, _ in terms if term in self.parameters), None)
        if root is None:
            return None
        is_shared = root.space is MemorySpace.SHARED and not root.dynamic
        return root if is_shared or root.is_restrict or root.space is MemorySpace.LOCAL else space

    def version(self, space: MemorySpace, part: Part) -> Value:
        """Stands for the contents of a part of a memory space; changes with every store to it."""
        if (found := self.versions.get((space, part))) is not None:
            return found
        return self.unknown_stores.setdefault(space, Value(Shape.PLAIN, AT_START, is_uniform=True))

    def clobber(
        self, stores: Iterable[tuple[MemorySpace, Part]], has_barrier: bool, level: LoopLevel | None
    ) -> None:
        """Loads no longer see what was there: where stores go, behind a barrier also those of others."""
        place = Placement(0, level or (self.stack[-1] if self.stack else None))
        if has_barrier:
            self.new_epoch(MemorySpace.SHARED)
            self.new_epoch(MemorySpace.GLOBAL)
        for space, part in (*stores, *(SEEN_BY_OTHERS if has_barrier else ())):
            new = Value(Shape.PLAIN, place, is_uniform=True)
            if part is None:
                self.versions = {key: one for key, one in self.versions.items() if key[0] is not space}
                self.unknown_stores[space] = new
            else:
                self.versions[space, part] = self.versions[space, None] = new

    def address(self, place: MemoryPlace, pointer: Value, region: int) -> tuple[Value, tuple[object, ...]]:
        """The address of an access without its constant part, an immediate; and what names the object."""
        terms, offset, copies = linear(pointer)
        narrow = place.space not in (MemorySpace.GLOBAL, MemorySpace.HOST)
        is_scaled = place.space is MemorySpace.CONSTANT
        if not narrow and pointer in self.known.in_tiles:
            address = self.address_in_tile(pointer, place.type.bits, region)
        else:
            address = self.address_value(pointer, region, narrow=narrow, is_scaled=is_scaled)
        name = (place.space, place.root if not terms or narrow else None, frozenset(terms), offset, *copies)
        return address, name

    def address_in_tile(self, pointer: Value, bits: int, region: int) -> Value:
        """Where a lane accesses a matrix tile of elements of `bits` in global memory: where the tile begins,
        which each copy of a loop computes, and the place of the lane in it, added in 64 bits; other rows are
        eight on. Of doubles a lane has one, and a pointer steps.
        """
        begin, lanes = self.known.in_tiles[pointer]
        is_anew = bits < 64
        address = self.address_value(begin, region, narrow=False, is_anew=is_anew)
        is_given = any(one.shape is not Shape.CONSTANT for lane in lanes for one in lane.inputs[1:])
        cost = ((K.IADD, 2.0), *((K.IMAD, 1.0),) * (is_given and is_anew))
        what = Computation(cost=cost, bits=64, form=LinearForm(linear(pointer)[0]))
        return self.shared(("in tile", address, *lanes), region, (address, *lanes), what)

    def address_value(
        self, pointer: Value, region: int, *, narrow: bool, is_scaled: bool = False, is_anew: bool = False
    ) -> Value:
        """The register that addresses around `pointer` are made from; `narrow`: of 32 bits; `is_scaled`: in
        bytes."""
        terms = linear(pointer)[0]
        values = tuple(term for term, _ in terms)
        scale = min((abs(c) for t, c in terms if not t.is_pointer), default=1)
        is_wide = pointer.form.is_wide or any(t.bits == 64 and not t.is_pointer for t in values)
        is_unsigned = pointer.form.is_unsigned
        is_guarded = bool(self.stack) and self.arm_depth > self.stack[-1].arm_depth
        added = (0, ()) if narrow else pointer.form.added
        form = LinearForm(
            terms,
            is_wide=is_wide,
            is_unsigned=is_unsigned,
            unit=scale,
            is_guarded=is_guarded,
            added=added,
            is_scaled=is_scaled,
            is_anew=is_anew,
        )
        what = Computation(Shape.ADDRESS, bits=32 if narrow else 64, inputs=(), form=form)
        values += tuple(copy for copy, _ in added[1])
        address = self.shared(
            ("address", frozenset(terms), narrow, is_wide, added, is_scaled, is_anew), region, values, what
        )
        if address.form.is_unsigned is not is_unsigned:
            address.form = replace(address.form, is_unsigned=is_unsigned)
        return address

    def load(self, place: MemoryPlace, pointer: Value, region: int, type_: Type) -> Value:
        """A read from memory: shared with equal reads as long as nothing was stored to the space."""
        address, name = self.address(place, pointer, region)
        if place.is_volatile:
            self.note(place, pointer, None, is_store=False)
            self.new_epoch(place.space)
            return self.volatile(place, address, region, type_)
        part = self.part_of(place.space, place.root, pointer)
        version = self.version(place.space, part)
        if _is_register(place):
            return self.plain("register", region, (address, version), (), type_.bits or 64)
        fixed = not address.form.terms
        copies = linear(pointer)[2]
        counters = tuple(copy for copy, _ in copies)
        if place.space is MemorySpace.LOCAL and place.root is not None:
            contents = self.whole(place.root)
            self.note_element(place.root, pointer)
            if not fixed:
                self.indexed.setdefault(place.root, [])
            elif contents.shape is Shape.CONSTANT:  # as it was initialised, by constants
                return self.copied((contents, *counters), region, type_.bits or 64)
            cost = () if fixed else ((K.LDL, 1.0),)
            what = Computation(cost=cost, inputs=(contents, address))
            value = self.shared(("local", name, contents), region, (contents, address, *counters), what)
            value.local = value.local or (place.site, float(type_.requests))
            if fixed:
                self.fixed_loads.append((place.root, value, name, _wide(place, pointer, address)))
            else:
                self.indexed[place.root].append(value)
            self.note(place, pointer, value, is_store=False)
            return value
        if self.is_written_down(place.root, pointer):
            return self.copied([copy for copy, _ in copies], region, type_.bits or 64)
        kind = _LOAD.get(place.space, K.TEX if place.space is MemorySpace.TEXTURE else K.LDG)
        number = 0.0 if kind is K.LDC and fixed else _instructions(place)
        span = self.span_of(pointer, place.type.size_bytes)
        share = 1.0 if varying((version,)) & varying(counters) else len(span.offsets) / span.copies
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
        self.held.setdefault(version, []).append(_Held(name, key[3:], place.type.size_bytes))
        if value.access is None and value.inputs == [address]:
            terms = (*address.form.terms, *copies)
            number = 0.0 if kind is K.LDC and fixed else share * type_.requests  # an operand asks for nothing
            value.access = MemoryRequest(
                place.site, False, number, terms, place.type.request_bytes, (place.space, part), span=span
            )
            value.is_given = kind is K.LDC and fixed
            if kind in (K.LDS, K.LDG, K.LDC):
                self.note_row(place, value, pointer, region, version)
        if value.cost and value.inputs[:1] == [address]:  # else it is what was stored just before
            self.note(place, pointer, value, is_store=False)
        return value

    def is_written_down(self, root: Variable | None, pointer: Value) -> bool:
        """Whether the compiler knows an element: `__device__ const float w[3] = {…}` at a constant index."""
        if root is None or not root.is_constant or root.initializer is None:
            return False
        return root.space is MemorySpace.GLOBAL and linear(pointer)[0] == ((self.address_of(root), 1),)

    def span_of(self, pointer: Value, length: int) -> AccessSpan:
        """What an access touches in all copies of unrolled loops; in one, where they are not known.

        The compiler loads an address once where nothing was stored meanwhile: the rows that the taps of a
        filter have in common. What stands beside it in a sector is then in L1.
        """
        terms, first, copies = linear(pointer)
        alone = AccessSpan(self.arms_passed, frozenset((*terms, *copies)), frozenset((first,)), length)
        offsets, number = {first}, 1
        for copy, coefficient in copies:
            level, step = copy.place.level, copy.step
            if level is None or copy.place.varies != frozenset((level,)) or level.trips is None:
                return alone
            trips = round(level.trips)
            if (
                step is None
                or step.number is None
                or trips != level.trips
                or level.arm_depth != self.arm_depth
            ):
                return alone
            number *= trips
            if not 0 < number <= MOST_COPIES:  # of none, in a loop that never runs, nothing is shared
                return alone
            width = coefficient * int(step.number)
            offsets = {offset + width * copied for offset in offsets for copied in range(trips)}
        return AccessSpan(self.arms_passed, frozenset(terms), frozenset(offsets), length, number)

    def note_row(
        self, place: MemoryPlace, value: Value, pointer: Value, region: int, version: Value | None
    ) -> None:
        """A load or store (`version` None) that neighbours may take along.

        In shared and constant memory any; in global memory the other members of an aligned record (`float2`).
        """
        root, size = place.root, place.type.size_bytes
        is_shared = place.space in (MemorySpace.SHARED, MemorySpace.CONSTANT)
        record, member = _record_of(place.address)
        aligned = 1 if is_shared or record is None else record.alignment_bytes
        part = self.part_of(place.space, root, pointer)
        if version is None:
            epoch: object = self.epoch[place.space]
            self.pending.setdefault(place.space, []).append((part, member))
        else:
            epoch = version if part is None or member is None else self.reached(version, member)
            self.settle_stores(place.space, part, member)
        is_extern = root is not None and root.dynamic  # of these only .extern is aligned
        is_narrow = size in (1, 2) and (is_extern if is_shared else aligned > size)
        is_mixed = len({field.type.size_bytes for field in place.type.fields}) > 1
        if is_mixed or (size % WORD_BYTES and not is_narrow):
            return
        around = self.stack[-1] if self.stack else None
        hoisted = None if value.place.region == region else value.place.region
        object_ = root if is_shared else None
        key = (place.space, object_, version is None, epoch, self.arms_passed, around, hoisted)
        settled = frozenset[LoopLevel]() if version is None else varying((version,))
        requests = _instructions(place)
        is_store = version is None
        one = RowPart(value, pointer, size, requests, settled, self.arm_depth, is_store, aligned)
        if root is None if is_shared else aligned <= size:
            if place.space is MemorySpace.GLOBAL and not is_store and not place.is_assembly:
                left = next((loop for loop in reversed(self.stack) if not loop.is_unrolled), None)
                self.taps.setdefault(((*key[:5], left, hoisted), size), []).append(one)
            return
        self.rows.setdefault(key, []).append(one)

    def reached(self, contents: Value, member: _Member) -> Value:
        """The contents of memory up to which a load of `member` may go back: past stores to other members."""
        while (stored := self.beside.get(contents)) is not None and member.is_beside(stored[1]):
            contents = stored[0]
        return contents

    def settle_stores(self, space: MemorySpace, part: Part, member: _Member | None) -> None:
        """A load: stores before to what it may touch are made before it."""
        self.read_in.setdefault(space, set()).update(self.stack)
        for stored, other in self.pending.get(space, ()):
            is_apart = stored is not part and stored is not None and part is not None
            if not is_apart and (member is None or not member.is_beside(other)):
                self.new_epoch(space)
                return

    def new_epoch(self, space: MemorySpace) -> None:
        """Something reads `space`: stores before are made before it."""
        self.epoch[space] += 1
        self.pending.pop(space, None)
        self.read_in.setdefault(space, set()).update(self.stack)

    def join_rows(self) -> None:
        """Let neighbours in memory share instructions, once all are known."""
        for (space, _, is_store, *_), every in self.rows.items():
            parts = [part for part in every if part.value not in self.spared]
            if is_store:
                settled = frozenset(self.read_in.get(space, ()))
                parts = [replace(part, settled=settled) for part in parts]
            join(parts, self.known.starts, 8 if space is MemorySpace.CONSTANT else 16)
        for parts in self.taps.values():
            share_taps(parts, self.known.starts)

    def volatile(self, place: MemoryPlace, address: Value, region: int, type_: Type) -> Value:
        """A read that is made each time, whether or not anybody needs what it yields."""
        kind = _LOAD.get(place.space, K.LDG)
        number = float(type_.requests)
        self.root(region, ((kind, number),), (address,))
        value = self.roots[-1]
        value.access = MemoryRequest(place.site, False, number, address=address.form.terms)
        value.bits, value.is_pointer = type_.bits or 64, type_.kind is TypeKind.POINTER
        return value

    def note(self, place: MemoryPlace, pointer: Value, value: Value | None, *, is_store: bool) -> None:
        """An access in the loops around, made by `value`; None: one that has to stay where it is."""
        if not self.stack or self.is_machine_code:
            return
        terms, offset, copies = linear(pointer)
        root = place.root if place.space is not MemorySpace.GLOBAL or not terms else None
        name = AccessName(root, frozenset(terms), copies)
        varies = frozenset[LoopLevel]()
        if is_store:
            moved = varying(
                term for term, _ in terms
            )  # an inner loop leads to several places in each around it
            varies = varying(copy for copy, _ in copies).union(*(chain(level) for level in moved))
        part = self.part_of(place.space, place.root, pointer)
        size = place.type.size_bytes
        found = Access(place.space, part, name, offset, size, is_store, value, varies, self.arm_depth)
        self.accesses.append(found)

    def note_effect(self, stores: Iterable[tuple[MemorySpace, Part]]) -> None:
        """Others may read or write these parts of memory here."""
        for space, part in stores:
            self.accesses.append(Access(space, part, None, 0, 0, True, None, frozenset(), self.arm_depth))

    def forward_in_copies(self, level: LoopLevel, group: float) -> None:
        """Leave out the loads of what a copy of the loop before, in `group`s of them, has in a register."""
        for value, share in shares_loaded(self.accesses, level, group).items():
            self.spared.add(value)
            value.cost = tuple((kind, number * share) for kind, number in value.cost)
            if value.access is not None:
                value.access = replace(value.access, number=value.access.number * share)

    def keep_in_registers(self, level: LoopLevel, *, stores_stay: bool) -> None:
        """`s[i] += x` in a loop over something else: loaded before it and stored behind it.

        As far as nothing else in the loop may store, or load, the same place (seen in the SASS of nvcc 13).
        `stores_stay`: they are made in each round of the loop, once for all of its copies.
        """
        before = Placement(level.entry_region, level.parent, self.stack[:-1])
        kept = {
            one.place: None
            for one in self.accesses
            if one.is_store
            and one.value is not None
            and one.arm_depth == level.arm_depth
            and level not in one.varies
        }
        for place in kept:
            group = [one for one in self.accesses if one.place == place]
            others = [one for one in self.accesses if one.place != place and one.may_overlap(group[0])]
            if any(one.is_store for one in others) or any(one.value is None for one in group):
                continue
            if stores_stay:
                for one in group:
                    if one.value is not None:
                        one.value.place = replace(one.value.place, scale=1.0 / level.unroll)
                staying = [replace(one, value=None) if one in group else one for one in self.accesses]
                self.accesses = staying
                continue
            loads = [one.value for one in group if not one.is_store and one.value is not None]
            stores = [one.value for one in group if one.is_store and one.value is not None]
            rest = [replace(one, arm_depth=level.arm_depth) for one in group if one.value is stores[-1]]
            if loads:
                (*_, address), last = loads[0].inputs, stores[-1].inputs[-1]
                first = Value(Shape.PLAIN, before, loads[0].cost, [address], span=loads[0].span)
                first.birth, first.access = address.birth, loads[0].access
                for value in dict.fromkeys(loads):
                    value.cost, value.access = (), None
                    value.inputs += [first, last]
                rest.append(replace(rest[0], is_store=False, value=first))
            if not others:
                for value in stores[:-1]:
                    value.cost, value.access = (), None
                stores[-1].place = before
                self.accesses = [one for one in self.accesses if one.place != place] + rest

    def store(self, place: MemoryPlace, pointer: Value, value: Value, region: int) -> None:
        """A write to memory; a read of the same object right after yields `value`."""
        address, name = self.address(place, pointer, region)
        if place.space is MemorySpace.LOCAL and place.root is not None and not place.is_volatile:
            fixed = not address.form.terms
            cost = () if fixed else ((K.STL, 1.0),)
            self.note_element(place.root, pointer)
            inputs = [self.whole(place.root), address, value]
            here = Placement(region, self.stack[-1] if self.stack else None, self.stack)
            if self.predicated is not None and fixed and is_there(value, self.predicated.began):
                cost, here = self.selection(place.type), replace(here, region=self.predicated.region)
            self._set(place.root, stored := Value(Shape.PLAIN, here, cost, inputs, span=self.here))
            self.note(place, pointer, None if fixed else stored, is_store=True)
            stored.local = place.site, float(place.type.requests)
            self.local_stores[stored] = name if fixed else None
            if fixed:
                self.fixed_stores.append((place.root, stored, _wide(place, pointer, address)))
            else:
                self.indexed.setdefault(place.root, []).append(stored)
            return
        if place.root in self.unread:
            return
        if _is_register(place):
            self.root(region, (), (address, value))
            self.clobber(((place.space, None),), False, None)
            return
        number = float(place.type.requests)
        part = self.part_of(place.space, place.root, pointer)
        stored, (old, members) = value, self.known.changed.get(value, (value, ()))
        key = ("load", name, self.version(place.space, part), place.type.bits, place.type.lanes)
        if members and self.available.get(key) is old and not place.is_volatile:  # a record put back
            sizes = (max(1, member.bits // 8) for member in members)
            fewer = sum(-(-size // place.type.request_bytes) for size in sizes)
            number, stored = min(number, float(fewer)), self.plain("members", region, tuple(members), ())
        cost = ((_STORE.get(place.space, K.STG), _of_tile(place) or number),)
        self.root(region, cost, (address, stored))
        terms = (*address.form.terms, *linear(pointer)[2])
        span = None if place.is_volatile else self.span_of(pointer, place.type.size_bytes)
        self.roots[-1].access = MemoryRequest(
            place.site, True, number, terms, place.type.request_bytes, (place.space, part), span=span
        )
        self.note(place, pointer, None if place.is_volatile else self.roots[-1], is_store=True)
        has_rows = place.space in (MemorySpace.SHARED, MemorySpace.GLOBAL) and not place.is_volatile
        if has_rows and stored is value:
            self.note_row(place, self.roots[-1], pointer, region, None)
        before = self.version(place.space, part)
        kept = self.untouched(before, name, place.type.size_bytes)
        self.clobber(((place.space, part),), False, None)
        version = self.version(place.space, part)
        if (member := _record_of(place.address)[1]) is not None and not place.is_volatile:
            self.beside[version] = before, member
        # a load of the same object right after needs no memory
        kept.append((_Held(name, (place.type.bits, place.type.lanes), place.type.size_bytes), value))
        for held, known in kept:
            self.hide(("load", held.name, version, *held.kind), known)
        self.held[version] = [held for held, _ in kept]

    def untouched(self, version: Value, name: tuple[object, ...], size: int) -> list[tuple[_Held, Value]]:
        """What is known of memory at constant distances from where `size` bytes are stored now."""
        found: list[tuple[_Held, Value]] = []
        for held in self.held.get(version, ())[-MOST_HELD:]:
            known = self.available.get(("load", held.name, version, *held.kind))
            if known is not None and _is_apart(held, name, size):
                found.append((held, known))
        return found

    def access_indexed(self) -> None:
        """Accesses at constant indices are made where others index the array by what is not known.

        All stores; and the loads of what such a store of others may have changed since it was last known.
        Where a few of them index a small array it stays in registers, one of which each selects.
        """
        for array in [one for one in self.indexed if _is_selected(one, self.indexed[one])]:
            elements = array.type.size_bytes / WORD_BYTES
            for value in self.indexed.pop(array):
                value.cost, value.local = ((K.ISETP, elements), (K.MOV, elements)), None
        for array, stored, number in self.fixed_stores:
            if array in self.indexed:
                stored.cost = ((K.STL, number),)
        for array, loaded, name, number in self.fixed_loads:
            if array in self.indexed and self.may_have_changed(loaded.inputs[0], name):
                loaded.cost = ((K.LDL, number),)

    def may_have_changed(self, contents: Value, name: object) -> bool:
        """Whether a store to an unknown place lies between a read of `contents` and the stores to `name`."""
        stack, seen = [contents], set[Value]()
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            if value not in self.local_stores:
                stack += value.inputs  # the array as a loop or a branch leaves it
            elif self.local_stores[value] is None:
                return True
            elif self.local_stores[value] != name:
                stack.append(value.inputs[0])
        return False

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


def _record_of(address: Expr) -> tuple[Type | None, _Member | None]:
    """The record that an access at `address` is in, and the member, where it is one at a known offset."""
    offset: int | None = 0
    while isinstance(address, PointerOffset):
        offset = None if offset is None or address.index is not None else offset + address.offset_bytes
        address = address.pointer
        element = address.type.element
        if element is not None and element.members:
            return element, None if offset is None else _Member(element, offset)
    return None, None


def _instructions(place: MemoryPlace) -> float:
    """Instructions of one access."""
    return _of_tile(place) or float(place.type.requests)


def _of_tile(place: MemoryPlace) -> float | None:
    """Instructions that move a lane's share of a matrix tile, a few elements at a time, as tensor cores hold
    them; LDSM takes all of a tile of 16-bit elements in shared memory. None for other accesses.
    """
    address = place.address
    index = address.index if isinstance(address, PointerOffset) else None
    if not isinstance(index, Intrinsic) or index.name != LANE or not index.detail:
        return None
    is_matrix = place.space is MemorySpace.SHARED and place.type.bits < 32
    return float(place.type.requests) if is_matrix else max(1.0, place.type.lanes / int(index.detail))


def _is_register(place: MemoryPlace) -> bool:
    """One of several registers, chosen by a reference: the compiler knows which, or selects values."""
    return place.space is MemorySpace.LOCAL and place.root is None


def _is_selected(array: Variable, accesses: list[Value]) -> bool:
    """Whether an array of words stays in registers although what only the kernel knows indexes it.

    As far as no loop is around (SASS of nvcc 13: some in loops and of three accesses are selected, too).
    """
    element = array.type
    while element.kind is TypeKind.ARRAY and element.element is not None:
        element = element.element
    around = [level for value in accesses for level in chain(value.place.level)]
    if (
        element.size_bytes != WORD_BYTES
        or element.lanes > 1
        or not all(level.is_unrolled for level in around)
    ):
        return False
    if not all(value.cost for value in accesses):
        return False  # kept in a register around a loop
    number = sum(math.prod(level.copies for level in chain(value.place.level)) for value in accesses)
    elements = array.type.size_bytes / WORD_BYTES
    return number * elements <= MOST_SELECTED or (number <= 2 and elements <= MOST_ELEMENTS)


def _wide(place: MemoryPlace, pointer: Value, address: Value) -> float:
    """Instructions of an access to an array of the thread, its neighbours in unrolled copies beside it."""
    return place.type.requests / _merged(address, linear(pointer)[2], place.type.size_bytes)


def _merged(address: Value, copies: Terms, size_bytes: int) -> float:
    """How many neighbouring loads of an unrolled loop become one LDS.128 (the address must stay aligned)."""
    steps_by_one = len(copies) == 1 and copies[0][1] == size_bytes
    aligned = all(coefficient % 16 == 0 for _, coefficient in address.form.terms)
    return 16.0 / size_bytes if steps_by_one and aligned and size_bytes in (4, 8) else 1.0
