"""Statements: declarations, branches, loops, switches, returns."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from wattslice.frontend.clang.cursors import Node
from wattslice.frontend.clang.kinds import CursorKind as C
from wattslice.frontend.lowering.context import (
    STATEMENTS,
    Body,
    Cell,
    LoweringError,
    PointsTo,
    StatementHandler,
    statement,
)
from wattslice.frontend.lowering.inlining import function_named, is_callable_type
from wattslice.frontend.lowering.known import known_value
from wattslice.frontend.lowering.loops import for_parts, unroll_of
from wattslice.frontend.lowering.memory import note_pointer, pointee_of
from wattslice.frontend.lowering.names import memory_attribute
from wattslice.frontend.lowering.types import pointer_to
from wattslice.ir import (
    BOOL,
    INT64,
    Binary,
    BinaryOp,
    Block,
    Break,
    Case,
    Constant,
    Construct,
    Continue,
    Declare,
    Expr,
    ExprStmt,
    If,
    Increment,
    Load,
    Loop,
    LoopKind,
    MemorySpace,
    PointerOffset,
    Read,
    RegisterPlace,
    Return,
    Span,
    Stmt,
    Switch,
    TypeKind,
    Variable,
    VariableRole,
)


def lower(body: Body, node: Node) -> list[Stmt]:
    """The statements that one source statement becomes; what cannot be read leaves a diagnostic."""
    body.nodes += 1
    handler = STATEMENTS.get(node.kind)
    if handler is not None and node.kind in _SELF_SPANNED:
        return _guarded(body, node, handler)
    with body.statement_span(node):
        return _guarded(body, node, handler or _expression_statement)


def _guarded(body: Body, node: Node, handler: StatementHandler) -> list[Stmt]:
    outer = body.before
    body.before = []
    try:
        result = handler(body, node)
        return [*body.before, *result] if body.before else result
    except LoweringError as error:
        span = body.unit.spans.span(error.node)
        if not span.line:
            span = body.unit.spans.span(node)
        body.hole("PW006", span, f"not read: {error}")
        return list(body.before)
    finally:
        body.before = outer


def _expression_statement(body: Body, node: Node) -> list[Stmt]:
    if node.kind >= 200 and node.kind < 280:
        raise LoweringError(f"statement of kind {node.kind} is not supported", node)
    if body.is_host and _is_beside_the_point(node):
        return []
    if node.kind == C.PAREN_EXPR and body.unit.spans.line_text(node).startswith("assert"):
        return []  # the prelude's assert: free by convention
    expr = body.expr(node)
    if isinstance(expr, Load):  # named, but its value is not asked for
        expr = expr.place.address
    if isinstance(expr, Constant | Construct) and not getattr(expr, "arguments", ()):
        return []
    return [ExprStmt(expr, body.region(), body.span(node))]


_NO_GEOMETRY = re.compile(
    r"^(v?f?printf|f?puts|putchar|fflush|fclose|free|mem(cpy|set|move)|cuda(Memcpy|Memset|Free|Event|Malloc)\w*"
    r"|cuda(Device|Thread|Stream)(Synchronize|Reset|Exit)|operator<<)$"
)


def _is_beside_the_point(node: Node) -> bool:
    """Host statements that move data or print: nothing about a launch can come out of them."""
    while node.kind in (C.UNEXPOSED_EXPR, C.PAREN_EXPR) and len(node.children) == 1:
        node = node.children[0]
    return node.kind == C.CALL_EXPR and _NO_GEOMETRY.match(node.spelling) is not None


def block(body: Body, nodes: list[Node], span: Span) -> Block:
    """A block of its own region from the statements given."""
    region = body.region()
    statements: list[Stmt] = []
    for node in nodes:
        statements.extend(lower(body, node))
    return Block(tuple(statements), region, span)


def as_block(body: Body, node: Node) -> Block:
    """The body of an `if`, a loop or a function as one block."""
    children = list(node.children) if node.kind == C.COMPOUND_STMT else [node]
    return block(body, children, body.unit.spans.span(node))


@statement(C.COMPOUND_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return [as_block(body, node)]


@statement(C.NULL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return []


# --------------------------------------------------------------------------- declarations


@statement(C.DECL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    result: list[Stmt] = []
    for child in node.children:
        if child.kind == C.VAR_DECL:
            result.extend(declare(body, child))
        elif child.kind == C.UNEXPOSED_DECL:  # structured binding
            body.hole("PW006", body.span(child), "structured binding is not followed")
    return result


@statement(C.VAR_DECL)
def _(body: Body, node: Node) -> list[Stmt]:
    return declare(body, node)


def declare(body: Body, node: Node) -> list[Stmt]:
    """A local variable: shared memory, local array, register, reference, or a known constant."""
    type_ = body.type(node)
    span = body.span(node)
    key = node.raw.data0
    initializer = node.initializer
    if initializer is not None and initializer.kind < 100:
        initializer = None
    if body.unit.types.is_reference(node.raw) and initializer is not None:
        return _declare_reference(body, node, initializer, span)
    children = node.children
    attribute = memory_attribute(node) if any(c.kind >= 400 for c in children) else None
    if attribute is not None and not body.is_host:
        length_unknown = type_.kind is TypeKind.ARRAY and type_.length is None
        dynamic = attribute is MemorySpace.SHARED and length_unknown
        variable = Variable(node.spelling, type_, attribute, VariableRole.LOCAL, span, dynamic=dynamic)
        body.names[key] = variable
        if attribute is MemorySpace.SHARED:
            known = next((v for v in body.shared if dynamic and v.dynamic and v.name == variable.name), None)
            if known is None:
                body.shared.append(variable)
        return []
    if initializer is not None and is_callable_type(body.type(initializer)):
        target = function_named(body, initializer)
        if target is not None:
            body.functions[key] = target
    value = None if initializer is None else body.expr(initializer)
    if isinstance(value, Construct) and not value.arguments and type_.kind is TypeKind.RECORD:
        value = value if type_.name == "dim3" else None
    if value is not None and type_.kind is TypeKind.ARRAY and type_.length is None and value.type.length:
        type_ = value.type
    if type_.kind is TypeKind.UNKNOWN and value is not None:
        type_ = value.type
    is_constant = isinstance(value, Constant) and node.type.is_const
    # A const float is no constant expression in C++; a constexpr one is.
    folds = is_constant and (type_.is_integral or "constexpr" in body.unit.spans.line_text(node))
    variable = Variable(
        node.spelling, type_, body.home(type_), VariableRole.LOCAL, span, is_constant=is_constant
    )
    if isinstance(value, Constant) and folds and type_.lanes == 1:
        body.names[key] = value
        if type_.is_integral:
            body.named_constants[node.spelling] = int(value.value)
    else:
        body.names[key] = variable
    if value is not None:
        address = body.register_addresses.get(id(value))
        if address is not None and type_.kind is TypeKind.POINTER and not body.is_host:
            body.names[key] = PointsTo(address[1])
        note_pointer(body, variable, (), value)
    return [Declare(variable, value, body.region(), span)]


def _declare_reference(body: Body, node: Node, initializer: Node, span: Span) -> list[Stmt]:
    """A reference is another name: of a register place, or of memory at an address computed once."""
    key = node.raw.data0
    where = body.location(initializer)
    if isinstance(where, RegisterPlace):
        body.names[key] = where
        return []
    type_ = body.type(node)
    if where is None:  # bound to a temporary
        value = body.expr(initializer)
        variable = Variable(node.spelling, type_, body.home(type_), VariableRole.LOCAL, span)
        body.names[key] = variable
        note_pointer(body, variable, (), value)
        return [Declare(variable, value, body.region(), span)]
    pointer = Variable(
        node.spelling, pointer_to(where.type), body.home(pointer_to(where.type)), VariableRole.LOCAL, span
    )
    note_pointer(body, pointer, (), where.address)
    handle = Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span)
    body.names[key] = Cell(handle, where.space, where.type, where.root)
    return [Declare(pointer, where.address, body.region(), span)]


# --------------------------------------------------------------------------- branches


def _split_condition(body: Body, node: Node, tail: int) -> tuple[list[Stmt], list[Node]]:
    """Declarations in front of a condition, lowered, and the rest: condition and at most `tail` parts."""
    children = list(node.children)
    before: list[Stmt] = []
    while children and children[0].kind in (C.DECL_STMT, C.VAR_DECL):
        first = children.pop(0)
        before.extend(declare(body, first) if first.kind == C.VAR_DECL else lower(body, first))
    if len(children) > 1 + tail:
        before.extend(lower(body, children.pop(0)))
    return before, children


@statement(C.IF_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = _split_condition(body, node, 2)
    if len(parts) < 2:
        raise LoweringError("if whose condition could not be read", node)
    with body.statement_span(parts[0]):
        condition = body.expr(parts[0])
    if isinstance(condition, Constant):
        taken = parts[1] if condition.value else parts[2] if len(parts) > 2 else None
        result: list[Stmt] = before
        if taken is not None:
            result.append(as_block(body, taken))
        return result
    region = body.region()
    known = known_value(body, condition) if body.known else None
    if known is not None:  # recursion: the arm that is not taken would never end
        taken_index = 1 if known else 2
        empty = Block((), body.region(), span)
        taken_block = as_block(body, parts[taken_index]) if len(parts) > taken_index else empty
        other: Block | None = empty if known else taken_block
        return [*before, If(condition, taken_block if known else empty, other, region, span)]
    then = as_block(body, parts[1])
    otherwise = as_block(body, parts[2]) if len(parts) > 2 else None
    return [*before, If(condition, then, otherwise, region, span)]


@statement(C.SWITCH_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = _split_condition(body, node, 1)
    if len(parts) != 2:
        raise LoweringError("switch whose selector could not be read", node)
    with body.statement_span(parts[0]):
        selector = body.expr(parts[0])
    region = body.region()
    groups: list[tuple[list[int | None], list[Node]]] = []
    inner = list(parts[1].children) if parts[1].kind == C.COMPOUND_STMT else [parts[1]]
    for child in inner:
        labels: list[int | None] = []
        current: Node | None = child
        while current is not None and current.kind in (C.CASE_STMT, C.DEFAULT_STMT):
            rest = list(current.children)
            if current.kind == C.CASE_STMT:
                value = body.expr(rest[0])
                if not isinstance(value, Constant):
                    raise LoweringError("case label that is no constant", current)
                labels.append(int(value.value))
                rest = rest[1:]
            else:
                labels.append(None)
            current = rest[-1] if rest else None
        if labels:
            groups.append((labels, [] if current is None else [current]))
        elif groups:
            groups[-1][1].append(child)
        else:
            before.extend(lower(body, child))
    cases = tuple(
        Case(tuple(labels), block(body, nodes, body.unit.spans.span(nodes[0]) if nodes else span))
        for labels, nodes in groups
    )
    return [*before, Switch(selector, cases, region, span)]


# --------------------------------------------------------------------------- loops


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
            condition = body.expr(parts.condition)
    inner = as_block(body, parts.body)
    step_region = body.region()
    if parts.step is not None:
        with body.statement_span(parts.step):
            step = body.expr(parts.step)
    return [Loop(LoopKind.FOR, init, condition, step, inner, unroll, region, test_region, step_region, span)]


@statement(C.WHILE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return _while(body, node, None)


def _while(body: Body, node: Node, unroll: int | None) -> list[Stmt]:
    span = body.unit.spans.span(node)
    before, parts = _split_condition(body, node, 1)
    if len(parts) != 2:
        raise LoweringError("while whose condition could not be read", node)
    region, test_region = body.region(), body.region()
    with body.statement_span(parts[0]):
        condition = body.expr(parts[0])
    inner = as_block(body, parts[1])
    step_region = body.region()
    loop = Loop(LoopKind.WHILE, (), condition, None, inner, unroll, region, test_region, step_region, span)
    return [*before, loop]


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
        condition = body.expr(children[1])
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
    from wattslice.frontend.lowering.memory import read

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
        return _guarded(body, inner, functools.partial(loop, unroll=unroll))
    return lower(body, inner)


# --------------------------------------------------------------------------- jumps


@statement(C.RETURN_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    span = body.span(node)
    children = [c for c in node.children if c.kind >= 100]
    if not children:
        return [Return(None, body.region(), span)]
    frame = body.frame
    if frame.info is not None and frame.info.returns_reference:
        where = body.location(children[0])
        if where is not None:
            frame.result_locations.append(where)
            if isinstance(where, Cell):
                return [Return(where.address, body.region(), span)]
            return [Return(Read(where, where.type, span), body.region(), span)]
    value = body.expr(children[0])
    if value.type.kind is TypeKind.POINTER:
        found = pointee_of(body, value)
        if found is not None:
            frame.result_pointees.append(found)
    return [Return(value, body.region(), span)]


@statement(C.BREAK_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return [Break(body.region(), body.span(node))]


@statement(C.CONTINUE_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return [Continue(body.region(), body.span(node))]


@statement(C.LABEL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    return lower(body, node.children[-1]) if node.children else []


@statement(C.GOTO_STMT, C.INDIRECT_GOTO_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    body.hole("PW006", body.span(node), "goto is not followed; it is read as doing nothing")
    return []


@statement(C.CXX_TRY_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """Host code: the protected block; handlers do not run on the way to a launch."""
    return lower(body, node.children[0])


@statement(C.CASE_STMT, C.DEFAULT_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    """A label inside a nested block (Duff's device): its statement is read, the jump into it is not."""
    body.hole("PW006", body.span(node), "case label inside a nested block is not followed")
    return lower(body, node.children[-1])


_SELF_SPANNED = frozenset(
    int(kind)
    for kind in (
        C.COMPOUND_STMT,
        C.IF_STMT,
        C.FOR_STMT,
        C.WHILE_STMT,
        C.DO_STMT,
        C.SWITCH_STMT,
        C.CXX_FOR_RANGE_STMT,
        C.UNEXPOSED_STMT,
        C.LABEL_STMT,
        C.CXX_TRY_STMT,
    )
)
