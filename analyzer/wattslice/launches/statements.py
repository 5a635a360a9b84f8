"""How host statements run: sequences, alternatives, and code that is only visited for its launches."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.evaluator import Evaluator
from wattslice.launches.memory import Delta, Memory
from wattslice.launches.relevance import Relevance
from wattslice.launches.types import ConstantValue
from wattslice.launches.values import Pointer, Record, Unknown, Value, condition_of, same, truth
from wattslice_models.gpu import Gpu


class Flow(Enum):
    """How control leaves a statement."""

    NEXT = auto()
    BREAK = auto()
    CONTINUE = auto()
    RETURN = auto()
    EXIT = auto()


class _Returned(NamedTuple):
    """What a function returns; `others`: what it returns instead when an unknown condition holds."""

    value: Value | None = None
    others: tuple[tuple[Value, Unknown], ...] = ()


class AssumedVariable(NamedTuple):
    """A host variable that the source does not give: the value assumed for it, and why it is unknown."""

    name: str
    value: int | float
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
    is_as_written: bool = True  # False: grid or block depend on what keeps the launch from being run


class StatementRunner(Evaluator):
    """Runs statements; loops, calls and launches are left to the subclasses."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(memory, gpu, budget)
        self._relevance = relevance
        self.instances: list[LaunchInstance] = []
        self._graph = graph
        self._seen: set[ir.LaunchCall] = set()
        self._returned: list[_Returned] = []
        self._speculating: list[ir.Expr | None] = []  # the conditions that keep this code from being run

    @abstractmethod
    def loop(self, stmt: ir.Loop) -> Flow:
        """Run a loop."""

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
                    self._speculate(ir.Block(rest, 0, rest[0].span), None)
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

    def returned_by(self, body: ir.Stmt) -> Value | None:
        """Run the body of a function; what it returns, None when nothing."""
        self._returned.append(_Returned())
        self.execute(body)
        found = self._returned.pop()
        if found.value is not None:
            for value, condition in found.others:
                if not same(value, found.value) and not isinstance(found.value, (Pointer, Record)):
                    return condition
        return found.value

    def _return(self, value: Value | None) -> None:
        now = self._returned[-1]
        if value is not None and (now.value is None or not isinstance(value, Unknown)):
            self._returned[-1] = now._replace(value=value)

    def _if(self, stmt: ir.If) -> Flow:
        condition = self.evaluate(stmt.condition)
        decided = truth(condition)
        if decided is None:
            return self._either(stmt.then, stmt.otherwise, condition_of(condition))
        taken, other = (stmt.then, stmt.otherwise) if decided else (stmt.otherwise, stmt.then)
        if other is not None:
            self._speculate(other, stmt.condition)
        return Flow.NEXT if taken is None else self.execute(taken)

    def _try(self, stmt: ir.Stmt | None) -> tuple[Flow, Delta]:
        mark = self.memory.mark()
        flow = Flow.NEXT if stmt is None else self.execute(stmt)
        delta = self.memory.changes_since(mark)
        self.memory.roll_back(mark)
        return flow, delta

    def _either(self, then: ir.Stmt, otherwise: ir.Stmt | None, condition: Unknown) -> Flow:
        before = self._returned[-1]
        then_flow, then_changes = self._try(then)
        if not condition.is_option and then_flow is Flow.RETURN:
            value = self._returned[-1].value
            others = before.others if value is None else (*before.others, (value, condition))
            self._returned[-1] = before._replace(others=others)
        else_flow, else_changes = self._try(otherwise)
        if not condition.is_option and else_flow is Flow.RETURN and then_flow is Flow.NEXT:
            value = self._returned[-1].value
            others = self._returned[-1].others
            others = others if value is None else (*others, (value, condition))
            self._returned[-1] = before._replace(others=others)
        if then_flow is Flow.NEXT and else_flow is Flow.NEXT:
            self.memory.merge(then_changes, else_changes, condition)
            return Flow.NEXT
        if then_flow is Flow.NEXT or else_flow is Flow.EXIT:
            self.memory.apply(then_changes)
            return then_flow
        self.memory.apply(else_changes)
        return else_flow

    def _speculate(self, stmt: ir.Stmt, condition: ir.Expr | None) -> None:
        """Visit code that is not run, if it holds launches not seen elsewhere; undo its effects.

        `condition` is what keeps it from being run; None: a return before it.
        """
        if not self.unseen(self._graph.launches_in(stmt)):
            return
        self.spend()
        returned = list(self._returned)
        self._speculating.append(condition)
        self._try(stmt)
        self._speculating.pop()
        self._returned[:] = returned

    def _any_case(self, stmt: ir.Switch, condition: Unknown) -> None:
        """A switch of which nobody knows the case that is taken."""
        ways = [self._try(case.body) for case in stmt.cases]
        left = [changes for flow, changes in ways if flow not in (Flow.EXIT, Flow.RETURN)]
        if condition.is_option:
            for changes in left:
                self.memory.merge(changes, {}, condition)
            return
        if not any(None in case.labels for case in stmt.cases):
            left.append({})
        start = self.memory.mark()
        for number, changes in enumerate(left):
            so_far = self.memory.changes_since(start)
            self.memory.roll_back(start)
            self.memory.merge(changes, so_far if number else changes, condition)

    def _switch(self, stmt: ir.Switch) -> Flow:
        selector = self.evaluate(stmt.selector)
        if not isinstance(selector, int):
            self._any_case(stmt, condition_of(selector))
            return Flow.NEXT
        chosen = [i for i, case in enumerate(stmt.cases) if selector in case.labels]
        chosen = chosen or [i for i, case in enumerate(stmt.cases) if None in case.labels]
        flow = Flow.NEXT
        for index, case in enumerate(stmt.cases):
            if chosen and index >= chosen[0] and flow is Flow.NEXT:
                flow = self.execute(case.body)
            else:
                self._speculate(case.body, stmt.selector)
        return Flow.NEXT if flow is Flow.BREAK else flow
