"""Loops of host code: short ones are followed, of long ones a few iterations are visited.

Long counted loops are visited at their first, middle and last iteration, those of unknown length once: what
they change is unknown behind them unless every iteration changes it by the same amount.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.loops import Bound, constant_trips, shape_of, whole_limit
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.control_flow import ControlFlow, Flow, LeftError
from wattslice.launches.instances import LaunchInstance
from wattslice.launches.long_loops import LoopWrites, writes_of
from wattslice.launches.memory import (
    Cell,
    Delta,
    Memory,
    Storage,
    Unknown,
    Value,
    condition_of,
    is_length,
    length_cell,
    offset_of,
    places_of,
    same,
    truth,
)
from wattslice.launches.relevance import Relevance
from wattslice_models.gpu import Gpu

MAX_ITERATIONS = (64, 16, 4)
"""Iterations of counted loops that are followed one by one, by loop depth."""
MAX_UNCOUNTED_ITERATIONS = 16_384
SHARE_OF_LOOP = 0.25
"""A counted loop that would take more of the steps that are left is not followed through."""
MOST_SAMPLED = 4
MAX_LOOP_STEPS = 8_000
"""Steps of one loop without a launch in it."""
_Site = tuple[ir.LaunchCall, tuple[ir.Call, ...], str]
"""A launch, the calls that lead to it, and the kernel of a pointer."""


class HostLoops(ControlFlow):
    """Runs loops; `instances`: the launches that were reached."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(graph, relevance, memory, gpu, budget)
        self.instances: list[LaunchInstance] = []
        self._unknown_loops = 0
        self._loop_depth = 0
        self._loop_writes: dict[ir.Loop, LoopWrites] = {}

    def _loop(self, stmt: ir.Loop) -> Flow:
        for init in stmt.init:
            self.execute(init)
        self._loop_depth += 1
        try:
            return self._inside(Flow.BREAK, lambda: self._iterate(stmt))
        finally:
            self._loop_depth -= 1

    def _iterate(self, stmt: ir.Loop) -> Flow:
        bound, trips = _counted(stmt), None
        limit = MAX_ITERATIONS[min(self._loop_depth, len(MAX_ITERATIONS)) - 1]
        if bound is None:
            limit = MAX_UNCOUNTED_ITERATIONS if not self._graph.launches_in(stmt.body) else limit
        elif (trips := self._trips(stmt, bound)) is not None and trips > limit:
            writes = self._writes(stmt)
            ends_early = writes.may_end_early or self._may_be_thrown_in(stmt)
            return self._visit_once(stmt) if ends_early else self._sample(stmt, trips, writes)
        mark, known = self.memory.mark(), len(self.instances)
        begin = self.steps_left
        least = 0 if self._graph.launches_in(stmt.body) else begin - MAX_LOOP_STEPS
        for iteration in range(limit + 1):
            if self.steps_left < least:
                return self._unfinished(stmt, mark)
            if iteration == 1 and trips is not None and trips > MOST_SAMPLED + 1:
                is_long = (begin - self.steps_left) * (trips - 1) > self.steps_left * SHARE_OF_LOOP
                ends_early = (writes := self._writes(stmt)).may_end_early or self._may_be_thrown_in(stmt)
                if is_long and not ends_early:
                    return self._sample(stmt, trips - 1, writes, known)
            if not (stmt.kind is ir.LoopKind.DO and iteration == 0) and stmt.condition is not None:
                value = self.evaluate(stmt.condition)
                holds = truth(value)
                if holds is None:
                    if stmt.kind is ir.LoopKind.DO and iteration == 1:  # that was the first visit
                        self.memory.roll_back(mark)
                        del self.instances[known:]
                    return self._visit_once(stmt, condition_of(value))
                if not holds:
                    if iteration == 0:
                        self._visit_never(stmt, bound)
                    return Flow.NEXT
            flow = self._iteration(stmt)
            if flow in (Flow.RETURN, Flow.EXIT):
                return flow
            if flow is Flow.BREAK:
                return self._stopped(flow)
            if stmt.step is not None:
                self.evaluate(stmt.step)
        self._visit_once(stmt)
        return self._unfinished(stmt, mark)

    def _may_be_thrown_in(self, stmt: ir.Loop) -> bool:
        return self._protected > 0 and self._graph.may_throw(stmt)

    def _iteration(self, stmt: ir.Loop) -> Flow:
        return self._inside(Flow.CONTINUE, lambda: self.execute(stmt.body))

    def _unfinished(self, stmt: ir.Loop, mark: int) -> Flow:
        """A loop that is not followed to its end: nothing is known of what it has changed, or may yet."""
        for storage, key in self.memory.changes_since(mark):
            lost = Unknown(f"'{storage.name}' changes in a loop that is too long to follow")
            self.memory.apply({(storage, key): lost})
        writes = self._writes(stmt)
        for variable in writes.steady | writes.others:
            lost = Unknown(f"'{variable.name}' changes in a loop that is too long to follow")
            self.memory.forget(self.memory.storage(variable), lost)
        return Flow.NEXT

    def _visit_never(self, stmt: ir.Loop, bound: Bound | None) -> None:
        """A loop that never runs: what its body launches is seen, with a counter that has no value there."""
        mark = self.memory.mark()
        counter = None if bound is None else bound.induction.variable
        if counter is not None:
            why = Unknown(f"'{counter.name}' counts a loop that never runs")
            self.memory.write(self.memory.storage(counter), 0, why, counter.type)
        self._speculate(stmt.body, stmt.condition, counter)
        self.memory.roll_back(mark)

    def _visit_once(self, stmt: ir.Loop, why: Unknown | None = None) -> Flow:
        """A loop of unknown length: its body is seen in the first iteration, what it changes is unknown.

        `why`: nobody knows whether it goes on.
        """
        reason = "changes in a loop of unknown length"
        if why is not None:
            reason += f": {why.reason.rpartition(f'{reason}: ')[2]}"
        if self._may_be_thrown_in(stmt):
            self._may_throw(LeftError(frozenset({ir.ANY_TYPE})), why or Unknown("a long loop may throw"))
        self._unknown_loops += 1
        writes, varying = self._writes(stmt), self._varying
        self._varying |= writes.steady | writes.others
        around, self._elsewhere = self._elsewhere, {}
        jumps, mark, times, self._times = self._jumps(), self.memory.mark(), self._times, None
        flow = Flow.NEXT
        try:
            flow = self._iteration(stmt)
            if stmt.step is not None:
                self.evaluate(stmt.step)
        except LeftError as error:
            self._may_throw(error, why or Unknown(reason))
            flow = Flow.NEXT if error.names else Flow.EXIT
        finally:
            self._unknown_loops -= 1
            self._varying = varying
            self._times = times
            changes = self.memory.changes_since(mark)
            self.memory.roll_back(mark)
            elsewhere, self._elsewhere = self._elsewhere, {**around, **self._elsewhere}
        if why is not None and why.is_option:  # a run without options does not come in
            self._forget_jumps(jumps)
            self.memory.merge({}, changes, why)
            return flow if flow is Flow.EXIT else Flow.NEXT
        first: Delta = {}
        for cell in self._all_written(changes, elsewhere, writes):
            before, after = self.memory.current(cell), changes.get(cell)
            is_known_later = cell[0].is_static and cell[1] >= 0  # a static that was set there first
            if after is None or is_known_later or not same(before, after):
                is_unset = cell[1] not in cell[0].cells
                if is_unset and cell[1] >= 0 and not is_known_later and after is not None:
                    first[cell] = after
                else:
                    places = places_of(before, *(() if after is None else (after,)))
                    self.memory.apply({cell: Unknown(f"'{cell[0].name}' {reason}", around=places)})
        if first:
            self._apply_steady(stmt, writes, first, reason)
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _all_written(self, changes: Delta, elsewhere: Mapping[Cell, None], writes: LoopWrites) -> list[Cell]:
        """What all iterations of a loop may write, from what the one that is visited has."""
        cells = dict.fromkeys((*changes, *elsewhere))
        if writes.moves:
            by_name = {self.memory.storage(variable) for variable in writes.members}
            moving = {storage for storage, _ in cells if not storage.is_scalar} - by_name
            cells.update(dict.fromkeys((storage, key) for storage in moving for key in storage.cells))
        return [cell for cell in cells if not self._keeps_length(cell, writes)]

    def _keeps_length(self, cell: Cell, writes: LoopWrites) -> bool:
        """Whether a cell is the length of a vector that a loop does not change."""
        storage = cell[0] if cell[0].part_of is None else cell[0].part_of.storage
        if writes.resized is None or not is_length(cell[1]):
            return False
        for variable, offset in writes.resized:
            where = self.memory.address(variable)
            place = replace(where, offset=where.offset + (offset or 0))
            if where.storage is storage and (offset is None or length_cell(place)[1] == cell[1]):
                return False
        return True

    def _forget_contents(self, storage: Storage, why: Unknown, writes: LoopWrites) -> None:
        """All of a storage but the lengths that a loop does not change."""
        storage = storage if storage.part_of is None else storage.part_of.storage
        cells = storage.cells.items()
        kept = {(storage, key): cell for key, cell in cells if self._keeps_length((storage, key), writes)}
        self.memory.forget(storage, why)
        self.memory.apply(kept)

    def _apply_steady(self, stmt: ir.Loop, writes: LoopWrites, first: Delta, reason: str) -> None:
        """Give what had no value before a loop that of the first iteration, if a later one gives the same."""
        inside = {self.memory.storage(variable) for variable in writes.declared}
        if all(storage in inside for storage, _ in first):
            self.memory.apply(first)
            return
        mark, known, seen = self.memory.mark(), len(self.instances), set(self._seen)
        again: Delta = {}
        times, self._times = self._times, None
        with suppress(LeftError):
            self._iteration(stmt)
        self._times = times
        again = self.memory.changes_since(mark)
        self.memory.roll_back(mark)
        del self.instances[known:]
        self._seen = seen
        for cell, value in first.items():
            is_same = cell[0] in inside or same(again.get(cell, value), value)
            self.memory.apply({cell: value if is_same else Unknown(f"'{cell[0].name}' {reason}")})

    def _trips(self, stmt: ir.Loop, bound: Bound) -> int | None:
        """Iterations of a counted loop, from its bound at the start and the first step of its counter.

        None when unknown, also for a counter that moves away from its bound: that ends when it wraps around.
        """
        assert stmt.condition is not None
        assert stmt.step is not None
        if truth(self.evaluate(stmt.condition)) is None:
            return None
        counter = bound.induction.variable
        start = self._int_of(counter)
        limit = bound.limit if isinstance(bound.limit, int) else self.evaluate(bound.limit)
        mark = self.memory.mark()
        self.evaluate(stmt.step)
        second = self._int_of(counter)
        self.memory.roll_back(mark)
        if start is None or second is None or not isinstance(limit, (int, float)):
            return None
        whole = limit if isinstance(limit, int) else whole_limit(bound.comparison, limit)
        return (
            None
            if whole is None
            else constant_trips(start + bound.shift, second - start, bound.comparison, whole)
        )

    def _int_of(self, variable: ir.Variable) -> int | None:
        value = self.memory.read(self.memory.storage(variable), 0, variable.type)
        return value if isinstance(value, int) else None

    def _sample(self, stmt: ir.Loop, trips: int, writes: LoopWrites, first: int | None = None) -> Flow:
        """A long counted loop: two iterations to see what changes by a constant, the middle and the last.

        `first`: where the instances of the iteration before these begin, if there was one.
        """
        varying, self._varying = self._varying, self._varying | writes.steady | writes.others
        try:
            return self._sampled(stmt, trips, writes, first)
        finally:
            self._varying = varying

    def _sampled(self, stmt: ir.Loop, trips: int, writes: LoopWrites, first: int | None) -> Flow:
        times, around, self._elsewhere = self._times, self._elsewhere, {}
        try:
            return self._first_middle_last(stmt, trips, writes, first)
        finally:
            self._times = times
            self._elsewhere.update(around)

    def _first_middle_last(self, stmt: ir.Loop, trips: int, writes: LoopWrites, first: int | None) -> Flow:
        assert stmt.step is not None
        mark, times = self.memory.mark(), self._times
        visited = [(len(self.instances), 1)] if first is None else [(first, 1), (len(self.instances), 1)]
        flow = self._once(stmt)
        after_first = self.memory.changes_since(mark)
        if flow is not Flow.NEXT:
            return self._stopped(flow)
        visited.append((len(self.instances), 1))
        flow = self._once(stmt)
        after_second = self.memory.changes_since(mark)
        steady = {self.memory.storage(variable) for variable in writes.steady}
        grown = {length_cell(self.memory.address(variable)) for variable in writes.grown}
        for iteration, stands_for in ((trips // 2, trips - 3), (trips - 1, 1)):
            visited.append((len(self.instances), stands_for))
            self._times = None if times is None else times * stands_for
            for variable in writes.others:
                storage = self.memory.storage(variable)
                lost = Unknown(f"'{variable.name}' changes in a long loop")
                for path in writes.members.get(variable, ()):
                    self.memory.set_cell(storage, offset_of(variable.type, path), lost)
                if variable not in writes.members:
                    self._forget_contents(storage, lost, writes)
            for storage in {storage for storage, _ in after_second if storage.is_allocated}:
                self._forget_contents(storage, Unknown("memory that changes in a long loop"), writes)
            for cell, second in after_second.items():
                if self._keeps_length(cell, writes):
                    continue
                value: Value = Unknown(f"'{cell[0].name}' changes in a long loop")
                if cell[0] in steady or cell in grown:
                    value = _extrapolated(after_first.get(cell), second, iteration - 2)
                self.memory.apply({cell: value})
            flow = self._once(stmt)
            if flow is not Flow.NEXT:
                break
        self._times = times
        for cell in self._all_written({}, self._elsewhere, writes):
            if cell[0] not in steady and cell not in grown:
                self.memory.apply({cell: Unknown(f"'{cell[0].name}' changes in a long loop")})
        self._uncount_irregular(visited)
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _uncount_irregular(self, visited: Sequence[tuple[int, int]]) -> None:
        """Launches that not every iteration of a long loop makes as often: nobody knows how many there are.

        `visited`: where the instances of each iteration begin, and for how many iterations it stands.
        """
        ends = [*(start for start, _ in visited[1:]), len(self.instances)]
        irregular: set[_Site] = set()
        numbers: list[Counter[_Site]] = []
        for (start, stands_for), end in zip(visited, ends, strict=True):
            numbers.append(Counter())
            for instance in self.instances[start:end]:
                if instance.times is None:
                    irregular.add(_site(instance))
                elif instance.is_certain:
                    numbers[-1][_site(instance)] += instance.times // stands_for
        irregular.update(
            site for one in numbers for site in one if any(one[site] != n[site] for n in numbers)
        )
        for at in range(visited[0][0], len(self.instances)):
            if _site(self.instances[at]) in irregular:
                self.instances[at] = replace(self.instances[at], times=None)

    def _writes(self, stmt: ir.Loop) -> LoopWrites:
        found = self._loop_writes.get(stmt)
        if found is None:
            found = self._loop_writes[stmt] = writes_of(stmt, self._graph.functions_in(stmt))
        return found

    def _once(self, stmt: ir.Loop) -> Flow:
        flow = self._iteration(stmt)
        if flow in (Flow.NEXT, Flow.CONTINUE) and stmt.step is not None:
            self.evaluate(stmt.step)
            return Flow.NEXT
        return Flow.EXIT if flow is Flow.EXIT else Flow.BREAK


def _site(instance: LaunchInstance) -> _Site:
    return instance.node, instance.path, instance.kernel


def _extrapolated(first: Value | None, second: Value, iterations: int) -> Value:
    """What a cell that changes steadily holds so many iterations after the second."""
    if isinstance(first, int) and isinstance(second, int):
        return second + (second - first) * iterations
    return second if isinstance(second, Unknown) else Unknown("changed in a long loop of the host code")


def _counted(stmt: ir.Loop) -> Bound | None:
    """The bound of `for (...; i < bound; i += amount)`, of an `i` that nothing but the step changes."""
    shape = shape_of(stmt, memory_stays=True)
    if shape.has_other_conjuncts or len(shape.bounds) != 1:
        return None
    (bound,) = shape.bounds
    is_sum = bound.induction.op in (ir.BinaryOp.ADD, ir.BinaryOp.SUB)
    is_order = bound.comparison not in (ir.BinaryOp.EQ, ir.BinaryOp.NE)
    return bound if is_sum and is_order and bound.induction.variable in shape.stepped else None
