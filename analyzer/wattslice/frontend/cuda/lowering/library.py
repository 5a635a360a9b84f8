"""Library calls: the table's arithmetic, and those that are memory accesses, atomics, textures, matrices."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.lowering.context import Body, Cell, Location, LoweringError
from wattslice.frontend.cuda.lowering.expressions import aggregate, convert, extract
from wattslice.frontend.cuda.lowering.memory import (
    address_of,
    dereference,
    must_name_an_object,
    place_for_access,
    pointee_of,
    read,
)
from wattslice.frontend.cuda.lowering.types import DIM3_AXES, pointer_to, vector_of
from wattslice.frontend.matrix_tiles import Tile, address_of_share, tile_of
from wattslice.ir import UINT32, Assign, AtomicOp, BuiltinKind, Expr, Intrinsic, Semantics, Span, TypeKind
from wattslice.ir.builtins import builtin, operations_of
from wattslice.ir.matrices import fragment_of
from wattslice.ir.operation_counts import arithmetic_class
from wattslice.patterns import regex

_ATOMIC = regex(r"^atomic(Add|Sub|Min|Max|And|Or|Xor|Exch|CAS|Inc|Dec)(_block|_system)?$")
_ATOMIC_OPS: dict[str, AtomicOp] = {
    "Add": AtomicOp.ADD,
    "Sub": AtomicOp.SUB,
    "Min": AtomicOp.MIN,
    "Max": AtomicOp.MAX,
    "And": AtomicOp.AND,
    "Or": AtomicOp.OR,
    "Xor": AtomicOp.XOR,
    "Exch": AtomicOp.EXCHANGE,
    "CAS": AtomicOp.CAS,
    "Inc": AtomicOp.INC,
    "Dec": AtomicOp.DEC,
}
_CACHED_LOAD = regex(r"^__ld(g|cg|ca|cs|lu|cv)$")
_CACHED_STORE = regex(r"^__st(wb|cg|cs|wt)$")
_TEXTURE = regex(r"^tex(1D|2D|3D|Cubemap|1Dfetch)\w*$")
_SURFACE = regex(r"^surf(1D|2D|3D|Cubemap)\w*(read|write)$")
_WORD_OF_DOUBLE = regex(r"__double2(hi|lo)int$")
_HALF_OF_PAIR = regex(r"__(low|high)s?2(half|float|bfloat16)")
_PAIR = regex(r"__(halves|floats)2\w+2(_rn)?$|__hiloint2double$")
_ROUNDED = regex(
    r"__(?:float|double|half)2u?(?:int|ll|short|char)_r[nud]$|__\w+2(?:float|half|double)_r[nzud]$"
)
_ROUNDINGS = {"n": Semantics.RINT, "u": Semantics.CEIL, "d": Semantics.FLOOR}
# The runtime called from a kernel (streams, graphs): beside the kernel's own work like printf, but told.
_DEVICE_RUNTIME = regex(r"cuda[A-Z]\w+$")


def library_call(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """A call of a function the analyzer knows by name; None when it does not."""
    plain = name.removeprefix("__builtin_")
    atomic = _ATOMIC.match(name)
    if atomic is not None and arguments:
        return _atomic(body, node, atomic[1], arguments, span)
    if _CACHED_LOAD.match(name) and arguments:
        pointer = body.expr(arguments[0])
        element = pointer.type.element or body.type(node)
        loaded = read(body, _global(dereference(body, pointer, element)), span)
        if not isinstance(loaded, ir.Load):
            return loaded
        skips_l1 = name in ("__ldcg", "__ldcv")
        return replace(loaded, place=replace(loaded.place, skips_l1=skips_l1, is_assembly=True))
    if _CACHED_STORE.match(name) and len(arguments) == 2:
        pointer = body.expr(arguments[0])
        where = _global(dereference(body, pointer, pointer.type.element or body.type(arguments[1])))
        value = body.expr(arguments[1])
        return Assign(place_for_access(body, where), None, value, where.type, where.type, span)
    if (_TEXTURE.match(name) or _SURFACE.match(name)) and arguments:
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
            return aggregate(tuple(body.expr(a) for a in arguments), type_, span)
    rule = builtin(name)
    if rule is None:
        return None
    values = tuple(body.expr(argument) for argument in arguments)
    type_ = body.type(node)
    if type_.kind is TypeKind.UNKNOWN and values:
        type_ = values[0].type
    if (packed := _packed(body, name, values, type_, span)) is not None:
        return packed
    if rule.semantics is Semantics.IDENTITY and len(values) == 1 and not rule.fixed:
        value = values[0]
        if _ROUNDED.match(name) and not (type_.is_float and name.endswith("_rn")):  # no cast rounds like that
            rounded = Semantics.IDENTITY if type_.is_float else _ROUNDINGS[name[-1]]
            value = Intrinsic(name, values, (), rounded, False, value.type, span)
        return _free_conversion(body, value, type_, span)
    kept = tuple(value for i, value in enumerate(values) if i not in rule.outputs)
    operations = operations_of(rule, type_, tuple(value.type for value in kept))
    result = Intrinsic(name, kept, operations, rule.semantics, False, type_, span)
    return _store_outputs(body, result, [values[i] for i in rule.outputs if i < len(values)])


def _global(where: Location) -> Location:
    if isinstance(where, Cell) and where.space is not ir.MemorySpace.GLOBAL:
        return Cell(where.address, ir.MemorySpace.GLOBAL, where.type, where.root)
    return where


def _free_conversion(body: Body, value: Expr, type_: ir.Type, span: Span) -> Expr:
    if type_.kind is TypeKind.VOID or type_ == value.type:
        return value
    if type_.lanes > 1 or value.type.lanes > 1:
        return ir.Construct((value,), (), type_, span)
    return convert(body, value, type_, span)


def _packed(body: Body, name: str, values: tuple[Expr, ...], type_: ir.Type, span: Span) -> Expr | None:
    """Functions that take packed values apart or put them together, which costs nothing; None for others."""
    word = _WORD_OF_DOUBLE.match(name)
    if word is not None and len(values) == 1:
        return ir.Extract(values[0], word[1], type_, span)
    if name == "__lowhigh2highlow" and values and values[0].type.lanes == 2:
        lane = values[0].type.lane
        return aggregate(tuple(extract(values[0], field, lane, span) for field in "yx"), type_, span)
    half = _HALF_OF_PAIR.match(name)
    if half is not None and values:
        field = "x" if half[1] == "low" else "y"
        if any(value.type.lanes != 2 for value in values):  # a type whose header is not there
            return ir.Extract(values[0], field, type_, span) if len(values) == 1 else None
        parts = tuple(extract(value, field, value.type.lane, span) for value in values)
        if type_.lanes == 1:
            return convert(body, parts[0], type_, span)
        return aggregate(parts, type_, span) if len(parts) > 1 else ir.Construct(parts, (), type_, span)
    if len(values) > 1 and _PAIR.match(name):
        return aggregate(values, type_, span)
    return None


def _store_outputs(body: Body, call: Intrinsic, pointers: Sequence[Expr]) -> Expr:
    """`call`, whose results are unknown, then a store of one of them through each pointer (`sincosf`)."""
    if not pointers:
        return call
    span = call.span
    is_void = call.type.kind is TypeKind.VOID
    type_ = pointers[0].type.element or ir.VOID if is_void else call.type
    place = ir.RegisterPlace(body.temporary(f"results of {call.name}", type_, span), (), type_)
    done: Expr = Assign(place, None, call, type_, type_, span)
    for number, pointer in enumerate(pointers):
        element = pointer.type.element or ir.VOID
        where = place_for_access(body, dereference(body, pointer, element))
        value = ir.Extract(ir.Read(place, type_, span), f"result {number}", element, span)
        stored = Assign(where, None, value, element, element, span)
        done = ir.Binary(ir.BinaryOp.COMMA, done, stored, element, element, span)
    if is_void:
        return done
    return ir.Binary(ir.BinaryOp.COMMA, done, ir.Read(place, type_, span), type_, type_, span)


# --------------------------------------------------------------------------- memory


def _atomic(body: Body, node: Node, operation: str, arguments: list[Node], span: Span) -> Expr:
    pointer = body.expr(arguments[0])
    operands = tuple(body.expr(argument) for argument in arguments[1:])
    element = pointer.type.element or body.type(node)
    where = dereference(body, pointer, element)
    if isinstance(where, ir.RegisterPlace):
        where = Cell(pointer, ir.MemorySpace.LOCAL, element, where.variable)
    place = place_for_access(body, where)
    assert isinstance(place, ir.MemoryPlace)
    return ir.Atomic(_ATOMIC_OPS[operation], place, operands, element, span)


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
    fetch = ir.TextureFetch(texture, coordinates, is_store, body.site(), type_, span, name)
    if output is None:
        return fetch
    where = dereference(body, output, type_)
    return Assign(place_for_access(body, where), None, fetch, type_, type_, span)


def _texture_variable(body: Body, node: Node) -> ir.Variable | None:
    try:
        where = body.location(node)
        if where is None:
            value = body.expr(node)
            while isinstance(value, ir.Cast):
                value = value.operand
            return value.place.variable if isinstance(value, ir.Read) else None
    except LoweringError:
        return None
    return where.variable if isinstance(where, ir.RegisterPlace) else where.root


def _swap(body: Body, arguments: list[Node], span: Span) -> Expr:
    left, right = body.location(arguments[0]), body.location(arguments[1])
    if left is None or right is None:
        raise LoweringError("swap of something that is no object known here", arguments[0])
    kept = body.temporary("swapped", left.type, span)
    place = ir.RegisterPlace(kept, (), left.type)
    type_ = left.type
    parts = (
        Assign(place, None, read(body, left, span), type_, type_, span),
        Assign(place_for_access(body, left), None, read(body, right, span), type_, type_, span),
        Assign(place_for_access(body, right), None, ir.Read(place, type_, span), type_, type_, span),
    )
    first = ir.Binary(ir.BinaryOp.COMMA, parts[0], parts[1], type_, type_, span)
    return ir.Binary(ir.BinaryOp.COMMA, first, parts[2], type_, type_, span)


# --------------------------------------------------------------------------- unknown functions


def readable(body: Body, argument: Node) -> Expr:
    """An argument of a call that is not followed; what cannot be read stands there without a value."""
    try:
        return body.expr(argument)
    except LoweringError:
        return ir.Construct((), (), body.type(argument), body.span(argument))


_NO_BODY = "body not found, its cost is not counted"
TOO_DEEP = "recursion or size of what is inlined is too deep to follow"
THROUGH_POINTER = "a call through a pointer is not followed, its cost is not counted"


def opaque(
    body: Body, node: Node, name: str, arguments: list[Node], span: Span, reason: str = _NO_BODY
) -> Expr:
    """A call that cannot be followed: its cost is unknown, its outputs become unknown."""
    values = [readable(body, argument) for argument in arguments]
    callee = node.referenced
    taken = [] if callee is None else [child for child in callee.children if child.kind == C.PARM_DECL]
    for i, (argument, parameter) in enumerate(zip(arguments, taken, strict=False)):
        where = body.location(argument) if must_name_an_object(parameter.type) else None
        if where is not None:
            values[i] = address_of(body, where, span)
    type_ = body.type(node)
    if _DEVICE_RUNTIME.match(name):
        body.unit.report("PW005", ir.Severity.NOTE, span, f"cost of '{name}' in device code is not counted")
        return Intrinsic(name, tuple(values), (), Semantics.OPAQUE, False, type_, span)
    body.hole("PW005", span, f"call of '{name}': {reason}")
    result = Intrinsic(name, tuple(values), (), Semantics.OPAQUE, True, type_, span)
    return _store_outputs(
        body, result, [v for v in values if id(v) in body.register_addresses and isinstance(v, ir.AddressOf)]
    )


# ---------------------------------------------------------------------------
# Accesses wider than an element: matrix tiles, asynchronous copies, memcpy.


_WORD_BYTES = 4
_OF_A_WORD = MappingProxyType({"b1": 32, "s4": 8, "u4": 8})


def _tile(type_name: str, layout: str) -> Tile | None:
    """The tile of a fragment's type; None where its shape is not known here (a template nobody uses)."""
    found = fragment_of(type_name)
    if found is None:
        return None
    k = found.k // _OF_A_WORD.get(found.element, 1)  # in memory they are words
    is_column_major = "col_major" in type_name or "col_major" in layout
    return tile_of(found.use.removeprefix("matrix_"), found.m, found.n, k, is_column_major=is_column_major)


def matrix_access(body: Body, name: str, arguments: list[Node], span: Span) -> Expr:
    """One access of the pointer's space by each thread, for its share of the tile (docs/counting.md)."""
    loads = name == "load_matrix_sync"
    fragment, pointer_node = (arguments[0], arguments[1]) if loads else (arguments[1], arguments[0])
    pointer = body.expr(pointer_node)
    rest = [body.expr(argument) for argument in arguments[2:]]
    element = pointer.type.element or ir.VOID
    where, is_exchanged = dereference(body, pointer, element), False
    if isinstance(where, Cell) and rest:
        layout = body.unit.spans.text(arguments[3]) if len(arguments) > 3 else ""
        tile = _tile(body.type(fragment).name, layout)
        if tile is not None:
            where = _share(where, tile, rest[0], element, span)
            is_exchanged = tile.is_operand and tile.is_turned and element.bits == 16
    elif not isinstance(where, Cell):
        where = Cell(pointer, ir.MemorySpace.LOCAL, element, where.variable)
    if loads:
        value = read(body, where, span)
        detail = ir.TRANSPOSED if is_exchanged and where.space is not ir.MemorySpace.SHARED else ""
        return Intrinsic(name, (value, *rest), (), Semantics.NONE, False, ir.VOID, span, detail)
    place = place_for_access(body, where)
    stored = body.expr(fragment)  # what its elements were multiplied by is needed
    step = Intrinsic(name, (stored, *rest), (), Semantics.OPAQUE, False, where.type, span)
    return Assign(place, None, step, where.type, where.type, span)


def _share(where: Cell, tile: Tile, stride: Expr, element: ir.Type, span: Span) -> Cell:
    """What one lane moves."""
    elements = tile.share
    if elements is None or element.kind not in (TypeKind.INT, TypeKind.FLOAT):
        return where
    part = vector_of(element, elements) if elements > 1 else element
    address = address_of_share(where.address, tile, stride, element, part, pointer_to(part), span)
    return Cell(address, where.space, part, where.root)


def copy_element(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """An asynchronous copy by each thread: one load and one store, of the bytes where they are constant."""
    pointers = [a for a in arguments if body.type(a).kind in (TypeKind.POINTER, TypeKind.ARRAY)]
    if len(pointers) < 2:
        return None
    target, source = body.expr(pointers[0]), body.expr(pointers[1])
    element = _element(source) or _element(target) or ir.FLOAT32
    if body.type(arguments[0]).kind is TypeKind.RECORD:
        message = f"'{name}' of a group: read as one element for each thread"
        body.unit.report("PW006", ir.Severity.NOTE, span, message)
    elif len(arguments) > 2:
        element = _of_bytes(body.expr(arguments[2]), element)
    to, origin = dereference(body, target, element), dereference(body, source, element)
    value = read(body, origin, span)
    if body.type(arguments[0]).kind is TypeKind.RECORD:  # which element a thread copies is not told
        value = Intrinsic(f"{name} of a group", (value,), (), Semantics.IDENTITY, False, element, span)
    return Assign(place_for_access(body, to), None, value, element, element, span)


def _of_bytes(size: Expr, element: ir.Type) -> ir.Type:
    """A type of so many bytes: 4, 8 and 16 are what one instruction can copy."""
    number = size.value if isinstance(size, ir.Constant) else None
    if number == element.size_bytes or number not in (4, 8, 16):
        return element
    return vector_of(UINT32, int(number) // _WORD_BYTES) if number > _WORD_BYTES else UINT32


def _element(pointer: Expr) -> ir.Type | None:
    """What a pointer points at before it was cast to void*."""
    while isinstance(pointer, ir.Cast) and (
        pointer.type.element is None or pointer.type.element.kind is TypeKind.VOID
    ):
        pointer = pointer.operand
    element = pointer.type.element
    return None if element is None or element.kind is TypeKind.VOID else element


def copy_bytes(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr:
    """`memcpy(to, from, n)`, `memset(to, byte, n)` with a constant n: an object of n bytes."""
    values = tuple(body.expr(argument) for argument in arguments)
    to, given, size = values[:3]
    type_ = body.type(node)
    if not isinstance(size, ir.Constant):
        body.hole("PW005", span, f"cost of '{name}' unknown: its size is no constant")
        return Intrinsic(name, values, (), Semantics.OPAQUE, True, type_, span)
    count = int(size.value)
    if count <= 0:
        return to
    target = _bytes_at(body, to, count)
    if name != "memset":
        origin = _bytes_at(body, given, count)
        seen = target.type if origin.type.size_bytes == target.type.size_bytes else origin.type
        given = read(body, replace(origin, type=seen) if _is_register(origin) else origin, span)
    elif not (isinstance(given, ir.Constant) and not given.value and _is_number(target.type)):
        given = ir.Construct((), (), target.type, span)
    if target.type.size_bytes > count:  # a part of a register
        given = ir.Construct((given, read(body, target, span)), (), target.type, span)
    copied = Assign(place_for_access(body, target), None, given, target.type, target.type, span)
    return ir.Binary(ir.BinaryOp.COMMA, copied, to, to.type, to.type, span)


def _is_register(where: Location) -> bool:
    return isinstance(where, ir.RegisterPlace)


def _is_number(type_: ir.Type) -> bool:
    return type_.kind in (TypeKind.INT, TypeKind.FLOAT, TypeKind.BOOL) and type_.lanes == 1


def _bytes_at(body: Body, pointer: Expr, count: int) -> Location:
    """The `count` bytes that a pointer is given for: a register, or what memory holds there."""
    known = body.register_addresses.get(id(pointer))
    if known is None:
        alignment = min(count & -count, _alignment(body, pointer))
        block = ir.Type(TypeKind.RECORD, record_bytes=count, record_alignment=alignment)
        return dereference(body, pointer, block)
    place = known[1]
    if count <= place.type.size_bytes:
        return place
    return ir.RegisterPlace(place.variable, (), place.variable.type)  # from its first member on


def _alignment(body: Body, pointer: Expr) -> int:
    """What the compiler knows an address to be a multiple of, at most 16: nothing of a mere pointer."""
    match pointer:
        case ir.AddressOf(offset_bytes=offset):
            return _lowest_bit(offset)
        case ir.Cast(operand=inner):
            return _alignment(body, inner)
        case ir.PointerOffset(pointer=inner, index=index, scale_bytes=scale, offset_bytes=offset):
            step = 0 if index is None else scale * _factor(index)
            return min(_alignment(body, inner), _lowest_bit(step), _lowest_bit(offset))
        case Intrinsic(name=name, arguments=(_, ir.Constant(value=value), *_)) if name.endswith(
            "assume_aligned"
        ):
            return _lowest_bit(int(value))
        case _:
            found = pointee_of(body, pointer)
            root = None if found is None else found.root
            is_object = root is not None and root.space is not ir.MemorySpace.REGISTER
            return root.type.alignment_bytes if is_object and root is not None else 1


def _lowest_bit(number: int) -> int:
    return min(16, number & -number) or 16


def _factor(index: Expr) -> int:
    """A number that an index is a multiple of."""
    match index:
        case ir.Constant(value=value):
            return int(value)
        case ir.Cast(operand=inner):
            return _factor(inner)
        case ir.Binary(op=ir.BinaryOp.MUL, left=left, right=right):
            return _factor(left) * _factor(right)
        case ir.Binary(op=ir.BinaryOp.ADD | ir.BinaryOp.SUB, left=left, right=right):
            return min(_lowest_bit(_factor(left)), _lowest_bit(_factor(right)))
        case _:
            return 1


# ---------------------------------------------------------------------------
# Cooperative groups: ranks and sizes from the builtin variables at no cost, barriers, shuffles.


_NAMESPACE = "cooperative_groups::"
_TILE = regex(r"thread_block_tile<(\d+)")
_LANES = "lanes"
_MAKER_WORDS = """
    this_thread_block this_thread this_grid this_multi_grid this_cluster coalesced_threads tiled_partition
    binary_partition labeled_partition
"""
_MAKERS = frozenset(_MAKER_WORDS.split())
_EXCHANGE_WORDS = """
    shfl shfl_up shfl_down shfl_xor any all ballot match_any match_all reduce inclusive_scan exclusive_scan
"""
_ONE_INT = frozenset(_EXCHANGE_WORDS.split())
_VECTORS = {
    "group_index": BuiltinKind.BLOCK_IDX,
    "block_index": BuiltinKind.BLOCK_IDX,
    "thread_index": BuiltinKind.THREAD_IDX,
    "group_dim": BuiltinKind.BLOCK_DIM,
    "dim_threads": BuiltinKind.BLOCK_DIM,
    "dim_blocks": BuiltinKind.GRID_DIM,
}


def _free(name: str, semantics: Semantics, type_: ir.Type, span: Span, *arguments: Expr) -> Expr:
    return Intrinsic(name, arguments, (), semantics, False, type_, span)


def _linear(index: BuiltinKind, extent: BuiltinKind, span: Span) -> Expr:
    """`(z * extent.y + y) * extent.x + x`, at no cost: nobody wrote it."""
    i = [ir.Builtin(index, axis, UINT32, span) for axis in range(3)]
    n = [ir.Builtin(extent, axis, UINT32, span) for axis in range(3)]
    rows = _free("rank", Semantics.FMA, UINT32, span, i[2], n[1], i[1])
    return _free("rank", Semantics.FMA, UINT32, span, rows, n[0], i[0])


def _volume(extent: BuiltinKind, span: Span) -> Expr:
    n = [ir.Builtin(extent, axis, UINT32, span) for axis in range(3)]
    plane = _free("size", Semantics.MUL, UINT32, span, n[0], n[1])
    return _free("size", Semantics.MUL, UINT32, span, plane, n[2])


def _thread_rank(span: Span) -> Expr:
    return _linear(BuiltinKind.THREAD_IDX, BuiltinKind.BLOCK_DIM, span)


def _group_name(body: Body, node: Node, arguments: list[Node]) -> str:
    children = node.children
    if children and children[0].kind == C.MEMBER_REF_EXPR:
        inner = [child for child in children[0].children if child.kind >= 100]
        type_ = body.type(inner[0]) if inner else None
    else:
        type_ = body.type(arguments[0]) if arguments else None
    if type_ is not None and type_.element is not None:
        type_ = type_.element
    return "" if type_ is None else type_.name


def group_call(body: Body, node: Node, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """A function or member of cooperative groups; None when the call is none of those."""
    type_ = body.type(node)
    if name in _MAKERS and (type_.name.startswith(_NAMESPACE) or "group" in type_.name):
        lanes = _lanes_of_new(body, name, arguments, span)
        return ir.Construct((lanes,), (_LANES,), type_, span) if lanes else ir.Construct((), (), type_, span)
    group = _group_name(body, node, arguments)
    if not group.startswith(_NAMESPACE):
        return None
    if name in ("sync", "barrier_wait", "barrier_arrive"):
        counted = () if name == "barrier_arrive" else (ir.OperationCount(ir.OperationClass.BARRIER, 1),)
        detail = group.removeprefix(_NAMESPACE)
        return Intrinsic(f"group.{name}", (), counted, Semantics.BARRIER, False, ir.VOID, span, detail)
    if name in _ONE_INT:
        values = tuple(body.expr(a) for a in arguments if not body.type(a).name.startswith(_NAMESPACE))
        counted = _exchanges(name, group, values)
        functions = [n for n in (body.type(a).name for a in arguments) if n.startswith(_NAMESPACE)]
        detail = " ".join(dict.fromkeys((group, *functions))).replace(_NAMESPACE, "")
        lanes, semantics = _lanes_of(body, node, group, span), Semantics.OPAQUE
        if name == "shfl" and lanes is not None and _constant(values[1]) == 0:  # what the first of them has
            first = _free("__ffs", Semantics.FFS, ir.INT32, span, lanes)
            lane = _free(name, Semantics.ADD, ir.INT32, span, first, ir.Constant(-1, ir.INT32, span))
            values, semantics = (values[0], lane), Semantics.BROADCAST
        return Intrinsic(name, values, counted, semantics, False, type_, span, detail)
    kind = _VECTORS.get(name)
    if kind is not None:
        parts = tuple(ir.Builtin(kind, axis, UINT32, span) for axis in range(3))
        return ir.Construct(parts, DIM3_AXES, type_, span)
    lanes = _lanes_of(body, node, group, span)
    if lanes is None or name not in ("thread_rank", "size", "num_threads"):
        return _number(group.removeprefix(_NAMESPACE), name, type_, span)
    if name == "thread_rank":  # those below: the remainder by the bit of this lane
        own = _free("lanemask_eq", Semantics.OPAQUE, UINT32, span)
        lanes = _free(name, Semantics.MOD, UINT32, span, lanes, own)
    return _free("__popc", Semantics.POPC, type_, span, lanes)


def _lanes_of_new(body: Body, name: str, arguments: list[Node], span: Span) -> Expr | None:
    """The lanes of a group of those that run, as bits: all of them, or those with one label."""
    if name == "coalesced_threads":
        return _free("__activemask", Semantics.OPAQUE, UINT32, span)
    if name in ("labeled_partition", "binary_partition") and len(arguments) == 2:
        running = _free("__activemask", Semantics.OPAQUE, UINT32, span)
        return _free("__match_any_sync", Semantics.OPAQUE, UINT32, span, running, body.expr(arguments[1]))
    return None


def _lanes_of(body: Body, node: Node, group: str, span: Span) -> Expr | None:
    """The lanes of such a group whose member is called."""
    called = node.children[0] if node.children else None
    groups = [] if called is None else [child for child in called.children if child.kind >= 100]
    if not group.endswith("coalesced_group") or len(groups) != 1:
        return None
    return ir.Extract(body.expr(groups[0]), _LANES, UINT32, span)


def _constant(expr: Expr) -> int | float | None:
    expr = ir.strip_casts(expr)
    return expr.value if isinstance(expr, ir.Constant) else None


def _exchanges(name: str, group: str, values: Sequence[Expr]) -> tuple[ir.OperationCount, ...]:
    """Exchanges between the lanes of a tile, and what a reduction or scan computes in each of its steps."""
    of_int, type_ = ir.OperationClass.INT, values[0].type if values else ir.VOID
    is_one = name == "reduce" and type_.is_integral and type_.bits <= 32  # REDUX
    if is_one or name not in ("reduce", "inclusive_scan", "exclusive_scan"):
        return (ir.OperationCount(of_int, 1),)
    tile = _TILE.search(group)
    steps = (int(tile[1]) - 1).bit_length() if tile is not None else 5
    words = max(1, type_.size_bytes // _WORD_BYTES)
    arithmetic = ir.OperationCount(arithmetic_class(type_), steps * type_.lanes)
    return ir.OperationCount(of_int, steps * words + (name == "exclusive_scan")), arithmetic


def _number(group: str, name: str, type_: ir.Type, span: Span) -> Expr | None:
    """A rank or size as a value of the builtin variables; opaque where the group is not static."""
    tile = _TILE.match(group)
    size = int(tile[1]) if tile is not None else None
    if group == "thread_block":
        if name == "thread_rank":
            return _thread_rank(span)
        if name in ("size", "num_threads"):
            return _volume(BuiltinKind.BLOCK_DIM, span)
    if group == "grid_group":
        block = _linear(BuiltinKind.BLOCK_IDX, BuiltinKind.GRID_DIM, span)
        threads = _volume(BuiltinKind.BLOCK_DIM, span)
        blocks = _volume(BuiltinKind.GRID_DIM, span)
        if name == "thread_rank":
            return _free(name, Semantics.FMA, type_, span, block, threads, _thread_rank(span))
        if name in ("size", "num_threads"):
            return _free(name, Semantics.MUL, type_, span, blocks, threads)
        if name == "block_rank":
            return block
        if name == "num_blocks":
            return blocks
    if size is not None:
        lanes = ir.Constant(size, UINT32, span)
        if name in ("size", "num_threads"):
            return ir.Constant(size, type_, span)
        if name == "thread_rank":
            return _free(name, Semantics.MOD, type_, span, _thread_rank(span), lanes)
        if name == "meta_group_rank":
            return _free(name, Semantics.DIV, type_, span, _thread_rank(span), lanes)
        if name == "meta_group_size":
            return _free(name, Semantics.DIV, type_, span, _volume(BuiltinKind.BLOCK_DIM, span), lanes)
    if name in ("thread_rank", "size", "num_threads", "meta_group_rank", "meta_group_size", "is_valid"):
        return _free(name, Semantics.OPAQUE, type_, span)
    if name in ("grid_rank", "num_grids", "cluster_size", "block_rank", "num_blocks"):
        return _free(name, Semantics.UNIFORM, type_, span)
    return None
