"""Execution of loops: closed forms where the counter is simple, evaluation where it is not.

A loop whose trip count is known beforehand is *counted*: representative iterations stand for all. If
iterations cannot differ, two of them do. If they can, all are run as long as the allowance lasts, and beyond
that representative ones, each standing for a stratum. Any other loop is *stepped*: it runs iteration by
iteration while its condition is known. Once the condition turns out to depend on data, the rest is one
iteration times a stated default.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Set
from enum import Enum, auto
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from wattslice import ir
from wattslice.branch_profile.profile import LOOP
from wattslice.counting.boundaries import carried, handed_on, loads_behind
from wattslice.counting.compiled_code import most_of_the_rest, retries_a_swap, unrolled_by
from wattslice.counting.expressions import ExpressionEvaluator
from wattslice.counting.iterations import (
    FEW_ITERATIONS,
    MOST_LOOKED_AT,
    PLAIN,
    SURVEY_STEPS,
    LookedAt,
    Plan,
    Runs,
    Survey,
    SurveyError,
    begun_by,
    deciding,
    look,
    needed,
    on_lanes,
    plan,
    shadow_of,
    surveyed,
    surveyed_once,
)
from wattslice.counting.parameters import parameters_behind
from wattslice.counting.pieces import representatives
from wattslice.counting.sampling import WARP_SIZE, Mask
from wattslice.counting.state import BudgetExceededError, LoopFrame, Meeting, StandIns, State
from wattslice.counting.touched import Stretch
from wattslice.counting.trips import trip_count, value_at
from wattslice.counting.values import (
    VARYING,
    Chance,
    Lanes,
    Pointer,
    Scalar,
    Unknown,
    Value,
    binary,
    fits_int64,
    identical,
    is_warp_uniform,
    scalar,
    select,
    truth,
    unknown_of,
    wrap,
)
from wattslice.ir.loops import Bound, Exit, Induction, LoopShape, is_endless, shape_of

if TYPE_CHECKING:
    from wattslice.branch_profile.profile import BranchProfile

ALLOWANCE = 30_000
"""Expression evaluations a kernel's loops may take before iterations are sampled."""

DEFAULT_TRIPS = 8.0
"""Iterations assumed for a loop that ends by data. The loop-branch heuristic of Wu & Larus (1994) gives
p = 0.88 to staying in the loop, a mean of 1 / (1 - 0.88) = 8.3 iterations, here rounded. A counter that
takes several elements at a step, as where the lanes of a warp share a row, needs fewer for as many."""

FOLLOWED_LONGER, FEW_LANES = 4, 4096
"""How many times the allowance iterations may take that each have to be known, of so few lanes."""

SURVEY_ALLOWANCE = 400.0
"""The same of loops inside one whose iterations are looked at together."""

FEW_FOLLOWED = 8
"""Iterations up to which whole numbers are followed from one to the next that may become an address."""

MOST_PHASES = 16
"""Iterations within which what they hand on has to come again, so that those stand for all that follow."""

FEWEST_NESTED = 64
"""Iterations with loops of their own from which on some may stand for the others, if exactly."""

FEW_NODES = 6
"""Iterations from which on two of them say more of loops inside than the middle one."""

FEWEST_RUN = 8
FEWEST_AT_LAST = 8
"""Iterations of a loop that may stand for the others at least; at the second attempt, when the first has
taken too many steps."""

FEW_APART = 32
"""Iterations up to which each is run, of a loop with loops inside that lanes of a warp leave one by one."""

MANY_WARPS = 0.1
"""Share of warps from which on that is so of a loop: at the end of a grid-stride loop it is of few."""

MAX_STEPPED_ITERATIONS = 4096

COUNTED_STEPS = 60_000
"""Statements of a loop that are counted on without their addresses, behind the iterations stepped."""

MOST_TRIPS = 1e6
"""Iterations a profile may make of a loop that it never saw end."""

_Trips = int | Lanes
"""Iterations of a loop; an array where lanes differ."""

_Edge = float | Lanes


class _End(Enum):
    """How counting on ended: the loop did, data decide from there, or it was cut."""

    REACHED = auto()
    DATA = auto()
    CUT = auto()


class _Stratum(Struct, frozen=True, eq=False):
    """An iteration to run, which stands for those from `first` to below `end`; arrays where lanes differ.

    It counts `weight` times in the lanes that run it. `cover`: those that it stands for with this weight,
    where they lie side by side; None: not known.
    """

    representative: _Trips
    first: _Edge
    end: _Edge
    weight: float = 1.0
    cover: tuple[float, float] | None = None

    def stretch(self, trips: _Trips) -> Stretch | None:
        """Which of the `trips` of each lane it stands for; None where that is not known."""
        first, end = self.cover or (self.first, self.end)
        if self.cover is None and self.weight != 1.0:
            return None
        place = self.representative
        if isinstance(place, np.ndarray) or isinstance(first, np.ndarray) or isinstance(end, np.ndarray):
            return None
        return Stretch(place, first, end, trips)


class _Trip(Struct, frozen=True, eq=False):
    """What is known of the iterations of a loop as it is entered.

    `trips`: how many are begun; `leaving`: the one that a known test in the body ends, None where no such
    test is known. `is_exact`: neither may data end the loop earlier. `has_open_exit`: no closed form
    tells in which iteration some test in the body ends it, so that iterations must be told apart.
    """

    trips: _Trips
    leaving: _Trips | None
    is_exact: bool
    has_open_exit: bool = False


class _KnownPlan(Struct, frozen=True, eq=False):
    """A plan that was `found`, all that it `rests_on`, and what of the surveys it cost."""

    rests_on: tuple[object, ...]
    found: Plan
    cost: int


class Loops(ExpressionEvaluator):
    """Runs loops; methods that run something return the mask of the lanes that go on.

    `allowance`: expression evaluations that the loop about to run may take. `at_corner`: the last iteration
    of an enclosing loop is being run for how far it reaches, so that inner loops need only their last one.
    `is_surveying`: the lanes are iterations that are looked at together;
    `idle`: statements whose values then are not asked for. `sampled`: loops around whose
    iterations stand for others that differ from them. `is_last`: the kernel is counted at any price.
    """

    def __init__(self, state: State, profile: BranchProfile | None) -> None:
        super().__init__(state, profile)
        self.allowance: float = ALLOWANCE
        self.at_corner = False
        self.is_surveying = False
        self.idle: frozenset[ir.Stmt] = frozenset()
        self.sampled = 0
        self.is_last = False
        self._plans: dict[ir.Loop, _KnownPlan] = {}  # of loops inside others, the last ones

    @abstractmethod
    def execute(self, stmt: ir.Stmt, mask: Mask) -> Mask:
        """Runs `stmt` under `mask`."""

    def run_loop(self, loop: ir.Loop, mask: Mask) -> Mask:
        """Runs `loop` under `mask` and returns the lanes that go on behind it."""
        state = self.state
        state.tallies.count(loop.region, mask)
        entering, hidden = mask, self._hide_old_counters(loop, mask)
        for stmt in loop.init:
            mask = self.execute(stmt, mask)
        shape = shape_of(loop)
        known = self._known_trips(shape, mask)
        exact = known is None or known.is_exact
        if known is not None and known.has_open_exit:
            shape = replace(shape, iterations_differ=True)
        frame = LoopFrame(state.masks.none, state.masks.none, Meeting(len(state.forks)))
        around = [(outer, outer.broken) for outer in state.loops]
        call = state.calls[-1]
        returned_before = call.returned
        state.loops.append(frame)
        call.loop_depth += 1
        tally = state.tallies.of_loop(loop)
        tally.is_most, iterations = tally.is_most and known is not None, tally.iterations
        boundaries = state.boundaries
        if boundaries is not None:
            boundaries.enter(loop, None if known is None else known.trips, mask.active)
        out = self._run_stepwise(shape, mask) if known is None else self._run_counted(shape, known, mask)
        if boundaries is not None:
            boundaries.leave()
        call.loop_depth -= 1
        state.loops.pop()
        if frame.data_leave or not exact:
            self.forget_all(shape.assigned, shape.overwritten, together=frame.data_leave == {True})
        for variable, old in hidden:
            state.environment[variable] = select(entering.active, state.environment.get(variable, old), old)
        trips = None if known is None else known.trips
        if trips is not None and (frame.broken.lanes_active or call.returned is not returned_before):
            all_ = mask.scaled(trips) if isinstance(trips, int) else state.masks.of(mask.weights * trips)
            if not math.isclose(tally.iterations - iterations, all_.thread_mean, rel_tol=1e-6, abs_tol=1e-9):
                trips = None  # a test that has no closed form left it
        is_same = tally.repeats(trips, mask.active)
        tally.known = tally.known and (is_same or not self.sampled)
        tally.entries += mask.thread_mean
        is_left_by_data = bool(frame.data_leave) or frame.is_returned_from
        tally.known = tally.known and exact and (not is_left_by_data or frame.left_by_profile)
        is_left = call.returned is not returned_before or any(f.broken is not before for f, before in around)
        return out if is_left else mask

    def _hide_old_counters(self, loop: ir.Loop, mask: Mask) -> tuple[tuple[ir.Variable, Value], ...]:
        """Takes out the values, to be given back, that lanes outside of this loop hold in what its init sets.

        `int i; if (c) for (i = 0; ...)`: where those lanes' `i` is unknown it would make the counter unknown
        in here, although only lanes of `mask` run in here.
        """
        state = self.state
        if mask.lanes_active >= state.live.lanes_active:
            return ()
        hidden: list[tuple[ir.Variable, Value]] = []
        for stmt in loop.init:
            match stmt:
                case ir.ExprStmt(
                    expr=ir.Assign(target=ir.RegisterPlace(variable=variable, path=()), op=None) as set_
                ):
                    reads = (
                        e.place.variable for e in ir.walk_expressions(set_.value) if isinstance(e, ir.Read)
                    )
                    if variable not in reads and (old := state.environment.pop(variable, None)) is not None:
                        hidden.append((variable, old))
                case _:
                    pass
        return tuple(hidden)

    # ------------------------------------------------------------------ one iteration

    def _test_counted(self, loop: ir.Loop, mask: Mask) -> None:
        """One evaluation of the condition of a loop whose iterations are known: it decides nothing."""
        if loop.condition is not None and _leaves_no_trace(loop.condition) and not self.state.inputs.assumed:
            if not mask.is_empty:
                self.state.tallies.count(loop.test_region, mask)
            return
        boundaries, self.state.boundaries = self.state.boundaries, None
        self._test_once(loop, mask)
        self.state.boundaries = boundaries

    def _test_once(self, loop: ir.Loop, mask: Mask) -> Value:
        """Counts one evaluation of the condition, for its operations and side effects; its value."""
        if mask.is_empty:
            return 1
        self.state.tallies.count(loop.test_region, mask)
        if loop.condition is None:
            return 1
        value = self.evaluate(loop.condition, mask)
        if self.state.boundaries is not None:
            self.state.boundaries.decide(loop.condition, value, mask.active)
        return value

    def _run_body(self, loop: ir.Loop, mask: Mask) -> Mask:
        """Body and step under `mask`; the lanes that reach what follows the step."""
        state = self.state
        frame = state.loops[-1]
        frame.broken = frame.continued = state.masks.none
        frame.end = Meeting(len(state.forks))
        through = self.execute(loop.body, mask)
        state.meet(frame.end, is_reached=not through.is_empty)
        through = state.masks.sum(through, frame.continued)
        if loop.step is not None and not through.is_empty:
            state.tallies.count(loop.step_region, through)
            self.evaluate(loop.step, through)
        return through

    def _amount_of(self, induction: Induction, mask: Mask) -> Scalar:
        """What one iteration adds to an induction variable (in bytes for pointers)."""
        amount = induction.amount
        value = amount if isinstance(amount, int) else scalar(self.evaluate(amount, mask))
        if induction.scale != 1:
            value = scalar(binary(ir.BinaryOp.MUL, value, induction.scale, ir.INT64))
        return value

    # ------------------------------------------------------------------ what is known of registers

    def _registers(self, shape: LoopShape) -> dict[ir.RegisterKey, Value]:
        """The registers that the loop assigns and the contents it stores, with their present values."""
        return self._written(shape.assigned, shape.overwritten)

    def _written(
        self, assigned: Iterable[ir.RegisterKey], overwritten: frozenset[ir.Variable]
    ) -> dict[ir.RegisterKey, Value]:
        environment = self.state.environment
        found = {key: environment[key] for key in assigned if key in environment}
        if overwritten:
            cells = [key for key in environment if type(key) is tuple and key[0] in overwritten]
            found |= {key: environment[key] for key in cells}
        return found

    def _forget(self, shape: LoopShape, before: dict[ir.RegisterKey, Value]) -> None:
        """Drops what iterations not run may have changed, except induction variables.

        `before`: the registers ahead of the iteration run last. A register that this iteration moved by the
        same amount in all lanes of a warp is taken to be moved alike by the others: its base is then unknown,
        the differences between lanes stay.
        """
        environment = self.state.environment
        for key, value in self._registers(shape).items():
            if key not in shape.counters:
                environment[key] = _drifted(before.get(key), value)

    def _is_followed(self, shape: LoopShape, longest: int) -> bool:
        """Whether it is known so far what the iterations hand on that decides something; of a few iterations
        also what may become an address.
        """
        if shape.iterations_differ:
            return False
        decisive = handed_on(self.state.launch.kernel, shape)
        if longest <= FEW_FOLLOWED:
            decisive |= {variable for variable in carried(shape) if variable.type.is_integral}
        return any(map(_is_known, self._present(shape, decisive).values()))

    def _present(self, shape: LoopShape, variables: frozenset[ir.Variable]) -> dict[ir.RegisterKey, Value]:
        """What the loop assigns of these variables, with its present values."""
        registers = self._registers(shape) if variables else {}
        return {k: v for k, v in registers.items() if (k[0] if isinstance(k, tuple) else k) in variables}

    def _recurring(self, shape: LoopShape, known: _Trip, mask: Mask) -> list[_Stratum]:
        """Strata of a loop in which what the iterations hand on, and decide by, comes again: the states of a
        machine. The last round of them stands for those in between. Nothing where that is not so.
        """
        state, loop, trips = self.state, shape.loop, known.trips
        if not isinstance(trips, int) or known.leaving is not None or self.is_surveying:
            return []
        decisive = handed_on(state.launch.kernel, shape)
        present = self._present(shape, decisive)
        if self._is_short(shape, trips) or not all(map(_is_known, present.values())):
            return []
        inside = _deciding_inside(loop)
        if not decisive or not decisive <= inside or not shape.counters.isdisjoint(inside):
            return []  # what is decided by behind the loop alone may follow the counter
        if any(variable.space is not ir.MemorySpace.REGISTER for variable in decisive):
            return []  # which of its cells are written may
        try:
            looked = look(state, loop, mask, 1, self._fixed(loop, mask))
            shadow = type(self)(shadow_of(state, loop, looked), self.profile)
            begun, ran = (
                shadow.comes_again(shape, decisive, present.keys()) if looked.has_all_kinds else (0, 0)
            )
            shadow.forget()
        except (SurveyError, BudgetExceededError):
            return []
        if not ran:
            return []
        rounds, rest = divmod(trips - ran, ran - begun)
        last = trips - rest - (ran - begun)
        singles = [_Stratum(k, k, k + 1) for k in (*range(ran), *range(trips - rest, trips))]
        whole = [_Stratum(k, k, k + 1, float(rounds)) for k in range(last, trips - rest)]
        return singles[:ran] + whole + singles[ran:]

    def comes_again(
        self, shape: LoopShape, decisive: frozenset[ir.Variable], present: Set[ir.RegisterKey]
    ) -> tuple[int, int]:
        """The iteration that begins as another one before it did, `(that, this)`; `(0, 0)`: none so far.

        `present`: the parts of the decisive variables that have values before the loop.
        """
        self._begin_survey(shape.loop)
        phases = [self._present(shape, decisive)]
        if phases[0].keys() != present:  # something is not followed here
            return 0, 0
        for ran in range(1, MOST_PHASES + 1):
            self._run_body(shape.loop, self.state.masks.all)
            now = self._present(shape, decisive)
            if not all(map(_is_known, now.values())):
                break
            for begun, phase in enumerate(phases):
                if now.keys() == phase.keys() and all(identical(now[key], phase[key]) for key in now):
                    return begun, ran
            phases.append(now)
        return 0, 0

    def _loses(self, shape: LoopShape, before: dict[ir.RegisterKey, Value]) -> bool:
        """Whether `_forget` would drop lanes of a register that the last iteration has computed from
        itself."""
        environment = self.state.environment
        return any(
            (moved := _moved_by(old, environment.get(key))) is not None and not is_warp_uniform(moved)
            for key, old in before.items()
            if key not in shape.counters
        )

    def forget_all(
        self, assigned: Iterable[ir.RegisterKey], overwritten: frozenset[ir.Variable], *, together: bool
    ) -> None:
        """What a loop or call has written is unknown when it was only assumed to run to its end."""
        for key, value in self._written(assigned, overwritten).items():
            self.state.environment[key] = (
                unknown_like(value)
                if together
                else Pointer(value.root, VARYING)
                if isinstance(value, Pointer)
                else VARYING
            )

    # ------------------------------------------------------------------ trip counts

    def _known_trips(self, shape: LoopShape, mask: Mask) -> _Trip | None:
        """The iterations of the loop; None when nothing bounds them, or when it is to be run step by step."""
        state, loop = self.state, shape.loop
        setting = state.inputs.settings.get(state.trip_name(loop))
        if setting is not None:
            return _Trip(self._of_the_source(shape, int(setting), mask), None, True)
        found = self._least(loop, mask, [self._trips_of(shape, bound, mask) for bound in shape.bounds])
        ways_out = [
            [self._trips_of(shape, bound, mask, exit_) for bound in exit_.bounds] for exit_ in shape.exits
        ]
        leaving = self._least(loop, mask, [trips for way in ways_out for trips in way])
        has_open_exit = any(all(trips is None for trips in way) for way in ways_out)
        by_data = shape.has_other_conjuncts or (found is None and not is_endless(loop))
        begun = self._least(loop, mask, [found, None if leaving is None else leaving + 1])
        if begun is None:
            return None
        if by_data:
            short = self._is_short(shape, int(np.max(begun)))
            state.is_limited |= not short
            is_decided = self._is_decided(loop, mask)
            if short and is_decided:
                return None  # run step by step: nothing of the condition depends on data
            if self._measured_trips(loop) is not None:
                return None  # its bound is not what ends it
            state.tallies.assume_bound(loop, begun, is_decided=is_decided)
        else:
            self._tell_unused_profile(loop)
        return _Trip(_plain(begun), None if leaving is None else _plain(leaving), not by_data, has_open_exit)

    def _is_short(self, shape: LoopShape, longest: int) -> bool:
        """Whether each of the iterations may be run that have to be known one by one."""
        more = FOLLOWED_LONGER if self.state.threads.exists.size <= FEW_LANES else 1
        return longest * shape.size <= more * self.allowance

    def _least(self, loop: ir.Loop, mask: Mask, found: list[_Trips | None]) -> _Trips | None:
        """The least of those that are known, lane by lane."""
        known = [trips for trips in found if trips is not None]
        least = known[0] if known else None
        for trips in known[1:]:
            if self.state.boundaries is not None:
                self.state.boundaries.minimum(loop, cast(_Trips, least), trips, mask.active)
            least = cast("int | Lanes", np.minimum(cast(_Trips, least), trips))
        return least

    def _of_the_source(self, shape: LoopShape, setting: int, mask: Mask) -> int:
        """Of iterations set for a loop of the source those that a compiled loop runs: its steps, or the
        rest."""
        kernel = self.state.launch.kernel
        most = most_of_the_rest(kernel, shape)
        if most is not None:
            return setting % (most + 1)
        step = self._elements_at_a_step(shape, mask)
        unrolled = step > 1 and (self.state.trip_name(shape.loop), step) in unrolled_by(kernel)
        return setting // step if unrolled else setting

    def _tell_unused_profile(self, loop: ir.Loop) -> None:
        """Notes a measured loop whose iterations an assumed parameter decides instead."""
        state = self.state
        if loop.condition is None or not state.inputs.guessed or self.profiled(loop.span, LOOP) is None:
            return
        kernel = state.launch.kernel
        assumed = sorted(v.name for v in parameters_behind(kernel, loop.condition) & state.inputs.guessed)
        if assumed:
            state.tallies.assume(
                "PW019",
                loop.span,
                f"assumed {', '.join(assumed)} decides the iterations: those of the profile are not used",
                " ".join(f"--set {kernel.name}.{name}=VALUE" for name in assumed),
            )

    def _is_decided(self, loop: ir.Loop, mask: Mask) -> bool:
        """True when the whole condition is known as the loop is entered, and stays so behind its body."""
        if loop.condition is None:
            return False
        if loads_behind(self.state.launch.kernel, loop.condition):
            return False
        (value,) = self.peek(loop.condition, mask=mask)
        return not isinstance(truth(value), Chance)

    def _trips_of(
        self, shape: LoopShape, bound: Bound, mask: Mask, exit_: Exit | None = None
    ) -> _Trips | None:
        """Iterations until the counter of `bound` fails it, in the loop's test or at an `exit_` of its body.

        None when that is unknown.
        """
        induction, loop = bound.induction, shape.loop
        variable, op = induction.variable, induction.op
        start = self.state.environment.get(variable, VARYING)
        if variable in self.state.inputs.assumed:
            place = ir.RegisterPlace(variable, (), variable.type)
            self.evaluate(ir.Read(place, variable.type, loop.span), mask)
        amount = self._amount_of(induction, mask)
        limit: Value = bound.limit if isinstance(bound.limit, int) else self.evaluate(bound.limit, mask)
        if isinstance(start, Pointer) or isinstance(limit, Pointer):
            if not (isinstance(start, Pointer) and isinstance(limit, Pointer) and start.root == limit.root):
                return None
            start, limit = start.offset, limit.offset
        if isinstance(start, int | np.ndarray) and not fits_int64(start):
            return None
        if bound.shift:
            start = binary(ir.BinaryOp.ADD, start, bound.shift, ir.INT64)
        first = scalar(start)
        is_do = loop.kind is ir.LoopKind.DO and exit_ is None
        is_moved = variable in exit_.behind_step if exit_ else is_do and variable not in shape.updated_in_test
        if is_moved:
            first = scalar(binary(op, first, amount, variable.type if variable.type.is_float else ir.INT64))
        if bound.type_.is_integral and not bound.type_.signed:
            first = wrap(first, bound.type_)
        if self.state.boundaries is not None:
            self.state.boundaries.trips(loop, op, first, amount, bound.comparison, limit, mask.active)
        trips = trip_count(first, op, amount, bound.comparison, scalar(limit), variable.type)
        if trips is None or _wraps(variable.type, first, op, amount, trips, mask.active):
            return None
        return trips + 1 if is_do else trips

    def _measured_trips(self, loop: ir.Loop) -> float | None:
        """Mean iterations per entry that the profile has counted; None without."""
        if self.profile is None:
            return None
        followed = self.profile.mean_iterations(self.state.launch.kernel, loop.span)
        return followed if followed is None or loop.kind is not ir.LoopKind.DO else followed + 1.0

    def _warps_per_thread(self, loop: ir.Loop) -> float:
        """Iterations of a warp for each iteration of a thread, by the profile; 1 where it does not say."""
        if self.profile is None:
            return 1.0
        kernel = self.state.launch.kernel
        threads = self.profile.mean_iterations(kernel, loop.span)
        warps = self.profile.warp_iterations(kernel, loop.span)
        if threads is None or warps is None:
            return 1.0
        at_least = 1.0 if loop.kind is ir.LoopKind.DO else 0.0
        return max(1.0, (warps + at_least) / (threads + at_least)) if threads + at_least else 1.0

    def _elements_at_a_step(self, shape: LoopShape, mask: Mask) -> int:
        """By how much an integer that the condition compares moves in one iteration; 1 when that is
        unknown."""
        condition = shape.loop.condition
        compared = {
            ir.read_variable(side)
            for node in (() if condition is None else ir.walk_expressions(condition))
            if isinstance(node, ir.Binary) and node.op in ir.COMPARISONS
            for side in (node.left, node.right)
        }
        steps = [1]
        for induction in shape.inductions:
            is_sum = induction.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB)
            if is_sum and induction.variable in compared and induction.variable.type.is_integral:
                amount = self._amount_of(induction, mask)
                steps.append(abs(amount) if isinstance(amount, int) else 1)
        return max(steps)

    # ------------------------------------------------------------------ counted loops

    def _strata(self, known: _Trip, shape: LoopShape, mask: Mask) -> list[_Stratum]:
        """Strata that cover the iterations 0..max trips - 1, their representatives ascending."""
        longest = int(np.max(known.trips))
        is_long = longest * shape.size > self.allowance
        self.state.is_limited |= is_long
        if (
            shape.iterations_differ
            and longest > 4
            and (is_long or (shape.has_loops and longest > FEWEST_NESTED))
        ):
            try:
                found = self._plan(shape, known, mask)
            except (SurveyError, BudgetExceededError):
                pass
            else:
                if found.error and is_long:
                    self._tell_sampled(shape.loop, len(found.iterations), longest, mask, found.error)
                if is_long or not (found.error or 4 * len(found.iterations) > longest):
                    return _as_planned(found)
        strata = self._strata_alike(known, shape, longest)
        if shape.iterations_differ and len(strata) < longest:
            self._tell_sampled(shape.loop, len(strata), longest, mask)
        return strata

    def _tell_sampled(self, loop: ir.Loop, number: int, longest: int, mask: Mask, error: float = 1.0) -> None:
        """Notes that `number` iterations stand for all of `longest` which differ, and how far that is off."""
        if self.is_surveying:
            return
        self.sampled += 1
        missed = min(1.0, error) * longest * mask.thread_mean
        self.state.tallies.stand_in(loop, StandIns(missed, self.sampled, number, longest))

    def _strata_alike(self, known: _Trip, shape: LoopShape, longest: int) -> list[_Stratum]:
        """Consecutive strata, of which each is taken to run as its representative does."""
        trips, leaving = known.trips, known.leaving
        is_short = longest * shape.size <= self.allowance
        if leaving is None or (shape.iterations_differ and is_short):
            return self._whole_strata(trips, longest, shape)
        if is_short and not isinstance(leaving, int):  # lanes of a warp leave in iterations of their own
            return [_Stratum(k, k, k + 1) for k in range(longest)]
        if isinstance(leaving, int):  # the iteration that leaves is one by itself
            whole = self._whole_strata(np.minimum(trips, leaving), min(longest, leaving), shape)
            return whole + [_Stratum(leaving, leaving, leaving + 1)] * (longest > leaving)
        last = np.maximum(leaving - 1, 0)
        of_warp = np.repeat(last.reshape(-1, WARP_SIZE).min(axis=1), WARP_SIZE)
        return [  # lanes of a warp are in one iteration as long as all run, then each in its own last
            _Stratum(0, 0, leaving // 2),
            _Stratum(of_warp, leaving // 2, last),
            _Stratum(last, last, leaving),
            _Stratum(leaving, leaving, leaving + 1),
        ]

    def _whole_strata(self, trips: _Trips, longest: int, shape: LoopShape) -> list[_Stratum]:
        """The same without an iteration that leaves."""
        allowance = self.allowance
        if allowance == 0 and longest > 1:  # another attempt at a kernel that took too many steps
            if self.is_last or longest < FEW_NODES or not (shape.iterations_differ and shape.has_loops):
                return [_Stratum(longest // 2, 0, longest)]
            self.state.had_choice = True
            # the nodes of Gauss: they add up what grows with the cube of the counter
            aside = math.sqrt((longest**2 - 1) / 12)
            half, middle = longest / 2, (longest - 1) / 2
            low, high = round(middle - aside), round(middle + aside)
            return [_Stratum(low, 0, half), _Stratum(high, half, longest)]
        if (
            shape.has_loops
            and longest <= FEW_APART
            and longest * shape.size <= allowance
            and _lanes_part(trips)
        ):
            number = longest
        elif not shape.iterations_differ:
            number = 2 if isinstance(trips, int) else 3
        elif longest * shape.size <= allowance:
            number = longest
        else:
            number = max(3, min(8, int(allowance // shape.size)))
        if number >= longest:
            return [_Stratum(k, k, k + 1) for k in range(longest)]
        if shape.iterations_differ and shape.may_leave:
            # The exit may be near: as many iterations as the allowance has, then representatives of the rest.
            head = min(longest, max(number, int(allowance // shape.size)))
            return [_Stratum(k, k, k + 1) for k in range(head)] + _spread(head, longest, number)
        if number == 2:
            if shape.may_leave:  # the first iteration tells how many lanes stay
                return [_Stratum(0, 0, 1), _Stratum(longest - 1, 1, longest)]
            if self.at_corner:
                return [_Stratum(longest - 1, 0, longest)]
            half = (longest + 1) // 2
            return [_Stratum(0, 0, half), _Stratum(longest - 1, half, longest)]
        return _spread(0, longest, number)

    # ------------------------------------------------------------------ iterations that differ

    def forget(self) -> None:
        """Lets go of the state: an executor refers to its own methods, and nobody collects such circles."""
        vars(self).clear()

    def _survey(
        self,
        shape: LoopShape,
        known: _Trip,
        mask: Mask,
        *,
        one_by_one: bool = False,
        most_iterations: int = MOST_LOOKED_AT,
    ) -> Survey:
        """Looks at the iterations of a loop, all together. Raises SurveyError where that cannot be."""
        state, loop = self.state, shape.loop
        fixed = () if one_by_one else self._fixed(loop, mask)
        looked = look(
            *(state, loop, mask, known.trips, fixed), one_by_one=one_by_one, most_iterations=most_iterations
        )
        shadow = type(self)(shadow_of(state, loop, looked), self.profile)
        try:
            return shadow.looked_at(shape, looked, begun_by(looked, known.trips))
        finally:
            shadow.forget()

    def _fixed(self, loop: ir.Loop, mask: Mask) -> list[Value]:
        """The values of what decides in a loop and does not change there."""
        return self.peek(*deciding(loop)[0], mask=mask)

    def looked_at(self, shape: LoopShape, looked: LookedAt, begun: Lanes) -> Survey:
        """Runs the body once: every lane is one of the iterations looked at in one of the threads."""
        self.is_surveying = True
        self.allowance = SURVEY_ALLOWANCE
        state, loop = self.state, shape.loop
        self.idle = needed(loop).idle
        state.steps_left = SURVEY_STEPS + 4 * shape.size
        none = state.masks.none
        state.loops.append(LoopFrame(none, none, Meeting(0)))
        state.calls[-1].loop_depth += 1
        running = state.masks.where(
            state.masks.all, on_lanes(looked, state, looked.iterations[:, None] < begun)
        )
        iteration = on_lanes(looked, state, looked.iterations[:, None])
        environment = state.environment
        counters = [
            (
                i.variable,
                _value_after(i, environment.get(i.variable, VARYING), self._amount_of(i, running), iteration),
            )
            for i in shape.inductions
        ]
        self._forget(shape, {})
        environment.update(counters)
        state.tallies = Runs(state.launch.kernel, state.threads)
        through = self._run_body(loop, running)
        return surveyed(looked, state.tallies, begun, through)

    def _plan(self, shape: LoopShape, known: _Trip, mask: Mask) -> Plan:
        state = self.state
        state.is_limited = True
        most = max(FEWEST_RUN if self.allowance else FEWEST_AT_LAST, int(self.allowance // shape.size))
        rests_on = self._decisive(shape.loop, mask, most)
        before = self._plans.get(shape.loop)
        if before is not None and before.cost <= state.survey_left and identical(before.rests_on, rests_on):
            state.survey_left -= before.cost
            return before.found
        left = state.survey_left
        try:
            survey = self._survey(shape, known, mask)
        except SurveyError:
            if not shape.has_loops:
                raise
            survey = self._survey(shape, known, mask, most_iterations=FEW_ITERATIONS)
        found = plan(survey, most)
        self._plans[shape.loop] = _KnownPlan(rests_on, found, left - state.survey_left)
        return found

    def _decisive(self, loop: ir.Loop, mask: Mask, most: int) -> tuple[object, ...]:
        """All that the plan of a loop rests on, which is entered again and again inside others; its trips
        follow from it.
        """
        environment, variables = self.state.environment, needed(loop).variables | deciding(loop)[1]
        held = {k: v for k, v in environment.items() if (k[0] if isinstance(k, tuple) else k) in variables}
        fixed = self._fixed(loop, mask)
        return (most, len(environment), mask.weights, *held, *held.values(), *fixed)

    def _run_all_at_once(self, shape: LoopShape, known: _Trip, mask: Mask) -> Mask:
        """Runs a loop for its counts alone, all its iterations at once."""
        state = self.state
        survey = self._survey(shape, known, mask, one_by_one=True)
        if isinstance(state.tallies, Runs):
            own = 0.0 if survey.looked.has_all_iterations else 1.0 / np.sqrt(survey.looked.iterations.size)
            state.tallies.error = max(state.tallies.error, survey.error + own)
        counters = [
            (
                i.variable,
                _value_after(
                    i, state.environment.get(i.variable, VARYING), self._amount_of(i, mask), known.trips
                ),
            )
            for i in shape.inductions
        ]
        for region, weights in survey.by_lane(mask):
            state.tallies.count(region, state.masks.of(weights))
        self.forget_all(shape.assigned, shape.overwritten, together=False)
        state.environment.update(counters)
        return mask

    def _run_counted(self, shape: LoopShape, known: _Trip, mask: Mask) -> Mask:
        """Runs a loop whose iterations are known."""
        state, loop, trips = self.state, shape.loop, known.trips
        masks, frame = state.masks, state.loops[-1]
        is_do = loop.kind is ir.LoopKind.DO
        counters = [
            (i, state.environment.get(i.variable, VARYING), self._amount_of(i, mask))
            for i in shape.inductions
        ]
        outer_allowance = self.allowance
        was_at_corner = self.at_corner
        if self.is_surveying and shape.iterations_differ and int(np.max(trips)) * shape.size > self.allowance:
            return self._run_all_at_once(shape, known, mask)
        was_sampled = self.sampled
        recurring = self._recurring(shape, known, mask)
        strata = [*recurring] or self._strata(known, shape, mask)
        boundaries = state.boundaries
        skips = boundaries is not None and shape.iterations_differ and len(strata) < int(np.max(trips))
        if boundaries is not None:
            boundaries.skipping += skips
        corner = strata[-1].representative if strata else 0
        alike = len(strata) == 2 and not shape.iterations_differ and known.leaving is None
        longest, others = int(np.max(trips)), strata
        if (
            not recurring
            and len(strata) < longest
            and self._is_short(shape, longest)
            and self._is_followed(shape, longest)
        ):
            strata = [_Stratum(k, k, k + 1) for k in range(longest)]
        self.allowance = outer_allowance / max(1, len(others))
        survivors = mask
        left = masks.none
        previous: _Trips = -1
        before = self._registers(shape)
        iterations = 0.0
        stay: NDArray[np.float64] | None = None  # share of each lane that goes on after an iteration
        while strata:
            stratum = strata.pop(0)
            representative, first, end = stratum.representative, stratum.first, stratum.end
            is_wide = _is_many(end - first)
            is_far = alike and is_wide and np.all(previous == 0) and np.all(representative > 1)
            if is_far and self._loses(shape, before):
                # The second iteration knows what the last does not: it counts as the rest, the last as
                # itself.
                strata = [_Stratum(1, first, end - 1), _Stratum(representative, end - 1, end)]
                continue
            # The far end of nested loops is one corner: it shows how far addresses reach, and counts as the
            # rest.
            self.at_corner = was_at_corner or (alike and corner is representative and corner != 0)
            running = self._stratum_mask(survivors, trips, first, end, stay).scaled(stratum.weight)
            if running.is_empty:
                continue  # lanes that leave elsewhere may still run theirs
            if not isinstance(representative, int) or representative != previous + 1:
                kept = self._present(shape, handed_on(state.launch.kernel, shape)) if recurring else {}
                self._forget(shape, before)
                state.environment.update(kept)
                for induction, start, amount in counters:
                    value = _value_after(induction, start, amount, representative)
                    state.assign(induction.variable, value, running)
            previous = representative
            frame.stretch = stratum.stretch(trips)
            before = self._registers(shape)
            if boundaries is not None:
                boundaries.iterate(representative)
            iterations += running.thread_mean
            stands = stratum.weight != 1.0 or is_wide
            frame.moving = shape.moving_pointers if stands else frozenset()
            around = [(outer, outer.broken) for outer in state.loops[:-1]]
            if not is_do:
                self._test_counted(loop, running)
            through = self._run_body(loop, running)
            if is_do:
                self._test_counted(loop, through)
            if through is not running:
                stay = np.where(running.active, _ratio(through, running), 1.0)
                gone = _ratio(frame.broken, running)
                left = masks.sum(left, masks.where(survivors, gone))
                for outer, earlier in around:
                    if outer.broken is not earlier:
                        share = _ratio(masks.of(outer.broken.weights - earlier.weights), running)
                        leaving = np.minimum(1.0, share * _runs(stay, end - first))
                        outer.broken = masks.sum(earlier, masks.where(survivors, leaving))
                survivors = masks.where(survivors, stay ** (np.clip(trips, first, end) - first))
                if survivors.is_empty:
                    break
            if strata is not others and representative == 0:
                if self._is_followed(shape, longest):
                    self.allowance = outer_allowance / longest
                else:
                    others = strata = [replace(other, first=max(other.first, 1)) for other in others]
        self.allowance = outer_allowance
        self.at_corner = was_at_corner
        self.sampled = was_sampled
        if boundaries is not None:
            boundaries.skipping -= skips
        if not survivors.is_empty:
            for induction, start, amount in counters:
                state.assign(induction.variable, _value_after(induction, start, amount, trips), survivors)
            if not is_do:
                self._test_counted(loop, survivors)
        state.tallies.of_loop(loop).iterations += iterations
        return masks.sum(survivors, left)

    def _stratum_mask(
        self, survivors: Mask, trips: _Trips, first: _Edge, end: _Edge, stay: NDArray[np.float64] | None
    ) -> Mask:
        """Survivors, weighted with the number of iterations in [first, end) each of them runs.

        Where only a share `stay` of a lane goes on after each iteration, that is a geometric sum.
        """
        masks = self.state.masks
        width = end - first
        many = _is_many(width)
        if isinstance(trips, int) and isinstance(width, int | float) and not (stay is not None and many):
            return survivors.scaled(width)
        if isinstance(first, int) and isinstance(trips, np.ndarray) and isinstance(width, int) and width == 1:
            begins = trips > first
            return survivors if bool(np.logical_and.reduce(begins)) else masks.where(survivors, begins)
        width = np.clip(trips, first, end) - first
        if stay is not None and many:
            return masks.where(survivors, _runs(stay, width))
        if bool((width == width[0]).all()):
            return survivors.scaled(float(width[0]))
        return masks.where(survivors, width.astype(np.float64))

    # ------------------------------------------------------------------ stepped loops

    def _run_stepwise(self, shape: LoopShape, mask: Mask) -> Mask:
        """Runs iteration by iteration while the condition is known."""
        state, loop = self.state, shape.loop
        masks, frame = state.masks, state.loops[-1]
        running = mask
        out = masks.none
        ran = ran_warps = 0.0
        outer_allowance = self.allowance
        limit = int(min(MAX_STEPPED_ITERATIONS, max(64, outer_allowance // shape.size)))
        self.allowance = outer_allowance / 8
        tally = state.tallies.of_loop(loop)
        measured = self._measured_trips(loop)

        def run_rest(already: float = 0.0) -> Mask:
            rest, of_warps = None, 0.0
            if measured is not None and running.thread_mean:
                rest = max(0.0, measured * mask.thread_mean - ran) / running.thread_mean
                warps = measured * self._warps_per_thread(loop) * mask.warp_mean
                of_warps = max(0.0, warps - ran_warps) / running.warp_mean
            elif measured is None and self.profiled(loop.span, LOOP) is None and retries_a_swap(loop):
                state.tallies.assume_trips(
                    loop,
                    "the loop repeats where another thread came between (compare-and-swap): "
                    "1 iteration assumed",
                )
                tally.known = False
                rest = 0.0
            return self._run_assumed(shape, running, rest, of_warps, already)

        before_test = loop.kind is not ir.LoopKind.DO
        for iteration in range(limit + 1):
            if before_test or iteration:
                condition = truth(self._test_once(loop, running))
                if isinstance(condition, Chance):
                    out = masks.sum(out, run_rest(already=0.0 if before_test else 1.0))
                    break
                if isinstance(condition, bool):
                    if not condition:
                        out = masks.sum(out, running)
                        break
                else:
                    out = masks.sum(out, masks.where(running, ~condition))
                    running = masks.where(running, condition)
                    if running.is_empty:
                        break
            state.is_limited |= iteration == limit
            endless = is_endless(loop)
            alike = endless and iteration == 0 and not shape.iterations_differ
            if alike or (endless and frame.left_by_chance) or (iteration == limit and measured is not None):
                out = masks.sum(out, run_rest())
                break
            if iteration == limit:
                ended, is_by_data = self._count_on(shape, running)
                out = masks.sum(out, run_rest(already=1.0) if is_by_data else ended)
                break
            tally.iterations += running.thread_mean
            ran += running.thread_mean
            ran_warps += running.warp_mean
            frame.stretch = Stretch(iteration, iteration, iteration + 1, iteration + 1)
            running = self._run_body(loop, running)
            out = masks.sum(out, frame.broken)
            if running.is_empty:
                break
        self.allowance = outer_allowance
        return out

    def _count_on(self, shape: LoopShape, mask: Mask) -> tuple[Mask, bool]:
        """Counts the iterations that are left, without their addresses; and whether data then decide.

        A loop that does not end in COUNTED_STEPS statements is cut, and the note says so.
        """
        state, loop = self.state, shape.loop
        tally = state.tallies.of_loop(loop)
        ran = round(tally.iterations / mask.thread_mean) if mask.thread_mean else 0
        try:
            looked = look(state, loop, mask, 1, self._fixed(loop, mask))
            shadow = type(self)(shadow_of(state, loop, looked), self.profile)
            end = shadow.counted_on(loop) if looked.has_all_kinds else _End.CUT
            tallies = shadow.state.tallies
            shadow.forget()
        except (SurveyError, BudgetExceededError):
            end = _End.CUT
        else:
            assert isinstance(tallies, Runs)
            survey = surveyed_once(looked, tallies)
            for region, weights in survey.by_lane(mask):
                if state.boundaries is not None:
                    state.boundaries.counted(loop, weights)
                counted = state.masks.of(weights)
                state.tallies.count(region, counted)
                if region == loop.body.region:
                    tally.iterations += counted.thread_mean
                    ran += int(weights.max(initial=0.0))
            self._forget(shape, {})
        if end is _End.CUT:
            tally.known = tally.is_most = False
            state.tallies.assume_trips(
                loop,
                f"the loop was cut after {ran} iterations: it runs at least as often, how often is unknown",
            )
        return mask, end is _End.DATA

    def _begin_survey(self, loop: ir.Loop) -> None:
        """Iterations are run for what they decide alone from here on."""
        self.is_surveying = True
        self.idle = needed(loop).idle
        self.allowance = SURVEY_ALLOWANCE
        state = self.state
        state.tallies = Runs(state.launch.kernel, state.threads)
        state.steps_left = COUNTED_STEPS
        none = state.masks.none
        state.loops.append(LoopFrame(none, none, Meeting(0)))
        state.calls[-1].loop_depth += 1

    def counted_on(self, loop: ir.Loop) -> _End:
        """Runs iterations for their counts alone until the loop ends, or data decide."""
        state = self.state
        self._begin_survey(loop)
        running = state.masks.all
        try:
            while True:
                running = self._run_body(loop, running)
                if running.is_empty:
                    break
                condition = truth(self._test_once(loop, running))
                if isinstance(condition, Chance):
                    return _End.DATA
                running = state.masks.where(running, np.broadcast_to(condition, running.weights.shape))
                if running.is_empty:
                    break
        except BudgetExceededError:
            return _End.CUT
        return _End.CUT if state.calls[-1].returned.lanes_active else _End.REACHED

    def _run_assumed(
        self, shape: LoopShape, mask: Mask, measured: float | None, of_warps: float, already: float
    ) -> Mask:
        """One iteration with everything the loop assigns unknown, then the same times the iterations
        expected.

        A profile knows how many there are (`measured`: from here on, per thread of `mask`); one written by
        hand how often another iteration follows, or how often a branch inside leaves the loop. `of_warps`: as
        `measured`, per warp. `already`: iterations that have run, of those that are assumed where nobody
        knows.
        """
        state, loop = self.state, shape.loop
        frame = state.loops[-1]
        starts = {i: state.environment.get(i.variable, VARYING) for i in shape.inductions}
        uniform_step = {i for i in shape.inductions if is_warp_uniform(self._amount_of(i, mask))}
        self._forget(shape, {})
        for induction, start in starts.items():
            state.environment[induction.variable] = (
                _moved(start) if induction in uniform_step else unknown_like(start)
            )
        profiled = self.profiled(loop.span, LOOP)
        step = self._elements_at_a_step(shape, mask)
        most = most_of_the_rest(state.launch.kernel, shape)
        assumed = max(1.0, DEFAULT_TRIPS / step) if most is None else (most + 1) / 2
        trips = assumed if profiled is not None else assumed - already
        again = 1.0 if is_endless(loop) else 1.0 - 1.0 / assumed
        if profiled is not None:
            again = profiled
        if measured is not None:
            trips = measured
        frame.expected_trips = DEFAULT_TRIPS if measured is None else max(1.0, measured)
        frame.stretch = None
        state.forks.append(True)
        warp_trips = trips if measured is None else of_warps
        first = mask if trips > 1.0 else state.masks.diverging(mask, trips, warp_trips)
        stay = 1.0 if first.is_empty or trips <= 0.0 else self._run_once(loop, first)
        is_measured = measured is not None or profiled is not None or frame.left_by_profile
        if is_measured and measured is None:
            trips = min(MOST_TRIPS, 1.0 / max(1e-12, 1.0 - again * stay))
        if trips > 1.0:
            self._run_once(loop, state.masks.diverging(mask, trips - 1.0, max(trips, warp_trips) - 1.0))
        state.forks.pop()
        if not is_measured:
            number = f"{assumed:g} iteration{'s' * (assumed != 1.0)} assumed"
            state.tallies.assume_trips(
                loop, f"trip count of the loop depends on data: {number}{_why(step, most)}"
            )
        tally = state.tallies.of_loop(loop)
        tally.known = tally.known and is_measured
        tally.iterations += mask.thread_mean * trips
        for key, value in self._registers(shape).items():
            state.environment[key] = unknown_like(value)
        return mask

    def _run_once(self, loop: ir.Loop, mask: Mask) -> float:
        """Body, step and the test behind it under `mask`; returns the share that reaches the test."""
        through = self._run_body(loop, mask)
        self._test_once(loop, through)
        return through.thread_mean / mask.thread_mean if mask.thread_mean else 0.0


def _wraps(
    type_: ir.Type, first: Scalar, op: ir.BinaryOp, amount: Scalar, trips: _Trips, active: NDArray[np.bool_]
) -> bool:
    """Whether a counter that may wrap leaves its type before it fails its bound: it then runs on."""
    may_wrap = type_.is_integral and (type_.bits or 64) < (64 if not type_.signed else 32)
    if not may_wrap or isinstance(first, Unknown) or isinstance(amount, Unknown):
        return False
    if op is ir.BinaryOp.SUB:
        amount = -amount
    elif op is not ir.BinaryOp.ADD:
        return False
    last = np.asarray(first + np.asarray(trips) * amount)
    return bool(((scalar(wrap(last, type_)) != last) & active).any())


@lru_cache(maxsize=256)
def _leaves_no_trace(expr: ir.Expr) -> bool:
    """Whether to evaluate an expression counts nothing and changes nothing."""
    return all(isinstance(part, PLAIN) for part in ir.walk_expressions(expr))


def unknown_like(value: Value) -> Value:
    """An unknown value that is as uniform as `value` was; pointers keep their object."""
    if isinstance(value, Pointer):
        return Pointer(value.root, unknown_of(value.offset))
    return unknown_of(value)


def _why(step: int, most: int | None) -> str:
    if most is not None:
        return f" (1 to {most}, the rest of an unrolled loop)"
    return f" ({max(step, DEFAULT_TRIPS):g} elements in steps of {step})" if step > 1 else ""


def _is_many(width: _Edge) -> bool:
    """Whether a stratum so wide has more than one iteration, for some lane."""
    return width > 1 if isinstance(width, int | float) else bool((width > 1).any())


def _plain(trips: _Trips) -> _Trips:
    """Collapses equal lanes to one number."""
    array = np.asarray(trips)
    first = int(array.flat[0])
    return first if bool((array == first).all()) else array


def _lanes_part(trips: _Trips) -> bool:
    """Whether the lanes of many warps run differently often: an iteration has other lanes than the next."""
    if isinstance(trips, int) or trips.size == 1:
        return False
    warps = trips.reshape(-1, WARP_SIZE)
    return float((warps.max(axis=1) != warps.min(axis=1)).mean()) > MANY_WARPS


def _as_planned(found: Plan) -> list[_Stratum]:
    """The iterations of a plan; side by side lie those of classes that do not mingle."""
    edges = [*itertools.accumulate(found.weights, initial=0.0)]
    nodes = list(zip(found.iterations, found.weights, itertools.pairwise(edges), strict=True))
    in_order = all(first <= k < end for k, _, (first, end) in nodes)
    return [_Stratum(k, k, k + 1, weight, cover if in_order else None) for k, weight, cover in nodes]


def _spread(start: int, end: int, number: int) -> list[_Stratum]:
    """About `number` strata that cover iterations start..end - 1; weights may be halves of an iteration."""
    strata: list[_Stratum] = []
    edge = float(start)
    for k, weight in representatives(end - start, number):
        strata.append(_Stratum(start + k, edge, edge + weight))
        edge += weight
    return strata


def _runs(stay: NDArray[np.float64], width: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """How many of `width` iterations a lane runs of which a share `stay` goes on after each."""
    leaving = 1.0 - stay
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(leaving > 1e-12, (1.0 - stay**width) / leaving, width)


def _ratio(part: Mask, whole: Mask) -> NDArray[np.float64]:
    return np.divide(part.weights, whole.weights, out=np.zeros_like(whole.weights), where=whole.weights > 0)


def _value_after(induction: Induction, start: Value, amount: Scalar, iterations: _Trips) -> Value:
    """A counter that began as `start` after so many iterations."""
    if isinstance(start, Pointer):
        return Pointer(start.root, value_at(scalar(start.offset), induction.op, amount, iterations))
    return value_at(scalar(start), induction.op, amount, iterations, induction.variable.type)


def _moved(start: Value) -> Value:
    """A counter after an unknown number of uniform steps: the differences between lanes stay known."""
    if isinstance(start, Pointer):
        return Pointer(start.root, scalar(_moved(start.offset)))
    value = scalar(start)
    return value if isinstance(value, Unknown) else Unknown(uniform=True, delta=value)


def _moved_by(before: Value | None, after: Value | None) -> Lanes | None:
    """By how much lanes differ from what they were, truth as 0 and 1; None where either is no lanes."""
    if not isinstance(before, np.ndarray) or not isinstance(after, np.ndarray):
        return None
    return cast(Lanes, scalar(after)) - cast(Lanes, scalar(before))


@lru_cache(maxsize=512)
def _deciding_inside(loop: ir.Loop) -> frozenset[ir.Variable]:
    """The registers that a loop changes and decisions in its body depend on."""
    step = () if loop.step is None else (ir.ExprStmt(loop.step, loop.step_region, loop.span),)
    body = replace(loop.body, statements=(*loop.body.statements, *step))
    return deciding(replace(loop, condition=None, step=None, body=body))[1]


def _is_known(value: Value) -> bool:
    return isinstance(value, int | float | np.ndarray)


def _drifted(before: Value | None, after: Value) -> Value:
    if isinstance(after, Pointer):
        if isinstance(before, Pointer) and before.root == after.root:
            return Pointer(after.root, scalar(_drifted(before.offset, after.offset)))
        return unknown_like(after)
    moved = _moved_by(before, after)
    if moved is not None and is_warp_uniform(moved):
        return Unknown(uniform=True, delta=cast(Lanes, scalar(after)))
    if isinstance(before, Unknown) and before.uniform and isinstance(after, Unknown) and after.uniform:
        return after
    return unknown_like(after)
