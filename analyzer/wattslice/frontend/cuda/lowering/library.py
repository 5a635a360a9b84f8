"""Library calls: the table's arithmetic, and those that are memory accesses, atomics, textures, matrices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.lowering.bulk_accesses import copy_bytes, copy_element, matrix_access
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, LoweringError
from wattslice.frontend.cuda.lowering.conversions import convert
from wattslice.frontend.cuda.lowering.expressions import aggregate, extract
from wattslice.frontend.cuda.lowering.intrinsics import (
    ATOMIC,
    ATOMIC_OPS,
    CACHED_LOAD,
    CACHED_STORE,
    SURFACE,
    TEXTURE,
    operations_of,
    rule_for,
)
from wattslice.frontend.cuda.lowering.memory import dereference, place_for_access, read
from wattslice.frontend.cuda.lowering.types import lane_of
from wattslice.ir import (
    VOID,
    AddressOf,
    Assign,
    Atomic,
    Binary,
    BinaryOp,
    Cast,
    Construct,
    Expr,
    Extract,
    Intrinsic,
    MemoryPlace,
    MemorySpace,
    Read,
    RegisterPlace,
    Semantics,
    Severity,
    Span,
    TextureFetch,
    Type,
    TypeKind,
    Variable,
)

_WORD_OF_DOUBLE = re.compile(r"__double2(hi|lo)int$")
_HALF_OF_PAIR = re.compile(r"__(low|high)s?2(half|float|bfloat16)")
_PAIR = re.compile(r"__(halves|floats)2\w+2(_rn)?$|__hiloint2double$")
_ROUNDED = re.compile(
    r"__(?:float|double|half)2u?(?:int|ll|short|char)_r[nud]$|__\w+2(?:float|half|double)_r[nzud]$"
)
# The runtime called from a kernel (streams, graphs): beside the kernel's own work like printf, but told.
_DEVICE_RUNTIME = re.compile(r"cuda[A-Z]\w+$")


def library_call(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """A call of a function the analyzer knows by name; None when it does not."""
    plain = name.removeprefix("__builtin_")
    atomic = ATOMIC.match(name)
    if atomic is not None and arguments:
        return _atomic(body, node, atomic[1], arguments, span)
    if CACHED_LOAD.match(name) and arguments:
        pointer = body.expr(arguments[0])
        element = pointer.type.element or body.type(node)
        return read(body, _global(dereference(body, pointer, element)), span)
    if CACHED_STORE.match(name) and len(arguments) == 2:
        pointer = body.expr(arguments[0])
        where = _global(dereference(body, pointer, pointer.type.element or body.type(arguments[1])))
        value = body.expr(arguments[1])
        return Assign(place_for_access(body, where), None, value, where.type, where.type, span)
    if (TEXTURE.match(name) or SURFACE.match(name)) and arguments:
        return _texture(body, node, name, arguments, span)
    if name in ("load_matrix_sync", "store_matrix_sync") and len(arguments) >= 2:
        return matrix_access(body, name, arguments, span)
    if name in ("memcpy_async", "__pipeline_memcpy_async"):
        return copy_element(body, node, name, arguments, span)
    if plain in ("memcpy", "memmove", "memset") and len(arguments) >= 3:
        return copy_bytes(body, node, plain, arguments, span)
    if name == "swap" and len(arguments) == 2:
        return _swap(body, arguments, span)
    if name.startswith("make_"):
        type_ = body.type(node)
        if type_.lanes > 1 or type_.kind is TypeKind.RECORD:
            return aggregate(body, tuple(body.expr(a) for a in arguments), type_, span)
    rule = rule_for(name)
    if rule is None:
        return None
    values = tuple(body.expr(argument) for argument in arguments)
    type_ = body.type(node)
    if type_.kind is TypeKind.UNKNOWN and values:
        type_ = values[0].type
    packed = _packed(body, name, values, type_, span)
    if packed is not None:
        return packed
    if rule.semantics is Semantics.IDENTITY and len(values) == 1 and not rule.fixed:
        value = values[0]
        if _ROUNDED.match(name) and not (type_.is_float and name.endswith("_rn")):  # no cast rounds like that
            value = Intrinsic(name, values, (), Semantics.IDENTITY, False, value.type, span)
        return _free_conversion(body, value, type_, span)
    kept = tuple(value for i, value in enumerate(values) if i not in rule.outputs)
    operations = operations_of(rule, type_, tuple(value.type for value in kept))
    result = Intrinsic(name, kept, operations, rule.semantics, False, type_, span)
    return _store_outputs(body, result, [values[i] for i in rule.outputs if i < len(values)])


def _global(where: Location) -> Location:
    if isinstance(where, Cell) and where.space is not MemorySpace.GLOBAL:
        return Cell(where.address, MemorySpace.GLOBAL, where.type, where.root)
    return where


def _free_conversion(body: Body, value: Expr, type_: Type, span: Span) -> Expr:
    if type_.kind is TypeKind.VOID or type_ == value.type:
        return value
    if type_.lanes > 1 or value.type.lanes > 1:
        return Construct((value,), (), type_, span)
    return convert(body, value, type_, span)


def _packed(body: Body, name: str, values: tuple[Expr, ...], type_: Type, span: Span) -> Expr | None:
    """Functions that take packed values apart or put them together, which costs nothing; None for others."""
    word = _WORD_OF_DOUBLE.match(name)
    if word is not None and len(values) == 1:
        return Extract(values[0], word[1], type_, span)
    if name == "__lowhigh2highlow" and values and values[0].type.lanes == 2:
        lane = lane_of(values[0].type)
        return aggregate(body, tuple(extract(values[0], field, lane, span) for field in "yx"), type_, span)
    half = _HALF_OF_PAIR.match(name)
    if half is not None and values:
        field = "x" if half[1] == "low" else "y"
        if any(value.type.lanes != 2 for value in values):  # a type whose header is not there
            return Extract(values[0], field, type_, span) if len(values) == 1 else None
        parts = tuple(extract(value, field, lane_of(value.type), span) for value in values)
        if type_.lanes == 1:
            return convert(body, parts[0], type_, span)
        return aggregate(body, parts, type_, span) if len(parts) > 1 else Construct(parts, (), type_, span)
    if len(values) > 1 and _PAIR.match(name):
        return aggregate(body, values, type_, span)
    return None


def _store_outputs(body: Body, call: Intrinsic, pointers: Sequence[Expr]) -> Expr:
    """`call`, whose results are unknown, then a store of one of them through each pointer (`sincosf`)."""
    if not pointers:
        return call
    span = call.span
    is_void = call.type.kind is TypeKind.VOID
    type_ = pointers[0].type.element or VOID if is_void else call.type
    place = RegisterPlace(body.temporary(f"results of {call.name}", type_, span), (), type_)
    done: Expr = Assign(place, None, call, type_, type_, span)
    for number, pointer in enumerate(pointers):
        element = pointer.type.element or VOID
        where = place_for_access(body, dereference(body, pointer, element))
        value = Extract(Read(place, type_, span), f"result {number}", element, span)
        stored = Assign(where, None, value, element, element, span)
        done = Binary(BinaryOp.COMMA, done, stored, element, element, span)
    if is_void:
        return done
    return Binary(BinaryOp.COMMA, done, Read(place, type_, span), type_, type_, span)


# --------------------------------------------------------------------------- memory


def _atomic(body: Body, node: Node, operation: str, arguments: list[Node], span: Span) -> Expr:
    pointer = body.expr(arguments[0])
    operands = tuple(body.expr(argument) for argument in arguments[1:])
    element = pointer.type.element or body.type(node)
    where = dereference(body, pointer, element)
    if isinstance(where, RegisterPlace):
        where = Cell(pointer, MemorySpace.LOCAL, element, where.variable)
    place = place_for_access(body, where)
    assert isinstance(place, MemoryPlace)
    return Atomic(ATOMIC_OPS[operation], place, operands, element, span)


def _texture(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr:
    is_store = name.endswith("write")
    type_ = body.type(node)
    output: Expr | None = None
    value: Expr | None = None
    rest = list(arguments)
    if is_store:
        value = body.expr(rest.pop(0))
        type_ = value.type
    elif len(rest) > 1 and body.type(rest[0]).kind is TypeKind.POINTER:
        output = body.expr(rest.pop(0))
        type_ = output.type.element or type_
    texture = _texture_variable(body, rest.pop(0))
    coordinates = tuple(body.expr(argument) for argument in rest)
    if value is not None:
        coordinates = (value, *coordinates)
    fetch = TextureFetch(texture, coordinates, is_store, body.site(), type_, span, name)
    if output is None:
        return fetch
    where = dereference(body, output, type_)
    return Assign(place_for_access(body, where), None, fetch, type_, type_, span)


def _texture_variable(body: Body, node: Node) -> Variable | None:
    try:
        where = body.location(node)
        if where is None:
            value = body.expr(node)
            while isinstance(value, Cast):
                value = value.operand
            return value.place.variable if isinstance(value, Read) else None
    except LoweringError:
        return None
    return where.variable if isinstance(where, RegisterPlace) else where.root


def _swap(body: Body, arguments: list[Node], span: Span) -> Expr:
    left, right = body.location(arguments[0]), body.location(arguments[1])
    if left is None or right is None:
        raise LoweringError("swap of something that is no object known here", arguments[0])
    kept = body.temporary("swapped", left.type, span)
    place = RegisterPlace(kept, (), left.type)
    type_ = left.type
    parts = (
        Assign(place, None, read(body, left, span), type_, type_, span),
        Assign(place_for_access(body, left), None, read(body, right, span), type_, type_, span),
        Assign(place_for_access(body, right), None, Read(place, type_, span), type_, type_, span),
    )
    first = Binary(BinaryOp.COMMA, parts[0], parts[1], type_, type_, span)
    return Binary(BinaryOp.COMMA, first, parts[2], type_, type_, span)


# --------------------------------------------------------------------------- unknown functions


def readable_values(body: Body, arguments: list[Node], span: Span) -> list[Expr]:
    """The arguments of a call that is not followed; what cannot be read stands there without a value."""
    values: list[Expr] = []
    for argument in arguments:
        try:
            values.append(body.expr(argument))
        except LoweringError:
            values.append(Construct((), (), body.type(argument), span))
    return values


_NO_BODY = "body not found, its cost is not counted"
TOO_DEEP = "recursion or size of what is inlined is too deep to follow"
THROUGH_POINTER = "a call through a pointer is not followed, its cost is not counted"


def opaque(
    body: Body, node: Node, name: str, arguments: list[Node], span: Span, reason: str = _NO_BODY
) -> Expr:
    """A call that cannot be followed: its cost is unknown, its outputs become unknown."""
    values = readable_values(body, arguments, span)
    type_ = body.type(node)
    if _DEVICE_RUNTIME.match(name):
        body.unit.report("PW005", Severity.NOTE, span, f"cost of '{name}' in device code is not counted")
        return Intrinsic(name, tuple(values), (), Semantics.OPAQUE, False, type_, span)
    body.hole("PW005", span, f"call of '{name}': {reason}")
    result = Intrinsic(name, tuple(values), (), Semantics.OPAQUE, True, type_, span)
    return _store_outputs(
        body, result, [v for v in values if id(v) in body.register_addresses and isinstance(v, AddressOf)]
    )
