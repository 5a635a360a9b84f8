"""The C interface of libclang, bound with ctypes: only the functions used here, every one typed.

`clang.cindex` of the 18.1.1 wheel lacks the operator kinds, builds a Python object graph per cursor that is
about seven times slower to walk, and carries no types. This file needs of the wheel only the shared library.
"""

from __future__ import annotations

import ctypes as ct
import functools
import importlib.util
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from wattslice.errors import WattsliceError
from wattslice.frontend.limits import raise_lost


class CXString(ct.Structure):
    """A string owned by libclang."""

    _fields_ = (("data", ct.c_void_p), ("flags", ct.c_uint))


class CXCursor(ct.Structure):
    """One node of the syntax tree, by value."""

    _fields_ = (
        ("kind", ct.c_int),
        ("xdata", ct.c_int),
        ("data0", ct.c_void_p),
        ("data1", ct.c_void_p),
        ("data2", ct.c_void_p),
    )


class CXType(ct.Structure):
    """One type, by value."""

    _fields_ = (("kind", ct.c_int), ("data0", ct.c_void_p), ("data1", ct.c_void_p))


class CXSourceLocation(ct.Structure):
    """An opaque place."""

    _fields_ = (("data0", ct.c_void_p), ("data1", ct.c_void_p), ("raw", ct.c_uint))


class CXSourceRange(ct.Structure):
    """An opaque half-open range."""

    _fields_ = (("data0", ct.c_void_p), ("data1", ct.c_void_p), ("begin", ct.c_uint), ("end", ct.c_uint))


class CXUnsavedFile(ct.Structure):
    """A file given from memory."""

    _fields_ = (("name", ct.c_char_p), ("contents", ct.c_char_p), ("length", ct.c_ulong))


VISITOR = ct.CFUNCTYPE(ct.c_int, CXCursor, CXCursor, ct.py_object)
INCLUSION_VISITOR = ct.CFUNCTYPE(None, ct.c_void_p, ct.POINTER(CXSourceLocation), ct.c_uint, ct.py_object)
FIELD_VISITOR = ct.CFUNCTYPE(ct.c_int, CXCursor, ct.py_object)
_VISITORS = frozenset({VISITOR, INCLUSION_VISITOR, FIELD_VISITOR})

_P, _I, _U, _LL = ct.c_void_p, ct.c_int, ct.c_uint, ct.c_longlong
_LOC_OUT = [ct.POINTER(_P), ct.POINTER(_U), ct.POINTER(_U), ct.POINTER(_U)]

_SIGNATURES: tuple[tuple[str, Any, list[Any]], ...] = (
    ("getClangVersion", CXString, []),
    ("getCString", ct.c_char_p, [CXString]),
    ("disposeString", None, [CXString]),
    ("createIndex", _P, [_I, _I]),
    ("disposeIndex", None, [_P]),
    ("parseTranslationUnit2", _I,
     [_P, ct.c_char_p, ct.POINTER(ct.c_char_p), _I, ct.POINTER(CXUnsavedFile), _U, _U, ct.POINTER(_P)]),
    ("saveTranslationUnit", _I, [_P, ct.c_char_p, _U]),
    ("disposeTranslationUnit", None, [_P]),
    ("getTranslationUnitCursor", CXCursor, [_P]),
    ("getInclusions", None, [_P, INCLUSION_VISITOR, ct.py_object]),
    ("visitChildren", _U, [CXCursor, VISITOR, ct.py_object]),
    ("getNumDiagnostics", _U, [_P]),
    ("getDiagnostic", _P, [_P, _U]),
    ("disposeDiagnostic", None, [_P]),
    ("getDiagnosticSeverity", _I, [_P]),
    ("getDiagnosticSpelling", CXString, [_P]),
    ("getDiagnosticLocation", CXSourceLocation, [_P]),
    ("getExpansionLocation", None, [CXSourceLocation, *_LOC_OUT]),
    ("getSpellingLocation", None, [CXSourceLocation, *_LOC_OUT]),
    ("getCursorLocation", CXSourceLocation, [CXCursor]),
    ("getCursorExtent", CXSourceRange, [CXCursor]),
    ("getRangeStart", CXSourceLocation, [CXSourceRange]),
    ("getRangeEnd", CXSourceLocation, [CXSourceRange]),
    ("getFileName", CXString, [_P]),
    ("getFileContents", _P, [_P, _P, ct.POINTER(ct.c_size_t)]),
    ("getCursorSpelling", CXString, [CXCursor]),
    ("getCursorUSR", CXString, [CXCursor]),
    ("Cursor_getMangling", CXString, [CXCursor]),
    ("Cursor_isFunctionInlined", _U, [CXCursor]),
    ("CXXMethod_isDefaulted", _U, [CXCursor]),
    ("CXXMethod_isDeleted", _U, [CXCursor]),
    ("CXXMethod_isPureVirtual", _U, [CXCursor]),
    ("CXXMethod_isVirtual", _U, [CXCursor]),
    ("isVirtualBase", _U, [CXCursor]),
    ("getCursorReferenced", CXCursor, [CXCursor]),
    ("getCursorDefinition", CXCursor, [CXCursor]),
    ("getCursorSemanticParent", CXCursor, [CXCursor]),
    ("getCanonicalCursor", CXCursor, [CXCursor]),
    ("hashCursor", _U, [CXCursor]),
    ("equalCursors", _U, [CXCursor, CXCursor]),
    ("Cursor_isNull", _I, [CXCursor]),
    ("Cursor_getStorageClass", _I, [CXCursor]),
    ("getCursorTLSKind", _I, [CXCursor]),
    ("getCursorLinkage", _I, [CXCursor]),
    ("Cursor_getVarDeclInitializer", CXCursor, [CXCursor]),
    ("Cursor_getNumArguments", _I, [CXCursor]),
    ("Cursor_getArgument", CXCursor, [CXCursor, _U]),
    ("Cursor_getNumTemplateArguments", _I, [CXCursor]),
    ("Cursor_getTemplateArgumentKind", _I, [CXCursor, _U]),
    ("Cursor_getTemplateArgumentType", CXType, [CXCursor, _U]),
    ("Cursor_getTemplateArgumentValue", _LL, [CXCursor, _U]),
    ("getSpecializedCursorTemplate", CXCursor, [CXCursor]),
    ("getNumOverloadedDecls", _U, [CXCursor]),
    ("getOverloadedDecl", CXCursor, [CXCursor, _U]),
    ("getCursorBinaryOperatorKind", _I, [CXCursor]),
    ("getCursorUnaryOperatorKind", _I, [CXCursor]),
    ("Cursor_Evaluate", _P, [CXCursor]),
    ("EvalResult_getKind", _I, [_P]),
    ("EvalResult_getAsLongLong", _LL, [_P]),
    ("EvalResult_isUnsignedInt", _U, [_P]),
    ("EvalResult_getAsUnsigned", ct.c_ulonglong, [_P]),
    ("EvalResult_getAsDouble", ct.c_double, [_P]),
    ("EvalResult_dispose", None, [_P]),
    ("getCursorPrettyPrinted", CXString, [CXCursor, _P]),
    ("getCursorType", CXType, [CXCursor]),
    ("getEnumConstantDeclValue", _LL, [CXCursor]),
    ("getEnumDeclIntegerType", CXType, [CXCursor]),
    ("getTypeSpelling", CXString, [CXType]),
    ("getCanonicalType", CXType, [CXType]),
    ("getPointeeType", CXType, [CXType]),
    ("getArrayElementType", CXType, [CXType]),
    ("getArraySize", _LL, [CXType]),
    ("getElementType", CXType, [CXType]),
    ("getNumElements", _LL, [CXType]),
    ("getResultType", CXType, [CXType]),
    ("isConstQualifiedType", _U, [CXType]),
    ("isVolatileQualifiedType", _U, [CXType]),
    ("isRestrictQualifiedType", _U, [CXType]),
    ("Type_getAlignOf", _LL, [CXType]),
    ("Type_getSizeOf", _LL, [CXType]),
    ("Cursor_getOffsetOfField", _LL, [CXCursor]),
    ("Cursor_isBitField", _U, [CXCursor]),
    ("getFieldDeclBitWidth", _I, [CXCursor]),
    ("Type_visitFields", _U, [CXType, FIELD_VISITOR, ct.py_object]),
    ("getTypeDeclaration", CXCursor, [CXType]),
    ("equalTypes", _U, [CXType, CXType]),
)  # fmt: skip


@functools.cache
def library() -> Any:  # noqa: ANN401
    """The libclang shared library of the `libclang` wheel, loaded once per process.

    Raises `WattsliceError` when the wheel is not installed.
    """
    spec = importlib.util.find_spec("clang")
    roots = [Path(p) for p in spec.submodule_search_locations or ()] if spec is not None else []
    name = {"win32": "libclang.dll", "darwin": "libclang.dylib"}.get(sys.platform, "libclang.so")
    for root in roots:
        if (root / "native" / name).is_file():
            lib = ct.CDLL(str(root / "native" / name))
            break
    else:
        raise WattsliceError("libclang is not installed", remedy="run: pip install libclang==18.1.1")
    for function, result, arguments in _SIGNATURES:
        bound = getattr(lib, "clang_" + function)
        bound.restype = result
        bound.argtypes = arguments
        if not _VISITORS.isdisjoint(arguments):
            bound.errcheck = _whole
    return lib


def _whole(result: Any, _function: object, _arguments: object) -> Any:  # noqa: ANN401  (whatever C gives)
    """The result of a visit, which a limit that was reached on the way may have cut short."""
    raise_lost()
    return result


def text(value: CXString, errors: str = "replace") -> str:
    """The Python string of a CXString, which is disposed of. `errors`: of what is not UTF-8."""
    lib = library()
    raw: bytes | None = lib.clang_getCString(value)
    result = "" if raw is None else raw.decode("utf-8", errors)
    lib.clang_disposeString(value)
    return result


@functools.cache
def version() -> str:
    """What libclang says it is, for example "clang version 18.1.1"."""
    return text(library().clang_getClangVersion())


# ---------------------------------------------------------------------------
# A translation unit's handle, and places in its files.


class UnitHandle:
    """Owns a CXTranslationUnit and its index; disposes of both when the last node is gone."""

    def __init__(self, index: int, unit: int) -> None:
        self.index = index
        self.unit = unit
        self._names: dict[int, Path] = {}
        self.places: dict[int, Path | None] = {}
        """The files of locations, by their numbers: declarations are asked about again and again."""

    def file_name(self, file: int | None) -> Path | None:
        """The path of a CXFile; one call per file, then cached."""
        if not file:
            return None
        known = self._names.get(file)
        if known is None:
            name = text(library().clang_getFileName(file), errors="surrogateescape")  # as Python names files
            known = self._names[file] = Path(name)
        return known

    def __del__(self) -> None:
        lib = library()
        lib.clang_disposeTranslationUnit(self.unit)
        lib.clang_disposeIndex(self.index)


class Place(Struct, frozen=True):
    """A place in a file: line and column from 1, offset in bytes from 0; `path` None inside the compiler."""

    path: Path | None
    line: int
    column: int
    offset: int


def file_of(handle: UnitHandle, location: Any) -> Path | None:  # noqa: ANN401  (a CXSourceLocation)
    """The file of the expansion place; None inside the compiler. clang counts no lines for it."""
    number: int = location.raw
    if number not in handle.places:
        file = ct.c_void_p()
        library().clang_getExpansionLocation(location, ct.byref(file), None, None, None)
        handle.places[number] = handle.file_name(file.value)
    return handle.places[number]


def place_of(handle: UnitHandle, location: Any) -> Place:  # noqa: ANN401  (a CXSourceLocation)
    """The expansion place of a CXSourceLocation."""
    file, line, column, offset = ct.c_void_p(), ct.c_uint(), ct.c_uint(), ct.c_uint()
    library().clang_getExpansionLocation(
        location, ct.byref(file), ct.byref(line), ct.byref(column), ct.byref(offset)
    )
    return Place(handle.file_name(file.value), line.value, column.value, offset.value)
