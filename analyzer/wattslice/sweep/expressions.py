"""Whole-number expressions over the macros of a variant: ``N/TILE``, ``TILE*BLOCK<=1024 and BLOCK%32==0``.

Python's grammar parses them and nothing of Python runs: only what `_value` names is known. Arithmetic is C's,
of 64 bits: a division rounds towards zero.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Mapping

from wattslice import ir
from wattslice.errors import WattsliceError
from wattslice.ir.c_arithmetic import fold

_LONGEST = 1000
_BINARY: dict[type[ast.operator], ir.BinaryOp] = {
    ast.Add: ir.BinaryOp.ADD,
    ast.Sub: ir.BinaryOp.SUB,
    ast.Mult: ir.BinaryOp.MUL,
    ast.Div: ir.BinaryOp.DIV,
    ast.Mod: ir.BinaryOp.MOD,
    ast.LShift: ir.BinaryOp.SHL,
    ast.RShift: ir.BinaryOp.SHR,
}
_COMPARED: dict[type[ast.cmpop], ir.BinaryOp] = {
    ast.Eq: ir.BinaryOp.EQ,
    ast.NotEq: ir.BinaryOp.NE,
    ast.Lt: ir.BinaryOp.LT,
    ast.LtE: ir.BinaryOp.LE,
    ast.Gt: ir.BinaryOp.GT,
    ast.GtE: ir.BinaryOp.GE,
}
_FUNCTIONS = ("min", "max", "ceil_div")
_GRAMMAR = "whole numbers, macros, + - * / % << >>, comparisons, and, or, not, min, max, ceil_div(a, b)"


class ExpressionError(WattsliceError):
    """An expression that cannot be read, or names something unknown."""


class NoValueError(Exception):
    """An expression that has no value for this variant: a division by zero, a shift too far."""


class Expression:
    """One expression, read once and evaluated for many variants. `option`: where the user wrote it."""

    def __init__(self, text: str, option: str) -> None:
        """Raises `ExpressionError` for what is no such expression."""
        self.text = text.strip()
        self._option = option
        words = re.sub(r"&&", " and ", re.sub(r"\|\|", " or ", self.text))
        try:
            if len(words) > _LONGEST:
                raise ValueError
            self._tree = ast.parse(words, mode="eval").body
            self._check(self._tree)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise self._refused("cannot be read", _GRAMMAR) from None

    def value(self, names: Mapping[str, int]) -> int:
        """For these names. Raises `ExpressionError` for one that is not there, `NoValueError`."""
        return self._value(self._tree, names)

    def _refused(self, why: str, remedy: str) -> ExpressionError:
        return ExpressionError(f"{self._option}: {self.text!r} {why}", remedy=remedy)

    def _check(self, node: ast.expr) -> None:
        """Raises `ExpressionError` for what `_value` does not know, before any variant is looked at."""
        match node:
            case ast.BinOp(left, op, right) if type(op) in _BINARY:
                parts = [left, right]
            case ast.Compare(left, ops, others) if all(type(op) in _COMPARED for op in ops):
                parts = [left, *others]
            case ast.BoolOp(_, parts):
                pass
            case ast.UnaryOp(ast.USub() | ast.UAdd() | ast.Not(), operand):
                parts = [operand]
            case ast.Call(ast.Name(name), parts, []) if name in _FUNCTIONS and len(parts) == 2:
                pass
            case ast.Name() | ast.Constant(int()):
                parts = []
            case _:
                raise ValueError
        for part in parts:
            self._check(part)

    def _value(self, node: ast.expr, names: Mapping[str, int]) -> int:
        match node:
            case ast.Constant(int(number)):
                return int(number)
            case ast.Name(name):
                if name not in names:
                    close = difflib.get_close_matches(name, names, n=3) or sorted(names)[:8]
                    known = f"known: {', '.join(close)}; " if close else ""
                    raise self._refused(f"needs a number {name}", f"{known}say -D {name}=NUMBER")
                return names[name]
            case ast.BinOp(left, op, right):
                return _folded(_BINARY[type(op)], self._value(left, names), self._value(right, names))
            case ast.Compare(left, ops, others):
                values = [self._value(part, names) for part in (left, *others)]
                return int(
                    all(
                        _folded(_COMPARED[type(op)], first, second)
                        for op, first, second in zip(ops, values, values[1:], strict=False)
                    )
                )
            case ast.BoolOp(op, parts):
                known = (bool(self._value(part, names)) for part in parts)
                return int(all(known) if isinstance(op, ast.And) else any(known))
            case ast.UnaryOp(op, operand):
                value = self._value(operand, names)
                if isinstance(op, ast.Not):
                    return int(not value)
                return -value if isinstance(op, ast.USub) else value
            case ast.Call(ast.Name(name), [first, second]):
                a, b = self._value(first, names), self._value(second, names)
                if name == "ceil_div":
                    return _folded(ir.BinaryOp.DIV, a + b - 1, b)
                return min(a, b) if name == "min" else max(a, b)
            case _:
                raise AssertionError(ast.dump(node))  # `_check` lets no other through


def _folded(op: ir.BinaryOp, a: int, b: int) -> int:
    value = fold(op, a, b, ir.INT64)
    if value is None:
        raise NoValueError(f"{a} {op.value} {b} has no value")
    return int(value)


def whole_number(text: str) -> int | None:
    """The value of a macro's text as C writes it (``0x20``, ``64u``, ``(16)``), None for no number."""
    found = re.fullmatch(r"\(?\s*([+-]?(?:0[xX][0-9a-fA-F]+|\d+))(?:[uUlL]{0,3})\s*\)?", text.strip())
    if found is None:
        return None
    digits = found[1]
    is_octal = re.fullmatch(r"[+-]?0[0-7]+", digits) is not None
    return int(digits, 8) if is_octal else int(digits, 16 if "x" in digits.lower() else 10)
