"""What copies of a loop need not load, for one before has stored or loaded it: `a[i] += a[i - 1]`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from wattslice.ir import MemorySpace, Variable
from wattslice.workload.instructions.value_graph import LoopLevel, Terms, Value, varying

Part = Variable | MemorySpace | None
"""What the compiler knows not to overlap the other parts of a memory space: a `__restrict__` parameter of the
kernel, a `__shared__` object, an array of the thread; the space: all that is left. None: it knows nothing."""
GROUP = 4.0
"""Copies that one pass makes and looks through; those beyond are made later, by ptxas."""


class AccessName(Struct, frozen=True):
    """What an access reaches, but for an offset: an object, unknown terms, and what differs in copies."""

    root: Variable | None
    terms: frozenset[tuple[Value, int]]
    copies: Terms


class Access(Struct, frozen=True):
    """A load or store in a loop, made by `value`, of `size` bytes at `offset` from what `name` tells.

    `varies`: the loops in which the address of a store changes.
    """

    space: MemorySpace
    part: Part
    name: AccessName | None
    offset: int
    size: int
    is_store: bool
    value: Value | None
    varies: frozenset[LoopLevel]
    arm_depth: int

    @property
    def place(self) -> tuple[object, ...]:
        """Equal for accesses that are known to be of the same object."""
        return self.space, self.name, self.offset, self.size

    def may_overlap(self, other: Access) -> bool:
        """Whether two accesses may touch the same byte, for all that the compiler knows."""
        if self.space is not other.space or (
            self.part is not other.part and self.part is not None and other.part is not None
        ):
            return False
        distance = abs(self.offset - other.offset)
        return self.name != other.name or self.name is None or distance < max(self.size, other.size)


def shares_loaded(accesses: Sequence[Access], level: LoopLevel, group: float) -> dict[Value, float]:
    """The loads of the loop `level` that some of its copies are spared, each with the share that is left.

    One that the copy before has just stored is made in the first copy of a round alone; others, and what a
    copy further back stored or loaded, in the first copies of a `group` (SASS of nvcc 13). All that the loop
    stores lies at known distances from each other; where it accesses more than that, only the former is seen.
    """
    stores = [one for one in accesses if one.is_store]
    names = {one.name for one in stores}
    name = next(iter(names), None)
    if level.copies <= 1.0 or len(names) != 1 or name is None:
        return {}
    width = _width(name, level)
    if not width or any(one.arm_depth != level.arm_depth for one in accesses):
        return {}
    own = [one for one in accesses if one.name == name]
    is_alone = all(one.name == name or one.part is stores[0].part for one in accesses)
    left_over = level.left_over / level.trips if level.trips else 0.0
    found: dict[Value, float] = {}
    for load in own:
        if load.is_store or load.value is None or load.value.place.stack[-1:] != (level,):
            continue
        behind = [
            ((one.offset - load.offset) // width, not one.is_store)
            for one in own
            if (one.offset - load.offset) % width == 0 and one.size == load.size
        ]
        copies, is_loaded = min((one for one in behind if one[0] > 0), default=(0, True))
        if copies == 1 and not is_loaded:
            found[load.value] = min(1.0, level.rounds_made) if not level.is_unrolled else 1.0 / level.copies
        elif copies and is_alone:
            found[load.value] = min(copies, group) / group * (1.0 - left_over) + left_over
    return found


def _width(name: AccessName, level: LoopLevel) -> int:
    """By how many bytes each copy of a loop moves what has this name; 0 where that is not known."""
    moving = [one for one in (*name.terms, *name.copies) if level in varying(one[:1])]
    if len(moving) != 1:
        return 0
    ((head, coefficient),) = moving
    step = head.step.number if head.place.level is level and head.step is not None else None
    return 0 if step is None else coefficient * int(step)
