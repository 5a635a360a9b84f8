"""Calls: inlined when there is a body (`inlining.py`), else of a known function (`library.py`), or a hole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.lowering.context import (
    Body,
    Cell,
    Location,
    LoweringError,
    Pointee,
    expression,
    function_named,
    location,
    statement,
)
from wattslice.frontend.cuda.lowering.expressions import (
    OPERATOR_NAMES,
    aggregate,
    arithmetic,
    assign_value,
    convert,
    thrown_if,
    unary,
)
from wattslice.frontend.cuda.lowering.host_calls import (
    THREADS,
    allocated,
    has_object,
    launch_of,
    object_argument,
    on_a_thread,
    written_launch,
)
from wattslice.frontend.cuda.lowering.inlining import inline, may_inline
from wattslice.frontend.cuda.lowering.library import (
    THROUGH_POINTER,
    TOO_DEEP,
    group_call,
    library_call,
    opaque,
    readable,
)
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    chooses_result,
    dereference,
    gives_value,
    is_followed,
    is_lvalue_by_operator,
    is_plain,
    materialise,
    must_name_an_object,
    pointee_of,
    read,
    temporary_object,
)
from wattslice.frontend.cuda.lowering.objects import (
    PASSES_ON,
    Special,
    bare,
    copied,
    copied_part,
    default_initialisers,
    destroying,
    functions_of,
    handed_over,
    has_header,
    initialise_parameters,
    initialises,
    is_elsewhere,
    is_pointer,
    looked_at,
    lost_by,
    made_at,
    made_of,
    moves,
    order_of_parts,
    parts,
    reaches_out,
    stays_when_moved,
    temporary,
    value_given,
    with_defaults,
)
from wattslice.frontend.cuda.lowering.order import found_once, in_turn, last_first, order_of
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.statements import lower, lower_all
from wattslice.frontend.cuda.lowering.types import DIM3_AXES, class_names, pointer_to
from wattslice.frontend.cuda.lowering.unit import FunctionInfo
from wattslice.ir import (
    AddressOf,
    BinaryOp,
    Call,
    Constant,
    Construct,
    Expr,
    Intrinsic,
    Read,
    RegisterPlace,
    Semantics,
    Span,
    Stmt,
    TypeKind,
)
from wattslice.ir.c_arithmetic import converted
from wattslice.patterns import regex


@expression(C.CALL_EXPR)
def call(body: Body, node: Node) -> Expr:
    """The value of a call."""
    callee = node.referenced
    if not body.is_host and (callee is None or callee.kind in (C.VAR_DECL, C.PARM_DECL)):
        callee = function_named(body, expressions_in(node)[0]) if expressions_in(node) else None
        if callee is not None and callee.kind == C.LAMBDA_EXPR:
            info = body.unit.function(callee)
            if may_inline(body, info):
                return inline(body, node, info, None, expressions_in(node)[1:], body.span(node))[0]
    if callee is None or (body.is_host and _calls_what_a_call_gives(node)):
        return unresolved_call(body, node, expressions_in(node))
    kind = callee.kind
    if kind == C.CONSTRUCTOR or (kind == C.FUNCTION_TEMPLATE and _is_constructor(body, node, callee)):
        value = construct(body, node, callee)
        return _with_library(body, node, callee, value) if body.is_host else value
    if body.is_host:
        if callee.spelling == "swap" and (exchanged := _exchange(body, node, callee)) is not None:
            return exchanged
        value = _host_call(body, node, callee)
        if isinstance(value, Call) and _gives_object(body, callee):
            return read(body, dereference(body, value, body.type(node)), body.span(node))
        return _with_library(body, node, callee, value)
    if kind not in (C.FUNCTION_DECL, C.CXX_METHOD, C.CONVERSION_FUNCTION, C.DESTRUCTOR, C.FUNCTION_TEMPLATE):
        return unresolved_call(body, node, expressions_in(node))
    span = body.span(node)
    arguments = list(node.arguments)
    this = None
    if _is_virtual(node, callee):
        this = object_of(body, node, callee, arguments)
        overrider = _overrider(body, callee, this)
        if overrider is None:
            return opaque(body, node, callee.spelling, arguments, span, _ANY_CLASS)
        callee = overrider
    info = body.unit.function(callee)
    name = info.name
    if len(node.children) > 1 and node.children[1].spelling == "cudaConfigureCall":
        return _device_launch(body, node, name, span)
    if kind == C.CONVERSION_FUNCTION and info.body is None:
        return convert(body, object_value(body, node), body.type(node), span)
    if info.is_builtin:
        if not arguments and (known := _limit(body, node, callee, span)) is not None:
            return known
        if (found := group_call(body, node, name, arguments, span)) is not None:
            return found
        if info.body is None and name.startswith("operator") and not name[8:9].isalnum():
            found = builtin_operator(body, name, arguments, node, span)
        if found is None and info.body is None:
            found = library_call(body, node, name, arguments, span)
        if found is not None:
            return found
    if is_plain_copy(info) and len(arguments) == 2:
        return assign_record(body, arguments, span)
    if may_inline(body, info):
        this = this or object_of(body, node, callee, arguments)
        where = inline(body, node, info, this, arguments, span)
        return where[0] if where[1] is None else _read_result(body, where[0], where[1], span)
    if info.body is not None:
        return opaque(body, node, name, arguments, span, TOO_DEEP)
    found = None if info.is_builtin else library_call(body, node, name, arguments, span)
    return opaque(body, node, name, arguments, span) if found is None else found


def _limit(body: Body, node: Node, callee: Node, span: Span) -> Constant | None:
    """The number of `std::numeric_limits<T>::lowest()` and its like, which clang computes."""
    if not callee.mangled_name.startswith(ir.NUMERIC_LIMITS):
        return None
    value, type_ = node.evaluate(), body.type(node)
    number = None if value is None else converted(value, type_)
    return None if number is None else Constant(number, type_, span)


def _device_launch(body: Body, node: Node, name: str, span: Span) -> Expr:
    body.unit.report("PW006", ir.Severity.NOTE, span, ir.DEVICE_LAUNCH)
    return Intrinsic(name, (), (), Semantics.NONE, True, body.type(node), span)


def _read_result(body: Body, value: Expr, where: Location, span: Span) -> Expr:
    return read(body, where, span) if isinstance(where, Cell) else value


def _exchange(body: Body, node: Node, callee: Node) -> Expr | None:
    """std::swap of two objects of a class that is followed; None of anything else."""
    arguments, span = list(node.arguments), body.span(node)
    class_ = arguments[0].type.canonical.declaration if len(arguments) == 2 else None
    is_library = class_ is None or body.unit.parsed.is_builtin(class_)
    if is_library or not body.unit.parsed.is_builtin(callee):
        return None
    two, one = (found_once(body, body.location(argument), span) for argument in reversed(arguments))
    if one is None or two is None:
        return None
    type_ = arguments[0].type
    held = body.temporary("swapped", one.type, span)
    place = RegisterPlace(held, (), one.type)
    body.before += [
        ir.Declare(held, None, body.region(), span),
        *copied(body, place, one, type_, Special.MOVE, span),
        *copied(body, one, two, type_, Special.TAKE, span),
        *copied(body, two, place, type_, Special.TAKE, span),
        *destroying(body, place, parts(body.unit, type_, Special.DESTROY), span),
    ]
    return Construct((), (), ir.VOID, span)


def _with_library(body: Body, node: Node, callee: Node, value: Expr) -> Expr:
    """What a call of host code gives. The functions of classes that a library runs for itself, as those of
    elements, are not run: what they may write is lost, and with copies of their own the objects are.
    """
    types = handed_over(body, node, callee)
    functions = functions_of(body.unit, types)
    if not functions or _moves_elements(body, node, callee, types):
        is_named = callee.type.result.canonical.kind in (K.LVALUEREFERENCE, K.RVALUEREFERENCE)
        return value if is_named else temporary(body, node, value)
    span = body.span(node)
    copying = (Special.COPY, Special.ASSIGN)
    makes_own = any(parts(body.unit, t, s) for t in types for s in copying)
    makes_own = makes_own or not all(stays_when_moved(body.unit, t) for t in types)
    if makes_own and isinstance(value, Call) and not value.callee.startswith("_ZNK"):
        value = replace(value, callee="", name=f"{value.name} of a class with copies of its own")
    elif makes_own and isinstance(value, Construct) and value.arguments:
        value = unread(span, value.arguments, ir.RUN_BY_LIBRARY)
    body.before += lost_by(body, functions, span)
    if any(map(reaches_out, functions)):  # to what it is made of, which it may keep
        named = (one for one in map(bare, node.arguments) if one.kind == C.DECL_REF_EXPR)
        places = [body.location(one) for one in named]
        addresses = tuple(address_of(body, place, span) for place in places if place is not None)
        lost = unread(span, addresses, ir.RUN_BY_LIBRARY)
        body.before.append(ir.ExprStmt(lost, body.region(), span))
    return value


def _moves_elements(body: Body, node: Node, callee: Node, types: Sequence[ClangType]) -> bool:
    """Whether a method of a sequence runs nothing of its elements but what moves and destroys them, and that
    leaves them as they are.
    """
    owner, unit = callee.semantic_parent, body.unit
    if owner is None or owner.spelling not in ("vector", "deque") or callee.spelling not in _MOVING:
        return False
    given = bare(node.arguments[0]) if callee.spelling == "push_back" else None
    is_copied = given is not None and given.kind != C.CALL_EXPR
    destroyed = (one.function for t in types for one in parts(unit, t, Special.DESTROY))
    if any(map(reaches_out, destroyed)):
        return False
    return all(stays_when_moved(unit, t) and not (is_copied and parts(unit, t, Special.COPY)) for t in types)


_MOVING = (
    *ir.ELEMENT_METHODS,
    *("push_back", "emplace_back", "pop_back", "reserve", "clear", "size", "empty", "begin", "end", "data"),
)


@location(C.CALL_EXPR)
def _(body: Body, node: Node) -> Location | None:
    """A call that returns a reference names an object."""
    callee = node.referenced
    if body.is_host:
        return None if callee is None else _object_given(body, node, callee)
    if callee is None or callee.kind not in (C.FUNCTION_DECL, C.CXX_METHOD):
        return None
    info = body.unit.function(callee)
    arguments = list(node.arguments)
    span = body.span(node)
    if is_plain_copy(info) and len(arguments) == 2:
        body.before.append(ir.ExprStmt(assign_record(body, arguments, span), body.region(), span))
        return body.location(arguments[0])
    if not info.returns_reference or not may_inline(body, info):
        return None
    if chooses_result(info) and gives_value(body, info):
        return None
    found = inline(body, node, info, object_of(body, node, callee, arguments), arguments, span)
    value, where = found
    if where is None:
        return None
    if isinstance(where, Cell):
        return where
    body.before.append(ir.ExprStmt(value, body.region(), span))
    return where


def _object_given(body: Body, node: Node, callee: Node) -> Location | None:
    """The object that a host function gives a reference to; std::move and std::forward, the one they get."""
    if _passes_on(body, callee, arguments := list(node.arguments)):
        return body.location(arguments[0])
    if not _gives_object(body, callee):
        return _element(body, node, callee) or _one_of(body, node, callee, arguments)
    value = _host_call(body, node, callee)
    return dereference(body, value, body.type(node)) if value.type.kind is TypeKind.POINTER else None


def _gives_object(body: Body, callee: Node) -> bool:
    """A function of the user that returns `T&`: who lowers it gives where the object is."""
    if callee.kind in _VARIABLES:
        type_ = callee.type.canonical
        called = type_.pointee.canonical if type_.kind in _POINTERS else type_
        return must_name_an_object(called.result)
    if callee.kind not in (C.FUNCTION_DECL, C.CXX_METHOD, C.CONVERSION_FUNCTION):
        return False
    if body.unit.parsed.is_builtin(callee) and not _calls_what_it_holds(callee):
        return False
    return must_name_an_object(callee.type.result) and not body.unit.function(callee).is_defaulted


_VARIABLES = (C.PARM_DECL, C.VAR_DECL, C.FIELD_DECL)
_POINTERS = (K.POINTER, K.LVALUEREFERENCE, K.RVALUEREFERENCE)


def _calls_what_it_holds(callee: Node) -> bool:
    """The call operator of std::function."""
    around = callee.semantic_parent if callee.spelling == "operator()" else None
    return around is not None and around.spelling == "function"


def _one_of(body: Body, node: Node, callee: Node, arguments: list[Node]) -> Location | None:
    """The object that a function of a library gives a reference to: one that it gets, or a part of one."""
    span, type_ = body.span(node), body.type(node)
    is_min_or_max = callee.spelling in ("min", "max")
    if not body.unit.parsed.is_builtin(callee) or not is_plain(type_):
        return None
    if not is_min_or_max and not must_name_an_object(callee.type.result):
        return None
    outer = list(body.before), list(body.after)
    places = list[Location | None]()

    def given_by(argument: Node) -> Expr:
        places.append(where := body.location(argument))
        return readable(body, argument) if where is None else address_of(body, where, span)

    steps = [partial(given_by, argument) for argument in arguments]
    order = last_first(len(arguments))
    given = in_turn(body, steps, order)
    if is_min_or_max and (len(places) != 2 or None in places):
        body.before[:], body.after[:] = outer
        return None
    if has_object(callee) and not callee.spelling.startswith("operator"):
        this = object_argument(body, node, span)
        given += () if this is None else (this,)
        order = (*(range(len(arguments), len(given))), *order)
    name = ir.ADDRESS_OF + callee.spelling
    call = Call(callee.mangled_name, name, tuple(given), pointer_to(type_), span, order=order)
    return dereference(body, call, type_)


def _element(body: Body, node: Node, callee: Node) -> Location | None:
    """The element of a vector or array that a method gives a reference to."""
    span = body.span(node)
    name = callee.spelling
    if name not in ir.ELEMENT_METHODS or not has_object(callee) or not body.unit.parsed.is_builtin(callee):
        return None
    if not must_name_an_object(callee.type.result):
        return None
    type_ = body.type(node)
    arguments = list(node.arguments)
    is_operator = name == "operator[]"
    this = object_argument(body, node, span, arguments.pop(0) if is_operator and arguments else None)
    if this is None or this.type.element is None or not is_followed(type_):
        return None
    if not this.type.element.name.removeprefix("const ").startswith(
        (*ir.VECTOR_CLASSES, *ir.KEYED_CLASSES, "std::array<")
    ):
        return None
    values = in_turn(body, [lambda: this, *(partial(readable, body, one) for one in arguments)])
    address = Call(callee.mangled_name, ir.ADDRESS_OF + name, tuple(values), pointer_to(type_), span)
    return dereference(body, address, type_)


def _passes_on(body: Body, callee: Node, arguments: list[Node]) -> bool:
    return callee.spelling in PASSES_ON and len(arguments) == 1 and body.unit.parsed.is_builtin(callee)


def _calls_what_a_call_gives(node: Node) -> bool:
    """`table[0](x)`, `std::forward<F>(f)(x)`, of which clang tells the function that gives what is called."""
    first = bare(next(iter(expressions_in(node)), node))
    is_function = first.type.canonical.kind in (K.POINTER, K.FUNCTIONPROTO)
    return first.kind == C.CALL_EXPR and is_function and first != node


_MEMBER_POINTERS = (B.PTR_MEM_D, B.PTR_MEM_I)


def _is_constructor(body: Body, node: Node, callee: Node) -> bool:
    return node.spelling == callee.spelling and body.type(node).name.split("<")[0].endswith(callee.spelling)


# --------------------------------------------------------------------------- calls without a known callee


def unresolved_call(body: Body, node: Node, children: list[Node]) -> Expr:
    """A call in a template nobody instantiates, through a pointer, or around an error."""
    span = body.span(node)
    type_ = body.type(node)
    if not children:
        if any(child.kind in (C.TYPE_REF, C.TEMPLATE_REF) for child in node.children):
            return Construct((), (), type_, span)
        raise LoweringError("call that could not be read", node)
    if body.is_host:
        if any(
            n.kind == C.BINARY_OPERATOR and n.binary_operator in _MEMBER_POINTERS for n in children[0].walk()
        ):
            raise LoweringError("call through a pointer to member", node)
        if (launch := written_launch(body, node)) is not None:
            return launch
        order = last_first(len(children) - 1)
        values = tuple(in_turn(body, [partial(_passed_on, body, child) for child in children[1:]], order))
        pointer = _pointer_called(body, children[0])
        is_function = pointer is not None and (
            pointer.type.kind is TypeKind.POINTER or pointer.type.name == "function"
        )
        if not is_function:  # nobody knows what takes a reference
            values += tuple(
                AddressOf(value.place.variable, pointer_to(value.place.variable.type), span)
                for value in values
                if isinstance(value, Read)
            )
            order = (*order, *range(len(order), len(values)))
        name = "" if _calls_what_a_call_gives(node) else node.spelling  # of the function that gives it
        return Call("", name, values, type_, span, pointer, order=order)
    if any(child.spelling == "cudaConfigureCall" for child in children[:2]):
        return _device_launch(body, node, _callee_name(children[0]), span)
    if any(child.kind == C.TYPE_REF for child in node.children) and len(children) == 1:
        return convert(body, body.expr(children[0]), type_, span)  # T(x)
    names = [_callee_name(child) for child in children]
    for at, name in enumerate(names):
        op = OPERATOR_NAMES.get(name)
        if op is not None and len(children) == 3:
            rest = [child for i, child in enumerate(children) if i != at]
            return arithmetic(body, op, body.expr(rest[0]), body.expr(rest[1]), type_, span)
    name, arguments = names[0], children[1:]
    for overload in _overloads(children[0]):
        if overload.kind in (C.FUNCTION_TEMPLATE, C.FUNCTION_DECL):
            info = body.unit.function(overload)
            if info.is_builtin:
                if (found := library_call(body, node, info.name, arguments, span)) is not None:
                    return found
            elif info.body is not None and len(info.parameters) >= len(arguments) and may_inline(body, info):
                return inline(body, node, info, None, arguments, span)[0]
    if name and (found := library_call(body, node, name, arguments, span)) is not None:
        return found
    name = name or node.spelling
    if not name or _called_pointer(children[0]):
        return opaque(body, node, name or "a function pointer", arguments, span, THROUGH_POINTER)
    return opaque(body, node, name, arguments, span)


def _passed_on(body: Body, argument: Node) -> Expr:
    """What a function behind a pointer is given: of `std::forward<T>(x)` the object itself."""
    inner = bare(argument)
    is_forwarded = inner.kind == C.CALL_EXPR and inner.spelling in PASSES_ON
    where = body.location(inner) if is_forwarded else None
    return body.expr(argument) if where is None else read(body, where, body.span(argument))


def _called_pointer(callee: Node) -> bool:
    """Whether a call goes through a variable."""
    declaration = callee.referenced
    return declaration is not None and declaration.kind in (C.VAR_DECL, C.PARM_DECL, C.FIELD_DECL)


def _callee_name(node: Node) -> str:
    while node.kind in (C.UNEXPOSED_EXPR, C.PAREN_EXPR, C.DECL_REF_EXPR) and node.children:
        if node.spelling:
            return node.spelling
        node = node.children[0]
    return node.spelling


def _overloads(node: Node) -> tuple[Node, ...]:
    for inner in node.walk():
        if inner.kind == C.OVERLOADED_DECL_REF:
            return inner.overloads
    return ()


@expression(C.UNEXPOSED_EXPR)
def _(body: Body, node: Node) -> Expr:
    """Implicit conversions, temporaries, substituted template parameters, constant expressions."""
    children = [child for child in node.children if child.kind >= 100]
    if not children:
        value = node.evaluate()
        type_ = body.type(node)
        if value is not None and type_.kind in (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT):
            number = converted(value, type_)
            if number is not None:
                return Constant(number, type_, body.span(node))
        if type_.kind is TypeKind.RECORD:
            return Construct((), (), type_, body.span(node))
        if type_.kind is TypeKind.POINTER:
            return Constant(0, type_, body.span(node))
        raise LoweringError("expression that could not be read", node)
    if len(children) > 1:
        return unresolved_call(body, node, children)  # what clang kept of a faulty or dependent expression
    return convert(body, body.expr(children[0]), body.type(node), body.span(node))


_LOOPS = (C.FOR_STMT, C.WHILE_STMT, C.DO_STMT, C.CXX_FOR_RANGE_STMT)


@statement(C.STMT_EXPR)
def _(body: Body, node: Node) -> list[Stmt]:
    """`({ ... });` whose value nobody takes: a block."""
    return lower(body, node.children[0])


@expression(C.STMT_EXPR)
def _(body: Body, node: Node) -> Expr:
    """`({ int b = f(); b; })`, of GNU C: a call of what is written there."""
    span, (inner,) = body.span(node), node.children
    if _jumps_out(inner):
        raise LoweringError("statement expression that a jump leaves", node)
    region, type_ = body.region(), body.type(node)
    *first, last = inner.children
    pointee: Pointee | None = None
    outer_before, body.before = body.before, []
    try:
        statements = lower_all(body, first)
        if type_.kind is TypeKind.VOID:
            statements += lower(body, last)
        else:
            value = body.expr(last)
            pointee = pointee_of(body, value) if value.type.kind is TypeKind.POINTER else None
            statements += (*body.before, ir.Return(value, body.region(), span))
    finally:
        body.before = outer_before
    block = ir.Block(tuple(statements), region, span)
    call = ir.InlinedCall("statement expression", (), (), block, type_, span)
    if pointee is not None:
        body.expression_pointees[id(call)] = (call, pointee)
    return call


def _jumps_out(node: Node, *, is_inside: bool = False) -> bool:
    """Whether a jump in a statement expression goes out of it."""
    if node.kind in (C.RETURN_STMT, C.GOTO_STMT, C.INDIRECT_GOTO_STMT):
        return True
    if node.kind in (C.BREAK_STMT, C.CONTINUE_STMT):
        return not is_inside
    is_inside = is_inside or node.kind in (*_LOOPS, C.SWITCH_STMT)
    return node.kind != C.LAMBDA_EXPR and any(_jumps_out(c, is_inside=is_inside) for c in node.children)


# --------------------------------------------------------------------------- host


def _host_call(body: Body, node: Node, callee: Node) -> Expr:
    if (launch := launch_of(body, node, callee)) is not None:
        return launch
    span = body.span(node)
    name = callee.spelling
    arguments = with_defaults(body, callee, node.arguments)
    if _passes_on(body, callee, arguments) and body.type(node).kind is not TypeKind.RECORD:
        return body.expr(arguments[0])  # of an object, what it is moved from is lost
    info = body.unit.function(callee)
    if (
        name == "emplace_back"
        and info.is_builtin
        and (made := _emplaced(body, node, callee, arguments)) is not None
    ):
        return made
    if name in _RETHROWS and info.is_builtin:
        body.before.append(thrown_if(body, unread(span), ir.ANY_TYPE, span))
    # the object of an operator is its first argument, read once below: chains of `<<` would take 2^n readings
    operator = "" if _is_named(node, callee) or not _OPERATOR.fullmatch(name) else name[8:]
    is_of_object = has_object(callee) and bool(operator and arguments)
    written = arguments[is_of_object:]
    initialise_parameters(body, info, written)
    for argument in written if info.is_builtin else ():  # which a container takes over
        if is_pointer(argument.type.canonical.declaration):
            initialises(body, argument)
    type_ = body.type(node)
    if name == "operator=" and len(arguments) == 2 and (info.is_builtin or is_plain_copy(info)):
        assigned = _assigned(body, node, callee, arguments)
        if assigned is not None:
            return assigned
    if callee.kind == C.CONVERSION_FUNCTION and (info.is_builtin or info.body is None):
        return convert(body, object_value(body, node), type_, span)
    given = _Given(body, callee, written, span)
    steps = [partial(given.value, at) for at in range(len(written))]
    is_library = body.unit.parsed.is_builtin(callee)
    if name in ("async", "pthread_create", "emplace_back") and is_library:
        values = in_turn(body, steps, last_first(len(steps)))
        is_begun = name != "emplace_back" or type_.name in THREADS
        if is_begun and (begun := on_a_thread(name, values, type_, span)) is not None:
            return begun
        steps = [partial(next, iter((value,))) for value in values]
    result = pointer_to(type_) if _gives_object(body, callee) else type_
    if callee.kind in _VARIABLES:
        order = last_first(len(steps))
        pointer = _pointer_called(body, expressions_in(node)[0])
        return Call("", name, tuple(in_turn(body, steps, order)), result, span, pointer, order=order)
    if has_object(callee):
        operand = arguments[0] if is_of_object else None
        if callee.kind == C.CONVERSION_FUNCTION:
            operand = _object_node(node)
        steps.insert(0, partial(_object_of_call, body, node, operand, is_library))
    order = order_of(operator, len(steps), has_object(callee))
    values = in_turn(body, steps, order)
    # behind them what else they lead to; of a method whose `const` is made up the object too
    behind = (*values[: info.is_made_up and has_object(callee)], *given.addresses())
    linked_as = callee.mangled_name
    return Call(
        linked_as,
        name,
        (*values, *behind),
        result,
        span,
        is_virtual=_is_virtual(node, callee),
        overriders=tuple(_overriders(body, callee)) if _is_virtual(node, callee) else (),
        looked_at=looked_at(body, info, len(values) - len(written)),
        is_of_program=linked_as.startswith("_Z") and not info.is_builtin and not info.is_made_up,
        is_elsewhere=is_elsewhere(body, info),
        has_header=has_header(body, info),
        order=(*order, *range(len(values), len(values) + len(behind))),
    )


_OPERATOR = regex(r"operator\W+")


_KEEPS_A_COPY = regex("push|insert|emplace|assign|resize|make_pair")


def _assigned(body: Body, node: Node, callee: Node, arguments: list[Node]) -> Expr | None:
    """`a = b` where no function of the user does it; None where nobody knows the object `a`."""
    span, outer = body.span(node), (list(body.before), list(body.after))
    special = Special.TAKE if moves(callee) else Special.ASSIGN
    if not parts(body.unit, arguments[0].type, special):
        value = _as_given(body, arguments[1], readable(body, arguments[1]))
        where = body.location(arguments[0])
        if where is not None:
            return assign_value(body, where, None, value, span)
    source = found_once(body, body.location(arguments[1]), span)
    where = found_once(body, body.location(arguments[0]), span)
    if where is not None and source is not None:
        body.before += copied(body, where, source, arguments[0].type, special, span)
        return read(body, where, span)
    body.before[:], body.after[:] = outer
    return None


def _object_of_call(body: Body, node: Node, operand: Node | None, of_library: bool) -> Expr:
    span = body.span(node)
    this = object_argument(body, node, span, operand, of_library=of_library)
    return Construct((), (), body.type(node), span) if this is None else this


class _Given:
    """What a call of host code is given, and by reference to whom."""

    def __init__(self, body: Body, callee: Node, written: Sequence[Node], span: Span) -> None:
        self._body, self._written, self._span = body, written, span
        self._info = info = body.unit.function(callee)
        self._parameters = info.parameters[: len(written)]
        self._is_of_user = callee.kind in (C.FUNCTION_DECL, C.CXX_METHOD)
        self._is_of_user &= not body.unit.parsed.is_builtin(callee)
        parent = callee.semantic_parent
        # the algorithms of Thrust take iterators by value
        is_thrust = parent is not None and parent.spelling == "thrust"
        self._passes_on = info.is_builtin and info.name in PASSES_ON
        is_kept = info.body is not None or self._passes_on or is_thrust
        self._may_write = not (is_kept or _OF_C.match(info.name))
        self._is_made_up = info.is_made_up or (parent is not None and body.unit.parsed.is_made_up(parent))
        self._places: dict[int, Location] = {}

    def value(self, at: int) -> Expr:
        """The value of an argument; what cannot be read stands there without one."""
        body, argument, mark = self._body, self._written[at], len(self._body.before)
        try:
            where = self._referred(at)
            if self._passes_on and isinstance(place := body.location(argument), Cell):
                return read(body, place, self._span)  # which is moved from
            if where is not None:
                self._places[at] = where
                if len(body.before) > mark:
                    return read(body, where, self._span)
            if (copy := self._kept(argument)) is not None:
                return copy
            parameter = self._parameters[at] if at < len(self._parameters) else None
            if is_lvalue_by_operator(argument):
                return value_given(body, parameter, argument, self._span)
            parameter = parameter if self._is_of_user else None
            return _as_given(body, argument, value_given(body, parameter, argument, self._span))
        except LoweringError:
            return Construct((), (), body.type(argument), self._span)

    def _referred(self, at: int) -> Location | None:
        """The object that a function whose body is not here gets by reference, and may write."""
        argument, body = self._written[at], self._body
        if self._is_made_up:
            argument = _copied(argument)
        elif at >= len(self._parameters) or not must_name_an_object(self._parameters[at].node.type):
            return None
        if not self._may_write or argument.type.is_const:
            return None
        with suppress(LoweringError):
            return found_once(body, body.location(argument), self._span)
        return None

    def _kept(self, argument: Node) -> Expr | None:
        """The copy of a smart pointer that a container of the library keeps, or a pair; None of another."""
        is_keeping = self._info.is_builtin and _KEEPS_A_COPY.match(self._info.name)
        if not is_keeping or not is_pointer(argument.type.canonical.declaration):
            return None
        return (
            None if bare(argument).kind == C.CALL_EXPR else copied_part(self._body, argument.type, argument)
        )

    def addresses(self) -> Iterator[Expr]:
        """Those of the objects that it gets by reference."""
        return (address_of(self._body, self._places[at], self._span) for at in sorted(self._places))


def _emplaced(body: Body, node: Node, callee: Node, arguments: Sequence[Node]) -> Expr | None:
    """`v.emplace_back(a, b)` as `v.push_back(T(a, b))`; None unless a class of the user's is the element."""
    element = body.type(node)
    if len(arguments) == 1 and body.type(arguments[0]) == element:
        return None  # a copy
    span = body.span(node)
    this = object_argument(body, node, span, of_library=True)
    made = _holding(body, element, arguments) if len(arguments) == 1 else None
    if made is None and this is not None:
        made = made_of(body, node.type, arguments, span, last_first(len(arguments)))
    if this is None or made is None:
        return None
    return Call(callee.mangled_name, "push_back", (this, made), element, span)


def _holding(body: Body, type_: ir.Type, arguments: Sequence[Node]) -> Expr | None:
    """The `std::unique_ptr` that a pointer makes: to its class, or to one that begins with that."""
    pointer = body.type(arguments[0])
    if not type_.name.startswith("std::unique_ptr<") or pointer.element is None or not type_.fields:
        return None
    held = type_.fields[0].type.element
    if held is None or (pointer.element != held and held.name in body.unit.one_of_several_bases):
        return None
    return ir.Construct((body.expr(arguments[0]),), (), type_, body.span(arguments[0]))


def _is_named(node: Node, callee: Node) -> bool:
    """Whether an operator is called as a method: `Base::operator+=(x)`."""
    named = node.children[0] if node.children else None
    return named is not None and named.kind == C.MEMBER_REF_EXPR and named.referenced == callee


def _as_given(body: Body, argument: Node, value: Expr) -> Expr:
    """The value of an argument: that of `int(x)` or `+x` is a new one, not the object that is read."""
    if not isinstance(value, (Read, ir.Load)) or argument.kind == C.DECL_REF_EXPR:
        return value
    if value.type.kind is TypeKind.RECORD or any(inner.kind == C.CALL_EXPR for inner in argument.walk()):
        return value
    return value if body.location(argument) is not None else ir.Cast(value, value.type, value.span)


def _is_virtual(node: Node, callee: Node) -> bool:
    """Whether the object decides which function is called; `Base::f()` says which."""
    if callee.kind not in (C.CXX_METHOD, C.DESTRUCTOR) or not callee.is_virtual:
        return False
    named = node.children[0] if node.children else None
    return named is None or all(child.kind >= 100 for child in named.children)


_ANY_CLASS = "which function a virtual call runs depends on an object that is not known here"


def _overrider(body: Body, callee: Node, this: Location | None) -> Node | None:
    """The function that a virtual call in a kernel runs: by the class of the object where that is a variable,
    else the only one there is; None where several may be meant.
    """
    around = callee.semantic_parent
    if this is None or around is None:
        return None
    variable = this.variable if isinstance(this, RegisterPlace) else this.root
    made = ir.UNKNOWN_TYPE if variable is None else variable.type
    while made.kind is TypeKind.ARRAY and made.element is not None:
        made = made.element
    base = around.type.canonical.spelling
    if made.kind is TypeKind.RECORD:
        names = {this.type.name.removeprefix("const "), made.name.removeprefix("const ")}
        found = [body.unit.classes[name] for name in names if name in body.unit.classes]
        found = [class_ for class_ in found if base in class_names(class_.type)]
        if found:  # the object is the variable, seen as its base, or a member of it
            return _in_class(max(found, key=lambda class_: len(class_names(class_.type))), callee)
        if names == {base}:
            return callee
    every = {
        method.canonical
        for method in body.unit.declared
        if _is_same(method, callee)
        and base in class_names(method.semantic_parent.type if method.semantic_parent else callee.type)
        and not method.is_pure
    }
    return next(iter(every)) if len(every) == 1 and "<" not in base else None


def _overriders(body: Body, callee: Node) -> Iterator[tuple[str, str]]:
    """The user's classes that an object of a virtual call may have, with the functions that it then runs."""
    base = "" if callee.semantic_parent is None else callee.semantic_parent.type.canonical.spelling
    for name in body.unit.derived.get(base, ()):
        found = _in_class(body.unit.classes[name], callee)
        if found is not None and not found.is_pure:
            yield name, found.mangled_name


def _in_class(class_: Node, callee: Node) -> Node | None:
    """The function of an object of a class that overrides `callee`: its own, or that of a base."""
    if (own := next((method for method in class_.children if _is_same(method, callee)), None)) is not None:
        return own
    bases = (one.type.canonical.declaration for one in class_.children if one.kind == C.CXX_BASE_SPECIFIER)
    found = (_in_class(base, callee) for base in bases if base is not None)
    return next((method for method in found if method is not None), None)


def _is_same(method: Node, callee: Node) -> bool:
    """Whether a function overrides another, or is it: by name and parameters."""
    is_named = method.kind == C.CXX_METHOD and method.spelling == callee.spelling
    return is_named and method.is_virtual and _signature(method) == _signature(callee)


def _signature(method: Node) -> str:
    """What an overrider has as well: it may give another class, and may throw less."""
    type_ = method.type.canonical
    return type_.spelling.removeprefix(type_.result.spelling).partition(" noexcept")[0].strip()


_RETHROWS = ("rethrow_exception", "rethrow_if_nested", "rethrow_nested", "throw_with_nested")
_OF_C = regex(r"(?:gl|glut|glew|cu|cuda|cublas|cufft|cusparse|nccl|vk)[A-Z]|MPI_|nvshmem|omp_|pthread_")
"""Libraries for C, where nothing is passed by reference."""


def _copied(argument: Node) -> Node:
    """The object whose copy an argument is; the argument itself where it is none."""
    inner = bare(argument)
    maker = inner.referenced if inner.kind == C.CALL_EXPR else None
    given = list(inner.arguments) if maker is not None and maker.kind == C.CONSTRUCTOR else []
    is_copy = len(given) == 1 and given[0].type.canonical.declaration == inner.type.canonical.declaration
    return bare(given[0]) if is_copy else argument


def _pointer_called(body: Body, node: Node) -> Expr | None:
    """The function pointer that a host call goes through; None when it cannot be read."""
    try:
        return body.expr(node)
    except LoweringError:
        return None


# --------------------------------------------------------------------------- device heap


@expression(C.CXX_NEW_EXPR, C.CXX_DELETE_EXPR)
def _(body: Body, node: Node) -> Expr:
    """The device heap: what an allocation costs is not known; host code needs only its absence."""
    span = body.span(node)
    what = "new" if node.kind == C.CXX_NEW_EXPR else "delete"
    if not body.is_host:
        body.hole("PW005", span, f"cost of '{what}' on the device heap is not counted")
    elif what == "new":
        return allocated(body, node, body.type(node), span)
    else:
        _destroy(body, body.expr(node.children[0]), node.children[0].type.canonical.pointee, node)
    return Intrinsic(what, (), (), Semantics.OPAQUE, True, body.type(node), span)


def _destroy(body: Body, pointer: Expr, type_: ClangType, node: Node) -> None:
    """`delete p`: the destructors; of several, or of a base class, what they may write is lost."""
    span = body.span(node)
    found = parts(body.unit, type_, Special.DESTROY)
    functions = [one.function for one in found]
    if not any(function.is_virtual for function in functions) and "]" not in body.unit.spans.text(node)[:16]:
        where = dereference(body, pointer, pointer.type.element or ir.UNKNOWN_TYPE)
        body.before += destroying(body, where, found, span)
    elif functions:  # what the object points at is lost with it
        body.before.append(ir.ExprStmt(unread(span, (pointer,)), body.region(), span))
        body.before += lost_by(body, body.unit.destructors, span)


# ---------------------------------------------------------------------------
# Constructors: vectors and half numbers from their parts, records by following what the user wrote.


def construct(body: Body, node: Node, constructor: Node) -> Expr:
    """`T(a, b)`: vectors and dim3 from their parts, user types by following the constructor."""
    type_ = body.type(node)
    span = body.span(node)
    arguments = list(node.arguments)  # not the numbers of `T<4>(a, b)`
    if type_.kind is TypeKind.ARRAY:  # an array of objects: only its default constructor
        return Construct((), (), type_, span)
    if type_.name == "dim3":
        if len(arguments) == 1 and body.type(arguments[0]).kind in (TypeKind.RECORD, TypeKind.INT):
            value = body.expr(arguments[0])
            if value.type.kind is TypeKind.RECORD or value.type.lanes > 1:
                return value
            return aggregate(_filled((value,), span), type_, span)
        return _of_parts(body, node, arguments)
    if type_.kind is TypeKind.FLOAT and type_.bits == 16:
        values = tuple(body.expr(a) for a in arguments)
        if type_.lanes > 1 and len(values) != 1:
            return aggregate(values, type_, span)
        return convert(body, values[0], type_, span) if values else Construct((), (), type_, span)
    if type_.lanes > 1 or type_.kind is not TypeKind.RECORD:
        if len(arguments) == 1:
            return convert(body, body.expr(arguments[0]), type_, span)
        return aggregate(tuple(body.expr(a) for a in arguments), type_, span)
    if body.is_host and type_.name in THREADS:
        begun = on_a_thread(type_.name, _of_parts(body, node, arguments).arguments, type_, span)
        if begun is not None:
            return begun
    info = body.unit.function(constructor)
    if body.is_host and not info.is_builtin:
        variable = body.temporary(info.name, type_, span)
        place = RegisterPlace(variable, (), type_)
        made = made_at(body, node, place, span)
        if made:
            body.before += [ir.Declare(variable, None, body.region(), span), *made]
            return Read(place, type_, span)
    if info.body is None or info.is_defaulted or body.is_host:
        if len(arguments) == 1 and body.type(arguments[0]).kind is TypeKind.RECORD:
            value = body.expr(arguments[0])
            if value.type.kind is TypeKind.ARRAY and type_.name.startswith(
                (*ir.VECTOR_CLASSES, *ir.KEYED_CLASSES)
            ):
                return Construct((value,), (), type_, span)
            return value  # copy
        if not arguments and not info.is_builtin:
            fields = default_initialisers(body, constructor)
            names = tuple(field.spelling for field, _ in fields)
            return Construct(tuple(body.expr(value) for _, value in fields), names, type_, span)
        if body.is_host and ("reference_wrapper<" in type_.name or "&" in type_.name):
            places = (body.location(argument) for argument in arguments)
            values = (
                body.expr(argument) if place is None else address_of(body, place, span)
                for argument, place in zip(arguments, places, strict=True)
            )
            return Construct(tuple(values), (), type_, span)
        if not arguments or body.is_host or info.is_builtin:
            return _of_parts(body, node, arguments)
        return opaque(body, node, info.name, arguments, span)
    return inline_constructor(body, node, info, arguments, span)


def inline_constructor(body: Body, node: Node, info: FunctionInfo, arguments: list[Node], span: Span) -> Expr:
    """A user constructor: fill a temporary, yield its value."""
    if not may_inline(body, info):
        return opaque(body, node, info.name, arguments, span, TOO_DEEP)
    this = temporary_object(body, body.type(node), span)
    return inline(body, node, info, this, arguments, span, is_constructor=True)[0]


def _of_parts(body: Body, node: Node, arguments: Sequence[Node]) -> Construct:
    """An object of a library's class that a constructor makes of values."""
    span, type_ = body.span(node), body.type(node)
    order = order_of_parts(body, node, arguments)
    values = tuple(in_turn(body, [partial(body.expr, argument) for argument in arguments], order))
    if type_.name == "dim3":
        values = _filled(values, span)
    order = order and (*order, *range(len(order), len(values)))
    return Construct(values, DIM3_AXES if type_.name == "dim3" else (), type_, span, order)


def _filled(parts: tuple[Expr, ...], span: Span) -> tuple[Expr, ...]:
    return (*parts, *(Constant(1, ir.UINT32, span) for _ in range(3 - len(parts))))


# ---------------------------------------------------------------------------
# Operators that are calls: assignment of whole records, arithmetic of the stubs' number types.


def is_plain_copy(info: FunctionInfo) -> bool:
    """An assignment that the compiler wrote, or that has no body here."""
    return info.name == "operator=" and (info.body is None or info.is_defaulted)


def assign_record(body: Body, arguments: list[Node], span: Span) -> Expr:
    """A record copied as a whole."""
    where = body.location(arguments[0])
    if where is None:
        raise LoweringError("assignment to something that is no object known here", arguments[0])
    return assign_value(body, where, None, body.expr(arguments[1]), span)


def builtin_operator(body: Body, name: str, arguments: list[Node], node: Node, span: Span) -> Expr | None:
    """Operators on half and bfloat16, which the stubs declare as functions; None for any other call."""
    type_ = body.type(node)
    op = OPERATOR_NAMES.get(name)
    if name == "operator=" and len(arguments) == 2:
        where = body.location(arguments[0])
        if where is None:
            return None
        return assign_value(body, where, None, convert(body, body.expr(arguments[1]), where.type, span), span)
    if op is None:
        return None
    if len(arguments) == 1:
        operand = body.expr(arguments[0])
        if op is BinaryOp.SUB:
            return unary(ir.UnaryOp.NEGATE, operand, type_, span)
        return operand
    if len(arguments) != 2:
        return None
    if name.endswith("=") and op not in (BinaryOp.EQ, BinaryOp.NE, BinaryOp.LE, BinaryOp.GE):
        where = body.location(arguments[0])
        if where is None:
            return None
        return assign_value(body, where, op, body.expr(arguments[1]), span)
    left, right = body.expr(arguments[0]), body.expr(arguments[1])
    if left.type.kind is TypeKind.RECORD:
        return None
    return arithmetic(body, op, left, right, type_, span)


# ---------------------------------------------------------------------------
# The object that a member function is called on.


def expressions_in(node: Node) -> list[Node]:
    """The children that are expressions (type and namespace references left out)."""
    return [child for child in node.children if child.kind >= 100]


def _object_node(node: Node) -> Node | None:
    children = node.children
    if children and children[0].kind == C.MEMBER_REF_EXPR:
        return next(iter(expressions_in(children[0])), None)
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
    if (where := body.location(node)) is not None:
        return where
    return materialise(body, body.expr(node), body.span(node))


def object_value(body: Body, node: Node) -> Expr:
    """The value of the object that a conversion function is called on."""
    inner = _object_node(node) or next(iter(expressions_in(node)), None)
    if inner is None:
        raise LoweringError("conversion of an unknown object", node)
    return body.expr(inner)
