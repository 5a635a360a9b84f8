"""Ways through the tree; without recursion, because generated kernels nest deeper than Python does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from wattslice.ir.expressions import (
    AddressOf,
    Assign,
    Atomic,
    Binary,
    Builtin,
    Call,
    Cast,
    Constant,
    Construct,
    Expr,
    Extract,
    Increment,
    InlinedCall,
    Intrinsic,
    LaunchCall,
    Load,
    Logical,
    MemoryPlace,
    Place,
    PointerOffset,
    Read,
    Select,
    Text,
    TextureFetch,
    Unary,
)
from wattslice.ir.statements import Block, Break, Continue, Declare, ExprStmt, If, Loop, Return, Stmt, Switch


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
        if below := children(node):
            stack.extend(below[::-1])


def expressions_below(stmt: Stmt) -> Iterator[Expr]:
    """Every expression at any depth below a statement, those in the bodies of inlined calls included."""
    for inner in walk_statements(stmt):
        for expr in statement_expressions(inner):
            yield from walk_expressions(expr)


def walk_statements(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and every statement below it in source order, entering the bodies of inlined calls."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        inner: list[Stmt] = [
            part.body
            for expr in statement_expressions(node)
            for part in walk_expressions(expr)
            if isinstance(part, InlinedCall)
        ]
        inner.extend(nested_statements(node))
        stack.extend(reversed(inner))
