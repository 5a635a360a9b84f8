"""Counters of a loop: how they step, which sums, products and addresses follow them."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto

from msgspec import Struct

from wattslice.ir import (
    COMPARISONS,
    Assign,
    Binary,
    BinaryOp,
    Block,
    Builtin,
    Cast,
    Constant,
    Declare,
    Expr,
    ExprStmt,
    Increment,
    InlinedCall,
    Intrinsic,
    Load,
    Loop,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Type,
    TypeKind,
    Unary,
    Variable,
    children,
    statement_expressions,
    strip_casts,
    walk_expressions,
    walk_statements,
)
from wattslice.ir.loops import Induction, LoopShape, shape_of, written_below
from wattslice.workload.instructions.code_facts import SUMS, CodeFacts, Trait, accessed_place, known_number
from wattslice.workload.instructions.expressions import without_difference
from wattslice.workload.instructions.operators import FOLD_WORDS, is_power
from wattslice.workload.instructions.value_graph import Value

SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)
SCALINGS = (BinaryOp.MUL, BinaryOp.DIV)

CounterSteps = dict[Variable, Induction]


def bounds_of(loop: Loop) -> frozenset[Variable]:
    """The variables that say where a loop starts and ends."""
    tests = [] if loop.condition is None else [loop.condition]
    reads = (expr for top in (*starts_of(loop), *tests) for expr in walk_expressions(top))
    return frozenset(expr.place.variable for expr in reads if isinstance(expr, Read))


def starts_of(loop: Loop) -> list[Expr]:
    """What a loop begins with."""
    starts = [stmt.value for stmt in loop.init if isinstance(stmt, Declare) and stmt.value is not None]
    return starts + [
        stmt.expr.value for stmt in loop.init if isinstance(stmt, ExprStmt) and isinstance(stmt.expr, Assign)
    ]


def rounds_of(iterations: int) -> int:
    """Rounds that a multiple of four iterations takes: of sixteen copies while more than twelve are left, of
    eight, of four."""
    sixteens = max(0, -(-(iterations - 12) // 16))
    return sixteens + -(-(iterations - 16 * sixteens) // 8)


def expr_is_transparent(expr: Expr) -> bool:
    """Casts and the like, which change no constant's being one."""
    return not isinstance(expr, Load | InlinedCall | Intrinsic | Assign | Increment)


class _Follows(Enum):
    """What a number has to do with a counter: it stays, it is the counter, a sum of it or a multiple."""

    NOT = auto()
    IS_IT = auto()
    IN_SUM = auto()
    OTHERWISE = auto()  # or changes for itself


def needs_sums(loop: Loop, counters: set[Variable]) -> bool:
    """Whether a body needs sums or multiples of a counter other than in addresses: `i + k < n`, not `k < i`.

    The test of the copies then reads the counter, too, and ptxas makes no further ones.
    """
    written = {key[0] if isinstance(key, tuple) else key for key in written_below(loop)[0]}
    known = dict.fromkeys(written, _Follows.OTHERWISE) | dict.fromkeys(counters, _Follows.IS_IT)

    def kind(expr: Expr, *, in_sum: bool = False) -> _Follows:
        match expr:
            case Constant() | Builtin():
                return _Follows.NOT
            case Read(place=place):
                return known.get(place.variable, _Follows.NOT)
            case Cast(operand=operand) if expr.type.kind is operand.type.kind is TypeKind.INT:
                return kind(operand, in_sum=in_sum)
            case Binary(op=op, left=left, right=right):
                kinds = {kind(one, in_sum=op in SUMS) for one in (left, right)}
                if kinds <= {_Follows.NOT} or _Follows.OTHERWISE in kinds:
                    return max(kinds, key=lambda one: one.value)
                factors = (left, right) if op is BinaryOp.MUL else (right,) if op is BinaryOp.SHL else ()
                is_sum = op in SUMS or any(isinstance(strip_casts(one), Constant) for one in factors)
                return _Follows.IN_SUM if is_sum or (in_sum and op is BinaryOp.MUL) else _Follows.OTHERWISE
            case _:
                return _Follows.OTHERWISE

    def needs(expr: Expr) -> bool:
        """Whether `expr` does."""
        if isinstance(expr, Binary):
            expr = without_difference(expr)
        if (own := kind(expr)) is not _Follows.OTHERWISE:
            return own is _Follows.IN_SUM
        below = children(expr)
        if isinstance(expr, InlinedCall):
            known.update({one: kind(given) for one, given in zip(expr.parameters, below, strict=True)})
        if not isinstance(expr, PointerOffset | InlinedCall):
            return any(map(needs, below))
        return any(needs(part) for one in below for part in addends(one) if kind(part) is _Follows.OTHERWISE)

    def addends(index: Expr) -> Iterator[Expr]:
        """What an index adds up and multiplies: `i * 256` and `p[i]` of `t[i * 256 + p[i]]`."""
        match strip_casts(index):
            case Binary(op=op, left=left, right=right) if op in (*SUMS, BinaryOp.MUL):
                yield from addends(left)
                yield from addends(right)
            case _:
                yield index

    for stmt in walk_statements(loop.body):
        for expr in statement_expressions(stmt):
            if isinstance(stmt, Declare):
                known[stmt.variable] = kind(expr)
            if needs(expr) and not (isinstance(stmt, Declare) and kind(expr) is _Follows.IN_SUM):
                return True
    return False


class _Moves(Enum):
    """How a counter `i` moves a number."""

    NOT = auto()
    LOADED = auto()  # a[i]
    AS_IT = auto()  # i
    AHEAD = auto()  # i + 1
    BY_ONE = auto()  # i + n
    DOWN = auto()  # n - i
    BY_STRIDE = auto()  # i * w, (i + 1) * w + n
    TIMES = auto()  # i * 64
    IN_SUM = auto()  # i * 64 + n
    AHEAD_IN_SUM = auto()  # (i + 1) * 64
    MULTIPLIED = auto()  # (i * w + n) * w, (n - i) * w, i * w + i * n
    OTHERWISE = auto()


_UNMOVED = (_Moves.NOT, _Moves.LOADED)
_BY_ONE = (_Moves.AS_IT, _Moves.AHEAD, _Moves.BY_ONE)
_MAY_WRAP = (_Moves.IN_SUM, _Moves.AHEAD_IN_SUM, _Moves.MULTIPLIED)


class _Indices(Struct, frozen=True):
    """What the indices of a body do with the counters of its loop: whether one of them has no sign, and
    whether the copies step an index in 32 bits.
    """

    are_unsigned: bool
    are_stepped: bool


def indices_of(loop: Loop, counters: frozenset[Variable]) -> _Indices:
    """The indices of a loop whose copies step from address to address.

    A pointer moves by `w` with `i * w + c` and `(i - 1) * w + c`. But `i * 64 + c`, `(i * h + j) * w` and
    `(n - i) * w` may wrap on their way to 64 bits (SASS of nvcc 13): the first of them only where the counter
    is not needed elsewhere. An address in shared memory has 32 bits itself.
    """
    known = dict.fromkeys(counters, _Moves.AS_IT)

    def moves(expr: Expr) -> _Moves:
        match expr:
            case Read(place=place):
                return known.get(place.variable, _Moves.NOT)
            case Cast(operand=operand):
                return moves(operand)
            case Binary(op=op, left=left, right=right) if op in (*SUMS, BinaryOp.MUL, BinaryOp.SHL):
                return of_two(op, left, right)
            case InlinedCall(body=Block(statements=(Return(value=value),))) if value is not None:
                known.update(zip(expr.parameters, map(moves, expr.arguments), strict=True))
                return moves(value)
            case _:
                found = {moves(one) for one in children(expr)} - {_Moves.NOT}
                is_loaded = isinstance(expr, Load) or found == {_Moves.LOADED}
                return _Moves.NOT if not found else _Moves.LOADED if is_loaded else _Moves.OTHERWISE

    def of_two(op: BinaryOp, left: Expr, right: Expr) -> _Moves:
        of_left, of_right = moves(left), moves(right)
        if of_left in _UNMOVED and of_right in _UNMOVED:
            return max(of_left, of_right, key=lambda one: one.value)
        if {of_left, of_right} & {_Moves.OTHERWISE, _Moves.LOADED} or (
            op is BinaryOp.SHL and of_right is not _Moves.NOT
        ):
            return _Moves.OTHERWISE
        if _Moves.NOT not in (of_left, of_right):
            return _Moves.MULTIPLIED if op in SUMS else _Moves.OTHERWISE
        how, beside = (of_left, right) if of_right is _Moves.NOT else (of_right, left)
        number = known_number(beside)
        if op in SUMS:
            if op is BinaryOp.SUB and how is of_right and how in _BY_ONE:
                return _Moves.DOWN
            if how is _Moves.AS_IT:
                return _Moves.BY_ONE if number is None else _Moves.AHEAD
            return _Moves.IN_SUM if how is _Moves.TIMES else how
        if how in (_Moves.AS_IT, _Moves.AHEAD) and number is not None:
            if number == (1 if op is BinaryOp.SHL else 2):
                return _Moves.BY_STRIDE
            return _Moves.TIMES if how is _Moves.AS_IT else _Moves.AHEAD_IN_SUM
        return _Moves.BY_STRIDE if how in _BY_ONE else _Moves.MULTIPLIED

    def needs_counter(expr: Expr) -> bool:
        """Whether a number is made of the counter: no address, and no truth."""
        if (own := moves(expr)) is not _Moves.OTHERWISE:
            return own in _BY_ONE
        match expr:
            case PointerOffset(pointer=pointer):
                return needs_counter(pointer)
            case Binary(op=op) if op in COMPARISONS:
                return False
            case Assign(target=RegisterPlace(variable=variable)) if variable in counters:
                return False
            case _:
                return any(map(needs_counter, children(expr)))

    found, are_unsigned, is_needed = set[_Moves](), False, False
    for stmt in walk_statements(loop.body):
        for top in statement_expressions(stmt):
            if isinstance(stmt, Declare):
                known[stmt.variable] = moves(top)
            if not isinstance(stmt, Declare) or known[stmt.variable] is _Moves.OTHERWISE:
                is_needed |= needs_counter(top)
            for expr in walk_expressions(top):
                index = expr.index if isinstance(expr, PointerOffset) else None
                if index is not None and _is_unsigned_sum(index):
                    are_unsigned |= moves(index) not in _UNMOVED
                place = accessed_place(expr)
                address = None if place is None or place.space is MemorySpace.SHARED else place.address
                while isinstance(address, PointerOffset):
                    found.add(_Moves.NOT if address.index is None else moves(address.index))
                    address = address.pointer
    is_needed |= not found.isdisjoint((*_BY_ONE, _Moves.TIMES))
    return _Indices(are_unsigned, not found.isdisjoint(_MAY_WRAP[is_needed:]))


def _is_unsigned_sum(index: Expr) -> bool:
    while isinstance(index, Cast) and index.type.bits == 64:
        index = index.operand
    return isinstance(index, Binary) and index.type.bits == 32 and not index.type.signed


def shape_with(loop: Loop, facts: CodeFacts) -> LoopShape:
    """What `ir.loops` knows of `loop`; a bound in memory stays where the loop stores nothing."""
    tests = () if loop.condition is None else walk_expressions(loop.condition)
    loads = any(isinstance(expr, Load) for expr in tests)
    return shape_of(loop, memory_stays=loads and not facts.stores)


def may_not_wrap(step: Induction) -> bool:
    """Whether counter and step are signed: `i += 32u` and `i += warp.size()` are computed without a sign.

    What has the 64 bits of an address wraps as that does.
    """
    amount = step.amount
    if step.variable.type.bits == 64:
        return True
    return step.variable.type.signed and (isinstance(amount, int) or not _is_unsigned_word(amount.type))


def is_bare_size(amount: Expr) -> bool:
    """Whether a stride is a size of the launch alone, in more bits (SASS of nvcc 13: no copies)."""
    match amount:
        case Cast(operand=Builtin() as size):
            return (size.type.bits or 64) < (amount.type.bits or 64)
        case _:
            return False


def _is_unsigned_word(type_: Type) -> bool:
    return type_.kind is TypeKind.INT and type_.bits >= 32 and not type_.signed


def amount_of(step: Induction) -> Expr | int:
    """What a step adds or multiplies by, without conversions and signs."""
    amount = step.amount
    while isinstance(amount, Cast | Unary):
        amount = amount.operand
    return amount


def is_constant_step(step: Induction) -> bool:
    """Whether the source says by how much a counter goes."""
    return isinstance(amount_of(step), Constant | int)


def numbers_of_copies(step: Induction, increment: Value | None, first: float, copies: int) -> list[float]:
    """What a variable is in each of the copies of a loop; nothing where that is not known."""
    amount = amount_of(step)
    factor = amount.value if isinstance(amount, Constant) else amount
    if increment is not None and increment.number is not None:
        return [first + n * increment.number for n in range(copies)]
    type_ = step.variable.type
    if not isinstance(factor, int) or factor < 0 or type_.is_float or step.op not in FOLD_WORDS:
        return []
    found = [first]
    while len(found) < copies and abs(found[-1]) < 1 << (type_.bits or 64) - 1:  # or it wraps
        found.append(FOLD_WORDS[step.op](found[-1], factor))
    return found if len(found) == copies else []


def keeps_powers(step: Induction) -> bool:
    """Whether a step makes a power of two of one."""
    amount = amount_of(step)
    factor = amount.value if isinstance(amount, Constant) else amount
    return step.op in SHIFTS or (step.op in SCALINGS and isinstance(factor, int | float) and is_power(factor))


def counts_by_constants(body: CodeFacts, steps: CounterSteps) -> bool:
    """Counted by constant steps, and with no arm that returns."""
    counted = bool(steps) and all(is_constant_step(step) and step.op in SUMS for step in steps.values())
    return counted and not body.has.issuperset((Trait.LONG_ARM, Trait.RETURN))
