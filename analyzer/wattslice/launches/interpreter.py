"""A small interpreter of host code that collects kernel launches: entry points, calls and launches.

It walks host functions in the order they would run, with what is known. Where a condition is unknown
both ways are tried and joined (`Memory.merge`): options of the command line count as not given; what else
decides leaves unknown what the ways do not agree on. A way that leaves the function does not count. Arms
that would not run are still visited for launches nothing else reaches, without lasting effect. Long counted
loops are visited at their first, middle and last iteration. Steps are bounded.
"""

from __future__ import annotations

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.dependence import HostDependence
from wattslice.launches.library import library_call
from wattslice.launches.loops import LoopRunner
from wattslice.launches.memory import Frame, Memory
from wattslice.launches.relevance import Relevance
from wattslice.launches.statements import LaunchInstance
from wattslice.launches.types import ConstantValue
from wattslice.launches.values import Storage, Unknown, Value, convert
from wattslice_models.gpu import Gpu

MAX_CALL_DEPTH = 12


class Interpreter(LoopRunner):
    """Runs host functions symbolically and gathers `instances`."""

    def __init__(self, graph: CallGraph, relevance: Relevance, memory: Memory, gpu: Gpu, budget: int) -> None:
        super().__init__(graph, relevance, memory, gpu, budget)
        self._dependence = HostDependence(graph)
        self._path: list[ir.Call] = []
        self._active: list[ir.Function] = []

    def run(self, function: ir.Function) -> None:
        """Interpret a function as an entry point: nothing is known of its parameters."""
        where = (
            "given on the command line"
            if function.name == "main"
            else (f"a parameter of {function.name}(), whose callers are not in this file")
        )
        self.memory.frames.append({})
        for parameter, default in zip(function.parameters, _defaults(function), strict=True):
            storage = self.memory.declare(parameter)
            is_option = function.name == "main" or parameter.name in ("argc", "argv")
            value = Unknown(where, is_option=is_option) if default is None else self.evaluate(default)
            self.memory.write(storage, 0, value, parameter.type)
        self._body(function)
        self.memory.frames.pop()

    # ------------------------------------------------------------------------- launches and calls

    def launch(self, node: ir.LaunchCall) -> None:
        """Record the launch in the present state, unless its pointer holds another kernel."""
        held = None if node.function is None else self.evaluate(node.function)
        if isinstance(held, str) and held != node.kernel_name:
            return
        self._seen.add(node)
        shared = 0 if node.shared_bytes is None else self.evaluate(node.shared_bytes)
        self.instances.append(
            LaunchInstance(
                node,
                tuple(self._path),
                self.evaluate(node.grid),
                self.evaluate(node.block),
                shared,
                tuple(self.evaluate(argument) for argument in node.arguments),
                not self._speculating,
                self._unknown_loops > 0,
                self._constant_values(),
                is_as_written=not self._dependence.geometry_depends_on(node, self._hinges()),
            )
        )

    def _hinges(self) -> frozenset[ir.Variable]:
        """Variables that decide whether the code being visited is run at all."""
        return frozenset(
            node.place.variable
            for condition in self._speculating
            if condition is not None
            for node in ir.walk_expressions(condition)
            if isinstance(node, ir.Read)
        )

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
        function = self._graph.callee(node)
        if node.function is not None:
            name = self.evaluate(node.function)
            function = self._graph.named(name) if isinstance(name, str) else None
        if function in self._relevance.unfollowed:
            return Unknown(f"the result of {node.name}()")
        if function is not None and len(self._active) < MAX_CALL_DEPTH and function not in self._active:
            self._path.append(node)
            value = self._follow(function, node, arguments)
            self._path.pop()
            return value
        found = host_api.mathematics(node.name, arguments)
        if found is not None:
            return found
        if (constant := host_api.without_options(node.name)) is not None:
            return constant
        return library_call(self.memory, self.gpu, node, arguments)

    def _follow(self, function: ir.Function, node: ir.Call, arguments: tuple[Value, ...]) -> Value:
        frame_of_caller = self.memory.frames[-1]
        self.memory.frames.append({})
        defaults = _defaults(function)
        for index, parameter in enumerate(function.parameters):
            value: Value | None = arguments[index] if index < len(arguments) else None
            if value is None:
                default = defaults[index]
                value = Unknown("a missing argument") if default is None else self.evaluate(default)
            if parameter in function.reference_parameters and index < len(node.arguments):
                storage = self._named_storage(node.arguments[index], frame_of_caller)
                if storage is not None:
                    self.memory.alias(parameter, storage)
                    continue
            self.memory.write(self.memory.declare(parameter), 0, value, parameter.type)
        depth, self._loop_depth = self._loop_depth, 0
        result = self._body(function)
        self._loop_depth = depth
        self.memory.frames.pop()
        assert self.memory.frames[-1] is frame_of_caller
        return convert(result, node.type)

    def _named_storage(self, argument: ir.Expr, frame: Frame) -> Storage | None:
        """The storage of a whole variable of the caller that is passed by reference."""
        if not isinstance(argument, ir.Read) or argument.place.path:
            return None
        callee = self.memory.frames.pop()
        assert self.memory.frames[-1] is frame
        storage = self.memory.storage(argument.place.variable)
        self.memory.frames.append(callee)
        return storage

    def _body(self, function: ir.Function) -> Value:
        self._active.append(function)
        result = self.returned_by(function.body)
        self._active.pop()
        return Unknown(f"the result of {function.name}()") if result is None else result

    def inlined(self, node: ir.InlinedCall, arguments: tuple[Value, ...]) -> Value:
        """Follow a call the frontend inlined."""
        for parameter, value in zip(node.parameters, arguments, strict=False):
            self.memory.write(self.memory.declare(parameter), 0, value, parameter.type)
        result = self.returned_by(node.body)
        return Unknown(f"the result of {node.name}()") if result is None else convert(result, node.type)


def _defaults(function: ir.Function) -> tuple[ir.Expr | None, ...]:
    missing = len(function.parameters) - len(function.default_arguments)
    return (*function.default_arguments, *(None for _ in range(missing)))
