"""Ways through the tree; without recursion, because generated kernels nest deeper than Python does."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Generic, TypeVar

from wattslice.ir.operators import BinaryOp
from wattslice.ir.tree import (
    AddressOf,
    Assign,
    Atomic,
    Binary,
    Block,
    Break,
    Builtin,
    Call,
    Cast,
    Constant,
    Construct,
    Continue,
    Declare,
    Expr,
    ExprStmt,
    Extract,
    If,
    Increment,
    InlinedCall,
    Intrinsic,
    Kernel,
    LaunchCall,
    Load,
    Logical,
    Loop,
    MemoryPlace,
    Place,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Select,
    Stmt,
    Switch,
    Text,
    TextureFetch,
    Unary,
    Variable,
)


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of `expr`, in evaluation order, addresses of places included.

    The body of an `InlinedCall` is a statement and not among them.
    """
    return _CHILDREN[type(expr)](expr)


def _place_address(place: Place) -> tuple[Expr, ...]:
    return (place.address,) if isinstance(place, MemoryPlace) else ()


def _no_children(_: Any) -> tuple[Expr, ...]:  # noqa: ANN401 - any expression
    return ()


_CHILDREN: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {  # by type: asked for every node
    Constant: _no_children,
    Builtin: _no_children,
    Read: _no_children,
    AddressOf: _no_children,
    Text: _no_children,
    Load: lambda expr: (expr.place.address,),
    PointerOffset: lambda expr: (expr.pointer,) if expr.index is None else (expr.pointer, expr.index),
    Unary: lambda expr: (expr.operand,),
    Cast: lambda expr: (expr.operand,),
    Binary: lambda expr: (expr.left, expr.right),
    Logical: lambda expr: (expr.left, expr.right),
    Select: lambda expr: (expr.condition, expr.then, expr.otherwise),
    Assign: lambda expr: (expr.value, *_place_address(expr.target)),
    Increment: lambda expr: _place_address(expr.target),
    Atomic: lambda expr: (expr.place.address, *expr.arguments),
    TextureFetch: lambda expr: expr.coordinates,
    Extract: lambda expr: (expr.value,),
    Intrinsic: lambda expr: expr.arguments,
    Construct: lambda expr: expr.arguments,
    InlinedCall: lambda expr: expr.arguments,
    Call: lambda expr: expr.arguments if expr.function is None else (expr.function, *expr.arguments),
    LaunchCall: lambda expr: (
        expr.grid,
        expr.block,
        *(() if expr.shared_bytes is None else (expr.shared_bytes,)),
        *(() if expr.function is None else (expr.function,)),
        *(() if expr.packed is None else (expr.packed,)),
        *expr.arguments,
    ),
}


def statement_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement holds directly (not those of nested statements)."""
    return _EXPRESSIONS[type(stmt)](stmt)


def _nothing(_: Any) -> tuple[()]:  # noqa: ANN401 - any statement
    return ()


_EXPRESSIONS: dict[type[Stmt], Callable[[Any], tuple[Expr, ...]]] = {
    ExprStmt: lambda stmt: (stmt.expr,),
    Declare: lambda stmt: () if stmt.value is None else (stmt.value,),
    Return: lambda stmt: () if stmt.value is None else (stmt.value,),
    If: lambda stmt: (stmt.condition,),
    Loop: lambda stmt: tuple(expr for expr in (stmt.condition, stmt.step) if expr is not None),
    Switch: lambda stmt: (stmt.selector,),
    Block: _nothing,
    Break: _nothing,
    Continue: _nothing,
}


def nested_statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `stmt` (not those inside inlined calls of its expressions)."""
    return _NESTED.get(type(stmt), _nothing)(stmt)


_NESTED: dict[type[Stmt], Callable[[Any], tuple[Stmt, ...]]] = {
    Block: lambda stmt: stmt.statements,
    If: lambda stmt: (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise),
    Loop: lambda stmt: (*stmt.init, stmt.body),
    Switch: lambda stmt: tuple(case.body for case in stmt.cases),
}


def never_falls_through(stmt: Stmt) -> bool:
    """Whether `stmt` ends in `return`, `break` or `continue`, so that control never falls out of its end."""
    last: Stmt | None = stmt
    while isinstance(last, Block):
        last = last.statements[-1] if last.statements else None
    return isinstance(last, Return | Break | Continue)


def walk_expressions(expr: Expr) -> Iterator[Expr]:
    """`expr` and every expression below it, not entering the bodies of inlined calls."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if below := _CHILDREN[type(node)](node):
            stack.extend(below[::-1])


_Node = TypeVar("_Node")

_MOST_LISTED = 1 << 21
"""Nodes in the lists of one kind that are kept: 16 MiB."""

_ENTRY = 32
"""Nodes that take as much memory as a list without any."""


class _Kept(Generic[_Node]):
    """Lists what is below a statement; the lists are kept while they are not too long altogether."""

    def __init__(self, listing: Callable[[Stmt], tuple[_Node, ...]]) -> None:
        self._listing = listing
        self.forget()

    def __call__(self, stmt: Stmt) -> tuple[_Node, ...]:
        found = self._lists.get(stmt)
        if found is None:
            found = self._listing(stmt)
            self._left -= len(found) + _ENTRY
            if self._left < 0:
                self.forget()
            self._lists[stmt] = found
        return found

    def forget(self) -> None:
        """Nothing is kept any more."""
        self._lists: dict[Stmt, tuple[_Node, ...]] = {}
        self._left = _MOST_LISTED


@_Kept
def expressions_below(stmt: Stmt) -> tuple[Expr, ...]:
    """Every expression at any depth below a statement, those in the bodies of inlined calls included.

    Kept until the next file is read: many stages go through all kernels, loops and host functions.
    """
    found: list[Expr] = []
    statements = [stmt]
    while statements:
        inner = statements.pop()
        below: list[Stmt] = []
        for expr in statement_expressions(inner):
            stack = [expr]
            while stack:
                node = stack.pop()
                found.append(node)
                if isinstance(node, InlinedCall):
                    below.append(node.body)
                if inside := _CHILDREN[type(node)](node):
                    stack.extend(inside[::-1])
        below.extend(nested_statements(inner))
        statements.extend(reversed(below))
    return tuple(found)


def walk_statements(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and every statement below it in source order, entering the bodies of inlined calls."""
    return iter(_listed(stmt)) if isinstance(stmt, Block) else _walk(stmt)


@_Kept
def _listed(stmt: Stmt) -> tuple[Stmt, ...]:
    return tuple(_walk(stmt))


def _walk(stmt: Stmt) -> Iterator[Stmt]:
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(directly_below(node))


@lru_cache(maxsize=1 << 14)
def directly_below(stmt: Stmt) -> tuple[Stmt, ...]:
    """The bodies of the calls in a statement and the statements inside it, the last one first."""
    inner: list[Stmt] = [
        part.body
        for expr in statement_expressions(stmt)
        for part in walk_expressions(expr)
        if isinstance(part, InlinedCall)
    ]
    inner.extend(nested_statements(stmt))
    return tuple(reversed(inner))


def forget_listed() -> None:
    """Nothing is kept of what was walked through: it may be a file that is not asked for again."""
    expressions_below.forget()
    _listed.forget()
    directly_below.cache_clear()


LEAVES: frozenset[type[Expr]] = frozenset({Constant, Builtin, Read, AddressOf})
"""Expressions without sub-expressions, which cost nothing: half of all."""

Evaluation = tuple[Stmt | Expr, int]
"""An expression, or a statement that decides (`if`, `switch`, loop) or declares, and its region."""


@lru_cache(maxsize=4)
def evaluations(kernel: Kernel) -> tuple[Evaluation, ...]:
    """All statements that decide or declare, all expressions but leaves, bodies of inlined calls included.

    In no particular order, but always the same. Kept for the last few kernels, since every stage asks.
    """
    found: list[Evaluation] = []
    statements: list[Stmt] = [kernel.body]
    while statements:
        stmt = statements.pop()
        if isinstance(stmt, Declare):
            found.append((stmt, stmt.region))
        elif (region := decision_region(stmt)) is not None:
            found.append((stmt, region))
        stack = list(expression_regions(stmt))
        while stack:
            expr, region = pair = stack.pop()
            kind = type(expr)
            if kind in LEAVES:
                continue
            found.append(pair)
            if kind is Logical or kind is Select:
                stack.extend(child_regions(expr, region))
                continue
            if isinstance(expr, InlinedCall):
                statements.append(expr.body)
            stack.extend([(child, region) for child in children(expr)])
        statements.extend(nested_statements(stmt))
    return tuple(found)


def child_regions(expr: Expr, region: int) -> tuple[tuple[Expr, int], ...]:
    """The sub-expressions of `expr`, each with the region it runs in when `expr` runs in `region`."""
    if isinstance(expr, Logical):
        return ((expr.left, region), (expr.right, expr.right_region))
    if isinstance(expr, Select):
        return (
            (expr.condition, region),
            (expr.then, expr.then_region),
            (expr.otherwise, expr.otherwise_region),
        )
    return tuple([(child, region) for child in children(expr)])


def is_decision(select: Select) -> bool:
    """Whether the arms of `c ? a : b` hold work: else both are registers or numbers, and not counted."""
    return not (isinstance(select.then, Constant | Read) and isinstance(select.otherwise, Constant | Read))


def expression_regions(stmt: Stmt) -> tuple[tuple[Expr, int], ...]:
    """The expressions a statement holds directly, each with the region it runs in."""
    if isinstance(stmt, Loop):
        parts = ((stmt.condition, stmt.test_region), (stmt.step, stmt.step_region))
        return tuple((expr, region) for expr, region in parts if expr is not None)
    found = statement_expressions(stmt)
    return ((found[0], stmt.region),) if found else ()


def decision_region(stmt: Stmt) -> int | None:
    """Where the decision is made that `if`, `switch` and loops with a test consist in; None for others."""
    if isinstance(stmt, Loop):
        return None if stmt.condition is None else stmt.test_region
    return stmt.region if isinstance(stmt, If | Switch) else None


LIMIT = 20_000
Result = TypeVar("Result")


@contextmanager
def no_collections() -> Generator[None]:
    """Millions of small objects and no garbage among them: collections would only cost time (a third)."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def in_one_piece(work: Callable[[], Result]) -> Result:
    """What `work` gives; the frames of the functions that it calls lie in one piece of memory.

    CPython has them in pieces of 16 KiB. It gets a piece from the system when a call does not fit into the
    last one, and gives it back when that call ends: with a loop just there, that took more time than the
    analysis. Here the frame of this function makes the piece so large that no call finds its end.
    """
    return work()


in_one_piece.__code__ = in_one_piece.__code__.replace(co_stacksize=140_000)  # above 1 MiB of 2, never touched


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise Python's recursion limit while this runs (calls between Python functions use no C stack)."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


RegisterKey = Variable | tuple[Variable, tuple[str, ...]]
"""A register as a key: a variable, or a member of one."""


def register_key(place: RegisterPlace) -> RegisterKey:
    """The key of a register place."""
    return (place.variable, place.path) if place.path else place.variable


def strip_casts(expr: Expr) -> Expr:
    """`expr` without the casts around it."""
    while isinstance(expr, Cast):
        expr = expr.operand
    return expr


def read_variable(expr: Expr) -> Variable | None:
    """The register variable that `expr` reads, casts aside; None for anything else."""
    expr = strip_casts(expr)
    if isinstance(expr, Read) and not expr.place.path:
        return expr.place.variable
    return None


def values_given(stmt: Stmt) -> dict[Variable, list[Expr]]:
    """The values that whole registers are given below a statement, in no particular order."""
    found: dict[Variable, list[Expr]] = {}
    for inner in walk_statements(stmt):
        if isinstance(inner, Declare) and inner.value is not None:
            found.setdefault(inner.variable, []).append(inner.value)
    for node in expressions_below(stmt):
        if isinstance(node, Assign) and isinstance(node.target, RegisterPlace) and not node.target.path:
            found.setdefault(node.target.variable, []).append(node.value)
    return found


def comma_parts(expr: Expr) -> Iterator[Expr]:
    """The operands of `a, b, c`; `expr` itself when it has no comma."""
    if isinstance(expr, Binary) and expr.op is BinaryOp.COMMA:
        yield from comma_parts(expr.left)
        yield from comma_parts(expr.right)
    else:
        yield expr
