"""What lowering the body of one function needs: `Body`, which every module of this folder works on.

Modules register which kinds of nodes they lower; `Body.expr` and `Body.location` ask them. A body knows
what names mean in it, numbers regions and sites, and has a `Frame` for each call that is inlined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from ctypes import ArgumentError
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.kinds import UnaryOperator as U
from wattslice.frontend.cuda.lowering.types import is_wide_record, pointer_to, promoted
from wattslice.frontend.cuda.lowering.unit import FILE_BUDGET_NODES, FunctionInfo, Rejections, Unit
from wattslice.ir import BuiltinKind, Expr, MemorySpace, RegisterPlace, Span, Stmt, Type, TypeKind, Variable
from wattslice.ir.c_arithmetic import converted
from wattslice.ir.objects import part_of

INLINING_BUDGET_NODES = 20_000
"""What calls of functions that call themselves may add; as soon as there is one."""
PLAIN_CALLS_NODES = 100_000
"""The same of functions that do not."""
MOST_RECURSION = 64


class TooLargeError(Exception):
    """A kernel beyond what the analysis follows in reasonable time."""


FEWEST_FOLDED = 8
"""Statements of a block from which on repetitions are looked for."""
TOO_LARGE = (TooLargeError, RecursionError, ArgumentError)
"""What ends the lowering of code that is too large; ctypes makes its own error of one of recursion."""


class LoweringError(Exception):
    """A construct that lowering cannot express; the statement around it becomes a hole with a diagnostic."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.node = node


class Cell(Struct, frozen=True, eq=False):
    """An object in memory before anybody accesses it: a `MemoryPlace` without its site."""

    address: Expr
    space: MemorySpace
    type: Type
    root: Variable | None
    is_volatile: bool = False


Location = RegisterPlace | Cell


NUMBER_OF_NO_INSTANCE = 32
"""A whole number that a template has for a parameter, where the source neither instantiates it nor says."""


class PointsTo(Struct, frozen=True, eq=False):
    """A pointer variable known to point at one place: `float* p = &x`, `f(&x)`, `f(array)`."""

    place: Location


# What a declared name means: a variable, another name for a place, a pointer to a place, or a known value.
Binding = Variable | RegisterPlace | Cell | PointsTo | ir.Constant


class Pointee(Struct, frozen=True):
    """Where a pointer value points: the space and the variable its address is derived from; `named`: the very
    object, of a reference, which is never bound anew.
    """

    space: MemorySpace
    root: Variable | None
    named: Location | None = None


class Guard(Struct, frozen=True, eq=False):
    """An object whose destructor runs where control leaves its scope, of blocks that are so deep."""

    where: Location
    destructor: Node
    depth: int = 0
    is_by_library: bool = False  # an element's, of host code


class Target(Struct, frozen=True, eq=False):
    """What a jump of the function may leave: a loop, a switch, or the statements in front of a `label`.

    `guards`: how many objects with destructors are older than it. `depth`: of the block that a label is in.
    """

    guards: int
    is_loop: bool = False
    label: str | None = None
    depth: int = 0


class Rejected(Struct):
    """What clang found errors in, in front of a statement, in it, and behind it: texts and their places."""

    before: list[tuple[str, Span]] = field(default_factory=list[tuple[str, Span]])
    within: tuple[str, Span] | None = None
    behind: list[tuple[str, Span]] = field(default_factory=list[tuple[str, Span]])


class Frame(Struct):
    """One inlined function while its body is lowered."""

    info: FunctionInfo | None
    this: Location | None
    # What its `return`s give where they return a reference: the object, its address, or its value.
    results_in_memory: bool = False
    results_as_values: bool = False
    returns_address: bool = False  # a host function whose result is a reference gives where the object is
    result_locations: list[Location] = field(default_factory=list[Location])
    result_pointees: list[Pointee] = field(default_factory=list[Pointee])
    guards: list[Guard] = field(default_factory=list[Guard])
    targets: list[Target] = field(default_factory=list[Target])


ExpressionHandler = Callable[["Body", Node], Expr]
LocationHandler = Callable[["Body", Node], "Location | None"]
StatementHandler = Callable[["Body", Node], list[Stmt]]
EXPRESSIONS: dict[int, ExpressionHandler] = {}
LOCATIONS: dict[int, LocationHandler] = {}
STATEMENTS: dict[int, StatementHandler] = {}


Handler = TypeVar("Handler", bound=Callable[..., object])


def _registering(table: dict[int, Handler]) -> Callable[..., Callable[[Handler], Handler]]:
    def of_kinds(*kinds: int) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            table.update(dict.fromkeys(map(int, kinds), handler))
            return handler

        return register

    return of_kinds


expression = _registering(EXPRESSIONS)
"""Register the lowering of expression kinds."""
location = _registering(LOCATIONS)
"""Register how expression kinds name an object (None: this one names no object)."""
statement = _registering(STATEMENTS)
"""Register the lowering of statement kinds."""


class Body:
    """One kernel or host function while it is lowered: numbering, names in scope, inlined frames."""

    def __init__(self, unit: Unit, *, is_host: bool) -> None:
        self.unit = unit
        self.is_host = is_host
        self.regions = 0
        self.sites = 0
        self.nodes = 0
        self.depth = 0
        self.most_nodes = unit.nodes_left if not is_host else FILE_BUDGET_NODES
        # The inlining budget: nodes that finished calls added, and the count when the running one began.
        self.inlined_nodes = 0
        self.nodes_at_call = 0
        self.has_recursion = False
        # Whether statements that repeat each other are folded, and what stands for their literals then.
        self.folds = False
        self.literals: dict[int, Expr] = {}
        self.folded = 0
        self.holes: list[ir.Diagnostic] = []
        self.assumed: list[ir.Diagnostic] = []
        self.names: dict[int, Binding] = {}
        # Names of references and structured bindings, for text that could not be read.
        self.bindings: dict[str, Location] = {}
        self.pointees: dict[tuple[Variable, tuple[str, ...]], Pointee] = {}
        # Facts about expressions just built; the expression is kept beside them so that its id stays its own.
        self.expression_pointees: dict[int, tuple[Expr, Pointee]] = {}
        self.register_addresses: dict[int, tuple[Expr, RegisterPlace]] = {}
        self.function: Node | None = None
        self.frames: list[Frame] = [Frame(None, None)]
        self.shared: list[Variable] = []
        # What the effects of a statement's expressions are run before it, and behind it.
        self.before: list[Stmt] = []
        self.after: list[Stmt] = []
        # Template values and constants by their spelling, for pragmas that name them.
        self.known: dict[Variable, int | float] = {}
        # Functions and lambdas that variables and parameters stand for.
        self.functions: dict[int, Node] = {}
        # Of closures, by their bodies: the copies of variables that they keep.
        self.closures: dict[Span, dict[int, Binding]] = {}
        self.line_span: Span | None = None
        # Where clang found errors, of host code: what may have been lost there.
        self.rejections: Rejections | None = None
        self.lost: dict[int, Rejected] = {}
        # A jump that is not followed.
        self.lost_jump: Span | None = None
        # Calls whose value makes an object with a name of its own, by their places in clang's tree.
        self.naming: set[int | None] = set()
        # Which thread of an OpenMP team runs what is being lowered.
        self.thread: Variable | None = None
        # What the handler around names by reference, of host code.
        self.handled: Variable | None = None
        # Lambdas written in a host function.
        self.lambdas: list[ir.Function] = []

    # -- numbering -----------------------------------------------------------------------------------------

    def region(self) -> int:
        """The next region number."""
        self.regions += 1
        return self.regions - 1

    def site(self) -> int:
        """The next site number."""
        self.sites += 1
        return self.sites - 1

    # -- spans ---------------------------------------------------------------------------------------------

    def span(self, node: Node) -> Span:
        """The span of an expression: that of its statement when the statement stands on one line."""
        line = self.line_span
        return self.unit.spans.span(node) if line is None else line

    @contextmanager
    def statement_span(self, node: Node) -> Generator[Span]:
        """Set the span that the expressions of a one-line statement share."""
        previous = self.line_span
        span = self.unit.spans.span(node)
        self.line_span = span if span.line == span.end_line and span.line else None
        try:
            yield span
        finally:
            self.line_span = previous

    # -- trees ---------------------------------------------------------------------------------------------

    def expr(self, node: Node) -> Expr:
        """The value of an expression."""
        self.nodes += 1
        if self.nodes > self.most_nodes:
            raise TooLargeError(f"the file's kernels hold more than {FILE_BUDGET_NODES} operations")
        if self.literals and (counter := self.literals.get(id(node))) is not None:
            return counter
        handler = EXPRESSIONS.get(node.kind)
        if handler is None:
            raise LoweringError(f"expression of kind {node.kind} is not supported", node)
        return handler(self, node)

    def location(self, node: Node) -> Location | None:
        """The object that an expression names; None when it names none (it is a mere value)."""
        handler = LOCATIONS.get(node.kind)
        return None if handler is None else self.named(node, handler(self, node))

    def named(self, node: Node, where: Location | None) -> Location | None:
        """The object `where` under the name `node`, whose type says whether accesses are volatile."""
        if isinstance(where, Cell) and not where.is_volatile and self.unit.types.is_volatile(node.raw):
            return replace(where, is_volatile=True)
        return where

    def type(self, node: Node) -> Type:
        """The type of a node."""
        known = node.lowered_type
        if known is None:
            known = node.lowered_type = self.unit.types.of(node.raw)
        return known

    # -- names ---------------------------------------------------------------------------------------------

    def home(self, type_: Type) -> MemorySpace:
        """Where an automatic variable of a type lives."""
        if self.is_host:
            return MemorySpace.HOST
        if type_.kind is TypeKind.ARRAY or is_wide_record(type_):
            return MemorySpace.GLOBAL if self.unit.is_c else MemorySpace.LOCAL  # C has one memory
        return MemorySpace.REGISTER

    def temporary(self, name: str, type_: Type, span: Span) -> Variable:
        """A fresh register variable that the source does not have."""
        space = MemorySpace.HOST if self.is_host else MemorySpace.REGISTER
        return Variable(name, type_, space, ir.VariableRole.TEMPORARY, span)

    @property
    def frame(self) -> Frame:
        """The innermost function."""
        return self.frames[-1]

    # -- diagnostics ---------------------------------------------------------------------------------------

    def hole(self, rule: str, span: Span, message: str) -> None:
        """Something in the body that could not be read."""
        self.holes.append(self.unit.report(rule, ir.Severity.WARNING, span, message))

    def report_errors_in(self, node: Node) -> None:
        """Errors that clang reported inside a kernel or a followed function: code may be missing there."""
        unit = self.unit
        if not unit.errors:
            return
        span = unit.spans.span(node)
        for error in unit.errors:
            if span.line <= error.line <= span.end_line and str(error.path) == span.file:
                where = Span(span.file, error.line, error.column, error.line)
                if unit.is_device_launch(error):
                    unit.report("PW006", ir.Severity.NOTE, where, ir.DEVICE_LAUNCH)
                    continue
                self.hole("PW001", where, f"not understood: {error.message}{self._undeclared_at(where)}")

    def _undeclared_at(self, where: Span) -> str:
        """The names in a line that nothing declares: what clang says of it rests on a guess at them."""
        parsed = self.unit.parsed
        if not parsed.recovered.declared:
            return ""
        line = parsed.files.text_of(Path(where.file)).split(b"\n")[where.line - 1].decode("utf-8", "replace")
        words = dict.fromkeys(re.findall(r"\w+", line))
        names = [f"'{word}'" for word in words if word in parsed.recovered.unknown]
        return f" (nothing declares {', '.join(names)})" if names else ""


# ---------------------------------------------------------------------------
# What a name refers to: bindings of the body, file-scope variables, constants known at compile time.


_SPACES = {
    C.CUDASHARED_ATTR: MemorySpace.SHARED,
    C.CUDACONSTANT_ATTR: MemorySpace.CONSTANT,
    C.CUDADEVICE_ATTR: MemorySpace.GLOBAL,
}


_BUILTINS = {
    "threadIdx": BuiltinKind.THREAD_IDX,
    "blockIdx": BuiltinKind.BLOCK_IDX,
    "blockDim": BuiltinKind.BLOCK_DIM,
    "gridDim": BuiltinKind.GRID_DIM,
    "warpSize": BuiltinKind.WARP_SIZE,
}


def memory_attribute(declaration: Node) -> MemorySpace | None:
    """The space that `__shared__`, `__constant__`, `__device__` or `__managed__` puts a variable in."""
    found: MemorySpace | None = None
    for child in declaration.children:
        space = _SPACES.get(child.kind)  # type: ignore[call-overload]
        if space is not None and found is not MemorySpace.CONSTANT and found is not MemorySpace.SHARED:
            found = space
        elif child.kind == C.ANNOTATE_ATTR and child.spelling == "managed":
            found = found or MemorySpace.GLOBAL
    return found


def declaration_key(body: Body, node: Node) -> int:
    """Identity of the declaration that a name refers to; 0 when it refers to none. One call into libclang."""
    raw = body.unit.referenced(node.raw)
    return 0 if 70 <= raw.kind <= 73 else raw.data0


def builtin_vector(body: Body, node: Node) -> BuiltinKind | None:
    """`threadIdx` and its like (`warpSize` too), when `node` names one of the prelude's."""
    if node.kind != C.DECL_REF_EXPR or body.is_host:
        return None
    key = declaration_key(body, node)
    known = body.unit.builtins
    if key not in known:
        kind = _BUILTINS.get(node.spelling)
        declaration = None if kind is None else node.referenced
        is_ours = declaration is not None and body.unit.parsed.is_builtin(declaration)
        known[key] = kind if is_ours else None
    return known[key]


def binding_of(body: Body, node: Node) -> Binding:
    """What the name in a DECL_REF_EXPR (or of a static member) means here."""
    if (found := body.names.get(declaration_key(body, node))) is not None:
        return found
    declaration = node.referenced
    if declaration is None:
        raise LoweringError(f"'{node.spelling}' is not declared", node)
    key = declaration.raw.data0
    kind = declaration.kind
    span = body.span(node)
    if kind == C.ENUM_CONSTANT_DECL and body.unit.parsed.is_made_up(declaration):
        return body.names.setdefault(key, file_scope_variable(body, declaration))
    if kind == C.ENUM_CONSTANT_DECL:
        type_ = _enum_type(body, declaration)
        value = ir.Constant(converted(declaration.enum_value, type_) or 0, type_, span)
        return body.names.setdefault(key, value)
    if kind == C.PARM_DECL:
        parameter = Variable(
            declaration.spelling, body.type(declaration), body.home(body.type(declaration)),
            ir.VariableRole.PARAMETER, span
        )  # fmt: skip
        return body.names.setdefault(key, parameter)
    if kind in (C.VAR_DECL, C.UNEXPOSED_DECL):
        constant = constant_of_global(body, declaration, key, span)
        if constant is not None:
            return body.names.setdefault(key, constant)
        variable = file_scope_variable(body, declaration)
        if variable.type != (type_ := body.unit.types.of(declaration.raw)):  # a reference, kept as a pointer
            address = ir.Read(RegisterPlace(variable, (), variable.type), variable.type, span)
            return body.names.setdefault(key, Cell(address, MemorySpace.HOST, type_, variable))
        body.names[key] = variable
        if variable.space is MemorySpace.SHARED and variable not in body.shared:
            body.shared.append(variable)
        return variable
    if kind == C.TEMPLATE_NON_TYPE_PARAMETER:
        found = body.names[key] = _of_no_instance(body, node, declaration, span)
        return found
    raise LoweringError(f"'{node.spelling}' is no value", node)


def _of_no_instance(body: Body, node: Node, parameter: Node, span: Span) -> Binding:
    """What the parameter of a template is that nobody instantiates: its default, else a number that suits a
    tile or a warp. The note about the template says so, and the kernel assumes it.
    """
    type_ = body.type(node)
    default = next((child for child in parameter.children if child.kind >= 100), None)
    value = None if default is None else default.evaluate()
    number = None if value is None else converted(value, type_)
    if number is None and type_.kind in (TypeKind.BOOL, TypeKind.INT):
        number = 1 if type_.kind is TypeKind.BOOL else NUMBER_OF_NO_INSTANCE
    if number is not None:
        why = f"'{node.spelling}' of a template that is not instantiated: {node.spelling} assumed {number}"
        body.assumed.append(ir.Diagnostic("PW010", ir.Severity.NOTE, span.file, span.line, why))
        return ir.Constant(number, type_, span)
    return Variable(node.spelling, type_, MemorySpace.REGISTER, ir.VariableRole.PARAMETER, span)


def _enum_type(body: Body, declaration: Node) -> Type:
    type_ = body.type(declaration)
    return promoted(type_) if type_.is_integral else ir.INT32


def constant_of_global(body: Body, declaration: Node, key: int, span: Span) -> ir.Constant | None:
    """The value of a const or constexpr scalar at file scope (or a static const local)."""
    unit = body.unit
    if key in unit.global_values:
        known = unit.global_values[key]
        return None if known is None else replace(known, span=span)
    unit.global_values[key] = None
    type_ = unit.types.of(declaration.raw)
    if type_.kind in (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT) and type_.lanes == 1:
        clang = declaration.type
        if clang.is_const or clang.canonical.is_const:
            definition = declaration.definition or declaration
            value = definition.evaluate()
            number = None if value is None else converted(value, type_)
            if number is not None and not unit.parsed.is_made_up(declaration):
                unit.global_values[key] = ir.Constant(number, type_, span)
    return unit.global_values[key]


def _first_mention(body: Body, name: str) -> Span:
    """The first line of the analysed file with this word; its whole when only a header has it (line 0)."""
    parsed = body.unit.parsed
    found = re.search(rb"\b" + re.escape(name.encode()) + rb"\b", parsed.source)
    line = 0 if found is None else parsed.source.count(b"\n", 0, found.start()) + 1
    return Span(str(parsed.path), line, 1, line)


def _is_exported(unit: Unit, declaration: Node) -> bool:
    """Whether a header, or what stands before its definition, declares a variable for other files."""
    first, defined = declaration.canonical, declaration.definition
    is_elsewhere = unit.spans.span(first).file != str(unit.parsed.path)
    return declaration.is_external and (
        is_elsewhere or defined is None or first.raw.data0 != defined.raw.data0
    )


def file_scope_variable(body: Body, declaration: Node) -> Variable:
    """The variable of a declaration outside the body, made once per unit (its initialiser comes later)."""
    unit = body.unit
    key = declaration.canonical.raw.data0  # of several declarations one
    for seen_by_host in (False, body.is_host):
        known = unit.globals.get((key, seen_by_host))
        if known is not None and (body.is_host or not seen_by_host):
            unit.touched += (*unit.behind[known], (declaration, body.is_host, known))
            return known
    told, before = len(unit.reported), len(unit.touched)
    type_ = unit.types.of(declaration.raw)
    attribute = MemorySpace.GLOBAL if unit.is_c else memory_attribute(declaration)
    space = attribute or MemorySpace.HOST
    if type_.kind is TypeKind.RECORD and type_.name.startswith(("texture<", "surface<", "texture ")):
        space = MemorySpace.TEXTURE
    clang = declaration.type
    if unit.parsed.is_made_up(declaration):
        space = MemorySpace.HOST if body.is_host else MemorySpace.REGISTER
        message = f"'{declaration.spelling}' is declared nowhere: its value is unknown"
        unit.report("PW001", ir.Severity.WARNING, _first_mention(body, declaration.spelling), message)
    elif space is MemorySpace.HOST and not body.is_host and _is_local(declaration):
        # What a lambda captured where it was written on the host comes to the kernel as a parameter.
        space = MemorySpace.REGISTER
    elif space is MemorySpace.HOST and not body.is_host:
        # A const array or constexpr object used on the device: the compiler puts it into constant memory.
        space = MemorySpace.CONSTANT
    is_reference = space is MemorySpace.HOST and body.is_host and unit.types.is_reference(declaration.raw)
    initializer = _referred_to(body, declaration) if is_reference else None
    if initializer is not None or (is_reference and declaration.definition is None):
        type_ = pointer_to(type_)
    else:
        initializer = _initializer(body, declaration, unit.spans.span(declaration))
    variable = Variable(
        declaration.spelling,
        type_,
        space,
        ir.VariableRole.FILE_SCOPE,
        unit.spans.span(declaration),
        dynamic=space is MemorySpace.SHARED and type_.kind is TypeKind.ARRAY and type_.length is None,
        is_constant=clang.is_const or _never_changes(declaration),
        initializer=initializer,
        linked_as=declaration.mangled_name if declaration.is_external else None,
        is_of_thread=declaration.is_of_thread,
        is_exported=_is_exported(unit, declaration),
    )
    variable = unit.same_variable(declaration, variable)
    unit.globals[(key, body.is_host and attribute is None)] = variable
    unit.behind[variable] = unit.touched[before:]
    unit.touched.append((declaration, body.is_host, variable))
    del unit.reported[told:]  # told anew where the variable is named anew
    return variable


def lost_initial_value(unit: Unit, declaration: Node) -> bool:
    """Whether clang has dropped the initial value of a variable: it names what an error took away."""
    node = declaration.definition or declaration
    if unit.is_c or node.initializer is not None or node.is_extern:
        return False
    if node.type.canonical.kind == K.RECORD:  # else a constructor stands there
        return True
    found = unit.spans.source(node)
    return found is not None and found[0].data[found[2] : found[2] + 80].lstrip()[:1] in _VALUE_BEGINS


_VALUE_BEGINS = (b"=", b"(", b"{")


def _never_changes(declaration: Node) -> bool:
    """Whether an object is const, and its values are written with it."""
    value = (declaration.definition or declaration).initializer
    element = declaration.type
    while not element.is_const and element.kind in (K.CONSTANTARRAY, K.INCOMPLETEARRAY):
        element = element.element
    return element.is_const and value is not None and value.kind >= 100


def _is_local(declaration: Node) -> bool:
    parent = declaration.semantic_parent
    return parent is not None and parent.kind in (C.FUNCTION_DECL, C.CXX_METHOD, C.FUNCTION_TEMPLATE)


def _initializer(body: Body, declaration: Node, span: Span) -> Expr | None:
    """The initial value of a file-scope variable; opaque where it is written but cannot be read.

    In host code None for that too: nobody there takes a missing value for zero.
    """
    with _initialising(body, declaration) as node:
        if node is None:
            return None
        try:
            return Body(body.unit, is_host=True).expr(node)
        except LoweringError:
            if body.is_host:
                return None
            type_ = body.type(declaration)
            return ir.Intrinsic("initial value", (), (), ir.Semantics.OPAQUE, False, type_, span)


def _referred_to(body: Body, declaration: Node) -> Expr | None:
    """The address of what a reference at file scope names; None of one to a value, or of another file's."""
    span, type_ = body.unit.spans.span(declaration), body.unit.types.of(declaration.raw)
    host = Body(body.unit, is_host=True)
    with _initialising(body, declaration) as node:
        try:
            where = None if node is None else host.location(node)
        except LoweringError:
            where = None
        if where is None and node is not None and not _may_name_a_value(declaration):
            where = somewhere(host, node, type_)
    return None if where is None else _address(where, span)


def _may_name_a_value(declaration: Node) -> bool:
    type_ = declaration.type.canonical
    return type_.kind == K.RVALUEREFERENCE or type_.pointee.is_const


def _address(where: Location, span: Span) -> Expr:
    if isinstance(where, Cell):
        return where.address
    part = part_of(where.variable.type, where.path)
    start = ir.AddressOf(where.variable, pointer_to(where.variable.type), span)
    return ir.PointerOffset(
        start, None, 1, part[0] if part else 0, False, False, pointer_to(where.type), span
    )


def somewhere(body: Body, node: Node, type_: Type) -> Cell:
    """In host code: the object that an expression names when nobody knows which: perhaps one named in it."""
    places: list[Location | None] = [body.frame.this]
    for name in node.walk():
        if name.kind == C.DECL_REF_EXPR:
            try:
                places.append(body.location(name))
            except LoweringError:
                continue
    addresses = tuple(_address(place, body.span(node)) for place in places if place is not None)
    pointer = ir.Call(ir.UNREAD, ir.UNREAD, addresses, pointer_to(type_), body.span(node))
    return Cell(pointer, MemorySpace.HOST, type_, None)


@contextmanager
def _initialising(body: Body, declaration: Node) -> Generator[Node | None]:
    """What a file-scope variable is initialised with, while it is lowered; None where nothing is written."""
    node = (declaration.definition or declaration).initializer
    key = declaration.canonical.raw.data0
    open_ones = body.unit.initialising
    if key in open_ones:
        raise LoweringError(f"'{declaration.spelling}' is initialised with itself", declaration)
    open_ones.add(key)
    try:
        yield None if node is None or node.kind < 100 else node
    finally:
        open_ones.remove(key)


def function_named(body: Body, node: Node) -> Node | None:
    """The function or lambda that an expression names: `f`, `&f`, a template argument, a bound parameter."""
    current: Node | None = node
    while current is not None:
        if current.kind == C.LAMBDA_EXPR:
            return current
        if current.kind in (C.DECL_REF_EXPR, C.MEMBER_REF_EXPR):
            target = current.referenced
            if target is not None:
                if target.kind in (C.FUNCTION_DECL, C.CXX_METHOD):
                    return target
                if target.kind in (C.PARM_DECL, C.VAR_DECL):
                    return body.functions.get(target.raw.data0)
        inner = [child for child in current.children if child.kind >= 100]
        wraps = current.kind in _FUNCTION_WRAPPERS and len(inner) == 1
        current = inner[0] if wraps else None
    return None


def changed_in(unit: Unit, code: Node) -> set[int]:
    """The variables and parameters that `code` assigns, takes the address of, or hands on by reference."""
    if code in unit.changed:
        return unit.changed[code]
    found = unit.changed[code] = set[int]()
    for node in code.walk():
        is_change = (
            node.kind == C.COMPOUND_ASSIGNMENT_OPERATOR
            or (node.kind == C.BINARY_OPERATOR and node.binary_operator == B.ASSIGN)
            or (node.kind == C.UNARY_OPERATOR and node.unary_operator in _CHANGES)
        )
        target = node.children[0] if is_change and node.children else None
        declaration = None if target is None or target.kind != C.DECL_REF_EXPR else target.referenced
        if declaration is not None:
            found.add(declaration.raw.data0)
        if node.kind in (C.CALL_EXPR, C.VAR_DECL):  # a value would be read first, by a conversion
            named = (child.referenced for child in node.children if child.kind == C.DECL_REF_EXPR)
            found.update(one.raw.data0 for one in named if one is not None)
    return found


_CHANGES = (U.PRE_INC, U.PRE_DEC, U.POST_INC, U.POST_DEC, U.ADDR_OF)

_FUNCTION_WRAPPERS = (
    C.UNEXPOSED_EXPR,
    C.PAREN_EXPR,
    C.UNARY_OPERATOR,
    C.DECL_REF_EXPR,
    C.CALL_EXPR,
    C.MEMBER_REF_EXPR,
    C.CSTYLE_CAST_EXPR,
)


def is_callable_type(type_: Type) -> bool:
    """Function pointers and closures."""
    if type_.kind is TypeKind.POINTER and type_.element is not None:
        return type_.element.name == "function"
    return type_.name == "function" or "lambda at" in type_.name


def function_around(body: Body) -> Node | None:
    """The function that what is being lowered was written in: the inlined one, where it has a name."""
    named = (C.FUNCTION_DECL, C.FUNCTION_TEMPLATE, C.CXX_METHOD)
    inlined = (frame.info.declaration for frame in reversed(body.frames) if frame.info is not None)
    return next((function for function in inlined if function.kind in named), body.function)


def printed_text(
    body: Body, node: Node, is_such: Callable[[Node], bool], texts: Callable[[str], Iterator[str]]
) -> str:
    """What clang prints for `node`, macros expanded; empty where that cannot be told.

    `is_such` tells the statements of its kind in the function, `texts` finds theirs in the function's text.
    """
    function = function_around(body)
    if function is None:
        return ""
    key = (function.raw.data0, texts)
    known = body.unit.printed.get(key)
    if known is None:
        statements = [inner.raw.data1 for inner in function.walk() if is_such(inner)]
        found = list(texts(function.printed))
        same = len(statements) == len(found)
        known = body.unit.printed[key] = dict(zip(statements, found, strict=True)) if same else {}
    return known.get(node.raw.data1, "")
