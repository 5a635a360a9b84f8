"""Loops: `for`, `while`, `do`, ranges, and the pragmas in front of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import (
    Body,
    Cell,
    LoweringError,
    statement,
)
from wattslice.frontend.cuda.lowering.loop_headers import for_parts, unroll_of
from wattslice.frontend.cuda.lowering.memory import note_pointer, read, with_effects
from wattslice.frontend.cuda.lowering.statements import as_block, guarded, lower, split_condition
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import (
    BOOL,
    INT64,
    Binary,
    BinaryOp,
    Block,
    Constant,
    Declare,
    Expr,
    Increment,
    Loop,
    LoopKind,
    PointerOffset,
    Read,
    RegisterPlace,
    Span,
    Stmt,
    TypeKind,
    Variable,
    VariableRole,
)


def repeated(body: Body, node: Node, declared: Sequence[Stmt] = ()) -> Expr:
    """The condition or the step of a loop: with effects of its own, again in each iteration.

    `declared`: what a condition declares, `while (int x = f())`.
    """
    mark = len(body.before)
    body.before.extend(declared)
    value = with_effects(body, mark, body.expr(node))
    if len(body.before) > mark and not body.is_host:
        body.hole(
            "PW006", body.span(node), "an object made in the head of a loop is made once, before the loop"
        )
    return value


@statement(C.FOR_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return _for(body, node, None)


def _for(body: Body, node: Node, unroll: int | None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    parts = for_parts(body, node)
    region = body.region()
    init = tuple(lower(body, parts.init)) if parts.init is not None else ()
    test_region = body.region()
    condition = step = None
    if parts.condition is not None:
        with body.statement_span(parts.condition):
            condition = repeated(body, parts.condition)
    inner = as_block(body, parts.body)
    step_region = body.region()
    if parts.step is not None:
        with body.statement_span(parts.step):
            step = repeated(body, parts.step)
    return [Loop(LoopKind.FOR, init, condition, step, inner, unroll, region, test_region, step_region, span)]


@statement(C.WHILE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return _while(body, node, None)


def _while(body: Body, node: Node, unroll: int | None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = split_condition(body, node, 1)
    if len(parts) != 2:
        raise LoweringError("while whose condition could not be read", node)
    region, test_region = body.region(), body.region()
    with body.statement_span(parts[0]):
        condition = repeated(body, parts[0], before)
    inner = as_block(body, parts[1])
    step_region = body.region()
    return [Loop(LoopKind.WHILE, (), condition, None, inner, unroll, region, test_region, step_region, span)]


@statement(C.DO_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return _do(body, node, None)


def _do(body: Body, node: Node, unroll: int | None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    children = node.children
    if len(children) != 2:
        raise LoweringError("do-while whose condition could not be read", node)
    region = body.region()
    inner = as_block(body, children[0])
    test_region = body.region()
    with body.statement_span(children[1]):
        condition = repeated(body, children[1])
    step_region = body.region()
    return [Loop(LoopKind.DO, (), condition, None, inner, unroll, region, test_region, step_region, span)]


@statement(C.CXX_FOR_RANGE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """`for (x : array)`: a counted loop over the array; the counter is the compiler's and costs nothing."""
    children = list(node.children)
    variables = [c for c in children if c.kind == C.VAR_DECL]
    rest = [c for c in children if c.kind != C.VAR_DECL]
    if len(variables) != 1 or len(rest) != 2:
        raise LoweringError("range-based for that could not be read", node)
    span = body.unit.spans.span(node)
    range_type = body.type(rest[0])
    where = body.location(rest[0])
    if range_type.name.startswith("std::array<") and isinstance(where, Cell) and range_type.fields:
        elements = range_type.fields[0]
        range_type = elements.type
        where = Cell(where.address, where.space, range_type, where.root)
    if range_type.kind is not TypeKind.ARRAY or range_type.length is None or not isinstance(where, Cell):
        raise LoweringError("range-based for over something that is no array", node)
    element = range_type.element
    assert element is not None
    counter = body.temporary("__index", INT64, span)
    place = RegisterPlace(counter, (), INT64)
    region = body.region()
    init: tuple[Stmt, ...] = (Declare(counter, Constant(0, INT64, span), body.region(), span),)
    test_region = body.region()
    condition: Expr = Binary(
        BinaryOp.LT, Read(place, INT64, span), Constant(range_type.length, INT64, span), INT64, BOOL, span
    )
    address = PointerOffset(
        where.address,
        Read(place, INT64, span),
        element.size_bytes,
        0,
        False,
        False,
        pointer_to(element),
        span,
    )
    cell = Cell(address, where.space, element, where.root)
    declared = _declare_element(body, variables[0], cell, span)
    inner = as_block(body, rest[1])
    inner = Block((*declared, *inner.statements), inner.region, inner.span)
    step_region = body.region()
    step = Increment(place, 1, True, 1, INT64, span)
    return [Loop(LoopKind.FOR, init, condition, step, inner, None, region, test_region, step_region, span)]


def _declare_element(body: Body, node: Node, cell: Cell, span: Span) -> list[Stmt]:
    type_ = body.type(node)
    if body.unit.types.is_reference(node.raw):
        pointer = body.temporary(node.spelling, pointer_to(cell.type), span)
        note_pointer(body, pointer, (), cell.address)
        body.names[node.raw.data0] = Cell(
            Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span),
            cell.space,
            cell.type,
            cell.root,
        )
        return [Declare(pointer, cell.address, body.region(), span)]
    variable = Variable(node.spelling, type_, body.home(type_), VariableRole.LOCAL, span)
    body.names[node.raw.data0] = variable
    return [Declare(variable, read(body, cell, span), body.region(), span)]


_LOOPS: dict[int, Callable[..., list[Stmt]]] = {
    int(C.FOR_STMT): _for,
    int(C.WHILE_STMT): _while,
    int(C.DO_STMT): _do,
}


@statement(C.UNEXPOSED_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """A statement with attributes; around a loop it is `#pragma unroll`."""
    children = [c for c in node.children if c.kind < 400]
    if not children:
        return []
    inner = children[-1]
    unroll = unroll_of(body, node, inner)
    loop = _LOOPS.get(inner.kind)
    if loop is not None:
        return guarded(body, inner, functools.partial(loop, unroll=unroll))
    return lower(body, inner)
