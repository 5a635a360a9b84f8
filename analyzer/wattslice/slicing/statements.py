"""Logical statements: what a source statement is split into (Wang & Chen 2013, section 4.2), in order.

`s[t] = a[i] * k` becomes three of them: the load of `a` (with the arithmetic of its address), the
multiplication, and the store to `s` (with its address). They are the nodes of the dependence graph and
the unit of slice length.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from msgspec import Struct

from wattslice import ir
from wattslice.ir.operation_counts import Operation

SLICED_SPACES: tuple[ir.MemorySpace, ...] = (
    ir.MemorySpace.GLOBAL,
    ir.MemorySpace.TEXTURE,
    ir.MemorySpace.CONSTANT,
    ir.MemorySpace.SHARED,
)
"""The four memory spaces of the paper, dearest access first: the order in which ties are broken."""


class StatementKind(Enum):
    """What a logical statement does."""

    COMPUTE = "compute"  # arithmetic, an assignment to a register, a call
    ACCESS = "access"  # one access to one of the four memory spaces
    PREDICATE = "predicate"  # the test of an if, a loop or a switch
    JUMP = "jump"  # return, break, continue
    BARRIER = "barrier"


class MemoryKey(Struct, frozen=True, eq=False):
    """A set of memory objects that may overlap: one space, one class of roots (None: any root).

    Identity is equality: `Aliases` makes one of each.
    """

    space: ir.MemorySpace


Key = ir.Variable | MemoryKey


class Definition(Struct, frozen=True):
    """A write to `key`; `kills` when nothing of the old value survives."""

    key: Key
    kills: bool


class Arm(Struct, frozen=True):
    """A branch arm that must be taken: `region` of its body, out of `of_region`, the region of the branch.

    `negated`: the arm must *not* be taken, since it leaves (`if (i >= n) return;`) and the statement follows.
    """

    region: int
    of_region: int
    negated: bool = False


class ArmChain(Struct, frozen=True, eq=False):
    """The branch arms around a statement: the innermost, and the chain `around` it (None: no more).

    Identity is equality: what stands in the same arms has the same chain, so a chain costs one link.
    """

    arm: Arm
    around: ArmChain | None


def links(chains: Iterable[ArmChain | None]) -> tuple[ArmChain, ...]:
    """These chains and all that are around them, each once and behind the one around it."""
    found: dict[ArmChain, None] = {}
    for chain in chains:
        way: list[ArmChain] = []
        while chain is not None and chain not in found:
            way.append(chain)
            chain = chain.around
        found |= dict.fromkeys(reversed(way))
    return tuple(found)


class LogicalStatement(Struct, frozen=True, eq=False):
    """One logical statement. `index` is its place in the kernel's tuple of them.

    `region`: where it executes; single `operations` may lie in regions below it (arms of `?:`). `space` and
    `variable` are set for accesses; `variable` None: the root of the address is not evident; `access_bytes`:
    size of the accessed object in bytes, 0 when unknown. `sources` are
    logical statements of the same expression whose values it takes. `arms`: the chain of branch arms around
    it. `is_effective` False: it compiles to nothing by itself (a copy of a loaded value, an
    argument that is bound), so it has no length.
    """

    index: int
    kind: StatementKind
    space: ir.MemorySpace | None
    variable: ir.Variable | None
    access_bytes: int
    span: ir.Span
    region: int
    operations: tuple[Operation, ...]
    uses: tuple[Key, ...]
    definitions: tuple[Definition, ...]
    sources: tuple[int, ...]
    controls: tuple[int, ...]
    arms: ArmChain | None
    is_effective: bool


class Mark(Enum):
    """Structure between logical statements, for data-flow analysis."""

    BRANCH = "branch"
    NEXT_ARM = "next arm"
    BRANCH_END = "branch end"
    LOOP = "loop"
    LOOP_END = "loop end"
    CALL = "call"
    CALL_END = "call end"
    JUMP = "jump"


Event = int | Mark
"""The index of a logical statement, or a mark."""


class FlatKernel(Struct, frozen=True):
    """The logical statements of a kernel, and the order in which control meets them.

    `statements` is sorted by index. `events` names each statement once, in evaluation order, between the
    marks of branches, loops and inlined calls.
    """

    statements: tuple[LogicalStatement, ...]
    events: tuple[Event, ...]
