"""Syntax-tree nodes and their types: small immutable values over libclang, with cheap access to children.

`Node.children` makes one call into libclang per node and caches the answer (about seven times faster than the
walk of `clang.cindex`). Lines and offsets are *expansion* places: a node that comes out of a macro sits where
the macro is used. Nodes keep their translation unit alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from wattslice.frontend.cuda.clang.kinds import CursorKind, TypeKind
from wattslice.frontend.cuda.clang.libclang import (
    FIELD_VISITOR,
    VISITOR,
    CXCursor,
    CXType,
    Place,
    UnitHandle,
    file_of,
    library,
    place_of,
    text,
)

_INT_EVALUATION, _FLOAT_EVALUATION = 1, 2
_FIRST_INVALID, _LAST_INVALID = 70, 73
_METHODS = (
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
)
_FUNCTIONS = (CursorKind.FUNCTION_DECL, *_METHODS)


def _visit(cursor: CXCursor, _parent: CXCursor, sink: list[CXCursor]) -> int:
    sink.append(cursor)
    return 1


_VISIT = VISITOR(_visit)


@cache
def _resolved(absolute: Path) -> Path:
    return absolute.resolve()


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
    def mangled_name(self) -> str:
        """The name of a function as the linker sees it; the plain name where it has none (templates).

        Of a method of a class without a name, which clang calls alike, with its place. Of host code that is
        `static` or in a namespace without a name, of which other files may have another, with that parsed.
        """
        if self.kind == CursorKind.FUNCTION_TEMPLATE:
            return self.spelling
        name = text(library().clang_Cursor_getMangling(self.raw)) or self.spelling
        if "$_" in name and self.kind in _METHODS:
            name = f"{name}@{self.place.line}:{self.place.column}"
        if self.kind in _FUNCTIONS and not self.is_external and not self._is_kernel:
            return f"{name}@{_resolved(self._unit)}"
        return name

    @property
    def _is_kernel(self) -> bool:
        return any(child.kind == CursorKind.CUDAGLOBAL_ATTR for child in self.children)

    @property
    def _unit(self) -> Path:
        """The file parsed: it has what is `static` for itself, that of its headers too."""
        unit = Node(self.handle, library().clang_getTranslationUnitCursor(self.handle.unit))
        return Path(unit.spelling).absolute()

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
    def enum_value(self) -> int:
        """The value of an ENUM_CONSTANT_DECL."""
        value, around = int(library().clang_getEnumConstantDeclValue(self.raw)), self.semantic_parent
        if value < 0 and around is not None and (held := around.enum_integer).is_unsigned:
            is_bool = held.canonical.kind == TypeKind.BOOL
            value += 1 << (1 if is_bool else 8 * (held.size_bytes or 8))  # a highest bit that is no sign
        return value

    @property
    def enum_integer(self) -> Type:
        """The type that holds the values of an ENUM_DECL."""
        return Type(self.handle, library().clang_getEnumDeclIntegerType(self.raw))

    @property
    def binary_operator(self) -> int:
        """The `BinaryOperator` of a BINARY_OPERATOR or COMPOUND_ASSIGNMENT_OPERATOR."""
        return library().clang_getCursorBinaryOperatorKind(self.raw)

    @property
    def unary_operator(self) -> int:
        """The `UnaryOperator` of a UNARY_OPERATOR."""
        return library().clang_getCursorUnaryOperatorKind(self.raw)

    @property
    def is_static(self) -> bool:
        """Whether the declaration is written `static`."""
        return library().clang_Cursor_getStorageClass(self.raw) == 3

    @property
    def is_of_thread(self) -> bool:
        """Whether each thread has a variable of its own: `thread_local`, `__thread`."""
        return library().clang_getCursorTLSKind(self.raw) != 0

    @property
    def is_extern(self) -> bool:
        """Whether the declaration is written `extern`."""
        return library().clang_Cursor_getStorageClass(self.raw) == 2

    @property
    def is_external(self) -> bool:
        """Whether other files may name what is declared."""
        return library().clang_getCursorLinkage(self.raw) == 4

    @property
    def is_inline(self) -> bool:
        """Whether a function is inline, as written or as a member with its body in the class."""
        return bool(library().clang_Cursor_isFunctionInlined(self.raw))

    @property
    def is_defaulted(self) -> bool:
        """Whether a member function is written by the compiler: implicit, or `= default`."""
        return bool(library().clang_CXXMethod_isDefaulted(self.raw))

    @property
    def is_deleted(self) -> bool:
        """Whether a member function is `= delete`, so that nothing calls it."""
        return bool(library().clang_CXXMethod_isDeleted(self.raw))

    @property
    def is_virtual(self) -> bool:
        """Whether a member function is virtual, as written or as what it overrides."""
        return bool(library().clang_CXXMethod_isVirtual(self.raw))

    @property
    def is_pure(self) -> bool:
        """Whether a virtual function is left to the classes that override it: `= 0`."""
        return bool(library().clang_CXXMethod_isPureVirtual(self.raw))

    @property
    def is_virtual_base(self) -> bool:
        """Whether a class derives virtually from the base that it names here."""
        return bool(library().clang_isVirtualBase(self.raw))

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
    def file(self) -> Path | None:
        """The file of `place`, which clang tells without counting lines."""
        if self._place is not None:
            return self._place.path
        return file_of(self.handle, library().clang_getCursorLocation(self.raw))

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

        Do not trust it where a made-up name takes part (`ParsedUnit.is_made_up`).
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


def kind_name(kind: int) -> str:
    """The name of a cursor kind, for messages."""
    return next((name for name, number in vars(CursorKind).items() if number == kind), f"KIND_{kind}")


# ---------------------------------------------------------------------------
# Types of the syntax tree: small immutable values over libclang types.


_SIZEOF_UNKNOWN = 0


def _visit_field(cursor: CXCursor, sink: list[CXCursor]) -> int:
    sink.append(cursor)
    return 1


_VISIT_FIELD = FIELD_VISITOR(_visit_field)


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
    def size_bytes(self) -> int | None:
        """sizeof, or None for incomplete and dependent types."""
        size: int = library().clang_Type_getSizeOf(self.raw)
        return size if size > _SIZEOF_UNKNOWN else None

    @property
    def alignment_bytes(self) -> int:
        """alignof; 0 for incomplete and dependent types."""
        return max(0, int(library().clang_Type_getAlignOf(self.raw)))

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
    def is_unsigned(self) -> bool:
        """Whether this is an unsigned integer."""
        return TypeKind.BOOL <= self.canonical.kind <= TypeKind.UINT128

    @property
    def is_const(self) -> bool:
        """Whether this level is const."""
        return bool(library().clang_isConstQualifiedType(self.raw))

    @property
    def is_restrict(self) -> bool:
        """Whether this pointer is `__restrict__`."""
        return bool(library().clang_isRestrictQualifiedType(self.raw))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and bool(library().clang_equalTypes(self.raw, other.raw))

    def __hash__(self) -> int:
        return hash(self.spelling)

    def __repr__(self) -> str:
        return f"<Type {self.spelling!r}>"
