"""Which host functions call which, and which launches a statement may reach."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import PurePath

from msgspec import Struct

from wattslice import ir
from wattslice.frontend.neighbours import HEADERS
from wattslice.launches import host_api
from wattslice.launches.command_line import may_throw
from wattslice.patterns import regex

OUTLIVING = (ir.VariableRole.STATIC_LOCAL, ir.VariableRole.FILE_SCOPE)
"""What variables are that keep their values between calls."""


def _telling(stmt: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions below a statement that launch, call or may name a function."""
    kinds = (ir.LaunchCall, ir.Call, ir.Text)
    return tuple(expr for expr in ir.expressions_below(stmt) if isinstance(expr, kinds))


class CallGraph:
    """Functions by the names calls use, and the launch sites within reach of statements."""

    def __init__(self, program: ir.Program) -> None:
        self._globals = program.globals
        self._has_children = any(d.message == ir.DEVICE_LAUNCH for d in program.diagnostics)
        self._written_by_kernels: dict[str, Collection[ir.Variable]] = {}
        self.kernels = {name: k for k in program.kernels for name in (k.name, k.mangled_name)}
        self._by_name: dict[str, ir.Function] = {}
        for function in program.functions:
            self._by_name.setdefault(_plain_name(function), function)
        for function in program.functions:
            self._by_name[function.mangled_name] = function
        self.functions = program.functions
        self.in_doubt = program.in_doubt
        self._tell: dict[ir.Stmt, tuple[ir.Expr, ...]] = {f.body: _telling(f.body) for f in program.functions}
        self._pointed_at = self._functions_as_values()
        self._direct: dict[ir.Stmt, tuple[frozenset[ir.LaunchCall], frozenset[ir.Function]]] = {}
        self._reachable = self._close()
        self._named: dict[ir.Function, tuple[frozenset[ir.Variable], frozenset[ir.Variable]]] = {}
        self._written: dict[ir.Function, frozenset[ir.Variable]] = {}

    @cached_property
    def dependence(self) -> HostDependence:
        """What is computed from what."""
        return HostDependence(self)

    def callee(self, node: ir.Call) -> ir.Function | None:
        """The function of this program that a call runs."""
        found = self._by_name.get(node.callee)
        if node.name == "operator()" or (found is not None and node.callee != node.name):
            return found
        if node.callee.startswith(_OF_THE_LIBRARY):
            return None  # length() of a std::string is no function of that name in this program
        found = self._by_name.get(f"{node.name}@{node.span.file}", self._by_name.get(node.name))
        if found is not None and _is_known(node) and not _may_be_instance(found, node):
            return None  # which was only declared where it is called: the linker finds it by its whole name
        if found is not None and found.scope and not _is_known(node) and found.mangled_name != node.callee:
            return None  # its name alone, which nothing declares, means none in a namespace or class
        if found is not None and any(map(_is_of_vectors, found.parameters, node.arguments)):
            return None  # min of two ints is none of helper_math.h
        if found is not None and _is_other_overload(found, node):
            return None
        if found is not None and not _may_be_of_its_class(found, node):
            return None  # size() of a list is none of a class of this program
        if found is not None and _is_known(node):
            missing = found.default_arguments[len(node.arguments) :]
            if len(node.arguments) > len(found.parameters) or None in missing:
                return None  # another overload, or another method of that name
        return found

    @cached_property
    def managed(self) -> tuple[ir.Variable, ...]:
        """Variables of the device, which the host reads where they are managed."""
        return tuple(v for v in self._globals if v.space is ir.MemorySpace.GLOBAL)

    @cached_property
    def shared(self) -> tuple[ir.Variable, ...]:
        """Variables of the host at file scope that other files may name and set."""
        of_the_host = (v for v in self._globals if v.space is ir.MemorySpace.HOST and not v.is_constant)
        return tuple(v for v in of_the_host if v.linked_as is not None and v.name not in _OF_GETOPT)

    @cached_property
    def exported(self) -> tuple[ir.Variable, ...]:
        """Those of them that are declared for other files."""
        return tuple(variable for variable in self.shared if variable.is_exported)

    @cached_property
    def given_out(self) -> tuple[ir.Variable, ...]:
        """Static variables of functions that give a reference to them to whoever calls them, in other files
        as well.
        """
        getters = (f for f in self.functions if not _OF_ONE_FILE.search(f.mangled_name))
        returned = (s.value for f in getters for s in ir.walk_statements(f.body) if isinstance(s, ir.Return))
        named = (value.variable for value in returned if isinstance(value, ir.AddressOf))
        return tuple(v for v in named if v.role is ir.VariableRole.STATIC_LOCAL and not v.is_constant)

    @cached_property
    def leaving(self) -> tuple[ir.Call, ...]:
        """Calls that run a function which another file of the program defines, which nobody read."""
        every = (expr for told in self._tell.values() for expr in told if isinstance(expr, ir.Call))
        return tuple(call for call in every if call.looked_at is not None and self.callee(call) is None)

    def written_on_the_device(self, kernel: str) -> Collection[ir.Variable]:
        """Variables of the device that a kernel may write by name: all where its text does not tell."""
        known = self._written_by_kernels.get(kernel)
        if known is None:
            found = self.kernels.get(kernel)
            known = None if found is None or self._has_children else _written_by_name(found)
            known = self._written_by_kernels[kernel] = self.managed if known is None else known
        return known

    def written_elsewhere(self, node: ir.Call) -> tuple[ir.Variable, ...]:
        """The shared variables that the function may write which a call runs, where nobody has read it.

        Of one that a header declares those that are declared for other files: where another file has its own
        declaration of one, that file is looked for.
        """
        is_followed = host_api.is_known(node) or self.callee(node) is not None
        if not node.is_elsewhere or is_followed or host_api.keeps_its_arguments(node):
            return ()
        return (*(self.exported if node.has_header else self.shared), *self.given_out)

    def globals_named(self, name: str) -> Iterator[ir.Variable]:
        """Variables at file scope by this name, as `optind` of the library."""
        return (variable for variable in self._globals if variable.name == name)

    def flags(self) -> Iterator[ir.Variable]:
        """Variables at file scope that gflags sets."""
        return (variable for variable in self._globals if variable.name.startswith(host_api.FLAGS))

    def named(self, name: str) -> ir.Function | None:
        """The function of this program that a function pointer with this value runs."""
        return self._by_name.get(name)

    def callees(self, node: ir.Call) -> frozenset[ir.Function]:
        """Every function that a call may run; through a pointer, any that is used as a value and fits."""
        function = self.callee(node)
        if node.name == "operator()" and node.arguments and (function is None or function.copied is not None):
            return self._closures(node)
        if node.function is not None:
            given = len(node.arguments)
            return frozenset(
                f
                for f in self._pointed_at
                if given <= len(f.parameters) and (given or not f.parameters)
                if not any(map(_is_address_for_number, f.parameters, node.arguments))
            )
        if node.is_virtual:
            return frozenset(
                f for f in self._methods.get(node.name, ()) if len(f.parameters) == len(node.arguments)
            )
        return frozenset() if function is None else frozenset((function,))

    @cached_property
    def _methods(self) -> dict[str, list[ir.Function]]:
        found: dict[str, list[ir.Function]] = {}
        for function in self.functions:
            if function.parameters and function.parameters[0].name == "this":
                found.setdefault(function.name, []).append(function)
        return found

    def _closures(self, node: ir.Call) -> frozenset[ir.Function]:
        """The lambdas that a call of an object may run: of its type, else all that take no more arguments.

        Behind these may stand the addresses of those that are given by reference.
        """
        if (run := self._run_here(node)) is not None:
            return frozenset((run,))
        type_ = node.arguments[0].type.element
        own = frozenset(() if type_ is None else self._lambdas.get(type_.name, ()))
        given = len(node.arguments) - 1
        every = (function for lambdas in self._lambdas.values() for function in lambdas)
        return own or frozenset(f for f in (*every, *self._pointed_at) if len(f.parameters) <= given)

    def never_returns(self, expr: ir.Expr) -> bool:
        """Whether an expression ends the program: a call of exit(), or of a function that always does."""
        return isinstance(expr, ir.Call) and (host_api.ends(expr) or self.callee(expr) in self._ending)

    @cached_property
    def _ending(self) -> frozenset[ir.Function]:
        """Functions such as `usage()` that come to a call of exit() whatever happens in them."""
        found: set[ir.Function] = set()

        def ends(stmt: ir.Stmt) -> bool:
            if isinstance(stmt, ir.Block):
                return not stmt.is_protected and any(ends(inner) for inner in stmt.statements)
            called = stmt.expr if isinstance(stmt, ir.ExprStmt) else None
            return isinstance(called, ir.Call) and (host_api.ends(called) or self.callee(called) in found)

        for _ in range(_MOST_ENDING):
            wider = {f for f in self.functions if ends(f.body) and not may_return(f.body)}
            if len(wider) == len(found):
                break
            found = wider
        return frozenset(found)

    def handed_to(self, node: ir.Call) -> frozenset[ir.Function]:
        """The functions among the arguments of a call that nobody follows, or in variables that it can name:
        it may call them.
        """
        return self.held_by(self.written_elsewhere(node)).union(*map(self.callable_by, node.arguments))

    def held_by(self, variables: Collection[ir.Variable]) -> frozenset[ir.Function]:
        """The functions that variables begin with, as a table of them."""
        held = (variable.initializer for variable in variables if variable.initializer is not None)
        texts = (expr for value in held for expr in ir.walk_expressions(value) if isinstance(expr, ir.Text))
        return frozenset(self._by_name[text.value] for text in texts if text.value in self._by_name)

    def callable_by(self, argument: ir.Expr) -> frozenset[ir.Function]:
        """The functions that whoever is given a value may call."""
        found: set[ir.Function] = set()
        for inner in ir.walk_expressions(argument) if self._pointed_at or self._may_be_handed else ():
            if isinstance(inner, ir.Text):
                function = self._by_name.get(inner.value) if inner.type.name == "function" else None
                found.update(() if function is None else (function,))
            elif isinstance(inner, (ir.Read, ir.AddressOf, ir.Construct, ir.Load)):
                type_ = inner.variable.type if isinstance(inner, ir.AddressOf) else inner.type
                found.update(self._may_be_handed.get(type_.name.removeprefix("const "), ()))
                if _holds_functions(type_):
                    found |= self._pointed_at
        return frozenset(found)

    def names_a_function(self, argument: ir.Expr) -> bool:
        """Whether an argument names a function of the host, one that is not read among them."""
        texts = (inner for inner in ir.walk_expressions(argument) if isinstance(inner, ir.Text))
        return any(text.type.name == "function" and text.value not in self.kernels for text in texts)

    @cached_property
    def _may_be_handed(self) -> dict[str, list[ir.Function]]:
        """Lambdas, and what calls of objects of classes run, by the names of their types."""
        found = dict(self._lambdas)
        for function in self._methods.get("operator()", ()):
            element = function.parameters[0].type.element
            found.setdefault("" if element is None else element.name, []).append(function)
        return found

    def is_lambda(self, type_: ir.Type) -> bool:
        """Whether objects of a type are lambdas of this program."""
        return type_.name.removeprefix("const ") in self._lambdas

    def runs_a_lambda(self, node: ir.Call) -> bool:
        """Whether a call runs a lambda of this program, by the type of the object that is called."""
        object_ = node.arguments[0].type.element if node.name == "operator()" and node.arguments else None
        return object_ is not None and self.is_lambda(object_)

    @cached_property
    def _lambdas(self) -> dict[str, list[ir.Function]]:
        found: dict[str, list[ir.Function]] = {}
        for function in self.functions:
            if function.copied is not None:
                found.setdefault(function.name, []).append(function)
        return found

    @cached_property
    def _initial(self) -> tuple[ir.Expr, ...]:
        """What variables at file scope begin with."""
        values = (variable.initializer for variable in self._globals if variable.initializer is not None)
        return tuple(expr for value in values for expr in ir.walk_expressions(value))

    @cached_property
    def kernels_as_values(self) -> dict[str, int]:
        """Kernels that a pointer may hold, by their mangled names, with the number of their parameters."""
        texts = (*self._initial, *(expr for told in self._tell.values() for expr in told))
        named = {expr.value for expr in texts if isinstance(expr, ir.Text) and expr.type.name == "function"}
        return {
            kernel.mangled_name: len(kernel.parameters)
            for name, kernel in self.kernels.items()
            if name in named
        }

    @cached_property
    def fixed_names(self) -> frozenset[ir.Variable]:
        """Variables declared with a name as their value, as that of a kernel, that never get another one."""
        declared = (
            stmt.variable
            for function in self.functions
            for stmt in ir.walk_statements(function.body)
            if isinstance(stmt, ir.Declare) and isinstance(stmt.value, ir.Text)
        )
        return frozenset(declared).difference(*map(self.changed_in, self.functions))

    def _functions_as_values(self) -> frozenset[ir.Function]:
        """Functions that pointers and objects may hold; not lambdas that run only where they are written."""
        told = [*self._initial, *(expr for one in self._tell.values() for expr in one)]
        calls = (e for e in told if isinstance(e, ir.Call) and e.name == "operator()")
        run = {call.arguments[0] for call in calls if call.arguments}
        return frozenset(
            self._by_name[expr.value]
            for expr in told
            if isinstance(expr, ir.Text) and expr.type.name == "function"
            if expr.value in self._by_name and expr not in run
        )

    @cached_property
    def entries(self) -> frozenset[ir.Function]:
        """Functions that others than this program may call: nobody here does, or a library is given them."""
        return (frozenset(self.uncalled) - self._pointed_at) | self._handed_over

    @cached_property
    def unused(self) -> frozenset[ir.Function]:
        """Functions that nobody calls, nor hands to others: of a program with `main`, they are not run."""
        return frozenset(self.uncalled) - self._pointed_at - self._handed_over

    @cached_property
    def _handed_over(self) -> frozenset[ir.Function]:
        return frozenset(
            self._by_name[node.value]
            for function in self.functions
            for expr in self._tell[function.body]
            if isinstance(expr, ir.Call) and expr.function is None and self.callee(expr) is None
            for argument in expr.arguments[self._run_here(expr) is not None :]
            for node in ir.walk_expressions(argument)
            if isinstance(node, ir.Text) and node.type.name == "function" and node.value in self._by_name
        )

    def _run_here(self, node: ir.Call) -> ir.Function | None:
        """The lambda that is called where it is written: `[&] { ... }()`."""
        written = node.arguments[0] if node.name == "operator()" and node.arguments else None
        return self._by_name.get(written.value) if isinstance(written, ir.Text) else None

    def launches_from(self, function: ir.Function) -> frozenset[ir.LaunchCall]:
        """All launches in a function and in what it calls."""
        return self._reachable[function]

    def launches_in(self, stmt: ir.Stmt) -> frozenset[ir.LaunchCall]:
        """All launches in a statement and in what it calls."""
        launches, callees = self._scan(stmt)
        return launches.union(*(self._reachable[callee] for callee in callees))

    def functions_in(self, stmt: ir.Stmt) -> frozenset[ir.Function]:
        """All functions that a statement may run, those that these call included."""
        found: set[ir.Function] = set()
        waiting = list(self._scan(stmt)[1])
        while waiting:
            function = waiting.pop()
            if function not in found:
                found.add(function)
                waiting.extend(self._scan(function.body)[1])
        return frozenset(found)

    @cached_property
    def uncalled(self) -> tuple[ir.Function, ...]:
        """Functions that no other function of the program calls by name, in source order."""
        called = {
            callee
            for function in self.functions
            for expr in self._tell[function.body]
            if isinstance(expr, ir.Call)
            for callee in (
                self.callees(expr) if expr.is_virtual else (self.callee(expr), self._run_here(expr))
            )
            if callee not in (None, function)
        }
        return tuple(function for function in self.functions if function not in called)

    def roots(self) -> tuple[ir.Function, ...]:
        """`main` first, then functions nobody calls, then all others, in source order; lambdas come last:
        whoever made one knows what it captures.
        """
        uncalled = set(self.uncalled)
        ranks = {
            function: 0
            if function.name == "main"
            else 3
            if function.name.startswith("(lambda")
            else 1
            if function in uncalled
            else 2
            for function in self.functions
            if function not in self.initial
        }
        return tuple(sorted(ranks, key=lambda function: ranks[function]))

    @cached_property
    def initial(self) -> tuple[ir.Function, ...]:
        """What runs before `main`."""
        return tuple(f for f in self.functions if f.name.startswith(ir.INITIAL_VALUES))

    @cached_property
    def set_before_main(self) -> frozenset[ir.Variable]:
        """File-scope variables that what runs before `main` gives their values."""
        expressions = (e for f in self.initial for e in ir.expressions_below(f.body))
        return frozenset(variable for e in expressions if (variable := _written(e)) is not None)

    def may_throw(self, stmt: ir.Stmt) -> bool:
        """Whether a statement, or what it calls, throws something."""
        bodies = (stmt, *(function.body for function in self.functions_in(stmt)))
        every = (expr for body in bodies for expr in ir.expressions_below(body))
        return any(map(may_throw, every))

    def written_by(self, function: ir.Function) -> frozenset[ir.Variable]:
        """The variables that a function, or what it calls, may write and that are there when it is called."""
        if function not in self._written:
            parts = [self._names(part) for part in (function, *self.functions_in(function.body))]
            written = frozenset[ir.Variable]().union(*(written for written, _ in parts))
            self._written[function] = written.difference(*(own for _, own in parts))
        return self._written[function]

    @cached_property
    def written_by_entries(self) -> Mapping[ir.Variable, Sequence[ir.Function]]:
        """The entry points that may write a variable which is there before they are called."""
        writers: dict[ir.Variable, list[ir.Function]] = {}
        for function in filter(self.entries.__contains__, self.functions):
            for variable in self.written_by(function):
                if variable.role in OUTLIVING:
                    writers.setdefault(variable, []).append(function)
        return writers

    def changed_in(self, function: ir.Function) -> frozenset[ir.Variable]:
        """The variables that a function may give another value than they are declared with."""
        return self._names(function)[0]

    def _names(self, function: ir.Function) -> tuple[frozenset[ir.Variable], frozenset[ir.Variable]]:
        """The variables that the statements of a function may write, and those that it has for itself."""
        if function not in self._named:
            written = {_written(expr) for expr in ir.expressions_below(function.body)}
            own = {
                stmt.variable
                for stmt in ir.walk_statements(function.body)
                if isinstance(stmt, ir.Declare) and stmt.variable.role is not ir.VariableRole.STATIC_LOCAL
            }
            self._named[function] = (
                frozenset(variable for variable in written if variable is not None),
                frozenset(own.union(function.parameters)),
            )
        return self._named[function]

    @cached_property
    def destroying(self) -> dict[str, ir.Function]:
        """The destructors of the program, by their classes."""
        found = (f for f in self.functions if f.name.startswith("~") and f.parameters)
        return {
            f.parameters[0].type.element.name: f for f in found if f.parameters[0].type.element is not None
        }

    def _scan(self, stmt: ir.Stmt) -> tuple[frozenset[ir.LaunchCall], frozenset[ir.Function]]:
        found = self._direct.get(stmt)
        if found is None:
            launches: set[ir.LaunchCall] = set()
            callees: set[ir.Function] = set()
            told = self._tell.get(stmt)
            for expr in _telling(stmt) if told is None else told:
                if isinstance(expr, ir.LaunchCall):
                    launches.add(expr)
                elif isinstance(expr, ir.Call):
                    callees.update(self.callees(expr))
                    if self.callee(expr) is None:
                        callees.update(self.handed_to(expr))
            found = self._direct[stmt] = (frozenset(launches), frozenset(callees))
        return found

    def _callees_first(self) -> list[ir.Function]:
        """Each function behind those that it calls, but for recursion."""
        order: dict[ir.Function, None] = {}
        begun: set[ir.Function] = set()
        waiting = list(self.functions)
        while waiting:
            function = waiting[-1]
            if function in begun:
                order.setdefault(waiting.pop())
            else:
                begun.add(function)
                waiting.extend(callee for callee in self._scan(function.body)[1] if callee not in begun)
        return list(order)

    def _close(self) -> dict[ir.Function, frozenset[ir.LaunchCall]]:
        reachable = {function: self._scan(function.body)[0] for function in self.functions}
        order = self._callees_first()
        changed = True
        while changed:
            changed = False
            for function in order:
                callees = self._scan(function.body)[1]
                wider = reachable[function].union(*(reachable[callee] for callee in callees))
                if len(wider) > len(reachable[function]):
                    reachable[function] = wider
                    changed = True
        return reachable


@lru_cache(maxsize=2)
def call_graph(program: ir.Program) -> CallGraph:
    """The graph of a program, of which the steps of one resolution ask one after the other."""
    return CallGraph(program)


class Member(Struct, frozen=True):
    """A member of all objects of a class: the name of its type, and bytes from the start."""

    of: str
    offset_bytes: int


Source = ir.Variable | ir.Function | Member


def member_at(place: ir.RegisterPlace | ir.MemoryPlace) -> Member | None:
    """The member that a place is; None of anything else, and of members of members."""
    if isinstance(place, ir.RegisterPlace):
        type_ = place.variable.type
        offset = next((f.offset_bytes for f in type_.fields if (f.name,) == place.path), None)
    else:
        address = place.address if isinstance(place.address, ir.PointerOffset) else None
        type_ = ir.UNKNOWN_TYPE if address is None else address.pointer.type.element or ir.UNKNOWN_TYPE
        offset = None if address is None or address.index is not None else address.offset_bytes
    name = type_.name.removeprefix("const ")
    return None if offset is None or not name or not type_.fields else Member(name, offset)


def read_by_condition(expr: ir.Expr) -> frozenset[Source]:
    """What a condition reads: members for themselves, not the objects that they are in."""
    found: set[Source] = set()
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        member = member_at(node.place) if isinstance(node, (ir.Read, ir.Load)) else None
        if member is not None:
            found.add(member)
        elif isinstance(node, ir.Read):
            found.add(node.place.variable)
        else:
            waiting += ir.children(node)
    return frozenset(found)


class HostDependence:
    """A flow-insensitive dependence graph of the host code: variables, and functions for what they return."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph

    def geometry_depends_on(
        self, node: ir.LaunchCall, sources: frozenset[Source], but: frozenset[Source] = frozenset()
    ) -> bool:
        """True when grid or block of the launch may be computed from one of `sources`.

        Not by those alone of `but`, where it reads them itself.
        """
        if not sources:
            return False
        found: set[Source] = set()
        stack = [one for one in (*self._read_by(node.grid), *self._read_by(node.block)) if one not in but]
        while stack:
            source = stack.pop()
            if source in sources:
                return True
            if source not in found:
                found.add(source)
                stack.extend(self._edges.get(source, ()))
        return False

    @cached_property
    def _edges(self) -> dict[Source, set[Source]]:
        edges: dict[Source, set[Source]] = {}
        for function in self._graph.functions:
            for stmt in ir.walk_statements(function.body):
                if isinstance(stmt, ir.Declare) and stmt.value is not None:
                    edges.setdefault(stmt.variable, set()).update(self._read_by(stmt.value))
                elif isinstance(stmt, ir.Return) and stmt.value is not None:
                    edges.setdefault(function, set()).update(self._read_by(stmt.value))
            for node in ir.expressions_below(function.body):
                self._add(node, edges)
        return edges

    def _add(self, node: ir.Expr, edges: dict[Source, set[Source]]) -> None:
        if isinstance(node, ir.Assign):
            target = node.target.variable if isinstance(node.target, ir.RegisterPlace) else node.target.root
            for written in (target, member_at(node.target)):
                if written is not None:
                    edges.setdefault(written, set()).update(self._read_by(node.value))
        elif isinstance(node, ir.Call):
            given = [self._read_by(argument) for argument in node.arguments]
            for callee in self._graph.callees(node):
                own = given[1:] if callee.copied is not None else given
                for parameter, sources in zip(callee.parameters, own, strict=False):
                    edges.setdefault(parameter, set()).update(sources)
            if node.name.startswith(host_api.ABOUT_THE_DEVICE):
                return  # whichever it is
            everything = set[Source]().union(*given)
            waiting = list(node.arguments)
            while waiting:  # `f(&x, n)` may compute x from n; in `f(g(&x))` g does
                inner = waiting.pop()
                if isinstance(inner, ir.AddressOf):
                    edges.setdefault(inner.variable, set()).update(everything)
                elif not isinstance(inner, ir.Call):
                    waiting += ir.children(inner)

    def _read_by(self, expr: ir.Expr) -> set[Source]:
        found: set[Source] = set()
        waiting = [expr]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ir.Call) and node.name == "sdkFindFilePath":
                waiting += node.arguments[:1]  # the file is looked for by its name, wherever the program lies
                continue
            waiting += ir.children(node)
            if isinstance(node, (ir.Read, ir.Load)) and (member := member_at(node.place)) is not None:
                found.add(member)
            if isinstance(node, ir.Read):
                found.add(node.place.variable)
            elif isinstance(node, ir.AddressOf):
                found.add(node.variable)
            elif isinstance(node, ir.Load) and node.place.root is not None:
                found.add(node.place.root)
            elif isinstance(node, ir.Call):
                found |= self._graph.callees(node)
        return found


def _holds_functions(type_: ir.Type) -> bool:
    """Pointers to functions, and objects of the library that hold one."""
    pointed = type_.element if type_.kind is ir.TypeKind.POINTER else None
    names = (type_.name, "" if pointed is None else pointed.name)
    return "function" in names or type_.name.removeprefix("const ").startswith("std::function<")


def _written(expr: ir.Expr) -> ir.Variable | None:
    if isinstance(expr, ir.AddressOf):
        return expr.variable
    if isinstance(expr, (ir.Assign, ir.Increment)):
        return expr.target.variable if isinstance(expr.target, ir.RegisterPlace) else expr.target.root
    return None


def _written_by_name(kernel: ir.Kernel) -> frozenset[ir.Variable] | None:
    """The variables that a kernel writes, or whose addresses it keeps; None where it may write any other.

    What its arguments point to is no concern.
    """
    nodes = ir.expressions_below(kernel.body)
    if not kernel.body_is_complete or kernel.machine_instructions:
        return None
    read = {host_api.base_of(node.place.address) for node in nodes if isinstance(node, ir.Load)}
    for node in nodes:
        named = node.variable if isinstance(node, ir.AddressOf) else ir.read_variable(node)
        if isinstance(node, ir.Call) or (isinstance(node, ir.Intrinsic) and node.is_opaque_call):
            return None
        if named is not None and named.role is ir.VariableRole.FILE_SCOPE and _may_hold_addresses(named.type):
            return None
    return frozenset(v for node in nodes if node not in read and (v := _written(node)) is not None)


def _may_hold_addresses(type_: ir.Type) -> bool:
    while type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        type_ = type_.element
    return type_.kind not in _NUMBERS


def may_return(stmt: ir.Stmt) -> bool:
    """Whether there is a return in a statement."""
    return any(isinstance(inner, ir.Return) for inner in ir.walk_statements(stmt))


def _plain_name(function: ir.Function) -> str:
    """The name by which calls find it that do not tell which of its overloads they mean; of what only a file
    that nobody includes may call, with that.
    """
    file = function.span.file
    is_alone = "@" in function.mangled_name and PurePath(file).suffix not in HEADERS
    return f"{function.name}@{file}" if is_alone else function.name


_OF_ONE_FILE = regex(r"^_ZL|_GLOBAL__N_1")
"""Finds in a mangled name that no other file knows the function."""
_OF_GETOPT = ("optind", "optarg")
"""Variables of the library: functions of a program only read them."""

_MOST_ENDING = 4
"""Calls between a function and the exit() that it always comes to."""


def _is_known(node: ir.Call) -> bool:
    """Whether the linker's name of what is called is known: it is declared, as a function of C++."""
    return node.is_of_program or node.callee.startswith("_ZN")


def _may_be_instance(function: ir.Function, node: ir.Call) -> bool:
    """Whether a call is of an instance of a template that was read in its place: its scope is the same.

    A function of C++ has a name of its own for the linker, which says this and more.
    """
    if function.mangled_name != function.name:
        return False
    names = [name for name in (*function.scope, function.name) if name.isidentifier()]
    if function.name in function.scope:
        names.pop()  # constructors have names of their own, as operators have
    parts = ".*".join(f"{len(name)}{name}" for name in names)
    return re.match(f"_Z(L|NK?)?(12_GLOBAL__N_1)?{parts}", node.callee) is not None


def _may_be_of_its_class(function: ir.Function, node: ir.Call) -> bool:
    """Whether a call of a method's name has an object of its class."""
    this = function.parameters[0] if function.parameters else None
    if this is None or this.name != "this" or this.type.element is None:
        return True
    given = node.arguments[0].type.element if node.arguments else None
    return given is not None and _class_template(given) == _class_template(this.type.element)


def _class_template(type_: ir.Type) -> str:
    return type_.name.removeprefix("const ").split("<")[0]


def _is_of_vectors(parameter: ir.Variable, argument: ir.Expr) -> bool:
    """Whether a number is given where a vector is taken, which no conversion makes of it."""
    return parameter.type.lanes > 1 and argument.type.lanes == 1 and argument.type.kind in _NUMBERS


def _is_address_for_number(parameter: ir.Variable, argument: ir.Expr) -> bool:
    """Whether an address is given where a number is taken, which no conversion makes of it."""
    return parameter.type.kind in _NUMBERS and argument.type.kind is ir.TypeKind.POINTER


def _is_other_overload(function: ir.Function, node: ir.Call) -> bool:
    """Whether a call, whose arguments have the types of its overload, is of another: f(long), not f(int).

    Where nothing declares it, numbers of other sizes may be converted.
    """
    pairs = tuple(zip(function.parameters, node.arguments, strict=False))
    if _is_known(node):
        return any(_is_other_number(taken.type, given.type) for taken, given in pairs)
    is_told = node.callee.startswith("_Z") and function.mangled_name.startswith("_Z")
    return is_told and any({taken.type.kind, given.type.kind} == set(_NUMBERS) for taken, given in pairs)


def _is_other_number(taken: ir.Type, given: ir.Type) -> bool:
    """Whether a parameter is no number as it is given, or points to none; one that refers is a pointer."""
    if taken.element is not None and given.element is not None:
        return _is_other_number(taken.element, given.element)
    if taken.kind not in _NUMBERS or given.kind not in (*_NUMBERS, ir.TypeKind.POINTER):
        return False
    return (taken.kind, taken.bits, taken.signed) != (given.kind, given.bits, given.signed)


_NUMBERS = (ir.TypeKind.INT, ir.TypeKind.FLOAT)
_OF_THE_LIBRARY = tuple(
    f"_Z{nested}{name}" for nested in ("", "N", "NK") for name in ("St", "Ss", "Sa", "So")
)
"""How the mangled names of functions and methods in namespace std begin."""
