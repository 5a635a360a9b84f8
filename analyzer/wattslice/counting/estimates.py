"""Counts of a grid whose blocks are not all known: blocks drawn from each piece, a bound for the error."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.pieces import Ints, Plan, Structure
from wattslice.counting.profile import Sampling
from wattslice.counting.sampling import WARP_SIZE, Mask, SampledThreads, padded_lanes
from wattslice.ir.operation_counts import operations
from wattslice.ir.walking import child_regions, expression_regions

DEVIATIONS = 4.0
"""Standard errors in a bound: normally 1 estimate of 16 000 is farther off."""

RARE = 6.0
"""What n drawn blocks never showed may hold in 6 / n of all: else one sample of 400 would be like this."""

DRAWN_LANES = 1 << 13
DRAWN_BLOCKS = 32, 64
"""Lanes that are drawn, and the least and most blocks."""

MOST_BOXES = 32
"""Pieces of which blocks are drawn each; in more than that, from the whole grid."""

MOST_WAITING = 16
"""Masks that are kept until the runs under them are added up."""


class Draw(Struct, frozen=True, eq=False):
    """The blocks drawn: of each, the stratum that it is of, and how many blocks that holds."""

    plan: Plan
    strata: Ints
    volumes: NDArray[np.float64]


def drawn(grid: tuple[int, int, int], pieces: Plan | None, block: tuple[int, int, int], lanes: int) -> Draw:
    """Blocks of all `pieces` of the grid (None: it is one), at random places of equal parts of each.

    `lanes`: about how many there may be.
    """
    structure = Structure(grid) if pieces is None else pieces.structure
    boxes = None if pieces is None else _boxes(pieces)
    if boxes is None:
        structure = Structure(grid)
        boxes = _Boxes(np.zeros((1, 3), np.int64), structure.extents[None, :])
    low, high, volumes = boxes.low, boxes.high, boxes.sizes
    axes = structure.axes
    wanted = min(DRAWN_BLOCKS[1], max(DRAWN_BLOCKS[0], min(DRAWN_LANES, lanes) // padded_lanes(block)))
    random = np.random.default_rng(0)
    found: list[Ints] = []
    strata: list[int] = []
    weights: list[float] = []
    for box in range(len(volumes)):
        widths = high[box] - low[box]
        size = int(widths.prod())
        number = min(size, max(2, round(wanted * volumes[box] / volumes.sum())))
        edges = np.linspace(0, size, number + 1)
        begin, end = np.ceil(edges[:-1]), np.maximum(np.ceil(edges[1:]), np.ceil(edges[:-1]) + 1)
        at = np.minimum(begin + np.floor(random.random(number) * (end - begin)), size - 1).astype(np.int64)
        place = np.stack(np.unravel_index(at, tuple(int(width) for width in widths)), axis=1) + low[box]
        found.append(place.astype(np.int64))
        strata += [box] * number
        weights += [volumes[box] / number] * number
    coordinates = np.concatenate(found)
    places = np.zeros((len(coordinates), 3), np.int64)
    for k, axis in enumerate(axes):
        places[:, axis.real] += coordinates[:, k] * (1 if axis.is_remainder else axis.period)
    cells = np.array(strata, np.int64)
    bounds = low[cells], high[cells]
    return Draw(Plan(structure, places, coordinates, np.array(weights), cells, *bounds), cells, volumes)


class _Boxes(Struct, frozen=True, eq=False):
    """Boxes of coordinates: at least `low` and below `high`, both of shape (boxes, axes)."""

    low: Ints
    high: Ints

    @property
    def sizes(self) -> NDArray[np.float64]:
        """Blocks in each."""
        return (self.high - self.low).prod(axis=1).astype(np.float64)


def _boxes(pieces: Plan) -> _Boxes | None:
    """The pieces of the grid; None where they are no boxes, or too many."""
    if pieces.structure.diagonal:
        return None
    bounds, of_box = np.unique(np.concatenate((pieces.low, pieces.high), axis=1), axis=0, return_inverse=True)
    low, high = np.split(bounds, 2, axis=1)
    boxes = _Boxes(low, high)
    same = np.allclose(np.bincount(of_box.reshape(-1), pieces.weights), boxes.sizes)
    return boxes if same and len(low) <= MOST_BOXES else None


class BlockCounts:
    """How often each region runs in each of the drawn blocks, and the operations of each lane.

    `work`: operations of one run of each region.
    """

    def __init__(self, work: Sequence[float], threads: SampledThreads) -> None:
        self._work = np.array(work)
        self._threads = threads
        self._sums = np.zeros((2, len(work), threads.block_population.size))  # of threads, of warps
        self._lengths = np.zeros(threads.exists.size)
        self._waiting: dict[Mask, dict[int, int]] = {}  # how often each region has run under a mask

    def add(self, region: int, mask: Mask) -> None:
        """One run of `region` under `mask`; what runs under the same mask is added up together."""
        runs = self._waiting.get(mask)
        if runs is None:
            if len(self._waiting) == MOST_WAITING:
                self._settle()
            runs = self._waiting[mask] = {}
        runs[region] = runs.get(region, 0) + 1

    def _settle(self) -> None:
        for mask, runs in self._waiting.items():
            regions, times = np.array([*runs]), np.array([*runs.values()], np.float64)
            for sums, values in zip(self._sums, (mask.weights, mask.busiest_lanes), strict=True):
                of_blocks = np.add.reduce(values.reshape(sums.shape[1], -1), axis=1)
                sums[regions] += times[:, None] * of_blocks
            self._lengths += mask.weights * np.add.reduce(times * self._work[regions])
        self._waiting.clear()

    @property
    def by_thread(self) -> NDArray[np.float64]:
        """Runs of each region by a thread, on the mean of each block."""
        self._settle()
        return self._sums[0] / int(self._threads.exists[: self._threads.block_lanes].sum())

    @property
    def by_warp(self) -> NDArray[np.float64]:
        """The same by a warp."""
        self._settle()
        return self._sums[1] / (self._threads.block_lanes // WARP_SIZE)

    @property
    def lengths(self) -> NDArray[np.float64]:
        """Operations of each lane."""
        self._settle()
        return self._lengths


def sampling_of(
    draw: Draw, counts: BlockCounts, kernel: ir.Kernel, reason: str, loops: dict[ir.Loop, bool]
) -> Sampling:
    """The bound of the error of every count, where there is one; `loops`: whether blocks may run them longer
    than others.
    """
    inside = _enclosing(kernel)
    work = np.zeros(kernel.region_count)
    for operation in operations(kernel):
        work[operation.region] += operation.number
    fixed = {loop.region: not may_differ for loop, may_differ in loops.items()}
    caps, warp_caps = _caps(counts.by_thread, inside, fixed), _caps(counts.by_warp, inside, fixed)
    total = work @ counts.by_thread
    cap_of_all = float((work * caps)[work > 0].sum())
    mean = float((total * draw.plan.weights).sum() / draw.plan.weights.sum())
    error = _error(draw, total, cap_of_all)
    return Sampling(
        blocks=len(draw.strata),
        of_blocks=round(float(draw.volumes.sum())),
        reason=reason,
        thread_errors=tuple(_error(draw, row, cap) for row, cap in zip(counts.by_thread, caps, strict=True)),
        warp_errors=tuple(_error(draw, row, cap) for row, cap in zip(counts.by_warp, warp_caps, strict=True)),
        relative_error=error / mean if mean and error is not None else error,
        open_lines=tuple(sorted({loop.span.line for loop in loops if math.isinf(caps[loop.body.region])})),
    )


def _error(draw: Draw, row: NDArray[np.float64], cap: float) -> float | None:
    """How far the mean of `row` over the drawn blocks may be off; `cap`: the most that blocks differ by."""
    variance = unseen = 0.0
    whole = float(draw.volumes.sum())
    for stratum, volume in enumerate(draw.volumes):
        values = row[draw.strata == stratum]
        number = values.size
        if number >= volume:
            continue
        share, left = volume / whole, 1.0 - number / volume
        differences = np.diff(values)
        variance += share * share * left * float((differences**2).sum()) / (2 * number * max(1, number - 1))
        unseen = max(unseen, left * min(1.0, RARE * share / number))
    if not unseen:
        return 0.0
    return DEVIATIONS * math.sqrt(variance) + unseen * cap if math.isfinite(cap) else None


def _caps(rows: NDArray[np.float64], inside: list[int], fixed: dict[int, bool]) -> NDArray[np.float64]:
    """By how much the count of a region may differ between blocks: at most by all that there is of it.

    Infinite in loops (the keys of `fixed`) that are not fixed, or that no drawn block runs: others may run
    them how often they like. What nothing decides differs by nothing.
    """
    caps = np.full(len(rows), np.nan)
    for start in range(len(rows)):
        way = [start]
        while inside[way[-1]] >= 0 and np.isnan(caps[way[-1]]):
            way.append(inside[way[-1]])
        for region in reversed(way):
            outer = inside[region]
            if outer < 0:
                caps[region] = 1.0
            elif outer not in fixed:
                caps[region] = caps[outer]
            else:
                entered = rows[outer] > 0
                trips = rows[region][entered] / rows[outer][entered]
                is_known = fixed[outer] and trips.size > 0
                caps[region] = caps[outer] * trips.max() if is_known else math.inf
    caps[[region for region, outer in enumerate(inside) if outer < 0]] = 0.0
    return caps


def _enclosing(kernel: ir.Kernel) -> list[int]:
    """For each region the one around it; -1 for the kernel's body."""
    found = [-1] * kernel.region_count
    statements: list[tuple[ir.Stmt, int]] = [(kernel.body, -1)]
    while statements:
        stmt, outer = statements.pop()
        if stmt.region != outer:
            found[stmt.region] = outer
        if isinstance(stmt, ir.Loop):
            for region in (stmt.test_region, stmt.step_region):
                if region != stmt.region:
                    found[region] = stmt.region
        statements += ((inner, stmt.region) for inner in ir.nested_statements(stmt))
        stack = list(expression_regions(stmt))
        while stack:
            node, region = stack.pop()
            if isinstance(node, ir.InlinedCall):
                statements.append((node.body, region))
            for child, own in child_regions(node, region):
                if own != region:
                    found[own] = region
                stack.append((child, own))
    return found
