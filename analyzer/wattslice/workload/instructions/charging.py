"""What the values a kernel needs cost in instructions.

Charging comes last, when all uses are known, so that a product used only by sums can become part of fused
multiply-adds. Dead code costs nothing. LOP3 computes any function of three inputs (`within_lop3`); the copies
of an unrolled loop test one bit each, and R2P spreads the bits of a byte over predicates (`group_bit_tests`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from wattslice.ir import MemorySpace, Span
from wattslice.workload.instructions.kinds import Cost, InstructionKind, Isa, converted
from wattslice.workload.instructions.operands import three_register_sums
from wattslice.workload.instructions.operators import TRUTH_BITS
from wattslice.workload.instructions.sectors import new_share
from wattslice.workload.instructions.value_graph import (
    Hoisting,
    LinearForm,
    LoopLevel,
    MemoryRequest,
    Placement,
    Shape,
    Terms,
    Value,
    chain,
    counter_in,
    deepest,
    linear,
    placed,
    strides,
    varying,
)

PARTIAL_COPIES = 4.0
"""Copies of a loop up to which pointers that are read under predicates are copied in each round."""


class Charge(Struct, frozen=True):
    """`number` instructions of `kind` for each run of `region`, for the text at `span` (None: the head).

    `product`: of a multiply-add whose sum is at `span`.
    """

    kind: InstructionKind
    region: int
    number: float
    span: Span | None = None
    product: Span | None = None


class Pass(Struct, frozen=True):
    """A loop around an access (the regions of its entries and its iterations); `stride`: by how many bytes an
    iteration moves it, None where that is not known.
    """

    entry_region: int
    body_region: int
    stride: float | None


class Request(Struct, frozen=True):
    """`number` requests of the access at `site` of the source for each run of `region`; `joined` as in
    `MemoryRequest`. `fresh`: share of their sectors that nothing beside them touched before (`sectors.py`).
    `passes`: the loops around it, outermost first.
    """

    site: int
    is_store: bool
    region: int
    number: float
    fresh: float
    passes: tuple[Pass, ...]
    joined: float = 1.0


class Charges(Struct, frozen=True):
    """Instructions, and which accesses to memory are among them.

    `needed`: the values that instructions compute, or that stand for others. `pointers`: addresses that
    advance with a loop. `three_registers`: regions, each with FFMA that read three registers (`operands.py`).
    """

    instructions: list[Charge]
    requests: list[Request]
    needed: list[Value]
    pointers: dict[Value, LoopLevel]
    three_registers: list[tuple[int, float]]


def charges(roots: list[Value], isa: Isa) -> Charges:
    """What the values needed by `roots` cost on `isa`, each once."""
    return _Charger(roots, isa).run()


class _Charger:
    def __init__(self, roots: list[Value], isa: Isa) -> None:
        self.roots = roots
        self.isa = isa
        self.found: list[Charge] = []
        self.requests: list[Request] = []
        self.neighbours: dict[object, list[tuple[int, MemoryRequest]]] = {}  # at constant distances
        self.sums: dict[object, Value] = {}
        self.part_of_sum: dict[Value, int] = {}
        self.wide: list[Value] = []
        self.there: list[Value] = []
        self.order: list[Value] = []
        self.fusing_uses: dict[Value, int] = {}
        self.other_uses: dict[Value, int] = {}
        self.seen: set[Value] = set()
        self.members: dict[Value, list[Value]] = {}  # of a record that somebody needs
        self.pointers: dict[Value, LoopLevel] = {}
        self.products: dict[Value, Value] = {}  # of a fused multiply-add
        self.scaling: set[tuple[LoopLevel | None, int]] = set()  # loops with an element size in a register
        self.shares: dict[Value, float] = {}  # of the copies of an address, those that something accesses
        self.beyond: dict[Value, float] = {}  # addresses: the share of accesses that lie behind them
        self.of_atomics: set[Value] = set()  # addresses
        self.moved: set[tuple[LoopLevel, frozenset[tuple[Value, int]]]] = set()  # indices that copies step
        self.copying: set[LoopLevel] = set()  # loops that copy a pointer in each round
        self.takes_along: set[Value] = set()  # linear forms whose cost has the products in them already
        self.stepped: dict[
            tuple[LoopLevel, Terms], list[Value]
        ] = {}  # pointers with one index from the start
        self.extended: set[frozenset[tuple[Value, int]]] = set()  # indices that are there in 64 bits
        self.running: dict[
            Value, float
        ] = {}  # sums of a loop that its copies add up together: how many copies

    def run(self) -> Charges:
        """Sums first, short ones before those that contain them; then all that is needed, with its uses."""
        forms = self.linear_forms()
        for value in sorted(forms, key=_by_length):
            self.expand(value)
        self.step_bases()
        stack = list(self.roots)
        while stack:
            value = stack.pop()
            if value in self.seen or value.shape is Shape.CONSTANT:
                continue
            self.seen.add(value)
            self.order.append(value)
            if value.shape not in (Shape.INT_SUM, Shape.ADDRESS) and self.isa is Isa.XMAD:
                value.cost = _in_parts(value.cost, self.isa.multiplies_per_product)
            value.cost = converted(value.cost, self.isa)
            fuses = _FUSES.get(value.shape, ())
            for needed in value.inputs:
                uses = self.fusing_uses if needed.shape in fuses else self.other_uses
                uses[needed] = uses.get(needed, 0) + 1
                if value.member:
                    self.members.setdefault(needed, []).append(value)
                stack.append(needed)
        for value in self.order:
            if value.form.is_unsigned and value.shape is Shape.PLAIN and self.other_uses.get(value) == 1:
                value.cost = ()  # the one address that needs it is computed by LEA and LEA.HI
            if self.isa is not Isa.XMAD and value.beside in self.other_uses:
                value.cost = ()  # IMAD.WIDE has both words of a product
        self.join_truths()
        for value in self.members.keys() - set(self.roots):
            self.leave_out_members(value)
        absorbed = within_lop3(self.order, self.other_uses, self.isa) | group_bit_tests(
            self.order, self.other_uses
        )
        for value in self.order:
            self.fuse(value, absorbed)
        for value in self.order:
            if value not in absorbed:
                region, scale = value.place.region, value.place.scale
                product = self.products.get(value)
                product_span = None if product is None else product.span
                for kind, number in value.cost:
                    self.found.append(Charge(kind, region, number * scale, value.span, product_span))
                if (
                    value.local is not None
                    and value.cost
                    and value.cost[0][0] in (InstructionKind.LDL, InstructionKind.STL)
                ):
                    site, number = value.local
                    is_store = value.cost[0][0] is InstructionKind.STL
                    self.requests.append(Request(site, is_store, region, number * scale, 1.0, ()))
                if value.access is not None:
                    asked = value.access
                    moved = strides(asked.address)
                    depth = 0 if value.place.level is None else value.place.level.depth
                    passes = tuple(
                        Pass(loop.entry_region, loop.body_region, moved.get(loop, 0.0))
                        for loop in value.place.stack[:depth]
                    )
                    number = asked.number * scale
                    if asked.span is not None and number:
                        key = (*asked.span.row, value.place.level, scale, asked.is_store)
                        self.neighbours.setdefault(key, []).append((len(self.requests), asked))
                    self.requests.append(
                        Request(asked.site, asked.is_store, region, number, 1.0, passes, asked.joined)
                    )
        for together in self.neighbours.values():
            fresh = new_share([asked for _, asked in together])
            for place, _ in together:
                self.requests[place] = replace(self.requests[place], fresh=fresh)
        if self.isa is Isa.LDC:
            self.load_given()
            self.find_shared()
        for value in absorbed:
            value.cost = ()  # part of what takes it in
        three_registers = list(three_register_sums(self.order, self.products))
        return Charges(self.found, self.requests, self.order, self.pointers, three_registers)

    def join_truths(self) -> None:
        """`a && b` is one of the two comparisons, that takes the other truth along: where none is made for
        this alone, and in the same loop, the last is made again.
        """
        again: dict[Value, int] = {}
        for both in self.order:
            if both.shape is not Shape.BOTH:
                continue
            loops, made = varying((both,)), [one for one in both.inputs if one.shape is not Shape.BOTH]
            if any(
                one.shape is Shape.CONSTANT
                or (one.cost and self.other_uses[one] == 1 and varying((one,)) == loops)
                for one in made
            ):
                continue
            both.cost = ((InstructionKind.ISETP, 1.0),)
            for one in made[-1:]:
                again[one] = again.get(one, 0) + 1
        for one, times in again.items():
            if times == self.other_uses[one] and {kind for kind, _ in one.cost} <= _COMPARISONS:
                one.cost = ()

    def load_given(self) -> None:
        """What lies in constant memory is loaded once, in front of what needs it first, outside of loops.

        Words of an array are loaded two at a time.
        """
        first: dict[Value, tuple[int, float, Span | None]] = {}
        for value in self.order:
            for needed in value.inputs:
                if needed.is_given and not value.is_given:
                    user = value if needed.access is None else needed  # a load has a place of its own
                    there = placed(varying((needed,)), user.place.stack, user.place.region)
                    found = there.region, needed.place.scale, value.span
                    first[needed] = min(first.get(needed, found), found, key=lambda one: one[0])
        words: dict[object, float] = {}
        for needed, (_, number, _) in first.items():
            if needed.access is not None:
                number *= math.prod(level.copies for level in chain(needed.place.level))
                words[needed.access.reach] = words.get(needed.access.reach, 0.0) + number
        for needed, (region, number, span) in first.items():
            if needed.access is not None and words[needed.access.reach] > 1.0:
                number *= min(1.0, needed.bits / 64)
            self.found.append(Charge(InstructionKind.MOV, region, number, span))

    def find_shared(self) -> None:
        """Shared memory of a block lies somewhere in that of its cluster: S2UR, UMOV, ULEA once, in front of
        the first access; UIADD3 and ULEA for each further object.
        """
        objects: dict[object, tuple[int, Span | None]] = {}
        for value in self.order:
            reach = None if value.access is None else value.access.reach
            if reach is not None and reach[0] is MemorySpace.SHARED:
                there = placed(frozenset(), value.place.stack, value.place.region).region, value.span
                objects[reach[1]] = min(objects.get(reach[1], there), there, key=lambda one: one[0])
        for number, (region, span) in enumerate(sorted(objects.values(), key=lambda one: one[0])):
            self.found.append(Charge(InstructionKind.IADD, region, 2.0 if number else 1.0, span))
            if not number:
                self.found.append(Charge(InstructionKind.MOV, region, 2.0, span))

    def leave_out_members(self, value: Value) -> None:
        """A record loaded for some of its members alone is loaded by no more accesses than there are."""
        if value.access is None or not value.cost or self.other_uses.get(value) != len(self.members[value]):
            return
        ((kind, number),) = value.cost
        bytes_ = {part.member: part.bits // 8 for part in self.members[value]}
        accesses = sum(max(1, -(-size // value.access.size_bytes)) for size in bytes_.values())
        if accesses < number:
            value.cost = ((kind, float(accesses)),)
            value.access = replace(value.access, number=value.access.number * accesses / number)

    def linear_forms(self) -> list[Value]:
        """All integer sums and addresses that something needs; notes those that run through a loop."""
        found: list[Value] = []
        stack, seen = list(self.roots), set[Value]()
        users: dict[Value, list[Value]] = {}
        while stack:
            value = stack.pop()
            if value in seen:
                continue
            seen.add(value)
            needs = list(value.inputs)
            if value.is_extended:
                self.extended.add(frozenset(linear(value)[0]))
            if value.shape in (Shape.INT_SUM, Shape.ADDRESS):
                found.append(value)
                needs += [term for term, _ in value.form.terms]
            for needed in needs:
                users.setdefault(needed, []).append(value)
            stack += needs
        self.note_copies(found, users)
        for value, needing in users.items():
            if value.shape is Shape.ADDRESS and any(_is_atomic(user) for user in needing):
                self.of_atomics.add(value)
            if value.shape is Shape.ADDRESS and all(user.access is not None for user in needing):
                self.shares[value] = max(min(1.0, _number(user.cost)) for user in needing)
                self.beyond[value] = _share_behind(needing)
        return found

    def note_copies(self, sums: list[Value], users: Mapping[Value, list[Value]]) -> None:
        """What the copies of a loop do with its sums and counters; `users`: of each value, what needs it.

        `c += a < b` is one instruction more for each copy, and a predicated MOV: a SEL makes a number of what
        is true where another value needs it, too.
        """
        alone = {
            truth
            for truth, (user, *others) in users.items()
            if truth.bits == TRUTH_BITS and truth.cost and not others and user.shape is Shape.INT_SUM
        }
        for truth in alone:
            truth.cost = ((InstructionKind.MOV, 1.0),)
        for value in sums:
            for head, coefficient in value.form.terms:
                level = head.place.level
                if coefficient != 1 or value not in head.inputs or level is None or level.copies <= 1.0:
                    continue
                if any(term in alone and level in varying((term,)) for term, _ in value.form.terms):
                    continue
                others = {*users[head], *users[value]} - {head, value}
                if not any(level in user.place.stack for user in others):
                    self.running[value] = level.copies
        roots = set(self.roots)
        for head, needing in users.items():
            level = head.place.level
            if head.step is None or not head.guards or level is None:
                continue
            if level.unroll == 1.0 or level.copies_leave:  # or each copy leaves at a number of its own
                continue
            uses = (u for u in needing if level in u.place.stack and u.place.scale >= 1.0)
            if any((u.cost and not u.guards) or u in roots for u in uses if u.shape not in _SUMS):
                head.cost = ((InstructionKind.IADD, 1.0),)  # each copy needs the counter as it is there

    def fuse(self, value: Value, absorbed: set[Value]) -> None:
        """Let `value` take in a product that only values like it use."""
        fuses, is_float = _FUSES.get(value.shape, ()), value.shape is Shape.FLOAT_SUM
        if not is_float and value not in self.takes_along:
            return
        for needed in value.inputs:
            if needed.shape not in fuses or needed in self.other_uses or value.inputs.count(needed) > 1:
                continue
            if not is_float and not is_taken_along(needed, value, self.isa):
                continue
            if needed.shape is Shape.SHIFT and dict(value.form.terms).get(needed) != 1:
                continue  # multiplied, it is no part of an LEA.HI
            absorbed.add(needed)
            if is_float:  # one FMA takes one product; a sum counted all of its IMADs
                value.cost = tuple((_FUSED[kind], number) for kind, number in value.cost)
                self.products[value] = needed
                return

    def expand(self, value: Value) -> None:
        """Give a linear form its inputs and cost; what the inner loop does not change is summed outside."""
        form, stack = value.form, value.place.stack
        terms = form.terms
        inner = deepest((term for term, _ in terms), stack)
        moving = tuple((t, c) for t, c in terms if deepest((t,), stack) is inner)
        resting = tuple(pair for pair in terms if pair not in moving)
        stride = _stride(moving, inner) if value.shape is Shape.ADDRESS and inner is not None else None
        # an index in two parts is summed anew in each iteration where the part that moves may wrap
        # so is where a matrix tile begins, but what a variable points at moves
        is_anew = form.is_anew and inner is not None and inner.unroll > 1.0
        is_anew &= not any(term.is_pointer for term, _ in moving)
        if inner is not None and stride is not None and not (is_anew or (inner.wraps and form.is_wide)):
            self.strength_reduce(value, moving, resting, inner, stride)
            return
        if value.shape is Shape.ADDRESS and value.bits == 64:
            if not (self.copied_on(value, terms) or self.neighbour(value, terms)):
                self.address(value, terms)
            return
        if value.shape is Shape.INT_SUM and not form.offset and not form.copies:
            same = self.sums.setdefault(("index", frozenset(terms), value.bits), value)
            if same is not value:  # an address was computed from it already
                here, there = value.place, same.place
                region, scale = min((there.region, there.scale), (here.region, here.scale))
                same.place = replace(there, region=region, scale=scale)
                value.inputs, value.cost = [same], ()
                return
        if value.shape is Shape.INT_SUM and inner is not None and inner.copies == 1.0:
            factors = [f for t, c in resting if c == 1 and t.shape is Shape.INT_PRODUCT for f in t.inputs]
            if len(resting) == 1 and factors and all(factor.is_given for factor in factors):
                # `i += gridDim.x * blockDim.x`: multiplied anew, from constant memory, rather than kept
                value.inputs = [*(term for term, _ in moving), *factors]
                value.cost = ((InstructionKind.IMAD, 1.0), (InstructionKind.MOV, 1.0))
                if value.bits == 64:
                    value.cost = ((InstructionKind.IMAD, 1.0), (InstructionKind.IADD, 2.0))
                return
        costs = any(abs(c) != 1 or t.shape is Shape.INT_PRODUCT for t, c in resting)
        if len(resting) > 1 or costs:
            place = placed(varying(t for t, _ in resting), stack, value.place.region)
            if place.outside is None:
                place = replace(place, scale=value.place.scale)
            terms = (*moving, (self.part(resting, value, stack, place), 1))
        elif form.copies and value.shape is Shape.INT_SUM and _number(sum_cost(terms, value, self.isa)) > 1.0:
            place = placed(varying(t for t, _ in terms), stack, value.place.region)
            if place.outside is not None:  # once for all copies, each of which adds its constant
                terms = ((self.part(terms, value, stack, place), 1),)
        if value.shape is Shape.INT_SUM:
            terms = self.contracted(value, terms)
        elif value.bits == 32 and not form.is_scaled:
            terms = _in_units(terms, self.isa)
        value.inputs = [term for term, _ in terms]
        value.cost = sum_cost(terms, value, self.isa, self.running.get(value, 1.0))
        if value.cost and any(is_taken_along(term, value, self.isa) for term, _ in terms):
            self.takes_along.add(value)  # the IMAD counted here is the product itself

    def contracted(self, value: Value, terms: Terms) -> Terms:
        """`terms` with the largest sum in them that is there already, as it is or scaled, in its place."""
        wanted = dict(terms)
        best: tuple[Value, int] | None = None
        for have in self.there:
            inside = have.form.terms
            if have is value or len(inside) < 2 or (best and len(inside) <= len(best[0].form.terms)):
                continue
            first, coefficient = inside[0]
            factor, rest = divmod(wanted.get(first, 0), coefficient)
            if not factor or rest or have.bits > value.bits or not _reaches(have, value):
                continue
            is_less = len(terms) > len(inside) or (value.form.offset and factor == 1)
            if is_less and all(wanted.get(term) == factor * c for term, c in inside):
                best = have, factor
        if value.form.terms == terms and not value.form.offset and not value.form.copies:
            self.there.append(value)
        if best is None:
            return terms
        taken = {term for term, _ in best[0].form.terms}
        return (best, *(pair for pair in terms if pair[0] not in taken))

    def address(self, value: Value, terms: Terms) -> None:
        """A 64-bit address: one index, shared by all arrays indexed alike, then IMAD.WIDE (or two LEA)."""
        scale, is_wide = max(1, value.form.unit), value.form.is_wide
        bases = [term for term, _ in terms if term.is_pointer]
        index = tuple((t, c // scale if c % scale == 0 else c) for t, c in terms if not t.is_pointer)
        value.inputs = list(bases)
        if not index:
            is_moved = self.isa is not Isa.LDC and all(base.place.level is None for base in bases)
            value.cost = ((InstructionKind.MOV, 2.0),) if is_moved else ()
            return
        indices = self.index(value, index, 64 if is_wide else 32)
        levels = [term.place.level for term, _ in index]  # copies step from pointer to pointer
        steps = is_wide and any(level is not None and level.unroll > 1.0 for level in levels)
        is_there = frozenset(index) in self.extended
        is_long = not steps and (any(t.bits == 64 and t.shape not in _SUMS for t, _ in index) or is_there)
        is_long = is_long and scale > 1
        if is_long or (self.isa is Isa.XMAD and not is_wide):
            is_lea = is_long or value.form.is_unsigned
            indices = [self.scaled_index(value, indices[0], scale, is_lea=is_lea)]
        value.inputs.extend(indices)
        adds = is_wide or (is_long and is_there) or self.isa is Isa.XMAD or scale == 1
        value.cost = ((InstructionKind.IADD, 2.0),) if adds else ((InstructionKind.IMAD, 1.0),)
        if _differs_in_copies(index):
            value.cost += ((InstructionKind.IADD, 1.0),)
        if steps and self.isa is not Isa.XMAD and (copies := _stepping_copies(index)) > 1.0:
            # one of them in full, each other one stride on from the pointer before
            rest = 1.0 - 1.0 / copies
            value.cost = ((InstructionKind.IADD, 2.0 / copies), (InstructionKind.IMAD, rest))
            if any(term.step is not None and term.bits == 64 for term, _ in index):
                value.cost = ((InstructionKind.IADD, 2.0),)  # a stride of 64 bits is no operand of IMAD.WIDE
            if indices[0] is self.sums.get(("index", frozenset(index), 64)):
                indices[0].cost = tuple((kind, number / copies) for kind, number in indices[0].cost)
        if not adds and scale > 1 and all(base.place.level is None for base in bases):
            value.cost += self.scale_register(value, scale)

    def scale_register(self, value: Value, scale: int) -> Cost:
        """IMAD.WIDE has one operand in constant memory, the base: the element size is moved to a register.

        Anew in every round of a loop (SASS of nvcc 13), for all addresses in it. Not where bases are loaded.
        """
        if self.isa is Isa.LDC:
            return ()
        level, copies = value.place.level, value.place.scale
        while level is not None and level.is_unrolled:
            level, copies = level.parent, copies * level.copies
        if (level, scale) in self.scaling:
            return ()
        self.scaling.add((level, scale))
        return ((InstructionKind.MOV, 1.0 / (copies * (1.0 if level is None else level.unroll))),)

    def copied_on(self, value: Value, terms: Terms) -> bool:
        """`p[i * pitch]` in the copies of an unrolled loop: each is one stride on from the address before."""
        products = [term for term, _ in terms if _is_multiple_of_copy(term)]
        if len(products) != 1:
            return False
        (product,) = products
        resting = tuple(pair for pair in terms if pair[0] is not product)
        stack = value.place.stack
        place = placed(varying(term for term, _ in resting), stack, value.place.region)
        if place.outside is None:
            place = replace(place, scale=value.place.scale)
        start = resting[0][0] if len(resting) == 1 else self.part(resting, value, stack, place)
        strides = [factor for factor in product.inputs if factor.shape is not Shape.CONSTANT]
        value.inputs = [start, *strides]
        is_added = self.isa is Isa.XMAD or dict(terms)[product] == 1  # an index of bytes is not scaled
        value.cost = ((InstructionKind.IADD, 2.0),) if is_added else ((InstructionKind.IMAD, 1.0),)
        return True

    def neighbour(self, value: Value, terms: Terms) -> bool:
        """An address at a distance from one that is there: `p[i]`, then `p[i + stride]`, in 64 bits."""
        if not value.form.is_wide:
            return False
        wanted = frozenset(terms)
        found = [have for have in self.wide if frozenset(have.form.terms) < wanted and _reaches(have, value)]
        self.wide.append(value)
        nearest = max(found, key=lambda have: len(have.form.terms), default=None)
        if nearest is None or not any(term.is_pointer for term, _ in nearest.form.terms):
            return False
        beyond = [pair for pair in terms if pair not in nearest.form.terms]
        if len(beyond) > 1:
            return False
        distance, scale = beyond[0]
        shifts, is_lea = self.isa is Isa.XMAD and abs(scale) > 1, value.form.is_unsigned
        if shifts:
            distance = self.scaled_index(value, distance, scale, is_lea=is_lea)
        value.inputs = [nearest, distance]
        value.cost = ((InstructionKind.IADD, 2.0),)
        return True

    def index(self, value: Value, index: Terms, width: int) -> list[Value]:
        """The sum of an index, shared by all addresses with the same one; a single value is its own sum. What
        may wrap is added to it in 32 bits: a number that the first of them adds is a part of the sum.
        """
        found = [term for term, _ in index]
        offset, copies = value.form.added
        if len(index) > 1 or any(c != 1 for _, c in index):
            key = ("index", frozenset(index), width)
            if key not in self.sums:
                self.sums[key] = self.beside(value, Shape.INT_SUM, found)
                self.sums[key].form, self.sums[key].bits = LinearForm(index), width
                self.expand(self.sums[key])
                self.part_of_sum[self.sums[key]] = offset
            found = [self.sums[key]]
            offset -= self.part_of_sum.get(self.sums[key], 0) if value.form.is_unsigned else 0
        if not offset and not copies:
            return found
        key = ("added", *found, offset, copies)
        if key not in self.sums:
            self.sums[key] = self.beside(value, Shape.PLAIN, [*found, *(copy for copy, _ in copies)])
            self.sums[key].inputs, self.sums[key].cost = found, ((InstructionKind.IADD, 1.0),)
        return [self.sums[key]]

    def scaled_index(self, value: Value, index: Value, scale: int, *, is_lea: bool) -> Value:
        """An index times the element size in 64 bits, shared by all arrays indexed alike.

        `is_lea`: LEA and LEA.HI compute it along where only one address needs it.
        """
        key = ("scaled", index, scale)
        if key not in self.sums:
            self.sums[key] = self.beside(value, Shape.PLAIN, [index])
            self.sums[key].inputs, self.sums[key].cost = [index], ((InstructionKind.SHF, 2.0),)
            self.sums[key].form = LinearForm(is_unsigned=is_lea)
        return self.sums[key]

    def beside(self, value: Value, shape: Shape, operands: list[Value]) -> Value:
        """A computation on `operands` that `value` needs, hoisted as far as they allow."""
        stack = value.place.stack
        loops = varying(operands)
        there = placed(loops, stack, value.place.region)
        region, scale = there.region, there.scale
        if there.outside is None:
            scale = value.place.scale
        place = Placement(region, deepest(operands, stack), stack, scale, loops)
        return Value(shape, place, span=value.span)

    def strength_reduce(
        self, value: Value, moving: Terms, resting: Terms, loop: LoopLevel, stride: Value
    ) -> None:
        """The address becomes a pointer that advances once per round; it starts before the loop."""
        first = tuple((counter_in(initial) or initial, c) for t, c in moving for initial in t.inputs[:1])
        start = tuple((initial, c) for initial, c in first if initial.shape is not Shape.CONSTANT)
        outside = (*resting, *start)
        self.pointers[value] = loop
        before = value.place.stack[: loop.depth - 1]
        place = placed(varying(t for t, _ in outside), before, loop.entry_region)
        value.inputs = [self.part(outside, value, before, place)] if outside else []
        if stride.shape is Shape.CONSTANT and loop.rounds is not None and value.bits == 64:
            # by `warpSize`, which copies have in their immediates: an index makes the address in each round
            value.cost = ((InstructionKind.IMAD, loop.rounds_made), *self.scale_register(value, 1))
        elif stride.shape is Shape.CONSTANT:
            # the copies of an unrolled body share the pointer unless strides are known only at run time
            is_shared = loop.steps_pointers or value.bits != 64
            rounds = loop.rounds_made if is_shared else 1.0
            value.cost = ((InstructionKind.IADD, (2.0 if value.bits == 64 else 1.0) * rounds),)
            if value.form.is_guarded and value.place.level is loop and not loop.is_left:
                # whether or not anybody needs it; an arm that leaves the loop computes its own
                value.place = replace(value.place, region=loop.body_region)
            if value in self.of_atomics and loop.unroll > PARTIAL_COPIES and len(outside) > 1:
                # each four copies of an atomic have a pointer each, that starts at an index of its own
                others = PARTIAL_COPIES - 1.0
                value.cost = ((InstructionKind.IADD, 2.0 * PARTIAL_COPIES * rounds),)
                first = Value(Shape.PLAIN, Placement(place.region, scale=place.scale), span=value.span)
                first.cost = ((InstructionKind.IADD, others), (InstructionKind.IMAD, others))
                value.inputs.append(first)
            is_guarded = value.form.is_guarded and is_shared and value.bits == 64
            if is_guarded and 1.0 < loop.unroll <= PARTIAL_COPIES and loop not in self.copying:
                self.copying.add(loop)
                value.cost += ((InstructionKind.MOV, 2.0 * rounds),)  # to where predicates let it be read
            if loop.left_over and loop.trips:  # what is left over has an address computed anew
                anew = 1.0 / loop.trips
                value.cost += ((InstructionKind.IADD, anew), (InstructionKind.IMAD, anew))
            is_split = value.bits == 64 and not value.form.is_wide and self.isa is not Isa.XMAD
            if is_split and (is_shared or loop.unroll == 1.0) and not (is_guarded and loop.unroll > 1.0):
                index = tuple((t, c) for t, c in outside if not t.is_pointer)
                self.stepped.setdefault((loop, index), []).append(value)
        else:
            value.inputs.append(stride)
            # what is of 64 bits, or not scaled, is no IMAD.WIDE: IADD3, IADD3.X
            is_long = value.bits == 64 and (value.form.unit == 1 or any(t.bits == 64 for t, _ in moving))
            adds, share = is_long or self.isa is Isa.XMAD, self.shares.get(value, 1.0)
            steps = 2.0 if value.form.is_unsigned else 1.0  # an index that may wrap, widened each time
            kind, each = (InstructionKind.IADD, 2.0) if adds else (InstructionKind.IMAD, steps)
            value.cost = ((kind, each * share),)
            if not adds and loop.unroll > 1.0 and not loop.is_unrolled:
                # each copy takes what is added to an index out, and in again
                value.cost += ((InstructionKind.IADD, self.beyond.get(value, 0.0) * share),)
            index = (loop, frozenset(pair for pair in (*moving, *outside) if not pair[0].is_pointer))
            if loop.scales_counter and loop.unroll > 1.0 and not adds and index not in self.moved:
                self.moved.add(index)  # an index in 32 bits, from which each round makes an address
                value.cost += ((InstructionKind.IMAD, loop.rounds_made), *self.scale_register(value, 1))
            is_guarded = loop.may_load and value.form.is_guarded
            if is_guarded and loop.unroll > 1.0 and not adds:  # each copy has an index, scaled where it loads
                value.cost += ((InstructionKind.IADD, 1.0), (InstructionKind.MOV, 1.0))

    def step_bases(self) -> None:
        """Pointers of copies that start at indices: their bases advance, to each of which its index is added
        in every round; one that has its index to itself may be the sum. Where an index of 32 bits moves,
        it advances itself. A pointer that advances in every iteration is copied to where it is read.
        """
        move, add, widen = InstructionKind.MOV, InstructionKind.IADD, InstructionKind.IMAD
        of_loop: dict[LoopLevel, list[list[Value]]] = {}
        for (loop, index), pointers in self.stepped.items():
            if (index or loop.scales_counter or loop.unroll == 1.0) and not loop.copies_leave:
                of_loop.setdefault(loop, []).append(pointers)
        for loop, groups in of_loop.items():
            share = loop.rounds_made
            groups.sort(key=len)
            every = [value for group in groups for value in group]
            if loop.unroll == 1.0:
                for value in every:
                    value.cost += ((move, 1.0),)
            elif not loop.scales_counter:
                for value in every[len(groups[0]) == 1 :]:
                    value.cost += ((move, 2.0 * share), (widen, share))
            elif len(groups) == 1 and loop.unroll > PARTIAL_COPIES:
                each = 1.0 / PARTIAL_COPIES / len(every)
                for value in every:
                    value.cost = ((add, each), (widen, each))
            elif len(groups) == 1:
                each = share / len(every)
                for value in every:
                    value.cost = ((add, 2.0 * each), (move, each), (widen, share))

    def part(self, terms: Terms, whole: Value, stack: tuple[LoopLevel, ...], place: Hoisting) -> Value:
        """The sum of some terms of `whole`, computed in the loops `stack` at `place`."""
        key = (whole.shape, frozenset(terms))
        if key not in self.sums:
            level = deepest((term for term, _ in terms), stack)
            loops = varying(term for term, _ in terms) & frozenset(stack)
            inside = whole.place.stack[: level.depth if level else 0]
            self.sums[key] = Value(
                whole.shape,
                Placement(place.region, level, inside, place.scale, loops),
                bits=whole.bits,
                is_pointer=whole.shape is Shape.ADDRESS,
                form=LinearForm(terms, unit=whole.form.unit),
                span=whole.span,
            )
            self.expand(self.sums[key])
        return self.sums[key]


def _is_multiple_of_copy(term: Value) -> bool:
    """Whether a term is a number of which copies of a loop have each their own, times what all have."""
    if term.shape is not Shape.INT_PRODUCT or len(term.inputs) != 2:
        return False
    numbers = [one for one in term.inputs if one.shape is Shape.CONSTANT and one.number is None]
    others = [one for one in term.inputs if one.shape is not Shape.CONSTANT]
    return len(numbers) == 1 and not varying(numbers) & varying(others)


def _differs_in_copies(index: Terms) -> bool:
    """Whether copies of a loop add their own counters to what each computes anew: `a[c[i] * n + k]`."""
    for term, _ in index:
        level = term.place.level
        if level is not None and level.unroll > 1.0 and term.step is not None:
            return any(level in varying((other,)) for other, _ in index if other is not term)
    return False


def _stepping_copies(index: Terms) -> float:
    """Copies in an unrolled loop whose index is a stride apart that only the run tells; else 1."""
    moving = [term for term, _ in index if term.place.level is not None and term.place.level.unroll > 1.0]
    if len(moving) != 1 or moving[0].step is None or moving[0].step.shape is Shape.CONSTANT:
        return 1.0
    level = moving[0].place.level
    return 1.0 if level is None else level.unroll


def _share_behind(users: list[Value]) -> float:
    """Whether accesses at an address lie behind it, `p[i * w + 1]`: 1 where all do, a half where some do."""
    spans = [user.access.span for user in users if user.access is not None]
    behind = [span is not None and min(span.offsets) > 0 for span in spans]
    return (any(behind) + all(behind)) / 2 if behind else 0.0


def _is_atomic(value: Value) -> bool:
    return any(kind is InstructionKind.ATOM for kind, _ in value.cost)


def _number(cost: Cost) -> float:
    return sum(number for _, number in cost)


def _in_units(terms: Terms, isa: Isa) -> Terms:
    """The terms of a shared address in the units that the access multiplies by: ``[R.X4]``."""
    unit = math.gcd(*(coefficient for _, coefficient in terms))
    return tuple((term, c // unit) for term, c in terms) if unit in isa.address_scales else terms


def _reaches(earlier: Value, later: Value) -> bool:
    """Whether `earlier`, written before `later`, varies in no loop but those around `later`."""
    level = earlier.place.level
    return earlier.place.region <= later.place.region and (level is None or level in later.place.stack)


def _by_length(form: Value) -> tuple[int, int]:
    return len(form.form.terms), form.place.region


def _stride(moving: Terms, inner: LoopLevel) -> Value | None:
    """By what an address advances each iteration, when the compiler steps a pointer; None when it does not.

    It does for counters of constant step, alone or times an invariant; with a step known only at run time the
    address is computed anew.
    """
    steps: list[Value] = []
    for term, _ in moving:
        if term.step is None:
            return None
        counter: Value | None = term
        if term.shape is Shape.INT_PRODUCT:
            counters = map(counter_in, term.inputs)
            counter = next((c for c in counters if c is not None and c.place.level is inner), None)
        if counter is None or counter.step is None or counter.step.shape is not Shape.CONSTANT:
            return None
        steps.append(term.step)
    if not steps:
        return None
    return next((step for step in steps if step.shape is not Shape.CONSTANT), steps[0])


_SUMS = (Shape.INT_SUM, Shape.INT_PRODUCT, Shape.ADDRESS)
_COMPARISONS = {InstructionKind.ISETP, InstructionKind.FSETP, InstructionKind.DSETP}

_FUSES: dict[Shape, tuple[Shape, ...]] = {
    Shape.FLOAT_SUM: (Shape.FLOAT_PRODUCT,),
    Shape.INT_SUM: (Shape.INT_PRODUCT, Shape.SHIFT),
    Shape.ADDRESS: (Shape.INT_PRODUCT,),
}

_FUSED: dict[InstructionKind, InstructionKind] = {
    InstructionKind.FADD: InstructionKind.FFMA,
    InstructionKind.DADD: InstructionKind.DFMA,
    InstructionKind.HFMA2: InstructionKind.HFMA2,
}
"""What a sum of floating-point numbers becomes that takes in a product."""


def _in_parts(cost: Cost, number: float) -> Cost:
    """`cost` on a GPU where a multiplication takes `number` instructions."""
    multiplies = InstructionKind.IMAD
    return tuple((kind, count * number if kind is multiplies else count) for kind, count in cost)


INPUTS = 3
"""Operands of one LOP3, an immediate among them."""
CUTS = 24
"""Sets of inputs looked at for one value; long chains have more, and these suffice for them."""

_Cut = frozenset[object]
"""Inputs from which a value can be computed: values, and constants by number."""


def within_lop3(needed: Iterable[Value], uses: Mapping[Value, int], isa: Isa) -> set[Value]:
    """The bitwise operations among `needed` that the LOP3 of another one does along.

    `uses`: how many operands of others each value is. One operand may be an immediate, or lie in constant
    memory, which on Hopper (`isa`) is a register. Each operation, those that no other takes in first, takes
    in as many as it can of those that nothing else needs; at most three distinct inputs remain.
    """
    logic = [value for value in needed if value.shape is Shape.LOGIC]
    cuts: dict[Value, tuple[_Cut, ...]] = {}
    ordered = _inputs_first(logic)
    for value in ordered:
        cuts[value] = _cuts(value, cuts, isa)
    taken: set[Value] = set()
    for value in reversed(ordered):
        if value not in taken:
            covered = (frozenset(_covered(value, cut, uses) - taken) for cut in cuts[value])
            taken |= max(covered, key=len, default=frozenset[Value]())
    return taken


def _inputs_first(logic: list[Value]) -> list[Value]:
    """`logic` with each value behind those that it is computed from; a loop may compute one from itself."""
    found: list[Value] = []
    seen = set[Value]()
    for top in logic:
        stack = [(top, False)]
        while stack:
            value, are_inputs_there = stack.pop()
            if are_inputs_there:
                found.append(value)
            elif value not in seen:
                seen.add(value)
                stack.append((value, True))
                stack += [(part, False) for part in value.inputs if part.shape is Shape.LOGIC]
    return found


def _cuts(value: Value, cuts: Mapping[Value, tuple[_Cut, ...]], isa: Isa) -> tuple[_Cut, ...]:
    """The sets of at most three inputs that `value` is a function of, nearest first."""
    found: dict[_Cut, None] = {frozenset(): None}
    for part in value.inputs:
        choices = (frozenset({_name(part)}), *cuts.get(part, ()))
        merged = (have | choice for have in found for choice in choices)
        found = dict.fromkeys(cut for cut in merged if len(cut) <= INPUTS and _unregistered(cut, isa) <= 1)
    return tuple(found)[:CUTS]


def _unregistered(cut: _Cut, isa: Isa) -> int:
    """The inputs that are in no register."""
    return sum(one.is_given and isa is not Isa.LDC if isinstance(one, Value) else True for one in cut)


def _name(value: Value) -> object:
    is_number = value.shape is Shape.CONSTANT and value.number is not None
    return value.number if is_number else value


def _covered(value: Value, cut: _Cut, uses: Mapping[Value, int]) -> set[Value]:
    """The operations between `cut` and `value` that nothing else needs."""
    inside: dict[Value, None] = {}
    reached: dict[Value, int] = {}
    stack = [value]
    while stack:
        here = stack.pop()
        inside[here] = None
        for part in here.inputs:
            if part.shape is Shape.LOGIC and part not in cut:
                reached[part] = reached.get(part, 0) + 1
                if reached[part] == uses.get(part, 0):
                    stack.append(part)
    return set(inside) - {value}


BITS = 8
"""Tests that one R2P, one LOP3 and one comparison do: seven bits at a time, the eighth on its own."""


def group_bit_tests(needed: Iterable[Value], uses: Mapping[Value, int]) -> set[Value]:
    """Give the bit tests among `needed` that unrolled loops copy their cost; what is no longer computed.

    `uses`: how many operands of others each value is.
    """
    spared: set[Value] = set()
    tested: dict[Value, int] = {}
    for value in needed:
        if value.shape is not Shape.TRUTH or uses.get(value.inputs[0]) != 1:
            continue
        mask = value.inputs[0]
        bits, loop = _bits_of_copies(mask)
        if bits is None or loop is None or loop.copies <= 1:
            continue
        groups = math.ceil(loop.copies / BITS) / loop.copies
        kinds = (InstructionKind.OTHER, InstructionKind.LOP, InstructionKind.ISETP)
        value.cost = tuple((kind, groups) for kind in kinds)
        spared.add(mask)
        if bits.shape is Shape.SHIFTED:
            tested[bits] = tested.get(bits, 0) + 1
    for bits, number in tested.items():
        following = bits if bits.cost else bits.inputs[-1]  # shifted in place, or from one copy to the next
        others = 0 if following is bits else 1
        if number + others != uses.get(bits) or (others and uses.get(following) != 1):
            continue  # somebody needs the bits themselves
        level = bits.place.level
        if level is not None and not level.is_unrolled:  # the next round goes on behind them
            following.cost = ((InstructionKind.SHF, 1.0 / level.copies),)
        else:
            spared.add(following)
    return spared


def _bits_of_copies(mask: Value) -> tuple[Value | None, LoopLevel | None]:
    """What `mask` takes one bit of, another one in each copy of a loop; None when it is not so."""
    if len(mask.inputs) != 2:
        return None, None
    bits, constant = sorted(mask.inputs, key=lambda value: value.shape is Shape.CONSTANT)
    if constant.shape is not Shape.CONSTANT or bits.shape is Shape.CONSTANT:
        return None, None
    if constant.number is None:  # of `n % (2 * stride)` the mask is all bits below one: a power less one
        return (None, None) if constant.form.offset else (bits, constant.place.level)
    return (bits, bits.place.level) if bits.shape is Shape.SHIFTED and constant.number == 1 else (None, None)


def _is_field(term: Value) -> bool:
    """Whether a term is some bits of another value, shifted to where they are."""
    shifts = (one.cost[:1] == ((InstructionKind.SHF, 1.0),) for one in term.inputs)
    return term.shape is Shape.LOGIC and any(shifts)


def is_taken_along(term: Value, value: Value, isa: Isa) -> bool:
    """Whether the multiply-add of the product `term` computes the sum `value`; XMAD adds 32 bits only.

    Or the LEA.HI of what is shifted to the right.
    """
    if term.shape is Shape.SHIFT:
        return value.shape is Shape.INT_SUM and value.bits == 32
    fits = isa is not Isa.XMAD or value.shape is Shape.ADDRESS or term.bits >= value.bits
    return term.shape is Shape.INT_PRODUCT and fits


def sum_cost(terms: Terms, value: Value, isa: Isa, copies: float = 1.0) -> Cost:
    """Instructions that add up a linear form.

    A term scaled or divided by a power of two is an LEA, by another constant an IMAD, a product of two values
    an IMAD; each of them adds one more term on the way. IADD3 adds two. `copies` of a running sum
    (`s += a[i]`) are one form, in which the sum itself is one term.
    """
    products = constants = shifts = 0
    plain = 0.0
    for term, coefficient in terms:
        if is_taken_along(term, value, isa) and term.shape is Shape.INT_PRODUCT:
            products += 1
        elif is_taken_along(term, value, isa) and coefficient == 1:
            shifts += 1
        elif abs(coefficient) == 1:
            plain += 1
        elif abs(coefficient) & (abs(coefficient) - 1) == 0:
            shifts += 1
        else:
            constants += 1
    if value.shape is Shape.ADDRESS and len(terms) == 1:
        is_byte = isa is Isa.LDC or (value.form.is_scaled and isa is not Isa.XMAD)
        is_shifted = is_byte and value.bits == 32 and _is_field(terms[0][0])
        is_multiplied = abs(terms[0][1]) in isa.address_scales and not value.form.is_scaled
        if is_shifted or is_multiplied or abs(terms[0][1]) == 1:
            return ()  # [R.X4]; `s[x >> 8 & 255]`: shifted by two bits less
    plain += bool(value.form.offset or value.form.copies) and value.shape is not Shape.ADDRESS
    free = max(1.0 / copies, products + constants + shifts)  # addends that come along, or the first one
    plain -= 1.0 - 1.0 / copies
    adds = math.ceil(max(0.0, plain - free) / 2 * copies) / copies
    width = 2.0 if value.bits == 64 and value.shape is not Shape.ADDRESS else 1.0
    imads = products * isa.multiplies_per_product + constants * isa.multiplies_by_constant
    cost = ((InstructionKind.IMAD, width * imads), (InstructionKind.IADD, width * (adds + shifts)))
    return tuple((kind, number) for kind, number in cost if number)
