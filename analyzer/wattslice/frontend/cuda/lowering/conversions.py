"""Conversions: implicit and written casts, parentheses, and what clang wraps around expressions."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering import folding
from wattslice.frontend.cuda.lowering.context import Body, LoweringError, expression
from wattslice.frontend.cuda.lowering.memory import (
    read,
)
from wattslice.ir import (
    Cast,
    Constant,
    Construct,
    Expr,
    Span,
    Text,
    Type,
    TypeKind,
)
from wattslice.ir.c_arithmetic import converted


@expression(C.PAREN_EXPR)
def _(body: Body, node: Node) -> Expr:
    if len(node.children) != 1:
        raise LoweringError("empty parentheses", node)
    return body.expr(node.children[0])


@expression(C.UNEXPOSED_EXPR)
def _(body: Body, node: Node) -> Expr:
    """Implicit conversions, temporaries, substituted template parameters, constant expressions."""
    children = [child for child in node.children if child.kind >= 100]
    if not children:
        value = node.evaluate()
        type_ = body.type(node)
        if value is not None and type_.kind in (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT):
            number = converted(value, type_)
            if number is not None:
                return Constant(number, type_, body.span(node))
        if type_.kind is TypeKind.RECORD:
            return Construct((), (), type_, body.span(node))
        if type_.kind is TypeKind.POINTER:
            return Constant(0, type_, body.span(node))
        raise LoweringError("expression that could not be read", node)
    if len(children) > 1:
        return _recovered(body, node, children)
    return convert(body, body.expr(children[0]), body.type(node), body.span(node))


def _recovered(body: Body, node: Node, children: list[Node]) -> Expr:
    """What clang kept of a faulty or dependent expression: its parts are evaluated, its value is unknown."""
    from wattslice.frontend.cuda.lowering.calls import unresolved_call

    return unresolved_call(body, node, children)


def convert(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    """An implicit conversion of `value` to `type_`."""
    old = value.type
    if old is type_ or old == type_:
        return value
    if type_.kind in (TypeKind.UNKNOWN, TypeKind.VOID, TypeKind.ARRAY):
        return value
    if type_.kind is TypeKind.POINTER and old.kind in (TypeKind.POINTER, TypeKind.ARRAY):
        if old.element == type_.element or isinstance(value, Constant):
            return value
        return _pointer_cast(body, value, type_, span)
    if old.kind is TypeKind.RECORD or type_.kind is TypeKind.RECORD:
        return value  # base-class views; constructors and conversion functions are calls of their own
    if isinstance(value, Text) or (old.kind is TypeKind.UNKNOWN and type_.kind is TypeKind.POINTER):
        return value
    return folding.cast(value, type_, span)


def _pointer_cast(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    result = Cast(value, type_, span)
    known = body.register_addresses.get(id(value))
    if known is not None:
        body.register_addresses[id(result)] = (result, known[1])
    return result


@expression(
    C.CSTYLE_CAST_EXPR,
    C.CXX_STATIC_CAST_EXPR,
    C.CXX_REINTERPRET_CAST_EXPR,
    C.CXX_CONST_CAST_EXPR,
    C.CXX_DYNAMIC_CAST_EXPR,
    C.CXX_FUNCTIONAL_CAST_EXPR,
    C.BUILTIN_BIT_CAST_EXPR,
    C.CXX_ADDRSPACE_CAST_EXPR,
)
def _(body: Body, node: Node) -> Expr:
    span = body.span(node)
    type_ = body.type(node)
    children = [child for child in node.children if child.kind >= 100]
    if not children:
        return (
            Constant(0, type_, span) if type_.kind is not TypeKind.RECORD else Construct((), (), type_, span)
        )
    inner = children[-1]
    if node.kind in (C.CSTYLE_CAST_EXPR, C.CXX_REINTERPRET_CAST_EXPR, C.CXX_STATIC_CAST_EXPR):
        where = body.location(node)
        if where is not None:
            return read(body, where, span)
    value = body.expr(inner)
    if type_.kind is TypeKind.VOID or type_.kind is TypeKind.UNKNOWN:
        return value
    return convert(body, value, type_, span)
