"""Local declarations: shared memory, arrays, registers, references, known constants."""

from __future__ import annotations

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.choices import must_name_an_object
from wattslice.frontend.cuda.lowering.context import (
    Body,
    Cell,
    LoweringError,
    PointsTo,
    statement,
)
from wattslice.frontend.cuda.lowering.inlining import function_named, is_callable_type
from wattslice.frontend.cuda.lowering.members import structured_binding
from wattslice.frontend.cuda.lowering.memory import note_pointer
from wattslice.frontend.cuda.lowering.names import memory_attribute
from wattslice.frontend.cuda.lowering.types import pointer_to
from wattslice.ir import (
    Constant,
    Construct,
    Declare,
    MemorySpace,
    Read,
    RegisterPlace,
    Span,
    Stmt,
    TypeKind,
    Variable,
    VariableRole,
)


@statement(C.DECL_STMT)
def _(body: Body, node: Node) -> list[Stmt]:
    result: list[Stmt] = []
    for child in node.children:
        if child.kind == C.VAR_DECL:
            result.extend(declare(body, child))
        elif child.kind == C.UNEXPOSED_DECL:  # structured binding
            result.extend(structured_binding(body, node, child, body.span(child)))
    return result


@statement(C.VAR_DECL)
def _(body: Body, node: Node) -> list[Stmt]:
    return declare(body, node)


def declare(body: Body, node: Node) -> list[Stmt]:
    """A local variable: shared memory, local array, register, reference, or a known constant."""
    type_ = body.type(node)
    span = body.span(node)
    key = node.raw.data0
    initializer = node.initializer
    if initializer is not None and initializer.kind < 100:
        initializer = None
    if body.unit.types.is_reference(node.raw) and initializer is not None:
        return _declare_reference(body, node, initializer, span)
    children = node.children
    attribute = memory_attribute(node) if any(c.kind >= 400 for c in children) else None
    if attribute is not None and not body.is_host:
        length_unknown = type_.kind is TypeKind.ARRAY and type_.length is None
        dynamic = attribute is MemorySpace.SHARED and length_unknown
        variable = Variable(node.spelling, type_, attribute, VariableRole.LOCAL, span, dynamic=dynamic)
        body.names[key] = variable
        if attribute is MemorySpace.SHARED:
            known = next((v for v in body.shared if dynamic and v.dynamic and v.name == variable.name), None)
            if known is None:
                body.shared.append(variable)
        return []
    if initializer is not None and is_callable_type(body.type(initializer)):
        target = function_named(body, initializer)
        if target is not None:
            body.functions[key] = target
    value = None if initializer is None else body.expr(initializer)
    if isinstance(value, Construct) and not value.arguments and type_.kind is not TypeKind.ARRAY:
        value = value if type_.name == "dim3" else None
    if value is not None and type_.kind is TypeKind.ARRAY and type_.length is None and value.type.length:
        type_ = value.type
    if type_.kind is TypeKind.UNKNOWN and value is not None:
        type_ = value.type
    is_constant = isinstance(value, Constant) and node.type.is_const
    # A const float is no constant expression in C++; a constexpr one is.
    folds = is_constant and (type_.is_integral or "constexpr" in body.unit.spans.line_text(node))
    variable = Variable(
        node.spelling, type_, body.home(type_), VariableRole.LOCAL, span, is_constant=is_constant
    )
    if isinstance(value, Constant) and folds and type_.lanes == 1:
        body.names[key] = value
        if type_.is_integral:
            body.named_constants[node.spelling] = int(value.value)
    else:
        body.names[key] = variable
    if value is not None:
        address = body.register_addresses.get(id(value))
        if address is not None and type_.kind is TypeKind.POINTER and not body.is_host:
            body.names[key] = PointsTo(address[1])
        note_pointer(body, variable, (), value)
    return [Declare(variable, value, body.region(), span)]


def _declare_reference(body: Body, node: Node, initializer: Node, span: Span) -> list[Stmt]:
    """A reference is another name: of a register place, or of memory at an address computed once."""
    key = node.raw.data0
    where = body.location(initializer)
    if isinstance(where, RegisterPlace):
        body.names[key] = where
        return []
    type_ = body.type(node)
    if where is None:  # bound to a temporary
        if not body.is_host and must_name_an_object(node.type):
            raise LoweringError(f"'{node.spelling}' refers to an object that is not known here", node)
        value = body.expr(initializer)
        variable = Variable(node.spelling, type_, body.home(type_), VariableRole.LOCAL, span)
        body.names[key] = variable
        note_pointer(body, variable, (), value)
        return [Declare(variable, value, body.region(), span)]
    pointer = Variable(
        node.spelling, pointer_to(where.type), body.home(pointer_to(where.type)), VariableRole.LOCAL, span
    )
    note_pointer(body, pointer, (), where.address)
    handle = Read(RegisterPlace(pointer, (), pointer.type), pointer.type, span)
    body.names[key] = Cell(handle, where.space, where.type, where.root)
    return [Declare(pointer, where.address, body.region(), span)]
