"""C types: declarations to `ir.Type`, usual arithmetic conversions, constant folding of dimensions."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from pycparser import c_ast

from wattslice.frontend.c.nodes import Node
from wattslice.ir import BOOL, FLOAT32, FLOAT64, INT32, UNKNOWN_TYPE, VOID, Field, Type, TypeKind

UNSIGNED_LONG = Type(TypeKind.INT, bits=64, signed=False)
CHAR = Type(TypeKind.INT, bits=8)


@dataclass(frozen=True, slots=True)
class CType:
    """A type and, outermost first, its array dimensions: a number, an expression (VLA), None when empty.

    `type` is the element's type when there are dimensions. `is_pointer` adds one pointer outside of all
    dimensions, as for `double (*a)[8]`, and for array parameters.
    """

    type: Type
    dimensions: tuple[int | Node | None, ...] = ()

    def as_ir(self) -> Type:
        """The nested array type."""
        type_ = self.type
        for dimension in reversed(self.dimensions):
            length = dimension if isinstance(dimension, int) else None
            type_ = Type(TypeKind.ARRAY, element=type_, length=length)
        return type_


def pointer_to(type_: Type) -> Type:
    """A pointer to `type_`."""
    return Type(TypeKind.POINTER, bits=64, signed=False, element=type_)


def scalar(names: list[str]) -> Type | None:
    """The type that specifiers such as `unsigned long int` name; None for anything else."""
    words = set(names)
    if not words <= {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool",
                     "__int128", "_Complex"}:  # fmt: skip
        return None
    if "void" in words:
        return VOID
    if "_Bool" in words:
        return BOOL
    if "float" in words:
        return FLOAT32
    if "double" in words:
        return FLOAT64
    bits = 8 if "char" in words else 16 if "short" in words else 64 if "long" in words else 32
    return Type(TypeKind.INT, bits=bits, signed="unsigned" not in words)


def promoted(type_: Type) -> Type:
    """Integer promotion."""
    return INT32 if type_.is_integral and type_.bits < 32 else type_


def common(left: Type, right: Type) -> Type:
    """The usual arithmetic conversions (C11 6.3.1.8)."""
    if left.is_float or right.is_float:
        bits = max(t.bits for t in (left, right) if t.is_float)
        return FLOAT64 if bits == 64 else FLOAT32
    left, right = promoted(left), promoted(right)
    if left.bits == right.bits:
        return left if not left.signed else right
    return left if left.bits > right.bits else right


def _aligned(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment


def _alignment(type_: Type) -> int:
    if type_.kind is TypeKind.ARRAY and type_.element is not None:
        return _alignment(type_.element)
    if type_.kind is TypeKind.RECORD:
        return max((_alignment(field.type) for field in type_.fields), default=1)
    return max(1, type_.size_bytes)


class TypeTable:
    """Typedefs, records and enumerators of a translation unit."""

    def __init__(self, fold: Callable[[c_ast.Node], int | None]) -> None:
        self.typedefs: dict[str, CType] = {}
        self.enumerators: dict[str, int] = {}
        self._records: dict[str, Type] = {}
        self._fold = fold

    def of(self, node: Node) -> CType:  # pycparser's nodes carry no types
        """The type that a declarator stands for."""
        match node:
            case c_ast.Decl() | c_ast.Typename() | c_ast.Typedef() | c_ast.TypeDecl():
                return self.of(node.type)
            case c_ast.IdentifierType():
                return self._named(list(node.names))
            case c_ast.PtrDecl():
                return CType(pointer_to(self.of(node.type).as_ir()))
            case c_ast.ArrayDecl():
                inner = self.of(node.type)
                dimension: int | Node | None = None
                if node.dim is not None:
                    folded = self._fold(node.dim)
                    dimension = node.dim if folded is None else folded
                return CType(inner.type, (dimension, *inner.dimensions))
            case c_ast.Struct() | c_ast.Union():
                return CType(self._record(node))
            case c_ast.Enum():
                self._enum(node)
                return CType(INT32)
            case _:
                return CType(UNKNOWN_TYPE)

    def _named(self, names: list[str]) -> CType:
        type_ = scalar(names)
        if type_ is not None:
            return CType(type_)
        return self.typedefs.get(names[-1], CType(replace(UNKNOWN_TYPE, name=names[-1])))

    def _enum(self, node: Node) -> None:
        value = 0
        for item in node.values.enumerators if node.values is not None else ():
            if item.value is not None:
                value = self._fold(item.value) or 0
            self.enumerators[item.name] = value
            value += 1

    def _record(self, node: Node) -> Type:
        name = node.name or f"<anonymous at line {getattr(node.coord, 'line', 0)}>"
        if node.decls is None:
            return self._records.get(name, Type(TypeKind.RECORD, name=name))
        fields: list[Field] = []
        offset = size = 0
        for member in node.decls:
            type_ = self.of(member).as_ir()
            offset = 0 if isinstance(node, c_ast.Union) else _aligned(offset, _alignment(type_))
            fields.append(Field(getattr(member, "name", "") or "", type_, offset))
            offset += type_.size_bytes
            size = max(size, offset)
        alignment = max((_alignment(field.type) for field in fields), default=1)
        record = Type(
            TypeKind.RECORD, name=name, fields=tuple(fields), record_bytes=_aligned(size, alignment)
        )
        self._records[name] = record
        return record
