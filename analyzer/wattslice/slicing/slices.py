"""Slices of a kernel by memory space: backward slices (Def. 2), and the partition that shares no statement.

The rule for statements that several slices could claim is told, with an example, in `docs/slicing.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np
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
    """Logical statements and their dependences, all by statement index.

    `data[i]`: statements whose values i takes; `control[i]`: predicates and jumps that decide whether i runs.
    """

    statements: tuple[LogicalStatement, ...]
    data: tuple[tuple[int, ...], ...]
    control: tuple[tuple[int, ...], ...]


def dependence_graph(kernel: ir.Kernel) -> DependenceGraph:
    """The dependence graph of `kernel`, inlined calls included; time about linear in its size."""
    flat = flatten(kernel)
    data = _ReachingDefinitions(flat).run()
    return DependenceGraph(flat.statements, data, tuple(s.controls for s in flat.statements))


_Values = int
"""A set as bits: statement i is bit i; above them one token per loop for values of a previous iteration."""


class _Region(Struct):
    """A branch, loop or call being read: what was written in it, and the values from before."""

    before: dict[Key, _Values] = field(default_factory=dict[Key, _Values])
    merged: dict[Key, _Values] = field(default_factory=dict[Key, _Values])
    leaving: dict[Key, _Values] = field(default_factory=dict[Key, _Values])
    token: _Values = 0
    is_branch: bool = False


class _ReachingDefinitions:
    def __init__(self, flat: FlatKernel) -> None:
        self.flat = flat
        self.values: dict[Key, _Values] = {}
        self.regions: list[_Region] = []
        self.found: list[_Values] = [0] * len(flat.statements)
        self.from_previous: list[tuple[int, Key, _Values]] = []  # statement, what it reads, tokens
        self.previous_iteration: dict[tuple[_Values, Key], _Values] = {}
        self.written = _written_in_loops(flat.events, flat.statements)
        self.next_token: _Values = 1 << len(flat.statements)
        self.statement_bits = self.next_token - 1

    def run(self) -> tuple[tuple[int, ...], ...]:
        statements = self.flat.statements
        for position, event in enumerate(self.flat.events):
            if isinstance(event, Mark):
                self.mark(event, position)
            else:
                self.statement(statements[event])
        resolved: dict[tuple[Key, _Values], _Values] = {}
        for index, key, tokens in self.from_previous:
            if (end := resolved.get((key, tokens))) is None:
                end = resolved[(key, tokens)] = self.resolved(key, tokens)
            self.found[index] |= end
        return tuple([_indices(self.found[s.index] & ~(1 << s.index)) for s in statements])

    def statement(self, statement: LogicalStatement) -> None:
        index = statement.index
        values = self.values
        found = 0
        for source in statement.sources:
            found |= 1 << source
        for key in statement.uses:
            reaching = values.get(key, 0)
            found |= reaching
            if reaching > self.statement_bits:
                self.from_previous.append((index, key, reaching & ~self.statement_bits))
        self.found[index] = found & self.statement_bits
        for made in statement.definitions:
            self.write(made.key, 1 << index if made.kills else values.get(made.key, 0) | 1 << index)

    def write(self, key: Key, values: _Values) -> None:
        if self.regions:
            before = self.regions[-1].before
            if key not in before:
                before[key] = self.values.get(key, 0)
        self.values[key] = values

    def mark(self, mark: Mark, position: int) -> None:
        match mark:
            case Mark.BRANCH:
                self.regions.append(_Region(is_branch=True))
            case Mark.CALL:
                self.regions.append(_Region())
            case Mark.LOOP:
                region = _Region(token=self.next_token)
                self.next_token <<= 1
                self.regions.append(region)
                for key in self.written[position]:
                    self.write(key, self.values.get(key, 0) | region.token)
            case Mark.NEXT_ARM:
                self.next_arm()
            case Mark.BRANCH_END:
                region = self.regions.pop()
                for key, values in region.merged.items():  # no arm may be taken: the old value survives
                    self.write(key, values | self.values.get(key, 0))
            case Mark.LOOP_END | Mark.CALL_END:
                self.close()
            case Mark.JUMP:
                self.jump()

    def next_arm(self) -> None:
        region = self.regions[-1]
        for key, old in region.before.items():
            region.merged[key] = region.merged.get(key, 0) | self.values[key]
            self.values[key] = old
        region.before.clear()

    def close(self) -> None:
        """End of a loop or call: join what falls out of its end with what jumped out of it."""
        region = self.regions.pop()
        for key, before in region.before.items():
            end = self.values[key] | region.leaving.get(key, 0)
            if region.token:
                self.previous_iteration[(region.token, key)] = end
                end |= before | region.token
            self.values[key] = before
            self.write(key, end)

    def jump(self) -> None:
        """Values at a jump may be those after the innermost loop or call around it."""
        target = next((region for region in reversed(self.regions) if not region.is_branch), None)
        if target is None:
            return
        for region in reversed(self.regions):
            for key in region.before:
                target.leaving[key] = target.leaving.get(key, 0) | self.values[key]
            if region is target:
                break

    def resolved(self, key: Key, tokens: _Values) -> _Values:
        """The statements behind `tokens`: what the loops leave in `key` at the end of an iteration."""
        found = seen = 0
        while tokens:
            token = tokens & -tokens
            seen |= token
            found |= self.previous_iteration.get((token, key), 0)
            tokens = found & ~self.statement_bits & ~seen | tokens & ~seen
        return found & self.statement_bits


_FEW = 8


def _indices(bits: _Values) -> tuple[int, ...]:
    """The members of a set, in order; of a large one all at once, since each costs a walk over all bits."""
    if bits.bit_count() > _FEW:
        bytes_ = bits.to_bytes(bits.bit_length() // 8 + 1, "little")
        return tuple(
            np.flatnonzero(np.unpackbits(np.frombuffer(bytes_, np.uint8), bitorder="little")).tolist()
        )
    found: list[int] = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return tuple(found)


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
    """Shortest paths from `criterion`; any number of data dependences is shorter than one of control."""
    best = [_FAR] * len(data)
    for index in criterion:
        best[index] = 0
    waiting = [(0, index) for index in criterion]
    while waiting:
        distance, index = heappop(waiting)
        if distance > best[index]:
            continue  # met again on a shorter way
        for to_it, neighbours in ((distance + 1, data[index]), (distance + _CONTROL, control[index])):
            for neighbour in neighbours:
                if to_it < best[neighbour]:
                    best[neighbour] = to_it
                    heappush(waiting, (to_it, neighbour))
    return best


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
