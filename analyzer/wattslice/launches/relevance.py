"""Which host code a launch depends on: a backward slice, so that the rest need not be interpreted.

Reference computations, checks of results and reports of times make up most host code and decide nothing.
Relevant are the statements that launch, that define what a launch's configuration or arguments are computed
from, and those that decide whether these run. The slice does not follow the order of statements. A check
without such a statement in it (`if (errors) return 1;`) counts when what it tests is relevant anyway, or is
constant, also in a function that it is given to, or the number of GPUs; else it is taken to pass. That is
told where the environment alone decides (`PassedJump`).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeVar

from msgspec import Struct, field

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.call_graph import OUTLIVING, CallGraph
from wattslice.launches.command_line import is_of_texts, may_throw
from wattslice.launches.exits import Kept, Step, kept_of, steps_of
from wattslice.launches.host_api import base_of, symbol_of
from wattslice.launches.layouts import NUMBERS
from wattslice.launches.memory import INPUT_STREAMS, TEXT_STREAMS, is_text_object
from wattslice.launches.tensors import is_check
from wattslice.patterns import regex


class ScalarType(Struct, frozen=True):
    """All objects of one scalar type that pointers reach."""

    kind: ir.TypeKind
    bits: int


ANYTHING = ScalarType(ir.TypeKind.UNKNOWN, 0)
"""Memory behind an untyped pointer."""

_FILES = ScalarType(ir.TypeKind.RECORD, 0)
"""The positions of all open files."""

_CHARACTER = ScalarType(ir.TypeKind.INT, 8)
"""What texts consist of."""

_THROWN = ScalarType(ir.TypeKind.RECORD, 1)
"""What was thrown."""

_SETTINGS = {
    name: ScalarType(ir.TypeKind.RECORD, number)
    for number, names in enumerate((host_api.ENVIRONMENT, host_api.THREADS), 2)
    for name in names
}
"""What a program sets for itself by calls of these functions, and asks for by others."""

Location = ir.Variable | ScalarType


class DefUse(Struct):
    """Locations an expression defines and uses, the program's functions it calls, whether it launches."""

    defines: set[Location] = field(default_factory=set[Location])
    uses: set[Location] = field(default_factory=set[Location])
    callees: set[ir.Function] = field(default_factory=set[ir.Function])
    launches: bool = False


def scalar_types(type_: ir.Type) -> frozenset[ScalarType]:
    """The scalar types an object of `type_` consists of."""
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        return scalar_types(type_.element)
    if type_.kind is ir.TypeKind.RECORD and (type_.fields or type_.record_bytes > 1):
        own = frozenset(found for member in type_.fields for found in scalar_types(member.type))
        begin = min((member.offset_bytes for member in type_.fields), default=type_.record_bytes)
        return own | _MEMBERS if begin > 0 else own  # a base lies in front, whose members nobody lists
    if type_.kind in (ir.TypeKind.VOID, ir.TypeKind.UNKNOWN):
        return frozenset((ANYTHING,))
    return frozenset((ScalarType(type_.kind, type_.bits),))


_MEMBERS = frozenset(
    ScalarType(type_.kind, type_.bits)
    for type_ in (
        *(ir.Type(ir.TypeKind.INT, bits=bits) for bits in (8, 16, 32, 64)),
        *(ir.FLOAT32, ir.FLOAT64, ir.BOOL, ir.Type(ir.TypeKind.POINTER, bits=64)),
    )
)
"""What members of a class may be."""


def inner_expressions(expr: ir.Expr) -> Iterator[ir.Expr]:
    """Every expression below `expr`, those in the bodies of inlined calls included."""
    for node in ir.walk_expressions(expr):
        yield node
        if isinstance(node, ir.InlinedCall):
            for stmt in ir.walk_statements(node.body):
                for top in ir.statement_expressions(stmt):
                    yield from ir.walk_expressions(top)


class DefUseReader:
    """What expressions define and use; also whose address is taken, and what references name."""

    def __init__(self, graph: CallGraph) -> None:
        self.graph = graph
        self._own_addresses: set[ir.Expr] = set()
        self.escaped: set[ir.Variable] = set()
        self.addressed: set[ir.Variable] = set()  # whose addresses somebody takes
        self.numbers_of_gpus: set[ir.Variable] = set()
        self.asked_for_several: set[ir.Variable] = set()  # compared with what one of a thing is not
        self.references: list[tuple[ir.Variable, ir.Variable]] = []
        self.reached: list[tuple[Location, frozenset[ScalarType]]] = []  # by pointers to elements

    def def_use(self, expr: ir.Expr) -> DefUse:
        """What one expression defines and uses."""
        found = DefUse()
        self._gather(expr, found)
        return found

    def _gather(self, expr: ir.Expr, found: DefUse) -> None:
        for node in inner_expressions(expr):
            match node:
                case ir.Read(place=place):
                    if not _is_opaque(place.variable.type):
                        found.uses.add(place.variable)
                case ir.Load(place=place):
                    found.uses.update(self._memory(place))
                case ir.AddressOf(variable=variable):
                    if not _is_opaque(variable.type):
                        found.uses.add(variable)
                    self.addressed.add(variable)
                    if node not in self._own_addresses:
                        self.escaped.add(variable)
                case ir.Assign(target=target) | ir.Increment(target=target):
                    if isinstance(target, ir.RegisterPlace):
                        found.defines.add(target.variable)
                        if not isinstance(node, ir.Assign) or node.op is not None:
                            found.uses.add(target.variable)
                    else:
                        found.defines.update(self._memory(target))
                case ir.InlinedCall(parameters=parameters):
                    found.defines.update(parameters)
                case ir.Text(value=value) if node.type.name == "function":
                    function = self.graph.named(value)
                    found.uses.update((None if function is None else function.copied) or ())
                case ir.Call():
                    self._call(node, found)
                case ir.Cast(type=type_) if type_.element is not None and type_.element.kind in NUMBERS:
                    if isinstance(root := base_of(node), ir.AddressOf):  # (char *)&number
                        self.reached.append((root.variable, scalar_types(type_.element)))
                    of = node.operand.type.element
                    if of is not None and of.kind in NUMBERS:  # (char *)numbers
                        self.reached += ((one, scalar_types(type_.element)) for one in scalar_types(of))
                case ir.Binary(op=op, left=left, right=ir.Constant(value=value)) if op in ir.COMPARISONS:
                    variable = ir.read_variable(ir.strip_casts(left))
                    is_of_one = value < 1 or (value == 1 and op in (ir.BinaryOp.LT, ir.BinaryOp.GE))
                    if variable is not None and not is_of_one:
                        self.asked_for_several.add(variable)
                case ir.Construct() if may_throw(node):
                    found.defines.add(_THROWN)
                case ir.LaunchCall():
                    found.launches = True
                case _:
                    pass

    def _memory(self, place: ir.MemoryPlace) -> frozenset[Location]:
        """The location of an object in memory: its array or record where that is evident, else its type."""
        root = place.root
        base = base_of(place.address)
        if root is None or isinstance(base, (ir.Read, ir.Load)):
            return frozenset[Location](scalar_types(place.type))
        self._own_addresses.add(base_of(place.address))
        return frozenset[Location]((root,))

    def _call(self, node: ir.Call, found: DefUse) -> None:
        # it says when launches are made, or which
        found.launches |= node.name in host_api.ABOUT_GRAPHS or host_api.takes_a_graph(node)
        for argument in node.arguments[:1] if host_api.asks_for_gpus(node) else ():
            if isinstance(root := base_of(argument), ir.AddressOf):
                self.numbers_of_gpus.add(root.variable)
        if node.name in (ir.CAUGHT, ir.HANDLE):
            found.uses.add(_THROWN)
        if node.name == ir.HANDLE or may_throw(node):
            found.defines.add(_THROWN)
        if node.name.startswith("getopt"):
            found.uses.update(self.graph.globals_named("optind"))
        if node.name == host_api.SETS_FLAGS:
            found.defines.update(self.graph.flags())
        function = self.graph.callee(node)
        if node.function is not None or node.name == "operator()" or node.is_virtual:
            for callee in self.graph.callees(node):
                found.callees.add(callee)
                self._bind(
                    callee, node.arguments[callee.copied is not None and node.function is None :], found
                )
        if function is None and self.graph.runs_a_lambda(node):
            return
        if function is None:
            handed = self.graph.handed_to(node)
            found.callees.update(handed)
            for callee in handed:
                self._bind_elements(callee, node.arguments, found)
        if function is not None:
            found.callees.add(function)
            self._bind(function, node.arguments, found)
            return
        if node.name.startswith("cudaMemcpyToSymbol") and node.arguments:
            symbol = symbol_of(node.arguments[0])
            if symbol is not None:
                found.defines.add(symbol)
                for argument in node.arguments[1:2]:
                    found.uses.update(_pointed_at(argument))
        if node.function is not None and node.name in host_api.ON_A_THREAD:
            found.defines.update(a.place.variable for a in node.arguments if isinstance(a, ir.Read))
        if node.name == "move":
            found.defines.update(a.place.variable for a in node.arguments if isinstance(a, ir.Read))
        if is_check(node):  # which says what they are
            asked = ir.walk_expressions(node.arguments[0])
            found.defines.update(a.place.variable for a in asked if isinstance(a, ir.Read))
        given_back = node.type.element
        given = None if given_back is None else scalar_types(given_back)
        for argument in node.arguments if given is not None else ():
            root = base_of(argument)
            if isinstance(root, ir.AddressOf) and given is not None:
                self.reached.append((root.variable, given))  # what writes there writes it
            elif given and (of := argument.type.element) is not None and of.kind is ir.TypeKind.RECORD:
                self.reached += ((one, given) for one in scalar_types(of))  # of any container
        if (setting := _SETTINGS.get(node.name.removeprefix("std::"))) is not None:
            found.uses.add(setting)
            if "get" not in node.name:
                found.defines.add(setting)
        if any(is_file(argument.type) for argument in node.arguments):
            found.uses.add(_FILES)
            found.defines.add(_FILES)
        for variable in self.graph.written_elsewhere(node):
            found.defines |= {variable, *_behind(variable.type)}
        keeps = host_api.keeps_its_arguments(node)
        if is_of_texts(node.name):
            found.uses.add(_CHARACTER)
        for argument in node.arguments:
            if node.type.element is None:  # libraries keep no addresses, but give some back: strchr, memcpy
                self._own_addresses.add(base_of(argument))
            if not keeps:
                found.defines.update(_pointed_at(argument))

    def _bind(self, function: ir.Function, arguments: tuple[ir.Expr, ...], found: DefUse) -> None:
        """What reference parameters name in a call."""
        for parameter, argument in zip(function.parameters, arguments, strict=False):
            if parameter not in function.reference_parameters:
                continue
            if isinstance(argument, ir.Read):
                self.references.append((parameter, argument.place.variable))
            elif parameter.type.kind is ir.TypeKind.ARRAY:  # given by its address
                self.reached.append((parameter, scalar_types(parameter.type)))
                found.defines.update(_pointed_at(argument))
            elif isinstance(argument, ir.Load):
                places = self._memory(argument.place)
                found.defines.update(places)
                self.references += ((parameter, place) for place in places if isinstance(place, ir.Variable))
                self.reached.append((parameter, frozenset(p for p in places if isinstance(p, ScalarType))))

    def _bind_elements(self, function: ir.Function, arguments: tuple[ir.Expr, ...], found: DefUse) -> None:
        """What a function is called with that a library is given: elements that other arguments point to."""
        for argument in arguments:
            element, root = argument.type.element, base_of(argument)
            if element is None:
                continue
            types = scalar_types(element)
            found.uses.update(types)
            self.reached += ((parameter, types) for parameter in function.reference_parameters)
            if isinstance(root, ir.AddressOf):
                self.reached.append((root.variable, types))


def is_file(type_: ir.Type) -> bool:
    """`FILE*`: every call that takes one moves on in the file."""
    return type_.element is not None and type_.element.name in ("FILE", "_IO_FILE", "std::FILE")


def _is_opaque(type_: ir.Type) -> bool:
    """Containers of the library, whose layout nobody reads: nothing that is in one is ever known."""
    if is_text_object(type_) or type_.name.removeprefix("const ").split("<")[0] in _FOLLOWED:
        return False
    return type_.kind is ir.TypeKind.RECORD and not type_.fields and "std::" in type_.name.split("<")[0]


def _pointed_at(argument: ir.Expr) -> frozenset[Location]:
    """What a library function may write through an argument."""
    argument = base_of(argument)
    if isinstance(argument, ir.AddressOf):
        return frozenset[Location]((argument.variable,)) | _behind_members(argument.variable.type)
    return frozenset() if isinstance(argument, (ir.Text, ir.Constant)) else _behind(argument.type)


def _behind(type_: ir.Type) -> frozenset[Location]:
    """What may be written through a value of this type."""
    if type_.kind is not ir.TypeKind.POINTER:
        return frozenset[Location](_behind_members(type_))
    if type_.element is None:
        return frozenset[Location]((ANYTHING,))
    return frozenset[Location](scalar_types(type_.element) | _behind_members(type_.element))


def _behind_members(type_: ir.Type, depth: int = 0) -> frozenset[ScalarType]:
    """What the pointers in a record reach; of a container of a library, whose elements its name alone tells,
    anything, if they may be or hold pointers.
    """
    if not type_.fields and type_.kind is ir.TypeKind.RECORD and _may_hold_pointers(type_.name):
        return frozenset((ANYTHING,))
    found: set[ScalarType] = set()
    for member in type_.fields if depth < _DEEPEST_MEMBERS else ():
        inner = member.type
        while inner.kind is ir.TypeKind.ARRAY and inner.element is not None:
            inner = inner.element
        if inner.kind is ir.TypeKind.POINTER and inner.element is not None:
            found |= scalar_types(inner.element)
            found |= _behind_members(inner.element, depth + 1)
        elif inner.kind is ir.TypeKind.RECORD:
            found |= _behind_members(inner, depth + 1)
    return frozenset(found)


@lru_cache(maxsize=1024)
def _may_hold_pointers(name: str) -> bool:
    """Whether the elements of a container of this name may be more than numbers, texts and containers."""
    container, _, elements = name.removeprefix("const ").partition("<")
    is_followed = container in _FOLLOWED and container not in (*INPUT_STREAMS, *TEXT_STREAMS)
    return is_followed and ("*" in elements or not _PLAIN_WORDS.issuperset(_WORD.findall(elements)))


_WORD = regex(r"[A-Za-z_]\w*")
_NUMBERS_AND_TEXTS = """
    const unsigned signed char short int long float double bool size_t wchar_t half __half std string
    basic_string char_traits allocator vector deque list array map set unordered_map unordered_set pair tuple
    less greater hash equal_to int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
"""
_PLAIN_WORDS = frozenset(_NUMBERS_AND_TEXTS.split())

_ARGUMENT_TYPES = (
    *(ScalarType(ir.TypeKind.INT, bits) for bits in (8, 16, 32, 64)),
    *(ScalarType(ir.TypeKind.FLOAT, bits) for bits in (32, 64)),
    *(ScalarType(ir.TypeKind.POINTER, bits) for bits in (0, 64)),
)
_FOLLOWED = frozenset(
    {
        "std::function",
        "std::vector",
        "std::deque",
        "std::list",
        "std::array",
        "std::map",
        "std::unordered_map",
        "std::set",
        "std::unordered_set",
        "std::reference_wrapper",
        "std::tuple",
        *INPUT_STREAMS,
        *TEXT_STREAMS,
    }
)
"""Classes of the library whose objects are followed."""
_OF_VALUES = (ir.Constant, ir.Text, ir.Cast, ir.Unary, ir.Binary, ir.Logical, ir.Select)
_T = TypeVar("_T")
_MAX_PASSES = 30
_DEEPEST_MEMBERS = 3
_LARGEST_CONSTANT = 1024


_ARGC = frozenset(("",))
"""What is told as well, beside the environment variables by their names."""


class PassedJump(Struct, frozen=True):
    """A return or exit before launches that environment variables alone decide: taken not to happen."""

    is_then: bool  # the jump is in the first arm
    names: str  # of the variables


class Relevance(Struct, frozen=True):
    """Statements that need not run, and functions that need not be followed."""

    skipped: frozenset[ir.Stmt] = frozenset()
    unfollowed: frozenset[ir.Function] = frozenset()
    constants: tuple[ir.Variable, ...] = ()  # constant memory whose content may decide what a kernel does
    escaped: frozenset[ir.Variable] = frozenset()  # whose addresses somebody may keep
    addressed: frozenset[ir.Variable] = frozenset()  # or takes
    passed: dict[ir.Stmt, PassedJump] = {}
    checks: dict[ir.Stmt, tuple[tuple[ir.Expr, bool], ...]] = {}
    """Checks that are taken to succeed: parts of their conditions, and with what each would fail."""


def relevance_of(program: ir.Program, graph: CallGraph) -> Relevance:
    """The slice of all host functions; nothing is skipped when it does not settle."""
    slicer = _Slicer(program, graph)
    return slicer.result() if slicer.settle() else Relevance()


def _ends_well(expr: ir.Expr) -> bool:
    """Whether it ends the program as one that has done its work: `exit(0)`, which no check for errors has."""
    if not (isinstance(expr, ir.Call) and host_api.ends(expr) and expr.arguments):
        return False
    status = expr.arguments[0]
    return isinstance(status, ir.Constant) and status.value == 0


def _asks_for_success(node: ir.Expr) -> bool:
    """Whether it says if a library has succeeded, which is taken for given."""
    if isinstance(node, ir.Call):
        return host_api.is_status(node)
    return isinstance(node, ir.Read) and host_api.holds_status(node.place.variable.type)


def _may_decide(variable: ir.Variable) -> bool:
    """Constant memory with integers in it, unless it is a large table."""
    if variable.space is not ir.MemorySpace.CONSTANT or not 0 < variable.type.size_bytes <= _LARGEST_CONSTANT:
        return False
    return any(scalar.kind is ir.TypeKind.INT for scalar in scalar_types(variable.type))


class _Slicer:
    def __init__(self, program: ir.Program, graph: CallGraph) -> None:
        self._functions = program.functions
        self._reader = DefUseReader(graph)
        self._kernels = {
            name: kernel for kernel in program.kernels for name in (kernel.name, kernel.mangled_name)
        }
        self._def_uses: dict[ir.Expr, DefUse] = {}
        self._locations: set[Location] = set()
        self._needed: set[Location] = set()  # locations that are more than what a pointer may reach
        self._valued: set[ir.Function] = set()
        self._kept = Kept()  # what ends the program, where that is told
        self._effective: set[ir.Function] = set()
        self._core: set[ir.Stmt] = set()
        self._left: list[ir.Stmt] = []  # what a break in the statement that is visited may leave
        self._changed = False
        self._constants = tuple(v for v in program.globals if _may_decide(v))
        linked: dict[str, ir.Variable] = {}
        for variable in program.globals:  # a variable that several files declare is one
            if variable.linked_as is not None:
                one = linked.setdefault(variable.linked_as, variable)
                self._reader.references.append((variable, one))
        self._locations.update(self._constants)
        self._needed.update(self._constants)
        for variable in program.globals:
            if variable.initializer is not None:
                self._reader.def_use(variable.initializer)  # for the addresses in it
        self._written = set[Location]()
        for function in program.functions:
            for stmt in ir.walk_statements(function.body):
                for expr in ir.statement_expressions(stmt):
                    def_use = self._def_uses[expr] = self._reader.def_use(expr)
                    self._written |= def_use.defines
                    for node in ir.walk_expressions(expr) if def_use.launches else ():
                        if isinstance(node, ir.LaunchCall):
                            self._launch(node)
        # one is assumed, which ends programs that want more
        for variable in self._reader.numbers_of_gpus & self._reader.asked_for_several:
            self._locations.add(variable)
            self._needed.add(variable)
        self._passed: dict[ir.Stmt, PassedJump] = {}
        self._checks: dict[ir.Stmt, tuple[tuple[ir.Expr, bool], ...]] = {}
        self._given: dict[ir.Variable | ir.Function, frozenset[str]] = {}
        mains = (function for function in program.functions if function.name == "main")
        self._argc = {parameter for main in mains for parameter in main.parameters[:1]}
        counts = self._argc - self._written - self._reader.escaped
        self._given.update((argc, _ARGC) for argc in counts)
        told = [(function, self._asked_by(function)) for function in program.functions]
        self._given.update((function, names) for function, names in told if names is not None)
        for function in program.functions:
            self._note_given(function)
        bound = self._bound = {parameter for parameter, _ in self._reader.references}
        every = (parameter for function in program.functions for parameter in function.parameters)
        self._as_given = frozenset(p for p in every if p not in self._written | self._reader.escaped | bound)

    def _launch(self, node: ir.LaunchCall) -> None:
        values = [node.grid, node.block, *(() if node.shared_bytes is None else (node.shared_bytes,))]
        if node.function is not None:
            values.append(node.function)
        if node.packed is not None:  # arguments of any type, behind pointers
            values.append(node.packed)
            self._locations.update(_ARGUMENT_TYPES)
        kernel = self._kernels.get(node.kernel or node.kernel_name)
        for index, argument in enumerate(node.arguments):
            parameter = kernel.parameters[index] if kernel and index < len(kernel.parameters) else None
            is_texture = parameter is not None and parameter.space is ir.MemorySpace.TEXTURE
            if not is_texture:
                values.append(argument)
        for value in values:
            self._need(self._reader.def_use(value))

    def settle(self) -> bool:
        """Widen until nothing changes."""
        for _ in range(_MAX_PASSES):
            self._changed = False
            self._spread()
            for function in self._functions:
                if self._visit(function.body, function, jumps=False):
                    self._add(self._effective, function)
            if not self._changed:
                return True
        return False

    def result(self) -> Relevance:
        skipped: set[ir.Stmt] = set()
        self._kept = self._ending()
        for function in self._functions:
            self._collect(function.body, function, skipped)
        unfollowed = set(self._functions) - self._effective - self._valued - self._kept.callees
        addressed = {place for _, place in self._reader.references}
        addressed.update(self._reader.addressed, *map(self._captured, self._functions))
        return Relevance(
            frozenset(skipped),
            frozenset(unfollowed),
            self._constants,
            frozenset(self._reader.escaped),
            frozenset(addressed),
            self._passed,
            self._checks,
        )

    def _captured(self, function: ir.Function) -> set[ir.Variable]:
        """What a lambda has of the function around it."""
        if function.copied is None:
            return set()
        every = list(ir.walk_statements(function.body))
        own = {stmt.variable for stmt in every if isinstance(stmt, ir.Declare)}.union(function.parameters)
        found = [self._def_uses[expr] for stmt in every for expr in ir.statement_expressions(stmt)]
        named = set[Location]().union(*(one.uses | one.defines for one in found))
        return {one for one in named if isinstance(one, ir.Variable)} - own

    # ----------------------------------------------------------------- widening

    def _add(self, known: set[_T], item: _T) -> None:
        if item not in known:
            known.add(item)
            self._changed = True

    def _need(self, def_use: DefUse | None) -> None:
        """The value of an expression matters."""
        if def_use is None:
            return
        for location in def_use.uses:
            self._add(self._locations, location)
            self._add(self._needed, location)
        for callee in def_use.callees:
            self._add(self._valued, callee)

    def _spread(self) -> None:
        """Variables that pointers and references reach share the fate of what reaches them.

        Of a record that matters only for a member that some pointer may reach, the other members do not.
        """
        for parameter, variable in self._reader.references:
            for known in (self._locations, self._needed):
                if parameter in known or variable in known:
                    self._add(known, parameter)
                    self._add(known, variable)
        for variable, types in self._reader.reached:
            if variable in self._locations:
                for type_ in types:
                    self._add(self._locations, type_)
            elif types & self._locations:
                self._add(self._locations, variable)
        for variable in self._reader.escaped:
            types = scalar_types(variable.type)
            if variable in self._needed:
                for type_ in types:
                    self._add(self._locations, type_)
            elif types & self._locations:
                self._add(self._locations, variable)

    def _acts(self, expr: ir.Expr | None) -> bool:
        """True when evaluating an expression launches or defines something relevant."""
        def_use = None if expr is None else self._def_uses.get(expr)
        if def_use is None:
            return False
        if def_use.launches or not (
            def_use.callees.isdisjoint(self._effective) and def_use.defines.isdisjoint(self._locations)
        ):
            return True
        return ANYTHING in def_use.defines and any(isinstance(known, ScalarType) for known in self._locations)

    def _visit(self, stmt: ir.Stmt, function: ir.Function, *, jumps: bool) -> bool:
        """True when a statement is relevant; `jumps`: leaving the loop or switch around it is."""
        if stmt in self._core and not ir.nested_statements(stmt):
            return True  # all that it needs was told when it was found
        core = False
        match stmt:
            case ir.ExprStmt(expr=expr):
                core = self._acts(expr) or _ends_well(expr)
            case ir.Declare(variable=variable, value=value):
                core = variable in self._locations or self._acts(value)
            case ir.Return(value=value):
                core = function in self._valued or self._acts(value)
            case ir.Break(levels=levels):
                core = jumps or not self._core.isdisjoint(self._left[-levels:])
            case ir.Continue():
                core = jumps
            case ir.Block(statements=statements, is_breakable=is_breakable):
                self._left += [stmt] * is_breakable
                core = self._any(statements, function, jumps=jumps or (is_breakable and stmt in self._core))
                del self._left[len(self._left) - is_breakable :]
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                arms = (then,) if otherwise is None else (then, otherwise)
                core = self._any(arms, function, jumps=jumps) or self._acts(condition)
                core = core or (isinstance(condition, ir.Call) and condition.name == ir.CAUGHT)
                core = self._is_decided_before(stmt, function) or core
            case ir.Loop(init=init, condition=condition, step=step, body=body):
                self._left.append(stmt)
                core = self._any((*init, body), function, jumps=stmt in self._core)
                self._left.pop()
                core = core or self._acts(condition) or self._acts(step)
            case ir.Switch(selector=selector, cases=cases):
                bodies = tuple(case.body for case in cases)
                self._left.append(stmt)
                core = self._any(bodies, function, jumps=jumps or stmt in self._core)
                self._left.pop()
                core = core or self._acts(selector)
        if core:
            self._add(self._core, stmt)
            for expr in ir.statement_expressions(stmt):
                if not isinstance(expr, ir.LaunchCall):  # which of its values matter has been told apart
                    self._need(self._def_uses.get(expr))
        return core

    def _note_given(self, function: ir.Function) -> None:
        """Variables that keep what they begin with, which is given."""
        for stmt in ir.walk_statements(function.body):
            if isinstance(stmt, ir.Declare) and stmt.value is not None:
                names = self._asked(stmt.value)
                is_kept = stmt.variable not in self._written and stmt.variable not in self._reader.escaped
                if names is not None and is_kept:
                    self._given[stmt.variable] = names

    def _asked_by(self, function: ir.Function) -> frozenset[str] | None:
        """What a function asks for that makes its value of that, its arguments and constants alone."""
        before = self._given
        self._given = {**before, **dict.fromkeys(function.parameters, frozenset[str]())}
        self._note_given(function)
        every = (expr for s in ir.walk_statements(function.body) for expr in ir.statement_expressions(s))
        found = [self._asked(expr) for expr in every]
        self._given = before
        names = [one for one in found if one is not None]
        return frozenset[str]().union(*names) if len(names) == len(found) else None

    def _asked(self, expr: ir.Expr) -> frozenset[str] | None:
        """The environment variables that alone tell a value, with constants; None where more does."""
        names = set[str]()
        for node in inner_expressions(expr):
            found: frozenset[str] | None = frozenset() if isinstance(node, _OF_VALUES) else None
            if isinstance(node, ir.Read):
                found = self._given.get(node.place.variable)
            elif isinstance(node, ir.Call):
                function, name = self._reader.graph.callee(node), node.name.removeprefix("std::")
                if function is not None:
                    found = self._given.get(function)
                elif name in _SETTINGS:
                    found = frozenset(a.value if isinstance(a, ir.Text) else "X" for a in node.arguments[:1])
                elif is_of_texts(name):
                    found = frozenset()
            if found is None:
                return None
            names |= found
        return frozenset(names)

    def _is_decided_before(self, stmt: ir.If, function: ir.Function) -> bool:
        """Whether it is known before the program starts if a jump happens; one that the environment decides
        and that leaves launches is noted.
        """
        arms = [stmt.then, *(() if stmt.otherwise is None else (stmt.otherwise,))]
        jumping = [arm for arm in arms if self._is_jump(arm)]
        names = self._asked(stmt.condition) if jumping else None
        if names is None or names == _ARGC:
            return False
        names -= _ARGC
        graph, inner = self._reader.graph, list(ir.walk_statements(jumping[0]))
        is_exit = any(isinstance(one, ir.ExprStmt) and graph.never_returns(one.expr) for one in inner)
        leaves = any(isinstance(one, ir.Return) for one in inner) and graph.launches_in(function.body)
        if names and len(jumping) == 1 and (is_exit or leaves) and not any(map(graph.launches_in, arms)):
            self._passed[stmt] = PassedJump(jumping[0] is stmt.then, " or ".join(sorted(names)))
        return True

    def _any(self, statements: tuple[ir.Stmt, ...], function: ir.Function, *, jumps: bool) -> bool:
        found = [self._visit(stmt, function, jumps=jumps) for stmt in statements]  # each must be visited
        return any(found)

    # ----------------------------------------------------------------- what remains

    def _collect(self, stmt: ir.Stmt, function: ir.Function, skipped: set[ir.Stmt]) -> None:
        if stmt not in self._core and stmt not in self._kept.statements and not self._is_jump(stmt):
            if isinstance(stmt, ir.If) and (parts := tuple(self._failing(stmt, function))):
                self._checks[stmt] = parts
            else:
                skipped.add(stmt)
            return
        for inner in ir.nested_statements(stmt):
            is_needed = inner in self._core or inner in self._kept.statements
            if isinstance(inner, ir.ExprStmt) and not is_needed:
                skipped.add(inner)
            else:
                self._collect(inner, function, skipped)

    def _ending(self) -> Kept:
        """What ends the program, where what it tests is told."""
        pure = {f for f in self._functions if self._given.get(f) == frozenset()}
        functions = {function: steps_of(function, self._step) for function in self._functions}
        return kept_of(functions, self._core, self._valued | self._effective | pure)

    def _step(self, stmt: ir.Stmt, function: ir.Function) -> Step:
        exprs = ir.statement_expressions(stmt)
        found = [self._def_uses[expr] for expr in exprs]
        uses = set[Location]().union(*(one.uses for one in found))
        sets = set[Location]().union(*(one.defines for one in found))
        if isinstance(stmt, ir.Declare):
            sets.add(stmt.variable)
        memory = {one for one in uses if isinstance(one, ScalarType)}
        nodes = [node for expr in exprs for node in inner_expressions(expr)]
        graph = self._reader.graph
        return Step(
            stmt,
            frozenset(v for v in uses - self._locations - self._as_given if isinstance(v, ir.Variable)),
            memory <= self._locations and not any(map(_asks_for_success, nodes)),
            bool(memory),
            frozenset[ir.Function]().union(*(one.callees for one in found)),
            frozenset(v for v in sets if isinstance(v, ir.Variable) and self._is_own(v)),
            any(map(graph.never_returns, nodes)) or (isinstance(stmt, ir.Return) and function.name == "main"),
            not uses.isdisjoint(self._argc),
        )

    def _is_own(self, variable: ir.Variable) -> bool:
        """Whether a variable is a number of a call, which nothing writes but by its name, or a lambda."""
        if variable.role in OUTLIVING or variable in self._bound:
            return False
        is_number = variable.type.kind in (*NUMBERS, ir.TypeKind.POINTER) and variable.type.lanes == 1
        return (is_number and variable not in self._reader.escaped) or self._reader.graph.is_lambda(
            variable.type
        )

    def _failing(self, stmt: ir.If, function: ir.Function) -> Iterator[tuple[ir.Expr, bool]]:
        """Parts of the condition of a check, each of which alone makes it end the program, and how."""
        holds = self._ends(stmt.then, function)
        if holds is (stmt.otherwise is not None and self._ends(stmt.otherwise, function)):
            return
        waiting = [stmt.condition]
        while waiting:
            part = waiting.pop()
            if isinstance(part, ir.Logical) and (part.op is ir.LogicalOp.OR) is holds:
                waiting += (part.left, part.right)
            elif (found := self._reader.def_use(part)).uses & self._locations and self._is_told(found):
                yield part, holds

    def _ends(self, stmt: ir.Stmt, function: ir.Function) -> bool:
        """Whether the program ends behind a statement."""
        inner = stmt.statements[-1:] if isinstance(stmt, ir.Block) else (stmt,)
        return any(
            (isinstance(one, ir.Return) and function.name == "main")
            or (isinstance(one, ir.ExprStmt) and self._reader.graph.never_returns(one.expr))
            for one in inner
        )

    def _is_told(self, def_use: DefUse) -> bool:
        return def_use.uses <= self._locations and def_use.callees <= self._valued

    def _is_jump(self, stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.Return() | ir.Break() | ir.Continue():
                return True
            case ir.ExprStmt(expr=expr):
                return self._reader.graph.never_returns(expr)
            case ir.Block(statements=statements):
                return any(self._is_jump(inner) for inner in statements)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                if not self._is_told_when_called(self._def_uses[condition]):
                    return False
                return self._is_jump(then) or (otherwise is not None and self._is_jump(otherwise))
            case _:
                return False

    def _is_told_when_called(self, found: DefUse) -> bool:
        """Whether a value is told by what is relevant anyway and by what the function is given."""
        return found.uses <= self._locations | self._as_given and found.callees <= self._valued
