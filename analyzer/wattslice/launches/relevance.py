"""Which host code a launch depends on: a backward slice, so that the rest need not be interpreted.

Reference computations, checks of results and reports of times make up most host code and decide nothing.
Relevant are the statements that launch, that define what a launch's configuration or arguments are computed
from, and those that decide whether these run. The slice does not follow the order of statements. A check
without such a statement in it (`if (errors) return 1;`) counts when what it tests is relevant anyway; else
it is taken to pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from wattslice import ir
from wattslice.launches import host_api
from wattslice.launches.call_graph import CallGraph
from wattslice.launches.facts import ANYTHING, FactReader, Facts, Location, ScalarType, scalar_types

_T = TypeVar("_T")
_MAX_PASSES = 30
_LARGEST_CONSTANT = 1024


@dataclass(frozen=True, slots=True)
class Relevance:
    """Statements that need not run, and functions that need not be followed."""

    skipped: frozenset[ir.Stmt] = frozenset()
    unfollowed: frozenset[ir.Function] = frozenset()
    constants: tuple[ir.Variable, ...] = ()  # constant memory whose content may decide what a kernel does


def relevance_of(program: ir.Program, graph: CallGraph) -> Relevance:
    """The slice of all host functions; nothing is skipped when it does not settle."""
    slicer = _Slicer(program, graph)
    return slicer.result() if slicer.settle() else Relevance()


def _may_decide(variable: ir.Variable) -> bool:
    """Constant memory with integers in it, unless it is a large table."""
    if variable.space is not ir.MemorySpace.CONSTANT or not 0 < variable.type.size_bytes <= _LARGEST_CONSTANT:
        return False
    return any(scalar.kind is ir.TypeKind.INT for scalar in scalar_types(variable.type))


class _Slicer:
    def __init__(self, program: ir.Program, graph: CallGraph) -> None:
        self._functions = program.functions
        self._reader = FactReader(graph)
        self._kernels = {
            name: kernel for kernel in program.kernels for name in (kernel.name, kernel.mangled_name)
        }
        self._facts: dict[ir.Expr, Facts] = {}
        self._locations: set[Location] = set()
        self._needed: set[Location] = set()  # locations that are more than what a pointer may reach
        self._valued: set[ir.Function] = set()
        self._effective: set[ir.Function] = set()
        self._core: set[ir.Stmt] = set()
        self._changed = False
        self._constants = tuple(v for v in program.globals if _may_decide(v))
        self._locations.update(self._constants)
        self._needed.update(self._constants)
        for function in program.functions:
            for stmt in ir.walk_statements(function.body):
                for expr in ir.statement_expressions(stmt):
                    self._facts[expr] = self._reader.facts(expr)
                    for node in ir.walk_expressions(expr):
                        if isinstance(node, ir.LaunchCall):
                            self._launch(node)

    def _launch(self, node: ir.LaunchCall) -> None:
        values = [node.grid, node.block, *(() if node.shared_bytes is None else (node.shared_bytes,))]
        if node.function is not None:
            values.append(node.function)
        kernel = self._kernels.get(node.kernel or node.kernel_name)
        for index, argument in enumerate(node.arguments):
            parameter = kernel.parameters[index] if kernel and index < len(kernel.parameters) else None
            is_texture = parameter is not None and parameter.space is ir.MemorySpace.TEXTURE
            if not is_texture:
                values.append(argument)
        for value in values:
            self._need(self._reader.facts(value))

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
        for function in self._functions:
            self._collect(function.body, skipped)
        unfollowed = set(self._functions) - self._effective - self._valued
        return Relevance(frozenset(skipped), frozenset(unfollowed), self._constants)

    # ----------------------------------------------------------------- widening

    def _add(self, known: set[_T], item: _T) -> None:
        if item not in known:
            known.add(item)
            self._changed = True

    def _need(self, facts: Facts | None) -> None:
        """The value of an expression matters."""
        if facts is None:
            return
        for location in facts.uses:
            self._add(self._locations, location)
            self._add(self._needed, location)
        for callee in facts.callees:
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
        for variable in self._reader.escaped:
            types = scalar_types(variable.type)
            if variable in self._needed:
                for type_ in types:
                    self._add(self._locations, type_)
            elif types & self._locations:
                self._add(self._locations, variable)

    def _acts(self, expr: ir.Expr | None) -> bool:
        """True when evaluating an expression launches or defines something relevant."""
        facts = None if expr is None else self._facts.get(expr)
        if facts is None:
            return False
        if facts.launches or facts.callees & self._effective or facts.defines & self._locations:
            return True
        return ANYTHING in facts.defines and any(isinstance(known, ScalarType) for known in self._locations)

    def _visit(self, stmt: ir.Stmt, function: ir.Function, *, jumps: bool) -> bool:
        """True when a statement is relevant; `jumps`: leaving the loop or switch around it is."""
        core = False
        match stmt:
            case ir.ExprStmt(expr=expr):
                core = self._acts(expr)
            case ir.Declare(variable=variable, value=value):
                core = variable in self._locations or self._acts(value)
            case ir.Return(value=value):
                core = function in self._valued or self._acts(value)
            case ir.Break() | ir.Continue():
                core = jumps
            case ir.Block(statements=statements):
                core = self._any(statements, function, jumps=jumps)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                arms = (then,) if otherwise is None else (then, otherwise)
                core = self._any(arms, function, jumps=jumps) or self._acts(condition)
            case ir.Loop(init=init, condition=condition, step=step, body=body):
                inside = (*init, body)
                core = self._any(inside, function, jumps=stmt in self._core)
                core = core or self._acts(condition) or self._acts(step)
            case ir.Switch(selector=selector, cases=cases):
                bodies = tuple(case.body for case in cases)
                core = self._any(bodies, function, jumps=jumps or stmt in self._core)
                core = core or self._acts(selector)
        if core:
            self._add(self._core, stmt)
            for expr in ir.statement_expressions(stmt):
                if not self._only_launches(expr):
                    self._need(self._facts.get(expr))
        return core

    def _any(self, statements: tuple[ir.Stmt, ...], function: ir.Function, *, jumps: bool) -> bool:
        found = [self._visit(stmt, function, jumps=jumps) for stmt in statements]  # each must be visited
        return any(found)

    def _only_launches(self, expr: ir.Expr) -> bool:
        """A launch as a statement: which of its values matter has been told apart already."""
        return isinstance(expr, ir.LaunchCall)

    # ----------------------------------------------------------------- what remains

    def _collect(self, stmt: ir.Stmt, skipped: set[ir.Stmt]) -> None:
        if stmt not in self._core and not self._is_jump(stmt):
            skipped.add(stmt)
            return
        for inner in ir.nested_statements(stmt):
            self._collect(inner, skipped)

    def _is_jump(self, stmt: ir.Stmt) -> bool:
        match stmt:
            case ir.Return() | ir.Break() | ir.Continue():
                return True
            case ir.ExprStmt(expr=expr):
                return isinstance(expr, ir.Call) and expr.name in host_api.EXITS
            case ir.Block(statements=statements):
                return any(self._is_jump(inner) for inner in statements)
            case ir.If(condition=condition, then=then, otherwise=otherwise):
                facts = self._facts[condition]
                if not facts.uses <= self._locations or not facts.callees <= self._valued:
                    return False
                return self._is_jump(then) or (otherwise is not None and self._is_jump(otherwise))
            case _:
                return False
