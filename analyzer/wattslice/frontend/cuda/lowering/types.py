"""Source types: libclang types to `ir.Type`, once per distinct type, and C's arithmetic conversions."""

from __future__ import annotations

from typing import Any

from wattslice import ir
from wattslice.frontend.cuda.clang.cursors import Node
from wattslice.frontend.cuda.clang.cursors import Type as ClangType
from wattslice.frontend.cuda.clang.kinds import CursorKind as C
from wattslice.frontend.cuda.clang.kinds import TypeKind as K
from wattslice.frontend.cuda.clang.libclang import CXCursor, CXType, UnitHandle, library, text
from wattslice.ir import BOOL, DIM3, FLOAT32, FLOAT64, INT32, INT64, UINT32, VOID, Field, Type, TypeKind
from wattslice.patterns import regex

UINT64 = Type(TypeKind.INT, bits=64, signed=False)
FLOAT16 = Type(TypeKind.FLOAT, bits=16)
BFLOAT16 = Type(TypeKind.FLOAT, bits=16, bfloat=True)
# What stands for a type parameter in a template nobody instantiates in this file.
PLACEHOLDER = Type(TypeKind.FLOAT, bits=32, name="dependent")

_SCALARS: dict[int, Type] = {
    K.VOID: VOID,
    K.BOOL: BOOL,
    K.CHAR_S: Type(TypeKind.INT, bits=8),
    K.SCHAR: Type(TypeKind.INT, bits=8),
    K.CHAR_U: Type(TypeKind.INT, bits=8, signed=False),
    K.UCHAR: Type(TypeKind.INT, bits=8, signed=False),
    K.SHORT: Type(TypeKind.INT, bits=16),
    K.USHORT: Type(TypeKind.INT, bits=16, signed=False),
    K.CHAR16: Type(TypeKind.INT, bits=16, signed=False),
    K.CHAR32: UINT32,
    K.WCHAR: INT32,
    K.INT: INT32,
    K.UINT: UINT32,
    K.LONG: INT64,
    K.LONGLONG: INT64,
    K.ULONG: UINT64,
    K.ULONGLONG: UINT64,
    K.INT128: Type(TypeKind.INT, bits=128),
    K.UINT128: Type(TypeKind.INT, bits=128, signed=False),
    K.HALF: FLOAT16,
    K.FLOAT: FLOAT32,
    K.DOUBLE: FLOAT64,
    K.LONGDOUBLE: FLOAT64,
    K.FLOAT128: FLOAT64,
    K.NULLPTR: Type(TypeKind.POINTER, element=VOID),
}
_VECTOR = regex(r"^(char|uchar|short|ushort|int|uint|long|ulong|longlong|ulonglong|float|double)([1-4])$")
_VECTOR_BASE: dict[str, Type] = {
    "char": _SCALARS[K.CHAR_S],
    "uchar": _SCALARS[K.UCHAR],
    "short": _SCALARS[K.SHORT],
    "ushort": _SCALARS[K.USHORT],
    "int": INT32,
    "uint": UINT32,
    "long": INT64,
    "ulong": UINT64,
    "longlong": INT64,
    "ulonglong": UINT64,
    "float": FLOAT32,
    "double": FLOAT64,
}
_HALVES: dict[str, tuple[Type, int]] = {
    "__half": (FLOAT16, 1),
    "half": (FLOAT16, 1),
    "__half2": (FLOAT16, 2),
    "half2": (FLOAT16, 2),
    "__nv_bfloat16": (BFLOAT16, 1),
    "nv_bfloat16": (BFLOAT16, 1),
    "__nv_bfloat162": (BFLOAT16, 2),
    "nv_bfloat162": (BFLOAT16, 2),
}
_MOST_DEPTH = 32
_MOST_INNER_RECORDS = 20_000
"""Records described inside of others, in one file; the largest of the public suites has hundreds."""
DIM3_AXES = ("x", "y", "z")


def vector_of(scalar: Type, lanes: int, name: str = "") -> Type:
    """The CUDA vector type of `lanes` scalars."""
    return Type(
        scalar.kind, bits=scalar.bits, signed=scalar.signed, lanes=lanes, bfloat=scalar.bfloat, name=name
    )


def class_names(type_: ClangType) -> list[str]:
    """The name of a type, of a class those of its bases as well."""
    type_ = type_.canonical
    if type_.kind in (K.LVALUEREFERENCE, K.RVALUEREFERENCE):
        type_ = type_.pointee.canonical
    names = [type_.spelling.removeprefix("const ")]
    if type_.kind == K.POINTER:
        qualifier = "const " * type_.pointee.is_const
        names += [f"{qualifier}{name} *" for name in (*class_names(type_.pointee)[1:], "void")]
        names += () if qualifier else [f"const {name}" for name in names]
    declaration = type_.declaration
    for child in () if declaration is None else declaration.children:
        if child.kind == C.CXX_BASE_SPECIFIER:
            names += class_names(child.type)
    return names


def pointer_to(element: Type) -> Type:
    """A pointer to `element`."""
    return Type(TypeKind.POINTER, bits=64, element=element)


def decayed(type_: Type) -> Type:
    """The type of a parameter that is declared with `type_`: an array is a pointer to its first element."""
    return pointer_to(type_.element or type_) if type_.kind is TypeKind.ARRAY else type_


def is_wide_record(type_: Type) -> bool:
    """Whether a record holds an array (or a record that does) and so cannot live in registers by name."""
    return type_.kind is TypeKind.RECORD and any(
        field.type.kind is TypeKind.ARRAY or is_wide_record(field.type) for field in type_.fields
    )


_INT_BITS = 32


def promoted(type_: Type) -> Type:
    """C's integer promotion: everything narrower than int becomes int."""
    if type_.is_integral and type_.bits < 32:
        return INT32
    return type_


def common_type(left: Type, right: Type) -> Type:
    """C's usual arithmetic conversions; a vector or an unknown operand decides for both."""
    if left.kind in (TypeKind.POINTER, TypeKind.ARRAY):
        return left
    if right.kind in (TypeKind.POINTER, TypeKind.ARRAY):
        return right
    if left.lanes > 1 or right.kind is TypeKind.UNKNOWN:
        return left
    if right.lanes > 1 or left.kind is TypeKind.UNKNOWN:
        return right
    if left.is_float or right.is_float:
        if left.is_float and right.is_float:
            return left if left.bits >= right.bits else right
        return left if left.is_float else right
    if not (left.is_integral and right.is_integral):
        return left
    left, right = promoted(left), promoted(right)
    if left.bits != right.bits:
        return left if left.bits > right.bits else right
    return left if not left.signed else right


def _what_it_runs(closure: Node) -> str:
    """`#` and the linker's name of the function of a closure that is not generic: all lambdas that one use of
    a macro writes are at one place.
    """
    methods = (child for child in closure.children if child.kind == C.CXX_METHOD)
    return "".join(f"#{method.mangled_name}" for method in methods if method.spelling == "operator()")


class TypeTable:
    """Translates the types of one translation unit; one entry per distinct libclang type."""

    def __init__(self, handle: UnitHandle) -> None:
        self._handle = handle
        self._known: dict[int | None, Type] = {}
        self._volatile: dict[int | None, bool] = {}
        self._open_records: set[str] = set()
        self._inner_records = 0
        lib: Any = library()
        self._cursor_type = lib.clang_getCursorType
        self._canonical = lib.clang_getCanonicalType
        self._offset = lib.clang_Cursor_getOffsetOfField

    def of(self, raw: CXCursor) -> Type:
        """The type of a cursor."""
        type_: CXType = self._cursor_type(raw)
        known = self._known.get(type_.data0)
        return self.translate(type_) if known is None else known

    def is_reference(self, raw: CXCursor) -> bool:
        """Whether a declaration is written as a reference (`T&`, `T&&`, possibly behind a typedef)."""
        type_: CXType = self._canonical(self._cursor_type(raw))
        return type_.kind in (K.LVALUEREFERENCE, K.RVALUEREFERENCE)

    def is_bit_field(self, raw: CXCursor) -> bool:
        """Whether a declaration is a member with a width of its own."""
        return bool(library().clang_Cursor_isBitField(raw))

    def bits_of_field(self, raw: CXCursor) -> int | None:
        """The width of a bit-field; None of any other declaration."""
        return int(library().clang_getFieldDeclBitWidth(raw)) if self.is_bit_field(raw) else None

    def first_bit_of_field(self, raw: CXCursor) -> int:
        """Where a member begins in its record."""
        return int(self._offset(raw))

    def is_volatile(self, raw: CXCursor) -> bool:
        """Whether what a cursor names is volatile."""
        type_: CXType = self._cursor_type(raw)
        known = self._volatile.get(type_.data0)
        if known is None:
            known = bool(library().clang_isVolatileQualifiedType(self._canonical(type_)))
            self._volatile[type_.data0] = known
        return known

    def translate(self, raw: CXType) -> Type:
        """`raw` as an `ir.Type`; references become what they refer to."""
        known = self._known.get(raw.data0)
        if known is None:
            result = self._translate(raw)
            # A pointer to a record that is being described right now is kept short; do not remember that.
            if not self._open_records:
                self._known[raw.data0] = result
            return result
        return known

    def _translate(self, raw: CXType) -> Type:
        if (scalar := _SCALARS.get(raw.kind)) is not None:
            return scalar
        clang = ClangType(self._handle, raw)
        canonical: CXType = self._canonical(raw)
        if canonical.data0 != raw.data0:
            return self.translate(canonical)
        kind = raw.kind
        if kind in (K.LVALUEREFERENCE, K.RVALUEREFERENCE):
            return self.translate(clang.pointee.raw)
        if kind == K.POINTER:
            return pointer_to(self.translate(clang.pointee.raw))
        if kind == K.CONSTANTARRAY:
            lib = library()
            element = self.translate(lib.clang_getArrayElementType(raw))
            return Type(TypeKind.ARRAY, element=element, length=int(lib.clang_getArraySize(raw)))
        if kind in (K.INCOMPLETEARRAY, K.VARIABLEARRAY, K.DEPENDENTSIZEDARRAY):
            element = self.translate(library().clang_getArrayElementType(raw))
            return Type(TypeKind.ARRAY, element=element)
        if kind in (K.VECTOR, K.EXTVECTOR):
            lib = library()
            return vector_of(self.translate(clang.element.raw), int(lib.clang_getNumElements(raw)))
        if kind == K.RECORD:
            return self._record(clang)
        if kind == K.ENUM:
            bits, made = 8 * (clang.size_bytes or 4), clang.declaration
            if bits == _INT_BITS or made is None:  # values of int, which is what arithmetic is done in
                return Type(TypeKind.INT, bits=bits, name=clang.spelling)
            held = self.translate(made.enum_integer.raw)
            if held.kind is TypeKind.BOOL:
                return held
            return Type(TypeKind.INT, bits=bits, signed=held.signed, name=clang.spelling)
        if kind in (K.FUNCTIONPROTO, K.FUNCTIONNOPROTO, K.MEMBERPOINTER):
            return Type(TypeKind.UNKNOWN, name="function")
        if kind == K.UNEXPOSED:
            return PLACEHOLDER
        return ir.UNKNOWN_TYPE

    def _record(self, clang: ClangType) -> Type:
        declaration = clang.declaration
        spelling = clang.spelling
        for qualifier in ("const ", "volatile ", "struct ", "union ", "class "):
            spelling = spelling.removeprefix(qualifier)
        if declaration is not None and spelling.startswith("(lambda at "):
            spelling += _what_it_runs(declaration)
        plain = spelling.rsplit("::", 1)[-1] if "<" not in spelling else spelling
        if plain == "dim3":
            return DIM3
        vector = _VECTOR.match(plain)
        if vector is not None and vector[2] != "1":
            return vector_of(_VECTOR_BASE[vector[1]], int(vector[2]), plain)
        half = _HALVES.get(plain)
        if half is not None:
            return vector_of(half[0], half[1], plain) if half[1] > 1 else half[0]
        size, alignment = clang.size_bytes or 0, clang.alignment_bytes
        if declaration is None or spelling in self._open_records or self._is_endless():
            return Type(TypeKind.RECORD, name=spelling, record_bytes=size, record_alignment=alignment)
        self._open_records.add(spelling)
        try:
            fields = tuple(self._fields(clang, 0))
        finally:
            self._open_records.discard(spelling)
        return Type(
            TypeKind.RECORD, name=spelling, fields=fields, record_bytes=size, record_alignment=alignment
        )

    def _is_endless(self) -> bool:
        """Whether enough is known of what is inside the outermost record: members that point to ever new
        instances of a template, or in twos from record to record, have no end.
        """
        self._inner_records += bool(self._open_records)
        return len(self._open_records) >= _MOST_DEPTH or self._inner_records > _MOST_INNER_RECORDS

    def _fields(self, clang: ClangType, base_bytes: int) -> list[Field]:
        found: list[Field] = []
        for field in clang.fields:
            offset = base_bytes + self.field_offset_bytes(field.raw)
            name = text(library().clang_getCursorSpelling(field.raw))
            if not name or "(" in name:  # members of an anonymous union or struct belong to the record
                found.extend(self._fields(field.type.canonical, offset))
            else:
                type_ = self.of(field.raw)
                type_ = pointer_to(type_) if self.is_reference(field.raw) else type_
                found.append(Field(name, type_, offset, self.bits_of_field(field.raw)))
        return found

    def field_offset_bytes(self, field: CXCursor) -> int:
        """Bytes from the start of its record to a member; a made-up place of its own where the layout of the
        record is not known, as after a missing header.
        """
        bits = int(self._offset(field))
        return bits // 8 if bits >= 0 else ir.made_up_offset(text(library().clang_getCursorSpelling(field)))
