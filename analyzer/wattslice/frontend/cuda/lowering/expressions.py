"""Expressions of clang to those of the tree: literals, names, members, operators, conversions (no calls)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.kinds import UnaryOperator as U
from wattslice.frontend.cuda.lowering.context import (
    Body,
    Cell,
    Location,
    LoweringError,
    PointsTo,
    binding_of,
    builtin_vector,
    declaration_key,
    expression,
    function_named,
    location,
)
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    bound,
    dereference,
    is_choice,
    location_of_variable,
    note_pointer,
    note_stored,
    perhaps,
    place_for_access,
    read,
    unwrapped,
)
from wattslice.frontend.cuda.lowering.objects import (
    Special,
    default_of,
    initialises,
    lost_by,
    made_empty,
    made_of_braces,
    parts,
    temporary,
    zero,
)
from wattslice.frontend.cuda.lowering.order import in_turn
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.types import (
    DIM3_AXES,
    class_names,
    common_type,
    is_wide_record,
    pointer_to,
    promoted,
)
from wattslice.ir import BOOL, BinaryOp, Constant, Construct, Expr, Read, Span, Type, TypeKind, UnaryOp
from wattslice.ir.c_arithmetic import converted, fold
from wattslice.patterns import regex

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
    if body.is_host and "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    return ir.Text(text, body.type(node), body.span(node))


_ESCAPE = regex(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.S)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def _unescaped(found: re.Match[str]) -> str:
    octal, hexadecimal, letter = found.groups()
    if letter:
        return _ESCAPED.get(letter, letter)
    return chr(int(octal, 8) if octal else int(hexadecimal, 16))


@expression(C.CXX_UNARY_EXPR, C.SIZE_OF_PACK_EXPR, C.CONCEPT_SPECIALIZATION_EXPR, C.REQUIRES_EXPR)
def _(body: Body, node: Node) -> Expr:
    """sizeof, alignof, type traits."""
    value = node.evaluate()
    if body.is_host and b"long double" in body.unit.parsed.source:
        if _LONG_DOUBLE.fullmatch(body.unit.spans.text(node)):
            value = _LONG_DOUBLE_BYTES
        elif any(_has_long_double(child.type.canonical) for child in node.children):
            value = None  # clang lays it out as on the device
    parsed = body.unit.parsed
    is_made_up = parsed.mentions_made_up(node) or any(parsed.is_of_made_up(one.type) for one in node.children)
    if value is None or is_made_up or (body.is_host and _is_of_library(body, node)):
        return unknown(body, node, "sizeof")
    return Constant(value, body.type(node), body.span(node))


_LONG_DOUBLE = regex(r"(?:sizeof|alignof)\s*\(\s*(?:const\s+)?long double\s*\)")
_LONG_DOUBLE_BYTES = 16


def _has_long_double(type_: ClangType) -> bool:
    if type_.kind == K.CONSTANTARRAY:
        return _has_long_double(type_.element.canonical)
    if type_.kind == K.RECORD:
        return any(_has_long_double(field.type.canonical) for field in type_.fields)
    return type_.kind == K.LONGDOUBLE


_NAMES_LIBRARY = regex(r"^sizeof\s*\(\s*(?:const\s+)?std::(?!size_t|u?int\d+_t|array\b|byte\b|complex\b)")


def _is_of_library(body: Body, node: Node) -> bool:
    """Whether the size is of a class of the library, which is only declared here."""
    return _NAMES_LIBRARY.match(body.unit.spans.text(node)) is not None


def unknown(body: Body, node: Node, name: str) -> Expr:
    """A value that costs nothing and is not known."""
    return ir.Intrinsic(name, (), (), ir.Semantics.OPAQUE, False, body.type(node), body.span(node))


@expression(C.DECL_REF_EXPR)
def _(body: Body, node: Node) -> Expr:
    span = body.span(node)
    binding = body.names.get(declaration_key(body, node))
    if binding is None:
        instance = _instance(body, node) if body.is_host and not node.spelling else None
        if instance is not None:
            return ir.Text(instance.mangled_name, ir.Type(TypeKind.UNKNOWN, name="function"), span)
        if node.children and not node.spelling:  # a template parameter that an instance replaced by its value
            return body.expr(node.children[0])
        kind = builtin_vector(body, node)
        if kind is ir.BuiltinKind.WARP_SIZE:
            return ir.Builtin(kind, 0, ir.INT32, span)
        if kind is not None:
            parts = tuple(ir.Builtin(kind, axis, ir.UINT32, span) for axis in range(3))
            return Construct(parts, DIM3_AXES, body.type(node), span)
        type_ = body.type(node)
        if type_.kind is TypeKind.UNKNOWN and type_.name == "function":
            return ir.Text(_function_name(body, node), type_, span)
        binding = binding_of(body, node)
    if isinstance(binding, Constant):
        return Constant(binding.value, binding.type, span)
    if isinstance(binding, PointsTo):
        return address_of(body, binding.place, span)
    if isinstance(binding, ir.Variable):
        binding = location_of_variable(body, binding, span)
    return read(body, body.named(node, binding) or binding, span)


def _instance(body: Body, node: Node) -> Node | None:
    """The instance of a function template that `f<32, float>` names in a list, where clang says none."""
    named = next((n for n in node.children if n.kind == C.OVERLOADED_DECL_REF), None)
    if named is None:
        return None
    patterns = [overload.canonical for overload in named.overloads]
    text = body.unit.spans.text(node)
    given = [part.strip() for part in text[text.find("<") + 1 : text.rfind(">")].split(",")]
    numbers = [child.evaluate() for child in node.children if child.kind >= 100]
    found = [
        function
        for function in body.unit.root.children
        if function.kind == C.FUNCTION_DECL
        and (pattern := function.template) is not None
        and pattern.canonical in patterns
        and _is_given(function.template_arguments, given, numbers)
    ]
    return found[0] if len(found) == 1 else None


def _is_given(arguments: Sequence[object], texts: list[str], numbers: list[int | float | None]) -> bool:
    """Whether template arguments are those that are written, types as texts."""
    own = [one for one in arguments if not isinstance(one, ClangType)]
    types = [(one, text) for one, text in zip(arguments, texts, strict=False) if isinstance(one, ClangType)]
    return own == numbers and all(one.spelling == text for one, text in types)


def _function_name(body: Body, node: Node) -> str:
    """How the value of a function pointer is called: of overloads and instances, by the one that is meant."""
    function = node.referenced if body.is_host else None
    return node.spelling if function is None else function.mangled_name or node.spelling


@expression(C.MEMBER_REF_EXPR)
def _(body: Body, node: Node) -> Expr:
    children = [child for child in node.children if child.kind >= 100]
    if children:
        kind = builtin_vector(body, unwrapped(children[0]))
        if kind is not None:
            return ir.Builtin(kind, DIM3_AXES.index(node.spelling), ir.UINT32, body.span(node))
    field = node.referenced
    if field is not None and field.kind == C.VAR_DECL:
        binding = binding_of(body, node)
        if isinstance(binding, Constant):
            return Constant(binding.value, binding.type, body.span(node))
    elif field is not None and field.kind == C.ENUM_CONSTANT_DECL:
        return Constant(converted(field.enum_value, ir.INT32) or 0, ir.INT32, body.span(node))
    where = None if children and _is_chosen_value(body, children[0]) else body.location(node)
    if where is not None:
        value = read(body, where, body.span(node))
        bits = None if field is None or body.is_host else body.unit.types.bits_of_field(field.raw)
        if (
            field is not None and bits is not None
        ):  # the tree has whole members only: who computes values must not take it for one
            first = body.unit.types.first_bit_of_field(field.raw) % (value.type.bits or 8)
            parts = value, *(Constant(number, ir.INT32, value.span) for number in (bits, first))
            return ir.Intrinsic(ir.BIT_FIELD, parts, (), ir.Semantics.IDENTITY, False, value.type, value.span)
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
            isinstance(part, Constant | ir.Builtin | Read) for part in value.arguments
        ):
            return value.arguments[at]
    if isinstance(value, Read):
        return Read(ir.RegisterPlace(value.place.variable, (*value.place.path, name), type_), type_, span)
    return ir.Extract(value, name, type_, span)


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
        return body.expr(children[0]) if children else Constant(0, type_, body.span(node))
    own = node.type.canonical
    made = own.declaration if type_.kind is TypeKind.RECORD else None
    if body.is_host and made is not None and body.unit.parsed.is_made_up(made):
        return unread(body.span(node))  # nobody knows which members there are, nor what makes them
    if children and made is not None and any(one.kind == C.CXX_BASE_SPECIFIER for one in made.children):
        if body.is_host:
            return unread(body.span(node))  # the first values are those of bases
        if any(body.unit.types.is_reference(field.raw) for field in own.fields):
            raise LoweringError("values in braces of bases, and of a reference", node)
    members = own.fields if type_.kind is TypeKind.RECORD or type_.lanes > 1 else ()
    if _is_by_place(body, own, members, children):
        return _placed(body, own, deque(children), body.span(node), is_braced=True)
    fields = own.fields if type_.kind is TypeKind.RECORD else ()
    named = (*fields, *(None for _ in children[len(fields) :]))
    steps = [partial(_part, body, own, *pair) for pair in zip(named, children, strict=False)]
    values = tuple(in_turn(body, steps))
    if body.is_host:
        values = (*values, *_zeros_behind(body, len(values), node, type_, body.span(node)))
        return temporary(body, node, aggregate(values, type_, body.span(node)))
    return aggregate(values, type_, body.span(node))


def _is_by_place(body: Body, type_: ClangType, fields: tuple[Node, ...], children: list[Node]) -> bool:
    """Whether values in braces do not go one after the other: `.n = 2`, `[3] = 4`, inner braces left out."""
    if any(map(_is_designated, children)) or (body.is_host and any(_is_unnamed(field) for field in fields)):
        return True
    if type_.kind == K.CONSTANTARRAY:
        return any(_lacks_braces(body, type_.element.canonical, child) for child in children)
    pairs = zip(fields, children, strict=False)
    return any(_lacks_braces(body, field.type.canonical, child) for field, child in pairs)


def _is_unnamed(field: Node) -> bool:
    """Whether a member is an anonymous union or struct, whose members are those of the record around it."""
    return (not field.spelling or "(" in field.spelling) and field.type.canonical.kind == K.RECORD


def _is_designated(child: Node) -> bool:
    return child.kind == C.UNEXPOSED_EXPR and len(child.children) > 1 and child.type.kind == K.VOID


def _lacks_braces(body: Body, slot: ClangType, child: Node) -> bool:
    """Whether a number, or the like, stands where an array or a record begins."""
    if child.kind == C.INIT_LIST_EXPR or _is_designated(child):
        return False
    given = body.type(child)
    is_scalar = given.kind in (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL, TypeKind.POINTER)
    if not is_scalar or given.lanes > 1:
        return False
    if slot.kind == K.CONSTANTARRAY:
        return True
    declaration = slot.declaration if slot.kind == K.RECORD else None
    if declaration is None or not slot.fields:
        return False
    return all(one.kind not in (C.CONSTRUCTOR, C.FUNCTION_TEMPLATE) for one in declaration.children)


def _placed(body: Body, type_: ClangType, given: deque[Node], span: Span, *, is_braced: bool) -> Expr:
    """An object of values that say where they belong, or whose inner braces are left out; `is_braced`:
    it has all that is given, else as much as it holds.
    """
    own = body.unit.types.translate(type_.raw)
    fields = type_.fields if type_.kind == K.RECORD else ()
    is_union = bool(fields) and (made := type_.declaration) is not None and made.kind == C.UNION_DECL
    number = len(fields) if fields else own.length or 0
    parts: dict[int, Expr] = {}
    at = 0
    while given and (at < (1 if is_union else number) or _is_designated(given[0])):
        child, places = given[0], range(at, at + 1)
        if _is_designated(child):
            if not is_braced:
                break
            places = _places_named(child, fields)
        if not places or places[-1] >= number:
            raise LoweringError("a part that is not known", child)
        at = places[-1] + 1
        slot = fields[places[0]].type.canonical if fields else type_.element.canonical
        if _lacks_braces(body, slot, child):
            parts[places[0]] = _placed(body, slot, given, span, is_braced=False)
            continue
        given.popleft()
        value = child.children[-1] if _is_designated(child) else child
        known = _part(body, type_, fields[places[0]] if fields else None, value)
        parts.update(dict.fromkeys(places, known))
    for place in range(min(number, _MOST_ZEROS)):
        if place not in parts and not is_union:
            inner = fields[place].type if fields else type_.element
            rest = _left_out(body, fields[place] if fields else None, inner, span)
            if rest is not None or not fields:
                parts[place] = rest or unread(span)
    order = sorted(parts)
    if not fields or own.lanes > 1:
        return aggregate(tuple(parts[place] for place in order), own, span)
    named: list[tuple[str, Expr]] = []
    for place in order:
        part = parts[place]
        if not _is_unnamed(fields[place]):
            named.append((fields[place].spelling, part))
        elif isinstance(part, Construct):
            named += zip(part.field_names, part.arguments, strict=False)
    names, values = zip(*named, strict=True) if named else ((), ())
    return Construct(values, names, own, span)


def _places_named(child: Node, fields: tuple[Node, ...]) -> range:
    """Where a value belongs that says so: `.n = `, `[3] = `, `[2 ... 4] = `."""
    *named, _ = child.children
    if fields:
        names = [field.spelling for field in fields]
        if len(named) == 1 and named[0].spelling in names:
            at = names.index(named[0].spelling)
            return range(at, at + 1)
    else:
        ends = [place.evaluate() for place in named]
        first, last = ends[0], ends[-1]
        if len(ends) <= _ENDS_OF_A_RANGE and isinstance(first, int) and isinstance(last, int):
            return range(first, last + 1)
    return range(0)


_ENDS_OF_A_RANGE = 2


def _left_out(body: Body, field: Node | None, type_: ClangType, span: Span) -> Expr | None:
    """A member that a list leaves out: its value in the class, by its constructor, or zero; None: unknown."""
    default = None if field is None else default_of(body, field)
    if default is None:
        own = body.unit.types.translate(type_.raw) if field is None else body.unit.types.of(field.raw)
        return (made_empty(body, type_, own, span) if body.is_host else None) or zero(own, span)
    if any(n.kind in (C.MEMBER_REF_EXPR, C.CXX_THIS_EXPR) for n in default.walk()):
        return None
    initialises(body, default)
    return body.expr(default)


def _part(body: Body, whole: ClangType, field: Node | None, node: Node) -> Expr:
    """A part of an object: a member, or an element."""
    type_ = field.type if field is not None else whole.element if whole.kind == K.CONSTANTARRAY else None
    if not body.is_host:
        if type_ is not None and body.type(node).kind is not TypeKind.RECORD and _refers(body, type_):
            raise LoweringError("an object with a reference, made of what is in braces", node)
        return body.expr(node) if field is None else bound(body, field, node)
    initialises(body, node)
    made = None if type_ is None else made_of_braces(body, type_, node)
    if made is None:
        made = body.expr(node) if field is None else bound(body, field, node)
    return made


def _refers(body: Body, type_: ClangType) -> bool:
    """Whether objects of a class have references, of their own or in their members."""
    fields = type_.canonical.fields if type_.canonical.kind == K.RECORD else ()
    return any(body.unit.types.is_reference(one.raw) or _refers(body, one.type) for one in fields)


_MOST_ZEROS = 256


def _zeros_behind(body: Body, given: int, node: Node, type_: Type, span: Span) -> Iterator[Expr]:
    """What `{a, b}` leaves out."""
    if type_.kind is TypeKind.ARRAY and type_.element is not None:
        inner = node.type.canonical.element
        parts = [(None, inner)] * (min(type_.length or 0, _MOST_ZEROS) - given)
    else:
        own = node.type.canonical.fields if type_.kind is TypeKind.RECORD and type_.name != "dim3" else ()
        offsets = {field.offset_bytes for field in type_.fields if field.bits is None}
        is_plain = len(own) == len(type_.fields) == len(offsets)
        parts = [(field, field.type) for field in own][given:] if is_plain else []
    for field, inner in parts:
        part = _left_out(body, field, inner, span)
        if part is None:  # nothing behind it has its place in the list
            return
        yield part


def aggregate(parts: tuple[Expr, ...], type_: Type, span: Span) -> Expr:
    """A record, vector or array value from its parts."""
    names: tuple[str, ...] = ()
    if type_.kind is TypeKind.RECORD:
        names = DIM3_AXES if type_.name == "dim3" else tuple(field.name for field in type_.fields)
    elif type_.lanes > 1:
        names = tuple("xyzw"[: type_.lanes])
        parts = tuple(cast(part, type_.lane, span) for part in parts)
    return Construct(parts, names[: len(parts)], type_, span)


@expression(C.COMPOUND_LITERAL_EXPR)
def _(body: Body, node: Node) -> Expr:
    return body.expr([child for child in node.children if child.kind >= 100][-1])


@expression(C.CXX_THROW_EXPR)
def _(body: Body, node: Node) -> Expr:
    """In host code a call that does not return, of the names of the type and its bases."""
    if not body.is_host:
        raise LoweringError("exception", node)
    span = body.span(node)
    values = [child for child in node.children if child.kind >= 100]
    for value in values:
        initialises(body, value)
        destroyed = [one.function for one in parts(body.unit, value.type, Special.DESTROY)]
        body.before += lost_by(body, destroyed, span)
    names = "" if not values else "|".join(class_names(values[0].type))
    text = ir.Text(names, ir.UNKNOWN_TYPE, span)
    thrown = tuple(body.expr(value) for value in values)
    if not values and (handled := body.handled) is not None:  # as the handler has left it
        thrown = (Read(ir.RegisterPlace(handled, (), handled.type), handled.type, span),)
    return ir.Call("", ir.THROW, (text, *thrown), ir.VOID, span)


# ---------------------------------------------------------------------------
# Constant subtrees: literals and known values are computed when the tree is built.


def binary(op: BinaryOp, left: Expr, right: Expr, operand_type: Type, type_: Type, span: Span) -> Expr:
    """`left op right`, folded when both sides are constants (and the result is defined)."""
    if isinstance(left, Constant) and isinstance(right, Constant) and operand_type.lanes == 1:
        value = fold(op, left.value, right.value, operand_type)
        result = None if value is None else converted(value, type_)
        if result is not None:
            return Constant(result, type_, span)
    return ir.Binary(op, left, right, operand_type, type_, span)


def unary(op: UnaryOp, operand: Expr, type_: Type, span: Span) -> Expr:
    """A unary operation, folded on constants."""
    if isinstance(operand, Constant) and type_.lanes == 1:
        value = folded_unary(op, operand.value, type_)
        if value is not None:
            return Constant(value, type_, span)
    return ir.Unary(op, operand, type_, span)


def folded_unary(op: UnaryOp, value: int | float, type_: Type) -> int | float | None:
    """`op value` as an object of `type_`; None where C defines no value."""
    match op:
        case UnaryOp.NEGATE:
            return converted(-value, type_)
        case UnaryOp.NOT:
            return int(not value)
        case UnaryOp.INVERT:
            return converted(~value, type_) if isinstance(value, int) else None


def cast(operand: Expr, type_: Type, span: Span) -> Expr:
    """A conversion; none where the type stays the same, a constant where the operand is one."""
    old = operand.type
    if old is type_ or old == type_:
        return operand
    scalars = (TypeKind.BOOL, TypeKind.INT, TypeKind.FLOAT, TypeKind.POINTER)
    if isinstance(operand, Constant) and type_.lanes == 1 and type_.kind in scalars:
        value = converted(operand.value, type_)
        if value is not None:
            return Constant(value, type_, span)
    return ir.Cast(operand, type_, span)


# ---------------------------------------------------------------------------
# Known values of recursive functions' arguments: they decide where the recursion ends.


def known_value(body: Body, expr: Expr) -> int | float | None:
    """The value of an expression over constants and known parameters; None when it is not known."""
    match expr:
        case Constant(value=value):
            return value
        case Read(place=place):
            return None if place.path else body.known.get(place.variable)
        case ir.Cast(operand=operand, type=type_):
            value = known_value(body, operand)
            return None if value is None or type_.lanes > 1 else converted(value, type_)
        case ir.Unary(op=op, operand=operand, type=type_):
            value = known_value(body, operand)
            return None if value is None else folded_unary(op, value, type_)
        case ir.Binary(op=op, left=left, right=right, operand_type=type_):
            a, b = known_value(body, left), known_value(body, right)
            return None if a is None or b is None else fold(op, a, b, type_)
        case ir.Logical(op=op, left=left, right=right):
            a, b = known_value(body, left), known_value(body, right)
            if a is None or b is None:
                return None
            return int(bool(a) and bool(b)) if op is ir.LogicalOp.AND else int(bool(a) or bool(b))
        case _:
            return None


# ---------------------------------------------------------------------------
# Operators on values and objects: arithmetic, assignment, increments, addresses, conditionals.


_NAMES = {"REM" if op is BinaryOp.MOD else op.name: op for op in BinaryOp if op is not BinaryOp.COMMA}
_ARITHMETIC: dict[int, BinaryOp] = {getattr(B, name): op for name, op in _NAMES.items()}
_COMPOUND: dict[int, BinaryOp] = {
    getattr(B, f"{name}_ASSIGN"): op for name, op in _NAMES.items() if hasattr(B, f"{name}_ASSIGN")
}
_UNARY: dict[int, UnaryOp] = {U.MINUS: UnaryOp.NEGATE, U.NOT: UnaryOp.INVERT, U.LNOT: UnaryOp.NOT}
OPERATOR_NAMES: dict[str, BinaryOp] = {f"operator{op.value}": op for op in BinaryOp} | {
    f"operator{op.value}=": op for op in _COMPOUND.values()
}


@expression(C.BINARY_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 2:
        raise LoweringError("operator with a side that could not be read", node)
    kind = node.binary_operator
    if kind == B.ASSIGN:
        return assign(body, children[0], None, children[1], node)
    span = body.span(node)
    if kind in (B.LAND, B.LOR):
        return _logical(body, node, kind, span)
    left, right = in_turn(body, [partial(body.expr, child) for child in children])
    if kind == B.COMMA:
        if isinstance(left, ir.Load):  # named, but its value is not asked for
            left = left.place.address
        return ir.Binary(BinaryOp.COMMA, left, right, right.type, right.type, span)
    op = _ARITHMETIC.get(kind)
    if op is None:
        raise LoweringError("pointer to member or three-way comparison", node)
    _check_rows(body, node)
    return arithmetic(body, op, left, right, body.type(node), span)


def _check_rows(body: Body, node: Node) -> None:
    """Raises `LoweringError` for arithmetic that gives a pointer to arrays of a run-time length, as in C."""
    element = body.type(node).element if body.unit.is_c else None
    if element is not None and element.kind is TypeKind.ARRAY and not element.size_bytes:
        raise LoweringError("arithmetic on a pointer to arrays of a run-time length", node)


def arithmetic(body: Body, op: BinaryOp, left: Expr, right: Expr, type_: Type, span: Span) -> Expr:
    """A binary operator on two values, pointer arithmetic included."""
    if left.type.kind in (TypeKind.POINTER, TypeKind.ARRAY) and op in (BinaryOp.ADD, BinaryOp.SUB):
        if right.type.kind not in (TypeKind.POINTER, TypeKind.ARRAY):
            return offset(left, right, op is BinaryOp.SUB, span)
        size = 0 if left.type.element is None or body.is_host else left.type.element.size_bytes
        if op is BinaryOp.SUB and size > 1:
            return _distance(left, right, size, type_, span)
    elif right.type.kind in (TypeKind.POINTER, TypeKind.ARRAY) and op is BinaryOp.ADD:
        return offset(right, left, False, span)
    if op in (BinaryOp.SHL, BinaryOp.SHR):
        operand_type = promoted(left.type)
    else:
        operand_type = common_type(left.type, right.type)
    if op in (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE):
        type_ = BOOL
    elif type_.kind in (TypeKind.UNKNOWN,) or type_.name == "dependent":
        type_ = operand_type
    return binary(op, left, right, operand_type, type_, span)


def _distance(left: Expr, right: Expr, size: int, type_: Type, span: Span) -> Expr:
    """Elements between two pointers: their bytes, divided by those of an element, which leaves no rest."""
    of_bytes = pointer_to(Type(TypeKind.INT, bits=8, name="char"))
    first, last = ir.Cast(right, of_bytes, span), ir.Cast(left, of_bytes, span)
    distance = binary(BinaryOp.SUB, last, first, of_bytes, ir.INT64, span)
    if size & (size - 1):
        return binary(BinaryOp.DIV, distance, Constant(size, ir.INT64, span), ir.INT64, type_, span)
    by = Constant(size.bit_length() - 1, ir.INT64, span)
    return binary(BinaryOp.SHR, distance, by, ir.INT64, type_, span)


def offset(pointer: Expr, index: Expr, subtract: bool, span: Span) -> Expr:
    """`pointer + index`, written as such."""
    element = pointer.type.element
    scale = element.size_bytes if element is not None else 1
    result_type = pointer.type if pointer.type.kind is TypeKind.POINTER else pointer_to(element or ir.INT32)
    return ir.PointerOffset(pointer, index, max(1, scale), 0, True, subtract, result_type, span)


def _logical(body: Body, node: Node, kind: int, span: Span) -> Expr:
    left = body.expr(node.children[0])
    if isinstance(left, Constant):
        if bool(left.value) == (kind == B.LOR):
            return Constant(int(kind == B.LOR), BOOL, span)
        return cast(body.expr(node.children[1]), BOOL, span)
    region = body.region()
    right = perhaps(body, node.children[1])
    op = ir.LogicalOp.AND if kind == B.LAND else ir.LogicalOp.OR
    return ir.Logical(op, left, right, region, BOOL, body.unit.spans.span(node.children[1]))


@expression(C.COMPOUND_ASSIGNMENT_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 2:
        raise LoweringError("assignment with a side that could not be read", node)
    _check_rows(body, node)
    return assign(body, children[0], _COMPOUND[node.binary_operator], children[1], node)


def assign(body: Body, target: Node, op: BinaryOp | None, value: Node, node: Node) -> Expr:
    """`target = value`, `target op= value`."""
    result = body.expr(value) if body.is_host else None
    where = body.location(target)
    if where is None:
        raise LoweringError("assignment to something that is no object known here", node)
    return assign_value(body, where, op, result or body.expr(value), body.span(node))


def assign_value(body: Body, where: object, op: BinaryOp | None, value: Expr, span: Span) -> Expr:
    """Store a value that has been built already."""
    assert isinstance(where, ir.RegisterPlace | Cell)
    if op is None:
        operand_type = where.type
        if isinstance(where, ir.RegisterPlace):
            note_pointer(body, where.variable, where.path, value)
        else:
            note_stored(body, where, value)
    elif op in (BinaryOp.SHL, BinaryOp.SHR):
        operand_type = promoted(where.type)
    else:
        operand_type = common_type(where.type, value.type)
    return ir.Assign(place_for_access(body, where), op, value, operand_type, where.type, span)


@expression(C.UNARY_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    kind = node.unary_operator
    span = body.span(node)
    if len(node.children) != 1:
        raise LoweringError("operator with an operand that could not be read", node)
    child = node.children[0]
    if kind in (U.POST_INC, U.POST_DEC, U.PRE_INC, U.PRE_DEC):
        _check_rows(body, node)
        where = body.location(child)
        if where is None:
            raise LoweringError("increment of something that is no object known here", node)
        step = 1
        if where.type.kind is TypeKind.POINTER and where.type.element is not None:
            step = max(1, where.type.element.size_bytes)
        return ir.Increment(
            place_for_access(body, where),
            1 if kind in (U.POST_INC, U.PRE_INC) else -1,
            kind in (U.PRE_INC, U.PRE_DEC),
            step,
            where.type,
            span,
        )
    if kind == U.ADDR_OF:
        is_open = child.kind == C.DECL_REF_EXPR and not child.spelling  # an instance in a list
        if body.is_host and (is_open or body.type(child).name == "function"):
            return body.expr(child)
        inner = body.location(child)
        if inner is None:
            if not body.is_host and function_named(body, child) is None:
                raise LoweringError("address of an object that is not known here", node)
            return body.expr(child)  # the address of a function
        return address_of(body, inner, span)
    if kind == U.DEREF:
        where = body.location(node)
        if where is None:
            raise LoweringError("dereference that could not be read", node)
        return read(body, where, span)
    operand = body.expr(child)
    op = _UNARY.get(kind)
    if op is None:  # unary plus, __extension__, __real
        return operand
    type_ = BOOL if op is UnaryOp.NOT else body.type(node)
    if type_.kind is TypeKind.UNKNOWN:
        type_ = operand.type
    return unary(op, operand, type_, span)


@expression(C.CONDITIONAL_OPERATOR)
def _(body: Body, node: Node) -> Expr:
    children = node.children
    if len(children) != 3:
        raise LoweringError("conditional with a part that could not be read", node)
    condition = body.expr(children[0])
    if isinstance(condition, Constant):
        return body.expr(children[1] if condition.value else children[2])
    known = known_value(body, condition) if body.known else None
    then_region = body.region()
    otherwise_region = body.region()
    if known is None:
        then, otherwise = perhaps(body, children[1]), perhaps(body, children[2])
    else:  # recursion: the arm that is not taken would never end
        taken = body.expr(children[1] if known else children[2])
        never = Constant(0, taken.type, taken.span)
        then, otherwise = (taken, never) if known else (never, taken)
    type_ = body.type(node)
    if type_.kind is TypeKind.UNKNOWN or type_.name == "dependent":
        type_ = common_type(then.type, otherwise.type)
    span = body.unit.spans.span(node)  # its own, which tells several in one statement apart
    return ir.Select(condition, then, otherwise, then_region, otherwise_region, type_, span)


# ---------------------------------------------------------------------------
# Conversions: implicit and written casts, parentheses, and what clang wraps around expressions.


@expression(C.PAREN_EXPR)
def _(body: Body, node: Node) -> Expr:
    if len(node.children) != 1:
        raise LoweringError("empty parentheses", node)
    return body.expr(node.children[0])


def convert(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    """An implicit conversion of `value` to `type_`."""
    old = value.type
    if old is type_ or old == type_ or type_.kind in (TypeKind.UNKNOWN, TypeKind.VOID, TypeKind.ARRAY):
        return value
    if type_.kind is TypeKind.POINTER and old.kind in (TypeKind.POINTER, TypeKind.ARRAY):
        if old.element == type_.element or isinstance(value, Constant):
            return value
        return _pointer_cast(body, value, type_, span)
    if isinstance(value, Read | ir.Load) and _is_lost_part(body, old, type_):
        place = value.place
        address = place.address if isinstance(place, ir.MemoryPlace) else address_of(body, place, span)
        return read(body, dereference(body, _somewhere_in(address, pointer_to(type_), span), type_), span)
    if old.kind is TypeKind.RECORD or type_.kind is TypeKind.RECORD:
        return value  # base-class views; constructors and conversion functions are calls of their own
    if isinstance(value, ir.Text) or (old.kind is TypeKind.UNKNOWN and type_.kind is TypeKind.POINTER):
        return value
    return cast(value, type_, span)


def _is_lost_part(body: Body, old: Type | None, type_: Type | None) -> bool:
    """Whether host code sees an object as one of several bases, or the other way around."""
    if not body.is_host or old is None or type_ is None or type_.kind is not TypeKind.RECORD:
        return False
    names = [one.name.removeprefix("const ").split("::")[-1] for one in (old, type_)]
    is_other = old.kind is TypeKind.RECORD and names[0] != names[1]
    return is_other and not body.unit.one_of_several_bases.isdisjoint(names)


def _somewhere_in(address: Expr, type_: Type, span: Span) -> Expr:
    return ir.PointerOffset(address, unread(span), 1, 0, False, False, type_, span)


def _pointer_cast(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    if _is_lost_part(body, value.type.element, type_.element):
        return _somewhere_in(value, type_, span)
    result = ir.Cast(value, type_, span)
    known = body.register_addresses.get(id(value))
    if known is not None:
        body.register_addresses[id(result)] = (result, known[1])
    return result


@expression(
    C.CSTYLE_CAST_EXPR,
    C.CXX_STATIC_CAST_EXPR,
    C.CXX_REINTERPRET_CAST_EXPR,
    C.CXX_CONST_CAST_EXPR,
    C.CXX_DYNAMIC_CAST_EXPR,
    C.CXX_FUNCTIONAL_CAST_EXPR,
    C.BUILTIN_BIT_CAST_EXPR,
    C.CXX_ADDRSPACE_CAST_EXPR,
)
def _(body: Body, node: Node) -> Expr:
    span = body.span(node)
    type_ = body.type(node)
    children = [child for child in node.children if child.kind >= 100]
    if not children:
        return (
            Constant(0, type_, span) if type_.kind is not TypeKind.RECORD else Construct((), (), type_, span)
        )
    inner = children[-1]
    if node.kind in (C.CSTYLE_CAST_EXPR, C.CXX_REINTERPRET_CAST_EXPR, C.CXX_STATIC_CAST_EXPR):
        where = body.location(node)
        if where is not None:
            return read(body, where, span)
    value = body.expr(inner)
    if type_.kind is TypeKind.VOID or type_.kind is TypeKind.UNKNOWN:
        return value
    if node.kind == C.CXX_DYNAMIC_CAST_EXPR and type_.kind is TypeKind.POINTER and body.is_host:
        value = _cast_down(body, value, inner.type.canonical.pointee, type_, span)
    return convert(body, value, type_, span)


def _cast_down(body: Body, address: Expr, old: ClangType, type_: Type, span: Span) -> Expr:
    """What `dynamic_cast` makes of a pointer to an object of the class `old`."""
    names = class_names(old)
    target = "" if type_.element is None else type_.element.name
    if target in names or not body.unit.derived.get(target):
        return address
    able, every = body.unit.derived[target], {name for one in body.unit.derived.values() for name in one}
    texts = (ir.Text("|".join(sorted(one)), ir.UNKNOWN_TYPE, span) for one in (able, every))
    return ir.Call("", ir.CAST_DOWN, (address, *texts), type_, span)


@location(C.CXX_DYNAMIC_CAST_EXPR)
def _(body: Body, node: Node) -> Location | None:
    """`dynamic_cast<B &>(x)`: the same object, or a throw."""
    inner = [child for child in node.children if child.kind >= 100][-1]
    where = body.location(inner) if body.is_host and body.type(node).kind is TypeKind.RECORD else None
    if where is None:
        return None
    span, type_ = body.span(node), body.type(node)
    address = address_of(body, where, span)
    cast_down = _cast_down(body, address, inner.type, pointer_to(type_), span)
    if cast_down is not address:
        body.before.append(thrown_if(body, unary(UnaryOp.NOT, cast_down, ir.BOOL, span), _BAD_CAST, span))
    return dereference(body, address, type_)


_BAD_CAST = "std::bad_cast|std::exception"


def thrown_if(body: Body, condition: Expr, names: str, span: Span) -> ir.Stmt:
    """Something of types of these names is thrown, or not."""
    thrown = ir.Call("", ir.THROW, (ir.Text(names, ir.UNKNOWN_TYPE, span),), ir.VOID, span)
    inner = ir.Block((ir.ExprStmt(thrown, body.region(), span),), body.region(), span)
    return ir.If(condition, inner, None, body.region(), span)
