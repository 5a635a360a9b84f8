"""What one evaluation of sampled blocks shows about all blocks: where conditions change, what stays linear.

Indices, sums and multiples are linear in a block's coordinates. Whatever decides control and is not linear
(comparisons, quotients, minima, wrapping) reports its operands here. From the sampled blocks their linear
form is solved, exactly in integers, for the whole grid or for each piece of it; where it changes sign the
grid is cut, so that the result is linear again within each piece. By induction counts are then known for all
blocks. What is not linear even within a piece is `unsolved`: counts that depend on it are sampled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.counting.pieces import FEW, Ints, Plan, Split, Structure, TooManyPiecesError
from wattslice.counting.sampling import planned
from wattslice.counting.values import Pointer, Value, distinct
from wattslice.ir.accesses import register_assignments
from wattslice.ir.c_arithmetic import COMPARE
from wattslice.ir.loops import LoopShape, read_place
from wattslice.ir.objects import FOLLOWED, contents_given

MOST_FORMS = 16
"""Forms of one condition, met in the iterations of a loop, that are cut each by itself."""

MOST_DEGREE = 3
"""Degree of polynomials that pieces are summed exactly for."""

MOST_BITS = 1 << 40
"""Masks from here on are not looked at bit by bit."""

EXACT_LIMIT = 1 << 52
"""Integers from here on are not solved for."""


_LINEAR = frozenset({ir.Semantics.IDENTITY, ir.Semantics.ADD, ir.Semantics.NONE, ir.Semantics.BARRIER})
_PRODUCTS = frozenset({ir.Semantics.MUL, ir.Semantics.FMA, ir.Semantics.MUL24})
"""Linear where one argument varies."""


_Source = ir.Expr | ir.Loop
"""What reports something: an expression, or a loop for its trips."""


class _Common(Struct, frozen=True, eq=False):
    """What all blocks have in common, by lane. `runs`: the lanes that run in some block."""

    values: Ints
    runs: NDArray[np.bool_]

    def differs(self, other: _Common) -> bool:
        """Whether a lane that runs in both has another value."""
        return bool(((self.values != other.values) & self.runs & other.runs).any())

    def since(self, other: _Common) -> _Common:
        """By how much it is more than `other`."""
        return _Common(self.values - other.values, self.runs & other.runs)


class _Run(Struct, eq=False):
    """A loop being run, in its `iteration`.

    `trips`: their linear forms, none where blocks do not differ in them; `axes`: those that they depend on.
    """

    loop: ir.Loop
    trips: list[Split]
    axes: list[int]
    iteration: int = -1


class _Shape(Struct, frozen=True, eq=False):
    """By how much lanes lie beyond the first one; the `ends` of those that run in some block, and the linear
    forms of that.
    """

    shape: Ints
    active: NDArray[np.bool_]
    ends: tuple[int, int]
    forms: list[Split] | None


class Boundaries:
    """Collects, during one evaluation of the blocks of `plan`, how their counts depend on the block.

    `lanes`: padded lanes of a block. `skipping`: loops around of which only some iterations are run, although
    they differ.
    """

    def __init__(self, plan: Plan, lanes: int, kernel: ir.Kernel) -> None:
        self._plan = plan
        self._lanes = lanes
        self._kernel = kernel
        self._deciding = deciding_expressions(kernel)
        structure = plan.structure
        self._extents = structure.extents
        stands_for_others = ((plan.high - plan.low) > 1).any(axis=1)
        self._cells = [np.flatnonzero(plan.cells == cell) for cell in distinct(plan.cells[stands_for_others])]
        self._all = np.arange(len(plan.cells))
        self._last: dict[object, _Shape] = {}
        self._solvers: dict[bytes, NDArray[np.float64]] = {}
        self._splits: dict[_Source, dict[tuple[bytes, ...], Split]] = {}
        self._depth = [0] * len(structure.axes)
        self._degree = [0] * len(structure.axes)
        self._breaks: dict[ir.Loop, dict[tuple[bytes, ...], Split]] = {}
        self._periods: dict[_Source, set[tuple[int, int]]] = {}
        self._single: dict[_Source, set[int]] = {}
        self._left: dict[_Source, str] = {}
        self._known: set[_Source] = set()
        self._lacks_ends = False
        self._runs: list[_Run] = []
        self._decided: dict[tuple[object, ...], _Common] = {}
        self._paces: dict[tuple[object, ...], tuple[int, _Common, _Common | None]] = {}
        self._skipped: dict[_Source, set[bytes]] = {}
        self.skipping = 0
        self._asked = 0  # how much had been found when it was last asked whether that is in vain
        self.unsolved: dict[tuple[str, int], str] = {}

    # ------------------------------------------------------------------ what is reported here

    def compare(
        self, expr: ir.Expr, op: ir.BinaryOp, left: Value, right: Value, active: NDArray[np.bool_]
    ) -> None:
        """`left op right` was evaluated, a comparison."""
        self._known.add(expr)
        difference = self._difference(expr, left, right)
        if self.is_iterating:
            a = _whole(left.offset if isinstance(left, Pointer) else left)
            b = _whole(right.offset if isinstance(right, Pointer) else right)
            common = None if a is None or b is None else self._common(np.asarray(a - b), active)
            if common is not None:
                self._outcome(expr, _Common(COMPARE[op](common.values, 0).astype(np.int64), common.runs))
                return
        if difference is None:
            return
        if op in (ir.BinaryOp.LT, ir.BinaryOp.GE):
            self._split(expr, difference, active, 0)
        elif op in (ir.BinaryOp.LE, ir.BinaryOp.GT):
            self._split(expr, difference, active, -1)
        else:
            self._split(expr, difference, active, 0, -1)

    def decide(self, expr: ir.Expr, value: Value, active: NDArray[np.bool_]) -> None:
        """The truth of a number was asked for."""
        if isinstance(value, int | np.ndarray):
            self._known.add(expr)
            is_truth = isinstance(value, np.ndarray) and value.dtype == np.bool_
            if not is_truth and (isinstance(value, np.ndarray) or self.is_iterating):
                self.compare(expr, ir.BinaryOp.NE, value, 0, active)

    def select(self, expr: ir.Expr, value: Value, labels: list[int], active: NDArray[np.bool_]) -> None:
        """A switch decided by `value`."""
        for label in labels:
            self.compare(expr, ir.BinaryOp.EQ, value, label, active)

    def operation(
        self, expr: ir.Binary, left: Value, right: Value, result: Value, active: NDArray[np.bool_]
    ) -> None:
        """An arithmetic operation was evaluated."""
        if expr not in self._deciding or not isinstance(result, np.ndarray):
            return
        if expr.op in (ir.BinaryOp.DIV, ir.BinaryOp.MOD, ir.BinaryOp.SHR, ir.BinaryOp.AND) and isinstance(
            right, int
        ):
            self._rounding(expr, left, right, active)
        elif expr.op is ir.BinaryOp.AND and isinstance(left, int):
            self._rounding(expr, right, left, active)
        elif expr.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB, ir.BinaryOp.MUL) or (
            expr.op is ir.BinaryOp.SHL and isinstance(right, int)
        ):
            if expr.op is ir.BinaryOp.MUL and self._varies(left) and self._varies(right):
                self._leave(expr, "is not linear in the block index")
            elif expr.operand_type.is_integral:
                self._wrapping(expr, left, right, active)
        elif expr.op in (ir.BinaryOp.OR, ir.BinaryOp.XOR) and isinstance(_number(left, right), int):
            values = _whole(right if isinstance(left, int) else left)
            if isinstance(values, np.ndarray) and self._varies(values):
                self._bits(expr, values, cast(int, _number(left, right)), active)
        elif expr.op is not ir.BinaryOp.COMMA and (self._varies(left) or self._varies(right)):
            is_truth = all(isinstance(v, np.ndarray) and v.dtype == np.bool_ for v in (left, right))
            if not is_truth:
                self._leave(expr, "is not linear in the block index")

    def minimum(self, expr: _Source, left: Value, right: Value, active: NDArray[np.bool_]) -> None:
        """The smaller or greater of two was taken."""
        if isinstance(expr, ir.Loop) or expr in self._deciding:
            difference = self._difference(expr, left, right)
            if difference is not None:
                self._split(expr, difference, active, 0)

    def function(self, expr: ir.Intrinsic, arguments: list[Value], active: NDArray[np.bool_]) -> None:
        """An intrinsic was computed."""
        if expr not in self._deciding:
            return
        semantics = expr.semantics
        if semantics in (ir.Semantics.MIN, ir.Semantics.MAX) and len(arguments) > 1:
            self.minimum(expr, arguments[0], arguments[1], active)
        elif semantics is ir.Semantics.ABS:
            self.minimum(expr, arguments[0], 0, active)
        elif semantics in (ir.Semantics.DIV, ir.Semantics.MOD) and isinstance(arguments[1], int):
            values = _whole(arguments[0])
            if isinstance(values, np.ndarray):
                self._quotient(expr, values, abs(arguments[1]), active)
        elif semantics not in _LINEAR:
            varying = sum(map(self._varies, arguments))
            if varying > (semantics in _PRODUCTS):
                self._leave(expr, "is not linear in the block index")

    def conversion(self, expr: ir.Cast, value: Value, active: NDArray[np.bool_]) -> None:
        """`value` was converted to the type of `expr`."""
        if expr not in self._deciding or not isinstance(value, np.ndarray) or value.dtype == np.bool_:
            return
        type_ = expr.type
        if type_.kind is ir.TypeKind.BOOL:
            self.compare(expr, ir.BinaryOp.NE, value, 0, active)
        elif value.dtype.kind == "f":
            if type_.is_integral and self._varies(value):
                self._leave(expr, "is rounded from floating point")
        elif type_.is_integral and type_.bits in (8, 16, 32):
            low = -(1 << (type_.bits - 1)) if type_.signed else 0
            self._limits(expr, value, low, low + (1 << type_.bits), active)

    def trips(
        self,
        loop: ir.Loop,
        op: ir.BinaryOp,
        first: Value,
        amount: Value,
        comparison: ir.BinaryOp,
        limit: Value,
        active: NDArray[np.bool_],
    ) -> None:
        """A loop runs from `first` while `comparison` with `limit` holds, by `amount` at a step."""
        self._known.add(loop)
        if not (self._varies(first) or self._varies(limit) or self._varies(amount)):
            return
        if op is ir.BinaryOp.SUB and isinstance(amount, int):
            op, amount = ir.BinaryOp.ADD, -amount
        distance = self._difference(loop, limit, first)
        if distance is None:
            return
        if op is not ir.BinaryOp.ADD or not isinstance(amount, int) or not amount:
            self._leave(loop, "has trips that are not linear in the block index")
            return
        if comparison in (ir.BinaryOp.GT, ir.BinaryOp.GE) or (comparison is ir.BinaryOp.NE and amount < 0):
            distance = -distance
        if comparison is ir.BinaryOp.EQ:
            self._split(loop, distance, active, 0, -1)
            return
        needed = distance + (1 if comparison in (ir.BinaryOp.LE, ir.BinaryOp.GE) else 0)
        self._split(loop, needed, active, -1)
        self._quotient(loop, needed + abs(amount) - 1, abs(amount), active)

    def enter(self, loop: ir.Loop, trips: int | NDArray[np.int64] | None, active: NDArray[np.bool_]) -> None:
        """A loop begins, with known `trips` or without; `leave` ends it."""
        self._known.add(loop)
        run = _Run(loop, [], [])
        common = self._common(np.asarray(trips), active) if self.is_iterating and trips is not None else None
        if common is not None:
            run.axes = self._pace(loop, common)
        elif isinstance(trips, np.ndarray) and self._varies(trips):
            forms = self._forms((loop,), trips, active)
            if forms is None:
                self._leave(loop, "has trips that are not linear in the block index")
            else:
                run.trips = forms
                axes = range(len(self._depth))
                run.axes = [k for k in axes if any(bool(form.coefficients[k].any()) for form in forms)]
        self._runs.append(run)
        for k in run.axes:
            self._depth[k] += 1
            self._degree[k] = max(self._degree[k], self._depth[k])

    def leave(self) -> None:
        """The loop entered last ends."""
        for k in self._runs.pop().axes:
            self._depth[k] -= 1

    def iterate(self, iteration: int | NDArray[np.int64]) -> None:
        """An iteration of the loop entered last begins."""
        self._runs[-1].iteration = iteration if isinstance(iteration, int) else -1

    @property
    def is_iterating(self) -> bool:
        """Whether blocks differ in the iterations of a loop that is being run."""
        return any(run.trips for run in self._runs)

    def _common(self, values: Ints, active: NDArray[np.bool_]) -> _Common | None:
        """`values` by lane, masked where no block runs the lane; None where blocks that run it differ."""
        lanes = active.reshape(-1, self._lanes)
        rows = np.broadcast_to(values.reshape(-1, self._lanes) if values.size > 1 else values, lanes.shape)
        greatest = np.where(lanes, rows, np.iinfo(np.int64).min).max(axis=0)
        least = np.where(lanes, rows, np.iinfo(np.int64).max).min(axis=0)
        runs = greatest >= least
        return (
            _Common(np.where(runs, least, 0), runs) if np.array_equal(greatest[runs], least[runs]) else None
        )

    def _outcome(self, expr: ir.Expr, outcome: _Common) -> None:
        """A condition that all blocks decide alike: where iterations differ in it, longer loops differ."""
        for run, key in self._contexts(expr):
            before = self._decided.get(key)
            self._decided[key] = outcome
            if before is not None and before.differs(outcome):
                self._break(run)

    def _pace(self, loop: ir.Loop, trips: _Common) -> list[int]:
        """Trips of a loop inside, the same in all blocks; the axes along which sums of them grow faster."""
        axes: set[int] = set()
        for run, key in self._contexts(loop):
            last = self._paces.get(key)
            at = run.iteration
            pace: _Common | None = None
            if last is not None and at > last[0]:
                moved = trips.since(last[1])
                pace = replace(moved, values=moved.values // (at - last[0]))
                is_even = not moved.differs(replace(pace, values=pace.values * (at - last[0])))
                if not is_even or (last[2] is not None and pace.differs(last[2])):
                    self._break(run)
                if bool((pace.values != 0)[pace.runs].any()):
                    axes.update(run.axes)
            self._paces[key] = at, trips, pace
        return sorted(axes)

    def _contexts(self, source: _Source) -> Iterator[tuple[_Run, tuple[object, ...]]]:
        """The loops around that blocks run more or less often, each with what its iterations share."""
        for run in self._runs:
            if run.trips:
                others = tuple(other.iteration for other in self._runs if other is not run)
                yield run, (source, run.loop, others)

    def _break(self, run: _Run) -> None:
        """From the present iteration on, those of a loop are not what they were: the grid is cut there."""
        if run.iteration < 0 or self.skipping:
            self._leave(run.loop, "has iterations that differ, and more or fewer of them by block")
            return
        splits = self._breaks.setdefault(run.loop, {})
        if len(splits) > MOST_FORMS * len(run.trips):
            self._leave(run.loop, "has iterations that differ, and more or fewer of them by block")
            return
        for form in run.trips:
            split = replace(form, constants=form.constants - run.iteration)
            splits[split.identity] = split

    def counted(self, loop: ir.Loop, weights: NDArray[np.float64]) -> None:
        """How often lanes ran a part of a loop is known from what was not evaluated here."""
        if self._varies(weights):
            self._leave(loop, "has too many iterations to tell how they differ between blocks")

    # ------------------------------------------------------------------ what follows

    def is_in_vain(self, block: tuple[int, int, int]) -> bool:
        """Whether the counts of these blocks cannot stand for all, by what is known so far.

        Other blocks are asked for, or something cannot be solved.
        """
        found = self._splits.values(), self._breaks.values(), self._periods.values()
        number = len(self._left) + sum(len(part) for parts in found for part in parts)
        if number == self._asked:
            return False
        self._asked, unsolved = number, dict(self.unsolved)
        try:
            return not planned(self.structure(), block).same_blocks(self._plan) or bool(self.unsolved)
        except TooManyPiecesError:
            return True
        finally:
            self.unsolved = unsolved

    @property
    def reason(self) -> str:
        """Why counts are to be sampled that these blocks cannot stand for."""
        (_, line), what = next(iter(self.unsolved.items()))
        return f"what line {line} computes {what}" if line else f"the kernel {what}"

    def structure(self) -> Structure:
        """What is known now; a fixed point when it gives the same plan again."""
        old = self._plan.structure
        found: Structure | None = old
        deciding = expressions_behind(self._kernel, frozenset(self._known)) | self._known
        single = frozenset(
            real for source, reals in self._single.items() if source in deciding for real in reals
        )
        for source in self._periods.keys() & deciding:
            for real, period in self._periods[source]:
                found = None if found is None else found.with_period(real, period)
        if found is None:
            self.unsolved.setdefault(("", 0), "repeats too slowly along the grid")
            return old
        if found.periods != old.periods:
            return replace(found, single=found.single | single)
        known = {split.identity: split for split in old.splits}
        degrees = [0, 0, 0]
        for k, axis in enumerate(old.axes):
            degrees[axis.real] = max(degrees[axis.real], self._degree[k])
        for source, splits in self._splits.items():
            if source not in deciding:
                continue
            kept = splits
            if len(splits) > MOST_FORMS:
                ramp = self._ramp(list(splits.values()))
                if ramp is None:
                    self._leave(source, "changes at too many blocks")
                    continue
                kept, reals = ramp
                for real in reals:
                    degrees[real] += 1
            known.update(kept)
        for splits in self._breaks.values():
            known.update(splits)
        for source, reason in self._left.items():
            if source in deciding:
                self.unsolved.setdefault((source.span.file, source.span.line), reason)
        if max(degrees) > MOST_DEGREE:
            self.unsolved.setdefault(("", 0), "has loops nested too deeply")
        return replace(
            found,
            splits=tuple(known.values()),
            degrees=tuple(max(pair) for pair in zip(degrees, old.degrees, strict=True)),
            single=found.single | single,
            with_ends=found.with_ends or self._lacks_ends,
        )

    def _ramp(self, splits: list[Split]) -> tuple[dict[tuple[bytes, ...], Split], set[int]] | None:
        """First and last of splits at equal distances, which counts pass linearly, and the axes concerned."""
        first = splits[0]
        if any(
            not np.array_equal(first.coefficients, other.coefficients)
            or not np.array_equal(first.low, other.low)
            or first.constants.shape != other.constants.shape
            for other in splits
        ):
            return None
        constants = np.array([split.constants for split in splits])
        constants = constants[np.argsort(constants[:, 0])]
        steps = np.diff(constants, axis=0)
        step = int(steps[0, 0])
        if not bool((steps == step).all()):
            return None
        reals: set[int] = set()
        for k, axis in enumerate(self._plan.structure.axes):
            slopes = [int(s) for s in distinct(first.coefficients[k]) if s]
            if slopes:
                reals.add(axis.real)
                if math.gcd(*slopes) % step:
                    return None
        ends = (replace(first, constants=constants[0]), replace(first, constants=constants[-1]))
        return {end.identity: end for end in ends}, reals

    # ------------------------------------------------------------------ linear forms

    def _varies(self, value: Value) -> bool:
        """Whether a known value differs between blocks."""
        if isinstance(value, Pointer):
            return isinstance(value.offset, np.ndarray) and self._varies(value.offset)
        if not isinstance(value, np.ndarray):
            return False
        rows = value.reshape(-1, self._lanes)
        # Mostly the first lane tells.
        return bool(rows[0, 0] != rows[-1, 0]) or bool((rows != rows[:1]).any())

    def _difference(self, source: _Source, left: Value, right: Value) -> Ints | None:
        """`left - right` where blocks differ in it; None where they do not, or it is unknown."""
        a = left.offset if isinstance(left, Pointer) else left
        b = right.offset if isinstance(right, Pointer) else right
        if not (self._varies(a) or self._varies(b)):
            return None
        whole_a, whole_b = _whole(a), _whole(b)
        if whole_a is None or whole_b is None:
            if isinstance(a, int | float | np.ndarray) and isinstance(b, int | float | np.ndarray):
                self._leave(source, "compares what is no linear integer of the block index")
            return None
        return np.asarray(whole_a - whole_b)

    def _split(self, source: _Source, values: Ints, active: NDArray[np.bool_], *shifts: int) -> None:
        """The grid is cut where `values`, and those shifted, pass 0."""
        forms = self._forms(source, values, active)
        if forms is None:
            self._leave(source, "is not linear in the block index")
            return
        splits = self._splits.setdefault(source, {})
        if self.skipping and forms:
            seen = self._skipped.setdefault(source, set())
            seen.update(form.constants.tobytes() for form in forms if bool(form.coefficients.any()))
            if len(seen) > len(forms):
                self._leave(source, "changes between the iterations of a long loop")
        for form in forms:
            if len(splits) > 64 * MOST_FORMS or not bool(form.coefficients.any()):
                continue
            for shift in shifts:
                split = form if shift == 0 else replace(form, constants=form.constants + shift)
                low, high = _range(split)
                if low < 0 <= high:
                    splits[split.identity] = split

    def _rounding(self, expr: ir.Binary, value: Value, number: int, active: NDArray[np.bool_]) -> None:
        """`value / number` and the like."""
        if not self._varies(value):
            return
        values = _whole(value)
        if values is None or not isinstance(values, np.ndarray):
            self._leave(expr, "is not linear in the block index")
            return
        if expr.op is ir.BinaryOp.SHR:
            self._quotient(expr, values, 1 << number if 0 <= number < 62 else 1, active, rounds_down=True)
        elif expr.op is not ir.BinaryOp.AND:
            self._quotient(expr, values, abs(number), active)
        elif number >= 0 and number & (number + 1) == 0:
            self._quotient(expr, values, number + 1, active, rounds_down=True)
        else:
            self._bits(expr, values, number, active)

    def _bits(self, expr: ir.Binary, values: Ints, number: int, active: NDArray[np.bool_]) -> None:
        """Those bits of `values` are used that are set in `number`: each by itself."""
        if not 0 <= number < MOST_BITS:
            self._leave(expr, "is not linear in the block index")
            return
        for bit in range(number.bit_length()):
            if number >> bit & 1:
                self._quotient(expr, values, 1 << bit, active, rounds_down=True)
                self._quotient(expr, values, 2 << bit, active, rounds_down=True)

    def _quotient(
        self,
        source: _Source,
        values: Ints,
        number: int,
        active: NDArray[np.bool_],
        *,
        rounds_down: bool = False,
    ) -> None:
        """The whole part or the rest of `values / number` is used."""
        if number <= 1:
            return
        forms = self._forms(source, values, active)
        if forms is None:
            self._leave(source, "is not linear in the block index")
            return
        splits = self._splits.setdefault(source, {})
        for form in forms:
            low, high = _range(form)
            if not rounds_down and low < 0 <= high:
                splits[form.identity] = form
            divides = (form.coefficients % number == 0).all(axis=1)
            rest = replace(form, coefficients=np.where(divides[:, None], 0, form.coefficients))
            below = low < 0 and not rounds_down  # there rounding is upwards
            low, high = _range(rest)
            steps = range(low // number + 1, high // number + 1)
            if divides.all():
                continue
            if len(steps) <= FEW:
                for step in steps:
                    at = replace(rest, constants=rest.constants - step * number)
                    splits[at.identity] = at
                    if below:
                        at = replace(at, constants=at.constants - 1)
                        splits[at.identity] = at
                continue
            for k in np.flatnonzero(~divides):
                axis = self._plan.structure.axes[int(k)]
                period = number // math.gcd(number, *(int(c) for c in distinct(form.coefficients[k])))
                if axis.is_remainder:
                    self._single.setdefault(source, set()).add(axis.real)
                else:
                    self._periods.setdefault(source, set()).add((axis.real, period * axis.period))

    def _wrapping(self, expr: ir.Binary, left: Value, right: Value, active: NDArray[np.bool_]) -> None:
        """A sum or product may leave the range of its type; then its exact value decides where."""
        type_ = expr.operand_type
        a, b = _whole(left), _whole(right)
        if a is None or b is None or type_.bits not in (8, 16, 32, 64):
            return
        low = -(1 << (type_.bits - 1)) if type_.signed else 0
        match expr.op:
            case ir.BinaryOp.ADD:
                exact = a + b
            case ir.BinaryOp.SUB:
                exact = a - b
            case ir.BinaryOp.MUL:
                exact = a * b
            case _:
                exact = a << b
        self._limits(expr, np.asarray(exact), low, low + (1 << type_.bits), active)

    def _limits(self, expr: ir.Expr, values: Ints, low: int, end: int, active: NDArray[np.bool_]) -> None:
        used = values[active] if values.shape == active.shape else values.ravel()
        if used.size and int(used.min()) < low and self._varies(values):
            self._split(expr, values - low, active, 0)
        if used.size and int(used.max()) >= end and self._varies(values):
            self._split(expr, values - end, active, 0)
            if int(used.max()) >= 2 * end - low:
                self._leave(expr, "wraps around more than once")

    def _leave(self, source: _Source, reason: str) -> None:
        self._left.setdefault(source, reason)

    def _forms(self, key: object, values: Ints, active: NDArray[np.bool_]) -> list[Split] | None:
        """The linear forms of `values` over the grid or over each of its pieces; empty when nobody runs.

        None: it is not linear in some piece. `key`: whose they are; from one iteration of a loop to the next
        they mostly move by a number.
        """
        first = int(values[0])
        shape = values - first
        last = self._last.get(key)
        if last is None or not (np.array_equal(last.shape, shape) and np.array_equal(last.active, active)):
            rows, lanes = shape.reshape(-1, self._lanes), active.reshape(-1, self._lanes)
            if not np.logical_and.reduce(active):
                used = lanes.any(axis=0)
                rows, lanes = rows[:, used], lanes[:, used]
            if not rows.size or (rows[0, 0] == rows[-1, 0] and bool((rows == rows[:1]).all())):
                return []
            ends = int(rows.min()), int(rows.max())
            if not _is_exact(ends, first):
                return None
            self._last[key] = last = _Shape(shape, active, ends, self._solved_forms(rows, lanes))
        if last.forms is None or not _is_exact(last.ends, first):
            return None
        return [replace(form, constants=form.constants + first) for form in last.forms]

    def _solved_forms(self, rows: Ints, lanes: NDArray[np.bool_]) -> list[Split] | None:
        """Those of what differs between blocks, in the `lanes` of each."""
        low = np.zeros_like(self._extents)
        everywhere = self._solved(rows, self._all)
        if everywhere is not None:
            return [Split(*everywhere, low, self._extents)]
        forms: list[Split] = []
        for members in self._cells:
            inside = members[lanes[members].any(axis=1)]
            if not inside.size:
                continue
            here = lanes[inside].any(axis=0)
            solved = self._solved_in_piece(
                rows[inside][:, here], lanes[inside][:, here], inside, members.size
            )
            if solved is None:
                return None
            if bool(solved[0].any()):
                low, high = self._plan.low[inside].min(axis=0), self._plan.high[inside].max(axis=0)
                forms.append(Split(*solved, low, high))
        return forms

    def _solved_in_piece(
        self, rows: Ints, active: NDArray[np.bool_], inside: NDArray[np.intp], members: int
    ) -> tuple[Ints, Ints] | None:
        coordinates = self._plan.coordinates[inside]
        widths = (self._plan.high[inside] - self._plan.low[inside]).max(axis=0)
        if bool(((widths > 1) & (coordinates.min(axis=0) == coordinates.max(axis=0))).any()):
            if inside.size == members:
                self._lacks_ends = True
            if not bool((rows == rows[:1]).all()):
                return None
        solved = self._solved(rows, inside)
        if solved is None and not bool(active.all()):
            full = active.all(axis=1)
            solved = self._solved(rows[full], inside[full]) if bool(full.any()) else None
        if solved is None:
            self._lacks_ends = True
        return solved

    def _solved(self, rows: Ints, members: NDArray[np.intp]) -> tuple[Ints, Ints] | None:
        """Coefficients (axes, lanes) and constants (lanes,) of rows (members, lanes); None if not linear."""
        key = members.tobytes()
        if key not in self._solvers:
            self._solvers[key] = self._solver(members)
        solver = self._solvers[key]
        coordinates = self._plan.coordinates[members]
        slopes = np.rint(solver @ (rows - rows[:1]).astype(np.float64)).astype(np.int64)
        constants = rows[0] - coordinates[0] @ slopes
        return (slopes, constants) if np.array_equal(coordinates @ slopes + constants, rows) else None

    def _solver(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """The matrix that gives slopes (axes) from what rows are beyond the first."""
        coordinates = self._plan.coordinates[members].astype(np.float64)
        beyond = coordinates - coordinates[:1]
        scale = np.abs(beyond).max(axis=0)
        chosen: list[int] = []  # blocks along a diagonal are told apart by one of its axes
        for axis in range(scale.size):
            tried = [*chosen, axis]
            if scale[axis] > 0 and int(np.linalg.matrix_rank(beyond[:, tried] / scale[tried])) > len(chosen):
                chosen = tried
        solver = np.zeros((beyond.shape[1], beyond.shape[0]))
        if chosen:
            solver[chosen] = np.linalg.pinv(beyond[:, chosen] / scale[chosen]) / scale[chosen][:, None]
        return solver


def _number(left: Value, right: Value) -> int | None:
    """That of the two which is a number."""
    return next((side for side in (left, right) if isinstance(side, int)), None)


def _is_exact(ends: tuple[int, int], first: int) -> bool:
    """Whether integers between `ends` beyond `first` are small enough to solve for."""
    return max(ends[1] + first, -ends[0] - first) < EXACT_LIMIT


def _range(form: Split) -> tuple[int, int]:
    """Least and greatest value of a form in its bounds."""
    ends = form.coefficients * form.low[:, None], form.coefficients * (form.high - 1)[:, None]
    low = form.constants + np.minimum(*ends).sum(axis=0)
    high = form.constants + np.maximum(*ends).sum(axis=0)
    return int(low.min()), int(high.max())


def _whole(value: Value) -> int | Ints | None:
    """`value` as signed integers; None when it is unknown or no integer."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < EXACT_LIMIT else None
    if isinstance(value, int):
        return value if abs(value) < 1 << 62 else None
    if not isinstance(value, np.ndarray):
        return None
    if value.dtype == np.bool_:
        return value.astype(np.int64)
    if value.dtype == np.float64:
        whole = np.rint(value)
        exact = bool((whole == value).all()) and float(np.abs(whole).max()) < EXACT_LIMIT
        return whole.astype(np.int64) if exact else None
    return None if value.dtype == np.uint64 else value


@lru_cache(maxsize=8)
def deciding_expressions(kernel: ir.Kernel) -> frozenset[_Source]:
    """The expressions that may decide what runs: in conditions, bounds and steps, and what those read."""
    roots: set[_Source] = set()
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.Loop):
            roots.add(stmt)
        elif isinstance(stmt, ir.If | ir.Switch):
            roots.update(ir.statement_expressions(stmt))
        for expr in ir.statement_expressions(stmt):
            for node in ir.walk_expressions(expr):
                if isinstance(node, ir.Select):
                    roots.add(node.condition)
                elif isinstance(node, ir.Logical):
                    roots.add(node)
    return expressions_behind(kernel, frozenset(roots))


@lru_cache(maxsize=64)
def loads_behind(kernel: ir.Kernel, condition: ir.Expr) -> bool:
    """Whether what memory or another thread holds may decide a condition."""
    others = (ir.Semantics.OPAQUE, ir.Semantics.UNIFORM)
    return any(
        isinstance(node, ir.Load | ir.Atomic | ir.TextureFetch)
        or (isinstance(node, ir.Intrinsic) and node.semantics in others)
        for node in expressions_behind(kernel, frozenset((condition,)))
    )


@lru_cache(maxsize=512)
def carried(shape: LoopShape) -> frozenset[ir.Variable]:
    """What the iterations of a loop may hand on, other than counters."""
    inside: set[ir.Variable] = set()
    for stmt in ir.walk_statements(shape.loop.body):
        if isinstance(stmt, ir.Declare):
            inside.add(stmt.variable)
        elif isinstance(stmt, ir.Loop):  # whose counter begins anew
            inside.update(variable for start in stmt.init for variable, _ in register_assignments(start))
    for node in ir.expressions_below(shape.loop.body):
        if isinstance(node, ir.InlinedCall):
            inside.update(node.parameters)
    written = {key[0] if isinstance(key, tuple) else key for key in shape.assigned}
    return frozenset(written - inside - shape.counters)


def handed_on(kernel: ir.Kernel, shape: LoopShape) -> frozenset[ir.Variable]:
    """What the iterations of a loop hand on, other than counters, and something decides by."""
    return carried(shape) & _deciding_variables(kernel)


@lru_cache(maxsize=8)
def _deciding_variables(kernel: ir.Kernel) -> frozenset[ir.Variable]:
    """The variables that something in a kernel decides by."""
    decide = [node for node in deciding_expressions(kernel) if not isinstance(node, ir.Loop)]
    read = {place.variable for node in decide if (place := read_place(node)) is not None}
    read.update(
        node.place.root for node in decide if isinstance(node, ir.Load) and node.place.root is not None
    )
    return frozenset(read)


@lru_cache(maxsize=64)
def expressions_behind(kernel: ir.Kernel, roots: frozenset[_Source]) -> frozenset[_Source]:
    """The expressions whose values those of `roots` (the trips of loops) may come from, and themselves.

    Conservative: the order of statements is not looked at. What memory holds is unknown, wherever it lies.
    """
    given = _given(kernel)
    waiting: list[ir.Expr] = []
    for root in roots:
        if not isinstance(root, ir.Loop):
            waiting.append(root)
            continue
        for stmt in (root, *ir.walk_statements(root.body)):
            leaves = isinstance(stmt, ir.If) and (
                ir.never_falls_through(stmt.then)
                or (stmt.otherwise is not None and ir.never_falls_through(stmt.otherwise))
            )
            if stmt is root or leaves:
                waiting += ir.statement_expressions(stmt)
    found: set[_Source] = set()
    seen: set[ir.Variable] = set()
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        if isinstance(node, ir.Atomic | ir.TextureFetch):
            continue
        is_load = isinstance(node, ir.Load)
        if is_load and node.place.space not in FOLLOWED:
            continue
        waiting += ir.children(node)
        if isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace):
            variable: ir.Variable | None = node.target.variable
        else:
            variable = node.place.variable if isinstance(node, ir.Read) else None
        if is_load:
            variable = node.place.root
        if variable is not None and variable not in seen:
            seen.add(variable)
            waiting += given.get(variable, ())
        if isinstance(node, ir.InlinedCall):
            for stmt in ir.walk_statements(node.body):
                if isinstance(stmt, ir.Return) and stmt.value is not None:
                    waiting.append(stmt.value)
    return frozenset(found)


@lru_cache(maxsize=8)
def _given(kernel: ir.Kernel) -> dict[ir.Variable, list[ir.Expr]]:
    """The values that each register is given."""
    given: dict[ir.Variable, list[ir.Expr]] = {}
    for variable, value in register_assignments(kernel.body):
        given.setdefault(variable, []).append(value)
    for variable, value in contents_given(kernel.body):
        given.setdefault(variable, []).append(value)
    return given
