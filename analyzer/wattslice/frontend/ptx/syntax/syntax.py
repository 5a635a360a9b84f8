"""What a PTX file says, as written: a module of variables and functions, a function of statements.

Names follow the PTX ISA. Types are the words of the language without their dot (`"f32"`, `"pred"`).
Nothing is resolved here beyond what the text alone settles: which names are registers, the values of
constant expressions, the source location that the last `.loc` gives.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

TYPE_BITS = (
    {f"{kind}{bits}": bits for kind in "sub" for bits in (8, 16, 32, 64)}
    | {"b128": 128, "f16": 16, "f16x2": 32, "bf16": 16, "bf16x2": 32, "tf32": 32, "f32": 32, "f64": 64}
    | {"s16x2": 32, "u16x2": 32, "f32x2": 64}
    | {"pred": 1, "texref": 64, "samplerref": 64, "surfref": 64}
)
"""The types that a register, a parameter, a variable or an instruction may have, and the bits of each."""


# Operands


class Register(Struct, frozen=True):
    """`%r1`, `!%p2` (`negated`), a special register or one element of a vector (`%tid.x`: `component` x)."""

    name: str
    component: str = ""
    negated: bool = False


class Sink(Struct, frozen=True):
    """`_`: a result that nobody wants, or an argument that is not there."""


class Immediate(Struct, frozen=True):
    """The value of a constant expression: a float for `0f3F800000`, `0d...` and `1.5`, else an int."""

    value: int | float


class Symbol(Struct, frozen=True):
    """The address of a variable, a function, a label or a parameter, `offset` bytes further on."""

    name: str
    offset: int = 0


class Address(Struct, frozen=True):
    """`[base+offset]`; `arguments` are what follows a comma in the brackets (sampler, coordinates).

    `offset` is in bytes. `name[3]`, an element of an array, has `subscript` 3, counted in elements.
    """

    base: Register | Symbol | Immediate
    offset: int = 0
    arguments: tuple[Operand, ...] = ()
    subscript: Operand | None = None


class Vector(Struct, frozen=True):
    """`{%f1, %f2}`."""

    elements: tuple[Operand, ...]


class Pair(Struct, frozen=True):
    """`%p1|%p2`: two results of one instruction."""

    first: Register | Sink
    second: Register | Sink


class Arguments(Struct, frozen=True):
    """`(param0, param1)` of a call."""

    elements: tuple[Operand, ...]


Operand = Register | Sink | Immediate | Symbol | Address | Vector | Pair | Arguments


# Statements


class SourceLocation(Struct, frozen=True):
    """A place in the program that was compiled, from `.loc`. `file` is a number of `Module.files`.

    `inlined_at` is where the function that holds the place was called (only of inlined ones).
    """

    file: int
    line: int
    column: int
    inlined_at: SourceLocation | None = None


class Guard(Struct, frozen=True):
    """`@%p1` or `@!%p1`."""

    register: str
    negated: bool


class Instruction(Struct, frozen=True):
    """One instruction. `ld.global.nc.f32` has opcode `ld` and modifiers `("global", "nc", "f32")`.

    Modifiers with `::` stay in one piece (`shared::cluster`). `line` counts from 1 in the PTX file.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    location: SourceLocation | None

    @property
    def mnemonic(self) -> str:
        """Opcode and modifiers as written: `ld.global.nc.f32`."""
        return ".".join((self.opcode, *self.modifiers))


class Label(Struct, frozen=True):
    """`$L__BB0_2:`."""

    name: str
    line: int


class RegisterDeclaration(Struct, frozen=True):
    """`.reg .f32 %f<60>` declares %f0 to %f59 (`count` 60).

    Without `<60>` `count` is None and `name` the register. `lanes` is 2 or 4 for `.reg .v4 .f32 %v`. A list
    of names makes several of these.
    """

    type: str
    name: str
    count: int | None
    lanes: int
    line: int


class Variable(Struct, frozen=True):
    """A variable of a state space: `global`, `const`, `shared`, `local`, `param` (around a call) or `tex`.

    `dimensions` are the sizes of an array, outermost first, None where the text leaves one open. `linkage` is
    `extern`, `visible`, `weak`, `common` or empty. Alignment and initial value are not kept.
    """

    space: str
    type: str
    name: str
    lanes: int
    dimensions: tuple[int | None, ...]
    linkage: str
    line: int

    @property
    def size_bytes(self) -> int | None:
        """The bytes it takes, None when a dimension is open."""
        return _size_bytes(self.type, self.lanes, self.dimensions)


class Parameter(Struct, frozen=True):
    """A parameter or a result: `.param .align 16 .b8 name[32]`, `.param .u64 .ptr .global .align 4 name`.

    `space` is `param` or `reg`. `is_pointer`: with `.ptr`.
    """

    space: str
    type: str
    name: str
    dimensions: tuple[int | None, ...]
    is_pointer: bool
    line: int

    @property
    def size_bytes(self) -> int | None:
        """The bytes it takes, None when a dimension is open."""
        return _size_bytes(self.type, 1, self.dimensions)


def _size_bytes(type_name: str, lanes: int, dimensions: tuple[int | None, ...]) -> int | None:
    size = (TYPE_BITS[type_name] + 7) // 8 * lanes
    for dimension in dimensions:
        if dimension is None:
            return None
        size *= dimension
    return size


class BranchTargets(Struct, frozen=True):
    """`name: .branchtargets L1, L2;` of `brx.idx`, or `name: .calltargets f, g;` of a call."""

    name: str
    targets: tuple[str, ...]
    line: int


class Pragma(Struct, frozen=True):
    """`.pragma "nounroll";`, text without its quotes."""

    text: str
    line: int


Statement = Instruction | Label | RegisterDeclaration | Variable | BranchTargets | Pragma


# Module


class Directive(Struct, frozen=True):
    """A directive between the header of a function and its body: `.maxntid 128, 1, 1`; values as written."""

    name: str
    arguments: tuple[str, ...]


class Function(Struct, frozen=True):
    """`.entry` (`is_entry`: a kernel) or `.func`. `body` is None for a declaration.

    Scopes are opened: a name declared in one is `name@n` there, n counting the scopes of the function from 1.
    `line` is that of the `.entry` or `.func`, `end_line` of the closing brace (or the semicolon).
    """

    name: str
    is_entry: bool
    linkage: str
    results: tuple[Parameter, ...]
    parameters: tuple[Parameter, ...]
    directives: tuple[Directive, ...]
    body: tuple[Statement, ...] | None
    line: int
    end_line: int

    def directive(self, name: str) -> Directive | None:
        """The directive of this name (`maxntid`, `reqntid`, `minnctapersm`, ...), if it is there."""
        return next((found for found in self.directives if found.name == name), None)


class SourceFile(Struct, frozen=True):
    """`.file number "path"`."""

    number: int
    path: str


class Problem(Struct, frozen=True):
    """Something that could not be read; the rest of the file was. `function` is lost, when it names one.

    `is_entry`: the lost function is a kernel.
    """

    line: int
    message: str
    remedy: str
    function: str | None = None
    is_entry: bool = False


class Module(Struct, frozen=True):
    """One PTX file. Functions and variables are in the order of the file, declarations included."""

    files: tuple[SourceFile, ...]
    variables: tuple[Variable, ...]
    functions: tuple[Function, ...]
    problems: tuple[Problem, ...]


# ---------------------------------------------------------------------------
# What a scope declares gets a name of its own.


def opened_scope(body: Sequence[Statement], number: int) -> list[Statement]:
    """The statements of a scope with the names that it declares written `name@number`."""
    names = _Names()
    for statement in body:
        if isinstance(statement, Instruction | Pragma) or "@" in statement.name:  # declared further inside
            continue
        if isinstance(statement, RegisterDeclaration) and statement.count is not None:
            names.ranges[statement.name] = f"{statement.name}@{number}_"
        else:
            names.single[statement.name] = f"{statement.name}@{number}"
    return [_renamed(statement, names) for statement in body]


class _Names:
    """What the names of a scope are called outside: single names, and ranges by their prefix."""

    def __init__(self) -> None:
        self.single: dict[str, str] = {}
        self.ranges: dict[str, str] = {}

    def of(self, name: str) -> str:
        found = self.single.get(name)
        if found is not None or not self.ranges:
            return found or name
        prefix = name.rstrip("0123456789")
        renamed = self.ranges.get(prefix)
        return name if renamed is None or prefix == name else renamed + name[len(prefix) :]


def _renamed(statement: Statement, names: _Names) -> Statement:
    match statement:
        case Instruction():
            guard = statement.guard
            if guard is not None:
                guard = Guard(names.of(guard.register), guard.negated)
            operands = tuple(_renamed_operand(operand, names) for operand in statement.operands)
            return replace(statement, operands=operands, guard=guard)
        case RegisterDeclaration(name=name, count=int()):
            return replace(statement, name=names.ranges.get(name, name))
        case BranchTargets():
            targets = tuple(names.of(target) for target in statement.targets)
            return replace(statement, name=names.of(statement.name), targets=targets)
        case Pragma():
            return statement
        case _:
            return replace(statement, name=names.of(statement.name))


def _renamed_operand(operand: Operand, names: _Names) -> Operand:
    match operand:
        case Register() | Symbol():
            name = names.of(operand.name)
            return operand if name == operand.name else replace(operand, name=name)
        case Address():
            subscript = None if operand.subscript is None else _renamed_operand(operand.subscript, names)
            base = operand.base
            if not isinstance(base, Immediate):
                base = replace(base, name=names.of(base.name))
            arguments = tuple(_renamed_operand(argument, names) for argument in operand.arguments)
            return Address(base, operand.offset, arguments, subscript)
        case Vector() | Arguments():
            return replace(
                operand, elements=tuple(_renamed_operand(part, names) for part in operand.elements)
            )
        case Pair(first, second):
            return Pair(_renamed_result(first, names), _renamed_result(second, names))
        case Immediate() | Sink():
            return operand


def _renamed_result(operand: Register | Sink, names: _Names) -> Register | Sink:
    return operand if isinstance(operand, Sink) else replace(operand, name=names.of(operand.name))


# ---------------------------------------------------------------------------
# The parts of a `call`.


class Call(Struct, frozen=True):
    """`call (results), callee, (arguments), prototype;`; `callee` is a register in an indirect call."""

    results: tuple[Operand, ...]
    callee: Register | Symbol
    arguments: tuple[Operand, ...]


def call_of(instruction: Instruction) -> Call | None:
    """The parts of a call, None for another instruction or a call of a form that PTX does not have."""
    if instruction.opcode != "call":
        return None
    rest = list(instruction.operands)
    results = _taken_arguments(rest)
    callee = rest.pop(0) if rest else None
    arguments = _taken_arguments(rest)
    prototype = rest.pop(0) if rest else None
    if not isinstance(callee, Register | Symbol) or rest or not isinstance(prototype, Symbol | None):
        return None
    return Call(results, callee, arguments)


def _taken_arguments(rest: list[Operand]) -> tuple[Operand, ...]:
    """The list that comes next, taken away; empty when none does."""
    if rest and isinstance(first := rest[0], Arguments):
        del rest[0]
        return first.elements
    return ()
