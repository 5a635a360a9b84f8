"""What lowering knows about a translation unit: its types, functions, places, names and diagnostics."""

from __future__ import annotations

import ctypes as ct
import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from msgspec import Struct

from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.diagnostics import ParseDiagnostic
from wattslice.frontend.cuda.clang.flags import FOLLOWED, is_c
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.libclang import CXSourceLocation, Place, UnitHandle, file_of, library
from wattslice.frontend.cuda.clang.session import ParsedUnit
from wattslice.frontend.cuda.lowering.macros import Macros
from wattslice.frontend.cuda.lowering.types import TypeTable, class_names
from wattslice.ir import BuiltinKind, Constant, Diagnostic, Function, Severity, Span, Type, Variable
from wattslice.patterns import regex

# Nodes lowered of all kernels of a file together; each costs the whole analysis some tens of
# microseconds. The largest of 450 public files has 46 000.
FILE_BUDGET_NODES = 200_000


class ParameterInfo(Struct, frozen=True):
    """A parameter of a function: `key` identifies its declaration."""

    key: int
    name: str
    type: Type
    is_reference: bool
    node: Node


class FunctionInfo(Struct, frozen=True):
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


_HOLDING = (C.NAMESPACE, C.LINKAGE_SPEC, C.CLASS_DECL, C.STRUCT_DECL, C.CLASS_TEMPLATE)
Touched = tuple[Node, bool, Variable]


class Unit:
    """One parsed translation unit and everything cached about it."""

    def __init__(self, parsed: ParsedUnit) -> None:
        self.parsed = parsed
        self.is_c = is_c(parsed.options.standard)
        # Kernels of a C file, which `main` launches by calling them.
        self.c_kernels: frozenset[str] = frozenset()
        # What generic lambdas in functions run, by the names of their types.
        self.lambda_instances: dict[str, list[Node]] = {}
        self.root = parsed.root  # one object, for its children are listed once
        self.types = TypeTable(parsed.handle)
        self.spans = SpanFinder(parsed.handle)
        self.diagnostics: list[Diagnostic] = []
        # Texts of statements with macros expanded, by function and who finds them, then by statement.
        self.printed: dict[tuple[int, object], dict[int, str]] = {}
        # What functions assign or take the address of.
        self.changed: dict[Node, set[int]] = {}
        # Static variables of functions that methods of classes in them name.
        self.shared_statics: set[int] = set()
        self.nodes_left = FILE_BUDGET_NODES
        # Why instances of templates were not lowered, by the template.
        self.refused: dict[int, list[str]] = {}
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
        # Of types: the functions of the user that making, copying, destroying an object runs (`objects.py`).
        self.special: dict[tuple[object, ...], tuple[Any, ...]] = {}
        self._seen: set[tuple[str, int, str]] = set()
        # What the function at hand reported and which file-scope variables it named, the host's view or not.
        self.reported: list[Diagnostic] = []
        self.touched: list[Touched] = []
        # The same of the initialisers of variables, and of host functions that were lowered before.
        self.behind: dict[Variable, list[Touched]] = {}
        self.hosts: dict[int, tuple[Function | None, list[Touched]]] = {}
        # The object that stands for a variable's declaration in functions lowered earlier (`reuse.py`).
        self.same_variable: Callable[[Node, Variable], Variable] = lambda _, variable: variable

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

    @functools.cached_property
    def has_openmp(self) -> bool:
        """Whether the file, or one that it includes, has directives of OpenMP."""
        return any(b"omp" in text and _OPENMP.search(text) for text in self.texts)

    @functools.cached_property
    def texts(self) -> tuple[bytes, ...]:
        """What stands in the file and in those that it includes."""
        return (self.parsed.source, *map(self.parsed.files.text_of, self.parsed.included_files))

    @functools.cached_property
    def macros(self) -> Macros:
        """What the file and its headers define."""
        return Macros(self.texts)

    @functools.cached_property
    def file_scope_integers(self) -> frozenset[str]:
        """The names of variables that a host function may leave a size in for others."""
        variables = (node for node in self.root.children if node.kind == C.VAR_DECL)
        return frozenset(v.spelling for v in variables if self.types.of(v.raw).is_integral)

    @functools.cached_property
    def instantiated_members(self) -> dict[Node, list[Node]]:
        """Of instances of class templates, which libclang lists beside what the file declares."""
        found: dict[Node, list[Node]] = {}
        for node in self.root.children:
            if node.kind in (C.CONSTRUCTOR, C.DESTRUCTOR, C.CXX_METHOD):
                record = node.semantic_parent
                if record is not None:
                    found.setdefault(record, []).append(node)
        return found

    @functools.cached_property
    def declared(self) -> tuple[Node, ...]:
        """What the user's files declare, also in namespaces and classes."""
        found: list[Node] = []
        waiting = [node for node in self.root.children if not self.parsed.is_builtin(node)]
        while waiting:
            found.append(node := waiting.pop())
            waiting.extend(node.children if node.kind in _HOLDING else ())
        return tuple(found)

    @functools.cached_property
    def functions_by_name(self) -> dict[str, tuple[Node, ...]]:
        """The functions and methods that the user's files declare, kernels left out, each once."""
        found: dict[str, dict[Node, None]] = {}
        for node in self.declared:
            is_function = node.kind in (C.FUNCTION_DECL, C.FUNCTION_TEMPLATE, C.CXX_METHOD)
            if is_function and all(child.kind != C.CUDAGLOBAL_ATTR for child in node.children):
                found.setdefault(node.spelling, {})[node.canonical] = None
        return {name: tuple(nodes) for name, nodes in found.items()}

    @functools.cached_property
    def names_lost(self) -> frozenset[bytes]:
        """Variables of the file whose declarations have errors: what uses them clang drops without one."""
        lines = {(str(error.path), error.line) for error in self.errors}
        found: set[bytes] = set()
        for node in self.declared if lines else ():
            span = self.spans.span(node) if node.kind == C.VAR_DECL else None
            if span is not None and any(
                (span.file, at) in lines for at in range(span.line, span.end_line + 1)
            ):
                found.add(node.spelling.encode())
        return frozenset(found)

    @functools.cached_property
    def one_of_several_bases(self) -> frozenset[str]:
        """The user's classes derived from virtually or beside another class; where they lie is not read."""
        found: set[str] = set()
        for node in self.declared:
            inner = node.children if node.kind in _HOLDING else ()
            bases = [one for one in inner if one.kind == C.CXX_BASE_SPECIFIER]
            several = (base for base in bases if len(bases) > 1 or base.is_virtual_base)
            declared = (base.type.canonical.declaration for base in several)
            found.update(one.spelling for one in declared if one is not None)
        return frozenset(found)

    @functools.cached_property
    def written_variables(self) -> dict[str, Node]:
        """The variables of the file scope that are no constants, by their names."""
        found: dict[str, Node] = {}
        for node in self.root.children:
            if node.kind == C.VAR_DECL and not node.type.is_const:
                found.setdefault(node.spelling, node)
        return found

    @functools.cached_property
    def derived(self) -> dict[str, list[str]]:
        """The names of the user's classes, of each that it is derived from, itself among these."""
        found: dict[str, list[str]] = {}
        for node in self.declared:
            for base in class_names(node.type) if node.kind in (C.CLASS_DECL, C.STRUCT_DECL) else ():
                found.setdefault(base, []).append(self.types.of(node.raw).name)
        return found

    @functools.cached_property
    def classes(self) -> dict[str, Node]:
        """The user's classes by the names of their types, templates left out."""
        made = (node for node in self.declared if node.kind in (C.CLASS_DECL, C.STRUCT_DECL))
        return {self.types.of(node.raw).name: node for node in made}

    @functools.cached_property
    def destructors(self) -> tuple[Node, ...]:
        """Those of the user's classes."""
        return tuple(node for node in self.declared if node.kind == C.DESTRUCTOR and node.file != FOLLOWED)

    def function(self, declaration: Node) -> FunctionInfo:
        """What is known of a function, looked up once per declaration."""
        key = declaration.raw.data0
        known = self._functions.get(key)
        if known is None:
            known = self._functions[key] = self._describe(key, declaration)
        return known

    def _describe(self, key: int, declaration: Node) -> FunctionInfo:
        builtin = self.parsed.is_builtin(declaration)
        definition = declaration.definition or declaration
        # Of our own declarations those are followed that name a part of an object, and those of libraries
        # that are written down as what they do.
        class_ = declaration.semantic_parent
        is_part = declaration.spelling == "operator[]" or (class_ is not None and class_.spelling == "array")
        followed = not builtin or is_part or self.parsed.is_written_down(declaration)
        parameters: list[ParameterInfo] = []
        body: Node | None = None
        for child in definition.children:
            if child.kind == C.PARM_DECL:
                reference = self.types.is_reference(child.raw)
                parameters.append(
                    ParameterInfo(child.raw.data0, child.spelling, self.types.of(child.raw), reference, child)
                )
            elif child.kind in (C.COMPOUND_STMT, C.CXX_TRY_STMT):
                body = child
        result = definition.type.result.canonical.kind if followed else 0
        members = (C.CXX_METHOD, C.CONSTRUCTOR, C.DESTRUCTOR)
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


# ---------------------------------------------------------------------------
# Source spans from raw location numbers: one call into libclang per node instead of seven.


_MACRO_BIT = 0x8000_0000


class SourceFile(Struct):
    """One file as libclang parsed it: `base` is the location number of its first byte."""

    name: str
    base: int
    data: bytes
    line_starts: list[int]
    last: int  # the location number one past its last byte

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """1-based line and column of a byte offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1


class SpanFinder:
    """Turns cursors of one translation unit into spans and source text."""

    def __init__(self, handle: UnitHandle) -> None:
        self._handle = handle
        self._library: Any = library()
        self._extent = self._library.clang_getCursorExtent
        self._files: dict[int, SourceFile] = {}
        self._in_macros: dict[int, SourceFile] = {}  # of what macros begin or end, by its file
        self._last: SourceFile | None = None
        self._macros: dict[int, tuple[str, int, int]] = {}
        self._contents = self._library.clang_getFileContents
        self.caller: Span | None = None
        """Where a function of our own headers is called: what is in it stands there."""

    def _slow(self, location: CXSourceLocation) -> tuple[int | None, int, int, int]:
        file, line, column, offset = ct.c_void_p(), ct.c_uint(), ct.c_uint(), ct.c_uint()
        self._library.clang_getExpansionLocation(
            location, ct.byref(file), ct.byref(line), ct.byref(column), ct.byref(offset)
        )
        return file.value, line.value, column.value, offset.value

    def _read(self, file: int, base: int) -> SourceFile:
        size = ct.c_size_t()
        address: int | None = self._contents(self._handle.unit, file, ct.byref(size))
        data = ct.string_at(address, size.value) if address else b""
        starts = [0, *accumulate(len(line) + 1 for line in data.split(b"\n")[:-1])]
        path = self._handle.file_name(file)
        return SourceFile("" if path is None else str(path), base, data, starts, base + len(data))

    def _locate(self, range_: Any, number: int, at_end: bool) -> tuple[str, int, int]:  # noqa: ANN401
        last = self._last
        if last is not None and 0 <= number - last.base <= len(last.data):
            return (last.name, *last.line_and_column(number - last.base))
        if number & _MACRO_BIT:
            if (known := self._macros.get(number)) is not None:
                return known
        else:
            for source in self._files.values():
                if 0 <= number - source.base <= len(source.data):
                    self._last = source
                    return (source.name, *source.line_and_column(number - source.base))
        end = self._library.clang_getRangeEnd if at_end else self._library.clang_getRangeStart
        file, line, column, offset = self._slow(end(range_))
        if file is None:
            return ("", 0, 0)
        path = self._handle.file_name(file)
        name = "" if path is None else str(path)
        if number & _MACRO_BIT:
            self._macros[number] = (name, line, column)
        elif number - offset not in self._files:
            self._last = self._files[number - offset] = self._read(file, number - offset)
        return (name, line, column)

    def file(self, node: Node) -> str:
        """The file of `span`. Of what a macro yields clang tells it without counting lines."""
        if self.caller is not None:
            return self.caller.file
        range_ = self._extent(node.raw)
        last = self._last
        if last is not None and last.base <= range_.begin <= last.last:
            return last.name
        if not range_.begin & _MACRO_BIT:
            return self._locate(range_, range_.begin, False)[0]
        path = file_of(self._handle, self._library.clang_getRangeStart(range_))
        return "" if path is None else str(path)

    def span(self, node: Node) -> Span:
        """Where `node` was written; what a macro yields stands where the macro is used. Line 0: nowhere."""
        if self.caller is not None:
            return self.caller
        range_ = self._extent(node.raw)
        begin, end = range_.begin, range_.end
        last = self._last
        if last is not None and last.base <= begin <= end <= last.last:  # the usual case, made short
            starts = last.line_starts
            offset = begin - last.base
            line = bisect_right(starts, offset)
            column = offset - starts[line - 1] + 1
            offset = end - last.base
            if line == len(starts) or offset < starts[line]:
                return Span(last.name, line, column, line)
            return Span(last.name, line, column, bisect_right(starts, offset, line))
        name, line, column = self._locate(range_, begin, False)
        _, end_line, _ = self._locate(range_, end, True)
        return Span(name, line, column, max(line, end_line))

    def source(self, node: Node) -> tuple[SourceFile, int, int] | None:
        """The file and the byte offsets of the node's text; None when it comes out of a macro."""
        range_ = self._extent(node.raw)
        self._locate(range_, range_.begin, False)
        for file in self._files.values():
            if 0 <= range_.begin - file.base <= len(file.data):
                if range_.end & _MACRO_BIT or not 0 <= range_.end - file.base <= len(file.data):
                    return None
                return file, range_.begin - file.base, range_.end - file.base
        return None

    def written(self, node: Node) -> tuple[SourceFile, int, int] | None:
        """As `source`; where the node begins or ends in a macro, from or to the name of that."""
        if (found := self.source(node)) is not None:
            return found
        range_ = self._extent(node.raw)
        begin, end = self._library.clang_getRangeStart(range_), self._library.clang_getRangeEnd(range_)
        (first, _, _, start), (last, _, _, stop) = self._slow(begin), self._slow(end)
        if first is None or first != last:
            return None
        if first not in self._in_macros:  # read once: macros begin most functions of a CUDA file
            self._in_macros[first] = self._read(first, 0)
        return self._in_macros[first], start, stop

    def text(self, node: Node) -> str:
        """The source text of the node; empty when it comes out of a macro."""
        found = self.source(node)
        if found is None:
            return ""
        file, begin, end = found
        return file.data[begin:end].decode("utf-8", "replace")

    def line_text(self, node: Node) -> str:
        """The first source line of the node, from where it starts (for a macro: from its name)."""
        range_ = self._extent(node.raw)
        name, line, column = self._locate(range_, range_.begin, False)
        for file in self._files.values():
            if file.name == name and 0 < line <= len(file.line_starts):
                begin = file.line_starts[line - 1] + column - 1
                end = file.data.find(b"\n", begin)
                return file.data[begin : end if end >= 0 else None].decode("utf-8", "replace")
        return ""


_COMMENT = regex(rb"//[^\n]*|/\*.*?\*/", re.S)
_WORD = regex(rb"[A-Za-z_]")
_NAME = regex(rb"[A-Za-z_]\w*")
_STATEMENT_TOKEN = regex(
    rb"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'|[][(){};]""", re.S
)


class Rejections:
    """The places of clang's errors in one host function."""

    def __init__(self, unit: Unit, function: Node) -> None:
        self._file: SourceFile | None = None
        self._at: list[int] = []
        self._names_lost = False
        self._ends: dict[tuple[int, bool], int | None] = {}
        found = unit.spans.written(function) if unit.errors else None
        if found is None:
            return
        self._file, begin, end = found
        words = _NAME.findall(self._file.data, begin, end) if unit.names_lost else ()
        self._names_lost = not unit.names_lost.isdisjoint(words)
        for error in unit.errors:
            if str(error.path) == self._file.name and 0 < error.line <= len(self._file.line_starts):
                at = self._file.line_starts[error.line - 1] + error.column - 1
                if begin <= at < end:
                    self._at.append(at)

    def __bool__(self) -> bool:
        return bool(self._at) or self._names_lost

    def between(self, begin: int, end: int) -> tuple[str, Span] | None:
        """What stands between two statements, if clang has dropped a statement there, and where.

        Without an error of its own: what uses a name that an error took away goes silently.
        """
        found = self.within(begin, end)
        if found is not None or self._file is None:
            return found
        text = self._file.data[begin:end]
        if b"#" in text or not _WORD.search(_COMMENT.sub(b"", text)):
            return None
        word = _WORD.search(text)
        return self._cut(begin, end, begin if word is None else begin + word.start())

    def within(self, begin: int, end: int) -> tuple[str, Span] | None:
        """The text from byte to byte, if an error stands in it, and where the first one does."""
        at = min((at for at in self._at if begin <= at < end), default=None)
        return None if at is None else self._cut(begin, end, at)

    def _cut(self, begin: int, end: int, at: int) -> tuple[str, Span] | None:
        if self._file is None:
            return None
        line, column = self._file.line_and_column(at)
        text = self._file.data[begin:end].decode("utf-8", "replace")
        return text, Span(self._file.name, line, column, line)

    def extent(self, unit: Unit, node: Node) -> tuple[int, int] | None:
        """First byte of a node and the one behind it; None when it is in another file.

        Of what comes out of a macro: the text up to the end of the statement, of a block its call.
        """
        found = unit.spans.source(node)
        if found is not None:
            return None if found[0] is not self._file else found[1:]
        span = unit.spans.span(node)
        if self._file is None or span.file != self._file.name or not span.line:
            return None
        begin = self._file.line_starts[span.line - 1] + span.column - 1
        made = begin, node.kind == C.COMPOUND_STMT
        if made not in self._ends:
            self._ends[made] = _end_of_statement(self._file.data, *made)
        end = self._ends[made]
        return None if end is None else (begin, end)


def _end_of_statement(text: bytes, begin: int, is_block: bool) -> int | None:
    """Where what comes out of the macro at `begin` ends."""
    level = 0
    for token in _STATEMENT_TOKEN.finditer(text, begin):
        sign = token[0]
        level += (sign in b"([{") - (sign in b")]}") if len(sign) == 1 else 0
        if level < 0:
            return token.start()
        if not level and (sign in b";}" or (sign == b")" and is_block)):
            return token.end()
    return None


# ---------------------------------------------------------------------------
# How functions are called: with their namespaces and template arguments.


_OPENMP = regex(rb"(?:#[ \t]*pragma[ \t]+|_Pragma\s*\(\s*\")omp\b")
_USR_VALUE = regex(r"#V([a-zA-Z]|\$[@\w]*?)(-?\d+)(?=[#>])")
_USR_FUNCTION = regex(r"#@F@(\w+)#")


def qualified_name(function: Node) -> str:
    """The name with namespaces and template arguments."""
    names = [function.spelling]
    arguments = function.template_arguments
    if arguments:
        names[0] += f"<{', '.join(_shown_arguments(function, arguments))}>"
    return "::".join((*scope_of(function), *names))


def scope_of(function: Node) -> tuple[str, ...]:
    """The names of the namespaces and classes around it, the outermost first."""
    names: list[str] = []
    parent = function.semantic_parent
    while parent is not None and parent.kind != C.TRANSLATION_UNIT:
        if parent.spelling and parent.kind != C.LINKAGE_SPEC:
            names.insert(0, parent.spelling)
        parent = parent.semantic_parent
    return tuple(names)


def _shown_arguments(function: Node, arguments: tuple[ClangType | int | None, ...]) -> Iterator[str]:
    """Template arguments as text; the USR tells booleans and functions, which libclang's values do not."""
    usr = function.usr
    values = iter(_USR_VALUE.findall(usr))
    functions = iter(_USR_FUNCTION.findall(usr))
    for argument in arguments:
        if isinstance(argument, ClangType):
            yield argument.spelling
        elif argument is None:
            yield next(functions, "?")
        else:
            kind, _ = next(values, ("", ""))
            yield str(argument) if kind != "b" else "true" if argument else "false"
