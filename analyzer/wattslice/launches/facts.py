"""What a host expression reads, writes and calls: the facts that the relevance of statements is decided on.

A location is a variable (as a whole) or, for objects reached through pointers, their scalar type: C lets
objects of one type be reached through pointers to that type only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.call_graph import CallGraph


@dataclass(frozen=True, slots=True)
class ScalarType:
    """All objects of one scalar type that pointers reach."""

    kind: ir.TypeKind
    bits: int


ANYTHING = ScalarType(ir.TypeKind.UNKNOWN, 0)
"""Memory behind an untyped pointer."""

Location = ir.Variable | ScalarType


@dataclass(slots=True)
class Facts:
    """Locations an expression defines and uses, the program's functions it calls, whether it launches."""

    defines: set[Location] = field(default_factory=set[Location])
    uses: set[Location] = field(default_factory=set[Location])
    callees: set[ir.Function] = field(default_factory=set[ir.Function])
    launches: bool = False


def scalar_types(type_: ir.Type) -> frozenset[ScalarType]:
    """The scalar types an object of `type_` consists of."""
    if type_.kind is ir.TypeKind.ARRAY and type_.element is not None:
        return scalar_types(type_.element)
    if type_.kind is ir.TypeKind.RECORD and type_.fields:
        return frozenset(found for member in type_.fields for found in scalar_types(member.type))
    if type_.kind in (ir.TypeKind.VOID, ir.TypeKind.UNKNOWN):
        return frozenset((ANYTHING,))
    return frozenset((ScalarType(type_.kind, type_.bits),))


def inner_expressions(expr: ir.Expr) -> Iterator[ir.Expr]:
    """Every expression below `expr`, those in the bodies of inlined calls included."""
    for node in ir.walk_expressions(expr):
        yield node
        if isinstance(node, ir.InlinedCall):
            for stmt in ir.walk_statements(node.body):
                for top in ir.statement_expressions(stmt):
                    yield from ir.walk_expressions(top)


class FactReader:
    """Facts of expressions; also which variables have their address taken, and what references name."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph
        self._own_addresses: set[ir.Expr] = set()
        self.escaped: set[ir.Variable] = set()
        self.references: list[tuple[ir.Variable, ir.Variable]] = []

    def facts(self, expr: ir.Expr) -> Facts:
        """The facts of one expression."""
        found = Facts()
        self._gather(expr, found)
        return found

    def _gather(self, expr: ir.Expr, found: Facts) -> None:
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
                case ir.Call():
                    self._call(node, found)
                case ir.LaunchCall():
                    found.launches = True
                case _:
                    pass

    def _memory(self, place: ir.MemoryPlace) -> frozenset[Location]:
        """The location of an object in memory: its array or record where that is evident, else its type."""
        root = place.root
        if root is None or root.type.kind is ir.TypeKind.POINTER:
            return frozenset[Location](scalar_types(place.type))
        self._own_addresses.add(_base(place.address))
        return frozenset[Location]((root,))

    def _call(self, node: ir.Call, found: Facts) -> None:
        if node.function is not None:
            found.callees.update(self._graph.callees(node))
        function = self._graph.callee(node)
        if function is not None:
            found.callees.add(function)
            for parameter, argument in zip(function.parameters, node.arguments, strict=False):
                if parameter in function.reference_parameters and isinstance(argument, ir.Read):
                    self.references.append((parameter, argument.place.variable))
            return
        if node.name.startswith("cudaMemcpyToSymbol") and node.arguments:
            symbol = symbol_of(node.arguments[0])
            if symbol is not None:
                found.defines.add(symbol)
                for argument in node.arguments[1:2]:
                    found.uses.update(_pointed_at(argument))
        keeps = node.name.removeprefix("std::") in host_api.KEEPS_ITS_ARGUMENTS
        for argument in node.arguments:
            self._own_addresses.add(_base(argument))  # libraries do not keep the addresses they are given
            if not keeps:
                found.defines.update(_pointed_at(argument))


def _is_opaque(type_: ir.Type) -> bool:
    """Containers of the library, whose layout nobody reads: nothing that is in one is ever known."""
    return type_.kind is ir.TypeKind.RECORD and not type_.fields and "std::" in type_.name.split("<")[0]


def symbol_of(argument: ir.Expr) -> ir.Variable | None:
    """The variable that the first argument of cudaMemcpyToSymbol names."""
    argument = _base(argument)
    match argument:
        case ir.Read(place=place):
            return place.variable
        case ir.Load(place=place):
            return place.root
        case ir.AddressOf(variable=variable):
            return variable
        case _:
            return None


def _base(address: ir.Expr) -> ir.Expr:
    """What an address is computed from."""
    while isinstance(address, (ir.PointerOffset, ir.Cast)):
        address = address.pointer if isinstance(address, ir.PointerOffset) else address.operand
    return address


def _pointed_at(argument: ir.Expr) -> frozenset[Location]:
    """What a library function may write through an argument."""
    argument = _base(argument)
    if isinstance(argument, ir.AddressOf):
        return frozenset[Location]((argument.variable,))
    if argument.type.kind is not ir.TypeKind.POINTER or isinstance(argument, (ir.Text, ir.Constant)):
        return frozenset()
    element = argument.type.element
    return frozenset[Location]((ANYTHING,) if element is None else scalar_types(element))
