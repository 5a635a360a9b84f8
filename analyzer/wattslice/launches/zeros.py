"""Arrays of whose values hardly a bit toggles in a kernel, as far as the function that launches it tells.

An array counts when it is allocated, wholly set to zero (`cudaMemset`, `memset`, `calloc`, a copy of such an
array) on every way to the launch, and named otherwise only where nothing is written: a source of copies, an
argument of kernels that leave it as it is or store zeros in it. Whatever else names it ends what is known.
So does an array that the launches of a loop bring to its end: see `growth`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeGuard

from msgspec import Struct

from wattslice import ir
from wattslice.launches.growth import growth_of, is_at_an_end, outermost_loops, repeats
from wattslice.launches.host_api import ALLOCATIONS_BY_POINTER
from wattslice.launches.launch import ArrayData, DataKind

_FREES = frozenset({"free", "cudaFree", "cudaFreeAsync", "cudaFreeHost"})
_SETS = frozenset({"memset", "cudaMemset", "cudaMemsetAsync"})
_COPIES = frozenset({"memcpy", "cudaMemcpy", "cudaMemcpyAsync"})
_SUMS = (ir.BinaryOp.ADD, ir.BinaryOp.SUB)


_Written = Callable[[ir.Kernel, frozenset[ir.Variable]], frozenset[ir.Variable]]


class ZeroArrays:
    """The zero arrays at the launches of a program; each function is looked through when first asked for."""

    def __init__(self, program: ir.Program) -> None:
        self._kernels = {k.mangled_name: k for k in program.kernels}
        self._functions = {
            node: function
            for function in program.functions
            for node in ir.expressions_below(function.body)
            if isinstance(node, ir.LaunchCall)
        }
        self._hosts: dict[ir.Function, _Host] = {}
        self._written = cache(_written)

    def at(self, node: ir.LaunchCall, kernel: ir.Kernel) -> tuple[ArrayData, ...]:
        """The arrays among the arguments of a launch that hold zeros, by the names of the parameters."""
        function = self._functions.get(node)
        if function is None or node.kernel not in self._kernels:
            return ()
        known = self._host(function).zeros_at(node)
        given = zip(kernel.parameters, map(ir.read_variable, node.arguments), strict=False)
        return tuple(
            ArrayData(None, parameter.name, DataKind.ZEROS, known[variable])
            for parameter, variable in given
            if variable is not None and variable in known
        )

    def at_an_end(self, node: ir.LaunchCall, kernel: ir.Kernel, times: int | None) -> tuple[ArrayData, ...]:
        """The arrays among the arguments of a launch that nearly all of its `times` find at their ends."""
        function = self._functions.get(node)
        if times is None or function is None or function.name != "main" or node.kernel not in self._kernels:
            return ()
        host = self._host(function)
        found: list[ArrayData] = []
        for parameter, argument in zip(kernel.parameters, node.arguments, strict=False):
            variable = ir.read_variable(argument)
            if variable is None or not host.only_kernels_write(variable, node):
                continue
            growth = growth_of(kernel, parameter)
            if growth is not None and is_at_an_end(growth, times):
                why = f"{growth.told} by each of {times} launches"
                found.append(ArrayData(None, parameter.name, DataKind.CONSTANT, why))
        return tuple(found)

    def _host(self, function: ir.Function) -> _Host:
        if function not in self._hosts:
            self._hosts[function] = _Host(function, self._kernels, self._written)
        return self._hosts[function]


class _Cleared(Struct, frozen=True):
    """A call after which all of `array` is zero; `of`: where this array is."""

    array: ir.Variable
    told: str
    of: ir.Variable | None = None


class _Host:
    """One host function: what it allocates, sets to zero and hands to kernels."""

    def __init__(self, function: ir.Function, kernels: Mapping[str, ir.Kernel], written: _Written) -> None:
        self._body = function.body
        nodes = ir.expressions_below(function.body)
        self._changed = {
            node.target.variable
            for node in nodes
            if isinstance(node, (ir.Assign, ir.Increment)) and isinstance(node.target, ir.RegisterPlace)
        } | {node.variable for node in nodes if isinstance(node, ir.AddressOf)}
        self._sizes = _allocations(function.body, nodes)
        harmless = {id(node) for node in self._harmless(nodes)}
        arrays = self._seen(nodes, harmless)
        cleared = [found for node in nodes if (found := self._cleared(node)) is not None]
        zeros = {one.array for one in cleared if one.of is None}
        zeros |= {array for array, size in self._sizes.items() if size is None}
        while (
            dirty := {one.array for one in cleared if one.of is not None and one.of not in arrays & zeros}
            & arrays
        ):
            arrays -= dirty
        targets = {id(ir.strip_casts(node.arguments[0])) for node in nodes if _is_write(node)}
        self._arrays = set[ir.Variable]() if function.lambdas else arrays
        self._filled = set[ir.Variable]() if function.lambdas else self._seen(nodes, harmless | targets)
        self._has_zeros = bool(cleared) or None in self._sizes.values()
        self._launches = [node for node in nodes if isinstance(node, ir.LaunchCall)]
        self._loops = outermost_loops(function.body)
        self._kernels, self._written = kernels, written

    def zeros_at(self, launch: ir.LaunchCall) -> dict[ir.Variable, str]:
        """The arrays that are zero whenever control comes to a launch, and why."""
        found: dict[ir.Variable, str] = {}
        for stmt in _before(self._body, launch) if self._has_zeros else ():
            for variable, values in ir.values_given(stmt).items():
                value = ir.strip_casts(values[0])
                if isinstance(value, ir.Call) and value.name == "calloc":
                    found[variable] = f"calloc in line {stmt.span.line}"
            for node in (
                node for expr in ir.statement_expressions(stmt) for node in ir.walk_expressions(expr)
            ):
                cleared = self._cleared(node)
                if cleared is not None and (cleared.of is None or cleared.of in found.keys() & self._arrays):
                    found[cleared.array] = cleared.told
        kept = _kept(self._arrays & found.keys(), self._launches, self._kernels, self._written)
        return {array: told for array, told in found.items() if array in kept}

    def only_kernels_write(self, array: ir.Variable, launch: ir.LaunchCall) -> bool:
        """Whether in the loops around `launch`, which repeat it, nothing writes the array but kernels that
        bring it to its end, or to zero.
        """
        loop = self._loops.get(launch)
        handed = [ir.read_variable(argument) for argument in launch.arguments]
        if loop is None or array not in self._filled or handed.count(array) > 1 or not repeats(loop, launch):
            return False
        if array in ir.values_given(loop):
            return False
        for node in ir.expressions_below(loop):
            if isinstance(node, ir.Call) and node.arguments and _names(node.arguments[0], array):
                return False
            if not isinstance(node, ir.LaunchCall) or node is launch:
                continue
            kernel = self._kernels.get(node.kernel)
            for number, argument in enumerate(node.arguments):
                if ir.read_variable(argument) is not array:
                    continue
                if kernel is None or node.packed is not None or number >= len(kernel.parameters):
                    return False
                if self._written(kernel, frozenset({kernel.parameters[number]})):
                    return False
        return launch.packed is None

    def _seen(self, nodes: Iterable[ir.Expr], harmless: set[int]) -> set[ir.Variable]:
        """The local arrays that only `harmless` expressions name."""
        elsewhere = {
            node.place.variable if isinstance(node, ir.Read) else node.variable
            for node in nodes
            if isinstance(node, (ir.Read, ir.AddressOf)) and id(node) not in harmless
        }
        return {one for one in self._sizes if one.role is ir.VariableRole.LOCAL and one not in elsewhere}

    def _harmless(self, nodes: Iterable[ir.Expr]) -> Iterator[ir.Expr]:
        """Where an array is named and nothing is written, or nothing but zeros; kernels are seen to apart."""
        for node in nodes:
            if isinstance(node, ir.LaunchCall):
                yield from map(ir.strip_casts, node.arguments)
            elif isinstance(node, ir.Call) and node.arguments:
                if node.name in ALLOCATIONS_BY_POINTER | _FREES or self._cleared(node) is not None:
                    yield ir.strip_casts(node.arguments[0])
                if node.name in _COPIES:
                    yield ir.strip_casts(node.arguments[1])

    def _cleared(self, node: ir.Expr) -> _Cleared | None:
        if not isinstance(node, ir.Call) or node.name not in _SETS | _COPIES or len(node.arguments) < 3:
            return None
        target, source, size = node.arguments[:3]
        array, value = ir.read_variable(target), ir.strip_casts(source)
        whole = None if array is None else self._sizes.get(array)
        if array is None or whole is None or not self._same(whole, size):
            return None
        told = f"{node.name} in line {node.span.line}"
        if node.name in _SETS:
            return _Cleared(array, told) if isinstance(value, ir.Constant) and value.value == 0 else None
        of = ir.read_variable(source)
        return None if of is None else _Cleared(array, told, of)

    def _same(self, one: ir.Expr, other: ir.Expr) -> bool:
        """Whether two sizes are written alike, of numbers that the function does not change."""
        one, other = ir.strip_casts(one), ir.strip_casts(other)
        if isinstance(one, ir.Constant) and isinstance(other, ir.Constant):
            return one.value == other.value
        if isinstance(one, ir.Binary) and isinstance(other, ir.Binary):
            alike = one.op is other.op and self._same(one.left, other.left)
            return alike and self._same(one.right, other.right)
        variable = ir.read_variable(one)
        return variable is not None and variable is ir.read_variable(other) and variable not in self._changed


def _is_write(node: ir.Expr) -> TypeGuard[ir.Call]:
    return isinstance(node, ir.Call) and node.name in _SETS | _COPIES and len(node.arguments) > 0


def _names(expr: ir.Expr, array: ir.Variable) -> bool:
    expr = ir.strip_casts(expr)
    return ir.read_variable(expr) is array or (isinstance(expr, ir.AddressOf) and expr.variable is array)


def _allocations(body: ir.Block, nodes: Iterable[ir.Expr]) -> dict[ir.Variable, ir.Expr | None]:
    """The pointers that are given memory, once and nothing else, and its size; None: that of calloc."""
    given = ir.values_given(body)
    found: dict[ir.Variable, ir.Expr | None] = {}
    for variable, values in given.items():
        value = ir.strip_casts(values[0])
        if len(values) == 1 and isinstance(value, ir.Call) and value.name in ("malloc", "calloc"):
            found[variable] = value.arguments[0] if value.name == "malloc" else None
    again: set[ir.Variable] = set()
    for node in nodes:
        if isinstance(node, ir.Call) and node.name in ALLOCATIONS_BY_POINTER:
            first = ir.strip_casts(node.arguments[0])
            if isinstance(first, ir.AddressOf):
                starts = map(ir.strip_casts, given.get(first.variable, ()))
                if first.variable in found or not all(isinstance(one, ir.Constant) for one in starts):
                    again.add(first.variable)
                found[first.variable] = node.arguments[1]
    return {variable: size for variable, size in found.items() if variable not in again}


def _before(body: ir.Stmt, launch: ir.LaunchCall) -> Iterator[ir.Stmt]:
    """The statements that have always run when control comes to a launch, in their order."""
    around: dict[ir.Stmt, ir.Stmt] = {}
    waiting, path = [body], list[ir.Stmt]()
    while waiting and not path:
        stmt = waiting.pop()
        if any(
            node is launch for expr in ir.statement_expressions(stmt) for node in ir.walk_expressions(expr)
        ):
            path.append(stmt)
        for inner in ir.nested_statements(stmt):
            around[inner] = stmt
            waiting.append(inner)
    while path and path[-1] is not body:
        path.append(around[path[-1]])
    for inner, outer in zip(path[-2::-1], path[:0:-1], strict=True):
        if isinstance(outer, ir.Block):
            for stmt in outer.statements[: outer.statements.index(inner)]:
                yield from _always(stmt)


def _always(stmt: ir.Stmt) -> Iterator[ir.Stmt]:
    """What runs whenever `stmt` does, in its order."""
    waiting = [stmt]
    while waiting:
        stmt = waiting.pop()
        if isinstance(stmt, ir.Block) or (isinstance(stmt, ir.Loop) and stmt.kind is ir.LoopKind.DO):
            waiting += reversed(ir.nested_statements(stmt))
        elif isinstance(stmt, (ir.Declare, ir.ExprStmt)):
            yield stmt


def _kept(
    arrays: set[ir.Variable],
    launches: Iterable[ir.LaunchCall],
    kernels: Mapping[str, ir.Kernel],
    written_by: _Written,
) -> set[ir.Variable]:
    """Those of `arrays` that no kernel which is handed them makes anything but zero, once they are."""
    while arrays:
        written: set[ir.Variable] = set()
        for node in launches:
            variables = [ir.read_variable(argument) for argument in node.arguments]
            kernel = kernels.get(node.kernel)
            if kernel is None or node.packed is not None:
                written.update(one for one in variables if one is not None)
                continue
            pairs = zip(kernel.parameters, variables, strict=False)
            given = {parameter: one for parameter, one in pairs if one is not None and one in arrays}
            if given:
                written.update(given[parameter] for parameter in written_by(kernel, frozenset(given)))
        if not written & arrays:
            break
        arrays = arrays - written
    return arrays


_Stored = tuple[ir.BinaryOp | None, ir.Expr | None]
"""`target op= value`; value None: a number of no interest."""


def _written(kernel: ir.Kernel, zeros: frozenset[ir.Variable]) -> frozenset[ir.Variable]:
    """The parameters out of `zeros`, which point to zeros, into which the kernel may store anything else.

    Variables are taken to stay zero as far as they are given nothing else.
    """
    nodes = ir.expressions_below(kernel.body)
    if not kernel.body_is_complete or kernel.machine_instructions or any(map(_is_beyond, nodes)):
        return zeros
    stored: defaultdict[ir.Variable, list[_Stored]] = defaultdict(list)
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.Declare) and stmt.value is not None:
            stored[stmt.variable].append((None, stmt.value))
    for node in nodes:
        if isinstance(node, (ir.Assign, ir.Increment, ir.Atomic)):
            target = node.place if isinstance(node, ir.Atomic) else node.target
            root = target.variable if isinstance(target, ir.RegisterPlace) else target.root
            is_pointer = root is None or root.type.kind is ir.TypeKind.POINTER
            if is_pointer and isinstance(target, ir.MemoryPlace) and root not in kernel.parameters:
                return zeros  # through a pointer that may lead anywhere
            if root is not None:
                op, value = (node.op, node.value) if isinstance(node, ir.Assign) else (None, None)
                stored[root].append((op, value))
        elif isinstance(node, ir.InlinedCall):
            for parameter in node.parameters:
                stored[parameter].append((None, None))
    held = zeros | (set(stored) - set(kernel.parameters))
    while True:
        lost = {one for one in held if not all(_stays(op, value, held) for op, value in stored[one])}
        if not lost:
            return zeros - held
        held -= lost


def _is_beyond(node: ir.Expr) -> bool:
    """Whether it may write what nobody sees."""
    if isinstance(node, ir.Intrinsic):
        return any(one.type.kind is ir.TypeKind.POINTER for one in node.arguments)
    return isinstance(node, ir.TextureFetch) and node.is_store


def _stays(op: ir.BinaryOp | None, value: ir.Expr | None, held: frozenset[ir.Variable]) -> bool:
    """Whether what is zero is zero after ``op= value``."""
    if value is None:
        return False
    return (
        _is_finite(value, held) if op is ir.BinaryOp.MUL else op in (None, *_SUMS) and _is_zero(value, held)
    )


def _is_zero(expr: ir.Expr, held: frozenset[ir.Variable]) -> bool:
    match expr:
        case ir.Constant(value=value):
            return value == 0
        case ir.Read(place=place):
            return place.variable in held
        case ir.Load(place=place):
            return place.root in held
        case ir.Cast(operand=operand):
            return _is_zero(operand, held)
        case ir.Unary(op=ir.UnaryOp.NEGATE, operand=operand):
            return _is_zero(operand, held)
        case ir.Binary(op=op, left=left, right=right) if op in _SUMS:
            return _is_zero(left, held) and _is_zero(right, held)
        case ir.Binary(op=ir.BinaryOp.MUL, left=left, right=right):
            pairs = ((left, right), (right, left))
            return any(_is_zero(one, held) and _is_finite(other, held) for one, other in pairs)
        case _:
            return False


_MOST_FACTORS = 64


def _is_finite(expr: ir.Expr, held: frozenset[ir.Variable]) -> bool:
    """Whether zero times it is zero: an argument or a constant, no number out of live memory."""
    nodes = tuple(ir.walk_expressions(expr))
    return len(nodes) <= _MOST_FACTORS and all(
        isinstance(node, (ir.Constant, ir.Read, ir.Cast, ir.Builtin)) or _is_zero(node, held)
        for node in nodes
    )
