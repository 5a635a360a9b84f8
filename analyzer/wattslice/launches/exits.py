"""What in host code ends the program where what it tests is told: a slice that is followed, too.

`need(n > 3)`, `n > 3 || (exit(1), 0)` and `switch (n) { default: abort(); }` have no effect but the end. They
are kept where all that they test is relevant anyway, is what the function is given, or follows from that in
numbers of the function's own; so is what leaves the function, or a loop, before them. Elsewhere an error is
taken not to happen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir

_JUMPS = (ir.Return, ir.Break, ir.Continue)


class Step(Struct, frozen=True):
    """A statement of a function, by its own expressions: `unread`, the variables that they need and that are
    not told as such; whether all else that they need `is_told`, and memory is a part of it; what they call;
    what they set that nothing sets but by its name. `is_end`: it ends the program. `asks_argc`: they read it.
    `around`: places of the statements that it is in, the outermost first.
    """

    stmt: ir.Stmt
    unread: frozenset[ir.Variable]
    is_told: bool
    has_memory: bool
    callees: frozenset[ir.Function]
    sets: frozenset[ir.Variable]
    is_end: bool
    asks_argc: bool = False
    around: tuple[int, ...] = ()


class Kept(Struct, frozen=True):
    """Statements that end the program, with all that these need; the functions that they call."""

    statements: set[ir.Stmt] = field(default_factory=set[ir.Stmt])
    callees: set[ir.Function] = field(default_factory=set[ir.Function])


def steps_of(function: ir.Function, read: Callable[[ir.Stmt, ir.Function], Step]) -> tuple[Step, ...]:
    """The statements of a function in source order."""
    found: list[Step] = []

    def visit(stmt: ir.Stmt, around: tuple[int, ...]) -> None:
        found.append(replace(read(stmt, function), around=around))
        inner = (*around, len(found) - 1)
        for below in ir.nested_statements(stmt):
            visit(below, inner)

    visit(function.body, ())
    return tuple(found)


class _Slice:
    """The slice of one function. `core`: what is relevant anyway. `checking`: functions that may end the
    program, as what they are given says; `able`: those that are followed, or may be.
    """

    def __init__(
        self,
        steps: tuple[Step, ...],
        core: Collection[ir.Stmt],
        checking: Collection[ir.Function],
        able: Collection[ir.Function],
    ) -> None:
        self._steps = steps
        self._core = core
        self._checking = checking
        self._able = able
        self._setting: dict[ir.Variable, list[Step]] = {}
        for step in steps:
            for variable in step.sets:
                self._setting.setdefault(variable, []).append(step)
        self._own = set(self._setting)
        self._own -= {v for v in self._own if any(map(self._is_by_argc, self._setting[v]))}
        while lost := {v for v in self._own if not all(map(self._is_told, self._setting[v]))}:
            self._own -= lost

    def kept(self) -> Kept:
        """What is kept of the function."""
        found = Kept()
        for at, step in enumerate(self._steps):
            if not (step.is_end or any(f in self._checking for f in step.callees)):
                continue
            needed = [one for place, one in enumerate(self._steps) if self._passes_over(place, one, at, step)]
            needed.append(step)
            if all(map(self._is_told, needed)):
                for one in needed:
                    self._keep(one, found)
        return found

    def is_told(self) -> bool:
        """Whether all that the function does is told by what it is given."""
        return all(map(self._is_told, self._steps))

    def _passes_over(self, place: int, one: Step, at: int, end: Step) -> bool:
        """Whether a jump may pass over an end behind it, or in a loop around both."""
        if not isinstance(one.stmt, _JUMPS):
            return False
        both = (self._steps[outer].stmt for outer in one.around if outer in end.around)
        return place < at or any(isinstance(stmt, ir.Loop) for stmt in both)

    def _is_by_argc(self, step: Step) -> bool:
        """Whether argc, which is assumed, decides if something is set: then a check of it says nothing."""
        return any(self._steps[at].asks_argc for at in step.around)

    def _is_told(self, step: Step) -> bool:
        """Whether all is told that decides what a statement does, and if it does so.

        Loops over memory, which may be long, are not followed for this.
        """
        every = [*(self._steps[at] for at in step.around), step]
        is_in_loop = any(isinstance(one.stmt, ir.Loop) and one.stmt not in self._core for one in every)
        return all(
            one.is_told
            and one.unread <= self._own
            and not (is_in_loop and one.has_memory)
            and all(f in self._able or f in self._checking for f in one.callees)
            for one in every
        )

    def _keep(self, step: Step, found: Kept) -> None:
        if step.stmt in found.statements:
            return
        found.statements.add(step.stmt)
        found.callees.update(step.callees)
        for at in step.around:
            self._keep(self._steps[at], found)
        for variable in step.unread:
            for setting in self._setting[variable]:
                self._keep(setting, found)


def kept_of(
    functions: Mapping[ir.Function, tuple[Step, ...]],
    core: Collection[ir.Stmt],
    able: Collection[ir.Function],
) -> Kept:
    """What is kept of all functions, given by their steps."""
    able, found, checking = set(able), Kept(), set[ir.Function]()
    computed = dict.fromkeys(f for f in functions if f not in able)
    while left := [f for f in computed if not _Slice(functions[f], core, (), {*able, *computed}).is_told()]:
        for function in left:
            del computed[function]
    able.update(computed)
    while True:
        slices = {
            f: _Slice(s, core, checking, able).kept() for f, s in functions.items() if _may_end(s, checking)
        }
        wider = {function for function, kept in slices.items() if kept.statements}
        if wider <= checking:
            break
        checking |= wider
    for kept in slices.values():
        found.statements.update(kept.statements)
        found.callees.update(kept.callees)
    waiting, whole = list(found.callees), set[ir.Function]()
    while waiting:
        if (function := waiting.pop()) in computed and function not in whole:
            whole.add(function)
            found.statements.update(step.stmt for step in functions[function])
            waiting += (callee for step in functions[function] for callee in step.callees)
    found.callees.update(whole)
    return found


def _may_end(steps: tuple[Step, ...], checking: Collection[ir.Function]) -> bool:
    return any(step.is_end or any(f in checking for f in step.callees) for step in steps)
