"""Slices of a kernel by memory space: backward slices (Def. 2), and the partition that shares no statement.

The rule for statements that several slices could claim is told, with an example, in `docs/slicing.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from msgspec import Struct, field

from wattslice import ir
from wattslice.slicing.flatten import flatten
from wattslice.slicing.statements import (
    SLICED_SPACES,
    Event,
    FlatKernel,
    Key,
    LogicalStatement,
    Mark,
    StatementKind,
)


class DependenceGraph(Struct, frozen=True, eq=False):
    """Logical statements and their dependences, all by index.

    `data[i]`: whose values statement i takes. Above the statements come meetings, where values of several
    ways to a place are joined; `data[i]` of one: what meets there. So `n` writes under conditions and `n`
    reads make `n` edges each, not their product. `control[i]`: the predicates and jumps that decide whether
    i runs.
    """

    statements: tuple[LogicalStatement, ...]
    data: tuple[tuple[int, ...], ...]
    control: tuple[tuple[int, ...], ...]

    def sources(self, index: int) -> tuple[int, ...]:
        """The other statements whose values statement `index` takes, through whatever meetings."""
        found: dict[int, None] = {}
        waiting = list(self.data[index])
        while waiting:
            if (node := waiting.pop()) not in found:
                found[node] = None
                if node >= len(self.statements):
                    waiting += self.data[node]
        return tuple(sorted(node for node in found if node < len(self.statements) and node != index))


def dependence_graph(kernel: ir.Kernel) -> DependenceGraph:
    """The dependence graph of `kernel`, inlined calls included; time about linear in its size."""
    flat = flatten(kernel)
    data = _ReachingDefinitions(flat).run()
    return DependenceGraph(flat.statements, data, tuple([s.controls for s in flat.statements]))


_Value = int | None
"""Where a value comes from: a statement or a meeting; None: nothing in the kernel wrote it."""


class _Region(Struct):
    """A branch, loop or call being read: what was written in it, and the values from before.

    `heads`: of a loop, what it writes, with the meeting of the values from before and of the last iteration.
    """

    before: dict[Key, _Value] = field(default_factory=dict[Key, _Value])
    merged: dict[Key, list[_Value]] = field(default_factory=dict[Key, list[_Value]])
    leaving: dict[Key, dict[_Value, None]] = field(default_factory=dict[Key, dict[_Value, None]])
    heads: dict[Key, int] | None = None
    is_branch: bool = False


class _ReachingDefinitions:
    def __init__(self, flat: FlatKernel) -> None:
        self.flat = flat
        self.values: dict[Key, _Value] = {}
        self.regions: list[_Region] = []
        self.data: list[tuple[int, ...]] = [()] * len(flat.statements)
        self.written = _written_in_loops(flat.events, flat.statements)

    def run(self) -> tuple[tuple[int, ...], ...]:
        statements = self.flat.statements
        for position, event in enumerate(self.flat.events):
            if isinstance(event, Mark):
                self.mark(event, position)
            else:
                self.statement(statements[event])
        return tuple(self.data)

    def statement(self, statement: LogicalStatement) -> None:
        index = statement.index
        found = dict.fromkeys(statement.sources)
        for key in statement.uses:
            if (value := self.values.get(key)) is not None:
                found[value] = None
        self.data[index] = tuple(found)
        for made in statement.definitions:
            self.write(made.key, index if made.kills else self.meeting(self.values.get(made.key), index))

    def meeting(self, *values: _Value) -> _Value:
        """What may be any of `values`."""
        different = dict.fromkeys(values)
        different.pop(None, None)
        if len(different) > 1:
            self.data.append(tuple(different))  # type: ignore[arg-type]
            return len(self.data) - 1
        return next(iter(different), None)

    def write(self, key: Key, value: _Value) -> None:
        if self.regions:
            before = self.regions[-1].before
            if key not in before:
                before[key] = self.values.get(key)
        self.values[key] = value

    def mark(self, mark: Mark, position: int) -> None:
        match mark:
            case Mark.BRANCH:
                self.regions.append(_Region(is_branch=True))
            case Mark.CALL:
                self.regions.append(_Region())
            case Mark.LOOP:
                keys = self.written[position]
                heads = dict(zip(keys, range(len(self.data), len(self.data) + len(keys)), strict=True))
                self.data += [()] * len(keys)  # what meets there is known at the end
                self.regions.append(_Region(heads=heads))
                for key, head in heads.items():
                    self.write(key, head)
            case Mark.NEXT_ARM:
                self.next_arm()
            case Mark.BRANCH_END:
                region = self.regions.pop()
                for key, values in region.merged.items():  # no arm may be taken: the old value survives
                    self.write(key, self.meeting(*values, self.values.get(key)))
            case Mark.LOOP_END | Mark.CALL_END:
                self.close()
            case Mark.JUMP:
                self.jump()

    def next_arm(self) -> None:
        region = self.regions[-1]
        for key, old in region.before.items():
            region.merged.setdefault(key, []).append(self.values[key])
            self.values[key] = old
        region.before.clear()

    def close(self) -> None:
        """End of a loop or call: join what falls out of its end with what jumped out of it."""
        region = self.regions.pop()
        for key, before in region.before.items():
            end = self.meeting(self.values[key], *region.leaving.get(key, ()))
            if region.heads is not None:
                head = region.heads[key]
                self.data[head] = tuple([value for value in (before, end) if value is not None])
                end = self.meeting(end, head)
            self.values[key] = before
            self.write(key, end)

    def jump(self) -> None:
        """Values at a jump may be those after the innermost loop or call around it."""
        target = next((region for region in reversed(self.regions) if not region.is_branch), None)
        if target is None:
            return
        for region in reversed(self.regions):
            for key in region.before:
                target.leaving.setdefault(key, {})[self.values[key]] = None
            if region is target:
                break


def _written_in_loops(
    events: tuple[Event, ...], statements: tuple[LogicalStatement, ...]
) -> dict[int, tuple[Key, ...]]:
    """For the position of each LOOP mark, what the loop writes, in order of first writing."""
    found: dict[int, tuple[Key, ...]] = {}
    open_loops: list[tuple[int, dict[Key, None]]] = []
    for position, event in enumerate(events):
        if event is Mark.LOOP:
            open_loops.append((position, {}))
        elif event is Mark.LOOP_END:
            start, keys = open_loops.pop()
            found[start] = tuple(keys)
            if open_loops:
                open_loops[-1][1].update(keys)
        elif open_loops and not isinstance(event, Mark):
            for definition in statements[event].definitions:
                open_loops[-1][1][definition.key] = None
    return found


class Slice(Struct, frozen=True, eq=False):
    """One slice `C = (K, S, V)`: the logical statements S that go with the accesses to one memory space.

    `variables`: names of V, in order of appearance. `lines`: source lines of S in the kernel's own file, in
    order (statements inlined from another file belong to S, but have no line here). Memory space REGISTER:
    the one slice of a kernel that accesses none of the four spaces.
    """

    memory_space: ir.MemorySpace
    variables: tuple[str, ...]
    statements: tuple[LogicalStatement, ...]
    lines: tuple[int, ...]


def slice_kernel(kernel: ir.Kernel) -> tuple[Slice, ...]:
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
        for space in (*SLICED_SPACES, ir.MemorySpace.REGISTER)
        if space in owners
    )


def partition(graph: DependenceGraph) -> tuple[ir.MemorySpace, ...]:
    """The memory space whose slice each logical statement belongs to, by statement index."""
    present = tuple(space for space in SLICED_SPACES if any(s.space is space for s in graph.statements))
    if not present:
        return (ir.MemorySpace.REGISTER,) * len(graph.statements)
    feeding, deciding = _reversed(graph.data), _reversed(graph.control)
    distances: list[list[_Distance]] = []  # of the shortest directed path to or from an access
    for space in present:
        criterion = tuple(s.index for s in graph.statements if s.space is space)  # all accesses to it
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
    present: tuple[ir.MemorySpace, ...],
    distances: tuple[_Distance, ...],
    home: ir.MemorySpace,
) -> ir.MemorySpace:
    if statement.space is not None:
        return statement.space
    if statement.kind is StatementKind.BARRIER and ir.MemorySpace.SHARED in present:
        return ir.MemorySpace.SHARED  # what a barrier orders
    nearest = min(distances)
    return home if nearest == _FAR else present[distances.index(nearest)]


def _home(graph: DependenceGraph, present: tuple[ir.MemorySpace, ...]) -> ir.MemorySpace:
    """Where statements unrelated to any access go: the space with most accesses in the text."""
    return max(present, key=lambda space: sum(s.space is space for s in graph.statements))


def _shortest(
    data: tuple[tuple[int, ...], ...], control: tuple[tuple[int, ...], ...], criterion: tuple[int, ...]
) -> list[_Distance]:
    """Shortest paths from `criterion` to every statement; a meeting on the way is no step.

    Any number of data dependences is shorter than one of control.
    """
    statements = len(control)
    best = [_FAR] * len(data)
    for index in criterion:
        best[index] = 0
    waiting = [(0, index) for index in criterion]
    while waiting:
        distance, index = heappop(waiting)
        if distance > best[index]:
            continue  # met again on a shorter way
        for neighbour in data[index]:
            to_it = distance + (neighbour < statements)
            if to_it < best[neighbour]:
                best[neighbour] = to_it
                heappush(waiting, (to_it, neighbour))
        for neighbour in control[index] if index < statements else ():
            if distance + _CONTROL < best[neighbour]:
                best[neighbour] = distance + _CONTROL
                heappush(waiting, (distance + _CONTROL, neighbour))
    return best[:statements]


def _reversed(edges: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    turned: list[list[int]] = [[] for _ in edges]
    for target, sources in enumerate(edges):
        for source in sources:
            turned[source].append(target)
    return tuple(tuple(targets) for targets in turned)


def _slice(kernel: ir.Kernel, space: ir.MemorySpace, statements: tuple[LogicalStatement, ...]) -> Slice:
    lines = sorted(set(_lines(kernel, statements)))
    accesses = (s.variable for s in statements if s.space is space)
    names = dict.fromkeys("?" if variable is None else variable.name for variable in accesses)
    return Slice(space, tuple(names), statements, tuple(lines))


def _lines(kernel: ir.Kernel, statements: tuple[LogicalStatement, ...]) -> Iterator[int]:
    file = kernel.span.file
    for statement in statements:
        if statement.span.file == file:
            yield statement.span.line
        for operation in statement.operations:
            span = operation.span
            if span is not statement.span and span.file == file:
                yield span.line
