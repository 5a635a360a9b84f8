"""Bytes that really move: sectors at L1, what is left of them at L2, what reaches DRAM.

The rules are those of docs/counting.md, "Bytes". A block fetches a sector from L2 once per object: its
requests' distinct sectors, bounded by those of the object that it touches at all (`counting/touched.py`; else
by the span from the first to the last). DRAM delivers an object once per launch, bounded by its span and by
the sectors of one block, moved to each place of the grid (`of_all`), unless L2 loses it (`L2Reuse`) or a loop
goes through more than a cache holds (`_beyond`): lower bounds. Of all arrays read at random L2 holds its own
size; a fetch misses with the probability of the rest.

Local memory: consecutive words belong to consecutive threads (NVIDIA, CUDA C++ Programming Guide, "Local
Memory"). L1 writes it back (Micikevicius, "Local Memory and Register Spilling", NVIDIA 2011; recalled, not
re-read): what does not fit goes to L2, and from there to DRAM. Resident threads are taken to touch their
arrays uniformly, so that a cache hits with the share that it holds; other data take no room: a lower bound.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.counting.profile import KNOWN_TO_LANES, ExecutionProfile, Reach, ReachedObject, SiteStatistics
from wattslice.counting.sampling import WARP_SIZE
from wattslice.counting.sites import BANK_BYTES, BANKS, CONSTANT_LINE_BYTES, SECTOR_BYTES
from wattslice.counting.touched import Lanes, merged, united
from wattslice.ir import AtomicOp, Kernel, MemorySpace, TypeKind, Variable
from wattslice.ir.accesses import (
    MemoryAccess,
    follows_data,
    is_written_alike,
    loaded_registers,
    memory_accesses,
    register_assignments,
    value_parts,
)
from wattslice.ir.walking import walk_statements
from wattslice.launches.launch import Dim3, KernelLaunch
from wattslice.workload.instructions.charging import Pass
from wattslice.workload.instructions.statements import RequestCount
from wattslice_models.workload import PASS_BYTES


class AccessTraffic(Struct, frozen=True):
    """What one access as written moves, units as in `Traffic`: together its totals.

    What several accesses to one object have in common is divided by what each would fetch alone.
    `shared_passes`: of constant memory, `Traffic.constant_requests`.
    """

    access: MemoryAccess
    l1_bytes: float
    l2_bytes: float
    dram_bytes: float
    shared_passes: float


class Traffic(Struct, frozen=True):
    """Bytes per launched thread at each level, and shared-memory passes per warp.

    `dram_rows`: rows of DRAM that are opened; what data lead to opens none, a lower bound.
    `footprint_bytes`: distinct bytes of global memory that the launch touches, None when some object's
    extent is unknown. `l1_passes`: of global and texture accesses through L1, as `Workload` has them.
    `constant_requests`, `constant_misses`: of constant memory, distinct addresses of a warp's loads, and
    lines that its cache lacks, beyond the first of each load. `atomic_requests`: what the warp's atomics on
    global memory ask of L2, once for each sector and for each lane that has the same word;
    `atomic_line_requests`: those that one line of 128 bytes gets, divided by all warps, where the size of
    what they reach is known.
    `gathered`: accesses whose address depends on data; with them `l1_bytes` is an upper bound.
    """

    l1_bytes: float
    l2_bytes: float
    dram_bytes: float
    dram_rows: float
    shared_passes: float
    l1_passes: float
    shared_accesses: float
    constant_requests: float
    constant_misses: float
    atomic_requests: float
    atomic_line_requests: float
    footprint_bytes: float | None
    gathered: tuple[MemoryAccess, ...]
    by_access: tuple[AccessTraffic, ...] = ()


MOST_L1_BYTES = 256 * 1024
"""No L1 cache is larger (compute capability 9.0, shared memory included: CUDA C++ Programming Guide)."""


class _Part(Struct, frozen=True):
    """One access to an object: bytes requested per warp, and distinct ones per block."""

    access: MemoryAccess
    requested: float
    distinct: float
    passes: tuple[Pass, ...]


class _Reached(Struct):
    """What those accesses touch that were looked at in the same block: bytes per block, on the mean of all,
    what one block reaches, and how often blocks come there on the mean, relative to that one. `runs`: of all
    of them, in bytes; None: not known of one. `moves`: as in `ReachedObject`, if it is the same of all.
    """

    distinct: float = 0.0
    reach: Reach | None = None
    scale: float = 0.0
    runs: list[tuple[int, int]] | None = field(default_factory=list[tuple[int, int]])
    moves: tuple[tuple[int, int], ...] | None = None
    counted: tuple[int, float] = (0, 0.0)  # of how many runs, the bytes of their sectors

    @property
    def span(self) -> float:
        """The most bytes that one block touches of it."""
        if self.reach is None:
            return math.inf
        if self.runs is None:
            return _whole_sectors(self.reach.bytes)
        if self.counted[0] != len(self.runs):
            self.counted = len(self.runs), _sector_bytes(*_in_order(self.runs))
        return self.counted[1]

    def bytes(self, passes: float) -> float:
        """Bytes that one block fetches, on the mean of all."""
        return self.distinct if self.reach is None else min(self.distinct, passes * self.scale * self.span)

    def of_all(self, grid: Dim3, resident: int, cache_bytes: float) -> float:
        """Distinct bytes that all blocks of a grid touch, as if each were this one, moved. What neighbours
        share that are more than `resident` blocks apart, with more in between than a cache holds, is fetched
        by each.
        """
        if not self.runs or self.moves is None:
            return math.inf
        first, behind = _in_order(self.runs)
        times = apart = 1
        for (place, step), extent in zip(self.moves, grid, strict=True):
            is_near = step == 0 or apart <= resident or times * _sector_bytes(first, behind) <= cache_bytes
            found = united(first - place * step, behind - place * step, [(step, extent)]) if is_near else None
            if found is None:
                times *= extent
            else:
                first, behind = found
            apart *= extent
        return times * _sector_bytes(first, behind)


class _Object(Struct):
    """What all accesses of one kind to one object add up to, in bytes per warp and per block."""

    root: ir.Root | None
    requested: float = 0.0
    distinct_per_block: float = 0.0
    by_block: dict[int, _Reached] = field(default_factory=dict[int, _Reached])
    launch_reach: Reach | None = None
    whole_bytes: float = math.inf  # what all blocks touch, as far as known
    is_bounded: bool = True
    is_kept: bool = True  # by the L1 cache
    parts: list[_Part] = field(default_factory=list[_Part])
    gathered_per_block: float = 0.0  # of `distinct_per_block`, where data lead, in an array of known size

    def add(
        self,
        access: MemoryAccess,
        requested: float,
        distinct: float,
        own: ReachedObject,
        block: int,
        within: Reach | None,
        passes: tuple[Pass, ...],
        scale: float,
    ) -> None:
        """Takes in one access; `own`: what it reaches, in the `block` that was looked at; `within`: all of
        the array, if its size is known.

        `distinct`: bytes that the warps of a block request and have not requested just before. `scale`: as in
        `_Reached`.
        """
        self.requested += requested
        self.distinct_per_block += distinct
        self.parts.append(_Part(access, requested, distinct, passes))
        reach, block_reach = own.launch_reach, own.block_reach
        if block_reach is None and reach is None:
            reach = block_reach = within
            self.gathered_per_block += distinct
            if reach is None:
                self.is_bounded = False
                return
        if reach is not None:
            self.launch_reach = _around(self.launch_reach, reach)
        reached = self.by_block.setdefault(block, _Reached(moves=own.moves))
        reached.distinct += distinct
        reached.scale = max(reached.scale, scale)
        if block_reach is not None:
            reached.reach = _around(reached.reach, block_reach)
        if reached.moves != own.moves:
            reached.moves = None
        if own.block_runs is None:
            reached.runs = None
        elif reached.runs is not None:
            reached.runs += own.block_runs

    def find_whole(self, grid: Dim3, resident: int, cache_bytes: float) -> None:
        """Notes the distinct bytes that all blocks touch (`_Reached.of_all`)."""
        if self.is_bounded and self.launch_reach is not None:
            of_blocks = sum(one.of_all(grid, resident, cache_bytes) for one in self.by_block.values())
            self.whole_bytes = min(_whole_sectors(self.launch_reach.bytes), of_blocks)

    @property
    def reached_bytes(self) -> float:
        """The most that one block touches of it."""
        return max((one.span for one in self.by_block.values() if one.reach is not None), default=math.inf)

    def block_bytes(self, passes: float = 1.0) -> float:
        """Bytes a block fetches: each distinct sector of a visit, at most its reach in each of the passes."""
        if not self.is_bounded:
            return self.distinct_per_block
        return min(passes * self.whole_bytes, sum(one.bytes(passes) for one in self.by_block.values()))

    def axes(self, kernel: Kernel) -> frozenset[int]:
        """The axes of the grid along which blocks touch other parts of it."""
        return frozenset[int]().union(*(block_axes(kernel, part.access) for part in self.parts))

    def fetched(self, warps_per_block: int, passes: float) -> float:
        """Bytes that one block's loads bring from L2; of one pass L1 keeps nothing for the next."""
        return self.block_bytes(passes) if self.is_kept else self.requested * warps_per_block

    def divided(self, l2_bytes: float | None, dram_bytes: float, warps: float) -> Iterator[AccessTraffic]:
        """The bytes of each access; `l2_bytes` None: of stores, which all go there. `warps` per thread."""
        requested = sum(part.requested for part in self.parts)
        for part in self.parts:
            share = part.distinct / self.distinct_per_block if self.distinct_per_block else 0.0
            l1 = part.requested * (2.0 if part.access.is_atomic else 1.0) * warps
            fetched = share if self.is_kept else part.requested / requested if requested else 0.0
            l2 = l1 if l2_bytes is None else l2_bytes * fetched
            yield AccessTraffic(part.access, l1, l2, dram_bytes * share, 0.0)

    def passes(self, runs: Sequence[float], too_large: Collection[int]) -> float:
        """How often a block goes through all of it, as far as a cache forgets it meanwhile.

        `runs`: of each region; `too_large`: regions of which one run touches more than the cache holds.
        """
        return _visits([part.passes for part in self.parts], runs, too_large)

    def launch_bytes(
        self, blocks: int, fetches: float = 1.0, missing: float = 0.0, passes: float = 1.0
    ) -> float:
        """Bytes that move between DRAM and L2 in one launch.

        `fetches`: how often what is touched comes from DRAM, in each of so many `passes` of a block;
        `missing`: share of gathers that L2 misses.
        """
        fetched = self.block_bytes(passes) * blocks
        moved = max(fetches * passes * self.whole_bytes, self.gathered_per_block * blocks * missing)
        return min(fetched, moved)


def traffic(
    launch: KernelLaunch,
    profile: ExecutionProfile,
    requests: tuple[RequestCount, ...],
    *,
    l1_keeps_loads: bool = True,
    l2_bytes: float | None = None,
    resident_blocks: int | None = None,
    blocks_per_sm: int = 1,
    local_l1_bytes: float = math.inf,
) -> Traffic:
    """The traffic of one launch.

    `l2_bytes`: size of the L2 cache; None: it keeps nothing of what data lead to, and all that blocks share.
    `resident_blocks`: how many run at a time; None: all of them. `blocks_per_sm`: on one multiprocessor.
    `requests`: those that the compiler leaves of the accesses as written. `l1_keeps_loads`: whether the L1
    cache keeps what global loads bring for the next ones; textures are always cached. `local_l1_bytes`: what
    the L1 cache of a multiprocessor has for local memory.
    """
    warps_per_block = -(-launch.threads_per_block // WARP_SIZE)
    loads: dict[ir.Root | None, _Object] = {}
    past_l1: dict[ir.Root | None, _Object] = {}
    stores: dict[ir.Root | None, _Object] = {}
    passes = l1_passes = shared = stored = 0.0
    local: dict[Variable | None, list[tuple[MemoryAccess, float]]] = {}
    gathered: list[MemoryAccess] = []
    by_access: list[AccessTraffic] = []
    constants: dict[ir.Root | None, _Constants] = {}
    atomics: dict[ir.Root | None, _Atomics] = {}
    arrays, extents = launch.same_arrays, launch.extents
    loaded = loaded_registers(launch.kernel.body)
    for access, made in made_accesses(launch, profile, requests):
        statistics = profile.sites[access.site]
        if access.space is MemorySpace.SHARED:
            if access.atomic is None:
                own = made.per_warp * shared_passes(statistics, made)
                if statistics.bank_passes is None and follows_data(access.addresses, loaded):
                    own *= _passes_at_random(*_drawn(access, statistics, made), joins_lanes=True)
            else:
                own = made.per_warp * _atomic_passes(access, access.atomic, statistics, made)
            by_access.append(AccessTraffic(access, 0.0, 0.0, 0.0, own))
            passes += own
            shared += made.per_thread
            continue
        if access.space is MemorySpace.CONSTANT:
            if statistics.bank_passes is None:
                gathered.append(access)
            size_bytes = 0 if access.root is None else access.root.type.size_bytes
            array = constants.setdefault(access.root, _Constants(size_bytes))
            by_access.append(AccessTraffic(access, 0.0, 0.0, 0.0, array.add(statistics, made)))
            continue
        if access.space not in (MemorySpace.GLOBAL, MemorySpace.TEXTURE, MemorySpace.LOCAL):
            continue
        if statistics.sectors_per_request is None:
            gathered.append(access)
        led_into = array_bytes(launch, access, statistics)
        requested = made.per_warp * request_sectors(access, statistics, made, led_into) * SECTOR_BYTES
        if access.space is MemorySpace.LOCAL:
            l1_passes += requested / PASS_BYTES
            local.setdefault(access.root, []).append((access, requested))
            continue
        times = 2.0 if access.is_atomic else 1.0
        l1_passes += times * max(made.per_warp * request_passes(statistics), requested / PASS_BYTES)
        is_kept = access.space is MemorySpace.TEXTURE or (l1_keeps_loads and not access.skips_l1)
        table = stores if access.is_store else loads if is_kept else past_l1
        distinct = requested * warps_per_block * min(1.0, made.fresh * statistics.block_distinct_share)
        for own in statistics.objects or (ReachedObject(None, 1.0, None, None),):
            root = _object_of(access, own.root, arrays)
            entry = table.setdefault(root, _Object(root, is_kept=is_kept))
            amounts = own.share * requested, own.share * distinct
            whole = _whole_array(access, root, extents, own)
            entry.add(access, *amounts, own, statistics.block, whole, made.passes, statistics.block_scale)
            if access.atomic is not None:
                number = own.share * made.per_warp * _atomic_requests(access, access.atomic, statistics, made)
                atomics.setdefault(root, _Atomics()).add(number, own.launch_reach or whole)
        if access.is_store:
            stored += requested * times
    loaded = (*loads.values(), *past_l1.values())
    requested = sum(entry.requested for entry in loaded)
    entries = (*loaded, *stores.values())
    runs = profile.warp_counts
    together = min(launch.blocks, resident_blocks or launch.blocks)
    for entry in entries:
        entry.find_whole(launch.grid, together, math.inf if l2_bytes is None else l2_bytes)
    beyond_l2 = _beyond(launch, entries, l2_bytes, together, runs)
    beyond_l1 = _beyond(launch, loads.values(), MOST_L1_BYTES, min(together, blocks_per_sm), runs)
    brought = [
        entry.fetched(warps_per_block, entry.passes(runs, beyond_l1)) * launch.blocks for entry in loaded
    ]
    missing = _missing((loads, past_l1, stores), l2_bytes)
    reuse = _reuse(launch, (loads, past_l1, stores), l2_bytes, resident_blocks)
    moved = [
        entry.launch_bytes(
            launch.blocks,
            1.0 if reuse is None else reuse.fetches(entry.axes(launch.kernel)),
            missing,
            entry.passes(runs, beyond_l2 & beyond_l1 if place < len(loads) else beyond_l2),
        )
        for place, entry in enumerate(entries)
    ]
    threads = launch.threads_per_block * launch.blocks
    warps = warps_per_block * launch.blocks
    held = launch.threads_per_block * sum(
        _touched_locally(profile, root, found) for root, found in local.items()
    )
    share = blocks_per_sm / (resident_blocks or launch.blocks)  # of the blocks at a time those on one SM
    past_l1_share = _overflow(held * math.ceil(together * share), local_l1_bytes)
    past_l2_share = past_l1_share * _overflow(held * together, l2_bytes or 0.0)
    of_threads = [
        AccessTraffic(access, own, own * past_l1_share, own * past_l2_share, 0.0)
        for access, requested in itertools.chain(*local.values())
        for own in (requested * warps / threads,)
    ]
    by_access += of_threads
    for place, (entry, bytes_) in enumerate(zip(entries, moved, strict=True)):
        own = brought[place] / threads if place < len(loaded) else None
        by_access += entry.divided(own, bytes_ / threads, warps / threads)
    return Traffic(
        l1_bytes=(requested + stored) * warps / threads + sum(one.l1_bytes for one in of_threads),
        l2_bytes=sum(brought) / threads + stored * warps / threads + sum(one.l2_bytes for one in of_threads),
        dram_bytes=sum(moved) / threads + sum(one.dram_bytes for one in of_threads),
        dram_rows=sum(
            one.dram_bytes / (profile.sites[one.access.site].bytes_per_row or math.inf) for one in by_access
        ),
        shared_passes=passes,
        l1_passes=l1_passes,
        shared_accesses=shared,
        constant_requests=sum(one.requests for one in constants.values()),
        constant_misses=sum(one.misses for one in constants.values()),
        atomic_requests=sum(one.requests for one in atomics.values()),
        atomic_line_requests=max((one.requests_of_a_line for one in atomics.values()), default=0.0),
        footprint_bytes=_footprint(loads, past_l1, stores),
        gathered=tuple(gathered),
        by_access=tuple(by_access),
    )


def _touched_locally(
    profile: ExecutionProfile, root: Variable | None, accesses: list[tuple[MemoryAccess, float]]
) -> float:
    """Bytes of a thread's array that are accessed; all of it where that is not known."""
    reached: Reach | None = None
    for access, _ in accesses:
        for own in profile.sites[access.site].objects or (None,):
            if own is None or own.launch_reach is None:
                return float(root.type.size_bytes) if root is not None else 0.0
            reached = _around(reached, own.launch_reach)
    return 0.0 if reached is None else float(reached.bytes)


def _overflow(bytes_: float, cache_bytes: float) -> float:
    """Share of accesses that a cache does not serve, of so many bytes that are accessed uniformly."""
    return max(0.0, 1.0 - cache_bytes / bytes_) if bytes_ else 0.0


def traffic_of_blocks(
    whole: Traffic, warp_counts: Sequence[float], mean_warp_counts: Sequence[float]
) -> Traffic:
    """The traffic of blocks whose warps run the regions so often; `whole`: of all, with `mean_warp_counts`.

    Each access moves as much in every run as it does on the mean.
    """
    shares = [
        warp_counts[one.access.region] / (mean_warp_counts[one.access.region] or 1.0)
        for one in whole.by_access
    ]

    def total(amounts: Iterable[float]) -> float:
        return math.fsum(share * amount for share, amount in zip(shares, amounts, strict=True))

    l1_bytes = total(one.l1_bytes for one in whole.by_access)
    of_global = l1_bytes / whole.l1_bytes if whole.l1_bytes else 0.0
    requests = total(
        one.shared_passes * (one.access.space is MemorySpace.CONSTANT) for one in whole.by_access
    )
    passes = total(one.shared_passes for one in whole.by_access) - requests
    of_constants = requests / whole.constant_requests if whole.constant_requests else 0.0
    return replace(
        whole,
        l1_bytes=l1_bytes,
        l2_bytes=total(one.l2_bytes for one in whole.by_access),
        dram_bytes=total(one.dram_bytes for one in whole.by_access),
        dram_rows=of_global * whole.dram_rows,
        shared_passes=passes,
        l1_passes=of_global * whole.l1_passes,
        constant_requests=requests,
        constant_misses=of_constants * whole.constant_misses,
        atomic_requests=of_global * whole.atomic_requests,
        atomic_line_requests=of_global * whole.atomic_line_requests,
        shared_accesses=whole.shared_accesses * passes / (whole.shared_passes or 1.0),
    )


def made_accesses(
    launch: KernelLaunch, profile: ExecutionProfile, requests: tuple[RequestCount, ...]
) -> Iterator[tuple[MemoryAccess, RequestCount]]:
    """The accesses that are made at all, each with how often.

    Where data decide between two arms that end in a store to one place, the store of the first stands for
    both: the compiler moves it behind them, and a warp whose lanes go both ways makes one request.
    """
    made = {(entry.site, entry.is_store): entry for entry in requests}
    of_data = {arm.region for arm in profile.arms if arm.source not in KNOWN_TO_LANES}
    for arm, site, other in _joined_stores(launch.kernel):
        first, second = made.get((site, True)), made.get((other, True))
        if arm in of_data and first is not None and second is not None:
            per_warp = max(first.per_warp, second.per_warp)
            per_thread = min(first.per_thread + second.per_thread, per_warp)
            made[site, True] = replace(first, per_thread=per_thread, per_warp=per_warp)
            del made[other, True]
    never = {
        region
        for loop in ir.walk_statements(launch.kernel.body)
        if isinstance(loop, ir.Loop) and not profile.warp_counts[loop.body.region]
        for stmt in ir.walk_statements(loop.body)
        for _, region in ir.expression_regions(stmt)
    }  # what lowering took out of such a loop is not made either
    for access in memory_accesses(launch.kernel):
        if access.region in never:
            continue
        if access.is_atomic:
            threads, warps = profile.thread_counts[access.region], profile.warp_counts[access.region]
            found = RequestCount(access.site, True, threads, warps)
        else:
            found = made.get((access.site, access.is_store))
        if found is not None and found.per_warp > 0.0:
            yield access, found


@lru_cache(maxsize=4)
def _joined_stores(kernel: Kernel) -> tuple[tuple[int, int, int], ...]:
    """Pairs of stores to one place that end the two arms of an `if`: region of the first arm, both sites."""
    found: list[tuple[int, int, int]] = []
    for stmt in walk_statements(kernel.body):
        if not isinstance(stmt, ir.If) or stmt.otherwise is None:
            continue
        one, other = _stored_last(stmt.then), _stored_last(stmt.otherwise)
        if one is None or other is None or one.type != other.type:
            continue
        set_there = {variable for variable, _ in register_assignments(stmt)}
        if is_written_alike(one.address, other.address) and not _sources(one.address)[1] & set_there:
            found.append((stmt.then.region, one.site, other.site))
    return tuple(found)


def _stored_last(arm: ir.Block) -> ir.MemoryPlace | None:
    match arm.statements[-1:]:
        case (ir.ExprStmt(expr=ir.Assign(target=ir.MemoryPlace() as place, op=None)),):
            return None if place.is_volatile or place.is_assembly else place
        case _:
            return None


def _object_of(
    access: MemoryAccess, root: ir.Root | None, arrays: Mapping[ir.Root, ir.Root]
) -> ir.Root | None:
    """The object that an access goes to: the `root` that its address had, else the one that the text shows.

    `arrays`: of pointers to the same place the first.
    """
    if root is None and access.root is not None:
        root = access.root.behind or access.root
    return None if root is None else arrays.get(root, root)


def array_bytes(launch: KernelLaunch, access: MemoryAccess, statistics: SiteStatistics) -> int | None:
    """Bytes of an array that data may lead an access to, as far as its size or the bounds of its index say;
    None when unknown, or of several.
    """
    whole = _whole_array(access, _root_of(launch, access, statistics), launch.extents, statistics.only)
    return None if whole is None else round(whole.bytes)


def whole_array_bytes(launch: KernelLaunch, access: MemoryAccess, statistics: SiteStatistics) -> int | None:
    """Size of the array that an access goes to, whatever the bounds of its index; None when unknown."""
    whole = _whole_array(access, _root_of(launch, access, statistics), launch.extents, None)
    return None if whole is None else round(whole.bytes)


def _root_of(launch: KernelLaunch, access: MemoryAccess, statistics: SiteStatistics) -> ir.Root | None:
    own = statistics.only
    return _object_of(access, None if own is None else own.root, launch.same_arrays)


def _whole_array(
    access: MemoryAccess,
    root: ir.Root | None,
    extents: Mapping[ir.Root, int | None],
    own: ReachedObject | None,
) -> Reach | None:
    """All of an object of known size, a global variable or an allocation. Less where the index has bounds."""
    if root is None or access.space is not MemorySpace.GLOBAL:
        return None
    size_bytes = extents.get(root)
    if isinstance(root, Variable) and root.type.kind is TypeKind.ARRAY:
        size_bytes = root.type.size_bytes
    whole = Reach((0,), (size_bytes,)) if size_bytes else None
    return _bounded(whole, own)


def _bounded(whole: Reach | None, own: ReachedObject | None) -> Reach | None:
    """The part of a `whole` object that data may lead to, as far as the bounds of its index say."""
    if own is None or own.within is None:
        return whole
    if whole is None:
        return own.within
    low, high = max(whole.low[0], own.within.low[0]), min(whole.high[0], own.within.high[0])
    return Reach((low,), (high,)) if low < high else whole


def _missing(tables: Iterable[dict[ir.Root | None, _Object]], l2_bytes: float | None) -> float:
    """Share of the fetches that data lead to which L2 misses, uniformly at random over all such arrays."""
    sizes = {
        root: entry.launch_reach.bytes
        for table in tables
        for root, entry in table.items()
        if entry.gathered_per_block and entry.is_bounded and entry.launch_reach is not None
    }
    total = sum(sizes.values())
    return max(0.0, 1.0 - (l2_bytes or 0.0) / total) if total else 0.0


def _reuse(
    launch: KernelLaunch,
    tables: Iterable[dict[ir.Root | None, _Object]],
    l2_bytes: float | None,
    resident_blocks: int | None,
) -> L2Reuse | None:
    """What decides how often objects are fetched; None when all of them fit L2, or all blocks run at once."""
    if l2_bytes is None or not resident_blocks or launch.blocks <= resident_blocks:
        return None
    largest: dict[ir.Root | None, tuple[float, _Object]] = {}  # an object both read and written is one
    for table in tables:
        for root, entry in table.items():
            size = entry.launch_bytes(launch.blocks)
            if root not in largest or largest[root][0] < size:
                largest[root] = (size, entry)
    if sum(size for size, _ in largest.values()) <= l2_bytes:
        return None
    objects = tuple(SharedObject(size, entry.axes(launch.kernel)) for size, entry in largest.values())
    return L2Reuse(objects, launch.grid, resident_blocks, l2_bytes)


def _visits(accesses: list[tuple[Pass, ...]], runs: Sequence[float], too_large: Collection[int]) -> float:
    """How often `accesses` in these loops go through an object: once more in each iteration of a loop that
    leaves them where they are, and in each of several loops one after another, where those are `too_large`.
    """
    loops: dict[int, list[tuple[Pass, ...]]] = {}
    for around in filter(None, accesses):
        loops.setdefault(around[0].entry_region, []).append(around)
    again, once = 0.0, 1.0
    for entry_region, group in loops.items():
        body_region = group[0][0].body_region
        moved = [around[1:] for around in group if around[0].stride != 0.0]
        still = [around[1:] for around in group if around[0].stride == 0.0]
        visits, staying = _visits(moved, runs, too_large), _visits(still, runs, too_large)
        if still and body_region in too_large and runs[entry_region]:
            staying *= runs[body_region] / runs[entry_region]
        visits = max(visits, staying)
        if entry_region in too_large:
            again += visits
        once = max(once, visits)
    return max(again, once)


def _beyond(
    launch: KernelLaunch,
    entries: Collection[_Object],
    cache_bytes: float | None,
    blocks: int,
    runs: Sequence[float],
) -> frozenset[int]:
    """The regions of loops (an iteration, the whole loop) of which one run, in so many blocks, touches more
    than a cache holds: what is gone through again is fetched again (least recently used, cyclic).

    `runs`: how often a warp runs each region.
    """
    if cache_bytes is None:
        return frozenset()
    touched: dict[tuple[int, ir.Root | None], float] = {}  # an object both read and written is one
    for entry in entries:
        own = dict[int, float]()
        for part in entry.parts:
            together = positions(launch.grid, block_axes(launch.kernel, part.access), blocks)
            new: float | None = None  # share of the sectors of a visit that the visit before did not touch
            for one in reversed(part.passes):
                for region in (one.body_region, one.entry_region):
                    if runs[region]:
                        bytes_ = (1.0 if new is None else new) * part.distinct / runs[region]
                        own[region] = own.get(region, 0.0) + together * min(bytes_, entry.reached_bytes)
                    if one.stride != 0.0 and new is None:
                        new = 1.0 if one.stride is None else min(1.0, abs(one.stride) / SECTOR_BYTES)
        axes = entry.axes(launch.kernel)
        every = positions(launch.grid, axes, launch.blocks)
        most = entry.whole_bytes * positions(launch.grid, axes, blocks) / every
        for region, bytes_ in own.items():
            place = region, entry.root
            touched[place] = max(touched.get(place, 0.0), min(bytes_, most))
    totals = dict.fromkeys((region for region, _ in touched), 0.0)
    for (region, _), bytes_ in touched.items():
        totals[region] += bytes_
    return frozenset(region for region, bytes_ in totals.items() if bytes_ > cache_bytes)


def _around(reach: Reach | None, other: Reach) -> Reach:
    if reach is None or len(reach.low) != len(other.low) or reach.unit_bytes != other.unit_bytes:
        return other
    return reach.union(other)


def request_passes(statistics: SiteStatistics) -> float:
    """Passes of one request to shared memory or L1; an 8-byte access takes two without any conflict."""
    return (statistics.bank_passes or 1.0) * max(1, statistics.request_bytes // 4)


def shared_passes(statistics: SiteStatistics, made: RequestCount) -> float:
    """Passes of one request to shared memory, with the neighbours that it takes along on the mean."""
    alone = request_passes(statistics)
    if statistics.joined_passes is None:
        return alone * made.joined
    pair, four = statistics.joined_passes
    if made.joined <= 2.0:
        return alone + (pair - alone) * (made.joined - 1.0)
    return pair + (four - pair) * (min(made.joined, 4.0) - 2.0) / 2.0


_JOINED_BY_WARP = frozenset(
    {AtomicOp.ADD, AtomicOp.SUB, AtomicOp.MIN, AtomicOp.MAX, AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR}
)
_EXCHANGES = frozenset({AtomicOp.EXCHANGE, AtomicOp.CAS})


def _drawn(access: MemoryAccess, statistics: SiteStatistics, made: RequestCount) -> tuple[int, int]:
    """Lanes of one request to shared memory, and words of the array that it goes to, if data lead there."""
    size_bytes = access.root.type.size_bytes if access.root is not None else 0
    whole = _bounded(Reach((0,), (size_bytes,)) if size_bytes else None, statistics.only)
    words = BANKS * WARP_SIZE if whole is None else math.ceil(whole.bytes / BANK_BYTES)
    return max(1, round(WARP_SIZE * made.per_thread / made.per_warp)), max(1, words)


@lru_cache(maxsize=256)
def _passes_at_random(lanes: int, words: int, *, joins_lanes: bool) -> float:
    """The most that a bank has to serve where so many lanes have words of an array at random, on the mean.

    Of 32 lanes 3.1 in a table of 256 words, as counters on an H200 say of AES. `joins_lanes`: those on one
    word are served together, as loads are.
    """
    drawn = np.sort(np.random.default_rng(0).integers(words, size=(1000, lanes)), axis=1)
    served = np.ones(drawn.shape, dtype=np.bool_)
    if joins_lanes:
        served[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    banks = drawn % BANKS + BANKS * np.arange(len(drawn))[:, None]
    queues = np.bincount(banks[served], minlength=BANKS * len(drawn)).reshape(-1, BANKS)
    return float(queues.max(axis=1).mean())


def _atomic_passes(
    access: MemoryAccess, atomic: ir.Atomic, statistics: SiteStatistics, made: RequestCount
) -> float:
    """Passes of one atomic of a warp on shared memory; where data lead, as of words at random.

    By the SASS of nvcc 13: integers of 32 bits have an ATOMS, which serves lanes on one word one after the
    other; where all lanes of a block have one address, the compiler has one lane add up the warp. Additions
    of 1 have an ATOMS.POPC.INC since Ampere, taken to serve lanes on one word together as a read does (older
    chips serve them one by one). Other types are a loop of LDS and ATOMS.CAST, once for each lane on a word.
    """
    if statistics.queued is None or statistics.bank_passes is None:
        drawn = _drawn(access, statistics, made)
        joined = _passes_at_random(*drawn, joins_lanes=True)
        alone = together = _passes_at_random(*drawn, joins_lanes=False)
    else:
        joined, (alone, together) = request_passes(statistics), statistics.queued
    is_word = atomic.type.kind in (TypeKind.INT, TypeKind.BOOL) and atomic.type.size_bytes == BANK_BYTES
    if not is_word and atomic.op not in _EXCHANGES:
        return 2.0 * alone
    if atomic.op not in _JOINED_BY_WARP:
        return alone
    by_one = all(
        isinstance(one, ir.Constant) and one.value == 1 for one in map(ir.strip_casts, atomic.arguments)
    )
    return joined if by_one and atomic.op is AtomicOp.ADD else together


def request_sectors(
    access: MemoryAccess, statistics: SiteStatistics, made: RequestCount, led_into: int | None
) -> float:
    """Sectors of one request. Where addresses depend on data each of its lanes has its own (an upper bound),
    or one at random of the array of so many bytes that they are `led_into`; an unknown texture fetch is taken
    to be as local as its cache wants it. Of local memory a sector holds one word of eight lanes.
    """
    lanes = WARP_SIZE * made.per_thread / made.per_warp
    if statistics.sectors_per_request is not None:
        own, sectors = statistics.only, statistics.sectors_per_request
        is_row = own is not None and own.within is not None  # out of memory, perhaps of a small table
        return min(sectors, math.ceil(led_into / SECTOR_BYTES)) if is_row and led_into else sectors
    if access.space is MemorySpace.TEXTURE:
        return lanes * max(4, statistics.request_bytes) / SECTOR_BYTES
    if access.space is MemorySpace.LOCAL:
        words = max(1, -(-statistics.request_bytes // BANK_BYTES))  # 0: only assumed to be reached
        size_bytes = access.root.type.size_bytes if access.root is not None else 0
        elements = max(1.0, size_bytes / (BANK_BYTES * words)) if size_bytes else lanes
        return words * min(lanes, WARP_SIZE * BANK_BYTES / SECTOR_BYTES * elements)
    if led_into is None or led_into >= FEW_BYTES:
        return lanes
    return _distinct(lanes, math.ceil(led_into / SECTOR_BYTES))


FEW_BYTES = 512 * SECTOR_BYTES
"""Of less the lanes of a warp share some sectors, where data lead; of more 31 of 32 have one of their own."""


CONSTANT_CACHE_BYTES = 2048
"""What an SM caches of indexed constants: Jia et al. 2018, on Volta (recalled, not re-read)."""


class _Constants(Struct):
    """What a warp's loads from one array of constant memory ask of the cache for indexed constants.

    Constants at a fixed place are operands of other instructions and not among them. `size_bytes` 0: unknown.
    """

    size_bytes: int
    requests: float = 0.0
    lines: float = 0.0
    reach: Reach | None = None

    def add(self, statistics: SiteStatistics, made: RequestCount) -> float:
        """Takes in one access; the requests that it adds."""
        addresses, lines = statistics.bank_passes, statistics.sectors_per_request
        if addresses is None or lines is None:  # as of data at random
            lanes = WARP_SIZE * made.per_thread / made.per_warp
            whole = _bounded(Reach((0,), (self.size_bytes,)) if self.size_bytes else None, statistics.only)
            size_bytes = 0.0 if whole is None else whole.bytes
            addresses = _distinct(lanes, size_bytes / max(1, statistics.request_bytes))
            lines = _distinct(lanes, size_bytes / CONSTANT_LINE_BYTES)
        elif addresses > 1.0 and statistics.launch_reach is not None:
            self.reach = _around(self.reach, statistics.launch_reach)
        own = made.per_warp * addresses
        self.requests += own
        self.lines += made.per_warp * max(0.0, lines - 1.0)
        return own

    @property
    def misses(self) -> float:
        """Lines that are not at hand, of all that is reached as often."""
        reached = self.size_bytes if self.reach is None else self.reach.bytes
        return self.lines * _overflow(reached, CONSTANT_CACHE_BYTES)


def _distinct(draws: float, of: float) -> float:
    """Distinct ones among so many drawn at random; 0: of ever so many."""
    return of * (1.0 - (1.0 - 1.0 / max(1.0, of)) ** draws) if of else draws


class _Atomics(Struct):
    """What all atomics on one object of global memory ask of L2, per warp, and what they reach of it."""

    requests: float = 0.0
    reach: Reach | None = None
    is_bounded: bool = True

    def add(self, requests: float, reach: Reach | None) -> None:
        self.requests += requests
        if reach is None:
            self.is_bounded = False
        else:
            self.reach = _around(self.reach, reach)

    @property
    def requests_of_a_line(self) -> float:
        """As if all lines had as many: a lower bound."""
        if not self.is_bounded or self.reach is None:
            return 0.0
        return self.requests / math.ceil(self.reach.bytes / ATOMIC_LINE_BYTES)


ATOMIC_LINE_BYTES = 128
"""What one slice of L2 keeps together."""


def _atomic_requests(
    access: MemoryAccess, atomic: ir.Atomic, statistics: SiteStatistics, made: RequestCount
) -> float:
    """Requests of one warp's atomic to L2: one for each of its sectors and for each lane on the same word.

    Where data lead each lane makes its own. Integers of 32 bits on a word that all lanes of a block share the
    compiler adds up in the warp first (by the SASS of nvcc 13).
    """
    lanes = WARP_SIZE * made.per_thread / made.per_warp
    if statistics.sectors_per_request is None or statistics.words_per_request is None:
        return lanes
    is_word = atomic.type.kind in (TypeKind.INT, TypeKind.BOOL) and atomic.type.size_bytes == BANK_BYTES
    reach = statistics.block_reach
    is_one = reach is not None and reach.bytes <= max(1, statistics.request_bytes)
    if is_one and is_word and atomic.op in _JOINED_BY_WARP:
        return 1.0
    return statistics.sectors_per_request * max(1.0, lanes / statistics.words_per_request)


def _in_order(runs: list[tuple[int, int]]) -> tuple[Lanes, Lanes]:
    """First and one behind the last of all runs, in order, none of which overlap."""
    first, behind = np.fromiter(itertools.chain.from_iterable(runs), np.int64).reshape(-1, 2).T
    return merged(first, behind)[:2]


def _sector_bytes(first: Lanes, behind: Lanes) -> float:
    """Of the sectors in at least one of these runs, which are in order."""
    first, behind = first // SECTOR_BYTES, -(-behind // SECTOR_BYTES)
    before = np.append(first[:1], behind[:-1])
    return float(SECTOR_BYTES * (behind - np.maximum(first, before)).sum())


def _whole_sectors(span_bytes: float) -> float:
    return max(SECTOR_BYTES, -(-span_bytes // SECTOR_BYTES) * SECTOR_BYTES)


def _footprint(*tables: dict[ir.Root | None, _Object]) -> float | None:
    """Distinct bytes of all objects; an object both read and written counts once."""
    boxes: dict[ir.Root | None, Reach | None] = {}
    for table in tables:
        for root, entry in table.items():
            if not entry.is_bounded or entry.launch_reach is None:
                return None
            boxes[root] = _around(boxes.get(root), entry.launch_reach)
    return sum(box.bytes for box in boxes.values() if box is not None)


class SharedObject(Struct, frozen=True):
    """What a launch touches of one object, in distinct bytes, and the axes its parts differ along."""

    distinct_bytes: float
    axes: frozenset[int]


class L2Reuse(Struct, frozen=True):
    """How often an object comes from DRAM, when blocks that share it run too far apart for L2 to keep it.

    The blocks of `grid`, `resident` at a time, in the order of their index, x fastest, go through `objects`
    with an L2 cache of `l2_bytes`; what blocks that run together share is fetched once. A block touches the
    part of an object at its position along the axes its addresses depend on (`block_axes`); parts are equal,
    and a halo counts once. Blocks that differ along other axes touch the same part again `apart` blocks later
    (the stride of that axis, at least `resident`). When all that so many blocks touch fits L2, the part is
    still there; else it is fetched once for every `apart` blocks (least recently used, cyclic).

    2048 x 2048 floats on 64 x 64 blocks, C = A B: A depends on y, B on x, C on both. With 56 blocks at a time
    B comes back after 64 blocks, which touch all 16 MiB of it: it is fetched 64 times from an L2 of 2.75 MiB.
    Of A 56 blocks in a row of 64 share a part at a time: it is fetched 64 / 56 times.
    """

    objects: Collection[SharedObject]
    grid: Dim3
    resident: int
    l2_bytes: float

    def fetches(self, axes: frozenset[int]) -> float:
        """How often each part of an object whose parts differ along `axes` comes from DRAM; at least 1."""
        number = stride = 1.0
        for axis, extent in enumerate(self.grid):
            if axis not in axes:
                apart = max(self.resident, stride)
                if self._touched(apart) > self.l2_bytes:
                    number *= max(1.0, stride * extent / apart)
            stride *= extent
        return number

    def _touched(self, blocks: float) -> float:
        """Distinct bytes of all objects that so many blocks in a row touch."""
        every = self.grid[0] * self.grid[1] * self.grid[2]
        return sum(
            entry.distinct_bytes
            * positions(self.grid, entry.axes, blocks)
            / positions(self.grid, entry.axes, every)
            for entry in self.objects
        )


def positions(grid: Dim3, axes: frozenset[int], blocks: float) -> float:
    """Distinct positions along `axes` of so many blocks in a row, the first at the start of a row."""
    parts = 1.0
    for axis, extent in enumerate(grid):
        if axis in axes:
            parts *= min(blocks, extent)
        blocks = max(1.0, blocks / extent)
    return parts


ALL_AXES = frozenset((0, 1, 2))
"""Also of addresses out of memory, or from anything else that is not followed."""

_Axes = frozenset[int]


def block_axes(kernel: ir.Kernel, access: MemoryAccess) -> _Axes:
    """The axes (0: x, 1: y, 2: z) of blockIdx that the address of `access` may be computed from.

    Flows of values are followed in any order, decisions (`if`, loop bounds) are not: which blocks come to an
    access is not the question.
    """
    registers = _registers(kernel)
    return frozenset[int]().union(*(_axes_of(address, registers) for address in access.addresses))


@lru_cache(maxsize=4)
def _registers(kernel: ir.Kernel) -> dict[ir.Variable, _Axes]:
    flows = [(target, *_sources(value)) for target, value in register_assignments(kernel.body)]
    found: dict[ir.Variable, _Axes] = {}
    changed = True
    while changed:
        changed = False
        for target, axes, read in flows:
            before = found.get(target, frozenset())
            after = before.union(axes, *(found.get(variable, frozenset()) for variable in read))
            if after != before:
                found[target] = after
                changed = True
    return found


def _axes_of(expr: ir.Expr, registers: dict[ir.Variable, _Axes]) -> _Axes:
    axes, read = _sources(expr)
    return axes.union(*(registers.get(variable, frozenset()) for variable in read))


def _sources(expr: ir.Expr) -> tuple[_Axes, frozenset[ir.Variable]]:
    """The axes that `expr` names itself, and the registers it reads."""
    axes: set[int] = set()
    read: set[ir.Variable] = set()
    for node in value_parts(expr):
        match node:
            case ir.Load(place=place) if place.space is ir.MemorySpace.CONSTANT:
                pass  # the same for all that name the same place
            case ir.Load() | ir.TextureFetch() | ir.Atomic() | ir.Call():
                axes |= ALL_AXES
            case ir.Intrinsic(semantics=ir.Semantics.OPAQUE):
                axes |= ALL_AXES
            case ir.Builtin(kind=ir.BuiltinKind.BLOCK_IDX, axis=axis):
                axes.add(axis)
            case ir.Read(place=place):
                read.add(place.variable)
            case _:
                pass
    return frozenset(axes), frozenset(read)
