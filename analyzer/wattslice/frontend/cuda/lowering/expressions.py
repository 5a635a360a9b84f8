"""Expressions without operators and calls: literals, names, members, initialiser lists."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering import folding
from wattslice.frontend.cuda.lowering.choices import is_choice
from wattslice.frontend.cuda.lowering.context import Body, LoweringError, PointsTo, expression
from wattslice.frontend.cuda.lowering.memory import address_of, location_of_variable, read
from wattslice.frontend.cuda.lowering.names import binding_of, builtin_vector, declaration_key
from wattslice.frontend.cuda.lowering.types import DIM3_AXES, is_wide_record, lane_of
from wattslice.ir import (
    INT32,
    UINT32,
    Builtin,
    BuiltinKind,
    Constant,
    Construct,
    Expr,
    Extract,
    Intrinsic,
    Read,
    RegisterPlace,
    Semantics,
    Span,
    Text,
    Type,
    TypeKind,
    Variable,
)
from wattslice.ir.c_arithmetic import converted

# --------------------------------------------------------------------------- leaves


@expression(C.INTEGER_LITERAL, C.FLOATING_LITERAL, C.CHARACTER_LITERAL, C.CXX_BOOL_LITERAL_EXPR)
def _(body: Body, node: Node) -> Expr:
    value = node.evaluate()
    type_ = body.type(node)
    number = None if value is None else converted(value, type_)
    if number is None:
        raise LoweringError("literal that could not be read", node)
    return Constant(number, type_, body.span(node))


@expression(C.CXX_NULL_PTR_LITERAL_EXPR, C.GNU_NULL_EXPR)
def _(body: Body, node: Node) -> Expr:
    return Constant(0, body.type(node), body.span(node))


@expression(C.STRING_LITERAL)
def _(body: Body, node: Node) -> Expr:
    text = node.spelling
    if len(text) >= 2 and text[0] == text[-1] == '"':
        text = text[1:-1]
    return Text(text, body.type(node), body.span(node))


@expression(C.CXX_UNARY_EXPR, C.SIZE_OF_PACK_EXPR, C.CONCEPT_SPECIALIZATION_EXPR, C.REQUIRES_EXPR)
def _(body: Body, node: Node) -> Expr:
    """sizeof, alignof, type traits."""
    value = node.evaluate()
    if value is None:
        return unknown(body, node, "sizeof")
    return Constant(value, body.type(node), body.span(node))


def unknown(body: Body, node: Node, name: str) -> Expr:
    """A value that costs nothing and is not known."""
    return Intrinsic(name, (), (), Semantics.OPAQUE, False, body.type(node), body.span(node))


@expression(C.DECL_REF_EXPR)
def _(body: Body, node: Node) -> Expr:
    span = body.span(node)
    binding = body.names.get(declaration_key(body, node))
    if binding is None:
        if node.children and not node.spelling:  # a template parameter that an instance replaced by its value
            return body.expr(node.children[0])
        kind = builtin_vector(body, node)
        if kind is BuiltinKind.WARP_SIZE:
            return Builtin(kind, 0, INT32, span)
        if kind is not None:
            parts = tuple(Builtin(kind, axis, UINT32, span) for axis in range(3))
            return Construct(parts, DIM3_AXES, body.type(node), span)
        type_ = body.type(node)
        if type_.kind is TypeKind.UNKNOWN and type_.name == "function":
            return Text(node.spelling, type_, span)
        binding = binding_of(body, node)
    if isinstance(binding, Constant):
        return Constant(binding.value, binding.type, span)
    if isinstance(binding, PointsTo):
        return address_of(body, binding.place, span)
    if isinstance(binding, Variable):
        binding = location_of_variable(body, binding, span)
    return read(body, body.named(node, binding) or binding, span)


@expression(C.MEMBER_REF_EXPR)
def _(body: Body, node: Node) -> Expr:
    children = [child for child in node.children if child.kind >= 100]
    if children:
        base = children[0]
        while base.kind in (C.UNEXPOSED_EXPR, C.PAREN_EXPR) and len(base.children) == 1:
            base = base.children[0]
        kind = builtin_vector(body, base)
        if kind is not None:
            return Builtin(kind, DIM3_AXES.index(node.spelling), UINT32, body.span(node))
    field = node.referenced
    if field is not None and field.kind == C.VAR_DECL:
        binding = binding_of(body, node)
        if isinstance(binding, Constant):
            return Constant(binding.value, binding.type, body.span(node))
    elif field is not None and field.kind == C.ENUM_CONSTANT_DECL:
        return Constant(field.enum_value, INT32, body.span(node))
    where = None if children and _is_chosen_value(body, children[0]) else body.location(node)
    if where is not None:
        value = read(body, where, body.span(node))
        if field is not None and not body.is_host and body.unit.types.is_bit_field(field.raw):
            # The tree has whole members only: who computes values must not take this for one.
            return Intrinsic("bit-field", (value,), (), Semantics.IDENTITY, False, value.type, value.span)
        return value
    if not children:
        raise LoweringError(f"member '{node.spelling}' of an unknown object", node)
    return extract(body.expr(children[0]), node.spelling, body.type(node), body.span(node))


def _is_chosen_value(body: Body, node: Node) -> bool:
    """`(c ? a : b)` of records in registers, whose member is only read."""
    type_ = body.type(node)
    return is_choice(node) and type_.kind is not TypeKind.POINTER and not is_wide_record(type_)


def extract(value: Expr, name: str, type_: Type, span: Span) -> Expr:
    """A member of a value."""
    if isinstance(value, Construct) and name in value.field_names:
        at = value.field_names.index(name)
        if at < len(value.arguments) and all(
            isinstance(part, Constant | Builtin | Read) for part in value.arguments
        ):
            return value.arguments[at]
    if isinstance(value, Read):
        return Read(RegisterPlace(value.place.variable, (*value.place.path, name), type_), type_, span)
    return Extract(value, name, type_, span)


@expression(C.ARRAY_SUBSCRIPT_EXPR)
def _(body: Body, node: Node) -> Expr:
    where = body.location(node)
    if where is None:
        raise LoweringError("subscript that could not be read", node)
    return read(body, where, body.span(node))


@expression(C.CXX_THIS_EXPR)
def _(body: Body, node: Node) -> Expr:
    this = body.frame.this
    if this is None:
        raise LoweringError("'this' outside a member function that could be followed", node)
    return address_of(body, this, body.span(node))


# --------------------------------------------------------------------------- aggregates


@expression(C.INIT_LIST_EXPR)
def _(body: Body, node: Node) -> Expr:
    type_ = body.type(node)
    children = [child for child in node.children if child.kind >= 100 and child.kind != C.MEMBER_REF]
    if type_.kind in (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL, TypeKind.POINTER) and type_.lanes == 1:
        if not children:
            return Constant(0, type_, body.span(node))
        return body.expr(children[0])
    return aggregate(body, tuple(body.expr(child) for child in children), type_, body.span(node))


def aggregate(body: Body, parts: tuple[Expr, ...], type_: Type, span: Span) -> Expr:
    """A record, vector or array value from its parts."""
    names: tuple[str, ...] = ()
    if type_.kind is TypeKind.RECORD:
        names = DIM3_AXES if type_.name == "dim3" else tuple(field.name for field in type_.fields)
    elif type_.lanes > 1:
        names = tuple("xyzw"[: type_.lanes])
        parts = tuple(folding.cast(part, lane_of(type_), span) for part in parts)
    return Construct(parts, names[: len(parts)], type_, span)


@expression(C.COMPOUND_LITERAL_EXPR)
def _(body: Body, node: Node) -> Expr:
    return body.expr([child for child in node.children if child.kind >= 100][-1])


@expression(C.LAMBDA_EXPR)
def _(body: Body, node: Node) -> Expr:
    """The closure: its captures are the variables themselves, which stay in scope while calls are inlined."""
    return Construct((), (), body.type(node), body.span(node))
