"""Which object an expression names: variables, members, elements, what pointers point at."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import UnaryOperator
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, LoweringError, PointsTo, location
from wattslice.frontend.cuda.lowering.memory import dereference, location_of_variable, member
from wattslice.frontend.cuda.lowering.names import binding_of
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import (
    Cast,
    Constant,
    Expr,
    ExprStmt,
    PointerOffset,
    RegisterPlace,
    Span,
    Type,
    TypeKind,
    Variable,
)


@location(C.DECL_REF_EXPR)
def _(body: Body, node: Node) -> Location | None:
    binding = binding_of(body, node)
    if isinstance(binding, Variable):
        return location_of_variable(body, binding, body.span(node))
    if isinstance(binding, RegisterPlace | Cell):
        return binding
    if isinstance(binding, PointsTo):
        return None
    return None


@location(C.MEMBER_REF_EXPR)
def _(body: Body, node: Node) -> Location | None:
    field = node.referenced
    if field is not None and field.kind == C.VAR_DECL:  # static member
        binding = binding_of(body, node)
        return location_of_variable(body, binding, body.span(node)) if isinstance(binding, Variable) else None
    if field is not None and field.kind != C.FIELD_DECL:
        return None
    base = _base_of_member(body, node)
    if base is None:
        return None
    name = node.spelling
    if not name or "(" in name:  # an anonymous union or struct: its members are the record's
        return base
    type_ = body.type(node)
    offset = 0 if field is None or isinstance(base, RegisterPlace) else _offset_in_record(body, field)
    return member(body, base, name, offset, type_, body.span(node))


def _offset_in_record(body: Body, field: Node) -> int:
    """Offset of a member, plus that of the anonymous records around it."""
    return body.unit.types.field_offset_bytes(field.raw)


def _base_of_member(body: Body, node: Node) -> Location | None:
    children = [child for child in node.children if child.kind >= 100]
    if not children:
        this = body.frame.this
        if this is None:
            raise LoweringError(f"member '{node.spelling}' of an object that is not known here", node)
        return this
    base = children[0]
    base_type = body.type(base)
    if base_type.kind is TypeKind.POINTER:
        pointer = body.expr(base)
        return dereference(body, pointer, base_type.element or base_type)
    return body.location(base)


@location(C.ARRAY_SUBSCRIPT_EXPR)
def _(body: Body, node: Node) -> Location | None:
    children = node.children
    if len(children) != 2:
        raise LoweringError("subscript that could not be read", node)
    base, index = children
    if body.type(index).kind in (TypeKind.POINTER, TypeKind.ARRAY):
        base, index = index, base
    element = body.type(node)
    pointer = body.expr(base)
    subscript = body.expr(index)
    if element.kind is TypeKind.UNKNOWN:
        element = pointer.type.element or element
    known = body.register_addresses.get(id(pointer))
    if known is not None and isinstance(subscript, Constant):
        lane = _lane_at(known[1], int(subscript.value), element)
        if lane is not None:
            return lane
    if pointer.type.kind is not TypeKind.POINTER and pointer.type.lanes == 1:
        inner = pointer.type.element
        if inner is None:  # a recovered expression: nothing is known about what is subscripted
            pointer = Cast(pointer, pointer_to(element), body.span(node))
    offset = PointerOffset(
        pointer, subscript, element.size_bytes, 0, False, False, pointer_to(element), body.span(node)
    )
    return dereference(body, offset, element)


def _lane_at(place: RegisterPlace, index: int, element: Type) -> RegisterPlace | None:
    """`(&v.x)[1]`, `p[0]` with `p = &x`: the part of a register that a constant subscript names."""
    if index == 0 and place.type.size_bytes == element.size_bytes:
        return RegisterPlace(place.variable, place.path, element)
    path = place.path
    if path and path[-1] in "xyzw" and len(path[-1]) == 1:
        lane = "xyzw".index(path[-1]) + index
        if 0 <= lane < 4:
            return RegisterPlace(place.variable, (*path[:-1], "xyzw"[lane]), element)
    if place.type.lanes > 1 and 0 <= index < place.type.lanes:
        return RegisterPlace(place.variable, (*path, "xyzw"[index]), element)
    return None


@location(C.UNARY_OPERATOR)
def _(body: Body, node: Node) -> Location | None:
    operator = node.unary_operator
    if operator == UnaryOperator.DEREF:
        return dereference(body, body.expr(node.children[0]), body.type(node))
    if operator in (UnaryOperator.PRE_INC, UnaryOperator.PRE_DEC):
        return _after_effect(body, node, node.children[0])
    if operator in (UnaryOperator.EXTENSION, UnaryOperator.REAL):
        return body.location(node.children[0])
    return None


@location(C.BINARY_OPERATOR, C.COMPOUND_ASSIGNMENT_OPERATOR)
def _(body: Body, node: Node) -> Location | None:
    operator = node.binary_operator
    if operator == B.COMMA:
        _run_before(body, body.expr(node.children[0]), body.span(node))
        return body.location(node.children[1])
    if B.ASSIGN <= operator <= B.OR_ASSIGN:
        return _after_effect(body, node, node.children[0])
    return None


def _after_effect(body: Body, node: Node, target: Node) -> Location | None:
    """`(x += 1) = …`, `(++p)->a`: the effect becomes a statement before this one."""
    _run_before(body, body.expr(node), body.span(node))
    return body.location(target)


def _run_before(body: Body, effect: Expr, span: Span) -> None:
    body.before.append(ExprStmt(effect, body.region(), span))


@location(C.PAREN_EXPR, C.UNEXPOSED_EXPR, C.CXX_CONST_CAST_EXPR)
def _(body: Body, node: Node) -> Location | None:
    children = [child for child in node.children if child.kind >= 100]
    if len(children) != 1:
        return None
    inner = children[0]
    type_ = body.type(node)
    if type_.kind is TypeKind.POINTER and body.type(inner).kind is TypeKind.ARRAY:
        return None
    where = body.location(inner)
    if where is None or where.type == type_ or where.type.kind is TypeKind.RECORD:
        return where
    return None


@location(C.CSTYLE_CAST_EXPR, C.CXX_REINTERPRET_CAST_EXPR, C.CXX_STATIC_CAST_EXPR, C.CXX_FUNCTIONAL_CAST_EXPR)
def _(body: Body, node: Node) -> Location | None:
    """`reinterpret_cast<float4&>(x)`: the same object seen as another type."""
    if node.type.canonical.kind in (103, 104) or _casts_to_reference(body, node):
        inner = [child for child in node.children if child.kind >= 100][-1]
        where = body.location(inner)
        type_ = body.type(node)
        if isinstance(where, RegisterPlace):
            return RegisterPlace(where.variable, where.path, type_)
        if where is not None:
            return Cell(where.address, where.space, type_, where.root)
    return None


def _casts_to_reference(body: Body, node: Node) -> bool:
    """libclang gives a reference cast the type referred to; the text still has its ampersand."""
    text = body.unit.spans.text(node)
    return "&>" in text or "& >" in text or "&)" in text.split("(", 2)[1] + ")" if "(" in text else False
