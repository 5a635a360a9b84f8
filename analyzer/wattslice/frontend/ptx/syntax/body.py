"""The body of a PTX function: instructions, labels, declarations, scopes."""

from __future__ import annotations

from wattslice.frontend.ptx.syntax import declarations
from wattslice.frontend.ptx.syntax.lexer import REGENERATE, Cursor, is_directive, is_word
from wattslice.frontend.ptx.syntax.locations import Locations
from wattslice.frontend.ptx.syntax.operands import Registers, operand
from wattslice.frontend.ptx.syntax.syntax import (
    BranchTargets,
    CallPrototype,
    Guard,
    Instruction,
    Label,
    Operand,
    Pragma,
    Scope,
    Statement,
)

MODULE_LEVEL = frozenset({".entry", ".func", ".version", *declarations.LINKAGE})
"""What no body contains: where it is met, a body was not closed."""

_DEPTH = 64
_CLOSE = "close the body of the function with '}'"


class BodyReader:
    """Reads bodies; the mnemonics once split are remembered from one function to the next."""

    def __init__(self, cursor: Cursor, locations: Locations) -> None:
        self._cursor = cursor
        self._locations = locations
        self._registers = Registers()
        self._split: dict[str, tuple[str, tuple[str, ...]]] = {}

    def read(self) -> tuple[tuple[Statement, ...], int]:
        """The statements between the braces the first of which the cursor is on, and the line of the last.

        Raises PtxSyntaxError for the first that cannot be read.
        """
        self._registers.begin_function()
        self._locations.begin_function()
        body = self._block(0)
        end_line = self._cursor.line
        self._cursor.advance()
        return body, end_line

    def _block(self, depth: int) -> tuple[Statement, ...]:
        """The statements of a scope; the cursor goes to its closing brace."""
        cursor = self._cursor
        if depth > _DEPTH:
            cursor.fail(f"scopes nested deeper than {_DEPTH}")
        cursor.expect("{")
        found: list[Statement] = []
        while (token := cursor.token) != "}":
            if token == "{":
                line = cursor.line
                self._registers.enter()
                found.append(Scope(self._block(depth + 1), line))
                self._registers.leave()
                cursor.advance()
            elif is_directive(token):
                self._directive(token, found)
            elif token == "@" or is_word(token):
                self._instruction(found)
            elif not cursor.accept(";"):
                cursor.fail(f"an instruction expected, {cursor.shown} found", self._remedy())
        return tuple(found)

    def _remedy(self) -> str:
        return REGENERATE if self._cursor.token else _CLOSE

    def _directive(self, token: str, found: list[Statement]) -> None:
        cursor = self._cursor
        line = cursor.line
        if token in MODULE_LEVEL:
            cursor.fail(f"{cursor.shown} inside the body of a function", _CLOSE)
        cursor.advance()
        if token == ".loc":
            self._locations.read(cursor)
        elif token == ".reg":
            for declaration in declarations.registers(cursor):
                self._registers.declare(declaration)
                found.append(declaration)
        elif token in declarations.SPACES:
            found.extend(declarations.variables(cursor, declarations.SPACES[token], ""))
        elif token == ".pragma":
            found.append(Pragma(cursor.string("a pragma"), line))
            while cursor.accept(","):
                found.append(Pragma(cursor.string("a pragma"), line))
            cursor.expect(";")
        else:
            cursor.fail(f"'{token[:40]}' is no directive of a function body")

    def _instruction(self, found: list[Statement]) -> None:
        cursor = self._cursor
        line = cursor.line
        guard = self._guard() if cursor.token == "@" else None
        mnemonic = cursor.word("an instruction")
        token = cursor.token
        if token == ":" and guard is None:
            cursor.advance()
            self._labelled(mnemonic, line, found)
            return
        while is_directive(token):  # `ld .global .f32`
            mnemonic += cursor.take()
            token = cursor.token
        parts = self._split.get(mnemonic)
        if parts is None:
            opcode, *modifiers = mnemonic.split(".")
            parts = self._split[mnemonic] = opcode, tuple(modifiers)
        operands: list[Operand] = []
        if token != ";":
            is_call = parts[0] == "call"
            while True:
                operands.append(operand(cursor, self._registers, is_call))
                if cursor.token == ";":
                    break
                if cursor.token != ",":
                    cursor.fail(f"',' or ';' expected, {cursor.shown} found", self._remedy())
                cursor.advance()
        cursor.advance()
        found.append(Instruction(*parts, tuple(operands), guard, line, self._locations.current))

    def _guard(self) -> Guard:
        cursor = self._cursor
        cursor.expect("@")
        negated = cursor.accept("!")
        return Guard(cursor.word("a predicate"), negated)

    def _labelled(self, name: str, line: int, found: list[Statement]) -> None:
        """A label, or what is declared under a name."""
        cursor = self._cursor
        token = cursor.token
        if token in (".branchtargets", ".calltargets"):
            cursor.advance()
            targets = [cursor.word("a target")]
            while cursor.accept(","):
                targets.append(cursor.word("a target"))
            found.append(BranchTargets(name, tuple(targets), token == ".calltargets", line))
            cursor.expect(";")
        elif token == ".callprototype":
            cursor.advance()
            results = declarations.parameters(cursor) if cursor.token == "(" else ()
            cursor.word("'_'")
            parameters = declarations.parameters(cursor) if cursor.token == "(" else ()
            while is_directive(cursor.token):  # `.noreturn`, `.abi_preserve 4`
                cursor.advance()
                if not is_directive(cursor.token) and cursor.token != ";":
                    cursor.advance()
            cursor.expect(";")
            found.append(CallPrototype(name, results, parameters, line))
        else:
            found.append(Label(name, line))
