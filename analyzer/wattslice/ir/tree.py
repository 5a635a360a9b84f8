"""The tree: places in the source, types, variables, expressions, statements, kernels and programs."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

from msgspec import Struct

from wattslice.errors import Severity
from wattslice.ir.operators import (
    AtomicOp,
    BinaryOp,
    BuiltinKind,
    IdentityEnum,
    LogicalOp,
    OperationClass,
    Semantics,
    UnaryOp,
)
from wattslice.patterns import regex


class Span(Struct, frozen=True):
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


class Field(Struct, frozen=True):
    """One member of a struct or union; `offset_bytes` from the start of the record, `bits` of a bit-field."""

    name: str
    type: Type
    offset_bytes: int
    bits: int | None = None


class Type(Struct, frozen=True):
    """A source type.

    `bits` is the width of one scalar; `lanes` > 1 for CUDA vector types (`float4`: FLOAT, 32 bits,
    4 lanes). `element` is the pointee or array element; `length` the array length, None when unknown
    (`extern __shared__ float s[]`). `bfloat` tells bfloat16 from half. `record_alignment`: 0 when unknown.
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
    record_alignment: int = 0

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
    def alignment_bytes(self) -> int:
        """What an address of such an object is a multiple of, at most 16; at least 1."""
        if self.kind is TypeKind.ARRAY and self.element is not None:
            return self.element.alignment_bytes
        if self.kind is TypeKind.RECORD:
            known = self.record_alignment
            return min(16, known or max((field.type.alignment_bytes for field in self.fields), default=4))
        return min(16, self.size_bytes & -self.size_bytes) or 1  # float4: 16, float3: 4

    @property
    def request_bytes(self) -> int:
        """What one instruction loads or stores of such an object: no more than it is aligned to."""
        return max(1, min(self.size_bytes, self.alignment_bytes))

    @property
    def requests(self) -> int:
        """Instructions that load or store such an object."""
        return max(1, -(-self.size_bytes // self.request_bytes))

    @property
    def lane(self) -> Type:
        """The scalar type of a vector's lanes."""
        return Type(self.kind, self.bits, self.signed, bfloat=self.bfloat)

    @property
    def members(self) -> tuple[Field, ...]:
        """The fields of a record, `x` to `w` of a vector; none of anything else."""
        if self.name == DIM3.name and not self.fields:
            return tuple(Field(name, UINT32, 4 * at) for at, name in enumerate("xyz"))
        if self.lanes == 1:
            return self.fields
        names, lane = enumerate("xyzw"[: self.lanes]), self.lane
        return tuple(Field(name, lane, at * lane.size_bytes) for at, name in names)

    @property
    def is_integral(self) -> bool:
        """True for integers, enums and booleans."""
        return self.kind is TypeKind.INT or self.kind is TypeKind.BOOL

    @property
    def is_float(self) -> bool:
        """True for every floating-point scalar or vector."""
        return self.kind is TypeKind.FLOAT

    @property
    def is_of_numbers(self) -> bool:
        """True for numbers, records of numbers alone (`struct Size { int w, h; }`) and arrays of these."""
        if self.kind is TypeKind.ARRAY:
            return self.element is not None and self.element.is_of_numbers
        kinds = {member.type.kind for member in self.fields} or {self.kind}
        return kinds <= {TypeKind.INT, TypeKind.BOOL, TypeKind.FLOAT}

    @property
    def tells_files(self) -> bool:
        """True for what launches in other files may depend on: numbers, functions, and arrays of these."""
        if self.kind is TypeKind.ARRAY and self.element is not None:
            return self.element.tells_files
        return self.is_of_numbers or (self.element is not None and self.element.name == "function")


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
    STATIC_LOCAL = "static local"
    FILE_SCOPE = "file scope"
    TEMPORARY = "temporary"


class Variable(Struct, frozen=True, eq=False):
    """A named object; identity is equality (two inlined copies of a local are two variables).

    `space` is where the object itself lives: REGISTER for scalars and small records, LOCAL for local
    arrays, SHARED for `__shared__`, CONSTANT for `__constant__`, GLOBAL for `__device__`, TEXTURE for
    texture references and objects, HOST for host variables. A kernel's pointer parameter is itself a
    REGISTER variable; what it points to is told by the `MemoryPlace` that dereferences it.
    `dynamic` marks `extern __shared__`. `initializer` is set for file-scope variables only. `is_restrict`: a
    pointer parameter of a CUDA kernel that is declared `__restrict__`. `linked_as`: the name by which other
    files know a file-scope variable; None where they do not. `behind`: where the pointer lies, of what a
    pointer in a record that a kernel is given points to; it has the name of that member, `layer.bias`.
    `is_of_thread`: each thread of the host has its own. `is_exported`: declared for other files, by
    a header or before it is defined.
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
    linked_as: str | None = None
    behind: Behind | None = None
    is_of_thread: bool = False
    is_exported: bool = False


class Behind(Struct, frozen=True):
    """What a pointer points to that lies in `holder`, so many bytes from its start; None: somewhere in it.

    `is_by_block`: each block takes a pointer of its own, the first one there.
    """

    holder: Variable | Behind
    offset_bytes: int | None
    is_by_block: bool = False


Root = Variable | Behind
"""An object that addresses begin at."""


class RegisterPlace(Struct, frozen=True, eq=False):
    """A register variable, or a part of it: `v.x` is `path=("x",)`; `s.a.b` is `("a", "b")`."""

    variable: Variable
    path: tuple[str, ...]
    type: Type


class MemoryPlace(Struct, frozen=True, eq=False):
    """An object in memory of `type` at `address` (a pointer-valued expression, in bytes).

    `root` is the variable the address is derived from when that is evident (array, pointer parameter,
    pointer local), for slicing and reports. `site` numbers the textual access. `is_volatile`: each access
    happens as written. `skips_l1`: loaded past the L1 cache (`__ldcg`, `ld.global.cg`, volatile).
    `is_assembly`: to the compiler the access is inline assembly (`asm`, `__ldg` and the like).
    """

    address: Expr
    space: MemorySpace
    type: Type
    root: Variable | None
    site: int
    is_volatile: bool = False
    skips_l1: bool = False
    is_assembly: bool = False


Place = RegisterPlace | MemoryPlace


class Constant(Struct, frozen=True, eq=False):
    """A literal or anything the frontend folded (sizeof, constexpr, enumerators, template values)."""

    value: int | float
    type: Type
    span: Span


class Builtin(Struct, frozen=True, eq=False):
    """`threadIdx.x` and friends; `axis` 0, 1, 2 (0 for warpSize)."""

    kind: BuiltinKind
    axis: int
    type: Type
    span: Span


class Read(Struct, frozen=True, eq=False):
    """The value of a register variable or of a part of one; in host code, of any variable."""

    place: RegisterPlace
    type: Type
    span: Span


class Load(Struct, frozen=True, eq=False):
    """A read from memory: one access of `place.space`."""

    place: MemoryPlace
    type: Type
    span: Span


class AddressOf(Struct, frozen=True, eq=False):
    """The address of a variable's first byte: `&x`, or an array that decays to a pointer.

    `offset_bytes`: of a member of a register variable, `&x.y`.
    """

    variable: Variable
    type: Type
    span: Span
    offset_bytes: int = 0


class PointerOffset(Struct, frozen=True, eq=False):
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


class Unary(Struct, frozen=True, eq=False):
    """A unary operation."""

    op: UnaryOp
    operand: Expr
    type: Type
    span: Span


class Binary(Struct, frozen=True, eq=False):
    """A binary operation; `operand_type` is the common type it is carried out in (comparisons yield BOOL)."""

    op: BinaryOp
    left: Expr
    right: Expr
    operand_type: Type
    type: Type
    span: Span


class Logical(Struct, frozen=True, eq=False):
    """`left && right`, `left || right`; `right_region` counts how often the right side is evaluated.

    `span` is that of the right side: it tells the operators of `a && b && c` apart.
    """

    op: LogicalOp
    left: Expr
    right: Expr
    right_region: int
    type: Type
    span: Span


class Select(Struct, frozen=True, eq=False):
    """`condition ? then : otherwise`; each arm is a region."""

    condition: Expr
    then: Expr
    otherwise: Expr
    then_region: int
    otherwise_region: int
    type: Type
    span: Span


class Cast(Struct, frozen=True, eq=False):
    """A conversion, explicit or implicit, that changes the representation."""

    operand: Expr
    type: Type
    span: Span


class Assign(Struct, frozen=True, eq=False):
    """`target = value` or `target op= value` (then `op` is set, carried out in `operand_type`)."""

    target: Place
    op: BinaryOp | None
    value: Expr
    operand_type: Type
    type: Type
    span: Span


class Increment(Struct, frozen=True, eq=False):
    """`++x`, `x--` …: `delta` is +1 or -1 (elements for pointers: `step_bytes` then is the pointee size)."""

    target: Place
    delta: int
    is_prefix: bool
    step_bytes: int
    type: Type
    span: Span


class OperationCount(Struct, frozen=True, eq=False):
    """`number` source operations of class `operation`.

    `instruction`: the kind of machine instruction that does `each` of them, where it is not the usual one.
    """

    operation: OperationClass
    number: float
    instruction: str = ""
    each: float = 1.0


class Intrinsic(Struct, frozen=True, eq=False):
    """A call the frontend does not follow: library function, builtin, inline assembly, undefined function.

    `operations` are the source operations one execution costs, by class (empty for printf and the like).
    `is_opaque_call` marks a call whose body could not be found: its cost is unknown (a diagnostic exists).
    `detail` is what types say and the name does not: the cooperative group that calls, and the function
    object that it combines values with; `TRANSPOSED`.
    """

    name: str
    arguments: tuple[Expr, ...]
    operations: tuple[OperationCount, ...]
    semantics: Semantics
    is_opaque_call: bool
    type: Type
    span: Span
    detail: str = ""


class Atomic(Struct, frozen=True, eq=False):
    """An atomic read-modify-write on `place`; `arguments` are the operands after the address."""

    op: AtomicOp
    place: MemoryPlace
    arguments: tuple[Expr, ...]
    type: Type
    span: Span


class TextureFetch(Struct, frozen=True, eq=False):
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


class Construct(Struct, frozen=True, eq=False):
    """A value built from parts: `make_float4(...)`, `dim3(x, y)`, braces, struct copies. Costs nothing.

    `order`: as of a `Call`.
    """

    arguments: tuple[Expr, ...]
    field_names: tuple[str, ...]
    type: Type
    span: Span
    order: tuple[int, ...] = ()


class Extract(Struct, frozen=True, eq=False):
    """One member of a record- or vector-valued expression that is not a place (`f(x).y`)."""

    value: Expr
    field: str
    type: Type
    span: Span


class InlinedCall(Struct, frozen=True, eq=False):
    """A followed call: bind `parameters[i] = arguments[i]`, run `body`, yield what `Return` gives.

    Reference parameters are substituted by the frontend and do not appear here.
    """

    name: str
    parameters: tuple[Variable, ...]
    arguments: tuple[Expr, ...]
    body: Block
    type: Type
    span: Span


ADDRESS_OF = "address of "
"""In front of the name of a method that gives a reference: the call gives the address instead."""


def made_up_offset(name: str) -> int:
    """Where a member is kept that has no byte of its own, or whose record's layout nobody knows."""
    return -1 - zlib.crc32(name.encode())


ELEMENT_METHODS = ("operator[]", "at", "front", "back")
"""Methods of containers that give a reference to an element."""

COUNTS_CHARACTERS = regex(r"(?<!%)(?:%%)*%[^a-zA-Z%]*[hlqjzt]*n")
"""The conversion of printf that writes."""

VECTOR_CLASSES = (
    "std::vector<",
    "std::deque<",
    "std::list<",
    "std::initializer_list<",
    "thrust::device_vector<",
    "thrust::host_vector<",
)
"""How the names of classes begin that hold as many elements as their length says."""

ELEMENT_CLASSES = (
    *VECTOR_CLASSES,
    "std::basic_string<",
    "std::unique_ptr<",
    "std::shared_ptr<",
    "std::function<",
)
"""How the names of classes of the library begin that are followed as elements of others."""

KEYED_CLASSES = ("std::map<", "std::unordered_map<", "std::set<", "std::unordered_set<")
"""How the names of classes begin that hold values by keys, or keys alone."""

NEXT_ELEMENT = "_ZNSt6vectorix"
"""How the linker knows the operator[] of vectors: the loop over a range of any container asks it."""

BIT_FIELD = "bit-field"
"""The intrinsic that gives so many bits, its second argument, of a member; its third is the first of them. As
to values members are whole: each has a place of its own."""

LANE = "lane"
"""The intrinsics that give the place of a lane of a warp in a matrix tile: the number of the thread (FMA) and
of the lane in its warp, its row (DIV), what lies between that and the first (MUL), its column (MOD). The
`detail` of this: how many elements an access of global memory moves."""
TRANSPOSED = "transposed"
"""`detail` of the load of a matrix tile whose elements lanes exchange: tensor cores take it the other way."""

UNREAD = "a statement that could not be read"
NUMERIC_LIMITS = "_ZNSt14numeric_limitsI"
"""What the mangled names of members of `std::numeric_limits` begin with."""
LOST_JUMP = "a goto that is not followed"
NOT_FOLLOWED = "a function that is not followed"
"""As `UNREAD`: a function with such a `goto`, which may have run any part of it any number of times."""
RUN_BY_LIBRARY = "functions that a library runs"
"""As `UNREAD`: constructors, destructors and assignments of what a library holds, nobody knows how often."""
INITIAL_VALUES = "initial values of "
"""How the function is called that runs before `main` and sets the file-scope variables of a file."""
AT_EXIT = "at exit"
"""How calls of destructors are called that are run when the program ends: of globals and static variables."""
GRAPH_NODE = "node of a graph"
"""A call before the launch that a node of a graph gets, with where the node is kept (the function called adds
it) or the node (which may have had another launch); nobody knows how often a graph is launched."""
TEAM, TEAM_END = "threads of an OpenMP region", "end of an OpenMP region"
"""Calls of host code around a region: how many threads run it, given how many run one that is in no other and
whether the program allows for more than one in another; the end."""
THROW, CAUGHT, HANDLE = "throw", "caught", "handle"
"""Calls of host code: throwing a value of the types that a text names, of no text the one at hand again;
whether what was thrown last is of such a type; the value of what is handled from here on."""
CAST_DOWN = "dynamic_cast"
"""A call of host code: the address, where an object of one of the classes that a text names begins, else 0;
the second text names all classes of the file."""
ANY_TYPE = "..."
"""The callee that stands for host code that could not be read: it may write what its arguments point at."""


class Call(Struct, frozen=True, eq=False):
    """Host code only: a call to `callee` (its mangled name or, when unmangled, its spelling).

    `function` is the pointer that a call goes through; its value is the `Text` of the function's name.
    `is_virtual`: the class of the object, its first argument, decides which function runs; `overriders`:
    the classes that the file has for it, with the mangled names of their functions. `looked_at`: of a
    function that another file defines, the arguments that it takes as pointers to what is const; None of
    any other one. `is_of_program`: it
    is declared there, as a function of C++: it may have the name of one of a library, but is none.
    `is_elsewhere`: the file has no body of it, nor is it of a library that is known; it `has_header` that
    declares it. `order`: in which the arguments are evaluated; empty: the first one first.
    """

    callee: str
    name: str
    arguments: tuple[Expr, ...]
    type: Type
    span: Span
    function: Expr | None = None
    is_virtual: bool = False
    overriders: tuple[tuple[str, str], ...] = ()
    looked_at: frozenset[int] | None = None
    is_of_program: bool = False
    is_elsewhere: bool = False
    has_header: bool = False
    order: tuple[int, ...] = ()


class Text(Struct, frozen=True, eq=False):
    """Host code only: a string literal (names and defaults of command-line options)."""

    value: str
    type: Type
    span: Span


class LaunchCall(Struct, frozen=True, eq=False):
    """Host code only: `kernel<<<grid, block, shared_bytes, stream>>>(arguments)` or cudaLaunchKernel.

    `kernel` is the mangled name of the (instantiated) kernel. `grid` and `block` are expressions of type
    dim3 (a `Construct` with fields x, y, z), of an integer type, or `Read`s of dim3 variables.
    `function` is the pointer that the launch goes through, whose value is the `Text` of the kernel's name;
    then `kernel` is empty. `packed`: instead of arguments the address of an array of pointers to them.
    `defined_in`: the file with the kernel's definition, empty where the host code has only a declaration.
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
    packed: Expr | None = None
    defined_in: str = ""


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


class ExprStmt(Struct, frozen=True, eq=False):
    """An expression run for its effect."""

    expr: Expr
    region: int
    span: Span


class Declare(Struct, frozen=True, eq=False):
    """A declaration of a register variable or local array, with its initial value if it has one."""

    variable: Variable
    value: Expr | None
    region: int
    span: Span


class Block(Struct, frozen=True, eq=False):
    """A sequence of statements; a `Break` inside may leave it when it `is_breakable`, as PTX does.

    `is_protected`: of two statements, of which the second goes on behind what is thrown in the first, asking
    `CAUGHT`.
    """

    statements: tuple[Stmt, ...]
    region: int
    span: Span
    is_breakable: bool = False
    is_protected: bool = False


class If(Struct, frozen=True, eq=False):
    """`if`; `region` counts evaluations of the condition; the arms have regions of their own."""

    condition: Expr
    then: Block
    otherwise: Block | None
    region: int
    span: Span


class LoopKind(IdentityEnum):
    """Which keyword wrote the loop."""

    FOR = "for"
    WHILE = "while"
    DO = "do"


class Ranges(Struct, frozen=True):
    """Ranges of a counter, with a loop for each that does anything: `number` of these.

    `passed`: the region of iterations of which some do nothing, in loops that only count.
    """

    number: int
    passed: int | None = None


class Loop(Struct, frozen=True, eq=False):
    """Any loop: `region` counts entries, `test_region` tests, `step_region` evaluations of the step.

    `unroll`: the number in `#pragma unroll N`; 0 for the bare pragma (full); None without a pragma.
    A condition that is missing in the source (`for(;;)`) is None. `is_folded`: no loop of the source, but
    statements that repeat each other; its counters, tests and steps cost nothing. `ranges`: of its counter,
    in a loop that the compiler splits.
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
    is_folded: bool = False
    ranges: Ranges | None = None


class Case(Struct, frozen=True, eq=False):
    """A `case`/`default` group: its labels (None = default) and the statements up to the next one.

    Without a `break` at its end control falls through to the next case.
    """

    labels: tuple[int | None, ...]
    body: Block


class Switch(Struct, frozen=True, eq=False):
    """`switch`; `region` counts evaluations of the selector."""

    selector: Expr
    cases: tuple[Case, ...]
    region: int
    span: Span


class Return(Struct, frozen=True, eq=False):
    """Return from the kernel or from the innermost `InlinedCall`."""

    value: Expr | None
    region: int
    span: Span


class Break(Struct, frozen=True, eq=False):
    """Leave the innermost loop, switch or breakable block; of PTX, that many of them (`levels`)."""

    region: int
    span: Span
    levels: int = 1


class Continue(Struct, frozen=True, eq=False):
    """Next iteration of the innermost loop."""

    region: int
    span: Span


Stmt = ExprStmt | Declare | Block | If | Loop | Switch | Return | Break | Continue

DEVICE_LAUNCH = "launch from device code: the kernel it starts is not part of this one's figures"
"""The message of the diagnostic (PW006) of a launch in a kernel or what it calls."""


class Diagnostic(Struct, frozen=True):
    """Something a reader must know, with a stable rule id (`wattslice explain RULE`)."""

    rule: str
    severity: Severity
    file: str
    line: int
    message: str


class Function(Struct, frozen=True, eq=False):
    """A host function, lowered without inlining, for reading launch geometry.

    `reference_parameters`: the parameters that name an object of the caller (`int& blocks`). `lambdas`: those
    written in it, functions that name its variables. `copied`: of a lambda, the variables that it keeps the
    values of from where it is written; None for any other function. `linked_as`: the name by which other
    files may call it, and which only one of a program may define; None for what is static, inline or of a
    template.
    """

    name: str
    mangled_name: str
    parameters: tuple[Variable, ...]
    default_arguments: tuple[Expr | None, ...]
    body: Block
    span: Span
    reference_parameters: frozenset[Variable] = frozenset()
    lambdas: tuple[Function, ...] = ()
    copied: frozenset[Variable] | None = None
    linked_as: str | None = None
    scope: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """How a message calls it."""
        return f"{self.name}()" if self.copied is None else f"the lambda in line {self.span.line}"


class MachineInstruction(Struct, frozen=True):
    """One instruction of a kernel that was read from PTX.

    `opcode` is the mnemonic with the modifiers that make a difference to its cost (`ld.global.f32`,
    `div.rn.f32`); it runs as often as `region` of the kernel's execution profile.
    """

    opcode: str
    region: int
    span: Span


class ArgumentPart(Struct, frozen=True):
    """What a parameter of a kernel from PTX is in the source of that kernel: a part of an argument.

    `argument` counts the parameters of the source from 0; `offset_bytes` from the start of a by-value struct.
    `number_name` is how PTX alone names it: `param2`, `param2_8`.
    """

    argument: int
    offset_bytes: int
    number_name: str


class Kernel(Struct, frozen=True, eq=False):
    """A `__global__` function (or a C function analysed as one), instantiated and inlined.

    `name` is the plain name, `qualified_name` with namespaces and template arguments. `region_count` and
    `site_count` are the sizes of the dense numberings. `shared_variables`: all `__shared__` objects
    reachable from the body. `max_threads_per_block`/`min_blocks_per_sm` from `__launch_bounds__`,
    `max_registers` from `__maxnreg__`.
    `body_is_complete` False: something in the body could not be read; `holes` are the diagnostics that
    name it, of CUDA files. `assumed`: what had to be assumed to read it.
    `machine_instructions`: every PTX instruction of the body, of PTX files only, `argument_parts` as well:
    one for each parameter. `original`: the kernel of the program's `origin` that it was compiled from.
    `fast_math`: where `--use_fast_math` is said of it, else empty.
    `is_followed` False: one of many instances of a template, with the body of another one.
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
    holes: tuple[Diagnostic, ...] = ()
    machine_instructions: tuple[MachineInstruction, ...] = ()
    argument_parts: tuple[ArgumentPart, ...] = ()
    original: Kernel | None = None
    max_registers: int | None = None
    fast_math: str = ""
    assumed: tuple[Diagnostic, ...] = ()
    is_followed: bool = True


class AssumedOfText(Struct, frozen=True):
    """What reading a file had to assume of it, where, and the option that settles it."""

    file: str
    line: int
    message: str
    fix: str


class Program(Struct, frozen=True, eq=False):
    """One translation unit: its kernels, the host functions around their launches, what could not be read.

    `source_lines` are the lines of the main file, for quoting (index 0 is line 1). `origin`: of a PTX file,
    the CUDA program it was compiled from, where that is there to be read; of its kernels, those that are
    kernels of the PTX with the same parameters. `included`: the files that it includes, our own left out.
    `in_doubt`: of names that several files beside it define, each in its own way, where they do.
    `assumed`: of its text, whatever is launched.
    """

    file: str
    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]
    globals: tuple[Variable, ...]
    diagnostics: tuple[Diagnostic, ...]
    source_lines: tuple[str, ...]
    origin: Program | None = None
    included: tuple[str, ...] = ()
    in_doubt: Mapping[str, str] = {}
    assumed: tuple[AssumedOfText, ...] = ()


_LINE_END = regex(r"\r\n|\n|\r")


def numbered_lines(text: str) -> tuple[str, ...]:
    """The lines of a source, index 0 is line 1, as compilers number them: a form feed ends no line.

    A byte order mark at the beginning says how the file is encoded and belongs to no line.
    """
    lines = _LINE_END.split(text.removeprefix("\ufeff"))
    return tuple(lines if lines[-1] else lines[:-1])
