"""Loads, stores and atomics: accesses to objects, and the free moves through parameter space."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.matrix_tiles import address_of_share, tile_of
from wattslice.frontend.ptx.lowering.blocks import parameter_place
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.registers import bit_cast
from wattslice.frontend.ptx.operations import (
    ATOMICS,
    LANE_NAMES,
    PAST_L1,
    POINTER,
    SPACES,
    lanes_of,
    scalar_types,
    space_of,
    type_of,
)
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Immediate,
    Instruction,
    Operand,
    Pair,
    Register,
    Symbol,
    Vector,
)
from wattslice.ir import Expr, Intrinsic, MemorySpace, Read, Semantics, Span, Type, TypeKind, Variable
from wattslice.patterns import regex


def access_type(instruction: Instruction) -> Type:
    """The type of what an access moves, its lanes included."""
    return type_of(scalar_types(instruction.modifiers)[-1], lanes_of(instruction.modifiers))


def place_of(
    body: FunctionBody, instruction: Instruction, span: Span, address: Address, type_: Type
) -> ir.MemoryPlace:
    """The object that an address operand names."""
    base = address.base
    root: Variable | None = None
    if isinstance(base, Symbol):
        root = body.symbol(base.name)
        pointer = body.address_of(base.name, base.offset, span)
    elif isinstance(base, Register):
        root = body.registers.pointers.root(base.name)
        pointer = body.value(base, POINTER, span)
        if pointer.type.kind is not TypeKind.POINTER:
            pointer = ir.Cast(pointer, POINTER, span)
    else:
        pointer = ir.Cast(ir.Constant(base.value, ir.INT32, span), POINTER, span)
    offset = address.offset
    if isinstance(address.subscript, Immediate):
        offset += int(address.subscript.value) * type_.size_bytes
    if offset:
        pointer = ir.PointerOffset(pointer, None, 1, offset, False, False, POINTER, span)
    root = None if root is None else body.parts.roots.get(root, root)
    space = SPACES.get(space_of(instruction.modifiers) or "")
    if space is None:
        space = _space_of_root(root)
    is_volatile = bool({"volatile", "relaxed", "acquire", "release", "mmio"} & set(instruction.modifiers))
    skips_l1 = not PAST_L1.isdisjoint(instruction.modifiers)
    return ir.MemoryPlace(pointer, space, type_, root, body.parts.site(), is_volatile, skips_l1)


def _space_of_root(root: Variable | None) -> MemorySpace:
    """Where a generic address points: into the variable that it is made from, else into global memory."""
    if root is None or root.space in (MemorySpace.REGISTER, MemorySpace.TEXTURE):
        return MemorySpace.GLOBAL
    return root.space


def _address(instruction: Instruction) -> Address | None:
    return next((operand for operand in instruction.operands if isinstance(operand, Address)), None)


def _load(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    address = _address(instruction)
    if address is None:
        return False
    type_ = access_type(instruction)
    targets = _elements(instruction.operands[0])
    if space_of(instruction.modifiers) == "param":
        _load_parameter(body, instruction, targets, span)
        return True
    place = place_of(body, instruction, span, address, type_)
    if len(targets) == 1:
        target = targets[0]
        is_pointer = isinstance(target, Register) and target.name in body.registers.pointers.registers
        value: Expr = ir.Load(place, POINTER if is_pointer else type_, span)
        body.set(target, _held(body, target, value, span), span)
        return True
    lane = type_of(scalar_types(instruction.modifiers)[-1])
    for target, part in _dealt(body, "loaded", ir.Load(place, type_, span), lane, targets):
        body.set(target, _copied(body, target, part, span), span)
    return True


def _dealt(
    body: FunctionBody, name: str, value: Expr, lane: Type, targets: tuple[Operand, ...]
) -> Iterator[tuple[Register, Expr]]:
    """The registers that anybody reads, and the element of a vector, kept as `name`, that each gets."""
    kept = Variable(name, value.type, MemorySpace.REGISTER, ir.VariableRole.TEMPORARY, value.span)
    body.statements.append(ir.Declare(kept, value, body.parts.region(), value.span))
    for element, target in zip(LANE_NAMES, targets, strict=False):
        if isinstance(target, Register) and not body.registers.is_unused(target.name):
            yield target, Read(ir.RegisterPlace(kept, (element,), lane), lane, value.span)


def _copied(body: FunctionBody, target: Register, part: Expr, span: Span) -> Expr:
    if target.name in body.registers.pointers.registers:
        return ir.Cast(part, POINTER, span)
    return _held(body, target, part, span)


def _held(body: FunctionBody, target: Operand, value: Expr, span: Span) -> Expr:
    """A loaded value as its register holds it: a register of bits takes any number, one of floats bits."""
    if not isinstance(target, Register):
        return value
    declared = body.registers.declared_type(target.name)
    if declared.is_float and value.type.kind is TypeKind.INT:
        return bit_cast(value, declared, span)
    if declared.kind is TypeKind.INT and value.type.kind is TypeKind.INT and declared.bits > value.type.bits:
        return ir.Cast(value, declared, span)
    return value


def _first_of(operand: Operand) -> Operand:
    """The result that counts: of two, the first."""
    return operand.first if isinstance(operand, Pair) else operand


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.elements if isinstance(operand, Vector) else (operand,)


def _load_parameter(
    body: FunctionBody, instruction: Instruction, targets: tuple[Operand, ...], span: Span
) -> None:
    """Parameters lie in registers: reading one costs nothing."""
    place = parameter_place(instruction)
    scalar = type_of(scalar_types(instruction.modifiers)[-1])
    for number, target in enumerate(targets):
        if not isinstance(target, Register):
            continue
        is_pointer = target.name in body.registers.pointers.registers
        wanted = POINTER if is_pointer else scalar
        variable = None
        if place is not None:
            variable = body.parameter(place[0], place[1] + number * scalar.size_bytes, wanted)
        if variable is None:
            value: Expr = Intrinsic("parameter", (), (), Semantics.UNIFORM, False, wanted, span)
        else:
            value = Read(ir.RegisterPlace(variable, (), variable.type), variable.type, span)
        body.set(target, value, span)


def _store(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    address = _address(instruction)
    if address is None:
        return False
    type_ = access_type(instruction)
    scalar = type_of(scalar_types(instruction.modifiers)[-1])
    values = _values(body, instruction.operands[-1], scalar, span)
    if space_of(instruction.modifiers) == "param":
        _store_parameter(body, instruction, scalar, values, span)
        return True
    place = place_of(body, instruction, span, address, type_)
    value = values[0]
    if len(values) > 1:
        value = ir.Construct(values, LANE_NAMES[: len(values)], type_, span)
    body.emit(ir.Assign(place, None, value, type_, type_, span), span)
    return True


def _store_parameter(
    body: FunctionBody, instruction: Instruction, type_: Type, values: tuple[Expr, ...], span: Span
) -> None:
    place = parameter_place(instruction)
    if place is None:
        return
    for number, value in enumerate(values):
        kind = POINTER if value.type.kind is TypeKind.POINTER else type_
        variable = body.parameter(place[0], place[1] + number * type_.size_bytes, kind)
        if variable is None:
            continue
        root = _root_of(value)
        if root is not None:
            body.parts.roots[variable] = body.parts.roots.get(root, root)
        target = ir.RegisterPlace(variable, (), variable.type)
        body.emit(ir.Assign(target, None, value, variable.type, variable.type, span), span)


def _root_of(value: Expr) -> Variable | None:
    """The object that a pointer passed to a function points into, where that is plain to see."""
    while isinstance(value, ir.PointerOffset):
        value = value.pointer
    match value:
        case Read(place=place) if value.type.kind is TypeKind.POINTER:
            return place.variable
        case ir.AddressOf(variable=variable):
            return variable
        case _:
            return None


def _atomic(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    address = _address(instruction)
    op = next((ATOMICS[word] for word in instruction.modifiers if word in ATOMICS), None)
    type_ = access_type(instruction)
    if address is None or op is None or type_.lanes > 2:
        return False
    at = instruction.operands.index(address)
    arguments = tuple(body.value(operand, type_, span) for operand in instruction.operands[at + 1 :])
    place = place_of(body, instruction, span, address, type_)
    value = ir.Atomic(op, place, arguments, type_, span)
    if instruction.opcode == "red":
        body.emit(value, span)
    else:
        body.set(instruction.operands[0], _held(body, instruction.operands[0], value, span), span)
    return True


_COPY_BYTES = frozenset({4, 8, 16})


def _copy(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    """`cp.async`: a load from global memory and a store into shared memory, as in CUDA."""
    operands = instruction.operands
    if len(operands) < 3 or "global" not in instruction.modifiers:
        return False
    target, source, size = operands[:3]
    if not isinstance(target, Address) or not isinstance(source, Address):
        return False
    if not isinstance(size, Immediate) or size.value not in _COPY_BYTES:
        return False
    type_ = Type(TypeKind.INT, bits=32, signed=False, lanes=int(size.value) // 4)
    origin = place_of(body, replace(instruction, modifiers=("global",)), span, source, type_)
    place = place_of(body, replace(instruction, modifiers=("shared",)), span, target, type_)
    body.emit(ir.Assign(place, None, ir.Load(origin, type_, span), type_, type_, span), span)
    return True


_SHAPE = regex(r"m(\d+)n(\d+)k(\d+)")


def _matrix(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    """`wmma.load`, `wmma.store`: one access by each thread, for its share of the tile (docs/counting.md)."""
    modifiers = instruction.modifiers
    is_load = "load" in modifiers
    address = _address(instruction)
    shape = next((found for word in modifiers if (found := _SHAPE.fullmatch(word))), None)
    names = scalar_types(modifiers)
    if address is None or shape is None or not names or not (is_load or "store" in modifiers):
        return False
    m, n, k = map(int, shape.groups())
    use = next((word for word in modifiers if word in ("a", "b")), "")
    tile = tile_of(use, m, n, k, is_column_major="col" in modifiers)
    elements = tile.share
    if elements is None:
        return False
    place = place_of(body, instruction, span, address, type_of(names[-1]))
    element = place.type
    part = type_of(names[-1], elements)
    at = instruction.operands.index(address)
    rest = instruction.operands[at + 1 if is_load else at + 2 :]
    stride = body.value(rest[0], ir.INT32, span) if rest else ir.Constant(tile.columns, ir.INT32, span)
    where = address_of_share(place.address, tile, stride, element, part, POINTER, span)
    place = replace(place, address=where, type=part)
    name = "ptx " + instruction.mnemonic
    if not is_load:
        values = _values(body, instruction.operands[at + 1], element, span)
        value = Intrinsic(name, values, (), Semantics.OPAQUE, False, part, span)
        body.emit(ir.Assign(place, None, value, part, part, span), span)
        return True
    kept = Variable("tile", part, MemorySpace.REGISTER, ir.VariableRole.TEMPORARY, span)
    body.statements.append(ir.Declare(kept, ir.Load(place, part, span), body.parts.region(), span))
    whole = Read(ir.RegisterPlace(kept, (), part), part, span)
    for target in _elements(instruction.operands[0]):
        if isinstance(target, Register):
            type_ = body.registers.declared_type(target.name)
            body.set(target, Intrinsic(name, (whole,), (), Semantics.OPAQUE, False, type_, span), span)
    return True


# ---------------------------------------------------------------------------
# Barriers, exchanges between lanes, textures: what no operator says.


def _barrier(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    if "red" in instruction.modifiers:
        return False
    if "warp" in instruction.modifiers:  # __syncwarp
        body.emit(Intrinsic("__syncwarp", (), (), Semantics.NONE, False, ir.VOID, span), span)
        return True
    operations = (ir.OperationCount(ir.OperationClass.BARRIER, 1.0),)
    body.emit(Intrinsic("__syncthreads", (), operations, Semantics.BARRIER, False, ir.VOID, span), span)
    return True


def _fence(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    body.emit(Intrinsic("__threadfence", (), (), Semantics.NONE, False, ir.VOID, span), span)
    return True


_EXCHANGES = {
    "shfl": ("__shfl_sync", Semantics.OPAQUE),
    "vote": ("__ballot_sync", Semantics.UNIFORM),
    "activemask": ("__ballot_sync", Semantics.UNIFORM),
    "match": ("__match_any_sync", Semantics.OPAQUE),
    "redux": ("__reduce_add_sync", Semantics.UNIFORM),
}


def _exchange(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    name, semantics = _EXCHANGES[instruction.opcode]
    target = instruction.operands[0]
    first = _first_of(target)
    types = scalar_types(instruction.modifiers)
    type_ = ir.BOOL if types and types[-1] == "pred" else ir.INT32
    values = [
        body.registers.read(operand.name, operand.component, span)
        for operand in instruction.operands[1:]
        if isinstance(operand, Register)
    ]
    if instruction.opcode == "vote":  # as CUDA has them: the mask before what is asked
        (mode,) = {"all", "any", "uni", "ballot"}.intersection(instruction.modifiers)
        asked, *named = instruction.operands[1:3]
        mask = body.value(named[0], ir.UINT32, span) if named else ir.Constant(-1, ir.UINT32, span)
        name, values = f"__{mode}_sync", [mask, body.value(asked, ir.BOOL, span)]
    if isinstance(first, Register):
        declared = body.registers.declared_type(first.name)
        type_ = values[0].type if instruction.opcode == "shfl" and values else declared
        if type_.kind is TypeKind.POINTER:
            type_ = declared
    operations = (ir.OperationCount(ir.OperationClass.INT, 1.0),)
    found = Intrinsic(name, tuple(values), operations, semantics, False, type_, span)
    body.set(first, found, span)
    if isinstance(target, Pair):
        body.set(target.second, Intrinsic(name, (), (), Semantics.OPAQUE, False, ir.BOOL, span), span)
    return True


def _texture(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    """`tex`, `tld4`, `suld`: a fetch; `sust`: a write."""
    is_store = instruction.opcode == "sust"
    address = _address(instruction)
    if address is None:
        return False
    texture: Variable | None = None
    if isinstance(address.base, Symbol):
        texture = body.symbol(address.base.name)
    elif isinstance(address.base, Register):
        value = body.registers.read(address.base.name, "", span)
        texture = value.place.variable if isinstance(value, Read) else None
    coordinates: list[Expr] = []
    for argument in address.arguments:
        for part in _elements(argument):
            if isinstance(part, Register):
                coordinates.append(body.registers.read(part.name, part.component, span))
            elif not isinstance(part, Symbol):
                coordinates.append(body.value(part, ir.INT32, span))
    types = scalar_types(instruction.modifiers)
    element = type_of(types[0] if types else "b32")
    lanes = lanes_of(instruction.modifiers) if is_store else _lanes_used(body, instruction)
    type_ = Type(element.kind, element.bits, element.signed, lanes)
    name = instruction.mnemonic
    if is_store:
        stored = _values(body, instruction.operands[-1], element, span)
        fetch = ir.TextureFetch(
            texture, (*stored, *coordinates), True, body.parts.site(), ir.VOID, span, function=name
        )
        body.emit(fetch, span)
        return True
    fetch = ir.TextureFetch(texture, tuple(coordinates), False, body.parts.site(), type_, span, function=name)
    target = _first_of(instruction.operands[0])
    if not isinstance(target, Vector):
        body.set(target, fetch, span)
        return True
    for register, part in _dealt(body, "fetched", fetch, element, target.elements):
        body.set(register, part, span)
    return True


def _lanes_used(body: FunctionBody, instruction: Instruction) -> int:
    """The elements of a texel that are fetched: `tex` has four results, of fewer channels some are unused."""
    target = _first_of(instruction.operands[0])
    if instruction.opcode != "tex" or not isinstance(target, Vector):
        return lanes_of(instruction.modifiers)
    used = [
        number
        for number, part in enumerate(target.elements, start=1)
        if isinstance(part, Register) and not body.registers.is_unused(part.name)
    ]
    return max(used, default=1)


def _values(body: FunctionBody, operand: Operand, type_: Type, span: Span) -> tuple[Expr, ...]:
    return tuple(body.value(part, type_, span) for part in _elements(operand))


_LOWERINGS: tuple[tuple[str, Callable[[FunctionBody, Instruction, Span], bool]], ...] = (
    ("ld ldu", _load),
    ("st", _store),
    ("atom red", _atomic),
    ("cp", _copy),
    ("wmma", _matrix),
    ("bar barrier", _barrier),
    ("membar fence", _fence),
    ("shfl vote activemask match redux", _exchange),
    ("tex tld4 suld sust", _texture),
    # Hints and waits move nothing that is counted.
    ("prefetch prefetchu nanosleep pmevent brkpt discard", lambda body, instruction, span: True),
    ("applypriority griddepcontrol setmaxnreg", lambda body, instruction, span: True),
)
LOWERINGS = {name: lower for names, lower in _LOWERINGS for name in names.split()}
"""How an opcode is lowered; False: of a form that is not known here."""
