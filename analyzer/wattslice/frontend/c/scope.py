"""What a C function knows while it is lowered: its unit, its names, its numbering."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from pycparser import c_ast

from wattslice import ir
from wattslice.frontend.c.types import (
    CType,
    Node,
    Number,
    TypeTable,
    common,
    constant_number,
    pointer_to,
)
from wattslice.ir import INT32, INT64, UNKNOWN_TYPE, BinaryOp, MemorySpace, Span, Type, TypeKind
from wattslice.ir.c_arithmetic import converted, wrapped


class CLoweringError(Exception):
    """A construct outside the supported C; the line is 1-based."""

    def __init__(self, message: str, node: Node) -> None:
        super().__init__(message)
        self.coord = getattr(node, "coord", None)


class CTooLargeError(Exception):
    """A function beyond what the analysis follows in reasonable time."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression and, for pointers into arrays, the dimensions of what it points at."""

    expr: ir.Expr
    dimensions: Dimensions = ()


@dataclass(frozen=True, slots=True)
class Object:
    """Something that can be read and assigned."""

    place: ir.RegisterPlace | None
    address: ir.Expr | None
    type: Type
    dimensions: Dimensions
    root: ir.Variable | None


class Unit:
    """What all functions of a translation unit share."""

    def __init__(self) -> None:
        self.types = TypeTable(self.fold)
        self.functions: dict[str, Node] = {}
        self.globals: dict[str, tuple[ir.Variable, Dimensions]] = {}
        self.constants: dict[str, int | float] = {}
        self.diagnostics: list[ir.Diagnostic] = []

    def fold(self, node: Node) -> int | None:
        """Integer value of a constant expression; None when it is none."""
        found = constant_number(node, self.types, self.named)
        return found.value if found is not None and isinstance(found.value, int) else None

    def named(self, name: str) -> Number | None:
        """The constant that a name at file scope stands for: an enumerator or a `const` variable."""
        if name in self.types.enumerators:
            value = self.types.enumerators[name]
            return Number(value, INT32 if wrapped(value, INT32) == value else INT64)
        if name not in self.constants:
            return None
        type_ = self.globals[name][0].type
        value = converted(self.constants[name], type_)
        return None if value is None else Number(value, type_)

    def report(self, rule: str, severity: ir.Severity, span: Span, message: str) -> None:
        """Add a diagnostic, each once."""
        found = ir.Diagnostic(rule, severity, span.file, span.line, message)
        if found not in self.diagnostics:
            self.diagnostics.append(found)


def span_of(node: Node) -> Span:
    """Where a node stands; pycparser knows starts only, ends come from the nodes inside."""
    coord = node.coord
    if coord is None:
        return Span("", 0, 0, 0)
    return Span(str(coord.file), int(coord.line), int(coord.column or 1), _last_line(node, str(coord.file)))


_WIDE = (c_ast.Compound, c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.If, c_ast.Switch, c_ast.FuncDef)


def _last_line(node: Node, file: str) -> int:
    last = int(node.coord.line)
    stack: list[Node] = [node]
    # An expression seldom spans lines; walking each one to its end would cost the square of its length.
    budget = 400 if isinstance(node, _WIDE) else 24
    while stack and budget:
        budget -= 1
        current = stack.pop()
        coord = current.coord
        if coord is not None and str(coord.file) == file:
            last = max(last, int(coord.line))
        stack.extend(child for _, child in current.children())
    return last


class Scope(ABC):
    """One function while it is lowered; `is_host` leaves calls as calls and all variables on the host."""

    def __init__(self, unit: Unit, *, is_host: bool) -> None:
        self.unit = unit
        self.is_host = is_host
        self.is_complete = True
        self.regions = 0
        self.sites = 0
        self._nodes = 0
        self._scopes: list[dict[str, tuple[ir.Variable, Dimensions]]] = [{}]
        self._active: list[str] = []

    # ------------------------------------------------------------------------- bookkeeping

    def region(self) -> int:
        """The next region number."""
        self.regions += 1
        return self.regions - 1

    def _site(self) -> int:
        self.sites += 1
        return self.sites - 1

    def declare(self, name: str, ctype: CType, span: Span, role: ir.VariableRole) -> ir.Variable:
        """A new variable in the innermost scope; parameters of array type become pointers."""
        dimensions = tuple(
            d if d is None or isinstance(d, int) else self.value(d).expr for d in ctype.dimensions
        )
        type_ = ctype.as_ir()
        if role is ir.VariableRole.PARAMETER and dimensions:
            type_ = pointer_to(type_.element or UNKNOWN_TYPE)
            dimensions = dimensions[1:]
        elif type_.kind is TypeKind.POINTER and type_.element is not None:
            dimensions = constant_dimensions(type_.element)
        space = MemorySpace.HOST if self.is_host else MemorySpace.REGISTER
        if type_.kind is TypeKind.ARRAY and not self.is_host:
            space = MemorySpace.GLOBAL  # a C function has one memory
        variable = ir.Variable(name, type_, space, role, span)
        self._scopes[-1][name] = (variable, dimensions)
        return variable

    def _lookup(self, name: str) -> tuple[ir.Variable, Dimensions] | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return self.unit.globals.get(name)

    def hole(self, node: Node, message: str) -> None:
        """Something that could not be read."""
        self.is_complete = False
        self.unit.report("PW001", ir.Severity.WARNING, span_of(node), message)

    # ------------------------------------------------------------------------- expressions

    @abstractmethod
    def block(self, node: Node) -> ir.Block:
        """A block of statements; the statements' room knows how."""

    @abstractmethod
    def value(self, node: Node) -> Value:
        """The value of an expression; the expressions' room knows how."""

    @abstractmethod
    def parameters(self, definition: Node) -> tuple[ir.Variable, ...]:
        """The parameters of a definition, declared; the statements' room knows how."""


# ---------------------------------------------------------------------------
# Building blocks of expressions: casts, strides of arrays, unknown calls, roots of addresses.


Dimensions = tuple["int | ir.Expr | None", ...]


def opaque(name: str, arguments: list[ir.Expr], type_: Type, span: Span) -> ir.Expr:
    """A call whose cost and value are unknown."""
    return ir.Intrinsic(name, tuple(arguments), (), ir.Semantics.OPAQUE, True, type_, span)


def constant_dimensions(type_: Type) -> Dimensions:
    """The lengths of an array type, outermost first."""
    found: list[int | ir.Expr | None] = []
    while type_.kind is TypeKind.ARRAY and type_.element is not None:
        found.append(type_.length)
        type_ = type_.element
    return tuple(found)


def stride_of(element: Type, dimensions: Dimensions, span: Span) -> tuple[Dimensions, int, ir.Expr | None]:
    """Distance of neighbours: dimensions of the element, bytes, and a run-time factor (VLA) or None."""
    if element.kind is not TypeKind.ARRAY:
        return constant_dimensions(element), element.size_bytes, None
    scale, factor = 1, None
    for dimension in dimensions:
        if isinstance(dimension, int):
            scale *= dimension
        elif dimension is not None:
            if factor is None:
                factor = dimension
            else:
                type_ = common(factor.type, dimension.type)
                factor = ir.Binary(BinaryOp.MUL, factor, dimension, type_, type_, span)
    inner = element
    while inner.kind is TypeKind.ARRAY and inner.element is not None:
        inner = inner.element
    return dimensions, scale * inner.size_bytes, factor


def cast_to(expr: ir.Expr, type_: Type, span: Span) -> ir.Expr:
    """`expr` converted to `type_` where that changes it."""
    source = expr.type
    scalars = (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL)
    if source.kind not in scalars or type_.kind not in scalars:
        return expr
    if (source.kind, source.bits, source.signed) == (type_.kind, type_.bits, type_.signed):
        return expr
    if isinstance(expr, ir.Constant):
        value = converted(expr.value, type_)
        if value is not None:
            return ir.Constant(value, type_, expr.span)
    return ir.Cast(expr, type_, span)


def root_of(expr: ir.Expr) -> ir.Variable | None:
    """The variable that an address is derived from, when that is evident."""
    while True:
        match expr:
            case ir.PointerOffset(pointer=pointer):
                expr = pointer
            case ir.Cast(operand=operand):
                expr = operand
            case ir.AddressOf(variable=variable):
                return variable
            case ir.Read(place=place):
                return place.variable
            case ir.Load(place=place):
                return place.root
            case _:
                return None
