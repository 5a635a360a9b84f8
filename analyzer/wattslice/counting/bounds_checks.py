"""Bounds checks: parameters that a kernel compares with the index of a thread before it does anything."""

from __future__ import annotations

import math

from wattslice import ir
from wattslice.counting.syntax import read_variable, strip_casts, values_given
from wattslice.launches.types import KernelLaunch


def covered_parameters(launch: KernelLaunch) -> dict[ir.Variable, int]:
    """Parameters that an `if` outside loops compares with a thread's index: the grid was made to cover them.

    `if (row < height)` with `row` made of the y index: as many as there are threads along y. The first test
    of a loop, which compilers put in front of it, is no such check.
    """
    axes = _Axes()
    rotated = _RotatedLoops(launch.kernel.body)
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
                        if parameter is not None and along and not rotated.begin(stmt, index, parameter):
                            extent = math.prod(launch.grid[axis] * launch.block[axis] for axis in along)
                            covered.setdefault(parameter, extent)
        statements[:0] = ir.nested_statements(stmt)
    return covered


def _parameter(expr: ir.Expr) -> ir.Variable | None:
    expr = strip_casts(expr)
    if isinstance(expr, ir.Read) and expr.place.variable.role is ir.VariableRole.PARAMETER:
        return expr.place.variable
    return None


class _RotatedLoops:
    """Tells a loop's first test in front of it, `if (i < n) do ... while (i < n)`, from a bounds check."""

    def __init__(self, body: ir.Stmt) -> None:
        self._given = values_given(body)

    def begin(self, stmt: ir.If, index: ir.Expr, parameter: ir.Variable) -> bool:
        """Whether an arm holds a loop that a counter which starts at `index` and `parameter` end."""
        for loop in ir.walk_statements(stmt):
            if isinstance(loop, ir.Loop) and loop.kind is ir.LoopKind.DO and loop.condition is not None:
                for test in ir.walk_expressions(loop.condition):
                    if isinstance(test, ir.Binary) and test.op in ir.COMPARISONS:
                        for size, counter in ((test.left, test.right), (test.right, test.left)):
                            if _parameter(size) is parameter and self._starts_at(counter, index, loop):
                                return True
        return False

    def _starts_at(self, counter: ir.Expr, index: ir.Expr, loop: ir.Loop) -> bool:
        """Whether `counter`, whatever steps the loop makes, takes its first value from `index`."""
        steps = {value for values in values_given(loop).values() for value in values} | {counter}
        seen: set[ir.Variable] = set()
        waiting = [counter]
        while waiting:
            expr = waiting.pop()
            bare = strip_casts(expr)
            if _is_same(bare, index):
                return True
            if expr in steps and isinstance(bare, ir.Binary):
                waiting += (side for side in (bare.left, bare.right) if read_variable(side) is not None)
            elif (variable := read_variable(bare)) is not None and variable not in seen:
                seen.add(variable)
                waiting += self._given.get(variable, ())
        return False


def _is_same(a: ir.Expr, b: ir.Expr) -> bool:
    """Whether two expressions of registers and indices are the same one, written twice."""
    a, b = strip_casts(a), strip_casts(b)
    match a, b:
        case ir.Read(), ir.Read():
            return a.place.variable is b.place.variable and a.place.path == b.place.path
        case ir.Builtin(), ir.Builtin():
            return (a.kind, a.axis) == (b.kind, b.axis)
        case ir.Constant(), ir.Constant():
            return a.value == b.value
        case ir.Binary(), ir.Binary():
            return a.op is b.op and _is_same(a.left, b.left) and _is_same(a.right, b.right)
        case _:
            return False


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
