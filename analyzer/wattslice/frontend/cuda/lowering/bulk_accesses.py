"""Accesses wider than an element: matrix tiles, asynchronous copies, memcpy."""

from __future__ import annotations

import re

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering.context import Body, Cell
from wattslice.frontend.cuda.lowering.memory import dereference, place_for_access, pointee_of, read
from wattslice.frontend.cuda.lowering.types import pointer_to, vector_of
from wattslice.frontend.matrix_tiles import Tile, address_of_share, tile_of
from wattslice.ir import (
    FLOAT32,
    UINT32,
    VOID,
    Assign,
    Cast,
    Constant,
    Expr,
    Intrinsic,
    MemorySpace,
    OperationClass,
    OperationCount,
    Semantics,
    Severity,
    Span,
    Type,
    TypeKind,
)

_STORES = {
    MemorySpace.SHARED: (OperationClass.SHARED_LOAD, OperationClass.SHARED_STORE),
    MemorySpace.CONSTANT: (OperationClass.CONSTANT_LOAD, OperationClass.GLOBAL_STORE),
}
_WORD_BYTES = 4
_FRAGMENT = re.compile(r"fragment<(?:\w+::)*(?P<use>\w+), (?P<m>\d+), (?P<n>\d+), (?P<k>\d+)[,>]")


def _tile(fragment: str, layout: str) -> Tile | None:
    """The tile of a fragment's type; None where its shape is not known here (a template nobody uses)."""
    match = _FRAGMENT.search(fragment)
    if match is None:
        return None
    m, n, k = (int(match[name]) for name in "mnk")
    is_column_major = "col_major" in fragment or "col_major" in layout
    return tile_of(match["use"].removeprefix("matrix_"), m, n, k, is_column_major=is_column_major)


def matrix_access(body: Body, name: str, arguments: list[Node], span: Span) -> Expr:
    """One access of the pointer's space by each thread, for its share of the tile (docs/counting.md)."""
    loads = name == "load_matrix_sync"
    fragment, pointer_node = (arguments[0], arguments[1]) if loads else (arguments[1], arguments[0])
    pointer = body.expr(pointer_node)
    rest = [body.expr(argument) for argument in arguments[2:]]
    element = pointer.type.element or VOID
    where = dereference(body, pointer, element)
    if isinstance(where, Cell) and rest:
        layout = body.unit.spans.text(arguments[3]) if len(arguments) > 3 else ""
        tile = _tile(body.type(fragment).name, layout)
        if tile is not None:
            where = _share(where, tile, rest[0], element, span)
    elif not isinstance(where, Cell):
        where = Cell(pointer, MemorySpace.LOCAL, element, where.variable)
    if loads:
        value = read(body, where, span)
        return Intrinsic(name, (value, *rest), (), Semantics.NONE, False, VOID, span)
    place = place_for_access(body, where)
    step = Intrinsic(name, tuple(rest), (), Semantics.OPAQUE, False, where.type, span)
    return Assign(place, None, step, where.type, where.type, span)


def _share(where: Cell, tile: Tile, stride: Expr, element: Type, span: Span) -> Cell:
    """What one lane moves."""
    elements = tile.share
    if elements is None or element.kind not in (TypeKind.INT, TypeKind.FLOAT):
        return where
    part = vector_of(element, elements) if elements > 1 else element
    address = address_of_share(where.address, tile, stride, element, part, pointer_to(part), span)
    return Cell(address, where.space, part, where.root)


def copy_element(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """An asynchronous copy by each thread: one load and one store, of the bytes where they are constant."""
    pointers = [a for a in arguments if body.type(a).kind in (TypeKind.POINTER, TypeKind.ARRAY)]
    if len(pointers) < 2:
        return None
    target, source = body.expr(pointers[0]), body.expr(pointers[1])
    element = _element(source) or _element(target) or FLOAT32
    if body.type(arguments[0]).kind is TypeKind.RECORD:
        message = f"'{name}' of a group: read as one element for each thread"
        body.unit.report("PW006", Severity.NOTE, span, message)
    elif len(arguments) > 2:
        element = _of_bytes(body.expr(arguments[2]), element)
    to, origin = dereference(body, target, element), dereference(body, source, element)
    value = read(body, origin, span)
    if body.type(arguments[0]).kind is TypeKind.RECORD:  # which element a thread copies is not told
        value = Intrinsic(f"{name} of a group", (value,), (), Semantics.IDENTITY, False, element, span)
    return Assign(place_for_access(body, to), None, value, element, element, span)


def _of_bytes(size: Expr, element: Type) -> Type:
    """A type of so many bytes: 4, 8 and 16 are what one instruction can copy."""
    number = size.value if isinstance(size, Constant) else None
    if number == element.size_bytes or number not in (4, 8, 16):
        return element
    return vector_of(UINT32, int(number) // _WORD_BYTES) if number > _WORD_BYTES else UINT32


def _element(pointer: Expr) -> Type | None:
    """What a pointer points at before it was cast to void*."""
    while isinstance(pointer, Cast) and (
        pointer.type.element is None or pointer.type.element.kind is TypeKind.VOID
    ):
        pointer = pointer.operand
    element = pointer.type.element
    return None if element is None or element.kind is TypeKind.VOID else element


def copy_bytes(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr:
    """`memcpy(to, from, n)` with a constant n: one access for every four bytes on each side."""
    values = tuple(body.expr(argument) for argument in arguments)
    size = values[2]
    type_ = body.type(node)
    if not isinstance(size, Constant):
        body.hole("PW005", span, f"cost of '{name}' unknown: its size is no constant")
        return Intrinsic(name, values, (), Semantics.OPAQUE, True, type_, span)
    words = max(1.0, int(size.value) / _WORD_BYTES)
    operations: list[OperationCount] = []
    for at, position in ((0, 1), (1, 0)) if name != "memset" else ((0, 1),):
        pointee = pointee_of(body, values[at])
        space = MemorySpace.GLOBAL if pointee is None else pointee.space
        if space is MemorySpace.LOCAL:
            continue
        classes = _STORES.get(space, (OperationClass.GLOBAL_LOAD, OperationClass.GLOBAL_STORE))
        operations.append(OperationCount(classes[position], words))
    return Intrinsic(name, values, tuple(operations), Semantics.OPAQUE, False, type_, span)
