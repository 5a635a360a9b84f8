"""Slices of tensor cores: matrix tiles of 16 x 16 halves, loaded by a warp as a whole, and where they lie."""

from __future__ import annotations

from wattslice_corpora.synthetic.addressing import STRIDE, Addressing
from wattslice_corpora.synthetic.spec import THREADS_PER_BLOCK, InputData, Pattern, SliceSpec, Space

TILE_CHAINS = 4
"""Independent accumulators of a warp."""
TILE_ELEMENTS = 8
"""Elements of an accumulator that a thread holds."""
TILE_BYTES_PER_THREAD = 16
"""A tile of 16 x 16 halves over the 32 threads of a warp."""
MOST_TILES = 16
"""Tiles that one trip of the loop loads at most."""
HOST_BITS = "0x38003800u | (h & 0x83ff83ffu)"
"""Two halves between 0.5 and 1 or -0.5 and -1, from 32 hashed bits."""
_SIDE = 16
_SHARED_HALVES = 8192
_WARPS = THREADS_PER_BLOCK // 32


def tile_addressing(spec: SliceSpec, loads: int) -> Addressing:
    """How a warp finds the tiles it reads, with `loads` in a trip; strided: rows 128 halves apart."""
    if spec.space is Space.REGISTERS:
        return Addressing(most_loads=0)
    strided = spec.pattern is Pattern.STRIDED
    lead = _SIDE * STRIDE if strided else _SIDE
    tile = ("kTile", f"{_SIDE} * kLead")
    if spec.space is Space.SHARED:
        return _shared(spec, strided, lead)
    if spec.space is Space.GLOBAL:
        return Addressing(
            setup=("const __half* p = data + thread / 32 * kTile;",),
            setup_operations=3,
            setup_accesses=1,
            trip_end=("p += kStep;",),
            trip_operations=1,
            constants=(
                ("kLead", str(lead)),
                tile,
                ("kRow", "kBlocks * kThreads / 32 * kTile"),
                ("kStep", f"{loads} * kRow"),
            ),
            load="&p[{offset}]",
            may_skip=False,
            most_loads=MOST_TILES,
        )
    turns = 8 if strided else 64
    return Addressing(  # every block reads the same set, all of it before any again: more than L1 holds
        setup=("const __half* first = data + threadIdx.x / 32 * kTile;",),
        setup_operations=3,
        setup_accesses=1,
        trip=(f"const __half* p = first + (i & {turns - 1}) * kStep;",),
        trip_operations=3,
        constants=(
            ("kLead", str(lead)),
            tile,
            ("kRow", "kThreads / 32 * kTile"),
            ("kStep", f"{loads} * kRow"),
            ("kSet", f"{turns} * kStep"),
        ),
        load="&p[{offset}]",
        may_skip=False,
        most_loads=MOST_TILES,
    )


def _shared(spec: SliceSpec, strided: bool, lead: int) -> Addressing:
    zeros = spec.data is InputData.ZEROS
    filled = _SHARED_HALVES // THREADS_PER_BLOCK
    value = "__ushort_as_half(0x3800u | (h >> 16 & 0x83ffu))"
    return Addressing(
        setup=(
            "__shared__ __half table[kTable];",
            "for (int j = threadIdx.x; j < kTable; j += blockDim.x) {",
            *(() if zeros else ("    const unsigned h = j * 2654435761u;",)),
            f"    table[j] = {'__float2half(0.0f)' if zeros else value};",
            "}",
            "__syncthreads();",
            f"const __half* first = table + threadIdx.x / 32 * {'16' if strided else '256'};",
        ),
        setup_operations=2 * filled + 1 + (0 if zeros else 4 * filled) + 3,
        setup_accesses=filled + 1,
        trip=("const __half* p = first + (i & 7) * 16;",),
        trip_operations=3,
        constants=(
            ("kTable", str(_SHARED_HALVES)),
            ("kLead", str(lead)),
            ("kRow", str(128 if strided else 256)),
        ),
        load="&p[{offset}]",
        may_skip=False,
        most_loads=MOST_TILES,
    )
