"""Slices of a kernel by memory space: backward slices (Def. 2), and the partition that shares no statement.

The rule for statements that several slices could claim is told, with an example, in `docs/slicing.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from wattslice.ir import Kernel, MemorySpace
from wattslice.slicing.dependence import DependenceGraph, dependence_graph
from wattslice.slicing.statements import SLICED_SPACES, LogicalStatement, StatementKind


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """One slice `C = (K, S, V)`: the logical statements S that go with the accesses to one memory space.

    `variables`: names of V, in order of appearance. `lines`: source lines of S in the kernel's own file, in
    order (statements inlined from another file belong to S, but have no line here). Memory space REGISTER:
    the one slice of a kernel that accesses none of the four spaces.
    """

    memory_space: MemorySpace
    variables: tuple[str, ...]
    statements: tuple[LogicalStatement, ...]
    lines: tuple[int, ...]


def slice_kernel(kernel: Kernel) -> tuple[Slice, ...]:
    """The slices of `kernel`: disjoint, together all its logical statements, dearest space first.

    A function of the source alone: neither the launch nor the GPU changes which slice a statement is in.
    """
    graph = dependence_graph(kernel)
    owners = partition(graph)
    return tuple(
        _slice(
            kernel,
            space,
            tuple(s for s, owner in zip(graph.statements, owners, strict=True) if owner is space),
        )
        for space in (*SLICED_SPACES, MemorySpace.REGISTER)
        if space in owners
    )


def backward_slice(graph: DependenceGraph, criterion: Iterable[int]) -> frozenset[int]:
    """Every logical statement that the statements of `criterion` depend on, themselves included."""
    found = set(criterion)
    stack = list(found)
    while stack:
        index = stack.pop()
        for source in (*graph.data[index], *graph.control[index]):
            if source not in found:
                found.add(source)
                stack.append(source)
    return frozenset(found)


def space_criterion(graph: DependenceGraph, space: MemorySpace) -> tuple[int, ...]:
    """The slicing criterion of a memory space: all accesses to it, as statement indices."""
    return tuple(s.index for s in graph.statements if s.space is space)


def partition(graph: DependenceGraph) -> tuple[MemorySpace, ...]:
    """The memory space whose slice each logical statement belongs to, by statement index."""
    present = tuple(space for space in SLICED_SPACES if any(s.space is space for s in graph.statements))
    if not present:
        return (MemorySpace.REGISTER,) * len(graph.statements)
    feeding, deciding = _reversed(graph.data), _reversed(graph.control)
    distances: list[list[_Distance]] = []  # of the shortest directed path to or from an access
    for space in present:
        criterion = space_criterion(graph, space)
        backward = _shortest(graph.data, graph.control, criterion)
        forward = _shortest(feeding, deciding, criterion)
        distances.append([min(pair) for pair in zip(backward, forward, strict=True)])
    home = _home(graph, present)
    owners = [
        _owner(statement, present, tuple(distance[statement.index] for distance in distances), home)
        for statement in graph.statements
    ]
    for statement in reversed(graph.statements):  # sources have higher indices than what they feed
        if not statement.is_effective and statement.sources and statement.space is None:
            owners[statement.index] = owners[statement.sources[0]]  # a copy goes with what it copies
    return tuple(owners)


_Distance = int
"""Control dependences on the way, times _CONTROL, plus data dependences."""
_CONTROL: _Distance = 1 << 32
_FAR: _Distance = _CONTROL << 30


def _owner(
    statement: LogicalStatement,
    present: tuple[MemorySpace, ...],
    distances: tuple[_Distance, ...],
    home: MemorySpace,
) -> MemorySpace:
    if statement.space is not None:
        return statement.space
    if statement.kind is StatementKind.BARRIER and MemorySpace.SHARED in present:
        return MemorySpace.SHARED  # what a barrier orders
    nearest = min(distances)
    return home if nearest == _FAR else present[distances.index(nearest)]


def _home(graph: DependenceGraph, present: tuple[MemorySpace, ...]) -> MemorySpace:
    """Where statements unrelated to any access go: the space with most accesses in the text."""
    return max(present, key=lambda space: sum(s.space is space for s in graph.statements))


def _shortest(
    data: tuple[tuple[int, ...], ...], control: tuple[tuple[int, ...], ...], criterion: tuple[int, ...]
) -> list[_Distance]:
    """Shortest paths from `criterion`; any number of data dependences is shorter than one of control."""
    best = [_FAR] * len(data)
    base = 0  # control dependences so far
    starts: dict[int, int] = dict.fromkeys(criterion, 0)  # data dependences on the way to each statement
    while starts:
        # breadth-first along data dependences, starting points in order of the length they come with
        waiting: dict[int, list[int]] = {}
        for index, length in starts.items():
            waiting.setdefault(length, []).append(index)
        reached: list[int] = []
        layer: list[int] = []
        length = 0
        while waiting or layer:
            if not layer:
                length = min(waiting)
            layer += waiting.pop(length, ())
            following: list[int] = []
            for index in layer:
                if best[index] == _FAR:
                    best[index] = base + length
                    reached.append(index)
                    following += data[index]
            layer = [index for index in following if best[index] == _FAR]
            length += 1
        starts = {}
        for index in reached:
            for neighbour in control[index]:
                if best[neighbour] == _FAR:
                    starts[neighbour] = min(starts.get(neighbour, _FAR), best[index] - base)
        base += _CONTROL
    return best


def _reversed(edges: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    turned: list[list[int]] = [[] for _ in edges]
    for target, sources in enumerate(edges):
        for source in sources:
            turned[source].append(target)
    return tuple(tuple(targets) for targets in turned)


def _slice(kernel: Kernel, space: MemorySpace, statements: tuple[LogicalStatement, ...]) -> Slice:
    lines = sorted(set(_lines(kernel, statements)))
    accesses = (s.variable for s in statements if s.space is space)
    names = dict.fromkeys("?" if variable is None else variable.name for variable in accesses)
    return Slice(space, tuple(names), statements, tuple(lines))


def _lines(kernel: Kernel, statements: tuple[LogicalStatement, ...]) -> Iterator[int]:
    file = kernel.span.file
    for statement in statements:
        if statement.span.file == file:
            yield statement.span.line
        for operation in statement.operations:
            span = operation.span
            if span is not statement.span and span.file == file:
                yield span.line
