"""The values of host variables: numbers, texts, pointers, records, and the unknown with its reason.

A variable's storage maps byte offsets to scalars, so that structs, arrays and `dim3` need no machinery of
their own. Arithmetic follows C: integers wrap at their width, division truncates, float is rounded.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

from wattslice.ir import COMPARISONS, BinaryOp, Type, TypeKind
from wattslice.ir.c_arithmetic import converted, fold


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the source does not tell, and why; `variable`, when set with --set, would settle it.

    `is_option`: what the command line holds, as argc or text of argv; a program run without options has
    none of it, so that defaults stay. A number read from there is another matter. `likely`: the value of
    `variable` on the way through an undecided branch that is likelier taken.
    """

    reason: str
    variable: str | None = None
    is_option: bool = False
    likely: int | float | None = None


@dataclass(slots=True, eq=False)
class Storage:
    """Memory of one variable or allocation: scalars by byte offset.

    `is_scalar` for a variable of arithmetic type. `size_bytes`: of an allocation; None when unknown.
    `pinned` (from `--set`) makes the scalar at offset 0 constant, whatever the host code assigns.
    """

    name: str
    cells: dict[int, Value] = field(default_factory=dict[int, "Value"])
    pinned: int | float | None = None
    is_scalar: bool = False
    size_bytes: int | None = None


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
    number = converted(value, type_)
    if number is None:
        return Unknown("conversion of a non-finite number to an integer")
    return _round(number, type_) if isinstance(number, float) and type_.is_float else number


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
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return cause(left, right)
    if isinstance(left, Pointer) or isinstance(right, Pointer):
        return _compare_pointers(op, left, right)
    if isinstance(left, (str, Record)) or isinstance(right, (str, Record)):
        return Unknown("arithmetic on something that is no number")
    result = fold(op, left, right, operand_type)
    if result is None:
        return Unknown(f"{left} {op.value} {right} in the host code has no value")
    return result if op in COMPARISONS else convert(result, operand_type)


def _compare_pointers(op: BinaryOp, left: Value, right: Value) -> Value:
    if op in (BinaryOp.EQ, BinaryOp.NE):
        same = left == right  # a pointer that is known points somewhere: never equal to 0
        return int(same == (op is BinaryOp.EQ))
    return Unknown("arithmetic on a pointer")


def condition_of(value: Value) -> Unknown:
    """Why nobody knows whether a condition holds."""
    return value if isinstance(value, Unknown) else Unknown("a condition that is no number")


def cause(left: Value, right: Value) -> Unknown:
    """Why a value made of two, of which one is unknown, is: what is no option counts more."""
    if isinstance(left, Unknown) and not (left.is_option and isinstance(right, Unknown)):
        return left
    return condition_of(right)


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
