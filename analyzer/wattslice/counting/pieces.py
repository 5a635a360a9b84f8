"""Pieces of the grid: which blocks are evaluated, and how many blocks each of them stands for.

A block's counts are piecewise polynomials of its index: guards cut the grid where a linear function of the
index changes sign (`Split`), `blockIdx.x % 4` makes it repeat with a period. Each piece is sampled so that
the sum over it is exact: constant and linear counts by its ends or by middles of strata, those of nested
loops by Simpson's rule. With a period p, an axis of the grid is two axes here: remainder and quotient by p.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice.counting.values import distinct

FEW = 8
"""Steps of a rounded quotient up to which each step is a cut of its own."""

MOST_CUTS = 256
"""Pieces of one axis; a grid in more pieces is sampled."""

MOST_PERIOD = 4096
"""Longest period that is looked for."""

Place = tuple[int, int, int]
Ints = NDArray[np.int64]


class TooManyPiecesError(Exception):
    """The grid falls into more pieces than may be evaluated."""


class Split(Struct, frozen=True, eq=False):
    """Where `coefficients · coordinates + constants`, linear in a block's coordinates, passes 0 from below.

    `coefficients`: shape (axes, lanes); `constants`: (lanes,), one for each lane of a block.
    It holds for blocks whose coordinates are at least `low` and below `high`, both of shape (axes,).
    """

    coefficients: Ints
    constants: Ints
    low: Ints
    high: Ints

    @property
    def identity(self) -> tuple[bytes, ...]:
        """What two equal splits have in common."""
        return tuple(part.tobytes() for part in (self.coefficients, self.constants, self.low, self.high))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Split) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


class Axis(Struct, frozen=True):
    """One axis of the coordinates: of grid axis `real` the remainder by `period`, or the quotient."""

    real: int
    period: int
    is_remainder: bool


class Structure(Struct, frozen=True):
    """What is known of how the blocks of a grid differ.

    `periods`, `degrees`: per axis of the grid; the degree of what loops and ramps of conditions add up.
    `diagonal`: axes along which a cut of another axis moves linearly. `single`: axes (of the grid) each of
    whose remainders is a piece. `with_ends`: both ends of each piece are evaluated.
    """

    grid: tuple[int, int, int]
    periods: tuple[int, int, int] = (1, 1, 1)
    degrees: tuple[int, int, int] = (0, 0, 0)
    single: frozenset[int] = frozenset()
    splits: tuple[Split, ...] = ()
    with_ends: bool = False
    diagonal: frozenset[int] = frozenset()

    def degree(self, real: int) -> int:
        """Degree of the polynomial that counts are along an axis of the grid, within a piece.

        Sums over each inner axis from or to a diagonal are of one degree more than what they add up.
        """
        if real not in self.diagonal:
            return self.degrees[real]
        inner = (axis for axis in range(real) if self.grid[axis] > 1)
        return self.degrees[real] + max(1, sum(1 + self.degree(axis) for axis in inner))

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the coordinates, slowest first: those of z, then y, then x."""
        found: list[Axis] = []
        for real in (2, 1, 0):
            period = self.periods[real]
            if period > 1:
                found.append(Axis(real, period, is_remainder=True))
            found.append(Axis(real, period, is_remainder=False))
        return tuple(found)

    def extent(self, axis: Axis, remainder: int = 0) -> int:
        """Coordinates along `axis`; of a quotient where the remainder is the one given."""
        blocks = self.grid[axis.real]
        if axis.is_remainder:
            return min(axis.period, blocks)
        return -(-(blocks - remainder) // axis.period)

    @property
    def extents(self) -> Ints:
        """The most coordinates along each axis."""
        return np.array([self.extent(axis) for axis in self.axes], np.int64)

    @property
    def long_axes(self) -> int:
        """Number of axes with more than one coordinate that are not taken one by one; at least 1."""
        axes = zip(self.axes, self.extents, strict=True)
        return max(1, sum(n > 1 and not (a.is_remainder and a.real in self.single) for a, n in axes))

    @property
    def remainders(self) -> int:
        """How many combinations there are of the remainders that are taken one by one."""
        return math.prod(min(self.periods[real], self.grid[real]) for real in self.single)

    def with_period(self, real: int, period: int) -> Structure | None:
        """Counts repeat along an axis of the grid with this period, too; None when that is too long.

        Where it is longer than the axis each block is a piece. Splits are forgotten, because coordinates
        change.
        """
        period = math.lcm(self.periods[real], period)
        single = self.single
        if period >= self.grid[real]:
            period, single = self.grid[real], single | {real}
        if period > MOST_PERIOD:
            return None
        periods = (*self.periods[:real], period, *self.periods[real + 1 :])
        return replace(self, periods=periods, single=single, splits=())


class Plan(Struct, frozen=True, eq=False):
    """The blocks to evaluate, each by its place (x, y, z) in the grid and its coordinates.

    `places`: shape (blocks, 3); `coordinates`: (blocks, axes). `weights`: blocks of the grid that each stands
    for. `cells`: a number for each set of blocks between which no split passes. `low`, `high`: the bounds of
    the piece that each stands for, (blocks, axes).
    """

    structure: Structure
    places: Ints
    coordinates: Ints
    weights: NDArray[np.float64]
    cells: Ints
    low: Ints
    high: Ints

    def same_blocks(self, other: Plan) -> bool:
        """Whether both evaluate the same blocks, each for as many, in the same coordinates.

        In others nothing is known of where conditions change: splits are forgotten with a new period.
        """
        return (
            self.structure.periods == other.structure.periods
            and np.array_equal(self.places, other.places)
            and np.array_equal(self.weights, other.weights)
        )

    def same_pieces(self, other: Plan) -> bool:
        """Whether both find the same of the same blocks: what stands for what is the same, too."""
        parts = ("coordinates", "cells", "low", "high")
        return self.same_blocks(other) and all(
            np.array_equal(getattr(self, part), getattr(other, part)) for part in parts
        )


def representatives(extent: int, number: int) -> tuple[tuple[int, float], ...]:
    """At most about `number` positions of 0..extent-1 with weights that sum to `extent`.

    Both ends stand for themselves; in between, the middles of equal strata (two, when the middle falls
    between two positions). Exact for linear functions.
    """
    if extent <= max(number, 3):
        return tuple((k, 1.0) for k in range(extent))
    inner = extent - 2
    strata = max(1, min(number - 2, inner))
    chosen: list[tuple[int, float]] = [(0, 1.0)]
    for s in range(strata):
        low, high = 1 + inner * s // strata, 1 + inner * (s + 1) // strata  # [low, high)
        middle, odd = divmod(low + high - 1, 2)
        weight = float(high - low)
        chosen += [(middle, weight / 2), (middle + 1, weight / 2)] if odd else [(middle, weight)]
    chosen.append((extent - 1, 1.0))
    return tuple(chosen)


def cubic_rule(extent: int) -> tuple[tuple[int, float], ...]:
    """Positions of 0..extent-1 and weights that sum cubic polynomials exactly: Simpson's rule, discrete.

    Both ends have one weight, the one or two middles another; they follow from the sums of 1 and (k - mean)².
    """
    if extent <= 4:
        return tuple((k, 1.0) for k in range(extent))
    half = (extent - 1) / 2
    squares = extent * (extent * extent - 1) / 12
    if extent % 2:
        end = squares / (2 * half * half)
        return (0, end), (extent // 2, extent - 2 * end), (extent - 1, end)
    end = (squares - extent / 4) / (2 * half * half - 0.5)
    middle = extent / 2 - end
    return (0, end), (extent // 2 - 1, middle), (extent // 2, middle), (extent - 1, end)


def first_not_below(slope: Ints, offset: Ints) -> Ints:
    """The first whole v from which on `slope * v + offset` has another sign (below 0, or not) than before."""
    rising = slope > 0
    size = np.where(slope == 0, 1, np.abs(slope))
    return np.where(rising, -(offset // size), offset // size + 1)


def _joined(cells: Ints, bounds: Ints) -> Ints:
    """Cells that hold blocks of one piece, which have the same bounds, are one."""
    if not bool(cells.any()):
        return cells
    numbers: dict[bytes, int] = {}
    pieces = np.array([numbers.setdefault(row.tobytes(), len(numbers)) for row in bounds])
    while True:
        of_piece = np.full(len(numbers), cells.size)
        np.minimum.at(of_piece, pieces, cells)
        of_cell = np.full(int(cells.max()) + 1, cells.size)
        np.minimum.at(of_cell, cells, of_piece[pieces])
        joined = of_cell[cells]
        if np.array_equal(joined, cells):
            return cells
        cells = joined


class _Starts(Struct, frozen=True, eq=False):
    """Where pieces begin along an axis, as rows linear in the coordinates of the axes outside it.

    `slopes`: shape (rows, axes), `constants`: (rows,). `low`, `high`: bounds, of all (axes,) or of
    each row (rows, axes).
    """

    slopes: Ints
    constants: Ints
    low: Ints
    high: Ints

    @classmethod
    def joined(cls, parts: list[_Starts]) -> _Starts:
        """All of them, each once."""
        rows = np.unique(
            np.concatenate(
                [
                    np.concatenate(
                        (
                            part.slopes,
                            np.broadcast_to(part.low, part.slopes.shape),
                            np.broadcast_to(part.high, part.slopes.shape),
                            part.constants[:, None],
                        ),
                        axis=1,
                    )
                    for part in parts
                ]
            ),
            axis=0,
        )
        axes = parts[0].slopes.shape[1]
        slopes, low, high = (rows[:, n * axes : (n + 1) * axes] for n in range(3))
        return cls(slopes, rows[:, -1], low, high)

    def crossings(self, axis: int) -> Split | None:
        """Where two of them change places, a lane for each pair; bounds are those common to all pairs."""
        a, b = np.triu_indices(len(self.constants), 1)
        low, high = np.maximum(self.low[a], self.low[b]), np.minimum(self.high[a], self.high[b])
        slopes, constants = self.slopes[a] - self.slopes[b], self.constants[a] - self.constants[b]
        meet = (low < high).all(axis=1) & slopes.any(axis=1)
        if not bool(meet.any()):
            return None
        slopes[:, axis] = 0
        rows = np.unique(np.concatenate((slopes, constants[:, None]), axis=1)[meet], axis=0)
        return Split(rows[:, :-1].T, rows[:, -1], low[meet].min(axis=0), high[meet].max(axis=0))


class Planner:
    """Finds the blocks to evaluate for a structure.

    `per_axis`: blocks along one axis that ordinary kernels need. `most_blocks`: raises TooManyPiecesError
    beyond. After `plan`, `more` says what the shape of the pieces asks for in addition; when that is nothing,
    `lacks_cuts` says that pieces are cut in a way that is not followed.
    """

    def __init__(self, structure: Structure, per_axis: int, most_blocks: int) -> None:
        self._structure = structure
        self._axes = structure.axes
        self._extents = structure.extents
        self._per_axis = per_axis
        self._most = most_blocks
        self._nodes: list[tuple[list[int], float, list[tuple[int, int]]]] = []
        self.more_diagonal: set[int] = set()
        self.more_periods: set[tuple[int, int]] = set()
        self.more_single: set[int] = set()
        self.lacks_cuts = False

    def plan(self) -> Plan:
        """The blocks to evaluate."""
        self._walk([], 1.0, [])
        coordinates = np.array([node[0] for node in self._nodes], np.int64)
        bounds = np.array([node[2] for node in self._nodes], np.int64)
        places = np.zeros((len(self._nodes), 3), np.int64)
        for k, axis in enumerate(self._axes):
            places[:, axis.real] += coordinates[:, k] * (1 if axis.is_remainder else axis.period)
        order = np.lexsort((places[:, 2], places[:, 1], places[:, 0]))
        return Plan(
            self._structure,
            places[order],
            coordinates[order],
            np.array([node[1] for node in self._nodes])[order],
            _joined(self._cells(coordinates[order]), bounds[order].reshape(len(order), -1)),
            bounds[order, :, 0],
            bounds[order, :, 1],
        )

    def _cells(self, coordinates: Ints) -> Ints:
        """A number for each set of blocks in which every split has the same sign in every lane."""
        cells = np.zeros(len(coordinates), np.int64)
        for k, axis in enumerate(self._axes):
            if axis.is_remainder and axis.real in self._structure.single:
                cells = cells * axis.period + coordinates[:, k]
        if bool(cells.any()):
            cells = np.unique(cells, return_inverse=True)[1].astype(np.int64)
        for split in self._structure.splits:
            inside: NDArray[np.bool_] = np.all(
                (coordinates >= split.low) & (coordinates < split.high), axis=1
            )
            if not bool(inside.any()):
                continue
            signs = coordinates @ split.coefficients + split.constants >= 0
            if bool((signs == signs[:1]).all()) and bool(inside.all()):
                continue
            keys = np.packbits(np.where(inside[:, None], signs, False), axis=1)
            keys = np.concatenate(
                (keys, inside[:, None], cells.astype("<i4").view(np.uint8).reshape(-1, 4)), axis=1
            )
            cells = np.unique(keys, axis=0, return_inverse=True)[1].astype(np.int64).reshape(-1)
        return cells

    def more(self, structure: Structure) -> Structure:
        """`structure` with what the shape of the pieces asks for in addition; itself when that is nothing."""
        known = structure
        for real, period in self.more_periods:
            found = structure.with_period(real, period)
            if found is None:
                raise TooManyPiecesError
            structure = found
        if structure is not known:
            return structure
        diagonal, single = structure.diagonal | self.more_diagonal, structure.single | self.more_single
        if diagonal == structure.diagonal and single == structure.single:
            return structure
        return replace(structure, diagonal=diagonal, single=single)

    def _walk(self, fixed: list[int], weight: float, bounds: list[tuple[int, int]]) -> None:
        k = len(fixed)
        if k == len(self._axes):
            self._nodes.append((fixed, weight, bounds))
            if len(self._nodes) > self._most:
                raise TooManyPiecesError
            return
        axis = self._axes[k]
        has_remainder = k > 0 and self._axes[k - 1].real == axis.real
        extent = self._structure.extent(axis, fixed[-1] if has_remainder else 0)
        for low, high, nodes in self._pieces(k, extent, fixed):
            for value, share in nodes:
                self._walk([*fixed, value], weight * share, [*bounds, (low, high)])

    def _pieces(
        self, k: int, extent: int, fixed: list[int]
    ) -> list[tuple[int, int, tuple[tuple[int, float], ...]]]:
        """The pieces of an axis, from low to below high; the coordinates to evaluate and their weights."""
        axis = self._axes[k]
        structure = self._structure
        if extent <= max(self._per_axis, 3) or (axis.is_remainder and axis.real in structure.single):
            return [(v, v + 1, ((v, 1.0),)) for v in range(extent)]
        cuts = self._cuts(k, extent, fixed)
        ordinary = cuts <= {1, extent - 1}
        cubic = structure.degree(axis.real) > 1
        if ordinary and not cubic:
            nodes = self._ordinary(extent)
            edges = [0, 1, extent - 1, extent]
            return [
                (low, high, tuple(node for node in nodes if low <= node[0] < high))
                for low, high in pairwise(edges)
            ]
        edges = [0, *sorted(cuts), extent]
        widths = [high - low for low, high in pairwise(edges)]
        wide = sum(width > 1 for width in widths)
        number = max(2, (self._per_axis - (len(widths) - wide)) // max(1, wide))
        pieces: list[tuple[int, int, tuple[tuple[int, float], ...]]] = []
        for low, width in zip(edges, widths, strict=False):
            if width <= 2:
                chosen: tuple[tuple[int, float], ...] = tuple((v, 1.0) for v in range(width))
            elif cubic:
                chosen = cubic_rule(width)
                self.lacks_cuts |= axis.real in structure.diagonal and structure.degree(axis.real) > 3
            elif number > 2:
                chosen = representatives(width, number)
            else:
                chosen = (0, width / 2), (width - 1, width / 2)
            if len(chosen) == width:
                pieces += ((low + v, low + v + 1, ((low + v, 1.0),)) for v in range(width))
            else:
                pieces.append((low, low + width, tuple((low + v, share) for v, share in chosen)))
        return pieces

    def _ordinary(self, extent: int) -> tuple[tuple[int, float], ...]:
        """The first and the last block for themselves, what lies between by middles, or by its ends."""
        if not self._structure.with_ends:
            return representatives(extent, self._per_axis)
        inner = representatives(extent - 2, self._per_axis - 2)
        if self._per_axis < 5:
            inner = (0, (extent - 2) / 2), (extent - 3, (extent - 2) / 2)
        return (0, 1.0), *((1 + v, share) for v, share in inner), (extent - 1, 1.0)

    # ------------------------------------------------------------------ cuts

    def _cuts(self, k: int, extent: int, fixed: list[int]) -> set[int]:
        """Where pieces begin along an axis, without 0, with the outer coordinates `fixed`."""
        cuts: set[int] = set()
        axis = self._axes[k]
        if axis.is_remainder:
            cuts |= {self._structure.grid[axis.real] % axis.period}  # beyond, the quotient has one value less
        for split in (*self._structure.splits, *self._crossings(k, fixed)):
            outside = any(
                not low <= value < high
                for value, low, high in zip(fixed, split.low, split.high, strict=False)
            )
            if not outside and bool(split.coefficients[k].any()):
                cuts |= self._cuts_of(split, k, fixed, int(split.low[k]), min(extent, int(split.high[k])))
        cuts = {cut for cut in cuts if 0 < cut < extent}
        if len(cuts) > MOST_CUTS:
            raise TooManyPiecesError
        return cuts

    def _crossings(self, k: int, fixed: list[int]) -> list[Split]:
        """Where, along an axis, cuts of the axes inside it change places: a diagonal meets another bound.

        Axes are eliminated one by one, the innermost first.
        """
        last = len(self._axes) - 1
        splits = [
            split
            for split in self._structure.splits
            if all(a <= v < b for v, a, b in zip(fixed, split.low, split.high, strict=False))
        ]
        if not any((s.coefficients[k] != 0)[s.coefficients[k + 1 :].any(axis=0)].any() for s in splits):
            return []
        found: list[Split] = []
        for axis in range(last, k, -1):
            starts = self._starts(axis, k, fixed, [*splits, *found])
            crossings = starts.crossings(axis) if starts is not None else None
            if crossings is not None:
                found.append(crossings)
        return found

    def _starts(self, axis: int, k: int, fixed: list[int], splits: list[Split]) -> _Starts | None:
        """Where pieces begin along `axis`, by the coordinates of the axes from `k` on."""
        parts: list[_Starts] = []
        several, extent = k + 2 < len(self._axes), int(self._extents[axis])
        for split in splits:
            used = (split.coefficients[axis] != 0) & ~split.coefficients[axis + 1 :].any(axis=0)
            if not bool(used.any()):
                continue
            coefficients, constants = split.coefficients[:, used].copy(), split.constants[used].copy()
            for j, value in enumerate(fixed):
                constants += coefficients[j] * value
            coefficients[:k] = 0
            slope = coefficients[axis].copy()
            coefficients[axis] = 0
            size, rising = np.abs(slope), slope > 0
            rest = np.where(coefficients % size, coefficients, 0)  # these move it in steps
            ends = rest * split.low[:, None], rest * (np.minimum(split.high, self._extents) - 1)[:, None]
            least = (constants + np.minimum(*ends).sum(axis=0)) // size
            most = (constants + np.maximum(*ends).sum(axis=0)) // size
            steps = int((most - least).max())
            if steps > FEW:
                self.lacks_cuts = True
                continue
            if steps and min(self._structure.grid) > 1:  # where the steps lie along two axes is not followed
                self.lacks_cuts |= bool((np.count_nonzero(rest, axis=0) > 1).any())
            linear = np.where(rising, -1, 1) * ((coefficients - rest) // size)
            whole: Ints = np.minimum(least + np.arange(steps + 1)[:, None], most)
            begins: list[Ints] = [np.where(rising, -row, row + 1) for row in whole]
            parts += (_Starts(linear.T, row, split.low, split.high) for row in begins)
            # With one axis inside `k`, its ends are looked at where cuts are.
            edges = {int(split.low[axis]), int(min(split.high[axis], extent)), extent - 1} if several else ()
            parts += (
                _Starts(np.zeros_like(linear.T), np.full(len(slope), edge), split.low, split.high)
                for edge in edges
            )
        starts = _Starts.joined(parts) if parts else None
        if starts is None or len(starts.constants) <= 2 * MOST_CUTS:
            return starts
        self.lacks_cuts = True
        return None

    def _cuts_of(self, split: Split, k: int, fixed: list[int], first: int, end: int) -> set[int]:
        varies = split.coefficients[k] != 0
        coefficients = split.coefficients[:, varies]
        slope = coefficients[k]
        base = split.constants[varies].copy()
        for j, value in enumerate(fixed):
            base += coefficients[j] * value
        least, most = base.copy(), base.copy()
        inner = range(k + 1, len(self._axes))
        for j in inner:
            ends = coefficients[j] * split.low[j], coefficients[j] * (split.high[j] - 1)
            least += np.minimum(*ends)
            most += np.maximum(*ends)
        begin, over = first_not_below(slope, most), first_not_below(slope, least)
        cuts = {int(v) for v in distinct(np.clip(np.concatenate((begin, over)), first, end))}
        begin, over = (
            np.clip(np.minimum(begin, over), first, end),
            np.clip(np.maximum(begin, over), first, end),
        )
        mixed = (most > least) & (over - begin > 1)
        if bool(mixed.any()):  # here the place of the cut along the inner axes moves
            moving = [int(abs(c)) for j in inner for c in distinct(coefficients[j][mixed])]
            step = math.gcd(*moving)
            slope, base, begin, over = slope[mixed], base[mixed], begin[mixed], over[mixed]
            moves = int((np.abs(slope) * (over - begin) // step).max())
            real = self._axes[k].real
            if min(self._structure.grid) > 1:  # where a quotient inside steps is not followed in three axes
                self.lacks_cuts |= any(
                    self._axes[j].is_remainder
                    and self._axes[j].real != real
                    and bool(split.coefficients[j][varies][mixed].any())
                    for j in inner
                )
            quotients = [coefficients[j][mixed] for j in inner if not self._axes[j].is_remainder]
            # Counts may differ between remainders inside: for each the cut moves in steps of the quotient.
            stride = math.gcd(*(int(c) for row in quotients for c in distinct(row))) or step
            if moves <= FEW:
                lowest = (base + slope * np.where(slope > 0, begin, over)) // step
                for m in range(moves + 2):
                    cuts |= set(
                        np.clip(first_not_below(slope, base - (lowest + m) * step), begin, over).tolist()
                    )
            elif bool((slope % stride).any()):
                period = stride // math.gcd(stride, *(int(s) for s in distinct(slope)))
                if self._axes[k].is_remainder:
                    self.more_single.add(real)
                else:
                    self.more_periods.add((real, period * self._axes[k].period))
            else:
                self.more_diagonal.add(real)
        return cuts
