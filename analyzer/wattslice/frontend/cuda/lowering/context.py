"""The body being built: names in scope, inlined frames, numbering; and who lowers which kind of node."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering.types import is_wide_record
from wattslice.frontend.cuda.lowering.unit import DEVICE_LAUNCH, FILE_BUDGET_NODES, FunctionInfo, Unit
from wattslice.ir import (
    Constant,
    Diagnostic,
    Expr,
    MemorySpace,
    RegisterPlace,
    Severity,
    Span,
    Stmt,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)

INLINING_BUDGET_NODES = 20_000
MOST_RECURSION = 64


class TooLargeError(Exception):
    """A kernel beyond what the analysis follows in reasonable time."""


class LoweringError(Exception):
    """A construct that lowering cannot express; the statement around it becomes a hole with a diagnostic."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.node = node


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """An object in memory before anybody accesses it: a `MemoryPlace` without its site."""

    address: Expr
    space: MemorySpace
    type: Type
    root: Variable | None
    is_volatile: bool = False


Location = RegisterPlace | Cell


@dataclass(frozen=True, slots=True, eq=False)
class PointsTo:
    """A pointer variable known to point at a register place: `float* p = &x`, `f(&x)`."""

    place: RegisterPlace


# What a declared name means: a variable, another name for a place, a pointer to a register, or a known value.
Binding = Variable | RegisterPlace | Cell | PointsTo | Constant


@dataclass(frozen=True, slots=True)
class Pointee:
    """Where a pointer value points: the space and the variable its address is derived from."""

    space: MemorySpace
    root: Variable | None


@dataclass(slots=True)
class Frame:
    """One inlined function while its body is lowered."""

    info: FunctionInfo | None
    this: Location | None
    # What its `return`s give where they return a reference: the object, its address, or its value.
    results_in_memory: bool = False
    results_as_values: bool = False
    result_locations: list[Location] = field(default_factory=list[Location])
    result_pointees: list[Pointee] = field(default_factory=list[Pointee])


ExpressionHandler = Callable[["Body", Node], Expr]
LocationHandler = Callable[["Body", Node], "Location | None"]
StatementHandler = Callable[["Body", Node], list[Stmt]]
EXPRESSIONS: dict[int, ExpressionHandler] = {}
LOCATIONS: dict[int, LocationHandler] = {}
STATEMENTS: dict[int, StatementHandler] = {}


def expression(*kinds: int) -> Callable[[ExpressionHandler], ExpressionHandler]:
    """Register the lowering of expression kinds."""

    def register(handler: ExpressionHandler) -> ExpressionHandler:
        EXPRESSIONS.update(dict.fromkeys(map(int, kinds), handler))
        return handler

    return register


def location(*kinds: int) -> Callable[[LocationHandler], LocationHandler]:
    """Register how expression kinds name an object (None: this one names no object)."""

    def register(handler: LocationHandler) -> LocationHandler:
        LOCATIONS.update(dict.fromkeys(map(int, kinds), handler))
        return handler

    return register


def statement(*kinds: int) -> Callable[[StatementHandler], StatementHandler]:
    """Register the lowering of statement kinds."""

    def register(handler: StatementHandler) -> StatementHandler:
        STATEMENTS.update(dict.fromkeys(map(int, kinds), handler))
        return handler

    return register


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
        self.holes: list[Diagnostic] = []
        self.names: dict[int, Binding] = {}
        # Names of structured bindings; libclang does not list their declarations.
        self.bindings: dict[str, Location] = {}
        self.pointees: dict[tuple[Variable, tuple[str, ...]], Pointee] = {}
        # Facts about expressions just built; the expression is kept beside them so that its id stays its own.
        self.expression_pointees: dict[int, tuple[Expr, Pointee]] = {}
        self.register_addresses: dict[int, tuple[Expr, RegisterPlace]] = {}
        self.function: Node | None = None
        self.frames: list[Frame] = [Frame(None, None)]
        self.shared: list[Variable] = []
        self.before: list[Stmt] = []
        # Template values and constants by their spelling, for pragmas that name them.
        self.named_constants: dict[str, int] = {}
        self.known: dict[Variable, int | float] = {}
        # Functions and lambdas that variables and parameters stand for.
        self.functions: dict[int, Node] = {}
        self.line_span: Span | None = None

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
            return MemorySpace.LOCAL
        return MemorySpace.REGISTER

    def temporary(self, name: str, type_: Type, span: Span) -> Variable:
        """A fresh register variable that the source does not have."""
        space = MemorySpace.HOST if self.is_host else MemorySpace.REGISTER
        return Variable(name, type_, space, VariableRole.TEMPORARY, span)

    @property
    def frame(self) -> Frame:
        """The innermost function."""
        return self.frames[-1]

    # -- diagnostics ---------------------------------------------------------------------------------------

    def hole(self, rule: str, span: Span, message: str) -> None:
        """Something in the body that could not be read."""
        self.holes.append(self.unit.report(rule, Severity.WARNING, span, message))

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
                    unit.report("PW006", Severity.NOTE, where, DEVICE_LAUNCH)
                    continue
                self.hole("PW001", where, f"not understood: {error.message}")
