"""All launches of a program: `main` first, then what nobody calls, within one budget of steps."""

from __future__ import annotations

import sys

from wattslice import ir
from wattslice.geometry.call_graph import CallGraph
from wattslice.geometry.evaluator import BudgetExceededError
from wattslice.geometry.interpreter import Interpreter
from wattslice.geometry.memory import Memory
from wattslice.geometry.relevance import relevance_of
from wattslice.geometry.statements import LaunchInstance
from wattslice_models.gpu import Gpu

MAX_STEPS = 100_000
"""Steps for all of a program together; about a third of a second."""
MIN_STEPS = 4_000
"""Steps that every entry point may take, however many the others took."""
_RECURSION_LIMIT = 6000


def collect_launches(
    program: ir.Program, gpu: Gpu, pins: dict[str, int | float]
) -> tuple[LaunchInstance, ...]:
    """Every launch the host code reaches, in the order of running; `pins` are values by variable name."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION_LIMIT))  # deeply nested code must not look like no code
    try:
        return _collect(program, gpu, pins)
    except RecursionError:
        return ()
    finally:
        sys.setrecursionlimit(limit)


def _collect(program: ir.Program, gpu: Gpu, pins: dict[str, int | float]) -> tuple[LaunchInstance, ...]:
    graph = CallGraph(program)
    relevance = relevance_of(program, graph)
    memory = Memory(pins)
    instances: list[LaunchInstance] = []
    interpreter = Interpreter(graph, relevance, memory, gpu, MAX_STEPS)
    for variable in program.globals:
        storage = memory.declare_global(variable)
        if variable.initializer is not None:
            try:
                memory.write(storage, 0, interpreter.evaluate(variable.initializer), variable.type)
            except (BudgetExceededError, RecursionError):
                break
    start = memory.mark()
    seen: set[ir.LaunchCall] = set()
    left = MAX_STEPS
    for function in graph.roots():
        if function.name != "main" and graph.launches_from(function) <= seen:
            continue
        interpreter = Interpreter(graph, relevance, memory, gpu, max(MIN_STEPS, left))
        interpreter.mark_seen(seen)
        try:
            interpreter.run(function)
        except (BudgetExceededError, RecursionError):
            del memory.frames[1:]
        left = interpreter.steps_left
        instances.extend(interpreter.instances)
        seen.update(instance.node for instance in interpreter.instances)
        # What `main` leaves in file-scope variables is what callbacks find there.
        if function.name == "main":
            start = memory.mark()
        memory.roll_back(start)
    return tuple(instances)
