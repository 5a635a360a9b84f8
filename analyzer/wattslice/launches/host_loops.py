"""Loops of host code: short ones are followed, of long ones a few iterations are visited.

Long counted loops are visited at their first and last iteration and some between, those of unknown length
once: what they change is unknown behind them unless every iteration changes it by the same amount. Where what
any iteration launches does not follow from these few, all are followed if that takes few steps; else it is
told that they are a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.loops import Bound, LoopShape, constant_trips, shape_of, update_of, whole_limit
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.control_flow import ControlFlow, Flow, LeftError, uncounted
from wattslice.launches.evaluator import BudgetExceededError
from wattslice.launches.instances import LaunchInstance, Site, site_of, values_of
from wattslice.launches.long_loops import LoopWrites, writes_of
from wattslice.launches.memory import (
    Cell,
    Course,
    Delta,
    Memory,
    Storage,
    Unknown,
    Value,
    binary,
    condition_of,
    convert,
    is_aggregate,
    is_length,
    length_cell,
    may_point,
    places_of,
    same,
    truth,
)
from wattslice.launches.relevance import Relevance
from wattslice.launches.samples import Told, told_by
from wattslice_models.gpu import Gpu

MAX_ITERATIONS = (64, 16, 4)
"""Iterations of counted loops that are followed one by one, by loop depth."""
MAX_UNCOUNTED_ITERATIONS = 16_384
SHARE_OF_LOOP = 0.25
"""A counted loop that would take more of the steps that are left is not followed through."""
STEPS_TO_FOLLOW = 40_000
"""Beside all other steps: for loops of which a few iterations do not tell what the others launch."""
STEPS_TO_GO_ON = 40_000
"""Beside these, for loops that no counter alone ends, as `while (true)` with a `return` in it."""
MOST_SAMPLED = 4
MOST_PARTS = 4
"""Of a long loop that launches: at the ends of each an iteration is visited; of two in deeper loops."""
DEEPEST_OF_MANY_PARTS = 2
MAX_LOOP_STEPS = 8_000
"""Steps of one loop without a launch in it."""
MOST_REPEATS = 2
"""Iterations of it in a row that change nothing: those that follow would not, either."""
_UNENDED = Unknown("it is in a loop that is too long to follow")
_IRREGULAR = Unknown("not every iteration of a long loop launches it as often")


class _MiscountedError(Exception):
    """The test of a loop does not say what the number of its iterations says."""


class _UnlikeError(Exception):
    """The iterations of a loop that were looked at do not tell the others, which can be followed."""


class _Start(Struct, frozen=True):
    """Where a loop begins: a point in time of memory, and of the launches."""

    mark: int
    known: int


class HostLoops(ControlFlow):
    """Runs loops; `instances`: the launches that were reached."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(graph, relevance, memory, gpu, budget)
        self.instances: list[LaunchInstance] = []
        self.cut: set[ir.LaunchCall] = set()  # sites in calls that are not followed
        self._unknown_loops = 0
        self._is_any = False  # what is visited stands for any iteration of a loop around it
        self._loop_depth = 0
        self._lost: dict[Cell, str] = {}  # what the loop that runs changes, and how that is said
        self._loop_writes: dict[ir.Loop, LoopWrites] = {}
        self._steps_to_follow = STEPS_TO_FOLLOW
        self._steps_to_go_on = STEPS_TO_GO_ON
        self._is_following = False  # a loop, with such steps
        self._unlike: dict[ir.Loop, int] = {}  # loops that are followed, with the steps of an iteration
        self._too_costly: set[ir.Loop] = set()  # though that was tried

    def _loop(self, stmt: ir.Loop) -> Flow:
        for init in stmt.init:
            self.execute(init)
        self._begin_at_one(stmt)
        self._loop_depth += 1
        around, self._lost, times = self._lost, {}, self._times
        try:
            return self._stopped(self._inside(Flow.BREAK, lambda: self._iterate(stmt)))
        finally:
            self._loop_depth -= 1
            self._times = times
            for cell in self._lost:  # behind the loop it is a value of its own, which may be assumed
                value = self.memory.current(cell)
                if isinstance(value, Unknown) and value.is_derived and value.reason == self._lost[cell]:
                    self.memory.apply({cell: replace(value, is_derived=False)})
            self._lost = {**around, **self._lost}

    def _begin_at_one(self, stmt: ir.Loop) -> None:
        """A counter that is multiplied and begins with nobody knows what is likely to begin with 1."""
        update = None if stmt.step is None else update_of(stmt.step)
        if update is None or update.op not in (ir.BinaryOp.MUL, ir.BinaryOp.SHL):
            return
        where = self.memory.address(update.variable)
        value = self.memory.current((where.storage, where.offset))
        if isinstance(value, Unknown) and value.likely is None:
            self.memory.set_cell(where.storage, where.offset, replace(value, likely=1))

    def _iterate(self, stmt: ir.Loop, *, is_counted: bool = True, all_of: int | None = None) -> Flow:
        """Follow a loop, or visit some of its iterations, whose number is known if it `is_counted`.

        `all_of`: so many are followed, as was decided before.
        """
        head, trips = self._counted(stmt) if is_counted else (None, None)
        has_launches = bool(self._graph.launches_in(stmt.body))
        is_short = has_launches or head is not None
        limit = MAX_ITERATIONS[min(self._loop_depth, len(MAX_ITERATIONS)) - 1]
        limit = limit if is_short else MAX_UNCOUNTED_ITERATIONS
        limit = limit if all_of is None else all_of
        start = _Start(self.memory.mark(), len(self.instances))
        if trips is not None and trips > limit:
            return self._visit_once(stmt) if self._ends_early(stmt) else self._sample(stmt, trips, start)
        mark, known = start.mark, start.known
        undo = self._undoing(start) if has_launches and all_of is None else None
        begin, repeats = self.steps_left, 0
        least = 0 if has_launches else begin - MAX_LOOP_STEPS
        is_endless = stmt.condition is None or isinstance(stmt.condition, ir.Constant)
        is_open = head is None and (is_endless or not has_launches)
        for iteration in range(limit + 1):
            if self.steps_left < least or repeats == MOST_REPEATS:
                return self._unfinished(stmt, mark, known)
            before = self.memory.mark()
            if iteration == 1 and trips is not None and trips > MOST_SAMPLED + 1:
                most = self.steps_left * SHARE_OF_LOOP if is_short else MAX_LOOP_STEPS
                if (begin - self.steps_left) * (trips - 1) > most and not self._ends_early(stmt):
                    return self._sample(stmt, trips - 1, start, is_begun=True)
            if not (stmt.kind is ir.LoopKind.DO and iteration == 0) and stmt.condition is not None:
                value = self.evaluate(stmt.condition)
                holds = truth(value)
                if holds is None and (self._without_options(value) or iteration):
                    holds = self._without_options(value)
                if holds is None:
                    if stmt.kind is ir.LoopKind.DO and iteration == 1:  # that was the first visit
                        self.memory.roll_back(mark)
                        del self.instances[known:]
                    return self._visit_once(stmt, condition_of(value))
                if not holds:
                    if iteration == 0:
                        self._visit_never(stmt, head)
                    return Flow.NEXT
            flow = self._iteration(stmt)
            if flow in (Flow.RETURN, Flow.EXIT, Flow.BREAK):
                return flow
            if stmt.step is not None:
                self.evaluate(stmt.step)
            if is_open and iteration >= 1 and self._around[-1].jumps > iteration:
                return self._unfinished(stmt, mark, known)
            if not is_short:
                repeats = repeats + 1 if self.memory.is_as_at(before) else 0
        if undo is not None and self._may_go_on(stmt):
            undo()
            ended, self._steps_to_go_on = self._followed(stmt, MAX_UNCOUNTED_ITERATIONS, self._steps_to_go_on)
            if ended is not None:
                return ended
            undo()
            self._too_costly.add(stmt)
            return self._iterate(stmt, is_counted=False)
        return self._unfinished(stmt, mark, known)

    def _may_go_on(self, stmt: ir.Loop) -> bool:
        """Whether a loop that no counter alone ends is followed further: so far all its tests were known."""
        is_tried = stmt in self._too_costly or self._is_following or self._is_any
        return not is_tried and isinstance(self._times, int) and not self._speculating

    def _undoing(self, start: _Start) -> Callable[[], None]:
        """What goes back to where a loop begins, which is here."""
        times, jumps, returned = self._times, self._jumps(), list(self._returned)
        seen, cut = set(self._seen), set(self.cut)

        def undo() -> None:
            self.memory.roll_back(start.mark)
            del self.instances[start.known :]
            self._forget_jumps(jumps)
            self._returned[:] = returned
            self._seen, self.cut = set(seen), set(cut)
            self._times = times

        return undo

    def _ends_early(self, stmt: ir.Loop) -> bool:
        return self._writes(stmt).may_end_early or self._may_be_thrown_in(stmt)

    def _may_be_thrown_in(self, stmt: ir.Loop) -> bool:
        return self._protected > 0 and self._graph.may_throw(stmt)

    def _iteration(self, stmt: ir.Loop) -> Flow:
        return self._inside(Flow.CONTINUE, lambda: self.execute(stmt.body))

    def _unfinished(self, stmt: ir.Loop, mark: int, begin: int) -> Flow:
        """A loop that is not followed to its end: nothing is known of what it has changed, or may yet."""
        reason = "changes in a loop that is too long to follow"
        changes = self.memory.changes_since(mark)
        _, others, rest = self._any_iteration(stmt, changes, reason, _UNENDED)
        for cell in {**changes, **others}:
            self.memory.apply({cell: Unknown(f"{cell[0].told} {reason}")})
        self._add(rest, begin)
        return Flow.NEXT

    def _visit_never(self, stmt: ir.Loop, bound: Bound | None) -> None:
        """A loop that never runs: what its body launches is seen, with a counter that has no value there."""
        mark = self.memory.mark()
        counter = None if bound is None else bound.induction.variable
        if counter is not None:
            why = Unknown(f"'{counter.name}' counts a loop that never runs")
            self.memory.write(self.memory.storage(counter), 0, why, counter.type)
        self._speculate(stmt.body, stmt.condition)
        self.memory.roll_back(mark)

    def _visit_once(self, stmt: ir.Loop, why: Unknown | None = None) -> Flow:
        """A loop of unknown length: its first iteration is seen, then any; what it changes is unknown.

        `why`: nobody knows whether it goes on.
        """
        reason = "changes in a loop of unknown length"
        if why is not None:
            reason += f": {why.reason.rpartition(f'{reason}: ')[2]}"
        if self._may_be_thrown_in(stmt):
            self._may_throw(LeftError(frozenset({ir.ANY_TYPE})), why or Unknown("a long loop may throw"))
        begin, jumps, changes = len(self.instances), self._jumps(), Delta()
        flow: Flow | None = None
        times = _UNENDED if why is None else uncounted("in a loop of unknown length", why)
        is_left_out = why is not None and self._without_options(why) is False
        if is_left_out:
            self._speculating.append(stmt.condition)
        if not self._is_any:
            self._unknown_loops += 1
            try:
                flow, changes = self._visit(stmt, times, why or Unknown(reason))
            finally:
                self._unknown_loops -= 1
        flow_of_any, others, rest = self._any_iteration(stmt, changes, reason, times, why)
        if is_left_out:
            self._speculating.pop()
        flow = flow_of_any if flow is None else flow
        self._add(rest, begin)
        if why is not None and why.is_option:  # a run without options does not come in
            self._forget_jumps(jumps)
            self.memory.merge({}, changes, why)
            return flow if flow is Flow.EXIT else Flow.NEXT
        for cell in {**changes, **others}:
            before = self.memory.current(cell)
            values = [known[cell] for known in (changes, others) if cell in known]
            is_static = cell[0].is_static  # which may be set there first
            if cell[1] >= 0 and not is_static and cell[1] not in cell[0].cells:
                before = values[0]
            if all(same(value, before) or value == before for value in values):
                value = before
            else:
                places = places_of(before, *values)
                value = Unknown(f"{cell[0].told} {reason}", around=places)
            if value is not self.memory.current(cell):
                self.memory.apply({cell: value})
        if flow is Flow.RETURN or (flow is Flow.BREAK and self._levels > 1):  # or it is not come into
            self._may_have_left(flow, why or Unknown(reason), self._gone(flow, {}))
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _visit(self, stmt: ir.Loop, times: int | Unknown, why: Unknown) -> tuple[Flow, Delta]:
        """One iteration, made perhaps: how it ends, and what it changes, undone."""
        mark, outer, self._times = self.memory.mark(), self._times, times
        flow = Flow.NEXT
        try:
            if self._is_any and stmt.condition is not None:
                self.evaluate(stmt.condition)
            flow = self._iteration(stmt)
            if stmt.step is not None:
                self.evaluate(stmt.step)
        except LeftError as error:
            self._may_throw(error, why)
            flow = Flow.NEXT if error.names else Flow.EXIT
        finally:
            self._times = outer
            changes = self.memory.changes_since(mark)
            self.memory.roll_back(mark)
        return flow, changes

    def _any_iteration(
        self,
        stmt: ir.Loop,
        changed: Iterable[Cell],
        reason: str,
        times: int | Unknown,
        why: Unknown | None = None,
        steps: Mapping[Storage, int] | None = None,
    ) -> tuple[Flow, Delta, list[LaunchInstance]]:
        """What any iteration may do: of all that the loop changes nothing is known there.

        `changed`: by iterations that were visited. `steps`: what none may write more often, also by another
        name: it does not count the loop, then. How it ends, what it changes, undone, and its launches.
        """
        begin, jumps, returned = len(self.instances), self._jumps(), list(self._returned)
        seen, is_any, self._is_any = set(self._seen), self._is_any, True
        lost = dict.fromkeys(cell for cell in changed if not is_length(cell[1]))  # which is seen to change
        numbers = (variable for variable in self._writes(stmt).names if not is_aggregate(variable.type))
        named = (self.memory.declared(variable) for variable in numbers)
        lost.update(dict.fromkeys((where.storage, where.offset) for where in named if where is not None))
        found: Delta = {}
        try:
            while True:  # what it is seen to change is lost before it, too
                mark = self.memory.mark()
                self._lose(lost, reason, frozenset(steps or ()))
                most = {storage: storage.writes + number for storage, number in (steps or {}).items()}
                flow, changes = self._visit(stmt, times, why or Unknown(reason))
                if any(storage.writes > number for storage, number in most.items()):
                    raise _MiscountedError
                self.memory.roll_back(mark)
                rest = self.instances[begin:]
                del self.instances[begin:]
                more = [
                    cell
                    for cell, value in changes.items()
                    if cell not in lost
                    and (cell[1] in cell[0].cells or cell[0].is_static)
                    and not same(value, now := self.memory.current(cell))
                    and not (isinstance(value, Unknown) and _is_lost(now))
                ]
                if not more:
                    return flow, {**found, **changes}, rest
                found.update((cell, changes[cell]) for cell in more)
                lost.update(dict.fromkeys(more))
                self._forget_jumps(jumps)
                self._returned[:] = returned
                self._seen = set(seen)
        finally:
            self._is_any = is_any

    def _lose(self, lost: Collection[Cell], reason: str, steady: Collection[Storage]) -> None:
        """Forget what a loop changes; what was unknown before stays so for that reason.

        `steady`: what each iteration changes by the same amount.
        """
        before = {cell: self.memory.current(cell) for cell in lost}
        places, forgotten = places_of(*before.values()), Delta()
        for cell, now in before.items():
            around = places if may_point(now) else ()
            if isinstance(now, Unknown) and _is_lost(now) and cell[1] in cell[0].cells:
                value = replace(now, around=around) if around else now
            else:
                course = Course.STEADY if cell[0] in steady and cell[1] == 0 else Course.ANY
                why = f"{cell[0].told} {reason}"
                value = Unknown(why, around=around, is_derived=True, course=course)
            forgotten[cell] = value
            self._lost[cell] = value.reason
        self.memory.apply(forgotten)

    def _add(self, rest: Sequence[LaunchInstance], begin: int) -> None:
        """Launches of any iteration, beside those of the iterations that were visited, from `begin`.

        How many there are of those that have no number there, nobody knows.
        """
        certain = {site_of(one) for one in rest if one.is_certain}
        made = [one for one in rest if one.is_certain or site_of(one) not in certain]
        lost = {site_of(one): one.times for one in made if isinstance(one.times, Unknown)}
        visited = [one for one in self.instances[begin:] if one.is_certain or site_of(one) not in certain]
        known = {(site_of(one), values_of(one)) for one in visited if one.is_certain}
        self.instances[begin:] = [replace(one, times=lost.get(site_of(one), one.times)) for one in visited]
        self.instances += [
            one
            for one in rest
            if site_of(one) in lost
            and isinstance(one.times, Unknown)
            and (site_of(one), values_of(one)) not in known
        ]

    def _counted(self, stmt: ir.Loop) -> tuple[Bound | None, int | None]:
        """The bound of `for (...; i < bound; i += amount)`, and the iterations of this or any loop of which
        a counter alone decides them, where they are known.

        The counter is one that nothing but its step changes, in the loop or in what it calls.
        """
        shape = shape_of(stmt, memory_stays=True)
        if shape.has_other_conjuncts or len(shape.bounds) != 1:
            return None, None
        (bound,) = shape.bounds
        counter, is_order = bound.induction.variable, bound.comparison is not ir.BinaryOp.NE
        if counter not in self._writes(stmt).steady:
            return None, None
        known, mark = len(self.instances), self.memory.mark()
        try:
            trips = self._trips(shape, bound)
        finally:
            self.memory.roll_back(mark)
            del self.instances[known:]
        if is_order and counter in shape.stepped:
            return bound, trips
        return None, None if trips is None or self._ends_early(stmt) else trips

    def _trips(self, shape: LoopShape, bound: Bound) -> int | None:
        """Iterations of a counted loop, from its bound and counter at the start; it is entered on the way.

        None when unknown, also for a counter that moves away from its bound: that ends when it wraps around.
        """
        stmt, counter, amount = shape.loop, bound.induction.variable, bound.induction.amount
        start = self._int_of(counter)
        limit = bound.limit if isinstance(bound.limit, int) else self.evaluate(bound.limit)
        step = amount if isinstance(amount, int) else self.evaluate(amount)
        is_do = stmt.kind is ir.LoopKind.DO
        if not is_do and stmt.condition is not None and not (holds := truth(self.evaluate(stmt.condition))):
            return holds if holds is None else 0
        if start is None or not isinstance(step, int) or not isinstance(limit, (int, float)):
            return None
        second = convert(binary(bound.induction.op, start, step, ir.INT64), counter.type)
        whole = limit if isinstance(limit, int) else whole_limit(bound.comparison, limit)
        if whole is None or not isinstance(second, int):
            return None
        first = second if is_do and counter not in shape.updated_in_test else start
        first += bound.shift
        trips = constant_trips(first, second - start, bound.comparison, whole)
        if trips is None:
            return None
        nodes = () if stmt.condition is None else ir.walk_expressions(stmt.condition)
        types = [counter.type, bound.type_, *(node.type for node in nodes if isinstance(node, ir.Cast))]
        behind = first + trips * (second - start)  # it wraps on the way where a type does not hold both
        if any(convert(v, t) != v for t in types if _holds_integers(t) for v in (first, behind)):
            return None
        return trips + is_do

    def _int_of(self, variable: ir.Variable) -> int | None:
        value = self.memory.read(self.memory.storage(variable), 0, variable.type)
        return value if isinstance(value, int) else None

    def _sample(self, stmt: ir.Loop, trips: int, start: _Start, *, is_begun: bool = False) -> Flow:
        """A long counted loop: two iterations to see what changes by a constant, any, some between if it
        launches something, and the last.

        `start`: of the loop; if it `is_begun`, of one iteration before these. What its test says of each, and
        behind the last, must be what `trips` says: else it is not counted.
        """
        times, undo = self._times, self._undoing(start)
        every = trips + is_begun
        try:
            if stmt in self._unlike and self._is_cheap(stmt, every):
                raise _UnlikeError
            return self._first_to_last(stmt, trips, start.known if is_begun else None)
        except _MiscountedError:
            undo()
            return self._iterate(stmt, is_counted=False)
        except _UnlikeError:
            undo()
        finally:
            self._times = times
        flow = self._follow_all(stmt, every)
        if flow is not None:
            return flow
        undo()
        self._too_costly.add(stmt)
        return self._sample(stmt, every, start)

    def _is_cheap(self, stmt: ir.Loop, trips: int) -> bool:
        """Whether all iterations of a loop can be followed."""
        left = self.steps_left if self._is_following else self._steps_to_follow
        return stmt not in self._too_costly and trips * self._unlike[stmt] <= left

    def _follow_all(self, stmt: ir.Loop, trips: int) -> Flow | None:
        """Follow a loop, however long; None where that takes more steps than were counted on."""
        if self._is_following:
            return self._iterate(stmt, is_counted=False, all_of=trips)
        flow, self._steps_to_follow = self._followed(stmt, trips, self._steps_to_follow)
        return flow

    def _followed(self, stmt: ir.Loop, trips: int, steps: int) -> tuple[Flow | None, int]:
        """How a loop ends, followed with so many steps, None where they do not suffice; those left."""
        kept, self._budget = self.steps_left, steps
        self._is_following, flow = True, None
        try:
            flow = self._iterate(stmt, is_counted=False, all_of=trips)
        except BudgetExceededError:
            pass
        finally:
            self._is_following = False
            left, self._budget = self.steps_left, kept
        return flow, left

    @property
    def _steps_of_all(self) -> int:
        return self.steps_left + self._steps_to_follow

    def _first_to_last(self, stmt: ir.Loop, trips: int, first: int | None) -> Flow:
        """`first`: where the instances of the iteration before these begin, if there was one."""
        writes = self._writes(stmt)
        mark, times = self.memory.mark(), self._times
        visited = [(len(self.instances), 1)] if first is None else [(first, 1), (len(self.instances), 1)]
        steps_left = self._steps_of_all
        flow = self._once(stmt, is_tested=stmt.kind is not ir.LoopKind.DO or first is not None)
        most_steps = steps_left - self._steps_of_all
        if flow is not Flow.NEXT:
            return flow
        steady = {self.memory.storage(variable): variable.type for variable in writes.steady}
        steps = {self.memory.storage(variable): number for variable, number in writes.steady.items()}
        after_first = {(storage, 0): self.memory.current((storage, 0)) for storage in steady}
        after_first |= self.memory.changes_since(mark)
        (_, stands_for), *places = self._places(stmt, trips)
        visited.append((len(self.instances), stands_for))
        self._times = _times(times, stands_for)
        flow = self._once(stmt)
        self._times = times
        after_second = self.memory.changes_since(mark)
        is_long = first is None
        reason = f"changes in a {'long loop' if is_long else 'loop for which too few steps are left'}"
        any_times = times if isinstance(times, Unknown) else 1
        _, others, rest = self._any_iteration(stmt, after_second, reason, any_times, steps=steps)
        grown = {length_cell(self.memory.address(variable)) for variable in writes.grown}
        changed = [
            cell
            for cell in {**after_second, **others}
            if not is_length(cell[1]) or not same(others.get(cell, now := self.memory.current(cell)), now)
        ]
        for iteration, stands_for in places:
            visited.append((len(self.instances), stands_for))
            self._times = _times(times, stands_for)
            for cell in changed:
                value: Value = Unknown(f"{cell[0].told} {reason}")
                if cell[0] in steady or cell in grown:
                    if cell not in after_second:
                        continue
                    type_ = steady.get(cell[0], ir.INT64)
                    value = _extrapolated(after_first.get(cell), after_second[cell], iteration - 2, type_)
                self.memory.apply({cell: value})
            steps_left = self._steps_of_all
            flow = self._once(stmt)
            most_steps = max(most_steps, steps_left - self._steps_of_all)
            if flow is not Flow.NEXT:
                break
        else:
            self._test(stmt, holds=False)
        ends = [*(begin for begin, _ in visited[1:]), len(self.instances)]
        made = [self.instances[begin:end] for (begin, _), end in zip(visited, ends, strict=True)]
        every = trips + (first is not None)
        told = told_by(made, rest, every)
        if not told.is_complete:
            self._unlike[stmt] = most_steps
            if self._is_cheap(stmt, every):
                raise _UnlikeError
        self._tell(visited[0][0], told)
        self._uncount_irregular(visited)
        self._add(rest, visited[0][0])
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _places(self, stmt: ir.Loop, trips: int) -> list[tuple[int, int]]:
        """Which iterations from the second on are visited, and for how many each stands: so that the mean of
        what changes by a constant, up and down again perhaps, is that of all.
        """
        parts = 1
        if self._graph.launches_in(stmt.body):
            parts = MOST_PARTS if self._loop_depth <= DEEPEST_OF_MANY_PARTS else 2
        last = trips - 1
        places = sorted({1 + (last - 1) * part // parts for part in range(parts + 1)})
        edges = [1, *((one + two + 1) // 2 for one, two in pairwise(places)), trips]
        return [(place, end - begin) for place, (begin, end) in zip(places, pairwise(edges), strict=True)]

    def _uncount_irregular(self, visited: Sequence[tuple[int, int]]) -> None:
        """Launches that not every iteration of a long loop makes as often: nobody knows how many there are.

        `visited`: where the instances of each iteration begin, and for how many iterations it stands.
        """
        ends = [*(start for start, _ in visited[1:]), len(self.instances)]
        irregular: dict[Site, Unknown] = {}
        numbers: list[Counter[Site]] = []
        for (start, stands_for), end in zip(visited, ends, strict=True):
            numbers.append(Counter())
            for instance in self.instances[start:end]:
                if not instance.is_certain:
                    continue
                if isinstance(instance.times, Unknown):
                    irregular.setdefault(site_of(instance), instance.times)
                else:
                    numbers[-1][site_of(instance)] += instance.times // stands_for
        for site in (site for one in numbers for site in one if any(one[site] != n[site] for n in numbers)):
            irregular.setdefault(site, _IRREGULAR)
        for at in range(visited[0][0], len(self.instances)):
            if (why := irregular.get(site_of(self.instances[at]))) is not None:
                self.instances[at] = replace(self.instances[at], times=why)

    def _tell(self, begin: int, told: Told) -> None:
        """Say of launches from `begin` on what those of other iterations have of their own."""
        for at in range(begin, len(self.instances)):
            instance = self.instances[at]
            site = site_of(instance)
            sample = instance.sample or (told.samples.get(site) if instance.is_certain else None)
            is_moving = instance.is_moving or site in told.moving
            times = instance.times
            if sample is not None and not sample.is_shown and not isinstance(times, Unknown):
                times = Unknown(sample.told)
            if sample is not None or is_moving:
                self.instances[at] = replace(instance, sample=sample, times=times, is_moving=is_moving)

    def _writes(self, stmt: ir.Loop) -> LoopWrites:
        found = self._loop_writes.get(stmt)
        if found is None:
            found = self._loop_writes[stmt] = writes_of(stmt, self._graph.functions_in(stmt))
        return found

    def _once(self, stmt: ir.Loop, *, is_tested: bool = True) -> Flow:
        if is_tested:
            self._test(stmt, holds=True)
        flow = self._iteration(stmt)
        if flow in (Flow.NEXT, Flow.CONTINUE):
            if stmt.step is not None:
                self.evaluate(stmt.step)
            return Flow.NEXT
        return Flow.EXIT if flow is Flow.EXIT else Flow.BREAK

    def _test(self, stmt: ir.Loop, *, holds: bool) -> None:
        if stmt.condition is None or truth(self.evaluate(stmt.condition)) is not holds:
            raise _MiscountedError


def _times(around: int | Unknown, stands_for: int) -> int | Unknown:
    return around if isinstance(around, Unknown) else around * stands_for


def _holds_integers(type_: ir.Type) -> bool:
    return type_.is_integral and type_.kind is not ir.TypeKind.BOOL


def _is_lost(value: Value) -> bool:
    """Whether a value may be any."""
    return isinstance(value, Unknown) and value.least is None and not value.is_option


def _extrapolated(first: Value | None, second: Value, iterations: int, type_: ir.Type) -> Value:
    """What a cell of `type_` that changes steadily holds so many iterations after the second."""
    if isinstance(first, int) and isinstance(second, int):
        exact = second + (second - first) * iterations
        value = convert(exact, type_)
        if value == exact or not type_.signed or type_.bits < ir.INT32.bits:  # else it has overflowed
            return value
    return second if isinstance(second, Unknown) else Unknown("changed in a long loop of the host code")
