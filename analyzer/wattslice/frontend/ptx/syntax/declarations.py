"""Declarations of PTX: registers, variables with their initialisers, parameters."""

from __future__ import annotations

from dataclasses import dataclass

from wattslice.frontend.ptx.syntax.constants import begins_constant, constant, integer
from wattslice.frontend.ptx.syntax.lexer import Cursor, is_directive, is_number, is_word
from wattslice.frontend.ptx.syntax.syntax import (
    TYPE_BITS,
    Initializer,
    InitializerList,
    Parameter,
    RegisterDeclaration,
    Symbol,
    Variable,
)

LINKAGE = {".extern": "extern", ".visible": "visible", ".weak": "weak", ".common": "common"}
SPACES = {f".{name}": name for name in ("global", "const", "shared", "local", "param", "tex")}
_LANES = {".v2": 2, ".v4": 4, ".v8": 8}
_OPAQUE = frozenset({"texref", "samplerref", "surfref"})
_POINTED = frozenset({".global", ".const", ".shared", ".local", ".param"})
_DEPTH = 32


@dataclass(slots=True)
class _Qualifiers:
    """What stands between the space of a declaration and its name."""

    type: str = ""
    lanes: int = 1
    alignment: int | None = None
    pointer_space: str | None = None
    pointer_alignment: int | None = None


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
            alignment = integer(cursor, "an alignment")
            if found.pointer_space is None:
                found.alignment = alignment
            else:
                found.pointer_alignment = alignment
        elif token == ".ptr":
            found.pointer_space = "generic"
        elif token in _POINTED and found.pointer_space is not None:
            found.pointer_space = token[1:]
        elif token == ".attribute":
            skip_parentheses(cursor)
        else:
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
        initializer: Initializer | None = None
        if cursor.accept("="):
            if found.type in _OPAQUE:  # settings of a sampler: nothing that takes part in a computation
                cursor.skip_braces()
            else:
                initializer = _initializer(cursor, 0)
        made.append(
            Variable(
                space, found.type, name, found.lanes, found.alignment, dimensions, initializer, linkage, line
            )
        )
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
        made.append(
            Parameter(
                space[1:],
                found.type,
                name,
                found.alignment,
                _dimensions(cursor),
                found.pointer_space,
                found.pointer_alignment,
                line,
            )
        )
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


def _initializer(cursor: Cursor, depth: int) -> Initializer:
    if depth > _DEPTH:
        cursor.fail(f"an initialiser nested deeper than {_DEPTH}")
    token = cursor.token
    if token == "{":
        cursor.advance()
        elements: list[Initializer] = []
        while cursor.token != "}":
            elements.append(_initializer(cursor, depth + 1))
            if not cursor.accept(",") and cursor.token != "}":
                cursor.fail(f"',' or '}}' expected, {cursor.shown} found")
        cursor.advance()
        return InitializerList(tuple(elements))
    if is_word(token) and token != "WARP_SZ":
        return _symbol(cursor, None)
    if not begins_constant(token):
        cursor.fail(f"a value expected, {cursor.shown} found")
    value = constant(cursor)
    if cursor.token == "(" and isinstance(value.value, int):  # 0xFF00(name): one byte of an address
        cursor.advance()
        found = _symbol(cursor, value.value)
        cursor.expect(")")
        return found
    return value


def _symbol(cursor: Cursor, mask: int | None) -> Symbol:
    name = cursor.word("a name")
    generic = name == "generic" and cursor.accept("(")
    if generic:
        name = cursor.word("a name")
        cursor.expect(")")
    offset = 0
    if cursor.token in ("+", "-"):
        cursor.accept("+")
        offset = integer(cursor, "an offset")
    return Symbol(name, offset, generic, mask)
