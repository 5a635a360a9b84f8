"""What host code does that launches are read from: launches themselves, objects and their methods."""

from __future__ import annotations

from dataclasses import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator, UnaryOperator
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Location, LoweringError, function_named
from wattslice.frontend.cuda.lowering.memory import address_of, dereference, member, place_for_access, read
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import Call, Expr, ExprStmt, LaunchCall, Read, RegisterPlace, Span, Stmt, Type, Variable

_CONFIGURE = "cudaConfigureCall"
_CONFIGURED_LAUNCHERS = ("cudaLaunchKernelEx", "cudaLaunchKernelExC")
_LAUNCHERS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")


def launch_of(body: Body, node: Node, callee: Node) -> LaunchCall | None:
    """The launch that a call is; None when it is an ordinary call."""
    children = node.children
    if len(children) > 1 and children[1].kind == C.CALL_EXPR and children[1].spelling == _CONFIGURE:
        kernels = [callee]
        if callee.kind not in (C.FUNCTION_DECL, C.FUNCTION_TEMPLATE):  # through a variable
            kernels = _functions_held(body, callee) or [function_named(body, children[0]) or callee]
        configuration = [child for child in children[1].children if child.kind >= 100][1:]
        found = [_launch(body, node, kernel, configuration, list(children[2:])) for kernel in kernels]
        if len(found) > 1:
            pointer = _value(body, children[0])
            found = [replace(launch, function=pointer) for launch in found]
        body.before.extend(ExprStmt(launch, body.region(), launch.span) for launch in found[:-1])
        return found[-1]
    if callee.spelling in _CONFIGURED_LAUNCHERS:
        return _configured_launch(body, node, callee.spelling.endswith("ExC"))
    if callee.spelling in _LAUNCHERS:
        arguments = list(node.arguments)
        kernel = function_named(body, arguments[0]) if arguments else None
        if kernel is not None and len(arguments) >= 3:
            return _launch(body, node, kernel, [*arguments[1:3], *arguments[4:5]], _packed(arguments[3:4]))
    return None


def _functions_held(body: Body, variable: Node) -> list[Node]:
    """All functions that a pointer holds in the host function that launches through it, if it is assigned."""
    key = variable.raw.data0
    assigned: dict[object, Node] = {}
    for node in body.function.walk() if body.function is not None else ():
        if node.kind != C.BINARY_OPERATOR or node.binary_operator != BinaryOperator.ASSIGN:
            continue
        target = node.children[0].referenced
        function = function_named(body, node.children[1])
        if target is not None and target.raw.data0 == key and function is not None:
            assigned[function.raw.data0] = function
    initial = body.functions.get(key)
    if assigned and initial is not None:
        assigned[initial.raw.data0] = initial
    return list(assigned.values())


def _configured_launch(body: Body, node: Node, packs_arguments: bool) -> LaunchCall | None:
    """`cudaLaunchKernelEx(&configuration, kernel, arguments...)`: grid and block are members."""
    arguments = list(node.arguments)
    configuration = _pointed_at(arguments[0]) if len(arguments) > 1 else None
    kernel = function_named(body, arguments[1]) if configuration is not None else None
    where = None if configuration is None else body.location(configuration)
    if kernel is None or not isinstance(where, RegisterPlace):
        return None
    span = body.span(node)
    types = {field.name: field.type for field in where.type.fields}
    grid, block, shared = (
        Read(RegisterPlace(where.variable, (*where.path, name), types[name]), types[name], span)
        if name in types
        else ir.Construct((), (), where.type, span)
        for name in ("gridDim", "blockDim", "dynamicSmemBytes")
    )
    rest = _packed(arguments[2:3]) if packs_arguments else arguments[2:]
    values = tuple(_value(body, argument) for argument in rest)
    return LaunchCall(
        kernel.mangled_name, kernel.spelling, grid, block, shared, values, body.type(node), span
    )


def _launch(
    body: Body, node: Node, kernel: Node, configuration: list[Node], arguments: list[Node]
) -> LaunchCall:
    grid, block = (_value(body, child) for child in configuration[:2])
    shared = configuration[2] if len(configuration) > 2 else None
    written = shared is not None and not (shared.kind == C.UNEXPOSED_EXPR and not shared.children)
    return LaunchCall(
        kernel.mangled_name,
        kernel.spelling,
        grid,
        block,
        _value(body, shared) if shared is not None and written else None,
        tuple(_value(body, argument) for argument in arguments),
        body.type(node),
        body.span(node),
    )


def _value(body: Body, node: Node) -> Expr:
    """An argument; one that cannot be read is an empty value, the launch itself is kept."""
    try:
        return body.expr(node)
    except LoweringError:
        return ir.Construct((), (), body.type(node), body.span(node))


def _packed(arguments: list[Node]) -> list[Node]:
    """The kernel's arguments out of `void* packed[] = {&x, &y}`; nothing when they are packed otherwise."""
    for argument in arguments:
        for inner in argument.walk():
            if inner.kind != C.DECL_REF_EXPR:
                continue
            declaration = inner.referenced
            packed = None if declaration is None else declaration.initializer
            if packed is None or packed.kind != C.INIT_LIST_EXPR:
                return []
            targets = [_pointed_at(child) for child in packed.children]
            return [target for target in targets if target is not None] if all(targets) else []
    return []


def _pointed_at(node: Node) -> Node | None:
    """The `x` of `&x` behind any casts."""
    for inner in node.walk():
        if inner.kind == C.UNARY_OPERATOR and inner.unary_operator == UnaryOperator.ADDR_OF:
            return inner.children[0]
    return None


# ---------------------------------------------------------------------------
# Objects in host code: methods and constructors take the address of their object as first argument.


def has_object(function: Node) -> bool:
    """True for constructors and for methods that are not static."""
    if function.kind == C.CONSTRUCTOR:
        return True
    return function.kind == C.CXX_METHOD and not (function.is_static or function.canonical.is_static)


def object_parameter(body: Body, method: Node, span: Span) -> tuple[Variable, Location]:
    """The parameter `this` of a method, and the object it points at."""
    parent = method.semantic_parent
    assert parent is not None
    type_ = body.unit.types.of(parent.raw)
    pointer = pointer_to(type_)
    this = Variable("this", pointer, ir.MemorySpace.HOST, ir.VariableRole.PARAMETER, span)
    return this, dereference(body, Read(RegisterPlace(this, (), pointer), pointer, span), type_)


def member_initialisers(body: Body, constructor: Node, this: Location, span: Span) -> list[Stmt]:
    """`: a(x), b(y)` of a constructor; what cannot be read is left out."""
    result: list[Stmt] = []
    field: Node | None = None
    for child in constructor.children:
        if child.kind == C.MEMBER_REF:
            field = child
        elif 100 <= child.kind < 200 and field is not None:
            declaration, name = field.referenced, field.spelling
            field = None
            if declaration is None:
                continue
            try:
                value = body.expr(child)
            except LoweringError:
                continue
            type_ = body.unit.types.of(declaration.raw)
            offset = body.unit.types.field_offset_bytes(declaration.raw)
            target = place_for_access(body, member(body, this, name, offset, type_, span))
            result.append(ExprStmt(ir.Assign(target, None, value, type_, type_, span), body.region(), span))
    return result


def object_argument(body: Body, node: Node, span: Span, operand: Node | None = None) -> Expr | None:
    """The address of the object of a call `o.f()`, `p->f()`, `f()`; None where it is not known.

    `operand`: the object of an operator.
    """
    if operand is None:
        callee = node.children[0] if node.children else None
        if callee is None or callee.kind != C.MEMBER_REF_EXPR:
            return None
        inner = [child for child in callee.children if child.kind >= 100]
        if not inner:
            this = body.frame.this
            return None if this is None else address_of(body, this, span)
        operand = inner[0]
    try:
        if body.type(operand).kind is ir.TypeKind.POINTER:
            return body.expr(operand)
        where = body.location(operand)
    except LoweringError:
        return None
    return None if where is None else address_of(body, where, span)


def constructed(
    body: Body, constructor: str, name: str, arguments: tuple[Expr, ...], type_: Type, span: Span
) -> Expr:
    """A temporary that the constructor has run on, before the statement at hand."""
    variable = Variable(name, type_, ir.MemorySpace.HOST, ir.VariableRole.TEMPORARY, span)
    body.before.append(ir.Declare(variable, None, body.region(), span))
    address = ir.AddressOf(variable, pointer_to(type_), span)
    call = Call(constructor, name, (address, *arguments), type_, span)
    body.before.append(ExprStmt(call, body.region(), span))
    return read(body, RegisterPlace(variable, (), type_), span)


def allocated(body: Body, node: Node, type_: Type, span: Span) -> Expr:
    """`new T(…)`: the address of an object that the constructor has run on; else that of fresh memory."""
    for child in node.children:
        if child.kind == C.CALL_EXPR and type_.element is not None and type_.element.fields:
            value = body.expr(child)
            if isinstance(value, Read) and not value.place.path:
                return ir.AddressOf(value.place.variable, type_, span)
    return Call("operator new", "operator new", (), type_, span)
