"""Where a slice reads: per memory space and pattern, the CUDA text of the addresses and what it counts.

Every offset of a load is a constant, so that a load costs no operation of its own (but for textures,
whose index is computed for each fetch). What changes from one trip of the loop to the next is one
pointer. Where the density leaves no operation for some loaded values (`skip`), they are read through
`volatile`, which keeps the compiler from dropping or hoisting a load; then shared memory and L2 are read
at the same places in every trip.
"""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from wattslice_corpora.synthetic.kinds import ScalarKind
from wattslice_corpora.synthetic.spec import THREADS_PER_BLOCK, InputData, Pattern, SliceSpec, Space

STRIDE = 8
"""Elements between the lanes of a warp when strided: a 32-byte sector for each lane of four bytes."""
TABLE_ELEMENTS = 4096
"""Elements of the table in shared, constant and texture memory: it stays in the nearest cache."""
L2_ELEMENTS = 1 << 20
"""Elements that an L2-resident slice reads again and again: of four bytes 4 MiB, which a recent L2 holds."""
RANDOM_GLOBAL_BYTES = 1 << 30
"""Bytes that the random pattern of global memory reads from."""
DISTINCT_OFFSETS = 64
"""Different addresses that one trip of the loop reads; loads beyond them repeat these."""
_MOST_VOLATILE_LOADS = 256


class Addressing(Struct, frozen=True):
    """Text of the addresses, and what docs/counting.md counts of it.

    `constants`: (name, value) for the file. `setup` runs once, with `setup_operations` and `setup_accesses`
    to the slice's own space; `trip` before the loads of a trip, `trip_end` at its end, with
    `trip_operations` in all. `load` is one load with `{offset}`, each but the first with `load_operations`.
    `may_skip`: a loaded value need not be used; `most_loads` in a trip.
    """

    setup: tuple[str, ...] = ()
    setup_operations: int = 0
    setup_accesses: int = 0
    trip: tuple[str, ...] = ()
    trip_end: tuple[str, ...] = ()
    trip_operations: int = 0
    constants: tuple[tuple[str, str], ...] = ()
    load: str = "p[{offset}]"
    load_operations: int = 0
    may_skip: bool = True
    most_loads: int = _MOST_VOLATILE_LOADS

    def load_text(self, number: int) -> str:
        """Load `number` of a trip, counted from 0."""
        row = number % DISTINCT_OFFSETS
        return self.load.format(offset={0: "0", 1: "kRow"}.get(row, f"{row} * kRow")).replace("at + 0", "at")


def addressing(spec: SliceSpec, kind: ScalarKind, loads: int, skip: bool) -> Addressing:
    """How a slice of scalars finds what it reads with `loads` in a trip.

    `skip`: some values are not used, so that the compiler has to be kept from dropping their loads.
    """
    found = _found(spec, kind, loads, skip)
    if skip:
        return found
    # The compiler reads the same address once.
    return replace(found, most_loads=min(found.most_loads, DISTINCT_OFFSETS))


def _found(spec: SliceSpec, kind: ScalarKind, loads: int, skip: bool) -> Addressing:
    if spec.space is Space.REGISTERS:
        return _registers(spec, kind)
    if spec.space is Space.GLOBAL:
        return _global(spec, kind, loads, skip)
    if spec.space is Space.L2:
        return _resident(spec, kind, skip)
    if spec.space is Space.SHARED:
        return _shared(spec, kind, skip)
    if spec.space is Space.CONSTANT:
        return _constant(spec, kind)
    return _texture(spec, kind)


def _registers(spec: SliceSpec, kind: ScalarKind) -> Addressing:
    if spec.data is InputData.ZEROS:
        return Addressing(setup=(f"const {kind.value} v0 = start;",), most_loads=0)
    return Addressing(setup=(f"const {kind.value} v0 = {kind.constant};",), setup_operations=2, most_loads=0)


def _global(spec: SliceSpec, kind: ScalarKind, loads: int, skip: bool) -> Addressing:
    pointer = _pointer(kind, volatile=skip)
    if spec.pattern is Pattern.RANDOM:
        elements = RANDOM_GLOBAL_BYTES // kind.element_bytes
        return _in_set(_hashed(f"{pointer} p = data + ", elements // 2), elements)
    strided = spec.pattern is Pattern.STRIDED
    row = "kBlocks * kThreads"
    return Addressing(
        setup=(f"{pointer} p = data + thread{f' * {STRIDE}' if strided else ''};",),
        setup_operations=1 + strided,
        trip_end=("p += kStep;",),
        trip_operations=1,
        constants=(("kRow", f"{STRIDE} * {row}" if strided else row), ("kStep", f"{loads} * kRow")),
        most_loads=DISTINCT_OFFSETS,
    )


def _resident(spec: SliceSpec, kind: ScalarKind, skip: bool) -> Addressing:
    pointer = _pointer(kind, volatile=skip)
    load = "p[{offset}]" if skip else "__ldcg(&p[{offset}])"  # neither stays in L1
    strided = spec.pattern is Pattern.STRIDED
    place = f"thread * {STRIDE}" if strided else "thread"
    if spec.pattern is Pattern.RANDOM:
        found = _hashed(f"{pointer} p = data + ", L2_ELEMENTS // 2)
    elif skip:
        setup = f"{pointer} p = data + ({place} & (kSet / 2 - 1));"
        found = Addressing(setup=(setup,), setup_operations=2 + strided)
    else:
        found = Addressing(
            setup=(f"{pointer} first = data + ({place} & (kSet / 4 - 1));",),
            setup_operations=2 + strided,
            trip=(f"{pointer} p = first + (i * 32 & (kSet / 4 - 1));",),
            trip_operations=3,
        )
    return _in_set(replace(found, load=load), L2_ELEMENTS)


def _shared(spec: SliceSpec, kind: ScalarKind, skip: bool) -> Addressing:
    pointer = _pointer(kind, volatile=skip)
    zeros = spec.data is InputData.ZEROS
    filled = TABLE_ELEMENTS // THREADS_PER_BLOCK
    fill = (
        f"__shared__ {kind.element} table[kTable];",
        "for (int j = threadIdx.x; j < kTable; j += blockDim.x) {",
        *(() if zeros else ("    const unsigned h = j * 2654435761u;",)),
        f"    table[j] = {'0' if zeros else kind.device_element};",
        "}",
        "__syncthreads();",
    )
    if spec.pattern is Pattern.RANDOM:
        found = _hashed(f"{pointer} p = table + ", TABLE_ELEMENTS // 2)
    elif skip:
        place, operations = _place(spec)
        found = Addressing(setup=(f"{pointer} p = table + {place};",), setup_operations=operations + 1)
    else:
        found = _turning(spec, pointer)
    return replace(
        found,
        setup=(*fill, *found.setup),
        setup_operations=found.setup_operations
        + 2 * filled
        + 1
        + (0 if zeros else filled * (1 + kind.element_operations)),
        setup_accesses=filled,
        constants=_TABLE,
    )


def _constant(spec: SliceSpec, kind: ScalarKind) -> Addressing:
    pointer = _pointer(kind, volatile=False)
    if spec.pattern is Pattern.RANDOM:
        found = _hashed(f"{pointer} p = table + ", TABLE_ELEMENTS // 2)
    else:
        found = _turning(spec, pointer)
    return replace(found, constants=_TABLE, may_skip=False)


def _texture(spec: SliceSpec, kind: ScalarKind) -> Addressing:
    if spec.pattern is Pattern.RANDOM:
        found = _hashed("const int at = ", TABLE_ELEMENTS // 2)
        found = replace(found, trip_operations=found.trip_operations - 1)  # nothing is added to
    else:
        place, operations = _place(spec)
        found = Addressing(
            setup=(f"const int first = {place};",),
            setup_operations=operations,
            trip=(f"const int at = first + (i & {_TURN});",),
            trip_operations=2,
        )
    return replace(
        found,
        constants=_TABLE,
        load=f"tex1Dfetch<{kind.texel}>(data, at + {{offset}})",
        load_operations=1,
        may_skip=False,
    )


_TABLE = (("kTable", str(TABLE_ELEMENTS)), ("kRow", str(TABLE_ELEMENTS // 2 // DISTINCT_OFFSETS)))
_TURN = (
    TABLE_ELEMENTS // 4 - 1
)  # a place in the first quarter, a turn of up to a quarter, half for the offsets


def _pointer(kind: ScalarKind, volatile: bool) -> str:
    return f"const volatile {kind.element}*" if volatile else f"const {kind.element}*"


def _place(spec: SliceSpec) -> tuple[str, int]:
    """Where in the first quarter of the table a thread reads, and the operations of that."""
    if spec.pattern is Pattern.STRIDED:
        return f"(threadIdx.x * {STRIDE} & {_TURN})", 2
    if spec.space is Space.CONSTANT:
        return "threadIdx.x / 32", 1  # one word for the whole warp
    return "threadIdx.x", 0


def _turning(spec: SliceSpec, pointer: str) -> Addressing:
    """A place in the table that moves by one element with every trip: nothing stays loaded."""
    place, operations = _place(spec)
    return Addressing(
        setup=(f"{pointer} first = table + {place};",),
        setup_operations=operations + 1,
        trip=(f"{pointer} p = first + (i & {_TURN});",),
        trip_operations=2,
    )


def _hashed(declared: str, elements: int) -> Addressing:
    """A base out of `elements` (a power of two), drawn anew in every trip: the loads go from there."""
    shift = 32 - (elements.bit_length() - 1)
    return Addressing(
        setup=("unsigned h = thread * 2654435761u;", "h = (h ^ h >> 15) * 2246822519u;"),
        setup_operations=4,
        trip=("h = h * 1664525u + 1013904223u;", f"{declared}(h >> {shift});"),
        trip_operations=4,
    )


def _in_set(found: Addressing, elements: int) -> Addressing:
    """`found` in a set of `elements`: half of them for the base of an address, half for the offsets."""
    constants = (("kSet", str(elements)), ("kRow", f"kSet / {2 * DISTINCT_OFFSETS}"))
    return replace(found, constants=constants)
