"""The values of host variables: numbers, texts, pointers, records, and the unknown with its reason.

A variable's storage maps byte offsets to scalars, so that structs, arrays and `dim3` need no machinery of
their own. Arithmetic follows C: integers wrap at their width, division truncates, float is rounded.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass, field

from wattslice.ir import BinaryOp, Type, TypeKind


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the source does not tell, and why; `variable`, when set with --set, would settle it."""

    reason: str
    variable: str | None = None


@dataclass(slots=True, eq=False)
class Storage:
    """Memory of one variable or allocation: scalars by byte offset.

    `is_scalar` for a variable of arithmetic type.
    `pinned` (from `--set`) makes the scalar at offset 0 constant, whatever the host code assigns.
    """

    name: str
    cells: dict[int, Value] = field(default_factory=dict[int, "Value"])
    pinned: int | float | None = None
    is_scalar: bool = False


@dataclass(frozen=True, slots=True)
class Pointer:
    """The address of a byte in a storage."""

    storage: Storage
    offset: int


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """A struct, array, vector or dim3 as a value: scalars by byte offset from its start."""

    cells: dict[int, Value]


Value = int | float | str | Pointer | Record | Unknown

_AXES = {"x": 0, "y": 1, "z": 2, "w": 3}


def is_dim3(type_: Type) -> bool:
    """True for `dim3`, with or without qualifiers in its spelling."""
    return type_.kind is TypeKind.RECORD and type_.name.split("::")[-1].split(" ")[-1] == "dim3"


def member_of(type_: Type, name: str) -> tuple[int, Type | None]:
    """Byte offset and type of a member; a made-up stable negative offset when the layout is unknown."""
    for member in type_.fields:
        if member.name == name:
            return member.offset_bytes, member.type
    if name in _AXES and is_dim3(type_):
        return 4 * _AXES[name], None
    if name in _AXES and type_.lanes > 1:
        return type_.bits // 8 * _AXES[name], None
    return -1 - zlib.crc32(name.encode()), None


def offset_of(type_: Type, path: tuple[str, ...]) -> int:
    """Byte offset of a member path inside an object of `type_`."""
    offset = 0
    current: Type | None = type_
    for name in path:
        step, current = member_of(current or Type(TypeKind.UNKNOWN), name)
        offset += step
    return offset


def is_aggregate(type_: Type) -> bool:
    """True when a value of this type is a `Record`."""
    return type_.kind in (TypeKind.RECORD, TypeKind.ARRAY) or type_.lanes > 1


def convert(value: Value, type_: Type) -> Value:
    """`value` as C converts it to the scalar `type_`; what is no number passes through."""
    if not isinstance(value, (int, float)) or type_.lanes > 1:
        return value
    if type_.kind is TypeKind.BOOL:
        return int(value != 0)
    if type_.kind is TypeKind.INT:
        if isinstance(value, float):
            if not math.isfinite(value):
                return Unknown("conversion of a non-finite number to an integer")
            value = int(value)
        return _wrap(int(value), type_)
    if type_.kind is TypeKind.FLOAT:
        return _round(float(value), type_)
    return value


def _wrap(value: int, type_: Type) -> int:
    bits = type_.bits or 32
    value &= (1 << bits) - 1
    return value - (1 << bits) if type_.signed and value >> (bits - 1) else value


def _round(value: float, type_: Type) -> Value:
    if type_.bits == 32:
        try:
            return struct.unpack("f", struct.pack("f", value))[0]
        except OverflowError:
            return Unknown("float overflow")
    return value


def binary(op: BinaryOp, left: Value, right: Value, operand_type: Type) -> Value:
    """`left op right` carried out in `operand_type`, with C semantics."""
    if op is BinaryOp.COMMA:
        return right
    if isinstance(left, Unknown):
        return left
    if isinstance(right, Unknown):
        return right
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return _compare_pointers(op, left, right)
    if isinstance(left, (str, Record)) or isinstance(right, (str, Record)):
        return Unknown("arithmetic on something that is no number")
    is_float = isinstance(left, float) or isinstance(right, float)
    is_float = operand_type.is_float or (is_float and not operand_type.is_integral)
    try:
        if is_float:
            return convert(_float_binary(op, float(left), float(right)), _result_type(op, operand_type))
        return convert(_int_binary(op, int(left), int(right), operand_type), _result_type(op, operand_type))
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        return Unknown(f"arithmetic in the host code: {error}")


def _result_type(op: BinaryOp, operand_type: Type) -> Type:
    comparisons = (BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE)
    return Type(TypeKind.INT, bits=32) if op in comparisons else operand_type


def _compare_pointers(op: BinaryOp, left: Value, right: Value) -> Value:
    if op in (BinaryOp.EQ, BinaryOp.NE):
        same = left == right  # a pointer that is known points somewhere: never equal to 0
        return int(same == (op is BinaryOp.EQ))
    return Unknown("arithmetic on a pointer")


def _float_binary(op: BinaryOp, left: float, right: float) -> float:
    match op:
        case BinaryOp.ADD:
            return left + right
        case BinaryOp.SUB:
            return left - right
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.DIV:
            return left / right
        case BinaryOp.MOD:
            return math.fmod(left, right)
        case _:
            return _compare(op, left, right)


def _int_binary(op: BinaryOp, left: int, right: int, operand_type: Type) -> int:
    if operand_type.is_integral and operand_type.bits >= 32:
        left, right = _wrap(left, operand_type), _wrap(right, operand_type)
    match op:
        case BinaryOp.ADD:
            return left + right
        case BinaryOp.SUB:
            return left - right
        case BinaryOp.MUL:
            return left * right
        case BinaryOp.DIV:
            quotient = abs(left) // abs(right)
            return quotient if (left < 0) == (right < 0) else -quotient
        case BinaryOp.MOD:
            remainder = abs(left) % abs(right)
            return -remainder if left < 0 else remainder
        case BinaryOp.SHL:
            return left << _shift(right)
        case BinaryOp.SHR:
            return left >> _shift(right)
        case BinaryOp.AND:
            return left & right
        case BinaryOp.OR:
            return left | right
        case BinaryOp.XOR:
            return left ^ right
        case _:
            return _compare(op, left, right)


def _shift(count: int) -> int:
    if not 0 <= count < 64:
        raise ValueError(f"shift by {count}")
    return count


def _compare(op: BinaryOp, left: float, right: float) -> int:
    match op:
        case BinaryOp.LT:
            return int(left < right)
        case BinaryOp.LE:
            return int(left <= right)
        case BinaryOp.GT:
            return int(left > right)
        case BinaryOp.GE:
            return int(left >= right)
        case BinaryOp.EQ:
            return int(left == right)
        case BinaryOp.NE:
            return int(left != right)
        case _:
            raise ValueError(f"operator {op.value} on these operands")


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None when unknown."""
    if isinstance(value, (int, float)):
        return value != 0
    return True if isinstance(value, (Pointer, str)) else None


def same(left: Value, right: Value) -> bool:
    """True when both are known to be the same scalar, or the very same object."""
    if isinstance(left, (Unknown, Record)) or isinstance(right, (Unknown, Record)):
        return left is right
    return left == right
