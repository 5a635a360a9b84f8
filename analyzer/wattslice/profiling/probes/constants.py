"""What the compiler knows: a branch on it decides nothing when the program runs."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C


def is_constant(expression: Node) -> bool:
    """Whether the compiler knows the value: literals, constants, template arguments, what is made of them."""
    for node in expression.walk():
        if node.kind in (
            C.CALL_EXPR,
            C.MEMBER_REF_EXPR,
            C.ARRAY_SUBSCRIPT_EXPR,
            C.CXX_THIS_EXPR,
            C.LAMBDA_EXPR,
        ):
            return False
        if node.kind == C.DECL_REF_EXPR and not _is_constant_name(node):
            return False
    return True


def _is_constant_name(name: Node) -> bool:
    declaration = name.referenced
    if declaration is None:
        return False
    if declaration.kind in (C.ENUM_CONSTANT_DECL, C.TEMPLATE_NON_TYPE_PARAMETER):
        return True
    if declaration.kind != C.VAR_DECL or not declaration.type.is_const:
        return False
    initializer = declaration.initializer
    return initializer is not None and is_constant(initializer)
