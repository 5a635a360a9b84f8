"""What a time and energy model has to know about one launch of one kernel."""

from __future__ import annotations

import math

from msgspec import Struct
from msgspec.structs import astuple


class Instructions(Struct, frozen=True):
    """Executed instructions by pipe, mean per launched thread (what the lowering makes of the source).

    An FMA is one instruction; a vector load is one instruction. `special` counts the special-function unit
    and conversions: the rest of a `sinf` stands under `fp32` and `integer`. `tensor` counts multiply-adds of
    the tensor cores (per thread's share), not instructions. `other`: branches, moves, predicates, barriers.
    """

    fp32: float = 0.0
    fp64: float = 0.0
    fp16: float = 0.0
    integer: float = 0.0
    special: float = 0.0
    tensor: float = 0.0
    load_store: float = 0.0
    other: float = 0.0
    integer_multiply: float = 0.0
    """The part of `integer` that multiplies (IMAD): other units do it than additions."""
    wide_conversion: float = 0.0
    """The part of `special` that converts from or to a 64-bit type: it holds the fp64 units too."""
    fp32_three_registers: float = 0.0
    """The part of `fp32` that reads three registers, none of which the instruction before it reads too."""


PASS_BYTES = 128
"""Width of shared memory and of L1: 32 banks of 4 bytes."""

ASSUMED_TRIPS = "data decide how often a loop runs: assumed"
"""The doubt about a launch whose counts, and so whose seconds, nobody knows."""


class Workload(Struct, frozen=True):
    """One kernel launch, independent of the GPU in meaning (`active_warps_per_sm` comes from occupancy).

    Everything "per thread" is the mean over all launched threads. ``None`` is unknown: the models then use
    the fallback stated at the field, and say so in the notes of their prediction.
    Raises ``ValueError`` for a launch without threads, for negative and for non-finite numbers.
    """

    blocks: int
    threads_per_block: int
    active_warps_per_sm: float
    """Warps one SM can hold at a time by the occupancy rules (a small grid may not fill them)."""
    instructions: Instructions
    warp_instructions: float | None = None
    """Issue slots per launched warp, divergence included. Unknown: as per thread (no divergence)."""
    l1_bytes: float | None = None
    """Bytes per thread that global loads and stores move in 32-byte sectors. Unknown: 4 per load or store."""
    l2_bytes: float | None = None
    """Bytes per thread that go past L1 to the L2 cache. Unknown: all of `l1_bytes` (nothing hits L1)."""
    dram_bytes: float | None = None
    """Bytes per thread that reach DRAM. Unknown: from `footprint_bytes` and the L2 size, else all of L2's."""
    shared_passes: float | None = 0.0
    """128-byte passes through shared memory per launched warp, bank conflicts included.
    Unknown: no conflicts, `shared_accesses` passes."""
    l1_passes: float | None = None
    """128-byte passes of global accesses through L1 per launched warp, bank conflicts included: it has the
    banks of shared memory. Unknown: as many as `l1_bytes` fill."""
    shared_accesses: float = 0.0
    """Shared-memory load and store instructions per thread (part of `instructions.load_store`)."""
    texture_fetches: float = 0.0
    """Texture fetches per thread (part of `instructions.load_store`)."""
    atomics: float = 0.0
    """Atomic operations per thread."""
    barriers: float = 0.0
    """Block barriers per thread."""
    global_loads: float | None = None
    """Global load instructions per thread: a warp waits for loads, not for stores. Unknown: all of
    `instructions.load_store` that do not go to shared memory."""
    dependent_instructions: float | None = None
    """Arithmetic instructions of a warp that wait for one another, in those of fp32. Unknown: half."""
    dependent_shared: float | None = None
    """Loads from shared memory and shuffles of the same chain. Unknown: half of `shared_accesses`."""
    dependent_loads: float | None = None
    """Loads from global memory or textures of the same chain. Unknown: all of `global_loads`."""
    footprint_bytes: float | None = None
    """Distinct bytes of global memory that the whole launch touches."""
    dram_rows: float | None = None
    """Rows of DRAM opened per thread. Unknown: none, as if all bytes of each moved at once."""
    longest_warp: float = 1.0
    """Length of the longest warp of a block, mean over blocks, relative to the mean warp of the launch."""
    live_operands: float = 1.0
    """Share of the arithmetic that works on live values. The rest is idle, and draws less: hardly a bit of
    its operands toggles, because they are always zero or infinite, or the same in every thread. No source
    shows that; it is known of some measured programs only."""
    live_data: float = 1.0
    """Share of the bytes of DRAM that are live in the same sense."""
    doubt: str = ""
    """Why the counts or bytes are not to be trusted, else empty."""
    constant_requests: float = 0.0
    """Distinct addresses of the lanes of each load from constant memory (LDC), per launched warp."""
    constant_misses: float = 0.0
    """Lines of 64 bytes, beyond the first of a load, that the cache for indexed constants does not hold."""
    atomic_requests: float = 0.0
    """What atomics on global memory ask of L2, per launched warp: one for each sector, and again for each
    lane that has the same word."""
    atomic_line_requests: float = 0.0
    """The part of them that one line of 128 bytes gets; 0 where no size of what they reach is known."""
    kinds: tuple[Workload, ...] = ()
    """The blocks of each kind, where they do not all have the same work: alone on the GPU, so to say. Of them
    only how far they differ counts: what they add up to says the launch itself. None: all alike."""

    def __post_init__(self) -> None:
        if self.blocks < 1 or self.threads_per_block < 1:
            raise ValueError(f"{self.blocks} blocks of {self.threads_per_block} threads: nothing runs")
        if not self.active_warps_per_sm > 0:
            raise ValueError(f"{self.active_warps_per_sm} active warps per SM: the launch cannot run")
        for part in (self, self.instructions):
            for at, value in enumerate(astuple(part)):
                if isinstance(value, (int, float)) and not 0 <= value < math.inf:
                    name = part.__struct_fields__[at]
                    raise ValueError(f"{name} = {value}: must be finite and not negative")

    @property
    def warps_per_block(self) -> int:
        """Warps of 32 threads, the last one possibly partly filled."""
        return -(-self.threads_per_block // 32)

    @property
    def threads(self) -> int:
        """Launched threads."""
        return self.blocks * self.threads_per_block

    @property
    def warps(self) -> int:
        """Launched warps."""
        return self.blocks * self.warps_per_block

    @property
    def issue_slots_per_warp(self) -> float:
        """`warp_instructions`, or its fallback: the instructions of a thread, as if no warp diverged."""
        undivided = self.instructions_per_thread
        return undivided if self.warp_instructions is None else self.warp_instructions

    @property
    def divergence(self) -> float:
        """Instructions that a warp issues for each that its threads execute on average, at least 1.

        A pipe is held as long by a warp of which few lanes take part as by a full one.
        """
        executed = self.instructions_per_thread
        return max(1.0, self.issue_slots_per_warp / executed) if executed else 1.0

    @property
    def instructions_per_thread(self) -> float:
        """Instructions of all pipes, mean per launched thread."""
        part = self.instructions
        scalar = part.fp32 + part.fp64 + part.fp16 + part.integer + part.special
        # One tensor instruction of a warp makes 16 x 8 x 16 multiply-adds, 64 a thread (sm_80 and later).
        return scalar + part.load_store + part.other + part.tensor / 64
