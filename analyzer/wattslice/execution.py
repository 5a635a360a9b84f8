"""How often everything in a kernel runs for one launch: what counting finds and all later stages read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ProbabilitySource(Enum):
    """Where the probability of a branch arm came from."""

    STATIC = "static"  # thread indices and known values decide it
    PROFILE = "profile"  # --profile
    DEFAULT = "default"  # data-dependent, stated default


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something the analysis had to assume, the line it concerns, and the option that settles it."""

    rule: str
    line: int
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class BranchArm:
    """One arm of a branch: `region` of its statement, mean `probability` that a visit takes it."""

    line: int
    arm: str  # "then", "else", "case 3", "default"
    region: int
    probability: float
    source: ProbabilitySource


@dataclass(frozen=True, slots=True)
class LoopTrips:
    """Mean iterations per entry of one loop; None in `trip_count` when unknown (then `assumed` was used)."""

    line: int
    region: int
    trip_count: float | None
    assumed: float


@dataclass(frozen=True, slots=True)
class SiteStatistics:
    """How one textual memory access behaves, averaged over sampled warps.

    `sectors_per_request`: 32-byte sectors one warp's request touches (global, constant, local).
    `bank_passes`: passes a shared-memory request takes (1 = conflict-free).
    `block_distinct_share`: of the sectors a block's warps request in one visit, the share that is distinct.
    `block_span_bytes`, `span_bytes`: from the lowest to the highest byte that one block, and that all
    samples touch: upper bounds of the footprint.
    `access_bytes`: size of the accessed object.
    None: the address depends on data or on something unknown.
    """

    sectors_per_request: float | None
    bank_passes: float | None
    block_distinct_share: float | None
    block_span_bytes: float | None
    span_bytes: float | None
    access_bytes: int


@dataclass(frozen=True, slots=True)
class ExecutionProfile:
    """Counts for one launch of one kernel, indexed by region and site.

    `thread_counts[r]`: mean number of times a launched thread runs region r.
    `warp_counts[r]`: mean number of times a warp issues region r (≥ thread count when lanes diverge).
    """

    thread_counts: tuple[float, ...]
    warp_counts: tuple[float, ...]
    sites: tuple[SiteStatistics, ...]
    loops: tuple[LoopTrips, ...]
    arms: tuple[BranchArm, ...]
    assumptions: tuple[Assumption, ...]
