"""A small interpreter of host code that collects kernel launches: entry points, calls and launches.

It walks host functions in the order they would run, with what is known: expressions by `evaluator`,
statements by `control_flow`, loops by `host_loops`. Steps are bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cmp_to_key

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.project.runs import ProgramArguments
from wattslice.launches import host_api
from wattslice.launches.algorithms import algorithm_call, split_call
from wattslice.launches.call_graph import CallGraph, Source, member_at, read_by_condition
from wattslice.launches.command_line import (
    BITS,
    MOST_IN_ONE,
    NO_NUMBER,
    READS_ARGV,
    THROWN,
    TOO_LONG,
    main_arguments,
    may_throw,
    perhaps_thrown,
    text_call,
    text_of,
)
from wattslice.launches.containers import (
    MOST_MOVED,
    constructed_vector,
    container_call,
    elements,
    is_vector,
    store_elements,
)
from wattslice.launches.control_flow import LeftError, uncounted
from wattslice.launches.data_files import READS_FILES, DataFiles
from wattslice.launches.evaluator import LEFT, BudgetExceededError
from wattslice.launches.host_api import library_call
from wattslice.launches.host_loops import HostLoops
from wattslice.launches.instances import AssumedVariable, LaunchInstance
from wattslice.launches.keyed import is_keyed, keyed_call
from wattslice.launches.launch import ConstantValue
from wattslice.launches.memory import (
    MOST_ARGC,
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
    is_length,
    is_text_object,
    offset_of,
    places_of,
    truth,
    without_argc,
    without_course,
)
from wattslice.launches.relevance import Relevance
from wattslice.launches.tensors import given_scalar, is_check, name_tensors, note_check, tensor_call
from wattslice_models.gpu import Gpu

MAX_CALL_DEPTH = 12
MAX_RECURSION_DEPTH = 40
_MOST_RUNS = 6
"""Of a closure that may be called any number of times, until all is unknown that it changes."""
_NO_PLACE = Unknown("a value without a name")
_OF_A_GRAPH = Unknown("how often a graph is launched")
_CAPTURED = Unknown("it is part of a graph: how often that is launched is not followed")
_GUESS = Unknown("it is launched through a pointer whose value is unknown")
_OF_A_THREAD = Unknown("a variable of which each thread has its own")
_ONLY_HANDS_ON = ("operator=", "move", "forward", "swap", "exchange")
"""Functions of the library that call nothing of what they are given."""
_SWAP, _EXCHANGE = "_ZSt4swap", "_ZSt8exchange"
_DECIDING = {"find_if": True, "any_of": True, "all_of": False, "none_of": True}
"""Algorithms that end with the first element of which a function says this."""
_WITH_ELEMENTS = (
    *("for_each", "max_element", "min_element", "sort", "stable_sort", "count_if", "remove_if"),
    *_DECIDING,
)
_MOST_SORTED = 64
_SCALARS = (ir.TypeKind.INT, ir.TypeKind.FLOAT, ir.TypeKind.POINTER)
_ADDRESS = ir.Type(ir.TypeKind.POINTER, bits=64)


class Interpreter(HostLoops):
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
        *,
        knows_argc: bool = True,
    ) -> None:
        super().__init__(graph, relevance, memory, gpu, budget)
        self._knows_argc = knows_argc
        self._files = files
        self._given = given
        self._dependence = graph.dependence
        self.is_main_cut = False  # `main` was not followed to its end
        self._is_captured = False  # into a graph, which is launched some other time
        self._open_nodes: dict[Storage, tuple[int, ir.Span]] = {}  # of graphs that nothing has taken yet
        self._path: list[ir.Call] = []
        self._written_by_kernels: dict[Pointer, None] = {}

    # ------------------------------------------------------------------------- entry points

    def _lacking_callers(self, function: ir.Function) -> str:
        """Why nobody tells the arguments of an entry point; with `main` the program was looked through."""
        if function.copied is not None:
            return "whose calls are not followed"
        if function not in self._graph.uncalled:
            where = "behind more steps than are" if self.is_main_cut else "where the host code is not"
            return f"which is called only {where} followed"
        has_main = any(function.name == "main" for function in self._graph.functions)
        return "which nothing that was read calls" if has_main else "whose callers are not in this file"

    def run(self, function: ir.Function) -> None:
        """Interpret a function as an entry point: nothing is known of its parameters."""
        where = (
            "given on the command line"
            if function.name == "main"
            else f"a parameter of {function.told}, {self._lacking_callers(function)}"
        )
        self.memory.frames.append({})
        for parameter, default in zip(function.parameters, _defaults(function), strict=True):
            storage = self.memory.declare(parameter)
            is_option = function.name == "main" or parameter.name in ("argc", "argv")
            least = 1 if function.name == "main" and parameter.type.is_integral else None
            is_argc = is_option and parameter.type.is_integral and self._knows_argc
            every = tuple(range(1, MOST_ARGC + 1)) if is_argc else ()
            is_told = is_option and self._knows_argc
            value: Value = Unknown(where, is_option=is_told, least=least, by_argc=every)
            if default is not None:
                value = self.evaluate(default)
            elif not is_option:
                value = given_scalar(function, parameter) or value
                value = self.memory.behind(parameter, Unknown(f"part of {where}")) or value
            if parameter in function.reference_parameters:
                storage.class_name = ""  # or of one that derives from it
            self.memory.write(storage, 0, value, parameter.type)
            name_tensors(self.memory, Pointer(storage, 0), parameter.type)
        if function.name == "main" and self._given is not None:
            for parameter, value in zip(function.parameters, main_arguments(self._given), strict=False):
                self.memory.write(self.memory.storage(parameter), 0, value, parameter.type)
        if function.name == "main":
            self.memory.write(self.memory.global_named("optind"), 0, 1, ir.INT32)
        self._around, self._doubt, self._is_captured, self._teams = [], None, False, 0
        self._argc = self._least_argc = 1
        is_called_back = function.name != "main" and function not in self._graph.unused
        around = self._in_thread(is_known=False) if is_called_back else nullcontext()
        with suppress(LeftError), around:
            self._body(function)
        if function.name == "main":
            self._destroy_at_exit()
        self.memory.frames.pop()

    def _destroy_at_exit(self) -> None:
        """Run the destructors of globals and static variables, the last made first; one of what is made
        perhaps perhaps.
        """
        for (_, this), (node, times) in reversed(self.memory.at_exit.items()):
            function, mark = self._graph.callee(node), self.memory.mark()
            self._times = times
            if function is not None:
                with suppress(LeftError):
                    self._run(function, node, node.arguments, (this,))
                if isinstance(times, Unknown):
                    self.memory.roll_back(mark)
                    self._forget_named(function, times)

    def _destroy_perhaps(self, function: ir.Function, this: Pointer) -> None:
        node = ir.Call(function.mangled_name, function.name, (), ir.UNKNOWN_TYPE, function.span)
        mark, times = self.memory.mark(), self._times
        self._times = Unknown(f"{function.told} launches it, which is run as something is thrown, or not")
        with suppress(LeftError):
            self._run(function, node, (), (this,))
        self._times = times
        self.memory.roll_back(mark)

    def run_before_main(self) -> None:
        """Give file-scope variables the values that functions and constructors compute."""
        for function in self._graph.initial:
            try:
                self.run(function)
            except (BudgetExceededError, RecursionError):
                del self.memory.frames[1:]
                self._forget_named(function, Unknown("set before main()"))

    def forget_written_by(self, main: ir.Function) -> None:
        """What `main` may write is lost, as it is not followed to its end: other functions meet that."""
        self._forget_named(main, Unknown(f"set in {main.name}(), which takes more steps than are followed"))

    def others_may_have_run(self, entry: ir.Function) -> None:
        """What other entry points write is lost: whoever uses this library may have called them before."""
        for variable, writers in self._graph.written_by_entries.items():
            other = next((writer for writer in reversed(writers) if writer is not entry), None)
            if other is not None:
                told = f"perhaps set in {other.name}(), which nothing that was read calls"
                self._forget_variable(variable, Unknown(told, may_stay=True))

    # ------------------------------------------------------------------------- launches and calls

    def launch(self, node: ir.LaunchCall) -> None:
        """Record the launch in the present state, of the kernel that its pointer holds if it has one.

        Of a pointer that is not known: of every kernel that is used as a value and takes so many arguments.
        Of one that is: perhaps also of the others that it can hold.
        """
        self._seen.add(node)
        times = self._times
        if self._doubt is not None:
            times = uncounted("behind a jump whose condition is not known", self._doubted)
        if self._is_captured:
            times = _CAPTURED
        shared = 0 if node.shared_bytes is None else self.evaluate(node.shared_bytes)
        grid, block = self.last_first((node.grid, node.block))
        arguments = self.last_first(node.arguments)
        assumed = tuple(self._assumed_argc((grid, block, shared), is_of_geometry=True))
        assumed = assumed or tuple(self._assumed_argc(arguments, is_of_geometry=False))
        assumed += tuple(self._assumed_on_the_way(node))
        grid, block, shared = map(self._with_argc, (grid, block, shared))
        arguments = tuple(map(self._with_argc, arguments))
        held = "" if node.function is None else self.evaluate(node.function)
        is_guess = not isinstance(held, str)
        names = self._candidates(node, held) if is_guess else (held,)
        others = () if is_guess or node.packed is not None else self._alike(node, held)
        for name in (*names, *others):
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
                    not self._speculating and name not in others,
                    self._unknown_loops > 0,
                    self._constant_values(),
                    tuple(self._captured(given)),
                    is_guess,
                    name in others,
                    name,
                    assumed=assumed,
                    files=tuple(self._files.names),
                    is_as_written=name not in others
                    and not self._dependence.geometry_depends_on(node, self._hinges()),
                    times=_GUESS if is_guess else times,
                    argc=self._argc,
                    passed=tuple(self.memory.passed.items()),
                )
            )

        self._forget_written(node, names, arguments)

    def _assumed_on_the_way(self, node: ir.LaunchCall) -> Iterator[AssumedVariable]:
        """What grid and block are computed from that was supposed, so that the launch is come to."""
        for one in self.supposed:
            own = frozenset({one.variable})
            depends = self._dependence.geometry_depends_on
            if depends(node, own) and not depends(node, own, one.follow):
                reason = f"another than {one.value} with the values read or assumed"
                yield AssumedVariable(one.variable.name, one.value, reason, is_supposed=True)

    def _with_argc(self, value: Value) -> Value:
        """A value with what follows from argc in the run at hand."""
        if isinstance(value, Record):
            return Record({key: self._with_argc(cell) for key, cell in value.cells.items()})
        known = value.at(self._argc) if isinstance(value, Unknown) else None
        return value if known is None else known

    def _assumed_argc(self, values: Iterable[Value], *, is_of_geometry: bool) -> Iterator[AssumedVariable]:
        """That argc is assumed, where one of these values follows from it."""
        cells = (c for v in values for c in (v.cells.values() if isinstance(v, Record) else (v,)))
        why = next((c for c in cells if isinstance(c, Unknown) and c.at(self._argc) is not None), None)
        if why is not None:
            yield AssumedVariable(why.variable or "argc", self._argc, why.reason, is_of_geometry)

    def _forget_written(
        self, node: ir.LaunchCall, kernels: Iterable[str], arguments: tuple[Value, ...]
    ) -> None:
        """What one of `kernels` may write: all that its arguments reach, and what it has by its own name.

        An address that is not known is none of a variable of the host: kernels do not reach these.
        """
        why = Unknown(f"what {node.kernel_name or 'a kernel'} may have written")
        cells = (c for v in arguments for c in (v.cells.values() if isinstance(v, Record) else (v,)))
        reached = {cell.storage for cell in cells if isinstance(cell, Pointer)}
        reached |= {self.memory.address(variable).storage for variable in self._graph.managed}
        written = {
            pointer: None
            for pointer in host_api.reached(arguments, everything=True)
            if pointer.storage in reached or not pointer.storage.is_named
        }
        if self._graph.managed:
            for name in kernels:
                named = self._graph.written_on_the_device(name or node.kernel or node.kernel_name)
                places = (self.memory.address(v) for v in self._graph.managed if v in named)
                written.update(dict.fromkeys(places))
        for pointer in written:
            self.memory.forget_behind(pointer, why)
        self._written_by_kernels |= written

    def forget_escaped(self, place: ir.MemoryPlace, why: Unknown) -> None:
        """Numbers of this kind in variables whose addresses somebody keeps are unknown; a member of an
        object is no variable by itself.
        """
        type_, is_member = place.type, member_at(place) is not None
        kind = {ir.TypeKind.INT: int, ir.TypeKind.FLOAT: float, ir.TypeKind.POINTER: Pointer}.get(type_.kind)
        if kind is None or type_.bits == 8:  # texts, whose numbers decide little
            return
        every = (v for v in self._relevance.escaped if not (is_member and v.type.kind in _SCALARS))
        escaped = (where for one in every for where in self.memory.places_named(one))
        for storage in (*escaped, *self.memory.given):
            for key, value in tuple(storage.cells.items()):
                if isinstance(value, kind) and not is_length(key):
                    self.memory.set_cell(storage, key, why)

    def _graph_node(self, node: ir.Call, arguments: tuple[Value, ...]) -> Unknown:
        """A node gets the launch that comes next; what it had before is never run if nothing has taken it."""
        where = arguments[0] if arguments else None
        is_run = self._times == 1 and self._doubt is None and not self._speculating
        if isinstance(where, Pointer) and node.callee.startswith("cudaGraphAdd"):
            fresh = host_api.fresh_memory(ir.GRAPH_NODE)
            self.memory.write(where.storage, where.offset, fresh, _ADDRESS)
            where = fresh
        if isinstance(where, Pointer) and is_run:
            at, span = self._open_nodes.get(where.storage, (len(self.instances), node.span))
            before = self.instances[at] if at < len(self.instances) else None
            if before is not None and before.node.span == span and not before.is_guess:
                self.instances[at] = replace(before, is_replaced=True)
            self._open_nodes[where.storage] = len(self.instances), node.span
        return _OF_A_GRAPH

    def _captured(self, arguments: tuple[Value, ...]) -> Iterator[tuple[ir.Variable, int | float]]:
        for argument in arguments:
            for cell in argument.cells.values() if isinstance(argument, Record) else (argument,):
                function = self._graph.named(cell.function) if isinstance(cell, Closure) else None
                for variable in () if function is None else function.copied or ():
                    known = cell.frame.get(variable) if isinstance(cell, Closure) else None
                    value = None if known is None else self.memory.read(known, 0, variable.type)
                    if isinstance(value, (int, float)):
                        yield variable, value

    def _candidates(self, node: ir.LaunchCall, held: Value) -> tuple[str, ...]:
        perhaps = held.names if isinstance(held, Unknown) else ()
        if named := tuple(name for name in perhaps if name in self._graph.kernels):
            return named
        known = self._graph.kernels_as_values
        given = None if node.packed is not None else len(node.arguments)
        return tuple(name for name, number in known.items() if given is None or number == given)

    def _alike(self, node: ir.LaunchCall, kernel: str) -> tuple[str, ...]:
        """Other kernels that are used as values and have parameters of the same types; none where the pointer
        holds this one wherever it is run.
        """
        pointer = None if node.function is None else ir.read_variable(node.function)
        if kernel not in (known := self._graph.kernels_as_values) or pointer in self._graph.fixed_names:
            return ()
        types = [parameter.type for parameter in self._graph.kernels[kernel].parameters]
        others = (name for name in known if name != kernel)
        return tuple(n for n in others if [p.type for p in self._graph.kernels[n].parameters] == types)

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

    @contextmanager
    def _in_thread(self, *, is_known: bool) -> Generator[None]:
        """Code of another thread, with variables of its own as they begin; of which, nobody may know."""
        kept = self.memory.take_of_thread()
        for variable in kept:
            if variable.role is not ir.VariableRole.FILE_SCOPE and is_known:
                continue
            storage = self.memory.storage(variable)
            if not is_known or variable in self._graph.set_before_main:
                self.memory.forget(storage, _OF_A_THREAD)
            elif variable.initializer is not None:
                self.memory.write(storage, 0, self.evaluate(variable.initializer), variable.type)
        try:
            yield
        finally:
            self.memory.give_of_thread(kept)

    def call(self, node: ir.Call, arguments: tuple[Value, ...]) -> Value:
        """Value of a call, which another thread makes or this one."""
        if node.function is None or node.name not in host_api.ON_A_THREAD:
            return self._called(node, arguments)
        with self._in_thread(is_known=node.name != "async"):
            return self._called(node, arguments)

    def _called(self, node: ir.Call, arguments: tuple[Value, ...]) -> Value:
        """Follow functions of the program; know a few of the library; forget what others may write."""
        if node.name == ir.CAUGHT and isinstance(arguments[0], str):
            return self._caught(arguments[0])
        if node.name == ir.HANDLE:
            return self._handle()
        if node.name == ir.AT_EXIT:
            if not self._speculating and isinstance(arguments[0], Pointer):
                times = self._times if isinstance(self._times, Unknown) else 1
                self.memory.at_exit.setdefault((node.callee, arguments[0]), (node, times))
            return 0
        if node.name == ir.CAST_DOWN:
            return _cast_down(*arguments)
        if node.name == ir.THROW:
            names = arguments[0] if arguments else ""
            self._throw(names if isinstance(names, str) else "", arguments[1] if len(arguments) > 1 else None)
        if node.name == ir.TEAM and len(arguments) > 1:
            number, is_nesting = arguments
            self._teams += 1
            if number != 1:
                self.memory.forget_of_thread(_OF_A_THREAD)
            if self._teams == 1:
                return number
            return Unknown("the threads of a region within another") if is_nesting else 1
        if node.name == ir.TEAM_END:
            self._teams -= 1
            return 0
        if host_api.ends(node):
            self._ended_at = node.span
            raise LeftError(frozenset(), arguments[0] if arguments else None)
        if is_check(node):
            note_check(self.memory, node.arguments[0], self.evaluate)
        if node.name == ir.GRAPH_NODE:
            return self._graph_node(node, arguments)
        if host_api.takes_a_graph(node):
            self._open_nodes.clear()
        if node.name in host_api.RUNS_A_GRAPH:
            for pointer in self._written_by_kernels:
                self.memory.forget_behind(pointer, Unknown("what kernels of a graph may have written"))
        if node.name in host_api.CAPTURES:
            self._is_captured = host_api.CAPTURES[node.name]
        function, is_told = self._graph.callee(node), True
        if node.is_virtual:
            run = self._overrider(node, arguments)
            function, is_told = self._graph.named(run), bool(run)
        if node.function is not None:
            name = self.evaluate(node.function)
            if isinstance(name, Closure):
                return self._run_closure(name, node, node.arguments, arguments)
            is_told = isinstance(name, str)
            function = self._graph.named(name) if isinstance(name, str) else None
        elif node.name == "operator()" and arguments:
            held = self._held(arguments[0])
            if isinstance(held, Closure):
                return self._run_closure(held, node, node.arguments[1:], arguments[1:])
            if isinstance(held, str) and (called := self._graph.named(held)) is not None:
                if not self._may_follow(called, arguments[1:]):
                    self._lose_references(called, node.arguments[1:])
                    return self._not_followed((called,))
                return self._run(called, node, node.arguments[1:], arguments[1:])
            is_told = False
        if function is None and not is_told:
            self._not_followed(self._graph.callees(node))
        if function in self._relevance.unfollowed:
            return Unknown(f"the result of {node.name}()")
        if node.name in READS_ARGV or node.name in READS_FILES:
            function = None
        if function is not None and self._may_follow(function, arguments):
            return self._run(function, node, node.arguments, arguments)
        if function is not None:
            self._not_followed((function,))
            self._lose_references(function, node.arguments)
        value = without_argc(self._of_a_library(node, arguments, is_read=function is not None))
        if isinstance(value, Unknown) and (doubt := self._graph.in_doubt.get(node.callee)) is not None:
            value = replace(value, reason=f"the result of {node.name}(), {doubt}")
        value = value if host_api.keeps_order(node.name) else without_course(value)
        self._throw_if_so(value)
        return value

    def _of_a_library(self, node: ir.Call, arguments: tuple[Value, ...], *, is_read: bool) -> Value:
        """Know a few functions of the library, by their names where the text of none was read; forget what
        others may write.
        """
        if not is_read and node.function is None and not node.is_virtual:
            if node.callee.startswith((_SWAP, _EXCHANGE)) and self._exchanged(node, arguments):
                return arguments[0]
            if node.name == "move" and len(arguments) == 1 and isinstance(node.arguments[0], ir.Load):
                self._moved_from(node.arguments[0])
            if (found := self._calls_with_elements(node, arguments)) is not None:
                return found
            for known in (text_call, tensor_call, self._files.call, algorithm_call, split_call):
                if (value := known(self.memory, node, arguments)) is not None:
                    self._budget += self._files.steps_for_reading()
                    return value
        found = host_api.limit_of(node)
        found = host_api.mathematics(node.name, arguments) if found is None else found
        if found is not None and not node.is_of_program:
            return found
        if (constant := host_api.without_options(node.name)) is not None:
            return constant
        for container in () if node.is_of_program else (container_call, keyed_call):
            if (element := container(self.memory, node, arguments)) is not None:
                is_lost = isinstance(element, Unknown) and element.is_anywhere
                if is_lost or any(isinstance(index, Unknown) for index in arguments[1:]):
                    self._perhaps_throws(node, element)
                return element
        if (
            node.function is not None and node.name in host_api.ON_A_THREAD
        ):  # of one that nobody reads: std::ref(x) lets it write x
            for argument in node.arguments:
                where = self._named_place(argument)
                for perhaps in places_of(where):
                    self.memory.forget_behind(perhaps, Unknown(f"set by {node.name}()"))
        if shared := self._graph.written_elsewhere(node):
            why = Unknown(f"perhaps set by {node.name}(), whose text was not read", may_stay=True)
            places = tuple(Pointer(self.memory.storage(variable), 0) for variable in shared)
            for pointer in host_api.reached(places, everything=True):
                self.memory.forget_behind(pointer, why)
            self._not_followed(self._graph.held_by(shared))
        calls = False
        for argument, value in zip(node.arguments, arguments, strict=False):
            calls |= node.name not in _ONLY_HANDS_ON and self._is_called_by_library(argument, value, node)
        value = library_call(self.memory, self.gpu, node, arguments, calls=calls)
        self._perhaps_throws(node, value)
        return value

    def _calls_with_elements(self, node: ir.Call, arguments: tuple[Value, ...]) -> Value | None:
        """What `for_each`, `sort` and `remove_if` do with a closure and a known range; None elsewhere."""
        name = node.name.removeprefix("std::")
        if name not in _WITH_ELEMENTS or not node.callee.startswith("_ZSt") or len(arguments) not in (3, 4):
            return None  # of a closure that has a name its place is told as well
        first, last, held = *arguments[:2], self._held(arguments[2])
        type_ = node.arguments[0].type.element
        if not (isinstance(first, Pointer) and isinstance(last, Pointer) and isinstance(held, Closure)):
            return None
        function = self._graph.named(held.function)
        if function is None or any(parameter.type.name == "dependent" for parameter in function.parameters):
            return None
        size = 0 if type_ is None else type_.size_bytes
        number = (last.offset - first.offset) // (size or 1)
        if type_ is None or not size or first.storage is not last.storage or not 0 <= number <= MOST_MOVED:
            return None
        if not number:  # what it launches is seen
            mark = self.memory.mark()
            self._speculating.append(None)
            self._run_any_times(held, node)
            self._speculating.pop()
            self.memory.roll_back(mark)
        places = [replace(first, offset=first.offset + at * size) for at in range(number)]
        if name == "for_each":
            for place in places:
                self._run_with(held, node, type_, place)
            return Unknown("a function")
        if name in ("sort", "stable_sort"):
            return self._sorted(held, node, type_, places)
        if name in _DECIDING or name.endswith("_if"):
            return self._chosen(held, node, type_, places, last)
        best = first if places else last
        for place in places[1:]:
            pair = (best, place) if name == "max_element" else (place, best)
            is_less = truth(self._run_with(held, node, type_, *pair))
            if is_less is None:
                return None
            best = place if is_less else best
        return best

    def _chosen(
        self, closure: Closure, node: ir.Call, type_: ir.Type, places: list[Pointer], last: Pointer
    ) -> Value | None:
        """What an algorithm gives that asks a closure of each element; None where one is not known."""
        name, chosen = node.name.removeprefix("std::"), list[bool]()
        for place in places:
            holds = truth(self._run_with(closure, node, type_, place))
            if holds is None:
                return None
            if holds is _DECIDING.get(name):
                return place if name.startswith("find") else int(name == "any_of")
            chosen.append(holds)
        if name == "count_if":
            return sum(chosen)
        if name in _DECIDING and not name.startswith("find"):
            return int(name != "any_of")
        if name in _DECIDING or not places:
            return last
        parts = elements(places[0], len(places), type_.size_bytes)
        kept = [part for part, is_removed in zip(parts, chosen, strict=True) if not is_removed]
        store_elements(self.memory, places[0], kept, type_.size_bytes)
        return replace(places[0], offset=places[0].offset + len(kept) * type_.size_bytes)

    def _sorted(self, closure: Closure, node: ir.Call, type_: ir.Type, places: list[Pointer]) -> Value | None:
        """Sort elements; None, and nothing is changed, where their order is not known."""
        if not 0 < len(places) <= _MOST_SORTED:
            return None
        parts = elements(places[0], len(places), type_.size_bytes)
        is_known = True

        def compare(one: int, other: int) -> int:
            nonlocal is_known
            before, behind = (
                truth(self._run_with(closure, node, type_, places[a], places[b])) if is_known else None
                for a, b in ((one, other), (other, one))
            )
            if before is None or behind is None:
                is_known = False
                return 0
            if not before and not behind and "stable" not in node.name:  # whose order the library chooses
                is_known = parts[one] == parts[other]
            return behind - before

        order = sorted(range(len(places)), key=cmp_to_key(compare))
        if not is_known:
            return None
        store_elements(self.memory, places[0], [parts[at] for at in order], type_.size_bytes)
        return Unknown("no value")

    def _run_with(self, closure: Closure, node: ir.Call, type_: ir.Type, *places: Pointer) -> Value:
        """Call a closure with elements, which it may take by reference."""
        elements = [ir.MemoryPlace(node.arguments[0], ir.MemorySpace.HOST, type_, None, 0) for _ in places]
        self.loaded_at.update((id(one), place) for one, place in zip(elements, places, strict=True))
        values = tuple(self.memory.read(place.storage, place.offset, type_) for place in places)
        given = tuple(ir.Load(one, type_, node.span) for one in elements)
        found = self._run_closure(closure, node, given, values)
        for one in elements:
            del self.loaded_at[id(one)]
        return found

    def _perhaps_throws(self, node: ir.Call, value: Value) -> None:
        """What a method of an object that nobody knows may throw, the handlers around may get."""
        if isinstance(self._times, int) and (names := perhaps_thrown(node)):
            self._may_throw(LeftError(frozenset(names.split("|"))), condition_of(value))

    def _is_called_by_library(self, argument: ir.Expr, value: Value, node: ir.Call) -> bool:
        """Whether what a library is given may be a function: it may call it, any number of times."""
        held = self._held(value)
        if isinstance(held, Closure):
            self._run_any_times(held, node)
            return True
        perhaps = self._graph.callable_by(argument)
        if isinstance(held, str):
            perhaps &= {self._graph.named(held)}
        self._not_followed(perhaps)
        return bool(perhaps) or self._graph.names_a_function(argument)

    def _not_followed(
        self, functions: Collection[ir.Function], around: Mapping[ir.Variable, Storage] | None = None
    ) -> Unknown:
        """What functions give that are called nobody knows how often: what they launch is not counted, what
        they may write by names is lost. `around`: what a closure of them names.
        """
        why, lost = Unknown("the result of a function that is not known"), dict[ir.Variable, Unknown]()
        for function in sorted(functions, key=lambda function: function.mangled_name):
            if not self._speculating:
                self.cut.update(self._graph.launches_from(function))
            why = Unknown(f"set in {function.told}, of which not every call is followed", may_stay=True)
            lost |= dict.fromkeys(self._graph.written_by(function), why)
        for variable, told in lost.items():  # once: overriders of a function often write the same
            self._forget_variable(variable, told, (around or {}).get(variable))
        return why

    def _lose_references(self, function: ir.Function, given: tuple[ir.Expr, ...]) -> None:
        """What a function that is not followed gets by reference is lost."""
        why = Unknown(f"set in {function.told}, of which not every call is followed")
        for parameter, argument in zip(function.parameters, given, strict=False):
            named = parameter in function.reference_parameters
            for place in places_of(self._named_place(argument)) if named else ():
                self.memory.forget_behind(place, why)

    def _may_follow(self, function: ir.Function, arguments: tuple[Value, ...]) -> bool:
        """Whether a call is followed; of a function in itself, where its numbers, which end it, are known, or
        the objects that it is called with, as those of a tree.
        """
        if function not in self._active:
            return len(self._active) < MAX_CALL_DEPTH
        pairs = [*zip(function.parameters, arguments, strict=False)]
        ending = [value for parameter, value in pairs if parameter.type.is_integral]
        if not ending and isinstance(self._times, int):
            ending = [value for parameter, value in pairs if parameter.type.kind is ir.TypeKind.POINTER]
        is_known = bool(ending) and all(isinstance(value, (int, Pointer)) for value in ending)
        return is_known and not self._speculating and len(self._active) < MAX_RECURSION_DEPTH

    def _overrider(self, node: ir.Call, arguments: tuple[Value, ...]) -> str:
        """The function that a virtual call runs, which need not be read: by the class of the object, or the
        only one there is; empty where nobody knows.
        """
        every, declared = self._graph.callees(node), dict(node.overriders)
        this = arguments[0] if arguments else None
        name = ""
        if isinstance(this, Pointer) and not this.offset:  # while a base is made or destroyed, it is no more
            made = (class_ for storage, class_ in reversed(self._being_made) if storage is this.storage)
            name = next(made, this.storage.class_name)
        if name in declared:
            return declared[name]
        own = [function.mangled_name for function in every if _class_of(function) == name]
        perhaps = {*declared.values(), *(function.mangled_name for function in every)}
        return own[0] if own else next(iter(perhaps)) if len(perhaps) == 1 else ""

    def text(self, node: ir.Text) -> Value:
        """The text, or the closure of the lambda that it names: it keeps the values that it captures."""
        function = self._graph.named(node.value) if node.type.name == "function" else None
        if function is None or function.copied is None:
            return node.value
        return Closure(node.value, self.memory.frames[-1], function.copied).copy()

    def _held(self, value: Value) -> Value:
        """The closure or the function's name in an object that is called."""
        if isinstance(value, Pointer):
            value = value.storage.cells.get(value.offset, value)
        return value.cells.get(0, value) if isinstance(value, Record) else value

    def _run_closure(
        self, closure: Closure, node: ir.Call, given: tuple[ir.Expr, ...], arguments: tuple[Value, ...]
    ) -> Value:
        function, instance = self._graph.named(closure.function), self._graph.named(node.callee)
        if function is not None and instance is not None and instance.name == function.name:
            function = instance  # of a generic lambda
        if function is None:
            return Unknown("the result of a lambda")
        if not self._may_follow(function, arguments):
            self._lose_references(function, given)
            return self._not_followed((function,), closure.frame)
        return self._run(function, node, given, arguments, closure.frame)

    def _run_any_times(self, closure: Closure, node: ir.Call) -> None:
        """A closure that a library is given: how often that calls it, and with what, nobody knows."""
        times = self._times
        self._times = Unknown(f"nobody knows how often {node.name}() calls what launches it")
        known, seen, lost = len(self.instances), set(self._seen), set[tuple[str, int]]()
        for _ in range(_MOST_RUNS):  # what it is called with again, it has changed
            del self.instances[known:]
            self._seen = set(seen)
            mark = self.memory.mark()
            with nullcontext() if node.callee.startswith("_ZSt") else self._in_thread(is_known=False):
                self._run_closure(closure, node, (), self._given_by(node, closure))
            changes = self.memory.changes_since(mark)
            for cell, value in changes.items():
                why = f"{cell[0].told} changes in what {node.name}() calls"
                self.memory.apply({cell: Unknown(why, around=places_of(value))})
            names = {(storage.name, key) for storage, key in changes}  # each run has variables of its own
            if names <= lost:
                break
            lost |= names
        else:
            if (function := self._graph.named(closure.function)) is not None:
                self._not_followed((function,), closure.frame)
        self._times = times

    def _given_by(self, node: ir.Call, closure: Closure) -> tuple[Value, ...]:
        """What a library calls a closure with."""
        function = self._graph.named(closure.function)
        why = Unknown(f"what {node.name}() calls it with")
        return () if function is None else tuple(why for _ in function.parameters)

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
        self, function: ir.Function, type_: ir.Type, given: tuple[ir.Expr, ...], arguments: tuple[Value, ...]
    ) -> Value:
        frame_of_caller = self.memory.frames[-2]
        defaults = _defaults(function)
        for index, parameter in enumerate(function.parameters):
            value: Value | None = arguments[index] if index < len(arguments) else None
            if value is None:
                default = defaults[index]
                value = Unknown("a missing argument") if default is None else self.evaluate(default)
            if parameter in function.reference_parameters and index < len(given):
                where = value
                if parameter.type.kind is not ir.TypeKind.ARRAY:  # whose value is its address
                    self.memory.frames.append(frame_of_caller)
                    where = self._named_place(given[index])
                    self.memory.frames.pop()
                if isinstance(where, Pointer):
                    self.memory.alias(parameter, where)
                    continue
                for perhaps in places_of(where):
                    self.memory.forget_behind(perhaps, replace(condition_of(where), around=()))
            if index < len(given) and is_vector(parameter.type):  # which braces may make
                made = ir.Construct((given[index],), (), parameter.type, given[index].span)
                value = constructed_vector(made, (value,))
            self.memory.write(self.memory.declare(parameter), 0, value, parameter.type)
        this = arguments[0] if arguments and _makes(function) else None
        if not isinstance(this, Pointer):
            return convert(self._body(function), type_)
        self._being_made.append((this.storage, _class_of(function)))
        try:
            return convert(self._body(function), type_)
        finally:
            self._being_made.pop()

    def constructed(self, node: ir.Construct, values: tuple[Value, ...]) -> Value:
        """The object that a constructor makes, which may throw instead."""
        number = values[0] if values else None
        if isinstance(number, int) and not 0 <= number <= MOST_IN_ONE and may_throw(node):
            self._throw(THROWN[TOO_LONG], None)
        if (
            node.type.name.startswith(BITS)
            and may_throw(node)
            and set(text_of(number or 0) or "?") - set("01")
        ):
            error = LeftError(frozenset(THROWN[NO_NUMBER].split("|")))
            self._may_throw(error, Unknown("bits of a text that may hold others"))
        return super().constructed(node, values)

    def _throw_if_so(self, value: Value) -> None:
        """Throw what a function of a text or container throws instead of giving a value."""
        if isinstance(value, Unknown) and (names := THROWN.get(value)) is not None:
            self._throw(names, None)

    def _moved_from(self, node: ir.Load) -> None:
        """A container in another, or behind a pointer, from which nobody knows what is taken."""
        place, type_ = self._named_place(node), node.type
        if isinstance(place, Pointer) and (is_vector(type_) or is_keyed(type_) or is_text_object(type_)):
            self.memory.write(place.storage, place.offset, Unknown("moved from"), type_)

    def _exchanged(self, node: ir.Call, arguments: tuple[Value, ...]) -> bool:
        """Write two numbers, addresses or containers at the places that are told with them, behind them, or
        one number or address.
        """
        types = [address.type.element or ir.UNKNOWN_TYPE for address in node.arguments[2:]]
        places = [one for one in arguments[2:] if isinstance(one, Pointer)]
        is_swap = node.callee.startswith(_SWAP)
        is_known = all(
            (type_.kind in _SCALARS and type_.lanes == 1)
            or (is_swap and (is_vector(type_) or is_keyed(type_) or is_text_object(type_)))
            for type_ in types
        )
        if not len(types) == len(places) == 1 + is_swap or not is_known:
            return False
        for place, value, type_ in zip(places, (arguments[1], arguments[0]), types, strict=False):
            self.memory.write(place.storage, place.offset, value, type_)
        return True

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
        argc = self._argc
        try:
            result = self.returned_by(function.body)
        finally:
            self._active.pop()
            self._argc = max(argc, self._least_argc)
        return Unknown(f"the result of {function.name}()") if result is None else result

    def evaluate_perhaps(self, node: ir.Expr, condition: Unknown) -> tuple[Value, Delta]:
        """Value of an expression that a condition nobody knows decides on, and what it changes, undone.

        `LEFT` of one behind which nothing goes on.
        """
        mark, times = self.memory.mark(), self._times
        is_in_graph = condition is _OF_A_GRAPH
        why = uncounted("in an expression whose condition is not known", condition)
        self._times = _CAPTURED if is_in_graph else why
        try:
            value = self.evaluate(node)
        except LeftError as error:
            value = LEFT
            self._left_perhaps(error, mark, condition)
            self._ended_perhaps(self._status, condition)
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


def _makes(function: ir.Function) -> bool:
    """Whether a function is a constructor or a destructor."""
    parameters = function.parameters
    if not parameters or parameters[0].name != "this":
        return False
    class_ = _class_of(function).partition("<")[0].split("::")[-1]
    return function.name.partition("<")[0].removeprefix("~") == class_


def _class_of(method: ir.Function) -> str:
    element = method.parameters[0].type.element
    return "" if element is None else element.name


def _cast_down(address: Value, able: Value, every: Value) -> Value:
    """A `dynamic_cast` of a pointer to one of the classes `able`, of `every` that is known; 0: of none."""
    if not isinstance(address, Pointer) or not isinstance(able, str) or not isinstance(every, str):
        return address
    name = "" if address.offset else address.storage.class_name
    if name in able.split("|"):
        return address
    return 0 if name in every.split("|") else Unknown("a dynamic_cast", around=places_of(address))


def _defaults(function: ir.Function) -> tuple[ir.Expr | None, ...]:
    missing = len(function.parameters) - len(function.default_arguments)
    return (*function.default_arguments, *(None for _ in range(missing)))
