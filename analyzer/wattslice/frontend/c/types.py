"""C types and constants: declarations to `ir.Type`, conversions, literals, constant expressions."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pycparser import c_ast

from wattslice import ir
from wattslice.ir import BOOL, FLOAT32, FLOAT64, INT32, UNKNOWN_TYPE, VOID, BinaryOp, Field, Type, TypeKind
from wattslice.ir.c_arithmetic import converted, fold, wrapped

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


# ---------------------------------------------------------------------------
# pycparser's nodes carry no types; this alias names them where the strict checker would ask for more.


Node: TypeAlias = Any
"""A `pycparser.c_ast.Node` of any class."""


# ---------------------------------------------------------------------------
# Literals of C: values and types.


_ESCAPES = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39, '"': 34, "a": 7, "b": 8, "f": 12, "v": 11}


def constant_of(node: Node) -> tuple[int | float, Type]:
    """The value and type of a literal."""
    text: str = node.value
    if node.type == "char":
        inner = text[text.index("'") + 1 : -1]
        if inner[:1] != "\\":
            return ord(inner[0]), INT32
        if inner[1:2] == "x":
            return int(inner[2:], 16), INT32
        return (int(inner[1:], 8) if inner[1:].isdigit() else _ESCAPES.get(inner[1], 0)), INT32
    if "float" in node.type or "double" in node.type:
        stem = text.rstrip("fFlL") if not text.lower().startswith("0x") else text.rstrip("lL")
        value = float.fromhex(stem) if text.lower().startswith("0x") else float(stem)
        single = text[-1] in "fF" and not text.lower().startswith("0x")
        return value, ir.FLOAT32 if single else ir.FLOAT64
    digits = text.rstrip("uUlL")
    suffix = text[len(digits) :].lower()
    value = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    type_ = integer_type(value, suffix, is_decimal=digits[:1] != "0")
    return wrapped(value, type_), type_


def integer_type(value: int, suffix: str, *, is_decimal: bool) -> Type:
    """The first type that holds an integer literal (C11 6.4.4.1); `suffix` in lower case.

    Decimal literals without `u` are signed unless only an unsigned 64-bit integer holds them.
    """
    for bits in (64,) if "l" in suffix else (32, 64):
        if "u" not in suffix and value < 1 << (bits - 1):
            return Type(TypeKind.INT, bits=bits)
        if ("u" in suffix or not is_decimal) and value < 1 << bits:
            return Type(TypeKind.INT, bits=bits, signed=False)
    return UNSIGNED_LONG


# ---------------------------------------------------------------------------
# Constant expressions of C: array dimensions, enumerators, case labels, constants at file scope.


_SHIFTS = (BinaryOp.SHL, BinaryOp.SHR)


@dataclass(frozen=True, slots=True)
class Number:
    """A constant and its type."""

    value: int | float
    type: Type


def _number(value: int | float | None, type_: Type) -> Number | None:
    return None if value is None else Number(value, type_)


def constant_number(node: Node, types: TypeTable, named: Callable[[str], Number | None]) -> Number | None:
    """The value of a constant expression; None where it is none or C defines no value.

    `named`: the constant that a name stands for.
    """
    match node:
        case c_ast.Constant(type=kind) if kind != "string":
            return Number(*constant_of(node))
        case c_ast.ID(name=name):
            return named(name)
        case c_ast.UnaryOp(op="sizeof"):
            return _number(types.of(node.expr).as_ir().size_bytes or None, UNSIGNED_LONG)
        case c_ast.UnaryOp(op="+" | "-" | "~" | "!"):
            return _unary(node.op, constant_number(node.expr, types, named))
        case c_ast.Cast():
            inner = constant_number(node.expr, types, named)
            type_ = types.of(node.to_type).as_ir()
            if inner is None or type_.kind is TypeKind.UNKNOWN:
                return inner
            return _number(converted(inner.value, type_), type_)
        case c_ast.TernaryOp():
            condition = constant_number(node.cond, types, named)
            if condition is None:
                return None
            return constant_number(node.iftrue if condition.value else node.iffalse, types, named)
        case c_ast.BinaryOp(op="&&" | "||"):
            left = constant_number(node.left, types, named)
            if left is None or bool(left.value) is (node.op == "||"):
                return None if left is None else Number(int(bool(left.value)), INT32)
            right = constant_number(node.right, types, named)
            return None if right is None else Number(int(bool(right.value)), INT32)
        case c_ast.BinaryOp():
            left, right = constant_number(node.left, types, named), constant_number(node.right, types, named)
            return None if left is None or right is None else _binary(BinaryOp(node.op), left, right)
        case _:
            return None


def _unary(op: str, operand: Number | None) -> Number | None:
    if operand is None:
        return None
    if op == "!":
        return Number(int(not operand.value), INT32)
    type_, value = promoted(operand.type), operand.value
    if op == "~":
        return _number(fold(BinaryOp.XOR, value, -1, type_), type_)
    return _number(converted(-value if op == "-" else value, type_), type_)


def _binary(op: BinaryOp, left: Number, right: Number) -> Number | None:
    type_ = promoted(left.type) if op in _SHIFTS else common(left.type, right.type)
    return _number(fold(op, left.value, right.value, type_), INT32 if op in ir.COMPARISONS else type_)
