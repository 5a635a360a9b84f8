"""The object that a member function is called on."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Location, LoweringError
from wattslice.frontend.cuda.lowering.inlining import materialise
from wattslice.frontend.cuda.lowering.memory import dereference
from wattslice.ir import Expr, TypeKind


def expressions_in(node: Node) -> list[Node]:
    """The children that are expressions (type and namespace references left out)."""
    return [child for child in node.children if child.kind >= 100]


def _object_node(node: Node) -> Node | None:
    children = node.children
    if children and children[0].kind == C.MEMBER_REF_EXPR:
        inner = expressions_in(children[0])
        return inner[0] if inner else None
    return None


def object_of(body: Body, node: Node, callee: Node, arguments: list[Node]) -> Location | None:
    """The object that a member function is called on; removes it from an operator's arguments."""
    if callee.kind not in (C.CXX_METHOD, C.CONVERSION_FUNCTION):
        return None
    children = node.children
    if not (children and children[0].kind == C.MEMBER_REF_EXPR):
        if callee.spelling.startswith("operator") and arguments:
            return _object_location(body, arguments.pop(0))
        return None
    inner = _object_node(node)
    if inner is None:
        return body.frame.this
    return _object_location(body, inner)


def _object_location(body: Body, node: Node) -> Location:
    type_ = body.type(node)
    if type_.kind is TypeKind.POINTER:
        return dereference(body, body.expr(node), type_.element or type_)
    where = body.location(node)
    if where is not None:
        return where
    return materialise(body, body.expr(node), body.span(node))


def object_value(body: Body, node: Node) -> Expr:
    """The value of the object that a conversion function is called on."""
    inner = _object_node(node)
    if inner is None:
        children = expressions_in(node)
        if not children:
            raise LoweringError("conversion of an unknown object", node)
        return body.expr(children[0])
    return body.expr(inner)
