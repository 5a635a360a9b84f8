"""The control flow of a function as a graph: dominators and natural loops.

Nodes are numbers from 0, the entry; what they stand for is the caller's business.
"""

from __future__ import annotations

from dataclasses import dataclass, field


class IrreducibleError(Exception):
    """A loop with two entries: no nest of structured statements stands for it. `node` is one of them."""

    def __init__(self, node: int) -> None:
        super().__init__(f"a loop with several entries, one at node {node}")
        self.node = node


@dataclass(slots=True)
class NaturalLoop:
    """A loop: the nodes that reach a back edge to `header` without passing it, `header` included.

    `latches`: where the back edges come from.
    """

    header: int
    latches: list[int] = field(default_factory=list[int])
    nodes: set[int] = field(default_factory=set[int])


class ControlFlow:
    """What is known of a graph `successors[node]`; nodes that the entry does not reach are left out.

    `order` is a reverse postorder, `position` the place of each node in it; `dominator` the immediate
    dominator (of the entry itself); `loops` by header. Raises `IrreducibleError`.
    """

    def __init__(self, successors: list[tuple[int, ...]]) -> None:
        self.successors = successors
        self.order = _reverse_postorder(successors)
        self.position = {node: at for at, node in enumerate(self.order)}
        self.predecessors: dict[int, list[int]] = {node: [] for node in self.order}
        for node in self.order:
            for target in dict.fromkeys(successors[node]):
                self.predecessors[target].append(node)
        self.dominator = self._dominators()
        self.loops = self._loops()

    def dominates(self, above: int, below: int) -> bool:
        """Whether every path from the entry to `below` passes `above`."""
        while self.position[below] > self.position[above]:
            below = self.dominator[below]
        return above == below

    def is_back_edge(self, source: int, target: int) -> bool:
        """Whether an edge closes a loop."""
        return self.position[target] <= self.position[source]

    def forward_predecessors(self, node: int) -> list[int]:
        """Where control comes from, back edges left out."""
        return [source for source in self.predecessors[node] if not self.is_back_edge(source, node)]

    def reaches(self, source: int, target: int) -> bool:
        """Whether a path of forward edges leads from `source` to `target`."""
        seen: set[int] = set()
        stack = [source]
        while stack:
            node = stack.pop()
            if node == target:
                return True
            if node in seen or self.position[node] > self.position[target]:
                continue
            seen.add(node)
            stack += (next_ for next_ in self.successors[node] if not self.is_back_edge(node, next_))
        return False

    def _dominators(self) -> dict[int, int]:
        """Cooper, Harvey & Kennedy, A Simple, Fast Dominance Algorithm (2001)."""
        entry = self.order[0]
        found = {entry: entry}
        changed = True
        while changed:
            changed = False
            for node in self.order[1:]:
                known = [source for source in self.predecessors[node] if source in found]
                best = known[0]
                for other in known[1:]:
                    best = self._meet(found, best, other)
                if found.get(node) != best:
                    found[node] = best
                    changed = True
        return found

    def _meet(self, found: dict[int, int], a: int, b: int) -> int:
        while a != b:
            while self.position[a] > self.position[b]:
                a = found[a]
            while self.position[b] > self.position[a]:
                b = found[b]
        return a

    def _loops(self) -> dict[int, NaturalLoop]:
        loops: dict[int, NaturalLoop] = {}
        for node in self.order:
            for target in dict.fromkeys(self.successors[node]):
                if not self.is_back_edge(node, target):
                    continue
                if not self.dominates(target, node):
                    raise IrreducibleError(target)
                loops.setdefault(target, NaturalLoop(target)).latches.append(node)
        for loop in loops.values():
            loop.nodes = {loop.header}
            stack = list(loop.latches)
            while stack:
                node = stack.pop()
                if node not in loop.nodes:
                    loop.nodes.add(node)
                    stack += self.predecessors[node]
        return loops


def _reverse_postorder(successors: list[tuple[int, ...]]) -> list[int]:
    order: list[int] = []
    seen = {0}
    stack = [(0, iter(successors[0]))]
    while stack:
        node, rest = stack[-1]
        for target in rest:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(successors[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
