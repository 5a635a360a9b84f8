"""How control goes through host code: blocks, branches, jumps and exceptions, some of which may be taken.

Where a condition is unknown both ways are tried and joined (`Memory.merge`): options of the command line
count as not given; what else decides leaves unknown what the ways do not agree on. What may have left a
function, a loop or a block meets the rest behind that. Arms that would not run are still visited for launches
nothing else reaches, without lasting effect.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.ir.c_arithmetic import fold
from wattslice.launches import host_api
from wattslice.launches.call_graph import OUTLIVING, CallGraph
from wattslice.launches.evaluator import BudgetExceededError, Evaluator
from wattslice.launches.memory import (
    MOST_ARGC,
    Cell,
    Delta,
    Memory,
    NotTaken,
    Pointer,
    Record,
    Storage,
    Unknown,
    Value,
    condition_of,
    is_text_object,
    joined,
    offset_of,
    places_of,
    told_why,
    truth,
)
from wattslice.launches.relevance import Relevance
from wattslice_models.gpu import Gpu

NOT_COME = Unknown("the host code does not come to it with the values read or assumed")
_EVERYTHING = -1
"""The level that a jump leaves which ends the program."""
SHARE_OF_NOT_RUN = 0.75
"""Of the steps, for code that is visited only to see its launches."""


class Flow(Enum):
    """How control leaves a statement: the later, the more of what is around it."""

    NEXT = auto()
    CONTINUE = auto()
    BREAK = auto()
    RETURN = auto()
    EXIT = auto()


class LeftError(Exception):
    """Control leaves functions: by what is thrown, of types by these names; of none, the program ends.

    `value`: what is thrown, or the status that the program ends with, where it is known. `objects`: those in
    the functions that are left, whose destructors are not run. `changed`: what ways to it wrote that were
    only tried.
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
    `jumps`: how many may have left it, or one around it.
    """

    left_by: Flow
    mark: int
    left: list[tuple[Delta, Unknown]] = field(default_factory=list[tuple[Delta, Unknown]])
    jumps: int = 0


class _Way(Struct, frozen=True):
    """What is taken perhaps: its end, what it changes and returns, the levels that its break leaves.

    `value` of one that ends the program: its status, None where nobody knows.
    """

    flow: Flow
    changes: Delta
    value: Value | None = None
    levels: int = 1

    @property
    def reach(self) -> tuple[int, int]:
        """How far it leaves what is around it."""
        return self.flow.value, self.levels if self.flow is Flow.BREAK else 1


class _Jumps(Struct, frozen=True):
    """How many jumps may have left each level, and the doubt about what follows."""

    left: tuple[int, ...]
    doubt: int | None
    doubted: Unknown


class Supposed(Struct, frozen=True):
    """What a variable would have to be for code to be run that is not, and what follows it."""

    variable: ir.Variable
    value: int
    follow: frozenset[ir.Variable] = frozenset()


class _Returned(Struct, frozen=True):
    """What a function returns; `others`: what it returns instead when an unknown condition holds."""

    value: Value | None = None
    others: tuple[tuple[Value, Unknown], ...] = ()


class ControlFlow(Evaluator):
    """Runs statements; loops are left to the subclass."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(memory, gpu, budget)
        self._graph = graph
        self._relevance = relevance
        self._seen: set[ir.LaunchCall] = set()
        self._returned: list[_Returned] = []
        self._active: list[ir.Function] = []
        self._being_made: list[tuple[Storage, str]] = []  # or destroyed: objects, and the class at hand
        self._speculating: list[ir.Expr | None] = []  # the conditions that keep this code from being run
        self.supposed: tuple[Supposed, ...] = ()  # so that code is run that is not
        self.is_cut = False  # in code that is not run: there are launches that it does not come to
        self._steps_for_not_run = int(budget * SHARE_OF_NOT_RUN)
        self._teams = 0  # regions of OpenMP that have begun
        self._times: int | Unknown = 1  # how often what is visited runs, in one run of the entry point
        self._around: list[_Level] = []
        self._levels = 1  # how many of them the last break leaves
        self._doubt: int | None = None  # the outermost that a jump may have left on an unknown condition
        self._doubted = NOT_COME  # that condition
        self._left_by: ir.Expr | None = None  # the condition on which the statement at hand was left
        self._status: Value | None = None  # that the program ended with, where that was tried last
        self._ended_at: ir.Span | None = None
        self._thrown: _Thrown | None = None  # by the protected block before
        self._handled: LeftError | None = None
        self._protected = 0  # how many such blocks are around
        self._perhaps: list[tuple[LeftError, Unknown]] = []  # what may have been thrown in the innermost
        self._argc = 1  # of a run without options, or with as many as the checks ask for that were passed
        self._least_argc = 1  # what the checks that end the program ask for

    @abstractmethod
    def _loop(self, stmt: ir.Loop) -> Flow:
        """Run a loop."""

    def mark_seen(self, launches: set[ir.LaunchCall]) -> None:
        """Launches that need not be sought in code that is not run."""
        self._seen.update(launches)

    def unseen(self, launches: frozenset[ir.LaunchCall]) -> bool:
        """True when a launch among these has not been reached yet."""
        return not launches <= self._seen

    def is_in_register(self, node: ir.Expr) -> TypeGuard[ir.Read]:
        """Whether an expression is a number of the function at hand that nobody takes the address of."""
        variable = ir.read_variable(node) if isinstance(node, ir.Read) else None
        if variable is None or variable.role in OUTLIVING or variable in self._relevance.addressed:
            return False
        return self.memory.storage(variable).variable is variable  # which a reference is not

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
                if not self._graph.never_returns(expr):
                    return Flow.NEXT
                self._status = None
                return Flow.EXIT
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
        except LeftError as error:
            if not level.left:
                raise
            flow = self._left_perhaps(error, level.mark, level.left[0][1])
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
            self._levels -= flow is level.left_by  # which is no longer around
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

        `way`: what has led to it and is undone; None where what has is known to be of no concern. One that
        ends the program for an error is taken not to happen, and one in a function, which is told.
        """
        if flow is Flow.EXIT and way is not None:
            self._ended_perhaps(way.value, why)
            return
        levels = self._levels if flow is Flow.BREAK else 1
        left = [at for at, level in enumerate(self._around) if level.left_by is flow][-levels:]
        if not left:
            return
        if self._doubt is None or left[0] < self._doubt:
            self._doubt, self._doubted = left[0], why
        for level in self._around[left[0] :]:
            level.jumps += 1
        if way is None or why.is_option:
            return
        if flow is Flow.RETURN:
            self._return_perhaps(way.value, why)
        if flow is not Flow.RETURN or len(self._active) > 1:  # the program ends with `main`
            level = self._around[left[0]]
            level.left.append(({**self.memory.changes_since(level.mark), **way.changes}, why))

    def _ended_perhaps(self, status: Value | None, why: Unknown) -> None:
        """The program has ended with this status, or not."""
        is_well = status == 0 and not why.is_option and not self._speculating
        if is_well and len(self._active) == 1:
            self._doubt, self._doubted = _EVERYTHING, why
        elif is_well and self._ended_at is not None:
            self.memory.passed[self._ended_at] = NotTaken("exit(0)", "is not known", told_why(why))

    def _jumps(self) -> _Jumps:
        """The jumps that may have been taken."""
        return _Jumps(tuple(len(level.left) for level in self._around), self._doubt, self._doubted)

    def _forget_jumps(self, before: _Jumps) -> None:
        """Those since then are in code that is not run."""
        for level, number in zip(self._around, before.left, strict=True):
            del level.left[number:]
        self._doubt, self._doubted = before.doubt, before.doubted

    def _return_perhaps(self, value: Value | None, why: Unknown) -> None:
        if value is not None:
            now = self._returned[-1]
            self._returned[-1] = replace(now, others=(*now.others, (value, why)))

    def _sequence(self, statements: tuple[ir.Stmt, ...]) -> Flow:
        for position, stmt in enumerate(statements):
            self._left_by = None
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
            left_by = self._left_by
            self._speculate(ir.Block(statements, 0, statements[0].span), left_by, is_behind=True)
            self._left_by = left_by

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
            flow = self._inside(Flow.EXIT, lambda: self._expecting(handlers, inside))
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

    def _expecting(self, handlers: ir.Stmt, inside: ir.Stmt) -> Flow:
        """Run what is protected; it may throw what a handler expects of objects that nobody knows."""
        for name in sorted(_caught_in(handlers) & _OF_UNREAD):
            self._may_throw(LeftError(frozenset({name})), Unknown(f"{name} may be thrown"))
        return self.execute(inside)

    def _handled_instead(self, handlers: ir.Stmt, flow: Flow, why: Unknown) -> Flow:
        """A protected block was left by a jump, unless something was thrown before."""
        main = self._gone(flow, {})
        other = self._way(handlers, why)
        self._thrown = None
        return self._parted(main, other, why)

    @abstractmethod
    def _destroy_perhaps(self, function: ir.Function, this: Pointer) -> None:
        """See what a destructor launches that is run, or not, as something was thrown."""

    def _forget_destroyed(self, error: LeftError) -> None:
        """What the destructors of objects that are left write is lost: whether they are run, nobody knows."""
        for storage in error.objects:
            function = self._graph.destroying.get(storage.class_name)
            if function is None:
                continue
            if self._graph.launches_from(function):
                self._destroy_perhaps(function, Pointer(storage, 0))
            why = Unknown(f"{function.name}() may have written it when something was thrown")
            for pointer in host_api.reached((Pointer(storage, 0),), everything=True):
                self.memory.forget_behind(pointer, why)
            self._forget_named(function, why)

    def _forget_named(self, function: ir.Function, why: Unknown) -> None:
        """What a function may write by names is lost."""
        for variable in self._graph.written_by(function):
            self._forget_variable(variable, why)

    def _forget_variable(self, variable: ir.Variable, why: Unknown, own: Storage | None = None) -> None:
        """What a variable holds is lost, and what is behind its pointers. `own`: the one place that it is."""
        if variable.role in OUTLIVING:
            self.memory.storage(variable)
        for storage in self.memory.places_named(variable) if own is None else (own,):
            for pointer in places_of(*storage.cells.values()):
                self.memory.forget_behind(pointer, why)
            self.memory.forget(storage, why)

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
                lost = Unknown(f"{storage.told} may have been set before something was thrown")
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
        again = self._handled or LeftError(frozenset({ir.ANY_TYPE}))
        if isinstance(value, Record):  # of which a handler may name the base
            cells = again.value.cells if isinstance(again.value, Record) else {}
            is_like = value.cells.keys() <= cells.keys()
            value = Record({**cells, **value.cells}) if is_like else Unknown("what is thrown again")
        raise again if value is None else LeftError(again.names, value)

    def _declare(self, variable: ir.Variable, value: ir.Expr | None) -> None:
        if variable.role is ir.VariableRole.STATIC_LOCAL:
            self._declare_static(variable, value)
            return
        storage = self.memory.declare(variable)  # its initial value may name it
        initial = None if value is None else self.evaluate(value)
        if initial is not None:
            self.memory.write(storage, 0, initial, variable.type)
        elif variable.type.name.endswith("dim3"):  # dim3 d; is (1, 1, 1)
            for axis in range(3):
                self.memory.write(storage, 4 * axis, 1, ir.UINT32)

    def _declare_static(self, variable: ir.Variable, value: ir.Expr | None) -> None:
        storage, is_initialized = self.memory.static(variable)
        if is_initialized:
            return
        lost = next((cell for cell in storage.cells.values() if isinstance(cell, Unknown)), None)
        if value is not None:
            self.memory.write(storage, 0, self.evaluate(value), variable.type)
        elif storage.is_scalar:
            self.memory.write(storage, 0, 0, variable.type)
        if lost is not None:  # to what was not followed and may have called this function before
            self.memory.forget(storage, lost)

    def returned_by(self, body: ir.Stmt) -> Value | None:
        """Run the body of a function; what it returns, None when nothing."""
        self._returned.append(_Returned())
        try:
            flow = self._inside(Flow.RETURN, lambda: self.execute(body))
        finally:
            found = self._returned.pop()
            self._left_by = None
        if flow is Flow.EXIT:
            raise LeftError(frozenset(), self._status)
        result = found.value
        for value, condition in found.others:
            result = value if result is None else joined(result, value, condition)
        return result

    def _return(self, value: Value | None) -> None:
        now = self._returned[-1]
        if value is not None and (now.value is None or not isinstance(value, Unknown)):
            self._returned[-1] = replace(now, value=value)

    def _if(self, stmt: ir.If) -> Flow:
        if (failing := self._relevance.checks.get(stmt)) is not None:
            for part, holds in failing:
                if truth(self.evaluate(part)) is holds:
                    self._lose_tested(part)
            return Flow.NEXT
        condition = self._of_files(stmt, self.evaluate(stmt.condition))
        decided = truth(condition)
        passed = self._relevance.passed.get(stmt)
        if passed is not None and decided is not (not passed.is_then):
            decided = not passed.is_then
            self.memory.passed[stmt.span] = NotTaken("a return", f"the environment variable {passed.names}")
        if decided is None and (without := self._without_options(condition)) is not None:
            return self._by_argc(stmt, condition_of(condition), is_then=without)
        if decided is None:
            return self._either(stmt, condition_of(condition))
        taken, other = (stmt.then, stmt.otherwise) if decided else (stmt.otherwise, stmt.then)
        if other is not None:
            self._speculate(other, stmt.condition, None if decided else _where_it_holds(stmt.condition))
        flow = Flow.EXIT
        try:
            flow = Flow.NEXT if taken is None else self.execute(taken)
        finally:
            if flow is not Flow.NEXT and self._left_by is None:
                self._left_by = stmt.condition
        return flow

    def _of_files(self, stmt: ir.If, condition: Value) -> Value:
        """What a condition says, which may ask whether a file was opened that is not there: nobody knows, but
        a run that ends for want of one is none.
        """
        why = condition if isinstance(condition, Unknown) and condition.is_of_file else None
        why = next(self._absent_files(stmt.condition), why)
        if why is None:
            return condition
        ends, others_end = self._ends_run(stmt.then), self._ends_run(stmt.otherwise)
        return why if ends is others_end else int(others_end)

    def _absent_files(self, condition: ir.Expr) -> Iterator[Unknown]:
        for node in ir.walk_expressions(condition):
            if isinstance(node, ir.Read | ir.Load) and node.type.kind is ir.TypeKind.POINTER:
                held = self._held_at(node)
                if isinstance(held, Pointer) and held.storage.absent:
                    yield Unknown(f"whether a run finds {held.storage.absent}", is_of_file=True)

    def _held_at(self, node: ir.Read | ir.Load) -> Value | None:
        """What an expression that was evaluated has read."""
        if isinstance(node, ir.Load):
            where = self.loaded_at.get(id(node.place))
        else:
            where = self.memory.address(node.place.variable)
            where = replace(where, offset=where.offset + offset_of(node.place.variable.type, node.place.path))
        return self.memory.current((where.storage, where.offset)) if isinstance(where, Pointer) else None

    def _ends_run(self, stmt: ir.Stmt | None) -> bool:
        """Whether the program ends behind `stmt`, which launches nothing; or a function that does, or that
        gives nothing.
        """
        if self._launches_in(stmt):
            return False
        if isinstance(stmt, ir.Block):
            return bool(stmt.statements) and self._ends_run(stmt.statements[-1])
        if not isinstance(stmt, ir.Return) or stmt.value is None or len(self._active) == 1:
            return _ends(stmt)
        return self._launches_in(self._active[-1].body)

    def _lose_tested(self, condition: ir.Expr) -> None:
        """What a condition tests is not what the values read say, where these do not lead."""
        lost: set[ir.Variable] = set()
        compared: dict[int, ir.Expr] = {}
        waiting = [condition]
        while waiting:
            node = waiting.pop()
            place = getattr(node, "place", None)
            where: Value | None = None
            if isinstance(node, ir.Binary):
                compared[id(ir.strip_casts(node.left))] = node
            if isinstance(node, ir.Read):
                variable = node.place.variable
                where = Pointer(self.memory.storage(variable), offset_of(variable.type, node.place.path))
                lost.add(variable)
            elif isinstance(node, ir.Load):
                where = self.loaded_at.get(id(place))
            elif isinstance(node, ir.AddressOf) and is_text_object(node.variable.type):
                where = self.memory.address(node.variable)
            else:
                waiting += ir.children(node)
            value = self.memory.current((where.storage, where.offset)) if isinstance(where, Pointer) else None
            if isinstance(where, Pointer) and isinstance(value, (int, float, str)):
                told = "" if isinstance(value, str) else f"{value} "
                where_tested = host_api.written_at(condition)
                reason = (
                    f"{told}with the values read or assumed, with which {where_tested} does not lead here"
                )
                why = Unknown(reason, likely=_beyond(compared.get(id(node)), value))
                self.memory.write(where.storage, where.offset, why, node.type)
        self._follow_declared(lost)

    def _try(
        self,
        stmt: ir.Stmt | None,
        why: Unknown | None = None,
        supposed: Supposed | None = None,
        *,
        lost: ir.Expr | None = None,
        is_run: bool = False,
    ) -> tuple[Flow, Delta]:
        """Visit what is run perhaps, for the reason `why`, or not at all, and undo its effects."""
        mark, times, teams = self.memory.mark(), self._times, self._teams
        if not is_run:
            self._times = (
                NOT_COME if why is None else uncounted("in a branch whose condition is not known", why)
            )
        flow = Flow.NEXT
        try:
            if lost is not None:
                self._lose_tested(lost)
            if supposed is not None and supposed.variable in self.memory.frames[-1]:
                follow = self._suppose(supposed)
                if why is None:
                    self.supposed = (*self.supposed, replace(supposed, follow=follow))
            if stmt is not None:
                flow = self.execute(stmt)
        except LeftError as error:
            flow = self._left_perhaps(error, mark, why)
        finally:
            delta = self.memory.changes_since(mark)
            self.memory.roll_back(mark)
            self._times, self._teams = times, teams
        return flow, delta

    def _left_perhaps(self, error: LeftError, mark: int, why: Unknown | None) -> Flow:
        """Functions are left, or not, for the reason `why`; None: in code that is not run."""
        self._status = None if error.names else error.value
        error.changed += self.memory.changes_since(mark)
        if why is not None:
            self._may_throw(error, why)
        return Flow.EXIT

    def _may_throw(self, error: LeftError, why: Unknown) -> None:
        if error.names and self._protected and not why.is_option:
            self._perhaps.append((error.with_traceback(None), why))  # whose frames hold what was undone
            self._may_have_left(Flow.EXIT, why)

    def _way(
        self,
        stmt: ir.Stmt | None,
        condition: Unknown,
        supposed: Supposed | None = None,
        *,
        is_run: bool = False,
        is_default: bool = False,
    ) -> _Way:
        """Visit what is run perhaps, undo its effects; what it returns is told where no option decides.

        Of options: `is_run`, what a run takes for certain, `is_default`: or perhaps.
        """
        jumps, argc = self._jumps(), (self._argc, self._least_argc)
        flow, changes = self._try(stmt, condition, supposed, is_run=is_run)
        if not is_run:
            self._argc, self._least_argc = argc
        if condition.is_option:
            if not is_run and not is_default:
                self._forget_jumps(jumps)
            return _Way(flow, changes, self._returned[-1].value, self._levels)
        return self._gone(flow, changes)

    def _gone(self, flow: Flow, changes: Delta) -> _Way:
        """The way that has been visited last; what it returns is no longer returned for certain."""
        now = self._returned[-1]
        if flow is not Flow.RETURN:
            return _Way(flow, changes, self._status if flow is Flow.EXIT else None, self._levels)
        self._returned[-1] = replace(now, value=None)
        return _Way(flow, changes, now.value)

    def _either(self, stmt: ir.If, condition: Unknown) -> Flow:
        # a program without its options that then ends is no run: the other arm is
        held = _where_it_holds(stmt.condition)
        first = self._way(stmt.then, condition, held, is_run=condition.is_option and _ends(stmt.otherwise))
        second = self._way(stmt.otherwise, condition, is_run=condition.is_option and _ends(stmt.then))
        return self._parted(first, second, condition)

    def _without_options(self, condition: Value) -> bool | None:
        """Whether a condition that argc decides holds in the run at hand."""
        number = condition.at(self._argc) if isinstance(condition, Unknown) else None
        return None if number is None else number != 0

    def _by_argc(self, stmt: ir.If, condition: Unknown, *, is_then: bool) -> Flow:
        """An `if` that argc decides. What options lead to is visited as well: values that nothing else gives
        are taken from there. A check that ends the run is taken to succeed, with as many options as it asks
        for.
        """
        taken, other = (stmt.then, stmt.otherwise) if is_then else (stmt.otherwise, stmt.then)
        condition, jumps, argc = replace(condition, is_option=True), self._jumps(), self._argc
        first = self._way(taken, condition, is_run=True)
        returned = self._returned[-1]
        if first.flow in (Flow.RETURN, Flow.EXIT) and not self._launches_in(taken):
            self._forget_jumps(jumps)
            self._pass_check(condition, first.flow, is_then=is_then, argc=argc)
            second = self._way(other, condition, is_run=True)
            return self._parted(first, second, condition)
        argc = self._argc, self._least_argc
        second = self._beside(other, condition, stmt.condition)
        self._argc, self._least_argc = argc
        self._returned[-1] = returned
        if first.reach == second.reach and first.flow is not Flow.EXIT:
            self.memory.merge(first.changes, second.changes, condition, is_first=True)
        else:
            self.memory.apply(first.changes)
        return self._taken(first, condition)

    def _launches_in(self, stmt: ir.Stmt | None) -> bool:
        return stmt is not None and bool(self._graph.launches_in(stmt))

    def _pass_check(self, condition: Unknown, flow: Flow, *, is_then: bool, argc: int) -> None:
        """Go on with the least argc from `argc` on with which a check that has failed succeeds."""
        more = range(argc, MOST_ARGC + 1)
        truths = ((one, condition.at(one)) for one in more)
        self._argc = next((one for one, holds in truths if holds is None or bool(holds) is not is_then), argc)
        if flow is Flow.EXIT or len(self._active) == 1:
            self._least_argc = self._argc

    def _beside(self, stmt: ir.Stmt | None, why: Unknown, condition: ir.Expr | None) -> _Way:
        """A way that the run does not take, which only tells values that nothing else gives."""
        self._speculating.append(condition)
        try:
            return self._way(stmt, why)
        finally:
            self._speculating.pop()

    def _parted(self, first: _Way, second: _Way, condition: Unknown) -> Flow:
        """Go on where two ways, of which one is taken, meet again, or on the one that leaves less."""
        if first.reach == second.reach:
            if first.flow is Flow.EXIT:
                self._status = next((way.value for way in (first, second) if way.value == 0), None)
            else:
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

    def _speculate(
        self,
        stmt: ir.Stmt,
        condition: ir.Expr | None,
        supposed: Supposed | None = None,
        *,
        is_behind: bool = False,
    ) -> None:
        """Visit code that is not run, if it holds launches not seen elsewhere; undo its effects.

        `condition` is what keeps it from being run; None: a return before it. `supposed`: with what it would.
        `is_behind`: it lies behind what the condition decides, with which it is never run.
        """
        if not self.unseen(self._graph.launches_in(stmt)):
            return
        self.spend()
        returned, left = list(self._returned), self._jumps()
        self._speculating.append(condition)
        thrown, argc = (self._thrown, self._handled), (self._argc, self._least_argc)
        perhaps, self._perhaps = self._perhaps, []
        before = self.supposed
        self._try_within_steps(stmt, supposed, condition if is_behind else None)
        self.supposed = before
        self._perhaps = perhaps
        self._thrown, self._handled = thrown
        self._argc, self._least_argc = argc
        self._speculating.pop()
        self._returned[:] = returned
        self._forget_jumps(left)

    def _suppose(self, supposed: Supposed) -> frozenset[ir.Variable]:
        """Give a variable its value, and those of the function that are declared by it and never changed."""
        variable = supposed.variable
        self.memory.write(self.memory.frames[-1][variable], 0, supposed.value, variable.type)
        return self._follow_declared({variable})

    def _follow_declared(self, variables: set[ir.Variable]) -> frozenset[ir.Variable]:
        """Evaluate again what is declared by these and never changed; they themselves are told as well."""
        frame, function = self.memory.frames[-1], self._active[-1]
        changed = self._graph.changed_in(function) | self._relevance.escaped
        follow = variables - changed
        for stmt in ir.walk_statements(function.body):
            if isinstance(stmt, ir.Declare) and stmt.value is not None and stmt.variable in frame:
                read = map(ir.read_variable, ir.walk_expressions(stmt.value))
                if stmt.variable not in changed and not follow.isdisjoint(one for one in read if one):
                    self.memory.write(frame[stmt.variable], 0, self.evaluate(stmt.value), stmt.variable.type)
                    follow.add(stmt.variable)
        return frozenset(variables | follow)

    def _try_within_steps(self, stmt: ir.Stmt, supposed: Supposed | None, lost: ir.Expr | None) -> None:
        """Visit code that is not run with half of the steps that are left for such code.

        What is run, and what else is not, needs the others.
        """
        is_outermost = len(self._speculating) == 1
        left = min(self._steps_for_not_run, self.steps_left) if is_outermost else self.steps_left
        given = left // 2
        kept, self._budget = self.steps_left - given, given
        try:
            self._try(stmt, supposed=supposed, lost=lost)
        except (BudgetExceededError, RecursionError):
            self.is_cut = True
        if is_outermost:
            self._steps_for_not_run -= given - self.steps_left
        self._budget = self.steps_left + kept

    def _is_check(self, case: ir.Case) -> bool:
        """Whether a switch ends the run where it expects another option."""
        return None in case.labels and not self._launches_in(case.body) and _ends(case.body)

    def _any_case(self, stmt: ir.Switch, condition: Unknown) -> Flow:
        """A switch of which nobody knows the case that is taken."""
        ways: list[_Way] = []
        fallen: Delta = {}
        number = condition.at(self._argc)
        is_listed = any(number in case.labels for case in stmt.cases)
        if number is not None and not is_listed and any(map(self._is_check, stmt.cases)):
            number = None
        for case in stmt.cases:
            start = self.memory.mark()
            if not condition.is_option:
                self.memory.merge({}, fallen, condition)
            is_default = None in case.labels
            if number is None or number in case.labels or (is_default and not is_listed):
                way = self._way(case.body, condition, _in_case(stmt, case), is_default=is_default)
            else:
                way = self._beside(case.body, condition, stmt.selector)
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
        if isinstance(selector, Unknown) and (number := selector.at(self._argc)) is not None:
            is_listed = any(number in case.labels for case in stmt.cases)
            selector = number if is_listed or not any(map(self._is_check, stmt.cases)) else selector
        if not isinstance(selector, int):
            return self._any_case(stmt, condition_of(selector))
        chosen = [i for i, case in enumerate(stmt.cases) if selector in case.labels]
        chosen = chosen or [i for i, case in enumerate(stmt.cases) if None in case.labels]
        flow = Flow.NEXT
        for index, case in enumerate(stmt.cases):
            if chosen and index >= chosen[0] and flow is Flow.NEXT:
                flow = self.execute(case.body)
            else:
                self._speculate(case.body, stmt.selector, _in_case(stmt, case))
        return flow


def _in_case(stmt: ir.Switch, case: ir.Case) -> Supposed | None:
    """With what a case is taken."""
    variable, label = ir.read_variable(stmt.selector), case.labels[0]
    return None if variable is None or label is None else Supposed(variable, label)


def _where_it_holds(condition: ir.Expr) -> Supposed | None:
    """With what a condition holds that compares a variable with a number."""
    if not isinstance(condition, ir.Binary) or condition.op is not ir.BinaryOp.EQ:
        return None
    sides = condition.left, condition.right
    variable = next(filter(None, map(ir.read_variable, sides)), None)
    number = next((one.value for one in map(ir.strip_casts, sides) if isinstance(one, ir.Constant)), None)
    return Supposed(variable, number) if variable is not None and isinstance(number, int) else None


_NEAREST = {ir.BinaryOp.LT: (0, -1), ir.BinaryOp.LE: (1, 0), ir.BinaryOp.GT: (0, 1), ir.BinaryOp.GE: (-1, 0)}


def _beyond(comparison: ir.Expr | None, value: Value) -> int | None:
    """The nearest number with which a comparison with a constant comes out otherwise than with `value`; of 0
    and -1 none, which say that it was not given.
    """
    right = ir.strip_casts(comparison.right) if isinstance(comparison, ir.Binary) else None
    if not isinstance(comparison, ir.Binary) or not isinstance(right, ir.Constant) or isinstance(value, str):
        return None
    if comparison.op not in _NEAREST or not isinstance(value, int) or value <= 0:
        return None
    holds = fold(comparison.op, value, right.value, ir.INT64)
    return int(right.value) + _NEAREST[comparison.op][not holds]


def uncounted(where: str, why: Unknown) -> Unknown:
    """Why nobody knows how often something is launched."""
    return Unknown(f"it is {where}: {told_why(why)}")


def _caught_in(handlers: ir.Stmt) -> frozenset[str]:
    """The types that handlers name."""
    calls = (expr for expr in ir.expressions_below(handlers) if isinstance(expr, ir.Call))
    asked = (call.arguments[0] for call in calls if call.name == ir.CAUGHT)
    return frozenset(name.value for name in asked if isinstance(name, ir.Text))


_OF_UNREAD = frozenset(
    {"std::bad_variant_access", "std::bad_any_cast", "std::bad_weak_ptr", "std::regex_error",
     "std::future_error", "std::system_error", "std::ios_base::failure", "std::filesystem::filesystem_error"}
)  # fmt: skip
"""What only objects throw that nobody knows here: who names one of these expects it."""


def _ends(stmt: ir.Stmt | None) -> bool:
    """True when the function or the program ends behind `stmt`."""
    if isinstance(stmt, ir.Block):
        return bool(stmt.statements) and _ends(stmt.statements[-1])
    if isinstance(stmt, ir.ExprStmt):
        return isinstance(stmt.expr, ir.Call) and stmt.expr.name in host_api.EXITS
    return isinstance(stmt, ir.Return)
