"""Logical statements while their expressions are still being read, and the order in which all is read.

One stack of pending actions replaces recursion over statements and expressions, so that neither long
`else if` chains nor deep expressions can exhaust Python's stack.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from wattslice.ir import Expr, Kernel, MemoryPlace, MemorySpace, Span, Variable
from wattslice.ir.operation_counts import Operation, own_operations
from wattslice.slicing.aliases import Aliases
from wattslice.slicing.statements import (
    SLICED_SPACES,
    Arm,
    Definition,
    Event,
    FlatKernel,
    Key,
    LogicalStatement,
    Mark,
    StatementKind,
)


@dataclass(slots=True, eq=False)
class Draft:
    """A logical statement to be. `is_binding`: it only names what other statements compute."""

    index: int
    kind: StatementKind
    span: Span
    region: int
    space: MemorySpace | None = None
    variable: Variable | None = None
    access_bytes: int = 0
    operations: list[Operation] = field(default_factory=list[Operation])
    uses: list[Key] = field(default_factory=list[Key])
    definitions: list[Definition] = field(default_factory=list[Definition])
    sources: list[int] = field(default_factory=list[int])
    controls: tuple[int, ...] = ()
    arms: tuple[Arm, ...] = ()
    is_binding: bool = False


@dataclass(slots=True)
class Frame:
    """A loop, call or kernel that a jump may leave: the last jump seen and the result of a call."""

    is_call: bool
    result: Variable | None
    guard: int | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What governs a statement: innermost predicate and chain of branch arms."""

    predicate: int | None
    arms: tuple[Arm, ...]


Visit = tuple[Expr, int, Draft, Context]
"""An expression to read: it, its region, the statement that takes its value, what governs it."""
Action = Visit | Event | Callable[[], None]
"""Something to do: read an expression, note an event, or whatever the function does."""


class Drafting(ABC):
    """The drafts of a kernel, what is still to be read, and the frames that jumps may leave."""

    def __init__(self, kernel: Kernel) -> None:
        self.aliases = Aliases(kernel)
        self.drafts: list[Draft] = []
        self.events: list[Event] = []
        self.frames: list[Frame] = [Frame(is_call=True, result=None)]
        self.pending: list[Action] = []

    def finished(self) -> FlatKernel:
        """Do all that is pending; what came of it."""
        pending, events, visit = self.pending, self.events, self.visit
        while pending:
            action = pending.pop()
            if isinstance(action, int | Mark):
                events.append(action)
            elif callable(action):
                action()
            else:
                expr, region, owner, context = action
                visit(expr, region, owner, context)
        return FlatKernel(tuple([_finished(draft) for draft in self.drafts]), tuple(events))

    @abstractmethod
    def visit(self, expr: Expr, region: int, owner: Draft, context: Context) -> None:
        """Read one expression."""

    def then(self, *actions: Action) -> None:
        """Do `actions` next, in this order."""
        self.pending.extend(reversed(actions))

    def draft(self, kind: StatementKind, span: Span, region: int, context: Context) -> Draft:
        """A new logical statement, the next in number."""
        predicate, guard = context.predicate, self.frames[-1].guard
        controls = () if predicate is None else (predicate,)
        if guard is not None:
            controls = (*controls, guard)
        draft = Draft(len(self.drafts), kind, span, region, controls=controls, arms=context.arms)
        self.drafts.append(draft)
        return draft

    def split(self, kind: StatementKind, expr: Expr, region: int, owner: Draft, context: Context) -> Draft:
        """A new logical statement whose value `owner` takes."""
        draft = self.draft(kind, expr.span, region, context)
        owner.sources.append(draft.index)
        return draft

    def access(self, place: MemoryPlace, expr: Expr, region: int, owner: Draft, context: Context) -> Draft:
        """The statement that reads `place`: one of its own in the four spaces, else `owner` itself."""
        if place.space not in SLICED_SPACES:
            return owner
        draft = self.split(StatementKind.ACCESS, expr, region, owner, context)
        access_place(draft, place)
        return draft

    def finish(self, draft: Draft, owner: Draft, *actions: Action) -> None:
        """Do `actions`, then close `draft` (unless it is `owner`, which is closed elsewhere)."""
        if draft is not owner:
            self.pending.append(draft.index)
        self.pending.extend(reversed(actions))


def access_place(draft: Draft, place: MemoryPlace) -> None:
    """Make `draft` an access to `place`; a plain statement when that is local memory or the host's."""
    if place.space in SLICED_SPACES:
        draft.space, draft.variable = place.space, place.root
        draft.access_bytes = place.type.size_bytes
    else:
        draft.kind = StatementKind.COMPUTE


def operations_of(expr: Expr, region: int) -> list[Operation]:
    """What one evaluation of `expr` costs by itself."""
    costs = own_operations(expr)
    return [Operation(region, expr.span, cls, number) for cls, number in costs] if costs else []


def _finished(draft: Draft) -> LogicalStatement:
    copies_a_value = bool(draft.sources) and not draft.operations
    binds = draft.is_binding and not draft.operations
    is_plain_jump = draft.kind is StatementKind.JUMP and not draft.operations and bool(draft.definitions)
    is_compute = draft.kind is StatementKind.COMPUTE
    return LogicalStatement(
        draft.index,
        draft.kind,
        draft.space,
        draft.variable,
        draft.access_bytes,
        draft.span,
        draft.region,
        tuple(draft.operations),
        tuple(dict.fromkeys(draft.uses)),
        tuple(draft.definitions),
        tuple(draft.sources),
        draft.controls,
        draft.arms,
        is_effective=not (is_compute and (copies_a_value or binds)) and not is_plain_jump,
    )
