"""Where things are written, what types they have, and the variables that hold them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wattslice.ir.enums import IdentityEnum

if TYPE_CHECKING:
    from wattslice.ir.expressions import Expr


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node was written: 1-based line and column of its start, and its last line."""

    file: str
    line: int
    column: int
    end_line: int


class TypeKind(IdentityEnum):
    """What family a type belongs to."""

    VOID = "void"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    POINTER = "pointer"
    ARRAY = "array"
    RECORD = "record"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a struct or union; `offset_bytes` from the start of the record."""

    name: str
    type: Type
    offset_bytes: int


@dataclass(frozen=True, slots=True)
class Type:
    """A source type.

    `bits` is the width of one scalar; `lanes` > 1 for CUDA vector types (`float4`: FLOAT, 32 bits,
    4 lanes). `element` is the pointee or array element; `length` the array length, None when unknown
    (`extern __shared__ float s[]`). `bfloat` tells bfloat16 from half.
    """

    kind: TypeKind
    bits: int = 0
    signed: bool = True
    lanes: int = 1
    bfloat: bool = False
    element: Type | None = None
    length: int | None = None
    name: str = ""
    fields: tuple[Field, ...] = ()
    record_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        """Size in bytes; 0 when it cannot be told (void, unknown, arrays of unknown length)."""
        if self.kind is TypeKind.ARRAY:
            return (self.length or 0) * (self.element.size_bytes if self.element else 0)
        if self.kind is TypeKind.RECORD:
            return self.record_bytes
        if self.kind is TypeKind.POINTER:
            return 8
        if self.lanes == 3:  # float3 is 12 bytes, not padded
            return 3 * self.bits // 8
        return max(1, self.bits // 8) * self.lanes if self.bits else 0

    @property
    def is_integral(self) -> bool:
        """True for integers, enums and booleans."""
        return self.kind in (TypeKind.INT, TypeKind.BOOL)

    @property
    def is_float(self) -> bool:
        """True for every floating-point scalar or vector."""
        return self.kind is TypeKind.FLOAT


VOID = Type(TypeKind.VOID)
BOOL = Type(TypeKind.BOOL, bits=8, signed=False)
INT32 = Type(TypeKind.INT, bits=32)
UINT32 = Type(TypeKind.INT, bits=32, signed=False)
INT64 = Type(TypeKind.INT, bits=64)
FLOAT32 = Type(TypeKind.FLOAT, bits=32)
FLOAT64 = Type(TypeKind.FLOAT, bits=64)
UNKNOWN_TYPE = Type(TypeKind.UNKNOWN)
DIM3 = Type(TypeKind.RECORD, name="dim3", record_bytes=12)


class MemorySpace(IdentityEnum):
    """Where a value lives (Wang & Chen 2013, section 2.3, plus registers, local memory and the host)."""

    REGISTER = "register"
    LOCAL = "local"
    GLOBAL = "global"
    SHARED = "shared"
    CONSTANT = "constant"
    TEXTURE = "texture"
    HOST = "host"


class VariableRole(IdentityEnum):
    """How a variable came to be."""

    PARAMETER = "parameter"
    LOCAL = "local"
    FILE_SCOPE = "file scope"
    TEMPORARY = "temporary"


@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A named object; identity is equality (two inlined copies of a local are two variables).

    `space` is where the object itself lives: REGISTER for scalars and small records, LOCAL for local
    arrays, SHARED for `__shared__`, CONSTANT for `__constant__`, GLOBAL for `__device__`, TEXTURE for
    texture references and objects, HOST for host variables. A kernel's pointer parameter is itself a
    REGISTER variable; what it points to is told by the `MemoryPlace` that dereferences it.
    `dynamic` marks `extern __shared__`. `initializer` is set for file-scope variables only. `is_restrict`: a
    pointer parameter of a CUDA kernel that is declared `__restrict__`.
    """

    name: str
    type: Type
    space: MemorySpace
    role: VariableRole
    span: Span
    dynamic: bool = False
    is_constant: bool = False
    initializer: Expr | None = None
    is_restrict: bool = False
