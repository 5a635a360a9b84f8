"""Calls: followed into when there is a body, else looked up in the table of library functions."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.choices import chooses_result, gives_value
from wattslice.frontend.cuda.lowering.constructors import construct
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, LoweringError, expression, location
from wattslice.frontend.cuda.lowering.conversions import convert
from wattslice.frontend.cuda.lowering.cooperative import group_call
from wattslice.frontend.cuda.lowering.host_objects import allocated, has_object, object_argument
from wattslice.frontend.cuda.lowering.inlining import function_named, inline, may_inline
from wattslice.frontend.cuda.lowering.launches import launch_of
from wattslice.frontend.cuda.lowering.library import (
    THROUGH_POINTER,
    TOO_DEEP,
    library_call,
    opaque,
    readable_values,
)
from wattslice.frontend.cuda.lowering.memory import read
from wattslice.frontend.cuda.lowering.operator_calls import assign_record, builtin_operator, is_plain_copy
from wattslice.frontend.cuda.lowering.operators import OPERATOR_NAMES, arithmetic, assign_value
from wattslice.frontend.cuda.lowering.receivers import expressions_in, object_of, object_value
from wattslice.frontend.cuda.lowering.unit import DEVICE_LAUNCH
from wattslice.ir import Call, Construct, Expr, ExprStmt, Intrinsic, Semantics, Severity, Span


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
    if callee is None:
        return unresolved_call(body, node, expressions_in(node))
    kind = callee.kind
    if kind == C.CONSTRUCTOR or (kind == C.FUNCTION_TEMPLATE and _is_constructor(body, node, callee)):
        return construct(body, node, callee)
    if body.is_host:
        return _host_call(body, node, callee)
    if kind not in (C.FUNCTION_DECL, C.CXX_METHOD, C.CONVERSION_FUNCTION, C.DESTRUCTOR, C.FUNCTION_TEMPLATE):
        return unresolved_call(body, node, expressions_in(node))
    info = body.unit.function(callee)
    name = info.name
    span = body.span(node)
    arguments = list(node.arguments)
    if len(node.children) > 1 and node.children[1].spelling == "cudaConfigureCall":
        return _device_launch(body, node, name, span)
    if kind == C.CONVERSION_FUNCTION and info.body is None:
        return convert(body, object_value(body, node), body.type(node), span)
    if info.is_builtin:
        found = group_call(body, node, name, arguments, span)
        if found is not None:
            return found
        if name.startswith("operator") and not name[8:9].isalnum():
            found = builtin_operator(body, name, arguments, node, span)
            if found is not None:
                return found
        found = library_call(body, node, name, arguments, span)
        if found is not None:
            return found
    if is_plain_copy(info) and len(arguments) == 2:
        return assign_record(body, arguments, span)
    if may_inline(body, info):
        where = inline(body, node, info, object_of(body, node, callee, arguments), arguments, span)
        return where[0] if where[1] is None else _read_result(body, where[0], where[1], span)
    if info.body is None and not info.is_builtin:
        found = library_call(body, node, name, arguments, span)
        if found is not None:
            return found
    if info.body is not None:
        return opaque(body, node, name, arguments, span, TOO_DEEP)
    return opaque(body, node, name, arguments, span)


def _device_launch(body: Body, node: Node, name: str, span: Span) -> Expr:
    body.unit.report("PW006", Severity.NOTE, span, DEVICE_LAUNCH)
    return Intrinsic(name, (), (), Semantics.NONE, True, body.type(node), span)


def _read_result(body: Body, value: Expr, where: Location, span: Span) -> Expr:
    return read(body, where, span) if isinstance(where, Cell) else value


@location(C.CALL_EXPR)
def _(body: Body, node: Node) -> Location | None:
    """A call that returns a reference names an object."""
    if body.is_host:
        return None
    callee = node.referenced
    if callee is None or callee.kind not in (C.FUNCTION_DECL, C.CXX_METHOD):
        return None
    info = body.unit.function(callee)
    arguments = list(node.arguments)
    span = body.span(node)
    if is_plain_copy(info) and len(arguments) == 2:
        body.before.append(ExprStmt(assign_record(body, arguments, span), body.region(), span))
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
    body.before.append(ExprStmt(value, body.region(), span))
    return where


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
        values = tuple(body.expr(c) for c in children[1:])
        return Call("", node.spelling, values, type_, span, _pointer_called(body, children[0]))
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
                found = library_call(body, node, info.name, arguments, span)
                if found is not None:
                    return found
            elif info.body is not None and len(info.parameters) >= len(arguments) and may_inline(body, info):
                return inline(body, node, info, None, arguments, span)[0]
    if name:
        found = library_call(body, node, name, arguments, span)
        if found is not None:
            return found
    name = name or node.spelling
    if not name or _called_pointer(children[0]):
        return opaque(body, node, name or "a function pointer", arguments, span, THROUGH_POINTER)
    return opaque(body, node, name, arguments, span)


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


# --------------------------------------------------------------------------- host


def _host_call(body: Body, node: Node, callee: Node) -> Expr:
    launch = launch_of(body, node, callee)
    if launch is not None:
        return launch
    span = body.span(node)
    name = callee.spelling
    arguments = list(node.arguments)
    values = readable_values(body, arguments, span)
    type_ = body.type(node)
    if name == "operator=" and len(arguments) == 2:
        where = body.location(arguments[0])
        if where is not None:
            return assign_value(body, where, None, values[1], span)
    if callee.kind == C.CONVERSION_FUNCTION:
        return convert(body, object_value(body, node), type_, span)
    if callee.kind in (C.PARM_DECL, C.VAR_DECL, C.FIELD_DECL):
        return Call("", name, tuple(values), type_, span, _pointer_called(body, expressions_in(node)[0]))
    if has_object(callee):
        is_operator = name.startswith("operator") and bool(arguments)  # its object is the first argument
        this = object_argument(body, node, span, arguments[0] if is_operator else None)
        values[: 1 if is_operator else 0] = [Construct((), (), type_, span) if this is None else this]
    return Call(callee.mangled_name, name, tuple(values), type_, span)


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
    return Intrinsic(what, (), (), Semantics.OPAQUE, True, body.type(node), span)
