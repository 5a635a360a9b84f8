"""Objects and pointers: in which memory space an object lies, where a pointer points, how it is accessed."""

from __future__ import annotations

from dataclasses import replace

from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, Pointee
from wattslice.frontend.cuda.lowering.types import lane_of, pointer_to
from wattslice.ir import (
    AddressOf,
    Assign,
    Binary,
    BinaryOp,
    Cast,
    Constant,
    Construct,
    Declare,
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
    Stmt,
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
    return joined_pointees(left, right)


def joined_pointees(left: Pointee, right: Pointee) -> Pointee:
    """What is known of a pointer that is one of two; one to either of two spaces counts as global."""
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


# --------------------------------------------------------------------------- effects


def with_effects(body: Body, mark: int, value: Expr) -> Expr:
    """`value` together with what lowering it put before the statement at hand (`body.before` from `mark` on).

    For an expression that is evaluated again and again, or not always: there its effects belong to it. What
    fills an object in local memory stays before the statement.
    """
    effects = body.before[mark:]
    places = [_assigned_by(effect) for effect in effects]
    if not effects or body.is_host or None in places:
        return value
    del body.before[mark:]
    for effect in reversed([place for place in places if place is not None]):
        value = Binary(BinaryOp.COMMA, effect, value, value.type, value.type, value.span)
    return value


def _assigned_by(effect: Stmt) -> Expr | None:
    match effect:
        case ExprStmt(expr=expr):
            return expr
        case Declare(variable=variable, value=value) if (
            value is not None and variable.space is MemorySpace.REGISTER
        ):
            place = RegisterPlace(variable, (), variable.type)
            return Assign(place, None, value, variable.type, variable.type, effect.span)
        case _:
            return None


# --------------------------------------------------------------------------- members


def _address_in_variable(body: Body, where: RegisterPlace, type_: Type, span: Span) -> Expr:
    """The address of a register place, with the member's offset (in host code, where records are memory, as
    an operation of its own).
    """
    offset = _path_offset(where)
    if not body.is_host:
        return AddressOf(where.variable, type_, span, offset)
    if not offset:
        return AddressOf(where.variable, type_, span)
    start = AddressOf(where.variable, pointer_to(where.variable.type), span)
    return PointerOffset(start, None, 1, offset, False, False, type_, span)


def _path_offset(where: RegisterPlace) -> int:
    """Bytes from the start of the variable to the member; 0 when the layout is not known."""
    offset, type_ = 0, where.variable.type
    for name in where.path:
        if type_.lanes > 1 and name in "xyzw":
            lane = lane_of(type_)
            offset, type_ = offset + "xyzw".index(name) * lane.size_bytes, lane
            continue
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
    return MemoryPlace(where.address, where.space, where.type, where.root, body.site(), where.is_volatile)


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
    place = MemoryPlace(where.address, where.space, where.type, where.root, body.site(), where.is_volatile)
    return Load(place, where.type, span)


def location_of_variable(body: Body, variable: Variable, span: Span) -> Location:
    """Where a variable itself is."""
    if in_registers(body, variable):
        return RegisterPlace(variable, (), variable.type)
    return Cell(AddressOf(variable, pointer_to(variable.type), span), variable.space, variable.type, variable)
