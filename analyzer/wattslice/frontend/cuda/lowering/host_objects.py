"""Objects in host code: methods and constructors take the address of their object as first argument."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Location, LoweringError
from wattslice.frontend.cuda.lowering.memory import address_of, dereference, member, place_for_access, read
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import (
    AddressOf,
    Assign,
    Call,
    Declare,
    Expr,
    ExprStmt,
    MemorySpace,
    Read,
    RegisterPlace,
    Span,
    Stmt,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)


def has_object(function: Node) -> bool:
    """True for constructors and for methods that are not static."""
    if function.kind == C.CONSTRUCTOR:
        return True
    return function.kind == C.CXX_METHOD and not (function.is_static or function.canonical.is_static)


def object_parameter(body: Body, method: Node, span: Span) -> tuple[Variable, Location]:
    """The parameter `this` of a method, and the object it points at."""
    parent = method.semantic_parent
    assert parent is not None
    type_ = body.unit.types.of(parent.raw)
    pointer = pointer_to(type_)
    this = Variable("this", pointer, MemorySpace.HOST, VariableRole.PARAMETER, span)
    return this, dereference(body, Read(RegisterPlace(this, (), pointer), pointer, span), type_)


def member_initialisers(body: Body, constructor: Node, this: Location, span: Span) -> list[Stmt]:
    """`: a(x), b(y)` of a constructor; what cannot be read is left out."""
    result: list[Stmt] = []
    field: Node | None = None
    for child in constructor.children:
        if child.kind == C.MEMBER_REF:
            field = child
        elif 100 <= child.kind < 200 and field is not None:
            declaration, name = field.referenced, field.spelling
            field = None
            if declaration is None:
                continue
            try:
                value = body.expr(child)
            except LoweringError:
                continue
            type_ = body.unit.types.of(declaration.raw)
            offset = body.unit.types.field_offset_bytes(declaration.raw)
            target = place_for_access(body, member(body, this, name, offset, type_, span))
            result.append(ExprStmt(Assign(target, None, value, type_, type_, span), body.region(), span))
    return result


def object_argument(body: Body, node: Node, span: Span, operand: Node | None = None) -> Expr | None:
    """The address of the object of a call `o.f()`, `p->f()`, `f()`; None where it is not known.

    `operand`: the object of an operator.
    """
    if operand is None:
        callee = node.children[0] if node.children else None
        if callee is None or callee.kind != C.MEMBER_REF_EXPR:
            return None
        inner = [child for child in callee.children if child.kind >= 100]
        if not inner:
            this = body.frame.this
            return None if this is None else address_of(body, this, span)
        operand = inner[0]
    try:
        if body.type(operand).kind is TypeKind.POINTER:
            return body.expr(operand)
        where = body.location(operand)
    except LoweringError:
        return None
    return None if where is None else address_of(body, where, span)


def constructed(
    body: Body, constructor: str, name: str, arguments: tuple[Expr, ...], type_: Type, span: Span
) -> Expr:
    """A temporary that the constructor has run on, before the statement at hand."""
    variable = Variable(name, type_, MemorySpace.HOST, VariableRole.TEMPORARY, span)
    body.before.append(Declare(variable, None, body.region(), span))
    address = AddressOf(variable, pointer_to(type_), span)
    call = Call(constructor, name, (address, *arguments), type_, span)
    body.before.append(ExprStmt(call, body.region(), span))
    return read(body, RegisterPlace(variable, (), type_), span)


def allocated(body: Body, node: Node, type_: Type, span: Span) -> Expr:
    """`new T(…)`: the address of an object that the constructor has run on; else that of fresh memory."""
    for child in node.children:
        if child.kind == C.CALL_EXPR and type_.element is not None and type_.element.fields:
            value = body.expr(child)
            if isinstance(value, Read) and not value.place.path:
                return AddressOf(value.place.variable, type_, span)
    return Call("operator new", "operator new", (), type_, span)
