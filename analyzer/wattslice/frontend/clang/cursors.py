"""Syntax-tree nodes and types: small immutable values over libclang cursors, with cheap access to children.

`Node.children` makes one call into libclang per node and caches the answer (about seven times faster than the
walk of `clang.cindex`). Lines and offsets are *expansion* places: a node that comes out of a macro sits where
the macro is used. Nodes keep their translation unit alive.
"""

from __future__ import annotations

import ctypes as ct
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wattslice.frontend.clang.kinds import BinaryOperator, CursorKind, TypeKind, UnaryOperator
from wattslice.frontend.clang.libclang import FIELD_VISITOR, VISITOR, CXCursor, CXType, library, text

_INT_EVALUATION, _FLOAT_EVALUATION = 1, 2
_SIZEOF_UNKNOWN = 0
_FIRST_INVALID, _LAST_INVALID = 70, 73


class UnitHandle:
    """Owns a CXTranslationUnit and its index; disposes of both when the last node is gone."""

    def __init__(self, index: int, unit: int) -> None:
        self.index = index
        self.unit = unit
        self._names: dict[int, Path] = {}

    def file_name(self, file: int | None) -> Path | None:
        """The path of a CXFile; one call per file, then cached."""
        if not file:
            return None
        known = self._names.get(file)
        if known is None:
            known = self._names[file] = Path(text(library().clang_getFileName(file)))
        return known

    def __del__(self) -> None:
        lib = library()
        lib.clang_disposeTranslationUnit(self.unit)
        lib.clang_disposeIndex(self.index)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a file: line and column from 1, offset in bytes from 0; `path` None inside the compiler."""

    path: Path | None
    line: int
    column: int
    offset: int


def _visit(cursor: CXCursor, _parent: CXCursor, sink: list[CXCursor]) -> int:
    sink.append(cursor)
    return 1


def _visit_field(cursor: CXCursor, sink: list[CXCursor]) -> int:
    sink.append(cursor)
    return 1


_VISIT = VISITOR(_visit)
_VISIT_FIELD = FIELD_VISITOR(_visit_field)


def place_of(handle: UnitHandle, location: Any) -> Place:  # noqa: ANN401  (a CXSourceLocation)
    """The expansion place of a CXSourceLocation."""
    file, line, column, offset = ct.c_void_p(), ct.c_uint(), ct.c_uint(), ct.c_uint()
    library().clang_getExpansionLocation(
        location, ct.byref(file), ct.byref(line), ct.byref(column), ct.byref(offset)
    )
    return Place(handle.file_name(file.value), line.value, column.value, offset.value)


# Enum lookups by value cost more than the call into libclang.
_BINARY = {int(operator): operator for operator in BinaryOperator}
_UNARY = {int(operator): operator for operator in UnaryOperator}


class Node:
    """One node of the syntax tree. `kind` is a plain int that compares with `CursorKind` members."""

    __slots__ = ("_children", "_place", "handle", "kind", "lowered_type", "raw")

    def __init__(self, handle: UnitHandle, raw: CXCursor) -> None:
        self.handle = handle
        self.raw = raw
        self.kind: int = raw.kind
        self._children: tuple[Node, ...] | None = None
        self._place: Place | None = None
        self.lowered_type: Any = None  # whatever the lowering makes of `type`, kept beside it

    # -- tree ---------------------------------------------------------------------------------------------

    @property
    def children(self) -> tuple[Node, ...]:
        """The direct children in source order (positional with gaps: see the package's docstring)."""
        found = self._children
        if found is None:
            sink: list[CXCursor] = []
            library().clang_visitChildren(self.raw, _VISIT, sink)
            handle = self.handle
            found = self._children = tuple([Node(handle, raw) for raw in sink])
        return found

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, parents first; no recursion, so depth is no danger."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def _wrap(self, raw: CXCursor) -> Node | None:
        if _FIRST_INVALID <= raw.kind <= _LAST_INVALID or library().clang_Cursor_isNull(raw):
            return None
        return Node(self.handle, raw)

    @property
    def referenced(self) -> Node | None:
        """The declaration this expression, reference or call names; of a template, its instance."""
        return self._wrap(library().clang_getCursorReferenced(self.raw))

    @property
    def definition(self) -> Node | None:
        """The definition in this unit of what this node declares or names."""
        return self._wrap(library().clang_getCursorDefinition(self.raw))

    @property
    def canonical(self) -> Node:
        """The first declaration of the same entity: the key to compare two declarations by."""
        return Node(self.handle, library().clang_getCanonicalCursor(self.raw))

    @property
    def semantic_parent(self) -> Node | None:
        """The declaration context (namespace, record, function)."""
        return self._wrap(library().clang_getCursorSemanticParent(self.raw))

    @property
    def template(self) -> Node | None:
        """The template that this function or record is an instance or specialisation of."""
        return self._wrap(library().clang_getSpecializedCursorTemplate(self.raw))

    @property
    def is_definition(self) -> bool:
        """Whether this declaration has its body or layout."""
        return bool(library().clang_isCursorDefinition(self.raw))

    @property
    def initializer(self) -> Node | None:
        """The initialiser of a VAR_DECL."""
        return self._wrap(library().clang_Cursor_getVarDeclInitializer(self.raw))

    @property
    def arguments(self) -> tuple[Node, ...]:
        """The arguments of a call, or the parameters of a function."""
        lib = library()
        count: int = lib.clang_Cursor_getNumArguments(self.raw)
        return tuple(
            Node(self.handle, lib.clang_Cursor_getArgument(self.raw, i)) for i in range(max(count, 0))
        )

    @property
    def overloads(self) -> tuple[Node, ...]:
        """What an OVERLOADED_DECL_REF may mean."""
        lib = library()
        count: int = lib.clang_getNumOverloadedDecls(self.raw)
        return tuple(Node(self.handle, lib.clang_getOverloadedDecl(self.raw, i)) for i in range(count))

    # -- names, types, operators ---------------------------------------------------------------------------

    @property
    def spelling(self) -> str:
        """The name; empty for statements and most expressions."""
        return text(library().clang_getCursorSpelling(self.raw))

    @property
    def display_name(self) -> str:
        """The name with parameter or template-argument types."""
        return text(library().clang_getCursorDisplayName(self.raw))

    @property
    def printed(self) -> str:
        """A declaration as clang prints it, macros expanded."""
        return text(library().clang_getCursorPrettyPrinted(self.raw, None))

    @property
    def usr(self) -> str:
        """A string that identifies the declared entity across translation units."""
        return text(library().clang_getCursorUSR(self.raw))

    @property
    def type(self) -> Type:
        """The type of the expression or declaration."""
        return Type(self.handle, library().clang_getCursorType(self.raw))

    @property
    def underlying_type(self) -> Type:
        """What a TYPEDEF_DECL or TYPE_ALIAS_DECL stands for."""
        return Type(self.handle, library().clang_getTypedefDeclUnderlyingType(self.raw))

    @property
    def enum_value(self) -> int:
        """The value of an ENUM_CONSTANT_DECL."""
        return int(library().clang_getEnumConstantDeclValue(self.raw))

    @property
    def binary_operator(self) -> BinaryOperator:
        """The operator of a BINARY_OPERATOR or COMPOUND_ASSIGNMENT_OPERATOR."""
        return _BINARY[library().clang_getCursorBinaryOperatorKind(self.raw)]

    @property
    def unary_operator(self) -> UnaryOperator:
        """The operator of a UNARY_OPERATOR."""
        return _UNARY[library().clang_getCursorUnaryOperatorKind(self.raw)]

    @property
    def is_static(self) -> bool:
        """Whether the declaration is written `static`."""
        return library().clang_Cursor_getStorageClass(self.raw) == 3

    @property
    def is_extern(self) -> bool:
        """Whether the declaration is written `extern` (dynamic shared memory is)."""
        return library().clang_Cursor_getStorageClass(self.raw) == 2

    @property
    def template_arguments(self) -> tuple[Type | int | None, ...]:
        """Arguments of a function instance: a type, an integer, or None for what libclang does not tell."""
        lib = library()
        count: int = lib.clang_Cursor_getNumTemplateArguments(self.raw)
        found: list[Type | int | None] = []
        for i in range(max(count, 0)):
            kind: int = lib.clang_Cursor_getTemplateArgumentKind(self.raw, i)
            if kind == 1:
                found.append(Type(self.handle, lib.clang_Cursor_getTemplateArgumentType(self.raw, i)))
            elif kind == 4:
                found.append(int(lib.clang_Cursor_getTemplateArgumentValue(self.raw, i)))
            else:
                found.append(None)
        return tuple(found)

    # -- places --------------------------------------------------------------------------------------------

    @property
    def place(self) -> Place:
        """Where the node is (for a declaration its name, for an operator call the operator)."""
        if self._place is None:
            self._place = place_of(self.handle, library().clang_getCursorLocation(self.raw))
        return self._place

    @property
    def line(self) -> int:
        """Line from 1 of `place`."""
        return self.place.line

    @property
    def start(self) -> Place:
        """First byte of the node's text."""
        lib = library()
        return place_of(self.handle, lib.clang_getRangeStart(lib.clang_getCursorExtent(self.raw)))

    @property
    def end(self) -> Place:
        """One past the last byte of the node's text."""
        lib = library()
        return place_of(self.handle, lib.clang_getRangeEnd(lib.clang_getCursorExtent(self.raw)))

    # -- values --------------------------------------------------------------------------------------------

    def evaluate(self) -> int | float | None:
        """What `clang_Cursor_Evaluate` folds the expression (or a constant's initialiser) to, else None.

        Do not trust it where a made-up name takes part: `facts.evaluate_int` looks after that.
        """
        lib = library()
        result: int | None = lib.clang_Cursor_Evaluate(self.raw)
        if not result:
            return None
        try:
            kind: int = lib.clang_EvalResult_getKind(result)
            if kind == _FLOAT_EVALUATION:
                return float(lib.clang_EvalResult_getAsDouble(result))
            if kind != _INT_EVALUATION:
                return None
            if lib.clang_EvalResult_isUnsignedInt(result):
                return int(lib.clang_EvalResult_getAsUnsigned(result))
            return int(lib.clang_EvalResult_getAsLongLong(result))
        finally:
            lib.clang_EvalResult_dispose(result)

    # -- identity ------------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and bool(library().clang_equalCursors(self.raw, other.raw))

    def __hash__(self) -> int:
        return int(library().clang_hashCursor(self.raw))

    def __repr__(self) -> str:
        return f"<{kind_name(self.kind)} {self.spelling!r} line {self.line}>"


class Type:
    """A type. `kind` is a plain int that compares with `TypeKind` members."""

    __slots__ = ("handle", "kind", "raw")

    def __init__(self, handle: UnitHandle, raw: CXType) -> None:
        self.handle = handle
        self.raw = raw
        self.kind: int = raw.kind

    def _type(self, function: str) -> Type:
        return Type(self.handle, getattr(library(), function)(self.raw))

    @property
    def spelling(self) -> str:
        """The type as written, qualifiers included."""
        return text(library().clang_getTypeSpelling(self.raw))

    @property
    def canonical(self) -> Type:
        """The type behind all typedefs and elaborations."""
        return self._type("clang_getCanonicalType")

    @property
    def pointee(self) -> Type:
        """What a pointer or reference points to (kind INVALID if it is neither)."""
        return self._type("clang_getPointeeType")

    @property
    def element(self) -> Type:
        """The element of an array or vector (kind INVALID if it is neither)."""
        return self._type("clang_getElementType")

    @property
    def result(self) -> Type:
        """The return type of a function type."""
        return self._type("clang_getResultType")

    @property
    def array_size(self) -> int | None:
        """The number of elements of a constant array; None for anything else."""
        size: int = library().clang_getArraySize(self.raw)
        return size if size >= 0 and self.kind == TypeKind.CONSTANTARRAY else None

    @property
    def size_bytes(self) -> int | None:
        """sizeof, or None for incomplete and dependent types."""
        size: int = library().clang_Type_getSizeOf(self.raw)
        return size if size > _SIZEOF_UNKNOWN else None

    @property
    def alignment_bytes(self) -> int | None:
        """alignof, or None for incomplete and dependent types."""
        size: int = library().clang_Type_getAlignOf(self.raw)
        return size if size > 0 else None

    @property
    def declaration(self) -> Node | None:
        """The declaration of a record, enum or typedef type."""
        raw: CXCursor = library().clang_getTypeDeclaration(self.raw)
        return None if _FIRST_INVALID <= raw.kind <= _LAST_INVALID else Node(self.handle, raw)

    @property
    def fields(self) -> tuple[Node, ...]:
        """The data members of a record type."""
        sink: list[CXCursor] = []
        library().clang_Type_visitFields(self.raw, _VISIT_FIELD, sink)
        return tuple(Node(self.handle, raw) for raw in sink)

    @property
    def template_arguments(self) -> tuple[Type, ...]:
        """Type arguments of a template's instance; a non-type argument has kind INVALID."""
        lib = library()
        count: int = lib.clang_Type_getNumTemplateArguments(self.raw)
        return tuple(
            Type(self.handle, lib.clang_Type_getTemplateArgumentAsType(self.raw, i))
            for i in range(max(count, 0))
        )

    @property
    def is_const(self) -> bool:
        """Whether this level is const."""
        return bool(library().clang_isConstQualifiedType(self.raw))

    @property
    def is_volatile(self) -> bool:
        """Whether this level is volatile."""
        return bool(library().clang_isVolatileQualifiedType(self.raw))

    @property
    def is_restrict(self) -> bool:
        """Whether this pointer is restrict."""
        return bool(library().clang_isRestrictQualifiedType(self.raw))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and bool(library().clang_equalTypes(self.raw, other.raw))

    def __hash__(self) -> int:
        return hash(self.spelling)

    def __repr__(self) -> str:
        return f"<Type {self.spelling!r}>"


@functools.cache
def kind_name(kind: int) -> str:
    """The name of a cursor kind, for messages."""
    try:
        return CursorKind(kind).name
    except ValueError:
        return f"KIND_{kind}"


def strip(node: Node) -> Node:
    """The expression inside parentheses and implicit casts (UNEXPOSED_EXPR and PAREN_EXPR of one child)."""
    while node.kind in (CursorKind.UNEXPOSED_EXPR, CursorKind.PAREN_EXPR) and len(node.children) == 1:
        node = node.children[0]
    return node
