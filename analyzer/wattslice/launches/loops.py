"""How host loops run: short ones iteration by iteration, long counted ones at a few iterations only."""

from __future__ import annotations

from wattslice import ir
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.memory import Memory
from wattslice.launches.relevance import Relevance
from wattslice.launches.statements import Flow, StatementRunner
from wattslice.launches.values import Unknown, Value, same, truth
from wattslice_models.gpu import Gpu

MAX_ITERATIONS = (64, 16, 4)
"""Iterations of counted loops that are followed one by one, by loop depth."""
MAX_UNCOUNTED_ITERATIONS = 2048


class LoopRunner(StatementRunner):
    """Adds loops."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(graph, relevance, memory, gpu, budget)
        self._unknown_loops = 0
        self._loop_depth = 0

    def loop(self, stmt: ir.Loop) -> Flow:
        """Run a loop, or as much of it as tells what it does."""
        for init in stmt.init:
            self.execute(init)
        self._loop_depth += 1
        try:
            return self._iterate(stmt)
        finally:
            self._loop_depth -= 1

    def _iterate(self, stmt: ir.Loop) -> Flow:
        counter = _counter(stmt)
        limit = MAX_ITERATIONS[min(self._loop_depth, len(MAX_ITERATIONS)) - 1]
        if counter is None:
            limit = MAX_UNCOUNTED_ITERATIONS if not self._graph.launches_in(stmt.body) else limit
        elif (trips := self._trips(stmt, counter)) is not None and trips > limit:
            return self._sample(stmt, counter, trips)
        mark, known = self.memory.mark(), len(self.instances)
        for iteration in range(limit + 1):
            if not (stmt.kind is ir.LoopKind.DO and iteration == 0) and stmt.condition is not None:
                holds = truth(self.evaluate(stmt.condition))
                if holds is None:
                    if stmt.kind is ir.LoopKind.DO and iteration == 1:  # that was the first visit
                        self.memory.roll_back(mark)
                        del self.instances[known:]
                    return self._visit_once(stmt)
                if not holds:
                    if iteration == 0:
                        self._visit_never(stmt, counter)
                    return Flow.NEXT
            flow = self.execute(stmt.body)
            if flow in (Flow.RETURN, Flow.EXIT):
                return flow
            if flow is Flow.BREAK:
                return Flow.NEXT
            if stmt.step is not None:
                self.evaluate(stmt.step)
        return self._visit_once(stmt)

    def _visit_never(self, stmt: ir.Loop, counter: ir.Variable | None) -> None:
        """A loop that never runs: what its body launches is seen, with a counter that has no value there."""
        mark = self.memory.mark()
        if counter is not None:
            why = Unknown(f"'{counter.name}' counts a loop that never runs")
            self.memory.write(self.memory.storage(counter), 0, why, counter.type)
        self._speculate(stmt.body, stmt.condition)
        self.memory.roll_back(mark)

    def _visit_once(self, stmt: ir.Loop) -> Flow:
        """A loop of unknown length: its body is seen in the first iteration, what it changes is unknown."""
        self._unknown_loops += 1
        mark = self.memory.mark()
        flow = self.execute(stmt.body)
        if stmt.step is not None:
            self.evaluate(stmt.step)
        self._unknown_loops -= 1
        changes = self.memory.changes_since(mark)
        self.memory.roll_back(mark)
        for cell, after in changes.items():
            before = self.memory.current(cell)
            if isinstance(before, Unknown) and cell[1] >= 0:
                self.memory.apply({cell: after})
            elif not same(before, after):
                self.memory.apply({cell: Unknown(f"'{cell[0].name}' changes in a loop of unknown length")})
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _trips(self, stmt: ir.Loop, counter: ir.Variable) -> int | None:
        """Iterations of a counted loop, from its condition at the start and the step of its counter.

        None when unknown, also for a counter that moves away from its bound: that ends when it wraps around.
        """
        assert isinstance(stmt.condition, ir.Binary)
        assert stmt.step is not None
        holds = truth(self.evaluate(stmt.condition))
        if not holds:
            return None if holds is None else 0
        start = self._int_of(counter)
        bound = self.evaluate(stmt.condition.right)
        mark = self.memory.mark()
        self.evaluate(stmt.step)
        second = self._int_of(counter)
        self.memory.roll_back(mark)
        if start is None or second is None or second == start or not isinstance(bound, (int, float)):
            return None
        inclusive = stmt.condition.op in (ir.BinaryOp.LE, ir.BinaryOp.GE)
        distance, step = int(bound) - start, second - start
        if distance * step < 0:
            return None
        return abs(distance) // abs(step) + 1 if inclusive else -(-abs(distance) // abs(step))

    def _int_of(self, variable: ir.Variable) -> int | None:
        value = self.memory.read(self.memory.storage(variable), 0, variable.type)
        return value if isinstance(value, int) else None

    def _sample(self, stmt: ir.Loop, counter: ir.Variable, trips: int) -> Flow:
        """A long counted loop: two iterations to see what changes by a constant, the middle and the last."""
        assert stmt.step is not None
        mark = self.memory.mark()
        flow = self._once(stmt)
        after_first = self.memory.changes_since(mark)
        if flow is not Flow.NEXT:
            return flow
        flow = self._once(stmt)
        after_second = self.memory.changes_since(mark)
        for iteration in (trips // 2, trips - 1):
            for cell, second in after_second.items():
                self.memory.apply({cell: _extrapolated(after_first.get(cell), second, iteration - 2)})
            flow = self._once(stmt)
            if flow is not Flow.NEXT:
                break
        return flow if flow is Flow.EXIT else Flow.NEXT

    def _once(self, stmt: ir.Loop) -> Flow:
        flow = self.execute(stmt.body)
        if flow in (Flow.NEXT, Flow.CONTINUE) and stmt.step is not None:
            self.evaluate(stmt.step)
            return Flow.NEXT
        return Flow.EXIT if flow is Flow.EXIT else Flow.BREAK


def _extrapolated(first: Value | None, second: Value, iterations: int) -> Value:
    if isinstance(first, int) and isinstance(second, int):
        return second + (second - first) * iterations
    if first is not None and same(first, second):
        return second
    return second if isinstance(second, Unknown) else Unknown("changed in a long loop of the host code")


def _counter(stmt: ir.Loop) -> ir.Variable | None:
    """The variable of `for (...; i < bound; i += constant)`."""
    condition, step = stmt.condition, stmt.step
    if not isinstance(condition, ir.Binary) or condition.op not in ir.COMPARISONS or step is None:
        return None
    if condition.op in (ir.BinaryOp.EQ, ir.BinaryOp.NE):
        return None
    left = condition.left
    while isinstance(left, ir.Cast):
        left = left.operand
    if isinstance(step, ir.Assign) and step.op not in (ir.BinaryOp.ADD, ir.BinaryOp.SUB):
        return None
    if not isinstance(step, (ir.Assign, ir.Increment)) or not isinstance(left, ir.Read):
        return None
    target = step.target
    if not isinstance(target, ir.RegisterPlace) or target.path:
        return None
    return target.variable if target.variable is left.place.variable else None
