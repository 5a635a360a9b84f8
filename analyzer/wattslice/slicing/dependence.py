"""The dependence graph of a kernel: which logical statement takes values from, or runs because of, which.

Data dependences come from reaching definitions over structured control flow. They are *may* dependences:
whatever is uncertain (which arm, which iteration, whether two addresses meet) adds an edge, never drops one.
A loop is passed once: at its head every variable it writes also carries a token that stands for "the value of
the previous iteration", resolved when the loop has been read.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wattslice.ir import Kernel
from wattslice.slicing.flatten import flatten
from wattslice.slicing.statements import Event, FlatKernel, Key, LogicalStatement, Mark


@dataclass(frozen=True, slots=True, eq=False)
class DependenceGraph:
    """Logical statements and their dependences, all by statement index.

    `data[i]`: statements whose values i takes; `control[i]`: predicates and jumps that decide whether i runs.
    """

    statements: tuple[LogicalStatement, ...]
    data: tuple[tuple[int, ...], ...]
    control: tuple[tuple[int, ...], ...]


def dependence_graph(kernel: Kernel) -> DependenceGraph:
    """The dependence graph of `kernel`, inlined calls included; time about linear in its size."""
    flat = flatten(kernel)
    data = _ReachingDefinitions(flat).run()
    return DependenceGraph(flat.statements, data, tuple(s.controls for s in flat.statements))


_Values = int
"""A set as bits: statement i is bit i; above them one token per loop for values of a previous iteration."""


@dataclass(slots=True)
class _Region:
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
        for key, kills in statement.definitions:
            self.write(key, 1 << index if kills else values.get(key, 0) | 1 << index)

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


def _indices(bits: _Values) -> tuple[int, ...]:
    """The members of a set, in order."""
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
