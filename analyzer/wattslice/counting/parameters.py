"""What a kernel's parameters hold when counting starts: known arguments, assumed values for the others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

from wattslice import ir
from wattslice.counting.state import State
from wattslice.counting.values import Pointer
from wattslice.ir.accesses import register_assignments
from wattslice.launches.launch import KernelLaunch
from wattslice.launches.memory import offset_of

DEFAULT_PARAMETER = 1024
"""Value assumed for an integer parameter nobody knows and no guard hints at."""

SMALL_PARAMETER = 1
"""Assumed instead when with the default the kernel would touch no memory at all."""


def bind_parameters(state: State, default: int) -> None:
    """Gives parameters their values; integers nobody knows are assumed, which is told when they are read."""
    launch = state.launch
    kernel = launch.kernel
    covered = covered_parameters(launch)
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        value: int | float | None = argument
        is_size = parameter.type.is_integral and parameter.type.lanes == 1
        if value is None and is_size and parameter.space is not ir.MemorySpace.TEXTURE:
            value = covered.get(parameter, default)
            state.inputs.assumed[parameter] = value
        if value is not None:
            state.environment[parameter] = value
        elif parameter.type.kind is ir.TypeKind.POINTER:
            state.environment[parameter] = Pointer(parameter, 0)
    state.inputs.guessed = frozenset(state.inputs.assumed)
    written = _written(kernel) if launch.members else frozenset[ir.Variable]()
    for member in launch.members:
        parameter = kernel.parameters[member.parameter]
        if parameter.space is not ir.MemorySpace.LOCAL:
            state.environment[(parameter, member.path)] = member.value
        elif parameter not in written:  # a struct that holds an array lies in memory
            state.inputs.constants[(parameter, offset_of(parameter.type, member.path))] = member.value


def _written(kernel: ir.Kernel) -> frozenset[ir.Variable]:
    """The variables whose address is used for more than to load from: they may not keep what they held."""
    addresses: set[ir.AddressOf] = set()
    loaded: set[ir.Expr] = set()
    for expr in ir.expressions_below(kernel.body):
        if isinstance(expr, ir.AddressOf):
            addresses.add(expr)
        elif isinstance(expr, ir.Load):
            loaded.update(ir.walk_expressions(expr.place.address))
    return frozenset(address.variable for address in addresses - loaded)


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
    expr = ir.strip_casts(expr)
    if isinstance(expr, ir.Read) and expr.place.variable.role is ir.VariableRole.PARAMETER:
        return expr.place.variable
    return None


class _RotatedLoops:
    """Tells a loop's first test in front of it, `if (i < n) do ... while (i < n)`, from a bounds check."""

    def __init__(self, body: ir.Stmt) -> None:
        self._given = ir.values_given(body)

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
        steps = {value for values in ir.values_given(loop).values() for value in values} | {counter}
        seen: set[ir.Variable] = set()
        waiting = [counter]
        while waiting:
            expr = waiting.pop()
            bare = ir.strip_casts(expr)
            if _is_same(bare, index):
                return True
            if expr in steps and isinstance(bare, ir.Binary):
                waiting += (side for side in (bare.left, bare.right) if ir.read_variable(side) is not None)
            elif (variable := ir.read_variable(bare)) is not None and variable not in seen:
                seen.add(variable)
                waiting += self._given.get(variable, ())
        return False


def _is_same(a: ir.Expr, b: ir.Expr) -> bool:
    """Whether two expressions of registers and indices are the same one, written twice."""
    a, b = ir.strip_casts(a), ir.strip_casts(b)
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


def parameters_behind(kernel: ir.Kernel, condition: ir.Expr) -> frozenset[ir.Variable]:
    """The parameters of `kernel` that may decide `condition`, directly or through registers.

    Conservative: the order of statements is not looked at, and what decides whether an assignment runs counts
    as one of its sources. Parameters that only tell where in memory something lies do not.
    """
    sources = _sources(kernel)
    found: set[ir.Variable] = set()
    waiting = list(_read(condition))
    while waiting:
        variable = waiting.pop()
        if variable not in found:
            found.add(variable)
            waiting.extend(sources.get(variable, ()))
    return frozenset(found.intersection(kernel.parameters))


@lru_cache(maxsize=4)
def _sources(kernel: ir.Kernel) -> dict[ir.Variable, set[ir.Variable]]:
    """What each register takes values from, or is assigned because of."""
    found: dict[ir.Variable, set[ir.Variable]] = {}
    for variable, value in register_assignments(kernel.body):
        found.setdefault(variable, set()).update(_read(value))
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.If | ir.Loop | ir.Switch):
            deciding = frozenset(_all_read(_deciding(stmt)))
            for variable, _ in register_assignments(stmt):
                found.setdefault(variable, set()).update(deciding)
    return found


def _deciding(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """The conditions on which what stands in `stmt` runs; in a loop also those under which it is left."""
    if isinstance(stmt, ir.Loop):
        if stmt.condition is not None:
            yield stmt.condition
        for inner in ir.walk_statements(stmt.body):
            if isinstance(inner, ir.If) and ir.never_falls_through(inner.then):
                yield inner.condition
    else:
        yield from ir.statement_expressions(stmt)


def _all_read(exprs: Iterable[ir.Expr]) -> Iterator[ir.Variable]:
    for expr in exprs:
        yield from _read(expr)


def _read(expr: ir.Expr) -> Iterator[ir.Variable]:
    """The registers that decide the value of `expr`, of an inlined call those that its body reads."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ir.Read):
            yield node.place.variable
        elif isinstance(node, ir.InlinedCall):
            yield from _all_read(
                part for inner in ir.walk_statements(node.body) for part in ir.statement_expressions(inner)
            )
        if not isinstance(node, ir.Load | ir.Atomic | ir.TextureFetch):
            waiting.extend(ir.children(node))
