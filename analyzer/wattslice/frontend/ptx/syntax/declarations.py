"""Parts of PTX statements: declarations with their initialisers, operands, source locations."""

from __future__ import annotations

from msgspec import Struct

from wattslice.frontend.ptx.syntax.lexer import (
    Cursor,
    begins_constant,
    constant,
    integer,
    is_directive,
    is_number,
    is_word,
)
from wattslice.frontend.ptx.syntax.syntax import (
    TYPE_BITS,
    Address,
    Arguments,
    Immediate,
    Operand,
    Pair,
    Parameter,
    Register,
    RegisterDeclaration,
    Sink,
    SourceFile,
    SourceLocation,
    Symbol,
    Variable,
    Vector,
)
from wattslice.patterns import regex

LINKAGE = {".extern": "extern", ".visible": "visible", ".weak": "weak", ".common": "common"}
SPACES = {f".{name}": name for name in ("global", "const", "shared", "local", "param", "tex")}
_LANES = {".v2": 2, ".v4": 4, ".v8": 8}
_POINTED = frozenset({".global", ".const", ".shared", ".local", ".param"})
_NO_VALUE = frozenset({".entry", ".func", *LINKAGE, *SPACES})


class _Qualifiers(Struct):
    """What stands between the space of a declaration and its name."""

    type: str = ""
    lanes: int = 1
    is_pointer: bool = False


def skip_parentheses(cursor: Cursor) -> None:
    """Step over `( ... )`."""
    cursor.expect("(")
    depth = 1
    while depth:
        if not cursor.token or cursor.token in ("{", "}", ";"):
            cursor.fail(f"')' expected, {cursor.shown} found")
        token = cursor.take()
        depth += (token == "(") - (token == ")")


def _qualifiers(cursor: Cursor) -> _Qualifiers:
    found = _Qualifiers()
    while is_directive(token := cursor.token):
        cursor.advance()
        if token[1:] in TYPE_BITS:
            found.type = token[1:]
        elif token in _LANES:
            found.lanes = _LANES[token]
        elif token == ".align":
            integer(cursor, "an alignment")
        elif token == ".ptr":
            found.is_pointer = True
        elif token == ".attribute":
            skip_parentheses(cursor)
        elif not (found.is_pointer and token in _POINTED):
            cursor.fail(f"'{token[:40]}' is not part of a declaration")
    if not found.type:
        cursor.fail(f"a type expected, {cursor.shown} found")
    return found


def registers(cursor: Cursor) -> list[RegisterDeclaration]:
    """What follows `.reg`, with its semicolon."""
    line = cursor.line
    found = _qualifiers(cursor)
    made: list[RegisterDeclaration] = []
    while True:
        name = cursor.word("the name of a register")
        count: int | None = None
        if cursor.accept("<"):
            token = cursor.token
            if not is_number(token) or not token.isdecimal() or len(token) > 9:
                cursor.fail(f"a number of registers expected, {cursor.shown} found")
            count = int(token)
            cursor.advance()
            cursor.expect(">")
        made.append(RegisterDeclaration(found.type, name, count, found.lanes, line))
        if not cursor.accept(","):
            cursor.expect(";")
            return made


def variables(cursor: Cursor, space: str, linkage: str) -> list[Variable]:
    """What follows `.global`, `.shared`, ..., with its semicolon."""
    line = cursor.line
    if space == "const" and cursor.accept("["):  # a bank, of PTX before 2.2
        integer(cursor, "a bank")
        cursor.expect("]")
    found = _qualifiers(cursor)
    made: list[Variable] = []
    while True:
        name = cursor.word("the name of a variable")
        dimensions = _dimensions(cursor)
        if cursor.accept("="):
            _skip_value(cursor)
        made.append(Variable(space, found.type, name, found.lanes, dimensions, linkage, line))
        if not cursor.accept(","):
            cursor.expect(";")
            return made


def parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    """`(.param .u64 a, .param .align 4 .b8 b[12])`, also empty."""
    cursor.expect("(")
    made: list[Parameter] = []
    while cursor.token != ")":
        line = cursor.line
        space = cursor.token
        if space not in (".param", ".reg"):
            cursor.fail(f"'.param' or '.reg' expected, {cursor.shown} found")
        cursor.advance()
        found = _qualifiers(cursor)
        name = cursor.word("the name of a parameter")
        made.append(Parameter(space[1:], found.type, name, _dimensions(cursor), found.is_pointer, line))
        if not cursor.accept(",") and cursor.token != ")":
            cursor.fail(f"',' or ')' expected, {cursor.shown} found")
    cursor.advance()
    return tuple(made)


def _dimensions(cursor: Cursor) -> tuple[int | None, ...]:
    found: list[int | None] = []
    while cursor.accept("["):
        if cursor.accept("]"):
            found.append(None)
            continue
        size = integer(cursor, "the size of an array")
        if size < 0:
            cursor.fail(f"an array of {size} elements")
        found.append(size)
        cursor.expect("]")
    return tuple(found)


def _skip_value(cursor: Cursor) -> None:
    """Step over an initial value: nothing of it takes part in a computation."""
    if cursor.token in (",", ";"):
        cursor.fail(f"a value expected, {cursor.shown} found")
    depth = 0
    while depth > 0 or cursor.token not in (",", ";"):
        if not cursor.token or (cursor.token == "}" and not depth) or cursor.token in _NO_VALUE:
            cursor.fail(f"';' expected, {cursor.shown} found")
        token = cursor.take()
        depth += (token in ("{", "(")) - (token in ("}", ")"))


# ---------------------------------------------------------------------------
# Operands of PTX instructions, and which names are registers.


_OPERAND_DEPTH = 16
_DIGITS = 8
"""The most digits of a register number that are told apart from its name."""
SINK = Sink()


class Registers:
    """The registers that the scopes around an instruction declare.

    Names with `%` are registers without being asked: compilers name nothing else that way.
    """

    def __init__(self) -> None:
        self._scopes: list[set[str]] = [set()]
        self._made: dict[str, Register] = {}

    def begin_function(self) -> None:
        """Nothing is declared yet."""
        self._scopes = [set()]

    def enter(self) -> None:
        """A scope begins."""
        self._scopes.append(set())

    def leave(self) -> None:
        """The innermost scope ends."""
        self._scopes.pop()

    def declare(self, found: RegisterDeclaration) -> None:
        """A declaration in the innermost scope."""
        if not found.name.startswith("%"):
            self._scopes[-1].add(found.name if found.count is None else f"{found.name}<>")

    def register(self, token: str) -> Register | None:
        """The register of this name (`%r1`, `%tid.x`), None for the name of anything else."""
        if (made := self._made.get(token)) is not None:
            return made
        name, _, component = token.partition(".")
        if name[0] == "%":
            made = self._made[token] = Register(name, component)
            return made
        if self._declared(name):
            return Register(name, component)
        return None

    def _declared(self, name: str) -> bool:
        names = {name}
        for end in range(len(name) - 1, max(0, len(name) - _DIGITS), -1):
            if not name[end].isdigit():
                break
            names.add(f"{name[:end]}<>")
        return any(not names.isdisjoint(scope) for scope in self._scopes)


def operand(cursor: Cursor, registers: Registers, in_call: bool = False, depth: int = 0) -> Operand:
    """The operand at the cursor. `in_call`: parentheses hold arguments."""
    token = cursor.token
    if token[:1] == "%" and len(token) > 1:
        first = registers.register(token)
        cursor.advance()
        return _paired(cursor, registers, first) if cursor.token == "|" else first or SINK
    if token == "[":
        return _address(cursor, registers, depth)
    if token == "{":
        return Vector(_list(cursor, registers, "}", in_call, depth))
    if token == "(" and in_call:
        return Arguments(_list(cursor, registers, ")", in_call, depth))
    if token == "_":
        cursor.advance()
        return _paired(cursor, registers, SINK) if cursor.token == "|" else SINK
    if token == "!":
        return _negated(cursor, registers)
    if begins_constant(token):
        return constant(cursor)
    if is_word(token):
        found = registers.register(token)
        cursor.advance()
        if found is not None:
            return _paired(cursor, registers, found) if cursor.token == "|" else found
        return _symbol_operand(cursor, registers, token, depth)
    return cursor.fail(f"an operand expected, {cursor.shown} found")


def _list(cursor: Cursor, registers: Registers, end: str, in_call: bool, depth: int) -> tuple[Operand, ...]:
    if depth > _OPERAND_DEPTH:
        cursor.fail(f"operands nested deeper than {_OPERAND_DEPTH}")
    cursor.advance()
    found: list[Operand] = []
    while cursor.token != end:
        found.append(operand(cursor, registers, in_call, depth + 1))
        if not cursor.accept(",") and cursor.token != end:
            cursor.fail(f"',' or '{end}' expected, {cursor.shown} found")
    cursor.advance()
    return tuple(found)


def _paired(cursor: Cursor, registers: Registers, first: Register | Sink | None) -> Pair:
    cursor.expect("|")
    token = cursor.word("a register")
    second = SINK if token == "_" else registers.register(token)
    if first is None or second is None:
        cursor.fail("a register expected on both sides of '|'")
    return Pair(first, second)


def _negated(cursor: Cursor, registers: Registers) -> Operand:
    cursor.expect("!")
    if not is_word(cursor.token):
        inner = constant(cursor)
        return Immediate(int(not inner.value))
    found = registers.register(cursor.token)
    if found is None:
        cursor.fail(f"a predicate expected after '!', {cursor.shown} found")
    cursor.advance()
    return Register(found.name, found.component, negated=True)


def _symbol_operand(cursor: Cursor, registers: Registers, name: str, depth: int) -> Operand:
    if cursor.token in ("+", "-"):
        return Symbol(name, _offset(cursor))
    if cursor.accept("["):
        subscript = operand(cursor, registers, False, depth + 1)
        cursor.expect("]")
        return Address(Symbol(name), subscript=subscript)
    return Symbol(name)


def _offset(cursor: Cursor) -> int:
    """`+12`, `+-4`, `-4`, or nothing: 0."""
    if cursor.token == "+":
        cursor.advance()
        return integer(cursor, "an offset")
    return integer(cursor, "an offset") if cursor.token == "-" else 0


def _address(cursor: Cursor, registers: Registers, depth: int) -> Address:
    if depth > _OPERAND_DEPTH:
        cursor.fail(f"operands nested deeper than {_OPERAND_DEPTH}")
    cursor.expect("[")
    base: Register | Symbol | Immediate
    subscript: Operand | None = None
    if is_word(cursor.token) and cursor.token != "WARP_SZ":
        token = cursor.take()
        base = registers.register(token) or Symbol(token)
        if cursor.accept("["):
            subscript = operand(cursor, registers, False, depth + 1)
            cursor.expect("]")
        offset = _offset(cursor)
    else:
        base, offset = constant(cursor), 0
    arguments: list[Operand] = []
    while cursor.accept(","):
        arguments.append(operand(cursor, registers, False, depth + 1))
    cursor.expect("]")
    return Address(base, offset, tuple(arguments), subscript)


# ---------------------------------------------------------------------------
# Where a PTX instruction comes from: `.file` and `.loc`.


_MOST_INLINED = 32
"""The most calls that inlining removed around one place: also what ends a place inlined into itself."""
_MOST_LINES = 1 << 24
_ESCAPE = regex(r"\\(.)")


class Locations:
    """The `.loc` that stands last before an instruction, with the calls that inlining removed."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int, int], tuple[SourceLocation, int]] = {}
        self.current: SourceLocation | None = None

    def begin_function(self) -> None:
        """What a function says of its lines ends with it."""
        self._seen.clear()
        self.current = None

    def read(self, cursor: Cursor) -> None:
        """What follows `.loc`: `1 9 68, function_name label, inlined_at 1 9 68`."""
        place = _place(cursor)
        inlined_at: SourceLocation | None = None
        depth = 0
        while cursor.accept(","):
            word = cursor.word("'function_name' or 'inlined_at'")
            if word == "inlined_at":
                caller = _place(cursor)
                inlined_at, depth = self._seen.get(caller, (None, 0))
                if inlined_at is None or depth > _MOST_INLINED:
                    inlined_at, depth = SourceLocation(*caller), 0
            elif word == "function_name":
                cursor.word("a label")
                if cursor.accept("+"):
                    integer(cursor, "an offset")
            else:
                cursor.fail(f"'{word[:40]}' is not part of .loc")
        if place[1] == 0 and inlined_at is None and self.current is not None:
            return  # line 0: made or moved by the compiler, for what stands around it
        self.current = SourceLocation(*place, inlined_at)
        self._seen[place] = self.current, depth + 1


def _place(cursor: Cursor) -> tuple[int, int, int]:
    place = (
        integer(cursor, "a file number"),
        integer(cursor, "a line number"),
        integer(cursor, "a column number"),
    )
    if not all(0 <= number <= _MOST_LINES for number in place):
        cursor.fail(f"no source has line {place[1]}, column {place[2]}")
    return place


def source_file(cursor: Cursor) -> SourceFile:
    """What follows `.file`: `1 "path"`, in older files also a time and a size."""
    number = integer(cursor, "a file number")
    path = _ESCAPE.sub(r"\1", cursor.string("the path of the file"))
    while cursor.accept(","):
        integer(cursor, "a time or a size")
    return SourceFile(number, path)
