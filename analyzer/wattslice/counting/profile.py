"""How often everything in a kernel runs for one launch: what counting finds and all later stages read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.operation_counts import OperationCounts, operations, weighted_counts
from wattslice.launches.launch import Assumption


class ProbabilitySource(Enum):
    """Where the probability of a branch arm came from."""

    STATIC = "static"  # thread indices and known values decide it
    PROFILE = "profile"  # --profile
    SAMPLED = "sampled"  # as STATIC, of blocks drawn at random that stand for all
    DEFAULT = "default"  # data-dependent, and nothing speaks for either way: the stated default


KNOWN_TO_LANES = (ProbabilitySource.STATIC, ProbabilitySource.SAMPLED)
"""Sources of arms whose lanes are known: so are the sectors that each arm touches."""


class BranchArm(Struct, frozen=True):
    """One arm of a branch: `region` of its statement, mean `probability` that a visit takes it.

    `column` (from 1) of where `line` says, 0 when nobody asked. `file`: as in `Assumption`. `is_open`: data
    may leave a loop here, which was assumed never to happen. `measured`: its least and its largest share in
    single data sets of the profile; None with fewer than two. Of what is sampled: the bounds of its error.
    """

    line: int
    arm: str  # "then", "else", "case 3", "default"
    region: int
    probability: float
    source: ProbabilitySource
    file: str = ""
    column: int = 0
    is_open: bool = False
    measured: tuple[float, float] | None = None

    @property
    def interval(self) -> tuple[float, float]:
        """Where the probability may lie: a point when it is known, over the data sets when it is measured.

        Else wide (`spread`).
        """
        if self.measured is not None and self.source is not ProbabilitySource.DEFAULT:
            return min(self.measured[0], self.probability), max(self.measured[1], self.probability)
        if self.source in (ProbabilitySource.STATIC, ProbabilitySource.PROFILE):
            return self.probability, self.probability
        if self.is_open:
            return 0.0, 1.0
        return spread(self.probability)


def spread(probability: float) -> tuple[float, float]:
    """How far the probability of one branch may lie from that of all branches of its kind: low and high.

    An assumed probability is a mean over branches. Of all distributions on [0, 1] with mean p the one whose
    every branch always goes one way has the largest standard deviation, sqrt(p (1 - p)); real branches are
    near it. The interval is one such deviation to either side: 0.5 gives 0 to 1, 0.25 gives 0 to 0.68.
    """
    deviation = math.sqrt(max(0.0, probability * (1.0 - probability)))
    return max(0.0, probability - deviation), min(1.0, probability + deviation)


class LoopTrips(Struct, frozen=True):
    """Mean iterations per entry of one loop; None in `trip_count` when unknown (then `assumed` was used).

    `file`: as in `Assumption`. `is_most`: what was assumed is the bound that it cannot exceed.
    """

    line: int
    region: int
    trip_count: float | None
    assumed: float
    file: str = ""
    is_most: bool = False


class Reach(Struct, frozen=True):
    """The part of an object that was seen to be touched, as a box: `low` to below `high` along each axis.

    Memory has one axis, in bytes (`unit_bytes` 1); a texture has one per coordinate, in texels.
    """

    low: tuple[int, ...]
    high: tuple[int, ...]
    unit_bytes: int = 1

    @property
    def bytes(self) -> float:
        """Bytes inside the box: an upper bound of the footprint."""
        return float(
            math.prod(end - start for start, end in zip(self.low, self.high, strict=True)) * self.unit_bytes
        )

    def union(self, other: Reach) -> Reach:
        """The smallest box around both; raises ValueError for boxes of different kinds."""
        if len(self.low) != len(other.low) or self.unit_bytes != other.unit_bytes:
            raise ValueError("boxes of different kinds have no union")
        return Reach(
            tuple(map(min, self.low, other.low)), tuple(map(max, self.high, other.high)), self.unit_bytes
        )


class ReachedObject(Struct, frozen=True):
    """An object that one textual access goes to: None where it is known by no pointer of its own.

    `share`: of the requests. `block_reach`, `launch_reach`: what one block, and what all samples touch of it;
    None: the address depends on data or on something unknown; of the launch alone: each block goes to an
    object of its own. `block_runs`: runs of bytes that the block touches, first and one behind the last, in
    order; None unless every visit was looked at. `moves`: of each axis of the grid the place of that block
    and by how many bytes the next one lies behind, if each touches no more; None: not known. `within`: where
    all of it is if data lead, as far as its index has bounds.
    """

    root: ir.Root | None
    share: float
    block_reach: Reach | None
    launch_reach: Reach | None
    block_runs: tuple[tuple[int, int], ...] | None = None
    moves: tuple[tuple[int, int], ...] | None = None
    within: Reach | None = None


class SiteStatistics(Struct, frozen=True):
    """How one textual memory access behaves, averaged over sampled warps.

    `sectors_per_request`: 32-byte sectors one warp's request touches (global, texture, local); of constant
    memory lines of 64 bytes.
    `bank_passes`: passes a request to shared memory or L1 takes (1 = conflict-free); of a request to constant
    memory the distinct addresses. `joined_passes`: those
    of a request to shared memory that takes one neighbour along, or three, in 128-byte passes. `queued`: if
    shared memory serves each lane by itself, the most that one bank has to; and the same where lanes of one
    block that all have one address count as one.
    `block_distinct_share`: of the sectors a block's warps request in one visit, the share that is distinct.
    `objects`: what it goes to. `block`: the number of the block of which their reach is told among those
    looked at; one that comes here, if any does. `block_scale`: how often blocks come here on the mean,
    relative to that one.
    `access_bytes`: size of the accessed object; `request_bytes`: of what one request takes of it. Of the
    requests for one object the share that is distinct counts what they have in common once.
    `bytes_per_row`: of a row of DRAM, what blocks that run next to one another touch in one visit.
    `words_per_request`: of an atomic, the distinct addresses.
    None: the address depends on data or on something unknown.
    """

    sectors_per_request: float | None
    bank_passes: float | None
    block_distinct_share: float
    objects: tuple[ReachedObject, ...]
    access_bytes: int
    request_bytes: int
    bytes_per_row: float | None = None
    block: int = 0
    block_scale: float = 1.0
    joined_passes: tuple[float, float] | None = None
    queued: tuple[float, float] | None = None
    words_per_request: float | None = None

    @property
    def only(self) -> ReachedObject | None:
        """The object that all requests go to; None where there are several, or none is known."""
        return self.objects[0] if len(self.objects) == 1 else None

    @property
    def block_reach(self) -> Reach | None:
        """As of the `only` object."""
        return None if self.only is None else self.only.block_reach

    @property
    def launch_reach(self) -> Reach | None:
        """As of the `only` object."""
        return None if self.only is None else self.only.launch_reach


class Sampling(Struct, frozen=True):
    """Counts that are estimates: of `of_blocks` only `blocks`, drawn at random, were evaluated.

    `reason`: what in the kernel kept the others from being known. `thread_errors`, `warp_errors`: how far
    each count may be from the truth, by region; None where no bound is known. `relative_error`: the same of
    all operations together. `open_lines`: the loops that other blocks may run longer than any drawn one.
    """

    blocks: int
    of_blocks: int
    reason: str
    thread_errors: tuple[float | None, ...]
    warp_errors: tuple[float | None, ...]
    relative_error: float | None
    open_lines: tuple[int, ...] = ()


class BlockKind(Struct, frozen=True):
    """Blocks of about the same work: their share of the grid, and the counts of `ExecutionProfile` in them.

    `longest_warp`: operations of the longest warp of a block, mean over these blocks, relative to their mean
    warp. `size`: relative to that of the mean block.
    """

    share: float
    size: float
    longest_warp: float
    thread_counts: tuple[float, ...]
    warp_counts: tuple[float, ...]


class ExecutionProfile(Struct, frozen=True):
    """Counts for one launch of one kernel, indexed by region and site.

    `sampling`: None when all blocks are known.

    `thread_counts[r]`: mean number of times a launched thread runs region r.
    `warp_counts[r]`: mean number of times a warp issues region r (≥ thread count when lanes diverge).
    `longest_warp`: operations of the longest warp of a block, mean over blocks, relative to the mean warp.
    `kinds`: of a grid whose blocks do not all have the same work; what data decide is alike in all blocks.
    """

    thread_counts: tuple[float, ...]
    warp_counts: tuple[float, ...]
    sites: tuple[SiteStatistics, ...]
    loops: tuple[LoopTrips, ...]
    arms: tuple[BranchArm, ...]
    assumptions: tuple[Assumption, ...]
    sampling: Sampling | None = None
    longest_warp: float = 1.0
    kinds: tuple[BlockKind, ...] = ()

    def with_counts(self, threads: Sequence[float], warps: Sequence[float]) -> ExecutionProfile:
        """The same with other counts on the mean, in which the kinds of blocks have the same part."""

        def part(own: Sequence[float], new: Sequence[float], old: Sequence[float]) -> tuple[float, ...]:
            return tuple(
                now if not was else one * now / was for one, now, was in zip(own, new, old, strict=True)
            )

        kinds = tuple(
            replace(
                kind,
                thread_counts=part(kind.thread_counts, threads, self.thread_counts),
                warp_counts=part(kind.warp_counts, warps, self.warp_counts),
            )
            for kind in self.kinds
        )
        return replace(self, thread_counts=tuple(threads), warp_counts=tuple(warps), kinds=kinds)


def total_counts(kernel: ir.Kernel, profile: ExecutionProfile) -> OperationCounts:
    """Mean source operations per launched thread: `counts_per_thread` of the JSON contract.

    Raises `ValueError` when the profile is not one of this kernel.
    """
    if len(profile.thread_counts) != kernel.region_count:
        message = f"{len(profile.thread_counts)} thread counts for {kernel.region_count} regions"
        raise ValueError(message)
    return weighted_counts(operations(kernel), profile.thread_counts)
