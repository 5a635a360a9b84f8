"""Sizes that nobody gives: what they must be so that they agree with the launch and with the arrays.

`if (i < n)` checks that a thread has an element: of a launch of 512 x 256 threads `n` is 131072, the most
that the launch covers. `for (i = thread; i < n; i += threads)` is walked by all threads: `n` is as many as
there are threads. Either is as many as the array has elements that `i` indexes, where the host code
tells that (of a bounds check: if that is less). What an index begins with, as `first` in `for (i = first;
i < n; ...)`, is 0; 1 where the loop multiplies it. Such a value is an assumption like any other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product

from msgspec import Struct

from wattslice import ir
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.c_arithmetic import fold
from wattslice.launches.launch import ASSUMED_SIZE, MAX_GRID, Dim3, KernelLaunch

_ORDERS = {ir.BinaryOp.LT: 1, ir.BinaryOp.GE: 1, ir.BinaryOp.LE: 0, ir.BinaryOp.GT: 0}
"""What `index op size` adds to the largest index to make the size; written the other way round, the same with
the operator mirrored."""
_ENDS = tuple(product((False, True), repeat=2))  # first or last block, first or last thread of it
_WARP = 32
_Values = tuple[int | float, ...]  # at each of _ENDS
_Axis = tuple[bool, int]  # whether of the grid, and which


class AgreeingSize(Struct, frozen=True):
    """The value that a parameter must have, 0 for what an index begins with; `is_check`: of a bounds check,
    so the most that it can be.
    """

    value: int
    is_check: bool


def agreeing_sizes(
    kernel: ir.Kernel,
    grid: Dim3,
    block: Dim3,
    arguments: Sequence[int | float | None],
    extents: Mapping[ir.Root, int | None],
) -> dict[ir.Variable, AgreeingSize]:
    """For integer parameters without a value that an index of threads is compared with.

    `arguments`: one per parameter, None when unknown. `extents`: bytes behind pointers, None when unknown.
    """
    reader = _Reader(kernel.body, kernel.parameters, grid, block, arguments, extents)
    reader.visit(kernel.body)
    return {**reader.begun, **reader.walked, **reader.checked}


def assumed_sizes(launch: KernelLaunch) -> dict[ir.Variable, int]:
    """The values assumed for integer parameters of a launch that have none, as far as anything tells them."""
    found = agreeing_sizes(launch.kernel, launch.grid, launch.block, launch.arguments, launch.extents)
    given = {entry.name: entry.value for entry in launch.assumed_arguments}
    sizes = {parameter: size.value for parameter, size in found.items()}
    for parameter in launch.kernel.parameters:
        if parameter.name in given:
            sizes[parameter] = int(given[parameter.name])
    return sizes


def heaviest_steps(
    kernel: ir.Kernel, grid: Dim3, block: Dim3, arguments: Sequence[int | float | None]
) -> float:
    """About how many steps all lanes of a launch take in the heaviest nest of loops of the kernel.

    An argument that is None is `ASSUMED_SIZE`. A loop whose bound is not computed from arguments takes one.
    """
    given = [ASSUMED_SIZE if a is None else a for a in arguments]
    reader = _StepReader(kernel.body, kernel.parameters, grid, block, given, {})
    reader.visit(kernel.body)
    return math.prod(grid) * -(-math.prod(block) // _WARP) * _WARP * reader.steps


def covering_grid(
    kernel: ir.Kernel, grid: Dim3, block: Dim3, arguments: tuple[int | float | None, ...]
) -> Dim3:
    """`grid`, larger where the kernel checks an index of its threads against a known number beyond them."""
    needed = _needed(kernel.body, kernel.parameters, grid, block, tuple(arguments))
    x, y, z = map(max, grid, (needed.get(axis, 1) for axis in range(3)))
    return x, y, z


@lru_cache(maxsize=8)  # paths to one launch differ in little that matters here; instances may have one body
def _needed(
    body: ir.Stmt,
    parameters: tuple[ir.Variable, ...],
    grid: Dim3,
    block: Dim3,
    arguments: tuple[int | float | None, ...],
) -> Mapping[int, int]:
    reader = _CoverReader(body, parameters, grid, block, arguments, {})
    reader.visit(body)
    return reader.needed


class _Reader:
    """Reads a kernel's body in order, with what registers hold in the first and last threads."""

    def __init__(
        self,
        body: ir.Stmt,
        parameters: Sequence[ir.Variable],
        grid: Dim3,
        block: Dim3,
        arguments: Sequence[int | float | None],
        extents: Mapping[ir.Root, int | None],
    ) -> None:
        self.checked: dict[ir.Variable, AgreeingSize] = {}
        self.walked: dict[ir.Variable, AgreeingSize] = {}
        self.begun: dict[ir.Variable, AgreeingSize] = {}
        self._body = body
        self._grid, self._block = grid, block
        self._values: dict[ir.Variable, _Values | None] = {}
        self._axes: dict[ir.Variable, frozenset[_Axis]] = {}
        self._given: dict[ir.Variable, ir.Expr] = {}
        self._unknown: set[ir.Variable] = set()
        self._assigned_in: dict[ir.Stmt, set[ir.Variable]] = {}
        self._extents = extents
        self._rotated = _RotatedLoops(body)
        for parameter, value in zip(parameters, arguments, strict=True):
            if value is not None:
                self._values[parameter] = (value,) * len(_ENDS)
            elif parameter.type.is_integral and parameter.type.lanes == 1:
                self._unknown.add(parameter)

    # ------------------------------------------------------------------ statements

    def visit(self, stmt: ir.Stmt) -> None:
        """Note the comparisons of one statement, and what it leaves in registers."""
        if isinstance(stmt, ir.Loop):
            self._loop(stmt)
            return
        for expr in ir.statement_expressions(stmt):
            self._choices(expr)
        if isinstance(stmt, ir.Declare) and stmt.value is not None:
            self._assign(stmt.variable, stmt.value)
            self._given.setdefault(stmt.variable, stmt.value)
        elif isinstance(stmt, ir.ExprStmt) and isinstance(stmt.expr, ir.Assign):
            target = stmt.expr.target
            if isinstance(target, ir.RegisterPlace) and not target.path:
                self._given.pop(target.variable, None)
                if stmt.expr.op is None:
                    self._assign(target.variable, stmt.expr.value)
                else:
                    self._forget(stmt)
        elif isinstance(stmt, ir.If):
            for node in self._decisions(stmt.condition):
                for index, size, slack in orders_in(node):
                    is_loop = any(self._rotated.begin(stmt, index, p) for p in self._sizes_in(size))
                    self._note(index, size, slack, is_check=not is_loop)
        for inner in ir.nested_statements(stmt):
            self.visit(inner)
        if isinstance(stmt, ir.If | ir.Switch):
            self._forget(stmt)

    def _choices(self, expr: ir.Expr) -> None:
        """Note the bounds checks within an expression: `i < n ? x[i] : 0`, `min(i, n - 1)`."""
        for node in ir.walk_expressions(expr):
            if isinstance(node, ir.Select):
                for test in self._decisions(node.condition):
                    for index, size, slack in orders_in(test):
                        self._note(index, size, slack, is_check=True)
            elif (sides := _lesser_of(node)) is not None:
                for index, size in (sides, sides[::-1]):
                    self._note(index, size, 0, is_check=True)

    def _decisions(self, condition: ir.Expr) -> list[ir.Binary]:
        """The comparisons that make a condition, also through registers set once: `const bool in = i < n`."""
        found: list[ir.Binary] = []
        waiting, seen = [condition], set[ir.Variable]()
        while waiting:
            for node in ir.walk_expressions(waiting.pop()):
                variable = ir.read_variable(node)
                if isinstance(node, ir.Binary):
                    found.append(node)
                elif variable is not None and variable not in seen and variable in self._given:
                    seen.add(variable)
                    if _is_decision(self._given[variable]):
                        waiting.append(self._given[variable])
        return found

    def _loop(self, loop: ir.Loop) -> None:
        for init in loop.init:
            self.visit(init)
        if loop.condition is not None and loop.kind is not ir.LoopKind.DO:
            for node in self._decisions(loop.condition):
                for index, size, slack in orders_in(node):
                    self._note(index, size, slack, is_check=False)
        self._forget(loop)

    def _forget(self, stmt: ir.Stmt) -> None:
        """What a statement may assign is not followed any further."""
        for variable in self._assigned(stmt):
            self._given.pop(variable, None)
            self._values[variable] = None

    def _assigned(self, stmt: ir.Stmt) -> set[ir.Variable]:
        """The registers that a statement may assign; what was asked for is kept."""
        found: set[ir.Variable] = set()
        waiting = [stmt]
        while waiting:
            inner = waiting.pop()
            if (known := self._assigned_in.get(inner)) is not None:
                found |= known
                continue
            for expr in ir.statement_expressions(inner):
                for node in ir.walk_expressions(expr):
                    if isinstance(node, ir.InlinedCall):
                        waiting.append(node.body)
                    elif isinstance(node, ir.Assign | ir.Increment) and isinstance(
                        node.target, ir.RegisterPlace
                    ):
                        found.add(node.target.variable)
            waiting += ir.nested_statements(inner)
        self._assigned_in[stmt] = found
        return found

    def _assign(self, variable: ir.Variable, value: ir.Expr) -> None:
        self._values[variable] = self._evaluate(value)
        self._axes[variable] = self._axes_of(value)

    # ------------------------------------------------------------------ comparisons

    def _note(self, index: ir.Expr, size: ir.Expr, slack: int, *, is_check: bool) -> None:
        """`index < size`: what the parameters in `size` are, so that the last thread has an element."""
        if not (sizes := self._sizes_in(size)):
            return
        counter = ir.read_variable(ir.strip_casts(index))
        first = 0 if counter is None else self._scaled.get(counter, 0)
        if counter not in self._unknown and first is not None:
            begun = set(self._added(index)) - sizes - self._factors
            self.begun |= dict.fromkeys(begun, AgreeingSize(first, is_check))
        if not (axes := self._axes_of(index)):
            return
        last = self._evaluate(index)
        if last is not None:
            needed = int(max(last)) + slack
        else:
            along = {axis: self._block[axis] for _, axis in axes}
            of_grid = {axis: self._grid[axis] for in_grid, axis in axes if in_grid}
            if all(in_grid for in_grid, _ in axes):
                along = dict.fromkeys(of_grid, 1)
            needed = math.prod(along.values()) * math.prod(of_grid.values())
        elements = self._elements(index)
        if is_check:
            needed = needed if elements is None else min(needed, elements)
        elif elements is not None:
            needed = elements
        elif not any(in_grid for in_grid, _ in axes):  # a block alone walks it: any number is as good
            needed = max(needed, ASSUMED_SIZE)
        known = self.checked if is_check else self.walked
        for parameter, value in self._solved(size, needed).items():
            if value >= 1 and parameter not in known:
                known[parameter] = AgreeingSize(value, is_check)

    def _sizes_in(self, expr: ir.Expr) -> set[ir.Variable]:
        """The unknown parameters that an expression is made of, also by way of registers set once."""
        found: set[ir.Variable] = set()
        waiting, seen = [expr], set[ir.Variable]()
        while waiting:
            for node in ir.walk_expressions(waiting.pop()):
                if isinstance(node, ir.Read) and node.place.variable not in seen:
                    variable = node.place.variable
                    seen.add(variable)
                    if variable in self._unknown:
                        found.add(variable)
                    elif variable in self._given:
                        waiting.append(self._given[variable])
        return found

    @cached_property
    def _factors(self) -> set[ir.Variable | None]:
        """What is multiplied, shifted or stepped by."""
        found: set[ir.Variable | None] = set()
        for node in ir.expressions_below(self._body):
            parts: tuple[ir.Expr, ...] = ()
            if isinstance(node, ir.Binary) and node.op in _SCALES:
                parts = node.left, node.right
            elif isinstance(node, ir.Assign) and node.op is not None:
                parts = (node.value,)
            found.update(ir.read_variable(ir.strip_casts(part)) for part in parts)
        return found

    @cached_property
    def _scaled(self) -> dict[ir.Variable, int | None]:
        """The registers that are multiplied or shifted step by step; 1 of those that grow."""
        found: dict[ir.Variable, int | None] = {}
        for node in ir.expressions_below(self._body):
            if isinstance(node, ir.Assign) and isinstance(node.target, ir.RegisterPlace):
                op, value = node.op, ir.strip_casts(node.value)
                if isinstance(value, ir.Binary) and ir.read_variable(value.left) is node.target.variable:
                    op = value.op
                if op in _SCALES:
                    found[node.target.variable] = 1 if op in _GROWS else None
        return found

    def _added(self, index: ir.Expr) -> Iterator[ir.Variable]:
        """The unknown parameters that are terms of a sum, also by way of registers set once."""
        index = ir.strip_casts(index)
        variable = ir.read_variable(index)
        if isinstance(index, ir.Binary) and index.op is ir.BinaryOp.ADD:
            yield from self._added(index.left)
            yield from self._added(index.right)
        elif variable in self._unknown:
            yield variable
        elif variable in self._given:
            yield from self._added(self._given[variable])

    def _elements(self, index: ir.Expr) -> int | None:
        """Elements of the smallest array of known extent that the register `index` indexes."""
        variable = ir.read_variable(ir.strip_casts(index))
        return None if variable is None else self._elements_indexed.get(variable)

    @cached_property
    def _elements_indexed(self) -> dict[ir.Variable, int]:
        """For each register that indexes an array of known extent, the elements of the smallest."""
        found: dict[ir.Variable, int] = {}
        for node in ir.expressions_below(self._body):
            if isinstance(node, ir.PointerOffset) and node.index is not None and not node.offset_bytes:
                array = ir.read_variable(ir.strip_casts(node.pointer))
                extent = None if array is None else self._extents.get(array)
                variable = ir.read_variable(ir.strip_casts(node.index))
                if extent and variable is not None:
                    elements = extent // node.scale_bytes
                    found[variable] = min(elements, found.get(variable, elements))
        return found

    def _solved(self, size: ir.Expr, needed: int) -> dict[ir.Variable, int]:
        """Values of the unknown parameters with which `size` is `needed`; empty where that is not seen."""
        size = ir.strip_casts(size)
        if isinstance(size, ir.Read):
            variable = size.place.variable
            if variable in self._unknown:
                return {variable: needed}
            return self._solved(self._given[variable], needed) if variable in self._given else {}
        if not isinstance(size, ir.Binary):
            return {}
        left, right = self._known(size.left), self._known(size.right)
        if left is None and right is None:
            if size.op is not ir.BinaryOp.MUL:
                return {}
            width = next(w for w in range(math.isqrt(needed), 0, -1) if needed % w == 0)
            return {**self._solved(size.right, width), **self._solved(size.left, needed // width)}
        if right is not None and left is None:
            value = _without_right(size.op, needed, right)
            return {} if value is None else self._solved(size.left, value)
        if left is not None and right is None:
            value = _without_left(size.op, needed, left)
            return {} if value is None else self._solved(size.right, value)
        return {}

    def _known(self, expr: ir.Expr) -> int | None:
        """The value of an expression that is the same in all threads; a size found before counts as known."""
        variable = ir.read_variable(ir.strip_casts(expr))
        if variable is not None and variable in self._unknown:
            found = self.checked.get(variable) or self.walked.get(variable)
            return None if found is None else found.value
        values = self._evaluate(expr)
        return int(values[0]) if values is not None and len(set(values)) == 1 else None

    # ------------------------------------------------------------------ values

    def _axes_of(self, expr: ir.Expr) -> frozenset[_Axis]:
        """The axes that thread and block indices in `expr` bring in."""
        found: set[_Axis] = set()
        for node in ir.walk_expressions(expr):
            if isinstance(node, ir.Builtin) and node.kind in (
                ir.BuiltinKind.THREAD_IDX,
                ir.BuiltinKind.BLOCK_IDX,
            ):
                found.add((node.kind is ir.BuiltinKind.BLOCK_IDX, node.axis))
            elif isinstance(node, ir.Read):
                found |= self._axes.get(node.place.variable, frozenset())
            elif isinstance(node, ir.InlinedCall):
                for inner in ir.expressions_below(node.body):
                    if isinstance(inner, ir.Builtin):
                        found |= self._axes_of(inner)
        return frozenset(found)

    def _evaluate(self, expr: ir.Expr) -> _Values | None:
        """The value in the first and last threads of the first and last blocks; None when it is not known."""
        match expr:
            case ir.Constant(value=value):
                return (value,) * len(_ENDS)
            case ir.Builtin():
                return self._builtin(expr)
            case ir.Read(place=place):
                return None if place.path else self._values.get(place.variable)
            case ir.Cast(operand=operand, type=type_):
                return self._evaluate(operand) if type_.is_integral else None
            case ir.Binary(op=op, left=left, right=right, operand_type=type_):
                a, b = self._evaluate(left), self._evaluate(right)
                if a is None or b is None or type_.lanes > 1:
                    return None
                results = [fold(op, x, y, type_) for x, y in zip(a, b, strict=True)]
                values = [result for result in results if result is not None]
                return tuple(values) if len(values) == len(results) else None
            case ir.InlinedCall():
                return self._inlined(expr)
            case _:
                return None

    def _inlined(self, call: ir.InlinedCall) -> _Values | None:
        for parameter, argument in zip(call.parameters, call.arguments, strict=False):
            self._values[parameter] = self._evaluate(argument)
        for stmt in call.body.statements:
            if isinstance(stmt, ir.Return):
                return None if stmt.value is None else self._evaluate(stmt.value)
            if not isinstance(stmt, ir.Declare) or stmt.value is None:
                return None
            self._values[stmt.variable] = self._evaluate(stmt.value)
        return None

    def _builtin(self, node: ir.Builtin) -> _Values | None:
        match node.kind:
            case ir.BuiltinKind.THREAD_IDX:
                most = self._block[node.axis] - 1
                return tuple(most if is_last else 0 for _, is_last in _ENDS)
            case ir.BuiltinKind.BLOCK_IDX:
                most = self._grid[node.axis] - 1
                return tuple(most if is_last else 0 for is_last, _ in _ENDS)
            case ir.BuiltinKind.BLOCK_DIM:
                return (self._block[node.axis],) * len(_ENDS)
            case ir.BuiltinKind.GRID_DIM:
                return (self._grid[node.axis],) * len(_ENDS)
            case _:
                return None


class _CoverReader(_Reader):
    """Reads a kernel's body in order, for the blocks that `needed` along each axis."""

    needed: Mapping[int, int] = {}

    def _note(self, index: ir.Expr, size: ir.Expr, slack: int, *, is_check: bool) -> None:
        """`index < size`: threads of one axis of the grid up to `size`, except in a loop that walks it."""
        of_grid = [axis for in_grid, axis in self._axes_of(index) if in_grid]
        last, bound = self._evaluate(index), self._evaluate(size)
        if is_check and len(of_grid) == 1 and last is not None and bound is not None:
            (axis,) = of_grid
            blocks = math.ceil(max(bound) * self._grid[axis] / max(1, max(last) + slack))
            self.needed = {**self.needed, axis: min(max(blocks, self.needed.get(axis, 1)), MAX_GRID[axis])}


class _StepReader(_Reader):
    """Reads a kernel's body in order, for the most steps of a thread in a nest of loops."""

    steps = _around = 1.0

    def _note(self, index: ir.Expr, size: ir.Expr, slack: int, *, is_check: bool) -> None:
        """Nothing: all parameters are known."""

    def _loop(self, loop: ir.Loop) -> None:
        for init in loop.init:
            self.visit(init)
        around, counters = self._around, self._assigned(loop)
        tests = [] if loop.condition is None else self._decisions(loop.condition)
        compared = [pair for test in tests for pair in orders_in(test)]
        step = self._step(loop.step)
        self._around *= min(
            (self._trips(i, size, step) for i, size, _ in compared if ir.read_variable(i) in counters),
            default=1,
        )
        self.steps = max(self.steps, self._around)
        self._forget(loop)
        self.visit(loop.body)
        self._around = around

    def _step(self, step: ir.Expr | None) -> float | None:
        """What a loop adds to its counter, as far as that is seen."""
        if isinstance(step, ir.Increment):
            return 1
        if not isinstance(step, ir.Assign) or step.op is not ir.BinaryOp.ADD:
            return None
        added = self._evaluate(step.value)
        return None if added is None else max(added)

    def _trips(self, index: ir.Expr, size: ir.Expr, step: float | None) -> float:
        """Of a loop from `index` to `size`; without a step that is known, all threads share it."""
        first, last = self._evaluate(index), self._evaluate(size)
        if first is None or last is None:
            return 1
        return max(1, (max(last) - min(first)) / (step or max(first) - min(first) + 1))


def _is_decision(expr: ir.Expr) -> bool:
    expr = ir.strip_casts(expr)
    return isinstance(expr, ir.Logical) or (isinstance(expr, ir.Binary) and expr.op in ir.COMPARISONS)


_SCALES = frozenset({ir.BinaryOp.MUL, ir.BinaryOp.DIV, ir.BinaryOp.MOD, ir.BinaryOp.SHL, ir.BinaryOp.SHR})
_GROWS = frozenset({ir.BinaryOp.MUL, ir.BinaryOp.SHL})


def orders_in(node: ir.Binary) -> list[tuple[ir.Expr, ir.Expr, int]]:
    """Both readings of a comparison: index, size, and what is added to the largest index."""
    if node.op not in _ORDERS:
        return []
    return [(node.left, node.right, _ORDERS[node.op]), (node.right, node.left, _ORDERS[ir.MIRRORED[node.op]])]


def _lesser_of(expr: ir.Expr) -> tuple[ir.Expr, ir.Expr] | None:
    """The two of which an expression is the lesser."""
    if isinstance(expr, ir.Intrinsic) and expr.semantics is ir.Semantics.MIN and len(expr.arguments) == 2:
        return expr.arguments[0], expr.arguments[1]
    return None


def _without_right(op: ir.BinaryOp, result: int, right: int) -> int | None:
    """The left side of `left op right`, from the result."""
    match op:
        case ir.BinaryOp.ADD:
            return result - right
        case ir.BinaryOp.SUB:
            return result + right
        case ir.BinaryOp.MUL:
            return max(1, result // right) if right > 0 else None
        case ir.BinaryOp.DIV:
            return result * right if right > 0 else None
        case ir.BinaryOp.SHR:
            return result << right if 0 <= right < 31 else None
        case ir.BinaryOp.SHL:
            return result >> right if 0 <= right < 31 else None
        case _:
            return None


def _without_left(op: ir.BinaryOp, result: int, left: int) -> int | None:
    """The right side of `left op right`, from the result."""
    match op:
        case ir.BinaryOp.ADD:
            return result - left
        case ir.BinaryOp.SUB:
            return left - result
        case ir.BinaryOp.MUL:
            return max(1, result // left) if left > 0 else None
        case _:
            return None


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
            if is_written_alike(bare, index):
                return True
            if expr in steps and isinstance(bare, ir.Binary):
                waiting += (side for side in (bare.left, bare.right) if ir.read_variable(side) is not None)
            elif (variable := ir.read_variable(bare)) is not None and variable not in seen:
                seen.add(variable)
                waiting += self._given.get(variable, ())
        return False
