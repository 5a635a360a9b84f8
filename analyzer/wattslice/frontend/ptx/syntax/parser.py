"""PTX text into a `Module`.

    module = parse_ptx(path.read_text(), path)

What cannot be read costs the function it stands in, or the declaration; it is listed in `Module.problems`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from wattslice.errors import FrontendError
from wattslice.frontend.ptx.syntax import declarations
from wattslice.frontend.ptx.syntax.declarations import Locations, Registers, operand, source_file
from wattslice.frontend.ptx.syntax.lexer import (
    REGENERATE,
    Cursor,
    PtxSyntaxError,
    is_directive,
    is_number,
    is_word,
)
from wattslice.frontend.ptx.syntax.syntax import (
    BranchTargets,
    Directive,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Operand,
    Pragma,
    Problem,
    SourceFile,
    Statement,
    Variable,
    opened_scope,
)
from wattslice.patterns import regex

_FUNCTIONS = frozenset({".entry", ".func"})
_BEGINS = (
    frozenset({".version", ".target", ".address_size", ".file", ".section", ".alias", ".pragma", ".loc"})
    | _FUNCTIONS
    | frozenset(declarations.LINKAGE)
    | frozenset(declarations.SPACES)
)
_MOST_PROBLEMS = 100
_HEADING = regex(r"^Fatbin .*?(?=^\.version\b|^Fatbin |\Z)", re.M | re.S)
"""What `cuobjdump -ptx` prints before each module."""


def parse_ptx(text: str, path: Path) -> Module:
    """The module of a PTX file.

    `path` is only named in errors. What `cuobjdump -ptx` prints, module after module, is one module: of
    several functions or variables of a name, the first. Raises FrontendError when the text is not PTX: no
    `.version` before the first declaration.
    """
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = text.removeprefix("\ufeff")
    is_extracted = text.lstrip().startswith("Fatbin ")
    if is_extracted:
        text = _HEADING.sub(lambda heading: "\n" * heading[0].count("\n"), text)
    cursor = Cursor(text)
    if cursor.token != ".version":
        message = f"not PTX: it begins with {cursor.shown} instead of '.version'"
        raise FrontendError(path, cursor.line, message, "give a text file written by nvcc -ptx or clang -S")
    module = _ModuleReader(cursor).read()
    return _first_of_each(module) if is_extracted else module


def _first_of_each(module: Module) -> Module:
    """The same without what an earlier module of the program defines: there is one for each architecture."""
    functions = {function.name: function for function in reversed(module.functions)}
    variables = {variable.name: variable for variable in reversed(module.variables)}
    return replace(
        module,
        functions=tuple(function for function in module.functions if functions[function.name] is function),
        variables=tuple(variable for variable in module.variables if variables[variable.name] is variable),
    )


class _FunctionError(Exception):
    """A function that cannot be read; its name, and whether it is a kernel, are known."""

    def __init__(self, name: str, is_entry: bool, cause: PtxSyntaxError) -> None:
        super().__init__(name)
        self.name = name
        self.is_entry = is_entry
        self.cause = cause


class _ModuleReader:
    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._locations = Locations()
        self._bodies = BodyReader(cursor, self._locations)
        self._files: list[SourceFile] = []
        self._variables: list[Variable] = []
        self._functions: list[Function] = []
        self._problems: list[Problem] = []

    def read(self) -> Module:
        while self._cursor.token:
            try:
                self._item()
            except PtxSyntaxError as error:
                self._problem(Problem(error.line, error.message, error.remedy))
                self._recover()
            except _FunctionError as lost:
                cause = lost.cause
                self._problem(Problem(cause.line, cause.message, cause.remedy, lost.name, lost.is_entry))
        return Module(
            tuple(self._files), tuple(self._variables), tuple(self._functions), tuple(self._problems)
        )

    def _problem(self, found: Problem) -> None:
        if len(self._problems) < _MOST_PROBLEMS or found.function is not None:
            self._problems.append(found)

    def _recover(self) -> None:
        """Go to what can begin the next declaration, or a function: nothing of a body can."""
        while self._cursor.token and self._cursor.token not in _BEGINS:
            self._cursor.advance()

    def _item(self) -> None:
        cursor = self._cursor
        token = cursor.token
        if token not in _BEGINS:
            cursor.fail(f"a declaration expected, {cursor.shown} found")
        cursor.advance()
        if token in _FUNCTIONS or token in declarations.LINKAGE or token in declarations.SPACES:
            self._declaration(token)
        elif token in (".version", ".target", ".address_size", ".alias"):  # all are read alike
            cursor.advance()
            while cursor.accept(","):
                cursor.advance()
            cursor.accept(";")
        elif token == ".file":
            self._files.append(source_file(cursor))
        elif token == ".loc":
            self._locations.read(cursor)
        elif token == ".section":
            self._section()
        elif token == ".pragma":
            cursor.string("a pragma")
            while cursor.accept(","):
                cursor.string("a pragma")
            cursor.expect(";")

    def _section(self) -> None:
        """Debugging information: not a part of the program."""
        cursor = self._cursor
        while cursor.token and cursor.token != "{":
            if cursor.token in _BEGINS:  # no braces before PTX 6
                return
            cursor.advance()
        if cursor.token:
            cursor.skip_braces()

    def _declaration(self, token: str) -> None:
        cursor = self._cursor
        linkage = ""
        if token in declarations.LINKAGE:
            linkage = declarations.LINKAGE[token]
            if cursor.token not in _FUNCTIONS and cursor.token not in declarations.SPACES:
                cursor.fail(f"a variable or a function expected, {cursor.shown} found")
            token = cursor.take()
        if token in _FUNCTIONS:
            self._functions.append(self._function(token == ".entry", linkage))
        else:
            self._variables.extend(declarations.variables(cursor, declarations.SPACES[token], linkage))

    def _function(self, is_entry: bool, linkage: str) -> Function:
        cursor = self._cursor
        name, line = "", cursor.line
        mark = cursor.mark()
        try:
            if cursor.accept(".attribute"):
                declarations.skip_parentheses(cursor)
            results = declarations.parameters(cursor) if cursor.token == "(" else ()
            name = cursor.word("the name of a function")
            parameters = declarations.parameters(cursor) if cursor.token == "(" else ()
            directives = self._directives()
            body: tuple[Statement, ...] | None = None
            end_line = cursor.line
            if not cursor.accept(";"):
                mark = cursor.mark()
                body, end_line = self._bodies.read()
        except PtxSyntaxError as error:
            cursor.reset(mark)
            self._skip_function()
            if not name:
                raise
            raise _FunctionError(name, is_entry, error) from error
        return Function(name, is_entry, linkage, results, parameters, directives, body, line, end_line)

    def _directives(self) -> tuple[Directive, ...]:
        """Between the header and the body: `.maxntid 128, 1, 1`."""
        cursor = self._cursor
        found: list[Directive] = []
        while is_directive(cursor.token):
            name = cursor.take()[1:]
            arguments: list[str] = []
            while is_number(cursor.token) or is_word(cursor.token) or cursor.token[:1] == '"':
                arguments.append(cursor.take().strip('"'))
                if not cursor.accept(","):
                    break
            if name == "attribute":
                declarations.skip_parentheses(cursor)
            if name == "pragma":
                cursor.expect(";")
            found.append(Directive(name, tuple(arguments)))
        return tuple(found)

    def _skip_function(self) -> None:
        """Go behind the body of a function, or to what no body contains."""
        cursor = self._cursor
        depth = 0
        while cursor.token and cursor.token not in MODULE_LEVEL:
            token = cursor.take()
            depth += (token == "{") - (token == "}")
            if depth == 0 and token in ("}", ";"):
                return


@lru_cache(maxsize=64)  # each instance of a template, each call that is inlined and each edit asks again
def fragment(text: str) -> tuple[Instruction, ...]:
    """The instructions of PTX that stands inside another language, as far as they can be read."""
    return tuple(BodyReader(Cursor(f"{text};"), Locations()).instructions())


# ---------------------------------------------------------------------------
# The body of a PTX function: instructions, labels, declarations, scopes.


MODULE_LEVEL = frozenset({".entry", ".func", ".version", *declarations.LINKAGE})
"""What no body contains: where it is met, a body was not closed."""

_SCOPE_DEPTH = 64
_CLOSE = "close the body of the function with '}'"


class BodyReader:
    """Reads bodies; the mnemonics once split are remembered from one function to the next."""

    def __init__(self, cursor: Cursor, locations: Locations) -> None:
        self._cursor = cursor
        self._locations = locations
        self._registers = Registers()
        self._scopes = 0
        self._split: dict[str, tuple[str, tuple[str, ...]]] = {}

    def read(self) -> tuple[tuple[Statement, ...], int]:
        """The statements between the braces the first of which the cursor is on, and the line of the last.

        Raises PtxSyntaxError for the first that cannot be read.
        """
        self._scopes = 0
        self._registers.begin_function()
        self._locations.begin_function()
        body = self._block(0)
        end_line = self._cursor.line
        self._cursor.advance()
        return body, end_line

    def _block(self, depth: int) -> tuple[Statement, ...]:
        """The statements of a scope; the cursor goes to its closing brace."""
        cursor = self._cursor
        if depth > _SCOPE_DEPTH:
            cursor.fail(f"scopes nested deeper than {_SCOPE_DEPTH}")
        cursor.expect("{")
        found: list[Statement] = []
        while (token := cursor.token) != "}":
            if token == "{":
                self._scopes += 1
                number = self._scopes
                self._registers.enter()
                found += opened_scope(self._block(depth + 1), number)
                self._registers.leave()
                cursor.advance()
            elif is_directive(token):
                self._directive(token, found)
            elif token == "@" or is_word(token):
                self._instruction(found)
            elif not cursor.accept(";"):
                cursor.fail(f"an instruction expected, {cursor.shown} found", self._remedy())
        return tuple(found)

    def instructions(self) -> list[Instruction]:
        """The instructions of a text that is no whole body; what cannot be read is left out."""
        cursor = self._cursor
        found: list[Statement] = []
        while token := cursor.token:
            try:
                if is_directive(token):
                    self._directive(token, found)
                elif token == "@" or is_word(token):
                    self._instruction(found)
                else:
                    cursor.advance()
            except PtxSyntaxError:
                while cursor.token and not cursor.accept(";"):
                    cursor.advance()
        return [statement for statement in found if isinstance(statement, Instruction)]

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
            found.append(BranchTargets(name, tuple(targets), line))
            cursor.expect(";")
        elif token == ".callprototype":
            while cursor.token not in ("", ";", "{", "}"):  # of a function that cannot be followed
                cursor.advance()
            cursor.expect(";")
        else:
            found.append(Label(name, line))
