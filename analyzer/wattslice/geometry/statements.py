"""How host statements run: sequences, alternatives, and code that is only visited for its launches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from wattslice import ir
from wattslice.geometry import host_api
from wattslice.geometry.call_graph import CallGraph
from wattslice.geometry.evaluator import Evaluator
from wattslice.geometry.memory import Delta, Memory
from wattslice.geometry.relevance import Relevance
from wattslice.geometry.types import ConstantValue
from wattslice.geometry.values import Unknown, Value, truth
from wattslice_models.gpu import Gpu


class Flow(Enum):
    """How control leaves a statement."""

    NEXT = auto()
    BREAK = auto()
    CONTINUE = auto()
    RETURN = auto()
    EXIT = auto()


class AssumedVariable(NamedTuple):
    """A host variable that the source does not give: the value assumed for it, and why it is unknown."""

    name: str
    value: int
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class LaunchInstance:
    """One time that a launch is reached: the evaluated configuration, and by which calls."""

    node: ir.LaunchCall
    path: tuple[ir.Call, ...]
    grid: Value
    block: Value
    shared_bytes: Value
    arguments: tuple[Value, ...]
    is_certain: bool  # False: in an arm that the known values do not take
    in_unknown_loop: bool
    constants: tuple[ConstantValue, ...] = ()
    assumed: tuple[AssumedVariable, ...] = ()  # what it was computed from and the source does not give


class StatementRunner(Evaluator):
    """Runs statements; loops, calls and launches are left to the subclasses."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(memory, gpu, budget)
        self._relevance = relevance
        self.instances: list[LaunchInstance] = []
        self._graph = graph
        self._seen: set[ir.LaunchCall] = set()
        self._returned: list[Value | None] = []
        self._speculating = 0

    def loop(self, stmt: ir.Loop) -> Flow:
        """Run a loop."""
        raise NotImplementedError

    def mark_seen(self, launches: set[ir.LaunchCall]) -> None:
        """Launches that need not be sought in code that is not run."""
        self._seen.update(launches)

    def unseen(self, launches: frozenset[ir.LaunchCall]) -> bool:
        """True when a launch among these has not been reached yet."""
        return not launches <= self._seen

    def execute(self, stmt: ir.Stmt) -> Flow:
        """Run one statement."""
        if stmt in self._relevance.skipped:
            return Flow.NEXT
        self.spend()
        match stmt:
            case ir.Block(statements=statements):
                return self._sequence(statements)
            case ir.ExprStmt(expr=expr):
                self.evaluate(expr)
                return Flow.EXIT if isinstance(expr, ir.Call) and expr.name in host_api.EXITS else Flow.NEXT
            case ir.Declare(variable=variable, value=value):
                self._declare(variable, value)
                return Flow.NEXT
            case ir.If():
                return self._if(stmt)
            case ir.Loop():
                return self.loop(stmt)
            case ir.Switch():
                return self._switch(stmt)
            case ir.Return(value=value):
                self._return(None if value is None else self.evaluate(value))
                return Flow.RETURN
            case ir.Break():
                return Flow.BREAK
            case ir.Continue():
                return Flow.CONTINUE

    def _sequence(self, statements: tuple[ir.Stmt, ...]) -> Flow:
        for position, stmt in enumerate(statements):
            flow = self.execute(stmt)
            if flow is not Flow.NEXT:
                if position + 1 < len(statements):
                    rest = statements[position + 1 :]
                    self._speculate(ir.Block(rest, 0, rest[0].span))
                return flow
        return Flow.NEXT

    def _declare(self, variable: ir.Variable, value: ir.Expr | None) -> None:
        initial = None if value is None else self.evaluate(value)
        storage = self.memory.declare(variable)
        if initial is not None:
            self.memory.write(storage, 0, initial, variable.type)
        elif variable.type.name.endswith("dim3"):  # dim3 d; is (1, 1, 1)
            for axis in range(3):
                self.memory.write(storage, 4 * axis, 1, ir.UINT32)

    def _return(self, value: Value | None) -> None:
        if value is not None and (self._returned[-1] is None or not isinstance(value, Unknown)):
            self._returned[-1] = value

    def _if(self, stmt: ir.If) -> Flow:
        condition = truth(self.evaluate(stmt.condition))
        if condition is None:
            return self._either(stmt.then, stmt.otherwise)
        taken, other = (stmt.then, stmt.otherwise) if condition else (stmt.otherwise, stmt.then)
        if other is not None:
            self._speculate(other)
        return Flow.NEXT if taken is None else self.execute(taken)

    def _try(self, stmt: ir.Stmt | None) -> tuple[Flow, Delta]:
        mark = self.memory.mark()
        flow = Flow.NEXT if stmt is None else self.execute(stmt)
        delta = self.memory.changes_since(mark)
        self.memory.roll_back(mark)
        return flow, delta

    def _either(self, then: ir.Stmt, otherwise: ir.Stmt | None) -> Flow:
        then_flow, then_changes = self._try(then)
        else_flow, else_changes = self._try(otherwise)
        if then_flow is Flow.NEXT and else_flow is Flow.NEXT:
            self.memory.merge(then_changes, else_changes)
            return Flow.NEXT
        if then_flow is Flow.NEXT or else_flow is Flow.EXIT:
            self.memory.apply(then_changes)
            return then_flow
        self.memory.apply(else_changes)
        return else_flow

    def _speculate(self, stmt: ir.Stmt) -> None:
        """Visit code that is not run, if it holds launches not seen elsewhere; undo its effects."""
        if not self.unseen(self._graph.launches_in(stmt)):
            return
        self.spend()
        returned = list(self._returned)
        self._speculating += 1
        self._try(stmt)
        self._speculating -= 1
        self._returned[:] = returned

    def _switch(self, stmt: ir.Switch) -> Flow:
        selector = self.evaluate(stmt.selector)
        if not isinstance(selector, int):
            for case in stmt.cases:
                _, changes = self._try(case.body)
                self.memory.merge(changes, {})
            return Flow.NEXT
        chosen = [i for i, case in enumerate(stmt.cases) if selector in case.labels]
        chosen = chosen or [i for i, case in enumerate(stmt.cases) if None in case.labels]
        flow = Flow.NEXT
        for index, case in enumerate(stmt.cases):
            if chosen and index >= chosen[0] and flow is Flow.NEXT:
                flow = self.execute(case.body)
            else:
                self._speculate(case.body)
        return Flow.NEXT if flow is Flow.BREAK else flow
