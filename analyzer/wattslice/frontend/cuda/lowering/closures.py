"""Lambdas: functions of their own in host code, which name the variables of the function around them."""

from __future__ import annotations

import re

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Binding, Body, Frame, expression
from wattslice.frontend.cuda.lowering.memory import (
    loaded,
    location_of_variable,
    must_name_an_object,
    note_pointer,
    read,
)
from wattslice.frontend.cuda.lowering.objects import Special, copied, parts
from wattslice.frontend.cuda.lowering.statements import as_block, copy_of, declare
from wattslice.ir import Construct, Declare, Expr, Function, RegisterPlace, Text, Type, TypeKind, Variable
from wattslice.ir.objects import scalars_of


@expression(C.LAMBDA_EXPR)
def _(body: Body, node: Node) -> Expr:
    """The closure. On the device its captures are the variables themselves, which stay in scope while calls
    are inlined, or copies of them; in host code it is the name of a function.
    """
    type_ = body.type(node)
    for variable in _own_variables(node):
        body.before.extend(declare(body, variable))
    if not body.is_host:
        _copy_captures(body, node)
        return Construct((), (), type_, body.span(node))
    around = "" if body.function is None else body.function.mangled_name
    name = f"{type_.name}#{around}"
    for number, code in enumerate(_codes(body, type_.name, around) or (node,)):
        mangled_name = code.mangled_name if number else name
        if all(known.mangled_name != mangled_name for known in body.lambdas):
            body.lambdas.append(_function(body, node, type_.name, mangled_name, code))
    return Text(name, Type(TypeKind.UNKNOWN, name="function"), body.span(node))


def _own_variables(node: Node) -> list[Node]:
    """The variables that the closure has for itself: `m` of `[m = 2 * n]`."""
    named = ((c, c.referenced) for c in node.children if c.kind == C.VARIABLE_REF)
    return [variable for name, variable in named if variable is not None and variable.place == name.place]


def _codes(body: Body, name: str, around: str) -> list[Node]:
    """The instances of a generic lambda, those of this instance of the function around it if that is one."""
    every = body.unit.lambda_instances.get(name, [])
    return [
        code for code in every if around.removeprefix("_Z").partition("@")[0] in code.mangled_name
    ] or every


def _function(body: Body, node: Node, name: str, mangled_name: str, code: Node) -> Function:
    """The function of a closure; `code`: the lambda, or of a generic one an instance of what it runs."""
    span = body.unit.spans.span(node)
    parameters: list[Variable] = []
    references: set[Variable] = set()
    inner: Node | None = None
    for child in code.children:
        if child.kind == C.PARM_DECL:
            where = body.unit.spans.span(child)
            role = ir.VariableRole.PARAMETER
            variable = Variable(child.spelling, body.type(child), ir.MemorySpace.HOST, role, where)
            body.names[child.raw.data0] = variable
            parameters.append(variable)
            if body.unit.types.is_reference(child.raw):
                references.add(variable)
        elif child.kind == C.COMPOUND_STMT:
            inner = child
    names = dict(body.names)
    _copy_objects(body, node, inner)
    outer, body.before = body.before, []
    called = code if code.kind == C.CXX_METHOD else _operator(node)
    gives_object = called is not None and must_name_an_object(called.type.result)
    this = body.frame.this
    if this is not None and _keeps_this(body.unit.spans.text(node)):
        kept = body.temporary(_OBJECT, this.type, span)
        outer.append(Declare(kept, read(body, this, span), body.region(), span))
        this = RegisterPlace(kept, (), this.type)
    body.frames.append(Frame(None, this, returns_address=gives_object))
    tree = ir.Block((), body.region(), span) if inner is None else as_block(body, inner)
    body.frames.pop()
    body.before, body.names = outer, {**body.names, **names}
    defaults = tuple(None for _ in parameters)
    copied = _copied(body, node, tree, parameters)
    if _is_for_device(body, node):
        tree = ir.Block((), tree.region, span)
    return Function(
        name, mangled_name, tuple(parameters), defaults, tree, span, frozenset(references), (), copied
    )


def _operator(node: Node) -> Node | None:
    """The call operator of a lambda that is not generic."""
    record = node.type.declaration
    return next((c for c in (record.children if record else ()) if c.kind == C.CXX_METHOD), None)


def _copy_objects(body: Body, node: Node, inner: Node | None) -> None:
    """In host code: what copies of objects run that a closure keeps; its body names these."""
    for name in inner.walk() if inner is not None and _keeps_values(body, node) else ():
        declaration = name.referenced if name.kind == C.DECL_REF_EXPR else None
        variable = None if declaration is None else body.names.get(declaration.raw.data0)
        if declaration is None or not isinstance(variable, Variable):
            continue
        if not parts(body.unit, declaration.type, Special.COPY) or variable.role is not ir.VariableRole.LOCAL:
            continue
        if not _keeps(body, node, name.spelling):
            continue
        span = body.span(node)
        copy = body.temporary(variable.name, variable.type, span)
        place, source = (RegisterPlace(v, (), variable.type) for v in (copy, variable))
        body.before.append(Declare(copy, None, body.region(), span))
        body.before += copied(body, place, source, declaration.type, Special.COPY, span)
        body.names[declaration.raw.data0] = copy


def _is_for_device(body: Body, node: Node) -> bool:
    head = body.unit.spans.text(node).split("{", 1)[0]
    return "__device__" in head and "__host__" not in head


def _copied(body: Body, node: Node, tree: ir.Block, parameters: list[Variable]) -> frozenset[Variable]:
    """The variables of the function around that the closure, or one in it, keeps the values of."""
    if not _keeps_values(body, node):
        return frozenset()
    own, named = set(parameters), set[Variable | None]()
    trees = [tree]
    for inner in trees:
        own.update(stmt.variable for stmt in ir.walk_statements(inner) if isinstance(stmt, ir.Declare))
        for expr in ir.expressions_below(inner):
            named.add(_named(expr))
            made = expr.value if isinstance(expr, Text) else None
            for function in body.lambdas:
                if function.mangled_name == made:
                    own.update(function.parameters)
                    trees.append(function.body)
    return frozenset(v for v in named if v is not None and v not in own and _keeps(body, node, v.name, v))


def _keeps_values(body: Body, node: Node) -> bool:
    """Whether a closure may keep the value of a variable. One with `[&]` does not: dispatch macros nest
    hundreds of these, and to look through each would be quadratic.
    """
    text = body.unit.spans.text(node)
    is_named = any(child.kind == C.VARIABLE_REF for child in node.children)
    return is_named or text[1:].lstrip().startswith("=") or _keeps_this(text)


_OBJECT = "*this"


def _keeps_this(text: str) -> bool:
    """Whether a closure has a copy of the object around it."""
    return _OBJECT in text.partition("]")[0]


def _keeps(body: Body, node: Node, name: str, variable: Variable | None = None) -> bool:
    """Whether a closure keeps the value of the variable: named without `&`, or by `[=`, or the object of
    `[*this]`; `variable`: not another one of that name.
    """
    if name == _OBJECT:
        return True
    text = body.unit.spans.text(node)
    for child in node.children:
        if child.kind == C.VARIABLE_REF and child.spelling == name:
            declaration = child.referenced
            meant = None if declaration is None else body.names.get(declaration.raw.data0)
            if variable is not None and isinstance(meant, Variable) and meant is not variable:
                continue
            before = text[: child.place.offset - node.start.offset]
            return bool(before) and not before.rstrip().endswith("&")
    return text[1:].lstrip().startswith("=")


_OF_A_THREAD = (ir.MemorySpace.REGISTER, ir.MemorySpace.LOCAL)


def _needs_a_copy(body: Body, node: Node, declaration: Node) -> bool:
    """Whether the closure may write its copy of an object, or the function around names the object again."""
    closure, function = body.unit.spans.text(node), declaration.semantic_parent
    code = [c for c in (function.children if function else ()) if c.kind == C.COMPOUND_STMT]
    around = body.unit.spans.text(code[-1]) if code else ""
    if not closure or closure not in around or "mutable" in closure.partition("{")[0]:
        return True
    named = rf"\b{re.escape(declaration.spelling)}\b"
    return re.search(named, around.partition(closure)[2]) is not None


def _copy_captures(body: Body, node: Node) -> None:
    """On the device: variables with the values that the closure keeps, which its body then names."""
    inner = next((child for child in node.children if child.kind == C.COMPOUND_STMT), None)
    if inner is None:
        return
    span = body.span(node)
    copies: dict[int, Binding] = {}
    for name in inner.walk():
        declaration = name.referenced if name.kind == C.DECL_REF_EXPR else None
        if declaration is None or (key := declaration.raw.data0) in copies:
            continue
        variable = body.names.get(key)
        if not isinstance(variable, Variable) or declaration.type.is_const:
            continue
        if variable.space not in _OF_A_THREAD or variable.type.kind is TypeKind.POINTER:
            continue
        if not _keeps(body, node, name.spelling):
            continue
        if variable.space is ir.MemorySpace.LOCAL and not _needs_a_copy(body, node, declaration):
            continue
        copy = replace(variable, role=ir.VariableRole.TEMPORARY, span=span)
        where = location_of_variable(body, variable, span)
        is_small = isinstance(where, RegisterPlace) or scalars_of(variable)
        value = copy_of(body, where, name, span) if is_small else loaded(body, where, span)
        note_pointer(body, copy, (), value)
        body.before.append(Declare(copy, value, body.region(), span))
        copies[key] = copy
    body.closures[body.unit.spans.span(inner)] = copies


def _named(expr: Expr) -> Variable | None:
    match expr:
        case ir.Read(place=place):
            variable = place.variable
        case ir.Assign(target=ir.RegisterPlace(variable=variable)):
            pass
        case ir.Increment(target=ir.RegisterPlace(variable=variable)):
            pass
        case ir.AddressOf(variable=variable):
            pass
        case _:
            return None
    is_shared = variable.role in (ir.VariableRole.FILE_SCOPE, ir.VariableRole.STATIC_LOCAL)
    return None if is_shared else variable
