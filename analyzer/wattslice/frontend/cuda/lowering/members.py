"""Members by declaration: initialisers written in the class, and structured bindings."""

from __future__ import annotations

import re

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, LoweringError
from wattslice.frontend.cuda.lowering.memory import member, note_pointer
from wattslice.frontend.cuda.lowering.types import lane_of, pointer_to
from wattslice.ir import (
    INT32,
    AddressOf,
    Constant,
    Declare,
    Expr,
    MemorySpace,
    PointerOffset,
    RegisterPlace,
    Span,
    Stmt,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)

_NAMES = (C.DECL_REF_EXPR, C.MEMBER_REF_EXPR)
_BINDING = re.compile(r"(?P<reference>&{0,2})\s*\[(?P<names>[\w\s,]+)\]")


def default_initialisers(body: Body, constructor: Node) -> list[tuple[Node, Node]]:
    """The fields of a constructor's class that have an initialiser in the class, with that initialiser."""
    record = constructor.semantic_parent
    if record is None:
        return []
    found: list[tuple[Node, Node]] = []
    for field in record.type.fields:
        value = next((child for child in field.children if 100 <= child.kind < 400), None)
        # The width of a bit-field is an expression too, but no initialiser.
        if value is not None and _is_initialised(body, field):
            found.append((field, value))
    return found


def _is_initialised(body: Body, field: Node) -> bool:
    text = body.unit.spans.text(field)
    return "=" in text or "{" in text


def structured_binding(body: Body, statement: Node, declaration: Node, span: Span) -> list[Stmt]:
    """`auto [x, y] = value;`: names for the members, lanes or elements of an object."""
    match = _BINDING.search(body.unit.spans.text(statement))
    source = next((child for child in reversed(declaration.children) if 100 <= child.kind < 400), None)
    if match is None or source is None:
        raise LoweringError("structured binding whose object could not be read", declaration)
    names = [name.strip() for name in match["names"].split(",")]
    if body.type(source).kind is TypeKind.ARRAY:  # a copy of an array is counted like the array
        source = next((n for n in source.walk() if n.kind in _NAMES), source)
        where = body.location(source)
    else:
        where = body.location(source) if match["reference"] else None
    before: list[Stmt] = []
    if where is None:
        value = body.expr(source)
        where = _kept(body, value, value.type if value.type.kind is not TypeKind.UNKNOWN else INT32, span)
        variable = where.variable if isinstance(where, RegisterPlace) else where.root
        assert variable is not None
        note_pointer(body, variable, (), value)
        before.append(Declare(variable, value, body.region(), span))
    for position, name in enumerate(names):
        body.bindings[name] = _part(body, where, position, declaration, span)
    return before


def _kept(body: Body, value: Expr, type_: Type, span: Span) -> Location:
    variable = Variable("binding", type_, body.home(type_), VariableRole.TEMPORARY, span)
    if variable.space is MemorySpace.LOCAL:
        return Cell(AddressOf(variable, pointer_to(type_), span), variable.space, type_, variable)
    return RegisterPlace(variable, (), type_)


def _part(body: Body, where: Location, position: int, node: Node, span: Span) -> Location:
    type_ = where.type
    if type_.kind is TypeKind.RECORD and position < len(type_.fields):
        field = type_.fields[position]
        return member(body, where, field.name, field.offset_bytes, field.type, span)
    if type_.lanes > position and type_.lanes > 1:
        lane = lane_of(type_)
        return member(body, where, "xyzw"[position], position * lane.size_bytes, lane, span)
    if type_.kind is TypeKind.ARRAY and type_.element is not None and isinstance(where, Cell):
        index = Constant(position, INT32, span)
        element = type_.element
        address = PointerOffset(
            where.address, index, element.size_bytes, 0, False, False, pointer_to(element), span
        )
        return Cell(address, where.space, element, where.root)
    raise LoweringError("structured binding of something that has no members here", node)
