"""Accesses that the compiler makes together: LDS.64, LDS.128 and their stores, LDG.64 of a record's members,
LDC.64.

ptxas puts neighbours of aligned 8 or 16 bytes together, whatever text they come from, where it knows the
alignment (`[R.X4]` it does not) and nothing is stored, or for stores loaded, in between.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from wattslice.workload.instructions.value_graph import LoopLevel, Shape, Value, linear, varying

MOST_PLACES = 1 << 12
"""Copies of an access that are looked at; `loops.FULL_UNROLL_SIZE` leaves fewer."""
WORD_BYTES = 4
ROW_WORDS = 4
MOST_AHEAD = 16
"""Iterations from which on what is loaded ahead of a loop does not matter."""


class RowPart(Struct, frozen=True):
    """An access by `value` to `size_bytes` at `pointer`, in `requests` instructions if alone.

    `settled`: loops whose copies it may not be put together with: others store there, or load. `aligned`: to
    how many bytes the pointers in its address are; above 1 it shares its requests for sectors, too.
    """

    value: Value
    pointer: Value
    size_bytes: int
    requests: float
    settled: frozenset[LoopLevel]
    arm_depth: int
    is_store: bool
    aligned: int


class _Places(Struct, frozen=True):
    """The offsets that the `copies` of an access have from its unknown `terms`, which are `aligned` to bytes;
    `joined`: of its runs the share that is in full rounds."""

    terms: frozenset[tuple[Value, int]]
    offsets: frozenset[int]
    copies: int
    aligned: int
    joined: float


def join(parts: Collection[RowPart], starts: dict[Value, float], most_bytes: int) -> None:
    """Let accesses to one object share instructions, where the unknown part of their addresses is the same.

    `starts`: what the counters of unrolled loops begin with. `most_bytes`: of one instruction.
    """
    alike: dict[frozenset[tuple[Value, int]], list[tuple[RowPart, _Places]]] = {}
    for part in parts:
        if len(part.value.cost) == 1 and part.size_bytes > 0:  # 0: a type that clang could not read
            places = _places(part, starts)
            alike.setdefault(places.terms, []).append((part, places))
    for group in alike.values():
        _join_alike(tuple(part for part, _ in group), tuple(found for _, found in group), most_bytes)


def _join_alike(parts: tuple[RowPart, ...], found: tuple[_Places, ...], most_bytes: int) -> None:
    unit = min((WORD_BYTES, *(part.size_bytes for part in parts)))
    units = [
        {offset + at for offset in places.offsets for at in range(0, part.size_bytes, unit)}
        for part, places in zip(parts, found, strict=True)
    ]
    every = set[int]().union(*units)
    aligned = math.gcd(most_bytes, *(places.aligned for places in found))
    alone = sum(len(places.offsets) * part.requests for part, places in zip(parts, found, strict=True))
    fills = any(part.aligned > 1 and not part.is_store for part in parts)
    base = min(every, default=0) // (ROW_WORDS * unit) * (ROW_WORDS * unit)
    moved = frozenset(at - base for at in every)
    together = min(_accesses(moved, unit, aligned, fills=fills), alone)
    total = sum(map(len, units))
    for part, places, own in zip(parts, found, units, strict=True):
        ((kind, before),) = part.value.cost
        single = part.requests * len(places.offsets) / places.copies
        number = together * len(own) / total / places.copies
        number = places.joined * number + (1.0 - places.joined) * max(single, number)
        part.value.cost = ((kind, number),)
        access = part.value.access
        if access is None or not before or not number:
            continue
        if part.aligned > 1:
            part.value.access = replace(access, number=access.number * number / before)
        else:
            made, joined = access.number * number / before, max(1.0, single / number)
            part.value.access = replace(access, number=made, joined=joined)


def _places(part: RowPart, starts: dict[Value, float]) -> _Places:
    terms, offset, copies = linear(part.pointer)
    offsets, number, aligned, joined = {offset}, 1, 0, 1.0
    unknown: set[tuple[Value, int]] = set()
    for value, coefficient in (*copies, *terms):
        level, step, start = value.place.level, value.step, starts.get(value)
        if (
            level is None
            or step is None
            or step.number is None
            or level in part.settled
            or level.arm_depth != part.arm_depth
            or (level.is_unrolled and value.place.varies != frozenset((level,)))
            or (not level.is_unrolled and value.guards != (level.guard,))
            or level.copies != round(level.copies)
            or not 0 < number * level.copies <= MOST_PLACES
        ):
            aligned = math.gcd(aligned, coefficient * (part.aligned if value.is_pointer else 1))
            unknown.add((value, coefficient))
            continue
        count, width = round(level.copies), coefficient * int(step.number)
        number *= count
        if start is None or not level.is_unrolled:
            unknown.add((value, coefficient))
        if start is None:
            aligned, start = math.gcd(aligned, coefficient * (part.aligned if value.is_pointer else 1)), 0.0
        elif not level.is_unrolled:
            aligned = math.gcd(aligned, width * count)
        first = coefficient * int(start)
        offsets = {at + first + width * copy for at in offsets for copy in range(count)}
        if not level.is_unrolled and level.trips and count % ROW_WORDS == 0:
            joined *= level.trips // ROW_WORDS * ROW_WORDS / level.trips
    return _Places(frozenset(unknown), frozenset(offsets), number, aligned, joined)


def share_taps(parts: Collection[RowPart], starts: dict[Value, float]) -> None:
    """Load each address once for all copies of unrolled loops: ``a[i - 1] + a[i] + a[i + 1]``.

    Where the index is the counter of a loop, and a number, a round hands what the next one begins with on to
    it in registers: one load in each iteration (SASS of nvcc 13).
    """
    alike: dict[frozenset[tuple[Value, int]], list[tuple[RowPart, _Places]]] = {}
    for part in parts:
        if len(part.value.cost) == 1:
            places = _of_strides(part) or _places(part, starts)
            alike.setdefault(places.terms, []).append((part, places))
    for terms, group in alike.items():
        every = frozenset[int]().union(*(places.offsets for _, places in group))
        level, width = _handed_on(terms, group[0][0])
        kept = {at for at in every if width and at + width in every}
        ahead = level is not None and level.trips is not None and level.trips < MOST_AHEAD
        seen = set[int]()
        for part, places in group:
            ((kind, before),) = part.value.cost
            new = places.offsets - seen
            seen |= new
            loads = len(new - kept) / places.copies
            if level is not None and ahead:
                loads += len(new & kept) / (places.copies / level.copies * (level.trips or 1.0))
            single = len(places.offsets) / places.copies
            loads = places.joined * loads + (1.0 - places.joined) * single
            number = min(before, part.requests * loads)
            if number == before:
                continue
            part.value.cost = ((kind, number),) if number else ()
            if (access := part.value.access) is not None:
                made = replace(access, number=access.number * number / before)
                part.value.access = made if number else None


def _of_strides(part: RowPart) -> _Places | None:
    """Where the copies of an access go in a loop by rows whose length only the run tells: `p[y * w + x]`.

    Its offsets are those of rows, `_ROW_BYTES` apart, for which any large number stands. Four copies are made
    before the addresses become pointers; of a row ahead, `i + w` where `i` is `y * w + x`, the compiler does
    not see that the next iteration comes to it (SASS of nvcc 13).
    """
    terms, offset, copies = linear(part.pointer)
    for value, coefficient in () if copies else terms:
        if (row := _row(value)) is None:
            continue
        level = row.head.place.level
        if level is None or row.head.guards != (level.guard,) or level.is_unrolled or level.copies % 1:
            continue
        others = [one for one in terms if one[0] is not value]
        is_fixed = level not in varying((row.length, *(term for term, _ in others)))
        if not is_fixed or level in part.settled or level.arm_depth != part.arm_depth:
            continue
        beside = sum(factor for term, factor in others if term is row.length)
        if beside % coefficient or (beside * coefficient > 0 and value is not row.head):
            continue
        first = row.first + beside // coefficient
        count = min(round(level.copies), ROW_COPIES)
        offsets = frozenset(offset + _ROW_BYTES * (first + row.step * copy) for copy in range(count))
        base = frozenset(one for one in others if one[0] is not row.length)
        names = base | {(row.head, coefficient), (row.length, coefficient)}
        joined = 1.0
        if level.trips and count % ROW_WORDS == 0:
            joined = level.trips // ROW_WORDS * ROW_WORDS / level.trips
        return _Places(names, offsets, count, 0, joined)
    return None


class _Row(Struct, frozen=True):
    """Rows of some `length`: `first` of them, and `step` more for each iteration of the loop of `head`."""

    head: Value
    length: Value
    first: int
    step: int


def _row(value: Value) -> _Row | None:
    if value.step is not None and value.step.number is None and value.guards:
        return _Row(value, value.step, 0, 1)
    if value.shape is not Shape.INT_PRODUCT or len(value.inputs) != 2:
        return None
    for number, length in (value.inputs, value.inputs[::-1]):
        terms, first, copies = linear(number)
        head, factor = terms[0] if len(terms) == 1 else (length, 0)
        if factor == 1 and not copies and head.step is not None and head.step.number is not None:
            return _Row(head, length, first, int(head.step.number))
    return None


_ROW_BYTES = 1 << 40
ROW_COPIES = 4
"""Copies of a loop that see each other's addresses where only the run tells how far they are apart."""


def _handed_on(terms: frozenset[tuple[Value, int]], part: RowPart) -> tuple[LoopLevel | None, int]:
    """The loop whose counter alone moves an address, and by how many bytes each round does; 0: not so."""
    pointers = [value for value, _ in terms if value.is_pointer]
    others = [one for one in terms if not one[0].is_pointer]
    lengths = [one for one in others if any(head.step is one[0] for head, _ in others)]
    heads = [one for one in others if one not in lengths]
    if len(pointers) != 1 or len(heads) != 1 or len(lengths) > 1:
        return None, 0
    ((head, coefficient),) = heads
    level, step = head.place.level, head.step
    is_counter = level is not None and head.guards == (level.guard,) and not level.is_unrolled
    if level is None or not is_counter or step is None or level in part.settled:
        return None, 0
    if coefficient != part.size_bytes or level.arm_depth != part.arm_depth or level.copies % 1:
        return None, 0
    if step.number is None:  # the next row, of `_of_strides`
        return level, _ROW_BYTES * min(round(level.copies), ROW_COPIES) * len(lengths)
    return level, coefficient * int(step.number) * round(level.copies)


@lru_cache(maxsize=64)
def _accesses(units: frozenset[int], unit: int, aligned: int, *, fills: bool) -> float:
    """Instructions that access all of `units`, which lie at multiples of `aligned` bytes from the object.

    `fills`: three of four words are loaded with the fourth, which nobody needs.
    """
    number = 0
    ends = (
        at + unit
        for at in units
        if at // unit % ROW_WORDS == 2 and at - unit in units and at - 2 * unit in units
    )
    left = {*units, *ends} if fills else set(units)
    for count, least in ((ROW_WORDS, ROW_WORDS), (2, 2)):
        size = count * unit
        rows: dict[int, list[int]] = {}
        for at in left if aligned % size == 0 else ():
            rows.setdefault(at // size, []).append(at)
        for row in rows.values():
            if len(row) >= least:
                number += 1
                left.difference_update(row)
    return float(number + len(left))
