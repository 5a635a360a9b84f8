"""What a kernel's parameters hold when counting starts: known arguments, assumed values for the others."""

from __future__ import annotations

import math

from wattslice import ir
from wattslice.counting.state import State
from wattslice.counting.syntax import strip_casts
from wattslice.counting.values import Pointer
from wattslice.geometry.types import KernelLaunch

DEFAULT_PARAMETER = 1024
"""Value assumed for an integer parameter nobody knows and no guard hints at."""

SMALL_PARAMETER = 1
"""Assumed instead when with the default the kernel would touch no memory at all."""


def bind_parameters(state: State, default: int) -> None:
    """Gives parameters their values; integers nobody knows are assumed, which is told when they are read."""
    launch = state.launch
    kernel = launch.kernel
    covered = _covered_parameters(launch)
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        value: int | float | None = argument
        is_size = parameter.type.is_integral and parameter.type.lanes == 1
        if value is None and is_size and parameter.space is not ir.MemorySpace.TEXTURE:
            value = covered.get(parameter, default)
            state.assumed_parameters[parameter] = value
        if value is not None:
            state.environment[parameter] = value
        elif parameter.type.kind is ir.TypeKind.POINTER:
            state.environment[parameter] = Pointer(parameter, 0)
    state.guessed = frozenset(state.assumed_parameters)
    for member in launch.members:
        state.environment[(kernel.parameters[member.parameter], member.path)] = member.value


def _covered_parameters(launch: KernelLaunch) -> dict[ir.Variable, int]:
    """Parameters that an `if` outside loops compares with a thread's index: the grid was made to cover them.

    `if (row < height)` with `row` made of the y index: as many as there are threads along y.
    """
    axes = _Axes()
    covered: dict[ir.Variable, int] = {}
    statements: list[ir.Stmt] = [launch.kernel.body]
    while statements:
        stmt = statements.pop(0)
        if isinstance(stmt, ir.Loop):
            continue
        if isinstance(stmt, ir.Declare) and stmt.value is not None:
            axes.declare(stmt.variable, stmt.value)
        elif isinstance(stmt, ir.If):
            for node in ir.walk_expressions(stmt.condition):
                if isinstance(node, ir.Binary) and node.op in ir.COMPARISONS:
                    for size, index in ((node.left, node.right), (node.right, node.left)):
                        parameter = _parameter(size)
                        along = axes.of(index)
                        if parameter is not None and along:
                            extent = math.prod(launch.grid[axis] * launch.block[axis] for axis in along)
                            covered.setdefault(parameter, extent)
        statements[:0] = ir.nested_statements(stmt)
    return covered


def _parameter(expr: ir.Expr) -> ir.Variable | None:
    expr = strip_casts(expr)
    if isinstance(expr, ir.Read) and expr.place.variable.role is ir.VariableRole.PARAMETER:
        return expr.place.variable
    return None


class _Axes:
    """Along which axes of the launch a value differs, as far as declarations tell."""

    def __init__(self) -> None:
        self._of_variable: dict[ir.Variable, frozenset[int]] = {}

    def declare(self, variable: ir.Variable, value: ir.Expr) -> None:
        """A new variable and what it is made of."""
        self._of_variable[variable] = self.of(value)

    def of(self, expr: ir.Expr) -> frozenset[int]:
        """The axes that thread and block indices in `expr` bring in."""
        found: set[int] = set()
        for node in ir.walk_expressions(expr):
            if isinstance(node, ir.Builtin) and node.kind in (
                ir.BuiltinKind.THREAD_IDX,
                ir.BuiltinKind.BLOCK_IDX,
            ):
                found.add(node.axis)
            elif isinstance(node, ir.Read):
                found |= self._of_variable.get(node.place.variable, frozenset())
        return frozenset(found)
