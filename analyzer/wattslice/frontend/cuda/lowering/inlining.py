"""Following calls into device functions: fresh variables, bound parameters, bounded recursion."""

from __future__ import annotations

from collections.abc import Mapping

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import (
    INLINING_BUDGET_NODES,
    MOST_RECURSION,
    PLAIN_CALLS_NODES,
    Binding,
    Body,
    Cell,
    Frame,
    Location,
    PointsTo,
    TooLargeError,
    changed_in,
    function_named,
    is_callable_type,
    statement,
)
from wattslice.frontend.cuda.lowering.expressions import known_value
from wattslice.frontend.cuda.lowering.memory import (
    bound,
    chooses_result,
    dereference,
    gives_value,
    is_choice,
    is_fixed,
    member,
    must_name_an_object,
    note_pointer,
    one_of,
    place_for_access,
    read,
    takes_only_values,
)
from wattslice.frontend.cuda.lowering.objects import default_initialisers
from wattslice.frontend.cuda.lowering.statements import at_end, lower_all
from wattslice.frontend.cuda.lowering.types import decayed, is_wide_record, pointer_to
from wattslice.frontend.cuda.lowering.unit import FunctionInfo, Unit
from wattslice.ir import Block, Expr, MemorySpace, Read, RegisterPlace, Span, Stmt, Type, TypeKind, Variable

_UNDECIDED_RECURSION = 8


def may_inline(body: Body, info: FunctionInfo) -> bool:
    """Whether a function has a body and following it stays within the bounds."""
    if info.body is None:
        return False
    inside = body.nodes - body.nodes_at_call if len(body.frames) > 1 else 0
    depth = sum(frame.info is not None and frame.info.key == info.key for frame in body.frames)
    is_plain = depth == 0 and not body.has_recursion
    body.has_recursion = body.has_recursion or depth > 0
    if body.inlined_nodes + inside > (PLAIN_CALLS_NODES if is_plain else INLINING_BUDGET_NODES):
        if is_plain and not body.folds and not body.is_host:
            raise TooLargeError("what its calls add is too large to follow")  # once more, folded
        return False
    if depth == 0:
        return True
    return depth < (MOST_RECURSION if body.known else _UNDECIDED_RECURSION)


def inline(
    body: Body,
    node: Node,
    info: FunctionInfo,
    this: Location | None,
    arguments: list[Node],
    span: Span,
    *,
    is_constructor: bool = False,
    given: Mapping[int, Binding] | None = None,
    result_type: Type | None = None,
) -> tuple[Expr, Location | None]:
    """A fresh copy of the function's body with its parameters bound to the arguments.

    For a function that returns a reference also the object that it names. For a call that the source does not
    spell out, `given` binds parameters by their keys, and `result_type` is what `node` does not tell.
    """
    assert info.body is not None
    body.report_errors_in(info.body)
    parameters: list[Variable] = []
    values: list[Expr] = []
    bindings = dict(body.closures.get(body.unit.spans.span(info.body), {})) if body.closures else {}
    bindings.update(given or {})
    known: dict[Variable, int | float] = {}
    takes_values = takes_only_values(info)
    for i, parameter in enumerate(info.parameters):
        argument = arguments[i] if i < len(arguments) else None
        if parameter.key in bindings:
            continue
        if argument is None or (argument.kind == C.UNEXPOSED_EXPR and not argument.children):
            argument = _default_of(parameter.node) or argument
        if argument is None:
            continue
        if parameter.is_reference:
            by_value = takes_values and is_choice(argument) and not is_wide_record(parameter.type)
            where = None if by_value else body.location(argument)
            if isinstance(where, RegisterPlace):
                bindings[parameter.key] = where
                continue
            if where is not None and not isinstance(where.address, Read) and _is_named(where.address):
                bindings[parameter.key] = where
                continue
            if where is not None:
                type_ = pointer_to(where.type)
                pointer = _parameter(parameter.name, type_, span)
                note_pointer(body, pointer, (), where.address)
                handle = Read(RegisterPlace(pointer, (), type_), type_, span)
                bindings[parameter.key] = Cell(handle, where.space, where.type, where.root)
                parameters.append(pointer)
                values.append(where.address)
                continue
            must_name = not body.is_host and must_name_an_object(parameter.node.type)
            if must_name and function_named(body, argument) is None:
                message = f"'{parameter.name}' of '{info.name}' refers to an object that is not known here"
                body.hole("PW006", span, f"not read: {message}")
        if is_callable_type(parameter.type) or is_callable_type(body.type(argument)):
            target = function_named(body, argument)
            is_pointer = parameter.type.kind is TypeKind.POINTER
            if is_pointer and parameter.key in changed_in(body.unit, info.body):
                target = None
            if target is not None:
                body.functions[parameter.key] = target
                if parameter.type.kind is not TypeKind.RECORD:
                    continue
        value = body.expr(argument)
        points = decayed(parameter.type).kind is TypeKind.POINTER
        if points and parameter.key not in changed_in(body.unit, info.body):
            address = body.register_addresses.get(id(value))
            if address is not None:
                bindings[parameter.key] = PointsTo(address[1])
                continue
            if is_fixed(value) and not body.is_host:
                bindings[parameter.key] = PointsTo(dereference(body, value, value.type.element or value.type))
                continue
        type_ = decayed(parameter.type)
        if type_.kind is TypeKind.UNKNOWN or type_.name == "dependent":
            type_ = value.type
        variable = Variable(
            parameter.name,
            type_,
            MemorySpace.LOCAL if is_wide_record(type_) else MemorySpace.REGISTER,
            ir.VariableRole.PARAMETER,
            span,
        )
        note_pointer(body, variable, (), value)
        bindings[parameter.key] = variable
        parameters.append(variable)
        values.append(value)
        if type_.is_integral:
            number = known_value(body, value)
            if number is not None:
                known[variable] = number
    this = _bind_this(body, this, parameters, values, span)
    if known and not _may_prune(body, info):
        known = {}
    outer_names, outer_known, outer_line = body.names, body.known, body.line_span
    outer_before = body.before
    body.names = {**outer_names, **bindings}
    body.known = known
    body.line_span = None
    body.before = []
    chooses = chooses_result(info)
    as_values = chooses and gives_value(body, info)
    frame = Frame(info, this, chooses and not as_values, as_values)
    if len(body.frames) == 1:
        body.nodes_at_call = body.nodes
    body.frames.append(frame)
    region = body.region()
    statements: list[Stmt] = []
    spans = body.unit.spans
    outer_caller = spans.caller
    if info.is_builtin and outer_caller is None:
        spans.caller = span
    try:
        if is_constructor:
            statements.extend(_member_initialisers(body, info, span))
        statements.extend(lower_all(body, info.body.children))
        statements += at_end(body, 0, statements)
    finally:
        body.frames.pop()
        if len(body.frames) == 1:
            body.inlined_nodes += body.nodes - body.nodes_at_call
        body.names, body.known, body.line_span = outer_names, outer_known, outer_line
        body.before = outer_before
        body_span = spans.span(info.body)
        spans.caller = outer_caller
    result: Location | None = None
    type_ = result_type or (ir.VOID if node.kind == C.DESTRUCTOR else body.type(node))
    if is_constructor and this is not None:
        statements.append(ir.Return(_whole(body, this, span), body.region(), span))
    elif info.returns_reference and frame.result_locations:
        result = frame.result_locations[-1]
        if isinstance(result, Cell):
            type_ = pointer_to(result.type)
    body_block = Block(tuple(statements), region, body_span)
    call = ir.InlinedCall(info.name, tuple(parameters), tuple(values), body_block, type_, span)
    if isinstance(result, Cell):
        found = one_of([where for where in frame.result_locations if isinstance(where, Cell)])
        body.expression_pointees[id(call)] = (call, found)
        result = Cell(call, found.space, result.type, found.root)
    elif frame.result_pointees:
        body.expression_pointees[id(call)] = (call, frame.result_pointees[0])
    return call, result


@statement(C.DESTRUCTOR)
def _(body: Body, node: Node) -> list[Stmt]:
    """The destructor of the object that the frame is of."""
    info, span = body.unit.function(node), body.unit.spans.span(node)
    if info.body is None or info.is_defaulted:
        return []
    if not may_inline(body, info):
        body.hole("PW005", span, f"destructor '{info.name}' is not followed: too deep or too large")
        return []
    call, _ = inline(body, node, info, body.frame.this, [], span)
    return [ir.ExprStmt(call, body.region(), span)]


def _parameter(name: str, type_: Type, span: Span) -> Variable:
    return Variable(name, type_, MemorySpace.REGISTER, ir.VariableRole.PARAMETER, span)


def _whole(body: Body, where: Location, span: Span) -> Expr:
    if isinstance(where, RegisterPlace):
        return Read(where, where.type, span)
    return read(body, where, span)


def _default_of(parameter: Node) -> Node | None:
    for child in reversed(parameter.children):
        if 100 <= child.kind < 400:
            return child
    return None


def _bind_this(
    body: Body, this: Location | None, parameters: list[Variable], values: list[Expr], span: Span
) -> Location | None:
    """An object in memory: its address is computed once, when the call is made."""
    if not isinstance(this, Cell) or _is_named(this.address):
        return this
    pointer = _parameter("this", pointer_to(this.type), span)
    note_pointer(body, pointer, (), this.address)
    parameters.append(pointer)
    values.append(this.address)
    handle = Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span)
    return Cell(handle, this.space, this.type, this.root)


def _is_named(address: Expr) -> bool:
    """Whether an address says by itself where it is: computed again it is the same, and costs nothing."""
    if isinstance(address, ir.PointerOffset) and isinstance(address.index, ir.Constant | Read | None):
        base = address.pointer
        return isinstance(base, ir.AddressOf | ir.PointerOffset) and _is_named(base)
    return isinstance(address, ir.AddressOf | Read)


def _member_initialisers(body: Body, info: FunctionInfo, span: Span) -> list[Stmt]:
    """`: a(x), b(y)` of a constructor."""
    result: list[Stmt] = []
    field: Node | None = None
    this = body.frame.this
    assert this is not None
    children = list(info.declaration.children)
    written = {child.spelling for child in children if child.kind == C.MEMBER_REF}
    defaults = [
        pair for pair in default_initialisers(body, info.declaration) if pair[0].spelling not in written
    ]
    for child in [*(node for pair in defaults for node in pair), *children]:
        if child.kind in (C.MEMBER_REF, C.FIELD_DECL):
            field = child
        elif 100 <= child.kind < 200 and field is not None:
            declaration = field if field.kind == C.FIELD_DECL else field.referenced
            offset = 0 if declaration is None else body.unit.types.field_offset_bytes(declaration.raw)
            type_ = body.type(child) if declaration is None else body.unit.types.of(declaration.raw)
            is_reference = declaration is not None and body.unit.types.is_reference(declaration.raw)
            type_ = pointer_to(type_) if is_reference else type_
            value = body.expr(child) if declaration is None else bound(body, declaration, child)
            target = member(this, field.spelling, offset, type_, span)
            if isinstance(target, RegisterPlace):
                note_pointer(body, target.variable, target.path, value)
            stored = ir.Assign(place_for_access(body, target), None, value, type_, type_, span)
            result.append(ir.ExprStmt(stored, body.region(), span))
            field = None
        elif child.kind == C.CALL_EXPR:  # of a base, or another constructor of the same class
            result += _rest_constructed(body, child, this, span)
    return result


def _rest_constructed(body: Body, node: Node, this: Location, span: Span) -> list[Stmt]:
    constructor = node.referenced
    if constructor is None or constructor.kind != C.CONSTRUCTOR:
        return []
    info = body.unit.function(constructor)
    if info.body is None or info.is_defaulted:
        return []
    if not may_inline(body, info):
        body.hole("PW005", span, f"constructor '{info.name}' is not followed: too deep or too large")
        return []
    arguments = [child for child in node.children if child.kind >= 100]
    call, _ = inline(body, node, info, this, arguments, span, is_constructor=True)
    return [ir.ExprStmt(call, body.region(), span)]


def _may_prune(body: Body, info: FunctionInfo) -> bool:
    """Whether known arguments may decide branches: a recursive function that never writes its parameters."""
    known = body.unit.recursive.get(info.key)
    if known is None:
        known = body.unit.recursive[info.key] = _is_recursive_and_pure(body.unit, info)
    return known


def _is_recursive_and_pure(unit: Unit, info: FunctionInfo) -> bool:
    assert info.body is not None
    keys = {parameter.key for parameter in info.parameters}
    if not keys.isdisjoint(changed_in(unit, info.body)):
        return False
    return any(node.kind == C.CALL_EXPR and node.spelling == info.name for node in info.body.walk())
