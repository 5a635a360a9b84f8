"""Tallies of one textual memory access: what its requests cost, what they reach."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.profile import Reach, ReachedObject, SiteStatistics
from wattslice.counting.sampling import WARP_SIZE, Mask, SampledThreads, places_of_blocks
from wattslice.counting.touched import SECTOR_BYTES, Iteration, Touched
from wattslice.counting.values import Pointer, Scalar, Unknown, Value, bounds_of, distinct, scalar

BANKS = 32
BANK_BYTES = 4
CONSTANT_LINE_BYTES = 64
"""A line of the cache for constants: Jia et al. 2018, on Volta (recalled, not re-read)."""
ROW_BYTES = 2048
"""A row of one bank of DRAM, which has to be opened before anything of it moves: of GDDR chips 2 KB."""

_DRAWN = (
    *(0.6369616873214543, 0.2697867137638703, 0.04097352393619469, 0.016527635528529094),
    *(0.8132702392002724, 0.9127555772777217, 0.6066357757671799, 0.7294965609839984),
    *(0.5436249914654229, 0.9350724237877682, 0.8158535541215322, 0.002738500170148095),
    *(0.8574042765875693, 0.033585575305464355, 0.7296554464299441, 0.17565562060255901),
)
"""What `numpy.random.default_rng(0).random(16)` gives: its module takes longer to import than most kernels to
count, and these are all that most of them want."""
SAMPLED_WARPS = len(_DRAWN)
_MARKS = (np.arange(SAMPLED_WARPS) + np.array(_DRAWN)) / SAMPLED_WARPS
"""Where among all warps they are taken: one of each stratum. Equal distances may be multiples of the warps of
a block, and so meet the same warp of each."""


def _rows(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], population: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.float64]]:
    """Up to SAMPLED_WARPS warps with an active lane, as (warps, 32) offsets and activity, and their weights.

    `population`: how many warps of the launch each stands for; None: all as many.
    """
    lanes = active.reshape(-1, WARP_SIZE)
    busy = np.flatnonzero(np.logical_or.reduceat(active, np.arange(0, active.size, WARP_SIZE)))
    weights = np.ones(busy.size) if population is None else population[busy]
    if busy.size > SAMPLED_WARPS:
        share = np.cumsum(weights)
        busy, weights = busy[np.searchsorted(share, _MARKS * share[-1])], np.ones(SAMPLED_WARPS)
    return offsets.reshape(-1, WARP_SIZE)[busy], lanes[busy], weights


def _mean(values: NDArray[np.int64], weights: NDArray[np.float64]) -> float:
    return float(np.add.reduce(values * weights) / np.add.reduce(weights))


def _distinct(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Marks, in rows sorted along axis 1, the first of each run of equal non-negative ids."""
    first = ids >= 0
    first[:, 1:] &= ids[:, 1:] != ids[:, :-1]
    return first


def sectors_per_request(
    offsets: NDArray[np.int64],
    active: NDArray[np.bool_],
    size_bytes: int,
    population: NDArray[np.float64] | None = None,
    sector_bytes: int = SECTOR_BYTES,
) -> float:
    """Mean number of distinct 32-byte sectors a warp touches.

    `offsets`: byte offsets of shape (lanes,), relative to a base aligned to at least 32 bytes. `population`,
    of shape (warps,): what each warp counts in the mean.
    """
    rows, lanes, weights = _rows(offsets, active, population)
    if rows.size == 0:
        return 0.0
    first = rows // sector_bytes
    # A sorted row counts its distinct non-negative ids; shift so that negative offsets stay countable.
    base = int(first.min())
    sectors = np.where(lanes, first - base, -1)
    extra = (rows + max(size_bytes, 1) - 1) // sector_bytes - base
    if bool((extra > first - base).any()):
        count = 2 + size_bytes // sector_bytes
        pieces = [np.where(lanes, np.minimum(sectors + k, extra), -1) for k in range(count)]
        sectors = np.concatenate(pieces, axis=1)
    return _mean(_distinct(np.sort(sectors, axis=1)).sum(axis=1), weights)


def distinct_share(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], which: NDArray[np.int64] | None = None
) -> float:
    """Of the sectors that the warps of one block request together, the share that is distinct, in (0, 1].

    `which`: as `Unknown` has it, of the unknown number that all `offsets` are relative to.
    """
    sectors = offsets // SECTOR_BYTES - int(offsets.min()) // SECTOR_BYTES
    if which is not None:
        sectors = sectors + np.searchsorted(distinct(which), which) * (int(sectors.max()) + 1)
    sectors = np.where(active, sectors, -1)
    requested = int(_distinct(np.sort(sectors.reshape(-1, WARP_SIZE), axis=1)).sum())
    together = int(_distinct(np.sort(sectors)[None, :]).sum())
    return together / requested if requested else 1.0


def bytes_per_row(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], threads: SampledThreads, block: slice
) -> float:
    """Bytes of each row of DRAM that a block touches in one visit, and its neighbours in the grid with it.

    They run at the same time, so that a row that several of them touch is opened once. All of the row where
    how far neighbours are apart is not one distance. Rows begin at the first sector: where an array lies in
    memory is not known.
    """
    own = np.sort(offsets[block][active[block]])
    own = own - int(own[0]) // SECTOR_BYTES * SECTOR_BYTES
    sectors, rows = (int(_distinct(own[None, :] // size).sum()) for size in (SECTOR_BYTES, ROW_BYTES))
    alone = SECTOR_BYTES * sectors / rows
    lanes = np.arange(0, active.size, threads.block_lanes) + int(np.argmax(active[block]))
    met = lanes[active[lanes]]
    places = places_of_blocks(threads)[met // threads.block_lanes]
    if places.shape[1] == 1:
        return min(ROW_BYTES, alone)
    distances = offsets[met] - offsets[met[0]]  # wherever they begin, the answer is the same
    slopes, _, rank, _ = np.linalg.lstsq(places, distances, rcond=None)
    if rank < places.shape[1] or not np.allclose(places @ slopes, distances, atol=1.0):
        return ROW_BYTES
    apart = abs(round(float(slopes[0])))
    together = ROW_BYTES / apart if 0 < apart < ROW_BYTES else 1.0
    return min(ROW_BYTES, alone * together)


def bank_passes(
    offsets: NDArray[np.int64],
    active: NDArray[np.bool_],
    size_bytes: int,
    population: NDArray[np.float64] | None = None,
    *,
    joins_pairs: bool = True,
) -> float:
    """Passes of a request over those of a conflict-free one in as many groups as it has words (1 = none).

    Lanes that read the same 4-byte word share it. 8- and 16-byte accesses are served in 2 and 4 groups of
    lanes; shared memory joins two groups (`joins_pairs`) where lanes read in pairs the same words.
    """
    rows, lanes, weights = _rows(offsets, active, population)
    if rows.size == 0:
        return 1.0
    # Records of other sizes are read word by word.
    words_per_lane = {8: 2, 16: 4}.get(size_bytes, 1)
    words = np.where(lanes, rows // BANK_BYTES - int(rows.min()) // BANK_BYTES, -1)
    total = _group_passes(words, words_per_lane, words_per_lane)
    if words_per_lane > 1 and joins_pairs and (joined := _is_in_pairs(words)).any():
        total = np.where(joined, _group_passes(words, words_per_lane, words_per_lane // 2), total)
    return _mean(total, weights) / words_per_lane


def queued_lanes(
    offsets: NDArray[np.int64], active: NDArray[np.bool_], population: NDArray[np.float64] | None = None
) -> float:
    """The most lanes of a request that one bank of shared memory serves one after the other (atomics)."""
    rows, lanes, weights = _rows(offsets, active, population)
    if rows.size == 0:
        return 1.0
    of_row = rows // BANK_BYTES % BANKS + BANKS * np.arange(len(rows))[:, None]
    queues = np.bincount(of_row[lanes], minlength=len(rows) * BANKS).reshape(-1, BANKS)
    return _mean(queues.max(axis=1), weights)


def _is_in_pairs(words: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Of each row, whether lane i reads what lane i ^ 1 reads, or each what lane i ^ 2 reads."""
    lane = np.arange(WARP_SIZE)
    return (words == words[:, lane ^ 1]).all(axis=1) | (words == words[:, lane ^ 2]).all(axis=1)


def _group_passes(words: NDArray[np.int64], words_per_lane: int, groups: int) -> NDArray[np.int64]:
    """Passes of each row when served in so many groups of lanes; -1 stands for a lane that reads nothing."""
    rows = len(words)
    words = np.sort(words.reshape(rows * groups, -1), axis=1)
    distinct = _distinct(words)
    # Wide accesses hit consecutive banks; the bank of the first word decides the conflict.
    banks = (words % BANKS) // words_per_lane
    of_row = banks + BANKS * np.arange(len(banks))[:, None]
    passes = np.bincount(of_row[distinct], minlength=banks.shape[0] * BANKS).reshape(-1, BANKS)
    return passes.max(axis=1).reshape(rows, groups).sum(axis=1)


class RequestCost(Struct, frozen=True):
    """What the requests of one visit cost, as means over warps; `distinct_share`, `bytes_per_row`: of a
    typical block, of shared memory not looked at. `joined`, `queued`: as in `SiteStatistics`.
    """

    passes: float
    sectors: float
    distinct_share: float
    bytes_per_row: float = ROW_BYTES
    joined: tuple[float, float] = (0.0, 0.0)
    queued: tuple[float, float] = (0.0, 0.0)


def _joined_sizes(size_bytes: int) -> tuple[int, int]:
    """Bytes of a request that takes one neighbour along, or three: 16 at most."""
    return min(16, 2 * size_bytes), min(16, 4 * size_bytes)


def _broadcast_passes(size_bytes: int) -> float:
    """Of a request in which all lanes read the same: what it returns moves in pairs of lanes."""
    return max(1.0, size_bytes / 8)


class _Pattern(Struct, frozen=True):
    """Addresses that were looked at, and what that found."""

    offsets: NDArray[np.int64]
    active: NDArray[np.bool_]
    cost: RequestCost

    def fits(self, offsets: NDArray[np.int64], active: NDArray[np.bool_]) -> bool:
        """Whether these addresses lie as far from those known, all alike."""
        if offsets is not self.offsets:
            distance = offsets[0] - self.offsets[0]
            if not np.logical_and.reduce(offsets - self.offsets == distance):
                return False
        return active is self.active or bool((active == self.active).all())


_MOST_PATTERNS, _MOST_KINDS = 4, (16, 64)
_LANES_OF_KINDS = 1 << 20
"""Patterns kept of a kind, the least and most kinds kept, and lanes that those beyond the least may have."""


class Patterns:
    """What requests cost, looked at once for addresses that differ by whole sectors (of shared memory, by
    words): iteration by iteration, array by array.
    """

    def __init__(self) -> None:
        # by what tells most of them apart; those met last come first
        self._known: dict[tuple[object, ...], list[_Pattern]] = {}
        self.looked = 0

    def cost(
        self,
        offsets: NDArray[np.int64],
        active: NDArray[np.bool_],
        size_bytes: int,
        space: ir.MemorySpace,
        threads: SampledThreads,
        block: slice,
    ) -> RequestCost:
        """The cost of a visit by the `active` lanes; `block`: the lanes of the typical block."""
        unit, start = BANK_BYTES if space is ir.MemorySpace.SHARED else SECTOR_BYTES, int(offsets[0])
        kind = size_bytes, space.name, block.start, start % unit, int(offsets[-1]) - start
        known = self._known.pop(kind, [])
        found = next((one for one in known if one.fits(offsets, active)), None)
        if found is None:
            self.looked += 1
            cost = _looked_at(size_bytes, space, block, offsets, active, threads)
            found = _Pattern(offsets, active, cost)
            known = [found, *known[: _MOST_PATTERNS - 1]]
            least, most = _MOST_KINDS
            if len(self._known) >= max(least, min(most, _LANES_OF_KINDS // offsets.size)):
                del self._known[next(iter(self._known))]
        self._known[kind] = known
        return found.cost


@lru_cache(maxsize=4)
def _words_of_lanes(lanes: int) -> NDArray[np.int64]:
    """Where the word of each lane is in a row of words, one for each lane of a warp."""
    return np.arange(lanes) % WARP_SIZE * BANK_BYTES


@lru_cache(maxsize=2)
def patterns_of(threads: SampledThreads) -> Patterns:
    """Those of the evaluations of these threads: kernels of one file often have the same addresses."""
    return Patterns()


def _looked_at(
    size_bytes: int,
    space: ir.MemorySpace,
    block: slice,
    offsets: NDArray[np.int64],
    active: NDArray[np.bool_],
    threads: SampledThreads,
) -> RequestCost:
    asked = (offsets, active, size_bytes, threads.warp_population)
    if space is ir.MemorySpace.SHARED:
        apart = offsets - offsets[0]  # joined ones are aligned, at whichever neighbour these offsets are
        pair, four = (
            bank_passes(apart // size * size, active, size, threads.warp_population) * max(1, size // 4)
            for size in _joined_sizes(size_bytes)
        )
        queued = queued_lanes(offsets, active, threads.warp_population)
        here = offsets[block][active[block]]
        together = 1.0 if here.size and bool((here == here[0]).all()) else queued
        return RequestCost(bank_passes(*asked), 1.0, 1.0, joined=(pair, four), queued=(queued, together))
    if space is ir.MemorySpace.CONSTANT:  # serves one address after the other, in lines of its cache
        addresses = sectors_per_request(offsets, active, 1, threads.warp_population, 1)
        lines = sectors_per_request(*asked, sector_bytes=CONSTANT_LINE_BYTES)
        return RequestCost(addresses, lines, 1.0)
    # L1 has the banks of shared memory.
    passes = bank_passes(*asked, joins_pairs=False) if space is ir.MemorySpace.GLOBAL else 1.0
    if not bool(active[block].any()):
        return RequestCost(passes, sectors_per_request(*asked), 1.0)
    share = distinct_share(offsets[block], active[block])
    row = bytes_per_row(offsets, active, threads, block) if space is ir.MemorySpace.GLOBAL else ROW_BYTES
    return RequestCost(passes, sectors_per_request(*asked), share, row)


DETAILED_VISITS = 6
"""Visits of one access site of which each is looked at; then as many of every second one, every fourth ..."""

REACH_VISITS = 48
"""Visits of one access site that extend what it reaches, besides the last one."""

MOST_BOUNDED_BYTES = 1 << 30
"""Bounds that are wider say nothing."""

_FAR_BYTES, _ODD = 1 << 32, 37
"""How far apart lanes of a warp are taken to be whose unknown numbers differ, besides an odd number of
strides: they begin at every multiple of the stride in a sector, and at banks here and there."""

TEXTURE_PITCH_TEXELS = 1 << 14
"""Texels between rows in the stand-in addresses of texture fetches: only neighbourhood matters there."""

_Axis = int | NDArray[np.int64]


class _Reached(Struct):
    """What visits have reached of one object: how many, their weight, and as in `ReachedObject`."""

    visits: int = 0
    weight: float = 0.0
    block: Reach | None = None
    launch: Reach | None = None
    touched: Touched | None = None  # global memory alone
    last: tuple[tuple[_Axis, ...], NDArray[np.bool_], slice, int, int] | None = None  # not yet taken in
    within: Reach | None = None  # if `is_bounded`, as all its visits are
    is_bounded: bool = True

    def somewhere(self, root: ir.Root | None, share: float) -> ReachedObject:
        """Of the object `root`, to unknown places of which this `share` of the requests goes."""
        is_bounded = self.is_bounded and root is not None
        return ReachedObject(root, share, None, None, within=self.within if is_bounded else None)

    def bound(self, offset: Scalar, length: int) -> None:
        """Takes in a visit to a place, of which bounds may be known."""
        found = bounds_of(offset) if isinstance(offset, Unknown) and self.is_bounded else None
        if found is None or found[1] - found[0] >= MOST_BOUNDED_BYTES:
            self.is_bounded = False
        else:
            new = Reach((max(0, found[0]),), (max(0, found[1]) + length,))  # nothing lies before an object
            self.within = new if self.within is None else self.within.union(new)

    def extend(
        self, axes: tuple[_Axis, ...], active: NDArray[np.bool_], block: slice, unit_bytes: int, length: int
    ) -> None:
        """Takes in the place of a visit."""
        self.launch = _extended(self.launch, axes, active, unit_bytes, length)
        if bool(np.logical_or.reduce(active[block])):
            in_block = tuple(axis if isinstance(axis, int) else axis[block] for axis in axes)
            self.block = _extended(self.block, in_block, active[block], unit_bytes, length)

    def seen(self, root: ir.Root | None, share: float, size_bytes: int) -> ReachedObject:
        """Of the object `root`, to which this `share` of the requests goes for `size_bytes` each."""
        if self.last is not None:
            self.extend(*self.last)
        runs = None if self.touched is None else self.touched.runs(size_bytes)
        if isinstance(root, ir.Behind) and root.is_by_block:
            return ReachedObject(root, share, self.block, None, runs)
        moves = None if self.touched is None else self.touched.moves
        return ReachedObject(root, share, self.block, self.launch, runs, moves)


def _typical_of(active: NDArray[np.bool_], threads: SampledThreads) -> int:
    """The block that stands for those of a visit: of the typical ones, or else of those that stand for most,
    one of which at least half as many lanes run as of a block on the mean.
    """
    lanes = np.add.reduceat(active, np.arange(0, active.size, threads.block_lanes), dtype=np.int64)
    weights = np.where(lanes > 0, threads.block_population, 0.0)
    is_usual = 2.0 * lanes * weights.sum() >= (lanes * weights).sum()
    found = next((k for k in threads.typical if weights[k] and is_usual[k]), None)
    if found is not None:
        return found
    weights *= is_usual
    heavy = np.flatnonzero(2.0 * weights >= weights.max())
    return int(heavy[heavy.size // 2])


class SiteTally:
    """Running sums of one access site, weighted by warp requests."""

    def __init__(self) -> None:
        self.is_atomic = False
        self._words = 0.0
        self._size_bytes = self._request_bytes = 0
        self._visits = self._looked = self._next = 0
        self._known = self._unknown = self._detailed = 0.0
        self._sectors = self._passes = self._distinct = self._rows = self._pair = self._four = 0.0
        self._queued = self._together = 0.0
        self._lanes: slice | None = None  # those of the block whose reach is looked at, and its number
        self._at_block = 0
        self._of_all = self._of_block = 0.0  # visits of a thread on the mean of all blocks, and of that one
        self._objects: dict[ir.Root | None, _Reached] = {}
        self._base_known = True
        self._stride = 0  # of what is unknown of the address, where it is the same in the whole launch

    def visit(
        self,
        type_: ir.Type,
        space: ir.MemorySpace,
        address: Value,
        mask: Mask,
        threads: SampledThreads,
        iteration: Iteration | None,
    ) -> None:
        """One visit by the lanes of `mask` at `address`; an object of `type_` is accessed. `iteration`: of
        the loops around; None: not known of all.
        """
        self._size_bytes, self._request_bytes = max(1, type_.size_bytes), type_.request_bytes
        root, offset = (address.root, address.offset) if isinstance(address, Pointer) else (None, address)
        self._at(root).bound(scalar(offset), self._size_bytes)
        which = None
        if isinstance(offset, Unknown) and offset.uniform:
            which = offset.which
            # what differs from visit to visit in its stride is a multiple of something: far apart
            self._base_known &= offset.everywhere and self._stride in (0, offset.stride)
            self._stride = offset.stride
            offset = offset.delta
        elif isinstance(offset, Unknown) and offset.which is not None and space is ir.MemorySpace.GLOBAL:
            self._base_known = False
            rank = np.searchsorted(distinct(offset.which), offset.which)
            offset = offset.delta + rank * (_FAR_BYTES + _ODD * offset.stride)
        if not isinstance(offset, int | np.ndarray):
            self._miss(root, mask)
            return
        axis: _Axis = offset if isinstance(offset, int) else np.asarray(offset, np.int64)
        self._look((axis,), axis, root, space, mask, threads, 1, self._size_bytes, iteration, which)

    def visit_texels(
        self, texel_bytes: int, coordinates: Sequence[Value], mask: Mask, threads: SampledThreads
    ) -> None:
        """One texture fetch by the lanes of `mask`; coordinates in texels, x first."""
        self._size_bytes = self._request_bytes = max(1, texel_bytes)
        axes: list[_Axis] = []
        for coordinate in coordinates:
            if isinstance(coordinate, int | float):
                axes.append(int(coordinate // 1))
            elif isinstance(coordinate, np.ndarray):
                axes.append(np.floor(coordinate).astype(np.int64))
            else:
                self._miss(None, mask)
                return
        texel: _Axis = 0
        for axis in reversed(axes):
            texel = texel * TEXTURE_PITCH_TEXELS + axis
        offsets = texel * self._size_bytes
        self._look(tuple(axes), offsets, None, ir.MemorySpace.TEXTURE, mask, threads, self._size_bytes, 1)

    def _look(
        self,
        axes: tuple[_Axis, ...],
        offsets: _Axis,
        root: ir.Root | None,
        space: ir.MemorySpace,
        mask: Mask,
        threads: SampledThreads,
        unit_bytes: int,
        length: int,
        iteration: Iteration | None = None,
        which: NDArray[np.int64] | None = None,
    ) -> None:
        """Counts a visit, and looks at its addresses unless enough were looked at already."""
        weight = max(mask.warp_mean, 1e-12)
        self._known += weight
        self._visits += 1
        active = mask.active
        if self._lanes is None:
            self._at_block = _typical_of(active, threads)
            self._lanes = threads.lanes_of(self._at_block)
        inner_block = self._lanes
        is_here = bool(np.logical_or.reduce(active[inner_block]))
        reached = self._at(root)
        reached.visits += 1
        reached.weight += weight
        visit = axes, active, self._lanes, unit_bytes, length
        if reached.visits <= REACH_VISITS:
            reached.extend(*visit)
        else:
            reached.last = visit
        self._of_all += mask.thread_mean
        if is_here:
            self._of_block += float(mask.weights[inner_block].sum()) / threads.block_threads
        else:
            inner_block = threads.lanes_of(_typical_of(active, threads))
        if space is ir.MemorySpace.GLOBAL:
            if reached.touched is None:
                reached.touched = Touched(threads, self._at_block)
            reached.touched.visit(offsets, mask.weights, iteration)
        stride = 1 << (self._looked // DETAILED_VISITS)
        if self._visits < self._next:
            return
        self._looked += 1
        self._next = self._visits + stride
        weight *= stride
        self._detailed += weight
        if self.is_atomic and isinstance(offsets, int):
            self._words += weight
        elif self.is_atomic and not isinstance(offsets, int):
            self._words += weight * sectors_per_request(offsets, active, 1, threads.warp_population, 1)
        if space is ir.MemorySpace.LOCAL:  # consecutive words belong to consecutive threads
            apart = _words_of_lanes(active.size)
            if not isinstance(offsets, int):  # else a whole row of words away: it costs the same
                apart = (offsets & -BANK_BYTES) * WARP_SIZE + apart
            cost = patterns_of(threads).cost(apart, active, BANK_BYTES, space, threads, inner_block)
            self._sectors += weight * cost.sectors * -(-self._request_bytes // BANK_BYTES)
            self._passes += weight
            self._distinct += weight
            self._rows += weight / ROW_BYTES
            return
        if isinstance(offsets, int):
            whole, one = (1 + (size - 1) // 32 for size in (self._size_bytes, self._request_bytes))
            self._sectors += weight * one
            self._passes += weight
            if space is ir.MemorySpace.SHARED:
                words = self._request_bytes // BANK_BYTES
                pair, four = map(_broadcast_passes, _joined_sizes(self._request_bytes))
                self._passes += weight * (_broadcast_passes(self._request_bytes) / max(1, words) - 1.0)
                lanes = np.add.reduceat(active, np.arange(0, active.size, WARP_SIZE), dtype=np.int64)
                self._note_shared(weight, (pair, four), (float(lanes[lanes > 0].mean()), 1.0))
            self._rows += weight / ROW_BYTES
            share = WARP_SIZE / (inner_block.stop - inner_block.start)
            if which is not None:
                here = which[inner_block]
                share = distinct_share(np.zeros_like(here), active[inner_block], here)
            self._distinct += weight * share * self._fresh(whole / one)
            return
        cost = patterns_of(threads).cost(offsets, active, self._request_bytes, space, threads, inner_block)
        if which is not None and space is ir.MemorySpace.GLOBAL:
            of_block = offsets[inner_block], active[inner_block], which[inner_block]
            cost = replace(cost, distinct_share=distinct_share(*of_block))
        if self._request_bytes < self._size_bytes and space is not ir.MemorySpace.SHARED:
            whole = patterns_of(threads).cost(offsets, active, self._size_bytes, space, threads, inner_block)
            fresh = self._fresh(whole.sectors / cost.sectors)
            cost = replace(cost, distinct_share=cost.distinct_share * fresh)
        self._passes += weight * cost.passes
        self._note_shared(weight, cost.joined, cost.queued)
        self._sectors += weight * cost.sectors
        self._distinct += weight * cost.distinct_share
        self._rows += weight / cost.bytes_per_row

    def _at(self, root: ir.Root | None) -> _Reached:
        reached = self._objects.get(root)
        if reached is None:
            reached = self._objects[root] = _Reached()
        return reached

    def _miss(self, root: ir.Root | None, mask: Mask) -> None:
        """Counts a visit to a place that is not known."""
        weight = max(mask.warp_mean, 1e-12)
        self._unknown += weight
        self._at(root).weight += weight

    def _note_shared(self, weight: float, joined: tuple[float, float], queued: tuple[float, float]) -> None:
        self._pair += weight * joined[0]
        self._four += weight * joined[1]
        self._queued += weight * queued[0]
        self._together += weight * queued[1]

    def _fresh(self, times: float) -> float:
        """Share of new sectors in the requests for one object, which has so many `times` those of one."""
        return min(1.0, times * self._request_bytes / max(1, self._size_bytes))

    @property
    def was_visited(self) -> bool:
        """True when some lane came here."""
        return self._known + self._unknown > 0.0

    def statistics(self) -> SiteStatistics:
        """The averages over all visits; unknown unless most requests went to known addresses.

        Of a search the first place is known: with one iteration that stands for the rest, half of all visits.
        """
        sizes, requests = (self._size_bytes, self._request_bytes), self._known + self._unknown
        if self._known == 0.0 or self._unknown >= self._known:
            objects = tuple(one.somewhere(root, one.weight / requests) for root, one in self._objects.items())
            whole = (
                1.0 + (self._size_bytes - self._request_bytes) / SECTOR_BYTES
            )  # at any multiple of a request
            return SiteStatistics(None, None, self._fresh(whole), objects, *sizes)
        whole = self._base_known and self._unknown == 0.0
        if self._stride:
            # what lies apart by no more than it is long overlaps: as if the unknown part were always the same
            whole = whole and all(
                self._stride < one.launch.bytes for one in self._objects.values() if one.launch
            )
        is_shared = self._queued > 0.0
        objects = tuple(
            one.seen(root, one.weight / requests, self._size_bytes)
            if whole
            else one.somewhere(root, one.weight / requests)
            for root, one in self._objects.items()
        )
        return SiteStatistics(
            sectors_per_request=self._sectors / self._detailed,
            words_per_request=self._words / self._detailed if self.is_atomic else None,
            bank_passes=self._passes / self._detailed,
            block_distinct_share=self._distinct / self._detailed,
            objects=objects,
            access_bytes=self._size_bytes,
            request_bytes=self._request_bytes,
            bytes_per_row=self._detailed / self._rows,
            block=self._at_block,
            block_scale=self._of_all / self._of_block if self._of_block else 1.0,
            joined_passes=(self._pair / self._detailed, self._four / self._detailed) if is_shared else None,
            queued=(self._queued / self._detailed, self._together / self._detailed) if is_shared else None,
        )


def _extended(
    reach: Reach | None, axes: tuple[_Axis, ...], active: NDArray[np.bool_], unit_bytes: int, length: int
) -> Reach:
    """`reach` and the boxes of all active lanes; each touches `length` units from its place on."""
    low: list[int] = []
    high: list[int] = []
    for axis in axes:
        if isinstance(axis, int):
            low.append(axis)
            high.append(axis + length)
        else:
            touched = axis if np.logical_and.reduce(active) else axis[active]
            low.append(int(np.minimum.reduce(touched)))
            high.append(int(np.maximum.reduce(touched)) + length)
    new = Reach(tuple(low), tuple(high), unit_bytes)
    if reach is None or len(reach.low) != len(low):
        return new
    return reach.union(new)
