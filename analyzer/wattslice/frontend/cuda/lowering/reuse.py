"""Functions lowered from an earlier text of the same file, used again where an edit has not touched them.

A function is as it was when its key is: its own text and place and those of all it depends on
(`clang/chunks.py`), what is included, how it is parsed. Then the tree would be lowered to the same again, so
the old one is taken, with what goes with it: the diagnostics, and the file-scope variables, of which one
object stands for the same declaration in all functions, old and new.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from msgspec import Struct, field

from wattslice.frontend.cuda.clang.chunks import Chunk, CutText, Dependences, cut, digest_of, words_of
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic, Undeclared
from wattslice.frontend.cuda.clang.flags import STUBS
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.session import ParsedUnit
from wattslice.frontend.cuda.clang.tokens import names_in
from wattslice.frontend.cuda.lowering.context import Body, file_scope_variable
from wattslice.frontend.cuda.lowering.unit import Unit, qualified_name
from wattslice.ir import Diagnostic, Function, Kernel, Variable
from wattslice.patterns import regex

_KEPT_ROUNDS = 8
"""How long what is not used is remembered: undoing some edits finds it again."""
_SCOPES = (C.NAMESPACE, C.LINKAGE_SPEC, C.UNEXPOSED_DECL)
_RECORDS = (C.CLASS_DECL, C.STRUCT_DECL, C.ENUM_DECL, C.UNION_DECL)
_UNNAMED = regex(r"\((?:lambda|unnamed|anonymous)\b[^)]* at ")  # such names hold places
# Their values differ from one expansion to the next, whatever the text.
_RESTLESS = (b"__COUNTER__", b"__TIME__", b"__DATE__", b"__TIMESTAMP__")


Lowered = TypeVar("Lowered", bound=Kernel | Function | None)


class _Entry(Struct):
    """One function, how many nodes it counted, what it told, and the variables it named by their USR."""

    lowered: Kernel | Function
    nodes: int
    reported: tuple[Diagnostic, ...]
    touched: tuple[tuple[str, bool, Variable], ...]
    round: int


class _KnownVariable(Struct):
    variable: Variable
    round: int


class LoweredFunctions(Struct):
    """What is remembered of one file from parse to parse."""

    functions: dict[bytes, _Entry] = field(default_factory=dict[bytes, _Entry])
    variables: dict[tuple[object, ...], _KnownVariable] = field(
        default_factory=dict[tuple[object, ...], _KnownVariable]
    )
    round: int = 0

    def for_unit(self, unit: Unit) -> Reuse | None:
        """A new parse of the file; None where its text does not tell what depends on what."""
        self.round += 1
        oldest = self.round - _KEPT_ROUNDS
        self.functions = {key: entry for key, entry in self.functions.items() if entry.round >= oldest}
        self.variables = {key: entry for key, entry in self.variables.items() if entry.round >= oldest}
        texts = _texts(unit.parsed)
        if texts is None:
            return None
        besides = _introduced_besides(unit, texts)
        if besides is None:
            return None
        reuse = Reuse(self, unit, texts, besides)
        unit.same_variable = reuse.same_variable
        return reuse


class Reuse:
    """One parse beside what is remembered of earlier ones; `texts` by the name of their file."""

    def __init__(
        self,
        memory: LoweredFunctions,
        unit: Unit,
        texts: dict[str, CutText],
        besides: tuple[tuple[bytes, Chunk], ...],
    ) -> None:
        self._memory = memory
        self._unit = unit
        self._texts = texts
        self._made_up = _made_up(unit.parsed.recovered.declared)
        self._dependences = Dependences(texts.values(), self._made_up.values(), besides, self._surroundings())

    def _surroundings(self) -> bytes:
        """Everything that the meaning of a piece may rest on besides other pieces."""
        parsed = self._unit.parsed
        recovered = (parsed.recovered.missing_includes, parsed.recovered.found_includes)
        errors = [error for error in self._unit.errors if not self._is_in_body(error)]
        said = repr((parsed.options, recovered, tuple(self._texts), errors)).encode()
        return digest_of(said, *(text.order for text in self._texts.values()))

    def _is_in_body(self, error: ParseDiagnostic) -> bool:
        """Whether an error lies between the braces of one plain function, so that it is that function's.

        Those of a template depend on who instantiates it.
        """
        text = self._texts.get(str(error.path))
        if text is None:
            return False
        chunk = text.chunk_at(error.line, error.column, error.line)
        return (
            chunk is not None
            and chunk.body is not None
            and not chunk.words.is_template
            and text.offset(error.line, error.column) > chunk.body
        )

    def _key(self, node: Node, names: str, only_calls: bool) -> bytes | None:
        """Of a declaration; None when it does not lie in one piece."""
        if self._unit.parsed.is_builtin(node):
            return b"ours"
        if self._unit.parsed.is_made_up(node):
            chunk = self._made_up.get(node.spelling)
        else:
            span = self._unit.spans.span(node)
            text = self._texts.get(span.file)
            chunk = None if text is None else text.chunk_at(span.line, span.column, span.end_line)
        if chunk is None:
            return None
        # The USR of what is `static` begins with the name of the file.
        names = names.partition("@")[2]
        return self._dependences.key(chunk, names_in(names.encode()), only_calls)

    def function(self, node: Node, lower: Callable[[Unit, Node], Lowered], is_host: bool) -> Lowered:
        """The function `node` as `lower` makes it, remembered if it is what it was."""
        unit = self._unit
        names = f"{node.usr} {qualified_name(node)}"
        place = None if _UNNAMED.search(names) else self._key(node, names, is_host)
        if place is None:
            return lower(unit, node)
        key = digest_of(place, names.encode(), b"host" if is_host else b"device")
        entry = self._memory.functions.get(key)
        if entry is not None and self._repeats(entry):
            entry.round = self._memory.round
            return cast(Lowered, entry.lowered)
        unit.reported, unit.touched = [], []
        nodes_left = unit.nodes_left
        lowered = lower(unit, node)
        # What broke off may go on another time: budgets are shared by all kernels of a file.
        if lowered is not None and not any(found.rule in ("PW007", "PW099") for found in unit.reported):
            self._memory.functions[key] = _Entry(
                lowered,
                nodes_left - unit.nodes_left,
                tuple(unit.reported),
                tuple((declaration.usr, is_host, found) for declaration, is_host, found in unit.touched),
                self._memory.round,
            )
        return lowered

    def _repeats(self, entry: _Entry) -> bool:
        """Do to the unit what lowering this function did; False when it would not find the same there."""
        unit = self._unit
        if entry.nodes > unit.nodes_left:
            return False
        told = len(unit.diagnostics)
        is_same = all(self._finds(*touched) for touched in entry.touched)
        if isinstance(entry.lowered, Function):
            del unit.diagnostics[told:]  # as after lowering host code: nobody's concern
        elif is_same:
            for found in entry.reported:
                unit.repeat(found)
        if is_same:
            unit.nodes_left -= entry.nodes
        return is_same

    def _finds(self, usr: str, is_host: bool, variable: Variable) -> bool:
        """Whether the declaration stands for the same object here, as by naming it."""
        unit = self._unit
        if usr not in self._declared and Path(variable.span.file).is_relative_to(STUBS):  # precompiled
            unit.globals.setdefault((-id(variable), is_host), variable)
            return True
        declaration = self._declared.get(usr)
        if declaration is None:
            return False
        body = Body(unit, is_host=is_host)
        return file_scope_variable(body, declaration) is variable

    @cached_property
    def _declared(self) -> dict[str, Node | None]:
        """Variables at file scope and made-up values by USR; None for what is declared several times."""
        found: dict[str, Node | None] = {}
        waiting = list(self._unit.root.children)
        while waiting:
            node = waiting.pop()
            if node.kind in _SCOPES or node.kind in _RECORDS:
                waiting.extend(node.children)
            elif node.kind in (C.VAR_DECL, C.ENUM_CONSTANT_DECL):
                usr = node.usr
                found[usr] = None if usr in found else node
        return found

    def same_variable(self, declaration: Node, variable: Variable) -> Variable:
        """The object that stands for this declaration in functions lowered earlier, else `variable`."""
        usr = declaration.usr
        place = self._key(declaration, usr, only_calls=False)
        if place is None:
            return variable
        written = (variable.name, variable.type, variable.space, variable.span, variable.dynamic)
        written = (*written, variable.is_of_thread)
        key = (place, usr, *written, variable.is_constant, variable.initializer is None)
        known = self._memory.variables.setdefault(key, _KnownVariable(variable, 0))
        known.round = self._memory.round
        return known.variable


def _introduced_besides(unit: Unit, texts: dict[str, CutText]) -> tuple[tuple[bytes, Chunk], ...] | None:
    """The declarations that clang sees and their pieces do not show; None when one lies in no one piece."""
    found: list[tuple[bytes, Chunk]] = []
    waiting = list(unit.root.children)
    while waiting:
        node = waiting.pop()
        span = unit.spans.span(node)
        text = texts.get(span.file)
        if text is None:
            continue
        if node.kind in _SCOPES:
            waiting.extend(node.children)
            continue
        name = node.spelling.partition("<")[0].removeprefix("~")
        chunk = text.chunk_at(span.line, span.column, span.end_line)
        if chunk is None:
            return None
        is_nobodys = name in ("", "main") or "(" in name
        if not (is_nobodys or chunk.words.is_everybodys or name.encode() in chunk.words.introduced):
            if name.startswith("operator"):
                return None
            found.append((name.encode(), chunk))
    return tuple(found)


def _made_up(names: tuple[Undeclared, ...]) -> dict[str, Chunk]:
    """The names that the parse declared, each as a piece of its own."""
    return {
        entry.name: Chunk(
            0, 0, words_of(entry.name.encode(), None), digest_of(repr((number, entry)).encode())
        )
        for number, entry in enumerate(names)
    }


def _texts(parsed: ParsedUnit) -> dict[str, CutText] | None:
    """The file, what it includes and what includes it, cut; None where that does not tell dependences."""
    found: dict[str, CutText] = {}
    for path in (parsed.path, *parsed.included_files):
        source = parsed.files.text_of(path)
        text = None if any(word in source for word in _RESTLESS) else cut(source)
        if text is None:
            return None
        found[str(path)] = text
    return found
