"""Which host variables a launch's geometry is computed from, whatever path is taken."""

from __future__ import annotations

from functools import cached_property

from wattslice import ir
from wattslice.launches.call_graph import CallGraph

_Source = ir.Variable | ir.Function


class HostDependence:
    """A flow-insensitive dependence graph of the host code: variables, and functions for what they return."""

    def __init__(self, graph: CallGraph) -> None:
        self._graph = graph

    def geometry_depends_on(self, node: ir.LaunchCall, variables: frozenset[ir.Variable]) -> bool:
        """True when grid or block of the launch may be computed from one of `variables`."""
        if not variables:
            return False
        found: set[_Source] = set()
        stack = [*self._read_by(node.grid), *self._read_by(node.block)]
        while stack:
            source = stack.pop()
            if source in variables:
                return True
            if source not in found:
                found.add(source)
                stack.extend(self._edges.get(source, ()))
        return False

    @cached_property
    def _edges(self) -> dict[_Source, set[_Source]]:
        edges: dict[_Source, set[_Source]] = {}
        for function in self._graph.functions:
            for stmt in ir.walk_statements(function.body):
                if isinstance(stmt, ir.Declare) and stmt.value is not None:
                    edges.setdefault(stmt.variable, set()).update(self._read_by(stmt.value))
                elif isinstance(stmt, ir.Return) and stmt.value is not None:
                    edges.setdefault(function, set()).update(self._read_by(stmt.value))
            for node in ir.expressions_below(function.body):
                self._add(node, edges)
        return edges

    def _add(self, node: ir.Expr, edges: dict[_Source, set[_Source]]) -> None:
        if isinstance(node, ir.Assign):
            target = node.target.variable if isinstance(node.target, ir.RegisterPlace) else node.target.root
            if target is not None:
                edges.setdefault(target, set()).update(self._read_by(node.value))
        elif isinstance(node, ir.Call):
            given = [self._read_by(argument) for argument in node.arguments]
            for callee in self._graph.callees(node):
                for parameter, sources in zip(callee.parameters, given, strict=False):
                    edges.setdefault(parameter, set()).update(sources)
            everything = set[_Source]().union(*given)
            for argument in node.arguments:  # `f(&x, n)` may compute x from n
                for inner in ir.walk_expressions(argument):
                    if isinstance(inner, ir.AddressOf):
                        edges.setdefault(inner.variable, set()).update(everything)

    def _read_by(self, expr: ir.Expr) -> set[_Source]:
        found: set[_Source] = set()
        for node in ir.walk_expressions(expr):
            if isinstance(node, ir.Read):
                found.add(node.place.variable)
            elif isinstance(node, ir.AddressOf):
                found.add(node.variable)
            elif isinstance(node, ir.Load) and node.place.root is not None:
                found.add(node.place.root)
            elif isinstance(node, ir.Call):
                found |= self._graph.callees(node)
        return found
