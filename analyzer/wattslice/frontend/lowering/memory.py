"""Objects and pointers: which variable or address an expression names, and in which memory space it lies."""

from __future__ import annotations

from dataclasses import replace

from wattslice.frontend.clang.cursors import Node
from wattslice.frontend.clang.kinds import BinaryOperator as B
from wattslice.frontend.clang.kinds import CursorKind as C
from wattslice.frontend.clang.kinds import UnaryOperator
from wattslice.frontend.lowering.context import (
    Body,
    Cell,
    Location,
    LoweringError,
    Pointee,
    PointsTo,
    location,
)
from wattslice.frontend.lowering.names import binding_of
from wattslice.frontend.lowering.types import pointer_to
from wattslice.ir import (
    AddressOf,
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Construct,
    Expr,
    ExprStmt,
    Extract,
    Increment,
    InlinedCall,
    Intrinsic,
    Load,
    MemoryPlace,
    MemorySpace,
    Place,
    PointerOffset,
    Read,
    RegisterPlace,
    Select,
    Semantics,
    Span,
    Type,
    TypeKind,
    Variable,
)


def in_registers(body: Body, variable: Variable) -> bool:
    """Whether a variable is read by name: registers, and everything but arrays on the host."""
    return variable.space is MemorySpace.REGISTER or (
        variable.space in (MemorySpace.HOST, MemorySpace.TEXTURE) and variable.type.kind is not TypeKind.ARRAY
    )


# --------------------------------------------------------------------------- pointers


def pointee_of(body: Body, pointer: Expr) -> Pointee | None:
    """Where a pointer-valued expression points; None for null and other constants."""
    known = body.expression_pointees.get(id(pointer))
    if known is not None:
        return known[1]
    match pointer:
        case AddressOf(variable=variable):
            space = MemorySpace.LOCAL if variable.space is MemorySpace.REGISTER else variable.space
            return Pointee(space, variable)
        case PointerOffset(pointer=inner) | Cast(operand=inner):
            return pointee_of(body, inner)
        case Read(place=place):
            found = body.pointees.get((place.variable, place.path))
            if found is not None:
                return found
            outside = MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL
            return Pointee(outside, place.variable)
        case Load(place=place):
            return Pointee(MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL, place.root)
        case Select(then=then, otherwise=otherwise):
            return _join(pointee_of(body, then), pointee_of(body, otherwise))
        case Assign(value=value):
            return pointee_of(body, value)
        case Increment(target=target):
            if isinstance(target, RegisterPlace):
                return body.pointees.get((target.variable, target.path)) or Pointee(
                    MemorySpace.GLOBAL, target.variable
                )
            return Pointee(MemorySpace.GLOBAL, target.root)
        case Binary(op=BinaryOp.COMMA, right=right):
            return pointee_of(body, right)
        case Intrinsic(semantics=Semantics.IDENTITY, arguments=arguments) if arguments:
            return pointee_of(body, arguments[0])
        case Constant() | Construct():
            return None
        case InlinedCall() | Extract():
            return Pointee(MemorySpace.GLOBAL, None)
        case _:
            return Pointee(MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL, None)


def _join(left: Pointee | None, right: Pointee | None) -> Pointee | None:
    if left is None or right is None:
        return left or right
    return Pointee(
        left.space if left.space is right.space else MemorySpace.GLOBAL,
        left.root if left.root is right.root else None,
    )


def note_pointer(body: Body, variable: Variable, path: tuple[str, ...], value: Expr) -> None:
    """Remember where `variable` points after it is given `value`; records carry their members along.

    The first address that is not null decides; a second one of another space makes the pointer generic,
    which counts as global.
    """
    if isinstance(value, Construct):
        for name, part in zip(value.field_names, value.arguments, strict=False):
            note_pointer(body, variable, (*path, name), part)
        return
    kind = value.type.kind
    if kind is TypeKind.RECORD and isinstance(value, Read):
        source = value.place
        depth = len(source.path)
        for (owner, inner), pointee in list(body.pointees.items()):
            if owner is source.variable and inner[:depth] == source.path:
                body.pointees[(variable, path + inner[depth:])] = pointee
        return
    if kind is not TypeKind.POINTER:
        return
    new = pointee_of(body, value)
    if new is None:
        return
    key = (variable, path)
    old = body.pointees.get(key)
    body.pointees[key] = new if old is None else (_join(old, new) or new)


def dereference(body: Body, pointer: Expr, type_: Type) -> Location:
    """The object that `pointer` points at."""
    known = body.register_addresses.get(id(pointer))
    if known is not None:
        place = known[1]
        return place if place.type is type_ else RegisterPlace(place.variable, place.path, type_)
    found = pointee_of(body, pointer)
    if found is None:
        found = Pointee(MemorySpace.GLOBAL, None)
    return Cell(pointer, found.space, type_, found.root)


def address_of(body: Body, where: Location, span: Span) -> Expr:
    """The address of an object; for a register place it is remembered what it is the address of."""
    if isinstance(where, Cell):
        return where.address
    result = _address_in_variable(body, where, pointer_to(where.type), span)
    body.register_addresses[id(result)] = (result, where)
    return result


# --------------------------------------------------------------------------- members


def _address_in_variable(body: Body, where: RegisterPlace, type_: Type, span: Span) -> Expr:
    """The address of a register place: in host code, where records are memory, with the member's offset."""
    offset = _path_offset(where) if body.is_host else 0
    if not offset:
        return AddressOf(where.variable, type_, span)
    start = AddressOf(where.variable, pointer_to(where.variable.type), span)
    return PointerOffset(start, None, 1, offset, False, False, type_, span)


def _path_offset(where: RegisterPlace) -> int:
    """Bytes from the start of the variable to the member; 0 when the layout is not known."""
    offset, type_ = 0, where.variable.type
    for name in where.path:
        found = next((inner for inner in type_.fields if inner.name == name), None)
        if found is None:
            return 0
        offset, type_ = offset + found.offset_bytes, found.type
    return offset


def member(body: Body, base: Location, name: str, offset_bytes: int, type_: Type, span: Span) -> Location:
    """The member `name` of an object."""
    if isinstance(base, RegisterPlace):
        return RegisterPlace(base.variable, (*base.path, name), type_)
    address = PointerOffset(base.address, None, 1, offset_bytes, False, False, pointer_to(type_), span)
    return Cell(address, base.space, type_, base.root)


def place_for_access(body: Body, where: Location) -> Place:
    """The place of one textual access: memory gets its site number here."""
    if isinstance(where, RegisterPlace):
        return where
    return MemoryPlace(where.address, where.space, where.type, where.root, body.site())


def read(body: Body, where: Location, span: Span) -> Expr:
    """The value of an object; an array's value is the address of its first element."""
    if where.type.kind is TypeKind.ARRAY:
        element = where.type.element or where.type
        if isinstance(where, RegisterPlace):
            result = address_of(body, where, span)
            body.register_addresses.pop(id(result), None)
            return _address_in_variable(body, where, pointer_to(element), span)
        address = where.address
        if isinstance(address, AddressOf):
            return AddressOf(address.variable, pointer_to(element), span)
        if isinstance(address, PointerOffset):
            return replace(address, type=pointer_to(element))
        return address
    if isinstance(where, RegisterPlace):
        return Read(where, where.type, span)
    return Load(
        MemoryPlace(where.address, where.space, where.type, where.root, body.site()), where.type, span
    )


def location_of_variable(body: Body, variable: Variable, span: Span) -> Location:
    """Where a variable itself is."""
    if in_registers(body, variable):
        return RegisterPlace(variable, (), variable.type)
    return Cell(AddressOf(variable, pointer_to(variable.type), span), variable.space, variable.type, variable)


# --------------------------------------------------------------------------- expressions that name objects


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
