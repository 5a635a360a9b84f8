"""Bytes that really move: sectors at L1, what is left of them at L2, what reaches DRAM.

From the addresses of the sampled lanes, per access site: the sectors a request touches. A block fetches
a sector from L2 once per object: its requests' distinct sectors, bounded by the span of the object that
the block touches. DRAM delivers an object once per launch, bounded by the object's span, as long as the
launch reads it in an order that caches follow. Both are lower bounds of traffic; capacity misses are
not modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wattslice.accesses import MemoryAccess, memory_accesses
from wattslice.counting.access import SECTOR_BYTES
from wattslice.counting.sampling import WARP_SIZE
from wattslice.execution import ExecutionProfile, SiteStatistics
from wattslice.geometry.types import KernelLaunch
from wattslice.ir import MemorySpace, Variable

GATHERED_SECTORS = WARP_SIZE
"""Sectors of a request whose addresses depend on data: each lane its own (upper bound)."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes per launched thread at each level, and shared-memory passes per warp.

    `footprint_bytes`: distinct bytes of global memory that the launch touches, None when some object's
    extent is unknown. `gathers`: some address depends on data, so that `l1_bytes` is an upper bound.
    """

    l1_bytes: float
    l2_bytes: float
    dram_bytes: float
    shared_passes: float
    shared_accesses: float
    footprint_bytes: float | None
    gathers: bool


@dataclass(slots=True)
class _Object:
    """What all accesses of one kind to one object add up to, in bytes per launch or per block."""

    requested: float = 0.0
    distinct_per_block: float = 0.0
    block_span: float | None = 0.0
    span: float | None = 0.0


def traffic(launch: KernelLaunch, profile: ExecutionProfile) -> Traffic:
    """The traffic of one launch."""
    warps_per_block = -(-launch.threads_per_block // WARP_SIZE)
    warps = warps_per_block * launch.blocks
    loads: dict[Variable | None, _Object] = {}
    stored = 0.0
    stored_objects: dict[Variable | None, _Object] = {}
    passes = shared = 0.0
    gathers = False
    for access in memory_accesses(launch.kernel):
        statistics = profile.sites[access.site]
        requests = profile.warp_counts[access.region]  # per warp
        if requests == 0.0:
            continue
        if access.space is MemorySpace.SHARED:
            passes += requests * (statistics.bank_passes or 1.0) * max(1, statistics.access_bytes // 4)
            shared += profile.thread_counts[access.region]
            continue
        if access.space not in (MemorySpace.GLOBAL, MemorySpace.TEXTURE):
            continue
        gathers = gathers or (statistics.sectors_per_request is None and access.space is MemorySpace.GLOBAL)
        requested = requests * _sectors(access, statistics) * SECTOR_BYTES
        table = stored_objects if access.is_store else loads
        entry = table.setdefault(access.root, _Object())
        _add(entry, requested, requested * warps_per_block, statistics)
        if access.is_store:
            stored += requested * (2.0 if access.is_atomic else 1.0)
    requested = sum(entry.requested for entry in loads.values())
    from_l2 = sum(_block_bytes(entry) for entry in loads.values()) * launch.blocks
    read = sum(_launch_bytes(entry, launch.blocks) for entry in loads.values())
    written = sum(_launch_bytes(entry, launch.blocks) for entry in stored_objects.values())
    threads = launch.threads_per_block * launch.blocks
    return Traffic(
        l1_bytes=(requested + stored) * warps / threads,
        l2_bytes=from_l2 / threads + stored * warps / threads,
        dram_bytes=(read + written) / threads,
        shared_passes=passes,
        shared_accesses=shared,
        footprint_bytes=_footprint(loads, stored_objects),
        gathers=gathers,
    )


def _sectors(access: MemoryAccess, statistics: SiteStatistics) -> float:
    """Sectors of one request; a texture fetch is taken to be as local as its cache wants it."""
    if statistics.sectors_per_request is not None:
        return statistics.sectors_per_request
    if access.space is MemorySpace.TEXTURE:
        return WARP_SIZE * max(4, statistics.access_bytes) / SECTOR_BYTES
    return GATHERED_SECTORS


def _add(entry: _Object, requested: float, per_block: float, statistics: SiteStatistics) -> None:
    entry.requested += requested
    share = 1.0 if statistics.block_distinct_share is None else statistics.block_distinct_share
    entry.distinct_per_block += per_block * share
    entry.block_span = _larger(entry.block_span, statistics.block_span_bytes)
    entry.span = _larger(entry.span, statistics.span_bytes)


def _larger(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else max(a, b)


def _block_bytes(entry: _Object) -> float:
    """Bytes one block fetches of an object."""
    if entry.block_span is None:
        return entry.distinct_per_block
    return min(entry.distinct_per_block, _whole_sectors(entry.block_span))


def _launch_bytes(entry: _Object, blocks: int) -> float:
    """Bytes of an object that move between DRAM and L2 in one launch."""
    bytes_ = _block_bytes(entry) * blocks
    return bytes_ if entry.span is None else min(bytes_, _whole_sectors(entry.span))


def _whole_sectors(span_bytes: float) -> float:
    return max(SECTOR_BYTES, -(-span_bytes // SECTOR_BYTES) * SECTOR_BYTES)


def _footprint(*tables: dict[Variable | None, _Object]) -> float | None:
    """Distinct bytes of all objects; an object both read and written counts once."""
    spans: dict[Variable | None, Sequence[float | None]] = {}
    for table in tables:
        for root, entry in table.items():
            spans[root] = (*spans.get(root, ()), entry.span)
    total = 0.0
    for of_root in spans.values():
        known = [span for span in of_root if span is not None]
        if len(known) < len(of_root):
            return None
        total += max(known)
    return total
