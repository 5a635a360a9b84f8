"""Guards in straight code that the compiler branches around however short: no load may move across them.

ptxas predicates a short arm where its loads from global memory can wait together with others. It branches
(BRA, BSSY, BSYNC) where nothing else loads before the next branch, and what the arm stores keeps the loads
behind that in their place (SASS of nvcc 13 for sm_75, sm_80 and sm_90): the steps of a reduction in global
memory one by one, `if (t < 64) g[t] += g[t + 64]; __syncthreads(); if (t < 32) ...`.
"""

from __future__ import annotations

from itertools import chain

from wattslice.ir import (
    Assign,
    Block,
    Declare,
    Expr,
    ExprStmt,
    If,
    InlinedCall,
    Intrinsic,
    Load,
    MemoryPlace,
    MemorySpace,
    Read,
    Semantics,
    Stmt,
    TypeKind,
    statement_expressions,
    walk_expressions,
    walk_statements,
)


def guards_apart(body: Block) -> frozenset[If]:
    """The guards in `body`, not in loops or functions, that are branched around for what lies behind them."""
    found, work = list[If](), [(body, tuple[Stmt, ...]())]
    while work:
        block, after = work.pop()
        for at, stmt in enumerate(block.statements):
            match stmt:
                case If(then=then, otherwise=otherwise):
                    behind = (*block.statements[at + 1 :], *after)
                    work += [(arm, behind) for arm in (then, otherwise) if arm is not None]
                    if otherwise is None and not _waits_before(block.statements, at):
                        found += [stmt] * _is_apart(then, behind)
                case Block():
                    work.append((stmt, (*block.statements[at + 1 :], *after)))
                case _:
                    pass
    return frozenset(found)


def _waits_before(statements: tuple[Stmt, ...], at: int) -> bool:
    """Whether a load in front of the guard at `at` may still be under way: nothing has been stored since."""
    for stmt in map(statements.__getitem__, range(at - 1, -1, -1)):
        here = _Accesses(stmt)
        if here.stored or here.is_barrier or not isinstance(stmt, Declare | ExprStmt):
            return False
        if here.loaded:
            return True
    return False


def _is_apart(arm: Block, behind: tuple[Stmt, ...]) -> bool:
    """Whether an arm that loads is before a branch, and no load behind that may move up to it."""
    own = _Accesses(arm)
    loads = [place for place in own.loaded if place.space is MemorySpace.GLOBAL]
    roots = {place.root for place in own.stored}
    if not loads or any(one.root and one.root.is_restrict and one.root not in roots for one in loads):
        return False
    spaces = {place.space for place in own.stored}
    is_kept = MemorySpace.GLOBAL in spaces  # loads behind stay there
    for stmt in behind:
        here = _Accesses(stmt)
        is_kept = is_kept or (here.is_barrier and MemorySpace.SHARED in spaces)
        is_last = stmt is behind[-1]
        if isinstance(stmt, If) and (here.loaded or is_last):
            return is_kept and here.indices <= own.indices
        if here.loaded or here.calls or here.moves or not isinstance(stmt, Declare | ExprStmt | If):
            return False
    return False


class _Accesses:
    """What there is in a statement: places loaded and stored, and the variables in where they are."""

    def __init__(self, stmt: Stmt) -> None:
        self.loaded: list[MemoryPlace] = []
        self.stored: list[MemoryPlace] = []
        self.is_barrier = self.calls = self.moves = False
        for one in walk_statements(stmt):
            for expr in chain.from_iterable(map(walk_expressions, statement_expressions(one))):
                self._add(expr)
        self.indices = {
            expr.place.variable
            for place in self.loaded
            for expr in walk_expressions(place.address)
            if isinstance(expr, Read) and expr.type.kind is not TypeKind.POINTER
        }

    def _add(self, expr: Expr) -> None:
        match expr:
            case Load(place=place):
                self.loaded.append(place)
            case Assign(target=MemoryPlace() as place, op=op):
                self.stored.append(place)
                self.loaded += [place] * (op is not None)
            case Assign():
                self.moves = True  # a variable, perhaps one of an index
            case Intrinsic(semantics=Semantics.BARRIER):
                self.is_barrier = True
            case InlinedCall():
                self.calls = True
            case _:
                pass
