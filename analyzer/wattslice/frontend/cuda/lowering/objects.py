"""Objects of classes: the functions of the user that making, copying, assigning and destroying them runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import auto
from functools import lru_cache, partial
from itertools import zip_longest
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.flags import FOLLOWED
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.kinds import UnaryOperator
from wattslice.frontend.cuda.lowering.context import Body, Location, LoweringError, file_scope_variable
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    base_at,
    bound,
    dereference,
    is_lvalue_by_operator,
    member,
    must_name_an_object,
    place_for_access,
    read,
)
from wattslice.frontend.cuda.lowering.order import found_once, in_turn, last_first
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.frontend.cuda.lowering.unit import FunctionInfo, ParameterInfo, Unit
from wattslice.ir import Call, Expr, ExprStmt, Read, RegisterPlace, Span, Stmt
from wattslice.ir.operators import IdentityEnum

MOST_ELEMENTS = 64
"""Elements of an array of objects that are made, copied or destroyed one by one."""
_MOST_CALLED = 64


class Special(IdentityEnum):
    """What runs a function of a class that nobody has to write down."""

    MAKE = auto()
    COPY = auto()
    ASSIGN = auto()
    MOVE = auto()
    TAKE = auto()  # assigned from what is moved
    DESTROY = auto()


_INSTEAD = {Special.MOVE: Special.COPY, Special.TAKE: Special.ASSIGN}
"""What serves where a class has no function that moves."""


class Part(Struct, frozen=True):
    """A part of an object that a function of the user is run on: members and elements that lead to it."""

    path: tuple[Node | int, ...]
    function: Node


def own_function(unit: Unit, type_: ClangType, special: Special) -> Node | None:
    """The function that the user has written for a class; None where the compiler writes it."""
    declaration = type_.canonical.declaration
    if declaration is None or unit.parsed.is_builtin(declaration):
        return None
    for node in (*declaration.children, *unit.instantiated_members.get(declaration, ())):
        if _serves(node, special, declaration) and not node.is_defaulted:
            return None if node.is_deleted else node
    return own_function(unit, type_, _INSTEAD[special]) if special in _INSTEAD else None


def _serves(node: Node, special: Special, record: Node) -> bool:
    if special is Special.DESTROY:
        return node.kind == C.DESTRUCTOR
    is_assignment = special in (Special.ASSIGN, Special.TAKE)
    if node.kind != (C.CXX_METHOD if is_assignment else C.CONSTRUCTOR):
        return False
    parameters = [child for child in node.children if child.kind == C.PARM_DECL]
    needed = [p for p in parameters if not any(100 <= child.kind < 400 for child in p.children)]
    if special is Special.MAKE:
        return not needed
    if is_assignment and node.spelling != "operator=":
        return False
    taken = parameters[0].type.canonical if parameters and len(needed) <= 1 else None
    if taken is None or taken.kind != (K.RVALUEREFERENCE if special in _INSTEAD else K.LVALUEREFERENCE):
        return False
    given = taken.pointee.canonical.declaration
    return given is not None and given.canonical == record.canonical


def parts(unit: Unit, type_: ClangType, special: Special) -> tuple[Part, ...]:
    """Of bases, members and elements, in the order in which they are made; of a class with such a function
    only itself: whoever runs that comes to the parts.
    """
    type_ = type_.canonical
    key = (type_.raw.data0, special)
    known = unit.special.get(key)
    if known is None:
        known = unit.special[key] = tuple(_parts(unit, type_, special))
    return known


def _parts(unit: Unit, type_: ClangType, special: Special) -> Iterator[Part]:
    if type_.kind == K.CONSTANTARRAY:
        length = unit.types.translate(type_.raw).length or 0
        inner = parts(unit, type_.element, special)
        for at in range(min(length, MOST_ELEMENTS) if inner else 0):
            yield from (Part((at, *one.path), one.function) for one in inner)
        return
    own = own_function(unit, type_, special)
    if own is not None:
        yield Part((), own)
        return
    yield from inner_parts(unit, type_, special)


def inner_parts(unit: Unit, type_: ClangType, special: Special) -> Iterator[Part]:
    """Those of bases and members alone."""
    declaration = type_.canonical.declaration
    if declaration is None or unit.parsed.is_builtin(declaration):
        return
    for part in (*bases_of(unit, declaration), *type_.canonical.fields):
        for one in parts(unit, part.type, special):
            yield Part((part, *one.path), one.function)


def every_part(unit: Unit, type_: ClangType, special: Special) -> tuple[Part, ...]:
    """Those of bases and members, and the object itself, for code that runs each of them by itself."""
    key = (type_.canonical.raw.data0, special, True)
    known = unit.special.get(key)
    if known is None:
        declaration, found = type_.canonical.declaration, list[Part]()
        if declaration is not None and not unit.parsed.is_builtin(declaration):
            for part in (*bases_of(unit, declaration), *type_.canonical.fields):
                inner = every_part(unit, part.type, special)
                found += (Part((part, *one.path), one.function) for one in inner)
            own = own_function(unit, type_, special)
            found += () if own is None else (Part((), own),)
        known = unit.special[key] = tuple(found)
    return known


def bases_of(unit: Unit, declaration: Node) -> list[Node]:
    """Those of a class; not virtual ones, of which an object has one in all; nor several of a template."""
    found = [child for child in declaration.children if child.kind == C.CXX_BASE_SPECIFIER]
    declared = (base.type.canonical.declaration for base in found)
    placed = [one is not None and one.spelling in unit.one_of_several_bases for one in declared]
    if len(found) > 1 and not all(placed):
        return []
    return [base for base in found if not base.is_virtual_base]


def part_at(body: Body, where: Location, path: Sequence[Node | int], span: Span) -> Location:
    """The part of an object."""
    for step in path:
        if isinstance(step, Node) and step.kind == C.CXX_BASE_SPECIFIER:
            declaration = step.type.canonical.declaration
            where = where if declaration is None else base_at(body, where, declaration, span)
        elif isinstance(step, Node):
            offset = body.unit.types.field_offset_bytes(step.raw)
            where = member(where, step.spelling, offset, body.unit.types.of(step.raw), span)
        else:
            element = where.type.element or ir.UNKNOWN_TYPE
            offset = step * element.size_bytes
            start = address_of(body, where, span)
            address = ir.PointerOffset(start, None, 1, offset, False, False, pointer_to(element), span)
            where = dereference(body, address, element)
    return where


def ran(
    body: Body,
    function: Node,
    where: Location,
    arguments: tuple[Expr, ...],
    span: Span,
    name: str = "",
    order: tuple[int, ...] = (),
) -> Stmt:
    """A call of a special function in host code; `name`: what it is called instead of its own name; `order`:
    in which it evaluates the arguments.
    """
    this = address_of(body, where, span)
    info = body.unit.function(function)
    call = Call(
        function.mangled_name,
        name or function.spelling,
        (this, *arguments),
        ir.VOID,
        span,
        looked_at=looked_at(body, info, 1),
        is_elsewhere=is_elsewhere(body, info),
        has_header=has_header(body, info),
        order=order and (0, *(at + 1 for at in order)),
    )
    return ExprStmt(call, body.region(), span)


def is_elsewhere(body: Body, info: FunctionInfo) -> bool:
    """Whether the program may define a function, and not here: what lies beside the file declares it, or a
    header may that lies nowhere and is included as the program's own are, by `"..."`.
    """
    parsed = body.unit.parsed
    if info.body is not None or info.declaration.is_defaulted:
        return False
    if info.is_made_up:
        return any(f'"{name}"'.encode() in parsed.source for name in parsed.recovered.missing_includes)
    file = info.declaration.file
    return file is not None and not info.is_builtin and _is_beside(file, parsed.path)


@lru_cache(maxsize=1024)
def _is_beside(header: Path, file: Path) -> bool:
    """Whether a header is in the folder of a file, in one beside it, or below these."""
    return header.resolve().is_relative_to(file.resolve().parent.parent)


def has_header(body: Body, info: FunctionInfo) -> bool:
    """Whether a header declares a function."""
    return not info.is_made_up and info.declaration.file != body.unit.parsed.path


def looked_at(body: Body, info: FunctionInfo, objects: int) -> frozenset[int] | None:
    """The arguments, behind so many objects, that a function which is only declared cannot write through."""
    if info.body is not None or info.is_builtin or info.is_made_up:
        return None
    types = enumerate(parameter.node.type.canonical for parameter in info.parameters)
    return frozenset(
        objects + at for at, type_ in types if type_.kind == K.POINTER and type_.pointee.is_const
    )


# ----------------------------------------------------------------------------- making


def bare(node: Node) -> Node:
    """The call or name behind parentheses, conversions and what clang wraps around temporaries."""
    while node.kind in (C.UNEXPOSED_EXPR, C.PAREN_EXPR, C.CXX_FUNCTIONAL_CAST_EXPR):
        inner = [child for child in node.children if child.kind >= 100]
        if len(inner) != 1:
            break
        node = inner[0]
    return node


def initialises(body: Body, node: Node) -> None:
    """The value of `node` makes an object that has a name of its own: no temporary is destroyed."""
    node = bare(node)
    if node.kind == C.CONDITIONAL_OPERATOR:
        for arm in node.children[1:]:
            initialises(body, arm)
    body.naming.add(node.raw.data1)


def initialise_parameters(body: Body, info: FunctionInfo, arguments: Sequence[Node]) -> None:
    """What is passed by value is made for the function, which destroys it: there, or where the expression
    around the call ends, as a compiler likes. What that writes is lost.
    """
    for parameter, argument in zip(info.parameters, arguments, strict=False):
        if not parameter.is_reference and info.body is not None:
            initialises(body, argument)
            destroyed = [one.function for one in parts(body.unit, argument.type, Special.DESTROY)]
            body.after += shared_by(body, destroyed, body.span(argument))


def temporary(body: Body, node: Node, value: Expr) -> Expr:
    """An object of host code; one without a name is destroyed where the expression around it ends."""
    if value.type.kind is not ir.TypeKind.RECORD or node.raw.data1 in body.naming:
        return value
    destroyed = parts(body.unit, node.type, Special.DESTROY)
    if not destroyed:
        return value
    span = value.span
    if isinstance(value, Read) and value.place.variable.role is ir.VariableRole.TEMPORARY:
        place = value.place
    else:
        held = body.temporary("temporary", value.type, span)
        body.before.append(ir.Declare(held, value, body.region(), span))
        place = RegisterPlace(held, (), held.type)
    body.after[:0] = destroying(body, place, destroyed, span)
    return Read(place, place.type, span)


def destroying(body: Body, where: Location, destroyed: Sequence[Part], span: Span) -> list[Stmt]:
    """The destructors of the parts of an object, the last made first."""
    return [
        ran(body, one.function, part_at(body, where, one.path, span), (), span) for one in reversed(destroyed)
    ]


PASSES_ON = ("move", "forward")
"""Functions of the library that give the very object that they get."""


def with_defaults(body: Body, callee: Node, arguments: Sequence[Node]) -> list[Node]:
    """The arguments of a call; those that are not written, and no constants, as its declaration has them."""
    found = list(arguments)
    for at, argument in enumerate(arguments):
        if argument.kind == C.UNEXPOSED_EXPR and not argument.children and body.is_host:
            is_plain = body.type(argument).kind in (ir.TypeKind.INT, ir.TypeKind.BOOL, ir.TypeKind.FLOAT)
            default = None if is_plain and argument.evaluate() is not None else _default_of(callee, at)
            found[at] = argument if default is None else default
    return found


def _default_of(function: Node, at: int) -> Node | None:
    """The value of a parameter in a call that does not give it."""
    for node in (function, function.canonical, function.definition):
        parameters = [child for child in (node.children if node else ()) if child.kind == C.PARM_DECL]
        given = parameters[at].children if at < len(parameters) else ()
        if values := [child for child in given if 100 <= child.kind < 400]:
            return values[-1]
    return None


def _every_default(body: Body, function: Node) -> tuple[Expr, ...]:
    """What a function is given that is called with nothing; none where that is not read."""
    number = sum(child.kind == C.PARM_DECL for child in function.children)
    defaults = [default for at in range(number) if (default := _default_of(function, at)) is not None]
    try:
        return tuple(map(body.expr, defaults))
    except LoweringError:
        return ()


def value_given(body: Body, parameter: ParameterInfo | None, argument: Node, span: Span) -> Expr:
    """What a function of the user is given: by reference the very object that a call names."""
    where = None
    if parameter is not None and (argument.kind == C.CALL_EXPR or is_lvalue_by_operator(argument)):
        is_moved = parameter.is_reference and argument.spelling in PASSES_ON
        if is_moved or must_name_an_object(parameter.node.type):
            where = body.location(argument)
    return body.expr(argument) if where is None else read(body, where, span)


def made_at(body: Body, node: Node, where: Location, span: Span) -> list[Stmt] | None:
    """What the constructor that `node` calls does to an object of host code; None: its value is all."""
    node = bare(node)
    constructor = node.referenced if node.kind == C.CALL_EXPR else None
    if constructor is None or constructor.kind != C.CONSTRUCTOR:
        return None
    info = body.unit.function(constructor)
    is_empty = info.body is None and not where.type.fields and not is_elsewhere(body, info)
    if info.is_builtin or info.is_made_up or is_empty:
        return None
    arguments = [child for child in node.children if child.kind >= 100]
    if where.type.kind is ir.TypeKind.ARRAY:
        return made_of_nothing(body, where, node.type, span)
    if not constructor.is_defaulted:
        given, order = with_defaults(body, constructor, arguments), order_of_parts(body, node, arguments)
        return [ran(body, constructor, where, _given_to(body, info, given, order, span), span, order=order)]
    if not arguments:
        return made_of_nothing(body, where, node.type, span)
    special = Special.MOVE if moves(constructor) else Special.COPY
    if not parts(body.unit, node.type, special):
        return None
    source = found_once(body, body.location(arguments[0]), span)
    if source is None:
        return None
    return list(copied(body, where, source, node.type, special, span))


def order_of_parts(body: Body, node: Node, arguments: Sequence[Node]) -> tuple[int, ...]:
    """The order in which a constructor's arguments are evaluated: that of a list is its own."""
    return () if body.unit.spans.text(node).endswith("}") else last_first(len(arguments))


def _given_to(
    body: Body, info: FunctionInfo, arguments: Sequence[Node], order: tuple[int, ...], span: Span
) -> tuple[Expr, ...]:
    """The arguments of a constructor."""
    initialise_parameters(body, info, arguments)
    steps = [
        partial(value_given, body, parameter, argument, span)
        for parameter, argument in zip_longest(info.parameters[: len(arguments)], arguments)
    ]
    return tuple(in_turn(body, steps, order))


def moves(function: Node) -> bool:
    """Whether a constructor or an assignment moves."""
    return "&&)" in function.type.spelling  # clang lists no parameters of what it writes itself


def made_of_nothing(body: Body, where: Location, type_: ClangType, span: Span) -> list[Stmt]:
    """What runs where an object gets no value."""
    type_ = type_.canonical
    if type_.kind == K.CONSTANTARRAY:
        length = where.type.length or 0
        found: list[Stmt] = []
        for at in range(min(length, MOST_ELEMENTS)):
            found += made_of_nothing(body, part_at(body, where, (at,), span), type_.element, span)
        return found
    own = own_function(body.unit, type_, Special.MAKE)
    if own is not None:
        return [ran(body, own, where, _every_default(body, own), span)]
    declaration = type_.declaration
    if is_made_empty(where.type):
        value = ir.Construct((), (), where.type, span)
        stored = ir.Assign(place_for_access(body, where), None, value, where.type, where.type, span)
        return [ExprStmt(stored, body.region(), span)]
    if declaration is None or body.unit.parsed.is_builtin(declaration):
        return []
    return made_parts(body, where, declaration, {}, span)


def is_made_empty(type_: ir.Type) -> bool:
    """Whether an object of a library's class that gets no value is an empty one, or a `dim3` of ones."""
    made = (*ir.VECTOR_CLASSES, *ir.KEYED_CLASSES, "std::basic_string<")
    return type_.name == "dim3" or type_.name.startswith(made)


def made_empty(body: Body, type_: ClangType, own: ir.Type, span: Span) -> Expr | None:
    """The object of host code that `{}` makes where functions or values of its class do; else None."""
    place = RegisterPlace(body.temporary("empty", own, span), (), own)
    outer, body.before = body.before, []
    made = made_of_nothing(body, place, type_, span)
    made, body.before = [*body.before, *made], outer
    if not made:
        return None
    value = None if own_function(body.unit, type_, Special.MAKE) is not None else zero(own, span)
    body.before += [ir.Declare(place.variable, value, body.region(), span), *made]
    return Read(place, own, span)


_NUMBERS = (ir.TypeKind.INT, ir.TypeKind.FLOAT, ir.TypeKind.BOOL, ir.TypeKind.POINTER)


def zero(type_: ir.Type, span: Span) -> Expr | None:
    """The value of an object that nothing but zeros make; None where its parts are not known."""
    if type_.name == "dim3":
        return ir.Construct((), (), type_, span)
    if type_.kind in _NUMBERS and type_.lanes == 1:
        return ir.Constant(0, type_, span)
    if type_.kind is ir.TypeKind.RECORD and type_.fields:
        parts = [zero(field.type, span) for field in type_.fields]
        known = tuple(part for part in parts if part is not None)
        names = tuple(field.name for field in type_.fields)
        return ir.Construct(known, names, type_, span) if len(known) == len(parts) else None
    return None


def made_parts(
    body: Body,
    where: Location,
    record: Node,
    given: dict[str, Node],
    span: Span,
    made: Sequence[Node | None] = (),
) -> list[Stmt]:
    """Bases and members: what a constructor says of these, values written in the class, or their own
    constructors. What cannot be read is left out. `made`: the bases that are.
    """
    result: list[Stmt] = []
    for base in bases_of(body.unit, record):
        if base.type.canonical.declaration not in made:
            result += made_of_nothing(body, part_at(body, where, (base,), span), base.type, span)
    for field in record.type.fields:
        value = given.get(field.spelling) or default_of(body, field)
        type_ = body.unit.types.of(field.raw)
        type_ = pointer_to(type_) if body.unit.types.is_reference(field.raw) else type_
        offset = body.unit.types.field_offset_bytes(field.raw)
        place = member(where, field.spelling, offset, type_, span)
        if value is None:
            result += made_of_nothing(body, place, field.type, span)
            continue
        around, outer = body.frame.this, (body.before, body.after)
        body.frame.this = around if field.spelling in given else where  # which a default may name
        body.before, body.after = [], []
        try:
            statements = made_at(body, value, place, span)
            if statements is None:
                initialises(body, value)
                held = bound(body, field, value)
                stored = ir.Assign(place_for_access(body, place), None, held, type_, type_, span)
                statements = [ExprStmt(stored, body.region(), span)]
            result += (*body.before, *statements, *body.after)
        except LoweringError:
            continue
        finally:
            body.frame.this, (body.before, body.after) = around, outer
    return result


def default_of(body: Body, field: Node) -> Node | None:
    """The value of a member that is written in the class; the width of a bit-field is none."""
    value = next((child for child in reversed(field.children) if 100 <= child.kind < 400), None)
    if value is None:
        return None
    text = body.unit.spans.text(field)
    return value if "=" in text or "{" in text else None


def default_initialisers(body: Body, constructor: Node) -> list[tuple[Node, Node]]:
    """The fields of a constructor's class that have an initialiser in the class, with that initialiser."""
    record = constructor.semantic_parent
    pairs = ((field, default_of(body, field)) for field in (() if record is None else record.type.fields))
    return [(field, value) for field, value in pairs if value is not None]


def made_of_braces(body: Body, type_: ClangType, node: Node) -> Expr | None:
    """The object that `{a, b}`, or a number, in another list makes by a constructor, and clang does not say
    by which; None where its parts are its value.
    """
    declaration = type_.canonical.declaration
    is_list = node.kind == C.INIT_LIST_EXPR
    if declaration is None or body.unit.parsed.is_builtin(declaration):
        return None
    if not is_list and body.type(node).kind in (ir.TypeKind.RECORD, ir.TypeKind.UNKNOWN):
        return copied_part(body, type_, node)
    arguments = [child for child in node.children if child.kind >= 100] if is_list else [node]
    return made_of(body, type_, arguments, body.span(node))


def made_of(
    body: Body, type_: ClangType, arguments: Sequence[Node], span: Span, order: tuple[int, ...] = ()
) -> Expr | None:
    """The object of a class of the user's that a constructor makes of `arguments`, evaluated in this order,
    unknown where clang does not say by which; None where it has no constructor.
    """
    declaration = type_.canonical.declaration
    if declaration is None or body.unit.parsed.is_builtin(declaration):
        return None
    members = (*declaration.children, *body.unit.instantiated_members.get(declaration, ()))
    makers = [m for m in members if m.kind in (C.CONSTRUCTOR, C.FUNCTION_TEMPLATE) and not m.is_defaulted]
    makers = [
        maker for maker in makers if maker.kind == C.CONSTRUCTOR or maker.spelling == declaration.spelling
    ]
    if not makers:
        return None
    own = body.unit.types.translate(type_.raw)
    if not arguments:
        return made_empty(body, type_, own, span)
    able = [maker for maker in makers if _takes(maker, len(arguments))]
    if len(arguments) == 1 and arguments[0].type.canonical.declaration != declaration:
        copying = (Special.COPY, Special.MOVE)  # of another object of the class
        able = [maker for maker in able if not any(_serves(maker, one, declaration) for one in copying)]
    is_clear = len({_of_values(body, maker) for maker in able}) == 1
    info = body.unit.function(able[0]) if is_clear else None
    if info is None or able[0].kind != C.CONSTRUCTOR:
        lost = unread(span, tuple(body.expr(argument) for argument in arguments))
        return replace(lost, type=own)
    values = _given_to(body, info, arguments, order, span)
    place = RegisterPlace(body.temporary(info.name, own, span), (), own)
    made = ran(body, able[0], place, values, span, order=order)
    body.before += [ir.Declare(place.variable, None, body.region(), span), made]
    return Read(place, own, span)


def copied_part(body: Body, type_: ClangType, node: Node) -> Expr | None:
    """A copy of the object that `node` names, which clang does not say; None where its value is all."""
    is_same = node.type.canonical.declaration == type_.canonical.declaration
    special = Special.MOVE if node.spelling == "move" else Special.COPY
    where = body.location(node) if is_same and parts(body.unit, type_, special) else None
    if where is None:
        return None
    span, own = body.span(node), body.unit.types.translate(type_.raw)
    place = RegisterPlace(body.temporary("copy", own, span), (), own)
    where = found_once(body, where, span) or where
    made = copied(body, place, where, type_, special, span)
    body.before += [ir.Declare(place.variable, None, body.region(), span), *made]
    return Read(place, own, span)


def _of_values(body: Body, maker: Node) -> tuple[Node, tuple[ir.Type, ...]]:
    """A template that a constructor is an instance of, and for which values, named or not; else itself."""
    if maker.template is None:
        return maker, ()
    parameters = [child for child in maker.children if child.kind == C.PARM_DECL]
    return maker.template, tuple(body.type(parameter) for parameter in parameters)


def _takes(function: Node, number: int) -> bool:
    parameters = [child for child in function.children if child.kind == C.PARM_DECL]
    needed = [p for p in parameters if not any(100 <= child.kind < 400 for child in p.children)]
    return len(needed) <= number <= len(parameters) or "initializer_list" in function.type.spelling


def destroyed_at_exit(body: Body, where: Location, type_: ClangType, span: Span) -> list[Stmt]:
    """Notes that the program destroys an object where it ends."""
    found = parts(body.unit, type_, Special.DESTROY)
    places = (part_at(body, where, one.path, span) for one in found)
    return [
        ran(body, one.function, place, (), span, ir.AT_EXIT) for one, place in zip(found, places, strict=True)
    ]


# ----------------------------------------------------------------------------- copying


def copied(
    body: Body, target: Location, source: Location, type_: ClangType, special: Special, span: Span
) -> Iterator[Stmt]:
    """What a copy or an assignment that the compiler writes runs, base by base and member by member."""
    type_ = type_.canonical
    own = own_function(body.unit, type_, special)
    if own is not None:
        yield ran(body, own, target, (read(body, source, span),), span)
    elif not parts(body.unit, type_, special):
        stored = read(body, source, span)
        place = place_for_access(body, target)
        yield ExprStmt(ir.Assign(place, None, stored, target.type, target.type, span), body.region(), span)
    elif type_.kind == K.CONSTANTARRAY:
        for at in range(min(target.type.length or 0, MOST_ELEMENTS)):
            one, two = (part_at(body, where, (at,), span) for where in (target, source))
            yield from copied(body, one, two, type_.element, special, span)
    else:
        declaration = type_.declaration
        bases = () if declaration is None else bases_of(body.unit, declaration)
        for part in (*bases, *type_.fields):
            one, two = (part_at(body, where, (part,), span) for where in (target, source))
            yield from copied(body, one, two, part.type, special, span)


# ----------------------------------------------------------------------------- what is not run


def handed_over(body: Body, node: Node, callee: Node) -> list[ClangType]:
    """Classes of the user whose objects a library makes, copies or destroys in a call, as containers do."""
    if not body.unit.parsed.is_builtin(callee):
        return []
    owner, made = callee.semantic_parent, node.type.canonical.declaration
    holders = [holder for holder in (callee, owner, made) if holder is not None]
    given = (type_ for holder in holders for type_ in holder.template_arguments)
    return list(_of_the_user(body.unit, (type_ for type_ in given if isinstance(type_, ClangType))))


def is_pointer(declaration: Node | None) -> bool:
    """Whether a class is a smart pointer of the library, which is followed."""
    return declaration is not None and declaration.file == FOLLOWED


def _of_the_user(unit: Unit, types: Iterable[ClangType]) -> Iterator[ClangType]:
    for type_ in types:
        declaration = type_.canonical.declaration
        if declaration is None:
            continue
        if unit.parsed.is_builtin(declaration) or is_pointer(declaration):
            inner = (one for one in declaration.template_arguments if isinstance(one, ClangType))
            yield from _of_the_user(unit, inner)
        elif declaration.kind in (C.STRUCT_DECL, C.CLASS_DECL):
            yield type_


def destroyed_within(unit: Unit, type_: ClangType) -> list[Node]:
    """The destructors of the user that an object of a library runs, as for its elements."""
    inner = _of_the_user(unit, (type_,))
    return [one.function for held in inner for one in parts(unit, held, Special.DESTROY)]


def functions_of(unit: Unit, types: Sequence[ClangType]) -> list[Node]:
    """All constructors, destructors and assignments that the user has written for classes."""
    found: list[Node] = []
    for type_ in types:
        declaration = type_.canonical.declaration
        members = () if declaration is None else declaration.children
        members = (*members, *unit.instantiated_members.get(declaration, ())) if declaration else ()
        found += (
            node
            for node in members
            if node.kind in (C.CONSTRUCTOR, C.DESTRUCTOR) or node.spelling == "operator="
        )
        found += (one.function for special in Special for one in inner_parts(unit, type_, special))
    return [function for function in found if not function.is_defaulted]


def stays_when_moved(unit: Unit, type_: ClangType) -> bool:
    """Whether what moves objects that a container moves to another place only takes over what they were."""
    return all(_takes_over(one.function) for one in parts(unit, type_, Special.MOVE))


def _takes_over(function: Node) -> bool:
    """Whether a constructor gives each member what that of the other object is, and changes that at most."""
    if function.file == FOLLOWED:
        return True
    other = next((child for child in function.children if child.kind == C.PARM_DECL), None)
    record, taken, named = function.semantic_parent, set[str](), ""
    if record is None or other is None or not moves(function):
        return False
    for child in (function.definition or function).children:
        if child.kind == C.MEMBER_REF:
            named = child.spelling
        elif child.kind == C.COMPOUND_STMT:
            for stmt in child.children:
                target, *rest = stmt.children or (stmt,)
                is_set = stmt.kind == C.BINARY_OPERATOR and stmt.binary_operator == B.ASSIGN
                if not is_set or target.kind != C.MEMBER_REF_EXPR:
                    return False
                if _member_of_other(target, other) is not None:
                    continue
                if _member_of_other(rest[0], other) != target.spelling:
                    return False
                taken.add(target.spelling)
        elif 100 <= child.kind < 200 and named:
            if _member_of_other(child, other) != named:
                return False
            taken.add(named)
            named = ""
    return {field.spelling for field in record.type.fields} <= taken


def _member_of_other(node: Node, other: Node) -> str | None:
    """The member of the object `other` that is handed on; None of anything else."""
    node = bare(node)
    while node.kind == C.CALL_EXPR and (given := list(node.arguments)):
        node = bare(given[0])
    base = bare(node.children[0]) if node.kind == C.MEMBER_REF_EXPR and node.children else None
    return node.spelling if base is not None and base.referenced == other else None


def lost_by(body: Body, functions: Sequence[Node], span: Span) -> list[Stmt]:
    """What functions that a library runs may do, nobody knows how often: what they write outside of their
    objects is lost, what they launch is not counted.
    """
    if any(function.kind == C.DESTRUCTOR and function.is_virtual for function in functions):
        functions = tuple(dict.fromkeys((*functions, *body.unit.destructors)))
    result = shared_by(body, functions, span)
    for function in functions:
        owner = function.semantic_parent
        if owner is None or not reaches_out(function):
            continue
        held = body.temporary("element", body.unit.types.of(owner.raw), span)
        where = RegisterPlace(held, (), held.type)
        number = sum(child.kind == C.PARM_DECL for child in function.children)
        given = tuple(unread(span, why=ir.RUN_BY_LIBRARY) for _ in range(number))
        statements = (ir.Declare(held, None, body.region(), span), ran(body, function, where, given, span))
        inner = ir.Block(statements, body.region(), span)
        how_often = unread(span, why=ir.RUN_BY_LIBRARY)
        result.append(ir.If(how_often, inner, None, body.region(), span))
    return result


def reaches_out(function: Node) -> bool:
    """Whether a function of a class writes behind a pointer or reference, launches, or calls what may."""
    for node in (function.definition or function).walk():
        if node.kind == C.CALL_EXPR:
            callee = node.referenced
            if callee is None or (
                len(node.children) > 1 and node.children[1].spelling == "cudaConfigureCall"
            ):
                return True
            if callee.kind != C.CONSTRUCTOR and callee.definition is not None and not callee.is_defaulted:
                return True
        is_step = node.kind == C.UNARY_OPERATOR and node.unary_operator <= UnaryOperator.PRE_DEC
        is_set = node.kind == C.BINARY_OPERATOR and B.ASSIGN <= node.binary_operator <= B.OR_ASSIGN
        if is_step or is_set or node.kind == C.COMPOUND_ASSIGNMENT_OPERATOR:
            target = bare(next(iter(node.children), node))
            named = target.referenced if target.kind == C.MEMBER_REF_EXPR else None
            is_own = named is not None and all(child.kind < 100 for child in target.children)
            if target.kind != C.DECL_REF_EXPR and (
                named is None or not is_own or named.type.kind in (K.LVALUEREFERENCE, K.RVALUEREFERENCE)
            ):
                return True
    return False


def shared_by(body: Body, functions: Sequence[Node], span: Span) -> list[Stmt]:
    """File-scope variables that functions, and what these call, may write where they are not run."""
    found: dict[int, Node] = {}
    seen: dict[int, Node] = {}
    waiting = list(functions)
    while waiting and len(seen) < _MOST_CALLED:
        function = waiting.pop()
        function = function.definition or function
        if function.raw.data0 in seen or body.unit.parsed.is_builtin(function):
            continue
        seen[function.raw.data0] = function
        for node in function.walk():
            declaration = node.referenced if node.kind in _REFERRING else None
            if declaration is None:
                continue
            if declaration.kind in (C.FUNCTION_DECL, C.CXX_METHOD, C.CONSTRUCTOR):
                waiting.append(declaration)
            elif declaration.kind == C.VAR_DECL and not declaration.type.is_const and _is_shared(declaration):
                found[declaration.raw.data0] = declaration
    addresses = tuple(
        ir.AddressOf(variable, pointer_to(variable.type), span)
        for variable in (file_scope_variable(body, node) for node in found.values())
    )
    lost = unread(span, addresses, ir.RUN_BY_LIBRARY)
    return [ExprStmt(lost, body.region(), span)] if addresses else []


_REFERRING = (C.DECL_REF_EXPR, C.MEMBER_REF_EXPR, C.CALL_EXPR)


def _is_shared(declaration: Node) -> bool:
    parent = declaration.semantic_parent
    return parent is not None and parent.kind not in (C.FUNCTION_DECL, C.CXX_METHOD, C.FUNCTION_TEMPLATE)
