"""From the tree to closures: who compiles which kind of node, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from wattslice import ir
from wattslice.profiling.interpreter.arithmetic import converter
from wattslice.profiling.interpreter.errors import PROBES, InterpreterError, UnsupportedError
from wattslice.profiling.interpreter.lanes import Mask
from wattslice.profiling.interpreter.layout import Dtype, Value, dtype_of, is_block
from wattslice.profiling.interpreter.machine import Evaluate, Machine, Run
from wattslice.profiling.interpreter.variables import Storage, Variables

Compile = Callable[["Compiler", Any], Any]
_COMPILES: dict[type, Compile] = {}


def compiles(*kinds: type) -> Callable[[Compile], Compile]:
    """Register the compilation of kinds of nodes: expressions to `Evaluate`, statements to `Run`."""

    def register(function: Compile) -> Compile:
        _COMPILES.update(dict.fromkeys(kinds, function))
        return function

    return register


class Frames:
    """What the bodies around a statement collect: lanes that left by break, continue and return."""

    def __init__(self) -> None:
        self.broken: list[Mask] = []
        self.continued: list[Mask] = []
        self.returned: list[tuple[Mask, Value | None]] = []


class Compiler:
    """Compiles one kernel for one machine. What cannot be interpreted raises when it is executed."""

    def __init__(self, machine: Machine, variables: Variables) -> None:
        self.machine = machine
        self.variables = variables
        self.breaks: list[Frames] = []
        self.continues: list[Frames] = []
        self.calls: list[Frames] = [Frames()]
        self.result_types: list[ir.Type] = [ir.VOID]

    def expression(self, expr: ir.Expr) -> Evaluate:
        """The closure that yields the value of an expression."""
        compile_ = _COMPILES.get(type(expr))
        if compile_ is None:
            return fails(f"{type(expr).__name__} is not interpreted", expr.span)
        try:
            return compile_(self, expr)
        except UnsupportedError as error:
            return fails(str(error), expr.span)

    def statement(self, stmt: ir.Stmt) -> Run:
        """The closure that runs a statement."""
        try:
            return _COMPILES[type(stmt)](self, stmt)
        except UnsupportedError as error:
            raise_ = fails(str(error), stmt.span)
            return cast(Run, raise_)

    def number(self, expr: ir.Expr, dtype: Dtype) -> Evaluate:
        """The value of a scalar expression, converted to `dtype`."""
        return convert(self.expression(expr), dtype_of(expr.type), dtype)

    def storage(self, variable: ir.Variable) -> Storage:
        """Where a variable's values are kept."""
        return self.variables.storage(variable)


def fails(message: str, span: ir.Span) -> Evaluate:
    """What cannot be interpreted: says so when it is executed."""

    def evaluate(mask: Mask) -> Value:
        raise InterpreterError(message, span, PROBES)

    return evaluate


def convert(evaluate: Evaluate, old: Dtype, new: Dtype) -> Evaluate:
    """`evaluate` and then the conversion of its value."""
    change = converter(old, new)
    if change is None:
        return evaluate
    return lambda mask: change(evaluate(mask))


def merged(mask: Mask, new: Value, old: Value, type_: ir.Type) -> Value:
    """`new` in the lanes of `mask`, `old` in the others."""
    if mask.full:
        return new
    lanes = mask.lanes[:, None] if is_block(type_) else mask.lanes
    return np.where(lanes, new, old)
