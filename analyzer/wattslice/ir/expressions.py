"""Places and expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wattslice.ir.operators import (
    AtomicOp,
    BinaryOp,
    BuiltinKind,
    LogicalOp,
    OperationClass,
    Semantics,
    UnaryOp,
)
from wattslice.ir.types import MemorySpace, Span, Type, Variable

if TYPE_CHECKING:
    from wattslice.ir.statements import Block


@dataclass(frozen=True, slots=True, eq=False)
class RegisterPlace:
    """A register variable, or a part of it: `v.x` is `path=("x",)`; `s.a.b` is `("a", "b")`."""

    variable: Variable
    path: tuple[str, ...]
    type: Type


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlace:
    """An object in memory of `type` at `address` (a pointer-valued expression, in bytes).

    `root` is the variable the address is derived from when that is evident (array, pointer parameter,
    pointer local), for slicing and reports. `site` numbers the textual access. `is_volatile`: each access
    happens as written.
    """

    address: Expr
    space: MemorySpace
    type: Type
    root: Variable | None
    site: int
    is_volatile: bool = False


Place = RegisterPlace | MemoryPlace


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A literal or anything the frontend folded (sizeof, constexpr, enumerators, template values)."""

    value: int | float
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """`threadIdx.x` and friends; `axis` 0, 1, 2 (0 for warpSize)."""

    kind: BuiltinKind
    axis: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The value of a register variable or of a part of one; in host code, of any variable."""

    place: RegisterPlace
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Load:
    """A read from memory: one access of `place.space`."""

    place: MemoryPlace
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class AddressOf:
    """The address of a variable's first byte: `&x`, or an array that decays to a pointer.

    `offset_bytes`: of a member of a register variable, `&x.y`.
    """

    variable: Variable
    type: Type
    span: Span
    offset_bytes: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PointerOffset:
    """`pointer + index * scale_bytes (+ offset_bytes)`, from a subscript, pointer arithmetic or a member.

    `written` is True when the programmer wrote a `+`/`-` operator (which then counts as one int operation);
    a subscript or a member access is False. `index` None: a member at `offset_bytes`.
    `subtract`: `p - i`.
    """

    pointer: Expr
    index: Expr | None
    scale_bytes: int
    offset_bytes: int
    written: bool
    subtract: bool
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Unary:
    """A unary operation."""

    op: UnaryOp
    operand: Expr
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Binary:
    """A binary operation; `operand_type` is the common type it is carried out in (comparisons yield BOOL)."""

    op: BinaryOp
    left: Expr
    right: Expr
    operand_type: Type
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Logical:
    """`left && right`, `left || right`; `right_region` counts how often the right side is evaluated.

    `span` is that of the right side: it tells the operators of `a && b && c` apart.
    """

    op: LogicalOp
    left: Expr
    right: Expr
    right_region: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """`condition ? then : otherwise`; each arm is a region."""

    condition: Expr
    then: Expr
    otherwise: Expr
    then_region: int
    otherwise_region: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Cast:
    """A conversion, explicit or implicit, that changes the representation."""

    operand: Expr
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Assign:
    """`target = value` or `target op= value` (then `op` is set, carried out in `operand_type`)."""

    target: Place
    op: BinaryOp | None
    value: Expr
    operand_type: Type
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Increment:
    """`++x`, `x--` …: `delta` is +1 or -1 (elements for pointers: `step_bytes` then is the pointee size)."""

    target: Place
    delta: int
    is_prefix: bool
    step_bytes: int
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class OperationCount:
    """`number` source operations of class `operation`."""

    operation: OperationClass
    number: float


@dataclass(frozen=True, slots=True, eq=False)
class Intrinsic:
    """A call the frontend does not follow: library function, builtin, inline assembly, undefined function.

    `operations` are the source operations one execution costs, by class (empty for printf and the like).
    `is_opaque_call` marks a call whose body could not be found: its cost is unknown (a diagnostic exists).
    `detail` is what types say and the name does not: the cooperative group that calls, and the function
    object that it combines values with.
    """

    name: str
    arguments: tuple[Expr, ...]
    operations: tuple[OperationCount, ...]
    semantics: Semantics
    is_opaque_call: bool
    type: Type
    span: Span
    detail: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Atomic:
    """An atomic read-modify-write on `place`; `arguments` are the operands after the address."""

    op: AtomicOp
    place: MemoryPlace
    arguments: tuple[Expr, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class TextureFetch:
    """`tex1Dfetch`, `tex2D`, … (`is_store` for surface writes) of `texture` (None when not evident).

    `coordinates`: the arguments after the texture; of a surface write what it stores before them.
    """

    texture: Variable | None
    coordinates: tuple[Expr, ...]
    is_store: bool
    site: int
    type: Type
    span: Span
    function: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Construct:
    """A value built from parts: `make_float4(...)`, `dim3(x, y)`, braces, struct copies. Costs nothing."""

    arguments: tuple[Expr, ...]
    field_names: tuple[str, ...]
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Extract:
    """One member of a record- or vector-valued expression that is not a place (`f(x).y`)."""

    value: Expr
    field: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class InlinedCall:
    """A followed call: bind `parameters[i] = arguments[i]`, run `body`, yield what `Return` gives.

    Reference parameters are substituted by the frontend and do not appear here.
    """

    name: str
    parameters: tuple[Variable, ...]
    arguments: tuple[Expr, ...]
    body: Block
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Host code only: a call to `callee` (its mangled name or, when unmangled, its spelling).

    `function` is the pointer that a call goes through; its value is the `Text` of the function's name.
    """

    callee: str
    name: str
    arguments: tuple[Expr, ...]
    type: Type
    span: Span
    function: Expr | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """Host code only: a string literal (names and defaults of command-line options)."""

    value: str
    type: Type
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class LaunchCall:
    """Host code only: `kernel<<<grid, block, shared_bytes, stream>>>(arguments)` or cudaLaunchKernel.

    `kernel` is the mangled name of the (instantiated) kernel. `grid` and `block` are expressions of type
    dim3 (a `Construct` with fields x, y, z), of an integer type, or `Read`s of dim3 variables.
    `function` is the pointer that the launch goes through, when it may hold other kernels as well; its value
    is the `Text` of the kernel's name.
    """

    kernel: str
    kernel_name: str
    grid: Expr
    block: Expr
    shared_bytes: Expr | None
    arguments: tuple[Expr, ...]
    type: Type
    span: Span
    function: Expr | None = None


Expr = (
    Constant
    | Builtin
    | Read
    | Load
    | AddressOf
    | PointerOffset
    | Unary
    | Binary
    | Logical
    | Select
    | Cast
    | Assign
    | Increment
    | Intrinsic
    | Atomic
    | TextureFetch
    | Construct
    | Extract
    | InlinedCall
    | Call
    | Text
    | LaunchCall
)
