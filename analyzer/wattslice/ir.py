"""The intermediate representation: one immutable tree for CUDA and C.

Frontends build it, everything else reads it. Three conventions carry the whole design:

* **Device calls are inlined.** A call to a `__device__` function becomes an `InlinedCall` that holds
  a fresh copy of the callee's body, its parameters bound to fresh variables. So counting and slicing
  see one procedure per kernel, and every node keeps the line it was written on. Recursion is cut at a
  bound by the frontend (with a diagnostic) and becomes an `Intrinsic` of semantics `OPAQUE`.
  Host functions are not inlined: there a call is a `Call`.
* **Regions.** Everything that may run a different number of times has a `region` number, dense from 0
  in each kernel: every statement, both arms of `Select`, the right side of `Logical`, the test and
  the step of a `Loop`. An execution profile is an array indexed by region.
* **Places.** Registers and memory are told apart when the tree is built: reading a register variable
  is `Read(RegisterPlace)`, reading memory is `Load(MemoryPlace)`, whose address is an expression in
  bytes. `A[i]` is a `Load` of `PointerOffset(Read(A), i)`. Every textual access has a `site` number,
  dense from 0 in each kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any


class _Enum(Enum):
    """Hashed by identity: members are singletons, and they are keys in every hot loop."""

    __hash__ = object.__hash__


# --------------------------------------------------------------------------- source positions


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node was written: 1-based line and column of its start, and its last line."""

    file: str
    line: int
    column: int
    end_line: int


# --------------------------------------------------------------------------- types


class TypeKind(_Enum):
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


class MemorySpace(_Enum):
    """Where a value lives (Wang & Chen 2013, section 2.3, plus registers, local memory and the host)."""

    REGISTER = "register"
    LOCAL = "local"
    GLOBAL = "global"
    SHARED = "shared"
    CONSTANT = "constant"
    TEXTURE = "texture"
    HOST = "host"


class VariableRole(_Enum):
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
    `dynamic` marks `extern __shared__`. `initializer` is set for file-scope variables only.
    """

    name: str
    type: Type
    space: MemorySpace
    role: VariableRole
    span: Span
    dynamic: bool = False
    is_constant: bool = False
    initializer: Expr | None = None


# --------------------------------------------------------------------------- expressions


class UnaryOp(_Enum):
    """Unary operators without side effects."""

    NEGATE = "-"
    INVERT = "~"
    NOT = "!"


class BinaryOp(_Enum):
    """Binary operators without short circuit."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "/"
    MOD = "%"
    SHL = "<<"
    SHR = ">>"
    AND = "&"
    OR = "|"
    XOR = "^"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    EQ = "=="
    NE = "!="
    COMMA = ","


COMPARISONS = frozenset({BinaryOp.LT, BinaryOp.LE, BinaryOp.GT, BinaryOp.GE, BinaryOp.EQ, BinaryOp.NE})


class LogicalOp(_Enum):
    """Short-circuit operators."""

    AND = "&&"
    OR = "||"


class BuiltinKind(_Enum):
    """The predefined variables of a kernel."""

    THREAD_IDX = "threadIdx"
    BLOCK_IDX = "blockIdx"
    BLOCK_DIM = "blockDim"
    GRID_DIM = "gridDim"
    WARP_SIZE = "warpSize"


class OperationClass(_Enum):
    """The classes of `counts_per_thread` in the JSON contract; values are the JSON keys."""

    FP32 = "fp32"
    FP64 = "fp64"
    INT = "int"
    SPECIAL = "special"
    FP16 = "fp16"
    TENSOR = "tensor"
    CONTROL = "control"
    GLOBAL_LOAD = "global_load"
    GLOBAL_STORE = "global_store"
    SHARED_LOAD = "shared_load"
    SHARED_STORE = "shared_store"
    CONSTANT_LOAD = "constant_load"
    TEXTURE_LOAD = "texture_load"
    ATOMIC = "atomic"
    BARRIER = "barrier"


class Semantics(_Enum):
    """What the evaluator knows about an intrinsic's value (arguments as written)."""

    OPAQUE = "opaque"  # result unknown, may differ between threads
    UNIFORM = "uniform"  # result unknown, the same in the whole block (votes, blockDim-like)
    ADD = "add"
    MUL = "mul"
    DIV = "div"
    MOD = "mod"
    FMA = "fma"  # a*b+c
    MIN = "min"
    MAX = "max"
    ABS = "abs"
    MUL24 = "mul24"
    POPC = "popc"
    CLZ = "clz"
    FFS = "ffs"
    BREV = "brev"
    CEIL = "ceil"
    FLOOR = "floor"
    SQRT = "sqrt"
    POW = "pow"
    LOG2 = "log2"
    LOG = "log"
    EXP = "exp"
    IDENTITY = "identity"  # the first argument (static_cast-like helpers, __ldg's address, std::move)
    BARRIER = "barrier"
    NONE = "none"  # no value (printf, fences)


class AtomicOp(_Enum):
    """The read-modify-write of an atomic."""

    ADD = "add"
    SUB = "sub"
    MIN = "min"
    MAX = "max"
    AND = "and"
    OR = "or"
    XOR = "xor"
    EXCHANGE = "exchange"
    CAS = "cas"
    INC = "inc"
    DEC = "dec"


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
    pointer local), for slicing and reports. `site` numbers the textual access.
    """

    address: Expr
    space: MemorySpace
    type: Type
    root: Variable | None
    site: int


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
    """The address of a variable's first byte: `&x`, or an array that decays to a pointer."""

    variable: Variable
    type: Type
    span: Span


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
    """`left && right`, `left || right`; `right_region` counts how often the right side is evaluated."""

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
    """

    name: str
    arguments: tuple[Expr, ...]
    operations: tuple[OperationCount, ...]
    semantics: Semantics
    is_opaque_call: bool
    type: Type
    span: Span


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
    """`tex1Dfetch`, `tex2D`, … (`is_store` for surface writes) of `texture` (None when not evident)."""

    texture: Variable | None
    coordinates: tuple[Expr, ...]
    is_store: bool
    site: int
    type: Type
    span: Span


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
    """

    kernel: str
    kernel_name: str
    grid: Expr
    block: Expr
    shared_bytes: Expr | None
    arguments: tuple[Expr, ...]
    type: Type
    span: Span


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


# --------------------------------------------------------------------------- statements


@dataclass(frozen=True, slots=True, eq=False)
class ExprStmt:
    """An expression run for its effect."""

    expr: Expr
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Declare:
    """A declaration of a register variable or local array, with its initial value if it has one."""

    variable: Variable
    value: Expr | None
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A sequence of statements."""

    statements: tuple[Stmt, ...]
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class If:
    """`if`; `region` counts evaluations of the condition; the arms have regions of their own."""

    condition: Expr
    then: Block
    otherwise: Block | None
    region: int
    span: Span


class LoopKind(_Enum):
    """Which keyword wrote the loop."""

    FOR = "for"
    WHILE = "while"
    DO = "do"


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """Any loop: `region` counts entries, `test_region` tests, `step_region` evaluations of the step.

    `unroll`: the number in `#pragma unroll N`; 0 for the bare pragma (full); None without a pragma.
    A condition that is missing in the source (`for(;;)`) is None.
    """

    kind: LoopKind
    init: tuple[Stmt, ...]
    condition: Expr | None
    step: Expr | None
    body: Block
    unroll: int | None
    region: int
    test_region: int
    step_region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A `case`/`default` group: its labels (None = default) and the statements up to the next one.

    Without a `break` at its end control falls through to the next case.
    """

    labels: tuple[int | None, ...]
    body: Block


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """`switch`; `region` counts evaluations of the selector."""

    selector: Expr
    cases: tuple[Case, ...]
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Return:
    """Return from the kernel or from the innermost `InlinedCall`."""

    value: Expr | None
    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Break:
    """Leave the innermost loop or switch."""

    region: int
    span: Span


@dataclass(frozen=True, slots=True, eq=False)
class Continue:
    """Next iteration of the innermost loop."""

    region: int
    span: Span


Stmt = ExprStmt | Declare | Block | If | Loop | Switch | Return | Break | Continue


# --------------------------------------------------------------------------- programs


class Severity(_Enum):
    """How much a diagnostic matters."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something a reader must know, with a stable rule id (`wattslice explain RULE`)."""

    rule: str
    severity: Severity
    file: str
    line: int
    message: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A host function, lowered without inlining, for reading launch geometry.

    `reference_parameters`: the parameters that name an object of the caller (`int& blocks`).
    """

    name: str
    mangled_name: str
    parameters: tuple[Variable, ...]
    default_arguments: tuple[Expr | None, ...]
    body: Block
    span: Span
    reference_parameters: frozenset[Variable] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    """A `__global__` function (or a C function analysed as one), instantiated and inlined.

    `name` is the plain name, `qualified_name` with namespaces and template arguments. `region_count` and
    `site_count` are the sizes of the dense numberings. `shared_variables`: all `__shared__` objects
    reachable from the body. `max_threads_per_block`/`min_blocks_per_sm` from `__launch_bounds__`.
    `body_is_complete` False: something in the body could not be read (a diagnostic names it).
    """

    name: str
    qualified_name: str
    mangled_name: str
    parameters: tuple[Variable, ...]
    body: Block
    span: Span
    region_count: int
    site_count: int
    shared_variables: tuple[Variable, ...]
    max_threads_per_block: int | None
    min_blocks_per_sm: int | None
    body_is_complete: bool
    is_template_pattern: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One translation unit: its kernels, the host functions around their launches, what could not be read.

    `source_lines` are the lines of the main file, for quoting (index 0 is line 1).
    """

    file: str
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    globals: tuple[Variable, ...]
    diagnostics: tuple[Diagnostic, ...]
    source_lines: tuple[str, ...]


# --------------------------------------------------------------------------- walking


def children(expr: Expr) -> tuple[Expr, ...]:
    """The direct sub-expressions of `expr`, in evaluation order, addresses of places included.

    The body of an `InlinedCall` is a statement and not among them.
    """
    return _CHILDREN[type(expr)](expr)


def _place_address(place: Place) -> tuple[Expr, ...]:
    return (place.address,) if isinstance(place, MemoryPlace) else ()


def _no_children(_: Any) -> tuple[Expr, ...]:  # noqa: ANN401 - any expression
    return ()


_CHILDREN: dict[type[Expr], Callable[[Any], tuple[Expr, ...]]] = {  # by type: asked for every node
    Constant: _no_children,
    Builtin: _no_children,
    Read: _no_children,
    AddressOf: _no_children,
    Text: _no_children,
    Load: lambda expr: (expr.place.address,),
    PointerOffset: lambda expr: (expr.pointer,) if expr.index is None else (expr.pointer, expr.index),
    Unary: lambda expr: (expr.operand,),
    Cast: lambda expr: (expr.operand,),
    Binary: lambda expr: (expr.left, expr.right),
    Logical: lambda expr: (expr.left, expr.right),
    Select: lambda expr: (expr.condition, expr.then, expr.otherwise),
    Assign: lambda expr: (expr.value, *_place_address(expr.target)),
    Increment: lambda expr: _place_address(expr.target),
    Atomic: lambda expr: (expr.place.address, *expr.arguments),
    TextureFetch: lambda expr: expr.coordinates,
    Extract: lambda expr: (expr.value,),
    Intrinsic: lambda expr: expr.arguments,
    Construct: lambda expr: expr.arguments,
    InlinedCall: lambda expr: expr.arguments,
    Call: lambda expr: expr.arguments if expr.function is None else (expr.function, *expr.arguments),
    LaunchCall: lambda expr: (
        expr.grid,
        expr.block,
        *(() if expr.shared_bytes is None else (expr.shared_bytes,)),
        *expr.arguments,
    ),
}


def statement_expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions a statement holds directly (not those of nested statements)."""
    return _EXPRESSIONS[type(stmt)](stmt)


def _nothing(_: Any) -> tuple[()]:  # noqa: ANN401 - any statement
    return ()


_EXPRESSIONS: dict[type[Stmt], Callable[[Any], tuple[Expr, ...]]] = {
    ExprStmt: lambda stmt: (stmt.expr,),
    Declare: lambda stmt: () if stmt.value is None else (stmt.value,),
    Return: lambda stmt: () if stmt.value is None else (stmt.value,),
    If: lambda stmt: (stmt.condition,),
    Loop: lambda stmt: tuple(expr for expr in (stmt.condition, stmt.step) if expr is not None),
    Switch: lambda stmt: (stmt.selector,),
    Block: _nothing,
    Break: _nothing,
    Continue: _nothing,
}


def nested_statements(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `stmt` (not those inside inlined calls of its expressions)."""
    return _NESTED.get(type(stmt), _nothing)(stmt)


_NESTED: dict[type[Stmt], Callable[[Any], tuple[Stmt, ...]]] = {
    Block: lambda stmt: stmt.statements,
    If: lambda stmt: (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise),
    Loop: lambda stmt: (*stmt.init, stmt.body),
    Switch: lambda stmt: tuple(case.body for case in stmt.cases),
}


def walk_expressions(expr: Expr) -> Iterator[Expr]:
    """`expr` and every expression below it, not entering the bodies of inlined calls."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        if below := children(node):
            stack.extend(below[::-1])


def walk_statements(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and every statement below it in source order, entering the bodies of inlined calls."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        inner: list[Stmt] = [
            part.body
            for expr in statement_expressions(node)
            for part in walk_expressions(expr)
            if isinstance(part, InlinedCall)
        ]
        inner.extend(nested_statements(node))
        stack.extend(reversed(inner))
