"""Operands of PTX instructions, and which names are registers."""

from __future__ import annotations

from wattslice.frontend.ptx.syntax.constants import begins_constant, constant, integer
from wattslice.frontend.ptx.syntax.lexer import Cursor, is_word
from wattslice.frontend.ptx.syntax.syntax import (
    Address,
    Arguments,
    Immediate,
    Operand,
    Pair,
    Register,
    RegisterDeclaration,
    Sink,
    Symbol,
    Vector,
)

_DEPTH = 16
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
        made = self._made.get(token)
        if made is not None:
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
        return _symbol(cursor, registers, token, depth)
    return cursor.fail(f"an operand expected, {cursor.shown} found")


def _list(cursor: Cursor, registers: Registers, end: str, in_call: bool, depth: int) -> tuple[Operand, ...]:
    if depth > _DEPTH:
        cursor.fail(f"operands nested deeper than {_DEPTH}")
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
        return Immediate(f"!{inner.text}", int(not inner.value))
    found = registers.register(cursor.token)
    if found is None:
        cursor.fail(f"a predicate expected after '!', {cursor.shown} found")
    cursor.advance()
    return Register(found.name, found.component, negated=True)


def _symbol(cursor: Cursor, registers: Registers, name: str, depth: int) -> Operand:
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
    if depth > _DEPTH:
        cursor.fail(f"operands nested deeper than {_DEPTH}")
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
