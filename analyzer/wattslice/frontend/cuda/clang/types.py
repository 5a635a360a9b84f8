"""Types of the syntax tree: small immutable values over libclang types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wattslice.frontend.cuda.clang.libclang import FIELD_VISITOR, CXCursor, CXType, library, text
from wattslice.frontend.cuda.clang.places import UnitHandle

if TYPE_CHECKING:
    from wattslice.frontend.cuda.clang.cursors import Node

_SIZEOF_UNKNOWN = 0
_FIRST_INVALID, _LAST_INVALID = 70, 73


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
    def declaration(self) -> Node | None:
        """The declaration of a record, enum or typedef type."""
        from wattslice.frontend.cuda.clang.cursors import (
            Node,  # nodes know types, and types their declarations
        )

        raw: CXCursor = library().clang_getTypeDeclaration(self.raw)
        return None if _FIRST_INVALID <= raw.kind <= _LAST_INVALID else Node(self.handle, raw)

    @property
    def fields(self) -> tuple[Node, ...]:
        """The data members of a record type."""
        from wattslice.frontend.cuda.clang.cursors import Node

        sink: list[CXCursor] = []
        library().clang_Type_visitFields(self.raw, _VISIT_FIELD, sink)
        return tuple(Node(self.handle, raw) for raw in sink)

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
