"""Constructors: vectors and half numbers from their parts, records by following what the user wrote."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering.context import Body
from wattslice.frontend.cuda.lowering.conversions import convert
from wattslice.frontend.cuda.lowering.expressions import aggregate
from wattslice.frontend.cuda.lowering.host_objects import constructed
from wattslice.frontend.cuda.lowering.inlining import inline, may_inline, temporary_object
from wattslice.frontend.cuda.lowering.library import TOO_DEEP, opaque
from wattslice.frontend.cuda.lowering.members import default_initialisers
from wattslice.frontend.cuda.lowering.receivers import expressions_in
from wattslice.frontend.cuda.lowering.unit import FunctionInfo
from wattslice.ir import UINT32, Constant, Construct, Expr, Span, TypeKind


def construct(body: Body, node: Node, constructor: Node) -> Expr:
    """`T(a, b)`: vectors and dim3 from their parts, user types by following the constructor."""
    type_ = body.type(node)
    span = body.span(node)
    arguments = expressions_in(node)
    if type_.kind is TypeKind.ARRAY:  # an array of objects: only its default constructor
        return Construct((), (), type_, span)
    if type_.name == "dim3":
        if len(arguments) == 1 and body.type(arguments[0]).kind in (TypeKind.RECORD, TypeKind.INT):
            value = body.expr(arguments[0])
            if value.type.kind is TypeKind.RECORD or value.type.lanes > 1:
                return value
            return aggregate(body, _filled(body, (value,), span), type_, span)
        return aggregate(body, _filled(body, tuple(body.expr(a) for a in arguments), span), type_, span)
    if type_.kind is TypeKind.FLOAT and type_.bits == 16:
        values = tuple(body.expr(a) for a in arguments)
        if type_.lanes > 1 and len(values) != 1:
            return aggregate(body, values, type_, span)
        return convert(body, values[0], type_, span) if values else Construct((), (), type_, span)
    if type_.lanes > 1 or type_.kind is not TypeKind.RECORD:
        if len(arguments) == 1:
            return convert(body, body.expr(arguments[0]), type_, span)
        return aggregate(body, tuple(body.expr(a) for a in arguments), type_, span)
    info = body.unit.function(constructor)
    if info.body is None or info.is_defaulted or body.is_host:
        if len(arguments) == 1 and body.type(arguments[0]).kind is TypeKind.RECORD:
            return body.expr(arguments[0])  # copy
        if not arguments and not info.is_builtin:
            fields = default_initialisers(body, constructor)
            names = tuple(field.spelling for field, _ in fields)
            return Construct(tuple(body.expr(value) for _, value in fields), names, type_, span)
        if body.is_host and info.body is not None and not info.is_defaulted and type_.fields:
            values = tuple(body.expr(a) for a in arguments)
            return constructed(body, constructor.mangled_name, info.name, values, type_, span)
        if not arguments or body.is_host or info.is_builtin:
            return Construct(tuple(body.expr(a) for a in arguments), (), type_, span)
        return opaque(body, node, info.name, arguments, span)
    return inline_constructor(body, node, info, arguments, span)


def inline_constructor(body: Body, node: Node, info: FunctionInfo, arguments: list[Node], span: Span) -> Expr:
    """A user constructor: fill a temporary, yield its value."""
    if not may_inline(body, info):
        return opaque(body, node, info.name, arguments, span, TOO_DEEP)
    this = temporary_object(body, body.type(node), span)
    return inline(body, node, info, this, arguments, span, is_constructor=True)[0]


def _filled(body: Body, parts: tuple[Expr, ...], span: Span) -> tuple[Expr, ...]:
    return (*parts, *(Constant(1, UINT32, span) for _ in range(3 - len(parts))))
