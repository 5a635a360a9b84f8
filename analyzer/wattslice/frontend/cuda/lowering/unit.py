"""What lowering knows about a translation unit: its types, functions, places and diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.libclang import library
from wattslice.frontend.cuda.clang.places import Place
from wattslice.frontend.cuda.clang.session import ParsedUnit
from wattslice.frontend.cuda.lowering.spans import SpanFinder
from wattslice.frontend.cuda.lowering.types import TypeTable
from wattslice.ir import BuiltinKind, Constant, Diagnostic, Severity, Span, Type, Variable

if TYPE_CHECKING:
    from wattslice.frontend.cuda.lowering.reuse import Reuse

# Nodes lowered of all kernels of a file together; each costs the whole analysis some tens of
# microseconds. The largest of 450 public files has 46 000.
FILE_BUDGET_NODES = 60_000
DEVICE_LAUNCH = "launch from device code: the kernel it starts is not part of this one's figures"


@dataclass(frozen=True, slots=True)
class ParameterInfo:
    """A parameter of a function: `key` identifies its declaration."""

    key: int
    name: str
    type: Type
    is_reference: bool
    node: Node


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function as calls see it. `body` None: declared only, or one of the stubs'."""

    key: int
    name: str
    declaration: Node
    parameters: tuple[ParameterInfo, ...]
    body: Node | None
    is_builtin: bool
    is_made_up: bool
    returns_reference: bool
    is_defaulted: bool  # written by the compiler: copies member by member, or does nothing


class Unit:
    """One parsed translation unit and everything cached about it."""

    def __init__(self, parsed: ParsedUnit) -> None:
        self.parsed = parsed
        self.root = parsed.root  # one object, for its children are listed once
        self.types = TypeTable(parsed.handle)
        self.spans = SpanFinder(parsed.handle)
        self.diagnostics: list[Diagnostic] = []
        # Texts of asm statements out of macros, by function and statement.
        self.assembly: dict[int, dict[int, str]] = {}
        self.nodes_left = FILE_BUDGET_NODES
        # Keyed by declaration and whether host code sees it (the two differ for plain file-scope objects).
        self.globals: dict[tuple[int, bool], Variable] = {}
        self.global_values: dict[int, Constant | None] = {}
        # Variables whose initialisers are being lowered: what names itself there has no end.
        self.initialising: set[int] = set()
        self.errors = tuple(d for d in parsed.diagnostics if d.is_error)
        self._functions: dict[int, FunctionInfo] = {}
        self.builtins: dict[int, BuiltinKind | None] = {}
        self.referenced: Any = library().clang_getCursorReferenced
        # Whether known arguments may end a function's recursion.
        self.recursive: dict[int, bool] = {}
        self._seen: set[tuple[str, int, str]] = set()
        # What the function at hand reported and which file-scope variables it named, the host's view or not.
        self.reported: list[Diagnostic] = []
        self.touched: list[tuple[Node, bool, Variable]] = []
        self.reuse: Reuse | None = None

    def report(self, rule: str, severity: Severity, span: Span, message: str) -> Diagnostic:
        """Add a diagnostic, each once."""
        found = Diagnostic(rule, severity, span.file or str(self.parsed.path), span.line, message)
        self.repeat(found)
        return found

    def repeat(self, found: Diagnostic) -> None:
        """Add a diagnostic that is made already, each once."""
        self.reported.append(found)
        key = (found.rule, found.line, found.message)
        if key not in self._seen:
            self._seen.add(key)
            self.diagnostics.append(found)

    def is_device_launch(self, error: ParseDiagnostic) -> bool:
        """Whether an error only says that clang 18 knows no launch in device code: nothing else is lost."""
        if error.message.startswith("reference to __global__ function"):
            return True
        if not error.message.startswith("no matching function for call to") or error.path is None:
            return False
        lines = self.parsed.source_of(Place(error.path, error.line, 1, 0)).split(b"\n")
        return any(b"<<<" in line for line in lines[error.line - 1 : error.line + 1])

    def function(self, declaration: Node) -> FunctionInfo:
        """What is known of a function, looked up once per declaration."""
        key = declaration.raw.data0
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = self._describe(key, declaration)
        return known

    def _describe(self, key: int, declaration: Node) -> FunctionInfo:
        builtin = self.parsed.is_builtin(declaration)
        definition = declaration if builtin else (declaration.definition or declaration)
        # Of our own declarations only those are followed that name a part of an object.
        followed = not builtin or declaration.spelling == "operator[]"
        parameters: list[ParameterInfo] = []
        body: Node | None = None
        for child in definition.children:
            if child.kind == C.PARM_DECL:
                reference = self.types.is_reference(child.raw)
                parameters.append(
                    ParameterInfo(child.raw.data0, child.spelling, self.types.of(child.raw), reference, child)
                )
            elif child.kind == C.COMPOUND_STMT:
                body = child
        result = definition.type.result.canonical.kind if followed else 0
        members = (C.CXX_METHOD, C.CONSTRUCTOR)
        defaulted = definition.kind in members and definition.is_defaulted
        return FunctionInfo(
            key,
            declaration.spelling,
            definition,
            tuple(parameters),
            body if followed else None,
            builtin,
            self.parsed.is_made_up(declaration),
            result in (103, 104),
            defaulted,
        )
