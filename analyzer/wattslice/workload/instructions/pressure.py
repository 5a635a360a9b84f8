"""How many registers the values of a kernel take, with its straight code in the order that ptxas gives it.

Straight code ends at loops that stay, at arms that are branched around, at barriers. In it every copy of an
unrolled loop stands for itself. ptxas makes loads first, those that no earlier store may reach, as long as
registers last for all threads of an SM (`LOADS_FILL`); else the order of the text is what it needs at least.
What passes through, as a loop needs it again or somebody behind, is held besides.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import accumulate, product

from msgspec import Struct

from wattslice.workload.instructions.kinds import InstructionKind as K
from wattslice.workload.instructions.statements import Lowered
from wattslice.workload.instructions.value_graph import LoopLevel, MemoryRequest, Shape, Value, chain

LOADS_FILL = 28.0
"""Live registers up to which loads are made early: 32, that all 2048 threads of an SM may have, without the
stack pointer, the two of the program counter and one that pairs leave free (seen in the SASS of nvcc 13)."""
LEFT_OVER = 3
"""Registers that count what is left over from the rounds of a loop unrolled by a factor, and its rounds."""
MOST_INSTRUCTIONS = 1500
"""Instructions of straight code that are put in order; of larger code fewer copies stand for all."""
_PREDICATES = frozenset({K.ISETP, K.FSETP, K.DSETP})
_DOUBLES = frozenset({K.DADD, K.DMUL, K.DFMA})


def width(value: Value) -> int:
    """32-bit registers of a value; predicates have their own, constants need none."""
    if value.shape is Shape.CONSTANT or (value.cost and all(kind in _PREDICATES for kind, _ in value.cost)):
        return 0
    return max(1, -(-value.bits // 32))


def expansion_width(value: Value) -> int:
    """Registers that a division, root or function takes while it runs, operands and result among them.

    What ptxas reports for a kernel of one alone. Those with a branch call a slow path with registers of its
    own, or reduce a large argument.
    """
    kinds = dict(value.cost)
    number = sum(kinds.values())
    if K.BRANCH in kinds and len(kinds) > 1:
        if not _DOUBLES.isdisjoint(kinds):
            return 20
        return 17 if K.CONVERSION in kinds else 10
    if K.IMAD in kinds and K.MUFU in kinds:  # integers divided
        return 10
    return 6 if (K.MUFU in kinds and number > 6) or number >= 8 else 0


class Pressure(Struct, frozen=True):
    """Most 32-bit registers that the values of a kernel take at once: in the order of the text, and with its
    loads as early as they can be made."""

    in_text: float
    loads_first: float

    def beside(self, others: float) -> float:
        """What they take where `others` are taken besides: loads are made early as far as registers last."""
        return max(self.in_text, min(self.loads_first, LOADS_FILL - others))


def pressure(found: Lowered) -> Pressure:
    """How many registers the values of a kernel take."""
    return _Registers(found).most()


class _Copy(Struct, frozen=True):
    """A value in one copy of the unrolled loops around it, by their iterations."""

    value: Value
    iterations: tuple[int, ...]


class _Registers:
    """Which values lie in registers, of what each is made, and from where to where it lives.

    Places are births: they follow the text. What is hoisted stands just before the loop that it leaves.
    """

    def __init__(self, found: Lowered) -> None:
        self.pointers = found.pointers
        self.roots = set(found.roots)
        self.text_end = max((root.birth for root in found.roots), default=0)
        self.cuts = sorted(found.cuts)
        self.begin: dict[LoopLevel, float] = {}
        self.end: dict[LoopLevel, float] = {}
        for value in found.values:
            if value.birth <= self.text_end:
                for level in chain(value.place.level):
                    begin = min(value.birth, level.guard.birth)
                    self.begin[level] = min(self.begin.get(level, begin), begin)
                    self.end[level] = max(self.end.get(level, value.birth), value.birth)
        self.place = self.places(found.values)
        self.heads = {value for value in found.values if self.is_head(value)}
        self.inputs = self.operands(found.values)
        self.values = sorted(self.inputs, key=lambda one: (self.place[one], one.birth))
        self.width = {value: self.room(value) for value in self.values}
        self.first = dict(self.place)
        self.last = dict(self.place)
        self.counted = [level for level in self.end if _leaves_rest(level)]
        self.live()

    def places(self, values: list[Value]) -> dict[Value, float]:
        users: dict[Value, list[Value]] = defaultdict(list)
        for value in values:
            for one in value.inputs:
                users[one].append(value)
        found: dict[Value, float] = {}
        for value in sorted(values, key=lambda one: one.birth):
            place = float(value.birth)
            if value.birth > self.text_end:  # a sum that several addresses share, made just before the first
                place = min((found.get(user, self.text_end) for user in users[value]), default=0.0) - 0.5
            depth = 0 if value.place.level is None else value.place.level.depth
            if len(value.place.stack) > depth and value not in self.roots:
                left = value.place.stack[depth]
                place = min(place, self.begin.get(left, place) - 0.5)
            found[value] = place
        for value in sorted(values, key=lambda one: -found[one]):
            for one in value.inputs:
                if one.birth > self.text_end and found.get(one, 0.0) >= found[value]:
                    found[one] = found[value] - 0.25
        return found

    def is_head(self, value: Value) -> bool:
        """Whether a loop carries `value` from one iteration to the next."""
        level = value.place.level
        if level is None or value in self.roots or value.shape is Shape.CONSTANT:
            return False
        if value.place.varies is None and value.guards == (level.guard,):
            return True
        return not value.cost and any(self.is_later(one, value) for one in value.inputs)

    def is_later(self, one: Value, value: Value) -> bool:
        return one.shape is not Shape.CONSTANT and self.place.get(one, 0.0) > self.place[value]

    def is_joined(self, value: Value) -> bool:
        """Whether `value` is one of several, depending on the way that control came."""
        return not value.cost and value.place.varies is None and len(value.inputs) > 1

    def operands(self, values: list[Value]) -> dict[Value, tuple[Value, ...]]:
        """The values that take registers, each with those that it is made of; others are names for them."""
        names = {
            value
            for value in values
            if not value.cost
            and value not in self.roots
            and value not in self.pointers
            and value not in self.heads
            and not self.is_joined(value)
        }
        known: dict[Value, tuple[Value, ...]] = {}

        def held(value: Value) -> list[Value]:
            return [one for one in value.inputs if one.shape is not Shape.CONSTANT and one in self.place]

        def named(value: Value) -> tuple[Value, ...]:
            stack = [value]
            while stack:
                here = stack[-1]
                if here not in names:
                    known[here] = (here,)
                elif here not in known:
                    known[here] = ()
                    stack += held(here)
                    continue
                else:
                    every = (one for part in held(here) for one in known.get(part, ()))
                    known[here] = tuple(dict.fromkeys(every))
                stack.pop()
            return known[value]

        found: dict[Value, tuple[Value, ...]] = {}
        for value in values:
            if value not in names:
                every = (one for part in held(value) for one in known.get(part) or named(part))
                found[value] = tuple(dict.fromkeys(every))
        return {value: self.behind_loops(value, found) for value in found}

    def behind_loops(self, value: Value, found: dict[Value, tuple[Value, ...]]) -> tuple[Value, ...]:
        """Behind a loop its head stands for what the last iteration handed on."""
        wanted: dict[Value, None] = {}
        for one in found[value]:
            at, level = self.place[value], value.place.level
            if value in self.heads and self.place[one] > at and level in self.end:
                at = self.end[level] + 0.5
            stack, seen = [one], set[Value]()
            while stack:
                here = stack.pop()
                if here in seen:
                    continue
                seen.add(here)
                loop, later = here.place.level, list[Value]()
                if here in self.heads and here is not value and loop in self.end and at > self.end[loop]:
                    later = [last for last in found[here] if self.place[last] > self.place[here]]
                stack += later
                if not later:
                    wanted[here] = None
        return tuple(wanted)

    def room(self, value: Value) -> int:
        is_load = value.access is not None and not value.access.is_store
        is_given = not value.cost and not value.inputs  # parameters and sizes: in constant memory
        is_taken = value.shape is Shape.ADDRESS and value.is_uniform and value.cost[:1] == ((K.MOV, 2.0),)
        return 0 if is_given or is_taken or (value in self.roots and not is_load) else width(value)

    def live(self) -> None:
        """From where to where values live."""
        first, last = self.first, self.last
        for value in reversed(self.values):
            level, at = value.place.level, self.place[value]
            if (loop := self.pointers.get(value)) in self.end:
                first[value], last[value] = (
                    min(first[value], self.begin[loop]),
                    max(last[value], self.end[loop]),
                )
            if value not in self.heads and self.is_joined(value) and value.guards:
                branch = value.guards[0].birth
                for one in self.inputs[value]:  # the arms write into one register
                    if self.place[one] < branch:
                        last[one] = max(last[one], branch)
                    elif self.place[one] < at:
                        first[value] = min(first[value], self.place[one])
                continue
            around = list(chain(level))[value in self.heads :]
            for one in self.inputs[value]:
                if self.place[one] > at:  # handed to the next iteration
                    if level in self.end:
                        last[one] = max(last[one], self.end[level])
                    continue
                last[one] = max(last[one], at)
                own = one.place.varies
                inside = frozenset(chain(one.place.level)) if own is None else own
                for loop in around:
                    if loop not in inside and loop in self.end:
                        last[one] = max(last[one], self.end[loop])
                        first[one] = min(first[one], self.begin[loop])
        for value, loop in self.pointers.items():
            if loop in self.counted and value in self.inputs:
                for start in self.inputs[value]:  # what is left over is addressed anew
                    for one in self.inputs.get(start, ()):
                        if not one.is_pointer and self.place[one] < self.begin[loop]:
                            last[one] = max(last[one], self.end[loop])

    def most(self) -> Pressure:
        """The most over all straight code."""
        members: dict[int, list[Value]] = defaultdict(list)
        through = [0] * (len(self.cuts) + 2)
        for value in self.values:
            members[bisect_right(self.cuts, self.place[value])].append(value)
            self.note(through, self.first[value], self.last[value], self.width[value])
        for loop in self.counted:
            self.note(through, self.begin[loop] - 1.5, self.end[loop], LEFT_OVER)  # its cut is before it
        bounds = [float("-inf"), *self.cuts, float("inf")]
        most = Pressure(0.0, 0.0)
        for at, passing in enumerate(accumulate(through)):
            if at not in members:
                continue
            code = _StraightCode(self, members[at], bounds[at], bounds[at + 1])
            here = {*members[at], *code.outside}
            passing -= sum(self.width[one] for one in here if self.first[one] < bounds[at] <= self.last[one])
            most = Pressure(
                max(most.in_text, passing + code.in_text()),
                max(most.loads_first, passing + code.loads_first()),
            )
        return most

    def note(self, through: list[int], first: float, last: float, registers: int) -> None:
        """Add what is held from `first` to `last` to the straight code that begins between them."""
        through[bisect_right(self.cuts, first) + 1] += registers
        through[bisect_right(self.cuts, last) + 1] -= registers


def _leaves_rest(loop: LoopLevel) -> bool:
    is_exact = loop.has_constant_trips or loop.copies_leave
    return loop.unroll > 1 and not loop.is_unrolled and not is_exact


class _StraightCode:
    """Straight code with the copies that unrolled loops make of it.

    `needs`: for each instruction those of the code whose results it takes, by their numbers; `users`: the
    other way round. `outside`: what is there already, and who takes it. `kept`: what is needed behind.
    """

    def __init__(self, of: _Registers, members: list[Value], begin: float, end: float) -> None:
        self.of = of
        self.end = end
        self.loops = {value: self.loops_around(value, begin) for value in members}
        self.copies = self.number_of_copies()
        self.code = [copy for _, copy in sorted(self.expanded(members), key=lambda entry: entry[0])]
        self.number = {copy: at for at, copy in enumerate(self.code)}
        self.needs: list[list[int]] = [[] for _ in self.code]
        self.users: list[list[int]] = [[] for _ in self.code]
        self.outside: dict[Value, list[int]] = defaultdict(list)
        for at, copy in enumerate(self.code):
            for one in of.inputs[copy.value]:
                if of.place[one] > of.place[copy.value]:
                    continue  # of the iteration before
                made = self.made(one, copy)
                if isinstance(made, Value):
                    self.outside[made].append(at)
                elif made < at:
                    self.needs[at].append(made)
                    self.users[made].append(at)
        self.kept = [self.is_kept(copy) for copy in self.code]

    def loops_around(self, value: Value, begin: float) -> tuple[LoopLevel, ...]:
        """The loops that make copies of `value` here, outermost first."""
        stepped = self.of.pointers.get(value)
        found: list[LoopLevel] = []
        for loop in chain(value.place.level if stepped is None else stepped):
            if stepped is loop and not loop.is_unrolled:
                continue  # one pointer for all copies
            if self.of.begin.get(loop, begin - 2.0) < begin - 1.0:
                break
            found.append(loop)
            if not loop.is_unrolled:
                break
        return tuple(reversed(found))

    def number_of_copies(self) -> dict[LoopLevel, int]:
        """How many copies stand for each loop: all, or fewer where there would be too much code."""
        found = {loop: max(1, round(loop.copies)) for loops in self.loops.values() for loop in loops}
        values = Counter(self.loops.values())
        made = {loops: number * math.prod(found[loop] for loop in loops) for loops, number in values.items()}
        total = sum(made.values())
        inside: dict[LoopLevel, list[tuple[LoopLevel, ...]]] = defaultdict(list)
        for loops in values:
            for loop in loops:
                inside[loop].append(loops)
        largest = [(-copies, at, loop) for at, (loop, copies) in enumerate(found.items())]
        heapify(largest)
        while total > MOST_INSTRUCTIONS and largest and largest[0][0] < -1:
            copies, at, loop = largest[0]
            found[loop] = -copies // 2
            heapreplace(largest, (-found[loop], at, loop))
            for loops in inside[loop]:
                total -= made[loops]
                made[loops] = values[loops] * math.prod(found[loop] for loop in loops)
                total += made[loops]
        return found

    def expanded(self, members: list[Value]) -> Iterator[tuple[tuple[float, ...], _Copy]]:
        """All copies of `members`, each with what puts it in the order of execution."""
        for value in members:
            loops = self.loops[value]
            for iterations in product(*(range(self.copies[loop]) for loop in loops)):
                way = (
                    part
                    for loop, i in zip(loops, iterations, strict=True)
                    for part in (self.of.begin[loop], i)
                )
                yield (*way, self.of.place[value], value.birth), _Copy(value, iterations)

    def made(self, one: Value, user: _Copy) -> int | Value:
        """The instruction that makes `one` for `user`; itself, where it was there before.

        What a loop carries was made by the copy before.
        """
        while one in self.loops:
            loops, seen = self.loops[one], dict(zip(self.loops[user.value], user.iterations, strict=True))
            wanted = [seen.get(loop, self.copies[loop] - 1) for loop in loops]
            carrier = one.place.level
            if one not in self.of.heads or carrier not in loops or (one.cost and not carrier.is_unrolled):
                return self.number[_Copy(one, tuple(wanted))]
            handed = [last for last in self.of.inputs[one] if self.of.place[last] > self.of.place[one]]
            position = loops.index(carrier)
            if not handed or handed[0] is one or (carrier in seen and wanted[position] == 0):
                return self.number[_Copy(one, tuple(wanted))]
            wanted[position] -= carrier in seen
            user, one = _Copy(one, tuple(wanted)), handed[0]
        return one

    def is_kept(self, copy: _Copy) -> bool:
        is_last = (
            i == self.copies[loop] - 1
            for i, loop in zip(copy.iterations, self.loops[copy.value], strict=True)
        )
        return self.of.last[copy.value] >= self.end and all(is_last)

    def in_text(self) -> int:
        """Most registers that the values here take, in the order of the text."""
        return self.peak(range(len(self.code)))

    def loads_first(self) -> int:
        """The same with loads as early as they can be made."""
        return self.peak(self.eager())

    def peak(self, order: Sequence[int]) -> int:
        when = {at: time for time, at in enumerate(order)}
        changes = [0] * (len(order) + 2)
        sizes = [self.size(at) for at in range(len(self.code))]
        for at, time in when.items():
            until = max((when[user] for user in self.users[at]), default=time)
            if self.kept[at]:
                until = len(order) + 1
            elif until == time and self.code[at].value.cost:
                until = time + 1
            changes[time] += sizes[at]
            changes[until] -= sizes[at]
        for value, users in self.outside.items():
            if self.of.last[value] < self.end:
                changes[max(when[user] for user in users)] -= self.of.width[value]
        held = most = sum(self.of.width[value] for value in self.outside)
        for time, at in enumerate(order):
            held += changes[time]
            value = self.code[at].value
            inside = 0 if value in self.of.roots else expansion_width(value)
            most = max(most, held, held - sizes[at] + inside if inside else 0)
        return max(most, held + changes[len(order)])

    def size(self, at: int) -> int:
        """Registers of an instruction's result: none of its own for what the copy before handed on."""
        value, iterations = self.code[at].value, self.code[at].iterations
        loops, carrier = self.loops[value], value.place.level
        if value in self.of.heads and carrier in loops and iterations[loops.index(carrier)] > 0:
            return self.of.width[value] if self.users[at] else 0
        return self.of.width[value]

    def eager(self) -> list[int]:
        """The order with loads first, and each behind the last store that may reach what it loads."""
        blocked = self.blocked()
        waiting: dict[int, list[int]] = defaultdict(list)
        for at, store in blocked.items():
            if store is not None:
                waiting[store].append(at)
        needs = [*self.needs]
        for store, loads in waiting.items():
            for at in loads:
                needs[at] = [*needs[at], store]
        is_behind = [False] * len(self.code)  # whether it waits for a load
        for at, before in enumerate(needs):
            is_behind[at] = any(is_behind[one] or one in blocked for one in before)
        order: list[int] = []
        done = [False] * len(self.code)

        def make(at: int) -> None:
            stack = [at]
            while stack:
                before = [] if done[stack[-1]] else [one for one in needs[stack[-1]] if not done[one]]
                stack += reversed(before)
                if not before:
                    last = stack.pop()
                    order.extend(() if done[last] else (last,))
                    done[last] = True

        for at, store in blocked.items():
            if store is None and not is_behind[at]:
                make(at)
        for at in range(len(self.code)):
            if not done[at]:
                make(at)
                for load in waiting[at]:
                    make(load)
        return order

    def blocked(self) -> dict[int, int | None]:
        """The loads, each with the last store before it that may reach the same place."""
        stores: list[tuple[int, MemoryRequest | None]] = []
        found: dict[int, int | None] = {}
        for at, copy in enumerate(self.code):
            value = copy.value
            kinds = {kind for kind, _ in value.cost}
            if K.ATOM in kinds or (value.access is not None and value.access.is_store):
                stores.append((at, None if K.ATOM in kinds else value.access))
            elif value.access is not None and kinds and K.LDC not in kinds:
                before = (store for store, one in reversed(stores) if _may_meet(one, value.access))
                found[at] = next(before, None)
        return found


def _may_meet(store: MemoryRequest | None, load: MemoryRequest) -> bool:
    """Whether a store may reach what is loaded, for all that the compiler knows."""
    if store is None or store.reach is None or load.reach is None:
        return True
    (space, part), (other_space, other) = store.reach, load.reach
    return space is other_space and (part is other or part is None or other is None)
