"""Arithmetic, logic and special functions of PTX as expressions of the tree."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from wattslice import ir
from wattslice.frontend.ptx.lowering.body import FunctionBody
from wattslice.frontend.ptx.lowering.registers import bit_cast, negated
from wattslice.frontend.ptx.operations import POINTER, scalar_types, type_of, working_name
from wattslice.frontend.ptx.syntax.syntax import Immediate, Instruction, Operand, Pair, Register, Vector
from wattslice.ir import BOOL, INT32, Binary, BinaryOp, Constant, Expr, Intrinsic, Semantics, Span, Type
from wattslice.ir.operation_counts import arithmetic_class

ONE_INTEGER = (ir.OperationCount(ir.OperationClass.INT, 1.0),)
ValueLowering = Callable[[FunctionBody, Instruction, Span], Expr | None]
"""The value that an instruction gives its first operand; None: of a form that is not known here."""


def values_of(body: FunctionBody, instruction: Instruction, span: Span, type_: Type) -> list[Expr]:
    """The operands behind the result, all as `type_`."""
    return [body.value(operand, type_, span) for operand in instruction.operands[1:]]


def working_type(instruction: Instruction) -> Type:
    """The type that an instruction works in."""
    return type_of(working_name(instruction.opcode, instruction.modifiers))


def call(
    name: str, arguments: tuple[Expr, ...], number: float, semantics: Semantics, type_: Type, span: Span
) -> Intrinsic:
    """An instruction that C writes as a call: `number` operations in the class of `type_`."""
    operations = (ir.OperationCount(arithmetic_class(type_), number * max(1, type_.lanes)),)
    return Intrinsic(name, arguments, operations, semantics, False, type_, span)


def special_function(name: str, arguments: tuple[Expr, ...], type_: Type, span: Span) -> Intrinsic:
    """A call of a special function (`sinf`): one operation, whatever it takes."""
    operations = (ir.OperationCount(ir.OperationClass.SPECIAL, float(max(1, type_.lanes))),)
    return Intrinsic(name, arguments, operations, Semantics.OPAQUE, False, type_, span)


def _is_pointer(body: FunctionBody, operand: Operand) -> bool:
    """Whether an operand is an address."""
    if isinstance(operand, Register):
        return operand.name in body.registers.pointers.registers
    return not isinstance(operand, Immediate) and body.symbol(getattr(operand, "name", "")) is not None


def _sum(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    result, first, second = instruction.operands[:3]
    is_add = instruction.opcode == "add"
    if type_.kind is ir.TypeKind.INT and isinstance(result, Register) and _is_pointer(body, result):
        pointer, index = (second, first) if is_add and not _is_pointer(body, first) else (first, second)
        if _is_pointer(body, pointer):
            wide = replace(type_, signed=True)
            base, by = body.value(pointer, POINTER, span), body.value(index, wide, span)
            if isinstance(by, Constant):
                step = int(by.value) if is_add else -int(by.value)
                return ir.PointerOffset(base, None, 1, step, True, False, POINTER, span)
            return ir.PointerOffset(base, by, 1, 0, True, not is_add, POINTER, span)
    return _binary(BinaryOp.ADD if is_add else BinaryOp.SUB)(body, instruction, span)


_SIGN_MATTERS = frozenset({BinaryOp.DIV, BinaryOp.MOD, BinaryOp.SHR})


def _binary(op: BinaryOp) -> ValueLowering:
    def lower(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
        named = working_name(instruction.opcode, instruction.modifiers)
        type_ = type_of(named)
        if type_.kind is ir.TypeKind.INT and op not in _SIGN_MATTERS:
            type_ = replace(type_, signed=True)  # the same bits either way
        elif op is BinaryOp.SHR and named.startswith("b"):
            type_ = replace(type_, signed=False)
        left, right = body.value(instruction.operands[1], type_, span), instruction.operands[2]
        amount = type_ if op not in (BinaryOp.SHL, BinaryOp.SHR) else INT32
        return Binary(op, left, body.value(right, amount, span), type_, type_, span)

    return lower


def _product(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    if type_.is_float:
        return _binary(BinaryOp.MUL)(body, instruction, span)
    a, b = values_of(body, instruction, span, type_)[:2]
    return _multiplied(a, b, type_, instruction, span)


def _multiplied(a: Expr, b: Expr, type_: Type, instruction: Instruction, span: Span) -> Expr:
    """`mul.lo`, `mul.wide` or `mul.hi` of two integers."""
    if "wide" in instruction.modifiers:
        wide = replace(type_, bits=2 * type_.bits)
        return Binary(BinaryOp.MUL, _widened(a, wide, span), _widened(b, wide, span), wide, wide, span)
    if "hi" in instruction.modifiers:
        if type_.bits != 32:
            return call("__mulhi", (a, b), 1, Semantics.OPAQUE, type_, span)
        # the product itself costs nothing: what is left of it is the one instruction
        wide = replace(type_, bits=64)
        product = Intrinsic("ptx product", (a, b), (), Semantics.MUL, False, wide, span)
        high = Binary(BinaryOp.SHR, product, Constant(32, INT32, span), wide, wide, span)
        return ir.Cast(high, INT32, span)
    signed = replace(type_, signed=True)
    return Binary(BinaryOp.MUL, a, b, signed, signed, span)


def _widened(value: Expr, wide: Type, span: Span) -> Expr:
    if isinstance(value, Constant):
        return Constant(value.value, wide, span)
    return ir.Cast(value, wide, span)


def _multiply_add(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    operands = instruction.operands
    if type_.is_float:
        a, b, c = values_of(body, instruction, span, type_)[:3]
        name = "fmaf" if type_.bits == 32 else "fma"
        return call(name, (a, b, c), 2, Semantics.FMA, type_, span)
    a, b = (body.value(operand, type_, span) for operand in operands[1:3])
    product = _multiplied(a, b, type_, instruction, span)
    result = replace(type_, signed=True, bits=product.type.bits)
    is_pointer = isinstance(operands[0], Register) and _is_pointer(body, operands[0])
    if is_pointer and _is_pointer(body, operands[3]):
        base = body.value(operands[3], POINTER, span)
        return ir.PointerOffset(base, product, 1, 0, True, False, POINTER, span)
    c = body.value(operands[3], result, span)
    return Binary(BinaryOp.ADD, product, c, result, result, span)


def _divide(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    modifiers = instruction.modifiers
    if not type_.is_float or "rn" in modifiers or type_.bits == 64:
        return _binary(BinaryOp.DIV)(body, instruction, span)
    a, b = values_of(body, instruction, span, type_)[:2]
    name = "__fdividef" if "full" in modifiers or "approx" in modifiers else "__fdiv_rn"
    return call(name, (a, b), 1, Semantics.OPAQUE, type_, span)


def _unary(op: ir.UnaryOp) -> ValueLowering:
    def lower(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
        type_ = working_type(instruction)
        (value,) = values_of(body, instruction, span, type_)[:1]
        chosen = ir.UnaryOp.NOT if type_.kind is ir.TypeKind.BOOL else op
        return ir.Unary(chosen, value, type_, span)

    return lower


_LEAST = {"min": Semantics.MIN, "max": Semantics.MAX, "abs": Semantics.ABS}


def _least(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    values = tuple(values_of(body, instruction, span, type_))
    name = instruction.opcode
    if type_.is_float:
        name = f"f{name}" + ("f" if type_.bits == 32 else "")
    return call(name, values, 1, _LEAST[instruction.opcode], type_, span)


_APPROXIMATE = {
    "sqrt": "rsqrtf",  # what ptxas makes of it costs as much
    "rsqrt": "rsqrtf",
    "sin": "__sinf",
    "cos": "__cosf",
    "lg2": "__log2f",
    "ex2": "exp2f",
}
"""The call of CUDA that becomes the same instructions as the approximation without `.ftz`."""


def _function(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    """A special function: exact ones as calls, approximate ones as one MUFU and what scales its operand."""
    type_ = working_type(instruction)
    values = tuple(values_of(body, instruction, span, type_))
    name = "ptx " + instruction.mnemonic
    if "approx" not in instruction.modifiers:
        name = "sqrt" if type_.bits == 64 else "__fsqrt_rn"
    elif type_.bits == 32 and "ftz" not in instruction.modifiers:
        name = _APPROXIMATE.get(instruction.opcode, name)
    found = special_function(name, values, type_, span)
    if instruction.opcode == "sqrt":
        return replace(found, semantics=Semantics.SQRT)
    return found


def _reciprocal(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    if "approx" in instruction.modifiers:
        return _function(body, instruction, span)
    type_ = working_type(instruction)
    (value,) = values_of(body, instruction, span, type_)[:1]
    one = Constant(1.0, type_, span)
    return Binary(BinaryOp.DIV, one, value, type_, type_, span)


# ---------------------------------------------------------------------------
# Instructions on the bits of integers.


_BITS = {
    "popc": ("__popc", Semantics.POPC),
    "clz": ("__clz", Semantics.CLZ),
    "brev": ("__brev", Semantics.BREV),
}


def _count_bits(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    name, semantics = _BITS[instruction.opcode]
    type_ = replace(working_type(instruction), signed=False)
    values = tuple(values_of(body, instruction, span, type_)[:1])
    result = INT32 if instruction.opcode != "brev" else replace(type_, signed=True)
    return Intrinsic(name, values, ONE_INTEGER, semantics, False, result, span)


def _find_bit(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    """`bfind`: the place of the highest bit, -1 of zero; with `.shiftamt` how far it is from the top."""
    type_ = working_type(instruction)
    (value,) = values_of(body, instruction, span, type_)[:1]

    def known(semantics: Semantics, *arguments: Expr) -> Intrinsic:
        return Intrinsic("__clz", arguments, (), semantics, False, INT32, span)

    def number(value: int) -> Constant:
        return Constant(value, INT32, span)

    if type_.signed:  # of a negative number the highest 0
        found = known(Semantics.OPAQUE, value)
    elif "shiftamt" in instruction.modifiers:  # __ffs(x) is this of the bits turned round, and 1
        turned = Intrinsic("__brev", (value,), (), Semantics.BREV, False, type_, span)
        found = known(Semantics.ADD, known(Semantics.FFS, turned), number(-1))
    else:
        zeros = known(Semantics.CLZ, value)
        found = known(Semantics.FMA, zeros, number(-1), number(type_.bits - 1))
    return replace(found, operations=ONE_INTEGER)


_LOGIC_TABLES = {0xC0: BinaryOp.AND, 0xFC: BinaryOp.OR, 0x3C: BinaryOp.XOR}


def _lop3(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    table = instruction.operands[-1]
    if len(instruction.operands) != 5 or not isinstance(table, Immediate):
        return None
    a, b, c = (body.value(operand, INT32, span) for operand in instruction.operands[1:4])
    op = _LOGIC_TABLES.get(int(table.value))
    if op is not None:
        return Binary(op, a, b, INT32, INT32, span)
    return call("lop3", (a, b, c), 1, Semantics.OPAQUE, INT32, span)


def _extract_bits(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    """`bfe.u32` of constant place and width, which newer chips shift and mask."""
    start, width = instruction.operands[2:4]
    if not (isinstance(start, Immediate) and isinstance(width, Immediate)):
        return None
    type_ = working_type(instruction)
    if type_.signed:
        return None
    value = body.value(instruction.operands[1], type_, span)
    moved = Binary(BinaryOp.SHR, value, Constant(int(start.value), INT32, span), type_, type_, span)
    mask = Constant((1 << int(width.value)) - 1, type_, span)
    return Binary(BinaryOp.AND, moved, mask, type_, type_, span)


def _funnel(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    values = tuple(values_of(body, instruction, span, INT32))
    return call("__funnelshift_l", values, 1, Semantics.OPAQUE, INT32, span)


# ---------------------------------------------------------------------------
# Copies and conversions.


def _move(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    target, source = instruction.operands[:2]
    type_ = working_type(instruction)
    if isinstance(target, Vector):
        _unpack(body, target, body.value(source, type_, span), type_, span)
    elif isinstance(source, Register) and isinstance(target, Register):
        value = body.registers.read(source.name, source.component, span)
        if value.type.kind is not ir.TypeKind.POINTER:
            value = _as_declared(body, value, target, type_, span)
        body.set(target, value, span)
    else:
        body.set(target, body.value(source, type_, span), span)
    return True


def _as_declared(body: FunctionBody, value: Expr, target: Register, type_: Type, span: Span) -> Expr:
    """The bits of a value as the register that they are copied to holds them."""
    declared = body.registers.declared_type(target.name)
    if value.type.is_float == declared.is_float or declared.kind is ir.TypeKind.BOOL:
        return value
    if value.type.is_float and not type_.is_float:
        return value  # a register of bits that holds a number
    return bit_cast(value, declared, span)


def _unpack(body: FunctionBody, target: Vector, value: Expr, type_: Type, span: Span) -> None:
    """`mov.b64 {%r1, %r2}, %rd3`: the low part is known, the high one too where it is an integer."""
    bits = type_.bits // len(target.elements)
    part = Type(ir.TypeKind.INT, bits=bits)
    for number, element in enumerate(target.elements):
        if not isinstance(element, Register):
            continue
        low: Expr = (
            ir.Cast(value, part, span)
            if number == 0 and value.type.kind is ir.TypeKind.INT
            else Intrinsic("unpack", (value,) if number == 0 else (), (), Semantics.OPAQUE, False, part, span)
        )
        declared = body.registers.declared_type(element.name)
        body.set(element, low if not declared.is_float else bit_cast(low, declared, span), span)


_ROUNDINGS = {"rmi": ("floor", Semantics.FLOOR), "rpi": ("ceil", Semantics.CEIL)}


def _convert(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    names = scalar_types(instruction.modifiers)
    if len(names) != 2 or len(instruction.operands) != 2:
        return None
    target, source = type_of(names[0]), type_of(names[1])
    value = body.value(instruction.operands[1], source, span)
    if value.type.kind is ir.TypeKind.POINTER:  # between the widths of shared and generic addresses
        return value
    rounding = next((word for word in instruction.modifiers if word in _ROUNDINGS), None)
    if rounding is not None and source.is_float:
        name, semantics = _ROUNDINGS[rounding]
        name += "f" if source.bits == 32 else ""
        value = Intrinsic(name, (value,), (), semantics, False, source, span)
    if "sat" in instruction.modifiers and target.is_float:
        return call("__saturatef", (value,), 1, Semantics.OPAQUE, target, span)
    return value if source == target else ir.Cast(value, target, span)


# ---------------------------------------------------------------------------
# Comparisons, choices and the logic of predicates.


_ORDERED = {
    "eq": BinaryOp.EQ,
    "ne": BinaryOp.NE,
    "lt": BinaryOp.LT,
    "le": BinaryOp.LE,
    "gt": BinaryOp.GT,
    "ge": BinaryOp.GE,
    "lo": BinaryOp.LT,
    "ls": BinaryOp.LE,
    "hi": BinaryOp.GT,
    "hs": BinaryOp.GE,
}
_COMPARISONS = _ORDERED | {f"{name}u": op for name, op in _ORDERED.items()}  # `ltu`: true of NaN, too
_UNSIGNED = frozenset({"lo", "ls", "hi", "hs"})
_LOGICAL = {"and": ir.LogicalOp.AND, "or": ir.LogicalOp.OR}


def _compared(body: FunctionBody, instruction: Instruction, span: Span) -> Expr:
    """The truth value of `setp` or `set`."""
    word = instruction.modifiers[0]
    op = _COMPARISONS.get(word)
    type_ = type_of(scalar_types(instruction.modifiers)[-1])
    if word in _UNSIGNED:
        type_ = replace(type_, signed=False)
    a, b = (body.value(operand, type_, span) for operand in instruction.operands[1:3])
    if op is None:  # num, nan
        found: Expr = Intrinsic("isnan", (a, b), ONE_INTEGER, Semantics.OPAQUE, False, BOOL, span)
    else:
        found = Binary(op, a, b, type_, BOOL, span)
    if len(instruction.operands) > 3:
        other = body.value(instruction.operands[3], BOOL, span)
        together = next((word for word in instruction.modifiers if word in ("and", "or", "xor")), "and")
        found = _joined(body, together, found, other, span)
    return found


def _joined(body: FunctionBody, word: str, a: Expr, b: Expr, span: Span) -> Expr:
    if word == "xor":
        return Binary(BinaryOp.NE, a, b, BOOL, BOOL, span)
    return ir.Logical(_LOGICAL[word], a, b, body.parts.region(), BOOL, span)


def _set_predicate(body: FunctionBody, instruction: Instruction, span: Span) -> bool:
    found = _compared(body, instruction, span)
    target = instruction.operands[0]
    if isinstance(target, Pair):
        body.set(target.first, found, span)
        body.set(target.second, _opposite(body, target, span), span)
    else:
        body.set(target, found, span)
    return True


def _opposite(body: FunctionBody, target: Pair, span: Span) -> Expr:
    if body.registers.is_single(getattr(target.first, "name", "")):
        return Intrinsic("complement", (), (), Semantics.OPAQUE, False, BOOL, span)
    return negated(body.value(target.first, BOOL, span))


def _set(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    found = _compared(body, instruction, span)
    type_ = type_of(scalar_types(instruction.modifiers)[0])
    one = Constant(1.0, type_, span) if type_.is_float else Constant(-1, INT32, span)
    zero = Constant(0, type_, span)
    return ir.Select(found, one, zero, body.parts.region(), body.parts.region(), type_, span)


def _select(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
    type_ = working_type(instruction)
    then, otherwise, third = instruction.operands[1:4]
    if instruction.opcode == "slct":
        sign = type_of(scalar_types(instruction.modifiers)[-1])
        type_ = type_of(scalar_types(instruction.modifiers)[0])
        value = body.value(third, sign, span)
        condition: Expr = Binary(BinaryOp.GE, value, Constant(0, sign, span), sign, BOOL, span)
    else:
        condition = body.value(third, BOOL, span)
    a, b = body.value(then, type_, span), body.value(otherwise, type_, span)
    chosen = a.type if a.type.kind is ir.TypeKind.POINTER else type_
    return ir.Select(condition, a, b, body.parts.region(), body.parts.region(), chosen, span)


def _logic(op: BinaryOp) -> ValueLowering:
    integers = _binary(op)

    def lower(body: FunctionBody, instruction: Instruction, span: Span) -> Expr | None:
        if "pred" not in instruction.modifiers:
            return integers(body, instruction, span)
        a, b = (body.value(operand, BOOL, span) for operand in instruction.operands[1:3])
        return _joined(body, instruction.opcode, a, b, span)

    return lower


_VALUES: tuple[tuple[str, ValueLowering], ...] = (
    ("add sub", _sum),
    ("mul mul24", _product),
    ("mad mad24 fma", _multiply_add),
    ("div", _divide),
    ("rem", _binary(BinaryOp.MOD)),
    ("shl", _binary(BinaryOp.SHL)),
    ("shr", _binary(BinaryOp.SHR)),
    ("neg", _unary(ir.UnaryOp.NEGATE)),
    ("not", _unary(ir.UnaryOp.INVERT)),
    ("abs min max", _least),
    ("sqrt rsqrt sin cos lg2 ex2 tanh", _function),
    ("rcp", _reciprocal),
    ("popc clz brev", _count_bits),
    ("bfind", _find_bit),
    ("lop3", _lop3),
    ("bfe", _extract_bits),
    ("shf", _funnel),
    # Generic or not, an address is an address.
    ("cvta", lambda body, instruction, span: body.value(instruction.operands[1], POINTER, span)),
    ("cvt", _convert),
    ("set", _set),
    ("selp slct", _select),
    ("and", _logic(BinaryOp.AND)),
    ("or", _logic(BinaryOp.OR)),
    ("xor", _logic(BinaryOp.XOR)),
)
VALUES: dict[str, ValueLowering] = {name: lower for names, lower in _VALUES for name in names.split()}
"""Opcodes whose result is one value."""
LOWERINGS: dict[str, Callable[[FunctionBody, Instruction, Span], bool]] = {
    "mov": _move,
    "setp": _set_predicate,
}
"""Opcodes that may have several results."""
