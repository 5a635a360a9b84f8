"""A small interpreter of host code that collects kernel launches: entry points, calls and launches.

It walks host functions in the order they would run, with what is known. Where a condition is unknown
both ways are tried and joined (`Memory.merge`): options of the command line count as not given; what else
decides leaves unknown what the ways do not agree on. A way that leaves the function does not count. Arms
that would not run are still visited for launches nothing else reaches, without lasting effect. Long counted
loops are visited at their first, middle and last iteration. Steps are bounded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.ir.loops import Bound, constant_trips, shape_of, whole_limit
from wattslice.launches import host_api
from wattslice.launches.call_graph import CallGraph, Source, read_by_condition
from wattslice.launches.command_line import READS_ARGV, main_arguments, text_call
from wattslice.launches.containers import container_call
from wattslice.launches.data_files import READS_FILES, DataFiles
from wattslice.launches.evaluator import BudgetExceededError, Evaluator
from wattslice.launches.host_api import library_call
from wattslice.launches.instances import LaunchInstance
from wattslice.launches.launch import ConstantValue
from wattslice.launches.long_loops import LoopWrites, jumps_of, writes_of
from wattslice.launches.memory import (
    Cell,
    Closure,
    Delta,
    Frame,
    Memory,
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    condition_of,
    convert,
    offset_of,
    places_of,
    same,
    truth,
)
from wattslice.launches.relevance import Relevance
from wattslice.launches.tensors import tensor_call
from wattslice_models.gpu import Gpu

MAX_ITERATIONS = (64, 16, 4)
"""Iterations of counted loops that are followed one by one, by loop depth."""
MAX_UNCOUNTED_ITERATIONS = 16_384
SHARE_OF_LOOP = 0.25
"""A counted loop that would take more of the steps that are left is not followed through."""
MOST_SAMPLED = 4
MAX_LOOP_STEPS = 8_000
"""Steps of one loop without a launch in it."""
MAX_CALL_DEPTH = 12
MAX_RECURSION_DEPTH = 40
SHARE_OF_NOT_RUN = 0.75
"""Of the steps, for code that is visited only to see its launches."""
_NO_PLACE = Unknown("a value without a name")
_ADDRESS = ir.Type(ir.TypeKind.POINTER, bits=64)
_Site = tuple[ir.LaunchCall, tuple[ir.Call, ...], str]
"""A launch, the calls that lead to it, and the kernel of a pointer."""


class Flow(Enum):
    """How control leaves a statement: the later, the more of what is around it."""

    NEXT = auto()
    CONTINUE = auto()
    BREAK = auto()
    RETURN = auto()
    EXIT = auto()


class LeftError(Exception):
    """Control leaves functions: by what is thrown, of types by these names; of none, the program ends.

    `objects`: those in the functions that are left, whose destructors are not run. `changed`: what ways to it
    wrote that were only tried.
    """

    def __init__(self, names: frozenset[str], value: Value | None = None) -> None:
        super().__init__()
        self.names = names
        self.value = value
        self.objects: list[Storage] = []
        self.changed: list[Cell] = []


class _Thrown(Struct, frozen=True):
    """What a protected block was left by, or may have been, for the reason `perhaps`: then all that it has
    changed may be as it was.
    """

    errors: tuple[LeftError, ...]
    perhaps: Unknown | None = None
    changed: tuple[Cell, ...] = ()


class _Level(Struct):
    """A function, loop, iteration or block around what is visited, by the jump that leaves it.

    `mark`: when it was entered. `left`: what it had changed where a jump may have left it, and why.
    """

    left_by: Flow
    mark: int
    left: list[tuple[Delta, Unknown]] = field(default_factory=list[tuple[Delta, Unknown]])


class _Way(Struct, frozen=True):
    """What is taken perhaps: its end, what it changes and returns, the levels that its break leaves."""

    flow: Flow
    changes: Delta
    value: Value | None = None
    levels: int = 1

    @property
    def reach(self) -> tuple[int, int]:
        """How far it leaves what is around it."""
        return self.flow.value, self.levels if self.flow is Flow.BREAK else 1


class _Returned(Struct, frozen=True):
    """What a function returns; `others`: what it returns instead when an unknown condition holds."""

    value: Value | None = None
    others: tuple[tuple[Value, Unknown], ...] = ()


class Interpreter(Evaluator):
    """Runs host functions symbolically and gathers `instances`."""

    def __init__(
        self,
        graph: CallGraph,
        relevance: Relevance,
        memory: Memory,
        gpu: Gpu,
        budget: int,
        files: DataFiles,
        given: ProgramArguments | None = None,
    ) -> None:
        super().__init__(memory, gpu, budget)
        self._files = files
        self.instances: list[LaunchInstance] = []
        self.cut: set[ir.LaunchCall] = set()  # sites in calls that are not followed
        self._graph = graph
        self._relevance = relevance
        self._given = given
        self._dependence = graph.dependence
        self._seen: set[ir.LaunchCall] = set()
        self._returned: list[_Returned] = []
        self._speculating: list[ir.Expr | None] = []  # the conditions that keep this code from being run
        self.is_cut = False  # in code that is not run: there are launches that it does not come to
        self._steps_for_not_run = int(budget * SHARE_OF_NOT_RUN)
        self._unknown_loops = 0
        self._times: int | None = 1  # how often what is visited runs, in one run of the entry point
        self._around: list[_Level] = []
        self._levels = 1  # how many of them the last break leaves
        self._doubt: int | None = None  # the outermost that a jump may have left on an unknown condition
        self._thrown: _Thrown | None = None  # by the protected block before
        self._handled: LeftError | None = None
        self._protected = 0  # how many such blocks are around
        self._perhaps: list[tuple[LeftError, Unknown]] = []  # what may have been thrown in the innermost
        self._is_captured = False  # into a graph, which is launched some other time
        self._loop_depth = 0
        self._varying: frozenset[ir.Variable] = (
            frozenset()
        )  # what long loops write of which not all is visited
        self._elsewhere: dict[Cell, None] = {}  # what iterations that are not visited write
        self._loop_writes: dict[ir.Loop, LoopWrites] = {}
        self._path: list[ir.Call] = []
        self._active: list[ir.Function] = []

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
            case ir.Block(is_protected=True):
                return self._protected_block(stmt)
            case ir.Block(statements=statements, is_breakable=True):
                return self._stopped(self._inside(Flow.BREAK, lambda: self._sequence(statements)))
            case ir.Block(statements=statements):
                return self._sequence(statements)
            case ir.ExprStmt(expr=expr):
                self.evaluate(expr)
                return Flow.EXIT if self._graph.never_returns(expr) else Flow.NEXT
            case ir.Declare(variable=variable, value=value):
                self._declare(variable, value)
                return Flow.NEXT
            case ir.If():
                return self._if(stmt)
            case ir.Loop():
                return self._loop(stmt)
            case ir.Switch():
                return self._switch(stmt)
            case ir.Return(value=value):
                self._return(None if value is None else self.evaluate(value))
                return Flow.RETURN
            case ir.Break(levels=levels):
                self._levels = levels
                return Flow.BREAK
            case ir.Continue():
                return Flow.CONTINUE

    def _inside(self, left_by: Flow, visit: Callable[[], Flow]) -> Flow:
        """Visit what jumps of a kind leave; behind it all who left it meet again."""
        level = _Level(left_by, self.memory.mark())
        self._around.append(level)
        try:
            flow = visit()
        finally:
            self._around.pop()
            if self._doubt is not None and self._doubt >= len(self._around):
                self._doubt = None
        return self._joined(level, flow) if level.left else flow

    def _joined(self, level: _Level, flow: Flow) -> Flow:
        """What is known behind a level that a jump may have left, and else is left by `flow`."""
        changes = self.memory.changes_since(level.mark)
        if flow is not Flow.NEXT and (flow is not level.left_by or (flow is Flow.BREAK and self._levels > 1)):
            self.memory.roll_back(level.mark)
            self._may_have_left(flow, level.left[0][1], self._gone(flow, changes))
            changes, flow = level.left.pop()[0], level.left_by
            self.memory.apply(changes)
            self._levels = 1
        for left, condition in level.left:
            self.memory.roll_back(level.mark)
            self.memory.merge(changes, left, condition)
            changes = self.memory.changes_since(level.mark)
        return flow

    def _stopped(self, flow: Flow) -> Flow:
        """How control goes on behind what a break leaves."""
        if flow is not Flow.BREAK:
            return flow
        self._levels -= 1
        return Flow.BREAK if self._levels > 0 else Flow.NEXT

    def _may_have_left(self, flow: Flow, why: Unknown, way: _Way | None = None) -> None:
        """A jump on an unknown condition: how often that runs which it passes over is not known.

        `way`: what has led to it and is undone; None where what has is known to be of no concern.
        """
        levels = self._levels if flow is Flow.BREAK else 1
        left = [at for at, level in enumerate(self._around) if level.left_by is flow][-levels:]
        if not left:
            return
        if self._doubt is None or left[0] < self._doubt:
            self._doubt = left[0]
        if way is None or why.is_option or flow is Flow.EXIT:
            return
        if flow is Flow.RETURN:
            self._return_perhaps(way.value, why)
        if flow is not Flow.RETURN or len(self._active) > 1:  # the program ends with `main`
            level = self._around[left[0]]
            level.left.append(({**self.memory.changes_since(level.mark), **way.changes}, why))

    def _jumps(self) -> list[int]:
        """How many jumps may have left each level."""
        return [len(level.left) for level in self._around]

    def _forget_jumps(self, before: list[int]) -> None:
        """Those since then are in code that is not run."""
        for level, number in zip(self._around, before, strict=True):
            del level.left[number:]

    def _return_perhaps(self, value: Value | None, why: Unknown) -> None:
        if value is not None:
            now = self._returned[-1]
            self._returned[-1] = replace(now, others=(*now.others, (value, why)))

    def _sequence(self, statements: tuple[ir.Stmt, ...]) -> Flow:
        for position, stmt in enumerate(statements):
            try:
                flow = self.execute(stmt)
            except LeftError:
                self._not_run(statements[position + 1 :])
                raise
            if flow is not Flow.NEXT:
                self._not_run(statements[position + 1 :])
                return flow
        return Flow.NEXT

    def _not_run(self, statements: tuple[ir.Stmt, ...]) -> None:
        if statements:
            self._speculate(ir.Block(statements, 0, statements[0].span), None)

    # ------------------------------------------------------------------------- exceptions

    def _protected_block(self, stmt: ir.Block) -> Flow:
        """What may be left by something thrown, then the handlers, which ask what that was."""
        inside, handlers = stmt.statements
        outer, self._perhaps = self._perhaps, []
        mark, frame = self.memory.mark(), self.memory.frames[-1]
        older = set(frame.values())
        self._protected += 1
        flow, self._thrown = Flow.NEXT, None
        try:
            flow = self._inside(Flow.EXIT, lambda: self.execute(inside))
        except LeftError as error:
            if not error.names:
                raise
            error.objects += set(frame.values()) - older
            self._forget_destroyed(error)
            self._thrown = _Thrown((error,))
        finally:
            perhaps, self._perhaps = self._perhaps, outer
            self._protected -= 1
        if perhaps:
            certain = () if self._thrown is None else self._thrown.errors
            errors = (*certain, *(error for error, _ in perhaps))
            errors[-1].objects += set(frame.values()) - older
            changed = (*self.memory.changes_since(mark), *(cell for e in errors for cell in e.changed))
            self._thrown = _Thrown(errors, perhaps[0][1], changed)
        if flow is Flow.NEXT:
            return self.execute(handlers)
        if perhaps:
            return self._handled_instead(handlers, flow, perhaps[0][1])
        return flow

    def _handled_instead(self, handlers: ir.Stmt, flow: Flow, why: Unknown) -> Flow:
        """A protected block was left by a jump, unless something was thrown before."""
        main = self._gone(flow, {})
        other = self._way(handlers, why)
        self._thrown = None
        return self._parted(main, other, why)

    def _forget_destroyed(self, error: LeftError) -> None:
        """What the destructors of objects that are left write is lost: they are not run."""
        for storage in error.objects:
            function = self._graph.destroying.get(storage.class_name)
            if function is None:
                continue
            why = Unknown(f"{function.name}() may have written it when something was thrown")
            for pointer in host_api.reached((Pointer(storage, 0),), everything=True):
                self.memory.forget_behind(pointer, why)
            for variable in self._graph.written_by(function):
                self.memory.forget(self.memory.storage(variable), why)

    def _caught(self, name: str) -> Value:
        """Whether a handler of this type takes what was thrown."""
        thrown = self._thrown
        errors = () if thrown is None else thrown.errors
        if thrown is None or not any(name == ir.ANY_TYPE or {name, ir.ANY_TYPE} & e.names for e in errors):
            return 0
        if thrown.perhaps is None:
            return 1
        return thrown.perhaps

    def _handle(self) -> Value:
        thrown, self._thrown = self._thrown, None
        if thrown is None:
            return Unknown("what was thrown")
        self._handled = thrown.errors[0] if thrown.perhaps is None else LeftError(frozenset({ir.ANY_TYPE}))
        if thrown.perhaps is not None:
            for storage, key in thrown.changed:
                lost = Unknown(f"'{storage.name}' may have been set before something was thrown")
                self.memory.set_cell(storage, key, lost)
            for error in thrown.errors:
                self._forget_destroyed(error)
        value = self._handled.value
        return Unknown("what was thrown") if value is None else value

    def _throw(self, names: str, value: Value | None) -> None:
        if names:
            raise LeftError(frozenset(names.split("|")), value)
        if self._thrown is not None:
            thrown, self._thrown = self._thrown, None
            raise thrown.errors[0]
        raise self._handled or LeftError(frozenset({ir.ANY_TYPE}))

    def _declare(self, variable: ir.Variable, value: ir.Expr | None) -> None:
        if variable.role is ir.VariableRole.STATIC_LOCAL:
            self._declare_static(variable, value)
            return
        initial = None if value is None else self.evaluate(value)
        storage = self.memory.declare(variable)
        if initial is not None:
            self.memory.write(storage, 0, initial, variable.type)
        elif variable.type.name.endswith("dim3"):  # dim3 d; is (1, 1, 1)
            for axis in range(3):
                self.memory.write(storage, 4 * axis, 1, ir.UINT32)

    def _declare_static(self, variable: ir.Variable, value: ir.Expr | None) -> None:
        storage, is_initialized = self.memory.static(variable)
        if is_initialized:
            return
        if value is not None:
            self.memory.write(storage, 0, self.evaluate(value), variable.type)
        elif storage.is_scalar:
            self.memory.write(storage, 0, 0, variable.type)

    def returned_by(self, body: ir.Stmt) -> Value | None:
        """Run the body of a function; what it returns, None when nothing."""
        self._returned.append(_Returned())
        try:
            flow = self._inside(Flow.RETURN, lambda: self.execute(body))
        finally:
            found = self._returned.pop()
        if flow is Flow.EXIT:
            raise LeftError(frozenset())
        if found.value is not None:
            for value, condition in found.others:
                if not same(value, found.value) and not isinstance(found.value, (Pointer, Record)):
                    return condition
        return found.value

    def _return(self, value: Value | None) -> None:
        now = self._returned[-1]
        if value is not None and (now.value is None or not isinstance(value, Unknown)):
            self._returned[-1] = replace(now, value=value)

    def _if(self, stmt: ir.If) -> Flow:
        condition = self.evaluate(stmt.condition)
        decided = truth(condition)
        if decided is None:
            return self._either(stmt.then, stmt.otherwise, condition_of(condition))
        taken, other = (stmt.then, stmt.otherwise) if decided else (stmt.otherwise, stmt.then)
        if other is not None:
            self._not_taken(other, stmt.condition)
        if not self._varies(stmt.condition):
            return Flow.NEXT if taken is None else self.execute(taken)
        times, self._times = self._times, None
        try:
            flow = Flow.NEXT if taken is None else self.execute(taken)
        finally:
            self._times = times
        if other is not None and any(isinstance(jump, ir.Continue) for jump in jumps_of(other)):
            self._may_have_left(Flow.CONTINUE, Unknown("a long loop may go on"))
        return flow

    def _varies(self, condition: ir.Expr, counter: ir.Variable | None = None) -> bool:
        """Whether iterations of a long loop that are not visited may decide otherwise, `counter` aside."""
        return bool(self._varying) and bool(self._varying & read_by_condition(condition) - {counter})

    def _try(
        self, stmt: ir.Stmt | None, why: Unknown | None = None, *, is_run: bool = False
    ) -> tuple[Flow, Delta]:
        """Visit what is run perhaps, for the reason `why`, or not at all, and undo its effects."""
        mark, times = self.memory.mark(), self._times
        self._times = times if is_run else None
        flow = Flow.NEXT
        try:
            if stmt is not None:
                flow = self.execute(stmt)
        except LeftError as error:
            flow = Flow.EXIT
            error.changed += self.memory.changes_since(mark)
            if why is not None:
                self._may_throw(error, why)
        finally:
            delta = self.memory.changes_since(mark)
            self.memory.roll_back(mark)
            self._times = times
        return flow, delta

    def _may_throw(self, error: LeftError, why: Unknown) -> None:
        if error.names and self._protected and not why.is_option:
            self._perhaps.append((error, why))
            self._may_have_left(Flow.EXIT, why)

    def _way(
        self, stmt: ir.Stmt | None, condition: Unknown, *, is_run: bool = False, is_default: bool = False
    ) -> _Way:
        """Visit what is run perhaps, undo its effects; what it returns is told where no option decides.

        Of options: `is_run`, what a run takes for certain, `is_default`: or perhaps.
        """
        before, jumps = self._returned[-1].value, self._jumps()
        flow, changes = self._try(stmt, condition, is_run=is_run)
        if condition.is_option:
            if not is_run and not is_default:
                self._forget_jumps(jumps)
            return _Way(flow, changes, self._returned[-1].value, self._levels)
        way = self._gone(flow, changes)
        self._returned[-1] = replace(self._returned[-1], value=before)
        return way

    def _gone(self, flow: Flow, changes: Delta) -> _Way:
        """The way that has been visited last; what it returns is no longer returned for certain."""
        now = self._returned[-1]
        if flow is not Flow.RETURN:
            return _Way(flow, changes, None, self._levels)
        self._returned[-1] = replace(now, value=None)
        return _Way(flow, changes, now.value)

    def _either(self, then: ir.Stmt, otherwise: ir.Stmt | None, condition: Unknown) -> Flow:
        # a program without its options that then ends is no run: the other arm is
        first = self._way(then, condition, is_run=condition.is_option and _ends(otherwise))
        second = self._way(otherwise, condition, is_run=condition.is_option and _ends(then))
        return self._parted(first, second, condition)

    def _parted(self, first: _Way, second: _Way, condition: Unknown) -> Flow:
        """Go on where two ways, of which one is taken, meet again, or on the one that leaves less."""
        if first.reach == second.reach:
            if first.flow is not Flow.EXIT:
                self.memory.merge(first.changes, second.changes, condition)
            if first.flow is Flow.RETURN and not condition.is_option:
                self._return_perhaps(first.value, condition)
            return self._taken(second, condition)
        followed, left = (first, second) if first.reach < second.reach else (second, first)
        is_failure = len(self._active) == 1 and isinstance(left.value, int) and left.value != 0
        if left.flow is not Flow.RETURN or not (condition.is_option or is_failure):
            self._levels = left.levels
            self._may_have_left(left.flow, condition, left)
        self.memory.apply(followed.changes)
        return self._taken(followed, condition)

    def _taken(self, way: _Way, condition: Unknown) -> Flow:
        self._levels = way.levels
        if way.flow is Flow.RETURN and not condition.is_option:
            self._return(way.value)
        return way.flow

    def _not_taken(self, stmt: ir.Stmt, condition: ir.Expr) -> None:
        """What a condition keeps from being run, in this iteration of a long loop at least."""
        if not self._varies(condition):
            self._speculate(stmt, condition)
            return
        _, changes = self._try(stmt, Unknown("a long loop may throw"))
        self._elsewhere.update(dict.fromkeys(changes))

    def _speculate(
        self, stmt: ir.Stmt, condition: ir.Expr | None, counter: ir.Variable | None = None
    ) -> None:
        """Visit code that is not run, if it holds launches not seen elsewhere; undo its effects.

        `condition` is what keeps it from being run; None: a return before it. `counter`: what a loop begins
        with there.
        """
        varies = condition is not None and self._varies(condition, counter)
        launches = self._graph.launches_in(stmt)
        if not (launches if varies else self.unseen(launches)):
            return
        self.spend()
        returned, left = list(self._returned), self._jumps()
        if varies:
            self._try(stmt, Unknown("a long loop may throw"))  # other iterations run it
        else:
            self._speculating.append(condition)
            thrown = self._thrown, self._handled
            perhaps, self._perhaps = self._perhaps, []
            self._try_within_steps(stmt)
            self._perhaps = perhaps
            self._thrown, self._handled = thrown
            self._speculating.pop()
        self._returned[:] = returned
        self._forget_jumps(left)

    def _try_within_steps(self, stmt: ir.Stmt) -> None:
        """Visit code that is not run with half of the steps that are left for such code.

        What is run, and what else is not, needs the others.
        """
        is_outermost = len(self._speculating) == 1
        left = min(self._steps_for_not_run, self.steps_left) if is_outermost else self.steps_left
        given = left // 2
        kept, self._budget = self.steps_left - given, given
        try:
            self._try(stmt)
        except (BudgetExceededError, RecursionError):
            self.is_cut = True
        if is_outermost:
            self._steps_for_not_run -= given - self.steps_left
        self._budget = self.steps_left + kept

    def _any_case(self, stmt: ir.Switch, condition: Unknown) -> Flow:
        """A switch of which nobody knows the case that is taken."""
        ways: list[_Way] = []
        fallen: Delta = {}
        for case in stmt.cases:
            start = self.memory.mark()
            if not condition.is_option:
                self.memory.merge({}, fallen, condition)
            way = self._way(case.body, condition, is_default=None in case.labels)
            way = replace(way, changes={**self.memory.changes_since(start), **way.changes})
            self.memory.roll_back(start)
            fallen = way.changes if way.flow is Flow.NEXT else {}
            ways.append(way)
        if condition.is_option:
            for way in ways:
                if way.flow is Flow.CONTINUE:
                    self._may_have_left(way.flow, condition)
                if way.flow not in (Flow.EXIT, Flow.RETURN):
                    self.memory.merge(way.changes, {}, condition)
            return Flow.NEXT
        if not any(None in case.labels for case in stmt.cases):
            ways.append(_Way(Flow.NEXT, {}))
        ended = [
            replace(way, flow=Flow.BREAK) if way.flow is Flow.NEXT else way
            for at, way in enumerate(ways)
            if way.flow is not Flow.NEXT or at >= len(stmt.cases) - 1
        ]
        followed = min(ended, key=lambda way: way.reach)
        for way in ended:
            if way is not followed:
                self._levels = way.levels
                self._may_have_left(way.flow, condition, way)
        self.memory.apply(followed.changes)
        return self._taken(followed, condition)

    def _switch(self, stmt: ir.Switch) -> Flow:
        return self._stopped(self._inside(Flow.BREAK, lambda: self._cases(stmt)))

    def _cases(self, stmt: ir.Switch) -> Flow:
        selector = self.evaluate(stmt.selector)
        if not isinstance(selector, int):
            return self._any_case(stmt, condition_of(selector))
        chosen = [i for i, case in enumerate(stmt.cases) if selector in case.labels]
        chosen = chosen or [i for i, case in enumerate(stmt.cases) if None in case.labels]
        flow = Flow.NEXT
        for index, case in enumerate(stmt.cases):
            if chosen and index >= chosen[0] and flow is Flow.NEXT:
                flow = self.execute(case.body)
            else:
                self._not_taken(case.body, stmt.selector)
        return flow

    # ------------------------------------------------------------------------- loops

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
                if isinstance(before, Unknown) and cell[1] >= 0 and not is_known_later and after is not None:
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
        return list(cells)

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
        for iteration, stands_for in ((trips // 2, trips - 3), (trips - 1, 1)):
            visited.append((len(self.instances), stands_for))
            self._times = None if times is None else times * stands_for
            for variable in writes.others:
                storage = self.memory.storage(variable)
                lost = Unknown(f"'{variable.name}' changes in a long loop")
                for path in writes.members.get(variable, ()):
                    self.memory.set_cell(storage, offset_of(variable.type, path), lost)
                if variable not in writes.members:
                    self.memory.forget(storage, lost)
            for storage in {storage for storage, _ in after_second if storage.is_allocated}:
                self.memory.forget(storage, Unknown("memory that changes in a long loop"))
            for cell, second in after_second.items():
                value: Value = Unknown(f"'{cell[0].name}' changes in a long loop")
                if cell[0] in steady:
                    value = _extrapolated(after_first.get(cell), second, iteration - 2)
                self.memory.apply({cell: value})
            flow = self._once(stmt)
            if flow is not Flow.NEXT:
                break
        self._times = times
        for cell in self._all_written({}, self._elsewhere, writes):
            if cell[0] not in steady:
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

    # ------------------------------------------------------------------------- entry points

    def _lacking_callers(self, function: ir.Function) -> str:
        """Why nobody tells the arguments of an entry point; with `main` the program was looked through."""
        if function not in self._graph.uncalled:
            return "which is called only where the host code is not followed"
        has_main = any(function.name == "main" for function in self._graph.functions)
        return "which nothing that was read calls" if has_main else "whose callers are not in this file"

    def run(self, function: ir.Function) -> None:
        """Interpret a function as an entry point: nothing is known of its parameters."""
        where = (
            "given on the command line"
            if function.name == "main"
            else f"a parameter of {function.name}(), {self._lacking_callers(function)}"
        )
        self.memory.frames.append({})
        for parameter, default in zip(function.parameters, _defaults(function), strict=True):
            storage = self.memory.declare(parameter)
            is_option = function.name == "main" or parameter.name in ("argc", "argv")
            least = 1 if function.name == "main" and parameter.type.is_integral else None
            value = (
                Unknown(where, is_option=is_option, least=least)
                if default is None
                else self.evaluate(default)
            )
            self.memory.write(storage, 0, value, parameter.type)
        if function.name == "main" and self._given is not None:
            for parameter, value in zip(function.parameters, main_arguments(self._given), strict=False):
                self.memory.write(self.memory.storage(parameter), 0, value, parameter.type)
            self.memory.write(self.memory.global_named("optind"), 0, 1, ir.INT32)
        self._around, self._doubt, self._is_captured = [], None, False
        with suppress(LeftError):
            self._body(function)
        self.memory.frames.pop()

    def run_before_main(self) -> None:
        """Give file-scope variables the values that functions and constructors compute."""
        for function in self._graph.initial:
            try:
                self.run(function)
            except (BudgetExceededError, RecursionError):
                del self.memory.frames[1:]
                for variable in self._graph.written_by(function):
                    self.memory.forget(self.memory.storage(variable), Unknown("set before main()"))

    # ------------------------------------------------------------------------- launches and calls

    def launch(self, node: ir.LaunchCall) -> None:
        """Record the launch in the present state, of the kernel that its pointer holds if it has one.

        Of a pointer that is not known: of every kernel that is used as a value and takes so many arguments.
        """
        self._seen.add(node)
        times = None if self._doubt is not None or self._is_captured else self._times
        grid, block = self.evaluate(node.grid), self.evaluate(node.block)
        shared = 0 if node.shared_bytes is None else self.evaluate(node.shared_bytes)
        arguments = tuple(self.evaluate(argument) for argument in node.arguments)
        held = "" if node.function is None else self.evaluate(node.function)
        is_guess = not isinstance(held, str)
        for name in self._candidates(node) if is_guess else (held,):
            given = arguments
            if node.packed is not None:
                given = self._unpacked(self.evaluate(node.packed), name or node.kernel or node.kernel_name)
            self.instances.append(
                LaunchInstance(
                    node,
                    tuple(self._path),
                    grid,
                    block,
                    shared,
                    given,
                    not self._speculating,
                    self._unknown_loops > 0,
                    self._constant_values(),
                    tuple(self._captured(given)),
                    is_guess,
                    name,
                    files=tuple(self._files.names),
                    is_as_written=not self._dependence.geometry_depends_on(node, self._hinges()),
                    times=None if is_guess else times,
                )
            )

    def _captured(self, arguments: tuple[Value, ...]) -> Iterator[tuple[ir.Variable, int | float]]:
        for argument in arguments:
            for cell in argument.cells.values() if isinstance(argument, Record) else (argument,):
                function = self._graph.named(cell.function) if isinstance(cell, Closure) else None
                for variable in () if function is None else function.copied or ():
                    known = cell.frame.get(variable) if isinstance(cell, Closure) else None
                    value = None if known is None else self.memory.read(known, 0, variable.type)
                    if isinstance(value, (int, float)):
                        yield variable, value

    def _candidates(self, node: ir.LaunchCall) -> tuple[str, ...]:
        known = self._graph.kernels_as_values
        given = None if node.packed is not None else len(node.arguments)
        return tuple(name for name, number in known.items() if given is None or number == given)

    def _unpacked(self, array: Value, kernel: str) -> tuple[Value, ...]:
        """The arguments behind an array of pointers to them."""
        found = self._graph.kernels.get(kernel)
        values: list[Value] = []
        for number, parameter in enumerate(() if found is None else found.parameters):
            if not isinstance(array, Pointer):
                return ()
            where = self.memory.read(array.storage, array.offset + 8 * number, _ADDRESS)
            value: Value = where if isinstance(where, Unknown) else Unknown("an argument behind a pointer")
            if isinstance(where, Pointer):
                value = self.memory.read(where.storage, where.offset, parameter.type)
            values.append(value)
        return tuple(values)

    def _hinges(self) -> frozenset[Source]:
        """What decides whether the code being visited is run at all."""
        conditions = (condition for condition in self._speculating if condition is not None)
        return frozenset[Source]().union(*map(read_by_condition, conditions))

    def _constant_values(self) -> tuple[ConstantValue, ...]:
        """Known numbers in constant memory at this moment."""
        return tuple(
            ConstantValue(variable, offset, value)
            for variable in self._relevance.constants
            for offset, value in self.memory.storage(variable).cells.items()
            if isinstance(value, (int, float))
        )

    def call(self, node: ir.Call, arguments: tuple[Value, ...]) -> Value:
        """Follow functions of the program; know a few of the library; forget what others may write."""
        if node.name == ir.CAUGHT and isinstance(arguments[0], str):
            return self._caught(arguments[0])
        if node.name == ir.HANDLE:
            return self._handle()
        if node.name == ir.THROW:
            names = arguments[0] if arguments else ""
            self._throw(names if isinstance(names, str) else "", arguments[1] if len(arguments) > 1 else None)
        if node.name in host_api.EXITS:
            raise LeftError(frozenset())
        if node.name in host_api.CAPTURES:
            self._is_captured = host_api.CAPTURES[node.name]
        function = self._graph.callee(node) if not node.is_virtual else self._overrider(node, arguments)
        if node.function is not None:
            name = self.evaluate(node.function)
            if isinstance(name, Closure):
                return self._run_closure(name, node, node.arguments, arguments)
            function = self._graph.named(name) if isinstance(name, str) else None
        if node.name == "operator()" and arguments:
            held = self._held(arguments[0])
            if isinstance(held, Closure):
                return self._run_closure(held, node, node.arguments[1:], arguments[1:])
            if isinstance(held, str) and (called := self._graph.named(held)) is not None:
                return self._run(called, node, node.arguments[1:], arguments[1:])
        if function in self._relevance.unfollowed:
            return Unknown(f"the result of {node.name}()")
        if node.name in READS_ARGV or node.name in READS_FILES:
            function = None
        if function is None and node.function is None and not node.is_virtual:
            for known in (text_call, tensor_call, self._files.call):
                value = known(self.memory, node, arguments)
                if value is not None:
                    self._budget += self._files.steps_for_reading()
                    return value
        if function is not None and self._may_follow(function, arguments):
            return self._run(function, node, node.arguments, arguments)
        if function is not None:
            self.cut.update(self._graph.launches_from(function))
        found = host_api.mathematics(node.name, arguments)
        if found is not None:
            return found
        if (constant := host_api.without_options(node.name)) is not None:
            return constant
        if (element := container_call(self.memory, node, arguments)) is not None:
            return element
        if (
            node.function is not None and node.name in host_api.ON_A_THREAD
        ):  # of one that nobody reads: std::ref(x) lets it write x
            for argument in node.arguments:
                where = self._named_place(argument)
                for perhaps in places_of(where):
                    self.memory.forget_behind(perhaps, Unknown(f"set by {node.name}()"))
        for argument in arguments:  # what a library is given it will call
            if isinstance(held := self._held(argument), Closure):
                times, self._times = self._times, None
                self._run_closure(held, node, (), ())
                self._times = times
        return library_call(self.memory, self.gpu, node, arguments)

    def _may_follow(self, function: ir.Function, arguments: tuple[Value, ...]) -> bool:
        """Whether a call is followed; of a function in itself, where its numbers, which end it, are known."""
        if function not in self._active:
            return len(self._active) < MAX_CALL_DEPTH
        pairs = zip(function.parameters, arguments, strict=False)
        numbers = [value for parameter, value in pairs if parameter.type.is_integral]
        is_known = bool(numbers) and all(isinstance(value, int) for value in numbers)
        return is_known and not self._speculating and len(self._active) < MAX_RECURSION_DEPTH

    def _overrider(self, node: ir.Call, arguments: tuple[Value, ...]) -> ir.Function | None:
        """The function that a virtual call runs: by the class of the object, or the only one there is."""
        every = self._graph.callees(node)
        this = arguments[0] if arguments else None
        name = this.storage.class_name if isinstance(this, Pointer) and not this.offset else ""
        own = [function for function in every if _class_of(function) == name]
        return own[0] if own else next(iter(every)) if len(every) == 1 else None

    def text(self, node: ir.Text) -> Value:
        """The text, or the closure of the lambda that it names: it keeps the values that it captures."""
        function = self._graph.named(node.value) if node.type.name == "function" else None
        if function is None or function.copied is None:
            return node.value
        frame = dict(self.memory.frames[-1])
        for variable in function.copied:
            if (known := frame.get(variable)) is not None:
                frame[variable] = replace(known, cells=dict(known.cells))
        return Closure(node.value, frame)

    def _held(self, value: Value) -> Value:
        """The closure or the function's name in an object that is called."""
        if isinstance(value, Pointer):
            value = value.storage.cells.get(value.offset, value)
        return value.cells.get(0, value) if isinstance(value, Record) else value

    def _run_closure(
        self, closure: Closure, node: ir.Call, given: tuple[ir.Expr, ...], arguments: tuple[Value, ...]
    ) -> Value:
        function = self._graph.named(closure.function)
        if function is None or function in self._active or len(self._active) >= MAX_CALL_DEPTH:
            return Unknown("the result of a lambda")
        return self._run(function, node, given, arguments, closure.frame)

    def _run(
        self,
        function: ir.Function,
        node: ir.Call,
        given: tuple[ir.Expr, ...],
        arguments: tuple[Value, ...],
        frame: Mapping[ir.Variable, Storage] | None = None,
    ) -> Value:
        if function in self._relevance.unfollowed:
            return Unknown(f"the result of {node.name}()")
        self._path.append(node)
        try:
            return self._follow(function, node.type, given, arguments, dict(frame or {}))
        finally:
            self._path.pop()

    def _follow(
        self,
        function: ir.Function,
        type_: ir.Type,
        given: tuple[ir.Expr, ...],
        arguments: tuple[Value, ...],
        frame: Frame,
    ) -> Value:
        """Run a function on the arguments `given`, of these values; `frame`: what else it names."""
        depth, self._loop_depth = self._loop_depth, 0
        self.memory.frames.append(frame)
        try:
            return self._in_frame(function, type_, given, arguments)
        except LeftError as error:
            error.objects += frame.values()
            raise
        finally:
            self.memory.frames.pop()
            self._loop_depth = depth

    def _in_frame(
        self,
        function: ir.Function,
        type_: ir.Type,
        given: tuple[ir.Expr, ...],
        arguments: tuple[Value, ...],
    ) -> Value:
        frame_of_caller = self.memory.frames[-2]
        defaults = _defaults(function)
        for index, parameter in enumerate(function.parameters):
            value: Value | None = arguments[index] if index < len(arguments) else None
            if value is None:
                default = defaults[index]
                value = Unknown("a missing argument") if default is None else self.evaluate(default)
            if parameter in function.reference_parameters and index < len(given):
                self.memory.frames.append(frame_of_caller)
                where = self._named_place(given[index])
                self.memory.frames.pop()
                if isinstance(where, Pointer):
                    self.memory.alias(parameter, where)
                    continue
                for perhaps in places_of(where):
                    self.memory.forget_behind(perhaps, replace(condition_of(where), around=()))
            self.memory.write(self.memory.declare(parameter), 0, value, parameter.type)
        return convert(self._body(function), type_)

    def _named_place(self, argument: ir.Expr) -> Value:
        """The address of what is passed by reference, in the frame of the caller."""
        if isinstance(argument, ir.Load):
            return self.loaded_at.get(id(argument.place), _NO_PLACE)
        if not isinstance(argument, ir.Read):
            return _NO_PLACE
        place, where = argument.place, self.memory.address(argument.place.variable)
        offset = offset_of(place.variable.type, place.path) if place.path else 0
        return replace(where, offset=where.offset + offset)

    def _body(self, function: ir.Function) -> Value:
        self._active.append(function)
        try:
            result = self.returned_by(function.body)
        finally:
            self._active.pop()
        return Unknown(f"the result of {function.name}()") if result is None else result

    def evaluate_perhaps(self, node: ir.Expr) -> tuple[Value, Delta]:
        """Value of an expression that a condition nobody knows decides on, and what it changes, undone."""
        mark, times, self._times = self.memory.mark(), self._times, None
        try:
            value = self.evaluate(node)
        except LeftError as error:
            value = Unknown("an expression that may throw")
            error.changed += self.memory.changes_since(mark)
            self._may_throw(error, value)
        finally:
            self._times = times
        changes = self.memory.changes_since(mark)
        self.memory.roll_back(mark)
        return value, changes

    def inlined(self, node: ir.InlinedCall, arguments: tuple[Value, ...]) -> Value:
        """Follow a call the frontend inlined."""
        for parameter, value in zip(node.parameters, arguments, strict=False):
            self.memory.write(self.memory.declare(parameter), 0, value, parameter.type)
        result = self.returned_by(node.body)
        return Unknown(f"the result of {node.name}()") if result is None else convert(result, node.type)


def _site(instance: LaunchInstance) -> _Site:
    return instance.node, instance.path, instance.kernel


def _ends(stmt: ir.Stmt | None) -> bool:
    """True when the function or the program ends behind `stmt`."""
    if isinstance(stmt, ir.Block):
        return bool(stmt.statements) and _ends(stmt.statements[-1])
    if isinstance(stmt, ir.ExprStmt):
        return isinstance(stmt.expr, ir.Call) and stmt.expr.name in host_api.EXITS
    return isinstance(stmt, ir.Return)


def _class_of(method: ir.Function) -> str:
    element = method.parameters[0].type.element
    return "" if element is None else element.name


def _defaults(function: ir.Function) -> tuple[ir.Expr | None, ...]:
    missing = len(function.parameters) - len(function.default_arguments)
    return (*function.default_arguments, *(None for _ in range(missing)))


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
