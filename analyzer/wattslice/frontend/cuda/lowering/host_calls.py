"""What host code does that launches are read from: launches themselves, objects and their methods."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import BinaryOperator as B
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import UnaryOperator
from wattslice.frontend.cuda.lowering.context import Body, Location, LoweringError, function_named
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    base_at,
    dereference,
    is_plain,
    location_of_variable,
    member,
    read,
)
from wattslice.frontend.cuda.lowering.objects import (
    MOST_ELEMENTS,
    bare,
    bases_of,
    functions_of,
    initialises,
    made_at,
    made_of_nothing,
    made_parts,
    part_at,
    shared_by,
)
from wattslice.frontend.cuda.lowering.order import acts, in_turn, last_first
from wattslice.frontend.cuda.lowering.rejected import unread
from wattslice.frontend.cuda.lowering.types import DIM3, DIM3_AXES, pointer_to
from wattslice.ir import Call, Expr, LaunchCall, Read, RegisterPlace, Span, Stmt, Type, Variable

_CONFIGURE = "cudaConfigureCall"
_LAUNCHERS = ("cudaLaunchKernel", "cudaLaunchCooperativeKernel")
_DRIVER_LAUNCHERS = ("cuLaunchKernel", "cuLaunchCooperativeKernel")
_CONFIGURED = {
    "cudaLaunchKernelEx": 0,
    "cudaLaunchKernelExC": 0,
    "cudaGraphAddKernelNode": 4,
    "cudaGraphKernelNodeSetParams": 1,
    "cudaGraphExecKernelNodeSetParams": 2,
    "cudaGraphAddNode": -1,
    "cudaGraphNodeSetParams": 1,
    "cudaGraphExecNodeSetParams": 2,
}
"""Functions that take grid and block as members of a struct, and which argument points at it."""


def written_launch(body: Body, node: Node, callee: Node | None = None) -> LaunchCall | None:
    """The launch `kernel<<<grid, block>>>(arguments)`; None where it is none."""
    children = node.children
    if len(children) > 1 and children[1].kind == C.CALL_EXPR and children[1].spelling == _CONFIGURE:
        configuration = [child for child in children[1].children if child.kind >= 100][1:]
        return _launch(body, node, _kernel(body, children[0], callee), configuration, children[2:])
    return None


def launch_of(body: Body, node: Node, callee: Node) -> Expr | None:
    """The launch that a call is; None when it is an ordinary call."""
    if (written := written_launch(body, node, callee)) is not None:
        return written
    name, arguments = callee.spelling, list(node.arguments)
    if name in _CONFIGURED and len(arguments) > _CONFIGURED[name]:
        launch = _configured_launch(body, node, name, arguments)
        if launch is None or name.startswith("cudaLaunch"):
            return launch
        # a node of a graph: how often that is launched is not known
        of_node = () if "Exec" in name else (_value(body, arguments[0]),)
        node_of = Call(name, ir.GRAPH_NODE, of_node, ir.UNKNOWN_TYPE, launch.span)
        return ir.Logical(ir.LogicalOp.AND, node_of, launch, body.region(), ir.BOOL, launch.span)
    if name in _LAUNCHERS and len(arguments) >= 3:
        kernel, configuration = _kernel(body, arguments[0]), [*arguments[1:3], *arguments[4:]]
        given = _packed(body, arguments[3:4])
        packed = _value(body, arguments[3]) if len(arguments) > 3 and not given else None
        return _launch(body, node, kernel, configuration, given, packed)
    if name in _DRIVER_LAUNCHERS and len(arguments) >= 8:
        span = body.span(node)
        numbers = [_value(body, argument) for argument in arguments[1:7]]
        grid, block = (
            ir.Construct(tuple(three), DIM3_AXES, DIM3, span) for three in (numbers[:3], numbers[3:])
        )
        packed = _value(body, arguments[9]) if len(arguments) > 9 else None
        shared = _value(body, arguments[7])
        return _call(_kernel(body, arguments[0]), (grid, block, shared), (), body.type(node), span, packed)
    return None


THREADS = ("std::thread", "std::jthread")
"""Classes whose constructor begins a thread."""


def on_a_thread(name: str, values: Sequence[Expr], type_: Type, span: Span) -> Expr | None:
    """The call of a function that a thread is begun with, as if it were made there; None where none is.

    `name`: std::thread, std::async or pthread_create; or a method of a container of threads, `values`: behind
    the object.
    """
    if name == "pthread_create" and len(values) == 4:
        called = Call("", name, tuple(values[3:]), ir.UNKNOWN_TYPE, span, values[2])
        return ir.Binary(ir.BinaryOp.COMMA, called, ir.Constant(0, type_, span), type_, type_, span)
    if name == "async":
        values = values[1:] if values and values[0].type.name.endswith("launch") else values
    if not values or values[0].type.name in THREADS:
        return None
    return Call("", name, tuple(map(_unwrapped, values[1:])), type_, span, values[0])


def _unwrapped(value: Expr) -> Expr:
    """`x` of `std::ref(x)`."""
    if isinstance(value, Call) and value.name in ("ref", "cref") and value.arguments:
        return value.arguments[0]
    return value


def _configured_launch(body: Body, node: Node, name: str, arguments: list[Node]) -> Expr | None:
    """`cudaLaunchKernelEx(&configuration, kernel, arguments...)`: grid and block are members, of a node of a
    graph the kernel as well; of one that may be something else, behind its type.
    """
    span = body.span(node)
    configuration = arguments[_CONFIGURED[name]]
    target = _pointed_at(configuration)
    where = body.location(target) if target is not None else None
    if where is None:
        pointer = _value(body, configuration)
        where = dereference(body, pointer, pointer.type.element or ir.UNKNOWN_TYPE)

    def part(*names: str) -> Expr:
        for field in place.type.fields:
            if field.name in names:
                return read(body, member(place, field.name, field.offset_bytes, field.type, span), span)
        return ir.Construct((), (), ir.UNKNOWN_TYPE, span)

    place, is_kernel = where, None
    inner = next((field for field in where.type.fields if field.name == "kernel"), None)
    if inner is not None:
        is_kernel = ir.Unary(ir.UnaryOp.NOT, part("type"), ir.BOOL, span)  # cudaGraphNodeTypeKernel is 0
        place = member(where, inner.name, inner.offset_bytes, inner.type, span)
    grid, block = part("gridDim"), part("blockDim")
    shared = part("dynamicSmemBytes", "sharedMemBytes")
    values: tuple[Expr, ...] = ()
    packed: Expr | None = None
    if not name.startswith("cudaLaunch"):
        kernel, packed = _Kernel("", "", part("func")), part("kernelParams")
    elif len(arguments) < 2:
        return None
    else:
        kernel = _kernel(body, arguments[1])
        is_packed = name.endswith("ExC")
        given = _packed(body, arguments[2:3]) if is_packed else arguments[2:]
        values = tuple(_value(body, argument) for argument in given)
        packed = _value(body, arguments[2]) if is_packed and not values and len(arguments) > 2 else None
    launch = _call(kernel, (grid, block, shared), values, body.type(node), span, packed)
    if is_kernel is None:
        return launch
    return ir.Logical(ir.LogicalOp.AND, is_kernel, launch, body.region(), ir.BOOL, span)


class _Kernel(Struct, frozen=True):
    """A launched kernel as a `LaunchCall` has it."""

    mangled_name: str
    name: str
    function: Expr | None
    defined_in: str = ""


def _kernel(body: Body, pointer: Node, callee: Node | None = None) -> _Kernel:
    """The kernel that an expression names; where that is a pointer, its value."""
    while (inner := bare(pointer)).kind == C.UNARY_OPERATOR and inner.unary_operator == UnaryOperator.DEREF:
        pointer, callee = inner.children[0], None  # `(*kernel)<<<...>>>`
    is_given = bare(pointer).kind == C.CALL_EXPR  # by a function, which clang takes for the kernel
    if callee is None or is_given or callee.kind not in (C.FUNCTION_DECL, C.FUNCTION_TEMPLATE):
        value = _value(body, pointer)
        while isinstance(value, ir.Cast):
            value = value.operand
        if not isinstance(value, ir.Text):
            return _Kernel("", pointer.spelling, value)
        named = function_named(body, pointer)
        name = value.value if named is None else named.spelling
        return _Kernel(value.value, name, None, _file_of_definition(body, named))
    return _Kernel(callee.mangled_name, callee.spelling, None, _file_of_definition(body, callee))


def _file_of_definition(body: Body, kernel: Node | None) -> str:
    definition = None if kernel is None else kernel.definition
    return "" if definition is None else body.unit.spans.file(definition)


def _launch(
    body: Body,
    node: Node,
    kernel: _Kernel,
    configuration: list[Node],
    given: Sequence[Node],
    packed: Expr | None = None,
) -> LaunchCall:
    """The launch: its configuration is a call, before that of the kernel."""
    span = body.span(node)
    written = [one for one in configuration if not _is_left_out(body, one)]
    stream = _value(body, written[3]) if len(written) > 3 else None
    if stream is not None and acts(stream):
        body.before.append(ir.ExprStmt(stream, body.region(), span))
    steps = [partial(_value, body, one) for one in (*written[:3], *given)]
    number = min(len(written), 3)
    order = (*last_first(number), *(number + at for at in last_first(len(given))))
    grid, block, *rest = in_turn(body, steps, order)
    shared = rest.pop(0) if number > 2 else None
    return _call(kernel, (grid, block, shared), tuple(rest), body.type(node), span, packed)


def _is_left_out(body: Body, argument: Node) -> bool:
    """Whether nothing is written for an argument: a default of CUDA."""
    has_parts = argument.kind != C.UNEXPOSED_EXPR or argument.children
    return not has_parts and body.unit.spans.written(argument) is None


def _call(
    kernel: _Kernel,
    configuration: tuple[Expr, Expr, Expr | None],
    values: tuple[Expr, ...],
    type_: Type,
    span: Span,
    packed: Expr | None,
) -> LaunchCall:
    name, mangled_name = kernel.name, kernel.mangled_name
    pointer, file = kernel.function, kernel.defined_in
    return LaunchCall(mangled_name, name, *configuration, values, type_, span, pointer, packed, file)


def _value(body: Body, node: Node) -> Expr:
    """An argument; one that cannot be read is unknown, the launch itself is kept."""
    try:
        return body.expr(node)
    except LoweringError:
        return unread(body.span(node))


def _packed(body: Body, arguments: list[Node]) -> list[Node]:
    """The kernel's arguments out of `void* packed[] = {&x, &y}`; nothing when they are packed otherwise."""
    for argument in arguments:
        for inner in argument.walk():
            if inner.kind != C.DECL_REF_EXPR:
                continue
            declaration = inner.referenced
            packed = None if declaration is None else declaration.initializer
            if declaration is None or packed is None or packed.kind != C.INIT_LIST_EXPR:
                return []
            if _is_set_again(body, declaration):
                return []
            targets = [_pointed_at(child) for child in packed.children]
            return [target for target in targets if target is not None] if all(targets) else []
    return []


def _is_set_again(body: Body, array: Node) -> bool:
    """Whether the function at hand assigns an element."""
    for node in () if body.function is None else body.function.walk():
        if node.kind == C.BINARY_OPERATOR and node.binary_operator == B.ASSIGN:
            target = next(iter(node.children), node)
            if target.kind == C.ARRAY_SUBSCRIPT_EXPR and any(n.referenced == array for n in target.walk()):
                return True
    return False


def _pointed_at(node: Node) -> Node | None:
    """The `x` of `&x` behind any casts."""
    for inner in node.walk():
        if inner.kind == C.UNARY_OPERATOR and inner.unary_operator == UnaryOperator.ADDR_OF:
            return inner.children[0]
    return None


# ---------------------------------------------------------------------------
# Objects in host code: methods and constructors take the address of their object as first argument.


def has_object(function: Node) -> bool:
    """True for constructors, destructors and methods that are not static."""
    if function.kind in (C.CONSTRUCTOR, C.DESTRUCTOR, C.CONVERSION_FUNCTION):
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
    """`: a(x), b(y)` of a constructor, and what makes the other members and the bases."""
    given: dict[str, Node] = {}
    result: list[Stmt] = []
    named: Node | None = None
    makers: list[Node | None] = []
    record = constructor.semantic_parent
    for child in constructor.children:
        if child.kind == C.MEMBER_REF:
            named = child
        elif 100 <= child.kind < 200 and named is not None:
            given[named.spelling], named = child, None
        elif child.kind == C.CALL_EXPR:  # of a base, or another constructor of the same class
            maker = child.referenced
            base = None if maker is None else maker.semantic_parent
            makers.append(base)
            outer, body.before, body.after = (body.before, body.after), [], []
            if maker is None or base is None or record is None or base == record:
                statements = made_at(body, child, this, span) or ()
            elif base in (one.type.canonical.declaration for one in bases_of(body.unit, record)):
                statements = made_at(body, child, base_at(body, this, base, span), span) or ()
            else:
                statements = shared_by(body, [maker], span)  # nobody knows where that base lies
            result += (*body.before, *statements, *body.after)
            body.before, body.after = outer
    if record is None or record in makers:
        return result
    return [*result, *made_parts(body, this, record, given, span, makers)]


def object_argument(
    body: Body, node: Node, span: Span, operand: Node | None = None, *, of_library: bool = False
) -> Expr | None:
    """The address of the object of a call `o.f()`, `p->f()`, `f()`; None where it is not known.

    `operand`: the object of an operator. `of_library`: the value of an object that has no address will do.
    """
    owner = None if (method := node.referenced) is None else method.semantic_parent
    is_lost = owner is not None and owner.spelling in body.unit.one_of_several_bases
    if operand is None:
        callee = node.children[0] if node.children else None
        if callee is None or callee.kind != C.MEMBER_REF_EXPR:
            return None
        inner = [child for child in callee.children if child.kind >= 100]
        if not inner:
            if (this := body.frame.this) is None:
                return None
            address = address_of(body, this, span)
            if is_lost and owner is not None and owner.spelling != this.type.name.split("::")[-1]:
                lost = unread(span, (address,))
                body.before.append(ir.ExprStmt(lost, body.region(), span))
                return None
            return address
        operand = inner[0]
    if is_lost:
        address = body.expr(operand) if body.type(operand).kind is ir.TypeKind.POINTER else None
        where = body.location(operand) if address is None else None
        address = address_of(body, where, span) if where is not None else address
        lost = unread(span, () if address is None else (address,))
        body.before.append(ir.ExprStmt(lost, body.region(), span))
        return None
    try:
        if body.type(operand).kind is ir.TypeKind.POINTER:
            return body.expr(operand)
        where = body.location(operand)
        if where is None and (of_library or "lambda at" in body.type(operand).name):
            return body.expr(operand)
        if where is None:
            value = body.expr(operand)
            if isinstance(value, Read) and value.place.variable.role is ir.VariableRole.TEMPORARY:
                where = value.place  # the very object, which is destroyed later on
            elif value.type.kind is ir.TypeKind.RECORD or not isinstance(value, ir.Construct):
                held = body.temporary("temporary", value.type, span)
                body.before.append(ir.Declare(held, value, body.region(), span))
                where = RegisterPlace(held, (), held.type)
    except LoweringError:
        return None
    return None if where is None else address_of(body, where, span)


def allocated(body: Body, node: Node, type_: Type, span: Span) -> Expr:
    """`new T(…)`: the address of an object that the constructor has run on; else that of fresh memory."""
    given = [child for child in node.children if child.kind >= 100]
    element = type_.element or ir.UNKNOWN_TYPE
    for child in given:
        is_made = child.kind == C.CALL_EXPR and element.record_bytes
        is_list = child.kind == C.INIT_LIST_EXPR and element.fields
        if not is_made and not is_list:
            continue
        initialises(body, child)
        value = body.expr(child)
        if isinstance(value, Read) and is_made and not value.place.path:
            return ir.AddressOf(value.place.variable, type_, span)
        if is_list or (isinstance(value, ir.Construct) and len(given) == 1):  # not of `new T[n]`
            held = body.temporary("new", element, span)
            first = value if is_list or ir.children(value) else None
            body.before.append(ir.Declare(held, first, body.region(), span))
            return ir.AddressOf(held, type_, span)
    if len(given) == 2 and given[1].kind == C.CALL_EXPR and element.record_bytes:  # `new T[n]`
        length, made = given[0].evaluate(), node.type.canonical.pointee
        if isinstance(length, int) and 0 < length <= MOST_ELEMENTS:
            array = Type(ir.TypeKind.ARRAY, element=element, length=length)
            held = body.temporary("new", array, span)
            where = location_of_variable(body, held, span)
            places = [part_at(body, where, (at,), span) for at in range(length)]
            body.before.append(ir.Declare(held, None, body.region(), span))
            body.before += [one for place in places for one in made_of_nothing(body, place, made, span)]
            return ir.AddressOf(held, type_, span)
        body.before += shared_by(body, functions_of(body.unit, (made,)), span)
    if len(given) == 1 and is_plain(element) and "[" not in body.unit.spans.text(node):
        held = body.temporary("new", element, span)
        body.before.append(ir.Declare(held, body.expr(given[0]), body.region(), span))
        return ir.AddressOf(held, type_, span)
    kept = tuple(body.expr(child) for child in given if child.kind == C.INIT_LIST_EXPR)
    return Call("operator new", "operator new", kept, type_, span)  # whoever reads it may find those
