"""How objects of a type lie in memory, and which numpy type holds one in a register."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wattslice.ir import Field, Type, TypeKind
from wattslice.profiling.interpreter.errors import UnsupportedError

Value = NDArray[Any]
"""What an expression yields in every lane of a batch.

A number or an address: one-dimensional, or without dimension (a numpy scalar) where all lanes have the same.
A record or a vector: bytes, one row per lane, or one row where all lanes have the same. Lanes that are not
active hold anything.
"""
Dtype = np.dtype[Any]

_FLOATS = {16: np.dtype(np.float16), 32: np.dtype(np.float32), 64: np.dtype(np.float64)}
ADDRESS = np.dtype(np.int64)


def is_block(type_: Type) -> bool:
    """Whether a value of this type is held as bytes: records, vectors, arrays."""
    return type_.kind in (TypeKind.RECORD, TypeKind.ARRAY) or type_.lanes > 1


@functools.lru_cache(maxsize=4096)
def dtype_of(type_: Type) -> Dtype:
    """The numpy type of a scalar in a register; `UnsupportedError` for others."""
    match type_.kind:
        case TypeKind.BOOL:
            return np.dtype(np.bool_)
        case TypeKind.INT if type_.bits in (8, 16, 32, 64):
            return np.dtype(f"{'i' if type_.signed else 'u'}{type_.bits // 8}")
        case TypeKind.FLOAT if type_.bits in _FLOATS and not type_.bfloat:
            return _FLOATS[type_.bits]
        case TypeKind.POINTER | TypeKind.ARRAY:
            return ADDRESS
        case _:
            what = "bfloat16" if type_.bfloat else type_.name or f"{type_.kind.value}{type_.bits or ''}"
            raise UnsupportedError(f"values of type '{what}' are not interpreted")


def stored_dtype(type_: Type) -> Dtype:
    """The numpy type of a scalar in memory: a bool is a byte."""
    dtype = dtype_of(type_)
    return np.dtype(np.uint8) if dtype == np.bool_ else dtype


def size_of(type_: Type) -> int:
    """Bytes of an object; `UnsupportedError` where they are not known."""
    size = type_.size_bytes
    if size <= 0:
        raise UnsupportedError(f"the size of type '{type_.name or type_.kind.value}' is not known")
    return size


@functools.lru_cache(maxsize=4096)
def alignment_of(type_: Type) -> int:
    """What an address of such an object must be a multiple of (CUDA C++ guide, table of vector types)."""
    if type_.kind is TypeKind.RECORD:
        if not type_.fields:
            return 4 if type_.name == "dim3" else 1
        # `__align__` is not kept: a record may need more than its members do, never less.
        return max(alignment_of(field.type) for field in type_.fields)
    if type_.kind is TypeKind.ARRAY:
        return alignment_of(type_.element) if type_.element is not None else 1
    if type_.lanes > 1:
        lane = max(1, type_.bits // 8)
        return lane if type_.lanes == 3 else min(16, lane * type_.lanes)
    return max(1, type_.size_bytes)


@functools.lru_cache(maxsize=4096)
def member_of(type_: Type, name: str) -> Field:
    """A member of a record or a lane of a vector, with its offset."""
    found = next((member for member in type_.members if member.name == name), None)
    if found is not None:
        return found
    raise UnsupportedError(f"member '{name}' of '{type_.name or type_.kind.value}' is not known")


def path_offset(type_: Type, path: tuple[str, ...]) -> int:
    """Offset in bytes of the part of an object that a path of members names."""
    offset = 0
    for name in path:
        field = member_of(type_, name)
        offset, type_ = offset + field.offset_bytes, field.type
    return offset


def leaf(rows: Value, offset: int, dtype: Dtype) -> Value:
    """The numbers at `offset` of each row, without copying; without dimension when there is one row."""
    count, size = rows.shape
    found: Value = np.ndarray((count,), dtype, rows, offset, (size,))
    return found if count > 1 else found[0]


def zero_rows(count: int, size: int) -> Value:
    """`count` objects of `size` bytes, all zero."""
    return np.zeros((count, size), np.uint8)
