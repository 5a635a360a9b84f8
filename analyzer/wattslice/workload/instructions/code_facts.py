"""What lowering must know of a stretch of code before it reads it: its size, traits, accesses and arms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from enum import Enum, auto
from functools import lru_cache

from msgspec import Struct, field
from msgspec.structs import replace

from wattslice.ir import (
    Assign,
    Atomic,
    AtomicOp,
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
    Load,
    Logical,
    Loop,
    MemoryPlace,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Select,
    Semantics,
    Stmt,
    Switch,
    Type,
    TypeKind,
    Variable,
    children,
    nested_statements,
    strip_casts,
    walk_expressions,
    walk_statements,
)
from wattslice.ir.accesses import is_written_alike
from wattslice.ir.operation_counts import own_operations
from wattslice.ir.rewriting import is_same_text
from wattslice.ir.walking import LEAVES, expression_regions, expressions_below
from wattslice.patterns import regex
from wattslice.workload.instructions.expressions import computes_only, working_type
from wattslice.workload.instructions.kinds import InstructionKind, call_cost
from wattslice.workload.instructions.value_graph import EnvironmentKey

SUMS = (BinaryOp.ADD, BinaryOp.SUB)

PREDICATED_SIZE = 12
"""Source operations in an arm, but for those made ahead of the loop, up to which it is predicated."""
PREDICATED_INSTRUCTIONS, UNSYNCHRONISED_INSTRUCTIONS = 8, 20
"""Instructions in an arm that loads nothing up to which it is predicated, and, in a loop and without another
arm, branched around with no BSSY and BSYNC."""
MOST_MADE = 256
"""Source operations in an arm above which it is not asked which of them copies of a loop have made."""
ROTATION_SIZE = 3
"""Source operations of a rotation that shifts make (nvcc 13: 180 copies of two and two sums, not 200)."""
SELECTED_SIZE = 4
"""Source operations in an arm without memory up to which it is computed in any case (nvcc 13: 3, not 6)."""


class Trait(Enum):
    """What there is somewhere in a stretch of code.

    `ASSEMBLY`: inline assembly, also in the headers of CUDA: the compiler does not know whether control comes
    back. `MEETS_OTHERS`: an atomic, a fence, or an exchange between lanes; `IN_WARPS`: but for an atomic that
    each lane makes for itself. `LONG_ARM`: an `if` whose first
    arm is too long to be predicated, and no short way out.
    """

    BARRIER = auto()
    ASSEMBLY = auto()
    MEETS_OTHERS = auto()
    IN_WARPS = auto()
    LOADS = auto()
    INTRINSIC = auto()
    DIVISION = auto()  # many instructions, but one operation to what unrolls loops
    NESTED = auto()  # loops and switches
    LONG_ARM = auto()
    EXIT = auto()  # of a loop inside
    BREAK = auto()  # of this loop or switch
    CONTINUE = auto()
    RETURN = auto()
    OWN_ARRAY = auto()  # of the thread, which unrolling may put into registers


class Guarded(Struct, frozen=True, eq=False):
    """A load, or a store, at an `index` that has multiples of the variables `scaled` in it.

    `condition`: what decides whether it is made, of an `if` or `?:` inside; `arm`: which way.
    """

    is_load: bool
    index: Expr | None = None
    scaled: frozenset[Variable] = frozenset()
    condition: Expr | None = None
    arm: bool = False


class CodeFacts(Struct, eq=False):
    """A stretch of code with everything nested in it, bodies of inlined calls included.

    `size`: source operations, each once; an access of an array of the thread is one, whose index is a number
    in each copy of an unrolled loop. `written`: register variables, parts of them and local arrays that
    may change; `assigned`: variables of which an assignment changes a part or all. `stores`: to what.
    `elements`: of accesses to arrays of the thread, the variables in the index; `rewritten`: of those that
    write.
    """

    parent: CodeFacts | None = None
    condition: Expr | None = None
    is_first_arm: bool = False
    is_loop: bool = False
    is_switch: bool = False
    size: float = 0.0
    products: int = 0  # multiplications: sums take them along
    instructions: float = 0.0  # of functions, beyond their operations, less the products that sums take along
    has: set[Trait] = field(default_factory=set[Trait])
    elements: list[frozenset[Variable]] = field(default_factory=list[frozenset[Variable]])
    rewritten: list[frozenset[Variable]] = field(default_factory=list[frozenset[Variable]])
    written: dict[EnvironmentKey, None] = field(default_factory=dict[EnvironmentKey, None])  # in their order
    assigned: set[Variable] = field(default_factory=set[Variable])
    stores: dict[tuple[MemorySpace, Variable | None], None] = field(
        default_factory=dict[tuple[MemorySpace, Variable | None], None]
    )
    inner_loops: list[Loop] = field(default_factory=list[Loop])  # not those inside of these
    accesses: list[Guarded] = field(default_factory=list[Guarded])

    @property
    def is_short(self) -> bool:
        """Short enough to be predicated: few operations, no loop, no call, no way out."""
        return self.is_short_but()

    def is_short_but(self, *traits: Trait) -> bool:
        """The same where `traits` do not matter."""
        is_plain = self.has.isdisjoint(_NEVER_PREDICATED.difference(traits))
        return is_plain and (
            self.most_predicated >= self.size or self.most_predicated >= self.size - self.resting
        )

    @property
    def most_predicated(self) -> float:
        """Up to how many source operations it is predicated: those with loads to more."""
        if Trait.LOADS in self.has:
            return PREDICATED_SIZE - max(0.0, self.instructions)
        return PREDICATED_INSTRUCTIONS - self.instructions

    @property
    def needs_no_sync(self) -> bool:
        """Whether it is branched around, but by lanes that meet anyhow (in a loop)."""
        is_plain = self.has.isdisjoint((*_NEVER_PREDICATED, Trait.LOADS))
        return is_plain and self.size + self.instructions <= UNSYNCHRONISED_INSTRUCTIONS

    def is_short_without(self, known: Callable[[], float]) -> bool:
        """The same of an arm in an unrolled loop, where each copy has `known` operations made already."""
        if self.is_short or self.size > MOST_MADE or not self.has.isdisjoint(_NEVER_PREDICATED):
            return self.is_short
        return self.size - self.resting - known() <= self.most_predicated

    @property
    def resting(self) -> float:
        """Source operations in indices that no iteration of the loop around changes: they are made ahead."""
        around = self
        while around is not None and not around.is_loop:
            around = around.parent
        if around is None:
            return 0.0
        written = {key[0] if isinstance(key, tuple) else key for key in around.written}
        found, stack = 0.0, [one.index for one in self.accesses if one.index is not None]
        while stack:
            expr = stack.pop()
            if not written.isdisjoint(_read_variables(expr)):
                stack += children(expr)
            else:
                found += sum(n for e in walk_expressions(expr) for _, n in own_operations(e))
        return found

    @property
    def is_selected(self) -> bool:
        """So short that it is computed in any case, and only its result chosen: no memory is accessed."""
        is_small = self.is_short and self.size <= SELECTED_SIZE
        return is_small and not self.stores and Trait.LOADS not in self.has

    @property
    def guards(self) -> list[Expr]:
        """By what an `if` or `?:` loads or not."""
        return [one.condition for one in self.accesses if one.is_load and one.condition is not None]

    @property
    def accesses_in_arms(self) -> bool:
        """Whether an `if` or `?:` decides about a store, or a load that is not made in any case."""
        loaded = [one.index for one in self.accesses if one.is_load and one.condition is None and one.index]
        return any(
            one.condition is not None
            and not (one.is_load and one.index and any(is_written_alike(one.index, i) for i in loaded))
            for one in self.accesses
        )

    def guarded_alone(self, counters: frozenset[Variable]) -> list[Guarded]:
        """The accesses that an `if` decides about and whose addresses no pointer has that steps along.

        Those at multiples of one of `counters`, but by two, where neither the other arm has any nor an access
        in any case the same index.
        """
        scaled = [one for one in self.accesses if not one.scaled.isdisjoint(counters)]
        steady = [one.index for one in scaled if one.condition is None]
        arms = {(one.condition, one.arm) for one in scaled}
        return [
            one
            for one in scaled
            if one.condition is not None
            and (one.condition, not one.arm) not in arms
            and not any(is_written_alike(one.index, index) for index in steady if index and one.index)
        ]

    @property
    def may_leave(self) -> bool:
        """Whether something in the body of a loop may end it, or a loop inside."""
        return not self.has.isdisjoint((Trait.EXIT, Trait.BREAK))

    def size_in(self, counters: frozenset[Variable]) -> float:
        """Source operations, and the elements of own arrays that a loop over `counters` chooses: those that
        only loops inside choose are registers once these are unrolled.
        """
        return self.size + sum(not counters.isdisjoint(index) for index in self.elements)

    def absorb(self, inner: CodeFacts) -> None:
        """Add what a nested stretch does."""
        self.size += inner.size
        self.products += inner.products
        self.instructions += inner.instructions
        own = {Trait.BREAK} if inner.is_loop or inner.is_switch else set[Trait]()
        self.accesses += (
            one
            if inner.condition is None or one.condition is not None
            else replace(one, condition=inner.condition, arm=inner.is_first_arm)
            for one in inner.accesses
        )
        self.has |= inner.has - own
        if inner.is_loop and Trait.BREAK in inner.has:
            self.has.add(Trait.EXIT)
        is_way_out = Trait.BREAK in inner.has and inner.size <= PREDICATED_SIZE
        is_long = not inner.is_short_but(Trait.DIVISION) and not is_way_out
        if inner.is_first_arm and is_long:
            self.has.add(Trait.LONG_ARM)
        self.elements += inner.elements
        self.rewritten += inner.rewritten
        self.assigned |= inner.assigned
        self.stores |= inner.stores
        if not inner.is_loop:
            self.inner_loops += inner.inner_loops


_NEVER_PREDICATED = frozenset(
    (
        Trait.NESTED,
        Trait.EXIT,
        Trait.BREAK,
        Trait.CONTINUE,
        Trait.RETURN,
        Trait.INTRINSIC,
        Trait.DIVISION,
        Trait.MEETS_OTHERS,
    )
)


class KernelFacts(Struct):
    """Facts about the arms of `if`s and the bodies of loops (`blocks`), and loops without their `init`."""

    blocks: dict[Block, CodeFacts] = field(default_factory=dict[Block, CodeFacts])
    loops: dict[Loop, CodeFacts] = field(default_factory=dict[Loop, CodeFacts])


@lru_cache(maxsize=4)
def kernel_facts(kernel: Kernel) -> KernelFacts:
    """The facts about all of `kernel`; kept for the last few kernels, for nobody changes them."""
    facts, is_fast = KernelFacts(), bool(kernel.fast_math)
    work: list[tuple[Stmt, CodeFacts]] = [(kernel.body, CodeFacts())]
    joining: set[Return] = set()
    inside: list[CodeFacts] = []  # every stretch after the one around it

    def nested(
        block: Block, around: CodeFacts, arm_of: Expr | None = None, *, is_first: bool = False
    ) -> None:
        own = facts.blocks[block] = CodeFacts(around, arm_of, is_first)
        inside.append(own)
        work.append((block, own))

    while work:
        stmt, here = work.pop()
        around = here
        if isinstance(stmt, Loop):
            here.has.add(Trait.NESTED)
            here.inner_loops.append(stmt)
            work.extend((inner, here) for inner in stmt.init)
            around = facts.loops[stmt] = CodeFacts(here, is_loop=True)
            inside.append(around)
            nested(stmt.body, around)
        elif isinstance(stmt, Switch):
            here.has.add(Trait.NESTED)
            inside.append(own := CodeFacts(here, is_switch=True))
            work.extend((inner, own) for inner in nested_statements(stmt))
        elif isinstance(stmt, If):
            nested(stmt.then, here, stmt.condition, is_first=True)
            if stmt.otherwise is not None:
                nested(stmt.otherwise, here, stmt.condition)
        else:
            if stmt not in joining:
                _note_statement(stmt, here)
            work.extend([(inner, here) for inner in nested_statements(stmt)])
        for expr, _ in expression_regions(stmt):
            for body in _note_expressions(expr, around, is_fast=is_fast):
                joining.update(_joining_returns(body))
                work.append((body, around))
    for own in reversed(inside):
        if own.parent is not None:
            own.parent.written |= own.written
    for own in reversed(inside):
        if own.parent is not None:
            own.parent.absorb(own)
    return facts


def _joining_returns(body: Block) -> Iterator[Return]:
    """The returns of an inlined function that are no way out: with which it ends, in each arm.

    Of one that loads nothing and has no loop all: it computes what each may give, and chooses.
    """
    below = tuple(walk_statements(body))
    if not any(isinstance(stmt, Loop | Switch) for stmt in below) and not any(
        isinstance(expr, Load) for expr in expressions_below(body)
    ):
        yield from (stmt for stmt in below if isinstance(stmt, Return))
        return
    last: list[Stmt | None] = [body]
    while last:
        match last.pop():
            case Block(statements=(*_, end), is_breakable=False):
                last.append(end)
            case If(then=then, otherwise=otherwise):
                last += [then, otherwise]
            case Return() as found:
                yield found
            case _:
                pass


def _note_statement(stmt: Stmt, facts: CodeFacts) -> None:
    if isinstance(stmt, Declare):
        if stmt.value is not None:
            facts.written[stmt.variable] = None
    elif isinstance(stmt, Break):
        facts.has.add(Trait.BREAK if stmt.levels == 1 else Trait.EXIT)
    elif isinstance(stmt, Continue):
        facts.has.add(Trait.CONTINUE)
    elif isinstance(stmt, Return):
        facts.has.add(Trait.RETURN)


def _note_expressions(top: Expr, facts: CodeFacts, *, is_fast: bool) -> list[Block]:
    """Note what `top` and all below do; the bodies of the calls inlined in it.

    `is_fast`: compiled with `--use_fast_math`.
    """
    bodies: list[Block] = []
    stack = [top]
    folded: set[Expr] = set()  # indices of the thread's own arrays
    chosen: dict[Expr, tuple[Expr, bool]] = {}  # what is evaluated only as something else decides
    while stack:
        expr = stack.pop()
        if type(expr) in LEAVES:
            continue
        if (own := _own_array(expr)) is not None:
            folded.add(own.address)
            facts.has.add(Trait.OWN_ARRAY)
            facts.elements.append(_read_variables(own.address))
            if isinstance(expr, Assign | Increment):
                facts.rewritten.append(facts.elements[-1])
        if expr in folded:
            folded.update(children(expr))
        else:
            facts.size += sum(number for _, number in own_operations(expr))
        if _is_assembly(expr):
            facts.has.add(Trait.ASSEMBLY)
        if isinstance(expr, Load):
            facts.has.add(Trait.LOADS)
        if (place := accessed_place(expr)) is not None:
            condition, arm = chosen.get(expr, (None, False))
            index, scaled = _scaled_index(place)
            facts.accesses.append(Guarded(isinstance(expr, Load), index, scaled, condition, arm))
        facts.products += isinstance(expr, Binary) and expr.op is BinaryOp.MUL
        facts.instructions -= _takes_product(expr)
        if _is_division(expr) and not (is_fast and expr.type.is_float):
            facts.has.add(Trait.DIVISION)
        if isinstance(expr, Assign | Increment):
            _note_target(expr, facts)
        elif isinstance(expr, Atomic):
            facts.stores[expr.place.space, expr.place.root] = None
            facts.has.add(Trait.MEETS_OTHERS)
            if expr.place.space is MemorySpace.SHARED or _is_by_warp(expr):
                facts.has.add(Trait.IN_WARPS)
        elif isinstance(expr, Intrinsic):
            if (number := _straight_code(expr, is_fast=is_fast)) is None:
                facts.has.add(Trait.INTRINSIC)
            else:
                facts.instructions += number - sum(number for _, number in own_operations(expr))
            if _EXCHANGE.match(expr.name):
                facts.has |= {Trait.MEETS_OTHERS, Trait.IN_WARPS}
            if expr.semantics is Semantics.BARRIER:
                facts.has.add(Trait.BARRIER)
        elif isinstance(expr, InlinedCall):
            facts.written.update(dict.fromkeys(expr.parameters))
            bodies.append(expr.body)
        turned = _rotated(expr)
        below = children(expr) if turned is None else children(turned)[:1]
        if turned is not None and expr not in folded:
            facts.size += ROTATION_SIZE - 1
        if expr in chosen:
            chosen.update(dict.fromkeys(below, chosen[expr]))
        elif isinstance(expr, Select | Logical):
            chosen.update((part, (below[0], part is below[1])) for part in below[1:])
        stack.extend(below)
    return bodies


_ONE_INSTRUCTION = (Semantics.MIN, Semantics.MAX, Semantics.ABS, Semantics.FMA)


def _straight_code(call: Intrinsic, *, is_fast: bool) -> float | None:
    """The instructions of a function that an arm may have and still be predicated; None: it branches, or does
    more than compute.
    """
    if call.semantics in _ONE_INSTRUCTION or call.semantics is Semantics.IDENTITY:
        return 1.0
    if not computes_only(call):
        return None
    cost = call_cost(call.name, working_type(call), call.operations, fast=is_fast)
    return None if InstructionKind.BRANCH in dict(cost) else sum(number for _, number in cost)


def calls_branching(call: Intrinsic, *, is_fast: bool) -> bool:
    """Whether a function computes something and branches for it."""
    return computes_only(call) and _straight_code(call, is_fast=is_fast) is None


def _takes_product(expr: Expr) -> bool:
    """Whether a sum takes a product along."""
    match expr:
        case Binary(op=BinaryOp.ADD | BinaryOp.SUB, left=left, right=right):
            parts = (left, right)
        case Assign(op=BinaryOp.ADD | BinaryOp.SUB, value=value):
            parts = (value,)
        case _:
            return False
    return any(isinstance(one, Binary) and one.op is BinaryOp.MUL for one in map(strip_casts, parts))


def _is_by_warp(expr: Atomic) -> bool:
    """Whether a warp may make an atomic for all of its lanes: it adds up integers, or compares them."""
    return not expr.type.is_float and expr.op not in (AtomicOp.EXCHANGE, AtomicOp.CAS)


_EXCHANGE = regex(r"(__)?(shfl|ballot|any|all|match|reduce|uni|syncwarp|threadfence)(_|$)")
_ASSEMBLY = regex(r"asm |__(dp[24]a|match_|reduce_|funnelshift|activemask)")
"""Functions that the headers of CUDA 13 write in inline assembly (SASS: stores stay in loops with them)."""


def _is_assembly(expr: Expr) -> bool:
    """Whether `expr` is inline assembly to the compiler, as all that computes with 16-bit floats is."""
    match expr:
        case Load(place=place):
            return place.is_assembly
        case Intrinsic(name=name) if _ASSEMBLY.match(name):
            return True
        case Cast(operand=operand):
            return _is_half(expr.type) or _is_half(operand.type)
        case Binary() | Intrinsic():
            return _is_half(expr.type)
        case _:
            return False


def _is_division(expr: Expr) -> bool:
    """Whether `expr` divides by what is no number: not words without a sign, of which it takes few.

    Floats have a slow path for numbers, too, but for powers of two.
    """
    match expr:
        case Binary(left=Constant(), right=Constant()):
            return False
        case (
            Binary(op=BinaryOp.DIV | BinaryOp.MOD, right=right, operand_type=type_)
            | Assign(op=BinaryOp.DIV | BinaryOp.MOD, value=right, operand_type=type_)
        ):
            is_short = type_.kind is TypeKind.INT and not type_.signed and type_.bits <= 32
            match strip_casts(right):
                case Constant(value=value):
                    return type_.is_float and math.frexp(abs(value))[0] != 0.5
                case _:
                    return not is_short
        case _:
            return False


def _rotated(expr: Expr) -> Binary | None:
    """The shift down of `x >> n | x << bits - n`, a rotation by a number: what it turns is there once."""
    if not isinstance(expr, Binary) or expr.op not in (BinaryOp.OR, BinaryOp.XOR, BinaryOp.ADD):
        return None
    match strip_casts(expr.left), strip_casts(expr.right):
        case Binary(op=BinaryOp.SHR) as down, Binary(op=BinaryOp.SHL) as up:
            pass
        case Binary(op=BinaryOp.SHL) as up, Binary(op=BinaryOp.SHR) as down:
            pass
        case _:
            return None
    distances = [known_number(down.right), known_number(up.right)]
    if down.type.signed or None in distances or sum(filter(None, distances)) != down.type.bits:
        return None
    return down if is_same_text(down.left, up.left) else None


def known_number(expr: Expr) -> int | float | None:
    """A number, or the difference of two; None for others."""
    match strip_casts(expr):
        case Constant(value=value):
            return value
        case Binary(op=BinaryOp.SUB, left=Constant(value=whole), right=Constant(value=part)):
            return whole - part
        case _:
            return None


def _is_half(type_: Type) -> bool:
    return type_.is_float and type_.bits == 16


def accessed_place(expr: Expr) -> MemoryPlace | None:
    """What an expression loads or stores."""
    place = expr.place if isinstance(expr, Load) else None
    if isinstance(expr, Assign | Increment):
        place = expr.target
    return place if isinstance(place, MemoryPlace) else None


def _scaled_index(place: MemoryPlace) -> tuple[Expr | None, frozenset[Variable]]:
    """The index of an address of 64 bits but for its constant, and what variables it multiplies, but by 2."""
    address = place.address
    if place.space is MemorySpace.SHARED or not isinstance(address, PointerOffset) or address.index is None:
        return None, frozenset()
    found: set[Variable] = set()
    for expr in walk_expressions(address.index):
        if isinstance(expr, Binary) and expr.op in (BinaryOp.MUL, BinaryOp.SHL):
            factors = [one.value for one in (expr.left, expr.right) if isinstance(one, Constant)]
            if factors != [2 if expr.op is BinaryOp.MUL else 1]:
                found |= _read_variables(expr)
    index = strip_casts(address.index)
    while isinstance(index, Binary) and index.op in SUMS and isinstance(index.right, Constant):
        index = strip_casts(index.left)
    return index, frozenset(found)


def _own_array(expr: Expr) -> MemoryPlace | None:
    """What an expression accesses of an array of the thread."""
    place = accessed_place(expr)
    return place if place is not None and place.space is MemorySpace.LOCAL else None


def _read_variables(address: Expr) -> frozenset[Variable]:
    places = (expr.place for expr in walk_expressions(address) if isinstance(expr, Read))
    return frozenset(place.variable for place in places)


def _note_target(expr: Assign | Increment, facts: CodeFacts) -> None:
    target = expr.target
    if isinstance(target, RegisterPlace):
        facts.written[(target.variable, target.path) if target.path else target.variable] = None
        facts.assigned.add(target.variable)
        return
    facts.stores[target.space, target.root] = None
    if target.space is MemorySpace.LOCAL and target.root is not None:
        facts.written[target.root] = None
