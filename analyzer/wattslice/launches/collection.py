"""All launches of a program: `main` first, then what nobody calls, within one budget of steps."""

from __future__ import annotations

from collections.abc import Mapping

from wattslice import ir
from wattslice.ir.walking import deep_recursion
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.evaluator import BudgetExceededError
from wattslice.launches.interpreter import Interpreter
from wattslice.launches.launch_geometry import without_dead
from wattslice.launches.memory import Memory
from wattslice.launches.relevance import Relevance, relevance_of
from wattslice.launches.statements import LaunchInstance
from wattslice_models.gpu import Gpu

MAX_STEPS = 60_000
"""Steps for all of a program together; about a fifth of a second."""
MAX_STEPS_OF_ALL_READINGS = 150_000
"""Steps of reading the same host code again and again, with other values for variables."""
MIN_STEPS = 4_000
"""Steps that every entry point may take, however many the others took."""


class HostCode:
    """The host code of a program, ready to be interpreted any number of times.

    `sites`: the launches of interest. What callers in other files launch themselves is theirs, whatever
    their kernels are called.
    """

    def __init__(self, program: ir.Program, gpu: Gpu, sites: frozenset[ir.LaunchCall] | None = None) -> None:
        self._program = program
        self._gpu = gpu
        self._graph = CallGraph(program)
        self._steps_left = MAX_STEPS_OF_ALL_READINGS
        every = frozenset[ir.LaunchCall]().union(*(self._graph.launches_from(f) for f in program.functions))
        self.sites = every if sites is None else sites
        try:
            with deep_recursion():
                self._relevance = relevance_of(program, self._graph)
        except RecursionError:
            self._relevance = Relevance()

    def launches(self, pins: Mapping[str, int | float]) -> tuple[LaunchInstance, ...]:
        """Every launch the host code reaches, in the order of running; `pins`: values by variable name.

        Empty once earlier readings have taken `MAX_STEPS_OF_ALL_READINGS`.
        """
        if self._steps_left < MIN_STEPS:
            return ()
        try:
            with deep_recursion():  # deeply nested code must not look like no code
                return self._collect(pins)
        except RecursionError:
            return ()

    def _collect(self, pins: Mapping[str, int | float]) -> tuple[LaunchInstance, ...]:
        memory = Memory(pins)
        instances: list[LaunchInstance] = []
        interpreter = self._interpreter(memory, MAX_STEPS)
        for variable in self._program.globals:
            storage = memory.declare_global(variable)
            if variable.initializer is not None:
                try:
                    memory.write(storage, 0, interpreter.evaluate(variable.initializer), variable.type)
                except (BudgetExceededError, RecursionError):
                    break
        start = memory.mark()
        seen: set[ir.LaunchCall] = set()
        visited: set[ir.LaunchCall] = set()
        entries = self._graph.entries
        left = MAX_STEPS
        for function in self._graph.roots():
            # A function that others call, but only where they do not run, is no entry point.
            known = seen if function in entries else seen | visited
            if function.name != "main" and self._graph.launches_from(function) <= known:
                continue
            interpreter = self._interpreter(memory, max(MIN_STEPS, left))
            interpreter.mark_seen(seen)
            try:
                interpreter.run(function)
            except (BudgetExceededError, RecursionError):
                del memory.frames[1:]
            self._steps_left -= max(MIN_STEPS, left) - interpreter.steps_left
            left = interpreter.steps_left
            instances.extend(interpreter.instances)
            # A launch only met in code that is not run may be met for certain from the next entry point.
            visited.update(instance.node for instance in interpreter.instances)
            seen.update(instance.node for instance in interpreter.instances if instance.is_certain)
            # What `main` leaves in file-scope variables is what callbacks find there.
            if function.name == "main":
                start = memory.mark()
            memory.roll_back(start)
        return without_dead([instance for instance in instances if instance.node in self.sites])

    def _interpreter(self, memory: Memory, steps: int) -> Interpreter:
        return Interpreter(self._graph, self._relevance, memory, self._gpu, steps)
