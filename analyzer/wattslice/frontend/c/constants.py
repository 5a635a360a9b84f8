"""Constant expressions of C: array dimensions, enumerators, case labels, constants at file scope."""

# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# (pycparser has no types)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pycparser import c_ast

from wattslice.frontend.c.literals import constant_of
from wattslice.frontend.c.nodes import Node
from wattslice.frontend.c.types import UNSIGNED_LONG, TypeTable, common, promoted
from wattslice.ir import COMPARISONS, INT32, BinaryOp, Type, TypeKind
from wattslice.ir.c_arithmetic import converted, fold

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
    return _number(fold(op, left.value, right.value, type_), INT32 if op in COMPARISONS else type_)
