"""Objects: which one an expression names, in which space it lies, where pointers point, how to access it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.kinds import UnaryOperator
from wattslice.frontend.cuda.lowering.context import (
    Body,
    Cell,
    Location,
    LoweringError,
    Pointee,
    binding_of,
    location,
)
from wattslice.frontend.cuda.lowering.types import common_type, is_wide_record, pointer_to
from wattslice.frontend.cuda.lowering.unit import FunctionInfo
from wattslice.ir import AddressOf, Expr, MemorySpace, Read, RegisterPlace, Span, Type, TypeKind, Variable
from wattslice.ir.objects import part_of, pointers_in


def in_registers(variable: Variable) -> bool:
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
        case ir.PointerOffset(pointer=inner) | ir.Cast(operand=inner):
            return pointee_of(body, inner)
        case Read(place=place):
            if (found := body.pointees.get((place.variable, place.path))) is not None:
                return found
            outside = MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL
            return Pointee(outside, place.variable)
        case ir.Load(place=place):
            held = None
            if place.root is not None:
                held = body.pointees.get((place.root, _CONTENTS)) or body.pointees.get(
                    (place.root, _at(_offset_of(place.address)))
                )
            return held or Pointee(MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL, place.root)
        case ir.Select(then=then, otherwise=otherwise):
            return _join(pointee_of(body, then), pointee_of(body, otherwise))
        case ir.Assign(value=value):
            return pointee_of(body, value)
        case ir.Increment(target=target):
            if isinstance(target, RegisterPlace):
                return body.pointees.get((target.variable, target.path)) or Pointee(
                    MemorySpace.GLOBAL, target.variable
                )
            return Pointee(MemorySpace.GLOBAL, target.root)
        case ir.Binary(op=ir.BinaryOp.COMMA, right=right):
            return pointee_of(body, right)
        case ir.Binary() if (address := _address_in(body, pointer)) is not None:
            return pointee_of(body, address)
        case ir.Intrinsic(semantics=ir.Semantics.IDENTITY, arguments=arguments) if arguments:
            return pointee_of(body, arguments[0])
        case ir.Constant() | ir.Construct():
            return None
        case ir.InlinedCall() | ir.Extract():
            return Pointee(MemorySpace.GLOBAL, None)
        case _:
            return Pointee(MemorySpace.HOST if body.is_host else MemorySpace.GLOBAL, None)


def _address_in(body: Body, value: Expr) -> Expr | None:
    """The pointer that a number is an address by: in `((size_t)p + 127) & ~127` p; None where it is none."""
    value = ir.strip_casts(value)
    if isinstance(value, ir.Binary):
        left, right = _address_in(body, value.left), _address_in(body, value.right)
        return None if left is not None and right is not None else left or right
    is_noted = isinstance(value, Read) and (value.place.variable, value.place.path) in body.pointees
    return value if is_noted or value.type.kind is TypeKind.POINTER else None


_CONTENTS = ("contents",)
"""In place of a path: what the pointers point at that an object in memory holds."""


def note_parameter(body: Body, parameter: Variable) -> None:
    """Names what the pointers of a record point to that a kernel is given: after the members they are."""
    if parameter.type.kind is not TypeKind.RECORD:
        return
    found: dict[tuple[str, ...], Pointee] = {}
    for offset, path, type_ in pointers_in(parameter.type):
        if path not in found:  # of an array the first element
            name = ".".join((parameter.name, *path))
            behind = ir.Behind(parameter, offset)
            where = Variable(name, type_, MemorySpace.REGISTER, parameter.role, parameter.span, behind=behind)
            found[path] = Pointee(MemorySpace.GLOBAL, where)
        body.pointees[parameter, path if in_registers(parameter) else _at(offset)] = found[path]


def _at(offset_bytes: int) -> tuple[str, ...]:
    """In place of a path: where in an object in memory a pointer lies."""
    return (f"+{offset_bytes}",)


def _offset_of(address: Expr) -> int:
    """Bytes from the start of an object to a member; of an array to its first element."""
    offset = 0
    while isinstance(address, ir.PointerOffset | ir.Cast):
        if isinstance(address, ir.PointerOffset):
            offset += address.offset_bytes
            address = address.pointer
        else:
            address = address.operand
    return offset


def _join(left: Pointee | None, right: Pointee | None) -> Pointee | None:
    if left is None or right is None:
        return left or right
    return joined_pointees(left, right)


def joined_pointees(left: Pointee, right: Pointee) -> Pointee:
    """What is known of a pointer that is one of two; one to either of two spaces counts as global."""
    return Pointee(
        left.space if left.space is right.space else MemorySpace.GLOBAL,
        left.root if left.root is right.root else None,
        left.named if left.named is right.named else None,
    )


def note_pointer(body: Body, variable: Variable, path: tuple[str, ...], value: Expr) -> None:
    """Remember where `variable` points after it is given `value`; records carry their members along.

    The first address that is not null decides; a second one of another space makes the pointer generic,
    which counts as global.
    """
    if isinstance(value, ir.Construct):
        for name, part in zip(value.field_names, value.arguments, strict=False):
            note_pointer(body, variable, (*path, name), part)
        if variable.space in (MemorySpace.LOCAL, MemorySpace.SHARED):  # members are not told apart there
            for part in value.arguments:
                note_pointer(body, variable, _CONTENTS, part)
        return
    kind = value.type.kind
    if kind is TypeKind.RECORD and isinstance(value, Read):
        source = value.place
        depth = len(source.path)
        for (owner, inner), pointee in list(body.pointees.items()):
            if owner is source.variable and inner[:depth] == source.path:
                body.pointees[(variable, path + inner[depth:])] = pointee
        return
    if kind is TypeKind.RECORD and isinstance(value, ir.InlinedCall):  # what a constructor filled
        for stmt in value.body.statements:
            if isinstance(stmt, ir.Return) and stmt.value is not None:
                note_pointer(body, variable, path, stmt.value)
        *others, _ = value.body.statements or (None,)
        if not all(isinstance(stmt, ir.Declare | ir.ExprStmt) for stmt in others):  # it may return another
            for (owner, inner), pointee in list(body.pointees.items()):
                if owner is variable and inner[: len(path)] == path:
                    body.pointees[owner, inner] = replace(pointee, named=None)
        return
    address = _address_in(body, value) if kind is TypeKind.INT else value
    if address is None or kind not in (TypeKind.INT, TypeKind.POINTER):
        return
    new = pointee_of(body, address)
    if new is None:
        return
    if kind is TypeKind.INT:
        new = replace(new, named=None)
    elif is_fixed(value) and not body.is_host:
        new = replace(new, named=dereference(body, value, value.type.element or value.type))
    key = (variable, path)
    old = body.pointees.get(key)
    body.pointees[key] = new if old is None else (_join(old, new) or new)


def note_stored(body: Body, where: Cell, value: Expr) -> None:
    """Remember where the pointers point that an object of the thread or block is given."""
    if where.root is not None and where.space in (MemorySpace.LOCAL, MemorySpace.SHARED):
        note_pointer(body, where.root, _CONTENTS, value)


def dereference(body: Body, pointer: Expr, type_: Type) -> Location:
    """The object that `pointer` points at."""
    known = body.register_addresses.get(id(pointer))
    if known is not None:
        place = known[1]
        return place if place.type is type_ else RegisterPlace(place.variable, place.path, type_)
    found = pointee_of(body, pointer) or Pointee(MemorySpace.GLOBAL, None)
    return Cell(pointer, found.space, type_, found.root)


def is_fixed(address: Expr) -> bool:
    """Whether an address is the same whenever it is computed: of a variable, or of a certain part of one."""
    while isinstance(address, ir.PointerOffset) and isinstance(address.index, ir.Constant | None):
        address = address.pointer
    return isinstance(address, ir.AddressOf)


def address_of(body: Body, where: Location, span: Span) -> Expr:
    """The address of an object; for a register place it is remembered what it is the address of."""
    if isinstance(where, Cell):
        return where.address
    result = _address_in_variable(body, where, pointer_to(where.type), span)
    body.register_addresses[id(result)] = (result, where)
    return result


def temporary_object(body: Body, type_: Type, span: Span) -> Location:
    """A fresh unnamed object."""
    name = type_.name or "temporary"
    if is_wide_record(type_):
        variable = Variable(name, type_, MemorySpace.LOCAL, ir.VariableRole.TEMPORARY, span)
        return Cell(ir.AddressOf(variable, pointer_to(type_), span), MemorySpace.LOCAL, type_, variable)
    return RegisterPlace(body.temporary(name, type_, span), (), type_)


def materialise(body: Body, value: Expr, span: Span) -> Location:
    """Put a value into a fresh object, before the statement at hand."""
    if isinstance(value, Read):
        return value.place
    where = temporary_object(body, value.type, span)
    variable = where.variable if isinstance(where, RegisterPlace) else where.root
    assert variable is not None
    note_pointer(body, variable, (), value)
    body.before.append(ir.Declare(variable, value, body.region(), span))
    return where


# --------------------------------------------------------------------------- effects


def with_effects(body: Body, mark: int, value: Expr) -> Expr:
    """`value` together with what lowering it put before the statement at hand (`body.before` from `mark` on).

    For an expression that is evaluated again and again, or not always: there its effects belong to it. What
    fills an object in local memory stays before the statement.
    """
    effects = body.before[mark:]
    places = [_assigned_by(effect) for effect in effects]
    if effects and body.is_host:
        del body.before[mark:]
        return sequence(body, effects, value)
    if not effects or None in places:
        return value
    del body.before[mark:]
    for effect in reversed([place for place in places if place is not None]):
        value = ir.Binary(ir.BinaryOp.COMMA, effect, value, value.type, value.type, value.span)
    return value


def whole_expression(body: Body, lower: Callable[[], Expr]) -> Expr:
    """A value whose temporary objects are destroyed before anything else is run: a condition, a step."""
    mark, outer, body.after = len(body.before), body.after, []
    try:
        value = lower()
    finally:
        ending, body.after = body.after, outer
    if not ending:
        return value
    effects, span = body.before[mark:], value.span
    del body.before[mark:]
    if value.type.kind is TypeKind.VOID:
        effects.append(ir.ExprStmt(value, body.region(), span))
        value = ir.Constant(0, ir.INT32, span)
    else:
        held = body.temporary("value", value.type, span)
        effects.append(ir.Declare(held, value, body.region(), span))
        value = Read(RegisterPlace(held, (), held.type), held.type, span)
    return sequence(body, [*effects, *ending], value)


def perhaps(body: Body, node: Node) -> Expr:
    """A value not always asked for, with its effects; objects made for it are destroyed later, if made."""
    mark, outer, body.after = len(body.before), body.after, []
    try:
        value = with_effects(body, mark, body.expr(node))
    finally:
        ending, body.after = body.after, outer
    if ending:
        span = value.span
        place = RegisterPlace(body.temporary("made", ir.INT32, span), (), ir.INT32)
        zero, one = (ir.Constant(number, ir.INT32, span) for number in (0, 1))
        body.before.append(ir.Declare(place.variable, zero, body.region(), span))
        made = ir.Assign(place, None, one, ir.INT32, ir.INT32, span)
        value = ir.Binary(ir.BinaryOp.COMMA, made, value, value.type, value.type, span)
        block = ir.Block(tuple(ending), body.region(), span)
        body.after.insert(0, ir.If(Read(place, ir.INT32, span), block, None, body.region(), span))
    return value


def sequence(body: Body, effects: Sequence[ir.Stmt], value: Expr) -> Expr:
    """Statements of host code, then a value, as an expression."""
    result = ir.Return(value, body.region(), value.span)
    block = ir.Block((*effects, result), body.region(), value.span)
    return ir.InlinedCall("effects", (), (), block, value.type, value.span)


def _assigned_by(effect: ir.Stmt) -> Expr | None:
    match effect:
        case ir.ExprStmt(expr=expr):
            return expr
        case ir.Declare(variable=variable, value=value) if (
            value is not None and variable.space is MemorySpace.REGISTER
        ):
            place = RegisterPlace(variable, (), variable.type)
            return ir.Assign(place, None, value, variable.type, variable.type, effect.span)
        case _:
            return None


# --------------------------------------------------------------------------- members


def _address_in_variable(body: Body, where: RegisterPlace, type_: Type, span: Span) -> Expr:
    """The address of a register place and a member's offset (an operation in host code: memory there)."""
    part = part_of(where.variable.type, where.path)
    offset = part[0] if part else 0
    if not body.is_host:
        return AddressOf(where.variable, type_, span, offset)
    if not offset:
        return AddressOf(where.variable, type_, span)
    start = AddressOf(where.variable, pointer_to(where.variable.type), span)
    return ir.PointerOffset(start, None, 1, offset, False, False, type_, span)


def member(base: Location, name: str, offset_bytes: int, type_: Type, span: Span) -> Location:
    """The member `name` of an object."""
    if isinstance(base, RegisterPlace):
        return RegisterPlace(base.variable, (*base.path, name), type_)
    address = ir.PointerOffset(base.address, None, 1, offset_bytes, False, False, pointer_to(type_), span)
    return Cell(address, base.space, type_, base.root)


def place_for_access(body: Body, where: Location) -> ir.Place:
    """The place of one textual access: memory gets its site number here."""
    return where if isinstance(where, RegisterPlace) else _access(body, where)


def _access(body: Body, where: Cell) -> ir.MemoryPlace:
    volatile = where.is_volatile, where.is_volatile
    return ir.MemoryPlace(where.address, where.space, where.type, where.root, body.site(), *volatile)


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
        if isinstance(address, ir.PointerOffset):
            return replace(address, type=pointer_to(element))
        return address
    return loaded(body, where, span)


def loaded(body: Body, where: Location, span: Span) -> Expr:
    """What an object holds, also an array as a whole."""
    if isinstance(where, RegisterPlace):
        return Read(where, where.type, span)
    return ir.Load(_access(body, where), where.type, span)


def location_of_variable(body: Body, variable: Variable, span: Span) -> Location:
    """Where a variable itself is."""
    if in_registers(variable):
        return RegisterPlace(variable, (), variable.type)
    return Cell(AddressOf(variable, pointer_to(variable.type), span), variable.space, variable.type, variable)


# ---------------------------------------------------------------------------
# Which object an expression names: variables, members, elements, what pointers point at.


@location(C.DECL_REF_EXPR)
def _(body: Body, node: Node) -> Location | None:
    binding = binding_of(body, node)
    if isinstance(binding, Variable):
        return location_of_variable(body, binding, body.span(node))
    return binding if isinstance(binding, RegisterPlace | Cell) else None


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
    offset = 0 if field is None else _offset_in_record(body, field)
    if body.is_host and field is not None:
        base, type_, offset = _host_member(body, base, field, offset, type_, body.span(node))
    if field is not None and body.unit.types.is_reference(field.raw):
        span = body.span(node)
        held = member(base, name, offset, pointer_to(type_), span)
        kept = body.pointees.get((held.variable, held.path)) if isinstance(held, RegisterPlace) else None
        if kept is not None and kept.named is not None:
            return kept.named
        return dereference(body, read(body, held, span), type_)
    return member(base, name, offset, type_, body.span(node))


def _host_member(
    body: Body, base: Location, field: Node, offset: int, type_: Type, span: Span
) -> tuple[Location, Type, int]:
    """The object, type and place of a member as host code keeps it: a bit-field in a place of its own; that
    of a base, which a record does not list, by its address.
    """
    if (field.spelling, offset) not in {(own.name, own.offset_bytes) for own in base.type.fields}:
        owner = field.semantic_parent
        if owner is not None and offset >= 0 and base.type.name.split("::")[-1] != owner.spelling:
            base = base_at(body, base, owner, span)
        elif base.type.fields:
            base = in_memory(body, base, span)
    bits = body.unit.types.bits_of_field(field.raw)
    if bits is not None and type_.kind is TypeKind.INT:
        type_, offset = replace(type_, bits=bits), ir.made_up_offset(field.spelling)
    return base, type_, offset


def base_at(body: Body, where: Location, base: Node, span: Span) -> Location:
    """The part of an object that is of a base; one of several has a made-up place of its own."""
    type_ = body.unit.types.of(base.raw)
    if base.spelling not in body.unit.one_of_several_bases:
        if isinstance(where, RegisterPlace) and not body.is_host:  # its members are those of the object
            return RegisterPlace(where.variable, where.path, type_)
        whole = in_memory(body, where, span)
        return Cell(whole.address, whole.space, type_, whole.root)
    offset = ir.made_up_offset(base.spelling)
    start = address_of(body, where, span)
    address = ir.PointerOffset(start, None, 1, offset, False, False, pointer_to(type_), span)
    return dereference(body, address, type_)


def bound(body: Body, declaration: Node, value: Node) -> Expr:
    """What initialises a member: where the object of a reference is, on the device of an unnamed one too."""
    if not body.unit.types.is_reference(declaration.raw):
        return body.expr(value)
    where = body.location(value)
    if where is None:
        if not body.is_host and must_name_an_object(declaration.type):
            raise LoweringError(f"'{declaration.spelling}' refers to an object that is not known here", value)
        result = body.expr(value)
        if body.is_host:
            return result
        where = materialise(body, result, body.span(value))
    return address_of(body, where, body.span(value))


def _offset_in_record(body: Body, field: Node) -> int:
    """Offset of a member, plus that of the anonymous records around it; of device code 0 if unknown."""
    offset, record = body.unit.types.field_offset_bytes(field.raw), field.semantic_parent
    while record is not None and (not record.spelling or "(" in record.spelling):
        outer = record.semantic_parent
        around = (
            one for one in (() if outer is None else outer.type.fields) if one.type.declaration == record
        )
        holder = next(around, None)
        if holder is None or (holder.spelling and "(" not in holder.spelling):
            break  # a member with a name, of a type without
        offset, record = offset + body.unit.types.field_offset_bytes(holder.raw), outer
    return offset if body.is_host else max(0, offset)


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
    if known is not None and isinstance(subscript, ir.Constant):
        lane = _lane_at(known[1], int(subscript.value), element)
        if lane is not None:
            return lane
    if pointer.type.kind is not TypeKind.POINTER and pointer.type.lanes == 1:
        inner = pointer.type.element
        if inner is None:  # a recovered expression: nothing is known about what is subscripted
            pointer = ir.Cast(pointer, pointer_to(element), body.span(node))
    scale_bytes = element.size_bytes
    if element.kind is TypeKind.ARRAY and not scale_bytes and body.unit.is_c:
        subscript, scale_bytes = _of_variable_size(body, node, subscript, element)
    offset = ir.PointerOffset(
        pointer, subscript, scale_bytes, 0, False, False, pointer_to(element), body.span(node)
    )
    return dereference(body, offset, element)


def _of_variable_size(body: Body, node: Node, subscript: Expr, element: Type) -> tuple[Expr, int]:
    """The subscript of an array whose elements are arrays of run-time lengths, in scalars, and their bytes.

    C writes the lengths where it declares the object; libclang lists them there, the innermost first.
    """
    named = node
    while named.kind != C.DECL_REF_EXPR and named.children:
        named = named.children[0]
    declaration = named.referenced if named.kind == C.DECL_REF_EXPR else None
    lengths = [] if declaration is None else [child for child in declaration.children if child.kind >= 100]
    scalar = element
    for number in range(len(lengths) + 1):
        if scalar.kind is not TypeKind.ARRAY or scalar.element is None:
            return subscript, scalar.size_bytes
        if number == len(lengths):
            break
        length = body.expr(lengths[number])
        type_ = common_type(subscript.type, length.type)
        subscript = ir.Binary(ir.BinaryOp.MUL, subscript, length, type_, type_, body.span(node))
        scalar = scalar.element
    raise LoweringError("subscript of an array whose lengths are not known", node)


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
    body.before.append(ir.ExprStmt(effect, body.region(), span))


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
        declaration = node.type.canonical.declaration
        is_other = body.is_host and where is not None and type_.fields and type_.name != where.type.name
        if where is not None and declaration is not None and is_other:
            where = base_at(body, where, declaration, body.span(node))
        if isinstance(where, RegisterPlace):
            return RegisterPlace(where.variable, where.path, type_)
        if where is not None:
            return Cell(where.address, where.space, type_, where.root)
    return None


def _casts_to_reference(body: Body, node: Node) -> bool:
    """libclang gives a reference cast the type referred to; the text still has its ampersand."""
    text = body.unit.spans.text(node)
    return "&>" in text or "& >" in text or "&)" in text.split("(", 2)[1] + ")" if "(" in text else False


# ---------------------------------------------------------------------------
# References to one of several objects, which only the run decides: `c ? a : b`, a function's `return`s.


@location(C.CONDITIONAL_OPERATOR)
def _(body: Body, node: Node) -> Location | None:
    """The object at an address that is selected; None when an arm is a mere value, and so the whole."""
    if len(node.children) != 3:
        return None
    condition, *arms = node.children
    if not body.is_host and not all(_may_name_an_object(arm) for arm in arms):
        return None
    before = list(body.before)
    chosen = body.expr(condition)
    if isinstance(chosen, ir.Constant):
        return body.location(arms[0] if chosen.value else arms[1])
    span = body.unit.spans.span(node)  # its own, which tells several in one statement apart
    then_region, otherwise_region = body.region(), body.region()
    cells: list[Cell] = []
    addresses: list[Expr] = []
    for arm in arms:
        mark = len(body.before)
        where = body.location(arm)
        if where is None:
            body.before[:] = before
            return None
        cells.append(in_memory(body, where, span))
        addresses.append(with_effects(body, mark, cells[-1].address))
    type_ = cells[0].type
    then, otherwise = addresses
    pointer = ir.Select(chosen, then, otherwise, then_region, otherwise_region, pointer_to(type_), span)
    pointee = one_of(cells)
    return Cell(pointer, pointee.space, type_, pointee.root, any(cell.is_volatile for cell in cells))


def in_memory(body: Body, where: Location, span: Span) -> Cell:
    """An object as one that an address names, also where it is a register."""
    if isinstance(where, Cell):
        return where
    address = address_of(body, where, span)
    del body.register_addresses[id(address)]  # what is reached through it is not always this register
    found = pointee_of(body, address)
    return Cell(address, MemorySpace.LOCAL if found is None else found.space, where.type, where.variable)


def one_of(cells: list[Cell]) -> Pointee:
    """What is known of an object that is one of these."""
    found = Pointee(cells[0].space, cells[0].root)
    for cell in cells[1:]:
        found = joined_pointees(found, Pointee(cell.space, cell.root))
    return found


def unwrapped(node: Node) -> Node:
    """What stands in parentheses and implicit conversions."""
    while node.kind in (C.PAREN_EXPR, C.UNEXPOSED_EXPR) and len(node.children) == 1:
        node = node.children[0]
    return node


def is_choice(node: Node) -> bool:
    """Whether an expression is `c ? a : b`, parentheses and implicit conversions aside."""
    return unwrapped(node).kind == C.CONDITIONAL_OPERATOR


def is_lvalue_by_operator(node: Node) -> bool:
    """Whether an expression that C++ binds to `T&` is an operator: `c ? a : b`, `x += 2`."""
    return unwrapped(node).kind in _OPERATORS


_OPERATORS = (C.CONDITIONAL_OPERATOR, C.BINARY_OPERATOR, C.COMPOUND_ASSIGNMENT_OPERATOR, C.UNARY_OPERATOR)


def chooses_result(info: FunctionInfo) -> bool:
    """Whether a function that returns a reference decides while it runs which object that names."""
    if not info.returns_reference or info.body is None:
        return False
    returned = [node.children[0] for node in info.body.walk() if node.kind == C.RETURN_STMT and node.children]
    return len({_name_of(node) for node in returned}) > 1 or any(map(is_choice, returned))


def _name_of(node: Node) -> int:
    """Equal for what certainly names the same object: `*this`, a variable."""
    inner = node.children[0] if node.kind == C.UNARY_OPERATOR and node.children else node
    if inner.kind == C.CXX_THIS_EXPR:
        return 0
    declaration = node.referenced if node.kind == C.DECL_REF_EXPR else None
    return id(node) if declaration is None else declaration.raw.data0


def gives_value(body: Body, info: FunctionInfo) -> bool:
    """Whether a chosen `const T&` is as good as its value: then registers can stay what they are."""
    result = info.declaration.type.result
    type_ = body.unit.types.translate(result.canonical.pointee.raw)
    return is_const_reference(result) and not is_wide_record(type_)


def takes_only_values(info: FunctionInfo) -> bool:
    """Whether a function changes nothing through references, so that it may get copies for `const T&`."""
    return all(is_const_reference(p.node.type) for p in info.parameters if p.is_reference)


def is_const_reference(type_: ClangType) -> bool:
    """`const T&`."""
    return type_.canonical.kind == K.LVALUEREFERENCE and type_.canonical.pointee.is_const


def must_name_an_object(type_: ClangType) -> bool:
    """`T&`, which C++ never binds to a temporary."""
    return type_.canonical.kind == K.LVALUEREFERENCE and not type_.canonical.pointee.is_const


def is_plain(type_: Type) -> bool:
    """A number, a pointer, or a record of such."""
    if type_.kind is TypeKind.RECORD:
        is_end = type_.name == "std::tuple<>"  # of every tuple
        return is_end or (bool(type_.fields) and all(is_plain(field.type) for field in type_.fields))
    return type_.kind in (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL, TypeKind.POINTER)


def is_followed(type_: Type) -> bool:
    """What host code is followed with where it is an element: what is plain, what classes of the library hold
    that are followed, and records of such.
    """
    if type_.kind is TypeKind.RECORD and type_.name.removeprefix("const ").startswith(ir.ELEMENT_CLASSES):
        return True
    if type_.kind is TypeKind.ARRAY:
        return type_.element is not None and is_followed(type_.element)
    is_record = type_.kind is TypeKind.RECORD and bool(type_.fields)
    return is_plain(type_) or (is_record and all(is_followed(field.type) for field in type_.fields))


def _may_name_an_object(node: Node) -> bool:
    node = unwrapped(node)
    if node.kind == C.BINARY_OPERATOR:
        return node.binary_operator in (B.COMMA, B.ASSIGN)
    return node.kind in _OBJECTS


_OBJECTS = (
    C.DECL_REF_EXPR,
    C.MEMBER_REF_EXPR,
    C.ARRAY_SUBSCRIPT_EXPR,
    C.UNARY_OPERATOR,
    C.COMPOUND_ASSIGNMENT_OPERATOR,
    C.CONDITIONAL_OPERATOR,
    C.CALL_EXPR,
    C.CSTYLE_CAST_EXPR,
    C.CXX_STATIC_CAST_EXPR,
    C.CXX_REINTERPRET_CAST_EXPR,
    C.CXX_CONST_CAST_EXPR,
)
