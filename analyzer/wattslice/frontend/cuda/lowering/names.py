"""What a name refers to: bindings of the body, file-scope variables, constants known at compile time."""

from __future__ import annotations

import re
from dataclasses import replace

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Binding, Body, LoweringError
from wattslice.frontend.cuda.lowering.types import promoted
from wattslice.ir import (
    INT32,
    BuiltinKind,
    Constant,
    Expr,
    Intrinsic,
    MemorySpace,
    Semantics,
    Severity,
    Span,
    Type,
    TypeKind,
    Variable,
    VariableRole,
)
from wattslice.ir.c_arithmetic import converted

_SPACES = {
    C.CUDASHARED_ATTR: MemorySpace.SHARED,
    C.CUDACONSTANT_ATTR: MemorySpace.CONSTANT,
    C.CUDADEVICE_ATTR: MemorySpace.GLOBAL,
}


_BUILTINS = {
    "threadIdx": BuiltinKind.THREAD_IDX,
    "blockIdx": BuiltinKind.BLOCK_IDX,
    "blockDim": BuiltinKind.BLOCK_DIM,
    "gridDim": BuiltinKind.GRID_DIM,
    "warpSize": BuiltinKind.WARP_SIZE,
}


def memory_attribute(declaration: Node) -> MemorySpace | None:
    """The space that `__shared__`, `__constant__`, `__device__` or `__managed__` puts a variable in."""
    found: MemorySpace | None = None
    for child in declaration.children:
        space = _SPACES.get(child.kind)  # type: ignore[call-overload]
        if space is not None and found is not MemorySpace.CONSTANT and found is not MemorySpace.SHARED:
            found = space
        elif child.kind == C.ANNOTATE_ATTR and child.spelling == "managed":
            found = found or MemorySpace.GLOBAL
    return found


def declaration_key(body: Body, node: Node) -> int:
    """Identity of the declaration that a name refers to; 0 when it refers to none. One call into libclang."""
    raw = body.unit.referenced(node.raw)
    return 0 if 70 <= raw.kind <= 73 else raw.data0


def builtin_vector(body: Body, node: Node) -> BuiltinKind | None:
    """`threadIdx` and its like (`warpSize` too), when `node` names one of the prelude's."""
    if node.kind != C.DECL_REF_EXPR or body.is_host:
        return None
    key = declaration_key(body, node)
    known = body.unit.builtins
    if key not in known:
        kind = _BUILTINS.get(node.spelling)
        declaration = None if kind is None else node.referenced
        is_ours = declaration is not None and body.unit.parsed.is_builtin(declaration)
        known[key] = kind if is_ours else None
    return known[key]


def binding_of(body: Body, node: Node) -> Binding:
    """What the name in a DECL_REF_EXPR (or of a static member) means here."""
    found = body.names.get(declaration_key(body, node))
    if found is not None:
        return found
    declaration = node.referenced
    if declaration is None:
        raise LoweringError(f"'{node.spelling}' is not declared", node)
    key = declaration.raw.data0
    kind = declaration.kind
    span = body.span(node)
    if kind == C.ENUM_CONSTANT_DECL and body.unit.parsed.is_made_up(declaration):
        unknown = file_scope_variable(body, declaration, key)
        body.names[key] = unknown
        return unknown
    if kind == C.ENUM_CONSTANT_DECL:
        value = Constant(declaration.enum_value, _enum_type(body, declaration), span)
        body.names[key] = value
        return value
    if kind == C.PARM_DECL:
        parameter = Variable(
            declaration.spelling, body.type(declaration), body.home(body.type(declaration)),
            VariableRole.PARAMETER, span
        )  # fmt: skip
        body.names[key] = parameter
        return parameter
    if kind == C.UNEXPOSED_DECL and declaration.spelling in body.bindings:
        return body.bindings[declaration.spelling]
    if kind in (C.VAR_DECL, C.UNEXPOSED_DECL):
        constant = constant_of_global(body, declaration, key, span)
        if constant is not None:
            body.names[key] = constant
            return constant
        variable = file_scope_variable(body, declaration, key)
        body.names[key] = variable
        if variable.space is MemorySpace.SHARED and variable not in body.shared:
            body.shared.append(variable)
        return variable
    if kind == C.TEMPLATE_NON_TYPE_PARAMETER:
        variable = Variable(
            node.spelling, body.type(node), MemorySpace.REGISTER, VariableRole.PARAMETER, span
        )
        body.names[key] = variable
        return variable
    raise LoweringError(f"'{node.spelling}' is no value", node)


def _enum_type(body: Body, declaration: Node) -> Type:
    type_ = body.type(declaration)
    return promoted(type_) if type_.is_integral else INT32


def constant_of_global(body: Body, declaration: Node, key: int, span: Span) -> Constant | None:
    """The value of a const or constexpr scalar at file scope (or a static const local)."""
    unit = body.unit
    if key in unit.global_values:
        known = unit.global_values[key]
        return None if known is None else replace(known, span=span)
    unit.global_values[key] = None
    type_ = unit.types.of(declaration.raw)
    if type_.kind in (TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT) and type_.lanes == 1:
        clang = declaration.type
        if clang.is_const or clang.canonical.is_const:
            definition = declaration.definition or declaration
            value = definition.evaluate()
            number = None if value is None else converted(value, type_)
            if number is not None and not unit.parsed.is_made_up(declaration):
                unit.global_values[key] = Constant(number, type_, span)
    return unit.global_values[key]


def _first_mention(body: Body, name: str) -> Span:
    """The first line of the analysed file with this word; its whole when only a header has it (line 0)."""
    parsed = body.unit.parsed
    found = re.search(rb"\b" + re.escape(name.encode()) + rb"\b", parsed.source)
    line = 0 if found is None else parsed.source.count(b"\n", 0, found.start()) + 1
    return Span(str(parsed.path), line, 1, line)


def file_scope_variable(body: Body, declaration: Node, key: int) -> Variable:
    """The variable of a declaration outside the body, made once per unit (its initialiser comes later)."""
    unit = body.unit
    for seen_by_host in (False, body.is_host):
        known = unit.globals.get((key, seen_by_host))
        if known is not None and (body.is_host or not seen_by_host):
            unit.touched.append((declaration, body.is_host, known))
            return known
    told = len(unit.reported)
    type_ = unit.types.of(declaration.raw)
    attribute = memory_attribute(declaration)
    space = attribute or MemorySpace.HOST
    if type_.kind is TypeKind.RECORD and type_.name.startswith(("texture<", "surface<", "texture ")):
        space = MemorySpace.TEXTURE
    clang = declaration.type
    if unit.parsed.is_made_up(declaration):
        space = MemorySpace.HOST if body.is_host else MemorySpace.REGISTER
        message = f"'{declaration.spelling}' is declared nowhere: its value is unknown"
        unit.report("PW001", Severity.WARNING, _first_mention(body, declaration.spelling), message)
    elif space is MemorySpace.HOST and not body.is_host and _is_local(declaration):
        # What a lambda captured where it was written on the host comes to the kernel as a parameter.
        space = MemorySpace.REGISTER
    elif space is MemorySpace.HOST and not body.is_host:
        # A const array or constexpr object used on the device: the compiler puts it into constant memory.
        space = MemorySpace.CONSTANT
    variable = Variable(
        declaration.spelling,
        type_,
        space,
        VariableRole.FILE_SCOPE,
        unit.spans.span(declaration),
        dynamic=space is MemorySpace.SHARED and type_.kind is TypeKind.ARRAY and type_.length is None,
        is_constant=clang.is_const,
        initializer=_initializer(body, declaration, unit.spans.span(declaration)),
    )
    if unit.reuse is not None:
        variable = unit.reuse.same_variable(declaration, variable)
    unit.globals[(key, body.is_host and attribute is None)] = variable
    unit.touched.append((declaration, body.is_host, variable))
    del unit.reported[told:]  # told anew where the variable is named anew
    return variable


def _is_local(declaration: Node) -> bool:
    parent = declaration.semantic_parent
    return parent is not None and parent.kind in (C.FUNCTION_DECL, C.CXX_METHOD, C.FUNCTION_TEMPLATE)


def _initializer(body: Body, declaration: Node, span: Span) -> Expr | None:
    """The initial value of a file-scope variable; opaque where it is written but cannot be read.

    In host code None for that too: nobody there takes a missing value for zero.
    """
    definition = declaration.definition or declaration
    node = definition.initializer
    if node is None or node.kind < 100:
        return None
    key = declaration.canonical.raw.data0
    open_ones = body.unit.initialising
    if key in open_ones:
        raise LoweringError(f"'{declaration.spelling}' is initialised with itself", declaration)
    open_ones.add(key)
    try:
        return Body(body.unit, is_host=True).expr(node)
    except LoweringError:
        if body.is_host:
            return None
        return Intrinsic("initial value", (), (), Semantics.OPAQUE, False, body.type(declaration), span)
    finally:
        open_ones.remove(key)
