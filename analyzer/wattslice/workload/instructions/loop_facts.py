"""What lowering must know of a stretch of code before it reads it: size, writes, exits; one walk for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from wattslice.ir import (
    Assign,
    Binary,
    BinaryOp,
    Block,
    Break,
    Cast,
    Constant,
    Continue,
    Declare,
    Expr,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    Loop,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Semantics,
    Stmt,
    Switch,
    Variable,
    children,
    nested_statements,
)
from wattslice.ir.operation_counts import own_operations
from wattslice.ir.walking import LEAVES, expression_regions
from wattslice.workload.instructions.environment import EnvironmentKey

PREDICATED_SIZE = 12
"""Source operations in an arm up to which it is predicated instead of branched around."""


@dataclass(slots=True, eq=False)
class CodeFacts:
    """A stretch of code with everything nested in it, bodies of inlined calls included.

    `size`: source operations, each once. `written`: register variables, parts of them and local arrays that
    may change; `assigned`: variables of which an assignment changes a part or all. `stores`: statements that
    store, by memory space.
    `has_unsigned_index`: an index is computed in unsigned 32 bits. `scaled_in_index`: what constants multiply
    in sums that are an index: `i` in ``a[i * 64 + j]``; `plain_in_index`: what stands in one as it is.
    `has_long_arm`: an `if` whose first arm is too long to be predicated.
    """

    parent: CodeFacts | None = None
    is_first_arm: bool = False
    size: float = 0.0
    written: set[EnvironmentKey] = field(default_factory=set[EnvironmentKey])
    assigned: set[Variable] = field(default_factory=set[Variable])
    stores: dict[MemorySpace, int] = field(default_factory=dict[MemorySpace, int])
    has_barrier: bool = False
    has_intrinsic: bool = False
    has_nested: bool = False  # loops and switches
    has_exit: bool = False  # break, continue
    has_return: bool = False
    has_unsigned_index: bool = False
    scaled_in_index: set[Variable] = field(default_factory=set[Variable])
    plain_in_index: set[Variable] = field(default_factory=set[Variable])
    has_long_arm: bool = False

    @property
    def is_short(self) -> bool:
        """Short enough to be predicated: few operations, no loop, no call, no way out."""
        leaves = self.has_exit or self.has_return
        return not (self.has_nested or leaves or self.has_intrinsic) and self.size <= PREDICATED_SIZE

    @property
    def single_stores(self) -> frozenset[MemorySpace]:
        """Spaces that one statement stores to, and no barrier lets others write."""
        if self.has_barrier:
            return frozenset()
        return frozenset(space for space, number in self.stores.items() if number == 1)

    def absorb(self, inner: CodeFacts) -> None:
        """Add what a nested stretch does."""
        self.size += inner.size
        self.written |= inner.written
        self.assigned |= inner.assigned
        for space, number in inner.stores.items():
            self.stores[space] = self.stores.get(space, 0) + number
        self.has_barrier |= inner.has_barrier
        self.has_intrinsic |= inner.has_intrinsic
        self.has_nested |= inner.has_nested
        self.has_exit |= inner.has_exit
        self.has_return |= inner.has_return
        self.has_unsigned_index |= inner.has_unsigned_index
        self.scaled_in_index |= inner.scaled_in_index
        self.plain_in_index |= inner.plain_in_index
        self.has_long_arm |= inner.has_long_arm or (inner.is_first_arm and not inner.is_short)


@dataclass(slots=True)
class KernelFacts:
    """Facts about the arms of `if`s and the bodies of loops (`blocks`), and loops without their `init`."""

    blocks: dict[Block, CodeFacts] = field(default_factory=dict[Block, CodeFacts])
    loops: dict[Loop, CodeFacts] = field(default_factory=dict[Loop, CodeFacts])


@lru_cache(maxsize=4)
def kernel_facts(kernel: Kernel) -> KernelFacts:
    """The facts about all of `kernel`; kept for the last few kernels, for nobody changes them."""
    facts = KernelFacts()
    work: list[tuple[Stmt, CodeFacts]] = [(kernel.body, CodeFacts())]
    inside: list[CodeFacts] = []  # every stretch after the one around it

    def nested(block: Block, around: CodeFacts, *, is_first_arm: bool = False) -> None:
        own = facts.blocks[block] = CodeFacts(around, is_first_arm)
        inside.append(own)
        work.append((block, own))

    while work:
        stmt, here = work.pop()
        around = here
        if isinstance(stmt, Loop):
            here.has_nested = True
            work.extend((inner, here) for inner in stmt.init)
            around = facts.loops[stmt] = CodeFacts(here)
            inside.append(around)
            nested(stmt.body, around)
        elif isinstance(stmt, If):
            nested(stmt.then, here, is_first_arm=True)
            if stmt.otherwise is not None:
                nested(stmt.otherwise, here)
        else:
            _note_statement(stmt, here)
            work.extend([(inner, here) for inner in nested_statements(stmt)])
        for expr, _ in expression_regions(stmt):
            work.extend([(body, around) for body in _note_expressions(expr, around)])
    for own in reversed(inside):
        if own.parent is not None:
            own.parent.absorb(own)
    return facts


def _note_statement(stmt: Stmt, facts: CodeFacts) -> None:
    if isinstance(stmt, Declare):
        if stmt.value is not None:
            facts.written.add(stmt.variable)
    elif isinstance(stmt, Switch):
        facts.has_nested = True
    elif isinstance(stmt, Break | Continue):
        facts.has_exit = True
    elif isinstance(stmt, Return):
        facts.has_return = True


def _note_expressions(top: Expr, facts: CodeFacts) -> list[Block]:
    """Note what `top` and all below do; the bodies of the calls inlined in it."""
    bodies: list[Block] = []
    stack = [top]
    while stack:
        expr = stack.pop()
        if type(expr) in LEAVES:
            continue
        for _, number in own_operations(expr):
            facts.size += number
        if isinstance(expr, PointerOffset):
            _note_index(expr.index, facts)
        elif isinstance(expr, Assign | Increment):
            _note_target(expr, facts)
        elif isinstance(expr, Intrinsic):
            facts.has_intrinsic = True
            facts.has_barrier |= expr.semantics is Semantics.BARRIER
        elif isinstance(expr, InlinedCall):
            facts.written.update(expr.parameters)
            bodies.append(expr.body)
        stack.extend(children(expr))
    return bodies


def _note_target(expr: Assign | Increment, facts: CodeFacts) -> None:
    target = expr.target
    if isinstance(target, RegisterPlace):
        facts.written.add((target.variable, target.path) if target.path else target.variable)
        facts.assigned.add(target.variable)
        return
    facts.stores[target.space] = facts.stores.get(target.space, 0) + 1
    if target.space is MemorySpace.LOCAL and target.root is not None:
        facts.written.add(target.root)


def _note_index(index: Expr | None, facts: CodeFacts) -> None:
    while isinstance(index, Cast) and index.type.bits == 64:
        index = index.operand
    if isinstance(index, Read):
        facts.plain_in_index.add(index.place.variable)
    if not isinstance(index, Binary) or index.type.bits != 32:
        return
    facts.has_unsigned_index |= not index.type.signed
    for scaled, other in ((index.left, index.right), (index.right, index.left)):
        match scaled:
            case Binary(op=BinaryOp.MUL, left=Read(place=place), right=Constant()) if (
                index.op is BinaryOp.ADD and not isinstance(other, Constant)
            ):
                facts.scaled_in_index.add(place.variable)
            case Read(place=place):
                facts.plain_in_index.add(place.variable)
            case _:
                pass
