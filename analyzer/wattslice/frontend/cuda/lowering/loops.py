"""Loops of clang to those of the tree: `for`, `while`, `do`, ranges, and the pragmas before them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.lowering.context import Body, Cell, LoweringError, statement
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    is_followed,
    must_name_an_object,
    note_pointer,
    read,
    with_effects,
)
from wattslice.frontend.cuda.lowering.ranges import made_for, over_object
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.statements import (
    bind_parts,
    decision,
    guarded,
    loop_body,
    lower,
    split_condition,
)
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.frontend.cuda.lowering.unrolling import unroll_of
from wattslice.ir import INT64, Binary, Constant, Declare, Expr, Loop, LoopKind, Read, RegisterPlace, Stmt
from wattslice.ir.loops import canonical


def repeated(body: Body, node: Node, declared: Sequence[Stmt] = ()) -> Expr:
    """The condition or the step of a loop: with effects of its own, again in each iteration.

    `declared`: what a condition declares, `while (int x = f())`.
    """
    mark = len(body.before)
    body.before.extend(declared)
    value = with_effects(body, mark, decision(body, node))
    if len(body.before) > mark and not body.is_host:
        body.hole(
            "PW006", body.span(node), "an object made in the head of a loop is made once, before the loop"
        )
    return value


@statement(C.FOR_STMT)
def _for(body: Body, node: Node, unroll: int | None = None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    parts = for_parts(body, node)
    region = body.region()
    init = tuple(lower(body, parts.init)) if parts.init is not None else ()
    test_region = body.region()
    condition = step = None
    if parts.condition is not None:
        with body.statement_span(parts.condition):
            condition = repeated(body, parts.condition)
    elif parts.has_lost_condition and body.is_host:
        condition = unread(span)
    inner = loop_body(body, parts.body)
    step_region = body.region()
    if parts.step is not None:
        with body.statement_span(parts.step):
            step = repeated(body, parts.step)
    loop = Loop(LoopKind.FOR, init, condition, step, inner, unroll, region, test_region, step_region, span)
    return [canonical(loop)]


@statement(C.WHILE_STMT)
def _while(body: Body, node: Node, unroll: int | None = None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = split_condition(body, node, 1)
    if len(parts) != 2:
        raise LoweringError("while whose condition could not be read", node)
    region, test_region = body.region(), body.region()
    with body.statement_span(parts[0]):
        condition = repeated(body, parts[0], before)
    inner = loop_body(body, parts[1])
    step_region = body.region()
    loop = Loop(LoopKind.WHILE, (), condition, None, inner, unroll, region, test_region, step_region, span)
    return [canonical(loop)]


@statement(C.DO_STMT)
def _do(body: Body, node: Node, unroll: int | None = None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    children = node.children
    if len(children) != 2:
        raise LoweringError("do-while whose condition could not be read", node)
    region = body.region()
    inner = loop_body(body, children[0])
    test_region = body.region()
    with body.statement_span(children[1]):
        condition = repeated(body, children[1])
    step_region = body.region()
    loop = Loop(LoopKind.DO, (), condition, None, inner, unroll, region, test_region, step_region, span)
    return [canonical(loop)]


@statement(C.CXX_FOR_RANGE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """`for (x : array)`: a counted loop over the array; the counter is the compiler's and costs nothing."""
    children = list(node.children)
    variables = [c for c in children if c.kind in _VARIABLES]
    rest = [c for c in children if c.kind not in _VARIABLES]
    if len(variables) != 1 or len(rest) != 2:
        raise LoweringError("range-based for that could not be read", node)
    span = body.unit.spans.span(node)
    range_type = body.type(rest[0])
    if body.is_host and range_type.kind is ir.TypeKind.RECORD:
        return _host_range(body, variables[0], rest[0], rest[1], span)
    if range_type.name.removeprefix("const ").startswith("std::initializer_list<"):
        values = next((node for node in rest[0].walk() if node.kind == C.INIT_LIST_EXPR), None)
        if values is None or not values.children:
            raise LoweringError("range-based for over a list that is not known here", node)
        return _over_list(body, variables[0], values.children, rest[1], span)
    where = body.location(rest[0])
    if range_type.name.startswith("std::array<") and isinstance(where, Cell) and range_type.fields:
        elements = range_type.fields[0]
        range_type = elements.type
        where = Cell(where.address, where.space, range_type, where.root)
    if range_type.kind is not ir.TypeKind.ARRAY or range_type.length is None or not isinstance(where, Cell):
        if range_type.kind is ir.TypeKind.RECORD and not body.is_host:
            return over_object(body, variables[0], rest[0], where, rest[1], span)
        raise LoweringError("range-based for over something that is no array", node)
    where = Cell(where.address, where.space, range_type, where.root)
    return [_counted(body, variables[0], where, rest[1], span)]


_VARIABLES = (C.VAR_DECL, C.UNEXPOSED_DECL)  # `x`, and `[x, y]`


def _counted(body: Body, variable: Node, where: Cell, body_node: Node, span: ir.Span) -> Loop:
    """The loop over an array."""
    element = where.type.element
    assert element is not None
    counter = body.temporary(variable.spelling if body.is_host else "__index", INT64, span)
    place = RegisterPlace(counter, (), INT64)
    region = body.region()
    init: tuple[Stmt, ...] = (Declare(counter, Constant(0, INT64, span), body.region(), span),)
    test_region = body.region()
    condition: Expr = Binary(
        ir.BinaryOp.LT,
        Read(place, INT64, span),
        Constant(where.type.length or 0, INT64, span),
        INT64,
        ir.BOOL,
        span,
    )
    address = ir.PointerOffset(
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
    declared = _declare_element(body, variable, cell, span)
    if variable.kind == C.UNEXPOSED_DECL:
        bind_parts(body, variable, span)
    inner = loop_body(body, body_node)
    inner = ir.Block((*declared, *inner.statements), inner.region, inner.span)
    step_region = body.region()
    step = ir.Increment(place, 1, True, 1, INT64, span)
    return Loop(LoopKind.FOR, init, condition, step, inner, None, region, test_region, step_region, span)


def _over_list(body: Body, variable: Node, values: Sequence[Node], inner: Node, span: ir.Span) -> list[Stmt]:
    """`for (x : {a, b})`: an array of the values, and a loop over it."""
    type_ = ir.Type(ir.TypeKind.ARRAY, element=body.type(variable), length=len(values))
    parts = tuple(body.expr(value) for value in values)
    array = ir.Variable("__list", type_, body.home(type_), ir.VariableRole.TEMPORARY, span)
    value = ir.Construct(parts, (), type_, span)
    note_pointer(body, array, (), value)
    address = ir.AddressOf(array, pointer_to(type_), span)
    where = Cell(address, array.space, type_, array)
    made = Declare(array, value, body.region(), span)
    return [made, _counted(body, variable, where, inner, span)]


def _host_range(body: Body, variable: Node, source: Node, inner: Node, span: ir.Span) -> list[Stmt]:
    """`for (x : vector)` and `for (x : {1, 2})` of host code: by the methods of a vector."""
    type_ = body.type(source)
    elements = next((node for node in source.walk() if node.kind == C.INIT_LIST_EXPR), None)
    if type_.name.removeprefix("const ").startswith("std::initializer_list<") and elements is not None:
        value = body.expr(elements)
        type_ = ir.Type(ir.TypeKind.RECORD, name="std::vector<list>")
        vector = body.temporary("__range", type_, span)
        made: Expr = ir.Construct((value,), (), type_, span)
        before: list[Stmt] = [Declare(vector, made, body.region(), span)]
        address: Expr = ir.AddressOf(vector, pointer_to(type_), span)
    else:
        where, before = body.location(source), list[Stmt]()
        if where is None:  # of a temporary object, which lives as long as the loop
            before, where = made_for(body, variable, source)
        address = address_of(body, where, span)
        if not isinstance(address, ir.AddressOf):  # the range is looked for once
            held = body.temporary("__range", address.type, span)
            before = [*before, Declare(held, address, body.region(), span)]
            address = Read(RegisterPlace(held, (), held.type), held.type, span)
    counter = body.temporary(variable.spelling, INT64, span)  # as which messages tell it
    place = RegisterPlace(counter, (), INT64)
    index = Read(place, INT64, span)
    region = body.region()
    init: tuple[Stmt, ...] = (Declare(counter, Constant(0, INT64, span), body.region(), span),)
    test_region = body.region()
    length = ir.Call("_ZNKSt6vector4size", "size", (address,), INT64, span)
    condition = Binary(ir.BinaryOp.LT, index, length, INT64, ir.BOOL, span)
    element_type = body.type(variable)
    is_bit = variable.type.kind == K.AUTO and type_.name.startswith("std::vector<bool")
    is_written = is_bit or must_name_an_object(variable.type)
    start = ir.Call(
        ir.NEXT_ELEMENT, ir.ADDRESS_OF + "operator[]", (address, index), pointer_to(element_type), span
    )
    if is_written and is_followed(element_type):
        pointer = body.temporary(variable.spelling, start.type, span)
        named = Cell(
            Read(RegisterPlace(pointer, (), start.type), start.type, span),
            ir.MemorySpace.HOST,
            element_type,
            None,
        )
        body.names[variable.raw.data0] = body.bindings[variable.spelling] = named
        declared: Stmt = Declare(pointer, start, body.region(), span)
    else:
        element = ir.Variable(
            variable.spelling, element_type, body.home(element_type), ir.VariableRole.LOCAL, span
        )
        body.names[variable.raw.data0] = element
        value = ir.Call(ir.NEXT_ELEMENT, "operator[]", (address, index), element_type, span)
        declared = Declare(element, value, body.region(), span)
        if is_written:  # to elements that nobody follows
            lost = replace(start, arguments=(address, unread(span)))
            init = (*init, ir.ExprStmt(lost, body.region(), span))
    if variable.kind == C.UNEXPOSED_DECL:
        bind_parts(body, variable, span)
    statements = loop_body(body, inner)
    statements = ir.Block((declared, *statements.statements), statements.region, statements.span)
    step_region = body.region()
    step = ir.Increment(place, 1, True, 1, INT64, span)
    loop = Loop(LoopKind.FOR, init, condition, step, statements, None, region, test_region, step_region, span)
    return [*before, loop]


def _declare_element(body: Body, node: Node, cell: Cell, span: ir.Span) -> list[Stmt]:
    type_ = body.type(node)
    if body.unit.types.is_reference(node.raw):
        pointer = body.temporary(node.spelling, pointer_to(cell.type), span)
        note_pointer(body, pointer, (), cell.address)
        body.names[node.raw.data0] = body.bindings[node.spelling] = Cell(
            Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span),
            cell.space,
            cell.type,
            cell.root,
        )
        return [Declare(pointer, cell.address, body.region(), span)]
    variable = ir.Variable(node.spelling, type_, body.home(type_), ir.VariableRole.LOCAL, span)
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
    loop = _LOOPS.get(inner.kind)
    if loop is not None:
        unroll = unroll_of(body, node, inner)
        return guarded(body, inner, functools.partial(loop, unroll=unroll))
    return lower(body, inner)


# ---------------------------------------------------------------------------
# Loop headers: which child of a `for` is which.


class ForParts(Struct, frozen=True):
    """The parts of a `for`; what the source leaves out is None."""

    init: Node | None
    condition: Node | None
    step: Node | None
    body: Node
    has_lost_condition: bool = False


def for_parts(body: Body, node: Node) -> ForParts:
    """Tell the children of a FOR_STMT apart: libclang lists only those that exist."""
    children = list(node.children)
    if not children:
        raise LoweringError("for without a body", node)
    inner = children.pop()
    if len(children) == 3:
        return ForParts(children[0], children[1], children[2], inner)
    if len(children) > 3:  # `for (int i = 0; int x = p[i]; ++i)`: the declaration, and its value
        raise LoweringError("the condition of this loop declares a variable", node)
    if not children:
        return ForParts(None, None, None, inner)
    semicolons = _semicolons(body, node)
    parts: list[Node | None] = [None, None, None]
    for child in children:
        slot = _slot_by_text(body, child, semicolons) if semicolons else None
        if slot is None or parts[slot] is not None:
            slot = _slot_by_kind(child, parts)
        parts[slot] = child
    is_lost = parts[1] is None and semicolons is not None and _has_text_between(body, node, semicolons)
    if is_lost:
        # An undeclared name deletes the whole condition.
        body.hole("PW001", body.unit.spans.span(node), "the condition of this loop could not be read")
    return ForParts(parts[0], parts[1], parts[2], inner, is_lost)


def _semicolons(body: Body, node: Node) -> tuple[int, int] | None:
    """Byte offsets of the two semicolons in the header; None when the loop comes out of a macro."""
    found = body.unit.spans.source(node)
    if found is None:
        return None
    file, begin, end = found
    data = file.data
    depth = 0
    seen: list[int] = []
    at = begin
    while at < end:
        byte = data[at : at + 1]
        if data[at : at + 2] == b"//":
            at = data.find(b"\n", at)
            if at < 0:
                return None
        elif data[at : at + 2] == b"/*":
            at = data.find(b"*/", at) + 1
            if at <= 0:
                return None
        elif byte in (b'"', b"'"):
            closing = data.find(byte, at + 1)
            at = end if closing < 0 else closing
        elif byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
            if depth == 0:
                return None
        elif byte == b";" and depth == 1:
            seen.append(at)
            if len(seen) == 2:
                return seen[0], seen[1]
        at += 1
    return None


def _has_text_between(body: Body, node: Node, semicolons: tuple[int, int]) -> bool:
    found = body.unit.spans.source(node)
    if found is None:
        return False
    between = found[0].data[semicolons[0] + 1 : semicolons[1]]
    return bool(re.sub(rb"/\*.*?\*/|//[^\n]*", b"", between, flags=re.S).strip())


def _slot_by_text(body: Body, child: Node, semicolons: tuple[int, int]) -> int | None:
    found = body.unit.spans.source(child)
    begin = child.start.offset if found is None else found[1]
    return 0 if begin < semicolons[0] else 1 if begin < semicolons[1] else 2


def _slot_by_kind(child: Node, parts: list[Node | None]) -> int:
    """A loop out of a macro: declarations and assignments start it, increments step it, the rest tests."""
    free = [i for i in range(3) if parts[i] is None]
    if child.kind in (C.DECL_STMT, C.VAR_DECL):
        wanted = 0
    elif child.kind in (C.COMPOUND_ASSIGNMENT_OPERATOR, C.UNARY_OPERATOR):
        wanted = 2
    elif child.kind == C.BINARY_OPERATOR and child.binary_operator == B.ASSIGN:
        wanted = 0 if parts[1] is None and parts[0] is None else 2
    else:
        wanted = 1
    return wanted if wanted in free else free[0]
