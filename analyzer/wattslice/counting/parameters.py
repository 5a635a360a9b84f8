"""What a kernel's parameters hold when counting starts: known arguments, assumed values for the others."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from wattslice import ir
from wattslice.counting.state import State
from wattslice.counting.values import Pointer
from wattslice.ir.accesses import register_assignments
from wattslice.ir.loops import read_place
from wattslice.ir.objects import pointers_in
from wattslice.launches.launch import ASSUMED_SIZE
from wattslice.launches.memory import offset_of
from wattslice.launches.sizes import assumed_sizes

DEFAULT_PARAMETER = ASSUMED_SIZE
"""Value assumed for an integer parameter nobody knows and no guard hints at."""

SMALL_PARAMETER = 1
"""Assumed instead when with the default the kernel would touch no memory at all."""


def bind_parameters(state: State, default: int) -> None:
    """Gives parameters their values; integers nobody knows are assumed, which is told when they are read."""
    launch = state.launch
    kernel = launch.kernel
    agreeing, places = assumed_sizes(launch), launch.places
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=True):
        value: int | float | None = argument
        is_size = parameter.type.is_integral and parameter.type.lanes == 1
        if value is None and is_size and parameter.space is not ir.MemorySpace.TEXTURE:
            value = agreeing.get(parameter, default)
            value = 1 if parameter.type.kind is ir.TypeKind.BOOL else value
            state.inputs.assumed[parameter] = value
        if value is not None:
            state.environment[parameter] = value
        elif parameter.type.kind is ir.TypeKind.POINTER:
            state.environment[parameter] = Pointer(*places.get(parameter, (parameter, 0)))
        for offset, path, _ in pointers_in(parameter.type) if parameter.type.fields else ():
            behind = ir.Behind(parameter, offset)
            held = Pointer(*places.get(behind, (behind, 0)))
            if parameter.space is not ir.MemorySpace.LOCAL:
                state.environment[parameter, path] = held
            elif parameter in state.objects.unwritten:  # a struct that holds an array lies in memory
                state.inputs.constants[parameter, offset] = held
    for capture in launch.contents.captures:
        state.environment[capture.variable] = capture.value
    state.inputs.guessed = frozenset(state.inputs.assumed)
    for member in launch.contents.members:
        parameter = kernel.parameters[member.parameter]
        if parameter.space is not ir.MemorySpace.LOCAL:
            state.environment[(parameter, member.path)] = member.value
        elif parameter in state.objects.unwritten:
            offset = offset_of(parameter.type, member.path) + member.element_bytes
            state.inputs.constants[parameter, offset] = member.value
    for key in list(state.environment):
        if (key[0] if isinstance(key, tuple) else key) in state.objects.hidden:
            del state.environment[key]


def parameters_behind(kernel: ir.Kernel, condition: ir.Expr) -> frozenset[ir.Variable]:
    """The parameters of `kernel` that may decide `condition`, directly or through registers.

    Conservative: the order of statements is not looked at, and what decides whether an assignment runs counts
    as one of its sources. Parameters that only tell where in memory something lies do not.
    """
    behind = _behind(kernel, _read(condition))
    return frozenset(parameter for parameter in kernel.parameters if parameter in behind)


def may_differ(kernel: ir.Kernel, loop: ir.Loop) -> bool:
    """Whether another block of a launch may run `loop` longer: its place, or memory, decides how long.

    Conservative as `parameters_behind`.
    """
    first = (expr for stmt in loop.init for expr in ir.statement_expressions(stmt))
    deciding = [*first, *_deciding(loop), *([] if loop.step is None else [loop.step])]
    begun = {variable for stmt in loop.init for variable, _ in register_assignments(stmt)}
    begun -= {variable for variable, _ in register_assignments(loop.body)}
    begun -= _changed(ir.expressions_below(loop.body))
    return _PLACE in _behind(kernel, _all_read(deciding), begun)


_PLACE = ir.BuiltinKind.BLOCK_IDX

_Source = ir.Variable | ir.BuiltinKind
"""A register, or `_PLACE`: where the block is, and what memory holds."""


def _behind(kernel: ir.Kernel, read: Iterable[_Source], begun: Collection[ir.Variable] = ()) -> set[_Source]:
    """What decides `read`; of the counters that a loop has `begun` the loop itself says it."""
    sources = _sources(kernel)
    found: set[_Source] = set()
    waiting = list(read)
    while waiting:
        source = waiting.pop()
        if source not in found:
            found.add(source)
            if isinstance(source, ir.Variable) and source not in begun:
                waiting.extend(sources.get(source, ()))
    return found


@lru_cache(maxsize=4)
def _sources(kernel: ir.Kernel) -> dict[ir.Variable, set[_Source]]:
    """What each register takes values from, or is assigned because of."""
    found: dict[ir.Variable, set[_Source]] = {}
    for variable, value in register_assignments(kernel.body):
        found.setdefault(variable, set()).update(_read(value))
    for stmt in ir.walk_statements(kernel.body):
        if isinstance(stmt, ir.If | ir.Loop | ir.Switch) or (
            isinstance(stmt, ir.Block) and stmt.is_breakable
        ):
            written = {variable for variable, _ in register_assignments(stmt)}
            written |= _changed(ir.expressions_below(stmt))
            if not isinstance(stmt, ir.Loop):
                written -= _declared(stmt)
            _add(found, written, _all_read(_deciding(stmt)))
    for node in ir.expressions_below(kernel.body):
        if isinstance(node, ir.Select | ir.Logical):
            condition = node.condition if isinstance(node, ir.Select) else node.left
            _add(found, _changed(ir.walk_expressions(node)), _read(condition))
        elif isinstance(node, ir.InlinedCall):
            written = _changed(ir.expressions_below(node.body)) - _declared(node.body)
            _add(found, written, _all_read(_exits(node.body)))
    return found


def _add(
    found: dict[ir.Variable, set[_Source]], variables: set[ir.Variable], sources: Iterable[_Source]
) -> None:
    if variables:
        known = frozenset(sources)
        for variable in variables:
            found.setdefault(variable, set()).update(known)


def _changed(nodes: Iterable[ir.Expr]) -> set[ir.Variable]:
    return {
        node.target.variable
        for node in nodes
        if isinstance(node, ir.Assign | ir.Increment) and isinstance(node.target, ir.RegisterPlace)
    }


def _declared(stmt: ir.Stmt) -> set[ir.Variable]:
    """What nothing outside of `stmt` sees."""
    return {inner.variable for inner in ir.walk_statements(stmt) if isinstance(inner, ir.Declare)}


def _exits(body: ir.Stmt) -> Iterator[ir.Expr]:
    """The conditions under which the rest of `body` is left out."""
    for inner in ir.walk_statements(body):
        if isinstance(inner, ir.If) and ir.never_falls_through(inner.then):
            yield inner.condition


def _deciding(stmt: ir.Stmt) -> Iterator[ir.Expr]:
    """The conditions on which what stands in `stmt` runs; also those under which it is left."""
    if isinstance(stmt, ir.Loop):
        if stmt.condition is not None:
            yield stmt.condition
        yield from _exits(stmt.body)
    else:
        yield from ir.statement_expressions(stmt)
        if not isinstance(stmt, ir.If):
            yield from _exits(stmt)


def _all_read(exprs: Iterable[ir.Expr]) -> Iterator[_Source]:
    for expr in exprs:
        yield from _read(expr)


def _read(expr: ir.Expr) -> Iterator[_Source]:
    """What decides the value of `expr`, of an inlined call what its body reads."""
    waiting = [expr]
    while waiting:
        node = waiting.pop()
        place = read_place(node)
        if place is not None:
            yield place.variable
        if isinstance(node, ir.Load | ir.Atomic | ir.TextureFetch) or (
            isinstance(node, ir.Builtin) and node.kind is _PLACE
        ):
            yield _PLACE
        elif isinstance(node, ir.InlinedCall):
            yield from _all_read(
                part for inner in ir.walk_statements(node.body) for part in ir.statement_expressions(inner)
            )
        if not isinstance(node, ir.Load | ir.Atomic | ir.TextureFetch):
            waiting.extend(ir.children(node))
